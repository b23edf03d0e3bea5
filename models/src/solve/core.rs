//! What stands between a unit's wrapper and whatever solves its equations.
//!
//! # Why
//! The wrapper knows the kernel: tags, messages, plans, shared events, snapshots. A *core* knows
//! the solution: where it is, what it finds on its way, how to go back. Everything that a method
//! may want to do in its own way is behind [`Core`]: a solver that steps all states at once
//! ([`Stepped`](super::Stepped)), an external solver, an engine in which each variable has its own
//! next time.
//!
//! # Times
//! All times are seconds since the tag of the unit's last transition ([`Frame::last`]), so that
//! they stay small. [`Core::arrive`] moves that origin.
//!
//! # The order of calls
//! [`Core::start`] once. Then, for as long as nothing is due, [`Core::advance`]. Once something is
//! found, or an input comes before that, [`Core::arrive`] at the tick of the transition; there
//! [`Core::jump`], [`Core::input`] and [`Core::sent`] tell what changed, and [`Core::outside`] says
//! whether an output has to be sent.
use super::{
    equations::{Dims, Equations},
    ode::{Flip, Past, Path, put},
};
use crate::{
    maths::rounding,
    signal::{statistics::UnitStatistics, value::Segment},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// A segment, and the tick of the message that brought or took it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The piece of signal.
    pub segment: Segment,
    /// Its tick.
    pub at: i64,
}

/// What of a scene changes in a run, at transitions only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Frame {
    /// Tick of the unit's last transition: the origin of all offsets.
    pub last: i64,
    /// Signal inputs.
    pub inputs: Vec<Held>,
    /// How far each of these was off of late when its source went on with another piece.
    pub slips: Vec<f64>,
    /// Discrete values, the place of a received value, then the sides of relations.
    pub discrete: Vec<f64>,
    /// What receivers hold, per signal output.
    pub sent: Vec<Held>,
    /// Whether the unit is at rest: then all derivatives are zero.
    pub resting: bool,
}

/// What surrounds the states: equations, inputs, discrete values, and what receivers hold.
#[derive(Debug)]
pub struct Scene<E> {
    /// The equations.
    pub equations: E,
    /// Their sizes.
    pub dims: Dims,
    /// What changes.
    pub frame: Frame,
    /// Ticks per second.
    pub rate: f64,
    /// The length of a tick in seconds.
    pub tick: f64,
    /// Per signal output: whether anybody receives it.
    pub connected: Vec<bool>,
    /// How far an output may leave what receivers hold; infinite for outputs that are sent at
    /// jumps only.
    pub band: f64,
}

impl<E> Scene<E> {
    /// Seconds of a number of ticks, rounded to the nearest number.
    #[inline]
    pub fn seconds(&self, ticks: i64) -> f64 {
        ticks as f64 / self.rate
    }

    /// Whether the solution, known up to `end`, is known at the tick at which what happens at `t` takes place,
    /// in a step from `at` on: a tick may lie beyond several short steps.
    pub fn reaches(&self, (at, t): (f64, f64), end: f64) -> bool {
        let begun = (at * self.rate - rounding::SNAP) as i64;
        let due = rounding::ceil_ticks(t.max(0.0), self.rate as u64);
        due.is_none_or(|k| self.seconds(k.max(begun + 1)) <= end)
    }

    /// Absolute time in seconds at offset `t`.
    #[inline]
    pub fn absolute(&self, t: f64) -> f64 {
        self.seconds(self.frame.last) + t
    }

    /// Seconds from the tag of `held` to offset `t`.
    #[inline]
    pub fn age(&self, held: &Held, t: f64) -> f64 {
        let last = self.frame.last;
        if held.at == last { t } else { t - self.seconds(held.at - last) }
    }
}

impl<E: Equations> Scene<E> {
    /// Puts the variables together at offset `t`, for states `x`.
    #[inline]
    pub fn fill(&self, t: f64, x: &[f64], vars: &mut Vec<f64>) {
        self.surround(t, vars);
        put(&mut vars[Dims::STATES..], &x[..self.dims.states]);
    }

    /// Puts the variables together at offset `t`, but for the states.
    #[inline(always)]
    pub fn surround(&self, t: f64, vars: &mut Vec<f64>) {
        if vars.len() != self.dims.variables() {
            vars.resize(self.dims.variables(), 0.0);
        }
        vars[0] = self.absolute(t);
        if !self.frame.inputs.is_empty() {
            let inputs = &mut vars[self.dims.first_input()..];
            for (var, held) in inputs.iter_mut().zip(&self.frame.inputs) {
                *var = held.segment.value(self.age(held, t));
            }
        }
        put(&mut vars[self.dims.first_discrete()..], &self.frame.discrete);
    }

    /// The equation of a state, for an error message.
    pub fn equation(&self, state: usize) -> String {
        let mut vars = Vec::new();
        self.surround(0.0, &mut vars);
        match self.equations.equation(state, &vars) {
            Some(text) => format!("`{text}`"),
            None => format!("the derivative of state {state}"),
        }
    }

    /// What receivers hold of output `port` at offset `t`.
    pub fn held(&self, port: usize, t: f64) -> f64 {
        let held = &self.frame.sent[port];
        held.segment.value(self.age(held, t))
    }

    /// Value and slope of what receivers hold of output `port`, at an offset from the frame.
    pub fn held_and_slope(&self, port: usize, t: f64) -> (f64, f64) {
        let held = &self.frame.sent[port];
        held.segment.value_and_slope(self.age(held, t))
    }

    /// How far a signal of this value may leave what receivers hold of it: rounding hides what is nearer.
    #[inline]
    pub fn allowed(&self, value: f64) -> f64 {
        /// Roundings in which two expansions of one function may differ.
        const ROUNDING: f64 = 16.0 * f64::EPSILON;
        self.band.max(ROUNDING * value.abs())
    }

    /// How far a signal of this value may differ by rounding where units hand it round: a small part of its band.
    pub fn rounded(&self, value: f64) -> f64 {
        let band = if self.band.is_finite() { self.band } else { 0.0 };
        (1e-6 * band).max(16.0 * f64::EPSILON * value.abs()).min(f64::MAX)
    }

    /// Whether output `port` is watched for leaving its band.
    pub fn watches(&self, port: usize) -> bool {
        self.band.is_finite() && self.connected[port]
    }
}

/// Flips that were found ahead of the present.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Flips {
    /// The sides after all of them.
    pub sides: Vec<f64>,
    /// In order of time.
    pub list: Vec<Flip>,
    /// Per relation: what the searches before know of it.
    pub past: Vec<Past>,
}

impl Flips {
    /// None, of so many relations.
    pub fn new(relations: usize) -> Self {
        Self {
            sides: vec![0.0; relations],
            list: Vec::new(),
            past: vec![Past::default(); relations],
        }
    }

    /// Undoes those from number `first` on.
    pub fn cut(&mut self, first: usize) {
        for flip in self.list.drain(first..).rev() {
            self.sides[usize::from(flip.relation)] = flip.before;
            if flip.touch.is_some() {
                self.past[usize::from(flip.relation)].touched = false;
            }
        }
    }
}

/// What an advance came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advance {
    /// The next one begins at [`Core::time`].
    Silent,
    /// The limit was reached.
    Stopped,
    /// An output leaves its band at this offset (not rounded).
    Left(f64),
}

/// Why an advance failed: what to say, and the states for finding the guilty expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What is wrong.
    pub what: String,
    /// Where.
    pub t: f64,
    /// States there.
    pub x: Vec<f64>,
}

/// Something that carries a unit's solution along.
///
/// Where steps fall must depend on the equations and on the calls that carry information
/// ([`jump`](Self::jump), [`input`](Self::input)), never on who asks when.
pub trait Core<E: Equations>: Send + 'static {
    /// Everything that changes in a run; a clone or a serialised copy continues byte-equally.
    type State: Clone + Serialize + DeserializeOwned + Send + 'static;
    /// A copy of the changing part.
    fn save(&self) -> Self::State;
    /// Goes back to a saved changing part.
    fn restore(&mut self, scene: &Scene<E>, saved: &Self::State);

    /// Begins at offset `t` in states `x`; `limit` is the time of the next time event, if there is one.
    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], limit: Option<f64>);
    /// A remark for the user that has not been told yet.
    fn remark(&mut self) -> Option<Arc<str>> {
        None
    }
    /// A remark for the user at the end of a run.
    fn last_remark(&self, _: &Scene<E>) -> Option<String> {
        None
    }
    /// The length of the core's own steps in seconds, if it is fixed. Events that change nothing do not
    /// end such a step.
    fn own_step(&self) -> Option<f64> {
        None
    }
    /// How far the present is inside of a step of fixed length, in seconds, if it is not at one of its ends.
    fn inside(&self, _: &Scene<E>) -> Option<f64> {
        None
    }
    /// Where the next [`advance`](Self::advance) begins.
    fn time(&self) -> f64;
    /// Goes on from [`time`](Self::time): one step, or less; not beyond `stop`. Appends the flips
    /// that it finds, those at which solvers stop and what flips within a tick of the first of them
    /// included; what is behind that is void.
    ///
    /// # Errors
    /// When there is no solution to go on with.
    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>>;
    /// States at `t`, between the last transition and what the last advance covered (a tick
    /// beyond it included).
    fn states(&self, t: f64, x: &mut [f64]);
    /// The polynomials of the states since the last step began, where there are any.
    fn path(&self) -> Option<&Path> {
        None
    }
    /// How far a state, which is `x` at `t`, may be off there.
    fn error(&self, t: f64, state: usize, x: f64) -> f64;
    /// Makes `t` the present and the origin of all offsets: what lies beyond is kept only as long
    /// as no [`jump`](Self::jump) or [`input`](Self::input) makes it void. `scene` still has the old
    /// origin.
    fn arrive(&mut self, scene: &Scene<E>, t: f64);
    /// States are now `x` by a jump, or discrete values or inputs jumped.
    fn jump(&mut self, scene: &Scene<E>, x: &[f64]);
    /// Input `port` has a new segment that continues the old one.
    fn input(&mut self, scene: &Scene<E>, port: usize);
    /// Receivers hold a new segment of output `port`.
    fn sent(&mut self, scene: &Scene<E>, port: usize);
    /// A relation flips to and fro within some ticks, as it may where steps are too long for the method.
    fn chatters(&mut self) {}
    /// Whether an output is outside its band at the present, where the variables are `vars`.
    fn outside(&mut self, scene: &Scene<E>, vars: &[f64]) -> bool;
    /// Expands the outputs that receivers need anew around offset `t`, up to powers of `order`:
    /// calls `take(port, coefficients)`. `vars` are the variables there (after a jump that is
    /// about to happen, perhaps). With `all`, every connected output; else at least those that
    /// leave their bands by `t`.
    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    );
    /// Adds its counts.
    fn count(&self, statistics: &mut UnitStatistics);
}
