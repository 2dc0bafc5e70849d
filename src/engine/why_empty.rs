//! Why an answer is empty: because it was asked of a name that the lake does not have, because an analysis was not made, or because nothing fits.
//!
//! Names are looked up only once an answer turned out to have no rows.

use super::queries::param_names::{CallNames, NameKind};
use crate::error::{Error, Result, nearest};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::sql::parser::Statement;

/// So many known names are listed where none is near.
const FEW: usize = 8;

/// What is to be said of an answer without rows, given the names that its queries were given: one line for each call. `state` has the tables of the
/// lakes, and `translate` makes a clear line of DataFusion's errors.
///
/// # Errors
/// [`Error::Unknown`] for a name that is in no table of the lake, whatever its time; those of the lake.
pub(super) async fn explain(
    state: &SessionState,
    calls: &[CallNames],
    translate: impl Fn(DataFusionError) -> Error,
) -> Result<Vec<String>> {
    let mut notes = vec![];
    for call in calls {
        for (kind, name) in &call.names {
            let found = names(state, call.is_known(kind, name)?).await;
            if !found.map_err(&translate)?.is_empty() {
                continue;
            }
            let known = names(state, call.all_known(kind)?).await;
            let known = known.map_err(&translate)?;
            return Err(Error::Unknown {
                kind: kind.what[0],
                name: name.clone(),
                hint: Some(hint(kind, name, call.fs_of(kind), &known)),
            });
        }
        let lacking = match &call.analysis {
            Some(analysis) => {
                let lacks = names(state, call.lacks_analysis(analysis)?).await;
                (!lacks.map_err(&translate)?.is_empty()).then_some(analysis)
            }
            None => None,
        };
        notes.push(match lacking {
            Some(analysis) => format!(
                "note: no log of the lake is analysed: `iolode analyze {analysis}` fills darshan_{analysis}"
            ),
            None => note(call),
        });
    }
    notes.dedup();
    Ok(notes)
}

/// The names that a statement gives.
async fn names(
    state: &SessionState,
    statement: Statement,
) -> datafusion::error::Result<Vec<String>> {
    let plan = state.statement_to_plan(statement).await?;
    let batches = DataFrame::new(state.clone(), plan).collect().await?;
    let mut names = vec![];
    for batch in batches {
        let column = cast(batch.column(0), &DataType::Utf8)?;
        let column = column.as_string::<i32>();
        names.extend(column.iter().flatten().map(str::to_string));
    }
    Ok(names)
}

/// What to try instead of an unknown name.
fn hint(kind: &NameKind, name: &str, fs: Option<&str>, known: &[String]) -> String {
    let of_fs = fs.map_or_else(String::new, |fs| format!(" of `{fs}`"));
    let near = match kind.is_id {
        true => near_id(name, known),
        false => near_text(name, known),
    };
    match (near, known) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("the lake has no {}{of_fs}", kind.what[1]),
        (None, known) if kind.is_id => match nearest_id(name, known) {
            Some(near) => format!("the nearest{of_fs} is `{near}`"),
            None => format!("the lake has {} {}{of_fs}", known.len(), kind.what[1]),
        },
        (None, known) if known.len() <= FEW => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("the lake has {}", known.join(", "))
        }
        (None, known) => format!("the lake has {} {}", known.len(), kind.what[1]),
    }
}

/// The known name that was probably meant: the nearest, or the shortest that begins with it or contains it.
fn near_text<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let longer = || {
        let holds = |known: &&String| lower.len() > 1 && known.to_lowercase().contains(&lower);
        let least = |known: &&String| (!known.to_lowercase().starts_with(&lower), known.len());
        known
            .iter()
            .filter(holds)
            .min_by_key(least)
            .map(String::as_str)
    };
    nearest(name, known.iter().map(String::as_str)).or_else(longer)
}

/// The known id that differs by one mistake in typing: a digit more, less, changed, or two that changed places.
fn near_id<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let distance = |known: &String| strsim::damerau_levenshtein(name, known);
    // Of ids of one digit each is one mistake away from all others.
    let one = known
        .iter()
        .filter(|known| name.len() > 2 && known.len() > 2 && distance(known) == 1);
    nearest_id(name, one)
}

/// The known id that is the nearest number.
fn nearest_id<'a>(name: &str, known: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let id: i128 = name.parse().ok()?;
    let apart = |known: &&String| {
        known
            .parse()
            .map_or(i128::MAX, |known: i128| (known - id).abs())
    };
    known.into_iter().min_by_key(apart).map(String::as_str)
}

/// That the names are known, if any, and nothing fits all the same.
fn note(call: &CallNames) -> String {
    let names = call
        .names
        .iter()
        .map(|(kind, name)| format!("{} `{name}`", kind.what[0]));
    let names = names.collect::<Vec<_>>().join(" and ");
    let conditions = match (call.has_period, names.is_empty()) {
        (true, _) => "the period and the other conditions",
        (false, true) => "the conditions",
        (false, false) => "the other conditions",
    };
    if names.is_empty() {
        return format!("note: nothing in the lake fits {conditions}");
    }
    format!("note: the lake has {names}, but nothing there fits {conditions}")
}

#[cfg(test)]
mod tests {
    use super::super::queries::param_names::KINDS;
    use super::*;

    fn told(param: usize, name: &str, fs: Option<&str>, known: &[&str]) -> String {
        let known: Vec<String> = known.iter().map(|name| name.to_string()).collect();
        hint(&KINDS[param], name, fs, &known)
    }

    #[test]
    fn the_hint_is_the_name_that_was_meant_or_what_there_is() {
        let fs = |name: &str, known: &[&str]| told(0, name, None, known);
        assert_eq!(
            fs("scrtch", &["home", "scratch"]),
            "did you mean `scratch`?"
        );
        assert_eq!(
            fs("Scratch", &["home", "scratch"]),
            "did you mean `scratch`?"
        );
        assert_eq!(
            fs("vasp", &["my_vasp", "vasp_gamma", "vasp_std"]),
            "did you mean `vasp_std`?"
        );
        assert_eq!(
            fs("lustre9", &["home", "scratch"]),
            "the lake has `home`, `scratch`"
        );
        assert_eq!(fs("scratch", &[]), "the lake has no file systems");
        let many: Vec<String> = (0..9).map(|i| format!("name{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(fs("other", &many), "the lake has 9 file systems");
    }

    #[test]
    fn the_hint_for_an_id_is_one_mistake_away_or_the_nearest_number() {
        let ost = |name: &str, known: &[&str]| told(1, name, Some("scratch"), known);
        assert_eq!(
            ost("9999", &["0", "1", "247"]),
            "the nearest of `scratch` is `247`"
        );
        assert_eq!(
            ost("8", &["0", "7", "23"]),
            "the nearest of `scratch` is `7`"
        );
        assert_eq!(ost("3", &[]), "the lake has no OSTs of `scratch`");
        let job = |name: &str| told(5, name, None, &["6102078", "6102087", "6109999"]);
        assert_eq!(job("610278"), "did you mean `6102078`?");
        assert_eq!(job("6102068"), "did you mean `6102078`?");
        assert_eq!(job("12"), "the nearest is `6102078`");
    }
}
