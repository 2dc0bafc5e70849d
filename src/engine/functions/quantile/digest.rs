//! A t-digest: a sorted list of some hundred weighted means from which any quantile can be told about.
//!
//! # Source
//! Dunning, Ertl (2019), *Computing extremely accurate quantiles using t-digests*, the merging digest with scale
//! function k1. <https://arxiv.org/abs/1902.04023>
//! Differs: the least and the greatest value are never merged with others, so they stay exact; a mean stands at the
//! middle of the ranks it covers, so that as long as nothing was merged the quantiles are the exact, interpolated ones.

use super::exact::between;

/// Upper bound of the number of centroids. At the median one stands for pi / (2 * 300), half a percent, of all ranks at most;
/// the error is about half of that, and no more than twice that after partial digests were merged.
const CENTROIDS: f64 = 300.0;

/// A mean and how many values it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::engine::functions) struct Centroid {
    pub(in crate::engine::functions) mean: f64,
    pub(in crate::engine::functions) weight: f64,
}

/// Appends to `into` the centroids of `sorted`, merged as far as the scale function allows.
pub(in crate::engine::functions) fn compress(sorted: &[Centroid], into: &mut Vec<Centroid>) {
    let Some((mut current, others)) = sorted.split_first().map(|(first, others)| (*first, others))
    else {
        return;
    };
    let total: f64 = sorted.iter().map(|c| c.weight).sum();
    let (mut before, mut limit) = (0.0, 0.0);
    for (i, next) in others.iter().enumerate() {
        let fits = before + current.weight + next.weight <= limit * total;
        if fits && before > 0.0 && i + 1 < others.len() {
            current.weight += next.weight;
            if next.mean != current.mean {
                current.mean += (next.mean - current.mean) * next.weight / current.weight;
            }
        } else {
            into.push(current);
            before += current.weight;
            limit = reach(before / total);
            current = *next;
        }
    }
    into.push(current);
}

/// The quantile up to which a centroid that begins at quantile `q` may reach: one step of k1(q) = d / 2pi asin(2q - 1).
fn reach(q: f64) -> f64 {
    let scale = CENTROIDS / std::f64::consts::TAU;
    let k = scale * (2.0 * q - 1.0).clamp(-1.0, 1.0).asin() + 1.0;
    if k >= CENTROIDS / 4.0 {
        1.0
    } else {
        ((k / scale).sin() + 1.0) / 2.0
    }
}

/// Calls `f` with the quantiles at 0/n to n/n. There must be a centroid.
pub(in crate::engine::functions) fn quantiles(
    centroids: &[Centroid],
    parts: usize,
    mut f: impl FnMut(f64),
) {
    let total: f64 = centroids.iter().map(|c| c.weight).sum();
    // Ranks of the middle of the centroids `at` and `at + 1`.
    let middle = |before: f64, c: &Centroid| before + (c.weight - 1.0) / 2.0;
    let (mut at, mut before) = (0, 0.0);
    for i in 0..=parts {
        let rank = (total - 1.0) * i as f64 / parts as f64;
        while at + 1 < centroids.len()
            && middle(before + centroids[at].weight, &centroids[at + 1]) <= rank
        {
            before += centroids[at].weight;
            at += 1;
        }
        let here = middle(before, &centroids[at]);
        match centroids.get(at + 1) {
            Some(next) if rank > here => {
                let there = middle(before + centroids[at].weight, next);
                f(between(
                    centroids[at].mean,
                    next.mean,
                    (rank - here) / (there - here),
                ));
            }
            _ => f(centroids[at].mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(values: &mut [f64]) -> Vec<Centroid> {
        let mut centroids = vec![];
        for chunk in values.chunks_mut(5000) {
            centroids.extend(chunk.iter().map(|mean| Centroid {
                mean: *mean,
                weight: 1.0,
            }));
            centroids.sort_by(|a: &Centroid, b| a.mean.total_cmp(&b.mean));
            let mut merged = vec![];
            compress(&centroids, &mut merged);
            centroids = merged;
        }
        centroids
    }

    #[test]
    fn a_quantile_of_a_hundred_thousand_values_is_off_by_at_most_a_quarter_of_a_percent_of_the_ranks()
     {
        // A multiplicative congruential sequence, and a long-tailed function of it.
        let uniform =
            |i: u64| ((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64) / (1u64 << 53) as f64;
        for tail in [1.0, 8.0] {
            let mut values: Vec<f64> = (0..100_000).map(|i| uniform(i).powf(tail) * 1e9).collect();
            let centroids = digest(&mut values);
            assert!(centroids.len() <= 300, "{}", centroids.len());
            values.sort_by(f64::total_cmp);
            let mut i = 0;
            quantiles(&centroids, 1000, |value| {
                let rank = values.partition_point(|v| *v < value) as f64 / 99_999.0;
                assert!((rank - i as f64 / 1000.0).abs() <= 0.0026, "{rank} at {i}");
                i += 1;
            });
            assert_eq!(
                (centroids[0].mean, centroids[centroids.len() - 1].mean),
                (values[0], values[99_999])
            );
        }
    }

    #[test]
    fn few_values_stay_apart() {
        let mut values: Vec<f64> = (0..50).map(f64::from).collect();
        let centroids = digest(&mut values);
        assert_eq!(centroids.len(), 50);
        let mut found = vec![];
        quantiles(&centroids, 7, |value| found.push(value));
        assert_eq!(found, [0.0, 7.0, 14.0, 21.0, 28.0, 35.0, 42.0, 49.0]);
    }
}
