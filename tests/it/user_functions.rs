//! Users' own functions from the outside: which lake keeps them, which version knows them, who may make them.

use crate::cli_program::{Run, fresh, iolode, program};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

crate::tests! {
    [] => {
        a_function_stays_in_the_lake_and_older_versions_know_those_that_they_had,
        of_several_lakes_the_first_is_meant_and_the_others_by_their_names,
        without_a_lake_a_function_goes_with_the_session,
        programs_that_make_functions_at_the_same_time_all_do,
        in_a_lake_that_may_only_be_read_a_function_cannot_be_made,
    }
}

const CLASSIFY: &str = "CREATE FUNCTION classify_workload(bytes BIGINT) RETURNS BIGINT RETURN \
     CASE WHEN bytes < 1000000000 THEN 0 WHEN bytes < 10000000000 THEN 1 ELSE 2 END";

/// A directory with empty lakes.
fn lakes(names: &[&str]) -> tempfile::TempDir {
    let dir = fresh();
    for name in names {
        iolode(dir.path(), &["lake", "create", name]).ok();
    }
    dir
}

fn sql(dir: &Path, args: &[&str]) -> Run {
    iolode(dir, &[&["sql", "--format", "csv"], args].concat())
}

fn a_function_stays_in_the_lake_and_older_versions_know_those_that_they_had() {
    let dir = lakes(&["lake"]);
    let sql = |args: &[&str]| sql(dir.path(), &[&["--lake", "lake"], args].concat());
    assert_eq!(sql(&["-c", CLASSIFY]).ok(), "");
    let ask = "select classify_workload(1000000000) as class";
    assert_eq!(sql(&["-c", ask]).ok(), "class\n1\n");
    let other = CLASSIFY
        .replace("CREATE", "create or replace")
        .replace("THEN 1", "THEN 10");
    assert_eq!(sql(&["-c", &other, "-c", ask]).ok(), "class\n10\n");
    assert_eq!(sql(&["--version", "2", "-c", ask]).ok(), "class\n1\n");
    let why = sql(&["--version", "1", "-c", ask]).failed();
    assert_eq!(
        why,
        "unknown function `classify_workload`; list them with `show functions`"
    );
    let history = iolode(dir.path(), &["lake", "history", "lake", "--format", "csv"]).ok();
    let operations: Vec<&str> = history
        .lines()
        .map(|line| line.split(',').nth(3).unwrap())
        .collect();
    let create = "create function classify_workload";
    assert_eq!(operations, ["operation", "create", create, create]);

    // Versions never change; what is the session's alone may be made beside any.
    let why = sql(&["--version", "1", "-c", CLASSIFY]).failed();
    let path = dir.path().canonicalize().unwrap().join("lake");
    assert_eq!(
        why,
        format!(
            "lake {}: cannot make functions in version 1, for versions never change; leave out --version, or make them TEMPORARY",
            path.display()
        )
    );
    let why = sql(&["--version", "2", "-c", "drop function classify_workload"]).failed();
    assert!(
        why.ends_with(
            "lake: cannot drop functions in version 2, for versions never change; leave out --version"
        ),
        "{why}"
    );
    let own = CLASSIFY.replace("FUNCTION", "TEMPORARY FUNCTION");
    assert_eq!(
        sql(&["--version", "1", "-c", &own, "-c", ask]).ok(),
        "class\n1\n"
    );

    let wrong = CLASSIFY.replace("ELSE 2", "ELSE byte");
    let why = sql(&["-c", &wrong.replace("classify_workload", "f")]).failed();
    assert_eq!(
        why,
        "function `f`: unknown parameter `byte`; did you mean `bytes`?"
    );
    assert_eq!(sql(&["-c", "drop function classify_workload"]).ok(), "");
    assert_eq!(
        sql(&["-c", ask]).failed(),
        "unknown function `classify_workload`; list them with `show functions`"
    );
    let check = iolode(dir.path(), &["lake", "check", "lake"]);
    assert_eq!(check.code, Some(0), "{check:?}");
}

fn of_several_lakes_the_first_is_meant_and_the_others_by_their_names() {
    let dir = lakes(&["a", "b"]);
    let make = |lake: &str, gives: &str| {
        let text = format!("create function f(x bigint) returns bigint return x + {gives}");
        sql(dir.path(), &["--lake", lake, "-c", &text]).ok()
    };
    make("a", "1");
    make("b", "2");
    let ask = "select f(0) as plain, a.f(0) as a, b.f(0) as b";
    let both = |first: &str, second: &str, text: &str| {
        sql(dir.path(), &["--lake", first, "--lake", second, "-c", text])
    };
    assert_eq!(both("a", "b", ask).ok(), "plain,a,b\n1,1,2\n");
    assert_eq!(both("b", "a", ask).ok(), "plain,a,b\n2,1,2\n");
    let shown = both("b", "a", "show functions like 'f'").ok();
    assert_eq!(
        shown,
        "function,of,kind,call,gives\n\
         f,b,scalar,f(x BIGINT) RETURNS BIGINT,RETURN x + 2\n\
         f,a,scalar,f(x BIGINT) RETURNS BIGINT,RETURN x + 1\n"
    );
    both(
        "a",
        "b",
        "create function b.g(x bigint) returns bigint return f(x) * 10",
    )
    .ok();
    assert_eq!(both("a", "b", "select b.g(1) as g").ok(), "g\n30\n");
    assert_eq!(
        both("a", "b", "select g(1)").failed(),
        "unknown function `g`; did you mean `f`?"
    );
}

fn without_a_lake_a_function_goes_with_the_session() {
    let dir = fresh();
    let (make, ask) = (
        "create function f() returns text return 'here'",
        "select f() as f",
    );
    assert_eq!(sql(dir.path(), &["-c", make, "-c", ask]).ok(), "f\nhere\n");
    assert_eq!(
        sql(dir.path(), &["-c", ask]).failed(),
        "unknown function `f`; list them with `show functions`"
    );
    let list = "show functions like 'f'";
    assert_eq!(
        sql(dir.path(), &["-c", make, "-c", list]).ok(),
        "function,of,kind,call,gives\nf,session,scalar,f() RETURNS TEXT,RETURN 'here'\n"
    );
    // As the prompt's list has it.
    let text = format!("{make};\n\\df f\n");
    std::fs::write(dir.path().join("f.sql"), text).unwrap();
    assert_eq!(
        sql(dir.path(), &["-f", "f.sql"]).ok(),
        "f() RETURNS TEXT\n  RETURN 'here'\n  kept by session\n"
    );
}

fn programs_that_make_functions_at_the_same_time_all_do() {
    let dir = lakes(&["lake"]);
    let names: Vec<String> = (0..6).map(|n| format!("f{n}")).collect();
    let running: Vec<_> = names
        .iter()
        .map(|name| {
            let text = format!("create function {name}() returns bigint return 1");
            let mut command = program(dir.path());
            command
                .args(["sql", "--lake", "lake", "-c", &text])
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut program in running {
        assert!(program.wait().unwrap().success());
    }
    let sum = names
        .iter()
        .map(|name| format!("{name}()"))
        .collect::<Vec<_>>()
        .join(" + ");
    let ask = format!("select {sum} as sum");
    assert_eq!(
        sql(dir.path(), &["--lake", "lake", "-c", &ask]).ok(),
        "sum\n6\n"
    );
}

/// The superuser may write anywhere, and is nobody for once.
fn in_a_lake_that_may_only_be_read_a_function_cannot_be_made() {
    let dir = lakes(&["lake"]);
    let path = |path: &str| dir.path().join(path);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(dir.path(), 0o755);
    allow(&path("lake/_iolode/manifest"), 0o555);
    let mut command = program(dir.path());
    command.args(["sql", "--lake", "lake", "-c", CLASSIFY]);
    if rustix::process::geteuid().is_root() {
        command.uid(65534);
    }
    let why = Run::of(&mut command).failed();
    allow(&path("lake/_iolode/manifest"), 0o755);
    assert!(
        why.ends_with("this machine, only read: _iolode/manifest: permission denied"),
        "{why}"
    );
}
