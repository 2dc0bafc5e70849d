//! Mode `reference`: the operations that the published tool begins with.
//!
//! One module, first and last access of each record, standard streams too. Of a log with MPI-IO it takes opens and seeks from the record of POSIX that
//! stands at the same place in its module, whichever file that is; see correction c1 in [`super::full`].

use super::evidence::{Basis, Window};
use super::log_rows::{LogRows, RecordRow};
use super::metadata::Access;
use super::observed::Observed;
use super::status::Status;
use crate::math::io_pattern::operation::Operation;

/// The operations of a log, in the order of its records.
///
/// # Errors
/// [`Status::NoModule`], [`Status::NoPosix`]; [`Status::NoOrder`] if the order of records is not known; [`Status::Inconsistent`] for negative bytes;
/// [`Status::TooMany`] records.
///
/// # Source
/// MOSAIC, operations, mode `reference`.
pub fn observe(rows: &LogRows) -> Result<Observed, Status> {
    if rows.has_too_many_files {
        return Err(Status::TooMany);
    }
    let [mpiio, posix, _] = &rows.records;
    let records = rows.records.iter().find(|records| !records.is_empty());
    let records = records.ok_or(Status::NoModule)?;
    if !mpiio.is_empty() && posix.len() < mpiio.len() {
        return Err(Status::NoPosix);
    }
    let of_posix = match mpiio.is_empty() {
        true => None,
        false => Some(in_order(posix)?),
    };
    let records = in_order(records)?;
    let metadata_of = of_posix.as_ref().unwrap_or(&records);
    let nprocs = rows.run.and_then(|run| run.nprocs).unwrap_or(1).max(1);
    let used = |direction: usize| {
        let used = records.iter().filter(move |r| r.bytes[direction] > Some(0));
        used.count()
    };
    let mut operations = [0, 1].map(|direction| Vec::with_capacity(used(direction)));
    let mut windows = [0, 1].map(|direction| Vec::with_capacity(used(direction)));
    let mut accesses = Vec::with_capacity(records.len());
    let mut opens_and_seeks = [(0i64, 0i64); 2];
    for (record, of_metadata) in records.iter().zip(metadata_of) {
        let processes = if record.rank < 0 { nprocs } else { 1 } as f64;
        let (opens, seeks) = (of_metadata.opens, of_metadata.seeks);
        let [Some(read), Some(written)] = record.bytes else {
            return Err(Status::Inconsistent);
        };
        let bytes = [read, written];
        let used = || (0..2).filter(|direction| bytes[*direction] > 0);
        let (mut starts, mut ends) = ([0.0; 2], [0.0; 2]);
        for direction in used() {
            starts[direction] = to_microseconds(record.start[direction]);
            ends[direction] = to_microseconds(record.end[direction]);
        }
        let first = used().map(|d| starts[d]).reduce(f64::min);
        let last = used().map(|d| ends[d]).reduce(f64::max);
        let (Some(first), Some(last)) = (first, last) else {
            continue;
        };
        for direction in used() {
            let (start, end) = (starts[direction], ends[direction]);
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
            let sums = &mut opens_and_seeks[direction];
            *sums = (sums.0.saturating_add(opens), sums.1.saturating_add(seeks));
            let spent = record.time[direction];
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
        opens_and_seeks,
        accesses,
    })
}

/// Records in the order of the log.
fn in_order(records: &[RecordRow]) -> Result<Vec<&RecordRow>, Status> {
    if records.iter().any(|record| record.number.is_none()) {
        return Err(Status::NoOrder);
    }
    let mut records: Vec<&RecordRow> = records.iter().collect();
    records.sort_by_key(|record| record.number);
    Ok(records)
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
