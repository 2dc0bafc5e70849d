//! Damaged dumps: nothing panics, and what is not damaged stays what it was.

use crate::columns::{ints, texts};
use crate::support::shared_data;
use iolode::source::slurm::{Slurm, hostlist};
use iolode::source::{BatchSink, Input, Source};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

crate::tests! {
    [] => {
        any_text_is_a_list_of_nodes_or_none,
    }
    [Data] => {
        a_damaged_text_dump_never_panics_and_loses_only_what_is_damaged,
        a_damaged_json_dump_never_panics,
    }
}

/// State of each job of a dump.
fn jobs_by_id(bytes: Vec<u8>) -> iolode::Result<BTreeMap<i64, Option<String>>> {
    let mut tables = BatchSink::new(Slurm.tables().iter().copied())?;
    Slurm
        .reader(Arc::default())
        .read(&Input::from_bytes("dump", bytes), 0, None, &mut tables)?;
    let rows = tables.builders()[0].finish()?;
    Ok(ints(&rows, "job_id")
        .into_iter()
        .flatten()
        .zip(texts(&rows, "state"))
        .collect())
}

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

    fn a_damaged_text_dump_never_panics_and_loses_only_what_is_damaged(wounds in wounds()) {
        let path = shared_data().join("slurm/run1/sacct_P_recommended.psv");
        let whole = std::fs::read(path).unwrap();
        let bytes = damaged(&whole, &wounds);
        let expected = jobs_by_id(whole.clone()).unwrap();
        if let Ok(found) = jobs_by_id(bytes.clone()) {
            // A job whose lines are all there with their neighbours, as they were, is what it was.
            let mut lines: HashMap<&[u8], usize> = Default::default();
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

    fn a_damaged_json_dump_never_panics(wounds in wounds()) {
        let path = shared_data().join("slurm/run1/sacct.json");
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(60_000);
        let _ = jobs_by_id(damaged(&bytes, &wounds));
    }

    fn any_text_is_a_list_of_nodes_or_none(text in "[a-z0-9,\\[\\]\\-]{0,24}") {
        let _ = hostlist::expand(&text);
    }
}
