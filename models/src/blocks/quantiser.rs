//! `quantiser`: a signal rounded to multiples of a quantum.
use super::crossing::{Band, Exit, Watch};
use crate::{
    kinds::{
        ParamType,
        params::{Reader, TOLERANCE, needed, with},
        ports::{ports, signal},
    },
    signal::{
        Level, NEVER, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Rounds a signal. Input 0: the signal; output 0: the multiples of the quantum.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Staircase {
    timer: Timer,
    quantum: f64,
    /// Lower end of a step, in quanta from its multiple: -0.5 to round, 0 for the floor.
    lower: f64,
    /// Number of the step.
    step: f64,
    watch: Watch,
    level: Level,
}

impl Staircase {
    const Y: OutPort<Segment> = OutPort::new(0);

    fn band(&self) -> Band {
        let low = (self.step + self.lower) * self.quantum;
        Band { low, high: (self.step + self.lower + 1.0) * self.quantum }
    }

    fn go(&mut self, step: f64) {
        self.step = step;
        self.level.change(step * self.quantum, self.timer.now());
    }

    fn located(&self) -> Option<f64> {
        if self.level.is_pending() {
            return None;
        }
        let exit = self.watch.planned()?;
        Some(self.step + if exit == Exit::Above { 1.0 } else { -1.0 })
    }

    fn plan(&mut self) {
        let at = self.watch.plan(self.band(), false, &self.timer);
        let waiting = self.watch.held.is_some() && self.level.is_pending();
        self.timer.set(if waiting { self.timer.now() } else { at });
    }
}

impl Atomic<Value> for Staircase {
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
        let mut level = self.level.clone();
        if let Some(step) = self.located() {
            level.change(step * self.quantum, self.timer.next());
        }
        if let Some(segment) = level.pending() {
            out.send(Self::Y, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let located = self.located();
        self.timer.fire();
        if let Some(step) = located {
            fx.located();
            self.watch.passed();
            self.go(step);
        }
        self.level.sent();
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        for (_, value) in bag.iter() {
            let Value::Segment(s) = value else { continue };
            let first = self.watch.held.is_none();
            self.watch.receive(s, &self.timer);
            if first || self.watch.outside_open(self.band()).is_some() {
                // A value on the edge of a step belongs to the step it moves into.
                let exact = s.value(0.0) / self.quantum - self.lower;
                let mut step = exact.floor();
                if !step.is_finite() {
                    fx.fail("the signal is no finite number of quanta");
                    step = 0.0;
                }
                if step == exact && super::crossing::sign_after(s.coefficients(), s.value(0.0)) < 0
                {
                    step -= 1.0;
                }
                self.go(step);
            }
        }
        self.plan();
    }
    fn probe(&self, _: u16, _: Duration) -> Option<Value> {
        self.watch.held.as_ref().map(|_| Value::Real(self.level.value()))
    }
}

unit_kind! {
    /// `quantiser`: the signal rounded to a multiple of `quantum`, as a piecewise constant signal.
    /// Input `u`, output `y`. The crossings of the steps are located.
    ///
    /// ```toml
    /// [unit.display]
    /// kind = "quantiser"
    /// quantum = 0.1
    /// mode = "round"       # or "floor"
    /// ```
    Quantiser = "quantiser", "a signal rounded to multiples of a quantum",
    params: [
        needed("quantum", ParamType::Real(None), "distance of the steps"),
        with("mode", ParamType::Choice(&["round", "floor"]), "round", "which multiple"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let quantum = r.positive("quantum");
        let tolerance = r.positive("exchange_tolerance").min(0.25 * quantum);
        let model = Staircase {
            timer: Timer::due(NEVER, context.resolution),
            quantum,
            lower: if params.text("mode") == "floor" { 0.0 } else { -0.5 },
            step: 0.0,
            watch: Watch::new(tolerance),
            level: Level::new(0.0),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn steps_of_a_ramp_and_of_jumps() {
        let bench = Bench::run(
            "connections=['r.y -> q.u','r.y -> f.u','s.y -> j.u']\n\
             [unit.r]\nkind='ramp'\nslope=-1.0\nvalue=0.5\n\
             [unit.s]\nkind='step'\nat=1\nto=9.9\n\
             [unit.q]\nkind='quantiser'\nquantum=0.5\n\
             [unit.f]\nkind='quantiser'\nquantum=0.5\nmode='floor'\n\
             [unit.j]\nkind='quantiser'\nquantum=2.0",
            1.0,
        );
        assert_eq!(
            bench.signal("q.y"),
            ["0@1 [0.5] left 0.5", "0.25@0 Jump [0.0] left 0.5", "0.75@0 Jump [-0.5] left 0"]
        );
        assert_eq!(
            bench.signal("f.y"),
            ["0@1 [0.0] left 0", "0.5@0 Jump [-0.5] left 0", "1@0 Jump [-1.0] left -0.5"]
        );
        assert_eq!(bench.signal("j.y"), ["0@1 [0.0] left 0", "1@1 Jump [10.0] left 0"]);
    }

    /// A value that rests on the edge of a step belongs to the step above, wherever it came from.
    #[test]
    fn values_on_edges() {
        let bench = Bench::run(
            "connections=['e.y -> h.u','h.y -> f.u','h.y -> q.u']\n\
             [unit.e]\nkind='schedule'\ntimes=[1,2,3]\nvalues=[1.5,2.5,1.5]\n\
             [unit.h]\nkind='hold'\n[unit.q]\nkind='quantiser'\nquantum=1.0\n\
             [unit.f]\nkind='quantiser'\nquantum=0.5\nmode='floor'",
            4.0,
        );
        let steps = |port| {
            let level = |s: String| s.split(['[', ']']).nth(1).unwrap().to_owned();
            bench.signal(port).into_iter().map(level).collect::<Vec<_>>()
        };
        assert_eq!(steps("q.y"), ["0.0", "2.0", "3.0", "2.0"]);
        assert_eq!(steps("f.y"), ["0.0", "1.5", "2.5", "1.5"]);
    }
}
