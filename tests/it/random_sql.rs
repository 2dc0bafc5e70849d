//! Random SQL against DuckDB over the same Parquet files: 2,000 statements of one seed. `scripts/oracle.py` runs more of them over
//! a larger lake, and shows the statement of a number.

#[path = "../../benches/ask.rs"]
mod ask;

use crate::cli_program::PROGRAM;
use crate::support::python;
use iolode::Error;
use iolode::engine::options::SWITCHES;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

crate::tests! {
    [] => {
        each_rule_is_switched_off_in_a_variant,
    }
    [Packages] => {
        random_statements_answer_as_in_duckdb,
    }
}

/// Statements and the seed that they are drawn from; a process of Python for each of the jobs.
const STATEMENTS: usize = 2000;
const SEED: u64 = 23;
const JOBS: usize = 2;

fn random_statements_answer_as_in_duckdb() {
    let python = python();
    let root = tempfile::tempdir().unwrap();
    let lakes = root.path().join("lakes");
    let make = ["--make", "jobs", "120", "--iolode", PROGRAM];
    let made = oracle(&python, &lakes).args(make).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    let taken = std::thread::scope(|scope| {
        let (python, lakes) = (&python, &lakes);
        let takes = (0..JOBS).map(|part| scope.spawn(move || take(python, lakes, part)));
        let takes: Vec<_> = takes.collect();
        let taken = takes.into_iter().map(|take| take.join().unwrap());
        taken.collect::<Vec<_>>()
    });
    for (good, said) in &taken {
        assert!(good, "{said}");
    }
    for (_, said) in taken {
        println!("{said}");
    }
}

fn each_rule_is_switched_off_in_a_variant() {
    let path = "tests/oracles/duckdb/random_sql/engines.py";
    let engines = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    let engines = engines.unwrap();
    let (_, rules) = engines.split_once("RULES = [").unwrap();
    let (rules, _) = rules.split_once(']').unwrap();
    let rules: Vec<&str> = rules.split('"').skip(1).step_by(2).collect();
    let switches: Vec<&str> = SWITCHES.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, switches);
}

/// The command over these lakes.
fn oracle(python: &Path, lakes: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/oracle.py");
    let mut command = Command::new(python);
    command.arg(script).arg("--lakes").arg(lakes);
    command
}

/// One part of the statements: this process answers what the script asks. Whether all answers agreed, and the log.
fn take(python: &Path, lakes: &Path, part: usize) -> (bool, String) {
    let arguments = [
        ("--seed", SEED.to_string()),
        ("--statements", STATEMENTS.to_string()),
        ("--jobs", JOBS.to_string()),
        ("--part", part.to_string()),
    ];
    let mut command = oracle(python, lakes);
    for (name, value) in arguments {
        command.args([name, &value]);
    }
    let piped = command.arg("--stdio").stdin(Stdio::piped());
    let piped = piped.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut script = piped.spawn().unwrap();
    let (questions, answers) = (script.stdout.take().unwrap(), script.stdin.take().unwrap());
    let mut log = script.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut said = String::new();
        log.read_to_string(&mut said).unwrap();
        said
    });
    let columns = |_: &Path, _: &[_]| Err(Error::Invalid("no columns are asked for here".into()));
    ask::ask(None, BufReader::new(questions), answers, columns).unwrap();
    let good = script.wait().unwrap().success();
    (good, log.join().unwrap())
}
