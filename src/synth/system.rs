//! The machine: its file systems and how fast they are.

use crate::math::random::mix;
use crate::source::darshan::job::Mount;
use crate::source::darshan::write::mount;
use xxhash_rust::xxh3::xxh3_64;

/// OSTs of /scratch.
pub(crate) const SCRATCH_OSTS: i64 = 248;
/// OSTs of a server.
pub(crate) const OSTS_PER_OSS: i64 = 4;
/// By how much a file on the slow OST takes longer.
pub(crate) const SLOWDOWN: f64 = 5.0;
/// Stripe size and count where nobody asked for others.
pub(crate) const DEFAULT_STRIPE: (i64, i64) = (1 << 20, 1);

/// A Lustre of the machine.
pub(crate) struct FileSystem {
    pub(crate) mount: &'static str,
    /// The site's name.
    pub(crate) name: &'static str,
    /// LMT's name: what stands before the `-` in the names of its targets.
    pub(crate) lmt: &'static str,
    pub(crate) osts: i64,
    pub(crate) mdts: i64,
}

/// Every Lustre of the machine.
pub(crate) const FILE_SYSTEMS: [FileSystem; 2] = [
    FileSystem {
        mount: "/scratch",
        name: "scratch",
        lmt: "synscr",
        osts: SCRATCH_OSTS,
        mdts: 5,
    },
    FileSystem {
        mount: "/home",
        name: "home",
        lmt: "synhom",
        osts: 8,
        mdts: 2,
    },
];

/// The machine of a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System {
    seed: u64,
    /// The OST of /scratch on which files are slow.
    pub(crate) slow_ost: i64,
}

impl System {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            slow_ost: (mix(seed ^ 0x510) % SCRATCH_OSTS as u64) as i64,
        }
    }

    /// What an OST of /scratch can do when nobody else uses it, bytes per second.
    pub(crate) fn speed(&self, ost: i64) -> f64 {
        let unit = (mix(self.seed ^ mix(ost as u64)) >> 11) as f64 / (1u64 << 53) as f64;
        0.9e9 + 0.4e9 * unit
    }
}

/// OST number `at` of /scratch where one of them is left out, counted round and round.
pub(crate) fn other_ost(at: i64, left_out: i64) -> i64 {
    let ost = at % (SCRATCH_OSTS - 1);
    if ost >= left_out { ost + 1 } else { ost }
}

/// The next `stripes` OSTs of /scratch where one of them is left out.
pub(crate) fn next_osts(next: &mut i64, stripes: i64, left_out: i64) -> Vec<i64> {
    *next += stripes;
    let places = *next - stripes..*next;
    places.map(|at| other_ost(at, left_out)).collect()
}

/// The mount table of every node.
pub(crate) fn mounts() -> Vec<Mount> {
    let lines = "ext4 / lustre /scratch lustre /home gpfs /project xfs /tmp nfs /sw";
    mount_list(lines).collect()
}

/// Mounts from words: type and path in turns.
pub(crate) fn mount_list(words: &str) -> impl Iterator<Item = Mount> {
    let mut words = words.split_whitespace();
    std::iter::from_fn(move || Some(mount(words.next()?, words.next()?)))
}

/// The Lustre under a path, as a place in [`FILE_SYSTEMS`].
pub(crate) fn file_system(path: &str) -> Option<usize> {
    let below = |fs: &FileSystem| Some(path.strip_prefix(fs.mount)?.starts_with('/'));
    FILE_SYSTEMS.iter().position(|fs| below(fs) == Some(true))
}

/// A record id for a name. Darshan has another hash; only the ids of the streams are its own, for readers know them.
pub(crate) fn record_id(name: &str) -> u64 {
    match name {
        "<STDIN>" => 14_734_109_647_742_566_553,
        "<STDOUT>" => 15_920_181_672_442_173_319,
        "<STDERR>" => 7_238_257_241_479_193_519,
        name => xxh3_64(name.as_bytes()),
    }
}
