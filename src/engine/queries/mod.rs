//! Named queries: `queries/FOLDER/NAME.sql`, asked by `iolode query NAME`, and in SQL as tables: `SELECT * FROM ost_fullness(above => 80)`.
//!
//! # Adding a query
//! One file `queries/FOLDER/NAME.sql` that begins with its front matter (TOML in lines that begin with `---`): what it answers, what a
//! row is, its columns, which a test compares with the plan, and its parameters, which stand in the SQL as `$name`, and the analysis
//! without whose results it has no answer; one line in [`QUERIES`]; and `tests/slt/queries/NAME.slt`, or under `tests/slt/troubled` if it needs faults.
//!
//! A parameter that names something of a lake has the name that all such have: `fs`, `ost`, `mdt`, `user`, `app`, `job`, `log`. Where an answer is
//! empty, these names are looked up: see `param_names`.
//!
//! In a statement a named query is replaced by its SQL before the statement is planned: no plan contains one.

pub mod factors;
pub(super) mod front_matter;
pub(super) mod param_names;
mod query_call;
pub(super) mod query_params;
pub(super) mod query_scope;
pub(super) mod question;
mod ruled_out;
mod values;

use crate::engine::rules::{counters, intervals};
use crate::engine::sql::visit::{visit_mut, visit_part_mut};
use crate::engine::udf::statement::normal;
use crate::error::{Error, Result};
use chrono_tz::Tz;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, Ident, ObjectName, ObjectNamePart, Query as SqlQuery,
    Statement as SqlStatement, TableFactor, VisitorMut,
};
use front_matter::front_matter;
use param_names::CallNames;
pub(in crate::engine) use query_call::Lakes;
use query_call::{argument, expression, parse_query, substitute, zone_value};
pub use query_params::{Param, ParamType, QueryColumn};
use query_scope as scope;
use question::Question;
use serde::Deserialize;
use std::ops::ControlFlow;
use std::sync::OnceLock;
pub(in crate::engine) use values::{names, substitute_all, substitutes};

macro_rules! queries {
    ($($folder:literal { $($name:literal),* $(,)? })*) => { &[$(
        $(($folder, $name, include_str!(concat!("../../../queries/", $folder, "/", $name, ".sql"))),)*
    )*] };
}

/// Every named query, in the order in which they are shown: its folder, its name, and its file.
pub const QUERIES: &[(&str, &str, &str)] = queries! {
    "slurm_lmt" {
        "coverage", "logs_at_time", "metadata_load", "ost_fullness", "file_traffic_on_osts", "lmt_interference",
    }
    "iominer" {
        "perf_factors", "root_causes", "logs_that_wrote_less", "logs_by_bytes_written", "osts_per_log", "log_percentiles", "bytes_and_nodes", "custom_stripe", "top_read",
        "top_write", "consecutive_requests", "read_ratio", "file_sharing", "interfaces_by_size", "low_read_bandwidth", "low_write_bandwidth", "high_bandwidth", "low_read_bandwidth_on_all_osts",
        "low_write_bandwidth_on_all_osts",
    }
    "facts" { "file_facts", "directory_facts", "burst_facts", "job_facts", "mdt_facts", "node_facts" }
    "lustre" { "ost_load", "slow_osts", "ost_neighbours", "stripe_advice" }
    "advice" { "advice", "advice_month", "drishti" }
    "mosaic" {
        "mosaic", "mosaic_apps", "mosaic_classes", "mosaic_pairs", "mosaic_summary", "mosaic_changes", "checkpoint_interval", "colliding_bursts",
    }
    "jobs" { "top_users_and_programs", "regressions", "rank_imbalance", "unreadable_logs" }
};

/// The folders of `queries/` that hold named queries, and what their queries are about.
pub const FOLDERS: &[(&str, &str)] = &[
    ("slurm_lmt", "Slurm and LMT beside Darshan"),
    ("iominer", "Questions of the IOMiner paper"),
    (
        "facts",
        "What rules about files in time and about others look at",
    ),
    ("lustre", "Storage targets"),
    ("advice", "Habits of I/O"),
    ("mosaic", "When programs read and write, by MOSAIC"),
    ("jobs", "Jobs, programs and logs"),
];

/// How deep queries may stand in queries.
const DEPTH: usize = 8;

/// A named query.
#[derive(Clone, Debug)]
pub struct Query {
    /// One of [`FOLDERS`].
    pub folder: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it answers, one line.
    pub doc: String,
    /// What a row is.
    pub grain: String,
    /// Its columns, in order.
    pub columns: Vec<QueryColumn>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Where it comes from, such as a section of the paper; empty if it is our own.
    pub source: String,
    /// Other names that it is known by.
    pub aliases: Vec<String>,
    /// The analysis whose table `darshan_ANALYSIS` it asks, as `iolode analyze` calls it.
    pub analysis: Option<String>,
    /// How its rows are drawn, as front matter says it: a [`crate::answer::chart::Chart`]. None if they are a list.
    pub chart: Option<toml::Table>,
    /// Its SQL, in which `$name` stands for a parameter.
    pub sql: String,
    /// The same, read; once it was asked.
    read: OnceLock<SqlQuery>,
}

/// All named queries.
pub fn queries() -> &'static [Query] {
    static PARSED: OnceLock<Vec<Query>> = OnceLock::new();
    // A query's file is part of the program: that each of them parses is a test of this module.
    PARSED.get_or_init(|| {
        QUERIES
            .iter()
            .map(|(folder, name, text)| {
                parse(folder, name, text).expect("queries are checked by a test")
            })
            .collect()
    })
}

/// The query of that name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn query(name: &str) -> Result<&'static Query> {
    let found = queries().iter().find(|query| query.is_called(name));
    found.ok_or_else(|| Error::unknown("query", name, queries().iter().flat_map(Query::names)))
}

fn parse(folder: &'static str, name: &'static str, text: &str) -> Result<Query> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Front {
        doc: String,
        grain: String,
        columns: Vec<QueryColumn>,
        #[serde(default)]
        param: Vec<Param>,
        chart: Option<toml::Table>,
        #[serde(default)]
        source: String,
        #[serde(default)]
        aliases: Vec<String>,
        analysis: Option<String>,
    }
    let bad = |why: String| Error::Invalid(format!("queries/{folder}/{name}.sql: {why}"));
    let (front, sql) = front_matter(text);
    let front: Front = toml::from_str(&front).map_err(|e| bad(e.to_string()))?;
    let (sql, columns) = factors::insert(&sql, front.columns)?;
    let (sql, columns) = intervals::insert(sql, columns);
    let (sql, columns) = counters::insert(sql, columns);
    Ok(Query {
        folder,
        name,
        doc: front.doc,
        grain: front.grain,
        columns,
        params: front.param,
        chart: front.chart,
        source: front.source,
        aliases: front.aliases,
        analysis: front.analysis,
        sql,
        read: OnceLock::new(),
    })
}

impl Query {
    /// The query with these values, to be asked. Values are as somebody types them: `80`, `snx11168`, `2018-01-28T08:00`; times without
    /// an offset are in `zone`.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] if a value is missing, is none of its parameter's type, or has no parameter.
    pub fn question(&self, values: &[(String, String)], zone: Tz) -> Result<Question> {
        let missing = |param: &&Param| {
            param.default.is_none() && !values.iter().any(|(name, _)| param.is_called(name))
        };
        if let Some(param) = self.params.iter().find(missing) {
            return Err(Error::Invalid(format!(
                "{} needs --{}: {}",
                self.name,
                param.flag(),
                param.doc
            )));
        }
        let mut given = vec![];
        for (name, value) in values {
            let param = self.param(name)?;
            given.push((Some(name.clone()), expression(&param.literal(value)?)?));
        }
        let mut calls = vec![];
        // No other statement stands around it, so that names alone mean the lake's tables.
        let query = self.with(given, None, &|| Ok(zone), DEPTH, &mut calls)?;
        let query = SqlStatement::Query(Box::new(query));
        Ok(Question {
            statement: Statement::Statement(Box::new(query)),
            calls,
        })
    }

    /// How it is asked in SQL with these values, which are as somebody types them.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] if a value is none of its parameter's type, or has no parameter.
    pub fn call(&self, values: &[(String, String)]) -> Result<String> {
        let given = values.iter().map(|(name, value)| {
            let param = self.param(name)?;
            Ok(format!("\"{}\" => {}", param.name, param.literal(value)?))
        });
        let given = given.collect::<Result<Vec<_>>>()?;
        Ok(format!("SELECT * FROM {}({})", self.name, given.join(", ")))
    }

    /// Its name, then the others that it is known by.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name).chain(self.aliases.iter().map(String::as_str))
    }

    /// That of its names which this is, in whatever case.
    fn called(&self, name: &str) -> Option<&str> {
        self.names().find(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether this is its name, or another that it is known by.
    pub fn is_called(&self, name: &str) -> bool {
        self.called(name).is_some()
    }

    fn param(&self, name: &str) -> Result<&Param> {
        let found = self.params.iter().find(|param| param.is_called(name));
        found.ok_or_else(|| {
            Error::unknown(
                "parameter",
                name,
                self.params.iter().map(|param| param.name.as_str()),
            )
        })
    }

    /// The query with these values in the place of its parameters. Its tables are those of `lakes.first`, if lakes are given. What the values
    /// name is added to `calls`. `zone` is that of times without an offset, and of days.
    fn with(
        &self,
        given: Vec<(Option<String>, Expr)>,
        lakes: Option<Lakes<'_>>,
        zone: &dyn Fn() -> Result<Tz>,
        depth: usize,
        calls: &mut Vec<CallNames>,
    ) -> Result<SqlQuery> {
        let mut values: Vec<(String, Option<Expr>)> = self
            .params
            .iter()
            .map(|param| (param.name.clone(), None))
            .collect();
        for (at, (name, expr)) in given.into_iter().enumerate() {
            let place = match name {
                Some(name) => {
                    let known = &self.param(&name)?.name;
                    values.iter().position(|(name, _)| name == known)
                }
                None => (at < values.len()).then_some(at),
            };
            let place = place.ok_or_else(|| {
                Error::Invalid(format!(
                    "{} takes {} parameters: {}",
                    self.name,
                    self.params.len(),
                    self.usage()
                ))
            })?;
            if values[place].1.replace(expr).is_some() {
                return Err(Error::Invalid(format!(
                    "{}: {} is given twice",
                    self.name, values[place].0
                )));
            }
        }
        let written = self.params.iter().zip(&values);
        let written = written.filter_map(|(param, (_, value))| Some((param, value.as_ref()?)));
        let analysis = self.analysis.as_deref();
        calls.extend(CallNames::of(
            lakes.map(|lakes| lakes.first),
            analysis,
            written,
        ));
        let (mut casts, mut parts) = (vec![], vec![]);
        for (param, (name, value)) in self.params.iter().zip(values) {
            let (value, zone) = match (value, &param.default) {
                (Some(value), _) if param.kind == ParamType::Timestamp => (value, zone()?),
                (Some(value), _) => (value, Tz::UTC),
                (None, Some(default)) => (expression(default)?, Tz::UTC),
                (None, None) => {
                    let why = format!(
                        "{} needs {name} ({}): {}",
                        self.name,
                        param.doc.to_lowercase(),
                        self.usage()
                    );
                    return Err(Error::Invalid(why));
                }
            };
            param.check(&value)?;
            let cast = expression(&param.kind.cast(&value, zone))?;
            let cast = match scope::names_columns_or_tables(&value) {
                false => cast,
                true => {
                    let (part, value) = scope::part(self.name, &name, &cast)?;
                    parts.push(part);
                    value
                }
            };
            casts.push((format!("${name}"), cast));
        }
        if self.sql.contains("$zone") {
            casts.push(("$zone".to_string(), zone_value(zone()?)?));
        }
        let mut query = self.read()?;
        // Before values stand in it, for a value may be a query that is not ours to change.
        ruled_out::leave_out(&mut query, &casts);
        if let Some(lakes) = lakes {
            scope::name_the_lake(&mut query, lakes.first);
        }
        substitute(&mut query, &casts);
        // What a query asks of others is what it was asked, or its own.
        let mut expand = Expand {
            lakes: lakes.map(Lakes::in_utc),
            depth,
            calls: &mut vec![],
        };
        ended(visit_part_mut(&mut query, &mut expand))?;
        scope::put_first(&mut query, parts);
        Ok(query)
    }

    /// Its SQL as it stands, its own WITH under names that no user has.
    fn read(&self) -> Result<SqlQuery> {
        if let Some(query) = self.read.get() {
            return Ok(query.clone());
        }
        let mut query = parse_query(&self.sql)?;
        crate::engine::sql::user_column::plain_users(&mut query);
        scope::name_the_parts(&mut query, self.name);
        Ok(self.read.get_or_init(|| query).clone())
    }

    /// How it is called in SQL.
    pub fn usage(&self) -> String {
        let param = |param: &Param| match &param.default {
            None => format!("{} => ..", param.name),
            Some(default) => format!("{} => {default}", param.name),
        };
        format!(
            "{}({})",
            self.name,
            self.params.iter().map(param).collect::<Vec<_>>().join(", ")
        )
    }
}

/// Puts the SQL of named queries in the places where a statement asks them as tables: `top_write()`, or `lake.top_write()`. What their values
/// name is added to `calls`.
///
/// # Errors
/// [`Error::Invalid`] or [`Error::Unknown`] for parameters that a query does not have or lacks, lakes that are not there, and a name
/// in WITH that is the full name of a lake's table.
pub(in crate::engine) fn expand(
    statement: &mut Statement,
    lakes: Lakes<'_>,
    calls: &mut Vec<CallNames>,
) -> Result<()> {
    let mut expand = Expand {
        lakes: Some(lakes),
        depth: DEPTH,
        calls,
    };
    ended(visit_mut(statement, &mut expand))
}

fn ended(shown: ControlFlow<Error>) -> Result<()> {
    match shown {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Expand<'a, 'c> {
    lakes: Option<Lakes<'a>>,
    depth: usize,
    calls: &'c mut Vec<CallNames>,
}

impl Expand<'_, '_> {
    /// What stands instead of a table with arguments, and that of the query's names by which it was called; None if it is no named
    /// query.
    fn expanded(
        &mut self,
        name: &ObjectName,
        args: &[FunctionArg],
    ) -> Result<Option<(&'static str, SqlQuery)>> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let (lake, ident) = match idents[..] {
            [ident] => (None, ident),
            [lake, ident] => (Some(normal(lake)), ident),
            _ => return Ok(None),
        };
        let mut named = queries().iter();
        let Some((query, called)) =
            named.find_map(|query| Some((query, query.called(&ident.value)?)))
        else {
            return Ok(None);
        };
        let lakes = match (lake, self.lakes) {
            (None, lakes) => lakes,
            (Some(lake), Some(lakes)) => match lakes.with_first(&lake) {
                Some(lakes) => Some(lakes),
                None => return Err(Error::unknown("lake", &lake, lakes.all.iter().copied())),
            },
            (Some(_), None) => return Ok(None),
        };
        let depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| Error::Invalid(format!("{} asks itself", query.name)))?;
        let given = args.iter().map(argument).collect::<Result<Vec<_>>>()?;
        let zone = || lakes.map_or(Ok(Tz::UTC), |lakes| (lakes.zone)(lakes.first));
        let query = query.with(given, lakes, &zone, depth, self.calls)?;
        Ok(Some((called, query)))
    }
}

impl VisitorMut for Expand<'_, '_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut SqlQuery) -> ControlFlow<Error> {
        let lakes = self.lakes.map_or(&[][..], |lakes| lakes.all);
        match scope::check_parts(query, lakes) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let (called, subquery) = match self.expanded(name, &args.args) {
            Ok(Some((called, subquery))) => (called, Box::new(subquery)),
            Ok(None) => return ControlFlow::Continue(()),
            Err(error) => return ControlFlow::Break(error),
        };
        let alias = alias
            .take()
            .unwrap_or_else(|| scope::alias(Ident::new(called)));
        *factor = TableFactor::Derived {
            lateral: false,
            subquery,
            alias: Some(alias),
            sample: None,
        };
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    #[test]
    fn every_query_has_a_meaning_and_uses_each_of_its_parameters() {
        for (folder, name, text) in QUERIES {
            let query = parse(folder, name, text).unwrap();
            assert!(FOLDERS.iter().any(|(known, _)| known == folder), "{folder}");
            assert!(
                !query.doc.is_empty() && !query.doc.ends_with('.') && !query.grain.is_empty(),
                "{name}"
            );
            parse_query(&query.sql).unwrap();
            let analysed = query.analysis.map(|analysis| format!("darshan_{analysis}"));
            if let Some(table) = analysed {
                assert!(crate::table::table(&table).is_ok(), "{name}: {table}");
                assert!(query.sql.contains(&table), "{name}: {table}");
            }
            for param in &query.params {
                assert!(
                    query.sql.contains(&format!("${}", param.name)),
                    "{name}: ${} is not used",
                    param.name
                );
                assert!(!param.doc.is_empty(), "{name}: {}", param.name);
            }
            let optional = query
                .params
                .iter()
                .position(|param| param.default.is_some())
                .unwrap_or(query.params.len());
            assert!(
                query.params[optional..]
                    .iter()
                    .all(|param| param.default.is_some()),
                "{name}: parameters that must be given come first"
            );
            assert!(
                crate::table::table(name).is_err()
                    && crate::engine::catalog::views::view(name).is_none(),
                "{name} is a table, too"
            );
        }
    }

    #[test]
    fn a_parameter_has_one_place_by_whichever_of_its_names() {
        for name in [
            "top_read",
            "top_write",
            "top_users_and_programs",
            "metadata_load",
        ] {
            let query = super::query(name).unwrap();
            let statement = |name: &str| {
                let given = [(name.to_string(), "3".to_string())];
                query
                    .question(&given, Tz::UTC)
                    .unwrap()
                    .statement
                    .to_string()
            };
            assert_eq!(statement("limit"), statement("n"), "{name}");
            let twice = ["n", "limit"].map(|name| (name.to_string(), "3".to_string()));
            let why = query.question(&twice, Tz::UTC).unwrap_err().to_string();
            assert!(why.contains("n is given twice"), "{why}");
        }
        for query in queries() {
            let names = query.params.iter().flat_map(|param| {
                let aliases = param.aliases.iter().map(String::as_str);
                aliases.chain([param.name.as_str()])
            });
            let mut names: Vec<&str> = names.collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", query.name);
        }
    }

    #[test]
    fn every_name_is_that_of_one_query() {
        let mut names: Vec<String> = queries()
            .iter()
            .flat_map(Query::names)
            .map(str::to_lowercase)
            .collect();
        let all = names.len();
        for query in queries() {
            let mut names = query.names();
            assert!(names.all(|name| super::query(name).unwrap().name == query.name));
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(super::query("TOP").unwrap().name, "top_users_and_programs");
    }

    #[test]
    fn what_is_wrong_with_a_call_is_said() {
        let call = |sql: &str| {
            let mut statements = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
            let mut statement = Statement::Statement(Box::new(statements.remove(0)));
            let lakes = Lakes {
                first: "month",
                all: &["month"],
                zone: &|_| Ok(Tz::Europe__Berlin),
            };
            expand(&mut statement, lakes, &mut vec![])
                .map(|()| statement.to_string())
                .map_err(|e| e.to_string())
        };
        assert!(
            call("SELECT * FROM ost_fullness(above => 80) WHERE ost = 3")
                .unwrap()
                .contains("CAST(80 AS DOUBLE)")
        );
        // A query that asks another hands a time over as it is.
        let nested = call("SELECT * FROM root_causes(\"from\" => '2026-09-11')").unwrap();
        assert!(nested.contains("'2026-09-10T22:00:00Z'"), "{nested}");
        assert!(!nested.contains("Europe/Berlin"), "{nested}");
        assert_eq!(
            call("SELECT * FROM ost_fullness(abov => 80)").unwrap_err(),
            "unknown parameter `abov`; did you mean `above`?"
        );
        assert!(
            call("SELECT * FROM logs_at_time('fs1')")
                .unwrap_err()
                .starts_with(
                    "logs_at_time needs from (start of the period): logs_at_time(fs => .., from => .., to => .., "
                )
        );
        assert!(
            call("SELECT * FROM ost_fullness(above => 1, above => 2)")
                .unwrap_err()
                .ends_with("above is given twice")
        );
        assert!(
            call("SELECT * FROM ost_fullness(NULL, NULL, 3, 4)")
                .unwrap_err()
                .starts_with("ost_fullness takes 3 parameters")
        );
        // Other table functions are DataFusion's.
        assert!(call("SELECT * FROM generate_series(1, 3)").is_ok());
    }
}
