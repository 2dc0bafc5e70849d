//! Processes that are killed, or run out of disk, in the middle of an ingest or a compaction: a reader sees the version before or
//! the one after, and the next one makes what an undisturbed one would have made.

use super::*;
use crate::source::synth::{self, Month};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DIRECTORY: &str = "IOLODE_KILL_DIRECTORY";
/// The test that is the process to be killed.
const CHILD: &str = "lake::kill::the_process_that_is_killed";

#[test]
fn the_process_that_is_killed() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        let lake = Lake::open(Path::new(&directory).join("lake")).unwrap();
        match lake.ingest(&options(Path::new(&directory)), &Silent) {
            Ok(_) => {}
            // The parent reads this as the exit status; a panic would be 101.
            Err(Error::Io { source, .. }) => std::process::exit(source.raw_os_error().unwrap_or(1)),
            Err(e) => panic!("{e}"),
        }
    }
}

fn options(directory: &Path) -> IngestOptions<'static> {
    IngestOptions {
        paths: vec![directory.join("logs").into()],
        threads: 2,
        memory: 64 << 20,
        ..IngestOptions::default()
    }
}

/// A lake with half of a small month, and the whole month beside it, with copies, damage and changed logs.
struct Scene {
    directory: tempfile::TempDir,
    before: Contents,
    after: Contents,
}

/// All rows of all tables in their order, and what the lake says of its inputs.
#[derive(PartialEq)]
struct Contents {
    version: u64,
    tables: BTreeMap<String, RecordBatch>,
    inputs: Vec<InputRow>,
}

impl Contents {
    fn of(lake: &Lake) -> Self {
        let snapshot = lake.snapshot(None).unwrap();
        let mut batches: BTreeMap<String, Vec<RecordBatch>> = BTreeMap::new();
        for file in snapshot.files() {
            let rows = writer::read_data(lake.store(), &file.path, 65_536).unwrap();
            let of_table = batches.entry(file.table.clone()).or_default();
            of_table.extend(rows.map(|batch| batch.unwrap()));
        }
        let tables = batches
            .into_iter()
            .map(|(table, b)| (table, concat_batches(&b[0].schema(), &b).unwrap()))
            .collect();
        Self {
            version: snapshot.version(),
            tables,
            inputs: snapshot.inputs().unwrap(),
        }
    }
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        synth::write_with(&Month::new(8, 7), &at("logs"), 2, &|_| {}).unwrap();
        let mut logs = vec![];
        for entry in walkdir::WalkDir::new(at("logs")).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.path().extension().is_some_and(|e| e == "darshan") {
                logs.push(entry.into_path());
            }
        }
        let create = CreateOptions {
            range_bytes: 60_000,
            ..CreateOptions::default()
        };
        let lake = Lake::create(at("lake"), &create).unwrap();
        let half = IngestOptions {
            paths: logs
                .iter()
                .step_by(2)
                .cloned()
                .map(InputPath::from)
                .collect(),
            ..options(directory.path())
        };
        lake.ingest(&half, &Silent).unwrap();
        // One that the lake knows loses its end, one is copied, one is no log, one changes places with another.
        let bytes = std::fs::read(&logs[0]).unwrap();
        std::fs::write(&logs[0], &bytes[..bytes.len() * 2 / 3]).unwrap();
        std::fs::copy(&logs[2], at("logs/copy.darshan")).unwrap();
        std::fs::write(at("logs/not.darshan"), "no log\0").unwrap();
        std::fs::copy(&logs[1], &logs[4]).unwrap();
        let before = Contents::of(&lake);
        copy(&at("lake"), &at("undisturbed/lake"));
        let undisturbed = Lake::open(at("undisturbed/lake")).unwrap();
        undisturbed
            .ingest(&options(directory.path()), &Silent)
            .unwrap();
        let after = Contents::of(&undisturbed);
        assert!(
            undisturbed.snapshot(None).unwrap().splits().len() > 2,
            "ranges are cut"
        );
        std::fs::rename(at("lake"), at("template")).unwrap();
        Self {
            directory,
            before,
            after,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// A process that ingests into a fresh copy of the lake.
    fn child(&self) -> Command {
        self.process(CHILD)
    }

    /// A process that runs one of these tests on a fresh copy of the lake.
    fn process(&self, test: &str) -> Command {
        let _ = std::fs::remove_dir_all(self.at("lake"));
        copy(&self.at("template"), &self.at("lake"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args([test, "--exact", "--nocapture"])
            .env(DIRECTORY, self.directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        child
    }

    /// What must hold after a process died; whether it had published.
    fn survives(&self, what: &str) -> bool {
        let lake = Lake::open(self.at("lake")).unwrap();
        let found = Contents::of(&lake);
        let published = found == self.after;
        assert!(published || found == self.before, "{what}: half a version");
        let wrong = lake.check().unwrap().wrong;
        assert!(wrong.is_empty(), "{what}: {wrong:?}");
        let report = lake
            .ingest(&options(self.directory.path()), &Silent)
            .unwrap();
        assert_eq!(report.version.is_none(), published, "{what}");
        assert!(Contents::of(&lake) == self.after, "{what}: other rows");
        let options = VacuumOptions {
            min_age: Duration::ZERO,
            ..VacuumOptions::default()
        };
        lake.vacuum(&options).unwrap();
        let report = lake.check().unwrap();
        assert!(
            report.wrong.is_empty() && report.unreferenced.is_empty(),
            "{what}: {report:?}"
        );
        assert!(
            Contents::of(&lake) == self.after,
            "{what}: the vacuum took rows"
        );
        published
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        match entry.file_type().is_dir() {
            true => std::fs::create_dir_all(target).unwrap(),
            false => _ = std::fs::copy(entry.path(), target).unwrap(),
        }
    }
}

/// The test that is the process that compacts.
const COMPACTER: &str = "lake::kill::the_process_that_compacts";

#[test]
fn the_process_that_compacts() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        let lake = Lake::open(Path::new(&directory).join("lake")).unwrap();
        lake.compact(&compaction(), &Silent).unwrap();
    }
}

fn compaction() -> CompactOptions {
    CompactOptions {
        threads: 2,
        memory: 64 << 20,
        ..CompactOptions::default()
    }
}

#[test]
fn a_compaction_killed_at_any_failpoint_leaves_the_same_rows() {
    let scene = Scene::new();
    // Each range should hold more from now on, so that there are several steps; and there are several lists.
    let lake = Lake::open(scene.at("template")).unwrap();
    let mut known = lake.snapshot(None).unwrap().inputs().unwrap();
    known.truncate(1);
    known[0].path = "/a/directory".into();
    known[0].status = InputStatus::Skipped;
    known[0].content_hash = None;
    lake.record_inputs(known).unwrap();
    let newest = lake.snapshot(None).unwrap();
    let all: u64 = newest.files().iter().map(|file| file.bytes).sum();
    let ranges = newest.splits().len() as u64 + 1;
    let mut wider = newest.manifest().clone();
    wider.version += 1;
    wider.parent = Some(newest.version());
    wider.range_bytes = 3 * all / ranges;
    assert!(wider.publish(lake.store()).unwrap());
    let before = Contents::of(&lake);
    let mut killed = 0;
    for point in FAILPOINTS {
        for passage in [1, 2, 7] {
            let what = format!("{point}:{passage}");
            let mut child = scene.process(COMPACTER);
            child.env("IOLODE_FAILPOINT", &what);
            let status = child.status().unwrap();
            if status.success() {
                assert!(passage > 1, "{point} was never passed");
                break;
            }
            assert_eq!(status.signal(), Some(6), "{what}: {status}");
            killed += 1;
            let lake = Lake::open(scene.at("lake")).unwrap();
            let wrong = lake.check().unwrap().wrong;
            assert!(wrong.is_empty(), "{what}: {wrong:?}");
            let found = Contents::of(&lake);
            assert!(found.tables == before.tables, "{what}: other rows");
            assert!(found.inputs == before.inputs, "{what}: other inputs");
            lake.compact(&compaction(), &Silent).unwrap();
            let spare_nothing = VacuumOptions {
                min_age: Duration::ZERO,
                ..VacuumOptions::default()
            };
            lake.vacuum(&spare_nothing).unwrap();
            let report = lake.check().unwrap();
            assert!(
                report.wrong.is_empty() && report.unreferenced.is_empty(),
                "{what}: {report:?}"
            );
            let found = Contents::of(&lake);
            assert!(
                found.tables == before.tables,
                "{what}: other rows at the end"
            );
            let ended = lake.snapshot(None).unwrap();
            assert!((ended.splits().len() as u64) < ranges / 2, "{what}");
        }
    }
    assert!(killed >= 20, "{killed}");
}

#[test]
fn an_ingest_killed_at_any_failpoint_leaves_one_version_or_the_other() {
    let scene = Scene::new();
    let mut killed = 0;
    for point in FAILPOINTS {
        let mut published = None;
        for passage in [1, 2, 7] {
            let what = format!("{point}:{passage}");
            let status = scene
                .child()
                .env("IOLODE_FAILPOINT", &what)
                .status()
                .unwrap();
            if status.success() {
                // It passes fewer times.
                assert!(passage > 1, "{point} was never passed");
                break;
            }
            assert_eq!(status.signal(), Some(6), "{what}: {status}");
            killed += 1;
            let after = scene.survives(&what);
            assert!(published.is_none_or(|before| before == after), "{what}");
            published = Some(after);
        }
        // Publishing is the only step that shows.
        let at = |name: &str| FAILPOINTS.iter().position(|p| *p == name);
        assert_eq!(published, Some(at(point) >= at("manifest-published")));
    }
    assert!(killed >= 20, "{killed}");
}

#[test]
fn an_ingest_killed_at_any_moment_leaves_one_version_or_the_other() {
    let scene = Scene::new();
    let start = Instant::now();
    assert!(scene.child().status().unwrap().success());
    let whole = start.elapsed();
    for moment in 0..30 {
        let mut child = scene.child().spawn().unwrap();
        std::thread::sleep(whole * moment / 30);
        let _ = child.kill();
        child.wait().unwrap();
        scene.survives(&format!("after {moment}/30 of {whole:?}"));
    }
}

#[test]
fn a_disk_that_is_full_is_said_and_nothing_is_left_on_it() {
    let scene = Scene::new();
    let exe = std::env::current_exe().unwrap();
    let mut refused = 0;
    // No file may grow beyond so many KiB: the system refuses the write, as on a full disk.
    for limit in [0, 4, 16, 64] {
        drop(scene.child());
        let shell = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let status = Command::new("bash")
            .args(["-c", &shell])
            .arg(&exe)
            .args([CHILD, "--exact", "--nocapture"])
            .env(DIRECTORY, scene.directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        if !status.success() {
            refused += 1;
            assert_eq!(status.code(), Some(27), "{limit} KiB: file too large");
            let report = Lake::open(scene.at("lake")).unwrap().check().unwrap();
            assert_eq!(
                (report.version, report.unreferenced),
                (scene.before.version, vec![]),
                "{limit} KiB"
            );
        }
        scene.survives(&format!("{limit} KiB"));
    }
    assert!(refused >= 2, "{refused}");
}
