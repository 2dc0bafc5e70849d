//! Lists of inputs: cut where they are large, merged where they are small or overlap.

use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::commit::{Change, is_unknown};
use crate::lake::version::input_index::InputIndex;
use crate::lake::version::lease::Lease;
use crate::lake::version::list_file::{InputRow, inputs_to_batch, properties, write_list};
use crate::lake::version::manifest::ListFile;
use crate::lake::version::store::Store;
use parquet::file::properties::{EnabledStatistics, WriterPropertiesBuilder};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a merge is tried while others commit.
const TRIES: usize = 50;

/// Inputs of a list at most: some MiB, which are read whole where one of them is asked for.
const MOST_ROWS: u64 = 1 << 17;

/// Rows of a row group: the least that is decoded.
const GROUP: usize = 8192;

/// Whether a list is merged with others whatever they hold.
pub(in crate::lake) fn is_small(list: &ListFile) -> bool {
    list.rows < MOST_ROWS / 2
}

/// How many lists there will be about after a compaction.
pub(in crate::lake) fn after(lists: &[ListFile]) -> usize {
    let merged = groups(lists);
    let rows = |group: &Vec<ListFile>| group.iter().map(|list| list.rows).sum::<u64>();
    let gone: usize = merged.iter().map(Vec::len).sum();
    let made = |group| rows(group).div_ceil(MOST_ROWS) as usize;
    lists.len() - gone + merged.iter().map(made).sum::<usize>()
}

/// The lists that a compaction merges with each other: the small ones, and of the others those that overlap. So those that hold
/// millions of paths that nobody has touched are not written anew for a hundred.
fn groups(lists: &[ListFile]) -> Vec<Vec<ListFile>> {
    let (small, mut large): (Vec<ListFile>, Vec<ListFile>) =
        lists.iter().cloned().partition(is_small);
    large.sort_by(|a, b| a.paths.cmp(&b.paths));
    let mut groups = vec![small];
    let (mut group, mut last): (Vec<ListFile>, Option<String>) = (vec![], None);
    for list in large {
        let paths = list.paths.clone().unwrap_or_default();
        if last.as_ref().is_some_and(|last| *last < paths.0) {
            groups.push(std::mem::take(&mut group));
        }
        last = last.max(Some(paths.1));
        group.push(list);
    }
    groups.push(group);
    groups.retain(|group| group.len() > 1);
    groups
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
fn layout() -> Result<WriterPropertiesBuilder> {
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

impl Lake {
    /// Merges small lists of inputs and those that overlap, without the rows that newer ones have replaced; the version with them,
    /// None if there are few lists already.
    ///
    /// # Errors
    /// As [`Lake::compact`].
    pub(in crate::lake) fn compact_lists(
        &self,
        cancel: &AtomicBool,
        lease: &Lease,
    ) -> Result<Option<u64>> {
        let mut newest = None;
        for _ in 0..TRIES {
            let snapshot = self.snapshot(None)?;
            let groups = groups(&snapshot.manifest.inputs);
            if groups.is_empty() {
                return Ok(newest);
            }
            let mut merged = vec![];
            let mut merge_all = || {
                for group in &groups {
                    if cancel.load(Ordering::Relaxed) {
                        return Err(Error::Interrupted);
                    }
                    merge(&self.store, group, &mut merged)?;
                }
                Ok(())
            };
            let written = merge_all();
            let committed = written.and_then(|()| {
                let gone: Vec<&ListFile> = groups.iter().flatten().collect();
                let stays = |list: &&ListFile| !gone.contains(list);
                let stay = snapshot.manifest.inputs.iter().filter(stays);
                self.commit(
                    &snapshot,
                    Change {
                        operation: "compact",
                        input_lists: Some(stay.chain(&merged).cloned().collect()),
                        cancel: Some(cancel),
                        lease: Some(lease),
                        ..Change::default()
                    },
                )
            });
            match committed {
                // Small lists may have become one that overlaps with others.
                Ok(Some(version)) => newest = Some(version),
                _ if is_unknown(&committed) => {}
                _ => merged
                    .iter()
                    .for_each(|part| _ = self.store.delete(&part.path)),
            }
            committed?;
        }
        match newest {
            Some(version) => Ok(Some(version)),
            None => Err(self.conflict("compaction", TRIES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rows: u64, first: &str, last: &str) -> ListFile {
        ListFile {
            path: format!("{rows} {first} {last}"),
            rows,
            checksum: 0,
            level: 0,
            paths: Some((first.into(), last.into())),
            undated: 0,
        }
    }

    #[test]
    fn small_lists_are_merged_and_large_ones_that_overlap() {
        let paths = |lists: &[ListFile]| -> Vec<Vec<String>> {
            let groups = groups(lists);
            let paths =
                |group: &Vec<ListFile>| group.iter().map(|list| list.path.clone()).collect();
            groups.iter().map(paths).collect()
        };
        let large = MOST_ROWS / 2;
        let lists = [
            list(large, "a", "c"),
            list(3, "a", "z"),
            list(large, "x", "y"),
            list(large + 1, "d", "f"),
            list(large + 2, "b", "d"),
            list(large, "g", "h"),
        ];
        let overlap = vec![
            lists[0].path.clone(),
            lists[4].path.clone(),
            lists[3].path.clone(),
        ];
        assert_eq!(paths(&lists), std::slice::from_ref(&overlap));
        let small = [&lists[..], &[list(large - 1, "q", "r")]].concat();
        assert_eq!(
            paths(&small),
            [
                vec!["3 a z".to_string(), format!("{} q r", large - 1)],
                overlap
            ]
        );
        assert_eq!(after(&small), 2 + 2 + 1);
        assert!(paths(&lists[..3]).is_empty());
    }
}
