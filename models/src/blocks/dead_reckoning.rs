//! Dead reckoning: receivers run a model of a signal, and hear of it only where the model goes wrong.
//!
//! The sender runs the model, too, and sends its state anew where the signal leaves it by a band (IEEE 1278.1, dead
//! reckoning; Gomes et al. 2017, appendix C.2.1). A model is the Taylor polynomial of the signal, or a linear
//! system without input.
//!
//! **Why one piece of code for both ends.** Pieces of a linear system's solution are truncated. Sender and receiver
//! expand them at the same ticks by the same arithmetic, so that they hold the same numbers, and what the sender
//! takes for the receiver's error is that error.
mod model;
mod receiver;

pub use receiver::DeadReckoningReceiver;

use crate::{
    kinds::{
        ParamType, Params, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, TOLERANCE, needed, with},
        ports::{event, happened, ports, signal},
    },
    maths::poly,
    signal::{
        Held, NEVER, Timer,
        value::{Flag, Segment, Value},
    },
};
use model::{Law, Model, law};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox, port::OutPort, time::Duration,
};

/// Coefficients of a segment of the highest order, 12.
const MOST: i64 = 12;

/// The messages of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Sends {
    /// The model begins anew from the signal.
    Update,
    /// Its solution, expanded at a later tick.
    Piece,
}

/// Sends a model of a signal. Input 0: `u`; output 0: the model; output 1: its states, where it begins anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reckoner {
    timer: Timer,
    band: f64,
    law: Law,
    u: Option<Held>,
    model: Option<Model>,
    /// The next message.
    next: Option<Sends>,
    /// The value of the model before it began anew, for the left limit.
    left: f64,
}

impl Reckoner {
    const Y: OutPort<Segment, Self> = OutPort::new(0);
    const SENT: OutPort<Segment, Self> = OutPort::new(1);

    /// How far the signal is from the model, as a polynomial from `now` on.
    fn deviation(&self) -> Option<Vec<f64>> {
        let (u, model) = (self.u.as_ref()?, self.model.as_ref()?);
        let mut off = u.shifted(self.timer.now(), &self.timer);
        off.add(-1.0, model.shifted(self.timer.now(), &self.timer).coefficients());
        Some(off.coefficients().to_vec())
    }

    /// Lets what is due happen.
    fn turn(&mut self) -> Option<Sends> {
        self.timer.fire();
        let now = self.timer.now();
        let sends = self.next.take()?;
        let before = self.model.as_ref().map(|m| m.value(now, &self.timer));
        match (&mut self.model, sends) {
            (Some(model), Sends::Piece) => model.go_on(&self.law, &self.timer),
            (model, _) => {
                let state = self.u.as_ref()?.shifted(now, &self.timer);
                *model = Some(Model::begin(&self.law, state.coefficients(), now, &self.timer));
            }
        }
        let value = self.model.as_ref()?.value(now, &self.timer);
        self.left = before.filter(|_| now > 0).unwrap_or(value);
        Some(sends)
    }

    /// Plans the next message, at the last tick at which the model is within the band.
    fn plan(&mut self) {
        let now = self.timer.now();
        let (at, next) = match (self.deviation(), &self.model) {
            (Some(off), Some(model)) if off[0].abs() <= self.band => {
                let ahead = match model.ends() {
                    NEVER => f64::INFINITY,
                    end => self.timer.seconds(now, end),
                };
                let leaves = poly::first_exceed(&off, self.band, ahead);
                let leaves = leaves.map_or(NEVER, |seconds| self.timer.within(seconds));
                let updates = leaves <= model.ends();
                (leaves.min(model.ends()), if updates { Sends::Update } else { Sends::Piece })
            }
            _ if self.u.is_some() => (now, Sends::Update),
            _ => (NEVER, Sends::Update),
        };
        self.timer.set(at);
        self.next = Some(next).filter(|_| at != NEVER);
    }

    fn piece(&self, sends: Sends) -> Option<Segment> {
        let model = self.model.as_ref()?;
        let flag = match sends {
            Sends::Piece => Flag::Continuous,
            Sends::Update if self.timer.now() == 0 => Flag::Refresh,
            Sends::Update => Flag::Jump,
        };
        Some(Segment::new(model.coefficients(), flag, self.left))
    }
}

impl Atomic<Value> for Reckoner {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut then = self.clone();
        let Some(sends) = then.turn() else { return };
        if let Some(segment) = then.piece(sends) {
            out.send(Self::Y, segment);
        }
        if let Some(model) = then.model.as_ref().filter(|_| sends == Sends::Update) {
            let state = Segment::new(model.state(), Flag::Jump, then.left);
            out.send(Self::SENT, state);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        if self.turn() == Some(Sends::Update) {
            fx.located();
            happened(fx, "update", EventKind::Private);
        }
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        for (_, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.u, s, now);
            }
        }
        if self
            .u
            .as_ref()
            .is_some_and(|u| !u.segment().coefficients().iter().all(|c| c.is_finite()))
        {
            return fx.fail("the signal is not finite, so there is no model of it; look at the unit that sends it");
        }
        self.plan();
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        let at = self.timer.at(elapsed);
        self.model.as_ref().map(|m| Value::Real(m.value(at, &self.timer)))
    }
}

/// The law of a model, from `dynamics`, `order` and `exchange_tolerance`.
fn read_law(r: &mut Reader<'_>, params: &Params) -> Law {
    let tolerance = r.positive("exchange_tolerance");
    let order = if r.given("order") { r.int("order", 0, MOST) } else { 1 };
    if !r.given("dynamics") {
        return Law { numbers: order as usize + 1, rates: Box::default(), tolerance };
    }
    let both = r.given("order");
    let message = "`order` is for polynomials, `dynamics` for linear systems";
    r.check(!both, "order", message, "leave one of the two out");
    let given = params.reals("dynamics");
    let ok = (2..=MOST as usize + 1).contains(&given.len())
        && given.iter().all(|x| x.is_finite())
        && given[0] != 0.0;
    let help = "write the coefficients of the powers of s, the highest first, such as [1, 0.4, 4] for x'' + 0.4 x' + 4 x = 0";
    r.check(ok, "dynamics", "`dynamics` is no linear system of order 1 to 12", help);
    if ok { law(&given, tolerance) } else { law(&[1.0, 0.0], tolerance) }
}

unit_kind! {
    /// `dead-reckoning`: receivers run a model of a signal, which is told anew where the signal leaves it by `band`.
    /// Input `u`; output `y`: what receivers hold; output `sent`: an event with the model's state at each update,
    /// for a `dead-reckoning-receiver` behind a network. `via dead_reckoning(0.01)` on a connection does the same.
    ///
    /// The model is the Taylor polynomial of the signal of order `order` (0: its value, 1: with its rate, the default, 2: with
    /// its acceleration), or the linear system without input whose characteristic polynomial is `dynamics`, begun
    /// with the signal's value and derivatives. Give the source a `segment_order` of at least that.
    ///
    /// At no tick is the model further from the signal than `band`. The signal is what the source sends, which is off
    /// by its `exchange_tolerance`; pieces of a linear system by that of this unit. Each update is an event
    /// `update` in `events.csv`.
    ///
    /// ```toml
    /// [unit.position]
    /// kind = "dead-reckoning"
    /// band = 0.01
    /// dynamics = [1, 0.4, 4]               # x'' + 0.4 x' + 4 x = 0, instead of order
    /// ```
    DeadReckoning = "dead-reckoning", "a model of a signal, told anew where it goes wrong",
    params: [
        needed("band", ParamType::Real(None), "how far the signal may be from the model"),
        with("order", ParamType::Int, "", "order of the polynomial, 0 to 12; default 1"),
        with("dynamics", ParamType::RealList, "", "coefficients of a linear system, the highest power of s first"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports([signal("u")], [signal("y"), event("sent", ValueType::Any)])),
    feed_through: |_, _| FeedThrough::All(Passing::Sometimes),
    build: |params, context| {
        let mut r = Reader::new(params);
        let band = r.positive("band");
        let law = read_law(&mut r, params);
        let timer = Timer::due(NEVER, context.resolution);
        let model = Reckoner { timer, band, law, u: None, model: None, next: None, left: 0.0 };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests;
