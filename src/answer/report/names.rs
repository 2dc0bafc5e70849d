//! The names that a report's file uses: columns of an answer in charts, tables, conditions and sentences, and bases.
//!
//! Those of named queries are checked when the file is read. Those of SQL are known once it is planned, before anything is asked.

use super::file::{Asked, Basis, Report, Wrong};
use crate::engine::rules::sentence::{DIRECTIONS, FORMS, places};
use crate::engine::{Engine, condition_names};
use crate::error::{Error, Result};
use toml::Spanned;

/// Places of sentences that are no columns: of how many rows a condition holds, and how many there are.
const COUNTS: [&str; 2] = ["rows", "all_rows"];

type Checked = std::result::Result<(), Wrong>;

impl Report {
    /// Refuses names that the answers to its SQL do not have. SQL that cannot be planned is none of it: its section says why.
    ///
    /// # Errors
    /// [`Error::Invalid`] with file and line and the nearest name; [`Error::Unavailable`].
    pub(super) async fn check_sql(
        &self,
        engine: &Engine,
        values: &[(String, String)],
    ) -> Result<()> {
        let params = self.all_params();
        for asked in &self.sections {
            let Some(sql) = &asked.sql else { continue };
            let Ok(question) = engine.question(sql.get_ref(), &params, values) else {
                continue;
            };
            let columns = match engine.columns(question).await {
                Ok(columns) => columns,
                Err(error @ Error::Unavailable(_)) => return Err(error),
                Err(_) => continue,
            };
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let checked = asked.check_columns(self, &columns);
            checked.map_err(|wrong| self.at(wrong))?;
        }
        Ok(())
    }

    /// Refuses bases that are not one of SQL and condition, and sentences of them that name what there is not.
    pub(super) fn check_bases(&self) -> Checked {
        for basis in &self.bases {
            if basis.sql.is_some() == basis.when.is_some() {
                let why = format!("basis `{}`: expected either sql or when", basis.name);
                return Err((basis.missing.span(), Error::Invalid(why)));
            }
            self.check_without_row(&basis.missing)?;
        }
        Ok(())
    }

    /// The basis of that name.
    pub(super) fn basis(&self, name: &str) -> Result<&Basis> {
        let known = self.bases.iter().map(|basis| basis.name.as_str());
        let found = self.bases.iter().find(|basis| basis.name == name);
        found.ok_or_else(|| Error::unknown("basis", name, known))
    }

    /// A sentence of no row names parameters alone.
    fn check_without_row(&self, text: &Spanned<String>) -> Checked {
        let params = self.all_params();
        let known = params.iter().map(|param| param.name.as_str());
        let known: Vec<&str> = known.chain(COUNTS).collect();
        check_places(text, "parameter of the report", &known)
    }
}

impl Asked {
    pub(super) fn check_needs(&self, report: &Report) -> Checked {
        for name in &self.needs {
            let basis = report.basis(name.get_ref());
            basis.map_err(|error| (name.span(), error))?;
        }
        Ok(())
    }

    /// Refuses names of columns that its answer does not have.
    pub(super) fn check_columns(&self, report: &Report, columns: &[&str]) -> Checked {
        let unknown = |name: &str| Error::unknown("column", name, columns.iter().copied());
        let chart = self.chart(columns.iter().copied());
        chart.map_err(|error| (self.chart_span(), error))?;
        let of_table = self.columns.iter().chain(self.units.keys());
        for column in of_table {
            if !columns.contains(&column.as_str()) {
                return Err((self.span(), unknown(column)));
            }
        }
        let bases = self
            .needs
            .iter()
            .flat_map(|name| report.basis(name.get_ref()));
        let conditions = bases.flat_map(|basis| &basis.when);
        let conditions = conditions.chain(self.findings.iter().flat_map(|finding| &finding.when));
        for condition in conditions {
            let bad = |error: Error| (condition.span(), error);
            let named = condition_names(condition.get_ref()).map_err(bad)?;
            if let Some(name) = named.iter().find(|name| !columns.contains(&name.as_str())) {
                return Err(bad(unknown(name)));
            }
        }
        let params = report.all_params();
        let known = params.iter().map(|param| param.name.as_str());
        let known = columns.iter().copied().chain(known).chain(COUNTS);
        let directions = DIRECTIONS.iter().filter(|_| columns.contains(&"direction"));
        let known: Vec<&str> = known.chain(directions.copied()).collect();
        for finding in &self.findings {
            check_places(&finding.says, "column", &known)?;
            for text in finding.otherwise.iter().chain(&finding.empty) {
                report.check_without_row(text)?;
            }
        }
        Ok(())
    }
}

/// Refuses places of a sentence that name what is not known, and forms that there are not.
fn check_places(text: &Spanned<String>, kind: &'static str, known: &[&str]) -> Checked {
    for (name, form) in places(text.get_ref()) {
        if !known.contains(&name) {
            let error = Error::unknown(kind, name, known.iter().copied());
            return Err((text.span(), error));
        }
        if !form.is_empty() && !FORMS.contains(&form) {
            return Err((text.span(), Error::unknown("form of a number", form, FORMS)));
        }
    }
    Ok(())
}
