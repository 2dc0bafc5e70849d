//! Where a command writes: data on stdout, everything else on stderr.

use crate::text::shown;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

/// Stdout and stderr of one run, and what they are.
pub(crate) struct Terminal {
    /// Where data goes.
    pub(crate) data: Data,
    /// How text may look there.
    pub(crate) look: TerminalStyle,
    /// Whether a person reads stderr: progress bars and hints.
    pub(crate) person: bool,
}

/// What the place where text goes can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalStyle {
    /// Characters on a line; None where lines may be as long as they like, as in files and pipes.
    pub(crate) width: Option<usize>,
    /// Bold and dim text.
    pub(crate) color: bool,
}

/// Stdout.
pub(crate) type Data = Watched<Stdout>;

/// A buffered writer that remembers why writing failed: the formats' writers turn errors into text.
pub(crate) struct Watched<W: Write> {
    /// None only while it is being dropped.
    out: Option<BufWriter<W>>,
    failed: Option<(io::ErrorKind, String)>,
}

impl Terminal {
    /// The process's own.
    pub(crate) fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal.then(|| {
            let size = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
            size.filter(|width| *width > 0).unwrap_or(80)
        });
        Self {
            data: Watched::new(io::stdout()),
            look: TerminalStyle {
                width,
                color: terminal && color_is_wanted(),
            },
            person: io::stderr().is_terminal(),
        }
    }

    /// Writes a line to stderr, escaped, for it may name files and programs. That nobody can read it is no reason to stop.
    pub(crate) fn say(&self, line: impl std::fmt::Display) {
        let _ = writeln!(io::stderr(), "{}", shown(&line.to_string()));
    }
}

/// Whether colors are welcome where there is a terminal: <https://no-color.org>.
pub(crate) fn color_is_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl<W: Write> Watched<W> {
    /// Writes there.
    pub(crate) fn new(out: W) -> Self {
        Self {
            out: Some(BufWriter::new(out)),
            failed: None,
        }
    }

    /// Why writing failed, if it did: the kind, and the operating system's words.
    pub(crate) fn failed(&self) -> Option<&(io::ErrorKind, String)> {
        self.failed.as_ref()
    }

    fn note<T>(&mut self, act: impl FnOnce(&mut BufWriter<W>) -> io::Result<T>) -> io::Result<T> {
        let Some(out) = &mut self.out else {
            return Err(io::Error::other("closed"));
        };
        let result = act(out);
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed
                .get_or_insert_with(|| (error.kind(), crate::error::os_reason(error)));
        }
        result
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.note(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.note(BufWriter::flush)
    }
}

impl<W: Write> Drop for Watched<W> {
    fn drop(&mut self) {
        if self.failed.is_some()
            && let Some(out) = self.out.take()
        {
            // What is left in the buffer would fail once more, when nobody can be told.
            drop(out.into_parts());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_writing_failed_is_remembered_in_the_operating_systems_words() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(28))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut data = Watched::new(Full);
        assert!(data.write_all(b"x").is_ok() && data.failed().is_none());
        assert!(data.flush().is_err());
        let (kind, why) = data.failed().unwrap();
        assert_eq!(*kind, io::ErrorKind::StorageFull);
        assert!(why.starts_with("no space left on device"), "{why}");
    }
}
