//! How much of a job's time was I/O, by direction and metadata; and which layer moved what.

use super::job::{DIRECTIONS, Job, Totals};
use crate::answer::answer::{Block, Cell, Column, Table};
use crate::text::amount::{count, seconds, share, significant, size};

/// A direction with a smaller part of the I/O time has no tables of its own.
const MATTERS: f64 = 0.01;

/// The directions that matter, in the order of the page.
pub(super) fn directions(job: &Job) -> impl Iterator<Item = &'static str> {
    let parts = DIRECTIONS.map(|direction| (direction, job.part(direction)));
    let parts = parts.into_iter().filter(|(_, part)| *part >= MATTERS);
    parts.map(|(direction, _)| direction)
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
        table
            .notes
            .push("no process spent time in files, standard streams left out".into());
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
    if let Some(mpiio) = &job.in_mpiio {
        let of_all = part(mpiio.time, job.process_seconds());
        table.notes.push(format!(
            "in MPI-IO calls: {}{}; slowest process {}. The table counts the POSIX calls below them, where a file has both{}",
            seconds(mpiio.time),
            of_all.map_or(String::new(), |of_all| format!(", {} of {processes} x run time", share(of_all))),
            seconds(mpiio.slowest),
            match job.logs.iter().any(|log| log.partial == Some(true)) {
                true => "; records of POSIX may be missing: its times are lower bounds",
                false => "",
            }
        ));
    }
    table.notes.push(
        match job.logs.len() {
            1 => "process time: of all processes in all files, added up; slowest process: the one with most of it",
            _ => "process time: of all processes in all files, added up; slowest process: of each log the one with most of it, added up over logs",
        }
        .into(),
    );
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

/// What MPI-IO, POSIX and STDIO moved, where there is more than one of them.
pub(super) fn layers(job: &Job) -> Option<Block> {
    let mut table = Table::new(
        "Layers",
        vec![
            Column::new("layer", "", "", "MPI-IO, POSIX or STDIO"),
            Column::new("bytes_read", "bytes read", "B", "Bytes read through it"),
            Column::new(
                "bytes_written",
                "bytes written",
                "B",
                "Bytes written through it",
            ),
            Column::new(
                "calls_read",
                "read calls",
                "",
                "Read calls; of MPI-IO collective and independent ones",
            ),
            Column::new(
                "calls_written",
                "write calls",
                "",
                "Write calls, in the same way",
            ),
        ],
    );
    let calls = |of: fn(&Totals) -> i64| Some(job.sum(of) as f64);
    let layers = [
        (
            "MPI-IO",
            [
                job.known(|t| t.mpiio_bytes_read),
                job.known(|t| t.mpiio_bytes_written),
            ],
            [
                calls(|t| t.coll_read + t.indep_read),
                calls(|t| t.coll_write + t.indep_write),
            ],
        ),
        (
            "POSIX",
            [
                job.known(|t| t.posix_bytes_read),
                job.known(|t| t.posix_bytes_written),
            ],
            [calls(|t| t.requests_read), calls(|t| t.requests_write)],
        ),
        (
            "STDIO",
            [
                job.known(|t| t.stdio_bytes_read),
                job.known(|t| t.stdio_bytes_written),
            ],
            [None, None],
        ),
    ];
    for (layer, [read, written], [reads, writes]) in layers {
        if read.is_none() && written.is_none() {
            continue;
        }
        let calls = |calls: Option<f64>| Cell::of(calls, |n| count(n.max(0.0) as u64));
        table.push(vec![
            Cell::text(Some(layer), ""),
            Cell::size(read.unwrap_or(0)),
            Cell::size(written.unwrap_or(0)),
            calls(reads),
            calls(writes),
        ]);
    }
    for (done, asked, below) in [
        (
            "read",
            job.known(|t| t.mpiio_bytes_read),
            job.known(|t| t.below_read),
        ),
        (
            "written",
            job.known(|t| t.mpiio_bytes_written),
            job.known(|t| t.below_written),
        ),
    ] {
        table
            .notes
            .extend(amplification(done, asked.unwrap_or(0), below.unwrap_or(0)));
    }
    (table.len() > 1).then_some(Block::Table(table))
}

/// What POSIX moved for what was asked of MPI-IO, in the files that both have; None where it is the same.
fn amplification(done: &str, asked: i64, below: i64) -> Option<String> {
    match (asked, below) {
        (0, 0) => None,
        (0, below) => Some(format!(
            "POSIX moved {} of files that MPI-IO has, and of which it {} nothing",
            size(below.max(0) as u64),
            done
        )),
        (asked, below) => {
            let times = below as f64 / asked as f64;
            let differs = (times - 1.0).abs() >= 0.05;
            differs.then(|| {
                format!(
                    "in the files that MPI-IO has POSIX moved {} bytes for each byte {done} through MPI-IO",
                    significant(times)
                )
            })
        }
    }
}
