//! `dead-reckoning-receiver`: runs the model of a `dead-reckoning` unit behind a network.
use super::{
    model::{Law, Model},
    read_law,
};
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    signal::{
        Timer,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Runs a model. Input 0: states; output 0: the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Receiver {
    timer: Timer,
    law: Law,
    /// How long ago what comes was sent.
    delay: i64,
    model: Model,
    /// The flag of the message that is due.
    flag: Option<Flag>,
    left: f64,
    /// A state has come.
    heard: bool,
}

impl Receiver {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    /// Lets what is due happen.
    fn turn(&mut self) {
        self.timer.fire();
        let now = self.timer.now();
        if self.flag.is_none() {
            self.left = self.model.value(now, &self.timer);
            self.model.catch_up(&self.law, now, &self.timer);
            self.flag = Some(Flag::Continuous);
        }
    }

    fn take(&mut self, state: &[f64], now: i64) {
        self.left = self.model.value(now, &self.timer);
        let mut model = Model::begin(&self.law, state, now.saturating_sub(self.delay), &self.timer);
        model.catch_up(&self.law, now, &self.timer);
        let begins = now == 0 && !self.heard;
        self.flag = Some(if begins { Flag::Refresh } else { Flag::Jump });
        if begins {
            self.left = model.value(now, &self.timer);
        }
        (self.model, self.heard) = (model, true);
    }
}

impl Atomic<Value> for Receiver {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut then = self.clone();
        then.turn();
        if let Some(flag) = then.flag {
            let piece = then.model.shifted(then.timer.now(), &then.timer);
            out.send(Self::Y, Segment::new(piece.coefficients(), flag, then.left));
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.turn();
        self.flag = None;
        self.timer.set(self.model.ends());
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        let mut states = Vec::new();
        for (_, value) in bag.iter() {
            match value {
                Value::Segment(state) => states.push(state.coefficients()),
                other => {
                    return fx.fail(format_args!(
                        "input `in` got `{other}`, which is no state of a model; connect the output `sent` of a \
                         dead-reckoning unit, by way of units that send on what they get"
                    ));
                }
            }
        }
        // Several at one instant have no order: the same one counts whatever their order.
        let largest = |a: &&[f64], b: &&[f64]| {
            let pairs = a.iter().zip(*b).map(|(a, b)| a.total_cmp(b));
            pairs
                .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                .then(a.len().cmp(&b.len()))
        };
        if let Some(state) = states.into_iter().max_by(largest) {
            self.take(state, now);
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.model.value(self.timer.at(elapsed), &self.timer)))
    }
}

unit_kind! {
    /// `dead-reckoning-receiver`: a signal by the model that a `dead-reckoning` unit tells. Input `in`: what that sends at
    /// `sent`, also late or with losses; output `y`.
    ///
    /// `order` or `dynamics` are those of the sender. Between updates the model goes on; an update that is lost is
    /// made good by the next one. `delay` is how long updates are on their way: the model begins at the tick at
    /// which they were sent, so that the delay alone makes no error of a model that is right.
    ///
    /// ```toml
    /// [unit.shown]
    /// kind = "dead-reckoning-receiver"
    /// delay = "20 ms"
    /// ```
    DeadReckoningReceiver = "dead-reckoning-receiver", "a signal by a model that is told now and then",
    params: [
        with("order", ParamType::Int, "", "order of the sender's polynomial; default 1"),
        with("dynamics", ParamType::RealList, "", "the sender's linear system"),
        with("delay", ParamType::Duration, "0", "how long updates are on their way"),
        with("initial", ParamType::Real(None), "0.0", "the signal before the first update"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports([event("in", ValueType::Any)], [signal("y")])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let law = read_law(&mut r, params);
        let (delay, initial) = (r.duration("delay"), r.finite("initial"));
        let timer = Timer::due(0, context.resolution);
        let model = Model::holds(initial);
        let flag = Some(Flag::Refresh);
        r.finish(Component::atomic(Receiver { timer, law, delay, model, flag, left: initial, heard: false }))
    },
}
