//! A polynomial and a decaying exponential: what linear blocks of first order answer to a
//! polynomial input, in closed form.
use crate::{
    maths::poly::MAX_DEGREE,
    signal::{Poly, horizon},
};

/// The highest order of segments that parameters allow.
const ORDERS: usize = 12;

/// `p(e) + c exp(-rate e)`.
///
/// **Why it is also known as a series.** The polynomial part has factors `k!/rate^k`, which the exponential takes away
/// again: beside a slow rate nothing is left of sixteen digits. The series has no such factors, and each of its
/// coefficients follows from those of lower powers alone: in a loop of units each round makes one more of them final.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    p: Poly,
    c: f64,
    rate: f64,
    /// Taylor coefficients, beyond those of the input.
    series: Poly,
}

impl Decay {
    /// The solution of `y' = rate (u(e) - y)`, `y(0) = start`.
    ///
    /// The polynomial part solves `p + p'/rate = u` from the highest power down.
    pub(crate) fn follow(u: &[f64], start: f64, rate: f64) -> Self {
        let mut p = [0.0; MAX_DEGREE + 1];
        let mut above = 0.0;
        for (k, &uk) in u.iter().enumerate().rev() {
            p[k] = uk - (k + 1) as f64 * above / rate;
            above = p[k];
        }
        let mut series = [start; MAX_DEGREE + 1];
        let last = u.len().clamp(ORDERS + 1, MAX_DEGREE);
        for k in 0..last {
            let uk = u.get(k).copied().unwrap_or(0.0);
            series[k + 1] = rate * (uk - series[k]) / (k + 1) as f64;
        }
        let (p, series) = (Poly::new(&p[..u.len()]), Poly::new(&series[..=last]));
        Self { p, c: start - above, rate, series }
    }

    /// A polynomial plus `factor` times this.
    pub(crate) fn beside(&self, mut plus: Poly, factor: f64) -> Self {
        let mut series = plus;
        plus.add(factor, self.p.coefficients());
        series.add(factor, self.series.coefficients());
        Self { p: plus, c: factor * self.c, rate: self.rate, series }
    }

    pub(crate) fn value(&self, e: f64) -> f64 {
        /// Factors `k!/8^k` are harmless up to the highest order, and so are the terms of the series, `8^k/k!`.
        const NEAR: f64 = 8.0;
        if self.rate * e > NEAR {
            return self.p.value(e) + self.c * libm::exp(-self.rate * e);
        }
        let known = self.series.coefficients();
        // Behind the known coefficients those of an exponential go on.
        let (mut rest, mut k) = (known[known.len() - 1], known.len());
        let mut power = libm::pow(e, (k - 1) as f64);
        let mut sum = 0.0;
        while rest != 0.0 && k < 100 {
            rest *= -self.rate / k as f64;
            power *= e;
            let term = rest * power;
            if sum + term == sum {
                break;
            }
            sum += term;
            k += 1;
        }
        self.series.value(e) + sum
    }

    /// A polynomial of `order`, and for how many seconds it is within `tolerance`: the Taylor polynomial; where it
    /// `settles` and the exponential is below the tolerance, `p` alone, so that nothing more is to be sent.
    pub(crate) fn taylor(&self, order: usize, tolerance: f64, settles: bool) -> (Poly, f64) {
        if settles && self.c.abs() <= 0.1 * tolerance {
            let tail = self.p.coefficients().get(order + 1..).unwrap_or_default();
            let p = Poly::new(self.p.truncated(order));
            return (p, horizon(order + 1, tail, 0.9 * tolerance));
        }
        // Behind the powers of the input the series alternates, for e >= 0: its remainder is below the first term.
        let own = self.series.coefficients();
        let last = (order + 2).max(self.p.coefficients().len() + 1).min(own.len());
        let sum = Poly::new(self.series.truncated(order));
        (sum, horizon(order + 1, &own[order + 1..last], tolerance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_keep_their_digits() {
        // y' = (u - y)/1000 with u = sin(9 t) as a polynomial of degree 9, over 0.1 s.
        let rate = 1e-3;
        let mut u = [0.0; 10];
        let mut factorial = 1.0;
        for (k, c) in u.iter_mut().enumerate() {
            factorial *= k.max(1) as f64;
            *c = [0.0, 1.0, 0.0, -1.0][k % 4] * 9.0_f64.powi(k as i32) / factorial;
        }
        let d = Decay::follow(&u, 0.5, rate);
        // (1 - cos 0.9)/9000 of the integral of the sine, 0.5 e^-0.0001, and terms below 1e-9.
        let about = 0.5 * f64::exp(-1e-4) + rate * (1.0 - 0.9_f64.cos()) / 9.0;
        assert!((d.value(0.1) - about).abs() < 4e-9, "{} {about}", d.value(0.1));
        let (p, seconds) = d.taylor(9, 1e-9, false);
        assert!(seconds > 0.1 && (p.value(0.1) - d.value(0.1)).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn answers_a_parabola_exactly() {
        // y' = 2 (u - y) with u = 1 + e², y(0) = 0.
        let d = Decay::follow(&[1.0, 0.0, 1.0], 0.0, 2.0);
        let exact = |e: f64| e * e - e + 1.5 - 1.5 * (-2.0 * e).exp();
        for e in [0.0, 0.5, 3.0] {
            assert!((d.value(e) - exact(e)).abs() < 1e-14);
        }
        let (p, h) = d.taylor(3, 1e-6, true);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
        assert!((p.value(h) - exact(h)).abs() >= 1e-7);
        let (p, h) = d.taylor(1, 1e-6, true);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
    }
}
