//! A Slurm record of a job whose times are those of its logs in another time zone.

use super::job::{Log, span};
use crate::answer::rows::rows;
use crate::engine::Engine;
use crate::error::Result;
use serde::Deserialize;

/// Zones differ from each other by whole quarters of an hour, of which most are whole hours; by up to 14 hours from UTC.
const STEPS: [i64; 2] = [3_600, 900];
const MOST: i64 = 14 * 3_600;

/// Logs may begin before, and end behind, their job, as view `job` has it.
const SLACK: i64 = 2;

/// Seconds by which the record of the job is earlier than its logs (later: below 0), if none of the logs has a record, and one would if it were
/// that much later. None if there is no such record.
///
/// # Errors
/// Those of the lake.
pub(super) async fn difference(engine: &Engine, job: i64, logs: &[Log]) -> Result<Option<i64>> {
    #[derive(Deserialize)]
    struct Record {
        uid: Option<i64>,
        start: i64,
        end: i64,
    }
    if logs.iter().any(|log| log.matched != "none") {
        return Ok(None);
    }
    let Some((first, last)) = span(logs) else {
        return Ok(None);
    };
    let sql = format!(
        "SELECT uid, CAST(start_time AS BIGINT) / 1000000 AS start, CAST(end_time AS BIGINT) / 1000000 AS \"end\" FROM slurm_job \
         WHERE job_id = {job} AND start_time IS NOT NULL AND end_time IS NOT NULL"
    );
    let records: Vec<Record> = rows(engine, &sql).await?;
    let is_of_user = |record: &&Record| {
        let uids = logs.iter().filter_map(|log| log.uid);
        record
            .uid
            .is_none_or(|uid| uids.clone().all(|of_log| of_log == uid))
    };
    let records = records.iter().filter(is_of_user);
    let differences = records.filter_map(|record| {
        shift(
            (record.start, record.end),
            (first.timestamp(), last.timestamp()),
        )
    });
    Ok(differences.min_by_key(|shift| shift.abs()))
}

/// The steps by which a record is to be moved for a log to begin as soon as possible behind its start, and end before its end.
fn shift((start, end): (i64, i64), (first, last): (i64, i64)) -> Option<i64> {
    STEPS.into_iter().find_map(|step| {
        let shift = (first + SLACK - start).div_euclid(step) * step;
        let holds = last <= end + shift + SLACK;
        (holds && shift != 0 && shift.abs() <= MOST).then_some(shift)
    })
}

#[cfg(test)]
mod tests {
    use super::shift;

    #[test]
    fn a_record_of_another_zone_is_moved_by_hours_or_quarters() {
        let (hour, minute) = (3_600, 60);
        let record = (1_000_000, 1_000_000 + 20 * minute);
        let log = |from: i64, to: i64| shift(record, (record.0 + from, record.0 + to));
        // Berlin in summer, taken for UTC: the record is two hours late.
        assert_eq!(log(-2 * hour + 5, -2 * hour + 19 * minute), Some(-2 * hour));
        assert_eq!(
            log(7 * hour - 2, 7 * hour + 20 * minute + 2),
            Some(7 * hour)
        );
        // Nepal.
        let nepal = 5 * hour + 45 * minute;
        assert_eq!(log(nepal + 1, nepal + 18 * minute), Some(nepal));
        // It fits as it is, lasts longer than the job, or is of another day.
        assert_eq!(log(5, 9 * minute), None);
        assert_eq!(log(-2 * hour, -2 * hour + 21 * minute), None);
        assert_eq!(log(20 * hour, 20 * hour + minute), None);
    }
}
