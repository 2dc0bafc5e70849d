//! Faults that are planted so that somebody finds them: one cause for each, in jobs of more than 1,000 processes with at
//! least 10 MB for each, on all OSTs, under 1 GB/s - what the paper's tables I and II look for.

use crate::synth::scenario::plan::Job;
use crate::synth::system::{SCRATCH_OSTS, other_ost};
use crate::synth::truth::merged;
use crate::synth::workload::app::{APPS, App};
use crate::synth::workload::shape::{part, some_ranks, split};
use crate::synth::workload::{Api, Part, Workload};
use serde_json::{Value, json};

/// A cause of slow I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// All processes write one file on one OST.
    OneOst,
    /// The root process writes far more than all others.
    RootWrites,
    /// Many files are written one after another.
    Serial,
    /// One file takes 95 % of the time.
    OneFile,
    /// Small requests that do not follow one another.
    SmallRequests,
}

impl Fault {
    pub(crate) const ALL: [Self; 5] = [
        Self::OneOst,
        Self::RootWrites,
        Self::Serial,
        Self::OneFile,
        Self::SmallRequests,
    ];

    /// Its name in truth.json.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneOst => "one_ost",
            Self::RootWrites => "root_writes_most",
            Self::Serial => "serial_files",
            Self::OneFile => "one_file",
            Self::SmallRequests => "small_requests",
        }
    }

    /// One line that says what was planted.
    pub(crate) fn doc(self) -> &'static str {
        match self {
            Self::OneOst => "all processes write one shared file that lies on one OST",
            Self::RootWrites => "the root process writes far more than the other processes",
            Self::Serial => {
                "many files are written one after another, with pauses and without overlap"
            }
            Self::OneFile => "reading one file takes 95 % of the time on the critical path",
            Self::SmallRequests => "most reads are of at most 1 KiB and do not follow one another",
        }
    }

    /// The program that has it.
    pub(crate) fn app(self) -> &'static App {
        let name = match self {
            Self::OneOst => "flame_dns",
            Self::RootWrites => "quantum_dft",
            Self::Serial => "cosmo_nbody",
            Self::OneFile => "lattice_qcd",
            Self::SmallRequests => "storm_les",
        };
        APPS.iter().find(|app| app.name == name).unwrap_or(&APPS[0])
    }

    /// Processes of job `index`.
    pub(crate) fn nprocs(self, index: u64) -> i64 {
        [1024, 1536, 2048, 4096][(index % 4) as usize]
    }

    /// Plays the job. Whatever else it does is good: large consecutive requests, files on all OSTs, in parallel.
    pub(crate) fn phases(self, workload: &mut Workload, job: &Job) {
        let (dir, nprocs) = (job.dir(), workload.nprocs);
        workload.slow = false;
        workload.small = 0.0;
        workload.request = 8 << 20;
        workload.consecutive = workload.random.float(0.93, 0.97);
        let files = SCRATCH_OSTS + 8;
        let bytes = nprocs * workload.random.int(12_000_000, 30_000_000);
        let ranks = some_ranks(nprocs, files);
        let private = |workload: &mut Workload, bytes: i64, kind: &str, reads: bool| -> Vec<Part> {
            let shares = split(workload, bytes, files).into_iter().zip(&ranks);
            let file = |(bytes, rank): (i64, &i64)| {
                let (read, written) = if reads { (bytes, 0) } else { (0, bytes) };
                part(
                    format!("{dir}/{kind}.{rank:05}"),
                    *rank,
                    Api::Posix,
                    read,
                    written,
                )
            };
            shares.map(file).collect()
        };
        workload.phase([deck(job)]);
        match self {
            Self::OneOst => {
                let parts = private(workload, bytes / 20, "out/diag", false);
                workload.phase(parts);
                workload.compute(30.0);
                let ost = one_ost(workload);
                workload.next_file_on(ost);
                workload.phase([part(
                    format!("{dir}/out/field.dat"),
                    -1,
                    Api::Posix,
                    0,
                    bytes,
                )]);
            }
            Self::RootWrites => {
                let parts = private(workload, bytes / 20, "out/block", false);
                workload.phase(parts);
                workload.phase([part(
                    format!("{dir}/out/wavefunction"),
                    0,
                    Api::Posix,
                    0,
                    bytes,
                )]);
            }
            Self::Serial => {
                for part in private(workload, bytes, "out/plot", false) {
                    workload.phase([part]);
                    let pause = workload.random.float(0.3, 2.0);
                    workload.compute(pause);
                }
            }
            Self::OneFile => {
                workload.phase([part(
                    format!("{dir}/in/eigenvectors"),
                    0,
                    Api::Posix,
                    bytes,
                    0,
                )]);
                let file = workload.uses.last().and_then(|file| file.read.as_ref());
                let (long, from) = (
                    file.map_or(0.0, |flow| flow.end - flow.start),
                    workload.clock,
                );
                let parts = private(workload, bytes / 20, "in/config", true);
                workload.phase(parts);
                // The one file takes 95 % of the reading: the others together the twentieth that is left.
                stretch(workload, from, long / 19.0);
            }
            Self::SmallRequests => {
                workload.request = workload.random.int(90, 320);
                workload.consecutive = workload.random.float(0.05, 0.2);
                let parts = private(workload, bytes, "in/station", true);
                workload.phase(parts);
            }
        }
        let until = workload.clock + 1.0;
        workload.background(part("<STDOUT>".into(), 0, Api::Stdio, 0, 2_048), until);
        workload.clock = until;
    }

    /// What was planted, in numbers that a query should find again.
    pub(crate) fn numbers(self, workload: &Workload) -> (Vec<String>, Value) {
        let reads = matches!(self, Self::OneFile | Self::SmallRequests);
        let flows: Vec<_> = (workload.uses.iter())
            .filter(|file| file.path.starts_with("/scratch/"))
            .filter_map(|file| {
                Some((
                    file,
                    if reads {
                        file.read.as_ref()?
                    } else {
                        file.written.as_ref()?
                    },
                ))
            })
            .collect();
        let bytes: i64 = flows.iter().map(|(_, flow)| flow.bytes).sum();
        let mut windows: Vec<(f64, f64)> = flows
            .iter()
            .map(|(_, flow)| (flow.start, flow.end))
            .collect();
        let critical = union(&mut windows);
        let (largest, flow) = match flows.iter().max_by_key(|(_, flow)| flow.bytes) {
            Some((file, flow)) => (file, flow),
            None => return (vec![], Value::Null),
        };
        let requests: i64 = flows.iter().map(|(_, flow)| flow.count()).sum();
        let small = |sizes: &[(i64, i64)]| -> i64 {
            sizes
                .iter()
                .filter(|(size, _)| *size <= 1024)
                .map(|(_, count)| count)
                .sum()
        };
        let numbers = json!({
            "direction": if reads { "read" } else { "write" },
            "nprocs": workload.nprocs,
            "bytes": bytes,
            "files": flows.len(),
            "critical_seconds": critical,
            "bandwidth": bytes as f64 / critical,
        });
        let more = match self {
            Self::OneOst => {
                json!({"ost": largest.layout.as_ref().and_then(|layout| layout.osts.first()),
                "processes_per_ost": largest.procs, "file_bytes": flow.bytes, "file_seconds": flow.end - flow.start})
            }
            Self::RootWrites => {
                json!({"root_bytes": flow.bytes, "root_share": flow.bytes as f64 / bytes as f64,
                "root_seconds": flow.end - flow.start})
            }
            Self::Serial => {
                json!({"idle_seconds": windows_end(&windows) - windows_start(&windows) - critical,
                "overlap_seconds": windows.iter().map(|(start, end)| end - start).sum::<f64>() - critical})
            }
            Self::OneFile => json!({"file_seconds": flow.end - flow.start,
                "time_share": (flow.end - flow.start) / critical}),
            Self::SmallRequests => json!({
                "small_share": flows.iter().map(|(_, flow)| small(&flow.sizes)).sum::<i64>() as f64 / requests as f64,
                "consecutive_share":
                    flows.iter().map(|(_, flow)| flow.consecutive).sum::<i64>() as f64 / requests as f64}),
        };
        let paths = match self {
            Self::Serial | Self::SmallRequests => vec![],
            _ => vec![largest.path.clone()],
        };
        (paths, merged(numbers, more))
    }
}

/// The input deck that the first process reads.
pub(crate) fn deck(job: &Job) -> Part {
    let path = format!("/home/{}/{}.in", job.user, job.program);
    part(path, 0, Api::Stdio, 4_000, 0)
}

/// An OST of /scratch that is not slow.
fn one_ost(workload: &mut Workload) -> i64 {
    let at = workload.random.int(0, SCRATCH_OSTS - 1);
    other_ost(at, workload.system.slow_ost)
}

/// Moves and scales what was played after `from` so that it takes `seconds`.
pub(crate) fn stretch(workload: &mut Workload, from: f64, seconds: f64) {
    let factor = seconds / (workload.clock - from);
    let moved = |time: f64| {
        if time > from {
            from + (time - from) * factor
        } else {
            time
        }
    };
    for file in workload.uses.iter_mut().filter(|file| file.opened >= from) {
        (file.opened, file.closed) = (moved(file.opened), moved(file.closed));
        for flow in [&mut file.read, &mut file.written].into_iter().flatten() {
            (flow.start, flow.end) = (moved(flow.start), moved(flow.end));
            flow.time *= factor;
        }
    }
    workload.clock = moved(workload.clock);
}

/// Length of the union of windows; sorts them.
pub(crate) fn union(windows: &mut [(f64, f64)]) -> f64 {
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut length, mut covered) = (0.0, f64::NEG_INFINITY);
    for (start, end) in windows.iter() {
        length += (end - start.max(covered)).max(0.0);
        covered = covered.max(*end);
    }
    length
}

fn windows_start(windows: &[(f64, f64)]) -> f64 {
    windows
        .iter()
        .map(|(start, _)| *start)
        .fold(f64::INFINITY, f64::min)
}

fn windows_end(windows: &[(f64, f64)]) -> f64 {
    windows
        .iter()
        .map(|(_, end)| *end)
        .fold(f64::NEG_INFINITY, f64::max)
}
