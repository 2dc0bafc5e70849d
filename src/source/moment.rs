//! Times as people type them.

use chrono::{
    DateTime, DurationRound, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc,
};
use chrono_tz::Tz;

const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// A date with a time, with and without seconds.
const FORMATS: [&str; 4] = [
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S%.f",
];

/// Microseconds since 1970 of a date (its beginning) or a date with a time; in `zone`, unless an offset or `Z` follows.
///
/// A time that does not exist because clocks were set forward is the moment of that change; one that exists twice is the
/// earlier.
///
/// # Errors
/// What was expected.
pub fn moment(text: &str, zone: Tz) -> Result<i64, String> {
    let text = text.trim();
    if let Some(time) = with_offset(text) {
        return Ok(time.timestamp_micros());
    }
    let date =
        NaiveDate::parse_from_str(text, "%Y-%m-%d").map(|date| date.and_time(NaiveTime::MIN));
    let local = FORMATS
        .iter()
        .fold(date.ok(), |found, format| {
            found.or_else(|| NaiveDateTime::parse_from_str(text, format).ok())
        })
        .ok_or_else(|| {
            format!("`{text}` is not a valid date; expected `2026-09-01`, `2026-09-01T12:00` or `2026-09-01T12:00:00Z`")
        })?;
    Ok(at(local, zone).timestamp_micros())
}

/// A time that says its offset from UTC.
fn with_offset(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    let text = match text.strip_suffix(['Z', 'z']) {
        Some(time) => format!("{}+00:00", time.trim_end()),
        None => text.to_string(),
    };
    let parsed = FORMATS.iter().find_map(|format| {
        let formats = [format!("{format}%:z"), format!("{format} %:z")];
        let mut parsed = formats
            .iter()
            .filter_map(|format| DateTime::parse_from_str(&text, format).ok());
        parsed.next()
    });
    parsed.map(|time| time.to_utc())
}

fn at(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    let exists = |local: NaiveDateTime| zone.from_local_datetime(&local).earliest();
    // Clocks jump by whole quarters of an hour, and to one; look for the first that exists.
    let quarter = local.duration_trunc(QUARTER).unwrap_or(local);
    let later = || (1..=192).find_map(|quarters| exists(quarter + QUARTER * quarters));
    let existing = exists(local).or_else(later);
    existing.map_or_else(|| local.and_utc(), |time| time.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, zone: &str, expected: &str) {
        let expected = DateTime::parse_from_rfc3339(expected).unwrap();
        let zone = zone.parse().unwrap();
        assert_eq!(
            moment(text, zone),
            Ok(expected.timestamp_micros()),
            "{text} {zone}"
        );
    }

    #[test]
    fn a_date_is_its_beginning_in_the_given_zone() {
        check("2026-09-01", "UTC", "2026-09-01T00:00:00Z");
        check("2026-09-01", "Europe/Berlin", "2026-08-31T22:00:00Z");
        check("2026-01-01", "Europe/Berlin", "2025-12-31T23:00:00Z");
        check(
            "2026-09-01T12:30",
            "America/Los_Angeles",
            "2026-09-01T19:30:00Z",
        );
        check("2026-09-01 12:30:05", "UTC", "2026-09-01T12:30:05Z");
        check(
            "2026-09-01T12:30:05.25",
            "Europe/Berlin",
            "2026-09-01T10:30:05.25Z",
        );
    }

    #[test]
    fn an_offset_is_honoured_whatever_the_zone_and_however_it_is_written() {
        for text in [
            "2026-09-01T12:30:05+02:00",
            "2026-09-01 12:30:05+02:00",
            "2026-09-01 12:30:05 +02:00",
            "2026-09-01T10:30:05Z",
            "2026-09-01 10:30:05Z",
            "2026-09-01 10:30:05 Z",
        ] {
            check(text, "America/Los_Angeles", "2026-09-01T10:30:05Z");
        }
        check(
            "2026-09-01T12:30+02:00",
            "America/Los_Angeles",
            "2026-09-01T10:30:00Z",
        );
        check(
            "2026-09-01T10:30Z",
            "America/Los_Angeles",
            "2026-09-01T10:30:00Z",
        );
        check(
            "2026-09-01 12:30:05.123456+02:00",
            "UTC",
            "2026-09-01T10:30:05.123456Z",
        );
    }

    #[test]
    fn a_time_skipped_by_summer_time_is_the_moment_of_the_change_and_one_that_occurs_twice_the_earlier()
     {
        // Berlin goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 back to 02:00 on 25 October.
        check("2026-03-29T02:00", "Europe/Berlin", "2026-03-29T01:00:00Z");
        check("2026-03-29T02:20", "Europe/Berlin", "2026-03-29T01:00:00Z");
        check(
            "2026-03-29T02:59:59",
            "Europe/Berlin",
            "2026-03-29T01:00:00Z",
        );
        check("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z");
        // Beirut had no midnight on 27 March 2022: the day began at 01:00.
        check("2022-03-27", "Asia/Beirut", "2022-03-26T22:00:00Z");
    }
}
