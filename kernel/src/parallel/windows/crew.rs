//! Window after window: on threads, or in turn on this one.
use super::{
    abroad::{Abroad, Others, Report},
    layout::Layout,
    part::{Done, Letter, Mail, Part, lock},
    ranks::LostRank,
};
use crate::{
    message::{Message, fold},
    parallel::{
        Schedule, Settings, cuts::Alarm, meeting::Meeting, pace::Trial, speculation::speculate,
        telling::Telling, threads, timeline::Track,
    },
    time::Tag,
};
use std::sync::{Mutex, MutexGuard};

/// Why windows end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// The last tick is reached.
    Reached,
    /// Enough is done to save states anew.
    Renew,
    /// Windows hold too little.
    Poor,
    /// Something in the last window only the sequential executor may go through.
    Irregular,
    /// An observer stops the run.
    Stopped(String),
    /// A model did not keep its promise.
    Broken(u32),
    /// Somebody outside stops the run; all ranks have heard of it.
    Halted(String),
    /// A rank is lost.
    Lost(LostRank),
}

impl Ending {
    /// All is as the sequential run has it.
    pub(super) fn is_planned(&self) -> bool {
        matches!(self, Self::Reached | Self::Renew | Self::Poor | Self::Halted(_))
    }
}

/// Parts of a simulation between windows.
pub(super) struct Crew<'a, 't, M: Message> {
    pub layout: &'a Layout,
    /// Parts of this process that have models: first the workers' parts, then parts that only listen.
    pub parts: Vec<(u32, Mutex<Part<M>>)>,
    pub mail: Vec<Mutex<Vec<Letter<M>>>>,
    /// By worker.
    pub tracks: Vec<Track>,
    pub leader: Mutex<Leader<'t, M>>,
    /// Whether any part only listens: what is told is a window behind, too.
    pub late: bool,
}

/// Who looks at what a window came to, and says how far the next one goes.
pub(super) struct Leader<'t, M: Message> {
    pub telling: Telling<'t, M>,
    pub trial: Trial,
    /// The last tick of the stretch, and transitions after which models come home to be saved.
    pub limit: i64,
    enough: u64,
    /// The last tick of the present window, or the cycle that all go through.
    pub goal: Tag,
    /// The last tick of the window before.
    past: i64,
    pub windows: u64,
    /// Windows in which nothing happened.
    pub empty: u64,
    executed: u64,
    /// Ticks of a window.
    pub length: i64,
    /// The others hear at the end of a window that an observer stops the run.
    over_ranks: bool,
    /// Why windows end once those that only listen are where the others are.
    closing: Option<Ending>,
    ending: Option<Ending>,
}

/// A window, as parts go through it.
#[derive(Clone, Copy)]
struct Window {
    /// Its last tick, or the cycle that all go through.
    goal: Tag,
    /// The last tick of the one before, which those that only listen go through meanwhile.
    past: i64,
    /// Only these go on.
    closing: bool,
}

impl<M: Message> Crew<'_, '_, M> {
    /// How many parts do not only listen: the first ones.
    fn talking(&self) -> usize {
        self.parts.partition_point(|&(number, _)| number < self.layout.workers)
    }

    /// Parts that only listen are a window behind.
    fn is_behind(&self, i: usize) -> bool {
        i >= self.talking()
    }

    fn worker(&self, i: usize) -> u32 {
        self.parts[i].0 % self.layout.workers
    }

    fn phases(&self) -> [Phase; 2] {
        if self.layout.is_in_step() {
            [Phase::Emit, Phase::Commit]
        } else {
            [Phase::Announce, Phase::Work]
        }
    }

    /// A phase of one part in a window.
    fn phase(&self, i: usize, phase: Phase, window: Window, clock: Option<fn() -> u64>) {
        let Window { goal, past, closing } = window;
        let (number, part) = &self.parts[i];
        let (until, behind) = (goal.ticks, self.is_behind(i));
        if closing && !behind {
            return;
        }
        let mut part = lock(part);
        let (part, mail): (&mut Part<M>, &Mail<M>) = (&mut part, &self.mail);
        let start = clock.map(|clock| clock());
        let _mark = self.tracks[self.worker(i) as usize].batch(|| true);
        let done = speculate(|| match phase {
            // Messages that came in the window before, and nothing later.
            Phase::Announce if behind => {
                part.fetch(*number, mail);
                Ok(())
            }
            Phase::Announce => part.announce(until.saturating_add(1), mail),
            Phase::Work if behind => part.run(past, mail),
            Phase::Work => {
                part.fetch(*number, mail);
                part.run(until, mail)
            }
            Phase::Emit => part.emit(goal, mail),
            Phase::Commit => part.commit(goal, *number, mail),
        });
        part.irregular |= !matches!(done, Some(Ok(())));
        if let (Some(clock), Some(start)) = (clock, start) {
            part.busy += clock().saturating_sub(start);
        }
    }

    /// After a window: commits what all have gone through, and begins the next one, or ends.
    fn judge(&self, abroad: Others<'_, M>) {
        let mut leader = lock(&self.leader);
        let mut parts: Vec<_> = self.parts.iter().map(|(_, part)| lock(part)).collect();
        let mut report = self.report(&mut parts);
        let busy = parts.iter().map(|part| part.busy).sum();
        let mut done: Vec<&mut Done<M>> = parts.iter_mut().map(|part| &mut part.done).collect();
        let mut foreign: Vec<Done<M>>;
        if let Some(abroad) = abroad {
            report.stopped = leader.telling.stop.clone();
            report.halted = abroad.halted();
            match abroad.close(&self.mail, report, &done) {
                Ok(all) => (report, foreign) = all,
                Err(lost) => return leader.ending = Some(Ending::Lost(lost)),
            }
            done.extend(&mut foreign);
        }
        let next = report.next;
        let halted = report.halted.take();
        self.commit(&mut leader, report, &mut done);
        if leader.ending.is_some() {
            return;
        }
        if leader.closing.is_some() {
            leader.ending = leader.closing.take();
            return;
        }
        leader.judge(busy, self.layout);
        if let (None, Some(reason)) = (&leader.ending, halted) {
            leader.ending = Some(Ending::Halted(reason));
        }
        if leader.ending.is_none() {
            leader.go_on(next, self.layout);
        } else if self.late {
            leader.closing = leader.ending.take();
        }
    }

    /// The end of a window for the parts of this process.
    fn report(&self, parts: &mut [MutexGuard<'_, Part<M>>]) -> Report {
        if parts.iter().any(|part| part.irregular) {
            return Report { irregular: true, ..Report::default() };
        }
        let finish = |(i, part): (usize, &mut MutexGuard<'_, Part<M>>)| {
            part.finish(self.late && !self.is_behind(i))
        };
        let broken = parts.iter_mut().enumerate().map(finish).fold(None, Option::or);
        let executed = parts.iter().map(|part| part.done.counts.transitions()).sum();
        let next = self.next(parts);
        Report { broken, executed, next, ..Report::default() }
    }

    /// The next event of the parts that do not only listen, and of those that do.
    fn next(&self, parts: &mut [MutexGuard<'_, Part<M>>]) -> [Option<Tag>; 2] {
        let in_step = self.layout.is_in_step();
        let next = |part: &mut MutexGuard<'_, Part<M>>| match in_step {
            true => part.tag(),
            false => part.next().map(|at| Tag::new(at, 0)),
        };
        let (talking, listening) = parts.split_at_mut(self.talking());
        [talking, listening].map(|parts| parts.iter_mut().filter_map(next).min())
    }

    /// Tells what all have gone through; ends if that is not to be.
    fn commit(&self, leader: &mut Leader<'_, M>, report: Report, done: &mut [&mut Done<M>]) {
        let Report { irregular, broken, executed, stopped, .. } = report;
        leader.ending = match (irregular, stopped, broken) {
            (_, Some(reason), _) => Some(Ending::Stopped(reason)),
            (true, ..) => Some(Ending::Irregular),
            (_, _, Some(model)) => Some(Ending::Broken(model)),
            _ => None,
        };
        if leader.ending.is_some() || self.late && leader.past == i64::MIN {
            return;
        }
        let _mark = self.tracks[0].commit(leader.windows);
        leader.tell(executed, done);
    }

    /// Windows until they end.
    pub(super) fn work(&self, settings: &Settings, abroad: Others<'_, M>) -> Ending {
        {
            let mut parts: Vec<_> = self.parts.iter().map(|(_, part)| lock(part)).collect();
            let next = self.next(&mut parts);
            drop(parts);
            if let Some(abroad) = abroad {
                let report = Report { next, ..Report::default() };
                return match abroad.close(&self.mail, report, &[]) {
                    Ok((report, _)) => self.over_ranks(settings, abroad, report.next),
                    Err(lost) => Ending::Lost(lost),
                };
            }
            lock(&self.leader).go_on(next, self.layout);
        }
        match settings.schedule {
            Schedule::Threads => self.threads(settings),
            Schedule::Virtual(seed) => {
                let goal = lock(&self.leader).goal;
                self.virtually(fold(seed, goal.ticks as u64));
            }
        }
        self.ending()
    }

    fn ending(&self) -> Ending {
        lock(&self.leader).ending.take().unwrap_or(Ending::Reached)
    }

    /// The parts of this process in turn, with those of other ranks.
    fn over_ranks(
        &self,
        settings: &Settings,
        abroad: &mut dyn Abroad<M>,
        next: [Option<Tag>; 2],
    ) -> Ending {
        lock(&self.leader).go_on(next, self.layout);
        let seed = match settings.schedule {
            Schedule::Threads => None,
            Schedule::Virtual(seed) => Some(fold(seed, u64::from(abroad.rank()))),
        };
        let mut draws = Draws(seed.unwrap_or_default());
        let [first, last] = self.phases();
        while lock(&self.leader).ending.is_none() {
            let window = lock(&self.leader).window();
            let all = |phase| {
                (0..self.parts.len()).for_each(|i| self.phase(i, phase, window, settings.clock))
            };
            all(first);
            if let Err(lost) = abroad.deliver(&self.mail) {
                return Ending::Lost(lost);
            }
            all(last);
            if seed.is_some() && draws.below(128) == 0 && !self.parts.is_empty() {
                lock(&self.parts[draws.below(self.parts.len())].1).irregular = true;
            }
            self.judge(Some(abroad));
        }
        self.ending()
    }

    fn threads(&self, settings: &Settings) {
        // Workers that have parts take threads in turn: a thread has all parts of a worker or none.
        let mut workers: Vec<u32> = (0..self.parts.len()).map(|i| self.worker(i)).collect();
        workers.sort_unstable();
        workers.dedup();
        let threads = threads::for_workers(workers.len());
        let meeting = Meeting::of(threads);
        let (meeting, phases) = (&meeting, &self.phases());
        let serve = |me: usize| {
            let seat = |i: &usize| workers.partition_point(|&w| w < self.worker(*i));
            let mine: Vec<usize> =
                (0..self.parts.len()).filter(|i| seat(i) % threads == me).collect();
            let _alarm = Alarm(&meeting.over);
            while lock(&self.leader).ending.is_none() {
                let window = lock(&self.leader).window();
                for (k, &phase) in phases.iter().enumerate() {
                    mine.iter().for_each(|&i| self.phase(i, phase, window, settings.clock));
                    let go_on = meeting.meet(|| {
                        if k + 1 == phases.len() {
                            self.judge(None);
                        }
                    });
                    if !go_on {
                        return;
                    }
                }
            }
        };
        threads::serve(threads, serve);
    }

    /// In turn, in an order that depends on the seed; now and then something seems irregular.
    fn virtually(&self, seed: u64) {
        let mut draws = Draws(seed);
        while lock(&self.leader).ending.is_none() {
            let window = lock(&self.leader).window();
            for phase in self.phases() {
                let first = draws.below(self.parts.len());
                for i in 0..self.parts.len() {
                    self.phase((first + i) % self.parts.len(), phase, window, None);
                }
            }
            if draws.below(128) == 0 {
                lock(&self.parts[draws.below(self.parts.len())].1).irregular = true;
            }
            self.judge(None);
        }
    }
}

/// Draws from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (fold(self.0, self.0.rotate_left(31)) >> 16) as usize % n.max(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Letters ahead of the window.
    Announce,
    /// The window itself; of those that only listen, the one before.
    Work,
    /// λ of a cycle.
    Emit,
    /// Its transitions.
    Commit,
}

impl<'t, M: Message> Leader<'t, M> {
    pub(super) fn new(
        telling: Telling<'t, M>,
        trial: Trial,
        (limit, enough): (i64, u64),
        over_ranks: bool,
    ) -> Self {
        Self {
            telling,
            trial,
            limit,
            enough,
            goal: Tag::new(limit, 0),
            past: i64::MIN,
            windows: 0,
            empty: 0,
            executed: 0,
            length: 0,
            over_ranks,
            closing: None,
            ending: None,
        }
    }

    fn window(&self) -> Window {
        Window { goal: self.goal, past: self.past, closing: self.closing.is_some() }
    }

    /// The next window or cycle, by the next event of the parts that do not only listen, and of those that do.
    fn go_on(&mut self, [talking, listening]: [Option<Tag>; 2], layout: &Layout) {
        self.length = layout.delay;
        if layout.is_in_step() {
            match [talking, listening].into_iter().flatten().min() {
                Some(tag) if tag.ticks <= self.limit => self.goal = tag,
                _ => self.ending = Some(Ending::Reached),
            }
            return;
        }
        // Parts that only listen reach nobody, but should not run far ahead of what is told.
        let next = talking.or(listening).map(|tag| tag.ticks);
        let beyond = next.map_or(i64::MAX, |at| at.saturating_add(layout.delay));
        self.goal = Tag::new(self.limit.min(beyond.saturating_sub(1)), 0);
    }

    /// Takes what all did in a window.
    fn tell(&mut self, executed: u64, done: &mut [&mut Done<M>]) {
        self.windows += 1;
        self.executed += executed;
        self.empty += u64::from(executed == 0);
        let stop = self.telling.window(done);
        if let Some(reason) = stop.filter(|_| !self.over_ranks) {
            self.ending = Some(Ending::Stopped(reason));
        }
    }

    /// Whether to end as planned, after parts were busy for so long.
    fn judge(&mut self, busy: u64, layout: &Layout) {
        if self.goal.ticks >= self.limit && !layout.is_in_step() {
            self.ending = Some(Ending::Reached);
        } else if self.trial.is_poor(self.executed, busy, layout.workers.into()) {
            self.ending = Some(Ending::Poor);
        } else if self.executed > self.enough {
            self.ending = Some(Ending::Renew);
        }
        self.past = self.goal.ticks;
    }
}
