//! Of a record that several dumps have, the newest that is known (semantics.md 6).
//!
//! A job that one day's dump shows as RUNNING is COMPLETED in the next; in whatever order the dumps come, the lake holds the
//! latter. Dumps may have different columns: what the newest record does not say and what never changes comes from another.

use crate::error::{Error, Result};
use crate::source::Resolver;
use crate::table::{Table, table};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// A requeue that comes later than this after the end of what ran under the same id is another job: ids start over.
const MOST_BETWEEN: i64 = 30 * 86_400 * 1_000_000;

/// Columns that do not change while a job waits and runs, so that an older record may fill them in.
const FIXED: [&str; 24] = [
    "cluster",
    "user",
    "uid",
    "account",
    "partition",
    "qos",
    "job_name",
    "timelimit",
    "timelimit_text",
    "array_job_id",
    "array_task_id",
    "het_job_id",
    "het_offset",
    "req_node_count",
    "req_cpus",
    "req_mem",
    "req_mem_per",
    "req_tres",
    "work_dir",
    "comment",
    "submit_line",
    "submit_time",
    "step_name",
    "layout",
];

pub(super) fn resolver(name: &str) -> Option<Box<dyn Resolver>> {
    let table = table(name).ok()?;
    match name {
        "slurm_job" | "slurm_step" => Some(Box::new(Newest {
            table: table.clone(),
        })),
        _ => None,
    }
}

struct Newest {
    table: Arc<Table>,
}

impl Resolver for Newest {
    /// All records of one job id.
    fn group(&self) -> usize {
        1
    }

    fn resolve(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = Columns::new(rows, &self.table)?;
        let mut kept: Vec<Vec<u32>> = Vec::with_capacity(rows.num_rows());
        let (mut from, mut merged) = (0, false);
        while from < rows.num_rows() {
            let job = columns.job[from];
            let to = (from..rows.num_rows())
                .find(|row| columns.job[*row] != job)
                .unwrap_or(rows.num_rows());
            match to - from {
                1 => kept.push(vec![from as u32]),
                _ => {
                    let records = columns.records(from..to);
                    merged |= records.len() < to - from;
                    kept.extend(records);
                }
            }
            from = to;
        }
        let rows = match merged {
            true => self.merge(rows, &kept)?,
            false => rows.clone(),
        };
        match self.table.name.as_str() {
            "slurm_job" => self.mark_last(&rows),
            _ => Ok(rows),
        }
    }
}

impl Newest {
    /// One row for each list of rows of the same record, newest first. What the newest does not say another says that is as new,
    /// or any other if it never changes.
    fn merge(&self, rows: &RecordBatch, kept: &[Vec<u32>]) -> Result<RecordBatch> {
        let columns = Columns::new(rows, &self.table)?;
        let newest: UInt32Array = kept.iter().map(|rows| rows[0]).collect();
        let column = |(at, column): (usize, &ArrayRef)| -> Result<ArrayRef> {
            let fixed = FIXED.contains(&self.table.columns[at].name.as_str());
            let said = |rows: &Vec<u32>| {
                let mut others = rows
                    .iter()
                    .copied()
                    .filter(|row| column.is_valid(*row as usize));
                others
                    .find(|row| fixed || columns.is_as_new(rows[0] as usize, *row as usize))
                    .unwrap_or(rows[0])
            };
            let taken = match column.null_count() > 0 {
                true => take(
                    column,
                    &kept.iter().map(said).collect::<UInt32Array>(),
                    None,
                ),
                false => take(column, &newest, None),
            };
            taken.map_err(|e| Error::columns(self.table.name.clone(), e))
        };
        let columns = rows
            .columns()
            .iter()
            .enumerate()
            .map(column)
            .collect::<Result<_>>()?;
        RecordBatch::try_new(rows.schema(), columns)
            .map_err(|e| Error::columns(self.table.name.clone(), e))
    }

    /// Says of each record whether it is the last of its job.
    fn mark_last(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = Columns::new(rows, &self.table)?;
        let last: BooleanArray = (0..rows.num_rows())
            .map(|row| Some(!columns.is_followed(row)))
            .collect();
        let mut all = rows.columns().to_vec();
        all[self.table.index("last_record")?] = Arc::new(last);
        RecordBatch::try_new(rows.schema(), all)
            .map_err(|e| Error::columns(self.table.name.clone(), e))
    }
}

/// The columns that tell records apart and which of them is newer.
struct Columns<'a> {
    job: &'a [i64],
    /// submit_time of a job, start_time of a step: what tells its records apart.
    key: &'a Int64Like,
    step: Option<&'a StringArray>,
    start: &'a Int64Like,
    end: &'a Int64Like,
    elapsed: &'a arrow::array::Float64Array,
    code: &'a Int64Array,
    user: Option<&'a StringArray>,
    name: Option<&'a StringArray>,
}

type Int64Like = arrow::array::TimestampMicrosecondArray;

impl<'a> Columns<'a> {
    fn new(rows: &'a RecordBatch, table: &Table) -> Result<Self> {
        let bad = || Error::Invalid(format!("rows that are none of {}", table.name));
        let time = |name: &str| {
            rows.column_by_name(name)
                .and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>())
        };
        let int = |name: &str| {
            rows.column_by_name(name)
                .and_then(|c| c.as_primitive_opt::<Int64Type>())
        };
        let text = |name: &str| {
            rows.column_by_name(name)
                .and_then(|c| c.as_string_opt::<i32>())
        };
        let float = |name: &str| {
            rows.column_by_name(name)
                .and_then(|c| c.as_primitive_opt::<Float64Type>())
        };
        Ok(Self {
            job: int("job_id").map(|c| &c.values()[..]).ok_or_else(bad)?,
            key: time("submit_time").or(time("start_time")).ok_or_else(bad)?,
            step: text("step_id"),
            start: time("start_time").ok_or_else(bad)?,
            end: time("end_time").ok_or_else(bad)?,
            elapsed: float("elapsed").ok_or_else(bad)?,
            code: int("state_code").ok_or_else(bad)?,
            user: text("user"),
            name: text("job_name"),
        })
    }

    /// The records of one job id, in order: of each its rows, newest first.
    fn records(&self, rows: std::ops::Range<usize>) -> Vec<Vec<u32>> {
        let mut records: Vec<Vec<u32>> = vec![];
        // Rows with the same key lie side by side; those without one come last, when all others are there.
        let mut by_step: HashMap<&str, Vec<usize>> = HashMap::new();
        for row in rows {
            let step = self.step.map_or("", |step| step.value(row));
            let known = by_step.entry(step).or_default();
            let same = |record: &&usize| self.is_same(records[**record][0] as usize, row);
            let found = match self.key.is_valid(row) {
                true => known.last().filter(same).copied(),
                false => {
                    let start =
                        |row: usize| self.start.is_valid(row).then(|| self.start.value(row));
                    let twin = |record: &&usize| {
                        let first = records[**record][0] as usize;
                        self.key.is_null(first) && start(first) == start(row)
                    };
                    let mut others = known.iter().filter(same);
                    // Of several that it may be, it is none for certain.
                    let only = others.next().filter(|_| others.next().is_none());
                    known.iter().find(twin).or(only).copied()
                }
            };
            match found {
                Some(record) => records[record].push(row as u32),
                None => {
                    known.push(records.len());
                    records.push(vec![row as u32]);
                }
            }
        }
        for record in &mut records {
            record.sort_by(|a, b| self.age(*b as usize, *a as usize));
        }
        records
    }

    /// Whether a row of a job, or of one step of it, is of the record that another one is of.
    fn is_same(&self, known: usize, row: usize) -> bool {
        match (self.key.is_valid(known), self.key.is_valid(row)) {
            (true, true) => self.key.value(known) == self.key.value(row),
            // A dump without that column: the same start says as much.
            _ => match (self.start.is_valid(known), self.start.is_valid(row)) {
                (true, true) => self.start.value(known) == self.start.value(row),
                _ => true,
            },
        }
    }

    /// Which of two rows of one record is older: it waits while the other runs, runs while the other has ended, or has run for
    /// less.
    fn age(&self, a: usize, b: usize) -> Ordering {
        let said = |row: usize| self.key.is_valid(row);
        // The first that came stays.
        self.progress(a, b)
            .then(said(a).cmp(&said(b)))
            .then(b.cmp(&a))
    }

    fn is_as_new(&self, a: usize, b: usize) -> bool {
        self.progress(a, b) == Ordering::Equal
    }

    fn progress(&self, a: usize, b: usize) -> Ordering {
        let over = |row: usize| {
            self.code.is_valid(row)
                && ![0, 1, 2].contains(&self.code.value(row))
                && self.code.value(row) < 1 << 11
        };
        let rank = |row: usize| {
            (
                over(row) || self.end.is_valid(row),
                self.start.is_valid(row) || self.code.is_valid(row) && self.code.value(row) != 0,
            )
        };
        let elapsed = |row: usize| {
            if self.elapsed.is_valid(row) {
                self.elapsed.value(row)
            } else {
                -1.0
            }
        };
        let end = |row: usize| self.end.is_valid(row).then(|| self.end.value(row));
        rank(a)
            .cmp(&rank(b))
            .then(end(a).cmp(&end(b)))
            .then(elapsed(a).total_cmp(&elapsed(b)))
    }

    /// Whether the next record is of the same job, which was put back into the queue.
    fn is_followed(&self, row: usize) -> bool {
        let next = row + 1;
        if next >= self.job.len() || self.job[row] != self.job[next] {
            return false;
        }
        let differ = |column: Option<&StringArray>| {
            column.is_some_and(|c| {
                c.is_valid(row) && c.is_valid(next) && c.value(row) != c.value(next)
            })
        };
        let time = |column: &Int64Like, row: usize| column.is_valid(row).then(|| column.value(row));
        let begins = time(self.key, next).or(time(self.start, next));
        let ended = time(self.end, row)
            .or(time(self.start, row))
            .or(time(self.key, row));
        let far = begins
            .zip(ended)
            .is_some_and(|(begins, ended)| begins - ended > MOST_BETWEEN);
        !differ(self.user) && !differ(self.name) && !far
    }
}
