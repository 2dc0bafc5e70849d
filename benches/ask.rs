//! A process that answers questions about one lake as often as it is asked, and says what each took: start and opening are no
//! part of that.
//!
//! One JSON object a line comes in on stdin, one goes out for each:
//!
//! ```text
//! {"sql": "select ..", "rows_to": "FILE"}     its rows held in memory; afterwards written as an Arrow file, if that is wanted
//! {"columns": ["darshan_log=app,uid"]}        these columns of these tables read and decoded, and dropped; with the bytes that they
//!                                             take in the files
//! ```
//! Out: `{"rows": N, "cpu_s": S, "wall_s": S, "plan_s": S, "peak_mib": M}`, where `plan_s` are the CPU seconds until the first
//! rows are asked for, and `peak_mib` is the most that the process ever held; or `{"error": ".."}`.

use cpu_time::ProcessTime;
use datafusion::arrow::ipc::writer::FileWriter;
use iolode::engine::{Engine, EngineOptions, runtime};
use iolode::lake::Lake;
use iolode::{Error, Result};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Answers until stdin ends; how many questions there were.
pub(crate) fn ask(root: &Path, threads: usize, memory: Option<usize>) -> Result<usize> {
    let lake = Arc::new(Lake::open(root)?);
    let runtime = runtime(Some(threads))?;
    let engine = Engine::new(EngineOptions {
        lakes: vec![("lake".into(), lake.clone(), None)],
        memory,
        threads: Some(threads),
    })?;
    let (mut out, mut questions) = (std::io::stdout().lock(), 0);
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Error::Invalid(format!("stdin: {e}")))?;
        let asked: Value =
            serde_json::from_str(&line).map_err(|e| Error::Invalid(format!("{line}: {e}")))?;
        let answer = match asked.get("columns").and_then(Value::as_array) {
            Some(columns) => floor(&lake, root, columns),
            None => runtime.block_on(answer(&engine, &asked)),
        };
        let answer = answer.unwrap_or_else(|e| json!({"error": e.to_string()}));
        let said = writeln!(out, "{answer}").and_then(|()| out.flush());
        said.map_err(|e| Error::Invalid(format!("stdout: {e}")))?;
        questions += 1;
    }
    Ok(questions)
}

async fn answer(engine: &Engine, asked: &Value) -> Result<Value> {
    let sql = asked.get("sql").and_then(Value::as_str).unwrap_or_default();
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let frame = engine.sql(sql).await?;
    let planned = cpu.elapsed();
    let rows = engine.run_frame(frame).await?;
    let schema = rows.schema();
    let batches = rows.collect().await?;
    let (cpu, wall) = (cpu.elapsed(), wall.elapsed());
    if let Some(file) = asked.get("rows_to").and_then(Value::as_str) {
        let bad = |e: &dyn std::fmt::Display| Error::Invalid(format!("{file}: {e}"));
        let to = std::fs::File::create(file).map_err(|e| bad(&e))?;
        let mut writer = FileWriter::try_new(to, &schema).map_err(|e| bad(&e))?;
        for batch in &batches {
            writer.write(batch).map_err(|e| bad(&e))?;
        }
        writer.finish().map_err(|e| bad(&e))?;
    }
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    Ok(json!({
        "rows": rows,
        "cpu_s": cpu.as_secs_f64(),
        "wall_s": wall.as_secs_f64(),
        "plan_s": planned.as_secs_f64(),
        "peak_mib": peak_mib(),
    }))
}

/// What no answer from these columns can cost less: they are read from the files of the newest version, batch by batch, on one
/// thread.
fn floor(lake: &Lake, root: &Path, columns: &[Value]) -> Result<Value> {
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let (mut rows, mut stored) = (0, 0);
    for table in columns.iter().filter_map(Value::as_str) {
        let Some((table, columns)) = table.split_once('=') else {
            return Err(Error::Invalid(format!("{table}: expected TABLE=COLUMN,..")));
        };
        let columns: Vec<&str> = columns.split(',').collect();
        let snapshot = lake.snapshot(None)?;
        for file in snapshot.files().iter().filter(|file| *file.table == *table) {
            let decoded = super::decode(&root.join(&*file.path), &columns)?;
            rows += decoded.rows;
            stored += decoded.stored;
        }
    }
    let (cpu, wall) = (cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
    Ok(
        json!({"rows": rows, "stored": stored, "cpu_s": cpu, "wall_s": wall, "plan_s": 0.0, "peak_mib": peak_mib()}),
    )
}

/// The most memory that this process ever held, as Linux tells it; 0 elsewhere.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}
