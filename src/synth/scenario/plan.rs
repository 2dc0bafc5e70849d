//! Which job is what: program, size, bytes, time, and what is wrong with it.

use crate::synth::Month;
use crate::synth::random::{Random, mix};
use crate::synth::scenario::case::{self, Case, Planted};
use crate::synth::scenario::fault::Fault;
use crate::synth::scenario::kind::Kind;
use crate::synth::scenario::slow_ost::{self, Role};
use crate::synth::workload::app::{APPS, App, BLOCK, Class, Interface, OTHERS, Ratio, other_name};

/// What is special about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plant {
    /// A fault that somebody should find.
    Fault(Fault),
    /// Somebody set the striping of the output.
    CustomStriping,
    /// The log is cut short.
    Damaged,
    /// Darshan ran out of memory for POSIX records.
    Partial,
    /// The log lies there twice.
    Duplicate,
    /// A job beside another one on the same OSTs; not among the month's jobs, but one more.
    Neighbour,
    /// One of a month of causes.
    Case(Case),
    /// One of the month of a slow OST.
    Role(Role),
}

/// The jobs that are special, and where.
pub(crate) struct Plan {
    pub(crate) month: Month,
    plants: Vec<Plant>,
    /// What is planted in each job of a month of causes.
    pub(crate) cases: Vec<Planted>,
}

/// What a job is, before its I/O is made up.
pub(crate) struct Job {
    /// Number in the month.
    pub(crate) index: u64,
    pub(crate) plant: Option<Plant>,
    pub(crate) app: &'static App,
    /// Name of the program.
    pub(crate) program: String,
    pub(crate) interface: Interface,
    pub(crate) nprocs: i64,
    pub(crate) read: i64,
    pub(crate) written: i64,
    /// Share of requests that are consecutive.
    pub(crate) consecutive: f64,
    /// Size of a typical request.
    pub(crate) request: i64,
    pub(crate) job_id: i64,
    pub(crate) user: String,
    pub(crate) uid: i64,
    /// Start, seconds since 1970.
    pub(crate) start: f64,
    /// Logs side by side (programs that fork), or one after another.
    pub(crate) logs: u64,
    pub(crate) library: Library,
}

impl Job {
    /// Directory of the job's files.
    pub(crate) fn dir(&self) -> String {
        format!(
            "/scratch/{}/{}/run{:05}",
            self.user, self.program, self.index
        )
    }
}

/// A release of Darshan, and the versions that it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    pub(crate) release: &'static str,
    pub(crate) log: (u16, u16),
    pub(crate) lustre: u32,
    /// Share of the logs.
    share: f64,
}

/// Releases, versions as in real logs of theirs.
const LIBRARIES: [Library; 6] = [
    Library {
        release: "3.4.7",
        log: (3, 41),
        lustre: 2,
        share: 0.48,
    },
    Library {
        release: "3.5.0",
        log: (3, 41),
        lustre: 2,
        share: 0.12,
    },
    Library {
        release: "3.4.4",
        log: (3, 41),
        lustre: 1,
        share: 0.17,
    },
    Library {
        release: "3.3.1",
        log: (3, 21),
        lustre: 1,
        share: 0.10,
    },
    Library {
        release: "3.2.1",
        log: (3, 21),
        lustre: 1,
        share: 0.04,
    },
    Library {
        release: "3.1.4",
        log: (3, 10),
        lustre: 1,
        share: 0.09,
    },
];

/// The first id that Slurm gives in the month; below are process ids.
pub(crate) const FIRST_ID: i64 = 6_100_000;

/// Golden ratio: its multiples, modulo 1, fill the unit interval evenly however many are taken.
pub(crate) const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Plan {
    pub(crate) fn new(month: Month) -> Self {
        if month.kind != Kind::Usual {
            return Self {
                cases: case::deal(&month),
                plants: vec![],
                month,
            };
        }
        let thousands = month.jobs / 1000;
        let mut plants = vec![];
        let mut add = |plant: Plant, count: u64| plants.extend((0..count).map(|_| plant));
        Fault::ALL
            .into_iter()
            .for_each(|fault| add(Plant::Fault(fault), 1 + thousands));
        add(Plant::Damaged, 3 + thousands / 2);
        add(Plant::Partial, 3 + thousands);
        // On Cori 0.08 % of the jobs.
        let custom = if month.realistic { 8 } else { 15 };
        add(Plant::CustomStriping, 1 + month.jobs * custom / 10_000);
        add(Plant::Duplicate, 1);
        // A month of very few jobs has room for some only.
        Random::new(month.seed, u64::MAX).shuffle(&mut plants);
        plants.truncate(month.jobs as usize);
        Self {
            month,
            plants,
            cases: vec![],
        }
    }

    /// What is special about job `index`: the plants are spread evenly over the month.
    pub(crate) fn plant(&self, index: u64) -> Option<Plant> {
        let count = self.plants.len() as u128;
        let place = |plant: u128| (2 * plant + 1) * u128::from(self.month.jobs) / (2 * count);
        let near = u128::from(index) * count / u128::from(self.month.jobs.max(1));
        let candidates = near.saturating_sub(1)..=near + 1;
        let plant = candidates
            .filter(|at| *at < count)
            .find(|at| place(*at) == u128::from(index))?;
        self.plants.get(plant as usize).copied()
    }

    /// What job `index` is.
    pub(crate) fn job(&self, index: u64) -> Job {
        match self.month.kind {
            Kind::Usual => {}
            Kind::Causes | Kind::Clean => return case::job(self, index),
            Kind::SlowOst => return slow_ost::job(self, index),
        }
        let Month {
            seed,
            jobs,
            start,
            days,
            ..
        } = self.month;
        let random = &mut Random::new(seed, index);
        let plant = self.plant(index);
        let (block, slot) = (index / BLOCK, shuffled(seed, index / BLOCK, index % BLOCK));
        let (mut app, mut place) = app_at(slot);
        match plant {
            Some(Plant::Fault(fault)) => (app, place) = (fault.app(), 0),
            // The first jobs of the first program are collective and of medium size.
            Some(Plant::CustomStriping) => (app, place) = (&APPS[0], slot % 14),
            _ => {}
        }
        // Ratios and shares are dealt to an app's jobs in other orders than sizes and interfaces; 53 and 59 divide no
        // count.
        let (class, interface) = dealt(
            app.jobs
                .iter()
                .map(|(class, io, count)| ((*class, *io), *count)),
            place,
        );
        let count = app.count();
        let ratios = [
            Ratio::WriteOnly,
            Ratio::Mixed,
            Ratio::MostlyRead,
            Ratio::ReadOnly,
        ];
        let mut ratio = dealt(
            ratios.into_iter().zip(app.ratios),
            (place * 53 + block * 3) % count,
        );
        let band = dealt(
            (0..3).zip(app.consecutive),
            (place * 59 + block * 5) % count,
        );
        if plant == Some(Plant::CustomStriping) {
            ratio = Ratio::Mixed;
        }

        let quantile =
            ((block * count + place) as f64 * GOLDEN + unit(seed, app.bytes.1 as u64)).fract();
        let bytes = app.bytes.0 * (app.bytes.1 / app.bytes.0).powf(quantile.powf(1.3));
        let read_share = match ratio {
            Ratio::WriteOnly => 0.0,
            Ratio::Mixed => random.float(0.04, 0.88),
            Ratio::MostlyRead => random.float(0.905, 0.999),
            Ratio::ReadOnly => 1.0,
        };
        let read = (bytes * read_share) as i64;
        let consecutive = match band {
            0 => random.float(0.02, 0.47),
            1 => random.float(0.53, 0.79),
            _ => random.float(0.82, 0.985),
        };
        let nprocs = match plant {
            Some(Plant::Fault(fault)) => fault.nprocs(index),
            _ => processes(class, random),
        };
        let other = mix(random.bits()) % OTHERS;
        let program = if app.name.is_empty() {
            other_name(other)
        } else {
            app.name.to_string()
        };
        // A program has few users, and a user several programs.
        let user =
            mix(seed ^ mix(program.bytes().map(u64::from).sum::<u64>() * 31 + random.below(4)))
                % USERS;
        let several = match (app.forks, nprocs) {
            (true, _) if random.chance(0.25) => 2 + (random.unit().powi(2) * 11.0) as u64,
            (false, 2..) if random.chance(0.02) => 2 + random.below(4),
            _ => 1,
        };
        let logs = if plant.is_some() { 1 } else { several };
        let outside = nprocs == 1 && plant.is_none() && random.chance(0.008);
        let library = dealt_share(random.unit());
        Job {
            index,
            plant,
            app,
            program,
            interface,
            nprocs,
            read,
            written: bytes as i64 - read,
            consecutive,
            request: random.magnitude(app.requests.0, app.requests.1) as i64 & !63,
            // Ids rise with time and have holes, for not every job leaves a log; without Slurm it is a process id.
            job_id: if outside {
                random.int(2_000, 4_000_000)
            } else {
                FIRST_ID + index as i64 * 3 + random.int(0, 3)
            },
            user: user_name(user),
            uid: 20_000 + user as i64 * 7,
            start: start as f64
                + office_hours((index as f64 + random.unit()) / jobs.max(1) as f64, days),
            logs,
            library,
        }
    }
}

/// People who run jobs.
pub(crate) const USERS: u64 = 70;

/// Name of a user.
pub(crate) fn user_name(user: u64) -> String {
    const NAMES: [&str; 35] = [
        "abela", "bakker", "chen", "dietz", "eriksen", "fuchs", "garcia", "hansen", "ivanov",
        "jansen", "kim", "lopez", "meyer", "nowak", "okoye", "patel", "quinn", "rossi", "sato",
        "tran", "ueda", "virtanen", "weber", "xu", "yilmaz", "zhou", "aydin", "bose", "costa",
        "dubois", "ekman", "farid", "greco", "horvat", "iyer",
    ];
    let suffix = if user >= 35 { "2" } else { "" };
    format!("{}{suffix}", NAMES[(user % 35) as usize])
}

/// The part of a list of (value, count) in which the `place`-th item lies.
fn dealt<T>(parts: impl IntoIterator<Item = (T, u64)>, mut place: u64) -> T {
    let mut last = None;
    for (value, count) in parts {
        last = Some(value);
        if place < count {
            break;
        }
        place -= count;
    }
    last.expect("the list is not empty")
}

/// The program of a slot of a block, and which of its jobs that is.
fn app_at(slot: u64) -> (&'static App, u64) {
    let mut before = 0;
    for app in APPS {
        if slot < before + app.count() {
            return (app, slot - before);
        }
        before += app.count();
    }
    (&APPS[0], 0)
}

pub(crate) fn dealt_share(mut unit: f64) -> Library {
    for library in LIBRARIES {
        if unit < library.share {
            return library;
        }
        unit -= library.share;
    }
    LIBRARIES[0]
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

fn unit(seed: u64, stream: u64) -> f64 {
    Random::new(seed, stream).unit()
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
pub(crate) fn office_hours(part: f64, days: i64) -> f64 {
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
    fn every_plant_has_one_job_and_no_job_two() {
        for jobs in [1, 7, 40, 1000, 2000, 54_321] {
            let plan = Plan::new(Month::new(jobs, 3));
            let planted = (0..jobs)
                .filter(|index| plan.plant(*index).is_some())
                .count();
            assert_eq!(planted, plan.plants.len(), "{jobs} jobs");
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
