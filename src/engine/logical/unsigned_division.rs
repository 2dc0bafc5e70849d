//! `record_id / 1000` of an unsigned column is an integer, as `/` between integers is.
//!
//! DataFusion 55.2 finds no integer that holds both UInt64 and Int64, and divides decimals: the quotient keeps a fraction. A constant that is not negative is
//! taken as UInt64 beside such a column; a quotient of such a column and a signed one is a decimal without a fraction.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, cast, lit};

/// Makes both operands unsigned, or drops the fraction.
#[derive(Debug)]
pub(in crate::engine) struct UnsignedDivision;

impl FunctionRewrite for UnsignedDivision {
    fn name(&self) -> &str {
        "unsigned_division"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &mut expr else {
            return Ok(Transformed::no(expr));
        };
        if !matches!(op, Operator::Divide | Operator::Modulo) {
            return Ok(Transformed::no(expr));
        }
        let is_unsigned = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::UInt64));
        let is_signed = |expr: &Expr| {
            let data_type = expr.get_type(schema);
            data_type.is_ok_and(|data_type| data_type.is_signed_integer())
        };
        let changed = match (unsigned(left), unsigned(right)) {
            (_, Some(value)) if is_unsigned(left) => {
                std::mem::replace(&mut **right, value) != **right
            }
            (Some(value), _) if is_unsigned(right) => {
                std::mem::replace(&mut **left, value) != **left
            }
            _ if *op == Operator::Divide
                && (is_unsigned(left) && is_signed(right)
                    || is_signed(left) && is_unsigned(right)) =>
            {
                return Ok(Transformed::yes(without_fraction(
                    *left.clone(),
                    *right.clone(),
                )));
            }
            _ => false,
        };
        Ok(Transformed::new_transformed(expr, changed))
    }
}

/// `(a - a % b) / b` as a decimal of as many digits as either has.
fn without_fraction(a: Expr, b: Expr) -> Expr {
    let multiple = a.clone() - a % b.clone();
    cast(multiple / b, DataType::Decimal128(20, 0))
}

/// A signed constant as an unsigned one; None of what is no such constant, or is negative.
fn unsigned(expr: &Expr) -> Option<Expr> {
    let value = match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => *value,
        Expr::Literal(ScalarValue::Int32(Some(value)), _) => i64::from(*value),
        _ => return None,
    };
    u64::try_from(value).ok().map(lit)
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so does DuckDB, by `//`.
    #[test]
    fn quotients_of_unsigned_integers_have_no_fraction() {
        const T: &str = "(SELECT arrow_cast('18446744073709551615', 'UInt64') AS u, 3 AS s UNION ALL SELECT arrow_cast(7, 'UInt64'), -3)";
        for (term, rows) in [
            ("u / 2", ["9223372036854775807", "3"]),
            ("u % 10", ["5", "7"]),
            ("u / 1000 * 1000", ["18446744073709551000", "0"]),
            ("8 / u", ["0", "1"]),
            ("u / s", ["6148914691236517205", "-2"]),
            ("s / u", ["0", "0"]),
            ("(s * 10) / u", ["0", "-4"]),
        ] {
            let sql = format!("SELECT {term} FROM {T} ORDER BY u DESC");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
