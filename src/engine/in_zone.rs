//! Statements around a condition that somebody typed.

use super::logical::local_times;
use super::{Engine, Question, Rows, blocking};
use crate::error::Result;
use datafusion::dataframe::DataFrame;

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
