//! `quantiser`: a signal rounded to multiples of a quantum.
use super::crossing::{Reacting, Reaction, Relation};
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
    solve::ode::Kind,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Component, Effects, Outbox, port::OutPort};

/// Sends the side of a relation that is rounded down. Output 0: multiples of the quantum.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Staircase {
    quantum: f64,
    level: Level,
}

impl Staircase {
    const Y: OutPort<Segment, Self> = OutPort::new(0);
}

impl Reaction for Staircase {
    fn waits(&self, relation: &Relation) -> bool {
        relation.heard().is_some() && self.level.is_pending()
    }
    fn flips(&mut self, relation: &mut Relation, _: bool, now: i64) {
        self.level.change(relation.side * self.quantum, now);
    }
    fn hears(&mut self, relation: &mut Relation, before: Option<f64>, now: i64) {
        self.level.follow(relation.side * self.quantum, now, before.is_none());
    }
    fn send(&self, _: &Timer, out: &mut Outbox<'_, Value>) {
        if let Some(segment) = self.level.pending() {
            out.send(Self::Y, segment);
        }
    }
    fn sent(&mut self, _: &Timer, _: &mut Effects<Value>) {
        self.level.sent();
    }
    fn probe(&self, relation: &Relation, _: u16, _: (i64, &Timer)) -> Option<Value> {
        relation.heard().is_some().then(|| Value::Real(self.level.value()))
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
        // From the lower end of the step around zero.
        let lower = if params.text("mode") == "floor" { 0.0 } else { -0.5 };
        let relation = Relation::new(Kind::Floor, lower, (quantum, tolerance));
        let own = Staircase { quantum, level: Level::new(0.0) };
        let timer = Timer::due(NEVER, context.resolution);
        r.finish(Component::atomic(Reacting { timer, relation, own }))
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

    /// A signal on an edge at the start goes where the unit behind it will take it, by what that hears.
    #[test]
    fn edges_at_the_start() {
        let bench = Bench::run(
            "connections=['c.y -> g.u','g.y -> q.u']\n\
             [unit.c]\nkind='constant'\nvalue=1.0\n\
             [unit.g]\nkind='transfer-function'\nnumerator=[-1]\ndenominator=[1, 2, 1]\n\
             [unit.q]\nkind='quantiser'\nquantum=2.0\nmode='floor'",
            1.0,
        );
        let steps = bench.signal("q.y");
        assert_eq!(steps.last().unwrap(), "0@2 Jump [-2.0] left -2", "{steps:?}");
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
