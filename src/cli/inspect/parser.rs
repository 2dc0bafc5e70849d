//! The text form of darshan-parser 3.5, so that scripts written for it go on.
//!
//! Lines with `#` say what the log is; every other line is a counter of a record, its fields separated by tabs: module, rank,
//! record id, counter, value, file name, mount point, type of file system. Values are those of the log, not the NULLs of the
//! tables: -1 where Darshan has none.
//!
//! Differs: counters that darshan-parser loses on the way from old module versions are there (source/darshan/FORMAT.md 12);
//! a partial module needs no `--show-incomplete`; explanations of counters are left out, as is what is kept of AutoPerf's XC
//! module; HEATMAP and APMPI records come by record id and rank.
//!
//! # Source
//! source/darshan/FORMAT.md 3, 7 and 12; SEMANTICS.md 2.

use super::performance::{BY_SLOWEST, print_files, print_performance};
use super::rows::{Row, tables};
use crate::source::Input;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::posix;
use crate::source::darshan::job::{Job, Mount};
use crate::source::darshan::log::{Log, ModuleState};
use crate::source::darshan::module::{Module, Shape, lustre, module};
use crate::source::darshan::records::Records;
use crate::table::table;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use chrono::{Local, TimeZone};
use std::io::Write;

/// Which parts are printed.
#[derive(Clone, Copy)]
pub(super) struct Show {
    pub(super) base: bool,
    pub(super) perf: bool,
    pub(super) file: bool,
}

/// Writes the text of a log that was read with all modules but DXT.
pub(super) fn print(
    log: &Log,
    input: &Input,
    show: Show,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (Some(header), Some(job)) = (log.header(), log.job()) else {
        return Ok(());
    };
    let version = header.version;
    writeln!(out, "# darshan log version: {}.{:02}", version.0, version.1)?;
    writeln!(
        out,
        "# compression method: {}",
        header.compression.name().to_uppercase()
    )?;
    print_job(job, out)?;
    writeln!(out, "\n# log file regions\n# {}", "-".repeat(55))?;
    // The size that darshan-parser prints is that of the newest header, whatever the log's.
    writeln!(out, "# header: 1328 bytes (uncompressed)")?;
    writeln!(out, "# job data: {} bytes (compressed)", header.job.length)?;
    writeln!(
        out,
        "# record table: {} bytes (compressed)",
        header.names.length
    )?;
    for state in log.modules() {
        match module(state.id) {
            Some(module) => write!(out, "# {} module", module.name)?,
            None => write!(out, "# <UNKNOWN> module (id {})", state.id.0)?,
        }
        writeln!(
            out,
            ": {} bytes (compressed), ver={}",
            state.bytes, state.version
        )?;
    }
    let mounts = by_length(&job.mounts);
    writeln!(
        out,
        "\n# mounted file systems (mount point and fs type)\n# {}",
        "-".repeat(55)
    )?;
    for mount in &mounts {
        out.write_all(b"# mount entry:\t")?;
        out.write_all(&mount.path)?;
        out.write_all(b"\t")?;
        out.write_all(&mount.fs_type)?;
        out.write_all(b"\n")?;
    }
    let text = Text {
        log,
        mounts: &mounts,
    };
    for state in log.modules() {
        let Some(module) = module(state.id) else {
            continue;
        };
        if module.shape == Shape::Dxt || (BY_SLOWEST.iter().all(|m| m.id != state.id) && !show.base)
        {
            continue;
        }
        text.print_module(module, state, input, show, out)?;
    }
    if log.modules().is_empty() {
        writeln!(out, "\n# no module data available.")?;
    }
    Ok(())
}

fn print_job(job: &Job, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(b"# exe: ")?;
    out.write_all(&job.exe)?;
    writeln!(
        out,
        "{}",
        if job.exe_truncated {
            " <TRUNCATED>"
        } else {
            ""
        }
    )?;
    writeln!(out, "# uid: {}\n# jobid: {}", job.uid, job.job_id)?;
    for (name, seconds) in [("start", job.start_sec), ("end", job.end_sec)] {
        writeln!(out, "# {name}_time: {seconds}")?;
        let time = Local.timestamp_opt(seconds, 0).earliest();
        let text = time.map_or_else(
            || "?".to_string(),
            |time| time.format("%a %b %e %H:%M:%S %Y").to_string(),
        );
        writeln!(out, "# {name}_time_asci: {text}")?;
    }
    writeln!(
        out,
        "# nprocs: {}\n# run time: {:.4}",
        job.nprocs,
        job.run_time()
    )?;
    for line in job.metadata.split(|c| *c == b'\n') {
        if let Some(equals) = line.iter().position(|c| *c == b'=') {
            out.write_all(b"# metadata: ")?;
            out.write_all(&line[..equals])?;
            out.write_all(b" = ")?;
            out.write_all(&line[equals + 1..])?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// The mounts, longest path first, equal ones as in the log.
fn by_length(mounts: &[Mount]) -> Vec<&Mount> {
    let mut mounts: Vec<&Mount> = mounts.iter().collect();
    mounts.sort_by_key(|mount| std::cmp::Reverse(mount.path.len()));
    mounts
}

struct Text<'a> {
    log: &'a Log,
    mounts: &'a [&'a Mount],
}

/// What stands before and behind the counter and its value on every line of a record.
struct Frame {
    before: Vec<u8>,
    behind: Vec<u8>,
}

impl Frame {
    fn print(
        &self,
        counter: std::fmt::Arguments<'_>,
        value: impl std::fmt::Display,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        out.write_all(&self.before)?;
        write!(out, "{counter}\t{value}")?;
        out.write_all(&self.behind)
    }

    /// Six digits after the point, as printf's `%f`.
    fn print_float(
        &self,
        counter: std::fmt::Arguments<'_>,
        value: f64,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        match value.is_nan() {
            true => self.print(counter, "nan", out),
            false => self.print(counter, format_args!("{value:.6}"), out),
        }
    }
}

impl Text<'_> {
    fn print_module(
        &self,
        module: &Module,
        state: &ModuleState,
        input: &Input,
        show: Show,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let stars = "*".repeat(55);
        writeln!(out, "\n# {stars}\n# {} module data\n# {stars}", module.name)?;
        if state.partial {
            writeln!(
                out,
                "\n# *WARNING*: The {} module contains incomplete data!",
                module.name
            )?;
            writeln!(
                out,
                "#            Darshan had no memory left for more records."
            )?;
        }
        if let Some(error) = &state.error {
            writeln!(
                out,
                "\n# *WARNING*: damaged, what follows is what could be read: {error}"
            )?;
        }
        if let Some(warning) = self.log.warning(module.id) {
            writeln!(out, "\n# *WARNING*: {warning}")?;
        }
        if show.base {
            writeln!(
                out,
                "\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t<fs type>"
            )?;
            match module.shape {
                Shape::Fixed | Shape::Mdhim => {
                    if let Some(records) = self.log.records(module.id) {
                        self.print_counters(module, state, &records, out)?;
                    }
                }
                Shape::Lustre => self.print_lustre(module, out)?,
                Shape::Heatmap => self.print_heatmap(module, &rows(input, module)?, out)?,
                Shape::Apmpi => self.print_columns(module, &rows(input, module)?, out)?,
                Shape::Apxc | Shape::Dxt => {}
            }
        }
        let derived = BY_SLOWEST
            .iter()
            .find(|by| by.id == module.id)
            .zip(self.log.records(module.id));
        if let Some((by, records)) = derived {
            if show.file {
                print_files(by, &records, out)?;
            }
            if show.perf {
                print_performance(by, &records, out)?;
            }
        }
        Ok(())
    }

    fn frame(&self, module: &Module, id: u64, rank: i64) -> Frame {
        let name = self.log.name(id);
        // Without a boundary, as darshan-parser: `/home2/x` lies on a mount `/home` for it.
        let mount = self
            .mounts
            .iter()
            .find(|mount| name.is_some_and(|name| name.starts_with(&mount.path)));
        let no_name: &[u8] = if module.id == ModuleId::BGQ {
            b"darshan-bgq-record"
        } else {
            b"(null)"
        };
        let parts = [
            name.unwrap_or(no_name),
            mount.map_or(b"UNKNOWN", |mount| mount.path.as_slice()),
            mount.map_or(b"UNKNOWN", |mount| mount.fs_type.as_slice()),
        ];
        let mut behind = vec![];
        for part in parts {
            behind.push(b'\t');
            behind.extend_from_slice(part);
        }
        behind.push(b'\n');
        Frame {
            before: format!("{}\t{rank}\t{id}\t", module.name).into_bytes(),
            behind,
        }
    }

    fn print_counters(
        &self,
        module: &Module,
        state: &ModuleState,
        records: &Records<'_>,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let Some((prefix, ints, floats)) = module.counters else {
            return Ok(());
        };
        for record in 0..records.len() {
            let frame = self.frame(module, records.id(record), records.rank(record));
            for (counter, name) in ints.iter().enumerate() {
                let value = match records.int(record, counter) {
                    // The one counter that darshan-parser fills up with 0 in older versions.
                    -1 if module.id == ModuleId::POSIX
                        && counter == posix::RENAMED_FROM
                        && state.version < 4 =>
                    {
                        0
                    }
                    value => value,
                };
                frame.print(format_args!("{prefix}{name}"), value, out)?;
            }
            for (counter, name) in floats.iter().enumerate() {
                frame.print_float(
                    format_args!("{prefix}{name}"),
                    records.float(record, counter),
                    out,
                )?;
            }
            if matches!(module.id, ModuleId::H5D | ModuleId::PNETCDF_VAR) {
                frame.print(
                    format_args!("{prefix}FILE_REC_ID"),
                    records.file_id(record).unwrap_or(0),
                    out,
                )?;
            }
        }
        Ok(())
    }

    fn print_lustre(&self, module: &Module, out: &mut dyn Write) -> std::io::Result<()> {
        for layout in self.log.lustre() {
            let frame = self.frame(module, layout.id, layout.rank);
            let stripes: usize = layout
                .components()
                .map(|component| component.osts().len())
                .sum();
            frame.print(
                format_args!("LUSTRE_NUM_COMPONENTS"),
                layout.components().count(),
                out,
            )?;
            frame.print(format_args!("LUSTRE_NUM_STRIPES"), stripes, out)?;
            for (n, component) in (1..).zip(layout.components()) {
                frame.print(
                    format_args!("LUSTRE_COMP{n}_STRIPE_SIZE"),
                    component.stripe_size,
                    out,
                )?;
                frame.print(
                    format_args!("LUSTRE_COMP{n}_STRIPE_COUNT"),
                    component.stripe_count,
                    out,
                )?;
                frame.print(
                    format_args!("LUSTRE_COMP{n}_STRIPE_PATTERN"),
                    pattern(component.stripe_pattern),
                    out,
                )?;
                frame.print(format_args!("LUSTRE_COMP{n}_FLAGS"), flags(&component), out)?;
                frame.print(
                    format_args!("LUSTRE_COMP{n}_EXT_START"),
                    component.ext_start,
                    out,
                )?;
                frame.print(
                    format_args!("LUSTRE_COMP{n}_EXT_END"),
                    component.ext_end,
                    out,
                )?;
                frame.print(
                    format_args!("LUSTRE_COMP{n}_MIRROR_ID"),
                    component.mirror_id,
                    out,
                )?;
                let pool = String::from_utf8_lossy(component.pool);
                let pool = if pool.is_empty() { "N/A" } else { &pool };
                frame.print(format_args!("LUSTRE_COMP{n}_POOL_NAME"), pool, out)?;
                for (at, ost) in component.osts().enumerate() {
                    frame.print(format_args!("LUSTRE_COMP{n}_OST_ID_{at}"), ost, out)?;
                }
            }
        }
        Ok(())
    }

    fn print_heatmap(
        &self,
        module: &Module,
        batch: &RecordBatch,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let rows: Vec<Row<'_>> = Row::all(batch).collect();
        for bins in rows.chunk_by(|a, b| {
            (a.id("record_id"), a.int("rank")) == (b.id("record_id"), b.int("rank"))
        }) {
            let Some(first) = bins.first() else {
                continue;
            };
            let frame = self.frame(
                module,
                first.id("record_id").unwrap_or(0),
                first.int("rank").unwrap_or(-1),
            );
            frame.print_float(
                format_args!("HEATMAP_F_BIN_WIDTH_SECONDS"),
                first.float("bin_width").unwrap_or(-1.0),
                out,
            )?;
            for (counter, column) in [("READ", "bytes_read"), ("WRITE", "bytes_written")] {
                for (bin, row) in bins.iter().enumerate() {
                    frame.print(
                        format_args!("HEATMAP_{counter}_BIN_{bin}"),
                        row.int(column).unwrap_or(-1),
                        out,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// The numbers of a table under the names that their log has for them.
    fn print_columns(
        &self,
        module: &Module,
        batch: &RecordBatch,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let columns = &table(module.table)?.columns;
        for row in Row::all(batch) {
            let frame = self.frame(
                module,
                row.id("record_id").unwrap_or(0),
                row.int("rank").unwrap_or(-1),
            );
            for (column, values) in columns.iter().zip(batch.columns()).skip(4) {
                let known = !values.is_null(row.row);
                match values.data_type() {
                    DataType::Int64 => {
                        let value = if known {
                            values.as_primitive::<Int64Type>().value(row.row)
                        } else {
                            -1
                        };
                        frame.print(format_args!("{}", column.source), value, out)?;
                    }
                    DataType::Float64 if column.source.contains('_') => {
                        let value = if known {
                            values.as_primitive::<Float64Type>().value(row.row)
                        } else {
                            -1.0
                        };
                        frame.print_float(format_args!("{}", column.source), value, out)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// The rows of a module's table.
fn rows(input: &Input, module: &Module) -> crate::Result<RecordBatch> {
    let mut tables = tables(input, &[module.table])?;
    match tables.get(module.table) {
        Some(builder) => builder.finish(),
        None => Ok(RecordBatch::new_empty(table(module.table)?.schema.clone())),
    }
}

fn pattern(pattern: i64) -> &'static str {
    match pattern {
        0 => "raid0",
        2 => "mdt",
        4 => "raid0,overstriped",
        8 => "foreign",
        _ => "N/A",
    }
}

fn flags(component: &lustre::Component<'_>) -> String {
    const NAMES: [&str; 12] = [
        "stale",
        "prefrd",
        "prefwr",
        "offline",
        "init",
        "nosync",
        "extension",
        "parity",
        "compress",
        "partial",
        "nocompr",
        "neg",
    ];
    let set = NAMES
        .iter()
        .enumerate()
        .filter(|(bit, _)| component.flags >> bit & 1 == 1);
    match component.flags {
        -1 => "N/A".to_string(),
        flags if flags & 0xFFF == 0 => "0".to_string(),
        _ => set.map(|(_, name)| *name).collect::<Vec<_>>().join(","),
    }
}
