//! Dates on the command line, in the site's time zone.

use crate::source::Period;
use crate::source::moment::moment;
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
