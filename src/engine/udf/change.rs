//! What `CREATE FUNCTION` and `DROP FUNCTION` do to the functions that are there.

use super::resolve::{Resolver, is_built_in, is_callable, refusal};
use super::statement::{called_in, expression};
use crate::error::{Error, Result};
use crate::lake::UserFunction;
use datafusion::execution::session_state::SessionState;
use std::collections::HashSet;

/// The functions with one more, or with another in the place of one. `behind` are those that it may call beside its own.
///
/// # Errors
/// [`Error::Invalid`] if the name is taken, the function cannot be what it says, or one that calls it could no longer be.
pub(super) fn created(
    have: &[UserFunction],
    behind: &[UserFunction],
    new: &UserFunction,
    replace: bool,
    planner: &SessionState,
) -> Result<Vec<UserFunction>> {
    let name = &new.name;
    if is_built_in(planner, name) {
        return Err(refusal(
            name,
            "there is a built-in of that name; choose another".into(),
        ));
    }
    if !is_callable(name, new.parameters.len()) {
        return Err(refusal(
            name,
            "that is a word of SQL; choose another name".into(),
        ));
    }
    let mut functions = have.to_vec();
    match functions.iter_mut().find(|function| function.name == *name) {
        Some(known) if !replace => {
            let why = format!(
                "it is there already: {} RETURN {}; CREATE OR REPLACE FUNCTION changes it",
                known.signature(),
                known.body
            );
            return Err(refusal(name, why));
        }
        Some(known) => *known = new.clone(),
        None => functions.push(new.clone()),
    }
    let mut resolver = Resolver::new(planner, vec![&functions, behind]);
    resolver.function(name, name)?;
    for caller in callers(&functions, name) {
        if let Err(error) = resolver.function(caller, caller) {
            let why = format!("`{caller}` calls it and would no longer work: {error}");
            return Err(refusal(name, why));
        }
    }
    Ok(functions)
}

/// The functions without some.
///
/// # Errors
/// [`Error::Invalid`] or [`Error::Unknown`] if one is not there, unless it need not be, or another calls it.
pub(super) fn dropped(
    have: &[UserFunction],
    names: &[String],
    if_exists: bool,
    planner: &SessionState,
) -> Result<Vec<UserFunction>> {
    for name in names {
        if have.iter().any(|function| function.name == *name) {
            continue;
        }
        if is_built_in(planner, name) {
            return Err(refusal(name, "a built-in cannot be dropped".into()));
        }
        if !if_exists {
            let known = have.iter().map(|function| function.name.as_str());
            return Err(Error::unknown("function", name, known));
        }
    }
    let (gone, left): (Vec<_>, Vec<_>) = have
        .iter()
        .cloned()
        .partition(|function| names.contains(&function.name));
    for function in &gone {
        if let Some(caller) = left.iter().find(|other| calls(other, &function.name)) {
            let why = format!(
                "`{}` calls it; drop that first, or both at once",
                caller.name
            );
            return Err(refusal(&function.name, why));
        }
    }
    Ok(left)
}

/// The names of the functions that call one, or call one that does.
fn callers<'a>(functions: &'a [UserFunction], name: &'a str) -> Vec<&'a str> {
    let (mut found, mut seen) = (vec![name], HashSet::from([name]));
    let mut at = 0;
    while let Some(called) = found.get(at).copied() {
        let more = functions.iter().filter(|function| calls(function, called));
        found.extend(
            more.map(|f| f.name.as_str())
                .filter(|name| seen.insert(name)),
        );
        at += 1;
    }
    found.split_off(1)
}

fn calls(function: &UserFunction, name: &str) -> bool {
    let called = expression(&function.body).map(|body| called_in(&body));
    called.is_ok_and(|called| called.iter().any(|c| c.lake.is_none() && c.name == name))
}
