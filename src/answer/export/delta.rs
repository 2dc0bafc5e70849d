//! Exports as Delta tables, which Spark, Polars and delta-rs open: a directory a table, with a log of one commit.
//!
//! Format: the Delta transaction log protocol, reader version 1 and writer version 2. Delta has no unsigned integers: columns of them are Int64 with the same bits.

use super::target::Target;
use crate::error::{Error, Result};
use crate::lake::DataFile;
use crate::table::Table;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema, UInt64Type};
use arrow::record_batch::RecordBatch;
use serde_json::{Value, json};
use std::sync::Arc;

/// The table with signed columns in the place of unsigned ones.
pub(super) fn signed(table: &Table) -> Table {
    let fields = table
        .schema
        .fields()
        .iter()
        .map(|field| match field.data_type() {
            DataType::UInt64 => Arc::new(field.as_ref().clone().with_data_type(DataType::Int64)),
            _ => field.clone(),
        });
    Table {
        schema: Arc::new(Schema::new(fields.collect::<Fields>())),
        ..table.clone()
    }
}

/// Rows of a table as those of its [`signed`] one: the same bits.
///
/// # Errors
/// [`Error::Columns`] if they are no rows of it.
pub(super) fn signed_rows(table: &Table, rows: &RecordBatch) -> Result<RecordBatch> {
    let columns = rows
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::UInt64 => {
                let values = column.as_primitive::<UInt64Type>();
                let bits = ScalarBuffer::<i64>::from(values.values().inner().clone());
                Arc::new(Int64Array::new(bits, column.nulls().cloned())) as ArrayRef
            }
            _ => column.clone(),
        });
    RecordBatch::try_new(table.schema.clone(), columns.collect())
        .map_err(|e| Error::columns(&*table.name, e))
}

/// Writes the log of a table that has these files.
///
/// # Errors
/// [`Error::Io`]; [`Error::Invalid`] for a type that Delta lacks.
pub(super) fn write_log(
    target: &Target,
    table: &Table,
    files: &[&DataFile],
    time: i64,
) -> Result<()> {
    let fields = table.schema.fields().iter().zip(&table.columns);
    let fields = fields
        .map(|(field, column)| self::field(field, json!({ "comment": column.doc })))
        .collect::<Result<Vec<Value>>>()?;
    let schema = json!({ "type": "struct", "fields": fields }).to_string();
    let mut actions = vec![
        json!({ "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 } }),
        json!({ "metaData": {
            "id": uuid::Uuid::new_v4().to_string(), "name": table.name, "description": table.doc,
            "format": { "provider": "parquet", "options": {} }, "schemaString": schema,
            "partitionColumns": [], "configuration": {}, "createdTime": time,
        } }),
    ];
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let stats = json!({ "numRecords": file.rows }).to_string();
        actions.push(json!({ "add": {
            "path": name, "partitionValues": {}, "size": file.bytes, "modificationTime": time, "dataChange": true, "stats": stats,
        } }));
    }
    actions.push(json!({ "commitInfo": {
        "timestamp": time, "operation": "WRITE", "operationParameters": {}, "engineInfo": concat!("iolode/", env!("CARGO_PKG_VERSION")),
    } }));
    let lines: Vec<String> = actions.iter().map(|action| format!("{action}\n")).collect();
    target.write(
        &format!("{}/_delta_log/{:020}.json", table.name, 0),
        &lines.concat(),
    )
}

/// A field of a schema as Delta writes it.
fn field(field: &Field, metadata: Value) -> Result<Value> {
    let kind = of_type(field.data_type())?;
    Ok(
        json!({ "name": field.name(), "type": kind, "nullable": field.is_nullable(), "metadata": metadata }),
    )
}

fn of_type(kind: &DataType) -> Result<Value> {
    Ok(match kind {
        DataType::Int32 => "integer".into(),
        DataType::Int64 => "long".into(),
        DataType::Float64 => "double".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Utf8 => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Timestamp(..) => "timestamp".into(),
        DataType::List(item) => {
            json!({ "type": "array", "elementType": of_type(item.data_type())?, "containsNull": item.is_nullable() })
        }
        DataType::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|inner| field(inner, json!({})))
                .collect::<Result<Vec<_>>>()?;
            json!({ "type": "struct", "fields": fields })
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(entry) if entry.len() == 2 => json!({
                "type": "map", "keyType": of_type(entry[0].data_type())?, "valueType": of_type(entry[1].data_type())?,
                "valueContainsNull": entry[1].is_nullable(),
            }),
            other => return Err(lacks(other)),
        },
        other => return Err(lacks(other)),
    })
}

fn lacks(kind: &DataType) -> Error {
    Error::Invalid(format!("Delta has no type for {kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tables;

    #[test]
    fn every_table_has_a_schema_in_delta() {
        for table in tables() {
            for column in signed(table).schema.fields() {
                field(column, json!({}))
                    .unwrap_or_else(|e| panic!("{}.{}: {e}", table.name, column.name()));
            }
        }
    }
}
