//! A part of a simulation: a simulation of its own models, and letters from and to other parts.
use super::layout::{Edge, Layout};
use crate::{
    bag::{Envelope, NONE},
    bus::Bus,
    core::Counts,
    effects::Effects,
    event_list::EventList,
    fact::Fact,
    key::ModelKey,
    message::{Message, digest_of, fold},
    network::Network,
    outbox::Outbox,
    parallel::ledger::{Ledger, Line},
    simulation::{Ended, Simulation},
    slab::{Kind as Slab, SavedState, Why},
    time::Tag,
    trace::{Kind, Observer, Site, Transition, Verdict},
};
use serde::{Deserialize, Serialize};
use slotmap::SecondaryMap;
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

/// A message on its way to another part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Letter<M> {
    pub tag: Tag,
    pub sent: Envelope<M>,
}

/// Messages that came for each part, and were not fetched yet.
pub(super) type Mail<M> = [Mutex<Vec<Letter<M>>>];

/// Something happened that only the sequential executor may go through: an error, a request to stop,
/// a change of structure.
#[derive(Debug)]
pub(super) struct Irregular;

/// The observer of a part: writes down what the real ones are told later.
struct Scribe<M> {
    ledger: Arc<Mutex<Ledger<M>>>,
    models: SecondaryMap<ModelKey, u32>,
}

impl<M: Message> Observer<M> for Scribe<M> {
    fn wants_transitions(&self, _: ModelKey) -> bool {
        true
    }
    fn wants_cycles(&self) -> bool {
        false
    }
    fn transition(&mut self, site: &Site<'_>, transition: &Transition<'_, M>) -> Verdict {
        let &Transition { tag, kind, ref bag, outputs, next } = transition;
        let mut line = Line::new(tag, self.models[site.key()], kind, 0);
        line.next = Some(next);
        let bag = bag.iter().flat_map(|bag| bag.iter());
        let bag = bag.map(|(port, value)| (port, value.clone()));
        let outputs = outputs.iter().cloned();
        lock(&self.ledger).add(line, bag, outputs, None);
        ControlFlow::Continue(())
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        let line = Line::new(tag, self.models[site.key()], Kind::Internal, 0);
        lock(&self.ledger).add(line, None, None, Some(fact.clone()));
        ControlFlow::Continue(())
    }
}

/// Messages that were promised over an edge in a window, and those that left over it; sums of
/// digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Account {
    promised: u64,
    kept: u64,
}

/// Which way messages leave a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// They will, and are told ahead.
    Promised,
    /// They did.
    Kept,
    /// In the middle of a cycle that all go through together.
    InStep,
}

/// Results of a part in a window; lists are emptied by those who read them.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Done<M> {
    pub counts: Counts,
    /// Of cycles in which models of its own were imminent, ascending: in all others what came over
    /// an edge had been sent.
    pub tags: Vec<Tag>,
    pub ledger: Ledger<M>,
}

impl<M> Default for Done<M> {
    fn default() -> Self {
        Self { counts: Counts::default(), tags: Vec::new(), ledger: Ledger::default() }
    }
}

pub(super) struct Part<M: Message> {
    pub sim: Simulation<M>,
    /// Ascending.
    pub models: Vec<u32>,
    pub irregular: bool,
    /// Nanoseconds of work.
    pub busy: u64,
    pub executed: u64,
    /// Of own models, ascending.
    edges: Vec<Edge>,
    /// The first of these by model, and one more.
    first: Vec<u32>,
    /// The models from which something is told ahead.
    announcing: Vec<u32>,
    /// The announcing models that move in the next window.
    soon: Vec<u32>,
    accounts: Vec<Account>,
    /// The edges with an account in this window.
    open: Vec<usize>,
    /// Messages that came, and were not gone through yet.
    letters: Vec<Letter<M>>,
    /// Messages for others at the end of a phase, by part.
    post: Vec<Vec<Letter<M>>>,
    ledger: Arc<Mutex<Ledger<M>>>,
    /// Of the window that is told next, and of a later one.
    pub done: Done<M>,
    fresh: Done<M>,
    /// For what is done in advance: messages, if anything is, effects, and a state of each kind of
    /// model.
    bus: Option<Bus<M>>,
    fx: Effects<M>,
    states: Vec<Option<SavedState>>,
}

impl<M: Message> Part<M> {
    /// A part without models yet. `heard`: whether there are observers, and of whom they want to
    /// hear.
    pub(super) fn new(
        sim: Simulation<M>,
        models: Vec<u32>,
        layout: &Layout,
        (observed, heard): (bool, &[bool]),
    ) -> Self {
        let mut sim = sim;
        let mine = |edge: &&Edge| models.binary_search(&edge.model).is_ok();
        let edges: Vec<Edge> = layout.edges.iter().filter(mine).cloned().collect();
        let before = |m| edges.partition_point(|edge| edge.model < m) as u32;
        let first = (0..=sim.core.network.models).map(before).collect();
        let ahead = edges.iter().filter(|edge| !edge.ahead.is_empty());
        let mut announcing: Vec<u32> = ahead.map(|edge| edge.model).collect();
        announcing.dedup();
        let post = (0..2 * layout.workers).map(|_| Vec::new()).collect();
        let ledger: Arc<Mutex<Ledger<M>>> = Arc::default();
        if observed {
            let own = models.iter().map(|&m| (sim.core.keys[m as usize], m)).collect();
            let scribe = Scribe { ledger: Arc::clone(&ledger), models: own };
            sim.core.observers.push(Box::new(scribe));
            sim.core.fx.observed = true;
        }
        if !heard.is_empty() {
            let mut own = vec![false; heard.len()];
            models.iter().for_each(|&m| own[m as usize] = heard[m as usize]);
            sim.core.bus.heard = own;
        }
        let bus = (!announcing.is_empty()).then(|| Bus::new(&sim.core.network, None));
        let fx = Effects { observed: false, ..Effects::new(sim.core.resolution) };
        let (accounts, states) = (vec![Account::default(); edges.len()], Vec::new());
        let (irregular, busy, executed) = (false, 0, 0);
        let (done, fresh) = Default::default();
        let (soon, open, letters) = Default::default();
        sim.core.tags = Some(Vec::new());
        Self {
            sim,
            models,
            irregular,
            busy,
            executed,
            edges,
            first,
            announcing,
            soon,
            accounts,
            open,
            letters,
            post,
            ledger,
            done,
            fresh,
            bus,
            fx,
            states,
        }
    }

    /// Takes the models of this part.
    pub(super) fn receive(&mut self, kinds: Vec<Box<dyn Slab<M>>>) {
        self.states.resize_with(kinds.len(), || None);
        self.sim.slabs.kinds = kinds;
    }

    /// The earliest tick at which something may happen; what silent steps from a tick on find is
    /// later than that (R14).
    pub(super) fn next(&mut self) -> Option<i64> {
        self.sim.earliest().map(|(at, silent)| at.saturating_add(i64::from(silent)))
    }

    /// Tells others what leaves before tick `end`, which is no later than the least delay allows:
    /// what models send until then follows from their states. They go ahead, and back.
    pub(super) fn announce(&mut self, end: i64, mail: &Mail<M>) -> Result<(), Irregular> {
        // Without an event of its own a model sends nothing, and of most that is all to ask.
        let mut soon = std::mem::take(&mut self.soon);
        self.sim.core.list.pending_before(end, &self.announcing, &mut soon);
        for &model in &soon {
            if self.sends_away(model, end) {
                self.preview(model, end)?;
            }
        }
        soon.clear();
        self.soon = soon;
        self.hand_over(mail);
        Ok(())
    }

    /// Whether something may leave over one of its edges before tick `end`.
    fn sends_away(&self, model: u32, end: i64) -> bool {
        let (kind, slot) = self.sim.core.homes.of(model);
        let slab = &self.sim.slabs.kinds[kind as usize];
        let last = slab.cell(slot).last;
        self.edges[self.edges_of(model)].iter().any(|edge| {
            let earliest = || slab.earliest_output(slot, edge.port).ticks();
            !edge.ahead.is_empty() && last.saturating_add(earliest()) < end
        })
    }

    /// Where the edges of a model are.
    fn edges_of(&self, model: u32) -> std::ops::Range<usize> {
        self.first[model as usize] as usize..self.first[model as usize + 1] as usize
    }

    /// The edge over which a message leaves.
    fn edge_of(&self, sent: &Envelope<M>) -> Option<usize> {
        self.edges_of(sent.source).find(|&k| self.edges[k].port == sent.port)
    }

    /// Gives letters to those who are to get them.
    fn hand_over(&mut self, mail: &Mail<M>) {
        for (letters, to) in self.post.iter_mut().zip(mail) {
            if letters.is_empty() {
                continue;
            }
            let mut to = lock(to);
            if to.is_empty() {
                std::mem::swap(&mut *to, letters);
            } else {
                to.append(letters);
            }
        }
    }

    /// Posts what left.
    fn send_off(&mut self, how: Leave) {
        let mut away = std::mem::take(self.leaving(how));
        for (tag, sent) in away.drain(..) {
            let Some(k) = self.edge_of(&sent) else { continue };
            let Edge { ahead, behind, .. } = &self.edges[k];
            // Messages that others need not know before are not promised either.
            if how != Leave::InStep && !ahead.is_empty() {
                let account = &mut self.accounts[k];
                if *account == Account::default() {
                    self.open.push(k);
                }
                let promised = how == Leave::Promised;
                let sum = if promised { &mut account.promised } else { &mut account.kept };
                *sum = sum.wrapping_add(digest(&self.sim.core.network, tag, &sent));
            }
            let to = if how == Leave::Kept { behind } else { ahead };
            post(&mut self.post, to, tag, sent);
        }
        *self.leaving(how) = away;
    }

    /// The list of messages to be posted.
    fn leaving(&mut self, how: Leave) -> &mut Vec<(Tag, Envelope<M>)> {
        match &mut self.bus {
            Some(bus) if how == Leave::Promised => &mut bus.away,
            _ => &mut self.sim.core.bus.away,
        }
    }

    fn preview(&mut self, model: u32, end: i64) -> Result<(), Irregular> {
        let Some(at) = self.sim.core.list.time_of(model) else { return Ok(()) };
        let Some(bus) = &mut self.bus else { return Ok(()) };
        let mut tag = self.sim.tag_at(at);
        let (kind, slot) = self.sim.core.homes.of(model);
        let core = &self.sim.core;
        let (network, guards) = (&core.network, core.guards);
        let slab = &mut self.sim.slabs.kinds[kind as usize];
        let state = &mut self.states[kind as usize];
        match state {
            Some(state) => slab.save_over(slot, state).map_err(|_| Irregular)?,
            None => *state = Some(slab.save(slot).map_err(|_| Irregular)?),
        }
        while tag.ticks < end {
            if tag.micro > guards.micro_steps {
                return Err(Irregular);
            }
            let mut out = Outbox::new(bus, network, tag, core.resolution);
            out.of(model);
            slab.output_one(slot, &mut out);
            bus.clear();
            self.fx.now = tag;
            let (advance, _) = slab.transition_one(slot, Why::Internal, &mut self.fx);
            if self.fx.raised {
                self.fx = Effects { observed: false, ..Effects::new(core.resolution) };
            }
            tag = match advance.ticks() {
                0 => Tag::new(tag.ticks, tag.micro + 1),
                _ if advance.is_infinite() => break,
                ticks => Tag::new(tag.ticks.checked_add(ticks).ok_or(Irregular)?, 0),
            };
            if advance.ticks() < 0 {
                return Err(Irregular);
            }
        }
        if let Some(state) = state {
            slab.restore(slot, state).map_err(|_| Irregular)?;
        }
        self.send_off(Leave::Promised);
        Ok(())
    }

    /// Takes what came.
    pub(super) fn fetch(&mut self, me: u32, mail: &Mail<M>) {
        let mut came = lock(&mail[me as usize]);
        if self.letters.is_empty() {
            std::mem::swap(&mut self.letters, &mut *came);
        } else {
            self.letters.append(&mut came);
        }
    }

    /// All cycles up to tick `limit`, with the letters that were fetched for them.
    pub(super) fn run(&mut self, limit: i64, mail: &Mail<M>) -> Result<(), Irregular> {
        let mut letters = std::mem::take(&mut self.letters);
        letters.sort_by_key(|l| (l.tag, l.sent.source, l.sent.emission));
        let mut rest = &letters[..];
        while let Some(came) = rest.first().map(|letter| letter.tag) {
            let (now, later) = rest.split_at(rest.partition_point(|letter| letter.tag == came));
            rest = later;
            // Parts that only listen mostly have no events of their own.
            if self.sim.earliest().is_none_or(|(at, _)| at > came.ticks) {
                self.hear(came, now)?;
                continue;
            }
            self.alone(came.ticks.saturating_sub(1))?;
            while let Some(tag) = self.sim.next_within(came.ticks).map_err(|_| Irregular)?
                && tag < came
            {
                self.cycle(tag, &[])?;
            }
            self.cycle(came, now)?;
        }
        letters.clear();
        self.letters = letters;
        self.alone(limit)?;
        self.send_off(Leave::Kept);
        self.hand_over(mail);
        Ok(())
    }

    /// All cycles up to a tick before which no letter comes.
    fn alone(&mut self, limit: i64) -> Result<(), Irregular> {
        match self.sim.run_within(limit) {
            Ok(Ended::Stopped(_)) | Err(_) => Err(Irregular),
            Ok(_) => Ok(()),
        }
    }

    fn cycle(&mut self, tag: Tag, now: &[Letter<M>]) -> Result<(), Irregular> {
        self.sim.collect(tag).map_err(|_| Irregular)?;
        self.complete(now)
    }

    /// A cycle in which no model of its own is imminent.
    fn hear(&mut self, tag: Tag, now: &[Letter<M>]) -> Result<(), Irregular> {
        self.sim.imminent.clear();
        self.sim.begin(tag);
        self.complete(now)
    }

    fn complete(&mut self, now: &[Letter<M>]) -> Result<(), Irregular> {
        let sim = &mut self.sim;
        sim.outputs_among(now.iter().map(|letter| &letter.sent));
        let heard = sim.imminent.is_empty();
        if self.close()? && heard {
            // The sender counts the cycle.
            self.sim.core.tags.as_mut().map(Vec::pop);
        }
        Ok(())
    }

    /// The rest of a cycle whose messages are all there; whether anything moved.
    fn close(&mut self) -> Result<bool, Irregular> {
        let sim = &mut self.sim;
        let moved = sim.transitions();
        if sim.core.asked() {
            return Err(Irregular);
        }
        sim.close(moved).map_err(|_| Irregular)
    }

    /// The tag of the next cycle of own models, where none makes silent steps.
    pub(super) fn tag(&mut self) -> Option<Tag> {
        let core = &mut self.sim.core;
        if !core.ready.is_empty() {
            return Some(Tag::new(core.now.ticks, core.now.micro + 1));
        }
        core.list.next_time().map(|at| self.sim.tag_at(at))
    }

    /// λ of the cycle at `tag`, if own models are imminent, with letters of it.
    pub(super) fn emit(&mut self, tag: Tag, mail: &Mail<M>) -> Result<(), Irregular> {
        if self.tag() != Some(tag) {
            return Ok(());
        }
        self.sim.stage(tag).map_err(|_| Irregular)?;
        self.send_off(Leave::InStep);
        self.hand_over(mail);
        Ok(())
    }

    /// The transitions of that cycle, also of models that letters reach.
    pub(super) fn commit(&mut self, tag: Tag, me: u32, mail: &Mail<M>) -> Result<(), Irregular> {
        let mut letters = std::mem::take(&mut *lock(&mail[me as usize]));
        let sim = &mut self.sim;
        if letters.is_empty() && !sim.staged {
            return Ok(());
        }
        sim.collect(tag).map_err(|_| Irregular)?;
        if !letters.is_empty() {
            letters.sort_by_key(|l| (l.sent.source, l.sent.emission));
            let core = &mut sim.core;
            // They come after messages of own models, wherever their sources are.
            core.bus.disordered = true;
            let mut out = Outbox::new(&mut core.bus, &core.network, tag, core.resolution);
            letters.drain(..).for_each(|letter| out.repeat(letter.sent));
        }
        self.close().map(drop)
    }

    /// Puts what was done in this window where it is told and counted, or, if it is told `later`,
    /// what was done in the one before; a model that did not keep its promise in this one.
    pub(super) fn finish(&mut self, later: bool) -> Option<u32> {
        let done = &mut self.done;
        if later {
            std::mem::swap(done, &mut self.fresh);
        }
        let done = if later { &mut self.fresh } else { done };
        done.counts = std::mem::take(&mut self.sim.core.counts);
        self.executed += done.counts.transitions();
        std::mem::swap(&mut done.ledger, &mut lock(&self.ledger));
        if let Some(tags) = &mut self.sim.core.tags {
            std::mem::swap(&mut done.tags, tags);
            tags.clear();
        }
        let mut broken = None;
        for k in self.open.drain(..) {
            let Account { promised, kept } = std::mem::take(&mut self.accounts[k]);
            broken = broken.or((promised != kept).then_some(self.edges[k].model));
        }
        broken
    }
}

pub(super) fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a message into the post for these parts.
fn post<M: Message>(post: &mut [Vec<Letter<M>>], to: &[u32], tag: Tag, sent: Envelope<M>) {
    let Some((&last, others)) = to.split_last() else { return };
    // It is the first of no chain yet.
    let letter = Letter { tag, sent: Envelope { next: NONE, ..sent } };
    for &part in others {
        post[part as usize].push(letter.clone());
    }
    post[last as usize].push(letter);
}

/// A digest of a message and its tag.
fn digest<M: Message>(network: &Network<M>, tag: Tag, sent: &Envelope<M>) -> u64 {
    let path = network.senders[sent.source as usize].path;
    let identity = crate::message::identity(path, sent.port, sent.emission);
    let when = (tag.ticks as u64).rotate_left(20) ^ u64::from(tag.micro);
    // Not zero at the start: what is sent then would count for nothing.
    fold(when, digest_of(&sent.value, identity))
}
