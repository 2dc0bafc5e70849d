//! Views over real logs, against figures of other tools.

use super::{ask, block_on, engine};
use crate::lake::{IngestOptions, Lake, Silent};

/// A lake in memory of a folder of real logs; None, said aloud, where it is absent.
fn shared(folder: &str) -> Option<Lake> {
    let logs = crate::source::tests::shared(folder)?;
    let lake = Lake::in_memory().unwrap();
    lake.ingest(
        &IngestOptions {
            paths: vec![logs.into()],
            threads: 2,
            ..IngestOptions::default()
        },
        &Silent,
    )
    .unwrap();
    Some(lake)
}

/// The golden values of darshan-peers.md E: `darshan-parser --file` of darshan-util 3.5.0. Its line `shared` is the sum of
/// ours and `part_shared`, and the greatest offset it prints there the sum of two: 52,938,398,983 + 24,293,491,975.
#[test]
fn file_categories_are_those_that_darshan_parser_prints() {
    let Some(lake) = shared("darshan") else {
        return;
    };
    let sql = |log: &str| {
        format!(
            "SELECT c.category, c.files, c.max_byte_max FROM darshan_file_category c JOIN darshan_log l ON c.job_id = l.job_id AND c.log_id = l.log_id
             WHERE module = 'POSIX' AND log_path LIKE '%/{log}.darshan' ORDER BY category"
        )
    };
    block_on(async {
        let engine = engine(&lake, 2);
        let expected = [
            "part_shared | 2 | 24293491975",
            "read_only | 12 | 575999999",
            "read_write | 1 | 52938398983",
            "shared | 1 | 52938398983",
            "total | 1026 | 52938398983",
            "unique | 1023 | 575999999",
            "write_only | 2 | 24293491975",
        ];
        assert_eq!(ask(&engine, &sql("imbalanced-io")).await, expected);
        let expected = [
            "total | 2048 | 268435455",
            "unique | 2048 | 268435455",
            "write_only | 2048 | 268435455",
        ];
        assert_eq!(ask(&engine, &sql("sample-badost")).await, expected);
        let total = "SELECT sum(c.bytes_read + c.bytes_written) FROM darshan_file_category c JOIN darshan_log l USING (job_id, log_id)
            WHERE module = 'POSIX' AND category = 'total' AND log_path LIKE '%/imbalanced-io.darshan'";
        assert_eq!(ask(&engine, total).await, ["106730099902"]);
    });
}

/// SEMANTICS.md 2: job 44 of linked/ has five logs, the first two of them side by side; id2351 is a process outside Slurm.
#[test]
fn the_five_logs_of_a_real_job_are_one_job_and_a_process_id_is_another() {
    let Some(lake) = shared("linked") else { return };
    block_on(async {
        let engine = engine(&lake, 2);
        let jobs = ask(&engine, "SELECT job_id, uid, logs, nprocs_max, nprocs_sum, apps FROM darshan_job WHERE job_id IN (44, 2351) ORDER BY job_id").await;
        assert_eq!(
            jobs,
            [
                "44 | 1001 | 5 | 1 | 5 | [cat, cp, dd]",
                "2351 | 1001 | 1 | 1 | 1 | [dd]"
            ]
        );
    });
}
