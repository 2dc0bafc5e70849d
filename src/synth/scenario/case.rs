//! The jobs of months of causes, and of healthy jobs alone: each is a case, dealt out evenly.
//!
//! A job's I/O in one direction has a healthy part and a planted one. Which share of the time is in the planted files follows
//! from the size of the effect; files have noise on their times and bytes, and the share a little, too. The two parts share
//! no moment, so that the planted files' exclusive time is theirs whichever cover of the time is taken.

use crate::synth::random::{Random, mix};
use crate::synth::scenario::cause::{Cause, Decoy, EFFECTS, Manner, PLANTS, odds};
use crate::synth::scenario::fault::deck;
use crate::synth::scenario::healthy::Healthy;
use crate::synth::scenario::kind::Kind;
use crate::synth::scenario::plan::{
    FIRST_ID, Job, Plan, Plant, USERS, dealt_share, office_hours, user_name,
};
use crate::synth::system::{SCRATCH_OSTS, System};
use crate::synth::workload::app::{APPS, Interface, OTHERS, other_name};
use crate::synth::workload::shape::part;
use crate::synth::workload::stage::{Direction, Requests, Stage, TimedFile, fit, phases};
use crate::synth::workload::{Api, Workload};
use crate::synth::{Month, MonthLog, only_log};
use serde_json::{Value, json};

/// What is planted in a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Planted {
    /// Nothing.
    Nothing,
    /// Causes in the same files, and the size of their effect.
    Causes(&'static [Cause], f64),
    /// What only looks like a cause.
    Decoy(Decoy),
}

/// A job of a month of causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) planted: Planted,
    /// Where it is planted; where most of the bytes go if nothing is.
    pub(crate) direction: Direction,
    /// Share of the time, while some file is in use, that is in the planted files.
    pub(crate) share: Option<f64>,
}

impl Case {
    /// What truth.json says of it.
    pub(crate) fn truth(&self) -> Value {
        let (causes, effect, decoy) = match self.planted {
            Planted::Nothing => (&[][..], None, None),
            Planted::Causes(causes, effect) => (causes, Some(effect), None),
            Planted::Decoy(decoy) => (&[][..], None, Some(decoy.name())),
        };
        json!({
            "direction": self.direction.name(),
            "causes": causes.iter().map(|cause| cause.name()).collect::<Vec<_>>(),
            "effect": effect,
            "decoy": decoy,
            "share": self.share,
        })
    }
}

/// What is planted in which job: half of them healthy, everything else equally often.
pub(crate) fn deal(month: &Month) -> Vec<Planted> {
    let mut all: Vec<Planted> = vec![];
    for causes in PLANTS {
        all.extend(EFFECTS.map(|effect| Planted::Causes(causes, effect)));
    }
    all.extend(Decoy::ALL.map(Planted::Decoy));
    let planted = match month.kind {
        Kind::Causes => month.jobs / 2,
        _ => 0,
    };
    let random = &mut Random::new(month.seed, u64::MAX);
    // Where there is no room for all, another seed plants others.
    random.shuffle(&mut all);
    let mut dealt: Vec<Planted> = (0..month.jobs)
        .map(|at| match at < planted {
            true => all[(at % all.len() as u64) as usize],
            false => Planted::Nothing,
        })
        .collect();
    random.shuffle(&mut dealt);
    dealt
}

/// Processes of most jobs.
const SIZES: [i64; 14] = [
    256, 256, 272, 320, 384, 512, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192,
];

/// Job `index`.
pub(crate) fn job(plan: &Plan, index: u64) -> Job {
    let random = &mut Random::new(plan.month.seed ^ 0xca5e, index);
    let planted = plan.cases.get(index as usize);
    let planted = *planted.unwrap_or(&Planted::Nothing);
    let is = |cause| matches!(planted, Planted::Causes(causes, _) if causes.contains(&cause));
    let nprocs = match planted {
        Planted::Decoy(Decoy::AlwaysOneOst) => random.int(2, 9),
        // So that a process that has a sixth of the time has ten times its part of the bytes, too.
        _ if is(Cause::OneRank) => *random.pick(&SIZES[8..]),
        _ => *random.pick(&SIZES),
    };
    let direction = match planted {
        Planted::Decoy(Decoy::StdoutWindow | Decoy::HalfIdle) => Direction::Write,
        _ => *random.pick(&[Direction::Read, Direction::Write]),
    };
    // No program does exactly what it did the last time.
    let noise = random.noise(0.05).clamp(0.9, 1.1);
    let share = |odds: f64| Some(odds * noise / (1.0 + odds * noise));
    let share = match planted {
        Planted::Causes(causes, effect) => share(odds(causes, effect)),
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
    posix_job(plan, index, program, nprocs, Plant::Case(case))
}

/// A job of a month that is not the usual one: without a program's name any program runs, as any user.
pub(crate) fn posix_job(
    plan: &Plan,
    index: u64,
    program: Option<&str>,
    nprocs: i64,
    plant: Plant,
) -> Job {
    let month = &plan.month;
    let random = &mut Random::new(month.seed ^ 0x90b, index);
    let others = &APPS[APPS.len() - 1];
    let app = match program {
        Some(_) => others,
        None => *random.pick(&APPS.iter().filter(|app| !app.forks).collect::<Vec<_>>()),
    };
    let program = match (program, app.name) {
        (Some(program), _) => program.to_string(),
        (None, "") => other_name(random.below(OTHERS)),
        (None, name) => name.to_string(),
    };
    let user = mix(month.seed ^ random.below(USERS)) % USERS;
    let part = (index as f64 + random.unit()) / month.jobs.max(1) as f64;
    Job {
        index,
        plant: Some(plant),
        app,
        program,
        interface: Interface::Posix,
        nprocs,
        read: 0,
        written: 0,
        consecutive: 0.9,
        request: 4 << 20,
        job_id: FIRST_ID + index as i64 * 3 + random.int(0, 3),
        user: user_name(user),
        uid: 20_000 + user as i64 * 7,
        start: month.start as f64 + office_hours(part, month.days),
        logs: 1,
        library: dealt_share(random.unit()),
    }
}

/// The log of a job, and the workload that it tells of.
pub(crate) fn logs(plan: &Plan, job: &Job, case: &Case) -> Vec<(MonthLog, Workload)> {
    let mut random = Random::new(plan.month.seed ^ 0xca5f, job.index);
    let system = System::new(plan.month.seed);
    let mut workload = Workload::new(job, system, Random::new(random.bits(), 0));
    let dir = job.dir();
    workload.phase([deck(job)]);
    let few = case.planted == Planted::Decoy(Decoy::AlwaysOneOst);
    // What goes the other way is healthy, and comes first if it is input.
    let other = case.direction.other();
    let beside = (!few && random.chance(0.4)).then(|| {
        let seconds = random.magnitude(20.0, 300.0);
        healthy(&mut random, other, job.nprocs, seconds, None, false, 0)
    });
    let (before, after) = match other {
        Direction::Read => (beside, None),
        Direction::Write => (None, beside),
    };
    if let Some(stages) = before {
        phases(&mut workload, &dir, other, stages);
    }
    let stages = match few {
        true => slow_everywhere(plan, &mut random, job.nprocs),
        false => composed(&mut random, job.nprocs, case),
    };
    let begin = workload.clock;
    if case.planted == Planted::Decoy(Decoy::HalfIdle) {
        workload.compute(2.0);
    }
    phases(&mut workload, &dir, case.direction, stages);
    if case.planted == Planted::Decoy(Decoy::HalfIdle) {
        held_open(&mut workload, &mut random, &dir, begin);
    }
    if let Some(stages) = after {
        phases(&mut workload, &dir, other, stages);
    }
    let until = workload.clock + random.float(0.1, 2.0);
    if case.planted == Planted::Decoy(Decoy::StdoutWindow) || random.chance(0.5) {
        let bytes = random.magnitude(200.0, 60_000.0) as i64;
        let words = part("<STDOUT>".into(), 0, Api::Stdio, 0, bytes);
        workload.background(words, until);
    }
    workload.clock = until;
    vec![only_log(job, workload, &mut random)]
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
    let manner = match case.planted {
        Planted::Causes(causes, _) => Some(Manner::of(random, causes, nprocs, ost)),
        Planted::Decoy(decoy) => decoy
            .nearly()
            .map(|(cause, _)| Manner::nearly(random, decoy, cause, nprocs, ost)),
        Planted::Nothing => None,
    };
    // Between its steps a job waits for long, so that what is open all the time is idle for most of it.
    let idle = case.planted == Planted::Decoy(Decoy::HalfIdle);
    let total = match idle {
        true => random.magnitude(20.0, 80.0),
        false => random.magnitude(40.0, 1500.0),
    };
    let slow = random.magnitude(0.1e9, 0.6e9);
    let share = manner.as_ref().and(case.share).unwrap_or(0.0);
    let (planted, rest) = (share * total, (1.0 - share) * total);
    let most = match case.planted {
        Planted::Causes(causes, _) if causes.contains(&Cause::OneRank) => {
            Some(slow * planted / rest * (nprocs as f64 / RANK_FACTOR - 1.0))
        }
        _ => None,
    };
    // Where one file or a row of them is planted, or nearly, there are other files, and none of them stands alone.
    let many = match case.planted {
        Planted::Causes(causes, _) => {
            causes.contains(&Cause::OneFile) || causes.contains(&Cause::SerialFiles)
        }
        Planted::Decoy(decoy) => !matches!(decoy, Decoy::NearOneOst | Decoy::SmallConsec),
        Planted::Nothing => false,
    };
    let mut stages = healthy(random, case.direction, nprocs, rest, most, many, ost);
    if idle {
        let pause = rest * random.float(6.0, 15.0) / stages.len() as f64;
        stages.iter_mut().for_each(|stage| stage.pause = pause);
    }
    if let Some(manner) = manner {
        let mut slowed = manner.stages(random, nprocs, 0, ost);
        fit(&mut slowed, planted, slow * planted);
        let at = random.int(0, stages.len() as i64 + 1) as usize;
        stages.splice(at..at, slowed);
    }
    stages
}

/// The stages of the program that is slow wherever it runs, on the OST that all of its files lie on.
fn slow_everywhere(plan: &Plan, random: &mut Random, nprocs: i64) -> Vec<Stage> {
    let ost = Random::new(plan.month.seed, 0x051).int(0, SCRATCH_OSTS);
    let manner = Manner::always_on(random, ost);
    let steps = random.int(3, 7);
    let stages = (0..steps).flat_map(|step| manner.stages(random, nprocs, step, ost));
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
    let stage = Stage {
        files: vec![file],
        pause: 0.0,
    };
    phases(workload, dir, Direction::Write, vec![stage]);
    workload.clock = workload.clock.max(end);
}

#[cfg(test)]
mod tests;
