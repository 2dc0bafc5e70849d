//! Every entry of the explicit lists is whole: an extension that lacks a part fails here and says which.

use iolode::source::SOURCES;
use iolode::table::{Partition, TABLES, table, tables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

crate::tests! {
    [] => {
        every_source_has_a_name_of_its_own_and_fills_tables_that_exist,
        every_table_is_filled_by_one_source_or_by_the_manifest,
        every_table_is_sorted_by_columns_that_tell_its_rows_apart,
        the_changelog_and_the_readme_name_the_two_commands,
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn every_source_has_a_name_of_its_own_and_fills_tables_that_exist() {
    let names: BTreeSet<_> = SOURCES.iter().map(|source| source.name()).collect();
    assert_eq!(names.len(), SOURCES.len());
    for source in SOURCES {
        assert!(source.version() >= 1, "{}", source.name());
        assert!(!source.tables().is_empty(), "{}", source.name());
        for name in source.tables() {
            assert!(table(name).is_ok(), "{}: no table {name}", source.name());
        }
        assert!(
            !source.probe(Path::new("notes.txt"), b"just some text\n")
                && !source.probe(Path::new("empty"), b""),
            "{} takes anything for its own",
            source.name()
        );
    }
}

fn every_table_is_filled_by_one_source_or_by_the_manifest() {
    let mut filled: BTreeMap<&str, usize> = BTreeMap::new();
    for name in SOURCES.iter().flat_map(|source| source.tables()) {
        *filled.entry(name).or_default() += 1;
    }
    for table in tables() {
        let sources = filled.get(table.name.as_str()).copied().unwrap_or(0);
        let expected = usize::from(table.partition != Partition::Manifest);
        assert_eq!(
            sources, expected,
            "{} is filled by {sources} sources",
            table.name
        );
    }
}

fn every_table_is_sorted_by_columns_that_tell_its_rows_apart() {
    for (name, _) in TABLES {
        let table = table(name).unwrap();
        assert!(!table.key.is_empty() && !table.doc.is_empty(), "{name}");
        if table.partition == Partition::JobId {
            let sort: BTreeSet<_> = table.sort.iter().collect();
            let lacking: Vec<_> = table
                .key
                .iter()
                .filter(|column| !sort.contains(column))
                .collect();
            assert!(
                lacking.is_empty(),
                "{name}: rows of one key may lie apart: {lacking:?} is not in its sort order"
            );
        }
    }
}

fn the_changelog_and_the_readme_name_the_two_commands() {
    let readme = read("README.md");
    for command in ["cargo run --release -- demo", "cargo test  "] {
        assert!(readme.contains(command), "README.md lacks `{command}`");
    }
    assert!(read("CHANGELOG.md").contains(env!("CARGO_PKG_VERSION")));
}
