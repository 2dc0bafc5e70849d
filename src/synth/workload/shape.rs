//! How each kind of program does its I/O.

use crate::synth::random::mix;
use crate::synth::scenario::plan::{Job, Plant};
use crate::synth::workload::app::{Interface, Shape};
use crate::synth::workload::realistic;
use crate::synth::workload::{Api, Library, Part, Workload};

/// Most records of one kind of use in a log: files of more processes are those of some of them.
const RECORDS: i64 = 260;

/// Plays the I/O of one log of a job. `read` and `written` are this log's part of the job's bytes.
pub(crate) fn phases(workload: &mut Workload, job: &Job, read: i64, written: i64) {
    if let Some(Plant::Fault(fault)) = job.plant {
        fault.phases(workload, job);
        return;
    }
    let stage = Stage {
        dir: job.dir(),
        read,
        written,
    };
    stage.configuration(workload, job);
    let mpi = job.interface != Interface::Posix;
    match shape(job) {
        Shape::Hdf5Steps if mpi => stage.steps(workload, Library::Hdf5, job.interface),
        Shape::PnetcdfSteps if mpi => stage.steps(workload, Library::Pnetcdf, job.interface),
        Shape::Configurations if mpi => stage.steps(workload, Library::None, job.interface),
        Shape::Hdf5Steps | Shape::PrivateFiles => stage.private_files(workload),
        Shape::PnetcdfSteps | Shape::Groups => stage.groups(workload),
        Shape::Configurations | Shape::SharedFiles => stage.shared_files(workload),
        Shape::Scratch => stage.scratch(workload),
        Shape::Trajectories => stage.trajectories(workload),
        Shape::ManyFiles => stage.many_files(workload),
    }
    stage.words(workload, job);
}

/// The shape of a job: that of its program; one of the many has one of its own.
fn shape(job: &Job) -> Shape {
    if !job.app.name.is_empty() {
        return job.app.shape;
    }
    const SHAPES: [Shape; 8] = [
        Shape::ManyFiles,
        Shape::Groups,
        Shape::Scratch,
        Shape::PrivateFiles,
        Shape::Trajectories,
        Shape::ManyFiles,
        Shape::SharedFiles,
        Shape::Groups,
    ];
    match job.nprocs {
        1 => Shape::ManyFiles,
        _ => SHAPES[(mix(job.program.bytes().map(u64::from).sum()) % 8) as usize],
    }
}

/// Where a log's files lie, and what it moves.
struct Stage {
    dir: String,
    read: i64,
    written: i64,
}

impl Stage {
    /// Reads the configuration: every process, from /home. A job that only writes took it from its command line.
    fn configuration(&self, workload: &mut Workload, job: &Job) {
        if self.read == 0 {
            return;
        }
        let bytes = workload.random.int(400, 20_000);
        let path = format!("/home/{}/{}/{:05}.cfg", job.user, job.program, job.index);
        match workload.random.chance(0.5) {
            true => workload.phase([part(path, 0, Api::Stdio, bytes, 0)]),
            false => workload.phase([part(path, -1, Api::Posix, bytes * workload.nprocs, 0)]),
        }
    }

    /// What the program prints while it runs. A job that only reads prints nothing.
    fn words(&self, workload: &mut Workload, job: &Job) {
        let until = workload.clock + workload.random.float(0.1, 3.0);
        if self.written > 0 {
            let bytes = workload.random.magnitude(200.0, 60_000.0) as i64;
            workload.background(part("<STDOUT>".into(), 0, Api::Stdio, 0, bytes), until);
            if workload.random.chance(0.25) {
                let bytes = workload.random.int(20, 400);
                workload.background(part("<STDERR>".into(), 0, Api::Stdio, 0, bytes), until);
            }
            if workload.random.chance(0.3) {
                let bytes = workload.random.magnitude(1e3, 2e5) as i64;
                let path = format!(
                    "/home/{}/logs/{}.{:05}.log",
                    job.user, job.program, job.index
                );
                workload.background(part(path, 0, Api::Stdio, 0, bytes), until);
            }
        }
        workload.clock = until;
    }

    /// Seconds of computing in all: heavy-tailed, too.
    fn computing(&self, workload: &mut Workload) -> f64 {
        workload.random.magnitude(15.0, 20_000.0)
    }

    /// Time steps, each a shared file of all processes through MPI-IO.
    fn steps(&self, workload: &mut Workload, library: Library, interface: Interface) {
        let api = Api::Mpi {
            collective: interface == Interface::Collective,
            library,
        };
        let end = match library {
            Library::Hdf5 => "h5",
            Library::Pnetcdf => "nc",
            Library::None => "lime",
        };
        let inputs = if self.read > self.written {
            workload.random.int(4, 16)
        } else {
            workload.random.int(1, 3)
        };
        for (at, bytes) in split(workload, self.read, inputs).into_iter().enumerate() {
            workload.phase([part(
                format!("{}/in/restart_{at:03}.{end}", self.dir),
                -1,
                api,
                bytes,
                0,
            )]);
        }
        let steps = workload.random.int(3, 20);
        let computing = self.computing(workload) / steps as f64;
        for (at, bytes) in split(workload, self.written, steps).into_iter().enumerate() {
            workload.compute(computing);
            workload.phase([part(
                format!("{}/out/fields_{at:05}.{end}", self.dir),
                -1,
                api,
                0,
                bytes,
            )]);
        }
    }

    /// A file for each process, or for each of some of them: restarts read, dumps written.
    fn private_files(&self, workload: &mut Workload) {
        let ranks = some_ranks(workload.nprocs, most(workload, RECORDS, 80));
        let dumps = if ranks.len() < 40 {
            workload.random.int(1, 4)
        } else {
            1
        };
        let parts = self.each(workload, &ranks, self.read, "in/restart", "bin", true);
        workload.phase(parts);
        let computing = self.computing(workload) / dumps as f64;
        for (dump, bytes) in split(workload, self.written, dumps).into_iter().enumerate() {
            workload.compute(computing);
            let parts = self.each(
                workload,
                &ranks,
                bytes,
                &format!("out/dump{dump:03}"),
                "bin",
                false,
            );
            workload.phase(parts);
        }
    }

    /// Files that groups of processes share: tiles read, parts written.
    fn groups(&self, workload: &mut Workload) {
        let width = workload.random.int(2, 9).min(workload.nprocs);
        let files = (workload.nprocs / width).clamp(1, RECORDS / 8 / width);
        let spacing = workload.nprocs / (files * width).max(1);
        let steps = (RECORDS / 8 / (files * width)).clamp(1, 6);
        let computing = self.computing(workload) / steps as f64;
        let (read, written) = (
            split(workload, self.read, steps),
            split(workload, self.written, steps),
        );
        for step in 0..steps as usize {
            for (bytes, kind) in [(read.get(step), "in/tile"), (written.get(step), "out/part")] {
                let Some(bytes) = bytes else { continue };
                let shares = split(workload, *bytes, files * width);
                let parts = shares.into_iter().zip(0..).map(|(bytes, at)| {
                    let path = format!("{}/{kind}_{step:02}_{:04}.dat", self.dir, at / width);
                    let (read, written) = if kind.starts_with("in") {
                        (bytes, 0)
                    } else {
                        (0, bytes)
                    };
                    part(path, at * spacing, Api::Posix, read, written)
                });
                workload.phase(parts);
                workload.compute(computing / 2.0);
            }
        }
    }

    /// Shared files of all processes through POSIX.
    fn shared_files(&self, workload: &mut Workload) {
        let (inputs, outputs) = (workload.random.int(2, 12), workload.random.int(3, 30));
        for (at, bytes) in split(workload, self.read, inputs).into_iter().enumerate() {
            workload.phase([part(
                format!("{}/in/state_{at:03}.dat", self.dir),
                -1,
                Api::Posix,
                bytes,
                0,
            )]);
        }
        let computing = self.computing(workload) / outputs as f64;
        for (at, bytes) in split(workload, self.written, outputs)
            .into_iter()
            .enumerate()
        {
            workload.compute(computing);
            workload.phase([part(
                format!("{}/out/slab_{at:04}.dat", self.dir),
                -1,
                Api::Posix,
                0,
                bytes,
            )]);
        }
    }

    /// Files that a process writes and reads back.
    fn scratch(&self, workload: &mut Workload) {
        let ranks = some_ranks(workload.nprocs, most(workload, 36, 20));
        let (read, written) = (
            split(workload, self.read, ranks.len() as i64),
            split(workload, self.written, ranks.len() as i64),
        );
        let bytes = |of: &[i64], at: usize| of.get(at).copied().unwrap_or(0);
        // Something must be written to be read back; what is only read is basis sets.
        let kind = if self.written == 0 {
            "in/basis"
        } else {
            "scr/int"
        };
        let computing = self.computing(workload);
        workload.compute(computing);
        let parts: Vec<Part> = (ranks.iter().enumerate())
            .map(|(at, rank)| {
                part(
                    format!("{}/{kind}.{rank:05}", self.dir),
                    *rank,
                    Api::Posix,
                    bytes(&read, at),
                    bytes(&written, at),
                )
            })
            .collect();
        workload.phase(parts);
        workload.compute(computing / 10.0);
    }

    /// Replicas: each reads the topology, writes a trajectory, and says in a text log what it does.
    fn trajectories(&self, workload: &mut Workload) {
        let replicas = some_ranks(workload.nprocs, most(workload, 20, 12));
        let inputs = self.each(workload, &replicas, self.read, "in/frames", "trr", true);
        workload.phase(inputs);
        let computing = self.computing(workload);
        workload.compute(computing);
        let outputs = self.each(workload, &replicas, self.written, "out/traj", "xtc", false);
        let logs = !outputs.is_empty();
        workload.phase(outputs);
        let until = workload.clock;
        for rank in replicas.iter().filter(|_| logs) {
            let bytes = workload.random.magnitude(500.0, 4e4) as i64;
            workload.background(
                part(
                    format!("{}/out/md_{rank:04}.log", self.dir),
                    *rank,
                    Api::Stdio,
                    0,
                    bytes,
                ),
                until,
            );
        }
    }

    /// Many files read, a few written; with several processes each takes its share of the files.
    fn many_files(&self, workload: &mut Workload) {
        let (least, largest) = (most(workload, 10, 6), most(workload, 120, 60));
        let inputs = workload.random.magnitude(least as f64, largest as f64) as i64;
        let place = match workload.random.chance(0.12) {
            true => self.dir.replace("/scratch/", "/project/"),
            false => self.dir.clone(),
        };
        let reading = split(workload, self.read, inputs);
        let together = workload.random.int(4, 20) as usize;
        let computing = self.computing(workload) / (1 + reading.len() / together) as f64;
        for (batch, bytes) in reading.chunks(together).enumerate() {
            let nprocs = workload.nprocs;
            let parts = bytes.iter().zip(0..).map(|(bytes, at)| {
                let at = (batch * together) as i64 + at;
                part(
                    format!("{place}/in/shard_{at:05}.rec"),
                    at % nprocs,
                    Api::Posix,
                    *bytes,
                    0,
                )
            });
            let parts: Vec<Part> = parts.collect();
            workload.phase(parts);
            workload.compute(computing);
        }
        let outputs = if self.read == 0 {
            workload.random.int(8, 60)
        } else {
            workload.random.int(1, 9)
        };
        let nprocs = workload.nprocs;
        let parts = split(workload, self.written, outputs).into_iter().zip(0..);
        let parts: Vec<Part> = parts
            .map(|(bytes, at)| {
                part(
                    format!("{}/out/result_{at:03}.out", self.dir),
                    at % nprocs,
                    Api::Posix,
                    0,
                    bytes,
                )
            })
            .collect();
        workload.phase(parts);
    }

    /// A private file of every rank.
    fn each(
        &self,
        workload: &mut Workload,
        ranks: &[i64],
        bytes: i64,
        name: &str,
        end: &str,
        reads: bool,
    ) -> Vec<Part> {
        let shares = split(workload, bytes, ranks.len() as i64);
        let part = |(bytes, rank): (i64, &i64)| {
            let (read, written) = if reads { (bytes, 0) } else { (0, bytes) };
            part(
                format!("{}/{name}.{rank:05}.{end}", self.dir),
                *rank,
                Api::Posix,
                read,
                written,
            )
        };
        shares.into_iter().zip(ranks).map(part).collect()
    }
}

/// How many of something a log has: so few in realistic ones that a log has some 30 files in the mean.
fn most(workload: &Workload, usual: i64, realistic: i64) -> i64 {
    match workload.realistic {
        true => realistic,
        false => usual,
    }
}

/// An access.
pub(crate) fn part(path: String, rank: i64, api: Api, read: i64, written: i64) -> Part {
    Part {
        path,
        rank,
        api,
        read,
        written,
    }
}

/// At most `most` ranks, evenly spread.
pub(crate) fn some_ranks(nprocs: i64, most: i64) -> Vec<i64> {
    let count = nprocs.min(most);
    (0..count).map(|at| at * nprocs / count).collect()
}

/// `bytes` in `parts` parts of like size, each at least 1; none if there are no bytes.
pub(crate) fn split(workload: &mut Workload, bytes: i64, parts: i64) -> Vec<i64> {
    let parts = parts.min(bytes).max(0);
    let mut left = bytes;
    (0..parts)
        .map(|at| {
            let others = parts - at - 1;
            let mean = left / (others + 1);
            let part = if others == 0 {
                left
            } else if workload.alike {
                mean - mean % realistic::unit(mean)
            } else {
                (mean as f64 * workload.random.float(0.8, 1.2)) as i64
            };
            let part = part.clamp(1, left - others);
            left -= part;
            part
        })
        .collect()
}
