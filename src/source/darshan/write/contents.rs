//! A log as plain data.

use super::encode::Bytes;
use super::module::Module;
use crate::source::darshan::header::{ByteOrder, Compression};
use crate::source::darshan::job::Mount;

/// A log as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct DarshanLog {
    /// Version of the format: (3, 0), (3, 10), (3, 20), (3, 21) and (3, 41) exist. What lies between is written like
    /// the version before it, so that a reader can be shown versions that do not exist.
    pub version: (u16, u16),
    /// Of every number in the file.
    pub byte_order: ByteOrder,
    /// Of every region but the header.
    pub compression: Compression,
    /// Bit i is set if module i (3.41 numbering) ran out of memory on some rank.
    pub partial: u64,
    /// The job region.
    pub job: Job,
    /// Record id and name, in file order, duplicates included. Empty: no name region.
    pub names: Vec<(u64, Vec<u8>)>,
    /// Names in each compressed stream of the name region, as [`Module::streams`].
    pub name_streams: Vec<usize>,
    /// Module regions in any order; they are written by ascending id. A module that the version has no number for (H5D
    /// before 3.20, PNETCDF_VAR before 3.41) is left out.
    pub modules: Vec<Module>,
}

/// What the job region holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// User id.
    pub uid: i64,
    /// Start: seconds since 1970 and nanoseconds; the latter are stored since 3.41.
    pub start: (i64, i64),
    /// End, likewise.
    pub end: (i64, i64),
    /// Processes.
    pub nprocs: i64,
    /// Job id.
    pub job_id: i64,
    /// Lines `key=value\n`; at most 1,023 bytes are written.
    pub metadata: Vec<u8>,
    /// Command line. What is longer than the room is cut, ends in `<TRUNCATED>`, and leaves no room for mounts.
    pub exe: Vec<u8>,
    /// Mounts; those past the room are left out.
    pub mounts: Vec<Mount>,
}

impl Job {
    /// Room for the command line and the mounts, without the NUL at the end.
    fn room(version: (u16, u16)) -> usize {
        if version < (3, 41) { 3031 } else { 3015 }
    }

    pub(super) fn write(&self, version: (u16, u16), to: &mut Bytes) {
        let nanoseconds = version >= (3, 41);
        to.i64(self.uid);
        for (seconds, nanos) in [self.start, self.end] {
            to.i64(seconds);
            if nanoseconds {
                to.i64(nanos);
            }
        }
        to.i64(self.nprocs);
        to.i64(self.job_id);
        to.text(&self.metadata, 1024);

        let (mut tail, _) = self.tail(version);
        tail.push(0);
        to.raw(&tail);
    }

    /// The command line and the mounts that there is room for, and how many those are.
    fn tail(&self, version: (u16, u16)) -> (Vec<u8>, usize) {
        let room = Self::room(version);
        let mut tail = self.exe.clone();
        if tail.len() > room {
            let mark = b"<TRUNCATED>";
            tail.truncate(room - mark.len());
            tail.extend_from_slice(mark);
        }
        for (number, mount) in self.mounts.iter().enumerate() {
            let line = [
                b"\n",
                mount.fs_type.as_slice(),
                b"\t",
                mount.path.as_slice(),
            ]
            .concat();
            if tail.len() + line.len() > room {
                return (tail, number);
            }
            tail.extend_from_slice(&line);
        }
        (tail, self.mounts.len())
    }

    /// Mounts that a log of this version has no room for.
    pub(in crate::source::darshan) fn mounts_left_out(&self, version: (u16, u16)) -> usize {
        self.mounts.len() - self.tail(version).1
    }
}
