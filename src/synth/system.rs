//! The machine: its file systems and how fast they are.

use crate::source::darshan::job::Mount;
use crate::source::darshan::write::mount;
use crate::synth::random::mix;
use xxhash_rust::xxh3::xxh3_64;

/// OSTs of /scratch.
pub(crate) const SCRATCH_OSTS: i64 = 248;
/// OSTs of /home, a Lustre of its own.
pub(crate) const HOME_OSTS: i64 = 8;
/// By how much a file on the slow OST takes longer.
pub(crate) const SLOWDOWN: f64 = 5.0;
/// OST number `at` of /scratch where one of them is left out, counted round and round.
pub(crate) fn other_ost(at: i64, left_out: i64) -> i64 {
    let ost = at % (SCRATCH_OSTS - 1);
    if ost >= left_out { ost + 1 } else { ost }
}

/// Stripe size and count where nobody asked for others.
pub(crate) const DEFAULT_STRIPE: (i64, i64) = (1 << 20, 1);

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

/// The mount table of every node.
pub(crate) fn mounts() -> Vec<Mount> {
    vec![
        mount("ext4", "/"),
        mount("lustre", "/scratch"),
        mount("lustre", "/home"),
        mount("gpfs", "/project"),
        mount("xfs", "/tmp"),
        mount("nfs", "/sw"),
    ]
}

/// The Lustre under a path: its OSTs and MDTs.
pub(crate) fn lustre(path: &str) -> Option<(i64, i64)> {
    match path.split('/').nth(1) {
        Some("scratch") => Some((SCRATCH_OSTS, 5)),
        Some("home") => Some((HOME_OSTS, 2)),
        _ => None,
    }
}

/// Darshan's ids of the standard streams.
const STREAMS: [(&str, u64); 3] = [
    ("<STDIN>", 14_734_109_647_742_566_553),
    ("<STDOUT>", 15_920_181_672_442_173_319),
    ("<STDERR>", 7_238_257_241_479_193_519),
];

/// A record id for a name. Darshan has another hash; only the ids of the streams are its own, for readers know them.
pub(crate) fn record_id(name: &str) -> u64 {
    STREAMS
        .iter()
        .find(|(stream, _)| *stream == name)
        .map_or_else(|| xxh3_64(name.as_bytes()), |(_, id)| *id)
}
