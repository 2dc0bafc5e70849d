//! The threshold cases of rules about other facts than counters: `facts_threshold_cases.toml` against their conditions.

use super::threshold_cases::ThresholdCases;
use super::{Facts, Rule, rules};
use crate::engine::functions::tests::ask;
use std::collections::BTreeMap;
use toml::{Table, Value};

#[test]
fn each_rule_holds_and_holds_no_more_where_one_threshold_is_just_not_met() {
    let cases: BTreeMap<String, ThresholdCases> =
        toml::from_str(include_str!("facts_threshold_cases.toml")).unwrap();
    let of_facts = || rules().iter().filter(|rule| rule.facts != Facts::Counters);
    for rule in of_facts() {
        let name = rule.name;
        let cases = cases
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no cases"));
        let thresholds: Vec<&String> = rule.thresholds.keys().collect();
        assert_eq!(cases.below.keys().collect::<Vec<_>>(), thresholds, "{name}");
        assert!(holds(rule, &cases.holds), "{name} does not hold");
        for (change, wanted) in cases.changes() {
            let mut row = cases.holds.clone();
            row.extend(change.clone());
            row.remove("holds");
            assert_eq!(holds(rule, &row), wanted, "{name}: {change:?}");
        }
    }
    assert_eq!(cases.len(), of_facts().count());
}

/// Whether a rule holds for a row of its facts.
fn holds(rule: &Rule, row: &Table) -> bool {
    let parts = rule.files.iter().chain(&rule.condition);
    let parts = parts.map(|part| format!("({})", rule.with_thresholds(part)));
    let condition = parts.collect::<Vec<_>>().join(" AND ");
    let columns = row.iter().map(|(column, value)| {
        assert!(condition.contains(column.as_str()), "{condition}: {column}");
        match value {
            Value::String(text) if text == "NULL" => format!("CAST(NULL AS BIGINT) AS {column}"),
            Value::Float(number) => format!("CAST({number} AS DOUBLE) AS {column}"),
            other => format!("{other} AS {column}"),
        }
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT count(*) FROM (SELECT {columns}) WHERE {condition}");
    ask(&sql).unwrap_or_else(|error| panic!("{sql}: {error}")) == ["1"]
}
