//! How far the series of a step are from fulfilling the equations.
//!
//! The residual of a state is the slope of its series less the right-hand side. Over a step it has moved the
//! state by the step's length times as much, roughly. An algebraic state is off by Newton's correction.
//!
//! In implicit steps the same matrix tells how far all states are off: a fast state is led back to its slow motion, so
//! that it is off by its residual over its rate. Estimates at the end know nothing of it: a step that is long beside a
//! relaxation ends where that has ended, and its polynomial goes there slowly.

use super::{Method, OdeSystem, Solver};
use crate::maths::poly;

fn is_finite(values: &[f64]) -> bool {
    values.iter().all(|x| x.is_finite())
}

impl Solver {
    /// How far the states are off from number `first` on, in tolerances, `e` seconds after the begin of the
    /// last step or trial, which is used for `length` seconds. Where the derivatives are not defined
    /// that is zero; where the algebraic states do not follow from the equations, it is infinite.
    pub(super) fn defect<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        first: usize,
        (e, length): (f64, f64),
    ) -> f64 {
        let (n, differential) = (self.x.len(), system.differential());
        let t = self.path.start() + e;
        let mut memory = std::mem::take(&mut self.scratch.0);
        // The first rows have the end of a trial.
        memory.resize(memory.len().max(4 * n), 0.0);
        let (x, rest) = memory[2 * n..].split_at_mut(n);
        let d = &mut rest[..n];
        for (i, x) in x.iter_mut().enumerate() {
            *x = poly::eval(self.path.row(i), e);
        }
        self.statistics.evaluations += 1;
        let mut done = system.rhs(t, x, d);
        if done.is_ok() && !is_finite(&d[..differential]) {
            done = self.rate_beyond(system, (t, x), d);
        }
        let off = done.and_then(|()| {
            let (moving, residuals) = d.split_at_mut(differential);
            for (i, d) in moving.iter_mut().enumerate() {
                *d = length * (poly::eval_slope(self.path.row(i), e).1 - *d);
            }
            if first < differential && self.method == Method::Rodas {
                residuals.iter_mut().for_each(|g| *g = -*g);
                return Ok(self.scratch.1.correct(d).then_some(0.0));
            }
            let rounding = match residuals {
                [] => 0.0,
                _ => system.corrections(t, x, residuals)?,
            };
            Ok(Some(rounding))
        });
        let largest = off.ok().flatten().map_or(f64::INFINITY, |rounding| {
            let magnitude = |i: usize| self.path.row(i)[0].abs().max(x[i].abs());
            let most = (differential..n).map(magnitude).fold(0.0, f64::max);
            if rounding > 0.0 {
                self.rounded = rounding * most;
            }
            let size = |(i, d): (usize, &f64)| {
                let rounded = if i < differential { 0.0 } else { self.rounded };
                d.abs() / (self.options.scale(i, magnitude(i)) + rounded)
            };
            d.iter().enumerate().skip(first).map(size).fold(0.0, f64::max)
        });
        self.scratch.0 = memory;
        largest
    }

    /// The rate where the branches that are held have no finite value: of a step that began there, so that its series
    /// are those of the branches that hold. Else the place lies behind an event.
    #[cold]
    fn rate_beyond<S: OdeSystem + ?Sized>(
        &self,
        system: &mut S,
        (t, x): (f64, &[f64]),
        d: &mut [f64],
    ) -> Result<(), S::Error> {
        let start: Vec<f64> = (0..x.len()).map(|i| self.path.row(i)[0]).collect();
        let (mut there, moving) = (vec![0.0; x.len()], system.differential());
        system.rhs(self.path.start(), &start, &mut there)?;
        if !is_finite(&there[..moving]) && system.beyond(t, x, &mut there)? {
            d.copy_from_slice(&there);
        }
        Ok(())
    }
}
