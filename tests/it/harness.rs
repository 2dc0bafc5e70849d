//! The runner of these tests: one that lacks something, such as the real logs, is ignored and not passed, and a line at the end says why.

use crate::support::{find_data, find_packages, find_playwright, find_python};
use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use std::process::{Command, ExitCode};

/// What a test needs that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The real logs: `IOLODE_SHARED_DATA`, or `../shared/data`.
    Data,
    /// Any python3.
    Python,
    /// Python with the packages of `tests/oracles/python/requirements.txt`: `IOLODE_PYTHON`, or `target/venv` as `scripts/venv.sh` makes it.
    Packages,
    /// A checkout of git.
    Git,
    /// bash.
    Bash,
    /// A MariaDB server that a test can start.
    MariaDb,
    /// strace.
    Strace,
    /// Chromium, which draws pages.
    Chromium,
    /// systemd-analyze, which reads units.
    Systemd,
    /// Playwright, which drives it, and axe-core: among the packages of `tests/oracles/python/requirements.txt`.
    Playwright,
}

/// A test, and what it needs.
pub(crate) struct Test {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    pub(crate) needs: &'static [Need],
    pub(crate) run: fn(),
}

/// Lists the tests of a file as its `TESTS`, by what they need.
#[macro_export]
macro_rules! tests {
    (@needs [$($need:ident),*]) => { &[$($crate::harness::Need::$need),*] };
    ($($needs:tt => { $($name:ident,)* })*) => {
        pub(crate) const TESTS: &[$crate::harness::Test] = &[$($(
            $crate::harness::Test {
                module: module_path!(),
                name: stringify!($name),
                needs: $crate::tests!(@needs $needs),
                run: $name,
            },
        )*)*];
    };
}

impl Need {
    const ALL: [Self; 10] = [
        Self::Data,
        Self::Python,
        Self::Packages,
        Self::Git,
        Self::Bash,
        Self::MariaDb,
        Self::Strace,
        Self::Chromium,
        Self::Systemd,
        Self::Playwright,
    ];

    /// What is missing; None if it is there.
    fn lacks(self) -> Option<&'static str> {
        match self {
            Self::Data => find_data().is_none().then_some(
                "the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names",
            ),
            Self::Python => find_python().is_none().then_some("python3"),
            Self::Packages => find_packages().is_none().then_some(
                "python3 with pydarshan, DuckDB, Polars and PyArrow: scripts/venv.sh makes one, or IOLODE_PYTHON names it",
            ),
            Self::Git => (!is_checkout()).then_some("git, and a checkout of it"),
            Self::Bash => (!can_start("bash")).then_some("bash"),
            Self::MariaDb => {
                let programs = ["mariadb-install-db", "mariadbd", "mariadb"];
                (!programs.into_iter().all(can_start)).then_some("mariadb-server")
            }
            Self::Strace => (!can_start("strace")).then_some("strace"),
            Self::Chromium => (!can_start("chromium")).then_some("chromium"),
            Self::Systemd => (!can_start("systemd-analyze")).then_some("systemd-analyze"),
            Self::Playwright => find_playwright().is_none().then_some(
                "python3 with playwright and axe-playwright-python: scripts/venv.sh makes one",
            ),
        }
    }
}

fn can_start(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn is_checkout() -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let asked = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["rev-parse", "--git-dir"])
        .output();
    asked.is_ok_and(|output| output.status.success())
}

/// Whether the command line asks for a test of that name.
fn is_asked(arguments: &Arguments, name: &str) -> bool {
    let is_named = |part: &String| match arguments.exact {
        true => part == name,
        false => name.contains(part),
    };
    arguments.filter.iter().all(is_named) && !arguments.skip.iter().any(is_named)
}

/// Runs those that the command line asks for.
pub(crate) fn run(files: &[&'static [Test]]) -> ExitCode {
    let arguments = Arguments::from_args();
    let lacking = Need::ALL.map(|need| (need, need.lacks()));
    let lacks = |test: &Test| {
        let mut lacking = lacking.iter();
        lacking.find_map(|(need, lacks)| lacks.filter(|_| test.needs.contains(need)))
    };
    let mut ignored: Vec<(&str, usize)> = vec![];
    let mut trials = vec![];
    for test in files.iter().copied().flatten() {
        let module = test.module.split("::").skip(1).collect::<Vec<_>>();
        let name = format!("{}::{}", module.join("::"), test.name);
        let run = test.run;
        let mut trial = Trial::test(name, move || {
            run();
            Ok(())
        });
        if let Some(lacks) = lacks(test) {
            trial = trial.with_ignored_flag(true);
            if !is_asked(&arguments, trial.name()) {
                continue;
            }
            match ignored.iter_mut().find(|(known, _)| *known == lacks) {
                Some((_, tests)) => *tests += 1,
                None => ignored.push((lacks, 1)),
            }
        }
        trials.push(trial);
    }
    let done = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        for (lacks, tests) in ignored {
            println!("{tests} tests were ignored, for there is no {lacks}");
        }
    }
    done.exit_code()
}
