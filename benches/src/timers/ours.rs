//! Hold and ring on our kernel.
use super::{Increments, Load, Source, Timers};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Options, Outbox, Simulation,
    event_list::EventListKind,
    port::{InPort, OutPort},
    time::Duration,
};

/// An entity of *hold*.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Timer {
    source: Source,
    sigma: i64,
    increments: Increments,
}

impl Atomic<u64> for Timer {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.sigma)
    }
    #[inline(always)]
    fn internal(&mut self, _: &mut Effects<u64>) {
        self.sigma = self.source.draw(self.increments);
    }
}

/// How many tokens an entity holds in itself.
const NEAR: usize = 4;

/// An entity of *ring*: its tokens by the tick at which their time is up. The first few are in the
/// entity, in places that are filled without a branch: how many it holds cannot be predicted.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Holder {
    source: Source,
    increments: Increments,
    /// Ticks of the first tokens in their order, and then `i64::MAX`.
    near: [i64; NEAR],
    /// The others, the latest first.
    rest: Vec<i64>,
    /// Tick of the last transition.
    now: i64,
    sent: u64,
}

const TOKEN_IN: InPort<u64, Holder> = InPort::new(0);
const TOKEN_OUT: OutPort<u64, Holder> = OutPort::new(0);

impl Holder {
    fn keep(&mut self, at: i64) {
        let mut later = at;
        for token in &mut self.near {
            (*token, later) = ((*token).min(later), (*token).max(later));
        }
        if later != i64::MAX {
            let place = self.rest.partition_point(|&t| t >= later);
            self.rest.insert(place, later);
        }
    }

    /// Tokens whose time is up at the same tick as the first one's.
    fn up(&self) -> usize {
        let now = |t: &i64| *t == self.near[0];
        match self.near.iter().filter(|t| now(t)).count() {
            NEAR => NEAR + self.rest.iter().rev().take_while(|t| now(t)).count(),
            near => near,
        }
    }

    /// Drops the first token.
    fn pass(&mut self) {
        self.near.copy_within(1.., 0);
        self.near[NEAR - 1] = self.rest.pop().unwrap_or(i64::MAX);
    }
}

impl Atomic<u64> for Holder {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        match self.near[0] {
            i64::MAX => Duration::INFINITE,
            first => Duration::between(self.now, first),
        }
    }
    fn output(&self, out: &mut Outbox<'_, u64>) {
        for i in 0..self.up() as u64 {
            out.send(TOKEN_OUT, self.sent + i);
        }
    }
    fn internal(&mut self, fx: &mut Effects<u64>) {
        self.now = fx.now().ticks;
        let up = self.up();
        self.sent += up as u64;
        for _ in 0..up {
            self.pass();
        }
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, u64>, fx: &mut Effects<u64>) {
        self.now = fx.now().ticks;
        for _ in bag.on(TOKEN_IN) {
            let increment = self.source.draw(self.increments);
            self.keep(self.now + increment);
        }
    }
}

/// The model.
pub fn model(timers: Timers) -> Coupled<u64> {
    let mut top = Coupled::new();
    let sources = (0..timers.entities).map(|i| (i as usize, Source::of(i)));
    let increments = timers.increments;
    match timers.load {
        Load::Hold => {
            for (i, mut source) in sources {
                let sigma = source.draw(increments);
                top.add(("timer", i), Timer { source, sigma, increments });
            }
        }
        Load::Ring => {
            let holder = |(i, mut source): (usize, Source)| {
                let mut near = [i64::MAX; NEAR];
                near[0] = source.draw(increments);
                let rest = Vec::new();
                let holder = Holder { source, increments, near, rest, now: 0, sent: 0 };
                top.add(("holder", i), holder)
            };
            let holders: Vec<_> = sources.map(holder).collect();
            for (i, from) in holders.iter().enumerate() {
                let to = holders[(i + 1) % holders.len()];
                top.couple(from.output(TOKEN_OUT), to.input(TOKEN_IN));
            }
        }
    }
    top
}

/// The simulation, ready to run.
pub fn build(timers: Timers, event_list: EventListKind) -> Simulation<u64> {
    let options = Options { event_list, ..Options::default() };
    Simulation::new(model(timers), options).expect("the ring is wired properly")
}

/// The events of a finished run: expiries of timers, or hops of tokens.
pub fn events(timers: Timers, sim: &Simulation<u64>) -> u64 {
    match timers.load {
        Load::Hold => sim.counts().internal,
        Load::Ring => sim.counts().messages,
    }
}
