//! A logical rule: NULL stays NULL in `~`.
//!
//! DataFusion 55.2 simplifies `s ~ '.*'` and `s ~* '.*'` to `s IS NOT NULL`, which is false for NULL, so that `NOT s ~ '.*'` keeps it. They are written out. Its
//! `x ^ x` is 0 for NULL likewise; `^` is refused (`sql/other_forms.rs`).
//!
//! Delete when DataFusion keeps NULL: `datafusion_alone_is_wrong` then fails.

use crate::engine::logical::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
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
        plan_up(plan, &mut |plan| {
            kept_names::map_expressions(plan, &mut |expr| expr_up(expr, &mut keep))
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

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::rows;
    use crate::engine::{Engine, EngineOptions, runtime};
    use datafusion::prelude::SessionContext;

    const TABLE: &str = "(VALUES (1, 'a'), (2, NULL)) AS t(id, s)";

    #[test]
    fn null_stays_null() {
        runtime(Some(2)).unwrap().block_on(async {
            let engine = Engine::new(EngineOptions::default()).unwrap();
            for (expression, of_first, of_second) in [
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
            let sql = format!("SELECT s ~ '.*' FROM {TABLE} WHERE id = 2");
            let found = SessionContext::new().sql(&sql).await.unwrap();
            let found = found.collect().await.unwrap();
            assert_eq!(rows(&found), ["false"]);
        });
    }
}
