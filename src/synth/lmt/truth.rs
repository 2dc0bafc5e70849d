//! What the samples hold, for `truth.json`.

use super::load::{Load, Origin, What, write_back};
use super::samples::DatabaseSamples;
use super::span::{Op, Plants, Span, noise};
use crate::synth::month::Month;
use crate::synth::scenario::cause::Direction;
use crate::synth::scenario::neighbour;
use crate::synth::scenario::plan::Plan;
use crate::synth::site::ZONE;
use crate::synth::system::{FILE_SYSTEMS, OSTS_PER_OSS};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Windows, besides those of planted neighbours, for which the shares are told.
const LARGEST: usize = 12;
/// Loads among which these are looked for, the largest ones.
const CANDIDATES: usize = 20_000;

/// The sums of one database.
pub(crate) fn sums(name: &str, samples: &DatabaseSamples<'_>, span: &Span) -> Value {
    let by = |who: Origin| {
        let sums = samples.sums.iter().map(|sums| sums[who as usize].into());
        let (read, written): (Vec<i64>, Vec<i64>) = sums.unzip();
        json!({"read": read, "written": written})
    };
    let sums = |(logged, all)| json!({"darshan": logged, "all": all});
    let ops = Op::NAMES.into_iter().zip(samples.op_sums.map(sums));
    json!({
        "file": format!("lmt/{name}"),
        "fs": FILE_SYSTEMS[samples.fs].name,
        "first": span.stamp(samples.first),
        "last": span.stamp(samples.end - 1),
        "darshan": by(Origin::Darshan),
        "unreadable": by(Origin::Unreadable),
        "background": by(Origin::Background),
        "operations": ops.collect::<BTreeMap<_, _>>(),
    })
}

/// Who moved what on an OST while a file was read or written: for the files of planted neighbours and some large ones.
fn shares(plan: &Plan, span: &Span, plants: &Plants, loads: &[Load]) -> Vec<Value> {
    let month = &plan.month;
    // The first of a pair is loud, the second is slow.
    let id = |number| neighbour::job(plan, number).job_id;
    let pairs = (0..neighbour::count(month)).step_by(2);
    let pairs = pairs.map(|number| (id(number), id(number + 1)));
    let (loud, slow): (HashSet<i64>, HashSet<i64>) = pairs.unzip();
    // Where rows tell it plainly: all samples are there, and nothing comes late.
    let plain = |load: &&Load| {
        let (from, to) = load.samples();
        let meets_gap = from <= plants.gap.end + 1 && to >= plants.gap.start;
        let kind = load.origin == Origin::Darshan && !matches!(load.what, What::Op(_));
        let planted = load.fs() == 0
            && (load.target() == plants.late_ost
                || plants.reboot_osts().contains(&load.target())
                || meets_gap);
        kind && from > 1 && to < span.samples && !planted
    };
    let jobs = (0..month.jobs).map(|index| plan.job(index));
    let delayed = jobs.filter(|job| write_back(job) > 0.0);
    let delayed: HashSet<i64> = delayed.map(|job| job.job_id).collect();
    let plain = loads.iter().filter(plain);
    let (mut chosen, mut others): (Vec<&Load>, Vec<&Load>) =
        plain.partition(|load| slow.contains(&load.job_id));
    others.retain(|load| {
        load.amount > 100_000_000
            && (load.what == What::Bytes(Direction::Read) || !delayed.contains(&load.job_id))
            && !loud.contains(&load.job_id)
    });
    others.sort_by_key(|load| (std::cmp::Reverse(load.amount), load.job_id, load.file));
    others.truncate(CANDIDATES);
    let mut there: HashMap<(usize, i64), Vec<&Load>> = HashMap::new();
    for load in loads.iter().filter(|load| load.origin == Origin::Darshan) {
        let target = (load.fs(), load.target());
        there.entry(target).or_default().push(load);
    }
    let beside = |load: &Load| {
        let meets = |other: &&&Load| {
            other.what == load.what
                && (other.job_id, other.file) != (load.job_id, load.file)
                && other.start < load.end
                && other.end > load.start
        };
        let others = there[&(load.fs(), load.target())].iter().filter(meets);
        let kinds: BTreeSet<bool> = others.map(|o| o.job_id == load.job_id).collect();
        kinds.len()
    };
    // One of each job: where it shares the OST with other files of its own, or with other jobs, before the others.
    others.sort_by_cached_key(|load| std::cmp::Reverse(beside(load)));
    let mut seen = HashSet::new();
    others.retain(|load| seen.insert(load.job_id));
    chosen.extend(others.into_iter().take(LARGEST));
    let shares = chosen.iter().map(|load| share(month, span, load, loads));
    shares.collect()
}

/// The part of `truth.json`.
pub(crate) fn truth(month: &Month, databases: Vec<Value>, loads: &[Load]) -> Value {
    let span = Span::of(month);
    let plants = Plants::of(month);
    let plan = Plan::new(*month);
    let stamps = |samples: &Range<i64>| json!({"from": span.stamp(samples.start), "to": span.stamp(samples.end)});
    let pairs = (0..neighbour::count(month)).step_by(2).map(|number| {
        let (loud, slow) = (number, number + 1);
        let first = neighbour::first_ost(month, number);
        json!({
            "loud_job_id": neighbour::job(&plan, loud).job_id,
            "slow_job_id": neighbour::job(&plan, slow).job_id,
            "fs": FILE_SYSTEMS[0].name,
            "osts": (first..first + neighbour::SHARED_OSTS).collect::<Vec<_>>(),
            "factor": neighbour::SLOWED,
        })
    });
    let lmt = FILE_SYSTEMS[0].lmt;
    json!({
        "doc": "bytes since the sample before, summed over each database by OST; a database's first sample counts what \
            came since the last one of the database before, the very first counts nothing",
        "step_seconds": Span::STEP,
        "first": span.start,
        "last": span.stamp(span.samples - 1),
        "timezone": ZONE.name(),
        "databases": databases,
        "reboot": {
            "doc": "no samples of these OSTs from `from` on and before `to`; what is asked of them meanwhile is done in the \
                sample at `to`, whose counters begin at 0",
            "fs": FILE_SYSTEMS[0].name,
            "oss": format!("{lmt}n{:03}", 10 + plants.reboot_oss),
            "osts": plants.reboot_osts().take(OSTS_PER_OSS as usize).collect::<Vec<_>>(),
            "missing": stamps(&plants.reboot),
        },
        "gap": {
            "doc": "no samples at all from `from` on and before `to`",
            "fs": FILE_SYSTEMS[0].name,
            "missing": stamps(&plants.gap),
        },
        "late_sample": {
            "doc": "the sample at `time` is missing, and the next holds its values",
            "fs": FILE_SYSTEMS[0].name,
            "ost": plants.late_ost,
            "time": span.stamp(plants.late),
        },
        "full_ost": {"fs": FILE_SYSTEMS[0].name, "ost": plants.full_ost, "used_percent": 97},
        "neighbours": pairs.collect::<Vec<_>>(),
        "shares": {
            "doc": "who moved what, in the direction, on the OST in the samples from `from` (excluded) to `to` (included), \
                while the file was read or written; job_id and record_id are those of the log",
            "windows": shares(&plan, &span, &plants, loads),
        },
    })
}

/// Who moved what on the OST of a load while it lasted.
fn share(month: &Month, span: &Span, load: &Load, loads: &[Load]) -> Value {
    let (from, to) = load.samples();
    let (mut own, mut same_job, mut other, mut unreadable, mut background) = (0, 0, 0, 0, 0);
    let here = |other: &&Load| {
        (other.fs(), other.target(), other.what) == (load.fs(), load.target(), load.what)
            && other.samples().1 >= from
            && other.samples().0 <= to
    };
    let mut jobs = BTreeSet::new();
    for there in loads.iter().filter(here) {
        let bytes: i64 = (from..=to).map(|sample| there.in_sample(sample)).sum();
        *match there.origin {
            Origin::Background => &mut background,
            Origin::Unreadable => &mut unreadable,
            Origin::Darshan if there.job_id != load.job_id => {
                jobs.insert(there.job_id);
                &mut other
            }
            Origin::Darshan if there.file == load.file => &mut own,
            Origin::Darshan => &mut same_job,
        } += bytes;
    }
    let side = usize::from(load.what == What::Bytes(Direction::Write));
    let noise = |sample| noise(month.seed, load.fs(), load.target(), sample)[side];
    background += (from..=to).map(noise).sum::<i64>();
    json!({
        "job_id": load.job_id,
        // Beyond what a double holds.
        "record_id": load.file.to_string(),
        "fs": FILE_SYSTEMS[load.fs()].name,
        "ost": load.target(),
        "direction": (["read", "write"][side]),
        "window": [load.start + span.start as f64, load.end + span.start as f64],
        "from": span.stamp(from - 1),
        "to": span.stamp(to),
        "own_bytes": own,
        "same_job_bytes": same_job,
        "other_bytes": other,
        "other_job_ids": jobs,
        "unreadable_bytes": unreadable,
        "background_bytes": background,
    })
}
