//! A cluster of processes: its answers, who may use it, what it refuses, and executors that are killed.

use crate::cluster_processes::{Cluster, wait};
use iolode::cluster::client::ClusterRunner;
use iolode::cluster::{ConnectFile, status};
use iolode::engine::{Engine, EngineOptions, Place, runtime};
use iolode::lake::{CreateOptions, IngestOptions, Lake, Silent};
use iolode::synth::{self, Month};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

crate::tests! {
    [] => {
        answers_are_those_of_one_process_in_order_and_as_files,
        a_statement_outlives_an_executor_that_is_killed,
        a_cluster_is_closed_to_who_has_not_its_connect_file,
        what_is_wrong_with_a_cluster_is_said_in_one_line,
        a_stopped_cluster_ends_its_processes,
        a_stopped_cluster_finishes_its_statements,
        an_ingest_on_a_cluster_makes_the_lake_that_one_process_makes,
        a_statement_waits_for_a_late_executor_and_a_scheduler_may_be_restarted,
        a_statement_that_is_interrupted_ends_on_the_cluster_too,
        a_statement_that_is_sent_again_says_so,
        a_scheduler_says_that_it_makes_new_keys,
        a_work_directory_that_takes_no_file_fails_the_statement_alone,
        a_scheduler_that_hangs_is_said_to_and_executors_that_were_killed_leave_nothing,
        memory_that_does_not_suffice_is_that_of_the_executor,
        a_join_that_does_not_fit_into_an_executor_is_asked_for_again,
    }
    [Strace] => {
        executors_read_the_files_of_their_own_osts,
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

/// A statement on a cluster, however little it reads.
fn elsewhere(lake: &str, file: &str, sql: &str) -> Output {
    iolode(&[
        "sql",
        "--lake",
        lake,
        "--cluster",
        file,
        "--cluster-above",
        "0",
        "-c",
        sql,
    ])
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

const STATEMENTS: [&str; 8] = [
    "SELECT app, count(*) AS n, sum(bytes_read) AS r FROM darshan_log GROUP BY app ORDER BY n DESC, app",
    "SELECT f.fs, count(*), sum(f.bytes_written) FROM darshan_file f JOIN darshan_log l USING (job_id, log_id) WHERE l.nprocs > 2 GROUP BY f.fs ORDER BY f.fs",
    "SELECT job_id, log_id, path FROM darshan_file ORDER BY path DESC, log_id, record_id LIMIT 20 OFFSET 3",
    "SELECT count(*) FROM darshan_file f LEFT JOIN slurm_job j ON j.job_id = f.job_id + 1 WHERE j.job_id IS NULL",
    // Windows by keys that are one value, or that a join makes equal: behind a shuffle nobody knows that they are.
    "SELECT log_id, count(*) OVER (PARTITION BY k, nprocs) AS n FROM (SELECT 'a' AS k, log_id, nprocs FROM darshan_log) ORDER BY 1",
    "SELECT log_id, row_number() OVER (PARTITION BY k ORDER BY log_id) AS n FROM (SELECT 'a' AS k, log_id FROM darshan_log) ORDER BY 1",
    "SELECT log_id, rank() OVER (PARTITION BY nprocs ORDER BY k, log_id) AS n FROM (SELECT 'a' AS k, log_id, nprocs FROM darshan_log) ORDER BY 1",
    "SELECT f.log_id, f.record_id, sum(f.bytes_read) OVER (PARTITION BY f.log_id, l.log_id, f.record_id) AS n FROM darshan_file f JOIN darshan_log l ON f.log_id = l.log_id WHERE l.nprocs > 8 ORDER BY 1, 2",
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
    let written = elsewhere(lake, file, &copy);
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
    exports_are_those_of_one_process(directory.path(), lake, file);
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

/// An export on a cluster has the rows of one in process, as a lake and as one answer.
fn exports_are_those_of_one_process(directory: &Path, lake: &str, file: &str) {
    let query = "SELECT app, count(*) AS n FROM darshan_log GROUP BY app ORDER BY app";
    let on_cluster = ["--cluster", file, "--cluster-above", "0"];
    let made = [("here", &[][..]), ("there", &on_cluster[..])].map(|(name, more)| {
        let to = directory.join(name);
        let to = to.to_str().unwrap();
        let answer = format!("{to}.csv");
        let export = ["export", "--lake", lake, "--where", "nprocs > 2", "--to"];
        let one = ["--format", "csv", "--query", query];
        for arguments in [
            [&export[..], &[to], more].concat(),
            [&export[..], &[&answer], &one, more].concat(),
        ] {
            let output = iolode(&arguments);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        let rows = ["sql", "--lake", to, "--format", "csv", "-c", query];
        let rows = text(&iolode(&rows).stdout);
        assert_eq!(rows, std::fs::read_to_string(answer).unwrap());
        rows
    });
    assert_eq!(made[0], made[1]);
    assert!(made[0].lines().count() > 2);
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
    let runner = Arc::new(ClusterRunner::new(keys, [lake.as_ref()], Some(0)));
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
    // Of the first try nothing is left, either.
    wait(|| (shuffle_files(cluster.directory()) == 0).then_some(()));
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
    assert!(
        refused.contains("is of another cluster than the connect file"),
        "{refused}"
    );
    // A thousand connections need as many files here.
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
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
        let idle: Vec<_> = (0..1000).map(|_| connect()).collect();
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

/// Seconds of work.
const LONG: &str = "SELECT count(*) AS n FROM darshan_file a JOIN darshan_file b ON a.bytes_read + b.record_id > a.record_id + b.bytes_read";

fn a_stopped_cluster_finishes_its_statements() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 2, 1);
    let (lake, file) = (root.to_str().unwrap(), cluster.file());
    let file = file.to_str().unwrap();
    let [here, there] = std::thread::scope(|scope| {
        let asked = scope.spawn(|| both(lake, file, LONG));
        cluster.queries(1);
        let stopped = iolode(&["cluster", "stop", "--connect-file", file]);
        assert!(stopped.status.success(), "{}", text(&stopped.stderr));
        asked.join().unwrap()
    });
    assert_eq!(here, there);
    cluster.ended();
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
    let before = std::fs::read(&file).unwrap();
    let second = iolode(&[
        "cluster",
        "scheduler",
        "--bind",
        "127.0.0.1:0",
        "--connect-file",
        file.to_str().unwrap(),
    ]);
    let why = text(&second.stderr);
    assert!(why.contains("runs already"), "{why}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let stopped = iolode(&["cluster", "stop", "--connect-file", file.to_str().unwrap()]);
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    cluster.ended();
    // A report ends with the first question that nobody answers, and does not wait for the same with each.
    let (root, file) = (lake.root().unwrap(), file.to_str().unwrap().to_string());
    let asked = ["report", "weekly", "--lake", root.to_str().unwrap()];
    let gone = iolode(&[&asked[..], &["--cluster", &file, "--cluster-above", "0"]].concat());
    let why = text(&gone.stderr);
    assert_eq!(
        (gone.status.code(), text(&gone.stdout)),
        (Some(2), String::new())
    );
    assert!(
        why.starts_with("iolode: no scheduler answers at ") && why.lines().count() == 1,
        "{why}"
    );
}

/// A lake whose ranges lie in four directories, and those.
fn placed(directory: &Path) -> (Lake, Vec<PathBuf>) {
    let (logs, root) = (directory.join("logs"), directory.join("lake"));
    synth::write(&Month::complete(150, 7), &logs, &|_| ()).unwrap();
    let disks: Vec<PathBuf> = (0..4).map(|n| directory.join(format!("disk{n}"))).collect();
    let list: Vec<String> = disks.iter().map(|disk| format!("{disk:?}")).collect();
    let create = CreateOptions {
        range_bytes: 1 << 20,
        settings: format!(
            "place = {{ kind = \"dirs\", dirs = [{}] }}\n",
            list.join(", ")
        ),
    };
    let lake = Lake::create(&root, &create).unwrap();
    let options = IngestOptions {
        paths: vec![logs.into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    (lake, disks)
}

/// The numbers of a list such as `0 to 2, 5`.
fn numbers(list: &str) -> Vec<usize> {
    let number = |text: &str| text.trim().parse::<usize>().unwrap();
    let parts = list.split(',').map(|part| match part.split_once(" to ") {
        Some((first, last)) => (number(first)..=number(last)).collect(),
        None => vec![number(part)],
    });
    parts.flatten().collect()
}

fn executors_read_the_files_of_their_own_osts() {
    let directory = tempfile::tempdir().unwrap();
    let (lake, disks) = placed(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 0, 1);
    let traces: Vec<PathBuf> = (0..2)
        .map(|n| directory.path().join(format!("trace{n}")))
        .collect();
    for trace in &traces {
        cluster.add_traced(&[root], trace);
    }
    cluster.present(2);
    let file = cluster.file();
    let sql = "EXPLAIN ANALYZE SELECT path, sum(bytes_read) FROM darshan_file GROUP BY path";
    let shown = iolode(&[
        "sql",
        "--lake",
        root.to_str().unwrap(),
        "--format",
        "json",
        "--cluster",
        file.to_str().unwrap(),
        "--cluster-above",
        "0",
        "-c",
        sql,
    ]);
    let shown = text(&shown.stdout);
    let stage = shown
        .split("StageExec: ")
        .find(|stage| stage.contains("owners=["));
    let stage = stage.unwrap_or_else(|| panic!("{shown}"));
    assert!(stage.contains("percent_read_by_owners=100"), "{stage}");
    let (_, owners) = stage.split_once("owners=[").unwrap();
    let (owners, _) = owners.split_once(']').unwrap();
    // strace has written all of its file when the executor has ended.
    let stopped = iolode(&["cluster", "stop", "--connect-file", file.to_str().unwrap()]);
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    cluster.ended();
    let mut said: Vec<BTreeSet<usize>> = owners
        .split("; ")
        .map(|owner| {
            let partitions = owner.rsplit_once("partitions ").unwrap().1;
            numbers(partitions).into_iter().collect()
        })
        .collect();
    said.sort();
    // What each opened, by the numbers of the ranges, which are those of the partitions.
    let opened = |trace: &PathBuf| -> BTreeSet<usize> {
        let trace = std::fs::read_to_string(trace).unwrap();
        let table = trace.split("/darshan_file/").skip(1);
        table
            .filter_map(|rest| rest.get(..6)?.parse().ok())
            .collect()
    };
    let seen = wait(|| {
        let mut seen: Vec<BTreeSet<usize>> = traces.iter().map(opened).collect();
        seen.sort();
        let all = seen.iter().map(BTreeSet::len).sum::<usize>();
        (all >= said.iter().map(BTreeSet::len).sum()).then_some(seen)
    });
    assert_eq!(seen, said);
    // Of two executors each has two directories, whole.
    let of = |directory: &Path| -> BTreeSet<usize> {
        let files = walkdir::WalkDir::new(directory).into_iter().flatten();
        let files = files.filter(|file| file.path().to_string_lossy().contains("/darshan_file/"));
        files
            .map(|file| file.file_name().to_str().unwrap()[..6].parse().unwrap())
            .collect()
    };
    for disk in &disks {
        let ranges = of(disk);
        assert!(!ranges.is_empty());
        assert!(
            seen.iter().any(|opened| ranges.is_subset(opened)),
            "{disk:?}"
        );
    }
}

/// All rows of the tables of a lake, as text.
fn everything(root: &str) -> Vec<String> {
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_name NOT LIKE 'lake_%' ORDER BY 1";
    let rows = |sql: &str| {
        let output = iolode(&["sql", "--lake", root, "--format", "csv", "-c", sql]);
        assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let tables = rows(tables);
    let tables = tables.lines().skip(1);
    tables
        .map(|table| {
            format!(
                "{table}: {}",
                rows(&format!("SELECT * FROM {table} ORDER BY ALL"))
            )
        })
        .collect()
}

fn an_ingest_on_a_cluster_makes_the_lake_that_one_process_makes() {
    let directory = tempfile::tempdir().unwrap();
    let expected = month(directory.path());
    let logs = directory.path().join("logs");
    let root = directory.path().join("again");
    let create = CreateOptions {
        range_bytes: 1 << 20,
        settings: std::fs::read_to_string(Month::paths(&logs).site).unwrap(),
    };
    Lake::create(&root, &create).unwrap();
    let mut cluster = Cluster::start(&[&root], 2, 1);
    let (root, file) = (root.to_str().unwrap(), cluster.file());
    let ingest = || {
        let logs = logs.to_str().unwrap();
        iolode(&[
            "ingest",
            "--lake",
            root,
            "--cluster",
            file.to_str().unwrap(),
            "--darshan",
            logs,
            "--slurm",
            logs,
            "--lmt",
            logs,
            "--analyze",
            "mosaic",
        ])
    };
    // Executors derive rows as they read logs; here the same rows are derived of the lake.
    let here = expected.root().unwrap().to_str().unwrap();
    let analyzed = iolode(&["analyze", "mosaic", "--lake", here]);
    assert!(analyzed.status.success(), "{}", text(&analyzed.stderr));
    // One that is killed in it costs no log.
    let ingested = std::thread::scope(|scope| {
        let ingested = scope.spawn(ingest);
        cluster.kill(0);
        ingested.join().unwrap()
    });
    // Some logs of the month are damaged, and are said to be.
    let said = text(&ingested.stderr);
    assert!(matches!(ingested.status.code(), Some(0 | 1)), "{said}");
    let (here, there) = (
        everything(expected.root().unwrap().to_str().unwrap()),
        everything(root),
    );
    assert!(
        here.iter()
            .filter(|table| table.lines().count() > 2)
            .count()
            > 8
    );
    for (here, there) in here.iter().zip(&there) {
        assert!(
            here == there,
            "{} is another",
            here.split(':').next().unwrap()
        );
    }
    assert_eq!(here.len(), there.len());
    let checked = iolode(&["lake", "check", root]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    // There is nothing new.
    let again = ingest();
    assert!(
        text(&again.stderr).contains("nothing new"),
        "{}",
        text(&again.stderr)
    );
}

fn a_statement_waits_for_a_late_executor_and_a_scheduler_may_be_restarted() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 0, 1);
    let (lake, file) = (root.to_str().unwrap(), cluster.file());
    let file = file.to_str().unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| both(lake, file, STATEMENTS[0]));
        cluster.add(&[root], 1, &[]);
        let [here, there] = asked.join().unwrap();
        assert_eq!(here, there);
    });
    cluster.restart_scheduler();
    // Its executor finds it again.
    cluster.present(1);
    let [here, there] = both(lake, file, STATEMENTS[1]);
    assert_eq!(here, there);
}

fn a_statement_that_is_interrupted_ends_on_the_cluster_too() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let cluster = Cluster::start(&[root], 1, 1);
    let (lake, file) = (root.to_str().unwrap(), cluster.file());
    let file = file.to_str().unwrap();
    // Days of work, with rows that are compared and rows that are added up: the task that writes what comes of them is not the one that is given up.
    for long in [
        "SELECT count(*) FROM darshan_file a JOIN darshan_file b ON a.bytes_read + b.record_id > a.record_id + b.bytes_read JOIN darshan_file c ON a.bytes_read + c.record_id > b.bytes_read + c.bytes_written",
        "SELECT a.fs, sum(CASE WHEN a.bytes_read > b.bytes_read THEN c.bytes_read ELSE 0 END) FROM darshan_file a CROSS JOIN darshan_file b CROSS JOIN darshan_file c GROUP BY a.fs",
    ] {
        is_interrupted(&cluster, lake, file, long);
    }
    // Its only core is free again.
    let [here, there] = both(lake, file, STATEMENTS[0]);
    assert_eq!(here, there);
    wait(|| (shuffle_files(cluster.directory()) == 0).then_some(()));
}

fn a_statement_that_is_sent_again_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 2, 1);
    let file = cluster.file();
    let (lake, file) = (root.to_str().unwrap(), file.to_str().unwrap());
    // Days of work.
    let long = "SELECT count(*) FROM darshan_file a JOIN darshan_file b ON a.bytes_read + b.record_id > a.record_id + b.bytes_read JOIN darshan_file c ON a.bytes_read + c.record_id > b.bytes_read + c.bytes_written";
    let mut asked = ask(lake, file, long);
    cluster.queries(1);
    cluster.busy();
    cluster.kill(0);
    let mut said = String::new();
    let mut stderr = BufReader::new(asked.stderr.take().unwrap());
    stderr.read_line(&mut said).unwrap();
    assert!(said.starts_with("note: "), "{said}");
    assert!(said.ends_with("; the statement is sent again\n"), "{said}");
    assert_eq!(interrupted(&mut asked), Some(130));
    cluster.queries(0);
}

fn a_scheduler_says_that_it_makes_new_keys() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let expired = ConnectFile::new("127.0.0.1:1".into(), chrono::TimeDelta::seconds(-5)).unwrap();
    expired.write(&file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolode"));
    command.args(["cluster", "scheduler", "--bind", "127.0.0.1:0"]);
    command.arg("--connect-file").arg(&file);
    let mut scheduler = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(scheduler.stderr.take().unwrap()).lines();
    let said: Vec<String> = lines.take(2).map(Result::unwrap).collect();
    scheduler.kill().unwrap();
    scheduler.wait().unwrap();
    let expected = format!(
        "{}: its keys expired at {}; it gets new keys, and executors and clients need the new file",
        file.display(),
        expired.valid_until
    );
    // After the time.
    assert!(said[0].ends_with(&expected), "{said:?}");
    let keys = ConnectFile::read(&file).unwrap();
    assert!(said[1].contains(&keys.scheduler), "{said:?}");
}

/// Ends a statement while it runs on a cluster, and waits until its executors do nothing.
fn is_interrupted(cluster: &Cluster, lake: &str, file: &str, long: &str) {
    let mut asked = ask(lake, file, long);
    cluster.queries(1);
    cluster.busy();
    assert_eq!(interrupted(&mut asked), Some(130));
    cluster.queries(0);
    cluster.idle();
}

/// Asks a cluster, and does not wait.
fn ask(lake: &str, file: &str, sql: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolode"));
    command.args([
        "sql",
        "--lake",
        lake,
        "--cluster",
        file,
        "--cluster-above",
        "0",
        "-c",
        sql,
    ]);
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends SIGINT: the exit code.
fn interrupted(asked: &mut Child) -> Option<i32> {
    let pid = rustix::process::Pid::from_child(asked);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    asked.wait().unwrap().code()
}

fn a_work_directory_that_takes_no_file_fails_the_statement_alone() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 1, 1);
    let (lake, file) = (root.to_str().unwrap(), cluster.file());
    let file = file.to_str().unwrap();
    let work: Vec<PathBuf> = std::fs::read_dir(cluster.directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    let [work] = &work[..] else {
        panic!("{work:?}");
    };
    std::fs::remove_dir_all(work).unwrap();
    // A file in its place takes none.
    std::fs::write(work, "").unwrap();
    let failed = elsewhere(lake, file, STATEMENTS[0]);
    let said = text(&failed.stderr);
    assert_eq!(
        (failed.status.code(), said.lines().count()),
        (Some(2), 1),
        "{said}"
    );
    std::fs::remove_file(work).unwrap();
    std::fs::create_dir(work).unwrap();
    let [here, there] = both(lake, file, STATEMENTS[0]);
    assert_eq!(here, there);
    cluster.present(1);
    cluster.kill(0);
}

fn a_scheduler_that_hangs_is_said_to_and_executors_that_were_killed_leave_nothing() {
    use rustix::process::Signal;
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 1, 1);
    let file = cluster.file();
    cluster.signal_scheduler(Signal::STOP);
    let hangs = iolode(&[
        "cluster",
        "status",
        "--connect-file",
        file.to_str().unwrap(),
    ]);
    cluster.signal_scheduler(Signal::CONT);
    let said = text(&hangs.stderr);
    assert!(said.contains("no scheduler answers at"), "{said}");
    // What an executor that is killed cannot remove, the next one does.
    cluster.present(1);
    let directories = |cluster: &Cluster| {
        let entries = std::fs::read_dir(cluster.directory()).unwrap();
        let entries = entries.filter(|entry| entry.as_ref().unwrap().path().is_dir());
        entries.count()
    };
    assert_eq!(directories(&cluster), 1);
    cluster.kill(0);
    assert_eq!(directories(&cluster), 1);
    cluster.add(&[root], 1, &[]);
    cluster.present(1);
    assert_eq!(directories(&cluster), 1);
}

fn memory_that_does_not_suffice_is_that_of_the_executor() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 0, 1);
    cluster.add(&[root], 1, &["--memory", "64KiB"]);
    cluster.present(1);
    let sql = "SELECT path, count(DISTINCT log_id) FROM darshan_file GROUP BY path ORDER BY path";
    let file = cluster.file();
    let failed = elsewhere(root.to_str().unwrap(), file.to_str().unwrap(), sql);
    let said = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the query needs more than the executor at 127.0.0.1:"),
        "{said}"
    );
}

fn a_join_that_does_not_fit_into_an_executor_is_asked_for_again() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let mut cluster = Cluster::start(&[root], 0, 2);
    cluster.add(&[root], 2, &["--memory", "24MiB"]);
    cluster.present(1);
    let values = "SELECT log_id, unnest(range(0, 12000)) AS v FROM darshan_log";
    let sql = format!(
        "SELECT count(*) = 12000 * (SELECT count(*) FROM darshan_log) AS n, sum(a.v) = 71994000 * (SELECT count(*) FROM darshan_log) AS s \
         FROM ({values}) a JOIN ({values}) b ON a.log_id = b.log_id AND a.v = b.v"
    );
    let file = cluster.file();
    let (root, file) = (root.to_str().unwrap(), file.to_str().unwrap());
    let answer = iolode(&[
        "sql",
        "--lake",
        root,
        "--cluster",
        file,
        "--cluster-above",
        "0",
        "--threads",
        "2",
        "--format",
        "csv",
        "-v",
        "-c",
        &sql,
    ]);
    let said = text(&answer.stderr);
    assert!(answer.status.success(), "{said}");
    assert_eq!(text(&answer.stdout), "n,s\ntrue,true\n");
    assert!(
        said.contains("run a second time, with sort-merge joins"),
        "{said}"
    );
    assert!(said.contains("ran on the cluster"), "{said}");
}
