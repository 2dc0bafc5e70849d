//! A decimal that is compared with a float becomes a float, as in PostgreSQL and DuckDB.
//!
//! DataFusion 55.2 makes both decimals of 30 digits, 15 of them behind the point: 0 equals 1e-16, and 1e300, an infinity or NaN is an error.

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{Cast, Expr};

/// Casts the decimals of a comparison with floats. Whether there are such.
pub(super) fn as_floats(sides: &mut [&mut Expr], types: &[DataType]) -> bool {
    let is_asked =
        types.iter().any(DataType::is_floating) && types.iter().any(DataType::is_decimal);
    for (side, kind) in sides.iter_mut().zip(types) {
        if is_asked && kind.is_decimal() {
            let decimal = Box::new(std::mem::take(*side));
            **side = Expr::Cast(Cast::new(decimal, DataType::Float64));
        }
    }
    is_asked
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn decimals_are_compared_with_floats_as_floats() {
        const T: &str = "(SELECT CAST(0 AS DECIMAL(9, 2)) AS zero, CAST(1.5 AS DECIMAL(9, 2)) AS d, 1e-16 AS small, 1e300 AS large, 1.5e0 AS f) AS t";
        for (condition, answer) in [
            ("zero = small", "false"),
            ("zero < small", "true"),
            ("d = f", "true"),
            ("d < large", "true"),
            ("d < 'NaN'::double", "true"),
            ("d BETWEEN small AND large", "true"),
            ("large IN (d, f)", "false"),
            ("d = 1.5", "true"),
            ("d > 1", "true"),
        ] {
            let sql = format!("SELECT {condition} FROM {T}");
            assert_eq!(ask(&sql).unwrap(), [answer], "{sql}");
        }
    }

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn decimals_and_texts_are_keys_beside_floats() {
        const A: &str = "(SELECT CAST(1.5 AS DECIMAL(9, 2)) AS d, '1.5' AS s UNION ALL SELECT CAST(2.5 AS DECIMAL(9, 2)), 'nan') AS a";
        const B: &str = "(VALUES (1.5e0), ('NaN'::double)) AS b(f)";
        for (sql, rows) in [
            (
                format!("SELECT a.d, b.f FROM {A} JOIN {B} ON a.d = b.f"),
                vec!["1.50 | 1.5"],
            ),
            (
                format!("SELECT a.s, b.f FROM {A} JOIN {B} ON a.s::double = b.f ORDER BY 1"),
                vec!["1.5 | 1.5", "nan | NaN"],
            ),
            ("SELECT NULL EXCEPT SELECT 2.5".to_string(), vec!["NULL"]),
            ("SELECT NULL INTERSECT SELECT 2.5".to_string(), vec![]),
        ] {
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
