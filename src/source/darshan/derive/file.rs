//! One row for a file: all processes and interfaces of one record id.

use super::mount::Mounts;
use super::ost::{Extents, Stripes};
use super::{sum, sum_time};
use crate::source::Site;
use crate::source::darshan::counters::{daos, dfs, mpiio, posix, stdio};
use crate::source::darshan::job::Job;
use crate::source::darshan::log::{Log, Records};
use crate::source::darshan::module::ModuleId;
use crate::source::darshan::module::lustre::Layout;
use std::borrow::Cow;
use std::collections::HashMap;

/// Record ids of `<STDIN>`, `<STDOUT>` and `<STDERR>`: they survive anonymising, the names do not.
const STREAMS: [u64; 3] = [
    14734109647742566553,
    15920181672442173319,
    7238257241479193519,
];

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the program.
    Read,
    /// Towards the file.
    Write,
}

/// Interface whose counters stand for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// POSIX calls.
    Posix,
    /// Buffered streams.
    Stdio,
    /// Both: they count different requests.
    PosixStdio,
    /// MPI-IO calls.
    MpiIo,
    /// Calls of a DAOS file system.
    Dfs,
    /// Calls on DAOS objects.
    Daos,
}

/// What one direction of a file saw.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Bytes, by the source.
    pub bytes: i64,
    /// Calls, by the source.
    pub calls: i64,
    /// Seconds, summed over processes.
    pub time: Option<f64>,
    /// First start and last end, seconds since the start of the log.
    pub window: Option<(f64, f64)>,
    /// Processes that moved bytes; None when shared.
    pub active: Option<i64>,
    /// Time / (processes x window).
    pub busy: Option<f64>,
    /// Latest of start + time.
    pub busy_end: Option<f64>,
    /// The slowest call, seconds.
    pub max_time: Option<f64>,
    /// Highest offset, from 0.
    pub max_byte: Option<u64>,
    /// Requests of POSIX: calls, by size, sequential, consecutive, first ones; None where it is not in the source.
    pub requests: Option<Requests>,
    /// Bytes on each element of the OST list.
    pub ost_bytes: Option<Vec<i64>>,
}

/// POSIX requests of one direction.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub(super) calls: Option<i64>,
    pub(super) sizes: [Option<i64>; 10],
    pub(super) seq: Option<i64>,
    pub(super) consec: Option<i64>,
    pub(super) first: Option<i64>,
}

/// The process with most or least I/O time in a file.
#[derive(Clone, Copy, Debug)]
pub struct RankTime {
    pub(super) rank: i64,
    pub(super) time: f64,
    pub(super) bytes: i64,
}

/// One file of one log.
pub struct File<'a> {
    /// Darshan's hash of the name.
    pub record_id: u64,
    /// The path as far as it is text.
    pub path: Option<Cow<'a, str>>,
    /// Standard input, output or error.
    pub is_stream: bool,
    /// Interface of bytes, calls, times and windows.
    pub source: Source,
    /// At least one record of the source is reduced over all processes.
    pub shared: bool,
    /// One process alone has a record of the source.
    pub unique: bool,
    /// Reading.
    pub read: Flow,
    /// Writing.
    pub write: Flow,
    /// Seconds in metadata operations, summed over processes.
    pub meta_time: Option<f64>,
    pub(super) posix_incomplete: bool,
    pub(super) may_overlap: bool,
    pub(super) nprocs_posix: i64,
    pub(super) nprocs_mpiio: i64,
    /// Bytes read and written by interface: POSIX, STDIO, MPI-IO; None without a record.
    pub(super) by_interface: [Option<(i64, i64)>; 3],
    pub(super) posix: Option<PosixCounts>,
    pub(super) opens: Option<i64>,
    pub(super) stats: Option<i64>,
    pub(super) seeks: Option<i64>,
    pub(super) syncs: Option<i64>,
    pub(super) mpiio: Option<[Option<i64>; 6]>,
    pub(super) slowest: Option<RankTime>,
    pub(super) fastest: Option<RankTime>,
    pub(super) mount_point: Option<Cow<'a, str>>,
    pub(super) fs_type: Option<Cow<'a, str>>,
    pub(super) fs: Option<String>,
    pub(super) stripes: Option<Stripes>,
    pub(super) spread_evenly: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PosixCounts {
    pub(super) rw_switches: Option<i64>,
    pub(super) not_aligned: Option<i64>,
    pub(super) alignment: Option<i64>,
}

/// One record, by the module it is of and its place there.
#[derive(Clone, Copy)]
struct Entry {
    id: u64,
    module: usize,
    record: usize,
}

/// Modules whose record ids are files, in the order in which one is taken as the source.
const MODULES: [ModuleId; 5] = [
    ModuleId::POSIX,
    ModuleId::STDIO,
    ModuleId::MPIIO,
    ModuleId::DFS,
    ModuleId::DAOS,
];
const POSIX: usize = 0;
const STDIO: usize = 1;
const MPIIO: usize = 2;
const DFS: usize = 3;
const DAOS: usize = 4;

/// The counters that each module has for the same thing; a list is added up.
struct Counters {
    bytes: [usize; 2],
    calls: [&'static [usize]; 2],
    start: [usize; 2],
    end: [usize; 2],
    time: [usize; 2],
    meta_time: usize,
    max_time: Option<[usize; 2]>,
    max_byte: Option<[usize; 2]>,
    opens: &'static [usize],
    seeks: &'static [usize],
    syncs: &'static [usize],
    slowest: [usize; 3],
    fastest: [usize; 3],
}

const COUNTERS: [Counters; 5] = [
    Counters {
        bytes: [posix::BYTES_READ, posix::BYTES_WRITTEN],
        calls: [&[posix::READS], &[posix::WRITES]],
        start: [
            posix::F_READ_START_TIMESTAMP,
            posix::F_WRITE_START_TIMESTAMP,
        ],
        end: [posix::F_READ_END_TIMESTAMP, posix::F_WRITE_END_TIMESTAMP],
        time: [posix::F_READ_TIME, posix::F_WRITE_TIME],
        meta_time: posix::F_META_TIME,
        max_time: Some([posix::F_MAX_READ_TIME, posix::F_MAX_WRITE_TIME]),
        max_byte: Some([posix::MAX_BYTE_READ, posix::MAX_BYTE_WRITTEN]),
        opens: &[posix::OPENS],
        seeks: &[posix::SEEKS],
        syncs: &[posix::FSYNCS, posix::FDSYNCS],
        slowest: [
            posix::SLOWEST_RANK,
            posix::F_SLOWEST_RANK_TIME,
            posix::SLOWEST_RANK_BYTES,
        ],
        fastest: [
            posix::FASTEST_RANK,
            posix::F_FASTEST_RANK_TIME,
            posix::FASTEST_RANK_BYTES,
        ],
    },
    Counters {
        bytes: [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
        calls: [&[stdio::READS], &[stdio::WRITES]],
        start: [
            stdio::F_READ_START_TIMESTAMP,
            stdio::F_WRITE_START_TIMESTAMP,
        ],
        end: [stdio::F_READ_END_TIMESTAMP, stdio::F_WRITE_END_TIMESTAMP],
        time: [stdio::F_READ_TIME, stdio::F_WRITE_TIME],
        meta_time: stdio::F_META_TIME,
        max_time: None,
        max_byte: Some([stdio::MAX_BYTE_READ, stdio::MAX_BYTE_WRITTEN]),
        opens: &[stdio::OPENS],
        seeks: &[stdio::SEEKS],
        syncs: &[stdio::FLUSHES],
        slowest: [
            stdio::SLOWEST_RANK,
            stdio::F_SLOWEST_RANK_TIME,
            stdio::SLOWEST_RANK_BYTES,
        ],
        fastest: [
            stdio::FASTEST_RANK,
            stdio::F_FASTEST_RANK_TIME,
            stdio::FASTEST_RANK_BYTES,
        ],
    },
    Counters {
        bytes: [mpiio::BYTES_READ, mpiio::BYTES_WRITTEN],
        calls: [
            &[
                mpiio::INDEP_READS,
                mpiio::COLL_READS,
                mpiio::SPLIT_READS,
                mpiio::NB_READS,
            ],
            &[
                mpiio::INDEP_WRITES,
                mpiio::COLL_WRITES,
                mpiio::SPLIT_WRITES,
                mpiio::NB_WRITES,
            ],
        ],
        start: [
            mpiio::F_READ_START_TIMESTAMP,
            mpiio::F_WRITE_START_TIMESTAMP,
        ],
        end: [mpiio::F_READ_END_TIMESTAMP, mpiio::F_WRITE_END_TIMESTAMP],
        time: [mpiio::F_READ_TIME, mpiio::F_WRITE_TIME],
        meta_time: mpiio::F_META_TIME,
        max_time: Some([mpiio::F_MAX_READ_TIME, mpiio::F_MAX_WRITE_TIME]),
        max_byte: None,
        opens: &[mpiio::INDEP_OPENS, mpiio::COLL_OPENS],
        seeks: &[],
        syncs: &[mpiio::SYNCS],
        slowest: [
            mpiio::SLOWEST_RANK,
            mpiio::F_SLOWEST_RANK_TIME,
            mpiio::SLOWEST_RANK_BYTES,
        ],
        fastest: [
            mpiio::FASTEST_RANK,
            mpiio::F_FASTEST_RANK_TIME,
            mpiio::FASTEST_RANK_BYTES,
        ],
    },
    Counters {
        bytes: [dfs::BYTES_READ, dfs::BYTES_WRITTEN],
        calls: [&[dfs::READS, dfs::READXS], &[dfs::WRITES, dfs::WRITEXS]],
        start: [dfs::F_READ_START_TIMESTAMP, dfs::F_WRITE_START_TIMESTAMP],
        end: [dfs::F_READ_END_TIMESTAMP, dfs::F_WRITE_END_TIMESTAMP],
        time: [dfs::F_READ_TIME, dfs::F_WRITE_TIME],
        meta_time: dfs::F_META_TIME,
        max_time: Some([dfs::F_MAX_READ_TIME, dfs::F_MAX_WRITE_TIME]),
        max_byte: None,
        opens: &[dfs::OPENS, dfs::GLOBAL_OPENS],
        seeks: &[],
        syncs: &[],
        slowest: [
            dfs::SLOWEST_RANK,
            dfs::F_SLOWEST_RANK_TIME,
            dfs::SLOWEST_RANK_BYTES,
        ],
        fastest: [
            dfs::FASTEST_RANK,
            dfs::F_FASTEST_RANK_TIME,
            dfs::FASTEST_RANK_BYTES,
        ],
    },
    Counters {
        bytes: [daos::BYTES_READ, daos::BYTES_WRITTEN],
        calls: [
            &[daos::OBJ_FETCHES, daos::ARRAY_READS, daos::KV_GETS],
            &[daos::OBJ_UPDATES, daos::ARRAY_WRITES, daos::KV_PUTS],
        ],
        start: [daos::F_READ_START_TIMESTAMP, daos::F_WRITE_START_TIMESTAMP],
        end: [daos::F_READ_END_TIMESTAMP, daos::F_WRITE_END_TIMESTAMP],
        time: [daos::F_READ_TIME, daos::F_WRITE_TIME],
        meta_time: daos::F_META_TIME,
        max_time: Some([daos::F_MAX_READ_TIME, daos::F_MAX_WRITE_TIME]),
        max_byte: None,
        opens: &[daos::OBJ_OPENS, daos::ARRAY_OPENS, daos::KV_OPENS],
        seeks: &[],
        syncs: &[],
        slowest: [
            daos::SLOWEST_RANK,
            daos::F_SLOWEST_RANK_TIME,
            daos::SLOWEST_RANK_BYTES,
        ],
        fastest: [
            daos::FASTEST_RANK,
            daos::F_FASTEST_RANK_TIME,
            daos::FASTEST_RANK_BYTES,
        ],
    },
];

/// The files of a log, by ascending record id.
pub fn files<'a>(log: &'a Log, job: &'a Job, site: &Site) -> Vec<File<'a>> {
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
        site,
        modules,
        mounts: Mounts::new(&job.mounts),
        layouts: layouts(log),
        traced: Traced::new(log),
    };
    entries
        .chunk_by(|a, b| a.id == b.id)
        .map(|entries| context.file(entries))
        .collect()
}

struct Context<'a, 's> {
    log: &'a Log,
    job: &'a Job,
    site: &'s Site,
    modules: Vec<Option<Records<'a>>>,
    mounts: Mounts<'a>,
    layouts: HashMap<u64, Vec<Layout<'a>>>,
    traced: Traced,
}

/// The LUSTRE records by file.
fn layouts(log: &Log) -> HashMap<u64, Vec<Layout<'_>>> {
    let mut layouts: HashMap<u64, Vec<Layout<'_>>> = HashMap::new();
    log.lustre()
        .for_each(|layout| layouts.entry(layout.id).or_default().push(layout));
    layouts
}

/// What DXT_POSIX saw of each file: accesses (offset, length), and processes that moved bytes.
#[derive(Default)]
struct Traced(HashMap<(u64, usize), (Vec<(u64, u64)>, Vec<i64>)>);

impl Traced {
    fn new(log: &Log) -> Self {
        let mut traced = Self::default();
        for record in log.dxt(ModuleId::DXT_POSIX) {
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

    fn of(&self, id: u64, direction: usize) -> Option<&(Vec<(u64, u64)>, Vec<i64>)> {
        self.0.get(&(id, direction))
    }
}

/// The records of one module for one file.
struct Part<'a, 'c> {
    records: &'c Records<'a>,
    counters: &'static Counters,
    entries: &'c [Entry],
}

impl Part<'_, '_> {
    fn int(&self, counter: usize) -> impl Iterator<Item = i64> + '_ {
        self.entries
            .iter()
            .map(move |e| self.records.int(e.record, counter))
    }

    fn float(&self, counter: usize) -> impl Iterator<Item = f64> + '_ {
        self.entries
            .iter()
            .map(move |e| self.records.float(e.record, counter))
    }

    fn sum_all(&self, counters: &[usize]) -> Option<i64> {
        sum(counters.iter().flat_map(|counter| self.int(*counter)))
    }

    fn rank(&self, entry: &Entry) -> i64 {
        self.records.rank(entry.record)
    }

    fn ranks(&self) -> impl Iterator<Item = i64> + '_ {
        self.entries.iter().map(|entry| self.rank(entry))
    }

    fn bytes(&self, direction: usize) -> i64 {
        sum(self.int(self.counters.bytes[direction])).unwrap_or(0)
    }

    fn calls(&self) -> i64 {
        (0..2)
            .map(|d| self.sum_all(self.counters.calls[d]).unwrap_or(0))
            .sum()
    }
}

impl<'a> Context<'a, '_> {
    fn file(&self, entries: &[Entry]) -> File<'a> {
        let id = entries[0].id;
        let parts: [Option<Part<'a, '_>>; 5] = std::array::from_fn(|module| {
            let from = entries.partition_point(|e| e.module < module);
            let to = entries.partition_point(|e| e.module <= module);
            let records = self.modules[module].as_ref().filter(|_| from < to)?;
            Some(Part {
                records,
                counters: &COUNTERS[module],
                entries: &entries[from..to],
            })
        });
        let nprocs = self.job.nprocs.max(1);
        let (source, posix_incomplete) = self.source(&parts, nprocs);
        let used: Vec<&Part<'a, '_>> = source
            .modules()
            .iter()
            .filter_map(|module| parts[*module].as_ref())
            .collect();
        let below = [&parts[POSIX], &parts[STDIO], &parts[DFS], &parts[DAOS]];
        let below: &[&Option<Part>] = if matches!(source, Source::Dfs | Source::Daos) {
            &below[2..]
        } else {
            &below[..2]
        };
        let nprocs_posix = processes(below.iter().filter_map(|part| part.as_ref()), nprocs);
        let nprocs_mpiio = processes(parts[MPIIO].iter(), nprocs);
        let upper = if source == Source::MpiIo {
            nprocs_mpiio
        } else {
            nprocs_posix
        };

        let name = self.log.name(id);
        let mount = name.and_then(|name| self.mounts.find(name));
        let stripes = self
            .layouts
            .get(&id)
            .and_then(|layouts| Stripes::join(layouts.iter().cloned()));
        let offsets = [POSIX, STDIO].map(|module| parts[module].as_ref());
        let [mut read, mut write] = [0, 1].map(|direction| {
            let mut flow = flow(&used, direction, nprocs, upper);
            flow.max_byte = offsets
                .iter()
                .flatten()
                .filter_map(|part| max_byte(part, direction))
                .max();
            if let (None, Some((_, ranks))) = (flow.active, self.traced.of(id, direction)) {
                flow.active = Some(ranks.len() as i64);
            }
            let is_posix = matches!(source, Source::Posix | Source::PosixStdio);
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
                let extents = match (self.traced.of(id, direction), highest) {
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
        File {
            record_id: id,
            path: name.map(String::from_utf8_lossy),
            is_stream: STREAMS.contains(&id),
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
                Source::Dfs => parts[DFS]
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
            fs: mount_point
                .as_deref()
                .map(|mount_point| self.site.file_system(mount_point).to_string()),
            mount_point,
            fs_type: mount.map(|mount| String::from_utf8_lossy(&mount.fs_type)),
            stripes,
            spread_evenly,
            read,
            write,
        }
    }

    /// The interface whose counters stand for the file, and whether MPI-IO stands in for a POSIX that lost records.
    fn source(&self, parts: &[Option<Part<'_, '_>>; 5], nprocs: i64) -> (Source, bool) {
        let has = |module: usize| parts[module].is_some();
        let calls = |module: usize| parts[module].as_ref().map_or(0, Part::calls);
        let bytes = |module: usize| {
            parts[module]
                .as_ref()
                .map_or(0, |part| part.bytes(0).saturating_add(part.bytes(1)))
        };
        let posix = match (has(POSIX), has(STDIO)) {
            (true, true) => Some(Source::PosixStdio),
            (true, false) => Some(Source::Posix),
            (false, true) => Some(Source::Stdio),
            (false, false) => None,
        };
        if let Some(posix) = posix.filter(|_| calls(POSIX) + calls(STDIO) > 0) {
            let fewer_ranks =
                processes(parts[POSIX].iter(), nprocs) < processes(parts[MPIIO].iter(), nprocs);
            let fewer_bytes = bytes(POSIX).saturating_add(bytes(STDIO)) < bytes(MPIIO);
            return match fewer_ranks && fewer_bytes && self.log.lacks_records(ModuleId::POSIX) {
                true => (Source::MpiIo, true),
                false => (posix, false),
            };
        }
        for (module, source) in [
            (MPIIO, Source::MpiIo),
            (DFS, Source::Dfs),
            (DAOS, Source::Daos),
        ] {
            if calls(module) > 0 {
                // Records of POSIX that are missing altogether were lost as well.
                let lost =
                    module == MPIIO && self.log.lacks_records(ModuleId::POSIX) && bytes(MPIIO) > 0;
                return (source, lost);
            }
        }
        let source = posix
            .or(has(MPIIO).then_some(Source::MpiIo))
            .or(has(DFS).then_some(Source::Dfs));
        (source.unwrap_or(Source::Daos), false)
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

impl Source {
    /// The word in `bytes_source`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posix => "posix",
            Self::Stdio => "stdio",
            Self::PosixStdio => "posix+stdio",
            Self::MpiIo => "mpiio",
            Self::Dfs => "dfs",
            Self::Daos => "daos",
        }
    }

    fn modules(self) -> &'static [usize] {
        match self {
            Self::Posix => &[POSIX],
            Self::Stdio => &[STDIO],
            Self::PosixStdio => &[POSIX, STDIO],
            Self::MpiIo => &[MPIIO],
            Self::Dfs => &[DFS],
            Self::Daos => &[DAOS],
        }
    }
}

/// Processes with a record; all of the log as soon as one record is shared.
fn processes<'p>(parts: impl Iterator<Item = &'p Part<'p, 'p>>, nprocs: i64) -> i64 {
    let mut ranks: Vec<i64> = parts
        .flat_map(|part| part.entries.iter().map(|e| part.records.rank(e.record)))
        .collect();
    distinct(&mut ranks, nprocs)
}

fn distinct(ranks: &mut Vec<i64>, nprocs: i64) -> i64 {
    ranks.sort_unstable();
    ranks.dedup();
    match ranks.first() {
        Some(rank) if *rank < 0 => nprocs,
        _ => (ranks.len() as i64).min(nprocs),
    }
}

fn flow(used: &[&Part<'_, '_>], d: usize, nprocs: i64, upper: i64) -> Flow {
    let bytes = used
        .iter()
        .map(|part| part.bytes(d))
        .fold(0i64, i64::saturating_add);
    let calls = sum(used
        .iter()
        .filter_map(|part| part.sum_all(part.counters.calls[d])))
    .unwrap_or(0);
    let time = sum_time(
        used.iter()
            .flat_map(|part| part.float(part.counters.time[d])),
    );
    let start = used
        .iter()
        .flat_map(|part| part.float(part.counters.start[d]))
        .filter(|t| *t > 0.0)
        .reduce(f64::min);
    let end = used
        .iter()
        .flat_map(|part| part.float(part.counters.end[d]))
        .filter(|t| *t > 0.0)
        .reduce(f64::max);
    let window = start.zip(end);
    let mut moved: Vec<i64> = vec![];
    for part in used {
        moved.extend(
            part.entries
                .iter()
                .zip(part.int(part.counters.bytes[d]))
                .filter(|(_, bytes)| *bytes > 0)
                .map(|(entry, _)| part.rank(entry)),
        );
    }
    let hidden = moved.iter().any(|rank| *rank < 0) && nprocs > 1;
    let active = (!hidden).then(|| distinct(&mut moved, nprocs));
    let workers = active.filter(|n| *n > 0).unwrap_or(upper) as f64;
    let busy = time.zip(window).and_then(|(time, (start, end))| {
        (end > start && workers > 0.0).then(|| time / (workers * (end - start)))
    });
    let busy_end = used
        .iter()
        .filter_map(|part| busy_end(part, d, nprocs))
        .reduce(f64::max);
    let max_time = used
        .iter()
        .filter_map(|part| Some((part, part.counters.max_time?[d])))
        .flat_map(|(part, counter)| part.float(counter));
    let max_time = max_time.filter(|t| *t >= 0.0).reduce(f64::max);
    Flow {
        bytes,
        calls,
        time,
        window,
        active,
        busy,
        busy_end,
        max_time,
        ..Flow::default()
    }
}

/// Latest start + time in the direction; of a shared record the slowest process's time, as far as it is that direction's.
fn busy_end(part: &Part<'_, '_>, d: usize, nprocs: i64) -> Option<f64> {
    let ends = part.entries.iter().filter_map(|entry| {
        let value = |counter: usize| part.records.float(entry.record, counter);
        let (start, time) = (
            value(part.counters.start[d]),
            value(part.counters.time[d]).max(0.0),
        );
        let time = match part.rank(entry) < 0 && nprocs > 1 {
            true => {
                let all = value(part.counters.time[0]).max(0.0)
                    + value(part.counters.time[1]).max(0.0)
                    + value(part.counters.meta_time).max(0.0);
                if all > 0.0 {
                    value(part.counters.slowest[1]).max(0.0) * time / all
                } else {
                    0.0
                }
            }
            false => time,
        };
        (start > 0.0).then_some(start + time)
    });
    ends.reduce(f64::max)
}

/// The highest offset that a direction touched, if it moved bytes.
fn max_byte(part: &Part<'_, '_>, d: usize) -> Option<u64> {
    let counter = part.counters.max_byte?[d];
    let moved = part
        .int(part.counters.bytes[d])
        .zip(part.int(counter))
        .filter(|(bytes, _)| *bytes > 0);
    moved
        .filter_map(|(_, highest)| u64::try_from(highest).ok())
        .max()
}

fn requests(part: &Part<'_, '_>, d: usize, nprocs: i64) -> Requests {
    let (calls, size, seq, consec) = match d {
        0 => (
            posix::READS,
            posix::SIZE_READ_0_100,
            posix::SEQ_READS,
            posix::CONSEC_READS,
        ),
        _ => (
            posix::WRITES,
            posix::SIZE_WRITE_0_100,
            posix::SEQ_WRITES,
            posix::CONSEC_WRITES,
        ),
    };
    let shared = nprocs > 1 && part.ranks().any(|rank| rank < 0);
    Requests {
        calls: sum(part.int(calls)),
        sizes: std::array::from_fn(|bin| sum(part.int(size + bin))),
        seq: sum(part.int(seq)),
        consec: sum(part.int(consec)),
        first: (!shared).then(|| part.int(calls).filter(|calls| *calls > 0).count() as i64),
    }
}

/// The processes with most and with least I/O time: of shared records as the slowest one says, else by the sum of each rank.
fn extremes(used: &[&Part<'_, '_>], shared: bool) -> (Option<RankTime>, Option<RankTime>) {
    let known = |v: i64| v.max(0);
    if shared {
        let records = used.iter().flat_map(|part| {
            part.entries
                .iter()
                .filter(|e| part.rank(e) < 0)
                .map(move |e| (part, e.record))
        });
        let of = |part: &Part<'_, '_>, record: usize, counters: &[usize; 3]| {
            let [rank, time, bytes] = *counters;
            let (rank, time) = (
                part.records.int(record, rank),
                part.records.float(record, time),
            );
            (rank >= 0 && time >= 0.0).then(|| RankTime {
                rank,
                time,
                bytes: known(part.records.int(record, bytes)),
            })
        };
        let both = records.filter_map(|(part, record)| {
            Some((
                of(part, record, &part.counters.slowest)?,
                of(part, record, &part.counters.fastest),
            ))
        });
        let slowest = both.reduce(|a, b| if b.0.time > a.0.time { b } else { a });
        return (slowest.map(|s| s.0), slowest.and_then(|s| s.1));
    }
    let mut ranks: Vec<RankTime> = vec![];
    for part in used {
        let [read, write] = part.counters.time;
        for entry in part.entries {
            let value = |counter: usize| part.records.float(entry.record, counter).max(0.0);
            let bytes = part
                .counters
                .bytes
                .map(|counter| known(part.records.int(entry.record, counter)));
            let time = value(read) + value(write) + value(part.counters.meta_time);
            ranks.push(RankTime {
                rank: part.rank(entry),
                time,
                bytes: bytes[0].saturating_add(bytes[1]),
            });
        }
    }
    ranks.sort_by_key(|r| r.rank);
    let merged = ranks
        .chunk_by(|a, b| a.rank == b.rank)
        .map(|same| RankTime {
            rank: same[0].rank,
            time: same.iter().map(|r| r.time).sum(),
            bytes: same.iter().map(|r| r.bytes).fold(0, i64::saturating_add),
        });
    let merged: Vec<RankTime> = merged.collect();
    let slowest = merged
        .iter()
        .copied()
        .reduce(|a, b| if b.time > a.time { b } else { a });
    let fastest = merged
        .iter()
        .copied()
        .reduce(|a, b| if b.time < a.time { b } else { a });
    (slowest, fastest)
}
