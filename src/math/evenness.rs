//! How likely moments that mean nothing are as evenly spaced as those that were seen.

/// The chance that as many distances, if the moments between them were drawn from the whole time alike, vary no more than these: small where moments come at equal
/// distances.
///
/// # Input
/// `distances`: from each moment to the next, at least 0. Length n. `variance`: of what each may be wrong by, for moments that are known by interval: equal distances in
/// few intervals are likely. That of two moments in intervals of width w is w^2 / 6.
///
/// # Output
/// Its natural logarithm: from minus infinity, for equal ones, to 0. 0 for fewer than two, and where all are 0.
///
/// # Method
/// Parts of a whole that moments drawn at random cut it into are a point of the simplex, each point alike. Those that vary no more than the given ones lie in a
/// ball of n - 1 dimensions around the middle: with s the sum of (distance / whole - 1/n)^2 and of the variances the chance is the volume of a ball of radius sqrt(s), pi^(d/2) / gamma(d/2 + 1) s^(d/2)
/// with d = n - 1, over that of the simplex, sqrt(n) / d!. Where the ball reaches beyond the simplex that is too much, so that
/// nothing is taken for even that is not. O(n).
///
/// # Source
/// P. A. P. Moran (1947), *The random division of an interval*, has the statistic, <https://doi.org/10.2307/2983572>; the bound by volumes is ours.
pub(crate) fn ln_chance(distances: &[f64], variance: f64) -> f64 {
    let (n, whole) = (distances.len() as f64, distances.iter().sum::<f64>());
    if distances.len() < 2 || whole <= 0.0 {
        return 0.0;
    }
    let off = |distance: &f64| (distance / whole - 1.0 / n).powi(2);
    let squares = distances.iter().map(off).sum::<f64>() + n * variance / whole.powi(2);
    // The volume of the unit ball is 2 pi / d times that of two dimensions less.
    let d = distances.len() - 1;
    let of_ball = |d: usize| (std::f64::consts::TAU / d as f64).ln();
    let ball: f64 = (1..=d).rev().step_by(2).map(of_ball).sum();
    let odd = if d % 2 == 1 {
        std::f64::consts::PI.ln()
    } else {
        0.0
    };
    let factorial: f64 = (1..=d).map(|factor| (factor as f64).ln()).sum();
    let radius = d as f64 / 2.0 * squares.ln();
    (ball - odd + radius + factorial - n.ln() / 2.0).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;
    use crate::math::variation::sample_variation;

    fn chance(distances: &[f64]) -> f64 {
        ln_chance(distances, 0.0).exp()
    }

    #[test]
    fn two_distances_are_as_likely_as_their_difference_is_long() {
        // The one moment between them lies within a tenth of the whole around the middle.
        for (a, b) in [(45.0, 55.0), (0.9, 1.1)] {
            assert!((chance(&[a, b]) - 0.1).abs() < 1e-12);
        }
        assert_eq!(chance(&[5.0, 5.0]), 0.0);
        assert!((chance(&[0.0, 1.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_distances_in_few_intervals_are_no_wonder() {
        // The same number of intervals, of ten between two moments: one way of nine, and the chance is of that order.
        let chance = ln_chance(&[5.0, 5.0], 1.0 / 6.0).exp();
        assert!((chance - (1.0f64 / 3.0).sqrt() / 10.0 * 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn three_distances_lie_in_a_circle() {
        // In a triangle with a height of sqrt(3/2) and an area of sqrt(3)/2.
        let distances = [0.4, 0.3, 0.3];
        let squares = 0.02 / 3.0;
        let expected = std::f64::consts::PI * squares / (3f64.sqrt() / 2.0);
        assert!((chance(&distances) - expected).abs() < 1e-12);
    }

    #[test]
    fn without_distances_nothing_is_even() {
        let none = [&[][..], &[3.0], &[0.0, 0.0, 0.0]];
        assert!(none.iter().all(|distances| chance(distances) == 1.0));
    }

    /// Distances of moments that were drawn at random.
    fn drawn(random: &mut Random, n: usize) -> Vec<f64> {
        let mut moments: Vec<f64> = (1..n).map(|_| random.unit()).collect();
        moments.sort_by(f64::total_cmp);
        let ends = moments.iter().chain(&[1.0]);
        let begins = [0.0].iter().chain(&moments);
        ends.zip(begins).map(|(end, begin)| end - begin).collect()
    }

    #[test]
    fn as_many_of_those_drawn_are_as_even_as_the_chance_says_and_never_more() {
        let random = &mut Random::new(7, 1);
        for n in [2, 3, 4, 6, 10, 40] {
            let all: Vec<Vec<f64>> = (0..20_000).map(|_| drawn(random, n)).collect();
            let mut chances: Vec<(f64, f64)> = all
                .iter()
                .map(|distances| (sample_variation(distances), chance(distances)))
                .collect();
            chances.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (at, (variation, chance)) in chances.iter().enumerate().skip(50).step_by(97) {
                let share = (at + 1) as f64 / chances.len() as f64;
                let slack = 5.0 * (share / chances.len() as f64).sqrt();
                assert!(share <= chance + slack, "{n}: {variation} {share} {chance}");
                // As long as the ball lies in the simplex both are the same.
                let is_inside = *variation < (n as f64).sqrt() / (n as f64 - 1.0);
                assert!(
                    !is_inside || (share - chance).abs() <= slack,
                    "{n}: {variation} {share} {chance}"
                );
            }
        }
    }
}
