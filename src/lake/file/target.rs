//! Where a data file goes, and what its rows need on the way.

use crate::lake::file::placement::Placement;
use crate::lake::file::temp::Spill;
use crate::lake::version::store::Store;
use std::sync::{Arc, Mutex, PoisonError};

/// Where and for which job ids, or which day, a file is written.
#[derive(Clone, Debug)]
pub(in crate::lake) struct FileDestination {
    pub(in crate::lake) store: Store,
    pub(in crate::lake) place: Placement,
    pub(in crate::lake) lake_id: String,
    /// Number of the range of job ids; None for a table cut by day.
    pub(in crate::lake) range: Option<usize>,
    /// File system and day, in days since 1970, of a table cut by these.
    pub(in crate::lake) day: Option<(String, i64)>,
    /// Least job id of the range; None for the first.
    pub(in crate::lake) from: Option<i64>,
    /// Job id at which the next range begins; None for the last.
    pub(in crate::lake) to: Option<i64>,
    pub(in crate::lake) ost: RangeTarget,
    pub(in crate::lake) version: u64,
    /// Bytes of memory that rows may take which are not in the file yet.
    pub(in crate::lake) memory: usize,
    /// Where they are put aside.
    pub(in crate::lake) spill: Arc<Spill>,
}

/// The target of all files of a range, or of a day. Where it refuses one, the next files go to the target that took that one.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct RangeTarget(Arc<Mutex<Option<i64>>>);

impl RangeTarget {
    /// The target that was chosen; None if nothing is placed.
    pub(in crate::lake) fn new(chosen: Option<i64>) -> Self {
        Self(Arc::new(Mutex::new(chosen)))
    }

    /// The target of the next file.
    pub(in crate::lake) fn get(&self) -> Option<i64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes where a file lies. One that could not be placed at all says nothing about the others.
    pub(in crate::lake) fn note(&self, real: Option<i64>) {
        if real.is_some() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = real;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_of_a_range_goes_where_a_refused_file_went() {
        let target = RangeTarget::new(Some(4));
        let of_another_table = target.clone();
        target.note(Some(6));
        assert_eq!(of_another_table.get(), Some(6));
        of_another_table.note(None);
        assert_eq!(target.get(), Some(6));
    }
}
