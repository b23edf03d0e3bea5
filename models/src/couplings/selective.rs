//! Selective correction: of a step with too large an error only the units that are sensitive are repeated.
//!
//! Gomes et al. 2017, 4.3.4; Verhoeven et al. 2008, *BDF compound-fast multirate transient
//! analysis with adaptive stepsize control*, section 2. All units go through the macro step (the compound
//! step). Signals that are further from what was told for their end than `tolerance` allows are sensitive;
//! the units that hear them are repeated, told these signals anew at the ends of equal parts of the step.
//! Other signals and units stand: nobody is told anything else of them, and who hears only those does what it
//! did. So the macro step follows the error of what stands, and the number of parts that of the rest:
//!
//! parts = (error/aim)^(1/p), p the power of the step with which the error goes,
//!
//! and more until it is small enough, or parts are as short as steps may be. Signals that leave their aim by
//! that are sensitive, too; where all are, the whole step is repeated with a shorter one.
use super::{
    Rehearsal,
    extrapolation::Cubic,
    failures::Step,
    trial::{Saved, Told},
};

/// How far below the aim parts are to stay.
const SAFETY: f64 = 0.9;

impl Rehearsal {
    /// A step to `until` with the error, by its aim, of what was not repeated.
    pub(super) fn selective(
        &mut self,
        until: i64,
        start: &Saved,
        tolerance: f64,
    ) -> Step<(Vec<Told>, Option<f64>)> {
        let span = until - self.trial.tick();
        let (mut parts, mut sensitive) = (1, vec![false; self.plan.policy.names.len()]);
        loop {
            let (told, off) = self.in_parts(until, parts, &sensitive, tolerance)?;
            let worst = off.iter().fold(0.0f64, |a, &b| a.max(b));
            let before = (parts, sensitive.clone());
            sensitive.iter_mut().zip(&off).for_each(|(s, off)| *s |= *off > 1.0);
            if worst > 1.0 {
                let (shortest, power) = self.plan.policy.pace.limits();
                let factor = libm::ceil(libm::pow(worst, 1.0 / power) / SAFETY).min(1e6) as i64;
                parts = parts.saturating_mul(factor.max(2)).min((span / shortest).max(1));
            }
            let all = sensitive.iter().all(|s| *s);
            if all || (parts, &sensitive) == (before.0, &before.1) {
                let stands = off.iter().zip(&sensitive).filter(|(_, s)| all || !**s);
                return Ok((told, Some(stands.fold(0.0, |worst, (off, _)| worst.max(*off)))));
            }
            self.plan.refused += 1;
            self.trial.restore(start)?;
        }
    }

    /// A step in which `sensitive` signals are told anew after each of so many parts, and how far all
    /// were from what was told, by their aim.
    fn in_parts(
        &mut self,
        until: i64,
        parts: i64,
        sensitive: &[bool],
        tolerance: f64,
    ) -> Step<(Vec<Told>, Vec<f64>)> {
        let (mut all, mut worst) = (Vec::new(), vec![0.0f64; sensitive.len()]);
        for part in 0..parts {
            let now = self.trial.tick();
            let next = now + (until - now) / (parts - part);
            if part == 0 {
                self.trial.exchange();
            } else {
                self.trial.exchange_some(sensitive);
            }
            let each = (0u16..).zip(self.predicted(if part == 0 { until } else { next }));
            let told = |(port, _): &(u16, Cubic)| part == 0 || sensitive[usize::from(*port)];
            all.push(self.trial.tell_some(each.filter(told))?);
            let end = self.trial.run(next, self.plan.policy.interrupts)?;
            let last = end == until || end < next;
            let off = self.off(tolerance);
            for (k, off) in off.into_iter().enumerate().filter(|(k, _)| last || sensitive[*k]) {
                worst[k] = worst[k].max(off);
            }
            if last {
                break;
            }
        }
        Ok((all, worst))
    }

    /// How far each signal is from what was told, by its aim.
    fn off(&self, tolerance: f64) -> Vec<f64> {
        let each = self.trial.ends().into_iter().zip(self.trial.held());
        each.map(|(y, u)| (y - u).abs() / (tolerance * (1.0 + y.abs()))).collect()
    }
}
