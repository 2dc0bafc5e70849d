//! The modules of a log: their numbers and names, and one file for each kind of record.

pub mod apmpi;
pub mod apxc;
pub mod counter;
pub mod dxt;
pub mod heatmap;
pub mod lustre;
pub mod mdhim;

use super::counters;

/// Number of a module, as version 3.41 numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u8);

#[allow(missing_docs)]
impl ModuleId {
    pub const POSIX: Self = Self(1);
    pub const MPIIO: Self = Self(2);
    pub const H5F: Self = Self(3);
    pub const H5D: Self = Self(4);
    pub const PNETCDF_FILE: Self = Self(5);
    pub const PNETCDF_VAR: Self = Self(6);
    pub const BGQ: Self = Self(7);
    pub const LUSTRE: Self = Self(8);
    pub const STDIO: Self = Self(9);
    pub const DXT_POSIX: Self = Self(10);
    pub const DXT_MPIIO: Self = Self(11);
    pub const MDHIM: Self = Self(12);
    pub const APXC: Self = Self(13);
    pub const APMPI: Self = Self(14);
    pub const HEATMAP: Self = Self(15);
    pub const DFS: Self = Self(16);
    pub const DAOS: Self = Self(17);
}

/// How the records of a module lie in its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of one size, described by [`super::layout`].
    Fixed,
    /// Stripes and OSTs: [`lustre`].
    Lustre,
    /// Traced accesses: [`dxt`].
    Dxt,
    /// Bytes by interval: [`heatmap`].
    Heatmap,
    /// Fixed counters and a histogram: [`mdhim`].
    Mdhim,
    /// A header, then a record for each process: [`apmpi`].
    Apmpi,
    /// Kept as it lies: [`apxc`].
    Apxc,
}

/// A module that is read.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Its number.
    pub id: ModuleId,
    /// Its name, as Darshan's tools print it.
    pub name: &'static str,
    /// The table of its records.
    pub table: &'static str,
    /// Newest version of its format.
    pub newest: u32,
    /// How its records lie.
    pub shape: Shape,
    /// Prefix, integer and floating-point counters of fixed records.
    pub counters: Option<(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    )>,
}

macro_rules! fixed {
    ($id:ident, $name:literal, $table:literal, $newest:literal, $counters:ident) => {
        fixed!($id, $name, $table, $newest, $counters, Fixed)
    };
    ($id:ident, $name:literal, $table:literal, $newest:literal, $counters:ident, $shape:ident) => {
        Module {
            id: ModuleId::$id,
            name: $name,
            table: $table,
            newest: $newest,
            shape: Shape::$shape,
            counters: Some((
                counters::$counters::PREFIX,
                counters::$counters::INTS,
                counters::$counters::FLOATS,
            )),
        }
    };
}

const fn other(
    id: ModuleId,
    name: &'static str,
    table: &'static str,
    newest: u32,
    shape: Shape,
) -> Module {
    Module {
        id,
        name,
        table,
        newest,
        shape,
        counters: None,
    }
}

/// The modules that are read, by number from 1 on.
pub const MODULES: &[Module] = &[
    fixed!(POSIX, "POSIX", "darshan_posix", 4, posix),
    fixed!(MPIIO, "MPI-IO", "darshan_mpiio", 3, mpiio),
    fixed!(H5F, "H5F", "darshan_h5f", 3, h5f),
    fixed!(H5D, "H5D", "darshan_h5d", 2, h5d),
    fixed!(
        PNETCDF_FILE,
        "PNETCDF_FILE",
        "darshan_pnetcdf_file",
        3,
        pnetcdf_file
    ),
    fixed!(
        PNETCDF_VAR,
        "PNETCDF_VAR",
        "darshan_pnetcdf_var",
        1,
        pnetcdf_var
    ),
    fixed!(BGQ, "BG/Q", "darshan_bgq", 2, bgq),
    other(
        ModuleId::LUSTRE,
        "LUSTRE",
        "darshan_lustre",
        2,
        Shape::Lustre,
    ),
    fixed!(STDIO, "STDIO", "darshan_stdio", 2, stdio),
    other(
        ModuleId::DXT_POSIX,
        "DXT_POSIX",
        "darshan_dxt",
        2,
        Shape::Dxt,
    ),
    other(
        ModuleId::DXT_MPIIO,
        "DXT_MPIIO",
        "darshan_dxt",
        3,
        Shape::Dxt,
    ),
    fixed!(MDHIM, "MDHIM", "darshan_mdhim", 1, mdhim, Mdhim),
    other(ModuleId::APXC, "APXC", "darshan_apxc", 1, Shape::Apxc),
    other(ModuleId::APMPI, "APMPI", "darshan_apmpi", 1, Shape::Apmpi),
    other(
        ModuleId::HEATMAP,
        "HEATMAP",
        "darshan_heatmap",
        1,
        Shape::Heatmap,
    ),
    fixed!(DFS, "DFS", "darshan_dfs", 1, dfs),
    fixed!(DAOS, "DAOS", "darshan_daos", 1, daos),
];

/// The module of that number; None if it is unknown.
pub fn module(id: ModuleId) -> Option<&'static Module> {
    MODULES.get(usize::from(id.0).checked_sub(1)?)
}

/// How much of a module could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All of it.
    Ok,
    /// All of it, but Darshan ran out of memory for it on some process.
    PartialFlag,
    /// The file ends too early; the records before are kept.
    Truncated,
    /// Bytes are wrong; the records before are kept.
    Corrupt,
    /// A newer version of the module's format.
    UnsupportedVersion,
    /// No known module.
    Unknown,
    /// Not asked for.
    NotTaken,
}

impl Status {
    /// The word in `darshan_module.status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::PartialFlag => "partial_flag",
            Self::Truncated => "truncated",
            Self::Corrupt => "corrupt",
            Self::UnsupportedVersion => "unsupported_version",
            Self::Unknown => "unknown",
            Self::NotTaken => "not_taken",
        }
    }

    /// Whether records are missing that the log should hold.
    pub fn is_damaged(self) -> bool {
        matches!(self, Self::Truncated | Self::Corrupt)
    }
}

/// What finding the records of a region of variable records gave: an error at a place, after which nothing is used. Bytes from there on
/// are as they were, so that the walk can begin there again once more of them are known.
pub(super) type Walk = Result<(), (usize, String)>;

/// Reverses the bytes of each 8-byte word of `bytes[from..to]`, as far as there are whole words.
pub(super) fn swap_words(bytes: &mut [u8], from: usize, to: usize) {
    if let Some(words) = bytes.get_mut(from..to) {
        words.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    }
}

/// The i64 at a place of a region whose numbers are little-endian by now; 0 beyond the end.
#[inline]
pub(super) fn int(bytes: &[u8], at: usize) -> i64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, i64::from_le_bytes)
}

/// The i64 at a place of a region whose numbers are big-endian if `swap`; 0 beyond the end.
pub(super) fn int_of(bytes: &[u8], at: usize, swap: bool) -> i64 {
    let value = int(bytes, at);
    if swap { value.swap_bytes() } else { value }
}

/// The f64 at such a place; 0 beyond the end.
#[inline]
pub(super) fn float(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(int(bytes, at) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_stand_at_their_number_and_have_a_table() {
        for (at, module) in MODULES.iter().enumerate() {
            assert_eq!(usize::from(module.id.0), at + 1);
            assert!(
                crate::table::table(module.table).is_ok(),
                "{}",
                module.table
            );
        }
        assert!(module(ModuleId(0)).is_none() && module(ModuleId(18)).is_none());
    }
}
