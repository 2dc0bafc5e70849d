//! The jobs of months of causes, and of healthy jobs alone: each is a case, dealt out evenly.
//!
//! A job's I/O in one direction has a healthy part and a planted one. Which share of the time is in the planted files follows
//! from the size of the effect; files have noise on their times and bytes, and the share a little, too. The two parts share
//! no moment, so that the planted files' exclusive time is theirs whichever cover of the time is taken.

use super::access_pattern::AccessPattern;
use super::cause::{Case, Cause, Decoy, Direction, Planted, odds};
use super::healthy::Healthy;
use super::job::{Job, Scenario};
use super::plan::Plan;
use crate::math::random::Random;
use crate::synth::system::SCRATCH_OSTS;
use crate::synth::workload::stage::{Requests, Stage, TimedFile, fit, phases};
use crate::synth::workload::{Access, Workload};

/// Processes of most jobs.
const SIZES: [i64; 14] = [
    256, 256, 272, 320, 384, 512, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192,
];

/// Job `index`.
pub(crate) fn job(plan: &Plan, index: u64) -> Job {
    let random = &mut Random::new(plan.month.seed ^ 0xca5e, index);
    let planted = plan.cases.get(index as usize);
    let planted = *planted.unwrap_or(&Planted::Nothing);
    let nprocs = match planted {
        Planted::Decoy(Decoy::AlwaysOneOst) => random.int(2, 9),
        // So that a process that has a sixth of the time has ten times its part of the bytes, too.
        _ if planted.has(Cause::OneRank) => *random.pick(&SIZES[8..]),
        _ => *random.pick(&SIZES),
    };
    let direction = match planted {
        Planted::Decoy(Decoy::StdoutWindow | Decoy::HalfIdle) => Direction::Write,
        Planted::Habit(habit, _) => {
            let any = *random.pick(&[Direction::Read, Direction::Write]);
            habit.direction().unwrap_or(any)
        }
        _ => *random.pick(&[Direction::Read, Direction::Write]),
    };
    // No program does exactly what it did the last time.
    let noise = random.noise(0.05).clamp(0.9, 1.1);
    let share = |odds: f64| Some(odds * noise / (1.0 + odds * noise));
    let share = match planted {
        Planted::Causes(causes, effect) => share(odds(causes, effect)),
        Planted::Habit(_, effect) => share(odds(&[], effect)),
        Planted::Decoy(Decoy::AlwaysOneOst) => Some(1.0),
        Planted::Decoy(decoy) => decoy
            .nearly()
            .and_then(|(cause, effect)| share(odds(&[cause], effect))),
        Planted::Nothing => None,
    };
    let case = Case {
        planted,
        direction,
        share,
    };
    let program = match planted {
        Planted::Decoy(Decoy::AlwaysOneOst) => Some("sensor_fit"),
        _ => None,
    };
    plan.posix_job(index, program, nprocs, Scenario::Case(case))
}

/// The I/O of a job, and the generator for what else its log has.
pub(crate) fn workload(plan: &Plan, job: &Job, case: &Case) -> (Workload, Random) {
    let seed = plan.month.seed;
    let mut random = Random::new(seed ^ 0xca5f, job.index);
    let mut workload = Workload::new(job, seed, Random::new(random.bits(), 0));
    let dir = job.dir();
    workload.phase([Access::deck(job)]);
    let is = |decoy| case.planted == Planted::Decoy(decoy);
    let few = is(Decoy::AlwaysOneOst);
    // What goes the other way is healthy, and comes first if it is input.
    let other = case.direction.other();
    let beside = (!few && random.chance(0.4)).then(|| {
        let seconds = random.magnitude(20.0, 300.0);
        healthy(&mut random, other, job.nprocs, seconds, None, false, 0)
    });
    let stages = match few {
        true => slow_everywhere(plan, &mut random, job.nprocs),
        false => composed(&mut random, job.nprocs, case),
    };
    let (before, after) = match other {
        Direction::Read => (beside, None),
        Direction::Write => (None, beside),
    };
    phases(&mut workload, &dir, other, before.unwrap_or_default());
    let begin = workload.clock;
    if is(Decoy::HalfIdle) {
        workload.compute(2.0);
    }
    phases(&mut workload, &dir, case.direction, stages);
    if is(Decoy::HalfIdle) {
        held_open(&mut workload, &mut random, &dir, begin);
    }
    phases(&mut workload, &dir, other, after.unwrap_or_default());
    let until = workload.clock + random.float(0.1, 2.0);
    if is(Decoy::StdoutWindow) || random.chance(0.5) {
        let bytes = random.magnitude(200.0, 60_000.0) as i64;
        workload.background(Access::print("<STDOUT>".into(), 0, bytes), until);
    }
    workload.clock = until;
    (workload, random)
}

/// The healthy part of a job that takes so many seconds, with no more than `most` bytes per second.
fn healthy(
    random: &mut Random,
    direction: Direction,
    nprocs: i64,
    seconds: f64,
    most: Option<f64>,
    many: bool,
    ost: i64,
) -> Vec<Stage> {
    let way = Healthy::pick(random, direction, nprocs, many);
    let (mut stages, bandwidth) = way.stages(random, nprocs, ost);
    let bandwidth = bandwidth.min(most.unwrap_or(f64::INFINITY));
    fit(&mut stages, seconds, bandwidth * seconds);
    stages
}

/// Ten times its part of the bytes makes a process one that moves too much; this much has one that is planted, at least.
const RANK_FACTOR: f64 = 20.0;

/// The stages of a job: a healthy part, and before, after or amid its steps what is planted.
fn composed(random: &mut Random, nprocs: i64, case: &Case) -> Vec<Stage> {
    // The OST of files that lie on one: the healthy part uses all others.
    let ost = random.int(0, SCRATCH_OSTS);
    let pattern = match case.planted {
        Planted::Causes(causes, _) => Some(AccessPattern::of(random, causes, nprocs, ost)),
        Planted::Decoy(decoy) => AccessPattern::nearly(random, decoy, nprocs, ost),
        Planted::Habit(..) | Planted::Nothing => None,
    };
    // Between its steps a job waits for long, so that what is open all the time is idle for most of it.
    let idle = case.planted == Planted::Decoy(Decoy::HalfIdle);
    let total = match idle {
        true => random.magnitude(20.0, 80.0),
        false => random.magnitude(40.0, 1500.0),
    };
    let slow = match case.planted {
        Planted::Habit(..) => random.magnitude(0.1e9, 0.3e9),
        _ => random.magnitude(0.1e9, 0.6e9),
    };
    let share = case.share.unwrap_or(0.0);
    let (planted, rest) = (share * total, (1.0 - share) * total);
    let most = (case.planted.has(Cause::OneRank))
        .then(|| slow * planted / rest * (nprocs as f64 / RANK_FACTOR - 1.0));
    // Where one file or a row of them is planted, or nearly, there are other files, and none of them stands alone.
    let many = match case.planted {
        Planted::Decoy(decoy) => !matches!(decoy, Decoy::NearOneOst | Decoy::SmallConsec),
        planted => planted.has(Cause::OneFile) || planted.has(Cause::SerialFiles),
    };
    let mut stages = healthy(random, case.direction, nprocs, rest, most, many, ost);
    if idle {
        let pause = rest * random.float(6.0, 15.0) / stages.len() as f64;
        stages.iter_mut().for_each(|stage| stage.pause = pause);
    }
    let mut slowed = match (&pattern, case.planted) {
        (Some(pattern), _) => pattern.stages(random, nprocs, 0, ost),
        (None, Planted::Habit(habit, _)) => habit.stages(random, nprocs, ost),
        _ => return stages,
    };
    fit(&mut slowed, planted, slow * planted);
    let at = random.int(0, stages.len() as i64 + 1) as usize;
    stages.splice(at..at, slowed);
    stages
}

/// The stages of the program that is slow wherever it runs, on the OST that all of its files lie on.
fn slow_everywhere(plan: &Plan, random: &mut Random, nprocs: i64) -> Vec<Stage> {
    let ost = Random::new(plan.month.seed, 0x051).int(0, SCRATCH_OSTS);
    let pattern = AccessPattern::always_on(random, ost);
    let steps = random.int(3, 7);
    let stages = (0..steps).flat_map(|step| pattern.stages(random, nprocs, step, ost));
    let mut stages: Vec<Stage> = stages.collect();
    let seconds = random.magnitude(40.0, 1500.0);
    let bandwidth = random.magnitude(0.02e9, 0.2e9);
    fit(&mut stages, seconds, bandwidth * seconds);
    stages
}

/// A file that the first process opens before all others and closes after them, and uses now and then.
fn held_open(workload: &mut Workload, random: &mut Random, dir: &str, begin: f64) {
    let length = workload.clock - begin;
    let requests = Requests::good(random);
    let file = TimedFile {
        bytes: random.magnitude(2e6, 2e7),
        length,
        busy: random.float(0.0005, 0.002),
        ..TimedFile::new(random, "history.dat".into(), 0, requests, vec![0, 1, 2, 3])
    };
    let end = workload.clock;
    workload.clock = begin;
    let stage = Stage::alone(file, 0.0);
    phases(workload, dir, Direction::Write, vec![stage]);
    workload.clock = workload.clock.max(end);
}

#[cfg(test)]
mod tests;
