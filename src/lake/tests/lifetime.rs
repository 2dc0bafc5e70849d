//! Versions that go, come back, or were made by a newer program.

use super::compaction::relist;
use super::*;
use crate::lake::version::lease::Lease;
use arrow::array::{ArrayRef, Int64Array};
use arrow::record_batch::RecordBatch;

const NOTHING_SPARED: VacuumOptions = VacuumOptions {
    keep_versions: Duration::ZERO,
    min_age: Duration::ZERO,
    dry_run: false,
};

/// Three versions: the lake made, a log, another log of the same range.
fn bench() -> Bench {
    let bench = Bench::new();
    for name in ["a", "b"] {
        bench.log(name, &format!("mounts 1 0 /{name}"));
        bench.ingest();
    }
    bench
}

#[test]
fn a_version_can_be_gone_back_to() {
    let bench = bench();
    assert_eq!(bench.lake.restore(2).unwrap(), 4);
    assert_eq!(bench.rows(), [row(1, "/a")]);
    let manifest = bench.lake.snapshot(None).unwrap().manifest().clone();
    assert_eq!(
        (&*manifest.operation, manifest.summary.rows),
        ("restore", 1)
    );
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    // The second log is new to it again.
    assert_eq!(bench.ingest().version, Some(5));
    assert_eq!(bench.rows().len(), 2);
    bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    let gone = bench.lake.restore(2).unwrap_err().to_string();
    assert!(gone.contains("it has no version 2"), "{gone}");
}

#[test]
fn a_newest_version_that_is_damaged_keeps_vacuum_from_the_last_good_one() {
    let bench = bench();
    let root = bench.lake.root().unwrap().to_path_buf();
    // A file that it names is gone.
    let newest = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    let whole = fs::read(root.join(&newest)).unwrap();
    fs::write(root.join(&newest), &whole[1..]).unwrap();
    let cut = bench.lake.restore(3).unwrap_err().to_string();
    let (found, written) = (whole.len() - 1, whole.len());
    let expected = format!("is damaged: it has {found} bytes, {written} were written");
    assert!(cut.contains(&expected), "{cut}");
    fs::remove_file(root.join(&newest)).unwrap();
    let refused = bench.lake.vacuum(&NOTHING_SPARED).unwrap_err().to_string();
    assert!(
        refused.contains("is missing; `iolode lake restore")
            && refused.ends_with("; nothing was removed"),
        "{refused}"
    );
    let missing = bench.lake.restore(3).unwrap_err().to_string();
    assert!(missing.contains("cannot be restored"), "{missing}");
    assert_eq!(bench.lake.restore(2).unwrap(), 4);
    bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    assert_eq!(bench.rows(), [row(1, "/a")]);
    // Its manifest, and its list of files, are cut short.
    bench.ingest();
    let list = bench.lake.snapshot(None).unwrap().manifest().files[0]
        .path
        .clone();
    for path in [list, Manifest::path(5)] {
        let bytes = fs::read(root.join(&path)).unwrap();
        fs::write(root.join(&path), &bytes[..bytes.len() / 2]).unwrap();
        let refused = bench.lake.vacuum(&NOTHING_SPARED).unwrap_err().to_string();
        assert!(refused.contains("damaged"), "{refused}");
    }
    let unreadable = Lake::open(&root).unwrap_err().to_string();
    assert!(
        unreadable.contains(&format!(
            "version 5: its manifest is damaged; `iolode lake restore {} --version 4` goes back to version 4",
            root.display()
        )),
        "{unreadable}"
    );
    let lake = Lake::open_damaged(&root).unwrap();
    assert_eq!(lake.restore(4).unwrap(), 6);
    assert_eq!(rows(&Lake::open(&root).unwrap()), [row(1, "/a")]);
}

#[test]
fn what_was_written_since_the_start_of_a_lease_stays() {
    let bench = bench();
    let stray = bench
        .lake
        .root()
        .unwrap()
        .join("darshan_mount/000000-stray.parquet");
    let lease = Lease::take(bench.lake.store()).unwrap();
    fs::write(&stray, "x").unwrap();
    let removed = bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    assert!(stray.exists(), "{removed:?}");
    assert_eq!(removed.held, 1);
    // It may hold a quarter of an hour from now on.
    let now = bench.lake.store().time().unwrap();
    let ends = micros(now + Duration::from_secs(15 * 60));
    let until = removed.held_until.unwrap();
    assert!(
        ends - 60_000_000 <= until && until <= ends,
        "{until} {ends}"
    );
    lease.check().unwrap();
    drop(lease);
    let removed = bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    assert_eq!(removed.files, ["darshan_mount/000000-stray.parquet"]);
    assert_eq!(bench.rows().len(), 2);
}

/// Has all leases look as if nobody had renewed them for 16 minutes, as those of a laptop that was closed.
struct Sleeps(PathBuf);

impl Progress for Sleeps {
    fn done(&self, _: u64, _: bool) {
        for lease in fs::read_dir(&self.0).unwrap() {
            let path = lease.unwrap().path();
            let then =
                fs::metadata(&path).unwrap().modified().unwrap() - Duration::from_secs(16 * 60);
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

#[test]
fn an_ingest_that_was_stopped_for_longer_than_its_lease_publishes_nothing() {
    let bench = bench();
    bench.log("c", "mounts 1 0 /c");
    let leases = bench.lake.root().unwrap().join("_iolode/lease");
    let stopped = bench.lake.ingest(&bench.options(), &Sleeps(leases));
    let told = stopped.unwrap_err().to_string();
    assert!(told.contains("stopped for more than 15 minutes"), "{told}");
    let check = bench.lake.check().unwrap();
    assert_eq!((check.version, check.unreferenced), (3, vec![]));
    assert_eq!(bench.ingest().version, Some(4));
    assert_eq!(bench.rows().len(), 3);
}

#[test]
fn a_dry_run_removes_no_lease_and_a_vacuum_those_that_have_expired() {
    let bench = bench();
    let old = bench.lake.root().unwrap().join("_iolode/lease/old");
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::write(&old, "0").unwrap();
    let then = bench.lake.store().time().unwrap() - Duration::from_secs(16 * 60);
    let file = fs::File::options().append(true).open(&old).unwrap();
    file.set_modified(then).unwrap();
    let dry = VacuumOptions {
        dry_run: true,
        ..NOTHING_SPARED
    };
    bench.lake.vacuum(&dry).unwrap();
    assert!(old.exists());
    bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    assert!(!old.exists());
}

#[test]
fn a_version_that_is_gone_from_between_is_found_and_not_offered() {
    let bench = bench();
    bench.log("c", "mounts 1 0 /c");
    bench.ingest();
    let root = bench.lake.root().unwrap().to_path_buf();
    fs::remove_file(root.join(Manifest::path(2))).unwrap();
    let report = bench.lake.check().unwrap();
    let found = report.superseded.iter();
    let found: Vec<_> = found.map(|f| (&*f.path, &*f.what)).collect();
    assert_eq!(found, [(&*Manifest::path(2), "version 2 is missing")]);
    assert_eq!(report.wrong, []);
    let gone = bench.lake.restore(2).unwrap_err().to_string();
    assert!(
        gone.ends_with("it has no version 2; it has 1, 3 to 4"),
        "{gone}"
    );
}

#[test]
fn a_damaged_version_that_was_superseded_is_a_note_until_a_vacuum_removes_it() {
    let bench = bench();
    let root = bench.lake.root().unwrap().to_path_buf();
    let damaged = root.join(Manifest::path(3));
    let bytes = fs::read(&damaged).unwrap();
    fs::write(&damaged, &bytes[..100]).unwrap();
    // The versions that can be gone back to are listed, and which one cannot.
    let lake = Lake::open_damaged(&root).unwrap();
    let (rows, unreadable) = lake.history().unwrap();
    let versions = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(versions, [1, 2]);
    assert_eq!(unreadable, [(3, Unreadable::Damaged(None))]);

    assert_eq!(lake.restore(2).unwrap(), 4);
    let report = lake.check().unwrap();
    let what = "version 3 can be neither read nor restored: its manifest is damaged";
    let found = Finding {
        path: Manifest::path(3),
        what: what.into(),
    };
    assert_eq!((report.wrong, report.superseded), (vec![], vec![found]));
    let (rows, unreadable) = lake.history().unwrap();
    let of_table = lake.snapshot(None).unwrap().version_batch().unwrap();
    assert_eq!(rows, of_table);
    let versions = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!((versions, unreadable.len()), (vec![1, 2, 4], 1));
    bench.ingest();

    // While it is to be kept nobody knows which files it needs.
    let week = VacuumOptions {
        keep_versions: Duration::from_secs(7 * 86_400),
        ..NOTHING_SPARED
    };
    let refused = lake.vacuum(&week).unwrap_err().to_string();
    let expected = format!(
        "lake {}: version 3: its manifest is damaged ({}), so nobody knows which files it needs, and nothing was removed; \
         version 4 superseded it at 20",
        root.display(),
        Manifest::path(3)
    );
    assert!(refused.starts_with(&expected), "{refused}");
    assert!(
        refused.ends_with("Z: a --keep that does not reach back to then removes it"),
        "{refused}"
    );
    let removed = lake.vacuum(&NOTHING_SPARED).unwrap();
    assert_eq!(removed.versions, [1, 2, 3, 4]);
    assert!(!damaged.exists());
    let report = lake.check().unwrap();
    assert_eq!((report.wrong, report.superseded), (vec![], vec![]));
    assert!(report.unreferenced.is_empty());
    assert_eq!(bench.rows(), [row(1, "/a"), row(1, "/b")]);
}

#[test]
fn what_is_missing_or_damaged_names_the_newest_version_without_it() {
    let bench = bench();
    let root = bench.lake.root().unwrap().to_path_buf();
    let back = |version| {
        format!(
            "`iolode lake restore {} --version {version}` goes back to version {version}",
            root.display()
        )
    };
    let newest = bench.lake.snapshot(None).unwrap();
    let older = bench.lake.snapshot(Some(2)).unwrap();
    let is_new = |list: &&ListFile| !older.manifest().has_list(&list.path);
    for list in [&newest.manifest().files, &newest.manifest().inputs] {
        let path = root.join(&list.iter().find(is_new).unwrap().path);
        let bytes = fs::read(&path).unwrap();
        for damage in [&bytes[..bytes.len() - 1], &[]] {
            match damage {
                [] => fs::remove_file(&path).unwrap(),
                damage => fs::write(&path, damage).unwrap(),
            }
            let snapshot = bench.lake.snapshot(None);
            let error = snapshot.and_then(|snapshot| snapshot.inputs()).unwrap_err();
            assert!(error.to_string().ends_with(&back(2)), "{error}");
            let error = bench.lake.vacuum(&NOTHING_SPARED).unwrap_err();
            assert!(error.to_string().contains(&back(2)), "{error}");
            bench.lake.restore(3).unwrap_err();
            fs::write(&path, &bytes).unwrap();
        }
    }
    // A data file that the second log brought: another magic number at its begin, and none of it.
    let file = root.join(&newest.files()[0].path);
    let bytes = fs::read(&file).unwrap();
    let mut flipped = bytes.clone();
    flipped[0] ^= 16;
    fs::write(&file, &flipped).unwrap();
    bench.log("c", "mounts 1 0 /c");
    let error = bench.lake.ingest(&bench.options(), &Silent).unwrap_err();
    let without = format!("{} without it", back(2));
    assert!(error.to_string().ends_with(&without), "{error}");
    fs::remove_file(&file).unwrap();
    let error = bench.lake.vacuum(&NOTHING_SPARED).unwrap_err();
    assert!(error.to_string().contains(&back(2)), "{error}");
    fs::write(&file, &bytes).unwrap();
    assert_eq!(bench.lake.check().unwrap().wrong, []);
}

#[test]
fn what_a_newer_program_made_is_not_gone_back_from() {
    for (min_reader, min_writer) in [(9, 9), (FORMAT, 9)] {
        let bench = bench();
        let newest = bench.lake.snapshot(None).unwrap().manifest().clone();
        let newer = Manifest {
            format: 9,
            min_reader,
            min_writer,
            ..newest.next("of the future", 0)
        };
        assert!(newer.publish(bench.lake.store()).unwrap());
        let lake = Lake::open_damaged(bench.lake.root().unwrap()).unwrap();
        let refused = lake.restore(2).unwrap_err().to_string();
        assert!(refused.contains("version 4"), "{refused}");
        assert!(refused.contains("by a newer iolode"), "{refused}");
        assert_eq!(Manifest::versions(lake.store()).unwrap(), [1, 2, 3, 4]);
    }
}

/// Vacuums the lake whenever a manifest is about to be published.
#[derive(Debug)]
struct VacuumsFirst(PathBuf);

impl Calls for VacuumsFirst {
    fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
        if call == Call::Link && path.extension().is_some_and(|e| e == "json") {
            Lake::open(&self.0)
                .unwrap()
                .vacuum(&NOTHING_SPARED)
                .unwrap();
        }
        Ok(())
    }
}

#[test]
fn a_vacuum_in_the_last_moment_of_an_ingest_takes_none_of_its_files() {
    let bench = bench();
    bench.log("c", "mounts 1 0 /c");
    let root = bench.lake.root().unwrap();
    let store = Store::with_calls(root, Arc::new(VacuumsFirst(root.into())));
    let lake = Lake::open_store(store).unwrap();
    assert_eq!(
        lake.ingest(&bench.options(), &Silent).unwrap().version,
        Some(4)
    );
    assert_eq!(bench.rows().len(), 3);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    bench.lake.vacuum(&NOTHING_SPARED).unwrap();
    assert_eq!(bench.rows().len(), 3);
}

/// A newer program has written a file with a column that this one does not know.
#[test]
fn files_of_a_newer_program_are_read_and_not_written_anew() {
    let bench = bench();
    let snapshot = bench.lake.snapshot(None).unwrap();
    let file = &snapshot.files()[0];
    let read = crate::lake::file::data_reader::read_data(bench.lake.store(), &file.path, 1000)
        .unwrap()
        .next();
    let known = read.unwrap().unwrap();
    let quota: ArrayRef = Arc::new(Int64Array::from(vec![7; known.num_rows()]));
    let schema = known.schema();
    let columns = schema.fields().iter().map(|field| field.name().clone());
    let columns = columns
        .zip(known.columns().to_vec())
        .chain([("quota".to_string(), quota)]);
    let newer = RecordBatch::try_from_iter(columns).unwrap();
    let path = "darshan_mount/000000-newer.parquet";
    let mut to = parquet::arrow::ArrowWriter::try_new(vec![], newer.schema(), None).unwrap();
    to.write(&newer).unwrap();
    let bytes = to.into_inner().unwrap();
    fs::write(bench.lake.root().unwrap().join(path), &bytes).unwrap();
    relist(&bench.lake, |files| {
        files[0].path = path.into();
        files[0].schema_version += 1;
        files[0].content_hash = None;
    });
    assert_eq!(bench.rows().len(), 2);
    bench.log("c", "mounts 1 0 /c");
    let refused = bench.lake.ingest(&bench.options(), &Silent).unwrap_err();
    let expected = "was written by a newer iolode (version 2 of the columns of darshan_mount, this one knows 1)";
    assert!(refused.to_string().contains(expected), "{refused}");
    let refused = bench.lake.forget(SOURCE).unwrap_err();
    assert!(refused.to_string().contains(expected), "{refused}");
    assert_eq!(bench.lake.snapshot(None).unwrap().files()[0].path, path);
    assert_eq!(
        fs::read(bench.lake.root().unwrap().join(path)).unwrap(),
        bytes
    );
    assert_eq!(bench.rows().len(), 2);
    // Jobs of another range, and what touches no file, go on.
    let changed = bench.lake.set_settings("cluster = 'cori'\n", None).unwrap();
    assert!(changed.version.is_some());
}
