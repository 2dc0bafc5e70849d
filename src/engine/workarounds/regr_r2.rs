//! `regr_r2(y, x)` of one y and several x is 1: the line meets every point. DataFusion 55.2 gives NULL, which the SQL standard (ISO 9075-2, 10.9) keeps for
//! one x.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

/// DataFusion's accumulator, corrected.
#[derive(Debug)]
pub(super) struct RegrR2(pub(super) Box<dyn Accumulator>);

impl Accumulator for RegrR2 {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = self.0.evaluate()?;
        // The state is the count, the means of x and y, their sums of squared deviations, and that of the products.
        match &self.0.state()?[..] {
            [
                _,
                _,
                _,
                ScalarValue::Float64(Some(x)),
                ScalarValue::Float64(Some(y)),
                _,
            ] if found.is_null() && *x > 0.0 && *y == 0.0 => Ok(ScalarValue::from(1.0)),
            _ => Ok(found),
        }
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    /// PostgreSQL 15 and DuckDB 1.4.2 say the same.
    #[test]
    fn one_y_is_met_by_its_line_and_one_x_is_not_known() {
        for (values, found) in [
            ("(5, 1), (5, 2), (5, 4)", "1.0"),
            ("(5, 1), (7, 1)", "NULL"),
            ("(5, 1)", "NULL"),
            ("(5, 1), (5, 1)", "NULL"),
            ("(2, 1), (4, 2), (NULL, 7)", "1.0"),
            ("(1, 1), (2, 2), (1, 3)", "0.0"),
        ] {
            let t = format!("(VALUES {values}) AS t(y, x)");
            let sql = format!("SELECT round(regr_r2(y, x), 9) FROM {t}");
            assert_eq!(ask(&sql).unwrap(), [found], "{sql}");
            let sql = format!(
                "SELECT round(max(r), 9) FROM (SELECT regr_r2(y, x) OVER () AS r FROM {t})"
            );
            assert_eq!(ask(&sql).unwrap(), [found], "{sql}");
        }
        let sql = "SELECT g, regr_r2(y, x) FROM (VALUES (1, 5, 1), (1, 5, 2), (2, 5, 1)) AS t(g, y, x) GROUP BY g ORDER BY g";
        assert_eq!(ask(sql).unwrap(), ["1 | 1.0", "2 | NULL"]);
    }

    #[test]
    fn datafusion_does_not_know() {
        let sql = "SELECT regr_r2(y, x) FROM (VALUES (5, 1), (5, 2)) AS t(y, x)";
        let found = block_on(async { plain(2).sql(sql).await.unwrap().collect().await.unwrap() });
        assert_eq!(rows(&found), ["NULL"]);
    }
}
