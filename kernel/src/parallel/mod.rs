//! Parallel executors, equal to the sequential run byte for byte: Time Warp, of which the files here
//! tell, and the conservative one, whose parts are sequential simulations (`windows`).
//!
//! # Time Warp
//!
//! A logical process is a cluster of models on one worker. A worker executes the cycles of its
//! own models in the order of their keys (rule R2 among themselves) without waiting for anyone;
//! a message that comes late, also at the very tag that was executed, undoes *the model* that it
//! reaches and, by anti-messages, what that model caused (Jefferson 1985; Nutaro 2008 for DEVS).
//! Outputs at the late tag itself stay, since λ saw the state before it.
//! The messages of a λ to one receiver are one packet, known by source, tag, receiver and digest:
//! deliveries may overtake each other, and no counter survives a rollback.
//!
//! **GVT without counting.** Shared memory has no message in transit that is not in an inbox. At
//! a cut each worker empties its inbox and tells the least of its keys *and of all tags that it
//! sent since its last cut*. A message that misses its receiver's cut was sent after the sender's
//! last cut, so the sender tells it, or was caused by something that another worker tells. The
//! least of all is GVT; nobody waits.
//!
//! **Threads take workers.** There are no more threads than cores, and whoever has nothing to do
//! takes up what lies there, so that no round waits for a thread to wake up.
//!
//! **Commit.** With GVT, workers hand over what lies before it; merged by tag and path it is what
//! the sequential run tells its observers, one cut later. Nothing is forgotten before it is told.
//!
//! **Migration.** Where one worker has much more to do than the others, models come home at a cut,
//! clusters of them are dealt out anew by wires, measured loads and sampled traffic, and all go on.
//!
//! **Whatever is not plain goes to the sequential executor.** An error, a panic, a stop request, a
//! change of structure, a guard, a unit that cannot save its state: its model stops before that
//! event, and GVT comes to stand there. Then all is undone back to that tag, models go home and
//! the sequential cycle runs it. So such things are as in a sequential run because they are one.
mod agenda;
mod commit;
mod cuts;
mod execute;
mod history;
mod inputs;
mod ledger;
mod meeting;
mod pace;
mod partition;
mod rounds;
mod run;
mod speculation;
mod sync;
mod telling;
#[cfg(test)]
mod tests;
mod threads;
mod timeline;
mod unit;
mod virtually;
mod windows;
mod worker;

pub(crate) use partition::Deal;
use serde::{Deserialize, Serialize};
pub(crate) use windows::Apart;
pub use windows::{LostRank, Ranks, Weight};

/// How workers keep together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// Workers run ahead, and go back where a message comes late.
    #[default]
    TimeWarp,
    /// Workers go on by themselves for windows as long as the declared minimum delays
    /// ([`Atomic::lookahead`](crate::Atomic::lookahead)) between their models; models that reach each
    /// other without delay stay together. Without any delay they go from cycle to cycle together.
    /// With a unit that cannot save its state the run is sequential, and where windows hold too
    /// little to pay, it is so for a while.
    Conservative,
}

/// The treatment of outputs of undone transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Cancellation {
    /// Cancel at once.
    #[default]
    Aggressive,
    /// Cancel what the model does not send again.
    Lazy,
}

/// Which models share a worker at the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Partition {
    /// Equal numbers of neighbours in path order.
    #[default]
    Blocks,
    /// Parts of equal size that cut few wires.
    Wiring,
    /// In turn.
    RoundRobin,
    /// By model in path order: the number of the worker, taken modulo the number of workers.
    Given(Vec<u32>),
}

/// When models go to other workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migration {
    /// Never.
    Never,
    /// When one worker has much more to do than the others; never from a partition that is given.
    #[default]
    WhenSkewed,
    /// A third of them at each cut. For tests.
    AtEachCut,
}

/// How workers are made to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// A thread each.
    #[default]
    Threads,
    /// In turn on this thread, in an order that depends on the seed alone: worker, number of
    /// events and cut vary, deliveries overtake each other, and there are faults: rollbacks without
    /// a reason, spurious anti-messages, a stalled worker, a cut after every event. For tests.
    Virtual(u64),
}

/// How to run in parallel; never changes results.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How workers keep together.
    pub method: Method,
    /// Number of workers; at least one. A single one that neither probes nor is virtual is the
    /// sequential run: nothing can come late.
    pub workers: u32,
    /// The treatment of outputs of undone transitions.
    pub cancellation: Cancellation,
    /// Save the state before every so many transitions of a model, and more rarely while it has not
    /// gone back for some time.
    pub save_every: u32,
    /// Which models share a worker at the start.
    pub partition: Partition,
    /// When models go to other workers.
    pub migration: Migration,
    /// How workers are made to run.
    pub schedule: Schedule,
    /// Transitions between looks at the inbox, and between cuts; at least one.
    pub batch: usize,
    /// Transitions of one worker that may be uncommitted, per model; beyond, only the earliest
    /// goes on. From 1 on, a worker may have 64 in any case.
    pub memory: f64,
    /// Rollbacks of a model at one GVT, after which it waits.
    pub patience: u32,
    /// Execute transitions twice from the same saved state, the first ones of each worker and then
    /// one of 64, and end with an error when a model gives another result: it keeps state outside
    /// of its snapshot.
    pub probe: bool,
    /// Whether conservative parts may go from cycle to cycle together where nothing between them has a delay;
    /// otherwise the run is sequential, and over ranks it is refused.
    pub in_step: bool,
    /// The caller's clock, in nanoseconds since anything: the kernel reads none of its own. With it
    /// the conservative executor finds out whether windows pay, and how long workers were busy is
    /// known; without, it counts what windows hold.
    pub clock: Option<fn() -> u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::TimeWarp,
            workers: 2,
            cancellation: Cancellation::Aggressive,
            save_every: 1,
            partition: Partition::Blocks,
            migration: Migration::WhenSkewed,
            schedule: Schedule::Threads,
            batch: 64,
            memory: 2.0,
            patience: 16,
            probe: cfg!(debug_assertions),
            in_step: true,
            clock: None,
        }
    }
}

/// Counts of a parallel run. They depend on timing: of one run `committed` and `sequential_cycles` share the work in
/// another way each time. What the run itself counts is in [`Counts`](crate::Counts).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Transitions that each worker executed, also those that were undone.
    pub executed: Vec<u64>,
    /// Nanoseconds that each worker was busy, if the caller gives a clock.
    pub busy: Vec<u64>,
    /// Nanoseconds that workers ran in all.
    pub elapsed: u64,
    /// Transitions of workers that were not undone; those of sequential cycles are not among them.
    pub committed: u64,
    /// Transitions and silent steps that were undone.
    pub rolled_back: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Anti-messages.
    pub anti_messages: u64,
    /// Cuts.
    pub gvt_rounds: u64,
    /// Cuts between which no worker executed anything.
    pub empty_rounds: u64,
    /// Largest size of saved states, summed over workers; what they own on the heap not counted.
    pub peak_saved_bytes: u64,
    /// Size of the states of all models, counted likewise.
    pub live_state_bytes: u64,
    /// Ticks beyond GVT to which workers might run ahead at the end; `i64::MAX` is no bound.
    pub window: i64,
    /// Cycles of the sequential executor: what only it may run, and where windows hold too little. A run that became
    /// sequential as a whole, see `no_lookahead`, is not counted here.
    pub sequential_cycles: u64,
    /// Models that went to other workers.
    pub migrated: u64,
    /// Times at which windows held too little, and the sequential executor went on for a while.
    pub poor_windows: u64,
    /// A unit that promises no delay, for which the conservative executor went from cycle to cycle,
    /// or one that does not keep its promise or cannot save its state, for which it ran sequentially.
    pub no_lookahead: Option<String>,
}

impl Statistics {
    /// Adds those of a later part of the same run.
    pub fn add(&mut self, later: &Self) {
        let each = [(&mut self.executed, &later.executed), (&mut self.busy, &later.busy)];
        for (sums, more) in each {
            sums.resize(sums.len().max(more.len()), 0);
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        self.elapsed += later.elapsed;
        self.committed += later.committed;
        self.rolled_back += later.rolled_back;
        self.rollbacks += later.rollbacks;
        self.anti_messages += later.anti_messages;
        self.gvt_rounds += later.gvt_rounds;
        self.empty_rounds += later.empty_rounds;
        self.sequential_cycles += later.sequential_cycles;
        self.migrated += later.migrated;
        self.poor_windows += later.poor_windows;
        self.peak_saved_bytes = self.peak_saved_bytes.max(later.peak_saved_bytes);
        self.live_state_bytes = self.live_state_bytes.max(later.live_state_bytes);
        self.window = later.window;
        self.no_lookahead = later.no_lookahead.clone().or(self.no_lookahead.take());
    }

    /// Undone transitions per rollback.
    pub fn mean_rollback_length(&self) -> f64 {
        self.rolled_back as f64 / self.rollbacks.max(1) as f64
    }

    /// Committed over executed transitions.
    pub fn efficiency(&self) -> f64 {
        let all = self.committed + self.rolled_back;
        if all == 0 { 1.0 } else { self.committed as f64 / all as f64 }
    }
}
