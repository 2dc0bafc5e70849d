//! Kinds of months.

/// What a month is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A month as a centre has it, with a few faults: logs, accounting and samples of the servers.
    #[default]
    Usual,
    /// As many healthy jobs as others: with causes of slow I/O of several sizes, pairs of causes, and decoys that only look
    /// like one. Logs alone.
    Causes,
    /// Healthy jobs alone, of the shapes and sizes of those of [`Kind::Causes`]. Logs alone.
    Clean,
    /// An OST that slows down every file that has it among its stripes, and programs that are slow or fast for other
    /// reasons. Logs alone.
    SlowOst,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Usual, Self::Causes, Self::Clean, Self::SlowOst];

    /// Its name, on the command line and in truth.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Causes => "causes",
            Self::Clean => "clean",
            Self::SlowOst => "slow-ost",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What a month of this kind has, in one line.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Usual => "jobs as a centre has them, a few faults planted",
            Self::Causes => {
                "causes of slow I/O, one and two in a job, of three sizes, with decoys and healthy jobs"
            }
            Self::Clean => "healthy jobs alone",
            Self::SlowOst => "one slow OST under striped files, and programs that look like it",
        }
    }
}
