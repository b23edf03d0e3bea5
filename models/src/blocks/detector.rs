//! `detector`: an event when a signal crosses a threshold.
use super::crossing::{Reacting, Reaction, Relation};
use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, TOLERANCE, with},
        ports::{event, happened, ports, signal, type_of},
    },
    signal::{NEVER, Timer, value::Value},
    solve::ode::Kind,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Component, Effects, EventKind, Outbox, port::OutPort};

/// Reports the flips of a relation. Output 0: the events.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Threshold {
    /// 1: rising only, -1: falling only, 0: both.
    direction: f64,
    /// Arriving at the threshold counts, too.
    enters: bool,
    value: Option<Value>,
    /// The last side but zero, or zero after arriving there.
    side: f64,
    /// Reported now, or else in the next micro-step: 1 for rising, -1 for falling, 0 for arriving.
    report: Option<f64>,
}

impl Threshold {
    const Y: OutPort<Value, Self> = OutPort::new(0);

    fn report(&mut self, way: f64) {
        if way == 0.0 || self.direction == 0.0 || self.direction == way {
            self.report = Some(way);
        }
    }
}

impl Reaction for Threshold {
    fn waits(&self, _: &Relation) -> bool {
        self.report.is_some()
    }
    fn flips(&mut self, relation: &mut Relation, touches: bool, _: i64) {
        if touches {
            return self.report(0.0);
        }
        self.side = relation.side;
        self.report(self.side);
    }
    fn hears(&mut self, relation: &mut Relation, before: Option<f64>, _: i64) {
        let (side, last) = (relation.side, self.side);
        // Resting on the threshold is no side to cross to.
        if side == last || side == 0.0 && !self.enters {
            return;
        }
        self.side = side;
        if before.is_some() && last != 0.0 {
            self.report(side);
        }
    }
    fn send(&self, _: &Timer, out: &mut Outbox<'_, Value>) {
        if let Some(way) = self.report {
            out.send(Self::Y, self.value.clone().unwrap_or(Value::Int(way as i64)));
        }
    }
    fn sent(&mut self, _: &Timer, fx: &mut Effects<Value>) {
        if self.report.take().is_some() {
            happened(fx, "crossing", EventKind::Private);
        }
    }
}

unit_kind! {
    /// `detector`: an event when a signal crosses `threshold`. Input `u`, output `y`: `value`, or
    /// 1 for rising, -1 for falling and 0 for arriving.
    ///
    /// A crossing of the held polynomial is located and reported at its tick, never early (the
    /// root is rounded up). A crossing by a jump is reported one micro-step after it. Nothing is
    /// reported at the start. `mode = "cross"` needs a change of sign; `"enter"` also reports when
    /// the signal touches the threshold (within `exchange_tolerance`) or jumps onto it.
    ///
    /// ```toml
    /// [unit.alarm]
    /// kind = "detector"
    /// threshold = 80.0
    /// direction = "rising" # or "falling", "both"
    /// value = "too hot"    # optional
    /// ```
    Detector = "detector", "an event when a signal crosses a threshold",
    params: [
        with("threshold", ParamType::Real(None), "0.0", "the threshold"),
        with("direction", ParamType::Choice(&["rising", "falling", "both"]), "both", "which crossings count"),
        with("mode", ParamType::Choice(&["cross", "enter"]), "cross", "whether touching counts"),
        with("value", ParamType::Value, "", "what is sent; default the direction as 1, -1 or 0"),
        TOLERANCE,
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let ty = r.value("value").map_or(ValueType::Int, |v| type_of(&v));
        r.finish(ports([signal("u")], [event("y", ty)]))
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let tolerance = r.positive("exchange_tolerance");
        let relation = Relation::new(Kind::Sign, r.finite("threshold"), (1.0, tolerance));
        let enters = params.text("mode") == "enter";
        let own = Threshold {
            direction: match params.text("direction") {
                "rising" => 1.0,
                "falling" => -1.0,
                _ => 0.0,
            },
            enters,
            value: r.value("value"),
            side: 0.0,
            report: None,
        };
        let relation = if enters { relation.touching() } else { relation };
        let timer = Timer::due(NEVER, context.resolution);
        r.finish(Component::atomic(Reacting { timer, relation, own }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H5.
    #[test]
    fn jumps_are_reported_one_micro_step_later() {
        let bench = Bench::run(
            "connections=['p.y -> d.u']\n[unit.p]\nkind='pulse'\nperiod=2\nwidth=1\noffset=1\n\
             low=-1.0\n[unit.d]\nkind='detector'",
            4.0,
        );
        assert_eq!(bench.events("d.y"), ["1@1 1", "2@1 -1", "3@1 1", "4@1 -1"]);
    }

    /// Conformance H6: x = (t - 1)², as an integral of 2 t - 2.
    #[test]
    fn grazing() {
        for (mode, expected) in [("cross", vec![]), ("enter", vec!["1@0 0"])] {
            let bench = Bench::run(
                &format!(
                    "connections=['r.y -> x.u','x.y -> d.u']\n\
                     [unit.r]\nkind='ramp'\nslope=2.0\nvalue=-2.0\n\
                     [unit.x]\nkind='integrator'\ninitial=1.0\n\
                     [unit.d]\nkind='detector'\nmode='{mode}'"
                ),
                3.0,
            );
            assert_eq!(bench.events("d.y"), expected);
        }
    }

    /// x = (1 - t)² (2 - t) touches zero and crosses it, both on one piece.
    #[test]
    fn a_touch_before_a_crossing() {
        let bench = Bench::run(
            "connections=['r.y -> v.u','v.y -> x.u','x.y -> d.u']\n\
             [unit.r]\nkind='ramp'\nslope=-6.0\nvalue=8.0\n\
             [unit.v]\nkind='integrator'\ninitial=-5.0\n\
             [unit.x]\nkind='integrator'\ninitial=2.0\n\
             [unit.d]\nkind='detector'\nthreshold=0.0\nmode='enter'",
            3.0,
        );
        assert_eq!(bench.events("d.y"), ["1@0 0", "2@0 -1"]);
    }

    /// Conformance H7.
    #[test]
    fn a_root_off_the_grid_is_never_early() {
        let bench = Bench::run(
            "connections=['r.y -> d.u']\n[unit.r]\nkind='ramp'\nslope=3.0\nvalue=-1.0\n\
             [unit.d]\nkind='detector'",
            3.0,
        );
        assert_eq!(bench.events("d.y"), ["0.333333334@0 1"]);
    }

    /// Conformance H9: the prediction of 0.4 s never fires.
    #[test]
    fn stale_roots() {
        let bench = Bench::run(
            "connections=['a.y -> h.u','h.y -> x.u','x.y -> d.u']\n\
             [unit.a]\nkind='schedule'\ntimes=[0.3,0.6]\nvalues=[-1.0,1.0]\n\
             [unit.h]\nkind='hold'\ninitial=1.0\n\
             [unit.x]\nkind='integrator'\ninitial=-0.4\n\
             [unit.d]\nkind='detector'",
            3.0,
        );
        assert_eq!(bench.events("d.y"), ["1@0 1"]);
    }

    /// Conformance H11.
    #[test]
    fn impulse_feedback() {
        let bench = Bench::run(
            "connections=['c.y -> x.u','x.y -> d.u','d.y -> x.impulse']\n\
             [unit.c]\nkind='constant'\nvalue=1.0\n\
             [unit.x]\nkind='integrator'\n\
             [unit.d]\nkind='detector'\nthreshold=1.05\ndirection='rising'\nvalue=-0.5",
            5.0,
        );
        let times: Vec<String> = (0..8)
            .map(|k| {
                let t = superdense_kernel::time::Resolution::NANO
                    .format(1_050_000_000 + k * 500_000_000);
                format!("{t}@0 -0.5")
            })
            .collect();
        assert_eq!(bench.events("d.y"), times);
        assert!((bench.probe("x.y") - 1.0).abs() < 1e-8);
    }

    #[test]
    fn a_jump_onto_the_threshold() {
        let text = |mode| {
            format!(
                "connections=['a.y -> h.u','h.y -> d.u']\n\
                 [unit.a]\nkind='schedule'\ntimes=[1,2,3]\nvalues=[0.0,1.0,-1.0]\n\
                 [unit.h]\nkind='hold'\ninitial=-1.0\n[unit.d]\nkind='detector'\nmode='{mode}'"
            )
        };
        assert_eq!(Bench::run(&text("cross"), 4.0).events("d.y"), ["2@2 1", "3@2 -1"]);
        assert_eq!(Bench::run(&text("enter"), 4.0).events("d.y"), ["1@2 0", "3@2 -1"]);
    }

    /// Chattering ends in the guard's error, not in one event per tick for ever (H22).
    #[test]
    fn chattering_is_stopped() {
        let mut bench = Bench::start(
            ".".as_ref(),
            "connections=['x.y -> d.u','d.y -> k.u','k.y -> h.u','h.y -> x.u']\n\
             [unit.x]\nkind='integrator'\ninitial=0.5\n\
             [unit.d]\nkind='detector'\n[unit.k]\nkind='scaler'\ngain=-1.0\n\
             [unit.h]\nkind='hold'\ninitial=-1.0",
        );
        assert!(bench.go(2.0).is_err());
    }
}
