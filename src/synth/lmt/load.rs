//! The load of a log's I/O on the servers: how much reaches which target, and when.

use super::span::{Op, Span};
use crate::math::random::{Random, mix};
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{posix, stdio};
use crate::source::darshan::write::{DarshanLog, Records};
use crate::synth::scenario::cause::Direction;
use crate::synth::scenario::job::{FIRST_ID, Job, Scenario};
use crate::synth::system::{FILE_SYSTEMS, file_system};
use crate::synth::workload::{FileLayout, Transfer, Workload};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// A quantity that a server counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// Bytes of an OST.
    Bytes(Direction),
    /// Operations of an MDT.
    Op(Op),
}

/// The cause of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A job whose log says so.
    Darshan,
    /// A job whose log is damaged or partial.
    Unreadable,
    /// Somebody without a log.
    Background,
}

/// An amount that is spread evenly over an interval on one target. A month has some hundred for each log, all in memory at once, so it
/// is small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    fs: u8,
    pub(crate) what: What,
    pub(crate) origin: Origin,
    target: i32,
    /// Seconds since the start of the span.
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) amount: i64,
    pub(crate) job_id: i64,
    /// Record id of the file; 0 without a log.
    pub(crate) file: u64,
}

impl Load {
    /// What the job of this id and origin moves of a file, or does with it, on a target of a file system.
    fn new(
        (origin, job_id, file): (Origin, i64, u64),
        (fs, target): (usize, i64),
        what: What,
        (start, end): (f64, f64),
        amount: i64,
    ) -> Self {
        Self {
            fs: fs as u8,
            what,
            origin,
            target: target as i32,
            start,
            end,
            amount,
            job_id,
            file,
        }
    }

    /// Place in [`FILE_SYSTEMS`].
    pub(crate) fn fs(&self) -> usize {
        self.fs.into()
    }

    /// Index of the OST or MDT.
    pub(crate) fn target(&self) -> i64 {
        self.target.into()
    }

    /// Whether some of it lies in the span.
    fn meets(&self, span: &Span) -> bool {
        self.end >= 0.0 && self.start <= span.seconds() as f64
    }

    /// How much of it came before a moment.
    fn before(&self, moment: f64) -> i64 {
        if moment >= self.end {
            self.amount
        } else if moment <= self.start {
            0
        } else {
            (self.amount as f64 * ((moment - self.start) / (self.end - self.start))) as i64
        }
    }

    /// How much of it belongs to a sample: what came since the one before. Samples sum to the whole.
    pub(crate) fn in_sample(&self, sample: i64) -> i64 {
        let moment = |sample: i64| (sample * Span::STEP) as f64;
        self.before(moment(sample)) - self.before(moment(sample - 1))
    }

    /// The first and the last sample that have a part of it.
    pub(crate) fn samples(&self) -> (i64, i64) {
        let sample = |moment: f64| (moment / Span::STEP as f64).floor() as i64 + 1;
        (sample(self.start), sample(self.end))
    }
}

/// The loads of a log that started `start` seconds after 1970, as far as they lie in the span.
pub(crate) fn loads(
    span: &Span,
    job: &Job,
    start: f64,
    workload: &Workload,
    log: &DarshanLog,
) -> Vec<Load> {
    let begin = start - span.start as f64;
    let mut found = vec![];
    // Dirty pages are written some seconds later.
    if begin > span.seconds() as f64 || begin + workload.clock + 20.0 < 0.0 {
        return found;
    }
    let origin = match job.scenario {
        Some(Scenario::Damaged | Scenario::Partial) => Origin::Unreadable,
        _ => Origin::Darshan,
    };
    let late = write_back(job);
    for file in &workload.uses {
        let (Some(layout), Some(fs)) = (&file.layout, file_system(&file.path)) else {
            continue;
        };
        let progressive = layout.progressive && job.release.lustre > 1;
        let by = (origin, job.job_id, file.id);
        for (direction, late) in [(Direction::Read, 0.0), (Direction::Write, late)] {
            let Some(moved) = &file.transfers[direction as usize] else {
                continue;
            };
            let what = What::Bytes(direction);
            let window = (begin + moved.start + late, begin + moved.end + late);
            let shares = spread(moved, layout, progressive).into_iter();
            found.extend(shares.map(|(ost, bytes)| Load::new(by, (fs, ost), what, window, bytes)));
        }
    }
    let operations = operations(workload, log, begin, (origin, job.job_id));
    found.extend(merged(operations));
    found.retain(|load| load.meets(span));
    found
}

/// Seconds by which what a job writes reaches the servers late: 0 for most.
pub(crate) fn write_back(job: &Job) -> f64 {
    let number = mix(job.job_id as u64 ^ 0x1a7e);
    match job.scenario {
        None if number.is_multiple_of(4) => 2.0 + (number >> 32) as f64 % 7.0,
        _ => 0.0,
    }
}

/// Loads of a job that left no log and runs in the span: writes again and again, and sometimes reads at its start.
pub(crate) fn without_log(span: &Span, job_id: i64, start: i64, end: i64) -> Vec<Load> {
    let begin = (start - span.start) as f64;
    let lasts = (end - start) as f64;
    let mut random = Random::new(job_id as u64, 0x10ad);
    if begin > span.seconds() as f64 || begin + lasts < 0.0 || lasts < 10.0 || job_id < FIRST_ID {
        return vec![];
    }
    let osts = FILE_SYSTEMS[0].osts;
    let width = *random.pick(&[1, 4, 8, 24, 96]);
    let first = random.int(0, osts);
    let every = random.float(120.0, 1500.0);
    let burst = random.magnitude(1e6, 1.5e10) as i64;
    let mut found = vec![];
    let mut moment = random.float(2.0, 30.0f64.min(lasts / 2.0));
    while moment + 1.0 < lasts {
        let took = random.float(5.0, 60.0).min(lasts - moment);
        let what = What::Bytes(match random.chance(0.3) {
            true => Direction::Read,
            false => Direction::Write,
        });
        let window = (begin + moment, begin + moment + took);
        found.extend((0..width).map(|at| {
            let (by, place) = ((Origin::Background, job_id, 0), (0, (first + at) % osts));
            Load::new(by, place, what, window, burst - burst / 10 * (at % 3))
        }));
        moment += took + every * random.float(0.7, 1.3);
    }
    found.retain(|load| load.meets(span));
    found
}

/// Bytes of a transfer by OST: in proportion to what of the file, up to the highest byte touched, lies on each; shares sum to
/// the bytes.
fn spread(moved: &Transfer, layout: &FileLayout, progressive: bool) -> Vec<(i64, i64)> {
    let extent = moved.extent();
    // First byte, end, and OSTs of each component.
    let first = if progressive { extent.min(16 << 20) } else { 0 };
    let mut weights = Vec::from_iter(progressive.then_some((layout.osts[0], first)));
    let round = layout.stripe_size * layout.osts.len() as i64;
    let rest = extent - first;
    for (slot, ost) in (0..).zip(&layout.osts) {
        let tail = (rest % round - slot * layout.stripe_size).clamp(0, layout.stripe_size);
        weights.push((*ost, rest / round * layout.stripe_size + tail));
    }
    let sum: i128 = weights.iter().map(|(_, weight)| i128::from(*weight)).sum();
    if sum == 0 {
        return vec![(layout.osts[0], moved.bytes)];
    }
    let share = |weight: i64| i128::from(weight) * i128::from(moved.bytes);
    let mut shares: Vec<(i64, i64)> = (weights.iter())
        .map(|(ost, weight)| (*ost, (share(*weight) / sum) as i64))
        .collect();
    let left = moved.bytes - shares.iter().map(|(_, bytes)| bytes).sum::<i64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(share(weights[*at].1) % sum), *at));
    (order.iter().take(left as usize)).for_each(|at| shares[*at].1 += 1);
    shares.retain(|(_, bytes)| *bytes > 0);
    shares
}

/// Files that are opened, closed and looked at: how often, and when.
#[derive(Default)]
struct Metadata {
    opens: i64,
    stats: i64,
    opened: f64,
    closed: f64,
}

/// What the metadata targets do for a log: opens and stats as its records count them.
fn operations(
    workload: &Workload,
    log: &DarshanLog,
    begin: f64,
    (origin, job_id): (Origin, i64),
) -> Vec<Load> {
    let mut counted: HashMap<(u64, i64), Metadata> = HashMap::new();
    for module in &log.modules {
        let Records::Counters(records) = &module.records else {
            continue;
        };
        for record in records {
            use {posix as p, stdio as s};
            let (ints, floats) = (&record.ints, &record.floats);
            let (opened, closed) = match module.id {
                ModuleId::POSIX => (p::F_OPEN_START_TIMESTAMP, p::F_CLOSE_END_TIMESTAMP),
                ModuleId::STDIO => (s::F_OPEN_START_TIMESTAMP, s::F_CLOSE_END_TIMESTAMP),
                _ => continue,
            };
            let all = counted.entry((record.id, record.rank)).or_default();
            // The first counter of both; only POSIX counts stats.
            all.opens += ints[p::OPENS];
            if module.id == ModuleId::POSIX {
                all.stats += ints[p::STATS];
            }
            (all.opened, all.closed) = (floats[opened], all.closed.max(floats[closed]));
        }
    }
    let mut found = vec![];
    for file in &workload.uses {
        let Some(fs) = file_system(&file.path) else {
            continue;
        };
        // The records of a process and a file are counted with its first use.
        let Some(all) = counted.remove(&(file.id, file.rank)) else {
            continue;
        };
        // The MDT of a file is that of its directory.
        let dir = file.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let mdt = (xxh3_64(dir.as_bytes()) % FILE_SYSTEMS[fs].mdts as u64) as i64;
        let by = (origin, job_id, file.id);
        let is_made = file.is_posix() && file.written().is_some();
        for (op, moment, lasts, amount) in [
            (Op::Open, all.opened, 0.01, all.opens),
            (Op::Close, all.closed, 0.01, all.opens),
            (Op::Getattr, all.opened, 0.5, all.stats),
            (Op::Mknod, all.opened, 0.01, i64::from(is_made)),
            (Op::Setattr, all.closed, 0.01, i64::from(is_made)),
        ] {
            if amount > 0 {
                let window = (begin + moment, begin + moment + lasts);
                found.push(Load::new(by, (fs, mdt), What::Op(op), window, amount));
            }
        }
    }
    found
}

/// Operations, those of one kind, target and sample together: files are opened by the hundred.
fn merged(mut loads: Vec<Load>) -> Vec<Load> {
    let key = |load: &Load| (load.fs, load.target, load.what, load.samples());
    loads.sort_by_key(key);
    loads.dedup_by(|next, first| {
        let (from, to) = next.samples();
        let same = from == to && key(next) == key(first);
        if same {
            first.amount += next.amount;
            (first.start, first.end) = (first.start.min(next.start), first.end.max(next.end));
        }
        same
    });
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(bytes: i64) -> Transfer {
        Transfer {
            bytes,
            sizes: vec![(bytes, 1)],
            consecutive: 0,
            sequential: 0,
            gap: 0,
            start: 0.0,
            end: 1.0,
            time: 1.0,
            bursts: vec![],
        }
    }

    #[test]
    fn bytes_lie_on_the_stripes_up_to_the_highest_byte() {
        let layout = FileLayout {
            stripe_size: 10,
            osts: vec![5, 6, 7],
            progressive: false,
        };
        assert_eq!(
            spread(&transfer(65), &layout, false),
            [(5, 25), (6, 20), (7, 20)]
        );
        assert_eq!(spread(&transfer(7), &layout, false), [(5, 7)]);
        let half = 16 << 20;
        let wide = FileLayout {
            stripe_size: half,
            ..layout
        };
        assert_eq!(
            spread(&transfer(3 * half), &wide, true),
            [(5, half), (5, half), (6, half)]
        );
    }

    #[test]
    fn samples_of_a_load_sum_to_it() {
        let load = Load {
            fs: 0,
            target: 0,
            what: What::Bytes(Direction::Read),
            start: 3.3,
            end: 101.9,
            amount: 1_000_003,
            origin: Origin::Darshan,
            job_id: 1,
            file: 1,
        };
        let (first, last) = load.samples();
        assert_eq!((first, last), (1, 21));
        let sum: i64 = (first..=last).map(|sample| load.in_sample(sample)).sum();
        assert_eq!(sum, load.amount);
        assert_eq!(load.in_sample(first - 1) + load.in_sample(last + 1), 0);
    }
}
