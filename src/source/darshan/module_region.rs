//! The inflated region of one module: where its records lie, and in which order the rows of its table take them.

use super::header::ByteOrder;
use super::layout::layout;
use super::module::dxt::Form;
use super::module::{
    Module, ModuleId, Shape, apmpi, apxc, dxt, heatmap, int, lustre, mdhim, swap_words,
};
use super::repeated::drop_repeated;

/// The inflated region of a module and where its records begin; empty where not read.
#[derive(Default)]
pub(super) struct ModuleRegion {
    pub(super) bytes: Vec<u8>,
    /// Where each record begins; empty for records of one size.
    pub(super) starts: Vec<usize>,
    /// Numbers of the records in the order of the module's table.
    pub(super) order: Vec<u32>,
    /// Bytes of a record if all have the same; else 0.
    size: usize,
    pub(super) version: u32,
    pub(super) read: bool,
}

impl ModuleRegion {
    /// Finds the records, makes their numbers little-endian, and drops what follows the first bad one.
    pub(super) fn find_records(
        &mut self,
        module: &Module,
        order: ByteOrder,
        nprocs: i64,
    ) -> Option<(usize, String)> {
        // Everything after this reads little-endian, whatever the machine.
        let swap = order == ByteOrder::Big;
        let size = layout(module.id, self.version).map_or(0, |layout| layout.size);
        self.size = if module.shape == Shape::Fixed {
            size
        } else {
            0
        };
        let (bytes, starts, version) = (&mut self.bytes, &mut self.starts, self.version);
        let walked = match module.shape {
            Shape::Fixed => fixed(bytes, module.id, version, swap),
            Shape::Lustre => lustre::walk(bytes, version, swap, starts),
            Shape::Dxt => dxt::walk(bytes, Form::new(module.id, version), swap, starts),
            Shape::Heatmap => heatmap::walk(bytes, swap, starts),
            Shape::Mdhim => mdhim::walk(bytes, swap, starts),
            Shape::Apmpi => apmpi::walk(bytes, swap, starts),
            Shape::Apxc => return apxc::walk(bytes, starts).err(),
        };
        let mut damage = walked.err();
        if let Some((at, _)) = &damage {
            bytes.truncate(*at);
        }
        // A process that cannot be is damage that the sizes do not show.
        let begins: &mut dyn Iterator<Item = usize> = match module.shape {
            Shape::Fixed => &mut (0..bytes.len() / size.max(1)).map(|record| record * size),
            _ => &mut starts.iter().copied(),
        };
        let bad = begins
            .map(|at| (at, int(bytes, at + 8)))
            .find(|(_, rank)| *rank < -1 || (nprocs > 0 && *rank >= nprocs));
        if let Some((at, rank)) = bad {
            bytes.truncate(at);
            starts.retain(|start| *start < at);
            damage = Some((at, format!("a record of process {rank} of {nprocs}")));
        }
        if let Some(drop_if) = layout(module.id, version).and_then(|layout| layout.drop_if) {
            drop_records(bytes, size, drop_if);
        }
        damage
    }

    /// Puts the records in order, without those of an object and a process that an earlier one has: where the first of these lies,
    /// and how many they are.
    pub(super) fn drop_repeated(&mut self, module: &Module) -> Option<(usize, usize)> {
        if module.shape == Shape::Apxc {
            return None;
        }
        drop_repeated(
            &mut self.bytes,
            &mut self.starts,
            self.size,
            &mut self.order,
        )
    }

    /// How many records there are.
    pub(super) fn count(&self) -> usize {
        match self.size {
            0 => self.starts.len(),
            size => self.bytes.len() / size,
        }
    }
}

/// Brings records of fixed size little-endian; what is left over at the end is damage.
fn fixed(bytes: &mut [u8], id: ModuleId, version: u32, swap: bool) -> Result<(), (usize, String)> {
    let Some(layout) = layout(id, version) else {
        return Ok(());
    };
    if swap {
        for at in (0..bytes.len() / layout.size).map(|record| record * layout.size) {
            swap_words(bytes, at, at + layout.text.start);
            swap_words(bytes, at + layout.text.end, at + layout.size);
        }
    }
    let left = bytes.len() % layout.size;
    match left {
        0 => Ok(()),
        _ => Err((
            bytes.len() - left,
            format!("{left} bytes are left where a record takes {}", layout.size),
        )),
    }
}

/// Removes the records whose integer at `at` is above 0.
fn drop_records(bytes: &mut Vec<u8>, size: usize, at: usize) {
    let mut kept = 0;
    for record in 0..bytes.len() / size {
        if int(bytes, record * size + at) <= 0 {
            bytes.copy_within(record * size..(record + 1) * size, kept * size);
            kept += 1;
        }
    }
    bytes.truncate(kept * size);
}
