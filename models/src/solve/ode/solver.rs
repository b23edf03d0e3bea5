//! One solver for all methods, with the caller in charge of the loop.

use serde::{Deserialize, Serialize};

use super::OdeSystem;
use super::control::{Controller, Options, Statistics};
use super::method::Method;
use super::outcome::{OutsideStep, StepError, StepInfo};
use super::path::{Path, put};
use crate::maths::poly;
use implicit::Linear;

mod defect;
mod explicit;
mod implicit;
mod series;
mod stiffness;

/// So many absolute tolerances a state is to reach: below, few of its digits are controlled.
const SMALL: f64 = 10.0;
/// A state that stays below this part of its tolerance, or below its part of the largest one, is zero but for rounding.
const NOISE: f64 = 1e-4;
const ROUNDING: f64 = 1e-13;

/// Working memory of a trial step: states and slopes, and those of implicit steps. Not part of the
/// state: a clone starts without it and allocates at its first step, which makes saving for
/// rollback cheap.
#[derive(Debug, Default)]
struct Scratch(Vec<f64>, Linear);

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A solver with dense output, one per unit, reused for its whole life.
///
/// The state at [`time`](Self::time) is committed; [`step`](Self::step) extends it by one natural
/// step, of which any part can be read ([`dense`](Self::dense)) or kept
/// ([`truncate_to`](Self::truncate_to)). `Clone` and serde copies continue byte-equally.
///
/// See the [module](super) for the loop and the sources of the coefficients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Solver {
    options: Options,
    method: Method,
    t: f64,
    x: Vec<f64>,
    /// f(t, x), if `fresh`.
    slope: Vec<f64>,
    fresh: bool,
    /// Next natural step; zero until one has been chosen.
    h: f64,
    /// Natural size with which the last step was made.
    last_h: f64,
    /// Time of the last `begin` or `restart`.
    start: f64,
    controller: Controller,
    path: Path,
    /// Error of the last step as it was estimated, in tolerances, and the largest one since the last
    /// start; zero where nothing is estimated.
    error: f64,
    largest: f64,
    /// How large each state was at the steps since the last start that have hardly an error but rounding.
    sizes: Vec<f64>,
    /// How large each state was where steps were checked, since the beginning.
    reached: Vec<f64>,
    /// Steps since the last start, modulo that after which one is checked.
    since: u8,
    /// The length of the last one that was.
    checked: f64,
    /// How far algebraic states are off by rounding alone, as they were in the last step.
    rounded: f64,
    statistics: Statistics,
    #[serde(skip)]
    scratch: Scratch,
}

/// Steps with errors below this say little beside the rounding of their sum: near zero they are absolute, and rounding is not.
const ROUNDED: f64 = 1e5 * f64::EPSILON;

/// Raises each size to that of the value.
#[inline]
fn raise(sizes: &mut Vec<f64>, values: &[f64]) {
    // A call of `resize` costs as much as all that follows, where states are few.
    if sizes.len() != values.len() {
        sizes.resize(values.len(), 0.0);
    }
    sizes.iter_mut().zip(values).for_each(|(size, x)| *size = size.max(x.abs()));
}

impl Solver {
    /// A solver without a state yet.
    pub fn new(method: Method, options: Options) -> Self {
        let order = match method {
            Method::Rk23 => 2.0,
            Method::Rodas => 3.0,
            _ => 4.0,
        };
        Self {
            options,
            method,
            t: 0.0,
            x: Vec::new(),
            slope: Vec::new(),
            fresh: false,
            h: 0.0,
            last_h: f64::INFINITY,
            start: 0.0,
            controller: Controller::new(order),
            path: Path::default(),
            error: 0.0,
            largest: 0.0,
            sizes: Vec::new(),
            reached: Vec::new(),
            since: 0,
            checked: 0.0,
            rounded: 0.0,
            statistics: Statistics::default(),
            scratch: Scratch::default(),
        }
    }

    /// A solver with Dormand and Prince's pair.
    pub fn dopri5(options: Options) -> Self {
        Self::new(Method::Rk45, options)
    }

    /// Starts afresh at `x0`: the next step chooses its size from the system (one evaluation more).
    pub fn begin(&mut self, t0: f64, x0: &[f64]) {
        self.restart(t0, x0);
        self.h = self.options.initial_step;
    }

    /// Continues after a jump to `x`. The step size is remembered as a first trial, since a jump
    /// seldom changes the time scale and a wrong guess costs one rejected step; but at most four
    /// times the time since the last start, which is what the next stretch is likely to need: a
    /// step far beyond the next event would waste the resolution of its dense output.
    pub fn restart(&mut self, t: f64, x: &[f64]) {
        if t > self.start {
            self.h = self.h.min(4.0 / self.options.parts * (t - self.start));
        }
        self.start = t;
        self.last_h = f64::INFINITY;
        self.t = t;
        if self.x.len() != x.len() {
            self.x.resize(x.len(), 0.0);
        }
        put(&mut self.x, x);
        self.fresh = false;
        self.controller.reset();
        (self.error, self.largest) = (0.0, 0.0);
        self.sizes.fill(0.0);
        (self.since, self.checked, self.rounded) = (0, 0.0, 0.0);
        self.path.constant(t, x);
        self.statistics.restarts += 1;
    }

    /// Makes exactly one accepted step from the current state.
    ///
    /// Without `t_stop` where steps fall depends on system and state alone. With it the step ends
    /// at `t_stop` at the latest, exactly there if the natural step would reach it; the natural
    /// step size survives that. Pass a limit only for what the solution must not cross (a known
    /// time event, a jump of an input), never for sampling.
    pub fn step<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        t_stop: Option<f64>,
    ) -> Result<StepInfo, StepError<S::Error>> {
        let t = self.t;
        if let Some(t_stop) = t_stop.filter(|stop| stop.is_nan() || *stop <= t) {
            return Err(StepError::NotAhead { t, t_stop });
        }
        let (n, dim) = (self.x.len(), system.dim());
        if n != dim {
            return Err(StepError::Dimension { system: dim, solver: n });
        }
        let t_stop = self.options.limit(self.start, t, t_stop);
        let info = match self.method {
            Method::Rk45 | Method::Rk23 | Method::Rodas => {
                if self.error * self.options.rtol < ROUNDED {
                    self.note_sizes();
                }
                self.controlled(system, t_stop)
            }
            Method::Rk4(h) | Method::Euler(h) => {
                self.note_sizes();
                self.fixed(system, h, t_stop)
            }
            Method::Taylor(order, h) => {
                self.note_sizes();
                self.expanded(system, order, h, t_stop)
            }
            Method::Closed => {
                self.note_sizes();
                self.expanded(system, Method::CLOSED_ORDER, None, t_stop)
            }
        };
        self.statistics.accepted += u64::from(info.is_ok());
        self.largest = self.largest.max(self.error);
        self.error = info.as_ref().map_or(0.0, |info| info.error.min(1.0));
        info
    }

    /// Notes how large the states are from which steps begin that have hardly an error but rounding.
    #[inline]
    fn note_sizes(&mut self) {
        raise(&mut self.sizes, &self.x);
    }

    /// Notes how large the states are at the begin of a step that is checked.
    #[inline]
    fn note_reached(&mut self) {
        raise(&mut self.reached, &self.x);
    }

    /// A state among the first so many that moves, but stays so small that its tolerance allows any value, and how
    /// large it was.
    pub(crate) fn uncontrolled(&self, differential: usize) -> Option<(usize, f64)> {
        let largest = self.reached.iter().copied().fold(0.0, f64::max);
        let is_small = |(i, size): &(usize, f64)| {
            let absolute = self.options.atol * self.options.nominal(*i);
            *size < SMALL * absolute && *size > NOISE * absolute && *size > ROUNDING * largest
        };
        self.reached.iter().copied().take(differential).enumerate().find(is_small)
    }

    /// The largest error since the last start up to `t` in the last step, in tolerances, if errors are
    /// estimated.
    pub(crate) fn errors(&self, t: f64) -> Option<f64> {
        let largest = self.largest.max(self.error * self.grown(t));
        (largest > 0.0).then_some(largest)
    }

    /// The part of the error of the last step that has come up by `t`.
    fn grown(&self, t: f64) -> f64 {
        let order = match self.method {
            Method::Rk23 => 3,
            // Its polynomial does not begin with the derivatives that the equations have there.
            Method::Rodas => 1,
            Method::Taylor(order, _) => order,
            _ => 5,
        };
        let part = self.part(t);
        (0..order).fold(1.0, |power, _| power * part)
    }

    /// The part of the last step that lies before `t`.
    fn part(&self, t: f64) -> f64 {
        let (start, end) = (self.path.start(), self.path.end());
        ((t - start) / (end - start)).clamp(0.0, 1.0)
    }

    /// Goes on from such an error.
    pub(crate) fn keep_errors(&mut self, largest: f64) {
        self.largest = largest;
    }

    /// How large each state was, where that is kept beyond a restart: not by methods whose errors are known.
    pub(crate) fn sizes(&self) -> &[f64] {
        match self.method {
            Method::Rk45 | Method::Rk23 | Method::Rodas => &[],
            _ => &self.sizes,
        }
    }

    /// Goes on from these, if there are any.
    pub(crate) fn keep_sizes(&mut self, sizes: Vec<f64>) {
        if !sizes.is_empty() {
            self.sizes = sizes;
        }
    }

    /// How far state `i`, which is `x` at `t` in the last step, may be off there by what that step
    /// adds, and by its rounding. Inside a step the error is taken to grow as at its end.
    pub fn error_at(&self, t: f64, i: usize, x: f64) -> f64 {
        let terms = poly::size(self.path.row(i), t - self.path.start());
        let rounding = f64::EPSILON * terms.max(x.abs());
        // Of the sum over the steps so far.
        let summed = f64::EPSILON * self.sizes.get(i).copied().unwrap_or(0.0);
        if self.error == 0.0 && self.largest == 0.0 {
            let rounding = rounding.max(summed);
            // Of fixed steps, whose errors nobody knows, the rounding adds up.
            let steps = self.method.own_step().map_or(0.0, |h| (t - self.start).max(0.0) / h);
            return rounding * (1.0 + steps);
        }
        // The estimate is a mean over all states.
        let all = (self.x.len() as f64).sqrt();
        // Several steps add up rounding, which is small beside the tolerance; so does an implicit one.
        let floor = match self.method {
            _ if self.largest > 0.0 => 1e-6,
            Method::Rodas => 1e-7 * self.part(t),
            _ => 0.0,
        };
        let error = self.largest.max(self.error * self.grown(t)).max(floor);
        // Errors that were made long ago may have died out.
        let scale = self.options.scale(i, x.abs());
        rounding.max(summed.min(scale)) + error * all * scale
    }

    /// The end of a step with natural size `natural`: `(t1, clipped)`. A natural step that would
    /// leave a sliver before the limit takes it along.
    #[inline]
    fn end(&self, natural: f64, t_stop: Option<f64>) -> (f64, bool) {
        match t_stop {
            Some(stop) if self.t + 1.01 * natural >= stop => (stop, true),
            _ => (self.t + natural, false),
        }
    }

    /// Goes back to `t` inside the last step: the dense output there becomes the state. The step
    /// size memory stays, without the growth that only a whole step would have earned. For an input
    /// that arrives early without a jump, and before the reset of a located event. The slope is
    /// evaluated anew, since an input may have changed it.
    ///
    /// A time up to a hundredth of the step beyond its end is accepted, so that the tick to which
    /// a crossing near the end is rounded up can be reached.
    pub fn truncate_to(&mut self, t: f64) -> Result<(), OutsideStep> {
        let (from, to) = (self.path.start(), self.t);
        // A step that was truncated before has no more slack than its end.
        let slack = 0.01 * (to - from);
        if !(from..=to + slack).contains(&t) {
            return Err(OutsideStep { t, from, to });
        }
        if t != to {
            self.path.eval(t, &mut self.x);
            self.t = t;
            self.h = self.h.min(self.last_h);
            self.statistics.truncations += 1;
        }
        self.fresh = false;
        Ok(())
    }

    /// Whether the error of the last step was estimated, and the tolerances of these states may be tightened to this part.
    pub(crate) fn may_tighten(&self, states: &[usize], part: f64) -> bool {
        self.error.max(self.largest) > 0.0
            && states.iter().all(|&i| self.options.may_tighten(i, part))
    }

    /// Goes back to `t` inside the last step, and on from there with the tolerances of these states tightened to this part.
    pub(crate) fn tighten(
        &mut self,
        t: f64,
        states: &[usize],
        part: f64,
    ) -> Result<(), OutsideStep> {
        let grown = self.grown(t);
        self.truncate_to(t)?;
        self.error *= grown;
        states.iter().for_each(|&i| self.options.tighten((i, self.x.len()), part));
        Ok(())
    }

    /// Tightens the tolerances of all states to this part from the present on, as far as they may be.
    pub(crate) fn tighten_all(&mut self, part: f64) {
        let states = self.x.len();
        for i in 0..states {
            if self.options.may_tighten(i, part) {
                self.options.tighten((i, states), part);
            }
        }
    }

    /// States whose tolerances were tightened.
    pub(crate) fn tightened(&self) -> usize {
        self.options.tightened.iter().filter(|part| **part < 1.0).count()
    }

    /// Gives the states from number `first` on other values at the present.
    pub(crate) fn amend(&mut self, first: usize, values: &[f64]) {
        put(&mut self.x[first..], values);
        self.fresh = false;
    }

    /// State at `t`, valid from the begin of the last step to the current time.
    #[inline]
    pub fn dense(&self, t: f64, x: &mut [f64]) {
        if t == self.t {
            x.copy_from_slice(&self.x);
        } else {
            self.path.eval(t, x);
        }
    }

    /// State `i` at `t`, as [`dense`](Self::dense) gives it.
    pub fn dense_at(&self, t: f64, i: usize) -> f64 {
        if t == self.t { self.x[i] } else { self.path.component(i, t) }
    }

    /// Taylor coefficients of `component` in `e = t - at`, as many as `out` has room for: the
    /// dense output of the last step re-expanded at `at`. The rest is zero.
    pub fn dense_coeffs(&self, component: usize, at: f64, out: &mut [f64]) {
        self.path.taylor(component, at, out);
        if at == self.t
            && let Some(value) = out.first_mut()
        {
            *value = self.x[component];
        }
    }

    /// The last step's dense output.
    #[inline]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Current time: the end of the last step, or of what was kept of it.
    #[inline]
    pub fn time(&self) -> f64 {
        self.t
    }

    /// Current state.
    #[inline]
    pub fn state(&self) -> &[f64] {
        &self.x
    }

    /// Next natural step size, or zero if none has been chosen yet.
    pub fn next_step(&self) -> f64 {
        self.h
    }

    /// Counters since creation.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Moves the origin of time `by` seconds later, when the unit's last tag moves: the current
    /// time becomes `time() - by`, exactly zero if they were equal.
    #[inline]
    pub fn shift_origin(&mut self, by: f64) {
        self.t -= by;
        self.start -= by;
        self.path.shift_origin(by);
    }
}
