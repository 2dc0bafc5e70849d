//! The requests of a job: sizes, order, collective calls, alignment, metadata operations; and the layout of its files.

use super::files::{NO_FS, NO_PATH};
use super::job::{Job, Striping};
use super::time::directions;
use crate::answer::answer::{Block, Cell, Column, SHOWN, Table};
use crate::text::amount::{count, counted, seconds, share, size};

pub(super) fn block(job: &Job) -> Option<Block> {
    let mut table = Table::new(
        "Requests",
        vec![
            Column::new("direction", "", "", "read or write"),
            Column::new("requests", "POSIX requests", "", "POSIX requests"),
            Column::new("small", "<= 1 KiB", "", "Part of them of at most 1 KiB"),
            Column::new("up_to_1m", "<= 1 MiB", "", "Part of them of at most 1 MiB"),
            Column::new(
                "sequential",
                "sequential",
                "",
                "Part of them at a higher offset than the one before",
            ),
            Column::new(
                "consecutive",
                "consecutive",
                "",
                "Part of them exactly where the one before ended",
            ),
            Column::new(
                "collective",
                "collective",
                "",
                "Part of the MPI-IO calls that is collective",
            ),
        ],
    );
    for direction in directions(job) {
        let of = |read: fn(&super::job::Totals) -> i64, write: fn(&super::job::Totals) -> i64| {
            job.sum(if direction == "read" { read } else { write })
        };
        let requests = of(|t| t.requests_read, |t| t.requests_write);
        let collective = of(|t| t.coll_read, |t| t.coll_write);
        let calls = collective + of(|t| t.indep_read, |t| t.indep_write);
        if requests + calls == 0 {
            continue;
        }
        let part = |n: i64, of: i64| Cell::share((of > 0).then(|| n as f64 / of as f64));
        // Of a log that has MPI-IO calls and no POSIX requests these may be what is missing.
        let is_known = requests > 0 || !(job.is_damaged() || job.is_partial());
        table.push(vec![
            Cell::text(Some(direction), ""),
            match is_known {
                true => Cell::count(requests),
                false => Cell::text(None, "-"),
            },
            part(of(|t| t.small_read, |t| t.small_write), requests),
            part(of(|t| t.mib_read, |t| t.mib_write), requests),
            part(of(|t| t.seq_read, |t| t.seq_write), requests),
            part(of(|t| t.consec_read, |t| t.consec_write), requests),
            part(collective, calls),
        ]);
    }
    if !table.is_empty() {
        table.notes.push("sequential: at a higher offset than the one before; consecutive: exactly where it ended; collective: of MPI-IO calls".into());
    }
    let requests = job.sum(|t| t.requests_read + t.requests_write);
    let not_aligned = job.sum(|t| t.not_aligned);
    if requests > 0 && not_aligned > 0 {
        table.notes.push(format!(
            "not aligned to the file system's block or stripe: {} of {} requests, {}",
            count(not_aligned.max(0) as u64),
            count(requests as u64),
            share(not_aligned as f64 / requests as f64)
        ));
    }
    let empty = job.sum(|t| t.empty_reads);
    if empty > 0 {
        table.notes.push(format!(
            "{} of files from which no byte came",
            counted(empty, "read", "reads")
        ));
    }
    let operations = [
        (job.sum(|t| t.opens), "open", "opens"),
        (job.sum(|t| t.stats), "stat call", "stat calls"),
        (job.sum(|t| t.seeks), "seek", "seeks"),
        (job.sum(|t| t.syncs), "sync", "syncs"),
    ];
    let operations = operations.into_iter().filter(|(n, ..)| *n > 0);
    let operations: Vec<String> = operations
        .map(|(n, one, several)| counted(n, one, several))
        .collect();
    if !operations.is_empty() {
        table.notes.push(format!(
            "{} in {}",
            operations.join(", "),
            counted(job.sum(|t| t.files), "file", "files")
        ));
    }
    (!table.is_empty() || !table.notes.is_empty()).then_some(Block::Table(table))
}

/// Advice of `stripe_advice`.
pub(super) fn layout(job: &Job) -> Option<Block> {
    let lines = job.striping.iter().take(SHOWN).map(layout_of);
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| Block::text("Layout", lines))
}

fn layout_of(advice: &Striping) -> String {
    let (path, largest) = (
        advice.largest_path.as_deref().unwrap_or(NO_PATH),
        size(advice.largest_size.max(0) as u64),
    );
    let fs = advice.fs.as_deref().unwrap_or(NO_FS);
    let fits = match (advice.fs_osts, advice.advice.as_str()) {
        (None, "wider") => format!(
            "the largest, {path} of {largest}, is large enough for more OSTs; how many {fs} has is not known"
        ),
        _ => format!(
            "{} would fit the largest, {path} of {largest}",
            counted(advice.advised_count, "OST", "OSTs")
        ),
    };
    format!(
        "{}: {} on {fs} with stripe count {}, in use for {}{}; {fits}",
        advice.advice,
        counted(advice.files, "file", "files"),
        advice.stripe_count,
        seconds(advice.time),
        match advice.files {
            1 => "",
            _ => " added up over files",
        },
    )
}
