//! What a solver integrates.
use crate::maths::sparse::Pattern;
use std::sync::Arc;

/// An explicit system of ordinary differential equations, `x' = f(t, x)`.
///
/// Time `t` is in seconds since the last tag of the unit that owns the solver. Inputs belong to the
/// implementor: it evaluates the segments that it holds at `t`. Calls are static; a solver never
/// allocates between them. The right-hand side must depend on its arguments and the implementor's
/// state only, since a solver may evaluate it at trial points that it rejects later.
///
/// ```
/// use superdense_models::solve::ode::OdeSystem;
/// struct Decay(f64);
/// impl OdeSystem for Decay {
///     type Error = std::convert::Infallible;
///     fn dim(&self) -> usize {
///         1
///     }
///     fn rhs(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
///         dx[0] = -self.0 * x[0];
///         Ok(())
///     }
/// }
/// ```
pub trait OdeSystem {
    /// Why a right-hand side may refuse; it passes through the solver unchanged.
    type Error;

    /// Number of states.
    fn dim(&self) -> usize;

    /// How many of the states have a derivative, all unless stated otherwise. The others, which
    /// come last, are algebraic: in place of their derivatives stand residuals, which are zero on
    /// the solution (`M x' = f`, with zeros on the diagonal of `M`). Only methods that
    /// [take them](super::Method::takes_algebraic) may be used then.
    fn differential(&self) -> usize {
        self.dim()
    }

    /// Writes the derivative of `x` at `t` to `dx`; both have [`dim`](Self::dim) entries.
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error>;

    /// Writes the derivative of `x` at a trial point where [`rhs`](Self::rhs), which holds the branches of the
    /// start of a step, is not finite: by the branches that hold there, as those that guard a square root. Gives
    /// whether there are others.
    fn beyond(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<bool, Self::Error> {
        let _ = (t, x, dx);
        Ok(false)
    }

    /// The first entry of a derivative at a trial point that is not finite, by whatever branches.
    fn undefined(
        &mut self,
        t: f64,
        x: &[f64],
        dx: &mut [f64],
    ) -> Result<Option<usize>, Self::Error> {
        let first = |dx: &[f64]| dx.iter().position(|value| !value.is_finite());
        match first(dx) {
            Some(_) if self.beyond(t, x, dx)? => Ok(first(dx)),
            found => Ok(found),
        }
    }

    /// Expands the solution through `x` at `t`: `rows` has one row of `stride` coefficients per
    /// state, to be filled up to the last. Gives the length of the rows: fewer than `stride` if all
    /// further coefficients are zero, or nothing if the system cannot be expanded. Methods that
    /// work on series need it.
    fn expand(
        &mut self,
        t: f64,
        x: &[f64],
        stride: usize,
        rows: &mut [f64],
    ) -> Result<Option<usize>, Self::Error> {
        let _ = (t, x, stride, rows);
        Ok(None)
    }

    /// For affine systems a bound for how often all states can change by themselves per second, and the
    /// highest power of time by which they are driven.
    fn speed(&mut self, t: f64, x: &[f64]) -> Option<(f64, usize)> {
        let _ = (t, x);
        None
    }

    /// Turns the residuals of the algebraic states at `x`, in place, into how far these are from where
    /// the residuals are zero, to first order. Gives the part of that which may be rounding, relative
    /// to the largest algebraic state.
    fn corrections(
        &mut self,
        t: f64,
        x: &[f64],
        residuals: &mut [f64],
    ) -> Result<f64, Self::Error> {
        let _ = (t, x, residuals);
        Ok(0.0)
    }

    /// The entries of the Jacobian that may differ from zero, with the whole diagonal among them, if a
    /// solver should make use of them. They stay the same as long as the system lives.
    fn pattern(&self) -> Option<&Arc<Pattern>> {
        None
    }

    /// Writes the derivative of `x` at `t` and its partial derivatives. Gives whether it can;
    /// implicit methods need it.
    fn linearise(&mut self, t: f64, x: &[f64], to: Partials<'_>) -> Result<bool, Self::Error> {
        let _ = (t, x, to);
        Ok(false)
    }
}

/// Where a derivative of n states goes, with its partial derivatives.
#[derive(Debug)]
pub struct Partials<'a> {
    /// The derivative: n numbers.
    pub dx: &'a mut [f64],
    /// How it changes with each state: n columns of n numbers, state by state; with a
    /// [pattern](OdeSystem::pattern) one number for each of its places.
    pub jacobian: &'a mut [f64],
    /// How it changes with time alone: n numbers.
    pub drift: &'a mut [f64],
}

/// A closure `f(t, x, dx)` that never refuses, as an [`OdeSystem`].
///
/// ```
/// use superdense_models::solve::ode::{FnSystem, OdeSystem};
/// let mut oscillator = FnSystem::new(2, |_t, x: &[f64], dx: &mut [f64]| {
///     dx[0] = x[1];
///     dx[1] = -x[0];
/// });
/// let mut dx = [0.0; 2];
/// oscillator.rhs(0.0, &[1.0, 0.0], &mut dx).unwrap();
/// assert_eq!(dx, [0.0, -1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct FnSystem<F> {
    dim: usize,
    rhs: F,
}

impl<F: FnMut(f64, &[f64], &mut [f64])> FnSystem<F> {
    /// Wraps `rhs` for `dim` states.
    pub fn new(dim: usize, rhs: F) -> Self {
        Self { dim, rhs }
    }
}

impl<F: FnMut(f64, &[f64], &mut [f64])> OdeSystem for FnSystem<F> {
    type Error = std::convert::Infallible;

    fn dim(&self) -> usize {
        self.dim
    }

    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        (self.rhs)(t, x, dx);
        Ok(())
    }
}
