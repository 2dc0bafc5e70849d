//! Rules about intervals and about others as SQL: what `root_causes` asks of `file_facts` and `job_facts`, and `diagnose` of other relations.

use super::{Facts, Rule, of};
use crate::engine::queries::query_params::QueryColumn;

/// The rules that a row of a relation other than `file` and `counters` meets, as SQL over its columns: a list with an element for each rule, NULL where it
/// is not met, else `cause`, `cost`, `number` and `subject`.
pub fn met_by(facts: Facts) -> String {
    let met = of(facts).map(|rule| {
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
        ("/* causes of a job */", met_by(Facts::Job)),
    ]
    .into_iter()
    .fold(sql, |sql, (place, rules)| sql.replace(place, &rules));
    let of_intervals = || of(Facts::File).chain(of(Facts::Job));
    let list = |of: &dyn Fn(&Rule) -> String| of_intervals().map(of).collect::<Vec<_>>();
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::queries::query;

    #[test]
    fn every_rule_is_in_root_causes() {
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
        for rule in of(Facts::File).chain(of(Facts::Job)) {
            let name = rule.name;
            assert!(doc("cause").contains(name) && doc("number").contains(&format!("{name}: ")));
        }
    }
}
