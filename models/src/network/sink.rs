//! `packet-sink`: takes packets and measures delay and loss.
use super::board::{Board, wilson};
use crate::{
    blocks::sink::BatchMeans,
    kinds::{
        ParamType, ValueType,
        params::{Reader, with},
        ports::{event, ports, signal},
    },
    signal::{
        NEVER, Timer,
        value::{Packet, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Fact, Outbox, port::InPort, time::Duration,
};

/// Measures packets. Input 0: packets; outputs (signals): see [`PacketSink`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meter {
    timer: Timer,
    warm_up: i64,
    delays: BatchMeans,
    received: u64,
    /// Packets that sources have sent, by the highest numbers seen.
    sent: u64,
    /// Whether it was said that more came than that.
    doubted: bool,
    /// Per source: the highest number seen; of small addresses in a table.
    near: Vec<u64>,
    far: BTreeMap<u32, u64>,
    board: Board,
}

/// Said once, where what came cannot be.
const SHARED: &str = "more packets came than the number of the last one of each source says: sources \
                      share an address, or packets come in several copies; `loss` is too low then \
                      (give each source its own `address`)";

/// Addresses below this have a place in a table.
const NEAR: u32 = 1024;

impl Meter {
    const IN: InPort<Packet, Self> = InPort::new(0);

    /// The highest number seen of a source.
    fn highest(&mut self, source: u32) -> &mut u64 {
        if source >= NEAR {
            return self.far.entry(source).or_default();
        }
        if source as usize >= self.near.len() {
            self.near.resize(source as usize + 1, 0);
        }
        &mut self.near[source as usize]
    }

    /// Nothing is known of delays and losses before something came.
    fn values(&self) -> [Option<f64>; 7] {
        let sent = self.sent;
        let lost = sent.saturating_sub(self.received);
        let loss = (sent > 0).then(|| lost as f64 / sent as f64);
        let (low, high) = self.delays.interval().unzip();
        let (loss_low, loss_high) = wilson(lost, sent).unwrap_or((0.0, 1.0));
        let count = Some(self.received as f64);
        [count, self.delays.mean(), low, high, loss, Some(loss_low), Some(loss_high)]
    }
}

impl Atomic<Value> for Meter {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        7
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.board.output(out);
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.board.sent();
    }
    #[inline(always)]
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = fx.now().ticks;
        let other = each_in_order(bag, Self::IN, Packet::key, |packet| {
            self.received += 1;
            let highest = self.highest(packet.source);
            let more = packet.id.saturating_sub(*highest);
            *highest += more;
            self.sent += more;
            if self.received > self.sent && !self.doubted {
                self.doubted = true;
                fx.report(Fact::Note(Arc::from(SHARED)));
            }
            if packet.created >= self.warm_up {
                self.delays.push(self.timer.resolution().seconds(now - packet.created));
            }
            if self.board.is_time() {
                self.board.tell(&self.values(), self.timer.now());
            }
        });
        refused::<Packet>(other, || "in".into(), fx);
        self.timer.set(if self.board.pending() { self.timer.now() } else { NEVER });
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        self.values().get(usize::from(port))?.map(Value::Real)
    }
}

unit_kind! {
    /// `packet-sink`: takes packets and measures them. Input `in` (packets); outputs (signals)
    /// `count`; `delay`, `low` and `high` (s): mean delay since sending and its 95 % confidence
    /// interval by 20 batch means; `loss`, `loss_low` and `loss_high`: share of packets that are
    /// missing up to the highest number of each source, and its Wilson interval at 95 %. Sources are
    /// told apart by their addresses. There is no delay before a packet came, no loss before something is known to
    /// be sent, and no interval of 20 means before there are 20 packets: these outputs have no value then.
    ///
    /// ```toml
    /// [unit.collector]
    /// kind = "packet-sink"
    /// warm_up = "1 s"      # the delay of packets sent before is not measured
    /// ```
    PacketSink = "packet-sink", "takes packets and measures delay and loss",
    params: [
        with("warm_up", ParamType::Duration, "0 s", "delays of packets sent before do not count"),
        with("every", ParamType::Int, "", "packets between messages to wired receivers; default 1"),
    ],
    ports: |_| Ok(ports(
        [event("in", ValueType::Packet)],
        ["count", "delay", "low", "high", "loss", "loss_low", "loss_high"].map(signal),
    )),
    build: |params, context| {
        let mut r = Reader::new(params);
        let start = [Some(0.0), None, None, None, None, Some(0.0), Some(1.0)];
        let model = Meter {
            timer: Timer::due(0, context.resolution),
            warm_up: r.duration("warm_up"),
            delays: BatchMeans::new(),
            received: 0,
            sent: 0,
            doubted: false,
            near: Vec::new(),
            far: BTreeMap::new(),
            board: Board::new(0, &start, &mut r, context),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Statistics of nothing are no numbers.
    #[test]
    fn nothing_is_known_of_what_never_came() {
        let bench = Bench::run(
            "connections=['s.out -> l.in', 'l.out -> k.in', 'k.delay -> g.u']\n\
             [unit.s]\nkind='packet-source'\npattern='periodic'\nperiod=0.01\n\
             [unit.l]\nkind='link'\nrate=1e9\nloss=1.0\n[unit.k]\nkind='packet-sink'\n\
             [unit.g]\nkind='gain'\ngain=2",
            1.0,
        );
        assert_eq!(bench.probe("k.count"), 0.0);
        assert_eq!(["k.delay", "k.low", "k.high", "k.loss"].map(|p| bench.count(p)), [0; 4]);
        assert_eq!((bench.probe("k.loss_low"), bench.probe("k.loss_high")), (0.0, 1.0));
    }

    #[test]
    fn delay_and_loss() {
        for address in [0, 1_000_000] {
            let bench = Bench::run(
                &format!(
                    "connections=['s.out -> l.in', 'l.out -> k.in']\n\
                     [unit.s]\nkind='packet-source'\nrate=1000.0\nbytes=125\naddress={address}\n\
                     [unit.l]\nkind='link'\nrate=1e9\npropagation=0.002\nloss=0.1\n\
                     [unit.k]\nkind='packet-sink'\nevery=100"
                ),
                20.0,
            );
            assert!((bench.probe("k.delay") - 0.002_001).abs() < 1e-6);
            let [low, loss, high] =
                ["loss_low", "loss", "loss_high"].map(|p| bench.probe(&format!("k.{p}")));
            assert!(low < 0.1 && 0.1 < high && low < loss && loss < high, "{low} {loss} {high}");
            assert!(bench.count("k.delay") > 100);
        }
    }
}
