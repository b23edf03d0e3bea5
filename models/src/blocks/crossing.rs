//! Blocks that stand on a relation of a signal: `detector`, `hysteresis`, `quantiser`, `switch`.
//!
//! The relation holds its side and flips by the rules of conditions (docs/conditions.md). A held signal is
//! a polynomial, on which the locator of continuous units finds the next flip.
use crate::{
    maths::poly,
    signal::{
        Held, NEVER, Timer, trimmed,
        value::{Flag, Segment, Value},
    },
    solve::ode::{Flip, Interval, Kind, Locator, Off, Past, Watched},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use superdense_kernel::{
    Atomic, Bag, Effects, Fact, Outbox,
    time::{Duration, Tag},
};

/// Rounding of a value beside its level.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The relation z = signal / unit - level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Relation {
    pub(super) level: f64,
    pub(super) side: f64,
    unit: f64,
    watched: Watched,
    /// How far z may be off: the exchange tolerance of the signal.
    tolerance: f64,
    held: Option<Held>,
    past: Past,
    /// Seconds into the held segment from which the next flip is searched.
    from: f64,
    next: Option<Flip>,
    /// The last flip: what turns the signal later is told of it.
    passed: Option<Tag>,
}

/// Where a polynomial goes from its beginning.
fn way(row: &[f64]) -> f64 {
    row[1..].iter().find(|c| **c != 0.0).map_or(0.0, |c| c.signum())
}

/// The flip was told before the signal turned.
const TURNED: &str = "the signal was foretold to cross the level, but turned back just there, and the crossing was told: \
                      move the level a little";

impl Relation {
    pub(super) fn new(kind: Kind, level: f64, (unit, tolerance): (f64, f64)) -> Self {
        Self {
            level,
            side: 0.0,
            unit,
            watched: Watched { kind, ..Watched::default() },
            tolerance: tolerance / unit,
            held: None,
            past: Past::default(),
            from: 0.0,
            next: None,
            passed: None,
        }
    }

    /// Reports also where the signal comes to the level within its tolerance and turns back.
    pub(super) fn touching(mut self) -> Self {
        self.watched.touching = Some(self.tolerance);
        self
    }

    /// The value with which the segment begins that was heard last.
    pub(super) fn heard(&self) -> Option<f64> {
        self.held.as_ref().map(|h| h.segment().start())
    }

    /// z from `from` on.
    fn row(&self) -> Option<Vec<f64>> {
        let mut row = self.held.as_ref()?.segment().coefficients().to_vec();
        row.iter_mut().for_each(|c| *c /= self.unit);
        row[0] -= self.level;
        poly::shift(&mut row, self.from);
        let mut row = trimmed(&row).to_vec();
        if let ([z], Kind::Floor) = (&mut row[..], self.watched.kind) {
            let rounding = ROUNDING * (z.abs() + self.level.abs());
            *z = if (*z - z.round()).abs() <= rounding { z.round() } else { *z };
        }
        Some(row)
    }

    /// Takes a new segment, which decides the side where it does not continue the last one; gives the
    /// side before, if there was one.
    fn receive(&mut self, segment: &Segment, timer: &Timer) -> Option<f64> {
        let now = timer.now();
        let before = self.held.as_ref().map(|h| h.value(now, timer) / self.unit);
        Held::receive(&mut self.held, segment, now);
        (self.from, self.next) = (0.0, None);
        let row = self.row()?;
        let (z, kind) = (row[0], self.watched.kind);
        let near = |x: f64| (z + self.level - x).abs() <= self.tolerance;
        let continues = segment.flag != Flag::Jump && before.is_some_and(near);
        // On its end a side at rest is that of the whole number, or zero, which any motion ends.
        let rests = match kind {
            Kind::Sign => self.side == 0.0,
            Kind::Floor => row.len() == 1 && z == z.floor(),
        };
        // Where the source begins, at the start, nothing was before.
        let begins = now == 0 && segment.begins();
        let side = before.filter(|_| !begins).map(|_| self.side);
        // On the way it was known within the tolerance only; what stands is known exactly, but for rounding.
        let clear = z == 0.0 || z.abs() > ROUNDING * self.level.abs();
        let stands = kind == Kind::Sign && row.len() == 1 && clear;
        if !continues || rests || stands {
            self.decide();
        }
        if z.abs() > self.tolerance {
            self.past = Past::default();
        }
        side
    }

    /// Decides the side by the value, or else by where it goes.
    pub(super) fn decide(&mut self) {
        let Some(row) = self.row() else { return };
        self.side = self.watched.kind.decide((row[0], 0.0), || way(&row)).0;
    }

    /// Finds the next flip and gives its tick (R14).
    fn plan(&mut self, timer: &Timer) -> i64 {
        self.next = None;
        let Some(row) = self.row() else { return NEVER };
        // As far as a flip needs to go beyond the end of the side by more than the tolerance.
        let (low, high) = match self.watched.kind {
            Kind::Sign => (0.0, 0.0),
            Kind::Floor => (self.side, self.side + 1.0),
        };
        let reach = [low - self.tolerance, high + self.tolerance].map(|level| {
            let mut row = row.clone();
            row[0] -= level;
            poly::root_bound(&row)
        });
        let fresh = timer.resolution().seconds(1) / 512.0;
        let end = self.from + reach[0].max(reach[1]).max(1.0);
        let within = Interval { start: self.from, end, fresh };
        let (mut flips, mut past, mut side) = (Vec::new(), self.past, self.side);
        let found = (&mut flips, &mut past);
        let mut off = Off(self.tolerance);
        // A staircase has a step for each quantum, as far as the signal would go.
        let mut locator = Locator::new(vec![self.watched]).at_most(1);
        locator.polynomial((0, &row), within, &mut side, |_| None, &mut off, found);
        self.next = flips.into_iter().min_by(|a, b| a.t.total_cmp(&b.t));
        let since = self.held.as_ref().map_or(0, Held::since);
        self.next.map_or(NEVER, |flip| timer.event(since, flip.t))
    }

    /// Whether the signal, which was foretold to flip right now, goes back from there.
    fn turns_back(&self, now: Tag) -> bool {
        let back = |row: Vec<f64>| row[0].abs() <= self.tolerance && way(&row) * self.side < 0.0;
        let flipped = self.passed == Some(now) && self.watched.kind == Kind::Sign;
        flipped && self.row().is_some_and(back)
    }

    /// Lets the planned flip happen.
    fn pass(&mut self) -> Option<Flip> {
        let flip = self.next.take()?;
        self.from = flip.t;
        self.side = flip.side;
        self.past = Past { touched: flip.touch.is_some(), ..Past::default() };
        Some(flip)
    }
}

/// The use that a block makes of its relation.
pub(super) trait Reaction:
    std::fmt::Debug + Clone + Send + Serialize + DeserializeOwned
{
    /// Numbers of ports; the last input has the signal.
    const PORTS: [u16; 2] = [1, 1];
    /// Whether something is to be sent in the next micro-step.
    fn waits(&self, relation: &Relation) -> bool;
    /// The relation has flipped along the signal, or touches its level.
    fn flips(&mut self, relation: &mut Relation, touches: bool, now: i64);
    /// A new segment has come, before which the relation had another side, or none.
    fn hears(&mut self, relation: &mut Relation, before: Option<f64>, now: i64);
    /// Any other input.
    fn receive(&mut self, _: &Relation, _: (u16, &Value), _: i64) {}
    fn send(&self, timer: &Timer, out: &mut Outbox<'_, Value>);
    /// After λ.
    fn sent(&mut self, timer: &Timer, fx: &mut Effects<Value>);
    fn probe(&self, _: &Relation, _: u16, _: (i64, &Timer)) -> Option<Value> {
        None
    }
}

/// A block that watches a relation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Reacting<B> {
    pub(super) timer: Timer,
    pub(super) relation: Relation,
    pub(super) own: B,
}

impl<B: Reaction> Reacting<B> {
    /// Lets what is planned happen; gives whether that was located.
    fn turn(&mut self) -> bool {
        let Self { timer, relation, own } = self;
        timer.fire();
        let flip = if own.waits(relation) { None } else { relation.pass() };
        flip.inspect(|flip| own.flips(relation, flip.touch.is_some(), timer.now())).is_some()
    }

    fn plan(&mut self) {
        let at = self.relation.plan(&self.timer);
        let waits = self.own.waits(&self.relation);
        self.timer.set(if waits { self.timer.now() } else { at });
    }
}

impl<B: Reaction + 'static> Atomic<Value> for Reacting<B> {
    fn inputs(&self) -> u16 {
        B::PORTS[0]
    }
    fn outputs(&self) -> u16 {
        B::PORTS[1]
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut then = self.clone();
        then.turn();
        then.own.send(&then.timer, out);
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        if self.turn() {
            self.relation.passed = Some(fx.now());
            fx.located();
        }
        self.own.sent(&self.timer, fx);
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let Self { timer, relation, own } = self;
        for (port, value) in bag.iter() {
            match value {
                Value::Segment(s) if port + 1 == B::PORTS[0] => {
                    let before = relation.receive(s, timer);
                    own.hears(relation, before, timer.now());
                }
                _ => own.receive(relation, (port, value), timer.now()),
            }
        }
        if self.relation.turns_back(fx.now()) {
            fx.report(Fact::Note(TURNED.into()));
        }
        if !self.relation.side.is_finite() {
            fx.fail("the signal is not finite, or too large");
            self.relation.side = 0.0;
        }
        self.plan();
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        self.own.probe(&self.relation, port, (self.timer.at(elapsed), &self.timer))
    }
}
