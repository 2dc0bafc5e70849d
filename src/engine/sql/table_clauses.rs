//! Clauses behind a table of which DataFusion 55.2 reads the table alone are refused: `TABLESAMPLE`, `FOR SYSTEM_TIME AS OF`, `PARTITION`,
//! `WITH ORDINALITY`.
//!
//! All rows come, with no number and of the newest version, where a part of them or others were asked for. Hints change no rows and stay.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{TableFactor, Visitor};
use std::ops::ControlFlow;

/// Refuses such clauses, wherever they stand.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    match super::visit::visit(statement, &mut Tables) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::Invalid(why.into())),
    }
}

const SAMPLE: &str =
    "TABLESAMPLE is not supported; write `WHERE random() < 0.1` for about a tenth of the rows";

struct Tables;

impl Visitor for Tables {
    type Break = &'static str;

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<&'static str> {
        let why = match table {
            TableFactor::Table {
                sample: Some(_), ..
            }
            | TableFactor::Derived {
                sample: Some(_), ..
            } => SAMPLE,
            TableFactor::Table {
                version: Some(_), ..
            } => {
                "an older version of a table cannot be asked for here; ask it with `iolode sql --version N`"
            }
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => {
                "PARTITION behind a table is not supported; write a condition on its rows"
            }
            TableFactor::Table {
                with_ordinality: true,
                ..
            } => "WITH ORDINALITY is not supported; number the rows with `row_number() OVER ()`",
            _ => return ControlFlow::Continue(()),
        };
        ControlFlow::Break(why)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn what_would_be_passed_over_is_refused() {
        for (from, words) in [
            ("t TABLESAMPLE BERNOULLI (10)", "random() < 0.1"),
            ("t TABLESAMPLE (10 PERCENT)", "random() < 0.1"),
            (
                "(SELECT * FROM t) AS s TABLESAMPLE SYSTEM (1)",
                "random() < 0.1",
            ),
            ("generate_series(1, 3) WITH ORDINALITY", "row_number()"),
        ] {
            let sql = format!("WITH t AS (SELECT 1 AS v) SELECT count(*) FROM {from}");
            let error = ask(&sql).unwrap_err();
            assert!(error.contains(words), "{from}: {error}");
        }
    }
}
