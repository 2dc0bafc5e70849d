//! The order of a module's records, and those of them that are there twice.
//!
//! A record stands for one object and one process, so that no two have both in common. Where two do, one of them is wrong; which one
//! nothing tells, so the first is taken.

use super::module::int;

/// Sets the order of records by id, then rank, and drops those whose id and rank an earlier one has: where the first of these lay, and
/// how many they were. Records take `size` bytes, or begin at `starts` if that is 0; their numbers are little-endian.
pub(super) fn drop_repeated(
    bytes: &mut Vec<u8>,
    starts: &mut Vec<usize>,
    size: usize,
    order: &mut Vec<u32>,
) -> Option<(usize, usize)> {
    let repeated = sort_records(bytes, starts, size, order);
    let first = begin(starts, size, *repeated.first()? as usize, bytes.len());
    remove(&repeated, bytes, starts, size);
    sort_records(bytes, starts, size, order);
    Some((first, repeated.len()))
}

/// Sorts the numbers 0..n by id, then rank, and returns those whose id and rank an earlier one has, ascending.
pub(super) fn sort(order: &mut Vec<u32>, n: usize, key: impl Fn(usize) -> (u64, i64)) -> Vec<u32> {
    order.clear();
    order.extend(0..n as u32);
    if order.is_sorted_by(|a, b| key(*a as usize) < key(*b as usize)) {
        return vec![];
    }
    // Ids are hashes, evenly spread: by their first bits each is near its place already, and few are left to compare.
    let shift = 64 - n.ilog2().clamp(1, 16);
    let bucket = |id: u64| (id >> shift) as usize;
    let ids: Vec<u64> = (0..n).map(|r| key(r).0).collect();
    let mut places = vec![0usize; bucket(u64::MAX) + 2];
    ids.iter().for_each(|id| places[bucket(*id) + 1] += 1);
    (1..places.len()).for_each(|i| places[i] += places[i - 1]);
    let mut sorted = vec![(0, 0); n];
    for (r, id) in (0..).zip(ids) {
        let place = &mut places[bucket(id)];
        sorted[*place] = (id, r);
        *place += 1;
    }
    let rank = |r: u32| key(r as usize).1;
    let near = sorted.chunk_by_mut(|a, b| bucket(a.0) == bucket(b.0));
    for near in near.filter(|near| near.len() > 1) {
        near.sort_unstable_by_key(|(id, r)| (*id, rank(*r), *r));
    }
    order.clear();
    order.extend(sorted.iter().map(|(_, r)| *r));
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    let same = pairs.filter(|(a, b)| a.0 == b.0 && rank(a.1) == rank(b.1));
    let mut repeated: Vec<u32> = same.map(|(_, b)| b.1).collect();
    repeated.sort_unstable();
    repeated
}

fn sort_records(bytes: &[u8], starts: &[usize], size: usize, order: &mut Vec<u32>) -> Vec<u32> {
    let n = count(bytes, starts, size);
    sort(order, n, |record| {
        let at = begin(starts, size, record, bytes.len());
        (int(bytes, at) as u64, int(bytes, at + 8))
    })
}

/// How many records there are.
pub(super) fn count(bytes: &[u8], starts: &[usize], size: usize) -> usize {
    bytes.len().checked_div(size).unwrap_or(starts.len())
}

/// Where a record begins; the end for the one after the last.
pub(super) fn begin(starts: &[usize], size: usize, record: usize, end: usize) -> usize {
    match size {
        0 => starts.get(record).copied().unwrap_or(end),
        size => size * record,
    }
}

/// Removes the records of these numbers, which ascend.
fn remove(records: &[u32], bytes: &mut Vec<u8>, starts: &mut Vec<usize>, size: usize) {
    let (all, n) = (bytes.len(), count(bytes, starts, size));
    let mut to = begin(starts, size, 0, all);
    let (mut removed, mut kept) = (records.iter().peekable(), vec![]);
    for record in 0..n {
        if removed.next_if(|r| **r as usize == record).is_some() {
            continue;
        }
        let from = begin(starts, size, record, all);
        let end = begin(starts, size, record + 1, all);
        bytes.copy_within(from..end, to);
        kept.push(to);
        to += end - from;
    }
    bytes.truncate(to);
    if size == 0 {
        *starts = kept;
    }
}
