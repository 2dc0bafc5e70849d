//! DATETIMEs of a server's zone as times in UTC.
//!
//! LMT stores the monitor's local time without zone. In autumn an hour comes twice, and only the order of the TS_IDs tells the
//! first from the second: times never go back, so a stamp of that hour that stands before its predecessor is the second.
//! Where nothing steps back (a whole hour is missing, or the data begin inside), that reading is taken which lies nearer to the
//! stamp before or after, the first if they are equal. In spring an hour does not exist ([`crate::source::local_time`]): the rows of
//! a stamp in it are left out and counted.

use crate::source::local_time::{LocalTime, Moments};
use chrono::{NaiveDate, NaiveDateTime};
use chrono_tz::Tz;

/// What stands for a stamp whose time is not known.
pub(super) const NEVER: i64 = i64::MIN;

/// Reads `2018-01-28 00:00:05`, also with a fraction of a second, which LMT never has and is left out; None if it is no time.
pub(super) fn datetime(text: &[u8]) -> Option<NaiveDateTime> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.iter().try_fold(0u32, |n, b| {
            b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0'))
        })
    };
    let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
    let between = is(10, b' ') || is(10, b'T');
    let end = text.len() == 19 || is(19, b'.');
    if !(is(4, b'-') && is(7, b'-') && between && is(13, b':') && is(16, b':') && end) {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(number(0, 4)?.cast_signed(), number(5, 7)?, number(8, 10)?)?;
    date.and_hms_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?)
}

/// What became of stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Stamps that are no time, such as `0000-00-00 00:00:00`.
    pub none: usize,
    /// Stamps that lie in an hour that the zone does not have.
    pub skipped: usize,
}

/// Times in microseconds since 1970 of stamps that are in the order of their TS_IDs; [`NEVER`] where a time is not known.
pub(super) fn resolve(zone: Tz, stamps: &[Option<NaiveDateTime>]) -> (Vec<i64>, Unknown) {
    let (mut times, mut unknown) = (Vec::with_capacity(stamps.len()), Unknown::default());
    // The run of ambiguous stamps that is open: where it starts, and the second readings of its stamps.
    let mut second = vec![];
    let mut clock = LocalTime::new(zone);
    let mut last = None;
    for stamp in stamps {
        let Some(stamp) = stamp else {
            unknown.none += 1;
            times.push(NEVER);
            continue;
        };
        let local = stamp.and_utc().timestamp();
        let (time, other) = match clock.moments(local) {
            Moments::One(time) => (time, None),
            Moments::Two(earlier, later) => (earlier, Some(later)),
            Moments::None => {
                unknown.skipped += 1;
                times.push(NEVER);
                continue;
            }
        };
        let time = match other {
            Some(other) if last.is_some_and(|last| time < last) => {
                // It steps back: all before it were the first, all after it are the second.
                second.clear();
                other
            }
            Some(other) => {
                second.push((times.len(), other));
                time
            }
            None => {
                resolve_ambiguous(&mut times, &mut second, Some(time));
                time
            }
        };
        last = Some(time);
        times.push(time);
    }
    resolve_ambiguous(&mut times, &mut second, None);
    for time in &mut times {
        *time = time.checked_mul(1_000_000).unwrap_or(NEVER);
    }
    (times, unknown)
}

/// Decides about ambiguous stamps none of which stepped back, now that the stamp after them is known.
fn resolve_ambiguous(times: &mut [i64], second: &mut Vec<(usize, i64)>, after: Option<i64>) {
    let (Some((begin, second_of_first)), Some((end, second_of_last))) =
        (second.first().copied(), second.last().copied())
    else {
        return;
    };
    let before = times[..begin].iter().rev().find(|time| **time != NEVER);
    let (Some(first), Some(last)) = (times.get(begin), times.get(end)) else {
        return;
    };
    let nearest = |first: i64, last: i64| {
        let before = before.map_or(i64::MAX, |before| (first - before).max(0));
        before.min(after.map_or(i64::MAX, |after| (after - last).max(0)))
    };
    if nearest(second_of_first, second_of_last) < nearest(*first, *last) {
        for (at, time) in second.iter() {
            times[*at] = *time;
        }
    }
    second.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    fn times(zone: Tz, stamps: &[&str]) -> Vec<i64> {
        let stamps: Vec<_> = stamps.iter().map(|s| datetime(s.as_bytes())).collect();
        let (times, _) = resolve(zone, &stamps);
        times.iter().map(|t| t / 1_000_000).collect()
    }

    const PACIFIC: Tz = chrono_tz::America::Los_Angeles;

    #[test]
    fn a_stamp_is_local_time_of_the_zone() {
        // FORMAT.md 3: snx11025's 00:00:00 is 1517126400.
        assert_eq!(times(PACIFIC, &["2018-01-28 00:00:00"]), [1_517_126_400]);
        assert_eq!(
            times(chrono_tz::UTC, &["2018-01-28 00:00:00"]),
            [1_517_126_400 - 8 * 3600]
        );
        // Half an hour off the full hour.
        assert_eq!(
            times(
                chrono_tz::Asia::Kolkata,
                &["2018-01-28 05:30:00", "2018-01-28 05:30:05"]
            ),
            [1_517_097_600, 1_517_097_605]
        );
    }

    #[test]
    fn the_hour_that_comes_twice_is_told_apart_by_the_order() {
        // Clocks go back at 09:00 UTC on 2018-11-04 = 1541322000; 01:00:00 PDT is an hour before.
        let first = 1_541_318_400;
        let stamps = [
            "2018-11-04 00:59:55",
            "2018-11-04 01:00:00",
            "2018-11-04 01:59:55",
            "2018-11-04 01:00:00",
            "2018-11-04 01:00:05",
            "2018-11-04 01:59:55",
            "2018-11-04 02:00:00",
        ];
        assert_eq!(
            times(PACIFIC, &stamps),
            [
                first - 5,
                first,
                first + 3595,
                first + 3600,
                first + 3605,
                first + 7195,
                first + 7200
            ]
        );
    }

    #[test]
    fn where_nothing_steps_back_the_nearer_reading_is_taken() {
        let first = 1_541_318_400;
        // Begins inside, ends with the hour after: the second.
        let stamps = [
            "2018-11-04 01:59:50",
            "2018-11-04 01:59:55",
            "2018-11-04 02:00:00",
        ];
        assert_eq!(
            times(PACIFIC, &stamps),
            [first + 7190, first + 7195, first + 7200]
        );
        // Ends inside: the first.
        let stamps = ["2018-11-04 00:59:55", "2018-11-04 01:00:00"];
        assert_eq!(times(PACIFIC, &stamps), [first - 5, first]);
        // Nothing around: the first. Else the nearer neighbour decides.
        assert_eq!(times(PACIFIC, &["2018-11-04 01:30:00"]), [first + 1800]);
        let stamps = [
            "2018-11-04 00:59:55",
            "2018-11-04 01:29:55",
            "2018-11-04 02:00:00",
        ];
        assert_eq!(times(PACIFIC, &stamps)[1], first + 1795);
        // Much nearer to what comes after.
        let stamps = [
            "2018-11-04 00:00:00",
            "2018-11-04 01:59:55",
            "2018-11-04 02:00:00",
        ];
        assert_eq!(times(PACIFIC, &stamps)[1], first + 7195);
    }

    #[test]
    fn a_time_that_never_was_is_not_known_and_counted() {
        let stamps = [
            "2018-03-11 01:59:55",
            "2018-03-11 02:30:00",
            "2018-03-11 03:00:00",
            "0000-00-00 00:00:00",
            "2018-03-11",
        ]
        .map(|s| datetime(s.as_bytes()));
        let (times, unknown) = resolve(PACIFIC, &stamps);
        // The clock goes forward at 10:00 UTC = 1520762400.
        let change = 1_520_762_400_000_000;
        assert_eq!(times, [change - 5_000_000, NEVER, change, NEVER, NEVER]);
        assert_eq!(
            unknown,
            Unknown {
                none: 2,
                skipped: 1
            }
        );
    }

    #[test]
    fn every_hour_of_a_year_and_every_zone_is_what_the_zone_says() {
        for zone in [
            PACIFIC,
            chrono_tz::Australia::Lord_Howe,
            chrono_tz::Asia::Kathmandu,
            chrono_tz::UTC,
        ] {
            let utc: Vec<i64> = (0..366 * 96).map(|i| 1_514_764_800 + i * 900).collect();
            let stamps: Vec<_> = utc
                .iter()
                .map(|t| Some(zone.timestamp_opt(*t, 0).unwrap().naive_local()))
                .collect();
            let (times, unknown) = resolve(zone, &stamps);
            assert_eq!(unknown, Unknown::default());
            assert!(
                times.iter().zip(&utc).all(|(a, b)| *a == b * 1_000_000),
                "{zone}"
            );
        }
    }
}
