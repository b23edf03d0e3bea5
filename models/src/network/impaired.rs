//! A `link` that fails: outages, losses in bursts, jitter.
//!
//! A packet's way is fixed when it is taken: the begin and the end of its transmission, whether it gets lost
//! and how late it is. Only an outage makes some of that void: what is in transmission or on the wire is
//! lost, and what waits is given new times when the link is up again.
use super::{board::Board, spells::Spells, transmitter::Transmitter};
use crate::{
    kinds::{
        Context, Located, Param, ParamError, Params,
        params::{Entries, Reader, random_ticks, ticks_of},
        ports::happened,
    },
    maths::random::{Distribution, RandomStream},
    signal::{
        NEVER, Timer,
        value::{Packet, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Losses by a chain of two states, one step per packet (Gilbert 1960, Elliott 1963). Without bursts
/// losses are independent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Burst {
    pub good: f64,
    pub bad: f64,
    /// Probabilities of the step from good to bad, and back.
    pub begin: f64,
    pub end: f64,
    pub is_bad: bool,
}

impl Burst {
    /// Whether the next packet gets lost; without losses there is no draw.
    fn loses(&mut self, stream: &mut RandomStream) -> bool {
        if self.begin > 0.0 {
            let step = if self.is_bad { self.end } else { self.begin };
            self.is_bad ^= stream.uniform() < step;
        }
        let loss = if self.is_bad { self.bad } else { self.good };
        loss > 0.0 && stream.uniform() < loss
    }
}

/// A random delay on the wire.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Jitter {
    pub delay: Distribution,
    pub stream: RandomStream,
    /// Whether packets may overtake each other.
    pub reorder: bool,
}

/// A packet that waits or is in transmission.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Slot {
    number: u64,
    packet: Packet,
    ticks: i64,
    start: i64,
    /// Ticks that it is late, or nothing if it gets lost.
    late: Option<i64>,
}

/// A transmitter with a queue, and a wire with faults.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Impaired {
    timer: Timer,
    transmitter: Transmitter,
    propagation: i64,
    capacity: Option<usize>,
    burst: Burst,
    stream: RandomStream,
    jitter: Option<Jitter>,
    /// On while the link is down.
    outages: Spells,
    /// Whether messages take the link down.
    commanded: bool,
    /// Whether packets wait for the end of an outage.
    keeps: bool,
    /// Packets that wait or are in transmission, and while the link is down all that wait.
    line: VecDeque<Slot>,
    free: i64,
    /// Packets on their way to the far end by the tick of their arrival and their number, and whether they get lost
    /// on the wire.
    flight: BTreeMap<(i64, u64), (Packet, bool)>,
    latest: i64,
    dropped: Vec<Packet>,
    offered: u64,
    gone: u64,
    work: i64,
    watched: bool,
    board: Board,
}

/// Parameters that a link shares with one that never fails.
pub(super) struct Basis {
    pub timer: Timer,
    pub transmitter: Transmitter,
    pub propagation: i64,
    pub capacity: Option<usize>,
    pub watched: bool,
    pub board: Board,
    pub stream: RandomStream,
}

impl Impaired {
    const IN: InPort<Packet, Self> = InPort::new(0);
    const DOWN: u16 = 1;
    const UP: u16 = 2;
    const OUT: OutPort<Packet, Self> = OutPort::new(0);
    const DROPPED: OutPort<Packet, Self> = OutPort::new(1);

    pub(super) fn new(
        basis: Basis,
        (burst, jitter): (Burst, Option<Jitter>),
        outages: Spells,
        commanded: bool,
        keeps: bool,
    ) -> Self {
        let Basis { timer, transmitter, propagation, capacity, watched, board, stream } = basis;
        let mut link = Self {
            timer,
            transmitter,
            propagation,
            capacity,
            burst,
            stream,
            jitter,
            outages,
            commanded,
            keeps,
            line: VecDeque::new(),
            free: 0,
            flight: BTreeMap::new(),
            latest: 0,
            dropped: Vec::new(),
            offered: 0,
            gone: 0,
            work: 0,
            watched,
            board,
        };
        link.settle();
        link
    }

    /// Forgets transmissions that have ended.
    fn pass(&mut self) {
        let now = self.timer.now();
        while !self.outages.on() && self.line.front().is_some_and(|s| s.start + s.ticks <= now) {
            self.line.pop_front();
        }
    }

    fn is_full(&self) -> bool {
        let first = usize::from(!self.outages.on());
        self.capacity.is_some_and(|most| self.line.len() >= most.saturating_add(first))
    }

    fn take(&mut self, packet: Packet) {
        self.offered += 1;
        if self.is_full() || (self.outages.on() && !self.keeps) {
            return self.drop(packet);
        }
        let ticks = self.transmitter.ticks(packet.bits, self.timer.resolution());
        let lost = self.burst.loses(&mut self.stream);
        let resolution = self.timer.resolution();
        let jitter = self.jitter.as_mut().filter(|_| !lost);
        let late = jitter.map_or(0, |j| random_ticks(j.delay.draw(&mut j.stream), resolution));
        let late = (!lost).then_some(late);
        self.line.push_back(Slot { number: self.offered, packet, ticks, start: 0, late });
        if !self.outages.on() {
            self.begin(self.line.len() - 1);
        }
    }

    fn drop(&mut self, packet: Packet) {
        self.gone += 1;
        self.dropped.push(packet);
    }

    /// Gives a packet in the line its times.
    fn begin(&mut self, place: usize) {
        let start = self.free.max(self.timer.now());
        let slot = &mut self.line[place];
        slot.start = start;
        self.free = start.saturating_add(slot.ticks);
        self.work += self.free - start;
        let mut at = self.free.saturating_add(self.propagation);
        let Some(late) = slot.late else {
            self.flight.insert((at, slot.number), (slot.packet, true));
            return;
        };
        at = at.saturating_add(late);
        if self.jitter.as_ref().is_some_and(|j| !j.reorder) {
            at = at.max(self.latest);
            self.latest = at;
        }
        self.flight.insert((at, slot.number), (slot.packet, false));
    }

    /// The link goes down or comes up again.
    fn turn(&mut self, fx: &mut Effects<Value>) {
        let now = self.timer.now();
        let name = if self.outages.on() { "down" } else { "up" };
        happened(fx, name, if self.commanded { EventKind::Private } else { EventKind::Time });
        if !self.outages.on() {
            self.free = now;
            (0..self.line.len()).for_each(|place| self.begin(place));
            return;
        }
        // Packets in transmission are lost with those on the wire.
        self.work -= (self.free - now).max(0);
        self.line.retain(|s| s.start >= now);
        let first = self.line.front().map_or(u64::MAX, |s| s.number);
        let mut cut: Vec<(u64, Packet)> = std::mem::take(&mut self.flight)
            .into_iter()
            .map(|((_, number), (packet, _))| (number, packet))
            .filter(|&(number, _)| number < first || !self.keeps)
            .collect();
        if !self.keeps {
            self.line.clear();
        }
        cut.sort_by_key(|c| c.0);
        cut.into_iter().for_each(|(_, packet)| self.drop(packet));
        self.latest = now;
    }

    /// How many transmissions have ended: each begins when the one before ends.
    fn ended(&self, now: i64) -> usize {
        self.line.partition_point(|s| s.start + s.ticks <= now)
    }

    /// Packets waiting or in transmission, share of time in transmission, share of packets gone.
    fn values(&self, now: i64) -> [Option<f64>; 3] {
        let gone = if self.outages.on() { 0 } else { self.ended(now) };
        let present = self.line.len() - gone;
        let left = if self.outages.on() { 0 } else { (self.free - now).max(0) };
        let busy = if now > 0 { (self.work - left) as f64 / now as f64 } else { 0.0 };
        let loss = (self.offered > 0).then(|| self.gone as f64 / self.offered as f64);
        [Some(present as f64), Some(busy), loss]
    }

    fn settle(&mut self) {
        let now = self.timer.now();
        let mut due = self.flight.first_key_value().map_or(NEVER, |(&(at, _), _)| at);
        due = due.min(self.outages.next());
        if self.watched && !self.outages.on() {
            let next = self.line.get(self.ended(now));
            due = next.map_or(due, |s| due.min(s.start + s.ticks));
        }
        let news = !self.dropped.is_empty() || self.board.pending();
        self.timer.set(if news { now } else { due });
    }
}

impl Atomic<Value> for Impaired {
    fn inputs(&self) -> u16 {
        3
    }
    fn outputs(&self) -> u16 {
        5
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        for (_, &(packet, lost)) in self.flight.range(..=(at, u64::MAX)) {
            out.send(if lost { Self::DROPPED } else { Self::OUT }, packet);
        }
        for &packet in &self.dropped {
            out.send(Self::DROPPED, packet);
        }
        self.board.output(out);
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        let (now, gone) = (self.timer.now(), self.gone);
        while let Some(first) = self.flight.first_entry().filter(|e| e.key().0 <= now) {
            self.gone += u64::from(first.remove().1);
        }
        self.dropped.clear();
        self.board.sent();
        self.pass();
        if self.outages.pass(now) {
            self.turn(fx);
        }
        if self.watched || self.gone > gone && self.board.is_prompt() {
            self.board.tell(&self.values(now), now);
        }
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.pass();
        let now = self.timer.now();
        let comes = |wanted: u16| bag.iter().any(|(port, _)| port == wanted);
        if self.outages.hear(comes(Self::DOWN), comes(Self::UP)) {
            self.turn(fx);
        }
        let other = each_in_order(bag, Self::IN, Packet::key, |&packet| {
            self.take(packet);
            if self.board.is_time() {
                self.board.tell(&self.values(now), now);
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
        // A message may call back what is on the wire.
        let sure = port == Self::OUT.index() && !self.commanded;
        Duration::from_ticks(if sure { self.propagation } else { 0 })
    }
    fn earliest_output(&self, port: u16) -> Duration {
        if port != Self::OUT.index() {
            return self.time_advance();
        }
        match (self.flight.first_key_value(), self.outages.on() && !self.line.is_empty()) {
            (Some((&(at, _), _)), _) => Duration::between(self.timer.now(), at),
            (None, true) => self.time_advance(),
            (None, false) => Duration::INFINITE,
        }
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let values = self.values(self.timer.at(elapsed));
        values.get(usize::from(port).checked_sub(2)?)?.map(Value::Real)
    }
}

/// The random delay that `jitter` describes.
pub(super) fn jitter(params: &Params, context: &Context<'_>, r: &mut Reader<'_>) -> Option<Jitter> {
    let p = params.get("jitter").filter(|_| r.given("jitter"))?;
    let mut errors = Vec::new();
    let delay = distribution(p, context, &mut errors);
    let stream = RandomStream::new(context.seed, &format!("{}#jitter", context.path));
    let reorder = params.bool("reorder");
    r.extend(errors);
    Some(Jitter { delay: delay?, stream, reorder })
}

const KEYS: [&str; 7] = ["distribution", "low", "high", "mean", "deviation", "mode", "stages"];

/// A distribution of times as a table, such as `{ distribution = "normal", mean = "2 ms", deviation = "1 ms" }`.
fn distribution(
    p: &Located<Param>,
    context: &Context<'_>,
    errors: &mut Vec<ParamError>,
) -> Option<Distribution> {
    let entries = Entries::new(p, &KEYS, errors)?;
    let shape = entries.text("distribution").map_or("uniform", |t| t.0);
    let uses: &[&str] = match shape {
        "uniform" => &["low", "high"],
        "constant" | "exponential" => &["mean"],
        "normal" => &["mean", "deviation"],
        "erlang" => &["mean", "stages"],
        "triangular" => &["low", "mode", "high"],
        _ => {
            let what = format!("unknown distribution `{shape}` of times");
            let help = "use uniform, exponential, normal, erlang, triangular or constant";
            errors.push(ParamError::at(p.span.clone(), what).help(help));
            return None;
        }
    };
    let mut numbers = Vec::new();
    for &key in &KEYS[1..] {
        let used = uses.contains(&key);
        match entries.get(key) {
            Some(value) if used => numbers.extend(number(key, value, context, errors)),
            Some(value) => {
                let what = format!("distribution \"{shape}\" does not use `{key}`");
                let help = "remove it, or choose another distribution";
                errors.push(ParamError::at(value.span.clone(), what).help(help));
            }
            // The least delay is the propagation.
            None if key == "low" && used => numbers.push(0.0),
            None if used => {
                let what = format!("distribution \"{shape}\" needs `{key}`");
                let help = format!("add {key} = …");
                errors.push(ParamError::at(p.span.clone(), what).help(help));
            }
            None => {}
        }
    }
    let ordered = !matches!(shape, "uniform" | "triangular")
        || numbers.first() <= numbers.last() && numbers.get(1) >= numbers.last();
    if errors.is_empty() && !ordered {
        let what = "the ends of this distribution are in a wrong order";
        errors.push(ParamError::at(p.span.clone(), what).help("low <= mode <= high"));
    }
    if !errors.is_empty() {
        return None;
    }
    Some(match (shape, numbers.as_slice()) {
        ("uniform", &[low, high]) => Distribution::Uniform { low, high },
        ("exponential", &[mean]) => Distribution::Exponential { mean },
        ("normal", &[mean, deviation]) => Distribution::Normal { mean, deviation },
        ("erlang", &[mean, stages]) => Distribution::Erlang { mean, stages: stages as u32 },
        // In the order of the keys: low, high, mode.
        ("triangular", &[low, high, mode]) => Distribution::Triangular { low, mode, high },
        (_, numbers) => Distribution::Constant(numbers.first().copied().unwrap_or_default()),
    })
}

/// A time in seconds, or the number of stages.
fn number(
    key: &str,
    value: &Located<Param>,
    context: &Context<'_>,
    errors: &mut Vec<ParamError>,
) -> Option<f64> {
    let read = match value.value {
        Param::Int(n) if key == "stages" && (1..=1 << 20).contains(&n) => return Some(n as f64),
        _ if key == "stages" => {
            let what = "`stages` is no integer from 1 to 1048576";
            Err(ParamError::at(value.span.clone(), what).help("write stages = 3"))
        }
        _ => ticks_of(value, context),
    };
    match read {
        Ok(ticks) => Some(context.resolution.seconds(ticks)),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

#[cfg(test)]
mod tests;
