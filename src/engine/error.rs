//! DataFusion's errors as one clear line.

use super::file_errors::{damaged, gone, of_parquet, unread};
use super::function_hints::instead_of;
use crate::error::{Error, nearest};
use chrono::NaiveDateTime;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

/// What a message may need to know of the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorContext {
    /// Tables and views, those of the first lake without its name.
    pub(crate) tables: Vec<String>,
    /// Functions.
    pub(crate) functions: Vec<String>,
    /// Named queries.
    pub(crate) queries: Vec<&'static str>,
    /// How a named query is called; None of a name that is not one.
    pub(crate) usage: Option<fn(&str) -> Option<String>>,
    /// The budget in bytes.
    pub(crate) memory: Option<usize>,
}

/// The error of ours that a DataFusion error carries, or DataFusion's words without their prefixes, on one line.
pub(crate) fn translate(error: DataFusionError, context: &ErrorContext) -> Error {
    match ours(error) {
        Ok(error) => error,
        Err(error) => Error::Invalid(message(&error, context)),
    }
}

/// Stands before the address of the executor whose memory did not suffice.
pub(crate) const ON_EXECUTOR: &str = "; on the executor at ";

/// Whether a query failed for want of memory.
pub(crate) fn is_exhausted(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// Our own error, unwrapped.
fn ours(error: DataFusionError) -> Result<Error, DataFusionError> {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => Ok(*error),
            Err(inner) => match inner.downcast::<DataFusionError>() {
                Ok(error) => ours(*error),
                Err(inner) => Err(DataFusionError::External(inner)),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => ours(*inner),
        DataFusionError::Collection(mut errors) if !errors.is_empty() => {
            ours(errors.swap_remove(0))
        }
        DataFusionError::ArrowError(inner, trace) => match *inner {
            datafusion::arrow::error::ArrowError::ExternalError(inner) => {
                ours(DataFusionError::External(inner))
            }
            inner => Err(DataFusionError::ArrowError(Box::new(inner), trace)),
        },
        error => Err(error),
    }
}

pub(super) fn message(error: &DataFusionError, context: &ErrorContext) -> String {
    use DataFusionError as E;
    if let Some(text) = beneath(error) {
        return text;
    }
    let text = match error {
        E::Shared(inner) => return message(inner, context),
        E::Context(_, inner) | E::Diagnostic(_, inner) => return message(inner, context),
        E::External(inner) => match inner.downcast_ref::<DataFusionError>() {
            Some(error) => return message(error, context),
            None => inner.to_string(),
        },
        E::SchemaError(inner, _) => return schema(inner),
        E::ResourcesExhausted(text) => return exhausted(text, context),
        E::SQL(inner, _) => match &**inner {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                let hint = match text.to_lowercase().contains("found: exclude") {
                    true => "; not supported: EXCLUDE in the frame of a window",
                    false => "",
                };
                format!("cannot read the query: {}{hint}", place(&start(text)))
            }
            ParserError::RecursionLimitExceeded => {
                "cannot read the query: it is nested too deeply".to_string()
            }
        },
        // Which error it was DataFusion 55.2 does not say.
        E::Internal(text) if text.contains("while finalizing writes") => {
            "COPY cannot write its files; is there room, and may the directory be written to?"
                .into()
        }
        E::Internal(text) => {
            format!("the query engine failed, which is a mistake in iolode or DataFusion: {text}")
        }
        E::NotImplemented(text) => format!("not supported: {}", start(text)),
        E::Plan(text) => plan(text, context),
        E::ArrowError(inner, _) => arrow(inner),
        error => error.message().into_owned(),
    };
    line(&plainer(text))
}

/// In our words what the engine says in the words of its insides.
pub(super) fn plainer(text: String) -> String {
    if text.contains("OuterReferenceColumn") {
        return "not supported: a function of a row's list after FROM, or a subquery there that looks at other tables; \
                write `unnest(ost_list)` in the select list of a subquery instead"
            .into();
    }
    if text.contains("Too many columns! The subquery") {
        return "a subquery that is compared with a value has one column; compare several by \
                [NOT] EXISTS (SELECT 1 FROM .. WHERE s.a = t.a AND s.b = t.b)"
            .into();
    }
    const SUBQUERIES: &[&str] = &["InSubquery(", "Exists(Exists", "In/Exist/SetComparison"];
    if SUBQUERIES.iter().any(|part| text.contains(part)) {
        return "not supported: this IN (SELECT ..) or EXISTS; they can stand in a select list, WHERE, HAVING and the ON of an inner join, \
                elsewhere write a LEFT JOIN and `IS NOT NULL`"
            .into();
    }
    if text.contains("calar subquery returned more than one row") {
        return "a subquery in brackets gave more than one row where one value is needed; use an aggregate such as max(..), or LIMIT 1"
            .into();
    }
    if text.contains("nconsistent data length across values list") {
        return "the rows of VALUES have not all as many values as they need; the tables of a lake are filled by `iolode ingest`, not in SQL"
            .into();
    }
    if text.ends_with("not supported for Base table") {
        return "the tables of a lake cannot be changed in SQL; `iolode ingest` fills them".into();
    }
    let between = |from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        Some(rest.split_once(to)?.0.to_string())
    };
    if let (Some(name), Some(given)) = (
        between("Function '", "' failed to match any signature"),
        between("but received ", " (DataType"),
    ) {
        // Of several arguments the text is about something else.
        return match given.chars().all(char::is_alphanumeric) {
            true => format!("function `{name}` does not take a value of type {given}"),
            false => format!("function `{name}` does not take values of these types"),
        };
    }
    if let Some(name) = between("arguments to satisfy a call to '", "' function") {
        return format!("function `{name}` does not take values of these types, or not so many");
    }
    if let Some(name) = between("[return_type] ", " not supported for Null")
        .or_else(|| between("", "Accumulator for (Null "))
    {
        let name = name.to_lowercase();
        return format!("`{name}` of NULL alone, which is of no type; write `NULL::double`");
    }
    if let Some(kind) = between("annot access field at argument 1: type ", " is not Struct") {
        return format!(
            "a name with a dot is taken for a field of a column of type {kind}; give the table with the name of that column another alias"
        );
    }
    const NO_TYPE: &str = "annot infer common argument type for comparison operation ";
    let compared = || text.split_once(NO_TYPE).map(|(_, expr)| expr.to_string());
    let ranged = || {
        let types = between("ailed to coerce types ", " in BETWEEN expression");
        types.map(|types| types.replacen(" and ", " BETWEEN ", 1))
    };
    if let Some(expr) = between("annot coerce arithmetic expression ", " to valid types")
        .or_else(compared)
        .or_else(ranged)
    {
        let expr = expr.replace(", \"UTC\")", ")");
        let words: Vec<&str> = expr.split(' ').map(sql_type).collect();
        return format!(
            "`{}` has no meaning; cast one of them, as in `CAST(a AS BIGINT)`",
            words.join(" ")
        );
    }
    if text.contains("to grouping function is not in grouping columns") {
        return "GROUPING takes the keys of GROUP BY; where one of them is a cast of another, or a function of it, give it a name in a subquery \
                and group by that"
            .into();
    }
    if text.contains("nvalid interval arithmetic operation") {
        return "an interval cannot be multiplied; write it out, `INTERVAL '2 days'`".into();
    }
    if text.contains("only support Literal types for field at idx: 1 in Window Function") {
        return "not supported: lag and lead over a distance that differs from row to row; the distance is a number".into();
    }
    if text.contains("onflicting ordering requirements in aggregate functions") {
        return "not supported: aggregates of DISTINCT values and others in different orders; ask for one of them in a subquery of its own".into();
    }
    if text.contains("LIKE does not support escape_char") {
        return "not supported: LIKE with another ESCAPE than the backslash; write `a LIKE 'x\\_%'` for an underscore that is meant".into();
    }
    if text.contains("empty tuple not supported") {
        return "not supported: GROUP BY (); leave it out, aggregates without GROUP BY are of all rows".into();
    }
    if text.contains("nsupported LIMIT expression") || text.contains("nsupported OFFSET expression")
    {
        return "not supported: a LIMIT or OFFSET that is no number; keep rows by `QUALIFY row_number() OVER (ORDER BY ..) <= (SELECT ..)`".into();
    }
    if let Some(given) = between("arsing timestamp from '", "': ") {
        let is_time =
            NaiveDateTime::parse_from_str(&given.replace('T', " "), "%Y-%m-%d %H:%M:%S%.f");
        if is_time.is_ok() {
            return format!(
                "`{given}` is no time of that zone, or two: the clock is changed then; write its offset, `{given}+01:00`"
            );
        }
        return format!(
            "`{given}` is not a valid timestamp; expected `2026-09-01` or `2026-09-01 12:00:00`"
        );
    }
    if let Some(kind) = between("unsupported JOIN operator ", "(") {
        let kind = kind.to_uppercase();
        return format!(
            "not supported: {kind} JOIN; write WHERE [NOT] EXISTS (SELECT 1 FROM .. WHERE s.a = t.a), or another kind of join"
        );
    }
    if let Some(name) = between("`retract_batch` is not implemented: ", "(") {
        return format!(
            "not supported: {name} over a window whose first row moves; begin the frame with UNBOUNDED PRECEDING, or join the rows with \
             those of their window and use GROUP BY"
        );
    }
    if let Some(given) = between("min/max was called with ", " arguments") {
        return format!(
            "min and max are of the rows of a group and take one value, not {given}; of the values of one row write least(..) or greatest(..)"
        );
    }
    if let Some(time) = between("verflow converting ", " to Nanosecond") {
        return format!(
            "`{time}` is out of range: times go from 1677-09-22 to 2262-04-11; leave an open end out"
        );
    }
    if let (Some(text), Some(_)) = (
        between("annot cast string '", "' to value of "),
        between("' to value of ", "Int").or_else(|| between("' to value of ", "Float")),
    ) {
        let digits = text.trim().trim_start_matches(['+', '-']);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            return format!(
                "`{text}` is too large for this type of integers; cast it to DECIMAL(38, 0) or DOUBLE"
            );
        }
        if text.trim().parse::<f64>().is_ok() {
            return format!(
                "`{text}` is not a whole number; cast it to DOUBLE first: CAST(CAST(a AS DOUBLE) AS BIGINT)"
            );
        }
        return format!(
            "`{text}` is not a number; a text is compared with a text in quotes, or read where it may be none by try_cast(a AS BIGINT)"
        );
    }
    if let Some(column) = between("While expanding wildcard, column \"", "\"").or_else(|| {
        between(
            "column in SELECT must be in GROUP BY or an aggregate function: Column \"",
            "\"",
        )
    }) {
        return format!(
            "column `{column}` is neither in GROUP BY nor in an aggregate such as max(..)"
        );
    }
    if text.contains("does not support logical expression WindowFunction")
        || text.contains("HAVING clause references: ")
            && text.contains(" BETWEEN UNBOUNDED PRECEDING")
    {
        return "a window function cannot stand in WHERE, GROUP BY or HAVING; keep rows by `QUALIFY row_number() OVER (..) = 1`, or \
                compute it in a subquery"
            .into();
    }
    const NO_PLAN: &[&str] = &[
        "does not satisfy distribution requirements",
        "does not satisfy order requirements",
        "xpects PARTITION BY expression to be ordered",
    ];
    if NO_PLAN.iter().any(|part| text.contains(part)) {
        return "the query engine found no valid plan, which is a mistake in iolode or DataFusion; ask for its windows or groupings one by one"
            .into();
    }
    if text.contains("an't compare arrays of different types") {
        return "two columns that are compared have different types, which DataFusion did not see; cast one of them, `CAST(a AS VARCHAR)`"
            .into();
    }
    if let Some((first, _)) = text.split_once(". No function matches the given name") {
        return first.into();
    }
    if text.contains("Failed to fetch metadata for file ") {
        return damaged(&text);
    }
    // What follows is the parser's tree.
    if text.contains("Span(Location")
        && let Some((before, _)) = text.split_once(" { ")
    {
        let sentence = before
            .rsplit_once(' ')
            .map_or(before, |(sentence, _)| sentence);
        return sentence.trim_end_matches(':').into();
    }
    text
}

/// The name in SQL of a type; anything else as it is.
fn sql_type(word: &str) -> &str {
    match word {
        "Utf8" | "Utf8View" | "LargeUtf8" => "VARCHAR",
        "Int64" => "BIGINT",
        "Int32" => "INTEGER",
        "UInt64" => "BIGINT UNSIGNED",
        "Float64" => "DOUBLE",
        "Boolean" => "BOOLEAN",
        "Date32" => "DATE",
        word if word.starts_with("Timestamp(") => "TIMESTAMP",
        word if word.starts_with("Interval(") => "INTERVAL",
        word => word,
    }
}

fn schema(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => {
            let near = nearest(
                &field.name,
                valid_fields.iter().map(|known| known.name.as_str()),
            );
            // Where a name is spelled right, it is the table before it that is not there.
            let near = near.map(|near| match (&field.relation, near == field.name) {
                (Some(_), true) => valid_fields
                    .iter()
                    .find(|known| known.name == near)
                    .map_or(near.to_string(), |known| known.flat_name()),
                _ => near.to_string(),
            });
            let hint = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            format!("unknown column `{}`{hint}", field.flat_name())
        }
        SchemaError::AmbiguousReference { field } => {
            format!(
                "column `{}` is ambiguous: write the table's name before it",
                field.name
            )
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            format!("column `{name}` stands twice: rename one with AS")
        }
    }
}

fn plan(text: &str, context: &ErrorContext) -> String {
    let quoted = |text: &str| text.split('\'').nth(1).map(str::to_string);
    if let (true, Some(name)) = (
        text.starts_with("table '") && text.ends_with("' not found"),
        quoted(text),
    ) {
        // DataFusion names the catalog and the schema as well; the user did so only where they are not the usual ones.
        let short = name.rsplit('.').next().unwrap_or(&name).to_string();
        if let Some(usage) = context.usage.and_then(|usage| usage(&short)) {
            return format!("`{short}` is a named query, not a table; write `{usage}`");
        }
        let near = nearest(&short, context.tables.iter().map(String::as_str));
        // Where the table's name is right, it is the schema before it that is not there.
        if let (Some(schema), true) = (name.rsplit('.').nth(1), near == Some(short.as_str())) {
            return format!(
                "unknown lake `{schema}` before `{short}`; list them with `show tables`"
            );
        }
        let hint = near.map_or("; list them with `show tables`".to_string(), |near| {
            format!("; did you mean `{near}`?")
        });
        return format!("unknown table `{short}`{hint}");
    }
    if let (true, Some(name)) = (text.starts_with("table function '"), quoted(text)) {
        let near = nearest(&name, context.queries.iter().copied());
        let hint = near.map_or(
            "`iolode query` lists the named queries, which are table functions, and the pages, which are not".to_string(),
            |near| format!("did you mean `{near}`?"),
        );
        return format!("unknown table function `{name}`; {hint}");
    }
    if let (true, Some(name)) = (text.starts_with("Invalid function '"), quoted(text)) {
        let near = nearest(&name, context.functions.iter().map(String::as_str));
        if near == Some(name.as_str()) {
            return format!("`{name}` is a window function; write `{name}(..) OVER (ORDER BY ..)`");
        }
        if let Some(write) = instead_of(&name.to_lowercase()) {
            return format!("unknown function `{name}`; write `{write}`");
        }
        return format!(
            "unknown function `{name}`; {}",
            near.map_or(
                "list them with `show functions`".to_string(),
                |near| format!("did you mean `{near}`?")
            )
        );
    }
    if let Some(name) = text.strip_prefix("Invalid qualifier ") {
        return format!("unknown table `{name}` before `.*`");
    }
    // A function of ours has said which argument is wrong; DataFusion adds that it is.
    if let Some((_, rest)) = text.split_once("user-defined coercion failed with: ") {
        return start(rest.split(" No function matches").next().unwrap_or(rest))
            .trim_end_matches('.')
            .to_string();
    }
    // Signatures that do not fit are listed by the dozen; the first line says it.
    text.lines().next().unwrap_or(text).to_string()
}

fn exhausted(text: &str, context: &ErrorContext) -> String {
    let consumer = text
        .split(" for ")
        .nth(1)
        .and_then(|rest| rest.split(['[', '#', ' ']).next());
    let at = consumer
        .filter(|name| !name.is_empty())
        .map(|name| format!(" (in {name})"))
        .unwrap_or_default();
    if let Some((_, address)) = text.rsplit_once(ON_EXECUTOR) {
        return format!(
            "out of memory: the query needs more than the executor at {address} may hold{at}; start executors with more --memory, or ask for less at a time"
        );
    }
    match context.memory {
        Some(memory) => {
            format!(
                "out of memory: the query needs more than its budget of {}{at}; raise it with --memory, or ask for less at a time",
                size(memory)
            )
        }
        None => line(&format!("out of memory{at}: {text}")),
    }
}

/// Bytes as a person writes them.
fn size(bytes: usize) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value.fract() == 0.0 {
        true => format!("{value} {}", units[unit]),
        false => format!("{value:.1} {}", units[unit]),
    }
}

/// What an error says that others were wrapped around: one of ours (a shared one cannot be taken out, but its words can), that a file is
/// gone, or that the file system does not let it be read.
fn beneath(error: &DataFusionError) -> Option<String> {
    use datafusion::object_store::Error::NotFound;
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<Error>() {
            return Some(error.to_string());
        }
        if let Some(NotFound { path, .. }) = error.downcast_ref() {
            return Some(gone(path));
        }
        next = error.source();
    }
    // The Parquet reader passes on the words only.
    let text = error.to_string();
    let path = text
        .split_once("Object at location ")
        .and_then(|(_, rest)| rest.split_once(" not found: "));
    path.map(|(path, _)| gone(path))
        .or_else(|| unread(&text))
        .or_else(|| of_parquet(error))
}

pub(super) fn arrow(error: &datafusion::arrow::error::ArrowError) -> String {
    use datafusion::arrow::error::ArrowError as A;
    match error {
        A::CastError(text)
        | A::ComputeError(text)
        | A::InvalidArgumentError(text)
        | A::ParseError(text)
        | A::SchemaError(text) => text.clone(),
        A::ArithmeticOverflow(text) => text.clone(),
        A::DivideByZero => {
            "division by zero; `a / nullif(b, 0)` and `ratio(a, b)` are NULL there".to_string()
        }
        A::ParquetError(text) => damaged(text),
        error => error.to_string(),
    }
}

/// Without the prefixes that errors gather on their way, and in lower case unless the first word is an abbreviation.
fn start(text: &str) -> String {
    const PREFIXES: &[&str] = &[
        "Error during planning: ",
        "Execution error: ",
        "External error: ",
        "Arrow error: ",
        "Schema error: ",
        "SQL error: ",
    ];
    let mut text = text.trim();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    let mut letters = text.chars();
    let capital = letters.next().is_some_and(char::is_uppercase)
        && letters
            .next()
            .is_some_and(|next| next.is_lowercase() || next == ' ');
    match capital {
        true => text
            .chars()
            .take(1)
            .flat_map(char::to_lowercase)
            .chain(text.chars().skip(1))
            .collect(),
        false => text.to_string(),
    }
}

/// The parser's words as ours would be.
fn place(text: &str) -> String {
    let words = [
        ("expected: ", "expected "),
        ("found: ", "found "),
        (" at Line: ", " at line "),
        (", Column: ", ", column "),
    ];
    words.iter().fold(text.to_string(), |text, (theirs, ours)| {
        text.replace(theirs, ours)
    })
}

/// One line without a full stop.
pub(super) fn line(text: &str) -> String {
    let parts: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    start(parts.join("; ").replace(".; ", "; ").trim_end_matches('.'))
}

/// An error of ours on its way through DataFusion.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::super::functions::tests::ask;
    use super::*;
    use datafusion::common::{Column, exec_datafusion_err};
    use datafusion::parquet::errors::ParquetError;
    use std::sync::Arc;

    fn told(error: DataFusionError) -> String {
        let context = ErrorContext {
            tables: vec!["darshan_log".into()],
            functions: vec!["ost_count".into()],
            queries: vec![],
            usage: None,
            memory: Some(512 << 20),
        };
        translate(error, &context).to_string()
    }

    #[test]
    fn a_file_that_the_file_system_refuses_is_not_called_damaged() {
        // EACCES, EIO and ESTALE, as the object store, and the Parquet reader and the scan above it, pass them on.
        for (code, what, why) in [
            (13, "Unable to open file", "permission denied"),
            (5, "Unable to read data from file", "input/output error"),
            (116, "Unable to access metadata for", "stale file handle"),
        ] {
            let reason = std::io::Error::from_raw_os_error(code);
            let text = format!("Generic LocalFileSystem error: {what} /l/a: b.parquet: {reason}");
            let expected = format!("/l/a: b.parquet: cannot read: {why}");
            let parquet = datafusion::arrow::error::ArrowError::ParquetError(text.clone());
            let of_scan = format!("Failed to fetch metadata for file l/a: b.parquet: {text}");
            for error in [
                DataFusionError::ArrowError(Box::new(parquet), None),
                DataFusionError::External(of_scan.into()),
                exec_datafusion_err!("{text}"),
            ] {
                assert_eq!(told(error), expected);
            }
        }
        let wrong = datafusion::arrow::error::ArrowError::ParquetError("EOF".into());
        let in_arrow = DataFusionError::ArrowError(Box::new(wrong), None);
        let in_parquet = ParquetError::External("Src size is incorrect".into());
        for error in [in_arrow, in_parquet.into()] {
            let told = told(error);
            assert!(told.starts_with("damaged data file"), "{told}");
        }
    }

    #[test]
    fn an_error_of_ours_comes_out_unchanged_however_it_was_wrapped() {
        let error = || {
            Box::new(Error::Lake {
                lake: "l".into(),
                reason: "is no lake".into(),
            })
        };
        assert_eq!(
            told(DataFusionError::External(error()).context("scan")),
            "lake l: is no lake"
        );
        assert_eq!(
            told(DataFusionError::Shared(Arc::new(
                DataFusionError::External(error())
            ))),
            "lake l: is no lake"
        );
        let arrow = datafusion::arrow::error::ArrowError::ExternalError(Box::new(
            DataFusionError::External(error()),
        ));
        assert_eq!(
            told(DataFusionError::ArrowError(Box::new(arrow), None)),
            "lake l: is no lake"
        );
        assert!(matches!(
            translate(DataFusionError::External(error()), &ErrorContext::default()),
            Error::Lake { .. }
        ));
    }

    #[test]
    fn unknown_names_suggest_the_nearest() {
        assert_eq!(
            ask("SELECT bytes_raed FROM (SELECT 1 AS bytes_read)").unwrap_err(),
            "unknown column `bytes_raed`; did you mean `bytes_read`?"
        );
        assert_eq!(
            ask("SELECT ost_cuont(NULL)").unwrap_err(),
            "unknown function `ost_cuont`; did you mean `ost_count`?"
        );
        assert_eq!(
            ask("SELECT zzzzzzzz(1)").unwrap_err(),
            "unknown function `zzzzzzzz`; list them with `show functions`"
        );
        assert_eq!(
            ask("SELECT * FROM advise()").unwrap_err(),
            "unknown table function `advise`; did you mean `advice`?"
        );
        assert!(
            ask("SELECT * FROM zzzzzzzz()")
                .unwrap_err()
                .starts_with("unknown table function `zzzzzzzz`; `iolode query` lists ")
        );
        assert_eq!(
            ask("SELECT * FROM nowhere").unwrap_err(),
            "unknown table `nowhere`; list them with `show tables`"
        );
        assert_eq!(
            told(DataFusionError::Plan(
                "table 'iolode.month.darshan_lgo' not found".into()
            )),
            "unknown table `darshan_lgo`; did you mean `darshan_log`?"
        );
        assert_eq!(
            told(DataFusionError::Plan(
                "table 'iolode.my lake.darshan_log' not found".into()
            )),
            "unknown lake `my lake` before `darshan_log`; list them with `show tables`"
        );
        assert_eq!(
            ask("SELECT sum('x')").unwrap_err(),
            "function `sum` does not take a value of type String"
        );
        let error = SchemaError::FieldNotFound {
            field: Box::new(Column::new(Some("x"), "uid")),
            valid_fields: vec![Column::new(Some("l"), "uid")],
        };
        assert_eq!(
            told(DataFusionError::SchemaError(
                Box::new(error),
                Box::new(None)
            )),
            "unknown column `x.uid`; did you mean `l.uid`?"
        );
    }

    #[test]
    fn what_is_not_a_timestamp_and_joins_that_are_not_there_say_what_to_write() {
        let error = ask("SELECT TIMESTAMP '2026-99-01'").unwrap_err();
        assert!(
            error.starts_with("`2026-99-01` is not a valid timestamp; expected `2026-09-01`"),
            "{error}"
        );
        let error =
            ask("SELECT 1 FROM (SELECT 1 AS v) AS t SEMI JOIN (SELECT 1 AS v) AS s ON t.v = s.v");
        let error = error.unwrap_err();
        assert!(
            error.starts_with("not supported: SEMI JOIN; write WHERE [NOT] EXISTS"),
            "{error}"
        );
    }

    #[test]
    fn common_slips_say_what_to_write() {
        const T: &str = "FROM (SELECT 'x' AS a, 1 AS b) AS t";
        for (sql, words) in [
            ("SELECT count(*) T WHERE a IN (1, 2)", "`x` is not a number"),
            ("SELECT count(*) T WHERE a = 5", "`x` is not a number"),
            ("SELECT count(*) T WHERE b = 'abc'", "`abc` is not a number"),
            ("SELECT coalesce(a, b) T", "`x` is not a number"),
            (
                "SELECT CAST('9223372036854775808' AS BIGINT)",
                "is too large for this type of integers",
            ),
            (
                "SELECT CAST('1e3' AS BIGINT)",
                "`1e3` is not a whole number",
            ),
            (
                "SELECT now() < '9999-12-31'",
                "`9999-12-31 00:00:00` is out of range",
            ),
            ("SELECT a + b T", "`VARCHAR + BIGINT` has no meaning"),
            ("SELECT now() - 5", "`TIMESTAMP - BIGINT` has no meaning"),
            (
                "SELECT now() - now() BETWEEN '1 day' AND '2 days'",
                "`Duration(ns) BETWEEN VARCHAR` has no meaning",
            ),
            (
                "SELECT substr(1)",
                "substring without for/from is not valid",
            ),
            ("SELECT round('x')", "function `round` does not take"),
            (
                "SELECT * T GROUP BY a",
                "column `t.b` is neither in GROUP BY nor",
            ),
            (
                "SELECT b, count(*) T GROUP BY a",
                "column `t.b` is neither in GROUP BY nor",
            ),
            ("SELECT a T WHERE row_number() OVER () = 1", "QUALIFY"),
            ("SELECT a T HAVING row_number() OVER () = 1", "QUALIFY"),
            ("SELECT lag(b) T", "write `lag(..) OVER (ORDER BY ..)`"),
        ] {
            let error = ask(&sql.replace(" T", &format!(" {T}"))).unwrap_err();
            assert!(error.contains(words), "{sql}: {error}");
            assert!(error.len() < 200, "{sql}: {error}");
        }
    }

    #[test]
    fn out_of_memory_names_the_budget_and_the_flag() {
        let text = "Failed to allocate additional 23.4 KB for HashJoinInput[6] with 2.3 MB already allocated";
        assert_eq!(
            told(DataFusionError::ResourcesExhausted(text.into())),
            "out of memory: the query needs more than its budget of 512 MiB (in HashJoinInput); raise it with --memory, or ask for less at a time"
        );
    }

    #[test]
    fn null_without_a_type_and_a_table_with_the_name_of_a_column_say_what_to_write() {
        let error = ask("SELECT sum(x) FROM (SELECT NULL AS x)").unwrap_err();
        assert_eq!(
            error,
            "`sum` of NULL alone, which is of no type; write `NULL::double`"
        );
        let error = ask("SELECT avg(NULL)").unwrap_err();
        assert_eq!(
            error,
            "`avg` of NULL alone, which is of no type; write `NULL::double`"
        );
        let error = ask("SELECT id FROM (VALUES (1)) AS d(id) WHERE EXISTS (SELECT 1 FROM (VALUES (1, 2)) AS s(id, d) WHERE s.id = d.id)").unwrap_err();
        assert!(
            error.ends_with("give the table with the name of that column another alias"),
            "{error}"
        );
    }

    /// DuckDB answers both.
    #[test]
    fn grouping_of_casts_and_frames_that_exclude_rows_are_refused() {
        let error =
            ask("SELECT grouping(s), grouping(s::int) FROM (VALUES ('1')) AS t(s) GROUP BY ROLLUP (s, s::int)")
                .unwrap_err();
        assert!(
            error.starts_with("GROUPING takes the keys of GROUP BY"),
            "{error}"
        );
        let error = ask(
            "SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM (VALUES (1)) AS t(x)",
        )
        .unwrap_err();
        assert!(
            error.ends_with("column 73; not supported: EXCLUDE in the frame of a window"),
            "{error}"
        );
    }

    #[test]
    fn messages_are_one_line_in_lower_case_without_prefixes() {
        assert_eq!(
            told(exec_datafusion_err!("Something went wrong.\nAnd more.")),
            "something went wrong; And more"
        );
        let unfinished = "Error encountered while finalizing writes! Partial results may have been written to ObjectStore!";
        assert!(
            told(DataFusionError::Internal(unfinished.into())).starts_with("COPY cannot write")
        );
        for sql in [
            "SELEC 1",
            "SELECT 1 +",
            "SELECT 'a",
            "SELECT 1/0",
            "SELECT CAST('x' AS INT)",
            "SELECT abs(1, 2, 3)",
            "SELECT a.b FROM (SELECT 1 AS b) AS t",
            "",
        ] {
            let error = ask(sql).unwrap_err();
            assert!(
                !error.contains('\n') && !error.contains("rror:") && !error.contains("Error"),
                "{sql}: {error}"
            );
            assert!(
                !error.starts_with(|c: char| c.is_uppercase()) && !error.ends_with('.'),
                "{sql}: {error}"
            );
        }
    }
}
