//! What could not be read, and what is read again.

use super::dumps::{dump, line};
use super::*;

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
fn what_nothing_was_taken_of_is_tried_again_when_asked_for() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.log("bad", "mounts x");
    // They were noted as no logs beside a dump, by a program that did not know them.
    let slurm: &[&dyn Source] = &[&crate::source::slurm::Slurm];
    let known = line(1, "COMPLETED", 0, Some(1), Some(2));
    bench.log("day.psv", &dump(&[known]));
    let unaware = IngestOptions {
        sources: slurm,
        ..bench.options()
    };
    bench.lake.ingest(&unaware, &Silent).unwrap();
    bench.lake.forget(slurm).unwrap();
    fs::remove_file(bench.logs().join("day.psv")).unwrap();
    assert_eq!(bench.ingest().version, None);
    let again = || IngestOptions {
        refresh: true,
        ..bench.options()
    };
    assert_eq!(
        bench.lake.ingest(&again(), &Silent).unwrap().version,
        Some(4)
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

/// A log that rots in its archive, or is overwritten by a text, leaves what was taken of it.
#[test]
fn rows_of_a_log_stay_when_its_file_is_none_any_more() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.log("b", "mounts 2 0 /b");
    bench.ingest();
    let both = [row(1, "/a"), row(2, "/b")];
    assert_eq!(bench.rows(), both);
    for rotten in ["mounts x", "", "a text"] {
        bench.log("a", rotten);
        for _ in 0..2 {
            let report = bench.ingest();
            assert_eq!(
                report.failures.len(),
                1,
                "{rotten:?}: {:?}",
                report.failures
            );
            assert_eq!(bench.rows(), both, "{rotten:?}");
        }
    }
    bench.log("a", "mounts 1 0 /new");
    assert!(bench.ingest().failures.is_empty());
    assert_eq!(bench.rows(), [row(1, "/new"), row(2, "/b")]);
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
    fn inputs(&self) -> &'static str {
        ""
    }

    fn rows(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &'static str {
        MountList.name()
    }

    fn tables(&self) -> &'static [&'static str] {
        MountList.tables()
    }

    fn on_request(&self) -> &'static [&'static str] {
        MountList.on_request()
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

    fn reader(&self, _: Arc<ReadContext>) -> Box<dyn Reader> {
        let Self { late, unread } = *self;
        Box::new(RefusingReader(Refusing { late, unread }))
    }
}

struct RefusingReader(Refusing);

impl Reader for RefusingReader {
    fn read(
        &mut self,
        input: &Input,
        id: i64,
        expected: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        match words(input)?.contains(&"fine".to_string()) {
            true => MountReader.read(input, id, expected, tables),
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
            paths: vec![bench.logs().into()],
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
fn rows_of_a_changed_log_stay_while_nothing_can_be_taken_of_it() {
    for late in [false, true] {
        let bench = Bench::new();
        bench.log("a", "mounts 1 0 alpha");
        bench.ingest();
        bench.log("a", "mounts 1 0 alphabet");
        for unread in [true, false] {
            let refusing = Refusing { late, unread };
            let sources: &[&dyn Source] = &[&refusing];
            let options = IngestOptions {
                sources,
                ..bench.options()
            };
            let report = bench.lake.ingest(&options, &Silent).unwrap();
            assert_eq!(report.failures.len(), 1);
            assert_eq!(
                bench.rows(),
                [row(1, "alpha")],
                "late {late}, unread {unread}"
            );
            assert_eq!(bench.lake.check().unwrap().wrong, []);
        }
    }
}
