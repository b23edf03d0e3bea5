//! Parts that live in other processes: their letters, the ends of windows, and models that come home, as bytes.
//!
//! **Homes.** Every rank has all models. While windows go on, those of other ranks are not run, so that their
//! states are old. When models come home, their owners tell the states to all. So between windows each rank
//! is the whole simulation: whatever looks at it or saves it, and whatever only the sequential executor may go
//! through, needs to know nothing of ranks.
use super::{
    layout::Layout,
    part::{Done, Letter, Mail, lock},
    ranks::{LostRank, Ranks},
};
use crate::{
    checkpoint::SavedSimulation,
    core::{Cell, Counts},
    error::RunError,
    event_list::EventList,
    message::Message,
    options::{Halt, halted},
    order::order,
    simulation::Simulation,
    snapshot::{decode, encode},
    time::Tag,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The end of a window on one rank, or on all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// Something only the sequential executor may go through.
    pub irregular: bool,
    /// A model that did not keep its promise.
    pub broken: Option<u32>,
    /// Transitions of the window that is told now.
    pub executed: u64,
    /// The next event of those parts that do not only listen, and of those that do.
    pub next: [Option<Tag>; 2],
    /// An observer of the first rank stops the run, for this reason.
    pub stopped: Option<String>,
    /// Somebody outside does.
    pub halted: Option<String>,
}

impl Report {
    /// Joins the report of another rank.
    pub(super) fn join(&mut self, other: Self) {
        self.irregular |= other.irregular;
        self.broken = self.broken.or(other.broken);
        self.executed += other.executed;
        for (mine, theirs) in self.next.iter_mut().zip(other.next) {
            *mine = [*mine, theirs].into_iter().flatten().min();
        }
        self.stopped = self.stopped.take().or(other.stopped);
        self.halted = self.halted.take().or(other.halted);
    }
}

/// How far observers were told when windows ended, which the first rank knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Told {
    pub now: Tag,
    pub ran: bool,
    pub counts: Counts,
    /// One of them stops the run, for this reason.
    pub stop: Option<String>,
    /// By rank, transitions and nanoseconds of work, of which each knows its own.
    pub work: [Vec<u64>; 2],
}

/// The models of a rank, ascending.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Home {
    states: Vec<Vec<u8>>,
    last: Vec<i64>,
    chain: Vec<u64>,
    visible: Vec<Option<i64>>,
    silent: Vec<Option<i64>>,
    located: Vec<(i64, u32)>,
    ready: Vec<u32>,
}

/// The path of a model that cannot be saved, and why.
pub(super) type Unsaved = (String, String);

/// The observers that a rank knows of, and its models.
pub(super) type Met = (Told, Result<Home, Unsaved>);

/// The other ranks of a run.
pub(super) trait Abroad<M: Message> {
    fn rank(&self) -> u32;

    /// The reason for which somebody outside stops the run.
    fn halted(&self) -> Option<String>;

    /// Exchanges letters.
    fn deliver(&mut self, mail: &Mail<M>) -> Result<(), LostRank>;

    /// Exchanges letters and reports at the end of a window, and gives the report of all; the first rank also gets
    /// what the others have done.
    fn close(
        &mut self,
        mail: &Mail<M>,
        report: Report,
        done: &[&mut Done<M>],
    ) -> Result<(Report, Vec<Done<M>>), LostRank>;

    /// Exchanges what was told, and models; by rank.
    fn meet(&mut self, told: Told, home: Result<Home, Unsaved>) -> Result<Vec<Met>, LostRank>;
}

/// The other ranks, if there are any.
pub(super) type Others<'a, M> = Option<&'a mut dyn Abroad<M>>;

/// Lends them.
pub(super) fn lend<'a, M: Message>(others: &'a mut Others<'_, M>) -> Others<'a, M> {
    match others {
        Some(others) => Some(&mut **others),
        None => None,
    }
}

/// Letters with the parts that they are for.
type Post<L> = Vec<(u32, L)>;
/// The end of a window, as a rank tells it.
type Closed<M> = (Report, Post<Letter<M>>, Vec<Done<M>>);

/// Bytes of other ranks by way of a transport.
pub(super) struct Link<'r> {
    ranks: &'r mut dyn Ranks,
    halt: &'r Halt,
    parcels: Vec<Vec<u8>>,
}

impl<'r> Link<'r> {
    pub(super) fn new(ranks: &'r mut dyn Ranks, halt: &'r Halt) -> Self {
        let parcels = vec![Vec::new(); ranks.ranks() as usize];
        Self { ranks, halt, parcels }
    }

    /// Packs a parcel for a rank.
    fn pack(&mut self, rank: u32, content: &impl Serialize) -> Result<(), LostRank> {
        let unfit = |e| LostRank { why: format!("what is for rank {rank} has no bytes: {e}") };
        self.parcels[rank as usize] = encode(content).map_err(unfit)?;
        Ok(())
    }

    /// Exchanges parcels, and gives what came from each other rank.
    fn exchange<T: DeserializeOwned>(&mut self) -> Result<Vec<(u32, T)>, LostRank> {
        let own = self.ranks.rank();
        self.parcels[own as usize].clear();
        self.ranks.exchange(&mut self.parcels)?;
        let others = (0..).zip(&self.parcels).filter(|(rank, _)| *rank != own);
        let read = |(rank, bytes): (u32, &Vec<u8>)| {
            let unread = |e| LostRank { why: format!("rank {rank} sent what cannot be read: {e}") };
            Ok((rank, decode(bytes).map_err(unread)?))
        };
        others.map(read).collect()
    }

    /// The letters for the parts of a rank, taken from the mail.
    fn letters<M: Message>(&self, mail: &Mail<M>, rank: u32) -> Post<Letter<M>> {
        let parts = (0..mail.len() as u32).filter(|part| part % self.ranks.ranks() == rank);
        let of =
            |part| lock(&mail[part as usize]).drain(..).map(move |l| (part, l)).collect::<Vec<_>>();
        parts.flat_map(of).collect()
    }
}

/// Puts letters into the mail.
fn put<M: Message>(mail: &Mail<M>, letters: Post<Letter<M>>) {
    for (part, letter) in letters {
        if let Some(mail) = mail.get(part as usize) {
            lock(mail).push(letter);
        }
    }
}

impl<M: Message + Serialize + DeserializeOwned> Abroad<M> for Link<'_> {
    fn rank(&self) -> u32 {
        self.ranks.rank()
    }

    fn halted(&self) -> Option<String> {
        halted(self.halt).map(str::to_owned)
    }

    fn deliver(&mut self, mail: &Mail<M>) -> Result<(), LostRank> {
        let own = self.ranks.rank();
        for rank in (0..self.ranks.ranks()).filter(|rank| *rank != own) {
            let letters = self.letters(mail, rank);
            self.pack(rank, &letters)?;
        }
        for (_, letters) in self.exchange()? {
            put(mail, letters);
        }
        Ok(())
    }

    fn close(
        &mut self,
        mail: &Mail<M>,
        report: Report,
        done: &[&mut Done<M>],
    ) -> Result<(Report, Vec<Done<M>>), LostRank> {
        let own = self.ranks.rank();
        for rank in (0..self.ranks.ranks()).filter(|rank| *rank != own) {
            let letters = self.letters(mail, rank);
            let done = if rank == 0 { done } else { &[] };
            self.pack(rank, &(&report, letters, done))?;
        }
        let mut all = report;
        let mut foreign = Vec::new();
        for (_, (report, letters, done)) in self.exchange::<Closed<M>>()? {
            all.join(report);
            put(mail, letters);
            foreign.extend(done);
        }
        Ok((all, foreign))
    }

    fn meet(&mut self, told: Told, home: Result<Home, Unsaved>) -> Result<Vec<Met>, LostRank> {
        let own = self.ranks.rank();
        self.pack(own, &(&told, &home))?;
        let packed = std::mem::take(&mut self.parcels[own as usize]);
        self.parcels.fill(packed);
        let mut all: Vec<(u32, Met)> = self.exchange()?;
        all.insert(own as usize, (own, (told, home)));
        Ok(all.into_iter().map(|(_, met)| met).collect())
    }
}

impl<M: Message> Simulation<M> {
    /// Exchanges models with other ranks after windows, if they are `wanted`, and learns what was told.
    pub(super) fn meet(
        &mut self,
        abroad: &mut dyn Abroad<M>,
        layout: &Layout,
        told: &mut Told,
        wanted: bool,
    ) -> Result<(), RunError> {
        let own = abroad.rank();
        let home = if wanted { self.home(layout, own) } else { Ok(Home::default()) };
        let (mut all, mut homes) = (Vec::new(), Vec::new());
        for (theirs, home) in abroad.meet(told.clone(), home)? {
            all.push(theirs);
            // Of several that cannot be saved, all ranks name the first one.
            homes.push(home.map_err(|(path, why)| self.unsaved(path, &why))?);
        }
        let mut work = [0, 1].map(|_| vec![0; all.len()]);
        for (sums, k) in work.iter_mut().zip(0..) {
            let each = all.iter().flat_map(|theirs: &Told| theirs.work[k].iter().enumerate());
            each.for_each(|(rank, did): (usize, &u64)| sums[rank] += did);
        }
        *told = all.swap_remove(0);
        told.work = work;
        if !wanted || told.stop.is_some() {
            return Ok(());
        }
        let others = (0..).zip(&homes).filter(|(rank, _)| *rank != own);
        for (rank, home) in others {
            self.take_in(layout.of_worker(rank).collect(), home)?;
        }
        let core = &mut self.core;
        order(&mut core.ready, &mut core.marks);
        Ok(())
    }

    /// After sequential cycles, through which each rank went by itself: all stop where an observer of the first one
    /// stops, for which those that went further go back to a saved state.
    pub(super) fn agree(
        &mut self,
        others: Others<'_, M>,
        saved: Option<&SavedSimulation<M>>,
    ) -> Result<(), RunError> {
        let Some(abroad) = others else { return Ok(()) };
        let (now, stop) = (self.core.now, self.core.stop.clone());
        let work = Default::default();
        let told = Told { now, ran: self.ran, counts: self.core.counts, stop, work };
        let (told, _) = abroad.meet(told, Ok(Home::default()))?.swap_remove(0);
        if told.now != now
            && let Some(saved) = saved
        {
            self.again(saved, told.ran.then_some(told.now))?;
        }
        self.core.stop = told.stop;
        Ok(())
    }

    /// A model that cannot take part in a run over ranks.
    pub(super) fn unsaved(&self, path: String, why: &str) -> RunError {
        let why = format!(
            "its state cannot be saved ({why}), and models of a run over ranks come together by saved states; run it \
             without ranks"
        );
        RunError::Model { path, at: self.core.now, why }
    }

    /// The models of a rank.
    fn home(&self, layout: &Layout, rank: u32) -> Result<Home, Unsaved> {
        let core = &self.core;
        let mut home = Home::default();
        for m in layout.of_worker(rank) {
            let (kind, slot) = core.homes.of(m);
            let kind = &self.slabs.kinds[kind as usize];
            home.states.push(kind.to_bytes(slot).map_err(|e| (core.path(m), e.to_string()))?);
            let Cell { last, chain, .. } = kind.cell(slot);
            home.last.push(last);
            home.chain.push(chain);
            home.visible.push(core.list.time_of(m));
            home.silent.push(core.silent.time_of(m));
            home.located.push(core.located.get(m));
        }
        let mine = |m: &&u32| layout.is_of(layout.parts[**m as usize], rank);
        home.ready = core.ready.iter().filter(mine).copied().collect();
        Ok(home)
    }

    /// Takes over the models of another rank.
    fn take_in(&mut self, models: Vec<u32>, home: &Home) -> Result<(), RunError> {
        let sizes = [home.last.len(), home.chain.len(), home.visible.len(), home.silent.len()];
        if sizes != [models.len(); 4]
            || [home.states.len(), home.located.len()] != [models.len(); 2]
        {
            let why =
                "a rank has other models than it should; start all ranks with one scenario".into();
            return Err(RunError::Ranks { why });
        }
        for (k, &m) in models.iter().enumerate() {
            let (kind, slot) = self.core.homes.of(m);
            let kind = &mut self.slabs.kinds[kind as usize];
            if let Err(e) = kind.restore_bytes(slot, &home.states[k]) {
                return Err(self.unsaved(self.core.path(m), &e.to_string()));
            }
            let cell = Cell { last: home.last[k], chain: home.chain[k], sent: 0 };
            kind.set_cell(slot, cell);
            let core = &mut self.core;
            if let Some(at) = home.visible[k] {
                core.list.schedule(m, at);
            }
            if let Some(at) = home.silent[k] {
                core.silent.schedule(m, at);
            }
            core.located.set(m, home.located[k]);
        }
        let core = &mut self.core;
        core.ready.extend(home.ready.iter().filter(|m| models.binary_search(m).is_ok()));
        Ok(())
    }
}
