//! What an earlier try has written is kept only for the same rows.

use super::dumps::{Dumps, dump, line, samples};
use super::*;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp::Spill;
use crate::lake::ingest::discover::list;
use crate::lake::ingest::external_sort::{Dump, ExternalSort, SortedRun};
use crate::lake::ingest::lister::Disk;
use crate::lake::ingest::pipeline::signature;
use crate::lake::ingest::task::DaysTask;
use crate::lake::ingest::task::{RangeTask, Task};
use crate::source::SOURCES;

/// The runs of a dump of this text.
fn runs(dumps: &Dumps, source: &str, text: &str) -> Vec<Arc<SortedRun>> {
    let path = dumps.write("dump", text);
    let snapshot = dumps.lake.snapshot(None).unwrap();
    let options = IngestOptions::default();
    let listing = list(&Disk, &snapshot, &[path.into()], &[], 0, &options).unwrap();
    let source = SOURCES.iter().position(|s| s.name() == source).unwrap();
    let dump = Dump {
        file: listing.candidates[0].clone(),
        source,
        taken: None,
        known: false,
    };
    let sorted = ExternalSort::read(&[dump], &Arc::default(), &options, &Silent).unwrap();
    sorted.runs
}

fn target(lake: &Lake) -> FileDestination {
    FileDestination {
        store: lake.store().clone(),
        place: Placement::None,
        lake_id: lake.id().into(),
        range: None,
        day: None,
        from: None,
        to: None,
        ost: RangeTarget::default(),
        version: 2,
        memory: 1 << 20,
        spill: Spill::new(&std::env::temp_dir()),
    }
}

#[test]
fn stages_of_as_many_runs_with_other_rows_have_other_signatures() {
    let dumps = Dumps::new();
    let of_range = |runs| {
        signature(&Task::Range(RangeTask {
            target: target(&dumps.lake),
            logs: vec![],
            runs,
            old: vec![],
            drop: Arc::default(),
            moved: Arc::default(),
            derived: vec![],
            rewrite: false,
        }))
    };
    let jobs = |state: &str| {
        let text = dump(&[line(1, state, 0, Some(1), Some(2))]);
        let runs = runs(&dumps, "slurm", &text);
        assert_eq!(runs.len(), 1);
        of_range(runs)
    };
    assert_ne!(jobs("FAILED"), jobs("TIMEOUT"));
    assert_eq!(jobs("FAILED"), jobs("FAILED"));

    let of_days = |runs| {
        signature(&Task::Days(DaysTask {
            table: "lmt_ost".into(),
            fs: "fs1".into(),
            target: target(&dumps.lake),
            days: vec![(17_559, None)],
            runs,
            old: vec![],
        }))
    };
    let day = |counter| {
        let runs = runs(&dumps, "lmt", &samples(&[(10, counter)]));
        assert_eq!(runs.len(), 1);
        of_days(runs)
    };
    assert_ne!(day(100), day(101));
    assert_eq!(day(100), day(100));
}
