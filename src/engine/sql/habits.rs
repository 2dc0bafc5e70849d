//! The rules of `advice`: habits that cost I/O time, a file each, evaluated over all logs in one plan.
//!
//! A rule weighs each file of a log (`weight`: what it counts there), and looks at the sum over the files. What a finding costs is the time
//! of the process with most time in the files that have a weight above 0.
//!
//! # Adding a rule
//! One file `queries/habits/NAME.toml`, one line in [`HABITS`]. `advice` then knows it.
//!
//! | key | what it is |
//! |---|---|
//! | `code`, `doc` | Drishti's code, so that its users find their way; one line about it |
//! | `direction` | read or write, of a rule that has one |
//! | `severity` | critical, warning, info or ok |
//! | `files` | SQL over the columns of `file` in `queries/advice/advice.sql`: which files count; all if not given |
//! | `weight`, `of` | SQL over the same: what is counted of a file, and what it is a part of |
//! | `least` | SQL over the same: a number of which the least of the files with weight is taken |
//! | `time` | SQL over the times of records, such as `posix_f_read_time`: what the cost is added up from, by process |
//! | `cost` | instead of it: the cost of a file, as SQL |
//! | `condition` | SQL over the columns of `log` there, with the places below |
//! | `thresholds.NAME` | a number that stands in the SQL as `{NAME}` |
//! | `value.sql`, `value.doc` | the number that decides, from the places; what it means |
//! | `sentence` | in words, without the last full stop; `{place:form}` of the places below and of columns of `log`, `{subject}` the file with most weight |
//! | `advice` | a sentence or two: what to do |
//!
//! Places of a log: `{sum}` of the weights, `{whole}` what it is a part of, `{share}` their quotient, `{files}` with weight, `{least}`, `{time}` by
//! process. Forms: count, share, size, seconds, number.

use super::queries::QueryColumn;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

macro_rules! habits {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/habits/", $name, ".toml")))),*] };
}

/// Every rule by the order of Drishti's codes: its name, and its file.
pub const HABITS: &[(&str, &str)] = habits![
    "stdio_high_usage",
    "write_count_intensive",
    "read_count_intensive",
    "write_size_intensive",
    "read_size_intensive",
    "small_reads",
    "small_writes",
    "misaligned_memory",
    "misaligned_file",
    "redundant_reads",
    "redundant_writes",
    "random_reads",
    "sequential_reads",
    "random_writes",
    "sequential_writes",
    "small_reads_shared",
    "small_writes_shared",
    "metadata_time",
    "size_imbalance",
    "time_imbalance",
    "individual_write_imbalance",
    "individual_read_imbalance",
    "no_mpi_io",
    "independent_reads",
    "independent_writes",
    "collective_reads",
    "collective_writes",
    "blocking_reads",
    "blocking_writes",
    "few_aggregators",
    "many_aggregators",
    "aggregators_fit",
];

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Habit {
    /// Its name: the `rule` of a row of `advice`.
    #[serde(skip)]
    pub name: &'static str,
    /// Drishti's code.
    pub code: String,
    /// What it says, one line.
    pub doc: String,
    direction: Option<String>,
    /// How much it matters where it costs time.
    pub severity: Severity,
    files: Option<String>,
    weight: String,
    of: Option<String>,
    least: Option<String>,
    time: Option<String>,
    cost: Option<String>,
    condition: String,
    /// The numbers of its condition by their names.
    #[serde(default)]
    pub thresholds: BTreeMap<String, toml::Value>,
    value: HabitValue,
    /// The finding in words, with places for its numbers.
    pub sentence: String,
    /// What to do about it; none of a rule that says what is well, or what a log is about.
    pub advice: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HabitValue {
    sql: String,
    doc: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Mostly the first thing to mend.
    Critical,
    /// Worth a look.
    Warning,
    /// What the log is about.
    Info,
    /// As it should be.
    Ok,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Ok => "ok",
        }
    }
}

/// All rules.
pub fn habits() -> &'static [Habit] {
    static PARSED: OnceLock<Vec<Habit>> = OnceLock::new();
    // A rule's file is part of the program: that each of them parses is a test of this module.
    PARSED.get_or_init(|| {
        let habits = HABITS.iter().map(|(name, text)| parse(name, text));
        habits
            .collect::<Result<_>>()
            .expect("rules are checked by a test")
    })
}

fn parse(name: &'static str, text: &str) -> Result<Habit> {
    let parsed = toml::from_str(text);
    let habit: Habit =
        parsed.map_err(|e| Error::Invalid(format!("queries/habits/{name}.toml: {e}")))?;
    Ok(Habit { name, ..habit })
}

/// Puts the rules in their places in a query's SQL, and into what its columns say.
pub(in crate::engine) fn insert(
    sql: String,
    mut columns: Vec<QueryColumn>,
) -> (String, Vec<QueryColumn>) {
    const WEIGHTS: &str = "/* weights */";
    if !sql.contains(WEIGHTS) {
        return (sql, columns);
    }
    let list = |of: &dyn Fn(&Habit) -> Option<String>| {
        habits()
            .iter()
            .filter_map(of)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let sql = [
        (WEIGHTS, list(&|habit| Some(habit.weights()))),
        ("/* sums */", list(&|habit| Some(habit.sums()))),
        ("/* times */", list(&Habit::time)),
        ("/* processes */", list(&Habit::by_process)),
        ("/* findings */", list(&|habit| Some(habit.finding()))),
    ]
    .into_iter()
    .fold(sql, |sql, (place, rules)| sql.replace(place, &rules));
    for column in &mut columns {
        let of = |habit: &Habit| match column.name.as_str() {
            "rule" => format!("{}: {}", habit.name, habit.doc),
            _ => format!("{}: {}", habit.name, habit.value.doc),
        };
        if ["rule", "value"].contains(&column.name.as_str()) {
            let all: Vec<String> = habits().iter().map(of).collect();
            column.doc = all.join("; ");
        }
    }
    (sql, columns)
}

impl Habit {
    /// Of a file: what is counted, what it is a part of, and so on.
    fn weights(&self) -> String {
        let code = &self.code;
        let files = self.with_thresholds(self.files.as_deref().unwrap_or("true"));
        let of_files = |sql: &str| format!("CASE WHEN {files} THEN CAST({sql} AS DOUBLE) END");
        let mut columns = vec![format!("{} AS w_{code}", of_files(&self.weight))];
        for (name, sql) in [("o", &self.of), ("l", &self.least), ("c", &self.cost)] {
            if let Some(sql) = sql {
                columns.push(format!("{} AS {name}_{code}", of_files(sql)));
            }
        }
        columns.join(", ")
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
        if self.of.is_some() {
            columns.push(format!("sum(o_{code}) AS whole_{code}"));
        }
        if self.least.is_some() {
            columns.push(format!(
                "min(l_{code}) FILTER (WHERE w_{code} > 0) AS least_{code}"
            ));
        }
        if self.cost.is_some() {
            columns.push(format!(
                "sum(c_{code}) FILTER (WHERE w_{code} > 0) AS cost_{code}"
            ));
        }
        columns.join(", ")
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

    fn finding(&self) -> String {
        let condition = self.of_log(&self.condition);
        let cost = match (&self.time, &self.cost) {
            (Some(_), _) => self.of_log("{time}"),
            (None, Some(_)) => format!("cost_{}", self.code),
            (None, None) => "CAST(NULL AS DOUBLE)".into(),
        };
        let text = |text: Option<&str>| match text {
            Some(text) => format!("'{}'", text.replace('\'', "''")),
            None => "CAST(NULL AS VARCHAR)".into(),
        };
        let fields = [
            ("code", text(Some(&self.code))),
            ("rule", text(Some(self.name))),
            ("direction", text(self.direction.as_deref())),
            ("severity", text(Some(self.severity.name()))),
            (
                "value",
                format!("CAST({} AS DOUBLE)", self.of_log(&self.value.sql)),
            ),
            ("share", self.of_log("{share}")),
            ("cost", cost),
            ("files", format!("files_{}", self.code)),
            ("record_id", format!("record_{}", self.code)),
            ("sentence", self.sentence()),
            ("advice", text(self.advice.as_deref())),
        ];
        let fields = fields.map(|(name, sql)| format!("'{name}', {sql}"));
        format!(
            "CASE WHEN {condition} THEN named_struct({}) END",
            fields.join(", ")
        )
    }

    /// The sentence as SQL that concatenates its pieces; the subject is put in later.
    fn sentence(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let mut pieces = self.sentence.split('{');
        let mut parts = vec![quoted(pieces.next().unwrap_or_default())];
        for piece in pieces {
            let (place, rest) = piece.split_once('}').unwrap_or((piece, ""));
            match place.split_once(':') {
                Some((place, form)) => {
                    let number = match place {
                        "sum" | "whole" | "share" | "files" | "least" | "time" => {
                            self.of_log(&format!("{{{place}}}"))
                        }
                        column => format!("l.{column}"),
                    };
                    parts.push(shown(&number, form));
                    parts.push(quoted(rest));
                }
                None => parts.push(quoted(&format!("{{{place}}}{rest}"))),
            }
        }
        format!("concat({})", parts.join(", "))
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

    fn with_thresholds(&self, sql: &str) -> String {
        let numbers = self.thresholds.iter();
        numbers.fold(sql.to_string(), |sql, (name, number)| {
            sql.replace(&format!("{{{name}}}"), &number.to_string())
        })
    }
}

/// A number as a person reads it, in SQL.
fn shown(number: &str, form: &str) -> String {
    match form {
        "count" => format!("CAST(CAST(round({number}) AS BIGINT) AS VARCHAR)"),
        "share" => format!("concat(CAST(round(100 * ({number}), 1) AS VARCHAR), ' %')"),
        "seconds" => format!("concat(CAST(round({number}, 1) AS VARCHAR), ' s')"),
        "size" => format!(
            "CASE WHEN {number} < 1048576 THEN concat(CAST(round({number} / 1024.0, 1) AS VARCHAR), ' KiB') \
             WHEN {number} < 1073741824 THEN concat(CAST(round({number} / 1048576.0, 1) AS VARCHAR), ' MiB') \
             ELSE concat(CAST(round({number} / 1073741824.0, 1) AS VARCHAR), ' GiB') END"
        ),
        _ => format!("CAST(round({number}, 1) AS VARCHAR)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_and_place_is_used_and_known() {
        for (name, text) in HABITS {
            let habit = parse(name, text).unwrap();
            assert!(
                !habit.doc.ends_with('.') && !habit.sentence.ends_with('.'),
                "{name}"
            );
            for threshold in habit.thresholds.keys() {
                assert!(
                    text.contains(&format!("{{{threshold}}}")),
                    "{name}: {threshold}"
                );
            }
            for sql in [habit.weights(), habit.finding().replace("{subject}", "")] {
                assert!(!sql.contains('{'), "{name}: {sql}");
            }
        }
    }
}
