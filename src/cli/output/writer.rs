//! What a format is made of: a writer of rows, and names and types that its files can hold.

use crate::cli::screen::TerminalStyle;
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

/// Where rows are written to.
pub(crate) type Sink<'a> = &'a mut (dyn Write + Send);

/// How a table is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// What the place where it goes can show.
    pub(crate) look: TerminalStyle,
    /// A line for each value instead of one for each row.
    pub(crate) expanded: bool,
    /// How numbers of columns with a unit are written.
    pub(crate) numbers: Numbers,
    /// Whether the rows are those of a file, and not of a pipe: Arrow has a form for each.
    pub(crate) is_file: bool,
    /// Columns of sentences, which take several lines where the terminal is narrow. Columns beside them are names and stay whole.
    pub(crate) sentences: &'static [&'static str],
}

/// How a table writes the numbers of a column whose unit is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// As any others.
    #[default]
    Plain,
    /// Fractions with three digits.
    Rounded,
    /// As people say them: `44.7 GiB`, `12 min 3 s`.
    Human,
}

/// Writes the rows of one result, batch after batch.
pub(crate) trait RowWriter {
    /// Appends rows.
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()>;

    /// Writes what must stand at the end. What was left out for want of room is said in the answer.
    fn finish(self: Box<Self>) -> anyhow::Result<Option<String>>;
}

/// A schema in which no two columns share a name: later ones get `_1`, `_2`, ... `types` gives the type of each output column.
pub(super) fn distinct_names(schema: &Schema, types: impl Fn(&Field) -> DataType) -> SchemaRef {
    let mut taken: HashSet<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut seen = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        let mut name = field.name().clone();
        if !seen.insert(name.clone()) {
            name = (1..)
                .map(|n| format!("{}_{n}", field.name()))
                .find(|name| !taken.contains(name))
                .unwrap_or_default();
            taken.insert(name.clone());
        }
        Field::new(name, types(field), field.is_nullable()).with_metadata(field.metadata().clone())
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The rows with the names and types of another schema of as many columns.
pub(crate) fn as_schema(batch: &RecordBatch, schema: &SchemaRef) -> anyhow::Result<RecordBatch> {
    let convert = |(column, field): (&ArrayRef, &FieldRef)| {
        if column.data_type() == field.data_type() {
            Ok(column.clone())
        } else {
            cast(column, field.data_type())
        }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(convert);
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns.collect::<Result<_, _>>()?,
        &rows,
    )?)
}

/// The type with every part of it changed by `leaf`, and with plain text and bytes in place of views, which older readers lack.
pub(super) fn plain_type(field: &Field, leaf: &impl Fn(&Field) -> Option<DataType>) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        Arc::new(
            field
                .as_ref()
                .clone()
                .with_data_type(plain_type(field, leaf)),
        )
    };
    // An element has the name of its list: what `array_agg(log_id)` holds are ids.
    let element = |item: &FieldRef| -> FieldRef {
        let named = item.as_ref().clone().with_name(field.name());
        Arc::new(
            item.as_ref()
                .clone()
                .with_data_type(plain_type(&named, leaf)),
        )
    };
    match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) | DataType::ListView(item) => DataType::List(element(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(element(item))
        }
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(element(item), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Dictionary(_, value) => {
            plain_type(&field.clone().with_data_type(value.as_ref().clone()), leaf)
        }
        other => leaf(field).unwrap_or_else(|| other.clone()),
    }
}
