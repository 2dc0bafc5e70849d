//! A cluster on loopback: scheduler and executors are processes of the program, ended by their pid.

// Each of the two programs of tests uses a part of it.
#![allow(dead_code)]

use iolode::cluster::{ClusterStatus, ConnectFile, status};
use iolode::engine::runtime;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time that processes have to start in.
const START: Duration = Duration::from_secs(60);

/// The processes, which end with this value.
pub(crate) struct Cluster {
    directory: tempfile::TempDir,
    scheduler: Child,
    executors: Vec<Child>,
}

impl Cluster {
    /// A scheduler, and `executors` of so many cores that read `lakes`.
    pub(crate) fn start(lakes: &[&Path], executors: usize, cores: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scheduler = scheduler(&directory.path().join("cluster.toml"));
        let mut cluster = Self {
            directory,
            scheduler,
            executors: vec![],
        };
        wait(|| ConnectFile::read(&cluster.file()).ok());
        for _ in 0..executors {
            cluster.add(lakes, cores, &[]);
        }
        cluster.present(executors);
        cluster
    }

    /// One more executor, which is not waited for.
    pub(crate) fn add(&mut self, lakes: &[&Path], cores: usize, more: &[&str]) -> &mut Child {
        self.start_executor(program(), lakes, cores, more)
    }

    fn start_executor(
        &mut self,
        mut command: Command,
        lakes: &[&Path],
        cores: usize,
        more: &[&str],
    ) -> &mut Child {
        command.args(["cluster", "executor", "--bind", "127.0.0.1:0", "--cores"]);
        command.arg(cores.to_string()).args(more);
        command.arg("--connect-file").arg(self.file());
        command.arg("--work-dir").arg(self.directory.path());
        for lake in lakes {
            command.arg("--lake").arg(lake);
        }
        self.executors.push(command.spawn().unwrap());
        self.executors.last_mut().unwrap()
    }

    /// One more executor under strace, which notes the files that it opens.
    pub(crate) fn add_traced(&mut self, lakes: &[&Path], trace: &Path) {
        let mut command = Command::new("strace");
        // strace is the grandchild, so that the child's pid is the executor's.
        command.args([
            "-D",
            "-f",
            "-qq",
            "-e",
            "trace=openat,openat2",
            "-s",
            "4096",
            "-o",
        ]);
        command.arg(trace).arg(env!("CARGO_BIN_EXE_iolode"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        self.start_executor(command, lakes, 1, &[]);
    }

    /// Ends the scheduler without a word, and starts it again with its connect file.
    pub(crate) fn restart_scheduler(&mut self) {
        self.scheduler.kill().unwrap();
        self.scheduler.wait().unwrap();
        let mut command = program();
        command.args(["cluster", "scheduler", "--bind", "127.0.0.1:0"]);
        command.arg("--connect-file").arg(self.file());
        self.scheduler = command.spawn().unwrap();
    }

    /// The connect file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("cluster.toml")
    }

    /// Where the connect file and the work directories of executors are.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kills an executor.
    pub(crate) fn kill(&mut self, executor: usize) {
        self.executors[executor].kill().unwrap();
        self.executors[executor].wait().unwrap();
    }

    /// Waits until all processes have ended by themselves, and well.
    pub(crate) fn ended(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]) {
            let status = wait(|| child.try_wait().unwrap());
            assert!(status.success());
        }
    }

    /// Sends the scheduler a signal.
    pub(crate) fn signal_scheduler(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.scheduler);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits until so many queries run.
    pub(crate) fn queries(&self, queries: usize) {
        let runtime = runtime(Some(2)).unwrap();
        let keys = ConnectFile::read(&self.file()).unwrap();
        wait(|| {
            let status = runtime.block_on(status(&keys)).ok()?;
            (status.queries == queries).then_some(())
        });
    }

    /// Hundredths of a second that all executors have computed.
    fn computed(&self) -> u64 {
        let of = |child: &Child| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            let fields = stat.rsplit(')').next().unwrap().split_whitespace();
            let ticks = fields.skip(11).take(2);
            ticks
                .map(|ticks| ticks.parse::<u64>().unwrap())
                .sum::<u64>()
        };
        self.executors.iter().map(of).sum()
    }

    /// Waits until executors have computed for a second.
    pub(crate) fn busy(&self) {
        let before = self.computed();
        wait(|| (self.computed() > before + 100).then_some(()));
    }

    /// Waits until no executor computes any more; asking for tasks takes a hundredth of a core.
    pub(crate) fn idle(&self) {
        let mut before = self.computed();
        wait(|| {
            std::thread::sleep(Duration::from_millis(500));
            let now = self.computed();
            let is_idle = now - before < 20;
            before = now;
            is_idle.then_some(())
        });
    }

    /// Waits until so many executors are there.
    pub(crate) fn present(&self, executors: usize) -> ClusterStatus {
        let runtime = runtime(Some(2)).unwrap();
        let keys = ConnectFile::read(&self.file()).unwrap();
        wait(|| {
            let status = runtime.block_on(status(&keys)).ok()?;
            (status.executors.len() == executors).then_some(status)
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolode"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn scheduler(file: &Path) -> Child {
    let mut command = program();
    command.args([
        "cluster",
        "scheduler",
        "--bind",
        "127.0.0.1:0",
        "--connect-file",
    ]);
    command.arg(file).spawn().unwrap()
}

/// Looks until there is something.
pub(crate) fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < START, "a process did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}
