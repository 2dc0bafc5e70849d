//! Parallel coordinates: an axis for each column, a line for each row.

use super::axes::title;
use super::data::Data;
use super::form::{ANY, Chart, Drawing, Form, MOST_POINTS};
use crate::error::Result;
use serde_json::json;

pub(super) const PARALLEL: Form = Form {
    name: "parallel",
    doc: "An axis for each column of y, across which each row is a line; z is its colour. Ranges of an axis are chosen with the mouse",
    takes: [(0, 0), (2, ANY), (0, 1), (0, 0), (0, 0)],
    draw,
};

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let most = MOST_POINTS / chart.y.0.len();
    let step = data.len().div_ceil(most).max(1);
    let shown = |numbers: &[Option<f64>]| -> Vec<Option<f64>> {
        numbers.iter().step_by(step).copied().collect()
    };
    let dimensions = chart.y.0.iter().map(|name| {
        let column = data.column(name)?;
        Ok(json!({"label": title(column), "values": shown(column.numbers()?)}))
    });
    let dimensions: Vec<_> = dimensions.collect::<Result<_>>()?;
    let mut trace = json!({"type": "parcoords", "dimensions": dimensions});
    if let Some(name) = chart.z.0.first() {
        let column = data.column(name)?;
        trace["line"] = json!({"color": shown(column.numbers()?), "colorscale": "Viridis", "showscale": true, "colorbar": {"title": {"text": title(column)}}});
    }
    let notes = match step {
        1 => vec![],
        _ => vec![format!("Every {step}th of {} rows.", data.len())],
    };
    Ok(Drawing {
        traces: vec![trace],
        layout: json!({}),
        notes,
    })
}
