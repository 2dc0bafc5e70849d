//! A workload as a Darshan log.

use super::{record, trace};
use crate::math::random::Random;
use crate::source::darshan::ModuleId;
use crate::source::darshan::write::{
    Component, DarshanLog, Job as JobRegion, Layout, Module, Record, Records,
};
use crate::synth::scenario::job::{Job, Release, Scenario};
use crate::synth::system::{FILE_SYSTEMS, file_system, mounts, record_id};
use crate::synth::workload::{Api, FileUse, Library, Workload, realistic};
use std::collections::{BTreeMap, HashSet};

/// Datasets and variables, in the order in which a file has them.
const PARTS: &str = "density energy velocity_x velocity_y velocity_z temperature";

/// The log of one run of a job that started `start` seconds after 1970.
pub(crate) fn log(
    job: &Job,
    workload: &mut Workload,
    start: f64,
    parent: Option<i64>,
) -> DarshanLog {
    let random = &mut Random::new(workload.random.bits(), 1);
    let pattern = random.clone();
    let release = &job.release;
    let mut names: Vec<(i64, u64, String)> = vec![];
    let mut records: BTreeMap<ModuleId, Vec<Record>> = BTreeMap::new();
    let mut add = |id: ModuleId, record| records.entry(id).or_default().push(record);
    let (mut layouts, mut placed) = (vec![], HashSet::new());
    for file in &workload.uses {
        names.push((file.rank, file.id, file.path.clone()));
        // Files that are alike draw the same numbers, each time from the start.
        let mut again = pattern.clone();
        let drawn = match workload.alike {
            true => &mut again,
            false => &mut *random,
        };
        if file.is_posix() {
            let mut record = record::posix(file, drawn);
            if workload.alike {
                realistic::aligned(&mut record, &mut pattern.clone());
            }
            add(ModuleId::POSIX, record);
        } else {
            add(ModuleId::STDIO, record::stdio(file, drawn));
        }
        if let Api::Mpi {
            collective,
            library,
        } = file.api
        {
            let parts = 2 + (file.id % 5) as i64;
            let each = if library == Library::None { 4 } else { parts };
            let record = record::mpiio(file, collective, each, random);
            add(ModuleId::MPIIO, record);
            for (at, name) in (0..parts).zip(PARTS.split(' ').cycle()) {
                let name = format!("{}:/{name}", file.path);
                let part = record::Part {
                    id: record_id(&name),
                    at,
                    of: parts,
                    collective,
                };
                match library {
                    Library::Hdf5 if release.log >= (3, 20) => {
                        add(ModuleId::H5D, record::h5d(file, &part, random));
                    }
                    Library::Pnetcdf if release.log >= (3, 41) => {
                        add(ModuleId::PNETCDF_VAR, record::pnetcdf_var(file, &part));
                    }
                    _ => continue,
                }
                names.push((file.rank, part.id, name));
            }
            match library {
                Library::Hdf5 => add(ModuleId::H5F, record::h5f(file, random)),
                Library::Pnetcdf => {
                    add(ModuleId::PNETCDF_FILE, record::pnetcdf_file(file, random));
                }
                Library::None => {}
            }
        }
        if placed.insert((file.id, file.rank)) {
            layouts.extend(layout(file, release));
        }
    }
    // One process of those whose records do not fit in memory leaves out the last ones.
    let mut partial = 0;
    let posix = records.entry(ModuleId::POSIX).or_default();
    if job.scenario == Some(Scenario::Partial) {
        posix.truncate((posix.len() * 2 / 3).max(1));
        partial = 1 << ModuleId::POSIX.0;
    }

    let mut heatmaps = vec![];
    let can_bin = release.name >= "3.4" && workload.nprocs <= 16;
    if (workload.binned).unwrap_or_else(|| can_bin && random.chance(0.5)) {
        for (is_posix, name) in [(true, "heatmap:POSIX"), (false, "heatmap:STDIO")] {
            let id = record_id(name);
            let found = trace::heatmaps(workload, id, is_posix);
            names.extend(found.iter().take(1).map(|_| (-1, id, name.to_string())));
            heatmaps.extend(found);
        }
    }
    let traces = match workload.traced {
        Some(_) => trace::traces(workload, posix, job.index),
        None => vec![],
    };

    let module = |id, (records, streams)| Module {
        id,
        version: version(release, id),
        records,
        streams,
    };
    let layouts = by_process(layouts, |layout| layout.rank, Records::Lustre);
    let heatmaps = by_process(heatmaps, |map| map.rank, Records::Heatmap);
    let traces = by_process(traces, |trace| trace.rank, Records::Dxt);
    let mut modules = vec![
        module(ModuleId::LUSTRE, layouts),
        module(ModuleId::HEATMAP, heatmaps),
        module(ModuleId::DXT_POSIX, traces),
    ];
    for (id, list) in records {
        let list = by_process(list, |record| record.rank, Records::Counters);
        modules.push(module(id, list));
    }
    // A module without records is not there.
    modules.retain(|module| !module.streams.is_empty());
    let (names, name_streams) = name_region(names, release);
    if workload.realistic {
        modules.iter_mut().for_each(realistic::by_the_clock);
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

/// Records in the order of their streams - those of the first process with the shared ones, then the others - and how many
/// each process has.
fn by_process<T, R>(mut list: Vec<T>, rank: fn(&T) -> i64, to: fn(Vec<T>) -> R) -> (R, Vec<usize>) {
    let process = |record: &T| rank(record).max(0);
    list.sort_by_key(process);
    let streams = list.chunk_by(|a, b| process(a) == process(b));
    let streams = streams.map(<[T]>::len).collect();
    (to(list), streams)
}

/// The version of each module that a release writes.
fn version(release: &Release, id: ModuleId) -> u32 {
    let new = u32::from(release.log >= (3, 20));
    match id {
        ModuleId::POSIX => 3 + new,
        ModuleId::MPIIO | ModuleId::H5F => 2 + new,
        ModuleId::STDIO => 1 + new,
        ModuleId::H5D => 2 - u32::from(release.name == "3.2.1"),
        ModuleId::PNETCDF_FILE => 2 + u32::from(release.log >= (3, 41)),
        ModuleId::LUSTRE => release.lustre,
        _ => 1,
    }
}

/// The LUSTRE record of a file use, if the file lies on Lustre.
fn layout(file: &FileUse, release: &Release) -> Option<Layout> {
    let system = &FILE_SYSTEMS[file_system(&file.path)?];
    let placed = file.layout.as_ref()?;
    let mut components = vec![Component::plain(placed.stripe_size, placed.osts.clone())];
    if placed.progressive && release.lustre > 1 {
        let cut = 16 << 20;
        let first = Component {
            flags: 16,
            ext_end: cut,
            ..Component::plain(1 << 20, placed.osts[..1].to_vec())
        };
        (components[0].flags, components[0].ext_start) = (16, cut);
        components[0].pool = b"disk".to_vec();
        components.insert(0, first);
    }
    Some(Layout {
        id: file.id,
        rank: file.rank,
        osts: system.osts,
        mdts: system.mdts,
        // What was asked for: old releases say that any OST would do, later ones that it was the first.
        stripe_offset: if release.log < (3, 20) { -1 } else { 0 },
        components,
    })
}

/// Names by process. Before 3.4 processes repeated the names of shared files.
fn name_region(
    mut names: Vec<(i64, u64, String)>,
    release: &Release,
) -> (Vec<(u64, Vec<u8>)>, Vec<usize>) {
    let mut known = HashSet::new();
    names.retain(|(rank, id, _)| known.insert((*id, (*rank).max(0))));
    if release.name < "3.4" {
        let shared = names.iter().filter(|(rank, ..)| *rank < 0).take(2);
        let shared: Vec<_> = shared.cloned().collect();
        let ranks = names.iter().map(|(rank, ..)| *rank);
        let mut ranks: Vec<i64> = ranks.filter(|rank| *rank > 0).collect();
        ranks.dedup();
        for rank in ranks {
            for (_, id, name) in &shared {
                if known.insert((*id, rank)) {
                    names.push((rank, *id, name.clone()));
                }
            }
        }
    }
    by_process(
        names,
        |(rank, ..)| *rank,
        |names| {
            let names = names.into_iter();
            names.map(|(_, id, name)| (id, name.into_bytes())).collect()
        },
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
    let library = job.release.name;
    let mut metadata = format!("lib_ver={library}\nh=romio_no_indep_rw=true;cb_nodes=4\n");
    if let Some(parent) = parent {
        metadata += &format!("fork_parent={parent}\n");
    }
    let run = format!("{:05}", job.index);
    let command = job.app.command.replace("{user}", &job.user);
    let mut exe = (command.replace("{app}", &job.program)).replace("{run}", &run);
    if random.chance(0.4) {
        exe += &format!(" --seed {}", random.int(1, 1_000_000));
    }
    let mut mounts = mounts();
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
