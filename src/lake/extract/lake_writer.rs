//! A lake that is made of rows which come sorted, each table once.

use crate::error::{Error, Result};
use crate::lake::file::data_sink::Syncing;
use crate::lake::file::target::{FileDestination, RangeTarget};
use crate::lake::file::temp::{self, Spill};
use crate::lake::file::writer::RangeWriter;
use crate::lake::version::first_version::FirstVersion;
use crate::lake::version::list_file::{DataFile, InputRow};
use crate::lake::version::manifest::{JobRange, Summary};
use crate::lake::version::site::SiteFile;
use crate::lake::version::store::{Store, create_directory};
use crate::lake::version::time::DAY;
use crate::lake::version::user_function::UserFunction;
use crate::lake::{CreateOptions, Placement, absolute, range_of, vacant};
use crate::table::{Partition, Table};
use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes a lake in a new directory. Its tables may be written by several threads; there is a lake after [`LakeWriter::finish`].
pub struct LakeWriter {
    store: Store,
    lake_id: String,
    options: CreateOptions,
    splits: Vec<i64>,
    memory: usize,
    derived: BTreeMap<String, u32>,
    anonymised: bool,
    spill: Arc<Spill>,
    files: Mutex<Vec<DataFile>>,
}

/// Writes the rows of one table.
pub struct TableWriter<'a> {
    lake: &'a LakeWriter,
    table: Arc<Table>,
    open: Option<(Part, RangeWriter)>,
    files: Vec<DataFile>,
    syncing: Syncing,
    rows: u64,
}

/// What one file holds.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Range(usize),
    Day(String, i64),
}

impl LakeWriter {
    /// Begins a lake whose job ids are cut at `splits`, ascending. Rows of a table that are not in its file yet take up to `memory` bytes.
    ///
    /// # Errors
    /// As [`crate::lake::Lake::create`]; settings may not place files.
    pub fn create(
        root: &Path,
        options: CreateOptions,
        splits: Vec<i64>,
        memory: usize,
    ) -> Result<Self> {
        let root = absolute(root)?;
        vacant(&root)?;
        if !SiteFile::parse(&options.settings)?.place.is_none() {
            let why = "a lake that is written whole has its files below its root";
            return Err(Error::Invalid(why.into()));
        }
        create_directory(&root).map_err(|e| Error::io(&root, "cannot create", e))?;
        let store = Store::directory(root);
        Ok(Self {
            lake_id: uuid::Uuid::new_v4().to_string(),
            spill: Spill::new(&temp::directory(None, &store)),
            store,
            options,
            splits,
            memory,
            derived: BTreeMap::new(),
            anonymised: false,
            files: Mutex::default(),
        })
    }

    /// Says that its rows have pseudonyms: nothing can be imported beside them.
    pub fn anonymised(mut self) -> Self {
        self.anonymised = true;
        self
    }

    /// Says which derived tables it has all rows of, by which versions: it keeps them.
    pub fn keeping(mut self, derived: BTreeMap<String, u32>) -> Self {
        self.derived = derived;
        self
    }

    /// The writer of a table, whose rows come in its order: by job, or by file system and day.
    pub fn table(&self, table: &Arc<Table>) -> TableWriter<'_> {
        TableWriter {
            lake: self,
            table: table.clone(),
            open: None,
            files: vec![],
            syncing: Syncing::new(&self.store),
            rows: 0,
        }
    }

    /// Makes what was written a lake; `inputs` are those that its rows came from.
    ///
    /// # Errors
    /// [`Error::Lake`] if one is there by now; [`Error::Io`].
    pub fn finish(
        self,
        operation: &str,
        mut inputs: Vec<InputRow>,
        functions: Vec<UserFunction>,
    ) -> Result<Summary> {
        let files = self.files.into_inner();
        let mut files = files.unwrap_or_else(PoisonError::into_inner);
        files.sort_by(|a, b| (&a.table, a.range, &a.path).cmp(&(&b.table, b.range, &b.path)));
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        let bounds = std::iter::once(None).chain(self.splits.into_iter().map(Some));
        let first = FirstVersion {
            lake_id: &self.lake_id,
            operation,
            settings: self.options.settings,
            range_bytes: self.options.range_bytes,
            ranges: bounds.map(|from| JobRange { from, ost: None }).collect(),
            files: &files,
            inputs: &inputs,
            functions,
            derived: self.derived,
            anonymised: self.anonymised,
        };
        let manifest = first.manifest(&self.store, &mut vec![])?;
        match manifest.publish(&self.store)? {
            true => Ok(manifest.summary),
            false => Err(Error::Lake {
                lake: self.store.show(""),
                reason: "there is a lake already".into(),
            }),
        }
    }

    /// The data files alone, for tables that are to be no lake.
    pub fn into_files(self) -> Vec<DataFile> {
        let files = self.files.into_inner();
        files.unwrap_or_else(PoisonError::into_inner)
    }

    fn destination(&self, part: &Part) -> FileDestination {
        let (range, day) = match part {
            Part::Range(range) => (Some(*range), None),
            Part::Day(fs, day) => (None, Some((fs.clone(), *day))),
        };
        let split = |at: Option<usize>| at.and_then(|at| self.splits.get(at).copied());
        FileDestination {
            store: self.store.clone(),
            place: Placement::None,
            lake_id: self.lake_id.clone(),
            range,
            day,
            from: split(range.and_then(|range| range.checked_sub(1))),
            to: split(range),
            ost: RangeTarget::new(None),
            version: 1,
            memory: self.memory,
            spill: self.spill.clone(),
        }
    }
}

impl TableWriter<'_> {
    /// Appends rows, all after those of the call before.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Lake`] if they are out of order.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let parts = self.parts(batch)?;
        for (part, from, to) in parts {
            if self.open.as_ref().is_none_or(|(open, _)| *open != part) {
                self.close()?;
                let destination = self.lake.destination(&part);
                let writer = RangeWriter::new(&self.table, destination, &[], Arc::default())?;
                self.open = Some((part, writer));
            }
            if let Some((_, writer)) = &mut self.open {
                writer.write(&batch.slice(from, to - from))?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Ends the table: its rows.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<u64> {
        self.close()?;
        self.syncing.finish()?;
        let mut files = self
            .lake
            .files
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        files.append(&mut self.files);
        Ok(self.rows)
    }

    fn close(&mut self) -> Result<()> {
        let Some((_, writer)) = self.open.take() else {
            return Ok(());
        };
        if let Some(file) = writer.finish()? {
            self.files.push(file.data);
            self.syncing.push(file.unsynced)?;
        }
        Ok(())
    }

    /// The parts of a batch that go to one file each: from which row on, and up to which.
    fn parts(&self, batch: &RecordBatch) -> Result<Vec<(Part, usize, usize)>> {
        let mut parts: Vec<(Part, usize, usize)> = vec![];
        let mut push = |part: Part, row: usize| match parts.last_mut() {
            Some((last, _, to)) if *last == part => *to = row + 1,
            _ => parts.push((part, row, row + 1)),
        };
        match self.table.partition {
            Partition::JobId => {
                let jobs = batch.column(self.table.index("job_id")?);
                let jobs = jobs.as_primitive::<Int64Type>().values();
                let mut last = None;
                for (row, job) in jobs.iter().enumerate() {
                    let range = match last {
                        Some((known, range)) if known == *job => range,
                        _ => range_of(&self.lake.splits, *job),
                    };
                    last = Some((*job, range));
                    push(Part::Range(range), row);
                }
            }
            Partition::Day => {
                let fs = batch.column(self.table.index("fs")?).as_string::<i32>();
                let times = batch.column(self.table.index("time")?);
                let times = times.as_primitive::<TimestampMicrosecondType>().values();
                for (row, time) in times.iter().enumerate() {
                    push(Part::Day(fs.value(row).into(), time.div_euclid(DAY)), row);
                }
            }
            Partition::Manifest => {
                let why = format!("{} has no rows of its own", self.table.name);
                return Err(Error::Invalid(why));
            }
        }
        Ok(parts)
    }
}
