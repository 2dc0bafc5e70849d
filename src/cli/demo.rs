//! `iolode demo`: a synthetic month, a lake of it, five questions.

use super::Exit;
use super::output::{FORMATS, Style};
use super::progress::{self, Bar};
use super::screen::Screen;
use super::session::{Ask, Session};
use super::shell::Executor;
use super::synth;
use crate::error::Error;
use crate::lake::{CreateOptions, IngestOptions, Lake};
use crate::source::synth::Month;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Make a synthetic month of logs and a lake of it, answer five questions, and say what to try next
#[derive(clap::Args)]
#[command(after_help = "\
What is made stays below DIR: logs, what was planted in them (logs/truth.json), and the lake. A second run makes only what
is missing.

Examples:
  iolode demo
  iolode demo /scratch/iolode-demo --jobs 20000")]
pub(super) struct Args {
    /// Where to put it: a new directory, or one of an earlier demo
    #[arg(default_value = "iolode-demo", value_name = "DIR")]
    dir: PathBuf,
    /// Jobs of the month
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: u64,
}

/// A question, why one asks it, and its SQL.
struct Question {
    title: &'static str,
    sql: &'static str,
}

const QUESTIONS: &[Question] = &[
    Question {
        title: "Which programs move the most bytes?",
        sql: "select app, count(*) as logs, sum(bytes_read) / 1e12 as read_tb, sum(bytes_written) / 1e12 as written_tb
from darshan_log
group by app
order by sum(total_bytes) desc
limit 8",
    },
    Question {
        title: "Which large runs write slower than 1 GB/s, though they write much?",
        sql: "select job_id, app, nprocs, bytes_written / 1e9 as written_gb, write_bw_critical / 1e6 as mb_per_s
from darshan_log
where nprocs > 1000 and bytes_written > 1e7 * nprocs and write_bw_critical < 1e9
order by write_bw_critical
limit 8",
    },
    Question {
        title: "How wide are the files that these runs write? (one storage target for a thousand processes is too few)",
        sql: "select l.job_id, l.app, f.path, l.nprocs, f.stripe_count, f.bytes_written / 1e9 as written_gb
from darshan_log l join darshan_file f on l.job_id = f.job_id and l.log_id = f.log_id
where l.nprocs > 1000 and f.bytes_written > 1e11 and f.stripe_count = 1
order by f.bytes_written desc
limit 8",
    },
    Question {
        title: "Is one storage target slower than the others? (files that lie on one target only)",
        sql: "select fs, ost_list[1] as ost, count(*) as files,
  percentiles(bytes_written / (write_end - write_start), 4)[3] / 1e6 as median_mb_per_s
from darshan_file
where ost_count = 1 and bytes_written > 1e6 and write_end > write_start and not is_stream
group by fs, ost
having count(*) >= 20
order by median_mb_per_s
limit 5",
    },
    Question {
        title: "What could not be read, and why?",
        sql: "select status, count(*) as inputs, min(error) as for_example
from lake_input
group by status
order by inputs desc",
    },
];

pub(super) fn run(args: &Args, screen: &mut Screen) -> anyhow::Result<Exit> {
    let dir = &args.dir;
    let (logs, lake_dir) = (dir.join("logs"), dir.join("lake"));
    prepare(dir, args.jobs)?;

    if logs.join("truth.json").exists() {
        screen.say(format_args!(
            "1. The logs of an earlier run are there: {}",
            logs.display()
        ));
    } else {
        // The marker says that it is ours; logs without truth.json are those of a run that was stopped.
        if logs.exists() {
            std::fs::remove_dir_all(&logs).map_err(|e| Error::io(&logs, "cannot remove", e))?;
        }
        screen.say("1. A synthetic month of Darshan logs");
        synth::make(&Month::new(args.jobs, 1), &logs, None, screen)?;
    }

    screen.say("\n2. A lake of it");
    let lake = match Lake::open(&lake_dir) {
        Ok(lake) => lake,
        Err(_) if !lake_dir.exists() => Lake::create(&lake_dir, &CreateOptions::default())?,
        Err(error) => return Err(error.into()),
    };
    let options = IngestOptions {
        paths: vec![logs.clone()],
        cancel: progress::cancel_on_ctrl_c()?,
        ..IngestOptions::default()
    };
    let bar = Bar::new(screen);
    let report = lake.ingest(&options, &bar);
    bar.clear();
    let report = report?;
    // Inputs that fail are part of the demo: the last question is about them.
    screen.say(progress::summary(&report, bar.elapsed()));

    screen.say("\n3. Five questions");
    let ask = Ask {
        lake: vec![format!("demo={}", lake_dir.display())],
        ..Ask::default()
    };
    let mut session = Session::open(&ask, screen)?;
    let style = Style {
        look: screen.look,
        expanded: false,
    };
    for question in QUESTIONS {
        writeln!(screen.data, "\n{}\n", question.title)?;
        for line in question.sql.lines() {
            writeln!(screen.data, "    {line}")?;
        }
        writeln!(screen.data)?;
        let ran = session.run(question.sql, &FORMATS[0], style, &mut screen.data)?;
        screen.data.flush()?;
        ran.note.into_iter().for_each(|note| screen.say(note));
    }

    screen.say(format_args!(
        "\n4. Try next
    iolode sql --lake {lake}                             a prompt; \\d lists tables, TAB completes
    iolode schema darshan_file                           every column with unit and meaning
    iolode lake info {lake}
    iolode inspect {log}
    iolode ingest --lake my-lake --create --darshan PATH    your own logs",
        lake = lake_dir.display(),
        log = any_log(&logs).unwrap_or(logs).display(),
    ));
    Ok(Exit::Done)
}

/// Makes the directory ours, unless it holds somebody else's things.
fn prepare(dir: &Path, jobs: u64) -> anyhow::Result<()> {
    let marker = dir.join("iolode-demo.txt");
    let text = format!("Made by `iolode demo`: {jobs} jobs. It may be removed as a whole.\n");
    if let Ok(found) = std::fs::read_to_string(&marker) {
        if found == text {
            return Ok(());
        }
        return Err(Error::Invalid(format!(
            "{}: it holds a demo with another number of jobs; give another directory",
            dir.display()
        ))
        .into());
    }
    let empty = std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    if !empty {
        return Err(Error::Invalid(format!(
            "{}: the directory is not empty and holds no demo; give another",
            dir.display()
        ))
        .into());
    }
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "cannot create", e))?;
    std::fs::write(&marker, text).map_err(|e| Error::io(&marker, "cannot write", e))?;
    Ok(())
}

/// Some log below a directory: the first by name.
fn any_log(dir: &Path) -> Option<PathBuf> {
    let files = walkdir::WalkDir::new(dir)
        .min_depth(2)
        .sort_by_file_name()
        .into_iter()
        .flatten();
    files
        .map(walkdir::DirEntry::into_path)
        .find(|path| path.extension().is_some_and(|e| e == "darshan"))
}
