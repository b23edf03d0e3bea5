//! Double-doubles, and double-doubles with sensitivities.
use std::ops::{Add, Div, Mul, Neg, Sub};

/// About 32 decimal digits: the sum of two doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dd {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// The rest that may be left, relative to its terms, of a sum that is zero but for its roundings.
const CANCELLED: f64 = 1e-30;

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let bb = s - a;
    (s, (a - (s - bb)) + (b - bb))
}

fn quick(a: f64, b: f64) -> Dd {
    let s = a + b;
    if !s.is_finite() {
        return Dd { hi: s, lo: 0.0 };
    }
    Dd { hi: s, lo: b - (s - a) }
}

fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a;
    let hi = c - (c - a);
    (hi, a - hi)
}

fn two_product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    let (ah, al) = split(a);
    let (bh, bl) = split(b);
    (p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

impl Dd {
    pub(crate) const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    pub(crate) const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    pub(crate) fn new(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }

    /// Exact up to 2^106.
    pub(crate) fn whole(value: i128) -> Self {
        let hi = value as f64;
        Self { hi, lo: (value - hi as i128) as f64 }
    }

    pub(crate) fn finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }

    pub(crate) fn times(self, by: f64) -> Self {
        let (p, e) = two_product(self.hi, by);
        quick(p, e + self.lo * by)
    }

    pub(crate) fn floor(self) -> Self {
        let hi = self.hi.floor();
        if hi == self.hi { quick(hi, self.lo.floor()) } else { Self::new(hi) }
    }

    pub(crate) fn sqrt(self) -> Self {
        if self.hi <= 0.0 {
            return Self::new(self.hi.sqrt());
        }
        let y = Self::new(self.hi.sqrt());
        let y = (y + self / y).times(0.5);
        (y + self / y).times(0.5)
    }

    pub(crate) fn exp(self) -> Self {
        if self.hi == 0.0 {
            return Self::ONE;
        }
        if self.hi > 709.0 {
            return Self::new(f64::INFINITY);
        }
        if self.hi < -740.0 {
            return Self::ZERO;
        }
        let ln2 = Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
        let n = (self.hi / std::f64::consts::LN_2).round();
        let r = (self - ln2.times(n) - Dd::new(5.707_708_438_416_212e-34 * n)).times(1.0 / 256.0);
        let mut term = r;
        let mut sum = r;
        for k in 2..=11 {
            term = (term * r) / Dd::new(f64::from(k));
            sum = sum + term;
        }
        for _ in 0..8 {
            sum = sum.times(2.0) + sum * sum;
        }
        let y = sum + Self::ONE;
        let half = (n / 2.0).floor();
        y.times(half.exp2()).times((n - half).exp2())
    }

    pub(crate) fn ln(self) -> Self {
        if self.hi <= 0.0 {
            return Self::new(self.hi.ln());
        }
        if self == Self::ONE {
            return Self::ZERO;
        }
        let mut y = Self::new(self.hi.ln());
        for _ in 0..2 {
            y = y + self * (-y).exp() - Self::ONE;
        }
        y
    }

    /// Sine and cosine.
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        if self.hi == 0.0 {
            return (Self::ZERO, Self::ONE);
        }
        let n = (self.hi / std::f64::consts::FRAC_PI_2).round();
        let half_pi = Dd { hi: std::f64::consts::FRAC_PI_2, lo: 6.123_233_995_736_766e-17 };
        let r = self - half_pi.times(n) - Dd::new(-1.497_384_904_859_169_8e-33 * n);
        let (mut s, mut c) = (r, Self::ONE);
        let (mut ts, mut tc) = (r, Self::ONE);
        let square = -(r * r);
        for k in 1..=14 {
            let k = f64::from(k);
            tc = tc * square / Dd::new((2.0 * k - 1.0) * (2.0 * k));
            ts = ts * square / Dd::new((2.0 * k) * (2.0 * k + 1.0));
            c = c + tc;
            s = s + ts;
        }
        match n.rem_euclid(4.0) as u8 {
            0 => (s, c),
            1 => (c, -s),
            2 => (-s, -c),
            _ => (-c, s),
        }
    }

    pub(crate) fn tanh(self) -> Self {
        if self.hi == 0.0 {
            return Self::ZERO;
        }
        if self.hi.abs() > 40.0 {
            return Self::new(self.hi.signum());
        }
        if self.hi.abs() < 0.05 {
            // By the continued fraction: the exponential would lose digits.
            let square = self * self;
            let mut y = Self::new(23.0);
            for k in (0..11).rev() {
                y = Self::new(f64::from(2 * k + 1)) + square / y;
            }
            return self / y;
        }
        let e = self.times(2.0).exp();
        (e - Self::ONE) / (e + Self::ONE)
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, b: Dd) -> Dd {
        let (s, e) = two_sum(self.hi, b.hi);
        let (t, f) = two_sum(self.lo, b.lo);
        let c = quick(s, e + t);
        quick(c.hi, c.lo + f)
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, b: Dd) -> Dd {
        self + (-b)
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, b: Dd) -> Dd {
        let (p, e) = two_product(self.hi, b.hi);
        quick(p, e + (self.hi * b.lo + self.lo * b.hi))
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, b: Dd) -> Dd {
        let q1 = self.hi / b.hi;
        if !q1.is_finite() {
            return Dd::new(q1);
        }
        let r = self - b.times(q1);
        let q2 = r.hi / b.hi;
        let r = r - b.times(q2);
        quick(q1, q2) + Dd::new(r.hi / b.hi)
    }
}

/// A number and how it changes with each of `M` independent errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ball<const M: usize> {
    pub(crate) c: Dd,
    pub(crate) e: [f64; M],
}

impl<const M: usize> Ball<M> {
    pub(crate) const ZERO: Self = Ball { c: Dd::ZERO, e: [0.0; M] };

    pub(crate) fn new(value: f64) -> Self {
        Self { c: Dd::new(value), e: [0.0; M] }
    }

    pub(crate) fn exact(c: Dd) -> Self {
        Self { c, e: [0.0; M] }
    }

    /// Root of the sum of squares of the errors.
    pub(crate) fn error(&self) -> f64 {
        self.e.iter().map(|e| e * e).sum::<f64>().sqrt()
    }

    pub(crate) fn times(self, by: f64) -> Self {
        Self { c: self.c.times(by), e: self.e.map(|e| e * by) }
    }

    pub(crate) fn over(self, by: f64) -> Self {
        Self { c: self.c / Dd::new(by), e: self.e.map(|e| e / by) }
    }

    pub(crate) fn times_dd(self, by: Dd) -> Self {
        Self { c: self.c * by, e: self.e.map(|e| e * by.hi) }
    }

    /// `f(self)`, given the value and the derivative there.
    pub(crate) fn map(self, value: Dd, slope: f64) -> Self {
        let slope = if self.e == [0.0; M] { 0.0 } else { slope };
        Self { c: value, e: self.e.map(|e| e * slope) }
    }

    pub(crate) fn finite(&self) -> bool {
        self.c.finite() && self.e.iter().all(|e| e.is_finite())
    }

    pub(crate) fn sin(self) -> Self {
        let (s, c) = self.c.sin_cos();
        self.map(s, c.hi)
    }

    pub(crate) fn cos(self) -> Self {
        let (s, c) = self.c.sin_cos();
        self.map(c, -s.hi)
    }

    pub(crate) fn exp(self) -> Self {
        let y = self.c.exp();
        self.map(y, y.hi)
    }

    pub(crate) fn ln(self) -> Self {
        self.map(self.c.ln(), 1.0 / self.c.hi)
    }

    pub(crate) fn tanh(self) -> Self {
        let y = self.c.tanh();
        self.map(y, 1.0 - y.hi * y.hi)
    }

    pub(crate) fn sqrt(self) -> Self {
        let y = self.c.sqrt();
        self.map(y, 0.5 / y.hi)
    }
}

/// The sum; zero where no more than their own roundings is left of them, which would move
/// what stands.
fn sum(a: Dd, b: Dd) -> Dd {
    let sum = a + b;
    if sum.hi.abs() <= CANCELLED * a.hi.abs() { Dd::ZERO } else { sum }
}

impl<const M: usize> Add for Ball<M> {
    type Output = Self;
    fn add(mut self, b: Self) -> Self {
        self.c = sum(self.c, b.c);
        for (x, y) in self.e.iter_mut().zip(b.e) {
            *x += y;
        }
        self
    }
}

impl<const M: usize> Sub for Ball<M> {
    type Output = Self;
    fn sub(mut self, b: Self) -> Self {
        self.c = sum(self.c, -b.c);
        for (x, y) in self.e.iter_mut().zip(b.e) {
            *x -= y;
        }
        self
    }
}

impl<const M: usize> Neg for Ball<M> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { c: -self.c, e: self.e.map(|e| -e) }
    }
}

impl<const M: usize> Mul for Ball<M> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let mut e = [0.0; M];
        for (k, x) in e.iter_mut().enumerate() {
            *x = self.e[k] * b.c.hi + self.c.hi * b.e[k];
        }
        Self { c: self.c * b.c, e }
    }
}

impl<const M: usize> Div for Ball<M> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let c = self.c / b.c;
        let mut e = [0.0; M];
        for (k, x) in e.iter_mut().enumerate() {
            let top = self.e[k] - c.hi * b.e[k];
            *x = if top == 0.0 { 0.0 } else { top / b.c.hi };
        }
        Self { c, e }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Dd, b: Dd) {
        let d = (a - b).hi.abs();
        assert!(d <= 4e-31 * b.hi.abs().max(1e-3), "{a:?} {b:?} {d}");
    }

    #[test]
    fn elementary_functions_have_thirty_digits() {
        for x in [0.01, 0.3, 1.0, -2.5, 7.75, 20.0] {
            let x = Dd::new(x);
            let (s, c) = x.sin_cos();
            close(s * s + c * c, Dd::ONE);
            close((x.exp()) * ((-x).exp()), Dd::ONE);
            close(x.exp().ln(), x);
            let t = x.tanh();
            let e = x.times(2.0).exp();
            close(t * (e + Dd::ONE), e - Dd::ONE);
            let q = (x * x).sqrt();
            close(q * q, x * x);
        }
        // exp(1) and sin(1), to 32 digits.
        close(Dd::ONE.exp(), Dd { hi: std::f64::consts::E, lo: 1.445_646_891_729_250_2e-16 });
        let (s, _) = Dd::ONE.sin_cos();
        close(s, Dd { hi: 0.841_470_984_807_896_5, lo: 1.776_845_092_935_536e-18 });
    }
}
