//! Darshan's record ids: a hash of the name without a key, so that whoever guesses a name can confirm it.

/// The record id that Darshan gives to a name: the 64-bit hash of Bob Jenkins (lookup8), begun with 0.
///
/// # Example
/// ```
/// assert_eq!(iolode::source::darshan::record_id(b"<STDIN>"), 14_734_109_647_742_566_553);
/// ```
pub fn record_id(name: &[u8]) -> u64 {
    let (mut a, mut b, mut c) = (0u64, 0u64, 0x9e37_79b9_7f4a_7c13u64);
    let mut blocks = name.chunks_exact(24);
    for block in &mut blocks {
        a = a.wrapping_add(word(&block[..8]));
        b = b.wrapping_add(word(&block[8..16]));
        c = c.wrapping_add(word(&block[16..]));
        mix(&mut a, &mut b, &mut c);
    }
    let rest = blocks.remainder();
    let part = |from: usize, to: usize| &rest[from.min(rest.len())..to.min(rest.len())];
    a = a.wrapping_add(word(part(0, 8)));
    b = b.wrapping_add(word(part(8, 16)));
    // The lowest byte of c has the length.
    c = c
        .wrapping_add(name.len() as u64)
        .wrapping_add(word(part(16, 24)) << 8);
    mix(&mut a, &mut b, &mut c);
    c
}

/// Record ids of `<STDIN>`, `<STDOUT>` and `<STDERR>`: they survive anonymising, the names do not.
const STREAMS: [u64; 3] = [
    14_734_109_647_742_566_553,
    15_920_181_672_442_173_319,
    7_238_257_241_479_193_519,
];

/// Whether a record is that of a standard stream.
pub fn is_stream(id: u64) -> bool {
    STREAMS.contains(&id)
}

/// Up to eight bytes, the lowest first.
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn mix(a: &mut u64, b: &mut u64, c: &mut u64) {
    for [right, left, last] in [[43, 9, 8], [38, 23, 5], [35, 49, 11], [12, 18, 22]] {
        *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> right);
        *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << left);
        *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Input;
    use crate::source::darshan::ModuleId;
    use crate::source::darshan::log::{Log, ModuleSet};
    use crate::source::tests::shared_data;

    #[test]
    fn streams_have_the_ids_of_darshan() {
        let names: [&[u8]; 3] = [b"<STDIN>", b"<STDOUT>", b"<STDERR>"];
        assert_eq!(names.map(record_id), STREAMS);
    }

    #[test]
    #[ignore = "needs the real logs: ../shared/data, or the folder that IOLODE_SHARED_DATA names"]
    fn names_of_real_logs_have_the_ids_that_darshan_gave_them() {
        let (mut log, mut names) = (Log::new(), 0);
        for entry in walkdir::WalkDir::new(shared_data("darshan")) {
            let entry = entry.unwrap();
            let is_log = entry.path().extension().is_some_and(|e| e == "darshan");
            let input = is_log.then(|| Input::open(entry.path()).unwrap());
            if input.is_none_or(|input| log.read(&input, ModuleSet::DEFAULT).is_err()) {
                continue;
            }
            let Some(records) = log.records(ModuleId::POSIX) else {
                continue;
            };
            let ids = (0..records.len()).map(|at| records.id(at));
            let named = ids.filter_map(|id| Some((id, record_id(log.name(id)?))));
            let named: Vec<(u64, u64)> = named.collect();
            let same = named.iter().filter(|(id, hash)| id == hash).count();
            // darshan-convert --obfuscate puts numbers in the place of all names of a log.
            assert!(
                same == 0 || same == named.len(),
                "{}",
                entry.path().display()
            );
            names += same;
        }
        assert!(names > 1000, "{names}");
    }
}
