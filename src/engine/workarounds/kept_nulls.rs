//! A logical rule: NULL stays NULL in `^` and `~`.
//!
//! DataFusion 55.2 simplifies two expressions to what they are where their operands are not NULL, without asking whether they may be:
//!
//! | expression | becomes | for NULL |
//! |---|---|---|
//! | `x ^ x`, `(x ^ y) ^ x` | `0`, `y` | `0`, `y` |
//! | `s ~ '.*'`, `s ~* '.*'` | `s IS NOT NULL` | false, so that `NOT s ~ '.*'` keeps it |
//!
//! Of the first an operand that is a `^` itself, and one of two that are equal, is hidden in [`OPTIMIZER_BARRIER`]. The second is written out.
//!
//! Delete when DataFusion keeps NULL: `datafusion_alone_is_wrong` then fails.

use super::functional_dependencies::OPTIMIZER_BARRIER;
use crate::engine::logical::kept_names;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{BinaryExpr, Cast};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, lit, when};
use datafusion::optimizer::AnalyzerRule;

/// Keeps NULL. Must run after types are coerced.
#[derive(Debug)]
pub(in crate::engine) struct KeptNulls;

impl AnalyzerRule for KeptNulls {
    fn name(&self) -> &str {
        "kept_nulls"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            kept_names::map_expressions(plan, |expr| expr.transform_up(keep))
        })
        .data()
    }
}

fn keep(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Ok(Transformed::no(expr));
    };
    match op {
        Operator::RegexMatch | Operator::RegexIMatch if is_any_text(&right) => {
            let null = lit(ScalarValue::Boolean(None));
            let written = when(left.is_null(), null).otherwise(lit(true))?;
            Ok(Transformed::yes(written))
        }
        Operator::BitwiseXor => {
            let equal = left == right;
            let hides = [is_xor(&left) && !equal, is_xor(&right) || equal];
            let hide = |hides: bool, of: Box<Expr>| match hides {
                true => Box::new(OPTIMIZER_BARRIER.call(vec![*of])),
                false => of,
            };
            let operands = BinaryExpr::new(hide(hides[0], left), op, hide(hides[1], right));
            let expr = Expr::BinaryExpr(operands);
            Ok(Transformed::new_transformed(expr, hides.contains(&true)))
        }
        _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr::new(
            left, op, right,
        )))),
    }
}

/// Whether it is the pattern of any text.
fn is_any_text(pattern: &Expr) -> bool {
    match pattern {
        Expr::Literal(value, _) => value.try_as_str() == Some(Some(".*")),
        Expr::Cast(Cast { expr, .. }) => is_any_text(expr),
        _ => false,
    }
}

fn is_xor(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::BitwiseXor,
            ..
        })
    )
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};
    use datafusion::prelude::SessionContext;

    const TABLE: &str = "(VALUES (1, 5, 3, 'a'), (2, NULL, 3, NULL)) AS t(id, x, y, s)";

    #[test]
    fn null_stays_null() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            for (expression, of_first, of_second) in [
                ("x ^ x", "0", "NULL"),
                ("(x ^ y) ^ x", "3", "NULL"),
                ("x ^ (y ^ x)", "3", "NULL"),
                ("(y ^ x) ^ (y ^ x)", "0", "NULL"),
                ("((x ^ 1) ^ y) ^ x", "2", "NULL"),
                ("x ^ y", "6", "NULL"),
                ("s ~ '.*'", "true", "NULL"),
                ("s ~* '.*'", "true", "NULL"),
                ("NOT s ~ '.*'", "false", "NULL"),
                ("s !~ '.*'", "false", "NULL"),
                ("s ~ 'a'", "true", "NULL"),
            ] {
                let sql = format!("SELECT {expression} FROM {TABLE} ORDER BY id");
                let found = engine.run(&sql).await.unwrap().collect().await.unwrap();
                assert_eq!(rows(&found), [of_first, of_second], "{expression}");
            }
            // Where false is as good as NULL, the same row is kept.
            let sql = format!("SELECT id FROM {TABLE} WHERE s ~ '.*'");
            let found = engine.run(&sql).await.unwrap().collect().await.unwrap();
            assert_eq!(rows(&found), ["1"]);
        });
    }

    #[test]
    fn datafusion_alone_is_wrong() {
        runtime(Some(1)).unwrap().block_on(async {
            for (expression, of_null) in [("x ^ x", "0"), ("s ~ '.*'", "false")] {
                let sql = format!("SELECT {expression} FROM {TABLE} WHERE id = 2");
                let found = SessionContext::new().sql(&sql).await.unwrap();
                let found = found.collect().await.unwrap();
                assert_eq!(rows(&found), [of_null], "{expression}");
            }
        });
    }
}
