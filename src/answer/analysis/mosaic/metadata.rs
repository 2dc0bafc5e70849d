//! How a log loads the metadata servers: opens, closes and seeks by second of the clock.

use super::metadata_class::MetadataClass;

/// First and last access of a record, and what it asked of the metadata servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Access {
    /// First access in either direction, seconds since the log's start.
    pub first: f64,
    /// Last access in either direction, seconds since the log's start.
    pub last: f64,
    /// Opens, and as many closes.
    pub opens: i64,
    /// Seeks.
    pub seeks: i64,
}

/// From which numbers on a second is a spike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spikes {
    /// Operations in a second from which on it is counted as a spike.
    pub count_from: i64,
    /// Operations in a second above which it is a high spike.
    pub high_above: i64,
}

/// The load on the metadata servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataLoad {
    /// Its classes, in the order in which they are given.
    pub classes: Vec<MetadataClass>,
    /// Most operations in a second.
    pub highest_spike: i64,
    /// Seconds with many operations.
    pub spike_count: i64,
    /// Mean operations of a second that has any, fraction dropped.
    pub average_per_spike: i64,
    /// Operations over the seconds from the first to the last that has any; 0 if that is one.
    pub operations_per_second: f64,
    /// Seconds from the first to the last that has any.
    pub operations_duration: i64,
}

/// The load that records make. `start`: of the log, microseconds since 1970; its fraction of a second counts.
///
/// # Method
/// A record's opens and seeks count in the second of its first access, its opens once more, as closes, in that of its last access.
///
/// # Source
/// MOSAIC, metadata.
pub fn load(accesses: &[Access], start: i64, spikes: Spikes) -> MetadataLoad {
    let second = |seconds: f64| {
        let microseconds = start.saturating_add((seconds * 1e6).round() as i64);
        microseconds.div_euclid(1_000_000)
    };
    let mut counts: Vec<(i64, i64)> = Vec::with_capacity(2 * accesses.len());
    for access in accesses {
        let first = access.opens.saturating_add(access.seeks);
        if first > 0 {
            counts.push((second(access.first), first));
            counts.push((second(access.last), access.opens));
        }
    }
    counts.retain(|(_, count)| *count > 0);
    counts.sort_unstable_by_key(|(second, _)| *second);
    let seconds = counts.chunk_by(|a, b| a.0 == b.0);
    let sums = seconds.map(|second| second.iter().map(|(_, count)| *count));
    let sums: Vec<i64> = sums.map(|s| s.fold(0, i64::saturating_add)).collect();
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else {
        return MetadataLoad {
            classes: vec![MetadataClass::InsignificantLoad],
            ..MetadataLoad::default()
        };
    };
    let all = sums.iter().copied().fold(0, i64::saturating_add);
    let mut load = MetadataLoad {
        classes: vec![],
        highest_spike: sums.iter().copied().max().unwrap_or(0),
        spike_count: sums.iter().filter(|n| **n >= spikes.count_from).count() as i64,
        average_per_spike: all / sums.len() as i64,
        operations_per_second: 0.0,
        operations_duration: last.0.saturating_sub(first.0),
    };
    if load.operations_duration > 0 {
        load.operations_per_second = all as f64 / load.operations_duration as f64;
    }
    load.classes = load.found(spikes);
    load
}

impl MetadataLoad {
    fn found(&self, spikes: Spikes) -> Vec<MetadataClass> {
        let several = self.spike_count > 5;
        let classes = [
            (
                self.highest_spike > spikes.high_above,
                MetadataClass::HighSpike,
            ),
            (
                self.operations_per_second > 50.0 && several,
                MetadataClass::HighDensity,
            ),
            (several, MetadataClass::MultipleSpikes),
        ];
        let found = classes.iter().filter(|(holds, _)| *holds);
        let found: Vec<MetadataClass> = found.map(|(_, class)| *class).collect();
        match found.is_empty() {
            true => vec![MetadataClass::InsignificantLoad],
            false => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIKES: Spikes = Spikes {
        count_from: 10,
        high_above: 250,
    };

    #[test]
    fn the_fraction_of_the_start_decides_in_which_second_an_access_lies() {
        let access = Access {
            first: 0.2,
            last: 0.4,
            opens: 300,
            seeks: 7,
        };
        let of = |start| load(&[access], start, SPIKES);
        let (together, apart) = (of(1_000_000_000), of(1_000_700_000));
        assert_eq!(
            (together.highest_spike, together.operations_duration),
            (607, 0)
        );
        assert_eq!((apart.highest_spike, apart.operations_duration), (307, 1));
        assert_eq!(
            (apart.average_per_spike, apart.operations_per_second),
            (303, 607.0)
        );
        assert_eq!(apart.classes, [MetadataClass::HighSpike]);
    }

    #[test]
    fn seeks_without_opens_close_nothing() {
        let access = Access {
            first: 0.0,
            last: 9.0,
            opens: 0,
            seeks: 20,
        };
        let load = load(&[access], 0, SPIKES);
        assert_eq!(
            (
                load.highest_spike,
                load.spike_count,
                load.operations_duration
            ),
            (20, 1, 0)
        );
        assert_eq!(load.classes, [MetadataClass::InsignificantLoad]);
    }
}
