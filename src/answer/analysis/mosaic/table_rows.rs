//! From the columns of tables to the rows of a log.

use super::log_rows::{BinRow, FileRow, Interface, LogRows, MOST, RecordRow, RunRow, TraceRow};
use crate::error::{Error, Result};
use crate::math::io_pattern::operation::{Direction, Operation};
use crate::source::darshan::Darshan;
use crate::source::darshan::is_stream;
use crate::source::{BatchSink, Input, Outcome, ReadContext, Source};
use arrow::array::{
    Array, BooleanArray, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::ops::Range;
use std::sync::Arc;

/// The tables with their columns: the log, its files, the records of three modules in the order in which one is taken for mode `reference`, bins, and traces.
pub(super) const TABLES: [(&str, &[&str]); 7] = [
    (
        "darshan_log",
        &[
            "log_id",
            "job_id",
            "nprocs",
            "start_time",
            "end_time",
            "run_time",
        ],
    ),
    (
        "darshan_file",
        &[
            "log_id",
            "job_id",
            "is_stream",
            "bytes_source",
            "file_nprocs_posix",
            "file_nprocs_mpiio",
            "opens",
            "seeks",
            "readers",
            "writers",
            "bytes_read",
            "bytes_written",
            "read_start",
            "read_end",
            "write_start",
            "write_end",
            "read_busy",
            "write_busy",
        ],
    ),
    (
        "darshan_mpiio",
        &[
            "log_id",
            "job_id",
            "record",
            "rank",
            "mpiio_bytes_read",
            "mpiio_bytes_written",
            "mpiio_f_read_start_timestamp",
            "mpiio_f_write_start_timestamp",
            "mpiio_f_read_end_timestamp",
            "mpiio_f_write_end_timestamp",
            "mpiio_f_read_time",
            "mpiio_f_write_time",
        ],
    ),
    (
        "darshan_posix",
        &[
            "log_id",
            "job_id",
            "record",
            "rank",
            "posix_bytes_read",
            "posix_bytes_written",
            "posix_f_read_start_timestamp",
            "posix_f_write_start_timestamp",
            "posix_f_read_end_timestamp",
            "posix_f_write_end_timestamp",
            "posix_f_read_time",
            "posix_f_write_time",
            "posix_opens",
            "posix_seeks",
        ],
    ),
    (
        "darshan_stdio",
        &[
            "log_id",
            "job_id",
            "record",
            "rank",
            "stdio_bytes_read",
            "stdio_bytes_written",
            "stdio_f_read_start_timestamp",
            "stdio_f_write_start_timestamp",
            "stdio_f_read_end_timestamp",
            "stdio_f_write_end_timestamp",
            "stdio_f_read_time",
            "stdio_f_write_time",
            "stdio_opens",
            "stdio_seeks",
        ],
    ),
    (
        "darshan_heatmap",
        &[
            "log_id",
            "job_id",
            "rank",
            "module",
            "bin",
            "bin_width",
            "bytes_read",
            "bytes_written",
        ],
    ),
    (
        "darshan_dxt",
        &[
            "log_id",
            "job_id",
            "module",
            "record_id",
            "operation",
            "access_length",
            "access_start",
            "access_end",
        ],
    ),
];

/// Places in [`TABLES`].
const LOG: usize = 0;
const FILE: usize = 1;
const MODULES: usize = 2;
const HEATMAP: usize = 5;
const DXT: usize = 6;

/// Adds rows of a batch to those of a log.
pub(super) type AddRows = Box<dyn Fn(Range<usize>, &mut LogRows)>;

/// What adds rows of a batch, given the place of its table in [`TABLES`]: its columns are looked up once.
///
/// # Errors
/// [`Error::Columns`] if the batch is not of the table.
pub(super) fn rows_of(table: usize, batch: &RecordBatch) -> Result<AddRows> {
    let columns = Columns(batch);
    match table {
        LOG => run(&columns),
        FILE => files(&columns),
        HEATMAP => bins(&columns),
        DXT => traces(&columns),
        _ => records(table - MODULES, &columns),
    }
}

impl LogRows {
    /// Reads a log, with all that it traced; and says how whole it is.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_input(input: &Input) -> Result<(Self, Outcome)> {
        let mut tables = BatchSink::new(TABLES.iter().map(|(name, _)| *name))?;
        let mut reader = Darshan.reader(Arc::new(ReadContext::default()));
        let outcome = reader.read(input, 0, None, &mut tables)?;
        let mut rows = Self::default();
        for (table, builder) in tables.builders().iter_mut().enumerate() {
            let batch = builder.finish()?;
            rows_of(table, &batch)?(0..batch.num_rows(), &mut rows);
        }
        Ok((rows, outcome))
    }
}

fn run(columns: &Columns<'_>) -> Result<AddRows> {
    let nprocs = columns.ints("nprocs")?;
    let start: TimestampMicrosecondArray = columns.get("start_time")?;
    let end: TimestampMicrosecondArray = columns.get("end_time")?;
    let run_time = columns.floats("run_time")?;
    Ok(Box::new(move |rows, log| {
        let Some(row) = rows.into_iter().next() else {
            return;
        };
        log.run = Some(RunRow {
            nprocs: int(&nprocs, row),
            start: start.is_valid(row).then(|| start.value(row)),
            end: end.is_valid(row).then(|| end.value(row)),
            run_time: float(&run_time, row),
        });
    }))
}

fn files(columns: &Columns<'_>) -> Result<AddRows> {
    let is_stream: BooleanArray = columns.get("is_stream")?;
    let source = columns.texts("bytes_source")?;
    let of_posix = columns.ints("file_nprocs_posix")?;
    let of_mpiio = columns.ints("file_nprocs_mpiio")?;
    let (opens, seeks) = (columns.ints("opens")?, columns.ints("seeks")?);
    let active = [columns.ints("readers")?, columns.ints("writers")?];
    let bytes = [columns.ints("bytes_read")?, columns.ints("bytes_written")?];
    let start = [
        columns.floats("read_start")?,
        columns.floats("write_start")?,
    ];
    let end = [columns.floats("read_end")?, columns.floats("write_end")?];
    let busy = [columns.floats("read_busy")?, columns.floats("write_busy")?];
    Ok(Box::new(move |rows, log| {
        if log.files.len() + rows.len() > MOST {
            log.has_too_many_files = true;
            return;
        }
        log.files.extend(rows.map(|row| {
            let nprocs = match source.value(row) {
                "mpiio" => &of_mpiio,
                _ => &of_posix,
            };
            let window = |at: usize| Some((float(&start[at], row)?, float(&end[at], row)?));
            FileRow {
                is_stream: is_stream.value(row),
                nprocs: nprocs.value(row),
                active: active.each_ref().map(|active| int(active, row)),
                bytes: bytes.each_ref().map(|bytes| bytes.value(row)),
                windows: [window(0), window(1)],
                busy: busy.each_ref().map(|busy| float(busy, row)),
                opens: int(&opens, row).unwrap_or(0),
                seeks: int(&seeks, row).unwrap_or(0),
            }
        }));
    }))
}

fn records(module: usize, columns: &Columns<'_>) -> Result<AddRows> {
    let (_, names) = &TABLES[MODULES + module];
    let (number, rank) = (columns.ints("record")?, columns.ints("rank")?);
    let bytes = [columns.ints(names[4])?, columns.ints(names[5])?];
    let floats = |at: usize| Ok([columns.floats(names[at])?, columns.floats(names[at + 1])?]);
    let (start, end, time) = (floats(6)?, floats(8)?, floats(10)?);
    let metadata = match names.get(12..14) {
        Some([opens, seeks]) => Some((columns.ints(opens)?, columns.ints(seeks)?)),
        _ => None,
    };
    Ok(Box::new(move |rows, log| {
        let records = &mut log.records[module];
        if records.len() + rows.len() > MOST {
            log.has_too_many_files = true;
            return;
        }
        // A time of -1 is NULL in the table.
        let times = |columns: &[Float64Array; 2], row| {
            columns
                .each_ref()
                .map(|column| float(column, row).unwrap_or(-1.0))
        };
        records.extend(rows.map(|row| {
            let of = |column: &Int64Array| int(column, row).unwrap_or(0);
            let metadata = metadata
                .as_ref()
                .map(|(opens, seeks)| (of(opens), of(seeks)));
            let (opens, seeks) = metadata.unwrap_or_default();
            RecordRow {
                number: int(&number, row),
                rank: rank.value(row),
                bytes: bytes.each_ref().map(|bytes| int(bytes, row)),
                start: times(&start, row),
                end: times(&end, row),
                time: times(&time, row),
                opens,
                seeks,
            }
        }));
    }))
}

fn bins(columns: &Columns<'_>) -> Result<AddRows> {
    let (rank, module) = (columns.ints("rank")?, columns.texts("module")?);
    let (number, width) = (columns.ints("bin")?, columns.floats("bin_width")?);
    let bytes = [columns.ints("bytes_read")?, columns.ints("bytes_written")?];
    Ok(Box::new(move |rows, log| {
        log.bins.extend(rows.map(|row| BinRow {
            module: match module.is_valid(row) {
                true => Interface::of(module.value(row)),
                false => Interface::Other,
            },
            rank: rank.value(row),
            number: number.value(row),
            width: float(&width, row).unwrap_or(f64::NAN),
            bytes: bytes.each_ref().map(|bytes| int(bytes, row).unwrap_or(0)),
        }));
    }))
}

fn traces(columns: &Columns<'_>) -> Result<AddRows> {
    let (module, operation) = (columns.texts("module")?, columns.texts("operation")?);
    let record_id: UInt64Array = columns.get("record_id")?;
    let bytes = columns.ints("access_length")?;
    let start = columns.floats("access_start")?;
    let end = columns.floats("access_end")?;
    Ok(Box::new(move |rows, log| {
        if log.has_too_many_traces || log.traces.len() + rows.len() > MOST {
            log.has_too_many_traces |= !rows.is_empty();
            log.traces.clear();
            return;
        }
        log.traces.extend(rows.filter_map(|row| {
            let moved = int(&bytes, row).unwrap_or(0);
            if moved <= 0 || is_stream(record_id.value(row)) {
                return None;
            }
            let (start, end) = (float(&start, row), float(&end, row));
            let (start, end) = (start.unwrap_or(f64::NAN), end.unwrap_or(f64::NAN));
            Some(TraceRow {
                module: Interface::of(module.value(row)),
                record_id: record_id.value(row),
                direction: match operation.value(row) {
                    "read" => Direction::Read,
                    _ => Direction::Write,
                },
                operation: Operation {
                    start,
                    end,
                    bytes: moved,
                    rank_seconds: end - start,
                    earliest: start,
                    ..Operation::default()
                },
            })
        }));
    }))
}

/// Columns by name and type.
struct Columns<'a>(&'a RecordBatch);

impl Columns<'_> {
    fn get<A: Array + Clone + 'static>(&self, name: &str) -> Result<A> {
        let column = self.0.column_by_name(name);
        let column = column.and_then(|column| column.as_any().downcast_ref::<A>());
        let why = || ArrowError::SchemaError(format!("no column {name} of its type"));
        let none = || Error::columns("rows that MOSAIC is made of", why());
        column.cloned().ok_or_else(none)
    }

    fn ints(&self, name: &str) -> Result<Int64Array> {
        self.get(name)
    }

    fn floats(&self, name: &str) -> Result<Float64Array> {
        self.get(name)
    }

    fn texts(&self, name: &str) -> Result<StringArray> {
        self.get(name)
    }
}

fn int(column: &Int64Array, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.value(row))
}

fn float(column: &Float64Array, row: usize) -> Option<f64> {
    column.is_valid(row).then(|| column.value(row))
}
