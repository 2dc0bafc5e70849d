//! Names, versions and the tables beside the data.

use super::super::{Engine, EngineOptions};
use super::{ask, batches, block_on, engine, lake};
use crate::engine::catalog::views::views;
use crate::engine::queries::{Param, ParamType, queries};
use crate::engine::scan::lake_table::scanned;
use crate::lake::{IngestOptions, Lake, Silent};
use crate::synth::Month;
use crate::table::{TABLES, table};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::dataframe::DataFrame;
use std::fs;
use std::sync::Arc;

fn with(lakes: Vec<(&str, &Lake, Option<u64>)>) -> crate::Result<Engine> {
    let lakes = lakes
        .into_iter()
        .map(|(name, lake, version)| (name.to_string(), Arc::new(lake.clone()), version))
        .collect();
    Engine::new(EngineOptions {
        lakes,
        threads: Some(2),
        settings: vec![("iolode.fallback".into(), "error".into())],
        ..EngineOptions::default()
    })
}

#[test]
fn every_table_and_view_of_an_empty_lake_is_empty_and_has_its_columns() {
    let lake = Lake::in_memory().unwrap();
    block_on(async {
        let engine = engine(&lake, 2);
        for (name, _) in TABLES {
            let frame = engine.sql(&format!("SELECT * FROM {name}")).await.unwrap();
            let listed = &table(name).unwrap().schema;
            let expected = match name.starts_with("lake_") {
                true => listed.clone(),
                false => scanned(listed),
            };
            assert_eq!(frame.schema().as_arrow().fields(), expected.fields());
            let count = if *name == "lake_version" { "1" } else { "0" };
            assert_eq!(
                ask(&engine, &format!("SELECT count(*) FROM {name}")).await,
                [count],
                "{name}"
            );
        }
        for view in views() {
            assert_eq!(
                ask(&engine, &format!("SELECT * FROM {}", view.name))
                    .await
                    .len(),
                0,
                "{}",
                view.name
            );
        }
    });
}

/// A type as the schema files write it: text is text, whether an answer has it as views or not.
fn word(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8View => "Utf8".to_string(),
        DataType::BinaryView => "Binary".to_string(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if &**zone == "UTC" => {
            "Timestamp".to_string()
        }
        DataType::List(item) => format!("List<{}>", word(item.data_type())),
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|f| format!("{}: {}", f.name(), word(f.data_type())));
            format!("Struct<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[test]
fn views_and_questions_have_the_columns_that_their_pages_list() {
    let lake = Lake::in_memory().unwrap();
    block_on(async {
        let engine = engine(&lake, 2);
        let columns = |frame: &DataFrame| -> Vec<_> {
            let fields = frame.schema().fields().iter();
            fields
                .map(|field| (field.name().clone(), word(field.data_type())))
                .collect()
        };
        for view in views() {
            let frame = engine
                .sql(&format!("SELECT * FROM {}", view.name))
                .await
                .unwrap();
            let found = columns(&frame);
            let listed: Vec<_> = view
                .columns
                .iter()
                .map(|column| (column.name.to_string(), column.type_name.to_string()))
                .collect();
            assert_eq!(found, listed, "{}", view.name);
        }
        for query in queries() {
            let some = |param: &Param| match param.kind {
                ParamType::Timestamp => "'2026-09-01T12:00'".into(),
                ParamType::Text => match param.values.first() {
                    Some(value) => format!("'{value}'"),
                    None => "'scratch'".into(),
                },
                _ => "1".into(),
            };
            let needed = query.params.iter().filter(|param| param.default.is_none());
            let given: Vec<(&str, String)> = needed
                .map(|param| (param.name.as_str(), some(param)))
                .collect();
            // Each of the texts that may be given, for what they rule out is not planned.
            let others = query.params.iter().flat_map(|param| {
                let values = param.values.iter();
                values.map(|value| (param.name.as_str(), format!("'{value}'")))
            });
            for other in std::iter::once(None).chain(others.map(Some)) {
                let mut given = given.clone();
                if let Some(other) = other {
                    given.retain(|(name, _)| *name != other.0);
                    given.push(other);
                }
                let given: Vec<String> = given
                    .iter()
                    .map(|(name, value)| format!("{name} => {value}"))
                    .collect();
                let sql = format!("SELECT * FROM {}({})", query.name, given.join(", "));
                let frame = engine.sql(&sql).await.unwrap();
                let found = columns(&frame);
                let listed: Vec<_> = query
                    .columns
                    .iter()
                    .map(|column| (column.name.clone(), column.type_name.clone()))
                    .collect();
                assert_eq!(found, listed, "{sql}");
            }
        }
    });
}

#[test]
fn lakes_are_schemas_and_names_alone_mean_the_first() {
    let directory = tempfile::tempdir().unwrap();
    // A name that a careless address would change.
    let (first, second) = (
        lake(&directory.path().join("a #1 100% ü"), 6, 1, 1 << 30),
        lake(&directory.path().join("b"), 3, 1, 1 << 30),
    );
    let memory = Lake::in_memory().unwrap();
    let logs = IngestOptions {
        paths: vec![directory.path().join("b/logs0").into()],
        ..IngestOptions::default()
    };
    memory.ingest(&logs, &Silent).unwrap();
    block_on(async {
        let engine = with(vec![
            ("one", &first, None),
            ("two", &second, None),
            ("loose", &memory, None),
        ])
        .unwrap();
        let count = async |table: &str| {
            ask(
                &engine,
                &format!("SELECT count(*), min(log_id) FROM {table}"),
            )
            .await
            .remove(0)
        };
        assert_eq!(count("darshan_log").await, count("one.darshan_log").await);
        assert_ne!(count("darshan_log").await, count("two.darshan_log").await);
        assert_eq!(
            count("loose.darshan_log").await,
            count("two.darshan_log").await
        );
        assert_eq!(
            count("iolode.loose.darshan_file").await,
            count("two.darshan_file").await
        );
        // A view of a lake is over its tables, whichever lake is the first.
        assert_eq!(
            ask(&engine, "SELECT sum(logs) FROM two.darshan_job").await,
            [count("two.darshan_log").await.split(' ').next().unwrap()]
        );
        let joined = ask(&engine, "SELECT count(*) FROM two.darshan_log a JOIN loose.darshan_log b USING (job_id, log_id)").await;
        assert_eq!(
            joined[0],
            count("two.darshan_log").await.split(' ').next().unwrap()
        );
        let schemas = ask(
            &engine,
            "SELECT DISTINCT table_schema FROM information_schema.tables ORDER BY 1",
        )
        .await;
        assert_eq!(schemas, ["information_schema", "loose", "one", "two"]);
        let described = ask(&engine, "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'two' AND table_name = 'darshan_job'").await;
        let view = views()
            .iter()
            .find(|view| view.name == "darshan_job")
            .unwrap();
        assert_eq!(described, [view.columns.len().to_string()]);
    });
    assert!(with(vec![("x", &first, None), ("x", &second, None)]).is_err());
    assert!(with(vec![("information_schema", &first, None)]).is_err());
}

#[test]
fn a_query_sees_the_newest_version_and_a_pinned_session_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 6, 2, 1 << 30);
    block_on(async {
        let (new, old) = (
            with(vec![("month", &lake, None)]).unwrap(),
            with(vec![("month", &lake, Some(2))]).unwrap(),
        );
        let count = "SELECT count(*) FROM darshan_log";
        let (all, half) = (ask(&new, count).await, ask(&old, count).await);
        assert_ne!(all, half);
        assert_eq!(
            ask(&new, "SELECT version FROM lake_version ORDER BY version").await,
            ["1", "2", "3"]
        );
        assert_eq!(
            ask(&old, "SELECT max(version) FROM lake_version").await,
            ["2"]
        );
        // Planned before a commit, run after it: still the version it was planned over.
        let planned = new
            .sql("SELECT (SELECT count(*) FROM darshan_log) + (SELECT count(*) FROM lake_input)")
            .await
            .unwrap();
        let before = super::rows(&planned.clone().collect().await.unwrap());
        let logs = directory.path().join("more");
        for log in Month::new(8, 99).logs(7) {
            let path = logs.join(log.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, log.log.to_bytes()).unwrap();
        }
        let options = IngestOptions {
            paths: vec![logs.into()],
            ..IngestOptions::default()
        };
        assert_eq!(lake.ingest(&options, &Silent).unwrap().version, Some(4));
        assert_eq!(super::rows(&planned.collect().await.unwrap()), before);
        assert_ne!(ask(&new, count).await, all);
        assert_eq!(ask(&old, count).await, half);
        let error = batches(&with(vec![("month", &lake, Some(77))]).unwrap(), count)
            .await
            .unwrap_err();
        assert!(
            error.ends_with("it has no version 77; it has 1 to 4"),
            "{error}"
        );
    });
}

#[test]
fn the_lakes_own_tables_tell_of_inputs_files_and_versions() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 6, 1, 1 << 30);
    fs::write(directory.path().join("logs0/broken.darshan"), "nothing\0").unwrap();
    let options = IngestOptions {
        paths: vec![directory.path().join("logs0").into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    block_on(async {
        let engine = engine(&lake, 2);
        let failed = ask(
            &engine,
            "SELECT status, error IS NOT NULL FROM lake_input WHERE path LIKE '%broken.darshan'",
        )
        .await;
        assert_eq!(failed, ["failed | true"]);
        let logs = "SELECT count(*) FROM lake_input WHERE status IN ('ok', 'partial', 'damaged')";
        assert_eq!(
            ask(&engine, logs).await,
            ask(&engine, "SELECT count(*) FROM darshan_log").await
        );
        let joined = "SELECT count(*) FROM darshan_log l JOIN lake_input i ON l.log_id = i.content_hash WHERE i.status <> 'failed'";
        assert_eq!(ask(&engine, joined).await, ask(&engine, logs).await);
        let rows = "SELECT sum(rows) FROM lake_file WHERE table_name = 'darshan_file'";
        assert_eq!(
            ask(&engine, rows).await,
            ask(&engine, "SELECT count(*) FROM darshan_file").await
        );
        assert_eq!(
            ask(
                &engine,
                "SELECT operation FROM lake_version ORDER BY version"
            )
            .await,
            ["create", "ingest", "ingest"]
        );
    });
}

#[test]
fn a_session_has_tables_of_its_own_beside_a_lake_and_cannot_touch_the_lakes() {
    let lake = Lake::in_memory().unwrap();
    block_on(async {
        let engine = engine(&lake, 2);
        ask(
            &engine,
            "CREATE VIEW mine AS SELECT 1 AS a UNION ALL SELECT 2",
        )
        .await;
        ask(&engine, "CREATE TABLE other AS SELECT a + 1 AS b FROM mine").await;
        ask(&engine, "CREATE SCHEMA scratch").await;
        ask(&engine, "CREATE TABLE scratch.t AS VALUES (7)").await;
        assert_eq!(
            ask(
                &engine,
                "SELECT sum(b) + (SELECT min(column1) FROM scratch.t) FROM other"
            )
            .await,
            ["12"]
        );
        let error = batches(&engine, "CREATE TABLE darshan_log AS SELECT 1")
            .await
            .unwrap_err();
        assert!(error.contains("darshan_log"), "{error}");
        let error = batches(&engine, "DROP VIEW darshan_job").await.unwrap_err();
        assert_eq!(
            error,
            "`darshan_job` belongs to the lake and cannot be dropped"
        );
        assert_eq!(
            batches(&engine, "DROP SCHEMA month CASCADE")
                .await
                .unwrap_err(),
            "`month` is a lake"
        );
        let error = batches(&engine, "SELECT * FROM darshan_jbo")
            .await
            .unwrap_err();
        assert_eq!(
            error,
            "unknown table `darshan_jbo`; did you mean `darshan_job`?"
        );
        let error = batches(&engine, "SELECT byte_read FROM darshan_log")
            .await
            .unwrap_err();
        assert_eq!(
            error,
            "unknown column `byte_read`; did you mean `bytes_read`?"
        );
    });
}

#[test]
fn user_is_a_column_wherever_it_stands() {
    let lake = Lake::in_memory().unwrap();
    block_on(async {
        let engine = engine(&lake, 2);
        for sql in [
            "SELECT user, count(*) FROM darshan_log WHERE user <> 'x' GROUP BY user ORDER BY user",
            "SELECT l.user, upper(USER) FROM darshan_log l",
            "WITH u AS (SELECT user FROM darshan_log) SELECT * FROM u WHERE EXISTS (SELECT 1 FROM darshan_log WHERE user = 'a')",
        ] {
            assert_eq!(ask(&engine, sql).await.len(), 0, "{sql}");
        }
        ask(&engine, "EXPLAIN SELECT user FROM darshan_log").await;
    });
}

#[test]
fn a_data_file_that_is_gone_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 3, 1, 1 << 30);
    let snapshot = lake.snapshot(None).unwrap();
    let mut files = snapshot.files().iter();
    let file = files.find(|file| file.table == "darshan_log").unwrap();
    let path = lake.root().unwrap().join(&file.path);
    let error = || {
        let asked = block_on(batches(&engine(&lake, 2), "SELECT app FROM darshan_log"));
        asked.unwrap_err()
    };
    fs::remove_file(&path).unwrap();
    let path = path.display();
    assert_eq!(
        error(),
        format!(
            "{path}: the file is gone; ask again if a vacuum removed it meanwhile, else `iolode lake check` finds what else is missing"
        )
    );
    fs::write(path.to_string(), "").unwrap();
    let told = error();
    let begin = format!("damaged data file {path} (`iolode lake check` finds all of them): ");
    assert!(told.starts_with(&begin), "{told}");
}

#[test]
fn a_data_file_that_cannot_be_opened_is_not_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path(), 3, 1, 1 << 30);
    let snapshot = lake.snapshot(None).unwrap();
    let files = snapshot.files().iter();
    let mut logs = files.filter(|file| file.table == "darshan_log");
    let path = lake.root().unwrap().join(&logs.next().unwrap().path);
    fs::remove_file(&path).unwrap();
    // Whoever runs the tests may open everything but this.
    std::os::unix::fs::symlink(&path, &path).unwrap();
    block_on(async {
        let asked = batches(&engine(&lake, 2), "SELECT app FROM darshan_log").await;
        let why = std::io::Error::from_raw_os_error(40).to_string();
        let why = why.split(" (os").next().unwrap().to_lowercase();
        let expected = format!("{}: cannot read: {why}", path.display());
        assert_eq!(asked.unwrap_err(), expected);
    });
}
