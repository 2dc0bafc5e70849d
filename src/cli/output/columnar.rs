//! Arrow streams and files, and Parquet files.

use super::writer::{RowWriter, Sink, as_schema, distinct_names, plain_type};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;

/// Bytes of a row group that are held in memory before it is written.
const ROW_GROUP: usize = 32 << 20;

struct ArrowStream<'a> {
    writer: StreamWriter<Sink<'a>>,
    schema: SchemaRef,
}

struct ArrowFile<'a> {
    writer: FileWriter<Sink<'a>>,
    schema: SchemaRef,
}

struct Parquet<'a> {
    writer: ArrowWriter<Sink<'a>>,
    schema: SchemaRef,
}

/// The IPC stream, which can be read from a pipe (`pyarrow.ipc.open_stream`).
pub(super) fn arrow_stream<'a>(
    sink: Sink<'a>,
    schema: &SchemaRef,
) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
    let schema = plain(schema);
    let writer = StreamWriter::try_new(sink, &schema)?;
    Ok(Box::new(ArrowStream { writer, schema }))
}

/// The IPC file, which has a footer (`pyarrow.ipc.open_file`, `polars.read_ipc`, `pandas.read_feather`).
pub(super) fn arrow_file<'a>(
    sink: Sink<'a>,
    schema: &SchemaRef,
) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
    let schema = plain(schema);
    let writer = FileWriter::try_new(sink, &schema)?;
    Ok(Box::new(ArrowFile { writer, schema }))
}

/// One file, zstd level 3, as the lake's own.
pub(super) fn parquet<'a>(
    sink: Sink<'a>,
    schema: &SchemaRef,
) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
    let schema = distinct_names(schema, |field| plain_type(field, &of_parquet));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties))?;
    Ok(Box::new(Parquet { writer, schema }))
}

/// Parquet has no times in seconds: written as such they would be numbers.
fn of_parquet(field: &Field) -> Option<DataType> {
    match field.data_type() {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Some(DataType::Timestamp(TimeUnit::Millisecond, zone.clone()))
        }
        _ => None,
    }
}

fn plain(schema: &SchemaRef) -> SchemaRef {
    distinct_names(schema, |field| plain_type(field, &|_| None))
}

impl RowWriter for ArrowStream<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&as_schema(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.writer.finish()?;
        Ok(None)
    }
}

impl RowWriter for ArrowFile<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&as_schema(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.writer.finish()?;
        Ok(None)
    }
}

impl RowWriter for Parquet<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        self.writer.write(&as_schema(batch, &self.schema)?)?;
        if self.writer.in_progress_size() > ROW_GROUP {
            self.writer.flush()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.writer.close()?;
        Ok(None)
    }
}
