//! The samples of one database: what was moved between them, and the rows that say so.

use super::database::{Cell, Database};
use super::schema::{self, Table};
use super::{
    FILE_SYSTEMS, Load, OSTS_PER_OSS, Op, Origin, Plants, Span, What, local, noise, noise_ops,
};
use crate::error::Result;
use crate::synth::Month;
use crate::synth::random::{Random, mix};

/// Operations that jobs cause, by [`Op`].
const OPS: usize = 10;

/// What was moved on a file system from sample to sample of a piece.
pub(crate) struct DatabaseSamples<'a> {
    month: &'a Month,
    plants: &'a Plants,
    pub(crate) fs: usize,
    /// First sample and end.
    pub(crate) first: i64,
    pub(crate) end: i64,
    /// Bytes read and written, OST by OST.
    moved: Vec<(i64, i64)>,
    /// Operations, MDT by MDT.
    ops: Vec<[i64; OPS]>,
    /// Sums over the piece by OST: read and written by jobs with logs, with unreadable logs, and without.
    pub(crate) sums: Vec<[(i64, i64); 3]>,
    /// Sums over the piece of all MDTs by operation: by jobs with logs, and all.
    pub(crate) op_sums: [(i64, i64); OPS],
}

/// Counters of a file system at the end of the piece before.
#[derive(Clone)]
pub(crate) struct Counters {
    /// Bytes read and written since the OST was started.
    osts: Vec<(i64, i64)>,
    /// Bytes written since the span began.
    filled: Vec<i64>,
    mdts: Vec<[i64; 21]>,
    /// Number of the next stamp.
    stamp_id: i64,
}

impl Counters {
    pub(crate) fn new(month: &Month, fs: usize) -> Self {
        let random = &mut Random::new(month.seed ^ 0xc0, fs as u64);
        let system = &FILE_SYSTEMS[fs];
        let osts = (0..system.osts).map(|_| {
            (
                random.int(12_000_000_000_000, 38_000_000_000_000),
                random.int(15_000_000_000_000, 44_000_000_000_000),
            )
        });
        let osts: Vec<_> = osts.collect();
        let mdts = (0..system.mdts).map(|_| {
            std::array::from_fn(|at| match schema::COUNTED[at] {
                "open" | "close" | "getattr" => random.int(4_000_000_000, 9_000_000_000),
                "quotactl" | "notify" | "llog_init" | "destroy" | "create" => 0,
                "process_config" => 1,
                _ => random.int(200_000, 60_000_000),
            })
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
        let mut piece = Self {
            month,
            plants,
            fs,
            first,
            end,
            moved: vec![(0, 0); system.osts as usize * length],
            ops: vec![[0; OPS]; system.mdts as usize * length],
            sums: vec![[(0, 0); 3]; system.osts as usize],
            op_sums: [(0, 0); OPS],
        };
        for load in loads.iter().filter(|load| load.fs() == fs) {
            let (from, to) = load.samples();
            // Nobody knows what came before the first sample.
            for sample in from.max(first).max(1)..=to.min(end - 1) {
                piece.add(
                    load.target(),
                    load.what,
                    sample,
                    load.in_sample(sample),
                    load.origin,
                );
            }
        }
        for sample in first.max(1)..end {
            for ost in 0..system.osts {
                let (read, written) = noise(month.seed, fs, ost, sample);
                piece.add(ost, What::Read, sample, read, Origin::Background);
                piece.add(ost, What::Written, sample, written, Origin::Background);
            }
            for mdt in 0..system.mdts {
                for (op, count) in noise_ops(month.seed, fs, mdt, sample) {
                    piece.add(mdt, What::Op(op), sample, count, Origin::Background);
                }
            }
        }
        piece.wait_for_reboot();
        piece
    }

    fn place(&self, target: i64, sample: i64) -> usize {
        (target * (self.end - self.first) + sample - self.first) as usize
    }

    fn add(&mut self, target: i64, what: What, sample: i64, amount: i64, origin: Origin) {
        let place = self.place(target, sample);
        let by = match origin {
            Origin::Darshan => 0,
            Origin::Unreadable => 1,
            Origin::Background => 2,
        };
        match what {
            What::Read => {
                self.moved[place].0 += amount;
                self.sums[target as usize][by].0 += amount;
            }
            What::Written => {
                self.moved[place].1 += amount;
                self.sums[target as usize][by].1 += amount;
            }
            What::Op(op) => {
                self.ops[place][op as usize] += amount;
                let (logged, all) = &mut self.op_sums[op as usize];
                *logged += if by < 2 { amount } else { 0 };
                *all += amount;
            }
        }
    }

    /// What is asked of a server that is down is done when it is back.
    fn wait_for_reboot(&mut self) {
        let (down, up) = self.plants.reboot;
        if self.fs != 0 || down < self.first || up >= self.end {
            return;
        }
        for ost in self.plants.reboot_osts() {
            for sample in down..up {
                let (from, to) = (self.place(ost, sample), self.place(ost, up));
                let (read, written) = std::mem::take(&mut self.moved[from]);
                self.moved[to].0 += read;
                self.moved[to].1 += written;
            }
        }
    }

    /// Whether the monitor was there.
    fn stamped(&self, sample: i64) -> bool {
        self.fs != 0 || !self.plants.in_gap(sample)
    }

    /// Whether the server of an OST was there.
    fn up(&self, oss: i64, sample: i64) -> bool {
        self.fs != 0 || oss != self.plants.reboot_oss || !self.plants.in_reboot(sample)
    }

    /// Writes all tables, in the order of their names as mysqldump does, and moves the counters on.
    pub(crate) fn write(&self, counters: &mut Counters, into: &mut dyn Database) -> Result<()> {
        let system = &FILE_SYSTEMS[self.fs];
        let (lmt, span) = (system.lmt, Span::of(self.month));
        let (int, text) = (Cell::Int, |text: String| Cell::Text(text));
        // The number of each sample's stamp.
        let mut next = counters.stamp_id;
        let ids: Vec<Option<i64>> = (self.first..self.end)
            .map(|sample| {
                let stamped = self.stamped(sample);
                next += i64::from(stamped);
                stamped.then_some(next - 1)
            })
            .collect();
        counters.stamp_id = next;
        let id = |sample: i64| ids[(sample - self.first) as usize];
        let stamped = || (self.first..self.end).filter_map(|sample| Some((sample, id(sample)?)));

        let name = text(lmt.to_string());
        let row = [int(1), name, text(String::new()), Cell::Float(1.1)];
        into.table(&schema::FILESYSTEM_INFO, &mut |put| put(&row))?;

        into.table(&schema::MDS_DATA, &mut |put| {
            for mdt in 0..system.mdts {
                let mut made = 0;
                for sample in self.first..self.end {
                    let ops = &self.ops[self.place(mdt, sample)];
                    made += ops[Op::Mknod as usize] + ops[Op::Mkdir as usize];
                    let Some(id) = id(sample) else { continue };
                    let busy = ops.iter().sum::<i64>() as f64 / 400.0;
                    let cpu = (1.5 + jitter(self, mdt, sample) + busy.min(80.0)).min(99.9);
                    let used = 106_286_540 + mdt * 9_111_212 + sample / 7 * 4 + made * 4;
                    let inodes = 358_326_972 + mdt * 11_000_003 + made;
                    put(&[
                        int(mdt + 1),
                        int(id),
                        percent(cpu),
                        int(2_255_453_580 - used),
                        int(used),
                        int(1_503_920_128 - inodes),
                        int(inodes),
                    ])?;
                }
            }
            Ok(())
        })?;
        into.table(&schema::MDS_INFO, &mut |put| {
            (0..system.mdts).try_for_each(|mdt| {
                put(&[
                    int(mdt + 1),
                    int(1),
                    text(format!("{lmt}-MDT{mdt:04x}")),
                    text(format!("{lmt}n{:03}", mdt + 2)),
                    text("/dev/md66".to_string()),
                ])
            })
        })?;
        self.operations(counters, into, &id)?;
        into.table(&schema::OPERATION_INFO, &mut |put| {
            (schema::OPERATIONS.iter().zip(1..)).try_for_each(|(name, id)| {
                put(&[int(id), text(name.to_string()), text("reqs".to_string())])
            })
        })?;
        let servers = system.osts / OSTS_PER_OSS;
        into.table(&schema::OSS_DATA, &mut |put| {
            for oss in 0..servers {
                for (sample, id) in stamped().filter(|(sample, _)| self.up(oss, *sample)) {
                    let moved: i64 = (oss * OSTS_PER_OSS..(oss + 1) * OSTS_PER_OSS)
                        .map(|ost| self.moved[self.place(ost, sample)])
                        .map(|(read, written)| read + written)
                        .sum();
                    // A server is busy at some 6 GB/s.
                    let busy = moved as f64 / Span::STEP as f64 / 6e9 * 90.0;
                    let jitter = jitter(self, 1000 + oss, sample);
                    let memory = 94.5 + (mix(oss as u64) % 400) as f64 / 100.0 + jitter / 20.0;
                    put(&[
                        int(oss + 1),
                        int(id),
                        percent((0.3 + jitter / 4.0 + busy).min(99.9)),
                        percent(memory.min(99.9)),
                    ])?;
                }
            }
            Ok(())
        })?;
        let host = |oss: i64| text(format!("{lmt}n{:03}", 10 + oss));
        into.table(&schema::OSS_INFO, &mut |put| {
            (0..servers).try_for_each(|oss| put(&[int(oss + 1), int(1), host(oss), Cell::Null]))
        })?;
        self.targets(counters, into, &id)?;
        into.table(&schema::OST_INFO, &mut |put| {
            (0..system.osts).try_for_each(|id| {
                let ost = target(system.osts, id);
                put(&[
                    int(id + 1),
                    int(ost / OSTS_PER_OSS + 1),
                    text(format!("{lmt}-OST{ost:04x}")),
                    host(ost / OSTS_PER_OSS),
                    int(0),
                    text(format!("/dev/md{}", ost % OSTS_PER_OSS)),
                ])
            })
        })?;
        into.table(&schema::TIMESTAMP_INFO, &mut |put| {
            for (sample, id) in stamped() {
                let stamp = local(span.stamp(sample)).format("%Y-%m-%d %H:%M:%S");
                put(&[int(id), text(stamp.to_string())])?;
            }
            Ok(())
        })
    }

    fn operations(
        &self,
        counters: &mut Counters,
        into: &mut dyn Database,
        id: &dyn Fn(i64) -> Option<i64>,
    ) -> Result<()> {
        let table: &Table = &schema::MDS_OPS_DATA;
        let caused = schema::COUNTED.map(cause);
        let numbers = schema::COUNTED.map(schema::operation_id);
        into.table(table, &mut |put| {
            for (mdt, counters) in (0..).zip(&mut counters.mdts) {
                for sample in self.first..self.end {
                    let ops = &self.ops[self.place(mdt, sample)];
                    for (counter, op) in counters.iter_mut().zip(&caused) {
                        *counter += op.map_or(0, |op| ops[op as usize]);
                    }
                    let Some(id) = id(sample) else { continue };
                    for (counter, number) in counters.iter().zip(numbers) {
                        put(&[
                            Cell::Int(mdt + 1),
                            Cell::Int(id),
                            Cell::Int(number),
                            Cell::Int(*counter),
                            Cell::Int(0),
                            Cell::Int(0),
                        ])?;
                    }
                }
            }
            Ok(())
        })
    }

    fn targets(
        &self,
        counters: &mut Counters,
        into: &mut dyn Database,
        id: &dyn Fn(i64) -> Option<i64>,
    ) -> Result<()> {
        let osts = FILE_SYSTEMS[self.fs].osts;
        into.table(&schema::OST_DATA, &mut |put| {
            for number in 0..osts {
                let ost = target(osts, number);
                let (counter, filled) = (
                    &mut counters.osts[ost as usize],
                    &mut counters.filled[ost as usize],
                );
                let planted = self.fs == 0;
                let (size, used) = self.room(ost);
                for sample in self.first..self.end {
                    let before = *counter;
                    let rebooted = self.plants.reboot_osts().contains(&ost);
                    if planted && rebooted && sample == self.plants.reboot.1 {
                        *counter = (0, 0);
                    }
                    let (read, written) = self.moved[self.place(ost, sample)];
                    *counter = (counter.0 + read, counter.1 + written);
                    *filled += written;
                    let is_late = planted && ost == self.plants.late_ost;
                    // The late one lies in the place of the next, which is lost.
                    let (read, written) = match is_late && sample == self.plants.late + 1 {
                        true => before,
                        false => *counter,
                    };
                    let here = self.up(ost / OSTS_PER_OSS, sample)
                        && !(is_late && sample == self.plants.late);
                    let Some(id) = id(sample).filter(|_| here) else {
                        continue;
                    };
                    let used = used + *filled / 1024;
                    let inodes = 14_465_625 + ost * 1_713 + *filled / 900_000_000;
                    put(&[
                        Cell::Int(number + 1),
                        Cell::Int(id),
                        Cell::Int(read),
                        Cell::Int(written),
                        Cell::Null,
                        Cell::Int(size - used),
                        Cell::Int(used),
                        Cell::Int(88_668_544 - inodes),
                        Cell::Int(inodes),
                    ])?;
                }
            }
            Ok(())
        })
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

/// What an operation of LMT's list counts here; None for one that never happens.
fn cause(name: &str) -> Option<Op> {
    Some(match name {
        "open" => Op::Open,
        "close" => Op::Close,
        "mknod" => Op::Mknod,
        "unlink" => Op::Unlink,
        "mkdir" => Op::Mkdir,
        "rename" => Op::Rename,
        "getxattr" => Op::Getxattr,
        "statfs" => Op::Statfs,
        "setattr" => Op::Setattr,
        "getattr" => Op::Getattr,
        _ => return None,
    })
}

/// A percentage with four digits after the point at most: no more than a 4-byte float holds.
fn percent(value: f64) -> Cell {
    Cell::Float((value * 1e4).round() / 1e4)
}

/// From 0 to 4, another for each server and sample.
fn jitter(piece: &DatabaseSamples<'_>, server: i64, sample: i64) -> f64 {
    let number = mix(piece.month.seed ^ mix((server as u64) << 32 ^ sample as u64 ^ 0x71));
    (number >> 40) as f64 / (1u64 << 24) as f64 * 4.0
}
