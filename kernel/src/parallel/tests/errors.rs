//! Every kind of error, at every place at which it can arise, ends a run as in the sequential run:
//! with the same error at the same tag, under each executor.
use super::*;
use crate::parallel::speculation::{hush, speculate};
use crate::{
    Component, Guards, Options, error::CheckpointError, structure::Change, time::Resolution,
};
use std::{
    collections::BTreeSet,
    sync::{
        PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Makes a list of the kinds of errors, and a match over them without a wildcard: a new kind does not
/// compile until it is in the list, and then some case must raise it.
macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        const KINDS: &[&str] = &[$(stringify!($kind)),*];
        fn kind(error: &RunError) -> &'static str {
            match error {
                $(RunError::$kind { .. } => stringify!($kind)),*
            }
        }
    };
}

kinds!(
    Build,
    Model,
    BadAdvance,
    BadElapsed,
    Time,
    MicroSteps,
    Zeno,
    Stalled,
    Early,
    Past,
    Skipped,
    UnknownInput,
    UnknownOutput,
    UnknownModel,
    OtherModel,
    Structure,
    Settings,
    Panicked,
    Unrestored,
    Undelayed,
    Ranks,
);

/// Errors of calls that do not run a simulation, or run it over ranks.
const BY_CALLER: &[&str] = &[
    "Build",
    "Past",
    "Skipped",
    "Undelayed",
    "Ranks",
    "UnknownInput",
    "UnknownOutput",
    "UnknownModel",
    "OtherModel",
    "Settings",
    "Unrestored",
];

/// Where something goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    Output,
    Internal,
    External,
    Confluent,
    /// A silent step.
    Silent,
    TimeAdvance,
    /// An observer, when it is told of this.
    Observer(Told),
    /// Outside, before the run begins.
    Outside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Told {
    Transition,
    Fact,
    Cycle,
    Structure,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Fault {
    /// A send to a port that is not there.
    Port,
    Panic,
    Fail,
    /// The run is to stop.
    Stop,
    /// It is, in a transition that also fails.
    FailAndStop,
    /// A flag from outside is set, by an observer.
    Halt,
    /// A negative time advance.
    Negative,
    /// A time advance beyond the clock.
    Far,
    /// Due at once, for ever.
    Loop,
    /// More located events than the guard allows.
    Locate,
    /// A change of structure that is refused.
    Structure,
    /// A new model whose elapsed time is too long.
    Elapsed,
    /// A new model with a negative time advance.
    Unborn,
    /// A silent step without progress.
    Stalled,
    /// A silent step that finds something in the past.
    Early,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Case {
    place: Place,
    fault: Fault,
    /// It goes wrong again and again.
    repeats: bool,
    /// Another model fails in the same cycle.
    twin: bool,
}

/// It goes wrong for the fifth time.
const LUCKY: u32 = 4;

fn cases() -> Vec<Case> {
    use {Fault::*, Place::*};
    let transition =
        [Panic, Fail, Stop, FailAndStop, Negative, Far, Loop, Locate, Structure, Elapsed, Unborn];
    let silent = [Panic, Fail, Stop, FailAndStop, Negative, Far, Locate, Structure, Stalled, Early];
    let mut all = vec![(Output, Port), (Output, Panic), (TimeAdvance, Panic)];
    for place in [Internal, External, Confluent] {
        all.extend(transition.map(|fault| (place, fault)));
    }
    all.extend(silent.map(|fault| (Silent, fault)));
    all.push((Outside, Halt));
    for told in [Told::Transition, Told::Fact, Told::Cycle, Told::Structure] {
        all.extend([Stop, Halt, Panic].map(|fault| (Observer(told), fault)));
    }
    let each = |(place, fault)| {
        let variants = [(false, false), (true, false), (false, true)];
        // These are for mistakes of models.
        let some = if matches!(place, Observer(_) | Outside) { 1 } else { 3 };
        variants.into_iter().take(some).map(move |(repeats, twin)| Case {
            place,
            fault,
            repeats,
            twin,
        })
    };
    all.into_iter().flat_map(each).collect()
}

/// Sends what it heard up to one event at the next one. `SILENT`: makes three silent steps in between.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Faulty<const SILENT: bool> {
    period: i64,
    /// Ticks to the next silent step or event.
    left: i64,
    quiet: i64,
    sum: i64,
    sends: i64,
    /// How often it was at the place where it goes wrong.
    count: u32,
    case: Option<Case>,
    bad: Option<Fault>,
    promises: bool,
}

impl<const SILENT: bool> Faulty<SILENT> {
    fn new(period: i64, case: Option<Case>, promises: bool) -> Self {
        let (quiet, left) = if SILENT { (3, period / 4) } else { (0, period) };
        let (sum, sends, count, bad) = (1, 0, 0, None);
        Self { period, left, quiet, sum, sends, count, case, bad, promises }
    }

    /// Whether something goes wrong the next time it is at a place.
    fn is_due(&self, place: Place) -> Option<Fault> {
        let case = self.case.filter(|case| case.place == place)?;
        let due = self.count == LUCKY || self.count > LUCKY && case.repeats;
        due.then_some(case.fault)
    }

    fn at(&mut self, place: Place, fx: &mut Effects<i64>) -> Option<Fault> {
        let fault = self.is_due(place);
        self.count += u32::from(self.case.is_some_and(|case| case.place == place));
        let born = |left, elapsed| {
            let mut model = Faulty::<false>::new(7, None, false);
            model.left = left;
            let (parent, name) = (String::new(), "new".into());
            let component = Component::with_elapsed(model, Duration::from_ticks(elapsed));
            Change::Add { parent, name, component }
        };
        match fault? {
            Fault::Panic => {
                fx.fail("left over");
                panic!("as planned");
            }
            Fault::Fail => fx.fail("as planned"),
            Fault::Stop => fx.stop("as planned"),
            Fault::FailAndStop => {
                fx.stop("as planned");
                fx.fail("as planned");
            }
            Fault::Structure => fx.change(Change::Remove { path: "nobody".into() }),
            Fault::Elapsed => fx.change(born(7, 8)),
            Fault::Unborn => fx.change(born(-1, 0)),
            bad => self.bad = Some(bad),
        }
        fault
    }
}

impl<const SILENT: bool> Atomic<i64> for Faulty<SILENT> {
    const SILENT: bool = SILENT;
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn is_silent(&self) -> bool {
        self.quiet > 0
    }
    fn time_advance(&self) -> Duration {
        assert!(self.is_due(Place::TimeAdvance).is_none(), "as planned");
        Duration::from_ticks(match self.bad {
            Some(Fault::Negative) => -1,
            Some(Fault::Far) => i64::MAX - 1,
            Some(Fault::Loop) => 0,
            _ => self.left,
        })
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(if self.promises { self.period } else { 0 })
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        match self.is_due(Place::Output) {
            Some(Fault::Port) => out.send(OutPort::<i64>::new(7), 1),
            Some(_) => panic!("as planned"),
            None => {}
        }
        out.send(OUT, self.sends);
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        (self.left, self.quiet) = if SILENT { (self.period / 4, 3) } else { (self.period, 0) };
        self.sends = self.sum;
        self.sum = self.sum.wrapping_mul(31) ^ fx.now().ticks;
        self.at(Place::Internal, fx);
        let later = [Place::Output, Place::TimeAdvance];
        self.count += u32::from(self.case.is_some_and(|case| later.contains(&case.place)));
        if self.bad == Some(Fault::Locate) {
            fx.located();
        }
        if self.case.is_some_and(|case| matches!(case.place, Place::Observer(_))) {
            fx.report(Fact::Note("as planned".into()));
            self.count += 1;
            if self.count == LUCKY {
                let component = Component::atomic(Faulty::<false>::new(9, None, false));
                let (parent, name) = (String::new(), "guest".into());
                fx.change(Change::Add { parent, name, component });
            }
        }
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.left -= elapsed.ticks();
        self.sum = bag.on(IN).fold(self.sum, |sum, x| sum.wrapping_add(*x).rotate_left(7));
        self.at(Place::External, fx);
        if self.bad == Some(Fault::Locate) {
            fx.located();
        }
    }
    fn confluent(&mut self, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.internal(fx);
        self.external(Duration::ZERO, bag, fx);
        self.at(Place::Confluent, fx);
    }
    fn advance(&mut self, bound: Duration, fx: &mut Effects<i64>) {
        while self.quiet > 0 && self.left < bound.ticks() {
            match self.at(Place::Silent, fx) {
                Some(Fault::Stalled) => return,
                Some(Fault::Early) => {
                    self.quiet = 0;
                    return;
                }
                _ => {}
            }
            if self.bad == Some(Fault::Locate) {
                fx.located();
            }
            self.left += self.period / 4;
            self.quiet -= 1;
        }
    }
}

/// Writes down all that it is told, and may want a stop then.
struct Judge {
    tape: Tape,
    case: Case,
    count: u32,
    flag: Arc<AtomicBool>,
}

impl Judge {
    fn told(&mut self, what: Told) -> Verdict {
        if self.case.place == Place::Observer(what) {
            self.count += 1;
            if self.count == 1 + if what == Told::Structure { 0 } else { LUCKY } {
                match self.case.fault {
                    Fault::Halt => self.flag.store(true, Ordering::Relaxed),
                    Fault::Panic => panic!("as planned"),
                    _ => return ControlFlow::Break("as planned".into()),
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Observer<i64> for Judge {
    fn wants_transitions(&self, _: ModelKey) -> bool {
        true
    }
    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, i64>) -> Verdict {
        let _ = self.tape.transition(site, t);
        self.told(Told::Transition)
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        let _ = self.tape.fact(site, tag, fact);
        self.told(Told::Fact)
    }
    fn cycle(&mut self, tag: Tag) -> Verdict {
        let _ = self.tape.cycle(tag);
        self.told(Told::Cycle)
    }
    fn structure(&mut self, tag: Tag, change: &str) -> Verdict {
        self.tape.lines.push(format!("{tag} {change}"));
        self.told(Told::Structure)
    }
    fn stop(&mut self, tag: Tag, reason: &str) {
        self.tape.stop(tag, reason);
    }
}

fn model(case: Case, promises: bool) -> Coupled<i64> {
    let mut top = Coupled::new();
    let twin = Case { place: Place::Internal, fault: Fault::Fail, repeats: false, twin: false };
    let children: Vec<Child> = (0..8)
        .map(|i| {
            let period = 10 + i;
            let faulty = |silent| i == 2 && (case.place == Place::Silent) == silent;
            let name = ("n", i as usize);
            if faulty(true) {
                top.add(name, Faulty::<true>::new(period, Some(case), false)).any()
            } else if faulty(false) {
                top.add(name, Faulty::<false>::new(period, Some(case), promises)).any()
            } else if i == 4 && case.twin {
                top.add(name, Faulty::<false>::new(12, Some(twin), promises)).any()
            } else {
                top.add(name, Faulty::<false>::new(period, None, promises)).any()
            }
        })
        .collect();
    for (i, from) in children.iter().enumerate() {
        top.couple(from.output(OUT), children[(i + 1) % 8].input(IN));
    }
    // Often in one cycle with n[2], for confluent transitions.
    let beat = top.add("beat", Faulty::<false>::new(4, None, promises)).any();
    top.couple(beat.output(OUT), children[2].input(IN));
    top
}

/// `None`: a panic.
type End = Option<Result<Ended, RunError>>;
type Outcome = (Vec<End>, u64, Counts, Vec<String>);

/// Several calls of a run, beyond its error.
fn outcome(case: Case, watched: bool, settings: Option<&Settings>, promises: bool) -> Outcome {
    hush();
    let guards = Guards { micro_steps: 30, state_events: 2, gap: 1000, pause: 1000 };
    let options = Options { guards, resolution: Resolution::default(), ..Options::default() };
    let mut sim = Simulation::new(model(case, promises), options).expect("a legal model");
    // Later inputs from outside change nothing.
    sim.inject("n[0]", IN, END - 20, 1).expect("an input");
    let flag = Arc::new(AtomicBool::new(case.place == Place::Outside));
    sim.halt_on(Arc::clone(&flag), "as planned");
    let judge = Judge { tape: Tape::default(), case, count: 0, flag: Arc::clone(&flag) };
    let judge = Arc::new(Mutex::new(judge));
    if watched {
        sim.observe(Arc::clone(&judge));
    }
    let mut ends = Vec::new();
    for end in [19, END, END] {
        let run = || match settings {
            None => sim.run_through(end),
            Some(settings) => sim.run_through_parallel(end, settings).map(|e| e.0),
        };
        // A panic, of which the test need not be told.
        let ended = speculate(run);
        flag.store(false, Ordering::Relaxed);
        ends.push(ended);
    }
    let judge = &mut *judge.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = std::mem::take(&mut judge.tape.lines);
    if matches!((case.place, case.fault), (Place::Observer(_), Fault::Panic)) {
        // Models that ran ahead of what observers are told are left where they are.
        return (ends, 0, Counts::default(), lines);
    }
    (ends, sim.trace_hash(), sim.counts(), lines)
}

/// Both methods with one to eight workers, with probes and without, in turn on one thread; and some on
/// threads, which take long on a busy machine.
fn executors(watched: bool) -> Vec<Settings> {
    let mut all = Vec::new();
    for method in [Method::TimeWarp, Method::Conservative] {
        for workers in 1..=8 {
            let plain = Settings { method, workers, ..Settings::default() };
            for probe in [false, true] {
                let schedule = Schedule::Virtual(u64::from(workers) + 8 * u64::from(probe));
                let lazy = workers % 2 == 0;
                let cancellation = if lazy { Cancellation::Lazy } else { Cancellation::Aggressive };
                all.push(Settings { probe, schedule, cancellation, ..plain.clone() });
            }
            if [2, 7].contains(&workers) {
                all.push(Settings { probe: watched, ..plain });
            }
        }
    }
    all
}

/// Runs some of the cases under all executors; the kinds of errors that they raised.
fn compare(wanted: impl Fn(&Case) -> bool) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for case in cases().into_iter().filter(wanted) {
        for watched in [false, true] {
            if !watched && matches!(case.place, Place::Observer(_)) {
                continue;
            }
            let expected = outcome(case, watched, None, false);
            let ends = &expected.0;
            assert!(
                !ends.iter().all(|end| matches!(end, Some(Ok(Ended::Reached | Ended::Idle)))),
                "{case:?}: nothing goes wrong"
            );
            let over = ends.iter().position(|end| !matches!(end, Some(Ok(_))));
            if let Some([first, rest @ ..]) = over.map(|at| &ends[at..]) {
                let again = |end| first.is_none() || end == first;
                let error = rest.iter().all(|end| matches!(end, Some(Err(_))) && again(end));
                assert!(error, "{case:?}: the error is not given again: {ends:?}");
            }
            seen.extend(ends.iter().flatten().filter_map(|end| end.as_ref().err()).map(kind));
            for settings in executors(watched) {
                let promises = settings.method == Method::Conservative && settings.workers % 2 == 0;
                let found = outcome(case, watched, Some(&settings), promises);
                if found != expected {
                    let Settings { method, workers, probe, schedule, .. } = settings;
                    let differs = found.3.iter().zip(&expected.3).find(|(a, b)| a != b);
                    let at = format!("{method:?}, {workers}, probe {probe}, {schedule:?}");
                    let how = (&found.0, found.2, &expected.0, expected.2, differs);
                    wrong.push(format!("{case:?} watched {watched}\n  {at}: {how:?}"));
                }
            }
        }
    }
    let some: Vec<&str> = wrong.iter().take(5).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differ, as\n{}", wrong.len(), some.join("\n"));
    seen
}

#[test]
fn each_kind_of_error_is_raised_by_some_case() {
    let raised = |case| {
        let ends = outcome(case, true, None, false).0;
        ends.into_iter().flatten().filter_map(|end| end.err()).map(|error| kind(&error))
    };
    let seen: BTreeSet<_> = cases().into_iter().flat_map(raised).collect();
    let missing: Vec<_> =
        KINDS.iter().filter(|kind| !seen.contains(*kind) && !BY_CALLER.contains(kind)).collect();
    assert!(missing.is_empty(), "no case raises {missing:?}");
}

#[test]
fn errors_of_outputs_come_as_in_the_sequential_run() {
    compare(|case| matches!(case.place, Place::Output | Place::TimeAdvance));
}

#[test]
fn errors_of_internal_transitions_come_as_in_the_sequential_run() {
    compare(|case| case.place == Place::Internal);
}

#[test]
fn errors_of_external_transitions_come_as_in_the_sequential_run() {
    compare(|case| case.place == Place::External);
}

#[test]
fn errors_of_confluent_transitions_come_as_in_the_sequential_run() {
    compare(|case| case.place == Place::Confluent);
}

#[test]
fn errors_of_silent_steps_come_as_in_the_sequential_run() {
    compare(|case| case.place == Place::Silent);
}

#[test]
fn stops_of_observers_come_as_in_the_sequential_run() {
    compare(|case| matches!(case.place, Place::Observer(_) | Place::Outside));
}

/// Time Warp without observers hears of it, too, if somebody outside wants a halt, and goes on from there.
#[test]
fn a_halt_from_outside_is_heard_of_without_observers() {
    let case = Case { place: Place::Outside, fault: Fault::Halt, repeats: false, twin: false };
    let mut sim = Simulation::new(model(case, false), Options::default()).expect("a legal model");
    let flag = Arc::new(AtomicBool::new(false));
    sim.halt_on(Arc::clone(&flag), "as planned");
    for workers in [2, 3, 8] {
        let settings = Settings { workers, ..Settings::default() };
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                flag.store(true, Ordering::Relaxed);
            });
            sim.run_through_parallel(sim.now().ticks + 3_000_000, &settings).map(|e| e.0)
        });
        assert_eq!(ended, Ok(Ended::Stopped("as planned".into())));
        flag.store(false, Ordering::Relaxed);
    }
    let mut plain = Simulation::new(model(case, false), Options::default()).expect("a legal model");
    let now = sim.now().ticks + 1;
    for sim in [&mut sim, &mut plain] {
        sim.run_through(now).expect("no error");
    }
    assert_eq!((sim.trace_hash(), sim.counts()), (plain.trace_hash(), plain.counts()));
}

/// After a panic nothing of a simulation is used, until a saved state is brought back.
#[test]
fn a_simulation_is_of_no_use_after_a_panic_until_it_is_restored() {
    hush();
    let case = |place| Case { place, fault: Fault::Panic, repeats: false, twin: false };
    for place in [Place::Output, Place::Internal, Place::Silent, Place::Observer(Told::Cycle)] {
        let case = case(place);
        for settings in [None].into_iter().chain(executors(true).into_iter().map(Some)) {
            let mut sim = Simulation::new(model(case, false), Options::default()).expect("a model");
            let flag = Arc::default();
            let judge = Judge { tape: Tape::default(), case, count: 0, flag };
            sim.observe(judge);
            let run = |sim: &mut Simulation<i64>, end| match &settings {
                None => sim.run_through(end),
                Some(settings) => sim.run_through_parallel(end, settings).map(|e| e.0),
            };
            let (early, late) = (3, END);
            run(&mut sim, early).expect("nothing goes wrong yet");
            let saved = sim.save().expect("plain data");
            assert!(speculate(|| run(&mut sim, late)).is_none(), "{case:?} {settings:?}");
            let error = run(&mut sim, late).expect_err("a panic");
            let name = if matches!(place, Place::Observer(_)) { "an observer" } else { "n[2]" };
            let named = matches!(&error, RunError::Panicked { who, .. } if who == name);
            assert!(named && error.at().is_some(), "{error}");
            let again = [
                sim.run_until(late).map(drop),
                sim.step(late).map(drop),
                sim.next().map(drop),
                sim.next_within(late).map(drop),
                sim.emit(late).map(drop),
                sim.commit(late, Vec::new()).map(drop),
                sim.inject("n[0]", IN, late, 1),
                sim.run_through(late).map(drop),
            ];
            assert_eq!(again, [(); 8].map(|()| Err(error.clone())));
            let refused = |e: CheckpointError| matches!(e, CheckpointError::Failed { .. });
            assert!(sim.save().is_err_and(refused) && sim.checkpoint().is_err_and(refused));
            sim.restore(&saved).expect("the same simulation");
            let mut plain = Simulation::new(model(case, false), Options::default()).expect("one");
            for sim in [&mut sim, &mut plain] {
                sim.run_through(11).expect("nothing goes wrong yet");
            }
            assert_eq!(sim.trace_hash(), plain.trace_hash(), "{case:?} {settings:?}");
        }
    }
}
