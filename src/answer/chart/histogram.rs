//! Histograms: how many rows, or how much of a column, lie in each of equally wide bins.

use super::axes::layout;
use super::data::Data;
use super::form::{Axis as Along, Brush, Chart, Drawing, Form};
use super::series::series;
use crate::error::Result;
use serde_json::json;

pub(super) const HISTOGRAM: Form = Form {
    name: "histogram",
    doc: "Rows in bins of a column; with y the sums of that column. With log = [\"x\"] the bins are equally wide on a logarithmic scale",
    takes: [(1, 1), (0, 1), (0, 0), (0, 1), (0, 0)],
    draw,
};

const BINS: usize = 40;

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let along = data.column(&chart.x.0[0])?;
    let numbers = along.numbers()?;
    let weight = chart
        .y
        .0
        .first()
        .map(|name| data.column(name))
        .transpose()?;
    let weights = weight.map(|column| column.numbers()).transpose()?;
    let is_log = chart.log.contains(&Along::X);
    let scaled = |row: usize| match is_log {
        true => numbers[row].filter(|n| *n > 0.0).map(f64::log10),
        false => numbers[row],
    };
    let known = || (0..data.len()).filter_map(scaled);
    let (least, greatest) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(f64::NEG_INFINITY, f64::max),
    );
    let mut traces = vec![];
    let mut notes = vec![];
    if least <= greatest {
        let width = match greatest > least {
            true => (greatest - least) / BINS as f64,
            false => 1.0 / BINS as f64,
        };
        let edge = |bin: usize| {
            let edge = least + width * bin as f64;
            if is_log { 10f64.powf(edge) } else { edge }
        };
        for series in series(chart, data)? {
            let mut bins = vec![0.0; BINS];
            for row in series.rows.iter().copied() {
                if let Some(place) = scaled(row) {
                    let bin = (((place - least) / width) as usize).min(BINS - 1);
                    bins[bin] += weights
                        .map_or(Some(1.0), |weights| weights[row])
                        .unwrap_or(0.0);
                }
            }
            // The edges of the last bin as well.
            let places: Vec<f64> = (0..=BINS).map(edge).collect();
            bins.push(bins[BINS - 1]);
            traces.push(json!({
                "type": "scatter", "mode": "lines", "line": {"shape": "hv"}, "fill": "tozeroy", "x": places, "y": bins, "name": series.name(),
            }));
        }
        let left_out = data.len() - known().count();
        notes.push(match left_out {
            0 => format!("{} rows in {BINS} bins.", data.len()),
            _ => format!(
                "{} rows in {BINS} bins; {left_out} have no place on the axis.",
                data.len() - left_out
            ),
        });
    }
    let layout = layout(chart, Some(along), weight);
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush: Brush::along(&chart.x),
    })
}
