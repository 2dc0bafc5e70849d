//! Darshan logs, read natively.
//!
//! A log is a header and compressed regions: job, names, and one for each module. [`log::Log`] reads it: [`header`] says where
//! the regions lie, `region` inflates those that are wanted, [`job`] and `names` take two of them apart, [`layout`] says where
//! each counter of each module version lies, [`module`] has a file for each other kind of record. Then the rows: a table for
//! each module, and [`mod@derive`] for `darshan_file` and `darshan_log`.
//!
//! [`mod@format`] (FORMAT.md) describes the format. It was checked against darshan-util 3.5.0, whose mistakes (FORMAT.md 12) this reader does not
//! repeat.
//!
//! # Example
//! ```no_run
//! use iolode::source::{Input, darshan::log::{Log, ModuleSet}, darshan::{ModuleId, counters::posix}};
//!
//! let mut log = Log::new();
//! log.read(&Input::open("job.darshan")?, ModuleSet::DEFAULT)?;
//! if let Some(records) = log.records(ModuleId::POSIX) {
//!     let bytes: i64 = (0..records.len()).map(|r| records.int(r, posix::BYTES_READ).max(0)).sum();
//!     println!("{bytes} bytes read");
//! }
//! # Ok::<(), iolode::Error>(())
//! ```

#[doc = include_str!("FORMAT.md")]
pub mod format {}

pub mod counters;
pub mod derive;
mod fill_spilled;
pub mod header;
mod inflate;
pub mod job;
pub mod layout;
pub mod log;
pub mod module;
mod module_region;
mod module_state;
mod names;
mod pieces;
mod plausible;
mod reader;
mod record_id;
pub mod records;
mod region;
mod repeated;
mod rewrite;
mod spill;
mod spilled_records;
#[cfg(test)]
pub(crate) mod tests;
pub mod write;

use self::reader::DarshanReader;
pub use module::ModuleId;
pub use record_id::{is_stream, record_id};
pub use rewrite::{Name, Replacements, Rewriter, Rewritten, is_constant};

use super::{Input, Peek, ReadContext, Reader, Source};
use crate::error::Result;
use log::{Log, ModuleSet};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Logs of Darshan 3.00 to 3.41.
pub struct Darshan;

impl Source for Darshan {
    fn inputs(&self) -> &'static str {
        "Darshan logs, or directories of them; without any, the lake's registered sources"
    }

    fn rows(&self) -> &'static str {
        "Darshan logs"
    }

    fn name(&self) -> &'static str {
        "darshan"
    }

    fn tables(&self) -> &'static [&'static str] {
        &[
            "darshan_log",
            "darshan_file",
            "darshan_posix",
            "darshan_mpiio",
            "darshan_stdio",
            "darshan_lustre",
            "darshan_h5f",
            "darshan_h5d",
            "darshan_pnetcdf_file",
            "darshan_pnetcdf_var",
            "darshan_dfs",
            "darshan_daos",
            "darshan_bgq",
            "darshan_mdhim",
            "darshan_apmpi",
            "darshan_apxc",
            "darshan_heatmap",
            "darshan_dxt",
            "darshan_mount",
            "darshan_module",
            "darshan_mosaic",
        ]
    }

    fn on_request(&self) -> &'static [&'static str] {
        &["darshan_dxt"]
    }

    fn is_filed_by_day(&self) -> bool {
        true
    }

    fn version(&self) -> u32 {
        6
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        // An unfinished or damaged log may lack its magic number: its name says what it should be. A text is none, whatever its
        // name: Darshan's own sources hold a Makefile.darshan.
        let named = path
            .extension()
            .is_some_and(|e| e == "darshan" || e == "darshan_partial");
        header::Header::probe(head) || (named && !is_text(head))
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        thread_local! { static LOG: RefCell<Log> = RefCell::new(Log::new()); }
        LOG.with_borrow_mut(|log| {
            log.read_head(input)?;
            Ok(log.peek())
        })
    }

    fn reader(&self, context: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(reader(context, ModuleSet::default()))
    }
}

impl Darshan {
    /// A reader that reads all modules of a log, whichever tables are asked for.
    pub fn reader_of_all_modules(&self, context: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(reader(context, ModuleSet::ALL))
    }
}

fn reader(context: Arc<ReadContext>, also: ModuleSet) -> DarshanReader {
    DarshanReader {
        log: Log::with_memory(context.log_memory, context.temp.as_deref()),
        context,
        also,
        by_parts: false,
    }
}

/// Whether the first bytes of a file are text: printable from the first to the last, of which the end may be cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => {
            let whole = head.get(..e.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace())
}
