//! Dates on the command line, in the site's time zone.

use crate::source::Period;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// The period between two dates as they were typed.
///
/// # Errors
/// What was expected, if one of them is no date or they are the wrong way round.
pub(crate) fn period(from: Option<&str>, to: Option<&str>, zone: Tz) -> Result<Period, String> {
    let moment = |flag: &str, text: Option<&str>| {
        text.map(|text| moment(text, zone).map_err(|why| format!("{flag} {why}")))
            .transpose()
    };
    let period = Period {
        from: moment("--from", from)?,
        to: moment("--to", to)?,
    };
    match (period.from, period.to, from, to) {
        (Some(a), Some(b), Some(from), Some(to)) if a >= b => Err(format!(
            "--from {from} --to {to}: an empty period; --to is exclusive"
        )),
        _ => Ok(period),
    }
}

/// The zone of that name.
///
/// # Errors
/// What was expected, if there is no such zone.
pub(crate) fn zone(name: &str) -> Result<Tz, String> {
    name.parse().map_err(|_| {
        format!(
            "`{name}` is not a time zone; expected an IANA name, such as `Europe/Berlin` or `UTC`"
        )
    })
}

/// Microseconds since 1970 of a date (its beginning), a date with a time, or a full RFC 3339 time, in `zone` where it names none.
///
/// A time that does not exist because clocks were set forward is the moment of that change; one that exists twice is the
/// earlier.
///
/// # Errors
/// What was expected.
pub(crate) fn moment(text: &str, zone: Tz) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.timestamp_micros());
    }
    let date =
        NaiveDate::parse_from_str(text, "%Y-%m-%d").map(|date| date.and_time(NaiveTime::MIN));
    let local = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"]
        .iter()
        .fold(date.ok(), |found, format| {
            found.or_else(|| NaiveDateTime::parse_from_str(text, format).ok())
        })
        .ok_or_else(|| {
            format!("`{text}` is not a valid date; expected `2026-09-01`, `2026-09-01T12:00` or `2026-09-01T12:00:00Z`")
        })?;
    Ok(at(local, zone).timestamp_micros())
}

fn at(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    // Clocks jump by whole quarters of an hour; look for the first time that exists.
    let existing = (0..=192)
        .map(|quarters| local + TimeDelta::minutes(15 * quarters))
        .find_map(|local| zone.from_local_datetime(&local).earliest());
    existing.map_or_else(|| local.and_utc(), |time| time.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, zone: &str, expected: &str) {
        let expected = DateTime::parse_from_rfc3339(expected).unwrap();
        let zone = super::zone(zone).unwrap();
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
            "2026-09-01T12:30:05+02:00",
            "America/Los_Angeles",
            "2026-09-01T10:30:05Z",
        );
    }

    #[test]
    fn a_time_skipped_by_summer_time_is_the_moment_of_the_change_and_one_that_occurs_twice_the_earlier()
     {
        // Berlin goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 back to 02:00 on 25 October.
        check("2026-03-29T02:00", "Europe/Berlin", "2026-03-29T01:00:00Z");
        check("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z");
        // Beirut had no midnight on 27 March 2022: the day began at 01:00.
        check("2022-03-27", "Asia/Beirut", "2022-03-26T22:00:00Z");
    }

    #[test]
    fn what_is_no_date_or_no_zone_is_refused_with_an_example() {
        let why = period(Some("2026-13-01"), None, Tz::UTC).unwrap_err();
        assert!(
            why.starts_with("--from `2026-13-01` is not a valid date; expected `2026-09-01`"),
            "{why}"
        );
        assert!(period(None, Some("yesterday"), Tz::UTC).is_err());
        assert!(zone("Berlin").unwrap_err().contains("`Europe/Berlin`"));
    }

    #[test]
    fn a_period_that_holds_nothing_is_refused() {
        let same = Some("2026-09-01");
        assert!(
            period(same, same, Tz::UTC)
                .unwrap_err()
                .contains("empty period")
        );
        assert!(period(Some("2026-09-02"), same, Tz::UTC).is_err());
        assert!(period(same, Some("2026-09-02"), Tz::UTC).is_ok());
    }
}
