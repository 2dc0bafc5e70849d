//! What else moved bytes on the OSTs of a job.

use super::facts::Job;
use crate::answer::amount::{counted, share, significant, size};
use crate::answer::answer::{Block, SHOWN};

/// What LMT saw on them, other jobs that moved bytes there meanwhile, and those that are slow for everyone.
pub(super) fn block(job: &Job) -> Block {
    let mut lines = vec![];
    if job.interference.is_empty() {
        lines.push("LMT has no samples of its OSTs in its windows".into());
    }
    for found in &job.interference {
        lines.push(format!(
            "LMT, {} on {}: its {} moved {} in its windows: {} its own, {} other logs of the job, {} other jobs, {} unexplained; others {} of all; LMT samples for {} of its bytes",
            found.direction,
            found.fs,
            counted(found.osts, "OST", "OSTs"),
            size(found.seen.max(0) as u64),
            signed(found.own),
            signed(found.same_job),
            signed(found.other_known),
            signed(found.unexplained),
            found.others_share.map_or("-".into(), share),
            found.coverage.map_or("-".into(), share),
        ));
    }
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
            signed(neighbour.neighbour_bytes),
            counted(neighbour.osts, "OST", "OSTs"),
            neighbour.fs,
            share(neighbour.share)
        ));
    }
    if job.neighbours.len() > SHOWN {
        let more = (job.neighbours.len() - SHOWN) as i64;
        lines.push(format!("and {}", counted(more, "more job", "more jobs")));
    }
    for slow in job.slow_osts.iter().take(SHOWN) {
        lines.push(format!(
            "OST {} of {} is slow this month ({}): {} times slower than the other OSTs, by {}; the job's files on it account for {} of the critical time",
            slow.ost,
            slow.fs,
            slow.direction,
            significant(slow.slowdown),
            counted(slow.files, "file", "files"),
            share(slow.share)
        ));
    }
    Block::text("Others on its OSTs", lines)
}

/// Bytes that may be below 0.
fn signed(bytes: f64) -> String {
    match bytes < -0.5 {
        true => format!("-{}", size(-bytes.round() as u64)),
        false => size(bytes.max(0.0).round() as u64),
    }
}
