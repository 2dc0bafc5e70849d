//! One row for a file: all processes and interfaces of one record id.

use super::direction_stats::{
    DirectionStats, Entry, FileRecords, RankTime, extremes, flow, max_byte, processes, requests,
};
use super::interface::{BytesSource, COUNTERS, DAOS, DFS, MODULES, MPIIO, POSIX, STDIO};
use super::mount::Mounts;
use super::ost::{Extents, Stripes};
use super::sum::{sum, sum_time};
use crate::source::ReadContext;
use crate::source::darshan::counters::{dfs, mpiio, posix};
use crate::source::darshan::job::Job;
use crate::source::darshan::log::Log;
use crate::source::darshan::module::ModuleId;
use crate::source::darshan::module::lustre::Layout;
use crate::source::darshan::record_id::is_stream;
use crate::source::darshan::records::Records;
use std::borrow::Cow;
use std::collections::HashMap;

/// One file of one log.
pub struct File<'a> {
    /// Darshan's hash of the name.
    pub record_id: u64,
    /// The path as far as it is text.
    pub path: Option<Cow<'a, str>>,
    /// Standard input, output or error.
    pub is_stream: bool,
    /// Interface of bytes, calls, times and windows.
    pub source: BytesSource,
    /// At least one record of the source is reduced over all processes.
    pub shared: bool,
    /// One process alone has a record of the source.
    pub unique: bool,
    /// Reading.
    pub read: DirectionStats,
    /// Writing.
    pub write: DirectionStats,
    /// Seconds in metadata operations, summed over processes.
    pub meta_time: Option<f64>,
    pub(super) posix_incomplete: bool,
    pub(super) may_overlap: bool,
    /// Processes with a record below MPI-IO.
    pub(super) nprocs_posix: i64,
    /// Processes with a record of MPI-IO.
    pub(super) nprocs_mpiio: i64,
    /// Bytes read and written by interface: POSIX, STDIO, MPI-IO; None without a record.
    pub(super) by_interface: [Option<(i64, i64)>; 3],
    pub(super) posix: Option<PosixCounts>,
    /// Opens, summed over processes and interfaces of the source.
    pub(super) opens: Option<i64>,
    pub(super) stats: Option<i64>,
    /// Seeks, likewise; None where no interface of the source counts them.
    pub(super) seeks: Option<i64>,
    pub(super) syncs: Option<i64>,
    pub(super) mpiio: Option<[Option<i64>; 6]>,
    pub(super) slowest: Option<RankTime>,
    pub(super) fastest: Option<RankTime>,
    pub(super) mount_point: Option<Cow<'a, str>>,
    pub(super) fs_type: Option<Cow<'a, str>>,
    pub(super) fs: Option<String>,
    pub(super) fs_osts: Option<i64>,
    pub(super) stripes: Option<Stripes>,
    pub(super) spread_evenly: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PosixCounts {
    pub(super) rw_switches: Option<i64>,
    pub(super) not_aligned: Option<i64>,
    pub(super) alignment: Option<i64>,
}

/// The files of a log, by ascending record id.
pub fn files<'a>(log: &'a Log, job: &'a Job, context: &ReadContext) -> Vec<File<'a>> {
    let modules: Vec<Option<Records<'a>>> = MODULES.iter().map(|id| log.records(*id)).collect();
    let mut entries = vec![];
    for (module, records) in modules.iter().enumerate() {
        if let Some(records) = records {
            entries.extend((0..records.len()).map(|record| Entry {
                id: records.id(record),
                module,
                record,
            }));
        }
    }
    entries.sort_by_key(|entry| (entry.id, entry.module));
    let context = Context {
        log,
        job,
        context,
        modules,
        mounts: Mounts::new(&job.mounts),
        layouts: Layouts::new(log),
        posix_trace: Traced::new(log, ModuleId::DXT_POSIX),
        mpiio_trace: Traced::new(log, ModuleId::DXT_MPIIO),
    };
    let each_file = entries.chunk_by(|a, b| a.id == b.id);
    let mut files = Vec::with_capacity(each_file.clone().count());
    files.extend(each_file.map(|entries| context.file(entries)));
    files
}

struct Context<'a, 's> {
    log: &'a Log,
    job: &'a Job,
    context: &'s ReadContext,
    modules: Vec<Option<Records<'a>>>,
    mounts: Mounts<'a>,
    layouts: Layouts<'a>,
    posix_trace: Traced,
    mpiio_trace: Traced,
}

/// The LUSTRE records, those of one file together.
struct Layouts<'a>(Vec<Layout<'a>>);

impl<'a> Layouts<'a> {
    fn new(log: &'a Log) -> Self {
        let mut layouts: Vec<Layout<'a>> = log.lustre().collect();
        layouts.sort_by_key(|layout| layout.id);
        Self(layouts)
    }

    /// The layout of a file, by all its records; None without one.
    fn of(&self, id: u64) -> Option<Stripes> {
        let from = self.0.partition_point(|layout| layout.id < id);
        let to = from + self.0[from..].partition_point(|layout| layout.id == id);
        Stripes::join(self.0[from..to].iter().copied())
    }
}

/// What a DXT module saw of each file.
#[derive(Default)]
struct Traced(HashMap<(u64, usize), Trace>);

/// Accesses (offset, length), and the processes that moved bytes.
type Trace = (Vec<(u64, u64)>, Vec<i64>);

impl Traced {
    fn new(log: &Log, module: ModuleId) -> Self {
        let mut traced = Self::default();
        for record in log.dxt(module) {
            for (direction, segments) in [
                record.reads().collect::<Vec<_>>(),
                record.writes().collect(),
            ]
            .into_iter()
            .enumerate()
            {
                if segments.is_empty() {
                    continue;
                }
                let (accesses, ranks) = traced.0.entry((record.id, direction)).or_default();
                let known = segments.iter().filter_map(|s| {
                    Some((
                        u64::try_from(s.offset?).ok()?,
                        u64::try_from(s.length).ok()?,
                    ))
                });
                accesses.extend(known);
                if segments.iter().any(|s| s.length > 0) && !ranks.contains(&record.rank) {
                    ranks.push(record.rank);
                }
            }
        }
        traced
    }

    fn of(&self, id: u64, direction: usize) -> Option<&Trace> {
        self.0.get(&(id, direction))
    }
}

impl<'a> Context<'a, '_> {
    fn file(&self, entries: &[Entry]) -> File<'a> {
        let id = entries[0].id;
        let parts: [Option<FileRecords<'a, '_>>; 5] = std::array::from_fn(|module| {
            let from = entries.partition_point(|e| e.module < module);
            let to = entries.partition_point(|e| e.module <= module);
            let records = self.modules[module].as_ref().filter(|_| from < to)?;
            Some(FileRecords {
                records,
                counters: &COUNTERS[module],
                entries: &entries[from..to],
            })
        });
        let nprocs = self.job.nprocs.max(1);
        let (source, posix_incomplete) = self.source(&parts, nprocs);
        let used: Vec<&FileRecords<'a, '_>> = source
            .modules()
            .iter()
            .filter_map(|module| parts[*module].as_ref())
            .collect();
        let below = [&parts[POSIX], &parts[STDIO], &parts[DFS], &parts[DAOS]];
        let below: &[&Option<FileRecords>] =
            if matches!(source, BytesSource::Dfs | BytesSource::Daos) {
                &below[2..]
            } else {
                &below[..2]
            };
        let nprocs_posix = processes(below.iter().filter_map(|part| part.as_ref()), nprocs);
        let nprocs_mpiio = processes(parts[MPIIO].iter(), nprocs);
        let upper = if source == BytesSource::MpiIo {
            nprocs_mpiio
        } else {
            nprocs_posix
        };

        let name = self.log.name(id);
        let mount = name.and_then(|name| self.mounts.find(name));
        let stripes = self.layouts.of(id);
        let offsets = [POSIX, STDIO].map(|module| parts[module].as_ref());
        // The processes of a shared file are those that were traced at the level of its source.
        let trace = if source == BytesSource::MpiIo {
            &self.mpiio_trace
        } else {
            &self.posix_trace
        };
        let [mut read, mut write] = [0, 1].map(|direction| {
            let ranks = trace.of(id, direction).map(|(_, ranks)| ranks.len());
            let mut flow = flow(&used, direction, nprocs, upper, ranks);
            flow.max_byte = offsets
                .iter()
                .flatten()
                .filter_map(|part| max_byte(part, direction))
                .max();
            let is_posix = matches!(source, BytesSource::Posix | BytesSource::PosixStdio);
            flow.requests = parts[POSIX]
                .as_ref()
                .filter(|_| is_posix)
                .map(|part| requests(part, direction, nprocs));
            flow
        });
        let highest = read.max_byte.max(write.max_byte);
        let mut spread_evenly = false;
        if let Some(stripes) = &stripes {
            for (direction, flow) in [&mut read, &mut write].into_iter().enumerate() {
                let extents = match (self.posix_trace.of(id, direction), highest) {
                    (Some((accesses, _)), _) if !accesses.is_empty() => Extents::Traced(accesses),
                    (_, Some(highest)) => Extents::UpTo(highest),
                    (_, None) => Extents::Anywhere,
                };
                spread_evenly |= matches!(extents, Extents::Anywhere) && flow.bytes > 0;
                flow.ost_bytes = Some(stripes.spread(flow.bytes.max(0) as u64, &extents));
            }
        }
        let moved = |module: usize| {
            parts[module]
                .as_ref()
                .map(|part| (part.bytes(0), part.bytes(1)))
        };
        let both = |d: usize| {
            [POSIX, STDIO]
                .iter()
                .all(|m| parts[*m].as_ref().is_some_and(|part| part.bytes(d) > 0))
        };
        let filenos = parts[POSIX]
            .as_ref()
            .and_then(|part| sum(part.int(posix::FILENOS)))
            .unwrap_or(0);
        let shared = used.iter().any(|part| part.ranks().any(|rank| rank < 0));
        let first_rank = used.first().and_then(|part| part.ranks().next());
        let unique = !shared
            && used
                .iter()
                .all(|part| part.ranks().all(|rank| Some(rank) == first_rank));
        let (slowest, fastest) = extremes(&used, shared);
        let mount_point = mount.map(|mount| String::from_utf8_lossy(&mount.path));
        let fs = mount_point.as_deref().map(|mount_point| {
            if mount.is_some_and(|mount| mount.fs_type == b"lustre") {
                self.context.note_lustre(mount_point);
            }
            self.context.file_system(mount_point).to_string()
        });
        File {
            record_id: id,
            path: name.map(String::from_utf8_lossy),
            is_stream: is_stream(id),
            source,
            shared,
            unique,
            meta_time: sum_time(
                used.iter()
                    .flat_map(|part| part.float(part.counters.meta_time)),
            ),
            posix_incomplete,
            may_overlap: filenos > 0 && (both(0) || both(1)),
            nprocs_posix,
            nprocs_mpiio,
            by_interface: [moved(POSIX), moved(STDIO), moved(MPIIO)],
            posix: parts[POSIX].as_ref().map(|part| PosixCounts {
                rw_switches: sum(part.int(posix::RW_SWITCHES)),
                not_aligned: sum(part.int(posix::FILE_NOT_ALIGNED)),
                alignment: part.int(posix::FILE_ALIGNMENT).filter(|v| *v >= 0).max(),
            }),
            opens: sum(used
                .iter()
                .filter_map(|part| part.sum_all(part.counters.opens))),
            stats: match source {
                BytesSource::Dfs => parts[DFS]
                    .as_ref()
                    .and_then(|part| sum(part.int(dfs::STATS))),
                _ => parts[POSIX]
                    .as_ref()
                    .and_then(|part| sum(part.int(posix::STATS))),
            },
            seeks: sum(used
                .iter()
                .filter_map(|part| part.sum_all(part.counters.seeks))),
            syncs: sum(used
                .iter()
                .filter_map(|part| part.sum_all(part.counters.syncs))),
            mpiio: parts[MPIIO].as_ref().map(|part| {
                let counters = [
                    mpiio::INDEP_OPENS,
                    mpiio::COLL_OPENS,
                    mpiio::INDEP_READS,
                    mpiio::INDEP_WRITES,
                    mpiio::COLL_READS,
                    mpiio::COLL_WRITES,
                ];
                counters.map(|counter| sum(part.int(counter)))
            }),
            slowest,
            fastest,
            fs_osts: (stripes.as_ref().and_then(|stripes| stripes.fs_osts))
                .or_else(|| self.context.osts_of(fs.as_deref()?)),
            fs,
            mount_point,
            fs_type: mount.map(|mount| String::from_utf8_lossy(&mount.fs_type)),
            stripes,
            spread_evenly,
            read,
            write,
        }
    }

    /// The interface whose counters stand for the file, and whether MPI-IO stands in for a POSIX that lost records.
    fn source(&self, parts: &[Option<FileRecords<'_, '_>>; 5], nprocs: i64) -> (BytesSource, bool) {
        let has = |module: usize| parts[module].is_some();
        let calls = |module: usize| parts[module].as_ref().map_or(0, FileRecords::calls);
        let bytes = |module: usize| {
            parts[module]
                .as_ref()
                .map_or(0, |part| part.bytes(0).saturating_add(part.bytes(1)))
        };
        let posix = match (has(POSIX), has(STDIO)) {
            (true, true) => Some(BytesSource::PosixStdio),
            (true, false) => Some(BytesSource::Posix),
            (false, true) => Some(BytesSource::Stdio),
            (false, false) => None,
        };
        if let Some(posix) = posix.filter(|_| calls(POSIX) > 0 || calls(STDIO) > 0) {
            let fewer_ranks =
                processes(parts[POSIX].iter(), nprocs) < processes(parts[MPIIO].iter(), nprocs);
            let fewer_bytes = bytes(POSIX).saturating_add(bytes(STDIO)) < bytes(MPIIO);
            return match fewer_ranks && fewer_bytes && self.log.lacks_records(ModuleId::POSIX) {
                true => (BytesSource::MpiIo, true),
                false => (posix, false),
            };
        }
        for (module, source) in [
            (MPIIO, BytesSource::MpiIo),
            (DFS, BytesSource::Dfs),
            (DAOS, BytesSource::Daos),
        ] {
            if calls(module) > 0 {
                // Records of POSIX that are missing altogether were lost as well.
                let lost =
                    module == MPIIO && self.log.lacks_records(ModuleId::POSIX) && bytes(MPIIO) > 0;
                return (source, lost);
            }
        }
        let source = posix
            .or(has(MPIIO).then_some(BytesSource::MpiIo))
            .or(has(DFS).then_some(BytesSource::Dfs));
        (source.unwrap_or(BytesSource::Daos), false)
    }
}

impl File<'_> {
    /// The word in `sharing`.
    pub fn sharing(&self) -> &'static str {
        match (self.shared, self.unique) {
            (true, _) => "shared",
            (_, true) => "unique",
            _ => "part_shared",
        }
    }
}
