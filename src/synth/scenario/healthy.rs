//! Healthy I/O: large consecutive requests, in parallel, on many OSTs.
//!
//! Each way has at least two steps, of which none takes much more time than another: the files of a step are begun together,
//! so that one of them may cover all of its step, and should not be all of the job.

use super::cause::Direction;
use crate::math::random::Random;
use crate::synth::system::next_osts;
use crate::synth::workload::stage::{Requests, Stage, TimedFile, fit};
use crate::synth::workload::{Api, Library};

/// A way of moving bytes well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Healthy {
    /// A file for each process, in each of some steps.
    OwnFiles,
    /// A widely striped file of all processes in each step, through POSIX.
    SharedPosix,
    /// The same through collective MPI-IO.
    SharedCollective,
    /// Some fields in each step, each a file of all processes.
    Fields,
    /// A group of processes writes or reads for all; in the next step it is another group's turn.
    Aggregators,
    /// All processes read all inputs.
    Inputs,
}

/// Most processes of a job with a file for each of them: more make large logs that say no more.
pub(crate) const MOST_OWN_FILES: i64 = 512;

impl Healthy {
    /// One that suits; with `many`, one with at least ten files, none of which stands alone.
    pub(crate) fn pick(random: &mut Random, direction: Direction, nprocs: i64, many: bool) -> Self {
        let mut ways = vec![Self::Fields, Self::Aggregators];
        if nprocs <= MOST_OWN_FILES {
            ways.extend([Self::OwnFiles, Self::OwnFiles]);
        }
        if direction == Direction::Read {
            ways.push(Self::Inputs);
        }
        if !many {
            ways.extend([Self::SharedPosix, Self::SharedCollective]);
        }
        *random.pick(&ways)
    }

    /// Its stages, and bytes per second that `nprocs` processes move so. `ost` is left to others.
    pub(crate) fn stages(self, random: &mut Random, nprocs: i64, ost: i64) -> (Vec<Stage>, f64) {
        let (least, most) = match self {
            Self::OwnFiles | Self::Inputs => (2, 5),
            Self::SharedPosix | Self::SharedCollective => (2, 9),
            Self::Fields => (2, 6),
            Self::Aggregators => (3, 7),
        };
        let steps = random.int(least, most);
        // Files of a step, and stripes of a file.
        let (files, stripes) = match self {
            Self::OwnFiles => (nprocs, 1),
            Self::SharedPosix | Self::SharedCollective => (1, *random.pick(&[32, 48, 64, 128])),
            Self::Fields => (random.int(6, 13), *random.pick(&[8, 16, 24, 32])),
            Self::Aggregators => {
                let groups = *random.pick(&[16, 32, 64]);
                (groups.min(nprocs / 8), random.int(4, 9))
            }
            Self::Inputs => (random.int(6, 17), *random.pick(&[8, 16, 32])),
        };
        let api = match self {
            Self::SharedCollective => Api::mpi(true, *random.pick(&[Library::None, Library::Hdf5])),
            Self::Fields if random.chance(0.5) => Api::mpi(true, Library::None),
            _ => Api::Posix,
        };
        let requests = Requests::good(random);
        let pause = random.magnitude(2.0, 100.0);
        let mut next_ost = random.int(0, 10_000);
        let mut stages = vec![];
        for step in 0..steps {
            let files = (0..files).map(|file| {
                let osts = next_osts(&mut next_ost, stripes, ost);
                let rank = match self {
                    Self::OwnFiles => file,
                    // Never the first process, nor the last.
                    Self::Aggregators => file * (nprocs / files) + step + 1,
                    _ => -1,
                };
                let name = self.name(step, file);
                TimedFile {
                    api,
                    ..TimedFile::new(random, name, rank, requests, osts)
                }
            });
            let files = files.collect();
            stages.push(Stage::together(random, files, pause));
            let length = random.float(0.8, 1.25);
            let bytes = length * random.noise(0.1);
            fit(&mut stages[step as usize..], length, bytes);
        }
        let bandwidth = match self {
            Self::OwnFiles => nprocs as f64 * random.float(0.02, 0.08),
            Self::Aggregators => files as f64 * random.float(0.3, 0.7),
            _ => random.magnitude(4.0, 30.0),
        };
        (stages, bandwidth * 1e9)
    }

    fn name(self, step: i64, file: i64) -> String {
        match self {
            Self::OwnFiles => format!("dump{step:03}/rank{file:05}.bin"),
            Self::SharedPosix => format!("state_{step:04}.dat"),
            Self::SharedCollective => format!("fields_{step:05}.h5"),
            Self::Fields => format!("step{step:04}/field_{file:02}.dat"),
            Self::Aggregators => format!("step{step:04}/subfile_{file:04}.bp"),
            Self::Inputs => format!("epoch{step:02}/table_{file:03}.dat"),
        }
    }
}
