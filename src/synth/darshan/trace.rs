//! A workload request by request (DXT) and by time (HEATMAP).

use crate::source::darshan::counters::posix;
use crate::source::darshan::write::{Heatmap, Record, Segment, Trace};
use crate::synth::darshan::record::is_posix;
use crate::synth::workload::{FileUse, Flow, Workload};

/// Most bins of a heat map; the narrowest are 0.1 s.
const BINS: f64 = 200.0;

/// Part `at` of `of` of a number; the parts sum to it.
fn share(number: i64, at: i64, of: i64) -> i64 {
    let edge = |at: i64| (i128::from(number) * i128::from(at) / i128::from(of)) as i64;
    edge(at + 1) - edge(at)
}

/// Heat maps of the uses that `of` picks, one for each process that moved bytes.
pub(crate) fn heatmaps(
    workload: &Workload,
    id: u64,
    of: impl Fn(&FileUse) -> bool,
) -> Vec<Heatmap> {
    let mut bin_width = 0.1;
    while workload.clock / bin_width > BINS {
        bin_width *= 2.0;
    }
    let bins = (workload.clock / bin_width).ceil() as usize;
    let mut found: Vec<Heatmap> = vec![];
    for file in workload.uses.iter().filter(|file| of(file)) {
        let ranks = if file.rank < 0 {
            0..workload.nprocs
        } else {
            file.rank..file.rank + 1
        };
        for (at, rank) in ranks.enumerate() {
            let place = found
                .iter()
                .position(|heatmap| heatmap.rank == rank)
                .unwrap_or_else(|| {
                    let empty = Heatmap {
                        id,
                        rank,
                        bin_width,
                        writes: vec![0; bins],
                        reads: vec![0; bins],
                    };
                    found.push(empty);
                    found.len() - 1
                });
            let heatmap = &mut found[place];
            for (flow, counts) in [
                (&file.written, &mut heatmap.writes),
                (&file.read, &mut heatmap.reads),
            ] {
                let Some(flow) = flow else { continue };
                spread(
                    flow,
                    share(flow.bytes, at as i64, file.procs),
                    bin_width,
                    counts,
                );
            }
        }
    }
    found
}

/// Spreads bytes evenly over the bins of a flow's window.
fn spread(flow: &Flow, bytes: i64, bin_width: f64, counts: &mut [i64]) {
    let last = counts.len() - 1;
    let (first, end) = (
        (flow.start / bin_width) as usize,
        (flow.end / bin_width) as usize,
    );
    let mut before = 0;
    let (first, end) = (first.min(last), end.min(last));
    for (bin, count) in counts.iter_mut().enumerate().take(end + 1).skip(first) {
        let until = (bin + 1) as f64 * bin_width - flow.start;
        let part = (until / (flow.end - flow.start)).clamp(0.0, 1.0);
        let until = if bin == end {
            bytes
        } else {
            (bytes as f64 * part) as i64
        };
        *count += until - before;
        before = until;
    }
}

/// Every request of every process to every POSIX file. The highest bytes of the records are set to those of the trace.
pub(crate) fn traces(workload: &Workload, records: &mut [Record], job: u64) -> Vec<Trace> {
    let mut traces = vec![];
    for file in workload.uses.iter().filter(|file| is_posix(file)) {
        let ranks = if file.rank < 0 {
            0..workload.nprocs
        } else {
            file.rank..file.rank + 1
        };
        let (mut highest_read, mut highest_written) = (0, 0);
        for (at, rank) in ranks.enumerate() {
            let of_rank = |flow: &Option<Flow>| -> Vec<Segment> {
                flow.as_ref().map_or_else(Vec::new, |flow| {
                    segments(&part(flow, at as i64, file.procs), at as i64)
                })
            };
            let (reads, writes) = (of_rank(&file.read), of_rank(&file.written));
            let highest = |segments: &[Segment]| {
                segments
                    .iter()
                    .map(|s| s.offset + s.length - 1)
                    .max()
                    .unwrap_or(0)
            };
            highest_read = highest_read.max(highest(&reads));
            highest_written = highest_written.max(highest(&writes));
            let hostname = format!("nid{:05}", (job * 7 + rank as u64 / 4) % 9_000).into_bytes();
            let shared = if file.rank < 0 { -1 } else { 0 };
            traces.push(Trace {
                id: file.id,
                rank,
                shared,
                hostname,
                writes,
                reads,
            });
        }
        if let Some(record) = records
            .iter_mut()
            .find(|record| record.id == file.id && record.rank == file.rank)
        {
            record.ints[posix::MAX_BYTE_READ] = highest_read;
            record.ints[posix::MAX_BYTE_WRITTEN] = highest_written;
        }
    }
    traces
}

/// What one of `of` processes does of a flow.
fn part(flow: &Flow, at: i64, of: i64) -> Flow {
    let sizes = flow
        .sizes
        .iter()
        .map(|(size, count)| (*size, share(*count, at, of)));
    Flow {
        sizes: sizes.filter(|(_, count)| *count > 0).collect(),
        consecutive: share(flow.consecutive, at, of),
        sequential: share(flow.sequential, at, of),
        ..flow.clone()
    }
}

/// The requests of one process: as many of them consecutive, forward and backward as its counters say, in turns.
fn segments(flow: &Flow, at: i64) -> Vec<Segment> {
    let sizes: Vec<i64> = flow
        .sizes
        .iter()
        .flat_map(|(size, count)| (0..*count).map(|_| *size))
        .collect();
    let count = sizes.len() as i64;
    let slot = (flow.end - flow.start) / count.max(1) as f64;
    // Processes start apart, so that a shared file is read and written all over.
    let mut offset = at * sizes.iter().sum::<i64>();
    let mut end = offset;
    let (mut consecutive, mut sequential) = (0, 0);
    let segment = |(place, length): (usize, i64)| {
        let place = place as i64;
        if place > 0 {
            let wanted = |of: i64| (of * place + count - 2) / (count - 1).max(1);
            if consecutive < wanted(flow.consecutive) {
                consecutive += 1;
                sequential += 1;
                offset = end;
            } else if sequential < wanted(flow.sequential) {
                sequential += 1;
                offset = end + flow.gap.max(1);
            } else {
                offset = (offset - flow.gap - length).max(0);
            }
        }
        end = offset + length;
        let start = flow.start + slot * place as f64;
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
        let flow = Flow {
            bytes: 100 * 1000 + 7,
            sizes: vec![(1000, 100), (7, 1)],
            consecutive: 60,
            sequential: 80,
            gap: 500,
            start: 1.0,
            end: 2.0,
            time: 0.9,
        };
        let segments = segments(&flow, 0);
        assert_eq!(segments.iter().map(|s| s.length).sum::<i64>(), flow.bytes);
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
        let flow = Flow {
            bytes: 1_000_003,
            sizes: vec![(1_000_003, 1)],
            consecutive: 0,
            sequential: 0,
            gap: 0,
            start: 0.25,
            end: 1.75,
            time: 1.0,
        };
        let mut counts = vec![0; 20];
        spread(&flow, flow.bytes, 0.1, &mut counts);
        assert_eq!(counts.iter().sum::<i64>(), flow.bytes);
        assert_eq!((counts[1], counts[18]), (0, 0));
        assert!((counts[10] - 66_667).abs() <= 2);
    }
}
