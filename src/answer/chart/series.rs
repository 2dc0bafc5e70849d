//! Rows by the values of a column.

use super::data::Data;
use super::form::{Chart, Columns};
use crate::error::Result;

/// More series than this have one colour together: a reader tells no more apart.
const MOST_SERIES: usize = 12;

/// Rows that have a colour of their own.
pub(super) struct Series {
    /// The value that they share; empty if the chart has no column of series.
    pub(super) name: String,
    pub(super) rows: Vec<usize>,
}

impl Series {
    /// What the legend calls the marks of one of several columns.
    pub(super) fn called(&self, column: &str, columns: usize) -> String {
        match (self.name.as_str(), columns) {
            ("", _) => column.into(),
            (name, 1) => name.into(),
            (name, _) => format!("{name}: {column}"),
        }
    }
}

/// The rows by their series, those of most rows first; the rarest are together in the last.
pub(super) fn series(chart: &Chart, data: &Data) -> Result<Vec<Series>> {
    let Columns(names) = &chart.series;
    let Some(name) = names.first() else {
        return Ok(vec![Series {
            name: String::new(),
            rows: (0..data.len()).collect(),
        }]);
    };
    let column = data.column(name)?;
    let mut found: Vec<Series> = vec![];
    let mut places = std::collections::HashMap::new();
    for row in 0..data.len() {
        let value = column.category(row).unwrap_or_else(|| "none".into());
        let at = *places.entry(value).or_insert_with_key(|value| {
            found.push(Series {
                name: value.clone(),
                rows: vec![],
            });
            found.len() - 1
        });
        found[at].rows.push(row);
    }
    found.sort_by(|a, b| b.rows.len().cmp(&a.rows.len()).then(a.name.cmp(&b.name)));
    if found.len() > MOST_SERIES {
        let rest = found.split_off(MOST_SERIES - 1);
        let mut rows: Vec<usize> = rest
            .iter()
            .flat_map(|series| &series.rows)
            .copied()
            .collect();
        rows.sort_unstable();
        found.push(Series {
            name: format!("{} others", rest.len()),
            rows,
        });
    }
    Ok(found)
}
