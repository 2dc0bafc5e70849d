//! The rows that a filter keeps, without a copy of them.

use super::rle_scan::split_times;
use datafusion::arrow::array::{Array, AsArray, BooleanArray, Int64Array, RecordBatch};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::{filter, filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::Result;
use datafusion::physical_plan::filter::FilterExec;

/// A batch and which of its rows count.
pub(super) struct SelectedBatch {
    pub(super) batch: RecordBatch,
    /// None if all do.
    pub(super) rows: Option<NullBuffer>,
    pub(super) count: usize,
    /// How many rows of the table each row stands for; None if for itself.
    pub(super) times: Option<Int64Array>,
}

impl From<RecordBatch> for SelectedBatch {
    fn from(batch: RecordBatch) -> Self {
        let count = batch.num_rows();
        Self {
            batch,
            rows: None,
            count,
            times: None,
        }
    }
}

impl SelectedBatch {
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
            times: None,
        }))
    }

    /// The same of rows that stand for several, as the last column says.
    pub(super) fn of_runs(
        filter: Option<&FilterExec>,
        batch: &RecordBatch,
    ) -> Result<Option<Self>> {
        let (times, columns) = split_times(batch)?;
        let kept = Self::of(filter, columns)?;
        Ok(kept.map(|kept| Self {
            times: Some(times),
            ..kept
        }))
    }

    /// These rows alone.
    pub(super) fn copied(self) -> Result<Self> {
        let Some(rows) = self.rows else {
            return Ok(self);
        };
        let rows = BooleanArray::new(rows.into_inner(), None);
        let times = self.times.map(|times| filter(&times, &rows)).transpose()?;
        Ok(Self {
            times: times.map(|times| times.as_primitive::<Int64Type>().clone()),
            ..filter_record_batch(&self.batch, &rows)?.into()
        })
    }
}

/// The rows for which a condition is true, which NULL is not.
pub(super) fn true_rows(condition: &BooleanArray) -> BooleanBuffer {
    match condition.null_count() {
        0 => condition.values().clone(),
        _ => prep_null_mask_filter(condition).into_parts().0,
    }
}
