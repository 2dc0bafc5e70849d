//! A fresh directory, a run of the program, a small lake.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where the program lies.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_iolode");

/// The program, with an environment of its own; stdin is empty.
pub(crate) fn program(dir: &Path) -> Command {
    program_at(Path::new(PROGRAM), dir)
}

/// A copy of the program, in the same way.
pub(crate) fn program_at(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null());
    for name in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "IOLODE_LAKE",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command.env("TZ", "UTC").env("HOME", dir);
    command
}

/// Runs the program in a directory.
pub(crate) fn iolode(dir: &Path, args: &[&str]) -> Run {
    Run::of(program(dir).args(args))
}

impl Run {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program runs");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }

    /// The run ended well; its stdout.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The run failed with nothing on stdout and one line on stderr, without `iolode: `.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        let line = self.stderr.trim_end().strip_prefix("iolode: ");
        line.expect("an error begins with the program's name")
            .to_string()
    }
}

/// A directory that is gone afterwards.
pub(crate) fn fresh() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Logs of 30 synthetic jobs and a lake of them, made once for all tests, which must not change them.
pub(crate) fn small() -> &'static Small {
    static SMALL: OnceLock<Small> = OnceLock::new();
    SMALL.get_or_init(|| {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("small");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory for tests");
        let small = Small {
            logs: dir.join("logs"),
            lake: dir.join("lake"),
        };
        iolode(
            &dir,
            &["synth", "--darshan-only", "--jobs", "30", "--out", "logs"],
        )
        .ok();
        // One that cannot be read is among them: exit code 1.
        std::fs::write(dir.join("logs/broken.darshan"), [0; 100]).expect("a broken log");
        let ingest = iolode(
            &dir,
            &["ingest", "--create", "--lake", "lake", "--darshan", "logs"],
        );
        assert_eq!(ingest.code, Some(1), "{ingest:?}");
        small
    })
}

/// Logs and a lake of them.
pub(crate) struct Small {
    pub(crate) logs: PathBuf,
    pub(crate) lake: PathBuf,
}

impl Small {
    /// The lake's path as an argument.
    pub(crate) fn lake(&self) -> &str {
        self.lake.to_str().expect("a path of letters")
    }
}
