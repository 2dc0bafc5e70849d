//! Bars: one for each row and column of numbers.

use super::axes::{axis, height, title};
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
    let columns = chart.y.0.iter().map(|name| data.column(name)?.numbers());
    let columns: Vec<&[Option<f64>]> = columns.collect::<Result<_>>()?;
    let has_bar = |row: &usize| columns.iter().any(|numbers| numbers[*row].is_some());
    let mut shown: Vec<usize> = (0..data.len()).filter(has_bar).collect();
    if is_named && shown.len() > MOST_NAMED {
        notes.push(format!("The first {MOST_NAMED} of {} rows.", shown.len()));
        shown.truncate(MOST_NAMED);
    }
    let last = shown.last().copied();
    let is_log = chart.log.contains(&Along::X);
    let width = along.numbers().ok().and_then(log_width);
    let values = |numbers: &[Option<f64>], rows: &[usize]| -> Vec<Value> {
        rows.iter().map(|row| numbers[*row].into()).collect()
    };
    for series in series(chart, data)? {
        let rows = series.rows.iter().copied();
        let rows: Vec<usize> = rows
            .filter(|row| has_bar(row) && Some(*row) <= last)
            .collect();
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
                false => {
                    let mut bars = json!({"type": "bar", "x": places, "y": numbers, "name": called});
                    if let (true, Some(width)) = (is_log, width) {
                        let places = rows.iter().filter_map(|row| along.place(*row).as_f64());
                        bars["width"] = places.map(|place| place * width).collect();
                    }
                    bars
                }
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
    // What is below 0 hangs from there.
    let mode = if chart.stacked { "relative" } else { "group" };
    let layout = match is_named {
        true => {
            places["autorange"] = "reversed".into();
            let height = height(along, last.map_or(0, |last| last + 1));
            json!({"barmode": mode, "xaxis": numbers, "yaxis": places, "height": height})
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

/// How wide a bar at 1 is on a logarithmic axis, if the nearest two of some numbers leave a fifth of the way between them free; None of less than two.
fn log_width(numbers: &[Option<f64>]) -> Option<f64> {
    let known = numbers.iter().flatten().copied();
    let mut known: Vec<f64> = known.filter(|number| *number > 0.0).collect();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let ratios = known.windows(2).map(|pair| pair[1] / pair[0]);
    let ratio = ratios.reduce(f64::min)?;
    Some(0.8 * (ratio.sqrt() - ratio.sqrt().recip()))
}

#[cfg(test)]
mod tests {
    use super::log_width;

    /// From 2 / sqrt(2) to 2 x sqrt(2) it is 1.414, of which a bar at 2 has 0.8: at 1 half as much.
    #[test]
    fn bars_of_a_logarithmic_axis_do_not_touch() {
        let width = log_width(&[Some(8.0), None, Some(2.0), Some(4.0), Some(0.0)]);
        assert!(
            (width.unwrap() - 0.8 * std::f64::consts::SQRT_2 / 2.0).abs() < 1e-9,
            "{width:?}"
        );
        assert_eq!(log_width(&[Some(3.0), Some(3.0)]), None);
    }
}
