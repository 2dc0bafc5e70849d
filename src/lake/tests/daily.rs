//! A day of a tree of years, months and days.

use super::*;
use crate::source::Period;

const DAY: i64 = 86_400_000_000;

/// The eleventh of September 2026: `date -d 2026-09-11 +%s` / 86400.
const ELEVENTH: i64 = 20_707;

/// The logs of [`MountList`], as if Darshan had written them.
struct AsDarshan;

impl Source for AsDarshan {
    fn name(&self) -> &'static str {
        "darshan"
    }

    fn tables(&self) -> &'static [&'static str] {
        MountList.tables()
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

    fn reader(&self, site: Arc<Site>) -> Box<dyn Reader> {
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
