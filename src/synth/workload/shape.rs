//! How each kind of program does its I/O.

use super::app::{Interface, Shape};
use super::{Access, Api, Library, Workload, some_ranks};
use crate::math::random::mix;
use crate::synth::scenario::job::Job;

/// Most records of one kind of use in a log: files of more processes are those of some of them.
const RECORDS: i64 = 260;

/// Adds the I/O of one log of a job. `read` and `written` are this log's part of the job's bytes.
pub(crate) fn phases(workload: &mut Workload, job: &Job, read: i64, written: i64) {
    let mut run = Run {
        dir: job.dir(),
        job,
        read,
        written,
        workload,
    };
    run.configuration();
    let mpi = job.interface != Interface::Posix;
    match shape(job) {
        Shape::Hdf5Steps if mpi => run.steps(Library::Hdf5, "h5"),
        Shape::PnetcdfSteps if mpi => run.steps(Library::Pnetcdf, "nc"),
        Shape::Configurations if mpi => run.steps(Library::None, "lime"),
        Shape::Hdf5Steps | Shape::PrivateFiles => run.private_files(),
        Shape::PnetcdfSteps | Shape::Groups => run.groups(),
        Shape::Configurations | Shape::SharedFiles => run.shared_files(),
        Shape::Scratch => run.scratch(),
        Shape::Trajectories => run.trajectories(),
        Shape::ManyFiles => run.many_files(),
    }
    run.words();
}

/// The shape of a job: that of its program; one of the many has one of its own.
fn shape(job: &Job) -> Shape {
    if !job.app.name.is_empty() {
        return job.app.shape;
    }
    let number = mix(job.program.bytes().map(u64::from).sum()) % 8;
    match (job.nprocs, number) {
        (1, _) | (_, 0 | 5) => Shape::ManyFiles,
        (_, 1 | 7) => Shape::Groups,
        (_, 2) => Shape::Scratch,
        (_, 3) => Shape::PrivateFiles,
        (_, 4) => Shape::Trajectories,
        _ => Shape::SharedFiles,
    }
}

/// One log of a job: where its files lie, and what it moves.
struct Run<'a> {
    dir: String,
    job: &'a Job,
    read: i64,
    written: i64,
    workload: &'a mut Workload,
}

impl Run<'_> {
    /// Reads the configuration: every process, from /home. A job that only writes took it from its command line.
    fn configuration(&mut self) {
        if self.read == 0 {
            return;
        }
        let (job, workload) = (self.job, &mut *self.workload);
        let bytes = workload.random.int(400, 20_000);
        let path = format!("/home/{}/{}/{:05}.cfg", job.user, job.program, job.index);
        let access = match workload.random.chance(0.5) {
            true => Access::new(path, 0, Api::Stdio, [bytes, 0]),
            false => Access::read(path, -1, bytes * workload.nprocs),
        };
        workload.phase([access]);
    }

    /// What the program prints while it runs. A job that only reads prints nothing.
    fn words(&mut self) {
        let (job, workload) = (self.job, &mut *self.workload);
        let until = workload.clock + workload.random.float(0.1, 3.0);
        if self.written > 0 {
            let bytes = workload.random.magnitude(200.0, 60_000.0) as i64;
            workload.background(Access::print("<STDOUT>".into(), 0, bytes), until);
            if workload.random.chance(0.25) {
                let bytes = workload.random.int(20, 400);
                workload.background(Access::print("<STDERR>".into(), 0, bytes), until);
            }
            if workload.random.chance(0.3) {
                let bytes = workload.random.magnitude(1e3, 2e5) as i64;
                let (user, program, index) = (&job.user, &job.program, job.index);
                let path = format!("/home/{user}/logs/{program}.{index:05}.log");
                workload.background(Access::print(path, 0, bytes), until);
            }
        }
        workload.clock = until;
    }

    /// Seconds of computing in all: heavy-tailed, too.
    fn computing(&mut self) -> f64 {
        self.workload.random.magnitude(15.0, 20_000.0)
    }

    /// How many of something a log has: so few in realistic ones that a log has some 30 files in the mean.
    fn most(&self, usual: i64, realistic: i64) -> i64 {
        match self.workload.realistic {
            true => realistic,
            false => usual,
        }
    }

    /// Reads shared files of all processes one after another.
    fn inputs(&mut self, count: i64, name: &str, end: &str, api: Api) {
        for (at, bytes) in (0..).zip(self.workload.split(self.read, count)) {
            let path = format!("{}/in/{name}_{at:03}.{end}", self.dir);
            (self.workload).phase([Access::new(path, -1, api, [bytes, 0])]);
        }
    }

    /// Writes shared files of all processes one after another, and computes before each.
    fn outputs(&mut self, count: i64, api: Api, name: impl Fn(usize) -> String) {
        let computing = self.computing() / count as f64;
        for (at, bytes) in (0..).zip(self.workload.split(self.written, count)) {
            self.workload.compute(computing);
            let path = format!("{}/out/{}", self.dir, name(at));
            (self.workload).phase([Access::new(path, -1, api, [0, bytes])]);
        }
    }

    /// Time steps, each a shared file of all processes through MPI-IO.
    fn steps(&mut self, library: Library, end: &str) {
        let api = Api::mpi(self.job.interface == Interface::Collective, library);
        let inputs = match self.read > self.written {
            true => self.workload.random.int(4, 16),
            false => self.workload.random.int(1, 3),
        };
        self.inputs(inputs, "restart", end, api);
        let steps = self.workload.random.int(3, 20);
        self.outputs(steps, api, |at| format!("fields_{at:05}.{end}"));
    }

    /// A file for each process, or for each of some of them: restarts read, dumps written.
    fn private_files(&mut self) {
        let ranks = some_ranks(self.workload.nprocs, self.most(RECORDS, 80));
        let dumps = match ranks.len() {
            ..40 => self.workload.random.int(1, 4),
            _ => 1,
        };
        self.each(&ranks, self.read, "in/restart", "bin");
        let computing = self.computing() / dumps as f64;
        for (dump, bytes) in (0..).zip(self.workload.split(self.written, dumps)) {
            self.workload.compute(computing);
            self.each(&ranks, bytes, &format!("out/dump{dump:03}"), "bin");
        }
    }

    /// Files that groups of processes share: tiles read, parts written.
    fn groups(&mut self) {
        let nprocs = self.workload.nprocs;
        let width = self.workload.random.int(2, 9).min(nprocs);
        let files = (nprocs / width).clamp(1, RECORDS / 8 / width);
        let spacing = nprocs / (files * width).max(1);
        let steps = (RECORDS / 8 / (files * width)).clamp(1, 6);
        let computing = self.computing() / steps as f64;
        let read = self.workload.split(self.read, steps);
        let written = self.workload.split(self.written, steps);
        for step in 0..steps as usize {
            for (bytes, kind) in [(read.get(step), "in/tile"), (written.get(step), "out/part")] {
                let Some(bytes) = bytes else { continue };
                let shares = self.workload.split(*bytes, files * width);
                self.workload.phase((0..).zip(shares).map(|(at, bytes)| {
                    let path = format!("{}/{kind}_{step:02}_{:04}.dat", self.dir, at / width);
                    either(path, at * spacing, bytes)
                }));
                self.workload.compute(computing / 2.0);
            }
        }
    }

    /// Shared files of all processes through POSIX.
    fn shared_files(&mut self) {
        let random = &mut self.workload.random;
        let (inputs, outputs) = (random.int(2, 12), random.int(3, 30));
        self.inputs(inputs, "state", "dat", Api::Posix);
        self.outputs(outputs, Api::Posix, |at| format!("slab_{at:04}.dat"));
    }

    /// Files that a process writes and reads back.
    fn scratch(&mut self) {
        let ranks = some_ranks(self.workload.nprocs, self.most(36, 20));
        let mut shares = [self.read, self.written].map(|bytes| {
            let shares = self.workload.split(bytes, ranks.len() as i64);
            shares.into_iter()
        });
        // Something must be written to be read back; what is only read is basis sets.
        let kind = match self.written {
            0 => "in/basis",
            _ => "scr/int",
        };
        let computing = self.computing();
        self.workload.compute(computing);
        self.workload.phase(ranks.into_iter().map(|rank| {
            let path = format!("{}/{kind}.{rank:05}", self.dir);
            let moved = shares.each_mut().map(|shares| shares.next().unwrap_or(0));
            Access::new(path, rank, Api::Posix, moved)
        }));
        self.workload.compute(computing / 10.0);
    }

    /// Replicas: each reads the topology, writes a trajectory, and says in a text log what it does.
    fn trajectories(&mut self) {
        let replicas = some_ranks(self.workload.nprocs, self.most(20, 12));
        self.each(&replicas, self.read, "in/frames", "trr");
        let computing = self.computing();
        self.workload.compute(computing);
        self.each(&replicas, self.written, "out/traj", "xtc");
        let (written, until) = (self.written, self.workload.clock);
        for rank in replicas.into_iter().filter(|_| written > 0) {
            let bytes = self.workload.random.magnitude(500.0, 4e4) as i64;
            let path = format!("{}/out/md_{rank:04}.log", self.dir);
            (self.workload).background(Access::print(path, rank, bytes), until);
        }
    }

    /// Many files read, a few written; with several processes each takes its share of the files.
    fn many_files(&mut self) {
        let (least, largest) = (self.most(10, 6), self.most(120, 60));
        let random = &mut self.workload.random;
        let inputs = random.magnitude(least as f64, largest as f64) as i64;
        let place = match random.chance(0.12) {
            true => self.dir.replace("/scratch/", "/project/"),
            false => self.dir.clone(),
        };
        let nprocs = self.workload.nprocs;
        let reading = self.workload.split(self.read, inputs);
        let together = self.workload.random.int(4, 20) as usize;
        let computing = self.computing() / (1 + reading.len() / together) as f64;
        let mut at = 0..;
        for bytes in reading.chunks(together) {
            self.workload
                .phase(bytes.iter().zip(&mut at).map(|(bytes, at)| {
                    Access::read(format!("{place}/in/shard_{at:05}.rec"), at % nprocs, *bytes)
                }));
            self.workload.compute(computing);
        }
        let (least, most) = if self.read == 0 { (8, 60) } else { (1, 9) };
        let outputs = self.workload.random.int(least, most);
        let parts = self.workload.split(self.written, outputs);
        self.workload.phase((0..).zip(parts).map(|(at, bytes)| {
            let path = format!("{}/out/result_{at:03}.out", self.dir);
            Access::write(path, at % nprocs, bytes)
        }));
    }

    /// Reads or writes a private file of every rank.
    fn each(&mut self, ranks: &[i64], bytes: i64, name: &str, end: &str) {
        let name = format!("{}/{name}", self.dir);
        let files = private(self.workload, ranks, bytes, &name, &format!(".{end}"));
        self.workload.phase(files);
    }
}

/// A private file of every rank: it is read if it is an input.
pub(crate) fn private(
    workload: &mut Workload,
    ranks: &[i64],
    bytes: i64,
    name: &str,
    end: &str,
) -> Vec<Access> {
    let shares = workload.split(bytes, ranks.len() as i64);
    let files = shares.into_iter().zip(ranks);
    files
        .map(|(bytes, rank)| either(format!("{name}.{rank:05}{end}"), *rank, bytes))
        .collect()
}

/// What lies below a directory of inputs is read, everything else written.
fn either(path: String, rank: i64, bytes: i64) -> Access {
    match path.contains("/in/") {
        true => Access::read(path, rank, bytes),
        false => Access::write(path, rank, bytes),
    }
}
