//! What crosses modules: the program from the outside, comparisons with pydarshan and DuckDB, ingests at the same time, and the
//! rules of the house. One binary, for each one more would link the engine again.
//!
//! # Environment variables of the tests
//!
//! | variable | what it does |
//! |---|---|
//! | `IOLODE_SHARED_DATA` | the folder of the real logs; `../shared/data` if not set |
//! | `IOLODE_PYTHON` | a Python with the packages of `tests/oracles/python/requirements.txt`; `target/venv` if not set |
//! | `SLT_COMPLETE` | `tests/slt` writes the answers into its files |
//! | `IOLODE_SEED`, `IOLODE_MUTANTS` | where mutated logs begin, and how many of each there are (`src/source/*/mutation.rs`) |
//! | `IOLODE_SEED`, `IOLODE_JOINS` | the same of random joins (`src/engine/tests/joins.rs`) |
//! | `IOLODE_PATHS` | paths of the listing of an archive (`src/lake/tests/daily.rs`) |
//!
//! `IOLODE_KILL_DIRECTORY`, `IOLODE_DESCRIPTORS_DIRECTORY` and `IOLODE_TEST_CONCURRENT` are set by tests for processes that they start.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "engine")]
mod algorithm_1;
mod circles;
#[cfg(feature = "engine")]
mod cli;
#[cfg(feature = "engine")]
mod cli_program;
mod concurrent;
mod differential;
#[cfg(feature = "engine")]
mod failure;
mod harness;
#[cfg(feature = "engine")]
mod inspect;
#[cfg(feature = "engine")]
mod joined_sources;
#[cfg(feature = "engine")]
mod percentiles;
#[cfg(feature = "engine")]
mod query_oracle;
/// The generator of the library's own tests.
#[allow(dead_code, unused_imports)]
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
mod root_cause_oracle;
mod semantics;
mod support;
#[cfg(feature = "engine")]
mod sweep;
#[cfg(feature = "engine")]
mod synth_scaled;
mod tidy;
#[cfg(feature = "engine")]
mod user_functions;
mod writer_round_trip;

fn main() -> std::process::ExitCode {
    harness::run(&[
        #[cfg(feature = "engine")]
        algorithm_1::TESTS,
        circles::TESTS,
        #[cfg(feature = "engine")]
        cli::TESTS,
        concurrent::TESTS,
        differential::TESTS,
        #[cfg(feature = "engine")]
        failure::TESTS,
        #[cfg(feature = "engine")]
        inspect::TESTS,
        #[cfg(feature = "engine")]
        joined_sources::TESTS,
        #[cfg(feature = "engine")]
        percentiles::TESTS,
        #[cfg(feature = "engine")]
        query_oracle::TESTS,
        #[cfg(feature = "engine")]
        random_sql::TESTS,
        #[cfg(feature = "engine")]
        readers::TESTS,
        #[cfg(feature = "engine")]
        reference::TESTS,
        registry::TESTS,
        #[cfg(feature = "engine")]
        root_cause_oracle::TESTS,
        semantics::TESTS,
        #[cfg(feature = "engine")]
        sweep::TESTS,
        #[cfg(feature = "engine")]
        synth_scaled::TESTS,
        tidy::TESTS,
        #[cfg(feature = "engine")]
        user_functions::TESTS,
        writer_round_trip::TESTS,
    ])
}
