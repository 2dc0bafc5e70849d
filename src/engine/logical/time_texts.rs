//! `'2026-09-11 13:00'` is a time, as in PostgreSQL and DuckDB: Arrow asks for seconds.
//!
//! A text beside a time in a comparison, or that is cast into one, gets them before types are coerced. Values of columns are not looked at.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, TryCast};

/// Writes out the seconds of texts that are cast into times.
#[derive(Debug)]
pub(in crate::engine) struct TimeTexts;

impl FunctionRewrite for TimeTexts {
    fn name(&self) -> &str {
        "time_texts"
    }

    fn rewrite(
        &self,
        mut expr: Expr,
        _: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let is_changed = match &mut expr {
            Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
                matches!(field.data_type(), DataType::Timestamp(..)) && write_out(expr)
            }
            _ => false,
        };
        Ok(Transformed::new_transformed(expr, is_changed))
    }
}

/// Writes out the seconds of texts that are compared with times. Whether there are such.
pub(in crate::engine) fn beside_times(sides: &mut [&mut Expr], types: &[DataType]) -> bool {
    let is_time = |kind: &DataType| matches!(kind, DataType::Timestamp(..));
    if !types.iter().any(is_time) {
        return false;
    }
    let mut has_texts = false;
    for side in sides {
        has_texts |= write_out(side);
    }
    has_texts
}

/// Whether the expression was a text of a time without seconds.
fn write_out(expr: &mut Expr) -> bool {
    let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)),
        _,
    ) = expr
    else {
        return false;
    };
    let is_short = is_without_seconds(text.as_bytes());
    if is_short {
        text.insert_str(MINUTES, ":00");
    }
    is_short
}

/// Where the minutes of `2026-09-11 13:00` end.
const MINUTES: usize = 16;

fn is_without_seconds(text: &[u8]) -> bool {
    let Some((time, rest)) = text.split_at_checked(MINUTES) else {
        return false;
    };
    let fits = |(byte, pattern): (&u8, &u8)| match pattern {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T' | b't'),
        _ => byte == pattern,
    };
    time.iter().zip(b"0000-00-00 00:00").all(fits)
        && matches!(rest.first(), None | Some(b'Z' | b'z' | b'+' | b'-' | b' '))
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn times_need_no_seconds() {
        const T: &str = "(VALUES (TIMESTAMP '2026-09-11 13:00:00', 'a'), (TIMESTAMP '2026-09-11 13:00:30', '2026-09-11 13:00')) AS t(a, s)";
        for (condition, count) in [
            ("a = '2026-09-11 13:00'", "1"),
            ("a > TIMESTAMP '2026-09-11T13:00'", "1"),
            ("a >= '2026-09-11 15:00+02:00'", "2"),
            ("a BETWEEN '2026-09-11 12:59' AND '2026-09-11 13:00Z'", "1"),
            ("a IN ('2026-09-11 13:00', '2026-09-11 13:01')", "1"),
            ("a = '2026-09-11 13:00'::timestamptz", "1"),
            ("TRY_CAST('2026-09-11 13:00' AS TIMESTAMP) = a", "1"),
            // A text stays what it is.
            ("s = '2026-09-11 13:00'", "1"),
        ] {
            let sql = format!("SELECT count(*) FROM {T} WHERE {condition}");
            assert_eq!(ask(&sql).unwrap(), [count], "{sql}");
        }
        let error = ask("SELECT TIMESTAMP '2026-09-11 13'").unwrap_err();
        assert!(error.contains("is not a valid timestamp"), "{error}");
    }
}
