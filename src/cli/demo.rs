//! `iolode demo`: a synthetic month, a lake of it, seven questions.

use super::executor::{Ask, Executor};
use super::exit::Exit;
use super::interrupt;
use super::output::FORMATS;
use super::output::writer::Style;
use super::progress::{self, Bar};
use super::query_args::QueryArgs;
use super::screen::Terminal;
use super::session::Session;
use super::synth;
use crate::answer::analysis::DERIVED;
use crate::error::Error;
use crate::lake::{CreateOptions, IngestOptions, Lake};
use crate::synth::Month;
use crate::text::{quoted, shown_lines};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Try iolode: make a synthetic month of logs, import it, run seven queries
#[derive(clap::Args)]
#[command(after_help = "\
All files stay below DIR: logs, accounting, samples, the list of planted faults \
(logs/truth.json), and the lake. A second run makes only what is missing.

Examples:
  iolode demo
  iolode demo /scratch/iolode-demo --jobs 20000")]
pub(super) struct Args {
    /// A new directory, or that of an earlier demo
    #[arg(default_value = "iolode-demo", value_name = "DIR")]
    dir: PathBuf,
    /// Number of jobs in the month
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
        sql: "\
select app, count(*) as logs, round(sum(bytes_read) / 1e12, 1) as read_tb,
  round(sum(bytes_written) / 1e12, 1) as written_tb
from darshan_log
group by app
order by sum(total_bytes) desc
limit 8",
    },
    Question {
        title: "Which large runs write slowest, though they write much? (by the slowest process)",
        sql: "\
select job_id, app, nprocs, round(bytes_written / 1e9) as written_gb,
  round(write_bw_slowest_rank / 1e6) as mb_per_s
from darshan_log
where nprocs > 1000 and bytes_written > 1e7 * nprocs and write_bw_slowest_rank is not null
order by write_bw_slowest_rank
limit 8",
    },
    Question {
        title: "Do a thousand processes share a file that lies on a single storage target?",
        sql: "\
select l.job_id, l.app, l.nprocs, count(*) as files,
  round(sum(f.bytes_written) / 1e9) as written_gb, min(f.path) as for_example
from darshan_log l join darshan_file f on l.job_id = f.job_id and l.log_id = f.log_id
where l.nprocs > 1000 and f.shared and f.ost_count = 1 and f.bytes_written > 1e9
group by l.job_id, l.log_id, l.app, l.nprocs
order by written_gb desc
limit 8",
    },
    Question {
        title: "Is one storage target slower than the others? (by the files that lie on one target only)",
        sql: "\
select fs, ost_list[1] as ost, count(*) as files,
  round(percentiles(bytes_written / (write_end - write_start), 4)[3] / 1e6) as median_mb_per_s
from darshan_file
where ost_count = 1 and bytes_written > 1e6 and write_end > write_start and not is_stream
group by fs, ost
having count(*) >= 20
order by median_mb_per_s
limit 5",
    },
    Question {
        title: "Which accounts ask for most node-hours, and of how many of these is the I/O known? (Slurm and Darshan)",
        sql: "\
select account, round(sum(node_hours)) as node_hours,
  round(100 * sum(case when logs > 0 then node_hours else 0 end) / sum(node_hours)) as percent_known,
  round(sum(bytes_written) / 1e12, 1) as written_tb
from slurm_job_io
where start_time is not null
group by account
order by node_hours desc
limit 5",
    },
    Question {
        title: "Who else was writing to the OSTs of a slow file, when they were busiest? (Darshan and LMT)",
        sql: "\
select job_id, ost, count(*) as intervals, round(sum(seen) / 1e9, 1) as seen_gb,
  round(sum(own_file) / 1e9, 1) as own_gb, round(sum(other_known) / 1e9, 1) as other_jobs_gb,
  round(sum(unexplained) / 1e9, 1) as unexplained_gb
from file_traffic_on_osts('2026-09-11', '2026-09-12', fs => 'scratch')
where direction = 'write' and own_file > 0
group by job_id, ost
having sum(own_file) > 1e9
order by sum(other_known) / sum(own_file) desc, sum(seen) desc
limit 5",
    },
    Question {
        title: "What could not be read, and why?",
        sql: "\
select status, count(*) as inputs, left(min(error), 60) as for_example
from lake_input
group by status
order by inputs desc",
    },
];

pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    let dir = &args.dir;
    let (logs, lake_dir) = (dir.join("logs"), dir.join("lake"));
    prepare(dir, args.jobs)?;

    tell(
        screen,
        format_args!(
            "1. A synthetic month of Darshan logs, Slurm accounting and LMT samples: {}",
            logs.display()
        ),
    )?;
    let made = if logs.join("truth.json").exists() {
        "they are there from an earlier run".to_string()
    } else {
        // The directory is ours; logs without truth.json are those of a run that was stopped.
        if logs.exists() {
            std::fs::remove_dir_all(&logs).map_err(|e| Error::io(&logs, "cannot remove", e))?;
        }
        synth::make(&Month::complete(args.jobs, 1), &logs, None, screen)?
    };
    tell(screen, format_args!("   {made}\n"))?;

    tell(
        screen,
        format_args!("2. A lake of them: {}", lake_dir.display()),
    )?;
    let lake = match lake_dir.exists() {
        true => Lake::open(&lake_dir)?,
        false => {
            let text = std::fs::read_to_string(Month::paths(&logs).site);
            let text = text.map_err(|e| Error::io(&logs, "cannot read its site.toml", e))?;
            Lake::create(
                &lake_dir,
                &CreateOptions {
                    settings: text,
                    ..CreateOptions::default()
                },
            )?
        }
    };
    let (during, cancel) = interrupt::during_ingest()?;
    let options = IngestOptions {
        paths: vec![logs.clone().into()],
        derived: DERIVED,
        analyze: vec!["mosaic".into()],
        cancel,
        ..IngestOptions::default()
    };
    let bar = Bar::new(screen);
    let report = lake.ingest(&options, &bar);
    bar.clear();
    drop(during);
    // Inputs that fail are part of the demo: the last question is about them.
    tell(
        screen,
        format_args!("   {}\n", progress::summary(&report?, bar.elapsed())),
    )?;

    tell(screen, format_args!("3. Seven questions"))?;
    let ask = QueryArgs {
        lake: vec![format!("demo={}", lake_dir.display())],
        ..QueryArgs::default()
    };
    let mut session = Session::open(&ask, screen)?;
    let style = Style {
        look: screen.look,
        ..Style::default()
    };
    for question in QUESTIONS {
        writeln!(screen.data, "\n{}\n", question.title)?;
        for line in question.sql.lines() {
            writeln!(screen.data, "    {line}")?;
        }
        writeln!(screen.data)?;
        let ran = session.run(Ask::Sql(question.sql), &FORMATS[0], style, &mut screen.data)?;
        for note in ran.notes {
            writeln!(screen.data, "{note}")?;
        }
        screen.data.flush()?;
    }

    let log = any_log(&logs).unwrap_or(logs);
    let next = [
        (
            format!("iolode sql --lake {}", quoted(&lake_dir)),
            "a prompt; \\d lists tables, TAB completes",
        ),
        (
            "iolode schema darshan_file".to_string(),
            "every column with unit and meaning",
        ),
        (
            format!("iolode lake info {}", quoted(&lake_dir)),
            "what the lake holds",
        ),
        (format!("iolode inspect {}", quoted(&log)), "one log"),
        (
            "iolode ingest --lake my-lake --create --darshan PATH".to_string(),
            "your own logs",
        ),
    ];
    tell(screen, format_args!("\n4. Try next"))?;
    for (command, what) in next {
        tell(screen, format_args!("   {command}\n       {what}"))?;
    }
    Ok(Exit::Done)
}

/// A line of the story, shown before what follows takes its time.
fn tell(screen: &mut Terminal, line: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    writeln!(screen.data, "{}", shown_lines(&line.to_string()))?;
    screen.data.flush()
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
