//! The triggers of Drishti on the real logs, beside what the tool says of them.

use crate::cli_program::{fresh, iolode};
use crate::support::shared_data;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

crate::tests! {
    [Data] => {
        each_real_log_has_the_triggers_that_the_tool_gives_it,
    }
}

/// 56 logs by the tool itself, the others by a computation that agrees with it on these. The tool's library does not swap the bytes of one time of
/// big-endian logs, so that it gives P19 to one of them; by the bytes of the log it has none.
fn each_real_log_has_the_triggers_that_the_tool_gives_it() {
    let (dir, data) = (fresh(), shared_data());
    let text = std::fs::read_to_string(data.join("reference/drishti_triggers.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
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

    let logs = data.join("darshan").display().to_string();
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan", &logs];
    iolode(dir.path(), &ingest).ok();
    let sql = "select l.log_path, d.* from drishti() d join darshan_log l on l.job_id = d.job_id and l.log_id = d.log_id";
    let rows = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "--format", "json", "-c", sql],
    )
    .ok();
    let rows: Vec<Map<String, Value>> = serde_json::from_str(&rows).unwrap();
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
