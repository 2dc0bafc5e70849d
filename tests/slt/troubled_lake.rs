//! The lake that `.slt` files under `troubled/` ask: programs in trouble, and some that are not, each made so that the answers follow
//! from a few round numbers. All of it is POSIX on `/scratch`, 8 OSTs, stripes of 1 MiB; times are seconds since the log's start.
//!
//! A file is shared by all processes unless a process is named. Requests are of 1 MB and consecutive, and a file is busy for all of
//! its window, unless said otherwise. 1 MB is 1,000,000 B, 1 MiB 1,048,576 B.
//!
//! | job | program, processes | what it does |
//! |---|---|---|
//! | | | **2023-11-20: large programs**, files on all OSTs, `in.dat` read and `out.dat` written |
//! | 1 | wide, 2,000 | 20 GB from 10 to 50, busy for half of it, half of the requests not consecutive; 20 GB from 60 to 100 |
//! | 2 | wide, 2,000 | 40 GB from 10 to 60; 30 GB from 60 to 110 |
//! | 3 | wide, 2,000 | 60 GB from 10 to 40, above 1 GB/s; writes nothing |
//! | 4 | half, 2,000 | as job 1, all consecutive and busy, on OSTs 0 to 3 |
//! | 5 | thin, 1,000 | 20 GB from 10 to 50; 20 GB from 60 to 100: not more than 1,000 processes |
//! | 6 | light, 2,000 | 19.999 GB from 10 to 50, the same from 60 to 100: less than 10 MB for each process |
//! | 7 | fast, 2,000 | 800 GB from 10 to 30: 40 GB/s; 400 GB from 30 to 50: 20 GB/s |
//! | 8 | deep, 2,000 | reads 20 GB of `a.dat` on OSTs 0 to 3 from 10 to 40, and 4 GB of `b.dat` on OSTs 4 to 7 from 30 to 50 |
//! | | | **2023-11-21 and 22: a slow OST** |
//! | 11 to 14 | spread, 8 | process i writes 20 MB on OST i from 10 on: in k s by job 10 + k, in 3 k s on OST 5 |
//! | 101 to 125 | pairs, 9 | the same in 1 s and 3 s; process 8 writes 20 MB on OSTs 5 and 6 in 3 s |
//! | | | **2023-11-23, 10:00:00: neighbours**, with LMT's samples of OSTs 2 and 3 every 5 s until 10:01:30 |
//! | 30 | left, 4, uid 1000 | writes 80 MiB on OSTs 2 and 3 from 10 to 50: 1 MiB/s on each |
//! | 30 | post, 4, uid 1000 | process 0 writes 10 MiB on OST 3 from 20 to 30: 1 MiB/s |
//! | 31 | right, 4, uid 2000 | starts at 10:00:20; process 0 writes 60 MiB on OST 3 from 10 to 40: 2 MiB/s |
//! | 32 | reader, 2, uid 2000 | reads 40 MiB on OST 2 from 40 to 80: 1 MiB/s |
//! | 33 | far, 2, uid 2000 | writes 80 MiB on OST 4 from 10 to 50 |
//! | | | LMT saw what they did, and 1 MiB/s more written on OST 3 from 10:00:10 to 10:00:50 |
//! | | | **2023-11-24: stripes**, all written from 10 on |
//! | 41, 42 | big, 64 | 5 GB on OST 1 alone in 2.5 s |
//! | 43 | many, 64 | each process 10 MB on all OSTs in 1 s |
//! | 44 | alone, 64 | process 0 writes 4 GB on OSTs 0 to 3 in 2 s |
//! | 45 | few, 2 | the same |
//! | 46 | short, 2 | 1 MB on all OSTs in half a second |
//! | | | **2023-11-25: root causes**, files on all OSTs |
//! | 51 | hotspot, 32 | writes `hot.dat`, 600 MB on OST 6, from 10 to 16, busy for 4.5 s; 400 MB from 16 to 20, busy for 1.5 s |
//! | 52 | master, 16 | process 0 reads 160 MB of `own.dat` from 10 to 18; all read 40 MB of `all.dat` from 18 to 20, the slowest in 2 s, the fastest in 0.5 s |
//! | 53 | stepwise, 4 | writes 20 files of 10 MB one after another, each for 1 s from 10 on, then two of 100 MB from 30 to 35 |
//! | 54 | monolith, 4 | writes `whole.dat`, 180 MB, from 10 to 28, then 10 files of 2 MB from 28 to 30 |
//! | 55 | tiny, 4 | writes 60 MB from 10 to 16 in 2,000 requests: 1,000 of at most 100 B, 500 of at most 1 KiB, 500 of them consecutive; 400 MB from 16 to 20 |
//! | 56 | idle, 4 | as monolith, but `whole.dat` is busy for 1 s only |
//! | 57 | near, 4 | as monolith, but from 10 to 27, and then from 27 to 30: 85 % of the time |
//! | 58 | twin, 32 | as hotspot, but on OSTs 5 and 6 |
//! | 59 | steady, 4 | as tiny, but 1,500 of the requests are consecutive |
//! | | | **2023-11-26: what cannot be read**, or not all of it |
//! | 61 | torn, 2 | its last 20 bytes are missing |
//! | | stub | 100 bytes of a log |
//! | | killed | a log whose header was not written: zeros |
//! | 62 | full, 2 | Darshan had no room for all records of POSIX |
//! | | notes | a text |
//! | | | **2023-12-01 to 05 and 09 to 13: one run a day**, writes 2 GB in requests of 100 kB from 10 on |
//! | 71 to 80 | daily, 100 | in 1, 1.25, 1.6, 2, 2.5 s; then in 5, 5, 4, 4, 1 s |
//! | 81 to 90 | even, 100 | in 2 s |

use crate::made::{self, job, layout, record};
use iolode::lake::Lake;
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::counters::posix;
use iolode::source::darshan::write::{DarshanLog, Module, Record, Records};
use std::path::Path;

/// 2023-11-20 00:00:00 UTC.
const START: i64 = 1_700_438_400;
const DAY: i64 = 86_400;
const MB: i64 = 1_000_000;
const GB: i64 = 1000 * MB;
const MIB: i64 = 1 << 20;
const ALL: [i64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
/// The rank of records of files that all processes share.
const SHARED: i64 = -1;

/// The lake, in a new directory.
pub(crate) fn troubled(directory: &Path) -> Lake {
    let programs = [
        large(),
        slow_ost(),
        neighbours(),
        stripes(),
        root_causes(),
        daily(),
    ];
    let named = programs.into_iter().flatten().map(Program::file);
    let logs: Vec<_> = named.chain(unreadable()).collect();
    made::lake(directory, &logs, &[("filesystem_scr.sql", lmt())])
}

/// A log to which files are added one by one.
struct Program {
    log: DarshanLog,
    files: Vec<Record>,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Read,
    Write,
}
use Direction::{Read, Write};

impl Program {
    fn new(job_id: i64, uid: i64, start: i64, nprocs: i64, name: &str) -> Self {
        let log = DarshanLog {
            job: job(job_id, uid, start, 200, nprocs, &format!("/sw/bin/{name}")),
            ..DarshanLog::default()
        };
        let files = vec![];
        let mut program = Self { log, files };
        let module =
            |id, records| Module::new(id, if id == ModuleId::POSIX { 4 } else { 2 }, records);
        program.log.modules = vec![
            module(ModuleId::POSIX, Records::Counters(vec![])),
            module(ModuleId::LUSTRE, Records::Lustre(vec![])),
        ];
        program
    }

    /// A file of which `bytes` are moved from `window.0` to `window.1`.
    fn file_of(
        mut self,
        name: &str,
        rank: i64,
        direction: Direction,
        bytes: i64,
        window: (f64, f64),
        osts: &[i64],
    ) -> Self {
        let id = self.files.len() as u64 + 1;
        let program = String::from_utf8_lossy(&self.log.job.exe).replace("/sw/bin/", "");
        let path = format!("/scratch/{program}/{name}");
        self.log.names.push((id, path.into_bytes()));
        let requests = bytes / MB;
        let ints = match direction {
            Read => [
                (posix::READS, requests),
                (posix::CONSEC_READS, requests),
                (posix::SIZE_READ_100K_1M, requests),
                (posix::BYTES_READ, bytes),
                (posix::MAX_BYTE_READ, bytes - 1),
            ],
            Write => [
                (posix::WRITES, requests),
                (posix::CONSEC_WRITES, requests),
                (posix::SIZE_WRITE_100K_1M, requests),
                (posix::BYTES_WRITTEN, bytes),
                (posix::MAX_BYTE_WRITTEN, bytes - 1),
            ],
        };
        let floats = match direction {
            Read => [
                (posix::F_READ_START_TIMESTAMP, window.0),
                (posix::F_READ_END_TIMESTAMP, window.1),
            ],
            Write => [
                (posix::F_WRITE_START_TIMESTAMP, window.0),
                (posix::F_WRITE_END_TIMESTAMP, window.1),
            ],
        };
        self.files.push(record(id, rank, &ints, &floats));
        if let Records::Lustre(layouts) = &mut self.log.modules[1].records {
            layouts.push(layout(id, MIB, osts));
        }
        self.busy(window.1 - window.0)
    }

    fn reads(self, name: &str, bytes: i64, window: (f64, f64), osts: &[i64]) -> Self {
        self.file_of(name, SHARED, Read, bytes, window, osts)
    }

    fn writes(self, name: &str, bytes: i64, window: (f64, f64), osts: &[i64]) -> Self {
        self.file_of(name, SHARED, Write, bytes, window, osts)
    }

    /// The last file was busy for so many seconds, in all processes that share it.
    fn busy(mut self, seconds: f64) -> Self {
        let nprocs = self.log.job.nprocs as f64;
        let file = self.files.last_mut().expect("a file");
        let direction = match file.ints[posix::BYTES_READ] > 0 {
            true => posix::F_READ_TIME,
            false => posix::F_WRITE_TIME,
        };
        match file.rank == SHARED {
            true => {
                file.floats[direction] = seconds * nprocs;
                file.floats[posix::F_SLOWEST_RANK_TIME] = seconds;
                file.floats[posix::F_FASTEST_RANK_TIME] = seconds;
            }
            false => file.floats[direction] = seconds,
        }
        self
    }

    /// Counters of the last file.
    fn with(mut self, ints: &[(usize, i64)], floats: &[(usize, f64)]) -> Self {
        let file = self.files.last_mut().expect("a file");
        ints.iter().for_each(|(i, value)| file.ints[*i] = *value);
        floats
            .iter()
            .for_each(|(i, value)| file.floats[*i] = *value);
        self
    }

    /// The log as Darshan writes it.
    fn bytes(mut self) -> Vec<u8> {
        self.log.modules[0].records = Records::Counters(self.files);
        self.log.to_bytes()
    }

    /// Name and bytes of the log.
    fn file(self) -> (String, Vec<u8>) {
        let (exe, job_id) = (&self.log.job.exe, self.log.job.job_id);
        let program = String::from_utf8_lossy(exe).replace("/sw/bin/", "");
        let user = if self.log.job.uid == 1000 {
            "ada"
        } else {
            "bob"
        };
        let name = format!("{user}_{program}_id{job_id}_11-20-0-{job_id}_1.darshan");
        (name, self.bytes())
    }
}

fn large() -> Vec<Program> {
    let at = |hour: i64| START + hour * 3600;
    let program = |job_id, nprocs, name| Program::new(job_id, 1000, at(job_id), nprocs, name);
    let half = |requests: i64| [(posix::CONSEC_READS, requests / 2)];
    vec![
        program(1, 2000, "wide")
            .reads("in.dat", 20 * GB, (10.0, 50.0), &ALL)
            .busy(20.0)
            .with(&half(20_000), &[])
            .writes("out.dat", 20 * GB, (60.0, 100.0), &ALL),
        program(2, 2000, "wide")
            .reads("in.dat", 40 * GB, (10.0, 60.0), &ALL)
            .writes("out.dat", 30 * GB, (60.0, 110.0), &ALL),
        program(3, 2000, "wide").reads("in.dat", 60 * GB, (10.0, 40.0), &ALL),
        program(4, 2000, "half")
            .reads("in.dat", 20 * GB, (10.0, 50.0), &ALL[..4])
            .writes("out.dat", 20 * GB, (60.0, 100.0), &ALL[..4]),
        program(5, 1000, "thin")
            .reads("in.dat", 20 * GB, (10.0, 50.0), &ALL)
            .writes("out.dat", 20 * GB, (60.0, 100.0), &ALL),
        program(6, 2000, "light")
            .reads("in.dat", 20 * GB - MB, (10.0, 50.0), &ALL)
            .writes("out.dat", 20 * GB - MB, (60.0, 100.0), &ALL),
        program(7, 2000, "fast")
            .reads("in.dat", 800 * GB, (10.0, 30.0), &ALL)
            .writes("out.dat", 400 * GB, (30.0, 50.0), &ALL),
        program(8, 2000, "deep")
            .reads("a.dat", 20 * GB, (10.0, 40.0), &ALL[..4])
            .reads("b.dat", 4 * GB, (30.0, 50.0), &ALL[4..]),
    ]
}

fn slow_ost() -> Vec<Program> {
    let spread = |program: Program, seconds: f64| {
        ALL.iter().fold(program, |program, ost| {
            let seconds = if *ost == 5 { 3.0 * seconds } else { seconds };
            let name = format!("{ost}.dat");
            program.file_of(&name, *ost, Write, 20 * MB, (10.0, 10.0 + seconds), &[*ost])
        })
    };
    let four = (1..=4).map(|k| {
        let start = START + DAY + k * 3600;
        spread(Program::new(10 + k, 1000, start, 8, "spread"), k as f64)
    });
    let pairs = (1..=25).map(|k| {
        let start = START + 2 * DAY + k * 600;
        let program = spread(Program::new(100 + k, 1000, start, 9, "pairs"), 1.0);
        program.file_of("both.dat", 8, Write, 20 * MB, (10.0, 13.0), &[5, 6])
    });
    four.chain(pairs).collect()
}

fn neighbours() -> Vec<Program> {
    let start = START + 3 * DAY + 10 * 3600;
    vec![
        Program::new(30, 1000, start, 4, "left").writes("out.dat", 80 * MIB, (10.0, 50.0), &[2, 3]),
        Program::new(30, 1000, start, 4, "post").file_of(
            "out.dat",
            0,
            Write,
            10 * MIB,
            (20.0, 30.0),
            &[3],
        ),
        Program::new(31, 2000, start + 20, 4, "right").file_of(
            "out.dat",
            0,
            Write,
            60 * MIB,
            (10.0, 40.0),
            &[3],
        ),
        Program::new(32, 2000, start, 2, "reader").reads("in.dat", 40 * MIB, (40.0, 80.0), &[2]),
        Program::new(33, 2000, start, 2, "far").writes("out.dat", 80 * MIB, (10.0, 50.0), &[4]),
    ]
}

/// What LMT saw of it.
fn lmt() -> String {
    // Seconds of 10:00:00 on in which MiB/s were read from an OST, or written to it.
    let read_2 = [(40, 80, 1)];
    let written_2 = [(10, 50, 1)];
    let written_3 = [(10, 50, 1), (20, 30, 1), (30, 60, 2), (10, 50, 1)];
    let until = |at: i64, flows: &[(i64, i64, i64)]| -> i64 {
        let moved = flows
            .iter()
            .map(|(from, to, rate)| (at.min(*to) - from).max(0) * rate);
        moved.sum::<i64>() * MIB
    };
    let samples = 0..=18i64;
    let row = |ost: i64, i: i64, read: i64, written: i64| {
        format!("({ost},{},{read},{written},NULL,900,100,99,1)", i + 1)
    };
    let rows = samples.clone().flat_map(|i| {
        let at = 5 * i;
        [
            row(1, i, until(at, &read_2), until(at, &written_2)),
            row(2, i, 0, until(at, &written_3)),
        ]
    });
    let info = [
        "(1,1,'scr-OST0002','oss1',0,'')",
        "(2,1,'scr-OST0003','oss1',0,'')",
    ];
    let tables = [
        ("OSS_INFO", vec!["(1,1,'oss1','')".to_string()]),
        ("OST_DATA", rows.collect()),
        ("OST_INFO", info.map(String::from).to_vec()),
    ];
    let times = samples.map(|i| format!("2023-11-23 10:{:02}:{:02}", 5 * i / 60, 5 * i % 60));
    made::mysqldump(&tables, &times.collect::<Vec<_>>())
}

fn stripes() -> Vec<Program> {
    let program = |job_id, nprocs, name| {
        Program::new(
            job_id,
            1000,
            START + 4 * DAY + (job_id - 40) * 3600,
            nprocs,
            name,
        )
    };
    let one =
        |program: Program| program.file_of("out.dat", 0, Write, 4 * GB, (10.0, 12.0), &ALL[..4]);
    vec![
        program(41, 64, "big").writes("out.dat", 5 * GB, (10.0, 12.5), &[1]),
        program(42, 64, "big").writes("out.dat", 5 * GB, (10.0, 12.5), &[1]),
        (0..64).fold(program(43, 64, "many"), |program, rank| {
            let name = format!("{rank}.dat");
            program.file_of(&name, rank, Write, 10 * MB, (10.0, 11.0), &ALL)
        }),
        one(program(44, 64, "alone")),
        one(program(45, 2, "few")),
        program(46, 2, "short").writes("out.dat", MB, (10.0, 10.5), &ALL),
    ]
}

fn root_causes() -> Vec<Program> {
    let program = |job_id, nprocs, name| {
        Program::new(
            job_id,
            1000,
            START + 5 * DAY + (job_id - 50) * 3600,
            nprocs,
            name,
        )
    };
    let hot = |program: Program, osts: &[i64]| {
        program
            .writes("hot.dat", 600 * MB, (10.0, 16.0), osts)
            .busy(4.5)
            .writes("rest.dat", 400 * MB, (16.0, 20.0), &ALL)
            .busy(1.5)
    };
    let files = |program: Program, end: f64, busy: f64| {
        let program = program
            .writes("whole.dat", 180 * MB, (10.0, end), &ALL)
            .busy(busy);
        (0..10).fold(program, |program, i| {
            program.writes(&format!("{i}.dat"), 2 * MB, (end, 30.0), &ALL)
        })
    };
    let bits = |program: Program, consecutive| {
        let ints = [
            (posix::WRITES, 2000),
            (posix::SIZE_WRITE_0_100, 1000),
            (posix::SIZE_WRITE_100_1K, 500),
            (posix::SIZE_WRITE_100K_1M, 500),
            (posix::CONSEC_WRITES, consecutive),
        ];
        program
            .writes("bits.dat", 60 * MB, (10.0, 16.0), &ALL)
            .with(&ints, &[])
            .writes("rest.dat", 400 * MB, (16.0, 20.0), &ALL)
    };
    let ends = [
        (posix::SLOWEST_RANK, 3),
        (posix::SLOWEST_RANK_BYTES, 4 * MB),
        (posix::FASTEST_RANK, 7),
        (posix::FASTEST_RANK_BYTES, 2 * MB),
    ];
    let steps = (0..20).fold(program(53, 4, "stepwise"), |program, i| {
        let from = 10.0 + f64::from(i);
        program.writes(&format!("{i}.dat"), 10 * MB, (from, from + 1.0), &ALL)
    });
    vec![
        hot(program(51, 32, "hotspot"), &[6]),
        program(52, 16, "master")
            .file_of("own.dat", 0, Read, 160 * MB, (10.0, 18.0), &ALL)
            .reads("all.dat", 40 * MB, (18.0, 20.0), &ALL)
            .with(&ends, &[(posix::F_FASTEST_RANK_TIME, 0.5)]),
        steps.writes("20.dat", 100 * MB, (30.0, 35.0), &ALL).writes(
            "21.dat",
            100 * MB,
            (30.0, 35.0),
            &ALL,
        ),
        files(program(54, 4, "monolith"), 28.0, 18.0),
        bits(program(55, 4, "tiny"), 500),
        files(program(56, 4, "idle"), 28.0, 1.0),
        files(program(57, 4, "near"), 27.0, 17.0),
        hot(program(58, 32, "twin"), &[5, 6]),
        bits(program(59, 4, "steady"), 1500),
    ]
}

fn unreadable() -> Vec<(String, Vec<u8>)> {
    let program = |job_id, name| {
        Program::new(job_id, 1000, START + 6 * DAY, 2, name).writes(
            "out.dat",
            MB,
            (10.0, 11.0),
            &[0],
        )
    };
    let mut torn = program(61, "torn").bytes();
    torn.truncate(torn.len() - 20);
    let stub = program(63, "stub").bytes()[..100].to_vec();
    let mut killed = program(64, "killed").bytes();
    killed[..1024].fill(0);
    let mut full = program(62, "full");
    full.log.partial = 1 << ModuleId::POSIX.0;
    [
        ("torn", torn),
        ("stub", stub),
        ("killed", killed),
        ("full", full.bytes()),
        ("notes", b"a text".to_vec()),
    ]
    .map(|(name, bytes)| (format!("{name}.darshan"), bytes))
    .to_vec()
}

fn daily() -> Vec<Program> {
    let day = |i: i64| START + DAY * (if i < 5 { 11 } else { 14 } + i);
    let seconds = [1.0, 1.25, 1.6, 2.0, 2.5, 5.0, 5.0, 4.0, 4.0, 1.0];
    let run = |(i, seconds): (usize, f64)| {
        let i = i as i64;
        let one = |job_id, name, seconds: f64| {
            let program = Program::new(job_id, 1000, day(i), 100, name);
            let requests = [
                (posix::WRITES, 20_000),
                (posix::CONSEC_WRITES, 20_000),
                (posix::SIZE_WRITE_10K_100K, 20_000),
                (posix::SIZE_WRITE_100K_1M, 0),
            ];
            program
                .writes("out.dat", 2 * GB, (10.0, 10.0 + seconds), &ALL)
                .with(&requests, &[])
        };
        [one(71 + i, "daily", seconds), one(81 + i, "even", 2.0)]
    };
    seconds.into_iter().enumerate().flat_map(run).collect()
}
