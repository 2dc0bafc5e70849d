//! The session has no time zone to set.
//!
//! DataFusion 55.2 takes `SET timezone` and shows `now()` in it, but columns of the lake and the times compared with them stay in
//! UTC: half a time zone is worse than none.

use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Set, Statement as SqlStatement};

/// Refuses to set a time zone.
///
/// # Errors
/// [`Error::Invalid`], which says what to write instead.
pub(in crate::engine) fn check(statement: &Statement) -> Result<()> {
    let Statement::Statement(inner) = statement else {
        return Ok(());
    };
    let sets = match inner.as_ref() {
        SqlStatement::Set(Set::SetTimeZone { .. }) => true,
        SqlStatement::Set(Set::SingleAssignment { variable, .. }) => {
            let name = variable.to_string().to_lowercase();
            ["timezone", "time.zone", "datafusion.execution.time_zone"].contains(&name.as_str())
        }
        _ => false,
    };
    match sets {
        true => Err(Error::Invalid(
            "times are in UTC; write `start_time at time zone 'Europe/Berlin'` for another zone"
                .into(),
        )),
        false => Ok(()),
    }
}
