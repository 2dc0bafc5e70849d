//! The expressions of rules about counters, and the files of a batch over which each is evaluated.
//!
//! A rule is about few files as a rule, and of those few have a weight: what it asks of a file is computed where it counts and nowhere else.

use super::columns::{Columns, numbers};
use super::{Facts, Rule, of};
use datafusion::arrow::array::{Array, AsArray, BooleanArray, Float64Array};
use datafusion::arrow::compute::{filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::Fields;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::PhysicalExpr;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

type Expression = Arc<dyn PhysicalExpr>;

/// The expressions of rules about counters over a file and its records.
pub(super) struct FileRules {
    pub(super) columns: Columns,
    pub(super) rules: Vec<FileRule>,
    pub(super) records: Columns,
    /// The different times that rules ask of records.
    pub(super) times: Vec<Expression>,
}

/// Those of a rule, over the columns that it needs.
pub(super) struct FileRule {
    columns: Vec<usize>,
    /// Which files it is about; all if None.
    files: Option<Expression>,
    pub(super) weight: Option<Expression>,
    pub(super) of: Option<Expression>,
    /// These are asked of files with weight.
    pub(super) matters: Option<Expression>,
    pub(super) least: Option<Expression>,
    pub(super) cost: Option<Expression>,
    pub(super) touches: Option<Expression>,
    pub(super) moved: Option<Expression>,
    /// Its place in `times`.
    pub(super) time: Option<usize>,
}

/// What the time of a record may be made of.
const TIMES: [&str; 8] = [
    "posix_f_read_time",
    "posix_f_write_time",
    "posix_f_meta_time",
    "mpiio_f_read_time",
    "mpiio_f_write_time",
    "stdio_f_read_time",
    "stdio_f_write_time",
    "stdio_f_meta_time",
];

impl FileRules {
    pub(super) fn new(columns: &Columns) -> Result<Self> {
        let records = Columns::of(&Fields::empty()).and(&TIMES);
        let (mut places, mut times) = (HashMap::new(), vec![]);
        let mut rules = vec![];
        for rule in of(Facts::Counters) {
            let time = match rule.time.as_deref() {
                Some(sql) if !places.contains_key(sql) => {
                    places.insert(sql, times.len());
                    times.push(records.expression(sql)?);
                    Some(times.len() - 1)
                }
                Some(sql) => Some(places[sql]),
                None => None,
            };
            rules.push(FileRule::new(columns, rule, time)?);
        }
        Ok(Self {
            columns: columns.clone(),
            rules,
            records,
            times,
        })
    }
}

impl FileRule {
    fn new(columns: &Columns, rule: &Rule, time: Option<usize>) -> Result<Self> {
        let made = |sql: Option<&str>| sql.map(|sql| columns.expression(sql)).transpose();
        let number = |sql: &Option<String>| {
            let sql = sql.as_ref().map(|sql| rule.with_thresholds(sql));
            made(sql.map(|sql| format!("CAST({sql} AS DOUBLE)")).as_deref())
        };
        let files = rule.files.as_ref().map(|sql| rule.with_thresholds(sql));
        let expressions = [
            made(files.as_deref())?,
            number(&rule.weight)?,
            number(&rule.of)?,
            number(&rule.matters)?,
            number(&rule.least)?,
            number(&rule.cost)?,
            made(rule.touched().as_deref())?,
            made(rule.moved())?,
        ];
        let used = expressions.iter().flatten().flat_map(collect_columns);
        let used: BTreeSet<usize> = used.map(|column| column.index()).collect();
        let used: Vec<usize> = used.into_iter().collect();
        let narrow = columns.schema().project(&used)?;
        let narrowed = expressions.map(|expression| {
            let expression = expression.map(|of| reassign_expr_columns(of, &narrow));
            expression.transpose()
        });
        let [files, weight, of, matters, least, cost, touches, moved] = narrowed;
        Ok(Self {
            columns: used,
            files: files?,
            weight: weight?,
            of: of?,
            matters: matters?,
            least: least?,
            cost: cost?,
            touches: touches?,
            moved: moved?,
            time,
        })
    }

    /// The files that the rule is about.
    pub(super) fn about<'a>(&self, files: &'a Selected<'_>) -> Result<Selected<'a>> {
        let all = Selected {
            batch: files.batch.project(&self.columns)?,
            rows: Cow::Borrowed(files.rows()),
        };
        let Some(condition) = &self.files else {
            return Ok(all);
        };
        let holds = condition.evaluate(&all.batch)?;
        let holds = holds.into_array(all.batch.num_rows())?;
        all.only(holds.as_boolean())
    }
}

/// Some files of a batch.
pub(super) struct Selected<'a> {
    batch: RecordBatch,
    /// Their rows in the batch that they came in.
    rows: Cow<'a, [usize]>,
}

impl Selected<'_> {
    /// The files for which the filter holds.
    pub(super) fn of(batch: RecordBatch, filter: Option<&BooleanArray>) -> Result<Self> {
        let rows = (0..batch.num_rows()).collect();
        let all = Self {
            batch,
            rows: Cow::Owned(rows),
        };
        match filter {
            Some(filter) => all.only(filter),
            None => Ok(all),
        }
    }

    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The values of an expression over these files.
    pub(super) fn numbers(&self, expression: Option<&Expression>) -> Result<Option<Float64Array>> {
        let values = expression.map(|of| numbers(of.as_ref(), &self.batch));
        values.transpose()
    }
}

impl<'a> Selected<'a> {
    /// Those of the files for which a condition is true.
    pub(super) fn only(self, condition: &BooleanArray) -> Result<Selected<'a>> {
        if condition.null_count() == 0 && condition.true_count() == condition.len() {
            return Ok(self);
        }
        let condition = match condition.null_count() {
            0 => condition.clone(),
            _ => prep_null_mask_filter(condition),
        };
        let rows = condition.values().set_indices();
        Ok(Selected {
            rows: rows.map(|row| self.rows[row]).collect(),
            batch: filter_record_batch(&self.batch, &condition)?,
        })
    }
}
