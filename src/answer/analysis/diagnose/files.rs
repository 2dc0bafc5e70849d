//! The files of a job: those with most I/O time, and those of the critical path by windows.

use super::job::{CriticalFile, Flow, Job};
use crate::answer::answer::{Block, Cell, Column, SHOWN, Table};
use crate::text::amount::{count, counted, seconds};

/// A file whose path is not in its log.
pub(super) const NO_PATH: &str = "a file without a name";

/// Stands for the file system of such a file.
pub(super) const NO_FS: &str = "a file system that is not known";

/// The files in which processes spent most time.
pub(super) fn busiest(job: &Job) -> Option<Block> {
    let all = job.io_time();
    let files = job.files.iter().take(SHOWN);
    let files: Vec<_> = files.filter(|file| file.time() > 0.0).collect();
    if files.is_empty() {
        return None;
    }
    let mut table = Table::new(
        format!(
            "Files with most I/O time: {} of {}",
            files.len(),
            count(job.sum(|t| t.files).max(0) as u64)
        ),
        vec![
            Column::new("share", "share", "", "process_time / that of all files"),
            Column::new(
                "process_time",
                "process time",
                "s",
                "Time of all processes in the file",
            ),
            Column::new("read_time", "reading", "s", "Part of it that is reading"),
            Column::new("write_time", "writing", "s", "Part of it that is writing"),
            Column::new(
                "meta_time",
                "metadata",
                "s",
                "Part of it that is metadata operations",
            ),
            Column::new("bytes", "bytes", "B", "Bytes read and written"),
            Column::new("path", "file", "", "Its path"),
        ],
    );
    let is_mixed = job.sum(|t| t.incomplete) > 0;
    for file in files {
        table.push(vec![
            Cell::share((!is_mixed).then(|| file.time() / all)),
            Cell::seconds(file.time()),
            Cell::seconds(file.read_time),
            Cell::seconds(file.write_time),
            Cell::seconds(file.meta_time),
            Cell::size(file.bytes_read + file.bytes_written),
            Cell::text(file.path.as_deref(), NO_PATH),
        ]);
    }
    table.notes.push(
        match is_mixed {
            false => "share: of the I/O time of all files",
            true => "no shares: the times of files whose POSIX records are incomplete are of MPI-IO calls, those of others of POSIX calls, and do not compare",
        }
        .into(),
    );
    Some(Block::Table(table))
}

/// The fewest files whose windows cover the time in which any was in use (algorithm 2), and the bandwidths.
pub(super) fn critical(job: &Job, direction: &'static str, long: bool) -> Vec<Block> {
    let Some(window) = job.flow(direction, "window") else {
        return vec![];
    };
    let bytes = window.bytes as f64;
    let mut notes = vec![format!(
        "bandwidth: {} by the slowest process, {} by files in use, {} from the first access to the last",
        rate_of(bytes, slowest(job, direction)),
        rate_of(bytes, window.critical_time),
        rate_of(bytes, window.span)
    )];
    let busy = job.flow(direction, "busy");
    if let Some(busy) = busy {
        notes.extend(by_busy_times(job, direction, window, busy));
    }
    let heading = format!("Critical path by windows, {direction}:");
    let mut blocks = vec![list(job, direction, window, &heading, notes)];
    if let (true, Some(busy)) = (long, busy) {
        let heading = format!("Critical path by busy times, {direction}:");
        blocks.push(list(job, direction, busy, &heading, vec![]));
    }
    blocks
}

fn slowest(job: &Job, direction: &str) -> f64 {
    match direction {
        "read" => job.slowest.read,
        _ => job.slowest.write,
    }
}

fn rate_of(bytes: f64, time: f64) -> String {
    match time > 0.0 {
        true => crate::text::amount::rate(bytes / time),
        false => "-".into(),
    }
}

/// Whether the time in which files were busy gives another answer.
fn by_busy_times(job: &Job, direction: &str, window: &Flow, busy: &Flow) -> Option<String> {
    if window.critical_time <= 0.0 {
        return None;
    }
    let first = busy.critical_files.first();
    let file = first.and_then(|file| job.path(file.record_id));
    let same = first.map(|file| file.record_id)
        == window.critical_files.first().map(|file| file.record_id);
    let times = format!(
        "{direction}: of the {} in which a file was in use, processes were busy in them for at most {}, by the times that they spent there",
        seconds(window.critical_time),
        seconds(busy.critical_time)
    );
    match (same, busy.critical_time < 0.5 * window.critical_time) {
        (true, false) => None,
        (true, true) => Some(times),
        (false, _) => Some(format!(
            "{times}; of these busy times {} has most",
            file.unwrap_or(NO_PATH)
        )),
    }
}

fn list(job: &Job, direction: &str, flow: &Flow, heading: &str, notes: Vec<String>) -> Block {
    let mut table = Table::new(
        format!(
            "{heading} {} of {} {} {}",
            count(flow.critical_files.len() as u64),
            counted(flow.files, "file", "files"),
            if flow.critical_files.len() == 1 {
                "covers"
            } else {
                "cover"
            },
            seconds(flow.critical_time)
        ),
        vec![
            Column::new("share", "share", "", "time / that of all critical files"),
            Column::new(
                "time",
                "time",
                "s",
                "Time in which this file and none before it in the sweep was in use",
            ),
            Column::new("bytes", "bytes", "B", "Bytes moved in the direction"),
            Column::new("path", "file", "", "Path; of several files their number"),
        ],
    );
    let bytes = |file: &CriticalFile| {
        let known = job.file(file.record_id)?;
        Some(match direction {
            "read" => known.bytes_read,
            _ => known.bytes_written,
        })
    };
    let share =
        |time: f64| Cell::share((flow.critical_time > 0.0).then(|| time / flow.critical_time));
    for file in flow.critical_files.iter().take(SHOWN) {
        table.push(vec![
            share(file.time),
            Cell::seconds(file.time),
            Cell::size(bytes(file).unwrap_or(0)),
            Cell::text(job.path(file.record_id), NO_PATH),
        ]);
    }
    if let Some(rest) = flow
        .critical_files
        .get(SHOWN..)
        .filter(|rest| !rest.is_empty())
    {
        let time: f64 = rest.iter().map(|file| file.time).sum();
        let more = counted(rest.len() as i64, "more file", "more files");
        table.push(vec![
            share(time),
            Cell::seconds(time),
            Cell::of(None, seconds),
            Cell::text(Some(&format!("in {more}")), ""),
        ]);
    }
    table.notes = notes;
    table.notes.push(
        "time: covered by this file and by none before it in the sweep (IOMiner, algorithm 2)"
            .into(),
    );
    Block::Table(table)
}
