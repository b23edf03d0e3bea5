//! `rate-limiter`: a signal whose slope is limited.
use crate::{
    kinds::{
        ParamType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, TOLERANCE, needed, with},
        ports::{happened, ports, signal},
    },
    maths::poly::{Direction, earliest_root},
    signal::{
        Held, NEVER, Poly, Sizes, Timer, is_late, repeats, shift,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox, port::OutPort, time::Duration,
};

/// How the output goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// It is the input.
    Follows,
    /// It is below the input, and rises at the limit.
    Rises,
    /// It is above the input, and falls at the limit.
    Falls,
}

/// Passes of one mode into another that lie between two ticks: beyond so many, the next tick goes on.
const MOST: usize = 16;

/// So many tolerances a piece of the input may be off when the next one comes: receivers hear at ticks.
const OFF: f64 = 10.0;

/// Limits the slope of a signal. Input 0: the signal; output 0: the limited one.
///
/// Between messages the output is known in closed form: it is the held polynomial or a straight line. Modes end
/// at roots of polynomials, which are not rounded to ticks; only what is sent begins at a tick.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Limiter {
    timer: Timer,
    rising: f64,
    falling: f64,
    tolerance: f64,
    u: Option<Held>,
    mode: Mode,
    /// Where the mode began: seconds into the held segment, and the output there.
    from: f64,
    y: f64,
    /// Whether the input was there, too, so that the next meeting is a later one.
    touches: bool,
    /// Where it ends, and the mode that follows; `Follows` stands for whatever follows a meeting.
    next: Option<(f64, Mode)>,
    /// The mode that receivers know of, and the segment that they hold.
    told: Mode,
    sent: Option<Held>,
    sizes: Sizes,
}

impl Limiter {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    fn slope(&self) -> f64 {
        match self.mode {
            Mode::Follows => 0.0,
            Mode::Rises => self.rising,
            Mode::Falls => -self.falling,
        }
    }

    /// Seconds into the held segment; before there is one, since the start.
    fn seconds(&self, at: i64) -> f64 {
        self.timer.seconds(self.u.as_ref().map_or(0, Held::since), at)
    }

    /// The input, `e` seconds into its segment and from there on.
    fn input(&self, e: f64) -> Option<Poly> {
        let mut p = Poly::new(self.u.as_ref()?.segment().coefficients());
        shift(&mut p, e);
        Some(p)
    }

    /// The output from tick `at` on.
    fn output_from(&self, at: i64) -> Poly {
        let e = self.seconds(at);
        match self.input(e).filter(|_| self.mode == Mode::Follows) {
            Some(u) => u,
            None => {
                let slope = self.slope();
                Poly::new(&[self.y + slope * (e - self.from), slope])
            }
        }
    }

    /// Where the mode ends between tick `at` and the one after it, and the output would go far beyond until receivers
    /// hear of that: a straight line to its value then.
    fn bent(&self, at: i64) -> Option<Poly> {
        let tick = self.timer.resolution().seconds(1);
        self.next.filter(|(e, _)| *e < self.seconds(at) + tick)?;
        let mut then = self.clone();
        then.timer.set(at + 1);
        then.timer.fire();
        then.pass();
        let (line, end) = (self.output_from(at), then.output_from(at + 1).value(0.0));
        is_late((line.value(tick) - end).abs(), self.tolerance)
            .then(|| Poly::new(&[line.value(0.0), (end - line.value(0.0)) / tick]))
    }

    /// The segment that is sent at tick `at`.
    fn segment(&self, at: i64) -> Segment {
        let p = self.bent(at).unwrap_or_else(|| self.output_from(at));
        let flag = if self.sent.is_some() { Flag::Continuous } else { Flag::Refresh };
        Segment::new(p.truncated(usize::MAX - 1), flag, p.value(0.0))
    }

    /// The mode from `e` seconds into the held segment on, where the output is `y`.
    fn decide(&mut self, e: f64, y: f64) {
        let Some(u) = self.input(e) else { return };
        let c = u.coefficients();
        (self.from, self.y, self.touches) = (e, y, c[0] == y);
        self.mode = match c[0] - y {
            d if d > 0.0 => Mode::Rises,
            d if d < 0.0 => Mode::Falls,
            _ if tends(c, self.rising) > 0.0 => Mode::Rises,
            _ if tends(c, -self.falling) < 0.0 => Mode::Falls,
            _ => Mode::Follows,
        };
    }

    /// Finds where the mode ends.
    fn find(&mut self) {
        self.next = None;
        let Some(u) = self.input(self.from) else { return };
        let mut c = u.coefficients().to_vec();
        c.resize(c.len().max(2), 0.0);
        let root = |c: &[f64], way| earliest_root(c, 0.0, f64::INFINITY, way).map(|root| root.at);
        let ends = if self.mode == Mode::Follows {
            let mut slope: Vec<f64> = (1..).zip(&c[1..]).map(|(k, c)| f64::from(k) * c).collect();
            slope[0] -= self.rising;
            let rises = root(&slope, Direction::Rising).map(|e| (e, Mode::Rises));
            slope[0] += self.rising + self.falling;
            let falls = root(&slope, Direction::Falling).map(|e| (e, Mode::Falls));
            rises.into_iter().chain(falls).min_by(|a, b| a.0.total_cmp(&b.0))
        } else {
            let (sign, way) = match self.mode {
                Mode::Rises => (1.0, Direction::Falling),
                _ => (-1.0, Direction::Rising),
            };
            c[0] -= self.y;
            c[1] -= self.slope();
            if self.touches {
                // The distance over the time since: without the root where they part.
                c.remove(0);
                c[0] = sign * (sign * c[0]).max(0.0);
            }
            root(&c, way).map(|e| (e, Mode::Follows))
        };
        self.next = ends.map(|(e, mode)| (self.from + e, mode));
    }

    /// Passes into other modes as far as they begin by now; gives whether one did.
    fn pass(&mut self) -> bool {
        // A tick may come before its root by as much (R14).
        let slack = self.timer.resolution().seconds(1) / 512.0;
        let now = self.seconds(self.timer.now()) + slack;
        let mut passed = false;
        for _ in 0..MOST {
            let Some((e, mode)) = self.next.filter(|(e, _)| *e <= now) else { break };
            let Some(u) = self.input(e) else { break };
            self.decide(e, u.value(0.0));
            if mode != Mode::Follows {
                // Its slope is at the limit, by rounding perhaps below.
                self.mode = mode;
            }
            self.find();
            passed = true;
        }
        passed
    }

    fn plan(&mut self) {
        let since = self.u.as_ref().map_or(0, Held::since);
        let due = self.next.map_or(NEVER, |(e, _)| self.timer.event(since, e));
        // A tick earlier receivers hear of a line that ends there.
        let bends = due != NEVER && due - 1 > self.timer.now() && self.bent(due - 1).is_some();
        self.timer.set(if bends { due - 1 } else { due });
    }
}

/// Which way the slope of a polynomial leaves `limit` at its origin: the sign of the first derivative that differs.
fn tends(c: &[f64], limit: f64) -> f64 {
    let first = c.get(1).unwrap_or(&0.0) - limit;
    let higher = c.iter().skip(2).copied();
    std::iter::once(first).chain(higher).find(|c| *c != 0.0).unwrap_or(0.0)
}

impl Atomic<Value> for Limiter {
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
        then.timer.fire();
        then.pass();
        out.send(Self::Y, then.segment(then.timer.now()));
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        if self.pass() {
            fx.located();
        }
        let now = self.timer.now();
        let segment = self.segment(now);
        self.sizes.note(0, segment.start());
        self.sent = Some(Held::new(segment, now));
        if self.told != self.mode {
            let name = match self.mode {
                Mode::Follows => "follows",
                Mode::Rises => "rises",
                Mode::Falls => "falls",
            };
            happened(fx, name, EventKind::Private);
            self.told = self.mode;
        }
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        let mut moved = false;
        for (_, value) in bag.iter() {
            let Value::Segment(s) = value else { continue };
            if s.coefficients().iter().any(|c| !c.is_finite()) {
                return fx.fail("the signal is not finite, or too large");
            }
            let (y, u) = (self.output_from(now).value(0.0), s.start());
            let heard = self.u.is_some();
            Held::receive(&mut self.u, s, now);
            // An output on the input goes along with what the source may be off.
            let off = match self.mode {
                Mode::Follows => (u - y).abs(),
                Mode::Rises => y - u,
                Mode::Falls => u - y,
            };
            let near = (0.0..=OFF * self.tolerance).contains(&off);
            let goes_on = heard && s.flag != Flag::Jump && near;
            self.decide(0.0, if goes_on { u } else { y });
            moved |= goes_on && u != y;
        }
        self.find();
        let line = self.mode != Mode::Follows && self.told == self.mode && !moved;
        let line = line && self.bent(now).is_none();
        let segment = self.segment(now);
        if line || repeats(&self.sent, &segment, now) {
            self.plan();
        } else {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.output_from(self.timer.at(elapsed)).value(0.0)))
    }
    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let present = self.output_from(self.timer.at(elapsed)).value(0.0);
        UnitStatistics::coarse(self.sizes.is_coarse(0, present, self.tolerance)).entries()
    }
}

unit_kind! {
    /// `rate-limiter`: `y` follows `u`, but rises by at most `rising` and falls by at most `falling` per second.
    /// Input `u`, output `y`, which begins at `initial`.
    ///
    /// Where the slope of `u` goes beyond a limit, or `u` jumps, `y` goes on along a straight line until it meets
    /// `u` again. Both instants are located, and told as the events `rises`, `falls` and `follows`. Nothing is
    /// approximated: `y` is `u` or the line. A step of `u` by at most ten times `exchange_tolerance` that is no jump is one
    /// of its source, and followed.
    ///
    /// ```toml
    /// [unit.valve]
    /// kind = "rate-limiter"
    /// rising = 0.5         # per second
    /// falling = 2.0        # per second
    /// initial = 0.0
    /// ```
    RateLimiter = "rate-limiter", "a signal with limited slopes",
    params: [
        needed("rising", ParamType::Real(None), "largest slope per second"),
        needed("falling", ParamType::Real(None), "largest slope downwards per second"),
        with("initial", ParamType::Real(None), "0.0", "output at the start"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    // While it follows.
    feed_through: |_, _| FeedThrough::All(Passing::Value),
    build: |params, context| {
        let mut r = Reader::new(params);
        let model = Limiter {
            timer: Timer::due(0, context.resolution),
            rising: r.positive("rising"),
            falling: r.positive("falling"),
            tolerance: r.positive("exchange_tolerance"),
            u: None,
            mode: Mode::Follows,
            from: 0.0,
            y: r.finite("initial"),
            touches: false,
            next: None,
            told: Mode::Follows,
            sent: None,
            sizes: Sizes::default(),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn a_step_becomes_a_ramp() {
        let bench = Bench::run(
            "connections=['s.y -> r.u']\n[unit.s]\nkind='step'\nat=1\nto=2.0\n\
             [unit.r]\nkind='rate-limiter'\nrising=0.5\nfalling=2.0",
            10.0,
        );
        assert_eq!(
            bench.signal("r.y"),
            ["0@0 [0.0] left 0", "1@1 ~ [0.0, 0.5] left 0", "5@0 ~ [2.0] left 2"]
        );
        assert_eq!(bench.probe("r.y"), 2.0);
    }

    #[test]
    fn a_step_down_and_a_start_elsewhere() {
        let bench = Bench::run(
            "connections=['s.y -> r.u']\n[unit.s]\nkind='step'\nat=3\nfrom=1.0\nto=-2.0\n\
             [unit.r]\nkind='rate-limiter'\nrising=0.5\nfalling=2.0\ninitial=2.0",
            10.0,
        );
        assert_eq!(
            bench.signal("r.y"),
            [
                "0@0 [2.0] left 2",
                "0@1 ~ [2.0, -2.0] left 2",
                "0.5@0 ~ [1.0] left 1",
                "3@1 ~ [1.0, -2.0] left 1",
                "4.5@0 ~ [-2.0] left -2"
            ]
        );
    }

    /// The input turns before it is met, and then comes down to the output.
    #[test]
    fn a_ramp_that_is_too_fast() {
        let text = |slope: f64| {
            format!(
                "connections=['s.y -> r.u']\n\
                 [unit.s]\nkind='ramp'\nfrom=1\nuntil=2\nslope={slope:?}\n\
                 [unit.r]\nkind='rate-limiter'\nrising=1.0\nfalling=0.25"
            )
        };
        let up = Bench::run(&text(3.0), 10.0);
        assert_eq!(
            up.signal("r.y"),
            ["0@0 [0.0] left 0", "1@1 ~ [0.0, 1.0] left 0", "4@0 ~ [3.0] left 3"]
        );
        let down = Bench::run(&text(-1.0), 10.0);
        assert_eq!(
            down.signal("r.y"),
            ["0@0 [0.0] left 0", "1@1 ~ [0.0, -0.25] left 0", "5@0 ~ [-1.0] left -1"]
        );
        // Within the limits, and at one.
        for slope in [0.5, 1.0, -0.25] {
            let bench = Bench::run(&text(slope), 10.0);
            assert_eq!(bench.signal("r.y")[1], format!("1@1 ~ [0.0, {slope:?}] left 0"));
            assert_eq!((bench.count("r.y"), bench.probe("r.y")), (3, slope));
        }
    }

    /// u = 4 t - t²: too fast until both are at 4 after 2 s, and again from the slope -1 on.
    #[test]
    fn slopes_of_a_parabola() {
        let bench = Bench::run(
            "connections=['v.y -> u.u', 'u.y -> r.u']\n\
             [unit.v]\nkind='ramp'\nvalue=4.0\nslope=-2.0\n[unit.u]\nkind='integrator'\n\
             [unit.r]\nkind='rate-limiter'\nrising=2.0\nfalling=1.0",
            10.0,
        );
        assert_eq!(
            bench.signal("r.y")[1..],
            [
                "0@2 ~ [0.0, 2.0] left 0",
                "2@0 ~ [4.0, 0.0, -1.0] left 4",
                "2.5@0 ~ [3.75, -1.0] left 3.75"
            ]
        );
    }

    /// From the rise at once into the fall: u is 6 t - t² and comes down to y = t/2 faster than y may fall.
    #[test]
    fn a_meeting_in_passing() {
        let bench = Bench::run(
            "connections=['v.y -> u.u', 'u.y -> r.u']\n\
             [unit.v]\nkind='ramp'\nvalue=6.0\nslope=-2.0\n[unit.u]\nkind='integrator'\n\
             [unit.r]\nkind='rate-limiter'\nrising=0.5\nfalling=1.0",
            10.0,
        );
        assert_eq!(
            bench.signal("r.y")[1..],
            ["0@2 ~ [0.0, 0.5] left 0", "5.5@0 ~ [2.75, -1.0] left 2.75"]
        );
    }

    /// A limiter of short chords of the true sine, each in closed form: y goes to the chord, then along it as far
    /// as it may. No polynomial and no event of the block is in it.
    fn reference((rising, falling): (f64, f64), end: f64, mut told: impl FnMut(f64, f64)) {
        const H: f64 = 1e-5;
        let u = |k: u32| 2.0 * (3.0 * f64::from(k) * H).sin();
        let mut y = 0.0_f64;
        for k in 0..(end / H).round() as u32 {
            let (gap, slope) = (u(k) - y, (u(k + 1) - u(k)) / H);
            let own = if gap > 0.0 { rising } else { -falling };
            let closing = gap / (own - slope);
            let away = if closing >= 0.0 { closing.min(H) } else { H };
            let away = if gap == 0.0 { 0.0 } else { away };
            y += own * away + slope.clamp(-falling, rising) * (H - away);
            if k % 1000 == 999 {
                told(f64::from(k + 1) * H, y);
            }
        }
    }

    #[test]
    fn a_sine_beside_short_steps() {
        for limits in [(4.0, 5.0), (0.7, 3.0), (5.9, 0.3), (7.0, 7.0)] {
            let bench = Bench::run(
                &format!(
                    "connections=['s.y -> r.u']\n[unit.s]\nkind='sine'\namplitude=2.0\n\
                     frequency={:?}\norder=9\nexchange_tolerance=1e-10\n\
                     [unit.r]\nkind='rate-limiter'\nrising={:?}\nfalling={:?}",
                    3.0 / std::f64::consts::TAU,
                    limits.0,
                    limits.1
                ),
                10.0,
            );
            // Chords are off by 2e-10, ticks by a nanosecond.
            reference(limits, 10.0, |t, y| {
                let error = (bench.held("r.y", t) - y).abs();
                assert!(error < 1e-8, "{limits:?} at {t}: {error}");
            });
        }
    }

    /// The meeting of r t and 2 sin 3t, by bisection.
    #[test]
    fn a_sine_is_met_at_its_root() {
        let bench = Bench::run(
            &format!(
                "connections=['s.y -> r.u']\n[unit.s]\nkind='sine'\namplitude=2.0\n\
                 frequency={:?}\norder=12\nexchange_tolerance=1e-12\n\
                 [unit.r]\nkind='rate-limiter'\nrising=2.0\nfalling=7.0",
                3.0 / std::f64::consts::TAU
            ),
            2.0,
        );
        let (mut a, mut b) = (0.5_f64, 1.04_f64);
        for _ in 0..60 {
            let t = 0.5 * (a + b);
            *(if 2.0 * (3.0 * t).sin() > 2.0 * t { &mut a } else { &mut b }) = t;
        }
        let sent = bench.signal("r.y");
        let (time, _) = sent[2].split_once('@').unwrap();
        let late = time.parse::<f64>().unwrap() - a;
        assert!((-1e-11..1.1e-9).contains(&late), "{late}: {sent:?}");
    }

    /// x' = y, where y follows 1 - x: y = 1 - t/2 and x = t - t²/4 meet it after 2 s, at rest.
    #[test]
    fn in_a_loop() {
        let bench = Bench::run(
            "connections=['x.y -> g.u', 'g.y -> o.u', 'o.y -> r.u', 'r.y -> x.u']\n\
             [unit.x]\nkind='integrator'\n[unit.g]\nkind='gain'\ngain=-1.0\n\
             [unit.o]\nkind='offset'\noffset=1.0\n\
             [unit.r]\nkind='rate-limiter'\nrising=1.0\nfalling=0.5\ninitial=1.0",
            5.0,
        );
        assert!((bench.held("r.y", 1.5) - 0.25).abs() < 1e-15);
        assert!(bench.probe("r.y").abs() < 1e-9 && (bench.probe("x.y") - 1.0).abs() < 1e-9);
        assert!(bench.count("r.y") < 60, "{}", bench.count("r.y"));
    }

    #[test]
    fn limits_are_above_zero() {
        let found = mistakes("[unit.r]\nkind='rate-limiter'\nrising=0\nfalling=-1.0");
        let help = "give a number above zero";
        let lines = [("rising", "0"), ("falling", "-1")];
        assert_eq!(found, lines.map(|(name, x)| format!("`{name}` is {x}; {help}")));
    }
}
