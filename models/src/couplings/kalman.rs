//! A Kalman filter on a measured signal.
//!
//! Where a source is a real system, what it sends is noisy, and extrapolation through noisy samples is
//! worse than none (Gomes et al. 2017, section 4.3.7: protect extrapolation functions from noise "using
//! statistical techniques such as Kalman filtering"). The filter takes the signal for a value with a
//! rate, which is changed by accelerations that are constant between exchanges and independent from one
//! to the next, and each exchanged value for a measurement; receivers are told the estimate, with its
//! rate from order 1 on. Over equal steps it settles to the α-β filter (P. Kalata, The tracking index,
//! IEEE Transactions on Aerospace and Electronic Systems 20, 1984). Intervals may differ.
use super::{extrapolation::Cubic, line::Line};
use serde::{Deserialize, Serialize};

/// A filter of second order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kalman {
    /// Standard deviation of the noise, in units of the signal.
    pub noise: f64,
    /// Standard deviation of the acceleration, in units of the signal per second squared; several times
    /// as much for accelerations that last longer than a step, which would leave the estimate behind.
    pub acceleration: f64,
}

/// The filter's knowledge of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    value: f64,
    rate: f64,
    /// Variances of both, and their covariance.
    variance: [f64; 2],
    covariance: f64,
}

impl Kalman {
    /// Puts the estimate in the place of what is told, `elapsed` seconds after the last exchange, of a
    /// signal that measures `y` now.
    pub fn smooth(self, line: &mut Line, p: &mut Cubic, y: f64, elapsed: f64, order: usize) {
        let known = match line.known {
            None => self.begin(y),
            // This is the last measurement again.
            Some(known) if elapsed <= 0.0 => known,
            Some(known) => self.measure(known, y, elapsed),
        };
        line.known = Some(known);
        *p = [known.value, if order > 0 { known.rate } else { 0.0 }, 0.0, 0.0];
    }

    /// The first measurement says nothing of the rate.
    fn begin(self, y: f64) -> Known {
        let noise = self.noise * self.noise;
        let unknown = 1e12 * (noise + self.acceleration * self.acceleration);
        Known { value: y, rate: 0.0, variance: [noise, unknown], covariance: 0.0 }
    }

    fn measure(self, known: Known, y: f64, dt: f64) -> Known {
        let (noise, q) = (self.noise * self.noise, self.acceleration * self.acceleration);
        let Known { value, rate, variance: [a, b], covariance: c } = known;
        // Where it should be by now, and how surely.
        let value = value + rate * dt;
        let ahead = a + dt * (2.0 * c + dt * b) + q * dt * dt * dt * dt / 4.0;
        let covariance = c + dt * b + q * dt * dt * dt / 2.0;
        let rates = b + q * dt * dt;
        // The correction by the measurement.
        let (gain, of_rate) = (ahead / (ahead + noise), covariance / (ahead + noise));
        let off = y - value;
        Known {
            value: value + gain * off,
            rate: rate + of_rate * off,
            variance: [gain * noise, rates - of_rate * covariance],
            covariance: of_rate * noise,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couplings::Compensation;

    /// A straight line is followed exactly from the third measurement on, over unequal steps.
    #[test]
    fn what_has_a_rate_is_followed() {
        let filter = Kalman { noise: 0.1, acceleration: 1e-3 };
        let mut line = Line::new(1, Compensation::None);
        let (mut t, mut p) = (0.0, [0.0; 4]);
        for elapsed in [0.0, 0.5, 0.25, 1.0, 0.0, 0.1] {
            t += elapsed;
            filter.smooth(&mut line, &mut p, 2.0 - 3.0 * t, elapsed, 1);
        }
        assert!((p[0] - (2.0 - 3.0 * t)).abs() < 1e-9 && (p[1] + 3.0).abs() < 1e-9, "{p:?}");
        filter.smooth(&mut line, &mut p, 2.0 - 3.0 * t, 0.0, 0);
        assert_eq!(p[1..], [0.0; 3], "held at order 0");
    }

    /// The gains settle to those of the α-β filter, by Kalata's tracking index.
    #[test]
    fn gains_are_those_of_the_tracking_index() {
        for (noise, acceleration, dt) in [(0.1, 2.0, 0.05), (1.0, 0.1, 0.5), (1e-3, 5.0, 0.1)] {
            let filter = Kalman { noise, acceleration };
            let mut known = filter.begin(0.0);
            (0..20_000).for_each(|_| known = filter.measure(known, 0.0, dt));
            known.value = 0.0;
            known.rate = 0.0;
            let after = filter.measure(known, 1.0, dt);
            let index = acceleration * dt * dt / noise;
            let r = (4.0 + index - (8.0 * index + index * index).sqrt()) / 4.0;
            let alpha = 1.0 - r * r;
            let beta = 2.0 * (2.0 - alpha) - 4.0 * (1.0 - alpha).sqrt();
            assert!((after.value - alpha).abs() < 1e-6, "{index}: {} {alpha}", after.value);
            assert!((after.rate * dt - beta).abs() < 1e-6, "{index}: {} {beta}", after.rate * dt);
        }
    }
}
