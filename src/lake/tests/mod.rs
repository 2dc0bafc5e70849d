//! A lake end to end, on a small kind of log of its own.

use super::*;
use crate::source::{BatchSink, Input, Outcome, Peek, ReadContext, Reader, Source};
use crate::table::{Column, table};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::fs;
use std::time::Duration;

mod at_call;
mod compaction;
mod copy;
mod daily;
mod derived;
mod descriptors;
mod dumps;
mod faults;
mod functions;
mod inputs;
mod large;
mod lifetime;
mod made;
mod missing;
mod newer;
mod order;
mod owner;
mod racing;
mod ranges;
mod refused;
mod retention;
mod row_order;
mod settings;
mod signatures;
mod taken;
mod unread;
mod upkeep;

/// So many logs are enough to be cut into ranges.
const MANY: usize = 4200;

/// `mounts JOB START NAME..`: each name a row of darshan_mount, the start a row nowhere.
struct MountList;

impl Source for MountList {
    fn inputs(&self) -> &'static str {
        ""
    }

    fn rows(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &'static str {
        "mounts"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["darshan_mount", "darshan_dxt"]
    }

    fn on_request(&self) -> &'static [&'static str] {
        &["darshan_dxt"]
    }

    fn version(&self) -> u32 {
        1
    }

    fn probe(&self, _: &Path, head: &[u8]) -> bool {
        head.starts_with(b"mounts ")
    }

    fn peek(&self, input: &Input) -> Result<Peek> {
        let words = words(input)?;
        let number = |at: usize| words.get(at).and_then(|w| w.parse().ok());
        let job_id = number(1).ok_or_else(|| Error::Malformed {
            path: input.path().into(),
            region: "job".into(),
            at: Some(7),
            reason: "no number".into(),
        })?;
        Ok(Peek::Log {
            job_id,
            start_time: number(2),
        })
    }

    fn reader(&self, _: Arc<ReadContext>) -> Box<dyn Reader> {
        Box::new(MountReader)
    }
}

struct MountReader;

impl Reader for MountReader {
    fn read(
        &mut self,
        input: &Input,
        id: i64,
        expected: Option<Peek>,
        tables: &mut BatchSink,
    ) -> Result<Outcome> {
        let words = words(input)?;
        let found = MountList.peek(input)?;
        found.check(expected, input)?;
        let Peek::Log { job_id: job, .. } = found else {
            return Err(Error::Invalid("a dump".into()));
        };
        let builder = tables.get("darshan_mount").unwrap();
        for (position, name) in words.iter().skip(3).enumerate() {
            builder.column(0).int64().push(id);
            builder.column(1).int64().push(job);
            builder.column(2).int64().push(position as i64);
            builder.column(3).utf8().append_value(name);
            builder.column(4).utf8().append_value("x");
            // Only a newer program has it.
            if builder.table().position("quota").is_some() {
                builder.column(5).int64().push(7);
            }
        }
        // One segment for each log.
        if let Some(builder) = tables.get("darshan_dxt") {
            let numbers = builder.table().schema.clone();
            for (at, field) in numbers.fields().iter().enumerate() {
                match (field.name().as_str(), builder.column(at)) {
                    ("log_id", column) => column.int64().push(id),
                    ("job_id", column) => column.int64().push(job),
                    (_, Column::Int64(column)) => column.push(0),
                    (_, Column::Int32(column)) => column.push(0),
                    (_, Column::UInt64(column)) => column.push(0),
                    (_, Column::Float64(column)) => column.push(0.0),
                    (_, Column::Boolean(column)) => column.append_value(false),
                    (_, Column::Timestamp(column)) => column.push(0),
                    (_, Column::Utf8(column)) => column.append_value("x"),
                    (name, _) => panic!("the test fills no {name}"),
                }
            }
        }
        Ok(Outcome::default())
    }
}

fn words(input: &Input) -> Result<Vec<String>> {
    let mut bytes = vec![];
    input.read_at(0, input.len() as usize, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes)
        .split_whitespace()
        .map(str::to_string)
        .collect())
}

/// A directory of logs and a lake.
struct Bench {
    directory: tempfile::TempDir,
    lake: Lake,
}

const SOURCE: &[&dyn Source] = &[&MountList];

impl Bench {
    fn new() -> Self {
        Self::with(&CreateOptions::default())
    }

    fn with(options: &CreateOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("logs")).unwrap();
        let lake = Lake::create(directory.path().join("lake"), options).unwrap();
        Self { directory, lake }
    }

    fn logs(&self) -> PathBuf {
        self.directory.path().join("logs")
    }

    fn log(&self, name: &str, text: &str) {
        fs::write(self.logs().join(name), text).unwrap();
    }

    fn options(&self) -> IngestOptions<'static> {
        IngestOptions {
            paths: vec![self.logs().into()],
            sources: SOURCE,
            threads: 2,
            ..IngestOptions::default()
        }
    }

    fn ingest(&self) -> IngestReport {
        self.lake.ingest(&self.options(), &Silent).unwrap()
    }

    /// (job, mount point) of all rows, in the order of the files.
    fn rows(&self) -> Vec<(i64, String)> {
        rows(&self.lake)
    }

    fn statuses(&self) -> Vec<(String, &'static str, String)> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
        let inputs = self.lake.snapshot(None).unwrap().inputs().unwrap();
        inputs
            .iter()
            .map(|row| {
                (
                    name(&row.path),
                    row.status.name(),
                    row.error.clone().unwrap_or_default(),
                )
            })
            .collect()
    }
}

fn rows(lake: &Lake) -> Vec<(i64, String)> {
    let snapshot = lake.snapshot(None).unwrap();
    let mut rows = vec![];
    for file in snapshot.files() {
        for batch in super::file::data_reader::read_data(lake.store(), &file.path, 1000).unwrap() {
            let batch = batch.unwrap();
            let jobs = batch.column(1).as_primitive::<Int64Type>().values();
            rows.extend(
                jobs.iter().copied().zip(
                    batch
                        .column(3)
                        .as_string::<i32>()
                        .iter()
                        .map(|s| s.unwrap().to_string()),
                ),
            );
        }
    }
    rows
}

fn row(job: i64, name: &str) -> (i64, String) {
    (job, name.to_string())
}
