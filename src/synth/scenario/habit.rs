//! Habits that cost I/O time and that counters tell: how the files of each are used, and what Darshan counts of them.
//!
//! A habit has a share of the time as a cause has (`case`); its files are shared by all processes, striped widely, and used
//! in large requests, so that nothing else is the matter with them.

use super::cause::Habit;
use crate::math::random::Random;
use crate::synth::system::next_osts;
use crate::synth::workload::stage::{Requests, Stage, TimedFile};
use crate::synth::workload::{Api, FileUse, Library};

impl Habit {
    /// Its files, all at once.
    pub(crate) fn stages(self, random: &mut Random, nprocs: i64, left_out: i64) -> Vec<Stage> {
        let files = match self {
            Self::MetadataStorm => nprocs.min(2048),
            _ => random.int(1, 6),
        };
        let mut next_ost = random.int(0, 10_000);
        let files = (0..files).map(|at| {
            let (rank, stripes) = match self {
                Self::MetadataStorm => (at * nprocs / files, 1),
                _ => (-1, *random.pick(&[16, 32, 64])),
            };
            let osts = next_osts(&mut next_ost, stripes, left_out);
            let requests = match self {
                Self::Misaligned => Requests::misaligned(random),
                _ => Requests::good(random),
            };
            let name = format!("member/run_{at:05}.dat");
            let api = match self {
                Self::Sieving => Api::mpi(false, Library::None),
                Self::StdioBulk => Api::Stdio,
                _ => Api::Posix,
            };
            TimedFile {
                api,
                habit: Some(self),
                ..TimedFile::new(random, name, rank, requests, osts)
            }
        });
        let files: Vec<TimedFile> = files.collect();
        let pause = random.magnitude(2.0, 60.0);
        vec![Stage::together(random, files, pause)]
    }

    /// What it makes of a file whose time is given.
    pub(crate) fn apply(self, file: &mut FileUse) {
        let [read, written] = &mut file.transfers;
        match self {
            // As much is read as written, in half of the time each.
            Self::Sieving => {
                if let Some(written) = written {
                    written.time /= 2.0;
                    *read = Some(written.clone());
                    file.sieved = true;
                }
            }
            Self::MetadataStorm => {
                for moved in read.iter_mut().chain(written) {
                    let spent = moved.time;
                    moved.time = spent / 50.0;
                    file.meta = spent - moved.time;
                }
            }
            Self::EmptyReads => {
                if let Some(read) = read {
                    // Each process asks some times more.
                    let count = read.count() + 16 * file.procs;
                    (read.bytes, read.sizes, read.gap) = (0, vec![(0, count)], 0);
                    // Each is where the one before ended.
                    (read.consecutive, read.sequential) = (count - file.procs, count - file.procs);
                }
            }
            Self::Misaligned | Self::StdioBulk => {}
        }
    }
}
