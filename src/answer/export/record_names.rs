//! The names behind record ids, which lie in `darshan_file`: read beside a table of the same order, log by log.

use super::path::Paths;
use super::pseudonym::Key;
use crate::error::Result;
use crate::lake::Batches;
use crate::source::darshan::{is_stream, record_id};
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
    /// The last log that was read, by job and id.
    last: Option<(i64, i64)>,
    /// New ids of the logs of one batch: each of its columns asks for them.
    ids: HashMap<(i64, i64), HashMap<u64, u64>>,
}

impl RecordNames {
    /// Over the chosen rows of `darshan_file` with [`COLUMNS`].
    pub(super) fn new(files: Batches) -> Self {
        Self {
            files,
            rows: None,
            last: None,
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
        if !self.ids.contains_key(&log) {
            let ids = self.read(log, paths)?;
            self.ids.insert(log, ids);
        }
        // The log was read for it as well: its names stand before those of the next log.
        if is_stream(record) {
            return Ok(record);
        }
        let known = self.ids.get(&log).and_then(|ids| ids.get(&record).copied());
        Ok(known.unwrap_or_else(|| key.record(record)))
    }

    /// Goes on to the next batch: of the logs of this one only the last may stand in it.
    pub(super) fn next_batch(&mut self) {
        let last = self.last;
        self.ids.retain(|log, _| Some(*log) == last);
    }

    fn read(&mut self, wanted: (i64, i64), paths: &mut Paths) -> Result<HashMap<u64, u64>> {
        self.last = Some(wanted);
        let mut ids = HashMap::new();
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
                    ids.insert(records[at], id);
                }
                at += 1;
            }
            self.rows = Some((rows, at));
            if ended {
                break;
            }
        }
        Ok(ids)
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
