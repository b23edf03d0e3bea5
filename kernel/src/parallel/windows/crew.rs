//! Window after window: on threads, or in turn on this one.
use super::{
    layout::Layout,
    part::{Done, Letter, Mail, Part, lock},
};
use crate::{
    message::{Message, fold},
    parallel::{
        Schedule, Settings, cuts::Alarm, pace::Trial, speculation::speculate, telling::Telling,
        timeline::Track,
    },
    time::Tag,
};
use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// Turns in which a thread waits for the others before it lets another one have its core.
const SPINS: u32 = 4096;
/// Transitions per model after which models come home to be saved.
const PER_MODEL: u64 = 128;
/// The same at least, in all.
const AT_LEAST: u64 = 1 << 14;

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
}

impl Ending {
    /// All is as the sequential run has it.
    pub fn is_planned(&self) -> bool {
        matches!(self, Self::Reached | Self::Renew | Self::Poor)
    }
}

/// Parts of a simulation between windows.
pub(super) struct Crew<'a, 't, M: Message> {
    pub layout: &'a Layout,
    /// Those that have models: first those of workers, then those that only listen.
    pub parts: Vec<(u32, Mutex<Part<M>>)>,
    pub mail: Vec<Mutex<Vec<Letter<M>>>>,
    /// By worker.
    pub tracks: Vec<Track>,
    pub leader: Mutex<Leader<'t, M>>,
}

/// Who looks at what a window came to, and says how far the next one goes.
pub(super) struct Leader<'t, M: Message> {
    pub telling: Telling<'t, M>,
    pub trial: Trial,
    /// The last tick of the stretch.
    pub limit: i64,
    /// The last tick of the present window, or the cycle that all go through.
    pub goal: Tag,
    pub windows: u64,
    /// Windows in which nothing happened.
    pub empty: u64,
    executed: u64,
    /// Ticks of a window.
    pub length: i64,
    ending: Option<Ending>,
}

impl<M: Message> Crew<'_, '_, M> {
    fn is_behind(&self, i: usize) -> bool {
        self.parts[i].0 >= self.layout.workers
    }

    fn phases(&self) -> &'static [Phase] {
        if self.layout.is_in_step() {
            &[Phase::Emit, Phase::Commit]
        } else if (0..self.parts.len()).any(|i| self.is_behind(i)) {
            &[Phase::Announce, Phase::Work, Phase::Listen]
        } else {
            &[Phase::Announce, Phase::Work]
        }
    }

    /// A phase of one part.
    fn phase(&self, i: usize, phase: Phase, goal: Tag, clock: Option<fn() -> u64>) {
        let (number, part) = &self.parts[i];
        if (phase == Phase::Listen) != self.is_behind(i) {
            return;
        }
        let until = goal.ticks;
        let mut part = lock(part);
        let (part, mail): (&mut Part<M>, &Mail<M>) = (&mut part, &self.mail);
        let start = clock.map(|clock| clock());
        let _mark = self.tracks[(number % self.layout.workers) as usize].batch(|| true);
        let done = speculate(|| match phase {
            Phase::Announce => part.announce(until.saturating_add(1), mail),
            Phase::Work | Phase::Listen => part.run(until, *number, mail),
            Phase::Emit => part.emit(goal, mail),
            Phase::Commit => part.commit(goal, *number, mail),
        });
        part.irregular |= !matches!(done, Some(Ok(())));
        if let (Some(clock), Some(start)) = (clock, start) {
            part.busy += clock().saturating_sub(start);
        }
    }

    /// After a window: commits it, and begins the next one, or ends.
    fn judge(&self) {
        let mut leader = lock(&self.leader);
        let mut parts: Vec<_> = self.parts.iter().map(|(_, part)| lock(part)).collect();
        let irregular = parts.iter().any(|part| part.irregular);
        if irregular {
            leader.ending = Some(Ending::Irregular);
            return;
        }
        let busy = parts.iter().map(|part| part.busy).sum();
        parts.iter_mut().for_each(|part| part.finish());
        let mut done: Vec<&mut Done<M>> = parts.iter_mut().map(|part| &mut part.done).collect();
        let _mark = self.tracks[0].commit(leader.windows);
        leader.judge(&mut done, busy, self.layout);
        if leader.ending.is_none() {
            leader.go_on(&mut parts, self.layout);
        }
    }

    /// Windows until they end.
    pub fn work(&self, settings: &Settings) -> Ending {
        {
            let mut parts: Vec<_> = self.parts.iter().map(|(_, part)| lock(part)).collect();
            lock(&self.leader).go_on(&mut parts, self.layout);
        }
        match settings.schedule {
            Schedule::Threads => self.threads(settings),
            Schedule::Virtual(seed) => {
                let goal = lock(&self.leader).goal;
                self.virtually(fold(seed, goal.ticks as u64));
            }
        }
        lock(&self.leader).ending.take().unwrap_or(Ending::Reached)
    }

    fn threads(&self, settings: &Settings) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(self.layout.workers as usize).min(self.parts.len()).max(1);
        let meeting = Meeting::of(threads);
        let (meeting, phases) = (&meeting, self.phases());
        let serve = |me: usize| {
            let _alarm = Alarm(&meeting.over);
            while lock(&self.leader).ending.is_none() {
                let goal = lock(&self.leader).goal;
                for (k, &phase) in phases.iter().enumerate() {
                    let mine = (me..self.parts.len()).step_by(threads);
                    mine.for_each(|i| self.phase(i, phase, goal, settings.clock));
                    let go_on = meeting.meet(|| {
                        if k + 1 == phases.len() {
                            self.judge();
                        }
                    });
                    if !go_on {
                        return;
                    }
                }
            }
        };
        let joined = crossbeam::thread::scope(|scope| {
            for me in 1..threads {
                let serve = &serve;
                scope.spawn(move |_| serve(me));
            }
            serve(0);
        });
        if let Err(panic) = joined {
            std::panic::resume_unwind(panic);
        }
    }

    /// In turn, in an order that depends on the seed; now and then something seems irregular.
    fn virtually(&self, seed: u64) {
        let mut draws = seed;
        let mut below = |n: usize| {
            draws = draws.wrapping_add(0x9E37_79B9_7F4A_7C15);
            (fold(draws, draws.rotate_left(31)) >> 16) as usize % n.max(1)
        };
        while lock(&self.leader).ending.is_none() {
            let goal = lock(&self.leader).goal;
            for &phase in self.phases() {
                let first = below(self.parts.len());
                for i in 0..self.parts.len() {
                    self.phase((first + i) % self.parts.len(), phase, goal, None);
                }
            }
            if below(128) == 0 {
                lock(&self.parts[below(self.parts.len())].1).irregular = true;
            }
            self.judge();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Letters ahead of the window.
    Announce,
    /// The window itself.
    Work,
    /// The same, of those that only listen.
    Listen,
    /// λ of a cycle.
    Emit,
    /// Its transitions.
    Commit,
}

impl<'t, M: Message> Leader<'t, M> {
    pub fn new(telling: Telling<'t, M>, trial: Trial, limit: i64) -> Self {
        let (windows, empty, executed, length) = (0, 0, 0, 0);
        let goal = Tag::new(limit, 0);
        Self { telling, trial, limit, goal, windows, empty, executed, length, ending: None }
    }

    /// The next window or cycle.
    fn go_on(&mut self, parts: &mut [MutexGuard<'_, Part<M>>], layout: &Layout) {
        self.length = layout.delay;
        if layout.is_in_step() {
            match parts.iter_mut().filter_map(|part| part.tag()).min() {
                Some(tag) if tag.ticks <= self.limit => self.goal = tag,
                _ => self.ending = Some(Ending::Reached),
            }
            return;
        }
        let next = parts.iter_mut().filter_map(|part| part.next()).min();
        let beyond = next.map_or(i64::MAX, |at| at.saturating_add(layout.delay));
        self.goal = Tag::new(self.limit.min(beyond.saturating_sub(1)), 0);
    }

    /// What all did since the last time, and how long parts were busy up to now.
    fn judge(&mut self, done: &mut [&mut Done<M>], busy: u64, layout: &Layout) {
        self.windows += 1;
        if let Some(model) = done.iter().find_map(|done| done.broken) {
            self.ending = Some(Ending::Broken(model));
            return;
        }
        let executed = done.iter().map(|done| done.counts.transitions()).sum::<u64>();
        self.executed += executed;
        self.empty += u64::from(executed == 0);
        if let Some(reason) = self.telling.window(done) {
            self.ending = Some(Ending::Stopped(reason));
            return;
        }
        if self.goal.ticks >= self.limit && !layout.is_in_step() {
            self.ending = Some(Ending::Reached);
        } else if self.trial.is_poor(self.executed, busy, layout.workers.into()) {
            self.ending = Some(Ending::Poor);
        } else if self.executed > AT_LEAST.max(PER_MODEL * layout.parts.len() as u64) {
            self.ending = Some(Ending::Renew);
        }
    }
}

/// Where threads wait for each other; the last one to come may do something for all.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    number: AtomicUsize,
    /// A thread panicked, and none must wait for it.
    over: AtomicBool,
}

impl Meeting {
    fn of(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        Self { threads, arrived: zero(), number: zero(), over: AtomicBool::new(false) }
    }

    /// Waits for all; whether to go on.
    fn meet(&self, last: impl FnOnce()) -> bool {
        let number = self.number.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            last();
            self.arrived.store(0, Ordering::Relaxed);
            self.number.store(number + 1, Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.number.load(Ordering::Acquire) == number {
            if self.over.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        true
    }
}
