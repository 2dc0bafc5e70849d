//! What is taken in, and once: new logs, changed ones, copies, periods, registered sources, two ingests at once.

use super::*;
use crate::math::random::Random;
use std::time::UNIX_EPOCH;

#[test]
fn the_same_tree_again_changes_nothing_and_makes_no_version() {
    let bench = Bench::new();
    bench.log("a", "mounts 2 0 /x /y");
    bench.log("b", "mounts 1 0 /z");
    let first = bench.ingest();
    assert_eq!(
        (
            first.version,
            first.inputs.get(&InputStatus::Ok),
            first.rows
        ),
        (Some(2), Some(&2), 3)
    );
    let again = bench.ingest();
    assert_eq!((again.version, again.unchanged), (None, 2));
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 2);
    assert_eq!(bench.rows(), [row(1, "/z"), row(2, "/x"), row(2, "/y")]);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn new_logs_join_the_files_of_their_range_in_order() {
    let bench = Bench::new();
    bench.log("a", "mounts 5 0 /five");
    bench.ingest();
    bench.log("b", "mounts 3 0 /three");
    bench.log("c", "mounts 9 0 /nine");
    bench.ingest();
    assert_eq!(
        bench.rows(),
        [row(3, "/three"), row(5, "/five"), row(9, "/nine")]
    );
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.files().len(), 1);
    // The version before is still there, as it was.
    let before = bench.lake.snapshot(Some(2)).unwrap();
    assert_eq!(before.files()[0].rows, 1);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_log_whose_bytes_changed_replaces_its_rows() {
    let bench = Bench::new();
    bench.log("a", "mounts 5 0 /old /older");
    bench.log("b", "mounts 6 0 /stays");
    bench.ingest();
    bench.log("a", "mounts 7 0 /new");
    bench.ingest();
    assert_eq!(bench.rows(), [row(6, "/stays"), row(7, "/new")]);
    // Of bytes that are no log any more nothing is taken, and what was taken stays.
    bench.log("a", "mounts seven");
    let report = bench.ingest();
    assert_eq!(report.failures[0].1, "job at byte 7: no number");
    assert_eq!(bench.rows(), [row(6, "/stays"), row(7, "/new")]);
    assert_eq!(bench.statuses()[0].1, "ok");
}

#[test]
fn the_same_bytes_are_taken_once_and_stay_while_one_file_has_them() {
    let bench = Bench::new();
    bench.log("a", "mounts 5 0 /x");
    bench.log("b", "mounts 5 0 /x");
    bench.ingest();
    bench.log("c", "mounts 5 0 /x");
    bench.ingest();
    assert_eq!(bench.rows(), [row(5, "/x")]);
    let statuses = bench.statuses();
    assert_eq!(
        statuses.iter().map(|s| s.1).collect::<Vec<_>>(),
        ["ok", "skipped", "skipped"]
    );
    assert!(
        statuses[1].2.ends_with("/logs/a") && statuses[2].2.ends_with("/logs/a"),
        "{statuses:?}"
    );
    bench.log("a", "mounts 5 0 /changed");
    bench.ingest();
    assert_eq!(bench.rows().len(), 2);
}

/// Whatever is written, touched or copied between ingests, the lake holds the bytes that its inputs last had: each once, each
/// with one input that stands for it.
#[test]
fn the_lake_holds_each_log_once_through_any_history_of_copies_and_changes() {
    let bench = Bench::new();
    let mut random = Random::new(12345, 0);
    let mut next = |n: u64| random.below(n);
    let mut inputs: std::collections::BTreeMap<u64, u64> = Default::default();
    for step in 0..60u64 {
        for _ in 0..=next(3) {
            let (path, content) = (next(4), next(3));
            // Half of the time the file is only touched.
            let content = match inputs.get(&path) {
                Some(before) if next(2) == 0 => *before,
                _ => content,
            };
            bench.log(
                &format!("{path}"),
                &format!("mounts {} 0 /{content}", content % 2),
            );
            let time = UNIX_EPOCH + Duration::from_secs(1_000_000 + step);
            let file = fs::File::options()
                .write(true)
                .open(bench.logs().join(format!("{path}")));
            file.unwrap().set_modified(time).unwrap();
            inputs.insert(path, content);
        }
        bench.ingest();
        let mut expected: Vec<_> = inputs
            .values()
            .map(|c| row((c % 2) as i64, &format!("/{c}")))
            .collect();
        expected.sort();
        expected.dedup();
        let mut found = bench.rows();
        found.sort();
        assert_eq!(found, expected, "step {step}");
        let standing = bench.statuses().iter().filter(|s| s.1 == "ok").count();
        assert_eq!(standing, expected.len(), "step {step}");
        assert_eq!(bench.ingest().version, None, "step {step}");
    }
    let report = bench.lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
}

#[test]
fn a_copy_whose_original_changed_says_of_which_input_it_is_one() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.log(name, "mounts 5 0 /x");
    }
    bench.ingest();
    bench.log("a", "mounts 5 0 /changed");
    bench.ingest();
    let statuses = bench.statuses();
    assert_eq!(
        statuses.iter().map(|s| s.1).collect::<Vec<_>>(),
        ["ok", "ok", "skipped"]
    );
    bench.log("d", "mounts 5 0 /x");
    bench.ingest();
    assert!(bench.statuses()[3].2.ends_with("/logs/b"));
    assert_eq!(bench.rows().len(), 2);
}

#[test]
fn a_lake_among_the_logs_is_not_taken_for_logs() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    let inside = Lake::create(bench.logs().join("lake"), &CreateOptions::default()).unwrap();
    inside.ingest(&bench.options(), &Silent).unwrap();
    bench.ingest();
    assert_eq!(bench.statuses().len(), 1);
    assert_eq!(
        inside.ingest(&bench.options(), &Silent).unwrap().version,
        None
    );
}

#[test]
fn a_path_that_is_not_there_is_an_error_and_a_registered_one_is_recorded() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    let gone = bench.directory.path().join("gone");
    let typo = IngestOptions {
        paths: vec![bench.logs().into(), gone.clone().into()],
        ..bench.options()
    };
    let error = bench.lake.ingest(&typo, &Silent).unwrap_err().to_string();
    assert!(
        error.ends_with("gone: cannot read: no such file or directory"),
        "{error}"
    );
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 1);
    fs::create_dir(&gone).unwrap();
    let register = IngestOptions {
        register: true,
        ..typo
    };
    bench.lake.ingest(&register, &Silent).unwrap();
    fs::remove_dir(&gone).unwrap();
    bench.log("b", "mounts 2 0 /b");
    let registered = IngestOptions {
        paths: vec![],
        ..bench.options()
    };
    let report = bench.lake.ingest(&registered, &Silent).unwrap();
    assert_eq!(
        report.failures,
        [(
            gone.display().to_string(),
            "cannot read: no such file or directory".to_string()
        )]
    );
    assert_eq!(bench.rows().len(), 2);
    // There is nothing new, and still it is said.
    let again = bench.lake.ingest(&registered, &Silent).unwrap();
    assert_eq!((again.version, again.failures), (None, report.failures));

    fs::create_dir(&gone).unwrap();
    let back = bench.lake.ingest(&registered, &Silent).unwrap();
    assert!(
        back.version.is_some() && back.failures.is_empty(),
        "{back:?}"
    );
    let (name, status, why) = bench
        .statuses()
        .into_iter()
        .find(|row| row.0 == "gone")
        .unwrap();
    assert_eq!(
        (name.as_str(), status, why.as_str()),
        ("gone", "skipped", "a directory, which can be read again")
    );
    assert_eq!(
        bench.lake.ingest(&registered, &Silent).unwrap().version,
        None
    );
}

#[test]
fn names_that_are_no_text_are_told_apart() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    for (byte, job) in [(0xfe, 1), (0xff, 2)] {
        let name = std::ffi::OsStr::from_bytes(&[b'a', byte]).to_owned();
        fs::write(bench.logs().join(name), format!("mounts {job} 0 /a")).unwrap();
    }
    bench.ingest();
    assert_eq!(bench.rows().len(), 2);
    let again = bench.ingest();
    assert_eq!((again.version, again.unchanged), (None, 2));
    let names: Vec<String> = bench.statuses().into_iter().map(|row| row.0).collect();
    assert_eq!(names, ["a\\xfe", "a\\xff"]);
}

#[test]
fn a_period_is_half_open_and_what_lies_outside_is_taken_later() {
    let bench = Bench::new();
    for start in 0..4 {
        bench.log(
            &format!("{start}"),
            &format!("mounts {start} {start} /{start}"),
        );
    }
    let period = IngestOptions {
        period: crate::source::Period {
            from: Some(1),
            to: Some(3),
        },
        ..bench.options()
    };
    bench.lake.ingest(&period, &Silent).unwrap();
    assert_eq!(bench.rows(), [row(1, "/1"), row(2, "/2")]);
    bench.ingest();
    assert_eq!(bench.rows().len(), 4);
}

#[test]
fn two_ingests_at_once_both_succeed_and_nothing_is_there_twice() {
    let bench = Bench::new();
    for job in 0..80 {
        bench.log(&format!("{job:02}"), &format!("mounts {job} 0 /{job}"));
    }
    std::thread::scope(|scope| {
        for part in 0..4 {
            let bench = &bench;
            // Overlapping parts of the tree.
            let paths = (part * 15..part * 15 + 35)
                .map(|job| bench.logs().join(format!("{job:02}")).into())
                .collect();
            scope.spawn(move || {
                let options = IngestOptions {
                    paths,
                    ..bench.options()
                };
                bench.lake.ingest(&options, &Silent).unwrap();
            });
        }
        // A reader beside them sees each log whole and once, whatever the version.
        for _ in 0..20 {
            let mut found = bench.rows();
            let n = found.len();
            found.dedup();
            assert_eq!(found.len(), n);
        }
    });
    let expected: Vec<_> = (0..80).map(|job| row(job, &format!("/{job}"))).collect();
    assert_eq!(bench.rows(), expected);
    let report = bench.lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
}

#[test]
fn registered_sources_are_taken_when_no_path_is_given() {
    let bench = Bench::new();
    let none = IngestOptions {
        paths: vec![],
        ..bench.options()
    };
    assert!(
        bench
            .lake
            .ingest(&none, &Silent)
            .unwrap_err()
            .to_string()
            .contains("--register")
    );
    bench.log("a", "mounts 1 0 /a");
    bench
        .lake
        .ingest(
            &IngestOptions {
                register: true,
                ..bench.options()
            },
            &Silent,
        )
        .unwrap();
    bench.log("b", "mounts 2 0 /b");
    bench.lake.ingest(&none, &Silent).unwrap();
    assert_eq!(bench.rows().len(), 2);
}
