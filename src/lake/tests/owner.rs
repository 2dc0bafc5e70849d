//! To whom directories outside a lake belong: copies of its root, and lakes that were moved.

use super::at_call::AtCall;
use super::*;
use std::collections::BTreeMap;

/// A lake whose files lie in two directories beside it, with two versions before its newest.
pub(super) fn placed() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let dirs = vec![at("disk-a"), at("disk-b")];
    let site = SiteFile {
        place: Placement::Dirs { dirs },
        ..SiteFile::default()
    };
    let options = CreateOptions {
        settings: site.to_text().unwrap(),
        ..CreateOptions::default()
    };
    fs::create_dir(at("logs")).unwrap();
    let lake = Lake::create(at("lake"), &options).unwrap();
    let bench = Bench { directory, lake };
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    bench.log("last", &format!("mounts {MANY} 0 /last"));
    bench.ingest();
    bench
}

#[test]
fn a_check_names_a_directory_that_is_gone_once() {
    let bench = placed();
    let away = bench.directory.path().join("disk-b");
    // Files of older versions lie there, too.
    let files = bench.lake.snapshot(None).unwrap().files().to_vec();
    let on_it = files
        .iter()
        .filter(|file| Path::new(&file.path).starts_with(&away));
    let expected = format!("and with it {} of the lake's data files", on_it.count());
    fs::rename(&away, bench.directory.path().join("unmounted")).unwrap();
    let wrong = bench.lake.check().unwrap().wrong;
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(Path::new(&wrong[0].path), away);
    assert!(wrong[0].what.contains(&expected), "{wrong:?}");
}

/// All files below the directories of a lake, with their bytes.
fn on_disks(lake: &Lake) -> BTreeMap<PathBuf, Vec<u8>> {
    let Placement::Dirs { dirs } = lake.site().unwrap().place else {
        panic!("no directories");
    };
    let entries = dirs.iter().flat_map(walkdir::WalkDir::new);
    let files = entries.map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| path.is_file());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// `cp -a`, which keeps times.
fn copy_root(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(done.unwrap().success());
}

pub(super) fn all() -> VacuumOptions {
    VacuumOptions {
        keep_versions: Duration::ZERO,
        min_age: Duration::ZERO,
        dry_run: false,
    }
}

#[test]
fn a_copied_root_is_read_and_every_write_refuses_so_that_the_originals_files_stay() {
    let bench = placed();
    let original = bench.lake.root().unwrap();
    let copy = bench.directory.path().join("copy");
    copy_root(original, &copy);
    let before = on_disks(&bench.lake);
    assert!(before.len() > 16, "{}", before.len());

    let copy = Lake::open(copy).unwrap();
    assert_eq!(rows(&copy).len(), MANY + 1);
    assert_eq!(copy.check().unwrap().wrong, []);
    bench.log("new", "mounts 7 0 /new");
    type Write<'a> = Box<dyn Fn() -> Result<()> + 'a>;
    let writes: [(&str, Write); 7] = [
        ("vacuum", Box::new(|| copy.vacuum(&all()).map(|_| ()))),
        (
            "ingest",
            Box::new(|| copy.ingest(&bench.options(), &Silent).map(|_| ())),
        ),
        (
            "compact",
            Box::new(|| {
                copy.compact(&CompactOptions::default(), &Silent)
                    .map(|_| ())
            }),
        ),
        ("forget", Box::new(|| copy.forget(SOURCE).map(|_| ()))),
        ("restore", Box::new(|| copy.restore(2).map(|_| ()))),
        (
            "functions",
            Box::new(|| {
                let change = |_: &[UserFunction]| Ok(vec![]);
                copy.change_functions("drop", change).map(|_| ())
            }),
        ),
        (
            "inputs",
            Box::new(|| copy.record_inputs(vec![]).map(|_| ())),
        ),
    ];
    let expected = format!(
        "lake {0}: its directories belong to the lake at {1}; run `iolode lake moved {0}` if it was moved, or `iolode lake copy` to make a copy",
        copy.root().unwrap().display(),
        original.canonicalize().unwrap().display()
    );
    for (name, write) in writes {
        let refused = write().map_err(|e| e.to_string());
        assert_eq!(refused, Err(expected.clone()), "{name}");
        assert!(on_disks(&bench.lake) == before, "{name}");
    }
    assert_eq!(copy.snapshot(None).unwrap().version(), 3);

    // The original goes on.
    bench.ingest();
    bench.lake.vacuum(&all()).unwrap();
    assert_eq!(bench.rows().len(), MANY + 2);
    assert_eq!(bench.lake.check().unwrap().wrong, []);
}

#[test]
fn a_copy_is_refused_too_where_only_old_versions_have_files_in_directories() {
    let bench = placed();
    let site = bench.lake.site().unwrap();
    let disks = on_disks(&bench.lake);
    // All files of the newest version lie inside the lake.
    let inside = SiteFile {
        place: Placement::None,
        ..site
    };
    let inside = inside.to_text().unwrap();
    bench.lake.set_settings(&inside, None).unwrap();
    bench
        .lake
        .compact(&CompactOptions::default(), &Silent)
        .unwrap();
    let newest = bench.lake.snapshot(None).unwrap();
    assert!(newest.files().iter().all(|f| !f.path.starts_with('/')));
    let copy = bench.directory.path().join("copy");
    copy_root(bench.lake.root().unwrap(), &copy);
    let refused = Lake::open(copy).unwrap().vacuum(&all()).unwrap_err();
    assert!(
        refused.to_string().contains("belong to the lake at"),
        "{refused}"
    );
    assert!(disks.keys().all(|path| path.exists()));
    let removed = bench.lake.vacuum(&all()).unwrap();
    assert!(removed.files.len() > 16, "{removed:?}");
    assert_eq!(bench.rows().len(), MANY + 1);
}

#[test]
fn a_lake_that_was_renamed_goes_on_once_its_path_is_recorded() {
    let bench = placed();
    let (old, new) = (
        bench.lake.root().unwrap(),
        bench.directory.path().join("new"),
    );
    fs::rename(old, &new).unwrap();
    let lake = Lake::open(&new).unwrap();
    assert_eq!(rows(&lake).len(), MANY + 1);
    let refused = lake.ingest(&bench.options(), &Silent).unwrap_err();
    assert!(
        refused.to_string().contains("iolode lake moved"),
        "{refused}"
    );
    let moved = lake.moved().unwrap();
    assert_eq!(moved.directories, 2);
    assert_eq!(moved.from.as_deref(), Some(old));
    bench.log("new", "mounts 7 0 /new");
    assert_eq!(
        lake.ingest(&bench.options(), &Silent).unwrap().version,
        Some(4)
    );
    lake.vacuum(&all()).unwrap();
    assert_eq!(rows(&lake).len(), MANY + 2);
    assert_eq!(lake.check().unwrap().wrong, []);
    // Once more there is nothing new to record.
    assert_eq!(lake.moved().unwrap().from, None);
}

#[test]
fn a_link_where_the_lake_was_leads_to_the_same_lake() {
    let bench = placed();
    let (old, new) = (
        bench.lake.root().unwrap(),
        bench.directory.path().join("new"),
    );
    fs::rename(old, &new).unwrap();
    std::os::unix::fs::symlink(&new, old).unwrap();
    bench.log("new", "mounts 7 0 /new");
    for root in [old, &new] {
        let lake = Lake::open(root).unwrap();
        lake.ingest(&bench.options(), &Silent).unwrap();
    }
    assert_eq!(rows(&Lake::open(&new).unwrap()).len(), MANY + 2);
}

#[test]
fn no_lake_was_moved_while_one_of_its_id_is_where_it_was() {
    let bench = placed();
    let original = bench.lake.root().unwrap();
    let copy = bench.directory.path().join("copy");
    copy_root(original, &copy);
    let owners = on_disks(&bench.lake);
    let refused = Lake::open(&copy).unwrap().moved().unwrap_err().to_string();
    let expected = format!(
        "lake {}: the lake that it is a copy of is still at {}; run `iolode lake copy` to make a copy of that",
        copy.display(),
        original.canonicalize().unwrap().display()
    );
    assert_eq!(refused, expected);
    assert!(on_disks(&bench.lake) == owners);

    // A newest manifest that is damaged, or of a newer program, is still one of that lake.
    let manifest = bench.lake.store().show(&Manifest::path(4));
    fs::write(&manifest, "{").unwrap();
    assert!(Lake::open(&copy).unwrap().moved().is_err());
    let newer = format!(r#"{{"format": 99, "lake_id": "{}"}}"#, bench.lake.id());
    fs::write(&manifest, newer).unwrap();
    assert!(Lake::open(&copy).unwrap().moved().is_err());

    // Another lake is there now.
    fs::remove_dir_all(original).unwrap();
    Lake::create(original, &CreateOptions::default()).unwrap();
    let lake = Lake::open(&copy).unwrap();
    assert_eq!(lake.moved().unwrap().directories, 2);
    lake.vacuum(&all()).unwrap();
    assert_eq!(rows(&lake).len(), MANY + 1);
}

#[test]
fn directories_that_do_not_say_whose_they_are_keep_a_lake_from_being_changed() {
    let bench = placed();
    let Placement::Dirs { dirs } = bench.lake.site().unwrap().place else {
        panic!("no directories");
    };
    let own = dirs[0].join(bench.lake.id());
    let owner = own.join("_iolode_lake.json");
    let refused = || bench.lake.vacuum(&all()).unwrap_err().to_string();
    let text = fs::read_to_string(&owner).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let root = bench.lake.root().unwrap().canonicalize().unwrap();
    let expected = serde_json::json!({"lake_id": bench.lake.id(), "root": root});
    assert_eq!(whole, expected);

    fs::write(&owner, &text[..10]).unwrap();
    assert!(refused().contains("damaged"), "{}", refused());
    fs::write(&owner, text.replace(bench.lake.id(), "other")).unwrap();
    assert!(refused().contains("of another lake"), "{}", refused());
    fs::remove_file(&owner).unwrap();
    assert!(
        refused().contains("does not say whose it is"),
        "{}",
        refused()
    );
    bench.lake.moved().unwrap();
    assert_eq!(fs::read_to_string(&owner).unwrap(), text);
    bench.lake.vacuum(&all()).unwrap();

    // A disk that is not mounted.
    fs::rename(&own, dirs[0].join("away")).unwrap();
    assert!(refused().contains("is its disk mounted?"), "{}", refused());
    let moved = bench.lake.moved().unwrap_err().to_string();
    assert!(moved.contains("is its disk mounted?"), "{moved}");
    assert!(!own.exists());
    fs::rename(dirs[0].join("away"), &own).unwrap();
    bench.lake.vacuum(&all()).unwrap();
}

#[test]
fn a_directory_that_is_added_later_is_the_lakes_from_its_first_file_on() {
    let bench = placed();
    let mut site = bench.lake.site().unwrap();
    let added = bench.directory.path().join("added");
    site.place = Placement::Dirs {
        dirs: vec![added.clone()],
    };
    let site = site.to_text().unwrap();
    bench.lake.set_settings(&site, None).unwrap();
    bench
        .lake
        .compact(&CompactOptions::default(), &Silent)
        .unwrap();
    let owner = added.join(bench.lake.id()).join("_iolode_lake.json");
    assert!(owner.exists());
    let copy = bench.directory.path().join("copy");
    copy_root(bench.lake.root().unwrap(), &copy);
    let refused = Lake::open(copy).unwrap().vacuum(&all()).unwrap_err();
    assert!(
        refused.to_string().contains("belong to the lake at"),
        "{refused}"
    );
    bench.lake.vacuum(&all()).unwrap();
    assert_eq!(bench.rows().len(), MANY + 1);
}

#[test]
fn a_lake_without_directories_is_moved_and_copied_as_a_folder() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let copy = bench.directory.path().join("copy");
    copy_root(bench.lake.root().unwrap(), &copy);
    let copy = Lake::open(copy).unwrap();
    assert_eq!(copy.moved().unwrap().directories, 0);
    bench.log("b", "mounts 2 0 /b");
    copy.ingest(&bench.options(), &Silent).unwrap();
    copy.vacuum(&all()).unwrap();
    assert_eq!(rows(&copy).len(), 2);
    assert_eq!(bench.rows().len(), 1);
    assert_eq!(Lake::in_memory().unwrap().moved().unwrap().directories, 0);
}

/// It is renamed right after the ingest has created its first data file, and again when it links its first list.
#[test]
fn a_lake_that_is_renamed_under_an_ingest_is_not_begun_anew_where_it_was() {
    let picks: [fn(Call, &Path) -> bool; 2] = [
        |call, _| matches!(call, Call::Create),
        |call, _| matches!(call, Call::Link),
    ];
    for picks in picks {
        let bench = Bench::new();
        bench.log("a", "mounts 1 0 /a");
        bench.ingest();
        bench.log("b", "mounts 2 0 /b");
        let (old, new) = (
            bench.lake.root().unwrap().to_path_buf(),
            bench.directory.path().join("new"),
        );
        let (from, to) = (old.clone(), new.clone());
        let rename = move |_: &Lake| fs::rename(&from, &to).unwrap();
        let lake = AtCall::lake(&old, picks, 0, true, rename);
        let refused = lake.ingest(&bench.options(), &Silent).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("was it moved or removed?"), "{refused}");
        assert!(!old.exists());
        let lake = Lake::open(&new).unwrap();
        assert_eq!(rows(&lake), [row(1, "/a")]);
        assert_eq!(lake.check().unwrap().wrong, []);
    }
}

#[test]
fn a_lake_made_anew_where_another_was_is_not_changed_as_the_other() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    let root = bench.lake.root().unwrap();
    fs::remove_dir_all(root).unwrap();
    let anew = Lake::create(root, &CreateOptions::default()).unwrap();
    let refused = bench.lake.ingest(&bench.options(), &Silent).unwrap_err();
    assert!(refused.to_string().contains("another lake"), "{refused}");
    anew.ingest(&bench.options(), &Silent).unwrap();
    assert_eq!(rows(&anew).len(), 1);
}
