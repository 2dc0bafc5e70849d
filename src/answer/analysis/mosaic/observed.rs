//! What a log says before it is classified.

use super::evidence::Basis;
use super::log_rows::RunRow;
use super::metadata::Access;
use super::status::Status;
use crate::math::io_pattern::operation::Operation;

/// Seconds, and the part of the run, by which accesses may lie after its end: logs before version 3.41 know whole seconds, and nodes' clocks differ.
const SLACK: (f64, f64) = (1.0, 0.01);

/// Seconds by which a run may differ from its start and end because these are rounded.
const ROUNDED: f64 = 2e-6;

/// What a log says before it is classified.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// What the operations come from.
    pub basis: Basis,
    /// Accesses were traced, but too few of them.
    pub partial_trace: bool,
    /// Reads and writes.
    pub operations: [Vec<Operation>; 2],
    /// Opens and seeks of the files or records that each direction moved bytes of, whatever the operations come from: whether a direction is significant does not depend on that.
    pub opens_and_seeks: [(i64, i64); 2],
    /// Opens and seeks, with first and last access of their records.
    pub accesses: Vec<Access>,
}

/// When a program ran, and on how many processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execution {
    /// Start, microseconds since 1970.
    pub start: i64,
    /// Seconds from start to end.
    pub seconds: f64,
    /// Processes, at least one.
    pub nprocs: i64,
}

impl Execution {
    /// That of a log.
    ///
    /// # Errors
    /// [`Status::NoTimes`] without start or end, [`Status::Inconsistent`] if it ends before it starts.
    pub fn of_run(run: &RunRow) -> Result<Self, Status> {
        let (Some(start), Some(end)) = (run.start, run.end) else {
            return Err(Status::NoTimes);
        };
        if end < start {
            return Err(Status::Inconsistent);
        }
        // Start and end are whole microseconds. Of newer logs the run time is exact; of older ones it has another second.
        let seconds = end.saturating_sub(start) as f64 / 1e6;
        let exact = run
            .run_time
            .filter(|exact| (exact - seconds).abs() < ROUNDED);
        Ok(Self {
            start,
            seconds: exact.unwrap_or(seconds),
            nprocs: run.nprocs.unwrap_or(1).max(1),
        })
    }
}

impl Observed {
    /// The length of the run, seconds: from its start to its end or to the last access, whichever comes later.
    ///
    /// # Errors
    /// What of the operations cannot be true: [`Status::Inconsistent`], [`Status::NoTimes`], [`Status::OutsideRun`].
    pub fn total(&self, execution: &Execution) -> Result<f64, Status> {
        // A bin is as long as it is, however soon the run ends in it.
        let slack = match self.basis {
            Basis::Heatmap(width) => width,
            _ => 0.0,
        };
        total(&self.operations, execution, slack)
    }
}

/// The length of a run with these operations, which may end so many seconds after it.
///
/// # Errors
/// As [`Observed::total`].
pub(super) fn total(
    operations: &[Vec<Operation>; 2],
    execution: &Execution,
    slack: f64,
) -> Result<f64, Status> {
    let length = execution.seconds;
    let all = || operations.iter().flatten();
    let is_wrong = |o: &Operation| {
        !(o.start.is_finite() && o.end.is_finite()) || o.end < o.start || o.bytes < 0
    };
    if all().any(is_wrong) {
        return Err(Status::Inconsistent);
    }
    if all().next().is_some() && all().all(|o| o.start == 0.0 && o.end == 0.0) {
        return Err(Status::NoTimes);
    }
    let latest = length + SLACK.0 + SLACK.1 * length + slack;
    if all().any(|o| o.start < 0.0 || o.end > latest) {
        return Err(Status::OutsideRun);
    }
    Ok(all().map(|o| o.end).fold(length, f64::max))
}
