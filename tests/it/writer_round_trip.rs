//! Logs of every version that our own writer makes, read back through a lake: pydarshan and DuckDB must see the same.

use crate::random::Random;
use crate::support::{lake_of, python, run_python};
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::header::ByteOrder;
use iolode::source::darshan::write::{
    Apmpi, ApmpiRecord, Component, DarshanLog, Extra, Heatmap, Job, Layout, Mdhim, Module, Record,
    Records, Segment, Trace, mount,
};

crate::tests! {
    [Packages] => {
        logs_of_every_version_that_we_write_are_read_as_pydarshan_reads_them_and_add_up_in_duckdb,
    }
}

const VERSIONS: [(u16, u16); 5] = [(3, 0), (3, 10), (3, 20), (3, 21), (3, 41)];
const NPROCS: i64 = 4;
const FILES: [u64; 6] = [
    11,
    1 << 40,
    u64::MAX - 3,
    6_000_000_000_000_000_007,
    42,
    14734109647742566553,
];

/// Modules of counters: newest version, integers and doubles in the current numbering.
const COUNTERS: [(ModuleId, u32, usize, usize); 10] = [
    (ModuleId::POSIX, 4, 69, 17),
    (ModuleId::MPIIO, 3, 51, 17),
    (ModuleId::H5F, 3, 3, 5),
    (ModuleId::H5D, 2, 94, 17),
    (ModuleId::PNETCDF_FILE, 3, 9, 8),
    (ModuleId::PNETCDF_VAR, 1, 120, 17),
    (ModuleId::BGQ, 2, 11, 1),
    (ModuleId::STDIO, 2, 14, 15),
    (ModuleId::DFS, 1, 52, 15),
    (ModuleId::DAOS, 1, 64, 15),
];

impl Random {
    /// A count of any size, or one that is not available.
    fn count(&mut self) -> i64 {
        let bits = self.below(40);
        self.below(1 << bits) as i64 - i64::from(self.below(9) == 0)
    }

    fn seconds(&mut self) -> f64 {
        match self.below(5) {
            0 => 0.0,
            _ => self.below(1 << 40) as f64 / (1u64 << 33) as f64,
        }
    }
}

/// The processes with a record of one file: one that all share, or a few.
fn ranks(random: &mut Random) -> Vec<i64> {
    match random.below(3) {
        0 => vec![-1],
        1 => vec![random.below(NPROCS as u64) as i64],
        _ => (0..NPROCS)
            .filter(|rank| *rank == 0 || random.below(2) == 0)
            .collect(),
    }
}

fn counters(random: &mut Random, id: ModuleId, ints: usize, floats: usize) -> Records {
    let mut records = vec![];
    for file in FILES {
        // Each file but the first is unknown to some modules.
        if file != FILES[0] && random.below(3) == 0 {
            continue;
        }
        for rank in ranks(random) {
            let extra = match id {
                ModuleId::H5D | ModuleId::PNETCDF_VAR => Extra::File(random.bits()),
                // FOPENS of 0: a POSIX 1 record with some is dropped.
                ModuleId::POSIX => Extra::Old(vec![0, 3, 2, 1]),
                ModuleId::PNETCDF_FILE | ModuleId::BGQ => Extra::Old(vec![2]),
                ModuleId::DFS | ModuleId::DAOS => Extra::Stored {
                    pool: std::array::from_fn(|_| random.bits() as u8),
                    container: std::array::from_fn(|_| random.bits() as u8),
                    object: (random.bits(), random.bits()),
                },
                _ => Extra::None,
            };
            let mut ints: Vec<i64> = (0..ints).map(|_| random.count()).collect();
            if id == ModuleId::PNETCDF_FILE {
                // Opens of which two are independent.
                ints[1] = 2 + random.below(9) as i64;
            }
            records.push(Record {
                id: file,
                rank,
                ints,
                floats: (0..floats).map(|_| random.seconds()).collect(),
                extra,
            });
        }
    }
    Records::Counters(records)
}

fn layouts(random: &mut Random, version: u32) -> Records {
    let mut layouts = vec![];
    for file in &FILES[..4] {
        for rank in ranks(random) {
            let n = 1 + random.below(70);
            let osts: Vec<i64> = (0..n).map(|_| random.below(250) as i64 - 1).collect();
            let mut components = vec![Component::plain(1 << (16 + random.below(8)), osts)];
            if version == 2 && random.below(2) == 0 {
                let on_mdt = Component {
                    pattern: 2,
                    flags: 16,
                    ext_end: 65_536,
                    ..Component::plain(65_536, vec![])
                };
                let overstriped = Component {
                    pattern: 4,
                    flags: 16,
                    ext_start: 65_536,
                    pool: b"flash".to_vec(),
                    ..Component::plain(4 << 20, vec![3, 3, 7, -1, 7])
                };
                components = vec![on_mdt, overstriped];
                components.extend((0..random.below(2)).map(|_| Component::unused()));
            }
            layouts.push(Layout {
                id: *file,
                rank,
                osts: 248,
                mdts: random.below(6) as i64 - 1,
                stripe_offset: random.below(250) as i64 - 1,
                components,
            });
        }
    }
    Records::Lustre(layouts)
}

fn traces(random: &mut Random) -> Records {
    let mut traces = vec![];
    for file in &FILES[..3] {
        for rank in 0..NPROCS {
            let mut segments = |n: u64| -> Vec<Segment> {
                let n = random.below(n);
                let segment = |random: &mut Random| Segment {
                    offset: random.below(1 << 36) as i64,
                    length: random.below(1 << 22) as i64,
                    start: random.seconds(),
                    end: random.seconds(),
                    thread: 0,
                };
                (0..n).map(|_| segment(random)).collect()
            };
            let (writes, reads) = (segments(6), segments(3));
            traces.push(Trace {
                id: *file,
                rank,
                shared: -1,
                hostname: format!("nid{rank:05}").into_bytes(),
                writes,
                reads,
            });
        }
    }
    Records::Dxt(traces)
}

/// A log of a version, its modules `back` versions behind the newest.
fn log(version: (u16, u16), back: u32, byte_order: ByteOrder, seed: u64) -> DarshanLog {
    let mut random = Random::new(seed, 0);
    let random = &mut random;
    let mut modules = vec![];
    for (id, newest, ints, floats) in COUNTERS {
        let records = counters(random, id, ints, floats);
        modules.push(Module::new(id, newest.saturating_sub(back).max(1), records));
    }
    let lustre = if back.is_multiple_of(2) { 2 } else { 1 };
    modules.push(Module::new(
        ModuleId::LUSTRE,
        lustre,
        layouts(random, lustre),
    ));
    // The library in the wheel refuses segments with a thread, which came after its release.
    modules.push(Module::new(ModuleId::DXT_POSIX, 1, traces(random)));
    let mpiio = if back == 0 { 2 } else { 1 };
    modules.push(Module::new(ModuleId::DXT_MPIIO, mpiio, traces(random)));
    let heatmap = |random: &mut Random, rank: i64| Heatmap {
        id: 77,
        rank,
        bin_width: 0.1,
        writes: (0..20).map(|_| random.below(1 << 30) as i64).collect(),
        reads: (0..20).map(|_| random.below(1 << 30) as i64).collect(),
    };
    let heatmaps = (0..NPROCS).map(|rank| heatmap(random, rank)).collect();
    modules.push(Module::new(
        ModuleId::HEATMAP,
        1,
        Records::Heatmap(heatmaps),
    ));
    let mdhim = Mdhim {
        id: 88,
        rank: -1,
        ints: [5, 6, 7, -1, 3],
        floats: [1.5, 2.5, 0.25, -1.0],
        servers: vec![4, 5, 6],
    };
    modules.push(Module::new(ModuleId::MDHIM, 1, Records::Mdhim(vec![mdhim])));
    let record = |random: &mut Random, rank: i64| ApmpiRecord {
        id: 99,
        rank,
        ints: (0..396).map(|_| random.below(1 << 40)).collect(),
        floats: (0..240).map(|_| random.seconds()).collect(),
        node: format!("nid{rank:05}").into_bytes(),
    };
    let apmpi = Apmpi {
        id: 98,
        sync: true,
        variance_total: 0.5,
        variance_sync: 0.25,
        records: (0..NPROCS).map(|rank| record(random, rank)).collect(),
    };
    modules.push(Module::new(ModuleId::APMPI, 1, Records::Apmpi(apmpi)));
    for module in &mut modules {
        module.streams = vec![2, 1];
    }
    let mut names: Vec<(u64, Vec<u8>)> = FILES
        .iter()
        .map(|id| (*id, format!("/scratch{}/file {id}", id % 2).into_bytes()))
        .collect();
    names[5].1 = b"<STDIN>".to_vec();
    names.push((77, b"heatmap:POSIX".to_vec()));
    DarshanLog {
        version,
        byte_order,
        partial: 1 << 1 | 1 << 9,
        job: Job {
            uid: 1001,
            start: (1_700_000_000, 123_456_789),
            end: (1_700_000_060, 987_654_321),
            nprocs: NPROCS,
            job_id: seed as i64,
            metadata: b"lib_ver=3.4.4\nh=romio_no_indep_rw=true;cb_nodes=4\n".to_vec(),
            exe: b"./app -n 4".to_vec(),
            mounts: vec![mount("lustre", "/scratch0"), mount("ext4", "/")],
        },
        names,
        modules,
        ..DarshanLog::default()
    }
}

fn logs_of_every_version_that_we_write_are_read_as_pydarshan_reads_them_and_add_up_in_duckdb() {
    let python = python();
    let dir = tempfile::tempdir().unwrap();
    let (logs, lake) = (dir.path().join("logs"), dir.path().join("lake"));
    std::fs::create_dir(&logs).unwrap();
    let mut seed = 0;
    for version in VERSIONS {
        for back in 0..4 {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                seed += 1;
                let name = format!("{}.{:02}-{back}-{order:?}.darshan", version.0, version.1);
                let bytes = log(version, back, order, seed).to_bytes();
                std::fs::write(logs.join(name), bytes).unwrap();
            }
        }
    }
    let (_, report) = lake_of(&lake, &[logs], true);
    assert_eq!(report.failures, []);
    let said = run_python(&python, "pydarshan/compare_pydarshan.py", &[&lake]);
    assert!(said.contains("40 logs"), "{said}");
    let said = run_python(&python, "python/recompute.py", &[&lake]);
    assert!(said.contains("40 logs"), "{said}");
}
