//! Tables whose rows are derived of the rows that readers fill, range by range, and kept in the lake.
//!
//! `lake` knows none of them: whoever ingests passes implementations of [`DerivedTable`]. The manifest notes for each table that a lake keeps the version of the
//! derivation that its rows are of. An ingest derives rows of the logs that it takes in, in the same commit, and all rows anew where they are of another version.

pub(super) mod derivation;
pub(super) mod derivations;
pub(super) mod derived_table;
pub(super) mod range_rows;
pub(super) mod write_derived;
