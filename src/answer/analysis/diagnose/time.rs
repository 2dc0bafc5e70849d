//! How much of a job's time was I/O, by direction and metadata.

use super::job::{DIRECTIONS, Job};
use crate::answer::answer::{Block, Cell, Column, Table};
use crate::text::amount::{count, counted, seconds, share};

/// A direction with a smaller part of the I/O time, and of that of the slowest process, has no tables of its own. The second is what one process does
/// alone.
const MATTERS: f64 = 0.01;
const MATTERS_OF_SLOWEST: f64 = 0.05;

/// The directions that matter, in the order of the page.
pub(super) fn directions(job: &Job) -> impl Iterator<Item = &'static str> {
    let matters = |direction: &&'static str| {
        let slowest = match *direction {
            "read" => job.slowest.read,
            _ => job.slowest.write,
        };
        job.part(direction) >= MATTERS
            || slowest > 0.0 && slowest >= MATTERS_OF_SLOWEST * job.slowest.all
    };
    DIRECTIONS.into_iter().filter(matters)
}

/// Reading, writing and metadata operations by the three measures of time.
pub(super) fn io_time(job: &Job) -> Block {
    let mut table = Table::new(
        "I/O time",
        vec![
            Column::new("what", "", "", "read, write, metadata or all"),
            Column::new(
                "process_time",
                "process time",
                "s",
                "Time of all processes in all files, streams left out",
            ),
            Column::new(
                "of_io_time",
                "of all I/O",
                "",
                "process_time / that of all I/O",
            ),
            Column::new(
                "slowest_time",
                "slowest process",
                "s",
                "Time of the process with most of it",
            ),
            Column::new(
                "slowest_of_run_time",
                "of run time",
                "",
                "slowest_time / run time, of several logs both added up",
            ),
            Column::new(
                "window_time",
                "files in use",
                "s",
                "Length of the union of the files' windows, from the first to the last access",
            ),
            Column::new(
                "windows_of_clock",
                "of run time",
                "",
                "window_time / time in which at least one program of the job ran",
            ),
        ],
    );
    let all = job.io_time();
    if all == 0.0 {
        table.notes.push(
            match (job.is_damaged(), job.is_partial()) {
                (true, _) => "no record is left that has a time: they are lost by the damage, or the log had none",
                (_, true) => "no record that could be read has a time",
                _ => "no process spent time in files, standard streams left out",
            }
            .into(),
        );
        return Block::Table(table);
    }
    let window = |direction| job.flow(direction, "window").map(|flow| flow.critical_time);
    let part = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    for (what, time, slowest, window) in [
        (
            "read",
            job.sum(|t| t.read_time),
            job.slowest.read,
            window("read"),
        ),
        (
            "write",
            job.sum(|t| t.write_time),
            job.slowest.write,
            window("write"),
        ),
        ("metadata", job.sum(|t| t.meta_time), job.slowest.meta, None),
        ("all", all, job.slowest.all, Some(job.in_use())),
    ] {
        if time == 0.0 && window.is_none() {
            continue;
        }
        table.push(vec![
            Cell::text(Some(what), ""),
            Cell::seconds(time),
            Cell::share(part(time, all)),
            Cell::seconds(slowest),
            Cell::share(part(slowest, job.run_time())),
            Cell::of(window, seconds),
            Cell::share(window.and_then(|window| part(window, job.clock_time()))),
        ]);
    }
    let processes = match job.logs.as_slice() {
        [log] => count(log.nprocs.unwrap_or(0).max(0) as u64),
        _ => "processes".into(),
    };
    if let Some(of_all) = part(all, job.process_seconds()) {
        let added = match job.logs.len() {
            1 => String::new(),
            logs => format!(", added up over {logs} logs"),
        };
        table.notes.push(format!(
            "I/O is {} of {processes} x run time{added}{}",
            share(of_all),
            match of_all > 1.0 {
                true =>
                    ": more than its processes had, unless threads of one wait at the same time",
                false => "",
            }
        ));
    }
    if let (Some(window), [_]) = (window("write"), job.logs.as_slice())
        && job.slowest.write > 1.01 * window
    {
        table.notes.push("the slowest process writes for longer than files are in use: an fsync behind the last write counts as writing".into());
    }
    if let Some(mpiio) = &job.in_mpiio {
        let of_all = part(mpiio.time, job.process_seconds());
        table.notes.push(format!(
            "in MPI-IO calls: {} (read {}, write {}, metadata {}){}; slowest process {}. {}",
            seconds(mpiio.time),
            share(mpiio.read / mpiio.time),
            share(mpiio.write / mpiio.time),
            share(mpiio.meta / mpiio.time),
            of_all.map_or(String::new(), |of_all| format!(", {} of {processes} x run time", share(of_all))),
            seconds(mpiio.slowest.all),
            match (job.sum(|t| t.incomplete), job.logs.iter().any(|log| log.partial_modules.iter().any(|module| module == "POSIX"))) {
                (0, false) => "The table counts the POSIX calls below them, where a file has both".into(),
                (0, true) => "The table counts the POSIX calls below them, where a file has both; records of POSIX may be missing: its times are lower bounds".into(),
                (files, _) => format!(
                    "Of {}, whose POSIX records are incomplete, the table counts these calls, in which processes also wait for each other; of other files the POSIX calls below: the times of the two do not compare",
                    counted(files, "file", "files")
                ),
            }
        ));
    }
    let slowest = match job.logs.len() {
        1 => "the one with most of it",
        _ => "of each log the one with most of it, added up over logs",
    };
    table.notes.push(format!(
        "process time: of all processes in all files, added up; slowest process: {slowest}{}",
        match job.slowest.is_estimate {
            true => ", an estimate where files are shared: the slowest of each may be another, and its time is split as that of all",
            false => "",
        }
    ));
    table.notes.push(
        "files in use: at least one file was between its first and last access, busy or only open"
            .into(),
    );
    if job.logs.len() > 1 {
        table.notes.push(
            "of run time: of run times added up over logs; of files in use: of the time on the clock in which a program ran".into(),
        );
    }
    Block::Table(table)
}
