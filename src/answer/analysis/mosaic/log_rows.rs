//! What the tables say of one log, as far as MOSAIC needs it.

use crate::error::{Error, Result};
use crate::math::io_pattern::operation::{Direction, Operation};
use crate::source::darshan::Darshan;
use crate::source::darshan::is_stream;
use crate::source::{BatchSink, Input, Outcome, ReadContext, Source};
use arrow::array::{
    Array, AsArray, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// Files of a log, and traced accesses of it, that are looked at, at most: they are held in memory.
pub const MOST: usize = 1 << 20;

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

/// What the tables say of one log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRows {
    /// When it ran; None if its row of `darshan_log` is missing.
    pub run: Option<RunRow>,
    /// Its files.
    pub files: Vec<FileRow>,
    /// The records of MPI-IO, POSIX and STDIO.
    pub records: [Vec<RecordRow>; 3],
    /// What each process moved in intervals of time.
    pub bins: Vec<BinRow>,
    /// Traced accesses; none if there are more than [`MOST`].
    pub traces: Vec<TraceRow>,
    /// There are files beyond [`MOST`], or records of one module.
    pub has_too_many_files: bool,
    /// There are traced accesses beyond [`MOST`].
    pub has_too_many_traces: bool,
}

/// When a log's program ran, and on how many processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunRow {
    /// Processes.
    pub nprocs: Option<i64>,
    /// Start, microseconds since 1970.
    pub start: Option<i64>,
    /// End, microseconds since 1970.
    pub end: Option<i64>,
    /// Run time as `darshan_log` has it, seconds.
    pub run_time: Option<f64>,
}

/// A file: what stands in `darshan_file`. Each pair is of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileRow {
    /// Standard input, output or error.
    pub is_stream: bool,
    /// Processes that may have moved its bytes.
    pub nprocs: i64,
    /// Processes that did; None if that is unknown.
    pub active: [Option<i64>; 2],
    /// Bytes moved.
    pub bytes: [i64; 2],
    /// First and last access, seconds since the log's start.
    pub windows: [Option<(f64, f64)>; 2],
    /// Which part of the windows its processes spent in I/O.
    pub busy: [Option<f64>; 2],
    /// Opens.
    pub opens: i64,
    /// Seeks.
    pub seeks: i64,
}

/// A record of a module. Each pair is of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordRow {
    /// Its number in the module; None if that is unknown.
    pub number: Option<i64>,
    /// The process; -1 for one record of all.
    pub rank: i64,
    /// Bytes moved; None if they are negative.
    pub bytes: [Option<i64>; 2],
    /// First access, seconds since the log's start.
    pub start: [f64; 2],
    /// Last access, seconds since the log's start.
    pub end: [f64; 2],
    /// Seconds spent, over processes.
    pub time: [f64; 2],
    /// Opens; 0 for MPI-IO.
    pub opens: i64,
    /// Seeks; 0 for MPI-IO.
    pub seeks: i64,
}

/// What a process moved through an interface in an interval of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinRow {
    /// The interface.
    pub module: Interface,
    /// The process.
    pub rank: i64,
    /// Number of the interval, from 0.
    pub number: i64,
    /// Length of an interval, seconds.
    pub width: f64,
    /// Bytes read and written.
    pub bytes: [i64; 2],
}

/// A traced access that moved bytes, to a file that is no standard stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRow {
    /// The interface.
    pub module: Interface,
    /// The file.
    pub record_id: u64,
    /// Reading or writing.
    pub direction: Direction,
    /// The access.
    pub operation: Operation,
}

/// Through which a program reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// MPI-IO.
    MpiIo,
    /// POSIX.
    Posix,
    /// The C library's streams.
    Stdio,
    /// Another.
    Other,
}

impl Interface {
    fn of(name: &str) -> Self {
        match name {
            "MPIIO" => Self::MpiIo,
            "POSIX" => Self::Posix,
            "STDIO" => Self::Stdio,
            _ => Self::Other,
        }
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
            rows.add(table, &builder.finish()?)?;
        }
        rows.in_order();
        Ok((rows, outcome))
    }

    /// Adds rows of a table, given its place in [`TABLES`].
    ///
    /// # Errors
    /// [`Error::Columns`] if they are not of the table.
    pub(super) fn add(&mut self, table: usize, rows: &RecordBatch) -> Result<()> {
        let columns = Columns(rows);
        match table {
            LOG => self.add_run(&columns),
            FILE => self.add_files(&columns),
            HEATMAP => self.add_bins(&columns),
            DXT => self.add_traces(&columns),
            _ => self.add_records(table - MODULES, &columns),
        }
    }

    /// Brings records into the order of the log, once all are there.
    pub(super) fn in_order(&mut self) {
        for records in &mut self.records {
            records.sort_by_key(|record| record.number);
        }
    }

    /// Forgets everything, for the next log.
    pub(super) fn clear(&mut self) {
        self.run = None;
        self.files.clear();
        self.records.iter_mut().for_each(Vec::clear);
        self.bins.clear();
        self.traces.clear();
        (self.has_too_many_files, self.has_too_many_traces) = (false, false);
    }

    fn add_run(&mut self, rows: &Columns<'_>) -> Result<()> {
        let nprocs = rows.ints("nprocs")?;
        let time = |name: &str| {
            let column = rows.column(name)?;
            column
                .as_primitive_opt::<TimestampMicrosecondType>()
                .ok_or_else(|| no_column(name))
        };
        let (start, end) = (time("start_time")?, time("end_time")?);
        let run_time = rows.floats("run_time")?;
        if rows.0.num_rows() > 0 {
            self.run = Some(RunRow {
                nprocs: nprocs.is_valid(0).then(|| nprocs.value(0)),
                start: start.is_valid(0).then(|| start.value(0)),
                end: end.is_valid(0).then(|| end.value(0)),
                run_time: float(run_time, 0),
            });
        }
        Ok(())
    }

    fn add_files(&mut self, rows: &Columns<'_>) -> Result<()> {
        if self.files.len() + rows.0.num_rows() > MOST {
            self.has_too_many_files = true;
            return Ok(());
        }
        let (is_stream, source) = (rows.flags("is_stream")?, rows.texts("bytes_source")?);
        let upper = [
            rows.ints("file_nprocs_posix")?,
            rows.ints("file_nprocs_mpiio")?,
        ];
        let (opens, seeks) = (rows.ints("opens")?, rows.ints("seeks")?);
        let active = [rows.ints("readers")?, rows.ints("writers")?];
        let bytes = [rows.ints("bytes_read")?, rows.ints("bytes_written")?];
        let start = [rows.floats("read_start")?, rows.floats("write_start")?];
        let end = [rows.floats("read_end")?, rows.floats("write_end")?];
        let busy = [rows.floats("read_busy")?, rows.floats("write_busy")?];
        for row in 0..rows.0.num_rows() {
            let of_mpiio = usize::from(source.value(row) == "mpiio");
            let window = |at: usize| Some((float(start[at], row)?, float(end[at], row)?));
            self.files.push(FileRow {
                is_stream: is_stream.value(row),
                nprocs: upper[of_mpiio].value(row),
                active: active.map(|active| int(active, row)),
                bytes: bytes.map(|bytes| bytes.value(row)),
                windows: [window(0), window(1)],
                busy: busy.map(|busy| float(busy, row)),
                opens: int(opens, row).unwrap_or(0),
                seeks: int(seeks, row).unwrap_or(0),
            });
        }
        Ok(())
    }

    fn add_records(&mut self, module: usize, rows: &Columns<'_>) -> Result<()> {
        let (Some(records), Some((_, names))) =
            (self.records.get_mut(module), TABLES.get(MODULES + module))
        else {
            return Ok(());
        };
        if records.len() + rows.0.num_rows() > MOST {
            self.has_too_many_files = true;
            return Ok(());
        }
        let (number, rank) = (rows.ints("record")?, rows.ints("rank")?);
        let bytes = [rows.ints(names[4])?, rows.ints(names[5])?];
        let floats = |at: usize| Ok([rows.floats(names[at])?, rows.floats(names[at + 1])?]);
        let (start, end, time) = (floats(6)?, floats(8)?, floats(10)?);
        let metadata = match names.get(12..14) {
            Some([opens, seeks]) => Some((rows.ints(opens)?, rows.ints(seeks)?)),
            _ => None,
        };
        // A time of -1 is NULL in the table.
        let time_of = |columns: [&Float64Array; 2], row: usize| {
            columns.map(|column| float(column, row).unwrap_or(-1.0))
        };
        for row in 0..rows.0.num_rows() {
            let of = |column: &Int64Array| int(column, row).unwrap_or(0);
            let metadata = metadata.map(|(opens, seeks)| (of(opens), of(seeks)));
            let (opens, seeks) = metadata.unwrap_or_default();
            records.push(RecordRow {
                number: int(number, row),
                rank: rank.value(row),
                bytes: bytes.map(|bytes| int(bytes, row)),
                start: time_of(start, row),
                end: time_of(end, row),
                time: time_of(time, row),
                opens,
                seeks,
            });
        }
        Ok(())
    }

    fn add_bins(&mut self, rows: &Columns<'_>) -> Result<()> {
        let (rank, module) = (rows.ints("rank")?, rows.texts("module")?);
        let (number, width) = (rows.ints("bin")?, rows.floats("bin_width")?);
        let bytes = [rows.ints("bytes_read")?, rows.ints("bytes_written")?];
        let bins = (0..rows.0.num_rows()).map(|row| BinRow {
            module: match module.is_valid(row) {
                true => Interface::of(module.value(row)),
                false => Interface::Other,
            },
            rank: rank.value(row),
            number: number.value(row),
            width: float(width, row).unwrap_or(f64::NAN),
            bytes: bytes.map(|bytes| int(bytes, row).unwrap_or(0)),
        });
        self.bins.extend(bins);
        Ok(())
    }

    fn add_traces(&mut self, rows: &Columns<'_>) -> Result<()> {
        if self.has_too_many_traces || self.traces.len() + rows.0.num_rows() > MOST {
            self.has_too_many_traces |= rows.0.num_rows() > 0;
            self.traces.clear();
            return Ok(());
        }
        let (module, operation) = (rows.texts("module")?, rows.texts("operation")?);
        let record_id = rows.column("record_id")?;
        let record_id: &UInt64Array = record_id
            .as_primitive_opt::<UInt64Type>()
            .ok_or_else(|| no_column("record_id"))?;
        let bytes = rows.ints("access_length")?;
        let (start, end) = (rows.floats("access_start")?, rows.floats("access_end")?);
        for row in 0..rows.0.num_rows() {
            let moved = int(bytes, row).unwrap_or(0);
            if moved <= 0 || is_stream(record_id.value(row)) {
                continue;
            }
            let (start, end) = (float(start, row), float(end, row));
            let (start, end) = (start.unwrap_or(f64::NAN), end.unwrap_or(f64::NAN));
            self.traces.push(TraceRow {
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
            });
        }
        Ok(())
    }
}

/// Columns by name and type.
struct Columns<'a>(&'a RecordBatch);

impl<'a> Columns<'a> {
    fn column(&self, name: &str) -> Result<&'a dyn Array> {
        let column = self.0.column_by_name(name);
        column.map(AsRef::as_ref).ok_or_else(|| no_column(name))
    }

    fn ints(&self, name: &str) -> Result<&'a Int64Array> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>();
        column.ok_or_else(|| no_column(name))
    }

    fn floats(&self, name: &str) -> Result<&'a Float64Array> {
        let column = self.column(name)?.as_primitive_opt::<Float64Type>();
        column.ok_or_else(|| no_column(name))
    }

    fn texts(&self, name: &str) -> Result<&'a StringArray> {
        let column = self.column(name)?.as_string_opt::<i32>();
        column.ok_or_else(|| no_column(name))
    }

    fn flags(&self, name: &str) -> Result<&'a BooleanArray> {
        let column = self.column(name)?.as_boolean_opt();
        column.ok_or_else(|| no_column(name))
    }
}

fn no_column(name: &str) -> Error {
    let why = ArrowError::SchemaError(format!("no column {name} of its type"));
    Error::columns("rows that MOSAIC is made of", why)
}

fn int(column: &Int64Array, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.value(row))
}

fn float(column: &Float64Array, row: usize) -> Option<f64> {
    column.is_valid(row).then(|| column.value(row))
}
