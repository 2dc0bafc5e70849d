//! Who converts the ranges of an ingest in other processes.

use crate::error::Result;
use std::sync::atomic::AtomicBool;

/// Has ranges converted by other processes.
pub trait RangeRunner: Send + Sync {
    /// How many ranges it converts at a time.
    ///
    /// # Errors
    /// If there is nobody to convert them.
    fn width(&self) -> Result<usize>;

    /// What a [`RangeConverter`](crate::lake::RangeConverter) of this lake answers to a request; its range lies on the OST, if on any. Ends soon once `cancel` is set.
    ///
    /// # Errors
    /// Those of the converter, and if there is none any more.
    fn convert(
        &self,
        lake_id: &str,
        request: Vec<u8>,
        ost: Option<i64>,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>>;
}
