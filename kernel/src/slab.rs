//! Slabs: equal models side by side, behind one dynamic border per kind.
//!
//! A cycle crosses the border once per run of neighbours of one kind; inside, every call is
//! static.
use crate::{
    atomic::Atomic,
    bag::{Bag, NONE},
    core::{Ahead, Cell, Core, Onward, Seat},
    effects::Effects,
    error::BuildErrors,
    event_list::EventList,
    homes::Run,
    key::ModelKey,
    message::Message,
    moves::Moves,
    nursery::Placed,
    outbox::Outbox,
    snapshot::SnapshotError,
    time::{Duration, Resolution, Tag, TimeError},
    translation::Translation,
};
use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
};

/// A single model on its way into a slab.
pub(crate) trait Erased<M: Message>: Send {
    /// The part of its first time advance that has passed at the start (rule R8).
    fn elapsed(&self) -> Duration;
    fn place(self: Box<Self>, slabs: &mut Slabs<M>) -> Placed;
}

impl<M: Message, A: Atomic<M>> Erased<M> for (A, Duration) {
    fn elapsed(&self) -> Duration {
        self.1
    }
    fn place(self: Box<Self>, slabs: &mut Slabs<M>) -> Placed {
        slabs.place(self.0)
    }
}

pub(crate) type SavedState = Box<dyn Any + Send>;

/// All models of one type.
pub(crate) trait Kind<M: Message>: Send {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn name(&self) -> &'static str;
    /// A model begins: its last transition counts as made at a tick. Returns its first time advance,
    /// and whether that is a silent step.
    fn start(
        &mut self,
        slot: u32,
        last: i64,
        resolution: Resolution,
    ) -> Result<(Duration, bool), TimeError>;
    /// Tells a model of a change that was refused.
    fn refused(&mut self, slot: u32, change: &str, why: &BuildErrors);
    fn cell(&self, slot: u32) -> Cell;
    fn set_cell(&mut self, slot: u32, cell: Cell);
    /// Whether models of this kind may make silent steps.
    /// The time advance of a model, and whether that is to a silent step.
    fn due(&self, slot: u32) -> (Duration, bool);
    /// How many input and output ports a model has.
    fn ports(&self, slot: u32) -> (u16, u16);
    fn may_be_silent(&self) -> bool;
    fn outputs(&mut self, run: Run, models: &[u32], core: &mut Core<M>);
    fn transitions(&mut self, run: Run, moves: Moves<'_>, core: &mut Core<M>);
    /// λ of one model, and as many transitions as that lets this slab make; when that is all, so
    /// on with the cycles `ahead`, as long as they are this slab's. Tells what is left.
    fn alone(&mut self, run: Run, model: u32, ahead: &mut Ahead<'_>, core: &mut Core<M>) -> Left;
    /// The transition of a model that is imminent, has sent `outputs`, and that nothing reaches.
    fn imminent(&mut self, run: Run, model: u32, outputs: u64, core: &mut Core<M>);
    /// The transition of a model that is not imminent and that something reaches.
    fn influenced(&mut self, run: Run, model: u32, core: &mut Core<M>);
    fn advance(&mut self, model: u32, slot: u32, until: i64, core: &mut Core<M>);
    fn probe(&self, slot: u32, port: u16, elapsed: Duration) -> Option<M>;
    fn explain(&self, slot: u32, port: u16, elapsed: Duration) -> Option<String>;
    fn note(&mut self, slot: u32, ports: &[u16]) -> bool;
    fn take_notes(&mut self, slot: u32, until: Option<Duration>) -> Option<Box<dyn Any>>;
    fn state_digest(&self, slot: u32, elapsed: Duration) -> u64;
    fn restless(&self, slot: u32) -> Option<String>;
    fn remark(&mut self, slot: u32) -> Option<String>;
    fn statistics(&self, slot: u32, elapsed: Duration) -> Vec<(&'static str, u64)>;
    fn lookahead(&self, slot: u32, port: u16) -> Duration;
    fn earliest_output(&self, slot: u32, port: u16) -> Duration;
    fn model(&self, slot: u32) -> &dyn Any;
    fn owner(&mut self, slot: u32) -> &mut ModelKey;
    /// Gives back what the build reserved too much.
    fn fit(&mut self);
    /// Removes a model; the last one takes its slot. Returns the owner of the moved model.
    fn remove(&mut self, slot: u32) -> Option<ModelKey>;
    fn save(&self, slot: u32) -> Result<SavedState, SnapshotError>;
    /// Saves into a state of this kind that is no longer needed.
    fn save_over(&self, slot: u32, saved: &mut SavedState) -> Result<(), SnapshotError>;
    fn restore(&mut self, slot: u32, saved: &SavedState) -> Result<(), SnapshotError>;
    fn to_bytes(&self, slot: u32) -> Result<Vec<u8>, SnapshotError>;
    fn restore_bytes(&mut self, slot: u32, bytes: &[u8]) -> Result<(), SnapshotError>;
    fn push_bytes(&mut self, bytes: &[u8]) -> Result<u32, SnapshotError>;
    fn push_saved(&mut self, saved: &SavedState) -> Result<u32, SnapshotError>;
    /// λ of one model.
    fn output_one(&self, slot: u32, out: &mut Outbox<'_, M>);
    /// One transition of one model, without any bookkeeping; its next time advance, and whether
    /// that is a silent step.
    fn transition_one(
        &mut self,
        slot: u32,
        why: Why<'_, M>,
        fx: &mut Effects<M>,
    ) -> (Duration, bool);
    /// Moves the models out to slabs of their own, by the number of the part for each slot.
    fn deal(&mut self, part_of: &[u32], parts: u32) -> Vec<Box<dyn Kind<M>>>;
    /// Takes back what [`Kind::deal`] gave away.
    fn collect(&mut self, part_of: &[u32], parts: Vec<Box<dyn Kind<M>>>);
}

/// The rest of a cycle with one imminent model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// The cycle that has begun after it, of this single model.
    Next(u32),
    /// The transition of the one model that is reached.
    Other(u32),
    /// The transition of the model that is reached, then of the imminent one, [`Ahead::own`].
    Both(u32),
    /// All transitions.
    All,
}

/// Which of its functions a model is to execute.
pub(crate) enum Why<'a, M> {
    Internal,
    External(Duration, Bag<'a, M>),
    Confluent(Bag<'a, M>),
    /// Silent steps up to the bound.
    Silent(Duration),
}

pub(crate) struct Slab<A> {
    seats: Vec<Seat<A>>,
    owners: Vec<ModelKey>,
}

/// Models that, with what belongs to them, do not fit into a cache of one core.
const LARGE: usize = 8192;

impl<A> Slab<A> {
    /// Reads what the model reads and writes that is likely to follow on the present one.
    ///
    /// **Why.** The timers of a large model fire in no order of memory. What is asked for now comes
    /// while the present model is busy: *hold* with 65 536 models is faster by an eighth.
    #[inline(never)]
    fn fetch<M: Message>(&self, run: Run, core: &Core<M>)
    where
        A: Atomic<M>,
    {
        if let Some((later, at)) = core.list.glance()
            && core.homes.is_neighbour(later)
        {
            let Seat { cell, model } = &self.seats[run.slot(later)];
            std::hint::black_box(model.time_advance().ticks() ^ at ^ cell.last);
        }
    }

    /// The transition of a model that is not imminent and that something reaches.
    // Never inlined: it would make the way of models that reach nobody longer.
    #[inline(never)]
    fn reached<M: Message>(&mut self, run: Run, model: u32, core: &mut Core<M>)
    where
        A: Atomic<M>,
    {
        core.external(model, &mut self.seats[run.slot(model)]);
    }
}

impl<M: Message, A: Atomic<M>> Kind<M> for Slab<A> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    fn name(&self) -> &'static str {
        type_name::<A>()
    }
    fn start(
        &mut self,
        slot: u32,
        last: i64,
        resolution: Resolution,
    ) -> Result<(Duration, bool), TimeError> {
        let Seat { cell, model } = &mut self.seats[slot as usize];
        *cell = Cell { last, chain: 0, sent: 0 };
        model.init(resolution)?;
        Ok((model.time_advance(), A::SILENT && model.is_silent()))
    }
    fn refused(&mut self, slot: u32, change: &str, why: &BuildErrors) {
        self.seats[slot as usize].model.refused(change, why);
    }
    fn cell(&self, slot: u32) -> Cell {
        self.seats[slot as usize].cell
    }
    fn set_cell(&mut self, slot: u32, cell: Cell) {
        self.seats[slot as usize].cell = cell;
    }
    fn due(&self, slot: u32) -> (Duration, bool) {
        let model = &self.seats[slot as usize].model;
        (model.time_advance(), A::SILENT && model.is_silent())
    }
    fn ports(&self, slot: u32) -> (u16, u16) {
        let model = &self.seats[slot as usize].model;
        (model.inputs(), model.outputs())
    }
    fn may_be_silent(&self) -> bool {
        A::SILENT
    }
    fn outputs(&mut self, run: Run, models: &[u32], core: &mut Core<M>) {
        core.outputs(run, models, &mut self.seats);
    }
    fn alone(&mut self, run: Run, model: u32, ahead: &mut Ahead<'_>, core: &mut Core<M>) -> Left {
        let mut model = model;
        loop {
            let sent = core.output(model, &self.seats[run.slot(model)].model);
            core.log_cursor = 0;
            // In path order, as always.
            let mut later = NONE;
            if let Some(&other) = core.bus.influenced.first() {
                if core.bus.influenced.len() > 1 || other == model {
                    ahead.imminent.clear();
                    ahead.imminent.push(model);
                    self.seats[run.slot(model)].cell.sent = sent;
                    return Left::All;
                }
                if other > model {
                    later = other;
                } else if core.homes.is_neighbour(other) {
                    self.reached(run, other, core);
                } else {
                    ahead.own = (model, sent);
                    return Left::Both(other);
                }
            }
            core.internal(model, &mut self.seats[run.slot(model)], sent);
            if later != NONE {
                if !core.homes.is_neighbour(later) {
                    return Left::Other(later);
                }
                self.reached(run, later, core);
            }
            if A::SILENT {
                match core.advance_alone(model, &mut self.seats[run.slot(model)], ahead) {
                    Onward::Itself(at) => {
                        core.go_on(Tag::new(at, 0));
                        continue;
                    }
                    Onward::List => {}
                    Onward::Leave => return Left::Nothing,
                }
            }
            let Some(next) = core.next_alone(ahead) else { return Left::Nothing };
            if !core.homes.is_neighbour(next) {
                return Left::Next(next);
            }
            model = next;
            if core.keys.len() > LARGE {
                self.fetch(run, core);
            }
        }
    }
    fn imminent(&mut self, run: Run, model: u32, outputs: u64, core: &mut Core<M>) {
        core.internal(model, &mut self.seats[run.slot(model)], outputs);
    }
    fn influenced(&mut self, run: Run, model: u32, core: &mut Core<M>) {
        self.reached(run, model, core);
    }
    fn transitions(&mut self, run: Run, moves: Moves<'_>, core: &mut Core<M>) {
        core.transitions(run, moves, &mut self.seats);
    }
    fn advance(&mut self, model: u32, slot: u32, until: i64, core: &mut Core<M>) {
        core.advance(model, &mut self.seats[slot as usize], until);
    }
    fn probe(&self, slot: u32, port: u16, elapsed: Duration) -> Option<M> {
        self.seats[slot as usize].model.probe(port, elapsed)
    }
    fn explain(&self, slot: u32, port: u16, elapsed: Duration) -> Option<String> {
        self.seats[slot as usize].model.explain(port, elapsed)
    }
    fn note(&mut self, slot: u32, ports: &[u16]) -> bool {
        self.seats[slot as usize].model.note(ports)
    }
    fn take_notes(&mut self, slot: u32, until: Option<Duration>) -> Option<Box<dyn Any>> {
        self.seats[slot as usize].model.take_notes(until)
    }
    fn state_digest(&self, slot: u32, elapsed: Duration) -> u64 {
        self.seats[slot as usize].model.state_digest(elapsed)
    }
    fn restless(&self, slot: u32) -> Option<String> {
        self.seats[slot as usize].model.restless()
    }
    fn remark(&mut self, slot: u32) -> Option<String> {
        self.seats[slot as usize].model.remark()
    }
    fn statistics(&self, slot: u32, elapsed: Duration) -> Vec<(&'static str, u64)> {
        self.seats[slot as usize].model.statistics(elapsed)
    }
    fn lookahead(&self, slot: u32, port: u16) -> Duration {
        self.seats[slot as usize].model.lookahead(port)
    }
    fn earliest_output(&self, slot: u32, port: u16) -> Duration {
        self.seats[slot as usize].model.earliest_output(port)
    }
    fn model(&self, slot: u32) -> &dyn Any {
        &self.seats[slot as usize].model
    }
    fn owner(&mut self, slot: u32) -> &mut ModelKey {
        &mut self.owners[slot as usize]
    }
    fn fit(&mut self) {
        self.seats.shrink_to_fit();
        self.owners.shrink_to_fit();
    }
    fn remove(&mut self, slot: u32) -> Option<ModelKey> {
        self.seats.swap_remove(slot as usize);
        self.owners.swap_remove(slot as usize);
        self.owners.get(slot as usize).copied()
    }
    fn save(&self, slot: u32) -> Result<SavedState, SnapshotError> {
        Ok(Box::new(self.seats[slot as usize].model.save()?))
    }
    fn save_over(&self, slot: u32, saved: &mut SavedState) -> Result<(), SnapshotError> {
        match saved.downcast_mut::<A::Saved>() {
            Some(saved) => self.seats[slot as usize].model.save_over(saved),
            None => Err(SnapshotError::Corrupt("a state of another kind of model".into())),
        }
    }
    fn restore(&mut self, slot: u32, saved: &SavedState) -> Result<(), SnapshotError> {
        match saved.downcast_ref::<A::Saved>() {
            Some(saved) => self.seats[slot as usize].model.restore(saved),
            None => Err(SnapshotError::Corrupt("a state of another kind of model".into())),
        }
    }
    fn to_bytes(&self, slot: u32) -> Result<Vec<u8>, SnapshotError> {
        self.seats[slot as usize].model.to_bytes()
    }
    fn restore_bytes(&mut self, slot: u32, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.seats[slot as usize].model.restore_bytes(bytes)
    }
    fn push_bytes(&mut self, bytes: &[u8]) -> Result<u32, SnapshotError> {
        self.seats.push(Seat::new(A::from_bytes(bytes)?));
        self.owners.push(ModelKey::default());
        Ok(self.seats.len() as u32 - 1)
    }
    fn push_saved(&mut self, saved: &SavedState) -> Result<u32, SnapshotError> {
        let Some(saved) = saved.downcast_ref::<A::Saved>() else {
            return Err(SnapshotError::Corrupt("a state of another kind of model".into()));
        };
        self.seats.push(Seat::new(A::from_saved(saved)?));
        self.owners.push(ModelKey::default());
        Ok(self.seats.len() as u32 - 1)
    }
    fn output_one(&self, slot: u32, out: &mut Outbox<'_, M>) {
        self.seats[slot as usize].model.output(out);
    }
    fn transition_one(
        &mut self,
        slot: u32,
        why: Why<'_, M>,
        fx: &mut Effects<M>,
    ) -> (Duration, bool) {
        let model = &mut self.seats[slot as usize].model;
        match why {
            Why::Internal => model.internal(fx),
            Why::External(elapsed, bag) => model.external(elapsed, &bag, fx),
            Why::Confluent(bag) => model.confluent(&bag, fx),
            Why::Silent(bound) => model.advance(bound, fx),
        }
        (model.time_advance(), A::SILENT && model.is_silent())
    }
    fn deal(&mut self, part_of: &[u32], parts: u32) -> Vec<Box<dyn Kind<M>>> {
        let mut counts = vec![0; parts as usize];
        part_of.iter().for_each(|&part| counts[part as usize] += 1);
        let room = |count| Slab::<A> { seats: Vec::with_capacity(count), owners: Vec::new() };
        let mut dealt: Vec<Slab<A>> = counts.into_iter().map(room).collect();
        for (seat, &part) in self.seats.drain(..).zip(part_of) {
            dealt[part as usize].seats.push(seat);
        }
        dealt.into_iter().map(|slab| Box::new(slab) as Box<dyn Kind<M>>).collect()
    }
    fn collect(&mut self, part_of: &[u32], mut parts: Vec<Box<dyn Kind<M>>>) {
        let mut dealt: Vec<_> = Vec::new();
        for part in &mut parts {
            let slab = part.as_any_mut().downcast_mut::<Self>();
            let Some(slab) = slab else { unreachable!("slab of this type") };
            dealt.push(std::mem::take(&mut slab.seats).into_iter());
        }
        self.seats.extend(part_of.iter().filter_map(|&part| dealt[part as usize].next()));
    }
}

/// The slabs of a simulation.
pub(crate) struct Slabs<M: Message> {
    pub kinds: Vec<Box<dyn Kind<M>>>,
    by_type: HashMap<TypeId, u16>,
    /// How many models will come of types that have no slab yet.
    expected: HashMap<TypeId, usize>,
    recent: Option<(TypeId, u16)>,
    /// Translations that are only made during the run, as far as somebody told of them.
    pub declared: Vec<Translation<M>>,
}

impl<M: Message> Slabs<M> {
    pub(crate) fn new() -> Self {
        let (by_type, expected) = (HashMap::new(), HashMap::new());
        Self { kinds: Vec::new(), by_type, expected, recent: None, declared: Vec::new() }
    }

    /// Slabs that are there already, to which no model is added.
    pub(crate) fn of(kinds: Vec<Box<dyn Kind<M>>>) -> Self {
        Self { kinds, ..Self::new() }
    }

    /// Announces models of type `A`.
    pub(crate) fn expect<A: Atomic<M>>(&mut self, models: usize) {
        *self.expected.entry(TypeId::of::<A>()).or_default() += models;
    }

    /// The number of the slab for models of type `A`, made on first use.
    pub(crate) fn kind_of<A: Atomic<M>>(&mut self) -> u16 {
        let id = TypeId::of::<A>();
        if let Some((recent, kind)) = self.recent
            && recent == id
        {
            return kind;
        }
        let next = self.kinds.len() as u16;
        let kind = *self.by_type.entry(id).or_insert(next);
        if kind == next {
            let room = self.expected.remove(&id).unwrap_or(0);
            let (seats, owners) = (Vec::<Seat<A>>::with_capacity(room), Vec::with_capacity(room));
            self.kinds.push(Box::new(Slab { seats, owners }));
        }
        self.recent = Some((id, kind));
        kind
    }

    /// Whether any of the models may make silent steps.
    pub(crate) fn may_be_silent(&self) -> bool {
        self.kinds.iter().any(|kind| kind.may_be_silent())
    }

    /// Moves a model to the end of its slab.
    pub(crate) fn place<A: Atomic<M>>(&mut self, model: A) -> Placed {
        let kind = self.kind_of::<A>();
        let slab: &mut dyn Any = self.kinds[kind as usize].as_any_mut();
        let Some(slab) = slab.downcast_mut::<Slab<A>>() else { unreachable!("slab of this type") };
        let (inputs, outputs) = (model.inputs(), model.outputs());
        slab.seats.push(Seat::new(model));
        slab.owners.push(ModelKey::default());
        Placed { kind, slot: slab.seats.len() as u32 - 1, inputs, outputs }
    }

    pub(crate) fn set_owner(&mut self, kind: u16, slot: u32, key: ModelKey) {
        *self.kinds[kind as usize].owner(slot) = key;
    }
}
