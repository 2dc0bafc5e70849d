//! The interfaces through which a file is read and written, and which of Darshan's counters say the same in each.

use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{daos, dfs, mpiio, posix, stdio};

/// Interface whose counters stand for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesSource {
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

/// Modules whose record ids are files, in the order in which one is taken as the source.
pub(super) const MODULES: [ModuleId; 5] = [
    ModuleId::POSIX,
    ModuleId::STDIO,
    ModuleId::MPIIO,
    ModuleId::DFS,
    ModuleId::DAOS,
];
pub(super) const POSIX: usize = 0;
pub(super) const STDIO: usize = 1;
pub(super) const MPIIO: usize = 2;
pub(super) const DFS: usize = 3;
pub(super) const DAOS: usize = 4;

/// The counters that each module has for the same thing; a list is added up.
pub(super) struct Counters {
    pub(super) bytes: [usize; 2],
    pub(super) calls: [&'static [usize]; 2],
    pub(super) start: [usize; 2],
    pub(super) end: [usize; 2],
    pub(super) time: [usize; 2],
    pub(super) meta_time: usize,
    pub(super) max_time: Option<[usize; 2]>,
    pub(super) max_byte: Option<[usize; 2]>,
    pub(super) opens: &'static [usize],
    pub(super) seeks: &'static [usize],
    pub(super) syncs: &'static [usize],
    pub(super) slowest: [usize; 3],
    pub(super) fastest: [usize; 3],
}

pub(super) const COUNTERS: [Counters; 5] = [
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

impl BytesSource {
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

    pub(super) fn modules(self) -> &'static [usize] {
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
