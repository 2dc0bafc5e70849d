//! Forms of PostgreSQL and DuckDB that DataFusion 55.2 does not plan, or plans badly, in a form that it plans well.
//!
//! The order of rows in EXISTS means nothing: `EXISTS (SELECT 1 .. ORDER BY x LIMIT 1)` has none. A field of an element, `components[1].stripe_count`, is
//! `components[1]['stripe_count']`. `UBIGINT` is `BIGINT UNSIGNED`, and `FETCH FIRST n ROWS ONLY` is `LIMIT n`. [`quantified`] has the comparisons with ANY and ALL, [`row_values`] those of rows, [`distinct_order`] the ORDER BY of SELECT DISTINCT, [`grouping_sets`] keys of ROLLUP and CUBE.

use super::{distinct_order, grouping_sets, quantified, row_values};
use crate::engine::udf::statement::normal;
use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, LimitClause, Query, Select, SelectItem, Subscript,
    Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Writes them so.
///
/// # Errors
/// [`Error::Invalid`] for a list of rows that is too long, or a position that no output has.
pub(in crate::engine) fn write_out(statement: &mut Statement) -> Result<()> {
    match super::visit::visit_mut(statement, &mut Forms) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::Invalid(why)),
    }
}

struct Forms;

impl VisitorMut for Forms {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        distinct_order::by_position(query);
        fetch_as_limit(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        row_values::plan_as_exists(select);
        if select.projection.iter().any(is_rest_of_number) {
            return ControlFlow::Break(
                "a number is written without `_`: 1000, not 1_000; a name of digits is quoted"
                    .into(),
            );
        }
        let written = grouping_sets::write_out(select)
            .and_then(|()| distinct_order::write_out_distinct_on(select));
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => ControlFlow::Break(why),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match expr {
            Expr::Exists { subquery, .. } => subquery.order_by = None,
            Expr::Cast { data_type, .. } => {
                if let Some(same) = unsigned(data_type) {
                    *data_type = same;
                }
            }
            Expr::CompoundFieldAccess { access_chain, .. } => {
                let mut is_element = false;
                for access in access_chain {
                    match access {
                        AccessExpr::Subscript(_) => is_element = true,
                        AccessExpr::Dot(Expr::Identifier(field)) if is_element => {
                            let field = Value::SingleQuotedString(normal(field));
                            let index = Expr::Value(field.with_empty_span());
                            *access = AccessExpr::Subscript(Subscript::Index { index });
                        }
                        AccessExpr::Dot(_) => {}
                    }
                }
            }
            _ => {}
        }
        if let Some(why) = refused(expr).or_else(|| row_values::refused(expr)) {
            return ControlFlow::Break(why);
        }
        if let Some(written) = quantified::planned_as(expr).or_else(|| row_values::by_columns(expr))
        {
            *expr = written;
        }
        ControlFlow::Continue(())
    }
}

/// Why an expression is not planned whose meaning differs from one database to the next.
fn refused(expr: &Expr) -> Option<String> {
    match expr {
        Expr::BinaryOp {
            op: BinaryOperator::BitwiseXor,
            ..
        } => Some(
            "`^` is a power in PostgreSQL and DuckDB and exclusive or elsewhere; write power(a, b), or (a | b) - (a & b)".into(),
        ),
        _ => None,
    }
}

/// Whether an output has for its name what stands behind the first `_` of a number such as `1_000`.
fn is_rest_of_number(item: &SelectItem) -> bool {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => {
            let digits = alias.value.strip_prefix('_');
            let digits = digits.filter(|_| alias.quote_style.is_none());
            digits.is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'_')
            })
        }
        _ => false,
    }
}

/// `OFFSET m FETCH FIRST n ROWS ONLY` as `LIMIT n OFFSET m`.
fn fetch_as_limit(query: &mut Query) {
    let offset = match &query.limit_clause {
        None => None,
        Some(LimitClause::LimitOffset {
            limit: None,
            offset,
            ..
        }) => offset.clone(),
        Some(_) => return,
    };
    if let Some(fetch) = query.fetch.take() {
        let one = || Expr::value(Value::Number("1".into(), false));
        query.limit_clause = Some(LimitClause::LimitOffset {
            limit: Some(fetch.quantity.unwrap_or_else(one)),
            offset,
            limit_by: vec![],
        });
    }
}

/// An unsigned type of DuckDB by the name that DataFusion knows.
fn unsigned(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::UTinyInt => DataType::TinyIntUnsigned(None),
        DataType::USmallInt => DataType::SmallIntUnsigned(None),
        DataType::UBigInt => DataType::BigIntUnsigned(None),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn what_means_something_else_elsewhere_is_refused() {
        let why = |sql: &str| ask(sql).unwrap_err();
        for sql in ["SELECT 2 ^ 3", "SELECT 1 WHERE 2 * 2 ^ 3 > 1"] {
            assert!(why(sql).contains("write power(a, b)"), "{}", why(sql));
        }
        assert_eq!(
            ask("SELECT power(2, 3), (6 | 3) - (6 & 3)").unwrap(),
            ["8.0 | 5"]
        );
        for sql in [
            "SELECT 1_000",
            "SELECT 2 + 1_000_000 FROM (VALUES (1)) t(v)",
        ] {
            assert!(why(sql).contains("1000, not 1_000"), "{}", why(sql));
        }
        assert_eq!(ask("SELECT 1 AS \"_000\", 2 AS _a1").unwrap(), ["1 | 2"]);
    }

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn exists_has_no_order_elements_have_fields_and_types_are_known() {
        const T: &str = "(VALUES (1), (2), (3)) AS t(v)";
        const U: &str = "(VALUES (2, 5), (2, 6), (3, 1)) AS u(k, w)";
        const E: &str = "(SELECT [named_struct('n', 7, 'm', [8, 9])] AS e) AS s";
        for (sql, rows) in [
            (
                format!(
                    "SELECT v FROM {T} WHERE EXISTS (SELECT 1 FROM {U} WHERE u.k = t.v ORDER BY u.w LIMIT 1) ORDER BY v"
                ),
                vec!["2", "3"],
            ),
            (
                format!(
                    "SELECT v FROM {T} WHERE NOT EXISTS (SELECT w FROM {U} WHERE u.k = t.v ORDER BY w DESC)"
                ),
                vec!["1"],
            ),
            (format!("SELECT e[1].n, e[1].m[2] FROM {E}"), vec!["7 | 9"]),
            (format!("SELECT s.e[1].N + 1 FROM {E}"), vec!["8"]),
            (
                format!("SELECT v FROM {T} ORDER BY v FETCH FIRST 2 ROWS ONLY"),
                vec!["1", "2"],
            ),
            (format!("SELECT v FROM {T} ORDER BY v OFFSET 2"), vec!["3"]),
            (
                format!("SELECT v FROM {T} ORDER BY v OFFSET 1 ROWS FETCH NEXT ROW ONLY"),
                vec!["2"],
            ),
            (format!("SELECT e[array_length(e)].n FROM {E}"), vec!["7"]),
            (
                "SELECT 18446744073709551615::ubigint, try_cast(300 AS utinyint), 65535::usmallint"
                    .to_string(),
                vec!["18446744073709551615 | NULL | 65535"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
