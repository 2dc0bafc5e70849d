//! The rules of `root_causes`: what may have made the I/O of a log slow, a file each.
//!
//! A rule looks at the files of a log and direction, laid beside each other in time by windows, and again by busy times. It holds where the files
//! that it is about have at least half of the critical time for themselves.
//!
//! # Adding a rule
//! One file `queries/rules/NAME.toml`, one line in [`RULES`], and an `.slt`. `root_causes` and `diagnose` then know it.
//!
//! | key | what it is |
//! |---|---|
//! | `doc`, `source` | one line about it, and where it comes from |
//! | `files` | SQL: which files it is about, over the columns of `file` in `queries/iominer/root_causes.sql` |
//! | `about` | SQL: what such files are put together by, which is the subject then; all files of a log and direction if not given |
//! | `each` | whether each of these subjects stands for itself, instead of all together |
//! | `time` | SQL: seconds of a file; its exclusive time (algorithm 2) if not given |
//! | `holds` | SQL: a condition over the columns of `subject` there; always if not given |
//! | `same` | whether it must be about the same subject by windows and by busy times |
//! | `value.sql`, `.shown`, `.doc` | a number that tells how bad it is, over the columns of `subject`; a `count`, a `share` or `times`; what it means |
//! | `sentence` | in words, with `{files}`, `{subject}`, `{value}` and `{done}` (read or written) |

use super::queries::QueryColumn;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::sync::OnceLock;

macro_rules! rules {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/rules/", $name, ".toml")))),*] };
}

/// Every rule, in the order in which they are listed: its name, and its file.
pub const RULES: &[(&str, &str)] = rules![
    "one_ost",
    "one_rank",
    "serial_files",
    "one_file",
    "small_requests"
];

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name: the `cause` of a row of `root_causes`.
    #[serde(skip)]
    pub name: &'static str,
    /// What it says, one line.
    pub doc: String,
    /// Where it comes from.
    pub source: String,
    files: String,
    about: Option<String>,
    #[serde(default)]
    each: bool,
    #[serde(default = "exclusive")]
    time: String,
    #[serde(default = "always")]
    holds: String,
    #[serde(default)]
    same: bool,
    /// How bad it is.
    pub value: RuleValue,
    /// The finding in words, with the places `{files}`, `{subject}`, `{value}` and `{done}`.
    pub sentence: String,
}

/// The number of a rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleValue {
    sql: String,
    /// How a person reads it.
    pub shown: Shown,
    /// What it means.
    pub doc: String,
}

/// How a person reads a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// A number of things.
    Count,
    /// A part of a whole.
    Share,
    /// A ratio above 1.
    Times,
}

/// All rules.
pub fn rules() -> &'static [Rule] {
    static PARSED: OnceLock<Vec<Rule>> = OnceLock::new();
    // A rule's file is part of the program: that each of them parses is a test of this module.
    PARSED.get_or_init(|| {
        let rules = RULES.iter().map(|(name, text)| parse(name, text));
        rules
            .collect::<Result<_>>()
            .expect("rules are checked by a test")
    })
}

/// Puts the rules in their places in a query's SQL, and into what its columns say.
pub(in crate::engine) fn insert(
    sql: String,
    mut columns: Vec<QueryColumn>,
) -> (String, Vec<QueryColumn>) {
    const CAUSES: &str = "/* causes of a file */";
    if !sql.contains(CAUSES) {
        return (sql, columns);
    }
    let rules = rules();
    let list = |of: &dyn Fn(&Rule) -> String| rules.iter().map(of).collect::<Vec<_>>();
    // One expression by the cause of a row.
    let by_cause = |of: &dyn Fn(&Rule) -> Option<String>, otherwise: &str| {
        let cases = rules.iter().filter_map(|rule| {
            let sql = of(rule)?;
            Some(format!("WHEN '{}' THEN {sql} ", rule.name))
        });
        match cases.collect::<String>() {
            cases if cases.is_empty() => "NULL".to_string(),
            cases => format!("CASE cause {cases}ELSE {otherwise} END"),
        }
    };
    let same = rules.iter().filter(|rule| rule.same);
    let same: Vec<String> = same.map(|rule| format!("'{}'", rule.name)).collect();
    let each = |rule: &Rule| (rule.each).then(|| "about".to_string());
    let sql = [
        (
            CAUSES,
            list(&|rule| format!("CASE WHEN {} THEN '{}' END", rule.files, rule.name)).join(", "),
        ),
        ("/* about */", by_cause(&|rule| rule.about.clone(), "NULL")),
        ("/* each */", by_cause(&each, "NULL")),
        (
            "/* time */",
            by_cause(&|rule| Some(rule.time.clone()), "NULL"),
        ),
        (
            "/* holds */",
            by_cause(&|rule| Some(rule.holds.clone()), "false"),
        ),
        (
            "/* value */",
            by_cause(&|rule| Some(rule.value.sql.clone()), "NULL"),
        ),
        ("/* same */", format!("cause IN ({})", same.join(", "))),
    ]
    .into_iter()
    .fold(sql, |sql, (place, rules)| sql.replace(place, &rules));
    for column in &mut columns {
        column.doc = match column.name.as_str() {
            "cause" => list(&|rule| rule.name.to_string()).join(", "),
            "number" => list(&|rule| format!("{}: {}", rule.name, rule.value.doc)).join("; "),
            _ => continue,
        };
    }
    (sql, columns)
}

fn parse(name: &'static str, text: &str) -> Result<Rule> {
    let rule: Rule = toml::from_str(text)
        .map_err(|e| Error::Invalid(format!("queries/rules/{name}.toml: {e}")))?;
    Ok(Rule { name, ..rule })
}

fn exclusive() -> String {
    "time".into()
}

fn always() -> String {
    "true".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::queries::query;

    #[test]
    fn every_rule_has_its_places_and_a_sentence_that_names_what_it_is_about() {
        for rule in rules() {
            let places = rule.sentence.split('{').skip(1);
            for place in places.map(|rest| rest.split('}').next().unwrap()) {
                assert!(
                    ["files", "subject", "value", "done"].contains(&place),
                    "{}: {place}",
                    rule.name
                );
            }
            assert!(rule.sentence.contains("{subject}"), "{}", rule.name);
        }
        let causes = query("root_causes").unwrap();
        assert!(!causes.sql.contains("/* "), "{}", causes.sql);
        let doc = |name: &str| {
            let mut columns = causes.columns.iter();
            columns
                .find(|column| column.name == name)
                .unwrap()
                .doc
                .clone()
        };
        for (name, _) in RULES {
            assert!(doc("cause").contains(name) && doc("number").contains(&format!("{name}: ")));
        }
    }
}
