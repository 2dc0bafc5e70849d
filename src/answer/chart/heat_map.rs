//! Heat maps: a colour for each pair of an x and a y.

use super::axes::{layout, tick_format, title};
use super::data::{Column, Data, Values};
use super::form::{Axis as Along, Brush, Chart, Drawing, Form, MOST_POINTS};
use crate::error::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const HEAT_MAP: Form = Form {
    name: "heat_map",
    doc: "A colour for each pair of an x and a y: the sum of z over the rows of both. With log = [\"z\"] colours are by order of magnitude",
    takes: [(1, 1), (1, 1), (1, 1), (0, 0), (0, 0)],
    draw,
};

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let (along, upwards, colour) = (
        data.column(&chart.x.0[0])?,
        data.column(&chart.y.0[0])?,
        data.column(&chart.z.0[0])?,
    );
    let numbers = colour.numbers()?;
    let is_known = |row: &usize| {
        numbers[*row].is_some() && !along.place(*row).is_null() && !upwards.place(*row).is_null()
    };
    let rows: Vec<usize> = (0..data.len()).filter(is_known).collect();
    let (x_at, mut x) = places(along, &rows, data.len());
    let (y_at, y) = places(upwards, &rows, data.len());
    let height = y.len();
    // Neighbours along x share a column of the map where there are too many.
    let width = (MOST_POINTS / y.len().max(1)).max(1);
    let together = x.len().div_ceil(width).max(1);
    let mut notes = vec![];
    if together > 1 {
        notes.push(format!(
            "{together} values of {} share a column, which shows their sum.",
            title(along)
        ));
        x = x.into_iter().step_by(together).collect();
    }
    let mut sums: Vec<Vec<Option<f64>>> = vec![vec![None; x.len()]; y.len()];
    for row in 0..data.len() {
        if let (Some(x), Some(y), Some(number)) = (x_at[row], y_at[row], numbers[row]) {
            *sums[y][x / together].get_or_insert(0.0) += number;
        }
    }
    let is_log = chart.log.contains(&Along::Z);
    let cells = sums.into_iter().map(|row| {
        let shown = |sum: Option<f64>| match is_log {
            true => sum.filter(|sum| *sum > 0.0).map(f64::log10),
            false => sum,
        };
        row.into_iter().map(shown).collect::<Vec<_>>()
    });
    let cells: Vec<Vec<Option<f64>>> = cells.collect();
    let (called, format) = match is_log {
        // A logarithm is that of the fraction.
        true => (
            format!("log10 of {}", title(colour).trim_end_matches(" (%)")),
            "",
        ),
        false => (title(colour), tick_format(colour).unwrap_or_default()),
    };
    let trace = json!({"type": "heatmap", "x": x, "y": y, "z": cells, "colorscale": "Viridis", "colorbar": {"title": {"text": called}, "tickformat": format}});
    let mut layout = layout(chart, Some(along), Some(upwards));
    if let Values::Texts(_) = &upwards.values {
        // The first row is on top.
        layout["yaxis"]["autorange"] = "reversed".into();
        layout["height"] = (100 + 18 * height).clamp(416, 900).into();
    }
    Ok(Drawing {
        traces: if rows.is_empty() { vec![] } else { vec![trace] },
        layout,
        notes,
        brush: Brush::of(&chart.x, &chart.y),
    })
}

/// The place of each known row among the distinct values of a column, and these: numbers and times ascending, texts in the order of the rows.
fn places(column: &Column, known: &[usize], rows: usize) -> (Vec<Option<usize>>, Vec<Value>) {
    let mut found: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut firsts = std::collections::HashMap::new();
    for row in known.iter().copied() {
        let key = match &column.values {
            Values::Numbers(numbers) => numbers[row].map(|n| Key::Number(ordered(n))),
            Values::Times(times) => times[row].clone().map(Key::Time),
            Values::Texts(texts) => texts[row].as_ref().map(|text| {
                let next = firsts.len();
                Key::Text(*firsts.entry(text.clone()).or_insert(next))
            }),
        };
        if let Some(key) = key {
            found.entry(key).or_default().push(row);
        }
    }
    let mut at = vec![None; rows];
    let mut values = vec![];
    for (place, (_, of_value)) in found.into_iter().enumerate() {
        values.push(column.place(of_value[0]));
        for row in of_value {
            at[row] = Some(place);
        }
    }
    (at, values)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i64),
    Time(String),
    Text(usize),
}

/// A number as an integer of the same order.
fn ordered(number: f64) -> i64 {
    // -0 is 0.
    let bits = (number + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::ordered;

    #[test]
    fn numbers_as_integers_have_their_order() {
        let numbers = [-2.5, -1.0, 0.0, 0.5, 1e9];
        assert!(numbers.map(ordered).is_sorted());
        assert_eq!(ordered(-0.0), ordered(0.0));
    }
}
