//! Mode `reference`: the operations that the published tool begins with.
//!
//! One module, first and last access of each record, standard streams too. Of a log with MPI-IO it takes opens and seeks from the record of POSIX that
//! stands at the same place in its module, whichever file that is; see correction c1 in [`super::full`].

use super::evidence::{Basis, Window};
use super::metadata::Access;
use super::observed::Observed;
use super::operation::Operation;
use super::options::Options;
use super::status::Status;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{mpiio, posix, stdio};
use crate::source::darshan::job::Job;
use crate::source::darshan::log::Log;

/// Counters of a module: each pair is of reads and writes.
struct Counters {
    id: ModuleId,
    bytes: [usize; 2],
    start: [usize; 2],
    end: [usize; 2],
    time: [usize; 2],
    /// Opens and seeks; None where they are looked for in POSIX.
    metadata: Option<[usize; 2]>,
}

/// The modules, in the order in which one is taken.
const MODULES: [Counters; 3] = [
    Counters {
        id: ModuleId::MPIIO,
        bytes: [mpiio::BYTES_READ, mpiio::BYTES_WRITTEN],
        start: [
            mpiio::F_READ_START_TIMESTAMP,
            mpiio::F_WRITE_START_TIMESTAMP,
        ],
        end: [mpiio::F_READ_END_TIMESTAMP, mpiio::F_WRITE_END_TIMESTAMP],
        time: [mpiio::F_READ_TIME, mpiio::F_WRITE_TIME],
        metadata: None,
    },
    Counters {
        id: ModuleId::POSIX,
        bytes: [posix::BYTES_READ, posix::BYTES_WRITTEN],
        start: [
            posix::F_READ_START_TIMESTAMP,
            posix::F_WRITE_START_TIMESTAMP,
        ],
        end: [posix::F_READ_END_TIMESTAMP, posix::F_WRITE_END_TIMESTAMP],
        time: [posix::F_READ_TIME, posix::F_WRITE_TIME],
        metadata: Some([posix::OPENS, posix::SEEKS]),
    },
    Counters {
        id: ModuleId::STDIO,
        bytes: [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
        start: [
            stdio::F_READ_START_TIMESTAMP,
            stdio::F_WRITE_START_TIMESTAMP,
        ],
        end: [stdio::F_READ_END_TIMESTAMP, stdio::F_WRITE_END_TIMESTAMP],
        time: [stdio::F_READ_TIME, stdio::F_WRITE_TIME],
        metadata: Some([stdio::OPENS, stdio::SEEKS]),
    },
];

/// The operations of a log, in the order of its records.
///
/// # Errors
/// [`Status::NoModule`], [`Status::NoPosix`]; [`Status::Inconsistent`] for negative bytes.
///
/// # Source
/// MOSAIC, operations, mode `reference`.
pub fn observe(log: &Log, job: &Job, options: &Options) -> Result<Observed, Status> {
    let module = MODULES.iter().find_map(|counters| {
        let records = log.records(counters.id)?;
        (!records.is_empty()).then_some((counters, records))
    });
    let (counters, records) = module.ok_or(Status::NoModule)?;
    let (metadata_of, metadata) = match counters.metadata {
        Some(metadata) => (records, metadata),
        None => {
            let posix = log.records(ModuleId::POSIX);
            let posix = posix.filter(|posix| posix.len() >= records.len());
            (posix.ok_or(Status::NoPosix)?, [posix::OPENS, posix::SEEKS])
        }
    };
    let mut operations = [vec![], vec![]];
    let mut windows = [vec![], vec![]];
    let mut accesses = vec![];
    for record in 0..records.len() {
        let id = records.id(record);
        if !options.mount.is_empty()
            && !log
                .name(id)
                .is_some_and(|name| name.starts_with(&options.mount))
        {
            continue;
        }
        let processes = match records.rank(record) {
            rank if rank < 0 => job.nprocs.max(1),
            _ => 1,
        } as f64;
        let [opens, seeks] = metadata.map(|counter| metadata_of.int(record, counter));
        let bytes = counters.bytes.map(|counter| records.int(record, counter));
        if bytes.iter().any(|bytes| *bytes < 0) {
            return Err(Status::Inconsistent);
        }
        let time = |counters: [usize; 2], direction: usize| {
            to_microseconds(records.float(record, counters[direction]))
        };
        let used = || (0..2).filter(|direction| bytes[*direction] > 0);
        let first = used().map(|d| time(counters.start, d)).reduce(f64::min);
        let last = used().map(|d| time(counters.end, d)).reduce(f64::max);
        let (Some(first), Some(last)) = (first, last) else {
            continue;
        };
        for direction in used() {
            let (start, end) = (
                time(counters.start, direction),
                time(counters.end, direction),
            );
            let length = end - start;
            operations[direction].push(Operation {
                start,
                end,
                bytes: bytes[direction],
                opens,
                seeks,
                rank_seconds: length * processes,
                earliest: first,
            });
            let spent = records.float(record, counters.time[direction]);
            windows[direction].push(Window {
                bytes: bytes[direction],
                length,
                busy: (length > 0.0).then(|| spent / (processes * length)),
            });
        }
        accesses.push(Access {
            first,
            last,
            opens,
            seeks,
        });
    }
    Ok(Observed {
        basis: Basis::Window(windows),
        partial_trace: false,
        operations,
        accesses,
    })
}

/// Seconds rounded to microseconds, ties to even, by the exact value: what a text with six digits says.
fn to_microseconds(seconds: f64) -> f64 {
    let microseconds = seconds * 1e6;
    let floor = microseconds.floor();
    let above_half = microseconds - floor - 0.5;
    // The product is rounded: near the middle what it lacks decides. Beyond 2^52 there is nothing left to round.
    let rounded = if above_half.abs() > 0.25 || microseconds.abs() >= 4.5e15 {
        microseconds.round_ties_even()
    } else {
        let exact = above_half + seconds.mul_add(1e6, -microseconds);
        match exact.total_cmp(&0.0) {
            std::cmp::Ordering::Less => floor,
            std::cmp::Ordering::Greater if exact > 0.0 => floor + 1.0,
            _ => microseconds.round_ties_even(),
        }
    };
    rounded / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn times_are_rounded_as_their_text_with_six_digits() {
        let random = &mut Random::new(3, 0);
        let mut seconds = vec![0.0, -0.0, 0.0078125, 0.0234375, 2.5e-6, 3.5e-6, 1e300, -1.0];
        seconds.extend((0..100_000).map(|_| random.magnitude(1e-7, 1e7)));
        // Near the middle between two microseconds.
        seconds.extend((0..100_000).map(|_| (random.below(1 << 40) as f64 + 0.5) / 1e6));
        seconds.extend((0..1000).map(|_| (random.below(1 << 30) as f64 + 0.5) / 64.0 / 15625.0));
        for seconds in seconds {
            let text: f64 = format!("{seconds:.6}").parse().unwrap();
            assert_eq!(to_microseconds(seconds), text, "{seconds:e}");
        }
        assert!(to_microseconds(f64::NAN).is_nan());
    }
}
