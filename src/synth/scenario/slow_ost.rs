//! The month of one slow OST: every file that has it among its stripes takes three times as long, for a striped file waits for
//! its slowest stripe. Some programs are slow or fast for reasons of their own, and always on the same few OSTs.

use super::cause::{Direction, Role};
use super::job::{Job, Scenario};
use super::plan::Plan;
use crate::math::random::{Random, mix};
use crate::synth::month::Month;
use crate::synth::system::{SCRATCH_OSTS, System, other_ost};
use crate::synth::workload::Workload;
use crate::synth::workload::stage::{Requests, Stage, TimedFile, phases};
use serde_json::{Value, json};

/// By how much a file with a stripe on the slow OST takes longer.
const FACTOR: f64 = 3.0;

impl Role {
    /// Those who lead astray.
    const CONFOUNDED: [Self; 3] = [
        Self::SlowEverywhere,
        Self::FastNeighbours,
        Self::AmongOthers,
    ];

    /// The part of job `index`: nine in ten are ordinary.
    pub(crate) fn of(month: &Month, index: u64) -> Self {
        let confounded = Random::new(month.seed ^ 0x901e, index).below(30);
        *Self::CONFOUNDED
            .get(confounded as usize)
            .unwrap_or(&Self::Ordinary)
    }

    /// The program that has it, any if it is ordinary, and how many times as long its files take wherever they lie.
    fn program(self) -> (Option<&'static str>, f64) {
        match self {
            Self::Ordinary => (None, 1.0),
            Self::SlowEverywhere => (Some("sensor_fit"), 10.0),
            Self::FastNeighbours => (Some("ray_march"), 1.0 / 3.0),
            Self::AmongOthers => (Some("spectra_mc"), 1.0),
        }
    }

    /// The OSTs that it is always on; none if it is on any.
    fn osts(self, system: &System, seed: u64) -> Vec<i64> {
        let slow = system.slow_ost;
        match self {
            Self::Ordinary => vec![],
            Self::SlowEverywhere => {
                // Far from the slow one.
                let away = Random::new(seed, 0x051).int(20, SCRATCH_OSTS - 20);
                vec![(slow + away) % SCRATCH_OSTS]
            }
            Self::FastNeighbours => [-2, -1, 1, 2]
                .map(|step| (slow + step).rem_euclid(SCRATCH_OSTS))
                .to_vec(),
            Self::AmongOthers => vec![slow],
        }
    }

    /// What truth.json says of a job that has it.
    pub(crate) fn truth(self, program: &str) -> Value {
        json!({"app": program, "confounded": (self != Self::Ordinary).then_some(self)})
    }
}

/// What truth.json says of the month, but for its jobs.
pub(crate) fn truth(month: &Month) -> Value {
    let system = System::new(month.seed);
    let confounded = Role::CONFOUNDED.map(|role| {
        let ((app, factor), osts) = (role.program(), role.osts(&system, month.seed));
        json!({"kind": role, "app": app, "osts": osts, "factor": factor})
    });
    json!({
        "mount": "/scratch",
        "osts": SCRATCH_OSTS,
        "slow_ost": system.slow_ost,
        "factor": FACTOR,
        "confounded": confounded,
    })
}

/// Job `index`.
pub(crate) fn job(plan: &Plan, index: u64) -> Job {
    let role = Role::of(&plan.month, index);
    let random = &mut Random::new(plan.month.seed ^ 0x510e, index);
    let nprocs = *random.pick(&[64, 128, 256, 512, 1024, 2048]);
    plan.posix_job(index, role.program().0, nprocs, Scenario::SlowOst(role))
}

/// The I/O of a job, and the generator for what else its log has.
pub(crate) fn workload(plan: &Plan, job: &Job, role: Role) -> (Workload, Random) {
    let seed = plan.month.seed;
    let mut random = Random::new(seed ^ 0x510f, job.index);
    let system = System::new(seed);
    let mut workload = Workload::new(job, seed, Random::new(random.bits(), 0));
    // What an ordinary program gets of an OST is its own; all of them vary from job to job.
    let program = (job.program.bytes()).fold(seed, |sum, byte| mix(sum ^ u64::from(byte)));
    let speed = match role {
        Role::Ordinary => Random::new(seed, mix(program)).magnitude(0.08e9, 0.4e9),
        _ => 0.18e9 / role.program().1,
    };
    let speed = speed * random.noise(0.15);
    let direction = *random.pick(&[Direction::Read, Direction::Write]);
    let home = role.osts(&system, seed);
    let requests = Requests::good(&mut random);
    let stages = (0..random.int(2, 5)).map(|step| {
        let striped = random.chance(0.7);
        let stripes = match role {
            Role::AmongOthers => random.int(8, 17),
            Role::FastNeighbours if striped => random.int(2, 5),
            Role::Ordinary if striped => *random.pick(&[8, 12, 16, 24, 32, 48, 64]),
            _ => 1,
        };
        let files = match stripes {
            1 => random.int(16, 65),
            _ => random.int(4, 17),
        };
        let bytes = random.magnitude(50e6, 1e9) * stripes as f64;
        // Lustre takes OSTs in turn, or, where they are unevenly full, by chance.
        let mut order: Vec<i64> = (0..SCRATCH_OSTS).collect();
        if random.chance(0.5) {
            random.shuffle(&mut order);
        }
        let mut next_ost = random.int(0, SCRATCH_OSTS);
        let files = (0..files).map(|file| {
            let osts = (0..stripes).map(|stripe| match (role, stripe) {
                (Role::Ordinary, _) => order[((next_ost + stripe) % SCRATCH_OSTS) as usize],
                (Role::AmongOthers, 1..) => other_ost(next_ost + stripe, system.slow_ost),
                _ => home[((file + stripe) % home.len() as i64) as usize],
            });
            let osts: Vec<i64> = osts.collect();
            next_ost += stripes;
            let rank = match stripes {
                1 => file * job.nprocs / files,
                _ => -1,
            };
            let name = format!("step{step:02}/data_{file:04}.dat");
            let is_slow = osts.contains(&system.slow_ost);
            let mut file = TimedFile::new(&mut random, name, rank, requests, osts);
            file.bytes *= bytes;
            let seconds = file.bytes / (speed * stripes as f64);
            file.length *= if is_slow { seconds * FACTOR } else { seconds };
            file
        });
        let files = files.collect();
        Stage::together(&mut random, files, 30.0)
    });
    let stages = stages.collect();
    phases(&mut workload, &job.dir(), direction, stages);
    (workload, random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::darshan;
    use crate::synth::month::Kind;
    use crate::synth::tests::examined::files;
    use std::collections::{BTreeMap, BTreeSet};

    /// Bandwidths of a stripe of files with and without the slow OST, and all OSTs, by program.
    #[derive(Default)]
    struct Seen {
        with: Vec<f64>,
        without: Vec<f64>,
        osts: BTreeSet<i64>,
        stripes: BTreeSet<usize>,
        jobs: u64,
    }

    fn month(seed: u64) -> (i64, BTreeMap<String, Seen>) {
        let month = Month::of(Kind::SlowOst, 400, seed);
        let (plan, slow) = (Plan::new(month), System::new(seed).slow_ost);
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        for index in 0..month.jobs {
            let role = Role::of(&month, index);
            let name = serde_json::to_value(role).unwrap();
            let seen = seen.entry(name.as_str().unwrap().into()).or_default();
            seen.jobs += 1;
            // Each job's speed is its own: what the OST makes of it shows against its other files.
            let (mut with, mut without) = (vec![], vec![]);
            for log in month.logs(index) {
                let job = job(&plan, index);
                let (mut own, _) = workload(&plan, &job, role);
                assert_eq!(log.log, darshan::log(&job, &mut own, job.start, None));
                for file in [true, false]
                    .iter()
                    .flat_map(|reads| files(&log.log, *reads))
                {
                    let (start, end) = file.window;
                    let bandwidth = file.bytes / (end - start) / file.osts.len() as f64;
                    match file.osts.contains(&slow) {
                        true => with.push(bandwidth),
                        false => without.push(bandwidth),
                    }
                    seen.stripes.insert(file.osts.len());
                    seen.osts.extend(file.osts);
                }
            }
            seen.with.extend(with);
            seen.without.extend(without);
        }
        (slow, seen)
    }

    /// The mean of logarithms, back in the unit.
    fn mean(values: &[f64]) -> f64 {
        (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
    }

    #[test]
    fn files_with_the_slow_ost_are_slow_and_those_who_lead_astray_are_where_they_should_be() {
        for seed in [1, 2, 3] {
            let (slow, seen) = month(seed);
            let ordinary = &seen["ordinary"];
            assert!((320..=390).contains(&ordinary.jobs));
            assert_eq!(ordinary.osts.len() as i64, SCRATCH_OSTS);
            assert!(
                [1, 8, 64]
                    .iter()
                    .all(|stripes| ordinary.stripes.contains(stripes))
            );
            assert!(ordinary.with.len() > 300, "{} files", ordinary.with.len());
            let ratio = mean(&ordinary.without) / mean(&ordinary.with);
            assert!((2.5..3.6).contains(&ratio), "{seed}: {ratio}");

            let everywhere = &seen["slow_everywhere"];
            assert!(everywhere.osts.len() == 1 && everywhere.with.is_empty());
            let neighbours = &seen["fast_neighbours"];
            let near = |ost: &i64| {
                (1..=2).contains(
                    &(ost - slow)
                        .rem_euclid(SCRATCH_OSTS)
                        .min((slow - ost).rem_euclid(SCRATCH_OSTS)),
                )
            };
            assert!(neighbours.osts.iter().all(near) && neighbours.osts.len() == 4);
            assert!(mean(&neighbours.without) > 3.0 * mean(&everywhere.without));
            let among = &seen["among_others"];
            assert!(among.without.is_empty() && among.stripes.iter().all(|stripes| *stripes >= 8));
            assert_eq!(
                truth(&Month::of(Kind::SlowOst, 400, seed))["slow_ost"],
                slow
            );
        }
    }
}
