//! The settings of a lake: what the logs do not say and the site knows, as a TOML text that each version keeps as it was given.

use crate::error::{Error, Result};
use crate::lake::file::ost_set::OstSet;
use crate::lake::file::placement::Placement;
use crate::source::ReadContext;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};
use xxhash_rust::xxh3::xxh3_64;

/// The settings of a lake. Every entry may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteFile {
    /// Name of the cluster whose logs the lake holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// IANA name of the site's time zone, for dates without one; UTC if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Where data files are put.
    #[serde(skip_serializing_if = "Placement::is_none")]
    pub place: Placement,
    /// Mount points and the file systems behind them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<Mount>,
    /// Rules that name a program by its command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub app: Vec<App>,
    /// Where new logs appear: what `iolode ingest` takes when no paths are given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<RegisteredSource>,
}

/// A mount point and the file system behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Mount point, as in Darshan logs.
    pub path: String,
    /// Name of the file system, the same for all its mount points.
    pub fs: String,
    /// Name that LMT has for the file system, if it is another one: what stands before the `-` in the names of its targets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lmt: Option<String>,
    /// OSTs of the file system, such as `0-247`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub osts: Option<OstSet>,
    /// Stripe size in bytes that a file gets if nobody asks; 1 MiB if left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stripe_size: Option<i64>,
    /// Stripe count that a file gets if nobody asks; 1 if left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stripe_count: Option<i64>,
}

impl Mount {
    /// Stripe size in bytes and stripe count that a file gets if nobody asks.
    pub fn stripe(&self) -> (i64, i64) {
        (
            self.stripe_size.unwrap_or(1 << 20),
            self.stripe_count.unwrap_or(1),
        )
    }
}

/// A rule that names a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Regular expression over the command line.
    pub pattern: String,
    /// The program's name where it matches.
    pub name: String,
}

/// A place where logs appear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredSource {
    /// Kind of input that is looked for there: `darshan`, `slurm`, `lmt`; any if left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// A file, a directory, or the address of a server.
    pub path: String,
}

impl SiteFile {
    /// Reads settings from their text.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the line, the bad expression, the unknown zone, or the mount that stands twice.
    pub fn parse(text: &str) -> Result<Self> {
        let mut site: Self =
            toml::from_str(text).map_err(|e: toml::de::Error| bad(text, e.message(), e.span()))?;
        // As Darshan and the system write them.
        for mount in &mut site.mount {
            let trimmed = mount.path.trim_end_matches('/').len();
            mount.path.truncate(trimmed.max(1));
        }
        let mut paths = BTreeSet::new();
        let mut is_new = |mount: &Mount| paths.insert(mount.path.clone());
        if let Some(twice) = site.mount.iter().find(|mount| !is_new(mount)) {
            return Err(Error::Invalid(format!(
                "site.toml: mount `{}` stands twice; leave one of them out",
                twice.path
            )));
        }
        site.read_context()?;
        site.zone()?;
        Ok(site)
    }

    /// The text of these settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they cannot be written as TOML.
    pub fn to_text(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| Error::Invalid(format!("site.toml: {e}")))
    }

    /// A number for what readers take from the settings - zone, mounts, names of programs -, which tells whether an input would be read in
    /// another way today.
    ///
    /// # Errors
    /// As [`SiteFile::to_text`].
    pub fn reading_hash(&self) -> Result<i64> {
        let of_readers = Self {
            timezone: Some(self.zone()?.name().into()),
            mount: self.mount.clone(),
            app: self.app.clone(),
            ..Self::default()
        };
        Ok(xxh3_64(of_readers.to_text()?.as_bytes()) as i64)
    }

    /// What readers need of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a bad regular expression.
    pub fn read_context(&self) -> Result<ReadContext> {
        let rule = |app: &App| {
            let regex = Regex::new(&app.pattern);
            let regex = regex.map_err(|e| {
                Error::Invalid(format!(
                    "site.toml: app pattern `{}`: {}",
                    app.pattern,
                    one_line(&e.to_string())
                ))
            })?;
            Ok((regex, app.name.clone()))
        };
        let lmt_names = self
            .mount
            .iter()
            .filter_map(|m| Some((m.lmt.clone()?, m.fs.clone())));
        let osts = self.mount.iter();
        let osts = osts.filter_map(|m| Some((m.fs.clone(), m.osts.as_ref()?.0.len() as i64)));
        Ok(ReadContext {
            osts: osts.collect(),
            mounts: self
                .mount
                .iter()
                .map(|m| (m.path.clone(), m.fs.clone()))
                .collect(),
            apps: self.app.iter().map(rule).collect::<Result<_>>()?,
            lmt_names: lmt_names.collect(),
            zone: self.zone()?,
            ..ReadContext::default()
        })
    }

    /// The site's time zone.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is no such zone.
    pub fn zone(&self) -> Result<chrono_tz::Tz> {
        match &self.timezone {
            None => Ok(chrono_tz::UTC),
            Some(name) => name.parse().map_err(|_| {
                Error::unknown(
                    "time zone",
                    name,
                    chrono_tz::TZ_VARIANTS.iter().map(|tz| tz.name()),
                )
            }),
        }
    }
}

/// What is changed in the text of settings; comments and all else stay.
#[derive(Clone, Debug, Default)]
pub struct SettingsEdit {
    /// The cluster's name.
    pub cluster: Option<String>,
    /// The time zone's name.
    pub timezone: Option<String>,
    /// Where data files are put.
    pub place: Option<Placement>,
    /// Sources that are added, if they are not there.
    pub sources: Vec<RegisteredSource>,
}

impl SettingsEdit {
    /// The text after the changes.
    ///
    /// # Errors
    /// As [`SiteFile::parse`].
    pub fn apply(&self, text: &str) -> Result<String> {
        let bad = |e: toml_edit::TomlError| bad(text, e.message(), e.span());
        let known = SiteFile::parse(text)?.source;
        let mut document: DocumentMut = text.parse().map_err(bad)?;
        // Comments alone stay before what is added.
        let comments = match document.as_table().is_empty() {
            true => std::mem::take(&mut document).to_string(),
            false => String::new(),
        };
        for (key, value) in [("cluster", &self.cluster), ("timezone", &self.timezone)] {
            if let Some(value) = value {
                document.insert(key, toml_edit::value(value));
            }
        }
        if let Some(place) = &self.place {
            let alone = SiteFile {
                place: place.clone(),
                ..SiteFile::default()
            };
            let mut alone: DocumentMut = alone.to_text()?.parse().map_err(bad)?;
            match alone.remove("place") {
                Some(place) => _ = document.insert("place", place),
                None => _ = document.remove("place"),
            }
        }
        let new = self.sources.iter().filter(|source| !known.contains(source));
        for source in new {
            let fields = [
                ("kind", source.kind.as_deref()),
                ("path", Some(&source.path)),
            ];
            let fields = fields
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)));
            let list = document
                .entry("source")
                .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            match list {
                Item::ArrayOfTables(list) => {
                    let mut table = Table::new();
                    fields.for_each(|(key, value)| _ = table.insert(key, toml_edit::value(value)));
                    list.push(table);
                }
                list => {
                    let mut table = InlineTable::new();
                    fields.for_each(|(key, value)| _ = table.insert(key, Value::from(value)));
                    if let Some(list) = list.as_array_mut() {
                        list.push(table);
                    }
                }
            }
        }
        let text = format!("{comments}{document}");
        SiteFile::parse(&text)?;
        Ok(text)
    }
}

fn one_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What is wrong with the text of settings, and in which line.
fn bad(text: &str, what: &str, at: Option<std::ops::Range<usize>>) -> Error {
    let what = one_line(what);
    let line = at
        .and_then(|at| text.get(..at.start))
        .map(|before| format!("line {}: ", 1 + before.matches('\n').count()))
        .unwrap_or_default();
    Error::Invalid(format!("site.toml: {line}{what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_file_says_what_is_wrong_with_it() {
        let error = |text: &str| SiteFile::parse(text).unwrap_err().to_string();
        assert!(error("clutser = 'x'").contains("unknown field `clutser`"));
        let text = "timezone = 'UTC'\n\n[[mount]]\npath = 7\n";
        assert!(
            error(text).starts_with("site.toml: line 4: "),
            "{}",
            error(text)
        );
        assert!(error("cluster = 'x").starts_with("site.toml: line 1: "));
        assert!(error("[[app]]\npattern = '('\nname = 'x'").contains("app pattern `(`"));
        assert_eq!(
            error("timezone = 'Europe/Berlni'"),
            "unknown time zone `Europe/Berlni`; did you mean `Europe/Berlin`?"
        );
    }

    #[test]
    fn edits_leave_comments_and_order_as_they_are() {
        let text = "# ours\ncluster = 'cori' # the old one\n\n# scratch\n[[mount]]\npath = '/scratch'\nfs = 'snx'\n";
        let source = |path: &str| RegisteredSource {
            kind: Some("darshan".into()),
            path: path.into(),
        };
        let edit = SettingsEdit {
            timezone: Some("America/Los_Angeles".into()),
            sources: vec![source("/logs"), source("/more")],
            ..SettingsEdit::default()
        };
        let after = edit.apply(text).unwrap();
        assert_eq!(
            after,
            "# ours\ncluster = 'cori' # the old one\ntimezone = \"America/Los_Angeles\"\n\n# scratch\n[[mount]]\npath = '/scratch'\nfs = 'snx'\n\
             \n[[source]]\nkind = \"darshan\"\npath = \"/logs\"\n\n[[source]]\nkind = \"darshan\"\npath = \"/more\"\n"
        );
        // Twice is once.
        assert_eq!(edit.apply(&after).unwrap(), after);
        let inline = "source = [{ path = '/a' }]\n";
        let edit = SettingsEdit {
            sources: vec![source("/b")],
            place: Some(Placement::Dirs {
                dirs: vec!["/d".into()],
            }),
            ..SettingsEdit::default()
        };
        let site = SiteFile::parse(&edit.apply(inline).unwrap()).unwrap();
        assert_eq!(site.source.len(), 2);
        assert_eq!(Some(site.place), edit.place);
    }

    #[test]
    fn what_readers_take_has_a_number_of_its_own() {
        let hash = |text: &str| SiteFile::parse(text).unwrap().reading_hash().unwrap();
        let mount = "[[mount]]\npath = '/scratch'\nfs = 'snx'\n";
        assert_eq!(
            hash(""),
            hash("cluster = 'cori'\ntimezone = 'UTC' # the same")
        );
        assert_eq!(
            hash(mount),
            hash(&format!("{mount}[[source]]\npath = '/logs'\n"))
        );
        assert_ne!(hash(""), hash(mount));
        assert_ne!(hash(""), hash("timezone = 'Europe/Berlin'"));
    }

    #[test]
    fn a_site_file_comes_back_as_it_was_written() {
        let text = "cluster = 'cori'\ntimezone = 'America/Los_Angeles'\n[place]\nkind = 'dirs'\ndirs = ['/a', '/b']\n[[mount]]\npath = '/global/cscratch1'\nfs = 'snx11168'\nosts = '0-247'\n[[source]]\nkind = 'darshan'\npath = '/logs'\n";
        let site = SiteFile::parse(text).unwrap();
        assert_eq!(SiteFile::parse(&site.to_text().unwrap()).unwrap(), site);
        assert_eq!(
            site.read_context()
                .unwrap()
                .file_system("/global/cscratch1"),
            "snx11168"
        );
        assert_eq!(site.read_context().unwrap().osts_of("snx11168"), Some(248));
        let twice = "[[mount]]\npath = '/a'\nfs = 'a'\n[[mount]]\npath = '/a'\nfs = 'b'\n";
        let error = SiteFile::parse(twice).unwrap_err().to_string();
        assert!(error.contains("mount `/a` stands twice"), "{error}");
        let slash = "[[mount]]\npath = '/a/'\nfs = 'a'\n[[mount]]\npath = '/'\nfs = 'root'\n";
        let site = SiteFile::parse(slash).unwrap().read_context().unwrap();
        assert_eq!(site.file_system("/a"), "a");
        assert_eq!(site.file_system("/"), "root");
        let error = SiteFile::parse("[[mount]]\npath = '/a'\nfs = 'a'\nosts = '7-3'").unwrap_err();
        assert!(
            error.to_string().contains("`7-3` is not a list of OSTs"),
            "{error}"
        );
    }
}
