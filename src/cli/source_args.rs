//! Options that each source has, made of [`SOURCES`]: `--darshan`, `--slurm`, `--lmt`.

use crate::lake::InputPath;
use crate::source::{SOURCES, Source};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, value_parser};
use std::path::PathBuf;

/// The inputs of an ingest: `--NAME SRC..`.
pub(super) struct SourcePaths(pub(super) Vec<InputPath>);

impl clap::Args for SourcePaths {
    fn augment_args(command: Command) -> Command {
        command.args(SOURCES.iter().map(|source| {
            option(*source, source.inputs().into())
                .value_name("SRC")
                .num_args(1..)
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SourcePaths {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut paths = vec![];
        for name in SOURCES.iter().map(|source| source.name()) {
            let given = matches.get_many::<PathBuf>(name).into_iter().flatten();
            paths.extend(given.map(|path| InputPath {
                path: path.clone(),
                kind: Some(name.into()),
            }));
        }
        Ok(Self(paths))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The sources that a command is about: `--NAME`, or all if none is given.
pub(super) struct Chosen(pub(super) Vec<&'static dyn Source>);

impl Chosen {
    /// Names of its options.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        SOURCES.iter().map(|source| source.name())
    }
}

impl clap::Args for Chosen {
    fn augment_args(command: Command) -> Command {
        command.args(SOURCES.iter().map(|source| {
            option(*source, format!("Remove rows of {}", source.rows())).action(ArgAction::SetTrue)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let chosen = SOURCES.iter().copied();
        let chosen: Vec<_> = chosen
            .filter(|source| matches.get_flag(source.name()))
            .collect();
        Ok(Self(match chosen.is_empty() {
            true => SOURCES.to_vec(),
            false => chosen,
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn option(source: &dyn Source, help: String) -> Arg {
    Arg::new(source.name()).long(source.name()).help(help)
}
