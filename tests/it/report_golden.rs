//! The JSON of built-in reports as programs of others read it: its keys, units, texts and numbers, kept in `tests/fixtures/report`.
//!
//! Each number of the files is compared with the answer of its question alone, so that none is true because a page once had it.

use crate::cli_program::{fresh, iolode, small};
use crate::report::json;
use crate::report_content::compare;
use serde_json::Value;
use std::path::Path;

crate::tests! {
    [] => {
        the_json_of_iominer_is_the_one_that_is_kept,
        the_json_of_weekly_is_the_one_that_is_kept,
    }
}

fn the_json_of_iominer_is_the_one_that_is_kept() {
    check("iominer", 12, 200);
}

fn the_json_of_weekly_is_the_one_that_is_kept() {
    check("weekly", 15, 200);
}

fn check(name: &str, sections: usize, rows: usize) {
    let directory = fresh();
    let path = directory.path();
    let asked = ["report", name, "--lake", small().lake(), "--format", "json"];
    let page = iolode(path, &asked).ok();
    let found = kept_part(&page);
    let file = format!("tests/fixtures/report/{name}.json");
    let kept = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
    let kept = kept.map_or(Value::Null, |text| json(&text));
    let mut differ = vec![];
    differences(&kept, &found, "", &mut differ);
    if !differ.is_empty() {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
        std::fs::write(&new, lines(&found, 0) + "\n").unwrap();
        panic!(
            "{file}: {} differences; if they are meant, take {} in its place:\n{}",
            differ.len(),
            new.display(),
            differ[..differ.len().min(20)].join("\n")
        );
    }
    let compared = compare(path, name, &json(&page), small().lake(), None);
    assert!(compared.0 == sections && compared.1 > rows, "{compared:?}");
}

/// The JSON without what differs from run to run: where the lake and its logs lie, and when they were written. Of a chart the form is kept: it has the numbers of the rows.
fn kept_part(text: &str) -> Value {
    let logs = small().logs.to_str().unwrap();
    let text = text.replace(logs, "LOGS").replace(small().lake(), "LAKE");
    let mut page = json(&text);
    for block in page["blocks"].as_array_mut().unwrap() {
        if block["kind"] != "section" {
            continue;
        }
        block["chart"] = block["chart"]["form"].clone();
        for row in block["table"]["rows"].as_array_mut().unwrap() {
            if row.get("modified_time").is_some() {
                row["modified_time"] = "WHEN".into();
            }
        }
    }
    page
}

/// Where two values differ; fractions may do so in the last digits, which are those of the order in which threads add.
fn differences(kept: &Value, found: &Value, at: &str, differ: &mut Vec<String>) {
    match (kept, found) {
        (Value::Object(a), Value::Object(b)) => {
            let others = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(others) {
                let side = |side: &serde_json::Map<String, Value>| side.get(key).cloned();
                match (side(a), side(b)) {
                    (Some(a), Some(b)) => differences(&a, &b, &format!("{at}/{key}"), differ),
                    (a, b) => differ.push(format!("{at}/{key}: {a:?}, now {b:?}")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{at}/{place}"), differ);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-12 * a.abs().max(b.abs()) {
                differ.push(format!("{at}: {a}, now {b}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let shown = |side: &Value| side.to_string().chars().take(200).collect::<String>();
            differ.push(format!("{at}: {}, now {}", shown(a), shown(b)));
        }
    }
}

/// JSON with a line for each row of a table, and for each other value.
fn lines(value: &Value, depth: usize) -> String {
    let is_flat = |value: &Value| !value.is_object() && !value.is_array();
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match value {
        Value::Object(values) if depth > 3 || values.values().all(is_flat) => value.to_string(),
        Value::Object(values) if !values.is_empty() => {
            let each = values.iter().map(|(key, value)| {
                format!(
                    "{indent}{}: {}",
                    Value::from(key.as_str()),
                    lines(value, depth + 1)
                )
            });
            format!("{{\n{}\n{close}}}", each.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(values) if !values.is_empty() => {
            let each = values
                .iter()
                .map(|value| format!("{indent}{}", lines(value, depth + 1)));
            format!("[\n{}\n{close}]", each.collect::<Vec<_>>().join(",\n"))
        }
        other => other.to_string(),
    }
}
