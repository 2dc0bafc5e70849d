//! The answer of `SHOW FUNCTIONS`: the users' functions, iolode's, its questions, DataFusion's.

use crate::engine::functions::{AGGREGATE, SCALAR};
use crate::engine::queries::queries;
use crate::error::{Error, Result};
use crate::lake::UserFunction;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::compute::{filter_record_batch, ilike, like};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Documentation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns: the name, whose function it is, what kind it is of, how it is called, and what it gives.
const COLUMNS: [&str; 5] = ["function", "of", "kind", "call", "gives"];

/// One row a function: the users' first, each with its text, then iolode's, then DataFusion's by name.
///
/// # Errors
/// [`Error::Invalid`] for a pattern that cannot be.
pub(super) fn list(
    users: &[(String, UserFunction)],
    state: &SessionState,
    pattern: Option<&(String, bool)>,
) -> Result<RecordBatch> {
    let mut rows: Vec<[String; 5]> = vec![];
    for (keeper, function) in users {
        rows.push([
            function.name.clone(),
            keeper.clone(),
            "scalar".into(),
            function.signature(),
            format!("RETURN {}", function.body),
        ]);
    }
    let pages = SCALAR.iter().map(|function| ("scalar", &function.doc));
    let pages = pages.chain(
        AGGREGATE
            .iter()
            .map(|function| ("aggregate", &function.doc)),
    );
    for (kind, page) in pages {
        let cells = [page.name, "iolode", kind, page.syntax, page.description];
        rows.push(cells.map(str::to_string));
    }
    for query in queries() {
        let (call, doc) = (query.usage(), query.doc.clone());
        rows.push([
            query.name.into(),
            "iolode".into(),
            "table".into(),
            call,
            doc,
        ]);
    }
    rows.extend(foreign(state));
    let column = |at: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|row| &row[at]),
        ))
    };
    let columns = COLUMNS
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, column(at)));
    let batch = RecordBatch::try_from_iter(columns);
    let batch = batch.map_err(|e| Error::columns("functions", e))?;
    let Some((pattern, case)) = pattern else {
        return Ok(batch);
    };
    let scalar = StringArray::new_scalar(pattern.as_str());
    let fits = match case {
        true => like(batch.column(0), &scalar),
        false => ilike(batch.column(0), &scalar),
    };
    fits.and_then(|fits| filter_record_batch(&batch, &fits))
        .map_err(|e| Error::Invalid(format!("`{pattern}`: {e}")))
}

/// DataFusion's functions; of those that it describes not, the name alone.
fn foreign(state: &SessionState) -> Vec<[String; 5]> {
    let ours = |name: &str| {
        SCALAR.iter().any(|function| function.doc.name == name)
            || AGGREGATE.iter().any(|function| function.doc.name == name)
    };
    let mut rows: BTreeMap<(String, &str), [String; 5]> = BTreeMap::new();
    let mut add = |name: &str, kind: &'static str, documentation: Option<&Documentation>| {
        if ours(name) {
            return;
        }
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let call = documentation.map_or(format!("{name}(..)"), |d| line(&d.syntax_example));
        let gives = documentation.map_or(String::new(), |d| line(&d.description));
        rows.insert(
            (name.to_string(), kind),
            [name.into(), "DataFusion".into(), kind.into(), call, gives],
        );
    };
    for function in state.scalar_functions().values() {
        add(function.name(), "scalar", function.documentation());
    }
    for function in state.higher_order_functions().values() {
        add(function.name(), "scalar", function.documentation());
    }
    for function in state.aggregate_functions().values() {
        add(function.name(), "aggregate", function.documentation());
    }
    for function in state.window_functions().values() {
        add(function.name(), "window", function.documentation());
    }
    for name in state.table_functions().keys() {
        add(name, "table", None);
    }
    rows.into_values().collect()
}
