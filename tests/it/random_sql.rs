//! Random SQL against DuckDB over the same Parquet files: 2,000 statements of one seed, and 500 questions as people and dashboards ask them.
//! `scripts/oracle.py` runs more of them over a larger lake, and shows the statement of a number.

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
/// The same of the second generator.
const QUESTIONS: usize = 500;
const QUESTION_SEED: u64 = 41;

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
        let take = |part| {
            [
                statements(python, lakes, part),
                questions(python, lakes, part),
            ]
        };
        let takes = (0..JOBS).map(|part| scope.spawn(move || take(part)));
        let takes: Vec<_> = takes.collect();
        let taken = takes.into_iter().flat_map(|take| take.join().unwrap());
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

/// One part of the statements. Whether all answers agreed, and the log.
fn statements(python: &Path, lakes: &Path, part: usize) -> (bool, String) {
    let mut command = oracle(python, lakes);
    for (name, value) in [
        ("--seed", SEED),
        ("--statements", STATEMENTS as u64),
        ("--jobs", JOBS as u64),
        ("--part", part as u64),
    ] {
        command.args([name, &value.to_string()]);
    }
    take(command)
}

/// One part of the questions. Whether all answers agreed, and the log.
fn questions(python: &Path, lakes: &Path, part: usize) -> (bool, String) {
    let mut command = oracle(python, lakes);
    command.arg("--shapes");
    let each = QUESTIONS / JOBS;
    for (name, value) in [
        ("--seed", QUESTION_SEED),
        ("--from", (part * each) as u64),
        ("--statements", each as u64),
    ] {
        command.args([name, &value.to_string()]);
    }
    take(command)
}

/// Runs a command whose questions this process answers. Whether it found nothing, and its log.
fn take(mut command: Command) -> (bool, String) {
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
