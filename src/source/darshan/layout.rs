//! Where each counter lies in a record, for every module with records of fixed size and every version of it.
//!
//! A record is `id u64, rank i64, [file record id u64], integers i64.., floats f64.., [tail]`. Older versions lack counters or
//! have them elsewhere; a [`Layout`] says for each counter of today where it is to be found, so that reading an old record is
//! no different from reading a new one. Insertions are positions in the older vector, applied version after version.
//!
//! Source: FORMAT.md 6. Differs from libdarshan 3.5.0, which loses counters of POSIX versions 1 to 3 on the way
//! (FORMAT.md 12.1 to 12.3).

use super::module::ModuleId;
use std::sync::LazyLock;

/// Where a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Eight bytes at this place of the record, a multiple of eight.
    At(usize),
    /// Not in this version.
    Missing,
    /// The sum of two counters of this version.
    Sum(usize, usize),
}

/// The layout of one version of one module.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes of a record (of its fixed part in MDHIM).
    pub size: usize,
    /// Where each integer counter is, by its index in [`super::counters`].
    pub ints: Vec<Slot>,
    /// Where each floating-point counter is.
    pub floats: Vec<Slot>,
    /// Where the record id of the containing file is.
    pub file_record_id: Option<usize>,
    /// Where what follows the counters begins, if something does.
    pub tail: Option<usize>,
    /// Bytes that are no numbers and have no byte order.
    pub text: std::ops::Range<usize>,
    /// A counter that must not be above 0: POSIX version 1 mixed stdio calls into some records.
    pub drop_if: Option<usize>,
}

/// The layout of a module's version; None if there is no such version.
pub fn layout(module: ModuleId, version: u32) -> Option<&'static Layout> {
    static ALL: LazyLock<Vec<(ModuleId, u32, Layout)>> = LazyLock::new(all);
    ALL.iter()
        .find(|(m, v, _)| *m == module && *v == version)
        .map(|(_, _, layout)| layout)
}

fn all() -> Vec<(ModuleId, u32, Layout)> {
    let mut all = vec![];
    // POSIX.
    let mut v1 = Layout::plain(68, 15);
    v1.drop_if = Some(16 + 8 * 6);
    v1.ints.drain(6..10);
    let v2 = Layout::plain(64, 15);
    let v3 = Layout::plain(64, 17);
    let with_close = |layout: Layout, at: usize| layout.insert_floats(at, 2);
    let to_v4 = |layout: Layout| layout.insert_ints(1, 2).insert_ints(10, 3);
    all.push((ModuleId::POSIX, 1, to_v4(with_close(v1, 3))));
    all.push((ModuleId::POSIX, 2, to_v4(with_close(v2, 3))));
    all.push((ModuleId::POSIX, 3, to_v4(v3)));
    all.push((ModuleId::POSIX, 4, Layout::plain(69, 17)));
    // MPI-IO.
    for version in [1, 2] {
        all.push((
            ModuleId::MPIIO,
            version,
            with_close(Layout::plain(51, 15), 3),
        ));
    }
    all.push((ModuleId::MPIIO, 3, Layout::plain(51, 17)));
    // STDIO.
    all.push((ModuleId::STDIO, 1, Layout::plain(13, 15).insert_ints(1, 1)));
    all.push((ModuleId::STDIO, 2, Layout::plain(14, 15)));
    // HDF5.
    let h5f = |layout: Layout| layout.insert_ints(1, 2).insert_floats(4, 1);
    all.push((ModuleId::H5F, 1, h5f(with_close(Layout::plain(1, 2), 1))));
    all.push((ModuleId::H5F, 2, h5f(Layout::plain(1, 4))));
    all.push((ModuleId::H5F, 3, Layout::plain(3, 5)));
    all.push((ModuleId::H5D, 1, Layout::plain(94, 17)));
    all.push((ModuleId::H5D, 2, Layout::new(Some(16), 24, 94, 17)));
    // PnetCDF.
    let file = |layout: Layout| {
        let (Slot::At(independent), Slot::At(collective)) = (layout.ints[0], layout.ints[1]) else {
            unreachable!("plain layouts hold places")
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| layout.floats[i]);
        let missing = Slot::Missing;
        let opens = Slot::Sum(independent, collective);
        let ints = vec![
            missing, opens, missing, missing, missing, missing, missing, missing, missing,
        ];
        Layout {
            ints,
            floats: vec![a, b, missing, c, d, missing, missing, missing],
            ..layout
        }
    };
    all.push((
        ModuleId::PNETCDF_FILE,
        1,
        file(with_close(Layout::plain(2, 2), 1)),
    ));
    all.push((ModuleId::PNETCDF_FILE, 2, file(Layout::plain(2, 4))));
    all.push((ModuleId::PNETCDF_FILE, 3, Layout::plain(9, 8)));
    all.push((ModuleId::PNETCDF_VAR, 1, Layout::new(Some(16), 24, 120, 17)));
    // The rest. Version 1 of BG/Q has eight bytes of alignment after the rank.
    all.push((ModuleId::BGQ, 1, Layout::new(None, 24, 11, 1)));
    all.push((ModuleId::BGQ, 2, Layout::plain(11, 1)));
    all.push((ModuleId::MDHIM, 1, Layout::plain(5, 4)));
    all.push((ModuleId::DFS, 1, Layout::plain(52, 15).with_tail(32, 32)));
    all.push((ModuleId::DAOS, 1, Layout::plain(64, 15).with_tail(32, 48)));
    all
}

impl Layout {
    fn plain(ints: usize, floats: usize) -> Self {
        Self::new(None, 16, ints, floats)
    }

    fn new(file_record_id: Option<usize>, from: usize, ints: usize, floats: usize) -> Self {
        let size = from + 8 * (ints + floats);
        Self {
            size,
            ints: (0..ints).map(|i| Slot::At(from + 8 * i)).collect(),
            floats: (0..floats)
                .map(|i| Slot::At(from + 8 * (ints + i)))
                .collect(),
            file_record_id,
            tail: None,
            text: size..size,
            drop_if: None,
        }
    }

    fn insert_ints(mut self, at: usize, n: usize) -> Self {
        self.ints
            .splice(at..at, std::iter::repeat_n(Slot::Missing, n));
        self
    }

    fn insert_floats(mut self, at: usize, n: usize) -> Self {
        self.floats
            .splice(at..at, std::iter::repeat_n(Slot::Missing, n));
        self
    }

    /// A tail of `length` bytes, the first `text` of which are no numbers.
    fn with_tail(mut self, text: usize, length: usize) -> Self {
        self.tail = Some(self.size);
        self.text = self.size..self.size + text;
        self.size += length;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::counters::{posix, stdio};
    use super::*;

    #[test]
    fn sizes_are_those_of_the_format() {
        for (module, version, size) in [
            (ModuleId::POSIX, 1, 680),
            (ModuleId::POSIX, 2, 648),
            (ModuleId::POSIX, 3, 664),
            (ModuleId::POSIX, 4, 704),
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
        ] {
            assert_eq!(
                layout(module, version).unwrap().size,
                size,
                "{module:?} version {version}"
            );
        }
        assert!(layout(ModuleId::POSIX, 5).is_none());
    }

    #[test]
    fn every_version_has_a_slot_for_every_counter_of_today() {
        for (module, version, layout) in all() {
            let newest = all()
                .into_iter()
                .filter(|(m, _, _)| *m == module)
                .max_by_key(|(_, v, _)| *v)
                .unwrap()
                .2;
            assert_eq!(
                layout.ints.len(),
                newest.ints.len(),
                "{module:?} version {version}"
            );
            assert_eq!(
                layout.floats.len(),
                newest.floats.len(),
                "{module:?} version {version}"
            );
        }
    }

    #[test]
    fn counters_of_old_versions_are_found_where_those_had_them() {
        // POSIX 3: OPENS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS MODE BYTES_READ; floats follow 64 integers.
        let v3 = layout(ModuleId::POSIX, 3).unwrap();
        assert_eq!(v3.ints[posix::OPENS], Slot::At(16));
        assert_eq!(v3.ints[posix::FILENOS], Slot::Missing);
        assert_eq!(v3.ints[posix::READS], Slot::At(24));
        assert_eq!(v3.ints[posix::RENAMED_FROM], Slot::Missing);
        assert_eq!(v3.ints[posix::MODE], Slot::At(16 + 8 * 8));
        assert_eq!(v3.ints[posix::BYTES_READ], Slot::At(16 + 8 * 9));
        assert_eq!(v3.floats[posix::F_VARIANCE_RANK_BYTES], Slot::At(664 - 8));
        // POSIX 2 has no CLOSE_START and OPEN_END.
        let v2 = layout(ModuleId::POSIX, 2).unwrap();
        assert_eq!(v2.floats[posix::F_CLOSE_START_TIMESTAMP], Slot::Missing);
        assert_eq!(v2.floats[posix::F_OPEN_END_TIMESTAMP], Slot::Missing);
        assert_eq!(
            v2.floats[posix::F_READ_END_TIMESTAMP],
            Slot::At(16 + 64 * 8 + 3 * 8)
        );
        assert_eq!(v2.floats[posix::F_VARIANCE_RANK_BYTES], Slot::At(648 - 8));
        // POSIX 1: four stdio counters between SEEKS, STATS and FSYNCS are gone.
        let v1 = layout(ModuleId::POSIX, 1).unwrap();
        assert_eq!(v1.ints[posix::MMAPS], Slot::At(16 + 8 * 5));
        assert_eq!(v1.ints[posix::FSYNCS], Slot::At(16 + 8 * 10));
        let stdio1 = layout(ModuleId::STDIO, 1).unwrap();
        assert_eq!(stdio1.ints[stdio::FDOPENS], Slot::Missing);
        assert_eq!(stdio1.ints[stdio::READS], Slot::At(24));
    }
}
