//! Logs to rows: the only reader of log formats.
//!
//! A [`Source`] recognises one kind of input, says cheaply where its rows belong ([`Source::peek`]), and makes a
//! [`Reader`] for each thread, which appends an input's rows to the builders of the tables that are asked for.
//!
//! An input is a log, all of whose rows belong to one job; or a dump, whose rows belong to many jobs or to none, and which may
//! say again what others have said: there a [`RowMerger`] makes one row of several.
//!
//! # Adding a source
//! One file or folder here and one line in [`SOURCES`]; for each of its tables a schema, a line in [`TABLES`](crate::table::TABLES) and
//! `tests/slt/tables/NAME.slt`. The options `--NAME` of the command line are made of [`SOURCES`].

pub(crate) mod compression;
pub mod darshan;
mod input;
mod input_provider;
pub mod lmt;
mod local_time;
pub mod moment;
mod read_context;
mod reader;
mod sink;
pub mod slurm;

pub use input::Input;
pub(crate) use input::{open_regular, without_password};
pub use input_provider::{InputMeta, InputProvider};
pub use read_context::{Hints, Period, ReadContext};
pub use reader::{Outcome, Peek, Reader, RowMerger, Source, Status};
pub use sink::BatchSink;

/// Every kind of log, in the order in which an input is probed.
pub const SOURCES: &[&dyn Source] = &[&darshan::Darshan, &slurm::Slurm, &lmt::Lmt];

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    /// A file or folder of the real logs, for tests that need what only this crate sees. Others are in tests/it. They are ignored
    /// unless asked for: `cargo test --lib -- --ignored`.
    pub(crate) fn shared_data(name: &str) -> PathBuf {
        let folder = std::env::var_os("IOLODE_SHARED_DATA").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
            PathBuf::from,
        );
        folder.join(name)
    }
}
