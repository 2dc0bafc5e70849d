//! Which logs an export takes: those for which a condition over `darshan_log` holds, or all logs of their jobs.

use super::pseudonym::{Key, fall_together};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::table::Domain;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, SetExpr, Statement as Sql};
use std::collections::{HashMap, HashSet};

/// What is taken with a log for which the condition holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// The log.
    #[default]
    Log,
    /// All logs of its job.
    Job,
}

/// A log that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) job: i64,
    /// Size in bytes: about what its rows take.
    pub(super) bytes: u64,
    /// Rows of `darshan_file`.
    pub(super) files: u64,
    /// Microseconds since 1970.
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
}

/// The logs that are taken, by id.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) logs: HashMap<i64, Log>,
    /// Their jobs, ascending.
    pub(super) jobs: Vec<i64>,
    /// Components of heterogeneous jobs, each with the job of its leader, whose id Darshan stores.
    components: Vec<(i64, i64)>,
    /// Size of all logs of the lake.
    pub(super) bytes_of_all: u64,
    /// The part of the engine's memory that this list takes.
    memory: Option<MemoryReservation>,
}

impl Chosen {
    /// Asks for the logs.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the condition is not one; those of the lake.
    pub(super) async fn ask(
        engine: &Engine,
        condition: Option<&str>,
        grain: Grain,
    ) -> Result<Self> {
        if let Some(condition) = condition {
            check(engine, condition)?;
        }
        let holds = condition.map_or("true".into(), |condition| format!("({condition}\n)"));
        let holds = match grain {
            Grain::Log => holds,
            Grain::Job => format!("job_id IN (SELECT job_id FROM darshan_log WHERE {holds})"),
        };
        let columns = "job_id, log_id, log_bytes, files, start_time, coalesce(end_time, start_time) AS end_time";
        let asked = format!("SELECT {columns} FROM darshan_log WHERE {holds}");
        let rows = engine.run_in_zone(&asked).await;
        let mut rows = rows.map_err(|e| match (condition, e) {
            (Some(_), e @ (Error::Invalid(_) | Error::Unknown { .. })) => {
                Error::Invalid(format!("--where: {e}"))
            }
            (_, e) => e,
        })?;
        let mut chosen = Self::default();
        while let Some(batch) = rows.next().await? {
            let int = |at: usize| batch.column(at).as_primitive::<Int64Type>();
            let time = |at: usize, row: usize| {
                let times = batch.column(at).as_primitive::<TimestampMicrosecondType>();
                times.is_valid(row).then(|| times.value(row))
            };
            for row in 0..batch.num_rows() {
                let log = Log {
                    job: int(0).value(row),
                    bytes: int(2).value(row).max(0) as u64,
                    files: int(3).value(row).max(0) as u64,
                    start: time(4, row),
                    end: time(5, row),
                };
                chosen.logs.insert(int(1).value(row), log);
            }
        }
        let mut rows = engine.run("SELECT sum(log_bytes) FROM darshan_log").await?;
        if let Some(batch) = rows.next().await? {
            let sum = batch.column(0).as_primitive::<Int64Type>();
            chosen.bytes_of_all = sum.iter().flatten().next().unwrap_or(0).max(0) as u64;
        }
        let leaders =
            "SELECT DISTINCT job_id, het_job_id FROM slurm_job WHERE het_job_id <> job_id";
        let mut rows = engine.run(leaders).await?;
        while let Some(batch) = rows.next().await? {
            let int = |at: usize| batch.column(at).as_primitive::<Int64Type>().values();
            let pairs = int(0).iter().zip(int(1));
            chosen
                .components
                .extend(pairs.map(|(job, leader)| (*job, *leader)));
        }
        chosen.set_jobs();
        chosen.reserve(engine);
        Ok(chosen)
    }

    /// Leaves out the logs of some jobs.
    pub(super) fn without_jobs(&mut self, jobs: &HashSet<i64>) {
        self.logs.retain(|_, log| !jobs.contains(&log.job));
        self.set_jobs();
    }

    fn set_jobs(&mut self) {
        self.jobs = self.logs.values().map(|log| log.job).collect();
        self.jobs.sort_unstable();
        self.jobs.dedup();
    }

    /// The jobs whose Slurm records belong to the logs, ascending: their own, and the other components of heterogeneous ones.
    pub(super) fn slurm_jobs(&self) -> Vec<i64> {
        let is_chosen = |leader: &i64| self.jobs.binary_search(leader).is_ok();
        let components = self
            .components
            .iter()
            .filter(|(_, leader)| is_chosen(leader));
        let mut jobs: Vec<i64> = components.map(|(job, _)| *job).collect();
        jobs.extend(&self.jobs);
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// Takes the memory of this list from that of the engine, whose sorts get what it leaves. Where it leaves nothing, they keep all of it.
    fn reserve(&mut self, engine: &Engine) {
        let of_log = size_of::<(i64, Log)>() + 1;
        let bytes = self.logs.capacity() * of_log + self.jobs.capacity() * size_of::<i64>();
        let pool = engine.context().runtime_env().memory_pool.clone();
        let memory = MemoryConsumer::new("the chosen logs").register(&pool);
        self.memory = memory.try_grow(bytes).is_ok().then_some(memory);
    }

    /// Size of the logs.
    pub(super) fn bytes(&self) -> u64 {
        self.logs.values().map(|log| log.bytes).sum()
    }

    /// Each job, as the export names it, and the size of its logs.
    ///
    /// # Errors
    /// [`Error::Invalid`] if two jobs or logs have one pseudonym.
    pub(super) fn weights(&self, key: Option<&Key>) -> Result<Vec<(i64, u64)>> {
        let Some(key) = key else {
            return Ok(self.logs.values().map(|log| (log.job, log.bytes)).collect());
        };
        let logs: HashSet<i64> = self.logs.keys().map(|log| key.log(*log)).collect();
        if logs.len() != self.logs.len() {
            return Err(fall_together(Domain::Log));
        }
        let number = |job: &i64| (*job, key.number(Domain::Job, *job));
        let jobs: HashMap<i64, i64> = self.jobs.iter().map(number).collect();
        let made: HashSet<&i64> = jobs.values().collect();
        if made.len() != jobs.len() {
            return Err(fall_together(Domain::Job));
        }
        let logs = self.logs.values();
        Ok(logs
            .filter_map(|log| Some((*jobs.get(&log.job)?, log.bytes)))
            .collect())
    }
}

/// Whether a text is one condition, and nothing that ends it and begins another clause.
fn check(engine: &Engine, condition: &str) -> Result<()> {
    let sql = format!("SELECT log_id FROM darshan_log WHERE ({condition}\n)");
    let bad = |e: &dyn std::fmt::Display| Error::Invalid(format!("--where: {e}"));
    if condition.trim().is_empty() {
        return Err(bad(&"it is empty; leave it out for all logs"));
    }
    let questions = engine.parse(&sql).map_err(|e| bad(&e))?;
    let is_one = match questions.as_slice() {
        [question] => match &question.statement {
            Statement::Statement(statement) => match statement.as_ref() {
                Sql::Query(query) => {
                    let is_plain = query.order_by.is_none() && query.limit_clause.is_none();
                    let select = match query.body.as_ref() {
                        SetExpr::Select(select) => Some(select),
                        _ => None,
                    };
                    let selection = select.and_then(|select| select.selection.as_ref());
                    is_plain && matches!(selection, Some(Expr::Nested(_)))
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    };
    match is_one {
        true => Ok(()),
        false => Err(bad(&format_args!(
            "`{condition}` is not one condition over darshan_log"
        ))),
    }
}
