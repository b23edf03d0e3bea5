//! `switch`: one of two signals.
use super::crossing::{Band, Exit, Watch};
use crate::{
    kinds::{
        ParamType, Params, ValueType,
        params::{Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    signal::{
        Held, NEVER, Timer,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Passes one of two signals. Inputs: 0 and 1 the signals, 2 the selection; output 0: the
/// selected signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Selector {
    timer: Timer,
    inputs: [Option<Held>; 2],
    first: bool,
    threshold: f64,
    /// The selecting signal, if it is one.
    watch: Watch,
    flag: Option<Flag>,
    /// The segment that receivers hold.
    sent: Option<Held>,
}

impl Selector {
    const Y: OutPort<Segment> = OutPort::new(0);
    const SELECT: u16 = 2;

    fn selected(&self) -> Option<&Held> {
        self.inputs[usize::from(!self.first)].as_ref()
    }

    fn band(&self) -> Band {
        if self.first {
            Band { low: self.threshold, high: f64::INFINITY }
        } else {
            Band { low: f64::NEG_INFINITY, high: self.threshold }
        }
    }

    fn segment(&self, at: i64) -> Option<Segment> {
        let p = self.selected()?.shifted(at, &self.timer);
        let c = p.truncated(usize::MAX - 1);
        Some(match (&self.sent, self.flag) {
            (None, _) => Segment::new(c, Flag::Refresh, c[0]),
            (Some(sent), Some(Flag::Jump)) => {
                Segment::new(c, Flag::Jump, sent.left(at, &self.timer))
            }
            _ => Segment::new(c, Flag::Continuous, c[0]),
        })
    }

    fn select(&mut self, first: bool) {
        if first != self.first {
            self.first = first;
            self.flag = Some(Flag::Jump);
        }
    }

    fn plan(&mut self) {
        let at = self.watch.plan(self.band(), false, &self.timer);
        let waiting = self.flag.is_some() && self.selected().is_some();
        self.timer.set(if waiting { self.timer.now() } else { at });
    }

    /// The selection after a located crossing of the selecting signal.
    fn located(&self) -> Option<bool> {
        if self.flag.is_some() && self.selected().is_some() {
            return None;
        }
        self.watch.planned().map(|exit| exit == Exit::Above)
    }
}

impl Atomic<Value> for Selector {
    fn inputs(&self) -> u16 {
        3
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut then = self.clone();
        if let Some(first) = self.located() {
            then.select(first);
        }
        if then.flag.is_some()
            && let Some(segment) = then.segment(self.timer.next())
        {
            out.send(Self::Y, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let located = self.located();
        self.timer.fire();
        if let Some(first) = located {
            fx.located();
            self.watch.passed();
            self.select(first);
        }
        if let Some(segment) = self.segment(self.timer.now()) {
            Held::receive(&mut self.sent, &segment, self.timer.now());
        }
        self.flag = None;
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        for (port, value) in bag.iter() {
            match value {
                Value::Segment(s) if port == Self::SELECT => {
                    self.watch.receive(s, &self.timer);
                    if self.watch.outside_open(self.band()).is_some() {
                        self.select(!self.first);
                    }
                }
                Value::Segment(s) => {
                    Held::receive(&mut self.inputs[usize::from(port)], s, now);
                    if (port == 0) == self.first {
                        self.flag = Some(crate::signal::combined(self.flag, s.flag));
                    }
                }
                v => self.select(v.as_real().is_some_and(|x| x >= self.threshold)),
            }
        }
        self.plan();
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        let at = self.timer.at(elapsed);
        self.selected().map(|h| Value::Real(h.value(at, &self.timer)))
    }
}

fn by_signal(params: &Params) -> bool {
    params.text("by") == "signal"
}

unit_kind! {
    /// `switch`: signal `u1` while the selection is true (at or above `threshold`), else `u2`.
    /// Inputs `u1`, `u2` (signals), `select` (events, or a signal with `by = "signal"`); output `y`.
    ///
    /// The output jumps one micro-step after a selecting event; a crossing of a selecting signal
    /// is located.
    ///
    /// ```toml
    /// [unit.source]
    /// kind = "switch"
    /// by = "event"
    /// initial = true       # before the first selection: u1
    /// threshold = 0.5
    /// ```
    Switch = "switch", "one of two signals",
    params: [
        with("by", ParamType::Choice(&["event", "signal"]), "event", "what selects"),
        with("initial", ParamType::Bool, "true", "selection at the start: true for `u1`"),
        with("threshold", ParamType::Real(None), "0.5", "`u1` at or above it"),
        TOLERANCE,
    ],
    ports: |params| {
        let select = if by_signal(params) { signal("select") } else { event("select", ValueType::Any) };
        Ok(ports([signal("u1"), signal("u2"), select], [signal("y")]))
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let model = Selector {
            timer: Timer::due(NEVER, context.resolution),
            inputs: [None, None],
            first: params.bool("initial"),
            threshold: r.finite("threshold"),
            watch: Watch::new(r.positive("exchange_tolerance")),
            flag: None,
            sent: None,
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    const SIGNALS: &str =
        "[unit.a]\nkind='ramp'\nslope=1.0\n[unit.b]\nkind='constant'\nvalue=7.0\n";

    #[test]
    fn by_events() {
        let bench = Bench::run(
            &format!(
                "connections=['a.y -> s.u1','b.y -> s.u2','e.y -> s.select']\n{SIGNALS}\
                 [unit.e]\nkind='schedule'\ntimes=[1,2]\nvalues=[false,true]\n\
                 [unit.s]\nkind='switch'"
            ),
            3.0,
        );
        assert_eq!(
            bench.signal("s.y"),
            ["0@1 [0.0, 1.0] left 0", "1@1 Jump [7.0] left 1", "2@1 Jump [2.0, 1.0] left 7"]
        );
        assert_eq!(bench.probe("s.y"), 3.0);
    }

    #[test]
    fn by_a_signal() {
        let bench = Bench::run(
            &format!(
                "connections=['a.y -> s.u1','b.y -> s.u2','a.y -> s.select']\n{SIGNALS}\
                 [unit.s]\nkind='switch'\nby='signal'\ninitial=false\nthreshold=2.0"
            ),
            3.0,
        );
        assert_eq!(bench.signal("s.y"), ["0@1 [7.0] left 7", "2@0 Jump [2.0, 1.0] left 7"]);
    }

    /// A selecting signal that rests on the threshold selects as an event of that value does.
    #[test]
    fn values_on_the_threshold() {
        let bench = Bench::run(
            "connections=['e.y -> h.u','h.y -> s.select','e.y -> t.select',\
             'a.y -> s.u1','b.y -> s.u2','a.y -> t.u1','b.y -> t.u2']\n\
             [unit.e]\nkind='schedule'\ntimes=[1,2,3,4]\nvalues=[1.0,0.0,2.0,1.0]\n\
             [unit.h]\nkind='hold'\n\
             [unit.a]\nkind='constant'\nvalue=1.0\n[unit.b]\nkind='constant'\nvalue=2.0\n\
             [unit.s]\nkind='switch'\nby='signal'\ninitial=false\nthreshold=1.0\n\
             [unit.t]\nkind='switch'\ninitial=false\nthreshold=1.0",
            5.0,
        );
        let jumps = |port| {
            let when = |s: String| s.split('@').next().unwrap().to_owned();
            bench.signal(port).into_iter().map(when).collect::<Vec<_>>()
        };
        assert_eq!(jumps("t.y"), ["0", "1", "2", "3"]);
        assert_eq!(jumps("s.y"), jumps("t.y"));
    }
}
