//! A day of a tree of years, months and days.

use super::*;
use crate::lake::ingest::change_set::KnownInputs;
use crate::lake::ingest::discover::list;
use crate::lake::ingest::lister::{Kind, Lister};
use crate::source::Period;
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

const DAY: i64 = 86_400_000_000;

/// The eleventh of September 2026: `date -d 2026-09-11 +%s` / 86400.
const ELEVENTH: i64 = 20_707;

/// The logs of [`MountList`], as if Darshan had written them.
struct AsDarshan;

impl Source for AsDarshan {
    fn inputs(&self) -> &'static str {
        ""
    }

    fn rows(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &'static str {
        "darshan"
    }

    fn tables(&self) -> &'static [&'static str] {
        MountList.tables()
    }

    fn on_request(&self) -> &'static [&'static str] {
        MountList.on_request()
    }

    fn is_filed_by_day(&self) -> bool {
        true
    }

    fn version(&self) -> u32 {
        MountList.version()
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        MountList.probe(path, head)
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        MountList.peek(input)
    }

    fn reader(&self, site: Arc<ReadContext>) -> Box<dyn Reader> {
        MountList.reader(site)
    }
}

const DARSHAN: &[&dyn Source] = &[&AsDarshan];

fn of_day(bench: &Bench, kind: Option<&str>, day: i64) -> IngestOptions<'static> {
    IngestOptions {
        paths: vec![InputPath {
            path: bench.logs(),
            kind: kind.map(str::to_string),
        }],
        sources: DARSHAN,
        threads: 2,
        period: Period {
            from: Some(day * DAY),
            to: Some((day + 1) * DAY),
        },
        ..IngestOptions::default()
    }
}

/// A log in a directory, of a job that started on a day of September 2026, at an hour in UTC.
fn log(bench: &Bench, directory: &str, job: i64, day: i64, hour: i64) {
    let at = bench.logs().join(directory);
    fs::create_dir_all(&at).unwrap();
    let start = (ELEVENTH - 11 + day) * DAY + hour * DAY / 24;
    bench.log(
        &format!("{directory}/{job}.darshan"),
        &format!("mounts {job} {start} /{job}"),
    );
}

#[test]
fn an_ingest_of_a_day_looks_at_the_directories_of_that_day_and_leaves_the_others_to_later_ones() {
    let bench = Bench::new();
    for day in 9..14 {
        log(&bench, &format!("2026/9/{day}"), day, day, 12);
    }
    // A zone in which it is the day before still, and one in which it is the next day already.
    log(&bench, "2026/9/10", 110, 11, 2);
    log(&bench, "2026/9/12", 112, 11, 23);
    // What is misplaced or names no day is looked at.
    log(&bench, "2026/11", 200, 11, 1);
    log(&bench, "2026/trial/30", 201, 11, 1);
    log(&bench, "elsewhere/9/30", 202, 11, 1);
    let jobs = |bench: &Bench| -> Vec<i64> { bench.rows().iter().map(|row| row.0).collect() };
    let day = of_day(&bench, Some("darshan"), ELEVENTH);
    for _ in 0..2 {
        let report = bench.lake.ingest(&day, &Silent).unwrap();
        assert_eq!(jobs(&bench), [11, 110, 112, 200, 201, 202]);
        // Of the directories of the tenth to the twelfth: those of the ninth and the thirteenth are not looked at.
        assert_eq!(report.outside, 2);
    }
    let all = IngestOptions {
        period: Period::default(),
        ..of_day(&bench, Some("darshan"), ELEVENTH)
    };
    let report = bench.lake.ingest(&all, &Silent).unwrap();
    assert_eq!((report.unchanged, report.outside), (6, 0));
    assert_eq!(bench.rows().len(), 10);
    let report = bench.lake.ingest(&day, &Silent).unwrap();
    assert_eq!((report.version, report.unchanged), (None, 8));
}

#[test]
fn the_inputs_of_a_period_are_those_of_a_full_walk_that_lie_in_it() {
    let bench = Bench::new();
    let mut job = 0;
    for (month, before) in [(8, -31), (9, 0), (10, 30)] {
        for day in 1..31 {
            for hour in [0, 11, 23] {
                job += 1;
                // As if the machine stood 11 hours east of Greenwich: the directory is the local day.
                let start = before + day;
                log(
                    &bench,
                    &format!("2026/{month}/{day}"),
                    job,
                    start,
                    hour - 11,
                );
            }
        }
    }
    for day in [ELEVENTH - 11, ELEVENTH, ELEVENTH + 19] {
        let lake = |name: &str| {
            let at = bench.directory.path().join(format!("{name}{day}"));
            Lake::create(at, &CreateOptions::default()).unwrap()
        };
        let (full, pruned) = (lake("full"), lake("pruned"));
        // Of what may be of any kind nothing is known of the directories.
        let walked = full.ingest(&of_day(&bench, None, day), &Silent).unwrap();
        let looked = pruned
            .ingest(&of_day(&bench, Some("darshan"), day), &Silent)
            .unwrap();
        assert_eq!(rows(&full), rows(&pruned));
        assert!(!rows(&full).is_empty() && looked.outside < walked.outside);
    }
}

/// As many logs on each day as ten million make in ten years.
const LOGS: usize = 2740;

/// `/logs/2017/1/1` and so on, with so many logs that nobody has written.
struct Tree {
    days: usize,
    read: AtomicUsize,
}

impl Tree {
    fn directory(&self, day: usize) -> String {
        format!(
            "/logs/{}/{}/{}",
            2017 + day / 336,
            day / 28 % 12 + 1,
            day % 28 + 1
        )
    }

    /// Days since the first of January 2017, if all months had 28.
    fn day(path: &Path) -> Option<usize> {
        let numbers = path.strip_prefix("/logs").ok()?.iter();
        let numbers: Vec<usize> = numbers
            .filter_map(|number| number.to_str()?.parse().ok())
            .collect();
        match numbers[..] {
            [year, month, day] => Some((year - 2017) * 336 + (month - 1) * 28 + day - 1),
            _ => None,
        }
    }

    fn log(number: usize) -> String {
        format!(
            "user{}_app_id{number}-{}_9-1-{}-{}_1.darshan",
            number % 97,
            number % 65_536,
            number % 86_400,
            (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
    }
}

impl Lister for Tree {
    fn read(
        &self,
        directory: &Path,
        each: &mut dyn FnMut(OsString, io::Result<Kind>),
    ) -> io::Result<()> {
        self.read.fetch_add(1, Ordering::Relaxed);
        if let Some(day) = Self::day(directory) {
            for number in day * LOGS..(day + 1) * LOGS {
                let file = Kind::File {
                    bytes: number as u64,
                    modified: 5,
                };
                each(Self::log(number).into(), Ok(file));
            }
            return Ok(());
        }
        let below: std::collections::BTreeSet<String> = (0..self.days)
            .map(|day| self.directory(day))
            .filter_map(|path| {
                let below = Path::new(&path).strip_prefix(directory).ok()?;
                Some(below.iter().next()?.to_str()?.to_string())
            })
            .collect();
        for name in below {
            each(name.into(), Ok(Kind::Directory));
        }
        Ok(())
    }

    fn look(&self, _: &Path) -> io::Result<Kind> {
        Ok(Kind::Directory)
    }
}

/// Most MiB that this process has held since it was last asked.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    let _ = fs::write("/proc/self/clear_refs", "5");
    kib.unwrap_or(0u64) / 1024
}

/// `IOLODE_PATHS=10000000 cargo test --release of_a_tree_of_very_many_paths`, alone in its process, tells what it holds as well.
#[test]
fn of_a_tree_of_very_many_paths_that_a_lake_knows_what_is_new_is_held() {
    let paths = std::env::var("IOLODE_PATHS").ok();
    let paths: Option<usize> = paths.and_then(|paths| paths.parse().ok());
    let tree = Tree {
        days: paths.unwrap_or(100_000).div_ceil(LOGS),
        read: AtomicUsize::new(0),
    };
    let all = tree.days * LOGS;
    let directory = tempfile::tempdir().unwrap();
    let lake = Lake::create(directory.path().join("lake"), &CreateOptions::default()).unwrap();
    // Each thousandth is new, and as if in the course of time lists of some months were written.
    let is_new = |number: usize| number % 1000 == 7;
    for days in (0..tree.days).step_by(200) {
        let numbers = (days * LOGS..((days + 200) * LOGS).min(all)).filter(|n| !is_new(*n));
        let rows = numbers.map(|number| InputRow {
            path: format!("{}/{}", tree.directory(number / LOGS), Tree::log(number)).into(),
            source: Some("darshan".into()),
            status: InputStatus::Ok,
            error: None,
            bytes: number as u64,
            modified: 5,
            content_hash: Some((number as i64).wrapping_mul(0x1e37_79b9_7f4a_7c15)),
            job_id: Some(number as i64),
            start_time: Some(number as i64),
            dxt: false,
            period: Period::default(),
            reader_version: 1,
            version: 0,
            settings: None,
        });
        lake.record_inputs(rows.collect()).unwrap();
    }
    let snapshot = lake.snapshot(None).unwrap();
    let list_of = |period| {
        let options = IngestOptions {
            period,
            sources: DARSHAN,
            threads: 2,
            ..IngestOptions::default()
        };
        let logs = InputPath {
            path: "/logs".into(),
            kind: Some("darshan".into()),
        };
        peak();
        let listing = list(&tree, &snapshot, &[logs], &[], 0, &options).unwrap();
        if period == Period::default() {
            let memory = KnownInputs::new(&snapshot, &listing.known, 0);
            memory.hashes().unwrap();
        }
        let peak = peak();
        assert!(paths.is_none() || peak < 600, "{peak} MiB");
        (listing, tree.read.swap(0, Ordering::Relaxed))
    };
    let (listing, _) = list_of(Period::default());
    assert_eq!(listing.files, all as u64);
    let new = (0..all).filter(|number| is_new(*number)).count();
    assert_eq!(listing.candidates.len(), new);
    assert!(listing.known.is_empty());
    let names = listing.candidates.windows(2);
    assert!(names.into_iter().all(|two| two[0].name < two[1].name));

    // The second of January 2017 is the second day of the tree: its directory, those beside it, and what they lie in.
    let (listing, read) = list_of(Period {
        from: Some(17_168 * DAY),
        to: Some(17_169 * DAY),
    });
    assert_eq!(listing.files, 3 * LOGS as u64);
    assert_eq!(listing.candidates.len(), 9);
    let months = tree.days.div_ceil(28) + tree.days.div_ceil(336);
    assert_eq!(read, 3 + months + 1);
}

#[test]
fn an_ingest_of_a_day_reads_the_lists_of_inputs_of_that_day_alone() {
    let bench = Bench::new();
    let mut jobs = 0;
    for month in [3, 9] {
        for day in 1..3 {
            jobs += 1;
            log(&bench, &format!("2026/{month}/{day}"), jobs, day, 12);
        }
        let all = IngestOptions {
            period: Period::default(),
            ..of_day(&bench, Some("darshan"), 0)
        };
        bench.lake.ingest(&all, &Silent).unwrap();
    }
    let lists = bench.lake.snapshot(None).unwrap().manifest().inputs.clone();
    let of_march = |list: &&ListFile| list.paths.as_ref().unwrap().1.contains("/2026/3/");
    let march: Vec<&ListFile> = lists.iter().filter(of_march).collect();
    assert_eq!((lists.len(), march.len()), (2, 1));
    bench.lake.store().delete(&march[0].path).unwrap();
    let first = ELEVENTH - 10;
    let report = bench
        .lake
        .ingest(&of_day(&bench, Some("darshan"), first), &Silent);
    let report = report.unwrap();
    assert_eq!((report.version, report.unchanged), (None, 2));
    // Without the period it is asked for.
    let all = IngestOptions {
        period: Period::default(),
        ..of_day(&bench, Some("darshan"), first)
    };
    let error = bench.lake.ingest(&all, &Silent).unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}
