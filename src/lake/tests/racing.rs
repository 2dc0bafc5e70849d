//! Others that commit in the very moment in which a version is published.

use super::at_call::AtCall;
use super::*;

fn publishes(call: Call, path: &Path) -> bool {
    call == Call::Link && path.extension().is_some_and(|e| e == "json")
}

/// A lake of two versions with one row, and another log that is taken in while others act. The version that came of it.
fn ingest_among(is_after: bool, act: fn(&Lake)) -> (Bench, Option<u64>) {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    bench.log("b", "mounts 1 0 /b");
    let lake = AtCall::lake(bench.lake.root().unwrap(), publishes, 0, is_after, act);
    let report = lake.ingest(&bench.options(), &Silent).unwrap();
    (bench, report.version)
}

/// Two versions more.
fn commit_twice(lake: &Lake) {
    for settings in ["cluster = 'cori'\n", "cluster = 'edison'\n"] {
        lake.set_settings(settings, None).unwrap();
    }
}

#[track_caller]
fn holds_all(bench: &Bench, version: u64) {
    assert_eq!(bench.rows(), [row(1, "/a"), row(1, "/b")]);
    let manifest = bench.lake.snapshot(None).unwrap().manifest().clone();
    assert_eq!(manifest.version, version);
    assert_eq!(manifest.settings, "cluster = 'edison'\n");
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_version_that_others_followed_at_once_stays() {
    let (bench, version) = ingest_among(true, commit_twice);
    assert_eq!(version, Some(3));
    holds_all(&bench, 5);
}

#[test]
fn a_number_that_a_vacuum_has_freed_is_given_back() {
    let (bench, version) = ingest_among(false, |lake| {
        commit_twice(lake);
        let all = VacuumOptions {
            keep_versions: Duration::ZERO,
            min_age: Duration::ZERO,
            dry_run: false,
        };
        lake.vacuum(&all).unwrap();
        assert_eq!(Manifest::versions(lake.store()).unwrap(), [4]);
    });
    assert_eq!(version, Some(5));
    holds_all(&bench, 5);
}
