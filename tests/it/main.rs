//! What crosses modules: comparisons with pydarshan and DuckDB, kills, ingests at the same time, and the rules of the house.
//! One binary, for each one more would link the engine again.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod concurrent;
mod differential;
mod kill;
mod registry;
mod semantics;
mod tidy;
mod util;
mod written;
