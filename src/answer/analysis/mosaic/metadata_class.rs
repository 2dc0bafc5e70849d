//! The classes of the load on the metadata servers, and their names.

/// How a log loads the metadata servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetadataClass {
    /// Very many opens, closes and seeks in one second.
    HighSpike,
    /// Many a second over the whole time, and several seconds with many.
    HighDensity,
    /// Several seconds with many.
    MultipleSpikes,
    /// None of those before.
    InsignificantLoad,
}

impl MetadataClass {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::HighSpike => "metadata_high_spike",
            Self::HighDensity => "metadata_high_density",
            Self::MultipleSpikes => "metadata_multiple_spikes",
            Self::InsignificantLoad => "metadata_insignificant_load",
        }
    }
}
