//! Rows of an answer as Rust values.

use crate::engine::Engine;
use crate::error::{Error, Result};
use datafusion::arrow::json::LineDelimitedWriter;
use serde::de::DeserializeOwned;

/// The rows of a query, each as a `T` whose fields have the names of columns; columns that are NULL are left out.
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
    serde_json::Deserializer::from_slice(&text)
        .into_iter()
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| bad(e.to_string()))
}
