//! h5lmt files of pylmt: a file a day, a row for each target, a column every 5 s.
//!
//! What was moved stands in rates per second, in the column of the interval's end: the first column is none. Load stands in the
//! column of its sample. Where a server said nothing, FSMissingDataSet has 1 and the matrices have 0. Operations are those of
//! old Lustre, 81; one that is 0 all day was not measured and is left out.

use super::hdf5::{Block, File, Matrix, append, whole};
use super::names::{Kind, Target, file_system};
use super::samples::{NULL, widened};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Outcome, Period, ReadContext, Status};

/// Targets that are read at a time.
const TARGETS: usize = 16;

/// An interval is not longer, in microseconds: pylmt's steps are 5 s, and what is longer is no step but a hole.
const LONGEST: i64 = 3_600_000_000;

/// Appends the rows of a file.
pub(super) fn read(file: &File, context: &ReadContext, tables: &mut BatchSink) -> Result<Outcome> {
    let mut faults = vec![];
    let Some(steps) = file.matrix("/FSStepsGroup/FSStepsDataSet")? else {
        return Ok(Outcome::default());
    };
    let day = Day {
        times: steps.times()?,
        period: widened(context.period),
    };
    let reads = file.matrix("/OSTReadGroup/OSTBulkReadDataSet")?;
    let writes = file.matrix("/OSTWriteGroup/OSTBulkWriteDataSet")?;
    let mut names = reads
        .as_ref()
        .map(|m| m.names("OSTNames"))
        .unwrap_or_default();
    if names.is_empty() {
        names = writes
            .as_ref()
            .map(|m| m.names("OSTNames"))
            .unwrap_or_default();
    }
    let fs = names
        .iter()
        .find_map(|name| Target::parse(name).map(|target| target.fs));
    let fs = fs
        .or(file.file_system())
        .map(|name| file_system(context, name));
    let Some(fs) = fs else {
        faults.push("neither its targets nor its name tell the file system".to_string());
        return Ok(super::outcome::outcome(Status::Damaged, faults));
    };
    let missing = Missing::read(file.matrix("/FSMissingGroup/FSMissingDataSet")?.as_ref())?;
    let osts = day.osts(
        [reads.as_ref(), writes.as_ref()],
        &names,
        &missing,
        context,
        tables,
    );
    damage(osts, &mut faults)?;
    let servers = file.matrix("/OSSCPUGroup/OSSCPUDataSet");
    damage(
        servers.and_then(|m| day.servers(m.as_ref(), &fs, &missing, tables)),
        &mut faults,
    )?;
    let mds = file.matrix("/MDSCPUGroup/MDSCPUDataSet");
    damage(
        mds.and_then(|m| day.mds(m.as_ref(), &fs, tables)),
        &mut faults,
    )?;
    let ops = file.matrix("/MDSOpsGroup/MDSOpsDataSet");
    damage(
        ops.and_then(|m| day.operations(m.as_ref(), &fs, tables)),
        &mut faults,
    )?;
    Ok(super::outcome::outcome(Status::Damaged, faults))
}

/// Takes what went wrong with a part of a file: once rows may have been taken, a matrix that cannot be read is damage.
///
/// # Errors
/// Those of whoever takes the rows.
pub(super) fn damage(
    part: Result<impl IntoIterator<Item = String>>,
    faults: &mut Vec<String>,
) -> Result<()> {
    match part {
        Ok(found) => faults.extend(found),
        Err(Error::Malformed { region, reason, .. }) => faults.push(format!("{region}: {reason}")),
        Err(e) => return Err(e),
    }
    Ok(())
}

/// Which samples are missing.
struct Missing {
    rows: usize,
    /// A row after another.
    flags: Vec<bool>,
    columns: usize,
}

impl Missing {
    fn read(matrix: Option<&Matrix>) -> Result<Self> {
        let Some(matrix) = matrix else {
            return Ok(Self {
                rows: 0,
                flags: vec![],
                columns: 0,
            });
        };
        let mut flags = Vec::new();
        for from in (0..matrix.rows).step_by(TARGETS) {
            flags.extend(
                matrix
                    .read(from..from + TARGETS)?
                    .into_iter()
                    .map(|x| x != 0.0),
            );
        }
        Ok(Self {
            rows: matrix.rows,
            flags,
            columns: matrix.columns,
        })
    }

    /// Whether the sample of a target is missing. Where the matrix has other rows than there are targets, which target a row is
    /// of is not known: then a 0 is not believed in a column in which anything is missing.
    fn is(&self, target: usize, targets: usize, column: usize, zero: bool) -> bool {
        let flag = |row: usize| {
            self.flags
                .get(row * self.columns + column)
                .copied()
                .unwrap_or(false)
        };
        if column >= self.columns {
            return false;
        }
        match self.rows == targets {
            true => flag(target),
            false => zero && (0..self.rows).any(flag),
        }
    }
}

/// The times of a file.
struct Day {
    times: Vec<i64>,
    period: Period,
}

impl Day {
    /// The columns that are samples, with the time; for intervals those that have a begin.
    fn columns(&self, interval: bool) -> impl Iterator<Item = (usize, i64, i64)> {
        let with_start = (0..self.times.len()).map(move |at| {
            let start = if at > 0 { self.times[at - 1] } else { NULL };
            (at, start, self.times[at])
        });
        with_start.filter(move |(_, start, time)| {
            let step = if *start == NULL { 0 } else { time - start };
            *time != NULL
                && self.period.contains(*time)
                && (!interval || (1..=LONGEST).contains(&step))
        })
    }

    /// Says that a matrix has another length than the times.
    fn fits(&self, matrix: &Matrix, name: &str) -> Option<String> {
        (matrix.columns != self.times.len()).then(|| {
            format!(
                "{name} has {} columns, expected {}",
                matrix.columns,
                self.times.len()
            )
        })
    }

    fn osts(
        &self,
        matrices: [Option<&Matrix>; 2],
        names: &[String],
        missing: &Missing,
        context: &ReadContext,
        tables: &mut BatchSink,
    ) -> Result<Vec<String>> {
        let mut faults = vec![];
        if !tables.wants("lmt_ost") {
            return Ok(faults);
        }
        let mut used = [None; 2];
        for ((matrix, used), name) in matrices
            .iter()
            .zip(&mut used)
            .zip(["OSTBulkReadDataSet", "OSTBulkWriteDataSet"])
        {
            match matrix.map(|matrix| (matrix, self.fits(matrix, name))) {
                Some((matrix, None)) => *used = Some(matrix),
                Some((_, Some(fault))) => faults.push(fault),
                None => {}
            }
        }
        let targets = used
            .iter()
            .flatten()
            .map(|matrix| matrix.rows)
            .max()
            .unwrap_or(0);
        if names.len() != targets {
            faults.push(format!(
                "OSTNames has {} names of {targets} OSTs",
                names.len()
            ));
        }
        let mut buffers = Buffers::default();
        for from in (0..targets.min(names.len())).step_by(TARGETS) {
            let mut rates = [vec![], vec![]];
            for (rates, matrix) in rates.iter_mut().zip(used) {
                if let Some(matrix) = matrix {
                    *rates = matrix.read(from..from + TARGETS)?;
                }
            }
            for (at, name) in names.iter().enumerate().skip(from).take(TARGETS) {
                let Some(target) = Target::parse(name).and_then(|target| target.of(Kind::Ost))
                else {
                    faults.push(format!(
                        "`{}` is not the name of an OST",
                        name.escape_default()
                    ));
                    continue;
                };
                let fs = file_system(context, target.fs);
                let rate = |which: usize, column: usize| {
                    let rate = rates[which].get((at - from) * self.times.len() + column);
                    rate.copied().unwrap_or(f64::NAN)
                };
                buffers.clear();
                for (column, start, time) in self.columns(true) {
                    let [read, written] = [rate(0, column), rate(1, column)];
                    if missing.is(at, targets, column, read == 0.0 && written == 0.0) {
                        continue;
                    }
                    let seconds = (time - start) as f64 / 1e6;
                    buffers.push(
                        start,
                        time,
                        [whole(read * seconds), whole(written * seconds)],
                    );
                }
                if let Some(builder) = tables.get("lmt_ost") {
                    append(builder, buffers.times.len(), |column| match column {
                        "fs" => Block::Text(&fs),
                        "ost" => Block::Index(target.index),
                        "bytes_read" => Block::Ints(&buffers.moved[0]),
                        "bytes_written" => Block::Ints(&buffers.moved[1]),
                        other => buffers.block(other),
                    });
                }
            }
            tables.flush()?;
        }
        Ok(faults)
    }

    fn servers(
        &self,
        cpu: Option<&Matrix>,
        fs: &str,
        missing: &Missing,
        tables: &mut BatchSink,
    ) -> Result<Option<String>> {
        let Some(cpu) = cpu else { return Ok(None) };
        let names = cpu.names("OSSNames");
        let fault = self.fits(cpu, "OSSCPUDataSet");
        if !tables.wants("lmt_oss") || fault.is_some() {
            return Ok(fault);
        }
        for from in (0..cpu.rows.min(names.len())).step_by(TARGETS) {
            let values = cpu.read(from..from + TARGETS)?;
            for (at, name) in names
                .iter()
                .enumerate()
                .skip(from)
                .take(TARGETS)
                .filter(|(_, name)| !name.is_empty())
            {
                let value = |column: usize| {
                    values
                        .get((at - from) * self.times.len() + column)
                        .copied()
                        .unwrap_or(f64::NAN)
                };
                let columns = self.columns(false).filter(|(column, ..)| {
                    !missing.is(at, cpu.rows, *column, value(*column) == 0.0)
                });
                let (times, loads): (Vec<i64>, Vec<f64>) = columns
                    .map(|(column, _, time)| (time, value(column)))
                    .unzip();
                if let Some(builder) = tables.get("lmt_oss") {
                    append(builder, times.len(), |column| match column {
                        "fs" => Block::Text(fs),
                        "oss" => Block::Text(name),
                        "time" => Block::Ints(&times),
                        "pct_cpu" => Block::Floats(&loads),
                        _ => Block::Null,
                    });
                }
            }
            tables.flush()?;
        }
        Ok((names.len() != cpu.rows)
            .then(|| format!("OSSNames has {} names of {} servers", names.len(), cpu.rows)))
    }

    /// The load of the metadata server: such a file knows one, that of the first MDT.
    fn mds(
        &self,
        cpu: Option<&Matrix>,
        fs: &str,
        tables: &mut BatchSink,
    ) -> Result<Option<String>> {
        let Some(cpu) = cpu else { return Ok(None) };
        let fault = self.fits(cpu, "MDSCPUDataSet");
        let Some(builder) = tables.get("lmt_mdt").filter(|_| fault.is_none()) else {
            return Ok(fault);
        };
        let values = cpu.read(0..1)?;
        let (times, loads): (Vec<i64>, Vec<f64>) = self
            .columns(false)
            .filter_map(|(column, _, time)| Some((time, *values.get(column)?)))
            .unzip();
        append(builder, times.len(), |column| match column {
            "fs" => Block::Text(fs),
            "mdt" => Block::Index(0),
            "time" => Block::Ints(&times),
            "pct_cpu" => Block::Floats(&loads),
            _ => Block::Null,
        });
        tables.flush()?;
        Ok(None)
    }

    fn operations(
        &self,
        ops: Option<&Matrix>,
        fs: &str,
        tables: &mut BatchSink,
    ) -> Result<Option<String>> {
        let Some(ops) = ops else { return Ok(None) };
        let names = ops.names("OpNames");
        let fault = self.fits(ops, "MDSOpsDataSet");
        if !tables.wants("lmt_mdt_op") || fault.is_some() {
            return Ok(fault);
        }
        let mut buffers = Buffers::default();
        for (at, name) in names
            .iter()
            .enumerate()
            .take(ops.rows)
            .filter(|(_, name)| !name.is_empty())
        {
            let rates = ops.read(at..at + 1)?;
            if rates.iter().all(|rate| *rate == 0.0) {
                continue;
            }
            buffers.clear();
            for (column, start, time) in self.columns(true) {
                let rate = rates.get(column).copied().unwrap_or(f64::NAN);
                buffers.push(
                    start,
                    time,
                    [whole(rate * (time - start) as f64 / 1e6), NULL],
                );
            }
            if let Some(builder) = tables.get("lmt_mdt_op") {
                append(builder, buffers.times.len(), |column| match column {
                    "fs" => Block::Text(fs),
                    "mdt" => Block::Index(0),
                    "op" => Block::Text(name),
                    "samples" => Block::Ints(&buffers.moved[0]),
                    other => buffers.block(other),
                });
            }
            tables.flush()?;
        }
        Ok((names.len() != ops.rows).then(|| {
            format!(
                "OpNames has {} names of {} operations",
                names.len(),
                ops.rows
            )
        }))
    }
}

/// Intervals of one target.
#[derive(Default)]
pub(super) struct Buffers {
    starts: Vec<i64>,
    /// Ends of the intervals.
    pub times: Vec<i64>,
    seconds: Vec<f64>,
    /// What was moved in each direction.
    pub moved: [Vec<i64>; 2],
}

impl Buffers {
    /// Forgets all intervals.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.times.clear();
        self.seconds.clear();
        self.moved.iter_mut().for_each(Vec::clear);
    }

    /// Adds an interval, unless nothing is known of it.
    pub(super) fn push(&mut self, start: i64, time: i64, moved: [i64; 2]) {
        if moved == [NULL; 2] {
            return;
        }
        self.starts.push(start);
        self.times.push(time);
        self.seconds.push((time - start) as f64 / 1e6);
        for (values, value) in self.moved.iter_mut().zip(moved) {
            values.push(value);
        }
    }

    /// The columns that all tables of intervals have.
    pub(super) fn block(&self, column: &str) -> Block<'_> {
        match column {
            "start_time" => Block::Ints(&self.starts),
            "time" => Block::Ints(&self.times),
            "interval_s" => Block::Floats(&self.seconds),
            _ => Block::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_sample_is_no_zero() {
        let flags = |rows| Missing {
            rows,
            flags: vec![false, true, false, false],
            columns: 2,
        };
        // A row for each of two targets.
        let found = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
            .map(|(target, column)| flags(2).is(target, 2, column, false));
        assert_eq!(found, [false, true, false, false, false]);
        // Rows of servers, three targets: what was measured is believed, a zero beside something missing is not.
        let found = [(2, 1, false), (2, 1, true), (2, 0, true)]
            .map(|(target, column, zero)| flags(2).is(target, 3, column, zero));
        assert_eq!(found, [false, true, false]);
    }

    #[test]
    fn a_column_without_time_or_behind_a_hole_is_no_interval() {
        let second = 1_000_000;
        let times = vec![
            NULL,
            5 * second,
            10 * second,
            10 * second,
            4000 * second,
            4005 * second,
        ];
        let day = Day {
            times,
            period: Period::default(),
        };
        let ends: Vec<usize> = day.columns(true).map(|(column, ..)| column).collect();
        assert_eq!(ends, [2, 5]);
        assert_eq!(day.columns(false).count(), 5);
        let period = Period {
            from: Some(6 * second),
            to: Some(4005 * second),
        };
        let day = Day { period, ..day };
        assert_eq!(day.columns(false).count(), 3);
    }
}
