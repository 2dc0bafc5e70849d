//! Lines: numbers in the order of x.

use super::axes::{layout, title};
use super::data::{Data, Values};
use super::form::{ANY, Brush, Chart, Drawing, Form, MOST_POINTS};
use super::series::series;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const LINE: Form = Form {
    name: "line",
    doc: "A line for each column of numbers, in the order of x",
    takes: [(1, 1), (1, ANY), (0, 0), (0, 1), (0, 0)],
    draw,
};

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let along = data.column(&chart.x.0[0])?;
    let (mut traces, mut notes) = (vec![], Vec::<String>::new());
    let all = series(chart, data)?;
    let most = MOST_POINTS / (all.len() * chart.y.0.len());
    for series in all {
        for name in &chart.y.0 {
            let column = data.column(name)?;
            let numbers = column.numbers()?;
            let mut rows = series.rows.clone();
            match &along.values {
                Values::Numbers(along) => rows.sort_by(|a, b| {
                    along[*a]
                        .partial_cmp(&along[*b])
                        .unwrap_or(std::cmp::Ordering::Equal)
                }),
                Values::Times(along) => rows.sort_by(|a, b| along[*a].cmp(&along[*b])),
                // Texts stay in the order of the rows.
                Values::Texts(_) => {}
            }
            let shown = extremes(&rows, numbers, most);
            if shown.len() < rows.len() {
                let note = format!(
                    "Of {} rows of a line the greatest and the least of every {} are drawn.",
                    rows.len(),
                    rows.len().div_ceil(most / 2)
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let places: Vec<Value> = shown.iter().map(|row| along.place(*row)).collect();
            let numbers: Vec<Value> = shown.iter().map(|row| numbers[*row].into()).collect();
            if numbers.iter().all(Value::is_null) {
                continue;
            }
            let called = series.called(&title(column), chart.y.0.len());
            let mode = match shown.len() {
                0..60 => "lines+markers",
                _ => "lines",
            };
            traces.push(
                json!({"type": "scatter", "mode": mode, "x": places, "y": numbers, "name": called}),
            );
        }
    }
    let upwards = data.column(&chart.y.0[0])?;
    let mut layout = layout(chart, Some(along), Some(upwards));
    if chart.y.0.len() > 1 {
        // The legend says which.
        layout["yaxis"]["title"]["text"] = "".into();
    }
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush: Brush::along(&chart.x),
    })
}

/// At most so many of the rows, in their order: the least and the greatest number of each of equally long parts.
fn extremes(rows: &[usize], numbers: &[Option<f64>], most: usize) -> Vec<usize> {
    if rows.len() <= most {
        return rows.to_vec();
    }
    let length = rows.len().div_ceil((most / 2).max(1));
    let mut kept = vec![];
    for part in rows.chunks(length) {
        let known = || part.iter().filter_map(|row| Some((numbers[*row]?, *row)));
        let least = known().min_by(|a, b| a.0.total_cmp(&b.0));
        let greatest = known().max_by(|a, b| a.0.total_cmp(&b.0));
        let of_part = part.iter().filter(|row| {
            [least, greatest]
                .iter()
                .flatten()
                .any(|(_, kept)| kept == *row)
        });
        kept.extend(of_part);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_part_the_extremes_are_kept_in_their_order() {
        let numbers: Vec<Option<f64>> = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0].map(Some).to_vec();
        assert_eq!(extremes(&[0, 1, 2, 3, 4, 5], &numbers, 4), [0, 1, 3, 5]);
        assert_eq!(extremes(&[2, 0], &numbers, 4), [2, 0]);
        let with_gap = [Some(1.0), None, None, None];
        assert_eq!(extremes(&[0, 1, 2, 3], &with_gap, 2), [0]);
    }
}
