//! A logical optimizer rule: of a semi or anti join with an inequality only the extremes of the other side matter.
//!
//! ```sql
//! SELECT .. FROM darshan_file f WHERE EXISTS (SELECT 1 FROM darshan_file g WHERE g.log_id = f.log_id AND g.record_id <> f.record_id)
//! ```
//!
//! DataFusion 55.2 visits all pairs of rows with equal keys, or all pairs if there are no keys. Some value is less than another exactly
//! if the least one is, and different from it exactly if the least or the greatest one is:
//!
//! ```text
//! LeftSemi Join: f.log_id = e.log_id Filter: e.least != f.record_id OR e.greatest != f.record_id
//!   TableScan: darshan_file f
//!   SubqueryAlias: e
//!     Aggregate: groupBy=[g.log_id], aggr=[min(g.record_id), max(g.record_id)]
//! ```
//!
//! NULLs are in neither, and compared they are not true. Floats are left as they are, since the extremes of DataFusion's groups depend on
//! the order of rows with NaN (its issue 24432).

use crate::engine::session::options::Options;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, JoinType, Result};
use datafusion::functions_aggregate::expr_fn::{max, min};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, Operator, Projection,
    SubqueryAlias, binary_expr,
};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Puts the extremes of each key in the place of the other side of such a join.
#[derive(Debug)]
pub(in crate::engine) struct Extremes;

/// How the other side is called then.
const ALIAS: &str = "__extremes";

impl OptimizerRule for Extremes {
    fn name(&self) -> &str {
        "extremes"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = &plan else {
            return Ok(Transformed::no(plan));
        };
        if !Options::is_on(&config.options(), self.name()) {
            return Ok(Transformed::no(plan));
        }
        match inequality(join)? {
            Some((other, operator, own)) => {
                let alias = config.alias_generator().next(ALIAS);
                with_extremes(join, other, operator, own, &alias).map(Transformed::yes)
            }
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// The condition of a join beside its keys, as a value of the right side, an operator and a value of the left side.
fn inequality(join: &Join) -> Result<Option<(&Expr, Operator, &Expr)>> {
    let (
        JoinType::LeftSemi | JoinType::LeftAnti,
        false,
        Some(Expr::BinaryExpr(BinaryExpr { left, op, right })),
    ) = (join.join_type, join.null_aware, &join.filter)
    else {
        return Ok(None);
    };
    let of = |value: &Expr, schema: &DFSchema| {
        let columns = value.column_refs();
        !columns.is_empty() && columns.iter().all(|column| schema.has_column(column))
    };
    let (l, r) = (join.left.schema(), join.right.schema());
    let condition = match (of(left, l) && of(right, r), of(left, r) && of(right, l)) {
        (true, false) => op.swap().map(|op| (right.as_ref(), op, left.as_ref())),
        (false, true) => Some((left.as_ref(), *op, right.as_ref())),
        _ => None,
    };
    use Operator::{Gt, GtEq, Lt, LtEq, NotEq};
    let condition = condition.filter(|(other, op, own)| {
        let keys = join.on.iter().map(|(_, key)| key);
        matches!(op, Lt | LtEq | Gt | GtEq | NotEq)
            && ![*other, own].into_iter().chain(keys).any(Expr::is_volatile)
            && !is_done(&join.right)
    });
    let Some((other, ..)) = condition else {
        return Ok(None);
    };
    let kind = other.get_type(r)?;
    let ordered = kind.is_integer() || kind.is_temporal() || kind.is_string();
    Ok(condition.filter(|_| ordered))
}

/// Whether these are extremes already.
fn is_done(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(of) => of.alias.table().starts_with(ALIAS) || is_done(&of.input),
        LogicalPlan::Projection(of) => is_done(&of.input),
        _ => false,
    }
}

fn with_extremes(
    join: &Join,
    other: &Expr,
    operator: Operator,
    own: &Expr,
    alias: &str,
) -> Result<LogicalPlan> {
    let mut keys: Vec<Expr> = vec![];
    for (_, key) in &join.on {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let extremes = match operator {
        Operator::Lt | Operator::LtEq => vec![min(other.clone())],
        Operator::Gt | Operator::GtEq => vec![max(other.clone())],
        _ => vec![min(other.clone()), max(other.clone())],
    };
    let names = (0..keys.len()).map(|i| format!("key{i}"));
    let names = names.chain((0..extremes.len()).map(|i| format!("extreme{i}")));
    let names: Vec<String> = names.collect();
    let grouping = Aggregate::try_new(join.right.clone(), keys.clone(), extremes)?;
    let schema = grouping.schema.clone();
    let columns = schema.iter().zip(&names).map(|((table, field), name)| {
        Expr::Column(Column::new(table.cloned(), field.name())).alias(name)
    });
    let columns = columns.collect();
    let grouping = Arc::new(LogicalPlan::Aggregate(grouping));
    let renamed = Projection::try_new(columns, grouping)?;
    let renamed = Arc::new(LogicalPlan::Projection(renamed));
    let side = SubqueryAlias::try_new(renamed, alias)?;
    let column = |name: &str| Expr::Column(Column::new(Some(alias), name));
    let on = join.on.iter().map(|(left, key)| {
        let at = keys.iter().position(|known| known == key);
        (left.clone(), column(&names[at.unwrap_or_default()]))
    });
    let conditions = names[keys.len()..]
        .iter()
        .map(|name| binary_expr(column(name), operator, own.clone()));
    let joined = Join::try_new(
        join.left.clone(),
        Arc::new(LogicalPlan::SubqueryAlias(side)),
        on.collect(),
        conditions.reduce(Expr::or),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    Ok(LogicalPlan::Join(joined))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// What else the rows must be, `engine/tests/semi_joins.rs` tells by brute force.
    #[test]
    fn only_one_inequality_of_integers_times_or_texts_needs_no_more_than_extremes() {
        let plan = |condition: &str| {
            let sql = format!(
                "EXPLAIN WITH l AS (SELECT * FROM (VALUES (1, 'a', 0.5::double)) AS t(k, s, f)), r AS (SELECT * FROM (VALUES (1, 'b', 1.5::double)) AS t(k, s, f)) SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r WHERE {condition})"
            );
            ask(&sql).unwrap().join("\n")
        };
        for (condition, least, greatest) in [
            ("r.k = l.k AND r.s < l.s", true, false),
            ("r.s = l.s AND l.k < r.k", false, true),
            ("r.s = l.s AND r.k * 2 <> l.k", true, true),
            ("l.k >= r.k", true, false),
        ] {
            let plan = plan(condition);
            let found = (plan.contains("min("), plan.contains("max("));
            assert_eq!(found, (least, greatest), "{condition}\n{plan}");
        }
        for condition in [
            "r.k = l.k AND r.f < l.f",
            "r.k = l.k AND r.s < l.s AND r.s <> l.s",
            "r.k = l.k AND r.s || l.s < 'c'",
            "r.k = l.k AND (r.s < l.s OR r.s = l.s)",
        ] {
            let plan = plan(condition);
            assert!(!plan.contains("__extremes"), "{condition}\n{plan}");
        }
    }
}
