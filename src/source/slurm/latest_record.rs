//! Of a record that several dumps have, the newest that is known (SEMANTICS.md 6).
//!
//! A job that one day's dump shows as RUNNING is COMPLETED in the next; in whatever order the dumps come, the lake holds the
//! latter. Dumps may have different columns: what the newest record does not say and what never changes comes from another.

use crate::error::{Error, Result};
use crate::source::RowMerger;
use crate::table::{Table, table};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DynComparator, Int64Array, ListArray, StringArray,
    UInt32Array, make_comparator,
};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::{Field, Float64Type, Int64Type, TimestampMicrosecondType};
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

pub(super) fn row_merger(name: &str) -> Option<Box<dyn RowMerger>> {
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

impl RowMerger for Newest {
    /// All records of one job id.
    fn group(&self) -> usize {
        1
    }

    fn resolve(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = Columns::new(rows, &self.table)?;
        let mut kept: Vec<Vec<u32>> = Vec::with_capacity(rows.num_rows());
        let (mut from, mut changed) = (0, false);
        while from < rows.num_rows() {
            let job = columns.job[from];
            let to = (from..rows.num_rows())
                .find(|row| columns.job[*row] != job)
                .unwrap_or(rows.num_rows());
            match to - from {
                1 => kept.push(vec![from as u32]),
                _ => {
                    let records = columns.records(from..to);
                    let first = |record: &Vec<u32>| record[0] as usize;
                    changed |= !records.iter().map(first).eq(from..to);
                    kept.extend(records);
                }
            }
            from = to;
        }
        let rows = match changed {
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
        // An amount of memory means nothing without what it is for.
        let per = rows
            .column_by_name("req_mem_per")
            .map(comparator)
            .transpose()?;
        let column = |(at, column): (usize, &ArrayRef)| -> Result<ArrayRef> {
            let name = self.table.columns[at].name.as_str();
            // What tells records apart is part of the sort order too, so a newer row without it must not take it away.
            let fixed = FIXED.contains(&name) || self.table.key.iter().any(|key| key == name);
            let pair = per.as_ref().filter(|_| name == "req_mem");
            let compare = comparator(column)?;
            let said = |rows: &Vec<u32>| {
                let valid = || {
                    rows.iter()
                        .copied()
                        .filter(|row| column.is_valid(*row as usize))
                };
                // Of two that say different things of one state, such as rounded and exact amounts, one is taken whatever the
                // order in which they came.
                let greater = |a: u32, b: u32| match pair {
                    Some(pair) if pair(a as usize, b as usize).is_ne() => {
                        if pair(a as usize, b as usize).is_gt() {
                            a
                        } else {
                            b
                        }
                    }
                    _ if compare(b as usize, a as usize).is_gt() => b,
                    _ => a,
                };
                valid()
                    .filter(|row| columns.is_as_new(rows[0] as usize, *row as usize))
                    .reduce(greater)
                    .or_else(|| valid().find(|_| fixed))
                    .unwrap_or(rows[0])
            };
            let places: UInt32Array = kept
                .iter()
                .map(|rows| match rows[..] {
                    [only] => only,
                    _ => said(rows),
                })
                .collect();
            let taken = take(column, &places, None);
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

/// Compares the values of a column by their places.
fn comparator(column: &ArrayRef) -> Result<DynComparator> {
    // A map is a list of pairs.
    let list = column.as_map_opt().map(|map| -> ArrayRef {
        let (_, offsets, entries, nulls, _) = map.clone().into_parts();
        let field = Arc::new(Field::new("item", entries.data_type().clone(), false));
        Arc::new(ListArray::new(field, offsets, Arc::new(entries), nulls))
    });
    let column = list.as_ref().unwrap_or(column);
    make_comparator(column, column, SortOptions::default())
        .map_err(|e| Error::columns("rows of Slurm's accounting", e))
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
    cluster: Option<&'a StringArray>,
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
            cluster: text("cluster"),
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
                true => known.iter().rev().find(same).copied(),
                false => {
                    let first = |record: &&usize| records[**record][0] as usize;
                    let start =
                        |row: usize| self.start.is_valid(row).then(|| self.start.value(row));
                    let alike = |record: &&usize| {
                        let known = first(record);
                        !self.differ(self.cluster, known, row) && start(known) == start(row)
                    };
                    let began = |record: &&usize| self.start.is_valid(row) && alike(record);
                    let twin = |record: &&usize| self.key.is_null(first(record)) && alike(record);
                    // If nothing tells which of several it is: sacct shows the last record of a job, unless asked for all.
                    let last = |record: &&usize| self.key.is_valid(first(record)) && same(record);
                    let mut newest_first = known.iter().rev();
                    newest_first
                        .clone()
                        .find(began)
                        .or_else(|| newest_first.clone().find(last))
                        .or_else(|| newest_first.find(twin))
                        .copied()
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
        self.sort_unkeyed(&mut records);
        records
    }

    /// Brings those records without a key, which stand last, into an order that does not depend on which came first.
    fn sort_unkeyed(&self, records: &mut [Vec<u32>]) {
        let has_key = |record: &Vec<u32>| record.iter().any(|r| self.key.is_valid(*r as usize));
        let keyed = records.partition_point(has_key);
        let place = |record: &Vec<u32>| {
            let first = record[0] as usize;
            let cluster = record.iter().find_map(|row| {
                let clusters = self.cluster.filter(|c| c.is_valid(*row as usize))?;
                Some(clusters.value(*row as usize))
            });
            (
                self.step.map(|step| step.value(first)),
                (cluster.is_none(), cluster),
                (
                    self.start.is_null(first),
                    self.start.is_valid(first).then(|| self.start.value(first)),
                ),
            )
        };
        records[keyed..].sort_by(|a, b| place(a).cmp(&place(b)));
    }

    /// Whether a row of a job, or of one step of it, is of the record that another one is of.
    fn is_same(&self, known: usize, row: usize) -> bool {
        if self.differ(self.cluster, known, row) {
            return false;
        }
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
        let mut later =
            (row + 1..self.job.len()).take_while(|next| self.job[*next] == self.job[row]);
        let Some(next) = later.find(|next| !self.differ(self.cluster, row, *next)) else {
            return false;
        };
        let time = |column: &Int64Like, row: usize| column.is_valid(row).then(|| column.value(row));
        let begins = time(self.key, next).or(time(self.start, next));
        let ended = time(self.end, row)
            .or(time(self.start, row))
            .or(time(self.key, row));
        let far = begins
            .zip(ended)
            .is_some_and(|(begins, ended)| begins - ended > MOST_BETWEEN);
        !self.differ(self.user, row, next) && !self.differ(self.name, row, next) && !far
    }

    /// Whether two rows say different things.
    fn differ(&self, column: Option<&StringArray>, a: usize, b: usize) -> bool {
        column.is_some_and(|c| c.is_valid(a) && c.is_valid(b) && c.value(a) != c.value(b))
    }
}
