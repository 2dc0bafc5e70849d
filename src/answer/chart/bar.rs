//! Bars: one for each row and column of numbers.

use super::axes::{axis, title};
use super::data::{Data, Values};
use super::form::{ANY, Axis as Along, Brush, Chart, Columns, Drawing, Form};
use super::series::series;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const BAR: Form = Form {
    name: "bar",
    doc: "A bar for each row and column of numbers; along x a text, a number or a time",
    takes: [(1, 1), (1, ANY), (0, 0), (0, 1), (0, 0)],
    draw,
};

/// Bars with a name of their own that a reader looks through.
const MOST_NAMED: usize = 40;

/// Names stand to the left of their bars, where there is room for them, the first row on top.
fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let along = data.column(&chart.x.0[0])?;
    let is_named = matches!(along.values, Values::Texts(_));
    let (mut traces, mut notes) = (vec![], vec![]);
    let mut shown = data.len();
    if is_named && shown > MOST_NAMED {
        notes.push(format!("The first {MOST_NAMED} of {shown} rows."));
        shown = MOST_NAMED;
    }
    let values = |numbers: &[Option<f64>], rows: &[usize]| -> Vec<Value> {
        rows.iter().map(|row| numbers[*row].into()).collect()
    };
    for series in series(chart, data)? {
        let rows = series.rows.iter().copied();
        let rows: Vec<usize> = rows.filter(|row| *row < shown).collect();
        for name in &chart.y.0 {
            let column = data.column(name)?;
            let places: Vec<Value> = rows.iter().map(|row| along.place(*row)).collect();
            let numbers = values(column.numbers()?, &rows);
            // Bars without a length are no chart.
            if numbers.iter().all(|n| n.as_f64().is_none_or(|n| n == 0.0)) {
                continue;
            }
            let called = series.called(&title(column), chart.y.0.len());
            traces.push(match is_named {
                true => json!({"type": "bar", "orientation": "h", "x": numbers, "y": places, "name": called}),
                false => json!({"type": "bar", "x": places, "y": numbers, "name": called}),
            });
        }
    }
    let numbers = data.column(&chart.y.0[0])?;
    let mut numbers = axis(Some(numbers), chart.log.contains(&Along::Y));
    if chart.y.0.len() > 1 {
        // The legend says which.
        numbers["title"]["text"] = "".into();
    }
    let mut places = axis(Some(along), chart.log.contains(&Along::X));
    let mode = if chart.stacked { "stack" } else { "group" };
    let layout = match is_named {
        true => {
            places["title"]["text"] = "".into();
            places["autorange"] = "reversed".into();
            json!({"barmode": mode, "xaxis": numbers, "yaxis": places})
        }
        false => json!({"barmode": mode, "xaxis": places, "yaxis": numbers}),
    };
    let brush = match is_named {
        true => Brush::of(&Columns::default(), &chart.x),
        false => Brush::along(&chart.x),
    };
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush,
    })
}
