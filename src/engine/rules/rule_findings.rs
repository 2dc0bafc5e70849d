//! `rule_findings`: the rules about counters that hold for a log.
//!
//! ```text
//! rule_findings(log, rule_sums(..))  ->  list with an element for each rule whose condition holds
//! ```
//!
//! `log` is a struct of the columns of a log that conditions name, `nprocs` among them.

use super::columns::{Columns, Once, numbers};
use super::rule_sum::NUMBERS;
use super::rule_sums::element;
use super::{Facts, Rule, of};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, ListArray, StringArray, StructArray,
    UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type, UInt64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_plan::PhysicalExpr;
use std::sync::Arc;

/// The numbers of a finding.
const FOUND: [&str; 10] = [
    "value",
    "share",
    "cost",
    "touched",
    "sum",
    "whole",
    "least",
    "time",
    "rate",
    "costly_files",
];

fn finding() -> Fields {
    let numbers = FOUND.map(|name| Field::new(name, DataType::Float64, true));
    let others = [
        Field::new("code", DataType::Utf8, true),
        Field::new("files", DataType::Int64, true),
        Field::new("record_id", DataType::UInt64, true),
    ];
    numbers.into_iter().chain(others).collect()
}

fn list() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(finding()),
        true,
    )))
}

/// The function as DataFusion has it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct RuleFindings {
    signature: Signature,
}

impl Default for RuleFindings {
    fn default() -> Self {
        let signature = Signature::any(2, Volatility::Immutable);
        Self { signature }
    }
}

impl ScalarUDFImpl for RuleFindings {
    fn name(&self) -> &str {
        "rule_findings"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(list())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        static MADE: Once<LogRules> = Once::new();
        let rows = args.number_rows;
        let columns = args.args.into_iter().map(|column| column.into_array(rows));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let [log, sums] = columns.as_slice() else {
            return exec_err!("rule_findings: a log and its sums are missing");
        };
        let log = log.as_struct();
        let rules = MADE.of(log.fields(), LogRules::new)?;
        Ok(ColumnarValue::Array(rules.findings(log, sums.as_list())?))
    }
}

/// The expressions of rules about counters over a log.
pub(super) struct LogRules {
    columns: Columns,
    rules: Vec<LogRule>,
}

/// Those of a rule.
struct LogRule {
    rule: &'static Rule,
    condition: Arc<dyn PhysicalExpr>,
    value: Arc<dyn PhysicalExpr>,
    share: Arc<dyn PhysicalExpr>,
    time: Arc<dyn PhysicalExpr>,
    rate: Arc<dyn PhysicalExpr>,
}

/// Time of the slowest process, s: its part of shared records, or the mean process's where these do not tell it, and what the slowest has in records
/// of its own. The slowest process of each shared record may be another one, so that it is an upper bound.
const TIME: &str =
    "(greatest(coalesce(\"slow\", 0), coalesce(\"all\", 0) / nprocs) + coalesce(\"one\", 0))";

/// Bytes of the files in that time.
const RATE: &str = "ratio(\"moved\", {time})";

impl LogRules {
    pub(super) fn new(log: &Columns) -> Result<Self> {
        let columns = log.and(&NUMBERS);
        let rules = of(Facts::Counters).map(|rule| {
            Ok(LogRule {
                rule,
                condition: columns
                    .expression(&rule.of_log(rule.condition.as_deref().unwrap_or("true")))?,
                value: columns.expression(&rule.of_log(&rule.value.sql))?,
                share: columns.expression(&rule.of_log("{share}"))?,
                time: columns.expression(&rule.of_log("{time}"))?,
                rate: columns.expression(&rule.of_log(RATE))?,
            })
        });
        let rules = rules.collect::<Result<_>>()?;
        Ok(Self { columns, rules })
    }

    /// Of each log, whose sums are a list with an element for each rule.
    pub(super) fn findings(&self, logs: &StructArray, sums: &ListArray) -> Result<ArrayRef> {
        let items = sums.values().as_struct();
        let rules = self.rules.len();
        if (0..logs.len()).any(|log| sums.is_null(log) || sums.value_length(log) as usize != rules)
        {
            return exec_err!("rule_findings: a log has no sums of {rules} rules");
        }
        // What holds of each rule, log by log.
        let mut evaluated = vec![];
        for (number, rule) in self.rules.iter().enumerate() {
            let places = sums.offsets().iter().take(logs.len());
            let places: UInt64Array = places
                .map(|first| Some(*first as u64 + number as u64))
                .collect();
            let columns = element();
            let columns = columns.iter().zip(items.columns());
            let columns = columns
                .map(|(field, column)| Ok((field.name().as_str(), take(column, &places, None)?)));
            let columns: Vec<(&str, ArrayRef)> = columns.collect::<Result<_>>()?;
            evaluated.push(rule.evaluate(&self.columns.batch(logs, &columns)?, columns)?);
        }
        let mut found: Vec<(usize, usize)> = vec![];
        let mut lengths = vec![];
        for log in 0..logs.len() {
            let before = found.len();
            found.extend(
                (0..rules)
                    .filter(|rule| evaluated[*rule].holds[log])
                    .map(|rule| (rule, log)),
            );
            lengths.push(found.len() - before);
        }
        let number = |of: usize| -> ArrayRef {
            let values = found.iter().map(|(rule, log)| {
                let column = evaluated[*rule].numbers[of]
                    .as_ref()
                    .filter(|column| column.is_valid(*log));
                column.map(|column| column.value(*log))
            });
            Arc::new(values.collect::<Float64Array>())
        };
        let codes = found
            .iter()
            .map(|(rule, _)| self.rules[*rule].rule.code.as_str());
        let files = found
            .iter()
            .map(|(rule, log)| evaluated[*rule].files.value(*log) as i64);
        let records = found
            .iter()
            .map(|(rule, log)| evaluated[*rule].records.value(*log));
        let others: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter_values(codes)),
            Arc::new(Int64Array::from_iter_values(files)),
            Arc::new(UInt64Array::from_iter_values(records)),
        ];
        let columns = (0..FOUND.len()).map(number).chain(others);
        let items = StructArray::try_new(finding(), columns.collect(), None)?;
        Ok(Arc::new(ListArray::try_new(
            Arc::new(Field::new_list_field(items.data_type().clone(), true)),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(items),
            None,
        )?))
    }
}

/// A rule over the logs of a batch.
struct Evaluated {
    holds: Vec<bool>,
    /// Those of [`FOUND`] that the rule has.
    numbers: [Option<Float64Array>; FOUND.len()],
    files: Float64Array,
    records: UInt64Array,
}

impl LogRule {
    fn evaluate(
        &self,
        batch: &datafusion::arrow::record_batch::RecordBatch,
        sums: Vec<(&str, ArrayRef)>,
    ) -> Result<Evaluated> {
        let condition = self
            .condition
            .evaluate(batch)?
            .into_array(batch.num_rows())?;
        let condition = condition.as_boolean();
        let holds =
            (0..batch.num_rows()).map(|log| condition.is_valid(log) && condition.value(log));
        let sum = |name: &str| -> Option<Float64Array> {
            let (_, column) = sums.iter().find(|(known, _)| *known == name)?;
            column.as_primitive_opt::<Float64Type>().cloned()
        };
        let rule = self.rule;
        let time = match rule.time {
            Some(_) => Some(numbers(self.time.as_ref(), batch)?),
            None => None,
        };
        // Of a rule that says its cost otherwise the time of the files is not known.
        let rate = match (&rule.time, rule.moved()) {
            (Some(_), Some(_)) => Some(numbers(self.rate.as_ref(), batch)?),
            _ => None,
        };
        let cost = match rule.cost {
            Some(_) => sum("cost"),
            None => time.clone(),
        };
        let records = sums
            .last()
            .map(|(_, records)| records.as_primitive::<UInt64Type>().clone());
        Ok(Evaluated {
            holds: holds.collect(),
            numbers: [
                Some(numbers(self.value.as_ref(), batch)?),
                Some(numbers(self.share.as_ref(), batch)?),
                cost,
                rule.touched().and_then(|_| sum("touched")),
                sum("sum"),
                rule.of.as_ref().and_then(|_| sum("whole")),
                rule.least.as_ref().and_then(|_| sum("least")),
                time,
                rate,
                rule.matters.as_ref().and_then(|_| sum("costly_files")),
            ],
            files: sum("files").unwrap_or_else(|| Float64Array::from(vec![0.0; batch.num_rows()])),
            records: records.unwrap_or_else(|| UInt64Array::from(vec![0; batch.num_rows()])),
        })
    }
}

impl Rule {
    /// An expression over a log and the sums of the rule, with what stands for its places.
    fn of_log(&self, sql: &str) -> String {
        let whole = match self.of {
            Some(_) => "\"whole\"",
            None => "CAST(NULL AS DOUBLE)",
        };
        let share = format!("ratio(\"sum\", {whole})");
        let places = [
            ("{sum}", "\"sum\""),
            ("{whole}", whole),
            ("{share}", &share),
            ("{files}", "\"files\""),
            ("{least}", "\"least\""),
            ("{time}", TIME),
        ];
        let sql = places.iter().fold(sql.to_string(), |sql, (place, column)| {
            sql.replace(place, column)
        });
        self.with_thresholds(&sql)
    }
}
