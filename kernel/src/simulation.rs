//! A simulation: the cycle of Parallel DEVS with superdense time, run sequentially.
//!
//! **The cycle** ([`Simulation::cycle`]) is rule R2 of `docs/rules.md`, step by step.
//! Everything else here decides when the next one is due, and for how long to go on.
use crate::{
    bag::{Envelope, NONE},
    blueprint::{Blueprint, NodeBody},
    call::Call,
    core::{Ahead, Core},
    coupled::Coupled,
    error::RunError,
    event_list::{EARLIEST, EventList, LATEST},
    flatten::flatten,
    homes::Homes,
    key::ModelKey,
    message::Message,
    moves::Moves,
    network::Network,
    options::Options,
    order::order,
    outbox::Outbox,
    parallel::{Apart, Deal},
    slab::{Left, Slabs},
    time::{Duration, Tag, TimeError},
};
use std::{collections::BTreeMap, sync::Arc};

/// Why a run returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The asked-for time is reached.
    Reached,
    /// Nothing is due any more: every model is passive.
    Idle,
    /// A model or an observer asked to stop.
    Stopped(String),
}

/// An input from outside, waiting for its cycle.
#[derive(Debug, Clone)]
pub(crate) struct Injection<M> {
    pub target: ModelKey,
    pub port: u16,
    pub value: M,
}

/// A model in the course of a run.
///
/// ```
/// use superdense_kernel::{Atomic, Coupled, Effects, Simulation, time::Duration};
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Clock { ticks: u32 }
/// impl Atomic<u32> for Clock {
///     fn time_advance(&self) -> Duration { Duration::from_ticks(10) }
///     fn internal(&mut self, _: &mut Effects<u32>) { self.ticks += 1 }
/// }
/// let mut top = Coupled::new();
/// top.add("clock", Clock { ticks: 0 });
/// let mut sim = Simulation::new(top, Default::default())?;
/// sim.run_through(100)?;
/// assert_eq!(sim.model::<Clock>("clock").unwrap().ticks, 10);
/// # Ok::<(), superdense_kernel::error::RunError>(())
/// ```
pub struct Simulation<M: Message> {
    pub(crate) core: Core<M>,
    pub(crate) slabs: Slabs<M>,
    pub(crate) injections: BTreeMap<i64, Vec<Injection<M>>>,
    /// Imminent models of the cycle that is staged.
    pub(crate) imminent: Vec<u32>,
    /// `core.now` before the cycle that is staged.
    pub(crate) before: Tag,
    pub(crate) staged: bool,
    /// Whether any cycle ran at `core.now.ticks`.
    pub(crate) ran: bool,
    /// No input may come before this tick.
    pub(crate) floor: i64,
    pub(crate) failed: Option<RunError>,
    /// Sum of the trace-hash contributions of removed models.
    pub(crate) retired: u64,
    pub(crate) plan_hash: u64,
    /// Whether the structure ever changed.
    pub(crate) restructured: bool,
    /// The structure of saved states that need not be built again, since it is the present one but for
    /// slots; `None` until saved, and after a change.
    pub(crate) shared: Option<Arc<Blueprint<M>>>,
    /// Which models share a worker.
    pub(crate) deal: Option<Deal>,
    /// Its parts without their models, as they were last.
    pub(crate) apart: Option<Apart<M>>,
}

impl<M: Message> std::fmt::Debug for Simulation<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Simulation({} models at {})", self.core.keys.len(), self.core.now)
    }
}

impl<M: Message> Simulation<M> {
    /// Builds the model and sets every first event.
    ///
    /// # Errors
    /// All mistakes of the wiring at once; a first time advance that is no duration.
    pub fn new(top: impl Into<Coupled<M>>, options: Options) -> Result<Self, RunError> {
        if !(EARLIEST..=LATEST).contains(&options.start) {
            return Err(beyond("the start", options.start));
        }
        let mut slabs = Slabs::new();
        let mut blueprint = Blueprint::new(top.into(), &mut slabs)?;
        slabs.kinds.iter_mut().for_each(|kind| kind.fit());
        let (network, keys) = flatten(&mut blueprint)?;
        let plan_hash = blueprint.digest(&network);
        let homes = Homes::new(&blueprint, &keys);
        let mut core = Core::new(network, homes, (blueprint, keys), options);
        core.reset_lists(slabs.may_be_silent());
        let mut this = Self { plan_hash, ..Self::of(core, slabs) };
        for m in 0..this.core.keys.len() as u32 {
            this.start_model(m, Tag::new(options.start, 0));
        }
        match this.core.error.take() {
            Some(error) => Err(error),
            None => Ok(this),
        }
    }

    /// At rest before the first cycle.
    fn of(core: Core<M>, slabs: Slabs<M>) -> Self {
        Self {
            before: core.now,
            floor: core.now.ticks,
            core,
            slabs,
            injections: BTreeMap::new(),
            imminent: Vec::new(),
            staged: false,
            ran: false,
            failed: None,
            retired: 0,
            plan_hash: 0,
            restructured: false,
            shared: None,
            deal: None,
            apart: None,
        }
    }

    /// A simulation of some models of this one, which keep their numbers, and of what is wired among
    /// them: without events, names and observers.
    pub(crate) fn part(&self, network: Network<M>, homes: Homes, slabs: Slabs<M>) -> Self {
        let whole = &self.core;
        let options = Options {
            resolution: whole.resolution,
            start: whole.now.ticks,
            event_list: whole.list.kind(),
            guards: whole.guards,
            ties: None,
        };
        let names = (Blueprint::empty(Vec::new(), 0), whole.keys.clone());
        let mut core = Core::new(network, homes, names, options);
        core.now = whole.now;
        core.list.reset(core.keys.len());
        core.silent.reset(if slabs.may_be_silent() { core.keys.len() } else { 0 });
        Self { ran: self.ran, ..Self::of(core, slabs) }
    }

    /// Rule R8: the first event of a model that exists from `now` on.
    pub(crate) fn start_model(&mut self, m: u32, now: Tag) {
        let core = &mut self.core;
        let NodeBody::Atomic(a) = &core.blueprint.nodes[core.keys[m as usize]].body else { return };
        let key = core.keys[m as usize];
        let elapsed = core.blueprint.elapsed.get(&key).copied().unwrap_or(Duration::ZERO);
        let last = now.ticks.saturating_sub(elapsed.ticks());
        let kind = &mut self.slabs.kinds[a.kind as usize];
        let begun = Call::of(m, || kind.start(a.slot, last, core.resolution));
        let (advance, silent) = match begun {
            Ok(due) => due,
            Err(source) => {
                let error = RunError::Time { path: core.path(m), at: now, source };
                core.error.get_or_insert(error);
                return;
            }
        };
        if advance.ticks() < 0 {
            core.refuse_advance(m, advance);
        } else if elapsed > advance || elapsed.ticks() < 0 {
            let (path, elapsed) = (core.path(m), elapsed.ticks());
            let error = RunError::BadElapsed { path, elapsed, advance: advance.ticks() };
            core.error.get_or_insert(error);
        } else if !advance.is_infinite() {
            self.enter(m, now, Duration::from_ticks(advance.ticks() - elapsed.ticks()), silent);
        }
    }

    /// Enters the next event of a model that is in no list, in a finite time from now.
    pub(crate) fn enter(&mut self, m: u32, now: Tag, left: Duration, silent: bool) {
        let core = &mut self.core;
        match now.ticks.checked_add(left.ticks()) {
            Some(at) if silent => core.silent.schedule(m, at),
            // Before the first cycle of an instant, due now means (t, 0).
            Some(at) if left > Duration::ZERO || !self.ran => core.list.schedule(m, at),
            Some(_) => core.ready.push(m),
            None => drop(core.refuse_advance(m, left)),
        }
    }

    /// One cycle at `tag`: rule R2, with its letters. Without any transition there was no cycle.
    // Always inlined, with what it calls of this file: the loop of a run then keeps its state in
    // registers (a tenth of the instructions of *hold*), however many other callers there are.
    #[inline(always)]
    pub(crate) fn cycle(&mut self, tag: Tag) -> Result<bool, RunError> {
        // (a) imminent models.
        self.collect(tag)?;
        self.complete(None, &mut None)
    }

    /// The rest of a cycle whose imminent models are collected; with a `limit`, perhaps more cycles
    /// up to that, and it may leave those of one more, `taken` from the list at this tick.
    #[inline(always)]
    pub(crate) fn complete(
        &mut self,
        limit: Option<i64>,
        taken: &mut Option<i64>,
    ) -> Result<bool, RunError> {
        if self.alone(limit, taken) {
            return self.close(true);
        }
        // (b) λ on the state before the transition, (c) routing into bags.
        self.outputs();
        // (d) one transition of each imminent or influenced model, (e) its next event.
        let moved = self.transitions();
        // (f) changes of structure, (g) the cycle is told and forgotten.
        self.close(moved)
    }

    /// The cycle up to λ, for callers that go on by themselves.
    pub(crate) fn stage(&mut self, tag: Tag) -> Result<(), RunError> {
        self.collect(tag)?;
        self.outputs();
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn collect(&mut self, tag: Tag) -> Result<(), RunError> {
        if self.staged {
            return Ok(());
        }
        let core = &mut self.core;
        if tag.micro > core.guards.micro_steps {
            let models = core.ready.iter().take(10).map(|&m| core.path(m)).collect();
            let error = RunError::MicroSteps { limit: core.guards.micro_steps, at: tag, models };
            return Err(self.fail(error));
        }
        let imminent = &mut self.imminent;
        imminent.clear();
        if core.ready.is_empty() {
            let at = core.list.take(tag.ticks, &mut |m| imminent.push(m));
            debug_assert!(at.is_none_or(|at| at == tag.ticks), "{at:?} was left behind");
        } else {
            // The list was emptied up to here by the first cycle of this instant; what became due
            // at once since then went to `ready`.
            debug_assert!(core.list.next_time().is_none_or(|next| next > tag.ticks));
            std::mem::swap(imminent, &mut core.ready);
        }
        self.begin(tag);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn begin(&mut self, tag: Tag) {
        let core = &mut self.core;
        self.before = core.now;
        core.begin(tag);
        order(&mut self.imminent, &mut core.marks);
    }

    /// (b) to (e) for a single imminent model, when its output reaches at most one other; tells
    /// whether.
    ///
    /// **Why.** Models with timers of their own mostly fire one by one. Here nothing is merged, and
    /// when the output reaches nobody or one neighbour in the slab, the border to it is crossed
    /// once: a sixth of the instructions of *hold* and of *ring*. And it goes on from cycle to cycle
    /// up to `limit`, without crossing the border as long as they follow each other in one slab: a
    /// tenth of what is left of *hold*, a twentieth of *ring*, and an eighth of what networks of
    /// several kinds of models need.
    #[inline(always)]
    pub(crate) fn alone(&mut self, limit: Option<i64>, taken: &mut Option<i64>) -> bool {
        let [mut m] = self.imminent[..] else { return false };
        if self.staged || !self.injections.is_empty() {
            return false;
        }
        let core = &mut self.core;
        let slabs = &mut self.slabs.kinds;
        // Observers look on between cycles; silent units may find something before the next one.
        let limit = limit.filter(|_| !core.watched && core.silent.is_empty());
        let mut ahead = Ahead { limit, imminent: &mut self.imminent, taken: None, own: (m, 0) };
        let left = loop {
            let (run, _) = core.homes.run(m);
            core.enter(run.kind);
            let left = slabs[run.kind as usize].alone(run, m, &mut ahead, core);
            core.leave(run.kind);
            match left {
                Left::Nothing | Left::All => break left,
                Left::Next(next) => {
                    m = next;
                    continue;
                }
                Left::Other(other) | Left::Both(other) => {
                    let (theirs, _) = core.homes.run(other);
                    core.enter(theirs.kind);
                    slabs[theirs.kind as usize].influenced(theirs, other, core);
                    core.leave(theirs.kind);
                }
            }
            if let Left::Both(_) = left {
                core.enter(run.kind);
                let (own, outputs) = ahead.own;
                slabs[run.kind as usize].imminent(run, own, outputs, core);
                core.leave(run.kind);
            }
            if !core.silent.is_empty() {
                break Left::Nothing;
            }
            let Some(next) = core.next_alone(&mut ahead) else { break Left::Nothing };
            m = next;
        };
        *taken = ahead.taken;
        self.sent();
        !matches!(left, Left::All)
    }

    pub(crate) fn outputs(&mut self) {
        if self.staged {
            return;
        }
        send(&mut self.core, &mut self.slabs, &self.imminent);
        self.sent();
    }

    /// The outputs of the imminent models, and among them, in path order, what models elsewhere sent
    /// at this tag.
    pub(crate) fn outputs_among<'a>(&mut self, sent: impl Iterator<Item = &'a Envelope<M>>) {
        let core = &mut self.core;
        let mut rest = &self.imminent[..];
        let mut sent = sent.peekable();
        while let Some(source) = sent.peek().map(|envelope| envelope.source) {
            let (models, after) = rest.split_at(rest.partition_point(|&m| m < source));
            send(core, &mut self.slabs, models);
            rest = after;
            let mut out = Outbox::new(&mut core.bus, &core.network, core.now, core.resolution);
            while let Some(envelope) = sent.next_if(|envelope| envelope.source == source) {
                out.repeat(envelope.clone());
            }
        }
        send(core, &mut self.slabs, rest);
        self.sent();
    }

    /// Notes that every λ was called.
    #[inline(always)]
    fn sent(&mut self) {
        self.staged = true;
        if let Some((m, port)) = self.core.bus.bad_port.take() {
            let why = format!("sent to output port {port}, which it does not have");
            let error = RunError::Model { path: self.core.path(m), at: self.core.now, why };
            self.core.error.get_or_insert(error);
        }
    }

    /// The transitions of a staged cycle; tells whether there was any.
    pub(crate) fn transitions(&mut self) -> bool {
        // Here and not in `stage`: what comes between `emit` and `commit` joins the cycle (R10).
        if !self.injections.is_empty() {
            self.inject_due(self.core.now.ticks);
        }
        let core = &mut self.core;
        order(&mut core.bus.influenced, &mut core.marks);
        core.log_cursor = 0;
        let influenced = std::mem::take(&mut core.bus.influenced);
        let mut rest = Moves { imminent: &self.imminent, influenced: &influenced };
        let moved = rest.first().is_some();
        while let Some(first) = rest.first() {
            let (run, end) = core.homes.run(first);
            let moves = rest.split_off(end);
            core.enter(run.kind);
            self.slabs.kinds[run.kind as usize].transitions(run, moves, core);
            core.leave(run.kind);
        }
        core.bus.influenced = influenced;
        moved
    }

    /// Ends a cycle in which something `moved`, or nothing did.
    #[inline(always)]
    pub(crate) fn close(&mut self, moved: bool) -> Result<bool, RunError> {
        self.core.bus.clear();
        self.staged = false;
        let now = self.core.now;
        self.floor = now.ticks;
        if !moved {
            // All that came was dropped on its way: the tag stays free, as if it had not come.
            self.core.now = self.before;
            self.core.tags.as_mut().map(Vec::pop);
            return self.core.error.take().map_or(Ok(false), |error| Err(self.fail(error)));
        }
        self.core.counts.cycles += 1;
        self.ran = true;
        if !self.core.changes.is_empty() {
            self.restructure();
        }
        self.core.committed(now);
        if self.core.error.is_some() { self.failure() } else { Ok(true) }
    }

    #[cold]
    fn failure(&mut self) -> Result<bool, RunError> {
        self.core.error.take().map_or(Ok(true), |error| Err(self.fail(error)))
    }

    fn fail(&mut self, mut error: RunError) -> RunError {
        if let RunError::Zeno { path, why, .. } = &mut error
            && let Some(known) = self.restless(path)
        {
            *why = known;
        }
        // A stop is of no use any more.
        self.core.stop = None;
        self.failed = Some(error.clone());
        error
    }

    /// The tag of a cycle at `ticks`, given what already ran.
    pub(crate) fn tag_at(&self, ticks: i64) -> Tag {
        let now = self.core.now;
        if self.ran && ticks == now.ticks {
            Tag::new(ticks, now.micro + 1)
        } else {
            Tag::new(ticks, 0)
        }
    }

    /// The next cycle at or before tick `limit`, when nothing comes from outside before it.
    ///
    /// Silent units make their steps before `limit`, and an input may still come at any tick
    /// from [`Simulation::clock`] on.
    ///
    /// # Errors
    /// When silent steps fail.
    ///
    /// ```
    /// use superdense_kernel::{Atomic, Coupled, Simulation, time::{Duration, Tag}};
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct Clock;
    /// impl Atomic<u32> for Clock {
    ///     fn time_advance(&self) -> Duration { Duration::from_ticks(10) }
    /// }
    /// let mut top = Coupled::new();
    /// top.add("clock", Clock);
    /// let mut sim = Simulation::new(top, Default::default())?;
    /// assert_eq!(sim.next_within(9)?, None);
    /// assert_eq!(sim.next_within(10)?, Some(Tag::new(10, 0)));
    /// # Ok::<(), superdense_kernel::error::RunError>(())
    /// ```
    #[inline(always)]
    pub fn next_within(&mut self, limit: i64) -> Result<Option<Tag>, RunError> {
        self.healthy()?;
        if self.staged {
            let now = self.core.now;
            return Ok((now.ticks <= limit).then_some(now));
        }
        loop {
            let core = &mut self.core;
            if !core.ready.is_empty() {
                let tag = Tag::new(core.now.ticks, core.now.micro + 1);
                return Ok((core.now.ticks <= limit).then_some(tag));
            }
            let mut next = core.list.next_time().unwrap_or(i64::MAX);
            if let Some((&at, _)) = self.injections.first_key_value() {
                next = next.min(at);
            }
            if !core.silent.is_empty()
                && let Some(at) = core.silent.next_time()
                && at < next
                && at < limit
            {
                self.guarded(|this| this.silent_steps(at, next, limit))?;
                continue;
            }
            return Ok((next <= limit && next != i64::MAX).then(|| self.tag_at(next)));
        }
    }

    /// Lets the silent units that come first go on. Nothing can reach a unit before the next
    /// visible event, nor before the tick after another unit's silent step (R14: what is located
    /// from a tick on is due at least one tick later), nor before `limit`, at which an input from
    /// outside may still come (R10). What a step before `limit` finds is due by then or later.
    pub(crate) fn silent_steps(&mut self, at: i64, next: i64, limit: i64) -> Result<(), RunError> {
        let core = &mut self.core;
        self.imminent.clear();
        let units = &mut self.imminent;
        core.silent.take(at, &mut |m| units.push(m));
        order(units, &mut core.marks);
        let others = if units.len() > 1 { at } else { core.silent.next_time().unwrap_or(i64::MAX) };
        let bound = next.min(others.saturating_add(1)).min(limit);
        for &m in units.iter() {
            let (kind, slot) = core.homes.of(m);
            core.enter(kind);
            self.slabs.kinds[kind as usize].advance(m, slot, bound, core);
            core.leave(kind);
            core.refuse_early(m, at);
        }
        // Inputs may come from the earliest tick on that no unit has passed.
        let due = |time: Option<i64>| time.unwrap_or(i64::MAX);
        let earliest = due(core.list.next_time()).min(due(core.silent.next_time()));
        self.floor = self.floor.max(bound.min(earliest));
        match self.core.error.take() {
            Some(error) => Err(self.fail(error)),
            None => Ok(()),
        }
    }

    /// The tag of the next cycle; [`Tag::NEVER`] when nothing is due.
    ///
    /// Silent units go on until something is due, and [`Simulation::clock`] with them: where an
    /// input may come earlier, ask [`Simulation::next_within`].
    ///
    /// # Errors
    /// When silent steps fail.
    #[expect(clippy::should_implement_trait, reason = "next, emit, commit are the design's names")]
    pub fn next(&mut self) -> Result<Tag, RunError> {
        Ok(self.next_within(i64::MAX - 1)?.unwrap_or(Tag::NEVER))
    }

    /// The earliest tick at which something may be due, without letting silent units go on, and
    /// whether that is a silent step; `None` when nothing is due.
    pub fn earliest(&mut self) -> Option<(i64, bool)> {
        let core = &mut self.core;
        if self.staged || !core.ready.is_empty() {
            return Some((core.now.ticks, false));
        }
        let injected = self.injections.first_key_value().map(|(&at, _)| at);
        let visible = core.list.next_time().into_iter().chain(injected).min();
        match (visible, core.silent.next_time()) {
            (visible, Some(at)) if visible.is_none_or(|v| at < v) => Some((at, true)),
            (visible, _) => visible.map(|at| (at, false)),
        }
    }
}

/// λ of imminent models.
fn send<M: Message>(core: &mut Core<M>, slabs: &mut Slabs<M>, models: &[u32]) {
    let mut rest = models;
    while !rest.is_empty() {
        let (run, length) = core.run_of(rest);
        let (models, after) = rest.split_at(length);
        core.enter(run.kind);
        slabs.kinds[run.kind as usize].outputs(run, models, core);
        core.leave(run.kind);
        rest = after;
    }
}

/// A tick from outside that no event list holds.
pub(crate) fn beyond(path: &str, ticks: i64) -> RunError {
    let source = TimeError::Overflow { ticks, advance: 0 };
    RunError::Time { path: path.to_owned(), at: Tag::new(ticks, 0), source }
}

const _: () = assert!(NONE == u32::MAX);
