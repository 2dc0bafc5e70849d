//! Box plots: quartiles, whiskers and median of a column.

use super::axes::layout;
use super::data::Data;
use super::form::{Brush, Chart, Drawing, Form};
use crate::error::Result;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(super) const BOX: Form = Form {
    name: "box",
    doc: "Quartiles of a column, for each value of x; whiskers reach to the last row within 1.5 times the distance of the quartiles",
    takes: [(0, 1), (1, 1), (0, 0), (0, 0), (0, 0)],
    draw,
};

/// Boxes that a reader looks through.
const MOST_BOXES: usize = 60;

fn draw(chart: &Chart, data: &Data) -> Result<Drawing> {
    let along = chart
        .x
        .0
        .first()
        .map(|name| data.column(name))
        .transpose()?;
    let upwards = data.column(&chart.y.0[0])?;
    let numbers = upwards.numbers()?;
    let mut groups: Vec<(Value, Vec<f64>)> = vec![];
    let mut at = HashMap::new();
    for (row, number) in numbers.iter().enumerate() {
        let Some(number) = number else { continue };
        let name = along.map_or(Some(String::new()), |along| along.category(row));
        let Some(name) = name else { continue };
        let group = *at.entry(name).or_insert_with(|| {
            let place = along.map_or(Value::String(upwards.name.clone()), |along| {
                along.place(row)
            });
            groups.push((place, vec![]));
            groups.len() - 1
        });
        groups[group].1.push(*number);
    }
    let mut notes = vec![];
    if groups.len() > MOST_BOXES {
        notes.push(format!("The first {MOST_BOXES} of {} boxes.", groups.len()));
        groups.truncate(MOST_BOXES);
    }
    let mut boxes: [Vec<f64>; 5] = Default::default();
    let mut places = vec![];
    for (place, mut numbers) in groups {
        numbers.sort_by(f64::total_cmp);
        for (column, number) in boxes.iter_mut().zip(five_numbers(&numbers)) {
            column.push(number);
        }
        places.push(place);
    }
    let traces = match places.is_empty() {
        true => vec![],
        false => {
            let [lower, q1, median, q3, upper] = boxes;
            vec![json!({
                "type": "box", "x": places, "lowerfence": lower, "q1": q1, "median": median, "q3": q3, "upperfence": upper,
            })]
        }
    };
    let mut layout = layout(chart, along, Some(upwards));
    if along.is_none() {
        layout["xaxis"] = json!({"type": "category"});
    }
    Ok(Drawing {
        traces,
        layout,
        notes,
        brush: Brush::of(&chart.x, &chart.y),
    })
}

/// Lower whisker, quartiles with the median, upper whisker of sorted numbers; quartiles lie between two numbers by weight, as in `percentile_cont`.
fn five_numbers(sorted: &[f64]) -> [f64; 5] {
    let quantile = |part: f64| {
        let place = part * (sorted.len() - 1) as f64;
        let (below, above) = (
            sorted[place.floor() as usize],
            sorted[place.ceil() as usize],
        );
        below + (above - below) * place.fract()
    };
    let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
    let reach = 1.5 * (q3 - q1);
    let within = |number: &&f64| (q1 - reach..=q3 + reach).contains(*number);
    let lower = sorted.iter().find(within).copied().unwrap_or(q1);
    let upper = sorted.iter().rev().find(within).copied().unwrap_or(q3);
    [lower, q1, median, q3, upper]
}

#[cfg(test)]
mod tests {
    use super::five_numbers;

    /// Of 1 to 9 the quartiles are 3, 5 and 7; 1.5 times their distance is 6, so that 100 is beyond.
    #[test]
    fn whiskers_end_at_rows() {
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 100.0];
        assert_eq!(five_numbers(&numbers), [1.0, 3.0, 5.0, 7.0, 8.0]);
        assert_eq!(five_numbers(&[2.0]), [2.0; 5]);
    }
}
