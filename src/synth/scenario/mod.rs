//! What the jobs of a month are: the usual ones, and those in which something is planted.
//!
//! ```text
//! in:   Month          out:  Job, with its Scenario, and the Workload of each of its logs
//!
//! job, cause, repeats  the data
//! plan                 which job has which scenario; the usual jobs, dealt out of `workload/apps.toml`
//! fault                causes of slow I/O in the usual month           neighbour, unscheduled   jobs on top of the month's
//! case                 months of causes, decoys and healthy jobs: access_pattern and habit (planted part), healthy (the rest)
//! slow_ost             the month of a slow OST                         periods      the month of checkpoints and decoys
//! ```

pub(crate) mod access_pattern;
pub(crate) mod case;
pub(crate) mod cause;
pub(crate) mod fault;
pub(crate) mod habit;
pub(crate) mod healthy;
pub(crate) mod job;
pub(crate) mod neighbour;
pub(crate) mod periods;
pub(crate) mod plan;
pub(crate) mod repeats;
pub(crate) mod slow_ost;
pub(crate) mod unscheduled;

use super::month::{Kind, Month};
use super::workload::app::Interface;
use super::workload::{Workload, realistic, shape};
use crate::math::random::{Random, mix};
use job::{Job, Scenario};
use plan::Plan;

/// Jobs of a month and those that come on top: what is planted for Slurm and LMT changes nothing else.
pub(crate) fn count(month: &Month) -> u64 {
    match month.kind {
        Kind::Usual => month.jobs + neighbour::count(month) + unscheduled::count(month),
        _ => month.jobs,
    }
}

/// Job `index`: one of the month's, or one of those that come on top.
pub(crate) fn job(plan: &Plan, index: u64) -> Job {
    let neighbours = neighbour::count(&plan.month);
    match (plan.month.kind, index.checked_sub(plan.month.jobs)) {
        (Kind::Causes | Kind::Clean, _) => case::job(plan, index),
        (Kind::SlowOst, _) => slow_ost::job(plan, index),
        (Kind::Periods, _) => periods::job(plan, index),
        (Kind::Usual, None) => plan.job(index),
        (_, Some(number)) if number < neighbours => neighbour::job(plan, number),
        (_, Some(number)) => unscheduled::job(plan, number - neighbours, index),
    }
}

/// The I/O of log `number` of a job, and the generator for what else the log has.
pub(crate) fn workload(plan: &Plan, job: &Job, number: u64) -> (Workload, Random) {
    match job.scenario {
        Some(Scenario::Case(case)) => case::workload(plan, job, &case),
        Some(Scenario::SlowOst(role)) => slow_ost::workload(plan, job, role),
        Some(Scenario::Periods(case)) => periods::workload(plan, job, case),
        Some(Scenario::Neighbour) => neighbour::workload(plan, job, job.index - plan.month.jobs),
        _ => usual(&plan.month, job, number),
    }
}

/// The same for a job of the usual month.
fn usual(month: &Month, job: &Job, number: u64) -> (Workload, Random) {
    let mut random = Random::new(mix(month.seed).wrapping_add(number), job.index);
    let mut workload = Workload::new(job, month.seed, Random::new(random.bits(), 0));
    let ordinary = job.scenario.is_none();
    workload.realistic = month.realistic;
    workload.alike = month.realistic && ordinary && random.chance(realistic::ALIKE);
    if job.scenario == Some(Scenario::CustomStriping) {
        let (mebibytes, count) = *random.pick(&[(4, 64), (16, 24), (1, 248), (32, 96), (8, 8)]);
        workload.stripe = (mebibytes << 20, count);
        workload.progressive = random.chance(0.4);
    }
    // Collective buffering has requests of one size, too many to trace.
    let traceable = job.interface == Interface::Posix && job.nprocs <= 16;
    if ordinary && traceable && random.chance(0.1) {
        workload.traced = Some((120 / job.nprocs).clamp(8, 60));
    }
    match job.scenario {
        Some(Scenario::Fault(cause)) => fault::phases(&mut workload, job, cause),
        _ => {
            let share = |bytes: i64| bytes / job.logs as i64;
            shape::phases(&mut workload, job, share(job.read), share(job.written));
        }
    }
    (workload, random)
}
