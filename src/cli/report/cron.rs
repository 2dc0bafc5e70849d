//! A line of a crontab, or an entry of Slurm's scrontab.
//!
//! cron makes a line end of `%`, and `%` of `\%`, before the shell sees the line. What cron does with other backslashes differs, so that no word has one. Slurm hands the
//! line to `/bin/sh` as it is.

use super::schedule::{HOUR, LocalTime, Schedule, When};
use anyhow::{Context, bail};
use chrono::{DateTime, TimeZone, Utc};
use std::ffi::OsStr;

/// Which table the line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Crontab,
    Scrontab,
}

/// The entry of a schedule, for a machine in the zone `local`, by the offsets of the time `now`.
///
/// # Errors
/// If a word has no form in such a line.
pub(super) fn entry(
    schedule: &Schedule,
    table: Table,
    local: &impl TimeZone,
    now: DateTime<Utc>,
) -> anyhow::Result<String> {
    let (time, changes) = times(schedule, &schedule.local_time(local, now));
    let mut words = vec![];
    for (name, value) in &schedule.environment {
        words.push(format!("{name}={}", quoted(value, table)?));
    }
    for word in &schedule.words {
        words.push(quoted(word, table)?);
    }
    let name = schedule.name();
    let (more, options) = match table {
        Table::Crontab => ("", String::new()),
        Table::Scrontab => (
            ". Add the options of sbatch that your site asks for, such as --partition, each as a line of #SCRON.",
            format!("#SCRON --job-name={name}\n"),
        ),
    };
    let when = schedule.when.word();
    Ok(format!(
        "# {name}, {when}{more}\n{changes}{options}{time} {}\n",
        words.join(" ")
    ))
}

/// The five fields of the time, and a comment where the machine has another zone than the lake.
fn times(schedule: &Schedule, at: &LocalTime) -> (String, String) {
    let zone = schedule.zone.name();
    let (mut hour, mut minute) = (at.hour, at.minute);
    let days = match schedule.when {
        When::Daily => "* * *".to_string(),
        When::Weekly => format!("* * {}", (1 + at.days).rem_euclid(7)),
        When::Monthly if at.days < 0 => {
            // The last day of a month has no number.
            (hour, minute) = (0, 0);
            "1 * *".into()
        }
        When::Monthly => format!("{} * *", 1 + at.days),
    };
    let is_later = (hour, minute) != (at.hour, at.minute);
    let here = format!("{hour}:{minute:02} on this machine");
    let said = match (is_later, at.is_steady) {
        (false, true) if (at.hour, at.minute, at.days) == (HOUR.into(), 0, 0) => String::new(),
        (false, true) => format!("# {HOUR}:00 in {zone} is {here}.\n"),
        (false, false) => format!(
            "# {HOUR}:00 in {zone} is {here} by the offsets of today: it is another time once clocks are changed.\n"
        ),
        (true, _) => format!(
            "# {HOUR}:00 in {zone} on the first of a month is the day before on this machine: the line runs at {hour}:{minute:02} after it.\n"
        ),
    };
    (format!("{minute} {hour} {days}"), said)
}

/// A word for `/bin/sh`.
fn quoted(word: &OsStr, table: Table) -> anyhow::Result<String> {
    let shown = crate::text::shown_path(word.as_ref());
    let text = word.to_str().with_context(|| no_form(&shown))?;
    if text.contains(char::is_control) || table == Table::Crontab && text.contains('\\') {
        bail!(no_form(&shown));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@+%".contains(c);
    let quoted = match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', "'\"'\"'")),
    };
    Ok(match table {
        Table::Crontab => quoted.replace('%', "\\%"),
        Table::Scrontab => quoted,
    })
}

fn no_form(word: &str) -> String {
    format!("`{word}`: cannot stand in a line of a crontab; use --timer-as systemd")
}

#[cfg(test)]
mod tests {
    use super::super::schedule::tests::schedule;
    use super::*;
    use chrono_tz::Tz;

    #[test]
    fn a_line_has_the_time_and_words_of_the_shell() {
        let mut schedule = schedule(&["/opt/iolode", "report", "--out=/it's 5%/a"]);
        let line = |schedule: &Schedule, table| entry(schedule, table, &Utc, Utc::now()).unwrap();
        assert_eq!(
            line(&schedule, Table::Crontab),
            "# iolode-report-weekly, weekly\n0 6 * * 1 /opt/iolode report '--out=/it'\"'\"'s 5\\%/a'\n"
        );
        let of_slurm = line(&schedule, Table::Scrontab);
        let end = "\n#SCRON --job-name=iolode-report-weekly\n0 6 * * 1 /opt/iolode report '--out=/it'\"'\"'s 5%/a'\n";
        assert!(of_slurm.ends_with(end), "{of_slurm}");
        schedule.when = When::Monthly;
        assert!(line(&schedule, Table::Crontab).contains("\n0 6 1 * * /opt"));
        schedule.when = When::Daily;
        assert!(line(&schedule, Table::Crontab).contains("\n0 6 * * * /opt"));
    }

    /// Offsets are those of the tz database: Tokyo has +9:00 all year, Berlin +2:00 in July.
    #[test]
    fn a_line_runs_at_six_in_the_zone_of_the_lake() {
        let july = DateTime::parse_from_rfc3339("2026-07-15T12:00:00Z").unwrap();
        let lines = |zone: Tz, when: When| {
            let mut schedule = schedule(&["/opt/iolode"]);
            (schedule.zone, schedule.when) = (zone, when);
            let text = entry(&schedule, Table::Crontab, &Utc, july.to_utc()).unwrap();
            let (_, lines) = text.split_once('\n').unwrap();
            lines.to_string()
        };
        assert_eq!(
            lines(Tz::Europe__Berlin, When::Weekly),
            "# 6:00 in Europe/Berlin is 4:00 on this machine by the offsets of today: it is another time once clocks are changed.\n0 4 * * 1 /opt/iolode\n"
        );
        assert_eq!(
            lines(Tz::Asia__Tokyo, When::Weekly),
            "# 6:00 in Asia/Tokyo is 21:00 on this machine.\n0 21 * * 0 /opt/iolode\n"
        );
        let daily = lines(Tz::Asia__Kolkata, When::Daily);
        assert!(daily.ends_with("\n30 0 * * * /opt/iolode\n"), "{daily}");
        let monthly = lines(Tz::Asia__Tokyo, When::Monthly);
        assert!(
            monthly.ends_with("at 0:00 after it.\n0 0 1 * * /opt/iolode\n"),
            "{monthly}"
        );
        let monthly = lines(Tz::America__Los_Angeles, When::Monthly);
        assert!(monthly.ends_with("\n0 13 1 * * /opt/iolode\n"), "{monthly}");
    }

    #[test]
    fn a_word_that_has_no_form_in_a_line_is_refused() {
        for (word, table) in [
            ("a\nb", Table::Crontab),
            ("a\\b", Table::Crontab),
            ("a\nb", Table::Scrontab),
        ] {
            let why = quoted(OsStr::new(word), table).unwrap_err().to_string();
            assert!(why.contains("--timer-as systemd"), "{why}");
        }
        assert!(quoted(OsStr::new("a\\b"), Table::Scrontab).is_ok());
    }
}
