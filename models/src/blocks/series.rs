//! A polynomial and a decaying exponential: what linear blocks of first order answer to a
//! polynomial input, in closed form.
use crate::signal::{Poly, horizon};

/// `p(e) + c exp(-rate e)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    pub p: Poly,
    pub c: f64,
    pub rate: f64,
}

impl Decay {
    /// The solution of `y' = rate (u(e) - y)`, `y(0) = start`.
    ///
    /// The polynomial part solves `p + p'/rate = u` from the highest power down.
    pub(crate) fn follow(u: &[f64], start: f64, rate: f64) -> Self {
        let mut p = [0.0; crate::maths::poly::MAX_DEGREE + 1];
        let mut above = 0.0;
        for (k, &uk) in u.iter().enumerate().rev() {
            p[k] = uk - (k + 1) as f64 * above / rate;
            above = p[k];
        }
        Self { p: Poly::new(&p[..u.len()]), c: start - above, rate }
    }

    pub(crate) fn value(&self, e: f64) -> f64 {
        self.p.value(e) + self.c * libm::exp(-self.rate * e)
    }

    /// Taylor polynomial of `order`, and for how many seconds it is within `tolerance`.
    pub(crate) fn taylor(&self, order: usize, tolerance: f64) -> (Poly, f64) {
        let mut sum = Poly::new(self.p.truncated(order));
        let full = self.p.coefficients();
        let mut tail = [0.0; crate::maths::poly::MAX_DEGREE + 1];
        let mut used = 0;
        if full.len() > order + 1 {
            used = full.len() - order - 1;
            tail[..used].copy_from_slice(&full[order + 1..]);
        }
        // An exponential below the tolerance is left out for good: nothing more is to be sent.
        if self.c.abs() <= 0.1 * tolerance {
            return (sum, horizon(order + 1, &tail[..used], 0.9 * tolerance));
        }
        let mut terms = [0.0; crate::maths::poly::MAX_DEGREE + 1];
        let mut term = self.c;
        for (k, slot) in terms.iter_mut().enumerate().take(order + 1) {
            *slot = term;
            term *= -self.rate / (k + 1) as f64;
        }
        sum.add(1.0, &terms[..=order]);
        // For e >= 0 the series alternates and its remainder is below the first term left out.
        tail[0] = tail[0].abs() + term.abs();
        (sum, horizon(order + 1, &tail[..used.max(1)], tolerance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_a_parabola_exactly() {
        // y' = 2 (u - y) with u = 1 + e², y(0) = 0.
        let d = Decay::follow(&[1.0, 0.0, 1.0], 0.0, 2.0);
        let exact = |e: f64| e * e - e + 1.5 - 1.5 * (-2.0 * e).exp();
        for e in [0.0, 0.5, 3.0] {
            assert!((d.value(e) - exact(e)).abs() < 1e-14);
        }
        let (p, h) = d.taylor(3, 1e-6);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
        assert!((p.value(h) - exact(h)).abs() >= 1e-7);
        let (p, h) = d.taylor(1, 1e-6);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
    }
}
