//! The two modes, what differs between them, and the limits that a user may set.

use super::metadata::Spikes;
use crate::math::io_pattern::corrections::Corrections;

/// Where operations come from, and whether the published tool's mistakes are corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As the published tool: [`super::reference`].
    Reference,
    /// What the log holds at its best: [`super::full`].
    #[default]
    Full,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Full => "full",
        }
    }

    /// How it goes on from operations.
    ///
    /// Of the corrections of `full`, c1 (opens of the same file, not of the same position), c2 (all modules) and c3 (no standard streams) are
    /// in the operations that [`super::full`] begins with, and c6 (windows are no work) is [`super::evidence::Basis::confidence`]. The others are here.
    pub fn corrections(self) -> Corrections {
        match self {
            Self::Reference => Corrections::NONE,
            Self::Full => Corrections::FULL,
        }
    }
}

/// Limits that a user may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes from which on a direction is significant.
    pub min_bytes: i64,
    /// Which seconds are spikes of metadata operations.
    pub spikes: Spikes,
}

impl Default for Options {
    /// Those of the published tool's first version.
    fn default() -> Self {
        Self {
            min_bytes: 100_000_000,
            spikes: Spikes {
                count_from: 10,
                high_above: 250,
            },
        }
    }
}
