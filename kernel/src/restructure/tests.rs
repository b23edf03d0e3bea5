//! Changes of structure that fail, leave something behind, or are in checkpoints.
use crate::{
    Atomic, Bag, Component, Coupled, Effects, Outbox, Simulation,
    error::BuildErrors,
    path::Name,
    port::{InPort, OutPort},
    structure::{Change, PortOf},
    time::{Duration, Resolution, TimeError},
    translation::Translation,
};
use serde::{Deserialize, Serialize};

/// Counts; asks for changes, of which the last is a mistake, when it has counted so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Clock {
    period: i64,
    count: u32,
    fails_at: u32,
}

impl Clock {
    fn new(period: i64, fails_at: u32) -> Self {
        Self { period, count: 0, fails_at }
    }
}

impl Atomic<u32> for Clock {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.period)
    }
    fn internal(&mut self, fx: &mut Effects<u32>) {
        self.count += 1;
        if self.count == self.fails_at {
            let component = Component::atomic(Clock::new(2, 0));
            let (parent, name) = (String::new(), "guest".into());
            fx.change(Change::Add { parent, name, component });
            fx.change(Change::Remove { path: "b".into() });
            fx.change(Change::Remove { path: "nobody".into() });
        }
    }
}

fn simulation() -> Simulation<u32> {
    let mut top = Coupled::new();
    top.add("a", Clock::new(10, 4));
    top.add("b", Clock::new(3, 0));
    top.add("c", Clock::new(7, 0));
    Simulation::new(top, Default::default()).expect("three clocks")
}

/// The effects of a change that turns out to be a mistake are undone with the rest.
#[test]
fn a_restored_simulation_knows_nothing_of_a_failed_change() {
    let mut expected = simulation();
    expected.run_through(39).expect("nothing fails yet");
    let mut sim = simulation();
    sim.run_through(15).expect("nothing fails yet");
    let saved = sim.save().expect("plain data");
    for workers in [0, 1, 2] {
        sim.run_through(50).expect_err("there is nobody of that name");
        sim.restore(&saved).expect("the same simulation");
        if workers == 0 {
            sim.run_through(39).expect("nothing fails yet");
        } else {
            let settings = crate::parallel::Settings { workers, ..Default::default() };
            sim.run_through_parallel(39, &settings).expect("nothing fails yet");
        }
        let counts = |sim: &Simulation<u32>| {
            ["a", "b", "c", "guest"].map(|path| Some(sim.model::<Clock>(path)?.count))
        };
        assert_eq!(counts(&sim), counts(&expected));
        assert_eq!(sim.trace_hash(), expected.trace_hash());
    }
}

const IN: InPort<u32> = InPort::new(0);
const OUT: OutPort<u32> = OutPort::new(0);

/// Asks for the changes of a list, one each period, again and again.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Builder {
    changes: Vec<Wish>,
    done: usize,
}

/// A change, as a model asks for it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Wish {
    /// A coupled model with a translation inside, and a name of its own.
    AddGroup,
    RemoveGroup,
    /// A coupling from `ticker` to `sink` through a translation.
    Couple,
    Decouple,
    /// Closes the output of the coupled model `group`, inside of which `ticker` leads there.
    Close,
    /// Couples it again.
    Open,
    /// Removes the coupling inside.
    CutInside,
    /// Counts for nothing.
    Nothing,
}

fn add_one() -> Translation<u32> {
    Translation::new("add1", |x: &u32| Some(x + 1))
}

/// A ticker in a group, whose output adds `add` to what leaves.
fn group(add: u32) -> Coupled<u32> {
    let mut group = Coupled::new();
    let out = group.add_output::<u32>("out");
    let ticker = group.add("ticker", Ticker).any();
    group.couple_with(ticker.output(OUT), out.inside(), "add", move |x: &u32| Some(x + add));
    group
}

impl Builder {
    fn change(&self, wish: Wish) -> Option<Change<u32>> {
        let root = String::new;
        let name = |k: usize| Name::from(format!("group{k}"));
        Some(match wish {
            Wish::AddGroup => {
                let component = group(1).into();
                Change::Add { parent: root(), name: name(self.done), component }
            }
            Wish::RemoveGroup => Change::Remove { path: name(self.done - 1).to_string() },
            Wish::Couple => {
                let (from, to) = (PortOf::child("ticker", 0), PortOf::child("sink", 0));
                Change::Couple { parent: root(), from, to, translation: Some(add_one()) }
            }
            Wish::Decouple => {
                let (from, to) = (PortOf::child("ticker", 0), PortOf::child("sink", 0));
                Change::Decouple { parent: root(), from, to }
            }
            Wish::Close => Change::CloseOutput { path: "group".into(), port: 0 },
            Wish::Open => {
                let (from, to) = (PortOf::child("group", 0), PortOf::child("sink", 0));
                Change::Couple { parent: root(), from, to, translation: None }
            }
            Wish::CutInside => {
                let (from, to) = (PortOf::child("ticker", 0), PortOf::own(0));
                Change::Decouple { parent: "group".into(), from, to }
            }
            Wish::Nothing => return None,
        })
    }
}

impl Atomic<u32> for Builder {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(10)
    }
    fn internal(&mut self, fx: &mut Effects<u32>) {
        let wish = self.changes[self.done % self.changes.len()];
        if let Some(change) = self.change(wish) {
            fx.change(change);
        }
        self.done += 1;
    }
}

/// Sends 5 every ten ticks.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ticker;

impl Atomic<u32> for Ticker {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(10)
    }
    fn output(&self, out: &mut Outbox<'_, u32>) {
        out.send(OUT, 5);
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sink(Vec<(i64, u32)>);

impl Atomic<u32> for Sink {
    fn inputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::INFINITE
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, u32>, fx: &mut Effects<u32>) {
        let now = fx.now().ticks;
        self.0.extend(bag.on(IN).map(|&x| (now, x)));
    }
}

fn changing(changes: &[Wish]) -> Simulation<u32> {
    let mut top = Coupled::new();
    top.add("builder", Builder { changes: changes.to_vec(), done: 0 });
    top.add("ticker", Ticker);
    let group = top.add_component("group", group(100));
    let sink = top.add("sink", Sink(Vec::new())).any();
    top.couple(group.output(OUT), sink.input(IN));
    Simulation::new(top, Default::default()).expect("a model")
}

fn heard(sim: &Simulation<u32>) -> Vec<(i64, u32)> {
    sim.model::<Sink>("sink").expect("it is there").0.clone()
}

/// A closed output of a coupled model delivers again once it is coupled again.
#[test]
fn what_leads_to_a_closed_output_inside_stays() {
    use Wish::{Close, CutInside, Nothing, Open};
    let mut sim = changing(&[Nothing, Close, Nothing, Open, Nothing, Nothing]);
    sim.run_through(60).expect("proper changes");
    assert_eq!(heard(&sim), [10, 20, 50, 60].map(|at| (at, 105)));
    // Whoever wants it gone inside, too, removes it there.
    let mut sim = changing(&[Nothing, Close, CutInside, Open, Nothing, Nothing]);
    sim.run_through(60).expect("proper changes");
    assert_eq!(heard(&sim), [10, 20].map(|at| (at, 105)));
    // Inside alone.
    let mut sim = changing(&[CutInside, Nothing, Nothing, Nothing, Nothing, Nothing]);
    sim.run_through(60).expect("proper changes");
    assert_eq!(heard(&sim), [(10, 105)]);
}

/// Changes leave nothing behind: neither translations nor names.
#[test]
fn changes_cost_the_next_ones_nothing() {
    use Wish::{AddGroup, Couple, Decouple, RemoveGroup};
    let changes = std::env::var("SUPERDENSE_SOAK").ok().and_then(|n| n.parse::<f64>().ok());
    let changes = changes.unwrap_or(4e3) as i64;
    let mut sim = changing(&[AddGroup, RemoveGroup, Couple, Decouple]);
    for part in 1..=10 {
        let begun = std::time::Instant::now();
        sim.run_through(changes * part).expect("proper changes");
        let each = begun.elapsed().as_nanos() as i64 / changes * 10;
        println!("{each} ns for each change; {:?}", sim.core.blueprint.kept());
        let (translations, stems) = sim.core.blueprint.kept();
        assert!(translations < 40 && stems < 60, "{translations} translations, {stems} names");
    }
}

/// A run whose changes made translations is resumed as if it had not been interrupted, if these are
/// declared; else it is not written.
#[test]
fn translations_made_at_run_time_are_in_checkpoints_if_they_are_declared() {
    use Wish::{AddGroup, Couple, Nothing};
    let changes = [AddGroup, Couple, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing];
    let declared = |declares: bool| {
        let mut sim = changing(&changes);
        if declares {
            sim.declare_translation(add_one());
        }
        sim
    };
    let mut undeclared = declared(false);
    undeclared.run_through(15).expect("proper changes");
    // `add` is the name of a function of the build.
    undeclared.checkpoint().expect("nothing is unknown yet");
    undeclared.run_through(25).expect("proper changes");
    let refused = undeclared.checkpoint().expect_err("`add1` is not known").to_string();
    assert!(refused.contains("ticker.0 -> sink.0: translation 'add1'"), "{refused}");
    assert!(refused.contains("Simulation::declare_translation"), "{refused}");

    let mut sim = declared(true);
    sim.run_through(25).expect("proper changes");
    let bytes = sim.checkpoint().expect("all is known");
    let refused = declared(false).resume(&bytes).expect_err("`add1` is not known").to_string();
    assert!(refused.contains("translation 'add1' is not known"), "{refused}");
    let mut other = declared(true);
    other.resume(&bytes).expect("all is known");
    for sim in [&mut sim, &mut other] {
        sim.run_through(70).expect("no error");
    }
    assert_eq!((other.trace_hash(), other.counts()), (sim.trace_hash(), sim.counts()));
    assert_eq!(heard(&other), heard(&sim));
    assert!(heard(&sim).contains(&(70, 6)), "{:?}", heard(&sim));
}

/// A name that stands for several functions cannot be found again.
#[test]
fn names_of_several_functions_are_refused_in_checkpoints() {
    let run = |second: fn() -> Translation<u32>| {
        let mut sim = changing(&[Wish::Couple, Wish::Nothing]);
        sim.declare_translation(add_one());
        sim.declare_translation(second());
        sim.run_through(15).expect("proper changes");
        sim.checkpoint()
    };
    // Twice the same one.
    run(add_one).expect("all is known");
    let other = || Translation::new("add1", |x: &u32| Some(x + 7));
    let refused = run(other).expect_err("two functions").to_string();
    assert!(refused.contains("is the name of several functions"), "{refused}");
}

/// Asks for changes by paths from where it is, of which some are refused, and notes how it is told.
#[derive(Clone, Serialize, Deserialize)]
struct Planner {
    due: Option<i64>,
    told: Vec<String>,
}

impl Planner {
    fn new() -> Self {
        Self { due: Some(5), told: Vec::new() }
    }
}

/// A group with an output, inside of which is a wire to a port that is not there.
fn faulty() -> Component<u32> {
    let mut group = Coupled::new();
    let out = group.add_output::<u32>("out");
    let ticker = group.add("ticker", Ticker).any();
    group.couple(ticker.output(OutPort::<u32>::new(9)), out.inside());
    group.into()
}

impl Atomic<u32> for Planner {
    fn time_advance(&self) -> Duration {
        self.due.map_or(Duration::INFINITE, Duration::from_ticks)
    }
    fn internal(&mut self, fx: &mut Effects<u32>) {
        self.due = None;
        if !self.told.is_empty() {
            return self.told.push(format!("again at {}", fx.now()));
        }
        let add = |parent: &str, name: &'static str, component| {
            let (parent, name) = (parent.to_owned(), name.into());
            Change::Add { parent, name, component }
        };
        let couple = |port| {
            let (parent, from) = (".".into(), PortOf::child("new", port));
            Change::Couple { parent, from, to: PortOf::own(0), translation: None }
        };
        fx.try_change(add(".", "new", Component::atomic(Ticker)));
        fx.try_change(couple(7));
        fx.try_change(couple(0));
        fx.try_change(add(".", "new", Component::atomic(Ticker)));
        fx.try_change(add("..", "bad", faulty()));
        fx.try_change(add("../..", "beyond", Component::atomic(Ticker)));
        fx.try_change(add("./..", "up", Component::atomic(Ticker)));
        fx.try_change(Change::Remove { path: "./old".into() });
        fx.try_change(Change::Remove { path: "./old".into() });
    }
    fn refused(&mut self, change: &str, why: &BuildErrors) {
        self.told.push(format!("{change}: {why}"));
        self.due = Some(2);
    }
}

fn planned() -> Simulation<u32> {
    let mut group = Coupled::new();
    group.add("planner", Planner::new());
    group.add("old", Ticker);
    group.add_output::<u32>("out");
    let mut top = Coupled::new();
    let group = top.add_component("group", group);
    let sink = top.add("sink", Sink(Vec::new())).any();
    top.couple(group.output(OUT), sink.input(IN));
    Simulation::new(top, Default::default()).expect("a model")
}

/// Models change what is around them without knowing where they are, and go on after a refusal.
#[test]
fn refused_changes_are_told_and_leave_nothing_behind() {
    for workers in [0, 2] {
        let mut sim = planned();
        if workers == 0 {
            sim.run_through(40).expect("refusals are no errors");
        } else {
            let settings = crate::parallel::Settings { workers, ..Default::default() };
            sim.run_through_parallel(40, &settings).expect("refusals are no errors");
        }
        let told = &sim.model::<Planner>("group/planner").expect("it is there").told;
        let lines = [
            "couple PortOf { child: Some(Name { stem: \"new\", index: None }), port: 7 } -> ",
            "add group/new: ",
            "add /bad: ",
            "../..: ",
            "remove group/old: ",
            "again at (7, 0)",
        ];
        assert_eq!(told.len(), lines.len(), "{told:#?}");
        for (told, line) in told.iter().zip(lines) {
            assert!(told.starts_with(line), "{told}");
        }
        let paths: Vec<String> = sim.paths().collect();
        assert_eq!(paths, ["group/new", "group/planner", "sink", "up"]);
        assert_eq!(heard(&sim), [15, 25, 35].map(|at| (at, 5)));
    }
}

/// A period in seconds, which becomes ticks when the run begins.
#[derive(Clone, Serialize, Deserialize)]
struct Period(f64, Duration, bool);

impl Atomic<u32> for Period {
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        self.1 = resolution.duration(self.0)?;
        Ok(())
    }
    fn time_advance(&self) -> Duration {
        self.1
    }
    fn internal(&mut self, fx: &mut Effects<u32>) {
        if std::mem::take(&mut self.2) {
            let (parent, name) = (".".into(), "b".into());
            let component = Component::atomic(Period(0.5, Duration::ZERO, false));
            fx.change(Change::Add { parent, name, component });
        }
    }
}

/// Models learn the resolution before their first event, whether they begin with the run or during it; saved ones
/// do not begin again.
#[test]
fn models_begin_with_the_resolution() {
    let build = |seconds, resolution| {
        let mut top = Coupled::new();
        top.add("a", Period(seconds, Duration::ZERO, true));
        let options = crate::Options { resolution, ..Default::default() };
        Simulation::new(top, options)
    };
    for (resolution, ticks) in [(Resolution::MICRO, 1_000_000), (Resolution::NANO, 1_000_000_000)] {
        let mut sim = build(2.0, resolution).expect("a model");
        sim.run_through(2 * ticks).expect("no error");
        let bytes = sim.checkpoint().expect("plain data");
        sim.run_through(4 * ticks).expect("no error");
        assert_eq!(sim.counts().internal, 2 + 4);
        let mut again = build(2.0, resolution).expect("a model");
        again.resume(&bytes).expect("the same model");
        again.run_through(4 * ticks).expect("no error");
        assert_eq!(again.trace_hash(), sim.trace_hash());
    }
    let error = build(1e-9, Resolution::MICRO).expect_err("below a tick").to_string();
    assert!(error.starts_with("a at (0, 0): "), "{error}");
}
