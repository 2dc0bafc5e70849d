//! The tree into which a source may write its logs, as Darshan does: a directory for each year, month and day
//! ([`crate::source::Source::is_filed_by_day`]).

use crate::lake::version::time::DAY;
use crate::source::Period;
use chrono::NaiveDate;
use std::path::Path;

/// What the names of a directory and of those above it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) enum TreePosition {
    /// No part of such a tree, as far as can be seen.
    Elsewhere,
    /// `2026`.
    Year(i32),
    /// `2026/9` or `2026/09`.
    Month(i32, u32),
    /// `2026/9/11`, as days since 1970.
    Day(i64),
}

impl TreePosition {
    /// The place of a path that is given.
    pub(in crate::lake) fn of(path: &Path) -> Self {
        let names = path.iter().map(|name| name.to_str().unwrap_or_default());
        names.fold(Self::Elsewhere, Self::below)
    }

    /// The place of a directory in this one.
    pub(in crate::lake) fn below(self, name: &str) -> Self {
        let of_date = match self {
            Self::Year(year) => number(name, 2)
                .filter(|month| (1..=12).contains(month))
                .map(|month| Self::Month(year, month)),
            Self::Month(year, month) => number(name, 2)
                .and_then(|day| NaiveDate::from_ymd_opt(year, month, day))
                .map(|date| Self::Day(i64::from(date.to_epoch_days()))),
            _ => None,
        };
        let year = || number(name, 4).filter(|_| name.len() == 4);
        of_date
            .or_else(|| Some(Self::Year(year()?.try_into().ok()?)))
            .unwrap_or(Self::Elsewhere)
    }
}

/// A number of at most so many digits and nothing else.
fn number(name: &str, digits: usize) -> Option<u32> {
    let plain = name.len() <= digits && name.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| name.parse().ok()).flatten()
}

/// The days of the logs of a period, first and last included.
///
/// A log is in a period if its job started in it. Darshan names the file and its directory after that start, in the local time of
/// the machine: 12 hours behind UTC at most, 14 ahead at most, so that the day is that of UTC, the one before or the one after.
/// Ranks whose clocks differ, or that start late, may differ by ten hours more before a log is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake) struct Days {
    from: Option<i64>,
    to: Option<i64>,
}

impl Days {
    pub(in crate::lake) fn of(period: Period) -> Self {
        // The end of a period no longer belongs to it.
        let last = |to: i64| to.saturating_sub(1).div_euclid(DAY) + 1;
        Self {
            from: period.from.map(|from| from.div_euclid(DAY) - 1),
            to: period.to.map(last),
        }
    }

    /// Whether a directory at this place may hold logs of the period.
    pub(in crate::lake) fn contains(self, place: TreePosition) -> bool {
        match place {
            TreePosition::Day(day) => {
                self.from.is_none_or(|from| from <= day) && self.to.is_none_or(|to| day <= to)
            }
            // What lies between the days may be anything.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> TreePosition {
        TreePosition::of(Path::new(path))
    }

    #[test]
    fn a_day_is_a_year_a_month_and_a_day_in_this_order() {
        // `date -d 2026-09-11 +%s` / 86400.
        let day = TreePosition::Day(20_707);
        for path in [
            "2026/9/11",
            "2026/09/11",
            "cori/logs/2026/9/11",
            "2019/2026/9/11",
            "2019/10/2026/9/11",
        ] {
            assert_eq!(place(path), day, "{path}");
        }
        for path in [
            "9/11",
            "26/9/11",
            "2026/13/1",
            "2026/2/30",
            "2026/0/1",
            "2026/9/0",
            "2026/9/011",
            "2026/+9/11",
            "2026/9/x/11",
            "2026/9/11/12",
            "2026-09-11",
            "x2026/9/11",
        ] {
            assert!(!matches!(place(path), TreePosition::Day(_)), "{path}");
        }
        assert_eq!(place("2026"), TreePosition::Year(2026));
        assert_eq!(place("a/2026/12"), TreePosition::Month(2026, 12));
    }

    #[test]
    fn a_period_asks_for_its_days_and_one_on_either_side() {
        let day = |day: i64| TreePosition::Day(day);
        let period = |from, to| Days::of(Period { from, to });
        // The eleventh of September 2026.
        let of_day = period(Some(20_707 * DAY), Some(20_708 * DAY));
        let asked: Vec<i64> = (20_700..20_715)
            .filter(|d| of_day.contains(day(*d)))
            .collect();
        assert_eq!(asked, [20_706, 20_707, 20_708]);
        let second = period(Some(20_708 * DAY), Some(20_708 * DAY + 1));
        assert!(second.contains(day(20_709)) && !second.contains(day(20_710)));
        let since = period(Some(0), None);
        assert!(
            since.contains(day(-1)) && !since.contains(day(-2)) && since.contains(day(1 << 40))
        );
        let until = period(None, Some(i64::MIN));
        assert!(!until.contains(day(0)));
        assert!(
            of_day.contains(TreePosition::Elsewhere)
                && of_day.contains(TreePosition::Month(1999, 1))
        );
        assert!(period(None, None).contains(day(0)));
    }
}
