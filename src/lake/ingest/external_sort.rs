//! Dumps to sorted runs in temporary files, whatever their size and order.
//!
//! A dump's rows belong to many ranges of job ids, or to many days, and which ranges there will be is known only when all dumps
//! are read. So they are read once, sorted piece by piece, and spilled; [`super::merge`] brings the pieces of a range or a day
//! together.

use super::candidate::Candidate;
use super::discover::{failed, input_row};
use super::options::{IngestOptions, Progress};
use crate::error::{Error, Result};
use crate::lake::file::temp;
use crate::lake::file::writer::bytes;
use crate::lake::threads::on_threads;
use crate::lake::version::list_file::{InputRow, InputStatus};
use crate::lake::version::time::DAY;
use crate::source::{BatchSink, Period, ReadContext, Reader, Source};
use crate::table::{Partition, Table, TableBuilder};
use arrow::array::{AsArray, BooleanArray, UInt32Array};
use arrow::compute::{SortOptions, filter_record_batch, take_record_batch};
use arrow::datatypes::{Field, Int64Type, Schema, TimestampMicrosecondType};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::Xxh3;

/// Bytes of memory of a block, about.
const BLOCK: usize = 1 << 20;
/// Sorted rows of one table, all of one input, and of one file system and day if the table is cut by these.
pub(in crate::lake) struct SortedRun {
    /// Name of the table.
    pub(in crate::lake) table: String,
    /// File system and day.
    pub(in crate::lake) day: Option<(String, i64)>,
    /// Number of the input.
    pub(in crate::lake) input: usize,
    pub(in crate::lake) blocks: Vec<Block>,
    /// XXH3 of its blocks' bytes: what tells it from a run of another reading.
    pub(in crate::lake) hash: u64,
    file: Arc<File>,
}

/// A part of a run that is read at once.
#[derive(Clone)]
pub(in crate::lake) struct Block {
    at: u64,
    length: u64,
    pub(in crate::lake) rows: usize,
    /// Bytes of memory.
    pub(in crate::lake) bytes: usize,
    /// Key of its first row.
    pub(in crate::lake) first: Box<[u8]>,
    /// Least and greatest job id, if the table has one.
    pub(in crate::lake) jobs: Option<(i64, i64)>,
}

impl SortedRun {
    /// Whether some of its rows may be of jobs in `[from, to)`.
    pub(in crate::lake) fn touches(&self, from: Option<i64>, to: Option<i64>) -> bool {
        let inside = |(least, most): (i64, i64)| {
            from.is_none_or(|from| from <= most) && to.is_none_or(|to| least < to)
        };
        self.blocks
            .iter()
            .any(|block| block.jobs.is_some_and(inside))
    }

    /// The run of some of its blocks.
    pub(in crate::lake) fn with_blocks(&self, blocks: Vec<Block>) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&self.hash.to_le_bytes());
        blocks
            .iter()
            .for_each(|block| hash.update(&block.at.to_le_bytes()));
        Self {
            table: self.table.clone(),
            day: self.day.clone(),
            input: self.input,
            blocks,
            hash: hash.digest(),
            file: self.file.clone(),
        }
    }

    /// The rows of a block.
    pub(in crate::lake) fn read(&self, block: &Block, table: &Table) -> Result<RecordBatch> {
        let mut bytes = vec![0; block.length as usize];
        let failed = |e| Error::io("a temporary file", "cannot read", e);
        self.file
            .read_exact_at(&mut bytes, block.at)
            .map_err(failed)?;
        let what = |e| Error::columns("a temporary file", e);
        let mut batches = StreamReader::try_new(std::io::Cursor::new(bytes), None).map_err(what)?;
        let batch = batches.next().transpose().map_err(what)?;
        let batch = batch.ok_or_else(|| Error::Invalid("a temporary file lacks rows".into()))?;
        RecordBatch::try_new(table.schema.clone(), batch.columns().to_vec()).map_err(what)
    }
}

/// Sort keys of a table's rows as bytes that compare like them, NULL after all values. They are the total order of rows in which
/// runs are sorted, rows are merged and files are checked; the sort order that files declare is the first part of it.
pub(in crate::lake) struct Keys {
    converter: RowConverter,
    columns: Vec<usize>,
}

impl Keys {
    pub(in crate::lake) fn new(table: &Table) -> Result<Self> {
        let columns = table
            .order()
            .map(|name| table.index(name))
            .collect::<Result<Vec<_>>>()?;
        let options = SortOptions {
            descending: false,
            nulls_first: false,
        };
        let field = |at: &usize| {
            SortField::new_with_options(table.schema.field(*at).data_type().clone(), options)
        };
        let converter = RowConverter::new(columns.iter().map(field).collect());
        Ok(Self {
            converter: converter.map_err(|e| Error::columns(table.name.clone(), e))?,
            columns,
        })
    }

    pub(in crate::lake) fn of(&self, rows: &RecordBatch) -> Result<Rows> {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|at| rows.column(*at).clone())
            .collect();
        self.converter
            .convert_columns(&columns)
            .map_err(|e| Error::columns("sort keys", e))
    }
}

/// What the dumps of an ingest brought.
#[derive(Default)]
pub(in crate::lake) struct ExternalSort {
    /// By table, in the order of their inputs.
    pub(in crate::lake) runs: Vec<Arc<SortedRun>>,
    /// What became of each input.
    pub(in crate::lake) rows: Vec<InputRow>,
    /// The inputs, by name.
    names: HashSet<Arc<str>>,
    /// Ids of rows that the lake holds under them and the runs under others ([`super::stand_ins`]).
    pub(in crate::lake) moved: Arc<BTreeSet<i64>>,
    /// Inputs of which nothing new could be had, and why: what the lake holds of them stays.
    pub(in crate::lake) unreadable: Vec<(String, String)>,
}

/// A dump to be read.
#[derive(Clone, Debug)]
pub(in crate::lake) struct Dump {
    pub(in crate::lake) file: Candidate,
    /// Place in the list of sources.
    pub(in crate::lake) source: usize,
    /// What the lake has taken of it before, if it is the same file still, and with which version of the reader.
    pub(in crate::lake) taken: Option<(Period, u32)>,
    /// Whether the lake holds rows of it, the same file or not.
    pub(in crate::lake) known: bool,
}

impl ExternalSort {
    /// Reads dumps on all threads.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and [`Error::Io`] if there is no room for temporary files. A dump that cannot be read is a row.
    pub(in crate::lake) fn read(
        dumps: &[Dump],
        context: &Arc<ReadContext>,
        options: &IngestOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (read, failure) = on_threads(
            options.threads,
            dumps.iter().enumerate().collect(),
            || Worker::new(options, context),
            |worker, (number, dump)| {
                let row = worker.read(number, dump)?;
                progress.done(dump.file.bytes, row.status == InputStatus::Failed);
                Ok((dump, row, worker.runs()))
            },
        );
        if let Some(e) = failure {
            return Err(e);
        }
        let mut sorted = Self::default();
        for (dump, row, runs) in read {
            sorted.runs.extend(runs);
            sorted.names.insert(dump.file.name.clone());
            match row.status == InputStatus::Failed && dump.known {
                // What the lake holds of it stays.
                true => sorted
                    .unreadable
                    .push((row.path.to_string(), row.error.unwrap_or_default())),
                false => sorted.rows.push(row),
            }
        }
        sorted
            .runs
            .sort_by(|a, b| (&a.table, a.input).cmp(&(&b.table, b.input)));
        sorted.rows.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sorted)
    }

    /// Whether these have been read.
    pub(in crate::lake) fn has(&self, dumps: &[Dump]) -> bool {
        dumps
            .iter()
            .all(|dump| self.names.contains(&dump.file.name))
    }

    /// The days of each table that is cut by days, by file system.
    pub(in crate::lake) fn days(&self) -> BTreeMap<(String, String), Vec<i64>> {
        let mut days: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
        for run in &self.runs {
            if let Some((fs, day)) = &run.day {
                days.entry((run.table.clone(), fs.clone()))
                    .or_default()
                    .push(*day);
            }
        }
        for days in days.values_mut() {
            days.sort_unstable();
            days.dedup();
        }
        days
    }
}

/// A thread's readers and what they have spilled.
struct Worker<'o> {
    options: &'o IngestOptions<'o>,
    context: &'o Arc<ReadContext>,
    tables: BatchSink,
    readers: HashMap<usize, Box<dyn Reader>>,
    spilling: Arc<Mutex<Spilling>>,
}

impl<'o> Worker<'o> {
    fn new(options: &'o IngestOptions<'o>, context: &'o Arc<ReadContext>) -> Result<Self> {
        let mut names = vec![];
        for source in options.sources {
            names.extend(
                source
                    .tables()
                    .iter()
                    .copied()
                    .filter(|table| source.row_merger(table).is_some()),
            );
        }
        let most = (options.memory / options.threads.max(1) / 16).clamp(1 << 20, 16 << 20);
        let spilling = Arc::new(Mutex::new(Spilling::new(options)?));
        let mut tables = BatchSink::new(names)?;
        let (drain, cancel) = (spilling.clone(), options.cancel.clone());
        tables.set_drain(move |builders| {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            spill_rows(&drain, builders, most).map_err(|e| {
                // No fault of the input, whatever its reader makes of it.
                if let Ok(mut spilling) = drain.lock() {
                    spilling.failure = Some(e);
                }
                Error::Interrupted
            })
        });
        Ok(Self {
            options,
            context,
            tables,
            readers: HashMap::new(),
            spilling,
        })
    }

    fn read(&mut self, number: usize, dump: &Dump) -> Result<InputRow> {
        let source = self.options.sources.get(dump.source).copied();
        let source = source.ok_or_else(|| Error::Invalid("an input's source is gone".into()))?;
        if let Ok(mut spilling) = self.spilling.lock() {
            spilling.input = number;
            spilling.margin = source.margin();
        }
        let row = self.read_whole(dump, source);
        if self.options.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let failure = self.spilling.lock().ok().and_then(|mut a| a.failure.take());
        if let Some(e) = failure {
            return Err(e);
        }
        let wholly = spill_rows(&self.spilling, self.tables.builders(), 0);
        match row {
            Ok(row) => wholly.map(|()| row),
            Err(e) => {
                // Of a dump that cannot be read to its end nothing is taken, unless its reader says that what there is is good.
                self.runs();
                Ok(failed(&dump.file, Some(source), &e))
            }
        }
    }

    fn read_whole(&mut self, dump: &Dump, source: &dyn Source) -> Result<InputRow> {
        let input = dump.file.open_unpacked(self.options)?;
        let hash = if input.is_server() {
            None
        } else {
            Some(input.hash()?)
        };
        let reader = self
            .readers
            .entry(dump.source)
            .or_insert_with(|| source.reader(self.context.clone()));
        let outcome = reader.read(&input, hash.unwrap_or_default(), None, &mut self.tables)?;
        let mut row = input_row(
            &dump.file,
            Some(source),
            outcome.status.into(),
            String::new(),
        );
        row.error = outcome.why;
        row.content_hash = hash;
        if self.options.provider.is_some() {
            // Nobody knew how large it would be.
            row.bytes = input.len();
        }
        // What was taken before stays, and if both are one period that is what was taken.
        row.period = self.options.period;
        if let Some((taken, reader_version)) = dump.taken {
            if !row.period.covers(taken) {
                row.reader_version = row.reader_version.min(reader_version);
            }
            if taken.touches(row.period) {
                row.period = taken.with(row.period);
            }
        }
        Ok(row)
    }

    /// Takes the runs that were spilled.
    fn runs(&mut self) -> Vec<Arc<SortedRun>> {
        self.spilling
            .lock()
            .map(|mut spilling| std::mem::take(&mut spilling.runs))
            .unwrap_or_default()
    }
}

/// Where rows are put while dumps are read.
pub(in crate::lake) struct Spilling {
    file: Arc<File>,
    /// Its directory.
    temp: PathBuf,
    end: u64,
    input: usize,
    period: Period,
    /// What is taken on either side of it, of the source that is read.
    margin: i64,
    pub(in crate::lake) runs: Vec<Arc<SortedRun>>,
    /// Why rows could not be spilled.
    failure: Option<Error>,
}

fn spill_rows(
    spilling: &Mutex<Spilling>,
    builders: &mut [TableBuilder],
    least: usize,
) -> Result<()> {
    for builder in builders {
        if builder.rows() == 0 || builder.bytes() < least {
            continue;
        }
        let rows = builder.finish()?;
        if let Ok(mut spilling) = spilling.lock() {
            spilling.put(builder.table(), &rows)?;
        }
    }
    Ok(())
}

impl Spilling {
    pub(in crate::lake) fn new(options: &IngestOptions<'_>) -> Result<Self> {
        let temp = options.temp();
        Ok(Self {
            file: Arc::new(temp::file(&temp)?),
            temp,
            end: 0,
            input: 0,
            period: options.period,
            margin: 0,
            runs: vec![],
            failure: None,
        })
    }

    /// Spills rows of an input.
    pub(in crate::lake) fn put_of(
        &mut self,
        input: usize,
        table: &Arc<Table>,
        rows: &RecordBatch,
    ) -> Result<()> {
        self.input = input;
        self.put(table, rows)
    }

    fn put(&mut self, table: &Arc<Table>, rows: &RecordBatch) -> Result<()> {
        let keys = Keys::new(table)?;
        match table.partition {
            Partition::Day => {
                for (day, rows) in self.days(table, rows)? {
                    self.sorted(table, Some(day), &rows, &keys)?;
                }
                Ok(())
            }
            _ => self.sorted(table, None, rows, &keys),
        }
    }

    /// The rows of each file system and day that lie in the period.
    fn days(&self, table: &Table, rows: &RecordBatch) -> Result<Vec<((String, i64), RecordBatch)>> {
        let failed = |e| Error::columns(table.name.clone(), e);
        let fs = rows.column(table.index("fs")?).as_string::<i32>();
        let times = rows
            .column(table.index("time")?)
            .as_primitive::<TimestampMicrosecondType>();
        let wide = Period {
            from: self.period.from.map(|t| t.saturating_sub(self.margin)),
            to: self.period.to.map(|t| t.saturating_add(self.margin)),
        };
        let mut places: BTreeMap<(&str, i64), Vec<u32>> = BTreeMap::new();
        let mut before: Option<((&str, i64), Vec<u32>)> = None;
        for (row, time) in times.values().iter().enumerate() {
            if !wide.contains(*time) {
                continue;
            }
            let place = (fs.value(row), time.div_euclid(DAY));
            match &mut before {
                Some((same, rows)) if *same == place => rows.push(row as u32),
                _ => {
                    if let Some((place, rows)) = before.take() {
                        places.entry(place).or_default().extend(rows);
                    }
                    before = Some((place, vec![row as u32]));
                }
            }
        }
        if let Some((place, rows)) = before {
            places.entry(place).or_default().extend(rows);
        }
        let all = rows.num_rows();
        let found = places.into_iter().map(|((fs, day), places)| {
            let rows = match places.len() == all {
                true => rows.clone(),
                false => take_record_batch(rows, &UInt32Array::from(places)).map_err(failed)?,
            };
            Ok(((fs.to_string(), day), rows))
        });
        found.collect()
    }

    /// Spills rows as a run.
    fn sorted(
        &mut self,
        table: &Arc<Table>,
        day: Option<(String, i64)>,
        rows: &RecordBatch,
        keys: &Keys,
    ) -> Result<()> {
        let failed = |e| Error::columns(table.name.clone(), e);
        let mut key = keys.of(rows)?;
        let mut rows = rows.clone();
        let in_order = (1..key.num_rows()).all(|row| key.row(row - 1) <= key.row(row));
        if !in_order {
            let mut order: Vec<u32> = (0..key.num_rows() as u32).collect();
            order.sort_by(|a, b| key.row(*a as usize).cmp(&key.row(*b as usize)));
            rows = take_record_batch(&rows, &UInt32Array::from(order)).map_err(failed)?;
            key = keys.of(&rows)?;
        }
        // Neither units nor meanings are needed there, which take more room than the rows of a small block.
        let fields = table
            .schema
            .fields()
            .iter()
            .map(|f| Field::new(f.name(), f.data_type().clone(), f.is_nullable()));
        let plain = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let step = (rows.num_rows() * BLOCK / bytes(&rows).max(1)).max(256);
        let jobs = table.position("job_id");
        let (mut blocks, mut hash) = (vec![], Xxh3::new());
        for from in (0..rows.num_rows()).step_by(step) {
            let part = rows.slice(from, step.min(rows.num_rows() - from));
            let jobs = jobs.map(|at| {
                let jobs = part.column(at).as_primitive::<Int64Type>().values();
                (jobs[0], jobs[jobs.len() - 1])
            });
            let size = bytes(&part);
            let part =
                RecordBatch::try_new(plain.clone(), part.columns().to_vec()).map_err(failed)?;
            let mut written = Vec::with_capacity(size + 4096);
            let mut writer = StreamWriter::try_new(&mut written, &plain).map_err(failed)?;
            writer
                .write(&part)
                .and_then(|()| writer.finish())
                .map_err(failed)?;
            drop(writer);
            let no_room = |e| Error::io(&self.temp, "cannot write a temporary file", e);
            self.file
                .write_all_at(&written, self.end)
                .map_err(no_room)?;
            hash.update(&written);
            blocks.push(Block {
                at: self.end,
                length: written.len() as u64,
                rows: part.num_rows(),
                bytes: size,
                first: key.row(from).as_ref().into(),
                jobs,
            });
            self.end += written.len() as u64;
        }
        if !blocks.is_empty() {
            self.runs.push(Arc::new(SortedRun {
                table: table.name.clone(),
                day,
                input: self.input,
                blocks,
                hash: hash.digest(),
                file: self.file.clone(),
            }));
        }
        Ok(())
    }
}

/// The rows of a batch that is sorted by job id whose job lies in `[from, to)`.
pub(in crate::lake) fn of_jobs(
    rows: &RecordBatch,
    at: usize,
    from: Option<i64>,
    to: Option<i64>,
) -> RecordBatch {
    let jobs = rows.column(at).as_primitive::<Int64Type>().values();
    let first = from.map_or(0, |from| jobs.partition_point(|job| *job < from));
    let last = to.map_or(jobs.len(), |to| jobs.partition_point(|job| *job < to));
    rows.slice(first, last.saturating_sub(first))
}

/// The rows for which `mask` is true.
pub(in crate::lake) fn filtered(rows: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
    filter_record_batch(rows, mask).map_err(|e| Error::columns("rows of a lake", e))
}
