//! Names that every session has.

/// The one catalog. Each lake is a schema in it.
pub(crate) const CATALOG: &str = "iolode";

/// The schema of a session without a lake.
pub(crate) const NO_LAKE: &str = "public";
