//! Cumulative distributions: the part of rows whose number is at most x.

use super::axes::{layout, title};
use super::data::Data;
use super::form::{ANY, Brush, Chart, Drawing, Form};
use super::series::series;
use crate::error::Result;
use serde_json::json;

pub(super) const CDF: Form = Form {
    name: "cdf",
    doc: "Which part of the rows has at most so much, for one or several columns",
    takes: [(1, ANY), (0, 0), (0, 0), (0, 1), (0, 0)],
    draw,
};

/// Steps of a line.
const STEPS: usize = 500;

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let (mut traces, mut notes) = (vec![], vec![]);
    for series in series(chart, data)? {
        for name in &chart.x.0 {
            let column = data.column(name)?;
            let numbers = column.numbers()?;
            let mut known: Vec<f64> = series.rows.iter().filter_map(|row| numbers[*row]).collect();
            if known.is_empty() {
                continue;
            }
            known.sort_by(f64::total_cmp);
            let (places, parts) = steps(&known);
            if known.len() > STEPS && notes.is_empty() {
                notes.push(format!(
                    "Lines of more than {STEPS} rows are drawn at {STEPS} of their quantiles."
                ));
            }
            let called = series.called(&title(column), chart.x.0.len());
            traces.push(json!({"type": "scatter", "mode": "lines", "line": {"shape": "hv"}, "x": places, "y": parts, "name": called}));
        }
    }
    let along = data.column(&chart.x.0[0])?;
    let mut layout = layout(chart, Some(along), None);
    layout["yaxis"] =
        json!({"automargin": true, "title": {"text": "part of rows"}, "tickformat": ".0%"});
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush: match chart.x.0.len() {
            1 => Brush::along(&chart.x),
            // A range of the axis is one of each of the columns.
            _ => Brush::default(),
        },
    })
}

/// Places and parts of sorted numbers: each of them, or [`STEPS`] quantiles with the greatest.
fn steps(sorted: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = sorted.len();
    let steps = n.min(STEPS);
    let places = (1..=steps).map(|step| (step * n).div_ceil(steps));
    places
        .map(|below| (sorted[below - 1], below as f64 / n as f64))
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_part_of_numbers_that_are_at_most_as_large() {
        assert_eq!(
            steps(&[1.0, 2.0, 2.0, 9.0]),
            (vec![1.0, 2.0, 2.0, 9.0], vec![0.25, 0.5, 0.75, 1.0])
        );
        let many: Vec<f64> = (1..=1000).map(f64::from).collect();
        let (places, parts) = steps(&many);
        assert_eq!(
            (places[0], places[499], parts[0], parts[499]),
            (2.0, 1000.0, 0.002, 1.0)
        );
    }
}
