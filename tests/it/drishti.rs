//! The triggers of Drishti on the real logs, beside what the tool says of them.

use crate::cli_program::{fresh, iolode};
use crate::support::shared_data;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

crate::tests! {
    [Data] => {
        each_real_log_has_the_triggers_that_the_tool_gives_it,
        each_real_log_has_the_habits_that_an_independent_computation_finds,
    }
}

/// 56 logs by the tool itself, the others by a computation that agrees with it on these. The tool's library does not swap the bytes of one time of
/// big-endian logs, so that it gives P19 to one of them; by the bytes of the log it has none.
fn each_real_log_has_the_triggers_that_the_tool_gives_it() {
    let reference = reference();
    let verdicts = |kind: &str| reference[kind]["values"].as_object().unwrap().clone();
    let mut expected: BTreeMap<String, BTreeSet<String>> = verdicts("reference_tool")
        .into_iter()
        .chain(verdicts("independent"))
        .map(|(log, codes)| {
            let codes = codes.as_array().unwrap().iter();
            (
                log,
                codes.map(|code| code.as_str().unwrap().into()).collect(),
            )
        })
        .collect();
    assert_eq!(expected.len(), 72);
    let big_endian = expected.get_mut("mpi-io-test-ppc64-3.0.0.darshan").unwrap();
    assert!(big_endian.remove("P19"));

    let rows = asked(
        "select l.log_path, d.* from drishti() d join darshan_log l on l.job_id = d.job_id and l.log_id = d.log_id",
    );
    let found: BTreeMap<String, BTreeSet<String>> = rows
        .iter()
        .map(|row| {
            let path = row["log_path"].as_str().unwrap();
            let held = row.iter().filter(|(_, value)| **value == true);
            let name = path.rsplit('/').next().unwrap();
            (
                name.into(),
                held.map(|(code, _)| code.to_uppercase()).collect(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

/// Section 4 of its rules with their defaults, and the number that decides of each. It knows no Slurm and no layouts, so that it leaves out M09
/// and M10. It has no I rules: those are ours. Small and misaligned requests it counts over all files, and waiting in collective files by POSIX; ours
/// go file by file, and by MPI-IO. Of shared records it takes the time of the mean process, ours that of the slowest. Where they differ ours are
/// compared with an oracle of their own.
fn each_real_log_has_the_habits_that_an_independent_computation_finds() {
    let reference = reference();
    let expected = reference["corrected"]["values"].as_object().unwrap();
    assert_eq!(expected.len(), 72);
    let sql = "select l.log_path, a.code, a.value from advice(severity => 'ok') a join darshan_log l on l.job_id = a.job_id and l.log_id = a.log_id";
    let mut found: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for row in asked(sql) {
        let log = row["log_path"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap();
        let code = row["code"].as_str().unwrap();
        if !OTHERS.contains(&code) && !code.starts_with('I') {
            let codes = found.entry(log.into()).or_default();
            assert!(codes.insert(code.into(), row["value"].clone()).is_none());
        }
    }
    for (log, codes) in expected {
        let mut codes = codes.as_object().unwrap().clone();
        codes.retain(|code, _| !OTHERS.contains(&code.as_str()));
        let found = found.remove(log).unwrap_or_default();
        let names = |codes: &Map<String, Value>| codes.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&found), names(&codes), "{log}");
        for (code, value) in &codes {
            let [value, ours] = [value, &found[code]].map(|value| value.as_f64().unwrap());
            // Shares have four digits there; counts and bytes are exact.
            let is_near = (value - ours).abs() <= 1e-4;
            assert!(is_near, "{log}: {code}: {ours}, not {value}");
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// Rules that the computation does not have, or has otherwise.
const OTHERS: [&str; 11] = [
    "M06", "M07", "M09", "M10", "P05", "P06", "P08", "P15", "P16", "P17", "P19",
];

fn reference() -> Value {
    let text = std::fs::read_to_string(shared_data().join("reference/drishti_triggers.json"));
    serde_json::from_str(&text.unwrap()).unwrap()
}

/// The rows of a statement over a lake of the real logs.
fn asked(sql: &str) -> Vec<Map<String, Value>> {
    let dir = fresh();
    let logs = shared_data().join("darshan").display().to_string();
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan", &logs];
    iolode(dir.path(), &ingest).ok();
    let rows = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "--format", "json", "-c", sql],
    )
    .ok();
    serde_json::from_str(&rows).unwrap()
}
