//! Copies: the rows of the original, and nothing that one of the two does touches the other.

use super::compaction::{contents, is_sound};
use super::owner::{all, placed};
use super::*;

fn at(bench: &Bench, name: &str) -> PathBuf {
    bench.directory.path().join(name)
}

/// The copy at a path beside the lake, by `options`.
fn copy(bench: &Bench, name: &str, options: &CopyOptions) -> Lake {
    bench.lake.copy(at(bench, name), options).unwrap();
    Lake::open(at(bench, name)).unwrap()
}

/// Inputs but for the version that took them.
fn inputs(lake: &Lake, version: Option<u64>) -> Vec<InputRow> {
    let rows = lake.snapshot(version).unwrap().inputs().unwrap();
    let rows = rows.into_iter();
    rows.map(|row| InputRow { version: 0, ..row }).collect()
}

#[test]
fn a_copy_has_the_rows_inputs_and_functions_of_the_original_below_its_own_root() {
    let bench = placed();
    bench.log("bad", "mounts x");
    bench.log("twin", "mounts 1 0 /1");
    bench.ingest();
    let f = UserFunction {
        name: "f".into(),
        parameters: vec![],
        returns: "BIGINT".into(),
        body: "1".into(),
    };
    let add = |_: &[UserFunction]| Ok(vec![f.clone()]);
    bench
        .lake
        .change_functions("create function f", add)
        .unwrap();
    let original = bench.lake.snapshot(None).unwrap();
    let report = bench
        .lake
        .copy(at(&bench, "copy"), &CopyOptions::default())
        .unwrap();
    let copy = Lake::open(at(&bench, "copy")).unwrap();
    assert_eq!((report.version, report.rows), (5, MANY as u64 + 1));
    assert_eq!(report.files, original.files().len() as u64);
    assert_eq!(report.lake_id, copy.id());
    assert_ne!(copy.id(), bench.lake.id());

    let snapshot = copy.snapshot(None).unwrap();
    let (new, old) = (snapshot.manifest(), original.manifest());
    assert_eq!(
        (new.version, new.parent, &*new.operation),
        (1, None, "copy")
    );
    assert_eq!(
        (new.splits(), &new.functions),
        (old.splits(), &old.functions)
    );
    assert_eq!(
        (new.range_bytes, new.summary.rows),
        (old.range_bytes, MANY as u64 + 1)
    );
    assert_eq!(
        (new.summary.inputs, new.summary.inputs_failed),
        (MANY as u64 + 1, 1)
    );
    assert!(new.osts().iter().all(Option::is_none));
    assert!(new.osts().len() > 8);
    assert!(
        snapshot
            .files()
            .iter()
            .all(|f| !f.path.starts_with('/') && f.version == 1)
    );
    assert!(contents(&copy, None) == contents(&bench.lake, None));
    assert_eq!(inputs(&copy, None), inputs(&bench.lake, None));
    is_sound(&copy);
    let site = copy.site().unwrap();
    let placed = bench.lake.site().unwrap();
    assert_eq!(
        site,
        SiteFile {
            place: Placement::None,
            ..placed
        }
    );

    // What it holds it does not take again; what changes it takes once.
    let ingest = || copy.ingest(&bench.options(), &Silent).unwrap().version;
    assert_eq!(ingest(), None);
    bench.log("last", &format!("mounts {MANY} 0 /other"));
    assert_eq!(ingest(), Some(2));
    assert_eq!(ingest(), None);
    assert!(rows(&copy).contains(&row(MANY as i64, "/other")));
    is_sound(&copy);
}

#[test]
fn what_one_of_a_lake_and_its_copy_forgets_and_removes_the_other_keeps() {
    let bench = placed();
    let before = contents(&bench.lake, None);
    let dirs = Some(vec![at(&bench, "disk-a"), at(&bench, "disk-c")]);
    let options = CopyOptions {
        dirs,
        ..CopyOptions::default()
    };
    let (inside, placed) = (
        copy(&bench, "inside", &CopyOptions::default()),
        copy(&bench, "placed", &options),
    );
    let lakes = [&inside, &placed, &bench.lake];
    for (gone, lake) in lakes.iter().enumerate() {
        lake.forget(SOURCE).unwrap();
        let removed = lake.vacuum(&all()).unwrap();
        assert!(removed.files.len() > 16, "{removed:?}");
        assert_eq!(rows(lake), []);
        for other in &lakes[gone + 1..] {
            assert!(contents(other, None) == before);
            is_sound(other);
        }
    }
}

#[test]
fn a_copy_in_directories_has_all_tables_of_a_range_in_one_and_uses_all() {
    let bench = Bench::new();
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    let with_dxt = IngestOptions {
        dxt: true,
        ..bench.options()
    };
    bench.lake.ingest(&with_dxt, &Silent).unwrap();
    let dirs = [at(&bench, "a"), at(&bench, "b"), at(&bench, "c")];
    let options = CopyOptions {
        dirs: Some(dirs.to_vec()),
        ..CopyOptions::default()
    };
    let copy = copy(&bench, "copy", &options);
    assert!(contents(&copy, None) == contents(&bench.lake, None));
    is_sound(&copy);
    let snapshot = copy.snapshot(None).unwrap();
    let (mut on, osts) = ([0u64; 3], snapshot.manifest().osts());
    for file in snapshot.files() {
        let ost = file.ost.unwrap();
        assert_eq!(osts[file.range.unwrap()], Some(ost));
        let own = dirs[ost as usize].join(copy.id());
        assert!(Path::new(&file.path).starts_with(own), "{file:?}");
        on[ost as usize] += file.bytes;
    }
    let (least, most) = (on.iter().min().unwrap(), on.iter().max().unwrap());
    // Ranges are of about equal size.
    let range = on.iter().sum::<u64>() / osts.len() as u64;
    assert!(*least > 0 && most - least <= 2 * range, "{on:?}");
    bench.log("new", "mounts 7 0 /new");
    copy.ingest(&bench.options(), &Silent).unwrap();
    assert_eq!(
        copy.compact(&CompactOptions::default(), &Silent)
            .unwrap()
            .given_up,
        0
    );
    is_sound(&copy);
}

#[test]
fn an_old_version_is_copied_as_it_was() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.log(name, &format!("mounts 1 0 /{name}"));
        bench.ingest();
    }
    let options = CopyOptions {
        version: Some(3),
        ..CopyOptions::default()
    };
    let copied = copy(&bench, "copy", &options);
    assert_eq!(rows(&copied), [row(1, "/a"), row(1, "/b")]);
    assert_eq!(inputs(&copied, None), inputs(&bench.lake, Some(3)));
    is_sound(&copied);
    let none = CopyOptions {
        version: Some(9),
        ..CopyOptions::default()
    };
    let refused = bench.lake.copy(at(&bench, "none"), &none).unwrap_err();
    assert!(
        refused.to_string().contains("it has no version 9"),
        "{refused}"
    );
    assert!(!at(&bench, "none").exists());
}

#[test]
fn a_copied_root_of_a_placed_lake_is_a_source_for_a_copy() {
    let bench = placed();
    let root = at(&bench, "root");
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([bench.lake.root().unwrap(), &root])
        .status();
    assert!(done.unwrap().success());
    let copied = Lake::open(&root).unwrap();
    copied
        .copy(at(&bench, "copy"), &CopyOptions::default())
        .unwrap();
    let own = Lake::open(at(&bench, "copy")).unwrap();
    own.vacuum(&all()).unwrap();
    assert!(contents(&own, None) == contents(&bench.lake, None));
    is_sound(&own);
}

#[test]
fn a_lake_in_memory_and_an_empty_one_are_copied_too() {
    let bench = Bench::new();
    copy(&bench, "empty", &CopyOptions::default());
    bench.log("a", "mounts 1 0 /a");
    let lake = Lake::in_memory().unwrap();
    lake.ingest(&bench.options(), &Silent).unwrap();
    lake.copy(at(&bench, "copy"), &CopyOptions::default())
        .unwrap();
    let copied = Lake::open(at(&bench, "copy")).unwrap();
    assert_eq!(rows(&copied), [row(1, "/a")]);
    is_sound(&copied);
}

#[test]
fn what_keeps_a_copy_from_being_made_leaves_nothing_of_it() {
    let bench = placed();
    let options = || CopyOptions {
        dirs: Some(vec![at(&bench, "copy-a")]),
        ..CopyOptions::default()
    };
    let refused = |options: &CopyOptions| {
        let root = at(&bench, "copy");
        let refused = bench.lake.copy(&root, options).unwrap_err();
        assert!(Lake::open(&root).is_err());
        // Neither do directories stay that the copy has made.
        for name in ["copy", "copy-a"] {
            assert!(!at(&bench, name).exists(), "{name}");
        }
        refused.to_string()
    };
    let cancelled = options();
    cancelled
        .cancel
        .store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(refused(&cancelled), "interrupted; nothing was committed");

    let snapshot = bench.lake.snapshot(None).unwrap();
    let path = &snapshot.files()[5].path;
    let root = bench.lake.root().unwrap().display();
    let remedy = format!("`iolode lake restore {root} --version 1` goes back to version 1");
    let bytes = fs::read(path).unwrap();
    let mut flipped = bytes.clone();
    flipped[20] ^= 1;
    for damaged in [&flipped[..], &bytes[..bytes.len() - 1], b""] {
        fs::write(path, damaged).unwrap();
        let expected = format!(
            "lake {root}: the bytes of {path} are not those that were written: `iolode lake check` names all such files, {remedy} without it",
        );
        assert_eq!(refused(&options()), expected);
        assert_eq!(refused(&CopyOptions::default()), expected);
    }
    fs::remove_file(path).unwrap();
    let missing = format!("lake {root}: {path} is missing; {remedy}");
    assert_eq!(refused(&options()), missing);
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
    let pipe = format!("{path}: cannot read: not a regular file");
    assert_eq!(refused(&options()), pipe);
    let report = bench.lake.check().unwrap();
    let found = Finding {
        path: path.clone(),
        what: "cannot read: not a regular file".into(),
    };
    assert_eq!((report.wrong, report.unread), (vec![], vec![found]));
    fs::remove_file(path).unwrap();
    fs::write(path, &bytes).unwrap();
    // A directory that was there stays.
    fs::create_dir(at(&bench, "copy")).unwrap();
    let missing = bench.lake.copy(at(&bench, "copy"), &cancelled);
    assert!(missing.is_err());
    assert_eq!(fs::read_dir(at(&bench, "copy")).unwrap().count(), 0);

    let inside = bench.lake.root().unwrap().join("copy");
    let refused = bench.lake.copy(&inside, &CopyOptions::default());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("it lies in a lake"), "{refused}");

    // The directory can be used once nothing keeps the copy from being made, and then no more.
    copy(&bench, "copy", &options());
    let root = at(&bench, "copy");
    let again = bench.lake.copy(&root, &options()).unwrap_err().to_string();
    assert!(again.contains("there is a lake already"), "{again}");
    let other = bench.lake.copy(bench.logs(), &options()).unwrap_err();
    assert!(other.to_string().contains("not empty"), "{other}");
    let inside = bench.lake.copy(bench.lake.root().unwrap(), &options());
    assert!(inside.unwrap_err().to_string().contains("already"));
}
