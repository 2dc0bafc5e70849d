//! What the lake holds of a table's range or day, and what dumps bring for it, to the rows that stay.

use super::external_sort::{Block, Keys, SortedRun, filtered, of_jobs};
use crate::error::{Error, Result};
use crate::lake::file::data_reader::read_rows;
use crate::lake::file::data_sink::Finished;
use crate::lake::file::target::FileDestination;
use crate::lake::file::writer::RangeWriter;
use crate::lake::version::list_file::DataFile;
use crate::source::RowMerger;
use crate::table::Table;
use arrow::array::{AsArray, BooleanArray};
use arrow::compute::{concat_batches, interleave_record_batch};
use arrow::datatypes::{DataType, Int64Type};
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashSet};
use std::sync::Arc;

/// Rows that are resolved at once, at least.
const ROWS: usize = 16 << 10;

/// What a merge made.
pub(in crate::lake) struct Merged {
    /// The new file; None if no row is left, or nothing has changed.
    pub(in crate::lake) file: Option<Finished>,
    /// Whether the rows are others than the lake's.
    pub(in crate::lake) changed: bool,
}

/// Merges the rows of `old` and of `runs` that belong to the target, and writes the file that takes the place of `old`, if that is
/// another or `rewrite` is wanted; rows of the ids that `moved` says go. `row_merger` may have seen the rows of days before.
pub(in crate::lake) fn merge(
    table: &Arc<Table>,
    target: &FileDestination,
    old: &[DataFile],
    runs: &[Arc<SortedRun>],
    row_merger: &mut dyn RowMerger,
    rewrite: bool,
    moved: &BTreeSet<i64>,
) -> Result<Merged> {
    let mut writer = RangeWriter::new(table, target.clone(), &[], Arc::new(HashSet::new()))?;
    let mut changed = false;
    each(
        table,
        target,
        old,
        runs,
        row_merger.group(),
        |rows, ours| {
            let kept = without(row_merger.resolve(&rows)?, table, moved)?;
            if !changed {
                let before = if ours.true_count() == rows.num_rows() {
                    rows
                } else {
                    filtered(&rows, &ours)?
                };
                changed = before != kept;
            }
            writer.write(&kept)
        },
    )?;
    // A file that says what the old one says stays unreferenced.
    let file = if changed || rewrite {
        writer.finish()?
    } else {
        None
    };
    Ok(Merged { file, changed })
}

/// The rows that are of none of these jobs.
fn without(rows: RecordBatch, table: &Table, moved: &BTreeSet<i64>) -> Result<RecordBatch> {
    let Some(at) = table.position("job_id").filter(|_| !moved.is_empty()) else {
        return Ok(rows);
    };
    let jobs = rows.column(at).as_primitive::<Int64Type>().values();
    let stays: BooleanArray = jobs.iter().map(|job| Some(!moved.contains(job))).collect();
    filtered(&rows, &stays)
}

/// Feeds the previous day to the merger, so that the first interval of a day has a predecessor.
pub(in crate::lake) fn prime(
    table: &Arc<Table>,
    target: &FileDestination,
    files: &[DataFile],
    row_merger: &mut dyn RowMerger,
) -> Result<()> {
    each(table, target, files, &[], row_merger.group(), |rows, _| {
        row_merger.resolve(&rows).map(drop)
    })
}

/// Shows the rows of files of the lake in the order of their table: files that follow one another one after the other, those that
/// overlap merged.
pub(in crate::lake) fn in_order(
    table: &Arc<Table>,
    target: &FileDestination,
    files: &[DataFile],
    mut take: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut chains = chains(files);
    if chains.len() > 1 {
        return each(table, target, files, &[], usize::MAX, |rows, _| take(rows));
    }
    for file in chains.pop().into_iter().flatten() {
        for batch in read_rows(&target.store, table, &file.path, 8192)? {
            take(batch?)?;
        }
    }
    Ok(())
}

/// Rows in order, in whole groups, with the lake's before others of the same key; and which of them are the lake's.
fn each(
    table: &Arc<Table>,
    target: &FileDestination,
    old: &[DataFile],
    runs: &[Arc<SortedRun>],
    group: usize,
    mut take: impl FnMut(RecordBatch, BooleanArray) -> Result<()>,
) -> Result<()> {
    let keys = Keys::new(table)?;
    let prefix = prefix(table, group);
    let same_group = |a: &[u8], b: &[u8]| match prefix {
        Some(length) => a.get(..length) == b.get(..length),
        None => a == b,
    };
    let of_lake = |files| Cursor::of_lake(table, target, files);
    let mut cursors: Vec<Cursor> = chains(old).into_iter().map(of_lake).collect();
    let lakes = cursors.len();
    cursors.extend(
        runs.iter()
            .map(|run| Cursor::of_run(table, target, run.clone())),
    );
    let mut heap = BinaryHeap::new();
    for (rank, cursor) in cursors.iter_mut().enumerate() {
        if let Some(key) = cursor.key(&keys)? {
            heap.push(Reverse((key, rank)));
        }
    }
    let (mut pieces, mut count): (Vec<Piece>, usize) = (vec![], 0);
    while let Some(Reverse((_, rank))) = heap.pop() {
        let bound = heap.peek().map(|Reverse((key, rank))| (&key[..], *rank));
        let cursor = &mut cursors[rank];
        let (piece, last) = cursor.take_until(bound, rank, &keys)?;
        count += piece.rows.num_rows();
        pieces.push(Piece {
            ours: rank < lakes,
            ..piece
        });
        if let Some(key) = cursor.key(&keys)? {
            heap.push(Reverse((key, rank)));
        }
        let ends_group = heap
            .peek()
            .is_none_or(|Reverse((key, _))| !same_group(key, &last));
        if count >= ROWS && ends_group {
            let (rows, ours) = joined(&std::mem::take(&mut pieces))?;
            count = 0;
            take(rows, ours)?;
        }
    }
    if !pieces.is_empty() {
        let (rows, ours) = joined(&pieces)?;
        take(rows, ours)?;
    }
    Ok(())
}

/// Files whose rows follow one another, in that order. As a rule that is one chain: ranges do not overlap.
fn chains(files: &[DataFile]) -> Vec<Vec<DataFile>> {
    let mut files = files.to_vec();
    files.sort_by_key(|file| file.job_id);
    let mut chains: Vec<Vec<DataFile>> = vec![];
    for file in files {
        let follows = |chain: &&mut Vec<DataFile>| {
            let last = chain.last().and_then(|last| last.job_id);
            last.zip(file.job_id)
                .is_some_and(|((_, most), (least, _))| most < least)
        };
        match chains.iter_mut().find(follows) {
            Some(chain) => chain.push(file),
            None => chains.push(vec![file]),
        }
    }
    chains
}

/// Bytes of a key that the first columns of the sort order take; None for all.
fn prefix(table: &Table, columns: usize) -> Option<usize> {
    if columns >= table.sort.len() {
        return None;
    }
    // One byte says whether a value is NULL.
    let width = |name: &String| {
        let at = table.position(name)?;
        match table.schema.field(at).data_type() {
            DataType::Int32 => Some(5),
            DataType::Int64 | DataType::UInt64 | DataType::Timestamp(..) => Some(9),
            _ => None,
        }
    };
    table.sort[..columns].iter().map(width).sum()
}

struct Piece {
    rows: RecordBatch,
    ours: bool,
}

/// Pieces as one batch. Short ones are taken row by row.
fn joined(pieces: &[Piece]) -> Result<(RecordBatch, BooleanArray)> {
    let failed = |e| Error::columns("rows of a lake", e);
    let all: usize = pieces.iter().map(|piece| piece.rows.num_rows()).sum();
    let ours: BooleanArray = pieces
        .iter()
        .flat_map(|p| std::iter::repeat_n(Some(p.ours), p.rows.num_rows()))
        .collect();
    let rows = match pieces {
        [piece] => piece.rows.clone(),
        pieces if all / pieces.len() >= 16 => {
            concat_batches(&pieces[0].rows.schema(), pieces.iter().map(|p| &p.rows))
                .map_err(failed)?
        }
        pieces => {
            let batches: Vec<&RecordBatch> = pieces.iter().map(|p| &p.rows).collect();
            let places: Vec<(usize, usize)> = batches
                .iter()
                .enumerate()
                .flat_map(|(b, rows)| (0..rows.num_rows()).map(move |row| (b, row)))
                .collect();
            interleave_record_batch(&batches, &places).map_err(failed)?
        }
    };
    Ok((rows, ours))
}

/// Sorted rows, batch by batch.
struct Cursor {
    feed: Feed,
    current: Option<(RecordBatch, Rows)>,
    at: usize,
}

/// Reads the rows of a block that belong to the target.
type ReadBlock = Box<dyn Fn(&SortedRun, &Block) -> Result<RecordBatch> + Send>;

enum Feed {
    Lake(Box<dyn Iterator<Item = Result<RecordBatch>> + Send>),
    /// Blocks that are still to come, the next one last. It is read only when its first row is due.
    SortedRun {
        run: Arc<SortedRun>,
        blocks: Vec<Block>,
        read: ReadBlock,
    },
}

impl Cursor {
    fn of_lake(table: &Arc<Table>, target: &FileDestination, files: Vec<DataFile>) -> Self {
        let (store, job) = (target.store.clone(), table.position("job_id"));
        let (from, to, table) = (target.from, target.to, table.clone());
        let batches = files.into_iter().flat_map(move |file| {
            match read_rows(&store, &table, &file.path, 8192) {
                Ok(batches) => {
                    let kept = batches.map(move |batch| {
                        let batch = batch?;
                        Ok(job.map_or(batch.clone(), |at| of_jobs(&batch, at, from, to)))
                    });
                    Box::new(kept) as Box<dyn Iterator<Item = Result<RecordBatch>> + Send>
                }
                Err(e) => Box::new(std::iter::once(Err(e))),
            }
        });
        Self {
            feed: Feed::Lake(Box::new(batches)),
            current: None,
            at: 0,
        }
    }

    fn of_run(table: &Arc<Table>, target: &FileDestination, run: Arc<SortedRun>) -> Self {
        let (from, to) = (target.from, target.to);
        let inside = |block: &&Block| {
            block.jobs.is_none_or(|(least, most)| {
                from.is_none_or(|from| from <= most) && to.is_none_or(|to| least < to)
            })
        };
        let mut blocks: Vec<Block> = run.blocks.iter().filter(inside).cloned().collect();
        blocks.reverse();
        let (table, job) = (table.clone(), table.position("job_id"));
        let read = move |run: &SortedRun, block: &Block| {
            let rows = run.read(block, &table)?;
            Ok(job.map_or(rows.clone(), |at| of_jobs(&rows, at, from, to)))
        };
        // What begins outside has another first row than its block.
        let mut cursor = Self {
            feed: Feed::SortedRun {
                run,
                blocks,
                read: Box::new(read),
            },
            current: None,
            at: 0,
        };
        if let Feed::SortedRun { blocks, .. } = &mut cursor.feed
            && let Some(block) = blocks.last_mut()
            && block
                .jobs
                .is_some_and(|(least, _)| from.is_some_and(|from| least < from))
        {
            block.first = Box::default();
        }
        cursor
    }

    /// Key of the next row; None at the end.
    fn key(&mut self, keys: &Keys) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some((rows, key)) = &self.current {
                if self.at < rows.num_rows() {
                    return Ok(Some(key.row(self.at).as_ref().to_vec()));
                }
                self.current = None;
            }
            if let Feed::SortedRun { blocks, .. } = &self.feed {
                match blocks.last() {
                    None => return Ok(None),
                    Some(block) if !block.first.is_empty() => {
                        return Ok(Some(block.first.to_vec()));
                    }
                    Some(_) => {}
                }
            }
            if !self.load(keys)? {
                return Ok(None);
            }
        }
    }

    fn load(&mut self, keys: &Keys) -> Result<bool> {
        let rows = match &mut self.feed {
            Feed::Lake(batches) => batches.next().transpose()?,
            Feed::SortedRun { run, blocks, read } => {
                blocks.pop().map(|block| read(run, &block)).transpose()?
            }
        };
        let Some(rows) = rows else {
            return Ok(false);
        };
        let key = keys.of(&rows)?;
        (self.current, self.at) = (Some((rows, key)), 0);
        Ok(true)
    }

    /// The next rows as long as they come before `bound`, the next row of another cursor; and the key of the last of them. Rows of
    /// the same key come in the order of the cursors' ranks.
    fn take_until(
        &mut self,
        bound: Option<(&[u8], usize)>,
        rank: usize,
        keys: &Keys,
    ) -> Result<(Piece, Vec<u8>)> {
        if self.current.is_none() {
            self.load(keys)?;
        }
        let Some((rows, key)) = &self.current else {
            return Err(Error::Invalid("rows of a dump are gone".into()));
        };
        let before = |row: usize| {
            bound.is_none_or(|(bound, other)| (key.row(row).as_ref(), rank) < (bound, other))
        };
        // Whoever was popped has at least one row that is due.
        let (mut from, mut to) = (self.at + 1, rows.num_rows());
        while from < to {
            let middle = from.midpoint(to);
            if before(middle) {
                from = middle + 1
            } else {
                to = middle
            }
        }
        let piece = rows.slice(self.at, from - self.at);
        let last = key.row(from - 1).as_ref().to_vec();
        self.at = from;
        Ok((
            Piece {
                rows: piece,
                ours: false,
            },
            last,
        ))
    }
}
