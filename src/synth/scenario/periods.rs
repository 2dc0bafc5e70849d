//! The month of periods: checkpoints at equal distances and bytes without a period, each as windows, bins and traces tell of it.
//!
//! Four jobs in a row write the same bytes at the same times and differ in what their logs hold. Each row has the next of the
//! cases, over and over.

use super::job::{Job, Release, Scenario};
use super::plan::Plan;
use super::repeats::{Repeats, Rhythm, Told};
use crate::math::random::Random;
use crate::synth::workload::burst::Burst;
use crate::synth::workload::{Access, Workload};

/// Numbers of checkpoints, or of bursts without a period.
const BURSTS: [i64; 4] = [3, 10, 30, 100];

/// Standard deviations by which a checkpoint is off its time.
const JITTERS: [f64; 4] = [0.0, 0.02, 0.1, 0.3];

/// A rhythm, its bursts, its jitter, and whether a stream is beside it.
type Kind = (Rhythm, i64, f64, bool);

/// What there is, in the order in which it comes.
fn kinds() -> Vec<Kind> {
    let mut kinds = vec![];
    for bursts in BURSTS {
        for has_stream in [false, true] {
            for jitter in JITTERS {
                kinds.push((Rhythm::Checkpoints, bursts, jitter, has_stream));
            }
            kinds.push((Rhythm::AnyTime, bursts, 0.0, has_stream));
        }
    }
    for jitter in JITTERS {
        kinds.push((Rhythm::TwoPeriods, 10, jitter, false));
    }
    kinds.push((Rhythm::AtStart, 10, 0.0, false));
    kinds.push((Rhythm::Stream, 0, 0.0, true));
    kinds
}

/// Job `index`.
pub(crate) fn job(plan: &Plan, index: u64) -> Job {
    let (row, told) = (index / 4, Told::ALL[index as usize % 4]);
    let kinds = kinds();
    let (rhythm, bursts, jitter, has_stream) = kinds[row as usize % kinds.len()];
    let random = &mut Random::new(plan.month.seed ^ 0x9e71, row);
    // From a few minutes to two days.
    let run = random.magnitude(300.0, 170_000.0);
    let period = run / bursts.max(10) as f64;
    let share = random.float(0.05, 0.5);
    let repeats = Repeats {
        rhythm,
        bursts,
        jitter,
        stream: has_stream.then_some(share),
        told,
        period,
        second_period: (rhythm == Rhythm::TwoPeriods).then(|| period * random.float(0.3, 0.8)),
    };
    let nprocs = *random.pick(&[1, 2, 4, 8, 16]);
    let job = plan.posix_job(index, None, nprocs, Scenario::Periods(repeats));
    Job {
        // The newest one, which has bins.
        release: Release::at(0.0),
        ..job
    }
}

/// The I/O of a job, and the generator for what else its log has.
pub(crate) fn workload(plan: &Plan, job: &Job, repeats: Repeats) -> (Workload, Random) {
    let seed = plan.month.seed;
    let mut random = Random::new(seed ^ 0x9e72, job.index / 4);
    let mut workload = Workload::new(job, seed, Random::new(random.bits(), 0));
    (workload.slow, workload.small) = (false, 0.0);
    workload.traced = (repeats.told == Told::Dxt).then_some(1);
    workload.binned = Some(repeats.told == Told::Heatmap);
    workload.phase([Access::deck(job)]);
    let begin = workload.clock + 0.1;
    let (bursts, end) = bursts(&mut random, &repeats, begin);
    let own: i64 = bursts.iter().map(|burst| burst.bytes).sum();
    let dir = job.dir();
    let stream = repeats.stream.map(|share| match bursts.is_empty() {
        true => random.magnitude(5e8, 5e10),
        false => own as f64 * share / (1.0 - share),
    });
    match (repeats.told, bursts.is_empty()) {
        (_, true) => {}
        (Told::Files, _) => {
            for (number, burst) in bursts.into_iter().enumerate() {
                let path = format!("{dir}/out/checkpoint_{number:04}.dat");
                write(&mut workload, path, -1, vec![burst]);
            }
        }
        _ => write(
            &mut workload,
            format!("{dir}/out/checkpoints.dat"),
            -1,
            bursts,
        ),
    }
    if let Some(bytes) = stream {
        let pieces = pieces(&mut random, repeats.bursts, begin, end, bytes);
        write(&mut workload, format!("{dir}/out/history.dat"), 0, pieces);
    }
    workload.clock = end;
    (workload, random)
}

/// Adds a file that is written in bursts.
fn write(workload: &mut Workload, path: String, rank: i64, bursts: Vec<Burst>) {
    let (Some(first), Some(last)) = (bursts.first(), bursts.last()) else {
        return;
    };
    let (start, seconds) = (first.start, last.end - first.start);
    let lengths: f64 = bursts.iter().map(|burst| burst.end - burst.start).sum();
    let bytes = bursts.iter().map(|burst| burst.bytes).sum();
    let access = Access::write(path, rank, bytes);
    workload.timed(access, start, seconds, 0.95 * lengths / seconds);
    if let Some(file) = workload.uses.last_mut() {
        file.write_in_bursts(bursts);
    }
}

/// The bursts of a rhythm, by start, none while another one lasts, and when the run ends.
fn bursts(random: &mut Random, repeats: &Repeats, begin: f64) -> (Vec<Burst>, f64) {
    let period = repeats.period;
    let bytes = random.magnitude(5e7, 5e9);
    let busy = random.float(0.02, 0.2);
    // Checkpoints are of one size in some programs, and nearly so in others.
    let varies = random.chance(0.5);
    let first = begin + period * random.float(0.2, 1.0);
    let tail = period * random.float(0.1, 1.0);
    let n = repeats.bursts;
    let mut all: Vec<(f64, f64, f64)> = vec![];
    match repeats.rhythm {
        Rhythm::Checkpoints | Rhythm::TwoPeriods => {
            all.extend((0..n).map(|at| (first + at as f64 * period, 1.0, period)));
            if let Some(second) = repeats.second_period {
                let small = (period * (n - 1) as f64 / second) as i64;
                let start = first + second * random.float(0.0, 1.0);
                all.extend((0..small).map(|at| (start + at as f64 * second, 0.25, second)));
            }
            for (start, _, period) in &mut all {
                *start += *period * random.noise(repeats.jitter).ln();
            }
        }
        Rhythm::AnyTime => {
            let whole = period * n as f64;
            all.extend((0..n).map(|_| (begin + random.float(0.0, whole), 1.0, period)));
        }
        Rhythm::AtStart => {
            let tenth = period * n as f64 / 10.0;
            all.extend((0..n).map(|_| (begin + random.float(0.0, tenth), 1.0, period / 10.0)));
        }
        Rhythm::Stream => {}
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = begin;
    let mut bursts = vec![];
    for (start, size, of) in all {
        let start = f64::max(start, free);
        let end = start + of * busy * size * random.noise(0.05);
        let noise = if varies { random.noise(0.01) } else { 1.0 };
        let bytes = (bytes * size * noise) as i64;
        bursts.push(Burst { start, end, bytes });
        free = end + 0.001 * of;
    }
    let whole = begin + period * n.max(10) as f64;
    let end = match repeats.rhythm {
        Rhythm::Checkpoints | Rhythm::TwoPeriods => free + tail,
        _ => whole.max(free) + 0.1,
    };
    (bursts, end)
}

/// Small writes without a period from `begin` to `end`, many for each burst: one after another, or with pauses of any length.
fn pieces(random: &mut Random, bursts: i64, begin: f64, end: f64, bytes: f64) -> Vec<Burst> {
    let n = random.int(1, 4) * (4 * bursts).max(100);
    let has_pauses = random.chance(0.5);
    let slot = |random: &mut Random| match has_pauses {
        true => 0.01 - (1.0 - random.unit()).ln(),
        false => 0.1 - (1.0 - random.unit()).ln(),
    };
    let slots: Vec<f64> = (0..n).map(|_| slot(random)).collect();
    let scale = (end - begin - 0.01) / slots.iter().sum::<f64>();
    let mut at = begin;
    let pieces = slots.into_iter().map(|slot| {
        // Where there are pauses, the writes are alike; else the bytes by time are.
        let (length, share) = match has_pauses {
            true => (slot.min(0.3), random.float(0.5, 1.5) / n as f64),
            false => (slot, slot * scale / (end - begin)),
        };
        let bytes = (bytes * share) as i64;
        let (start, end) = (at, at + length * scale);
        at += slot * scale;
        Burst { start, end, bytes }
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::darshan::ModuleId;
    use crate::source::darshan::counters::posix;
    use crate::source::darshan::write::{DarshanLog, Records, Segment};
    use crate::synth::darshan;
    use crate::synth::month::{Kind, Month};
    use crate::synth::tests::{module, records};

    /// Every job of a month that has each case once, in fours that differ in what their logs hold.
    fn rows(seed: u64) -> Vec<[(Repeats, DarshanLog); 4]> {
        let jobs = 4 * kinds().len() as u64;
        let plan = Plan::new(Month::of(Kind::Periods, jobs, seed));
        let made = |index| {
            let job = job(&plan, index);
            let Some(Scenario::Periods(repeats)) = job.scenario else {
                panic!("{index} is none of them");
            };
            (repeats, darshan::logs(&plan, &job).swap_remove(0).0.log)
        };
        let rows = (0..jobs / 4).map(|row| [0, 1, 2, 3].map(|told| made(4 * row + told)));
        rows.collect()
    }

    /// Bytes written through POSIX.
    fn written(log: &DarshanLog) -> i64 {
        let records = records(log, ModuleId::POSIX).iter();
        records
            .map(|record| record.ints[posix::BYTES_WRITTEN])
            .sum()
    }

    fn binned(log: &DarshanLog) -> Option<i64> {
        match &module(log, ModuleId::HEATMAP)?.records {
            Records::Heatmap(maps) => Some(maps.iter().flat_map(|map| &map.writes).sum()),
            _ => None,
        }
    }

    fn traced(log: &DarshanLog) -> Option<Vec<Segment>> {
        match &module(log, ModuleId::DXT_POSIX)?.records {
            Records::Dxt(traces) => {
                let writes = traces.iter().flat_map(|trace| trace.writes.clone());
                Some(writes.collect())
            }
            _ => None,
        }
    }

    #[test]
    fn four_logs_hold_the_same_bytes_as_files_as_one_file_as_bins_and_as_traces() {
        for row in rows(3) {
            let [files, held_open, heatmap, dxt] = &row;
            let streams = usize::from(files.0.stream.is_some());
            let bytes = written(&files.1);
            assert!(bytes >= 100_000_000);
            for (at, (repeats, log)) in row.iter().enumerate() {
                let same = Repeats {
                    told: files.0.told,
                    ..*repeats
                };
                assert_eq!((same, written(log)), (files.0, bytes));
                assert_eq!(repeats.told, Told::ALL[at]);
                assert_eq!(binned(log).is_some(), at == 2);
                assert_eq!(traced(log).is_some(), at == 3);
            }
            let count = |log: &DarshanLog| records(log, ModuleId::POSIX).len() - streams;
            let rhythm = files.0.rhythm;
            if rhythm != Rhythm::TwoPeriods {
                assert_eq!(count(&files.1), files.0.bursts as usize);
            }
            assert_eq!(count(&held_open.1), usize::from(rhythm != Rhythm::Stream));
            assert_eq!(binned(&heatmap.1), Some(bytes));
            let requests = traced(&dxt.1).unwrap();
            assert_eq!(requests.iter().map(|s| s.length).sum::<i64>(), bytes);
            let counted = records(&dxt.1, ModuleId::POSIX).iter();
            let counted: i64 = counted.map(|record| record.ints[posix::WRITES]).sum();
            assert_eq!(requests.len() as i64, counted);
        }
    }

    /// First accesses of the files of a log, by time.
    fn starts(log: &DarshanLog) -> Vec<f64> {
        let records = records(log, ModuleId::POSIX).iter();
        let mut starts: Vec<f64> = records
            .map(|record| record.floats[posix::F_WRITE_START_TIMESTAMP])
            .collect();
        starts.sort_by(f64::total_cmp);
        starts
    }

    #[test]
    fn checkpoints_are_off_their_times_by_the_jitter_and_others_have_no_times() {
        let mut off: [Vec<f64>; 4] = Default::default();
        let mut of_decoys = vec![];
        for [(repeats, log), ..] in rows(5).into_iter().filter(|row| row[0].0.stream.is_none()) {
            let starts = starts(&log);
            assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
            let distances = starts.windows(2).map(|pair| pair[1] - pair[0]);
            let part = distances.map(|distance| distance / repeats.period - 1.0);
            match repeats.rhythm {
                Rhythm::Checkpoints => {
                    let jitter = JITTERS.iter().position(|jitter| *jitter == repeats.jitter);
                    off[jitter.unwrap()].extend(part);
                }
                Rhythm::AnyTime => of_decoys.extend(part),
                _ => {}
            }
        }
        let deviation = |off: &[f64]| {
            let squares: f64 = off.iter().map(|off| off * off).sum();
            (squares / off.len() as f64).sqrt()
        };
        // The difference of two normal deviates has sqrt(2) of the deviation of one.
        for (off, jitter) in off.iter().zip(JITTERS) {
            let expected = jitter * 2f64.sqrt();
            assert!(
                (deviation(off) - expected).abs() <= 0.15 * expected + 1e-6,
                "{jitter}"
            );
        }
        assert!(deviation(&of_decoys) > 0.7);
    }
}
