//! Rows by the values of a column.

use super::data::Data;
use super::form::{Chart, Columns};
use crate::error::Result;
use std::collections::HashMap;

/// More series than this have one colour together: a reader tells no more apart.
const MOST_SERIES: usize = 12;

/// Rows that have a colour of their own.
pub(super) struct Series {
    /// The value that they share; None if the chart has no column of series, or the value is NULL.
    value: Option<String>,
    pub(super) rows: Vec<usize>,
}

impl Series {
    /// What the legend calls the marks of the rows.
    pub(super) fn name(&self) -> &str {
        self.value.as_deref().unwrap_or("none")
    }

    /// What the legend calls the marks of one of several columns.
    pub(super) fn called(&self, column: &str, columns: usize) -> String {
        match (&self.value, columns) {
            (None, _) => column.into(),
            (Some(name), 1) => name.clone(),
            (Some(name), _) => format!("{name}: {column}"),
        }
    }
}

/// The rows by their series, in the order of their first rows; those of fewest rows are together in the last if there are many.
pub(super) fn series(chart: &Chart, data: &Data) -> Result<Vec<Series>> {
    let Columns(names) = &chart.series;
    let Some(name) = names.first() else {
        return Ok(vec![Series {
            value: None,
            rows: (0..data.len()).collect(),
        }]);
    };
    let column = data.column(name)?;
    let mut found: Vec<Series> = vec![];
    let mut places = HashMap::new();
    for row in 0..data.len() {
        let value = column.category(row);
        let at = *places.entry(value).or_insert_with_key(|value| {
            found.push(Series {
                value: value.clone(),
                rows: vec![],
            });
            found.len() - 1
        });
        found[at].rows.push(row);
    }
    Ok(fewer(found))
}

/// At most [`MOST_SERIES`].
fn fewer(found: Vec<Series>) -> Vec<Series> {
    if found.len() <= MOST_SERIES {
        return found;
    }
    let mut by_rows: Vec<usize> = (0..found.len()).collect();
    by_rows.sort_by_key(|at| std::cmp::Reverse(found[*at].rows.len()));
    by_rows.truncate(MOST_SERIES - 1);
    let (mut kept, mut others) = (vec![], vec![]);
    for (at, series) in found.into_iter().enumerate() {
        match by_rows.contains(&at) {
            true => kept.push(series),
            false => others.push(series),
        }
    }
    let mut rows: Vec<usize> = others
        .iter()
        .flat_map(|series| &series.rows)
        .copied()
        .collect();
    rows.sort_unstable();
    kept.push(Series {
        value: Some(format!("{} others", others.len())),
        rows,
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Option<&str>, rows: &[usize]) -> Series {
        Series {
            value: value.map(String::from),
            rows: rows.to_vec(),
        }
    }

    #[test]
    fn a_series_without_a_value_is_called_by_its_column() {
        let names = |series: Series| [series.called("bytes", 1), series.called("bytes", 2)];
        assert_eq!(names(of(Some("cori"), &[])), ["cori", "cori: bytes"]);
        assert_eq!(names(of(None, &[])), ["bytes", "bytes"]);
    }

    /// Of 13 series those of rows 0 and 5 have one row each, all others two: these two are together, and the others keep their order.
    #[test]
    fn series_of_fewest_rows_are_together() {
        let all = (0..13).map(|at| match at {
            0 | 5 => of(Some(&at.to_string()), &[at]),
            _ => of(Some(&at.to_string()), &[at, 100 + at]),
        });
        let fewer = fewer(all.collect());
        let names: Vec<&str> = fewer.iter().map(Series::name).collect();
        let expected = [
            "1", "2", "3", "4", "6", "7", "8", "9", "10", "11", "12", "2 others",
        ];
        assert_eq!(names, expected);
        assert_eq!(fewer[11].rows, [0, 5]);
    }
}
