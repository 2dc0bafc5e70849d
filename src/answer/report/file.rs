//! The file of a report: TOML with a title and a list of sections.

use crate::answer::analysis::{ANALYSES, Analysis};
use crate::answer::chart::Chart;
use crate::engine::queries::{Param, ParamType, Query, query};
use crate::error::{Error, Result};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A report as its file says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The heading of the page.
    pub title: String,
    /// What it is for, one line.
    pub doc: String,
    /// Its parameters beside `from` and `to`, which every report has.
    #[serde(default, rename = "param")]
    pub params: Vec<Param>,
    /// Whether its page says how much of the I/O of the period the logs explain; not if it is about a job.
    #[serde(default = "yes")]
    pub(super) coverage: bool,
    /// What there must be for findings that nothing is the matter, by the names that sections have in `needs`.
    #[serde(default, rename = "basis")]
    pub(super) bases: Vec<Basis>,
    /// Its sections, in the order of the page.
    #[serde(rename = "section")]
    pub(super) sections: Vec<Asked>,
    /// Where it is written.
    #[serde(skip)]
    text: FileText,
}

/// The text of a file and its name, for errors that say where they are.
#[derive(Clone, Debug, Default)]
struct FileText {
    name: String,
    text: String,
}

impl FileText {
    fn at(&self, span: Option<Range<usize>>, why: &str) -> Error {
        let before = span.map_or("", |span| self.text.get(..span.start).unwrap_or(""));
        let line = 1 + before.matches('\n').count();
        Error::Invalid(format!("{}:{line}: {why}", self.name))
    }
}

/// What the findings of a section rest on. Without it nothing can be judged: what is missing is said then in place of what is said where no row is conspicuous.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Basis {
    pub(super) name: String,
    /// SQL that has a row if it is there, in which `$name` is a parameter of the report ..
    pub(super) sql: Option<Spanned<String>>,
    /// .. or a condition over the columns of the section that holds for a row.
    pub(super) when: Option<Spanned<String>>,
    /// What is said if it is not there, with parameters in its places.
    pub(super) missing: Spanned<String>,
}

/// A section: what is asked, and how the answer is shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) title: String,
    /// Why it is asked, one sentence.
    pub(super) why: String,
    /// The named query that is asked ..
    pub(super) query: Option<Spanned<String>>,
    /// .. or the SQL, in which `$name` is a parameter of the report ..
    pub(super) sql: Option<Spanned<String>>,
    /// .. or the analysis.
    analysis: Option<Spanned<String>>,
    /// Values of parameters of the named query or analysis; `"$name"` is the value of a parameter of the report.
    #[serde(default)]
    with: Option<Spanned<toml::Table>>,
    /// The chart, instead of that of the named query; `false` for none.
    chart: Option<Spanned<ChartLine>>,
    /// The columns of the table; all if there are none.
    #[serde(default)]
    pub(super) columns: Vec<String>,
    /// Units of columns of SQL where those of tables do not say them.
    #[serde(default)]
    pub(super) units: BTreeMap<String, String>,
    /// The bases without which its findings do not say that nothing is the matter, in the order in which they are looked for.
    #[serde(default)]
    pub(super) needs: Vec<Spanned<String>>,
    /// Rows of the table.
    #[serde(default = "few")]
    pub(super) rows: usize,
    /// What is said of the rows.
    #[serde(default, rename = "finding")]
    pub(super) findings: Vec<Finding>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum ChartLine {
    Is(bool),
    Line(toml::Table),
}

fn yes() -> bool {
    true
}

fn few() -> usize {
    100
}

/// A sentence about the rows for which a condition holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Finding {
    /// SQL over the columns of the section; every row if there is none.
    pub(super) when: Option<Spanned<String>>,
    /// The sentence, with columns and parameters in places such as `{bytes_read:size}`; `{rows}` is of how many rows it holds, `{all_rows}` how many there are.
    pub(super) says: Spanned<String>,
    /// What is said if the condition holds for no row, with parameters in its places.
    pub(super) otherwise: Option<Spanned<String>>,
    /// What is said instead of that if there are no rows at all.
    pub(super) empty: Option<Spanned<String>>,
    /// Of how many rows it is said at most.
    #[serde(default = "three")]
    pub(super) most: usize,
}

fn three() -> usize {
    3
}

/// What is wrong with a file, and where.
pub(super) type Wrong = (Range<usize>, Error);

/// The parameters that every report has.
pub(super) const PERIOD: [&str; 2] = ["from", "to"];

impl Report {
    /// The report of a file; `name` is the file's in errors.
    ///
    /// # Errors
    /// [`Error::Invalid`] with file and line for what is no TOML, for a key, query, parameter, column, form of chart or form of a number that there is not, with the nearest name.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let file = FileText {
            name: name.into(),
            text: text.into(),
        };
        let mut report: Self = toml::from_str(text).map_err(|e| {
            let why = nearest(e.message()).unwrap_or(e.message().into());
            file.at(e.span(), &why)
        })?;
        report.text = file;
        let checked = report.check_bases();
        checked.map_err(|wrong| report.at(wrong))?;
        for section in &report.sections {
            let checked = section.check(&report);
            checked.map_err(|wrong| report.at(wrong))?;
        }
        Ok(report)
    }

    /// What is wrong, with its file and line.
    pub(super) fn at(&self, (span, error): Wrong) -> Error {
        self.text.at(Some(span), &error.to_string())
    }

    /// All of its parameters: `from` and `to` first.
    pub fn all_params(&self) -> Vec<Param> {
        let period = [
            ("from", "Logs that start then or later"),
            ("to", "Logs that start before"),
        ];
        let period = period.map(|(name, doc)| Param {
            name: name.into(),
            aliases: vec![],
            kind: ParamType::Timestamp,
            default: Some("NULL".into()),
            values: vec![],
            range: None,
            doc: doc.into(),
        });
        period
            .into_iter()
            .chain(self.params.iter().cloned())
            .collect()
    }

    /// The values of its parameters: those that are given, as somebody types them, and the defaults of others. `name` is the report's in errors.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] for a value of no parameter or of another type than its parameter's, and for one that is needed and not given.
    pub fn values(&self, name: &str, given: &[(String, String)]) -> Result<Vec<(String, String)>> {
        let params = self.all_params();
        for (name, value) in given {
            let param = params.iter().find(|param| param.is_called(name));
            let known = params.iter().map(|param| param.name.as_str());
            param
                .ok_or_else(|| Error::unknown("parameter", name, known))?
                .literal(value)?;
        }
        let mut values = given.to_vec();
        for param in &params {
            if values.iter().any(|(name, _)| param.is_called(name)) {
                continue;
            }
            if param.default.is_none() {
                let (flag, doc) = (&param.name, &param.doc);
                let why = format!("the report {name} needs --set {flag}=..: {doc}");
                return Err(Error::Invalid(why));
            }
            let default = param.typed_default();
            values.extend(default.map(|value| (param.name.clone(), value)));
        }
        Ok(values)
    }
}

/// `unknown key ..` with the nearest name, of what serde says of an unknown field.
fn nearest(message: &str) -> Option<String> {
    let (field, expected) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known = expected.split('`').skip(1).step_by(2);
    Some(Error::unknown("key", field, known).to_string())
}

impl Asked {
    /// The named query that is asked, if it is one.
    pub(super) fn named(&self) -> Option<&'static Query> {
        self.query
            .as_ref()
            .and_then(|name| query(name.get_ref()).ok())
    }

    /// The analysis that is asked, if it is one.
    pub(super) fn analysis(&self) -> Option<&'static Analysis> {
        let name = self.analysis.as_ref()?.get_ref();
        ANALYSES.iter().find(|analysis| analysis.name == name)
    }

    /// The parameters of what is asked; None of SQL, whose parameters are those of the report.
    fn params(&self) -> Option<Cow<'static, [Param]>> {
        match (self.named(), self.analysis()) {
            (Some(query), _) => Some(Cow::Borrowed(&query.params)),
            (None, Some(analysis)) => Some(Cow::Owned((analysis.params)())),
            (None, None) => None,
        }
    }

    /// Values of the parameters of the named query or analysis, as somebody types them; `given` are those of the report.
    pub(super) fn values(&self, given: &[(String, String)]) -> Vec<(String, String)> {
        let of_report = |name: &str| {
            let found = given.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let mut values: Vec<(String, String)> = vec![];
        for (name, value) in self.with.iter().flat_map(|with| with.get_ref()) {
            let value = match value {
                toml::Value::String(text) => match text.strip_prefix('$') {
                    Some(param) => of_report(param),
                    None => Some(text.clone()),
                },
                other => Some(other.to_string()),
            };
            values.extend(value.map(|value| (name.clone(), value)));
        }
        let params = self.params().unwrap_or_default();
        let takes = |name: &str| params.iter().any(|param| param.is_called(name));
        for name in PERIOD {
            let is_given = values.iter().any(|(known, _)| known == name);
            if takes(name) && !is_given && !self.passes(name) {
                values.extend(of_report(name).map(|value| (name.to_string(), value)));
            }
        }
        values
    }

    /// Whether another parameter has the value of that of the report: what begins `since` the period is compared with what was before it.
    fn passes(&self, name: &str) -> bool {
        let mut with = self.with.iter().flat_map(|with| with.get_ref().values());
        with.any(|value| value.as_str().and_then(|text| text.strip_prefix('$')) == Some(name))
    }

    /// The parameters of the named query or analysis, and those of their values that are values of parameters of the report.
    pub(super) fn passed(
        &self,
        given: &[(String, String)],
    ) -> (Cow<'static, [Param]>, Vec<(String, String)>) {
        let with = self.with.iter().flat_map(|with| with.get_ref());
        let passed = with.filter_map(|(name, value)| {
            let param = value.as_str()?.strip_prefix('$')?;
            let (_, value) = given.iter().find(|(known, _)| known == param)?;
            Some((name.clone(), value.clone()))
        });
        (self.params().unwrap_or_default(), passed.collect())
    }

    /// Whether the period of the report chooses the rows.
    pub(super) fn is_dated(&self) -> bool {
        if let Some(sql) = &self.sql {
            let sql = sql.get_ref();
            return PERIOD.iter().any(|name| sql.contains(&format!("${name}")));
        }
        let with = self.with.iter().flat_map(|with| with.get_ref().values());
        let mut of_report = with.filter_map(|value| value.as_str()?.strip_prefix('$'));
        let params = self.params().unwrap_or_default();
        of_report.any(|name| PERIOD.contains(&name))
            || params
                .iter()
                .any(|param| PERIOD.contains(&param.name.as_str()))
    }

    /// The chart of rows with these columns.
    ///
    /// # Errors
    /// As [`Chart::of_line`].
    pub(super) fn chart<'a>(
        &self,
        columns: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Option<Chart>> {
        let own = self.chart.as_ref().map(|line| line.get_ref());
        let line = match own {
            Some(ChartLine::Line(line)) => Some(line),
            Some(ChartLine::Is(false)) => None,
            Some(ChartLine::Is(true)) | None => self.named().and_then(|query| query.chart.as_ref()),
        };
        line.map(|line| Chart::of_line(line, columns)).transpose()
    }

    fn check(&self, report: &Report) -> std::result::Result<(), Wrong> {
        let asked = [&self.query, &self.sql, &self.analysis]
            .into_iter()
            .flatten();
        if asked.count() != 1 {
            let why = format!(
                "section `{}`: expected either query, sql or analysis",
                self.title
            );
            return Err((self.span(), Error::Invalid(why)));
        }
        if let Some(name) = &self.query {
            query(name.get_ref()).map_err(|error| (name.span(), error))?;
        }
        if let (Some(name), None) = (&self.analysis, self.analysis()) {
            let known = ANALYSES.iter().map(|analysis| analysis.name);
            let error = Error::unknown("analysis", name.get_ref(), known);
            return Err((name.span(), error));
        }
        if self.analysis.is_some() {
            let unused = [
                (self.chart.is_some(), "chart"),
                (!self.columns.is_empty(), "columns"),
                (!self.units.is_empty(), "units"),
                (!self.needs.is_empty(), "needs"),
                (!self.findings.is_empty(), "findings"),
            ];
            if let Some((_, word)) = unused.iter().find(|(is_there, _)| *is_there) {
                let why = format!(
                    "section `{}`: an analysis has findings, tables and charts of its own, and takes no {word}",
                    self.title
                );
                return Err((self.span(), Error::Invalid(why)));
            }
        }
        if let (Some(with), Some(params)) = (&self.with, self.params()) {
            let bad = |error: Error| (with.span(), error);
            for (name, value) in with.get_ref() {
                let param = params.iter().find(|param| param.is_called(name));
                let known = params.iter().map(|param| param.name.as_str());
                let param = param.ok_or_else(|| bad(Error::unknown("parameter", name, known)))?;
                match value {
                    toml::Value::String(text) if text.starts_with('$') => {
                        let params = report.all_params();
                        let known = params.iter().map(|param| param.name.as_str());
                        if !known.clone().any(|known| known == &text[1..]) {
                            return Err(bad(Error::unknown(
                                "parameter of the report",
                                &text[1..],
                                known,
                            )));
                        }
                    }
                    toml::Value::String(text) => drop(param.literal(text).map_err(bad)?),
                    other => drop(param.literal(&other.to_string()).map_err(bad)?),
                }
            }
        }
        self.check_needs(report)?;
        match self.named() {
            Some(query) => {
                let columns = query.columns.iter().map(|column| column.name.as_str());
                self.check_columns(report, &columns.collect::<Vec<_>>())
            }
            None => Ok(()),
        }
    }

    /// Where the question is.
    pub(super) fn span(&self) -> Range<usize> {
        let asked = [&self.query, &self.sql, &self.analysis];
        let mut spans = asked.into_iter().flatten().map(Spanned::span);
        spans.next().unwrap_or_default()
    }

    /// Where the chart is, else the question.
    pub(super) fn chart_span(&self) -> Range<usize> {
        self.chart.as_ref().map_or(self.span(), Spanned::span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Report::parse("r.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_has_its_line_and_the_nearest_name() {
        let head = "title = \"T\"\ndoc = \"D\"\n";
        let section = "[[section]]\ntitle = \"S\"\nwhy = \"W\"\n";
        let cases = [
            (
                format!("{head}titel = 1\n{section}query = \"coverage\"\n"),
                "r.toml:3: unknown key `titel`",
                "`title`",
            ),
            (
                format!("{head}{section}query = \"coverag\"\n"),
                "r.toml:6: unknown query `coverag`",
                "`coverage`",
            ),
            (
                format!("{head}{section}query = \"ost_fullness\"\nwith = {{ abov = 5 }}\n"),
                "r.toml:7: unknown parameter `abov`",
                "`above`",
            ),
            (
                format!("{head}{section}query = \"ost_fullness\"\nwith = {{ above = \"$low\" }}\n"),
                "r.toml:7: unknown parameter of the report `low`",
                "",
            ),
            (
                format!(
                    "{head}{section}query = \"ost_fullness\"\nchart = {{ form = \"bars\", x = \"ost\", y = \"fs\" }}\n"
                ),
                "r.toml:7: unknown form of chart `bars`",
                "`bar`",
            ),
            (
                format!(
                    "{head}{section}query = \"ost_fullness\"\nchart = {{ form = \"bar\", x = \"osts\", y = \"fs\" }}\n"
                ),
                "r.toml:7: unknown column of the chart `osts`",
                "`ost`",
            ),
            (
                format!(
                    "{head}{section}query = \"ost_fullness\"\nchart = {{ form = \"bar\", y = \"fs\" }}\n"
                ),
                "r.toml:7: chart: bar takes one column as x, not 0",
                "",
            ),
            (
                format!("{head}{section}query = \"coverage\"\ncolumns = [\"dya\"]\n"),
                "r.toml:6: unknown column `dya`",
                "`day`",
            ),
            (
                format!("{head}{section}query = \"coverage\"\nsql = \"select 1\"\n"),
                "expected either query, sql or analysis",
                "",
            ),
            (
                format!("{head}{section}analysis = \"diagnos\"\n"),
                "r.toml:6: unknown analysis `diagnos`",
                "`diagnose`",
            ),
            (
                format!("{head}{section}analysis = \"diagnose\"\nwith = {{ jobs = 7 }}\n"),
                "r.toml:7: unknown parameter `jobs`",
                "`job`",
            ),
            (
                format!(
                    "{head}{section}analysis = \"diagnose\"\nwith = {{ job = 7 }}\n[[section.finding]]\nsays = \"A\"\n"
                ),
                "r.toml:6: section `S`: an analysis has findings, tables and charts of its own, and takes no findings",
                "",
            ),
            (
                format!("{head}{section}analysis = \"diagnose\"\nchart = false\n"),
                "takes no chart",
                "",
            ),
        ];
        for (text, why, near) in cases {
            let error = error(&text);
            assert!(error.contains(why) && error.contains(near), "{error}");
        }
    }
}
