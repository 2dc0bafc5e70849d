//! The rules of `root_causes` and `diagnose`: what may have made the I/O of a log slow, a file each.
//!
//! A rule looks at one of two relations. `file_facts` has the files of a log and direction, laid beside each other in time by windows, and again by
//! busy times; such a rule holds where the files that it is about have at least half of the critical time for themselves. `job_facts` has what others
//! did on the OSTs of a job.
//!
//! # Adding a rule
//! One file `queries/rules/NAME.toml`, one line in [`RULES`], and a job for it in `tests/slt/troubled_lake.rs`, whose row stands in
//! `tests/slt/troubled/queries/root_causes.slt`. `root_causes` and `diagnose` then know it.
//!
//! | key | what it is |
//! |---|---|
//! | `doc`, `source` | one line about it, and where it comes from |
//! | `facts` | the relation that it looks at: `file` (`file_facts`), if not given, or `job` (`job_facts`) |
//! | `files` | SQL: which files it is about, over the columns of `file_facts` |
//! | `about` | SQL: the subject. Files of one subject are put together; all files of a log and direction if not given |
//! | `each` | whether each of these subjects stands for itself, instead of all together |
//! | `condition` | SQL: when it holds, over the columns of `subject` in `queries/iominer/root_causes.sql`, or of `job_facts`; always if not given |
//! | `cost` | SQL: the seconds that a file, or a row of `job_facts`, accounts for; the exclusive time of a file (algorithm 2) if not given |
//! | `same` | whether it must be about the same subject by windows and by busy times |
//! | `thresholds.NAME` | a number that stands in the SQL above as `{NAME}` |
//! | `value.sql`, `value.doc` | a number that tells how bad it is, over the columns of `condition`; what it means |
//! | `sentence` | in words, without the last full stop. Columns of the row stand in it as `{column:form}` (`answer::rules`), the number as `{number:form}` |
//! | `advice` | a sentence or two: what to do |

use super::queries::QueryColumn;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    "small_requests",
    "interference",
    "slow_ost",
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
    /// What it looks at.
    #[serde(default)]
    pub facts: Facts,
    files: Option<String>,
    about: Option<String>,
    #[serde(default)]
    each: bool,
    condition: Option<String>,
    cost: Option<String>,
    #[serde(default)]
    same: bool,
    /// The numbers of its condition by their names.
    pub thresholds: BTreeMap<String, toml::Value>,
    /// How bad it is.
    pub value: RuleValue,
    /// The finding in words, with places for columns of its row.
    pub sentence: String,
    /// What to do about it.
    pub advice: String,
}

/// The number of a rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleValue {
    sql: String,
    /// What it means.
    pub doc: String,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facts {
    /// `file_facts`: the files of a log.
    #[default]
    File,
    /// `job_facts`: what others did.
    Job,
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

/// The rules that a row of `job_facts` meets, as SQL over its columns: a list with an element for each rule, NULL where it is not met, else `cause`,
/// `cost`, `number` and `subject`.
pub fn met_by_a_job() -> String {
    let met = of(Facts::Job).map(|rule| {
        format!(
            "CASE WHEN {} THEN named_struct('cause', '{}', 'cost', CAST({} AS DOUBLE), 'number', CAST({} AS DOUBLE), 'subject', CAST({} AS VARCHAR)) END",
            rule.condition(),
            rule.name,
            rule.cost(),
            rule.value(),
            rule.about.as_deref().unwrap_or("NULL"),
        )
    });
    format!("make_array({})", met.collect::<Vec<_>>().join(", "))
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
    // One expression by the cause of a row.
    let by_cause = |sql: &dyn Fn(&Rule) -> Option<String>, otherwise: &str| {
        let cases = of(Facts::File).filter_map(|rule| {
            let sql = sql(rule)?;
            Some(format!("WHEN '{}' THEN {sql} ", rule.name))
        });
        match cases.collect::<String>() {
            cases if cases.is_empty() => "NULL".to_string(),
            cases => format!("CASE cause {cases}ELSE {otherwise} END"),
        }
    };
    let causes = of(Facts::File).map(|rule| {
        let files = rule.with_thresholds(rule.files.as_deref().unwrap_or("true"));
        format!("CASE WHEN {files} THEN '{}' END", rule.name)
    });
    let causes: Vec<String> = causes.collect();
    let same = of(Facts::File).filter(|rule| rule.same);
    let same: Vec<String> = same.map(|rule| format!("'{}'", rule.name)).collect();
    let each = |rule: &Rule| (rule.each).then(|| "about".to_string());
    let value = |rule: &Rule| Some(format!("CAST({} AS DOUBLE)", rule.value()));
    let sql = [
        (CAUSES, causes.join(", ")),
        ("/* about */", by_cause(&|rule| rule.about.clone(), "NULL")),
        ("/* each */", by_cause(&each, "NULL")),
        ("/* cost */", by_cause(&|rule| Some(rule.cost()), "NULL")),
        (
            "/* condition */",
            by_cause(&|rule| Some(rule.condition()), "false"),
        ),
        ("/* value */", by_cause(&value, "NULL")),
        ("/* same */", format!("cause IN ({})", same.join(", "))),
        ("/* causes of a job */", met_by_a_job()),
    ]
    .into_iter()
    .fold(sql, |sql, (place, rules)| sql.replace(place, &rules));
    let list = |of: &dyn Fn(&Rule) -> String| rules().iter().map(of).collect::<Vec<_>>();
    for column in &mut columns {
        column.doc = match column.name.as_str() {
            "cause" => list(&|rule| rule.name.to_string()).join(", "),
            "number" => list(&|rule| format!("{}: {}", rule.name, rule.value.doc)).join("; "),
            _ => continue,
        };
    }
    (sql, columns)
}

impl Rule {
    fn condition(&self) -> String {
        self.with_thresholds(self.condition.as_deref().unwrap_or("true"))
    }

    fn cost(&self) -> String {
        self.with_thresholds(self.cost.as_deref().unwrap_or("exclusive_time"))
    }

    fn value(&self) -> String {
        self.with_thresholds(&self.value.sql)
    }

    fn with_thresholds(&self, sql: &str) -> String {
        let numbers = self.thresholds.iter();
        numbers.fold(sql.to_string(), |sql, (name, number)| {
            sql.replace(&format!("{{{name}}}"), &number.to_string())
        })
    }
}

fn of(facts: Facts) -> impl Iterator<Item = &'static Rule> {
    rules().iter().filter(move |rule| rule.facts == facts)
}

fn parse(name: &'static str, text: &str) -> Result<Rule> {
    let rule: Rule = toml::from_str(text)
        .map_err(|e| Error::Invalid(format!("queries/rules/{name}.toml: {e}")))?;
    Ok(Rule { name, ..rule })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::queries::query;

    #[test]
    fn every_threshold_is_a_number_with_a_place_and_every_rule_is_in_root_causes() {
        for (name, text) in RULES {
            let rule = parse(name, text).unwrap();
            for (threshold, number) in &rule.thresholds {
                assert!(
                    number.is_integer() || number.is_float(),
                    "{name}: {threshold}"
                );
                let place = format!("{{{threshold}}}");
                assert!(text.contains(&place), "{name}: {threshold} is not used");
            }
            // What only files have.
            let of_files = rule.files.is_some() || rule.each || rule.same;
            assert_eq!(of_files, rule.facts == Facts::File, "{name}");
        }
        let causes = query("root_causes").unwrap();
        assert!(!causes.sql.contains("/* "), "{}", causes.sql);
        assert!(!causes.sql.contains('{'), "{}", causes.sql);
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
