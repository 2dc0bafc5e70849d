//! Rows of an answer as Rust values.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::text::shown;
use datafusion::arrow::json::LineDelimitedWriter;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The rows of a query, each as a `T` whose fields have the names of columns; columns that are NULL are left out.
/// Text is escaped, for pages print it: names of files and programs come from logs.
///
/// # Errors
/// Those of the query; [`Error::Invalid`] if a row is no `T`.
pub(super) async fn rows<T: DeserializeOwned>(engine: &Engine, sql: &str) -> Result<Vec<T>> {
    let batches = engine.run(sql).await?.collect().await?;
    let bad =
        |why: String| Error::Invalid(format!("an answer has another form than expected: {why}"));
    let mut writer = LineDelimitedWriter::new(vec![]);
    writer
        .write_batches(&batches.iter().collect::<Vec<_>>())
        .and_then(|()| writer.finish())
        .map_err(|e| bad(e.to_string()))?;
    let text = writer.into_inner();
    let rows = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
    rows.map(|row| serde_json::from_value(escaped(row?)))
        .collect::<serde_json::Result<_>>()
        .map_err(|e| bad(e.to_string()))
}

/// Whether a query has a row.
///
/// # Errors
/// Those of the query.
pub(super) async fn has_rows(engine: &Engine, sql: &str) -> Result<bool> {
    #[derive(Deserialize)]
    struct Any {}
    let any: Vec<Any> = rows(engine, sql).await?;
    Ok(!any.is_empty())
}

/// A value with all text in it escaped.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(escaped).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, value)| (name, escaped(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_row_is_escaped_wherever_it_stands() {
        let row = serde_json::json!({"app": "a\u{1b}[2J\n", "n": 7, "files": [{"path": "/\u{202e}"}], "none": null});
        let expected = serde_json::json!({"app": "a\\x1b[2J\\n", "n": 7, "files": [{"path": "/\\u{202e}"}], "none": null});
        assert_eq!(escaped(row), expected);
    }
}
