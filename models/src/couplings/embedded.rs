//! The error of a macro step from what the solvers inside the units make public: how their solutions go on.
//!
//! *Embedded solver method*, Gomes et al. 2017, 4.3.4, which knows no master that does it.
//! Here what is public is how each output begins to go on from the end of a step, read off the unit's own
//! solution: once told what receivers hold there, and once told what is true. The difference of the two
//! for inputs that are off by e(H),
//!
//! Δ(τ) = Δ₀ + Δ₁ τ + Δ₂ τ²/2 + O(τ³),
//!
//! is the response of the units to the coupling error. How that grew within the step is known of the told
//! polynomials, e(s) = e(H) P(s)/P(H), with P the product of s - sᵢ over the times of the samples, or
//! s^(q+1) for slopes of the sources. So the outputs are off by
//!
//! Δ₀ + Δ₁ ∫ P(s) ds / P(H) + Δ₂ ∫ (H - s) P(s) ds / P(H),
//!
//! up to O(H) of that. As with the last stage of an embedded pair of a solver nothing is run twice: each
//! of the two courses from the end is an eighth of the step. Iterated steps are told what is true
//! at their end, so there is nothing to see.
use super::{
    Estimate, Extrapolation, Line, Rehearsal,
    extrapolation::Cubic,
    failures::Step,
    trial::{Progress, Told},
    trust::{integrated, product},
};
use crate::{
    maths::poly::eval,
    signal::{Timer, value::Flag},
};

/// Between the looks at outputs that go on lies this part of the step.
const PART: i64 = 32;
/// Slopes and second derivatives at the first of five looks.
const SLOPE: [f64; 5] = [-25.0, 48.0, -36.0, 16.0, -3.0];
const BEND: [f64; 5] = [35.0, -104.0, 114.0, -56.0, 11.0];

/// How all signals go on: values, first and second derivatives.
pub(super) type Outlook = [Vec<f64>; 3];

/// The zeros of the coupling error of a line in the step that began at tick `since`, in seconds from there.
fn zeros(line: &Line, e: &Extrapolation, since: i64, timer: &Timer) -> Vec<f64> {
    if e.follows_source() || line.samples().is_empty() {
        return vec![0.0; e.order + 1];
    }
    line.samples().iter().take(e.order + 1).map(|s| timer.seconds(since, s.0)).collect()
}

impl Rehearsal {
    /// A step to `until`, and its error by its aim.
    pub(super) fn embedded(
        &mut self,
        until: i64,
        tolerance: f64,
    ) -> Step<(Vec<Told>, Option<f64>)> {
        let begun = self.trial.tick();
        let told = self.leg(until)?;
        if self.ends_otherwise(until) {
            return Ok((told, Some(1.0)));
        }
        let ends = self.trial.ends();
        let still = vec![0.0; ends.len()];
        let held = self.outlook((&self.trial.held(), &still), until - begun)?;
        let free = self.outlook((&ends, &still), until - begun)?;
        let (Some(held), Some(free)) = (held, free) else { return Ok((told, Some(1.0))) };
        let weights = self.weights();
        let off =
            |k: usize| -> f64 { (0..3).map(|n| weights[n] * (free[n][k] - held[n][k])).sum() };
        let all = self.trial.answers();
        let better: Vec<f64> = all.iter().enumerate().map(|(k, y)| y + off(k)).collect();
        Ok((told, Some(Estimate::missed(&better, &all, tolerance))))
    }

    /// Whether the step just made was cut short by an event, or a signal jumps at its end: then nothing can
    /// be compared.
    pub(super) fn ends_otherwise(&self, until: i64) -> bool {
        let Progress { timer, lines, .. } = &self.trial.now;
        let at = timer.now();
        at != until || lines.iter().any(|l| l.left(at, timer) != l.value(at, timer))
    }

    /// How all signals go on from here with inputs that begin with `u` and slopes, after a step of so many
    /// ticks; unknown where an event comes at once.
    pub(super) fn outlook(
        &mut self,
        (u, slopes): (&[f64], &[f64]),
        step: i64,
    ) -> Step<Option<Outlook>> {
        let (start, now) = (self.trial.save()?, self.trial.tick());
        let part = (step / PART).max(1);
        let told = u.iter().zip(slopes).map(|(&u, &slope)| [u, slope, 0.0, 0.0]);
        self.trial.tell(&told.collect::<Vec<Cubic>>())?;
        let mut looks: [Vec<f64>; 5] = Default::default();
        for (k, look) in (0i64..).zip(&mut looks) {
            self.trial.run(now + k * part, false)?;
            *look = self.trial.exactly();
            look.extend(self.trial.other());
        }
        let jump = |l: &Line| l.heard_last().is_some_and(|s| s.flag == Flag::Jump);
        let jumps = self.trial.now.lines.iter().any(|l| l.since() > Some(now) && jump(l));
        self.trial.restore(&start)?;
        let h = self.trial.now.timer.seconds(now, now + part);
        let sum = |weights: [f64; 5], unit: f64| -> Vec<f64> {
            let of = |k| weights.iter().zip(&looks).map(|(w, y): (_, &Vec<f64>)| w * y[k]).sum();
            (0..looks[0].len())
                .map(|k| {
                    let sum: f64 = of(k);
                    sum / (12.0 * unit)
                })
                .collect()
        };
        let (slope, bend) = (sum(SLOPE, h), sum(BEND, h * h));
        let [y, ..] = looks;
        Ok((!jumps).then_some([y, slope, bend]))
    }

    /// Weights of values, slopes and second derivatives, at the end of the step just made, in its
    /// error: those of the line of lowest order, by which units answer.
    fn weights(&self) -> [f64; 3] {
        let Progress { timer, lines, last, .. } = &self.trial.now;
        let each = lines.iter().zip(&self.plan.policy.extrapolations);
        let Some((line, e)) = each.min_by_key(|(_, e)| e.order) else { return [0.0; 3] };
        let step = timer.seconds(*last, timer.now());
        let course = product(zeros(line, e, *last, timer).into_iter());
        let (once, end) = (integrated(&course), eval(&course, step));
        [1.0, eval(&once, step) / end, eval(&integrated(&once), step) / end]
    }
}
