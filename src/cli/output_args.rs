//! Where an answer goes to, and in which form: the options of all commands that answer with rows.

use super::output::{FORMATS, Format, format_parser};
use super::shell::{OutFile, Settings};
use std::path::{Path, PathBuf};

/// Form and place of answers.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Output format (default: table, or what the ending of the output file says, such as .csv)
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    format: Option<&'static Format>,
    /// Write results to this file (created only when complete)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With table output: one line per value (vertical)
    #[arg(short = 'x', long)]
    expanded: bool,
    /// With table output: bytes, rates, times, shares and counts as 44.7 GiB, 1.2 GiB/s, 12 min 3 s, 35 %, 1 234
    #[arg(long)]
    human: bool,
}

impl OutputArgs {
    /// The form asked for, else that of the file's ending, else a table.
    pub(crate) fn format(&self) -> &'static Format {
        let of_file = || self.output.as_deref().and_then(by_ending);
        self.format.or_else(of_file).unwrap_or(&FORMATS[0])
    }

    /// The file, not there under its name yet; None for stdout.
    ///
    /// # Errors
    /// If it cannot be created, if its ending is that of no format and none is asked for, or if tables are asked for and another form as well.
    pub(crate) fn file(&self) -> anyhow::Result<Option<OutFile>> {
        let format = self.format().name;
        let unknown = self.output.as_deref().and_then(unknown_ending);
        if let (None, Some(ending)) = (self.format, unknown) {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            anyhow::bail!(
                "`.{ending}` is the ending of no format that is written here; give one by --format: {}",
                names.join(", ")
            );
        }
        if self.human && format != "table" {
            anyhow::bail!(
                "--human goes with table output; {format} is for programs, which read plain numbers"
            );
        }
        self.output.as_deref().map(OutFile::create).transpose()
    }

    /// Refuses what only tables of rows have.
    ///
    /// # Errors
    /// If --expanded or --human is given.
    pub(crate) fn for_page(&self, name: &str) -> anyhow::Result<()> {
        let of_rows = [("--expanded", self.expanded), ("--human", self.human)];
        match of_rows.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => anyhow::bail!(
                "{name} is a page; {option} is for questions that are answered with rows"
            ),
            None => Ok(()),
        }
    }

    /// How a shell shows answers.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            format: self.format(),
            expanded: self.expanded,
            human: self.human,
            timing: true,
        }
    }
}

/// The format whose files have that ending.
fn by_ending(file: &Path) -> Option<&'static Format> {
    let ending = file.extension()?.to_str()?.to_lowercase();
    let name = match ending.as_str() {
        "jsonl" => "ndjson",
        "arrows" => "arrow",
        "md" => "markdown",
        ending => ending,
    };
    FORMATS.iter().find(|format| format.name == name)
}

/// The ending of a file, if it says a format that is none of these. Tables are texts.
fn unknown_ending(file: &Path) -> Option<&str> {
    let ending = file.extension()?.to_str()?;
    let is_text = ["txt", "text", "out", "log"].contains(&ending.to_lowercase().as_str());
    (!is_text && by_ending(file).is_none()).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    #[test]
    fn a_file_has_the_format_of_its_ending_unless_another_is_asked_for() {
        for (line, format) in [
            ("", "table"),
            ("-o a.csv", "csv"),
            ("-o a/b.TSV", "tsv"),
            ("-o a.jsonl", "ndjson"),
            ("-o a.json", "json"),
            ("-o a.arrows", "arrow"),
            ("-o a.parquet", "parquet"),
            ("-o a.md", "markdown"),
            ("-o a.txt", "table"),
            ("-o csv", "table"),
            ("-o a.csv --format json", "json"),
            ("-o a.csv --format table", "table"),
        ] {
            let words = std::iter::once("x").chain(line.split_whitespace());
            let matches = OutputArgs::augment_args(Command::new("x")).get_matches_from(words);
            let given = OutputArgs::from_arg_matches(&matches).unwrap();
            assert_eq!(given.format().name, format, "{line}");
        }
    }

    #[test]
    fn a_page_takes_no_options_of_rows() {
        let refused = |words: &[&str]| {
            let words = std::iter::once("x").chain(words.iter().copied());
            let matches = OutputArgs::augment_args(Command::new("x")).get_matches_from(words);
            let given = OutputArgs::from_arg_matches(&matches).unwrap();
            given
                .for_page("diagnose")
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refused(&["--format", "markdown"]), None);
        for (word, option) in [("-x", "--expanded"), ("--human", "--human")] {
            let expected = format!(
                "diagnose is a page; {option} is for questions that are answered with rows"
            );
            assert_eq!(refused(&[word]), Some(expected));
        }
    }

    #[test]
    fn a_file_of_another_ending_needs_a_format() {
        let folder = tempfile::tempdir().unwrap();
        for (name, format, why) in [
            ("a.xlsx", None, Some("`.xlsx` is the ending of no format")),
            ("a.csv.gz", None, Some("`.gz` is the ending of no format")),
            ("a.xlsx", Some("csv"), None),
            ("a.txt", None, None),
            ("a", None, None),
            ("a.parquet", None, None),
        ] {
            let mut words = vec!["x".into(), "-o".into(), folder.path().join(name)];
            words.extend(format.map(|format| format!("--format={format}").into()));
            let matches = OutputArgs::augment_args(Command::new("x")).get_matches_from(words);
            let given = OutputArgs::from_arg_matches(&matches).unwrap();
            let error = given.file().err().map(|error| error.to_string());
            let good = match (&error, why) {
                (Some(error), Some(why)) => error.starts_with(why),
                (error, why) => error.is_none() && why.is_none(),
            };
            assert!(good, "{name} {format:?}: {error:?}");
        }
    }
}
