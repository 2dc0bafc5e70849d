//! Records under a stand-in id to their real one.
//!
//! Without JobIDRaw sacct does not say the id of an array task: its record stands under an id below 0 ([`Source::stand_in`]). Where the lake
//! or another dump of the same ingest has that task under its real id, both would count. So the records with stand-ins take the real id,
//! in runs of their own, and are merged as any other rows of the job; those that the lake holds leave their old place. An id that is known
//! twice, of two clusters or because ids have started over, is not taken.

use super::external_sort::{Block, ExternalSort, SortedRun, Spilling};
use super::options::IngestOptions;
use crate::error::{Error, Result};
use crate::lake::file::data_reader::{read_named, read_rows};
use crate::lake::file::writer::bytes;
use crate::lake::version::list_file::DataFile;
use crate::lake::version::snapshot::Snapshot;
use crate::source::Source;
use crate::table::{Table, table};
use arrow::array::{Array, AsArray, BooleanArray, Int64Array, StringArray};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Column of the id as it is shown, which says what a stand-in is for.
const SHOWN: &str = "job_id_text";
/// What tells whose id it is.
const COLUMNS: [&str; 3] = ["job_id", SHOWN, "cluster"];
/// Number of the input of runs that hold rows of the lake.
const LAKE: usize = usize::MAX;
/// Bytes of rows that are held before they become a run.
const RUN: usize = 16 << 20;

impl ExternalSort {
    /// Gives rows with stand-in ids the real ones that the lake or the dumps say. Those of the lake become rows of runs; under which ids they
    /// were says [`ExternalSort::moved`].
    ///
    /// # Errors
    /// [`Error::Io`], and those of reading data files.
    pub(in crate::lake) fn resolve_stand_ins(
        &mut self,
        snapshot: &Snapshot,
        options: &IngestOptions<'_>,
    ) -> Result<()> {
        // What another try has found in an older version.
        self.runs.retain(|run| run.input != LAKE);
        self.moved = Arc::default();
        let runs: Vec<&Arc<SortedRun>> = (self.runs.iter())
            .filter(|run| shows_ids(&run.table))
            .collect();
        let below = |file: &&DataFile| file.job_id.is_some_and(|(least, _)| least < 0);
        let held = snapshot
            .files()
            .iter()
            .filter(|file| shows_ids(&file.table));
        let (stand_ins, others): (Vec<_>, Vec<_>) = held.partition(below);
        let brings_some = runs.iter().any(|run| run.blocks.iter().any(has_stand_ins));
        if !brings_some && (runs.is_empty() || stand_ins.is_empty()) {
            return Ok(());
        }
        let store = snapshot.store();
        let mut ids = Ids::default();
        for run in &runs {
            for block in run.blocks.iter().filter(|block| has_stand_ins(block)) {
                ids.note_stand_ins(&run.read(block, table(&run.table)?)?)?;
            }
        }
        for file in &stand_ins {
            for rows in read_named(store, &file.path, &COLUMNS)? {
                ids.note_stand_ins(&rows?)?;
            }
        }
        for run in &runs {
            for block in &run.blocks {
                ids.note_real(&run.read(block, table(&run.table)?)?, options.sources)?;
            }
        }
        // Without new stand-ins those of the lake wait for an id that the dumps say. Steps stand under the id of their job.
        let others = others.into_iter().chain(stand_ins.iter().copied());
        for file in others.filter(|_| brings_some) {
            if table(&file.table)?.position("step_id").is_none() {
                for rows in read_named(store, &file.path, &COLUMNS)? {
                    ids.note_real(&rows?, options.sources)?;
                }
            }
        }
        let ids = ids.resolved();
        if ids.is_empty() {
            return Ok(());
        }

        let mut spilling = Spilling::new(options)?;
        let mut left = vec![];
        for run in std::mem::take(&mut self.runs) {
            if !shows_ids(&run.table) || !run.blocks.iter().any(has_stand_ins) {
                left.push(run);
                continue;
            }
            let (mut moving, mut kept) = (Moving::new(&run.table, run.input)?, vec![]);
            for block in &run.blocks {
                let rows = match has_stand_ins(block) {
                    true => with_real_ids(run.read(block, moving.table)?, &ids)?,
                    false => None,
                };
                match rows {
                    Some(rows) => moving.push(rows, &mut spilling)?,
                    None => kept.push(block.clone()),
                }
            }
            moving.spill(&mut spilling)?;
            left.push(Arc::new(run.with_blocks(kept)));
        }
        let mut moved = BTreeSet::new();
        for file in stand_ins {
            let mut moving = Moving::new(&file.table, LAKE)?;
            for rows in read_rows(store, moving.table, &file.path, 8192)? {
                let rows = rows?;
                let jobs = jobs(&rows)?.values();
                let found: BooleanArray =
                    jobs.iter().map(|job| Some(ids.contains_key(job))).collect();
                moved.extend(jobs.iter().filter(|job| ids.contains_key(job)));
                let rows = filter_record_batch(&rows, &found).map_err(unfit)?;
                if let Some(rows) = with_real_ids(rows, &ids)? {
                    moving.push(rows, &mut spilling)?;
                }
            }
            moving.spill(&mut spilling)?;
        }
        self.moved = Arc::new(moved);
        self.runs = left;
        self.runs.append(&mut spilling.runs);
        self.runs
            .sort_by(|a, b| (&a.table, a.input).cmp(&(&b.table, b.input)));
        Ok(())
    }
}

fn shows_ids(name: &str) -> bool {
    table(name).is_ok_and(|table| table.position(SHOWN).is_some())
}

fn has_stand_ins(block: &Block) -> bool {
    block.jobs.is_some_and(|(least, _)| least < 0)
}

fn unfit(e: arrow::error::ArrowError) -> Error {
    Error::columns("rows with stand-in ids", e)
}

fn jobs(rows: &RecordBatch) -> Result<&Int64Array> {
    let jobs = rows.column_by_name("job_id");
    let jobs = jobs.and_then(|jobs| jobs.as_primitive_opt::<Int64Type>());
    jobs.ok_or_else(|| Error::Invalid("a table of the lake lacks job_id".into()))
}

/// The rows with the real ids instead of those stand-ins that are known; None if there are none.
fn with_real_ids(rows: RecordBatch, ids: &HashMap<i64, i64>) -> Result<Option<RecordBatch>> {
    let jobs = jobs(&rows)?.values();
    if !jobs.iter().any(|job| ids.contains_key(job)) {
        return Ok(None);
    }
    let real: Int64Array = jobs
        .iter()
        .map(|job| Some(*ids.get(job).unwrap_or(job)))
        .collect();
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of("job_id").map_err(unfit)?] = Arc::new(real);
    RecordBatch::try_new(rows.schema(), columns)
        .map(Some)
        .map_err(unfit)
}

/// Stand-ins, and what is known of each.
#[derive(Default)]
struct Ids(HashMap<i64, Known>);

#[derive(Default)]
struct Known {
    real: BTreeSet<i64>,
    clusters: BTreeSet<String>,
}

impl Ids {
    fn note_stand_ins(&mut self, rows: &RecordBatch) -> Result<()> {
        let clusters = text(rows, "cluster");
        for (row, job) in jobs(rows)?.values().iter().enumerate() {
            if *job < 0 {
                self.0.entry(*job).or_default().note(None, clusters, row);
            }
        }
        Ok(())
    }

    fn note_real(&mut self, rows: &RecordBatch, sources: &[&dyn Source]) -> Result<()> {
        let (shown, clusters) = (text(rows, SHOWN), text(rows, "cluster"));
        for (row, job) in jobs(rows)?.values().iter().enumerate() {
            let shown = value(shown, row).filter(|_| *job >= 0);
            let stand_in = shown.and_then(|shown| sources.iter().find_map(|s| s.stand_in(shown)));
            if let Some(known) = stand_in.and_then(|stand_in| self.0.get_mut(&stand_in)) {
                known.note(Some(*job), clusters, row);
            }
        }
        Ok(())
    }

    /// The real ids of those of which one is known and one cluster at most.
    fn resolved(self) -> HashMap<i64, i64> {
        let known = self.0.into_iter().filter_map(|(stand_in, known)| {
            let real = known.real.first().copied()?;
            (known.real.len() == 1 && known.clusters.len() <= 1).then_some((stand_in, real))
        });
        known.collect()
    }
}

impl Known {
    fn note(&mut self, real: Option<i64>, clusters: Option<&StringArray>, row: usize) {
        self.real.extend(real);
        if let Some(cluster) = value(clusters, row).filter(|name| !self.clusters.contains(*name)) {
            self.clusters.insert(cluster.to_string());
        }
    }
}

fn text<'a>(rows: &'a RecordBatch, column: &str) -> Option<&'a StringArray> {
    rows.column_by_name(column)?.as_string_opt::<i32>()
}

fn value(column: Option<&StringArray>, row: usize) -> Option<&str> {
    column.filter(|c| c.is_valid(row)).map(|c| c.value(row))
}

/// Rows of one input and table on their way into runs.
struct Moving {
    table: &'static Arc<Table>,
    input: usize,
    rows: Vec<RecordBatch>,
    bytes: usize,
}

impl Moving {
    fn new(name: &str, input: usize) -> Result<Self> {
        Ok(Self {
            table: table(name)?,
            input,
            rows: vec![],
            bytes: 0,
        })
    }

    fn push(&mut self, rows: RecordBatch, spilling: &mut Spilling) -> Result<()> {
        self.bytes += bytes(&rows);
        self.rows.push(rows);
        match self.bytes >= RUN {
            true => self.spill(spilling),
            false => Ok(()),
        }
    }

    fn spill(&mut self, spilling: &mut Spilling) -> Result<()> {
        let rows = concat_batches(&self.table.schema, &std::mem::take(&mut self.rows));
        self.bytes = 0;
        spilling.put_of(self.input, self.table, &rows.map_err(unfit)?)
    }
}
