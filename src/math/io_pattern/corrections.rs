//! What may be corrected on the way from operations to classes.

use super::group::Scale;

/// How a mode goes on from operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrections {
    /// c4: bytes by quarter come from operations, each spread evenly over its own length, not from groups, in which operations that overlap are one: a small file that is open all the
    /// time would spread the bytes of all others over the run.
    pub quarters_of_operations: bool,
    /// c5: how clustering compares seconds and bytes.
    pub scale: Scale,
    /// c7 and c8: periodic is what comes at equal distances three times or more, on top of whatever else: [`super::train`]. Without it, what is mostly groups of more than one segment.
    pub trains: bool,
    /// Operations in more than [`MOST_SEGMENTS`] segments are added up by equal slices of the run, instead of giving up.
    pub sliced: bool,
}

impl Corrections {
    /// None: as the published tool.
    pub const NONE: Self = Self {
        quarters_of_operations: false,
        scale: Scale::Raw,
        trains: false,
        sliced: false,
    };

    /// All.
    pub const FULL: Self = Self {
        quarters_of_operations: true,
        scale: Scale::UnitDeviation,
        trains: true,
        sliced: true,
    };
}

/// Segments of one direction that are clustered, at most: each group that is found clusters the rest anew.
pub const MOST_SEGMENTS: usize = 4096;
