//! The HEATMAP records of a log.

use super::log::Log;
use super::module::ModuleId;
use super::module::heatmap::HeatmapRecord;

impl Log {
    /// The bytes by interval of time, a record for each interface and process, in the order of the log, with the name of the interface as Darshan
    /// writes it: `POSIX`, `MPIIO`, `STDIO`; None where the log lacks it.
    pub fn heatmap(&self) -> impl Iterator<Item = (Option<&[u8]>, HeatmapRecord<'_>)> {
        self.pieces(ModuleId::HEATMAP).map(|piece| {
            let record = HeatmapRecord::read(piece);
            let name = self.name(record.id);
            let interface = name.and_then(|name| name.strip_prefix(b"heatmap:"));
            (interface, record)
        })
    }
}
