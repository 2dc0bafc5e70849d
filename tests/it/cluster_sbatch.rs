//! The script of `iolode cluster sbatch`, run by bash with stand-ins for `srun` and `scancel`.
//!
//! A machine that tests run on has no Slurm. The stand-ins start the tasks of a step as processes on loopback, and send a signal to all of them; that Slurm itself
//! takes the script is what `scripts/slurm_cluster.sh` shows.

use crate::cluster::month;
use crate::cluster_processes::wait;
use iolode::cluster::{ConnectFile, status};
use iolode::engine::runtime;
use iolode::lake::{CreateOptions, Lake};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

crate::tests! {
    [Bash] => {
        a_batch_script_runs_a_cluster_until_it_gets_sigterm,
        a_batch_script_whose_scheduler_is_killed_fails_and_ends_its_executors,
        a_batch_script_whose_executors_cannot_start_fails_and_ends_its_scheduler,
        bash_accepts_a_batch_script_with_odd_paths_and_they_arrive,
        a_batch_script_for_what_is_no_lake_is_refused,
    }
}

/// Starts as many processes of the command as the step has tasks, on loopback. Their pids go to a file.
const SRUN: &str = r#"#!/bin/bash
tasks=1
while [[ $1 == --* ]]; do
    case $1 in --ntasks=*) tasks=${1#*=} ;; esac
    shift
done
pids=()
for ((i = 0; i < tasks; i++)); do
    "$@" --bind 127.0.0.1:0 &
    pids+=($!)
    echo "$3 $!" >> "$PIDS"
done
code=0
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit $code
"#;

/// Sends SIGTERM to all processes that the other has started.
const SCANCEL: &str = r#"#!/bin/bash
cut -d ' ' -f 2 "$PIDS" | xargs -r kill -TERM 2> /dev/null
true
"#;

/// A batch script that runs, as a job whose only nodes are this machine.
struct Job {
    directory: tempfile::TempDir,
    script: Child,
}

impl Job {
    fn start(printed: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for (name, text) in [("srun", SRUN), ("scancel", SCANCEL), ("job.sh", printed)] {
            std::fs::write(path(name), text).unwrap();
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(path("pids"), "").unwrap();
        let before = std::env::var("PATH").unwrap();
        let script = Command::new("bash")
            .arg(path("job.sh"))
            .env("PATH", format!("{}:{before}", directory.path().display()))
            .env("PIDS", path("pids"))
            .env("SLURM_SUBMIT_DIR", directory.path())
            .env("SLURM_JOB_ID", "7")
            .env("SLURMD_NODENAME", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { directory, script }
    }

    /// Its connect file, if it was told no other.
    fn file(&self) -> PathBuf {
        self.directory.path().join("iolode-cluster-7.toml")
    }

    /// The pids of the processes of a kind, `scheduler` or `executor`, that were started.
    fn pids(&self, kind: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join("pids")).unwrap();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let of_kind = lines.filter(|(of, _)| *of == kind);
        of_kind.map(|(_, pid)| pid.to_string()).collect()
    }

    /// All of them that run.
    fn running(&self) -> Vec<String> {
        let mut pids = [self.pids("scheduler"), self.pids("executor")].concat();
        pids.retain(|pid| Path::new("/proc").join(pid).exists());
        pids
    }

    /// Waits until so many executors are there.
    fn present(&self, executors: usize) -> ConnectFile {
        let threads = runtime(Some(2)).unwrap();
        wait(|| {
            let keys = ConnectFile::read(&self.file()).ok()?;
            let status = threads.block_on(status(&keys)).ok()?;
            (status.executors.len() == executors).then_some(keys)
        })
    }

    /// Waits until the script and all that it started have ended.
    fn ended(&mut self) -> ExitStatus {
        let status = wait(|| self.script.try_wait().unwrap());
        wait(|| self.running().is_empty().then_some(()));
        status
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
        self.running().iter().for_each(|pid| send("KILL", pid));
    }
}

fn send(signal: &str, pid: &str) {
    let mut command = Command::new("bash");
    command.args(["-c", "kill -s \"$0\" \"$1\"", signal, pid]);
    command.status().unwrap();
}

fn iolode(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolode"));
    command.args(arguments).output().unwrap()
}

fn sbatch(lake: &Path, more: &[&str]) -> String {
    let lake = lake.to_str().unwrap();
    let output = iolode(&[&["cluster", "sbatch", "--lake", lake], more].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn a_batch_script_runs_a_cluster_until_it_gets_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let root = lake.root().unwrap();
    let work_dir = directory.path().join("work");
    std::fs::create_dir(&work_dir).unwrap();
    let work = work_dir.to_str().unwrap();
    let options = [
        "--nodes",
        "2",
        "--cores",
        "1",
        "--memory",
        "256M",
        "--work-dir",
        work,
    ];
    let mut job = Job::start(&sbatch(root, &options));
    let keys = job.present(2);
    assert!(
        keys.scheduler.starts_with("127.0.0.1:"),
        "{}",
        keys.scheduler
    );
    // Both processes read the options.
    let threads = runtime(Some(2)).unwrap();
    for executor in threads.block_on(status(&keys)).unwrap().executors {
        assert_eq!((executor.cores, executor.memory), (1, Some(256 << 20)));
        assert_eq!(executor.lakes[0].1, root.to_str().unwrap());
    }
    assert_eq!(std::fs::read_dir(&work_dir).unwrap().count(), 2);

    let sql = "SELECT app, count(*) AS n FROM darshan_log GROUP BY app ORDER BY n DESC, app";
    let lake = root.to_str().unwrap();
    let ask = ["sql", "--lake", lake, "--format", "csv", "-v", "-c", sql];
    let here = iolode(&ask);
    let file = job.file();
    let cluster = ["--cluster", file.to_str().unwrap(), "--cluster-above", "0"];
    let elsewhere = iolode(&[&ask[..], &cluster].concat());
    let said = String::from_utf8_lossy(&elsewhere.stderr);
    assert!(said.contains("ran on the cluster"), "{said}");
    assert_eq!(here.stdout, elsewhere.stdout);
    assert!(here.stdout.iter().filter(|byte| **byte == b'\n').count() > 1);

    assert_eq!(job.running().len(), 3);
    // To the script alone, as Slurm does with --signal=B:TERM@60.
    send("TERM", &job.script.id().to_string());
    assert!(job.ended().success());
    assert!(threads.block_on(status(&keys)).is_err());
    assert!(!job.file().exists());
    assert_eq!(std::fs::read_dir(&work_dir).unwrap().count(), 0);
}

fn a_batch_script_whose_scheduler_is_killed_fails_and_ends_its_executors() {
    let directory = tempfile::tempdir().unwrap();
    let lake = month(directory.path());
    let mut job = Job::start(&sbatch(
        lake.root().unwrap(),
        &["--nodes", "1", "--cores", "1"],
    ));
    job.present(1);
    send("KILL", &job.pids("scheduler")[0]);
    assert_eq!(job.ended().code(), Some(137));
}

fn a_batch_script_whose_executors_cannot_start_fails_and_ends_its_scheduler() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("lake");
    Lake::create(&root, &CreateOptions::default()).unwrap();
    let printed = sbatch(&root, &["--nodes", "2", "--cores", "1"]);
    std::fs::remove_dir_all(&root).unwrap();
    let mut job = Job::start(&printed);
    assert_eq!(job.ended().code(), Some(2));
    assert_eq!(job.pids("executor").len(), 2);
}

fn bash_accepts_a_batch_script_with_odd_paths_and_they_arrive() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["my lake", "it's", "$(touch x)`a`", "\"#;&|*?[a]{b}~!\\"] {
        let root = directory.path().join(name);
        Lake::create(&root, &CreateOptions::default()).unwrap();
        // The path of a lake has no control characters, those of other files may.
        let others =
            ["\n.toml", "\n-work"].map(|end| directory.path().join(name.to_string() + end));
        let lake = root.to_str().unwrap();
        let [path, work] = [0, 1].map(|other| others[other].to_str().unwrap());
        let options = ["--nodes", "3", "--connect-file", path, "--work-dir", work];
        let printed = sbatch(&root, &options);
        let script = directory.path().join("job.sh");
        std::fs::write(&script, &printed).unwrap();
        let checked = Command::new("bash")
            .arg("-n")
            .arg(&script)
            .output()
            .unwrap();
        assert!(checked.status.success(), "{checked:?}\n{printed}");
        assert!(checked.stderr.is_empty(), "{checked:?}");
        // The variables, as bash reads them.
        let lines = printed.lines().skip_while(|line| *line != "set -u");
        let variables = lines.take_while(|line| !line.contains("is_running()"));
        let show = "printf '%s\\0' \"$iolode\" \"$connect_file\" \"${executor_options[@]}\"";
        let read = variables.chain([show]).collect::<Vec<_>>().join("\n");
        let read = Command::new("bash").args(["-c", &read]).output().unwrap();
        let words: Vec<_> = read.stdout.split(|byte| *byte == 0).collect();
        let program = std::fs::canonicalize(env!("CARGO_BIN_EXE_iolode")).unwrap();
        let program = program.to_str().unwrap();
        let expected = [program, path, "--lake", lake, "--work-dir", work, ""];
        assert_eq!(words, expected.map(str::as_bytes), "{printed}");
    }
}

fn a_batch_script_for_what_is_no_lake_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let none = directory.path().join("none");
    let lake = none.to_str().unwrap();
    let output = iolode(&["cluster", "sbatch", "--lake", lake, "--nodes", "2"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("none: there is none"), "{said}");
}
