//! The columns that a condition names.

use super::visit::visit_exprs;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{Expr, Ident};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use std::ops::ControlFlow;

/// The columns that a condition over one relation names, as the relation has them.
///
/// # Errors
/// [`Error::Invalid`] if it is no expression.
pub fn condition_names(sql: &str) -> Result<Vec<String>> {
    let bad = |why: &dyn std::fmt::Display| Error::Invalid(format!("`{sql}`: {why}"));
    let dialect = GenericDialect {};
    let mut parser = Parser::new(&dialect)
        .try_with_sql(sql)
        .map_err(|e| bad(&e))?;
    let condition = parser.parse_expr().map_err(|e| bad(&e))?;
    if parser.peek_token().token != Token::EOF {
        return Err(bad(&"expected one condition"));
    }
    let mut names = vec![];
    let see = |expr: &Expr| {
        match expr {
            Expr::Identifier(column) => names.push(name(column)),
            // A field of a struct.
            Expr::CompoundIdentifier(parts) => names.extend(parts.first().map(name)),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    };
    let _ = visit_exprs(&condition, see);
    Ok(names)
}

fn name(column: &Ident) -> String {
    match column.quote_style {
        Some(_) => column.value.clone(),
        None => column.value.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_relation_and_no_words_of_sql() {
        let names = condition_names(
            "Share > 0.5 AND \"Name\" LIKE 'a%' AND own['part'] IS NULL AND time < now() - INTERVAL '1 day' AND day > DATE '2026-09-01' AND CAST(x AS BIGINT) IN (1, y)",
        );
        assert_eq!(
            names.unwrap(),
            ["share", "Name", "own", "time", "day", "x", "y"]
        );
        for bad in ["share >", "share > 1; SELECT 1", ""] {
            assert!(condition_names(bad).is_err(), "{bad}");
        }
    }
}
