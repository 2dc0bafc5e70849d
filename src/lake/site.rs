//! `_iolode/site.toml`: what the logs do not say and the site knows.

use super::ost_list::OstList;
use super::placement::Placement;
use super::store::Store;
use crate::error::{Error, Result};
use crate::source::Site;
use regex::Regex;
use serde::{Deserialize, Serialize};

const PATH: &str = "_iolode/site.toml";

/// A site's file. Every entry may be left out.
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
    pub osts: Option<OstList>,
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
    /// Reads a site's file from its text.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the line, the bad expression or the unknown zone.
    pub fn parse(text: &str) -> Result<Self> {
        let site: Self = toml::from_str(text)
            .map_err(|e| Error::Invalid(format!("site.toml: {}", one_line(&e.to_string()))))?;
        site.site()?;
        site.zone()?;
        Ok(site)
    }

    /// The file of a lake; empty if it has none.
    ///
    /// # Errors
    /// As [`SiteFile::parse`], and [`Error::Io`].
    pub fn read(store: &Store) -> Result<Self> {
        match store.read(PATH)? {
            Some(bytes) => Self::parse(&String::from_utf8_lossy(&bytes)),
            None => Ok(Self::default()),
        }
    }

    /// Writes it into a lake, over the one that is there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be written as TOML, [`Error::Io`].
    pub fn write(&self, store: &Store) -> Result<()> {
        let text =
            toml::to_string_pretty(self).map_err(|e| Error::Invalid(format!("site.toml: {e}")))?;
        store.replace(PATH, text.as_bytes())
    }

    /// What readers need of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a bad regular expression.
    pub fn site(&self) -> Result<Site> {
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
        Ok(Site {
            osts: osts.collect(),
            mounts: self
                .mount
                .iter()
                .map(|m| (m.path.clone(), m.fs.clone()))
                .collect(),
            apps: self.app.iter().map(rule).collect::<Result<_>>()?,
            lmt_names: lmt_names.collect(),
            zone: self.zone()?,
            ..Site::default()
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

fn one_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_file_says_what_is_wrong_with_it() {
        let error = |text: &str| SiteFile::parse(text).unwrap_err().to_string();
        assert!(error("clutser = 'x'").contains("unknown field `clutser`"));
        assert!(error("[[app]]\npattern = '('\nname = 'x'").contains("app pattern `(`"));
        assert_eq!(
            error("timezone = 'Europe/Berlni'"),
            "unknown time zone `Europe/Berlni`; did you mean `Europe/Berlin`?"
        );
    }

    #[test]
    fn a_site_file_comes_back_as_it_was_written() {
        let text = "cluster = 'cori'\ntimezone = 'America/Los_Angeles'\n[place]\nkind = 'dirs'\ndirs = ['/a', '/b']\n[[mount]]\npath = '/global/cscratch1'\nfs = 'snx11168'\nosts = '0-247'\n[[source]]\nkind = 'darshan'\npath = '/logs'\n";
        let site = SiteFile::parse(text).unwrap();
        let store = Store::Memory(Default::default());
        site.write(&store).unwrap();
        assert_eq!(SiteFile::read(&store).unwrap(), site);
        assert_eq!(
            site.site().unwrap().file_system("/global/cscratch1"),
            "snx11168"
        );
        assert_eq!(site.site().unwrap().osts_of("snx11168"), Some(248));
        let error = SiteFile::parse("[[mount]]\npath = '/a'\nfs = 'a'\nosts = '7-3'").unwrap_err();
        assert!(
            error.to_string().contains("`7-3` is no list of OSTs"),
            "{error}"
        );
    }
}
