//! A live sacct: `--slurm sacct:`.

use super::text;
use crate::error::{Error, Result};
use crate::source::{BatchSink, Hints, Input, Outcome, ReadContext};
use chrono::{DateTime, Utc};
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// What stands for a path.
pub(super) const ADDRESS: &str = "sacct:";

/// Columns that every sacct since Slurm 20.11 has and that a lake has a use for. What users wrote comes last.
const COLUMNS: &str = "Cluster,JobID,JobIDRaw,User,UID,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,\
                       ElapsedRaw,Suspended,TimelimitRaw,AllocNodes,NNodes,ReqNodes,NCPUS,ReqCPUS,NTasks,NodeList,ReqMem,AllocTRES,ReqTRES,\
                       TotalCPU,UserCPU,SystemCPU,AveCPU,MinCPU,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxVMSize,AveVMSize,\
                       MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,\
                       TRESUsageInTot,TRESUsageOutTot,ConsumedEnergyRaw,Priority,Reservation,Reason,WorkDir,JobName";

/// Runs sacct for the period and appends what it prints.
///
/// # Errors
/// [`Error::Invalid`] if the period has no begin, [`Error::Io`] if there is no sacct or it fails.
pub(super) fn read(context: &ReadContext, tables: &mut BatchSink) -> Result<Outcome> {
    let Some(from) = context.period.from else {
        return Err(Error::Invalid(
            "sacct is asked for a period: give --from DATE, and --to DATE if not until now".into(),
        ));
    };
    let cannot = |what, e| Error::io(ADDRESS, what, e);
    let printed = match &context.temp {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    };
    let mut printed = printed.map_err(|e| cannot("cannot make a temporary file for it", e))?;
    let out = printed
        .try_clone()
        .map_err(|e| cannot("cannot make a temporary file for it", e))?;
    let mut command = Command::new("sacct");
    // With its zone and delimiter chosen by us, nothing has to be guessed.
    command
        .env("TZ", "UTC")
        .env_remove("SLURM_TIME_FORMAT")
        .env_remove("SACCT_FORMAT");
    command.args([
        "--allusers",
        "--duplicates",
        "--parsable2",
        "--noconvert",
        "--delimiter",
        "\x1f",
    ]);
    command.args(["--starttime", &local(from), "--format", COLUMNS]);
    if let Some(to) = context.period.to {
        command.args(["--endtime", &local(to)]);
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(out))
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|e| cannot("cannot run sacct, which must be in PATH", e))?;
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        // Enough to say why; a flood of it must not fill the memory.
        let _ = stderr.take(4096).read_to_string(&mut said);
    }
    let status = child.wait().map_err(|e| cannot("cannot run it", e))?;
    if !status.success() {
        let said = said
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it does not say why");
        return Err(cannot(
            "failed",
            std::io::Error::other(format!("{said} ({status})")),
        ));
    }
    printed
        .rewind()
        .map_err(|e| cannot("cannot read what it printed", e))?;
    let input = Input::from_file(ADDRESS, printed)?;
    let context = ReadContext {
        zone: chrono_tz::UTC,
        hints: Hints::default(),
        // Its times are in our zone: there is nothing to say of them.
        local_times: Arc::default(),
        ..context.clone()
    };
    text::read(&input, &context, tables)
}

fn local(micros: i64) -> String {
    let time: DateTime<Utc> = DateTime::from_timestamp_micros(micros).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S").to_string()
}
