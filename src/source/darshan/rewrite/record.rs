//! The records of a region under other names, changed where they lie, in the byte order of the log.

use super::replacements::Replacements;
use crate::error::Result;
use crate::source::darshan::counters::{bgq, posix};
use crate::source::darshan::header::ByteOrder;
use crate::source::darshan::layout::{Slot, layout};
use crate::source::darshan::module::{Module, ModuleId, Shape, apmpi, dxt, lustre};
use crate::source::darshan::record_id::is_stream;
use std::collections::HashMap;
use std::ops::Range;

/// The new ids of the records of a log.
#[derive(Default)]
pub(super) struct Ids(HashMap<u64, u64>);

impl Ids {
    /// Notes that of a record with a name.
    pub(super) fn insert(&mut self, id: u64, new: u64) {
        self.0.insert(id, new);
    }

    fn of(&mut self, id: u64, replacements: &mut dyn Replacements) -> u64 {
        *self.0.entry(id).or_insert_with(|| match is_stream(id) {
            true => id,
            false => replacements.record_id(id, None),
        })
    }
}

/// How the records of a region are changed.
pub(super) struct Renaming {
    pub(super) module: &'static Module,
    pub(super) version: u32,
    pub(super) order: ByteOrder,
}

impl Renaming {
    /// Replaces the id of a record.
    pub(super) fn id(&self, record: &mut [u8], ids: &mut Ids, replacements: &mut dyn Replacements) {
        self.id_at(record, 0, ids, replacements);
    }

    /// Replaces what a record says of somebody.
    ///
    /// # Errors
    /// Those of the replacements.
    pub(super) fn record(
        &self,
        record: &mut [u8],
        ids: &mut Ids,
        replacements: &mut dyn Replacements,
    ) -> Result<()> {
        self.id(record, ids, replacements);
        let table = self.module.table;
        match self.module.shape {
            Shape::Fixed => return self.fixed(record, ids, replacements),
            Shape::Dxt => {
                self.text(record, dxt::HOSTNAME, "hostname", replacements)?;
                if !replacements.keeps(table, "pthread_id")? {
                    dxt::clear_threads(record, self.module.id, self.version);
                }
            }
            Shape::Apmpi => self.text(record, apmpi::NODE_NAME, "node_name", replacements)?,
            // Two addresses of the process that wrote the log.
            Shape::Heatmap => fill(record, 32..48, 0),
            Shape::Lustre => {
                if !replacements.keeps(table, "components")? {
                    let components = self.order.i64(record, 16).unwrap_or(0);
                    lustre::clear_pools(record, self.version, components);
                }
            }
            Shape::Mdhim | Shape::Apxc => {}
        }
        Ok(())
    }

    fn fixed(
        &self,
        record: &mut [u8],
        ids: &mut Ids,
        replacements: &mut dyn Replacements,
    ) -> Result<()> {
        let Some(layout) = layout(self.module.id, self.version) else {
            return Ok(());
        };
        let table = self.module.table;
        if let Some(at) = layout.file_record_id {
            self.id_at(record, at, ids, replacements);
        }
        match self.module.id {
            ModuleId::POSIX => {
                if let Some(Slot::At(at)) = layout.ints.get(posix::RENAMED_FROM) {
                    self.id_at(record, *at, ids, replacements);
                }
            }
            ModuleId::BGQ => {
                if let Some(Slot::At(at)) = layout.ints.get(bgq::CSJOBID)
                    && !replacements.keeps(table, "bgq_csjobid")?
                {
                    fill(record, *at..at + 8, 0xff);
                }
            }
            ModuleId::DFS | ModuleId::DAOS => {
                let pool = layout.text.start..layout.text.start + 16;
                let container = pool.end..layout.text.end;
                self.uuid(record, pool, "pool_uuid", replacements)?;
                self.uuid(record, container, "cont_uuid", replacements)?;
                if self.module.id == ModuleId::DAOS && !replacements.keeps(table, "oid_hi")? {
                    fill(record, layout.text.end..layout.size, 0);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Replaces an id; 0 and -1 stand for none.
    fn id_at(
        &self,
        record: &mut [u8],
        at: usize,
        ids: &mut Ids,
        replacements: &mut dyn Replacements,
    ) {
        let id = self.order.u64(record, at).unwrap_or(0);
        if at > 0 && (id == 0 || id == u64::MAX) {
            return;
        }
        let new = ids.of(id, replacements);
        let bytes = match self.order {
            ByteOrder::Little => new.to_le_bytes(),
            ByteOrder::Big => new.to_be_bytes(),
        };
        if let Some(place) = record.get_mut(at..at + 8) {
            place.copy_from_slice(&bytes);
        }
    }

    /// Replaces a text that ends with a NUL; behind that nothing is left.
    fn text(
        &self,
        record: &mut [u8],
        place: Range<usize>,
        column: &str,
        replacements: &mut dyn Replacements,
    ) -> Result<()> {
        let Some(field) = record.get_mut(place) else {
            return Ok(());
        };
        let old = field.split(|byte| *byte == 0).next().unwrap_or_default();
        let old = String::from_utf8_lossy(old);
        let new = match old.is_empty() {
            true => String::new(),
            false => replacements.text(self.module.table, column, &old)?,
        };
        let room = field.len() - 1;
        write(field, &new.as_bytes()[..new.len().min(room)]);
        Ok(())
    }

    /// Replaces a UUID: a pseudonym of 16 characters is one of 16 bytes.
    fn uuid(
        &self,
        record: &mut [u8],
        place: Range<usize>,
        column: &str,
        replacements: &mut dyn Replacements,
    ) -> Result<()> {
        if replacements.keeps(self.module.table, column)? {
            return Ok(());
        }
        if let Some(field) = record.get_mut(place) {
            let old = uuid::Uuid::from_slice(field)
                .unwrap_or_default()
                .to_string();
            let new = replacements.text(self.module.table, column, &old)?;
            let room = field.len();
            write(field, &new.as_bytes()[..new.len().min(room)]);
        }
        Ok(())
    }
}

/// Writes bytes at the front of a field and NULs behind.
fn write(field: &mut [u8], bytes: &[u8]) {
    field.fill(0);
    if let Some(front) = field.get_mut(..bytes.len()) {
        front.copy_from_slice(bytes);
    }
}

fn fill(record: &mut [u8], place: Range<usize>, byte: u8) {
    if let Some(field) = record.get_mut(place) {
        field.fill(byte);
    }
}
