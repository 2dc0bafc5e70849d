//! A cluster of processes: its answers, who may use it, what it refuses, and executors that are killed.

use crate::cluster_processes::Cluster;
use iolode::cluster::client::ClusterRunner;
use iolode::cluster::{ConnectFile, status};
use iolode::engine::{Engine, EngineOptions, Place, runtime};
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent};
use iolode::synth::{self, Month};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

crate::tests! {
    [] => {
        answers_are_those_of_one_process_in_order_and_as_files,
        a_statement_outlives_an_executor_that_is_killed,
        a_cluster_is_closed_to_who_has_not_its_connect_file,
        what_is_wrong_with_a_cluster_is_said_in_one_line,
        a_stopped_cluster_ends_its_processes,
    }
}

/// A lake of a small month.
pub(crate) fn month(directory: &Path) -> Lake {
    let (logs, root) = (directory.join("logs"), directory.join("lake"));
    synth::write(&Month::complete(150, 7), &logs, &|_| ()).unwrap();
    let settings = std::fs::read_to_string(Month::paths(&logs).site).unwrap();
    // Ranges so small that there are several.
    let create = CreateOptions {
        range_bytes: 1 << 20,
        settings,
    };
    let lake = Lake::create(&root, &create).unwrap();
    let options = IngestOptions {
        paths: vec![logs.into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    lake
}

fn iolode(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolode"));
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The rows of a statement as CSV, in process and on a cluster.
fn both(lake: &str, file: &str, sql: &str) -> [String; 2] {
    let mut here = vec!["sql", "--lake", lake, "--format", "csv", "-v", "-c", sql];
    let in_process = iolode(&here);
    here.extend(["--cluster", file, "--cluster-above", "0"]);
    let elsewhere = iolode(&here);
    for output in [&in_process, &elsewhere] {
        assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
    }
    let said = text(&elsewhere.stderr);
    assert!(said.contains("ran on the cluster"), "{sql}: {said}");
    [in_process, elsewhere].map(|output| text(&output.stdout))
}

const STATEMENTS: [&str; 4] = [
    "SELECT app, count(*) AS n, sum(bytes_read) AS r FROM darshan_log GROUP BY app ORDER BY n DESC, app",
    "SELECT f.fs, count(*), sum(f.bytes_written) FROM darshan_file f JOIN darshan_log l USING (job_id, log_id) WHERE l.nprocs > 2 GROUP BY f.fs ORDER BY f.fs",
    "SELECT job_id, log_id, path FROM darshan_file ORDER BY path DESC, log_id, record_id LIMIT 20 OFFSET 3",
    "SELECT count(*) FROM darshan_file f LEFT JOIN slurm_job j ON j.job_id = f.job_id + 1 WHERE j.job_id IS NULL",
];

fn answers_are_those_of_one_process_in_order_and_as_files() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let cluster = Cluster::start(&[root], 2, 1);
    let (lake, file) = (root.to_str().unwrap(), cluster.file());
    let file = file.to_str().unwrap();
    for sql in STATEMENTS {
        let [here, elsewhere] = both(lake, file, sql);
        assert_eq!(here, elsewhere, "{sql}");
        assert!(here.lines().count() > 1, "{sql}");
    }
    // What is written, the client writes.
    let out = directory.path().join("apps.parquet");
    let copy = format!(
        "COPY (SELECT app, count(*) AS n FROM darshan_log GROUP BY app) TO '{}'",
        out.display()
    );
    let written = iolode(&[
        "sql",
        "--lake",
        lake,
        "--cluster",
        file,
        "--cluster-above",
        "0",
        "-c",
        &copy,
    ]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    let count =
        |sql: &str| text(&iolode(&["sql", "--lake", lake, "--format", "csv", "-c", sql]).stdout);
    assert_eq!(
        count(&format!("SELECT sum(n) AS n FROM '{}'", out.display())),
        count("SELECT count(*) AS n FROM darshan_log")
    );
    // A small statement stays at home, and says so.
    let small = iolode(&[
        "sql",
        "--lake",
        lake,
        "--cluster",
        file,
        "-v",
        "-c",
        STATEMENTS[0],
    ]);
    assert!(text(&small.stderr).contains("ran in process: its scans read "));
    // An error of the statement is what it is in process.
    let divides = "SELECT 1 / (bytes_read - bytes_read) FROM darshan_log";
    let errors = [&[][..], &["--cluster", file, "--cluster-above", "0"]].map(|more| {
        let output = iolode(&[&["sql", "--lake", lake, "-c", divides], more].concat());
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    });
    assert_eq!(errors[0], errors[1]);
    // Shuffle files go with the statements.
    let begin = Instant::now();
    while shuffle_files(cluster.directory()) > 0 {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "shuffle files stay"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn shuffle_files(directory: &Path) -> usize {
    let files = walkdir::WalkDir::new(directory).into_iter().flatten();
    files
        .filter(|file| file.path().extension().is_some_and(|of| of == "arrow"))
        .count()
}

fn a_statement_outlives_an_executor_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let lake = Arc::new(month(directory.path()));
    let root = lake.root().unwrap().to_path_buf();
    let mut cluster = Cluster::start(&[&root], 2, 1);
    let keys = ConnectFile::read(&cluster.file()).unwrap();
    let sql = "SELECT path, count(*) AS n, sum(bytes_read) AS r FROM darshan_file GROUP BY path ORDER BY path";
    let rows = |runner: Option<Arc<dyn iolode::engine::Runner>>| {
        let engine = Engine::new(EngineOptions {
            lakes: vec![("lake".into(), lake.clone(), None)],
            threads: Some(2),
            runner,
            ..EngineOptions::default()
        })
        .unwrap();
        let threads = runtime(Some(2)).unwrap();
        threads.block_on(async {
            let rows = engine.run(sql).await.unwrap();
            let place = rows.place().clone();
            let (schema, batches) = (rows.schema(), rows.collect().await.unwrap());
            (
                place,
                arrow::compute::concat_batches(&schema, &batches).unwrap(),
            )
        })
    };
    let (_, expected) = rows(None);
    let runner = Arc::new(ClusterRunner::new(keys, [lake.as_ref()], 0));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| rows(Some(runner.clone())));
        // Whatever it is about then: the one that is left answers.
        cluster.kill(0);
        let (place, batch) = asked.join().unwrap();
        assert_eq!(place, Place::Elsewhere);
        assert_eq!(batch.num_rows(), expected.num_rows());
        for (column, expected) in batch.columns().iter().zip(expected.columns()) {
            let cast = |of| arrow::compute::cast(of, &arrow::datatypes::DataType::Utf8).unwrap();
            assert_eq!(&cast(column), &cast(expected));
        }
    });
    cluster.present(1);
}

fn a_cluster_is_closed_to_who_has_not_its_connect_file() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let cluster = Cluster::start(&[lake.root().unwrap()], 1, 1);
    let keys = ConnectFile::read(&cluster.file()).unwrap();
    let threads = runtime(Some(2)).unwrap();
    assert!(threads.block_on(status(&keys)).is_ok());
    // The keys of another cluster.
    let other = ConnectFile::new(keys.scheduler.clone(), chrono::TimeDelta::days(1)).unwrap();
    let refused = threads.block_on(status(&other)).unwrap_err().to_string();
    assert!(refused.contains("no scheduler answers at"), "{refused}");
    // Without TLS, and bytes that are none: the ports go on.
    let executor = cluster.present(1).executors[0].address.clone();
    for port in [&keys.scheduler, &executor] {
        use std::io::{Read, Write};
        let connect = || std::net::TcpStream::connect(port.as_str()).unwrap();
        let mut plain = connect();
        plain
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut answer = vec![];
        let _ = plain.set_read_timeout(Some(Duration::from_secs(20)));
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"\0\0"), "HTTP/2 without TLS on {port}");
        let idle: Vec<_> = (0..200).map(|_| connect()).collect();
        assert!(threads.block_on(status(&keys)).is_ok());
        drop(idle);
    }
    // A file that others may read.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(cluster.file(), PermissionsExt::from_mode(0o644)).unwrap();
    let shown = iolode(&[
        "cluster",
        "status",
        "--connect-file",
        cluster.file().to_str().unwrap(),
    ]);
    assert!(text(&shown.stderr).ends_with("its mode must be 0600\n"));
}

fn what_is_wrong_with_a_cluster_is_said_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let other = directory.path().join("other");
    Lake::create(&other, &CreateOptions::default()).unwrap();
    let cluster = Cluster::start(&[&other], 1, 1);
    let file = cluster.file();
    let ask = |file: &Path| {
        let output = iolode(&[
            "sql",
            "--lake",
            root.to_str().unwrap(),
            "--cluster",
            file.to_str().unwrap(),
            "--cluster-above",
            "0",
            "-c",
            STATEMENTS[0],
        ]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    // An executor that does not read the lake.
    let said = ask(&file);
    assert!(
        said.contains("does not read this lake; start it with --lake"),
        "{said}"
    );
    // Nobody listens there any more.
    let ended = directory.path().join("ended.toml");
    let gone = ConnectFile::new("127.0.0.1:9".into(), chrono::TimeDelta::days(1)).unwrap();
    gone.write(&ended).unwrap();
    assert!(ask(&ended).contains("no scheduler answers at 127.0.0.1:9"));
    assert!(ask(&directory.path().join("none.toml")).contains("none.toml: cannot read"));
    let logs = iolode(&[
        "sql",
        "--logs",
        "x",
        "--cluster",
        file.to_str().unwrap(),
        "-c",
        "select 1",
    ]);
    assert!(text(&logs.stderr).contains("cannot be used with"));
}

fn a_stopped_cluster_ends_its_processes() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let mut cluster = Cluster::start(&[lake.root().unwrap()], 2, 1);
    let file = cluster.file();
    let shown = iolode(&[
        "cluster",
        "status",
        "--connect-file",
        file.to_str().unwrap(),
    ]);
    assert!(text(&shown.stdout).contains("2 executors, 2 cores, 0 queries running"));
    let stopped = iolode(&["cluster", "stop", "--connect-file", file.to_str().unwrap()]);
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    cluster.ended();
}
