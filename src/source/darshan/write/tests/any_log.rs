//! Logs with every module, in every version, filled with random values. tests/it/pydarshan.rs takes this file in as well,
//! and tests/it/writer_round_trip.rs from there.

use super::{Apmpi, ApmpiRecord, Component, DarshanLog, Extra, Heatmap, Job, Layout, Mdhim, mount};
use super::{Module, ModuleId, Random, Record, Records, Segment, Trace};

/// The versions of the format that exist.
pub(crate) const VERSIONS: [(u16, u16); 5] = [(3, 0), (3, 10), (3, 20), (3, 21), (3, 41)];

/// Modules with counters: id, newest version, integers and doubles in the current numbering.
const FIXED: [(ModuleId, u32, usize, usize); 11] = [
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
    (ModuleId::MDHIM, 1, 0, 0),
];

/// Processes of a log.
pub(crate) const NPROCS: i64 = 5;

fn ints(random: &mut Random, n: usize) -> Vec<i64> {
    (0..n)
        .map(|_| (random.bits() >> random.below(63)) as i64 - random.int(0, 2))
        .collect()
}

fn floats(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.magnitude(1e-6, 1e6)).collect()
}

/// Ranks of `n` records: one is shared.
fn rank(at: usize) -> i64 {
    at as i64 % (NPROCS + 1) - 1
}

fn record(random: &mut Random, id: ModuleId, n_ints: usize, n_floats: usize, at: usize) -> Record {
    let extra = match id {
        ModuleId::H5D | ModuleId::PNETCDF_VAR => Extra::File(random.bits()),
        // FOPENS of 0: a POSIX 1 record with some is dropped by readers.
        ModuleId::POSIX => Extra::Old(vec![
            0,
            random.int(0, 9),
            random.int(0, 9),
            random.int(0, 9),
        ]),
        ModuleId::PNETCDF_FILE | ModuleId::BGQ => Extra::Old(vec![random.int(0, 9)]),
        ModuleId::DFS | ModuleId::DAOS => Extra::Stored {
            pool: (random.bits() as u128 * 0x1234_5678_9abc_def1).to_le_bytes(),
            container: (random.bits() as u128 * 0x1_0000_0001_0000_0001).to_le_bytes(),
            object: (random.bits(), random.bits()),
        },
        _ => Extra::None,
    };
    let mut ints = ints(random, n_ints);
    if id == ModuleId::PNETCDF_FILE {
        // A sum that libdarshan forms must not overflow.
        ints[1] = random.int(10, 1000);
    }
    Record {
        id: random.bits(),
        rank: rank(at),
        ints,
        floats: floats(random, n_floats),
        extra,
    }
}

fn layout(random: &mut Random, version: u32, at: usize) -> Layout {
    let osts =
        |random: &mut Random, n: u64| -> Vec<i64> { (0..n).map(|_| random.int(-1, 248)).collect() };
    let count = random.below(200);
    let mut components = vec![Component::plain(1 << 20, osts(random, count))];
    if version >= 2 {
        // On the MDT, then overstriped, then a mirror, and slots that hold nothing.
        let mdt = Component {
            pattern: 2,
            flags: 16,
            ext_end: 65536,
            ..Component::plain(65536, vec![])
        };
        let overstriped = Component {
            pattern: 4,
            flags: 16 | 4,
            ext_start: 65536,
            mirror_id: 1,
            pool: b"flash".to_vec(),
            ..Component::plain(4 << 20, vec![3, 3, 7, -1, 7])
        };
        let full_pool = Component {
            mirror_id: 2,
            pool: b"fifteen-letters".to_vec(),
            ..components[0].clone()
        };
        components = vec![mdt, overstriped, full_pool];
        components.truncate(1 + at % 3);
        components.extend((0..at % 2).map(|_| Component::unused()));
    }
    Layout {
        id: random.bits(),
        rank: rank(at),
        osts: 248,
        mdts: 5,
        stripe_offset: random.int(-1, 248),
        components,
    }
}

fn trace(random: &mut Random, at: usize) -> Trace {
    let segments = |random: &mut Random, n: u64| -> Vec<Segment> {
        let segment = |random: &mut Random| Segment {
            offset: random.int(0, 1 << 40),
            length: random.int(0, 1 << 30),
            start: random.unit(),
            end: 1.0 + random.unit(),
            thread: random.bits(),
        };
        (0..n).map(|_| segment(random)).collect()
    };
    Trace {
        id: random.bits(),
        rank: at as i64 % NPROCS,
        shared: -(at as i64 % 2),
        hostname: format!("nid{:05}", random.below(10_000)).into_bytes(),
        writes: segments(random, at as u64 * 7 % 40),
        reads: segments(random, at as u64 * 11 % 30),
    }
}

fn heatmap(random: &mut Random, at: usize) -> Heatmap {
    let mut bins = |n: usize| -> Vec<i64> { (0..n).map(|_| random.int(0, 1 << 40)).collect() };
    let (writes, reads) = (bins(100), bins(100));
    Heatmap {
        id: random.bits(),
        rank: at as i64 % NPROCS,
        bin_width: 0.1 * (1 << (at % 9)) as f64,
        writes,
        reads,
    }
}

/// A log with every module, each in the version that is `back` before its newest.
pub(crate) fn log(seed: u64, version: (u16, u16), back: u32, records: usize) -> DarshanLog {
    let random = &mut Random::new(seed, u64::from(back));
    let streams = if records > 2 {
        vec![1, 0, records - 2]
    } else {
        vec![]
    };
    let mut log = DarshanLog {
        version,
        partial: 1 << 1 | 1 << 9,
        name_streams: streams.clone(),
        ..DarshanLog::default()
    };
    log.job = Job {
        uid: 1000 + random.int(0, 1000),
        start: (1_788_220_800, random.int(0, 1_000_000_000)),
        end: (1_788_224_400, random.int(0, 1_000_000_000)),
        nprocs: NPROCS,
        job_id: random.int(0, 1 << 31),
        metadata: b"lib_ver=3.4.7\nh=romio_no_indep_rw=true;cb_nodes=4\n".to_vec(),
        exe: b"/home/ada/bin/solver --in deck.nml".to_vec(),
        mounts: vec![mount("lustre", "/scratch"), mount("ext4", "/")],
    };
    for name in 0..records {
        log.names.push((
            random.bits(),
            format!("/scratch/ada/run{}/{name}.dat", random.below(1000)).into_bytes(),
        ));
    }
    for (id, newest, n_ints, n_floats) in FIXED {
        if id == ModuleId::MDHIM {
            continue;
        }
        let module = newest.saturating_sub(back).max(1);
        let records = (0..records)
            .map(|at| record(random, id, n_ints, n_floats, at))
            .collect();
        let records = Records::Counters(records);
        log.modules.push(Module {
            id,
            version: module,
            records,
            streams: streams.clone(),
        });
    }
    let older = |newest: u32| newest.saturating_sub(back).max(1);
    let mut push = |id, version, records| {
        log.modules.push(Module {
            id,
            version,
            records,
            streams: streams.clone(),
        })
    };
    let lustre = older(2);
    push(
        ModuleId::LUSTRE,
        lustre,
        Records::Lustre((0..records).map(|at| layout(random, lustre, at)).collect()),
    );
    push(
        ModuleId::DXT_POSIX,
        older(2),
        Records::Dxt((0..records).map(|at| trace(random, at)).collect()),
    );
    push(
        ModuleId::DXT_MPIIO,
        older(3),
        Records::Dxt((0..records).map(|at| trace(random, at)).collect()),
    );
    push(
        ModuleId::HEATMAP,
        1,
        Records::Heatmap((0..records).map(|at| heatmap(random, at)).collect()),
    );
    let mdhim = |random: &mut Random, at: usize| Mdhim {
        id: random.bits(),
        rank: rank(at),
        ints: [random.int(0, 99), random.int(0, 99), 4, 5, 3],
        floats: [random.unit(), random.unit(), random.unit(), random.unit()],
        servers: vec![random.int(0, 99), random.int(0, 99), random.int(0, 99)],
    };
    push(
        ModuleId::MDHIM,
        1,
        Records::Mdhim((0..records).map(|at| mdhim(random, at)).collect()),
    );
    let apmpi = |random: &mut Random, at: usize| ApmpiRecord {
        id: random.bits(),
        rank: at as i64 % NPROCS,
        ints: (0..396).map(|_| random.bits() >> 20).collect(),
        floats: floats(random, 240),
        node: format!("nid{at:05}").into_bytes(),
    };
    let records = (0..records).map(|at| apmpi(random, at)).collect();
    let apmpi = Apmpi {
        id: random.bits(),
        sync: true,
        variance_total: 0.25,
        variance_sync: 0.125,
        records,
    };
    push(ModuleId::APMPI, 1, Records::Apmpi(apmpi));
    log
}

/// Counters as a reader of the current numbering sees them: what the version lacks is -1.
pub(crate) fn expected(
    id: ModuleId,
    version: u32,
    record: &Record,
) -> (Vec<Option<i64>>, Vec<Option<f64>>) {
    let mut ints: Vec<Option<i64>> = record.ints.iter().copied().map(Some).collect();
    let mut floats: Vec<Option<f64>> = record.floats.iter().copied().map(Some).collect();
    let (lost_ints, lost_floats): (&[usize], &[usize]) = match (id, version) {
        (ModuleId::POSIX, 1..=2) => (&[1, 2, 10, 11, 12], &[3, 4]),
        (ModuleId::POSIX, 3) => (&[1, 2, 10, 11, 12], &[]),
        (ModuleId::MPIIO, 1..=2) => (&[], &[3, 4]),
        (ModuleId::H5F, 1) => (&[1, 2], &[1, 2, 4]),
        (ModuleId::H5F, 2) => (&[1, 2], &[4]),
        (ModuleId::PNETCDF_FILE, 1) => (&[0, 2, 3, 4, 5, 6, 7, 8], &[1, 2, 3, 5, 6, 7]),
        (ModuleId::PNETCDF_FILE, 2) => (&[0, 2, 3, 4, 5, 6, 7, 8], &[2, 5, 6, 7]),
        (ModuleId::STDIO, 1) => (&[1], &[]),
        _ => (&[], &[]),
    };
    lost_ints.iter().for_each(|at| ints[*at] = Some(-1));
    lost_floats.iter().for_each(|at| floats[*at] = Some(-1.0));
    (ints, floats)
}
