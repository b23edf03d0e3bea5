//! Event location on the dense output of a step.
//!
//! An event is a conjunction of one-sided conditions, `max z_i <= 0`; it happens when the
//! conjunction *becomes* true.
//!
//! # How none is lost
//! Each indicator is sampled at ten points and modelled by a polynomial of degree seven; where that
//! model misses its two check points the interval is halved. The samples and the extrema of the
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
//! 3. *Disarmed* by having happened: armed again as soon as the condition is false; so after a reset
//!    onto the surface either the indicator leaves it or nothing happens. Since a tick may lie 2⁻¹⁰
//!    tick before the crossing it was rounded from, a disarmed event whose condition is false at the
//!    start but true within 2⁻⁹ tick has not left.
//!
//! A touching event (`graze`) counts as left beyond its band.

use serde::{Deserialize, Serialize};

mod curves;
mod sampled;
mod walk;

use curves::Polynomials;
pub use curves::{Rows, spread};
use sampled::{Models, Probe, Sampled};
use walk::Walk;

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

    fn satisfied(&self, k: usize, z: f64) -> bool {
        // Which of the two counts is looked up in the rare case only.
        z < 0.0 || (z == 0.0 && !self.strict && !self.strictly.contains(&k))
    }

    /// Whether the condition holds for these indicators.
    pub fn holds(&self, z: &[f64]) -> bool {
        self.indicators.iter().all(|&k| self.satisfied(k, z[k]))
    }

    pub(crate) fn worst(&self, z: &[f64]) -> f64 {
        self.indicators.iter().fold(f64::NEG_INFINITY, |worst, &k| worst.max(z[k]))
    }

    /// Whether the condition is false far enough to arm the event again.
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

/// Finds the state events of one unit, step by step.
///
/// Serialised and cloned state is the events, their arms and the last hits; working memory is not
/// part of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Locator {
    events: Vec<Event>,
    /// Arms at the last accepted time, and at the end of what was searched since without a find. An
    /// input may cut the way there: what would have been farther on does not count then.
    arms: Vec<Arm>,
    passed: Vec<Arm>,
    /// Time of each event in the last located step; infinite for none.
    hits: Vec<f64>,
    /// Arms at the end of the last located step, if nothing happened in it.
    #[serde(skip)]
    ahead: Vec<Arm>,
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
        Self {
            events: self.events.clone(),
            arms: self.arms.clone(),
            passed: self.passed.clone(),
            hits: self.hits.clone(),
            ..Self::default()
        }
    }
}

impl Locator {
    /// How often an interval may be halved because the model does not fit.
    const HALVINGS: u32 = 6;

    /// All events undecided.
    pub fn new(events: Vec<Event>) -> Self {
        let (arms, hits) = (vec![Arm::Undecided; events.len()], vec![f64::INFINITY; events.len()]);
        Self { events, passed: arms.clone(), arms, hits, ..Self::default() }
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
    pub fn open(&mut self) {
        self.hits.fill(f64::INFINITY);
        self.ahead.clone_from(&self.passed);
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
        let dim = rows.rows.len() / rows.stride.max(1);
        let mut curves = Polynomials { rows, start, width, correct };
        let mut best = f64::INFINITY;
        for (index, event) in self.events.iter().enumerate() {
            if event.indicators.is_empty() || !select(index) {
                continue;
            }
            let watched = (event, &mut self.ahead[index]);
            let interval = (start, start + width);
            let found = self.walk.first(&mut curves, watched, interval, dim, tick / 512.0);
            if let Some(found) = found {
                self.hits[index] = found;
                best = best.min(found);
            }
        }
        best
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
        let Self { events, ahead, hits, walk, models, todo, .. } = self;
        let chosen =
            |&(index, event): &(usize, &Event)| !event.indicators.is_empty() && select(index);
        let listed = || events.iter().enumerate().filter(chosen);
        let Some(last) = listed().flat_map(|(_, e)| &e.indicators).max() else {
            return Ok(best);
        };
        let dim = last + 1;
        todo.clear();
        todo.push((t_a, t_b, 0));
        while let Some((low, high, halvings)) = todo.pop() {
            if low > best + tick || probe.bad.is_some() {
                break;
            }
            let middle = 0.5 * (low + high);
            if !models.sample(&mut probe, dim, (low, high), listed().map(|(_, e)| e))
                && halvings < Self::HALVINGS
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
                if hits[index] == f64::INFINITY
                    && let Some(found) =
                        walk.first(&mut curves, (event, &mut ahead[index]), (low, high), dim, snap)
                {
                    hits[index] = found;
                    best = best.min(found);
                }
            }
        }
        match probe.bad {
            Some(bad) => {
                hits.fill(f64::INFINITY);
                Err(bad)
            }
            None => Ok(best),
        }
    }

    /// Ends a search: only what is within a tick of the earliest event remains.
    pub fn close(&mut self, best: f64, tick: f64) -> Option<f64> {
        for hit in &mut self.hits {
            if *hit > best + tick {
                *hit = f64::INFINITY;
            }
        }
        (best < f64::INFINITY).then_some(best)
    }

    /// Goes on behind the whole step, in which nothing was found.
    pub fn pass(&mut self) {
        std::mem::swap(&mut self.passed, &mut self.ahead);
    }

    /// Time of event `index` in the last [`locate`](Self::locate), if it is the earliest or within
    /// one tick of it. All that are not after the common tick fire together, in the caller's order.
    pub fn hit(&self, index: usize) -> Option<f64> {
        self.hits.get(index).copied().filter(|hit| *hit < f64::INFINITY)
    }

    /// `t`, or the latest crossing that was found up to `snap` after it: at a tick that precedes the
    /// crossing it stands for, the condition does not hold yet.
    pub fn snapped(&self, t: f64, snap: f64) -> f64 {
        self.hits.iter().fold(t, |at, &hit| if hit <= t + snap { at.max(hit) } else { at })
    }

    /// Takes over the step up to `t`, where the indicators are `z` (before any reset): events with
    /// a hit up to `t + snap` are now disarmed, the others follow their conditions. Hits are cleared.
    ///
    /// `snap` is the part of a tick that a tick may precede its crossing (2⁻¹⁰ tick), zero where
    /// times are not rounded.
    pub fn accept_within(&mut self, t: f64, z: &[f64], snap: f64) {
        for ((event, arm), hit) in self.events.iter().zip(&mut self.arms).zip(&mut self.hits) {
            if *hit <= t + snap {
                *arm = Arm::Disarmed;
            } else if event.left(z) {
                *arm = Arm::Armed;
            } else if *arm == Arm::Undecided {
                // On the surface the direction decides, at the next search.
                if !event.holds(z) {
                    *arm = Arm::Armed;
                } else if event.worst(z) < 0.0 {
                    *arm = Arm::Disarmed;
                }
            }
            *hit = f64::INFINITY;
        }
        self.passed.clone_from(&self.arms);
    }

    /// [`accept_within`](Self::accept_within) without a snap.
    pub fn accept(&mut self, t: f64, z: &[f64]) {
        self.accept_within(t, z, 0.0);
    }

    /// Which of the first `count` events are armed and hold for these indicators.
    pub fn due<'a>(&'a self, count: usize, z: &'a [f64]) -> impl Iterator<Item = u16> + 'a {
        let due = move |i: &usize| {
            let event = &self.events[*i];
            self.arms[*i] == Arm::Armed && !event.indicators.is_empty() && event.holds(z)
        };
        (0..count).filter(due).map(|i| i as u16)
    }

    /// Sets the readiness of event `index`, where the caller knows better (a shared event that was
    /// carried out, or refused).
    pub fn set(&mut self, index: usize, arm: Arm) {
        self.arms[index] = arm;
        self.passed[index] = arm;
    }

    /// Forgets what is known, as for a new start.
    pub fn reset(&mut self) {
        self.arms.fill(Arm::Undecided);
        self.passed.fill(Arm::Undecided);
        self.hits.fill(f64::INFINITY);
    }

    /// Events in the order of their indices.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Readiness of each event at the end of what was [`pass`](Self::pass)ed.
    pub fn passed(&self) -> &[Arm] {
        &self.passed
    }

    /// Readiness of each event at the last accepted time.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }
}
