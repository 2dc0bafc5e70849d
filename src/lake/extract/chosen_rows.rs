//! The rows of a version that belong to chosen logs.

use crate::error::Result;
use crate::lake::file::data_reader::{KeptRows, read_kept};
use crate::lake::version::list_file::DataFile;
use crate::lake::version::snapshot::Snapshot;
use crate::lake::version::time::DAY;
use crate::table::{Partition, Table, table};
use arrow::array::{Array, AsArray, BooleanArray};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Rows of a batch.
pub(in crate::lake) const BATCH: usize = 8192;

/// Batches of a table, in its order.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Which rows of a lake are chosen.
#[derive(Clone, Debug, Default)]
pub struct ChosenRows {
    /// The logs, and with them their files and modules; all if None.
    pub logs: Option<Arc<HashSet<i64>>>,
    /// Their jobs, ascending: Slurm's records are chosen by them; all if None.
    pub jobs: Option<Arc<Vec<i64>>>,
    /// Samples of LMT.
    pub lmt: LmtRows,
}

/// Which samples of LMT are chosen.
#[derive(Clone, Debug, Default)]
pub enum LmtRows {
    /// All.
    #[default]
    All,
    /// None.
    None,
    /// Of each file system those whose intervals overlap some times.
    Within(Arc<BTreeMap<String, FsTimes>>),
}

/// The times of which samples of one file system are chosen.
#[derive(Clone, Debug, Default)]
pub struct FsTimes {
    /// Of its servers and metadata targets, and of its OSTs where those are not told apart.
    pub all: Times,
    /// Of each of its OSTs.
    pub by_ost: Option<HashMap<i32, Times>>,
}

/// Intervals of time, ascending and apart, in microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<(i64, i64)>);

impl Times {
    /// The union of some intervals.
    ///
    /// # Example
    /// ```
    /// let times = iolode::lake::Times::union(vec![(5, 9), (0, 6), (20, 21)]);
    /// assert!(times.overlaps(9, 10) && times.overlaps(3, 4) && !times.overlaps(10, 19));
    /// ```
    pub fn union(mut intervals: Vec<(i64, i64)>) -> Self {
        intervals.sort_unstable();
        let mut union: Vec<(i64, i64)> = vec![];
        for (from, to) in intervals {
            match union.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => union.push((from, to)),
            }
        }
        Self(union)
    }

    /// Whether some of it lies in `[from, to]`.
    pub fn overlaps(&self, from: i64, to: i64) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < from);
        self.0.get(at).is_some_and(|(start, _)| *start <= to)
    }

    /// From the beginning to the end of all of it.
    pub fn span(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }
}

impl From<Times> for Vec<(i64, i64)> {
    fn from(times: Times) -> Self {
        times.0
    }
}

impl Snapshot {
    /// The chosen rows of a table in its order: by job, or by file system and day. They have the columns of today's schema, or those of `only` if it
    /// names some.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is no such table or column; in the batches those of its data files.
    pub fn chosen_rows(&self, name: &str, only: &[&str], chosen: &ChosenRows) -> Result<Batches> {
        let table = table(name)?;
        let of_table = self.files().iter().filter(|file| file.table == name);
        let mut files: Vec<DataFile> = of_table
            .filter(|file| chosen.may_have(table, file))
            .cloned()
            .collect();
        files.sort_by(|a, b| (a.range, &a.day).cmp(&(b.range, &b.day)));
        let (store, chosen) = (self.store().clone(), chosen.clone());
        let (table, read) = (table.clone(), Arc::new(table.with_columns(only)?));
        let batches = files.into_iter().flat_map(move |file| {
            let kept = chosen.kept(&table, &file);
            let batches = read_kept(&store, &read, &file.path, BATCH, kept);
            batches.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
        });
        Ok(Box::new(batches))
    }
}

impl ChosenRows {
    /// Whether a file can hold chosen rows, as far as its bounds say.
    fn may_have(&self, table: &Table, file: &DataFile) -> bool {
        match (table.partition, &self.lmt) {
            (Partition::Manifest, _) | (Partition::Day, LmtRows::None) => false,
            (Partition::JobId, _) => match (&self.jobs, file.job_id) {
                (Some(jobs), Some((least, most))) => {
                    let at = jobs.partition_point(|job| *job < least);
                    jobs.get(at).is_some_and(|job| *job <= most)
                }
                _ => true,
            },
            (Partition::Day, LmtRows::Within(times)) => match (&file.day, file.time) {
                // The interval of the first sample of a day begins on the day before.
                (Some((fs, _)), Some((from, to))) => times
                    .get(fs)
                    .is_some_and(|times| times.all.overlaps(from - DAY, to)),
                _ => true,
            },
            (Partition::Day, LmtRows::All) => true,
        }
    }

    /// Which rows of a file are chosen; None if all are.
    fn kept(&self, table: &Table, file: &DataFile) -> Option<KeptRows> {
        match (table.partition, &self.lmt) {
            (Partition::JobId, _) if table.position("log_id").is_some() => {
                let logs = self.logs.clone()?;
                Some(of_ids("log_id", move |log| logs.contains(&log)))
            }
            (Partition::JobId, _) => {
                let jobs = self.jobs.clone()?;
                Some(of_ids("job_id", move |job| {
                    jobs.binary_search(&job).is_ok()
                }))
            }
            (Partition::Day, LmtRows::Within(times)) => {
                let (fs, _) = file.day.as_ref()?;
                Some(of_times(times.clone(), fs.clone(), table))
            }
            _ => None,
        }
    }
}

/// Rows whose id is wanted. Rows of one log or job stand together.
pub(in crate::lake) fn of_ids(
    column: &'static str,
    wanted: impl Fn(i64) -> bool + Send + 'static,
) -> KeptRows {
    let keep = move |rows: RecordBatch| {
        let ids = rows.column(0).as_primitive::<Int64Type>().values();
        let mut last = None;
        let keep = ids.iter().map(|id| match last {
            Some((known, is_wanted)) if known == *id => is_wanted,
            _ => {
                let is_wanted = wanted(*id);
                last = Some((*id, is_wanted));
                is_wanted
            }
        });
        Ok(BooleanArray::from_iter(keep.map(Some)))
    };
    KeptRows {
        columns: vec![column],
        keep: Box::new(keep),
    }
}

/// Samples of a file system whose intervals overlap its times.
fn of_times(times: Arc<BTreeMap<String, FsTimes>>, fs: String, table: &Table) -> KeptRows {
    let has_osts = table.position("ost").is_some();
    let keep = move |rows: RecordBatch| {
        let none = Times::default();
        let of_fs = times.get(&fs);
        let time = |name: &str| {
            rows.column_by_name(name)
                .map(|column| column.as_primitive::<TimestampMicrosecondType>())
        };
        let (Some(ends), Some(starts)) = (time("time"), time("start_time")) else {
            return Err(ArrowError::SchemaError("a sample has no time".into()));
        };
        let osts = rows.column_by_name("ost");
        let osts = osts.map(|column| column.as_primitive::<Int32Type>().values());
        let keep = (0..rows.num_rows()).map(|row| {
            let times = match (of_fs, osts) {
                (None, _) => &none,
                (
                    Some(FsTimes {
                        by_ost: Some(by_ost),
                        ..
                    }),
                    Some(osts),
                ) => by_ost.get(&osts[row]).unwrap_or(&none),
                (Some(of_fs), _) => &of_fs.all,
            };
            let end = ends.value(row);
            let start = if starts.is_valid(row) {
                starts.value(row)
            } else {
                end
            };
            Some(times.overlaps(start, end))
        });
        Ok(BooleanArray::from_iter(keep))
    };
    let mut columns = vec!["time", "start_time"];
    columns.extend(has_osts.then_some("ost"));
    KeptRows {
        columns,
        keep: Box::new(keep),
    }
}
