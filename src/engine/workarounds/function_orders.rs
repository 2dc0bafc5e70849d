//! `ORDER BY abs(a - b)`, `ORDER BY sqrt(x)`: functions that do not know the order of their values say so, instead of an error.
//!
//! DataFusion 55.2 asks a function for the order of its values, given orders and bounds of its arguments. Logarithms, roots and inverse functions of
//! angles answer with an error where the bounds go beyond their domain; these and `abs` and `cosh` do so where the bounds have no type, as those of any function's
//! values. An expression with such an error counts as unordered, above the very sort by it, and the check of the plan refuses the query.
//!
//! Delete when DataFusion takes such an order as unknown: `datafusion_alone_refuses_to_sort_by_a_root` then fails.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{ExprSchema, Result};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};
use std::sync::Arc;

const WITH_ERRORS: [&str; 11] = [
    "abs", "acos", "acosh", "asin", "atanh", "cosh", "ln", "log", "log10", "log2", "sqrt",
];

/// Puts functions whose order may be unknown in the place of DataFusion's in a session's list.
pub(in crate::engine) fn correct(functions: &mut [Arc<ScalarUDF>]) {
    for function in functions {
        if WITH_ERRORS.contains(&function.name()) {
            *function = Arc::new(ScalarUDF::from(MayBeUnordered(function.clone())));
        }
    }
}

/// A function as it is but for its order.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MayBeUnordered(Arc<ScalarUDF>);

impl ScalarUDFImpl for MayBeUnordered {
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let order = self.0.inner().output_ordering(inputs);
        Ok(order.unwrap_or(SortProperties::Unordered))
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.0.return_type(arguments)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.inner().return_field_from_args(arguments)
    }

    fn is_nullable(&self, arguments: &[Expr], schema: &dyn ExprSchema) -> bool {
        #[expect(deprecated)]
        self.0.inner().is_nullable(arguments, schema)
    }

    fn is_strict(&self) -> bool {
        self.0.inner().is_strict()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(arguments)
    }

    fn simplify(
        &self,
        arguments: Vec<Expr>,
        context: &SimplifyContext,
    ) -> Result<ExprSimplifyResult> {
        self.0.inner().simplify(arguments, context)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.0.inner().evaluate_bounds(inputs)
    }

    fn propagate_constraints(
        &self,
        interval: &Interval,
        inputs: &[&Interval],
    ) -> Result<Option<Vec<Interval>>> {
        self.0.inner().propagate_constraints(interval, inputs)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.0.inner().coerce_types(arguments)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }
}

#[cfg(test)]
mod tests {
    use super::WITH_ERRORS;
    use crate::engine::functions::tests::ask;
    use crate::engine::tests::{block_on, plain, rows};

    /// Two partitions, whose sorted rows are merged.
    const ROWS: &str = "(SELECT 3 AS v UNION ALL SELECT -1 UNION ALL SELECT 2) AS t";

    #[test]
    fn rows_can_be_sorted_by_any_function_of_a_function() {
        for (by, answer) in [
            ("abs(v)", ["-1", "2", "3"]),
            ("abs(v - 3)", ["3", "2", "-1"]),
            ("abs(coalesce(v, 1)) DESC", ["3", "2", "-1"]),
            ("sqrt(v + 1)", ["-1", "2", "3"]),
            ("sqrt(greatest(v, 0)) DESC", ["3", "2", "-1"]),
            ("log(2, v + 2), v", ["-1", "2", "3"]),
        ] {
            let sql = format!("SELECT v FROM {ROWS} ORDER BY {by}");
            assert_eq!(ask(&sql).unwrap(), answer, "{by}");
            let first = format!("{sql} LIMIT 1");
            assert_eq!(ask(&first).unwrap(), answer[..1], "{by}");
        }
        for function in WITH_ERRORS {
            let arguments = if function == "log" { "2, w" } else { "w" };
            let by = format!("{function}({arguments})");
            let sql = format!(
                "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY {by}) AS n, w FROM (SELECT 1.0::double AS w UNION ALL SELECT 1.0::double) AS t ORDER BY {by})"
            );
            assert_eq!(ask(&sql).unwrap(), ["2"], "{by}");
        }
    }

    #[test]
    fn datafusion_alone_refuses_to_sort_by_a_root() {
        for by in ["sqrt(v)", "abs(power(v, 3))"] {
            let sql = format!("SELECT v FROM {ROWS} ORDER BY {by}");
            let found = block_on(async { plain(2).sql(&sql).await?.collect().await });
            let refused = found
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(
                refused.contains("does not satisfy order requirements"),
                "{by}: {refused}"
            );
        }
        let found = block_on(async { plain(2).sql("SELECT sqrt(4)").await?.collect().await });
        assert_eq!(rows(&found.unwrap()), ["2.0"]);
    }
}
