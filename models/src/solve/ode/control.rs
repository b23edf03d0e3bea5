//! Tolerances, step size control and counters.

use serde::{Deserialize, Serialize};

use super::OdeSystem;

/// Dense output of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interpolant {
    /// Fourth order, free: six evaluations a step. Events are then less accurate than the solution.
    Quartic,
    /// Fifth order, as accurate as the solution itself, for two more evaluations a step.
    #[default]
    Quintic,
}

/// Settings of a solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Relative tolerance of the local error; values below 1e-14 count as 1e-14.
    pub rtol: f64,
    /// Absolute tolerance, in units of the state or, with `nominal`, of its nominal value.
    pub atol: f64,
    /// Typical magnitude of each state; empty means one throughout.
    pub nominal: Vec<f64>,
    /// The part of its tolerances to which each state was tightened on the way; empty means one throughout.
    pub tightened: Vec<f64>,
    /// First step of a start in seconds; zero lets the solver choose.
    pub initial_step: f64,
    /// Longest step in seconds.
    pub max_step: f64,
    /// Shortest natural step in seconds; a controller that wants less has met a singularity.
    pub min_step: f64,
    /// Trial steps in a row that may be rejected before the solver gives up.
    pub max_rejections: u32,
    /// Dense output.
    pub interpolant: Interpolant,
    /// Steps from a start to a limit, at least. A tightened run has more than one: steps that limits cut are else those
    /// of the run itself, and the comparison of the two does not see their error.
    pub parts: f64,
}

/// Relative tolerances are not tightened beyond this: rounding adds up.
const TIGHTEST: f64 = 1e-13;
/// A state that begins below its inverse has an absolute tolerance so many times that of its start.
const SMALL: f64 = 100.0;
/// A state may grow by so much within a step, and its tolerance with it.
const GROWTH: f64 = 10.0;
/// Below, a start is zero but for rounding.
const ROUNDING: f64 = 1e-18;

impl Default for Options {
    fn default() -> Self {
        Self {
            rtol: 1e-9,
            atol: 1e-9,
            nominal: Vec::new(),
            tightened: Vec::new(),
            initial_step: 0.0,
            max_step: f64::INFINITY,
            min_step: 1e-18,
            max_rejections: 60,
            interpolant: Interpolant::Quintic,
            parts: 1.0,
        }
    }
}

impl Options {
    /// The default with both tolerances set.
    pub fn tolerance(rtol: f64, atol: f64) -> Self {
        Self { rtol, atol, ..Self::default() }
    }

    /// Error per tolerance of one component, given the magnitudes at both ends of the step.
    pub(crate) fn scale(&self, component: usize, magnitude: f64) -> f64 {
        let relative = self.rtol.max(1e-14) * magnitude;
        // States that were tightened have nominal values.
        match self.nominal.get(component) {
            None => self.atol + relative,
            Some(nominal) => (self.atol * nominal + relative) * self.part(component),
        }
    }

    fn part(&self, component: usize) -> f64 {
        self.tightened.get(component).copied().unwrap_or(1.0)
    }

    /// Whether tolerances of this state may be tightened to this part of what they are.
    pub(super) fn may_tighten(&self, component: usize, part: f64) -> bool {
        self.rtol * self.part(component) * part >= TIGHTEST
    }

    /// Tightens the tolerances of one of so many states to this part of what they are.
    pub(super) fn tighten(&mut self, (component, states): (usize, usize), part: f64) {
        self.nominal.resize(states, 1.0);
        self.tightened.resize(states, 1.0);
        self.tightened[component] *= part;
    }

    /// The magnitude of a state over a step, given that at both ends. Where it grows out of all proportion, the
    /// rounding of its end is in all places before, to which a message or an event may cut the step: the tolerance
    /// does not grow with it.
    pub(super) fn magnitude(&self, component: usize, begin: f64, end: f64) -> f64 {
        let most = GROWTH * (begin.abs() + self.nominal(component));
        begin.abs().max(end.abs().min(most))
    }

    /// Typical magnitude of a state.
    pub(crate) fn nominal(&self, component: usize) -> f64 {
        self.nominal.get(component).copied().unwrap_or(1.0)
    }

    /// Takes the nominal value of states that begin near zero, but not at it, from where they begin. Those that begin
    /// at zero take the largest one.
    ///
    /// **Why.** A dose of 1e-7 kg, or one infected in 1e10, is less than usual absolute tolerances, and all that follows
    /// from it is as wrong as these allow.
    pub fn begin_at(&mut self, x: &[f64]) {
        let small = |x: &f64| (ROUNDING..1.0 / SMALL).contains(&x.abs());
        if x.iter().any(small) {
            let own = |x: &f64| if small(x) { SMALL * x.abs() } else { 1.0 };
            let moving = x.iter().filter(|x| x.abs() >= ROUNDING);
            let others = moving.map(own).fold(0.0, f64::max);
            let nominal = |x: &f64| if x.abs() < ROUNDING { others } else { own(x) };
            self.nominal = x.iter().map(nominal).collect();
        }
    }

    /// Root mean square of `value(i) / scale(i)` over the states.
    pub(super) fn norm(&self, x: &[f64], value: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        for (i, xi) in x.iter().enumerate() {
            let ratio = value(i) / self.scale(i, xi.abs());
            sum += ratio * ratio;
        }
        (sum / x.len().max(1) as f64).sqrt()
    }

    /// Longest step that the controller may take; finite, so that times stay finite.
    #[inline]
    pub(super) fn longest(&self) -> f64 {
        self.max_step.min(1e15)
    }

    /// The limit of the next step at `t`, after a start at `start`.
    #[inline]
    pub(super) fn limit(&self, start: f64, t: f64, t_stop: Option<f64>) -> Option<f64> {
        if self.parts == 1.0 {
            return t_stop;
        }
        // A sliver before the limit belongs to the last part.
        let part = |stop: f64| (stop - start) / self.parts;
        t_stop.map(|stop| if t + 1.01 * part(stop) < stop { t + part(stop) } else { stop })
    }

    /// First step of a new start by a method of this order: Hairer, Nørsett & Wanner, Solving ODEs I,
    /// II.4, algorithm "starting step size". One evaluation, at an Euler step written to `y`.
    pub(super) fn initial_step<S: OdeSystem + ?Sized>(
        &self,
        system: &mut S,
        order: f64,
        (t, x, dx): (f64, &[f64], &[f64]),
        (y, dy): (&mut [f64], &mut [f64]),
    ) -> Result<f64, S::Error> {
        let (d0, d1) = (self.norm(x, |i| x[i]), self.norm(x, |i| dx[i]));
        let h0 = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * (d0 / d1) };
        let h0 = h0.min(self.longest());
        for ((yi, xi), di) in y.iter_mut().zip(x).zip(dx) {
            *yi = xi + h0 * di;
        }
        system.rhs(t + h0, y, dy)?;
        let d2 = self.norm(x, |i| dy[i] - dx[i]) / h0;
        let largest = d1.max(d2);
        let h1 = if largest <= 1e-15 {
            (h0 * 1e-3).max(1e-6)
        } else {
            libm::pow(0.01 / largest, 1.0 / order)
        };
        let h = (100.0 * h0).min(h1).min(self.longest());
        // An Euler point outside the domain says nothing about the solution.
        let h = if h.is_finite() && h > 0.0 { h } else { h0 };
        // A guess is no singularity.
        Ok(h.max(self.min_step))
    }
}

/// Proportional-integral step size controller of Gustafsson in the form of Hairer, Nørsett &
/// Wanner, Solving ODEs II, IV.2 eq. 2.43 with β = 0.04, as in their DOPRI5.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Controller {
    /// Error of the last accepted step, at least 1e-4.
    last: f64,
    /// Power of the error in the step: 1/(order + 1) - 0.75 β.
    exponent: f64,
}

impl Controller {
    const BETA: f64 = 0.04;
    const SAFETY: f64 = 0.9;
    const GROWTH: f64 = 10.0;
    const SHRINK: f64 = 0.2;

    /// For an error estimate of which the step's power is `order + 1`.
    pub(super) fn new(order: f64) -> Self {
        Self { last: 1e-4, exponent: 1.0 / (order + 1.0) - 0.75 * Self::BETA }
    }

    /// Forgets the last error.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.last = 1e-4;
    }

    /// Step after an accepted one of size `h` with error `error <= 1`.
    pub(super) fn accepted(&mut self, h: f64, error: f64) -> f64 {
        // An error that hardly counts needs no power to reach the largest growth.
        if error < 1e-8 {
            self.last = 1e-4;
            return h * Self::GROWTH;
        }
        let factor =
            Self::SAFETY * libm::pow(self.last, Self::BETA) / libm::pow(error, self.exponent);
        self.last = error.max(1e-4);
        h * factor.clamp(Self::SHRINK, Self::GROWTH)
    }

    /// Step after a rejected one of size `h` with error `error > 1`.
    pub(super) fn rejected(&self, h: f64, error: f64) -> f64 {
        h * (Self::SAFETY / libm::pow(error, self.exponent)).clamp(Self::SHRINK, 1.0)
    }
}

/// What a solver did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Accepted steps.
    pub accepted: u64,
    /// Rejected trial steps.
    pub rejected: u64,
    /// Evaluations of the right-hand side.
    pub evaluations: u64,
    /// Starts: `begin` and `restart`.
    pub restarts: u64,
    /// Steps cut short: `truncate_to`.
    pub truncations: u64,
}
