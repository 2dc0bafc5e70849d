//! What counts rows or elements is a BIGINT, as in other databases: ranks, and lengths of lists.
//!
//! In DataFusion 55.2 these are unsigned: `array_length`, `cardinality`, `array_position`, `array_ndims`, `row_number`, `rank`, `dense_rank` and
//! `ntile`. With any other integer they become decimals, so that `7 / rank() OVER (..)` has a fraction where `7 / 2` has none, and a
//! join by such a column and a BIGINT casts both sides.
//!
//! Delete when they are signed in DataFusion: `datafusion_alone_divides_with_a_fraction` then fails.

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowFunctionSimplification, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use std::ops::Range;
use std::sync::Arc;

const COUNTS: [&str; 8] = [
    "array_length",
    "cardinality",
    "array_ndims",
    "array_position",
    "row_number",
    "rank",
    "dense_rank",
    "ntile",
];

/// Puts signed functions in the place of DataFusion's in a session's lists.
pub(in crate::engine) fn sign(scalar: &mut [Arc<ScalarUDF>], window: &mut [Arc<WindowUDF>]) {
    for function in scalar {
        if COUNTS.contains(&function.name()) {
            *function = Arc::new(ScalarUDF::from(Signed(function.clone())));
        }
    }
    for function in window {
        if COUNTS.contains(&function.name()) {
            *function = Arc::new(WindowUDF::from(SignedRank(function.clone())));
        }
    }
}

/// A count of elements is never beyond 64 bits with a sign.
fn signed(array: ArrayRef) -> Result<ArrayRef> {
    Ok(cast(&array, &DataType::Int64)?)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Signed(Arc<ScalarUDF>);

impl ScalarUDFImpl for Signed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // What the function itself promises, which an unoptimised build compares with what it gives.
        let types: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|f| f.data_type().clone())
            .collect();
        let own = self.0.return_type(&types)?;
        args.return_field = Arc::new(args.return_field.as_ref().clone().with_data_type(own));
        Ok(match self.0.invoke_with_args(args)? {
            ColumnarValue::Array(array) => ColumnarValue::Array(signed(array)?),
            ColumnarValue::Scalar(value) => ColumnarValue::Scalar(value.cast_to(&DataType::Int64)?),
        })
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(arguments)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SignedRank(Arc<WindowUDF>);

impl WindowUDFImpl for SignedRank {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.0.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let evaluator = self.0.partition_evaluator_factory(args)?;
        Ok(Box::new(SignedEvaluator(evaluator)))
    }

    fn simplify(&self) -> Option<WindowFunctionSimplification> {
        self.0.simplify()
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let field = self.0.field(args)?.as_ref().clone();
        Ok(Arc::new(field.with_data_type(DataType::Int64)))
    }

    fn sort_options(&self) -> Option<datafusion::arrow::compute::SortOptions> {
        self.0.sort_options()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(arguments)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        self.0.reverse_expr()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn limit_effect(&self, arguments: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.0.inner().limit_effect(arguments)
    }
}

#[derive(Debug)]
struct SignedEvaluator(Box<dyn PartitionEvaluator>);

impl PartitionEvaluator for SignedEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.0.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.0.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.0.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        signed(self.0.evaluate_all(values, rows)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.0.evaluate(values, range)?.cast_to(&DataType::Int64)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        signed(self.0.evaluate_all_with_rank(rows, ranks)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.0.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.0.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.0.include_rank()
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    const ROWS: &str = "FROM (VALUES (1, 'a'), (2, 'a'), (2, 'b'), (NULL, 'b')) AS t(v, g)";

    /// By hand, and as DuckDB 1.4.2 answers (with `//` for its division of integers).
    #[test]
    fn ranks_are_signed_and_divide_without_a_fraction() {
        for (rank, answer) in [
            ("row_number() OVER (ORDER BY v, g)", ["7", "3", "2", "1"]),
            ("rank() OVER (ORDER BY v)", ["7", "3", "3", "1"]),
            ("dense_rank() OVER (ORDER BY v)", ["7", "3", "3", "2"]),
            ("ntile(2) OVER (ORDER BY v, g)", ["7", "7", "3", "3"]),
            (
                "row_number() OVER (PARTITION BY g ORDER BY v DESC)",
                ["3", "7", "7", "3"],
            ),
        ] {
            let sql = format!("SELECT 7 / {rank}, arrow_typeof({rank}) {ROWS} ORDER BY v, g");
            let answer = answer.map(|quotient| format!("{quotient} | Int64"));
            assert_eq!(ask(&sql).unwrap(), answer, "{rank}");
        }
        let first = format!(
            "SELECT v FROM (SELECT v, rank() OVER (ORDER BY v DESC) AS r {ROWS}) AS t WHERE r - 2 < 0 ORDER BY v"
        );
        assert_eq!(ask(&first).unwrap(), ["2", "2"]);
    }

    #[test]
    fn lengths_are_signed() {
        let list = "[4, 5, 6]";
        for (length, answer) in [
            ("array_length", "2 | Int64"),
            ("cardinality", "2 | Int64"),
            ("list_length", "2 | Int64"),
            ("array_ndims", "7 | Int64"),
        ] {
            let sql = format!("SELECT 7 / {length}({list}), arrow_typeof({length}({list}))");
            assert_eq!(ask(&sql).unwrap(), [answer], "{length}");
        }
        assert_eq!(
            ask(&format!("SELECT 7 / array_position({list}, 5), array_length(v) FROM (VALUES ([1]), (NULL)) AS t(v) ORDER BY 2")).unwrap(),
            ["3 | 1", "3 | NULL"]
        );
    }

    #[test]
    fn datafusion_alone_divides_with_a_fraction() {
        let sql = "SELECT 7 / array_length([4, 5])";
        let found = block_on(async { plain(2).sql(sql).await?.collect().await });
        assert_eq!(rows(&found.unwrap()), ["3.5000"]);
    }
}
