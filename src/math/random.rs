//! Random numbers that depend on a seed and nothing else.

/// A generator of 64-bit numbers: SplitMix64.
///
/// Its state is a counter, so that a generator for any (seed, stream) costs nothing to make: each job has its own.
///
/// # Source
/// Steele, Lea, Flood (2014), *Fast splittable pseudorandom number generators*, figure 17.
/// <https://doi.org/10.1145/2660193.2660195>
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The mixing step of SplitMix64: a bijection of 64 bits in which every bit of the result depends on every bit given.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Random {
    /// The generator number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream.wrapping_add(0x632b_e59b_d9b4_e019))))
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// From 0 to `below`, without it; 0 if that is 0. The bias is under 2^-32 for what is asked here.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(below)) >> 64) as u64
    }

    /// A place in a list of this length.
    #[cfg(test)]
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// In `[from, to)`.
    pub(crate) fn int(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from).max(0) as u64) as i64
    }

    /// In `[0, 1)`, 53 bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `[from, to)`.
    pub(crate) fn float(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// In `[from, to)`, all orders of magnitude alike.
    pub(crate) fn magnitude(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.unit())
    }

    /// True in this share of calls.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A factor near 1, log-normal: its logarithm is normal with this deviation, and no more than 2.5 deviations from 0.
    pub(crate) fn noise(&mut self, deviation: f64) -> f64 {
        let (length, turn) = (1.0 - self.unit(), self.unit());
        let normal = (-2.0 * length.ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        (deviation * normal.clamp(-2.5, 2.5)).exp()
    }

    /// Puts a list in any order: Fisher and Yates.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = Random(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn noise_is_log_normal() {
        let mut random = Random::new(1, 3);
        let logs: Vec<f64> = (0..10_000).map(|_| random.noise(0.2).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 1e4;
        let deviation = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e4).sqrt();
        assert!(mean.abs() < 0.01 && (deviation - 0.2).abs() < 0.01);
        assert!(logs.iter().all(|x| x.abs() <= 0.5 + 1e-9));
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1, 2);
        let drawn: Vec<i64> = (0..1000).map(|_| random.int(-3, 4)).collect();
        assert_eq!(
            (drawn.iter().min(), drawn.iter().max()),
            (Some(&-3), Some(&3))
        );
        assert!(
            (0..1000)
                .map(|_| random.magnitude(1.0, 100.0))
                .all(|x| (1.0..100.0).contains(&x))
        );
    }
}
