//! Rows of LMT as tests read them. tests/it/lmt_files.rs takes this file in as well.

use super::{BatchSink, Input, Lmt, Outcome, ReadContext, Source, columns, table};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// A site in the zone of the real files.
pub(crate) fn context() -> Arc<ReadContext> {
    Arc::new(ReadContext {
        zone: chrono_tz::America::Los_Angeles,
        ..ReadContext::default()
    })
}

/// The rows of an input as the reader gives them.
pub(crate) fn rows(
    name: &str,
    input: &Input,
    context: &Arc<ReadContext>,
) -> (RecordBatch, Outcome) {
    let mut tables = BatchSink::new([name]).unwrap();
    let outcome = Lmt
        .reader(context.clone())
        .read(input, 1, None, &mut tables)
        .unwrap();
    (tables.get(name).unwrap().finish().unwrap(), outcome)
}

/// Rows sorted as the table asks, those with one key in the order in which they came.
pub(crate) fn sorted(name: &str, rows: &RecordBatch) -> RecordBatch {
    columns::sorted(rows, &table(name).unwrap().sort)
}

/// What a lake keeps of batches that come one after another.
pub(crate) fn resolved(name: &str, batches: &[&RecordBatch]) -> RecordBatch {
    let rows = concat_batches(&batches[0].schema(), batches.iter().copied()).unwrap();
    Lmt.row_merger(name)
        .unwrap()
        .resolve(&sorted(name, &rows))
        .unwrap()
}
