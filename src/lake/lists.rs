//! Lists of inputs: of many small ones a few.

use super::Lake;
use super::adapt_schema::adapt_schema;
use super::commit::{Change, is_unknown};
use super::lease::Lease;
use super::manifest::Part;
use super::parts::{look_at_inputs, read_part, write_part};
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::table::table;
use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use std::sync::atomic::AtomicBool;
use xxhash_rust::xxh3::xxh3_128;

/// How often a merge is tried while others commit.
const TRIES: usize = 50;

/// How many lists are left of these after a compaction.
pub(super) fn after(lists: &[Part]) -> usize {
    let small = lists.len() - large(lists);
    lists.len() - small + usize::from(small > 0)
}

/// How many of the lists, the largest first, have more than twice the rows of all smaller ones: they stay, so that a million rows
/// are not written anew for a hundred.
fn large(lists: &[Part]) -> usize {
    let mut rows: Vec<u64> = lists.iter().map(|list| list.rows).collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let smaller = |at: usize| rows[at + 1..].iter().sum::<u64>();
    (0..rows.len())
        .take_while(|at| rows[*at] > 2 * smaller(*at))
        .count()
}

impl Lake {
    /// Merges small lists of inputs, without the rows that newer ones have replaced; the version with them, None if there are few
    /// lists already.
    ///
    /// # Errors
    /// As [`Lake::compact`].
    pub(super) fn compact_lists(&self, cancel: &AtomicBool, lease: &Lease) -> Result<Option<u64>> {
        for _ in 0..TRIES {
            let snapshot = self.snapshot(None)?;
            let mut lists = snapshot.manifest.inputs.clone();
            lists.sort_by_key(|list| std::cmp::Reverse(list.rows));
            let small = lists.split_off(large(&lists));
            if small.len() < 2 {
                return Ok(None);
            }
            let merged = merge(&snapshot, &small)?;
            lists.extend(merged.clone());
            let committed = self.commit(
                &snapshot,
                Change {
                    operation: "compact",
                    input_lists: Some(lists),
                    cancel: Some(cancel),
                    lease: Some(lease),
                    ..Change::default()
                },
            );
            if let Ok(Some(version)) = committed {
                return Ok(Some(version));
            }
            if !is_unknown(&committed) {
                merged
                    .iter()
                    .for_each(|part| _ = self.store.delete(&part.path));
            }
            committed?;
        }
        Err(self.conflict("compaction", TRIES))
    }
}

/// One list of the rows of several that no list has a newer one of.
fn merge(snapshot: &Snapshot, lists: &[Part]) -> Result<Option<Part>> {
    let mut newest: Vec<(u128, u64)> = vec![];
    snapshot
        .look_at_inputs(|path, version, _, _| newest.push((xxh3_128(path.as_bytes()), version)))?;
    newest.sort_unstable();
    newest.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = next.1;
        }
        same
    });
    let is_newest = |path: &str, version: u64| {
        let hash = xxh3_128(path.as_bytes());
        let at = newest.binary_search_by_key(&hash, |(hash, _)| *hash);
        at.is_ok_and(|at| newest[at].1 == version)
    };
    // Lists of an older program have fewer columns.
    let table = table("lake_input")?;
    let kept = |part: &Part, rows: Result<RecordBatch>| -> Result<RecordBatch> {
        let (rows, mut mask) = (rows?, vec![]);
        look_at_inputs(&rows, |path, version, _, _| {
            mask.push(is_newest(path, version))
        })?;
        let rows = adapt_schema(&rows, table, &part.path)?;
        filter_record_batch(&rows, &BooleanArray::from(mask))
            .map_err(|e| Error::columns("lists of inputs", e))
    };
    let rows = lists.iter().map(|part| {
        let rows = read_part(snapshot.store(), part)?;
        Ok(rows.map(move |rows| kept(part, rows)))
    });
    let rows = rows.collect::<Result<Vec<_>>>()?.into_iter().flatten();
    let rows = rows.filter(|rows| rows.as_ref().map_or(true, |rows| rows.num_rows() > 0));
    write_part(snapshot.store(), "input", rows)
}
