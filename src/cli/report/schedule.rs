//! When a timer runs its command line, and what it is called.

use chrono::{DateTime, FixedOffset, Offset, TimeDelta, TimeZone, Utc};
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

    /// What a clock in the zone `local` shows when it is [`HOUR`] in the zone of the lake, by the offsets of both at the time `now`.
    pub(super) fn local_time(&self, local: &impl TimeZone, now: DateTime<Utc>) -> LocalTime {
        let minutes = i64::from(HOUR) * 60 + self.ahead(local, now);
        let of_day = minutes.rem_euclid(DAY);
        LocalTime {
            hour: of_day / 60,
            minute: of_day % 60,
            days: minutes.div_euclid(DAY),
            is_steady: (0..12).all(|month| {
                let then = now + TimeDelta::days(30 * month);
                self.ahead(local, then) == self.ahead(local, now)
            }),
        }
    }

    /// By how many minutes a clock in the zone `local` is ahead of that of the lake.
    fn ahead(&self, local: &impl TimeZone, at: DateTime<Utc>) -> i64 {
        let minutes = |offset: FixedOffset| i64::from(offset.local_minus_utc() / 60);
        let here = minutes(at.with_timezone(local).offset().fix());
        here - minutes(at.with_timezone(&self.zone).offset().fix())
    }
}

/// Minutes of a day.
const DAY: i64 = 24 * 60;

/// A time on the clock of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalTime {
    pub(super) hour: i64,
    pub(super) minute: i64,
    /// By how many days the date there is later than that of the lake.
    pub(super) days: i64,
    /// Whether it is the same all year: no clock is changed, or both are at once.
    pub(super) is_steady: bool,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

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
    fn six_o_clock_at_the_site_is_another_time_of_the_machine() {
        let at = |date: &str| DateTime::parse_from_rfc3339(date).unwrap().to_utc();
        let (winter, summer) = (at("2026-01-15T12:00:00Z"), at("2026-07-15T12:00:00Z"));
        let of = |zone: Tz, hours: i32, now| {
            let mut schedule = schedule(&[]);
            schedule.zone = zone;
            let local = FixedOffset::east_opt(hours * 3600).unwrap();
            let time = schedule.local_time(&local, now);
            ((time.hour, time.minute, time.days), time.is_steady)
        };
        assert_eq!(of(Tz::UTC, 0, winter), ((6, 0, 0), true));
        // The offsets are those of the tz database.
        assert_eq!(of(Tz::Europe__Berlin, 0, winter), ((5, 0, 0), false));
        assert_eq!(of(Tz::Europe__Berlin, 0, summer), ((4, 0, 0), false));
        assert_eq!(of(Tz::Europe__Berlin, 1, winter), ((6, 0, 0), false));
        // In Tokyo it is Monday while it is Sunday still.
        assert_eq!(of(Tz::Asia__Tokyo, 0, summer), ((21, 0, -1), true));
        assert_eq!(of(Tz::Asia__Kolkata, 0, summer), ((0, 30, 0), true));
        assert_eq!(of(Tz::Asia__Kathmandu, 6, summer), ((6, 15, 0), true));
        assert_eq!(of(Tz::America__Los_Angeles, 0, winter), ((14, 0, 0), false));
        assert_eq!(of(Tz::Etc__GMTPlus12, 14, winter), ((8, 0, 1), true));
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
