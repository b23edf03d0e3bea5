//! Confidence intervals.
use crate::quantile;

/// A value and the interval in which the true one is with the level that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end; minus infinity where there is too little to tell.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Half of the width; of an interval that is not symmetric, the longer half.
    pub fn half_width(&self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }

    /// Whether all of the interval is above a limit, or all below; nothing if the limit is inside.
    pub fn side_of(&self, limit: f64) -> Option<bool> {
        (self.low > limit || self.high < limit).then_some(self.low > limit)
    }
}

/// The mean of independent numbers, by Student's distribution. One number has no interval: its ends are
/// infinite.
///
/// ```
/// let interval = superdense_study::interval::mean(&[1.0, 2.0, 3.0, 4.0], 0.95);
/// assert_eq!(interval.value, 2.5);
/// assert!((interval.high - 4.554260).abs() < 1e-6);
/// ```
pub fn mean(numbers: &[f64], level: f64) -> Interval {
    let n = numbers.len() as f64;
    // The first one is taken away before the sum, so that equal numbers have no spread.
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    let value = first + numbers.iter().map(|x| x - first).sum::<f64>() / n;
    if numbers.len() < 2 {
        return Interval { value, low: -f64::INFINITY, high: f64::INFINITY };
    }
    let squares: f64 = numbers.iter().map(|x| (x - value) * (x - value)).sum();
    let error = libm::sqrt(squares / (n - 1.0) / n);
    let half =
        if error == 0.0 { 0.0 } else { error * quantile::student(0.5 + level / 2.0, n - 1.0) };
    Interval { value, low: value - half, high: value + half }
}

/// The share of truths among `n` truth values, by Wilson's interval, which stays within 0 and 1 and has
/// a width also where all are alike.
///
/// ```
/// let interval = superdense_study::interval::share(8, 8, 0.95);
/// assert_eq!((interval.value, interval.high), (1.0, 1.0));
/// assert!((interval.low - 0.675592).abs() < 1e-6);
/// ```
pub fn share(truths: usize, n: usize, level: f64) -> Interval {
    if n == 0 {
        return Interval { value: f64::NAN, low: 0.0, high: 1.0 };
    }
    let (truths, n) = (truths as f64, n as f64);
    let (value, z) = (truths / n, quantile::normal(0.5 + level / 2.0));
    let z2 = z * z;
    let centre = (value + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * libm::sqrt(value * (1.0 - value) / n + z2 / (4.0 * n * n));
    // Rounding would leave ends that are exact a little off.
    let low = if truths == 0.0 { 0.0 } else { centre - half };
    let high = if truths == n { 1.0 } else { centre + half };
    Interval { value, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.binomtest(k, n).proportion_ci(0.95, method="wilson")`, scipy 1.17.
    #[test]
    fn shares_have_the_intervals_of_wilson() {
        let table = [
            (0, 8, 0.0, 0.32440756488388023),
            (8, 8, 0.6755924351161198, 1.0),
            (4, 8, 0.21521606221387757, 0.7847839377861224),
            (7, 8, 0.5291118177871464, 0.9775825085499433),
            (19, 20, 0.763868806553258, 0.9911185511992047),
            (50, 100, 0.4038315303659956, 0.5961684696340044),
            (1, 1000, 0.00017654637062607809, 0.0056425585979579355),
        ];
        for (truths, n, low, high) in table {
            let found = share(truths, n, 0.95);
            assert!((found.low - low).abs() < 1e-12, "{truths} of {n}: {found:?}");
            assert!((found.high - high).abs() < 1e-12, "{truths} of {n}: {found:?}");
        }
    }

    #[test]
    fn equal_numbers_are_certain_and_one_number_is_not() {
        let three = mean(&[0.1, 0.1, 0.1], 0.95);
        assert_eq!((three.low, three.value, three.high), (0.1, 0.1, 0.1));
        let one = mean(&[0.1], 0.95);
        assert_eq!((one.value, one.half_width()), (0.1, f64::INFINITY));
        assert_eq!(one.side_of(5.0), None);
        assert_eq!(three.side_of(0.0), Some(true));
        assert_eq!(three.side_of(1.0), Some(false));
    }
}
