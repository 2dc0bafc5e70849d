//! Pages that are kept: one for each period, a link to the newest, and no more than asked for.
//!
//! A page is named after its report and its period: `weekly-2026-W48.html`. The period is written in one way alone, so that the same period replaces its own page,
//! and a file is a page of the report if its name is one that is written here. No other file is removed or replaced. Of CSV files a page is a directory,
//! `weekly-2026-W48`, and a directory that holds anything else is none.

use super::args::Form;
use super::csv_directory::check_replaceable;
use crate::cli::shell::made_beside;
use crate::error::Error;
use crate::text::shown_path;
use anyhow::{Context, bail};
use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From a time to another, which is not in it, in the zone of the site.
pub(super) type Period = [NaiveDateTime; 2];

/// The pages of a report in a directory.
pub(super) struct Kept {
    directory: PathBuf,
    /// What the names of its pages begin with.
    stem: String,
    /// Empty if a page is a directory.
    ending: String,
    /// That of the page that is written.
    period: Period,
    keep: usize,
}

/// An age at which a page that is not complete belongs to no run.
const NO_LONGER_WRITTEN: Duration = Duration::from_secs(24 * 3600);

impl Kept {
    /// Pages of that report at `out`, which is a directory, or the name of a file in which the period is put.
    ///
    /// # Errors
    /// If there is no directory, or if `latest.html` is somebody else's there.
    pub(super) fn new(
        out: &Path,
        report: &str,
        form: Form,
        period: Period,
        keep: usize,
    ) -> anyhow::Result<Self> {
        let ending = form.ending().unwrap_or_default();
        let (directory, stem, ending) = match is_directory(out) {
            true => (out.to_path_buf(), report.to_string(), ending.to_string()),
            false => {
                let part = |part: Option<&std::ffi::OsStr>| {
                    part.map(|part| part.to_string_lossy().into_owned())
                };
                let stem = part(out.file_stem());
                let stem = stem.with_context(|| format!("{}: no file", shown_path(out)))?;
                let directory = out.parent().unwrap_or(Path::new(""));
                let ending = match form.ending() {
                    None => String::new(),
                    Some(ending) => part(out.extension()).unwrap_or(ending.into()),
                };
                (directory.to_path_buf(), stem, ending)
            }
        };
        if is_directory(out) && !out.exists() {
            std::fs::create_dir(out).map_err(|e| Error::io(out, "cannot create", e))?;
        }
        let kept = Self {
            directory,
            stem,
            ending,
            period,
            keep,
        };
        kept.check_latest()?;
        Ok(kept)
    }

    /// Where the page belongs.
    pub(super) fn page(&self) -> PathBuf {
        let name = format!("{}-{}", self.stem, label(self.period));
        self.directory.join(name + &self.suffix())
    }

    /// Links `latest.html` to the page of the latest period, and removes those of the earliest, which are answered: never the one that has just been written.
    ///
    /// # Errors
    /// If the link cannot be made or a page cannot be removed.
    pub(super) fn publish(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut linked = None;
        let mut pages = loop {
            let mut pages = self.pages()?;
            pages.sort_by_key(|([from, to], _)| (*to, *from));
            let newest = pages.last().map(|(_, name)| name.clone());
            // A run at the same time may have written a newer one before the link was made.
            if newest == linked {
                break pages;
            }
            if let Some(newest) = &newest {
                self.link(newest)?;
            }
            linked = newest;
        };
        let surplus = pages.len().saturating_sub(self.keep);
        let mut removed = vec![];
        for (_, name) in pages.drain(..surplus).filter(|(of, _)| *of != self.period) {
            let path = self.directory.join(name);
            match self.remove(&path) {
                // A run at the same time has removed it.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                done => {
                    done.map_err(|e| Error::io(&path, "cannot remove", e))?;
                    removed.push(path);
                }
            }
        }
        self.remove_remains();
        Ok(removed)
    }

    /// What the names of pages end with.
    fn suffix(&self) -> String {
        match self.ending.as_str() {
            "" => String::new(),
            ending => format!(".{ending}"),
        }
    }

    /// Removes a page in one step: of a directory nobody sees a part.
    fn remove(&self, page: &Path) -> std::io::Result<()> {
        if !self.ending.is_empty() {
            return std::fs::remove_file(page);
        }
        let (moved, ()) = made_beside(page, |temporary| std::fs::rename(page, temporary))?;
        std::fs::remove_dir_all(moved)
    }

    /// Removes what runs that were killed have left of a page: it is in nobody's way, so that a failure is none of the run.
    fn remove_remains(&self) {
        let is_remains = |name: &str| {
            let page = name.strip_suffix(".partial");
            let page = page.and_then(|page| page.rsplit_once('.'));
            page.is_some_and(|(page, random)| {
                random.bytes().all(|b| b.is_ascii_alphanumeric()) && self.period_of(page).is_some()
            })
        };
        for entry in std::fs::read_dir(self.listed())
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_old = || {
                let age = entry.metadata().ok()?.modified().ok()?.elapsed().ok()?;
                Some(age > NO_LONGER_WRITTEN)
            };
            if is_remains(&entry.file_name().to_string_lossy()) && is_old() == Some(true) {
                let _ = match self.ending.is_empty() {
                    true => std::fs::remove_dir_all(entry.path()),
                    false => std::fs::remove_file(entry.path()),
                };
            }
        }
    }

    /// The directory as it can be listed.
    fn listed(&self) -> &Path {
        match self.directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => &self.directory,
        }
    }

    /// The pages of this report that are there, with their periods.
    fn pages(&self) -> anyhow::Result<Vec<(Period, String)>> {
        let cannot = |e| Error::io(&self.directory, "cannot read", e);
        let mut pages = vec![];
        for entry in std::fs::read_dir(self.listed()).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(period) = self.period_of(&name) else {
                continue;
            };
            let is_page = entry
                .file_type()
                .is_ok_and(|kind| match self.ending.is_empty() {
                    true => kind.is_dir() && check_replaceable(&entry.path()).is_ok(),
                    false => kind.is_file(),
                });
            if is_page {
                pages.push((period, name));
            }
        }
        Ok(pages)
    }

    /// The period of a page of this report, by its name.
    fn period_of(&self, name: &str) -> Option<Period> {
        let label = name.strip_prefix(&self.stem)?.strip_prefix('-')?;
        parsed(label.strip_suffix(&self.suffix())?)
    }

    fn latest(&self) -> PathBuf {
        self.directory.join(format!("latest{}", self.suffix()))
    }

    /// Refuses a `latest.html` that is not a link to a page of this report.
    fn check_latest(&self) -> anyhow::Result<()> {
        let latest = self.latest();
        if std::fs::symlink_metadata(&latest).is_err() {
            return Ok(());
        }
        let target = std::fs::read_link(&latest).unwrap_or_default();
        match self.period_of(&target.to_string_lossy()) {
            Some(_) => Ok(()),
            None => bail!(
                "{}: is no link to a page of {}; give this report a directory of its own",
                shown_path(&latest),
                self.stem
            ),
        }
    }

    /// In one step, as pages are. A link, so that it cannot differ from its page; relative, so that the directory can be moved or served.
    fn link(&self, page: &str) -> anyhow::Result<()> {
        let latest = self.latest();
        let linked = made_beside(&latest, |temporary| symlink(page, temporary));
        let linked = linked.and_then(|(temporary, ())| std::fs::rename(temporary, &latest));
        Ok(linked.map_err(|e| Error::io(&latest, "cannot link", e))?)
    }
}

/// Whether pages are named in a directory: one that is there, or a path that ends as one.
pub(super) fn is_directory(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The name of a period: `2026`, `2026-11`, `2026-W48`, `2026-11-28`, else `FROM..TO`. Except for times it is one that `--period` takes.
pub(super) fn label(period: Period) -> String {
    let [from, to] = period;
    let (day, last) = (from.date(), to.date());
    let is_whole = from.time() == NaiveTime::MIN && to.time() == NaiveTime::MIN;
    let months = |n| day.checked_add_months(Months::new(n)) == Some(last) && day.day() == 1;
    let days = |n| day.checked_add_days(Days::new(n)) == Some(last);
    match is_whole {
        true if months(12) && day.month() == 1 => day.format("%Y").to_string(),
        true if months(1) => day.format("%Y-%m").to_string(),
        true if days(7) && day.weekday() == Weekday::Mon => day.format("%G-W%V").to_string(),
        true if days(1) => day.to_string(),
        // Without colons: a relative link that has one is read as a scheme.
        _ => period.map(time_name).join(".."),
    }
}

const TIME: &str = "%Y-%m-%dT%H%M%S";

fn time_name(time: NaiveDateTime) -> String {
    match time.time() == NaiveTime::MIN {
        true => time.date().to_string(),
        false => time.format(TIME).to_string(),
    }
}

/// The period of that name, if it is the name of one.
fn parsed(name: &str) -> Option<Period> {
    let begin = |text: &str| {
        let date = text.parse::<NaiveDate>().ok();
        let date = date.map(|date| date.and_time(NaiveTime::MIN));
        date.or_else(|| NaiveDateTime::parse_from_str(text, TIME).ok())
    };
    let period = match name.split_once("..") {
        Some((from, to)) => [begin(from)?, begin(to)?],
        // Those that are relative to today are not written here.
        None => {
            let days = crate::cli::period::named(name, NaiveDate::default()).ok()?;
            [begin(&days[0])?, begin(&days[1])?]
        }
    };
    (label(period) == name).then_some(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(from: &str, to: &str) -> Period {
        [from, to].map(|time| {
            let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M");
            time.unwrap()
        })
    }

    #[test]
    fn a_period_has_one_name_from_which_it_is_read_again() {
        for (from, to, name) in [
            ("2026-01-01 00:00", "2027-01-01 00:00", "2026"),
            ("2026-02-01 00:00", "2026-03-01 00:00", "2026-02"),
            ("2026-11-23 00:00", "2026-11-30 00:00", "2026-W48"),
            // The first week of 2025 begins in 2024.
            ("2024-12-30 00:00", "2025-01-06 00:00", "2025-W01"),
            ("2024-02-29 00:00", "2024-03-01 00:00", "2024-02-29"),
            // A week that begins on a Tuesday, and a year that begins in February.
            (
                "2026-11-24 00:00",
                "2026-12-01 00:00",
                "2026-11-24..2026-12-01",
            ),
            (
                "2026-02-01 00:00",
                "2027-02-01 00:00",
                "2026-02-01..2027-02-01",
            ),
            (
                "2026-11-23 00:00",
                "2026-11-23 12:30",
                "2026-11-23..2026-11-23T123000",
            ),
        ] {
            let period = period(from, to);
            assert_eq!(label(period), name);
            assert_eq!(parsed(name), Some(period), "{name}");
        }
        for name in [
            "",
            "last-week",
            "2026-W54",
            "2026-w48",
            "2026-11-23..2026-11-30",
            "2026-1",
            "2026-11-23..",
            "latest",
            "02026",
        ] {
            assert_eq!(parsed(name), None, "{name}");
        }
    }

    #[test]
    fn pages_of_other_reports_are_not_pages_of_this_one() {
        let directory = tempfile::tempdir().unwrap();
        let week = period("2026-11-23 00:00", "2026-11-30 00:00");
        let kept = Kept::new(directory.path(), "weekly", Form::Html, week, 2).unwrap();
        assert_eq!(kept.page(), directory.path().join("weekly-2026-W48.html"));
        assert_eq!(kept.period_of("weekly-2026-W48.html"), Some(week));
        for other in [
            "weekly.html",
            "weekly-2026-W48.htm",
            "weekly-2026-W48.html.5e0c41f7.partial",
            "weekly-ours-2026-W48.html",
            "my-weekly-2026-W48.html",
            "weekly-2026-W48-notes.html",
            "weekly2026-W48.html",
        ] {
            assert_eq!(kept.period_of(other), None, "{other}");
        }
    }
}
