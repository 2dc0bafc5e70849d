//! Every named query against an independent version of it, in DuckDB and Python, over the same Parquet files.

use crate::cli_program::{PROGRAM, iolode};
use crate::support::{python, run_python, shared_data};
use std::path::Path;

crate::tests! {
    [Data, Packages] => {
        named_queries_answer_as_their_independent_versions_do,
    }
}

/// What a site would write down for the real logs: their mounts and OSTs.
const SITE: &str = r#"
cluster = "real"
timezone = "UTC"

[[mount]]
path = "/"
fs = "grand"
osts = "0-159"

[[mount]]
path = "/home"
fs = "home"
osts = "0-7"

[[mount]]
path = "/scratch2"
fs = "snx11025"

[[mount]]
path = "/global/cscratch1"
fs = "cscratch"
lmt = "lc1"
osts = "0-247"
stripe_size = 33554432
stripe_count = 64
"#;

fn named_queries_answer_as_their_independent_versions_do() {
    let (data, python) = (shared_data(), python());
    let root = tempfile::tempdir().unwrap();
    let synth = [
        "synth",
        "--jobs",
        "250",
        "--seed",
        "7",
        "--lmt-hours",
        "1",
        "--out",
        "month",
    ];
    iolode(root.path(), &synth).ok();
    let create = ["lake", "create", "month-lake", "--site", "month/site.toml"];
    iolode(root.path(), &create).ok();
    // A month holds logs that cannot be read: some inputs fail.
    let ingest = [
        "ingest",
        "--lake",
        "month-lake",
        "--darshan",
        "month",
        "--slurm",
        "month/slurm",
        "--lmt",
        "month/lmt",
        "--dxt",
        "--analyze",
        "mosaic",
    ];
    let ingested = iolode(root.path(), &ingest);
    assert!(matches!(ingested.code, Some(0 | 1)), "{}", ingested.stderr);
    std::fs::write(root.path().join("site.toml"), SITE).unwrap();
    iolode(
        root.path(),
        &["lake", "create", "real-lake", "--site", "site.toml"],
    )
    .ok();
    let path = |below: &str| data.join(below).display().to_string();
    let (darshan, linked) = (path("darshan"), path("linked"));
    let (run1, sacct, lmt) = (
        path("slurm/run1/sacct.json"),
        path("linked/sacct.json"),
        path("lmt"),
    );
    let ingest = [
        "ingest",
        "--lake",
        "real-lake",
        "--darshan",
        &darshan,
        &linked,
        "--slurm",
        &run1,
        &sacct,
        "--lmt",
        &lmt,
        "--dxt",
        "--analyze",
        "mosaic",
    ];
    let ingested = iolode(root.path(), &ingest);
    assert!(matches!(ingested.code, Some(0 | 1)), "{}", ingested.stderr);
    // Of few jobs none collide.
    let synth = ["synth", "--jobs", "1200", "--seed", "1", "--lmt-hours", "0"];
    iolode(root.path(), &[&synth[..], &["--out", "busy"]].concat()).ok();
    let create = ["lake", "create", "busy-lake", "--site", "busy/site.toml"];
    iolode(root.path(), &create).ok();
    let ingest = ["ingest", "--lake", "busy-lake", "--darshan", "busy"];
    let ingested = iolode(
        root.path(),
        &[&ingest[..], &["--analyze", "mosaic"]].concat(),
    );
    assert!(matches!(ingested.code, Some(0 | 1)), "{}", ingested.stderr);
    let lakes = ["month-lake", "real-lake", "busy-lake:colliding_bursts"];
    let lakes = lakes.map(|lake| root.path().join(lake));
    let arguments = [Path::new(PROGRAM), &lakes[0], &lakes[1], &lakes[2]];
    run_python(&python, "duckdb/named_queries/compare.py", &arguments);
}
