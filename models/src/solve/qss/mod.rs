//! Quantised state systems: each state steps by itself, when it has changed by a quantum.
//!
//! # How it works
//! Every state x has a quantised copy q, a polynomial of one power less; derivatives are evaluated
//! on the copies. When a state has left its copy by its quantum ΔQ, that one copy is set anew and
//! the derivatives which read it are evaluated again: a *step*. Nothing else is touched, so that
//! the work follows the activity of the system and not its size. Time derivatives of right-hand
//! sides come from the same code by evaluating it on short Taylor series ([`Number`]).
//!
//! The error is linear in the quantum and steps come as ΔQ⁻¹, ΔQ^(-1/2), ΔQ^(-1/3) for the orders
//! 1, 2, 3 (Cellier & Kofman, Continuous System Simulation, chapters 11 and 12). For stiff systems
//! the linearly implicit quantisers look one step ahead by the variable's own slope; these slopes
//! come from automatic differentiation. The family is listed at [`Method`].
//!
//! # Why a whole system in one place
//! One atomic per state would put each step through the kernel. [`Engine`] has its own event list,
//! influence lists in compressed rows, and one record per state that holds all a step touches.
//!
//! ```
//! use superdense_models::solve::qss::{Engine, Explicit, Number, Quanta, System, View};
//! struct Decay;
//! impl System for Decay {
//!     fn states(&self) -> usize { 1 }
//!     fn reads(&self, _: usize, states: &mut Vec<u32>) { states.push(0) }
//!     fn derivative<S: Number>(&self, _: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
//!         -at.state(0)
//!     }
//! }
//! let quanta = Quanta { relative: 0.0, minimum: 1e-6 };
//! let mut engine = Engine::<_, Explicit, 3>::new(Decay, quanta, f64::INFINITY);
//! engine.start(0.0, &[1.0], &[]).unwrap();
//! engine.run_until(1.0).unwrap();
//! assert!((engine.value(0, 1.0) - (-1f64).exp()).abs() < 1e-6);
//! ```
mod core;
mod engine;
mod errors;
mod exits;
mod formula;
mod influence;
mod method;
mod number;
mod pair;
mod quanta;
mod queue;
mod remarks;
mod sheet;
mod system;
mod unit;
mod variable;
mod views;

pub use core::{CoreState, Quantised};
pub use engine::{Engine, NotFinite, State};
pub use influence::Influence;
pub use method::{Explicit, Implicit, Method};
pub use number::Number;
pub use pair::Paired;
pub use quanta::Quanta;
pub use queue::Queue;
pub use sheet::Sheet;
pub use system::{System, View};
pub use unit::SystemUnit;
pub use variable::Variable;

#[cfg(test)]
mod tests;
