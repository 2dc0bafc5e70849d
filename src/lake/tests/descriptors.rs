//! An ingest and a compaction in a process that may have few files open: what is open at once depends neither on the number of
//! days nor on that of ranges, tables or old files.

use super::compaction::{contents, relist, widen};
use super::*;
use crate::source::SOURCES;
use crate::synth;
use crate::synth::Month;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;

const DIRECTORY: &str = "IOLODE_DESCRIPTORS_DIRECTORY";
/// The test that is the process with few descriptors.
const CHILD: &str = "lake::tests::descriptors::the_process_with_few_descriptors";
/// What it may have open, its own output among it.
const FEW: u64 = 64;
const DAYS: i64 = 100;

#[test]
fn the_process_with_few_descriptors() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let few = Rlimit {
        current: Some(FEW),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, few).unwrap();
    write_lakes(Path::new(&directory));
}

/// A mysqldump with two samples a day of an OST, a server, an MDT and an operation.
fn lmt() -> String {
    let samples: Vec<i64> = (0..2 * DAYS).collect();
    let rows = |row: &dyn Fn(i64) -> String| {
        let rows: Vec<String> = samples.iter().map(|id| row(*id)).collect();
        rows.join(",\n")
    };
    let stamp = |id: i64| {
        let second = 1_517_097_600 + id / 2 * 86_400 + id % 2 * 5;
        let time = chrono::DateTime::from_timestamp(second, 0).unwrap();
        format!("({id},'{}')", time.format("%Y-%m-%d %H:%M:%S"))
    };
    format!(
        "-- MySQL dump 10.13\n--\n-- Host: localhost    Database: filesystem_fs1\n-- ------\n\
         INSERT INTO `FILESYSTEM_INFO` VALUES (1,'fs1','fs1',1.1);\n\
         INSERT INTO `OSS_INFO` VALUES (1,1,'oss1','');\n\
         INSERT INTO `OST_INFO` VALUES (1,1,'fs1-OST0000','oss1',0,'');\n\
         INSERT INTO `MDS_INFO` VALUES (1,1,'fs1-MDT0000','mds1','');\n\
         INSERT INTO `OPERATION_INFO` VALUES (1,'open','reqs');\n\
         INSERT INTO `OST_DATA` VALUES\n{};\n\
         INSERT INTO `OSS_DATA` VALUES\n{};\n\
         INSERT INTO `MDS_DATA` VALUES\n{};\n\
         INSERT INTO `MDS_OPS_DATA` VALUES\n{};\n\
         INSERT INTO `TIMESTAMP_INFO` VALUES\n{};\n-- Dump completed\n",
        rows(&|id| format!("(1,{id},{},{id},NULL,1,1,1,1)", 7 * id)),
        rows(&|id| format!("(1,{id},1.5,2.5)")),
        rows(&|id| format!("(1,{id},1.5,1,1,1,1)")),
        rows(&|id| format!("(1,{id},1,{id},{},{id})", 2 * id)),
        rows(&stamp),
    )
}

/// What the lakes are made of.
fn write_inputs(directory: &Path) {
    fs::write(directory.join("lmt.sql"), lmt()).unwrap();
    // Names that do not compress, so that the rows outweigh what every file has.
    let name = |n: u64| format!("/{:016x}", xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes()));
    fs::create_dir(directory.join("mounts")).unwrap();
    for job in 0..160 {
        let names: Vec<String> = (0..300).map(|n| name(300 * job + n)).collect();
        let text = format!("mounts {job} 0 {}", names.join(" "));
        fs::write(directory.join("mounts").join(job.to_string()), text).unwrap();
    }
    synth::write_with(&Month::new(8, 7), &directory.join("logs"), 2, &|_| {}).unwrap();
}

fn options(paths: Vec<PathBuf>) -> IngestOptions<'static> {
    IngestOptions {
        paths: paths.into_iter().map(InputPath::from).collect(),
        sources: SOURCES,
        threads: 4,
        memory: 64 << 20,
        ..IngestOptions::default()
    }
}

fn compact(lake: &Lake) -> CompactReport {
    let options = CompactOptions {
        threads: 4,
        memory: 64 << 20,
        ..CompactOptions::default()
    };
    lake.compact(&options, &Silent).unwrap()
}

/// Three lakes, each by an ingest that fills and one that changes it, and by compactions.
fn write_lakes(directory: &Path) {
    let at = |path: &str| directory.join(path);
    let given = |path: &str| directory.parent().unwrap().join(path);
    // Days: all of them new, then all of them with other rows beside, then moved to other directories.
    let place = |name: &str| {
        let site = SiteFile {
            place: Placement::Dirs {
                dirs: vec![at(name)],
            },
            ..SiteFile::default()
        };
        site.to_text().unwrap()
    };
    let create = CreateOptions {
        settings: place("disk0"),
        ..CreateOptions::default()
    };
    let days = Lake::create(at("days"), &create).unwrap();
    let ingest = |lake: &Lake, paths| lake.ingest(&options(paths), &Silent).unwrap();
    let report = ingest(&days, vec![given("lmt.sql")]);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    days.set_settings(&place("disk1"), None).unwrap();
    assert_eq!(compact(&days).rewritten, 4 * DAYS as u64);
    // Their rows in files that are all listed for one day are merged.
    relist(&days, |files| {
        for file in files {
            file.day = Some(("fs1".into(), 17_559));
        }
    });
    let report = compact(&days);
    assert_eq!((report.rewritten, report.after.files), (4 * DAYS as u64, 4));

    // One range, cut into many.
    let mounts = Lake::create(at("mounts"), &CreateOptions::default()).unwrap();
    let ours = IngestOptions {
        sources: SOURCE,
        ..options(vec![given("mounts")])
    };
    mounts.ingest(&ours, &Silent).unwrap();
    let files = mounts.snapshot(None).unwrap().files().to_vec();
    widen(
        &mounts,
        files.iter().map(|file| file.bytes).sum::<u64>() / 80,
    );
    assert_eq!(compact(&mounts).after.ranges, 80);

    // Ranges with files of all tables that are replaced.
    let logs = Lake::create(at("logs"), &CreateOptions::default()).unwrap();
    let mut all = vec![];
    for entry in walkdir::WalkDir::new(given("logs")).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.path().extension().is_some_and(|e| e == "darshan") {
            all.push(entry.into_path());
        }
    }
    let half = all.iter().step_by(2).cloned().collect();
    ingest(&logs, half);
    ingest(&logs, all);
}

#[test]
fn a_hundred_days_of_lmt_and_compactions_need_no_more_than_64_descriptors() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    write_inputs(directory.path());
    fs::create_dir(at("many")).unwrap();
    fs::create_dir(at("few")).unwrap();
    write_lakes(&at("many"));
    let child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--nocapture"])
        .env(DIRECTORY, at("few"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr).into_owned();
    assert!(child.status.success(), "{said}");
    for name in ["days", "mounts", "logs"] {
        let [many, few] = ["many", "few"].map(|of| Lake::open(at(of).join(name)).unwrap());
        let (many, few) = (contents(&many, None), contents(&few, None));
        assert!(many == few, "{name}: other rows");
    }
    let days = contents(&Lake::open(at("few/days")).unwrap(), None);
    let count = |table: &str| days[table].num_rows() as i64;
    for table in ["lmt_ost", "lmt_oss", "lmt_mdt", "lmt_mdt_op"] {
        assert_eq!(count(table), 2 * DAYS, "{table}");
    }
    // The counters say 7 bytes from a sample to the next.
    let read = days["lmt_ost"].column_by_name("bytes_read").unwrap();
    let read = read.as_primitive::<Int64Type>();
    assert!(
        read.iter().skip(1).all(|bytes| bytes == Some(7)),
        "{read:?}"
    );
}
