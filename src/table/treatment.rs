//! What an anonymised export does with the values of a column.

use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer};
use std::fmt::{Display, Formatter};

/// The treatment of a column in an anonymised export, as `export` of a schema file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// As it is.
    Kept,
    /// NULL.
    Dropped,
    /// A pseudonym of this domain for each value.
    Pseudonym(Domain),
    /// Made of other values of the row, which have pseudonyms.
    Anew(Anew),
    /// Less exact.
    Coarsened(Coarse),
}

/// What a pseudonym stands for: equal values of one domain have equal pseudonyms in all columns and all exports by one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// A user's name.
    User,
    /// A user's number.
    Uid,
    /// An account that is charged.
    Account,
    /// A program.
    App,
    /// The name of a job or step.
    JobName,
    /// A node or server.
    Host,
    /// A cluster.
    Cluster,
    /// A partition, a quality of service or a reservation.
    Queue,
    /// A file system: one that is named after its mount point has the pseudonym of that path.
    Fs,
    /// A path, component by component.
    Path,
    /// A job id.
    Job,
    /// A log.
    Log,
    /// A record without a name.
    Record,
    /// An object of DAOS.
    Object,
}

/// From what a value is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anew {
    /// The record id of the pseudonym of the name.
    RecordId,
    /// The name of an object in a file: the pseudonym of its path, and of the parts after the colon.
    ObjectName,
    /// The job id as Slurm shows it.
    JobIdText,
    /// Nodes as Slurm writes them.
    NodeList,
    /// The path of a log.
    LogPath,
    /// A row of the manifest.
    Manifest,
}

/// How a value is made less exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coarse {
    /// The first word, if it is one of Slurm's reasons.
    Reason,
    /// MPI-IO hints whose values are numbers or switches.
    Hints,
    /// A type of file system that is well known; others are `other`.
    FsType,
    /// Components of a layout without the names of pools.
    Pools,
    /// Trackable resources without names of licenses and devices.
    Tres,
    /// A time, down to its minute.
    Minute,
    /// A time, down to its hour.
    Hour,
    /// A time, down to its day (UTC).
    Day,
}

/// Every treatment and its word.
const WORDS: [(&str, Treatment); 30] = [
    ("kept", Treatment::Kept),
    ("dropped", Treatment::Dropped),
    ("user", Treatment::Pseudonym(Domain::User)),
    ("uid", Treatment::Pseudonym(Domain::Uid)),
    ("account", Treatment::Pseudonym(Domain::Account)),
    ("app", Treatment::Pseudonym(Domain::App)),
    ("job_name", Treatment::Pseudonym(Domain::JobName)),
    ("host", Treatment::Pseudonym(Domain::Host)),
    ("cluster", Treatment::Pseudonym(Domain::Cluster)),
    ("queue", Treatment::Pseudonym(Domain::Queue)),
    ("fs", Treatment::Pseudonym(Domain::Fs)),
    ("path", Treatment::Pseudonym(Domain::Path)),
    ("job", Treatment::Pseudonym(Domain::Job)),
    ("log", Treatment::Pseudonym(Domain::Log)),
    ("record", Treatment::Pseudonym(Domain::Record)),
    ("object", Treatment::Pseudonym(Domain::Object)),
    ("record_id", Treatment::Anew(Anew::RecordId)),
    ("object_name", Treatment::Anew(Anew::ObjectName)),
    ("job_id_text", Treatment::Anew(Anew::JobIdText)),
    ("node_list", Treatment::Anew(Anew::NodeList)),
    ("log_path", Treatment::Anew(Anew::LogPath)),
    ("manifest", Treatment::Anew(Anew::Manifest)),
    ("reason", Treatment::Coarsened(Coarse::Reason)),
    ("hints", Treatment::Coarsened(Coarse::Hints)),
    ("fs_type", Treatment::Coarsened(Coarse::FsType)),
    ("pools", Treatment::Coarsened(Coarse::Pools)),
    ("tres", Treatment::Coarsened(Coarse::Tres)),
    ("minute", Treatment::Coarsened(Coarse::Minute)),
    ("hour", Treatment::Coarsened(Coarse::Hour)),
    ("day", Treatment::Coarsened(Coarse::Day)),
];

impl Treatment {
    /// The treatment of a word of a schema or policy file.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest word.
    pub fn of(word: &str) -> Result<Self> {
        let found = WORDS.iter().find(|(known, _)| *known == word);
        let known = WORDS.iter().map(|(known, _)| *known);
        found
            .map(|(_, treatment)| *treatment)
            .ok_or_else(|| Error::unknown("treatment", word, known))
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        let found = WORDS.iter().find(|(_, treatment)| *treatment == self);
        found.map_or("", |(word, _)| word)
    }
}

impl Domain {
    /// Its word, which is part of each pseudonym.
    pub fn word(self) -> &'static str {
        Treatment::Pseudonym(self).word()
    }
}

/// As a person reads it: `kept`, `pseudonym (user)`, `made anew (record_id)`, ..
impl Display for Treatment {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let word = self.word();
        match self {
            Self::Kept | Self::Dropped => f.write_str(word),
            Self::Pseudonym(_) => write!(f, "pseudonym ({word})"),
            Self::Anew(_) => write!(f, "made anew ({word})"),
            Self::Coarsened(_) => write!(f, "coarsened ({word})"),
        }
    }
}

impl<'de> Deserialize<'de> for Treatment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        Self::of(&word).map_err(serde::de::Error::custom)
    }
}
