//! `iolode lake`: creating, looking at, compacting, checking, copying and moving lakes, damaged ones among them.

use crate::cli_program::{fresh, iolode, small};

crate::tests! {
    [] => {
        a_lake_is_created_as_asked_and_never_over_something,
        a_lake_says_what_it_holds,
        a_lake_of_two_ingests_is_compacted_once,
        a_damaged_lake_is_reported_by_check_with_exit_code_1,
        a_data_file_that_cannot_be_opened_is_told_and_not_called_damaged,
        a_lake_without_its_newest_version_answers_with_a_warning_and_is_not_changed,
        a_copied_root_of_a_placed_lake_is_not_written_and_a_copy_or_a_moved_one_is,
    }
}

fn a_lake_is_created_as_asked_and_never_over_something() {
    let dir = fresh();
    let create = |args: &[&str]| iolode(dir.path(), &[&["lake", "create"], args].concat());
    create(&[
        "a",
        "--cluster",
        "cori",
        "--timezone",
        "America/Los_Angeles",
        "--place",
        "dirs",
        "--dirs",
        "x,y",
    ])
    .ok();
    let settings = |lake: &str| iolode(dir.path(), &["lake", "info", lake, "--site"]).ok();
    let site = settings("a");
    assert!(
        site.contains("cluster = \"cori\"") && site.contains("timezone = \"America/Los_Angeles\""),
        "{site}"
    );
    assert!(
        site.contains(&dir.path().join("y").display().to_string()),
        "{site}"
    );
    let info = iolode(dir.path(), &["lake", "info", "a"]).ok();
    assert!(info.contains("placement    in 2 directories"), "{info}");
    std::fs::write(dir.path().join("site.toml"), &site).unwrap();
    create(&["b", "--site", "site.toml", "--cluster", "edison"]).ok();
    let site = settings("b");
    assert!(
        site.contains("cluster = \"edison\"") && site.contains("America/Los_Angeles"),
        "{site}"
    );

    assert!(
        create(&["a"])
            .failed()
            .ends_with("a: there is a lake already")
    );
    std::fs::create_dir(dir.path().join("full")).unwrap();
    std::fs::write(dir.path().join("full/x"), "").unwrap();
    assert!(
        create(&["full"])
            .failed()
            .contains("the directory is not empty")
    );
    assert!(
        create(&["c", "--place", "lustre"])
            .failed()
            .contains("--osts")
    );
    assert!(
        create(&["c", "--place", "lustre", "--osts", "0"])
            .failed()
            .contains("c is not on a Lustre file system; choose another directory")
    );
    assert!(
        create(&["c", "--osts", "0-7"])
            .failed()
            .contains("--osts and --dirs go with --place")
    );
    assert!(
        create(&["c", "--timezone", "Mars"])
            .failed()
            .starts_with("unknown time zone `Mars`")
    );
    std::fs::write(dir.path().join("bad.toml"), "cluter = 'x'").unwrap();
    assert!(
        create(&["c", "--site", "bad.toml"])
            .failed()
            .starts_with("bad.toml: ")
    );
    assert!(!dir.path().join("c").exists());
}

fn a_lake_says_what_it_holds() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let info = lake(&["info", small.lake()]).ok();
    for line in [
        "version      2, ingest of ",
        "time zone    UTC",
        "placement    default",
    ] {
        assert!(info.contains(line), "{info}");
    }
    assert!(info.contains("\ndarshan_log "), "{info}");
    let history = lake(&["history", small.lake(), "--format", "csv"]).ok();
    assert_eq!(history.lines().count(), 3);
    assert!(
        history.lines().nth(1).unwrap().contains(",create,"),
        "{history}"
    );
    let files = lake(&["files", small.lake(), "--format", "ndjson"]).ok();
    assert!(files.lines().all(|line| line.contains("\"table_name\":\"")));
    let check = lake(&["check", small.lake()]);
    assert!(check.stderr.ends_with("nothing found wrong\n"), "{check:?}");
    check.ok();
    let vacuum = lake(&["vacuum", small.lake(), "--dry-run"]);
    assert!(
        vacuum
            .stderr
            .starts_with("would remove 0 versions, 0 files"),
        "{vacuum:?}"
    );
    vacuum.ok();
    let compact = lake(&["compact", small.lake(), "--dry-run"]);
    assert!(
        compact.stderr.starts_with("nothing to do: ") || compact.stderr.starts_with("would write "),
        "{compact:?}"
    );
    compact.ok();
}

fn a_lake_of_two_ingests_is_compacted_once() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let logs = walkdir::WalkDir::new(&small.logs).sort_by_file_name();
    let logs = logs.into_iter().flatten().map(|entry| entry.into_path());
    let logs = logs.filter(|path| path.extension().is_some_and(|e| e == "darshan"));
    for log in logs.take(2) {
        let log = log.to_str().unwrap();
        iolode(
            dir.path(),
            &["ingest", "--create", "--lake", "twice", "--darshan", log],
        );
    }
    let first = lake(&["compact", "twice"]);
    assert!(first.stderr.ends_with(", version 4\n"), "{first:?}");
    first.ok();
    let second = lake(&["compact", "twice"]);
    assert!(second.stderr.starts_with("nothing to do: "), "{second:?}");
    assert!(
        second.stderr.ends_with("in 1 range, 1 list of inputs\n"),
        "{second:?}"
    );
    second.ok();
    lake(&["check", "twice"]).ok();
}

fn a_damaged_lake_is_reported_by_check_with_exit_code_1() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    iolode(
        dir.path(),
        &["ingest", "--create", "--lake", "lake", "--darshan", logs],
    );
    let table = dir.path().join("lake/darshan_log");
    let file = std::fs::read_dir(table)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(&file, "no Parquet").unwrap();
    let check = iolode(dir.path(), &["lake", "check", "lake"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.starts_with("darshan_log/"), "{check:?}");
    assert!(
        check.stderr.contains(" found wrong; `iolode lake restore "),
        "{check:?}"
    );
    let again =
        "; or forget and import again: `iolode lake forget lake --darshan`, then `iolode ingest`\n";
    assert!(check.stderr.ends_with(again), "{check:?}");
    // As it says.
    iolode(dir.path(), &["lake", "forget", "lake", "--darshan"]).ok();
    iolode(dir.path(), &["ingest", "--lake", "lake", "--darshan", logs]);
    iolode(dir.path(), &["lake", "check", "lake"]).ok();
}

fn a_data_file_that_cannot_be_opened_is_told_and_not_called_damaged() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan", logs];
    iolode(dir.path(), &ingest);
    let table = std::fs::read_dir(dir.path().join("lake/darshan_log"));
    let file = table.unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&file).unwrap();
    // Whoever runs the tests may open everything but this.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let check = iolode(dir.path(), &["lake", "check", "lake"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.contains(": cannot read: "), "{check:?}");
    let told = "nothing found wrong, 1 could not be read";
    assert!(check.stderr.contains(told), "{check:?}");
    let sql = ["sql", "--lake", "lake", "-c", "select app from darshan_log"];
    let asked = iolode(dir.path(), &sql);
    assert!(asked.stderr.contains(": cannot read: "), "{asked:?}");
    for run in [check, asked] {
        for word in ["restore", "damaged", "missing", "is gone"] {
            assert!(!run.stderr.contains(word), "{word}: {run:?}");
        }
    }
}

fn a_lake_without_its_newest_version_answers_with_a_warning_and_is_not_changed() {
    let (dir, small) = (fresh(), small());
    let logs = small.logs.to_str().unwrap();
    let created = iolode(dir.path(), &["lake", "create", "my lake"]);
    let next = "next: iolode ingest --lake 'my lake' --darshan PATH";
    assert!(created.stderr.contains(next), "{created:?}");
    let ingest = ["ingest", "--lake", "my lake", "--darshan", logs];
    iolode(dir.path(), &ingest);
    let manifest = "_iolode/manifest/00000000000000000002.json";
    std::fs::remove_file(dir.path().join("my lake").join(manifest)).unwrap();
    let what = format!(
        "lake {}: its newest version 2 is missing ({manifest})",
        dir.path().join("my lake").display()
    );
    let remedy = format!(
        "`iolode lake restore '{}' --version 1` to go on without it",
        dir.path().join("my lake").display()
    );
    let count = "select count(*) as n from darshan_log";
    let sql = ["sql", "--lake", "my lake", "--format", "csv", "-c", count];
    for read in [
        &sql[..],
        &["query", "unreadable_logs", "--lake", "my lake"],
        &["lake", "info", "my lake"],
        &["lake", "files", "my lake"],
        &["lake", "history", "my lake"],
    ] {
        let run = iolode(dir.path(), read);
        assert_eq!(run.code, Some(0), "{run:?}");
        let first = run.stderr.lines().next().unwrap_or_default();
        let warned = first.strip_prefix(&*format!("warning: {what}, answering from version 1; "));
        assert!(
            warned.is_some_and(|rest| rest.ends_with(&remedy)),
            "{run:?}"
        );
    }
    for write in [
        &ingest[..],
        &["lake", "compact", "my lake"],
        &["lake", "vacuum", "my lake"],
    ] {
        let refused = iolode(dir.path(), write).failed();
        assert!(
            refused.starts_with(&what) && refused.contains(&remedy),
            "{refused}"
        );
    }
    iolode(
        dir.path(),
        &["lake", "restore", "my lake", "--version", "1"],
    )
    .ok();
    let run = iolode(dir.path(), &sql);
    assert_eq!((&*run.stdout, &*run.stderr), ("n\n0\n", ""));
}

fn a_copied_root_of_a_placed_lake_is_not_written_and_a_copy_or_a_moved_one_is() {
    let (dir, small) = (fresh(), small());
    let lake = |args: &[&str]| iolode(dir.path(), &[&["lake"], args].concat());
    let count = |lake: &str| {
        let sql = "select count(*) from darshan_file";
        let args = ["sql", "--lake", lake, "--format", "csv", "-c", sql];
        iolode(dir.path(), &args).ok()
    };
    lake(&["create", "a", "--place", "dirs", "--dirs", "x,y"]).ok();
    let logs = small.logs.to_str().unwrap();
    iolode(dir.path(), &["ingest", "--lake", "a", "--darshan", logs]);
    let before = count("a");
    let copied = std::process::Command::new("cp")
        .args(["-a", "a", "b"])
        .current_dir(dir.path())
        .status();
    assert!(copied.unwrap().success());
    assert_eq!(count("b"), before);
    let refused = lake(&["vacuum", "b"]).failed();
    assert!(
        refused.contains("its directories belong to the lake at ")
            && refused.contains("iolode lake moved"),
        "{refused}"
    );
    let refused = lake(&["moved", "b"]).failed();
    assert!(refused.contains("is still at "), "{refused}");
    let copied = lake(&["copy", "a", "c"]);
    assert!(
        copied.stderr.starts_with("copied version 2: "),
        "{copied:?}"
    );
    copied.ok();
    assert_eq!(count("c"), before);
    lake(&["check", "c"]).ok();
    lake(&["copy", "a", "d", "--dirs", "x,z", "--version", "2"]).ok();
    assert_eq!(count("d"), before);
    std::fs::rename(dir.path().join("a"), dir.path().join("e")).unwrap();
    let moved = lake(&["moved", "e"]);
    assert!(
        moved
            .stderr
            .starts_with("2 directories name this root, and no more "),
        "{moved:?}"
    );
    moved.ok();
    lake(&["vacuum", "e"]).ok();
    assert_eq!(count("e"), before);
}
