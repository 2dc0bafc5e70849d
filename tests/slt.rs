//! Runs `tests/slt/**/*.slt`: SQL and its answers, each file in a session of its own over the small lake of `slt/lake.rs`; those under
//! `tests/slt/troubled` over the one of `slt/troubled_lake.rs`, where programs are in trouble.
//! A file that changes the lake begins with `# a lake of its own`, and has one.
//!
//! `SLT_COMPLETE=1 cargo test --test slt` writes the answers into the files instead; read the difference.

#[path = "slt/lake.rs"]
mod lake;
#[path = "slt/made.rs"]
mod made;
#[path = "slt/troubled_lake.rs"]
mod troubled_lake;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::array_value_to_string;
use iolode::Error;
use iolode::engine::functions::{AGGREGATE, SCALAR};
use iolode::engine::queries::QUERIES;
use iolode::engine::views::VIEWS;
use iolode::engine::{Engine, EngineOptions, runtime};
use iolode::lake::Lake;
use iolode::table::TABLES;
use libtest_mimic::{Arguments, Failed, Trial, run};
use sqllogictest::{
    AsyncDB, DBOutput, DefaultColumnType, Runner, default_normalizer, default_validator,
    strict_column_validator,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

struct Session(Engine);

#[async_trait::async_trait]
impl AsyncDB for Session {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let answer = self.0.run(sql).await?;
        let schema = answer.schema();
        if schema.fields().is_empty() {
            answer.collect().await?;
            return Ok(DBOutput::StatementComplete(0));
        }
        let types = schema.fields().iter().map(|field| match field.data_type() {
            t if t.is_integer() => DefaultColumnType::Integer,
            t if t.is_floating() => DefaultColumnType::FloatingPoint,
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => DefaultColumnType::Text,
            _ => DefaultColumnType::Any,
        });
        let (types, mut rows) = (types.collect(), vec![]);
        for batch in answer.collect().await? {
            for i in 0..batch.num_rows() {
                rows.push(
                    batch
                        .columns()
                        .iter()
                        .map(|column| cell(column, i))
                        .collect(),
                );
            }
        }
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "iolode"
    }
}

/// A value as the files write it: floats to 12 digits, for the last ones may depend on the order of additions.
fn cell(column: &Arc<dyn Array>, i: usize) -> String {
    if column.is_null(i) {
        return "NULL".into();
    }
    if let Some(floats) = column.as_primitive_opt::<Float64Type>() {
        let value = floats.value(i);
        return format!("{value:.11e}")
            .parse::<f64>()
            .map_or(value.to_string(), |value| value.to_string());
    }
    match array_value_to_string(column, i) {
        Ok(text) if text.is_empty() => "(empty)".into(),
        Ok(text) => text,
        Err(e) => e.to_string(),
    }
}

/// A lake, and the directory that goes with it.
type Kept = (tempfile::TempDir, Arc<Lake>);

/// Makes a lake in a directory.
type Make = fn(&Path) -> Lake;

fn new_lake(make: Make) -> Kept {
    let directory = tempfile::tempdir().expect("a place for temporary files");
    let lake = make(directory.path());
    (directory, Arc::new(lake))
}

fn session(is_troubled: bool, own: Option<&Kept>) -> Result<Session, Error> {
    static SMALL: OnceLock<Kept> = OnceLock::new();
    static TROUBLED: OnceLock<Kept> = OnceLock::new();
    let (name, kept, make) = match is_troubled {
        false => ("small", &SMALL, lake::small as Make),
        true => ("troubled", &TROUBLED, troubled_lake::troubled as Make),
    };
    let (_, lake) = own.unwrap_or_else(|| kept.get_or_init(|| new_lake(make)));
    let lakes = vec![(name.to_string(), lake.clone(), None)];
    Engine::new(EngineOptions {
        lakes,
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    })
    .map(Session)
}

fn test(path: &Path) -> Result<(), Failed> {
    let own = std::fs::read_to_string(path)?.starts_with("# a lake of its own\n");
    let own = own.then(|| new_lake(lake::small));
    let is_troubled = path.starts_with("tests/slt/troubled");
    let mut runner = Runner::new(|| async { session(is_troubled, own.as_ref()) });
    runner.with_column_validator(strict_column_validator);
    runtime(Some(2))?.block_on(async {
        match std::env::var_os("SLT_COMPLETE") {
            None => runner
                .run_file_async(path)
                .await
                .map_err(|e| Failed::from(e.to_string())),
            Some(_) => runner
                .update_test_file(
                    path,
                    " ",
                    default_validator,
                    default_normalizer,
                    strict_column_validator,
                )
                .await
                .map_err(|e| Failed::from(e.to_string())),
        }
    })
}

/// Whether every function, view and table has a file.
fn complete(files: &[PathBuf]) -> Result<(), Failed> {
    let wanted = SCALAR.iter().map(|f| ("functions", f.doc.name));
    let wanted = wanted.chain(AGGREGATE.iter().map(|f| ("functions", f.doc.name)));
    let wanted = wanted
        .chain(QUERIES.iter().map(|(_, name, _)| ("queries", *name)))
        .chain(VIEWS.iter().map(|(name, _)| ("views", *name)))
        .chain(TABLES.iter().map(|(name, _)| ("tables", *name)));
    let missing: Vec<String> = wanted
        .map(|(kind, name)| format!("{kind}/{name}.slt"))
        .filter(|name| !files.iter().any(|file| file.ends_with(name)))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("tests/slt lacks {}", missing.join(", ")).into()),
    }
}

fn main() {
    let files: Vec<PathBuf> = sqllogictest::harness::glob("tests/slt/**/*.slt")
        .expect("a pattern")
        .flatten()
        .collect();
    let trial = |path: &PathBuf| {
        let path = path.clone();
        Trial::test(path.display().to_string(), move || test(&path))
    };
    let mut trials: Vec<Trial> = files.iter().map(trial).collect();
    trials.push(Trial::test(
        "every function, view and table has a file",
        move || complete(&files),
    ));
    run(&Arguments::from_args(), trials).exit();
}
