//! Rows of an answer as a table of a page.

use super::rounded::eight_digits;
use crate::answer::answer::{Cell, Column, Table};
use crate::engine::queries::QueryColumn;
use crate::error::{Error, Result};
use crate::text::column_amount::Amount;
use crate::text::shown;
use chrono::{DateTime, SecondsFormat};
use chrono_tz::Tz;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::Value;

/// From this number on JSON's numbers are not exact where they are read as doubles.
const EXACT: u64 = 1 << 53;

/// The first rows of a batch; `chosen` are the columns, all if it is empty, and `described` says what they mean.
///
/// # Errors
/// [`Error::Invalid`] if a column has no text.
pub(super) fn table(
    batch: &RecordBatch,
    units: &[Option<String>],
    chosen: &[String],
    described: &[QueryColumn],
    rows: usize,
    zone: Tz,
) -> Result<Table> {
    let bad = |e: ArrowError| Error::Invalid(format!("an answer cannot be shown: {e}"));
    let schema = batch.schema();
    let mut places: Vec<usize> = vec![];
    match chosen.is_empty() {
        true => places.extend(0..schema.fields().len()),
        false => {
            for name in chosen {
                let known = schema.fields().iter().map(|field| field.name().as_str());
                let at = known.clone().position(|known| known == name);
                places.push(at.ok_or_else(|| Error::unknown("column", name, known))?);
            }
        }
    }
    let batch = batch.slice(0, rows.min(batch.num_rows()));
    let (mut columns, mut cells) = (vec![], vec![]);
    for at in places {
        let name = schema.field(at).name();
        let unit = units.get(at).cloned().flatten().unwrap_or_default();
        let doc = described
            .iter()
            .find(|column| &column.name == name)
            .map_or("", |column| column.doc.as_str());
        cells.push(cells_of(batch.column(at), &unit, zone).map_err(bad)?);
        columns.push(Column::new(
            name.clone(),
            name.replace('_', " "),
            unit,
            doc.to_string(),
        ));
    }
    let mut table = Table::new("", columns);
    for row in 0..batch.num_rows() {
        table.push(cells.iter().map(|column| column[row].clone()).collect());
    }
    Ok(table)
}

/// Each value of a column, in the words of tables; times are those of the zone.
pub(super) fn cells_of(
    array: &ArrayRef,
    unit: &str,
    zone: Tz,
) -> std::result::Result<Vec<Cell>, ArrowError> {
    let cells = |value: &dyn Fn(usize) -> Cell| {
        let none = Cell {
            value: Value::Null,
            text: "-".into(),
        };
        (0..array.len())
            .map(|row| {
                if array.is_valid(row) {
                    value(row)
                } else {
                    none.clone()
                }
            })
            .collect()
    };
    Ok(match array.data_type() {
        kind if kind.is_unsigned_integer() => {
            let numbers = cast(array, &DataType::UInt64)?;
            let numbers = numbers.as_primitive::<UInt64Type>();
            cells(&|row| {
                let number = numbers.value(row);
                Cell {
                    value: exact(number, number.into()),
                    text: worded(number, unit).unwrap_or_else(|| number.to_string()),
                }
            })
        }
        kind if kind.is_integer() => {
            let numbers = cast(array, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            cells(&|row| {
                let number = numbers.value(row);
                Cell {
                    value: exact(number.unsigned_abs(), number.into()),
                    text: worded(number, unit).unwrap_or_else(|| number.to_string()),
                }
            })
        }
        kind if kind.is_numeric() => {
            let numbers = cast(array, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            cells(&|row| {
                let number = numbers.value(row);
                // 0.9999999999999 in one run is 1 in another.
                let said = eight_digits(number);
                Cell {
                    value: number.into(),
                    text: worded(said, unit).unwrap_or_else(|| digits(said)),
                }
            })
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            cells(&|row| {
                let is = values.value(row);
                Cell {
                    value: is.into(),
                    text: if is { "yes" } else { "no" }.into(),
                }
            })
        }
        DataType::Timestamp(..) => {
            let times = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
            let times = times.as_primitive::<TimestampMicrosecondType>();
            cells(&|row| {
                let time = DateTime::from_timestamp_micros(times.value(row))
                    .unwrap_or_default()
                    .with_timezone(&zone);
                Cell {
                    value: time.to_rfc3339_opts(SecondsFormat::AutoSi, true).into(),
                    text: time.format("%Y-%m-%d %H:%M:%S").to_string(),
                }
            })
        }
        _ => {
            let options = FormatOptions::default();
            let texts = ArrayFormatter::try_new(array, &options)?;
            cells(&|row| {
                let text = shown(&texts.value(row).to_string()).into_owned();
                Cell {
                    value: text.clone().into(),
                    text,
                }
            })
        }
    })
}

/// An integer as JSON: beyond what doubles hold, a text.
fn exact(size: u64, number: Value) -> Value {
    match size > EXACT {
        true => Value::String(number.to_string()),
        false => number,
    }
}

/// A number without a unit, with three digits that count.
fn digits(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() || size == 0.0 => number.to_string(),
        size if !(1e-4..1e9).contains(&size) => format!("{number:.2e}"),
        _ => {
            // As it is said: 0.9999 is 1.00.
            let said = format!("{number:.2e}").parse().unwrap_or(number);
            let behind = (2 - said.abs().log10().floor() as i32).max(0) as usize;
            format!("{number:.behind$}")
        }
    }
}

/// A number with a unit as a person reads it, in the words of tables.
fn worded(number: impl ToString, unit: &str) -> Option<String> {
    Amount::of(unit)?.said(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [0.14659, 4.2, 12345.6, 0.0, -0.05, 3e-7, 2.5e12, 0.99996].map(digits);
        assert_eq!(
            shown,
            [
                "0.147", "4.20", "12346", "0", "-0.0500", "3.00e-7", "2.50e12", "1.00"
            ]
        );
    }

    #[test]
    fn integers_beyond_doubles_are_texts_in_json() {
        assert_eq!(exact(EXACT, EXACT.into()), EXACT);
        assert_eq!(exact(u64::MAX, u64::MAX.into()), u64::MAX.to_string());
    }
}
