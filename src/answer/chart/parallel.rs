//! Parallel coordinates: an axis for each column, a line for each row.

use super::axes::{tick_format, title};
use super::data::{Column, Data, Values};
use super::form::{ANY, Brush, Chart, Drawing, Form, MOST_POINTS};
use crate::error::Result;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(super) const PARALLEL: Form = Form {
    name: "parallel",
    doc: "An axis for each column of y, across which each row is a line; z is its colour. Ranges of an axis are chosen with the mouse",
    takes: [(0, 0), (2, ANY), (0, 1), (0, 0), (0, 0)],
    draw,
};

/// Colours that a reader tells apart; what has none of its own is grey.
const COLOURS: [&str; 7] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f98",
];

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let columns = chart.y.0.iter().map(|name| data.column(name));
    let columns: Vec<&Column> = columns.collect::<Result<_>>()?;
    let mut notes = vec![];
    // A line needs a place on each axis, and an axis at least one value.
    let is_known = |column: &Column, row: usize| !column.place(row).is_null();
    let (drawn, empty): (Vec<&Column>, Vec<&Column>) = columns
        .into_iter()
        .partition(|column| (0..data.len()).any(|row| is_known(column, row)));
    for column in empty {
        notes.push(format!("No row has a value of {}.", title(column)));
    }
    let rows = (0..data.len()).filter(|row| drawn.iter().all(|column| is_known(column, *row)));
    let all: Vec<usize> = rows.collect();
    if all.len() < data.len() {
        let without = data.len() - all.len();
        notes.push(format!(
            "{without} of {} rows lack a value of an axis and are not drawn.",
            data.len()
        ));
    }
    let step = (all.len() * drawn.len()).div_ceil(MOST_POINTS).max(1);
    if step > 1 {
        notes.push(format!("Every {step}th of {} rows.", all.len()));
    }
    let rows: Vec<usize> = all.into_iter().step_by(step).collect();
    if rows.is_empty() || drawn.len() < 2 {
        return Ok(Drawing {
            traces: vec![],
            layout: json!({}),
            notes,
            brush: Brush::default(),
        });
    }
    let dimensions: Vec<Value> = drawn
        .iter()
        .map(|column| dimension(column, &rows))
        .collect();
    let mut trace = json!({"type": "parcoords", "dimensions": dimensions});
    if let Some(name) = chart.z.0.first() {
        trace["line"] = colours(data.column(name)?, &rows);
    }
    let names = drawn.iter().map(|column| column.name.clone());
    Ok(Drawing {
        traces: vec![trace],
        layout: json!({"margin": {"t": 60}}),
        notes,
        brush: Brush {
            parallel: names.collect(),
            ..Brush::default()
        },
    })
}

/// An axis; texts have places in the order of the rows.
fn dimension(column: &Column, rows: &[usize]) -> Value {
    match &column.values {
        Values::Numbers(numbers) => {
            let numbers: Vec<Option<f64>> = rows.iter().map(|row| numbers[*row]).collect();
            let mut axis = json!({"label": title(column), "values": numbers});
            // The ends of an axis are values, of which there is room for three digits.
            axis["tickformat"] = match column.unit.as_deref() {
                Some("B" | "B/s") => ".3~s".into(),
                Some("fraction") => ".1~%".into(),
                _ => ",.3~r".into(),
            };
            let known = || numbers.iter().flatten().copied();
            let (least, greatest) = (
                known().fold(f64::INFINITY, f64::min),
                known().fold(f64::NEG_INFINITY, f64::max),
            );
            if least == greatest && least >= 0.0 {
                // All lines through one place: at an end that says something.
                axis["range"] = json!([0.0, greatest.max(1.0)]);
            }
            axis
        }
        Values::Times(_) | Values::Texts(_) => {
            let (places, names) = categories(column, rows, usize::MAX);
            let ticks: Vec<usize> = (0..names.len()).collect();
            json!({"label": title(column), "values": places, "tickvals": ticks, "ticktext": names})
        }
    }
}

/// The colour of each row: along a scale by a number, of its own by a text.
fn colours(column: &Column, rows: &[usize]) -> Value {
    if let Values::Numbers(numbers) = &column.values {
        let numbers: Vec<Option<f64>> = rows.iter().map(|row| numbers[*row]).collect();
        return json!({"color": numbers, "colorscale": "Viridis", "showscale": true, "colorbar": {"title": {"text": title(column)}, "tickformat": tick_format(column).unwrap_or_default()}});
    }
    let (places, names) = categories(column, rows, COLOURS.len());
    let n = names.len();
    let scale: Vec<(f64, &str)> = (0..n)
        .flat_map(|at| [at, at + 1].map(|edge| (edge as f64 / n as f64, COLOURS[at])))
        .collect();
    let ticks: Vec<usize> = (0..n).collect();
    json!({
        "color": places, "colorscale": scale, "cmin": -0.5, "cmax": n as f64 - 0.5, "showscale": true,
        "colorbar": {"title": {"text": title(column)}, "tickvals": ticks, "ticktext": names},
    })
}

/// The place of each row among the texts of a column, and these texts, those of most rows first; beyond `most` the rest has one place together.
fn categories(column: &Column, rows: &[usize], most: usize) -> (Vec<usize>, Vec<String>) {
    let texts = rows
        .iter()
        .map(|row| column.category(*row).unwrap_or_else(|| "none".into()));
    let texts: Vec<String> = texts.collect();
    let mut found: Vec<(String, usize)> = vec![];
    let mut at: HashMap<&str, usize> = HashMap::new();
    for text in &texts {
        let place = *at.entry(text).or_insert_with(|| {
            found.push((text.clone(), 0));
            found.len() - 1
        });
        found[place].1 += 1;
    }
    found.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let mut names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    let places: HashMap<String, usize> = names.iter().cloned().zip(0..).collect();
    if names.len() > most {
        let others = names.len() - (most - 1);
        names.truncate(most - 1);
        names.push(format!("{others} others"));
    }
    let place = |text: &String| places[text].min(names.len() - 1);
    (texts.iter().map(place).collect(), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_most_rows_have_places_of_their_own() {
        let texts = ["a", "b", "b", "c", "d", "b", "c"].map(|text| Some(text.to_string()));
        let column = Column {
            name: "app".into(),
            unit: None,
            values: Values::Texts(texts.to_vec()),
        };
        let rows: Vec<usize> = (0..7).collect();
        let (places, names) = categories(&column, &rows, 3);
        assert_eq!(names, ["b", "c", "2 others"]);
        assert_eq!(places, [2, 0, 0, 1, 2, 0, 1]);
        let (places, names) = categories(&column, &rows[..3], usize::MAX);
        assert_eq!(
            (places, names),
            (vec![1, 0, 0], vec!["b".into(), "a".into()])
        );
    }
}
