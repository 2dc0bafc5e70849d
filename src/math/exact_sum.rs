//! Sums with twice the digits of an f64, so that a sum does not depend on the order and on what was subtracted from it.

/// A running sum: the f64 nearest to it, and what that lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExactSum {
    sum: f64,
    rest: f64,
}

impl ExactSum {
    /// Adds a value.
    ///
    /// # Source
    /// Knuth, *The art of computer programming* 2, 4.2.2, theorem B: the error of an addition is itself an f64.
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let added = sum - self.sum;
        let error = (self.sum - (sum - added)) + (value - added);
        let rest = self.rest + error;
        // The sum stays the nearest f64, so that differences of sums lose nothing.
        self.sum = sum + rest;
        self.rest = rest - (self.sum - sum);
    }

    /// Adds another sum.
    pub(crate) fn add_sum(&mut self, other: &Self) {
        self.add(other.sum);
        self.add(other.rest);
    }

    /// The sum.
    pub(crate) fn value(self) -> f64 {
        self.sum + self.rest
    }
}

/// Sums of the first values of a list, from which that of any part follows.
pub(crate) struct PrefixSums(Vec<ExactSum>);

impl PrefixSums {
    /// The sums of a list of values.
    pub(crate) fn new(values: &[f64]) -> Self {
        let mut sum = ExactSum::default();
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push(sum);
        sums.extend(values.iter().map(|value| {
            sum.add(*value);
            sum
        }));
        Self(sums)
    }

    /// The mean of the values `from..to`; NaN of none.
    pub(crate) fn mean(&self, from: usize, to: usize) -> f64 {
        let (before, mut sum) = (self.0[from], self.0[to]);
        sum.add(-before.sum);
        sum.add(-before.rest);
        sum.value() / (to - from) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn a_mean_is_that_of_its_own_values_whatever_stands_before_them() {
        let random = &mut Random::new(7, 0);
        let mut values: Vec<f64> = (0..200).map(|_| random.magnitude(1e-6, 1e12)).collect();
        values.extend([0.1; 50]);
        let sums = PrefixSums::new(&values);
        assert_eq!(sums.mean(200, 250), 0.1);
        assert_eq!(sums.mean(203, 210), 0.1);
        for _ in 0..1000 {
            let from = random.index(200);
            let to = from + 1 + random.index(200 - from);
            let mut sum = ExactSum::default();
            values[from..to].iter().for_each(|value| sum.add(*value));
            let mean = sum.value() / (to - from) as f64;
            let found = sums.mean(from, to);
            assert!((found - mean).abs() <= mean * 1e-15, "{found} {mean}");
        }
    }
}
