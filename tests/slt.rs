//! Runs `tests/slt/**/*.slt`: SQL and its answers, each file in a session of its own over the small lake of `slt/lake.rs`; those under
//! `tests/slt/troubled` over the one of `slt/troubled_lake.rs`, where programs are in trouble, and those under `tests/slt/periodic` over the one of
//! `slt/periodic_lake.rs`, where programs write in phases.
//! A file that changes the lake begins with `# a lake of its own`, and has one.
//!
//! With the feature `cluster` each file runs a second time, unless it begins with `# plans of one process`: all statements that can run on a cluster of three executors
//! do.
//!
//! `SLT_COMPLETE=1 cargo test --test slt` writes the answers into the files instead; read the difference.
#![allow(clippy::print_stdout)]

#[cfg(feature = "cluster")]
#[path = "it/cluster_processes.rs"]
mod cluster_processes;
#[path = "slt/lake.rs"]
mod lake;
#[path = "slt/made.rs"]
mod made;
#[path = "slt/periodic_lake.rs"]
mod periodic_lake;
#[path = "slt/troubled_lake.rs"]
mod troubled_lake;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::array_value_to_string;
use iolode::Error;
use iolode::engine::functions::{AGGREGATE, SCALAR};
use iolode::engine::queries::QUERIES;
use iolode::engine::views::VIEWS;
use iolode::engine::{self, Engine, EngineOptions, Place, runtime};
use iolode::lake::Lake;
use iolode::table::TABLES;
use libtest_mimic::{Arguments, Failed, Trial, run};
use sqllogictest::{
    AsyncDB, DBOutput, DefaultColumnType, Runner, default_normalizer, default_validator,
    strict_column_validator,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

struct Session(Engine);

#[async_trait::async_trait]
impl AsyncDB for Session {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let answer = self.0.run(sql).await?;
        note(answer.place());
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

/// How many statements ran elsewhere, and in the process of the test, by the reason.
static PLACES: Mutex<BTreeMap<Option<String>, usize>> = Mutex::new(BTreeMap::new());

/// What is said of a statement that reads no lake table.
const READS_NOTHING: &str = "it reads no data file of a lake";

fn note(place: &Place) {
    let why = match place {
        Place::Elsewhere => None,
        Place::InProcess(Some(why)) if why != READS_NOTHING => Some(why.clone()),
        Place::InProcess(_) => return,
    };
    *PLACES.lock().unwrap().entry(why).or_default() += 1;
}

/// Who runs statements other than the process of the test.
type Elsewhere = Arc<dyn engine::Runner>;

/// The lakes that files share: that of most files, that where programs are in trouble, and that where they write in phases.
const SHARED: [(&str, Make); 3] = [
    ("small", lake::small),
    ("troubled", troubled_lake::troubled),
    ("periodic", periodic_lake::periodic),
];

/// One of [`SHARED`].
fn shared(which: usize) -> (&'static str, &'static Kept) {
    static LAKES: [OnceLock<Kept>; 3] = [const { OnceLock::new() }; 3];
    let (name, make) = SHARED[which];
    (name, LAKES[which].get_or_init(|| new_lake(make)))
}

/// The one that a file asks: that of its folder, else the small one.
fn lake_of(path: &Path) -> usize {
    let folder = |name: &str| path.starts_with(Path::new("tests/slt").join(name));
    let found = SHARED.iter().position(|(name, _)| folder(name));
    found.unwrap_or(0)
}

fn session(name: &str, lake: &Kept, runner: Option<&Elsewhere>) -> Result<Session, Error> {
    Engine::new(EngineOptions {
        lakes: vec![(name.to_string(), lake.1.clone(), None)],
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        runner: runner.cloned(),
        ..EngineOptions::default()
    })
    .map(Session)
}

fn test(path: &Path, elsewhere: fn() -> Option<Elsewhere>) -> Result<(), Failed> {
    let own = std::fs::read_to_string(path)?.starts_with("# a lake of its own\n");
    let own = own.then(|| new_lake(lake::small));
    let (name, kept) = shared(lake_of(path));
    // The executors read the shared lakes.
    let elsewhere = own.is_none().then(elsewhere).flatten();
    let lake = own.as_ref().unwrap_or(kept);
    let mut runner = Runner::new(|| async { session(name, lake, elsewhere.as_ref()) });
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

/// Whether a file shows how statements run in one process.
#[cfg(feature = "cluster")]
fn shows_plans(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.starts_with("# plans of one process")
}

fn main() {
    let files: Vec<PathBuf> = sqllogictest::harness::glob("tests/slt/**/*.slt")
        .expect("a pattern")
        .flatten()
        .collect();
    let trial = |path: &PathBuf| {
        let path = path.clone();
        Trial::test(path.display().to_string(), move || test(&path, || None))
    };
    let mut trials: Vec<Trial> = files.iter().map(trial).collect();
    #[cfg(feature = "cluster")]
    trials.extend(files.iter().filter(|path| !shows_plans(path)).map(|path| {
        let path = path.clone();
        let name = format!("{} on a cluster", path.display());
        Trial::test(name, move || test(&path, || Some(on_cluster())))
    }));
    trials.push(Trial::test(
        "every function, view and table has a file",
        move || complete(&files),
    ));
    let conclusion = run(&Arguments::from_args(), trials);
    #[cfg(feature = "cluster")]
    end_cluster();
    let places = PLACES.lock().unwrap().clone();
    let (all, elsewhere) = (places.values().sum::<usize>(), places.get(&None));
    let elsewhere = elsewhere.copied().unwrap_or_default();
    if all > 0 {
        println!(
            "{elsewhere} of {all} statements over lake tables ran on the cluster; in process:"
        );
    }
    for (why, count) in places
        .iter()
        .filter_map(|(why, count)| Some((why.as_ref()?, count)))
    {
        println!("{count:6} {why}");
    }
    // A part of the files may have another share.
    let is_whole = conclusion.num_filtered_out == 0;
    if is_whole && elsewhere * 100 < all * 95 {
        println!("error: fewer than 95 % ran on the cluster");
        std::process::exit(1);
    }
    conclusion.exit();
}

#[cfg(feature = "cluster")]
static CLUSTER: Mutex<Option<cluster_processes::Cluster>> = Mutex::new(None);

/// Three executors of one core, which are started when the first file asks for them.
#[cfg(feature = "cluster")]
fn on_cluster() -> Elsewhere {
    use iolode::cluster::{ConnectFile, client::ClusterRunner};
    let mut cluster = CLUSTER.lock().unwrap();
    let lakes = [0, 1, 2].map(|which| shared(which).1.1.root().expect("a directory"));
    let cluster = cluster.get_or_insert_with(|| cluster_processes::Cluster::start(&lakes, 3, 1));
    let keys = ConnectFile::read(&cluster.file()).expect("a connect file");
    let lakes = [0, 1, 2].map(|which| shared(which).1.1.as_ref());
    Arc::new(ClusterRunner::new(keys, lakes, Some(0)))
}

/// Its processes do not end with this one.
#[cfg(feature = "cluster")]
fn end_cluster() {
    drop(CLUSTER.lock().unwrap().take());
}
