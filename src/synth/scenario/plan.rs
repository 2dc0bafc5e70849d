//! Which job is what: program, size, bytes, time, and what is wrong with it.

use super::cause::{Cause, Decoy, EFFECTS, Habit, PLANTS, Planted};
use super::fault;
use super::job::{Job, Release, Scenario, USERS, block_id};
use crate::math::random::{Random, mix};
use crate::synth::month::{Kind, Month};
use crate::synth::workload::app::{APPS, App, BLOCK, Class, OTHERS, other_name};

/// The jobs that are special, and where.
pub(crate) struct Plan {
    pub(crate) month: Month,
    scenarios: Vec<Scenario>,
    /// What is planted in each job of a month of causes.
    pub(crate) cases: Vec<Planted>,
}

/// Golden ratio: its multiples, modulo 1, fill the unit interval evenly however many are taken.
pub(crate) const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Plan {
    pub(crate) fn new(month: Month) -> Self {
        let (scenarios, cases) = match month.kind {
            Kind::Usual => (scenarios(&month), vec![]),
            _ => (vec![], deal(&month)),
        };
        Self {
            month,
            scenarios,
            cases,
        }
    }

    /// What is special about job `index` of the usual month: the scenarios are spread evenly over it.
    pub(crate) fn scenario(&self, index: u64) -> Option<Scenario> {
        let count = self.scenarios.len() as u128;
        let place = |at: u128| (2 * at + 1) * u128::from(self.month.jobs) / (2 * count);
        let near = u128::from(index) * count / u128::from(self.month.jobs.max(1));
        let mut candidates = near.saturating_sub(1)..=near + 1;
        let found = candidates.find(|at| *at < count && place(*at) == u128::from(index))?;
        self.scenarios.get(found as usize).copied()
    }

    /// What job `index` of the usual month is.
    pub(crate) fn job(&self, index: u64) -> Job {
        let seed = self.month.seed;
        let random = &mut Random::new(seed, index);
        let scenario = self.scenario(index);
        // Each block of jobs has every program as often as it should be.
        let block = index / BLOCK;
        let slot = shuffled(seed, block, index % BLOCK);
        let apps = APPS.iter().map(|app| (app, app.count()));
        let (mut app, mut place) = dealt(apps, slot);
        match scenario {
            Some(Scenario::Fault(cause)) => (app, place) = (App::named(fault::doc(cause).2), 0),
            // The first jobs of the first program are collective and of medium size.
            Some(Scenario::CustomStriping) => (app, place) = (&APPS[0], slot % 14),
            _ => {}
        }
        // Ratios and shares are dealt to an app's jobs in other orders than sizes and interfaces; 53 and 59 divide no
        // count.
        let count = app.count();
        let turned = |factor: u64, step: u64| (place * factor + block * step) % count;
        let classes = app.jobs.iter();
        let classes = classes.map(|(class, io, count)| ((*class, *io), *count));
        let ((class, interface), _) = dealt(classes, place);
        let (ratio, _) = dealt((0..4).zip(app.ratios), turned(53, 3));
        let (band, _) = dealt((0..3).zip(app.consecutive), turned(59, 5));
        let shift = Random::new(seed, app.bytes.1 as u64).unit();
        let quantile = ((block * count + place) as f64 * GOLDEN + shift).fract();
        let bytes = app.bytes.0 * (app.bytes.1 / app.bytes.0).powf(quantile.powf(1.3));
        let read_share = match ratio {
            _ if scenario == Some(Scenario::CustomStriping) => random.float(0.04, 0.88),
            0 => 0.0,
            1 => random.float(0.04, 0.88),
            2 => random.float(0.905, 0.999),
            _ => 1.0,
        };
        let read = (bytes * read_share) as i64;
        let consecutive = match band {
            0 => random.float(0.02, 0.47),
            1 => random.float(0.53, 0.79),
            _ => random.float(0.82, 0.985),
        };
        let nprocs = match scenario {
            Some(Scenario::Fault(_)) => fault::nprocs(index),
            _ => processes(class, random),
        };
        let other = mix(random.bits()) % OTHERS;
        let program = match &*app.name {
            "" => other_name(other),
            name => name.to_string(),
        };
        // A program has few users, and a user several programs.
        let letters: u64 = program.bytes().map(u64::from).sum();
        let user = mix(seed ^ mix(letters * 31 + random.below(4))) % USERS;
        let several = match (app.forks, nprocs) {
            (true, _) if random.chance(0.25) => 2 + (random.unit().powi(2) * 11.0) as u64,
            (false, 2..) if random.chance(0.02) => 2 + random.below(4),
            _ => 1,
        };
        let outside = nprocs == 1 && scenario.is_none() && random.chance(0.008);
        let release = Release::at(random.unit());
        Job {
            scenario,
            program,
            interface,
            read,
            written: bytes as i64 - read,
            consecutive,
            request: random.magnitude(app.requests.0, app.requests.1) as i64 & !63,
            // Ids rise with time and have holes, for not every job leaves a log; without Slurm it is a process id.
            job_id: match outside {
                true => random.int(2_000, 4_000_000),
                false => block_id(index) + random.int(0, 3),
            },
            start: self.start(index, random),
            logs: if scenario.is_some() { 1 } else { several },
            release,
            ..Job::new(index, app, nprocs, user)
        }
    }

    /// A job of a month that is not the usual one: without a program's name any program runs, as any user.
    pub(crate) fn posix_job(
        &self,
        index: u64,
        program: Option<&str>,
        nprocs: i64,
        scenario: Scenario,
    ) -> Job {
        let seed = self.month.seed;
        let random = &mut Random::new(seed ^ 0x90b, index);
        let app = match program {
            Some(_) => &APPS[APPS.len() - 1],
            None => *random.pick(&APPS.iter().filter(|app| !app.forks).collect::<Vec<_>>()),
        };
        let program = match (program, &*app.name) {
            (Some(program), _) => program.to_string(),
            (None, "") => other_name(random.below(OTHERS)),
            (None, name) => name.to_string(),
        };
        let user = mix(seed ^ random.below(USERS)) % USERS;
        Job {
            scenario: Some(scenario),
            program,
            start: self.start(index, random),
            job_id: block_id(index) + random.int(0, 3),
            release: Release::at(random.unit()),
            ..Job::new(index, app, nprocs, user)
        }
    }

    /// When a job starts, seconds since 1970.
    fn start(&self, index: u64, random: &mut Random) -> f64 {
        let month = self.month;
        let part = (index as f64 + random.unit()) / month.jobs.max(1) as f64;
        month.start as f64 + office_hours(part, month.days)
    }
}

/// What is planted in the usual month.
fn scenarios(month: &Month) -> Vec<Scenario> {
    let thousands = month.jobs / 1000;
    // On Cori 0.08 % of the jobs.
    let custom = if month.realistic { 8 } else { 15 };
    let faults = Cause::ALL.map(|cause| (Scenario::Fault(cause), 1 + thousands));
    let others = [
        (Scenario::Damaged, 3 + thousands / 2),
        (Scenario::Partial, 3 + thousands),
        (Scenario::CustomStriping, 1 + month.jobs * custom / 10_000),
        (Scenario::Duplicate, 1),
    ];
    let all = faults.into_iter().chain(others);
    let all = all.flat_map(|(scenario, count)| (0..count).map(move |_| scenario));
    let mut all: Vec<_> = all.collect();
    // A month of very few jobs has room for some only.
    Random::new(month.seed, u64::MAX).shuffle(&mut all);
    all.truncate(month.jobs as usize);
    all
}

/// What is planted in each job of a month of causes: half of them are healthy, everything else is equally frequent.
pub(crate) fn deal(month: &Month) -> Vec<Planted> {
    let mut all: Vec<Planted> = vec![];
    for causes in PLANTS {
        all.extend(EFFECTS.map(|effect| Planted::Causes(causes, effect)));
    }
    for habit in Habit::ALL {
        all.extend(EFFECTS.map(|effect| Planted::Habit(habit, effect)));
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

/// The part of a list of (value, count) in which the `place`-th item lies, and its place there.
fn dealt<T>(parts: impl IntoIterator<Item = (T, u64)>, mut place: u64) -> (T, u64) {
    for (value, count) in parts {
        if place < count {
            return (value, place);
        }
        place -= count;
    }
    unreachable!("the counts reach as far as the places")
}

/// A permutation of the slots of a block, another one in each: rounds of a Feistel network over 1,024, walked until the
/// result is a slot.
fn shuffled(seed: u64, block: u64, slot: u64) -> u64 {
    let mut at = slot;
    loop {
        let (mut left, mut right) = (at >> 5, at & 31);
        for round in 0..4 {
            (left, right) = (
                right,
                left ^ (mix(seed ^ mix(block * 4 + round) ^ right << 7) & 31),
            );
        }
        at = left << 5 | right;
        if at < BLOCK {
            return at;
        }
    }
}

/// Processes of a job: whole nodes of 32 or 68 cores, or a few on one.
fn processes(class: Class, random: &mut Random) -> i64 {
    match class {
        Class::One => 1,
        Class::Small => *random.pick(&[
            2, 4, 4, 8, 8, 12, 16, 16, 24, 32, 32, 32, 36, 48, 64, 64, 64, 64, 68, 96, 96, 128,
            128, 128, 136, 192, 240, 256, 256, 272, 384, 512, 512, 544, 640, 1024, 1024,
        ]),
        Class::Medium => *random.pick(&[
            1088, 1152, 1280, 1536, 2048, 2048, 2176, 3072, 4096, 4096, 4352, 6144, 8192,
        ]),
        Class::Large => *random.pick(&[8704, 9216, 12288, 16384, 16384, 24576, 32768, 65536]),
    }
}

/// Seconds into the month of the share `part` of its jobs: more start by day than by night, and more on working days.
fn office_hours(part: f64, days: i64) -> f64 {
    const DAY: f64 = 86_400.0;
    let at = part * days as f64 * DAY;
    let wave = |period: f64, depth: f64| {
        depth * period / std::f64::consts::TAU * (std::f64::consts::TAU * at / period).sin()
    };
    // The slope stays positive (1 - 0.5 - 0.25), so that the order of jobs is that of their starts.
    (at + wave(DAY, 0.5) + wave(7.0 * DAY, 0.25)).clamp(0.0, days as f64 * DAY - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_shuffled_without_loss() {
        for block in 0..3 {
            let mut slots: Vec<u64> = (0..BLOCK).map(|slot| shuffled(7, block, slot)).collect();
            assert_ne!(slots, (0..BLOCK).collect::<Vec<_>>());
            slots.sort_unstable();
            assert_eq!(slots, (0..BLOCK).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_scenario_has_one_job_and_no_job_two() {
        for jobs in [1, 7, 40, 1000, 2000, 54_321] {
            let plan = Plan::new(Month::new(jobs, 3));
            let planted = (0..jobs)
                .filter(|index| plan.scenario(*index).is_some())
                .count();
            assert_eq!(planted, plan.scenarios.len(), "{jobs} jobs");
        }
    }

    #[test]
    fn jobs_start_in_order_within_the_month() {
        let month = Month::new(500, 1);
        let plan = Plan::new(month);
        let starts: Vec<f64> = (0..500).map(|index| plan.job(index).start).collect();
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(
            starts
                .iter()
                .all(|start| (*start - month.start as f64) < 30.0 * 86_400.0
                    && *start >= month.start as f64)
        );
    }
}
