//! Parameters that name something of a lake: `fs => 'scratch'`, `--job 6102078`.
//!
//! What a parameter names is told by its own name, the same in all queries: [`KINDS`]. A test compares the list with the parameters of all queries.
//!
//! # Adding a kind
//! One entry in [`KINDS`], whose SQL has the names that a lake knows: in any of its tables, and in its settings.

use super::query_call::parse_query;
use super::query_params::{Param, literal};
use super::query_scope::name_the_lake;
use crate::error::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Query, Statement as SqlStatement};

/// Something that has a name or an id in a lake.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct NameKind {
    /// The name of the parameters that name such.
    param: &'static str,
    /// What it is called, one and several.
    pub(in crate::engine) what: [&'static str; 2],
    /// Whether its names are numbers.
    pub(in crate::engine) is_id: bool,
    /// Whether it belongs to a file system: then the SQL has a column `fs`, and the parameter `fs` limits what is looked at.
    of_fs: bool,
    /// All names, in the column `name`; a name may come several times.
    sql: &'static str,
}

/// Every kind; of a call with several unknown names the first in this order is reported.
pub(in crate::engine) const KINDS: &[NameKind] = &[
    NameKind {
        param: "fs",
        what: ["file system", "file systems"],
        is_id: false,
        of_fs: false,
        sql: "SELECT fs AS name FROM lake_mount UNION ALL SELECT fs FROM darshan_file UNION ALL SELECT fs FROM lmt_ost \
              UNION ALL SELECT fs FROM lmt_oss UNION ALL SELECT fs FROM lmt_mdt UNION ALL SELECT fs FROM lmt_mdt_op",
    },
    NameKind {
        param: "ost",
        what: ["OST", "OSTs"],
        is_id: true,
        of_fs: true,
        // The settings have them as `0-3,12`.
        sql: "SELECT fs, CAST(ost AS BIGINT) AS name FROM lmt_ost \
              UNION ALL SELECT fs, CAST(unnest(ost_list(bits)) AS BIGINT) \
                FROM (SELECT fs, ost_union(fs, ost_bits) AS bits FROM darshan_file WHERE ost_bits IS NOT NULL GROUP BY fs) AS file \
              UNION ALL SELECT fs, unnest(generate_series(CAST(split_part(part, '-', 1) AS BIGINT), \
                  CAST(CASE WHEN part LIKE '%-%' THEN split_part(part, '-', 2) ELSE part END AS BIGINT))) \
                FROM (SELECT fs, unnest(string_to_array(osts, ',')) AS part FROM lake_mount WHERE osts IS NOT NULL) AS listed",
    },
    NameKind {
        param: "mdt",
        what: ["MDT", "MDTs"],
        is_id: true,
        of_fs: true,
        sql: "SELECT fs, CAST(mdt AS BIGINT) AS name FROM lmt_mdt UNION ALL SELECT fs, CAST(mdt AS BIGINT) FROM lmt_mdt_op",
    },
    NameKind {
        param: "user",
        what: ["user", "users"],
        is_id: false,
        of_fs: false,
        sql: "SELECT \"user\" AS name FROM darshan_log UNION ALL SELECT \"user\" FROM slurm_job",
    },
    NameKind {
        param: "app",
        what: ["program", "programs"],
        is_id: false,
        of_fs: false,
        sql: "SELECT app AS name FROM darshan_log",
    },
    NameKind {
        param: "job",
        what: ["job", "jobs"],
        is_id: true,
        of_fs: false,
        sql: "SELECT job_id AS name FROM darshan_log UNION ALL SELECT job_id FROM slurm_job UNION ALL SELECT job_id FROM slurm_step",
    },
    NameKind {
        param: "log",
        what: ["log", "logs"],
        is_id: true,
        of_fs: false,
        sql: "SELECT log_id AS name FROM darshan_log",
    },
];

/// Parameters that limit an answer to a time.
const TIMES: [&str; 4] = ["from", "to", "at", "since"];

/// The names that one call of a named query was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct CallNames {
    /// The lake in SQL; the first if None.
    lake: Option<String>,
    /// What they name, in the order of [`KINDS`], and the names as they were given.
    pub(in crate::engine) names: Vec<(&'static NameKind, String)>,
    /// Whether it was given a time.
    pub(in crate::engine) has_period: bool,
    /// The analysis whose table it asks.
    pub(in crate::engine) analysis: Option<String>,
}

impl CallNames {
    /// Those of a call with these values; None if there are none, nor a time or an analysis. A value that is computed names nothing that could be said beforehand.
    pub(super) fn of<'a>(
        lake: Option<&str>,
        analysis: Option<&str>,
        given: impl Iterator<Item = (&'a Param, &'a Expr)>,
    ) -> Option<Self> {
        let mut call = Self {
            lake: lake.map(str::to_string),
            analysis: analysis.map(str::to_string),
            ..Self::default()
        };
        for (param, value) in given {
            let Some(text) = literal(value) else { continue };
            call.has_period |= TIMES.contains(&param.name.as_str());
            let kind = KINDS.iter().find(|kind| kind.param == param.name);
            call.names.extend(kind.map(|kind| (kind, text)));
        }
        let place = |kind: &NameKind| KINDS.iter().position(|known| known == kind);
        call.names.sort_by_key(|(kind, _)| place(kind));
        (call.has_period || call.analysis.is_some() || !call.names.is_empty()).then_some(call)
    }

    /// The file system that limits where names of a kind are looked for.
    pub(in crate::engine) fn fs_of(&self, kind: &NameKind) -> Option<&str> {
        let fs = self.names.iter().find(|(known, _)| known.param == "fs");
        fs.filter(|_| kind.of_fs).map(|(_, fs)| fs.as_str())
    }

    /// A statement that has a row if the lake knows a name.
    ///
    /// # Errors
    /// Never: the SQL is checked by a test.
    pub(in crate::engine) fn is_known(&self, kind: &NameKind, name: &str) -> Result<Statement> {
        let name = match kind.is_id {
            true => name.to_string(),
            false => quoted(name),
        };
        let condition = format!("name = {name}{}", self.on_fs(kind, " AND "));
        let sql = format!(
            "SELECT name FROM ({}) AS known WHERE {condition} LIMIT 1",
            kind.sql
        );
        self.statement(&sql)
    }

    /// A statement whose rows are all names that the lake knows, in their order.
    ///
    /// # Errors
    /// Never: the SQL is checked by a test.
    pub(in crate::engine) fn all_known(&self, kind: &NameKind) -> Result<Statement> {
        let sql = format!(
            "SELECT DISTINCT CAST(name AS VARCHAR) AS name FROM ({}) AS known WHERE name IS NOT NULL{} ORDER BY name",
            kind.sql,
            self.on_fs(kind, " AND ")
        );
        self.statement(&sql)
    }

    /// A statement that has a row if the lake has logs and keeps no results of an analysis.
    ///
    /// # Errors
    /// Never: the SQL is checked by a test.
    pub(in crate::engine) fn lacks_analysis(&self, analysis: &str) -> Result<Statement> {
        let sql = format!(
            "SELECT CAST(log_id AS VARCHAR) AS name FROM darshan_log WHERE NOT EXISTS (SELECT 1 FROM darshan_{analysis}) LIMIT 1"
        );
        self.statement(&sql)
    }

    fn on_fs(&self, kind: &NameKind, before: &str) -> String {
        let fs = self.fs_of(kind);
        fs.map_or_else(String::new, |fs| format!("{before}fs = {}", quoted(fs)))
    }

    fn statement(&self, sql: &str) -> Result<Statement> {
        let mut query: Query = parse_query(sql)?;
        if let Some(lake) = &self.lake {
            name_the_lake(&mut query, lake);
        }
        let query = SqlStatement::Query(Box::new(query));
        Ok(Statement::Statement(Box::new(query)))
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::super::query_params::ParamType;
    use super::*;
    use crate::engine::queries::queries;

    #[test]
    fn a_parameter_that_names_something_has_the_type_of_such_names() {
        let mut asked = vec![];
        for query in queries() {
            for param in &query.params {
                let Some(kind) = KINDS.iter().find(|kind| kind.param == param.name) else {
                    continue;
                };
                let expected = match kind.is_id {
                    true => ParamType::Int,
                    false => ParamType::Text,
                };
                assert_eq!(param.kind, expected, "{} {}", query.name, param.name);
                assert!(param.values.is_empty(), "{} {}", query.name, param.name);
                asked.push(kind.param);
            }
        }
        for kind in ["fs", "ost", "mdt", "app", "job"] {
            assert!(asked.contains(&kind), "no query takes {kind}");
        }
    }

    #[test]
    fn the_names_of_a_call_are_those_that_are_written_down() {
        let query = crate::engine::queries::query("logs_at_time").unwrap();
        let param = |name: &str| query.params.iter().find(|param| param.name == name);
        let value = |sql: &str| super::super::query_call::expression(sql).unwrap();
        let of = |given: &[(&str, &str)]| {
            let values: Vec<_> = given
                .iter()
                .map(|(name, sql)| (param(name).unwrap(), value(sql)))
                .collect();
            CallNames::of(
                Some("l"),
                None,
                values.iter().map(|(param, value)| (*param, value)),
            )
        };
        let call = of(&[("ost", "-17"), ("from", "'2026-09-01'"), ("fs", "'it''s'")]).unwrap();
        let names: Vec<(&str, &str)> = call
            .names
            .iter()
            .map(|(kind, name)| (kind.param, name.as_str()))
            .collect();
        assert_eq!(names, [("fs", "it's"), ("ost", "-17")]);
        assert!(call.has_period);
        assert_eq!(call.fs_of(call.names[1].0), Some("it's"));
        assert_eq!(call.fs_of(call.names[0].0), None);
        let statement = call.is_known(call.names[1].0, "-17").unwrap().to_string();
        assert!(
            statement.contains("FROM \"l\".lmt_ost") && statement.contains("fs = 'it''s'"),
            "{statement}"
        );
        // What is computed is not known before it is asked, and NULL names nothing.
        assert_eq!(of(&[("ost", "1 + 1"), ("fs", "NULL")]), None);
        let period = of(&[("from", "'2030-01-01'")]).unwrap();
        assert!(period.has_period && period.names.is_empty());
    }
}
