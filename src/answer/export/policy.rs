//! What an export does with each column: what the schemas say, and what a policy file changes of it.

use super::coarse;
use crate::error::{Error, Result};
use crate::table::{Coarse, Partition, Table, Treatment, table, tables};
use arrow::datatypes::DataType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The treatment of every column of an anonymised export.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// What was changed: `column` or `table.column`, and its treatment.
    changes: BTreeMap<String, Treatment>,
    /// How exact all times of jobs are, if one of them was made less exact: from an end and a run time follows a start.
    times: Option<Treatment>,
}

impl Policy {
    /// Reads a policy: TOML with a line for each column, of all tables or of one, such as `app = "keep"`, `start_time = "hour"`. If a time of jobs is made
    /// less exact all of them are, unless a line says otherwise.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the line, for a column or treatment that there is not, and for one that the column's values do not allow.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let table: toml::Table = toml::from_str(text).map_err(|e| {
            let before = e
                .span()
                .map_or("", |span| text.get(..span.start).unwrap_or(""));
            let line = 1 + before.matches('\n').count();
            Error::Invalid(format!("{name}:{line}: {}", e.message()))
        })?;
        let mut changes = BTreeMap::new();
        for (column, word) in flat(table) {
            let bad = |e: String| {
                let last = column.rsplit('.').next().unwrap_or(&column);
                let line = text.lines().position(|line| line.contains(last));
                Error::Invalid(format!("{name}:{}: {e}", line.unwrap_or(0) + 1))
            };
            let word = word
                .as_str()
                .ok_or_else(|| bad(format!("{column}: expected a treatment in quotes")))?;
            let treatment = match word {
                "keep" => Treatment::Kept,
                "drop" => Treatment::Dropped,
                word => Treatment::of(word).map_err(|e| bad(e.to_string()))?,
            };
            check(&column, treatment).map_err(|e| bad(e.to_string()))?;
            changes.insert(column, treatment);
        }
        let is_time = |treatment: &&Treatment| {
            let of_time = [Coarse::Minute, Coarse::Hour, Coarse::Day].map(Treatment::Coarsened);
            of_time.contains(treatment)
        };
        let of_jobs = changes.iter().filter(|(name, _)| !name.starts_with("lmt_"));
        let times = of_jobs.map(|(_, treatment)| treatment).filter(is_time);
        // The least exact.
        let times = times.max_by_key(|treatment| match treatment {
            Treatment::Coarsened(Coarse::Day) => 2,
            Treatment::Coarsened(Coarse::Hour) => 1,
            _ => 0,
        });
        Ok(Self {
            times: times.copied(),
            changes,
        })
    }

    /// The changes as a policy file has them, without comments; empty if there are none.
    pub fn text(&self) -> String {
        let line = |(name, treatment): (&String, &Treatment)| match name.contains('.') {
            true => format!("\"{name}\" = \"{}\"\n", treatment.word()),
            false => format!("{name} = \"{}\"\n", treatment.word()),
        };
        self.changes.iter().map(line).collect()
    }

    /// The columns that stay as they are by the policy, though the schemas would have them replaced.
    ///
    /// # Errors
    /// As [`Policy::of`].
    pub fn kept(&self) -> Result<Vec<String>> {
        let mut kept = vec![];
        for table in tables().filter(|table| table.partition != Partition::Manifest) {
            for column in &table.columns {
                let is_kept = self.of(table, &column.name)? == Treatment::Kept;
                if is_kept && column.export != Some(Treatment::Kept) {
                    kept.push(format!("{}.{}", table.name, column.name));
                }
            }
        }
        Ok(kept)
    }

    /// How exact the times of logs are, in microseconds; None if they are as they were.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are left out.
    pub(super) fn unit_of_times(&self) -> Result<Option<i64>> {
        let logs = table("darshan_log")?;
        let mut unit = None;
        for column in ["start_time", "end_time"] {
            match self.of(logs, column)? {
                Treatment::Kept => {}
                Treatment::Coarsened(coarse) => unit = unit.max(coarse::unit(coarse)),
                _ => {
                    let why = format!(
                        "the policy leaves out darshan_log.{column}, and samples of LMT of the time of logs tell it; give --lmt none"
                    );
                    return Err(Error::Invalid(why));
                }
            }
        }
        Ok(unit)
    }

    /// The treatment of a column.
    ///
    /// # Errors
    /// [`Error::Invalid`] if its schema does not say.
    pub fn of(&self, table: &Table, column: &str) -> Result<Treatment> {
        let whole = format!("{}.{column}", table.name);
        let field = table.position(column).map(|at| table.schema.field(at));
        let is_time =
            field.is_some_and(|field| matches!(field.data_type(), DataType::Timestamp(..)));
        // Samples of servers are nobody's: only their own table makes their times less exact.
        let is_of_jobs = table.partition == Partition::JobId;
        let alone = self.changes.get(column).filter(|_| is_of_jobs || !is_time);
        let times = self.times.as_ref().filter(|_| is_of_jobs && is_time);
        let changed = self.changes.get(&whole).or(alone).or(times);
        let schema = || table.columns[table.position(column)?].export;
        changed.copied().or_else(schema).ok_or_else(|| {
            Error::Invalid(format!(
                "{whole}: its schema does not say what an export does with it"
            ))
        })
    }
}

/// Keys with their values; those of tables as `table.column`.
fn flat(table: toml::Table) -> Vec<(String, toml::Value)> {
    let entries = table.into_iter().flat_map(|(key, value)| match value {
        toml::Value::Table(inner) => flat(inner)
            .into_iter()
            .map(|(name, value)| (format!("{key}.{name}"), value))
            .collect(),
        value => vec![(key, value)],
    });
    entries.collect()
}

/// Whether the columns of a name can be treated so.
fn check(name: &str, treatment: Treatment) -> Result<()> {
    let (of_table, column) = match name.split_once('.') {
        Some((name, column)) => (Some(table(name)?), column),
        None => (None, name),
    };
    let all = tables().filter(|table| of_table.is_none_or(|one| one.name == table.name));
    let with: Vec<_> = all
        .filter(|table| table.position(column).is_some())
        .collect();
    if with.is_empty() {
        let known: Vec<&str> = tables()
            .filter(|table| of_table.is_none_or(|one| one.name == table.name))
            .flat_map(|table| table.columns.iter().map(|column| column.name.as_str()))
            .collect();
        return Err(Error::unknown("column", column, known));
    }
    let is_meant = |table: &&&Arc<Table>| match of_table {
        Some(_) => table.partition != Partition::Manifest,
        None => table.partition != Partition::Manifest,
    };
    for table in with.iter().filter(is_meant) {
        let field = table.schema.field(table.index(column)?);
        let schema = table.columns[table.index(column)?].export;
        let whole = format!("{}.{column}", table.name);
        let refuse = |why: &str| {
            let known = schema.map_or("", Treatment::word);
            Error::Invalid(format!(
                "{whole} cannot be `{}`: {why}; its own treatment is `{known}`",
                treatment.word()
            ))
        };
        let is_key = table.order().any(|key| key == column);
        if of_table.is_some() && joins(column) && schema != Some(treatment) {
            return Err(refuse(
                "tables are joined by it; change it in all of them by its name alone",
            ));
        }
        match treatment {
            same if schema == Some(same) => {}
            Treatment::Kept => {}
            Treatment::Dropped if field.is_nullable() && !is_key => {}
            Treatment::Dropped => return Err(refuse("it identifies rows, or may not be NULL")),
            Treatment::Coarsened(Coarse::Minute | Coarse::Hour | Coarse::Day) => {
                if !matches!(field.data_type(), DataType::Timestamp(..)) {
                    return Err(refuse("it is no time"));
                }
                if is_key && table.partition == Partition::Day && of_table.is_some() {
                    return Err(refuse("rows would have one key"));
                }
            }
            Treatment::Pseudonym(_) if is_text(field.data_type()) => {}
            _ => return Err(refuse("its values are of another kind")),
        }
    }
    Ok(())
}

/// Whether rows of one table are found in another by a column.
fn joins(column: &str) -> bool {
    ["job_id", "log_id", "record_id", "fs"].contains(&column)
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 => true,
        DataType::List(item) => item.data_type() == &DataType::Utf8,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_changes_columns_of_all_tables_or_of_one() {
        let text = "app = \"keep\"\n[darshan_log]\nstart_time = \"hour\"\n";
        let policy = Policy::parse("p.toml", text).unwrap();
        let of = |name: &str, column: &str| policy.of(table(name).unwrap(), column).unwrap().word();
        assert_eq!(of("darshan_log", "app"), "kept");
        assert_eq!(of("darshan_log", "start_time"), "hour");
        // From an end and a run time follows a start.
        assert_eq!(of("darshan_log", "end_time"), "hour");
        assert_eq!(of("slurm_job", "start_time"), "hour");
        assert_eq!(of("lmt_ost", "start_time"), "kept");
        assert_eq!(of("darshan_log", "user"), "user");
    }

    #[test]
    fn what_a_policy_cannot_say_has_its_line_and_the_reason() {
        let cases = [
            (
                "app = \"keep\"\nuzer = \"kept\"\n",
                "p.toml:2: unknown column `uzer`",
            ),
            ("user = \"kep\"\n", "p.toml:1: unknown treatment `kep`"),
            (
                "log_id = \"dropped\"\n",
                "it identifies rows, or may not be NULL",
            ),
            (
                "[lmt_ost]\ntime = \"hour\"\n",
                "p.toml:2: lmt_ost.time cannot be `hour`: rows would have one key",
            ),
            (
                "[darshan_file]\nrecord_id = \"keep\"\n",
                "tables are joined by it",
            ),
            ("nprocs = \"hour\"\n", "it is no time"),
            ("nprocs = \"user\"\n", "its values are of another kind"),
            ("user = 7\n", "expected a treatment in quotes"),
        ];
        for (text, why) in cases {
            let error = Policy::parse("p.toml", text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn columns_that_are_dropped_may_be_null() {
        for table in tables() {
            for (column, field) in table.columns.iter().zip(table.schema.fields()) {
                let is_dropped = column.export == Some(Treatment::Dropped);
                assert!(
                    !is_dropped || field.is_nullable(),
                    "{}.{}",
                    table.name,
                    column.name
                );
            }
        }
    }
}
