//! Steps with error control, and explicit Runge-Kutta: the pairs, and the two with fixed steps.

use super::{Method, OdeSystem, Options, Solver, StepError, StepInfo, implicit};
use crate::solve::ode::{
    control::Interpolant,
    tableau::{A, BOGACKI, C, D, E, EXTRA_A, EXTRA_C, QUINTIC, RK4},
};

/// Rows of the working memory: trial state, state of an inner stage, slopes of up to nine stages, rise.
const ROWS: usize = 12;

/// Steps of which one is checked by the equations at one place inside it: estimates vanish for certain
/// lengths of steps, that of `rk23` for x' = -a x at 1/a, however large the error is.
const CHECKED: u8 = 8;

/// That place, as a part of the step: no stage lies there.
const PLACES: &[f64] = &[0.7];

/// How far off the equations a step may be there, in tolerances. For x' = z x and steps of 1 this is 1.3 to
/// 4 times the true error from z = -3 to 0.5 under `rk23` and `rk45`, and at most 9 times the estimate, but where
/// that vanishes (z = -0.7 to -1.5 under `rk23`).
const UNSEEN: f64 = 16.0;

/// The part of it from which on the next step is checked as well.
const NEAR: f64 = 0.05;

/// An implicit step so many times as long as the last one that was checked is checked as well: where a state follows
/// fast, the estimate is zero, and lets each step be ten times as long as the one before.
const GROWN: f64 = 2.0;

/// What a trial step came to.
pub(super) enum Trial {
    Error(f64),
    NotFinite { t: f64, component: usize },
}

/// `put(i, sum)` with the weighted sum of the rows of `k`. With `N > 0` the number of states is
/// known when this is compiled, and the sums stay in registers.
#[inline(always)]
fn combine<const N: usize>(n: usize, weights: &[f64], k: &[f64], mut put: impl FnMut(usize, f64)) {
    if N > 0 {
        let mut sums = [0.0; N];
        for (weight, row) in weights.iter().zip(k.chunks_exact(N)) {
            for (sum, slope) in sums.iter_mut().zip(row) {
                *sum += weight * slope;
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            put(i, sum);
        }
    } else {
        for i in 0..n {
            let column = k[i..].iter().step_by(n);
            put(i, weights.iter().zip(column).fold(0.0, |sum, (w, slope)| sum + w * slope));
        }
    }
}

/// The stages of one trial.
struct Stages<'a, S: ?Sized, const N: usize> {
    system: &'a mut S,
    n: usize,
    h: f64,
    x: &'a [f64],
    evaluations: &'a mut u64,
}

impl<S: OdeSystem + ?Sized, const N: usize> Stages<'_, S, N> {
    /// The error in units of the tolerance: the root of its mean square over the states.
    #[inline(always)]
    fn error(&self, options: &Options, weights: &[f64], y: &[f64], k: &[f64]) -> f64 {
        let mut sum = 0.0;
        combine::<N>(self.n, weights, k, |i, e| {
            let magnitude = options.magnitude(i, self.x[i], y[i]);
            let ratio = self.h * e / options.scale(i, magnitude);
            sum += ratio * ratio;
        });
        (sum / self.n.max(1) as f64).sqrt()
    }

    /// `y = x + h Σ weights k`, and its slope at `at` in row `slot` of `k`; gives the first state
    /// whose slope is not finite.
    #[inline(always)]
    fn evaluate(
        &mut self,
        weights: &[f64],
        y: &mut [f64],
        k: &mut [f64],
        slot: usize,
        at: f64,
    ) -> Result<Option<Trial>, S::Error> {
        let (n, h, x) = (self.n, self.h, self.x);
        combine::<N>(n, weights, k, |i, sum| y[i] = x[i] + h * sum);
        self.slope(y, k, slot, at)
    }

    /// The slope of `y` at `at` in row `slot` of `k`; gives the first state whose slope is not finite.
    #[inline(always)]
    fn slope(
        &mut self,
        y: &[f64],
        k: &mut [f64],
        slot: usize,
        at: f64,
    ) -> Result<Option<Trial>, S::Error> {
        let n = self.n;
        let slope = &mut k[slot * n..][..n];
        self.system.rhs(at, y, slope)?;
        *self.evaluations += 1;
        let bad = self.system.undefined(at, y, slope)?;
        Ok(bad.map(|component| Trial::NotFinite { t: at, component }))
    }
}

impl Solver {
    /// A step with error control.
    pub(super) fn controlled<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        t_stop: Option<f64>,
    ) -> Result<StepInfo, StepError<S::Error>> {
        let t = self.t;
        if self.method == Method::Rodas {
            self.linearise(system)?;
        }
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
            let (t1, clipped) = self.end(natural, t_stop);
            let h = if clipped { t1 - t } else { natural };
            let trial = match self.x.len() {
                _ if self.method == Method::Rodas => self.attempt_implicit(system, h, t1),
                1 => self.attempt::<S, 1>(system, h, t1),
                2 => self.attempt::<S, 2>(system, h, t1),
                3 => self.attempt::<S, 3>(system, h, t1),
                4 => self.attempt::<S, 4>(system, h, t1),
                _ => self.attempt::<S, 0>(system, h, t1),
            };
            let trial = match trial.map_err(StepError::Rhs)? {
                Trial::Error(error) if error <= 1.0 => {
                    Trial::Error(error.max(self.unseen(system, h)))
                }
                trial => trial,
            };
            match trial {
                Trial::Error(error) if error <= 1.0 => {
                    if !clipped {
                        let next = self.controller.accepted(h, error);
                        self.h = if rejected > 0 { next.min(h) } else { next };
                    }
                    self.last_h = natural;
                    let last = if self.method == Method::Rk23 { 3 } else { 6 };
                    self.commit(t1, last);
                    self.fresh = self.method != Method::Rodas;
                    self.since = (self.since + 1) % CHECKED;
                    return Ok(StepInfo { t0: t, t1, error, rejected, clipped });
                }
                Trial::Error(error) => self.h = self.controller.rejected(h, error),
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

    /// The error of a trial, in what is allowed, where it is more than that and the estimate does not see it.
    /// The first step after a start is checked, then each eighth one, and the one that follows a doubtful one.
    fn unseen<S: OdeSystem + ?Sized>(&mut self, system: &mut S, h: f64) -> f64 {
        let implicit = self.method == Method::Rodas;
        if self.since != 0 && !(implicit && h > GROWN * self.checked) {
            return 0.0;
        }
        self.note_reached();
        let most = UNSEEN * (self.x.len() as f64).sqrt();
        let (places, length) = if implicit { (implicit::INSIDE, 1.0) } else { (PLACES, h) };
        let off = places.iter().map(|e| self.defect(system, 0, (e * h, length)) / most);
        let off = off.fold(0.0, f64::max);
        if off <= 1.0 {
            if off > NEAR {
                // So is the next step.
                self.since = CHECKED - 1;
            }
            self.checked = h;
        }
        // The steps of an explicit method follow its estimate.
        if implicit || off > 1.0 { off } else { 0.0 }
    }

    /// A step of fixed size.
    pub(super) fn fixed<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        size: f64,
        t_stop: Option<f64>,
    ) -> Result<StepInfo, StepError<S::Error>> {
        let t = self.t;
        self.h = size;
        self.prepare(system)?;
        let (t1, clipped) = self.end(size, t_stop);
        let h = t1 - t;
        if h.is_nan() || h <= 0.0 {
            return Err(StepError::Underflow { t, h: size });
        }
        let trial = match self.method {
            Method::Euler(_) => self.euler(h, t1),
            _ => self.classical(system, h, t1).map_err(StepError::Rhs)?,
        };
        if let Trial::NotFinite { t, component } = trial {
            return Err(StepError::NotFinite { t, component });
        }
        self.last_h = size;
        self.commit(t1, 4);
        self.fresh = !matches!(self.method, Method::Euler(_));
        Ok(StepInfo { t0: t, t1, error: 0.0, rejected: 0, clipped })
    }

    /// Slope at the committed state and a first step size, where they are missing.
    fn prepare<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
    ) -> Result<(), StepError<S::Error>> {
        let (t, n) = (self.t, self.x.len());
        self.scratch.0.resize(ROWS * n, 0.0);
        if !self.fresh {
            self.slope.resize(n, 0.0);
            system.rhs(t, &self.x, &mut self.slope).map_err(StepError::Rhs)?;
            self.statistics.evaluations += 1;
            let bad = system.undefined(t, &self.x, &mut self.slope).map_err(StepError::Rhs)?;
            if let Some(component) = bad {
                return Err(StepError::NotFinite { t, component });
            }
            self.fresh = true;
        }
        if self.h == 0.0 {
            let (y, dy) = self.scratch.0[..2 * n].split_at_mut(n);
            // The estimate of Rk23 misses the error of a first step that suits a method of order five.
            let order = if self.method == Method::Rk23 { 3.0 } else { 5.0 };
            self.h = self
                .options
                .initial_step(system, order, (t, &self.x, &self.slope), (y, dy))
                .map_err(StepError::Rhs)?;
            self.statistics.evaluations += 1;
        }
        Ok(())
    }

    /// One trial: stages, error, and, if it is small enough, the dense output.
    /// The new state is left in the scratch, followed by its slope.
    fn attempt<S: OdeSystem + ?Sized, const N: usize>(
        &mut self,
        system: &mut S,
        h: f64,
        t1: f64,
    ) -> Result<Trial, S::Error> {
        let n = if N > 0 { N } else { self.x.len() };
        let (t, x) = (self.t, &self.x[..n]);
        let (y, rest) = self.scratch.0[..ROWS * n].split_at_mut(n);
        let (inner, rest) = rest.split_at_mut(n);
        let (k, rise) = rest.split_at_mut((ROWS - 3) * n);
        k[..n].copy_from_slice(&self.slope);
        let evaluations = &mut self.statistics.evaluations;
        let mut stages = Stages::<S, N> { system, n, h, x, evaluations };
        let bogacki = self.method == Method::Rk23;
        let (nodes, rows, errors): (&[f64], &[&[f64]], &[f64]) =
            if bogacki { (&BOGACKI.0, &BOGACKI.1, &BOGACKI.2) } else { (&C, &A, &E) };
        let last = rows.len() - 1;
        for stage in 1..last {
            let at = if nodes[stage] == 1.0 { t1 } else { t + nodes[stage] * h };
            if let Some(bad) = stages.evaluate(rows[stage], y, k, stage, at)? {
                return Ok(bad);
            }
        }
        // The rise of each state is kept as it was before it was added to the state: a dense output
        // that ends at the rounded sum would bend back where a state begins to move from rest.
        combine::<N>(n, rows[last], k, |i, sum| {
            rise[i] = h * sum;
            y[i] = x[i] + rise[i];
        });
        if let Some(bad) = stages.slope(y, k, last, t1)? {
            return Ok(bad);
        }
        let error = stages.error(&self.options, errors, y, k);
        if error.is_nan() || error > 1.0 {
            return Ok(Trial::Error(if error.is_finite() { error } else { f64::MAX }));
        }
        let quintic = !bogacki && self.options.interpolant == Interpolant::Quintic;
        if quintic {
            for (extra, (weights, node)) in EXTRA_A.iter().zip(EXTRA_C).enumerate() {
                if let Some(bad) = stages.evaluate(weights, inner, k, 7 + extra, t + node * h)? {
                    return Ok(bad);
                }
            }
        }
        let slope = |stage: usize, i: usize| k[stage * n + i];
        let scale = 1.0 / h;
        if bogacki {
            let rows = self.path.open(t, t1, n, 4);
            for (i, row) in rows.chunks_exact_mut(4).enumerate() {
                hermite(row, scale, x[i], rise[i], h * slope(0, i), h * slope(3, i));
            }
        } else if quintic {
            let rows = self.path.open(t, t1, n, 6);
            for (i, row) in rows.chunks_exact_mut(6).enumerate() {
                let slopes = [slope(0, i), slope(6, i), slope(7, i), slope(8, i)];
                self::quintic(row, h, x[i], rise[i], slopes);
                per_second(row, scale);
            }
        } else {
            let rows = self.path.open(t, t1, n, 5);
            for (i, row) in rows.chunks_exact_mut(5).enumerate() {
                quartic(row, h, x[i], rise[i], |stage| slope(stage, i));
                per_second(row, scale);
            }
        }
        Ok(Trial::Error(error))
    }

    /// The classical method; its dense output is Hermite's cubic.
    fn classical<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        t1: f64,
    ) -> Result<Trial, S::Error> {
        let n = self.x.len();
        let (t, x) = (self.t, &self.x[..]);
        let (y, k) = self.scratch.0.split_at_mut(2 * n);
        let y = &mut y[..n];
        k[..n].copy_from_slice(&self.slope);
        let evaluations = &mut self.statistics.evaluations;
        let mut stages = Stages::<S, 0> { system, n, h, x, evaluations };
        for stage in 1..5 {
            let at = [t, t + 0.5 * h, t + 0.5 * h, t1, t1][stage];
            if let Some(bad) = stages.evaluate(RK4[stage], y, k, stage, at)? {
                return Ok(bad);
            }
        }
        let rows = self.path.open(t, t1, n, 4);
        for (i, row) in rows.chunks_exact_mut(4).enumerate() {
            hermite(row, 1.0 / h, x[i], y[i] - x[i], h * k[i], h * k[4 * n + i]);
        }
        Ok(Trial::Error(0.0))
    }

    fn euler(&mut self, h: f64, t1: f64) -> Trial {
        let n = self.x.len();
        let rows = self.path.open(self.t, t1, n, 2);
        for (i, row) in rows.chunks_exact_mut(2).enumerate() {
            row[0] = self.x[i];
            row[1] = self.slope[i];
            self.scratch.0[i] = self.x[i] + h * self.slope[i];
        }
        match self.scratch.0[..n].iter().position(|x| !x.is_finite()) {
            Some(component) => Trial::NotFinite { t: t1, component },
            None => Trial::Error(0.0),
        }
    }

    /// Takes the trial state over, and the slope of stage `last`, which is the one at its end.
    fn commit(&mut self, t1: f64, last: usize) {
        let n = self.x.len();
        self.t = t1;
        self.x.copy_from_slice(&self.scratch.0[..n]);
        self.slope.copy_from_slice(&self.scratch.0[(2 + last) * n..][..n]);
    }
}

/// From powers of θ = e/h to powers of e.
#[inline(always)]
fn per_second(row: &mut [f64], scale: f64) {
    let mut power = scale;
    for c in &mut row[1..] {
        *c *= power;
        power *= scale;
    }
}

/// Hermite's cubic from a state over its rise, given `h` times the slopes at both ends.
fn hermite(row: &mut [f64], scale: f64, x0: f64, rise: f64, d0: f64, d1: f64) {
    row.copy_from_slice(&[x0, d0, 3.0 * rise - 2.0 * d0 - d1, d0 + d1 - 2.0 * rise]);
    per_second(row, scale);
}

/// Shampine's quartic from a state, its rise and the seven stage slopes.
fn quartic(row: &mut [f64], h: f64, x0: f64, rise: f64, k: impl Fn(usize) -> f64) {
    let bend = h * k(0) - rise;
    let twist = rise - h * k(6) - bend;
    let last = h * D.iter().enumerate().fold(0.0, |sum, (stage, d)| sum + d * k(stage));
    row.copy_from_slice(&[x0, h * k(0), twist + last - bend, -twist - 2.0 * last, last]);
}

/// Fifth-order quintic from a state, its rise and four slopes: at both ends, 1/5, 1/2.
/// Differences from a parabola keep the small coefficients of smooth solutions small.
#[inline(always)]
fn quintic(row: &mut [f64], h: f64, x0: f64, rise: f64, [f0, f1, fa, fb]: [f64; 4]) {
    let bend = h * (f1 - f0);
    let data = [
        rise - (h * f0 + 0.5 * bend),
        h * (fa - f0) - EXTRA_C[0] * bend,
        h * (fb - f0) - EXTRA_C[1] * bend,
    ];
    row[0] = x0;
    row[1] = h * f0;
    for (slot, weights) in row[2..].iter_mut().zip(&QUINTIC) {
        *slot = weights[0] * data[0] + weights[1] * data[1] + weights[2] * data[2];
    }
    row[2] += 0.5 * bend;
}
