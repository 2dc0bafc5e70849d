//! A service and a timer of systemd.
//!
//! Words of a command line are quoted by the rules of systemd.service(5), "Command lines", and systemd.syntax(7), "Quoting": `%` begins a specifier and `$` a
//! variable, also within quotes, and each doubled stands for itself.

use super::schedule::{HOUR, Schedule, When};
use crate::cli::shell::OutFile;
use crate::error::Error;
use crate::text::shown_path;
use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The files of a schedule: their names and texts.
pub(super) fn units(schedule: &Schedule) -> [(String, String); 2] {
    let (name, when) = (schedule.name(), schedule.when.word());
    let report = schedule.report.replace('%', "%%");
    let made = format!(
        "# Made by `iolode report {report} --timer {when}`.\n",
        report = crate::text::shown(&schedule.report)
    );
    let words = schedule.words.iter().enumerate();
    // The path of the program has specifiers, but no variables.
    let words = words
        .map(|(at, word)| quoted(word, at > 0))
        .collect::<Vec<_>>();
    let environment = schedule.environment.iter().map(|(name, value)| {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        format!("Environment={}\n", quoted(&word, false))
    });
    let service = format!(
        "{made}[Unit]\nDescription=iolode report {report}\n\n[Service]\nType=oneshot\n{}ExecStart={}\n",
        environment.collect::<String>(),
        words.join(" "),
        report = crate::text::shown(&report),
    );
    let day = match schedule.when {
        When::Daily => "*-*-*",
        When::Weekly => "Mon *-*-*",
        When::Monthly => "*-*-01",
    };
    let timer = format!(
        "{made}[Unit]\nDescription=Runs iolode report {report} {when}\n\n[Timer]\nOnCalendar={day} {HOUR:02}:00:00 {zone}\n\
         # One that was missed while the machine was off is made up for.\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
        report = crate::text::shown(&report),
        zone = schedule.zone.name(),
    );
    [
        (format!("{name}.service"), service),
        (format!("{name}.timer"), timer),
    ]
}

/// Writes units to the user's directory; those that are there and differ only if `force` is given. Answers the files that were written.
///
/// # Errors
/// If there are others of that name, or if they cannot be written.
pub(super) fn install(units: &[(String, String)], force: bool) -> anyhow::Result<Vec<PathBuf>> {
    let directory = directory().context(
        "--install: neither XDG_CONFIG_HOME nor HOME names a directory; print the units and write them yourself",
    )?;
    let mut wanted = vec![];
    for (name, text) in units {
        let path = directory.join(name);
        match std::fs::read(&path) {
            Ok(known) if known == text.as_bytes() => {}
            Ok(_) if !force => bail!(
                "{}: is there and is another; replace it by --force, or give the report another name",
                shown_path(&path)
            ),
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&path, "cannot read", e).into());
            }
            _ => wanted.push((path, text)),
        }
    }
    std::fs::create_dir_all(&directory).map_err(|e| Error::io(&directory, "cannot create", e))?;
    for (path, text) in &wanted {
        OutFile::create(path)?.write(text.as_bytes())?;
    }
    Ok(wanted.into_iter().map(|(path, _)| path).collect())
}

/// Where the units of the user lie.
fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Some(config?.join(Path::new("systemd/user")))
}

/// A word of a command line or of `Environment=`, which has no variables.
fn quoted(word: &OsStr, has_variables: bool) -> String {
    let bytes = word.as_encoded_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@+".contains(b);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                '%' => text.push_str("%%"),
                '$' if has_variables => text.push_str("$$"),
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    escape(c.encode_utf8(&mut bytes).as_bytes(), &mut text);
                }
                c => text.push(c),
            }
        }
        escape(chunk.invalid(), &mut text);
    }
    text + "\""
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::tests::schedule;
    use super::*;

    /// By the tables of systemd.syntax(7) and systemd.service(5).
    #[test]
    fn a_word_is_read_as_it_was_whatever_is_in_it() {
        for (word, expected) in [
            ("/opt/iolode", "/opt/iolode"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("it's", "\"it's\""),
            ("50%", "\"50%%\""),
            ("$HOME", "\"$$HOME\""),
            ("\"\\", "\"\\\"\\\\\""),
            ("a\nb", "\"a\\x0ab\""),
            (";", "\";\""),
            ("Größe", "\"Größe\""),
        ] {
            assert_eq!(quoted(OsStr::new(word), true), expected);
        }
        assert_eq!(quoted(OsStr::new("A=$x"), false), "\"A=$x\"");
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(quoted(OsStr::from_bytes(b"/\xff"), true), "\"/\\xff\"");
    }

    #[test]
    fn a_timer_runs_in_the_zone_of_the_lake() {
        let mut schedule = schedule(&["/opt/my $iolode", "report", "--out=/a $b"]);
        schedule.zone = chrono_tz::Tz::Europe__Berlin;
        schedule.environment = vec![("CHROMIUM", "/opt/a b".into())];
        let [(service_name, service), (timer_name, timer)] = units(&schedule);
        assert_eq!(
            [service_name, timer_name],
            ["iolode-report-weekly.service", "iolode-report-weekly.timer"]
        );
        assert!(
            service.contains("\nExecStart=\"/opt/my $iolode\" report \"--out=/a $$b\"\n"),
            "{service}"
        );
        assert!(
            service.contains("\nEnvironment=\"CHROMIUM=/opt/a b\"\n"),
            "{service}"
        );
        assert!(
            timer.contains("\nOnCalendar=Mon *-*-* 06:00:00 Europe/Berlin\n"),
            "{timer}"
        );
    }
}
