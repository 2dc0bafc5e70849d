//! What the site knows: kept with each version as it was given, changed by commits.

use super::dumps::{Dumps, dump, line};
use super::*;
use arrow::array::AsArray;
use arrow::datatypes::TimestampMicrosecondType;

fn with(settings: &str) -> Bench {
    Bench::with(&CreateOptions {
        settings: settings.into(),
        ..CreateOptions::default()
    })
}

#[test]
fn settings_are_kept_with_comments_and_each_version_has_its_own() {
    let bench = with("# ours\ncluster = 'cori' # the old one\n");
    bench.log("a", "mounts 1 0 /a");
    let registering = IngestOptions {
        register: true,
        zone: Some(chrono_tz::America::Los_Angeles),
        ..bench.options()
    };
    bench.lake.ingest(&registering, &Silent).unwrap();
    let text = bench.lake.settings().unwrap();
    assert!(
        text.starts_with(
            "# ours\ncluster = 'cori' # the old one\ntimezone = \"America/Los_Angeles\"\n"
        ),
        "{text}"
    );
    let site = bench.lake.site().unwrap();
    assert_eq!(site.source.len(), 1);
    let elsewhere = bench.lake.set_settings("cluster = 'cori'\n", None).unwrap();
    assert_eq!(elsewhere.sources_dropped, [site.source[0].path.clone()]);
    assert_eq!(
        bench
            .lake
            .set_settings(&text, None)
            .unwrap()
            .sources_dropped,
        Vec::<String>::new()
    );
    // Once more registers nothing more, and makes no version.
    assert_eq!(
        bench.lake.ingest(&registering, &Silent).unwrap().version,
        None
    );
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 4);
    let first = bench.lake.snapshot(Some(1)).unwrap();
    assert_eq!(
        first.manifest().settings,
        "# ours\ncluster = 'cori' # the old one\n"
    );
    // Without anything to take in, what is registered is kept all the same.
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = IngestOptions {
        paths: vec![elsewhere.path().into()],
        ..registering
    };
    assert_eq!(bench.lake.ingest(&empty, &Silent).unwrap().version, None);
    assert_eq!(bench.lake.site().unwrap().source.len(), 2);
}

#[test]
fn of_two_that_register_at_once_both_stay() {
    let bench = with("# ours\n");
    let directories: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    std::thread::scope(|scope| {
        for directory in &directories {
            let bench = &bench;
            scope.spawn(move || {
                let options = IngestOptions {
                    paths: vec![directory.path().into()],
                    register: true,
                    ..bench.options()
                };
                bench.lake.ingest(&options, &Silent).unwrap();
            });
        }
    });
    let text = bench.lake.settings().unwrap();
    assert!(text.starts_with("# ours\n"), "{text}");
    assert_eq!(bench.lake.site().unwrap().source.len(), 4);
}

#[test]
fn a_change_says_which_inputs_were_read_otherwise_and_refresh_reads_them_again() {
    let bench = with("");
    for job in 0..3 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let berlin = "timezone = 'Europe/Berlin' # since 2026\n";
    let changed = bench.lake.set_settings(berlin, Some(2)).unwrap();
    assert_eq!(
        (changed.version, changed.outdated_inputs.logs),
        (Some(3), 3)
    );
    assert_eq!(bench.lake.settings().unwrap(), berlin);
    // What readers take from them has not changed.
    let named = format!("cluster = 'cori'\n{berlin}");
    let changed = bench.lake.set_settings(&named, None).unwrap();
    assert_eq!(
        (changed.version, changed.outdated_inputs.logs),
        (Some(4), 3)
    );
    assert_eq!(bench.ingest().version, None);
    let refresh = IngestOptions {
        refresh: true,
        ..bench.options()
    };
    let report = bench.lake.ingest(&refresh, &Silent).unwrap();
    assert_eq!(report.inputs.get(&InputStatus::Ok), Some(&3));
    assert_eq!(bench.rows().len(), 3);
    let same = bench.lake.set_settings(&named, None).unwrap();
    assert_eq!((same.version, same.outdated_inputs.logs), (None, 0));
    assert_eq!(bench.lake.ingest(&refresh, &Silent).unwrap().version, None);
}

#[test]
fn without_paths_refresh_reads_what_the_lake_knows_and_was_read_otherwise() {
    let bench = with("");
    for job in 0..3 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    // Neither of these is asked for: the lake does not know the first, and forgot the second for good.
    bench.log("new", "mounts 9 0 /new");
    bench
        .lake
        .set_settings("timezone = 'Europe/Berlin'\n", None)
        .unwrap();
    fs::remove_file(bench.logs().join("1")).unwrap();
    let refresh = |paths: Vec<InputPath>| IngestOptions {
        refresh: true,
        paths,
        ..bench.options()
    };
    let report = bench.lake.ingest(&refresh(vec![]), &Silent).unwrap();
    assert_eq!(report.inputs, [(InputStatus::Ok, 2)].into());
    assert_eq!((report.unchanged, &report.failures[..]), (0, &[][..]));
    let (what, why) = &report.warnings[0];
    let gone = bench.logs().join("1").display().to_string();
    assert_eq!(what, "1 input that is no longer there");
    assert_eq!(*why, format!("its rows stay as they were read: {gone}"));
    // What a file that is gone has brought stays.
    assert_eq!(bench.rows(), [row(0, "/0"), row(1, "/1"), row(2, "/2")]);
    assert_eq!(bench.lake.outdated_inputs().unwrap().logs, 1);
    let again = bench.lake.ingest(&refresh(vec![]), &Silent).unwrap();
    assert_eq!((again.version, again.warnings.len()), (None, 1));
    // What was taken back is not known, and an empty lake knows nothing.
    bench.lake.forget(SOURCE).unwrap();
    assert_eq!(
        bench
            .lake
            .ingest(&refresh(vec![]), &Silent)
            .unwrap()
            .version,
        None
    );
    let empty = Lake::in_memory().unwrap();
    assert!(empty.ingest(&refresh(vec![]), &Silent).is_err());
}

#[test]
fn what_refresh_cannot_read_is_not_gone() {
    let bench = with("");
    for job in 0..2 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    bench
        .lake
        .set_settings("timezone = 'Europe/Berlin'\n", None)
        .unwrap();
    // A link to itself: nobody can look at what is there.
    let log = bench.logs().join("1");
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&log, &log).unwrap();
    let refresh = IngestOptions {
        refresh: true,
        paths: vec![],
        ..bench.options()
    };
    let report = bench.lake.ingest(&refresh, &Silent).unwrap();
    assert_eq!(report.warnings, []);
    let (path, why) = &report.failures[0];
    assert_eq!(*path, log.display().to_string());
    assert!(why.contains("symbolic links"), "{why}");
    assert_eq!(bench.rows(), [row(0, "/0"), row(1, "/1")]);
}

#[test]
fn registered_sources_are_refreshed_with_what_lies_elsewhere() {
    let bench = with("");
    let other = bench.directory.path().join("other");
    fs::create_dir(&other).unwrap();
    bench.log("b", "mounts 1 0 /b");
    for (name, text) in [("a", "mounts 2 0 /a"), ("z", "mounts 3 0 /z")] {
        fs::write(other.join(name), text).unwrap();
    }
    let of = |path: PathBuf, register: bool| IngestOptions {
        paths: vec![path.into()],
        register,
        ..bench.options()
    };
    bench.lake.ingest(&of(other, false), &Silent).unwrap();
    bench.lake.ingest(&of(bench.logs(), true), &Silent).unwrap();
    let text = bench.lake.settings().unwrap();
    let text = format!("timezone = 'Europe/Berlin'\n{text}");
    let changed = bench.lake.set_settings(&text, None).unwrap();
    assert_eq!(changed.outdated_inputs.logs, 3);
    bench.log("c", "mounts 4 0 /c");
    let refresh = IngestOptions {
        refresh: true,
        paths: vec![],
        ..bench.options()
    };
    let report = bench.lake.ingest(&refresh, &Silent).unwrap();
    assert_eq!(report.inputs, [(InputStatus::Ok, 4)].into());
    assert_eq!(bench.lake.outdated_inputs().unwrap().logs, 0);
    assert_eq!(bench.lake.ingest(&refresh, &Silent).unwrap().version, None);
}

/// In another zone the same records have other keys. A refresh would let them stand twice.
#[test]
fn dumps_that_were_read_in_another_zone_are_not_read_beside_themselves() {
    let dumps = Dumps::new();
    let path = dumps.directory.path().join("sacct.psv");
    let text = dump(&[
        line(1, "COMPLETED", 0, Some(10), Some(50)),
        line(2, "COMPLETED", 20, Some(30), Some(60)),
    ]);
    std::fs::write(&path, text).unwrap();
    let zone = |name: &str| format!("timezone = \"{name}\"\n");
    dumps.lake.set_settings(&zone("UTC"), None).unwrap();
    dumps.take(&path);
    let changed = dumps
        .lake
        .set_settings(&zone("America/Los_Angeles"), None)
        .unwrap();
    assert_eq!(
        (changed.outdated_inputs.logs, changed.outdated_inputs.dumps),
        (0, 1)
    );
    let submitted = || {
        let rows = dumps.rows("slurm_job");
        let times = rows.column_by_name("submit_time").unwrap();
        times
            .as_primitive::<TimestampMicrosecondType>()
            .values()
            .to_vec()
    };
    // 2026-09-01 00:00:00 and 00:00:20 UTC.
    let midnight = 1_788_220_800_000_000;
    assert_eq!(submitted(), [midnight, midnight + 20_000_000]);
    let refresh = IngestOptions {
        refresh: true,
        ..IngestOptions::default()
    };
    dumps.take_with(&path, refresh);
    assert_eq!(submitted(), [midnight, midnight + 20_000_000]);
    assert_eq!(dumps.lake.outdated_inputs().unwrap().dumps, 1);
    dumps.lake.forget(&[&crate::source::slurm::Slurm]).unwrap();
    dumps.take(&path);
    // Seven hours later, in Pacific Daylight Time.
    let there = midnight + 7 * 3600 * 1_000_000;
    assert_eq!(submitted(), [there, there + 20_000_000]);
    assert_eq!(
        dumps.lake.outdated_inputs().unwrap(),
        OutdatedInputs::default()
    );
}

#[test]
fn settings_that_others_have_changed_or_that_make_no_sense_are_refused() {
    let bench = with("");
    bench.lake.set_settings("cluster = 'a'\n", Some(1)).unwrap();
    let late = bench
        .lake
        .set_settings("cluster = 'b'\n", Some(1))
        .unwrap_err();
    assert!(
        late.to_string().contains("its newest version is 2, not 1"),
        "{late}"
    );
    let wrong = bench
        .lake
        .set_settings("clutser = 'b'\n", None)
        .unwrap_err();
    assert!(
        wrong.to_string().contains("unknown field `clutser`"),
        "{wrong}"
    );
    assert_eq!(bench.lake.settings().unwrap(), "cluster = 'a'\n");
}
