//! Times as sacct prints them: in the zone of whoever ran it, and without saying which.

use crate::source::local_time::{LocalTime, Moments};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;

const SECOND: i64 = 1_000_000;

/// A moment, or the two between which a clock that was set back leaves the choice. Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) earliest: i64,
    pub(super) latest: i64,
}

impl Moment {
    pub(super) fn at(micros: i64) -> Self {
        Self {
            earliest: micros,
            latest: micros,
        }
    }

    /// The earlier of the two that is not before `other`, else the later.
    pub(super) fn not_before(self, other: i64) -> i64 {
        if self.earliest >= other {
            self.earliest
        } else {
            self.latest
        }
    }

    fn both(self) -> [i64; 2] {
        [self.earliest, self.latest]
    }
}

/// Start and end of what ran for `ran` seconds, suspensions included: where a clock was set back in between, the pair of which
/// that is true.
pub(super) fn start_and_end(start: Moment, end: Moment, ran: Option<f64>) -> (i64, i64) {
    let fits = |start: i64, end: i64| {
        ran.is_some_and(|ran| ((end - start) as f64 / SECOND as f64 - ran).abs() <= 1.5)
    };
    let pairs = start
        .both()
        .into_iter()
        .flat_map(|s| end.both().map(|e| (s, e)));
    let found = pairs.into_iter().find(|(s, e)| fits(*s, *e));
    found.unwrap_or((start.earliest, end.not_before(start.earliest)))
}

/// Reads times of one zone.
pub(super) struct Clock {
    /// The day on which relative times were printed.
    pub(super) today: NaiveDate,
    local: LocalTime,
    /// Whether a time was met that names no zone.
    pub(super) met_local: bool,
    /// Whether a time was met that lies in an hour that the zone does not have.
    pub(super) met_skipped: bool,
    /// Whether a time was met whose date, or its year, is that of [`Clock::today`].
    pub(super) met_relative: bool,
    /// The date that was read last, as text, and the days from 1970 to it.
    date: ([u8; 10], i64),
}

/// What stands for no time.
const NO_TIME: [&str; 5] = ["", "Unknown", "None", "N/A", "NONE"];

impl Clock {
    /// `printed` is when the times were printed, microseconds since 1970.
    pub(super) fn new(zone: Tz, printed: Option<i64>) -> Self {
        let printed = printed
            .and_then(DateTime::from_timestamp_micros)
            .unwrap_or_else(Utc::now);
        Self {
            today: printed.with_timezone(&zone).date_naive(),
            local: LocalTime::new(zone),
            met_skipped: false,
            met_relative: false,
            met_local: false,
            date: (*b"1970-01-01", 0),
        }
    }

    /// Whether the text is a time, or stands for none; it is only looked at, and is no time that was met.
    pub(super) fn is_time(&mut self, text: &str) -> bool {
        let met = (self.met_local, self.met_skipped, self.met_relative);
        let is_time = self.read(text).is_some();
        (self.met_local, self.met_skipped, self.met_relative) = met;
        is_time
    }

    /// A time; None inside where there is none, or none that the zone has. None if the text is not a time.
    ///
    /// Read are ISO times, with or without an offset, seconds since 1970, and those of `SLURM_TIME_FORMAT=relative`, which
    /// leave out what the reader is supposed to know.
    pub(super) fn read(&mut self, text: &str) -> Option<Option<Moment>> {
        if NO_TIME.contains(&text) {
            return Some(None);
        }
        let bytes = text.as_bytes();
        if bytes.len() >= 19 && bytes[10] == b'T' {
            return self.iso(text);
        }
        if bytes.iter().all(u8::is_ascii_digit) {
            let seconds: i64 = text.parse().ok()?;
            let micros = seconds.checked_mul(SECOND)?;
            return Some((seconds > 0).then_some(Moment::at(micros)));
        }
        self.relative(text)
    }

    fn iso(&mut self, text: &str) -> Option<Option<Moment>> {
        let (date, rest) = text.as_bytes().split_first_chunk::<10>()?;
        let (time, _) = rest.split_first_chunk::<9>()?;
        // A record's times are mostly those of one day.
        if self.date.0 != *date {
            self.date = (*date, days_of(date)?);
        }
        let local = self.date.1 * 86_400 + second_of_day(time)?;
        match &text[19..] {
            "" => Some(self.local(local)),
            "Z" => Some(Some(Moment::at(local * SECOND))),
            offset => {
                let time = DateTime::parse_from_str(
                    &format!("{}{offset}", &text[..19]),
                    "%Y-%m-%dT%H:%M:%S%z",
                );
                Some(Some(Moment::at(time.ok()?.timestamp_micros())))
            }
        }
    }

    /// Seconds of local time since 1970 as a moment; None where the zone does not have this time ([`crate::source::local_time`]).
    fn local(&mut self, local: i64) -> Option<Moment> {
        self.met_local = true;
        match self.local.moments(local) {
            Moments::One(moment) => Some(Moment::at(moment * SECOND)),
            Moments::Two(earlier, later) => Some(Moment {
                earliest: earlier * SECOND,
                latest: later * SECOND,
            }),
            Moments::None => {
                self.met_skipped = true;
                None
            }
        }
    }

    /// What `SLURM_TIME_FORMAT=relative` prints: `02:03:04` today, `Ystday 02:03`, `Tomorr 02:03`, `Sat 02:03` within the next
    /// days, `9 Nov 02:03` within a year, `9 Nov 2024` else.
    fn relative(&mut self, text: &str) -> Option<Option<Moment>> {
        self.met_local = true;
        let time = |text: &str| {
            let mut parts = text
                .split(':')
                .map(|part| part.parse::<u32>().ok().filter(|_| part.len() == 2));
            let (hour, minute, second) = (
                parts.next()??,
                parts.next()??,
                parts.next().unwrap_or(Some(0))?,
            );
            parts.next().is_none().then_some(())?;
            chrono::NaiveTime::from_hms_opt(hour, minute, second)
        };
        let words: Vec<&str> = text.split(' ').collect();
        let month = |word: &str| {
            word.parse::<chrono::Month>()
                .ok()
                .map(|m| m.number_from_month())
        };
        let local: NaiveDateTime = match words[..] {
            [clock] if clock.len() == 8 => self.today.and_time(time(clock)?),
            ["Ystday", clock] => (self.today - TimeDelta::days(1)).and_time(time(clock)?),
            ["Tomorr", clock] => (self.today + TimeDelta::days(1)).and_time(time(clock)?),
            [weekday, clock] => {
                let weekday: Weekday = weekday.parse().ok().filter(|_| weekday.len() == 3)?;
                let day = (2..=6)
                    .map(|n| self.today + TimeDelta::days(n))
                    .find(|day| day.weekday() == weekday)?;
                day.and_time(time(clock)?)
            }
            [day, name, clock] if clock.contains(':') => {
                let (day, month, time) = (day.parse().ok()?, month(name)?, time(clock)?);
                // The year that is not said is that of the nearest such day.
                let years = (-1..=1)
                    .filter_map(|n| NaiveDate::from_ymd_opt(self.today.year() + n, month, day));
                years
                    .min_by_key(|date| (*date - self.today).num_days().abs())?
                    .and_time(time)
            }
            [day, name, year] if year.len() == 4 => {
                NaiveDate::from_ymd_opt(year.parse().ok()?, month(name)?, day.parse().ok()?)?
                    .and_time(chrono::NaiveTime::MIN)
            }
            _ => return None,
        };
        // `9 Nov 2024` alone is a whole date.
        self.met_relative |= text.contains(':');
        Some(self.local(local.and_utc().timestamp()))
    }
}

/// The number that two digits make.
fn two(tens: u8, ones: u8) -> Option<i64> {
    let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    digits.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

/// Days from 1970 to a date as text; None if it is none.
fn days_of(date: &[u8; 10]) -> Option<i64> {
    let [a, b, c, d, b'-', e, f, b'-', g, h] = *date else {
        return None;
    };
    let (year, month, day) = (two(a, b)? * 100 + two(c, d)?, two(e, f)?, two(g, h)?);
    let real = (1..=12).contains(&month) && (1..=31).contains(&day);
    real.then(|| days(year, month, day))
}

/// Seconds of `T01:02:03`; None if that is no time of a day. A minute may have a leap second.
fn second_of_day(time: &[u8; 9]) -> Option<i64> {
    let [b'T', a, b, b':', c, d, b':', e, f] = *time else {
        return None;
    };
    let (hour, minute, second) = (two(a, b)?, two(c, d)?, two(e, f)?);
    let real = hour <= 23 && minute <= 59 && second <= 60;
    real.then_some(hour * 3600 + minute * 60 + second)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; a day that a month lacks is one of the next.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March end with the leap day.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(zone: &str) -> Clock {
        // 2026-11-21T02:06:33Z, a Saturday.
        Clock::new(zone.parse().unwrap(), Some(1_795_226_793 * SECOND))
    }

    fn read(clock: &mut Clock, text: &str) -> [i64; 2] {
        clock
            .read(text)
            .unwrap()
            .unwrap()
            .both()
            .map(|t| t / SECOND)
    }

    #[test]
    fn what_was_read_before_changes_nothing() {
        let mut used = clock("America/Los_Angeles");
        for text in [
            "2026-11-21T02:02:40",
            "2026-11-21T23:59:60",
            "2026-11-21T24:00:00",
            "2026-11-22T02:02:40",
            "2026-13-22T02:02:40",
            "2026-11-22T02:02:4x",
            "2026-11-2xT02:02:40",
            "2026-11-22T02:02:41",
            "2025-11-22 02:02:41",
            "2024-02-29T00:00:00+01:00",
            "1970-01-01T00:00:00Z",
        ] {
            assert_eq!(
                used.read(text),
                clock("America/Los_Angeles").read(text),
                "{text}"
            );
            assert_eq!(
                used.read(text),
                clock("America/Los_Angeles").read(text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_local_time_is_the_moment_that_the_zone_says() {
        // The accounting table has 1795226560 for what sacct printed as this in the two zones.
        assert_eq!(
            read(&mut clock("UTC"), "2026-11-21T02:02:40"),
            [1_795_226_560; 2]
        );
        assert_eq!(
            read(&mut clock("America/Los_Angeles"), "2026-11-20T18:02:40"),
            [1_795_226_560; 2]
        );
        assert_eq!(
            read(&mut clock("Asia/Tokyo"), "2026-11-21T02:02:40+0000"),
            [1_795_226_560; 2]
        );
        assert_eq!(
            read(&mut clock("Asia/Kolkata"), "1795226560"),
            [1_795_226_560; 2]
        );
    }

    #[test]
    fn a_time_that_the_zone_does_not_have_is_not_known() {
        // As in LMT: clocks go forward from 02:00 to 03:00.
        let mut pacific = clock("America/Los_Angeles");
        assert_eq!(pacific.read("2018-03-11T02:30:00"), Some(None));
        assert!(pacific.met_skipped);
        assert_eq!(
            read(&mut pacific, "2018-03-11T03:00:00"),
            [1_520_762_400; 2]
        );
    }

    #[test]
    fn days_are_counted_as_chrono_counts_them() {
        for step in 0..4000 {
            let date = NaiveDate::from_ymd_opt(1950, 1, 1).unwrap() + TimeDelta::days(step * 17);
            let expected = (date - NaiveDate::from_ymd_opt(1970, 1, 1).unwrap()).num_days();
            assert_eq!(
                days(
                    i64::from(date.year()),
                    i64::from(date.month()),
                    i64::from(date.day())
                ),
                expected,
                "{date}"
            );
        }
    }

    #[test]
    fn the_hour_that_comes_twice_is_resolved_by_how_long_it_ran() {
        // 2025-11-02: clocks in Los Angeles go from 02:00 PDT back to 01:00 PST, which is 09:00 UTC.
        let mut clock = clock("America/Los_Angeles");
        let twice = clock.read("2025-11-02T01:30:00").unwrap().unwrap();
        let first = DateTime::parse_from_rfc3339("2025-11-02T08:30:00Z")
            .unwrap()
            .timestamp_micros();
        assert_eq!(twice.both(), [first, first + 3600 * SECOND]);
        // Start and end print alike, and it ran for an hour.
        assert_eq!(
            start_and_end(twice, twice, Some(3600.0)),
            (first, first + 3600 * SECOND)
        );
        assert_eq!(start_and_end(twice, twice, Some(0.0)), (first, first));
        let three = clock.read("2025-11-02T03:00:00").unwrap().unwrap();
        let end = DateTime::parse_from_rfc3339("2025-11-02T11:00:00Z")
            .unwrap()
            .timestamp_micros();
        assert_eq!(
            start_and_end(twice, three, Some(5400.0)),
            (end - 5400 * SECOND, end)
        );
        assert_eq!(
            start_and_end(twice, three, Some(9000.0)),
            (end - 9000 * SECOND, end)
        );
        // The cache must not have learnt an hour that has two offsets.
        assert_eq!(
            read(&mut clock, "2025-11-02T00:59:59"),
            [first / SECOND - 1801; 2]
        );
        assert_eq!(
            read(&mut clock, "2025-11-02T02:00:00"),
            [first / SECOND + 5400; 2]
        );
    }

    #[test]
    fn relative_times_are_those_of_the_day_they_were_printed_on() {
        let mut clock = clock("UTC");
        for (text, time) in [
            ("02:02:40", "2026-11-21T02:02:40Z"),
            ("Ystday 23:10", "2026-11-20T23:10:00Z"),
            ("Tomorr 01:00", "2026-11-22T01:00:00Z"),
            ("Tue 02:02", "2026-11-24T02:02:00Z"),
            ("9 Nov 13:45", "2026-11-09T13:45:00Z"),
            ("2 Jan 05:00", "2027-01-02T05:00:00Z"),
            ("9 Nov 2024", "2024-11-09T00:00:00Z"),
        ] {
            let expected = DateTime::parse_from_rfc3339(time).unwrap().timestamp();
            assert_eq!(read(&mut clock, text), [expected; 2], "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told_from_no_time() {
        let mut clock = clock("UTC");
        for text in ["", "Unknown", "None", "N/A", "0"] {
            assert_eq!(clock.read(text), Some(None), "{text}");
        }
        for text in [
            "yesterday",
            "2026-13-01T00:00:00",
            "2026-11-21T02:02",
            "2026-11-21T25:00:00",
            "02:02",
            "-5",
            "Sat 2:2",
            "1 Foo 10:00",
        ] {
            assert_eq!(clock.read(text), None, "{text}");
        }
    }
}
