//! `switch`: one of two signals.
use super::crossing::{Reacting, Reaction, Relation};
use crate::{
    kinds::{
        ParamType, Params, ValueType,
        params::{Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    signal::{
        Held, NEVER, Timer, combined,
        value::{Flag, Segment, Value},
    },
    solve::ode::Kind,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Component, Effects, Outbox, port::OutPort};

/// Passes one of two signals. Inputs: 0 and 1 the signals, 2 the selection, an event or the signal of
/// the relation; output 0: the selected signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Selector {
    inputs: [Option<Held>; 2],
    first: bool,
    flag: Option<Flag>,
    /// The next segment begins anew, as an input did at the start.
    begins: bool,
    /// The segment that receivers hold.
    sent: Option<Held>,
}

impl Selector {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    fn selected(&self) -> Option<&Held> {
        self.inputs[usize::from(!self.first)].as_ref()
    }

    /// The segment that is to be sent now.
    fn segment(&self, timer: &Timer) -> Option<Segment> {
        let (flag, now) = (self.flag?, timer.now());
        let p = self.selected()?.shifted(now, timer);
        let c = p.truncated(usize::MAX - 1);
        Some(match &self.sent {
            None => Segment::new(c, Flag::Refresh, c[0]),
            Some(_) if self.begins => Segment::new(c, Flag::Jump, c[0]),
            Some(sent) if flag == Flag::Jump => Segment::new(c, flag, sent.left(now, timer)),
            _ => Segment::new(c, Flag::Continuous, c[0]),
        })
    }

    fn select(&mut self, first: bool) {
        if first != self.first {
            self.first = first;
            self.flag = Some(Flag::Jump);
        }
    }
}

impl Reaction for Selector {
    const PORTS: [u16; 2] = [3, 1];

    fn waits(&self, _: &Relation) -> bool {
        self.flag.is_some() && self.selected().is_some()
    }
    fn flips(&mut self, relation: &mut Relation, _: bool, _: i64) {
        self.select(relation.side >= 0.0);
    }
    fn hears(&mut self, relation: &mut Relation, before: Option<f64>, _: i64) {
        let first = relation.side >= 0.0;
        self.begins |= before.is_none() && first != self.first;
        self.select(first);
    }
    fn receive(&mut self, relation: &Relation, (port, value): (u16, &Value), now: i64) {
        match value {
            Value::Segment(s) => {
                Held::receive(&mut self.inputs[usize::from(port)], s, now);
                if (port == 0) == self.first {
                    self.begins |= now == 0 && s.begins();
                    self.flag = Some(combined(self.flag, s.flag));
                }
            }
            v => self.select(v.as_real().is_some_and(|x| x >= relation.level)),
        }
    }
    fn send(&self, timer: &Timer, out: &mut Outbox<'_, Value>) {
        if let Some(segment) = self.segment(timer) {
            out.send(Self::Y, segment);
        }
    }
    fn sent(&mut self, timer: &Timer, _: &mut Effects<Value>) {
        if let Some(segment) = self.segment(timer) {
            Held::receive(&mut self.sent, &segment, timer.now());
        }
        (self.flag, self.begins) = (None, false);
    }
    fn probe(&self, _: &Relation, _: u16, (at, timer): (i64, &Timer)) -> Option<Value> {
        self.selected().map(|h| Value::Real(h.value(at, timer)))
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
        let tolerance = r.positive("exchange_tolerance");
        let relation = Relation::new(Kind::Sign, r.finite("threshold"), (1.0, tolerance));
        let first = params.bool("initial");
        let own = Selector { inputs: [None, None], first, flag: None, begins: false, sent: None };
        let timer = Timer::due(NEVER, context.resolution);
        r.finish(Component::atomic(Reacting { timer, relation, own }))
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
