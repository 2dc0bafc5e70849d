//! Rules: what may have made the I/O of a job slow, and what to do about it, a file each.
//!
//! A rule looks at one of these relations:
//!
//! | `facts` | a row | asked as |
//! |---|---|---|
//! | `file` (`file_facts`) | a file of a log and direction with its interval among those of the other files: its window from first to last access, and once more its busy time, the time in I/O calls from the first access on | `root_causes` |
//! | `directory` (`directory_facts`) | files that processes made in a directory | `diagnose` |
//! | `burst` (`burst_facts`) | times in which a log wrote | `diagnose` |
//! | `job` (`job_facts`) | what others did on the OSTs of a job | `root_causes` |
//! | `mdt` (`mdt_facts`) | what others asked of the metadata servers while a log ran | `diagnose` |
//! | `nodes` (`node_facts`) | what others moved on the nodes of a job | `diagnose` |
//! | `counters` (`file` in `queries/advice/advice.sql`) | a file of a log with its counters | `advice` |
//!
//! A rule about `file` holds where the files that it is about have nearly half of the critical time for themselves (`min_share` of `root_causes`). A rule about `counters` weighs
//! each file of a log (`weight`: what it counts there), and looks at the sum over the files.
//!
//! | file | what it is |
//! |---|---|
//! | `intervals` | rules about `file` and `job` as SQL, in `queries/iominer/root_causes.sql` |
//! | `rule_sum`, `rule_sums`, `rule_findings` | rules about `counters`: aggregate over the files of a log; those that hold for it |
//! | `columns` | their expressions, compiled once for a program |
//! | `counters` | what stands of them in `queries/advice/advice.sql` |
//! | `sentence` | a finding in words |
//!
//! # Adding a rule
//! One file `queries/rules/NAME.toml`, one line in [`RULES`], and its threshold cases: facts for which it
//! holds, and such that are just below each threshold, of `counters` in `threshold_cases.toml`, of others in `facts_threshold_cases.toml`, and for these a log in
//! `tests/slt/troubled_lake.rs`. The queries and `diagnose` then know it.
//!
//! | key | what it is |
//! |---|---|
//! | `doc` | one line about it |
//! | `source` | where it comes from |
//! | `code` | a short name; of a rule of Drishti's its code there, so that its users find their way |
//! | `facts` | the relation that it looks at |
//! | `severity` | critical, warning, info or ok |
//! | `direction` | read or write, of a rule about counters that has one |
//! | `files` | SQL: which files it is about; all if not given |
//! | `condition` | SQL: when it holds; always if not given |
//! | `thresholds.NAME` | a number that stands in the SQL as `{NAME}` |
//! | `value.sql`, `value.doc` | the number that decides, or tells how bad it is; what it means |
//! | `sentence` | in words, without the last full stop, with places (`sentence`) |
//! | `advice` | a sentence or two: what to do |
//! | `unless` | what would show that it is no fault |
//! | `covers` | rules that say less of the same thing: a page leaves them out where this one holds |
//!
//! Of rules about `file`, whose SQL is over the columns of `subject` in `queries/iominer/root_causes.sql`, and about the others but `counters`, over those of
//! their relation:
//!
//! | key | what it is |
//! |---|---|
//! | `about` | SQL: the subject. Files of one subject are put together; all files of a log and direction if not given |
//! | `each` | whether each of these subjects stands for itself, instead of all together |
//! | `same` | whether it must be about the same subject by windows and by busy times |
//! | `cost` | SQL: the seconds that a file, or a row of another relation, accounts for; the exclusive time of a file (algorithm 2) if not given |
//!
//! Of rules about `counters`, whose SQL is over the columns of `file`, and in `condition` and `value` over those of `log` and the places `{sum}` of
//! the weights, `{whole}` what it is a part of, `{share}` their quotient, `{files}` with weight, `{least}`, and `{time}` of the slowest process:
//!
//! | key | what it is |
//! |---|---|
//! | `weight`, `of` | SQL: what is counted of a file, and what it is a part of |
//! | `matters` | SQL: in which of the files with weight it can cost time; all if not given |
//! | `least` | SQL: a number of which the least of the files with weight is taken |
//! | `time` | SQL over the times of records, such as `posix_f_read_time`: what the cost is added up from: the slowest process's part of shared records, and the most that one has in records of its own |
//! | `cost` | instead of it: the cost of a file, as SQL |
//! | `touches` | SQL: the part of a file's I/O time that it is about; the time in its direction, or all of it, if not given |
//! | `bandwidth` | read, write, both or none: the bytes of the files with weight that have to move slowly for it to matter; those of its direction, or both, if not given, and none where it touches metadata time |

mod columns;
pub mod counters;
#[cfg(test)]
mod facts_threshold_cases;
mod file_rules;
pub mod intervals;
pub(super) mod rule_findings;
mod rule_sum;
pub(super) mod rule_sums;
pub mod sentence;
#[cfg(test)]
mod threshold_cases;

use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

macro_rules! rules {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../queries/rules/", $name, ".toml")))),*] };
}

/// Every rule, in the order in which they are listed: its name, and its file.
pub const RULES: &[(&str, &str)] = rules![
    // The causes of the IOMiner paper.
    "one_ost",
    "one_rank",
    "serial_files",
    "one_file",
    "small_requests",
    "interference",
    "slow_ost",
    // Others of what the log did in time.
    "create_storm",
    "checkpoint_bursts",
    // Others of what other jobs did.
    "busy_mds",
    "shared_nodes",
    // Those of Drishti, by its codes.
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
    // Others of counters.
    "mpi_io_waits",
    "slow_requests",
    "read_modify_write",
    "write_amplification",
    "read_amplification",
    "reads_without_bytes",
    "metadata_bound",
    "repeated_opens",
    "many_small_files",
    "many_stats",
    "many_seeks",
    "many_syncs",
    "small_appends",
    "random_reads_of_all",
    "narrow_stripes",
    "wide_stripes",
];

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name: the `cause` of a row of `root_causes`, the `rule` of a row of `advice`.
    #[serde(skip)]
    pub name: &'static str,
    /// A short name; the code that Drishti has for it.
    #[serde(default)]
    pub code: String,
    /// What it says, one line.
    pub doc: String,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// What it looks at.
    pub facts: Facts,
    /// How much it matters where it costs time.
    #[serde(default)]
    pub severity: Severity,
    direction: Option<String>,
    files: Option<String>,
    condition: Option<String>,
    /// The numbers of its condition by their names.
    #[serde(default)]
    pub thresholds: BTreeMap<String, toml::Value>,
    /// The number that decides.
    pub value: RuleValue,
    /// The finding in words, with places for its numbers.
    pub sentence: String,
    /// What to do about it; none of a rule that says what is well, or what a log is about.
    pub advice: Option<String>,
    /// What would show that it is no fault.
    pub unless: Option<String>,
    /// Rules that say less of the same thing: where this one holds a page leaves them out.
    #[serde(default)]
    pub covers: Vec<String>,
    cost: Option<String>,
    about: Option<String>,
    #[serde(default)]
    each: bool,
    #[serde(default)]
    same: bool,
    weight: Option<String>,
    matters: Option<String>,
    of: Option<String>,
    least: Option<String>,
    time: Option<String>,
    touches: Option<String>,
    bandwidth: Option<String>,
}

/// The number of a rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleValue {
    sql: String,
    /// What it means.
    pub doc: String,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facts {
    /// `file_facts`: the files of a log, in time.
    File,
    /// `directory_facts`: files that processes made in a directory.
    Directory,
    /// `burst_facts`: times in which a log wrote.
    Burst,
    /// `job_facts`: what others did on its OSTs.
    Job,
    /// `mdt_facts`: what others asked of the metadata servers.
    Mdt,
    /// `node_facts`: what others did on its nodes.
    Nodes,
    /// `file` in `queries/advice/advice.sql`: the counters of files.
    Counters,
}

impl Facts {
    /// The named query that it is; None of `file` in `queries/advice/advice.sql`.
    pub fn query(self) -> Option<&'static str> {
        match self {
            Self::File => Some("file_facts"),
            Self::Directory => Some("directory_facts"),
            Self::Burst => Some("burst_facts"),
            Self::Job => Some("job_facts"),
            Self::Mdt => Some("mdt_facts"),
            Self::Nodes => Some("node_facts"),
            Self::Counters => None,
        }
    }
}

/// How much a finding matters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Mostly the first thing to mend.
    #[default]
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
pub fn rules() -> &'static [Rule] {
    static PARSED: OnceLock<Vec<Rule>> = OnceLock::new();
    // A rule's file is part of the program: that each of them parses is a test of this module.
    PARSED.get_or_init(|| {
        let rules = RULES.iter().map(|(name, text)| parse(name, text));
        rules
            .collect::<Result<_>>()
            .expect("rules are checked by a test")
    })
}

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.name == name)
}

/// The least value of a threshold among the rules about a relation: below it none of them holds. 0 if one of them has no such threshold.
pub fn least(facts: Facts, threshold: &str) -> f64 {
    let values = of(facts).map(|rule| match rule.thresholds.get(threshold) {
        Some(toml::Value::Float(value)) => *value,
        Some(toml::Value::Integer(value)) => *value as f64,
        _ => 0.0,
    });
    values.fold(f64::INFINITY, f64::min)
}

fn of(facts: Facts) -> impl Iterator<Item = &'static Rule> {
    rules().iter().filter(move |rule| rule.facts == facts)
}

fn parse(name: &'static str, text: &str) -> Result<Rule> {
    let rule: Rule = toml::from_str(text)
        .map_err(|e| Error::Invalid(format!("queries/rules/{name}.toml: {e}")))?;
    Ok(Rule {
        name,
        sentence: rule.with_thresholds(&rule.sentence),
        ..rule
    })
}

impl Rule {
    fn with_thresholds(&self, sql: &str) -> String {
        let numbers = self.thresholds.iter();
        numbers.fold(sql.to_string(), |sql, (name, number)| {
            sql.replace(&format!("{{{name}}}"), &number.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the files of queries/rules.
    #[test]
    fn the_least_threshold_is_that_of_all_rules_about_a_relation() {
        assert_eq!(least(Facts::Directory, "min_files"), 512.0);
        assert_eq!(least(Facts::Job, "min_time"), 1.0);
        // `small_requests` has none.
        assert_eq!(least(Facts::File, "min_files"), 0.0);
    }

    #[test]
    fn every_rule_has_the_keys_of_its_facts_and_uses_its_thresholds() {
        for (name, text) in RULES {
            let rule = parse(name, text).unwrap();
            for (threshold, number) in &rule.thresholds {
                assert!(
                    number.is_integer() || number.is_float(),
                    "{name}: {threshold}"
                );
                assert!(
                    text.contains(&format!("{{{threshold}}}")),
                    "{name}: {threshold} is not used"
                );
            }
            assert!(
                !rule.doc.ends_with('.') && !rule.sentence.ends_with('.'),
                "{name}"
            );
            for text in rule.advice.iter().chain(&rule.unless) {
                assert!(text.ends_with('.'), "{name}: {text}");
            }
            let of_counters = rule.weight.is_some();
            assert_eq!(of_counters, rule.facts == Facts::Counters, "{name}");
            let of_intervals = rule.about.is_some() || rule.each || rule.same;
            assert!(!(of_counters && of_intervals), "{name}");
            let only_counters = [
                &rule.of,
                &rule.matters,
                &rule.least,
                &rule.time,
                &rule.touches,
                &rule.bandwidth,
                &rule.direction,
            ];
            assert!(
                of_counters || only_counters.iter().all(|key| key.is_none()),
                "{name}"
            );
            assert!(
                !of_counters || !rule.code.is_empty() && rule.condition.is_some(),
                "{name}"
            );
            let has_files = matches!(rule.facts, Facts::File | Facts::Counters);
            assert!(has_files || rule.files.is_none(), "{name}");
            for covered in &rule.covers {
                assert!(
                    RULES.iter().any(|(known, _)| known == covered),
                    "{name}: {covered}"
                );
            }
            let is_finding = matches!(rule.severity, Severity::Critical | Severity::Warning);
            let says_all = rule.advice.is_some() && rule.unless.is_some();
            assert_eq!(is_finding, says_all, "{name}");
        }
        let mut codes: Vec<&str> = of(Facts::Counters).map(|rule| rule.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), of(Facts::Counters).count());
    }
}
