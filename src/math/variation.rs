//! How much the values of a list differ from one another.

/// Mean of a list; 0 of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n => values.iter().sum::<f64>() / n as f64,
    }
}

/// Sample deviation (n - 1); 0 of fewer than two values.
pub(crate) fn sample_deviation(values: &[f64]) -> f64 {
    match values.len() {
        0 | 1 => 0.0,
        n => (squares(values) / (n - 1) as f64).sqrt(),
    }
}

/// Sample deviation over mean; 0 if the mean is 0.
pub(crate) fn sample_variation(values: &[f64]) -> f64 {
    over(sample_deviation(values), mean(values))
}

/// Population deviation (n) over mean; 0 if the mean is 0.
pub(crate) fn population_variation(values: &[f64]) -> f64 {
    let deviation = (squares(values) / values.len().max(1) as f64).sqrt();
    over(deviation, mean(values))
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn over(deviation: f64, mean: f64) -> f64 {
    if mean == 0.0 { 0.0 } else { deviation / mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_is_that_of_the_sample_or_of_the_population() {
        assert_eq!(sample_variation(&[1.0, 3.0]), 2f64.sqrt() / 2.0);
        assert_eq!(population_variation(&[1.0, 3.0]), 0.5);
        assert_eq!(population_variation(&[0.0, 0.0]), 0.0);
        assert_eq!((mean(&[]), sample_variation(&[4.0])), (0.0, 0.0));
    }
}
