//! What a cluster refuses that is sent with its keys, past the client.

use super::connect_file::ConnectFile;
use super::control::status;
use super::executor::{self, ExecutorOptions};
use super::job::Job;
use super::parts::encode;
use super::scheduler;
use super::session;
use super::stage_exec::Figures;
use super::tls;
use crate::engine::parts::{NO_LAKE, for_cluster, runtime, session_state, text_of};
use crate::lake::{CreateOptions, IngestOptions, Lake, Silent};
use crate::synth::{self, Month};
use crate::table::table;
use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::serde::protobuf::ExecuteQueryParams;
use ballista_core::serde::protobuf::KeyValuePair;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use chrono::TimeDelta;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::config::TableParquetOptions;
use datafusion::datasource::file_format::parquet::ParquetSink;
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{
    CsvSource, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::physical_plan::{FileGroup, FileOutputMode, FileSinkConfig};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use futures::TryStreamExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::Code;

/// A scheduler and an executor of one core in this process, which reads one lake.
struct Local {
    threads: Runtime,
    keys: ConnectFile,
    directory: tempfile::TempDir,
}

impl Local {
    /// With keys that hold for so long.
    fn start(valid: TimeDelta) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lake = lake(&directory.path().join("lake"), 3);
        let threads = crate::engine::runtime(Some(2)).unwrap();
        let keys = threads.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let keys = ConnectFile::new(address.to_string(), valid).unwrap();
            tokio::spawn(scheduler::serve(
                listener,
                keys.clone(),
                Arc::new(|_| ()),
                std::future::pending(),
            ));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let options = ExecutorOptions {
                lakes: vec![lake],
                derived: &[],
                cores: 1,
                osts: None,
                memory: None,
                work_dir: directory.path().into(),
                host: "127.0.0.1".into(),
            };
            tokio::spawn(executor::run(
                listener,
                keys.clone(),
                options,
                std::future::pending(),
            ));
            keys
        });
        Self {
            threads,
            keys,
            directory,
        }
    }

    /// A data file of a table of the lake in a directory.
    fn data_file(&self, lake: &str, of: &str) -> PathBuf {
        let directory = self.directory.path().join(lake).join(of);
        let mut files = std::fs::read_dir(directory).unwrap();
        files.next().unwrap().unwrap().path()
    }

    fn settings(&self) -> Vec<KeyValuePair> {
        let state = session_state(2, None, NO_LAKE, runtime(2, None).unwrap());
        let state = for_cluster(state, 2, |config| session::configure(config, &self.keys));
        state.config().to_key_value_pairs()
    }

    /// A plan that is sent as it is.
    fn job(&self, plan: &Arc<dyn ExecutionPlan>) -> Job {
        Job {
            keys: Arc::new(self.keys.clone()),
            plan: encode(plan).unwrap(),
            settings: self.settings(),
            figures: Figures::default(),
            resent: Arc::default(),
        }
    }

    /// The rows of a plan that is sent as it is.
    fn send(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<usize> {
        let job = self.job(plan);
        self.threads.block_on(async {
            let rows: Vec<RecordBatch> = job.rows().await?.try_collect().await?;
            Ok(rows.iter().map(RecordBatch::num_rows).sum())
        })
    }

    /// How a plan is refused.
    fn refused(&self, plan: &Arc<dyn ExecutionPlan>) -> String {
        text_of(&self.send(plan).unwrap_err())
    }
}

/// A lake of a small month of this seed.
fn lake(root: &Path, seed: u64) -> Lake {
    let logs = root.with_extension("logs");
    synth::write(&Month::complete(20, seed), &logs, &|_| ()).unwrap();
    let lake = Lake::create(root, &CreateOptions::default()).unwrap();
    let options = IngestOptions {
        paths: vec![logs.into()],
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).unwrap();
    lake
}

/// A scan of a file by a reader of some format.
fn scan(
    path: &Path,
    source: impl FnOnce(TableSchema) -> Arc<dyn FileSource>,
) -> Arc<dyn ExecutionPlan> {
    let schema = TableSchema::from(table("darshan_log").unwrap().schema.clone());
    let bytes = std::fs::metadata(path).map_or(1, |metadata| metadata.len());
    let file = PartitionedFile::new(path.to_string_lossy(), bytes);
    let scan = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source(schema));
    DataSourceExec::from_data_source(scan.with_file(file).build())
}

fn parquet(path: &Path) -> Arc<dyn ExecutionPlan> {
    scan(path, |schema| Arc::new(ParquetSource::new(schema)))
}

#[test]
fn a_plan_made_by_hand_reads_data_files_of_the_executors_lakes_alone() {
    let cluster = Local::start(TimeDelta::days(1));
    let ours = cluster.data_file("lake", "darshan_log");
    assert!(cluster.send(&parquet(&ours)).unwrap() > 0);
    assert!(
        cluster
            .refused(&parquet(Path::new("/etc/passwd")))
            .contains("not a data file of a lake")
    );
    // Another lake, under a path that is right and one that climbs out of ours.
    lake(&cluster.directory.path().join("other"), 4);
    let other = cluster.data_file("other", "darshan_log");
    let outside = "not a data file of a lake that this executor was started with";
    assert!(cluster.refused(&parquet(&other)).contains(outside));
    let up = cluster.directory.path().join("lake/../other/darshan_log");
    let up = up.join(other.file_name().unwrap());
    let refused = cluster.refused(&parquet(&up));
    assert!(!refused.is_empty());
    // A link in the lake that leads out of it.
    let link = ours.with_file_name("link.parquet");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    assert!(cluster.refused(&parquet(&link)).contains(outside));
    // Ours is read still.
    assert!(cluster.send(&parquet(&ours)).unwrap() > 0);
}

#[test]
fn a_plan_made_by_hand_has_the_nodes_of_queries_alone() {
    let cluster = Local::start(TimeDelta::days(1));
    let ours = parquet(&cluster.data_file("lake", "darshan_log"));
    let passwd = scan(Path::new("/etc/passwd"), |schema| {
        Arc::new(CsvSource::new(schema))
    });
    assert!(
        cluster
            .refused(&passwd)
            .contains("executors read Parquet files of lakes")
    );
    // Deep in a plan, too.
    let both = UnionExec::try_new(vec![ours.clone(), passwd]).unwrap();
    assert!(
        cluster
            .refused(&both)
            .contains("executors read Parquet files of lakes")
    );
    // One that would write a file.
    let out = cluster.directory.path().join("written.parquet");
    let sink = FileSinkConfig {
        original_url: String::new(),
        object_store_url: ObjectStoreUrl::local_filesystem(),
        file_group: FileGroup::new(vec![]),
        table_paths: vec![ListingTableUrl::parse(out.to_string_lossy()).unwrap()],
        output_schema: ours.schema(),
        table_partition_cols: vec![],
        insert_op: InsertOp::Append,
        keep_partition_by_columns: false,
        file_extension: "parquet".into(),
        file_output_mode: FileOutputMode::SingleFile,
    };
    let sink = Arc::new(ParquetSink::new(sink, TableParquetOptions::default()));
    let writes: Arc<dyn ExecutionPlan> = Arc::new(DataSinkExec::new(ours, sink, None));
    let refused = cluster.refused(&writes);
    assert!(
        refused.contains("a plan with DataSinkExec does not run on a cluster"),
        "{refused}"
    );
    assert!(!out.exists());
}

#[test]
fn bytes_that_are_no_plan_are_refused_and_harm_nobody() {
    let cluster = Local::start(TimeDelta::days(1));
    let ours = parquet(&cluster.data_file("lake", "darshan_log"));
    let plan = encode(&ours).unwrap();
    let settings = cluster.settings();
    let channel = cluster
        .threads
        .block_on(async { tls::scheduler(&cluster.keys) });
    let client = SchedulerGrpcClient::with_interceptor(channel.unwrap(), tls::with_version);
    let send = |plan: Vec<u8>| {
        let query = ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(plan)),
            settings: settings.clone(),
            session_id: String::new(),
            operation_id: String::new(),
        };
        let mut client = client.clone();
        let sent = async { client.execute_query_push(query).await.map(|_| ()) };
        cluster.threads.block_on(sent)
    };
    // Cut at all places, and with each byte changed: an error, or by chance another plan, which may run.
    for at in (0..plan.len()).step_by(31) {
        assert!(send(plan[..at].to_vec()).is_err() || at == 0, "{at}");
        let mut changed = plan.clone();
        changed[at] ^= 0x55;
        let _ = send(changed);
    }
    let refused = send(vec![0xff; 1 << 20]).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(cluster.send(&ours).unwrap() > 0);
}

#[test]
fn a_program_of_another_version_is_refused_in_one_line() {
    let cluster = Local::start(TimeDelta::days(1));
    let refused = cluster.threads.block_on(async {
        let channel = tls::scheduler(&cluster.keys).unwrap();
        let mut client = SchedulerGrpcClient::new(channel);
        let mut query = tonic::Request::new(ExecuteQueryParams::default());
        let version = "0.0.1".parse().unwrap();
        query.metadata_mut().insert("iolode-version", version);
        client.execute_query_push(query).await.map(|_| ())
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        refused.message(),
        format!("this is a cluster of iolode {version}, not of 0.0.1")
    );
}

#[test]
fn a_plan_that_nobody_takes_is_sent_again_which_is_counted() {
    let cluster = Local::start(TimeDelta::days(1));
    let mut job = cluster.job(&parquet(&cluster.data_file("lake", "darshan_log")));
    // A port that was free and that nobody listens on.
    let free = cluster.threads.block_on(TcpListener::bind("127.0.0.1:0"));
    let free = free.unwrap().local_addr().unwrap();
    job.keys = Arc::new(cluster.keys.clone().at(free.to_string()));
    let resent = job.resent.clone();
    let sent = cluster
        .threads
        .spawn(async { job.rows().await.map(|_| ()) });
    while resent.load(Ordering::Relaxed) == 0 {
        assert!(!sent.is_finished());
        std::thread::yield_now();
    }
    sent.abort();
}

#[test]
fn keys_that_have_expired_open_nothing() {
    // A client that keeps the keys of a connect file, whose date it does not look at.
    let cluster = Local::start(TimeDelta::seconds(-1));
    let refused = cluster.threads.block_on(status(&cluster.keys));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("have expired"), "{refused}");
}
