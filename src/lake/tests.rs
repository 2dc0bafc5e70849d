//! A lake end to end, on a small kind of log of its own.

use super::*;
use crate::source::{Input, Outcome, Peek, Reader, Site, Source, Tables};
use crate::table::Column;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::fs;
use std::time::Duration;

/// `mounts JOB START NAME..`: each name a row of darshan_mount, the start a row nowhere.
struct MountList;

impl Source for MountList {
    fn name(&self) -> &'static str {
        "mounts"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["darshan_mount", "darshan_dxt"]
    }

    fn version(&self) -> u32 {
        1
    }

    fn probe(&self, _: &Path, head: &[u8]) -> bool {
        head.starts_with(b"mounts ")
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        let words = words(input)?;
        let number = |at: usize| words.get(at).and_then(|w| w.parse().ok());
        let job_id = number(1).ok_or_else(|| Error::Malformed {
            path: input.path().into(),
            region: "job".into(),
            at: Some(7),
            reason: "no number".into(),
        })?;
        Ok(Peek {
            job_id,
            start_time: number(2),
        })
    }

    fn reader(&self, _: Arc<Site>) -> Box<dyn Reader> {
        Box::new(MountReader)
    }
}

struct MountReader;

impl Reader for MountReader {
    fn read(&mut self, input: &Input, id: i64, tables: &mut Tables) -> Result<Outcome> {
        let (words, job) = (words(input)?, MountList.peek(input)?.job_id);
        let builder = tables.get("darshan_mount").unwrap();
        for (position, name) in words.iter().skip(3).enumerate() {
            builder.column(0).int64().push(id);
            builder.column(1).int64().push(job);
            builder.column(2).int64().push(position as i64);
            builder.column(3).utf8().append_value(name);
            builder.column(4).utf8().append_value("x");
        }
        // One segment for each log.
        if let Some(builder) = tables.get("darshan_dxt") {
            let numbers = builder.table().schema.clone();
            for (at, field) in numbers.fields().iter().enumerate() {
                match (field.name().as_str(), builder.column(at)) {
                    ("log_id", column) => column.int64().push(id),
                    ("job_id", column) => column.int64().push(job),
                    (_, Column::Int64(column)) => column.push(0),
                    (_, Column::Int32(column)) => column.push(0),
                    (_, Column::UInt64(column)) => column.push(0),
                    (_, Column::Float64(column)) => column.push(0.0),
                    (_, Column::Boolean(column)) => column.append_value(false),
                    (_, Column::Timestamp(column)) => column.push(0),
                    (_, Column::Utf8(column)) => column.append_value("x"),
                    (name, _) => panic!("the test fills no {name}"),
                }
            }
        }
        Ok(Outcome::default())
    }
}

fn words(input: &Input) -> Result<Vec<String>> {
    let mut bytes = vec![];
    input.read_at(0, input.len() as usize, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes)
        .split_whitespace()
        .map(str::to_string)
        .collect())
}

/// A directory of logs and a lake.
struct Bench {
    directory: tempfile::TempDir,
    lake: Lake,
}

const SOURCE: &[&dyn Source] = &[&MountList];

impl Bench {
    fn new() -> Self {
        Self::with(&CreateOptions::default())
    }

    fn with(options: &CreateOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("logs")).unwrap();
        let lake = Lake::create(directory.path().join("lake"), options).unwrap();
        Self { directory, lake }
    }

    fn logs(&self) -> PathBuf {
        self.directory.path().join("logs")
    }

    fn log(&self, name: &str, text: &str) {
        fs::write(self.logs().join(name), text).unwrap();
    }

    fn options(&self) -> IngestOptions<'static> {
        IngestOptions {
            paths: vec![self.logs()],
            sources: SOURCE,
            threads: 2,
            ..IngestOptions::default()
        }
    }

    fn ingest(&self) -> IngestReport {
        self.lake.ingest(&self.options(), &Silent).unwrap()
    }

    /// (job, mount point) of all rows, in the order of the files.
    fn rows(&self) -> Vec<(i64, String)> {
        rows(&self.lake)
    }

    fn statuses(&self) -> Vec<(String, &'static str, String)> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
        let inputs = self.lake.snapshot(None).unwrap().inputs().unwrap();
        inputs
            .iter()
            .map(|row| {
                (
                    name(&row.path),
                    row.status.name(),
                    row.error.clone().unwrap_or_default(),
                )
            })
            .collect()
    }
}

fn rows(lake: &Lake) -> Vec<(i64, String)> {
    let snapshot = lake.snapshot(None).unwrap();
    let mut rows = vec![];
    for file in snapshot.files() {
        for batch in writer::read_data(lake.store(), &file.path, 1000).unwrap() {
            let batch = batch.unwrap();
            let jobs = batch.column(1).as_primitive::<Int64Type>().values();
            rows.extend(
                jobs.iter().copied().zip(
                    batch
                        .column(3)
                        .as_string::<i32>()
                        .iter()
                        .map(|s| s.unwrap().to_string()),
                ),
            );
        }
    }
    rows
}

fn row(job: i64, name: &str) -> (i64, String) {
    (job, name.to_string())
}

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
    bench.log("a", "mounts seven");
    bench.ingest();
    assert_eq!(bench.rows(), [row(6, "/stays")]);
    assert_eq!(
        bench.statuses()[0],
        ("a".into(), "failed", "job at byte 7: no number".into())
    );
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
    let mut random = 12345u64;
    let mut next = |n: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
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
fn segments_are_taken_when_asked_for_and_kept_when_a_log_is_taken_anew() {
    let bench = Bench::new();
    let tables = || {
        let snapshot = bench.lake.snapshot(None).unwrap();
        let mut rows: Vec<_> = snapshot
            .files()
            .iter()
            .map(|f| (f.table.clone(), f.rows))
            .collect();
        rows.sort();
        rows
    };
    let mounts = |n| ("darshan_mount".to_string(), n);
    let segments = |n| ("darshan_dxt".to_string(), n);
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    assert_eq!(tables(), [mounts(1)]);
    let dxt = IngestOptions {
        dxt: true,
        ..bench.options()
    };
    bench.lake.ingest(&dxt, &Silent).unwrap();
    assert_eq!(tables(), [segments(1), mounts(1)]);
    assert_eq!(bench.lake.ingest(&dxt, &Silent).unwrap().version, None);
    // A new log and a changed one without --dxt.
    bench.log("b", "mounts 2 0 /b");
    bench.log("a", "mounts 1 0 /a /more");
    bench.ingest();
    assert_eq!(tables(), [segments(1), mounts(3)]);
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
        paths: vec![bench.logs(), gone.clone()],
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
    assert_eq!(
        bench.lake.ingest(&registered, &Silent).unwrap().version,
        None
    );
}

#[test]
fn what_nothing_was_taken_of_is_tried_again_when_asked_for() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.log("bad", "mounts x");
    let unaware = IngestOptions {
        sources: &[],
        ..bench.options()
    };
    bench.lake.ingest(&unaware, &Silent).unwrap();
    assert_eq!(bench.ingest().version, None);
    let again = || IngestOptions {
        refresh: true,
        ..bench.options()
    };
    assert_eq!(
        bench.lake.ingest(&again(), &Silent).unwrap().version,
        Some(3)
    );
    assert_eq!(bench.rows(), [row(1, "/a")]);
    assert_eq!(bench.statuses()[1].1, "failed");
    assert_eq!(bench.lake.ingest(&again(), &Silent).unwrap().version, None);
}

#[test]
fn what_cannot_be_read_is_recorded_with_its_reason_and_not_tried_again() {
    let bench = Bench::new();
    bench.log("bad", "mounts x");
    bench.log("other", "a text");
    bench.log("good", "mounts 1 0 /x");
    let report = bench.ingest();
    assert_eq!(report.failures.len(), 1);
    assert_eq!(
        bench.statuses(),
        [
            ("bad".into(), "failed", "job at byte 7: no number".into()),
            ("good".into(), "ok", String::new()),
            ("other".into(), "skipped", "no log that iolode knows".into())
        ]
    );
    assert_eq!(bench.ingest().version, None);
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
        from: Some(1),
        to: Some(3),
        ..bench.options()
    };
    bench.lake.ingest(&period, &Silent).unwrap();
    assert_eq!(bench.rows(), [row(1, "/1"), row(2, "/2")]);
    bench.ingest();
    assert_eq!(bench.rows().len(), 4);
}

#[test]
fn many_logs_are_cut_into_ranges_of_about_equal_size() {
    let bench = Bench::new();
    for job in 0..600 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.files().len(), 16);
    assert!(
        snapshot
            .files()
            .iter()
            .all(|file| (30..=45).contains(&file.rows))
    );
    assert_eq!(bench.rows().len(), 600);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn an_overfull_range_is_cut_and_no_row_is_lost() {
    let bench = Bench::with(&CreateOptions {
        range_bytes: 1500,
        ..CreateOptions::default()
    });
    let mut expected = vec![];
    for round in 0..6 {
        for i in 0..20i64 {
            let job = (i * 37 + round * 11) % 500;
            bench.log(
                &format!("{round}-{i}"),
                &format!("mounts {job} 0 /{round}-{i} {}", "padding ".repeat(20)),
            );
            expected.push(row(job, &format!("/{round}-{i}")));
        }
        bench.ingest();
        let report = bench.lake.check().unwrap();
        assert!(report.wrong.is_empty(), "{:?}", report.wrong);
    }
    expected.sort();
    let mut found: Vec<_> = bench
        .rows()
        .into_iter()
        .filter(|(_, name)| name.starts_with('/'))
        .collect();
    found.sort();
    assert_eq!(found, expected);
    assert!(bench.lake.snapshot(None).unwrap().splits().len() > 3);
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
                .map(|job| bench.logs().join(format!("{job:02}")))
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
fn a_lake_in_memory_holds_the_same_rows() {
    let bench = Bench::new();
    for job in 0..50 {
        bench.log(&format!("{job}"), &format!("mounts {} 0 /{job}", job % 7));
    }
    bench.ingest();
    let memory = Lake::in_memory().unwrap();
    memory.ingest(&bench.options(), &Silent).unwrap();
    assert_eq!(rows(&memory), bench.rows());
    assert!(memory.check().unwrap().wrong.is_empty());
}

#[test]
fn ranges_lie_on_the_directories_that_were_given() {
    let disks = tempfile::tempdir().unwrap();
    let dirs = ["a", "b"].map(|name| disks.path().join(name)).to_vec();
    let site = SiteFile {
        place: Placement::Dirs { dirs: dirs.clone() },
        ..SiteFile::default()
    };
    let bench = Bench::with(&CreateOptions {
        site,
        ..CreateOptions::default()
    });
    for job in 0..600 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    for (number, dir) in dirs.iter().enumerate() {
        let on = snapshot
            .files()
            .iter()
            .filter(|file| file.ost == Some(number as i64));
        assert_eq!(on.clone().count(), 8);
        assert!(
            on.into_iter()
                .all(|file| Path::new(&file.path).starts_with(dir))
        );
    }
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

/// Two commits and a vacuum of all that is old come while an ingest reads its first log.
struct Meddler<'a>(&'a Bench, std::sync::Once);

impl Progress for Meddler<'_> {
    fn done(&self, _: u64, _: bool) {
        self.1.call_once(|| {
            for name in ["x", "y"] {
                let path = self.0.directory.path().join(name);
                fs::write(&path, format!("mounts 9 0 /{name}")).unwrap();
                let options = IngestOptions {
                    paths: vec![path],
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
    bench.ingest();
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
    assert!(
        gone.contains("it has no version 2; it has 3 to 3"),
        "{gone}"
    );
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
        site,
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
    // Version 3 says that it was made long ago.
    let mut third = bench.lake.snapshot(Some(3)).unwrap().manifest().clone();
    third.time = 0;
    let text = serde_json::to_vec(&third).unwrap();
    bench
        .lake
        .store()
        .replace(&Manifest::path(3), &text)
        .unwrap();
    bench.lake.store().replace("_iolode/_last", b"1").unwrap();
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
    fs::remove_file(&full).unwrap();
    assert!(
        bench.lake.check().unwrap().wrong[0]
            .what
            .contains("is missing")
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
        .put_new(&Manifest::path(2), br#"{"format": 9}"#)
        .unwrap();
    assert!(error("lake").contains("newer iolode"), "{}", error("lake"));
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

#[test]
fn a_hundred_ingests_leave_few_lists_and_every_input_known() {
    let bench = Bench::new();
    for i in 0..100 {
        bench.log(&format!("{i}"), &format!("mounts {i} 0 /{i}"));
        let paths = vec![bench.logs().join(format!("{i}"))];
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

/// A newer [`MountList`] that refuses what the older one read.
struct Refusing {
    /// When it is read, rather than when it is looked at.
    late: bool,
    /// Because the bytes cannot be had.
    unread: bool,
}

impl Refusing {
    fn refuse(&self, input: &Input) -> Error {
        match self.unread {
            true => Error::io(input.path(), "cannot read", std::io::Error::other("away")),
            false => Error::Unsupported {
                path: input.path().into(),
                reason: "too old".into(),
            },
        }
    }
}

impl Source for Refusing {
    fn name(&self) -> &'static str {
        MountList.name()
    }

    fn tables(&self) -> &'static [&'static str] {
        MountList.tables()
    }

    fn version(&self) -> u32 {
        2
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        MountList.probe(path, head)
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        match self.late || words(input)?.contains(&"fine".to_string()) {
            true => MountList.peek(input),
            false => Err(self.refuse(input)),
        }
    }

    fn reader(&self, _: Arc<Site>) -> Box<dyn Reader> {
        let Self { late, unread } = *self;
        Box::new(RefusingReader(Refusing { late, unread }))
    }
}

struct RefusingReader(Refusing);

impl Reader for RefusingReader {
    fn read(&mut self, input: &Input, id: i64, tables: &mut Tables) -> Result<Outcome> {
        match words(input)?.contains(&"fine".to_string()) {
            true => MountReader.read(input, id, tables),
            false => Err(self.0.refuse(input)),
        }
    }
}

#[test]
fn rows_of_a_log_that_is_taken_anew_stay_if_it_cannot_be_read() {
    for (late, unread) in [(false, false), (false, true), (true, false), (true, true)] {
        let bench = Bench::new();
        bench.log("a", "mounts 1 0 alpha");
        bench.log("b", "mounts 2 0 beta fine");
        bench.ingest();
        let before = bench.rows();
        let refusing = Refusing { late, unread };
        let sources: &[&dyn Source] = &[&refusing];
        let options = IngestOptions {
            refresh: true,
            sources,
            paths: vec![bench.logs()],
            threads: 2,
            ..IngestOptions::default()
        };
        let report = bench.lake.ingest(&options, &Silent).unwrap();
        assert_eq!(report.failures.len(), 1, "late {late}, unread {unread}");
        assert!(report.failures[0].0.ends_with("/a"));
        assert_eq!(bench.rows(), before, "late {late}, unread {unread}");
        assert_eq!(bench.lake.check().unwrap().wrong, []);
        let versions: Vec<u32> = (bench.lake.snapshot(None).unwrap().inputs().unwrap().iter())
            .map(|row| row.reader_version)
            .collect();
        assert_eq!(versions, [1, 2], "late {late}, unread {unread}");
        // Its own reader takes it as ever, and nothing is twice.
        assert_eq!(bench.ingest().version, None);
    }
}

#[test]
fn rows_of_a_changed_log_stay_while_it_cannot_be_read_and_go_when_it_is_found_damaged() {
    for late in [false, true] {
        let bench = Bench::new();
        bench.log("a", "mounts 1 0 alpha");
        bench.ingest();
        bench.log("a", "mounts 1 0 alphabet");
        for (unread, rows) in [(true, vec![row(1, "alpha")]), (false, vec![])] {
            let refusing = Refusing { late, unread };
            let sources: &[&dyn Source] = &[&refusing];
            let options = IngestOptions {
                sources,
                ..bench.options()
            };
            let report = bench.lake.ingest(&options, &Silent).unwrap();
            assert_eq!(report.failures.len(), 1);
            assert_eq!(bench.rows(), rows, "late {late}, unread {unread}");
            assert_eq!(bench.lake.check().unwrap().wrong, []);
        }
    }
}

#[test]
fn a_lake_that_began_with_few_logs_gets_ranges_when_many_come() {
    let bench = Bench::new();
    bench.log("first", "mounts 300 0 first");
    bench.ingest();
    assert_eq!(bench.lake.snapshot(None).unwrap().splits().len(), 0);
    for job in 0..600 {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 n{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.splits().len(), 15);
    assert_eq!(bench.rows().len(), 601);
    assert_eq!(bench.lake.check().unwrap().wrong, []);
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
    assert_eq!(
        wrong[0].what,
        "1 logs that were taken in have no rows, such as 77"
    );
}
