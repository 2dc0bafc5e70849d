//! Processes that are killed, or run out of disk, in the middle of an ingest: a reader sees the version before or the one after, and
//! the next one makes what an undisturbed one would have made.

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use iolode::Error;
use iolode::lake::{
    CreateOptions, IngestOptions, InputPath, InputRow, Lake, Silent, VacuumOptions,
};
use iolode::synth::{self, Month};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

crate::tests! {
    [] => {
        an_ingest_killed_at_any_moment_leaves_one_version_or_the_other,
    }
    [Bash] => {
        a_disk_that_is_full_is_said_and_nothing_is_left_on_it,
    }
}

/// Set for a process that a test starts: the directory of its lake.
const DIRECTORY: &str = "IOLODE_KILL_DIRECTORY";

/// The ingest that is killed, if a test has started this process for it.
pub(crate) fn child() -> Option<ExitCode> {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
    let lake = Lake::open(directory.join("lake")).unwrap();
    match lake.ingest(&options(&directory), &Silent) {
        Ok(_) => Some(ExitCode::SUCCESS),
        // The parent reads this as the exit status; a panic would be 101.
        Err(Error::Io { source, .. }) => {
            let code = source.raw_os_error().and_then(|code| code.try_into().ok());
            Some(ExitCode::from(code.unwrap_or(1)))
        }
        Err(e) => panic!("{e}"),
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
struct Fixture {
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
            let of_table = batches.entry(file.table.clone()).or_default();
            let file = std::fs::File::open(lake.root().unwrap().join(&file.path)).unwrap();
            let rows = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            of_table.extend(rows.build().unwrap().map(Result::unwrap));
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

impl Fixture {
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
        let _ = std::fs::remove_dir_all(self.at("lake"));
        copy(&self.at("template"), &self.at("lake"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
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
        // The lease of a process that died holds for a while.
        let _ = std::fs::remove_dir_all(self.at("lake").join("_iolode/lease"));
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

fn an_ingest_killed_at_any_moment_leaves_one_version_or_the_other() {
    let fixture = Fixture::new();
    let start = Instant::now();
    assert!(fixture.child().status().unwrap().success());
    let whole = start.elapsed();
    for moment in 0..30 {
        let mut child = fixture.child().spawn().unwrap();
        std::thread::sleep(whole * moment / 30);
        let _ = child.kill();
        child.wait().unwrap();
        fixture.survives(&format!("after {moment}/30 of {whole:?}"));
    }
}

fn a_disk_that_is_full_is_said_and_nothing_is_left_on_it() {
    let fixture = Fixture::new();
    let exe = std::env::current_exe().unwrap();
    let mut refused = 0;
    // No file may grow beyond so many KiB: the system refuses the write, as on a full disk.
    for limit in [0, 4, 16, 64] {
        drop(fixture.child());
        let shell = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let status = Command::new("bash")
            .args(["-c", &shell])
            .arg(&exe)
            .env(DIRECTORY, fixture.directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        if !status.success() {
            refused += 1;
            assert_eq!(status.code(), Some(27), "{limit} KiB: file too large");
            let report = Lake::open(fixture.at("lake")).unwrap().check().unwrap();
            assert_eq!(
                (report.version, report.unreferenced),
                (fixture.before.version, vec![]),
                "{limit} KiB"
            );
        }
        fixture.survives(&format!("{limit} KiB"));
    }
    assert!(refused >= 2, "{refused}");
}
