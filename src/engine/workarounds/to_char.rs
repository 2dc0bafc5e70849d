//! A pattern of `to_char` without any `%` is refused.
//!
//! DataFusion 55.2 takes strftime's patterns, `'%Y-%m-%d'`. Given one of PostgreSQL, `'YYYY-MM-DD'`, it writes these letters in each row.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;

/// Refuses such patterns.
#[derive(Debug)]
pub(in crate::engine) struct ToCharPatterns;

impl FunctionRewrite for ToCharPatterns {
    fn name(&self) -> &str {
        "to_char_patterns"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        if let Expr::ScalarFunction(function) = &expr
            && function.name() == "to_char"
            && let Some(Expr::Literal(pattern, _)) = function.args.get(1)
            && let Some(Some(pattern)) = pattern.try_as_str()
            && !pattern.contains('%')
        {
            return plan_err!("to_char takes patterns such as '%Y-%m-%d %H:%M', not `{pattern}`");
        }
        Ok(Transformed::no(expr))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_pattern_of_another_database_is_refused() {
        let error =
            ask("SELECT to_char(timestamp '2026-09-01 12:00:00', 'YYYY-MM-DD')").unwrap_err();
        assert_eq!(
            error,
            "to_char takes patterns such as '%Y-%m-%d %H:%M', not `YYYY-MM-DD`"
        );
        let answer = ask("SELECT to_char(timestamp '2026-09-01 12:00:00', '%d.%m.')");
        assert_eq!(answer.unwrap(), ["01.09."]);
    }
}
