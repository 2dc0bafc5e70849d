//! TOKIO time series of pytokio: a file a day, a row every 5 s, a column for each target.
//!
//! A row's stamp is the begin of its interval: what was moved ends one step later. Load and fullness are samples at the stamp
//! itself. A value that is missing is -0.0, one that was measured and is nothing is 0.0. What is in a dataset its name says:
//! `..rates` are per second, others are counts; the attribute `units` of files that are in use is wrong.

use super::h5lmt::{Buffers, damage};
use super::hdf5::{Block, File, Matrix, append, whole};
use super::names::{Kind, Target, file_system};
use super::samples::{NULL, widened};
use crate::error::Result;
use crate::source::{BatchSink, Outcome, Period, ReadContext, Status};

/// Rows that are read at a time: an hour.
const ROWS: usize = 720;

/// LMT's step in microseconds, for a file with one row.
const STEP: i64 = 5_000_000;

/// Appends the rows of a file.
pub(super) fn read(file: &File, context: &ReadContext, tables: &mut BatchSink) -> Result<Outcome> {
    let mut series = Series {
        file,
        context,
        fs: None,
        period: widened(context.period),
        faults: vec![],
    };
    series.fs = series.find_file_system()?;
    type Part = fn(&mut Series, &mut BatchSink) -> Result<()>;
    let parts: [Part; 5] = [
        |series, tables| series.data_targets(tables),
        |series, tables| series.fullness(tables),
        |series, tables| series.servers("dataservers", "lmt_oss", tables),
        |series, tables| series.servers("mdservers", "lmt_mdt", tables),
        |series, tables| series.operations(tables),
    ];
    for part in parts {
        let read = part(&mut series, tables).map(|()| None);
        damage(read, &mut series.faults)?;
    }
    Ok(super::outcome::outcome(Status::Damaged, series.faults))
}

struct Series<'a> {
    file: &'a File,
    context: &'a ReadContext,
    /// The file system of servers, whose names do not tell it.
    fs: Option<String>,
    period: Period,
    faults: Vec<String>,
}

/// A dataset of a group: rows are times, columns are targets.
struct Columns<'a> {
    matrix: Matrix<'a>,
    names: Vec<String>,
    /// Whether values are per second.
    rates: bool,
}

impl<'a> Series<'a> {
    fn find_file_system(&self) -> Result<Option<String>> {
        for group in ["datatargets", "fullness", "mdtargets"] {
            for name in self.file.datasets(group) {
                if let Some(matrix) = self.file.matrix(&format!("/{group}/{name}"))?
                    && let Some(fs) = matrix
                        .names("columns")
                        .iter()
                        .find_map(|name| Target::parse(name).map(|t| t.fs))
                {
                    return Ok(Some(file_system(self.context, fs)));
                }
            }
        }
        Ok(self
            .file
            .file_system()
            .map(|name| file_system(self.context, name)))
    }

    /// Stamps of a group; none if there is no such group.
    fn stamps(&mut self, group: &str) -> Result<(Vec<i64>, i64)> {
        let Some(stamps) = self.file.matrix(&format!("/{group}/timestamps"))? else {
            return Ok((vec![], STEP));
        };
        let times = stamps.times()?;
        // All steps of a file are alike; the shortest one is the step where stamps are missing.
        let steps = times
            .windows(2)
            .filter(|pair| pair[0] != NULL && pair[1] > pair[0])
            .map(|pair| pair[1] - pair[0]);
        let step = steps.min().unwrap_or(STEP);
        Ok((times, step))
    }

    /// The first of these datasets that a group has.
    fn columns(
        &mut self,
        group: &str,
        names: &[&str],
        stamps: usize,
    ) -> Result<Option<Columns<'a>>> {
        for name in names {
            let path = format!("/{group}/{name}");
            let Some(matrix) = self.file.matrix(&path)? else {
                continue;
            };
            let columns = matrix.names("columns");
            if matrix.rows != stamps || columns.len() != matrix.columns {
                self.faults.push(format!(
                    "{path} has {} rows and {} names of {} columns, expected {stamps} rows",
                    matrix.rows,
                    columns.len(),
                    matrix.columns
                ));
                continue;
            }
            return Ok(Some(Columns {
                matrix,
                names: columns,
                rates: name.ends_with("rates"),
            }));
        }
        Ok(None)
    }

    fn data_targets(&mut self, tables: &mut BatchSink) -> Result<()> {
        if !tables.wants("lmt_ost") {
            return Ok(());
        }
        let (stamps, step) = self.stamps("datatargets")?;
        let read = self.columns("datatargets", &["readbytes", "readrates"], stamps.len())?;
        let written = self.columns("datatargets", &["writebytes", "writerates"], stamps.len())?;
        let both = [read, written];
        let names = both
            .iter()
            .flatten()
            .map(|columns| columns.names.clone())
            .next()
            .unwrap_or_default();
        if both.iter().flatten().any(|columns| columns.names != names) {
            self.faults
                .push("the datasets of datatargets have different columns".into());
            return Ok(());
        }
        let mut buffers = Buffers::default();
        for from in (0..stamps.len()).step_by(ROWS) {
            let stamps = &stamps[from..(from + ROWS).min(stamps.len())];
            let mut values = [vec![], vec![]];
            for (values, columns) in values.iter_mut().zip(&both) {
                if let Some(columns) = columns {
                    *values = columns.matrix.read(from..from + ROWS)?;
                }
            }
            for (at, name) in names.iter().enumerate() {
                let Some((fs, target)) = self.target(name, Kind::Ost, from == 0) else {
                    continue;
                };
                buffers.clear();
                for (row, stamp) in stamps.iter().enumerate() {
                    if *stamp == NULL || !self.period.contains(*stamp + step) {
                        continue;
                    }
                    let moved = [0, 1].map(|which: usize| {
                        let value = values[which].get(row * names.len() + at).copied();
                        let scale = if both[which].as_ref().is_some_and(|c| c.rates) {
                            step as f64 / 1e6
                        } else {
                            1.0
                        };
                        measured(value).map_or(NULL, |x| whole(x * scale))
                    });
                    buffers.push(*stamp, *stamp + step, moved);
                }
                if let Some(builder) = tables.get("lmt_ost") {
                    append(builder, buffers.times.len(), |column| match column {
                        "fs" => Block::Text(&fs),
                        "ost" => Block::Index(target),
                        "bytes_read" => Block::Ints(&buffers.moved[0]),
                        "bytes_written" => Block::Ints(&buffers.moved[1]),
                        other => buffers.block(other),
                    });
                }
            }
            tables.flush()?;
        }
        Ok(())
    }

    /// How full each OST is: samples at the stamps.
    fn fullness(&mut self, tables: &mut BatchSink) -> Result<()> {
        if !tables.wants("lmt_ost") {
            return Ok(());
        }
        let (stamps, _) = self.stamps("fullness")?;
        let mut datasets = vec![];
        for name in ["bytes", "bytestotal", "inodes", "inodestotal"] {
            datasets.push(self.columns("fullness", &[name], stamps.len())?);
        }
        let Some(names) = datasets
            .iter()
            .flatten()
            .map(|columns| columns.names.clone())
            .next()
        else {
            return Ok(());
        };
        if datasets
            .iter()
            .flatten()
            .any(|columns| columns.names != names)
        {
            self.faults
                .push("the datasets of fullness have different columns".into());
            return Ok(());
        }
        // Only here a unit can be believed: pytokio takes KiB from LMT, and nothing else has ever been seen.
        let unit = |columns: &Columns| {
            if columns.matrix.text("units").as_deref() == Some("bytes") {
                1
            } else {
                1024
            }
        };
        let unit = datasets.iter().flatten().next().map_or(1024, unit);
        for from in (0..stamps.len()).step_by(ROWS) {
            let stamps = &stamps[from..(from + ROWS).min(stamps.len())];
            let mut values = vec![];
            for columns in &datasets {
                values.push(match columns {
                    Some(columns) => columns.matrix.read(from..from + ROWS)?,
                    None => vec![],
                });
            }
            for (at, name) in names.iter().enumerate() {
                let Some((fs, target)) = self.target(name, Kind::Ost, from == 0) else {
                    continue;
                };
                let (mut times, mut gauges) = (vec![], [const { vec![] }; 4]);
                for (row, stamp) in stamps.iter().enumerate() {
                    let value = |which: usize| {
                        let value = values
                            .get(which)
                            .and_then(|v: &Vec<f64>| v.get(row * names.len() + at));
                        measured(value.copied()).map(whole).filter(|n| *n != NULL)
                    };
                    let [used, total, inodes, all] = [0, 1, 2, 3].map(value);
                    if *stamp == NULL
                        || !self.period.contains(*stamp)
                        || used.or(total).or(inodes).or(all).is_none()
                    {
                        continue;
                    }
                    let free = |used: Option<i64>, all: Option<i64>| {
                        Some(all? - used?).filter(|free| *free >= 0)
                    };
                    let bytes = |n: Option<i64>| n.and_then(|n| n.checked_mul(unit));
                    times.push(*stamp);
                    let row = [
                        bytes(free(used, total)),
                        bytes(used),
                        free(inodes, all),
                        inodes,
                    ];
                    for (gauge, value) in gauges.iter_mut().zip(row) {
                        gauge.push(value.unwrap_or(NULL));
                    }
                }
                if let Some(builder) = tables.get("lmt_ost") {
                    append(builder, times.len(), |column| match column {
                        "fs" => Block::Text(&fs),
                        "ost" => Block::Index(target),
                        "time" => Block::Ints(&times),
                        "bytes_free" => Block::Ints(&gauges[0]),
                        "bytes_used" => Block::Ints(&gauges[1]),
                        "inodes_free" => Block::Ints(&gauges[2]),
                        "inodes_used" => Block::Ints(&gauges[3]),
                        _ => Block::Null,
                    });
                }
            }
            tables.flush()?;
        }
        Ok(())
    }

    /// Load of servers: samples at the stamps.
    fn servers(&mut self, group: &str, table: &str, tables: &mut BatchSink) -> Result<()> {
        if !tables.wants(table) {
            return Ok(());
        }
        let (stamps, _) = self.stamps(group)?;
        let cpu = self.columns(group, &["cpuload"], stamps.len())?;
        let memory = self.columns(group, &["memused"], stamps.len())?;
        let both = [cpu, memory];
        let Some(names) = both
            .iter()
            .flatten()
            .map(|columns| columns.names.clone())
            .next()
        else {
            return Ok(());
        };
        let Some(fs) = self.fs.clone() else {
            self.faults
                .push(format!("nothing tells the file system of {group}"));
            return Ok(());
        };
        if both.iter().flatten().any(|columns| columns.names != names) {
            self.faults
                .push(format!("the datasets of {group} have different columns"));
            return Ok(());
        }
        for from in (0..stamps.len()).step_by(ROWS) {
            let stamps = &stamps[from..(from + ROWS).min(stamps.len())];
            let mut values = [vec![], vec![]];
            for (values, columns) in values.iter_mut().zip(&both) {
                if let Some(columns) = columns {
                    *values = columns.matrix.read(from..from + ROWS)?;
                }
            }
            for (at, name) in names.iter().enumerate() {
                let mdt = match table {
                    "lmt_mdt" => match self
                        .target(name, Kind::Mdt, from == 0)
                        .or_else(|| self.only_mdt(&names))
                    {
                        Some((_, mdt)) => mdt,
                        None => continue,
                    },
                    _ => 0,
                };
                let (mut times, mut gauges) = (vec![], [vec![], vec![]]);
                for (row, stamp) in stamps.iter().enumerate() {
                    let value = |which: usize| {
                        let value = measured(values[which].get(row * names.len() + at).copied());
                        // Shares: what exceeds 100 is something else, such as a number of KiB.
                        value
                            .filter(|x| (0.0..=100.5).contains(x))
                            .unwrap_or(f64::NAN)
                    };
                    let row = [value(0), value(1)];
                    if *stamp == NULL
                        || !self.period.contains(*stamp)
                        || row.iter().all(|x| x.is_nan())
                    {
                        continue;
                    }
                    times.push(*stamp);
                    gauges[0].push(row[0]);
                    gauges[1].push(row[1]);
                }
                if let Some(builder) = tables.get(table) {
                    append(builder, times.len(), |column| match column {
                        "fs" => Block::Text(&fs),
                        "oss" | "mds" => Block::Text(name),
                        "mdt" => Block::Index(mdt),
                        "time" => Block::Ints(&times),
                        "pct_cpu" => Block::Floats(&gauges[0]),
                        "pct_memory" => Block::Floats(&gauges[1]),
                        _ => Block::Null,
                    });
                }
            }
            tables.flush()?;
        }
        Ok(())
    }

    fn operations(&mut self, tables: &mut BatchSink) -> Result<()> {
        if !tables.wants("lmt_mdt_op") {
            return Ok(());
        }
        let (stamps, step) = self.stamps("mdtargets")?;
        let mut buffers = Buffers::default();
        let datasets = self.file.datasets("mdtargets");
        for dataset in datasets
            .iter()
            .filter(|name| *name != "timestamps" && !name.contains("bytes"))
        {
            // `opens`, `statfss`, `openrates`: pytokio puts the operation in the plural.
            let Some(op) = dataset
                .strip_suffix("rates")
                .or_else(|| dataset.strip_suffix('s'))
            else {
                continue;
            };
            let counts = format!("{op}s");
            if dataset.ends_with("rates") && datasets.contains(&counts) {
                continue;
            }
            let Some(columns) = self.columns("mdtargets", &[dataset], stamps.len())? else {
                continue;
            };
            for from in (0..stamps.len()).step_by(ROWS) {
                let stamps = &stamps[from..(from + ROWS).min(stamps.len())];
                let values = columns.matrix.read(from..from + ROWS)?;
                for (at, name) in columns.names.iter().enumerate() {
                    let place = self
                        .target(name, Kind::Mdt, false)
                        .or_else(|| self.only_mdt(&columns.names));
                    let Some((fs, mdt)) = place else {
                        let fault = format!(
                            "mdtargets: `{}` is one of several servers and no MDT's name",
                            name.escape_default()
                        );
                        if !self.faults.contains(&fault) && self.faults.len() < 10 {
                            self.faults.push(fault);
                        }
                        continue;
                    };
                    buffers.clear();
                    for (row, stamp) in stamps.iter().enumerate() {
                        if *stamp == NULL || !self.period.contains(*stamp + step) {
                            continue;
                        }
                        let scale = if columns.rates {
                            step as f64 / 1e6
                        } else {
                            1.0
                        };
                        let value = measured(values.get(row * columns.names.len() + at).copied());
                        buffers.push(
                            *stamp,
                            *stamp + step,
                            [value.map_or(NULL, |x| whole(x * scale)), NULL],
                        );
                    }
                    if let Some(builder) = tables.get("lmt_mdt_op") {
                        append(builder, buffers.times.len(), |column| match column {
                            "fs" => Block::Text(&fs),
                            "mdt" => Block::Index(mdt),
                            "op" => Block::Text(op),
                            "samples" => Block::Ints(&buffers.moved[0]),
                            other => buffers.block(other),
                        });
                    }
                }
                tables.flush()?;
            }
        }
        Ok(())
    }

    /// A target's file system and index; what is none is told once.
    fn target(&mut self, name: &str, kind: Kind, tell: bool) -> Option<(String, i32)> {
        match Target::parse(name).and_then(|target| target.of(kind)) {
            Some(target) => Some((file_system(self.context, target.fs), target.index)),
            None => {
                if tell && kind == Kind::Ost && self.faults.len() < 10 {
                    self.faults.push(format!(
                        "`{}` is not the name of an OST",
                        name.escape_default()
                    ));
                }
                None
            }
        }
    }

    /// The first MDT, if there is only one metadata server: pytokio names MDTs after their servers.
    fn only_mdt(&self, names: &[String]) -> Option<(String, i32)> {
        (names.len() == 1)
            .then_some(())
            .and_then(|()| Some((self.fs.clone()?, 0)))
    }
}

/// A value that is not missing.
fn measured(value: Option<f64>) -> Option<f64> {
    value.filter(|x| x.is_finite() && !(*x == 0.0 && x.is_sign_negative()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_zero_is_missing_and_a_zero_is_measured() {
        assert_eq!(measured(Some(-0.0)), None);
        assert_eq!(measured(Some(0.0)), Some(0.0));
        assert_eq!(measured(Some(f64::NAN)), None);
        assert_eq!(measured(Some(-1.0)).map(whole), Some(NULL));
        assert_eq!(measured(None), None);
    }
}
