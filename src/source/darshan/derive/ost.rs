//! Which storage targets hold a file, and how many of its bytes each.

use crate::source::darshan::module::lustre::{Component, Layout};
use roaring::RoaringBitmap;

/// Pattern bit of a component that lies on the metadata target (Data-on-MDT) and has no OSTs.
const ON_MDT: i64 = 2;

/// The layout of one file, from the LUSTRE records of all processes that stored one.
#[derive(Default)]
pub struct Stripes {
    /// Its components, in order.
    pub components: Vec<Stripe>,
    /// OST indexes in layout order, those of all components; None where the index is unknown.
    pub osts: Vec<Option<i32>>,
    /// OST index asked for the first stripe, -1 any; None where the log does not say.
    pub stripe_offset: Option<i64>,
    /// OSTs of the file system; None where the log does not say.
    pub fs_osts: Option<i64>,
    /// There is more than one mirror.
    pub mirrored: bool,
}

/// One component: stripes of `size` bytes, round robin over its OSTs, in `[start, end)` of the file.
pub struct Stripe {
    /// Bytes of a stripe.
    pub size: i64,
    /// Stripes in a round.
    pub count: i64,
    /// First byte of the file that it holds.
    pub start: u64,
    /// End of those bytes; the greatest number for the end of the file.
    pub end: u64,
    /// Where its OSTs begin in [`Stripes::osts`].
    first: usize,
    mirror: i64,
    on_mdt: bool,
}

/// How a file's bytes are known to lie in it.
pub enum Extents<'a> {
    /// Somewhere in `[0, highest byte touched]`.
    UpTo(u64),
    /// The traced accesses: offset and length.
    Traced(&'a [(u64, u64)]),
    /// Nowhere in particular: every stripe weighs the same.
    Anywhere,
}

impl Stripes {
    /// Joins the records that several processes stored for one file: the layout with most stripes, and the OSTs that only
    /// the others name (a file of a progressive layout grows while it is written). None without a record.
    pub fn join<'a>(layouts: impl Iterator<Item = Layout<'a>> + Clone) -> Option<Self> {
        let widest = layouts.clone().max_by_key(|layout| {
            (
                layout.components().map(|c| c.osts().count()).sum::<usize>(),
                std::cmp::Reverse(layout.rank),
            )
        })?;
        let mut stripes = Self {
            stripe_offset: widest.stripe_offset,
            fs_osts: widest.osts,
            ..Self::default()
        };
        for component in widest.components() {
            stripes.push(&component);
        }
        let first = stripes.components.first().map(|c| c.mirror);
        stripes.mirrored = stripes.components.iter().any(|c| Some(c.mirror) != first);
        for layout in layouts.filter(|layout| layout.rank != widest.rank) {
            for ost in layout
                .components()
                .flat_map(|c| c.osts())
                .filter_map(ost_index)
            {
                if !stripes.osts.contains(&Some(ost)) {
                    stripes.osts.push(Some(ost));
                }
            }
        }
        Some(stripes)
    }

    fn push(&mut self, component: &Component<'_>) {
        let first = self.osts.len();
        self.osts.extend(component.osts().map(ost_index));
        self.components.push(Stripe {
            size: component.stripe_size,
            count: component.stripe_count,
            start: component.ext_start.max(0) as u64,
            end: if component.ext_end < 0 {
                u64::MAX
            } else {
                component.ext_end as u64
            },
            first,
            mirror: component.mirror_id,
            on_mdt: component.stripe_pattern >= 0 && component.stripe_pattern & ON_MDT != 0,
        });
    }

    /// The component that holds byte `at`; the first one where none does, or where no byte was touched.
    pub fn component_at(&self, at: Option<u64>) -> Option<&Stripe> {
        let holds = |c: &&Stripe| at.is_some_and(|at| (c.start..c.end).contains(&at));
        self.used().find(holds).or(self.components.first())
    }

    /// The distinct OSTs of the layout.
    pub fn bits(&self) -> RoaringBitmap {
        self.osts.iter().flatten().map(|ost| *ost as u32).collect()
    }

    /// `bytes` spread over [`Stripes::osts`] in proportion to what of `extents` each element holds, by largest remainder:
    /// the sum is `bytes`, less what lies on a metadata target. Of mirrors the first is charged.
    ///
    /// # Source
    /// SEMANTICS.md 4; offsets to stripes as darshan-dxt-parser does.
    pub fn spread(&self, bytes: u64, extents: &Extents<'_>) -> Vec<i64> {
        // The last weight is that of the metadata target.
        let mut weights = vec![0u128; self.osts.len() + 1];
        match extents {
            Extents::UpTo(highest) => self.weigh(0, highest.saturating_add(1), &mut weights),
            Extents::Traced(accesses) => accesses
                .iter()
                .for_each(|(offset, length)| self.weigh(*offset, *length, &mut weights)),
            Extents::Anywhere => {}
        }
        if weights.iter().all(|w| *w == 0) {
            for stripe in self.used() {
                weights
                    .iter_mut()
                    .skip(stripe.first)
                    .take(stripe.width(self.osts.len()))
                    .for_each(|w| *w = 1);
            }
        }
        let mut shares = largest_remainder(bytes, &weights);
        shares.truncate(self.osts.len());
        shares
    }

    /// Distinct OSTs that hold a byte of `[0, highest]`.
    pub fn touched(&self, highest: u64) -> usize {
        let mut weights = vec![0u128; self.osts.len() + 1];
        self.weigh(0, highest.saturating_add(1), &mut weights);
        let held = self
            .osts
            .iter()
            .zip(&weights)
            .filter(|(_, weight)| **weight > 0)
            .filter_map(|(ost, _)| ost.map(|o| o as u32));
        held.collect::<RoaringBitmap>().len() as usize
    }

    /// The components of the first mirror.
    fn used(&self) -> impl Iterator<Item = &Stripe> {
        let mirror = self.components.first().map(|c| c.mirror);
        self.components
            .iter()
            .filter(move |c| Some(c.mirror) == mirror)
    }

    fn weigh(&self, offset: u64, length: u64, weights: &mut [u128]) {
        let end = offset.saturating_add(length);
        for stripe in self.used() {
            let (from, to) = (offset.max(stripe.start), end.min(stripe.end));
            if from >= to {
                continue;
            }
            let width = stripe.width(self.osts.len());
            if stripe.on_mdt || width == 0 || stripe.size <= 0 {
                if let Some(on_mdt) = weights.last_mut() {
                    *on_mdt += u128::from(to - from);
                }
                continue;
            }
            let (size, round) = (stripe.size as u64, stripe.size as u128 * width as u128);
            let (from, to) = (from - stripe.start, to - stripe.start);
            for (slot, weight) in weights
                .iter_mut()
                .skip(stripe.first)
                .take(width)
                .enumerate()
            {
                let below = |at: u64| {
                    let inside = (u128::from(at) % round)
                        .saturating_sub(slot as u128 * u128::from(size))
                        .min(u128::from(size));
                    u128::from(at) / round * u128::from(size) + inside
                };
                *weight += below(to) - below(from);
            }
        }
    }
}

impl Stripe {
    /// Stripes in a round: its count, as far as OSTs are listed for it.
    fn width(&self, osts: usize) -> usize {
        usize::try_from(self.count)
            .unwrap_or(0)
            .min(osts.saturating_sub(self.first))
    }
}

/// An OST index of a log; None where it is unknown (-1) or absurd.
fn ost_index(ost: i64) -> Option<i32> {
    i32::try_from(ost).ok().filter(|ost| *ost >= 0)
}

/// Whole shares of `total` in proportion to `weights` that sum to `total`: each gets its share rounded down, what is left
/// goes one by one to the largest remainders, the earlier element first among equals. All zero if the weights are.
fn largest_remainder(total: u64, weights: &[u128]) -> Vec<i64> {
    let sum: u128 = weights.iter().sum();
    if sum == 0 || total == 0 {
        return vec![0; weights.len()];
    }
    // Weights are bytes of a file: below 2^64 each, so a product fits; traced bytes may sum past that.
    let scale = (sum >> 64).max(1);
    let share = |w: u128| (w / scale) * u128::from(total);
    let sum: u128 = weights.iter().map(|w| w / scale).sum::<u128>().max(1);
    let mut shares: Vec<i64> = weights.iter().map(|w| (share(*w) / sum) as i64).collect();
    let left = total.saturating_sub(shares.iter().map(|s| *s as u64).sum());
    let mut order: Vec<usize> = (0..weights.len()).filter(|i| weights[*i] > 0).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(share(weights[*i]) % sum), *i));
    order
        .into_iter()
        .cycle()
        .take(left as usize)
        .for_each(|i| shares[i] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stripes(components: &[(i64, i64, u64, u64, i64, bool)]) -> Stripes {
        let mut stripes = Stripes::default();
        for (size, count, start, end, mirror, on_mdt) in components {
            let first = stripes.osts.len();
            stripes
                .osts
                .extend((0..*count).map(|i| Some((first as i64 + i) as i32)));
            stripes.components.push(Stripe {
                size: *size,
                count: *count,
                start: *start,
                end: *end,
                first,
                mirror: *mirror,
                on_mdt: *on_mdt,
            });
        }
        stripes
    }

    #[test]
    fn a_round_robin_layout_is_weighed_by_hand() {
        // 10 bytes in stripes of 4 over 2 OSTs: 4 + 2 on the first, 4 on the second.
        let layout = stripes(&[(4, 2, 0, u64::MAX, 0, false)]);
        assert_eq!(layout.spread(100, &Extents::UpTo(9)), [60, 40]);
        assert_eq!(layout.spread(3, &Extents::Anywhere), [2, 1]);
        // Bytes 6..10: two on the second OST, two on the first again.
        assert_eq!(layout.spread(4, &Extents::Traced(&[(6, 4)])), [2, 2]);
        assert_eq!(layout.touched(3), 1);
        assert_eq!(layout.touched(4), 2);
    }

    #[test]
    fn forty_one_of_sixty_four_osts_hold_the_file_of_jeanbez() {
        let layout = stripes(&[(32 << 20, 64, 0, u64::MAX, 0, false)]);
        assert_eq!(layout.touched(1_342_244_888 - 1), 41);
    }

    #[test]
    fn a_progressive_layout_charges_each_component_for_its_extent() {
        // [0, 8) on the MDT, [8, 24) on one OST, the rest over two.
        let layout = stripes(&[
            (8, 0, 0, 8, 0, true),
            (4, 1, 8, 24, 0, false),
            (4, 2, 24, u64::MAX, 0, false),
        ]);
        assert_eq!(layout.spread(32, &Extents::UpTo(31)), [16, 4, 4]);
        assert_eq!(layout.component_at(Some(30)).map(|c| c.count), Some(2));
        assert_eq!(layout.component_at(None).map(|c| c.count), Some(0));
    }

    #[test]
    fn of_mirrors_only_the_first_is_charged() {
        let layout = stripes(&[(4, 1, 0, u64::MAX, 1, false), (4, 1, 0, u64::MAX, 2, false)]);
        assert_eq!(layout.spread(9, &Extents::UpTo(99)), [9, 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn shares_sum_to_the_bytes_and_match_a_walk_over_the_stripes(
            size in 1i64..9, count in 1i64..7, highest in 0u64..300, bytes in 0u64..1000
        ) {
            let layout = stripes(&[(size, count, 0, u64::MAX, 0, false)]);
            let shares = layout.spread(bytes, &Extents::UpTo(highest));
            prop_assert_eq!(shares.iter().sum::<i64>(), bytes as i64);
            let mut walked = vec![0u64; count as usize];
            (0..=highest).for_each(|at| walked[(at / size as u64 % count as u64) as usize] += 1);
            for (share, walked) in shares.iter().zip(&walked) {
                let exact = bytes as f64 * *walked as f64 / (highest + 1) as f64;
                prop_assert!((*share as f64 - exact).abs() < 1.0, "{} for {}", share, exact);
            }
            prop_assert_eq!(layout.touched(highest), walked.iter().filter(|w| **w > 0).count());
        }
    }
}
