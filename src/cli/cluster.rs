//! `iolode cluster`: the processes of a cluster, and what it says of itself.

use super::cluster_sbatch;
use super::exit::Exit;
use super::screen::Terminal;
use super::{interrupt, size, warnings};
use crate::answer::analysis::DERIVED;
use crate::cluster::executor::{self, ExecutorOptions};
use crate::cluster::{ConnectFile, scheduler, status, stop};
use crate::engine::runtime;
use crate::error::Error;
use crate::lake::{Lake, OstSet};
use crate::text::{ranges, shown, shown_path};
use chrono::TimeDelta;
use clap::Subcommand;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Write;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Run queries over many nodes: start a scheduler and executors, and show and stop them
#[derive(clap::Args)]
#[command(after_help = "\
A scheduler writes a connect file with its address and keys; executors, clients and this command read it. Whoever may read it may use the cluster.

Examples:
  iolode cluster scheduler --connect-file cluster.toml
  iolode cluster executor --connect-file cluster.toml --lake /scratch/lake
  iolode cluster status --connect-file cluster.toml
  iolode sql --lake /scratch/lake --cluster cluster.toml
  iolode cluster sbatch --lake /scratch/lake --nodes 4 > job.sh  # with Slurm")]
pub(super) struct Args {
    #[command(subcommand)]
    what: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    Scheduler(SchedulerArgs),
    Executor(ExecutorArgs),
    Status(StatusArgs),
    Stop(StopArgs),
    Sbatch(cluster_sbatch::Args),
}

/// Cut queries into stages and hand them to executors
#[derive(clap::Args)]
#[command(after_help = "\
A connect file that is there and holds is used again, with its keys, and its address unless another port is asked for; so a scheduler can be restarted, and executors find it again.

Example:
  iolode cluster scheduler --connect-file cluster.toml --bind 10.0.0.1:7070")]
struct SchedulerArgs {
    /// The file for address and keys, which its owner alone may read
    #[arg(long, value_name = "FILE")]
    connect_file: PathBuf,
    /// Address and port to listen at; port 0 is any that is free (default: all addresses, any port)
    #[arg(long, value_name = "ADDR")]
    bind: Option<String>,
    /// Name or address under which others reach this host (default: that of --bind, else the name of the host)
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// How long the keys hold, in days
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    valid: u32,
}

/// Read lakes and run stages of queries
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  iolode cluster executor --connect-file cluster.toml --lake /scratch/lake
  iolode cluster executor --connect-file c.toml --lake /lake --work-dir /local
  iolode cluster executor --connect-file c.toml --lake /lake --osts 0-15")]
struct ExecutorArgs {
    /// The connect file that the scheduler wrote
    #[arg(long, value_name = "FILE")]
    connect_file: PathBuf,
    /// A lake that it reads, under the path that clients give; may be given several times
    #[arg(long, value_name = "LAKE", required = true)]
    lake: Vec<PathBuf>,
    /// Number of cores (default: all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: Option<u16>,
    /// OSTs whose files it reads before all others, such as 0-15,31 (default: they are shared out among the executors)
    #[arg(long, value_name = "LIST")]
    osts: Option<OstSet>,
    /// Memory for sorts, joins and groupings of all its tasks together (default: half of the machine's, or of its control group's if that is less)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// Directory for shuffle and spill files (default: that for temporary files)
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Address and port to listen at; port 0 is any that is free (default: all addresses, any port)
    #[arg(long, value_name = "ADDR")]
    bind: Option<String>,
    /// Name or address under which others reach this host (default: that of --bind, else the name of the host)
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

/// Show the executors of a cluster, and until when its keys hold
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  iolode cluster status --connect-file cluster.toml")]
struct StatusArgs {
    /// The connect file that the scheduler wrote
    #[arg(long, value_name = "FILE")]
    connect_file: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// End a cluster: executors finish what they run, then all processes end
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  iolode cluster stop --connect-file cluster.toml")]
struct StopArgs {
    /// The connect file that the scheduler wrote
    #[arg(long, value_name = "FILE")]
    connect_file: PathBuf,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    match &args.what {
        ClusterCommand::Scheduler(args) => run_scheduler(args)?,
        ClusterCommand::Executor(args) => run_executor(args)?,
        ClusterCommand::Status(args) => show(args, screen)?,
        ClusterCommand::Stop(args) => {
            let keys = ConnectFile::read(&args.connect_file)?;
            runtime(Some(2))?.block_on(stop(&keys))?;
        }
        ClusterCommand::Sbatch(args) => cluster_sbatch::run(args, screen)?,
    }
    Ok(Exit::Done)
}

/// A port to listen at, and the address under which others reach it.
async fn listen(bind: Option<&str>, host: Option<&str>) -> anyhow::Result<(TcpListener, String)> {
    let bind = bind.unwrap_or("0.0.0.0:0");
    let refused = |e: &dyn std::fmt::Display| {
        Error::Invalid(format!("cannot listen at {}: {e}", shown(bind)))
    };
    let with_port = match bind.contains(':') {
        true => bind.to_string(),
        false => format!("{bind}:0"),
    };
    let address: SocketAddr = with_port
        .to_socket_addrs()
        .map_err(|e| refused(&e))?
        .next()
        .ok_or_else(|| refused(&"no such address"))?;
    let listener = TcpListener::bind(address).await.map_err(|e| refused(&e))?;
    let address = listener.local_addr().map_err(|e| refused(&e))?;
    let host = match (host, address.ip().is_unspecified()) {
        (Some(host), _) => {
            let known = (host, address.port()).to_socket_addrs();
            known.map_err(|e| Error::Invalid(format!("--host {}: {e}", shown(host))))?;
            host.to_string()
        }
        (None, false) => address.ip().to_string(),
        (None, true) => host_name(),
    };
    Ok((listener, host))
}

/// The name of this host.
fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_else(|_| "localhost".into());
    name.to_string_lossy().into_owned()
}

/// Allows as many open files, and with them connections, as the system lets this process have: shells give fewer by default.
fn open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Fewer do as well.
    let _ = setrlimit(Resource::Nofile, most);
}

fn run_scheduler(args: &SchedulerArgs) -> anyhow::Result<()> {
    warnings::show(warnings::Logger::Service);
    open_files();
    let file = args.connect_file.as_path();
    let before = file.exists().then(|| ConnectFile::read(file)).transpose();
    // Keys that have expired, or of another version, are made anew; a file that others can read is refused.
    let before = match before {
        Ok(before) => before,
        Err(Error::Unsupported { reason, .. }) => {
            let why = reason.split(';').next().unwrap_or_default();
            warnings::say(format_args!(
                "{}: {why}; it gets new keys, and executors and clients need the new file",
                shown_path(file)
            ));
            None
        }
        Err(error) => return Err(error.into()),
    };
    runtime(Some(2))?.block_on(async {
        let bind = args.bind.as_deref();
        let host = args.host.as_deref();
        let again = before
            .as_ref()
            .and_then(|keys| again(bind, &keys.scheduler));
        let listening = match &again {
            // The address that executors and clients know. Where it is taken, another does as well if any was asked for.
            Some(again) => match (listen(Some(again), host).await, &before) {
                (Err(_), Some(keys)) if status(keys).await.is_ok() => {
                    return Err(Error::Invalid(format!(
                        "the scheduler of this connect file runs already, at {}; `iolode cluster stop --connect-file {}` ends its cluster",
                        shown(&keys.scheduler),
                        shown_path(file)
                    ))
                    .into());
                }
                (Err(_), _) if bind.is_some() => listen(bind, host).await,
                (listening, _) => listening,
            },
            None => listen(bind, host).await,
        };
        let (listener, host) = listening?;
        let port = listener.local_addr()?.port();
        let keys = match before {
            Some(keys)
                if args.host.is_none() && (bind.is_none() || is_port(&keys.scheduler, port)) =>
            {
                keys
            }
            Some(keys) => keys.at(format!("{host}:{port}")),
            None => {
                let valid = TimeDelta::days(args.valid.into());
                ConnectFile::new(format!("{host}:{port}"), valid)?
            }
        };
        keys.write(file)?;
        warnings::say(format_args!(
            "scheduler at {}; its keys, in {}, hold until {}",
            keys.scheduler,
            shown_path(file),
            keys.valid_until
        ));
        scheduler::serve(listener, keys, Arc::new(warnings::say), interrupted()?).await?;
        warnings::say("scheduler ended");
        anyhow::Ok(())
    })
}

/// Where a scheduler listens again that was at `before`, if any port is as good; None if another was asked for.
fn again(bind: Option<&str>, before: &str) -> Option<String> {
    let (host, port) = before.rsplit_once(':')?;
    match bind {
        // A name stands for all addresses of this host.
        None => match host.parse::<IpAddr>() {
            Ok(_) => Some(before.to_string()),
            Err(_) => Some(format!("0.0.0.0:{port}")),
        },
        Some(bind) => match bind.rsplit_once(':') {
            Some((host, "0")) => Some(format!("{host}:{port}")),
            Some(_) => None,
            None => Some(format!("{bind}:{port}")),
        },
    }
}

/// Whether an address has this port.
fn is_port(address: &str, port: u16) -> bool {
    let of = address.rsplit_once(':').map(|(_, port)| port);
    of == Some(port.to_string().as_str())
}

/// Waits for the scheduler, unless its keys are those of another cluster.
async fn reach(keys: &ConnectFile) -> anyhow::Result<()> {
    let begin = Instant::now();
    loop {
        let Err(error) = status(keys).await else {
            return Ok(());
        };
        let waits = error.to_string().starts_with("no scheduler answers");
        if !waits || begin.elapsed() > REACH {
            return Err(error.into());
        }
        if begin.elapsed() < RETRY {
            warnings::say(format_args!("{error}; waiting for it"));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// How long an executor waits for its scheduler.
const REACH: Duration = Duration::from_secs(60);

/// Time between tries.
const RETRY: Duration = Duration::from_secs(1);

fn run_executor(args: &ExecutorArgs) -> anyhow::Result<()> {
    warnings::show(warnings::Logger::Service);
    open_files();
    let keys = ConnectFile::read(&args.connect_file)?;
    let lakes = args.lake.iter().map(Lake::open);
    let lakes = lakes.collect::<Result<Vec<_>, _>>()?;
    let cores = args.cores.map_or_else(
        || std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        usize::from,
    );
    let memory = args
        .memory
        .map_or_else(super::session::half_of_memory, |m| usize::try_from(m).ok());
    let work_dir = args.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    let threads = runtime(Some(cores + 1))?;
    threads.block_on(async {
        let (listener, host) = listen(args.bind.as_deref(), args.host.as_deref()).await?;
        reach(&keys).await?;
        // Before it says that it is there.
        let usable = tempfile::tempdir_in(&work_dir);
        usable.map_err(|e| Error::io(&work_dir, "cannot use", e))?;
        warnings::say(format_args!(
            "executor at {host}:{} with {} for {}",
            listener.local_addr()?.port(),
            size::counted(cores, "core", "cores"),
            keys.scheduler
        ));
        let options = ExecutorOptions {
            lakes,
            derived: DERIVED,
            cores,
            osts: args.osts.clone().map(|osts| osts.0),
            memory,
            work_dir,
            host,
        };
        executor::run(listener, keys, options, interrupted()?).await?;
        warnings::say("executor ended");
        anyhow::Ok(())
    })
}

/// Ends when the process is asked to end.
fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    let (during, notify) = interrupt::during_statement()?;
    Ok(async move {
        notify.notified().await;
        drop(during);
    })
}

fn show(args: &StatusArgs, screen: &mut Terminal) -> anyhow::Result<()> {
    let keys = ConnectFile::read(&args.connect_file)?;
    let status = runtime(Some(2))?.block_on(status(&keys))?;
    if args.json {
        writeln!(screen.data, "{}", serde_json::to_string_pretty(&status)?)?;
        return Ok(());
    }
    writeln!(
        screen.data,
        "scheduler {}, iolode {}, keys hold until {}",
        keys.scheduler, status.version, status.valid_until
    )?;
    writeln!(
        screen.data,
        "{}, {}, {} running",
        size::counted(status.executors.len(), "executor", "executors"),
        size::counted(status.cores(), "core", "cores"),
        match status.queries {
            1 => "1 query".to_string(),
            n => format!("{n} queries"),
        }
    )?;
    for executor in &status.executors {
        let lakes = executor.lakes.iter().map(|(_, root)| Path::new(root));
        let lakes: Vec<_> = lakes.map(|root| shown_path(root).to_string()).collect();
        let memory = executor.memory.map_or("no bound".into(), size::show);
        let osts = executor.osts.as_ref().map_or_else(String::new, |osts| {
            let mut osts: Vec<u64> = osts.iter().map(|ost| *ost as u64).collect();
            osts.sort_unstable();
            format!(", OST {}", ranges(&osts))
        });
        writeln!(
            screen.data,
            "  {}  {}, memory {memory}, {}{osts}",
            shown(&executor.address),
            size::counted(executor.cores, "core", "cores"),
            lakes.join(", ")
        )?;
    }
    Ok(())
}
