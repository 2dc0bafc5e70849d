//! The rows of the build side of a join, found by their keys.
//!
//! A key is cut in two: its outer part, of which probe rows come in runs, and its inner part, which differs from row
//! to row. Build rows of one outer part lie together and have buckets of their own, so that a run is looked up once, and each row of
//! it among a few build rows that are near each other in memory.

use super::fixed_keys::runs_of;
use datafusion::arrow::array::{
    Array, ArrayRef, DynComparator, RecordBatch, UInt32Array, make_comparator,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{SortOptions, take_arrays, take_record_batch};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::{JoinType, Result};
use std::iter::repeat_n;
use std::ops::Range;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

const SEED: u64 = 4;

/// The rows of the build side, and where those of a key are.
pub(super) struct BuildTable {
    rows: RecordBatch,
    outer: Vec<ArrayRef>,
    inner: Vec<ArrayRef>,
    /// The rows of each outer part.
    ranges: Vec<Range<usize>>,
    by_outer: Buckets,
    /// Of the rows of each range; empty if there is no inner part.
    by_inner: Buckets,
}

impl BuildTable {
    /// Of fewer than 2^32 - 1 rows, with both parts of their keys.
    pub(super) fn try_new(
        rows: RecordBatch,
        outer: Vec<ArrayRef>,
        inner: Vec<ArrayRef>,
    ) -> Result<Self> {
        let mut build = Self {
            ranges: runs_of(&outer),
            by_outer: Buckets::default(),
            by_inner: Buckets::default(),
            rows,
            outer,
            inner,
        };
        if !build.index_ranges()? {
            build.gather()?;
        }
        if !build.inner.is_empty() {
            let hashes = hashes(&build.inner, build.rows.num_rows())?;
            build.by_inner = Buckets::of(hashes.len());
            for range in &build.ranges {
                // From the last to the first: a chain then goes from the first to the last.
                for row in range.clone().rev() {
                    build.by_inner.put(range, row, hashes[row]);
                }
            }
        }
        Ok(build)
    }

    pub(super) fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// Bytes that the search among so many rows takes at most.
    pub(super) fn size_at_most(rows: usize) -> usize {
        rows * (size_of::<Range<usize>>() + 2 * 3 * size_of::<u32>())
    }

    /// Bytes that the search takes, without the rows.
    pub(super) fn size(&self) -> usize {
        self.by_outer.size()
            + self.by_inner.size()
            + self.ranges.capacity() * size_of::<Range<usize>>()
    }

    /// Indexes the ranges by their keys. False if a key has several, by when the index is of no use.
    fn index_ranges(&mut self) -> Result<bool> {
        let hashes = self.hashes_of_ranges()?;
        let equal = Equal::try_new(&self.outer, &self.outer)?;
        self.by_outer = Buckets::of(hashes.len());
        let all = 0..hashes.len();
        for (range, hash) in hashes.iter().enumerate() {
            let start = self.ranges[range].start;
            let same = |other: &usize| equal.are(self.ranges[*other].start, start);
            if self.by_outer.chain(&all, *hash).any(|other| same(&other)) {
                return Ok(false);
            }
            self.by_outer.put(&all, range, *hash);
        }
        Ok(true)
    }

    fn hashes_of_ranges(&self) -> Result<Vec<u64>> {
        let starts = self.ranges.iter().map(|range| range.start as u32);
        let starts = UInt32Array::from_iter_values(starts);
        hashes(&take_arrays(&self.outer, &starts, None)?, self.ranges.len())
    }

    /// Moves the rows of each outer part together, and indexes them.
    fn gather(&mut self) -> Result<()> {
        let hashes = self.hashes_of_ranges()?;
        let equal = Equal::try_new(&self.outer, &self.outer)?;
        let mut table = Buckets::of(hashes.len());
        let all = 0..hashes.len();
        let mut firsts: Vec<usize> = vec![];
        let mut parts: Vec<Vec<usize>> = vec![];
        for (range, hash) in hashes.iter().enumerate() {
            let start = self.ranges[range].start;
            let same = |part: &usize| equal.are(firsts[*part], start);
            let known = table.chain(&all, *hash).find(same);
            match known {
                Some(part) => parts[part].push(range),
                None => {
                    table.put(&all, parts.len(), *hash);
                    firsts.push(start);
                    parts.push(vec![range]);
                }
            }
        }
        let mut order = Vec::with_capacity(self.rows.num_rows());
        let mut ranges = Vec::with_capacity(parts.len());
        for part in parts {
            let start = order.len();
            for range in part {
                order.extend(self.ranges[range].clone().map(|row| row as u32));
            }
            ranges.push(start..order.len());
        }
        let order = UInt32Array::from(order);
        self.rows = take_record_batch(&self.rows, &order)?;
        self.outer = take_arrays(&self.outer, &order, None)?;
        self.inner = take_arrays(&self.inner, &order, None)?;
        self.ranges = ranges;
        self.index_ranges()?;
        Ok(())
    }
}

/// Numbers by hash. Those of a region share buckets that no number of another region is in.
#[derive(Default)]
struct Buckets {
    /// The first number of each bucket. A region of n numbers from s has the buckets from 2s, the next power of two of n of them.
    first: Vec<u32>,
    /// The number after each.
    next: Vec<u32>,
}

impl Buckets {
    fn of(numbers: usize) -> Self {
        Self {
            first: vec![NONE; 2 * numbers],
            next: vec![NONE; numbers],
        }
    }

    fn size(&self) -> usize {
        (self.first.capacity() + self.next.capacity()) * size_of::<u32>()
    }

    fn bucket(region: &Range<usize>, hash: u64) -> usize {
        2 * region.start + (hash as usize & (region.len().next_power_of_two() - 1))
    }

    fn put(&mut self, region: &Range<usize>, number: usize, hash: u64) {
        let first = &mut self.first[Self::bucket(region, hash)];
        self.next[number] = *first;
        *first = number as u32;
    }

    /// The numbers of a bucket.
    fn chain(&self, region: &Range<usize>, hash: u64) -> impl Iterator<Item = usize> {
        let mut at = self.first[Self::bucket(region, hash)];
        std::iter::from_fn(move || {
            let number = at as usize;
            (at != NONE).then(|| {
                at = self.next[number];
                number
            })
        })
    }
}

/// Whether the keys of two rows are equal.
struct Equal(Vec<DynComparator>);

impl Equal {
    fn try_new(keys: &[ArrayRef], others: &[ArrayRef]) -> Result<Self> {
        let pairs = keys.iter().zip(others);
        let comparators =
            pairs.map(|(key, other)| make_comparator(key, other, SortOptions::default()));
        Ok(Self(comparators.collect::<Result<_, _>>()?))
    }

    fn are(&self, row: usize, other: usize) -> bool {
        self.0.iter().all(|compare| compare(row, other).is_eq())
    }
}

fn hashes(keys: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
    let mut hashes = vec![0; rows];
    create_hashes(keys, &RandomState::with_seed(SEED), &mut hashes)?;
    Ok(hashes)
}

/// Where any of the keys is NULL.
fn nulls(keys: &[ArrayRef]) -> Option<NullBuffer> {
    keys.iter().fold(None, |nulls, key| {
        NullBuffer::union(nulls.as_ref(), key.logical_nulls().as_ref())
    })
}

/// The search for the rows of one batch.
pub(super) struct Search {
    /// The runs of the batch, and the range of each.
    runs: Vec<(Range<usize>, Option<Range<usize>>)>,
    inner: Option<Inner>,
    /// The run and the row where the search goes on.
    at: (usize, usize),
}

struct Inner {
    hashes: Vec<u64>,
    nulls: Option<NullBuffer>,
    equal: Equal,
}

/// Rows that a search found.
#[derive(Default)]
pub(super) struct Found {
    /// Build rows, [`NONE`] for none; nothing where build rows are not asked for.
    pub(super) build: Vec<u32>,
    /// Rows of the batch.
    pub(super) rows: Vec<u32>,
}

impl Search {
    /// With the keys of a batch.
    pub(super) fn try_new(
        build: &BuildTable,
        outer: &[ArrayRef],
        inner: &[ArrayRef],
    ) -> Result<Self> {
        let runs = runs_of(outer);
        let starts = runs.iter().map(|run| run.start as u32);
        let starts = take_arrays(outer, &UInt32Array::from_iter_values(starts), None)?;
        let hash = hashes(&starts, runs.len())?;
        let null = nulls(&starts);
        let equal = Equal::try_new(&build.outer, &starts)?;
        let all = 0..build.ranges.len();
        let mut searched = Vec::with_capacity(runs.len());
        for (i, run) in runs.into_iter().enumerate() {
            let known = !all.is_empty() && null.as_ref().is_none_or(|null| null.is_valid(i));
            let mut ranges = known
                .then(|| build.by_outer.chain(&all, hash[i]))
                .into_iter()
                .flatten()
                .map(|range| &build.ranges[range]);
            let range = ranges.find(|range| equal.are(range.start, i)).cloned();
            searched.push((run, range));
        }
        let inner = match inner {
            [] => None,
            [first, ..] => Some(Inner {
                hashes: hashes(inner, first.len())?,
                nulls: nulls(inner),
                equal: Equal::try_new(&build.inner, inner)?,
            }),
        };
        Ok(Self {
            runs: searched,
            inner,
            at: (0, 0),
        })
    }

    /// What a join of this type gives for further rows of the batch, in their order, until it is `limit` or more: what
    /// one row gives is not divided. None at the end.
    pub(super) fn next(&mut self, build: &BuildTable, of: JoinType, limit: usize) -> Option<Found> {
        let mut found = Found::default();
        while let Some((run, range)) = self.runs.get(self.at.0) {
            let rows = self.at.1.max(run.start)..run.end;
            self.at = (self.at.0 + 1, 0);
            match (range, &self.inner) {
                (Some(range), None) if of == JoinType::Inner && range.len() == 1 => {
                    found.build.extend(repeat_n(range.start as u32, rows.len()));
                    found.rows.extend(rows.map(|row| row as u32));
                }
                (range, inner) => {
                    for row in rows {
                        let known = |inner: &&Inner| {
                            inner.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                        };
                        match (range, inner) {
                            (Some(range), None) => found.row(of, row, range.clone()),
                            (Some(range), Some(inner)) if known(&inner) => {
                                let chain = build.by_inner.chain(range, inner.hashes[row]);
                                found.row(
                                    of,
                                    row,
                                    chain.filter(|build| inner.equal.are(*build, row)),
                                );
                            }
                            _ => found.row(of, row, []),
                        }
                        if found.rows.len() >= limit && row + 1 < run.end {
                            self.at = (self.at.0 - 1, row + 1);
                            return Some(found);
                        }
                    }
                }
            }
            if found.rows.len() >= limit {
                return Some(found);
            }
        }
        (!found.rows.is_empty()).then_some(found)
    }
}

impl Found {
    /// Adds what a join of this type gives for a row and the build rows of its key.
    fn row(&mut self, of: JoinType, row: usize, build: impl IntoIterator<Item = usize>) {
        let before = self.rows.len();
        let mut build = build.into_iter();
        match of {
            JoinType::RightSemi | JoinType::RightAnti => {
                if build.next().is_some() == (of == JoinType::RightSemi) {
                    self.rows.push(row as u32);
                }
                return;
            }
            _ => self.build.extend(build.map(|build| build as u32)),
        }
        if of == JoinType::Right && self.build.len() == before {
            self.build.push(NONE);
        }
        self.rows.resize(self.build.len(), row as u32);
    }
}
