//! `iolode completions` and `iolode man`: what packagers install.

use super::exit::Exit;
use super::screen::Terminal;
use std::io::Write;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(
    hide = true,
    after_help = "\
Example:
  iolode completions bash > ~/.local/share/bash-completion/completions/iolode"
)]
pub(super) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

/// Print the manual page of iolode, or of one of its commands
#[derive(clap::Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  iolode man > iolode.1
  iolode man lake create | man -l -"
)]
pub(super) struct Man {
    /// The command, such as `sql` or `lake create`
    command: Vec<String>,
}

pub(super) fn run(
    args: &Completions,
    mut command: clap::Command,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "iolode", &mut script);
    screen.data.write_all(&script)?;
    Ok(Exit::Done)
}

pub(super) fn man(
    args: &Man,
    command: clap::Command,
    screen: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut found = command;
    found.build();
    for word in &args.command {
        let known: Vec<_> = found
            .get_subcommands()
            .map(|sub| sub.get_name().to_string())
            .collect();
        let sub = found
            .get_subcommands()
            .find(|sub| sub.get_name() == word)
            .cloned();
        found = sub.ok_or_else(|| {
            crate::Error::unknown("command", word, known.iter().map(String::as_str))
        })?;
    }
    let mut page = vec![];
    clap_mangen::Man::new(found).render(&mut page)?;
    screen.data.write_all(&page)?;
    Ok(Exit::Done)
}
