//! A plan sent to a cluster, and its rows.

use super::connect_file::ConnectFile;
use super::connections::Connections;
use super::control::{self, unreachable};
use super::failure;
use super::service::LOST;
use super::session::MESSAGE_MAX;
use super::stage_exec::Figures;
use super::tls;
use crate::engine::parts::{external, text_of};
use crate::error::Error;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    ExecuteQueryParams, GetJobStatusResult, KeyValuePair, PartitionLocation, job_status,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use futures::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tonic::{Code, Request, Status, Streaming};

/// How often a job is sent before its failure is the statement's.
const ATTEMPTS: usize = 3;

/// Time in which a scheduler takes a plan that is alive.
const ANSWER: Duration = Duration::from_secs(20);

/// How long a job waits for a scheduler that is restarted.
const RESTART: Duration = Duration::from_secs(30);

/// Time between attempts.
const WAIT: Duration = Duration::from_secs(1);

/// A plan, as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) keys: Arc<ConnectFile>,
    pub(crate) plan: Vec<u8>,
    pub(crate) settings: Vec<KeyValuePair>,
    /// Where what its stages have done is noted, once all its rows are there.
    pub(crate) figures: Figures,
    /// Counts how often it is sent once more.
    pub(crate) resent: Arc<AtomicUsize>,
}

/// Why a job gave no rows.
enum Failed {
    /// The statement is at fault: it would be again.
    Statement(DataFusionError),
    /// A process of the cluster was lost.
    Cluster(String),
    /// The scheduler does not answer.
    Scheduler(String),
}

impl From<Failed> for DataFusionError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Statement(error) => error,
            Failed::Cluster(why) | Failed::Scheduler(why) => external(Error::Invalid(why)),
        }
    }
}

impl Job {
    /// Runs the plan, and gives the rows of its partitions one partition after the other. A job that loses a process of the cluster is sent again, as long as no row was given.
    ///
    /// The job lasts as long as the stream: dropping it cancels what still runs and removes the shuffle files.
    ///
    /// # Errors
    /// Those of the query; [`DataFusionError::External`] with our own error if the cluster cannot be reached.
    pub(crate) async fn rows(self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let mut attempts = 1;
        let mut reached = Instant::now();
        let mut warned = String::new();
        loop {
            let why = match self.attempt().await {
                Err(Failed::Cluster(why)) if attempts < ATTEMPTS => {
                    attempts += 1;
                    reached = Instant::now();
                    why
                }
                // It may be restarted meanwhile.
                Err(Failed::Scheduler(why)) if reached.elapsed() < RESTART => why,
                done => return Ok(done?),
            };
            // A scheduler that is waited for is named once.
            if why != warned {
                log::warn!("{why}; the statement is sent again");
                warned = why;
            }
            self.resent.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(WAIT).await;
        }
    }

    /// Runs the plan until its first rows are there.
    async fn attempt(&self) -> Result<BoxStream<'static, Result<RecordBatch>>, Failed> {
        let mut rows = self.run().await?;
        let first = match rows.next().await {
            Some(Err(error)) => return Err(lost(&error)),
            first => first,
        };
        let rest = rows.map_err(|error| DataFusionError::from(lost(&error)));
        Ok(futures::stream::iter(first).chain(rest).boxed())
    }

    /// Notes what the stages of the job have done. It is for EXPLAIN ANALYZE alone, so a failure costs no rows.
    async fn note_figures(&self, id: &str) {
        match control::figures(&self.keys, id).await {
            Ok(figures) => *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures,
            Err(why) => log::warn!("{why}"),
        }
    }

    async fn run(&self) -> Result<Rows, Failed> {
        let failed = |status: Status| match status.code() {
            Code::InvalidArgument | Code::FailedPrecondition => {
                Failed::Statement(external(unreachable(&self.keys, &status)))
            }
            _ => Failed::Scheduler(unreachable(&self.keys, &status).to_string()),
        };
        let channel = tls::scheduler(&self.keys).map_err(|e| Failed::Statement(external(e)))?;
        let mut scheduler = SchedulerGrpcClient::with_interceptor(channel, tls::with_version)
            .max_decoding_message_size(MESSAGE_MAX)
            .max_encoding_message_size(MESSAGE_MAX);
        let query = ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(self.plan.clone())),
            settings: self.settings.clone(),
            session_id: uuid::Uuid::new_v4().to_string(),
            operation_id: uuid::Uuid::new_v4().to_string(),
        };
        let statuses = scheduler.execute_query_push(Request::new(query));
        let silent = |_| Status::unavailable("it takes no queries");
        let statuses = tokio::time::timeout(ANSWER, statuses).await;
        let statuses = statuses.map_err(silent).flatten();
        let mut statuses = statuses.map_err(failed)?.into_inner();
        let (id, locations) = finished(&mut statuses).await?;
        let endpoint = BallistaConfigGrpcEndpoint::new(tls::override_endpoint(&self.keys));
        let endpoint = Arc::new(endpoint);
        let connections = Arc::new(Connections::default());
        let rows = futures::stream::iter(locations)
            .map(move |location| Ok(fetch(location, connections.clone(), endpoint.clone())))
            // The next is asked for while one is read.
            .try_buffered(2)
            .try_flatten();
        // After the last row, and before the scheduler forgets the job.
        let job = self.clone();
        let noted = futures::stream::once(async move { job.note_figures(&id).await });
        let rows = rows.chain(noted.filter_map(async |()| None)).boxed();
        Ok(Rows {
            rows,
            _job: statuses,
        })
    }
}

/// The rows of a job, and what keeps it: the scheduler removes its files when this is gone.
struct Rows {
    rows: BoxStream<'static, Result<RecordBatch>>,
    _job: Streaming<GetJobStatusResult>,
}

impl Stream for Rows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.poll_next_unpin(context)
    }
}

/// The id of the job, and where the rows are, once all stages have run.
async fn finished(
    statuses: &mut Streaming<GetJobStatusResult>,
) -> Result<(String, Vec<PartitionLocation>), Failed> {
    let gone = |why: &str| Failed::Cluster(format!("the statement was not finished: {why}"));
    loop {
        let status = statuses.message().await;
        let status = status.map_err(|status| match status.message() {
            LOST => gone(LOST),
            _ => gone("the scheduler is gone"),
        })?;
        let Some(status) = status else {
            return Err(gone("the scheduler is gone"));
        };
        let Some(status) = status.status else {
            continue;
        };
        match status.status {
            Some(job_status::Status::Successful(job)) => {
                return Ok((status.job_id, job.partition_location));
            }
            Some(job_status::Status::Failed(job)) => {
                return Err(match failure::of_job(&job.error) {
                    Ok(error) => Failed::Statement(error),
                    Err(why) => gone(&why),
                });
            }
            _ => (),
        }
    }
}

/// Rows that cannot be fetched: their executor is lost.
fn lost(error: &DataFusionError) -> Failed {
    Failed::Cluster(format!("rows did not come: {}", text_of(error)))
}

async fn fetch(
    location: PartitionLocation,
    connections: Arc<Connections>,
    endpoint: Arc<BallistaConfigGrpcEndpoint>,
) -> Result<SendableRecordBatchStream> {
    let layout = location.layout();
    let lacks = || exec_datafusion_err!("the scheduler does not say where the rows are");
    let executor = location.executor_meta.ok_or_else(lacks)?;
    let partition = location.partition_id.ok_or_else(lacks)?;
    let port = executor.port as u16;
    let client = connections.to(&executor.host, port, Some(endpoint)).await;
    // Its own words are those of several libraries, one in the other.
    let refused =
        |_| exec_datafusion_err!("cannot connect to the executor at {}:{port}", executor.host);
    let mut client = client.map_err(refused)?;
    client
        .fetch_partition(
            &executor.id,
            &partition.into(),
            location.file_id,
            layout,
            true,
        )
        .await
        .map_err(|e| e.into_datafusion())
}
