//! Rows of LMT's sample tables on their way into the lake's: ids become targets and times, KiB become bytes.
//!
//! Readers of databases put values into columns of a few thousand rows ([`Samples::put`]), which go to the builders column by
//! column: nothing is allocated or looked up by name for a row.

use super::clock::NEVER;
use super::dimensions::{Ids, Info, Place};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Period};
use crate::table::{Column, TableBuilder};
use arrow::array::{StringArray, StringBuilder};
use arrow::error::ArrowError;

/// Rows that are gathered before they go to a builder: all columns of them fit into a core's cache.
pub(super) const ROWS: usize = 1024;

/// What stands for NULL among whole numbers.
pub(super) const NULL: i64 = i64::MIN;

/// How much more than the period is read on both sides: the sample before the first belongs to its interval.
pub(super) const MARGIN: i64 = 60_000_000;

/// One of LMT's tables of samples.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name in LMT.
    pub name: &'static str,
    /// The lake's table.
    pub to: &'static str,
    /// Those of its columns that are wanted: the target's id, the stamp's, for operations theirs, then values.
    pub columns: &'static [Wanted],
    /// All columns in schema 1.1, in order: what an INSERT without a list of columns means if nothing else says so.
    pub all: &'static [&'static str],
}

/// A wanted column.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Its name in LMT.
    pub name: &'static str,
    /// The lake's column.
    to: &'static str,
    /// What it holds.
    pub holds: Holds,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// An id of another table.
    Id,
    /// A whole number.
    Int,
    /// A whole number of KiB.
    Kib,
    /// A number.
    Float,
}

const fn wanted(name: &'static str, to: &'static str, holds: Holds) -> Wanted {
    Wanted { name, to, holds }
}

/// The tables of samples.
pub(super) const TABLES: [Table; 4] = [
    Table {
        name: "OST_DATA",
        to: "lmt_ost",
        columns: &[
            wanted("OST_ID", "", Holds::Id),
            wanted("TS_ID", "", Holds::Id),
            wanted("READ_BYTES", "read_counter", Holds::Int),
            wanted("WRITE_BYTES", "write_counter", Holds::Int),
            wanted("KBYTES_FREE", "bytes_free", Holds::Kib),
            wanted("KBYTES_USED", "bytes_used", Holds::Kib),
            wanted("INODES_FREE", "inodes_free", Holds::Int),
            wanted("INODES_USED", "inodes_used", Holds::Int),
        ],
        all: &[
            "OST_ID",
            "TS_ID",
            "READ_BYTES",
            "WRITE_BYTES",
            "PCT_CPU",
            "KBYTES_FREE",
            "KBYTES_USED",
            "INODES_FREE",
            "INODES_USED",
        ],
    },
    Table {
        name: "OSS_DATA",
        to: "lmt_oss",
        columns: &[
            wanted("OSS_ID", "", Holds::Id),
            wanted("TS_ID", "", Holds::Id),
            wanted("PCT_CPU", "pct_cpu", Holds::Float),
            wanted("PCT_MEMORY", "pct_memory", Holds::Float),
        ],
        all: &["OSS_ID", "TS_ID", "PCT_CPU", "PCT_MEMORY"],
    },
    Table {
        name: "MDS_DATA",
        to: "lmt_mdt",
        columns: &[
            wanted("MDS_ID", "", Holds::Id),
            wanted("TS_ID", "", Holds::Id),
            wanted("PCT_CPU", "pct_cpu", Holds::Float),
            wanted("KBYTES_FREE", "bytes_free", Holds::Kib),
            wanted("KBYTES_USED", "bytes_used", Holds::Kib),
            wanted("INODES_FREE", "inodes_free", Holds::Int),
            wanted("INODES_USED", "inodes_used", Holds::Int),
        ],
        all: &[
            "MDS_ID",
            "TS_ID",
            "PCT_CPU",
            "KBYTES_FREE",
            "KBYTES_USED",
            "INODES_FREE",
            "INODES_USED",
        ],
    },
    Table {
        name: "MDS_OPS_DATA",
        to: "lmt_mdt_op",
        columns: &[
            wanted("MDS_ID", "", Holds::Id),
            wanted("TS_ID", "", Holds::Id),
            wanted("OPERATION_ID", "", Holds::Id),
            wanted("SAMPLES", "samples_counter", Holds::Int),
            wanted("SUM", "sum_counter", Holds::Int),
            wanted("SUMSQUARES", "sumsquares_counter", Holds::Int),
        ],
        all: &[
            "MDS_ID",
            "TS_ID",
            "OPERATION_ID",
            "SAMPLES",
            "SUM",
            "SUMSQUARES",
        ],
    },
];

/// The period that is read: what is wanted, and a margin.
pub(super) fn widened(period: Period) -> Period {
    Period {
        from: period.from.map(|from| from.saturating_sub(MARGIN)),
        to: period.to.map(|to| to.saturating_add(MARGIN)),
    }
}

/// Rows of one table of samples that have not reached the builder yet.
pub(super) struct Samples {
    table: &'static Table,
    period: Period,
    /// A column after another, [`ROWS`] values each; bits of a Float64 where the column holds such.
    values: Vec<i64>,
    rows: usize,
    found: Found,
    /// Places of the target, stamp and operation of the row before.
    near: [usize; 3],
    lost: Lost,
}

/// What the ids of rows stand for, while these go to the builder.
#[derive(Default)]
struct Found {
    /// Rows that stay.
    rows: Vec<u32>,
    /// Their times.
    times: Vec<i64>,
    /// Places of their targets, with how many rows of one follow each other.
    targets: Vec<(usize, usize)>,
    /// Places of their operations, if they have such.
    ops: Vec<usize>,
}

impl Found {
    fn clear(&mut self) {
        self.rows.clear();
        self.times.clear();
        self.targets.clear();
        self.ops.clear();
    }

    /// Takes the rows from `row` on that have these times, as far as they lie in the period.
    fn take(
        &mut self,
        row: usize,
        times: &[i64],
        target: usize,
        op: Option<usize>,
        period: Period,
    ) {
        let (rows, before) = (row as u32..(row + times.len()) as u32, self.rows.len());
        if period.is_all() {
            self.rows.extend(rows);
            self.times.extend_from_slice(times);
        } else {
            let wanted = rows.zip(times).filter(|(_, time)| period.contains(**time));
            for (row, time) in wanted {
                self.rows.push(row);
                self.times.push(*time);
            }
        }
        let taken = self.rows.len() - before;
        match self.targets.last_mut() {
            Some((last, rows)) if *last == target => *rows += taken,
            _ => self.targets.push((target, taken)),
        }
        if let Some(op) = op {
            self.ops.extend(std::iter::repeat_n(op, taken));
        }
    }
}

/// Rows that belong to nothing that is known, and the first id of each kind that is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    targets: (u64, i64),
    stamps: (u64, i64),
    ops: (u64, i64),
}

impl Samples {
    /// An empty buffer for rows of a table.
    pub(super) fn new(table: &'static Table, period: Period) -> Self {
        Self {
            table,
            period: widened(period),
            values: vec![NULL; ROWS * table.columns.len()],
            rows: 0,
            found: Found::default(),
            near: [0; 3],
            lost: Lost::default(),
        }
    }

    /// The table whose rows these are.
    pub(super) fn table(&self) -> &'static Table {
        self.table
    }

    /// Sets a value of the row that is not ended yet.
    #[inline]
    pub(super) fn put(&mut self, column: usize, value: i64) {
        if let Some(slot) = self.values.get_mut(column * ROWS + self.rows) {
            *slot = value;
        }
    }

    /// Rows that there is room for.
    pub(super) fn room(&self) -> usize {
        ROWS - self.rows
    }

    /// The values in a column of so many rows that are not ended yet, if there is room for them.
    #[inline]
    pub(super) fn next(&mut self, column: usize, rows: usize) -> &mut [i64] {
        let from = column * ROWS + self.rows;
        let to = from + rows.min(self.room());
        self.values.get_mut(from..to).unwrap_or_default()
    }

    /// Ends so many rows, for which there was room; true if [`Samples::flush`] must be called before the next.
    #[inline]
    pub(super) fn end_rows(&mut self, rows: usize) -> bool {
        self.rows = (self.rows + rows).min(ROWS);
        self.rows == ROWS
    }

    /// Gives the rows to the table's builder, if that is asked for, and lets somebody take them from there.
    ///
    /// # Errors
    /// Those of [`BatchSink::flush`], and [`Error::Columns`] if a text column overflows.
    pub(super) fn flush(&mut self, info: &Info, tables: &mut BatchSink) -> Result<()> {
        self.place(info);
        if let Some(builder) = tables.get(self.table.to) {
            self.fill(info, builder)?;
        }
        self.rows = 0;
        tables.flush()
    }

    /// What was left out since nothing says what it belongs to.
    pub(super) fn lost(&self) -> Vec<String> {
        let table = self.table.name;
        let id = |at: usize| self.table.columns.get(at).map_or("", |column| column.name);
        let lost = [
            (self.lost.targets, id(0), "names no known target"),
            (self.lost.stamps, "TS_ID", "stands for no known time"),
            (self.lost.ops, id(2), "names no known operation"),
        ];
        let lost = lost.into_iter().filter(|((rows, _), ..)| *rows > 0);
        lost.map(|((rows, first), id, what)| {
            let s = if rows == 1 { "" } else { "s" };
            format!("{rows} row{s} of {table} left out, the first since {id} {first} {what}")
        })
        .collect()
    }

    /// The values in a column of the rows so far.
    pub(super) fn column(&self, at: usize) -> &[i64] {
        self.values
            .get(at * ROWS..)
            .map_or(&[], |column| &column[..self.rows])
    }

    /// Finds the rows' targets and times, and drops rows that are not wanted or have none.
    fn place(&mut self, info: &Info) {
        let places = places(info, self.table);
        let operations = (self.table.to == "lmt_mdt_op").then_some(&info.ops);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let (ids, stamps) = (self.column(0), self.column(1));
        let [mut near_target, mut near_stamp, mut near_op] = self.near;
        let (mut row, mut lost) = (0, self.lost);
        while row < self.rows {
            let first = row;
            row += 1;
            let Some(target) = places.find(ids[first], near_target) else {
                count(&mut lost.targets, ids[first]);
                continue;
            };
            let stamp = info.times.find(stamps[first], near_stamp);
            let Some(stamp) = stamp.filter(|at| info.times.time(*at).is_some()) else {
                count(&mut lost.stamps, stamps[first]);
                continue;
            };
            (near_target, near_stamp) = (target, stamp);
            let mut op = None;
            if let Some(operations) = operations {
                let id = self.column(2)[first];
                op = operations.find(id, near_op);
                let Some(op) = op else {
                    count(&mut lost.ops, id);
                    continue;
                };
                near_op = op;
            } else {
                // Rows of one target mostly follow each other, one for each stamp.
                let next = ids[row..].iter().zip(&stamps[row..]);
                let known = info.times.from(stamp + 1);
                let run = next.zip(known).take_while(|((id, stamp), (known, time))| {
                    **id == ids[first] && stamp == known && **time != NEVER
                });
                row += run.count();
            }
            let times = info.times.values().get(stamp..stamp + row - first);
            found.take(first, times.unwrap_or_default(), target, op, self.period);
        }
        if found.rows.len() < self.rows {
            for column in self.values.chunks_exact_mut(ROWS) {
                for (to, from) in found.rows.iter().enumerate() {
                    column[to] = column[*from as usize];
                }
            }
            self.rows = found.rows.len();
        }
        self.found = found;
        self.near = [near_target, near_stamp, near_op];
        self.lost = lost;
    }

    fn fill(&self, info: &Info, builder: &mut TableBuilder) -> Result<()> {
        let places = places(info, self.table).values();
        let table = builder.table().clone();
        for (at, def) in table.columns.iter().enumerate() {
            let column = builder.column(at);
            match def.name.as_str() {
                "fs" => self.text(column, |target| Some(&places.get(target)?.fs))?,
                "oss" | "mds" => self.text(column, |target| places.get(target)?.server.as_ref())?,
                "ost" | "mdt" => {
                    let mut indexes = Vec::with_capacity(self.rows);
                    for (target, rows) in &self.found.targets {
                        let index = places.get(*target).map_or(0, |place| place.index);
                        indexes.resize(indexes.len() + rows, index);
                    }
                    column.int32().extend_from_slice(&indexes, |_| true);
                }
                "op" => {
                    let ops = info.ops.values();
                    let column = column.utf8();
                    for op in &self.found.ops {
                        column.append_option(ops.get(*op));
                    }
                }
                "time" => column
                    .timestamp()
                    .extend_from_slice(&self.found.times, |_| true),
                name => match self
                    .table
                    .columns
                    .iter()
                    .position(|column| column.to == name)
                {
                    Some(from) => self.numbers(column, from),
                    None => nulls(column, self.rows),
                },
            }
        }
        Ok(())
    }

    fn numbers(&self, column: &mut Column, from: usize) {
        let values = self.column(from);
        let bits = values.iter().fold(0, |bits, value| bits | value);
        match self.table.columns.get(from).map(|column| column.holds) {
            Some(Holds::Float) => column.float64().extend(
                values
                    .iter()
                    .map(|bits| f64::from_bits(bits.cast_unsigned())),
                |x| x.is_finite(),
            ),
            // Nearly always no value is NULL or so large: no need to look at each.
            Some(Holds::Kib) if (0..1 << 53).contains(&bits) => column
                .int64()
                .extend(values.iter().map(|n| n * 1024), |_| true),
            // Of what does not fit nothing is known: LMT's own numbers are far smaller.
            Some(Holds::Kib) => column.int64().extend(
                values.iter().map(|n| n.checked_mul(1024).unwrap_or(NULL)),
                |n| n != NULL,
            ),
            _ if bits >= 0 => column.int64().extend_from_slice(values, |_| true),
            _ => column.int64().extend_from_slice(values, |n| n != NULL),
        }
    }

    /// Appends a text for each row's target.
    fn text<'a>(
        &self,
        column: &mut Column,
        text: impl Fn(usize) -> Option<&'a String>,
    ) -> Result<()> {
        let column = column.utf8();
        for (target, rows) in &self.found.targets {
            match text(*target) {
                Some(text) => repeat(column, text, *rows)
                    .map_err(|e| Error::columns(self.table.to.to_string(), e))?,
                None => column.append_nulls(*rows),
            }
        }
        Ok(())
    }
}

/// Appends a text so many times: a few bytes at a time would take as long as all numbers of a row.
fn repeat(column: &mut StringBuilder, text: &str, times: usize) -> Result<(), ArrowError> {
    const TOGETHER: usize = 64;
    if times >= 4 * TOGETHER {
        let some = StringArray::from_iter_values(std::iter::repeat_n(text, TOGETHER));
        for _ in 0..times / TOGETHER {
            column.append_array(&some)?;
        }
        column.append_value_n(text, times % TOGETHER);
    } else {
        column.append_value_n(text, times);
    }
    Ok(())
}

/// The bits that stand for a number among whole numbers.
pub(super) fn float_bits(x: Option<f64>) -> i64 {
    x.unwrap_or(f64::NAN).to_bits().cast_signed()
}

/// Appends NULL.
pub(super) fn nulls(column: &mut Column, n: usize) {
    match column {
        Column::Int32(c) => c.extend_constant(None, n),
        Column::Int64(c) => c.extend_constant(None, n),
        Column::UInt64(c) => c.extend_constant(None, n),
        Column::Float64(c) => c.extend_constant(None, n),
        Column::Timestamp(c) => c.extend_constant(None, n),
        Column::Boolean(c) => c.append_nulls(n),
        Column::Utf8(c) => c.append_nulls(n),
        Column::Binary(c) => (0..n).for_each(|_| c.append_null()),
        Column::List(c) => (0..n).for_each(|_| c.push_null()),
    }
}

fn count(lost: &mut (u64, i64), id: i64) {
    if lost.0 == 0 {
        lost.1 = id;
    }
    lost.0 += 1;
}

fn places<'a>(info: &'a Info, table: &Table) -> &'a Ids<Place> {
    match table.to {
        "lmt_ost" => &info.osts,
        "lmt_oss" => &info.osses,
        _ => &info.mdts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn every_wanted_column_is_one_of_the_lakes_and_of_lmts() {
        for from in &TABLES {
            let to = table(from.to).unwrap();
            for column in from.columns {
                assert!(from.all.contains(&column.name));
                if column.holds != Holds::Id {
                    let source = &to.columns[to.index(column.to).unwrap()].source;
                    assert_eq!(*source, format!("{}.{}", from.name, column.name));
                }
            }
        }
    }
}
