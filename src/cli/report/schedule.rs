//! When a timer runs its command line, and what it is called.

use chrono::{Offset, TimeZone, Utc};
use chrono_tz::Tz;
use std::ffi::OsString;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum When {
    /// Each day
    Daily,
    /// On Mondays
    Weekly,
    /// On the first of each month
    Monthly,
}

/// A command line that runs by itself.
pub(super) struct Schedule {
    pub(super) when: When,
    /// Name of the report, as it was given.
    pub(super) report: String,
    /// The values of its parameters.
    pub(super) values: Vec<String>,
    /// The name of the page without its ending, if it has one.
    pub(super) page: Option<String>,
    /// The program, then its arguments.
    pub(super) words: Vec<OsString>,
    /// Variables that name programs of others.
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// The zone of the lake, in which periods such as last-week begin.
    pub(super) zone: Tz,
}

/// The hour at which it runs: the logs of the night before are there by then, and the page is there when people come.
pub(super) const HOUR: u32 = 6;

impl When {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }
}

impl Schedule {
    /// The name of its units and jobs: `iolode-report-weekly`, or `iolode-report-app-vasp` for a value or a page that has a name of its own, as two of the same report may.
    pub(super) fn name(&self) -> String {
        let plain = |c: char| match c.is_ascii_alphanumeric() || "_.-".contains(c) {
            true => c,
            false => '-',
        };
        let mut names: Vec<String> = vec![];
        for name in [&self.report]
            .into_iter()
            .chain(&self.values)
            .chain(&self.page)
        {
            let name: String = name.chars().map(plain).collect();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        format!("iolode-report-{}", names.join("-"))
    }

    /// Hour and minute on the clock of a machine in the zone `local`, on the same day: never before [`HOUR`] there, nor before it in the zone of the lake, where the
    /// period of the page would not be over.
    pub(super) fn local_time(&self, local: &impl TimeZone) -> (u32, u32) {
        let offset = |offset: chrono::FixedOffset| offset.local_minus_utc() / 60;
        let now = Utc::now();
        let here = offset(now.with_timezone(local).offset().fix());
        let there = offset(now.with_timezone(&self.zone).offset().fix());
        let behind = u32::try_from(here - there).unwrap_or(0);
        let minutes = (HOUR * 60 + behind).min(24 * 60 - 1);
        (minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use chrono::FixedOffset;

    /// A schedule of these words.
    pub(in crate::cli::report) fn schedule(words: &[&str]) -> Schedule {
        Schedule {
            when: When::Weekly,
            report: "weekly".into(),
            values: vec![],
            page: None,
            words: words.iter().map(Into::into).collect(),
            environment: vec![],
            zone: Tz::UTC,
        }
    }

    #[test]
    fn a_page_of_the_last_week_is_written_after_its_end() {
        let of = |zone: Tz, hours: i32| {
            let mut schedule = schedule(&[]);
            schedule.zone = zone;
            schedule.local_time(&FixedOffset::east_opt(hours * 3600).unwrap())
        };
        assert_eq!(of(Tz::UTC, 0), (6, 0));
        // A site that is ahead of the machine: its Monday has begun.
        assert_eq!(of(Tz::UTC, -8), (6, 0));
        // One that is behind: at 6:00 here it is Sunday there.
        assert_eq!(of(Tz::UTC, 8), (14, 0));
        assert_eq!(of(Tz::Etc__GMTPlus12, 14), (23, 59));
        assert_eq!(of(Tz::Asia__Kolkata, 6), (6, 30));
    }

    #[test]
    fn a_name_is_one_that_systemd_takes() {
        let mut schedule = schedule(&[]);
        schedule.report = "our page: 5 %/x".into();
        assert_eq!(schedule.name(), "iolode-report-our-page--5---x");
        schedule.report = "app".into();
        schedule.page = Some("app".into());
        assert_eq!(schedule.name(), "iolode-report-app");
        schedule.page = Some("gromacs 2026".into());
        assert_eq!(schedule.name(), "iolode-report-app-gromacs-2026");
        schedule.values = vec!["gromacs 2026".into(), "80".into()];
        assert_eq!(schedule.name(), "iolode-report-app-gromacs-2026-80");
        schedule.page = None;
        assert_eq!(schedule.name(), "iolode-report-app-gromacs-2026-80");
    }
}
