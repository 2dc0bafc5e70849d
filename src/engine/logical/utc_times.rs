//! A time without a zone is UTC, also where it is shown in another.
//!
//! Columns of the lake are in UTC, and so is each time that they are compared with. But DataFusion takes a time without a zone for a local one
//! where it is cast into a zone: `now() AT TIME ZONE 'Europe/Berlin'` would be the hands of a clock in UTC under the name of Berlin's. Such a cast goes through
//! UTC: [`UtcTimes`] runs after types are coerced, which makes such casts, too.
//!
//! A text or a date beside a time is in the zone of that time: `start_time AT TIME ZONE 'Europe/Berlin' >= '2026-09-11'` begins with the day in Berlin. DataFusion has it so for texts,
//! but compares dates with what a clock in UTC shows. Only a text that is itself shown in a zone, `'2026-09-11' AT TIME ZONE 'Europe/Berlin'`, is UTC. [`dates_in_zone`] and [`UtcTexts`] see
//! to both before types are coerced.

use super::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
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
        plan_up(plan, &mut |plan| {
            let schema = merge_schema(&plan.inputs());
            kept_names::map_expressions(plan, &mut |expr| {
                expr_up(expr, &mut |expr| through_utc(expr, &schema))
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
        kind @ DataType::Timestamp(unit, _) if is_zoned(kind) => Some((cast, *unit)),
        _ => None,
    }
}

/// Whether a type is that of times in a zone other than UTC.
fn is_zoned(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(_, Some(zone)) if zone.as_ref() != UTC)
}

fn through_utc(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some((cast, unit)) = target(&expr) else {
        return Ok(Transformed::no(expr));
    };
    let is_local = match cast.expr.get_type(schema)? {
        DataType::Timestamp(_, zone) => zone.is_none(),
        _ => false,
    };
    match is_local {
        true => Ok(Transformed::yes(by_utc(cast, unit))),
        false => Ok(Transformed::no(expr)),
    }
}

/// A cast into a zone, by way of UTC.
fn by_utc(cast: &Cast, unit: TimeUnit) -> Expr {
    let in_utc = DataType::Timestamp(unit, Some(UTC.into()));
    let in_utc = Expr::Cast(Cast::new(cast.expr.clone(), in_utc));
    let target = cast.field.data_type().clone();
    Expr::Cast(Cast::new(Box::new(in_utc), target))
}

/// Casts texts that are shown in a zone through UTC.
#[derive(Debug)]
pub(in crate::engine) struct UtcTexts;

impl FunctionRewrite for UtcTexts {
    fn name(&self) -> &str {
        "utc_texts"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Some((cast, unit)) = target(&expr) else {
            return Ok(Transformed::no(expr));
        };
        Ok(match cast.expr.get_type(schema)?.is_string() {
            true => Transformed::yes(by_utc(cast, unit)),
            false => Transformed::no(expr),
        })
    }
}

/// Casts the dates of a comparison with times in a zone into that zone. Whether there are such.
pub(in crate::engine) fn dates_in_zone(sides: &mut [&mut Expr], types: &[DataType]) -> bool {
    let Some(zoned) = types.iter().find(|kind| is_zoned(kind)) else {
        return false;
    };
    let mut is_changed = false;
    for (side, kind) in sides.iter_mut().zip(types) {
        if *kind == DataType::Date32 {
            let date = Box::new(std::mem::take(*side));
            **side = Expr::Cast(Cast::new(date, zoned.clone()));
            is_changed = true;
        }
    }
    is_changed
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

    /// By hand; so does DuckDB, for which such a time is one of a clock in Berlin.
    #[test]
    fn a_text_or_a_date_beside_a_time_is_in_its_zone() {
        // Midnight in Berlin is 22:00 UTC of the day before.
        const T: &str = "(SELECT timestamptz '2026-09-09T22:00:00Z' AS t) AS s";
        const BERLIN: &str = "t AT TIME ZONE 'Europe/Berlin'";
        for (condition, holds) in [
            (format!("{BERLIN} = '2026-09-10'"), "true"),
            (format!("{BERLIN} = date '2026-09-10'"), "true"),
            (format!("{BERLIN} < '2026-09-10'"), "false"),
            (format!("'2026-09-10' <= {BERLIN}"), "true"),
            (
                format!("{BERLIN} BETWEEN '2026-09-10' AND '2026-09-11'"),
                "true",
            ),
            (format!("{BERLIN} IN ('2026-09-10', '2026-09-11')"), "true"),
            (
                format!("date_trunc('day', {BERLIN}) = '2026-09-10'"),
                "true",
            ),
            (
                format!("date_trunc('day', {BERLIN}) = date '2026-09-10'"),
                "true",
            ),
            (
                format!("date_trunc('month', {BERLIN}) = '2026-09-01'"),
                "true",
            ),
            (format!("({BERLIN})::date = '2026-09-10'"), "true"),
            (format!("{BERLIN} = '2026-09-09T22:00:00Z'"), "true"),
            (
                format!("{BERLIN} = timestamp '2026-09-09 22:00:00'"),
                "true",
            ),
            (format!("{BERLIN} = t"), "true"),
            (format!("extract(day FROM {BERLIN}) = 10"), "true"),
            ("t = '2026-09-09 22:00:00'".to_string(), "true"),
            ("t > date '2026-09-09'".to_string(), "true"),
        ] {
            let sql = format!("SELECT {condition} FROM {T}");
            assert_eq!(ask(&sql).unwrap(), [holds], "{sql}");
            let filtered = format!("SELECT count(*) > 0 FROM {T} WHERE {condition}");
            assert_eq!(ask(&filtered).unwrap(), [holds], "{filtered}");
        }
    }

    #[test]
    fn a_text_that_the_clock_shows_twice_or_never_is_refused() {
        for time in ["2026-10-25 02:30:00", "2026-03-29 02:30:00"] {
            let sql = format!("SELECT now() AT TIME ZONE 'Europe/Berlin' > '{time}'");
            let error = ask(&sql).unwrap_err();
            assert!(error.contains("the clock is changed then"), "{error}");
        }
    }
}
