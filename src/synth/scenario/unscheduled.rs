//! Runs outside Slurm: Darshan records the process id as the job id.
//!
//! A month has such logs anyway, but so few that a small one may have none. Like neighbours these come on top of the jobs.

use super::job::{Job, Release, USERS};
use super::plan::Plan;
use crate::math::random::Random;
use crate::synth::month::Month;
use crate::synth::workload::app::App;

/// Their number. A month without accounting has none, for they could not be told from others.
pub(crate) fn count(month: &Month) -> u64 {
    match month.slurm && month.jobs >= 100 {
        true => 3 + month.jobs / 1000,
        false => 0,
    }
}

/// Run `number`: a look at results on a login node.
pub(crate) fn job(plan: &Plan, number: u64, index: u64) -> Job {
    let month = plan.month;
    let random = &mut Random::new(month.seed ^ 0x0d5, number);
    let user = random.below(USERS);
    let part = (number as f64 + random.float(0.1, 0.9)) / count(&month) as f64;
    Job {
        read: random.magnitude(1e8, 2e10) as i64,
        written: random.magnitude(1e5, 1e8) as i64,
        request: 1 << 20,
        job_id: random.int(2_000, 400_000),
        start: month.start as f64 + part * (month.days * 86_400 - 7_200) as f64,
        release: Release::at(random.unit()),
        ..Job::new(index, App::named("post_hist.py"), 1, user)
    }
}
