//! Findings in words: the sentence of a rule with the numbers of a row in its places.
//!
//! A place is `{column}`, which stands for the value as it is, or `{column:form}`, for the value as a person reads it. `{doing}` and `{done}` are
//! words for the direction of the row.

use super::rule;
use crate::text::amount::{count, counted, rate, seconds, share, significant, size};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A row by the names of its columns; those that are NULL are left out.
pub type JsonRow = Map<String, Value>;

/// A text with the values of a row in its places. A value that the row lacks is `-`.
pub fn fill(text: &str, row: &JsonRow) -> String {
    let mut pieces = text.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (place, rest) = piece.split_once('}').unwrap_or((piece, ""));
        let (column, form) = place.split_once(':').unwrap_or((place, ""));
        filled += &match column {
            "doing" | "done" => direction(row, column),
            _ => row
                .get(column)
                .map_or("-".into(), |value| shown(value, form)),
        };
        filled += rest;
    }
    filled
}

/// The places of a text, each with its column and its form, which is empty where there is none.
pub fn places(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('{').skip(1).map(|piece| {
        let place = piece.split('}').next().unwrap_or_default();
        place.split_once(':').unwrap_or((place, ""))
    })
}

/// Words for the direction of a row, which are places without a column of their own.
pub const DIRECTIONS: [&str; 2] = ["doing", "done"];

/// Every form of [`fill`].
pub const FORMS: [&str; 11] = [
    "count",
    "files",
    "files_are",
    "files_each",
    "jobs",
    "osts",
    "rate",
    "seconds",
    "share",
    "size",
    "times",
];

/// The forms of [`fill`].
fn shown(value: &Value, form: &str) -> String {
    let number = value.as_f64().unwrap_or(0.0);
    match form {
        "count" => count(number.max(0.0).round() as u64),
        "files" if number == 1.0 => "one file".into(),
        "files" => counted(number as i64, "file", "files"),
        "files_are" if number == 1.0 => "one file is".into(),
        "files_are" => format!("{} are", counted(number as i64, "file", "files")),
        "files_each" if number == 1.0 => "one file".into(),
        "files_each" => format!("{}, each", counted(number as i64, "file", "files")),
        "jobs" => counted(number as i64, "job", "jobs"),
        "osts" => counted(number as i64, "OST", "OSTs"),
        "rate" => rate(number),
        "seconds" => seconds(number),
        "share" => share(number),
        // Bytes that may be below 0.
        "size" if number < -0.5 => format!("-{}", size(-number.round() as u64)),
        "size" => size(number.max(0.0).round() as u64),
        "times" => significant(number),
        _ => value.as_str().map_or(value.to_string(), String::from),
    }
}

fn direction(row: &JsonRow, word: &str) -> String {
    let of_row = row.get("direction").and_then(Value::as_str);
    let word = match (of_row.unwrap_or_default(), word) {
        ("read", "doing") => "reading",
        ("read", _) => "read",
        (_, "doing") => "writing",
        _ => "written",
    };
    word.into()
}

/// What the sentence of a rule about counters may name, behind the rule and the subject.
pub(super) const PLACES: [&str; 9] = [
    "sum",
    "whole",
    "share",
    "files",
    "least",
    "time",
    "nprocs",
    "run_time",
    COSTLY_FILES,
];

/// In how many of its files a rule matters.
const COSTLY_FILES: &str = "costly_files";

/// `rule_sentence(rule, subject, ..)`: the sentence of a rule about counters, with numbers in the order of `PLACES`.
///
/// It stands in `queries/advice/advice.sql`. As SQL that puts each sentence together it took half of the time of planning.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct RuleSentence {
    signature: Signature,
}

impl Default for RuleSentence {
    fn default() -> Self {
        let texts = [DataType::Utf8, DataType::Utf8];
        let numbers = PLACES.map(|_| DataType::Float64);
        let types = texts.into_iter().chain(numbers).collect();
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for RuleSentence {
    fn name(&self) -> &str {
        "rule_sentence"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let columns = args.args.into_iter().map(|column| column.into_array(rows));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let (rules, subjects) = (columns[0].as_string::<i32>(), columns[1].as_string::<i32>());
        let sentence = |at: usize| {
            let rule = rule(rules.value(at)).filter(|_| rules.is_valid(at))?;
            let mut row = JsonRow::new();
            if subjects.is_valid(at) {
                row.insert("subject".into(), subjects.value(at).into());
            }
            for (name, column) in PLACES.iter().zip(&columns[2..]) {
                let column = column.as_primitive::<Float64Type>();
                if column.is_valid(at) {
                    row.insert((*name).into(), column.value(at).into());
                }
            }
            let number = |name: &str| row.get(name).and_then(Value::as_f64);
            let costly = number(COSTLY_FILES).filter(|costly| Some(*costly) < number("files"));
            let of_files = match costly {
                Some(costly) if costly > 0.0 => {
                    format!(
                        "; it can cost time in {} of these files",
                        count(costly as u64)
                    )
                }
                _ => String::new(),
            };
            Some(fill(&rule.sentence, &row) + &of_files)
        };
        let sentences: StringArray = (0..rows).map(sentence).collect();
        Ok(ColumnarValue::Array(Arc::new(sentences)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Facts, rules};
    use super::*;
    use crate::engine::functions::tests::ask;
    use crate::engine::queries::query;
    use serde_json::json;

    #[test]
    fn a_sentence_says_in_how_many_of_its_files_it_can_cost_time() {
        let said = |costly: &str| {
            let numbers = format!(
                "2000.0, 4000.0, 0.5, 5.0, CAST(NULL AS DOUBLE), 1.0, 8.0, 100.0, CAST({costly} AS DOUBLE)"
            );
            let sql = format!("SELECT rule_sentence('misaligned_file', '/f', {numbers})");
            ask(&sql).unwrap().remove(0)
        };
        let all = said("NULL");
        assert!(all.contains(" to 5 files "), "{all}");
        assert_eq!(
            said("2"),
            format!("{all}; it can cost time in 2 of these files")
        );
        assert_eq!([said("5"), said("0")], [all.clone(), all]);
    }

    #[test]
    fn sentences_name_columns_that_their_rows_have() {
        for rule in rules() {
            let columns: Vec<&str> = match rule.facts {
                Facts::File => names("root_causes"),
                Facts::Counters => PLACES.to_vec(),
                facts => names(facts.query().unwrap()),
            };
            for (column, form) in places(&rule.sentence) {
                let of_the_rule = ["number", "subject", "doing", "done"].contains(&column);
                let is_known = columns.contains(&column) || of_the_rule;
                assert!(is_known, "{}: {column}", rule.name);
                let is_known = form.is_empty() || FORMS.contains(&form);
                assert!(is_known, "{}: {form}", rule.name);
            }
            let has_subject = rule.sentence.contains("{subject}");
            assert!(has_subject || rule.facts != Facts::File, "{}", rule.name);
        }
    }

    #[test]
    fn a_form_is_known_if_it_changes_a_number() {
        for form in FORMS {
            let is_changed = shown(&json!(7.5), form) != "7.5" || form == "times";
            assert!(is_changed, "{form}");
        }
        assert_eq!(shown(&json!(7.5), "tims"), "7.5");
    }

    fn names(relation: &str) -> Vec<&'static str> {
        let columns = query(relation).unwrap().columns.iter();
        columns.map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn what_a_row_lacks_is_a_dash_and_text_is_not_filled_again() {
        let row = json!({"subject": "/{files}", "files": 1, "direction": "read"});
        let text = "{files:files} {subject} {least:count}, {done}, {doing}";
        assert_eq!(
            fill(text, row.as_object().unwrap()),
            "one file /{files} -, read, reading"
        );
    }
}
