//! One log for a person: who, what, when, how much, which files.

use super::rows::{Row, Rows};
use crate::cli::output::FORMATS;
use crate::cli::output::writer::Style;
use crate::cli::screen::TerminalStyle;
use crate::cli::size::{count, counted, show};
use crate::text::{shown, shown_path};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use chrono::{DateTime, SecondsFormat};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Interfaces that darshan-parser --perf has figures of, as `darshan_log` names them.
const PERFORMANCE: [(&str, &str); 5] = [
    ("POSIX", "posix"),
    ("MPI-IO", "mpiio"),
    ("STDIO", "stdio"),
    ("DFS", "dfs"),
    ("DAOS", "daos"),
];

pub(super) fn print(
    path: &Path,
    rows: &Rows,
    top: usize,
    look: TerminalStyle,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    writeln!(out, "{}", shown_path(path))?;
    for log in Row::all(&rows.log) {
        let at_least = rows.at_least.as_ref();
        let at_least = at_least.map(|batch| Row {
            batch,
            row: log.row,
        });
        head(&log, at_least, rows.why.as_deref(), out)?;
    }
    if let (0, Some(why)) = (rows.log.num_rows(), &rows.why) {
        line(out, "damaged", why)?;
    }
    for module in Row::all(&rows.module) {
        if let (Some(name), Some(warning)) = (module.text("module"), module.text("warning")) {
            line(out, "beware", format!("{name}: {warning}"))?;
        }
    }
    let style = Style {
        look,
        ..Style::default()
    };
    let mut table = |title: &str, batch: RecordBatch| -> anyhow::Result<()> {
        if batch.num_rows() > 0 {
            writeln!(out, "\n{title}")?;
            FORMATS[0].write(&mut *out, &batch, style)?;
        }
        Ok(())
    };
    table("modules", modules(&rows.module)?)?;
    for log in Row::all(&rows.log) {
        table(
            "performance, as darshan-parser --perf has it",
            performance(&log)?,
        )?;
    }
    let files = rows.file.num_rows();
    let title = match files > top {
        true => format!("files with most bytes, {top} of {}", count(files as u64)),
        false => "files".to_string(),
    };
    table(&title, largest(&rows.file, top)?)
}

/// A line of the head. Names in it come from the log, so it is escaped.
fn line(out: &mut dyn Write, name: &str, value: impl std::fmt::Display) -> std::io::Result<()> {
    writeln!(out, "  {name:<10} {}", shown(&value.to_string()))
}

/// The lines above the tables. `at_least` is the row over what is left, where totals are unknown.
fn head(
    log: &Row<'_>,
    at_least: Option<Row<'_>>,
    why: Option<&str>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let int = |name: &str| {
        log.int(name)
            .map_or_else(|| "?".to_string(), |v| v.to_string())
    };
    let of = |name: &str, one: &str, several: &str| {
        let noun = if log.int(name) == Some(1) {
            one
        } else {
            several
        };
        format!("{} {noun}", int(name))
    };
    let text = |name: &'static str| log.text(name).unwrap_or("?");
    // A person does not read a command line of thousands of characters.
    let exe: String = text("exe").chars().take(200).collect();
    let more = if text("exe").chars().count() > 200 || log.flag("exe_truncated") {
        " .."
    } else {
        ""
    };
    line(out, "program", format_args!("{}: {exe}{more}", text("app")))?;
    let user = log
        .text("user")
        .map_or_else(String::new, |user| format!(" ({user})"));
    line(
        out,
        "job",
        format_args!(
            "{}, user {}{user}, {}",
            int("job_id"),
            int("uid"),
            of("nprocs", "process", "processes")
        ),
    )?;
    let time = |name: &str| {
        let time = log.int(name).and_then(DateTime::from_timestamp_micros);
        time.map_or_else(
            || "?".to_string(),
            |time| time.to_rfc3339_opts(SecondsFormat::Secs, true),
        )
    };
    let run = log.float("run_time").unwrap_or(0.0);
    line(
        out,
        "time",
        format_args!("{} to {}, {run:.3} s", time("start_time"), time("end_time")),
    )?;
    line(
        out,
        "log",
        format_args!(
            "version {}, {}, {} endian, {}, {}",
            text("log_version"),
            text("compression"),
            text("byte_order"),
            bytes(log.int("log_bytes")),
            text("status")
        ),
    )?;
    if let Some(why) = why {
        // Below the status that it explains, by the same word.
        let name = Some(text("status")).filter(|status| *status != "ok");
        line(out, name.unwrap_or("note"), why)?;
    }
    for (name, bytes_name, calls, window, bandwidth) in [
        (
            "read",
            "bytes_read",
            "reads",
            ["read_start", "read_end"],
            "read_bw_span",
        ),
        (
            "written",
            "bytes_written",
            "writes",
            ["write_start", "write_end"],
            "write_bw_span",
        ),
    ] {
        let moved = |row: &Row<'_>| {
            let calls = row.int(calls).unwrap_or(0).max(0) as u64;
            format!(
                "{} in {}",
                bytes(row.int(bytes_name)),
                counted(calls, "call", "calls")
            )
        };
        let mut text = match (log.int(bytes_name), &at_least) {
            (None, Some(left)) => format!("unknown, at least {}", moved(left)),
            _ => moved(log),
        };
        if let (Some(start), Some(end)) = (log.float(window[0]), log.float(window[1])) {
            text += &format!(", from {start:.3} to {end:.3} s");
        }
        if let Some(rate) = log.float(bandwidth) {
            text += &format!(", {}/s over that span", bytes(Some(rate as i64)));
        }
        line(out, name, text)?;
    }
    if let (None, Some(left)) = (log.int("files"), &at_least) {
        let files = left.int("files").unwrap_or(0).max(0) as u64;
        let files = counted(files, "file", "files");
        return line(out, "files", format_args!("unknown, at least {files}"));
    }
    line(
        out,
        "files",
        format_args!(
            "{}: {} shared by all processes, {} by several, {} by one process; {}",
            int("files"),
            int("files_shared"),
            int("files_part_shared"),
            int("files_unique"),
            of("streams", "stream", "streams")
        ),
    )
}

fn bytes(value: Option<i64>) -> String {
    value
        .and_then(|v| u64::try_from(v).ok())
        .map_or_else(|| "?".to_string(), show)
}

fn modules(batch: &RecordBatch) -> anyhow::Result<RecordBatch> {
    let text = |name: &str| -> ArrayRef {
        Arc::new(
            Row::all(batch)
                .map(|row| row.text(name))
                .collect::<StringArray>(),
        )
    };
    let int = |name: &str| -> ArrayRef {
        Arc::new(
            Row::all(batch)
                .map(|row| row.int(name))
                .collect::<Int64Array>(),
        )
    };
    let status = Row::all(batch).map(|row| match row.text("status") {
        Some("not_taken") => Some("empty"),
        status => status,
    });
    let status: StringArray = status.collect();
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("module", text("module"), true),
        ("version", int("module_version"), true),
        ("records", int("records"), true),
        ("bytes", int("bytes"), true),
        ("status", Arc::new(status), true),
    ])?)
}

fn performance(log: &Row<'_>) -> anyhow::Result<RecordBatch> {
    let figures = PERFORMANCE.iter().filter_map(|(name, column)| {
        let bytes = log.int(&format!("{column}_total_bytes"))?;
        let time = log.float(&format!("{column}_agg_time_by_slowest"));
        Some((
            *name,
            bytes,
            time,
            log.float(&format!("{column}_agg_perf_by_slowest_mib_s")),
        ))
    });
    let figures: Vec<_> = figures.collect();
    // Darshan's own tools print six digits after the point.
    let rounded = |v: Option<f64>| v.map(|v| (v * 1e6).round() / 1e6);
    let names: ArrayRef = Arc::new(figures.iter().map(|f| Some(f.0)).collect::<StringArray>());
    let total: ArrayRef = Arc::new(figures.iter().map(|f| Some(f.1)).collect::<Int64Array>());
    let time: ArrayRef = Arc::new(
        figures
            .iter()
            .map(|f| rounded(f.2))
            .collect::<Float64Array>(),
    );
    let perf: ArrayRef = Arc::new(
        figures
            .iter()
            .map(|f| rounded(f.3))
            .collect::<Float64Array>(),
    );
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("module", names, true),
        ("total_bytes", total, true),
        ("agg_time_by_slowest_s", time, true),
        ("agg_perf_by_slowest_mib_s", perf, true),
    ])?)
}

/// The files with most bytes; equal ones by path.
fn largest(batch: &RecordBatch, top: usize) -> anyhow::Result<RecordBatch> {
    let moved = |row: &Row<'_>| {
        row.int("bytes_read")
            .unwrap_or(0)
            .saturating_add(row.int("bytes_written").unwrap_or(0))
    };
    let mut files: Vec<Row<'_>> = Row::all(batch).collect();
    files.sort_by_key(|row| {
        (
            std::cmp::Reverse(moved(row)),
            row.text("path"),
            row.id("record_id"),
        )
    });
    files.truncate(top);
    let text = |name: &str| -> ArrayRef {
        Arc::new(
            files
                .iter()
                .map(|row| row.text(name))
                .collect::<StringArray>(),
        )
    };
    let int = |name: &str| -> ArrayRef {
        Arc::new(
            files
                .iter()
                .map(|row| row.int(name))
                .collect::<Int64Array>(),
        )
    };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("bytes_read", int("bytes_read"), true),
        ("bytes_written", int("bytes_written"), true),
        ("sharing", text("sharing"), true),
        ("osts", int("ost_count"), true),
        ("fs", text("fs"), true),
        ("path", text("path"), true),
    ])?)
}
