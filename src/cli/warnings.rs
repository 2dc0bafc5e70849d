//! What the library logs while a command goes on: lines on stderr, as they come.

use crate::text::shown;
use chrono::{SecondsFormat, Utc};
use log::{Level, Log, Metadata, Record};
use std::fmt::Display;
use std::io::Write;

/// Who logs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Logger {
    /// A command that somebody waits for: warnings.
    Command,
    /// A process that runs for days: what operators look for as well, with the time.
    Service,
}

/// Shows what this library logs, and nothing of the crates that it uses.
pub(super) fn show(of: Logger) {
    let logger: &'static Logger = match of {
        Logger::Command => &Logger::Command,
        Logger::Service => &Logger::Service,
    };
    // There is a logger already where a process runs several commands.
    if log::set_logger(logger).is_ok() {
        log::set_max_level(of.level().to_level_filter());
    }
}

/// Writes a line of a service.
pub(super) fn say(line: impl Display) {
    write(Logger::Service, &line);
}

fn write(of: Logger, line: &impl Display) {
    let head = match of {
        Logger::Service => Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        Logger::Command => "note:".into(),
    };
    // Nobody may read it.
    let _ = writeln!(std::io::stderr(), "{head} {}", shown(&line.to_string()));
}

impl Logger {
    fn level(self) -> Level {
        match self {
            Self::Service => Level::Info,
            Self::Command => Level::Warn,
        }
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let library = metadata.target().split("::").next();
        metadata.level() <= self.level() && library == Some(env!("CARGO_PKG_NAME"))
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            write(*self, record.args());
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_shows_warnings_of_this_library_alone() {
        let is_shown = |of: Logger, level, target| {
            let metadata = Metadata::builder().level(level).target(target).build();
            of.enabled(&metadata)
        };
        let ours = "iolode::cluster::job";
        assert!(is_shown(Logger::Command, Level::Warn, ours));
        assert!(!is_shown(Logger::Command, Level::Info, ours));
        assert!(is_shown(Logger::Service, Level::Info, ours));
        assert!(!is_shown(
            Logger::Service,
            Level::Warn,
            "ballista_core::client"
        ));
    }
}
