//! The lists that a manifest refers to, as Parquet: data files, inputs.

use super::manifest::{ListFile, go_back};
use super::store::Store;
use crate::error::{Error, Result};
use crate::source::{Period, SOURCES, Status};
use crate::table::{TableBuilder, table};
use arrow::array::{Array, AsArray, BooleanArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// One Parquet file of the lake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Table whose rows it holds.
    pub table: String,
    /// Path below the lake, or absolute where it was placed elsewhere.
    pub path: String,
    /// Number of its range of job ids; None for a table cut by day.
    pub range: Option<usize>,
    /// File system and day, in days since 1970, of a table cut by these.
    pub day: Option<(String, i64)>,
    /// Target on which it was placed.
    pub ost: Option<i64>,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// Least and greatest job id.
    pub job_id: Option<(i64, i64)>,
    /// Earliest and latest start time, microseconds since 1970.
    pub start_time: Option<(i64, i64)>,
    /// Earliest and latest `time`, microseconds since 1970.
    pub time: Option<(i64, i64)>,
    /// Version of the table's schema.
    pub schema_version: u32,
    /// Lake version that wrote it.
    pub version: u64,
    /// XXH3 of its bytes.
    pub content_hash: Option<i64>,
    /// How its rows are laid out: groups, encodings. One more whenever writing anew makes files faster to read.
    pub layout: u32,
}

/// One input and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRow {
    /// Where it lies.
    #[serde(with = "super::shared_text")]
    pub path: Arc<str>,
    /// Kind of input; that which was looked for where it was not recognised, None if that was any.
    pub source: Option<Cow<'static, str>>,
    /// What became of it.
    pub status: InputStatus,
    /// Why.
    pub error: Option<String>,
    /// Size in bytes.
    pub bytes: u64,
    /// When it was last changed, microseconds since 1970.
    pub modified: i64,
    /// XXH3 of its bytes, if it could be read.
    pub content_hash: Option<i64>,
    /// Job id of a Darshan log.
    pub job_id: Option<i64>,
    /// Start of a Darshan log, microseconds since 1970.
    pub start_time: Option<i64>,
    /// Whether the DXT modules were taken.
    pub dxt: bool,
    /// What was taken of a dump.
    pub period: Period,
    /// Version of the reader; 0 of a dump some of whose rows were forgotten.
    pub reader_version: u32,
    /// Lake version that took it.
    pub version: u64,
    /// Number of the settings with which its rows were read ([`crate::lake::SiteFile::reading_hash`]).
    pub settings: Option<i64>,
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum InputStatus {
    /// Taken in whole.
    Ok,
    /// Taken in; its writer had left things out.
    Partial,
    /// What could be read of it was taken in.
    Damaged,
    /// Nothing was taken in.
    Failed,
    /// No log that iolode knows, or the same bytes came from another path.
    Skipped,
}

/// What `lake_input.error` says of a log that `lake forget --before` removed, and of its copies.
pub(in crate::lake) const FORGOTTEN: &str = "forgotten: older than what the lake keeps";

/// What `lake_input.error` says of an input that `lake forget` without a date removed.
pub(in crate::lake) const TAKEN_BACK: &str = "forgotten";

impl InputRow {
    /// Whether it was forgotten for good: no ingest takes these bytes in again, whatever their file's path and time.
    pub(in crate::lake) fn is_forgotten(&self) -> bool {
        self.status == InputStatus::Skipped && self.error.as_deref() == Some(FORGOTTEN)
    }

    /// Whether the next ingest takes it in anew, as if the lake had never seen it.
    pub(in crate::lake) fn is_taken_back(&self) -> bool {
        self.status == InputStatus::Skipped && self.error.as_deref() == Some(TAKEN_BACK)
    }

    /// Whether its bytes could not be had, for a reason that may pass: it has neither size nor time, so that each ingest tries it again.
    pub(in crate::lake) fn is_unread(&self) -> bool {
        self.status == InputStatus::Failed && (self.bytes, self.modified) == (0, 0)
    }

    /// Whether it is nothing that iolode knows.
    pub(in crate::lake) fn is_no_log(&self) -> bool {
        self.status == InputStatus::Skipped && self.content_hash.is_none() && !self.is_forgotten()
    }

    /// Whether it is a dump of which rows are in the lake.
    pub(in crate::lake) fn is_dump(&self) -> bool {
        self.status.has_rows() && self.job_id.is_none()
    }

    /// Whether `lake forget --before` removed rows of this dump: an ingest with `--refresh` takes it in again, as what an older reader has read.
    pub(in crate::lake) fn is_incomplete(&self) -> bool {
        self.is_dump() && self.reader_version == 0
    }

    /// It as a dump of which rows were forgotten.
    pub(in crate::lake) fn incomplete(self) -> Self {
        Self {
            reader_version: 0,
            ..self
        }
    }
}

impl InputStatus {
    const ALL: [Self; 5] = [
        Self::Ok,
        Self::Partial,
        Self::Damaged,
        Self::Failed,
        Self::Skipped,
    ];

    /// The word in `lake_input.status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Damaged => "damaged",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether rows of it are in the lake.
    pub fn has_rows(self) -> bool {
        matches!(self, Self::Ok | Self::Partial | Self::Damaged)
    }
}

impl From<Status> for InputStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Ok => Self::Ok,
            Status::Partial => Self::Partial,
            Status::Damaged => Self::Damaged,
        }
    }
}

/// Data files as rows of `lake_file`; `splits` are the lake's.
///
/// # Errors
/// [`Error::Columns`] if they do not fit the schema.
pub fn files_to_batch(files: &[DataFile], splits: &[i64]) -> Result<RecordBatch> {
    let mut builder = TableBuilder::new(table("lake_file")?);
    for file in files {
        let number = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
        let start = file
            .range
            .and_then(|r| splits.get(r.checked_sub(1)?).copied());
        let end = file.range.and_then(|r| splits.get(r).copied());
        builder.column(0).utf8().append_value(&file.table);
        builder.column(1).utf8().append_value(&file.path);
        builder.column(2).int64().push(file.range.map(|r| r as i64));
        builder.column(3).int64().push(start);
        builder.column(4).int64().push(end);
        builder.column(5).int64().push(file.ost);
        builder.column(6).int64().push(number(file.rows));
        builder.column(7).int64().push(number(file.bytes));
        builder.column(8).int64().push(file.job_id.map(|j| j.0));
        builder.column(9).int64().push(file.job_id.map(|j| j.1));
        builder
            .column(10)
            .timestamp()
            .push(file.start_time.map(|t| t.0));
        builder
            .column(11)
            .timestamp()
            .push(file.start_time.map(|t| t.1));
        builder
            .column(12)
            .int64()
            .push(i64::from(file.schema_version));
        builder.column(13).int64().push(number(file.version));
        builder.column(14).int64().push(file.content_hash);
        let day = file.day.as_ref();
        builder
            .column(15)
            .utf8()
            .append_option(day.map(|(fs, _)| fs));
        builder
            .column(16)
            .utf8()
            .append_option(day.map(|(_, day)| day_name(*day)));
        builder.column(17).timestamp().push(file.time.map(|t| t.0));
        builder.column(18).timestamp().push(file.time.map(|t| t.1));
        builder
            .column(19)
            .int64()
            .push(Some(i64::from(file.layout)));
    }
    builder.finish()
}

/// The way back from [`files_to_batch`].
pub fn batch_to_files(batch: &RecordBatch, into: &mut Vec<DataFile>) -> Result<()> {
    let columns = Columns::new(batch, "lake_file")?;
    into.extend((0..batch.num_rows()).map(|row| columns.file(row)));
    Ok(())
}

/// Column of a list of data files that says whether a file is gone since.
const GONE: &str = "gone";

/// A list of data files as a manifest refers to it: rows of `lake_file`, and whether the file is gone since. The range of a file is
/// that of its least job id, so it is not written: a cut of the ranges leaves the list as it is.
///
/// # Errors
/// [`Error::Columns`] if they do not fit the schema.
pub(in crate::lake) fn entries_to_batch(entries: &[(DataFile, bool)]) -> Result<RecordBatch> {
    let files: Vec<DataFile> = entries
        .iter()
        .map(|(file, _)| DataFile {
            range: None,
            ..file.clone()
        })
        .collect();
    let rows = files_to_batch(&files, &[])?;
    let mut fields = rows.schema().fields().to_vec();
    fields.push(Arc::new(Field::new(GONE, DataType::Boolean, false)));
    let gone: BooleanArray = entries.iter().map(|(_, gone)| Some(*gone)).collect();
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(gone));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|e| Error::columns("a list of data files", e))
}

/// The way back from [`entries_to_batch`], of the tables and least job ids that are wanted.
pub(in crate::lake) fn batch_to_entries(
    batch: &RecordBatch,
    wanted: impl Fn(&str, Option<i64>) -> bool,
    into: &mut Vec<(DataFile, bool)>,
) -> Result<()> {
    let last = batch.num_columns().saturating_sub(1);
    let gone = batch.column_by_name(GONE).and_then(|c| c.as_boolean_opt());
    let gone = gone.ok_or_else(|| Error::Invalid("a list of data files lacks a column".into()))?;
    let rows = batch.project(&(0..last).collect::<Vec<_>>());
    let rows = rows.map_err(|e| Error::columns("a list of data files", e))?;
    let columns = Columns::new(&rows, "lake_file")?;
    for row in 0..rows.num_rows() {
        if wanted(
            columns.text(0, row).unwrap_or_default(),
            columns.int(8, row),
        ) {
            into.push((columns.file(row), gone.value(row)));
        }
    }
    Ok(())
}

/// A day as file names and `lake_file` write it.
pub(in crate::lake) fn day_name(day: i64) -> String {
    let date = chrono::DateTime::from_timestamp(day.saturating_mul(86_400), 0);
    date.map_or_else(
        || day.to_string(),
        |date| date.format("%Y-%m-%d").to_string(),
    )
}

fn day_number(name: &str) -> Option<i64> {
    let date: chrono::NaiveDate = name.parse().ok()?;
    Some(
        date.and_time(chrono::NaiveTime::MIN)
            .and_utc()
            .timestamp()
            .div_euclid(86_400),
    )
}

/// Inputs as rows of `lake_input`.
///
/// # Errors
/// [`Error::Columns`] if they do not fit the schema.
pub fn inputs_to_batch(
    inputs: impl IntoIterator<Item = impl Borrow<InputRow>>,
) -> Result<RecordBatch> {
    let mut builder = TableBuilder::new(table("lake_input")?);
    for input in inputs {
        let input: &InputRow = input.borrow();
        builder.column(0).utf8().append_value(&input.path);
        builder
            .column(1)
            .utf8()
            .append_option(input.source.as_deref());
        builder.column(2).utf8().append_value(input.status.name());
        builder
            .column(3)
            .utf8()
            .append_option(input.error.as_deref());
        builder
            .column(4)
            .int64()
            .push(i64::try_from(input.bytes).unwrap_or(i64::MAX));
        builder.column(5).timestamp().push(input.modified);
        builder.column(6).int64().push(input.content_hash);
        builder.column(7).int64().push(input.job_id);
        builder.column(8).timestamp().push(input.start_time);
        let taken =
            input
                .status
                .has_rows()
                .then_some(if input.dxt { "with dxt" } else { "default" });
        builder.column(9).utf8().append_option(taken);
        builder
            .column(10)
            .int64()
            .push(i64::from(input.reader_version));
        builder
            .column(11)
            .int64()
            .push(i64::try_from(input.version).unwrap_or(i64::MAX));
        builder.column(12).timestamp().push(input.period.from);
        builder.column(13).timestamp().push(input.period.to);
        builder.column(14).int64().push(input.settings);
    }
    builder.finish()
}

/// The way back from [`inputs_to_batch`].
pub fn batch_to_inputs(batch: &RecordBatch, mut each: impl FnMut(InputRow)) -> Result<()> {
    check_inputs(batch)?;
    (0..batch.num_rows()).for_each(|row| each(input_of(batch, row)));
    Ok(())
}

/// Refuses a batch that holds no inputs.
pub(in crate::lake) fn check_inputs(batch: &RecordBatch) -> Result<()> {
    Columns::new(batch, "lake_input").map(|_| ())
}

/// A row of a batch that [`check_inputs`] has passed.
pub(in crate::lake) fn input_of(batch: &RecordBatch, row: usize) -> InputRow {
    Columns(batch).input(row)
}

/// Rows of a page of a list: the least that is read of it.
pub(in crate::lake) const PAGE: usize = 1024;

/// How a list is written. Paths differ in each row, and a reader of some pages would have to read all of their dictionary.
///
/// # Errors
/// [`Error::Columns`].
pub(in crate::lake) fn properties() -> Result<WriterPropertiesBuilder> {
    let zstd = ZstdLevel::try_new(3).map_err(|e| Error::columns("a list", e))?;
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_write_batch_size(PAGE)
        .set_data_page_row_count_limit(PAGE)
        .set_column_dictionary_enabled("path".into(), false))
}

/// Writes a list durably under a new name; `kind` begins the name.
///
/// # Errors
/// [`Error::Io`], [`Error::Columns`].
pub(in crate::lake) fn write_list(
    store: &Store,
    kind: &str,
    properties: WriterPropertiesBuilder,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
) -> Result<Option<ListFile>> {
    let mut batches = batches.into_iter();
    let Some(first) = batches.next().transpose()? else {
        return Ok(None);
    };
    let path = format!("_iolode/part/{kind}-{}.parquet", uuid::Uuid::new_v4());
    let failed = |e| Error::columns(path.clone(), e);
    let properties = properties.build();
    let mut writer =
        ArrowWriter::try_new(vec![], first.schema(), Some(properties)).map_err(failed)?;
    let mut rows = 0;
    for batch in std::iter::once(Ok(first)).chain(batches) {
        let batch = batch?;
        writer.write(&batch).map_err(failed)?;
        rows += batch.num_rows() as u64;
    }
    let bytes = writer.into_inner().map_err(failed)?;
    // Nobody else has this name: what is there although the store says that something was there before is this list.
    if !store.put_if_absent(&path, &bytes)? {
        if store.read(&path)?.is_none_or(|found| found != bytes) {
            return Err(Error::Conflict {
                lake: store.show(""),
                reason: format!("{path} exists already"),
            });
        }
        store.sync_name(&path)?;
    }
    Ok(Some(ListFile {
        path,
        rows,
        checksum: xxh3_64(&bytes) as i64,
        level: 0,
        paths: None,
        undated: 0,
    }))
}

/// Reads a list, batch by batch.
///
/// # Errors
/// [`Error::Lake`] if it is missing, [`Error::Columns`] if it cannot be read.
pub(in crate::lake) fn read_list(
    store: &Store,
    part: &ListFile,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let bytes = list_bytes(store, part)?;
    let failed = |e| Error::columns(part.path.clone(), e);
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(failed)?;
    let batches = builder.with_batch_size(16_384).build().map_err(failed)?;
    let path = part.path.clone();
    Ok(batches.map(move |batch| batch.map_err(|e| Error::columns(path.clone(), e))))
}

/// The bytes of a list.
///
/// # Errors
/// [`Error::Lake`] if it is missing or damaged.
pub(in crate::lake) fn list_bytes(store: &Store, part: &ListFile) -> Result<Bytes> {
    let wrong = |what: &str| {
        let remedy = go_back(store, |version| !version.has_list(&part.path));
        Error::Lake {
            lake: store.show(""),
            reason: format!("{} {what}; {remedy}", part.path),
        }
    };
    let bytes = store.read(&part.path)?;
    let bytes = bytes.ok_or_else(|| wrong("is missing"))?;
    match xxh3_64(&bytes) as i64 == part.checksum {
        true => Ok(bytes),
        false => Err(wrong(
            "is damaged: its bytes are not those that were written",
        )),
    }
}

/// Columns of a list by their place in the schema.
struct Columns<'a>(&'a RecordBatch);

impl<'a> Columns<'a> {
    fn new(batch: &'a RecordBatch, name: &str) -> Result<Self> {
        let expected = &table(name)?.schema;
        let same = batch.num_columns() <= expected.fields().len()
            && batch
                .schema()
                .fields()
                .iter()
                .zip(expected.fields())
                .all(|(a, b)| a.name() == b.name() && a.data_type() == b.data_type());
        match same {
            true => Ok(Self(batch)),
            false => Err(Error::Invalid(format!(
                "a list of the lake has other columns than {name}"
            ))),
        }
    }

    fn file(&self, row: usize) -> DataFile {
        let pair = |a: Option<i64>, b: Option<i64>| a.zip(b);
        DataFile {
            table: self.text(0, row).unwrap_or_default().to_string(),
            path: self.text(1, row).unwrap_or_default().to_string(),
            range: self.int(2, row).and_then(|r| usize::try_from(r).ok()),
            ost: self.int(5, row),
            rows: self.int(6, row).unwrap_or(0) as u64,
            bytes: self.int(7, row).unwrap_or(0) as u64,
            job_id: pair(self.int(8, row), self.int(9, row)),
            start_time: pair(self.time(10, row), self.time(11, row)),
            day: self
                .text(15, row)
                .map(str::to_string)
                .zip(self.text(16, row).and_then(day_number)),
            time: pair(self.time(17, row), self.time(18, row)),
            schema_version: self.int(12, row).unwrap_or(0) as u32,
            version: self.int(13, row).unwrap_or(0) as u64,
            content_hash: self.int(14, row),
            // Before it was recorded there was one.
            layout: self.int(19, row).unwrap_or(1) as u32,
        }
    }

    fn input(&self, row: usize) -> InputRow {
        let status = self.text(2, row).unwrap_or_default();
        InputRow {
            path: self.text(0, row).unwrap_or_default().into(),
            source: self.text(1, row).map(source_name),
            status: InputStatus::ALL
                .into_iter()
                .find(|s| s.name() == status)
                .unwrap_or(InputStatus::Failed),
            error: self.text(3, row).map(str::to_string),
            bytes: self.int(4, row).unwrap_or(0) as u64,
            modified: self.time(5, row).unwrap_or(0),
            content_hash: self.int(6, row),
            job_id: self.int(7, row),
            start_time: self.time(8, row),
            dxt: self.text(9, row) == Some("with dxt"),
            reader_version: self.int(10, row).unwrap_or(0) as u32,
            version: self.int(11, row).unwrap_or(0) as u64,
            period: Period {
                from: self.time(12, row),
                to: self.time(13, row),
            },
            settings: self.int(14, row),
        }
    }

    fn text(&self, column: usize, row: usize) -> Option<&'a str> {
        let values = self.0.columns().get(column)?.as_string_opt::<i32>()?;
        values.is_valid(row).then(|| values.value(row))
    }

    fn int(&self, column: usize, row: usize) -> Option<i64> {
        let values = self
            .0
            .columns()
            .get(column)?
            .as_primitive_opt::<Int64Type>()?;
        values.is_valid(row).then(|| values.value(row))
    }

    fn time(&self, column: usize, row: usize) -> Option<i64> {
        let values = self
            .0
            .columns()
            .get(column)?
            .as_primitive_opt::<TimestampMicrosecondType>()?;
        values.is_valid(row).then(|| values.value(row))
    }
}

/// The name of a kind of log: as a rule one that this program knows, which then takes no memory for each input.
fn source_name(name: &str) -> Cow<'static, str> {
    let known = SOURCES.iter().find(|source| source.name() == name);
    known.map_or_else(
        || Cow::Owned(name.to_string()),
        |source| source.name().into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn lists_come_back_as_they_were_written() {
        let store = Store::Memory(Arc::new(InMemory::new()));
        let file = DataFile {
            table: "darshan_log".into(),
            path: "darshan_log/000001-x.parquet".into(),
            range: Some(1),
            ost: Some(7),
            rows: 3,
            bytes: 4,
            job_id: Some((10, 20)),
            start_time: None,
            day: Some(("snx11168".into(), 17_559)),
            time: Some((5, 6)),
            schema_version: 1,
            version: 2,
            content_hash: Some(-3),
            layout: 7,
        };
        let input = InputRow {
            path: "/a/ü.darshan".into(),
            source: Some("darshan".into()),
            status: InputStatus::Damaged,
            error: Some("POSIX region: \"cut\"".into()),
            bytes: 99,
            modified: 1_500_000_000_000_001,
            content_hash: Some(-5),
            job_id: Some(10),
            start_time: Some(1),
            dxt: true,
            period: Period {
                from: Some(7),
                to: None,
            },
            reader_version: 1,
            version: 2,
            settings: Some(-9),
        };
        let part = write_list(
            &store,
            "file",
            properties().unwrap(),
            [files_to_batch(std::slice::from_ref(&file), &[10, 30])],
        )
        .unwrap()
        .unwrap();
        let (mut files, mut inputs) = (vec![], vec![]);
        for batch in read_list(&store, &part).unwrap() {
            batch_to_files(&batch.unwrap(), &mut files).unwrap();
        }
        assert_eq!(files, [file]);
        let rows = [inputs_to_batch([&input])];
        let part = write_list(&store, "input", properties().unwrap(), rows)
            .unwrap()
            .unwrap();
        for batch in read_list(&store, &part).unwrap() {
            batch_to_inputs(&batch.unwrap(), |row| inputs.push(row)).unwrap();
        }
        assert_eq!(inputs, [input]);
    }
}
