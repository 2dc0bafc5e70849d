//! Bursts that come at equal distances, whatever else goes on.
//!
//! Clustering asks which segments are alike; neither do alike segments have to come at equal distances, nor do checkpoints a few seconds early or late, cut by bins, or on top of a
//! stream, have to be alike. Here the distances themselves are asked.

use super::operation::Operation;
use super::segment::{Segment, segments};
use crate::math::evenness;
use crate::math::variation::sample_variation;

/// Bursts whose distances are as even by chance less often than this are a train. Some ten kinds of bursts are looked for in a log.
const SIGNIFICANT: f64 = 0.005;

/// Bursts of a train, at least.
const LEAST_BURSTS: usize = 3;

/// A train moves this part of the bytes, at least, and lasts this part of the time from the first operation to the last: requests of a checkpoint follow one another evenly, too.
const LEAST_SHARE: f64 = 0.25;

/// Slices of the run in which bursts are looked for: a pause as long as a slice ends a burst.
const FINEST: usize = 4096;

/// They are looked for in the finest slices, in four of these together, and in four of those.
const TOGETHER: [usize; 3] = [1, 4, 4];

/// A slice is part of a burst if it has so many times the mean bytes of a slice.
const HOT: f64 = 1.5;

/// Distances of a train vary so little: their deviation over their mean. Of very many bursts any order is no chance.
const MOST_VARIATION: f64 = 0.5;

/// Pauses between bursts are so many times as long as those within them, at least.
const LONGER: f64 = 5.0;

/// A burst, or what may be one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst {
    start: f64,
    end: f64,
    /// The moment by which half of it is over; its start where that is known exactly.
    at: f64,
    bytes: f64,
}

/// Operations divided into those of a train and the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Train {
    /// A segment for each burst.
    pub segments: Vec<Segment>,
    /// Operations that are not part of it, in their order.
    pub others: Vec<Operation>,
}

/// The train of a direction's operations; None without one.
///
/// # Input
/// `operations`: sorted. `total`: length of the run, seconds. `bin`: length of an interval, seconds, where operations are bins.
///
/// # Method
/// A burst is one of three: operations that overlap or touch; operations that are parted only by pauses far shorter than the others; neighbouring slices of the run with more than
/// 1.5 times the mean bytes of a slice, in slices of three lengths, or in the bins as they are. A stream has fewer bytes in each slice, and vanishes.
///
/// Those are taken that have at least half the bytes of the middle burst, the one in which half of all bytes are reached, beginning with the largest; then those of them that have at
/// most twice as many. They are a train if the distances from burst to burst vary by half of their mean at most and, less what a burst takes, so little that bursts at any time
/// would do so in less than one of 200 cases: `math::evenness`. Of several trains the one is taken that chance explains least.
///
/// # Source
/// Ours: correction c8 of [`full`](crate::answer::analysis::mosaic::full).
pub fn train(operations: &[Operation], total: f64, bin: Option<f64>) -> Option<Train> {
    let whole = Whole::of(operations);
    if operations.len() < LEAST_BURSTS || total <= 0.0 || whole.bytes <= 0.0 {
        return None;
    }
    let exact = segments(operations).into_iter().map(|segment| Burst {
        start: segment.start,
        end: segment.work_end,
        at: segment.start,
        bytes: segment.bytes as f64,
    });
    let exact: Vec<Burst> = exact.collect();
    let mut found = vec![];
    if let Some(width) = bin {
        let bursts = Slices::new(operations, total, width).bursts();
        found.extend(even(&exact, width, width, &whole));
        found.extend(even(&bursts, width, width, &whole));
    } else {
        let (closed, pause) = without_short_pauses(&exact);
        found.extend(even(&exact, 0.0, 0.0, &whole));
        found.extend(even(&closed, pause, 0.0, &whole));
        let mut slices = Slices::new(operations, total, total / FINEST as f64);
        for together in TOGETHER {
            slices = slices.joined(together);
            let mut bursts = slices.bursts();
            bursts.iter_mut().for_each(|burst| burst.at = burst.start);
            found.extend(even(&bursts, slices.width, slices.width, &whole));
        }
    }
    let likely = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let (_, bursts) = likely.filter(|(ln_chance, _)| *ln_chance < SIGNIFICANT.ln())?;
    divide(operations, &bursts)
}

/// What all operations of a direction do.
struct Whole {
    bytes: f64,
    /// Seconds from the first to the last.
    seconds: f64,
}

impl Whole {
    fn of(operations: &[Operation]) -> Self {
        let start = operations.first().map_or(0.0, |operation| operation.start);
        let ends = operations.iter().map(|operation| operation.end);
        Self {
            bytes: operations.iter().map(|o| o.bytes as f64).sum(),
            seconds: ends.fold(start, f64::max) - start,
        }
    }
}

/// Those of the bursts that may be a train, and the logarithm of the chance that they are as even as they are: all that are large, and of these those that are alike. `pause`: seconds up to
/// which a pause is not seen. `width`: of the intervals by which moments are known.
fn even(bursts: &[Burst], pause: f64, width: f64, whole: &Whole) -> Vec<(f64, Vec<Burst>)> {
    let Some(middle) = middle(bursts) else {
        return vec![];
    };
    let between = |most: f64| -> Vec<Burst> {
        let is_taken = |burst: &&Burst| burst.bytes >= middle / 2.0 && burst.bytes <= most;
        bursts.iter().filter(is_taken).copied().collect()
    };
    let is_enough = |bursts: &Vec<Burst>| {
        let bytes: f64 = bursts.iter().map(|burst| burst.bytes).sum();
        let seconds = match &bursts[..] {
            [first, .., last] => last.end - first.start,
            _ => 0.0,
        };
        bursts.len() >= LEAST_BURSTS
            && bytes >= LEAST_SHARE * whole.bytes
            && seconds >= LEAST_SHARE * whole.seconds
            && sample_variation(&distances(bursts)) <= MOST_VARIATION
    };
    let taken = [between(f64::INFINITY), between(2.0 * middle)];
    let taken = taken.into_iter().filter(is_enough);
    taken
        .map(|bursts| {
            let distances = free_distances(&bursts, pause);
            (evenness::ln_chance(&distances, width * width / 6.0), bursts)
        })
        .collect()
}

/// The bytes of the burst in which half of the bytes are reached, beginning with the largest; None of none.
fn middle(bursts: &[Burst]) -> Option<f64> {
    let mut bytes: Vec<f64> = bursts.iter().map(|burst| burst.bytes).collect();
    bytes.sort_by(|a, b| b.total_cmp(a));
    let half = bytes.iter().sum::<f64>() / 2.0;
    let mut sum = 0.0;
    bytes.into_iter().find(|bytes| {
        sum += bytes;
        sum >= half
    })
}

/// Bursts of which those are one that only short pauses part, and the longest of these: pauses are short where the next longer one is five times as long, and no other step is
/// as large. The same bursts and 0 if none are.
fn without_short_pauses(bursts: &[Burst]) -> (Vec<Burst>, f64) {
    let pause = |pair: &[Burst]| pair[1].start - pair[0].end;
    let mut pauses: Vec<f64> = bursts.windows(2).map(pause).collect();
    pauses.sort_by(f64::total_cmp);
    let steps = pauses.windows(2).map(|pair| (pair[1] / pair[0], pair[0]));
    let step = steps.max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, longest)) = step.filter(|(factor, _)| *factor >= LONGER) else {
        return (bursts.to_vec(), 0.0);
    };
    let mut closed: Vec<Burst> = vec![];
    for burst in bursts {
        match closed.last_mut() {
            Some(last) if burst.start - last.end <= longest => {
                last.end = burst.end;
                last.bytes += burst.bytes;
            }
            _ => closed.push(*burst),
        }
    }
    (closed, longest)
}

/// Seconds from each burst to the next.
fn distances(bursts: &[Burst]) -> Vec<f64> {
    let pairs = bursts.windows(2);
    pairs.map(|pair| pair[1].at - pair[0].at).collect()
}

/// Seconds from each burst to the next that it could have been earlier: less those that a burst takes.
fn free_distances(bursts: &[Burst], pause: f64) -> Vec<f64> {
    let distances = distances(bursts);
    let lengths: f64 = bursts.iter().map(|burst| burst.end - burst.start).sum();
    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let taken = (lengths / bursts.len().max(1) as f64 + pause).min(least);
    distances.iter().map(|distance| distance - taken).collect()
}

/// Neighbouring slices of the run with equal bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SliceRun {
    first: usize,
    past: usize,
    /// Bytes of each of them.
    bytes: f64,
    /// First and last moment in which an operation goes on.
    used: (f64, f64),
}

/// Bytes of operations by equal slices of the run; slices without any are left out.
struct Slices {
    width: f64,
    /// Slices in which operations begin or end, and those between them.
    runs: Vec<SliceRun>,
    /// Mean bytes of all slices.
    mean: f64,
}

/// What an operation changes at a slice.
#[derive(Clone, Copy, Default)]
struct Change {
    slice: usize,
    /// Bytes of this slice alone, and the moments in which they are moved.
    part: Option<(f64, f64, f64)>,
    /// Bytes of this slice and all after it, and the operations that go on in all of them.
    step: (f64, i64),
}

impl Slices {
    /// Spreads the bytes of operations evenly over their lengths. O(n log n) of n operations, however many slices there are.
    fn new(operations: &[Operation], total: f64, width: f64) -> Self {
        let n = ((total / width).ceil() as usize).clamp(1, 1 << 16);
        let edge = |slice: usize| slice as f64 * width;
        let slice_of = |time: f64| {
            let slice = ((time / width) as usize).min(n - 1);
            // Division may round up to the next slice.
            if slice > 0 && time < edge(slice) {
                slice - 1
            } else {
                slice
            }
        };
        let mut changes = Vec::with_capacity(4 * operations.len());
        let part = |slice: usize, bytes: f64, from: f64, to: f64| Change {
            slice,
            part: Some((bytes, from, to)),
            ..Change::default()
        };
        for operation in operations {
            let (start, end) = (operation.start, operation.end);
            let (first, last) = (slice_of(start), slice_of(end));
            // What ends at the edge of a slice has no part of it.
            let last = if last > first && end <= edge(last) {
                last - 1
            } else {
                last
            };
            let own = operation.bytes as f64;
            if first == last {
                changes.push(part(first, own, start, end));
                continue;
            }
            let (past, from) = (edge(first + 1), edge(last));
            let rate = own / (end - start);
            changes.push(part(first, rate * (past - start), start, past));
            changes.push(part(last, rate * (end - from), from, end));
            let step = |slice, sign: i64| Change {
                slice,
                step: (sign as f64 * rate * width, sign),
                ..Change::default()
            };
            changes.extend([step(first + 1, 1), step(last, -1)]);
        }
        changes.sort_by_key(|change| change.slice);
        let mut runs: Vec<SliceRun> = vec![];
        let (mut whole, mut going_on, mut next) = (0.0, 0, 0);
        for at in changes.chunk_by(|a, b| a.slice == b.slice) {
            let slice = at[0].slice;
            if going_on > 0 && next < slice {
                runs.push(SliceRun {
                    first: next,
                    past: slice,
                    bytes: whole,
                    used: (edge(next), edge(slice)),
                });
            }
            whole += at.iter().map(|change| change.step.0).sum::<f64>();
            going_on += at.iter().map(|change| change.step.1).sum::<i64>();
            let parts = at.iter().filter_map(|change| change.part);
            let (mut bytes, mut used) = (0.0, (f64::INFINITY, f64::NEG_INFINITY));
            for (own, from, to) in parts {
                bytes += own;
                used = (used.0.min(from), used.1.max(to));
            }
            if going_on > 0 {
                bytes += whole;
                used = (edge(slice), edge(slice + 1));
            } else {
                // What sums of rates leave behind.
                whole = 0.0;
            }
            next = slice + 1;
            if used.0 <= used.1 {
                runs.push(SliceRun {
                    first: slice,
                    past: next,
                    bytes,
                    used,
                });
            }
        }
        let all = runs.iter().map(|run| run.bytes * run.length());
        let mean = all.sum::<f64>() / n as f64;
        Self { width, runs, mean }
    }

    /// Slices of so many neighbours together.
    fn joined(self, together: usize) -> Self {
        if together == 1 {
            return self;
        }
        let edge = |slice: usize| slice as f64 * self.width;
        let mut runs: Vec<SliceRun> = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let mut at = run.first;
            while at < run.past {
                let slice = at / together;
                // Whole ones, or what the run has of one.
                let (n, to) = match at % together {
                    0 if run.past - at >= together => {
                        let n = (run.past - at) / together;
                        (n, at + n * together)
                    }
                    _ => (1, run.past.min((slice + 1) * together)),
                };
                let bytes = run.bytes * (to - at) as f64 / n as f64;
                let used = (run.used.0.max(edge(at)), run.used.1.min(edge(to)));
                match runs.last_mut() {
                    Some(last) if last.past == slice + 1 => {
                        last.bytes += bytes;
                        last.used.1 = used.1;
                    }
                    _ => runs.push(SliceRun {
                        first: slice,
                        past: slice + n,
                        bytes,
                        used,
                    }),
                }
                at = to;
            }
        }
        Self {
            width: self.width * together as f64,
            runs,
            mean: self.mean * together as f64,
        }
    }

    /// Slices with many bytes, neighbours together.
    fn bursts(&self) -> Vec<Burst> {
        let mut bursts: Vec<Burst> = vec![];
        let mut before = None;
        for run in self.runs.iter().filter(|run| run.bytes > HOT * self.mean) {
            let (start, end) = run.used;
            let bytes = run.bytes * run.length();
            let moment = (run.first + run.past) as f64 / 2.0 * self.width;
            match bursts.last_mut() {
                Some(last) if before == Some(run.first) => {
                    last.end = end;
                    last.at += bytes * moment;
                    last.bytes += bytes;
                }
                _ => bursts.push(Burst {
                    start,
                    end,
                    at: bytes * moment,
                    bytes,
                }),
            }
            before = Some(run.past);
        }
        for burst in &mut bursts {
            burst.at /= burst.bytes;
        }
        bursts
    }
}

impl SliceRun {
    /// How many slices it has.
    fn length(&self) -> f64 {
        (self.past - self.first) as f64
    }
}

/// Divides operations into those that lie in a burst and others; None if too few bursts have any.
fn divide(operations: &[Operation], bursts: &[Burst]) -> Option<Train> {
    let mut own: Vec<Option<Operation>> = vec![None; bursts.len()];
    let mut others = vec![];
    for operation in operations {
        let middle = operation.start + operation.length() / 2.0;
        let after = bursts.partition_point(|burst| burst.start <= middle);
        let at = after.checked_sub(1).filter(|at| {
            let burst = &bursts[*at];
            middle <= burst.end && operation.length() <= 2.0 * (burst.end - burst.start)
        });
        match at.map(|at| &mut own[at]) {
            None => others.push(*operation),
            Some(Some(sum)) => sum.absorb(operation),
            Some(none) => *none = Some(*operation),
        }
    }
    let own: Vec<Operation> = own.into_iter().flatten().collect();
    let segments = segments(&own);
    (segments.len() >= LEAST_BURSTS).then_some(Train { segments, others })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::io_pattern::periodicity::Period;
    use crate::math::random::Random;

    fn operation(start: f64, end: f64, bytes: i64) -> Operation {
        Operation {
            start,
            end,
            bytes,
            earliest: start,
            ..Operation::default()
        }
    }

    /// Ten of 2 seconds, one each 60 s.
    fn ten() -> Vec<Operation> {
        let starts = (0..10).map(|at| 5.0 + 60.0 * f64::from(at));
        starts
            .map(|start| operation(start, start + 2.0, 1000))
            .collect()
    }

    fn starts(train: &Train) -> Vec<f64> {
        let segments = train.segments.iter();
        segments.map(|segment| segment.start).collect()
    }

    fn sorted(mut operations: Vec<Operation>) -> Vec<Operation> {
        super::super::operation::sort(&mut operations);
        operations
    }

    #[test]
    fn equal_distances_are_a_train_and_others_are_none() {
        let found = train(&ten(), 600.0, None).unwrap();
        assert_eq!(found.segments.len(), 10);
        assert!(found.others.is_empty());
        // Each a few seconds early or late.
        let late = [0.0, 4.0, -6.0, 3.0, 5.0, -2.0, 0.0, -5.0, 6.0, 1.0];
        let moved = ten().into_iter().zip(late).map(|(o, late)| Operation {
            start: o.start + late,
            end: o.end + late,
            ..o
        });
        let moved = sorted(moved.collect());
        assert_eq!(train(&moved, 600.0, None).unwrap().segments.len(), 10);
        // At any time.
        let any = [
            3.0, 50.0, 61.0, 190.0, 230.0, 240.0, 400.0, 470.0, 540.0, 560.0,
        ];
        let any = any.map(|start| operation(start, start + 2.0, 1000));
        assert_eq!(train(&any, 600.0, None), None);
        // More even than by chance, for there are so many, and without a beat.
        let (mut at, mut random) = (0.0, Random::new(1, 1));
        let uneven = (0..400).map(|_| {
            at += *random.pick(&[1.6, 6.4]);
            operation(at, at + 0.1, 1000)
        });
        assert!(train(&uneven.collect::<Vec<_>>(), 1700.0, None).is_none());
        // Two have one distance.
        assert_eq!(train(&ten()[..2], 600.0, None), None);
        assert_eq!(train(&[], 600.0, None), None);
        assert_eq!(train(&ten(), 0.0, None), None);
    }

    #[test]
    fn a_stream_below_checkpoints_and_small_bursts_beside_them_are_others() {
        let stream = operation(0.0, 600.0, 5000);
        let mut with_stream = ten();
        with_stream.push(stream);
        let found = train(&sorted(with_stream), 600.0, None).unwrap();
        assert_eq!(starts(&found), starts(&train(&ten(), 600.0, None).unwrap()));
        assert_eq!(found.others, [stream]);
        let small = [20.0, 33.0, 131.0, 400.0, 407.0].map(|at| operation(at, at + 1.0, 300));
        let mut with_small = ten();
        with_small.extend(small);
        let found = train(&sorted(with_small), 600.0, None).unwrap();
        assert_eq!((found.segments.len(), found.others.len()), (10, 5));
    }

    #[test]
    fn requests_of_a_checkpoint_are_one_burst() {
        let requests = ten().into_iter().flat_map(|o| {
            let at = |part: f64| o.start + part;
            [(0.0, 0.5), (0.6, 1.1), (1.5, 2.0)].map(|(a, b)| operation(at(a), at(b), 333))
        });
        let found = train(&requests.collect::<Vec<_>>(), 600.0, None).unwrap();
        let works: Vec<(f64, i64)> = found
            .segments
            .iter()
            .map(|s| (s.work_end - s.start, s.bytes))
            .collect();
        assert_eq!(works, [(2.0, 999); 10]);
        // Even requests of one checkpoint are no period of the run.
        let mut one: Vec<Operation> = (0..9)
            .map(|at| operation(f64::from(at), f64::from(at) + 0.5, 1000))
            .collect();
        one.push(operation(590.0, 599.0, 2000));
        assert_eq!(train(&one, 600.0, None), None);
    }

    #[test]
    fn bins_with_many_bytes_are_a_train_among_bins_with_few() {
        let bin = |at: i64, bytes| operation(at as f64 * 4.0, (at + 1) as f64 * 4.0, bytes);
        let bins = (0..150).map(|at| bin(at, if at % 15 == 7 { 1000 } else { 20 }));
        let bins: Vec<Operation> = bins.collect();
        let found = train(&bins, 600.0, Some(4.0)).unwrap();
        assert_eq!(found.segments.len(), 10);
        assert_eq!(found.segments[1].start, 22.0 * 4.0);
        assert_eq!(found.others.len(), 140);
        // Three may be where they are by chance.
        let bins = [5, 20, 35].map(|at| bin(at, 1000));
        assert_eq!(train(&bins, 160.0, Some(4.0)), None);
    }

    #[test]
    fn a_last_burst_that_goes_on_is_no_part_of_what_is_busy() {
        let mut bursts: Vec<Operation> = (0..9)
            .map(|at| operation(10.0 * f64::from(at), 10.0 * f64::from(at) + 1.0, 1000))
            .collect();
        bursts.push(operation(90.0, 120.0, 1000));
        let found = train(&bursts, 120.0, None).unwrap();
        let period = Period::of_train(&found.segments).unwrap();
        assert_eq!((period.seconds, period.busy), (10.0, 0.1));
    }

    /// Bytes of each slice, and the moments in which it is used.
    fn each(slices: &Slices, n: usize) -> Vec<(f64, (f64, f64))> {
        let none = (0.0, (f64::INFINITY, f64::NEG_INFINITY));
        let mut all = vec![none; n];
        for run in &slices.runs {
            let edge = |slice: usize| slice as f64 * slices.width;
            for (slice, one) in all.iter_mut().enumerate().take(run.past).skip(run.first) {
                let whole = (edge(slice), edge(slice + 1));
                *one = (run.bytes, if run.length() > 1.0 { whole } else { run.used });
            }
        }
        all
    }

    #[test]
    fn slices_are_those_of_a_plain_sum_over_all_slices() {
        let mut random = Random::new(5, 3);
        for _ in 0..300 {
            let n = 40;
            let mut operations: Vec<Operation> = (0..20)
                .map(|_| {
                    // Many begin or end at an edge.
                    let start = f64::from(*random.pick(&[0, 3, 17, 18, 30])) / 2.0
                        + random.unit().round() * random.unit();
                    let length = *random.pick(&[0.0, 0.5, 1.0, 3.25, 2.0]);
                    operation(start, start + length, 1000)
                })
                .collect();
            operations = sorted(operations);
            let slices = Slices::new(&operations, 20.0, 0.5);
            let found = each(&slices, n);
            for (slice, (bytes, used)) in found.iter().enumerate() {
                let (from, to) = (slice as f64 * 0.5, (slice + 1) as f64 * 0.5);
                let own = operations.iter().map(|o| match o.length() > 0.0 {
                    true => 1000.0 * (o.end.min(to) - o.start.max(from)).max(0.0) / o.length(),
                    false => f64::from(1000 * i32::from(from <= o.start && o.start < to)),
                });
                let expected: f64 = own.sum();
                assert!(
                    (bytes - expected).abs() < 1e-6,
                    "{slice}: {bytes} {expected}"
                );
                let is_used = used.0 <= used.1 && used.0 >= from && used.1 <= to;
                assert!(is_used || expected == 0.0, "{slice}: {used:?}");
            }
            let wide = Slices::new(&operations, 20.0, 2.0);
            let joined = slices.joined(4);
            assert_eq!(joined.width, wide.width);
            assert!((joined.mean - wide.mean).abs() < 1e-6);
            for (joined, wide) in each(&joined, 10).iter().zip(each(&wide, 10)) {
                assert!((joined.0 - wide.0).abs() < 1e-6, "{joined:?} {wide:?}");
                assert_eq!(joined.1, wide.1);
            }
        }
    }

    #[test]
    fn slices_hold_all_bytes_whole_slices_and_parts_of_them() {
        let operations = [
            operation(0.0, 10.0, 100),
            operation(2.5, 2.5, 7),
            operation(3.0, 4.0, 11),
            operation(9.5, 10.0, 13),
        ];
        let slices = Slices::new(&operations, 10.0, 1.0);
        let expected = [10.0, 10.0, 17.0, 21.0, 10.0, 10.0, 10.0, 10.0, 10.0, 23.0];
        let found = each(&slices, 10);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.0 - expected).abs() < 1e-9, "{found:?}");
        }
        let slices = Slices::new(&operations[2..], 10.0, 1.0);
        let found = each(&slices, 10);
        assert_eq!(found[3].1, (3.0, 4.0));
        assert_eq!(found[9].1, (9.5, 10.0));
        assert_eq!(slices.bursts().len(), 2);
    }
}
