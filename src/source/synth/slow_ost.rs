//! The month of one slow OST: every file that has it among its stripes takes three times as long, for a striped file waits for
//! its slowest stripe. Some programs are slow or fast for reasons of their own, and always on the same few OSTs.

use super::case::posix_job;
use super::plan::{Job, Plan, Plant};
use super::random::{Random, mix};
use super::scene::Scene;
use super::stage::{Direction, Piece, Requests, Stage, play};
use super::system::{SCRATCH_OSTS, System, other_ost};
use super::{Month, MonthLog, only_log};
use serde_json::{Value, json};

/// By how much a file with a stripe on the slow OST takes longer.
const FACTOR: f64 = 3.0;

/// What part a program has in the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// One of the many, on OSTs all over the file system.
    Ordinary,
    /// Ten times as slow as others wherever it runs, and always on the same OST, which is not slow.
    SlowEverywhere,
    /// Three times as fast as others, always on the OSTs next to the slow one.
    FastNeighbours,
    /// As others, but its files always have the slow OST among their stripes.
    AmongOthers,
}

impl Role {
    /// Those who lead astray.
    const CONFOUNDED: [Self; 3] = [
        Self::SlowEverywhere,
        Self::FastNeighbours,
        Self::AmongOthers,
    ];

    /// The part of job `index`: nine in ten are ordinary.
    pub(super) fn of(month: &Month, index: u64) -> Self {
        let confounded = Random::new(month.seed ^ 0x901e, index).below(30);
        *Self::CONFOUNDED
            .get(confounded as usize)
            .unwrap_or(&Self::Ordinary)
    }

    /// Its name in truth.json.
    fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::SlowEverywhere => "slow_everywhere",
            Self::FastNeighbours => "fast_neighbours",
            Self::AmongOthers => "among_others",
        }
    }

    /// The program that has it; any, if it is ordinary.
    fn program(self) -> Option<&'static str> {
        match self {
            Self::Ordinary => None,
            Self::SlowEverywhere => Some("sensor_fit"),
            Self::FastNeighbours => Some("ray_march"),
            Self::AmongOthers => Some("spectra_mc"),
        }
    }

    /// How many times as long its files take, wherever they lie.
    fn slowness(self) -> f64 {
        match self {
            Self::SlowEverywhere => 10.0,
            Self::FastNeighbours => 1.0 / 3.0,
            Self::Ordinary | Self::AmongOthers => 1.0,
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
    pub(super) fn truth(self, program: &str) -> Value {
        let confounded = (self != Self::Ordinary).then(|| self.name());
        json!({"app": program, "confounded": confounded})
    }
}

/// What truth.json says of the month, but for its jobs.
pub(super) fn truth(month: &Month) -> Value {
    let system = System::new(month.seed);
    let confounded = Role::CONFOUNDED.map(|role| {
        json!({
            "kind": role.name(),
            "app": role.program(),
            "osts": role.osts(&system, month.seed),
            "factor": role.slowness(),
        })
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
pub(super) fn job(plan: &Plan, index: u64) -> Job {
    let role = Role::of(&plan.month, index);
    let random = &mut Random::new(plan.month.seed ^ 0x510e, index);
    let nprocs = *random.pick(&[64, 128, 256, 512, 1024, 2048]);
    posix_job(plan, index, role.program(), nprocs, Plant::Role(role))
}

/// The log of a job, and the scene that it tells of.
pub(super) fn logs(plan: &Plan, job: &Job, role: Role) -> Vec<(MonthLog, Scene)> {
    let seed = plan.month.seed;
    let mut random = Random::new(seed ^ 0x510f, job.index);
    let system = System::new(seed);
    let mut scene = Scene::new(job, system, Random::new(random.bits(), 0));
    // What a program gets of an OST is its own.
    let program = mix(job
        .program
        .bytes()
        .fold(seed, |sum, byte| mix(sum ^ u64::from(byte))));
    let speed = Random::new(seed, program).magnitude(0.08e9, 0.4e9) / role.slowness();
    let direction = *random.pick(&[Direction::Read, Direction::Write]);
    let home = role.osts(&system, seed);
    let requests = Requests::good(&mut random);
    let stages = (0..random.int(2, 5)).map(|step| {
        let striped = random.chance(0.7);
        let stripes = match (role, striped) {
            (Role::SlowEverywhere, _) => 1,
            (Role::FastNeighbours, true) => random.int(2, 5),
            (Role::AmongOthers, _) => random.int(8, 17),
            (_, true) => *random.pick(&[8, 12, 16, 24, 32, 48, 64]),
            (_, false) => 1,
        };
        let files = match stripes {
            1 => random.int(16, 65),
            _ => random.int(4, 17),
        };
        let bytes = random.magnitude(50e6, 1e9) * stripes as f64;
        let mut next_ost = random.int(0, SCRATCH_OSTS);
        let pieces = (0..files).map(|file| {
            let osts: Vec<i64> = match role {
                Role::Ordinary => (0..stripes)
                    .map(|stripe| (next_ost + stripe) % SCRATCH_OSTS)
                    .collect(),
                Role::AmongOthers => {
                    let others = (1..stripes).map(|stripe| other_ost(next_ost + stripe, home[0]));
                    home.iter().copied().chain(others).collect()
                }
                _ => {
                    let at = |stripe| home[((file + stripe) % home.len() as i64) as usize];
                    (0..stripes).map(at).collect()
                }
            };
            next_ost += stripes;
            let rank = match stripes {
                1 => file * job.nprocs / files,
                _ => -1,
            };
            let name = format!("step{step:02}/data_{file:04}.dat");
            let waits = if osts.contains(&system.slow_ost) {
                FACTOR
            } else {
                1.0
            };
            let mut piece = Piece::new(&mut random, name, rank, requests, osts);
            piece.bytes *= bytes;
            piece.length *= piece.bytes / (speed * stripes as f64) * waits;
            piece
        });
        let pieces = pieces.collect();
        Stage::together(&mut random, pieces, 30.0)
    });
    let stages = stages.collect();
    play(&mut scene, &job.dir(), direction, stages);
    vec![only_log(job, scene, &mut random)]
}
