//! What TAB offers.

use super::super::output::FORMATS;
use super::super::shell::commands;
use crate::cli::executor::Names;
use std::collections::BTreeSet;

const KEYWORDS: &[&str] = &[
    "all",
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cast",
    "create function",
    "cross",
    "desc",
    "describe",
    "distinct",
    "drop function",
    "else",
    "end",
    "except",
    "exists",
    "explain",
    "explain analyze",
    "false",
    "filter",
    "from",
    "full",
    "group by",
    "having",
    "in",
    "inner",
    "intersect",
    "interval",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "not",
    "null",
    "nulls last",
    "offset",
    "on",
    "or",
    "order by",
    "outer",
    "over",
    "partition by",
    "return",
    "returns",
    "right",
    "select",
    "set",
    "show",
    "show functions",
    "table",
    "then",
    "timestamp",
    "true",
    "union",
    "using",
    "values",
    "when",
    "where",
    "with",
];

/// Where the word at `at` begins, and the words it can become: columns of the tables that the statement names (of all while it
/// names none), after an alias those of its table, tables after FROM and the like, functions, keywords.
pub(super) fn complete(before: &str, line: &str, at: usize, names: &Names) -> (usize, Vec<String>) {
    let typed = line.get(..at).unwrap_or(line);
    let start = typed
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '\\'))
        .map_or(0, |place| {
            place + typed[place..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &typed[start..];
    let ahead = format!("{before}\n{}", &typed[..start]);
    let previous = words(&ahead).pop().unwrap_or_default();
    let table_names = || names.tables.keys().map(|(_, table)| table.clone());
    let offered: Vec<String> = if word.starts_with('\\') {
        commands().map(str::to_string).collect()
    } else if let Some(command) = typed.trim_start().strip_prefix('\\') {
        match command.split_whitespace().next() {
            Some("format") => FORMATS
                .iter()
                .map(|format| format.name.to_string())
                .collect(),
            Some("d") => table_names().collect(),
            Some("df") => names.functions.clone(),
            _ => vec![],
        }
    } else if let Some((owner, _)) = word.rsplit_once('.') {
        let whole = format!("{ahead}{word} {}", line.get(at..).unwrap_or_default());
        let table = aliases(&whole)
            .into_iter()
            .find(|(alias, _)| alias == owner)
            .map_or(owner.to_string(), |(_, table)| table);
        let columns = names
            .columns(&table)
            .unwrap_or_default()
            .iter()
            .map(|column| format!("{owner}.{column}"));
        let tables = names
            .tables
            .keys()
            .filter(|(schema, _)| schema == owner)
            .map(|(_, table)| format!("{owner}.{table}"));
        columns.chain(tables).collect()
    } else if ["from", "join", "describe", "into", "table"].contains(&previous.as_str()) {
        let schemas: BTreeSet<_> = names
            .tables
            .keys()
            .map(|(schema, _)| schema.clone())
            .collect();
        table_names().chain(schemas).collect()
    } else if previous == "function" {
        names.users.iter().map(|user| user[1].clone()).collect()
    } else {
        let whole = format!("{ahead}{word}{}", line.get(at..).unwrap_or_default());
        let named = aliases(&whole);
        let columns = named
            .iter()
            .filter_map(|(_, table)| names.columns(table))
            .flatten();
        // SELECT comes before FROM: as long as no table is named, a column may be of any.
        let of_any = names.tables.values().flatten();
        let of_any = of_any.filter(|_| named.is_empty() && !word.is_empty());
        // The word that is being typed looks like an alias where one may stand.
        let aliases = named
            .iter()
            .map(|(alias, _)| alias.clone())
            .filter(|alias| alias != word);
        let functions = names
            .functions
            .iter()
            .map(|function| format!("{function}("));
        let keywords = KEYWORDS.iter().map(|word| (*word).to_string());
        columns
            .chain(of_any)
            .cloned()
            .chain(aliases)
            .chain(table_names())
            .chain(functions)
            .chain(keywords)
            .collect()
    };
    let lower = word.to_lowercase();
    let fits: BTreeSet<String> = offered
        .into_iter()
        .filter(|offer| offer.to_lowercase().starts_with(&lower))
        .collect();
    (start, fits.into_iter().collect())
}

/// The words of a text in lower case; commas and brackets are words.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || c == '.' {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !c.is_whitespace() {
            words.push(c.to_string());
        }
    }
    words
}

/// The tables that a text names after FROM, JOIN or a comma between them, by the name that stands for each.
fn aliases(text: &str) -> Vec<(String, String)> {
    const ENDS: &[&str] = &[
        "on", "using", "where", "group", "order", "join", "left", "right", "inner", "full",
        "cross", "limit", "union", "having", ",", "(", ")", ";", "from", "select", "natural",
    ];
    let is_name = |word: &&String| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !ENDS.contains(&word.as_str())
    };
    let words = words(text);
    let mut found = vec![];
    let mut in_from = false;
    for (at, word) in words.iter().enumerate() {
        let starts = match word.as_str() {
            "from" | "join" => {
                in_from = true;
                true
            }
            "," => in_from,
            "where" | "group" | "order" | "select" | "having" | "limit" | "(" => {
                in_from = false;
                false
            }
            _ => false,
        };
        let Some(table) = words.get(at + 1).filter(is_name).filter(|_| starts) else {
            continue;
        };
        let alias = match words.get(at + 2).map(String::as_str) {
            Some("as") => words.get(at + 3),
            _ => words.get(at + 2),
        };
        let own = table.rsplit('.').next().unwrap_or(table).to_string();
        found.push((alias.filter(is_name).cloned().unwrap_or(own), table.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        for (table, column) in [
            ("darshan_log", "app"),
            ("darshan_log", "nprocs"),
            ("darshan_file", "path"),
            ("lake_input", "path"),
        ] {
            names.add("lake", table, column);
        }
        names.functions = vec!["ost_count".into(), "abs".into(), "mine".into()];
        names.users = vec![["lake", "mine", "mine(x BIGINT)", "x"].map(str::to_string)];
        names
    }

    fn check(line: &str, expected: &[&str]) {
        let (start, offers) = complete("", line, line.len(), &names());
        let whole: Vec<_> = offers
            .iter()
            .map(|offer| format!("{}{offer}", &line[..start]))
            .collect();
        assert_eq!(whole, expected, "{line}");
    }

    #[test]
    fn tables_are_offered_where_a_table_belongs() {
        check(
            "select * from dar",
            &["select * from darshan_file", "select * from darshan_log"],
        );
        check(
            "select 1 from darshan_log join lake_",
            &["select 1 from darshan_log join lake_input"],
        );
        check("\\d lake_", &["\\d lake_input"]);
        check("select * from lake.l", &["select * from lake.lake_input"]);
    }

    #[test]
    fn columns_are_those_of_the_tables_that_the_statement_names() {
        check(
            "select * from darshan_log where np",
            &["select * from darshan_log where nprocs"],
        );
        check("select * from lake_input where np", &[]);
        check("select sum(np", &["select sum(nprocs"]);
        check("select pa", &["select partition by", "select path"]);
        let (start, offers) = complete("", "select np from darshan_log", 9, &names());
        assert_eq!((start, offers), (7, vec!["nprocs".to_string()]));
        let (_, offers) = complete("select *\nfrom darshan_log l", "where l.a", 9, &names());
        assert_eq!(offers, ["l.app"]);
    }

    #[test]
    fn an_alias_stands_for_its_table() {
        let line = "select f. from darshan_log as l, darshan_file f";
        assert_eq!(
            complete("", line, 9, &names()),
            (7, vec!["f.path".to_string()])
        );
        let line = "select l.n from lake.darshan_log l join darshan_file f on true";
        assert_eq!(
            complete("", line, 10, &names()),
            (7, vec!["l.nprocs".to_string()])
        );
    }

    #[test]
    fn functions_keywords_commands_and_formats_are_offered_too() {
        check("select ost", &["select ost_count("]);
        check("select mi", &["select mine("]);
        check("drop function ", &["drop function mine"]);
        check(
            "select * from darshan_log gro",
            &["select * from darshan_log group by"],
        );
        check("\\ti", &["\\timing"]);
        check("\\format nd", &["\\format ndjson"]);
        check("select ö", &[]);
    }
}
