//! Conditions that somebody typed, alone or in a statement around them.

use super::logical::local_times;
use super::{Engine, Question, Rows, blocking};
use crate::error::{Error, Result};
use datafusion::arrow::array::{AsArray, BooleanArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::DFSchema;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

impl Engine {
    /// As [`Engine::run`], but a time without an offset that is written down beside a time is one of the zone of the session, as the times that named queries are given are.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn run_in_zone(&self, sql: &str) -> Result<Rows> {
        let Question { statement, calls } = self.one(sql)?;
        // The lakes are pinned, so that after an empty answer names are looked up in the version that gave it.
        let engine = self.clone();
        let (pinned, _) = blocking(move || engine.pinned()).await?;
        let (state, plan) = pinned.plan(statement).await?.into_parts();
        let plan = local_times::in_zone(plan, self.zone()?).map_err(|e| self.error(e))?;
        let rows = pinned.run_frame(DataFrame::new(state, plan)).await?;
        Ok(Rows { calls, ..rows })
    }

    /// For which rows a condition over their columns holds, with times as [`Engine::run_in_zone`] has them; NULL where it is neither true nor false.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is no condition, or cannot be computed.
    pub fn condition(&self, condition: &str, rows: &RecordBatch) -> Result<BooleanArray> {
        let zone = self.zone()?;
        let evaluate = || -> PlanResult<_> {
            let schema = Arc::new(DFSchema::try_from(rows.schema())?);
            let condition = self.context.parse_sql_expr(condition, &schema)?;
            let relation = LogicalPlan::EmptyRelation(EmptyRelation {
                produce_one_row: false,
                schema: schema.clone(),
            });
            let plan = LogicalPlanBuilder::from(relation)
                .filter(condition)?
                .build()?;
            let plan = local_times::in_zone(plan, zone)?;
            let LogicalPlan::Filter(filter) = plan else {
                return datafusion::common::internal_err!("a filter became another node");
            };
            let state = self.context.state();
            let context = SimplifyContext::builder()
                .with_schema(schema.clone())
                .with_config_options(state.config_options().clone())
                .with_query_execution_start_time(
                    state.execution_props().query_execution_start_time,
                );
            let simplifier = ExprSimplifier::new(context.build());
            // Functions such as coalesce and now are nothing but what they are simplified to.
            let condition = simplifier.simplify(simplifier.coerce(filter.predicate, &schema)?)?;
            let condition = state.create_physical_expr(condition, &schema)?;
            condition.evaluate(rows)?.into_array(rows.num_rows())
        };
        let holds = evaluate().map_err(|e| self.error(e))?;
        let holds = holds.as_boolean_opt().cloned();
        holds.ok_or_else(|| Error::Invalid(format!("`{condition}` is no condition")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::engine::tests::block_on;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::Int64Type;

    /// Midnight in Berlin is 22:00 UTC of the day before.
    #[test]
    fn a_written_time_beside_a_time_is_one_of_the_zone() {
        let engine = Engine::new(EngineOptions {
            zone: Some(chrono_tz::Tz::Europe__Berlin),
            ..EngineOptions::default()
        });
        let engine = engine.unwrap();
        const T: &str = "(SELECT timestamptz '2026-09-09T22:00:00Z' AS t, DATE '2026-09-09' AS d, '2026-09-10' AS word) AS s";
        for condition in [
            "t = '2026-09-10'",
            "t >= '2026-09-10' AND t < '2026-09-10 00:01'",
            "'2026-09-10 00:00' <= t",
            "t = DATE '2026-09-10'",
            "t = TIMESTAMP '2026-09-10 00:00:00'",
            "t = CAST('2026-09-10' AS TIMESTAMP)",
            "t BETWEEN '2026-09-10' AND '2026-09-11'",
            "t NOT BETWEEN '2026-09-09' AND '2026-09-09 23:59'",
            "t IN ('2026-09-10', '2026-09-11')",
            "t < DATE '2026-09-10' + INTERVAL '1 minute'",
            "t + INTERVAL '1 day' = '2026-09-11'",
            "t IS NOT DISTINCT FROM '2026-09-10'",
            "coalesce(t, now()) = '2026-09-10'",
            "EXISTS (SELECT 1 FROM (SELECT 1 AS one) AS u WHERE t = '2026-09-10')",
            "(CASE WHEN t = '2026-09-10' THEN 1 END) = 1",
            // What has an offset or a zone of its own is what it says, and what is cut in UTC is compared there.
            "t = '2026-09-09T22:00:00Z'",
            "t = TIMESTAMP '2026-09-10T00:00:00+02:00'",
            "t AT TIME ZONE 'Asia/Tokyo' = '2026-09-10 07:00:00'",
            "t = '2026-09-09 22:00:00' AT TIME ZONE 'UTC'",
            "date_trunc('day', t) = '2026-09-09'",
            "CAST(t AS DATE) = '2026-09-09' AND d = '2026-09-09' AND d = DATE '2026-09-09'",
            "word = '2026-09-10'",
        ] {
            let sql = format!("SELECT count(*) FROM {T} WHERE {condition}");
            let rows = block_on(async { engine.run_in_zone(&sql).await?.collect().await }).unwrap();
            let count = rows[0].column(0).as_primitive::<Int64Type>().value(0);
            assert_eq!(count, 1, "{condition}");
        }
        let in_utc = format!("SELECT count(*) FROM {T} WHERE t = '2026-09-10'");
        let rows = block_on(async { engine.run(&in_utc).await?.collect().await }).unwrap();
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 0);
    }
}
