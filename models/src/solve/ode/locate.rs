//! Event location on the dense output of a step.
//!
//! An event is a conjunction of one-sided conditions, `max z_i <= 0`; it happens when the
//! conjunction *becomes* true.
//!
//! # How none is lost
//! An indicator that is a polynomial along the step, or the beginning of a series, is solved as such. One
//! with kinks or jumps is such a function between these, and the step is searched from one to the next.
//! Each of the others is sampled at ten points and modelled by a polynomial of degree seven; where that
//! model misses its two check points the interval is halved, as often as a limit on the number of
//! intervals allows. The samples and the extrema of the
//! models cut the interval into pieces on which every indicator is monotone. On such a piece the
//! conjunction comes true at most once: when the last falling indicator has arrived, if no rising
//! one has left before. So the iteration runs on one smooth indicator, never on the kinked maximum,
//! and two crossings inside one step are two pieces. An indicator whose Bernstein bounds exclude
//! zero settles its events for the price of the samples.
//! The iteration is ITP (Oliveira & Takahashi 2020, "An enhancement of the bisection method average
//! performance preserving minmax optimality", ACM TOMS 47, article 5), down to neighbouring numbers;
//! the end at which the condition holds is returned: never early.
//!
//! # When an event is armed ([`Arm`])
//! 1. *Undecided* (a fresh [`Locator`]): a condition that is false arms the event. One that holds
//!    strictly (all `z_i < 0`) disarms it: a state is not an event. On the surface (some `z_i = 0`)
//!    the direction decides: into the condition it happens at once, away it is armed, at rest
//!    it is disarmed.
//! 2. *Armed*: it happens at the first time at which the condition holds. That may be the very
//!    start of a step, if a jump of something else made it true meanwhile.
//! 3. *Happened*, and then *disarmed*: armed again as soon as the condition is false; so after a reset
//!    onto the surface either the indicator leaves it or nothing happens. Since a tick may lie 2⁻¹⁰
//!    tick before the crossing it was rounded from, an event whose condition is false at the start but
//!    true within 2⁻⁹ tick has not left. The same holds where the condition is computed to be false
//!    still at its tick, or at a later one up to which it did not leave as the search saw it (*left*):
//!    that is what becomes of a strict condition whose crossing lies on a tick, and of one that comes
//!    true with so small a slope that rounding hides it for some ticks.
//!
//! A touching event (`graze`) counts as left beyond its band.

use serde::{Deserialize, Serialize};

mod curves;
mod sampled;
mod walk;

use curves::{Parabolas, Polynomials};
pub use curves::{Rows, spread};
use sampled::{Models, Probe, Sampled};
use walk::{Direct, Walk};

/// A state event: all its indicators must be at most zero (or below, if `strict`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Indices of the indicators in the conjunction.
    pub indicators: Vec<usize>,
    /// Whether zero itself does not count.
    pub strict: bool,
    /// Indicators for which zero does not count, where it does for others.
    pub strictly: Vec<usize>,
    /// Report also a local minimum of `max z_i` that comes this close to zero without reaching it.
    pub graze: Option<f64>,
}

impl Event {
    /// All of `indicators` at most zero, crossings only.
    pub fn when(indicators: Vec<usize>) -> Self {
        Self { indicators, ..Self::default() }
    }

    /// The same with touching reported within `band`.
    #[must_use]
    pub fn touching(mut self, band: f64) -> Self {
        self.graze = Some(band);
        self
    }

    #[inline]
    fn satisfied(&self, k: usize, z: f64) -> bool {
        z < 0.0 || (z == 0.0 && self.counts_zero(k))
    }

    // Looked up in the rare case only.
    #[inline(never)]
    fn counts_zero(&self, k: usize) -> bool {
        !self.strict && !self.strictly.contains(&k)
    }

    /// Whether the condition holds for these indicators.
    #[inline]
    pub fn holds(&self, z: &[f64]) -> bool {
        self.indicators.iter().all(|&k| self.satisfied(k, z[k]))
    }

    #[inline]
    pub(crate) fn worst(&self, z: &[f64]) -> f64 {
        self.indicators.iter().fold(f64::NEG_INFINITY, |worst, &k| worst.max(z[k]))
    }

    /// Whether the condition is false far enough to arm the event again.
    #[inline]
    fn left(&self, z: &[f64]) -> bool {
        !self.holds(z) && self.graze.is_none_or(|band| self.worst(z) > band)
    }
}

/// Readiness of an event: see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arm {
    /// Nothing known yet.
    #[default]
    Undecided,
    /// Happens when the condition comes true.
    Armed,
    /// Waits for the condition to be false.
    Disarmed,
    /// The same, since just now.
    Happened,
    /// Armed since the condition is computed to be false, but what comes true at once has not left.
    Left,
}

impl Arm {
    /// Whether what comes true at once is what has happened already.
    #[inline]
    fn is_recent(self) -> bool {
        matches!(self, Self::Disarmed | Self::Happened | Self::Left)
    }

    /// Whether it waits for the condition to be false.
    #[inline]
    pub fn waits(self) -> bool {
        matches!(self, Self::Disarmed | Self::Happened)
    }

    /// Whether a condition that is true now makes it happen.
    #[inline]
    fn is_armed(self) -> bool {
        matches!(self, Self::Armed | Self::Left)
    }
}

/// An indicator that is NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("event indicator {indicator} is not finite at {t} s")]
pub struct NotFinite {
    /// Time of the evaluation.
    pub t: f64,
    /// Index of the first such indicator.
    pub indicator: usize,
}

/// What is known of an event beside its condition.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Known {
    /// At the last accepted time, and at the end of what was searched since without a find. An
    /// input may cut the way there: what would have been farther on does not count then.
    arm: Arm,
    passed: Arm,
    /// When it happens in the last located step; infinite for not at all.
    hit: f64,
    /// At the end of the last located step, if nothing happened in it.
    ahead: Arm,
}

impl Known {
    const NOTHING: Self = Self {
        arm: Arm::Undecided,
        passed: Arm::Undecided,
        hit: f64::INFINITY,
        ahead: Arm::Undecided,
    };

    #[inline]
    fn set(&mut self, arm: Arm) {
        (self.arm, self.passed, self.ahead) = (arm, arm, arm);
    }

    /// It happens at `hit`, before which its condition was false.
    #[inline]
    fn find(&mut self, hit: f64) {
        (self.hit, self.ahead) = (hit, Arm::Armed);
    }

    /// Takes over a step to where the indicators are `z` and the event `holds`; a hit up to `until`
    /// has happened.
    #[inline]
    fn accept(&mut self, event: &Event, holds: bool, z: &[f64], until: f64) {
        if self.hit <= until {
            self.arm = Arm::Happened;
        } else if !holds && event.graze.is_none_or(|band| event.worst(z) > band) {
            let stayed = self.arm.is_recent() && self.ahead.waits();
            self.arm = if stayed { Arm::Left } else { Arm::Armed };
        } else if self.arm.is_recent() {
            self.arm = Arm::Disarmed;
        } else if self.arm == Arm::Undecided {
            // On the surface the direction decides, at the next search.
            if !holds {
                self.arm = Arm::Armed;
            } else if event.worst(z) < 0.0 {
                self.arm = Arm::Disarmed;
            }
        }
        self.hit = f64::INFINITY;
        (self.passed, self.ahead) = (self.arm, self.arm);
    }

    /// Takes over what the indicators `z` say at the present, after a jump.
    #[inline]
    fn settle(&mut self, event: &Event, holds: bool, z: &[f64]) {
        match self.arm {
            Arm::Happened | Arm::Left if !holds => self.set(Arm::Left),
            Arm::Happened => {}
            Arm::Left => self.set(Arm::Armed),
            _ => {
                // What a jump leads out of its condition has left it.
                self.ahead = Arm::Armed;
                self.accept(event, holds, z, 0.0);
            }
        }
    }
}

/// Finds the state events of one unit, step by step.
///
/// Serialised and cloned state is the events, their arms and the last hits; working memory is not
/// part of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Locator {
    events: Vec<Event>,
    known: Vec<Known>,
    #[serde(skip)]
    walk: Walk,
    #[serde(skip)]
    models: Models,
    /// Intervals still to do, last one first: start, end, halvings.
    #[serde(skip)]
    todo: Vec<(f64, f64, u32)>,
}

impl Clone for Locator {
    fn clone(&self) -> Self {
        Self { events: self.events.clone(), known: self.known.clone(), ..Self::default() }
    }
}

impl Locator {
    /// How often an interval may be halved because the model does not fit, and how often where no more
    /// than so many intervals of a search are: those of long steps may be as short as what happens in
    /// them, but a function that fits nowhere does not cost more than this.
    const HALVINGS: u32 = 6;
    const DEEPER: u32 = 16;
    const INTERVALS: u32 = 2048;

    /// All events undecided.
    pub fn new(events: Vec<Event>) -> Self {
        let known = vec![Known::NOTHING; events.len()];
        Self { events, known, ..Self::default() }
    }

    /// Earliest time in `[t_a, t_b]` at which an event happens, if any. It is `t_a` itself only for
    /// an armed event that a jump made true, or an undecided one on its surface (see [`Arm`]).
    ///
    /// `z` evaluates all indicators on the dense output. `tick` is the length of a tick in seconds
    /// (zero for exact arithmetic): events within one tick of the earliest are found as well, see
    /// [`hit`](Self::hit). Arms do not change before [`accept`](Self::accept), so that the caller
    /// may keep any part of the step. Nothing is evaluated without events.
    pub fn locate<F: FnMut(f64, &mut [f64])>(
        &mut self,
        t_a: f64,
        t_b: f64,
        tick: f64,
        z: F,
    ) -> Result<Option<f64>, NotFinite> {
        self.open();
        let best = self.sample((t_a, t_b), tick, f64::INFINITY, |_| true, z)?;
        Ok(self.close(best, tick))
    }

    /// Begins a search that is made in parts: [`polynomials`](Self::polynomials) and
    /// [`sample`](Self::sample), each for some of the events, then [`close`](Self::close).
    #[inline]
    pub fn open(&mut self) {
        for known in &mut self.known {
            (known.hit, known.ahead) = (f64::INFINITY, known.passed);
        }
    }

    /// Searches `[start, start + width]` for the events that `select` names, whose indicators are
    /// `rows`; exact but for `correct`, see [`Rows`]. Gives the earliest time so far.
    pub fn polynomials(
        &mut self,
        rows: Rows<'_>,
        (start, width): (f64, f64),
        tick: f64,
        mut select: impl FnMut(usize) -> bool,
        correct: impl FnMut(usize, f64) -> Option<f64>,
    ) -> f64 {
        let mut curves = Polynomials { rows, start, width, correct };
        let mut best = f64::INFINITY;
        for (index, (event, known)) in self.events.iter().zip(&mut self.known).enumerate() {
            if event.indicators.is_empty() || !select(index) {
                continue;
            }
            let watched = (event, &mut known.ahead);
            let interval = (start, start + width);
            let found = self.walk.first(&mut curves, watched, interval, tick / 512.0);
            if let Some(found) = found {
                known.find(found);
                best = best.min(found);
            }
        }
        best
    }

    /// A whole search of `[start, start + width]` for all events, whose indicators are parabolas.
    /// Nothing if that takes more than formulas.
    #[inline(always)]
    pub(crate) fn parabolas(
        &mut self,
        parabolas: Parabolas<'_>,
        (start, width): (f64, f64),
        tick: f64,
    ) -> Option<Option<f64>> {
        let mut best = f64::INFINITY;
        for (event, known) in self.events.iter().zip(&mut self.known) {
            (known.hit, known.ahead) = (f64::INFINITY, known.passed);
            if event.indicators.is_empty() {
                continue;
            }
            match curves::comes_true(event, parabolas, (start, width)) {
                Direct::Never => known.ahead = Arm::Armed,
                Direct::At(hit) if !known.passed.is_recent() || hit - start > tick / 512.0 => {
                    known.find(hit);
                    best = best.min(hit);
                }
                _ => return None,
            }
        }
        if self.known.len() > 1 {
            return Some(self.close(best, tick));
        }
        Some((best < f64::INFINITY).then_some(best))
    }

    /// Searches `[t_a, t_b]`, or up to `best` if that is earlier, for the events that `select`
    /// names, by evaluating indicators. Gives the earliest time so far.
    pub fn sample<F: FnMut(f64, &mut [f64])>(
        &mut self,
        (t_a, t_b): (f64, f64),
        tick: f64,
        mut best: f64,
        select: impl Fn(usize) -> bool,
        z: F,
    ) -> Result<f64, NotFinite> {
        let mut probe = Probe { z, bad: None };
        let Self { events, known, walk, models, todo } = self;
        let chosen =
            |&(index, event): &(usize, &Event)| !event.indicators.is_empty() && select(index);
        let listed = || events.iter().enumerate().filter(chosen);
        let Some(last) = listed().flat_map(|(_, e)| &e.indicators).max() else {
            return Ok(best);
        };
        let dim = last + 1;
        todo.clear();
        todo.push((t_a, t_b, 0));
        let mut intervals = 0;
        while let Some((low, high, halvings)) = todo.pop() {
            if low > best + tick || probe.bad.is_some() {
                break;
            }
            intervals += 1;
            let deepest = if intervals < Self::INTERVALS { Self::DEEPER } else { Self::HALVINGS };
            let middle = 0.5 * (low + high);
            if !models.sample(&mut probe, dim, (low, high), listed().map(|(_, e)| e))
                && halvings < deepest
                && low < middle
                && middle < high
            {
                todo.push((middle, high, halvings + 1));
                todo.push((low, middle, halvings + 1));
                continue;
            }
            let snap = if low == t_a { tick / 512.0 } else { 0.0 };
            let mut curves = Sampled { probe: &mut probe, models, low, high };
            for (index, event) in listed() {
                let known = &mut known[index];
                let watched = (event, &mut known.ahead);
                if known.hit == f64::INFINITY
                    && let Some(found) = walk.first(&mut curves, watched, (low, high), snap)
                {
                    known.find(found);
                    best = best.min(found);
                }
            }
        }
        match probe.bad {
            Some(bad) => {
                known.iter_mut().for_each(|known| known.hit = f64::INFINITY);
                Err(bad)
            }
            None => Ok(best),
        }
    }

    /// Ends a search: only what is within a tick of the earliest event remains.
    #[inline]
    pub fn close(&mut self, best: f64, tick: f64) -> Option<f64> {
        for known in &mut self.known {
            if known.hit > best + tick {
                known.hit = f64::INFINITY;
            }
        }
        (best < f64::INFINITY).then_some(best)
    }

    /// Goes on behind the whole step, in which nothing was found.
    #[inline]
    pub fn pass(&mut self) {
        self.known.iter_mut().for_each(|known| known.passed = known.ahead);
    }

    /// Time of event `index` in the last [`locate`](Self::locate), if it is the earliest or within
    /// one tick of it. All that are not after the common tick fire together, in the caller's order.
    #[inline]
    pub fn hit(&self, index: usize) -> Option<f64> {
        self.known.get(index).map(|known| known.hit).filter(|hit| *hit < f64::INFINITY)
    }

    /// `t`, or the latest crossing that was found up to `snap` after it: at a tick that precedes the
    /// crossing it stands for, the condition does not hold yet.
    #[inline]
    pub fn snapped(&self, t: f64, snap: f64) -> f64 {
        let hits = self.known.iter().map(|known| known.hit);
        hits.fold(t, |at, hit| if hit <= t + snap && hit > at { hit } else { at })
    }

    /// Takes over the step up to `t`, where the indicators are `z` (before any reset): events with
    /// a hit up to `t + snap` are now disarmed, the others follow their conditions. Hits are cleared.
    ///
    /// `snap` is the part of a tick that a tick may precede its crossing (2⁻¹⁰ tick), zero where
    /// times are not rounded.
    #[inline]
    pub fn accept_within(&mut self, t: f64, z: &[f64], snap: f64) {
        for (event, known) in self.events.iter().zip(&mut self.known) {
            known.accept(event, event.holds(z), z, t + snap);
        }
    }

    /// [`accept_within`](Self::accept_within), if every event has a hit up to `until`: then it does
    /// not depend on the indicators. Gives whether that was done.
    #[inline]
    pub fn disarm_all(&mut self, until: f64) -> bool {
        let all = self.known.iter().all(|known| known.hit <= until);
        if all {
            for known in &mut self.known {
                known.set(Arm::Happened);
                known.hit = f64::INFINITY;
            }
        }
        all
    }

    /// [`accept_within`](Self::accept_within) without a snap.
    pub fn accept(&mut self, t: f64, z: &[f64]) {
        self.accept_within(t, z, 0.0);
    }

    /// Tells the events that are armed and hold for these indicators, and takes over what they say at
    /// the present, like [`accept`](Self::accept).
    #[inline]
    pub(crate) fn settle(&mut self, z: &[f64], mut due: impl FnMut(usize)) {
        for (index, (event, known)) in self.events.iter().zip(&mut self.known).enumerate() {
            let holds = event.holds(z);
            if holds && known.arm.is_armed() && !event.indicators.is_empty() {
                due(index);
            }
            known.settle(event, holds, z);
        }
    }

    /// Sets the readiness of event `index`, where the caller knows better (a shared event that was
    /// carried out, or refused).
    #[inline]
    pub fn set(&mut self, index: usize, arm: Arm) {
        self.known[index].set(arm);
    }

    /// Forgets what is known, as for a new start.
    pub fn reset(&mut self) {
        self.known.fill(Known::NOTHING);
    }

    /// Events in the order of their indices.
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Readiness of event `index` at the end of what was [`pass`](Self::pass)ed.
    #[inline]
    pub fn passed(&self, index: usize) -> Arm {
        self.known[index].passed
    }

    /// Readiness of event `index` at the last accepted time.
    #[inline]
    pub fn arm(&self, index: usize) -> Arm {
        self.known[index].arm
    }
}
