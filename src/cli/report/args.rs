//! The options of `iolode report`.

use super::mail::address;
use super::schedule::When;
use crate::cli::query_args::QueryArgs;
use std::path::PathBuf;

/// Write a page of questions with charts; without a name, list the reports
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// A built-in report, or the TOML file of one
    #[arg(value_name = "NAME|FILE")]
    pub(super) name: Option<String>,
    /// last-week, last-month, yesterday, 2018, 2018-01, 2018-W05, 2018-01-28 or FROM..TO, in the time zone of the lake (default: all times)
    #[arg(long, value_name = "PERIOD", conflicts_with_all = ["from", "to"])]
    pub(super) period: Option<String>,
    /// The value of a parameter of the report
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(super) set: Vec<String>,
    /// The form of the page (default: what the ending of the file says, else text)
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<Form>,
    /// Write the page to this file (created only when complete); with --keep it may be a directory, with csv-dir it is one
    #[arg(short, long, visible_alias = "output", value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Keep a page for each period, such as weekly-2026-W48.html, link latest.html to the one of the latest period, and remove pages of this report but those of the N latest periods and the one that was written; of csv-dir a page is a directory, weekly-2026-W48
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) keep: Option<u16>,
    /// Where a page of HTML has the script that draws its charts: in the page, or as one file beside a series of pages
    #[arg(long, value_name = "PLACE", default_value = "inside")]
    pub(super) js: Place,
    /// Draw one section as a picture (PNG) with a browser such as chromium: its title, or its place on the page
    #[arg(long, value_name = "SECTION", conflicts_with_all = ["format", "mail"])]
    pub(super) png: Option<String>,
    /// Hand a mail with findings, tables and the page to sendmail; may be given several times
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) mail: Vec<String>,
    /// Sender of the mail (default: that of sendmail)
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "mail")]
    pub(super) mail_from: Option<String>,
    /// Write no page, but print a schedule that runs this command line at 6:00 in the time zone of the lake
    #[arg(long, value_name = "WHEN")]
    pub(super) timer: Option<When>,
    /// What the schedule is for (default: systemd)
    #[arg(long, value_name = "WHAT", requires = "timer")]
    pub(super) timer_as: Option<Scheduler>,
    /// With --timer: install the systemd units for your user instead of printing them
    #[arg(long, requires = "timer")]
    pub(super) install: bool,
    /// With --install: replace installed units of the same name
    #[arg(long, requires = "install")]
    pub(super) force: bool,
    /// Print the file of the report, to make another of it
    #[arg(long)]
    pub(super) show: bool,
    #[command(flatten)]
    pub(super) ask: QueryArgs,
}

const EXAMPLES: &str = "\
Exit code 1: some sections have no answer; the page says why, and has the others.

Examples:
  iolode report weekly --lake /scratch/lake --period last-week --out weekly.html
  iolode report weekly --lake /scratch/lake --period last-week --out /web/io/ \\
    --keep 52
  iolode report weekly --lake /scratch/lake --format csv-dir --out weekly
  iolode report weekly --lake /scratch/lake --png Coverage --out coverage.png
  iolode report weekly --lake /scratch/lake --period last-week \\
    --out /web/io/ --keep 52 --mail io-team@example.org --timer weekly
  iolode report weekly --show > ours.toml
  iolode report ours.toml --lake /scratch/lake --period 2026-09 -o ours.md";

/// Whether a report is given as its file, and not by its name.
pub(super) fn is_file(report: &str) -> bool {
    report.ends_with(".toml") || report.contains('/')
}

/// Forms of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// A page with charts, for a browser
    Html,
    /// Findings and tables as Markdown
    #[value(alias = "md")]
    Markdown,
    /// All values, with the charts
    Json,
    /// Findings and tables as text
    Text,
    /// The page with charts, printed by a browser such as chromium
    Pdf,
    /// A section as a picture, which --png asks for
    #[value(skip)]
    Png,
    /// A directory with a CSV file for each section, with all rows of its answer
    CsvDir,
}

/// Where a page of HTML has plotly.js from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Place {
    /// It is in the page
    Inside,
    /// It lies beside the page
    Beside,
}

/// What runs a command line again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scheduler {
    /// A service and a timer of systemd
    Systemd,
    /// A line of a crontab
    Cron,
    /// An entry of Slurm's scrontab
    Scrontab,
}

impl Form {
    /// Not for a terminal.
    pub(super) fn is_binary(self) -> bool {
        matches!(self, Self::Pdf | Self::Png)
    }

    /// The form of a file with that ending.
    pub(super) fn of_ending(ending: &str) -> Option<Self> {
        Some(match ending.to_lowercase().as_str() {
            "html" | "htm" => Self::Html,
            "md" | "markdown" => Self::Markdown,
            "json" => Self::Json,
            "txt" | "text" => Self::Text,
            "pdf" => Self::Pdf,
            _ => return None,
        })
    }

    /// The ending of its files; None for a directory.
    pub(super) fn ending(self) -> Option<&'static str> {
        Some(match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Text => "txt",
            Self::Pdf => "pdf",
            Self::Png => "png",
            Self::CsvDir => return None,
        })
    }
}
