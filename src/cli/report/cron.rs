//! A line of a crontab, or an entry of Slurm's scrontab.
//!
//! cron makes a line end of `%`, and `%` of `\%`, before the shell sees the line. What cron does with other backslashes differs, so that no word has one. Slurm hands the
//! line to `/bin/sh` as it is.

use super::schedule::{Schedule, When};
use anyhow::{Context, bail};
use chrono::TimeZone;
use std::ffi::OsStr;

/// Which table the line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Crontab,
    Scrontab,
}

/// The entry of a schedule, for a machine in the zone `local`.
///
/// # Errors
/// If a word has no form in such a line.
pub(super) fn entry(
    schedule: &Schedule,
    table: Table,
    local: &impl TimeZone,
) -> anyhow::Result<String> {
    let (hour, minute) = schedule.local_time(local);
    let days = match schedule.when {
        When::Daily => "* * *",
        When::Weekly => "* * 1",
        When::Monthly => "1 * *",
    };
    let mut words = vec![];
    for (name, value) in &schedule.environment {
        words.push(format!("{name}={}", quoted(value, table)?));
    }
    for word in &schedule.words {
        words.push(quoted(word, table)?);
    }
    let name = schedule.name();
    let head = match table {
        Table::Crontab => format!("# {name}, {}\n", schedule.when.word()),
        Table::Scrontab => format!(
            "# {name}, {}. Add the options of sbatch that your site asks for, such as --partition, each as a line of #SCRON.\n#SCRON --job-name={name}\n",
            schedule.when.word()
        ),
    };
    Ok(format!(
        "{head}{minute} {hour} {days} {}\n",
        words.join(" ")
    ))
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
    use chrono::Utc;

    #[test]
    fn a_line_has_the_time_and_words_of_the_shell() {
        let mut schedule = schedule(&["/opt/iolode", "report", "--out=/it's 5%/a"]);
        let line = |schedule: &Schedule, table| entry(schedule, table, &Utc).unwrap();
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
