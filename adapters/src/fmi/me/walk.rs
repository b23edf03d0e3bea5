//! The solver's steps, and the indicators on them.
use super::{
    super::{instance::CallError, library::Status},
    Due, ExchangeUnit, Field,
};
use superdense_models::{
    signal::{Held, NEVER},
    solve::ode::{Flip, Interval, Off, StepError},
};

impl ExchangeUnit {
    /// Finds what is due next, and the segments of the outputs until then.
    pub(super) fn look_ahead(&mut self) -> Result<(), CallError> {
        let now = self.data.timer.now();
        let mut due = self.known();
        while due.is_none() {
            due = self.step()?;
        }
        let (tick, reason) = due.unwrap_or((NEVER, Due::Never));
        if tick <= now {
            // Segments follow after the next event.
            self.refresh()?;
            self.queue_values();
            self.data.due = (tick, reason);
            return Ok(());
        }
        let end = self.data.timer.seconds(now, tick).min(self.data.solver.time());
        let valid = self.pieces(end)?;
        self.data.due = (tick, reason);
        if valid < end {
            let part = self.data.timer.within(valid).max(now + 1);
            if part < tick {
                self.data.due = (part, Due::Piece);
            }
        }
        Ok(())
    }

    /// The known part of the step that the solver has made.
    fn known(&self) -> Option<(i64, Due)> {
        let (now, (tick, reason)) = (self.data.timer.now(), self.data.found);
        let ahead = self.data.solver.time() >= self.tick() && tick > now;
        (ahead && !self.data.told).then_some((tick, reason))
    }

    /// One step of the solver; gives what is due in it, or at its end. Steps within a tick give
    /// nothing.
    fn step(&mut self) -> Result<Option<(i64, Due)>, CallError> {
        let now = self.data.timer.now();
        self.tell()?;
        if self.data.wanted.take().is_some() {
            return Ok(Some(self.found(now + 1, Due::State)));
        }
        if self.data.terminate {
            return Ok(Some(self.found(now + 1, Due::Step)));
        }
        let from = self.data.solver.time();
        let timed = self.timed();
        let stop = timed.map(|(tick, _)| self.data.timer.seconds(now, tick));
        let near = self.tick() / 1024.0;
        let there = |at: f64| timed.filter(|_| stop.is_some_and(|stop| stop - at < near));
        if let Some((tick, reason)) = there(from) {
            return Ok(Some(self.found(tick, reason)));
        }
        self.solve(stop)?;
        let end = self.data.solver.time();
        if let Some(tick) = self.locate(from, end)? {
            let (tick, reason) = timed.filter(|t| t.0 <= tick).unwrap_or((tick, Due::State));
            return Ok(Some(self.found(tick, reason)));
        }
        if let Some((tick, reason)) = there(end) {
            return Ok(Some(self.found(tick, reason)));
        }
        if end < self.tick() {
            return Ok(None);
        }
        let last = self.data.timer.within(end).max(now + 1);
        Ok(Some(self.found(last, Due::Step)))
    }

    /// Tick and reason of what is due by time alone, to which the states are solved for (R14): an event of the FMU's
    /// clock, in this tick if it has come already, or another whole number at an input.
    fn timed(&mut self) -> Option<(i64, Due)> {
        let (timer, now) = (self.data.timer, self.data.timer.now());
        let clock = self.data.next.map(|next| {
            let by = next - self.field().absolute(0.0);
            let here = by <= 0.0 && next > self.data.handled;
            (if here { now } else { timer.event(now, by.max(0.0)) }, Due::Time)
        });
        let age = |held: &Held| timer.seconds(held.since(), now);
        let flip = self.settings.whole.first_flip(&self.data.inputs, age);
        self.data.flip = flip.map_or(NEVER, |by| timer.event(now, by));
        let flip = flip.map(|_| (self.data.flip, Due::Input));
        clock.into_iter().chain(flip).min_by_key(|(tick, _)| *tick)
    }

    fn found(&mut self, tick: i64, reason: Due) -> (i64, Due) {
        self.data.found = (tick, reason);
        (tick, reason)
    }

    /// The solver steps.
    fn solve(&mut self, stop: Option<f64>) -> Result<(), CallError> {
        let mut field = Field {
            instance: &self.instance,
            settings: &self.settings,
            inputs: &self.data.inputs,
            start: &self.data.start,
            timer: self.data.timer,
            extra: 0,
            refused: None,
        };
        let stepped = self.data.solver.step(&mut field, stop);
        self.data.extra += field.extra;
        let refused = field.refused.take();
        self.data.told = false;
        let at = |t: f64| self.field().absolute(t);
        let call = match stepped {
            Ok(_) => return Ok(()),
            Err(StepError::Rhs(e)) => return Err(e),
            Err(_) if refused.is_some() => return refused.map_or(Ok(()), Err),
            Err(StepError::NotFinite { t, component }) => {
                format!("derivative of state {} is not finite at {} s", component + 1, at(t))
            }
            Err(StepError::Underflow { t, .. } | StepError::Rejections { t, .. }) => format!(
                "no step is short enough for the tolerance at {} s (the FMU's derivatives jump \
                 without an event, or `tolerance` is out of reach: raise it, or use another \
                 `solver`)",
                at(t)
            ),
            Err(other) => format!("the solver failed: {other}"),
        };
        Err(CallError { call, status: Status::Ok, log: Vec::new() })
    }

    /// The first tick in a part of the step at which an indicator has left its domain.
    fn locate(&mut self, from: f64, end: f64) -> Result<Option<i64>, CallError> {
        if self.settings.indicators == 0 {
            return Ok(None);
        }
        let mut locator = std::mem::take(&mut self.locator);
        let (mut sides, mut past) = (self.data.sides.clone(), self.data.past.clone());
        let (mut flips, mut failed, mut looks): (Vec<Flip>, _, u64) = (Vec::new(), None, 0);
        let fresh = self.tick() / 512.0;
        let (field, solver) = (self.field(), &self.data.solver);
        let mut x = vec![0.0; self.settings.states];
        let look = |t: f64, z: &mut [f64]| {
            looks += 1;
            solver.dense(t, &mut x);
            if let Err(e) = field.indicators(t, &x, z) {
                z.fill(f64::NAN);
                failed.get_or_insert(e);
            }
        };
        let within = Interval { start: from, end, fresh };
        let all = |_: usize| true;
        let went =
            locator.sample(within, &mut sides, all, look, &mut Off(0.0), (&mut flips, &mut past));
        self.locator = locator;
        self.data.counts.indicator_evaluations += looks;
        if let Some(e) = failed {
            return Err(e);
        }
        if let Err(bad) = went {
            let at = self.field().absolute(bad.t);
            let call = format!("event indicator {} is not finite at {at} s", bad.indicator + 1);
            return Err(CallError { call, status: Status::Ok, log: Vec::new() });
        }
        let first = flips.iter().min_by(|a, b| a.t.total_cmp(&b.t)).copied();
        let Some(flip) = first else {
            (self.data.sides, self.data.past) = (sides, past);
            return Ok(None);
        };
        self.left(flip).map(Some)
    }

    /// The first tick from a flip on at which the indicator is on its new side.
    fn left(&mut self, flip: Flip) -> Result<i64, CallError> {
        let timer = self.data.timer;
        let first = timer.event(timer.now(), flip.t);
        let (k, old) = (usize::from(flip.relation), self.data.sides[usize::from(flip.relation)]);
        let mut z = vec![0.0; self.settings.indicators];
        let mut gone = |unit: &mut Self, tick: i64| -> Result<bool, CallError> {
            let t = timer.seconds(timer.now(), tick);
            // At the time that the FMU gets at its event: sums of seconds may round beyond it.
            let own = timer.resolution().seconds(tick);
            unit.field().indicators_at(own, (t, &unit.states(t)), &mut z)?;
            unit.data.counts.indicator_evaluations += 1;
            Ok(z[k].signum() != old)
        };
        let last = timer.event(timer.now(), self.data.solver.time());
        let (mut inside, mut by) = (first, 1);
        if gone(self, first)? {
            return Ok(first);
        }
        // Twice as far each time, then halved.
        let mut outside = loop {
            let next = (inside + by).min(last.max(inside + 1));
            if gone(self, next)? {
                break next;
            }
            if next >= last {
                // It has come back within a tick.
                return Ok(first);
            }
            (inside, by) = (next, 2 * by);
        };
        while outside - inside > 1 {
            let middle = inside + (outside - inside) / 2;
            if gone(self, middle)? {
                outside = middle;
            } else {
                inside = middle;
            }
        }
        Ok(outside)
    }
}
