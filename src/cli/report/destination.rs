//! Where a page goes, and what is made sure of before its questions are asked.

use super::args::{Args, Form, Place};
use super::csv_directory::CsvDirectory;
use super::kept::{Kept, Period, is_directory};
use crate::answer::report::{self, PLOTLY_FILE};
use crate::cli::screen::Terminal;
use crate::cli::shell::OutFile;
use crate::text::shown_path;
use anyhow::bail;
use std::io::Write;
use std::path::Path;

/// Where a page goes.
pub(super) enum Destination {
    Stdout,
    /// It is in a mail alone.
    Mail,
    File(OutFile),
    Kept(Kept, OutFile),
    /// With `--keep` one of several.
    Directory(CsvDirectory, Option<Kept>),
}

/// Refuses options that do not go together.
///
/// # Errors
/// What to give instead.
pub(super) fn check(args: &Args, form: Form, period: Option<Period>) -> anyhow::Result<()> {
    match (&args.out, args.keep, form) {
        (None, _, Form::CsvDir) => {
            bail!("--format csv-dir writes files; give their directory by --out DIR")
        }
        (Some(out), None, form) if form != Form::CsvDir && is_directory(out) => bail!(
            "--out {}: is a directory; name a file in it, or keep a page for each period there by --keep N",
            shown_path(out)
        ),
        (Some(_), Some(_), _) if period.is_none() => {
            bail!("--keep names pages after their periods; give one by --period, such as last-week")
        }
        _ => Ok(()),
    }
}

impl Destination {
    /// The place of a page of that form; nothing is there under its name before the page is whole.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub(super) fn open(
        args: &Args,
        form: Form,
        report: &str,
        period: Option<Period>,
        is_terminal: bool,
    ) -> anyhow::Result<Self> {
        Ok(match (&args.out, form, args.keep.zip(period)) {
            (None, ..) if !args.mail.is_empty() => Self::Mail,
            (None, form, _) if form.is_binary() && is_terminal => {
                bail!("a page of PDF or PNG is nothing for a terminal; give a file by --out FILE")
            }
            (None, ..) => Self::Stdout,
            (Some(out), Form::CsvDir, None) => Self::Directory(CsvDirectory::create(out)?, None),
            (Some(out), _, None) => Self::File(OutFile::create(out)?),
            (Some(out), _, Some((keep, period))) => {
                let kept = Kept::new(out, report, form, period, usize::from(keep))?;
                let page = kept.page();
                match form {
                    Form::CsvDir => Self::Directory(CsvDirectory::create(&page)?, Some(kept)),
                    _ => Self::Kept(kept, OutFile::create(&page)?),
                }
            }
        })
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written; what was there stays as it was.
    pub(super) fn write(
        self,
        page: &[u8],
        args: &Args,
        form: Form,
        screen: &mut Terminal,
    ) -> anyhow::Result<()> {
        if let (Some(out), Form::Html, Place::Beside) = (&args.out, form, args.js) {
            // Before the page that needs it.
            match is_directory(out) {
                true => script_at(&out.join(PLOTLY_FILE))?,
                false => script_at(&out.with_file_name(PLOTLY_FILE))?,
            }
        }
        match self {
            Self::Stdout => screen.data.write_all(page)?,
            Self::File(file) => file.write(page)?,
            Self::Kept(kept, file) => {
                file.write(page)?;
                publish(&kept, screen)?;
            }
            // The one is written section by section, the other sent.
            Self::Directory(..) | Self::Mail => {}
        }
        Ok(())
    }
}

/// Links a page that has been written, and says which others are removed.
///
/// # Errors
/// Those of [`Kept::publish`].
pub(super) fn publish(kept: &Kept, screen: &Terminal) -> anyhow::Result<()> {
    screen.say(format_args!("wrote {}", shown_path(&kept.page())));
    for removed in kept.publish()? {
        screen.say(format_args!("removed {}", shown_path(&removed)));
    }
    Ok(())
}

/// Writes plotly.js there, unless it is there.
fn script_at(path: &Path) -> anyhow::Result<()> {
    let script = report::plotly()?;
    let is_there = std::fs::metadata(path).is_ok_and(|meta| meta.len() == script.len() as u64);
    if !is_there {
        OutFile::create(path)?.write(script.as_bytes())?;
    }
    Ok(())
}
