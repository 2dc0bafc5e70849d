//! The manifest of the newest version is gone, which the hint still names.

use super::at_call::AtCall;
use super::*;
use std::collections::BTreeMap;

const ALL: VacuumOptions = VacuumOptions {
    keep_versions: Duration::ZERO,
    min_age: Duration::ZERO,
    dry_run: false,
};

/// Three versions, a log each, of which the newest has lost its manifest.
fn bench() -> Bench {
    let bench = Bench::new();
    for (job, name) in [(1, "a"), (2, "b")] {
        bench.log(name, &format!("mounts {job} 0 /{name}"));
        bench.ingest();
    }
    bench.lake.store().delete(&Manifest::path(3)).unwrap();
    bench
}

/// What is in a lake, leases aside.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = Store::directory(root).list("").unwrap().into_iter();
    let kept = entries.filter(|entry| !entry.path.starts_with("_iolode/lease"));
    let read = |entry: Entry| (entry.path.clone(), fs::read(root.join(entry.path)).unwrap());
    kept.map(read).collect()
}

#[test]
fn a_lake_without_its_newest_version_is_read_with_a_warning_and_not_changed() {
    let bench = bench();
    let lake = &bench.lake;
    let root = lake.root().unwrap();
    let remedy = format!(
        "put that file back, or run `iolode lake restore {} --version 2` to go on without it",
        root.display()
    );
    let what = format!(
        "lake {}: its newest version 3 is missing (_iolode/manifest/00000000000000000003.json)",
        root.display()
    );
    assert_eq!(bench.rows(), [row(1, "/a")]);
    let missing = lake.missing_version().unwrap().unwrap();
    assert_eq!((missing.version, missing.newest), (3, 2));
    let warning = format!("{what}, answering from version 2; {remedy}");
    assert_eq!(missing.to_string(), warning);

    let before = files(root);
    bench.log("c", "mounts 3 0 /c");
    let function = UserFunction {
        name: "f".into(),
        parameters: vec![],
        returns: "BIGINT".into(),
        body: "1".into(),
    };
    let compact = |dry_run| {
        let options = CompactOptions {
            dry_run,
            ..CompactOptions::default()
        };
        lake.compact(&options, &Silent).map(drop)
    };
    let vacuum = |dry_run| lake.vacuum(&VacuumOptions { dry_run, ..ALL }).map(drop);
    for changed in [
        lake.ingest(&bench.options(), &Silent).map(drop),
        compact(false),
        compact(true),
        vacuum(false),
        vacuum(true),
        lake.forget(SOURCE).map(drop),
        lake.forget_before(SOURCE, 1).map(drop),
        lake.set_settings("cluster = 'cori'\n", None).map(drop),
        lake.change_functions("create function f", |_| Ok(vec![function.clone()]))
            .map(drop),
        lake.record_inputs(lake.snapshot(None).unwrap().inputs().unwrap())
            .map(drop),
    ] {
        let refused = format!("{what}, and nothing may be written on top of version 2: {remedy}");
        assert_eq!(changed.unwrap_err().to_string(), refused);
    }
    assert_eq!(files(root), before);

    assert_eq!(lake.restore(2).unwrap(), 3);
    assert_eq!(lake.missing_version().unwrap(), None);
    assert_eq!(lake.check().unwrap().wrong, []);
    bench.ingest();
    assert_eq!(bench.rows(), [row(1, "/a"), row(2, "/b"), row(3, "/c")]);
    assert_eq!(lake.check().unwrap().wrong, []);
}

#[test]
fn a_manifest_that_is_put_back_is_the_newest_again() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let (lake, path) = (&bench.lake, Manifest::path(2));
    let bytes = lake.store().read(&path).unwrap().unwrap();
    lake.store().delete(&path).unwrap();
    assert_eq!(lake.missing_version().unwrap().map(|m| m.newest), Some(1));
    lake.store().replace(&path, &bytes).unwrap();
    assert_eq!(lake.missing_version().unwrap(), None);
    bench.log("b", "mounts 2 0 /b");
    assert_eq!(bench.ingest().version, Some(3));
}

#[test]
fn a_hint_that_cannot_be_read_or_names_an_older_version_says_nothing() {
    let bench = bench();
    let store = bench.lake.store();
    for hint in ["2 x", "1 x", "3", "", "x", "-1 x", "18446744073709551616 x"] {
        store.hint("_iolode/_last", hint.as_bytes());
        assert_eq!(bench.lake.missing_version().unwrap(), None, "{hint}");
    }
    store.hint("_iolode/_last", b"18446744073709551615 x");
    assert_eq!(
        bench.lake.missing_version().unwrap().map(|m| m.newest),
        Some(2)
    );
    store.delete("_iolode/_last").unwrap();
    assert_eq!(bench.lake.missing_version().unwrap(), None);
    assert_eq!(bench.ingest().version, Some(3));
    // A version that is gone from below the newest one is not missed.
    bench.lake.restore(3).unwrap();
    store.hint("_iolode/_last", b"3 x");
    store.delete(&Manifest::path(3)).unwrap();
    assert_eq!(bench.lake.missing_version().unwrap(), None);
}

#[test]
fn where_all_manifests_are_gone_no_lake_is_opened_or_made() {
    let bench = Bench::new();
    let root = bench.lake.root().unwrap();
    bench.lake.store().delete(&Manifest::path(1)).unwrap();
    let error = Lake::open(root).unwrap_err().to_string();
    let gone = "the manifests of all its versions are gone, of which 1 was the newest; put _iolode/manifest back";
    assert!(error.contains(gone), "{error}");
    let error = Lake::create(root, &CreateOptions::default()).unwrap_err();
    let there = "a lake was there, whose manifests are gone; put _iolode/manifest back, or give another directory";
    assert!(error.to_string().ends_with(there), "{error}");
}

/// Two versions more, and none of those before.
fn commit_and_vacuum(lake: &Lake, seed: usize) {
    for n in [1, 2] {
        let settings = format!("# {seed} {n}\n");
        lake.set_settings(&settings, None).unwrap();
    }
    lake.vacuum(&ALL).unwrap();
}

fn reads_hint(call: Call, path: &Path) -> bool {
    call == Call::Read && path.ends_with("_last")
}

#[test]
fn nothing_is_missing_while_others_commit_and_remove_old_versions() {
    for at in 0..4 {
        for is_after in [false, true] {
            let bench = Bench::new();
            let root = bench.lake.root().unwrap();
            let lake = AtCall::lake(root, reads_hint, at, is_after, move |lake| {
                commit_and_vacuum(lake, at);
            });
            for _ in 0..3 {
                assert_eq!(lake.missing_version().unwrap(), None, "{at} {is_after}");
            }
        }
    }
}

fn reads_manifest(call: Call, path: &Path) -> bool {
    call == Call::Read && path.extension().is_some_and(|e| e == "json")
}

#[test]
fn a_newest_version_that_is_removed_between_two_looks_is_looked_for_again() {
    for hint in ["", "1 x"] {
        let bench = Bench::new();
        let root = bench.lake.root().unwrap();
        bench.lake.store().hint("_iolode/_last", hint.as_bytes());
        let lake = AtCall::lake(root, reads_manifest, 0, false, |lake| {
            commit_and_vacuum(lake, 0);
            lake.store().delete("_iolode/_last").unwrap();
        });
        assert_eq!(lake.snapshot(None).unwrap().version(), 3, "{hint:?}");
    }
}

#[test]
fn nothing_is_missing_while_a_thread_commits_and_removes_old_versions() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..40).for_each(|seed| commit_and_vacuum(&bench.lake, seed)));
        while !writer.is_finished() {
            assert_eq!(bench.lake.missing_version().unwrap(), None);
            bench.lake.manifest(None).unwrap();
        }
    });
}

#[test]
fn a_check_that_finds_damage_says_which_version_to_go_back_to() {
    let bench = Bench::new();
    for (job, name) in [(1, "a"), (2, "b")] {
        bench.log(name, &format!("mounts {job} 0 /{name}"));
        bench.ingest();
    }
    assert_eq!(bench.lake.check().unwrap().remedy, None);
    // The file of version 3 holds the rows of both.
    let path = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    fs::remove_file(bench.lake.root().unwrap().join(path)).unwrap();
    let root = bench.lake.root().unwrap().display().to_string();
    let remedy = format!("`iolode lake restore {root} --version 2` goes back to version 2");
    assert_eq!(bench.lake.check().unwrap().remedy, Some(remedy));
    bench.lake.restore(2).unwrap();
    assert_eq!(bench.lake.check().unwrap().remedy, None);
}

#[test]
fn no_lake_is_advised_under_a_name_that_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a\u{7}b");
    let opened = Lake::open(&root).unwrap_err().to_string();
    assert!(opened.ends_with("there is none"), "{opened}");
    assert!(Lake::create(&root, &CreateOptions::default()).is_err());
}
