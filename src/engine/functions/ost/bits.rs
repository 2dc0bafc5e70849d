//! Sets of OSTs as they lie in a column: serialised roaring bitmaps, read in place.
//!
//! The layout is the portable one of <https://github.com/RoaringBitmap/RoaringFormatSpec>, little endian:
//!
//! ```text
//! 12346, count                       u32 each: no run containers
//! 12347 | (count - 1) << 16          u32: some are run containers; then one bit for each container, set for those
//! key, cardinality - 1               u16 each, for each container: the upper half of its values, ascending
//! offset                             u32 for each container; left out where there are runs and fewer than 4 containers
//! containers                         run: u16 number, then (start, length - 1); <= 4096 values: u16 each; else 8 KiB of bits
//! ```
//!
//! The bytes come from a file, so [`Bits::parse`] looks at all of them once; what it returns can be walked without an
//! allocation, which deserialising a set of some dozen OSTs would need for each row.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, LargeBinaryArray,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use roaring::RoaringBitmap;

const NO_RUNS: u32 = 12346;
const WITH_RUNS: u16 = 12347;
/// Containers with more values than this are bit sets.
const ARRAY_LIMIT: usize = 4096;
const BIT_SET_BYTES: usize = 8192;

/// A set of 32-bit numbers in its serialised form, found to be whole.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a> {
    /// One bit for each container: whether it is runs.
    runs: Option<&'a [u8]>,
    /// Key and cardinality - 1 of each container.
    heads: &'a [u8],
    /// The containers, one after another.
    body: &'a [u8],
    len: u64,
}

enum Container<'a> {
    Runs(&'a [u8]),
    Array(&'a [u8]),
    BitSet(&'a [u8]),
}

impl<'a> Bits<'a> {
    /// The set that `bytes` hold; the reason if they hold none.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "it ends in its header";
        let (cookie, rest) = take(bytes, 4).ok_or(SHORT)?;
        let cookie = u32_at(cookie, 0);
        let (runs, count, rest) = if cookie == NO_RUNS {
            let (count, rest) = take(rest, 4).ok_or(SHORT)?;
            (None, u32_at(count, 0) as usize, rest)
        } else if cookie as u16 == WITH_RUNS {
            let count = (cookie >> 16) as usize + 1;
            let (runs, rest) = take(rest, count.div_ceil(8)).ok_or(SHORT)?;
            (Some(runs), count, rest)
        } else {
            return Err("it is not a roaring bitmap in the portable format");
        };
        if count > 1 << 16 {
            return Err("it has more than 65536 containers");
        }
        let (heads, rest) = take(rest, 4 * count).ok_or(SHORT)?;
        let offsets = if runs.is_none() || count >= 4 {
            4 * count
        } else {
            0
        };
        let (_, body) = take(rest, offsets).ok_or(SHORT)?;
        let mut bits = Self {
            runs,
            heads,
            body,
            len: 0,
        };
        (bits.len, bits.body) = bits.check()?;
        Ok(bits)
    }

    /// Cardinality, and the body without what follows it.
    fn check(&self) -> Result<(u64, &'a [u8]), &'static str> {
        let (mut rest, mut len, mut last) = (self.body, 0, None);
        for i in 0..self.heads.len() / 4 {
            let (key, cardinality) = self.head(i);
            if last.is_some_and(|last| key <= last) {
                return Err("its containers are not in order");
            }
            last = Some(key);
            let (container, after) = self.container(i, rest).ok_or("it ends in a container")?;
            if !container.is_whole(cardinality) {
                return Err("a container contradicts its header or is not in order");
            }
            len += cardinality as u64;
            rest = after;
        }
        match rest {
            [] => Ok((len, self.body)),
            _ => Err("bytes follow it"),
        }
    }

    /// How many numbers it holds.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether `value` is one of them.
    pub(crate) fn contains(&self, value: u32) -> bool {
        let (key, low) = ((value >> 16) as u16, value as u16);
        let mut rest = self.body;
        for i in 0..self.heads.len() / 4 {
            let Some((container, after)) = self.container(i, rest) else {
                return false;
            };
            match self.head(i).0.cmp(&key) {
                std::cmp::Ordering::Less => rest = after,
                std::cmp::Ordering::Equal => return container.contains(low),
                std::cmp::Ordering::Greater => return false,
            }
        }
        false
    }

    /// Calls `f` with each number, ascending.
    pub(crate) fn for_each(&self, mut f: impl FnMut(u32)) {
        let mut rest = self.body;
        for i in 0..self.heads.len() / 4 {
            let Some((container, after)) = self.container(i, rest) else {
                return;
            };
            let high = (self.head(i).0 as u32) << 16;
            container.for_each(|low| f(high | low as u32));
            rest = after;
        }
    }

    /// How many numbers both hold.
    pub(crate) fn overlap(&self, other: &Bits<'_>) -> u64 {
        let (small, large) = if self.len <= other.len {
            (self, other)
        } else {
            (other, self)
        };
        let mut common = 0;
        small.for_each(|value| common += u64::from(large.contains(value)));
        common
    }

    /// The same set, in memory.
    pub(crate) fn to_bitmap(self) -> RoaringBitmap {
        let mut values = Vec::with_capacity(self.len.min(1 << 20) as usize);
        self.for_each(|value| values.push(value));
        RoaringBitmap::from_sorted_iter(values).expect("a checked set is in order")
    }

    fn head(&self, i: usize) -> (u16, usize) {
        (
            u16_at(self.heads, 4 * i),
            u16_at(self.heads, 4 * i + 2) as usize + 1,
        )
    }

    /// Container `i`, which begins `rest`, and what follows it.
    fn container(&self, i: usize, rest: &'a [u8]) -> Option<(Container<'a>, &'a [u8])> {
        let cardinality = self.head(i).1;
        if self
            .runs
            .is_some_and(|runs| runs[i / 8] & (1 << (i % 8)) != 0)
        {
            let (count, rest) = take(rest, 2)?;
            let (runs, rest) = take(rest, 4 * u16_at(count, 0) as usize)?;
            Some((Container::Runs(runs), rest))
        } else if cardinality <= ARRAY_LIMIT {
            take(rest, 2 * cardinality).map(|(values, rest)| (Container::Array(values), rest))
        } else {
            take(rest, BIT_SET_BYTES).map(|(words, rest)| (Container::BitSet(words), rest))
        }
    }
}

impl Container<'_> {
    /// Whether it holds so many numbers, in order.
    fn is_whole(&self, cardinality: usize) -> bool {
        match self {
            Self::Runs(runs) => {
                let (mut next, mut count) = (0, 0);
                for run in runs.chunks_exact(4) {
                    let (start, more) = (u16_at(run, 0) as usize, u16_at(run, 2) as usize);
                    if start < next || start + more > 0xffff {
                        return false;
                    }
                    next = start + more + 1;
                    count += more + 1;
                }
                count == cardinality
            }
            Self::Array(values) => values
                .windows(4)
                .step_by(2)
                .all(|pair| u16_at(pair, 0) < u16_at(pair, 2)),
            Self::BitSet(words) => {
                words
                    .iter()
                    .map(|byte| byte.count_ones() as usize)
                    .sum::<usize>()
                    == cardinality
            }
        }
    }

    fn contains(&self, low: u16) -> bool {
        match self {
            Self::Runs(runs) => runs.chunks_exact(4).any(|run| {
                let start = u16_at(run, 0);
                start <= low && low - start <= u16_at(run, 2)
            }),
            Self::Array(values) => {
                let (mut from, mut to) = (0, values.len() / 2);
                while from < to {
                    let middle = (from + to) / 2;
                    match u16_at(values, 2 * middle).cmp(&low) {
                        std::cmp::Ordering::Less => from = middle + 1,
                        std::cmp::Ordering::Equal => return true,
                        std::cmp::Ordering::Greater => to = middle,
                    }
                }
                false
            }
            Self::BitSet(words) => words[low as usize / 8] & (1 << (low % 8)) != 0,
        }
    }

    fn for_each(&self, mut f: impl FnMut(u16)) {
        match self {
            Self::Runs(runs) => {
                for run in runs.chunks_exact(4) {
                    let start = u16_at(run, 0);
                    (start..=start.saturating_add(u16_at(run, 2))).for_each(&mut f);
                }
            }
            Self::Array(values) => values.chunks_exact(2).for_each(|value| f(u16_at(value, 0))),
            Self::BitSet(words) => {
                for (at, byte) in words.iter().enumerate() {
                    let mut byte = *byte;
                    while byte != 0 {
                        f((8 * at) as u16 + byte.trailing_zeros() as u16);
                        byte &= byte - 1;
                    }
                }
            }
        }
    }
}

/// The serialised form of a set: the same bytes for the same set, so that sets can be compared and grouped by.
pub(crate) fn serialize(bitmap: &mut RoaringBitmap, into: &mut Vec<u8>) {
    bitmap.remove_run_compression();
    into.clear();
    bitmap.serialize_into(into).expect("memory takes all bytes");
}

/// A column of serialised sets, of whichever binary type.
pub(crate) enum BitsArray<'a> {
    Binary(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
    View(&'a BinaryViewArray),
}

impl<'a> BitsArray<'a> {
    /// `function` is named in errors.
    pub(crate) fn new(function: &str, array: &'a ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::Large(array.as_binary()),
            DataType::BinaryView => Self::View(array.as_binary_view()),
            other => return exec_err!("{function}: expected a bitmap, got {other}"),
        })
    }

    /// The set in row `i`; None for NULL.
    pub(crate) fn get(&self, function: &str, i: usize) -> Result<Option<Bits<'a>>> {
        let bytes = match self {
            Self::Binary(array) => array.is_valid(i).then(|| array.value(i)),
            Self::Large(array) => array.is_valid(i).then(|| array.value(i)),
            Self::View(array) => array.is_valid(i).then(|| array.value(i)),
        };
        match bytes.map(Bits::parse).transpose() {
            Ok(bits) => Ok(bits),
            Err(reason) => exec_err!(
                "{function}: a bitmap of {} bytes cannot be read: {reason}",
                bytes.unwrap_or_default().len()
            ),
        }
    }
}

fn take(bytes: &[u8], n: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(n)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sets with every kind of container: sparse, dense, runs; some optimised to runs, some not.
    fn sets() -> impl Strategy<Value = RoaringBitmap> {
        let part = prop_oneof![
            prop::collection::btree_set(0u32..3000, 0..60)
                .prop_map(|s| s.into_iter().collect::<RoaringBitmap>()),
            prop::collection::btree_set(any::<u32>(), 0..20).prop_map(|s| s.into_iter().collect()),
            (0u32..200_000, 0u32..30_000).prop_map(|(from, n)| (from..from + n).collect()),
            (0u32..200_000, 4000u32..9000)
                .prop_map(|(from, n)| (0..n).map(|i| from + 2 * i).collect()),
        ];
        (prop::collection::vec(part, 1..3), any::<bool>()).prop_map(|(parts, optimize)| {
            let mut set = parts.into_iter().fold(RoaringBitmap::new(), |a, b| a | b);
            if optimize {
                set.optimize();
            }
            set
        })
    }

    fn bytes(set: &RoaringBitmap) -> Vec<u8> {
        let mut bytes = vec![];
        set.serialize_into(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn a_set_read_in_place_is_the_set_that_was_written(a in sets(), b in sets(), probe in any::<u32>()) {
            let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
            let (x, y) = (Bits::parse(&a_bytes).unwrap(), Bits::parse(&b_bytes).unwrap());
            prop_assert_eq!(x.len(), a.len());
            let mut values = vec![];
            x.for_each(|v| values.push(v));
            prop_assert_eq!(&values, &a.iter().collect::<Vec<_>>());
            prop_assert_eq!(x.to_bitmap(), a.clone());
            prop_assert_eq!(x.overlap(&y), a.intersection_len(&b));
            prop_assert_eq!(x.contains(probe), a.contains(probe));
            for v in values.iter().step_by(97) {
                prop_assert!(x.contains(*v));
                prop_assert_eq!(x.contains(v.wrapping_add(1)), a.contains(v.wrapping_add(1)));
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_as_some_set_and_never_panic(a in sets(), at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>()) {
            let mut whole = bytes(&a);
            prop_assert!(Bits::parse(&whole[..cut.index(whole.len())]).is_err());
            let at = at.index(whole.len());
            whole[at] ^= 1 << bit;
            if let Ok(bits) = Bits::parse(&whole) {
                let mut n = 0;
                bits.for_each(|_| n += 1);
                prop_assert_eq!(n, bits.len());
                prop_assert_eq!(bits.to_bitmap().len(), n);
            }
        }
    }

    #[test]
    fn runs_and_arrays_of_one_set_serialise_alike() {
        let mut runs: RoaringBitmap = (0..500).collect();
        let (mut array, mut a, mut b) = (runs.clone(), vec![], vec![]);
        array.remove_run_compression();
        runs.optimize();
        serialize(&mut runs, &mut a);
        serialize(&mut array, &mut b);
        assert_eq!(a, b);
    }
}
