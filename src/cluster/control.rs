//! What a cluster says of itself and of its jobs, and the word that ends it: actions of Arrow Flight on the scheduler's port.

use super::VERSION;
use super::connect_file::ConnectFile;
use super::jobs::Jobs;
use super::session::MESSAGE_MAX;
use super::stage_figures::StageFigures;
use super::tls;
use crate::error::{Error, Result};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

/// An executor that was not heard of for so long is taken for dead: alive it asks for tasks each second.
pub(crate) const SILENT: Duration = Duration::from_secs(5);

/// A cluster as its scheduler knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// Id of the cluster.
    pub cluster: String,
    /// Version of iolode.
    pub version: String,
    /// Until when its keys hold, UTC, RFC 3339.
    pub valid_until: String,
    /// Its executors, by id.
    pub executors: Vec<ExecutorStatus>,
    /// Queries that run now.
    pub queries: usize,
}

impl ClusterStatus {
    /// Cores of all executors.
    pub fn cores(&self) -> usize {
        self.executors.iter().map(|executor| executor.cores).sum()
    }
}

/// An executor as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorStatus {
    /// Its id: another after each start.
    pub id: String,
    /// `HOST:PORT` of its shuffle files.
    pub address: String,
    /// Cores that it works with.
    pub cores: usize,
    /// Bytes that its tasks may hold together; no bound if None.
    pub memory: Option<u64>,
    /// Id and directory of each lake that it reads.
    pub lakes: Vec<(String, String)>,
    /// The OSTs that it was started with; None if it was not told.
    pub osts: Option<Vec<i64>>,
}

/// The executors that were heard of.
#[derive(Debug, Default)]
pub(crate) struct Members(Mutex<BTreeMap<String, (ExecutorStatus, Instant)>>);

impl Members {
    /// Notes an executor.
    pub(crate) fn heard(&self, executor: ExecutorStatus) {
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        members.insert(executor.id.clone(), (executor, Instant::now()));
    }

    /// Forgets an executor.
    pub(crate) fn left(&self, id: &str) {
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        members.remove(id);
    }

    /// Forgets those that were not heard of lately, and names them.
    pub(crate) fn silent(&self) -> Vec<String> {
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = members
            .iter()
            .filter(|(_, (_, last))| last.elapsed() >= SILENT);
        let silent: Vec<String> = silent.map(|(id, _)| id.clone()).collect();
        silent.iter().for_each(|id| _ = members.remove(id));
        silent
    }

    /// Those that were heard of lately.
    pub(crate) fn present(&self) -> Vec<ExecutorStatus> {
        let members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let present = members.values().filter(|(_, last)| last.elapsed() < SILENT);
        present.map(|(executor, _)| executor.clone()).collect()
    }
}

/// Answers the three actions.
pub(crate) struct Control {
    pub(crate) keys: ConnectFile,
    pub(crate) members: Arc<Members>,
    pub(crate) queries: Arc<dyn Fn() -> usize + Send + Sync>,
    pub(crate) jobs: Arc<Jobs>,
    /// Set once the cluster is to end.
    pub(crate) stop: watch::Sender<bool>,
}

/// Asks a scheduler for the state of its cluster.
///
/// # Errors
/// [`Error::Invalid`] if it does not answer, with its address.
pub async fn status(keys: &ConnectFile) -> Result<ClusterStatus> {
    let answer = act(keys, "status").await?;
    serde_json::from_slice(&answer)
        .map_err(|e| Error::Invalid(format!("cluster at {}: {e}", keys.scheduler)))
}

/// Has a cluster end: executors finish their tasks, then all processes do.
///
/// # Errors
/// As [`status`].
pub async fn stop(keys: &ConnectFile) -> Result<()> {
    act(keys, "stop").await.map(|_| ())
}

/// What the stages of a job have done by now, by their numbers.
///
/// # Errors
/// As [`status`].
pub(crate) async fn figures(
    keys: &ConnectFile,
    job: &str,
) -> Result<BTreeMap<usize, StageFigures>> {
    let answer = act(keys, &format!("{FIGURES}{job}")).await?;
    serde_json::from_slice(&answer)
        .map_err(|e| Error::Invalid(format!("cluster at {}: {e}", keys.scheduler)))
}

/// Before the id of a job whose figures are asked for.
const FIGURES: &str = "figures ";

async fn act(keys: &ConnectFile, what: &str) -> Result<bytes::Bytes> {
    let failed = |status: Status| unreachable(keys, &status);
    let channel = tls::scheduler(keys)?;
    let mut client = FlightServiceClient::with_interceptor(channel, tls::with_version)
        .max_decoding_message_size(MESSAGE_MAX);
    let action = Action::new(what, bytes::Bytes::new());
    let mut answers = client.do_action(action).await.map_err(failed)?.into_inner();
    let answer = answers.message().await.map_err(failed)?;
    Ok(answer.map(|answer| answer.body).unwrap_or_default())
}

/// The one line for a scheduler that does not answer as it should.
pub(crate) fn unreachable(keys: &ConnectFile, status: &Status) -> Error {
    let mut why = status.message().to_string();
    let mut source = std::error::Error::source(status);
    while let Some(inner) = source {
        why = inner.to_string();
        source = inner.source();
    }
    match status.code() {
        tonic::Code::FailedPrecondition => Error::Invalid(why),
        _ => Error::Invalid(format!(
            "no scheduler answers at {}: {why}; has this cluster ended?",
            keys.scheduler
        )),
    }
}

fn unimplemented<T>() -> std::result::Result<T, Status> {
    Err(Status::unimplemented("not a service of this port"))
}

#[tonic::async_trait]
impl FlightService for Control {
    type HandshakeStream = BoxStream<'static, std::result::Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, std::result::Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, std::result::Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, std::result::Result<PutResult, Status>>;
    type DoExchangeStream = BoxStream<'static, std::result::Result<FlightData, Status>>;
    type DoActionStream = BoxStream<'static, std::result::Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, std::result::Result<ActionType, Status>>;

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> std::result::Result<Response<Self::DoActionStream>, Status> {
        let body = match request.into_inner().r#type.as_str() {
            "status" => serde_json::to_vec(&ClusterStatus {
                cluster: self.keys.cluster.clone(),
                version: VERSION.into(),
                valid_until: self.keys.valid_until.clone(),
                executors: self.members.present(),
                queries: (self.queries)(),
            })
            .map_err(|e| Status::internal(e.to_string()))?,
            "stop" => {
                self.stop.send_replace(true);
                vec![]
            }
            other => {
                let Some(job) = other.strip_prefix(FIGURES) else {
                    return Err(Status::invalid_argument("status, stop or figures"));
                };
                let jobs = self.jobs.lock();
                let stages = jobs.get(job).map(|job| job.stages.clone());
                serde_json::to_vec(&stages.unwrap_or_default())
                    .map_err(|e| Status::internal(e.to_string()))?
            }
        };
        let answer = arrow_flight::Result { body: body.into() };
        Ok(Response::new(futures::stream::iter([Ok(answer)]).boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> std::result::Result<Response<Self::HandshakeStream>, Status> {
        unimplemented()
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> std::result::Result<Response<Self::ListFlightsStream>, Status> {
        unimplemented()
    }

    async fn get_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> std::result::Result<Response<FlightInfo>, Status> {
        unimplemented()
    }

    async fn poll_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> std::result::Result<Response<PollInfo>, Status> {
        unimplemented()
    }

    async fn get_schema(
        &self,
        _: Request<FlightDescriptor>,
    ) -> std::result::Result<Response<SchemaResult>, Status> {
        unimplemented()
    }

    async fn do_get(
        &self,
        _: Request<Ticket>,
    ) -> std::result::Result<Response<Self::DoGetStream>, Status> {
        unimplemented()
    }

    async fn do_put(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> std::result::Result<Response<Self::DoPutStream>, Status> {
        unimplemented()
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> std::result::Result<Response<Self::DoExchangeStream>, Status> {
        unimplemented()
    }

    async fn list_actions(
        &self,
        _: Request<Empty>,
    ) -> std::result::Result<Response<Self::ListActionsStream>, Status> {
        unimplemented()
    }
}
