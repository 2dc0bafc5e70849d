//! Bytes of a file that is held open, moved in bursts: when, how many, and by which requests.

use super::burst::Burst;
use super::{FileUse, Transfer, add_size, share};
use crate::source::darshan::write::Segment;

/// Requests of a process in a burst.
const REQUESTS: i64 = 3;

/// Which part of the time from request to request a request takes.
const FILLED: f64 = 0.8;

impl Transfer {
    /// When its bytes were moved, and how many each time: in bursts, or evenly.
    pub(crate) fn moments(&self) -> impl Iterator<Item = ((f64, f64), i64)> {
        let even = ((self.start, self.end), self.bytes);
        let even = self.bursts.is_empty().then_some(even);
        let bursts = self.bursts.iter();
        even.into_iter()
            .chain(bursts.map(|burst| ((burst.start, burst.end), burst.bytes)))
    }
}

impl FileUse {
    /// Has what is written moved in bursts, which come by start and hold all of it: each process has as many requests in each, one after another in the file.
    pub(crate) fn write_in_bursts(&mut self, bursts: Vec<Burst>) {
        let procs = self.procs;
        let Some(moved) = &mut self.transfers[1] else {
            return;
        };
        moved.sizes.clear();
        for burst in &bursts {
            for size in (0..procs).flat_map(|at| requests(burst, at, procs)) {
                add_size(&mut moved.sizes, size, 1);
            }
        }
        let following = (moved.count() - procs).max(0);
        (moved.consecutive, moved.sequential) = (following, following);
        moved.bursts = bursts;
    }
}

/// Sizes of the requests of one of `of` processes in a burst.
fn requests(burst: &Burst, at: i64, of: i64) -> impl Iterator<Item = i64> + use<> {
    let own = share(burst.bytes, at, of);
    let sizes = (0..REQUESTS).map(move |request| share(own, request, REQUESTS));
    sizes.filter(|size| *size > 0)
}

/// The requests of one of `of` processes, each a little later than those of the process before.
pub(crate) fn segments(moved: &Transfer, at: i64, of: i64) -> Vec<Segment> {
    let own = |burst: &Burst| requests(burst, at, of).sum::<i64>();
    let mut offset = at * moved.bursts.iter().map(own).max().unwrap_or(0);
    offset *= moved.bursts.len() as i64;
    let mut segments = vec![];
    for burst in &moved.bursts {
        let slot = (burst.end - burst.start) / REQUESTS as f64;
        let late = slot * (1.0 - FILLED) * at as f64 / of as f64;
        for (request, length) in requests(burst, at, of).enumerate() {
            let start = burst.start + late + slot * request as f64;
            segments.push(Segment {
                offset,
                length,
                start,
                end: start + slot * FILLED,
                thread: 0,
            });
            offset += length;
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_all_processes_sum_to_the_bytes_and_lie_in_their_bursts() {
        let burst = |start: f64, bytes| Burst {
            start,
            end: start + 2.0,
            bytes,
        };
        let moved = Transfer {
            bytes: 1_000_009,
            sizes: vec![],
            consecutive: 0,
            sequential: 0,
            gap: 0,
            start: 1.0,
            end: 12.0,
            time: 1.0,
            bursts: vec![burst(1.0, 1_000_000), burst(10.0, 9)],
        };
        let all: Vec<Segment> = (0..4).flat_map(|at| segments(&moved, at, 4)).collect();
        assert_eq!(all.iter().map(|s| s.length).sum::<i64>(), moved.bytes);
        // 9 bytes are 2, 2, 2 and 3 of four processes.
        assert_eq!(all.len(), 4 * 3 + 2 * 3 + 3);
        let is_inside = |s: &Segment| {
            let mut moments = moved.moments();
            moments.any(|((start, end), _)| start <= s.start && s.end <= end)
        };
        assert!(all.iter().all(is_inside));
        let mut offsets: Vec<(i64, i64)> = all.iter().map(|s| (s.offset, s.length)).collect();
        offsets.sort_unstable();
        assert!(offsets.windows(2).all(|p| p[0].0 + p[0].1 <= p[1].0));
    }
}
