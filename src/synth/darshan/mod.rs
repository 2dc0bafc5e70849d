//! A played workload as a Darshan log.

pub(crate) mod record;
pub(crate) mod trace;

use crate::source::darshan::ModuleId;
use crate::source::darshan::write::{Component, Layout, Module, Record, Records};
use crate::source::darshan::write::{DarshanLog, Job as JobRegion};
use crate::synth::darshan::record::{
    h5d_record, h5f_record, is_posix, mpi, mpiio_record, pnetcdf_file_record, pnetcdf_var_record,
    posix_record, stdio_record,
};
use crate::synth::random::Random;
use crate::synth::scenario::plan::{Job, Library as Release, Plant};
use crate::synth::system::{lustre, mounts, record_id};
use crate::synth::workload::realistic::{self, by_the_clock};
use crate::synth::workload::{FileUse, Library, Workload};
use std::collections::HashSet;

/// Records of a module in the order of their streams: those of the first process, with the shared ones, then the others.
struct Region<T> {
    of: fn(&T) -> i64,
    records: Vec<T>,
}

impl<T> Region<T> {
    fn new(of: fn(&T) -> i64) -> Self {
        Self {
            of,
            records: vec![],
        }
    }

    /// The records by process, and how many each process has.
    fn by_process(mut self) -> (Vec<T>, Vec<usize>) {
        let process = |record: &T| (self.of)(record).max(0);
        self.records.sort_by_key(process);
        let streams = self
            .records
            .chunk_by(|a, b| process(a) == process(b))
            .map(<[T]>::len)
            .collect();
        (self.records, streams)
    }

    fn into_module(
        self,
        id: ModuleId,
        version: u32,
        records: fn(Vec<T>) -> Records,
    ) -> Option<Module> {
        let (list, streams) = self.by_process();
        (!list.is_empty()).then(|| Module {
            id,
            version,
            records: records(list),
            streams,
        })
    }
}

/// The version of each module that a release writes.
fn version(release: &Release, id: ModuleId) -> u32 {
    let (old, newest) = (release.log < (3, 20), release.log >= (3, 41));
    match id {
        ModuleId::POSIX => {
            if old {
                3
            } else {
                4
            }
        }
        ModuleId::MPIIO => {
            if old {
                2
            } else {
                3
            }
        }
        ModuleId::STDIO => {
            if old {
                1
            } else {
                2
            }
        }
        ModuleId::H5F => {
            if old {
                2
            } else {
                3
            }
        }
        ModuleId::H5D => {
            if release.release == "3.2.1" {
                1
            } else {
                2
            }
        }
        ModuleId::PNETCDF_FILE => {
            if newest {
                3
            } else {
                2
            }
        }
        ModuleId::LUSTRE => release.lustre,
        ModuleId::DXT_MPIIO => {
            if old {
                1
            } else {
                2
            }
        }
        _ => 1,
    }
}

/// The log of one run of a job that started `start` seconds after 1970.
pub(crate) fn log(
    job: &Job,
    workload: &mut Workload,
    start: f64,
    parent: Option<i64>,
) -> DarshanLog {
    let random = &mut Random::new(workload.random.bits(), 1);
    let (alike, pattern) = (workload.alike, random.clone());
    let as_before = || pattern.clone();
    let release = &job.library;
    let mut names: Vec<(i64, u64, String)> = vec![];
    let record = |record: &Record| record.rank;
    let (mut posix, mut stdio, mut mpiio) = (
        Region::new(record),
        Region::new(record),
        Region::new(record),
    );
    let (mut h5f, mut h5d) = (Region::new(record), Region::new(record));
    let (mut pnetcdf, mut variables) = (Region::new(record), Region::new(record));
    let mut layouts = Region::new(|layout: &Layout| layout.rank);
    let mut placed = HashSet::new();
    for file in &workload.uses {
        names.push((file.rank, file.id, file.path.clone()));
        match is_posix(file) {
            true if alike => {
                let mut record = posix_record(file, &mut as_before());
                realistic::aligned(&mut record, &mut as_before());
                posix.records.push(record);
            }
            true => posix.records.push(posix_record(file, random)),
            false if alike => (stdio.records).push(stdio_record(file, &mut as_before())),
            false => stdio.records.push(stdio_record(file, random)),
        }
        if let Some((collective, library)) = mpi(file) {
            let parts = parts(file);
            let each = if library == Library::None { 4 } else { parts };
            mpiio
                .records
                .push(mpiio_record(file, collective, each, random));
            for at in 0..parts {
                let name = format!("{}:/{}", file.path, PARTS[at as usize % PARTS.len()]);
                let id = record_id(&name);
                match library {
                    Library::Hdf5 if release.log >= (3, 20) => {
                        h5d.records
                            .push(h5d_record(file, id, at, parts, collective, random));
                        names.push((file.rank, id, name));
                    }
                    Library::Pnetcdf if release.log >= (3, 41) => {
                        variables
                            .records
                            .push(pnetcdf_var_record(file, id, at, parts, collective));
                        names.push((file.rank, id, name));
                    }
                    _ => {}
                }
            }
            match library {
                Library::Hdf5 => h5f.records.push(h5f_record(file, random)),
                Library::Pnetcdf => pnetcdf.records.push(pnetcdf_file_record(file, random)),
                Library::None => {}
            }
        }
        if placed.insert((file.id, file.rank)) {
            layouts.records.extend(layout(file, release));
        }
    }
    // One process of those whose records do not fit in memory leaves out the last ones.
    let mut partial = 0;
    if job.plant == Some(Plant::Partial) {
        posix.records.truncate((posix.records.len() * 2 / 3).max(1));
        partial = 1 << ModuleId::POSIX.0;
    }

    let heat = release.release >= "3.4" && workload.nprocs <= 16 && random.chance(0.5);
    let mut heatmaps = Region::new(|heatmap: &crate::source::darshan::write::Heatmap| heatmap.rank);
    if heat {
        for (api, name) in [
            (ModuleId::POSIX, "heatmap:POSIX"),
            (ModuleId::STDIO, "heatmap:STDIO"),
        ] {
            let id = record_id(name);
            let found = trace::heatmaps(workload, id, |file| {
                is_posix(file) == (api == ModuleId::POSIX)
            });
            names.extend(found.iter().take(1).map(|_| (-1, id, name.to_string())));
            heatmaps.records.extend(found);
        }
    }
    let mut traces = Region::new(|trace: &crate::source::darshan::write::Trace| trace.rank);
    if workload.traced.is_some() {
        traces.records = trace::traces(workload, &mut posix.records, job.index);
    }

    let modules = [
        posix.into_module(
            ModuleId::POSIX,
            version(release, ModuleId::POSIX),
            Records::Counters,
        ),
        mpiio.into_module(
            ModuleId::MPIIO,
            version(release, ModuleId::MPIIO),
            Records::Counters,
        ),
        stdio.into_module(
            ModuleId::STDIO,
            version(release, ModuleId::STDIO),
            Records::Counters,
        ),
        h5f.into_module(
            ModuleId::H5F,
            version(release, ModuleId::H5F),
            Records::Counters,
        ),
        h5d.into_module(
            ModuleId::H5D,
            version(release, ModuleId::H5D),
            Records::Counters,
        ),
        pnetcdf.into_module(
            ModuleId::PNETCDF_FILE,
            version(release, ModuleId::PNETCDF_FILE),
            Records::Counters,
        ),
        variables.into_module(
            ModuleId::PNETCDF_VAR,
            version(release, ModuleId::PNETCDF_VAR),
            Records::Counters,
        ),
        layouts.into_module(
            ModuleId::LUSTRE,
            version(release, ModuleId::LUSTRE),
            Records::Lustre,
        ),
        heatmaps.into_module(ModuleId::HEATMAP, 1, Records::Heatmap),
        traces.into_module(ModuleId::DXT_POSIX, 1, Records::Dxt),
    ];
    let (names, name_streams) = name_region(names, release);
    let mut modules: Vec<Module> = modules.into_iter().flatten().collect();
    if workload.realistic {
        modules.iter_mut().for_each(by_the_clock);
    }
    DarshanLog {
        version: release.log,
        partial,
        job: job_region(job, workload, start, parent, random),
        names,
        name_streams,
        modules,
        ..DarshanLog::default()
    }
}

/// Datasets and variables, in the order in which a file has them.
const PARTS: [&str; 6] = [
    "density",
    "energy",
    "velocity_x",
    "velocity_y",
    "velocity_z",
    "temperature",
];

/// Datasets or variables of a file: by its id.
fn parts(file: &FileUse) -> i64 {
    2 + (file.id % 5) as i64
}

/// The LUSTRE record of a file use, if the file lies on Lustre.
fn layout(file: &FileUse, release: &Release) -> Option<Layout> {
    let (osts, mdts) = lustre(&file.path)?;
    let placed = file.layout.as_ref()?;
    let plain = Component::plain(placed.stripe_size, placed.osts.clone());
    let components = match placed.progressive && release.lustre > 1 {
        true => vec![
            Component {
                flags: 16,
                ext_end: 16 << 20,
                ..Component::plain(1 << 20, placed.osts[..1].to_vec())
            },
            Component {
                flags: 16,
                ext_start: 16 << 20,
                pool: b"disk".to_vec(),
                ..plain
            },
        ],
        false => vec![plain],
    };
    // What was asked for: old releases say that any OST would do, later ones that it was the first.
    let stripe_offset = if release.log < (3, 20) { -1 } else { 0 };
    Some(Layout {
        id: file.id,
        rank: file.rank,
        osts,
        mdts,
        stripe_offset,
        components,
    })
}

/// Names by process. Before 3.4 processes repeated the names of shared files.
fn name_region(
    names: Vec<(i64, u64, String)>,
    release: &Release,
) -> (Vec<(u64, Vec<u8>)>, Vec<usize>) {
    let mut region = Region::new(|(rank, _, _): &(i64, u64, String)| *rank);
    let mut known = HashSet::new();
    region.records = names
        .into_iter()
        .filter(|(rank, id, _)| known.insert((*id, (*rank).max(0))))
        .collect();
    if release.release < "3.4" {
        let shared: Vec<_> = region
            .records
            .iter()
            .filter(|(rank, ..)| *rank < 0)
            .take(2)
            .cloned()
            .collect();
        let mut ranks: Vec<i64> = region
            .records
            .iter()
            .map(|(rank, ..)| *rank)
            .filter(|rank| *rank > 0)
            .collect();
        ranks.dedup();
        let again = ranks.iter().flat_map(|rank| {
            shared
                .iter()
                .map(|(_, id, name)| (*rank, *id, name.clone()))
        });
        let again: Vec<_> = again
            .filter(|(rank, id, _)| known.insert((*id, *rank)))
            .collect();
        region.records.extend(again);
    }
    let (names, streams) = region.by_process();
    (
        names
            .into_iter()
            .map(|(_, id, name)| (id, name.into_bytes()))
            .collect(),
        streams,
    )
}

/// The job region.
fn job_region(
    job: &Job,
    workload: &Workload,
    start: f64,
    parent: Option<i64>,
    random: &mut Random,
) -> JobRegion {
    let instant = |seconds: f64| (seconds as i64, ((seconds - seconds.floor()) * 1e9) as i64);
    let mut metadata = format!(
        "lib_ver={}\nh=romio_no_indep_rw=true;cb_nodes=4\n",
        job.library.release
    );
    if let Some(parent) = parent {
        metadata += &format!("fork_parent={parent}\n");
    }
    let run = format!("{:05}", job.index);
    let command = job
        .app
        .command
        .replace("{user}", &job.user)
        .replace("{app}", &job.program)
        .replace("{run}", &run);
    let arguments = if random.chance(0.4) {
        format!(" --seed {}", random.int(1, 1_000_000))
    } else {
        String::new()
    };
    let (mut mounts, mut exe) = (mounts(), command + &arguments);
    if workload.realistic {
        mounts.extend(realistic::mounts(job.job_id, random));
        exe += &realistic::arguments(&job.dir(), random);
    }
    JobRegion {
        uid: job.uid,
        start: instant(start),
        end: instant(start + workload.clock),
        nprocs: workload.nprocs,
        job_id: job.job_id,
        metadata: metadata.into_bytes(),
        exe: exe.into_bytes(),
        mounts,
    }
}
