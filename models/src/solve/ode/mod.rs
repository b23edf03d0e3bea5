//! Numerical core of solver-driven continuous units: Runge-Kutta, Rosenbrock and Taylor steps with
//! dense output, event location, rounding to ticks.
//!
//! # Why these parts
//! System ([`OdeSystem`]), solver ([`Solver`]), event locator ([`Locator`]) and the rounding of
//! located times ([`rounding`](crate::maths::rounding)) know nothing of each other; the unit that wraps them owns the loop:
//!
//! 1. [`Solver::begin`] at the initial state, [`Locator::new`] with all events undecided;
//! 2. [`Solver::step`] makes one natural step; where steps fall never depends on who asks when;
//! 3. [`Locator::locate`] searches the dense output of that step;
//! 4. a located time becomes a tick ([`rounding::ceil_ticks`](crate::maths::rounding::ceil_ticks)); [`Solver::truncate_to`] goes back
//!    there, [`Locator::accept`] says what fired, the unit applies its resets and calls
//!    [`Solver::restart`];
//! 5. an input that arrives inside the step does the same without an event, and without a restart
//!    if it is no jump.
//!
//! Times are f64 seconds since the unit's own last tag, so that they stay small and precise;
//! [`Solver::shift_origin`] moves the origin along when that tag moves.
//!
//! ```
//! use superdense_models::solve::ode::{Event, FnSystem, Locator, Options, Solver};
//! let mut fall = FnSystem::new(2, |_t, x: &[f64], dx: &mut [f64]| {
//!     dx[0] = x[1];
//!     dx[1] = -9.81;
//! });
//! let mut solver = Solver::dopri5(Options::default());
//! solver.begin(0.0, &[10.0, 0.0]);
//! let mut floor = Locator::new(vec![Event::when(vec![0])]);
//! let hit = loop {
//!     let step = solver.step(&mut fall, None).unwrap();
//!     let mut x = [0.0; 2];
//!     let height = |t: f64, z: &mut [f64]| {
//!         solver.dense(t, &mut x);
//!         z[0] = x[0];
//!     };
//!     if let Some(t) = floor.locate(step.t0, step.t1, 1e-9, height).unwrap() {
//!         break t;
//!     }
//!     let mut x = [0.0; 2];
//!     solver.dense(step.t1, &mut x);
//!     floor.accept(step.t1, &x[..1]);
//! };
//! assert!((hit - (20.0 / 9.81f64).sqrt()).abs() < 1e-14);
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
pub use locate::{Arm, Event, Locator, NotFinite, Rows};
pub use method::{MAX_ORDER, Method};
pub use outcome::{OutsideStep, StepError, StepInfo};
pub use path::Path;
pub(crate) use path::put;
pub use solver::Solver;
pub use system::{FnSystem, OdeSystem, Partials};

#[cfg(test)]
mod tests;
