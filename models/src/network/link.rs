//! `link`: a directed link with a drop-tail queue.
use super::{
    board::Board,
    impaired::{self, Basis, Burst, Impaired},
    spells::Spells,
    transmitter::Transmitter,
};
use crate::{
    kinds::{
        Context, ParamType, Params, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Checked, Reader, needed, with},
        ports::{event, ports, signal},
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
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// A transmitter with a queue, and the wire behind it.
///
/// **Why one transition per packet.** First come, first served at a fixed rate: when a packet
/// comes, the end of its transmission is known. Only its arrival at the far end is an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Link {
    timer: Timer,
    transmitter: Transmitter,
    /// Ticks from the last bit sent to the last bit received.
    propagation: i64,
    /// Most packets that wait, the one in transmission not counted.
    capacity: Option<usize>,
    loss: f64,
    stream: RandomStream,
    /// When all transmissions end.
    free: i64,
    /// Whether some transmission took no tick, so that packets may arrive together.
    bunched: bool,
    /// Packets on their way, with the tick of their arrival, and whether they get lost on the wire.
    flight: VecDeque<(i64, Packet, bool)>,
    dropped: Vec<Packet>,
    offered: u64,
    gone: u64,
    /// Ticks of all transmissions that were begun or wait.
    work: i64,
    /// Whether some unit is wired to `present`: then each end of a transmission is told, too.
    watched: bool,
    board: Board,
}

impl Link {
    const IN: InPort<Packet, Self> = InPort::new(0);
    const OUT: OutPort<Packet, Self> = OutPort::new(0);
    const DROPPED: OutPort<Packet, Self> = OutPort::new(1);

    /// Whether `most` packets wait beside the one in transmission.
    fn is_full(&self, most: usize, now: i64) -> bool {
        // So many of those on their way fill it up; transmissions end in their order.
        let first = self.flight.len().checked_sub(most + 1);
        first.is_some_and(|first| self.flight[first].0 - self.propagation > now)
    }

    #[inline(always)]
    fn take(&mut self, packet: Packet) {
        let now = self.timer.now();
        self.offered += 1;
        if let Some(most) = self.capacity
            && self.is_full(most, now)
        {
            self.gone += 1;
            self.dropped.push(packet);
            return;
        }
        let ticks = self.transmitter.ticks(packet.bits, self.timer.resolution());
        self.bunched |= ticks == 0;
        let start = self.free.max(now);
        self.free = start.saturating_add(ticks);
        self.work += self.free - start;
        // Lost packets take their time on the transmitter, and nobody knows before they should have arrived; without
        // losses there is no draw.
        let lost = self.loss > 0.0 && self.stream.uniform() < self.loss;
        self.flight.push_back((self.free.saturating_add(self.propagation), packet, lost));
    }

    /// Packets waiting or in transmission, share of time in transmission, share of packets gone.
    fn values(&self, now: i64) -> [Option<f64>; 3] {
        let sent = self.flight.partition_point(|&(at, ..)| at - self.propagation <= now);
        let present = self.flight.len() - sent;
        let left = (self.free - now).max(0);
        let busy = if now > 0 { (self.work - left) as f64 / now as f64 } else { 0.0 };
        let loss = (self.offered > 0).then(|| self.gone as f64 / self.offered as f64);
        [Some(present as f64), Some(busy), loss]
    }

    #[inline(never)]
    fn tell(&mut self, now: i64) {
        self.board.tell(&self.values(now), now);
    }

    /// Whether there is something to tell at once.
    fn has_news(&self) -> bool {
        !self.dropped.is_empty() || self.board.pending()
    }

    /// When the next transmission ends.
    // A call, as what follows: mostly nobody is told.
    #[inline(never)]
    fn departure(&self) -> i64 {
        let now = self.timer.now();
        let next = self.flight.partition_point(|&(at, ..)| at - self.propagation <= now);
        self.flight.get(next).map_or(NEVER, |&(at, ..)| at - self.propagation)
    }

    fn settle(&mut self) {
        let mut due = self.flight.front().map_or(NEVER, |&(at, ..)| at);
        if self.watched {
            due = due.min(self.departure());
        }
        self.timer.set(if self.has_news() { self.timer.now() } else { due });
    }

    #[inline(never)]
    fn send_all(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        for &(_, packet, lost) in self.flight.iter().take_while(|(t, ..)| *t == at) {
            out.send(if lost { Self::DROPPED } else { Self::OUT }, packet);
        }
        for &packet in &self.dropped {
            out.send(Self::DROPPED, packet);
        }
        self.board.output(out);
    }
}

impl Atomic<Value> for Link {
    // A link on which something takes it down is `impaired`.
    fn inputs(&self) -> u16 {
        3
    }
    fn outputs(&self) -> u16 {
        5
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        // Mostly one packet arrives, and that is all.
        match self.flight.front() {
            Some(&(_, packet, lost)) if !self.bunched && !self.watched && !self.has_news() => {
                out.send(if lost { Self::DROPPED } else { Self::OUT }, packet);
            }
            _ => self.send_all(out),
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        let gone = self.gone;
        while let Some(&(_, _, lost)) = self.flight.front().filter(|&&(t, ..)| t == now) {
            self.gone += u64::from(lost);
            self.flight.pop_front();
            if !self.bunched {
                break;
            }
        }
        self.dropped.clear();
        self.board.sent();
        if self.watched || self.gone > gone && self.board.is_prompt() {
            self.tell(now);
        }
        self.settle();
    }
    #[inline(always)]
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        let other = each_in_order(bag, Self::IN, Packet::key, |&packet| {
            self.take(packet);
            if self.board.is_time() {
                self.tell(now);
            }
        });
        refused::<Packet>(other, || "in".into(), fx);
        self.transmitter.remark(self.timer.resolution(), fx);
        if self.watched {
            self.board.repeat(0);
        }
        self.settle();
    }
    fn lookahead(&self, port: u16) -> Duration {
        let wire = if port == Self::OUT.index() { self.propagation } else { 0 };
        Duration::from_ticks(wire)
    }
    fn earliest_output(&self, port: u16) -> Duration {
        match self.flight.front() {
            _ if port != Self::OUT.index() => self.time_advance(),
            Some(&(at, ..)) => Duration::between(self.timer.now(), at),
            None => Duration::INFINITE,
        }
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let values = self.values(self.timer.at(elapsed));
        values.get(usize::from(port).checked_sub(2)?)?.map(Value::Real)
    }
}

unit_kind! {
    /// `link`: a directed link: a drop-tail queue, a transmitter and a wire. Inputs `in`
    /// (packets), `down` and `up` (events of any type, not needed); outputs `out` (packets, when their last
    /// bit arrives), `dropped` (packets that found the queue full, were lost or were cut off), and the
    /// signals `present` (packets waiting or in transmission), `utilisation` (share of time in
    /// transmission) and `loss` (share of the packets that never arrive). Where some unit is wired to
    /// `present`, that hears of each packet that
    /// comes and of each end of a transmission. Averages over time change without packets, too:
    /// who is wired to `utilisation` holds what it was at the last of these; what is recorded is the
    /// present one.
    ///
    /// A packet of b bits takes b/rate, rounded to a tick, then the propagation delay, then the jitter.
    /// `out` has no order among packets that arrive at one tick: those that jitter holds back behind an earlier one
    /// arrive with it. `dropped` tells at once of a packet that finds no room, or the link down, and of one that is lost
    /// on the wire when it should have arrived, jitter left out.
    ///
    /// **Losses in bursts** (Gilbert-Elliott): a chain of two states makes a step per packet, from good to
    /// bad with probability `burst_begin` and back with `burst_end`; then the packet gets lost with
    /// probability `loss` in the good state and `burst_loss` in the bad one. It begins in the good one.
    ///
    /// **Outages**: in the spells of `outages`, or from an event `down` to an event `up` (both at once:
    /// down), nothing is sent. What is in transmission or on the wire when an outage begins is lost; what
    /// waits goes on waiting, or with `while_down = "drop"` is lost, too, with all that comes. `down` and `up`
    /// are reported as events.
    ///
    /// ```toml
    /// [unit.bottleneck]
    /// kind = "link"
    /// rate = "2 Mb/s"
    /// propagation = "10 ms"
    /// capacity = 20        # packets that wait, beside the one in transmission; default no limit
    /// loss = 0.01          # on the wire
    /// burst_begin = 0.001
    /// burst_end = 0.1
    /// jitter = { distribution = "normal", mean = "2 ms", deviation = "0.5 ms" }
    /// outages = [["2 s", "2.5 s"]]
    /// ```
    LinkKind = "link", "a directed link with a drop-tail queue",
    params: [
        needed("rate", ParamType::Real(Some("b/s")), "bits per second"),
        with("propagation", ParamType::Duration, "0 s", "from the end of sending to arrival"),
        with("capacity", ParamType::Int, "", "most packets that wait; default no limit"),
        with("loss", ParamType::Real(None), "0", "probability of loss on the wire"),
        with("burst_begin", ParamType::Real(None), "0", "probability per packet that a burst of losses begins"),
        with("burst_end", ParamType::Real(None), "1", "probability per packet that a burst ends"),
        with("burst_loss", ParamType::Real(None), "1", "probability of loss in a burst"),
        with("jitter", ParamType::Raw, "", "random delay: { low = \"0 s\", high = \"2 ms\" }, or a distribution"),
        with("reorder", ParamType::Bool, "false", "whether jitter lets packets overtake each other"),
        with("outages", ParamType::Raw, "", "when the link is down: [[\"2 s\", \"2.5 s\"]]"),
        with("while_down", ParamType::Choice(&["wait", "drop"]), "wait", "what packets do in outages"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator for losses"),
        with("every", ParamType::Int, "", "packets between messages to wired receivers; default 1"),
    ],
    ports: |_| Ok(ports(
        [
            event("in", ValueType::Packet),
            event("down", ValueType::Any).optional(),
            event("up", ValueType::Any).optional(),
        ],
        [
            event("out", ValueType::Packet), event("dropped", ValueType::Packet),
            signal("present"), signal("utilisation"), signal("loss"),
        ],
    )),
    // All but `out`, which takes a transmission.
    feed_through: |_, _| {
        let from = |input| (1..5).map(move |output| (input, output, Passing::Sometimes));
        FeedThrough::Pairs((0..3).flat_map(from).collect())
    },
    build: |params, context| build(params, context),
}

fn build(params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
    let mut r = Reader::new(params);
    let capacity = r.given("capacity").then(|| r.int("capacity", 0, i64::MAX) as usize);
    let basis = Basis {
        timer: Timer::due(0, context.resolution),
        transmitter: Transmitter::new(r.positive("rate")),
        propagation: r.duration("propagation"),
        capacity,
        stream: r.stream(context, "loss"),
        watched: context.is_followed(2),
        board: Board::new(2, &[Some(0.0), Some(0.0), None], &mut r, context),
    };
    let mut chance = |name| probability(&mut r, name, params.real(name));
    let burst = Burst {
        good: chance("loss"),
        bad: chance("burst_loss"),
        begin: chance("burst_begin"),
        end: chance("burst_end"),
        is_bad: false,
    };
    let jitter = impaired::jitter(params, context, &mut r);
    let outages = Spells::read("outages", params, context, &mut r);
    let commanded = context.is_driven(1) || context.is_driven(2);
    if burst.begin > 0.0 || jitter.is_some() || r.given("outages") || commanded {
        let keeps = params.text("while_down") == "wait";
        let model = Impaired::new(basis, (burst, jitter), outages, commanded, keeps);
        return r.finish(Component::atomic(model));
    }
    let Basis { timer, transmitter, propagation, capacity, stream, watched, board } = basis;
    let model = Link {
        timer,
        transmitter,
        propagation,
        capacity,
        loss: burst.good,
        stream,
        free: 0,
        bunched: false,
        flight: VecDeque::new(),
        dropped: Vec::new(),
        offered: 0,
        gone: 0,
        work: 0,
        watched,
        board,
    };
    r.finish(Component::atomic(model))
}

/// A probability, or a mistake.
pub(super) fn probability(r: &mut Reader<'_>, name: &str, p: f64) -> f64 {
    let ok = (0.0..=1.0).contains(&p);
    r.check(ok, name, format!("`{name}` is {p}"), "give a probability from 0 to 1");
    if ok { p } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    const SOURCE: &str = "[unit.s]\nkind='packet-source'\npattern='periodic'\nbytes=125\n";

    /// Who is wired to the number of packets hears of each that comes and of each that has gone.
    #[test]
    fn wired_receivers_hear_of_all() {
        for end in [0.05, 0.12, 0.3, 0.36, 0.55, 0.8, 1.05, 1.2, 1.3, 3.0] {
            for loss in [0.0, 0.5] {
                let bench = Bench::run(
                    &format!(
                        "connections=['s.out -> l.in', 'l.present -> g.u']\n{SOURCE}period=0.1\nlimit=5\n\
                         [unit.l]\nkind='link'\nrate=4000.0\npropagation=1\ncapacity=2\n\
                         loss={loss}\n[unit.g]\nkind='gain'\ngain=1.0"
                    ),
                    end,
                );
                assert_eq!(bench.probe("g.y"), bench.probe("l.present"), "{end}, {loss}");
            }
        }
    }

    #[test]
    fn packets_queue_up_and_the_fifth_is_dropped() {
        // 1000 bits each 0.1 s over 4 kb/s: 0.25 s each; room for two that wait.
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in']\n{SOURCE}period=0.1\nlimit=5\n\
                 [unit.l]\nkind='link'\nrate=4000.0\npropagation=1\ncapacity=2"
            ),
            3.0,
        );
        assert_eq!(
            bench.events("l.out"),
            [
                "1.25@0 packet 0/1 to 0",
                "1.5@0 packet 0/2 to 0",
                "1.75@0 packet 0/3 to 0",
                "2@0 packet 0/4 to 0"
            ]
            .map(str::to_owned)
            .to_vec()
        );
        assert_eq!(bench.events("l.dropped"), ["0.4@1 packet 0/5 to 0"]);
        assert_eq!(bench.probe("l.loss"), 0.2);
        assert!((bench.probe("l.utilisation") - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn lost_packets_fill_the_queue_too() {
        // As above, but all are lost on the wire: four take their time, and the fifth finds no room.
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in']\n{SOURCE}period=0.1\nlimit=5\n\
                 [unit.l]\nkind='link'\nrate=4000.0\npropagation=1\ncapacity=2\nloss=1"
            ),
            3.0,
        );
        assert_eq!((bench.count("l.out"), bench.count("l.dropped")), (0, 5));
        // The fifth at once; the others are missed when they should have arrived, and were on the line until then.
        let told =
            bench.events("l.dropped").into_iter().map(|e| e.split('@').next().unwrap().to_owned());
        assert_eq!(told.collect::<Vec<_>>(), ["0.4", "1.25", "1.5", "1.75", "2"]);
        assert!((bench.probe("l.utilisation") - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(bench.probe("l.present"), 0.0);
    }

    #[test]
    fn packets_that_take_no_time_arrive_together() {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in', 'r.out -> l.in']\n{SOURCE}period=2\n\
                 {}address=1\nperiod=2\n[unit.l]\nkind='link'\nrate=1e15\npropagation=0.5",
                SOURCE.replace("[unit.s]", "[unit.r]")
            ),
            3.0,
        );
        let expected = [
            "0.5@0 packet 0/1 to 0",
            "0.5@0 packet 1/1 to 0",
            "2.5@0 packet 0/2 to 0",
            "2.5@0 packet 1/2 to 0",
        ];
        assert_eq!(bench.events("l.out"), expected);
    }

    #[test]
    fn losses_come_at_their_rate_and_unloaded_links_only_delay() {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in']\n{SOURCE}period=0.01\n\
                 [unit.l]\nkind='link'\nrate=1e9\nloss=0.3"
            ),
            100.005,
        );
        assert!((bench.probe("l.loss") - 0.3).abs() < 0.02);
        assert_eq!(bench.probe("l.present"), 0.0);
    }

    /// Without places to wait, a packet that finds another one in transmission is dropped; who is wired to `present`
    /// hears of it, and who is wired to `loss` of each loss, also on the wire.
    #[test]
    fn what_is_lost_is_told() {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in', 'l.present -> g.u', 's.out -> m.in', 'm.loss -> h.u']\n{SOURCE}\
                 period=1\nlimit=4\n[unit.l]\nkind='link'\nrate=500\ncapacity=0\n\
                 [unit.m]\nkind='link'\nrate=1e9\npropagation=0.5\nloss=1.0\n\
                 [unit.g]\nkind='gain'\ngain=1\n[unit.h]\nkind='gain'\ngain=1"
            ),
            20.0,
        );
        assert_eq!((bench.probe("l.loss"), bench.count("l.dropped")), (0.5, 2));
        // The start, each of four packets, and the last end.
        assert_eq!(bench.count("l.present"), 6);
        assert_eq!((bench.probe("m.loss"), bench.probe("h.y")), (1.0, 1.0));
    }

    #[test]
    fn bad_links_are_refused() {
        assert_eq!(
            mistakes("[unit.l]\nkind='link'\nrate=-1.0\ncapacity=-1\nloss=1.5"),
            [
                "`capacity` is -1; give an integer of at least 0",
                "`rate` is -1; give a number above zero",
                "`loss` is 1.5; give a probability from 0 to 1"
            ]
        );
        let found = |fault: &str| mistakes(&format!("[unit.l]\nkind='link'\nrate=1\n{fault}"));
        let spells = "write pairs of times in ascending order, such as [[\"1 s\", \"2 s\"], [\"5 s\", \"6 s\"]]";
        for (fault, message) in [
            ("burst_end=-1", "`burst_end` is -1; give a probability from 0 to 1".to_owned()),
            ("outages=[1, 2]", format!("no pair of times; {spells}")),
            ("outages=[[2, 1]]", format!("this time does not lie behind the one before; {spells}")),
            ("jitter={high=1, mean=2}", "distribution \"uniform\" does not use `mean`; remove it, or choose another distribution".into()),
            ("jitter={distribution='normal', mean=1}", "distribution \"normal\" needs `deviation`; add deviation = …".into()),
            ("jitter={low=2, high=1}", "the ends of this distribution are in a wrong order; low <= mode <= high".into()),
        ] {
            assert_eq!(found(fault), [message], "{fault}");
        }
    }
}
