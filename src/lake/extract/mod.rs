//! Rows of one lake for another: what an export reads and writes.
//!
//! [`ChosenRows`] says which rows of each table belong to the logs that were chosen, and reads them. [`LakeWriter`] makes a lake of rows
//! that come sorted, table by table; it is a lake once all of them are there.

pub(super) mod chosen_rows;
pub(super) mod lake_writer;
