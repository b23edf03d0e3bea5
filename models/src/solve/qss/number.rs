//! Numbers that right-hand sides are evaluated on.
use crate::{maths::expr::Scalar, solve::series::Series};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A [`Scalar`] with operators, so that right-hand sides in Rust read like formulas.
///
/// ```
/// use superdense_models::{maths::expr::Scalar, solve::{qss::Number, series::Series}};
/// fn logistic<S: Number>(x: S) -> S {
///     x * (-x + 1.0) * 4.0
/// }
/// assert_eq!(logistic(0.25), 0.75);
/// // Along x = 0.25 + e the same code gives the Taylor coefficients.
/// assert_eq!(logistic(Series([0.25, 1.0, 0.0])), Series([0.75, 2.0, -4.0]));
/// ```
pub trait Number:
    Scalar
    + Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
}

impl Number for f64 {}
impl<const N: usize> Number for Series<N> {}

impl<const N: usize> Neg for Series<N> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Scalar::neg(&self)
    }
}

impl<const N: usize> Add<f64> for Series<N> {
    type Output = Self;
    #[inline]
    fn add(mut self, b: f64) -> Self {
        self.0[0] += b;
        self
    }
}

impl<const N: usize> Sub<f64> for Series<N> {
    type Output = Self;
    #[inline]
    fn sub(mut self, b: f64) -> Self {
        self.0[0] -= b;
        self
    }
}

impl<const N: usize> Mul<f64> for Series<N> {
    type Output = Self;
    #[inline]
    fn mul(self, b: f64) -> Self {
        Self(self.0.map(|c| c * b))
    }
}

impl<const N: usize> Div<f64> for Series<N> {
    type Output = Self;
    #[inline]
    fn div(self, b: f64) -> Self {
        Self(self.0.map(|c| c / b))
    }
}

macro_rules! operators {
    ($($op:ident $name:ident),*) => { $(
        impl<const N: usize> $op for Series<N> {
            type Output = Self;
            #[inline]
            fn $name(self, b: Self) -> Self {
                Scalar::$name(&self, &b)
            }
        }
    )* };
}

operators!(Add add, Sub sub, Mul mul, Div div);
