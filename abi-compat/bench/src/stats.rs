//! Medians and ranges of a handful of samples.

/// The middle of `values`; the mean of the two middle ones for an even count.
/// NaN for no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Smallest and largest of `values`.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

/// The median of the rounds' ratios of one side's values to another's.
pub(crate) fn over(values: &[f64], other: &[f64]) -> f64 {
    median(values.iter().zip(other).map(|(a, b)| a / b))
}

/// Median, smallest and largest value, with enough digits to tell them apart.
pub(crate) fn shown(values: &[f64]) -> String {
    let (least, most) = range(values.iter().copied());
    let middle = median(values.iter().copied());
    format!("{} ({}-{})", short(middle), short(least), short(most))
}

/// A value with three significant digits; digits before the point are never dropped.
pub(crate) fn short(x: f64) -> String {
    match x {
        x if x >= 99.5 => format!("{x:.0}"),
        x if x >= 9.95 => format!("{x:.1}"),
        x if x >= 0.995 => format!("{x:.2}"),
        x => format!("{x:.3}"),
    }
}

/// The geometric mean of ratios: that of 2 and 1/2 is 1.
pub(crate) fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.into_iter().fold((0.0, 0u32), |(sum, count), ratio| {
        (sum + ratio.ln(), count + 1)
    });
    (sum / f64::from(count)).exp()
}

/// Ratio of two overheads. An overhead below `resolution` counts as `resolution`: such
/// values are noise, and a ratio of noise means nothing.
pub(crate) fn ratio(ours: f64, base: f64, resolution: f64) -> f64 {
    ours.max(resolution) / base.max(resolution)
}

/// Whether `ours` are larger than `base` beyond chance, by the rank-sum test of Mann and
/// Whitney (normal approximation, one-sided, at 2.5 %). With three samples on each side,
/// the answer is yes only if every value of `ours` is larger than every value of `base`.
pub(crate) fn clearly_larger(ours: &[f64], base: &[f64]) -> bool {
    let wins: f64 = ours
        .iter()
        .flat_map(|ours| {
            base.iter().map(move |base| match ours.total_cmp(base) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            })
        })
        .sum();
    let (n, m) = (ours.len() as f64, base.len() as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    wins - n * m / 2.0 >= 1.96 * deviation && deviation > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn range_holds_all() {
        assert_eq!(range([2.0, -1.0, 7.0]), (-1.0, 7.0));
    }

    #[test]
    fn geometric_mean_cancels_reciprocals() {
        assert!((geometric_mean([2.0, 0.5, 1.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn only_separated_samples_are_clearly_larger() {
        assert!(clearly_larger(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]));
        assert!(!clearly_larger(&[4.0, 2.5, 6.0], &[1.0, 2.0, 3.0]));
        assert!(!clearly_larger(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]));
        assert!(!clearly_larger(&[], &[]));
        // Samples with two modes, equal on both sides: no difference.
        let modes = [0.013, 0.18, 0.012, 0.19, 0.013, 0.18, 0.18, 0.012, 0.013];
        assert!(!clearly_larger(&modes, &modes));
    }

    #[test]
    fn ratio_below_resolution_is_one() {
        assert_eq!(ratio(-0.5, 0.001, 0.002), 1.0);
        assert_eq!(ratio(0.004, -3.0, 0.002), 2.0);
        assert_eq!(ratio(3.0, 2.0, 0.002), 1.5);
    }
}
