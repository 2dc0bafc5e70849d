//! The names behind record ids, which lie in `darshan_file`: read beside a table of the same order, log by log.

use super::path::Paths;
use super::pseudonym::Key;
use crate::error::Result;
use crate::lake::Batches;
use crate::source::darshan::record_id;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use std::collections::HashMap;

/// The columns of `darshan_file` that are read, in this order.
pub(super) const COLUMNS: [&str; 4] = ["log_id", "job_id", "record_id", "path"];

/// New record ids, of one log at a time.
pub(super) struct RecordNames {
    files: Batches,
    /// Rows that were read, and the first of them that was not looked at.
    rows: Option<(RecordBatch, usize)>,
    /// The log that `ids` are of.
    log: Option<(i64, i64)>,
    ids: HashMap<u64, u64>,
}

impl RecordNames {
    /// Over the chosen rows of `darshan_file` with [`COLUMNS`].
    pub(super) fn new(files: Batches) -> Self {
        Self {
            files,
            rows: None,
            log: None,
            ids: HashMap::new(),
        }
    }

    /// The new id of a record of a log: the hash of the pseudonym of its name; a pseudonym of the id where it has none. Logs are asked for
    /// in the order of the table, by job and log.
    ///
    /// # Errors
    /// Those of the files.
    pub(super) fn of(
        &mut self,
        log: (i64, i64),
        record: u64,
        paths: &mut Paths,
        key: &Key,
    ) -> Result<u64> {
        if self.log != Some(log) {
            self.read(log, paths)?;
        }
        let known = self.ids.get(&record).copied();
        Ok(known.unwrap_or_else(|| key.record(record)))
    }

    fn read(&mut self, wanted: (i64, i64), paths: &mut Paths) -> Result<()> {
        self.log = Some(wanted);
        self.ids.clear();
        while let Some((rows, from)) = self.current()? {
            let int = |at: usize| rows.column(at).as_primitive::<Int64Type>().values();
            let (logs, jobs) = (int(0), int(1));
            let records = rows.column(2).as_primitive::<UInt64Type>().values();
            let names = rows.column(3).as_string::<i32>();
            let (mut at, mut ended) = (from, false);
            while at < rows.num_rows() {
                let log = (jobs[at], logs[at]);
                if log > wanted {
                    ended = true;
                    break;
                }
                if log == wanted && names.is_valid(at) {
                    let id = record_id(paths.of(names.value(at)).as_bytes());
                    self.ids.insert(records[at], id);
                }
                at += 1;
            }
            self.rows = Some((rows, at));
            if ended {
                break;
            }
        }
        Ok(())
    }

    /// Rows that were not looked at yet; None at the end.
    fn current(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        while self
            .rows
            .as_ref()
            .is_none_or(|(rows, at)| *at >= rows.num_rows())
        {
            match self.files.next().transpose()? {
                Some(rows) => self.rows = Some((rows, 0)),
                None => return Ok(None),
            }
        }
        Ok(self.rows.clone())
    }
}
