//! What keeps a lake whole: lists, check, vacuum, stopped ingests, directories that are no lake.

use super::*;

/// Two commits and a vacuum of all that is old come while an ingest reads its first log.
struct Meddler<'a>(&'a Bench, std::sync::Once);

impl Progress for Meddler<'_> {
    fn done(&self, _: u64, _: bool) {
        self.1.call_once(|| {
            for name in ["x", "y"] {
                let path = self.0.directory.path().join(name);
                fs::write(&path, format!("mounts 9 0 /{name}")).unwrap();
                let options = IngestOptions {
                    paths: vec![path.into()],
                    ..self.0.options()
                };
                self.0.lake.ingest(&options, &Silent).unwrap();
            }
            let all = VacuumOptions {
                keep_versions: Duration::ZERO,
                min_age: Duration::ZERO,
                dry_run: false,
            };
            self.0.lake.vacuum(&all).unwrap();
        });
    }
}

#[test]
fn an_ingest_is_not_lost_when_the_version_it_began_with_is_vacuumed() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    let meddler = Meddler(&bench, std::sync::Once::new());
    let report = bench.lake.ingest(&bench.options(), &meddler).unwrap();
    assert_eq!(report.version, Some(4));
    let mut rows = bench.rows();
    rows.sort();
    assert_eq!(rows, [row(1, "/a"), row(9, "/x"), row(9, "/y")]);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    // That vacuum left what was written since the ingest began.
    let all = VacuumOptions {
        min_age: Duration::ZERO,
        ..VacuumOptions::default()
    };
    bench.lake.vacuum(&all).unwrap();
    let report = bench.lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
}

#[test]
fn vacuum_removes_what_no_kept_version_names_and_nothing_else() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    bench.log("b", "mounts 2 0 /b");
    // The file with the row of the first is written anew.
    let second = bench.ingest();
    assert_eq!((second.rows, second.rows_replaced), (2, 1));
    let stray = bench
        .lake
        .root()
        .unwrap()
        .join("darshan_mount/000000-stray.parquet");
    fs::write(&stray, "half a file").unwrap();
    assert_eq!(
        bench.lake.check().unwrap().unreferenced,
        ["darshan_mount/000000-stray.parquet"]
    );
    // By default everything is too young.
    assert!(
        bench
            .lake
            .vacuum(&VacuumOptions::default())
            .unwrap()
            .files
            .is_empty()
    );
    let all = VacuumOptions {
        keep_versions: Duration::ZERO,
        min_age: Duration::ZERO,
        dry_run: true,
    };
    let would = bench.lake.vacuum(&all).unwrap();
    assert!(stray.exists());
    let did = bench
        .lake
        .vacuum(&VacuumOptions {
            dry_run: false,
            ..all
        })
        .unwrap();
    assert_eq!(
        (would.files.len(), would.versions),
        (did.files.len(), did.versions.clone())
    );
    assert_eq!(did.versions, [1, 2]);
    assert!(!stray.exists());
    assert_eq!(bench.rows(), [row(1, "/a"), row(2, "/b")]);
    let report = bench.lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
    let gone = bench.lake.snapshot(Some(2)).unwrap_err().to_string();
    assert!(gone.contains("it has no version 2; it has 3"), "{gone}");
}

#[test]
fn vacuum_removes_what_killed_writers_left_and_nothing_that_is_not_iolodes() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let at = |path: &str| bench.lake.root().unwrap().join(path);
    let left = [
        "_iolode/manifest/.x.tmp",
        "_iolode/part/input-x.parquet",
        "darshan_mount/000000-x.parquet",
    ];
    let others = ["result.parquet", "mine/x.parquet", "darshan_mount/notes"];
    fs::create_dir(at("mine")).unwrap();
    left.iter()
        .chain(&others)
        .for_each(|path| fs::write(at(path), "x").unwrap());
    let options = VacuumOptions {
        min_age: Duration::ZERO,
        ..VacuumOptions::default()
    };
    assert_eq!(bench.lake.check().unwrap().unreferenced.len(), left.len());
    assert_eq!(bench.lake.vacuum(&options).unwrap().files, left);
    assert!(others.iter().all(|path| at(path).exists()));
    assert_eq!(bench.rows(), [row(1, "/a")]);
}

#[test]
fn vacuum_knows_data_files_by_every_way_that_leads_to_them() {
    let disks = tempfile::tempdir().unwrap();
    let place = |lake: &Path| Placement::Dirs {
        // Inside the lake, and behind a link.
        dirs: vec![lake.join("../lake/inside"), disks.path().join("link")],
    };
    fs::create_dir(disks.path().join("real")).unwrap();
    std::os::unix::fs::symlink(disks.path().join("real"), disks.path().join("link")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("lake");
    let site = SiteFile {
        place: place(&root),
        ..SiteFile::default()
    };
    let options = CreateOptions {
        settings: site.to_text().unwrap(),
        ..CreateOptions::default()
    };
    let bench = Bench::with(&CreateOptions::default());
    let lake = Lake::create(&root, &options).unwrap();
    for job in 0..600 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    lake.ingest(&bench.options(), &Silent).unwrap();
    // What a writer left on a disk before its first commit there is found too.
    let stray = disks
        .path()
        .join("real")
        .join(lake.id())
        .join("darshan_log/000001-x.parquet");
    fs::create_dir_all(stray.parent().unwrap()).unwrap();
    fs::write(&stray, "x").unwrap();
    let removed = lake
        .vacuum(&VacuumOptions {
            min_age: Duration::ZERO,
            ..VacuumOptions::default()
        })
        .unwrap();
    assert_eq!(removed.files.len(), 1, "{removed:?}");
    assert!(!stray.exists());
    assert_eq!(rows(&lake).len(), 600);
    assert!(lake.check().unwrap().wrong.is_empty());
}

#[test]
fn vacuum_leaves_no_gap_between_versions_when_clocks_went_back() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.log(name, &format!("mounts 1 0 /{name}"));
        bench.ingest();
    }
    // The clock of the file system said that version 3 was made long ago.
    let third = bench.lake.root().unwrap().join(Manifest::path(3));
    let third = fs::File::options().append(true).open(third).unwrap();
    third.set_modified(std::time::UNIX_EPOCH).unwrap();
    bench.lake.store().hint("_iolode/_last", b"1");
    bench.lake.vacuum(&VacuumOptions::default()).unwrap();
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 4);
    assert_eq!(bench.rows().len(), 3);
}

#[test]
fn a_lake_in_memory_is_vacuumed_too() {
    let bench = Bench::new();
    let lake = Lake::in_memory().unwrap();
    for name in ["a", "b"] {
        bench.log(name, &format!("mounts 1 0 /{name}"));
        lake.ingest(&bench.options(), &Silent).unwrap();
    }
    let all = VacuumOptions {
        keep_versions: Duration::ZERO,
        min_age: Duration::ZERO,
        dry_run: false,
    };
    let removed = lake.vacuum(&all).unwrap();
    assert_eq!((removed.versions.len(), removed.files.len()), (2, 2));
    assert_eq!(rows(&lake).len(), 2);
}

#[test]
fn check_names_a_file_that_is_gone_or_cut() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let path = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    let full = bench.lake.root().unwrap().join(&path);
    let bytes = fs::read(&full).unwrap();
    fs::write(&full, &bytes[..bytes.len() - 20]).unwrap();
    assert_eq!(bench.lake.check().unwrap().wrong[0].path, path);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&full, &flipped).unwrap();
        assert_eq!(bench.lake.check().unwrap().wrong[0].path, path, "byte {at}");
    }
    fs::remove_file(&full).unwrap();
    assert!(
        bench.lake.check().unwrap().wrong[0]
            .what
            .contains("it is missing")
    );
}

#[test]
fn a_stopped_ingest_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    let options = bench.options();
    options
        .cancel
        .store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(
        bench.lake.ingest(&options, &Silent),
        Err(Error::Interrupted)
    ));
    let report = bench.lake.check().unwrap();
    assert!(
        report.version == 1 && report.unreferenced.is_empty(),
        "{report:?}"
    );
}

#[test]
fn a_path_that_goes_back_leads_to_the_same_lake() {
    let bench = Bench::new();
    let root = bench.lake.root().unwrap();
    for way in ["..//lake", "../lake/../lake", "../logs/../lake/."] {
        let lake = Lake::open(root.join(way)).unwrap();
        assert_eq!(lake.root().unwrap(), root.canonicalize().unwrap());
    }
    let new = Lake::create(root.join("../logs/../new"), &CreateOptions::default()).unwrap();
    assert_eq!(new.root(), Some(root.with_file_name("new").as_path()));
}

#[test]
fn what_is_no_lake_is_said_in_one_line_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let error = |name: &str| Lake::open(at(name)).unwrap_err().to_string();
    assert!(error("none").ends_with(&format!(
        "there is none; make one with `iolode lake create {}`",
        at("none").display()
    )));
    fs::write(at("file"), "x").unwrap();
    assert!(error("file").contains("not a lake"));
    fs::create_dir(at("dir")).unwrap();
    fs::write(at("dir/x"), "x").unwrap();
    assert!(error("dir").contains("not a lake"));
    assert!(
        Lake::create(at("dir"), &CreateOptions::default())
            .unwrap_err()
            .to_string()
            .contains("not empty")
    );
    let lake = Lake::create(at("lake"), &CreateOptions::default()).unwrap();
    assert!(
        Lake::create(at("lake"), &CreateOptions::default())
            .unwrap_err()
            .to_string()
            .contains("already")
    );
    lake.store()
        .put_if_absent(&Manifest::path(2), br#"{"checksum":"#)
        .unwrap();
    assert!(
        error("lake").contains("version 2: its manifest is damaged; `iolode lake restore"),
        "{}",
        error("lake")
    );
    let manifest = at("lake").join(Manifest::path(2));
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    assert!(
        error("lake").contains(
            "version 2: its manifest is damaged: it is a directory, which has to be removed; version 1, the newest, is whole"
        ),
        "{}",
        error("lake")
    );
}

#[test]
fn a_hundred_ingests_leave_few_lists_and_every_input_known() {
    let bench = Bench::new();
    for i in 0..100 {
        bench.log(&format!("{i}"), &format!("mounts {i} 0 /{i}"));
        let paths = vec![bench.logs().join(format!("{i}")).into()];
        bench
            .lake
            .ingest(
                &IngestOptions {
                    paths,
                    ..bench.options()
                },
                &Silent,
            )
            .unwrap();
    }
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert!(snapshot.manifest().inputs.len() <= 65);
    assert_eq!(snapshot.inputs().unwrap().len(), 100);
    assert_eq!(bench.ingest().version, None);
}

#[test]
fn check_misses_the_rows_of_a_log_that_was_taken() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 alpha");
    bench.ingest();
    let known = bench.lake.snapshot(None).unwrap().inputs().unwrap();
    let lost = InputRow {
        path: "/logs/lost".into(),
        content_hash: Some(77),
        ..known[0].clone()
    };
    bench.lake.record_inputs(vec![lost]).unwrap();
    let wrong = bench.lake.check().unwrap().wrong;
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].what, "imported logs without rows: 1, such as 77");
}

#[test]
fn a_manifest_of_another_version_and_one_that_is_gone_are_found() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        bench.log(name, "mounts 1 0 /a");
        bench.ingest();
    }
    let root = bench.lake.root().unwrap();
    let path = |version| root.join(Manifest::path(version));
    let wrong = || {
        let found = bench.lake.check().unwrap().wrong;
        found
            .into_iter()
            .map(|finding| finding.what)
            .collect::<Vec<_>>()
    };
    assert!(wrong().is_empty());
    // In the middle.
    let second = fs::read(path(2)).unwrap();
    fs::copy(path(1), path(2)).unwrap();
    let report = bench.lake.check().unwrap();
    let found = Finding {
        path: Manifest::path(2),
        what: "version 2 can be neither read nor restored: its manifest is damaged: it is that of version 1".into(),
    };
    assert_eq!((report.wrong, report.superseded), (vec![], vec![found]));
    let error = bench.lake.snapshot(Some(2)).unwrap_err().to_string();
    let expected = "version 2: its manifest is damaged: it is that of version 1; version 3, the newest, is whole (";
    assert!(error.contains(expected), "{error}");
    fs::write(path(2), second).unwrap();
    // As the newest.
    fs::copy(path(3), path(4)).unwrap();
    for error in [
        Lake::open(root).unwrap_err().to_string(),
        bench.lake.check().unwrap_err().to_string(),
    ] {
        let expected = format!(
            "lake {0}: version 4: its manifest is damaged: it is that of version 3; \
             `iolode lake restore {0} --version 3` goes back to version 3 ({1})",
            root.display(),
            Manifest::path(4)
        );
        assert_eq!(error, expected);
    }
    fs::remove_file(path(4)).unwrap();
    assert!(wrong().is_empty());
    // The newest that there was.
    fs::remove_file(path(3)).unwrap();
    assert!(
        wrong()[0].starts_with("it names version 3, whose manifest is missing"),
        "{:?}",
        wrong()
    );
}

#[test]
fn a_version_that_is_known_is_not_read_again_and_a_newer_one_is_found_whatever_the_hint_says() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let (lake, store) = (&bench.lake, bench.lake.store());
    let first = lake.version_or(None, None).unwrap();
    let again = lake.version_or(None, Some(&first)).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    store.delete("_iolode/_last").unwrap();
    let again = lake.version_or(None, Some(&first)).unwrap();
    assert!(Arc::ptr_eq(&first, &again));

    bench.log("b", "mounts 2 0 /b");
    bench.ingest();
    // The last two are no versions, and far above the newest.
    for hint in [
        "2",
        "3",
        "1",
        "nothing",
        "",
        "\u{0}",
        "-1",
        "3 ",
        "4711",
        "18446744073709551615",
    ]
    .into_iter()
    .flat_map(|hint| [hint.to_string(), format!("{hint} a-commit")])
    {
        store.hint("_iolode/_last", hint.as_bytes());
        let newest = lake.version_or(None, Some(&first)).unwrap();
        assert_eq!(newest.version(), 3, "{hint}");
        assert_eq!(newest.files_of("darshan_mount", None).unwrap().len(), 1);
        let pinned = lake.version_or(Some(2), Some(&newest)).unwrap();
        assert_eq!(pinned.version(), 2, "{hint}");
        let same = lake.version_or(Some(2), Some(&first)).unwrap();
        assert!(Arc::ptr_eq(&first, &same));
    }
    // Not text, a directory, a link into nothing, a manifest that cannot be read.
    let hint = lake.root().unwrap().join("_iolode/_last");
    let is_found = || {
        assert_eq!(lake.version_or(None, Some(&first)).unwrap().version(), 3);
        assert_eq!(
            Lake::open(lake.root().unwrap())
                .unwrap()
                .snapshot(None)
                .unwrap()
                .version(),
            3
        );
    };
    store.replace("_iolode/_last", b"\xff\xfe").unwrap();
    is_found();
    fs::remove_file(&hint).unwrap();
    fs::create_dir(&hint).unwrap();
    is_found();
    fs::remove_dir(&hint).unwrap();
    std::os::unix::fs::symlink("_last", &hint).unwrap();
    is_found();
    fs::remove_file(&hint).unwrap();
    fs::write(&hint, "1").unwrap();
    let (path, text) = (
        Manifest::path(1),
        store.read(&Manifest::path(1)).unwrap().unwrap(),
    );
    store.replace(&path, b"{").unwrap();
    is_found();
    store.replace(&path, &text).unwrap();
    // A version that was removed is no version, though somebody knew it.
    store.delete(&Manifest::path(2)).unwrap();
    let gone = lake.version_or(Some(2), Some(&first)).unwrap_err();
    assert!(gone.to_string().contains("no version 2"), "{gone}");
}

#[test]
fn a_lake_made_anew_in_place_is_not_read_by_the_list_of_the_one_before() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let root = bench.lake.root().unwrap();
    let before = bench.lake.version_or(None, None).unwrap();
    assert_eq!(before.version(), 2);
    fs::remove_dir_all(root).unwrap();
    let anew = Lake::create(root, &CreateOptions::default()).unwrap();
    for job in 0..214 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    fs::remove_file(bench.logs().join("a")).unwrap();
    anew.ingest(&bench.options(), &Silent).unwrap();

    let count = |version: &Version| -> u64 {
        let files = version.files_of("darshan_mount", None).unwrap();
        files.iter().map(|file| file.rows).sum()
    };
    assert_eq!(count(&before), 1);
    // Whether the hint is there or not, and whether a version is asked for or the newest.
    for hint in [Some("2"), None] {
        match hint {
            Some(hint) => anew
                .store()
                .replace("_iolode/_last", hint.as_bytes())
                .unwrap(),
            None => anew.store().delete("_iolode/_last").unwrap(),
        }
        for version in [None, Some(2)] {
            let now = bench.lake.version_or(version, Some(&before)).unwrap();
            assert_eq!(
                (now.version(), count(&now)),
                (2, 214),
                "{hint:?} {version:?}"
            );
            let again = bench.lake.version_or(version, Some(&now)).unwrap();
            assert!(Arc::ptr_eq(&now, &again) || hint.is_none());
            assert_eq!(count(&again), 214);
        }
    }
}

#[test]
fn a_version_that_was_made_once_more_under_its_number_is_another() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    // A backup of version 2 goes on in another way than the lake did.
    let backup = bench.directory.path().join("backup");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([bench.lake.root().unwrap(), &backup])
        .status();
    assert!(copied.unwrap().success());
    bench.log("b", "mounts 2 0 /b");
    bench.ingest();
    let known = bench.lake.version_or(None, None).unwrap();
    let root = bench.lake.root().unwrap();
    fs::remove_dir_all(root).unwrap();
    fs::rename(&backup, root).unwrap();
    bench.log("c", "mounts 3 0 /c");
    bench.ingest();
    for version in [None, Some(3)] {
        let now = bench.lake.version_or(version, Some(&known)).unwrap();
        assert_eq!(now.version(), 3);
        assert_eq!(now.inputs().unwrap().len(), 3);
        assert_ne!(now.manifest().commit_id, known.manifest().commit_id);
    }
}

#[test]
fn a_file_whose_bytes_have_changed_is_not_taken_into_a_new_one() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /first");
    bench.ingest();
    let path = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    let full = bench.lake.root().unwrap().join(&path);
    let bytes = fs::read(&full).unwrap();
    // A bit that is no part of what Parquet checks: the magic number at the begin.
    let mut flipped = bytes.clone();
    flipped[0] ^= 16;
    fs::write(&full, &flipped).unwrap();
    bench.log("b", "mounts 1 0 /second");
    let refused = bench.lake.ingest(&bench.options(), &Silent).unwrap_err();
    let expected = format!("the bytes of {path} are not those that were written");
    assert!(refused.to_string().contains(&expected), "{refused}");
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 2);
    assert_eq!(bench.lake.check().unwrap().wrong.len(), 1);
    // What was written for it is gone, and with the right bytes the ingest goes on.
    fs::write(&full, &bytes).unwrap();
    assert!(bench.lake.check().unwrap().unreferenced.is_empty());
    bench.ingest();
    assert_eq!(bench.rows(), [row(1, "/first"), row(1, "/second")]);
}
