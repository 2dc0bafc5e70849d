//! Numbers of a page of HTML: eight digits that count.
//!
//! A sum of floats that several threads make has other last digits in each run, and a page is the same for the same version of a lake. No chart shows more. The JSON of
//! a report has all digits.

use crate::answer::answer::Cell;
use serde_json::Value;

impl Cell {
    /// The value by which the rows of a page are sorted and chosen.
    pub(super) fn key(&self) -> Value {
        rounded(self.value.clone())
    }
}

/// The same with its floats rounded.
pub(super) fn rounded(mut value: Value) -> Value {
    round(&mut value);
    value
}

/// A number with the digits that a page has.
pub(super) fn eight_digits(number: f64) -> f64 {
    format!("{number:.7e}").parse().unwrap_or(number)
}

fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or_default();
            *value = format!("{exact:.7e}")
                .parse::<f64>()
                .unwrap_or(exact)
                .into();
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(values) => values.values_mut().for_each(round),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_lose_the_digits_that_differ_from_run_to_run_and_nothing_else_changes() {
        let of = |slowdown: f64| json!({"x": [slowdown, 9_007_199_254_740_993_i64], "y": {"z": [null, "2.8859506607198680"]}});
        let first = rounded(of(2.885950660719868));
        assert_eq!(first, rounded(of(2.885950660720219)));
        assert_eq!(
            first.to_string(),
            r#"{"x":[2.8859507,9007199254740993],"y":{"z":[null,"2.8859506607198680"]}}"#
        );
        assert_eq!(rounded(json!(-0.1 - 0.2)), json!(-0.3));
        assert_eq!(rounded(json!(1.5e300)), json!(1.5e300));
    }
}
