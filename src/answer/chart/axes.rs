//! Axes with the units of their columns.

use super::data::{Column, Values};
use super::form::{Axis as Along, Chart};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Characters of a name beside an axis.
const LONG_NAME: usize = 32;

/// A layout whose axes are those of these columns; None where an axis counts rows.
pub(super) fn layout(chart: &Chart, x: Option<&Column>, y: Option<&Column>) -> Value {
    json!({
        "xaxis": axis(x, chart.log.contains(&Along::X)),
        "yaxis": axis(y, chart.log.contains(&Along::Y)),
    })
}

/// The axis of a column.
pub(super) fn axis(column: Option<&Column>, is_log: bool) -> Value {
    let Some(column) = column else {
        return json!({"automargin": true, "title": {"text": "rows"}});
    };
    let mut axis = json!({"automargin": true, "title": {"text": title(column)}});
    match &column.values {
        Values::Numbers(numbers) => {
            if is_log {
                axis["type"] = "log".into();
                let known = || {
                    numbers
                        .iter()
                        .flatten()
                        .copied()
                        .filter(|number| *number > 0.0)
                };
                let (least, greatest) = (
                    known().fold(f64::INFINITY, f64::min),
                    known().fold(0.0, f64::max),
                );
                // Between powers of ten there is room for others only where these are few.
                if greatest / least >= 30.0 || greatest == least {
                    axis["dtick"] = 1.into();
                }
            }
            if let Some(format) = tick_format(column) {
                axis["tickformat"] = format.into();
            }
            if let Some(unit @ ("B" | "B/s")) = column.unit.as_deref() {
                axis["ticksuffix"] = unit.into();
            }
        }
        Values::Times(_) => axis["type"] = "date".into(),
        Values::Texts(texts) => {
            axis["type"] = "category".into();
            // Names say by themselves what they are, and leave a title no room.
            axis["title"]["text"] = "".into();
            let long = texts.iter().flatten();
            let long = long.filter(|text| text.chars().count() > LONG_NAME);
            let aliases: Map<String, Value> = long
                .map(|text| (text.clone(), short(text).into()))
                .collect();
            if !aliases.is_empty() {
                axis["labelalias"] = aliases.into();
            }
        }
    }
    axis
}

/// How the numbers of a column stand beside an axis or a colour, as d3 has it: bytes and counts with SI prefixes, fractions as percent.
pub(super) fn tick_format(column: &Column) -> Option<&'static str> {
    match column.unit.as_deref()? {
        "B" | "B/s" | "count" => Some("~s"),
        "fraction" => Some(".3~%"),
        _ => None,
    }
}

/// How high a chart is in which each text among some rows of a column has a line, px.
pub(super) fn height(column: &Column, rows: usize) -> usize {
    let texts: HashSet<String> = (0..rows).filter_map(|row| column.category(row)).collect();
    (100 + 18 * texts.len()).clamp(416, 900)
}

/// The end of a text of which an axis has no room for more, as those of paths tell files apart.
fn short(text: &str) -> String {
    let length = text.chars().count();
    let end: String = text.chars().skip(length - (LONG_NAME - 2)).collect();
    // No part of an escaped character.
    let end = match end.split_once(';') {
        Some((before, rest)) if !before.contains('&') && before.len() < 4 => rest.into(),
        _ => end,
    };
    format!("..{end}")
}

/// What a column is called on an axis: `read time (s)`.
pub(super) fn title(column: &Column) -> String {
    let name = column.name.replace('_', " ");
    match column.unit.as_deref() {
        None | Some("count") => name,
        // As its ticks say it.
        Some("fraction") => format!("{name} (%)"),
        Some(unit) => format!("{name} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::form::Axis as Along;
    use super::*;

    /// By the formats of d3, 0.125 is 12.5% by `.3~%`, and 12500 is 12.5k by `~s`.
    #[test]
    fn an_axis_says_in_which_unit_its_numbers_are() {
        let of = |unit: Option<&str>| {
            let column = Column {
                name: "share_of_logs".into(),
                unit: unit.map(String::from),
                values: Values::Numbers(vec![Some(0.125), Some(1.0)]),
            };
            let chart = Chart {
                log: vec![Along::Y],
                ..Chart::default()
            };
            let layout = layout(&chart, Some(&column), None);
            ["title", "tickformat", "ticksuffix"].map(|key| match &layout["xaxis"][key] {
                Value::Object(title) => title["text"].as_str().unwrap().to_string(),
                other => other.as_str().unwrap_or_default().to_string(),
            })
        };
        assert_eq!(of(Some("fraction")), ["share of logs (%)", ".3~%", ""]);
        assert_eq!(of(Some("B")), ["share of logs (B)", "~s", "B"]);
        assert_eq!(of(Some("count")), ["share of logs", "~s", ""]);
        assert_eq!(of(None), ["share of logs", "", ""]);
    }

    #[test]
    fn a_long_name_is_shown_by_its_end_and_no_part_of_an_escape() {
        assert_eq!(
            short(&format!("{}/out.dat", "x".repeat(40))),
            format!("..{}/out.dat", "x".repeat(22))
        );
        let cut = format!("/a/&lt;{}", "x".repeat(28));
        assert_eq!(short(&cut), format!("..{}", "x".repeat(28)));
    }
}
