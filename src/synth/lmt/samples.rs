//! The samples of one database: what was moved between them, and the rows that say so.

use super::database::{Database, ints, text};
use super::load::{Load, Origin, What};
use super::schema;
use super::span::{Op, Plants, Span, noise, noise_ops};
use crate::math::random::{Random, mix};
use crate::synth::month::Month;
use crate::synth::scenario::cause::Direction;
use crate::synth::site::local;
use crate::synth::system::{FILE_SYSTEMS, OSTS_PER_OSS};
use rusqlite::types::Value;
use std::io::Result;

/// Operations that jobs cause, by [`Op`].
const OPS: usize = Op::NAMES.len();

/// What was moved on a file system from sample to sample of one database.
pub(crate) struct DatabaseSamples<'a> {
    month: &'a Month,
    plants: &'a Plants,
    pub(crate) fs: usize,
    /// First sample and end.
    pub(crate) first: i64,
    pub(crate) end: i64,
    /// Bytes read and written, OST by OST.
    moved: Vec<[i64; 2]>,
    /// Operations, MDT by MDT.
    ops: Vec<[i64; OPS]>,
    /// Sums over the samples by OST: read and written by jobs with logs, with unreadable logs, and without.
    pub(crate) sums: Vec<[[i64; 2]; 3]>,
    /// Sums over the samples of all MDTs by operation: by jobs with logs, and all.
    pub(crate) op_sums: [(i64, i64); OPS],
}

/// The number of each sample's stamp, if there is one.
type Ids = Vec<Option<i64>>;

/// Counters of a file system at the sample before.
#[derive(Clone)]
pub(crate) struct Counters {
    /// Bytes read and written since the OST was started.
    osts: Vec<[i64; 2]>,
    /// Bytes written since the span began.
    filled: Vec<i64>,
    mdts: Vec<Vec<i64>>,
    /// Number of the next stamp.
    stamp_id: i64,
}

impl Counters {
    pub(crate) fn new(month: &Month, fs: usize) -> Self {
        let random = &mut Random::new(month.seed ^ 0xc0, fs as u64);
        let system = &FILE_SYSTEMS[fs];
        const TB: i64 = 1_000_000_000_000;
        let osts = (0..system.osts).map(|_| [(12, 38), (15, 44)]);
        let osts = osts.map(|range| range.map(|(from, to)| random.int(from * TB, to * TB)));
        let osts: Vec<_> = osts.collect();
        let mdts = (0..system.mdts).map(|_| {
            let names = schema::COUNTED.split(' ');
            let counters = names.map(|name| match name {
                "open" | "close" | "getattr" => random.int(4_000_000_000, 9_000_000_000),
                "quotactl" | "notify" | "llog_init" | "destroy" | "create" => 0,
                "process_config" => 1,
                _ => random.int(200_000, 60_000_000),
            });
            counters.collect()
        });
        let mdts: Vec<_> = mdts.collect();
        Self {
            filled: vec![0; osts.len()],
            osts,
            mdts,
            stamp_id: random.int(4_000_000, 9_000_000),
        }
    }
}

impl<'a> DatabaseSamples<'a> {
    pub(crate) fn new(
        month: &'a Month,
        plants: &'a Plants,
        fs: usize,
        (first, end): (i64, i64),
        loads: &[Load],
    ) -> Self {
        let system = &FILE_SYSTEMS[fs];
        let length = (end - first) as usize;
        let mut samples = Self {
            month,
            plants,
            fs,
            first,
            end,
            moved: vec![[0, 0]; system.osts as usize * length],
            ops: vec![[0; OPS]; system.mdts as usize * length],
            sums: vec![[[0, 0]; 3]; system.osts as usize],
            op_sums: [(0, 0); OPS],
        };
        for load in loads.iter().filter(|load| load.fs() == fs) {
            let (from, to) = load.samples();
            // What came before the first sample is unknown.
            for sample in from.max(first).max(1)..=to.min(end - 1) {
                let amount = load.in_sample(sample);
                samples.add(load.target(), load.what, sample, amount, load.origin);
            }
        }
        for sample in first.max(1)..end {
            for ost in 0..system.osts {
                let moved = noise(month.seed, fs, ost, sample);
                for direction in [Direction::Read, Direction::Write] {
                    let (what, bytes) = (What::Bytes(direction), moved[direction as usize]);
                    samples.add(ost, what, sample, bytes, Origin::Background);
                }
            }
            for mdt in 0..system.mdts {
                for (op, count) in noise_ops(month.seed, fs, mdt, sample) {
                    samples.add(mdt, What::Op(op), sample, count, Origin::Background);
                }
            }
        }
        samples.wait_for_reboot();
        samples
    }

    fn place(&self, target: i64, sample: i64) -> usize {
        (target * (self.end - self.first) + sample - self.first) as usize
    }

    fn add(&mut self, target: i64, what: What, sample: i64, amount: i64, origin: Origin) {
        let place = self.place(target, sample);
        match what {
            What::Bytes(direction) => {
                self.moved[place][direction as usize] += amount;
                self.sums[target as usize][origin as usize][direction as usize] += amount;
            }
            What::Op(op) => {
                self.ops[place][op as usize] += amount;
                let (logged, all) = &mut self.op_sums[op as usize];
                *all += amount;
                if origin != Origin::Background {
                    *logged += amount;
                }
            }
        }
    }

    /// Moves requests to a server that is down to the moment when it is back.
    fn wait_for_reboot(&mut self) {
        let down = &self.plants.reboot;
        if self.fs != 0 || down.start < self.first || down.end >= self.end {
            return;
        }
        for ost in self.plants.reboot_osts() {
            for sample in down.clone() {
                let (from, to) = (self.place(ost, sample), self.place(ost, down.end));
                let [read, written] = std::mem::take(&mut self.moved[from]);
                self.moved[to][0] += read;
                self.moved[to][1] += written;
            }
        }
    }

    /// Whether the monitor was there.
    fn stamped(&self, sample: i64) -> bool {
        self.fs != 0 || !self.plants.gap.contains(&sample)
    }

    /// Whether the server of an OST was there.
    fn up(&self, oss: i64, sample: i64) -> bool {
        self.fs != 0 || oss != self.plants.reboot_oss || !self.plants.reboot.contains(&sample)
    }

    /// Writes all tables, in the order of their names as mysqldump does, and advances the counters.
    pub(crate) fn write(&self, counters: &mut Counters, into: &mut Database) -> Result<()> {
        let system = &FILE_SYSTEMS[self.fs];
        let (lmt, servers) = (system.lmt, system.osts / OSTS_PER_OSS);
        let host = |number: i64| text(format!("{lmt}n{number:03}"));
        let number = |sample| {
            let stamped = self.stamped(sample);
            counters.stamp_id += i64::from(stamped);
            stamped.then_some(counters.stamp_id - 1)
        };
        let ids: Ids = (self.first..self.end).map(number).collect();
        let stamps = (self.first..).zip(&ids);
        let stamps = stamps.filter_map(|(sample, id)| Some((sample, (*id)?)));

        into.table("FILESYSTEM_INFO")?;
        into.row([1.into(), text(lmt), text(""), 1.1.into()])?;
        into.table("MDS_DATA")?;
        for mdt in 0..system.mdts {
            let mut made = 0;
            for (sample, id) in (self.first..).zip(&ids) {
                let ops = &self.ops[self.place(mdt, sample)];
                made += ops[Op::Mknod as usize] + ops[Op::Mkdir as usize];
                let Some(id) = id else { continue };
                let busy = ops.iter().sum::<i64>() as f64 / 400.0;
                let cpu = (1.5 + self.jitter(mdt, sample) + busy.min(80.0)).min(99.9);
                let used = 106_286_540 + mdt * 9_111_212 + sample / 7 * 4 + made * 4;
                let inodes = 358_326_972 + mdt * 11_000_003 + made;
                let free = (2_255_453_580 - used, 1_503_920_128 - inodes);
                let mut row = ints([mdt + 1, *id, 0, free.0, used, free.1, inodes]);
                row[2] = percent(cpu);
                into.row(row)?;
            }
        }
        into.table("MDS_INFO")?;
        for mdt in 0..system.mdts {
            let name = text(format!("{lmt}-MDT{mdt:04x}"));
            let (id, host) = ((mdt + 1).into(), host(mdt + 2));
            into.row([id, 1.into(), name, host, text("/dev/md66")])?;
        }
        self.operations(counters, into, &ids)?;
        into.table("OPERATION_INFO")?;
        for (name, id) in schema::OPERATIONS.split(' ').zip(1..) {
            into.row([id.into(), text(name), text("reqs")])?;
        }
        into.table("OSS_DATA")?;
        for oss in 0..servers {
            for (sample, id) in stamps.clone().filter(|(sample, _)| self.up(oss, *sample)) {
                let osts = oss * OSTS_PER_OSS..(oss + 1) * OSTS_PER_OSS;
                let moved = osts.map(|ost| self.moved[self.place(ost, sample)]);
                let moved: i64 = moved.flatten().sum();
                // A server is busy at some 6 GB/s.
                let busy = moved as f64 / Span::STEP as f64 / 6e9 * 90.0;
                let jitter = self.jitter(1000 + oss, sample);
                let memory = 94.5 + (mix(oss as u64) % 400) as f64 / 100.0 + jitter / 20.0;
                let cpu = percent((0.3 + jitter / 4.0 + busy).min(99.9));
                let memory = percent(memory.min(99.9));
                into.row([(oss + 1).into(), id.into(), cpu, memory])?;
            }
        }
        into.table("OSS_INFO")?;
        for oss in 0..servers {
            into.row([(oss + 1).into(), 1.into(), host(10 + oss), Value::Null])?;
        }
        self.targets(counters, into, &ids)?;
        into.table("OST_INFO")?;
        for id in 0..system.osts {
            let ost = target(system.osts, id);
            let (oss, device) = (ost / OSTS_PER_OSS, ost % OSTS_PER_OSS);
            let name = text(format!("{lmt}-OST{ost:04x}"));
            let [id, oss_id, zero] = ints([id + 1, oss + 1, 0]);
            let device = text(format!("/dev/md{device}"));
            into.row([id, oss_id, name, host(10 + oss), zero, device])?;
        }
        into.table("TIMESTAMP_INFO")?;
        for (sample, id) in stamps {
            let stamp = local(Span::of(self.month).stamp(sample));
            let stamp = stamp.format("%Y-%m-%d %H:%M:%S").to_string();
            into.row([id.into(), text(stamp)])?;
        }
        Ok(())
    }

    fn operations(&self, counters: &mut Counters, into: &mut Database, ids: &Ids) -> Result<()> {
        let names = schema::COUNTED.split(' ');
        let caused: Vec<Option<usize>> = names.clone().map(Op::place).collect();
        let numbers: Vec<i64> = names.map(schema::operation_id).collect();
        into.table("MDS_OPS_DATA")?;
        for (mdt, counters) in (0..).zip(&mut counters.mdts) {
            for (sample, id) in (self.first..).zip(ids) {
                let ops = &self.ops[self.place(mdt, sample)];
                for (counter, op) in counters.iter_mut().zip(&caused) {
                    *counter += op.map_or(0, |op| ops[op]);
                }
                let Some(id) = id else { continue };
                for (counter, number) in counters.iter().zip(&numbers) {
                    into.row(ints([mdt + 1, *id, *number, *counter, 0, 0]))?;
                }
            }
        }
        Ok(())
    }

    fn targets(&self, counters: &mut Counters, into: &mut Database, ids: &Ids) -> Result<()> {
        let (osts, plants) = (FILE_SYSTEMS[self.fs].osts, self.plants);
        into.table("OST_DATA")?;
        for number in 0..osts {
            let ost = target(osts, number);
            let counter = &mut counters.osts[ost as usize];
            let filled = &mut counters.filled[ost as usize];
            let is_rebooted = self.fs == 0 && plants.reboot_osts().contains(&ost);
            let is_late = self.fs == 0 && ost == plants.late_ost;
            let (size, used) = self.room(ost);
            for (sample, id) in (self.first..).zip(ids) {
                let before = *counter;
                if is_rebooted && sample == plants.reboot.end {
                    *counter = [0, 0];
                }
                let [read, written] = self.moved[self.place(ost, sample)];
                *counter = [counter[0] + read, counter[1] + written];
                *filled += written;
                // The late one lies in the place of the next, which is lost.
                let [read, written] = match is_late && sample == plants.late + 1 {
                    true => before,
                    false => *counter,
                };
                let is_lost = is_late && sample == plants.late;
                let is_here = self.up(ost / OSTS_PER_OSS, sample) && !is_lost;
                let Some(id) = id.filter(|_| is_here) else {
                    continue;
                };
                let used = used + *filled / 1024;
                let inodes = 14_465_625 + ost * 1_713 + *filled / 900_000_000;
                let free = (size - used, 88_668_544 - inodes);
                let moved = ints([number + 1, id, read, written]).into_iter();
                let room = ints([free.0, used, free.1, inodes]);
                into.row(moved.chain([Value::Null]).chain(room))?;
            }
        }
        Ok(())
    }

    /// From 0 to 4, another for each server and sample.
    fn jitter(&self, server: i64, sample: i64) -> f64 {
        let number = mix(self.month.seed ^ mix((server as u64) << 32 ^ sample as u64 ^ 0x71));
        (number >> 40) as f64 / (1u64 << 24) as f64 * 4.0
    }

    /// KiB of an OST, and how many are in use when the span begins.
    fn room(&self, ost: i64) -> (i64, i64) {
        let size = 123_456_790_528;
        let share = match self.fs == 0 && ost == self.plants.full_ost {
            true => 97,
            false => 48 + (mix(self.month.seed ^ ost as u64) % 17) as i64,
        };
        (size, size / 100 * share + ost * 4_096)
    }
}

/// OST number `id` in the order in which LMT met them: the second half of the servers answered first. LMT's ids are no
/// indexes.
fn target(osts: i64, id: i64) -> i64 {
    (id + osts / 2) % osts
}

/// A percentage with four digits after the point at most: no more than a 4-byte float holds.
fn percent(value: f64) -> Value {
    Value::Real((value * 1e4).round() / 1e4)
}
