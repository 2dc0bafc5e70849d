//! The columns and the parameters of a named query, as its front matter says them.

use crate::error::{Error, Result};
use crate::source::moment::moment;
use chrono::DateTime;
use chrono_tz::Tz;
use datafusion::sql::sqlparser::ast::{DataType, Expr, UnaryOperator, Value};
use serde::Deserialize;

/// A column of a named query; types are written as in the schema files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryColumn {
    /// Its name; `factors` stands for those of [`super::factors`].
    pub name: String,
    /// Its type.
    #[serde(rename = "type", default)]
    pub type_name: String,
    /// `B`, `count`, ..; empty where there is none.
    #[serde(default)]
    pub unit: String,
    /// One line: what a value means.
    #[serde(default)]
    pub doc: String,
}

/// A parameter of a named query.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Other names that it is known by.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ParamType,
    /// Its value if none is given, in SQL; None if one must be given.
    #[serde(default)]
    pub default: Option<String>,
    /// The values that a text may have; any if there are none.
    #[serde(default)]
    pub values: Vec<String>,
    /// The least and the most that a number may be; any if it is None.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// One line: what it means.
    pub doc: String,
}

/// What the values of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamType {
    /// Text.
    Text,
    /// A time; one without an offset is in the site's zone.
    Timestamp,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
}

impl Param {
    /// Whether this is its name, or another that it is known by.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Its name on the command line, without the two dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Its default, which is SQL, as somebody would type it: a text or a time without its quotes. None if there is none, or it is NULL.
    pub fn typed_default(&self) -> Option<String> {
        let default = self.default.as_deref().filter(|sql| *sql != "NULL")?;
        let quoted = default
            .trim_start_matches("TIMESTAMP ")
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        Some(quoted.map_or_else(|| default.into(), |text| text.replace("''", "'")))
    }

    /// A value as it was typed, in SQL.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is none of its type.
    pub fn literal(&self, value: &str) -> Result<String> {
        let trimmed = value.trim();
        let is_one = match self.kind {
            ParamType::Int => trimmed.parse::<i64>().is_ok(),
            ParamType::Float => trimmed.parse::<f64>().is_ok_and(f64::is_finite),
            ParamType::Bool => ["true", "false"].contains(&trimmed.to_lowercase().as_str()),
            ParamType::Text | ParamType::Timestamp => {
                return Ok(format!("'{}'", value.replace('\'', "''")));
            }
        };
        let expected = match (is_one, self.out_of_range(trimmed)) {
            (true, None) => return Ok(trimmed.to_string()),
            (true, Some(range)) => range,
            (false, _) if self.kind == ParamType::Bool => self.kind.name().to_string(),
            (false, _) => format!("a {}", self.kind.name()),
        };
        Err(Error::Invalid(format!(
            "--{} `{value}`: expected {expected}",
            self.flag()
        )))
    }

    /// Its range, if this is a number that lies outside.
    fn out_of_range(&self, number: &str) -> Option<String> {
        let [least, most] = self.range?;
        let number = number.parse::<f64>().ok()?;
        (!(least..=most).contains(&number)).then(|| format!("{least} to {most}"))
    }

    /// Refuses a text that is none of its values, and a number out of its range. What is no literal is not known before it is computed, and passes.
    pub(in crate::engine) fn check(&self, given: &Expr) -> Result<()> {
        let Some(text) = literal(given) else {
            return Ok(());
        };
        let expected = match self.out_of_range(&text) {
            Some(range) => range,
            None if self.values.is_empty() || self.values.contains(&text) => return Ok(()),
            None => self.values.join(" or "),
        };
        Err(Error::Invalid(format!(
            "{} `{text}`: expected {expected}",
            self.name
        )))
    }
}

impl ParamType {
    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Timestamp => "time",
            Self::Int => "whole number",
            Self::Float => "number",
            Self::Bool => "true or false",
        }
    }

    /// An expression of this type; a time without an offset is one of `zone`.
    pub(in crate::engine) fn cast(self, expr: &Expr, zone: Tz) -> String {
        match self {
            Self::Text => format!("CAST({expr} AS VARCHAR)"),
            Self::Timestamp => time(expr, zone),
            // Where a literal must stand, as after LIMIT, one does.
            Self::Int if matches!(expr, Expr::Value(v) if matches!(v.value, Value::Number(..))) => {
                expr.to_string()
            }
            Self::Int => format!("CAST({expr} AS BIGINT)"),
            Self::Float => format!("CAST({expr} AS DOUBLE)"),
            Self::Bool => format!("CAST({expr} AS BOOLEAN)"),
        }
    }
}

/// A value that was written down, as text. NULL is none.
pub(super) fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => literal(expr).map(|text| format!("-{text}")),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            Value::Number(number, _) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A time in UTC. What is written down is read here; of anything else the type decides, once it is known, whether it has an offset.
fn time(expr: &Expr, zone: Tz) -> String {
    let in_zone = |value: &str, zone: &str| {
        format!("arrow_cast({value}, 'Timestamp(Microsecond, Some(\"{zone}\"))')")
    };
    let written = written(expr).and_then(|text| moment(text, zone).ok());
    if let Some(time) = written.and_then(DateTime::from_timestamp_micros) {
        let time = time.format("%Y-%m-%dT%H:%M:%S%.fZ");
        return in_zone(&format!("'{time}'"), "UTC");
    }
    match zone {
        Tz::UTC => in_zone(&expr.to_string(), "UTC"),
        zone => in_zone(&in_zone(&expr.to_string(), zone.name()), "UTC"),
    }
}

/// The text of a time or date that is written down: `'2026-09-01'`, `DATE '2026-09-01'`.
fn written(expr: &Expr) -> Option<&str> {
    let value = match expr {
        Expr::Value(value) => value,
        Expr::TypedString(typed) => match typed.data_type {
            DataType::Date | DataType::Timestamp(..) => &typed.value,
            _ => return None,
        },
        _ => return None,
    };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::query_call::expression;
    use super::*;

    #[test]
    fn a_value_is_of_its_type_whatever_blanks_stand_around_it() {
        let param = |kind| Param {
            name: "both".into(),
            aliases: vec![],
            kind,
            default: None,
            values: vec![],
            range: None,
            doc: String::new(),
        };
        let both = param(ParamType::Bool);
        assert_eq!(both.literal(" True ").unwrap(), "True");
        let error = both.literal("yes").unwrap_err().to_string();
        assert!(
            error.ends_with("--both `yes`: expected true or false"),
            "{error}"
        );
        let error = param(ParamType::Int)
            .literal("1.5")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("expected a whole number"), "{error}");
    }

    #[test]
    fn a_number_out_of_its_range_is_refused() {
        let share = Param {
            name: "min_share".into(),
            aliases: vec![],
            kind: ParamType::Float,
            default: None,
            values: vec![],
            range: Some([0.0, 1.0]),
            doc: String::new(),
        };
        let check = |sql: &str| share.check(&expression(sql).unwrap());
        for inside in ["0", "0.5", "1", "(1e0)", "NULL", "1 + 1", "'0.5'"] {
            check(inside).unwrap();
        }
        for outside in ["2", "-0.5", "1e9", "'1.5'"] {
            let why = check(outside).unwrap_err().to_string();
            let given = outside.trim_matches('\'');
            let expected = format!("min_share `{given}`: expected 0 to 1");
            assert!(why.ends_with(&expected), "{why}");
            let why = share.literal(given).unwrap_err().to_string();
            let expected = format!("--min-share `{given}`: expected 0 to 1");
            assert!(why.ends_with(&expected), "{why}");
        }
    }

    #[test]
    fn a_time_without_an_offset_is_in_the_zone() {
        let cast = |sql: &str, zone: Tz| {
            let expr = expression(sql).unwrap();
            ParamType::Timestamp.cast(&expr, zone)
        };
        let utc = "'Timestamp(Microsecond, Some(\"UTC\"))')";
        for sql in [
            "'2026-09-11'",
            "'2026-09-11T00:00'",
            "'2026-09-11 00:00:00'",
            "'2026-09-10T22:00:00Z'",
            "'2026-09-11 00:00:00+02:00'",
            "DATE '2026-09-11'",
            "TIMESTAMP '2026-09-11 00:00:00'",
        ] {
            assert_eq!(
                cast(sql, Tz::Europe__Berlin),
                format!("arrow_cast('2026-09-10T22:00:00Z', {utc}"),
                "{sql}"
            );
        }
        assert_eq!(
            cast("'2026-09-11 00:30'", Tz::UTC),
            format!("arrow_cast('2026-09-11T00:30:00Z', {utc}")
        );
        // What is no date is DataFusion's to refuse.
        assert_eq!(
            cast("'yesterday'", Tz::UTC),
            format!("arrow_cast('yesterday', {utc}")
        );
        assert_eq!(
            cast("now()", Tz::Europe__Berlin),
            format!(
                "arrow_cast(arrow_cast(now(), 'Timestamp(Microsecond, Some(\"Europe/Berlin\"))'), {utc}"
            )
        );
    }
}
