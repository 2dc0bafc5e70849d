//! Timelines: a bar from a beginning to an end for each row.

use super::axes::{height, layout};
use super::data::{Data, Values};
use super::form::{Brush, Chart, Drawing, Form};
use super::series::series;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const TIMELINE: Form = Form {
    name: "timeline",
    doc: "A bar for each row, from the first column of x to the second, beside its y",
    takes: [(2, 2), (1, 1), (0, 0), (0, 1), (0, 1)],
    draw,
};

/// Bars of a page.
const MOST_BARS: usize = 2_000;

/// Of bars on each other the later ones are thinner, so that none hides another.
fn width(series: usize) -> usize {
    [13, 10, 6].get(series).copied().unwrap_or(4)
}

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let (from, to) = (data.column(&chart.x.0[0])?, data.column(&chart.x.0[1])?);
    let upwards = data.column(&chart.y.0[0])?;
    let label = chart
        .label
        .0
        .first()
        .map(|name| data.column(name))
        .transpose()?;
    let mut notes = vec![];
    if data.len() > MOST_BARS {
        notes.push(format!("The first {MOST_BARS} of {} rows.", data.len()));
    }
    let mut traces = vec![];
    for (at, series) in series(chart, data)?.into_iter().enumerate() {
        let (mut x, mut y, mut text): (Vec<Value>, Vec<Value>, Vec<String>) =
            (vec![], vec![], vec![]);
        for row in series.rows.iter().copied().filter(|row| *row < MOST_BARS) {
            let place = upwards.place(row);
            // The bar, and a gap before the next one.
            x.extend([from.place(row), to.place(row), Value::Null]);
            y.extend([place.clone(), place, Value::Null]);
            let said = label
                .and_then(|label| label.category(row))
                .unwrap_or_default();
            text.extend([said.clone(), said, String::new()]);
        }
        let mut trace = json!({"type": "scatter", "mode": "lines", "line": {"width": width(at)}, "x": x, "y": y, "name": series.name()});
        if label.is_some() {
            trace["text"] = text.into();
        }
        traces.push(trace);
    }
    let mut layout = layout(chart, Some(from), Some(upwards));
    if let Values::Texts(_) = &upwards.values {
        // The first row is on top.
        layout["yaxis"]["autorange"] = "reversed".into();
        layout["height"] = height(upwards, data.len().min(MOST_BARS)).into();
    }
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush: Brush::of(&chart.x, &chart.y),
    })
}
