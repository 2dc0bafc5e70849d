//! Points: one for each row.

use super::axes::layout;
use super::data::{Column, Data, Values};
use super::form::{Axis as Along, Brush, Chart, Drawing, Form, MOST_POINTS};
use super::series::series;
use crate::error::Result;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) const SCATTER: Form = Form {
    name: "scatter",
    doc: "A point for each row",
    takes: [(1, 1), (1, 1), (0, 0), (0, 1), (0, 1)],
    draw,
};

/// Cells of the grid, along x and y, of which each shows one point where there are too many.
const GRID: usize = 140;

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let (along, upwards) = (data.column(&chart.x.0[0])?, data.column(&chart.y.0[0])?);
    let label = chart
        .label
        .0
        .first()
        .map(|name| data.column(name))
        .transpose()?;
    let shown = spread(chart, along, upwards, data.len());
    let mut traces = vec![];
    for series in series(chart, data)? {
        let rows: Vec<usize> = series
            .rows
            .iter()
            .copied()
            .filter(|row| shown.as_ref().is_none_or(|shown| shown.contains(row)))
            .collect();
        let place =
            |column: &Column| -> Vec<Value> { rows.iter().map(|row| column.place(*row)).collect() };
        let mut trace = json!({
            "type": "scatter", "mode": "markers", "marker": {"size": 6, "opacity": 0.7}, "x": place(along), "y": place(upwards), "name": series.name(),
        });
        if let Some(label) = label {
            trace["text"] = place(label).into();
        }
        traces.push(trace);
    }
    let notes = shown.map(|shown| {
        format!(
            "{} of {} points; of those that lie on each other one is drawn.",
            shown.len(),
            data.len()
        )
    });
    let layout = layout(chart, Some(along), Some(upwards));
    Ok(Drawing {
        traces,
        layout,
        notes: notes.into_iter().collect(),
        brush: Brush::of(&chart.x, &chart.y),
    })
}

/// The rows that are drawn, if there are too many: the first of each cell of a grid.
fn spread(chart: &Chart, x: &Column, y: &Column, rows: usize) -> Option<HashSet<usize>> {
    if rows <= MOST_POINTS {
        return None;
    }
    let (x, y) = (
        cells(x, rows, chart.log.contains(&Along::X)),
        cells(y, rows, chart.log.contains(&Along::Y)),
    );
    let mut taken = HashSet::new();
    let first = (0..rows).filter(|row| match (x[*row], y[*row]) {
        (Some(x), Some(y)) => taken.insert((x, y)),
        _ => false,
    });
    Some(first.collect())
}

/// The cell of each row along an axis.
fn cells(column: &Column, rows: usize, is_log: bool) -> Vec<Option<usize>> {
    let numbers: Vec<Option<f64>> = match &column.values {
        Values::Numbers(numbers) if is_log => numbers
            .iter()
            .map(|n| n.filter(|n| *n > 0.0).map(f64::ln))
            .collect(),
        Values::Numbers(numbers) => numbers.clone(),
        Values::Times(_) | Values::Texts(_) => {
            let mut sorted: Vec<Option<String>> =
                (0..rows).map(|row| column.category(row)).collect();
            let values = sorted.clone();
            sorted.sort();
            sorted.dedup();
            let place =
                |value: &Option<String>| sorted.binary_search(value).ok().map(|at| at as f64);
            values
                .iter()
                .map(|value| value.as_ref().and(place(value)))
                .collect()
        }
    };
    let known = || numbers.iter().flatten().copied();
    let (least, greatest) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(f64::NEG_INFINITY, f64::max),
    );
    let width = ((greatest - least) / GRID as f64).max(f64::MIN_POSITIVE);
    let cell = |number: &Option<f64>| {
        number.map(|number| (((number - least) / width) as usize).min(GRID - 1))
    };
    numbers.iter().map(cell).collect()
}
