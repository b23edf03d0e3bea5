//! Taylor series with a bound on the error of each coefficient.
//!
//! # Why
//! Where a relation is near zero, its side is decided by the first derivative that is not zero. A
//! computed zero is seldom exactly one: rounding leaves something, and so does the error of the
//! states. Each coefficient therefore carries how far off it may be, to first order (of products exactly), from the errors
//! of the variables and from the rounding of every operation (running error analysis; Higham 2002,
//! Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3).
use super::series::Series;
use crate::maths::expr::Scalar;

/// Rounding of one operation, twice over.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

/// A series, and how far off each coefficient may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounded<const N: usize> {
    /// Coefficients.
    pub value: Series<N>,
    /// Largest errors of these.
    pub error: [f64; N],
}

/// Coefficients of the product of the magnitudes of two series.
fn product<const N: usize>(a: &[f64; N], b: &[f64; N]) -> [f64; N] {
    // An error of exactly zero has no effect, however steep it is.
    let term = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { (a * b).abs() };
    std::array::from_fn(|k| (0..=k).map(|j| term(a[j], b[k - j])).sum())
}

impl<const N: usize> Default for Bounded<N> {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl<const N: usize> Bounded<N> {
    /// A value with this error, which does not change.
    pub(crate) fn new(value: f64, error: f64) -> Self {
        let mut all = Self::constant(value);
        all.error[0] = error;
        all
    }

    /// The sign of coefficient `k`, where it lies beyond its error; else zero.
    pub(crate) fn sign(&self, k: usize) -> f64 {
        let value = self.value.0[k];
        if value.abs() > self.error[k] { value.signum() } else { 0.0 }
    }

    /// A function of this series that has this `value` and this `slope`.
    fn through(&self, value: Series<N>, slope: &Series<N>) -> Self {
        let mut error = product(&self.error, &slope.0);
        error.iter_mut().zip(value.0).for_each(|(e, c)| *e += ROUNDING * c.abs());
        Self { value, error }
    }
}

fn number<const N: usize>(value: f64) -> Series<N> {
    Series::constant(value)
}

/// Functions by their slope at x, where they have the value y. Its sign does not matter.
macro_rules! by_slopes {
    ($($name:ident: |$x:pat_param, $y:pat_param| $slope:expr;)*) => { $(
        fn $name(&self) -> Self {
            let value = self.value.$name();
            let ($x, $y) = (self.value, value);
            self.through(value, &$slope)
        }
    )* };
}

impl<const N: usize> Scalar for Bounded<N> {
    fn doubt(&self) -> Option<f64> {
        Some(self.error[0])
    }
    fn constant(value: f64) -> Self {
        Self { value: Series::constant(value), error: [0.0; N] }
    }
    fn value(&self) -> f64 {
        self.value.value()
    }
    fn neg(&self) -> Self {
        Self { value: self.value.neg(), error: self.error }
    }
    fn add(&self, b: &Self) -> Self {
        let value = self.value.add(&b.value);
        let round = |k: usize| ROUNDING * value.0[k].abs();
        let error = std::array::from_fn(|k| self.error[k] + b.error[k] + round(k));
        Self { value, error }
    }
    fn sub(&self, b: &Self) -> Self {
        self.add(&b.neg())
    }
    fn mul(&self, b: &Self) -> Self {
        let (one, other) = (product(&self.value.0, &b.error), product(&self.error, &b.value.0));
        let size = product(&self.value.0, &b.value.0);
        // Two factors that are both as good as zero are off by the product of their errors.
        let both = product(&self.error, &b.error);
        let error = std::array::from_fn(|k| one[k] + other[k] + both[k] + ROUNDING * size[k]);
        Self { value: self.value.mul(&b.value), error }
    }
    fn div(&self, b: &Self) -> Self {
        let one = number(1.0).div(&b.value);
        let inverse = b.through(one, &one.mul(&one));
        Self { value: self.value.div(&b.value), error: self.mul(&inverse).error }
    }
    fn pow(&self, b: &Self) -> Self {
        let value = self.value.pow(&b.value);
        let less = b.value.sub(&number(1.0));
        let mut all = self.through(value, &b.value.mul(&self.value.pow(&less)));
        if b.error != [0.0; N] {
            let by = b.through(value, &value.mul(&self.value.ln()));
            all.error.iter_mut().zip(by.error).for_each(|(e, more)| *e += more);
        }
        all
    }
    fn atan2(&self, b: &Self) -> Self {
        let value = self.value.atan2(&b.value);
        let square = self.value.mul(&self.value).add(&b.value.mul(&b.value));
        let mut all = self.through(value, &b.value.div(&square));
        let other = b.through(value, &self.value.div(&square));
        all.error.iter_mut().zip(other.error).for_each(|(e, more)| *e += more);
        all
    }
    by_slopes! {
        sqrt: |_, root| number(0.5).div(&root);
        cbrt: |x, root| root.div(&x.mul(&number(3.0)));
        exp: |_, e| e;
        ln: |x, _| number(1.0).div(&x);
        sin: |x, _| x.cos();
        cos: |x, _| x.sin();
        tan: |_, tan| tan.mul(&tan).add(&number(1.0));
        asin: |x, _| number(1.0).div(&number(1.0).sub(&x.mul(&x)).sqrt());
        acos: |x, _| number(1.0).div(&number(1.0).sub(&x.mul(&x)).sqrt());
        atan: |x, _| number(1.0).div(&number(1.0).add(&x.mul(&x)));
        sinh: |x, _| x.cosh();
        cosh: |x, _| x.sinh();
        tanh: |_, tanh| number(1.0).sub(&tanh.mul(&tanh));
        lambert_w: |x, w| number(1.0).div(&w.exp().add(&x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zero of the real numbers stays within its bound, any other number does not.
    #[test]
    fn rounding_is_told_from_signs() {
        let number = |x: f64| Bounded::<2>::constant(x);
        let sum = number(0.1).add(&number(0.2)).sub(&number(0.3));
        assert!(sum.value() != 0.0 && sum.sign(0) == 0.0, "{sum:?}");
        let square = number(2.0).sqrt();
        let zero = square.mul(&square).sub(&number(2.0));
        assert!(zero.value() != 0.0 && zero.sign(0) == 0.0, "{zero:?}");
        assert_eq!(number(1.0).sub(&number(1.0 - 1e-15)).sign(0), 1.0);
    }

    /// Errors of variables reach everything that reads them, derivatives included.
    #[test]
    fn errors_propagate() {
        let x = Bounded::<3> { value: Series([1.0, 2.0, 0.0]), error: [1e-6, 0.0, 0.0] };
        let z = x.mul(&x).sub(&Bounded::constant(1.0));
        assert_eq!((z.sign(0), z.sign(1)), (0.0, 1.0));
        let zero = Bounded::<1>::new(1e-16, 1e-9);
        assert_eq!(zero.mul(&zero.neg()).sign(0), 0.0, "a product of two zeros is zero");
        assert!(z.error[0] > 1.9e-6 && z.error[1] > 3.9e-6 && z.error[2] == z.error[2]);
    }

    type Function = fn(&Bounded<4>) -> Bounded<4>;

    fn functions() -> [(&'static str, Function); 24] {
        [
            ("neg", |x| x.neg()),
            ("x - 0.3", |x| x.sub(&Bounded::constant(0.3))),
            ("x x", |x| x.mul(x)),
            ("x / (x + 2)", |x| x.div(&x.add(&Bounded::constant(2.0)))),
            ("1 / x", |x| Bounded::constant(1.0).div(x)),
            ("x^2.5", |x| x.pow(&Bounded::constant(2.5))),
            ("2^x", |x| Bounded::constant(2.0).pow(x)),
            ("x^x", |x| x.pow(x)),
            ("atan2(x, 2)", |x| x.atan2(&Bounded::constant(2.0))),
            ("atan2(2, x)", |x| Bounded::constant(2.0).atan2(x)),
            ("sqrt", |x| x.sqrt()),
            ("cbrt", |x| x.cbrt()),
            ("exp", |x| x.exp()),
            ("ln", |x| x.ln()),
            ("sin", |x| x.sin()),
            ("cos", |x| x.cos()),
            ("tan", |x| x.tan()),
            ("asin", |x| x.asin()),
            ("acos", |x| x.acos()),
            ("atan", |x| x.atan()),
            ("sinh", |x| x.sinh()),
            ("cosh", |x| x.cosh()),
            ("tanh", |x| x.tanh()),
            ("lambertw", |x| x.lambert_w()),
        ]
    }

    /// Whatever errors the coefficients have, those of the result are within their bounds, and these
    /// are not many times larger, unless what reads the variable twice cancels.
    #[test]
    fn bounds_hold_for_every_function() {
        let (value, size) = (Series([0.4, 0.7, -0.3, 0.2]), [3e-8, 1e-8, 2e-8, 4e-8]);
        for (name, f) in functions() {
            let bounded = f(&Bounded { value, error: size });
            let mut worst = [0.0_f64; 4];
            for signs in 0..16 {
                let mut other = value;
                for (k, c) in other.0.iter_mut().enumerate() {
                    *c += if signs >> k & 1 == 0 { size[k] } else { -size[k] };
                }
                let other = f(&Bounded { value: other, error: [0.0; 4] });
                for (k, worst) in worst.iter_mut().enumerate() {
                    *worst = worst.max((other.value.0[k] - bounded.value.0[k]).abs());
                }
            }
            for (k, (worst, error)) in worst.iter().zip(bounded.error).enumerate() {
                assert!(*worst <= error * (1.0 + 1e-5) + 1e-14, "{name} {k}: {worst:e} {error:e}");
                let tight = name == "x^x" || error <= 8.0 * worst + 1e-14;
                assert!(tight, "{name} {k}: {worst:e} {error:e} is too much");
            }
        }
    }

    /// The result of a function that rounds is off by half a unit in the last place or more, even
    /// where its argument is exact.
    #[test]
    fn rounding_of_every_function_counts() {
        for (name, f) in functions().into_iter().filter(|(name, _)| *name != "neg") {
            for x in [0.25, 0.4] {
                let value = f(&Bounded::constant(x));
                let least = 0.5 * f64::EPSILON * value.value().abs();
                assert!(value.error[0] >= least, "{name} of {x}: {value:?}");
            }
        }
        // The arc cosine of 0 is no exact number, and so its cosine is not certainly positive.
        let right = Bounded::<2>::constant(0.0).acos();
        assert_eq!(right.cos().sign(0), 0.0, "{right:?}");
    }

    /// A root of exactly zero is zero, though its slope is infinite there.
    #[test]
    fn roots_of_zero() {
        let zero = Bounded::<1>::constant(0.0);
        for root in [zero.sqrt(), zero.cbrt(), zero.pow(&Bounded::constant(0.5))] {
            assert_eq!(Bounded::constant(1.0).sub(&root).sign(0), 1.0, "{root:?}");
        }
    }

    /// The first derivative that is certainly not zero tells where a function goes.
    #[test]
    fn signs_of_derivatives() {
        // x = t, off by 1e-9: x² - 1e-20 cannot be told from zero, nor can its slope; it bends upwards.
        let x = Bounded::<4> { value: Series([0.0, 1.0, 0.0, 0.0]), error: [1e-9, 0.0, 0.0, 0.0] };
        let z = x.mul(&x);
        assert_eq!([0, 1, 2, 3].map(|k| z.sign(k)), [0.0, 0.0, 1.0, 0.0]);
        // 1 - cos(x), the rounding of which is larger than what is left at 1e-9.
        let x = Bounded::<4> { value: Series([1e-9, 1.0, 0.0, 0.0]), error: [0.0; 4] };
        let z = Bounded::constant(1.0).sub(&x.cos());
        assert_eq!((z.sign(0), z.sign(1)), (0.0, 1.0), "{z:?}");
        assert_eq!(Bounded::<1>::new(f64::NAN, 0.0).sign(0), 0.0);
        assert_eq!(Bounded::<1>::new(1.0, f64::NAN).sign(0), 0.0);
    }
}
