//! What can go wrong, one variant for each thing a caller can act on.
//!
//! A message says where, what is wrong with the offending value, what was expected, and what to do where there is
//! something to do: lower case, no full stop. `cli` prints it after `iolode: ` as one line. Names and reasons in it may come from
//! anywhere, so they are escaped.

use crate::text::{shown, shown_path};
use std::path::{Path, PathBuf};

/// What a function of iolode returns when it can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of iolode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system or an object store refused.
    #[error("{}: {what}: {}", shown_path(path), os_reason(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, such as `cannot read`.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Bytes that are not what their format says.
    #[error("{}: {}{}: {}", shown_path(path), shown(region), at.map(|at| format!(" at byte {at}")).unwrap_or_default(), shown(reason))]
    Malformed {
        /// The input.
        path: PathBuf,
        /// The part of the input, such as `POSIX region`.
        region: String,
        /// Position in the input (for a compressed region: in the inflated bytes, and the region says so).
        at: Option<u64>,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A version or a form that iolode knows of and does not read.
    #[error("{}: {}", shown_path(path), shown(reason))]
    Unsupported {
        /// The input or lake.
        path: PathBuf,
        /// What is not supported, and what is.
        reason: String,
    },
    /// A name that is not in a list; the nearest known one is suggested.
    #[error("unknown {kind} `{}`{}", shown(name), suggestion(hint))]
    Unknown {
        /// What kind of name: `table`, `column`, `query`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// What to say after it, such as ``did you mean `darshan_log`?``.
        hint: Option<String>,
    },
    /// Somebody else changed the lake, and retrying did not help.
    #[error("lake {}: {}", shown_path(lake), shown(reason))]
    Conflict {
        /// The lake.
        lake: PathBuf,
        /// Who won, and how often it was retried.
        reason: String,
    },
    /// Whether a version was published is not known. Nothing was deleted.
    #[error("lake {}: nobody can say whether version {version} was committed: {reason}; look with `iolode lake history` before running this again", lake.display())]
    Outcome {
        /// The lake.
        lake: PathBuf,
        /// The version that may be there.
        version: u64,
        /// What kept it from being looked at.
        reason: String,
    },
    /// A lake that is not there, is no lake, or is damaged.
    #[error("lake {}: {}", shown_path(lake), shown(reason))]
    Lake {
        /// The lake.
        lake: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// What the user asked for makes no sense; the text says what would.
    #[error("{}", shown(_0))]
    Invalid(String),
    /// Whoever would answer is not there, for no other question either: a cluster without executors.
    #[error("{}", shown(_0))]
    Unavailable(String),
    /// The user stopped the run. Nothing was committed.
    #[error("interrupted; nothing was committed")]
    Interrupted,
    /// Arrow or Parquet refused; `what` says during what.
    #[error("{}: {}", shown(what), shown(&source.to_string()))]
    Columns {
        /// The table or file.
        what: String,
        /// Their error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// An I/O error with its path.
    pub fn io(path: impl AsRef<Path>, what: &'static str, source: std::io::Error) -> Self {
        Self::Io {
            path: path.as_ref().to_path_buf(),
            what,
            source,
        }
    }

    /// An error of Arrow or Parquet, with the table or file it was about.
    pub fn columns(
        what: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Columns {
            what: what.into(),
            source: Box::new(source),
        }
    }

    /// An unknown name, with the nearest of the known ones if one is near.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        Self::Unknown {
            kind,
            name: name.to_string(),
            hint,
        }
    }
}

/// The known name that `name` was probably meant to be: the nearest by edit distance, if at most a third of it differs.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|known| {
            (
                strsim::damerau_levenshtein(&name, &known.to_lowercase()),
                known,
            )
        })
        .filter(|(distance, known)| *distance <= 1 + known.len().max(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn suggestion(hint: &Option<String>) -> String {
    hint.as_ref()
        .map(|hint| format!("; {}", shown(hint)))
        .unwrap_or_default()
}

/// The operating system's words without Rust's `(os error 2)`, in lower case.
pub(crate) fn os_reason(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return "no space left on device; make room there and run the command again".into();
    }
    let text = error.to_string();
    let text = shown(text.split(" (os error").next().unwrap_or(&text));
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // An abbreviation keeps its capitals.
        (Some(_), Some(second)) if second.is_uppercase() => text.into_owned(),
        (Some(first), _) => first.to_lowercase().chain(letters).collect(),
        (None, _) => "unknown reason".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_names_path_and_reason_in_lower_case() {
        let source = std::io::Error::from_raw_os_error(2);
        let text = Error::io("a/b.darshan", "cannot open", source).to_string();
        assert_eq!(text, "a/b.darshan: cannot open: no such file or directory");
    }

    #[test]
    fn names_and_reasons_cannot_end_the_line_or_steer_a_terminal() {
        let (path, reason) = ("a\n\u{1b}[2J", "b\r\u{9b}\u{202e}");
        let errors = [
            Error::io(path, "cannot open", std::io::Error::other(reason)),
            Error::Malformed {
                path: path.into(),
                region: reason.into(),
                at: Some(7),
                reason: reason.into(),
            },
            Error::Unsupported {
                path: path.into(),
                reason: reason.into(),
            },
            Error::unknown("table", reason, ["darshan_log"]),
            Error::Unknown {
                kind: "table",
                name: path.into(),
                hint: Some(reason.into()),
            },
            Error::Conflict {
                lake: path.into(),
                reason: reason.into(),
            },
            Error::Lake {
                lake: path.into(),
                reason: reason.into(),
            },
            Error::Invalid(reason.into()),
            Error::columns(path, std::io::Error::other(reason)),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(
                !text.contains(['\n', '\r', '\u{1b}', '\u{9b}', '\u{202e}']),
                "{text:?}"
            );
            assert!(text.contains("b\\r\\x9b\\u{202e}"), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest_and_nothing_far() {
        let known = ["darshan_log", "darshan_file"];
        let text = Error::unknown("table", "darshan_lgo", known).to_string();
        assert_eq!(
            text,
            "unknown table `darshan_lgo`; did you mean `darshan_log`?"
        );
        assert_eq!(
            Error::unknown("table", "x", known).to_string(),
            "unknown table `x`"
        );
    }
}
