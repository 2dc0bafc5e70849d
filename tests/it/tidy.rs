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
        every_document_and_section_that_is_cited_is_there,
        the_top_level_holds_what_the_design_allows,
    }
}

/// A module imports only from modules to its left.
const MODULES: [&str; 11] = [
    "text", "error", "math", "table", "source", "synth", "lake", "engine", "cluster", "answer",
    "cli",
];

/// What the top level may hold.
const TOP: [&str; 18] = [
    ".cargo",
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
    "build.rs",
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

/// Paths of the files that are in the repository.
fn tracked() -> Vec<String> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output();
    let listed = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    paths.map(str::to_string).collect()
}

fn the_top_level_holds_what_the_design_allows() {
    let tracked = tracked();
    let top: BTreeSet<&str> = tracked
        .iter()
        .filter_map(|path| path.split('/').next())
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

/// Documents that a text cites, with the number of the section if one follows: `FORMAT.md 12.3`.
fn cited(text: &str) -> Vec<(&str, &str)> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let mut cited = vec![];
    for (at, _) in text.match_indices(".md") {
        let start = text[..at].rfind(|c| !is_path(c)).map_or(0, |at| at + 1);
        let name = text[start..at + 3].trim_start_matches('/');
        let after = &text[at + 3..];
        // Not a field such as `layout.mdts`, nor a call such as `self.md(..)`, nor a file that a command of a help writes.
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '(';
        let is_written = text[..start].ends_with("-o ");
        if after.starts_with(is_word) || name.starts_with('.') || is_written {
            continue;
        }
        let number = after.strip_prefix(' ').unwrap_or_default();
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
        let number = &number[..end.unwrap_or(number.len())];
        cited.push((name, number.trim_end_matches('.')));
    }
    cited
}

/// Numbers of the sections of a document, and of the entries of lists in them: 12, 7.1, 12.3.
fn sections(document: &str) -> BTreeSet<String> {
    let number = |line: &str| -> Option<String> {
        let (number, _) = line.split_once(' ')?;
        let is_number = number.starts_with(|c: char| c.is_ascii_digit());
        is_number.then(|| number.trim_end_matches('.').to_string())
    };
    let (mut sections, mut section) = (BTreeSet::new(), String::new());
    for line in document.lines() {
        if line.starts_with('#') {
            section = number(line.trim_start_matches(['#', ' '])).unwrap_or_default();
            sections.insert(section.clone());
        } else if let Some(entry) = number(line) {
            sections.insert(format!("{section}.{entry}"));
        }
    }
    sections
}

fn every_document_and_section_that_is_cited_is_there() {
    assert_eq!(
        cited("// a/FORMAT.md 12.3, layout.mdts, self.md(), -o x.md and peers.md."),
        [("a/FORMAT.md", "12.3"), ("peers.md", "")]
    );
    let documents: Vec<(PathBuf, BTreeSet<String>)> = tracked()
        .into_iter()
        .filter(|path| path.ends_with(".md"))
        .map(|path| {
            let text = std::fs::read_to_string(root().join(&path)).unwrap();
            (PathBuf::from(path), sections(&text))
        })
        .collect();
    let mut wrong = vec![];
    let folders = ["src", "schemas", "queries", "scripts", "tests", "benches"];
    for (path, text) in folders.into_iter().flat_map(files) {
        // The examples above.
        if path.ends_with("it/tidy.rs") {
            continue;
        }
        for (name, number) in cited(&text) {
            // A name alone is that of a document beside the file or in a folder above it, if there is one.
            let mut above = path.ancestors().map(|folder| folder.join(name));
            let above = above.find(|path| documents.iter().any(|(document, _)| document == path));
            let mut named = documents.iter().filter(|(document, _)| match &above {
                Some(above) => document == above,
                None => document.ends_with(name),
            });
            if !named.any(|(_, sections)| number.is_empty() || sections.contains(number)) {
                let cited = format!("{name} {number}");
                wrong.push(format!("{}: no {}", path.display(), cited.trim_end()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
