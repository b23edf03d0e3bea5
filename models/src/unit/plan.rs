//! Silent steps, and the plan for what they find.
use super::{
    decide::Instant,
    readers::Pending,
    wrapper::{Action, Cause, Done, Plan, Scratch, Unit},
};
use crate::{
    maths::rounding,
    signal::value::Value,
    solve::{
        UnitError,
        core::{Advance, Core},
        equations::{Equations, EventSpec, Trigger},
    },
};
use std::sync::Arc;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// The tick (after the last transition) of the next time event.
    #[inline(never)]
    pub(super) fn next_time_event(&self) -> Option<i64> {
        let last = self.scene.frame.last;
        let next = |t: &Trigger| t.next(last, false).map(|at| at - last);
        self.scene.equations.events().iter().filter_map(|e| next(&e.trigger)).min()
    }

    /// One advance of the core, which begins in tick `begun`, and the plan for what it found.
    // Not inlined: the loop around it, which mostly goes round once, keeps nothing in between.
    #[inline(never)]
    pub(super) fn silent_step(&mut self, begun: i64) -> Done {
        if self.timed || !self.readers.timed.is_empty() {
            self.timed_step(begun)
        } else {
            self.step(begun, (None, false), None)
        }
    }

    #[inline(never)]
    fn timed_step(&mut self, begun: i64) -> Done {
        let event = self.next_time_event();
        let flip = self.next_timed_stop();
        let beyond = event.is_some_and(|k| self.looks_on(k));
        self.step(begun, (event, beyond), flip)
    }

    /// A silent step up to a time event, or `beyond` it, or to a relation that flips by time.
    // Always inlined: there is less to do where there is none.
    #[inline(always)]
    fn step(
        &mut self,
        begun: i64,
        (event, beyond): (Option<i64>, bool),
        flip: Option<i64>,
    ) -> Done {
        // Flips that were judged before this step cannot be called in question any more.
        self.pass(self.judged());
        if !self.state.starting.is_empty() && self.core.time() == 0.0 {
            self.flip_at_first_tick();
        }
        let limit = event.into_iter().chain(flip).min();
        let stop = if beyond { flip } else { limit }.map(|k| self.scene.seconds(k));
        if let Some(notes) = &mut self.state.notes {
            notes.step(&self.scene, &self.core);
        }
        let advance = match self.core.advance(&self.scene, stop, &mut self.state.flips) {
            Ok(advance) => advance,
            Err(failure) => {
                // Where the solution ends, not at the instant of the call that came upon it.
                let why = self.explain(*failure);
                self.plan_failure(begun + 1, why);
                return Ok(());
            }
        };
        let (until, due) = match advance {
            Advance::Silent => (self.judged(), None),
            Advance::Stopped if beyond => (flip.unwrap_or(i64::MAX), None),
            Advance::Stopped => (limit.unwrap_or(i64::MAX), event.filter(|_| event == limit)),
            Advance::Left(t) => {
                let tick = rounding::ceil_ticks(t.max(0.0), self.ticks_per_second());
                // An event found in the tick in which the step began takes place at the next one.
                let k = tick.ok_or(UnitError::Late(t))?.max(begun + 1);
                (k, Some(k))
            }
        };
        let reached = event.filter(|&k| beyond && k <= until);
        let due = due.into_iter().chain(reached).min();
        let until = limit.map_or(until, |limit| until.min(limit));
        if let Some((k, why)) = self.gather(until, begun) {
            self.plan_failure(k, why);
            return Ok(());
        }
        let found = self.judge(until);
        let earliest = found.into_iter().chain(due).min();
        self.fallen(earliest)?;
        if let Some(k) = earliest {
            self.plan_at(k, found == Some(k));
        }
        Ok(())
    }

    /// The last tick up to which all flips are known.
    #[inline]
    pub(super) fn judged(&self) -> i64 {
        ((self.core.time() - self.snap()) * self.scene.rate).max(0.0) as i64
    }

    /// Place of the first link's event among the watched ones; own events come before.
    pub(super) fn first_link(&self) -> usize {
        self.scene.equations.events().len()
    }

    /// The part of a tick, in seconds, by which a tick may precede the crossing it stands for (R14).
    #[inline]
    pub(super) fn snap(&self) -> f64 {
        rounding::SNAP * self.scene.tick
    }

    /// Adds time events to those in `fired`, which were found `k` ticks from now or are due; takes out the links, and
    /// gives them.
    #[inline(always)]
    fn choose(&mut self, k: i64) -> Vec<usize> {
        if self.timed || !self.scene.equations.links().is_empty() {
            self.choose_among(k)
        } else {
            Vec::new()
        }
    }

    /// The choice among state events, time events and links.
    #[inline(never)]
    fn choose_among(&mut self, k: i64) -> Vec<usize> {
        let (at, first) = (self.scene.frame.last + k, self.first_link());
        let fired = &mut self.state.fired;
        let links = fired.extract_if(.., |i| usize::from(*i) >= first);
        let links: Vec<usize> = links.map(|i| usize::from(i) - first).collect();
        let states = fired.len();
        for (i, e) in self.scene.equations.events().iter().enumerate() {
            if k > 0 && e.trigger.next(at, true) == Some(at) {
                fired.push(i as u16);
            }
        }
        if fired.len() > states {
            fired.sort_unstable();
        }
        links
    }

    /// Plans what happens `k` ticks after the last transition, and computes it: with the events that
    /// were `found` there, which are in `fired` with the held values in the scratch. What cannot be
    /// computed is an error at that time, unless an input comes before.
    #[inline(always)]
    pub(super) fn plan_at(&mut self, k: i64, found: bool) {
        if let Err(why) = self.try_plan_at(k, found) {
            self.plan_failure(k, why);
        }
    }

    #[cold]
    fn plan_failure(&mut self, k: i64, why: Box<UnitError>) {
        self.state.outbox.clear();
        self.scratch.emitted.clear();
        self.state.failure = Some(why);
        self.state.plan = Plan::Due(k, Action::Fail);
    }

    #[inline(always)]
    fn try_plan_at(&mut self, k: i64, found: bool) -> Done {
        let t = self.scene.seconds(k);
        self.state.carried.clear();
        if !found {
            self.state.fired.clear();
        }
        if found && self.carries(k) {
            // Relations that read these are decided first: they may carry others over their ends.
            self.look(self.snapped(k, t));
            self.note_before();
            self.put_flips_on_surface(k, t);
            self.settle(Instant { t, tick: k, start: false })?;
            self.add_carried();
            let Scratch { vars, held, .. } = &mut self.scratch;
            let places = self.scene.dims.held();
            held[places.clone()].copy_from_slice(&vars[places]);
        }
        let links = self.choose(k);
        // Where it begins to slide, it is on the surface before others hear of it.
        let proposes = !links.is_empty() && self.slides_from(k).is_none();
        if proposes {
            self.propose(k, &links);
        }
        if !self.state.fired.is_empty() {
            let flipped = self.state.pending.first().is_some_and(|p| p.tick <= k);
            return self.plan_events(k, t, flipped);
        }
        if links.is_empty() && !found {
            self.look(t);
            self.queue_segments(t, Cause::Band)?;
        } else if !proposes || !self.state.carried.is_empty() {
            // Sides that change are events of nobody.
            return self.plan_events(k, t, true);
        }
        self.state.plan = Plan::Due(k, Action::Send);
        Ok(())
    }

    /// Computes the resets of the events in `fired`, `k` ticks or `t` seconds after the last
    /// transition, and what is sent with them. Sides are those in the scratch, if they `flipped`.
    // Always inlined, with what it calls: there is one way here that is gone at every event.
    #[inline(always)]
    pub(super) fn plan_events(&mut self, k: i64, t: f64, flipped: bool) -> Done {
        self.look(if flipped { self.snapped(k, t) } else { t });
        self.scratch.vars[0] = self.scene.absolute(t);
        if self.audible {
            self.note_outputs();
        }
        self.scratch.flipped.clear();
        match flipped {
            true => self.put_flips_on_surface(k, t),
            false => self.note_held(),
        }
        // With the sides after the flips: a reset that turns one back has changed it.
        self.note_before();
        self.note_cycle();
        let now = self.scene.frame.last + k;
        self.state.retiring = self.scene.frame.resting;
        self.state.over.clear();
        match self.state.fired[..] {
            // As a rule.
            [event] => {
                if !self.happens(event, now) {
                    self.state.fired.clear();
                }
            }
            [] => {}
            _ => self.happen_in_turn(now),
        }
        if !self.is_finite() {
            return Err(self.bad_reset(t).into());
        }
        if let Some(why) = self.stopped_by_rest() {
            return Err(why.into());
        }
        self.note_far();
        let resting = std::mem::replace(&mut self.scene.frame.resting, self.state.retiring);
        let mut decided = self.settle(Instant { t, tick: k, start: false });
        if !self.state.retiring {
            decided =
                decided.and_then(|()| self.falls_through().map_or(Ok(()), |why| Err(why.into())));
        }
        let unsent = |(_, value): &(u16, Value)| !matches!(value, Value::Segment(_));
        self.state.outbox.retain(unsent);
        let queued = decided.and_then(|()| self.queue_segments(t, Cause::Jump));
        self.scene.frame.resting = resting;
        queued?;
        self.queue_emitted();
        std::mem::swap(&mut self.state.after, &mut self.scratch.vars);
        self.state.plan = Plan::Due(k, Action::Events);
        Ok(())
    }

    /// The time at which states are looked at for events `k` ticks or `t` seconds from now: a tick may
    /// precede the root that it stands for.
    fn snapped(&self, k: i64, t: f64) -> f64 {
        let close = |p: &&Pending| p.tick == k && p.t > t && p.t <= t + self.snap();
        self.state.pending.iter().filter(close).fold(t, |at, p| at.max(p.t))
    }

    /// Puts the flips at tick `k` among the variables of the scratch, and these onto the surface along which it
    /// begins to slide there.
    fn put_flips_on_surface(&mut self, k: i64, t: f64) {
        self.put_flips(k);
        if let Some(relation) = self.slides_from(k) {
            self.look(t);
            self.put_on_surface(relation);
            self.note_before();
            self.put_flips(k);
        }
    }

    /// Puts the held values of the scratch, after the flips at tick `k`, among its variables, and notes these flips.
    fn put_flips(&mut self, k: i64) {
        self.scratch.flipped.clear();
        let here = self.state.pending.iter().filter(|p| p.tick <= k && p.touch.is_none());
        self.scratch.flipped.extend(here.map(|p| p.relation));
        let Scratch { vars, held, .. } = &mut self.scratch;
        let held_places = self.scene.dims.held();
        vars[held_places.clone()].copy_from_slice(&held[held_places]);
    }

    /// Carries out all events in `fired`, and leaves there those that happened.
    #[inline(never)]
    fn happen_in_turn(&mut self, now: i64) {
        let mut fired = std::mem::take(&mut self.state.fired);
        fired.retain(|&event| {
            let happens = self.happens(event, now);
            if happens {
                self.note_ended(event);
            }
            happens
        });
        self.state.fired = fired;
    }

    /// Carries out an event at tick `now` on the scratch's variables, if it still concerns these;
    /// gives whether it does.
    #[inline]
    fn happens(&mut self, event: u16, now: i64) -> bool {
        let number = usize::from(event);
        let Scratch { vars, work, emitted, .. } = &mut self.scratch;
        if !self.scene.equations.concerns(number, vars) {
            return false;
        }
        let (events, happened) = (self.scene.equations.events(), &self.state.happened);
        let spec = &events[number];
        // Both directions of a crossing are one event: they share a name.
        let one =
            |(e, at): (&EventSpec, &Option<i64>)| at.filter(|_| Arc::ptr_eq(&e.name, &spec.name));
        if let Some(rest) = &spec.rest
            && let Some(before) = events.iter().zip(happened).filter_map(one).max()
            && self.settings.resolution.seconds(now - before) <= rest.within
        {
            rest.values.iter().for_each(|&(var, value)| vars[var] = value);
            self.state.retiring = true;
        } else {
            // An event that changes no state, and nothing on which it rests, lets a unit rest on.
            if self.state.retiring
                && (spec.leads || spec.sets(|place| self.readers.wakes(&self.scene.dims, place)))
            {
                self.state.retiring = false;
            }
            self.scene.equations.reset(number, vars, work, emitted);
        }
        true
    }
}
