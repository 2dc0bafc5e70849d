//! iolode turns the logs that a supercomputer already keeps into one lake of Parquet files, and answers from it, in SQL,
//! why I/O was slow.
//!
//! This page is the map of the code. A command's way through it is the order of the modules:
//!
//! ```text
//!    log  -->  source  -->  table  -->  lake  -->  engine
//!              bytes        typed       Parquet    SQL and
//!              to rows      rows        and        functions
//!                                       versions      |
//!                                                    cli
//! ```
//!
//! # Entry points
//!
//! - [`source::darshan::log::Log`] reads one log; [`source::Source`] is what a kind of input must offer.
//! - [`lake::Lake`] creates, opens and fills a lake.
//! - `engine::Engine` (feature `engine`) asks it in SQL.
//!
//! # Code map
//!
//! [`error`]: one enum, a variant for each thing a caller can act on. A message names the place, what is wrong there, and
//! what to do.
//!
//! [`table`]: what a column is called, its type, its unit and its meaning, read from `schemas/*.toml`; and the builders that
//! readers fill. The only place that knows columns.
//!
//! [`source`]: the only place that knows a log's format. [`source::darshan`] is a reader of its own, without libdarshan:
//! the regions that are wanted are inflated, columns are filled straight from the records, and `derive` makes of them the
//! two tables that people ask daily, `darshan_file` and `darshan_log`. Its `write` module is the way back, for tests and
//! for [`source::synth`], which makes a month of logs from a seed. [`source::slurm`] and [`source::lmt`] read dumps, whose rows
//! belong to many jobs or to none, and which overlap: a resolver makes one row of several, and intervals of samples.
//!
//! [`lake`]: the only place that knows paths and Parquet. Rows are cut into ranges of job ids, a range's files lie on one
//! storage target, and every change is a new version, published in one step. Rows of dumps are sorted aside (`stage`) and
//! merged into the ranges, or the days, that they belong to (`merge`, `days`).
//!
//! `engine`: the only place that makes a DataFusion session. A table provider that knows the ranges, so that joins and
//! groupings by job need no exchange of rows; the SQL functions, one file each; the views; the named queries of `queries/*.sql`.
//!
//! `cli`: the only place that prints and picks exit codes, one file for each command.
//!
//! # Invariants
//!
//! 1. A module imports only from modules to its left in: error, table, source, lake, engine, cli. A test keeps this.
//! 2. A reader never panics, never allocates from a length it has not checked, and keeps what it could read.
//! 3. A lake shows version N or N + 1 of all its tables, never a mixture. Files are written under new names and never
//!    changed; the manifest that names them is published by create-if-absent.
//! 4. Ingest is idempotent, and a log is in a lake once, however often its bytes are found. What dumps say is in a lake once
//!    for each key, the same in whatever order and pieces they came.
//! 5. Tables only grow: a newer version adds nullable columns.
//! 6. Time is UTC in microseconds, sizes are bytes, durations are seconds. Not available is NULL.
//! 7. An extension is one file and one line in an explicit list: [`source::SOURCES`], [`table::TABLES`], `engine::queries::QUERIES`,
//!    and the lists of functions and output formats. A test walks each list.
//!
//! # Cross-cutting concerns
//!
//! Errors of the library are typed and never printed by it. Versions: the log's format (`source::darshan::layout`), a table's
//! schema (`version` in its schema file, kept for each data file), the reader (kept for each input), and the manifest.
//! Tests stand beside what they test; what crosses modules, or compares with pydarshan and DuckDB, is in `tests/it`; SQL is
//! tested in SQL, in `tests/slt`. Speed is measured by `scripts/bench.py` as a ratio of CPU seconds, never asserted in a test.

#[cfg(feature = "engine")]
pub mod cli;
#[cfg(feature = "engine")]
pub mod engine;
pub mod error;
pub mod lake;
pub mod source;
pub mod table;

pub use error::{Error, Result};
