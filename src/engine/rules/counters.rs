//! Rules about counters as SQL: what `advice` asks of the files of a log.
//!
//! Each rule has columns of its own on the way from files to logs, with its code behind a letter: `w` the weight, `o` what it is a part of, `l` the
//! number of which the least is taken, `c` the cost, `t` the time that the file takes.

use super::{Facts, Rule, Severity, of};
use crate::engine::sql::query_params::QueryColumn;

/// Puts the rules in their places in a query's SQL, and into what its columns say.
pub(in crate::engine) fn insert(
    sql: String,
    mut columns: Vec<QueryColumn>,
) -> (String, Vec<QueryColumn>) {
    const WEIGHTS: &str = "/* weights */";
    if !sql.contains(WEIGHTS) {
        return (sql, columns);
    }
    let list = |sql: &dyn Fn(&Rule) -> Option<String>| {
        let rules = of(Facts::Counters).filter_map(sql);
        rules.collect::<Vec<_>>().join(", ")
    };
    let sql = [
        (WEIGHTS, list(&|rule| Some(rule.weights()))),
        ("/* sums */", list(&|rule| Some(rule.sums()))),
        ("/* times */", list(&Rule::time)),
        ("/* processes */", list(&Rule::by_process)),
        ("/* findings */", list(&|rule| Some(rule.finding()))),
        ("/* rules */", list(&|rule| Some(rule.texts()))),
    ]
    .into_iter()
    .fold(sql, |sql, (place, rules)| sql.replace(place, &rules));
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
    (sql, columns)
}

impl Rule {
    /// Of a file: what is counted, what it is a part of, and so on.
    fn weights(&self) -> String {
        let code = &self.code;
        let files = self.with_thresholds(self.files.as_deref().unwrap_or("true"));
        let of_files = |sql: &str| format!("CASE WHEN {files} THEN CAST({sql} AS DOUBLE) END");
        let columns = [
            ("w", &self.weight),
            ("o", &self.of),
            ("l", &self.least),
            ("c", &self.cost),
        ];
        let columns = columns.into_iter().filter_map(|(name, sql)| {
            let sql = of_files(sql.as_deref()?);
            Some(format!("{sql} AS {name}_{code}"))
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    /// Of a log.
    fn sums(&self) -> String {
        let code = &self.code;
        let mut columns = vec![
            format!("sum(w_{code}) AS sum_{code}"),
            format!("count(*) FILTER (WHERE w_{code} > 0) AS files_{code}"),
            format!(
                "first_value(record_id ORDER BY w_{code} DESC NULLS LAST, record_id) AS record_{code}"
            ),
        ];
        let some = |is_there: bool, sql: String| is_there.then_some(sql);
        columns.extend(some(
            self.of.is_some(),
            format!("sum(o_{code}) AS whole_{code}"),
        ));
        columns.extend(some(
            self.least.is_some(),
            format!("min(l_{code}) FILTER (WHERE w_{code} > 0) AS least_{code}"),
        ));
        columns.extend(some(
            self.cost.is_some(),
            format!("sum(c_{code}) FILTER (WHERE w_{code} > 0) AS cost_{code}"),
        ));
        columns.extend(
            self.touches()
                .map(|time| format!("sum({time}) FILTER (WHERE w_{code} > 0) AS touched_{code}")),
        );
        columns.join(", ")
    }

    /// The part of a file's I/O time that the rule is about; None of a rule that says what is well, or what a log is about.
    fn touches(&self) -> Option<&str> {
        let is_finding = matches!(self.severity, Severity::Critical | Severity::Warning);
        let by_direction = match self.direction.as_deref() {
            Some("read") => "read_time",
            Some(_) => "write_time",
            None => "read_time + write_time + meta_time",
        };
        is_finding.then(|| self.touches.as_deref().unwrap_or(by_direction))
    }

    /// Of a process of a log: its time in the files with weight.
    fn time(&self) -> Option<String> {
        let (time, code) = (self.time.as_ref()?, &self.code);
        Some(format!(
            "sum({time}) FILTER (WHERE w.w_{code} > 0) AS time_{code}"
        ))
    }

    /// Of a log: shared records have the time of all processes, the others that of one.
    fn by_process(&self) -> Option<String> {
        let code = &self.code;
        self.time.as_ref()?;
        Some(format!(
            "sum(time_{code}) FILTER (WHERE rank = -1) AS all_{code}, max(time_{code}) FILTER (WHERE rank >= 0) AS one_{code}"
        ))
    }

    /// What is found of a log: NULL where the condition does not hold. All rules have the same fields.
    fn finding(&self) -> String {
        let code = &self.code;
        let condition = self.of_log(self.condition.as_deref().unwrap_or("true"));
        let none = "CAST(NULL AS DOUBLE)".to_string();
        let own = |is_there: bool, name: &str| match is_there {
            true => format!("{name}_{code}"),
            false => none.clone(),
        };
        let time = match self.time {
            Some(_) => self.of_log("{time}"),
            None => none.clone(),
        };
        let cost = match self.cost {
            Some(_) => format!("cost_{code}"),
            None => time.clone(),
        };
        let fields = [
            ("code", format!("'{code}'")),
            (
                "value",
                format!("CAST({} AS DOUBLE)", self.of_log(&self.value.sql)),
            ),
            ("share", self.of_log("{share}")),
            ("cost", cost),
            ("touched", own(self.touches().is_some(), "touched")),
            ("files", format!("files_{code}")),
            ("record_id", format!("record_{code}")),
            ("sum", format!("sum_{code}")),
            ("whole", own(self.of.is_some(), "whole")),
            ("least", own(self.least.is_some(), "least")),
            ("time", time),
        ];
        let fields = fields.map(|(name, sql)| format!("'{name}', {sql}"));
        format!(
            "CASE WHEN {condition} THEN named_struct({}) END",
            fields.join(", ")
        )
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

    /// An expression over a log, with what stands for its places.
    fn of_log(&self, sql: &str) -> String {
        let code = &self.code;
        let whole = match self.of {
            Some(_) => format!("whole_{code}"),
            None => "CAST(NULL AS DOUBLE)".into(),
        };
        let time = format!("(coalesce(all_{code}, 0) / l.nprocs + coalesce(one_{code}, 0))");
        let places = [
            ("{sum}", format!("sum_{code}")),
            ("{whole}", whole.clone()),
            ("{share}", format!("ratio(sum_{code}, {whole})")),
            ("{files}", format!("files_{code}")),
            ("{least}", format!("least_{code}")),
            ("{time}", time),
        ];
        let sql = places.iter().fold(sql.to_string(), |sql, (place, column)| {
            sql.replace(place, column)
        });
        self.with_thresholds(&sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_in_a_rule_is_known() {
        for rule in of(Facts::Counters) {
            for sql in [rule.weights(), rule.sums(), rule.finding()] {
                assert!(!sql.contains('{'), "{}: {sql}", rule.name);
            }
        }
    }
}
