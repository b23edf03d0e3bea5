//! The hot half of a simulation: what a cycle does for one model.
use crate::{
    atomic::Atomic,
    blueprint::Blueprint,
    bus::Bus,
    call::Call,
    effects::Effects,
    error::RunError,
    event_list::{AnyEventList, EventList, HeapList},
    homes::{Homes, Run},
    key::ModelKey,
    located::Located,
    message::Message,
    meter::Meter,
    moves::{Moves, Stretch, count_before},
    network::Network,
    options::{Guards, Halt, Options, halted},
    order::Marks,
    outbox::Outbox,
    structure::Change,
    time::{Duration, Resolution, Tag, TimeError},
    trace::{Kind, Observer, link},
};
use std::{mem::forget, sync::Arc};

/// How far a slab may go on by itself, cycle after cycle of single models.
pub(crate) struct Ahead<'a> {
    /// The last tick, if it may at all: nothing is injected, nobody looks on between cycles, and no
    /// unit makes silent steps.
    pub limit: Option<i64>,
    /// The models of the cycle that is left to others, or those of the next one, if they are `taken`
    /// from the list.
    pub imminent: &'a mut Vec<u32>,
    /// When these are due.
    pub taken: Option<i64>,
    /// The imminent model of a cycle whose transition comes last, and the digest of what it sent.
    pub own: (u32, u64),
}

impl Ahead<'_> {
    /// Takes the models of the next cycle; the model, if it is a single one.
    #[inline(never)]
    fn take(&mut self, list: &mut AnyEventList, limit: i64) -> Option<(i64, u32)> {
        self.imminent.clear();
        let at = list.take(limit, &mut |m| self.imminent.push(m))?;
        if let [m] = self.imminent[..] {
            return Some((at, m));
        }
        self.taken = Some(at);
        None
    }
}

/// The next action after the silent steps of a single model.
pub(crate) enum Onward {
    /// The model's own event at this tick, before all others.
    Itself(i64),
    /// The earliest event of the list; nothing is silent.
    List,
    /// The loop of the run finds the next action.
    Leave,
}

/// The kernel's data of one model that a transition reads and writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cell {
    /// Tick of the last transition.
    pub last: i64,
    /// Trace-hash chain.
    pub chain: u64,
    /// Digest of what it sends in this cycle; from λ to its transition only.
    pub sent: u64,
}

/// A model in its slab, beside what is read and written with it.
pub(crate) struct Seat<A> {
    pub cell: Cell,
    pub model: A,
}

impl<A> Seat<A> {
    pub fn new(model: A) -> Self {
        Self { cell: Cell::default(), model }
    }
}

/// Counts of a run; deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Simulation cycles.
    pub cycles: u64,
    /// Internal transitions.
    pub internal: u64,
    /// External transitions.
    pub external: u64,
    /// Confluent transitions.
    pub confluent: u64,
    /// Messages delivered to atomic models.
    pub messages: u64,
}

impl Counts {
    /// Transitions of all kinds.
    pub fn transitions(&self) -> u64 {
        self.internal + self.external + self.confluent
    }

    #[inline(always)]
    fn of(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Internal => &mut self.internal,
            Kind::External => &mut self.external,
            Kind::Confluent => &mut self.confluent,
        }
    }

    /// Adds those of a later part of the same run.
    pub(crate) fn add(&mut self, later: Self) {
        self.cycles += later.cycles;
        self.internal += later.internal;
        self.external += later.external;
        self.confluent += later.confluent;
        self.messages += later.messages;
    }
}

pub(crate) struct Core<M: Message> {
    pub network: Network<M>,
    pub bus: Bus<M>,
    /// As saved states share it.
    pub blueprint: Arc<Blueprint<M>>,
    pub keys: Vec<ModelKey>,
    pub homes: Homes,
    /// Visible internal events.
    pub list: AnyEventList,
    /// Silent internal steps: the earliest tick at which each could make something due.
    pub silent: HeapList,
    /// Models due at the next micro-step.
    pub ready: Vec<u32>,
    pub now: Tag,
    pub resolution: Resolution,
    pub fx: Effects<M>,
    pub counts: Counts,
    pub guards: Guards,
    pub observers: Vec<Box<dyn Observer<M>>>,
    /// Work of outlets when the structure has changed.
    pub outlets: Vec<Finder<M>>,
    /// Whether an observer wants to hear of every cycle.
    pub watched: bool,
    /// Set from outside when the run is to stop.
    pub halt: Halt,
    pub meter: Option<Box<dyn Meter>>,
    pub error: Option<RunError>,
    pub stop: Option<String>,
    pub changes: Vec<(u32, Change<M>)>,
    /// Recent located events per model, for guard R11(b).
    pub located: Located,
    pub log_cursor: usize,
    pub marks: Marks,
    /// Tags of all cycles, where this is a part of a simulation.
    pub tags: Option<Vec<Tag>>,
}

impl<M: Message> Core<M> {
    /// Without events and observers, and without room in its lists.
    pub fn new(
        network: Network<M>,
        homes: Homes,
        (blueprint, keys): (Blueprint<M>, Vec<ModelKey>),
        options: Options,
    ) -> Self {
        let mut fx = Effects::new(options.resolution);
        fx.observed = false;
        Self {
            bus: Bus::new(&network, options.ties),
            network,
            blueprint: Arc::new(blueprint),
            keys,
            homes,
            list: AnyEventList::of(options.event_list),
            silent: HeapList::default(),
            ready: Vec::new(),
            now: Tag::new(options.start, 0),
            resolution: options.resolution,
            fx,
            counts: Counts::default(),
            guards: options.guards,
            observers: Vec::new(),
            outlets: Vec::new(),
            watched: false,
            halt: None,
            meter: None,
            error: None,
            stop: None,
            changes: Vec::new(),
            located: Located::default(),
            log_cursor: 0,
            marks: Marks::default(),
            tags: None,
        }
    }

    pub fn path(&self, model: u32) -> String {
        let key = self.keys.get(model as usize);
        // A part of a simulation knows no names.
        let key = key.filter(|&&key| self.blueprint.nodes.contains_key(key));
        key.map_or_else(|| "outside".into(), |&key| self.blueprint.path(key))
    }

    /// Empty event lists with room for all models; the silent one only if some need it.
    // Lists with at most one entry per model in a cycle get their room here, too. Doubling them in
    // the first cycles would leave the smaller ones behind, in the memory of a large model.
    pub fn reset_lists(&mut self, silent: bool) {
        let models = self.keys.len();
        self.list.reset(models);
        self.silent.reset(if silent { models } else { 0 });
        self.ready.reserve(models.saturating_sub(self.ready.len()));
        self.bus.reserve(models);
    }

    /// Tells the meter that models of a kind begin to work.
    #[inline(always)]
    pub fn enter(&mut self, kind: u16) {
        if let Some(meter) = &mut self.meter {
            meter.enter(kind);
        }
    }

    /// Tells the meter that they are through.
    #[inline(always)]
    pub fn leave(&mut self, kind: u16) {
        if let Some(meter) = &mut self.meter {
            meter.leave(kind);
        }
    }

    /// Goes on from the cycle of a single model to the next cycle, unless something is to be done
    /// in between. If that is not one of a single model, its models are left in `ahead`.
    #[inline(always)]
    pub fn next_alone(&mut self, ahead: &mut Ahead<'_>) -> Option<u32> {
        let limit = ahead.limit?;
        if self.asked() {
            return None;
        }
        if !self.ready.is_empty() {
            return self.next_ready();
        }
        let (at, m) = match self.list.take_alone(limit) {
            Some(next) => next,
            None => ahead.take(&mut self.list, limit)?,
        };
        self.go_on(Tag::new(at, 0));
        Some(m)
    }

    /// The next imminent model when the next cycle is a micro-step.
    // This is a call, so that the usual way does not get longer.
    #[inline(never)]
    fn next_ready(&mut self) -> Option<u32> {
        let [m] = self.ready[..] else { return None };
        if self.now.micro >= self.guards.micro_steps {
            return None;
        }
        self.ready.clear();
        self.go_on(Tag::new(self.now.ticks, self.now.micro + 1));
        Some(m)
    }

    /// Ends a cycle and begins the next one.
    #[inline(always)]
    pub fn go_on(&mut self, next: Tag) {
        self.bus.clear();
        self.counts.cycles += 1;
        self.begin(next);
    }

    /// A cycle begins.
    #[inline(always)]
    pub fn begin(&mut self, tag: Tag) {
        self.now = tag;
        self.fx.now = tag;
        if let Some(tags) = &mut self.tags {
            tags.push(tag);
        }
    }

    /// λ of imminent models of one kind.
    #[inline]
    pub fn outputs<A: Atomic<M>>(&mut self, run: Run, models: &[u32], seats: &mut [Seat<A>]) {
        let mut out = Outbox::new(&mut self.bus, &self.network, self.now, self.resolution);
        for &m in models {
            let Seat { cell, model } = &mut seats[run.slot(m)];
            out.of(m);
            Call::of(m, || model.output(&mut out));
            cell.sent = out.sum();
        }
    }

    /// λ of one model; the digest of what it sent.
    #[inline(always)]
    pub fn output<A: Atomic<M>>(&mut self, m: u32, model: &A) -> u64 {
        let mut out = Outbox::new(&mut self.bus, &self.network, self.now, self.resolution);
        out.of(m);
        Call::of(m, || model.output(&mut out));
        out.sum()
    }

    /// The one transition of each of these models in this cycle, and their next time advances.
    #[inline(always)]
    pub fn transitions<A: Atomic<M>>(&mut self, run: Run, moves: Moves<'_>, seats: &mut [Seat<A>]) {
        for stretch in moves {
            match stretch {
                Stretch::Internal(models) => self.each::<A, true, false>(run, models, seats),
                Stretch::External(models) => self.each::<A, false, true>(run, models, seats),
                Stretch::Confluent(models) => self.each::<A, true, true>(run, models, seats),
            }
        }
    }

    /// The transitions of models that are all imminent or not, and all influenced or not.
    #[inline(always)]
    fn each<A: Atomic<M>, const IMMINENT: bool, const INFLUENCED: bool>(
        &mut self,
        run: Run,
        models: &[u32],
        seats: &mut [Seat<A>],
    ) {
        // Data that is the same for all is read once, and counts are added up once.
        let (now, mut messages) = (self.now, 0);
        for &m in models {
            let seat = &mut seats[run.slot(m)];
            let sent = if IMMINENT { seat.cell.sent } else { 0 };
            messages += self.transition::<A, IMMINENT, INFLUENCED>(now, m, seat, sent);
        }
        self.counts.messages += messages;
        *self.counts.of(Kind::of(IMMINENT, INFLUENCED)) += models.len() as u64;
    }

    /// The transition of a single imminent model, which sent what has this digest.
    #[inline(always)]
    pub fn internal<A: Atomic<M>>(&mut self, m: u32, seat: &mut Seat<A>, sent: u64) {
        self.transition::<A, true, false>(self.now, m, seat, sent);
        self.counts.internal += 1;
    }

    /// The transition of a single model that something reaches, and that is not imminent.
    #[inline(always)]
    pub fn external<A: Atomic<M>>(&mut self, m: u32, seat: &mut Seat<A>) {
        self.counts.messages += self.transition::<A, false, true>(self.now, m, seat, 0);
        self.counts.external += 1;
    }

    /// One transition, and the next time advance; the number of messages.
    ///
    /// Always inlined, with [`Core::plan`]: each caller knows what it calls (a tenth of the
    /// instructions of *hold*).
    #[inline(always)]
    fn transition<A: Atomic<M>, const IMMINENT: bool, const INFLUENCED: bool>(
        &mut self,
        now: Tag,
        m: u32,
        Seat { cell, model }: &mut Seat<A>,
        sent: u64,
    ) -> u64 {
        let call = Call(m);
        let fx = &mut self.fx;
        let (mut messages, mut bag_sum) = (0, 0);
        if INFLUENCED {
            let (bag, sum) = self.bus.bag(m, now);
            (messages, bag_sum) = (bag.len() as u64, sum);
            if IMMINENT {
                model.confluent(&bag, fx);
            } else {
                model.external(Duration::between(cell.last, now.ticks), &bag, fx);
            }
        } else {
            model.internal(fx);
        }
        let kind = Kind::of(IMMINENT, INFLUENCED);
        cell.last = now.ticks;
        cell.chain = link(cell.chain, now, kind, bag_sum, sent);
        let silent = A::SILENT && model.is_silent();
        let advance = model.time_advance();
        forget(call);
        let next = self.plan::<A, IMMINENT>(m, now, advance, silent);
        if self.fx.raised {
            self.settle(m);
        }
        if self.bus.hears(m) {
            self.tell(m, kind, next);
        }
        messages
    }

    /// Enters the next event of a model; a bad advance becomes the run's error.
    #[inline(always)]
    fn plan<A: Atomic<M>, const IMMINENT: bool>(
        &mut self,
        m: u32,
        now: Tag,
        advance: Duration,
        silent: bool,
    ) -> Tag {
        let ticks = advance.ticks();
        if (ticks == 0 && !silent) || advance.is_infinite() {
            // An imminent model is in no list any more.
            if !IMMINENT {
                if !self.list.is_empty() {
                    self.list.cancel(m);
                }
                if A::SILENT {
                    self.silent.cancel(m);
                }
            }
            if ticks != 0 {
                return Tag::NEVER;
            }
            self.ready.push(m);
            return Tag { ticks: now.ticks, micro: now.micro + 1 };
        }
        match now.ticks.checked_add(ticks) {
            Some(at) if ticks >= 0 && at != i64::MAX => {
                if !A::SILENT {
                    // Many inputs leave the next event where it is.
                    if IMMINENT || self.list.time_of(m) != Some(at) {
                        self.list.schedule(m, at);
                    }
                } else if IMMINENT {
                    self.enlist(m, at, silent);
                } else {
                    self.list.cancel(m);
                    self.silent.cancel(m);
                    self.enlist(m, at, silent);
                }
                Tag::new(at, 0)
            }
            _ => self.refuse_advance(m, advance),
        }
    }

    /// Enters the next event of a model that is in no list.
    #[inline]
    fn enlist(&mut self, m: u32, at: i64, silent: bool) {
        if silent {
            self.silent.schedule(m, at);
        } else {
            self.list.schedule(m, at);
        }
    }

    #[cold]
    pub fn refuse_advance(&mut self, m: u32, advance: Duration) -> Tag {
        let (path, at) = (self.path(m), self.now);
        let ticks = advance.ticks();
        let error = if ticks < 0 {
            RunError::BadAdvance { path, at, value: advance.defect() }
        } else {
            let source = TimeError::Overflow { ticks: at.ticks, advance: ticks };
            RunError::Time { path, at, source }
        };
        self.error.get_or_insert(error);
        self.list.cancel(m);
        self.silent.cancel(m);
        Tag::NEVER
    }

    /// Silent steps of one model, up to a tick.
    pub fn advance<A: Atomic<M>>(&mut self, m: u32, seat: &mut Seat<A>, until: i64) {
        if let Some((at, silent)) = self.advanced(m, seat, until) {
            self.enlist(m, at, silent);
        }
    }

    /// Advances a model without entering its next event; gives its tick, and whether it is silent.
    #[inline]
    fn advanced<A: Atomic<M>>(
        &mut self,
        m: u32,
        seat: &mut Seat<A>,
        until: i64,
    ) -> Option<(i64, bool)> {
        let Seat { cell: Cell { last, .. }, model } = seat;
        let (last, bound) = (*last, Duration::between(*last, until));
        Call::of(m, || model.advance(bound, &mut self.fx));
        let (advance, silent) = (model.time_advance(), model.is_silent());
        if self.fx.raised {
            self.settle(m);
            self.refuse_changes(m);
        }
        if advance.is_infinite() {
            return None;
        }
        match last.checked_add(advance.ticks()) {
            Some(at) if advance.ticks() >= 0 && at != i64::MAX => {
                if silent && advance < bound {
                    let (path, at) = (self.path(m), Tag::new(at, 0));
                    self.error.get_or_insert(RunError::Stalled { path, at });
                }
                Some((at, silent))
            }
            _ => {
                self.refuse_advance(m, advance);
                None
            }
        }
    }

    /// The silent steps of a model that has just made a transition, if it is the only one that is
    /// silent: what [`Simulation::next_within`](crate::Simulation::next_within) would come to next.
    /// Events that come before all else are not entered: a lone unit needs no list.
    #[inline(always)]
    pub fn advance_alone<A: Atomic<M>>(
        &mut self,
        m: u32,
        seat: &mut Seat<A>,
        ahead: &Ahead<'_>,
    ) -> Onward {
        if self.silent.is_empty() {
            return Onward::List;
        }
        let Some(limit) = ahead.limit else { return Onward::Leave };
        if self.asked() || !self.ready.is_empty() || self.silent.len() != 1 {
            return Onward::Leave;
        }
        let Some(at) = self.silent.time_of(m) else { return Onward::Leave };
        let next = match &mut self.list {
            list if list.is_empty() => i64::MAX,
            list => list.next_time().unwrap_or(i64::MAX),
        };
        if at >= next || at >= limit {
            return Onward::Leave;
        }
        self.silent.cancel(m);
        let Some((found, silent)) = self.advanced(m, seat, next.min(limit)) else {
            return Onward::List;
        };
        if !silent && at < found && found < next && found <= limit && !self.asked() {
            return Onward::Itself(found);
        }
        self.enlist(m, found, silent);
        self.refuse_early(m, at);
        if silent { Onward::Leave } else { Onward::List }
    }

    /// An error if what silent steps from tick `at` on found is not after it.
    pub fn refuse_early(&mut self, m: u32, at: i64) {
        if self.list.time_of(m).is_some_and(|found| found <= at) {
            let (path, at) = (self.path(m), Tag::new(at, 0));
            self.error.get_or_insert(RunError::Early { path, at });
        }
    }

    /// Whether something is to be done before the next cycle.
    #[inline(always)]
    pub fn asked(&self) -> bool {
        self.error.is_some()
            || self.stop.is_some()
            || !self.changes.is_empty()
            || self.bus.bad_port.is_some()
            || halted(&self.halt).is_some()
    }

    /// Asks observers which models they want to hear of, once outlets know what leads to them.
    pub fn find_heard(&mut self) {
        self.outlets.iter().for_each(|find| find(self));
        let wanted = |&key: &ModelKey| self.observers.iter().any(|o| o.wants_transitions(key));
        let heard: Vec<bool> = self.keys.iter().map(wanted).collect();
        self.fx.observed = !self.observers.is_empty();
        self.watched = self.observers.iter().any(|o| o.wants_cycles());
        self.bus.heard = if heard.contains(&true) { heard } else { Vec::new() };
    }

    /// The first models of a sorted list that are neighbours in one slab, and how many.
    #[inline]
    pub fn run_of(&mut self, list: &[u32]) -> (Run, usize) {
        let (run, end) = self.homes.run(list[0]);
        (run, count_before(list, end))
    }
}

/// Finds what leads to an outlet.
pub(crate) type Finder<M> = Box<dyn Fn(&Core<M>) + Send>;
