//! A workload request by request (DXT) and by time (HEATMAP).

use crate::source::darshan::counters::posix;
use crate::source::darshan::write::{Heatmap, Record, Segment, Trace};
use crate::synth::workload::{Transfer, Workload, in_bursts, share};
use std::collections::BTreeMap;

/// Most bins of a heat map; the narrowest are 0.1 s.
const BINS: f64 = 200.0;

/// Heat maps of the uses through POSIX, or of those through STDIO, one for each process that moved bytes.
pub(crate) fn heatmaps(workload: &Workload, id: u64, is_posix: bool) -> Vec<Heatmap> {
    let mut bin_width = 0.1;
    while workload.clock / bin_width > BINS {
        bin_width *= 2.0;
    }
    let bins = (workload.clock / bin_width).ceil() as usize;
    let mut found: BTreeMap<i64, Heatmap> = BTreeMap::new();
    let uses = workload.uses.iter();
    for file in uses.filter(|file| file.is_posix() == is_posix) {
        for (at, rank) in (0..).zip(file.ranks()) {
            let map = found.entry(rank).or_insert_with(|| Heatmap {
                id,
                rank,
                bin_width,
                writes: vec![0; bins],
                reads: vec![0; bins],
            });
            let counts = [&mut map.reads, &mut map.writes];
            for (moved, counts) in file.transfers.iter().zip(counts) {
                if let Some(moved) = moved {
                    for (window, bytes) in moved.moments() {
                        spread(window, share(bytes, at, file.procs), bin_width, counts);
                    }
                }
            }
        }
    }
    found.into_values().collect()
}

/// Every request of every process to every POSIX file. The highest bytes of the records are set to those of the trace.
pub(crate) fn traces(workload: &Workload, records: &mut [Record], job: u64) -> Vec<Trace> {
    let mut traces = vec![];
    for file in workload.uses.iter().filter(|file| file.is_posix()) {
        let mut highest = [0, 0];
        for (at, rank) in (0..).zip(file.ranks()) {
            let [reads, writes] = file.transfers.each_ref().map(|moved| match moved {
                None => vec![],
                Some(moved) if moved.bursts.is_empty() => {
                    segments(&part(moved, at, file.procs), at)
                }
                Some(moved) => in_bursts::segments(moved, at, file.procs),
            });
            for (highest, segments) in highest.iter_mut().zip([&reads, &writes]) {
                let ends = segments.iter().map(|s| s.offset + s.length - 1);
                *highest = ends.fold(*highest, i64::max);
            }
            traces.push(Trace {
                id: file.id,
                rank,
                shared: if file.rank < 0 { -1 } else { 0 },
                hostname: format!("nid{:05}", (job * 7 + rank as u64 / 4) % 9_000).into_bytes(),
                writes,
                reads,
            });
        }
        let own = |record: &&mut Record| (record.id, record.rank) == (file.id, file.rank);
        if let Some(record) = records.iter_mut().find(own) {
            record.ints[posix::MAX_BYTE_READ..][..2].copy_from_slice(&highest);
        }
    }
    traces
}

/// Spreads bytes evenly over the bins of a window.
fn spread((start, end): (f64, f64), bytes: i64, bin_width: f64, counts: &mut [i64]) {
    let window = end - start;
    let bin = |time: f64| ((time / bin_width) as usize).min(counts.len() - 1);
    let (first, end) = (bin(start), bin(end));
    let mut before = 0;
    for (bin, count) in counts.iter_mut().enumerate().take(end + 1).skip(first) {
        let until = (bin + 1) as f64 * bin_width - start;
        let part = (until / window).clamp(0.0, 1.0);
        let until = match bin == end {
            true => bytes,
            false => (bytes as f64 * part) as i64,
        };
        *count += until - before;
        before = until;
    }
}

/// What one of `of` processes does of a transfer.
fn part(moved: &Transfer, at: i64, of: i64) -> Transfer {
    let sizes = moved.sizes.iter();
    let sizes = sizes.map(|(size, count)| (*size, share(*count, at, of)));
    Transfer {
        sizes: sizes.filter(|(_, count)| *count > 0).collect(),
        consecutive: share(moved.consecutive, at, of),
        sequential: share(moved.sequential, at, of),
        ..moved.clone()
    }
}

/// The requests of one process: as many of them consecutive, forward and backward as its counters say, in turns.
fn segments(moved: &Transfer, at: i64) -> Vec<Segment> {
    let sizes: Vec<i64> = moved
        .sizes
        .iter()
        .flat_map(|(size, count)| (0..*count).map(|_| *size))
        .collect();
    let count = sizes.len() as i64;
    let slot = moved.window() / count.max(1) as f64;
    // Processes start apart, so that a shared file is read and written all over.
    let mut offset = at * sizes.iter().sum::<i64>();
    let mut end = offset;
    let (mut consecutive, mut sequential) = (0, 0);
    let segment = |(place, length): (usize, i64)| {
        let place = place as i64;
        if place > 0 {
            let wanted = |of: i64| (of * place + count - 2) / (count - 1).max(1);
            if consecutive < wanted(moved.consecutive) {
                consecutive += 1;
                sequential += 1;
                offset = end;
            } else if sequential < wanted(moved.sequential) {
                sequential += 1;
                offset = end + moved.gap.max(1);
            } else {
                offset = (offset - moved.gap - length).max(0);
            }
        }
        end = offset + length;
        let start = moved.start + slot * place as f64;
        Segment {
            offset,
            length,
            start,
            end: start + slot * 0.8,
            thread: 0,
        }
    };
    sizes.into_iter().enumerate().map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_the_bytes_and_the_order_that_the_counters_say() {
        let moved = Transfer {
            bytes: 100 * 1000 + 7,
            sizes: vec![(1000, 100), (7, 1)],
            consecutive: 60,
            sequential: 80,
            gap: 500,
            start: 1.0,
            end: 2.0,
            time: 0.9,
            bursts: vec![],
        };
        let segments = segments(&moved, 0);
        assert_eq!(segments.iter().map(|s| s.length).sum::<i64>(), moved.bytes);
        let pairs = || segments.windows(2);
        assert_eq!(
            pairs()
                .filter(|pair| pair[1].offset == pair[0].offset + pair[0].length)
                .count(),
            60
        );
        assert_eq!(
            pairs()
                .filter(|pair| pair[1].offset > pair[0].offset)
                .count(),
            80
        );
        assert!(segments.iter().all(|s| s.start >= 1.0 && s.end <= 2.0));
    }

    #[test]
    fn the_bins_of_a_heat_map_sum_to_the_bytes() {
        let moved = Transfer {
            bytes: 1_000_003,
            sizes: vec![(1_000_003, 1)],
            consecutive: 0,
            sequential: 0,
            gap: 0,
            start: 0.25,
            end: 1.75,
            time: 1.0,
            bursts: vec![],
        };
        let mut counts = vec![0; 20];
        spread((moved.start, moved.end), moved.bytes, 0.1, &mut counts);
        assert_eq!(counts.iter().sum::<i64>(), moved.bytes);
        assert_eq!((counts[1], counts[18]), (0, 0));
        assert!((counts[10] - 66_667).abs() <= 2);
    }
}
