//! The process that cuts plans into stages and hands their tasks to executors.
//!
//! It reads no data file and holds no rows. What it knows of jobs is in its memory: if it ends, clients ask the next one again.

use super::by_ost::ByOst;
use super::codec::Codec;
use super::connect_file::ConnectFile;
use super::control::Control;
use super::jobs::Jobs;
use super::members::Members;
use super::service::{Ballista, Service};
use super::session::{self, MESSAGE_MAX};
use super::tls;
use crate::engine::parts::runtime;
use crate::error::{Error, Result};
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionConfig;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;

/// After so many seconds Ballista takes an executor for dead. By then the jobs that it had tasks of are over: see [`Service::forget_silent`].
const EXECUTOR_TIMEOUT: u64 = 15;

/// Serves a cluster on `listener` until `interrupted` or it is stopped. Executors that come and go are told to `said`.
///
/// # Errors
/// [`Error::Invalid`] if the keys cannot be used or the port fails.
pub async fn serve(
    listener: TcpListener,
    keys: ConnectFile,
    said: Arc<dyn Fn(String) + Send + Sync>,
    interrupted: impl Future<Output = ()>,
) -> Result<()> {
    let work = Arc::new(Notify::new());
    let (stop, stopped) = watch::channel(false);
    let members = Arc::new(Members::default());
    let queries = Arc::new(AtomicUsize::new(0));
    let jobs = Arc::new(Jobs::default());
    let service = service(
        &keys,
        &work,
        &members,
        &queries,
        &jobs,
        stopped.clone(),
        said,
    )
    .await?;
    let control = Control {
        keys: keys.clone(),
        members: members.clone(),
        queries: Arc::new(move || queries.load(Ordering::Relaxed)),
        jobs,
        stop,
    };
    let watched = service.clone();
    let scheduler = SchedulerGrpcServer::new(service)
        .max_decoding_message_size(MESSAGE_MAX)
        .max_encoding_message_size(MESSAGE_MAX);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let watch = async move {
        loop {
            tokio::time::sleep(Duration::from_millis(250)).await;
            watched.forget_silent().await;
        }
    };
    let ended = async {
        tokio::select! {
            () = interrupted => (),
            () = drained(stopped, &members) => (),
        }
    };
    // Streams of statuses do not end by themselves, so a graceful end of the port would wait for its clients.
    let served = tls::server(&keys)?
        .add_service(InterceptedService::new(scheduler, tls::check_version))
        .add_service(InterceptedService::new(
            FlightServiceServer::new(control),
            tls::check_version,
        ))
        .serve_with_incoming(incoming);
    tokio::select! {
        served = served => served.map_err(|e| Error::Invalid(format!("scheduler: {e}"))),
        () = ended => Ok(()),
        () = watch => Ok(()),
    }
}

/// Ends once the cluster was stopped and its executors are gone.
async fn drained(mut stopped: watch::Receiver<bool>, members: &Members) {
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
    while !members.present().is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The one that asked hears that it was heard.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn service(
    keys: &ConnectFile,
    work: &Arc<Notify>,
    members: &Arc<Members>,
    queries: &Arc<AtomicUsize>,
    jobs: &Arc<Jobs>,
    stop: watch::Receiver<bool>,
    said: Arc<dyn Fn(String) + Send + Sync>,
) -> Result<Service> {
    let failed = |e: &dyn std::fmt::Display| Error::Invalid(format!("scheduler: {e}"));
    let state = session::state(2, None, runtime(2, None)?, keys);
    let of_config = state.clone();
    let config: Arc<dyn Fn() -> SessionConfig + Send + Sync> =
        Arc::new(move || of_config.config().clone());
    let session: ballista_scheduler::SessionBuilder = Arc::new(move |config| {
        let state = SessionStateBuilder::new_from_existing(state.clone());
        Ok(state.with_config(config).build())
    });
    let (told, has_work) = (work.clone(), work.clone());
    let placement = ByOst::new(jobs.clone(), members.clone());
    let mut settings = SchedulerConfig {
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        task_distribution: TaskDistributionPolicy::Custom(Arc::new(placement)),
        executor_timeout_seconds: EXECUTOR_TIMEOUT,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: 30,
        finished_job_data_clean_up_interval_seconds: 0,
        finished_job_state_clean_up_interval_seconds: 30,
        // A job does not outlive the loss of shuffle files: see `service`.
        stage_max_failures: 1,
        grpc_client_max_message_size: MESSAGE_MAX as u32,
        override_config_producer: Some(config.clone()),
        override_session_builder: Some(session.clone()),
        override_physical_codec: Some(Arc::new(Codec::default())),
        override_create_grpc_client_endpoint: Some(tls::override_endpoint(keys)),
        use_tls: true,
        ..SchedulerConfig::default()
    };
    settings.on_work_available = Some(Arc::new(move |_| told.notify_waiters()));
    let cluster = BallistaCluster::new_from_config(&settings).await;
    let cluster = cluster.map_err(|e| failed(&e))?;
    let ballista: Ballista = create_scheduler(cluster, Arc::new(settings))
        .await
        .map_err(|e| failed(&e))?;
    Ok(Service {
        ballista,
        config,
        session,
        members: members.clone(),
        queries: queries.clone(),
        work: has_work,
        jobs: jobs.clone(),
        stop,
        said,
    })
}
