//! The form of an export.

/// What an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A lake.
    #[default]
    Lake,
    /// Delta tables, a directory each.
    Delta,
}
