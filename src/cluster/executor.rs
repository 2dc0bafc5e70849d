//! The process that runs stages: it asks the scheduler for tasks, reads its lakes' data files, and serves its shuffle files to others.

use super::allowed::LakeFiles;
use super::codec::Codec;
use super::connect_file::ConnectFile;
use super::control::unreachable;
use super::convert_exec::Converters;
use super::failure;
use super::members::ExecutorStatus;
use super::service::{DESCRIPTION, STOPPED};
use super::session::{self, MESSAGE_MAX};
use super::stage::{StageEngine, TaskPart};
use super::stage_figures::{TaskFigures, now};
use super::tls;
use super::work_dir::{DIRECTORY, own_directory, remove_jobs};
use crate::engine::parts::runtime;
use crate::error::{Error, Result};
use crate::lake::{DerivedTable, Lake, RangeConverter};
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CleanJobDataParams, ExecutorOperatingSystemSpecification, ExecutorRegistration,
    ExecutorStoppedParams, PollWorkParams, ShuffleWritePartition, SuccessfulTask, TaskDefinition,
    TaskStatus, UpdateTaskStatusParams, task_status,
};
use ballista_core::serde::scheduler::ExecutorSpecification;
use ballista_core::{BALLISTA_PROTOCOL_VERSION, JobId};
use ballista_executor::flight_service::BallistaFlightService;
use datafusion::common::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::object_store::ObjectStore;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::FutureExt;
use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Status};

/// Time in which a scheduler answers that is alive.
const ANSWER: Duration = Duration::from_secs(15);

/// How long an executor waits before it asks a scheduler again that did not answer.
const RETRY: Duration = Duration::from_millis(500);

/// An executor that has no core free asks so often, to be known as alive.
const ALIVE: Duration = Duration::from_secs(1);

/// How long a task waits for the memory of others that were ended.
const GIVEN_BACK: Duration = Duration::from_secs(5);

/// Twice the memory of conversions where an executor's is not bounded.
const CONVERT_MEMORY: usize = 1 << 30;

/// A scheduler that did not answer for so long has ended.
const GIVE_UP: Duration = Duration::from_secs(120);

/// What an executor works with.
#[derive(Debug)]
pub struct ExecutorOptions {
    /// The lakes that it reads, under the directories by which clients know them.
    pub lakes: Vec<Lake>,
    /// What fills derived tables.
    pub derived: &'static [&'static dyn DerivedTable],
    /// Cores.
    pub cores: usize,
    /// The OSTs whose files it is to read before all others; by hashing if None.
    pub osts: Option<Vec<i64>>,
    /// Bytes that all its tasks together may hold; no bound if None.
    pub memory: Option<usize>,
    /// Where its shuffle and spill files lie, in a directory of their own that goes with the executor.
    pub work_dir: PathBuf,
    /// The host under which others reach it.
    pub host: String,
}

/// Runs an executor whose shuffle files are served on `listener`, until `interrupted` or the cluster ends.
///
/// # Errors
/// [`Error::Invalid`] if the scheduler does not answer or refuses it; those of the lakes and the work directory.
pub async fn run(
    listener: TcpListener,
    keys: ConnectFile,
    options: ExecutorOptions,
    interrupted: impl Future<Output = ()>,
) -> Result<()> {
    let failed = |e| Error::io(&options.work_dir, "cannot use", e);
    let work_dir = tempfile::Builder::new()
        .prefix(DIRECTORY)
        .tempdir_in(&options.work_dir)
        .map_err(failed)?;
    let _lock = own_directory(&options.work_dir, work_dir.path()).map_err(failed)?;
    let directory = work_dir.path().to_string_lossy().into_owned();
    let address = listener
        .local_addr()
        .map_err(|e| Error::Invalid(format!("executor: {e}")))?;
    let runtime = runtime(options.cores, options.memory)?;
    let files: Arc<dyn ObjectStore> = Arc::new(LakeFiles::new(&options.lakes)?);
    runtime.register_object_store(ObjectStoreUrl::local_filesystem().as_ref(), files);
    let converters = options.lakes.iter().map(|lake| {
        let memory = options.memory.unwrap_or(CONVERT_MEMORY) / 2;
        let (cores, temp) = (options.cores, work_dir.path().into());
        RangeConverter::new(lake.clone(), options.derived, cores, memory, temp)
    });
    let converters = Arc::new(Converters(converters.collect()));
    let lakes = options.lakes.iter().map(|lake| {
        let root = lake.root().unwrap_or("".as_ref());
        (lake.id().to_string(), root.to_string_lossy().into_owned())
    });
    let state = session::state(options.cores, options.memory, runtime, &keys);
    let state = with_extension(state, converters);
    let me = Arc::new(Executor {
        description: Mutex::new(ExecutorStatus {
            id: new_id(),
            address: format!("{}:{}", options.host, address.port()),
            cores: options.cores,
            memory: options.memory.map(|bytes| bytes as u64),
            lakes: lakes.collect(),
            osts: options.osts.clone(),
        }),
        cores: options.cores,
        host: options.host.clone(),
        port: address.port(),
        state,
        engine: StageEngine::new(),
        work_dir: directory.clone(),
        tasks: Mutex::default(),
        freed: Notify::new(),
    });
    let flight = FlightServiceServer::new(BallistaFlightService::new(directory))
        .max_decoding_message_size(MESSAGE_MAX)
        .max_encoding_message_size(MESSAGE_MAX);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = tls::server(&keys)?
        .add_service(flight)
        .serve_with_incoming(incoming);
    let mut scheduler = Scheduler::new(&keys)?;
    let ended = tokio::select! {
        served = served => served.map_err(|e| Error::Invalid(format!("executor: {e}"))),
        ended = me.ask_for_tasks(&keys, scheduler.clone()) => ended,
        () = interrupted => Ok(()),
    };
    me.end_all();
    scheduler.forget(me.described().id).await;
    ended
}

type Version = fn(Request<()>) -> std::result::Result<Request<()>, Status>;

/// The way to the scheduler.
#[derive(Clone)]
struct Scheduler(SchedulerGrpcClient<InterceptedService<Channel, Version>>);

impl Scheduler {
    fn new(keys: &ConnectFile) -> Result<Self> {
        let channel = tls::scheduler(keys)?;
        let client = SchedulerGrpcClient::with_interceptor(channel, tls::with_version as Version);
        Ok(Self(
            client
                .max_decoding_message_size(MESSAGE_MAX)
                .max_encoding_message_size(MESSAGE_MAX),
        ))
    }

    /// Says that an executor has ended, if there is a scheduler that listens.
    async fn forget(&mut self, executor_id: String) {
        let stopped = ExecutorStoppedParams {
            executor_id,
            reason: "it has ended".into(),
        };
        let _ = tokio::time::timeout(RETRY, self.0.executor_stopped(stopped)).await;
    }
}

/// A task by job, stage, its number and the attempt at its stage.
type TaskKey = (String, u32, u32, u32);

/// A task that runs.
struct Running {
    task: AbortHandle,
    cores: usize,
    stop: Arc<AtomicBool>,
    /// It runs, and does not wait for the memory of others any more.
    has_begun: bool,
    /// It has been ended, and holds its core and memory until it is out of its last batch.
    is_ending: bool,
}

impl Running {
    /// Ends it, where it waits or in the condition of a join.
    fn end(&mut self) {
        self.is_ending = true;
        self.stop.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// A task among those that run, which it leaves when this is dropped.
struct Noted {
    executor: Arc<Executor>,
    key: TaskKey,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let ended = self.executor.running().remove(&self.key);
        // It is not reported, and only a report makes an executor with no free core ask for tasks.
        if ended.is_some_and(|task| task.is_ending) {
            self.executor.freed.notify_one();
        }
    }
}

struct Executor {
    /// Its id is another after an answer that did not come.
    description: Mutex<ExecutorStatus>,
    cores: usize,
    host: String,
    port: u16,
    state: SessionState,
    engine: StageEngine,
    work_dir: String,
    tasks: Mutex<HashMap<TaskKey, Running>>,
    /// Told when a task has ended.
    freed: Notify,
}

impl Executor {
    fn described(&self) -> ExecutorStatus {
        let description = self.description.lock();
        description.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all tasks.
    fn end_all(&self) {
        self.running().values_mut().for_each(Running::end);
    }

    /// Gives up all tasks and takes another id.
    async fn begin_anew(&self, scheduler: &mut Scheduler) {
        self.end_all();
        let before = {
            let description = self.description.lock();
            let mut description = description.unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut description.id, new_id())
        };
        // Nobody asks for the files of jobs that are over for the scheduler.
        let files = PathBuf::from(&self.work_dir);
        let _ = tokio::task::spawn_blocking(move || remove_jobs(&files)).await;
        scheduler.forget(before).await;
    }

    /// Asks for tasks and runs them until the cluster ends.
    async fn ask_for_tasks(
        self: &Arc<Self>,
        keys: &ConnectFile,
        mut scheduler: Scheduler,
    ) -> Result<()> {
        let (report, reports) = mpsc::unbounded_channel();
        let mut reporting = tokio::spawn(self.clone().send_reports(scheduler.clone(), reports));
        // Since when the scheduler does not answer. An executor that stood still itself has not waited for it.
        let mut silent: Option<Instant> = None;
        loop {
            let free = self.free();
            let freed = self.freed.notified();
            let answer = tokio::select! {
                answer = self.ask(scheduler.clone(), free) => answer,
                _ = &mut reporting => return Err(Error::Invalid("executor: its reports ended".into())),
            };
            match answer {
                Ok(answer) => {
                    if silent.take().is_some() {
                        log::info!("the scheduler at {} answers again", keys.scheduler);
                    }
                    for clean in answer.jobs_to_clean {
                        self.clean(clean);
                    }
                    for task in answer.tasks {
                        self.start(task, report.clone());
                    }
                    if self.free() == 0 {
                        let _ = tokio::time::timeout(ALIVE, freed).await;
                    }
                }
                Err(status) if status.code() == Code::Aborted && status.message() == STOPPED => {
                    return Ok(());
                }
                // Another version, or keys that are not those of the cluster: it will not change.
                Err(status)
                    if matches!(
                        status.code(),
                        Code::FailedPrecondition | Code::InvalidArgument
                    ) =>
                {
                    return Err(unreachable(keys, &status));
                }
                // Whether the scheduler has handed out tasks with an answer that did not come, nobody knows: as another executor it has none.
                Err(status) => {
                    let since = *silent.get_or_insert_with(|| {
                        log::warn!(
                            "no answer from the scheduler at {}; waiting for it",
                            keys.scheduler
                        );
                        Instant::now()
                    });
                    self.begin_anew(&mut scheduler).await;
                    if since.elapsed() > GIVE_UP {
                        return Err(unreachable(keys, &status));
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn ask(
        &self,
        mut scheduler: Scheduler,
        free: usize,
    ) -> std::result::Result<ballista_core::serde::protobuf::PollWorkResult, Status> {
        let described = self.described();
        let cores = ExecutorSpecification::default().with_vcores(self.cores as u32);
        let mut request = Request::new(PollWorkParams {
            metadata: Some(ExecutorRegistration {
                id: described.id.clone(),
                host: Some(self.host.clone()),
                port: self.port.into(),
                grpc_port: 0,
                specification: Some(cores.into()),
                os_info: Some(ExecutorOperatingSystemSpecification::default()),
                ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
            }),
            num_free_vcores: free as u32,
            task_status: vec![],
        });
        let description =
            serde_json::to_vec(&described).map_err(|e| Status::internal(e.to_string()))?;
        let value = tonic::metadata::MetadataValue::from_bytes(&description);
        request.metadata_mut().insert_bin(DESCRIPTION, value);
        let asked = tokio::time::timeout(ANSWER, scheduler.0.poll_work(request)).await;
        let silent = |_| Status::unavailable("it takes no requests");
        Ok(asked.map_err(silent).flatten()?.into_inner())
    }

    /// Sends what became of tasks, again and again until the scheduler has it.
    async fn send_reports(
        self: Arc<Self>,
        mut scheduler: Scheduler,
        mut reports: mpsc::UnboundedReceiver<TaskStatus>,
    ) {
        let mut batch = vec![];
        while reports.recv_many(&mut batch, 64).await > 0 {
            let params = UpdateTaskStatusParams {
                executor_id: self.described().id,
                task_status: std::mem::take(&mut batch),
            };
            while scheduler
                .0
                .update_task_status(params.clone())
                .await
                .is_err()
            {
                tokio::time::sleep(RETRY).await;
            }
            self.freed.notify_one();
        }
    }

    /// The directory that the executor was given for its files; it has one of its own in it.
    fn disk(&self) -> &Path {
        let own = Path::new(&self.work_dir);
        own.parent().unwrap_or(own)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<TaskKey, Running>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> usize {
        let taken: usize = self.running().values().map(|task| task.cores).sum();
        self.cores.saturating_sub(taken)
    }

    fn start(self: &Arc<Self>, task: TaskDefinition, report: mpsc::UnboundedSender<TaskStatus>) {
        let key = (
            task.job_id.clone(),
            task.stage_id,
            task.task_id,
            task.stage_attempt_num,
        );
        let cores = task.vcores_consumed.max(1) as usize;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let noted = Noted {
            executor: self.clone(),
            key: key.clone(),
        };
        // It is noted before it can end.
        let mut running = self.running();
        let handle = tokio::spawn(async move {
            let me = &noted.executor;
            me.until_given_back(&noted.key).await;
            let status = me.status(task, &stopped).await;
            drop(noted);
            let _ = report.send(status);
        });
        let running_task = Running {
            task: handle.abort_handle(),
            cores,
            stop,
            has_begun: false,
            is_ending: false,
        };
        running.insert(key, running_task);
    }

    /// Waits until tasks that were ended have given back their memory: a job that ran out of it is sent again in another form.
    async fn until_given_back(&self, key: &TaskKey) {
        let begin = Instant::now();
        loop {
            {
                let mut running = self.running();
                let is_ending = running.values().any(|task| task.is_ending);
                let has_begun = running.values().any(|task| task.has_begun);
                // What a node has spawned ends a moment after its task.
                let memory = &self.state.runtime_env().memory_pool;
                let holds = is_ending || !has_begun && memory.reserved() > 0;
                if !holds || begin.elapsed() > GIVEN_BACK {
                    if let Some(task) = running.get_mut(key) {
                        task.has_begun = true;
                    }
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Runs a task, and says what became of it.
    async fn status(&self, task: TaskDefinition, stop: &Arc<AtomicBool>) -> TaskStatus {
        let start = now();
        let ran = AssertUnwindSafe(self.run(&task, stop)).catch_unwind().await;
        let ran = ran.unwrap_or_else(|_| {
            let panicked = "a thread of the query engine failed";
            Err(DataFusionError::Execution(panicked.into()))
        });
        let mut metrics = vec![];
        let status = match ran {
            Ok((partitions, figures)) => {
                metrics = figures.to_metrics();
                task_status::Status::Successful(SuccessfulTask {
                    executor_id: self.described().id,
                    partitions,
                    ..SuccessfulTask::default()
                })
            }
            Err(error) => {
                let address = self.described().address;
                task_status::Status::Failed(failure::of_task(error, &address, self.disk()))
            }
        };
        TaskStatus {
            task_id: task.task_id,
            job_id: task.job_id,
            stage_id: task.stage_id,
            stage_attempt_num: task.stage_attempt_num,
            launch_time: task.launch_time,
            start_exec_time: start,
            end_exec_time: now(),
            metrics,
            status: Some(status),
        }
    }

    async fn run(
        &self,
        task: &TaskDefinition,
        stop: &Arc<AtomicBool>,
    ) -> std::result::Result<(Vec<ShuffleWritePartition>, TaskFigures), DataFusionError> {
        let config = self.state.config().clone();
        let set_aside = config.options().execution.sort_spill_reservation_bytes;
        let mut config = config.update_from_key_value_pair(&task.props);
        // The memory is this process's, not that of who asks.
        let asked = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *asked = set_aside.min(*asked);
        let context = Arc::new(TaskContext::new(
            Some(format!(
                "{}/{}/{}",
                task.job_id, task.stage_id, task.task_id
            )),
            task.session_id.clone(),
            config,
            self.state.scalar_functions().clone(),
            HashMap::new(),
            self.state.aggregate_functions().clone(),
            self.state.window_functions().clone(),
            self.state.runtime_env().clone(),
        ));
        let plan = PhysicalPlanNode::try_decode(&task.plan)?;
        let plan = plan.try_into_physical_plan(&context, &Codec::default())?;
        let partitions = task.global_output_partition_ids.iter();
        let part = TaskPart {
            job: JobId::from(task.job_id.clone()),
            stage: task.stage_id as usize,
            task: task.task_id as usize,
            partitions: partitions.map(|partition| *partition as usize).collect(),
        };
        self.engine
            .run(part, plan, &self.work_dir, context, stop)
            .await
    }

    /// Ends what still runs of a job that is over, and removes its files.
    fn clean(self: &Arc<Self>, clean: CleanJobDataParams) {
        let directory = PathBuf::from(&self.work_dir);
        // A job id is one name, whatever it says.
        let job: String = clean
            .job_id
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect();
        if job != clean.job_id || job.is_empty() {
            return;
        }
        let directory = directory.join(&job);
        if clean.remove_stage_ids.is_empty() {
            let mut running = self.running();
            let tasks = running.iter_mut().filter(|((of, ..), _)| *of == job);
            tasks.for_each(|(_, task)| task.end());
            drop(running);
            tokio::spawn(self.clone().remove(job, directory));
            return;
        }
        let stages = clean.remove_stage_ids.into_iter();
        let stages: Vec<_> = stages
            .map(|stage| directory.join(stage.to_string()))
            .collect();
        tokio::task::spawn_blocking(move || {
            for directory in stages {
                // Not there: this executor had no task of it.
                let _ = std::fs::remove_dir_all(directory);
            }
        });
    }

    /// Removes the files of a job that is over. A task that was ended may write until it is out of its last batch, so they are removed until none has come
    /// after the last of its tasks.
    async fn remove(self: Arc<Self>, job: String, directory: PathBuf) {
        let begin = Instant::now();
        let mut is_last = false;
        loop {
            let of_job = directory.clone();
            let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(of_job)).await;
            let runs = self.running().keys().any(|(of, ..)| *of == job);
            if is_last || begin.elapsed() > GIVE_UP {
                return;
            }
            is_last = !runs;
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// The session whose nodes find the lakes to convert ranges of.
fn with_extension(state: SessionState, converters: Arc<Converters>) -> SessionState {
    let config = state.config().clone().with_extension(converters);
    SessionStateBuilder::new_from_existing(state)
        .with_config(config)
        .build()
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
