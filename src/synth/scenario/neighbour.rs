//! Neighbours: pairs of jobs on the same OSTs at the same time, one of which is slow because of the other.
//!
//! They come on top of the month's jobs, so that these stay what they are without them. The first of a pair writes some
//! 80 GB to each of a few OSTs; meanwhile the second writes little to the same OSTs and takes eight times as long as it
//! should. When the first is through, the second writes as much again, and is fast.

use super::job::{Job, Release, Scenario, USERS, block_id, offset};
use super::plan::Plan;
use crate::math::random::{Random, mix};
use crate::synth::lmt::span::{Plants, Span};
use crate::synth::month::Month;
use crate::synth::system::{SCRATCH_OSTS, System};
use crate::synth::workload::app::App;
use crate::synth::workload::{Access, Workload};

/// OSTs that a pair shares.
pub(crate) const SHARED_OSTS: i64 = 8;
/// By how much the second of a pair is slowed down.
pub(crate) const SLOWED: f64 = 8.0;
/// Seconds from the start of a job to its I/O.
const LEAD: f64 = 40.0;
/// Seconds for which a pair wants the OSTs for itself.
const ROOM: i64 = 900;

/// Jobs of all pairs: they need samples to be seen in, and a month that is worth it.
pub(crate) fn count(month: &Month) -> u64 {
    match month.jobs {
        ..100 => 0,
        jobs => 2 * (3 + jobs / 20_000).min((month.lmt_seconds / ROOM) as u64),
    }
}

/// The first of the OSTs that the pair of neighbour `number` shares: nothing else is planted on them.
pub(crate) fn first_ost(month: &Month, number: u64) -> i64 {
    let plants = Plants::of(month);
    let slow = System::new(month.seed).slow_ost;
    let room = SCRATCH_OSTS / SHARED_OSTS;
    let from = (mix(month.seed ^ 0x9e1) % room as u64) as i64;
    let free: Vec<i64> = (0..room)
        .map(|at| (from + at) % room * SHARED_OSTS)
        .filter(|first| {
            let holds = |ost: i64| (*first..first + SHARED_OSTS).contains(&ost);
            !holds(slow) && !holds(plants.late_ost) && !plants.reboot_osts().any(holds)
        })
        .collect();
    free[(number / 2) as usize % free.len()]
}

/// What neighbour `number` is.
pub(crate) fn job(plan: &Plan, number: u64) -> Job {
    let month = plan.month;
    let random = &mut Random::new(month.seed ^ 0x6e65, number);
    let (name, nprocs, later) = match number % 2 {
        0 => ("cosmo_nbody", 2048, 0.0),
        _ => ("storm_les", 64, 25.0),
    };
    let user = (mix(month.seed ^ 0x77) + number) % USERS;
    Job {
        scenario: Some(Scenario::Neighbour),
        job_id: id(plan, number),
        start: time(&month, number) - LEAD + later,
        release: Release::at(random.unit()),
        ..Job::new(month.jobs + number, App::named(name), nprocs, user)
    }
}

/// The I/O of neighbour `number`, and the generator for what else its log has.
pub(crate) fn workload(plan: &Plan, job: &Job, number: u64) -> (Workload, Random) {
    let seed = plan.month.seed;
    let mut random = Random::new(seed ^ 0x6e67, number);
    let mut workload = Workload::new(job, seed, Random::new(random.bits(), 0));
    workload.realistic = plan.month.realistic;
    (workload.slow, workload.small) = (false, 0.0);
    (workload.clock, workload.consecutive) = (LEAD, 0.95);
    let first = first_ost(&plan.month, number);
    let dir = job.dir();
    let write = |workload: &mut Workload, kind: &str, bytes: i64| {
        workload.next_ost = first;
        let shares = workload.split(bytes * SHARED_OSTS, SHARED_OSTS);
        workload.phase(shares.into_iter().zip(0..).map(|(bytes, at)| {
            let rank = at * job.nprocs / SHARED_OSTS;
            Access::write(format!("{dir}/out/{kind}.{rank:05}"), rank, bytes)
        }));
    };
    if number.is_multiple_of(2) {
        write(&mut workload, "dump000", 80_000_000_000);
    } else {
        let from = workload.clock;
        write(&mut workload, "slow", 3_000_000_000);
        let took = workload.clock - from;
        workload.stretch(from, took * SLOWED);
        workload.clock = LEAD + 400.0;
        write(&mut workload, "fast", 3_000_000_000);
    }
    (workload, random)
}

/// When the first of the pair of neighbour `number` begins to write, seconds since 1970.
fn time(month: &Month, number: u64) -> f64 {
    let span = Span::of(month);
    let slot = 0.8 * span.seconds() as f64 * (number / 2) as f64 / (count(month) / 2) as f64;
    span.start as f64 + 60.0 + slot
}

/// An id that no job of the month has, among those of its time.
fn id(plan: &Plan, number: u64) -> i64 {
    let jobs = plan.month.jobs;
    let time = time(&plan.month, number);
    let (mut below, mut above) = (0, jobs);
    while below < above {
        let middle = (below + above) / 2;
        match plan.job(middle).start < time {
            true => below = middle + 1,
            false => above = middle,
        }
    }
    // Times rise with the number, so that no two have the same block of ids.
    let block = (below + number) % jobs;
    block_id(block) + (offset(plan.job(block).job_id, block) + 2) % 3
}
