//! The scheduler's port: Ballista's service, with the rules of a cluster of iolode around it.
//!
//! - A query is a finished physical plan of nodes that are [`allowed`]. Its status is streamed, and it lasts as long as that stream: when its client has read the rows,
//!   or is gone, the job is cancelled if it still runs, and its shuffle files are removed.
//! - A job does not outlive an executor that had a task of it. Ballista 55 would run the lost tasks again, and leave in the inputs of later stages what tasks of the
//!   first attempt had written: rows would come twice. Here the stream of the job's status ends with [`LOST`], and its client asks again.
//! - An executor asks for tasks ([`SchedulerGrpc::poll_work`]). If there are none, the answer waits for some, so that executors need no port that takes plans and
//!   a stage begins as soon as one is free.

use super::allowed;
use super::jobs::{JobOsts, Jobs};
use super::members::{ExecutorStatus, Members};
use super::parts::decode;
use super::stage_figures::{TaskFigures, now};
use ballista_core::JobId;
use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult,
    CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult,
    ExecutorStoppedParams, ExecutorStoppedResult, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult, PollWorkParams,
    PollWorkResult, RegisterExecutorParams, RegisterExecutorResult, RemoveSessionParams,
    RemoveSessionResult, TaskStatus, UpdateTaskStatusParams, UpdateTaskStatusResult, job_status,
    task_status,
};
use ballista_scheduler::SessionBuilder;
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};
use tonic::{Request, Response, Status};

/// The binary header in which an executor describes itself.
pub(crate) const DESCRIPTION: &str = "iolode-executor-bin";

/// How long an executor that has nothing to do waits for an answer.
const WAIT: Duration = Duration::from_secs(1);

/// What a client is told whose job lost an executor.
pub(crate) const LOST: &str = "an executor was lost";

/// What an executor is told when its cluster ends.
pub(crate) const STOPPED: &str = "the cluster was stopped";

/// Ballista's scheduler.
pub(crate) type Ballista = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

type Answer<T> = Result<Response<T>, Status>;

/// The service of the scheduler's port.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) ballista: Ballista,
    pub(crate) config: Arc<dyn Fn() -> SessionConfig + Send + Sync>,
    pub(crate) session: SessionBuilder,
    pub(crate) members: Arc<Members>,
    pub(crate) queries: Arc<AtomicUsize>,
    /// Told when there are tasks.
    pub(crate) work: Arc<Notify>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) stop: watch::Receiver<bool>,
    /// Told what operators should know.
    pub(crate) said: Arc<dyn Fn(String) + Send + Sync>,
}

impl Service {
    /// Forgets executors that are not heard of any more, and ends the jobs that they had tasks of.
    pub(crate) async fn forget_silent(&self) {
        for id in self.members.silent() {
            self.lost(&id, "it was not heard of").await;
        }
    }

    /// Ends the jobs that an executor had tasks of, and has Ballista forget it.
    async fn lost(&self, id: &str, reason: &str) {
        let left = self.members.left(id);
        let mut ended = 0;
        for job in self.jobs.lock().values() {
            if job.executors.contains(id) {
                job.lost.notify_one();
                ended += 1;
            }
        }
        if let Some(executor) = left {
            let address = executor.address;
            (self.said)(format!(
                "executor at {address} is gone: {reason}; queries that are sent again: {ended}"
            ));
        }
        let stopped = ExecutorStoppedParams {
            executor_id: id.into(),
            reason: reason.into(),
        };
        let _ = SchedulerGrpc::executor_stopped(&self.ballista, Request::new(stopped)).await;
        self.work.notify_waiters();
    }

    /// A plan as it was sent, in a session with the client's options.
    fn decode(&self, query: ExecuteQueryParams) -> Result<Planned, Status> {
        let Some(Query::PhysicalPlan(bytes)) = query.query else {
            return Err(Status::invalid_argument(
                "a cluster of iolode runs plans that `iolode --cluster` made",
            ));
        };
        let config = (self.config)().update_from_key_value_pair(&query.settings);
        let refused =
            |e: datafusion::common::DataFusionError| Status::invalid_argument(e.strip_backtrace());
        let state = (self.session)(config).map_err(refused)?;
        let context = Arc::new(SessionContext::new_with_state(state));
        let (plan, files) = decode(&bytes, &context.task_ctx()).map_err(refused)?;
        allowed::check(&plan).map_err(refused)?;
        let osts = JobOsts::new(&plan, files, &self.members.present());
        self.jobs.submit(&context.session_id(), osts);
        Ok(Planned { context, plan })
    }
}

impl Service {
    /// Adds what a task has read and written to its stage; Ballista does not know these figures.
    fn count(&self, task: &mut TaskStatus) {
        let metrics = std::mem::take(&mut task.metrics);
        if !matches!(task.status, Some(task_status::Status::Successful(_))) {
            return;
        }
        let mut jobs = self.jobs.lock();
        let Some(job) = jobs.get_mut(&task.job_id) else {
            return;
        };
        let stage = task.stage_id as usize;
        let by_owner = job.by_owners.contains(&(stage, task.task_id as usize));
        let took = task.end_exec_time.saturating_sub(task.start_exec_time);
        let figures = TaskFigures::from_metrics(&metrics);
        let of_stage = job.stages.entry(stage).or_default();
        of_stage.add(figures, by_owner, took, now());
    }
}

struct Planned {
    context: Arc<SessionContext>,
    plan: Arc<dyn datafusion::physical_plan::ExecutionPlan>,
}

/// Ends a job and removes its files when its client has read the rows or is gone.
struct JobLife {
    service: Service,
    job: JobId,
    is_done: Arc<AtomicBool>,
}

impl Drop for JobLife {
    fn drop(&mut self) {
        self.service.queries.fetch_sub(1, Ordering::Relaxed);
        self.service.jobs.end(self.job.as_str());
        let (ballista, job) = (self.service.ballista.clone(), self.job.clone());
        let work = self.service.work.clone();
        let is_done = self.is_done.load(Ordering::Relaxed);
        tokio::spawn(async move {
            if !is_done && let Err(e) = ballista.cancel_job(job.clone()).await {
                log::warn!("cannot cancel {job}: {e}");
            }
            clean(&ballista, job.into_inner()).await;
            // Executors that wait for tasks hear at once what they may remove, or that the cluster ends.
            work.notify_waiters();
        });
    }
}

/// Has executors end what they run of a job, and remove its files, when they ask next.
async fn clean(ballista: &Ballista, job_id: String) {
    let params = CleanJobDataParams {
        job_id,
        remove_stage_ids: vec![],
    };
    let _ = SchedulerGrpc::clean_job_data(ballista, Request::new(params)).await;
}

fn not_here<T>() -> Answer<T> {
    Err(Status::unimplemented(
        "a cluster of iolode does not use this",
    ))
}

#[tonic::async_trait]
impl SchedulerGrpc for Service {
    type ExecuteQueryPushStream = BoxStream<'static, Result<GetJobStatusResult, Status>>;

    async fn execute_query_push(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Answer<Self::ExecuteQueryPushStream> {
        if *self.stop.borrow() {
            return Err(Status::unavailable(STOPPED));
        }
        let service = self.clone();
        let query = request.into_inner();
        // A large plan takes some time to decode.
        let planned = tokio::task::spawn_blocking(move || service.decode(query)).await;
        let planned = planned.map_err(|e| Status::internal(e.to_string()))??;
        let (subscriber, statuses) = mpsc::channel(16);
        let session = planned.context.session_id();
        let submitted = self
            .ballista
            .submit_physical_plan("query", planned.context, planned.plan, Some(subscriber))
            .await;
        let job = submitted.map_err(|e| {
            self.jobs.forget_session(&session);
            Status::internal(e.to_string())
        })?;
        self.queries.fetch_add(1, Ordering::Relaxed);
        // A task may have been handed out already.
        let lost = {
            let mut jobs = self.jobs.lock();
            let noted = self.jobs.noted(&mut jobs, job.as_str(), &session);
            noted.map(|job| job.lost.clone()).unwrap_or_default()
        };
        let is_done = Arc::new(AtomicBool::new(false));
        let life = JobLife {
            service: self.clone(),
            job,
            is_done: is_done.clone(),
        };
        let ballista = self.ballista.clone();
        let statuses = received(statuses).then(move |status| {
            use job_status::Status::{Failed, Successful};
            if matches!(status.status, Some(Failed(_) | Successful(_))) {
                is_done.store(true, Ordering::Relaxed);
            }
            let ballista = ballista.clone();
            async move {
                // Its other tasks end before its client sends another in its place, which needs their memory.
                if matches!(status.status, Some(Failed(_))) {
                    clean(&ballista, status.job_id.clone()).await;
                }
                Ok(GetJobStatusResult {
                    status: Some(status),
                    flight_proxy: None,
                })
            }
        });
        // It does not end by itself: the files of the last stage are there until the client lets go. A stream that has ended is dropped, so this one keeps them.
        let lost = futures::stream::once(async move {
            let _until_dropped = life;
            lost.notified().await;
            Err(Status::aborted(LOST))
        });
        Ok(Response::new(
            futures::stream::select(statuses, lost).boxed(),
        ))
    }

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Answer<PollWorkResult> {
        let (header, _, params) = request.into_parts();
        let described = header.get_bin(DESCRIPTION).and_then(|value| {
            serde_json::from_slice::<ExecutorStatus>(&value.to_bytes().ok()?).ok()
        });
        let (Some(executor), Some(registration)) = (described, &params.metadata) else {
            return Err(Status::invalid_argument("an executor describes itself"));
        };
        if executor.id != registration.id || registration.host.is_none() {
            return Err(Status::invalid_argument(
                "an executor has one id and a host",
            ));
        }
        let id = executor.id.clone();
        let address = executor.address.clone();
        match self.members.heard(executor) {
            None => return Err(Status::unavailable("this executor was taken for lost")),
            Some(true) => (self.said)(format!("executor at {address} is there")),
            Some(false) => {}
        }
        let end = tokio::time::Instant::now() + WAIT;
        let mut stop = self.stop.clone();
        let mut params = params;
        loop {
            // Before the look, so that what comes meanwhile is not missed.
            let work = self.work.notified();
            let answer = self
                .ballista
                .poll_work(Request::new(params.clone()))
                .await?
                .into_inner();
            params.task_status.clear();
            if !answer.tasks.is_empty() || !answer.jobs_to_clean.is_empty() {
                return Ok(Response::new(answer));
            }
            // Statements that run are finished, for which each executor's shuffle files may be needed.
            if *stop.borrow() && self.queries.load(Ordering::Relaxed) == 0 {
                self.members.left(&id);
                return Err(Status::aborted(STOPPED));
            }
            if params.num_free_vcores == 0 {
                return Ok(Response::new(answer));
            }
            tokio::select! {
                () = work => (),
                _ = stop.changed() => (),
                () = tokio::time::sleep_until(end) => return Ok(Response::new(answer)),
            }
        }
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Answer<UpdateTaskStatusResult> {
        let (metadata, extensions, mut params) = request.into_parts();
        params.task_status.iter_mut().for_each(|of| self.count(of));
        let request = Request::from_parts(metadata, extensions, params);
        let answer = SchedulerGrpc::update_task_status(&self.ballista, request).await;
        // A task that failed is to be handed out again.
        self.work.notify_waiters();
        answer
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> Answer<ExecutorStoppedResult> {
        let stopped = request.into_inner();
        self.lost(&stopped.executor_id, &stopped.reason).await;
        Ok(Response::new(ExecutorStoppedResult {}))
    }

    async fn cancel_job(&self, _: Request<CancelJobParams>) -> Answer<CancelJobResult> {
        not_here()
    }

    async fn clean_job_data(&self, _: Request<CleanJobDataParams>) -> Answer<CleanJobDataResult> {
        not_here()
    }

    async fn execute_query(&self, _: Request<ExecuteQueryParams>) -> Answer<ExecuteQueryResult> {
        not_here()
    }

    async fn register_executor(
        &self,
        _: Request<RegisterExecutorParams>,
    ) -> Answer<RegisterExecutorResult> {
        not_here()
    }

    async fn heart_beat_from_executor(
        &self,
        _: Request<HeartBeatParams>,
    ) -> Answer<HeartBeatResult> {
        not_here()
    }

    async fn create_update_session(
        &self,
        _: Request<CreateUpdateSessionParams>,
    ) -> Answer<CreateUpdateSessionResult> {
        not_here()
    }

    async fn remove_session(&self, _: Request<RemoveSessionParams>) -> Answer<RemoveSessionResult> {
        not_here()
    }

    async fn get_job_status(&self, _: Request<GetJobStatusParams>) -> Answer<GetJobStatusResult> {
        not_here()
    }

    async fn get_job_metrics(
        &self,
        _: Request<GetJobMetricsParams>,
    ) -> Answer<GetJobMetricsResult> {
        not_here()
    }
}

fn received<T: Send + 'static>(mut from: mpsc::Receiver<T>) -> BoxStream<'static, T> {
    futures::stream::poll_fn(move |context| from.poll_recv(context)).boxed()
}
