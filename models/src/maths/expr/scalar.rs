//! The kinds of number that expressions can be evaluated on.

use super::lambert::lambert_w;
use std::cmp::Ordering;

/// A number: `f64`, or something that carries derivatives along, such as a truncated Taylor series.
///
/// Comparisons and functions that jump (`floor`, `sign`, ...) look at [`value`](Scalar::value)
/// alone and give constants; between two jumps that is exact for series too.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Names, Scalar};
///
/// /// A number and its derivative.
/// #[derive(Clone)]
/// struct Dual(f64, f64);
/// # macro_rules! rules { ($($name:ident: |$x:ident| $slope:expr;)*) => { $(
/// #   fn $name(&self) -> Self { let $x = self.0; Dual(Scalar::$name(&$x), self.1 * $slope) }
/// # )* } }
/// impl Scalar for Dual {
///     fn constant(value: f64) -> Self { Dual(value, 0.0) }
///     fn value(&self) -> f64 { self.0 }
///     fn mul(&self, b: &Self) -> Self { Dual(self.0 * b.0, self.1 * b.0 + self.0 * b.1) }
///     // and so on
/// #   fn neg(&self) -> Self { Dual(-self.0, -self.1) }
/// #   fn add(&self, b: &Self) -> Self { Dual(self.0 + b.0, self.1 + b.1) }
/// #   fn sub(&self, b: &Self) -> Self { Dual(self.0 - b.0, self.1 - b.1) }
/// #   fn div(&self, b: &Self) -> Self {
/// #       Dual(self.0 / b.0, (self.1 * b.0 - self.0 * b.1) / (b.0 * b.0))
/// #   }
/// #   fn pow(&self, b: &Self) -> Self {
/// #       let power = self.0.powf(b.0);
/// #       Dual(power, power * (b.1 * self.0.ln() + b.0 * self.1 / self.0))
/// #   }
/// #   fn atan2(&self, b: &Self) -> Self {
/// #       let square = self.0 * self.0 + b.0 * b.0;
/// #       Dual(self.0.atan2(b.0), (self.1 * b.0 - self.0 * b.1) / square)
/// #   }
/// #   rules! {
/// #       sqrt: |x| 0.5 / x.sqrt();
/// #       cbrt: |x| 1.0 / (3.0 * x.cbrt().powi(2));
/// #       exp: |x| x.exp();
/// #       ln: |x| 1.0 / x;
/// #       sin: |x| x.cos();
/// #       cos: |x| -x.sin();
/// #       tan: |x| 1.0 + x.tan().powi(2);
/// #       asin: |x| 1.0 / (1.0 - x * x).sqrt();
/// #       acos: |x| -1.0 / (1.0 - x * x).sqrt();
/// #       atan: |x| 1.0 / (1.0 + x * x);
/// #       sinh: |x| x.cosh();
/// #       cosh: |x| x.sinh();
/// #       tanh: |x| 1.0 - x.tanh().powi(2);
/// #       lambert_w: |x| { let w = Scalar::lambert_w(&x); 1.0 / (w.exp() * (1.0 + w)) };
/// #   }
/// }
///
/// let cube = Expr::parse("x^3", &Names::new().var("x", 0)).unwrap();
/// assert_eq!(cube.eval(&[Dual(2.0, 1.0)]).1, 12.0);
/// # let names = Names::new().var("x", 0);
/// # for text in ["1/x", "x^1.5", "2^x", "atan2(x, 2)", "sqrt(x)", "cbrt(x)", "exp(x)", "ln(x)", "sin(x)",
/// #     "cos(x)", "tan(x)", "asin(x)", "acos(x)", "atan(x)", "sinh(x)", "cosh(x)", "tanh(x)"] {
/// #     let f = Expr::parse(text, &names).unwrap();
/// #     let (slope, at) = (f.eval(&[Dual(0.4, 1.0)]).1, |x: f64| f.eval(&[x]));
/// #     let quotient = (at(0.4 + 1e-6) - at(0.4 - 1e-6)) / 2e-6;
/// #     assert!((slope - quotient).abs() < 1e-8, "{text}: {slope} {quotient}");
/// # }
/// ```
pub trait Scalar: Clone {
    /// A number that does not change.
    fn constant(value: f64) -> Self;
    /// The number without what it carries along; decides comparisons.
    fn value(&self) -> f64;

    /// -a
    fn neg(&self) -> Self;
    /// a + b
    fn add(&self, b: &Self) -> Self;
    /// a - b
    fn sub(&self, b: &Self) -> Self;
    /// a b
    fn mul(&self, b: &Self) -> Self;
    /// a / b
    fn div(&self, b: &Self) -> Self;
    /// a^b for a b that is not a small whole number.
    fn pow(&self, b: &Self) -> Self;
    /// The angle of the point with ordinate a and abscissa b.
    fn atan2(&self, b: &Self) -> Self;
    /// Square root.
    fn sqrt(&self) -> Self;
    /// Cube root.
    fn cbrt(&self) -> Self;
    /// e^a
    fn exp(&self) -> Self;
    /// Natural logarithm.
    fn ln(&self) -> Self;
    /// Sine.
    fn sin(&self) -> Self;
    /// Cosine.
    fn cos(&self) -> Self;
    /// Tangent.
    fn tan(&self) -> Self;
    /// Inverse sine.
    fn asin(&self) -> Self;
    /// Inverse cosine.
    fn acos(&self) -> Self;
    /// Inverse tangent.
    fn atan(&self) -> Self;
    /// Hyperbolic sine.
    fn sinh(&self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(&self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(&self) -> Self;
    /// Principal branch of Lambert's W.
    fn lambert_w(&self) -> Self;

    /// sqrt(a² + b²)
    fn hypot(&self, b: &Self) -> Self {
        self.mul(self).add(&b.mul(b)).sqrt()
    }
    /// How far the value may be off by rounding, for numbers that know it.
    #[inline]
    fn doubt(&self) -> Option<f64> {
        None
    }
    /// How two numbers compare; those that rounding may keep apart are equal.
    #[inline]
    fn order(&self, b: &Self) -> Option<Ordering> {
        let (x, y) = (self.value(), b.value());
        match (self.doubt(), b.doubt()) {
            (Some(a), Some(b)) if (x - y).abs() <= a + b => Some(Ordering::Equal),
            _ => x.partial_cmp(&y),
        }
    }
    /// The value, or the whole number that it is but for rounding.
    #[inline]
    fn level(&self) -> f64 {
        let (x, whole) = (self.value(), self.value().round());
        if self.doubt().is_some_and(|doubt| (x - whole).abs() <= doubt) { whole } else { x }
    }
    /// Logarithm to base 10.
    fn log10(&self) -> Self {
        self.ln().mul(&Self::constant(std::f64::consts::LOG10_E))
    }
    /// Logarithm to base 2.
    fn log2(&self) -> Self {
        self.ln().mul(&Self::constant(std::f64::consts::LOG2_E))
    }
    /// Absolute value.
    fn abs(&self) -> Self {
        if self.value() < 0.0 { self.neg() } else { self.clone() }
    }
    /// a - b floor(a / b), i.e. the remainder with the sign of b.
    fn modulo(&self, b: &Self) -> Self {
        let turns = match self.doubt() {
            Some(_) => self.div(b).level(),
            None => self.value() / b.value(),
        };
        let turns = turns.floor();
        self.sub(&b.mul(&Self::constant(turns)))
    }
}

/// Elementary functions come from the `libm` crate and not from the platform, so that a run gives
/// the same bits everywhere; arithmetic, roots and rounding are exact by IEEE 754 as they are.
impl Scalar for f64 {
    #[inline(always)]
    fn constant(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn value(&self) -> f64 {
        *self
    }
    #[inline(always)]
    fn neg(&self) -> f64 {
        -self
    }
    #[inline(always)]
    fn add(&self, b: &f64) -> f64 {
        self + b
    }
    #[inline(always)]
    fn sub(&self, b: &f64) -> f64 {
        self - b
    }
    #[inline(always)]
    fn mul(&self, b: &f64) -> f64 {
        self * b
    }
    #[inline(always)]
    fn div(&self, b: &f64) -> f64 {
        self / b
    }
    fn pow(&self, b: &f64) -> f64 {
        libm::pow(*self, *b)
    }
    fn atan2(&self, b: &f64) -> f64 {
        libm::atan2(*self, *b)
    }
    #[inline(always)]
    fn sqrt(&self) -> f64 {
        f64::sqrt(*self)
    }
    fn cbrt(&self) -> f64 {
        libm::cbrt(*self)
    }
    fn exp(&self) -> f64 {
        libm::exp(*self)
    }
    fn ln(&self) -> f64 {
        libm::log(*self)
    }
    fn sin(&self) -> f64 {
        libm::sin(*self)
    }
    fn cos(&self) -> f64 {
        libm::cos(*self)
    }
    fn tan(&self) -> f64 {
        libm::tan(*self)
    }
    fn asin(&self) -> f64 {
        libm::asin(*self)
    }
    fn acos(&self) -> f64 {
        libm::acos(*self)
    }
    fn atan(&self) -> f64 {
        libm::atan(*self)
    }
    fn sinh(&self) -> f64 {
        libm::sinh(*self)
    }
    fn cosh(&self) -> f64 {
        libm::cosh(*self)
    }
    fn tanh(&self) -> f64 {
        libm::tanh(*self)
    }
    fn lambert_w(&self) -> f64 {
        lambert_w(*self)
    }
    fn hypot(&self, b: &f64) -> f64 {
        libm::hypot(*self, *b)
    }
    fn log10(&self) -> f64 {
        libm::log10(*self)
    }
    fn log2(&self) -> f64 {
        libm::log2(*self)
    }
    #[inline(always)]
    fn abs(&self) -> f64 {
        f64::abs(*self)
    }
    fn modulo(&self, b: &f64) -> f64 {
        // The remainder itself is exact, unlike a - b floor(a / b).
        let rest = self % b;
        if rest != 0.0 && (rest < 0.0) != (*b < 0.0) { rest + b } else { rest }
    }
}
