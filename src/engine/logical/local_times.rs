//! Times without an offset that are compared with times, as those of a zone.
//!
//! In a statement they are UTC. A condition that somebody types alone, such as `--where` of an export, has them in the zone of the session, as parameters of named queries have. A
//! text, a date and a timestamp that are written down are changed, also with an interval added, beside `=`, `<`, `BETWEEN`, `IN` and the like. What is compared with a time that
//! `date_trunc`, `date_bin` or `bin` cut stays in UTC, where these cut, and so does what is compared with a date.

use super::compared::compared;
use super::kept_names;
use crate::engine::rewrite::{expr_up, plan_up};
use crate::source::moment::moment;
use chrono_tz::Tz;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{BinaryExpr, Cast};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};

/// Functions that cut times in UTC.
const CUTS: [&str; 3] = ["date_trunc", "date_bin", "bin"];

/// A plan whose types are not coerced yet, with its written times in a zone.
///
/// # Errors
/// Those of the plan.
pub(in crate::engine) fn in_zone(plan: LogicalPlan, zone: Tz) -> Result<LogicalPlan> {
    if zone == Tz::UTC {
        return Ok(plan);
    }
    plan_up(plan, &mut |plan| {
        let schema = merge_schema(&plan.inputs());
        kept_names::map_expressions(plan, &mut |expr| {
            expr_up(expr, &mut |expr| Ok(compared_in_zone(expr, &schema, zone)))
        })
    })
    .data()
}

fn compared_in_zone(mut expr: Expr, schema: &DFSchema, zone: Tz) -> Transformed<Expr> {
    let Some(mut sides) = compared(&mut expr) else {
        return Transformed::no(expr);
    };
    let is_moment = |side: &&mut Expr| {
        let kind = side.get_type(schema);
        !is_written(side) && kind.is_ok_and(|kind| is_utc(&kind)) && !is_cut(side)
    };
    if !sides.iter().any(is_moment) {
        return Transformed::no(expr);
    }
    let mut is_changed = false;
    for side in &mut sides {
        is_changed |= put_in_zone(side, zone);
    }
    Transformed::new_transformed(expr, is_changed)
}

fn is_utc(kind: &DataType) -> bool {
    match kind {
        DataType::Timestamp(_, zone) => zone
            .as_ref()
            .is_none_or(|zone| ["UTC", "+00:00", "Z"].contains(&zone.as_ref())),
        _ => false,
    }
}

fn is_cut(side: &Expr) -> bool {
    let cuts = |expr: &Expr| {
        Ok(match expr {
            Expr::ScalarFunction(call) => CUTS.contains(&call.name()),
            Expr::Cast(cast) => {
                matches!(cast.field.data_type(), DataType::Date32 | DataType::Date64)
            }
            _ => false,
        })
    };
    side.exists(cuts).unwrap_or(false)
}

/// Whether an expression has no value of a row in it.
fn is_written(side: &Expr) -> bool {
    match side {
        Expr::Literal(..) => true,
        Expr::Cast(Cast { expr, .. }) => is_written(expr),
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => is_written(left) && is_written(right),
        _ => false,
    }
}

/// Writes a time in UTC that was written in a zone. Whether there is one.
fn put_in_zone(side: &mut Expr, zone: Tz) -> bool {
    match side {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus,
            right,
        }) if is_written(right) => put_in_zone(left, zone),
        _ => match text(side).and_then(|text| moment(text, zone).ok()) {
            Some(time) => {
                let time = ScalarValue::TimestampMicrosecond(Some(time), Some("UTC".into()));
                *side = Expr::Literal(time, None);
                true
            }
            None => false,
        },
    }
}

/// The text of a time that is written down: `'2026-09-01'`, `DATE '2026-09-01'`, `TIMESTAMP '2026-09-01 12:00'`.
fn text(side: &Expr) -> Option<&str> {
    match side {
        Expr::Cast(Cast { expr, field }) => match field.data_type() {
            DataType::Date32 | DataType::Timestamp(_, None) => text(expr),
            _ => None,
        },
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8View(Some(text)),
            _,
        ) => Some(text),
        _ => None,
    }
}
