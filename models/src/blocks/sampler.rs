//! `sampler`: values of a signal as events.
use super::clock::rational;
use crate::{
    kinds::{
        ParamType, Params, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, with},
        ports::{event, signal},
    },
    signal::{Held, NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// Reads a signal. Inputs: 0 the signal, 1 triggers; output 0: real events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reading {
    timer: Timer,
    clock: Option<(RationalClock, u64)>,
    left: bool,
    settle: u32,
    u: Option<Held>,
    /// Micro-steps until the value is read and sent; 0 when nothing is to be read.
    wait: u32,
    /// A reading at this tick found no signal yet.
    starved: bool,
}

impl Reading {
    const Y: OutPort<f64, Self> = OutPort::new(0);

    fn sample(&self, at: i64) -> Option<f64> {
        let u = self.u.as_ref()?;
        Some(if self.left { u.left(at, &self.timer) } else { u.value(at, &self.timer) })
    }

    fn clock_tick(&self) -> i64 {
        self.clock.and_then(|(c, k)| c.tick(k).ok()).unwrap_or(NEVER)
    }

    fn reschedule(&mut self) {
        self.timer.set(if self.wait > 0 { self.timer.now() } else { self.clock_tick() });
    }
}

impl Atomic<Value> for Reading {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.wait == 1
            && let Some(x) = self.sample(self.timer.next())
        {
            out.send(Self::Y, x);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        if self.wait > 0 {
            self.wait -= 1;
            self.starved = self.wait == 0 && self.u.is_none();
        } else if let Some((_, k)) = &mut self.clock {
            *k += 1;
            self.wait = self.settle;
        }
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.starved &= elapsed == Duration::ZERO;
        for (port, value) in bag.iter() {
            match value {
                Value::Segment(s) if port == 0 => {
                    Held::receive(&mut self.u, s, self.timer.now());
                    if std::mem::take(&mut self.starved) {
                        self.wait = 1;
                    }
                }
                _ if port == 1 && self.wait == 0 => self.wait = self.settle,
                _ => {}
            }
        }
        self.reschedule();
    }
}

fn periodic(params: &Params) -> bool {
    let r = Reader::new(params);
    r.given("period") || r.given("numerator") || r.given("denominator")
}

unit_kind! {
    /// `sampler`: values of a signal as events, at its own period or at triggers. Inputs `u`
    /// (signal), `trigger` (events; needed without a period); output `y` (real events).
    ///
    /// The value leaves `settle` micro-steps after the trigger (1 by default). `mode = "left"` is
    /// the signal just before that instant, whatever arrives at it; `"right"` is the signal after
    /// what has arrived before the value leaves: with a chain of n blocks between the cause of a
    /// jump and the sampler, set `settle = n + 1` to see the jump.
    ///
    /// ```toml
    /// [unit.adc]
    /// kind = "sampler"
    /// period = "1 ms"      # or numerator/denominator in seconds, or wire `trigger`
    /// mode = "left"
    /// ```
    Sampler = "sampler", "values of a signal as events",
    params: [
        with("period", ParamType::Period, "", "own period"),
        with("numerator", ParamType::Int, "", "own period in seconds: numerator"),
        with("denominator", ParamType::Int, "", "own period in seconds: denominator"),
        with("offset", ParamType::Duration, "0 s", "first sample"),
        with("mode", ParamType::Choice(&["left", "right"]), "right", "before or after a jump"),
        with("settle", ParamType::Int, "1", "micro-steps from the trigger to the reading"),
    ],
    ports: |params| {
        let trigger = event("trigger", ValueType::Any);
        let trigger = if periodic(params) { trigger.optional() } else { trigger };
        Ok(Ports {
            inputs: vec![signal("u"), trigger],
            outputs: vec![event("y", ValueType::Real)],
        })
    },
    // The signal is looked at when a sample is due.
    feed_through: |_, _| FeedThrough::Pairs(vec![(1, 0, Passing::Always)]),
    build: |params, context| {
        let mut r = Reader::new(params);
        let clock = if periodic(params) { rational(&mut r, params, context.resolution) } else { None };
        let settle = r.int("settle", 1, 1000) as u32;
        let mut model = Reading {
            timer: Timer::due(NEVER, context.resolution),
            clock: clock.map(|c| (c, 0)),
            left: params.text("mode") == "left",
            settle,
            u: None,
            wait: 0,
            starved: false,
        };
        model.reschedule();
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H2, with triggers and with an own period.
    #[test]
    fn a_jump_at_the_instant() {
        for (mode, value) in [("left", 2), ("right", 7)] {
            for (wire, own) in [(", 'c.y -> s.trigger'", ""), ("", "period=1\noffset=1")] {
                let bench = Bench::run(
                    &format!(
                        "connections=['x.y -> s.u'{wire}]\n\
                         [unit.x]\nkind='step'\nat=1\nfrom=2.0\nto=7.0\n\
                         [unit.c]\nkind='clock'\nperiod=1\noffset=1\n\
                         [unit.s]\nkind='sampler'\nmode='{mode}'\n{own}"
                    ),
                    2.0,
                );
                assert_eq!(bench.events("s.y"), [format!("1@1 {value}"), "2@1 7".into()]);
            }
        }
    }

    #[test]
    fn chains_need_time_to_settle() {
        for (settle, expected) in [(1, "1@1 2"), (2, "1@2 7")] {
            let bench = Bench::run(
                &format!(
                    "connections=['x.y -> g.u','g.y -> s.u']\n\
                     [unit.x]\nkind='step'\nat=1\nfrom=2.0\nto=7.0\n\
                     [unit.g]\nkind='gain'\ngain=1.0\n\
                     [unit.s]\nkind='sampler'\nperiod=1\nsettle={settle}"
                ),
                1.0,
            );
            assert_eq!(bench.events("s.y"), ["0@2 2", expected], "waits for the first segment");
        }
    }
}
