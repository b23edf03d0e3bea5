//! How fast a signal swings, from its values at some instants alone, so that it works for black boxes.
//!
//! Of A sin(ωt + φ) + B + Ct the third derivative is -ω² times the first, but for a constant. So a regression of the one
//! on the other has the slope -ω², whatever the phase, and however few values it is over. Both derivatives come from
//! four values in a row; with equal distances h their quotient is -(2 sin(ωh/2) / h)², from which ω follows exactly. With
//! others, h² is that of equal ones by which it is as far from -ω² to the order of h²: differences are means over
//! B-splines, whose variances follow from the instants. Values count the less the older they are: by a factor of e per quarter
//! of a period, so that the estimate follows signals that change.
//!
//! A signal that grows or decays by e^(at) has a slope of a², and counts as one with ω = a.
use super::Timer;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, PI};

/// Changes from value to value that say nothing, relative to 1 + |y|: ten times what units may be off that tell each
/// other values to the usual `exchange_tolerance`.
const NOTHING: f64 = 1e-5;

/// Values after which a signal that does not move rests.
const ENOUGH: u32 = 8;

/// The values of a signal, as far as they tell how fast it swings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Swing {
    /// Tick and value, the latest first.
    values: Vec<(i64, f64)>,
    /// Sums over what was seen, with their weights: 1, x, y, x², x y with the first derivative x and the third one y.
    sums: [f64; 5],
    rate: f64,
    /// Seconds since the first value, and how many there were.
    seen: f64,
    count: u32,
}

impl Swing {
    /// Takes the value at tick `at`; values come in the order of time.
    pub(crate) fn take(&mut self, at: i64, value: f64, timer: &Timer) {
        self.values.retain(|(before, _)| *before < at);
        self.seen += self.values.first().map_or(0.0, |last| timer.seconds(last.0, at));
        self.count = self.count.saturating_add(1);
        self.values.insert(0, (at, value));
        self.values.truncate(4);
        let [v3, v2, v1, v0] = self.values[..] else { return };
        let seconds = [v0, v1, v2, v3].map(|v| timer.seconds(v1.0, v.0));
        let slope = |a: (i64, f64), b: (i64, f64)| (b.1 - a.1) / timer.seconds(a.0, b.0);
        let bend = |a, b, c| (slope(b, c) - slope(a, b)) / timer.seconds(a.0, c.0);
        let (bends, span) = ([bend(v0, v1, v2), bend(v1, v2, v3)], timer.seconds(v0.0, v3.0));
        // Both derivatives are those at the mean of the instants.
        let (mean, inner) = (seconds.iter().sum::<f64>() / 4.0, seconds[2]);
        let first = slope(v1, v2) + (bends[0] + bends[1]) * (mean - inner / 2.0);
        let third = 6.0 * (bends[1] - bends[0]) / span;
        let spread: f64 = seconds.iter().map(|t| (t - mean) * (t - mean)).sum();
        let step = libm::sqrt((0.3 * spread - 0.5 * inner * inner).max(0.0));
        let age = timer.seconds(v2.0, v3.0);
        let keep = libm::exp(-self.rate * age / FRAC_PI_2);
        let seen = [1.0, first, third, first * first, first * third];
        for (sum, new) in self.sums.iter_mut().zip(seen) {
            *sum = keep * *sum + age * new;
        }
        self.rate = self.found(step.max(1e-3 * span), 1.0 + value.abs());
    }

    /// The angular frequency for values that lie as if `step` seconds apart.
    fn found(&self, step: f64, size: f64) -> f64 {
        let [weight, x, y, xx, xy] = self.sums;
        let (variance, covariance) = (xx - x * x / weight, xy - x * y / weight);
        let moves = libm::sqrt((variance / weight).max(0.0)) * step;
        if moves.is_nan() || moves <= NOTHING * size {
            return 0.0;
        }
        let chord = libm::sqrt((covariance / variance).abs()) * step / 2.0;
        2.0 / step * if covariance < 0.0 { libm::asin(chord.min(1.0)) } else { chord }
    }

    /// The angular frequency in radians per second, as far as it is known; zero of a signal that does not move but for a
    /// steady trend.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether it has been looked at for half a period: a shorter arc of a signal that changes its frequency may look
    /// slower than it is.
    pub(crate) fn is_known(&self) -> bool {
        if self.rate > 0.0 { self.seen * self.rate >= PI } else { self.count >= ENOUGH }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superdense_kernel::time::Resolution;

    fn rates(instants: impl Iterator<Item = f64>, signal: impl Fn(f64) -> f64) -> Vec<f64> {
        let timer = Timer::due(0, Resolution::NANO);
        let mut swing = Swing::default();
        let each = instants.map(|t| {
            swing.take((t * 1e9).round() as i64, signal(t), &timer);
            swing.rate()
        });
        each.collect()
    }

    fn every(step: f64) -> impl Iterator<Item = f64> {
        (0..60).map(move |k| f64::from(k) * step)
    }

    /// Even with three values per period, on an offset and a trend.
    #[test]
    fn a_swing_is_found_from_few_values() {
        for step in [0.01, 0.05, 0.3, 0.7] {
            let found = rates(every(step), |t| 5.0 - 2.0 * t + 0.1 * libm::sin(3.0 * t + 0.4));
            assert!(found[..4].iter().all(|w| *w == 0.0));
            assert!(found[8..].iter().all(|w| (w - 3.0).abs() < 3e-3), "{step}: {found:?}");
        }
    }

    #[test]
    fn a_decay_counts_by_its_rate() {
        let found = rates(every(0.05), |t| 2.0 * libm::exp(-1.5 * t));
        assert!((found[20] - 1.5).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn what_rests_or_goes_on_steadily_does_not_swing() {
        let still = rates(every(0.05), |t| 1.0 + 3.0 * t + 1e-7 * libm::sin(40.0 * t));
        assert!(still.iter().all(|w| *w == 0.0), "{still:?}");
    }

    /// Steps that change from one to the next, as those of a coupling do.
    #[test]
    fn distances_may_change() {
        let instants = (0..80).map(|k| 0.1 * f64::from(k) + 0.06 * libm::sin(0.7 * f64::from(k)));
        let found = rates(instants, |t| libm::cos(2.0 * t));
        assert!(found[6..].iter().all(|w| (w / 2.0 - 1.0).abs() < 0.01), "{found:?}");
    }

    #[test]
    fn half_a_period_is_needed() {
        let timer = Timer::due(0, Resolution::NANO);
        let (mut swing, mut still) = (Swing::default(), Swing::default());
        for k in 0..20 {
            let t = 0.2 * f64::from(k);
            swing.take((t * 1e9) as i64, libm::sin(2.0 * t), &timer);
            still.take((t * 1e9) as i64, 7.0, &timer);
            assert_eq!((swing.is_known(), still.is_known()), (k >= 8, k >= 7), "{k}");
        }
    }
}
