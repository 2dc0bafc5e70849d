//! What else moved bytes on the OSTs of a job.

use super::facts::Job;
use crate::answer::answer::{Block, SHOWN};
use crate::engine::rules::sentence::{Row, fill};
use crate::text::amount::{counted, share, size};

/// What LMT saw during the windows of a log.
const LMT: &str = "LMT, {direction} on {fs}: the {osts:osts} that it used moved {seen:size} in its windows: {own:size} its own, {same_job:size} other logs of the job, {other_known:size} other jobs, {unexplained:size} unexplained; others {others_share:share} of all; LMT samples for {coverage:share} of its bytes";

/// An OST that is slow for all jobs.
const SLOW: &str = "OST {ost} of {fs} is slow ({direction}): {slowdown:times} times slower than the other OSTs in the 15 days before and after, by {files_of_all_jobs:files}; the job's files on it account for {share:share} of the critical time";

/// What LMT saw on them, other jobs that moved bytes there meanwhile, and those that are slow for everyone.
pub(super) fn block(job: &Job) -> Block {
    let mut lines = vec![];
    let (slow, lmt): (Vec<&Row>, Vec<&Row>) =
        job.others.iter().partition(|row| row.contains_key("ost"));
    if !job.names_osts {
        let line = match job.logs.len() {
            1 => "the log does not name OSTs: others on them were not looked at",
            _ => "the logs do not name OSTs: others on them were not looked at",
        };
        return Block::text("Others on its OSTs", vec![line.into()]);
    }
    if lmt.is_empty() {
        lines.push("LMT has no samples of its OSTs in its windows".into());
    }
    lines.extend(lmt.into_iter().map(|row| fill(LMT, row)));
    if job.neighbours.is_empty() {
        lines.push("no other job in the lake moved bytes there at the same time".into());
    }
    for neighbour in job.neighbours.iter().take(SHOWN) {
        lines.push(format!(
            "job {} ({}, {}) moved {} on {} of {} at the same time, {} of the bytes of all other jobs there",
            neighbour.neighbour_job_id,
            neighbour
                .neighbour_app
                .as_deref()
                .unwrap_or("unknown program"),
            neighbour
                .neighbour_user
                .as_deref()
                .unwrap_or("unknown user"),
            size(neighbour.neighbour_bytes.max(0.0).round() as u64),
            counted(neighbour.osts, "OST", "OSTs"),
            neighbour.fs,
            share(neighbour.share)
        ));
    }
    if job.neighbours.len() > SHOWN {
        let more = (job.neighbours.len() - SHOWN) as i64;
        lines.push(format!("and {}", counted(more, "more job", "more jobs")));
    }
    lines.extend(slow.into_iter().take(SHOWN).map(|row| fill(SLOW, row)));
    Block::text("Others on its OSTs", lines)
}
