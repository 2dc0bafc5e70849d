//! The inflated region of one module: where its records lie, and in which order the rows of its table take them.

use super::header::ByteOrder;
use super::layout::layout;
use super::module::dxt::Form;
use super::module::{
    Module, ModuleId, Shape, Walk, apmpi, apxc, dxt, heatmap, int, lustre, mdhim, swap_words,
};
use super::plausible::Plausible;
use super::region::Damage;
use super::repeated::{begin, count, drop_repeated};
use std::ops::Range;

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
    /// Bytes before the first record.
    head: usize,
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
        let cut = self.walk(module, order).err();
        if let Some((at, _)) = &cut {
            self.bytes.truncate(*at);
        }
        self.drop_bad(module, nprocs).or(cut)
    }

    /// Finds the records and makes their numbers little-endian, up to the first that is not whole.
    pub(super) fn walk(&mut self, module: &Module, order: ByteOrder) -> Walk {
        // Everything after this reads little-endian, whatever the machine.
        let swap = order == ByteOrder::Big;
        let size = layout(module.id, self.version).map_or(0, |layout| layout.size);
        self.size = if module.shape == Shape::Fixed {
            size
        } else {
            0
        };
        self.starts.clear();
        let (bytes, starts, version) = (&mut self.bytes, &mut self.starts, self.version);
        match module.shape {
            Shape::Fixed => fixed(bytes, module.id, version, swap),
            Shape::Lustre => lustre::walk(bytes, version, swap, starts),
            Shape::Dxt => dxt::walk(bytes, Form::new(module.id, version), swap, starts),
            Shape::Heatmap => heatmap::walk(bytes, swap, starts),
            Shape::Mdhim => mdhim::walk(bytes, swap, starts),
            Shape::Apmpi => {
                let walked = apmpi::walk(bytes, self.head, swap, starts);
                if bytes.len() >= apmpi::HEADER {
                    self.head = apmpi::HEADER;
                }
                walked
            }
            Shape::Apxc => apxc::walk(bytes, starts),
        }
    }

    /// Drops what follows the first record of a process that cannot be, which is damage that the sizes do not show, and then those
    /// that are none of the module.
    pub(super) fn drop_bad(&mut self, module: &Module, nprocs: i64) -> Option<(usize, String)> {
        if module.shape == Shape::Apxc {
            return None;
        }
        let size = self.size;
        let begins: &mut dyn Iterator<Item = usize> = match size {
            0 => &mut self.starts.iter().copied(),
            _ => &mut (0..self.bytes.len() / size).map(|record| record * size),
        };
        let bad = begins
            .map(|at| (at, int(&self.bytes, at + 8)))
            .find(|(_, rank)| *rank < -1 || (nprocs > 0 && *rank >= nprocs));
        if let Some((at, _)) = bad {
            self.bytes.truncate(at);
            self.starts.retain(|start| *start < at);
        }
        let layout = layout(module.id, self.version);
        if let Some(drop_if) = layout.and_then(|layout| layout.drop_if) {
            drop_records(&mut self.bytes, size, drop_if);
        }
        bad.map(|(at, rank)| (at, format!("a record of process {rank} of {nprocs}")))
    }

    /// Drops what follows the first record that cannot be true, of a region whose bytes are wrong from an unknown place on, and says so:
    /// whether there is one. The first byte lies at `base` in the whole region.
    pub(super) fn drop_implausible(
        &mut self,
        module: &Module,
        plausible: &Plausible<'_>,
        base: usize,
        damage: &mut Damage,
    ) -> bool {
        let records = 0..self.count();
        let version = self.version;
        let found = records.into_iter().find_map(|number| {
            let objection = plausible.objection(module, version, self.record(number))?;
            Some((
                begin(&self.starts, self.size, number, self.bytes.len()),
                objection,
            ))
        });
        if let Some((at, objection)) = found {
            self.bytes.truncate(at);
            self.starts.retain(|start| *start < at);
            damage.reason += &format!(
                "; nothing is taken from byte {} on: a record there {objection}",
                base + at
            );
            return true;
        }
        false
    }

    /// Puts the records in order, without those of an object and a process that an earlier one has: where the first of these lies,
    /// and how many they are.
    pub(super) fn drop_repeated(&mut self, module: &Module) -> Option<(usize, usize)> {
        if module.shape == Shape::Apxc {
            self.order = (0..self.count() as u32).collect();
            return None;
        }
        drop_repeated(
            &mut self.bytes,
            &mut self.starts,
            self.size,
            &mut self.order,
        )
    }

    /// Forgets everything but the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.order.clear();
        (self.head, self.read) = (0, false);
    }

    /// Makes room for records of another part of the same region, before which stands `head`.
    pub(super) fn begin(&mut self, module: &Module, version: u32, head: &[u8]) {
        self.clear();
        self.bytes.extend_from_slice(head);
        (self.version, self.read, self.head) = (version, true, head.len());
        let layout = layout(module.id, version).filter(|_| module.shape == Shape::Fixed);
        self.size = layout.map_or(0, |layout| layout.size);
    }

    /// Appends a record, which follows all others in the order of the table; false if there is no memory for it.
    #[must_use]
    pub(super) fn push(&mut self, record: &[u8]) -> bool {
        if self.bytes.try_reserve(record.len()).is_err() {
            return false;
        }
        self.order.push(self.count() as u32);
        if self.size == 0 {
            self.starts.push(self.bytes.len());
        }
        self.bytes.extend_from_slice(record);
        true
    }

    /// A record, by its number.
    pub(super) fn record(&self, record: usize) -> &[u8] {
        self.bytes.get(self.range(record)).unwrap_or_default()
    }

    /// Where a record lies, by its number.
    pub(super) fn range(&self, record: usize) -> Range<usize> {
        let begin = |record| begin(&self.starts, self.size, record, self.bytes.len());
        begin(record)..begin(record + 1)
    }

    /// The bytes before the first record, which belong to all of them.
    pub(super) fn head(&self) -> &[u8] {
        self.bytes.get(..self.head).unwrap_or_default()
    }

    /// How many records there are.
    pub(super) fn count(&self) -> usize {
        count(&self.bytes, &self.starts, self.size)
    }
}

/// Brings records of fixed size little-endian; what is left over at the end is damage.
fn fixed(bytes: &mut [u8], id: ModuleId, version: u32, swap: bool) -> Walk {
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
