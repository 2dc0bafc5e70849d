//! Aggregates of floats over a frame whose first row moves.
//!
//! DataFusion 55.2 takes the values that leave the frame out of the sum again. What a large value took from the others by rounding does not come back, and an
//! infinity leaves a NaN for good: of 1e20, 1, 2, 3 the last two rows of `ROWS 1 PRECEDING` add up to 0 and 2. Here nothing is taken out: the values in the
//! frame lie on two stacks, as of a queue.
//!
//! ```text
//!  leave here   <-- | front: partial results of its values from each one on | back: one partial result of its values | <-- come in here
//! ```
//!
//! Once the front is empty the back is turned over to it. Each value is then added twice, however wide the frame is.

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// What makes an accumulator that takes nothing out.
type Make = dyn Fn(AccumulatorArgs) -> Result<Box<dyn Accumulator>> + Send + Sync;

/// The accumulator of a moving frame.
pub(super) struct MovingFrame {
    make: Box<Make>,
    args: OwnedArgs,
    /// States of the values of the front, from the oldest on at the end.
    front: Vec<Vec<ScalarValue>>,
    /// The values of the back, as they came, and their accumulator.
    back_values: Vec<Vec<ArrayRef>>,
    back: Box<dyn Accumulator>,
}

impl MovingFrame {
    /// Over accumulators that `make` makes, whose state does not change by being asked for.
    pub(super) fn new(
        args: &AccumulatorArgs,
        make: impl Fn(AccumulatorArgs) -> Result<Box<dyn Accumulator>> + Send + Sync + 'static,
    ) -> Result<Self> {
        let args = OwnedArgs::new(args);
        let back = make(args.lend())?;
        Ok(Self {
            make: Box::new(make),
            args,
            front: vec![],
            back_values: vec![],
            back,
        })
    }

    fn empty(&self) -> Result<Box<dyn Accumulator>> {
        (self.make)(self.args.lend())
    }

    /// An accumulator of all values in the frame.
    fn all(&mut self) -> Result<Box<dyn Accumulator>> {
        let mut all = self.empty()?;
        let states = [self.front.last().cloned(), Some(self.back.state()?)];
        for state in states.into_iter().flatten() {
            let state = state.iter().map(ScalarValue::to_array);
            all.merge_batch(&state.collect::<Result<Vec<ArrayRef>>>()?)?;
        }
        Ok(all)
    }

    /// Turns the back over to the front.
    fn turn(&mut self) -> Result<()> {
        let mut from_here = self.empty()?;
        for values in std::mem::take(&mut self.back_values).into_iter().rev() {
            let rows = values.first().map_or(0, |column| column.len());
            for row in (0..rows).rev() {
                let row: Vec<ArrayRef> = values.iter().map(|column| column.slice(row, 1)).collect();
                from_here.update_batch(&row)?;
                self.front.push(from_here.state()?);
            }
        }
        self.back = self.empty()?;
        Ok(())
    }
}

impl Accumulator for MovingFrame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.back_values.push(values.to_vec());
        self.back.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let leaving = values.first().map_or(0, |column| column.len());
        for _ in 0..leaving {
            if self.front.is_empty() {
                self.turn()?;
            }
            self.front.pop();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.all()?.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.all()?.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.back.merge_batch(states)
    }

    fn size(&self) -> usize {
        let state = self
            .front
            .first()
            .map_or(0, |state| state.len() * size_of::<ScalarValue>());
        let values = self.back_values.iter().flatten();
        size_of_val(self)
            + self.front.len() * (state + size_of::<Vec<ScalarValue>>())
            + values
                .map(|column| column.get_array_memory_size())
                .sum::<usize>()
            + self.back.size()
    }
}

impl Debug for MovingFrame {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "MovingFrame({:?})", self.back)
    }
}

/// What an accumulator is made of.
struct OwnedArgs {
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl OwnedArgs {
    fn new(args: &AccumulatorArgs) -> Self {
        Self {
            return_field: args.return_field.clone(),
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_reversed: args.is_reversed,
            name: args.name.into(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn lend(&self) -> AccumulatorArgs<'_> {
        AccumulatorArgs {
            return_field: self.return_field.clone(),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so does PostgreSQL, which adds each frame up anew.
    #[test]
    fn what_left_the_frame_is_not_in_it() {
        const PRECEDING: &str = "rows between 1 preceding and current row";
        const FOLLOWING: &str = "rows between current row and unbounded following";
        for (aggregate, frame, values, rows) in [
            (
                "sum(x)",
                PRECEDING,
                "('inf'::double, 1), (1.0, 2), (2.0, 3), (3.0, 4)",
                ["inf", "inf", "3.0", "5.0"],
            ),
            (
                "avg(x)",
                PRECEDING,
                "('nan'::double, 1), (1.0, 2), (2.0, 3), (3.0, 4)",
                ["NaN", "NaN", "1.5", "2.5"],
            ),
            (
                "sum(x)",
                PRECEDING,
                "(1e20, 1), (1.0, 2), (2.0, 3), (NULL, 4)",
                ["1e20", "1e20", "3.0", "2.0"],
            ),
            (
                "stddev(x)",
                PRECEDING,
                "(1e9, 1), (0.1, 2), (0.1, 3), (0.1, 4)",
                ["NULL", "707106781.1158369", "0.0", "0.0"],
            ),
            (
                "stddev_pop(cast(x as bigint))",
                PRECEDING,
                "(1e15, 1), (1, 2), (3, 3), (7, 4)",
                ["0.0", "499999999999999.5", "1.0", "2.0"],
            ),
            (
                "sum(x)",
                FOLLOWING,
                "(1e17, 1), (1.0, 2), (3.0, 3), (0.5, 4)",
                ["1e17", "4.5", "3.5", "0.5"],
            ),
            (
                "sum(x)",
                "rows between 2 preceding and 1 preceding",
                "(1.5, 1), (NULL, 2), (2.0, 3), (4.0, 4)",
                ["NULL", "1.5", "1.5", "2.0"],
            ),
        ] {
            let sql = format!(
                "SELECT coalesce(cast({aggregate} over (order by y {frame}) as varchar), 'NULL') FROM (VALUES {values}) AS t(x, y) ORDER BY y"
            );
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }

    /// Beside the sums of each frame by itself.
    #[test]
    fn frames_of_all_widths_are_those_of_their_rows() {
        for width in [0, 1, 2, 7, 300] {
            let sql = format!(
                "WITH t AS (SELECT value AS i, (value * 7919) % 1009 + 0.25 AS x FROM generate_series(1, 400)), \
                 w AS (SELECT i, sum(x) OVER f AS s, avg(x) OVER f AS a, var_pop(x) OVER f AS v, corr(x, i) OVER f AS c FROM t \
                   WINDOW f AS (ORDER BY i ROWS BETWEEN {width} PRECEDING AND CURRENT ROW)), \
                 e AS (SELECT a.i, sum(b.x) AS s, avg(b.x) AS a, var_pop(b.x) AS v, corr(b.x, b.i) AS c FROM t a JOIN t b ON b.i BETWEEN a.i - {width} AND a.i GROUP BY a.i) \
                 SELECT count(*) FROM w JOIN e ON w.i = e.i \
                 WHERE abs(w.s - e.s) > 1e-9 * e.s OR abs(w.a - e.a) > 1e-9 * e.a OR abs(w.v - e.v) > 1e-9 * (e.v + 1) OR abs(w.c - e.c) > 1e-9 OR (w.c IS NULL) <> (e.c IS NULL)"
            );
            assert_eq!(ask(&sql).unwrap(), ["0"], "{width}");
        }
    }
}
