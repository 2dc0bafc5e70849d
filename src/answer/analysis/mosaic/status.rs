//! Why a log has no classes.

/// Whether a log has classes, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has.
    Ok,
    /// No module tells of files.
    NoModule,
    /// Traces or bins, but no record of a file.
    NoRecords,
    /// Mode `reference`: fewer records of POSIX than of MPI-IO, whose opens it looks for there.
    NoPosix,
    /// Mode `reference`: the order of the records in the log is not known.
    NoOrder,
    /// Negative bytes, times that are no numbers, or an end before a start.
    Inconsistent,
    /// The log does not say when it ran, or bytes were moved and no time is known.
    NoTimes,
    /// Accesses before the run or after it.
    OutsideRun,
    /// More files than are looked at, or segments than are clustered.
    TooMany,
}

impl Status {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoModule => "no_module",
            Self::NoRecords => "no_records",
            Self::NoPosix => "no_posix",
            Self::NoOrder => "no_order",
            Self::Inconsistent => "inconsistent",
            Self::NoTimes => "no_times",
            Self::OutsideRun => "outside_run",
            Self::TooMany => "too_many",
        }
    }
}
