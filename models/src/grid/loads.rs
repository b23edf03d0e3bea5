//! Thermostat loads and their aggregator.
use crate::{
    blocks::{
        events::number,
        series::{Decay, Piece},
    },
    kinds::{
        ParamType, ValueType,
        params::{Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    maths::random::RandomStream,
    signal::{
        Level, NEVER, Timer,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// The constants of a load.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct House {
    /// Time constant in s.
    constant: f64,
    /// How far cooling draws the temperature below the ambient, in °C.
    pull: f64,
    /// Electric power while cooling, in kW.
    power: f64,
    ambient: f64,
    low: f64,
    high: f64,
    /// Ticks between a command and its effect.
    delay: i64,
    /// Largest error of segments of the temperature.
    tolerance: f64,
    /// Whether somebody follows the temperature: then they are renewed.
    heard: bool,
}

/// A cooled room with a thermostat: exponentials between exact switching times. Input 0: shifts of
/// the set point in °C, as numbers or packets; outputs: 0 changes of power in kW, 1 temperature in °C.
///
/// **Why not the continuous unit.** Between switches the solution is a formula; a population of a
/// million takes two hundred bytes each.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Load {
    timer: Timer,
    house: House,
    /// Temperature at the last switch.
    theta: f64,
    cooling: bool,
    since: i64,
    shift: f64,
    /// Commands that wait, each with the tick at which it takes effect.
    commands: VecDeque<(i64, f64)>,
    /// Tick at which the thermostat switches.
    switch: i64,
    /// Tick at which the segment that was sent begins to leave the tolerance.
    renew: i64,
    started: bool,
}

impl Load {
    const CHANGE: OutPort<f64, Self> = OutPort::new(0);
    const THETA: OutPort<Segment, Self> = OutPort::new(1);

    /// Temperature that is approached.
    fn target(&self) -> f64 {
        self.house.ambient - if self.cooling { self.house.pull } else { 0.0 }
    }

    fn temperature(&self, at: i64) -> f64 {
        let t = self.timer.seconds(self.since, at) / self.house.constant;
        let target = self.target();
        target + (self.theta - target) * libm::exp(-t)
    }

    /// Moves the reference point to now.
    fn settle(&mut self) {
        let now = self.timer.now();
        self.theta = self.temperature(now);
        self.since = now;
    }

    /// Finds when the thermostat switches; at once if it should have.
    fn plan(&mut self) {
        let now = self.timer.now();
        let limit = self.shift + if self.cooling { self.house.low } else { self.house.high };
        let beyond = if self.cooling { self.theta <= limit } else { self.theta >= limit };
        let ratio = (self.theta - self.target()) / (limit - self.target());
        self.switch = if beyond {
            now
        } else if ratio > 1.0 {
            self.timer.event(now, self.house.constant * libm::log(ratio))
        } else {
            NEVER
        };
        let command = self.commands.front().map_or(NEVER, |&(at, _)| at);
        let due = self.switch.min(self.renew).min(command);
        self.timer.set(if self.started { due } else { 0 });
    }

    /// The segment of the temperature from a tick on, and the seconds it is good for.
    fn segment(&self, at: i64, cooling: bool) -> (Segment, f64) {
        let theta = self.temperature(at);
        let target = self.house.ambient - if cooling { self.house.pull } else { 0.0 };
        let rate = 1.0 / self.house.constant;
        let decay = Decay::follow(&[target], theta, rate);
        let tick = self.timer.resolution().seconds(1);
        let Piece { poly, seconds, .. } = decay.taylor(3, self.house.tolerance, true, tick);
        (Segment::new(poly.truncated(3), Flag::Continuous, theta), seconds)
    }
}

impl Atomic<Value> for Load {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        if !self.started {
            if self.cooling {
                out.send(Self::CHANGE, self.house.power);
            }
        } else if at == self.switch {
            out.send(Self::CHANGE, if self.cooling { -self.house.power } else { self.house.power });
        }
        let switches = self.started && at == self.switch;
        if !self.started || switches || at == self.renew {
            out.send(Self::THETA, self.segment(at, self.cooling != switches).0);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        self.settle();
        let sends = !self.started || self.switch == now || self.renew == now;
        if !self.started {
            self.started = true;
        } else if self.switch == now {
            self.cooling = !self.cooling;
        }
        if self.house.heard && sends {
            self.renew = self.timer.within(self.segment(now, self.cooling).1);
        }
        while self.commands.front().is_some_and(|&(due, _)| due == now) {
            self.shift += self.commands.pop_front().map_or(0.0, |(_, shift)| shift);
        }
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.settle();
        let due = self.timer.now().saturating_add(self.house.delay);
        self.commands.extend(bag.iter().map(|(_, value)| (due, number(value, "shift", fx))));
        self.plan();
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        (port == 1).then(|| Value::Real(self.temperature(self.timer.at(elapsed))))
    }
}

/// The state of MINSTD after `draws` draws from `seed`, which is brought among its states as by
/// [`RandomStream::minstd`]: 48271^draws seed mod (2^31 - 1).
fn skip(seed: u64, draws: u64) -> u64 {
    const M: u64 = (1 << 31) - 1;
    let (mut x, mut base, mut n) = ((seed - 1) % (M - 1) + 1, 48_271u64, draws);
    while n > 0 {
        if n & 1 == 1 {
            x = x * base % M;
        }
        base = base * base % M;
        n >>= 1;
    }
    x
}

unit_kind! {
    /// `thermostat-load`: a cooled room with a thermostat,
    /// θ' = -(θ - ambient + m P R)/(R C): cooling (m = 1) starts above `high` and ends below `low`,
    /// both moved by what arrives at input `shift` (°C; a number or a packet), each of which takes effect
    /// after the room's own delay. Outputs `change` (event: change of electric power in kW) and `theta` (°C; whoever is
    /// wired to it gets segments within `exchange_tolerance`).
    ///
    /// A population draws from one MINSTD stream, six numbers u per room in the order of `index`:
    /// R = 2(0.8+0.4u) °C/kW, C = 10(0.8+0.4u) kWh/°C, P = 14(0.8+0.4u) kW, start temperature
    /// low+(high-low)u, cooling at the start if u < 0.43, delay = 0.05 s + `spread` u.
    ///
    /// ```toml
    /// [unit.room]
    /// kind = "thermostat-load"
    /// count = 1000
    /// index = "i"
    /// ```
    ThermostatLoad = "thermostat-load", "a cooled room with a thermostat",
    params: [
        with("index", ParamType::Int, "0", "number within the population, from 0"),
        with("minstd", ParamType::Int, "1", "start state of the population's MINSTD stream"),
        with("ambient", ParamType::Real(Some("degC")), "32", "temperature outside in degC"),
        with("low", ParamType::Real(Some("degC")), "19.75", "cooling ends below"),
        with("high", ParamType::Real(Some("degC")), "20.25", "cooling starts above"),
        with("cop", ParamType::Real(None), "2.5", "heat moved per electric energy"),
        with("spread", ParamType::Real(Some("s")), "1.95 s", "spread of the delays"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports(
        [event("shift", ValueType::Any).optional()],
        [event("change", ValueType::Real), signal("theta")],
    )),
    build: |params, context| {
        let mut r = Reader::new(params);
        let (ambient, low, high) = (r.finite("ambient"), r.finite("low"), r.finite("high"));
        r.check(low < high && high < ambient, "high", "not low < high < ambient", "order them");
        let spread = r.finite("spread");
        r.check(spread >= 0.0, "spread", format!("`spread` is {spread}"), "give zero or more");
        let (index, seed) = (r.int("index", 0, i64::MAX / 8), r.int("minstd", 1, i64::MAX));
        let mut stream = RandomStream::minstd(skip(seed as u64, 6 * index as u64));
        let mut draw = || stream.uniform();
        let resistance = 2.0 * (0.8 + 0.4 * draw());
        let capacity = 10.0 * (0.8 + 0.4 * draw());
        let cooling = 14.0 * (0.8 + 0.4 * draw());
        let theta = low + (high - low) * draw();
        let on = draw() < 0.43;
        let delay = 0.05 + spread * draw();
        let house = House {
            constant: resistance * capacity * 3600.0,
            pull: cooling * resistance,
            power: cooling / r.positive("cop"),
            ambient,
            low,
            high,
            delay: crate::kinds::params::random_ticks(delay, context.resolution),
            tolerance: r.positive(TOLERANCE.name),
            heard: context.is_followed(1),
        };
        let mut model = Load {
            timer: Timer::due(0, context.resolution),
            house,
            theta,
            cooling: on,
            since: 0,
            shift: 0.0,
            commands: VecDeque::new(),
            switch: NEVER,
            renew: NEVER,
            started: false,
        };
        model.plan();
        r.finish(Component::atomic(model))
    },
}

/// Adds up powers. Input 0: changes in kW, as numbers or packets; outputs: 0 power in kW, 1 units on, 2 switches.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Total {
    timer: Timer,
    power: f64,
    on: i64,
    switches: u64,
    /// Of the power, and of what else somebody follows.
    told: [Option<Level>; 3],
}

impl Total {
    fn values(&self) -> [f64; 3] {
        [self.power, self.on as f64, self.switches as f64]
    }
}

impl Atomic<Value> for Total {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        3
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, told) in (0..).zip(&self.told) {
            if let Some(segment) = told.as_ref().and_then(Level::pending) {
                out.send(OutPort::<Segment>::new(port), segment);
            }
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.told.iter_mut().flatten().for_each(Level::sent);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        for (_, value) in bag.iter() {
            let change = number(value, "change", fx);
            self.power += change;
            self.on += if change > 0.0 { 1 } else { -1 };
            // States at the start are start values.
            self.switches += u64::from(now > 0);
        }
        let values = self.values();
        for (told, value) in self.told.iter_mut().zip(values) {
            if let Some(told) = told {
                told.change(value, now);
            }
        }
        self.timer.at_once();
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        self.values().get(usize::from(port)).map(|&v| Value::Real(v))
    }
}

unit_kind! {
    /// `load-total`: adds up the power of loads. Input `change` (changes in kW; numbers or packets); outputs (signals)
    /// `power` (kW), `on` (loads that are on) and `switches`.
    ///
    /// ```toml
    /// [unit.total]
    /// kind = "load-total"
    /// ```
    LoadTotal = "load-total", "adds up the power of loads",
    params: [],
    ports: |_| Ok(ports(
        [event("change", ValueType::Any)],
        [signal("power"), signal("on"), signal("switches")],
    )),
    build: |_, context| Ok(Component::atomic(Total {
        timer: Timer::due(0, context.resolution),
        power: 0.0,
        on: 0,
        switches: 0,
        told: [true, context.is_followed(1), context.is_followed(2)]
            .map(|heard| heard.then(|| Level::new(0.0))),
    })),
}

#[cfg(test)]
mod tests {
    use super::skip;
    use crate::{kinds::testing::Bench, maths::random::RandomStream};

    /// Each command has a delay of its own, however soon the next one comes.
    #[test]
    fn commands_wait_for_themselves_only() {
        let events = |times: &str, values: &str, port: &str| {
            let text = format!(
                "connections=['s.y -> a.shift']\n\
                 [unit.s]\nkind='schedule'\ntimes={times}\nvalues={values}\n\
                 [unit.a]\nkind='thermostat-load'\nminstd=3\nspread=1.95"
            );
            Bench::run(&text, 20.0).events(port)
        };
        let one = events("[2.0]", "[-1.0]", "a.change");
        assert!(!one.is_empty());
        let many = "[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]";
        assert_eq!(events(many, "[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]", "a.change"), one);
        assert_eq!(events("[2.0, 2.0]", "[-0.75, -0.25]", "a.change"), one);
    }

    /// Who is wired to the temperature holds what it is, however long no switch comes.
    #[test]
    fn wired_temperatures_stay_close() {
        let bench = Bench::run(
            "connections=['s.y -> a.shift', 'a.theta -> g.u']\n\
             [unit.s]\nkind='schedule'\ntimes=[3600]\nvalues=[20.0]\n\
             [unit.a]\nkind='thermostat-load'\nspread=0\n[unit.g]\nkind='gain'\ngain=1",
            360_000.0,
        );
        let (told, is) = (bench.probe("g.y"), bench.probe("a.theta"));
        assert!((told - is).abs() < 2e-6 && is > 31.9, "{told}, {is}");
    }

    #[test]
    fn streams_can_skip() {
        let mut s = RandomStream::minstd(7);
        (0..600).for_each(|_| {
            s.uniform();
        });
        assert_eq!(RandomStream::minstd(skip(7, 600)), s);
        let beyond = 7 + 5 * ((1 << 31) - 2);
        assert_eq!(
            (skip(beyond, 600), RandomStream::minstd(beyond)),
            (skip(7, 600), RandomStream::minstd(7))
        );
    }
}
