//! Rows as a chart draws them: numbers, times and texts.

use crate::error::{Error, Result};
use crate::text::shown;
use chrono::{DateTime, NaiveDate};
use chrono_tz::Tz;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, SchemaRef, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::record_batch::RecordBatch;
use serde_json::Value;
use std::str::FromStr;

/// The columns of an answer.
pub struct Data {
    rows: usize,
    columns: Vec<Column>,
}

/// A column with its unit.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) unit: Option<String>,
    pub(super) values: Values,
}

/// What a column holds; NULL, NaN and infinite numbers are None.
pub(super) enum Values {
    Numbers(Vec<Option<f64>>),
    /// Times of the zone, as plotly.js reads them: `2026-09-11 13:00:45.5`.
    Times(Vec<Option<String>>),
    Texts(Vec<Option<String>>),
}

impl Data {
    /// The columns of some batches of one schema, with their units. Times are shown in `zone`, text is escaped as on a page.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a column cannot be read as text.
    pub fn new(
        schema: &SchemaRef,
        units: &[Option<String>],
        batches: &[RecordBatch],
        zone: Tz,
    ) -> Result<Self> {
        let bad = |e: datafusion::arrow::error::ArrowError| Error::Invalid(format!("chart: {e}"));
        let batch = concat_batches(schema, batches).map_err(bad)?;
        let columns = schema.fields().iter().zip(batch.columns()).enumerate();
        let columns = columns.map(|(at, (field, array))| {
            Ok(Column {
                name: field.name().clone(),
                unit: units.get(at).cloned().flatten(),
                values: values(array, zone).map_err(bad)?,
            })
        });
        Ok(Self {
            rows: batch.num_rows(),
            columns: columns.collect::<Result<_>>()?,
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The column of that name.
    pub(super) fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| Error::unknown("column of the chart", name, self.names()))
    }
}

impl Column {
    /// Its numbers.
    pub(super) fn numbers(&self) -> Result<&[Option<f64>]> {
        match &self.values {
            Values::Numbers(numbers) => Ok(numbers),
            Values::Times(_) | Values::Texts(_) => Err(Error::Invalid(format!(
                "chart: {} holds no numbers",
                self.name
            ))),
        }
    }

    /// Where a row lies along the axis of this column.
    pub(super) fn place(&self, row: usize) -> Value {
        match &self.values {
            Values::Numbers(numbers) => numbers[row].into(),
            Values::Times(texts) | Values::Texts(texts) => texts[row].clone().into(),
        }
    }

    /// The value of a row as a category.
    pub(super) fn category(&self, row: usize) -> Option<String> {
        match &self.values {
            Values::Numbers(numbers) => numbers[row].map(|number| number.to_string()),
            Values::Times(texts) | Values::Texts(texts) => texts[row].clone(),
        }
    }
}

fn values(array: &ArrayRef, zone: Tz) -> Result<Values, datafusion::arrow::error::ArrowError> {
    Ok(match array.data_type() {
        kind if kind.is_numeric() => {
            let numbers = cast(array, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>().iter();
            Values::Numbers(numbers.map(|n| n.filter(|n| n.is_finite())).collect())
        }
        DataType::Timestamp(..) | DataType::Date32 => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
            // A date is a day of the zone already.
            let is_date = array.data_type() == &DataType::Date32;
            let times = cast(array, &micros)?;
            let times = times.as_primitive::<TimestampMicrosecondType>().iter();
            let local = |micros: i64| {
                let time = DateTime::from_timestamp_micros(micros)?;
                let time = match is_date {
                    true => time.naive_utc(),
                    false => time.with_timezone(&zone).naive_local(),
                };
                Some(time.format("%Y-%m-%d %H:%M:%S%.f").to_string())
            };
            Values::Times(times.map(|micros| micros.and_then(local)).collect())
        }
        _ => {
            let texts = cast(array, &DataType::Utf8)?;
            let texts = texts.as_string::<i32>().iter();
            let texts: Vec<Option<String>> = texts.map(|text| text.map(plain)).collect();
            // Named queries have days as text, such as 2026-09-01.
            let mut known = texts.iter().flatten().peekable();
            match known.peek().is_some() && known.all(|text| NaiveDate::from_str(text).is_ok()) {
                true => Values::Times(texts),
                false => Values::Texts(texts),
            }
        }
    })
}

/// Text in which plotly.js, which reads some tags of HTML, finds none.
fn plain(text: &str) -> String {
    let text = shown(text).replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
