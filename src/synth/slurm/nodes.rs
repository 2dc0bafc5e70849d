//! Which nodes a job has, and how Slurm writes them.

use crate::math::random::Random;

/// Nodes of the machine, as far as their numbers go.
const NODES: i64 = 9_000;

/// So many nodes for job `index`, ascending: in a row for a few, as the traces of small jobs have them, else in some rows.
pub(crate) fn pick(seed: u64, index: u64, count: i64) -> Vec<i64> {
    let random = &mut Random::new(seed ^ 0x40de, index);
    let mut next = match count {
        ..=4 => (index * 7) as i64 % NODES,
        _ => random.int(0, NODES),
    };
    let mut nodes = vec![];
    while (nodes.len() as i64) < count {
        let left = count - nodes.len() as i64;
        let row = match count {
            ..=4 => left,
            _ => random.int(1, left + 1),
        };
        nodes.extend((next..next + row).map(|node| node % NODES));
        next += row + random.int(1, 30);
    }
    nodes.sort_unstable();
    nodes
}

/// Nodes in Slurm's short form: `nid01234`, `nid[01235-01238,01300]`.
pub(crate) fn list(nodes: &[i64]) -> String {
    if let [node] = nodes {
        return format!("nid{node:05}");
    }
    let rows = nodes.chunk_by(|a, b| a + 1 == *b).map(|row| match row {
        [one] => format!("{one:05}"),
        _ => format!("{:05}-{:05}", row[0], row[row.len() - 1]),
    });
    format!("nid[{}]", rows.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_as_many_as_asked_and_ascend() {
        for count in [1, 2, 4, 5, 64, 2048] {
            for index in [0, 1_285, 77_777] {
                let nodes = pick(3, index, count);
                assert_eq!(nodes.len() as i64, count);
                assert!(nodes.windows(2).all(|pair| pair[0] < pair[1]), "{nodes:?}");
            }
        }
    }

    #[test]
    fn rows_are_written_short() {
        assert_eq!(list(&[7]), "nid00007");
        assert_eq!(
            list(&[1, 2, 3, 9, 11, 12]),
            "nid[00001-00003,00009,00011-00012]"
        );
    }
}
