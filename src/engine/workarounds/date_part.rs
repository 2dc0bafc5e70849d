//! `date_part` in conditions of years that a time cannot have.
//!
//! DataFusion 55.2 makes a range of times of `date_part('year', t) > 0`. The first second of the year 0 does not fit into 64 bits of
//! nanoseconds and wraps, so that no row is left. Ranges are made of the years 1900 to 2199 here, which fit; other conditions are looked at row by row.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::date_part::DatePartFunc;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl,
    Signature,
};

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
