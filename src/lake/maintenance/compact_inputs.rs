//! Lists of inputs: cut where they are large, merged where they are small or overlap.

use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::version::commit::{Change, is_unknown};
use crate::lake::version::input_lists::{MOST_ROWS, is_small, merge};
use crate::lake::version::lease::Lease;
use crate::lake::version::manifest::ListFile;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a merge is tried while others commit.
const TRIES: usize = 50;

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
            let snapshot = self.snapshot_to_change()?;
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
