//! Comma- and tab-separated values.

use super::writer::{RowWriter, Sink, as_schema};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::csv::{Writer, WriterBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

/// Values between separators, quoted where they hold one, a quote or a line's end. NULL is empty, as is empty text. Lists and
/// structs are one value, as `table` shows them.
struct Separated<'a> {
    writer: Writer<Sink<'a>>,
    schema: SchemaRef,
}

pub(super) fn open<'a>(
    sink: Sink<'a>,
    schema: &SchemaRef,
    separator: u8,
) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
    let fields = schema.fields().iter().map(|field| match is_nested(field) {
        true => Field::new(field.name(), DataType::Utf8, true),
        false => field.as_ref().clone(),
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut separated = Separated {
        writer: WriterBuilder::new().with_delimiter(separator).build(sink),
        schema: schema.clone(),
    };
    // The header, also where no row follows.
    separated.writer.write(&RecordBatch::new_empty(schema))?;
    Ok(Box::new(separated))
}

fn is_nested(field: &Field) -> bool {
    field.data_type().is_nested()
}

impl RowWriter for Separated<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        let mut batch = batch.clone();
        if batch
            .columns()
            .iter()
            .any(|column| column.data_type().is_nested())
        {
            let columns = batch
                .columns()
                .iter()
                .map(shown)
                .collect::<anyhow::Result<Vec<_>>>()?;
            let names = batch.schema();
            let columns = names
                .fields()
                .iter()
                .zip(columns)
                .map(|(field, column)| (field.name(), column, true));
            batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        }
        Ok(self.writer.write(&as_schema(&batch, &self.schema)?)?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<Option<String>> {
        Ok(None)
    }
}

/// A nested column as text, any other as it is.
fn shown(column: &ArrayRef) -> anyhow::Result<ArrayRef> {
    if !column.data_type().is_nested() {
        return Ok(column.clone());
    }
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let text = (0..column.len()).map(|row| {
        (!column.is_null(row))
            .then(|| formatter.value(row).try_to_string())
            .transpose()
    });
    Ok(Arc::new(text.collect::<Result<StringArray, _>>()?))
}
