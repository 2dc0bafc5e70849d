//! A process that answers questions about lakes as often as it is asked, and says what each took: start and opening are no
//! part of that.
//!
//! One JSON object a line comes in, one goes out for each:
//!
//! ```text
//! {"sql": "select ..", "rows_to": "FILE"}     its rows held in memory; afterwards written as an Arrow file, if that is wanted
//! {"columns": ["darshan_log=app,uid"]}        these columns of these tables read and decoded, and dropped; with the bytes that they
//!                                             take in the files
//! ```
//! Out: `{"rows": N, "cpu_s": S, "wall_s": S, "plan_s": S, "peak_mib": M}`, where `plan_s` are the CPU seconds until the first
//! rows are asked for, and `peak_mib` is the most that the process ever held; or `{"error": ".."}`.
//!
//! A question in SQL may say more:
//!
//! ```text
//! "engine": {"lake": DIR, "threads": N, "memory": BYTES, "set": {"iolode.x": "off"}}
//!                                             who answers, instead of the engine that the process was started for: sessions are
//!                                             kept by what they are, the last few of them
//! "limit_s": S                                after so many seconds there is no answer: {"error": "..", "timeout": true}. The work
//!                                             may go on for a while: whoever measures starts another process
//! "own_peak": true                            `peak_mib` is the most that the process held from this question on
//! ```

use cpu_time::ProcessTime;
use datafusion::arrow::ipc::writer::FileWriter;
use iolode::engine::{Engine, EngineOptions, runtime};
use iolode::lake::Lake;
use iolode::{Error, Result};
use serde_json::{Value, json};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Sessions that are kept.
const SESSIONS: usize = 32;

/// What tells one session from another.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) lake: PathBuf,
    pub(crate) threads: usize,
    pub(crate) memory: Option<usize>,
    /// Options of the session, each with the value that `SET` gives it.
    pub(crate) set: BTreeMap<String, String>,
}

impl Session {
    /// The session that a question names.
    fn of(asked: &Value) -> Result<Self> {
        let number = |name: &str| asked[name].as_u64().and_then(|n| usize::try_from(n).ok());
        let lake = asked["lake"].as_str();
        let set = asked["set"].as_object().into_iter().flatten();
        Ok(Self {
            lake: lake
                .ok_or_else(|| Error::Invalid(format!("{asked}: no lake")))?
                .into(),
            threads: number("threads").unwrap_or(2),
            memory: number("memory"),
            set: set
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or("").to_string()))
                .collect(),
        })
    }
}

/// Answers until the questions end; how many there were. `columns` answers what asks for columns.
pub(crate) fn ask(
    first: Option<Session>,
    questions: impl BufRead,
    mut answers: impl Write,
    columns: impl Fn(&Path, &[Value]) -> Result<Value>,
) -> Result<usize> {
    let (mut sessions, mut count) = (Sessions::default(), 0);
    for line in questions.lines() {
        let line = line.map_err(|e| Error::Invalid(format!("questions: {e}")))?;
        let asked: Value =
            serde_json::from_str(&line).map_err(|e| Error::Invalid(format!("{line}: {e}")))?;
        let answer = sessions.answer(first.as_ref(), asked, &columns);
        let answer = answer.unwrap_or_else(|e| json!({"error": e.to_string()}));
        let said = writeln!(answers, "{answer}").and_then(|()| answers.flush());
        said.map_err(|e| Error::Invalid(format!("answers: {e}")))?;
        count += 1;
    }
    Ok(count)
}

/// Sessions by what they are, the last used at the end, and the threads that they run on by their number.
#[derive(Default)]
struct Sessions {
    runtimes: HashMap<usize, Runtime>,
    kept: Vec<(Session, Engine)>,
}

impl Sessions {
    fn answer(
        &mut self,
        first: Option<&Session>,
        asked: Value,
        columns: impl Fn(&Path, &[Value]) -> Result<Value>,
    ) -> Result<Value> {
        let session = match asked.get("engine") {
            Some(named) => Session::of(named)?,
            None => first
                .cloned()
                .ok_or_else(|| Error::Invalid("a question without an engine".into()))?,
        };
        if let Some(wanted) = asked.get("columns").and_then(Value::as_array) {
            return columns(&session.lake, wanted);
        }
        let engine = self.engine(&session)?;
        let runtime = &self.runtimes[&session.threads];
        if asked["own_peak"].as_bool() == Some(true) {
            forget_peak();
        }
        let limit = asked["limit_s"].as_f64().map(Duration::from_secs_f64);
        // In a task of its own: the stack is that of the engine's threads, and a busy plan does not stop the clock.
        let work = runtime.spawn(async move { answer(&engine, &asked).await });
        runtime.block_on(async {
            let stop = work.abort_handle();
            let done = match limit {
                Some(limit) => tokio::time::timeout(limit, work).await,
                None => Ok(work.await),
            };
            match done {
                Ok(Ok(answer)) => answer,
                Ok(Err(e)) => Err(Error::Invalid(format!("panic: {e}"))),
                Err(_) => {
                    stop.abort();
                    Ok(json!({"error": "no answer in time", "timeout": true}))
                }
            }
        })
    }

    /// The session of this description; made if it is not there.
    fn engine(&mut self, wanted: &Session) -> Result<Engine> {
        if let Some(at) = self.kept.iter().position(|(session, _)| session == wanted) {
            let kept = self.kept.remove(at);
            let engine = kept.1.clone();
            self.kept.push(kept);
            return Ok(engine);
        }
        if let Entry::Vacant(vacant) = self.runtimes.entry(wanted.threads) {
            vacant.insert(runtime(Some(wanted.threads))?);
        }
        let mut settings = vec![("iolode.fallback".to_string(), "error".to_string())];
        settings.extend(wanted.set.clone());
        let engine = Engine::new(EngineOptions {
            lakes: vec![("lake".into(), Arc::new(Lake::open(&wanted.lake)?), None)],
            memory: wanted.memory,
            threads: Some(wanted.threads),
            settings,
            ..EngineOptions::default()
        })?;
        if self.kept.len() == SESSIONS {
            self.kept.remove(0);
        }
        self.kept.push((wanted.clone(), engine.clone()));
        Ok(engine)
    }
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

/// The most memory that this process held since it began or [`forget_peak`], as Linux tells it; 0 elsewhere.
pub(crate) fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

/// Lets the peak begin anew at what the process holds now, where Linux can.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
