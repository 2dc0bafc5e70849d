//! Lakes asked in SQL, in every setting.

mod bounds;
mod data_files;
mod distinct;
mod joins;
mod lakes;
mod memory;
mod names;
mod plans;
mod runs;
mod semi_joins;
mod stored_runs;
mod upstream;

use super::{Engine, EngineOptions};
use crate::lake::{CreateOptions, IngestOptions, Lake, Silent};
use crate::synth::Month;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub(super) use super::functions::tests::rows;

/// A lake of synthetic logs of `jobs` jobs, taken in in so many steps.
pub(super) fn lake(directory: &Path, jobs: u64, steps: u64, range_bytes: u64) -> Lake {
    let options = CreateOptions {
        range_bytes,
        ..CreateOptions::default()
    };
    let lake = Lake::create(directory.join("lake"), &options).unwrap();
    let month = Month::new(jobs, 7);
    for step in 0..steps {
        let logs = directory.join(format!("logs{step}"));
        // Each step has jobs of all ids, so that it reaches into every range.
        for log in (0..jobs)
            .filter(|job| job % steps == step)
            .flat_map(|job| month.logs(job))
        {
            let path = logs.join(&log.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, log.log.to_bytes()).unwrap();
        }
        let options = IngestOptions {
            paths: vec![logs.into()],
            threads: 2,
            ..IngestOptions::default()
        };
        lake.ingest(&options, &Silent).unwrap();
    }
    lake
}

pub(super) fn engine(lake: &Lake, threads: usize) -> Engine {
    let lakes = vec![("month".to_string(), Arc::new(lake.clone()), None)];
    Engine::new(EngineOptions {
        lakes,
        threads: Some(threads),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    })
    .unwrap()
}

/// A session of DataFusion alone, with NULLs last as ours have them.
pub(super) fn plain(threads: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(threads);
    SessionContext::new_with_config(
        config.set_str("datafusion.sql_parser.default_null_ordering", "nulls_last"),
    )
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub(super) async fn batches(engine: &Engine, sql: &str) -> Result<Vec<RecordBatch>, String> {
    let rows = engine.run(sql).await.map_err(|e| e.to_string())?;
    rows.collect().await.map_err(|e| e.to_string())
}

/// The rows of an answer, in their order.
pub(super) async fn ask(engine: &Engine, sql: &str) -> Vec<String> {
    rows(
        &batches(engine, sql)
            .await
            .unwrap_or_else(|e| panic!("{sql}: {e}")),
    )
}

/// The physical plan, one operator a line.
pub(super) async fn plan(engine: &Engine, sql: &str) -> String {
    let rows = ask(engine, &format!("EXPLAIN FORMAT INDENT {sql}")).await;
    rows.into_iter()
        .find(|row| row.starts_with("physical_plan"))
        .unwrap()
}
