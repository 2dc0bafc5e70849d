//! Two processes that take in overlapping trees at once, and a reader beside them.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent, Snapshot};
use iolode::synth::{self, Month};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};

crate::tests! {
    [] => {
        two_ingests_at_once_both_succeed_and_a_reader_beside_them_never_sees_half,
    }
}

/// Set for a child of a test: the lake, then the trees, separated by newlines.
const CHILD: &str = "IOLODE_TEST_CONCURRENT";

/// One of the two ingests, if a test has started this process for it.
pub(crate) fn child() -> Option<ExitCode> {
    let text = std::env::var(CHILD).ok()?;
    let mut lines = text.lines();
    let lake = Lake::open(lines.next().unwrap()).unwrap();
    let options = IngestOptions {
        paths: lines.map(PathBuf::from).map(Into::into).collect(),
        threads: 1,
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    Some(ExitCode::SUCCESS)
}

fn ingest_in_a_process(lake: &Path, trees: &[PathBuf]) -> Child {
    let mut text = lake.display().to_string();
    trees
        .iter()
        .for_each(|tree| text += &format!("\n{}", tree.display()));
    Command::new(std::env::current_exe().unwrap())
        .env(CHILD, text)
        .spawn()
        .unwrap()
}

/// The log ids of a table in one version.
fn log_ids(lake: &Path, snapshot: &Snapshot, table: &str) -> Vec<i64> {
    let mut ids = vec![];
    for file in snapshot.files().iter().filter(|file| file.table == table) {
        let bytes = std::fs::File::open(lake.join(&file.path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        let mask = ProjectionMask::columns(reader.parquet_schema(), ["log_id"]);
        for batch in reader.with_projection(mask).build().unwrap() {
            ids.extend(
                batch
                    .unwrap()
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values(),
            );
        }
    }
    ids
}

fn two_ingests_at_once_both_succeed_and_a_reader_beside_them_never_sees_half() {
    let dir = tempfile::tempdir().unwrap();
    let (logs, root) = (dir.path().join("logs"), dir.path().join("lake"));
    synth::write(&Month::new(300, 7), &logs, &|_| {}).unwrap();
    let mut days: Vec<PathBuf> = std::fs::read_dir(logs.join("2026/9"))
        .unwrap()
        .map(|day| day.unwrap().path())
        .collect();
    days.sort();
    assert!(days.len() > 10);
    let lake = Lake::create(
        &root,
        &CreateOptions {
            range_bytes: 256 << 10,
            ..CreateOptions::default()
        },
    )
    .unwrap();
    // Each takes two thirds of the days; a third is in both.
    let third = days.len() / 3;
    let mut children = [
        ingest_in_a_process(&root, &days[..2 * third]),
        ingest_in_a_process(&root, &days[third..]),
    ];
    let (mut seen, mut last) = (BTreeSet::new(), 0);
    loop {
        let done = children
            .iter_mut()
            .all(|child| child.try_wait().unwrap().is_some());
        let snapshot = lake.snapshot(None).unwrap();
        assert!(snapshot.version() >= last, "a version was taken back");
        last = snapshot.version();
        if seen.insert(last) || done {
            // Every log of one table is in the others: a version is whole.
            let logs = log_ids(&root, &snapshot, "darshan_log");
            let distinct: BTreeSet<i64> = logs.iter().copied().collect();
            assert_eq!(
                logs.len(),
                distinct.len(),
                "a log is there twice in version {last}"
            );
            let of = |table: &str| {
                log_ids(&root, &snapshot, table)
                    .into_iter()
                    .collect::<BTreeSet<i64>>()
            };
            assert_eq!(of("darshan_module"), distinct, "version {last}");
            assert!(of("darshan_file").is_subset(&distinct), "version {last}");
        }
        if done {
            break;
        }
        std::thread::yield_now();
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(last, 3, "each ingest made one version");
    let check = lake.check().unwrap();
    assert_eq!(check.wrong, []);

    // The same as one ingest of everything.
    let alone = dir.path().join("alone");
    let (one, _) = crate::support::lake_of(&alone, &days, false);
    let (both, one) = (lake.snapshot(None).unwrap(), one.snapshot(None).unwrap());
    for table in [
        "darshan_log",
        "darshan_file",
        "darshan_posix",
        "darshan_mount",
    ] {
        let sorted = |lake: &Path, snapshot: &Snapshot| {
            let mut ids = log_ids(lake, snapshot, table);
            ids.sort_unstable();
            ids
        };
        assert_eq!(sorted(&root, &both), sorted(&alone, &one), "{table}");
    }
}
