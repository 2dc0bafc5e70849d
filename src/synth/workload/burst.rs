//! A burst of bytes.

/// Some of the bytes of a transfer, and when they were moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Burst {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) bytes: i64,
}
