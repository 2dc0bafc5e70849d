//! The least and greatest values of a column say nothing of its casts into another order.
//!
//! DataFusion 55.2 casts what the statistics of a column say are its least and greatest values together with it: of a `CAST(id AS VARCHAR)`
//! over 3, 4 and 11 the greatest is then '11' and the least '3'. A filter above finds that no interval, and the whole statement fails, as an
//! internal error.
//!
//! Where a projection gives such a cast, it passes through [`ORDER_BARRIER`], a function that gives what it is given, of which DataFusion does not know
//! that: [`CastBounds`], a logical optimizer rule that stands last, for those before it look into casts.
//!
//! Scans prune row groups and files by such bounds, too: `start_time::time < '12:00'` lost those whose times go over a midnight, and
//! `rank::boolean IS NOT TRUE` those of ranks from -1 to 5. So do sorts: rows in the order of their times were taken to be in that of their times of day. These casts pass through it from the analyzer on:
//! [`CastsOfTimes`].
//!
//! Delete when DataFusion casts only bounds that keep their order: `datafusion_alone_fails` and `datafusion_alone_takes_times_of_day_for_sorted` then fail.

use super::functional_dependencies::ORDER_BARRIER;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, Projection, TryCast};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

#[derive(Debug)]
pub(in crate::engine) struct CastBounds;

impl OptimizerRule for CastBounds {
    fn name(&self) -> &str {
        "cast_bounds"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Projection(projection) = plan else {
            return Ok(Transformed::no(plan));
        };
        let input = projection.input.schema();
        let found = projection
            .expr
            .iter()
            .map(|expr| changes_order(expr, input));
        let found = found.collect::<Result<Vec<_>>>()?;
        if !found.contains(&true) {
            return Ok(Transformed::no(LogicalPlan::Projection(projection)));
        }
        let Projection {
            expr,
            input,
            schema,
            ..
        } = projection;
        let columns = expr.into_iter().zip(found).zip(schema.iter());
        let columns = columns.map(|((expr, found), (table, field))| match found {
            true => ORDER_BARRIER
                .call(vec![expr.unalias()])
                .alias_qualified(table.cloned(), field.name()),
            false => expr,
        });
        let projection = Projection::try_new_with_schema(columns.collect(), input, schema.clone())?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }
}

const CAST_FUNCTIONS: [&str; 2] = ["arrow_cast", "arrow_try_cast"];

/// Whether DataFusion casts into it rightly: it cuts integers to the bits of small decimals before it looks whether they fit, and panics where a scale is below 0.
fn is_safe(to: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match to {
        Decimal32(..) | Decimal64(..) => false,
        Decimal128(_, scale) | Decimal256(_, scale) => *scale >= 0,
        _ => true,
    }
}

/// Hides casts of times into times of day and of numbers into Booleans from the optimizer. Refuses types that DataFusion casts into wrongly.
#[derive(Debug)]
pub(in crate::engine) struct CastsOfTimes;

impl FunctionRewrite for CastsOfTimes {
    fn name(&self) -> &str {
        "casts_of_times"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let of = match &expr {
            Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => expr,
            // Casts, too, once the optimizer has simplified them.
            Expr::ScalarFunction(call) if CAST_FUNCTIONS.contains(&call.name()) => {
                match call.args.first() {
                    Some(of) => of,
                    None => return Ok(Transformed::no(expr)),
                }
            }
            _ => return Ok(Transformed::no(expr)),
        };
        // A term without a type is for somebody else to say.
        let (Ok(from), Ok(to)) = (of.get_type(schema), expr.get_type(schema)) else {
            return Ok(Transformed::no(expr));
        };
        if !is_safe(&to) {
            return plan_err!(
                "iolode has no {to}: its casts are cut to fewer bits; write DECIMAL(p, s) with up to 38 digits and a scale from 0"
            );
        }
        let is_prunable = !from.is_string() && !to.is_string() && !from.is_null();
        match is_prunable && !keeps_order(&from, &to) && !of.column_refs().is_empty() {
            true => Ok(Transformed::yes(ORDER_BARRIER.call(vec![expr]))),
            false => Ok(Transformed::no(expr)),
        }
    }
}

/// Whether casts, one in another perhaps, bring values into another order.
fn changes_order(expr: &Expr, input: &DFSchema) -> Result<bool> {
    match expr {
        Expr::Alias(alias) => changes_order(&alias.expr, input),
        Expr::Cast(Cast { expr, field }) => {
            Ok(!keeps_order(&expr.get_type(input)?, field.data_type())
                || changes_order(expr, input)?)
        }
        _ => Ok(false),
    }
}

fn keeps_order(from: &DataType, to: &DataType) -> bool {
    let of_day = |t: &DataType| matches!(t, DataType::Time32(_) | DataType::Time64(_));
    let is_number = |t: &DataType| t.is_numeric() || t.is_temporal() && !of_day(t);
    from.equals_datatype(to)
        || (from.is_numeric() || *from == DataType::Boolean) && to.is_numeric()
        || is_number(from) && is_number(to)
        || from.is_string() && to.is_string()
        || from.is_temporal() && to.is_temporal() && of_day(from) == of_day(to)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};
    use crate::engine::{Engine, EngineOptions};

    const SQL: &str = "SELECT c FROM (SELECT CAST(id AS VARCHAR) AS c, app FROM (SELECT 3 AS id, 'a' AS app UNION ALL SELECT 11, 'a' UNION ALL SELECT 4, 'b') AS t) AS d \
        QUALIFY count(*) OVER (PARTITION BY app ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) <= 2 ORDER BY c";

    /// By hand: as texts 11 comes before 3.
    #[test]
    fn a_filter_above_a_cast_into_text_is_answered() {
        assert_eq!(ask(SQL).unwrap(), ["11", "3", "4"]);
    }

    /// By hand. The file's row group is pruned by the least and greatest value of the column.
    #[test]
    fn rows_of_a_time_of_day_are_found_and_sorted() {
        const T: &str = "(VALUES (TIMESTAMP '2026-09-01 23:00:00', -1), (TIMESTAMP '2026-09-02 09:00:00', 0), (TIMESTAMP '2026-09-03 22:00:00', 5)) AS t(a, n)";
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("t.parquet");
        let file = file.to_str().unwrap();
        let local = EngineOptions {
            local_files: true,
            ..EngineOptions::default()
        };
        block_on(async {
            let engine = Engine::new(local).unwrap();
            let copy = format!("COPY (SELECT * FROM {T}) TO '{file}'");
            engine.run(&copy).await.unwrap().collect().await.unwrap();
            for (sql, expected) in [
                (
                    "SELECT count(*) FROM t WHERE a::TIME < '12:00:00'",
                    vec!["1"],
                ),
                (
                    "SELECT count(*) FROM t WHERE NOT a::TIME >= TIME '12:00:00'",
                    vec!["1"],
                ),
                (
                    "SELECT count(*) FROM t WHERE a::TIME < (a + INTERVAL '1 hour')::TIME",
                    vec!["2"],
                ),
                (
                    "SELECT a::TIME FROM (SELECT a FROM t ORDER BY a LIMIT 3) ORDER BY 1",
                    vec!["09:00:00", "22:00:00", "23:00:00"],
                ),
                (
                    "SELECT count(*) FROM t WHERE n::BOOLEAN IS NOT TRUE",
                    vec!["1"],
                ),
                (
                    "SELECT count(*) FROM t WHERE TRY_CAST(n AS BOOLEAN) = false",
                    vec!["1"],
                ),
                (
                    "SELECT n FROM (SELECT n FROM t ORDER BY n LIMIT 3) ORDER BY n::BOOLEAN LIMIT 1",
                    vec!["0"],
                ),
                (
                    "SELECT count(*) FROM t WHERE arrow_cast(a, 'Time64(Nanosecond)') < '12:00:00'",
                    vec!["1"],
                ),
                (
                    "SELECT count(*) FROM t WHERE a::DATE = DATE '2026-09-02'",
                    vec!["1"],
                ),
            ] {
                let sql = sql.replace("FROM t", &format!("FROM '{file}'"));
                let found = engine.run(&sql).await.unwrap().collect().await.unwrap();
                assert_eq!(rows(&found), expected, "{sql}");
            }
        });
    }

    /// By hand: 4,300,000,000 has more than 32 bits.
    #[test]
    fn small_decimals_are_refused_and_so_are_negative_scales() {
        for to in ["Decimal32(9, 2)", "Decimal64(18, 0)", "Decimal128(38, -3)"] {
            for function in ["arrow_cast", "arrow_try_cast"] {
                let sql =
                    format!("SELECT {function}(v, '{to}') FROM (VALUES (4300000000)) AS t(v)");
                let error = ask(&sql).unwrap_err();
                assert!(error.contains("write DECIMAL(p, s)"), "{error}");
            }
        }
        let sql = "SELECT arrow_cast(v, 'Decimal128(20, 2)'), v::DECIMAL(12, 1) FROM (VALUES (4300000000)) AS t(v)";
        assert_eq!(ask(sql).unwrap(), ["4300000000.00 | 4300000000.0"]);
    }

    #[test]
    fn datafusion_alone_takes_times_of_day_for_sorted() {
        let sql = "SELECT CAST(a AS TIME) AS t FROM (SELECT a FROM (VALUES (TIMESTAMP '2026-09-01 23:00:00'), (TIMESTAMP '2026-09-02 09:00:00')) AS t(a) ORDER BY a LIMIT 2) ORDER BY t";
        let found = block_on(async { plain(2).sql(sql).await.unwrap().collect().await.unwrap() });
        assert_eq!(rows(&found), ["23:00:00", "09:00:00"]);
    }

    #[test]
    fn datafusion_alone_fails() {
        let alone = block_on(async { plain(2).sql(SQL).await?.collect().await });
        let error = alone.map(|batches| rows(&batches)).unwrap_err();
        assert!(
            error.to_string().contains("greater than the upper bound"),
            "{error}"
        );
    }
}
