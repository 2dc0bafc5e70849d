//! Dates on the command line, in the site's time zone.

use crate::source::Period;
use crate::source::moment::moment;
use chrono::{Datelike, Days, Months, NaiveDate, Weekday};
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

/// The same of the dates that [`named`] has of a text.
///
/// # Errors
/// What was expected, if one of them is no date or they are the wrong way round.
pub(crate) fn between(text: &str, [from, to]: &[String; 2], zone: Tz) -> Result<Period, String> {
    let at = |date: &str| moment(date, zone).map_err(|why| format!("--period {text}: {why}"));
    let (from, to) = (at(from)?, at(to)?);
    match from < to {
        true => Ok(Period {
            from: Some(from),
            to: Some(to),
        }),
        false => Err(format!(
            "--period {text}: an empty period; its end is exclusive"
        )),
    }
}

/// The first day of a period that has a name, and the day behind its last: `last-week`, `last-month`, `yesterday`, `2018`, `2018-01`, `2018-W05`, `2018-01-28`,
/// or `FROM..TO`. Weeks begin on Monday. `today` is that of the zone.
///
/// # Errors
/// What was expected.
pub(crate) fn named(text: &str, today: NaiveDate) -> Result<[String; 2], String> {
    let expected = || {
        format!(
            "--period `{text}`: expected last-week, last-month, yesterday, a year such as 2018, a month such as 2018-01, a week such as 2018-W05, a day, or FROM..TO"
        )
    };
    if let Some((from, to)) = text.split_once("..") {
        let dates = [from, to].map(|date| date.trim().to_string());
        return match dates.iter().any(String::is_empty) {
            true => Err(format!(
                "--period `{text}`: expected FROM..TO; give --from or --to alone for a period with one end"
            )),
            false => Ok(dates),
        };
    }
    let month = |first: NaiveDate| Some([first, first.checked_add_months(Months::new(1))?]);
    let first = |year: i32, month: u32| NaiveDate::from_ymd_opt(year, month, 1);
    let week = |monday: NaiveDate| Some([monday, monday.checked_add_days(Days::new(7))?]);
    let days = match text {
        "yesterday" => today.pred_opt().map(|day| [day, today]),
        "last-week" => {
            let monday = today.week(Weekday::Mon).first_day();
            monday.checked_sub_days(Days::new(7)).and_then(week)
        }
        "last-month" => first(today.year(), today.month())
            .and_then(|first| first.checked_sub_months(Months::new(1)))
            .and_then(month),
        _ => {
            let mut parts = text.splitn(2, '-');
            let year = parts.next().filter(|year| year.len() == 4);
            let year: Option<i32> = year.and_then(|year| year.parse().ok());
            match (year, parts.next()) {
                (Some(year), None) => first(year, 1).zip(first(year + 1, 1)).map(|(a, b)| [a, b]),
                (Some(year), Some(rest)) => match rest.strip_prefix(['W', 'w']) {
                    Some(number) => {
                        let number = number.parse().ok();
                        let monday = number
                            .and_then(|week| NaiveDate::from_isoywd_opt(year, week, Weekday::Mon));
                        monday.and_then(week)
                    }
                    None => match rest.parse() {
                        Ok(number) => first(year, number).and_then(month),
                        Err(_) => text
                            .parse::<NaiveDate>()
                            .ok()
                            .and_then(|day| Some([day, day.succ_opt()?])),
                    },
                },
                (None, _) => None,
            }
        }
    };
    let days = days.ok_or_else(expected)?;
    Ok(days.map(|day| day.to_string()))
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn periods_have_names() {
        // A Monday.
        let today = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
        for (text, from, to) in [
            ("last-week", "2026-11-23", "2026-11-30"),
            ("last-month", "2026-10-01", "2026-11-01"),
            ("yesterday", "2026-11-29", "2026-11-30"),
            ("2018", "2018-01-01", "2019-01-01"),
            ("2018-12", "2018-12-01", "2019-01-01"),
            ("2018-W01", "2018-01-01", "2018-01-08"),
            ("2020-W53", "2020-12-28", "2021-01-04"),
            ("2018-01-31", "2018-01-31", "2018-02-01"),
            (
                "2018-01-03..2018-01-05T12:00",
                "2018-01-03",
                "2018-01-05T12:00",
            ),
        ] {
            assert_eq!(named(text, today).unwrap(), [from, to], "{text}");
        }
        for text in [
            "week",
            "2018-13",
            "2019-W53",
            "2018-02-30",
            "",
            "18",
            "2018-",
        ] {
            let why = named(text, today).unwrap_err();
            assert!(why.contains("expected last-week"), "{why}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_period_is_said_of_the_option_that_was_given() {
        let today = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
        for (text, said) in [
            ("2026-09-14..", "expected FROM..TO"),
            ("..2026-09-14", "expected FROM..TO"),
            ("2026-09-14..2026-09-31", "`2026-09-31` is not a valid date"),
            ("x..2026-09-14", "`x` is not a valid date"),
            ("2026-09-14..2026-09-14", "an empty period"),
        ] {
            let dates = named(text, today);
            let why = dates
                .and_then(|dates| between(text, &dates, Tz::UTC))
                .unwrap_err();
            assert!(why.starts_with("--period ") && why.contains(said), "{why}");
        }
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
