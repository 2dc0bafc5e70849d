//! What the tables say of one log, as far as MOSAIC needs it.

use crate::math::io_pattern::operation::{Direction, Operation};

/// Files of a log, and traced accesses of it, that are looked at, at most: they are held in memory.
pub const MOST: usize = 1 << 20;

/// What the tables say of one log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRows {
    /// When it ran; None if its row of `darshan_log` is missing.
    pub run: Option<RunRow>,
    /// Its files.
    pub files: Vec<FileRow>,
    /// The records of MPI-IO, POSIX and STDIO, in any order.
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
    /// That of a module of Darshan.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "MPIIO" => Self::MpiIo,
            "POSIX" => Self::Posix,
            "STDIO" => Self::Stdio,
            _ => Self::Other,
        }
    }
}

impl LogRows {
    /// Forgets everything, for the next log.
    pub(super) fn clear(&mut self) {
        self.run = None;
        self.files.clear();
        self.records.iter_mut().for_each(Vec::clear);
        self.bins.clear();
        self.traces.clear();
        (self.has_too_many_files, self.has_too_many_traces) = (false, false);
    }
}
