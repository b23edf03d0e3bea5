//! `delay`: events or signals, later.
use crate::{
    kinds::{
        ParamType, Params, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, needed, with},
        ports::{event, ports, signal},
    },
    signal::{
        Held, NEVER, Timer,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Sends what it received a fixed time later. Input 0, output 0: events or segments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DelayLine {
    timer: Timer,
    delay: i64,
    /// In transit, with their times of departure, ascending.
    transit: VecDeque<(i64, Value)>,
    /// For signals: what receivers hold.
    held: Option<Held>,
}

impl DelayLine {
    const Y: OutPort<Value, Self> = OutPort::new(0);

    fn leaving(&self) -> impl Iterator<Item = &Value> {
        let at = self.timer.next();
        self.transit.iter().take_while(move |(t, _)| *t == at).map(|(_, v)| v)
    }

    fn reschedule(&mut self) {
        self.timer.set(self.transit.front().map_or(NEVER, |(t, _)| *t));
    }

    /// Puts a segment into the line; one of the same tick replaces it, as for any receiver.
    fn push_segment(&mut self, s: &Segment, due: i64) {
        let mut s = s.clone();
        match self.transit.back() {
            Some((t, Value::Segment(old))) if *t == due => {
                s.left = old.left;
                if old.flag == Flag::Jump {
                    s.flag = Flag::Jump;
                }
                self.transit.pop_back();
            }
            _ => {}
        }
        // The start of the signal meets the initial value.
        if s.flag == Flag::Refresh
            && due > 0
            && self.transit.is_empty()
            && let Some(held) = self.held.as_ref().filter(|h| h.since() == 0)
        {
            s.left = held.value(due, &self.timer);
            s.flag = if s.left == s.value(0.0) { Flag::Continuous } else { Flag::Jump };
        }
        self.transit.push_back((due, Value::Segment(s)));
    }
}

impl Atomic<Value> for DelayLine {
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
        self.leaving().for_each(|v| out.send(Self::Y, v.clone()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        let count = self.leaving().count();
        self.timer.fire();
        for (at, value) in self.transit.drain(..count) {
            if let Value::Segment(s) = value {
                self.held = Some(Held::new(s, at));
            }
        }
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let Some(due) = self.timer.now().checked_add(self.delay) else {
            return fx.fail("the delay ends beyond the largest time; choose a shorter one");
        };
        for (_, value) in bag.iter() {
            match value {
                Value::Segment(s) => self.push_segment(s, due),
                v => self.transit.push_back((due, v.clone())),
            }
        }
        self.reschedule();
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.delay)
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        let held = self.held.as_ref()?;
        Some(Value::Real(held.value(self.timer.at(elapsed), &self.timer)))
    }
}

fn of_signals(params: &Params) -> bool {
    params.text("of") == "signal"
}

unit_kind! {
    /// `delay`: events or signals, a fixed time later. Input `u`, output `y`.
    ///
    /// Any number of events may be in transit; they leave in the order in which they came. Segments
    /// of a signal are delayed exactly; before the first one arrives the output is `initial`. A
    /// delay of zero is one micro-step.
    ///
    /// ```toml
    /// [unit.pipe]
    /// kind = "delay"
    /// delay = "20 ms"
    /// of = "signal"        # default "event"
    /// initial = 0.0        # signals only
    /// ```
    Delay = "delay", "events or signals, a fixed time later",
    params: [
        needed("delay", ParamType::Duration, "the time"),
        with("of", ParamType::Choice(&["event", "signal"]), "event", "what is delayed"),
        with("initial", ParamType::Real(None), "0.0", "signal before the first delayed segment"),
    ],
    ports: |params| Ok(if of_signals(params) {
        ports([signal("u")], [signal("y")])
    } else {
        ports([event("u", ValueType::Any)], [event("y", ValueType::Any)])
    }),
    feed_through: |params, _| {
        FeedThrough::unless(params.duration("delay") > Duration::ZERO, Passing::Always)
    },
    hands_on: true,
    build: |params, context| {
        let mut r = Reader::new(params);
        let (delay, initial) = (r.duration("delay"), r.finite("initial"));
        let mut model = DelayLine {
            timer: Timer::due(NEVER, context.resolution),
            delay,
            transit: VecDeque::new(),
            held: None,
        };
        if of_signals(params) {
            let start = Segment::new(&[initial], Flag::Refresh, initial);
            model.transit.push_back((0, Value::Segment(start)));
            model.timer.set(0);
        }
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn events_keep_their_order() {
        let bench = Bench::run(
            "connections=['s.y -> d.u']\n[unit.s]\nkind='schedule'\ntimes=[0, 0.1, 0.1, 0.25]\n\
             values=[1,2,3,4]\n[unit.d]\nkind='delay'\ndelay='0.2 s'",
            1.0,
        );
        assert_eq!(bench.events("d.y"), ["0.2@0 1", "0.3@0 2", "0.3@0 3", "0.45@0 4"]);
    }

    /// Conformance H4: a micro-step delay in a loop, here a pulse that halves until it stops.
    #[test]
    fn zero_is_one_micro_step() {
        let bench = Bench::run(
            "connections=['s.y -> d.u','d.y -> e.u']\n[unit.s]\nkind='schedule'\ntimes=[1]\n\
             values=[3]\n[unit.d]\nkind='delay'\ndelay=0\n[unit.e]\nkind='delay'\ndelay=0",
            2.0,
        );
        assert_eq!(bench.events("e.y"), ["1@2 3"]);
    }

    #[test]
    fn segments_are_delayed_exactly() {
        let bench = Bench::run(
            "connections=['r.y -> d.u']\n[unit.r]\nkind='ramp'\nfrom=1\nuntil=2\nslope=0.5\n\
             value=3.0\n[unit.d]\nkind='delay'\ndelay=0.25\nof='signal'\ninitial=-1.0",
            4.0,
        );
        assert_eq!(
            bench.signal("d.y"),
            [
                "0@0 [-1.0] left -1",
                "0.25@0 Jump [3.0] left -1",
                "1.25@0 ~ [3.0, 0.5] left 3",
                "2.25@0 ~ [3.5] left 3.5"
            ]
        );
        assert_eq!(bench.probe("d.y"), 3.5);
    }
}
