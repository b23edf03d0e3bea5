//! The common test models: Gen, Proc, Queue, Relay, Accumulator, Toggle and a few helpers.
//!
//! Every δ that random models use is insensitive to the order of its bag, except Proc, which
//! stores the first message as PythonPDEVS does and so checks the canonical order.
use crate::{
    NEVER,
    machine::{Machine, On},
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Emits `value` every `period`, `left` times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gen {
    /// Ticks between outputs.
    pub period: i64,
    /// The value that it emits.
    pub value: i64,
    /// Outputs left.
    pub left: u64,
}

impl Gen {
    /// Value 1 every `period` ticks, for ever.
    pub fn every(period: i64) -> Self {
        Self { period, value: 1, left: u64::MAX }
    }
    /// `value` once, after `delay`.
    pub fn once(delay: i64, value: i64) -> Self {
        Self { period: delay, value, left: 1 }
    }
    /// Another value.
    #[must_use]
    pub fn value(self, value: i64) -> Self {
        Self { value, ..self }
    }
}

impl Machine for Gen {
    const INPUTS: u16 = 0;
    fn advance(&self) -> i64 {
        if self.left > 0 { self.period } else { NEVER }
    }
    fn output(&self) -> Vec<On> {
        vec![(0, self.value)]
    }
    fn internal(&mut self) {
        self.left -= 1;
    }
}

/// Stores the first message and emits it after `delay`; restarts when busy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Proc {
    /// Ticks from input to output.
    pub delay: i64,
    /// The stored message.
    pub job: Option<i64>,
}

impl Proc {
    /// An idle processor.
    pub fn new(delay: i64) -> Self {
        Self { delay, job: None }
    }
}

impl Machine for Proc {
    fn advance(&self) -> i64 {
        self.job.map_or(NEVER, |_| self.delay)
    }
    fn output(&self) -> Vec<On> {
        self.job.iter().map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.job = None;
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.job = Some(bag[0].1);
    }
}

/// First in, first out, one job at a time; keeps at most `LIMIT` jobs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Queue {
    /// Ticks of service.
    pub service: i64,
    /// Waiting jobs, the one in service first.
    pub jobs: VecDeque<i64>,
    sigma: i64,
}

const LIMIT: usize = 8;

impl Queue {
    /// An empty queue.
    pub fn new(service: i64) -> Self {
        Self { service, jobs: VecDeque::new(), sigma: NEVER }
    }
}

impl Machine for Queue {
    fn advance(&self) -> i64 {
        self.sigma
    }
    fn output(&self) -> Vec<On> {
        self.jobs.iter().take(1).map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.jobs.pop_front();
        self.sigma = if self.jobs.is_empty() { NEVER } else { self.service };
    }
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        self.sigma = if self.jobs.is_empty() { self.service } else { self.sigma - elapsed };
        let mut new: Vec<i64> = bag.iter().map(|m| m.1).collect();
        new.sort_unstable();
        self.jobs.extend(new);
        self.jobs.truncate(LIMIT);
    }
}

/// Passes all messages on, `delay` after the first of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Relay {
    /// Ticks of delay.
    pub delay: i64,
    held: Vec<i64>,
    sigma: i64,
}

impl Relay {
    /// An empty relay.
    pub fn new(delay: i64) -> Self {
        Self { delay, held: Vec::new(), sigma: NEVER }
    }
}

impl Machine for Relay {
    fn advance(&self) -> i64 {
        self.sigma
    }
    fn output(&self) -> Vec<On> {
        self.held.iter().map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.held.clear();
        self.sigma = NEVER;
    }
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        self.sigma = if self.held.is_empty() { self.delay } else { self.sigma - elapsed };
        self.held.extend(bag.iter().map(|m| m.1));
        self.held.sort_unstable();
        // Loops with fan-out would otherwise grow without bound.
        self.held.truncate(3);
    }
}

/// Adds port 0; a message on port 1 makes it emit the sum, `delay` later (at once by default),
/// and start anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Accumulator {
    /// Ticks from reset to output.
    pub delay: i64,
    /// The sum so far.
    pub sum: i64,
    sigma: i64,
}

impl Accumulator {
    /// Sum zero.
    pub fn new() -> Self {
        Self { delay: 0, sum: 0, sigma: NEVER }
    }
}

impl Default for Accumulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for Accumulator {
    const INPUTS: u16 = 2;
    fn advance(&self) -> i64 {
        self.sigma
    }
    fn output(&self) -> Vec<On> {
        vec![(0, self.sum)]
    }
    fn internal(&mut self) {
        (self.sum, self.sigma) = (0, NEVER);
    }
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        let added = bag.iter().filter(|m| m.0 == 0).fold(0, |s: i64, m| s.wrapping_add(m.1));
        self.sum = self.sum.wrapping_add(added);
        if self.sigma != NEVER {
            self.sigma -= elapsed;
        } else if bag.iter().any(|m| m.0 == 1) {
            self.sigma = self.delay;
        }
    }
}

/// Two modes: flips once per micro-step with input, whatever the size of the bag; emits the new
/// mode on port 0 and the elapsed time on port 1, `delay` later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Toggle {
    /// Ticks from input to output.
    pub delay: i64,
    /// The mode.
    pub on: bool,
    waited: i64,
    due: bool,
}

impl Toggle {
    /// Starts switched off.
    pub fn new(delay: i64) -> Self {
        Self { delay, on: false, waited: 0, due: false }
    }
}

impl Machine for Toggle {
    const OUTPUTS: u16 = 2;
    fn advance(&self) -> i64 {
        if self.due { self.delay } else { NEVER }
    }
    fn output(&self) -> Vec<On> {
        // In descending order of ports, so that port order and emission order differ.
        vec![(1, self.waited), (0, i64::from(self.on))]
    }
    fn internal(&mut self) {
        self.due = false;
    }
    fn external(&mut self, elapsed: i64, _: &[On]) {
        (self.on, self.waited, self.due) = (!self.on, elapsed, true);
    }
}

/// Listens on four ports and does nothing; its records tell what arrived.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sink {
    /// How many bags came, by their size (up to 7).
    pub bags: [u64; 8],
}

impl Machine for Sink {
    const INPUTS: u16 = 4;
    const OUTPUTS: u16 = 0;
    fn advance(&self) -> i64 {
        NEVER
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.bags[bag.len().min(7)] += 1;
    }
}

/// A transport delay: any number of messages under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delay {
    /// Ticks from input to output.
    pub delay: i64,
    /// (ticks left, value), in order.
    queue: VecDeque<Waiting>,
}

type Waiting = (i64, i64);

impl Delay {
    /// Nothing under way.
    pub fn new(delay: i64) -> Self {
        Self { delay, queue: VecDeque::new() }
    }
    fn pass(&mut self, ticks: i64) {
        self.queue.iter_mut().for_each(|m| m.0 -= ticks);
    }
}

impl Machine for Delay {
    fn advance(&self) -> i64 {
        self.queue.front().map_or(NEVER, |m| m.0)
    }
    fn output(&self) -> Vec<On> {
        let now = self.advance();
        self.queue.iter().take_while(|m| m.0 == now).map(|m| (0, m.1)).collect()
    }
    fn internal(&mut self) {
        self.pass(self.advance());
        self.queue.retain(|m| m.0 > 0);
    }
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        self.pass(elapsed);
        self.queue.extend(bag.iter().map(|m| (self.delay, m.1)));
    }
}

/// Emits `value` at given times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// (ticks after the one before, outputs).
    pub plan: VecDeque<(i64, Vec<On>)>,
}

impl Script {
    /// Outputs at absolute ticks, in order, when started at tick 0.
    pub fn at(plan: impl IntoIterator<Item = (i64, Vec<On>)>) -> Self {
        let mut last = 0;
        let step = |(t, out)| {
            let wait = t - last;
            last = t;
            (wait, out)
        };
        Self { plan: plan.into_iter().map(step).collect() }
    }
}

impl Machine for Script {
    const INPUTS: u16 = 0;
    const OUTPUTS: u16 = 4;
    fn advance(&self) -> i64 {
        self.plan.front().map_or(NEVER, |p| p.0)
    }
    fn output(&self) -> Vec<On> {
        self.plan[0].1.clone()
    }
    fn internal(&mut self) {
        self.plan.pop_front();
    }
}
