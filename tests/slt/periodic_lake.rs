//! The lake that `.slt` files under `periodic/` ask: programs that write and read in phases, each made so that the answers follow from a few
//! round numbers. All of it is POSIX on `/scratch`, 8 OSTs; times are seconds since the log's start. A run takes 100 s unless said otherwise.
//!
//! | job | program, user | what it does |
//! |---|---|---|
//! | | | **2023-11-20, 00:00:00**: all start at once |
//! | 1 | ckpt, ada, on 2 nodes | writes ten files of 1 GB, each for 1 s, at 1, 11, .. 91, on OSTs 0 and 1 |
//! | 2 | ckpt, ada, on 4 nodes | takes 120 s; writes six files of 2 GB, each for 2 s, at 1, 21, .. 101, on OST 6 |
//! | 3 | ckpt, ada, on 1 node | writes 4 GB from 95 to 99 on OST 7 |
//! | 4 | reader, bob | reads 10 GB from 1 to 9 on OST 1; 300 opens |
//! | 5 | burst, bob | as job 1, half a second later, on OSTs 1 and 2 |
//! | 6 | burst, bob | the same on OST 4 |
//! | 7 | reader, bob | reads 10 GB from 5 to 9 on OSTs 1 and 3; 300 opens |
//! | 8 | empty, bob | a log without modules |
//! | | stub | 100 bytes of a log |
//! | | | **2023-11-21 to 25 and 29 to 2023-12-03: one run a day** |
//! | 21 to 25 | shift, ada | writes 2 GB from 1 to 9; job 21 has 99 files more in which it did nothing, so that its log is the largest |
//! | 31 to 35 | shift, ada | writes 3 GB from 91 to 99 |
//!
//! Slurm knows jobs 1 to 3. In each file the processes were busy for all of its window.

use crate::made::{self, job, layout, record};
use iolode::lake::Lake;
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::counters::posix;
use iolode::source::darshan::write::{DarshanLog, Module, Record, Records};
use std::path::Path;

/// 2023-11-20 00:00:00 UTC.
const START: i64 = 1_700_438_400;
const DAY: i64 = 86_400;
const GB: i64 = 1_000_000_000;
const NPROCS: i64 = 4;

/// The lake, in a new directory.
pub(crate) fn periodic(directory: &Path) -> Lake {
    let programs = [
        (0..10).fold(Program::new(1, START, 100, "ckpt"), |program, i| {
            program.writes(GB, f64::from(10 * i) + 1.0, 1.0, &[0, 1])
        }),
        (0..6).fold(Program::new(2, START, 120, "ckpt"), |program, i| {
            program.writes(2 * GB, f64::from(20 * i) + 1.0, 2.0, &[6])
        }),
        Program::new(3, START, 100, "ckpt").writes(4 * GB, 95.0, 4.0, &[7]),
        Program::new(4, START, 100, "reader").reads(10 * GB, 1.0, 8.0, &[1]),
        burst(5, &[1, 2]),
        burst(6, &[4]),
        Program::new(7, START, 100, "reader").reads(10 * GB, 5.0, 4.0, &[1, 3]),
    ];
    let days = (1..=5).flat_map(|day| {
        let run = |job_id, day| Program::new(job_id, START + day * DAY, 100, "shift");
        let before = run(20 + day, day).writes(2 * GB, 1.0, 8.0, &[5]);
        let idle = if day == 1 { 99 } else { 0 };
        let before = (0..idle).fold(before, |program, _| program.file(&[], &[], &[5]));
        let since = run(30 + day, day + 8).writes(3 * GB, 91.0, 8.0, &[5]);
        [before, since]
    });
    let logs = programs.into_iter().chain(days).map(Program::named);
    let empty = Program::new(8, START, 100, "empty").log;
    let others = [
        ("bob_empty_id8.darshan".to_string(), empty.to_bytes()),
        ("stub.darshan".to_string(), empty.to_bytes()[..100].to_vec()),
    ];
    let logs: Vec<_> = logs.chain(others).collect();
    made::lake(directory, &logs, &[("sacct.psv", SACCT.to_string())])
}

/// What `sacct -D -P` printed, in UTC.
const SACCT: &str = "\
JobID|JobIDRaw|User|UID|Account|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|NodeList|JobName
1|1|ada|1000|phys|regular|COMPLETED|2023-11-19T23:00:00|2023-11-20T00:00:00|2023-11-20T00:01:40|100|2|8|nid[01-02]|ckpt
2|2|ada|1000|phys|regular|COMPLETED|2023-11-19T23:00:00|2023-11-20T00:00:00|2023-11-20T00:02:00|120|4|16|nid[03-06]|ckpt
3|3|ada|1000|phys|regular|COMPLETED|2023-11-19T23:00:00|2023-11-20T00:00:00|2023-11-20T00:01:40|100|1|4|nid07|ckpt
";

fn burst(job_id: i64, osts: &[i64]) -> Program {
    let program = Program::new(job_id, START, 100, "burst");
    (0..10).fold(program, |program, i| {
        program.writes(GB, f64::from(10 * i) + 1.5, 1.0, osts)
    })
}

/// A log to which files are added one by one.
struct Program {
    name: &'static str,
    log: DarshanLog,
    files: Vec<Record>,
    layouts: Vec<iolode::source::darshan::write::Layout>,
}

impl Program {
    fn new(job_id: i64, start: i64, seconds: i64, name: &'static str) -> Self {
        let uid = if ["ckpt", "shift"].contains(&name) {
            1000
        } else {
            2000
        };
        let exe = format!("/sw/bin/{name}");
        Self {
            name,
            log: DarshanLog {
                job: job(job_id, uid, start, seconds, NPROCS, &exe),
                ..DarshanLog::default()
            },
            files: vec![],
            layouts: vec![],
        }
    }

    fn file(mut self, ints: &[(usize, i64)], floats: &[(usize, f64)], osts: &[i64]) -> Self {
        let id = self.files.len() as u64 + 1;
        let path = format!("/scratch/{}/{id}.dat", self.name);
        self.log.names.push((id, path.into_bytes()));
        self.files.push(record(id, -1, ints, floats));
        self.layouts.push(layout(id, 1 << 20, osts));
        self
    }

    fn writes(self, bytes: i64, start: f64, seconds: f64, osts: &[i64]) -> Self {
        let ints = [
            (posix::WRITES, bytes / 1_000_000),
            (posix::BYTES_WRITTEN, bytes),
            (posix::MAX_BYTE_WRITTEN, bytes - 1),
        ];
        let floats = [
            (posix::F_WRITE_START_TIMESTAMP, start),
            (posix::F_WRITE_END_TIMESTAMP, start + seconds),
            (posix::F_WRITE_TIME, seconds * NPROCS as f64),
        ];
        self.file(&ints, &floats, osts)
    }

    fn reads(self, bytes: i64, start: f64, seconds: f64, osts: &[i64]) -> Self {
        let ints = [
            (posix::OPENS, 300),
            (posix::READS, bytes / 1_000_000),
            (posix::BYTES_READ, bytes),
            (posix::MAX_BYTE_READ, bytes - 1),
        ];
        let floats = [
            (posix::F_READ_START_TIMESTAMP, start),
            (posix::F_READ_END_TIMESTAMP, start + seconds),
            (posix::F_READ_TIME, seconds * NPROCS as f64),
        ];
        self.file(&ints, &floats, osts)
    }

    /// Name and bytes of the log.
    fn named(mut self) -> (String, Vec<u8>) {
        let job = &self.log.job;
        let user = if job.uid == 1000 { "ada" } else { "bob" };
        let name = format!("{user}_{}_id{}_11-20-0-1_1.darshan", self.name, job.job_id);
        let modules = [
            (ModuleId::POSIX, 4, Records::Counters(self.files)),
            (ModuleId::LUSTRE, 2, Records::Lustre(self.layouts)),
        ];
        self.log.modules = modules
            .map(|(id, version, records)| Module::new(id, version, records))
            .into();
        (name, self.log.to_bytes())
    }
}
