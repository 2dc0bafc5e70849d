//! Axes with the units of their columns.

use super::data::{Column, Values};
use super::form::{Axis as Along, Chart};
use serde_json::{Value, json};

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
        Values::Numbers(_) => {
            if is_log {
                axis["type"] = "log".into();
            }
            // Bytes and counts have SI prefixes.
            match column.unit.as_deref() {
                Some(unit @ ("B" | "B/s")) => {
                    axis["tickformat"] = "~s".into();
                    axis["ticksuffix"] = unit.into();
                }
                Some("count") => axis["tickformat"] = "~s".into(),
                _ => {}
            }
        }
        Values::Times(_) => axis["type"] = "date".into(),
        Values::Texts(_) => axis["type"] = "category".into(),
    }
    axis
}

/// What a column is called on an axis: `read time (s)`.
pub(super) fn title(column: &Column) -> String {
    let name = column.name.replace('_', " ");
    match column.unit.as_deref() {
        None | Some("count") => name,
        Some(unit) => format!("{name} ({unit})"),
    }
}
