//! How the lists of inputs of a version are written: cut where they are large.

use crate::error::Result;
use crate::lake::version::input_index::InputIndex;
use crate::lake::version::list_file::{InputRow, inputs_to_batch, properties, write_list};
use crate::lake::version::manifest::ListFile;
use crate::lake::version::store::Store;
use parquet::file::properties::{EnabledStatistics, WriterPropertiesBuilder};

/// Inputs of a list at most: some MiB, which are read whole where one of them is asked for.
pub(in crate::lake) const MOST_ROWS: u64 = 1 << 17;

/// Rows of a row group: the least that is decoded.
pub(in crate::lake) const GROUP: usize = 8192;

/// Whether a list is merged with others whatever they hold.
pub(in crate::lake) fn is_small(list: &ListFile) -> bool {
    list.rows < MOST_ROWS / 2
}

/// Writes inputs that ascend by path, `count` at most, as lists of at most [`MOST_ROWS`]. What was written by then is in `written`
/// whatever happens.
///
/// # Errors
/// Those of the rows; as [`write_list`].
pub(in crate::lake) fn write_inputs(
    store: &Store,
    rows: impl IntoIterator<Item = Result<InputRow>>,
    count: u64,
    written: &mut Vec<ListFile>,
) -> Result<()> {
    // All of about the same size, so that none is small that need not be.
    let most = count.div_ceil(count.div_ceil(MOST_ROWS).max(1)).max(1);
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let (mut left, mut undated) = (most as usize, 0);
        let mut paths: Option<(String, String)> = None;
        let batches = std::iter::from_fn(|| {
            let some = rows.by_ref().take(left.min(GROUP));
            let some = match some.collect::<Result<Vec<_>>>() {
                Ok(some) => some,
                Err(e) => return Some(Err(e)),
            };
            left -= some.len();
            undated += some.iter().filter(|row| row.modified == 0).count() as u64;
            let (first, last) = (some.first()?, some.last()?);
            let last = last.path.to_string();
            match &mut paths {
                Some(paths) => paths.1 = last,
                None => paths = Some((first.path.to_string(), last)),
            }
            Some(inputs_to_batch(&some))
        });
        let part = write_list(store, "input", layout()?, batches)?;
        written.extend(part.map(|part| ListFile {
            paths,
            undated,
            ..part
        }));
    }
    Ok(())
}

/// How a list of inputs is written: its row groups say which paths they hold, as a whole because those of a tree begin alike.
/// Numbers that differ in each row make large dictionaries.
pub(in crate::lake) fn layout() -> Result<WriterPropertiesBuilder> {
    let layout = properties()?
        .set_max_row_group_row_count(Some(GROUP))
        .set_statistics_truncate_length(None)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let numbers = ["modified_time", "content_hash", "job_id", "start_time"];
    Ok(numbers.into_iter().fold(layout, |layout, name| {
        layout.set_column_dictionary_enabled(name.into(), false)
    }))
}

/// Writes the rows of several lists that none of them has a newer one of.
///
/// # Errors
/// As [`InputIndex::find`] and [`write_inputs`].
pub(in crate::lake) fn merge(
    store: &Store,
    lists: &[ListFile],
    written: &mut Vec<ListFile>,
) -> Result<()> {
    let count = lists.iter().map(|list| list.rows).sum();
    write_inputs(store, InputIndex::new(store, lists).rows(), count, written)
}
