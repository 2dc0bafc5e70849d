//! Comparisons whose sides DataFusion 55.2 brings to one type otherwise than PostgreSQL and DuckDB.
//!
//! | sides | compared as | in |
//! |---|---|---|
//! | intervals and differences of times | lengths | [`interval_order`] |
//! | decimals and floats | floats | [`decimal_floats`] |
//! | dates and times in a zone | times in that zone | [`utc_times`] |
//! | times and texts of times without seconds | times | [`time_texts`] |
//!
//! Types are asked once for all four.

use super::{decimal_floats, interval_order};
use crate::engine::logical::compared::compared;
use crate::engine::logical::{time_texts, utc_times};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable};

/// Brings them to the type that they are compared in.
#[derive(Debug)]
pub(in crate::engine) struct Comparisons;

impl FunctionRewrite for Comparisons {
    fn name(&self) -> &str {
        "comparisons"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Some(mut sides) = compared(&mut expr) else {
            return Ok(Transformed::no(expr));
        };
        let types = sides.iter().map(|side| side.get_type(schema));
        // A side without a type is for somebody else to say.
        let Ok(types) = types.collect::<Result<Vec<DataType>>>() else {
            return Ok(Transformed::no(expr));
        };
        let is_changed = interval_order::by_length(&mut sides, &types)
            || decimal_floats::as_floats(&mut sides, &types)
            || utc_times::dates_in_zone(&mut sides, &types);
        let has_texts = time_texts::beside_times(&mut sides, &types);
        Ok(Transformed::new_transformed(expr, is_changed || has_texts))
    }
}
