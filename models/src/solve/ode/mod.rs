//! Numerical core of solver-driven continuous units: Runge-Kutta, Rosenbrock and Taylor steps with
//! dense output, event location, rounding to ticks.
//!
//! # Why these parts
//! System ([`OdeSystem`]), solver ([`Solver`]), locator of flips ([`Locator`]) and the rounding of
//! located times ([`rounding`](crate::maths::rounding)) know nothing of each other; the unit that
//! wraps them owns the loop:
//!
//! 1. [`Solver::begin`] at the initial state; the unit decides the side of each relation;
//! 2. [`Solver::step`] makes one natural step; where steps fall never depends on who asks when;
//! 3. [`Locator::polynomial`] or [`Locator::sample`] searches the dense output of that step for flips,
//!    and carries the sides along to its end;
//! 4. the time of a flip becomes a tick ([`rounding::ceil_ticks`](crate::maths::rounding::ceil_ticks));
//!    where conditions become true there, [`Solver::truncate_to`] goes back to that tick, flips beyond
//!    it are void, the unit applies its resets, decides the sides again and calls [`Solver::restart`];
//! 5. an input that arrives inside the step does the same without an event, and without a restart
//!    if it is no jump.
//!
//! Times are f64 seconds since the unit's own last tag, so that they stay small and precise;
//! [`Solver::shift_origin`] moves the origin along when that tag moves.
//!
//! ```
//! use superdense_models::solve::ode::{
//!     FnSystem, Interval, Locator, Off, Options, Past, Solver, Watched,
//! };
//! let mut fall = FnSystem::new(2, |_t, x: &[f64], dx: &mut [f64]| {
//!     dx[0] = x[1];
//!     dx[1] = -9.81;
//! });
//! let mut solver = Solver::dopri5(Options::default());
//! solver.begin(0.0, &[10.0, 0.0]);
//! // One relation, the height above the floor, which is positive at the start.
//! let mut floor = Locator::new(vec![Watched::default()]);
//! let mut side = 1.0;
//! let (mut flips, mut past) = (Vec::new(), Past::default());
//! while flips.is_empty() {
//!     let step = solver.step(&mut fall, None).unwrap();
//!     let within = Interval { start: step.t0, end: step.t1, fresh: 1e-9 / 512.0 };
//!     let height = solver.path().row(0);
//!     let found = (&mut flips, &mut past);
//!     floor.polynomial((0, height), within, &mut side, |_| None, &mut Off(0.0), found);
//! }
//! assert!((flips[0].t - (20.0 / 9.81f64).sqrt()).abs() < 1e-14);
//! assert_eq!((flips[0].before, flips[0].side), (1.0, -1.0));
//! ```

mod control;
mod indicator;
pub mod locate;
mod method;
mod outcome;
mod path;
mod solver;
mod system;
mod tableau;

pub use control::{Interpolant, Options, Statistics};
pub use locate::{Doubts, Flip, Interval, Kind, Locator, NotFinite, Off, Past, Watched};
pub use method::{MAX_ORDER, Method};
pub use outcome::{OutsideStep, StepError, StepInfo};
pub use path::Path;
pub(crate) use path::put;
pub use solver::Solver;
pub use system::{FnSystem, OdeSystem, Partials};

#[cfg(test)]
mod tests;
