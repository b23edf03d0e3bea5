//! Steps by Taylor series.
//!
//! The step follows Jorba & Zou 2005, "A software package for the numerical integration of ODEs by
//! means of high-order Taylor methods", Experimental Mathematics 14, 99-117, section 3: the last
//! two coefficients estimate the radius of convergence; the step is that part of it at which they
//! come down to the tolerance. Coefficients that vanish, and singularities that few of them show, hide
//! from that: so the series are put into the equations in the middle and at the end, and a step on which
//! these do not hold is halved.

use super::{Method, OdeSystem, Solver, StepError, StepInfo};

/// Defect of a step, in tolerances, from which on it is not that of a series that was cut off, whose last
/// terms are at tolerance.
const DEFECT: f64 = 64.0;
/// How many times smaller than the first half of a series its last term is at least.
const BESIDE: f64 = 1e3;

/// Defect of a step that was halved, as its series do not hold far enough: there they end at once, as on the other
/// branch of a square root, and no last term tells.
const HALVED: f64 = 8.0;

impl Solver {
    /// A step on which all states are parabolas, as long as steps may be: `series(i, x)` are the
    /// coefficients of state `i`. Gives whether that was a step; else nothing has changed.
    #[inline(always)]
    pub(crate) fn parabolic(
        &mut self,
        t_stop: Option<f64>,
        mut series: impl FnMut(usize, f64) -> [f64; 3],
    ) -> bool {
        let (t, natural) = (self.t, self.options.longest());
        let short = natural < self.options.min_step || t + 0.1 * natural == t;
        if short || t_stop.is_some_and(|stop| stop.is_nan() || stop <= t) {
            return false;
        }
        let (t1, _) = self.end(natural, t_stop);
        let rows = self.path.open(t, t1, self.x.len(), 3).as_chunks_mut::<3>().0;
        let (e, mut sum) = (t1 - t, 0.0);
        for (i, (x, c)) in self.x.iter_mut().zip(&mut *rows).enumerate() {
            *c = series(i, *x);
            *x = (c[2] * e + c[1]) * e + c[0];
            sum += 0.0 * *x;
        }
        // Zero times what is not finite is NaN.
        if sum != 0.0 {
            self.x.iter_mut().zip(&*rows).for_each(|(x, c)| *x = c[0]);
            return false;
        }
        (self.t, self.h, self.last_h) = (t1, natural, natural);
        self.error = 0.0;
        self.statistics.evaluations += 1;
        self.statistics.accepted += 1;
        true
    }

    /// A step by the series of this order; of a fixed size, if one is given.
    pub(super) fn expanded<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        order: usize,
        size: Option<f64>,
        t_stop: Option<f64>,
    ) -> Result<StepInfo, StepError<S::Error>> {
        let (t, n, stride) = (self.t, self.x.len(), order + 1);
        let rows = self.path.open(t, t, n, stride);
        let length = system.expand(t, &self.x, stride, rows).map_err(StepError::Rhs)?;
        let length = length.ok_or(StepError::NoSeries)?;
        self.path.close(t, length);
        self.statistics.evaluations += 1;
        let natural = match size {
            Some(h) => h,
            None if length < stride => f64::INFINITY,
            None if self.method == Method::Closed => {
                let certain = system.speed(t, &self.x).map_or(0.0, |speed| certain(order, speed));
                self.radius(order).max(certain)
            }
            None => self.radius(order),
        };
        let mut natural = natural.min(self.options.longest());
        if natural < self.options.min_step || t + 0.1 * natural == t {
            let bad = self.bad_series();
            return Err(match bad {
                Some(component) => StepError::NotFinite { t, component },
                None => StepError::Underflow { t, h: natural },
            });
        }
        let (mut t1, mut clipped) = self.end(natural, t_stop);
        let mut error = 0.0;
        if size.is_none() && length == stride && self.method != Method::Closed {
            self.note_reached();
            let sound;
            (sound, error) = self.sound(system, t1 - t);
            if sound < t1 - t {
                (t1, clipped, natural) = (t + sound, false, sound);
            }
            if t + 0.1 * natural == t {
                return Err(StepError::Underflow { t, h: natural });
            }
        }
        self.path.close(t1, length);
        self.path.eval(t1, &mut self.x);
        if let Some(component) = self.x.iter().position(|x| !x.is_finite()) {
            return Err(self.not_finite(component, t1));
        }
        (self.t, self.h, self.last_h) = (t1, natural, natural);
        Ok(StepInfo { t0: t, t1, error, rejected: 0, clipped })
    }

    /// How far the series follow the equations: `h`, halved until they do, and the error on the way in tolerances. As a
    /// rule a step is as long as these allow; where states are far smaller than their tolerances, it is not.
    fn sound<S: OdeSystem + ?Sized>(&mut self, system: &mut S, mut h: f64) -> (f64, f64) {
        // A function that is not defined there lies behind an event, or is an error later.
        let mut most = DEFECT;
        loop {
            let places = [0.5 * h, h].into_iter();
            let off = places.map(|e| match self.defect(system, 0, (e, h)) {
                // Exact, or not defined: that lies behind an event.
                0.0 => f64::EPSILON,
                off => off,
            });
            let off = off.fold(0.0, f64::max);
            if off <= most || h <= self.options.min_step {
                return (h, off.min(1.0));
            }
            h *= 0.5;
            most = HALVED;
        }
    }

    /// Why state `component` is not finite at `t1`: its series is not, or it has no sum there. The
    /// solver keeps its state.
    #[cold]
    fn not_finite<E>(&mut self, component: usize, t1: f64) -> StepError<E> {
        let t = self.t;
        for (i, x) in self.x.iter_mut().enumerate() {
            *x = self.path.row(i)[0];
        }
        match self.bad_series() {
            Some(component) => StepError::NotFinite { t, component },
            None => StepError::NotFinite { t: t1, component },
        }
    }

    /// The first state whose series is not finite.
    fn bad_series(&self) -> Option<usize> {
        let finite = |row: &[f64]| row.iter().all(|c| c.is_finite());
        (0..self.path.dim()).find(|&i| !finite(self.path.row(i)))
    }

    /// The longest step at which the last two terms of each state's series are within tolerance.
    fn radius(&self, order: usize) -> f64 {
        let closed = self.method == Method::Closed;
        let mut shortest = f64::INFINITY;
        for last in [order - 1, order] {
            // Over all states: powers are taken once.
            let mut largest = 0.0_f64;
            for i in 0..self.path.dim() {
                let row = self.path.row(i);
                let c = row[last].abs();
                if c == 0.0 {
                    continue;
                }
                if closed {
                    shortest = shortest.min(entire(row, last));
                } else {
                    largest = largest.max(c / self.options.scale(i, row[0].abs()));
                }
            }
            if largest > 0.0 {
                shortest = shortest.min(libm::pow(largest, -1.0 / last as f64));
            }
        }
        if shortest == f64::INFINITY {
            // Nothing is known from coefficients that vanish; grow carefully.
            shortest = if self.h > 0.0 { 10.0 * self.h } else { 1e-3 };
        }
        if closed { shortest } else { self.convergent(order, shortest) }
    }

    /// The step, or where a branch has just begun the longest one on which the last term of each state's series is
    /// small beside its first half. Behind the start of a square root series diverge within the tolerance: the sign of
    /// what has just begun to grow would be that of the last term.
    fn convergent(&self, order: usize, mut step: f64) -> f64 {
        // Series that begin there converge about as far as it is back to it.
        let back =
            (self.t - self.start).max(1e-14 * self.t.abs()).max(16.0 * self.options.min_step);
        let mut high = libm::pow(step, (order - 1) as f64);
        for i in 0..self.path.dim() {
            let row = self.path.row(i);
            let last = row[order].abs() * BESIDE;
            let small = last * high * step <= f64::EPSILON * row[0].abs();
            if step <= back || small || last * high <= row[1].abs() {
                continue;
            }
            let longest = |k: usize| libm::pow(row[k].abs() / last, 1.0 / (order - k) as f64);
            let longest = (1..=order / 2).map(longest).fold(back, f64::max);
            if longest < step {
                step = longest;
                high = libm::pow(step, (order - 1) as f64);
            }
        }
        step
    }
}

/// A step on which the term of power `order - 1`, so those behind it too, certainly come down to 1e-17 of the
/// states, for a system that changes by itself as often as `speed` per second at most, and is driven by powers
/// of time up to `power`.
///
/// That is the measure where a series on its own gives none: that of a state which others have yet to reach
/// begins with next to nothing, and all that comes from them is large beside that.
fn certain(order: usize, (speed, power): (f64, usize)) -> f64 {
    let last = order - 1;
    // Terms that begin with the power `first`, which the matrix carries on.
    let from = |first: usize| {
        let factorials: f64 = (first + 1..=last).map(|k| k as f64).product();
        libm::pow(1e-17 * factorials, 1.0 / (last - first) as f64)
    };
    from(0).min(from(power + 1)) / speed
}

/// For the series of an entire function: where its term of power `last` comes down to 1e-17 of
/// its first term that is not zero, whatever the scale of the state.
fn entire(row: &[f64], last: usize) -> f64 {
    let first = row.iter().position(|&c| c != 0.0).unwrap_or(0);
    if first == last {
        return f64::INFINITY;
    }
    let power = 1.0 / (last - first) as f64;
    libm::pow(1e-17 * (row[first] / row[last]).abs(), power)
}
