//! Others that commit in the very moment in which a version is published.

use super::at_call::AtCall;
use super::compaction::relist;
use super::*;
use std::sync::Mutex;

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

#[test]
fn a_version_that_is_gone_back_to_keeps_its_files_from_a_vacuum_in_the_last_moment() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        bench.log(name, &format!("mounts 1 0 /{name}"));
        bench.ingest();
    }
    let root = bench.lake.root().unwrap().to_path_buf();
    let lake = AtCall::lake(&root, publishes, 0, false, |lake| {
        let all = VacuumOptions {
            keep_versions: Duration::ZERO,
            min_age: Duration::ZERO,
            dry_run: false,
        };
        assert_eq!(lake.vacuum(&all).unwrap().versions, [1, 2]);
    });
    assert_eq!(lake.restore(2).unwrap(), 4);
    let check = bench.lake.check().unwrap();
    assert!(check.wrong.is_empty(), "{check:?}");
    assert_eq!(bench.rows(), [row(1, "/a")]);
}

#[test]
fn a_source_is_forgotten_also_when_others_commit_meanwhile() {
    for commits in [1, 4, 5] {
        let bench = Bench::new();
        bench.log("a", "mounts 1 0 /a");
        bench.ingest();
        let root = bench.lake.root().unwrap().to_path_buf();
        let others = Arc::new(Busy {
            bench: bench.logs(),
            root: root.clone(),
            left: Mutex::new(commits),
        });
        let lake = Lake::open_store(Store::with_calls(root, others)).unwrap();
        let forgotten = lake.forget(SOURCE);
        if commits == 5 {
            let told = forgotten.unwrap_err().to_string();
            assert!(told.contains("others committed 5 times"), "{told}");
            assert_eq!(bench.rows().len(), 6);
        } else {
            // What came meanwhile is forgotten, too.
            let forgotten = forgotten.unwrap();
            let rows = 1 + commits as u64;
            assert_eq!((forgotten.inputs, forgotten.rows), (rows, rows));
            assert_eq!(bench.rows(), []);
        }
        assert!(bench.lake.check().unwrap().wrong.is_empty());
    }
}

/// Takes in another log each time that a version is about to be published, some times.
#[derive(Debug)]
struct Busy {
    bench: PathBuf,
    root: PathBuf,
    left: Mutex<usize>,
}

impl Calls for Busy {
    fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
        let mut left = self.left.lock().unwrap();
        if publishes(call, path) && *left > 0 {
            *left -= 1;
            let name = self.bench.join(format!("other{left}"));
            fs::write(&name, format!("mounts 1 0 /{left}")).unwrap();
            let options = IngestOptions {
                paths: vec![name.into()],
                sources: SOURCE,
                threads: 1,
                ..IngestOptions::default()
            };
            let lake = Lake::open(&self.root).unwrap();
            lake.ingest(&options, &Silent).unwrap();
        }
        Ok(())
    }
}

/// Has a version name a file while a vacuum is about to remove another.
#[derive(Debug)]
struct Names(PathBuf);

impl Calls for Names {
    fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
        if call == Call::Delete && path.ends_with("000000-x.parquet") {
            let lake = Lake::open(&self.0).unwrap();
            relist(&lake, |files| {
                files[0].path = "darshan_mount/000000-y.parquet".into();
            });
        }
        Ok(())
    }
}

#[test]
fn a_vacuum_leaves_what_a_version_names_that_came_meanwhile() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let root = bench.lake.root().unwrap().to_path_buf();
    let file = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    let at = |name: &str| root.join("darshan_mount").join(name);
    for name in ["000000-x.parquet", "000000-y.parquet"] {
        fs::copy(root.join(&file), at(name)).unwrap();
    }
    let lake = Lake::open_store(Store::with_calls(&root, Arc::new(Names(root.clone()))));
    let all = VacuumOptions {
        keep_versions: Duration::ZERO,
        min_age: Duration::ZERO,
        dry_run: false,
    };
    let removed = lake.unwrap().vacuum(&all).unwrap();
    assert_eq!(removed.files, ["darshan_mount/000000-x.parquet"]);
    assert!(!at("000000-x.parquet").exists() && at("000000-y.parquet").exists());
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 3);
    assert_eq!(bench.rows(), [row(1, "/a")]);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}
