//! Faults of the usual month: one cause for each, in jobs of more than 1,000 processes with at least 10 MB for each, on all
//! OSTs, under 1 GB/s - what the paper's tables I and II look for.

use super::cause::{Cause, Direction};
use super::job::Job;
use crate::math::intervals::union_length;
use crate::synth::merge::merge;
use crate::synth::system::{SCRATCH_OSTS, other_ost};
use crate::synth::workload::shape::private;
use crate::synth::workload::{Access, Transfer, Workload, some_ranks};
use serde_json::{Value, json};

/// Name, one line that says what was planted, and the program that has it.
pub(crate) fn doc(cause: Cause) -> (&'static str, &'static str, &'static str) {
    match cause {
        Cause::OneOst => (
            "one_ost",
            "all processes write one shared file that lies on one OST",
            "flame_dns",
        ),
        Cause::OneRank => (
            "root_writes_most",
            "the root process writes far more than the other processes",
            "quantum_dft",
        ),
        Cause::SerialFiles => (
            "serial_files",
            "many files are written one after another, with pauses and without overlap",
            "cosmo_nbody",
        ),
        Cause::OneFile => (
            "one_file",
            "reading one file takes 95 % of the time on the critical path",
            "lattice_qcd",
        ),
        Cause::SmallRequests => (
            "small_requests",
            "most reads are of at most 1 KiB and do not follow one another",
            "storm_les",
        ),
    }
}

/// Processes of job `index`.
pub(crate) fn nprocs(index: u64) -> i64 {
    [1024, 1536, 2048, 4096][(index % 4) as usize]
}

/// Adds the I/O of a job. Whatever else it does is good: large consecutive requests, files on all OSTs, in parallel.
pub(crate) fn phases(workload: &mut Workload, job: &Job, cause: Cause) {
    let (dir, nprocs) = (job.dir(), workload.nprocs);
    workload.slow = false;
    workload.small = 0.0;
    workload.request = 8 << 20;
    workload.consecutive = workload.random.float(0.93, 0.97);
    let bytes = nprocs * workload.random.int(12_000_000, 30_000_000);
    let ranks = some_ranks(nprocs, SCRATCH_OSTS + 8);
    let files = |workload: &mut Workload, bytes: i64, name: &str| {
        private(workload, &ranks, bytes, &format!("{dir}/{name}"), "")
    };
    workload.phase([Access::deck(job)]);
    match cause {
        Cause::OneOst => {
            let parts = files(workload, bytes / 20, "out/diag");
            workload.phase(parts);
            workload.compute(30.0);
            // An OST that is not slow.
            let at = workload.random.int(0, SCRATCH_OSTS - 1);
            workload.next_ost = other_ost(at, workload.system.slow_ost);
            workload.phase([Access::write(format!("{dir}/out/field.dat"), -1, bytes)]);
        }
        Cause::OneRank => {
            let parts = files(workload, bytes / 20, "out/block");
            workload.phase(parts);
            workload.phase([Access::write(format!("{dir}/out/wavefunction"), 0, bytes)]);
        }
        Cause::SerialFiles => {
            for part in files(workload, bytes, "out/plot") {
                workload.phase([part]);
                let pause = workload.random.float(0.3, 2.0);
                workload.compute(pause);
            }
        }
        Cause::OneFile => {
            workload.phase([Access::read(format!("{dir}/in/eigenvectors"), 0, bytes)]);
            let file = workload.uses.last();
            let read = file.and_then(|file| file.transfers[0].as_ref());
            let (long, from) = (read.map_or(0.0, Transfer::window), workload.clock);
            let parts = files(workload, bytes / 20, "in/config");
            workload.phase(parts);
            // The one file takes 95 % of the reading: the others together the twentieth that is left.
            workload.stretch(from, long / 19.0);
        }
        Cause::SmallRequests => {
            workload.request = workload.random.int(90, 320);
            workload.consecutive = workload.random.float(0.05, 0.2);
            let parts = files(workload, bytes, "in/station");
            workload.phase(parts);
        }
    }
    let until = workload.clock + 1.0;
    workload.background(Access::print("<STDOUT>".into(), 0, 2_048), until);
    workload.clock = until;
}

/// What was planted: paths, and numbers that a query should find again.
pub(crate) fn truth(cause: Cause, workload: &Workload) -> Value {
    let direction = match cause {
        Cause::OneFile | Cause::SmallRequests => Direction::Read,
        _ => Direction::Write,
    };
    let on_scratch = (workload.uses.iter()).filter(|file| file.path.starts_with("/scratch/"));
    let moved =
        on_scratch.filter_map(|file| Some((file, file.transfers[direction as usize].as_ref()?)));
    let moved: Vec<_> = moved.collect();
    let Some((largest, most)) = moved.iter().max_by_key(|(_, moved)| moved.bytes) else {
        return json!({"paths": [], "numbers": null});
    };
    let bytes: i64 = moved.iter().map(|(_, moved)| moved.bytes).sum();
    let windows = moved.iter().map(|(_, moved)| (moved.start, moved.end));
    let mut windows: Vec<(f64, f64)> = windows.collect();
    let critical = union_length(&mut windows);
    let mut numbers = json!({
        "direction": direction,
        "nprocs": workload.nprocs,
        "bytes": bytes,
        "files": moved.len(),
        "critical_seconds": critical,
        "bandwidth": bytes as f64 / critical,
    });
    let more = match cause {
        Cause::OneOst => json!({
            "ost": largest.layout.as_ref().and_then(|layout| layout.osts.first()),
            "processes_per_ost": largest.procs,
            "file_bytes": most.bytes,
            "file_seconds": most.window(),
        }),
        Cause::OneRank => json!({
            "root_bytes": most.bytes,
            "root_share": most.bytes as f64 / bytes as f64,
            "root_seconds": most.window(),
        }),
        Cause::SerialFiles => {
            let length = windows.iter().map(|(start, end)| end - start).sum::<f64>();
            let end = windows.iter().map(|window| window.1).fold(0.0, f64::max);
            json!({"idle_seconds": end - windows[0].0 - critical, "overlap_seconds": length - critical})
        }
        Cause::OneFile => {
            json!({"file_seconds": most.window(), "time_share": most.window() / critical})
        }
        Cause::SmallRequests => {
            let requests: i64 = moved.iter().map(|(_, moved)| moved.count()).sum();
            let sizes = moved.iter().flat_map(|(_, moved)| &moved.sizes);
            let small = sizes.filter(|(size, _)| *size <= 1024);
            let small: i64 = small.map(|(_, count)| count).sum();
            let consecutive: i64 = moved.iter().map(|(_, moved)| moved.consecutive).sum();
            let share = |part: i64| part as f64 / requests as f64;
            json!({"small_share": share(small), "consecutive_share": share(consecutive)})
        }
    };
    merge(&mut numbers, more);
    let paths = match cause {
        Cause::SerialFiles | Cause::SmallRequests => vec![],
        _ => vec![&largest.path],
    };
    json!({"paths": paths, "numbers": numbers})
}
