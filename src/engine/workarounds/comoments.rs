//! Correlation, covariance and linear regression, of moments of pairs: their count, their means, the sums of squared deviations and of products.
//!
//! DataFusion 55.2 computes `corr` by group of sums of squares, which keep no digit of values far from 0: of 1e9 + n % 10 it is NaN. Where it merges parts it gives a
//! constant a spread, so that its correlation is not NULL but any number. And `regr_r2` of one y is NULL there; it is 1, for the line meets every point.
//! Here deviations are from the mean as it goes (Welford 1962) of what is left of a value without the first one, and parts are merged by the difference of their means (Chan, Golub and LeVeque 1979), which is 0
//! for a constant. What is not defined is NULL, as the SQL standard has it (ISO 9075-2, 10.9).

use crate::engine::functions::passing;
use crate::engine::logical::canonical_floats::float;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// What is computed of pairs (y, x).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) enum Statistic {
    /// Pearson's correlation coefficient.
    Corr,
    CovarPop,
    CovarSamp,
    Slope,
    Intercept,
    R2,
    AvgX,
    AvgY,
    Sxx,
    Syy,
    Sxy,
}

/// Moments of pairs. All are of the differences from the first pair, which are small where the values are far from 0.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    first_x: f64,
    first_y: f64,
    x: f64,
    y: f64,
    sxx: f64,
    syy: f64,
    sxy: f64,
}

const FIELDS: [&str; 8] = ["count", "first_x", "first_y", "x", "y", "sxx", "syy", "sxy"];

impl Moments {
    fn add(&mut self, y: f64, x: f64) {
        if self.count == 0.0 {
            (self.first_x, self.first_y) = (x, y);
        }
        self.count += 1.0;
        let (x, y) = (x - self.first_x, y - self.first_y);
        let (from_x, from_y) = (x - self.x, y - self.y);
        self.x += from_x / self.count;
        self.y += from_y / self.count;
        self.sxx += from_x * (x - self.x);
        self.syy += from_y * (y - self.y);
        self.sxy += from_x * (y - self.y);
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let x = other.first_x - self.first_x + (other.x - self.x);
        let y = other.first_y - self.first_y + (other.y - self.y);
        let (share, weight) = (other.count / count, self.count * other.count / count);
        self.sxx += other.sxx + x * x * weight;
        self.syy += other.syy + y * y * weight;
        self.sxy += other.sxy + x * y * weight;
        self.x += x * share;
        self.y += y * share;
        self.count = count;
    }

    /// None of what is not defined.
    fn of(&self, statistic: Statistic) -> Option<f64> {
        let least = match statistic {
            Statistic::CovarSamp => 2.0,
            _ => 1.0,
        };
        if self.count < least {
            return None;
        }
        let (mean_x, mean_y) = (self.first_x + self.x, self.first_y + self.y);
        let slope = || (self.sxx != 0.0).then(|| self.sxy / self.sxx);
        let found = match statistic {
            Statistic::Corr => {
                let is_defined = self.sxx != 0.0 && self.syy != 0.0;
                let corr = self.sxy / self.sxx.sqrt() / self.syy.sqrt();
                is_defined.then(|| corr.clamp(-1.0, 1.0))?
            }
            Statistic::CovarPop => self.sxy / self.count,
            Statistic::CovarSamp => self.sxy / (self.count - 1.0),
            Statistic::Slope => slope()?,
            Statistic::Intercept => mean_y - slope()? * mean_x,
            Statistic::R2 => match self.syy {
                0.0 => slope().map(|_| 1.0)?,
                syy => slope()? * (self.sxy / syy),
            },
            Statistic::AvgX => mean_x,
            Statistic::AvgY => mean_y,
            Statistic::Sxx => self.sxx,
            Statistic::Syy => self.syy,
            Statistic::Sxy => self.sxy,
        };
        Some(float(found))
    }

    fn numbers(&self) -> [f64; FIELDS.len()] {
        [
            self.count,
            self.first_x,
            self.first_y,
            self.x,
            self.y,
            self.sxx,
            self.syy,
            self.sxy,
        ]
    }
}

/// The fields of a partial state.
pub(super) fn state_fields(name: &str) -> Vec<FieldRef> {
    let field = |of| Field::new(format_state_name(name, of), DataType::Float64, true);
    FIELDS.iter().map(|of| Arc::new(field(of))).collect()
}

/// The statistic of many groups.
#[derive(Debug)]
pub(super) struct Groups {
    statistic: Statistic,
    groups: Vec<Moments>,
}

impl Groups {
    pub(super) fn new(statistic: Statistic) -> Self {
        Self {
            statistic,
            groups: vec![],
        }
    }
}

/// Columns as floats.
fn floats<const N: usize>(columns: &[ArrayRef]) -> Result<[Float64Array; N]> {
    let floats = columns.iter().map(|column| {
        let column = cast(column, &DataType::Float64)?;
        Ok(column.as_primitive::<Float64Type>().clone())
    });
    match floats.collect::<Result<Vec<_>>>()?.try_into() {
        Ok(floats) => Ok(floats),
        Err(_) => exec_err!("expected {N} columns of numbers, got {}", columns.len()),
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize(total, Moments::default());
        let [y, x] = floats(values)?;
        for row in passing(groups.len(), filter) {
            if y.is_valid(row) && x.is_valid(row) {
                self.groups[groups[row]].add(y.value(row), x.value(row));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize(total, Moments::default());
        let [count, first_x, first_y, x, y, sxx, syy, sxy] = floats(states)?;
        for (row, group) in groups.iter().enumerate() {
            self.groups[*group].merge(&Moments {
                count: count.value(row),
                first_x: first_x.value(row),
                first_y: first_y.value(row),
                x: x.value(row),
                y: y.value(row),
                sxx: sxx.value(row),
                syy: syy.value(row),
                sxy: sxy.value(row),
            });
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        let values = groups.iter().map(|group| group.of(self.statistic));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let column = |of: usize| -> ArrayRef {
            let numbers = groups.iter().map(|group| group.numbers()[of]);
            Arc::new(Float64Array::from_iter_values(numbers))
        };
        Ok((0..FIELDS.len()).map(column).collect())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut rows = Self::new(self.statistic);
        let groups: Vec<usize> = (0..values[0].len()).collect();
        rows.update_batch(values, &groups, filter, groups.len())?;
        rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments>()
    }
}

/// The statistic of all rows.
#[derive(Debug)]
pub(super) struct Single(Groups);

impl Single {
    pub(super) fn new(statistic: Statistic) -> Self {
        let mut groups = Groups::new(statistic);
        groups.groups.push(Moments::default());
        Self(groups)
    }
}

/// The group of each row.
fn zeros(columns: &[ArrayRef]) -> Vec<usize> {
    vec![0; columns.first().map_or(0, |column| column.len())]
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &zeros(values), None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &zeros(states), 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = self.0.groups[0].of(self.0.statistic);
        Ok(ScalarValue::Float64(found))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let numbers = self.0.groups[0].numbers();
        Ok(numbers.map(ScalarValue::from).into())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    /// PostgreSQL 15 says the same, and but for NULL of what is not defined DuckDB 1.4.2.
    #[test]
    fn what_is_not_defined_is_null_however_rows_are_put_together() {
        for (values, found) in [
            ("(5, 1), (5, 2), (5, 4)", ["NULL", "0.0", "5.0", "1.0"]),
            ("(5, 1), (7, 1)", ["NULL"; 4]),
            ("(5, 1)", ["NULL"; 4]),
            ("(2, 1), (4, 2), (NULL, 7)", ["1.0", "2.0", "0.0", "1.0"]),
            (
                "(1, 1), (2, 2), (1, 3)",
                ["0.0", "0.0", "1.333333333", "0.0"],
            ),
        ] {
            let t = format!("(VALUES {values}) AS t(y, x)");
            let functions = ["corr", "regr_slope", "regr_intercept", "regr_r2"];
            for (function, found) in functions.into_iter().zip(found) {
                let term = format!("{function}(y, x)");
                for sql in [
                    format!("SELECT round({term}, 9) FROM {t}"),
                    format!("SELECT round(max(r), 9) FROM (SELECT {term} OVER () AS r FROM {t})"),
                    format!("SELECT round({term}, 9) FROM {t} GROUP BY coalesce(y, 0) > 100"),
                ] {
                    let rows = ask(&sql).unwrap();
                    assert_eq!(rows[0], found, "{sql}");
                }
            }
        }
    }

    /// By hand: of 0 to 9 beside 0 to 999 in tens the covariance is the same 8.25 with any number added, and the sums of squares are 8250 and 83333250.
    #[test]
    fn values_far_from_zero_keep_their_digits() {
        const T: &str = "generate_series(0, 999) AS t(n)";
        for by in ["", "GROUP BY n < 2000"] {
            for (term, found) in [
                ("corr(1e9 + n % 10, n)", 0.009_949_879_346),
                ("covar_pop(1e9 + n % 10, n)", 8.25),
                ("covar_samp(n, 1e9 + n % 10)", 8.258_258_258),
                ("regr_slope(1e9 + n % 10, n)", 0.000_099_000_1),
                ("regr_sxx(n, 1e9 + n % 10)", 8250.0),
                ("regr_avgy(1e9 + n % 10, n)", 1_000_000_004.5),
            ] {
                let sql = format!("SELECT {term} FROM {T} {by}");
                let row: f64 = ask(&sql).unwrap()[0].parse().unwrap();
                assert!((row - found).abs() <= 1e-6 * found, "{sql}: {row}");
            }
        }
        let sql = "SELECT count(*) FROM (SELECT corr(n, 0.2) AS r FROM generate_series(1, 100000) AS t(n) GROUP BY n % 7) AS s WHERE r IS NULL";
        assert_eq!(ask(sql).unwrap(), ["7"]);
        let sql = "SELECT count(*) FROM (SELECT corr(n, 0.2) OVER (ORDER BY n ROWS BETWEEN 20 PRECEDING AND 5 FOLLOWING) AS r FROM generate_series(1, 1000) AS t(n)) AS s WHERE r IS NULL";
        assert_eq!(ask(sql).unwrap(), ["1000"]);
    }

    /// If this fails, DataFusion is right, and this file goes.
    #[test]
    fn datafusion_does_not_know() {
        let ask = |sql: &str| {
            let found =
                block_on(async { plain(2).sql(sql).await.unwrap().collect().await.unwrap() });
            rows(&found)
        };
        let sql = "SELECT regr_r2(y, x) FROM (VALUES (5, 1), (5, 2)) AS t(y, x)";
        assert_eq!(ask(sql), ["NULL"]);
        let sql = "SELECT corr(1e9 + n % 10, n) BETWEEN 0.009 AND 0.01 AS right FROM generate_series(0, 999) AS t(n) GROUP BY n < 2000";
        assert_eq!(ask(sql), ["false"]);
    }
}
