//! iolode turns the logs that a supercomputer already keeps into one lake of Parquet files, and answers from it, in SQL,
//! why I/O was slow.
//!
//! This page is the map of the code. The way of a log to an answer:
//!
//! ```text
//!    log  -->  source  -->  lake  -->  engine  -->  answer  -->  cli
//!              bytes to     versions   SQL and      reports      what is
//!              rows of a    of         functions                 printed
//!              `table`      Parquet
//! ```
//!
//! # Entry points
//!
//! - [`source::darshan::log::Log`] reads one log; [`source::Source`] is what a kind of input must offer.
//! - [`lake::Lake`] creates, opens and fills a lake.
//! - `LakeSession` (feature `engine`) asks it from Rust, and `engine::Engine` in SQL.
//!
//! # Code map
//!
//! [`text`]: what escapes text from outside before it is printed.
//!
//! [`error`]: one enum, a variant for each thing a caller can act on. A message names the place, what is wrong there, and
//! what to do.
//!
//! `math`: functions on slices and generators of numbers, which know no tables.
//!
//! [`table`]: what a column is called, its type, its unit and its meaning, read from `schemas/*/*.toml`; and the builders that
//! readers fill. The only place that knows columns.
//!
//! [`source`]: the only reader of log formats; [`synth`] writes those of Slurm and LMT. [`source::darshan`] is a reader of its own, without libdarshan:
//! the regions that are wanted are inflated, columns are filled straight from the records, and `derive` makes of them the
//! two tables that people ask daily, `darshan_file` and `darshan_log`. Its `write` module is the way back, for tests and
//! for [`synth`], which makes a month of logs from a seed. [`source::slurm`] and [`source::lmt`] read dumps, whose rows
//! belong to many jobs or to none, and which overlap: a merger makes one row of several, and intervals of samples.
//! The way of a line of LMT's dump: `lmt::mysqldump`, `lmt::samples`, `lake::ingest::external_sort` (sorted runs of a file system
//! and day), `write_days`, `merge` with `lmt::counter_intervals`, a data file of `lmt_ost`.
//!
//! [`lake`]: the only place that knows the paths of a lake and writes its Parquet files. Rows are cut into ranges of job ids, a range's files lie on one
//! storage target, and every change is a new version, published in one step. Rows of dumps are sorted in temporary files
//! (`external_sort`) and merged into the ranges, or the days, that they belong to (`merge`, `write_days`).
//!
//! `engine`: the only place that makes a DataFusion session. A table provider that knows the ranges, so that joins and
//! groupings by job need no exchange of rows; the SQL functions, one file each; the views; the named queries of `queries/*/*.sql`;
//! the rules of causes and advice. Its first lines follow a statement from text to rows.
//!
//! `cluster`: the only place that names Ballista. The same session on many nodes: the client plans, executors run the stages of its plan.
//!
//! [`answer`]: pages made of the answers to several questions, such as the diagnosis of a job; and [`answer::analysis::mosaic`], the classes of one log, which
//! needs no engine.
//!
//! `cli`: the only place that prints and picks exit codes, one file for each command.
//!
//! # Invariants
//!
//! 1. A module imports only from modules to its left in: text, error, math, table, source, synth, lake, engine,
//!    cluster, answer, cli. A test keeps this.
//! 2. A reader never panics, never allocates from a length it has not checked, and keeps what it could read.
//! 3. A lake shows version N or N + 1 of all its tables, never a mixture. Files are written under new names and never
//!    changed; the manifest that names them is published by create-if-absent.
//! 4. Ingest is idempotent, and a log is in a lake once, however often its bytes are found. What dumps say is in a lake once
//!    for each key, the same in whatever order and pieces they came.
//! 5. Tables only grow: a newer version adds nullable columns.
//! 6. Time is UTC in microseconds, sizes are bytes, durations are seconds. Not available is NULL.
//! 7. An extension is a file and a line in an explicit list: [`source::SOURCES`], [`table::TABLES`], `engine::queries::QUERIES`,
//!    `engine::rules::RULES`, `answer::analysis::ANALYSES`, and the lists of functions and output formats. A test walks each list.
//!
//! # Cross-cutting concerns
//!
//! Errors of the library are typed and never printed by it. Versions: the log's format (`source::darshan::layout`), a table's
//! schema (`version` in its schema file, kept for each data file), the reader (kept for each input), and the manifest.
//! Tests stand beside what they test; what crosses modules, needs real logs or another program, or compares with pydarshan and
//! DuckDB, is in `tests/it`; SQL is tested in SQL, in `tests/slt`. Speed is measured by `scripts/bench.py` as a ratio of CPU seconds, never asserted in a test.
//!
//! # From Rust
//!
//! Tables and questions are DataFrames. Here is algorithm 1 of the IOMiner paper (Wang et al., IEEE CLUSTER 2018, section II-A) on a
//! small synthetic month, line by line; `queries/examples/algorithm_1.sql` is the same in SQL.
//!
#![cfg_attr(feature = "engine", doc = "```")]
#![cfg_attr(not(feature = "engine"), doc = "```ignore")]
//! use iolode::lake::{CreateOptions, IngestOptions, Silent};
//! use iolode::prelude::*;
//! use iolode::synth::{self, Month};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # iolode::engine::runtime(Some(2))?.block_on(async {
//! // Lines 1 to 4, init_stores: logs of forty jobs in Darshan's, Slurm's and LMT's own formats, taken into a lake. Taken in
//! // once more they would change nothing.
//! let dir = tempfile::tempdir()?;
//! let (logs, root) = (dir.path().join("logs"), dir.path().join("lake"));
//! synth::write(&Month::complete(40, 1), &logs, &|_| ())?;
//! let settings = std::fs::read_to_string(Month::paths(&logs).site)?;
//! let stores = iolode::lake::Lake::create(&root, &CreateOptions { settings, ..CreateOptions::default() })?;
//! stores.ingest(&IngestOptions { paths: vec![logs.into()], ..IngestOptions::default() }, &Silent)?;
//! let miner = LakeSession::open(&root).await?;
//!
//! // Lines 5 to 12: load. Nothing is read before it is asked for.
//! let jobs = miner.table("darshan_log").await?;
//! let files = miner.table("darshan_file").await?;
//! let slurm = miner.table("slurm_job").await?;
//! let lmt = miner.table("lmt_ost").await?;
//! # assert!(lmt.count().await? > 10_000);
//!
//! // Lines 13 and 14: jobs that write less than 1 GB.
//! let selected = jobs
//!     .clone()
//!     .select_columns(&["job_id", "bytes_written"])?
//!     .filter(col("bytes_written").lt(lit(1_000_000_000_i64)))?;
//!
//! // Line 15: each job in its bin, by a function of the user's own, which stays in the lake; or by the edges alone.
//! miner
//!     .sql(
//!         "CREATE FUNCTION classify_workload(bytes BIGINT) RETURNS BIGINT RETURN
//!            CASE WHEN bytes < 1000000000 THEN 0 WHEN bytes < 10000000000 THEN 1 ELSE 2 END",
//!     )
//!     .await?;
//! let workload = miner.call("classify_workload", vec![col("bytes_written")]).await?;
//! let binned = jobs
//!     .clone()
//!     .with_column("workload", workload)?
//!     .with_column("by_edges", bin(col("bytes_written"), &[1e9, 1e10]))?;
//!
//! // Lines 16 and 17: how many storage targets each job used, in each file system.
//! let grouped = files
//!     .clone()
//!     .filter(col("ost_bits").is_not_null())?
//!     .aggregate(
//!         vec![col("job_id"), col("fs")],
//!         vec![ost_union(col("fs"), col("ost_bits")).alias("bits")],
//!     )?
//!     .select(vec![col("job_id"), col("fs"), ost_count(col("bits")).alias("osts")])?;
//!
//! // Lines 18 and 19: how the sizes of writes are distributed over the jobs.
//! let percents = jobs
//!     .clone()
//!     .aggregate(vec![], vec![percentiles(col("bytes_written"), 100).alias("percents")])?;
//!
//! // Lines 20 and 21: what each job moved, beside the nodes that Slurm gave it. (Of a job that was requeued the view `job` knows
//! // which record a log belongs to.)
//! let joined = jobs
//!     .clone()
//!     .join(slurm, JoinType::Inner, &["job_id"], &["job_id"], None)?
//!     .select(vec![col("darshan_log.job_id"), col("node_count"), col("bytes_read"), col("bytes_written")])?;
//!
//! // Lines 22 and 23: the files of jobs that write more than 10 GB.
//! let low_bw = jobs
//!     .clone()
//!     .filter(col("bytes_written").gt(lit(10_000_000_000_i64)))?
//!     .join(files, JoinType::Inner, &["job_id", "log_id"], &["job_id", "log_id"], None)?;
//!
//! // Lines 24 and 25: of these, what may have made writes slow that were slower than 1 GB/s.
//! let slow = PerfFactors { max_bw: 1e9, ..PerfFactors::of(Direction::Write) };
//! let of_low_bw = low_bw.clone().select(vec![col("darshan_log.log_id").alias("large")])?;
//! let factors = miner
//!     .perf_factors(slow)
//!     .await?
//!     .join(of_low_bw, JoinType::LeftSemi, &["log_id"], &["large"], None)?;
//!
//! // What all that gives, beside arithmetic on what the jobs wrote.
//! # use datafusion::arrow::array::AsArray;
//! # use datafusion::arrow::datatypes::{Float64Type, Int64Type};
//! let mut written: Vec<i64> = vec![];
//! for rows in miner.collect(jobs.select_columns(&["bytes_written"])?).await? {
//!     written.extend(rows.column(0).as_primitive::<Int64Type>().values());
//! }
//! written.sort();
//! assert!(written.len() > 40);
//! let below = |bytes: i64| written.iter().filter(|written| **written < bytes).count();
//! assert_eq!(selected.count().await?, below(1_000_000_000));
//! for (workload, expected) in [
//!     (0, below(1_000_000_000)),
//!     (1, below(10_000_000_000) - below(1_000_000_000)),
//!     (2, written.len() - below(10_000_000_000)),
//! ] {
//!     for column in ["workload", "by_edges"] {
//!         let of_it = binned.clone().filter(col(column).eq(lit(workload)))?;
//!         assert_eq!(of_it.count().await?, expected);
//!     }
//! }
//! let percents = miner.collect(percents).await?;
//! let percents = percents[0].column(0).as_list::<i32>().value(0);
//! let percents = percents.as_primitive::<Float64Type>().values();
//! assert_eq!((percents.len(), percents[0], percents[100]), (101, written[0] as f64, *written.last().unwrap() as f64));
//! assert!(grouped.filter(col("osts").lt(lit(1)))?.count().await? == 0);
//! assert!(joined.count().await? >= 40);
//! let large = factors.clone().count().await?;
//! assert!(0 < large && large <= written.len() - below(10_000_000_000));
//! assert_eq!(factors.filter(col("bw_critical").gt_eq(lit(1e9)))?.count().await?, 0);
//!
//! // Any other question that has a name, and any SQL.
//! let low_read = miner.query("low_read_bandwidth", &[("min_nprocs", "64")]).await?;
//! let days = miner.sql("SELECT date_trunc('day', start_time) AS day, count(*) FROM darshan_log GROUP BY day").await?;
//! # assert!(low_read.schema().fields().len() > 5 && days.count().await? > 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```

pub mod answer;
#[cfg(feature = "engine")]
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "engine")]
pub mod engine;
pub mod error;
pub mod lake;
mod math;
#[doc = include_str!("SEMANTICS.md")]
pub mod semantics {}
pub mod source;
pub mod synth;
pub mod table;
pub mod text;

#[cfg(feature = "engine")]
pub use engine::{Direction, LakeSession, PerfFactors};
pub use error::{Error, Result};

/// What a program that asks a lake names most: [`LakeSession`], iolode's functions, and DataFusion's words for expressions.
#[cfg(feature = "engine")]
pub mod prelude {
    pub use crate::engine::functions::call::*;
    pub use crate::engine::{Direction, LakeSession, PerfFactors};
    pub use datafusion::common::JoinType;
    pub use datafusion::dataframe::DataFrame;
    pub use datafusion::logical_expr::{Expr, col, lit};
}
