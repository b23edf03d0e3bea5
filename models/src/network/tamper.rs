//! `tamper`: someone between sender and receiver who delays, changes or drops messages.
use super::{
    link::probability,
    spells::{DURING, Spells},
};
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, with},
        ports::{event, happened, ports},
    },
    maths::random::RandomStream,
    signal::{
        NEVER, Timer,
        value::{Packet, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Input 0: packets, 1 begins a spell, 2 ends it. Outputs: 0 packets, 1 dropped packets.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tampering {
    timer: Timer,
    spells: Spells,
    delay: i64,
    scale: f64,
    add: f64,
    value: Option<f64>,
    drop: f64,
    stream: RandomStream,
    /// In the order of their coming: nobody overtakes.
    held: VecDeque<(i64, Packet)>,
    dropped: Vec<Packet>,
}

impl Tampering {
    const IN: InPort<Packet, Self> = InPort::new(0);
    const BEGIN: u16 = 1;
    const END: u16 = 2;
    const OUT: OutPort<Packet, Self> = OutPort::new(0);
    const DROPPED: OutPort<Packet, Self> = OutPort::new(1);

    fn take(&mut self, mut packet: Packet) {
        let now = self.timer.now();
        let mut at = now;
        if self.spells.on() {
            if self.drop > 0.0 && self.stream.uniform() < self.drop {
                self.dropped.push(packet);
                return;
            }
            packet.value = self.value.unwrap_or(self.scale * packet.value + self.add);
            at = now.saturating_add(self.delay);
        }
        let at = self.held.back().map_or(at, |&(last, _)| at.max(last));
        self.held.push_back((at, packet));
    }

    fn settle(&mut self) {
        let first = self.held.front().map_or(NEVER, |&(at, _)| at);
        let now = self.timer.now();
        let due = if self.dropped.is_empty() { first.min(self.spells.next()) } else { now };
        self.timer.set(due);
    }
}

impl Atomic<Value> for Tampering {
    fn inputs(&self) -> u16 {
        3
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        for &(_, packet) in self.held.iter().take_while(|h| h.0 <= at) {
            out.send(Self::OUT, packet);
        }
        for &packet in &self.dropped {
            out.send(Self::DROPPED, packet);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        while self.held.front().is_some_and(|h| h.0 <= now) {
            self.held.pop_front();
        }
        self.dropped.clear();
        if self.spells.pass(now) {
            happened(fx, if self.spells.on() { "begin" } else { "end" }, EventKind::Time);
        }
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let comes = |wanted: u16| bag.iter().any(|(port, _)| port == wanted);
        if self.spells.hear(comes(Self::BEGIN), comes(Self::END)) {
            happened(fx, if self.spells.on() { "begin" } else { "end" }, EventKind::Private);
        }
        let other = each_in_order(bag, Self::IN, Packet::key, |&packet| self.take(packet));
        refused::<Packet>(other, || "in".into(), fx);
        self.settle();
    }
}

unit_kind! {
    /// `tamper`: a man in the middle. Input `in` (packets), and `begin` and `end` (events of any type, not
    /// needed); outputs `out` (packets, at once outside of spells) and `dropped`.
    ///
    /// In the spells of `during`, and from an event `begin` to an event `end`, packets come out `delay`
    /// later (delay attack), say `value`, or `scale` times what they said plus `add` (false data), and are
    /// dropped with probability `drop`. Packets keep their order: after a delay attack they wait for those
    /// that are held. Begins and ends are reported as events.
    ///
    /// ```toml
    /// [unit.attacker]
    /// kind = "tamper"
    /// delay = "400 ms"
    /// add = -0.5
    /// during = [["10 s", "12 s"]]
    /// ```
    Tamper = "tamper", "delays, changes or drops packets while an attack lasts",
    params: [
        with("delay", ParamType::Duration, "0 s", "how much later packets come out"),
        with("scale", ParamType::Real(None), "1", "factor of the numbers in packets"),
        with("add", ParamType::Real(None), "0", "added to these numbers"),
        with("value", ParamType::Real(None), "", "what packets say instead"),
        with("drop", ParamType::Real(None), "0", "probability that a packet is dropped"),
        DURING,
    ],
    ports: |_| Ok(ports(
        [
            event("in", ValueType::Packet),
            event("begin", ValueType::Any).optional(),
            event("end", ValueType::Any).optional(),
        ],
        [event("out", ValueType::Packet), event("dropped", ValueType::Packet)],
    )),
    feed_through: |_, _| FeedThrough::Pairs(vec![(0, 0, Passing::Sometimes), (0, 1, Passing::Sometimes)]),
    build: |params, context| {
        let mut r = Reader::new(params);
        let value = r.given("value").then(|| r.finite("value"));
        let (scale, add) = (r.finite("scale"), r.finite("add"));
        let plain = scale == 1.0 && add == 0.0;
        r.check(value.is_none() || plain, "value", "`value` replaces what `scale` and `add` make", "give one of them");
        let mut model = Tampering {
            timer: Timer::due(NEVER, context.resolution),
            spells: Spells::during(Tampering::BEGIN, params, context, &mut r),
            delay: r.duration("delay"),
            scale,
            add,
            value,
            drop: probability(&mut r, "drop", params.real("drop")),
            stream: RandomStream::new(context.seed, &format!("{}#drop", context.path)),
            held: VecDeque::new(),
            dropped: Vec::new(),
        };
        model.settle();
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    const SOURCE: &str =
        "[unit.s]\nkind='packet-source'\npattern='periodic'\nperiod=1\nbytes=125\n";

    fn times(bench: &Bench, port: &str) -> Vec<f64> {
        let time = |e: &String| e.split('@').next().unwrap().parse().unwrap();
        bench.events(port).iter().map(time).collect()
    }

    #[test]
    fn delay_attacks_keep_the_order() {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> a.in']\n{SOURCE}[unit.a]\nkind='tamper'\ndelay=1.5\nduring=[[0.5, 2.5]]"
            ),
            5.0,
        );
        assert_eq!(times(&bench, "a.out"), [0.0, 2.5, 3.5, 3.5, 4.0, 5.0]);
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> a.in', 'b.y -> a.begin', 'e.y -> a.end']\n{SOURCE}\
                 [unit.b]\nkind='schedule'\ntimes=[1.5]\n[unit.e]\nkind='schedule'\ntimes=[3.5]\n\
                 [unit.a]\nkind='tamper'\ndrop=1"
            ),
            5.0,
        );
        assert_eq!(times(&bench, "a.out"), [0.0, 1.0, 4.0, 5.0]);
        assert_eq!(times(&bench, "a.dropped"), [2.0, 3.0]);
    }

    /// Payloads of packets are changed, and nothing else of them.
    #[test]
    fn false_data() {
        let says = |attack: &str| {
            let text = format!(
                "connections=['c.y -> g.in', 'g.out -> a.in', 'a.out -> n.u']\n\
                 [unit.c]\nkind='clock'\nperiod=1\nvalue=3.0\n[unit.g]\nkind='datagram'\nto=1\n\
                 [unit.n]\nkind='accumulator'\n[unit.a]\nkind='tamper'\n{attack}"
            );
            Bench::run(&text, 0.5).probe("n.total")
        };
        assert_eq!(says("during=[[5, 6]]"), 3.0);
        assert_eq!(says("scale=2\nadd=1"), 7.0);
        assert_eq!(says("value=-1"), -1.0);
    }

    #[test]
    fn contradictions_are_refused() {
        let found = mistakes("[unit.a]\nkind='tamper'\nvalue=1\nadd=2\ndrop=3");
        assert_eq!(
            found,
            [
                "`value` replaces what `scale` and `add` make; give one of them",
                "`drop` is 3; give a probability from 0 to 1"
            ]
        );
    }
}
