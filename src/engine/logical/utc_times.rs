//! A time without a zone is UTC, also where it is shown in another.
//!
//! Columns of the lake are in UTC, and so is each time that they are compared with. But DataFusion takes a time without a zone for a local one
//! where it is cast into a zone: `now() AT TIME ZONE 'Europe/Berlin'` would be the hands of a clock in UTC under the name of Berlin's. Such a cast goes through
//! UTC. It must run after types are coerced, which makes such casts, too.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Casts times without a zone through UTC.
#[derive(Debug)]
pub(in crate::engine) struct UtcTimes;

const UTC: &str = "UTC";

impl AnalyzerRule for UtcTimes {
    fn name(&self) -> &str {
        "utc_times"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_zones(&plan)? {
            return Ok(plan);
        }
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            let schema = merge_schema(&plan.inputs());
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let through = expr.transform_up(|expr| through_utc(expr, &schema))?;
                Ok(through.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

/// Whether something is cast into a zone other than UTC: few plans have such, and for the others no schema has to be made.
fn has_zones(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found = found || expr.exists(|expr| Ok(target(expr).is_some()))?;
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })
    })?;
    Ok(found)
}

/// The type that an expression is cast into, if it is a time in a zone other than UTC.
fn target(expr: &Expr) -> Option<(&Cast, TimeUnit)> {
    let Expr::Cast(cast) = expr else { return None };
    match cast.field.data_type() {
        DataType::Timestamp(unit, Some(zone)) if zone.as_ref() != UTC => Some((cast, *unit)),
        _ => None,
    }
}

fn through_utc(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some((cast, unit)) = target(&expr) else {
        return Ok(Transformed::no(expr));
    };
    let is_local = match cast.expr.get_type(schema)? {
        DataType::Timestamp(_, zone) => zone.is_none(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        _ => false,
    };
    if !is_local {
        return Ok(Transformed::no(expr));
    }
    let in_utc = DataType::Timestamp(unit, Some(UTC.into()));
    let in_utc = Expr::Cast(Cast::new(cast.expr.clone(), in_utc));
    let target = cast.field.data_type().clone();
    Ok(Transformed::yes(Expr::Cast(Cast::new(
        Box::new(in_utc),
        target,
    ))))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_time_without_a_zone_is_utc_wherever_it_comes_from() {
        for (sql, shown) in [
            // Summer time ends in Berlin at 01:00 UTC, in Los Angeles a week later.
            (
                "SELECT timestamp '2026-10-25 00:30:00' AT TIME ZONE 'Europe/Berlin'",
                "2026-10-25T02:30:00+02:00",
            ),
            (
                "SELECT timestamp '2026-10-25 01:30:00' AT TIME ZONE 'Europe/Berlin'",
                "2026-10-25T02:30:00+01:00",
            ),
            (
                "SELECT '2026-10-25T02:30:00Z'::timestamptz AT TIME ZONE 'America/Los_Angeles'",
                "2026-10-24T19:30:00-07:00",
            ),
            (
                "SELECT to_timestamp(1789000000) AT TIME ZONE 'Europe/Berlin'",
                "2026-09-10T02:26:40+02:00",
            ),
            (
                "SELECT '2026-07-01 12:00:00' AT TIME ZONE 'Europe/Berlin'",
                "2026-07-01T14:00:00+02:00",
            ),
            (
                "SELECT '2026-07-01T12:00:00+02:00' AT TIME ZONE 'America/Los_Angeles'",
                "2026-07-01T03:00:00-07:00",
            ),
            (
                "SELECT (now() AT TIME ZONE 'Asia/Tokyo') - now() = INTERVAL '0 s'",
                "true",
            ),
            (
                "SELECT (timestamp '2026-07-01 12:00:00' AT TIME ZONE 'Asia/Tokyo') = timestamp '2026-07-01 12:00:00'",
                "true",
            ),
            (
                "SELECT (timestamp '2026-03-29 02:30:00' AT TIME ZONE 'Europe/Berlin')",
                "2026-03-29T04:30:00+02:00",
            ),
        ] {
            assert_eq!(ask(sql).unwrap(), [shown], "{sql}");
        }
    }
}
