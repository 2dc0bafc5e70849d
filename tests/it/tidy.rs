//! The conventions of this code that a compiler does not check.

use iolode::table::TABLES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

crate::tests! {
    [] => {
        a_module_imports_only_from_its_left,
        a_file_holds_one_idea,
        nothing_is_left_to_be_done_and_no_machine_is_named,
        no_file_is_a_drawer_for_the_rest,
        arrow_parquet_and_the_object_store_are_there_once,
        every_schema_file_is_a_table_and_every_table_has_one,
        every_variable_that_tests_read_is_listed,
    }
    [Git] => {
        the_top_level_holds_what_the_design_allows,
    }
}

/// A module imports only from modules to its left.
const MODULES: [&str; 10] = [
    "text", "error", "math", "table", "source", "synth", "lake", "engine", "answer", "cli",
];

/// What the top level may hold.
const TOP: [&str; 16] = [
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "Cargo.lock",
    "Cargo.toml",
    "GUIDE.md",
    "LICENSE",
    "README.md",
    "UPSTREAM.md",
    "benches",
    "queries",
    "schemas",
    "scripts",
    "src",
    "tests",
];

/// Lines that a file may have before its tests.
const LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder of the project, with their text as far as it is some.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = walkdir::WalkDir::new(root().join(folder)).sort_by_file_name();
    let files = entries
        .into_iter()
        .filter_entry(|entry| {
            !matches!(
                entry.file_name().to_str(),
                Some("target" | "__pycache__" | "corpus" | "artifacts")
            )
        })
        .flatten()
        .filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(root()).unwrap().to_path_buf();
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            (path, text)
        })
        .collect()
}

pub(crate) fn rust_sources() -> Vec<(PathBuf, String)> {
    let mut sources = files("src");
    sources.retain(|(path, _)| path.extension().is_some_and(|e| e == "rs"));
    assert!(sources.len() > 50);
    sources
}

/// The module of src that a file belongs to; None for lib.rs and main.rs.
fn module(path: &Path) -> Option<usize> {
    let name = path.iter().nth(1)?.to_str()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    MODULES.iter().position(|module| *module == name)
}

/// Modules of the crate that a text names: `crate::lake::..`, `crate::{error::Error, table}`.
fn named(text: &str) -> BTreeSet<usize> {
    let mut named = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
    {
        for after in line.split("crate::").skip(1) {
            let list = match after.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or(""),
                None => after,
            };
            for item in list.split(',').take(if after.starts_with('{') {
                usize::MAX
            } else {
                1
            }) {
                let word: String = item
                    .trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                named.extend(MODULES.iter().position(|module| *module == word));
            }
        }
    }
    named
}

fn a_module_imports_only_from_its_left() {
    assert_eq!(
        named("use crate::{error::Error, lake::Lake};\n// crate::cli\nlet x = crate::table::f();"),
        [1, 3, 6].into()
    );
    let mut wrong = vec![];
    for (path, text) in rust_sources() {
        let Some(own) = module(&path) else { continue };
        // What only tests import may lie to the right.
        // A file of nothing but tests is as long as it needs.
        if path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        let in_tests = path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        for other in named(code)
            .into_iter()
            .filter(|other| *other > own && !in_tests)
        {
            wrong.push(format!(
                "{}: imports from {}",
                path.display(),
                MODULES[other]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn a_file_holds_one_idea() {
    let mut long = vec![];
    for (path, text) in rust_sources() {
        // A file of nothing but tests is as long as it needs.
        if path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        let lines = code.lines().count();
        if lines > LINES {
            long.push(format!(
                "{}: {lines} lines before its tests; cut it in two",
                path.display()
            ));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

fn nothing_is_left_to_be_done_and_no_machine_is_named() {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("unimplemented", "!("),
        concat!("to", "do!("),
        concat!("dbg", "!("),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
    ];
    let mut found = vec![];
    let folders = ["src", "schemas", "scripts", "tests", "benches", ".ci"];
    let single = ["README.md", "GUIDE.md", "CHANGELOG.md", "Cargo.toml"].map(|name| {
        (
            PathBuf::from(name),
            std::fs::read_to_string(root().join(name)).unwrap(),
        )
    });
    for (path, text) in folders.into_iter().flat_map(files).chain(single) {
        for (number, line) in text.lines().enumerate() {
            found.extend(
                words
                    .iter()
                    .filter(|word| line.contains(**word))
                    .map(|word| format!("{}:{}: {word}", path.display(), number + 1)),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn no_file_is_a_drawer_for_the_rest() {
    for (path, _) in rust_sources() {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            !matches!(stem, "utils" | "util" | "helpers" | "common" | "misc"),
            "{}: say what it holds",
            path.display()
        );
    }
}

fn arrow_parquet_and_the_object_store_are_there_once() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in [
        "arrow",
        "arrow-array",
        "arrow-schema",
        "arrow-buffer",
        "parquet",
        "object_store",
        "datafusion",
        "roaring",
    ] {
        let line = format!("name = \"{name}\"");
        assert_eq!(
            lock.lines().filter(|l| *l == line).count(),
            1,
            "{name} in Cargo.lock"
        );
    }
}

fn the_top_level_holds_what_the_design_allows() {
    let listed = Command::new("git")
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output();
    let listed = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
    let top: BTreeSet<&str> = listed
        .split('\0')
        .filter_map(|path| path.split('/').next())
        .filter(|name| !name.is_empty())
        .collect();
    let foreign: Vec<_> = top.iter().filter(|name| !TOP.contains(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

fn every_schema_file_is_a_table_and_every_table_has_one() {
    let on_disk: BTreeSet<String> = files("schemas")
        .iter()
        .map(|(path, _)| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    let registered: BTreeSet<String> = TABLES.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(on_disk, registered);
    assert_eq!(
        registered.len(),
        TABLES.len(),
        "a table is registered twice"
    );
}

/// Names of environment variables of tests that stand alone between two marks.
fn variables(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).filter(|word| {
        let rest = word.strip_prefix("IOLODE_").or(word.strip_prefix("SLT_"));
        rest.is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|b| b == b'_' || b.is_ascii_uppercase())
        })
    })
}

/// The list stands at the head of main.rs.
fn every_variable_that_tests_read_is_listed() {
    let list = include_str!("main.rs");
    let listed: BTreeSet<&str> = variables(list, '`').collect();
    let mut sources = rust_sources();
    sources.extend(files("tests"));
    let read: BTreeSet<&str> = sources
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "rs"))
        .flat_map(|(_, text)| variables(text, '"'))
        .collect();
    assert_eq!(read, listed);
}
