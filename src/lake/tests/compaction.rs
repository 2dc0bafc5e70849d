//! Compaction: the same rows in fewer files, whatever happens meanwhile.

use super::*;
use crate::lake::file::encoding::LAYOUT;
use crate::math::random::Random;
use arrow::array::Array;
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// All rows of all tables, each in the order of job ids.
pub(super) fn contents(lake: &Lake, version: Option<u64>) -> BTreeMap<String, RecordBatch> {
    let snapshot = lake.snapshot(version).unwrap();
    let mut files = snapshot.files().to_vec();
    files.sort_by_key(|file| (file.table.clone(), file.range, file.day.clone()));
    let mut tables: BTreeMap<String, Vec<RecordBatch>> = BTreeMap::new();
    for file in files {
        let rows =
            crate::lake::file::data_reader::read_data(lake.store(), &file.path, 65_536).unwrap();
        let of_table = tables.entry(file.table).or_default();
        of_table.extend(rows.map(|batch| batch.unwrap()));
    }
    let whole = |batches: Vec<RecordBatch>| concat_batches(&batches[0].schema(), &batches).unwrap();
    tables
        .into_iter()
        .map(|(table, batches)| (table, whole(batches)))
        .collect()
}

fn options() -> CompactOptions {
    CompactOptions {
        threads: 2,
        memory: 64 << 20,
        ..CompactOptions::default()
    }
}

fn compact(lake: &Lake) -> CompactReport {
    lake.compact(&options(), &Silent).unwrap()
}

pub(super) fn is_sound(lake: &Lake) {
    let report = lake.check().unwrap();
    assert!(
        report.wrong.is_empty() && report.unreferenced.is_empty(),
        "{report:?}"
    );
}

/// A lake in memory, where a commit waits for no disk, and a directory of logs.
fn in_memory(range_bytes: u64) -> Bench {
    let lake = Lake::in_memory().unwrap();
    widen(&lake, range_bytes);
    Bench {
        lake,
        ..Bench::new()
    }
}

/// A lake of many ranges that hold almost nothing: they were cut while a range was to hold less.
fn crumbs() -> Bench {
    let bench = in_memory(3000);
    for day in 0..12 {
        for log in 0..20 {
            let job = 100 * day + log;
            bench.log(
                &format!("{job}"),
                &format!("mounts {job} 0 /{job} {}", "padding ".repeat(20)),
            );
        }
        bench.ingest();
    }
    widen(&bench.lake, 1 << 20);
    bench
}

/// Publishes a version in which a range should hold another number of bytes.
pub(super) fn widen(lake: &Lake, range_bytes: u64) {
    let newest = lake.snapshot(None).unwrap();
    let wider = Manifest {
        version: newest.version() + 1,
        parent: Some(newest.version()),
        range_bytes,
        ..newest.manifest().clone()
    };
    assert!(wider.publish(lake.store()).unwrap());
}

#[test]
fn small_neighbours_become_one_range_with_the_same_rows_and_then_there_is_nothing_to_do() {
    let bench = crumbs();
    let before = contents(&bench.lake, None);
    let pinned = bench.lake.snapshot(None).unwrap();
    assert!(pinned.splits().len() > 10, "{:?}", pinned.splits());
    let report = compact(&bench.lake);
    assert_eq!(report.before.ranges, pinned.splits().len() as u64 + 1);
    assert_eq!((report.after.ranges, report.after.files), (1, 1));
    assert_eq!(report.rewritten, report.before.files);
    assert!(contents(&bench.lake, None) == before);
    is_sound(&bench.lake);
    // Who had begun with the old version reads it to its end.
    assert!(contents(&bench.lake, Some(pinned.version())) == before);
    let again = compact(&bench.lake);
    assert_eq!((again.version, again.before), (None, again.after));
    assert_eq!(again.rewritten, 0);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let bench = crumbs();
    let dry = CompactOptions {
        dry_run: true,
        ..options()
    };
    let foreseen = bench.lake.compact(&dry, &Silent).unwrap();
    let version = bench.lake.snapshot(None).unwrap().version();
    assert_eq!(foreseen.version, None);
    is_sound(&bench.lake);
    let did = compact(&bench.lake);
    assert!(did.version > Some(version));
    assert_eq!(
        (foreseen.rewritten, foreseen.rewritten_bytes),
        (did.rewritten, did.rewritten_bytes)
    );
    let shape = |shape: Shape| (shape.ranges, shape.files, shape.lists);
    assert_eq!(shape(foreseen.after), shape(did.after));
}

#[test]
fn an_overfull_range_is_cut_into_about_equal_ones() {
    let bench = in_memory(RANGE_BYTES);
    // Names that do not compress, so that the rows outweigh what every file has.
    let mut random = Random::new(7, 0);
    for job in 0..100 {
        let names: Vec<String> = (0..40)
            .map(|_| format!("/{:016x}", random.below(u64::MAX)))
            .collect();
        bench.log(
            &format!("{job}"),
            &format!("mounts {job} 0 {}", names.join(" ")),
        );
    }
    bench.ingest();
    let before = contents(&bench.lake, None);
    let bytes = bench.lake.snapshot(None).unwrap().files()[0].bytes;
    widen(&bench.lake, bytes / 5);
    let report = compact(&bench.lake);
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(report.before.ranges, 1);
    assert_eq!(snapshot.splits(), [20, 40, 60, 80]);
    assert!(contents(&bench.lake, None) == before);
    is_sound(&bench.lake);
    assert_eq!(compact(&bench.lake).version, None);
}

#[test]
fn a_range_of_one_job_stays_however_large_it_is() {
    let bench = in_memory(RANGE_BYTES);
    for log in 0..20 {
        bench.log(&format!("{log}"), &format!("mounts 7 0 /{log}"));
    }
    bench.ingest();
    widen(&bench.lake, 10);
    assert_eq!(compact(&bench.lake).version, None);
    is_sound(&bench.lake);
}

#[test]
fn a_lake_that_grew_in_one_range_is_cut_into_sixteen_as_if_it_had_been_taken_in_at_once() {
    let bench = in_memory(RANGE_BYTES);
    // A sixteenth is worth a range from 8,192 rows on.
    for job in 0..34 {
        let name = format!("{job}");
        bench.log(&name, &format!("mounts {job} 0 {}", "/x ".repeat(4096)));
        let options = IngestOptions {
            paths: vec![bench.logs().join(&name).into()],
            ..bench.options()
        };
        bench.lake.ingest(&options, &Silent).unwrap();
    }
    let before = contents(&bench.lake, None);
    let report = compact(&bench.lake);
    assert_eq!(
        (report.before.ranges, report.after.ranges),
        (1, 16),
        "{report:?}"
    );
    assert!(contents(&bench.lake, None) == before);
    let snapshot = bench.lake.snapshot(None).unwrap();
    let rows = snapshot.files().iter().map(|file| file.rows / 4096);
    assert_eq!(rows.sum::<u64>(), 34);
    assert!(snapshot.files().iter().all(|file| file.rows <= 3 * 4096));
    is_sound(&bench.lake);
    assert_eq!(compact(&bench.lake).version, None);
}

#[test]
fn lists_of_inputs_become_few_and_tell_the_newest_of_each() {
    let bench = in_memory(RANGE_BYTES);
    for i in 0..30 {
        bench.log(&format!("{i}"), &format!("mounts {i} 0 /{i}"));
        // One input is another each time.
        bench.log("changing", &format!("mounts 50 0 /{i}"));
        bench.ingest();
    }
    let before = bench.lake.snapshot(None).unwrap();
    let report = compact(&bench.lake);
    assert_eq!((report.before.lists, report.after.lists), (30, 1));
    let after = bench.lake.snapshot(None).unwrap();
    assert_eq!(after.inputs().unwrap(), before.inputs().unwrap());
    // Rows that nothing shows any more are gone.
    assert_eq!(after.manifest().inputs[0].rows, 31);
    assert_eq!(bench.ingest().version, None);
    is_sound(&bench.lake);
}

#[test]
fn files_go_where_the_placement_says_now_all_tables_of_a_range_together() {
    let disks = tempfile::tempdir().unwrap();
    let dirs = |names: &[&str]| names.iter().map(|name| disks.path().join(name)).collect();
    let site = SiteFile {
        place: Placement::Dirs {
            dirs: dirs(&["a", "b"]),
        },
        ..SiteFile::default()
    };
    let bench = Bench::with(&CreateOptions {
        settings: site.to_text().unwrap(),
        ..CreateOptions::default()
    });
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    let with_dxt = IngestOptions {
        dxt: true,
        ..bench.options()
    };
    bench.lake.ingest(&with_dxt, &Silent).unwrap();
    let before = contents(&bench.lake, None);
    let newest = bench.lake.snapshot(None).unwrap();
    let all: u64 = newest.files().iter().map(|file| file.bytes).sum();
    widen(&bench.lake, all / 16);
    // Disk b is taken away.
    let place = Placement::Dirs {
        dirs: dirs(&["a", "c"]),
    };
    let moved = SiteFile { place, ..site };
    let moved = moved.to_text().unwrap();
    bench.lake.set_settings(&moved, None).unwrap();
    compact(&bench.lake);
    assert!(contents(&bench.lake, None) == before);
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.splits().len(), 15);
    for range in 0..16 {
        let files = snapshot.files().iter().filter(|f| f.range == Some(range));
        let at: Vec<Option<i64>> = files.clone().map(|file| file.ost).collect();
        assert_eq!(at.len(), 2);
        assert!(
            at.iter()
                .all(|ost| *ost == snapshot.manifest().osts()[range])
        );
        let dir = disks.path().join(["a", "c"][at[0].unwrap() as usize]);
        assert!(
            files
                .into_iter()
                .all(|f| Path::new(&f.path).starts_with(&dir))
        );
    }
    assert!(bench.lake.check().unwrap().wrong.is_empty());
    assert_eq!(compact(&bench.lake).version, None);
}

/// Publishes a version that lists other files.
pub(super) fn relist(lake: &Lake, change: impl Fn(&mut Vec<DataFile>)) {
    let newest = lake.snapshot(None).unwrap();
    let mut files = newest.files().to_vec();
    change(&mut files);
    let entries: Vec<_> = files.into_iter().map(|file| (file, false)).collect();
    let list = crate::lake::version::list_file::write_list(
        lake.store(),
        "file",
        crate::lake::version::list_file::properties().unwrap(),
        [crate::lake::version::list_file::entries_to_batch(&entries)],
    );
    let other = Manifest {
        files: list.unwrap().into_iter().collect(),
        ..newest.manifest().next("test", 0)
    };
    assert!(other.publish(lake.store()).unwrap());
}

#[test]
fn files_of_an_older_layout_are_written_anew_and_no_others() {
    let bench = in_memory(RANGE_BYTES);
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let before = contents(&bench.lake, None);
    let bytes = bench.lake.snapshot(None).unwrap().files()[0].bytes;
    widen(&bench.lake, bytes);
    relist(&bench.lake, |files| {
        files[3].layout = LAYOUT - 1;
        files[7].layout = LAYOUT - 1;
    });
    let report = compact(&bench.lake);
    assert_eq!((report.rewritten, report.after.ranges), (2, 16));
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert!(snapshot.files().iter().all(|file| file.layout == LAYOUT));
    assert!(contents(&bench.lake, None) == before);
    assert_eq!(compact(&bench.lake).version, None);
}

#[test]
fn several_files_of_one_range_become_one_even_if_their_jobs_overlap() {
    // Two lakes of every second job, whose files are then listed in one range.
    let (even, odd) = (in_memory(RANGE_BYTES), in_memory(RANGE_BYTES));
    for job in 0..400 {
        let bench = if job % 2 == 0 { &even } else { &odd };
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job} /more"));
    }
    even.ingest();
    odd.ingest();
    let other = odd.lake.snapshot(None).unwrap().files()[0].clone();
    let bytes = odd.lake.store().read(&other.path).unwrap().unwrap();
    even.lake
        .store()
        .put_if_absent(&other.path, &bytes)
        .unwrap();
    relist(&even.lake, |files| files.push(other.clone()));
    let known = odd.lake.snapshot(None).unwrap().inputs().unwrap();
    even.lake.record_inputs(known).unwrap();
    let report = compact(&even.lake);
    assert_eq!((report.before.files, report.after.files), (2, 1));
    let expected: Vec<_> = (0..400)
        .flat_map(|job| [row(job, &format!("/{job}")), row(job, "/more")])
        .collect();
    assert_eq!(even.rows(), expected);
    is_sound(&even.lake);
}

/// Takes a log in while a compaction has just written its first file.
struct Intruder<'a> {
    bench: &'a Bench,
    once: Once,
    job: i64,
}

impl Progress for Intruder<'_> {
    fn done(&self, _: u64, _: bool) {
        self.once.call_once(|| {
            self.bench
                .log("new", &format!("mounts {} 0 /new", self.job));
            self.bench.ingest();
        });
    }
}

#[test]
fn an_ingest_in_the_middle_wins_and_the_compaction_begins_again_with_its_rows() {
    for job in [0, 555, 5_000] {
        let bench = crumbs();
        let mut expected = bench.rows();
        let intruder = Intruder {
            bench: &bench,
            once: Once::new(),
            job,
        };
        let before = bench.lake.snapshot(None).unwrap().version();
        let report = bench.lake.compact(&options(), &intruder).unwrap();
        let history = bench.lake.snapshot(None).unwrap().version_batch().unwrap();
        let made = history.column(3).as_string::<i32>();
        let made: Vec<&str> = (before as usize..made.len())
            .map(|at| made.value(at))
            .collect();
        // What was lost was published by nobody; nothing of it is left.
        assert_eq!(made[0], "ingest", "{made:?}");
        assert!(made[1..].iter().all(|made| *made == "compact") && made.len() > 1);
        assert_eq!((report.after.ranges, report.given_up), (1, 0));
        expected.push(row(job, "/new"));
        let mut found = bench.rows();
        expected.sort();
        found.sort();
        assert!(found == expected, "job {job}");
        is_sound(&bench.lake);
    }
}

/// Takes a log in after every file that a compaction writes.
struct Busy<'a>(&'a Bench, AtomicU64);

impl Progress for Busy<'_> {
    fn done(&self, _: u64, _: bool) {
        let n = self.1.fetch_add(1, Ordering::Relaxed);
        self.0
            .log(&format!("new{n}"), &format!("mounts 10 0 /new{n}"));
        self.0.ingest();
    }
}

#[test]
fn a_range_that_others_write_all_the_time_is_left_to_them() {
    let bench = crumbs();
    let (rows, busy) = (bench.rows().len(), Busy(&bench, AtomicU64::new(0)));
    let report = bench.lake.compact(&options(), &busy).unwrap();
    assert_eq!(report.given_up, 1);
    let came = busy.1.load(Ordering::Relaxed) as usize;
    assert_eq!(bench.rows().len(), rows + came);
    is_sound(&bench.lake);
    // At night it is quiet.
    compact(&bench.lake);
    assert_eq!(bench.rows().len(), rows + came);
    assert_eq!(bench.lake.snapshot(None).unwrap().splits().len(), 0);
}

/// Compacts while an ingest has read its first log.
struct Compacter<'a>(&'a Bench, Once);

impl Progress for Compacter<'_> {
    fn done(&self, _: u64, _: bool) {
        self.1.call_once(|| _ = compact(&self.0.lake));
    }
}

#[test]
fn a_compaction_in_the_middle_of_an_ingest_costs_it_no_row() {
    let bench = crumbs();
    let mut expected = bench.rows();
    for job in [5, 505, 1105, 9_000] {
        bench.log(&format!("new{job}"), &format!("mounts {job} 0 /new"));
        expected.push(row(job, "/new"));
    }
    let compacter = Compacter(&bench, Once::new());
    let report = bench.lake.ingest(&bench.options(), &compacter).unwrap();
    assert!(report.version.is_some());
    let mut found = bench.rows();
    expected.sort();
    found.sort();
    assert!(found == expected);
    is_sound(&bench.lake);
}

/// Stops a compaction after so many files.
struct Stop(CompactOptions);

impl Progress for Stop {
    fn done(&self, _: u64, _: bool) {
        self.0.cancel.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_stopped_compaction_leaves_nothing_behind() {
    let bench = crumbs();
    let before = contents(&bench.lake, None);
    let stop = Stop(options());
    let stopped = bench.lake.compact(&stop.0, &stop);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert!(contents(&bench.lake, None) == before);
    is_sound(&bench.lake);
}

#[test]
fn any_order_of_ingests_compactions_and_vacuums_leaves_the_rows_that_the_logs_say() {
    for seed in 0..3 {
        let mut random = Random::new(seed, 0);
        let bench = in_memory(1000 + random.below(7000));
        // What each log says: its job and its mounts.
        let mut model: BTreeMap<String, (i64, Vec<String>)> = BTreeMap::new();
        let mut next = 0;
        for step in 0..40 {
            match random.below(10) {
                0..5 => {
                    for _ in 0..1 + random.below(5) {
                        // As a rule ids ascend; some logs come late, and some are written again.
                        next += random.below(20) as i64;
                        let job = match random.below(4) {
                            0 => random.below(next as u64 + 1) as i64,
                            _ => next,
                        };
                        let known = model.len() as u64;
                        let name = format!("{}", random.below(known + 4));
                        let mounts: Vec<String> = (0..1 + random.below(8))
                            .map(|mount| format!("/{seed}-{step}-{name}-{mount}"))
                            .collect();
                        bench.log(&name, &format!("mounts {job} 0 {}", mounts.join(" ")));
                        model.insert(name, (job, mounts));
                    }
                    bench.ingest();
                }
                5 => {
                    let again = IngestOptions {
                        refresh: true,
                        dxt: random.below(5) == 0,
                        ..bench.options()
                    };
                    bench.lake.ingest(&again, &Silent).unwrap();
                }
                6 => widen(&bench.lake, 1000 + random.below(19_000)),
                7 | 8 => {
                    compact(&bench.lake);
                    assert_eq!(compact(&bench.lake).version, None, "{seed}, {step}");
                }
                _ => {
                    let all = VacuumOptions {
                        keep_versions: Duration::ZERO,
                        min_age: Duration::ZERO,
                        dry_run: false,
                    };
                    bench.lake.vacuum(&all).unwrap();
                }
            }
            let snapshot = bench.lake.snapshot(None).unwrap();
            let mut found: Vec<(i64, String)> = vec![];
            for file in snapshot
                .files()
                .iter()
                .filter(|f| f.table == "darshan_mount")
            {
                for batch in
                    crate::lake::file::data_reader::read_data(bench.lake.store(), &file.path, 1000)
                        .unwrap()
                {
                    let batch = batch.unwrap();
                    let jobs = batch.column(1).as_primitive::<Int64Type>().values().iter();
                    let names = batch.column(3).as_string::<i32>().iter().flatten();
                    found.extend(jobs.zip(names).map(|(job, name)| row(*job, name)));
                }
            }
            let mut expected: Vec<(i64, String)> = model
                .values()
                .flat_map(|(job, mounts)| mounts.iter().map(|mount| row(*job, mount)))
                .collect();
            found.sort();
            expected.sort();
            assert!(found == expected, "seed {seed}, step {step}");
            let wrong = bench.lake.check().unwrap().wrong;
            assert!(wrong.is_empty(), "seed {seed}, step {step}: {wrong:?}");
        }
    }
}

#[test]
fn some_hundred_tiny_ingests_leave_few_files_and_write_little_anew() {
    let bench = in_memory(6000);
    for day in 0..200 {
        let name = format!("{day}");
        bench.log(
            &name,
            &format!("mounts {day} 0 /{day} {}", "x ".repeat(200)),
        );
        let options = IngestOptions {
            paths: vec![bench.logs().join(&name).into()],
            threads: 1,
            ..bench.options()
        };
        bench.lake.ingest(&options, &Silent).unwrap();
    }
    let before = contents(&bench.lake, None);
    let snapshot = bench.lake.snapshot(None).unwrap();
    let bytes: Vec<u64> = snapshot.files().iter().map(|file| file.bytes).collect();
    // What is full stays as it is while new ids come above it.
    assert!(
        bytes[..bytes.len() - 1]
            .iter()
            .all(|b| (6000..12_000).contains(b)),
        "{bytes:?}"
    );
    let report = compact(&bench.lake);
    assert!(report.after.files <= report.before.files);
    assert!(contents(&bench.lake, None) == before);
    is_sound(&bench.lake);
}
