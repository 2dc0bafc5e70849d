//! `iolode cluster sbatch`: a batch script that runs a cluster as one job of Slurm.
//!
//! The script is a head, which depends on the options (`#SBATCH` lines, then variables), and [`BODY`], which does not.

use super::screen::Terminal;
use super::size;
use crate::cluster::VERSION;
use crate::error::Error;
use crate::lake::Lake;
use crate::text::quoted;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print a batch script for Slurm that runs a cluster as one job
#[derive(clap::Args, Default)]
#[command(after_help = "\
The scheduler runs on the first node of the job, an executor on each node. The script says how to query through the cluster and how to end it. The nodes must see this program and the lakes under their paths here, and reach each other by their names. Slurm must be 20.11 or newer.

The job takes whole nodes. With both --cores and --memory it takes these cores of each node and twice that memory, as an executor also holds what --memory does not count.

Examples:
  iolode cluster sbatch --lake /scratch/lake --nodes 4 --time 2:00:00 > job.sh
  iolode cluster sbatch --lake /scratch/lake --nodes 4 --partition io | sbatch
  iolode cluster sbatch --lake /l --nodes 2 --cores 8 --memory 16G > job.sh")]
pub(super) struct Args {
    /// A lake that the cluster reads, under the path that clients give; may be given several times
    #[arg(long, value_name = "LAKE", required = true)]
    lake: Vec<PathBuf>,
    /// Number of nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    nodes: u32,
    /// Time limit of the job, 60 s before which the cluster is stopped: minutes, H:MM:SS or D-HH:MM:SS (default: that of the partition)
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    time: Option<String>,
    /// Account that pays for the job
    #[arg(long, value_name = "NAME", value_parser = name)]
    account: Option<String>,
    /// Partition of the job
    #[arg(long, value_name = "NAME", value_parser = name)]
    partition: Option<String>,
    /// Number of cores of each executor (default: all of its node)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: Option<u16>,
    /// Memory for sorts, joins and groupings of each executor (default: half of what the job has on its node)
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// Directory on each node for shuffle and spill files (default: that for temporary files)
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// The connect file, on a file system that all nodes share (default: iolode-cluster-JOBID.toml in the directory that sbatch is called in)
    #[arg(long, value_name = "FILE")]
    connect_file: Option<PathBuf>,
}

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<()> {
    let program = std::env::current_exe()
        .map_err(|e| Error::Invalid(format!("cannot find the path of this program: {e}")))?;
    let lakes = args.lake.iter().map(|lake| {
        let lake = Lake::open(lake)?;
        Ok(lake.root().map(Path::to_path_buf).unwrap_or_default())
    });
    let lakes = lakes.collect::<Result<Vec<_>, Error>>()?;
    write!(screen.data, "{}", script(args, &program, &lakes)?)?;
    Ok(())
}

/// The script, for lakes by their absolute paths.
fn script(args: &Args, program: &Path, lakes: &[PathBuf]) -> Result<String, Error> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path).map_err(|e| Error::io(path, "cannot use as a path", e))
    };
    let connect_file = args.connect_file.as_ref().map(absolute).transpose()?;
    let work_dir = args.work_dir.as_ref().map(absolute).transpose()?;

    // Words for the shell.
    let program = quoted(program);
    let mut options: Vec<String> = vec![];
    options.extend(lakes.iter().map(|lake| format!("--lake {}", quoted(lake))));
    options.extend(args.cores.map(|cores| format!("--cores {cores}")));
    options.extend(args.memory.map(|bytes| format!("--memory {}", unit(bytes))));
    let work_dir = work_dir.map(|directory| format!("--work-dir {}", quoted(&directory)));
    options.extend(work_dir);
    let cpus = args.cores.map(|cores| format!(" --cpus-per-task={cores}"));
    let (file, typed, place) = match &connect_file {
        Some(file) => (quoted(file), quoted(file), ""),
        None => (
            "\"$SLURM_SUBMIT_DIR/iolode-cluster-$SLURM_JOB_ID.toml\"".into(),
            "iolode-cluster-JOBID.toml".into(),
            ", in the directory that sbatch was called in",
        ),
    };
    let lake = lakes.first().map(|lake| quoted(lake)).unwrap_or_default();

    Ok(format!(
        "\
#!/bin/bash
# A cluster of iolode {VERSION} as a job of Slurm: a scheduler on the first node, an executor on each node.
#
# While the job runs, query through its cluster{place}:
#
#   {program} sql --lake {lake} --cluster {typed}
#
# JOBID is the number that sbatch prints. These end the job:
#
#   {program} cluster stop --connect-file {typed}
#   scancel --batch --signal=TERM JOBID    # does the same
#   scancel JOBID    # at once, without `iolode cluster stop`
#
{directives}
set -u
iolode={program}
connect_file={file}
executor_options=({options})
executor_srun=(--nodes={nodes} --ntasks={nodes} --ntasks-per-node=1{cpus})
{BODY}",
        directives = directives(args),
        options = options.join(" "),
        nodes = args.nodes,
        cpus = cpus.unwrap_or_default(),
    ))
}

/// What the job asks of Slurm.
fn directives(args: &Args) -> String {
    let mut lines = vec!["--job-name=iolode-cluster".to_string()];
    lines.push(format!("--nodes={}", args.nodes));
    lines.push("--ntasks-per-node=1".into());
    lines.extend(args.cores.map(|cores| format!("--cpus-per-task={cores}")));
    match (args.cores, args.memory) {
        (Some(_), Some(bytes)) => {
            lines.push(format!("--mem={}M", bytes.div_ceil(1 << 19).max(1)));
        }
        // Without --mem=0 an exclusive job has all cores of its nodes, but not all memory.
        _ => lines.extend(["--exclusive".into(), "--mem=0".into()]),
    }
    lines.extend(args.time.iter().map(|time| format!("--time={time}")));
    let account = args.account.iter();
    lines.extend(account.map(|account| format!("--account={account}")));
    let partition = args.partition.iter();
    lines.extend(partition.map(|partition| format!("--partition={partition}")));
    // A lost node ends no job: statements are sent again.
    lines.push("--no-kill".into());
    lines.push("--signal=B:TERM@60".into());
    let lines = lines.iter().map(|line| format!("#SBATCH {line}\n"));
    lines.collect()
}

/// What the script does.
const BODY: &str = r#"
is_running() { kill -0 "$1" 2> /dev/null; }

# Sends SIGTERM to the processes of all steps, but not to this script.
terminate_steps() { scancel --signal=TERM "$SLURM_JOB_ID" 2> /dev/null; }

# Stops the cluster.
stop() {
    stopping=yes
    "$iolode" cluster stop --connect-file "$connect_file" || terminate_steps
}

# Slurm sends SIGTERM to this script 60 s before the time limit.
stopping=no
trap stop TERM

# The scheduler. --overlap: the two steps share the cores of this node.
srun --overlap --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist="$SLURMD_NODENAME" \
    "$iolode" cluster scheduler --connect-file "$connect_file" --host "$SLURMD_NODENAME" &
scheduler=$!
until "$iolode" cluster status --connect-file "$connect_file" > /dev/null 2>&1; do
    is_running "$scheduler" || break
    sleep 1
done

# The executors. If one is lost, the others go on, whatever the site has configured.
executors=
if is_running "$scheduler" && [ "$stopping" = no ]; then
    trap 'rm -f -- "$connect_file"' EXIT
    srun --overlap --no-kill --kill-on-bad-exit=0 --wait=0 --cpu-bind=none "${executor_srun[@]}" \
        "$iolode" cluster executor --connect-file "$connect_file" "${executor_options[@]}" &
    executors=$!
fi

# After `iolode cluster stop` both steps end. If one ends otherwise, the other is stopped.
while is_running "$scheduler" && is_running "$executors"; do sleep 1; done
for ((i = 0; i < 5; i++)); do is_running "$scheduler" && sleep 1; done
if is_running "$scheduler"; then stop; fi
while is_running "$scheduler"; do sleep 1; done
wait "$scheduler"
scheduler_code=$?
if [ "$scheduler_code" != 0 ]; then
    echo "iolode: the scheduler ended with exit code $scheduler_code" >&2
    terminate_steps
fi
while is_running "$executors"; do sleep 1; done
executors_code=0
if [ -n "$executors" ]; then
    wait "$executors"
    executors_code=$?
fi
echo "iolode: the cluster has ended; exit code of the executors: $executors_code"
[ "$scheduler_code" = 0 ] || exit "$scheduler_code"
exit "$executors_code"
"#;

/// A size in the largest unit that has it as a whole number.
fn unit(bytes: u64) -> String {
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit = units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    unit.map_or(bytes.to_string(), |(unit, name)| {
        format!("{}{name}", bytes / unit)
    })
}

/// A time limit as sbatch reads it, of two minutes or more.
fn time_limit(text: &str) -> Result<String, String> {
    let expected = || "expected minutes, H:MM:SS or D-HH:MM:SS, such as 2:00:00".to_string();
    let number = |part: &str| {
        let is_plain = part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_plain).map(u64::from)
    };
    // Only the first of them may go on where the next unit begins.
    let numbers = |clock: &str| {
        let all = clock.split(':').map(number).collect::<Option<Vec<u64>>>()?;
        all.iter().skip(1).all(|n| *n < 60).then_some(all)
    };
    let seconds = match text.split_once('-') {
        Some((days, clock)) => match (number(days), numbers(clock).as_deref()) {
            (Some(days), Some([hours, rest @ ..])) if *hours < 24 && rest.len() <= 2 => {
                let rest = rest.iter().zip([60, 1]).map(|(n, unit)| n * unit);
                days * 86_400 + hours * 3600 + rest.sum::<u64>()
            }
            _ => return Err(expected()),
        },
        None => match numbers(text).as_deref() {
            Some([minutes]) => minutes * 60,
            Some([minutes, seconds]) => minutes * 60 + seconds,
            Some([hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
            _ => return Err(expected()),
        },
    };
    match seconds >= 120 {
        true => Ok(text.into()),
        false => Err("expected 2 minutes or more, as the cluster is stopped 60 s before".into()),
    }
}

/// The memory of an executor, with which it can run something.
fn memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    match bytes >= LEAST_MEMORY {
        true => Ok(bytes),
        false => Err(format!("expected {} or more", unit(LEAST_MEMORY))),
    }
}

/// With less than this an executor can sort and join next to nothing.
const LEAST_MEMORY: u64 = 64 << 20;

/// A name in a line of `#SBATCH`, which has quotes of its own.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.,+:@%/".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.into()),
        false => Err("expected a name without spaces and quotes".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(args: Args, lakes: &[&str]) -> String {
        let lakes: Vec<PathBuf> = lakes.iter().map(PathBuf::from).collect();
        script(&args, Path::new("/opt/iolode"), &lakes).unwrap()
    }

    fn has(script: &str, line: &str) -> bool {
        script.lines().any(|of| of == line)
    }

    #[test]
    fn every_option_is_in_the_script() {
        let args = Args {
            nodes: 4,
            time: Some("1-02:00:00".into()),
            account: Some("m42".into()),
            partition: Some("io,large".into()),
            cores: Some(8),
            memory: Some(16 << 30),
            work_dir: Some("/local".into()),
            connect_file: Some("/home/u/c.toml".into()),
            ..Args::default()
        };
        let script = printed(args, &["/scratch/a", "/scratch/b"]);
        for line in [
            "#SBATCH --nodes=4",
            "#SBATCH --ntasks-per-node=1",
            "#SBATCH --cpus-per-task=8",
            "#SBATCH --mem=32768M",
            "#SBATCH --time=1-02:00:00",
            "#SBATCH --account=m42",
            "#SBATCH --partition=io,large",
            "#SBATCH --signal=B:TERM@60",
            "#   /opt/iolode sql --lake /scratch/a --cluster /home/u/c.toml",
            "iolode=/opt/iolode",
            "connect_file=/home/u/c.toml",
            "executor_options=(--lake /scratch/a --lake /scratch/b --cores 8 --memory 16G --work-dir /local)",
            "executor_srun=(--nodes=4 --ntasks=4 --ntasks-per-node=1 --cpus-per-task=8)",
        ] {
            assert!(has(&script, line), "{line}\n{script}");
        }
        assert!(!script.contains("--exclusive"), "{script}");
    }

    #[test]
    fn without_options_a_job_takes_whole_nodes_and_its_connect_file_has_its_id() {
        let args = Args {
            nodes: 2,
            ..Args::default()
        };
        let script = printed(args, &["/lake"]);
        for line in [
            "#SBATCH --exclusive",
            "#SBATCH --mem=0",
            "#   /opt/iolode sql --lake /lake --cluster iolode-cluster-JOBID.toml",
            "connect_file=\"$SLURM_SUBMIT_DIR/iolode-cluster-$SLURM_JOB_ID.toml\"",
            "executor_options=(--lake /lake)",
            "executor_srun=(--nodes=2 --ntasks=2 --ntasks-per-node=1)",
        ] {
            assert!(has(&script, line), "{line}\n{script}");
        }
        for absent in ["--time", "--account", "--partition", "--cpus-per-task=8"] {
            assert!(!script.contains(absent), "{script}");
        }
    }

    #[test]
    fn slurm_reads_all_directives_before_the_first_command() {
        let args = Args {
            nodes: 2,
            ..Args::default()
        };
        // A line end in a path ends no comment.
        let script = printed(args, &["/lake\n#SBATCH --x"]);
        let mut lines = script.lines();
        assert_eq!(lines.next(), Some("#!/bin/bash"));
        let head = lines.by_ref().take_while(|line| line.starts_with('#'));
        let directives = head.filter(|line| line.starts_with("#SBATCH"));
        assert_eq!(directives.count(), 7, "{script}");
        assert!(!lines.any(|line| line.starts_with('#') && line.contains("SBATCH")));
    }

    #[test]
    fn times_and_names_are_those_of_sbatch() {
        for time in [
            "90",
            "90:00",
            "2:00:00",
            "36:00:00",
            "1-12",
            "1-12:30",
            "1-12:30:00",
        ] {
            assert_eq!(time_limit(time).as_deref(), Ok(time));
        }
        for time in [
            "", "2h", "1:2:3:4", "1-", "-1", "1:", "1 2", "1-2-3", "1", "0:01:30", "25:61:00",
            "90:75", "2:00:60", "1-24", "1-12:60",
        ] {
            assert!(time_limit(time).is_err(), "{time}");
        }
        assert_eq!(name("m42_g").as_deref(), Ok("m42_g"));
        for text in ["", "a b", "a\n#SBATCH --x", "'a'", "a\"", "a#", "$a"] {
            assert!(name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_executor_gets_memory_to_run_something() {
        assert_eq!(memory("64M"), Ok(64 << 20));
        assert_eq!(memory("1K"), Err("expected 64M or more".into()));
        assert!(memory("lots").is_err());
    }

    #[test]
    fn sizes_are_read_as_they_were() {
        for bytes in [1, 1536, 3 << 20, 16 << 30, 1 << 44] {
            assert_eq!(size::parse(&unit(bytes)), Ok(bytes));
        }
        assert_eq!(unit(16 << 30), "16G");
    }
}
