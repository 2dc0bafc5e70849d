//! What a chart is, what a form of charts is, and what it makes of rows.

use super::data::Data;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Marks of a chart at most.
pub const MOST_POINTS: usize = 20_000;

/// Which form a chart has, and which columns it draws.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// One of [`super::FORMS`].
    pub form: String,
    /// The columns along x.
    #[serde(default)]
    pub x: Columns,
    /// The columns along y.
    #[serde(default)]
    pub y: Columns,
    /// The column of what a colour means.
    #[serde(default)]
    pub z: Columns,
    /// Each value of this column has marks and a colour of its own.
    #[serde(default)]
    pub series: Columns,
    /// What a mark shows of its row beside its place.
    #[serde(default)]
    pub label: Columns,
    /// The axes with a logarithmic scale.
    #[serde(default)]
    pub log: Vec<Axis>,
    /// Whether bars of several columns or series stand on each other.
    #[serde(default)]
    pub stacked: bool,
}

/// The names of no, one or several columns, in TOML a text or a list of texts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Columns(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Columns {
    fn from(names: OneOrMany) -> Self {
        match names {
            OneOrMany::One(name) => Self(vec![name]),
            OneOrMany::Many(names) => Self(names),
        }
    }
}

/// An axis of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// To the right.
    X,
    /// Upwards.
    Y,
    /// Colours.
    Z,
}

/// A form of charts.
pub struct Form {
    /// Its name in front matter.
    pub name: &'static str,
    /// What it shows, one line.
    pub doc: &'static str,
    /// How many columns it draws along x, y and z, as series and as label: at least, at most.
    pub(super) takes: [(usize, usize); 5],
    pub(super) draw: fn(&Chart, &Data) -> Result<Drawing>,
}

/// Any number of columns.
pub(super) const ANY: usize = usize::MAX;

/// What a form makes of rows.
pub(super) struct Drawing {
    /// Of plotly.js, as its reference describes them; the test of pages has `Plotly.validate` look at them.
    pub(super) traces: Vec<Value>,
    pub(super) layout: Value,
    /// What was binned or left out.
    pub(super) notes: Vec<String>,
    pub(super) brush: Brush,
}

/// The columns whose rows a range that is drawn in the chart chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Brush {
    /// That of the axis to the right; of two columns those rows are chosen that reach into the range.
    pub x: Vec<String>,
    /// That of the axis upwards.
    pub y: Vec<String>,
    /// Those of the axes of parallel coordinates, in their order.
    pub parallel: Vec<String>,
}

impl Brush {
    /// Of columns along both axes.
    pub(super) fn of(x: &Columns, y: &Columns) -> Self {
        Self {
            x: x.0.clone(),
            y: y.0.clone(),
            parallel: vec![],
        }
    }

    /// Of a column along x, where y is a count or several columns.
    pub(super) fn along(x: &Columns) -> Self {
        Self::of(x, &Columns::default())
    }
}
