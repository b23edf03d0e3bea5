//! `sine`: a sine wave as Taylor segments.
use crate::{
    kinds::{
        ParamType,
        params::{ORDER, Reader, TOLERANCE, needed, with},
        ports::{ports, signal},
    },
    signal::{
        Sizes, Timer, horizon,
        statistics::UnitStatistics,
        trimmed,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use superdense_kernel::{Atomic, Component, Effects, Outbox, port::OutPort, time::Duration};

/// `offset + amplitude sin(2π frequency t + phase)`. Output 0: the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SineWave {
    timer: Timer,
    amplitude: f64,
    frequency: f64,
    phase: f64,
    offset: f64,
    order: usize,
    tolerance: f64,
    started: bool,
}

impl SineWave {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    fn angle(&self, at: i64) -> f64 {
        // Whole turns are dropped before π enters, so that late times lose no digits to it.
        let turns = self.frequency * self.timer.seconds(0, at);
        TAU * (turns - turns.floor()) + self.phase
    }

    fn value(&self, at: i64) -> f64 {
        self.offset + self.amplitude * libm::sin(self.angle(at))
    }

    fn segment(&self, at: i64) -> Segment {
        let (sin, cos) = (libm::sin(self.angle(at)), libm::cos(self.angle(at)));
        let derivatives = [sin, cos, -sin, -cos];
        let mut scale = self.amplitude;
        let mut c = [0.0; 13];
        for (k, c) in c.iter_mut().enumerate().take(self.order + 1) {
            *c = scale * derivatives[k % 4];
            scale *= TAU * self.frequency / (k + 1) as f64;
        }
        c[0] += self.offset;
        let flag = if self.started { Flag::Continuous } else { Flag::Refresh };
        Segment::new(trimmed(&c[..=self.order]), flag, c[0])
    }

    /// Bound of the remainder: `|amplitude| (ω e)^(n+1) / (n+1)!`.
    fn validity(&self) -> f64 {
        let mut rest = self.amplitude.abs();
        (1..=self.order + 1).for_each(|k| rest *= TAU * self.frequency.abs() / k as f64);
        horizon(self.order + 1, &[rest], self.tolerance)
    }
}

impl Atomic<Value> for SineWave {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        out.send(Self::Y, self.segment(self.timer.next()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.started = true;
        self.timer.set(self.timer.within(self.validity()));
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.value(self.timer.at(elapsed))))
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        let coarse = Sizes::default().is_coarse(0, self.amplitude, self.tolerance);
        UnitStatistics::coarse(coarse).entries()
    }
}

unit_kind! {
    /// `sine`: `y(t) = offset + amplitude sin(2π frequency t + phase)`. Output `y`.
    ///
    /// A segment of order n is good for `((n+1)! tolerance / amplitude)^(1/(n+1)) / ω`, then the
    /// next one follows.
    ///
    /// ```toml
    /// [unit.mains]
    /// kind = "sine"
    /// amplitude = 325.0
    /// frequency = 50.0     # Hz
    /// phase = 0.0          # rad
    /// exchange_tolerance = 1e-3
    /// ```
    Sine = "sine", "a sine wave",
    params: [
        with("amplitude", ParamType::Real(None), "1.0", "amplitude"),
        needed("frequency", ParamType::Real(Some("Hz")), "frequency in Hz"),
        with("phase", ParamType::Real(Some("rad")), "0.0", "phase in rad"),
        with("offset", ParamType::Real(None), "0.0", "mean value"),
        ORDER,
        TOLERANCE,
    ],
    ports: |_| Ok(ports([], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let (order, tolerance) = r.accuracy();
        let model = SineWave {
            timer: Timer::due(0, context.resolution),
            amplitude: r.finite("amplitude"),
            frequency: r.finite("frequency"),
            phase: r.finite("phase"),
            offset: r.finite("offset"),
            order,
            tolerance,
            started: false,
        };
        let ok = model.amplitude == 0.0
            || model.validity() * context.resolution.ticks_per_second() as f64 >= 1.0;
        let help = "choose a larger `exchange_tolerance` or `order`, or a finer resolution";
        r.check(ok, "frequency", "a segment of this wave is good for less than one tick", help);
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};
    use std::f64::consts::TAU;

    #[test]
    fn segments_stay_within_the_tolerance() {
        for (order, most) in [(1, 9_500), (3, 200), (7, 20)] {
            let bench = Bench::run(
                &format!(
                    "[unit.s]\nkind='sine'\nfrequency=1.0\namplitude=2.0\nphase=0.3\noffset=1.0\n\
                     order={order}\nexchange_tolerance=1e-6"
                ),
                1.5,
            );
            let y = |t: f64| 1.0 + 2.0 * (TAU * t + 0.3).sin();
            assert!(bench.count("s.y") <= most, "{} segments", bench.count("s.y"));
            for k in 0..=1500 {
                let t = f64::from(k) * 1e-3;
                let error = (bench.held("s.y", t) - y(t)).abs();
                assert!(error <= 1.001e-6, "order {order}: {error} at {t}");
            }
            assert!((bench.probe("s.y") - y(1.5)).abs() < 1e-14);
        }
    }

    #[test]
    fn too_fast() {
        let text = mistakes("[unit.s]\nkind='sine'\nfrequency=1e10");
        assert_eq!(text.len(), 1);
    }
}
