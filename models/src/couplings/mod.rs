//! Couplings: co-simulation masters as event scheduling.
//!
//! A master decides *when* units exchange and *what receivers are told* in between. Here it is an
//! atomic model among others, the [`Coupler`], through which the signals between the units of a
//! group pass. The units run on by themselves, event-wrapped as everywhere; without a coupler
//! they exchange segments whenever a solution leaves what its receivers hold.
//!
//! # Parts that do not know each other
//! | file | decides |
//! | --- | --- |
//! | `pace.rs` | when the next exchange is (macro step that is fixed, or follows errors or frequencies) |
//! | `extrapolation.rs` | the polynomial a receiver is told |
//! | `compensation.rs` | corrections of it from past coupling errors (NEPCE) |
//! | `kalman.rs` | what noisy measurements tell of a signal |
//! | `low_pass.rs` | a filter on what is told; the worked example of `docs/couplings.md` |
//! | `balance.rs` | polynomials that carry the same power to both sides (power-balanced) |
//! | `look_ahead.rs` | earlier exchanges before an event (LookAhead) |
//! | `sequence.rs` | who goes first, where that changes from step to step |
//! | `growth.rs` | whether the coupling diverges, which a note tells |
//! | `gaps.rs` | whether bonds hold |
//! | `record.rs` | how well a tolerance was kept, and whether it says anything of the signals |
//! | `line.rs` | one signal on its way: what the source does, what receivers hold |
//! | `coupler.rs` | the atomic model |
//! | `iteration.rs` | corrections of a macro step that is repeated (implicit, semi-implicit) |
//! | `waveform.rs` | the same with all that sources did within the step |
//! | `pre_step.rs` | inputs by which outputs meet the exact solution (model-based pre-step) |
//! | `trust.rs`, `embedded.rs`, `parallel_embedded.rs` | error estimates by which a macro step is accepted or repeated |
//! | `reduced.rs` | what units do to conditions: the Jacobian without the signals that answer for themselves |
//! | `redundant.rs` | bonds between units that say again what others say |
//! | `selective.rs` | of a step with too large an error only the sensitive units are repeated |
//! | `outside.rs` | inputs of a group whose steps are tried out: they end a step |
//! | `rehearsal.rs`, `attempt.rs`, `trial.rs` | the atomic model that tries macro steps out before they happen |
//! | `kind.rs`, `reading.rs` | the parameters in a scenario |
//! | `contradictions.rs` | choices that exclude each other |
//! | `needs.rs` | what each policy needs of the units, for `check` |
//!
//! The *order* of units is a matter of wiring: under Jacobi every signal passes through the
//! coupler; under Gauss-Seidel a unit hears those that precede it directly, as computed within
//! the macro step, and only signals against the sequence pass through the coupler. Where the sequence
//! changes, all pass through it, and are handed on as they come or extrapolated.
//!
//! # Which schemes are these
//! Macro step, holds, Jacobi and Gauss-Seidel: Gomes et al. 2017, sections 3.2 and
//! 4.3.6. Interrupted sequential scheme: Dejaco & Benedikt 2017, section 3.
mod attempt;
mod balance;
mod compensation;
mod contradictions;
mod coupler;
mod embedded;
mod extrapolation;
mod failures;
mod gaps;
mod growth;
mod iteration;
mod kalman;
mod kind;
mod line;
mod look_ahead;
mod low_pass;
mod needs;
mod outside;
mod pace;
mod parallel_embedded;
mod pre_step;
mod reading;
mod record;
mod reduced;
mod redundant;
mod rehearsal;
mod selective;
mod sequence;
#[cfg(test)]
mod tests;
mod trial;
mod trust;
mod waveform;

pub use balance::Balance;
pub use compensation::Compensation;
pub use coupler::{Coupler, Policy, Settling};
pub use extrapolation::{Extrapolation, Slopes};
pub use failures::{CouplingError, Divergence};
pub use iteration::{Iteration, Solver, Until};
pub use kalman::Kalman;
pub use kind::{ANSWERS, CouplingKind, SIGNALS, TEAM, rehearsal, rehearses, sequence, sequenced};
pub use line::Line;
pub use look_ahead::LookAhead;
pub use low_pass::LowPass;
pub use needs::{SCHEMES, Scheme, Whom, Without};
pub use pace::{Control, Pace};
pub use pre_step::{Ahead, PreStep};
pub(crate) use rehearsal::{Correction, Rehearsal, Rehearse};
pub use sequence::{Foreseen, Sequence};
pub use trial::Outputs;
pub use trust::Estimate;
