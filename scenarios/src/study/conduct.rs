//! Who runs what, and when.
//!
//! One thread conducts: it asks the questions, hands out what is missing, and tells the answers. Workers plan
//! and run. Questions share runs, and none waits for another. What is asked depends on results only, never on
//! who was faster; so files come out equal with any number of workers.
use super::{
    Lost, Runner, Sets, Store, Study, StudyError,
    question::{Next, Question},
    store::{Runs, Status, Stored, pairs},
    vary,
};
use crate::run::pulse::Pulse;
use std::{
    collections::HashMap,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};
use superdense_kernel::message::Digest;

/// The stack of a worker.
const STACK: usize = 64 << 20;
/// How often the conductor looks up: for timeouts, and to tell how far it is.
const BEAT: Duration = Duration::from_millis(100);

/// Limits of a study.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Threads.
    pub workers: usize,
    /// Wall time of a run.
    pub timeout: Option<Duration>,
    /// Which runs are done; all without.
    pub piece: Option<Piece>,
}

/// A part of the runs that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its number, from 1 on. The piece 0 has no runs.
    pub number: u32,
    /// The number of pieces.
    pub of: u32,
}

impl Piece {
    /// Whether it has a run. That depends on the run alone, not on who asked for it first.
    fn has(self, key: u64, replicate: u32) -> bool {
        let mut digest = Digest::new();
        digest.word(key);
        digest.word(u64::from(replicate));
        digest.finish() % u64::from(self.of.max(1)) + 1 == u64::from(self.number)
    }
}

/// A point, known by its settings.
#[derive(Debug)]
pub struct Place {
    /// The settings of the question and of the point.
    pub sets: Sets,
    /// The digest of its plan, once somebody has planned it; or why it cannot be planned.
    key: OnceLock<Result<u64, String>>,
}

impl Place {
    /// The digest of its plan; of its settings, if it cannot be planned.
    pub fn key(&self) -> u64 {
        match self.key.get() {
            Some(Ok(key)) => *key,
            _ => {
                let mut digest = Digest::new();
                digest.bytes(pairs(&self.sets).as_bytes());
                digest.finish()
            }
        }
    }
}

/// The outcome of a study.
#[derive(Debug)]
pub struct Conducted<'a> {
    /// The questions, with their points.
    pub questions: Vec<Question<'a>>,
    /// For each question, the place of each of its points.
    pub of: Vec<Vec<usize>>,
    /// All different points.
    pub places: Vec<Arc<Place>>,
    /// The numbers of points, in the order in which the questions of the file ask for them.
    pub numbers: Vec<usize>,
    /// Their runs.
    pub runs: HashMap<(usize, u32), Stored>,
    /// Runs that were not there before.
    pub fresh: usize,
    /// Runs that other pieces have; their questions wait.
    pub left: usize,
}

impl Conducted<'_> {
    /// The replicates of a point.
    pub fn replicates(&self, place: usize, n: u32) -> Vec<&Stored> {
        (0..n).filter_map(|r| self.runs.get(&(place, r))).collect()
    }

    /// Numbers points. Their places depend on which question went on first.
    fn number(&mut self) {
        self.numbers = vec![usize::MAX; self.places.len()];
        let mut next = 0;
        for &place in self.of.iter().flatten() {
            if self.numbers[place] == usize::MAX {
                self.numbers[place] = next;
                next += 1;
            }
        }
    }

    /// Runs that failed or took too long.
    pub fn lost(&self) -> usize {
        self.runs.values().filter(|run| run.status != Status::Done).count()
    }
}

/// How far a study is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are there.
    pub done: usize,
    /// Of these, without results.
    pub lost: usize,
    /// Of these, run now.
    pub fresh: usize,
    /// Runs that are asked for so far.
    pub asked: usize,
}

/// A run to be done.
struct Job {
    place: usize,
    at: Arc<Place>,
    replicate: u32,
}

/// A run that is done.
struct Done {
    place: usize,
    replicate: u32,
    /// The run; nothing if it was told to end, or another piece has it.
    run: Option<Stored>,
    /// Its wall time, if it was run now.
    seconds: Option<f64>,
}

/// Data that workers share.
struct Shared<'a, R> {
    runner: &'a R,
    known: &'a Runs,
    seed: u64,
    timeout: Option<Duration>,
    piece: Option<Piece>,
    /// The study is to end.
    stop: AtomicBool,
    /// Runs under way: since when, and how to end them.
    running: Mutex<Vec<(Instant, Pulse)>>,
    jobs: Mutex<Receiver<Job>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the questions of a study. `None` when `interrupted` was set meanwhile; what was run until then
/// is in the store.
///
/// # Errors
/// When the store takes no rows.
pub fn conduct<'a, R: Runner>(
    study: &'a Study,
    runner: &R,
    (store, known): (&Store, &Runs),
    limits: Limits,
    interrupted: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Progress),
) -> Result<Option<Conducted<'a>>, StudyError> {
    store.forget_asks()?;
    let (jobs, receiver) = channel();
    let (sender, done) = channel();
    let shared = Shared {
        runner,
        known,
        seed: study.seed,
        timeout: limits.timeout,
        piece: limits.piece,
        stop: AtomicBool::new(false),
        running: Mutex::default(),
        jobs: Mutex::new(receiver),
    };
    thread::scope(|scope| {
        for number in 0..limits.workers.max(1) {
            worker(scope, &shared, sender.clone(), number);
        }
        drop(sender);
        let mut conductor = Conductor::new(study, store, jobs);
        let ended = conductor.go(&shared, &done, interrupted, tell);
        // Workers end once there are no jobs; the rest of the queue is nobody's.
        shared.stop.store(true, Ordering::Relaxed);
        let Conductor { done: found, jobs, .. } = conductor;
        drop(jobs);
        locked(&shared.running).iter().for_each(|(_, pulse)| pulse.interrupt());
        Ok(ended?.then_some(found))
    })
}

struct Conductor<'a, 's> {
    study: &'a Study,
    store: &'s Store,
    jobs: Sender<Job>,
    done: Conducted<'a>,
    numbers: HashMap<Sets, usize>,
    /// Runs that are asked for and not there, with the questions that wait for them.
    waiting: HashMap<(usize, u32), Vec<usize>>,
    /// For each question, the runs that it waits for.
    missing: Vec<usize>,
    progress: Progress,
}

impl<'a, 's> Conductor<'a, 's> {
    fn new(study: &'a Study, store: &'s Store, jobs: Sender<Job>) -> Self {
        let ranges: Vec<_> = study.parameters.iter().map(|p| p.range.clone()).collect();
        let questions: Vec<_> = study.asks.iter().map(|a| Question::new(a, &ranges)).collect();
        let done = Conducted {
            of: vec![Vec::new(); questions.len()],
            questions,
            places: Vec::new(),
            numbers: Vec::new(),
            runs: HashMap::new(),
            fresh: 0,
            left: 0,
        };
        Self {
            study,
            store,
            jobs,
            missing: vec![0; study.asks.len()],
            done,
            numbers: HashMap::new(),
            waiting: HashMap::new(),
            progress: Progress::default(),
        }
    }

    /// Whether all questions are answered; else it was interrupted.
    fn go<R: Runner>(
        &mut self,
        shared: &Shared<'_, R>,
        done: &Receiver<Done>,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<bool, StudyError> {
        for question in 0..self.missing.len() {
            self.advance(question);
        }
        let mut told = Instant::now();
        while !self.waiting.is_empty() {
            let arrived = match done.recv_timeout(BEAT) {
                Ok(arrived) => Some(arrived),
                Err(RecvTimeoutError::Timeout) => None,
                // No worker is left.
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            };
            if let Some(arrived) = arrived {
                self.take(arrived)?;
            }
            if interrupted() {
                // Runs that have ended are kept, also those that wait to be stored.
                shared.stop.store(true, Ordering::Relaxed);
                while let Ok(arrived) = done.try_recv() {
                    self.take(arrived)?;
                }
                return Ok(false);
            }
            if told.elapsed() >= BEAT {
                told = Instant::now();
                end_late_ones(shared);
                tell(self.progress);
            }
        }
        tell(self.progress);
        self.done.number();
        self.keep_asks()?;
        Ok(true)
    }

    /// Goes on with a question whose runs are all there.
    fn advance(&mut self, number: usize) {
        let Conducted { questions, of, runs, .. } = &mut self.done;
        let (question, places) = (&mut questions[number], &of[number]);
        let next =
            question.next(&mut |at, n| (0..n).filter_map(|r| runs.get(&(places[at], r))).collect());
        let Next::Runs(wanted) = next else { return };
        for (at, replicates) in wanted {
            let place = self.place(number, at);
            for replicate in replicates {
                self.want(number, place, replicate);
            }
        }
        // All of them may have been there, for other questions.
        if self.missing[number] == 0 {
            self.advance(number);
        }
    }

    /// The place of a point of a question.
    fn place(&mut self, number: usize, at: usize) -> usize {
        if let Some(place) = self.done.of[number].get(at) {
            return *place;
        }
        let question = &self.done.questions[number];
        let mut sets = question.ask.sets.clone();
        sets.extend(vary::sets(&self.study.parameters, question.over_of(at), question.point(at)));
        let places = &mut self.done.places;
        let place = *self.numbers.entry(vary::by_path(&sets)).or_insert_with(|| {
            places.push(Arc::new(Place { sets, key: OnceLock::new() }));
            places.len() - 1
        });
        self.done.of[number].push(place);
        place
    }

    fn want(&mut self, number: usize, place: usize, replicate: u32) {
        if self.done.runs.contains_key(&(place, replicate)) {
            return;
        }
        self.missing[number] += 1;
        let waiting = self.waiting.entry((place, replicate)).or_default();
        waiting.push(number);
        if waiting.len() == 1 {
            self.progress.asked += 1;
            let at = Arc::clone(&self.done.places[place]);
            // Without workers the loop ends, too.
            let _ = self.jobs.send(Job { place, at, replicate });
        }
    }

    fn take(&mut self, done: Done) -> Result<(), StudyError> {
        let Some(run) = done.run else {
            self.waiting.remove(&(done.place, done.replicate));
            self.done.left += 1;
            return Ok(());
        };
        self.progress.done += 1;
        self.progress.lost += usize::from(run.status != Status::Done);
        if let Some(seconds) = done.seconds {
            self.progress.fresh += 1;
            self.done.fresh += 1;
            let place = &self.done.places[done.place];
            self.store.run((place.key(), done.replicate), run.clone(), seconds)?;
            self.store.point(place.key(), place.sets.clone())?;
        }
        self.done.runs.insert((done.place, done.replicate), run);
        for number in self.waiting.remove(&(done.place, done.replicate)).unwrap_or_default() {
            self.missing[number] -= 1;
            if self.missing[number] == 0 {
                self.advance(number);
            }
        }
        Ok(())
    }

    /// Tells the store which questions asked for which points.
    fn keep_asks(&self) -> Result<(), StudyError> {
        for (question, places) in self.done.questions.iter().zip(&self.done.of) {
            for (ordinal, &place) in places.iter().enumerate() {
                let place = &self.done.places[place];
                self.store.ask(&question.ask.name.value, ordinal, place.key())?;
                self.store.point(place.key(), place.sets.clone())?;
            }
        }
        Ok(())
    }
}

/// Ends runs that take longer than a run may.
fn end_late_ones<R>(shared: &Shared<'_, R>) {
    let Some(timeout) = shared.timeout else { return };
    let running = locked(&shared.running);
    running.iter().filter(|(since, _)| since.elapsed() >= timeout).for_each(|(_, p)| p.interrupt());
}

fn worker<'scope, R: Runner>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R>,
    done: Sender<Done>,
    number: usize,
) {
    let work = move || {
        loop {
            let Ok(job) = locked(&shared.jobs).recv() else { return };
            if shared.stop.load(Ordering::Relaxed) || done.send(work(shared, &job)).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name(format!("worker {number}")).stack_size(STACK);
    // With fewer threads than wanted the study is slower, and equal.
    let _ = thread.spawn_scoped(scope, work);
}

/// The key of a point, of the digest of its plan: replicates of a study of another seed are other runs.
pub(super) fn key_of(plan: u64, seed: u64) -> u64 {
    let mut digest = Digest::new();
    digest.word(plan);
    digest.word(seed);
    digest.finish()
}

/// Finds a run in the store, or does it.
fn work<R: Runner>(shared: &Shared<'_, R>, job: &Job) -> Done {
    let began = Instant::now();
    let (place, replicate) = (job.place, job.replicate);
    let mut ready = None;
    let key = job.at.key.get_or_init(|| {
        let (key, plan) = shared.runner.plan(&job.at.sets, None)?;
        ready = Some(plan);
        Ok(key_of(key, shared.seed))
    });
    let failed = |why: &str| Some(Stored::lost(Status::Failed, why.to_owned()));
    let key = match key {
        Ok(key) => *key,
        // Tried again next time, when the scenario may be another one.
        Err(why) => return Done { place, replicate, run: failed(why), seconds: Some(0.0) },
    };
    if let Some(run) = shared.known.get(&(key, replicate)) {
        return Done { place, replicate, run: Some(run.clone()), seconds: None };
    }
    if shared.piece.is_some_and(|piece| !piece.has(key, replicate)) {
        return Done { place, replicate, run: None, seconds: None };
    }
    let seed = (replicate > 0).then(|| superdense_study::seed(shared.seed, replicate));
    let plan = match ready.filter(|_| seed.is_none()) {
        Some(plan) => Ok(plan),
        None => shared.runner.plan(&job.at.sets, seed).map(|(_, plan)| plan),
    };
    let run = match plan {
        Ok(plan) => one(shared, plan, began),
        Err(why) => failed(&why),
    };
    Done { place, replicate, run, seconds: Some(began.elapsed().as_secs_f64()) }
}

/// Does a run. A panic is a failure of this run alone.
fn one<R: Runner>(shared: &Shared<'_, R>, plan: R::Plan, began: Instant) -> Option<Stored> {
    let pulse = Pulse::default();
    locked(&shared.running).push((began, pulse.clone()));
    // One that was told to end before it was on the list.
    if shared.stop.load(Ordering::Relaxed) {
        pulse.interrupt();
    }
    let ran = panic::catch_unwind(AssertUnwindSafe(|| shared.runner.run(plan, &pulse)));
    locked(&shared.running).retain(|(_, other)| !other.is(&pulse));
    let lost = |status, why| Some(Stored::lost(status, why));
    match ran {
        Ok(Ok(row)) => Some(Stored {
            status: Status::Done,
            trace_hash: row.trace_hash,
            results: row.results,
            error: None,
        }),
        Ok(Err(Lost::Failed(why))) => lost(Status::Failed, why),
        Ok(Err(Lost::Left)) => None,
        Ok(Err(Lost::Interrupted)) if shared.stop.load(Ordering::Relaxed) => None,
        Ok(Err(Lost::Interrupted)) => {
            let limit = shared.timeout.unwrap_or_default().as_secs_f64();
            lost(Status::Timeout, format!("the run took longer than {limit} s"))
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            lost(Status::Failed, format!("the program failed: {text}; please report it"))
        }
    }
}
