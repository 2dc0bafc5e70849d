//! The rows that a filter keeps, without a copy of them.

use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::{filter_record_batch, prep_null_mask_filter};
use datafusion::common::Result;
use datafusion::physical_plan::filter::FilterExec;

/// A batch and which of its rows count.
pub(super) struct Kept {
    pub(super) batch: RecordBatch,
    /// None if all do.
    pub(super) rows: Option<NullBuffer>,
    pub(super) count: usize,
}

impl From<RecordBatch> for Kept {
    fn from(batch: RecordBatch) -> Self {
        let count = batch.num_rows();
        Self {
            batch,
            rows: None,
            count,
        }
    }
}

impl Kept {
    /// The rows that a filter keeps; None if that is none of them.
    pub(super) fn of(filter: Option<&FilterExec>, batch: RecordBatch) -> Result<Option<Self>> {
        let Some(filter) = filter else {
            return Ok(Some(batch.into()));
        };
        let kept = filter
            .predicate()
            .evaluate(&batch)?
            .into_array(batch.num_rows())?;
        let rows = true_rows(kept.as_boolean());
        let count = rows.count_set_bits();
        let batch = match filter.projection() {
            Some(projection) => batch.project(projection)?,
            None => batch,
        };
        let all = count == batch.num_rows();
        Ok((count > 0).then(|| Self {
            batch,
            rows: (!all).then(|| NullBuffer::new(rows)),
            count,
        }))
    }

    /// These rows alone.
    pub(super) fn copied(self) -> Result<RecordBatch> {
        match self.rows {
            None => Ok(self.batch),
            Some(rows) => {
                let rows = BooleanArray::new(rows.into_inner(), None);
                Ok(filter_record_batch(&self.batch, &rows)?)
            }
        }
    }
}

/// The rows for which a condition is true, which NULL is not.
pub(super) fn true_rows(condition: &BooleanArray) -> BooleanBuffer {
    match condition.null_count() {
        0 => condition.values().clone(),
        _ => prep_null_mask_filter(condition).into_parts().0,
    }
}
