//! Dormand-Prince 5(4) with the caller in charge of the loop.

use serde::{Deserialize, Serialize};

use super::OdeSystem;
use super::control::{Controller, Interpolant, Options, Statistics};
use super::dense::DenseOutput;
use super::outcome::{OutsideStep, StepError, StepInfo};
use super::tableau::{A, C, E, EXTRA_A, EXTRA_C};

/// Rows of [`Scratch`]: see [`Dopri5::attempt`].
const ROWS: usize = 11;

/// Working memory of a trial step. Not part of the state: a clone starts without it and allocates at
/// its first step, which makes saving for rollback cheap.
#[derive(Debug, Default)]
struct Scratch(Vec<f64>);

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Explicit Runge-Kutta 5(4) solver with dense output, one per unit, reused for its whole life.
///
/// The state at [`time`](Self::time) is committed; [`step`](Self::step) extends it by one natural
/// step, of which any part can be read ([`dense`](Self::dense)) or kept
/// ([`truncate_to`](Self::truncate_to)). `Clone` and serde copies continue byte-equally.
///
/// See the [module](super) for the loop and the sources of the coefficients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dopri5 {
    options: Options,
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
    dense: DenseOutput,
    statistics: Statistics,
    #[serde(skip)]
    scratch: Scratch,
}

/// What a trial step came to.
enum Trial {
    Error(f64),
    NotFinite { t: f64, component: usize },
}

/// Weighted sum of the first rows of `k`, row by row: no strides, whatever the dimension.
fn combine(weights: &[f64], k: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (weight, row) in weights.iter().zip(k.chunks_exact(out.len().max(1))) {
        if *weight != 0.0 {
            for (sum, slope) in out.iter_mut().zip(row) {
                *sum += weight * slope;
            }
        }
    }
}

impl Dopri5 {
    /// A solver without a state yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            t: 0.0,
            x: Vec::new(),
            slope: Vec::new(),
            fresh: false,
            h: 0.0,
            last_h: f64::INFINITY,
            start: 0.0,
            controller: Controller::default(),
            dense: DenseOutput::default(),
            statistics: Statistics::default(),
            scratch: Scratch::default(),
        }
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
            self.h = self.h.min(4.0 * (t - self.start));
        }
        self.start = t;
        self.last_h = f64::INFINITY;
        self.t = t;
        self.x.clear();
        self.x.extend_from_slice(x);
        self.fresh = false;
        self.controller = Controller::default();
        self.dense.constant(t, x);
        self.statistics.restarts += 1;
    }

    /// Makes exactly one accepted step from the current state and evaluates its dense output.
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
        self.scratch.0.resize(ROWS * n, 0.0);
        self.prepare(system)?;
        let mut rejected = 0;
        let mut bad = None;
        loop {
            let natural = self.h.min(self.options.longest());
            if natural < self.options.min_step || t + 0.1 * natural == t {
                return Err(match bad {
                    Some((t, component)) => StepError::NotFinite { t, component },
                    None => StepError::Underflow { t, h: natural },
                });
            }
            // A natural step that would leave a sliver takes it along.
            let clipped = t_stop.is_some_and(|stop| t + 1.01 * natural >= stop);
            let t1 = t_stop.filter(|_| clipped).unwrap_or(t + natural);
            let h = if clipped { t1 - t } else { natural };
            match self.attempt(system, h, t1).map_err(StepError::Rhs)? {
                Trial::Error(error) if error <= 1.0 => {
                    if !clipped {
                        let next = self.controller.accepted(h, error);
                        self.h = if rejected > 0 { next.min(h) } else { next };
                    }
                    self.last_h = natural;
                    self.commit(t1);
                    return Ok(StepInfo { t0: t, t1, error, rejected, clipped });
                }
                Trial::Error(error) => self.h = Controller::rejected(h, error),
                Trial::NotFinite { t, component } => {
                    bad = Some((t, component));
                    self.h = 0.25 * h;
                }
            }
            rejected += 1;
            self.statistics.rejected += 1;
            if rejected >= self.options.max_rejections {
                return Err(match bad {
                    Some((t, component)) => StepError::NotFinite { t, component },
                    None => StepError::Rejections { t, rejected },
                });
            }
        }
    }

    /// Slope at the committed state and a first step size, where they are missing.
    fn prepare<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
    ) -> Result<(), StepError<S::Error>> {
        let (t, n) = (self.t, self.x.len());
        if !self.fresh {
            self.slope.resize(n, 0.0);
            system.rhs(t, &self.x, &mut self.slope).map_err(StepError::Rhs)?;
            self.statistics.evaluations += 1;
            if let Some(component) = self.slope.iter().position(|k| !k.is_finite()) {
                return Err(StepError::NotFinite { t, component });
            }
            self.fresh = true;
        }
        if self.h == 0.0 {
            let (y, dy) = self.scratch.0[..2 * n].split_at_mut(n);
            self.h = self
                .options
                .initial_step(system, t, &self.x, &self.slope, y, dy)
                .map_err(StepError::Rhs)?;
            self.statistics.evaluations += 1;
        }
        Ok(())
    }

    /// One trial: stages, error, and, if it is small enough, the dense output.
    /// The new state is left in the scratch, followed by its slope.
    fn attempt<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        t1: f64,
    ) -> Result<Trial, S::Error> {
        let n = self.x.len();
        let (t, x, statistics) = (self.t, &self.x, &mut self.statistics);
        // Layout: trial state, state of an inner stage, slopes of stages 1 to 9.
        let (y, rest) = self.scratch.0.split_at_mut(n);
        let (inner, k) = rest.split_at_mut(n);
        k[..n].copy_from_slice(&self.slope);
        let mut evaluate = |weights: &[f64], y: &mut [f64], k: &mut [f64], slot: usize, at: f64| {
            combine(weights, k, y);
            for (yi, xi) in y.iter_mut().zip(x) {
                *yi = xi + h * *yi;
            }
            let slope = &mut k[slot * n..][..n];
            system.rhs(at, y, slope)?;
            statistics.evaluations += 1;
            Ok(slope.iter().position(|value| !value.is_finite()))
        };
        for stage in 1..7 {
            let at = if C[stage] == 1.0 { t1 } else { t + C[stage] * h };
            if let Some(component) = evaluate(A[stage], y, k, stage, at)? {
                return Ok(Trial::NotFinite { t: at, component });
            }
        }
        combine(&E, k, inner);
        let mut sum = 0.0;
        for i in 0..n {
            let ratio = h * inner[i] / self.options.scale(i, x[i].abs().max(y[i].abs()));
            sum += ratio * ratio;
        }
        let error = (sum / n.max(1) as f64).sqrt();
        if error.is_nan() || error > 1.0 {
            return Ok(Trial::Error(if error.is_finite() { error } else { f64::MAX }));
        }
        let quintic = self.options.interpolant == Interpolant::Quintic;
        if quintic {
            for (extra, (weights, node)) in EXTRA_A.iter().zip(EXTRA_C).enumerate() {
                let at = t + node * h;
                if let Some(component) = evaluate(weights, inner, k, 7 + extra, at)? {
                    return Ok(Trial::NotFinite { t: at, component });
                }
            }
        }
        self.dense.open(t, h);
        for i in 0..n {
            let slope = |stage: usize| k[stage * n + i];
            if quintic {
                let slopes = [slope(0), slope(6), slope(7), slope(8)];
                self.dense.quintic(i, x[i], y[i], slopes);
            } else {
                self.dense.quartic(i, x[i], y[i], slope);
            }
        }
        Ok(Trial::Error(error))
    }

    fn commit(&mut self, t1: f64) {
        let n = self.x.len();
        self.t = t1;
        self.x.copy_from_slice(&self.scratch.0[..n]);
        self.slope.copy_from_slice(&self.scratch.0[8 * n..9 * n]);
        self.statistics.accepted += 1;
    }

    /// Goes back to `t` inside the last step: the dense output there becomes the state. The step
    /// size memory stays, without the growth that only a whole step would have earned. For an input that arrives early without a jump, and before the reset of
    /// a located event. The slope is evaluated anew, since an input may have changed it.
    ///
    /// A time up to a hundredth of the step beyond its end is accepted, so that the tick to which
    /// a crossing near the end is rounded up can be reached.
    pub fn truncate_to(&mut self, t: f64) -> Result<(), OutsideStep> {
        let (from, to) = (self.dense.start(), self.t);
        // A step that was truncated before has no more slack than its end.
        let slack = 0.01 * (to - from);
        if !(from..=to + slack).contains(&t) {
            return Err(OutsideStep { t, from, to });
        }
        if t != to {
            self.dense.eval(t, &mut self.x);
            self.t = t;
            self.h = self.h.min(self.last_h);
            self.statistics.truncations += 1;
        }
        self.fresh = false;
        Ok(())
    }

    /// State at `t`, valid from the begin of the last step to the current time.
    pub fn dense(&self, t: f64, x: &mut [f64]) {
        if t == self.t {
            x.copy_from_slice(&self.x);
        } else {
            self.dense.eval(t, x);
        }
    }

    /// Taylor coefficients of `component` in `e = t - at`, as many as `out` has room for: the
    /// interpolant of the last step re-expanded at `at`. Order five at most; the rest is zero.
    pub fn dense_coeffs(&self, component: usize, at: f64, out: &mut [f64]) {
        self.dense.taylor(component, at, out);
        if at == self.t
            && let Some(value) = out.first_mut()
        {
            *value = self.x[component];
        }
    }

    /// The last step's dense output.
    pub fn output(&self) -> &DenseOutput {
        &self.dense
    }

    /// Current time: the end of the last step, or of what was kept of it.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// Current state.
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

    /// Moves the origin of time `by` seconds later, when the unit's last tag moves: the current
    /// time becomes `time() - by`, exactly zero if they were equal.
    pub fn shift_origin(&mut self, by: f64) {
        self.t -= by;
        self.start -= by;
        self.dense.shift_origin(by);
    }
}
