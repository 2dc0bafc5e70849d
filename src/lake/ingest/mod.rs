//! Inputs to rows of the next version.
//!
//! In come paths and options, out goes one commit. `discover` lists the inputs as `candidate`s, with `walk`, `lister`, `read_ahead` and `log_tree` below
//! it; `change_set` tells which of them are new or changed; `external_sort` turns dumps into sorted runs, and `stand_ins` gives
//! their rows the ids that only other dumps say; `plan` cuts the work into
//! ranges of job ids and days; `write_range` reads the logs of a range and writes their rows, `write_days` the rows of a day, `remote` has other processes (`range_runner`) convert ranges, and `merge` decides which rows stay; `pipeline` runs all of this.

pub(super) mod candidate;
pub(super) mod change_set;
pub(super) mod discover;
pub(super) mod external_sort;
pub(super) mod lister;
pub(super) mod log_tree;
pub(super) mod merge;
pub(super) mod options;
pub(super) mod pipeline;
pub(super) mod plan;
pub(super) mod range_runner;
pub(super) mod read_ahead;
pub(super) mod remote;
pub(super) mod report;
pub(super) mod stand_ins;
pub(super) mod task;
pub(super) mod walk;
pub(super) mod write_days;
pub(super) mod write_range;
