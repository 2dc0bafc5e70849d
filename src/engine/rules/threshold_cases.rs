//! The threshold cases of rules about counters: `threshold_cases.toml` against `rule_sums` and `rule_findings`.

use super::columns::Once;
use super::file_rules::FileRules;
use super::rule_findings::LogRules;
use super::rule_sums::Sums;
use super::{Facts, of};
use crate::engine::queries::query;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, StringArray,
    StructArray, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{Field, Float64Type};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThresholdCases {
    pub(super) holds: Table,
    pub(super) below: BTreeMap<String, Table>,
    #[serde(default)]
    but: BTreeMap<String, Table>,
}

impl ThresholdCases {
    /// What changes, and whether the rule still holds then.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&Table, bool)> {
        let below = self.below.values().map(|change| (change, false));
        let but = self.but.values().map(|change| {
            let holds = change.get("holds").and_then(Value::as_bool);
            (change, holds.unwrap_or(false))
        });
        below.chain(but)
    }
}

/// What stands in an edge and is no column of a file.
const OTHERS: [&str; 6] = ["holds", "copies", "log", "posix", "mpiio", "stdio"];

#[test]
fn each_rule_holds_and_holds_no_more_where_one_threshold_is_just_not_met() {
    let cases: BTreeMap<String, ThresholdCases> =
        toml::from_str(include_str!("threshold_cases.toml")).unwrap();
    for rule in of(Facts::Counters) {
        let cases = cases
            .get(&rule.code)
            .unwrap_or_else(|| panic!("{} has no cases", rule.name));
        let thresholds: Vec<&String> = rule.thresholds.keys().collect();
        assert_eq!(
            cases.below.keys().collect::<Vec<_>>(),
            thresholds,
            "{}",
            rule.name
        );
        assert!(
            found(&cases.holds).contains(&rule.code),
            "{} does not hold",
            rule.name
        );
        for (change, holds) in cases.changes() {
            let mut log = cases.holds.clone();
            log.extend(change.clone());
            let name = rule.name;
            assert_eq!(
                found(&log).contains(&rule.code),
                holds,
                "{name}: {change:?}"
            );
        }
    }
    assert_eq!(cases.len(), of(Facts::Counters).count());
}

/// The columns of a file that the query has for rules.
fn columns() -> Vec<String> {
    let sql = &query("advice").unwrap().sql;
    let file = sql.split(") AS file\n").next().unwrap();
    let file = file.rsplit("named_struct(\n").next().unwrap();
    let columns = file.split('\'').skip(1).step_by(2);
    // Texts that columns are compared with stand there too.
    columns
        .filter(|name| !name.contains("shared"))
        .map(String::from)
        .collect()
}

/// The codes of the rules that hold for a log with these files, but for those that cost nothing. They are the same where the files come in two parts.
fn found(of_log: &Table) -> Vec<String> {
    let number = |name: &str, otherwise: f64| {
        let log = of_log.get("log").and_then(Value::as_table);
        log.and_then(|log| log.get(name)).map_or(otherwise, float)
    };
    let nprocs = number("nprocs", 4.0);
    let mut file = of_log.clone();
    file.entry("nprocs").or_insert(nprocs.into());
    let copies = of_log
        .get("copies")
        .map_or(1, |copies| float(copies) as usize);
    let columns = columns();
    let known = |name: &String| OTHERS.contains(&name.as_str()) || columns.contains(name);
    assert!(file.keys().all(known), "{file:?}: {columns:?}");
    let arrays = columns
        .iter()
        .map(|name| (name.as_str(), column(name, file.get(name), copies)));
    let files = rows(arrays.collect());
    let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..copies as u64));
    let module = |name: &str, times: &[&str]| records(of_log.get(name), times, copies);
    let values = [
        Arc::new(files.clone()) as ArrayRef,
        ids,
        module(
            "posix",
            &[
                "posix_f_read_time",
                "posix_f_write_time",
                "posix_f_meta_time",
            ],
        ),
        module("mpiio", &["mpiio_f_read_time", "mpiio_f_write_time"]),
        module(
            "stdio",
            &[
                "stdio_f_read_time",
                "stdio_f_write_time",
                "stdio_f_meta_time",
            ],
        ),
    ];
    static FILES: Once<FileRules> = Once::new();
    let rules = FILES.of(files.fields(), FileRules::new).unwrap();
    let mut all = Sums::new(rules.clone());
    all.update_batch(&values, &vec![0; copies], None, 1)
        .unwrap();
    let log = rows(vec![
        ("nprocs", Arc::new(Float64Array::from(vec![nprocs]))),
        (
            "run_time",
            Arc::new(Float64Array::from(vec![number("run_time", 100.0)])),
        ),
        (
            "has_mpiio",
            column(
                "has_mpiio",
                of_log.get("log").and_then(|log| log.get("has_mpiio")),
                1,
            ),
        ),
    ]);
    static LOGS: Once<LogRules> = Once::new();
    let rules_of_logs = LOGS.of(log.fields(), LogRules::new).unwrap();
    let codes = |sums: &mut Sums| -> Vec<String> {
        let sums = sums.evaluate(EmitTo::All).unwrap();
        let found = rules_of_logs.findings(&log, sums.as_list()).unwrap();
        let found = found.as_list::<i32>().values().as_struct().clone();
        let codes = found.column_by_name("code").unwrap().as_string::<i32>();
        let costs = found.column_by_name("cost").unwrap();
        let held = codes
            .iter()
            .flatten()
            .zip(costs.as_primitive::<Float64Type>());
        let held = held.filter(|(code, cost)| !has_matters(code) || *cost > Some(0.0));
        held.map(|(code, _)| code.to_string()).collect()
    };
    let mut merged = Sums::new(rules.clone());
    for part in [0..copies / 2, copies / 2..copies] {
        let mut partial = Sums::new(rules.clone());
        let values: Vec<ArrayRef> = values
            .iter()
            .map(|array| array.slice(part.start, part.len()))
            .collect();
        partial
            .update_batch(&values, &vec![0; part.len()], None, 1)
            .unwrap();
        let state = partial.state(EmitTo::All).unwrap();
        merged.merge_batch(&state, &[0], 1).unwrap();
    }
    let found = codes(&mut all);
    assert_eq!(codes(&mut merged), found);
    found
}

/// Whether a rule says in which files it can cost time.
fn has_matters(code: &str) -> bool {
    of(Facts::Counters).any(|rule| rule.code == code && rule.matters.is_some())
}

fn float(value: &Value) -> f64 {
    let integer = value.as_integer().map(|integer| integer as f64);
    value
        .as_float()
        .or(integer)
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// A column with one value; NULL if there is none, or the text NULL.
fn column(name: &str, value: Option<&Value>, copies: usize) -> ArrayRef {
    let value = value.filter(|value| value.as_str() != Some("NULL"));
    match name {
        "has_mpiio" | "posix_partial" | "mpiio_partial" | "several" | "collective" | "reaches" => {
            // Of a log these are always known.
            let value = value.map_or(Some(false), Value::as_bool);
            Arc::new(BooleanArray::from(vec![value; copies]))
        }
        "sharing" | "bytes_source" => Arc::new(StringArray::from(vec![
            value
                .and_then(Value::as_str);
            copies
        ])),
        _ => Arc::new(Float64Array::from(vec![value.map(float); copies])),
    }
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let field = |(name, array): (&str, ArrayRef)| {
        (
            Arc::new(Field::new(name, array.data_type().clone(), true)),
            array,
        )
    };
    StructArray::from(columns.into_iter().map(field).collect::<Vec<_>>())
}

/// The same records of each file: a process, and times.
fn records(of_file: Option<&Value>, times: &[&str], copies: usize) -> ArrayRef {
    let of_file: Vec<Vec<f64>> = match of_file.and_then(Value::as_array) {
        Some(records) => records
            .iter()
            .map(|record| record.as_array().unwrap().iter().map(float).collect())
            .collect(),
        None => vec![],
    };
    let all = || (0..copies).flat_map(|_| &of_file);
    let ranks: ArrayRef = Arc::new(Int64Array::from_iter_values(
        all().map(|record| record[0] as i64),
    ));
    let times = times.iter().enumerate().map(|(at, name)| {
        let values = all().map(|record| record[at + 1]);
        (
            *name,
            Arc::new(Float64Array::from_iter_values(values)) as ArrayRef,
        )
    });
    // The 4 processes take equally long.
    let slowest: ArrayRef = Arc::new(Float64Array::from(vec![0.25; ranks.len()]));
    let items = rows(
        [("rank", ranks), ("slowest", slowest)]
            .into_iter()
            .chain(times)
            .collect(),
    );
    Arc::new(ListArray::new(
        Arc::new(Field::new_list_field(items.data_type().clone(), true)),
        OffsetBuffer::from_lengths(vec![of_file.len(); copies]),
        Arc::new(items),
        None,
    ))
}
