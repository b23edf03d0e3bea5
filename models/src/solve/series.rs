//! Truncated Taylor series as numbers, by which segments are made from equations.
//!
//! Recurrences: Griewank & Walther, Evaluating Derivatives, 2nd ed., table 13.2.
use crate::maths::expr::Scalar;

/// Taylor coefficients `c0 + c1 e + … + c_{N-1} e^{N-1}` of a function of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<const N: usize>(pub [f64; N]);

impl<const N: usize> Default for Series<N> {
    fn default() -> Self {
        Self([0.0; N])
    }
}

impl<const N: usize> Series<N> {
    /// From coefficients; missing ones are zero, further ones are dropped.
    pub fn from_slice(coefficients: &[f64]) -> Self {
        let mut c = [0.0; N];
        let n = coefficients.len().min(N);
        c[..n].copy_from_slice(&coefficients[..n]);
        Self(c)
    }

    fn derivative(&self) -> Self {
        let mut d = [0.0; N];
        for k in 1..N {
            d[k - 1] = k as f64 * self.0[k];
        }
        Self(d)
    }

    /// The series whose derivative is `self`, starting at `value`.
    fn integral(&self, value: f64) -> Self {
        let mut c = [0.0; N];
        c[0] = value;
        for (k, (c, d)) in c[1..].iter_mut().zip(&self.0).enumerate() {
            *c = d / (k + 1) as f64;
        }
        Self(c)
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(f))
    }

    /// `value = a0^p`, then the power rule `a b' = p a' b`.
    fn power(&self, p: f64, value: f64) -> Self {
        let a = &self.0;
        let mut b = [0.0; N];
        b[0] = value;
        if a.iter().all(|&a| a == 0.0) {
            return Self(b);
        }
        for k in 1..N {
            let mut sum = 0.0;
            for j in 1..=k {
                sum += (p * j as f64 - (k - j) as f64) * a[j] * b[k - j];
            }
            b[k] = sum / (k as f64 * a[0]);
        }
        Self(b)
    }

    /// `s' = a' c` and `c' = sign a' s`.
    fn circle(&self, s0: f64, c0: f64, sign: f64) -> (Self, Self) {
        let a = &self.0;
        let (mut s, mut c) = ([0.0; N], [0.0; N]);
        (s[0], c[0]) = (s0, c0);
        for k in 1..N {
            let (mut ds, mut dc) = (0.0, 0.0);
            for j in 1..=k {
                ds += j as f64 * a[j] * c[k - j];
                dc += j as f64 * a[j] * s[k - j];
            }
            (s[k], c[k]) = (ds / k as f64, sign * dc / k as f64);
        }
        (Self(s), Self(c))
    }
}

impl<const N: usize> Scalar for Series<N> {
    fn constant(value: f64) -> Self {
        let mut c = [0.0; N];
        c[0] = value;
        Self(c)
    }
    fn value(&self) -> f64 {
        self.0[0]
    }
    fn neg(&self) -> Self {
        self.map(|c| -c)
    }
    fn add(&self, b: &Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + b.0[k]))
    }
    fn sub(&self, b: &Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] - b.0[k]))
    }
    fn mul(&self, b: &Self) -> Self {
        Self(std::array::from_fn(|k| (0..=k).map(|j| self.0[j] * b.0[k - j]).sum()))
    }
    fn div(&self, b: &Self) -> Self {
        let mut q = [0.0; N];
        for k in 0..N {
            let known: f64 = (1..=k).map(|j| b.0[j] * q[k - j]).sum();
            q[k] = (self.0[k] - known) / b.0[0];
        }
        Self(q)
    }
    fn pow(&self, b: &Self) -> Self {
        if b.0[1..].iter().all(|&c| c == 0.0) {
            return self.power(b.0[0], libm::pow(self.0[0], b.0[0]));
        }
        let mut r = b.mul(&self.ln()).exp();
        r.0[0] = libm::pow(self.0[0], b.0[0]);
        r
    }
    fn atan2(&self, b: &Self) -> Self {
        let (da, db) = (self.derivative(), b.derivative());
        let square = self.mul(self).add(&b.mul(b));
        let slope = da.mul(b).sub(&self.mul(&db)).div(&square);
        slope.integral(libm::atan2(self.0[0], b.0[0]))
    }
    fn sqrt(&self) -> Self {
        self.power(0.5, self.0[0].sqrt())
    }
    fn cbrt(&self) -> Self {
        self.power(1.0 / 3.0, libm::cbrt(self.0[0]))
    }
    fn exp(&self) -> Self {
        let mut e = [0.0; N];
        e[0] = libm::exp(self.0[0]);
        for k in 1..N {
            let sum: f64 = (1..=k).map(|j| j as f64 * self.0[j] * e[k - j]).sum();
            e[k] = sum / k as f64;
        }
        Self(e)
    }
    fn ln(&self) -> Self {
        self.derivative().div(self).integral(libm::log(self.0[0]))
    }
    fn sin(&self) -> Self {
        self.circle(libm::sin(self.0[0]), libm::cos(self.0[0]), -1.0).0
    }
    fn cos(&self) -> Self {
        self.circle(libm::sin(self.0[0]), libm::cos(self.0[0]), -1.0).1
    }
    fn tan(&self) -> Self {
        let (s, c) = self.circle(libm::sin(self.0[0]), libm::cos(self.0[0]), -1.0);
        s.div(&c)
    }
    fn asin(&self) -> Self {
        let root = Self::constant(1.0).sub(&self.mul(self)).sqrt();
        self.derivative().div(&root).integral(libm::asin(self.0[0]))
    }
    fn acos(&self) -> Self {
        let mut r = self.asin().neg();
        r.0[0] = libm::acos(self.0[0]);
        r
    }
    fn atan(&self) -> Self {
        let square = Self::constant(1.0).add(&self.mul(self));
        self.derivative().div(&square).integral(libm::atan(self.0[0]))
    }
    fn sinh(&self) -> Self {
        self.circle(libm::sinh(self.0[0]), libm::cosh(self.0[0]), 1.0).0
    }
    fn cosh(&self) -> Self {
        self.circle(libm::sinh(self.0[0]), libm::cosh(self.0[0]), 1.0).1
    }
    fn tanh(&self) -> Self {
        let (s, c) = self.circle(libm::sinh(self.0[0]), libm::cosh(self.0[0]), 1.0);
        s.div(&c)
    }
    fn lambert_w(&self) -> Self {
        // w' (1 + w) e^w = a', so w' = a' / (e^w + a): one more coefficient a round.
        let mut w = Self::constant(self.0[0].lambert_w());
        for _ in 1..N {
            let slope = self.derivative().div(&w.exp().add(self));
            w = slope.integral(w.0[0]);
        }
        w
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function against its expansion by central differences of high order in time.
    #[test]
    fn coefficients_are_scaled_derivatives() {
        let a = Series::<4>([0.4, 0.3, -0.2, 0.1]);
        let at = |t: f64| 0.4 + t * (0.3 + t * (-0.2 + t * 0.1));
        type Pair = (fn(&Series<4>) -> Series<4>, fn(f64) -> f64);
        let cases: [Pair; 15] = [
            (|s| s.sqrt(), f64::sqrt),
            (|s| s.cbrt(), f64::cbrt),
            (|s| s.exp(), f64::exp),
            (|s| s.ln(), f64::ln),
            (|s| s.sin(), f64::sin),
            (|s| s.cos(), f64::cos),
            (|s| s.tan(), f64::tan),
            (|s| s.asin(), f64::asin),
            (|s| s.acos(), f64::acos),
            (|s| s.atan(), f64::atan),
            (|s| s.sinh(), f64::sinh),
            (|s| s.cosh(), f64::cosh),
            (|s| s.tanh(), f64::tanh),
            (|s| s.pow(&Series::constant(2.5)), |x| x.powf(2.5)),
            (|s| s.lambert_w(), |x| x.lambert_w()),
        ];
        for (index, (series, plain)) in cases.into_iter().enumerate() {
            let c = series(&a).0;
            for t in [-1e-2, -5e-3, 5e-3, 1e-2] {
                let taylor = c[0] + t * (c[1] + t * (c[2] + t * c[3]));
                let error = (taylor - plain(at(t))).abs();
                assert!(error < 2e-8, "function {index} at {t}: off by {error:e}");
            }
        }
    }
}
