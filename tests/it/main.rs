//! What crosses modules: the program from the outside, real logs, comparisons with pydarshan and DuckDB, ingests at the same time or
//! killed (`tests/crash`), mutated logs (`tests/fuzz/mutants`), and the conventions of the code. One binary, for each one more would link the
//! engine again.
//!
//! A test says what it needs: see [`harness::Need`]. Without it the test is ignored, and the last lines say how many were, and why.
//! The tests in `src` need nothing; those that need real logs and what only the crate sees are ignored there, and run by
//! `cargo test --lib -- --ignored`.
//!
//! # Environment variables of the tests
//!
//! It is an error if one of the first two names something that is not there.
//!
//! | variable | what it does |
//! |---|---|
//! | `IOLODE_SHARED_DATA` | the folder of the real logs; `../shared/data` if not set |
//! | `IOLODE_PYTHON` | a Python with the packages of `tests/oracles/python/requirements.txt`; `target/venv` if not set |
//! | `SLT_COMPLETE` | `tests/slt` writes the answers into its files |
//! | `IOLODE_SEED`, `IOLODE_MUTANTS` | seed of the mutated logs, and how many of each there are (`tests/fuzz/mutants`, `src/source/darshan/tests/spilled_real_logs.rs`) |
//! | `IOLODE_SEED`, `IOLODE_JOINS` | the same of random joins (`src/engine/tests/joins.rs`) |
//! | `IOLODE_PATHS` | paths of the listing of an archive (`src/lake/tests/daily.rs`) |
//!
//! `IOLODE_LAKE` is the program's own variable, which tests set for it or take away. `IOLODE_BOUNDED_LOG`, `IOLODE_BOUNDED_TABLES`, `IOLODE_DESCRIPTORS_DIRECTORY`, `IOLODE_KILL_DIRECTORY`, `IOLODE_LARGE_DIRECTORY`,
//! `IOLODE_NEWER_DIRECTORY`, `IOLODE_NEWER_TABLES` and `IOLODE_TEST_CONCURRENT` are set by tests for processes that they start.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "engine")]
mod algorithm_1;
mod circles;
#[cfg(feature = "engine")]
mod cli;
#[cfg(feature = "engine")]
mod cli_program;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod cluster_processes;
#[cfg(feature = "cluster")]
mod cluster_sbatch;
/// How the library's own tests look at rows.
#[path = "../../src/table/tests/columns.rs"]
mod columns;
mod concurrent;
#[path = "../crash/ingest.rs"]
mod crash;
mod darshan_logs;
mod darshan_reference;
#[cfg(feature = "engine")]
mod diagnose;
mod differential;
#[cfg(feature = "engine")]
mod drishti;
#[cfg(feature = "engine")]
mod export;
#[cfg(feature = "engine")]
mod failure;
mod harness;
#[cfg(feature = "engine")]
mod inspect;
#[cfg(feature = "engine")]
mod joined_sources;
#[cfg(feature = "engine")]
mod limits;
mod lmt_files;
mod lmt_mysql;
mod lmt_mysqldump;
mod mosaic;
#[cfg(feature = "engine")]
mod mosaic_queries;
#[path = "../fuzz/mutants/mod.rs"]
mod mutants;
#[cfg(feature = "engine")]
mod percentiles;
#[cfg(feature = "engine")]
mod pruned_rows;
mod pydarshan;
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
mod real_lakes;
#[cfg(feature = "engine")]
mod real_views;
#[cfg(feature = "engine")]
mod reference;
mod registry;
#[cfg(feature = "engine")]
mod report;
#[cfg(feature = "engine")]
mod report_content;
#[cfg(feature = "engine")]
mod report_files;
#[cfg(feature = "engine")]
mod report_golden;
#[cfg(feature = "engine")]
mod report_judged;
#[cfg(feature = "engine")]
mod report_mail;
#[cfg(feature = "engine")]
mod report_page;
#[cfg(feature = "engine")]
mod report_print;
mod report_timer;
#[cfg(feature = "engine")]
mod root_cause_oracle;
mod semantics;
mod shell_paths;
mod slurm_dumps;
mod support;
#[cfg(feature = "engine")]
mod sweep;
mod synth_beside_real;
#[cfg(feature = "engine")]
mod synth_scaled;
mod tidy;
#[cfg(feature = "engine")]
mod user_functions;
mod writer_round_trip;

fn main() -> std::process::ExitCode {
    // A process that a test has started does what it was started for.
    if let Some(done) = crash::child().or_else(concurrent::child) {
        return done;
    }
    harness::run(&[
        #[cfg(feature = "engine")]
        algorithm_1::TESTS,
        circles::TESTS,
        #[cfg(feature = "engine")]
        cli::default_lake::TESTS,
        #[cfg(feature = "engine")]
        cli::help::TESTS,
        #[cfg(feature = "engine")]
        cli::lake::TESTS,
        #[cfg(feature = "engine")]
        cli::output::TESTS,
        #[cfg(feature = "engine")]
        cli::query::TESTS,
        #[cfg(feature = "engine")]
        cli::sql::TESTS,
        #[cfg(feature = "cluster")]
        cluster::TESTS,
        #[cfg(feature = "cluster")]
        cluster_sbatch::TESTS,
        concurrent::TESTS,
        crash::TESTS,
        darshan_logs::TESTS,
        darshan_reference::TESTS,
        #[cfg(feature = "engine")]
        diagnose::TESTS,
        differential::TESTS,
        #[cfg(feature = "engine")]
        drishti::TESTS,
        #[cfg(feature = "engine")]
        export::TESTS,
        #[cfg(feature = "engine")]
        failure::TESTS,
        #[cfg(feature = "engine")]
        inspect::TESTS,
        #[cfg(feature = "engine")]
        joined_sources::TESTS,
        #[cfg(feature = "engine")]
        limits::TESTS,
        lmt_files::TESTS,
        lmt_mysql::TESTS,
        lmt_mysqldump::TESTS,
        mosaic::TESTS,
        #[cfg(feature = "engine")]
        mosaic_queries::TESTS,
        mutants::darshan::TESTS,
        mutants::lmt::TESTS,
        mutants::slurm::TESTS,
        #[cfg(feature = "engine")]
        percentiles::TESTS,
        #[cfg(feature = "engine")]
        pruned_rows::TESTS,
        pydarshan::TESTS,
        #[cfg(feature = "engine")]
        query_oracle::TESTS,
        #[cfg(feature = "engine")]
        random_sql::TESTS,
        #[cfg(feature = "engine")]
        readers::TESTS,
        real_lakes::TESTS,
        #[cfg(feature = "engine")]
        real_views::TESTS,
        #[cfg(feature = "engine")]
        reference::TESTS,
        registry::TESTS,
        #[cfg(feature = "engine")]
        report::TESTS,
        #[cfg(feature = "engine")]
        report_content::TESTS,
        #[cfg(feature = "engine")]
        report_files::TESTS,
        #[cfg(feature = "engine")]
        report_golden::TESTS,
        #[cfg(feature = "engine")]
        report_mail::TESTS,
        #[cfg(feature = "engine")]
        report_page::TESTS,
        #[cfg(feature = "engine")]
        report_print::TESTS,
        #[cfg(feature = "engine")]
        report_judged::TESTS,
        report_timer::TESTS,
        #[cfg(feature = "engine")]
        root_cause_oracle::TESTS,
        semantics::TESTS,
        shell_paths::TESTS,
        slurm_dumps::TESTS,
        #[cfg(feature = "engine")]
        sweep::TESTS,
        synth_beside_real::TESTS,
        #[cfg(feature = "engine")]
        synth_scaled::TESTS,
        tidy::TESTS,
        #[cfg(feature = "engine")]
        user_functions::TESTS,
        writer_round_trip::TESTS,
    ])
}
