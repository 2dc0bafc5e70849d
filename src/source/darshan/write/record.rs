//! Records of a fixed size: a head, counters, and what a few modules add.

use super::encode::Bytes;
use crate::source::darshan::ModuleId;

/// One record of a module whose records all have the same size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Record id: Darshan's hash of the name.
    pub id: u64,
    /// Process; -1 if it is reduced over all of them.
    pub rank: i64,
    /// Integer counters in the current numbering; those that are not given are 0.
    pub ints: Vec<i64>,
    /// Double counters in the current numbering; those that are not given are 0.
    pub floats: Vec<f64>,
    /// What the module adds.
    pub extra: Extra,
}

/// What some modules' records hold beside counters; zeros are written where a record has another kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Extra {
    /// Nothing.
    #[default]
    None,
    /// H5D (version 2) and PNETCDF_VAR: record id of the file of the dataset.
    File(u64),
    /// Counters that only old versions have. POSIX 1: FOPENS, FREADS, FWRITES, FSEEKS; PNETCDF_FILE 1 and 2:
    /// INDEP_OPENS (COLL_OPENS are the other opens); BG/Q 1: alignment.
    Old(Vec<i64>),
    /// DFS and DAOS: where the object is kept.
    Stored {
        /// UUID of the pool, as it lies in the file.
        pool: [u8; 16],
        /// UUID of the container.
        container: [u8; 16],
        /// DAOS: high and low half of the object id.
        object: (u64, u64),
    },
}

/// The layout of a module's records in one version.
struct Shape {
    /// Integer and double counters of the current version.
    ints: usize,
    floats: usize,
    /// Counters of the current numbering that this version lacks.
    without_ints: &'static [usize],
    without_floats: &'static [usize],
    extra: ExtraField,
}

/// What lies in a record beside counters.
#[derive(Clone, Copy, PartialEq)]
enum ExtraField {
    Nothing,
    /// Id of a file after the rank.
    File,
    /// One integer after the rank.
    Alignment,
    /// Four integers before the one that was counter 6 of the old numbering.
    Stdio,
    /// Instead of the integers: independent and collective opens.
    Opens,
    /// Two UUIDs at the end, and an object id.
    Stored {
        object: bool,
    },
}

/// The layout of a fixed-size module; None if the module has none. Versions past the newest are written like it.
fn shape(id: ModuleId, version: u32) -> Option<Shape> {
    use ExtraField::{Alignment, File, Nothing, Opens, Stdio, Stored};
    let new = |ints, floats, extra| Shape {
        ints,
        floats,
        without_ints: &[],
        without_floats: &[],
        extra,
    };
    Some(match (id, version) {
        (ModuleId(0), _) => new(2, 2, Nothing),
        (ModuleId::POSIX, 0..=1) => Shape {
            without_ints: &[1, 2, 10, 11, 12],
            without_floats: &[3, 4],
            ..new(69, 17, Stdio)
        },
        (ModuleId::POSIX, 2) => Shape {
            without_ints: &[1, 2, 10, 11, 12],
            without_floats: &[3, 4],
            ..new(69, 17, Nothing)
        },
        (ModuleId::POSIX, 3) => Shape {
            without_ints: &[1, 2, 10, 11, 12],
            ..new(69, 17, Nothing)
        },
        (ModuleId::POSIX, _) => new(69, 17, Nothing),
        (ModuleId::MPIIO, 0..=2) => Shape {
            without_floats: &[3, 4],
            ..new(51, 17, Nothing)
        },
        (ModuleId::MPIIO, _) => new(51, 17, Nothing),
        (ModuleId::H5F, 0..=1) => Shape {
            without_ints: &[1, 2],
            without_floats: &[1, 2, 4],
            ..new(3, 5, Nothing)
        },
        (ModuleId::H5F, 2) => Shape {
            without_ints: &[1, 2],
            without_floats: &[4],
            ..new(3, 5, Nothing)
        },
        (ModuleId::H5F, _) => new(3, 5, Nothing),
        (ModuleId::H5D, 0..=1) => new(94, 17, Nothing),
        (ModuleId::H5D, _) => new(94, 17, File),
        (ModuleId::PNETCDF_FILE, 0..=1) => Shape {
            without_floats: &[1, 2, 3, 5, 6, 7],
            ..new(9, 8, Opens)
        },
        (ModuleId::PNETCDF_FILE, 2) => Shape {
            without_floats: &[2, 5, 6, 7],
            ..new(9, 8, Opens)
        },
        (ModuleId::PNETCDF_FILE, _) => new(9, 8, Nothing),
        (ModuleId::PNETCDF_VAR, _) => new(120, 17, File),
        (ModuleId::BGQ, 0..=1) => new(11, 1, Alignment),
        (ModuleId::BGQ, _) => new(11, 1, Nothing),
        (ModuleId::STDIO, 0..=1) => Shape {
            without_ints: &[1],
            ..new(14, 15, Nothing)
        },
        (ModuleId::STDIO, _) => new(14, 15, Nothing),
        (ModuleId::DFS, _) => new(52, 15, Stored { object: false }),
        (ModuleId::DAOS, _) => new(64, 15, Stored { object: true }),
        _ => return None,
    })
}

impl Record {
    /// Appends the record as the module's version has it.
    ///
    /// # Panics
    /// If the module has no counters, or fewer than the record.
    pub(super) fn write(&self, id: ModuleId, version: u32, to: &mut Bytes) {
        let shape =
            shape(id, version).unwrap_or_else(|| panic!("{id:?} has no records of counters"));
        assert!(
            self.ints.len() <= shape.ints,
            "{id:?} has {} integer counters",
            shape.ints
        );
        assert!(
            self.floats.len() <= shape.floats,
            "{id:?} has {} double counters",
            shape.floats
        );
        let int = |counter: usize| self.ints.get(counter).copied().unwrap_or(0);
        let float = |counter: usize| self.floats.get(counter).copied().unwrap_or(0.0);
        let old = |at: usize| match &self.extra {
            Extra::Old(old) => old.get(at).copied().unwrap_or(0),
            _ => 0,
        };
        to.u64(self.id);
        to.i64(self.rank);
        match (shape.extra, &self.extra) {
            (ExtraField::File, Extra::File(file)) => to.u64(*file),
            (ExtraField::File, _) => to.u64(0),
            (ExtraField::Alignment, _) => to.i64(old(0)),
            _ => {}
        }
        if shape.extra == ExtraField::Opens {
            to.i64(old(0));
            to.i64(int(1) - old(0));
        } else {
            let kept = (0..shape.ints).filter(|counter| !shape.without_ints.contains(counter));
            for (position, counter) in kept.enumerate() {
                if shape.extra == ExtraField::Stdio && position == 6 {
                    (0..4).for_each(|at| to.i64(old(at)));
                }
                to.i64(int(counter));
            }
        }
        let kept = (0..shape.floats).filter(|counter| !shape.without_floats.contains(counter));
        kept.for_each(|counter| to.f64(float(counter)));
        if let ExtraField::Stored { object } = shape.extra {
            let (pool, container, id) = match &self.extra {
                Extra::Stored {
                    pool,
                    container,
                    object,
                } => (*pool, *container, *object),
                _ => Default::default(),
            };
            to.raw(&pool);
            to.raw(&container);
            if object {
                to.u64(id.0);
                to.u64(id.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::darshan::header::ByteOrder;

    #[test]
    fn records_have_the_sizes_that_darshan_gives_them() {
        let sizes = [
            (ModuleId(0), 1, 48),
            (ModuleId::POSIX, 1, 680),
            (ModuleId::POSIX, 2, 648),
            (ModuleId::POSIX, 3, 664),
            (ModuleId::POSIX, 4, 704),
            (ModuleId::MPIIO, 1, 544),
            (ModuleId::MPIIO, 2, 544),
            (ModuleId::MPIIO, 3, 560),
            (ModuleId::H5F, 1, 40),
            (ModuleId::H5F, 2, 56),
            (ModuleId::H5F, 3, 80),
            (ModuleId::H5D, 1, 904),
            (ModuleId::H5D, 2, 912),
            (ModuleId::PNETCDF_FILE, 1, 48),
            (ModuleId::PNETCDF_FILE, 2, 64),
            (ModuleId::PNETCDF_FILE, 3, 152),
            (ModuleId::PNETCDF_VAR, 1, 1120),
            (ModuleId::BGQ, 1, 120),
            (ModuleId::BGQ, 2, 112),
            (ModuleId::STDIO, 1, 240),
            (ModuleId::STDIO, 2, 248),
            (ModuleId::DFS, 1, 584),
            (ModuleId::DAOS, 1, 696),
        ];
        for (id, version, size) in sizes {
            let mut bytes = Bytes::new(ByteOrder::Little);
            Record::default().write(id, version, &mut bytes);
            assert_eq!(bytes.bytes.len(), size, "{id:?} version {version}");
        }
    }

    #[test]
    fn an_old_posix_record_lacks_the_counters_that_came_later() {
        let record = Record {
            ints: (0..69).collect(),
            extra: Extra::Old(vec![-1, -2, -3, -4]),
            ..Record::default()
        };
        let mut bytes = Bytes::new(ByteOrder::Big);
        record.write(ModuleId::POSIX, 1, &mut bytes);
        let ints = bytes.bytes[16..16 + 68 * 8]
            .chunks(8)
            .map(|b| i64::from_be_bytes(b.try_into().unwrap()));
        let expect = [0, 3, 4, 5, 6, 7, -1, -2, -3, -4, 8, 9]
            .into_iter()
            .chain(13..69);
        assert!(ints.eq(expect));
    }
}
