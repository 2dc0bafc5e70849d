//! Rows of samples as intervals: what was moved from one sample of a target to the next.
//!
//! A reader appends what it found: counters, or the intervals that an HDF5 file has. Here several rows of one key become one,
//! and what lies between two samples is formed from the rows of a target in the order of their times, whichever input they
//! came from. So a lake that took in ten slices one by one has the same rows as one that took in the whole.
//!
//! # Rules
//! - Of several rows with one key the first value that is not NULL counts, column by column. What says otherwise later is a
//!   contradiction: counted, never taken.
//! - The interval of a sample begins at the sample of its target before, of whatever input, and is NULL if there is none.
//! - Bytes (or operations) are the counter less the last known one, less what rows without counters in between moved.
//! - A counter that fell was started anew: what was moved is at least what it shows now. The row is marked, for its other counter
//!   may have been started anew as well and only have risen higher since: that of it which is above the old value was moved.
//! - A counter that shows 0 and later no less than before was not started anew, but could not be read: what it shows now is
//!   counted from what it showed before, and the row is marked.
//! - A row without counters keeps the interval that it came with. So does a row that came with one, has counters and follows
//!   no counter.
//! - The interval is a gap if it is longer than 7.5 s, one and a half times LMT's 5 s.

use super::samples::NULL;
use crate::error::{Error, Result};
use crate::source::RowMerger;
use crate::table::{Table, table};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow::compute::take;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use chrono::DateTime;
use std::collections::HashMap;
use std::sync::Arc;

/// An interval that is longer, in microseconds, has lost a sample.
const GAP: i64 = 7_500_000;

/// What a merger forms for a table of samples; None for other tables.
pub(super) fn row_merger(name: &str) -> Option<Box<dyn RowMerger>> {
    let rules = RULES.iter().find(|rules| rules.table == name)?;
    let table = table(name).ok()?;
    Some(Box::new(Intervals {
        rules,
        table: table.clone(),
        last: HashMap::new(),
        day: 0,
        key: vec![],
        contradictions: 0,
        example: None,
    }))
}

/// What is formed in a table.
struct Rules {
    table: &'static str,
    /// Columns that hold what was moved, each with the counter that it is formed from.
    moved: &'static [(&'static str, &'static str)],
    /// Columns in which two inputs must not differ.
    measured: &'static [&'static str],
}

const RULES: [Rules; 4] = [
    Rules {
        table: "lmt_ost",
        moved: &[
            ("bytes_read", "read_counter"),
            ("bytes_written", "write_counter"),
        ],
        measured: &[
            "read_counter",
            "write_counter",
            "bytes_free",
            "bytes_used",
            "inodes_free",
            "inodes_used",
            "iops_counter",
            "num_exports",
            "lock_count",
            "grant_rate",
            "cancel_rate",
            "connect_counter",
            "reconnect_counter",
        ],
    },
    Rules {
        table: "lmt_oss",
        moved: &[],
        measured: &["pct_cpu", "pct_memory"],
    },
    Rules {
        table: "lmt_mdt",
        moved: &[],
        measured: &[
            "pct_cpu",
            "pct_memory",
            "bytes_free",
            "bytes_used",
            "inodes_free",
            "inodes_used",
        ],
    },
    Rules {
        table: "lmt_mdt_op",
        moved: &[("samples", "samples_counter"), ("sum", "sum_counter")],
        measured: &["samples_counter", "sum_counter", "sumsquares_counter"],
    },
];

/// The merger of a table of samples.
struct Intervals {
    rules: &'static Rules,
    table: Arc<Table>,
    /// The last row of each target, by the bytes of the key without the time.
    last: HashMap<Vec<u8>, (u32, Last)>,
    /// Number of the day whose rows are coming; with each target stands that on which it was seen last.
    day: u32,
    key: Vec<u8>,
    contradictions: u64,
    example: Option<String>,
}

/// What is known of a target after a row.
#[derive(Clone, Copy)]
struct Last {
    time: i64,
    /// The last known counters, [`NULL`] where none is known yet.
    counters: [i64; 2],
    /// What rows without counters moved since.
    moved: [i64; 2],
    /// The last known counters that were not 0.
    before: [i64; 2],
}

impl RowMerger for Intervals {
    fn group(&self) -> usize {
        self.table.sort.len()
    }

    fn resolve(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        if rows.schema_ref().fields() != self.table.schema.fields() {
            let reason = std::io::Error::other("these rows are not of the table");
            return Err(Error::columns(self.table.name.clone(), reason));
        }
        let runs = self.runs(rows)?;
        let (rows, runs) = self.merge(rows, runs)?;
        self.form(&rows, &runs)
    }

    /// A target that was silent for a whole day that has samples begins anew. Otherwise its interval would depend on whether the
    /// day between was there when it was formed.
    fn start_day(&mut self) {
        let day = self.day;
        self.last.retain(|_, (seen, _)| *seen == day);
        self.day += 1;
    }

    fn contradictions(&self) -> Option<(u64, String)> {
        (self.contradictions > 0).then(|| {
            (
                self.contradictions,
                self.example.clone().unwrap_or_default(),
            )
        })
    }
}

impl Intervals {
    /// Where the rows of each target end.
    fn runs(&self, rows: &RecordBatch) -> Result<Vec<usize>> {
        let mut ends = vec![];
        let targets: Vec<&ArrayRef> = self.targets(rows)?;
        // Whether each row begins a run.
        let mut begins = vec![false; rows.num_rows()];
        for column in targets {
            match column.data_type() {
                DataType::Int32 => {
                    let values = column.as_primitive::<Int32Type>().values();
                    for (at, pair) in values.windows(2).enumerate() {
                        begins[at + 1] |= pair[0] != pair[1];
                    }
                }
                _ => {
                    let texts = column.as_string::<i32>();
                    let (bytes, offsets) = (texts.value_data(), texts.value_offsets());
                    for (at, ends) in offsets.windows(3).enumerate() {
                        let [a, b, c] = [ends[0] as usize, ends[1] as usize, ends[2] as usize];
                        begins[at + 1] |= bytes[a..b] != bytes[b..c];
                    }
                }
            }
        }
        for (at, begins) in begins.iter().enumerate().skip(1) {
            if *begins {
                ends.push(at);
            }
        }
        if rows.num_rows() > 0 {
            ends.push(rows.num_rows());
        }
        Ok(ends)
    }

    /// The sort columns without the time.
    fn targets<'a>(&self, rows: &'a RecordBatch) -> Result<Vec<&'a ArrayRef>> {
        let names = self.table.sort.iter().filter(|name| *name != "time");
        names
            .map(|name| Ok(rows.column(self.table.index(name)?)))
            .collect()
    }

    fn times<'a>(&self, rows: &'a RecordBatch) -> Result<&'a [i64]> {
        let time = rows.column(self.table.index("time")?);
        Ok(time.as_primitive::<TimestampMicrosecondType>().values())
    }

    /// Makes one row of those with the same key.
    fn merge(&mut self, rows: &RecordBatch, runs: Vec<usize>) -> Result<(RecordBatch, Vec<usize>)> {
        let times = self.times(rows)?;
        // The first row of each key, and the ends of the runs among those.
        let (mut firsts, mut ends, mut from) = (
            Vec::with_capacity(times.len()),
            Vec::with_capacity(runs.len()),
            0,
        );
        for end in &runs {
            for at in from..*end {
                if at == from || times[at] != times[at - 1] {
                    firsts.push(at as u32);
                }
            }
            ends.push(firsts.len());
            from = *end;
        }
        if firsts.len() == rows.num_rows() {
            return Ok((rows.clone(), runs));
        }
        let group = |at: usize| {
            let from = firsts[at] as usize;
            from..firsts
                .get(at + 1)
                .map_or(rows.num_rows(), |next| *next as usize)
        };
        let repeated: Vec<usize> = (0..firsts.len())
            .filter(|at| group(*at).len() > 1)
            .collect();
        let mut contradicted = vec![];
        let mut columns = vec![];
        for (def, column) in self.table.columns.iter().zip(rows.columns()) {
            let mut from = firsts.clone();
            for at in &repeated {
                if let Some(row) = group(*at).find(|row| column.is_valid(*row)) {
                    from[*at] = row as u32;
                }
            }
            let measured = self.rules.measured.contains(&def.name.as_str());
            let moved = self
                .rules
                .moved
                .iter()
                .find(|(moved, _)| *moved == def.name);
            if measured || moved.is_some() {
                // What a row moved says nothing where it has a counter: then it is formed, and formed anew.
                let counter = moved
                    .map(|(_, counter)| self.table.index(counter))
                    .transpose()?;
                let counters = counter.map(|at| rows.column(at));
                for at in &repeated {
                    let kept = from[*at] as usize;
                    let formed =
                        |row: usize| counters.is_some_and(|counters| counters.is_valid(row));
                    let other = group(*at).find(|row| {
                        column.is_valid(*row)
                            && !formed(*row)
                            && !formed(kept)
                            && differ(column, kept, *row)
                    });
                    contradicted.extend(other.map(|other| (*at, def.name.as_str(), kept, other)));
                }
            }
            columns
                .push(take(column, &UInt32Array::from(from), None).map_err(|e| self.refused(e))?);
        }
        contradicted.sort();
        contradicted.dedup_by_key(|(at, ..)| *at);
        self.contradictions += contradicted.len() as u64;
        if let (None, Some((_, name, kept, other))) = (&self.example, contradicted.first()) {
            self.example = Some(self.describe(rows, name, *kept, *other)?);
        }
        let rows = RecordBatch::try_new(self.table.schema.clone(), columns)
            .map_err(|e| self.refused(e))?;
        Ok((rows, ends))
    }

    /// Says that two rows of one key differ.
    fn describe(
        &self,
        rows: &RecordBatch,
        name: &str,
        kept: usize,
        other: usize,
    ) -> Result<String> {
        let column = rows.column(self.table.index(name)?);
        let value = |row: usize| match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            _ => column.as_primitive::<Float64Type>().value(row).to_string(),
        };
        let mut key = vec![];
        for (name, column) in self.table.sort.iter().zip(self.targets(rows)?) {
            key.push(match column.data_type() {
                DataType::Int32 => {
                    format!("{name} {}", column.as_primitive::<Int32Type>().value(kept))
                }
                _ => format!("{name} {}", column.as_string::<i32>().value(kept)),
            });
        }
        let time = self
            .times(rows)?
            .get(kept)
            .and_then(|time| DateTime::from_timestamp_micros(*time));
        let time = time.map_or("?".into(), |time| {
            time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
        });
        let (kept, other) = (value(kept), value(other));
        Ok(format!(
            "{}, {time}: {name} {kept} is kept, another input says {other}",
            key.join(", ")
        ))
    }

    fn refused(&self, e: arrow::error::ArrowError) -> Error {
        Error::columns(self.table.name.clone(), e)
    }

    /// Forms the intervals of rows each of which has its own key.
    fn form(&mut self, rows: &RecordBatch, runs: &[usize]) -> Result<RecordBatch> {
        let n = rows.num_rows();
        let index = |name: &str| self.table.index(name);
        let times = self.times(rows)?;
        let given = Given {
            start: Numbers::of(rows.column(index("start_time")?)),
            moved: self
                .rules
                .moved
                .iter()
                .map(|(moved, _)| Ok(Numbers::of(rows.column(index(moved)?))))
                .collect::<Result<_>>()?,
            counters: self
                .rules
                .moved
                .iter()
                .map(|(_, counter)| Ok(Numbers::of(rows.column(index(counter)?))))
                .collect::<Result<_>>()?,
        };
        let targets = self.targets(rows)?;
        let mut formed = Formed::new(n, self.rules.moved.len());
        let (mut from, mut key) = (0, std::mem::take(&mut self.key));
        for end in runs {
            key.clear();
            for column in &targets {
                match column.data_type() {
                    DataType::Int32 => {
                        key.extend(column.as_primitive::<Int32Type>().value(from).to_le_bytes())
                    }
                    // No name holds a zero byte that ends it.
                    _ => {
                        key.extend(column.as_string::<i32>().value(from).as_bytes());
                        key.push(0);
                    }
                }
            }
            // A row from before what was seen last is no successor of it: then somebody begins anew.
            let mut last = self
                .last
                .get(&key)
                .map(|(_, last)| *last)
                .filter(|last| last.time < times[from]);
            for (row, time) in times.iter().enumerate().take(*end).skip(from) {
                last = formed.row(row, *time, last, &given);
            }
            if let Some(last) = last {
                match self.last.get_mut(&key) {
                    Some(entry) => *entry = (self.day, last),
                    None => {
                        self.last.insert(key.clone(), (self.day, last));
                    }
                }
            }
            from = *end;
        }
        self.key = key;
        let mut columns = rows.columns().to_vec();
        let mut set = |name: &str, column: ArrayRef| -> Result<()> {
            columns[self.table.index(name)?] = column;
            Ok(())
        };
        for ((name, _), values) in self.rules.moved.iter().zip(formed.moved) {
            set(name, Arc::new(ints(values)))?;
        }
        let interval: Vec<f64> = formed
            .start
            .iter()
            .zip(times)
            .map(|(start, time)| time.saturating_sub(*start) as f64 / 1e6)
            .collect();
        let start = ints(formed.start);
        let nulls = start.nulls().cloned();
        set(
            "interval_s",
            Arc::new(Float64Array::new(interval.into(), nulls.clone())),
        )?;
        let start =
            TimestampMicrosecondArray::new(start.values().clone(), nulls).with_timezone("UTC");
        set("start_time", Arc::new(start))?;
        set("gap", Arc::new(flags(&formed.gap)))?;
        if !self.rules.moved.is_empty() {
            set("reset", Arc::new(flags(&formed.reset)))?;
        }
        RecordBatch::try_new(self.table.schema.clone(), columns).map_err(|e| self.refused(e))
    }
}

/// Whether two values differ by more than the way in which they were kept: MySQL prints a FLOAT with six digits.
fn differ(column: &ArrayRef, a: usize, b: usize) -> bool {
    match column.data_type() {
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            let (a, b) = (values.value(a), values.value(b));
            (a - b).abs() > 1e-5 * a.abs().max(b.abs())
        }
        _ => {
            let values = column.as_primitive::<Int64Type>();
            values.value(a) != values.value(b)
        }
    }
}

/// A column of whole numbers or times, NULL where [`NULL`] is returned.
struct Numbers<'a> {
    values: &'a [i64],
    nulls: Option<&'a arrow::buffer::NullBuffer>,
}

impl<'a> Numbers<'a> {
    fn of(column: &'a ArrayRef) -> Self {
        let values: &[i64] = match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().values(),
            _ => column.as_primitive::<TimestampMicrosecondType>().values(),
        };
        Self {
            values,
            nulls: column.nulls(),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> i64 {
        match self.nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            true => self.values[row],
            false => NULL,
        }
    }
}

/// What rows came with.
struct Given<'a> {
    start: Numbers<'a>,
    moved: Vec<Numbers<'a>>,
    counters: Vec<Numbers<'a>>,
}

/// The columns that are formed; [`NULL`] and None stand for NULL.
struct Formed {
    start: Vec<i64>,
    moved: Vec<Vec<i64>>,
    reset: Vec<Option<bool>>,
    gap: Vec<Option<bool>>,
}

impl Formed {
    fn new(rows: usize, moved: usize) -> Self {
        Self {
            start: Vec::with_capacity(rows),
            moved: vec![Vec::with_capacity(rows); moved],
            reset: Vec::with_capacity(rows),
            gap: Vec::with_capacity(rows),
        }
    }

    /// Forms a row's interval from the row before; what is known after it.
    #[inline]
    fn row(&mut self, row: usize, time: i64, last: Option<Last>, given: &Given) -> Option<Last> {
        let (mut counters, mut came) = ([NULL; 2], [NULL; 2]);
        for (at, (counter, moved)) in given.counters.iter().zip(&given.moved).enumerate() {
            (counters[at], came[at]) = (counter.get(row), moved.get(row));
        }
        let gauges = given.counters.is_empty();
        let counts = counters != [NULL; 2];
        let known = last.is_some_and(|last| last.counters != [NULL; 2]);
        let keeps = !gauges && came != [NULL; 2] && !(counts && known);
        let (mut start, mut moved, mut reset) = (NULL, [NULL; 2], None);
        if keeps || !gauges && !counts {
            (start, moved) = (given.start.get(row), came);
            reset = (start != NULL).then_some(false);
        } else if let Some(last) = last {
            start = last.time;
            if counts && known {
                let fell = |at: usize| {
                    counters[at] != NULL
                        && last.counters[at] != NULL
                        && counters[at] < last.counters[at]
                };
                let back = |at: usize| {
                    last.counters[at] == 0 && last.before[at] > 0 && counters[at] >= last.before[at]
                };
                reset = Some((0..2).any(|at| fell(at) || back(at)));
                for at in 0..2 {
                    if counters[at] == NULL || last.counters[at] == NULL {
                        continue;
                    }
                    let from = match (fell(at), back(at)) {
                        (true, _) => 0,
                        (_, true) => last.before[at],
                        _ => last.counters[at],
                    };
                    let since = counters[at].saturating_sub(from);
                    moved[at] = since.saturating_sub(last.moved[at]).max(0);
                }
            }
        }
        let came_so = keeps || !gauges && !counts;
        self.gap
            .push((start != NULL).then(|| !came_so && time.saturating_sub(start) > GAP));
        self.start.push(start);
        self.reset.push(reset);
        for (values, value) in self.moved.iter_mut().zip(moved) {
            values.push(value);
        }
        // A row that only says how full a target is does not part an interval in two.
        if !gauges && !counts && came == [NULL; 2] {
            return last;
        }
        let mut next = last.unwrap_or(Last {
            time,
            counters: [NULL; 2],
            moved: [0; 2],
            before: [NULL; 2],
        });
        next.time = time;
        for at in 0..2 {
            if counters[at] != NULL {
                (next.counters[at], next.moved[at]) = (counters[at], 0);
                if counters[at] != 0 {
                    next.before[at] = counters[at];
                }
            } else if came[at] != NULL {
                next.moved[at] = next.moved[at].saturating_add(came[at]);
            }
        }
        Some(next)
    }
}

/// Whole numbers, NULL where [`NULL`] stands.
fn ints(values: Vec<i64>) -> Int64Array {
    let mut nulls = arrow::array::NullBufferBuilder::new(values.len());
    match values.contains(&NULL) {
        true => values.iter().for_each(|value| nulls.append(*value != NULL)),
        false => nulls.append_n_non_nulls(values.len()),
    }
    Int64Array::new(values.into(), nulls.finish())
}

fn flags(values: &[Option<bool>]) -> BooleanArray {
    values.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::source::Source;
    use crate::source::lmt::Lmt;
    use crate::source::lmt::tests::resolved;
    use crate::table::TableBuilder;
    use crate::table::columns::{floats, ints};
    use arrow::compute::concat_batches;

    /// A sample of OST 0 of lc1: seconds, counters, and what an HDF5 file says of it (begin, bytes).
    #[derive(Clone, Copy, Default)]
    struct Sample {
        time: i64,
        read: Option<i64>,
        written: Option<i64>,
        given: Option<(i64, i64, i64)>,
        used: Option<i64>,
    }

    fn counters(time: i64, read: i64, written: i64) -> Sample {
        Sample {
            time,
            read: Some(read),
            written: Some(written),
            ..Sample::default()
        }
    }

    fn given(start: i64, time: i64, read: i64, written: i64) -> Sample {
        Sample {
            time,
            given: Some((start, read, written)),
            ..Sample::default()
        }
    }

    fn batch(samples: &[Sample]) -> RecordBatch {
        let table = table("lmt_ost").unwrap();
        let mut builder = TableBuilder::new(table);
        for sample in samples {
            for (at, def) in table.columns.iter().enumerate() {
                let column = builder.column(at);
                match def.name.as_str() {
                    "fs" => column.utf8().append_value("lc1"),
                    "ost" => column.int32().push(0),
                    "time" => column.timestamp().push(sample.time * 1_000_000),
                    "start_time" => column
                        .timestamp()
                        .push(sample.given.map(|(start, ..)| start * 1_000_000)),
                    "interval_s" => column
                        .float64()
                        .push(sample.given.map(|(start, ..)| (sample.time - start) as f64)),
                    "bytes_read" => column.int64().push(sample.given.map(|(_, read, _)| read)),
                    "bytes_written" => column
                        .int64()
                        .push(sample.given.map(|(.., written)| written)),
                    "read_counter" => column.int64().push(sample.read),
                    "write_counter" => column.int64().push(sample.written),
                    "bytes_used" => column.int64().push(sample.used),
                    _ => crate::source::lmt::samples::nulls(column, 1),
                }
            }
        }
        builder.finish().unwrap()
    }

    /// (start, interval, read, written, reset, gap) of each row.
    type Row = (
        Option<i64>,
        Option<f64>,
        Option<i64>,
        Option<i64>,
        Option<bool>,
        Option<bool>,
    );

    fn formed(rows: &RecordBatch) -> Vec<Row> {
        let start = ints(rows, "start_time")
            .into_iter()
            .map(|start| start.map(|s| s / 1_000_000));
        let flag = |name: &str| {
            rows.column_by_name(name)
                .unwrap()
                .as_boolean()
                .iter()
                .collect::<Vec<_>>()
        };
        let (read, written) = (ints(rows, "bytes_read"), ints(rows, "bytes_written"));
        let (reset, gap, interval) = (flag("reset"), flag("gap"), floats(rows, "interval_s"));
        start
            .enumerate()
            .map(|(at, start)| {
                (
                    start,
                    interval[at],
                    read[at],
                    written[at],
                    reset[at],
                    gap[at],
                )
            })
            .collect()
    }

    fn moved(start: i64, interval: f64, read: i64, written: i64) -> Row {
        (
            Some(start),
            Some(interval),
            Some(read),
            Some(written),
            Some(false),
            Some(interval > 7.5),
        )
    }

    const FIRST: Row = (None, None, None, None, None, None);

    #[test]
    fn an_interval_is_what_a_counter_grew_by_since_the_sample_before() {
        let rows = resolved(
            "lmt_ost",
            &[&batch(&[
                counters(10, 100, 7),
                counters(15, 130, 7),
                counters(45, 130, 9),
            ])],
        );
        assert_eq!(
            formed(&rows),
            [FIRST, moved(10, 5.0, 30, 0), moved(15, 30.0, 0, 2)]
        );
    }

    #[test]
    fn a_counter_that_fell_begins_at_zero_and_the_other_one_at_what_it_was() {
        let rows = resolved(
            "lmt_ost",
            &[&batch(&[
                counters(10, 100, 7),
                counters(15, 30, 9),
                counters(20, 31, 9),
            ])],
        );
        let mut reset = moved(10, 5.0, 30, 2);
        reset.4 = Some(true);
        assert_eq!(formed(&rows), [FIRST, reset, moved(15, 5.0, 1, 0)]);
    }

    #[test]
    fn a_counter_that_comes_back_from_zero_goes_on_where_it_was() {
        let samples = [
            counters(10, 100, 7),
            counters(15, 0, 0),
            counters(20, 0, 0),
            counters(25, 130, 7),
            counters(30, 131, 9),
        ];
        let marked = |start: i64, read: i64| {
            Row::from((
                Some(start),
                Some(5.0),
                Some(read),
                Some(0),
                Some(true),
                Some(false),
            ))
        };
        let expected = [
            FIRST,
            marked(10, 0),
            moved(15, 5.0, 0, 0),
            marked(20, 30),
            moved(25, 5.0, 1, 2),
        ];
        let whole = resolved("lmt_ost", &[&batch(&samples)]);
        assert_eq!(formed(&whole), expected);
        // Wherever it is cut, and in whatever order the parts come.
        for cut in 1..samples.len() {
            let (early, late) = samples.split_at(cut);
            let late = resolved("lmt_ost", &[&batch(late)]);
            assert_eq!(
                formed(&resolved("lmt_ost", &[&batch(early), &late])),
                expected,
                "{cut}"
            );
        }
        // Started anew, it shows less.
        let rows = resolved(
            "lmt_ost",
            &[&batch(&[
                counters(10, 100, 7),
                counters(15, 0, 0),
                counters(20, 30, 1),
            ])],
        );
        assert_eq!(formed(&rows)[1..], [marked(10, 0), moved(15, 5.0, 30, 1)]);
    }

    #[test]
    fn what_rows_without_counters_moved_is_not_counted_again() {
        let rows = [
            counters(10, 100, 100),
            given(10, 15, 30, 5),
            given(15, 20, 2, 0),
            counters(25, 140, 105),
        ];
        let rows = resolved("lmt_ost", &[&batch(&rows)]);
        let expected = [
            FIRST,
            moved(10, 5.0, 30, 5),
            moved(15, 5.0, 2, 0),
            moved(20, 5.0, 8, 0),
        ];
        assert_eq!(formed(&rows), expected);
    }

    #[test]
    fn a_row_with_counters_keeps_the_interval_it_came_with_only_if_no_counter_is_known_before() {
        let mut both = given(10, 15, 30, 5);
        (both.read, both.written) = (Some(1000), Some(1000));
        let rows = resolved("lmt_ost", &[&batch(&[given(5, 10, 1, 1), both])]);
        assert_eq!(formed(&rows), [moved(5, 5.0, 1, 1), moved(10, 5.0, 30, 5)]);
        // Its counter says otherwise: that is what counts, and it is no contradiction.
        let rows = resolved("lmt_ost", &[&batch(&[counters(12, 990, 999), both])]);
        assert_eq!(formed(&rows), [FIRST, moved(12, 3.0, 10, 1)]);
        let rows = resolved(
            "lmt_ost",
            &[&batch(&[given(5, 10, 1, 1), counters(15, 1000, 1000)])],
        );
        assert_eq!(
            formed(&rows)[1],
            (Some(10), Some(5.0), None, None, None, Some(false))
        );
    }

    #[test]
    fn a_row_that_only_says_how_full_a_target_is_does_not_part_an_interval() {
        let full = Sample {
            time: 13,
            used: Some(1),
            ..Sample::default()
        };
        let rows = resolved(
            "lmt_ost",
            &[&batch(&[counters(10, 100, 7), full, counters(15, 130, 8)])],
        );
        assert_eq!(formed(&rows), [FIRST, FIRST, moved(10, 5.0, 30, 1)]);
    }

    #[test]
    fn of_rows_with_one_key_the_first_value_counts_and_another_is_a_contradiction() {
        let mut first = counters(10, 100, 7);
        first.written = None;
        let full = Sample {
            used: Some(3),
            ..counters(10, 100, 8)
        };
        let other = Sample {
            used: Some(3),
            ..counters(10, 101, 9)
        };
        let mut row_merger = Lmt.row_merger("lmt_ost").unwrap();
        let rows = row_merger
            .resolve(&batch(&[first, full, other, counters(15, 100, 8)]))
            .unwrap();
        assert_eq!(ints(&rows, "read_counter"), [Some(100), Some(100)]);
        assert_eq!(ints(&rows, "write_counter"), [Some(8), Some(8)]);
        assert_eq!(ints(&rows, "bytes_used"), [Some(3), None]);
        let (count, example) = row_merger.contradictions().unwrap();
        assert_eq!(count, 1);
        let of_read =
            "fs lc1, ost 0, 1970-01-01T00:00:10Z: read_counter 100 is kept, another input says 101";
        assert_eq!(example, of_read);
        // What an HDF5 file rounds is compared with its like only.
        let mut row_merger = Lmt.row_merger("lmt_ost").unwrap();
        row_merger
            .resolve(&batch(&[
                counters(5, 0, 0),
                given(5, 10, 1, 1),
                given(5, 10, 2, 1),
            ]))
            .unwrap();
        let (count, example) = row_merger.contradictions().unwrap();
        assert_eq!(
            (
                count,
                example.contains("bytes_read 1 is kept, another input says 2")
            ),
            (1, true),
            "{example}"
        );
    }

    #[test]
    fn a_load_with_six_digits_is_the_same_load() {
        let (_, oss) = (RULES[1].table, table("lmt_oss").unwrap());
        let row = |load: f64| {
            let mut builder = TableBuilder::new(oss);
            for (at, def) in oss.columns.iter().enumerate() {
                match def.name.as_str() {
                    "fs" | "oss" => builder.column(at).utf8().append_value("a"),
                    "time" => builder.column(at).timestamp().push(5_000_000),
                    "pct_cpu" => builder.column(at).float64().push(load),
                    _ => crate::source::lmt::samples::nulls(builder.column(at), 1),
                }
            }
            builder.finish().unwrap()
        };
        for (other, same) in [(f64::from(2.05103f32), true), (2.052, false)] {
            let mut row_merger = Lmt.row_merger("lmt_oss").unwrap();
            row_merger
                .resolve(&concat_batches(&oss.schema, [&row(2.05103), &row(other)]).unwrap())
                .unwrap();
            assert_eq!(row_merger.contradictions().is_none(), same);
        }
    }

    #[test]
    fn a_day_goes_on_where_the_day_before_ended() {
        let all = [
            counters(10, 100, 7),
            counters(15, 130, 8),
            given(15, 20, 5, 1),
            counters(25, 140, 9),
            counters(30, 1, 9),
        ];
        let whole = resolved("lmt_ost", &[&batch(&all)]);
        for cut in 1..all.len() {
            let mut row_merger = Lmt.row_merger("lmt_ost").unwrap();
            let days =
                [&all[..cut], &all[cut..]].map(|day| row_merger.resolve(&batch(day)).unwrap());
            assert_eq!(
                concat_batches(&whole.schema(), &days).unwrap(),
                whole,
                "{cut}"
            );
        }
        // A merger that has gone further and is given an earlier day begins anew.
        let mut row_merger = Lmt.row_merger("lmt_ost").unwrap();
        row_merger.resolve(&whole).unwrap();
        assert_eq!(row_merger.resolve(&whole).unwrap(), whole);
    }

    #[test]
    fn rows_of_another_table_are_refused() {
        let rows = RecordBatch::new_empty(table("lmt_oss").unwrap().schema.clone());
        assert!(Lmt.row_merger("lmt_ost").unwrap().resolve(&rows).is_err());
        assert!(Lmt.row_merger("slurm_job").is_none());
        let empty = RecordBatch::new_empty(table("lmt_ost").unwrap().schema.clone());
        assert_eq!(
            Lmt.row_merger("lmt_ost")
                .unwrap()
                .resolve(&empty)
                .unwrap()
                .num_rows(),
            0
        );
    }
}
