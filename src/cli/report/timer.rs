//! `iolode report .. --timer WHEN`: what runs the same command line again and again.

use super::args::{Args, Form, Scheduler};
use super::browser::Browser;
use super::command_line::words;
use super::cron::{self, Table};
use super::form;
use super::kept::is_directory;
use super::mail::Mailer;
use super::schedule::{Schedule, When};
use super::systemd;
use crate::cli::query_args::QueryArgs;
use crate::cli::screen::Terminal;
use crate::error::Error;
use crate::text::shown_path;
use anyhow::bail;
use chrono::{Local, Utc};
use chrono_tz::Tz;
use std::io::Write;
use std::path::Path;

/// Prints or installs the timer of a command line.
///
/// # Errors
/// If nobody would see the page, and those of the files.
pub(super) fn run(
    args: &Args,
    form: Form,
    when: When,
    report: &str,
    ask: &QueryArgs,
    zone: Tz,
    screen: &mut Terminal,
) -> anyhow::Result<()> {
    if args.out.is_none() && args.mail.is_empty() {
        bail!("--timer needs --out FILE or --mail ADDRESS: nobody reads what a timer prints");
    }
    let scheduler = args.timer_as.unwrap_or(Scheduler::Systemd);
    if args.install && scheduler != Scheduler::Systemd {
        bail!("--install writes units of systemd; a crontab is changed by its own commands alone");
    }
    let program = std::env::current_exe()
        .map_err(|e| Error::Invalid(format!("cannot find the path of this program: {e}")))?;
    let mut all = vec![program.into_os_string()];
    all.extend(words(args, ask)?);
    // A timer has another path than a shell.
    let browser = form::browser_for(form).map(Browser::program);
    let sendmail = (!args.mail.is_empty()).then(Mailer::program);
    let mut environment = vec![];
    for (variable, program) in [("CHROMIUM", browser), ("SENDMAIL", sendmail)] {
        match program {
            Some(Ok(program)) => environment.push((variable, program.into_os_string())),
            Some(Err(why)) => screen.say(format_args!("note: {why}")),
            None => {}
        }
    }
    let page = args.out.as_deref().filter(|out| !is_directory(out));
    let page = page.and_then(Path::file_stem);
    let schedule = Schedule {
        when,
        report: report.into(),
        values: args
            .set
            .iter()
            .filter_map(|set| Some(set.split_once('=')?.1.to_string()))
            .collect(),
        page: page.map(|page| page.to_string_lossy().into_owned()),
        words: all,
        environment,
        zone,
    };
    let name = schedule.name();
    match scheduler {
        Scheduler::Systemd => {
            let units = systemd::units(&schedule);
            if args.install {
                for path in systemd::install(&units, args.force)? {
                    screen.say(format_args!("wrote {}", shown_path(&path)));
                }
                screen.say(format_args!(
                    "start the timer with: systemctl --user daemon-reload && systemctl --user enable --now {name}.timer"
                ));
                screen.say("let it run while you are not logged in with: loginctl enable-linger");
                screen.say(format_args!(
                    "write a page at once with: systemctl --user start {name}.service"
                ));
            } else {
                for (at, (file, text)) in units.iter().enumerate() {
                    let before = if at > 0 { "\n" } else { "" };
                    write!(screen.data, "{before}# {file}\n{text}")?;
                }
                screen.say("write both files to the units of your user with --install");
            }
        }
        Scheduler::Cron => {
            write!(
                screen.data,
                "{}",
                cron::entry(&schedule, Table::Crontab, &Local, Utc::now())?
            )?;
            screen.say("add it with: (crontab -l; iolode report .. --timer-as cron) | crontab -");
        }
        Scheduler::Scrontab => {
            write!(
                screen.data,
                "{}",
                cron::entry(&schedule, Table::Scrontab, &Local, Utc::now())?
            )?;
            screen.say("add it with: scrontab -e");
        }
    }
    let is_relative = |period: &String| period.starts_with("last-") || period == "yesterday";
    if !args.period.as_ref().is_some_and(is_relative) {
        screen.say("note: the period is the same in each run; --period last-week is the week before the run");
    }
    Ok(())
}
