//! Requests of a transition, beside the change of its own state.
use crate::{
    fact::Fact,
    message::Message,
    structure::Change,
    time::{Duration, Resolution, Tag},
};
use std::fmt::Display;

/// Requests of the running transition; part of the speculative record, so that a rolled-back
/// transition leaves no mark.
#[derive(Debug)]
pub struct Effects<M: Message> {
    pub(crate) now: Tag,
    pub(crate) resolution: Resolution,
    pub(crate) raised: bool,
    /// Whether anybody may hear of facts.
    pub(crate) observed: bool,
    pub(crate) failure: Option<String>,
    pub(crate) stop: Option<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) located: bool,
    pub(crate) changes: Vec<Change<M>>,
}

impl<M: Message> Effects<M> {
    pub(crate) fn new(resolution: Resolution) -> Self {
        Self {
            now: Tag::ZERO,
            resolution,
            raised: false,
            observed: true,
            failure: None,
            stop: None,
            facts: Vec::new(),
            located: false,
            changes: Vec::new(),
        }
    }

    /// The tag of this cycle.
    pub fn now(&self) -> Tag {
        self.now
    }

    /// The resolution of the run.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// A duration of `seconds` for a discrete model; a value that is no duration fails the run.
    pub fn duration(&mut self, seconds: f64) -> Duration {
        match self.resolution.duration(seconds) {
            Ok(d) => d,
            Err(e) => {
                self.fail(e);
                Duration::INFINITE
            }
        }
    }

    /// A random duration of `seconds`, rounded to the nearest tick, and at least `least`: zero or one tick, as
    /// the model likes it (see [`Resolution::duration_rounded`]). [`Effects::duration`] refuses what is
    /// below one tick, which for a constant is a mistake, and for a random number a matter of time.
    pub fn duration_rounded(&mut self, seconds: f64, least: Duration) -> Duration {
        match self.resolution.duration_rounded(seconds, least) {
            Ok(d) => d,
            Err(e) => {
                self.fail(e);
                Duration::INFINITE
            }
        }
    }

    /// Ends the run with an error that names this model and the tag. Say what to do about it.
    pub fn fail(&mut self, why: impl Display) {
        self.raised = true;
        self.failure.get_or_insert_with(|| why.to_string());
    }

    /// Ends the run after this cycle, as planned.
    pub fn stop(&mut self, reason: impl Into<String>) {
        self.raised = true;
        self.stop.get_or_insert_with(|| reason.into());
    }

    /// Whether anybody may hear of facts: where making one costs something, it need not be made for
    /// nobody. Nothing else may depend on it.
    pub fn observed(&self) -> bool {
        self.observed
    }

    /// Tells observers a fact.
    pub fn report(&mut self, fact: Fact) {
        self.raised = true;
        self.facts.push(fact);
    }

    /// Counts one *located state event* of a continuous unit against the guard R11(b), which
    /// ends Zeno and chattering behaviour.
    pub fn located(&mut self) {
        self.raised = true;
        self.located = true;
    }

    /// Asks for a change of structure, which takes effect after all transitions of this cycle
    /// (rule R12). In a silent step, which is in no cycle, it is an error.
    pub fn change(&mut self, change: Change<M>) {
        self.raised = true;
        self.changes.push(change);
    }

    /// Asks for a change of structure that may be refused, of which [`Atomic::refused`](crate::Atomic::refused)
    /// tells the model then. A refused [`change`](Self::change) ends the run.
    pub fn try_change(&mut self, change: Change<M>) {
        self.change(Change::Attempt(Box::new(change)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Atomic, Bag, Coupled, Outbox, Simulation,
        options::Options,
        port::{InPort, OutPort},
    };
    use serde::{Deserialize, Serialize};
    use std::collections::VecDeque;

    const IN: InPort<u32, Server> = InPort::new(0);
    const OUT: OutPort<u32, Source> = OutPort::new(0);

    /// Exponential durations; `least` as the model likes it, or none at all.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Exponential {
        mean: f64,
        seed: u64,
        least: Option<Duration>,
    }

    impl Exponential {
        fn draw(&mut self, fx: &mut Effects<u32>) -> Duration {
            self.seed = crate::message::fold(self.seed, 0x9E37_79B9_7F4A_7C15);
            let u = (self.seed >> 11) as f64 / (1u64 << 53) as f64;
            let seconds = -self.mean * (1.0 - u).ln();
            match self.least {
                Some(least) => fx.duration_rounded(seconds, least),
                None => fx.duration(seconds),
            }
        }
    }

    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Source(Exponential, Duration, u32);

    impl Atomic<u32> for Source {
        fn outputs(&self) -> u16 {
            1
        }
        fn time_advance(&self) -> Duration {
            self.1
        }
        fn output(&self, out: &mut Outbox<'_, u32>) {
            out.send(OUT, self.2);
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            self.2 += 1;
            self.1 = self.0.draw(fx);
        }
    }

    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Server {
        service: Exponential,
        /// When they came.
        queue: VecDeque<i64>,
        left: Duration,
        served: u64,
        sojourn: i64,
    }

    impl Atomic<u32> for Server {
        fn inputs(&self) -> u16 {
            1
        }
        fn time_advance(&self) -> Duration {
            self.left
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            self.served += 1;
            self.sojourn += fx.now().ticks - self.queue.pop_front().unwrap_or_default();
            let draws = !self.queue.is_empty();
            self.left = if draws { self.service.draw(fx) } else { Duration::INFINITE };
        }
        fn external(&mut self, elapsed: Duration, bag: &Bag<'_, u32>, fx: &mut Effects<u32>) {
            if !self.left.is_infinite() {
                self.left = Duration::from_ticks(self.left.ticks() - elapsed.ticks());
            } else {
                self.left = self.service.draw(fx);
            }
            self.queue.extend(bag.on(IN).map(|_| fx.now().ticks));
        }
    }

    /// M/M/1 at a microsecond, with means of 2 and 1 ms: customers, and their mean time in the system.
    fn mm1(least: Option<Duration>) -> Result<(u64, f64), String> {
        let exponential = |mean, seed| Exponential { mean, seed, least };
        let mut top = Coupled::new();
        let source = top.add("source", Source(exponential(2e-3, 1), Duration::ZERO, 0));
        let (queue, left) = (VecDeque::new(), Duration::INFINITE);
        let service = exponential(1e-3, 2);
        let server = top.add("server", Server { service, queue, left, served: 0, sojourn: 0 });
        top.couple(source.output(OUT), server.input(IN));
        let options = Options { resolution: Resolution::MICRO, ..Options::default() };
        let mut sim = Simulation::new(top, options).map_err(|e| e.to_string())?;
        sim.run_through(1_000_000_000).map_err(|e| e.to_string())?;
        let Server { served, sojourn, .. } = sim.model("server").ok_or("no server")?;
        Ok((*served, *sojourn as f64 / *served as f64 * 1e-6))
    }

    #[test]
    fn exponential_durations_may_be_as_short_as_they_like() {
        let refused = mm1(None).expect_err("one of them is below a tick");
        assert!(refused.contains("is below one tick"), "{refused}");
        for least in [0, 1] {
            let (customers, sojourn) = mm1(Some(Duration::from_ticks(least))).expect("no error");
            assert!(customers > 490_000, "{customers} customers");
            // 1/(μ - λ).
            assert!((sojourn / 2e-3 - 1.0).abs() < 0.02, "{sojourn} s");
        }
    }

    /// The mean of rounded exponential durations of ten ticks, over even quantiles.
    #[test]
    fn rounding_changes_the_mean_as_written() {
        let (n, many) = (10.0, 1_000_000);
        let mean = |least| {
            let ticks = |i| {
                let seconds = -n * 1e-6 * (1.0 - (f64::from(i) + 0.5) / f64::from(many)).ln();
                let least = Duration::from_ticks(least);
                Resolution::MICRO.duration_rounded(seconds, least).expect("a duration").ticks()
            };
            (0..many).map(ticks).sum::<i64>() as f64 / f64::from(many) / n - 1.0
        };
        let [zero, one] = [mean(0), mean(1)];
        // -1/(24 n²) and 11/(24 n²) are the first terms of these.
        let rounded = 0.5 / (0.5 / n).sinh() / n - 1.0;
        let raised = (1.0 - (-0.5 / n).exp()) / n;
        assert!((zero - rounded).abs() < 1e-6, "{zero}, {rounded}");
        assert!((one - rounded - raised).abs() < 1e-6, "{one}, {raised}");
        for bad in [f64::NAN, -1.0, 1e300] {
            assert!(Resolution::MICRO.duration_rounded(bad, Duration::ZERO).is_err());
        }
        let endless = Resolution::MICRO.duration_rounded(f64::INFINITY, Duration::ZERO);
        assert_eq!(endless, Ok(Duration::INFINITE));
    }
}
