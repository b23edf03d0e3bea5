//! Which method carries a solution along.

use serde::{Deserialize, Serialize};

/// Highest order of a Taylor step.
pub const MAX_ORDER: usize = 30;

/// A way to make steps; all give one polynomial per state over each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// Dormand & Prince 5(4) with dense output.
    #[default]
    Rk45,
    /// Bogacki & Shampine 3(2): for low accuracy.
    Rk23,
    /// The classical method of fourth order, with steps of so many seconds.
    Rk4(f64),
    /// Explicit Euler, with steps of so many seconds.
    Euler(f64),
    /// Taylor series of this order (2 to [`MAX_ORDER`]). With a step in seconds the step is fixed,
    /// else it follows the tolerance.
    Taylor(usize, Option<f64>),
    /// Hairer & Wanner's Rosenbrock method RODAS of order 4(3): for stiff equations, also with
    /// algebraic ones of index 1. It solves linear systems of all states, so that a step costs the
    /// cube of their number.
    Rodas,
    /// For affine equations with polynomial inputs: exact polynomials over any length where the
    /// matrix is nilpotent, else the series of the exponential to machine precision.
    Closed,
}

impl Method {
    /// Order of the series of [`Closed`](Self::Closed) where it does not end by itself: with this
    /// order a step may be twice as long as the fastest time constant at machine precision, short
    /// enough that the terms of the exponential do not cancel.
    pub const CLOSED_ORDER: usize = 24;

    /// Its name in scenarios.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rk45 => "rk45",
            Self::Rk23 => "rk23",
            Self::Rk4(_) => "rk4",
            Self::Euler(_) => "euler",
            Self::Taylor(..) => "taylor",
            Self::Rodas => "rodas",
            Self::Closed => "closed",
        }
    }

    /// The length of its steps in seconds, if that is fixed.
    pub(crate) fn own_step(self) -> Option<f64> {
        match self {
            Self::Rk4(h) | Self::Euler(h) => Some(h),
            Self::Taylor(_, step) => step,
            _ => None,
        }
    }

    /// Whether the method solves algebraic equations beside the differential ones.
    pub fn takes_algebraic(self) -> bool {
        matches!(self, Self::Rodas | Self::Taylor(..) | Self::Closed)
    }

    /// Whether steps are as long as they may be where solutions are parabolas.
    #[inline]
    pub(crate) fn follows_parabolas(self) -> bool {
        matches!(self, Self::Closed | Self::Taylor(3.., None))
    }

    /// The order of a method that expands the solution in a series.
    pub fn series_order(self) -> Option<usize> {
        match self {
            Self::Taylor(order, _) => Some(order),
            Self::Closed => Some(Self::CLOSED_ORDER),
            _ => None,
        }
    }
}
