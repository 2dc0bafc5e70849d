//! A synthetic month of Darshan logs, Slurm accounting and LMT samples that agree with one another, for tests, benchmarks
//! and demos: generated inputs take the path of real ones, and the answers are known.
//!
//! A [`Month`] is a kind, a number of jobs and a seed. Its bytes depend on nothing else: no clock, no machine, no order of
//! threads. Job `i` is a pure function of the month ([`Month::logs`]), so a month of any size costs no memory and its logs
//! can be generated on many threads.
//!
//! ```text
//! month      the parameters                      system    file systems and OSTs, one of them slow      site    which mount is which
//! scenario/  which program job i is, how large, when, and what is planted in it: a scenario for each
//! workload/  phases of reads and writes, and how long each takes on its processes and OSTs
//! darshan/   workload -> counters, traces, heat maps -> DarshanLog, which source::darshan::write encodes
//! slurm/     the accounting of these jobs, and of others that left no log, as sacct prints it day by day
//! lmt/       workload -> load of the servers -> their counters, sampled every 5 s
//! truth      what was planted, as JSON, which merge puts together
//! inputs     the month as files, or as inputs that are generated when a lake reads them
//! ```
//!
//! The usual month follows what the IOMiner paper found on Cori (section III): shares of programs, sizes, read ratios,
//! consecutive requests and interfaces are dealt out exactly in every 1,000 jobs (`workload/apps.toml`), bytes are
//! heavy-tailed. Numbers agree with one another as in real logs: sizes sum to bytes, times match what an OST can do, POSIX
//! carries what came through MPI-IO. The other kinds of months ([`Kind`]) measure how well causes of slow I/O are told apart.
//!
//! What was planted is written to `truth.json` from the scenarios alone, never from the code that analyses logs.

mod darshan;
mod inputs;
mod lmt;
mod merge;
mod month;
mod scenario;
mod site;
mod slurm;
mod system;
mod truth;
mod workload;

pub use inputs::{GeneratedInputs, Summary, check_new, write, write_with};
pub use month::{Kind, Month, MonthLog, Paths};

#[cfg(test)]
mod tests;
