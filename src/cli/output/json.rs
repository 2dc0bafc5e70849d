//! JSON: one array, or one object on each line.

use super::writer::{RowWriter, Sink, as_schema, distinct_names, plain_type};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::{JsonArray, LineDelimited, Writer};

/// One array of objects.
pub(super) struct Array<'a> {
    writer: Writer<Sink<'a>, JsonArray>,
    schema: SchemaRef,
}

/// One object on each line.
pub(super) struct Lines<'a> {
    writer: Writer<Sink<'a>, LineDelimited>,
    schema: SchemaRef,
}

/// Every key stands in every object: NULL is `null`.
fn builder() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true)
}

fn with_ids_as_text(schema: &SchemaRef) -> SchemaRef {
    distinct_names(schema, |field| plain_type(field, &id_as_text))
}

fn id_as_text(field: &Field) -> Option<DataType> {
    match field.data_type() {
        DataType::UInt64 => Some(DataType::Utf8),
        DataType::Int64 if is_id(field.name()) => Some(DataType::Utf8),
        _ => None,
    }
}

/// Whether a column holds ids, by its name; see the module above.
fn is_id(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = name
        .trim_end_matches([')', '"'])
        .rsplit(|c| !is_word(c))
        .next()
        .unwrap_or_default();
    let counts = name.starts_with("count(") || name.starts_with("approx_distinct(");
    !counts && (word == "id" || word.ends_with("_id") || word.ends_with("_hash"))
}

impl<'a> Array<'a> {
    pub(super) fn new(sink: Sink<'a>, schema: &SchemaRef) -> Self {
        Self {
            writer: builder().build(sink),
            schema: with_ids_as_text(schema),
        }
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(sink: Sink<'a>, schema: &SchemaRef) -> Self {
        Self {
            writer: builder().build(sink),
            schema: with_ids_as_text(schema),
        }
    }
}

impl RowWriter for Array<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&as_schema(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.writer.finish()?;
        self.writer.into_inner().write_all(b"\n")?;
        Ok(None)
    }
}

impl RowWriter for Lines<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&as_schema(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.writer.finish()?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_an_id_by_the_last_word_of_its_name() {
        for id in [
            "log_id",
            "record_id",
            "job_id",
            "id",
            "content_hash",
            "max(darshan_log.log_id)",
            "\"Job_ID\"",
        ] {
            assert!(is_id(id), "{id}");
        }
        for other in [
            "uid",
            "bytes",
            "paid",
            "count(DISTINCT darshan_log.log_id)",
            "log_id + Int64(1)",
            "ids",
            "",
        ] {
            assert!(!is_id(other), "{other}");
        }
    }
}
