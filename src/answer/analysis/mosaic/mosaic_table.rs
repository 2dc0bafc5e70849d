//! The table `darshan_mosaic`: both modes of every log of a range.

use super::log_rows::LogRows;
use super::options::{Mode, Options};
use super::result::{Mosaic, of_log};
use super::table_rows::{AddRows, TABLES, rows_of};
use crate::error::{Error, Result};
use crate::lake::{Batches, DerivedTable, RangeRows};
use crate::math::io_pattern::group::Group;
use crate::math::io_pattern::operation::Direction;
use crate::table::{TableBuilder, table};
use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::ops::Range;

/// Rows of a batch that is handed on.
const BATCH: usize = 1024;

/// Bytes from which on a batch is handed on: a log may have thousands of groups.
const BATCH_BYTES: usize = 1 << 20;

/// `darshan_mosaic`, derived of the other tables of Darshan.
pub struct MosaicTable;

impl DerivedTable for MosaicTable {
    fn name(&self) -> &'static str {
        "mosaic"
    }

    fn table(&self) -> &'static str {
        "darshan_mosaic"
    }

    fn version(&self) -> u32 {
        // 2: periodic is what comes at equal distances (c8). 3: windows are spread over their own lengths (c4), significance does not depend on traces (c9).
        // 4: what is busy ends with the last repetition but one, traces that cannot be true are not believed, segments of traces and bins have no opens.
        4
    }

    fn made_of(&self) -> &'static [&'static str] {
        const NAMES: [&str; TABLES.len()] = {
            let mut names = [""; TABLES.len()];
            let mut at = 0;
            while at < names.len() {
                names[at] = TABLES[at].0;
                at += 1;
            }
            names
        };
        &NAMES
    }

    fn derive(
        &self,
        range: &RangeRows<'_>,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let [(log, columns), others @ ..] = &TABLES;
        let others = others.iter().enumerate();
        let mut others: Vec<ByLog> = others
            .map(|(at, (name, columns))| Ok(ByLog::new(at + 1, range.rows(name, columns)?)))
            .collect::<Result<_>>()?;
        let mut builder = TableBuilder::new(table(self.table())?);
        let (mut rows, options) = (LogRows::default(), Options::default());
        for batch in range.rows(log, columns)? {
            let logs = Rows::new(0, &batch?)?;
            for at in 0..logs.keys.len() {
                let key = logs.keys.at(at);
                rows.clear();
                (logs.add)(at..at + 1, &mut rows);
                for table in &mut others {
                    table.add(key, &mut rows)?;
                }
                for mode in [Mode::Full, Mode::Reference] {
                    let mosaic = of_log(&rows, mode, &options);
                    append(key, self.version(), &mosaic, &mut builder);
                }
                if builder.rows() >= BATCH || builder.bytes() >= BATCH_BYTES {
                    write(&builder.finish()?)?;
                }
            }
        }
        match builder.rows() {
            0 => Ok(()),
            _ => write(&builder.finish()?),
        }
    }
}

/// Job and log of a row, by which all tables are sorted.
type Key = (i64, i64);

/// The keys of a batch.
struct Keys {
    jobs: Int64Array,
    logs: Int64Array,
}

impl Keys {
    fn len(&self) -> usize {
        self.jobs.len()
    }

    fn at(&self, row: usize) -> Key {
        (self.jobs.value(row), self.logs.value(row))
    }
}

/// The rows of a batch.
struct Rows {
    keys: Keys,
    add: AddRows,
}

impl Rows {
    /// Those of a table, given its place in [`TABLES`].
    fn new(table: usize, batch: &RecordBatch) -> Result<Self> {
        let ids = |name: &str| {
            let column = batch.column_by_name(name);
            let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
            let none = || ArrowError::SchemaError(format!("no {name}"));
            let column = column.ok_or_else(|| Error::columns("rows of a range", none()))?;
            Ok::<_, Error>(column.clone())
        };
        Ok(Self {
            keys: Keys {
                jobs: ids("job_id")?,
                logs: ids("log_id")?,
            },
            add: rows_of(table, batch)?,
        })
    }
}

/// The rows of a table, log by log.
struct ByLog {
    /// Its place in [`TABLES`].
    table: usize,
    batches: Batches,
    rows: Option<Rows>,
    /// The first row of the batch that was not taken.
    at: usize,
}

impl ByLog {
    fn new(table: usize, batches: Batches) -> Self {
        Self {
            table,
            batches,
            rows: None,
            at: 0,
        }
    }

    /// Adds the rows of a log, whose key is above those of the calls before; rows of logs between them are passed over.
    fn add(&mut self, key: Key, to: &mut LogRows) -> Result<()> {
        loop {
            let rows = match &self.rows {
                Some(rows) => rows,
                None => {
                    let Some(batch) = self.batches.next() else {
                        return Ok(());
                    };
                    self.at = 0;
                    self.rows.insert(Rows::new(self.table, &batch?)?)
                }
            };
            let n = rows.keys.len();
            let from = self.at + first(&rows.keys, self.at..n, |other| other >= key);
            let past = from + first(&rows.keys, from..n, |other| other > key);
            if from < past {
                (rows.add)(from..past, to);
            }
            self.at = past;
            if past < n {
                return Ok(());
            }
            self.rows = None;
        }
    }
}

/// How many rows stand before the first for which it holds, near the beginning in most cases.
fn first(keys: &Keys, rows: Range<usize>, holds: impl Fn(Key) -> bool) -> usize {
    let (from, mut step) = (rows.start, 1);
    let mut low = from;
    while low + step <= rows.end && !holds(keys.at(low + step - 1)) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(keys.at(middle)) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low - from
}

/// Appends the row of a log in one mode.
fn append((job, log): Key, version: u32, mosaic: &Mosaic, builder: &mut TableBuilder) {
    let mut column = 0;
    let mut next = || {
        column += 1;
        column - 1
    };
    builder.column(next()).int64().push(log);
    builder.column(next()).int64().push(job);
    builder
        .column(next())
        .utf8()
        .append_value(mosaic.mode.name());
    builder.column(next()).int64().push(i64::from(version));
    builder
        .column(next())
        .utf8()
        .append_value(mosaic.status.name());
    let evidence = mosaic.evidence.map(|evidence| evidence.name());
    builder.column(next()).utf8().append_option(evidence);
    builder
        .column(next())
        .boolean()
        .append_value(mosaic.partial_trace);
    builder
        .column(next())
        .float64()
        .extend_constant(mosaic.run_time, 1);
    for direction in Direction::BOTH {
        texts(builder, next(), mosaic.class_names(direction).as_deref());
    }
    texts(builder, next(), mosaic.metadata_class_names().as_deref());
    for direction in 0..2 {
        let bytes = mosaic.bytes.map(|bytes| bytes[direction]);
        builder.column(next()).int64().extend_constant(bytes, 1);
    }
    let patterns = Direction::BOTH.map(|direction| mosaic.pattern(direction));
    for pattern in patterns {
        let shares = pattern.and_then(|pattern| pattern.shares);
        for part in 0..3 {
            let share = shares.map(|shares| shares[part]);
            builder.column(next()).float64().extend_constant(share, 1);
        }
    }
    for pattern in patterns {
        let period = pattern.and_then(|pattern| pattern.period);
        for value in [period.map(|p| p.seconds), period.map(|p| p.busy)] {
            builder.column(next()).float64().extend_constant(value, 1);
        }
    }
    for pattern in patterns {
        groups(
            builder,
            next(),
            pattern.map(|pattern| pattern.groups.as_slice()),
            mosaic.knows_opens(),
        );
    }
    let load = mosaic.metadata.as_ref();
    for count in [
        load.map(|load| load.highest_spike),
        load.map(|load| load.spike_count),
        load.map(|load| load.average_per_spike),
    ] {
        builder.column(next()).int64().extend_constant(count, 1);
    }
    let rate = load.map(|load| load.operations_per_second);
    builder.column(next()).float64().extend_constant(rate, 1);
    let duration = load.map(|load| load.operations_duration);
    builder.column(next()).int64().extend_constant(duration, 1);
    for pattern in patterns {
        let confidence = pattern.and_then(|pattern| pattern.confidence);
        builder
            .column(next())
            .float64()
            .extend_constant(confidence, 1);
    }
}

fn texts(builder: &mut TableBuilder, column: usize, texts: Option<&[impl AsRef<str>]>) {
    let list = builder.column(column).list();
    let Some(texts) = texts else {
        return list.push_null();
    };
    for text in texts {
        list.items(0).utf8().append_value(text.as_ref());
    }
    list.push(texts.len());
}

fn groups(builder: &mut TableBuilder, column: usize, groups: Option<&[Group]>, knows_opens: bool) {
    let list = builder.column(column).list();
    let Some(groups) = groups else {
        return list.push_null();
    };
    for group in groups {
        let floats = [
            (0, group.start),
            (1, group.end),
            (3, group.period),
            (4, group.work),
        ];
        let more = [(5, group.work_cv), (6, group.bytes), (7, group.ranks)];
        for (field, value) in floats.into_iter().chain(more) {
            list.items(field).float64().push(value);
        }
        let metadata = knows_opens.then_some(group.metadata);
        list.items(8).float64().push(metadata);
        list.items(2).int64().push(group.segments as i64);
    }
    list.push(groups.len());
}
