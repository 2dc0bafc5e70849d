//! A table as Markdown.

use super::writer::{RowWriter, Sink};
use crate::answer::markdown::escaped;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// A row on a line, between bars; numbers to the right. NULL is empty.
struct Markdown<'a> {
    sink: Sink<'a>,
}

pub(super) fn open<'a>(
    sink: Sink<'a>,
    schema: &SchemaRef,
) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
    let names = schema.fields().iter().map(|field| escaped(field.name()));
    let rules = schema.fields().iter().map(|field| {
        let rule = if field.data_type().is_numeric() {
            "---:"
        } else {
            "---"
        };
        rule.to_string()
    });
    line(sink, names.collect())?;
    line(sink, rules.collect())?;
    Ok(Box::new(Markdown { sink }))
}

fn line(sink: Sink<'_>, cells: Vec<String>) -> std::io::Result<()> {
    writeln!(sink, "| {} |", cells.join(" | "))
}

impl RowWriter for Markdown<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        let options = FormatOptions::default();
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| {
                let text = column.value(row).try_to_string()?;
                Ok(escaped(&crate::text::shown(&text)))
            });
            let cells = cells.collect::<anyhow::Result<Vec<_>>>()?;
            line(self.sink, cells)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<Option<String>> {
        Ok(None)
    }
}
