//! Two programs at one lake, one of which knows a column more: the newer one is a process of its own with other tables.

use super::*;
use crate::table::NEWER;
use std::process::Command;

const DIRECTORY: &str = "IOLODE_NEWER_DIRECTORY";
/// The test that is the newer program.
const CHILD: &str = "lake::tests::newer::the_newer_program";

#[test]
fn the_newer_program() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let lake = Lake::open(directory.join("lake")).unwrap();
    let options = IngestOptions {
        paths: vec![directory.join("logs").into()],
        sources: SOURCE,
        threads: 1,
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    assert!(lake.check().unwrap().wrong.is_empty());
    fs::write(directory.join("quotas"), format!("{:?}", quotas(&lake))).unwrap();
}

/// What the files hold in the column that only the newer program knows; nothing if they have none.
fn quotas(lake: &Lake) -> Vec<Option<i64>> {
    let snapshot = lake.snapshot(None).unwrap();
    let mut quotas = vec![];
    for file in snapshot
        .files()
        .iter()
        .filter(|file| file.table == "darshan_mount")
    {
        for batch in
            crate::lake::file::data_reader::read_data(lake.store(), &file.path, 1000).unwrap()
        {
            let batch = batch.unwrap();
            if let Some(column) = batch.column_by_name("quota") {
                quotas.extend(column.as_primitive::<Int64Type>().iter());
            }
        }
    }
    quotas
}

/// An ingest by the newer program, which then finds these quotas.
#[track_caller]
fn ingest_by_the_newer(bench: &Bench, expected: &[Option<i64>]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--test-threads=1"])
        .env(NEWER, "1")
        .env(DIRECTORY, bench.directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = fs::read_to_string(bench.directory.path().join("quotas")).unwrap();
    assert_eq!(told, format!("{expected:?}"));
}

#[test]
fn what_a_newer_program_wrote_into_a_new_column_is_never_lost_by_an_older_one() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    bench.log("b", "mounts 1 0 /b");
    // It writes the rows of this program anew, which have no such column.
    ingest_by_the_newer(&bench, &[None, Some(7)]);
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.manifest().schema_versions["darshan_mount"], 2);
    let file = snapshot.files()[0].path.clone();
    // This one reads its rows, and writes nothing of them anew.
    assert_eq!(bench.rows().len(), 2);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    bench.log("c", "mounts 1 0 /c");
    for refused in [
        bench.lake.ingest(&bench.options(), &Silent).map(drop),
        bench.lake.forget(SOURCE).map(drop),
    ] {
        let told = refused.unwrap_err().to_string();
        let expected = "was written by a newer iolode (version 2 of the columns of darshan_mount, this one knows 1)";
        assert!(told.contains(expected), "{told}");
    }
    // A compaction has nothing to do.
    let _ = bench.lake.compact(&CompactOptions::default(), &Silent);
    assert_eq!(bench.lake.snapshot(None).unwrap().files()[0].path, file);
    assert_eq!(quotas(&bench.lake), [None, Some(7)]);
    // What touches none of its files goes on, and what the version says of its columns stays.
    bench.lake.set_settings("cluster = 'cori'\n", None).unwrap();
    let manifest = bench.lake.snapshot(None).unwrap().manifest().clone();
    assert_eq!(manifest.schema_versions["darshan_mount"], 2);
    ingest_by_the_newer(&bench, &[None, Some(7), Some(7)]);
    assert_eq!(bench.rows().len(), 3);
}
