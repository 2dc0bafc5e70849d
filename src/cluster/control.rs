//! What a cluster says of itself and of its jobs, and the word that ends it: actions of Arrow Flight on the scheduler's port.

use super::VERSION;
use super::connect_file::ConnectFile;
use super::jobs::Jobs;
use super::members::{ClusterStatus, Members};
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
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

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

/// Time in which a scheduler answers that is alive.
const ANSWER: Duration = Duration::from_secs(10);

/// Before the id of a job whose figures are asked for.
const FIGURES: &str = "figures ";

async fn act(keys: &ConnectFile, what: &str) -> Result<bytes::Bytes> {
    let failed = |status: Status| unreachable(keys, &status);
    let channel = tls::scheduler(keys)?;
    let mut client = FlightServiceClient::with_interceptor(channel, tls::with_version)
        .max_decoding_message_size(MESSAGE_MAX);
    let action = Action::new(what, bytes::Bytes::new());
    let asked = async {
        let mut answers = client.do_action(action).await?.into_inner();
        answers.message().await
    };
    let silent = |_| Status::unavailable("it takes no requests");
    let answer = tokio::time::timeout(ANSWER, asked).await;
    let answer = answer.map_err(silent).flatten().map_err(failed)?;
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
    why.truncate(why.trim_end_matches('.').len());
    match status.code() {
        tonic::Code::FailedPrecondition => Error::Invalid(why),
        _ if why.contains("xpired") => Error::Invalid(format!(
            "the keys of the cluster at {} have expired ({why}); start it again",
            keys.scheduler
        )),
        _ if is_of_another_cluster(&why) => Error::Invalid(format!(
            "the scheduler at {} is of another cluster than the connect file ({why})",
            keys.scheduler
        )),
        _ => Error::Invalid(format!(
            "no scheduler answers at {}: {why}; has this cluster ended?",
            keys.scheduler
        )),
    }
}

/// Whether the keys of both sides are those of two clusters, which will not change.
fn is_of_another_cluster(why: &str) -> bool {
    why.contains("invalid peer certificate") || why.contains("received fatal alert")
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
