//! `iolode export`: chosen logs as a lake that stands alone, or one table or answer of them as a file.
//!
//! `args` reads what is asked, `one_file` writes one table or answer, `told` says what came of it.

mod args;
mod one_file;
mod told;

pub(super) use self::args::Args;
use self::args::FormArg;
use self::told::{dry, nothing, shown, told};
use crate::answer::export::{self, Key};
use crate::cli::exit::Exit;
use crate::cli::lake_args::none_given;
use crate::cli::screen::Terminal;
use crate::cli::session::{Session, named};
use crate::error::Error;
use crate::lake::Lake;
use crate::text::{quoted, shown_path};
use anyhow::Context;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// Those of the key, the policy, the lake and the target.
pub(super) fn run(args: &Args, screen: &mut Terminal) -> anyhow::Result<Exit> {
    if let Some(path) = &args.new_key {
        Key::create(path)?;
        screen.say(format_args!(
            "wrote the key {}: whoever has it can tell whose a pseudonym is; keep it where only you can read it",
            quoted(path)
        ));
        return Ok(Exit::Done);
    }
    let mut ask = args.ask().or_default_lake()?;
    let [given] = ask.lake.as_slice() else {
        return Err(match ask.lake.is_empty() {
            true => none_given("--lake LAKE").into(),
            false => Error::Invalid("an export is of one lake; give one --lake".into()).into(),
        });
    };
    let lake = Lake::open(named(given).1)?;
    let snapshot = lake.snapshot(ask.version)?;
    // What is asked and what is read is one version.
    ask.version = Some(snapshot.version());
    let options = args.options(&ask)?;
    let session = Session::open_for(&ask, false, screen)?;
    if args.dry_run {
        let asked = options.clone();
        let (report, _) = session.page(move |engine| {
            Box::pin(async move { export::dry_run(&engine, &snapshot, &asked).await })
        })?;
        if report.logs == 0 {
            return Ok(nothing(&report, &options, screen));
        }
        return dry(&report, &options, screen);
    }
    let to = args.to.clone().context("no --to PATH is given")?;
    if let Some(file) = one_file::asked(args)? {
        let session = (session, snapshot, options);
        return file.write(&to, &ask, session, screen);
    }
    let exported = session.page({
        let (to, options) = (to.clone(), options.clone());
        move |engine| {
            Box::pin(async move { export::export(&engine, snapshot, &to, &options).await })
        }
    });
    let exit = session.exit();
    // Its threads end, or are given up.
    drop(session);
    let (report, notes) = exported.inspect_err(|_| export::discard(&to))?;
    notes.iter().for_each(|note| screen.say(note));
    if report.logs == 0 {
        return Ok(nothing(&report, &options, screen));
    }
    told(&report, &options, screen);
    let next = match args.format {
        FormArg::Delta => format!("Delta tables below {}", quoted(&to)),
        _ => format!("next: iolode lake info {}", quoted(&to)),
    };
    let ways = [
        (&report.parts_left_out, "rewritten without"),
        (&report.logs_missing, "left out:"),
    ];
    for (logs, how) in ways {
        for (path, what) in logs {
            let path = shown_path(Path::new(path));
            screen.say(format_args!("{path}: {how} {what}"));
        }
    }
    screen.say(format_args!("exported {}; {next}", shown(&report)));
    match report.logs_missing.is_empty() {
        true => Ok(exit),
        false => Ok(Exit::SomeFailed),
    }
}
