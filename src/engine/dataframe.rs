//! A lake from Rust: its tables and its questions as DataFrames, which the operators of the IOMiner paper are methods of.
//!
//! | the paper | here |
//! |---|---|
//! | `load(table)` | [`LakeSession::table`] |
//! | `project`, `filter`, `sort`, `join` | [`DataFrame::select`], [`DataFrame::filter`], [`DataFrame::sort`], [`DataFrame::join`] |
//! | `group(key, f)` | [`DataFrame::aggregate`], with any function of a group |
//! | `bin(field, f, column)` | [`DataFrame::with_column`] with [`call::bin`](super::functions::call::bin), or a user's function by [`LakeSession::call`] |
//! | `percentile(column)` | [`DataFrame::aggregate`] with [`call::percentiles`](super::functions::call::percentiles) |
//! | `extract_perf_factors(from, to, direction)` | [`LakeSession::perf_factors`] |

use super::queries::query;
use super::{Engine, EngineOptions, Rows, blocking};
use crate::error::{Error, Result};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::TableReference;
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::Expr;
use std::path::Path;
use std::sync::Arc;

/// The name of the lake in SQL.
const NAME: &str = "lake";

/// A lake that is asked.
///
/// Each function that gives a DataFrame sees the newest version of the lake at that time, and the DataFrame stays with it.
/// [`LakeSession::open_version`] sees the same for all. Its asynchronous functions want a tokio runtime, such as
/// [`runtime`](super::runtime) makes.
pub struct LakeSession {
    engine: Engine,
}

impl LakeSession {
    /// Opens the lake in a directory.
    ///
    /// # Errors
    /// As [`crate::lake::Lake::open`].
    pub async fn open(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref().to_path_buf();
        let lake = blocking(move || crate::lake::Lake::open(root)).await?;
        Self::new(lake, None)
    }

    /// The same at one version, whatever is committed afterwards.
    ///
    /// # Errors
    /// As [`crate::lake::Lake::snapshot`].
    pub async fn open_version(root: impl AsRef<Path>, version: u64) -> Result<Self> {
        let root = root.as_ref().to_path_buf();
        let lake = blocking(move || {
            let lake = crate::lake::Lake::open(root)?;
            lake.snapshot(Some(version)).map(|_| lake)
        });
        Self::new(lake.await?, Some(version))
    }

    /// A lake that is open already, such as one in memory; its newest version if none is given.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no place for spill files.
    pub fn new(lake: crate::lake::Lake, version: Option<u64>) -> Result<Self> {
        let options = EngineOptions {
            lakes: vec![(NAME.to_string(), Arc::new(lake), version)],
            ..EngineOptions::default()
        };
        Engine::new(options).map(Self::from)
    }

    /// What it is asked with: SQL with rows as they come, several lakes, a budget of memory.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A table or a view of the lake, with all its columns: `darshan_log`, `slurm_job`, `job`, ..
    ///
    /// # Errors
    /// [`Error::Invalid`] with the nearest name if there is no such table; those of the lake.
    pub async fn table(&self, name: &str) -> Result<DataFrame> {
        let name = TableReference::bare(name).to_quoted_string();
        self.sql(&format!("SELECT * FROM {name}")).await
    }

    /// The rows of a query in SQL; of other statements, such as `CREATE FUNCTION`, no rows, and they are done.
    ///
    /// # Errors
    /// As [`Engine::sql`].
    pub async fn sql(&self, sql: &str) -> Result<DataFrame> {
        self.engine.sql(sql).await
    }

    /// The answer to a question that has a name, with parameters as somebody types them: see [`super::queries`]. Times without an offset
    /// are in the zone of the lake.
    ///
    /// # Errors
    /// [`Error::Unknown`] or [`Error::Invalid`] for a question or a parameter that is not there, or lacks; those of the lake.
    pub async fn query(&self, name: &str, parameters: &[(&str, &str)]) -> Result<DataFrame> {
        let text = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let parameters: Vec<(String, String)> = parameters.iter().map(text).collect();
        let zone = self.engine.zone()?;
        let question = query(name)?.question(&parameters, zone)?;
        self.engine.plan(question.statement).await
    }

    /// The logs whose bandwidth lies in a band, with what may have made their I/O slow, and their critical files: the question
    /// `perf_factors`, whose other parameters [`LakeSession::query`] takes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a band that is none; those of the lake.
    ///
    /// # Source
    /// Wang et al. (2018), *IOMiner*, section II-D, equations 1 and 2, algorithm 2.
    pub async fn perf_factors(&self, of: PerfFactors) -> Result<DataFrame> {
        let (direction, grain) = (of.direction.name(), if of.by_job { "job" } else { "log" });
        if !(of.min_bw.is_finite() && of.max_bw > of.min_bw) {
            let why = format!("no bandwidth lies from {} to {}", of.min_bw, of.max_bw);
            return Err(Error::Invalid(why));
        }
        let (min_bw, max_bw) = (of.min_bw.to_string(), of.max_bw.to_string());
        let mut parameters = vec![
            ("direction", direction),
            ("grain", grain),
            ("min_bw", &min_bw),
        ];
        // Left out it is without bound, which is no number that can be typed.
        if of.max_bw.is_finite() {
            parameters.push(("max_bw", &max_bw));
        }
        self.query("perf_factors", &parameters).await
    }

    /// The call of a function by its name, users' functions among them.
    ///
    /// # Errors
    /// As [`Engine::call`].
    pub async fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        self.engine.call(name, args).await
    }

    /// The rows of a DataFrame as they come. Unlike its own methods this says in one line what went wrong, and tries once more
    /// with joins that spill if memory does not suffice.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn run(&self, frame: DataFrame) -> Result<Rows> {
        self.engine.run_frame(frame).await
    }

    /// The same rows, all of them.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn collect(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        self.run(frame).await?.collect().await
    }
}

impl From<Engine> for LakeSession {
    fn from(engine: Engine) -> Self {
        Self { engine }
    }
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes that programs read.
    Read,
    /// Bytes that programs wrote.
    Write,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Which logs [`LakeSession::perf_factors`] looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerfFactors {
    /// What they did.
    pub direction: Direction,
    /// Their least bandwidth, B/s.
    pub min_bw: f64,
    /// The bandwidth, B/s, that no longer belongs.
    pub max_bw: f64,
    /// Whether the logs of a job are one.
    pub by_job: bool,
}

impl PerfFactors {
    /// Every log that moved bytes in that direction.
    pub fn of(direction: Direction) -> Self {
        Self {
            direction,
            min_bw: 0.0,
            max_bw: f64::INFINITY,
            by_job: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::functions::call::{bin, percentiles};
    use super::super::functions::tests::rows;
    use super::super::runtime;
    use super::*;
    use datafusion::logical_expr::{col, lit};

    const DOUBLE: &str = "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN 2 * x";

    async fn told(lake: &LakeSession, frame: DataFrame) -> Vec<String> {
        rows(&lake.collect(frame).await.unwrap())
    }

    #[test]
    fn tables_functions_and_questions_are_dataframes() {
        runtime(Some(2)).unwrap().block_on(async {
            let lake = LakeSession::new(crate::lake::Lake::in_memory().unwrap(), None).unwrap();
            assert_eq!(
                told(&lake, lake.table("darshan_log").await.unwrap()).await,
                [""; 0]
            );
            assert_eq!(lake.sql(DOUBLE).await.unwrap().count().await.unwrap(), 0);
            let numbers = "SELECT * FROM (VALUES (1), (2), (30)) AS t(x)";
            let numbers = lake.sql(numbers).await.unwrap();
            let twice = lake.call("twice", vec![col("x")]).await.unwrap();
            let frame = numbers.clone().filter(twice.clone().gt(lit(2))).unwrap();
            let columns = vec![twice, bin(col("x"), &[2.0, 10.0])];
            assert_eq!(
                told(&lake, frame.select(columns).unwrap()).await,
                ["4 | 1", "60 | 2"]
            );
            let both = lake.call("lake.twice", vec![lit(4)]).await.unwrap();
            let both = vec![both, lake.call("abs", vec![lit(-1)]).await.unwrap()];
            let one = numbers.clone().limit(0, Some(1)).unwrap();
            assert_eq!(told(&lake, one.select(both).unwrap()).await, ["8 | 1"]);
            let halves = numbers.aggregate(vec![], vec![percentiles(col("x"), 2)]);
            assert_eq!(told(&lake, halves.unwrap()).await, ["[1.0, 2.0, 30.0]"]);
            let factors = lake.perf_factors(PerfFactors::of(Direction::Read)).await;
            assert_eq!(told(&lake, factors.unwrap()).await, [""; 0]);
            let low = lake.query("low_read", &[("min_nprocs", "2")]).await;
            assert_eq!(told(&lake, low.unwrap()).await, [""; 0]);
        });
    }

    #[test]
    fn what_is_not_there_is_said_as_everywhere() {
        runtime(Some(2)).unwrap().block_on(async {
            let lake = LakeSession::new(crate::lake::Lake::in_memory().unwrap(), None).unwrap();
            let why = lake.table("darshan_lgo").await.unwrap_err().to_string();
            assert_eq!(
                why,
                "unknown table `darshan_lgo`; did you mean `darshan_log`?"
            );
            lake.sql(DOUBLE).await.unwrap();
            let why = lake.call("twcie", vec![]).await.unwrap_err().to_string();
            assert_eq!(why, "unknown function `twcie`; did you mean `twice`?");
            let why = lake.query("low_raed", &[]).await.unwrap_err().to_string();
            assert_eq!(why, "unknown query `low_raed`; did you mean `low_read`?");
            let of = PerfFactors {
                min_bw: 2.0,
                max_bw: 1.0,
                ..PerfFactors::of(Direction::Write)
            };
            let why = lake.perf_factors(of).await.unwrap_err().to_string();
            assert_eq!(why, "no bandwidth lies from 2 to 1");
            let few = lake.call("twice", vec![]).await.unwrap();
            let frame = lake.sql("SELECT 1").await.unwrap().select(vec![few]);
            let why = lake.engine().error(frame.unwrap_err()).to_string();
            assert_eq!(
                why,
                "twice takes 1 argument, 0 were given: twice(x BIGINT) RETURNS BIGINT"
            );
        });
    }

    #[test]
    fn a_version_stays_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("lake");
        crate::lake::Lake::create(&root, &Default::default()).unwrap();
        runtime(Some(2)).unwrap().block_on(async {
            let new = LakeSession::open(&root).await.unwrap();
            new.sql(DOUBLE).await.unwrap();
            let old = LakeSession::open_version(&root, 1).await.unwrap();
            let versions = "SELECT count(*) FROM lake_version";
            assert_eq!(told(&new, new.sql(versions).await.unwrap()).await, ["2"]);
            assert_eq!(told(&old, old.sql(versions).await.unwrap()).await, ["1"]);
            assert!(old.call("twice", vec![lit(1)]).await.is_err());
            assert!(old.sql(DOUBLE).await.is_err());
            assert!(LakeSession::open_version(&root, 3).await.is_err());
        });
    }
}
