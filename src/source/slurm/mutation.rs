//! Damaged dumps: nothing panics, and what is not damaged stays what it was.

use super::tests::jobs_by_id;
use super::*;
use crate::source::tests::shared;
use proptest::prelude::*;

/// Some bytes replaced, dropped or put in.
fn damaged(bytes: &[u8], wounds: &[(f64, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, kind, byte) in wounds {
        let at = (place * bytes.len() as f64) as usize;
        match kind {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), *byte),
            2 if at < bytes.len() => _ = bytes.remove(at),
            3 => bytes.insert(at.min(bytes.len()), b'\n'),
            4 => bytes.insert(at.min(bytes.len()), b'|'),
            5 => {
                // A stretch once more, somewhere else.
                let stretch = bytes
                    [at.min(bytes.len())..(at + usize::from(*byte) * 4).min(bytes.len())]
                    .to_vec();
                let to = at / 2;
                bytes.splice(to..to, stretch);
            }
            _ if at < bytes.len() => bytes[at] = *byte,
            _ => {}
        }
    }
    bytes
}

fn wounds() -> impl Strategy<Value = Vec<(f64, u8, u8)>> {
    prop::collection::vec((0.0..1.0f64, 0u8..8, any::<u8>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_text_dump_never_panics_and_loses_only_what_is_damaged(wounds in wounds()) {
        let Some(path) = shared("slurm/run1/sacct_P_recommended.psv") else { return Ok(()) };
        let whole = std::fs::read(path).unwrap();
        let bytes = damaged(&whole, &wounds);
        let expected = jobs_by_id(whole.clone()).unwrap();
        if let Ok(found) = jobs_by_id(bytes.clone()) {
            // A job whose lines are all there with their neighbours, as they were, is what it was.
            let mut lines: std::collections::HashMap<&[u8], usize> = Default::default();
            bytes.split(|b| *b == b'\n').for_each(|line| *lines.entry(line).or_default() += 1);
            let header = whole.iter().position(|b| *b == b'\n').unwrap_or(0);
            let headed = bytes.starts_with(&whole[..=header]);
            let text: Vec<&[u8]> = whole.split(|b| *b == b'\n').collect();
            for (at, line) in text.iter().enumerate().skip(2) {
                let around = text.get(at.saturating_sub(2)..(at + 3).min(text.len())).unwrap_or_default();
                let id = String::from_utf8_lossy(line).split('|').nth(1).map(str::to_string);
                let whole_around = around.iter().all(|line| lines.contains_key(line)) && lines[line] == 1;
                if let Some(id) = id.and_then(|id| id.parse::<i64>().ok()).filter(|_| whole_around && headed) {
                    prop_assert_eq!(found.contains_key(&id), expected.contains_key(&id), "{}", id);
                }
            }
        }
    }

    #[test]
    fn a_damaged_json_dump_never_panics(wounds in wounds()) {
        let Some(path) = shared("slurm/run1/sacct.json") else { return Ok(()) };
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(60_000);
        let _ = jobs_by_id(damaged(&bytes, &wounds));
    }

    #[test]
    fn any_text_is_a_list_of_nodes_or_none(text in "[a-z0-9,\\[\\]\\-]{0,24}") {
        let _ = hostlist::expand(&text);
    }
}
