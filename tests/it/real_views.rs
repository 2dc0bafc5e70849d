//! Views over real logs, against figures of other tools.

use crate::support::shared_data;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use iolode::engine::{Engine, EngineOptions, runtime};
use iolode::lake::{IngestOptions, Lake, Silent};
use std::sync::Arc;

crate::tests! {
    [Data] => {
        file_categories_are_those_that_darshan_parser_prints,
        the_five_logs_of_a_real_job_are_one_job_and_a_process_id_is_another,
    }
}

/// A session on a lake in memory of a folder of real logs.
struct Session {
    engine: Engine,
    runtime: tokio::runtime::Runtime,
}

fn session(folder: &str) -> Session {
    let lake = Lake::in_memory().unwrap();
    let options = IngestOptions {
        paths: vec![shared_data().join(folder).into()],
        threads: 2,
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    let engine = Engine::new(EngineOptions {
        lakes: vec![("month".to_string(), Arc::new(lake), None)],
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    });
    Session {
        engine: engine.unwrap(),
        runtime: runtime(Some(2)).unwrap(),
    }
}

/// The rows of an answer, cells separated by ` | `.
fn ask(session: &Session, sql: &str) -> Vec<String> {
    let run = async { session.engine.run(sql).await.unwrap().collect().await };
    let batches = session.runtime.block_on(run).unwrap();
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = vec![];
    for batch in &batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> = columns
            .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
            .collect();
        rows.extend((0..batch.num_rows()).map(|at| {
            let cells = columns.iter().map(|c| c.value(at).to_string());
            cells.collect::<Vec<_>>().join(" | ")
        }));
    }
    rows
}

/// Golden values: `darshan-parser --file` of darshan-util 3.5.0. Its line `shared` is the sum of
/// ours and `part_shared`, and the greatest offset it prints there the sum of two: 52,938,398,983 + 24,293,491,975.
fn file_categories_are_those_that_darshan_parser_prints() {
    let session = session("darshan");
    let sql = |log: &str| {
        format!(
            "SELECT c.category, c.files, c.max_byte_max FROM darshan_file_category c JOIN darshan_log l ON c.job_id = l.job_id AND c.log_id = l.log_id
             WHERE module = 'POSIX' AND log_path LIKE '%/{log}.darshan' ORDER BY category"
        )
    };
    let expected = [
        "part_shared | 2 | 24293491975",
        "read_only | 12 | 575999999",
        "read_write | 1 | 52938398983",
        "shared | 1 | 52938398983",
        "total | 1026 | 52938398983",
        "unique | 1023 | 575999999",
        "write_only | 2 | 24293491975",
    ];
    assert_eq!(ask(&session, &sql("imbalanced-io")), expected);
    let expected = [
        "total | 2048 | 268435455",
        "unique | 2048 | 268435455",
        "write_only | 2048 | 268435455",
    ];
    assert_eq!(ask(&session, &sql("sample-badost")), expected);
    let total = "SELECT sum(c.bytes_read + c.bytes_written) FROM darshan_file_category c JOIN darshan_log l USING (job_id, log_id)
            WHERE module = 'POSIX' AND category = 'total' AND log_path LIKE '%/imbalanced-io.darshan'";
    assert_eq!(ask(&session, total), ["106730099902"]);
}

/// SEMANTICS.md 2: job 44 of linked/ has five logs, the first two of them side by side; id2351 is a process outside Slurm.
fn the_five_logs_of_a_real_job_are_one_job_and_a_process_id_is_another() {
    let session = session("linked");
    let jobs = ask(
        &session,
        "SELECT job_id, uid, logs, nprocs_max, nprocs_sum, apps FROM darshan_job WHERE job_id IN (44, 2351) ORDER BY job_id",
    );
    assert_eq!(
        jobs,
        [
            "44 | 1001 | 5 | 1 | 5 | [cat, cp, dd]",
            "2351 | 1001 | 1 | 1 | 1 | [dd]"
        ]
    );
}
