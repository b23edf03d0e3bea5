//! The sides of relations, and the truth of conditions, from cycle to cycle.
//!
//! # In a cycle
//! * Sides are held. They change by flips that the core finds on its way, at computed ticks for
//!   relations that are affine in time, and by [`decisions`](super::decide) after jumps.
//! * Flips of one tick act together at its end. Conditions that become true by them set their events
//!   off there; nothing else does.
//! * After the resets and inputs of a cycle, conditions that are true by now and were not set their
//!   events off in the next cycle.
use super::{
    readers::{Pending, Readers},
    wrapper::{Scratch, State, Unit},
};
use crate::{
    maths::{expr::VarId, rounding},
    solve::{
        UnitError,
        core::Core,
        equations::{Detection, Dims, Equations, LinkEquations, Relation, Trigger, Truth, Work},
        ode::{Flip, Kind},
        progress::crowded,
        series::Series,
    },
};
use std::borrow::Cow;

/// A step looks through so many whole numbers that time passes: a unit without states would pass those of all times.
const PASSED: f64 = 256.0;

/// The condition of number `event`, of the unit's own events and then of its links.
fn truth_of<E: Equations>(equations: &E, event: usize) -> Option<&Truth> {
    let own = equations.events();
    match own.get(event) {
        Some(spec) => match &spec.trigger {
            Trigger::State { truth, .. } => Some(truth),
            _ => None,
        },
        None => {
            let located = |l: &&LinkEquations| l.detection == Detection::Located;
            equations.links().get(event - own.len()).filter(located).map(|l| &l.truth)
        }
    }
}

/// The conditions of a unit, on held values.
struct Conditions<'a, E> {
    equations: &'a E,
    dims: &'a Dims,
    readers: &'a Readers,
    work: &'a mut Work,
}

impl<'a, E: Equations> Conditions<'a, E> {
    fn holds(&mut self, event: usize, vars: &[f64]) -> bool {
        truth_of(self.equations, event).is_some_and(|t| t.holds(self.dims, vars, self.work))
    }

    /// The events whose conditions read the sides of these relations, ascending.
    fn reading(&self, mut relations: impl Iterator<Item = usize>) -> Cow<'a, [u16]> {
        let events = &self.readers.events;
        let Some(first) = relations.next() else { return Cow::Borrowed(&[]) };
        let Some(second) = relations.next() else { return Cow::Borrowed(&events[first]) };
        let others = [first, second].into_iter().chain(relations);
        let mut all: Vec<u16> = others.flat_map(|k| events[k].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        Cow::Owned(all)
    }

    /// Lets the flips of one tick act on the held values in `vars` and on `truth`; appends the events
    /// that they set off.
    fn act(
        &mut self,
        group: &[Pending],
        vars: &mut [f64],
        truth: &mut [bool],
        fired: &mut Vec<u16>,
    ) {
        let side = self.dims.first_side();
        let flips = || group.iter().filter(|p| p.touch.is_none());
        flips().for_each(|p| vars[side + usize::from(p.relation)] = p.side);
        let flipped = |base: usize| flips().any(|p| usize::from(p.relation) == base);
        // Over the jump of a side that the indicator reads it is at zero nowhere.
        let read = |id: &VarId| flips().any(|p| id.0 as usize == side + usize::from(p.relation));
        let jumps = |base: usize| self.readers.reads[base].iter().flatten().any(read);
        let passes = |p: &&(usize, usize)| flipped(p.1) && !jumps(p.1);
        let passing: Vec<usize> = self.readers.passing.iter().filter(passes).map(|p| p.0).collect();
        passing.iter().for_each(|&k| vars[side + k] = 1.0);
        let touched = fired.len();
        self.touch(group, vars, truth, fired);
        let both = flips().map(|p| usize::from(p.relation)).chain(passing.iter().copied());
        for &event in self.reading(both).iter() {
            let number = usize::from(event);
            // A crossing at rest on its surface stays on the side from which it came.
            let rests = self.rests(number, vars);
            let holds = if rests { truth[number] } else { self.holds(number, vars) };
            let begins = holds && !truth[number];
            truth[number] = holds;
            if (begins || self.pulses(number, group, vars)) && !fired[touched..].contains(&event) {
                fired.push(event);
            }
        }
        passing.iter().for_each(|&k| vars[side + k] = 0.0);
        for &event in self.reading(passing.iter().copied()).iter() {
            truth[usize::from(event)] = self.holds(event.into(), vars);
        }
        fired.sort_unstable();
    }

    /// Whether a crossing is at rest on its surface, and does not slide along it (rules 5 and 18).
    fn rests(&self, event: usize, vars: &[f64]) -> bool {
        let spec = self.equations.events().get(event).map(|e| &e.trigger);
        let slides = |k: usize| self.readers.relations[k].sliding.is_some();
        matches!(spec, Some(&Trigger::State { crossing: Some(k), .. })
            if vars[self.dims.first_side() + k] == 0.0 && !slides(k))
    }

    /// Whether a crossing's relation flips its way among others of the same tick.
    fn pulses(&mut self, event: usize, group: &[Pending], vars: &mut [f64]) -> bool {
        let Some(spec) = self.equations.events().get(event) else { return false };
        let Trigger::State { crossing: Some(k), .. } = spec.trigger else { return false };
        let place = self.dims.first_side() + k;
        let own = group.iter().filter(|p| p.touch.is_none() && usize::from(p.relation) == k);
        let now = vars[place];
        let holds = |p: &Pending| {
            vars[place] = p.side;
            self.holds(event, vars)
        };
        let any = own.clone().nth(1).is_some() && own.clone().any(holds);
        vars[place] = now;
        any
    }

    /// Events that report touching, where relations of theirs are at zero for this cycle.
    fn touch(&mut self, group: &[Pending], vars: &mut [f64], truth: &[bool], fired: &mut Vec<u16>) {
        let first = self.dims.first_side();
        let touches = || group.iter().filter(|p| p.touch.is_some());
        for event in touches().flat_map(|p| &self.readers.events[usize::from(p.relation)]) {
            let number = usize::from(*event);
            let Some(spec) = self.equations.events().get(number) else { continue };
            let Trigger::State { touching: Some(band), crossing, .. } = spec.trigger else {
                continue;
            };
            // All that touch at this tick do so at once.
            let own = |p: &&Pending| {
                let reads = self.readers.events[usize::from(p.relation)].contains(event);
                reads && p.touch.is_some_and(|size| size <= band)
            };
            let before: Vec<(usize, f64)> = touches()
                .filter(own)
                .map(|p| {
                    let place = first + usize::from(p.relation);
                    // A crossing is missed on the way to the other side, a condition holds on the surface.
                    let side = if crossing.is_some() { -p.side } else { 0.0 };
                    (place, std::mem::replace(&mut vars[place], side))
                })
                .collect();
            let holds = !before.is_empty() && self.holds(number, vars) && !truth[number];
            before.iter().rev().for_each(|&(place, side)| vars[place] = side);
            if holds && !fired.contains(event) {
                fired.push(*event);
            }
        }
    }
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Leaves the held values of the present, after the flips taken over so far, in the scratch.
    pub(super) fn note_held(&mut self) {
        let dims = &self.scene.dims;
        let held = &mut self.scratch.held;
        held.resize(dims.variables(), 0.0);
        held[dims.held()].copy_from_slice(&self.scene.frame.discrete);
    }

    /// Whether the condition of `event` holds for the scratch's variables.
    pub(super) fn holds(&mut self, event: usize) -> bool {
        let Scratch { vars, work, .. } = &mut self.scratch;
        let truth = truth_of(&self.scene.equations, event);
        truth.is_some_and(|t| t.holds(&self.scene.dims, vars, work))
    }

    /// Goes through the pending flips up to `until` in groups of one tick. Leaves the held values and
    /// the truth after the first group that sets something off, or stops solvers, in the scratch,
    /// and what it sets off in `fired`; gives its tick.
    #[inline]
    pub(super) fn judge(&mut self, until: i64) -> Option<i64> {
        self.state.fired.clear();
        if self.state.pending.is_empty() { None } else { self.judge_some(until) }
    }

    #[inline(never)]
    fn judge_some(&mut self, until: i64) -> Option<i64> {
        self.note_held();
        self.scratch.truth.clone_from(&self.state.truth);
        let mut from = 0;
        while let Some(first) = self.state.pending.get(from).filter(|p| p.tick <= until) {
            let tick = first.tick;
            let to =
                from + self.state.pending[from..].iter().take_while(|p| p.tick == tick).count();
            let Scratch { held, truth, earlier, work, .. } = &mut self.scratch;
            let State { pending, fired, .. } = &mut self.state;
            let (equations, dims) = (&self.scene.equations, &self.scene.dims);
            if self.readers.carry(&pending[from..to]) {
                earlier.clone_from(truth);
            }
            let mut conditions = Conditions { equations, dims, readers: &self.readers, work };
            conditions.act(&pending[from..to], held, truth, fired);
            let stops = |p: &Pending| {
                p.touch.is_none() && self.readers.relations[usize::from(p.relation)].stops
            };
            if !fired.is_empty() || pending[from..to].iter().any(stops) {
                return Some(tick);
            }
            from = to;
        }
        None
    }

    /// Whether flips at `tick` decide others.
    pub(super) fn carries(&self, tick: i64) -> bool {
        let pending = &self.state.pending;
        let from = pending.iter().take_while(|p| p.tick < tick).count();
        let to = from + pending[from..].iter().take_while(|p| p.tick == tick).count();
        self.readers.carry(&pending[from..to])
    }

    /// Adds the events that become true with the sides of the scratch's variables, and takes away those
    /// that were `judged` by sides that are decided otherwise: inner relations come first (rule 17),
    /// and a surface along which the solution slides is at zero (rule 18).
    pub(super) fn add_carried(&mut self) {
        let Scratch { vars, earlier, held, work, .. } = &mut self.scratch;
        let (equations, dims) = (&self.scene.equations, &self.scene.dims);
        let mut conditions = Conditions { equations, dims, readers: &self.readers, work };
        let fired = &mut self.state.fired;
        let sides = dims.first_side();
        let decided = |k: &usize| held[sides + k] != vars[sides + k];
        let others: Vec<usize> = (0..self.readers.relations.len()).filter(decided).collect();
        let void = conditions.reading(others.into_iter());
        fired.retain(|&event| !void.contains(&event) || conditions.holds(event.into(), vars));
        for (event, known) in earlier.iter().enumerate() {
            let number = event as u16;
            if !known && !fired.contains(&number) && conditions.holds(event, vars) {
                fired.push(number);
            }
        }
        fired.sort_unstable();
        self.state.carried.extend((0..earlier.len()).map(|event| conditions.holds(event, vars)));
    }

    /// Takes over the pending flips up to `tick`; leaves the events that they set off in the scratch.
    #[inline]
    pub(super) fn pass(&mut self, tick: i64) {
        self.scratch.begun.clear();
        self.scratch.flipped.clear();
        if self.state.pending.first().is_some_and(|p| p.tick <= tick) {
            self.pass_some(tick);
        }
    }

    #[inline(never)]
    fn pass_some(&mut self, tick: i64) {
        self.note_held();
        let count = self.state.pending.iter().take_while(|p| p.tick <= tick).count();
        let Scratch { held, work, begun, flipped, .. } = &mut self.scratch;
        let State { pending, truth, .. } = &mut self.state;
        flipped.extend(pending[..count].iter().map(|p| p.relation));
        let (equations, dims) = (&self.scene.equations, &self.scene.dims);
        let mut conditions = Conditions { equations, dims, readers: &self.readers, work };
        for group in pending[..count].chunk_by(|a, b| a.tick == b.tick) {
            let carries = group.iter().any(|p| self.readers.inner[usize::from(p.relation)]);
            let before = carries.then(|| truth.clone());
            conditions.act(group, held, truth, begun);
            // Sides that read others are not decided yet: what they end may go on.
            if let Some(before) = before {
                let flipped = group.iter().map(|p| usize::from(p.relation));
                let nested = flipped.filter(|&k| self.readers.nested[k]);
                for &event in conditions.reading(nested).iter() {
                    truth[usize::from(event)] |= before[usize::from(event)];
                }
            }
        }
        pending.drain(..count);
        self.scene.frame.discrete.copy_from_slice(&held[dims.held()]);
    }

    /// Everything that was found beyond the present is void.
    #[inline]
    pub(super) fn forget_ahead(&mut self) {
        self.state.pending.clear();
        self.state.flips.list.clear();
        self.state.flips.past.iter_mut().for_each(|past| past.nearing = 0.0);
        let sides = &self.scene.frame.discrete[self.scene.dims.discrete + 1..];
        self.state.flips.sides.clear();
        self.state.flips.sides.extend_from_slice(sides);
    }

    /// Brings what the core found into ticks, with what flips by time up to `until`, a number of ticks
    /// from the last transition. Gives when the run cannot go on, and why, where they are too many.
    // A flip found in the tick in which the step began takes place at the next one.
    #[inline]
    pub(super) fn gather(&mut self, until: i64, begun: i64) -> Option<(i64, Box<UnitError>)> {
        let some = !self.state.flips.list.is_empty() || !self.readers.timed.is_empty();
        if some { self.gather_some(until, begun) } else { None }
    }

    #[inline(never)]
    fn gather_some(&mut self, until: i64, begun: i64) -> Option<(i64, Box<UnitError>)> {
        let rate = self.ticks_per_second();
        let State { flips, pending, .. } = &mut self.state;
        for Flip { t, relation, side, touch, .. } in flips.list.drain(..) {
            let tick = rounding::ceil_ticks(t.max(0.0), rate).unwrap_or(i64::MAX).max(begun + 1);
            pending.push(Pending { tick, t, relation, side, touch });
        }
        self.gather_timed(until);
        // Not all that shares a tick was found in one advance.
        self.state.pending.sort_by_key(|p| p.tick);
        let (k, relation, times) = crowded(&self.state.pending, |p| (p.tick, p.relation))?;
        let relation = self.readers.relations[usize::from(relation)].text.to_string();
        Some((k, UnitError::Crowded { relation, count: times.0, ticks: times.1 }.into()))
    }

    fn gather_timed(&mut self, until: i64) {
        let last = self.scene.frame.last;
        for k in self.readers.timed.clone() {
            while let Some((at, side)) = self.next_timed(k, 0.0) {
                if at - last > until {
                    break;
                }
                let tick = (at - last).max(1);
                let (t, relation) = (self.scene.seconds(tick), k as u16);
                self.state.pending.push(Pending { tick, t, relation, side, touch: None });
                self.state.flips.sides[k] = side;
            }
        }
    }

    /// The tick, counted from the last transition, at which the next relation flips by time and stops
    /// solvers; or has passed so many whole numbers that a step should not be longer.
    pub(super) fn next_timed_stop(&mut self) -> Option<i64> {
        let (last, count) = (self.scene.frame.last, self.readers.timed.len());
        let tick = |n: usize| {
            let k = self.readers.timed[n];
            let ahead = match self.readers.relations[k] {
                Relation { stops: true, .. } => 0.0,
                Relation { kind: Kind::Floor, .. } => PASSED,
                _ => return None,
            };
            Some((self.next_timed(k, ahead)?.0 - last).max(1))
        };
        (0..count).filter_map(tick).min()
    }

    /// The tick at which relation `k`, affine in time, leaves its side, or so many whole numbers `ahead` of it, and
    /// where to.
    fn next_timed(&mut self, k: usize, ahead: f64) -> Option<(i64, f64)> {
        if !self.readers.relations[k].is_active(&self.scene.frame.discrete) {
            return None;
        }
        self.note_held();
        let held = std::mem::take(&mut self.scratch.held);
        let [value, slope] = self.affine(k, &held);
        self.scratch.held = held;
        let side = self.state.flips.sides[k] + ahead * slope.signum();
        leaving(self.readers.relations[k].kind, [value, slope], side, self.ticks_per_second())
    }

    /// The side of relation `k`, affine in time, at a tick of the run, for these variables; and the one
    /// before, if it changes right there.
    pub(super) fn timed_side(&mut self, k: usize, vars: &[f64], now: i64) -> (f64, Option<f64>) {
        let [value, slope] = self.affine(k, vars);
        let (rate, kind) = (self.ticks_per_second(), self.readers.relations[k].kind);
        if slope == 0.0 {
            return (kind.side(value), None);
        }
        let z = slope * (now as f64 / rate as f64) + value;
        let mut side = match kind {
            Kind::Sign => -slope.signum(),
            Kind::Floor => z.floor() - 2.0 * slope.signum(),
        };
        let mut before = None;
        // It has left all sides whose ends lie at this tick or before.
        while let Some((tick, next)) = leaving(kind, [value, slope], side, rate)
            && tick <= now
        {
            before = (tick == now).then_some(side);
            side = next;
        }
        (side, before)
    }

    /// The value at time zero and the slope of an indicator that is affine in time.
    fn affine(&mut self, k: usize, vars: &[f64]) -> [f64; 2] {
        let mut series: Vec<Series<2>> = vars.iter().map(|&v| Series([v, 0.0])).collect();
        series[0] = Series([0.0, 1.0]);
        let mut z = vec![Series::default(); self.scene.dims.indicators];
        self.scene.equations.indicators(&series, &mut Work::default(), &mut z);
        z[k].0
    }

    /// After a transition: conditions that are true now and were not set their events off next.
    pub(super) fn refresh(&mut self) {
        self.note_held();
        let dims = self.scene.dims;
        // Of the others' jumps by a link a unit hears in the next cycle: until then, it goes by what it knows.
        let jumped = self.scratch.jumped.take();
        let over =
            jumped.as_ref().filter(|jumped| jumped.2).map(|jumped| self.first_link() + jumped.0);
        let unknown = jumped.map(|(link, sides, _)| self.unknown_after(link, sides));
        let seen = unknown.as_ref().map(|unknown| {
            let mut seen = self.scratch.held.clone();
            let sides = seen[dims.first_side()..].iter_mut().zip(unknown);
            sides.for_each(|(side, before)| *side = before.unwrap_or(*side));
            seen
        });
        let back = self.going_back();
        let Scratch { held, work, .. } = &mut self.scratch;
        // Detectors never report at the start.
        let now = (!self.state.starting.is_empty()).then(|| held.clone());
        for &(relation, before) in &self.state.starting {
            held[dims.first_side() + usize::from(relation)] = before;
        }
        let equations = &self.scene.equations;
        let mut conditions =
            Conditions { equations, dims: &self.scene.dims, readers: &self.readers, work };
        for (event, truth) in self.state.truth.iter_mut().enumerate() {
            let spec = equations.events().get(event).map(|e| &e.trigger);
            if spec.is_none() {
                if truth_of(equations, event).is_none() {
                    continue;
                }
                if over == Some(event) {
                    // So says everybody, before they hear of each other.
                    *truth = false;
                    continue;
                }
                let of = &self.readers.of[event];
                let open = |unknown: &Vec<Option<f64>>| of.iter().any(|&k| unknown[k].is_some());
                if let Some(seen) = seen.as_ref().filter(|_| unknown.as_ref().is_some_and(open)) {
                    // The side before may be that of a link in the cycle before, which was not known either.
                    *truth &= conditions.holds(event, seen) || conditions.holds(event, held);
                    continue;
                }
            }
            let crossing = matches!(spec, Some(Trigger::State { crossing: Some(_), .. }));
            let at_start = now.as_ref().filter(|_| crossing);
            // In a mode just entered a crossing starts anew.
            let concerned = crossing && equations.concerns(event, held);
            let entered =
                crossing && !std::mem::replace(&mut self.state.concerned[event], concerned);
            let holds = match concerned && conditions.rests(event, held) {
                true => *truth || entered,
                false => conditions.holds(event, at_start.unwrap_or(held)),
            };
            let begins = !std::mem::replace(truth, holds)
                && holds
                && back.as_ref().is_none_or(|back| conditions.holds(event, back));
            let number = event as u16;
            if begins && !entered && !self.state.due.contains(&number) {
                self.state.due.push(number);
            }
        }
        let truth = &self.state.truth;
        self.state.due.retain(|&event| truth[usize::from(event)]);
        self.state.due.sort_unstable();
    }

    /// Whether relation `k` began on the end of its side, which it leaves at the first tick.
    pub(super) fn has_left(&self, k: usize) -> bool {
        self.state.starting.iter().any(|s| usize::from(s.0) == k)
    }

    /// Relations that lie on the end of their side at the start flip at the first tick.
    pub(super) fn flip_at_first_tick(&mut self) {
        let first = self.scene.dims.discrete + 1;
        let State { pending, starting, .. } = &mut self.state;
        for &(relation, _) in &*starting {
            if pending.iter().all(|p| p.relation != relation || p.tick > 1) {
                let side = self.scene.frame.discrete[first + usize::from(relation)];
                pending.push(Pending { tick: 1, t: 0.0, relation, side, touch: None });
            }
        }
        pending.sort_by_key(|p| p.tick);
    }
}

/// The tick at which `slope t + value` leaves a side, and where to.
fn leaving(kind: Kind, [value, slope]: [f64; 2], side: f64, rate: u64) -> Option<(i64, f64)> {
    let (level, next) = match kind {
        _ if slope == 0.0 => return None,
        Kind::Sign if side == slope.signum() => return None,
        Kind::Sign => (0.0, slope.signum()),
        Kind::Floor if slope > 0.0 => (side + 1.0, side + 1.0),
        Kind::Floor => (side, side - 1.0),
    };
    let t = (level - value) / slope;
    let tick = match t * rate as f64 {
        // Before the start.
        ticks if ticks < -rounding::SNAP => -1,
        ticks if ticks <= 0.0 => 0,
        _ => rounding::ceil_ticks(t, rate)?,
    };
    Some((tick, next))
}
