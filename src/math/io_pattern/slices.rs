//! Very many operations added up by slices of the run.

use super::operation::Operation;

/// Operations added up by `n` equal slices of the run: one for each slice that has bytes, which spans it.
///
/// An operation's bytes and rank seconds are spread evenly over its length, its opens and seeks count in the slice of its start.
///
/// # Source
/// MOSAIC, groups: mode `full` where there are too many segments.
pub fn slices(operations: &[Operation], total: f64, n: usize) -> Vec<Operation> {
    let width = total / n as f64;
    let edge = |slice: usize| slice as f64 * width;
    let slice_of = |time: f64| ((time / width) as usize).min(n.saturating_sub(1));
    let mut bytes = vec![0.0; n];
    let mut slices = vec![Operation::default(); n];
    for operation in operations {
        let (first, last) = (slice_of(operation.start), slice_of(operation.end));
        slices[first].opens = slices[first].opens.saturating_add(operation.opens);
        slices[first].seeks = slices[first].seeks.saturating_add(operation.seeks);
        for slice in first..=last {
            let own = edge(slice + 1).min(operation.end) - edge(slice).max(operation.start);
            let share = match operation.length() > 0.0 {
                true => own.max(0.0) / operation.length(),
                false => 1.0,
            };
            bytes[slice] += share * operation.bytes as f64;
            slices[slice].rank_seconds += share * operation.rank_seconds;
        }
    }
    let each = slices.into_iter().zip(bytes).enumerate();
    let with_bytes = each.filter(|(_, (_, bytes))| *bytes >= 0.5);
    let whole = with_bytes.map(|(slice, (operation, bytes))| Operation {
        start: edge(slice),
        end: edge(slice + 1),
        earliest: edge(slice),
        bytes: bytes.round() as i64,
        ..operation
    });
    whole.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_over_the_slices_that_an_operation_touches() {
        let operation = |start, end, bytes| Operation {
            start,
            end,
            bytes,
            opens: 1,
            rank_seconds: end - start,
            ..Operation::default()
        };
        let operations = [
            operation(1.0, 3.0, 100),
            operation(9.0, 9.0, 7),
            operation(10.0, 10.0, 1),
        ];
        let found = slices(&operations, 10.0, 5);
        let found: Vec<_> = found
            .iter()
            .map(|o| (o.start, o.end, o.bytes, o.opens))
            .collect();
        assert_eq!(
            found,
            [(0.0, 2.0, 50, 1), (2.0, 4.0, 50, 0), (8.0, 10.0, 8, 2)]
        );
    }
}
