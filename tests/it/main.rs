//! What crosses modules: the program from the outside, comparisons with pydarshan and DuckDB, ingests at the same time, and the
//! rules of the house. One binary, for each one more would link the engine again.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "engine")]
mod algorithm_1;
mod circles;
#[cfg(feature = "engine")]
mod cli;
mod concurrent;
mod differential;
#[cfg(feature = "engine")]
mod failure;
#[cfg(feature = "engine")]
mod inspect;
#[cfg(feature = "engine")]
mod percentiles;
#[cfg(feature = "engine")]
mod program;
#[cfg(feature = "engine")]
mod questions;
/// The generator of the library's own tests.
#[allow(dead_code)]
#[path = "../../src/math/random.rs"]
mod random;
#[cfg(feature = "engine")]
mod random_sql;
#[cfg(feature = "engine")]
mod readers;
#[cfg(feature = "engine")]
mod reference;
mod registry;
#[cfg(feature = "engine")]
mod scaled;
mod semantics;
#[cfg(feature = "engine")]
mod sweep;
#[cfg(feature = "engine")]
mod three;
mod tidy;
#[cfg(feature = "engine")]
mod user_functions;
mod util;
#[cfg(feature = "engine")]
mod verdicts;
mod written;
