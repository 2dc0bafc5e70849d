//! Rules about counters in `queries/advice/advice.sql`: what of them stands in the query, and in what its columns say.

use super::{Facts, Rule, Severity, of};
use crate::engine::queries::query_params::QueryColumn;

/// Puts the rules in their place in a query's SQL, and into what its columns say.
pub(in crate::engine) fn insert(
    sql: String,
    mut columns: Vec<QueryColumn>,
) -> (String, Vec<QueryColumn>) {
    const RULES: &str = "/* rules */";
    if !sql.contains(RULES) {
        return (sql, columns);
    }
    let texts: Vec<String> = of(Facts::Counters).map(Rule::texts).collect();
    for column in &mut columns {
        let doc = |rule: &Rule| match column.name.as_str() {
            "rule" => format!("{}: {}", rule.name, rule.doc),
            _ => format!("{}: {}", rule.name, rule.value.doc),
        };
        if ["rule", "value"].contains(&column.name.as_str()) {
            let all: Vec<String> = of(Facts::Counters).map(doc).collect();
            column.doc = all.join("; ");
        }
    }
    (sql.replace(RULES, &texts.join(", ")), columns)
}

impl Rule {
    /// The part of a file's I/O time that the rule is about, as SQL; None of a rule that says what is well, or what a log is about.
    pub(super) fn touched(&self) -> Option<String> {
        let is_finding = matches!(self.severity, Severity::Critical | Severity::Warning);
        let by_direction = match self.direction.as_deref() {
            Some("read") => "read_time",
            Some(_) => "write_time",
            None => "read_time + write_time + meta_time",
        };
        let touches = self.touches.as_deref().unwrap_or(by_direction);
        let times = ["read_time", "write_time", "meta_time"];
        let known = |sql: String, time: &&str| sql.replace(*time, &format!("coalesce({time}, 0)"));
        is_finding.then(|| times.iter().fold(touches.to_string(), known))
    }

    /// The bytes of a file that are to move slowly for the rule to matter, as SQL; None of a rule about metadata operations.
    pub(super) fn moved(&self) -> Option<&'static str> {
        match self.bandwidth() {
            "read" => Some("bytes_read"),
            "write" => Some("bytes_written"),
            "both" => Some("bytes_read + bytes_written"),
            _ => None,
        }
    }

    /// A row of what does not hang on the log: code, name, direction, severity, the bandwidth that matters, and advice.
    fn texts(&self) -> String {
        let text = |text: Option<&str>| match text {
            Some(text) => format!("'{}'", text.replace('\'', "''")),
            None => "NULL".into(),
        };
        let texts = [
            Some(self.code.as_str()),
            Some(self.name),
            self.direction.as_deref(),
            Some(self.severity.name()),
            Some(self.bandwidth()),
            self.advice.as_deref(),
        ];
        format!("({})", texts.map(text).join(", "))
    }

    /// Which bandwidth is to be low for it to matter.
    fn bandwidth(&self) -> &str {
        let by_direction = match self.touches.as_deref() {
            Some("meta_time") => "none",
            _ => self.direction.as_deref().unwrap_or("both"),
        };
        self.bandwidth.as_deref().unwrap_or(by_direction)
    }
}
