//! `SELECT DISTINCT date_trunc('day', t) FROM .. ORDER BY date_trunc('day', t)`.
//!
//! DataFusion 55.2 looks for the columns of ORDER BY in the select list, finds `t` in none, and refuses the query. An output that is written in ORDER BY again has its position there instead.
//!
//! A number in `DISTINCT ON (1)` is a constant to DataFusion, and the position of an output in PostgreSQL: the output's expression stands in its place.

use super::grouping_sets::write_out_positions;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
};

/// Writes positions for the outputs of a SELECT DISTINCT in its ORDER BY.
pub(super) fn by_position(query: &mut Query) {
    let (SetExpr::Select(select), Some(order_by)) = (&*query.body, &mut query.order_by) else {
        return;
    };
    let (Some(Distinct::Distinct), OrderByKind::Expressions(terms)) =
        (&select.distinct, &mut order_by.kind)
    else {
        return;
    };
    // Behind a `*` it is not known which output has a position.
    let outputs = select.projection.iter().map_while(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    let outputs: Vec<&Expr> = outputs.collect();
    for term in terms {
        let is_name = matches!(
            term.expr,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
        );
        let at = outputs.iter().position(|output| **output == term.expr);
        if let Some(at) = at.filter(|_| !is_name) {
            let position = Value::Number((at + 1).to_string(), false);
            term.expr = Expr::Value(position.with_empty_span());
        }
    }
}

/// Writes the outputs in the place of their positions in DISTINCT ON.
///
/// # Errors
/// What is said of a position that no output has.
pub(super) fn write_out_distinct_on(select: &mut Select) -> Result<(), String> {
    match &mut select.distinct {
        Some(Distinct::On(keys)) => write_out_positions(keys, &select.projection, "DISTINCT ON"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn outputs_of_select_distinct_stand_in_order_by_again() {
        const T: &str = "(VALUES ('A', 1), ('a', 4), ('b', 3), ('B', 3)) AS t(y, x)";
        for (sql, rows) in [
            (
                format!("SELECT DISTINCT lower(y) FROM {T} ORDER BY lower(y) DESC LIMIT 1"),
                vec!["b"],
            ),
            (
                format!("SELECT DISTINCT x % 2 AS m FROM {T} ORDER BY x % 2 DESC"),
                vec!["1", "0"],
            ),
            (
                format!("SELECT DISTINCT lower(y) AS l, x / 2 FROM {T} ORDER BY x / 2, lower(y)"),
                vec!["a | 0", "b | 1", "a | 2"],
            ),
            (
                format!("SELECT DISTINCT y, sum(x) FROM {T} GROUP BY y ORDER BY sum(x) DESC, y"),
                vec!["a | 4", "B | 3", "b | 3", "A | 1"],
            ),
            (
                format!("SELECT DISTINCT x FROM {T} ORDER BY x"),
                vec!["1", "3", "4"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let error = ask(&format!("SELECT DISTINCT lower(y) FROM {T} ORDER BY x + 1")).unwrap_err();
        assert!(error.contains("must appear in select list"), "{error}");
    }
    /// By hand; so does PostgreSQL.
    #[test]
    fn numbers_in_distinct_on_are_positions() {
        const T: &str = "(VALUES (1, 'b'), (1, 'a'), (2, 'c')) AS t(x, y)";
        for (sql, rows) in [
            (
                format!("SELECT DISTINCT ON (1) x, y FROM {T} ORDER BY x, y"),
                vec!["1 | a", "2 | c"],
            ),
            (
                format!("SELECT DISTINCT ON (2) y, x % 2 AS m FROM {T} ORDER BY 2, 1 DESC"),
                vec!["c | 0", "b | 1"],
            ),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
        let error = ask(&format!("SELECT DISTINCT ON (3) x, y FROM {T} ORDER BY x")).unwrap_err();
        assert_eq!(
            error,
            "position 3 in DISTINCT ON is that of no output; there are 2"
        );
    }
}
