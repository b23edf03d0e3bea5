//! `wan`: a wide-area network that delays each packet by the same time and may lose it.
use super::{board::Board, link::probability};
use crate::{
    kinds::{
        Param, ParamError, ParamType, Params, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, needed, with},
        ports::{event, signal},
    },
    maths::random::RandomStream,
    signal::{
        NEVER, Timer,
        value::{Packet, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// A fixed delay and independent losses between any two addresses. Input 0: packets.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Wan {
    timer: Timer,
    delay: i64,
    loss: f64,
    stream: RandomStream,
    ports: BTreeMap<u32, u16>,
    flight: VecDeque<(i64, u16, Packet)>,
    sent: u64,
    lost: u64,
    board: Board,
}

impl Wan {
    const IN: InPort<Packet, Self> = InPort::new(0);

    fn values(&self) -> [Option<f64>; 2] {
        [self.sent, self.lost].map(|n| Some(n as f64))
    }

    fn settle(&mut self) {
        let arrival = self.flight.front().map_or(NEVER, |&(at, ..)| at);
        self.timer.set(if self.board.pending() { self.timer.now() } else { arrival });
    }
}

impl Atomic<Value> for Wan {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        self.ports.len() as u16 + 2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        for &(_, port, packet) in self.flight.iter().take_while(|(t, ..)| *t == at) {
            out.send(OutPort::<_>::new(port), packet);
        }
        self.board.output(out);
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        while self.flight.front().is_some_and(|&(t, ..)| t == now) {
            self.flight.pop_front();
        }
        self.board.sent();
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        let other = each_in_order(bag, Self::IN, Packet::key, |&packet| {
            let Some(&port) = self.ports.get(&packet.destination) else {
                let (to, from) = (packet.destination, packet.source);
                fx.fail(format!(
                    "source {from} sends to address {to}, which the network does not know: add \
                     it to `addresses`"
                ));
                return;
            };
            self.sent += 1;
            // One draw per packet, none without losses.
            if self.loss > 0.0 && self.stream.uniform() < self.loss {
                self.lost += 1;
            } else {
                self.flight.push_back((now.saturating_add(self.delay), port, packet));
            }
            if self.board.is_time() {
                self.board.tell(&self.values(), now);
            }
        });
        refused::<Packet>(other, || "in".into(), fx);
        self.settle();
    }
    fn lookahead(&self, port: u16) -> Duration {
        let host = usize::from(port) < self.ports.len();
        Duration::from_ticks(if host { self.delay } else { 0 })
    }
    fn earliest_output(&self, port: u16) -> Duration {
        match self.flight.front() {
            _ if usize::from(port) >= self.ports.len() => self.time_advance(),
            Some(&(at, ..)) => Duration::between(self.timer.now(), at),
            None => Duration::INFINITE,
        }
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        let first = self.ports.len();
        self.values().get(usize::from(port).checked_sub(first)?)?.map(Value::Real)
    }
}

/// Addresses in the order of the outputs.
fn addresses(params: &Params) -> Result<Vec<u32>, Vec<ParamError>> {
    let mut r = Reader::new(params);
    let mut list = Vec::new();
    if let Some(Param::List(items)) = params.get("addresses").map(|p| &p.value) {
        for item in items {
            let address = match item.value {
                Param::Real(x) if x >= 0.0 && x.fract() == 0.0 && x <= f64::from(u32::MAX) => {
                    x as u32
                }
                Param::Int(k) if u32::try_from(k).is_ok() => k as u32,
                _ => {
                    let what = "an address that is no integer of zero or more";
                    r.push(ParamError::at(item.span.clone(), what).help("write [1, 2, 3]"));
                    continue;
                }
            };
            if list.contains(&address) {
                let what = format!("address {address} stands twice");
                r.push(ParamError::at(item.span.clone(), what).help("remove one of the two"));
            }
            list.push(address);
        }
    }
    r.finish(list)
}

unit_kind! {
    /// `wan`: a wide-area network between any number of hosts. Input `in` (packets of all
    /// hosts); outputs `to_A` (packets) for each address A in `addresses`, and the signals `sent`
    /// and `lost` (numbers of packets).
    ///
    /// Each packet arrives `delay` later or is lost with probability `loss`. All losses come from
    /// one stream, one draw per packet in the order of sending.
    ///
    /// ```toml
    /// [unit.wan]
    /// kind = "wan"
    /// addresses = [0, 7, 8]
    /// delay = "100 ms"
    /// loss = 0.2
    /// ```
    WanKind = "wan", "a network that delays packets and may lose them",
    params: [
        needed("addresses", ParamType::RealList, "addresses of all hosts"),
        with("delay", ParamType::Duration, "0 s", "from sending to arrival"),
        with("loss", ParamType::Real(None), "0", "probability of loss"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator for losses"),
        with("every", ParamType::Int, "", "packets between messages to wired receivers; default 1"),
    ],
    ports: |params| {
        let hosts = addresses(params)?;
        let hosts = hosts.iter().map(|a| event(&format!("to_{a}"), ValueType::Packet));
        let outputs = hosts.chain([signal("sent"), signal("lost")]).collect();
        Ok(Ports { inputs: vec![event("in", ValueType::Packet)], outputs })
    },
    // The signals count packets as they come.
    feed_through: |params, _| match params.duration("delay") > Duration::ZERO {
        false => FeedThrough::All(Passing::Sometimes),
        true => {
            let hosts = addresses(params).map_or(0, |list| list.len() as u16);
            FeedThrough::Pairs((hosts..hosts + 2).map(|o| (0, o, Passing::Sometimes)).collect())
        }
    },
    build: |params, context| {
        let hosts = addresses(params)?;
        let mut r = Reader::new(params);
        let model = Wan {
            timer: Timer::due(0, context.resolution),
            delay: r.duration("delay"),
            loss: probability(&mut r, "loss", params.real("loss")),
            stream: r.stream(context, "loss"),
            ports: (0..).zip(&hosts).map(|(port, &address)| (address, port)).collect(),
            flight: VecDeque::new(),
            sent: 0,
            lost: 0,
            board: Board::new(hosts.len() as u16, &[Some(0.0); 2], &mut r, context),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn packets_arrive_later_or_not() {
        let bench = Bench::run(
            "connections=['a.out -> w.in']\n\
             [unit.a]\nkind='packet-source'\npattern='periodic'\nperiod=1\nto=5\n\
             [unit.w]\nkind='wan'\naddresses=[5, 6]\ndelay=0.25\nloss=0.5\nminstd=12345",
            5.0,
        );
        // MINSTD from 12345: 0.277, 0.726, 0.698, 0.941, 0.413, 0.720, ...
        let arrived =
            ["1.25@0 packet 0/2 to 5", "2.25@0 packet 0/3 to 5", "3.25@0 packet 0/4 to 5"];
        assert_eq!(bench.events("w.to_5"), arrived);
        assert_eq!(bench.count("w.to_6"), 0);
        assert_eq!((bench.probe("w.sent"), bench.probe("w.lost")), (6.0, 2.0));
    }

    #[test]
    fn addresses_are_checked() {
        let found = mistakes("[unit.w]\nkind='wan'\naddresses=[1, 1, 2.5]");
        assert_eq!(
            found,
            [
                "address 1 stands twice; remove one of the two",
                "an address that is no integer of zero or more; write [1, 2, 3]"
            ]
        );
    }
}
