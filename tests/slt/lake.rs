//! The lake that `.slt` files ask: a few logs made by hand, so that every number in an answer can be told in advance.
//!
//! | log | job, uid | what it is |
//! |---|---|---|
//! | a | 100, 1000 | `ior`, 4 processes, 22:13:20 to 22:15:00 on 2023-11-14: one shared file, one of two processes, one of one, `<STDOUT>` |
//! | copy of a | 100, 1000 | the same with bzip2 |
//! | b | 100, 1000 | a script that starts an hour after a ends |
//! | c | 100, 1000 | the same script 25 hours after b ends |
//! | d | 100, 2000 | another user's, while a runs |
//! | e | 200, 1000 | a record of each other module; counter i is i + 1, floating-point counter i is (i + 1) / 4 |
//! | broken | | no log at all |
//!
//! Slurm's accounting of ada's job 100 (22:13:10 to 22:16:40, two nodes, one srun), of the array task 199_3 with the raw id 200 on one of them,
//! and of job 300, which was requeued and left no log. LMT's samples of two OSTs and an MDT of that file system, which it
//! calls `scr`, from 22:13:20 to 22:13:50 every 5 s; one sample of OST 7 is missing, and its counters fall once.

use crate::made::{self, job, layout, record};
use iolode::lake::Lake;
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::counters::{
    bgq, daos, dfs, h5d, h5f, mpiio, pnetcdf_file, pnetcdf_var, posix, stdio,
};
use iolode::source::darshan::header::Compression;
use iolode::source::darshan::write::{
    Apmpi, ApmpiRecord, DarshanLog, Extra, Heatmap, Mdhim, Module, Record, Records, Segment, Trace,
};
use std::path::Path;

/// 2023-11-14 22:13:20 UTC.
const START: i64 = 1_700_000_000;
/// Darshan's id of `<STDOUT>`.
const STDOUT: u64 = 15_920_181_672_442_173_319;

/// The lake, in a new directory.
pub(crate) fn small(directory: &Path) -> Lake {
    let b = script(1000, START + 100 + 3600);
    let c = script(1000, START + 100 + 3600 + 10 + 25 * 3600);
    let copy = DarshanLog {
        compression: Compression::Bzip2,
        ..ior()
    };
    let logs = [
        ("ada_ior_id100_11-14-80000-1_1.darshan", ior()),
        ("ada_ior_id100_11-14-80000-2_1.darshan", copy),
        ("ada_plot_id100_11-14-83700-3_1.darshan", b),
        ("ada_plot_id100_11-16-900-4_1.darshan", c),
        (
            "bob_plot_id100_11-14-80000-5_1.darshan",
            script(2000, START),
        ),
        ("ada_all_id200_11-14-80000-6_1.darshan", all()),
    ];
    let logs = logs.map(|(name, log)| (name.to_string(), log.to_bytes()));
    let broken = ("broken.darshan".to_string(), b"no log at all".to_vec());
    let logs: Vec<_> = logs.into_iter().chain([broken]).collect();
    let dumps = [
        ("sacct.psv", SACCT.to_string()),
        ("filesystem_scr.sql", lmt()),
    ];
    made::lake(directory, &logs, &dumps)
}

/// What `sacct -D -P` printed, in UTC.
const SACCT: &str = "\
JobID|JobIDRaw|User|UID|Account|Partition|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|NTasks|NodeList|MaxRSS|AllocTRES|JobName
100|100|ada|1000|phys|regular|COMPLETED|0:0|2023-11-14T22:13:00|2023-11-14T22:13:00|2023-11-14T22:13:10|2023-11-14T22:16:40|210|60|2|8||nid[01-02]||billing=8,cpu=8,mem=4G,node=2|io|test
100.batch|100.batch|||phys||COMPLETED|0:0|2023-11-14T22:13:10|2023-11-14T22:13:10|2023-11-14T22:13:10|2023-11-14T22:16:40|210||1|4|1|nid01|2048K|cpu=4,mem=2G,node=1|batch
100.0|100.0|||phys||COMPLETED|0:0|2023-11-14T22:13:19|2023-11-14T22:13:19|2023-11-14T22:13:19|2023-11-14T22:15:01|102||2|8|4|nid[01-02]|1M|cpu=8,mem=4G,node=2|ior
199_3|200|ada|1000|phys|regular|FAILED|3:0|2023-11-14T22:00:00|2023-11-14T22:00:00|2023-11-14T22:13:15|2023-11-14T22:14:25|70|60|1|4||nid02||billing=4,cpu=4,mem=2G,node=1|all
300|300|bob|2000|clim|debug|REQUEUED|0:0|2023-11-14T23:00:00|2023-11-14T23:00:00|2023-11-14T23:00:10|2023-11-14T23:30:10|1800|UNLIMITED|4|16||nid[04-07]||billing=16,cpu=16,mem=8G,node=4|again
300|300|bob|2000|clim|debug|CANCELLED by 0|0:15|2023-11-14T23:30:10|2023-11-14T23:30:10|2023-11-14T23:31:00|2023-11-15T01:01:00|5400|UNLIMITED|4|16||nid[04-07]||billing=16,cpu=16,mem=8G,node=4|again
";

/// A mysqldump of an LMT database.
fn lmt() -> String {
    let times = (0..7).map(|i| format!("2023-11-14 22:13:{}", 20 + 5 * i));
    // Read and write counters of OST 3, then of OST 7, whose sample at 22:13:40 is missing and which is started anew after.
    let three = [
        (100, 1000),
        (100, 6000),
        (100, 9000),
        (150, 9000),
        (150, 9000),
        (170, 9000),
        (170, 9100),
    ];
    let seven = [
        (0, 500),
        (0, 1500),
        (0, 2500),
        (200, 2500),
        (-1, -1),
        (30, 40),
        (30, 90),
    ];
    let rows = |ost: usize, counters: [(i64, i64); 7]| {
        let row = move |(i, (read, write)): (usize, (i64, i64))| {
            let (free, used) = (900 - 100 * ost, 100 + 100 * ost);
            (read >= 0).then(|| format!("({ost},{},{read},{write},NULL,{free},{used},99,1)", i + 1))
        };
        counters.into_iter().enumerate().filter_map(row)
    };
    let op = |ts: i64, op: i64, samples: i64| format!("(1,{ts},{op},{samples},0,0)");
    let samples = 1..=7i64;
    let each = |row: fn(i64) -> String| -> Vec<String> { samples.clone().map(row).collect() };
    let ops = samples
        .clone()
        .flat_map(|ts| [op(ts, 1, 100 + 10 * ts), op(ts, 2, 5 * ts * ts)]);
    let given = |rows: &[&str]| -> Vec<String> { rows.iter().map(|row| row.to_string()).collect() };
    let tables = [
        ("MDS_DATA", each(|ts| format!("(1,{ts},5,700,300,80,20)"))),
        ("MDS_INFO", given(&["(1,1,'scr-MDT0000','mds1','')"])),
        ("MDS_OPS_DATA", ops.collect()),
        (
            "OPERATION_INFO",
            given(&["(1,'open','reqs')", "(2,'getattr','reqs')"]),
        ),
        ("OSS_DATA", each(|ts| format!("(1,{ts},{}.5,50)", 10 * ts))),
        ("OSS_INFO", given(&["(1,1,'oss1','')"])),
        ("OST_DATA", rows(1, three).chain(rows(2, seven)).collect()),
        (
            "OST_INFO",
            given(&[
                "(1,1,'scr-OST0003','oss1',0,'')",
                "(2,1,'scr-OST0007','oss1',0,'')",
            ]),
        ),
    ];
    made::mysqldump(&tables, &times.collect::<Vec<_>>())
}

fn cut(mut record: Record, ints: usize, floats: usize) -> Record {
    record.ints.truncate(ints);
    record.floats.truncate(floats);
    record
}

fn ior() -> DarshanLog {
    use posix::{
        BYTES_READ, BYTES_WRITTEN, F_READ_END_TIMESTAMP, F_READ_START_TIMESTAMP, F_READ_TIME,
        F_SLOWEST_RANK_TIME,
    };
    use posix::{F_OPEN_END_TIMESTAMP, F_OPEN_START_TIMESTAMP};
    use posix::{
        F_WRITE_END_TIMESTAMP, F_WRITE_START_TIMESTAMP, F_WRITE_TIME, MAX_BYTE_READ,
        MAX_BYTE_WRITTEN, OPENS, READS,
    };
    use posix::{SIZE_WRITE_0_100, WRITES};
    let mut log = DarshanLog {
        job: job(100, 1000, START, 100, 4, "/sw/bin/ior -w"),
        ..DarshanLog::default()
    };
    for (id, name) in [
        (1, "/scratch/ada/out.dat"),
        (2, "/scratch/ada/in.dat"),
        (3, "/scratch/ada/log.dat"),
        (STDOUT, "<STDOUT>"),
    ] {
        log.names.push((id, name.into()));
    }
    let shared = record(
        1,
        -1,
        &[
            (OPENS, 4),
            (WRITES, 40),
            (BYTES_WRITTEN, 4000),
            (MAX_BYTE_WRITTEN, 3999),
            (SIZE_WRITE_0_100, 40),
        ],
        &[
            (F_OPEN_START_TIMESTAMP, 0.5),
            (F_OPEN_END_TIMESTAMP, 1.0),
            (F_WRITE_START_TIMESTAMP, 1.0),
            (F_WRITE_END_TIMESTAMP, 9.0),
            (F_WRITE_TIME, 8.0),
            (F_SLOWEST_RANK_TIME, 2.5),
        ],
    );
    let read = |rank, bytes, last, start: f64| {
        let floats = [
            (F_READ_START_TIMESTAMP, start),
            (F_READ_END_TIMESTAMP, start + 1.0),
            (F_READ_TIME, 0.5),
        ];
        record(
            2,
            rank,
            &[
                (OPENS, 1),
                (READS, 1),
                (BYTES_READ, bytes),
                (MAX_BYTE_READ, last),
            ],
            &floats,
        )
    };
    let both = record(
        3,
        2,
        &[
            (OPENS, 1),
            (READS, 1),
            (WRITES, 2),
            (BYTES_READ, 10),
            (BYTES_WRITTEN, 20),
            (MAX_BYTE_READ, 9),
            (MAX_BYTE_WRITTEN, 19),
        ],
        &[
            (F_READ_START_TIMESTAMP, 20.0),
            (F_READ_END_TIMESTAMP, 21.0),
            (F_WRITE_START_TIMESTAMP, 22.0),
            (F_WRITE_END_TIMESTAMP, 23.0),
        ],
    );
    let records = vec![shared, read(0, 100, 99, 10.0), read(1, 50, 149, 12.0), both];
    log.modules
        .push(Module::new(ModuleId::POSIX, 4, Records::Counters(records)));
    let collective = record(
        1,
        -1,
        &[
            (mpiio::COLL_OPENS, 4),
            (mpiio::COLL_WRITES, 40),
            (mpiio::BYTES_WRITTEN, 4000),
        ],
        &[],
    );
    log.modules.push(Module::new(
        ModuleId::MPIIO,
        3,
        Records::Counters(vec![cut(collective, 51, 17)]),
    ));
    let lines = record(
        STDOUT,
        0,
        &[
            (stdio::OPENS, 1),
            (stdio::WRITES, 3),
            (stdio::BYTES_WRITTEN, 30),
            (stdio::MAX_BYTE_WRITTEN, 29),
        ],
        &[],
    );
    log.modules.push(Module::new(
        ModuleId::STDIO,
        2,
        Records::Counters(vec![cut(lines, 14, 15)]),
    ));
    log.modules.push(Module::new(
        ModuleId::LUSTRE,
        2,
        Records::Lustre(vec![
            layout(1, 1024, &[3, 7]),
            layout(2, 1024, &[7]),
            layout(3, 1024, &[0, 3, 7]),
        ]),
    ));
    log
}

/// Reads 4,000 bytes of the file that `ior` writes.
fn script(uid: i64, start: i64) -> DarshanLog {
    let mut log = DarshanLog {
        job: job(100, uid, start, 10, 1, "python3 /sw/plot.py --all"),
        ..DarshanLog::default()
    };
    log.names.push((1, b"/scratch/ada/out.dat".to_vec()));
    let ints = [
        (posix::OPENS, 1),
        (posix::READS, 4),
        (posix::BYTES_READ, 4000),
        (posix::MAX_BYTE_READ, 3999),
    ];
    let floats = [
        (posix::F_READ_START_TIMESTAMP, 1.0),
        (posix::F_READ_END_TIMESTAMP, 3.0),
    ];
    log.modules.push(Module::new(
        ModuleId::POSIX,
        4,
        Records::Counters(vec![record(1, 0, &ints, &floats)]),
    ));
    log
}

fn all() -> DarshanLog {
    let mut log = DarshanLog {
        job: job(200, 1000, START, 60, 2, "/sw/bin/all"),
        ..DarshanLog::default()
    };
    log.names.push((9, b"/scratch/ada/all.h5".to_vec()));
    let counted = |ints: usize, floats: usize, extra: Extra| {
        let ints = (1..=ints as i64).collect();
        let floats = (1..=floats).map(|i| i as f64 / 4.0).collect();
        Records::Counters(vec![Record {
            id: 9,
            rank: 1,
            ints,
            floats,
            extra,
        }])
    };
    let stored = || Extra::Stored {
        pool: [1; 16],
        container: [2; 16],
        object: (3, 4),
    };
    let mut push = |id, version, records| log.modules.push(Module::new(id, version, records));
    push(
        ModuleId::H5F,
        3,
        counted(h5f::INTS.len(), h5f::FLOATS.len(), Extra::None),
    );
    push(
        ModuleId::H5D,
        2,
        counted(h5d::INTS.len(), h5d::FLOATS.len(), Extra::File(9)),
    );
    push(
        ModuleId::PNETCDF_FILE,
        3,
        counted(
            pnetcdf_file::INTS.len(),
            pnetcdf_file::FLOATS.len(),
            Extra::None,
        ),
    );
    push(
        ModuleId::PNETCDF_VAR,
        1,
        counted(
            pnetcdf_var::INTS.len(),
            pnetcdf_var::FLOATS.len(),
            Extra::File(9),
        ),
    );
    push(
        ModuleId::BGQ,
        2,
        counted(bgq::INTS.len(), bgq::FLOATS.len(), Extra::None),
    );
    push(
        ModuleId::DFS,
        1,
        counted(dfs::INTS.len(), dfs::FLOATS.len(), stored()),
    );
    push(
        ModuleId::DAOS,
        1,
        counted(daos::INTS.len(), daos::FLOATS.len(), stored()),
    );
    let mdhim = Mdhim {
        id: 9,
        rank: 1,
        ints: [5, 6, 7, 8, 2],
        floats: [0.25, 0.5, 0.75, 1.0],
        servers: vec![10, 20],
    };
    push(ModuleId::MDHIM, 1, Records::Mdhim(vec![mdhim]));
    push(
        ModuleId::APXC,
        1,
        Records::Raw(
            9u64.to_le_bytes()
                .into_iter()
                .chain(1i64.to_le_bytes())
                .collect(),
        ),
    );
    let calls = ApmpiRecord {
        id: 9,
        rank: 1,
        ints: vec![1, 2, 3],
        floats: vec![0.25, 0.5],
        node: b"nid00001".to_vec(),
    };
    let apmpi = Apmpi {
        id: 8,
        sync: true,
        variance_total: 0.25,
        variance_sync: 0.125,
        records: vec![calls],
    };
    push(ModuleId::APMPI, 1, Records::Apmpi(apmpi));
    let heatmap = Heatmap {
        id: 7,
        rank: 1,
        bin_width: 0.5,
        writes: vec![0, 10, 20],
        reads: vec![5, 0, 0],
    };
    push(ModuleId::HEATMAP, 1, Records::Heatmap(vec![heatmap]));
    let segment = |offset, length, start, end| Segment {
        offset,
        length,
        start,
        end,
        thread: 0,
    };
    let trace = Trace {
        id: 9,
        rank: 1,
        shared: 0,
        hostname: b"nid00001".to_vec(),
        writes: vec![segment(0, 100, 1.0, 1.5), segment(100, 50, 2.0, 2.5)],
        reads: vec![segment(0, 150, 3.0, 4.0)],
    };
    push(ModuleId::DXT_POSIX, 1, Records::Dxt(vec![trace]));
    log
}
