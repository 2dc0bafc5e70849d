//! Dumps of sacct as tests read them. tests/it/slurm_dumps.rs takes this file in as well.

use super::{BatchSink, Input, Outcome, Peek, ReadContext, Result, Slurm, Source, sorted, table};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// What a lake would hold of some inputs: jobs, steps, and what became of each input.
pub(super) struct Read {
    pub(super) jobs: RecordBatch,
    pub(super) steps: RecordBatch,
    pub(super) outcomes: Vec<Outcome>,
}

pub(super) fn read_with(context: ReadContext, inputs: &[Input]) -> Result<Read> {
    let mut tables = BatchSink::new(Slurm.tables().iter().copied())?;
    let mut reader = Slurm.reader(Arc::new(context));
    let mut outcomes = vec![];
    for input in inputs {
        let mut head = vec![];
        input.read_at(0, input.len().min(4096) as usize, &mut head)?;
        assert!(
            Slurm.probe(input.path(), &head),
            "{}",
            input.path().display()
        );
        assert_eq!(Slurm.peek(input)?, Peek::Dump);
        outcomes.push(reader.read(input, 0, None, &mut tables)?);
    }
    let mut kept = vec![];
    for (name, builder) in Slurm.tables().iter().zip(tables.builders()) {
        let rows = sorted(&builder.finish()?, &table(name)?.sort);
        kept.push(Slurm.row_merger(name).unwrap().resolve(&rows)?);
    }
    let steps = kept.pop().unwrap();
    Ok(Read {
        jobs: kept.pop().unwrap(),
        steps,
        outcomes,
    })
}
