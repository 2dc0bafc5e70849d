//! Charts of rows: which form, and which columns it draws.
//!
//! In: the line `chart` of a named query or of a section of a report ([`Chart`]), and rows (`data`). Out: a figure of plotly.js as JSON ([`Figure`]). A chart
//! makes no more than [`MOST_POINTS`] marks; what was binned or left out for that is said in words.
//!
//! # Adding a form
//! One file here with a [`Form`]; one line in [`FORMS`]; and where it draws with a type of traces that no other has, a name in `TRACES` of `build.rs`.

mod axes;
mod bar;
mod box_plot;
mod cdf;
pub(super) mod data;
mod form;
mod heat_map;
mod histogram;
mod line;
mod parallel;
mod scatter;
mod series;
mod timeline;

use crate::error::{Error, Result};
use data::Data;
use form::ANY;
pub use form::{Axis, Brush, Chart, Columns, Form, MOST_POINTS};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Every form, in the order in which they are shown.
pub const FORMS: &[&Form] = &[
    &bar::BAR,
    &line::LINE,
    &histogram::HISTOGRAM,
    &cdf::CDF,
    &heat_map::HEAT_MAP,
    &scatter::SCATTER,
    &box_plot::BOX,
    &timeline::TIMELINE,
    &parallel::PARALLEL,
];

/// A chart with its rows.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Its form.
    pub form: &'static str,
    /// Traces and layout of plotly.js.
    pub plot: Value,
    /// What was binned or left out.
    pub notes: Vec<String>,
    /// The columns whose rows a range of the chart chooses.
    pub brush: Brush,
}

impl Chart {
    /// The chart of the line `chart` of front matter, with these columns to draw.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] for a key, form or column that there is not, and for too few or too many columns.
    pub fn of_line<'a>(
        line: &toml::Table,
        columns: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self> {
        let chart = Self::deserialize(toml::Value::Table(line.clone()))
            .map_err(|e| Error::Invalid(format!("chart: {}", e.message())))?;
        chart.check(columns)?;
        Ok(chart)
    }

    fn form(&self) -> Result<&'static Form> {
        let found = FORMS.iter().find(|form| form.name == self.form);
        let known = FORMS.iter().map(|form| form.name);
        found
            .copied()
            .ok_or_else(|| Error::unknown("form of chart", &self.form, known))
    }

    /// Whether its form takes what it draws, and the rows have it.
    ///
    /// # Errors
    /// As [`Chart::of_line`].
    pub fn check<'a>(&self, columns: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
        let form = self.form()?;
        let roles = [
            ("x", &self.x),
            ("y", &self.y),
            ("z", &self.z),
            ("series", &self.series),
            ("label", &self.label),
        ];
        for ((role, given), (least, most)) in roles.into_iter().zip(form.takes) {
            let given = &given.0;
            if given.len() < least || given.len() > most {
                let takes = match (least, most) {
                    (0, 0) => "no column".to_string(),
                    (1, 1) => "one column".to_string(),
                    (2, 2) => "two columns".to_string(),
                    (0, 1) => "at most one column".to_string(),
                    (least, ANY) => format!("at least {least} columns"),
                    (least, most) => format!("{least} to {most} columns"),
                };
                return Err(Error::Invalid(format!(
                    "chart: {} takes {takes} as {role}, not {}",
                    form.name,
                    given.len()
                )));
            }
            for name in given {
                if !columns.clone().any(|column| column == name) {
                    return Err(Error::unknown("column of the chart", name, columns));
                }
            }
        }
        Ok(())
    }

    /// The figure of rows; None where there is nothing to draw.
    ///
    /// # Errors
    /// As [`Chart::of_line`]; [`Error::Invalid`] where a column is not of the kind that the form draws.
    pub fn figure(&self, data: &Data) -> Result<Option<Figure>> {
        self.check(data.names())?;
        if data.is_empty() {
            return Ok(None);
        }
        let form = self.form()?;
        let drawing = (form.draw)(self, data)?;
        if drawing.traces.is_empty() {
            return Ok(None);
        }
        let mut layout = drawing.layout;
        layout["showlegend"] = (drawing.traces.len() > 1).into();
        Ok(Some(Figure {
            form: form.name,
            plot: json!({"data": drawing.traces, "layout": layout}),
            notes: drawing.notes,
            brush: drawing.brush,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::queries::queries;

    /// Named queries whose rows are read one by one, and not drawn.
    const LISTS: [&str; 5] = [
        "drishti",
        "low_read_bandwidth_on_all_osts",
        "low_write_bandwidth_on_all_osts",
        "mosaic_summary",
        "unreadable_logs",
    ];

    #[test]
    fn a_named_query_has_a_chart_of_its_columns_or_is_a_list() {
        for query in queries() {
            let is_list = LISTS.contains(&query.name);
            assert_eq!(query.chart.is_none(), is_list, "{}", query.name);
            let columns = query.columns.iter().map(|column| column.name.as_str());
            if let Some(line) = &query.chart {
                let chart = Chart::of_line(line, columns.clone());
                chart.unwrap_or_else(|error| panic!("{}: {error}", query.name));
            }
        }
    }
}
