//! `date_part` in conditions of years that a time cannot have.
//!
//! DataFusion 55.2 makes a range of times of `date_part('year', t) > 0`. The first second of the year 0 does not fit into 64 bits of
//! nanoseconds and wraps, so that no row is left. Ranges are made of the years 1900 to 2199 here, which fit; other conditions are looked at row by row. `extract(year FROM t)` is
//! planned with DataFusion's own function, whatever the session has under that name: [`Extract`] plans it with this one.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::date_part::DatePartFunc;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// DataFusion's function, of which ranges of times are made in some years alone.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DatePart(DatePartFunc);

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        self.0.return_type(args)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(args)
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        match literal.as_literal() {
            Some(ScalarValue::Int32(Some(1900..2200))) => self.0.preimage(args, literal, info),
            _ => Ok(PreimageResult::None),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }
}

/// Plans `extract(part FROM t)`.
#[derive(Debug)]
pub(crate) struct Extract;

impl ExprPlanner for Extract {
    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let function = Arc::new(ScalarUDF::from(DatePart::default()));
        let call = ScalarFunction::new_udf(function, args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn a_year_is_compared_with_any_number() {
        const T: &str = "(VALUES (timestamp '2024-01-01 00:00:00'), (NULL)) AS s(t)";
        for year in ["extract(year FROM t)", "date_part('year', t)"] {
            for condition in [
                "<> 0",
                "< 3000",
                "> 2",
                "IS DISTINCT FROM 2",
                "= 2024",
                "BETWEEN -5 AND 100000",
                "IN (2, 2024)",
            ] {
                for time in [
                    "t",
                    "t AT TIME ZONE 'UTC'",
                    "t::date",
                    "arrow_cast(t, 'Timestamp(Microsecond, None)')",
                ] {
                    let year = year.replace("t)", &format!("{time})"));
                    let sql = format!(
                        "SELECT count(*) FROM {T} WHERE t IS NOT NULL AND {year} {condition}"
                    );
                    assert_eq!(ask(&sql).unwrap(), ["1"], "{sql}");
                }
            }
        }
    }
}
