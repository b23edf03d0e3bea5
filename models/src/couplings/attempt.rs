//! A macro step tried out, with its error as an estimate of `trust.rs` wants it.
use super::{
    Correction, Estimate, Policy, Rehearsal,
    failures::Step,
    trial::{Progress, Saved, Told},
    trust::residual,
};

impl Rehearsal {
    /// A step to `until`, with the ratio of its error and its aim, if that is estimated.
    pub(super) fn attempt(&mut self, until: i64, start: &Saved) -> Step<(Vec<Told>, Option<f64>)> {
        let tolerance = self.plan.policy.pace.tolerance();
        match (tolerance, self.plan.rehearse.estimate) {
            (None, _) => Ok((self.leg(until)?, None)),
            (Some(tolerance), _) if self.plan.rehearse.correction == Correction::Selective => {
                self.selective(until, start, tolerance)
            }
            (Some(tolerance), Estimate::Doubling) => {
                self.leg(until)?;
                let (whole, end) = (self.trial.answers(), self.trial.tick());
                let part = self.half();
                self.trial.restore(start)?;
                let middle = i64::midpoint(self.trial.tick(), end);
                let mut told = self.leg(middle)?;
                if self.trial.tick() == middle && middle < end {
                    told.extend(self.leg(end)?);
                }
                let halves = self.trial.answers();
                // Cut short by an event: nothing can be compared.
                let same = self.trial.tick() == end;
                let ratio = Estimate::doubling(part, &whole, &halves, tolerance);
                Ok((told, Some(if same { ratio } else { 1.0 })))
            }
            (Some(tolerance), Estimate::MultiOrder) => {
                let (told, ratio) = self.twice(until, start, tolerance)?;
                Ok((told, Some(ratio)))
            }
            (Some(tolerance), Estimate::Embedded) => self.embedded(until, tolerance),
            (Some(tolerance), Estimate::ParallelEmbedded) => {
                self.parallel_embedded(until, tolerance)
            }
            (Some(tolerance), Estimate::Conservation) => {
                let last = self.trial.tick();
                let told = self.leg(until)?;
                let Policy { bonds, extrapolations, .. } = &self.plan.policy;
                let Progress { timer, lines, .. } = &self.trial.now;
                let span = (last, timer.now());
                let ratio = residual(bonds, (lines, extrapolations), span, timer, tolerance);
                Ok((told, Some(ratio)))
            }
            (Some(tolerance), estimate) => {
                let (told, first) = self.leg_with_first(until)?;
                let last = self.trial.answers();
                let ratio = if estimate == Estimate::Milne {
                    Estimate::milne(&self.orders(), &first, &last, tolerance)
                } else {
                    Estimate::missed(&self.trial.held(), &last, tolerance)
                };
                Ok((told, Some(ratio)))
            }
        }
    }

    /// A step, compared with how it ends when receivers are told polynomials of higher order. That is not
    /// known where an event comes in between, or where there are too few samples yet: then it is
    /// compared with what was told - which says nothing of a step that was corrected to just that, and
    /// there with how it ended before.
    fn twice(&mut self, until: i64, start: &Saved, aim: f64) -> Step<(Vec<Told>, f64)> {
        let own = self.plan.policy.extrapolations.clone();
        let before = self.plan.rehearse.iteration.clone();
        let each = self.plan.policy.extrapolations.iter_mut();
        each.for_each(|e| *e = Estimate::raised(*e));
        let higher = self.leg(until);
        self.plan.policy.extrapolations = own;
        higher?;
        let (better, end) = (self.trial.answers(), self.trial.tick());
        self.trial.restore(start)?;
        self.plan.rehearse.iteration = before;
        let (told, first) = self.leg_with_first(until)?;
        let ends = self.trial.answers();
        let each = self.trial.now.lines.iter().zip(&self.plan.policy.extrapolations);
        let known = each.clone().all(|(line, e)| e.reaches(line, e.order + 1));
        let same = self.trial.tick() == end;
        let ratio = if known && same {
            Estimate::missed(&better, &ends, aim)
        } else if self.plan.rehearse.iteration.is_some() {
            let reached = each.map(|(line, e)| e.order.min(line.samples().len().saturating_sub(1)));
            Estimate::milne(&reached.collect::<Vec<_>>(), &first, &ends, aim)
        } else {
            Estimate::missed(&self.trial.held(), &ends, aim)
        };
        Ok((told, ratio))
    }

    /// Part of the difference between the step just made and its halves that is the halves' error: of
    /// the signal of lowest order, by which units answer, and the samples that it went through.
    fn half(&self) -> f64 {
        let Progress { timer, lines, last, .. } = &self.trial.now;
        let each = lines.iter().zip(&self.plan.policy.extrapolations);
        let Some((line, e)) = each.min_by_key(|(_, e)| e.order) else { return 1.0 };
        let sampled = self.plan.rehearse.iteration.is_none() && !e.follows_source();
        let step = timer.seconds(*last, timer.now());
        let place = |s: &(i64, f64)| timer.seconds(*last, s.0) / step;
        let samples: Vec<f64> = line.samples().iter().take(e.order + 1).map(place).collect();
        Estimate::half(e.order, if sampled { &samples } else { &[] })
    }

    fn orders(&self) -> Vec<usize> {
        self.plan.policy.extrapolations.iter().map(|e| e.order).collect()
    }
}
