//! `flood`: packets as fast as asked, for as long as an attack lasts.
use super::{
    board::Board,
    spells::{DURING, Spells},
};
use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, needed, with},
        ports::{event, happened, ports, signal},
    },
    maths::{
        random::{Distribution, RandomStream},
        rounding::nearest_tick,
    },
    signal::{
        NEVER, Timer,
        value::{Packet, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox, port::OutPort, time::Duration,
};

/// Packets while a spell lasts. Inputs: 0 begins a spell, 1 ends it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Source {
    timer: Timer,
    spells: Spells,
    /// Mean gap in ticks.
    gap: f64,
    random: bool,
    stream: RandomStream,
    /// Where the next packet is, in ticks, not rounded.
    next: f64,
    packet: Packet,
    board: Board,
}

impl Source {
    const OUT: OutPort<Packet, Self> = OutPort::new(0);
    const BEGIN: u16 = 0;
    const END: u16 = 1;

    fn due(&self) -> i64 {
        if self.spells.on() { nearest_tick(self.next) } else { NEVER }
    }

    /// Whether a packet goes at this tick: none at the one at which a listed spell ends.
    fn sends(&self, tick: i64) -> bool {
        self.due() <= tick && self.spells.lasts(tick)
    }

    fn draw(&mut self) {
        let gap = if self.random {
            Distribution::Exponential { mean: self.gap }.draw(&mut self.stream)
        } else {
            self.gap
        };
        self.next += gap;
    }

    fn turn(&mut self, kind: EventKind, fx: &mut Effects<Value>) {
        happened(fx, if self.spells.on() { "begin" } else { "end" }, kind);
        if self.spells.on() {
            self.next = self.timer.now() as f64;
            if self.random {
                self.draw();
            }
        }
    }

    fn settle(&mut self) {
        let due = self.due().max(self.timer.now()).min(self.spells.next());
        self.timer.set(if self.board.pending() { self.timer.now() } else { due });
    }
}

impl Atomic<Value> for Source {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.board.pending() {
            return self.board.output(out);
        }
        if self.sends(self.timer.next()) {
            let id = self.packet.id + 1;
            out.send(Self::OUT, Packet { created: out.now().ticks, id, ..self.packet });
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        if self.board.pending() {
            self.board.sent();
        } else if self.sends(now) {
            self.packet.id += 1;
            if self.board.is_time() {
                self.board.tell(&[Some(self.packet.id as f64)], now);
            }
            self.draw();
        }
        if self.spells.pass(now) {
            self.turn(EventKind::Time, fx);
        }
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let comes = |wanted: u16| bag.iter().any(|(port, _)| port == wanted);
        if self.spells.hear(comes(Self::BEGIN), comes(Self::END)) {
            self.turn(EventKind::Private, fx);
        }
        self.settle();
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == 1).then_some(Value::Real(self.packet.id as f64))
    }
}

unit_kind! {
    /// `flood`: a denial of service: packets at `rate` bits per second, headers included, in the spells of
    /// `during` and from an event `begin` to an event `end`. Outputs `out` (packets), `count` (signal).
    /// No packet goes at the instant at which a spell of `during` ends.
    /// Begins and ends are reported as events. Gaps are equal, or exponential of the same mean with
    /// `pattern = "poisson"`.
    ///
    /// ```toml
    /// [unit.attacker]
    /// kind = "flood"
    /// rate = "20 Mb/s"
    /// bytes = 1400
    /// to = 100
    /// during = [["10 s", "12 s"]]
    /// ```
    Flood = "flood", "packets as fast as asked while an attack lasts",
    params: [
        needed("rate", ParamType::Real(Some("b/s")), "bits per second, headers included"),
        with("pattern", ParamType::Choice(&["periodic", "poisson"]), "periodic", "equal gaps or random ones"),
        with("bytes", ParamType::Bytes, "1000", "payload of a packet"),
        with("header", ParamType::Bytes, "0", "bytes of all headers"),
        with("address", ParamType::Int, "0", "own address"),
        with("to", ParamType::Int, "0", "address of the destination"),
        DURING,
        with("every", ParamType::Int, "", "packets between messages to wired receivers; default 1"),
    ],
    ports: |_| Ok(ports(
        [event("begin", ValueType::Any).optional(), event("end", ValueType::Any).optional()],
        [event("out", ValueType::Packet), signal("count")],
    )),
    build: |params, context| {
        let mut r = Reader::new(params);
        let bytes = r.int("bytes", 0, 1 << 24) + r.int("header", 0, 1 << 16);
        r.check(bytes > 0, "bytes", "a packet of a flood has no length", "give bytes = 1000");
        let packet = Packet {
            bits: 8 * bytes as u32,
            source: r.int("address", 0, u32::MAX.into()) as u32,
            destination: r.int("to", 0, u32::MAX.into()) as u32,
            code: Packet::SILENT,
            ..Packet::default()
        };
        let tps = context.resolution.ticks_per_second() as f64;
        let gap = f64::from(packet.bits) / r.positive("rate") * tps;
        r.check(gap >= 1.0, "rate", "less than a tick from packet to packet", "lower `rate`, or `resolution`");
        let mut model = Source {
            timer: Timer::due(0, context.resolution),
            spells: Spells::during(Source::BEGIN, params, context, &mut r),
            gap,
            random: params.text("pattern") == "poisson",
            stream: r.stream(context, "gaps"),
            next: 0.0,
            packet,
            board: Board::new(1, &[Some(0.0)], &mut r, context),
        };
        if model.random {
            model.draw();
        }
        model.settle();
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn floods_last_as_long_as_they_are_asked_to() {
        // 1000 bits at 4 kb/s: every 0.25 s.
        let flood = "[unit.f]\nkind='flood'\nrate=4000\nbytes=125\n";
        let bench = Bench::run(&format!("{flood}during=[[1, 2], [5, 5.1]]"), 10.0);
        let times: Vec<String> =
            bench.events("f.out").iter().map(|e| e.split('@').next().unwrap().into()).collect();
        assert_eq!(times, ["1", "1.25", "1.5", "1.75", "5"]);
        let joined = Bench::run(&format!("{flood}during=[[1, 2], [2, 3]]"), 10.0);
        assert_eq!(joined.count("f.out"), 8);
        assert!(joined.events("f.out")[7].starts_with("2.75@"));
        assert_eq!(Bench::run(flood, 10.0).count("f.out"), 41);
        let bench = Bench::run(
            &format!(
                "connections=['b.y -> f.begin', 'e.y -> f.end']\n{flood}\
                 [unit.b]\nkind='schedule'\ntimes=[3]\n[unit.e]\nkind='schedule'\ntimes=[3.6]"
            ),
            10.0,
        );
        assert_eq!(bench.count("f.out"), 3);
        let bench = Bench::run(&format!("{flood}pattern='poisson'"), 2500.0);
        // 10 000 packets, deviation 100.
        assert!((bench.probe("f.count") - 10_000.0).abs() < 400.0);
    }

    #[test]
    fn floods_need_room_between_packets() {
        let found = mistakes("[unit.f]\nkind='flood'\nrate=1e15\nbytes=1");
        assert_eq!(
            found,
            ["less than a tick from packet to packet; lower `rate`, or `resolution`"]
        );
    }

    /// The share that gets through a full queue: the capacity of the link over all that is offered.
    #[test]
    fn a_flood_takes_the_room_of_others() {
        let bench = Bench::run(
            "connections=['f.out -> l.in', 's.out -> l.in']\n\
             [unit.f]\nkind='flood'\nrate=9000\nbytes=125\npattern='poisson'\n\
             [unit.s]\nkind='packet-source'\nrate=1\nbytes=125\naddress=1\n\
             [unit.l]\nkind='link'\nrate=4000\ncapacity=1",
            20_000.0,
        );
        // M/D/1 with room for two and 2.5 times the load, by its embedded chain: a departure leaves none
        // with probability 1 - q; served per service time is 1/(1 + (1 - q)/2.5).
        let none = libm::exp(-2.5);
        let served = 1.0 / (1.0 + none / 2.5);
        let loss = 1.0 - served / 2.5;
        assert!((bench.probe("l.loss") - loss).abs() < 4e-3, "{} {loss}", bench.probe("l.loss"));
    }
}
