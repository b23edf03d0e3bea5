//! P30-P32 and the rest of R12: changes of structure.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Coupled, Effects, Outbox,
    error::RunError,
    structure::{Change, PortOf},
    time::{Duration, Tag},
};
use superdense_tests::{
    MS, S,
    machine::Machine,
    parts::{Gen, Proc, Sink},
    record::Run,
    unit::{Unit, add, chain, input, output, wire},
};

/// Emits `value` every `period` while it may, and asks for changes by its number of firings.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Director {
    period: i64,
    fired: u32,
    emits: u32,
    play: u8,
    label: String,
}

impl Director {
    fn new(play: u8) -> Self {
        Self { period: S, fired: 0, emits: 0, play, label: String::new() }
    }
}

fn add_atomic(parent: &str, name: String, machine: impl Machine) -> Change<i64> {
    let component = Component::atomic(Unit::new(machine));
    Change::Add { parent: parent.into(), name: name.into(), component }
}

fn couple(parent: &str, from: PortOf, to: PortOf) -> Change<i64> {
    Change::Couple { parent: parent.into(), from, to, translation: None }
}

fn remove(path: &str) -> Change<i64> {
    Change::Remove { path: path.into() }
}

impl Atomic<i64> for Director {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.period)
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        if self.fired < self.emits {
            out.send(output::<Self>(0), 1);
        }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.fired += 1;
        match (self.play, self.fired) {
            (GOLDEN, 1) => golden_changes(fx),
            (LABELLED, k) => {
                fx.change(add_atomic("", format!("{}[{k}]", self.label), Gen::every(S)));
            }
            (GROW, k) => fx.change(add_atomic("", format!("a[{k}]"), Gen::every(S))),
            (SHRINK, k @ 1..=10) => fx.change(remove(&format!("a[{}]", k - 1))),
            (REMOVE_K, 2) => fx.change(remove("k")),
            (REPLACE, k) => {
                fx.change(remove("p"));
                fx.change(add_atomic("", "p".into(), Proc::new(S / 2)));
                fx.change(couple("", PortOf::child("gen", 0), PortOf::child("p", 0)));
                if k == 3 {
                    fx.stop("replaced thrice");
                }
            }
            (BROKEN, 1) => fx.change(remove("nobody")),
            (BAD_WIRE, 1) => {
                fx.change(couple("", PortOf::child("k", 0), PortOf::child("k", 0)));
            }
            (COME_AND_GO, k) => {
                let name = format!("guest[{}]", k / 2);
                if k % 2 == 1 {
                    fx.change(add_atomic("", name, Gen::every(S / 7)));
                } else {
                    fx.change(remove(&format!("guest[{}]", (k - 1) / 2)));
                }
            }
            (IMMINENT, 1) => {
                fx.change(add_atomic("", "now".into(), Gen::once(0, 5)));
                fx.change(couple("", PortOf::child("now", 0), PortOf::child("k", 0)));
            }
            (REWIRE, 2) => {
                let ends = || (PortOf::child("gen", 0), PortOf::child("k", 0));
                fx.change(Change::Decouple { parent: String::new(), from: ends().0, to: ends().1 });
            }
            _ => {}
        }
    }
}

const GOLDEN: u8 = 0;
const GROW: u8 = 1;
const SHRINK: u8 = 2;
const REMOVE_K: u8 = 3;
const REPLACE: u8 = 4;
const BROKEN: u8 = 5;
const BAD_WIRE: u8 = 6;
const COME_AND_GO: u8 = 7;
const IMMINENT: u8 = 8;
const REWIRE: u8 = 9;
const LABELLED: u8 = 10;
const NONE: u8 = 99;

fn golden_changes(fx: &mut Effects<i64>) {
    let p2 = || PortOf::child("p2b", 0);
    fx.change(remove("p2"));
    fx.change(add_atomic("", "p2b".into(), Proc::new(S)));
    fx.change(couple("", p2(), PortOf::child("p3", 0)));
    let mut stages = Coupled::new();
    let inp = stages.add_input::<i64>("in");
    let row: Vec<_> =
        (0..3).map(|i| stages.add(("stage", i), Unit::new(Proc::new(200 * MS))).any()).collect();
    stages.couple(inp.inside(), row[0].input(input(0)));
    chain(&mut stages, &row);
    let name = "stages".into();
    fx.change(Change::Add { parent: String::new(), name, component: stages.into() });
    fx.change(couple("", PortOf::child("p3", 0), PortOf::child("stages", 0)));
    let e = Component::with_elapsed(Unit::new(Gen::once(S, 9)), Duration::from_ticks(300 * MS));
    fx.change(Change::Add { parent: String::new(), name: "e".into(), component: e });
    fx.change(Change::CloseOutput { path: "gen".into(), port: 0 });
}

#[test]
fn p30_dynamic_structure() {
    let mut top = Coupled::new();
    let director = Director { emits: 1, ..Director::new(GOLDEN) };
    let half = Duration::from_ticks(S / 2);
    let g = top.add_component("gen", Component::with_elapsed(director, half));
    let p2 = add(&mut top, "p2", Proc::new(S));
    let p3 = add(&mut top, "p3", Proc::new(S));
    wire(&mut top, (g, 0), (p2, 0));
    wire(&mut top, (g, 0), (p3, 0));
    wire(&mut top, (p2, 0), (p3, 0));
    let run = Run::through(top, 5 * S);
    let rows: Vec<_> = run
        .tape()
        .records
        .iter()
        .map(|r| (r.t / (100 * MS), r.n, r.model.clone(), r.kind, r.sent()))
        .collect();
    let expected = [
        (5, "gen", "INT", vec![1]),
        (5, "p2", "EXT", vec![]),
        (5, "p3", "EXT", vec![]),
        (12, "e", "INT", vec![9]),
        (15, "gen", "INT", vec![]),
        (15, "p3", "INT", vec![1]),
        (15, "stages/stage[0]", "EXT", vec![]),
        (17, "stages/stage[0]", "INT", vec![1]),
        (17, "stages/stage[1]", "EXT", vec![]),
        (19, "stages/stage[1]", "INT", vec![1]),
        (19, "stages/stage[2]", "EXT", vec![]),
        (21, "stages/stage[2]", "INT", vec![1]),
        (25, "gen", "INT", vec![]),
        (35, "gen", "INT", vec![]),
        (45, "gen", "INT", vec![]),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(t, m, k, out)| (t, 0, m.to_owned(), k, out)).collect();
    assert_eq!(rows, expected);
    let at: Vec<Tag> = run.tape().changes.iter().map(|c| c.0).collect();
    assert_eq!(at, [Tag::new(S / 2, 0); 7]);
    assert_eq!(run.sim.models(), 7);
}

#[test]
fn p31_add() {
    let mut top = Coupled::new();
    top.add("s", Director::new(GROW));
    add(&mut top, "a[0]", Gen::every(S));
    let run = Run::through(top, 12 * S);
    for k in 1..=12i64 {
        let fired = run.tape().records.iter().filter(|r| r.t == k * S && r.model != "s").count();
        assert_eq!(fired as i64, k);
    }
    assert_eq!(run.sim.models(), 1 + 13);
    assert!(run.tape().records.iter().all(|r| r.n == 0 && r.kind == "INT"));
}

#[test]
fn p31_remove() {
    let mut top = Coupled::new();
    top.add("s", Director::new(SHRINK));
    for i in 0..10 {
        top.add(("a", i), Unit::new(Gen::every(S)));
    }
    let mut run = Run::new(top);
    for k in 1..=12i64 {
        run.sim.run_through(k * S).unwrap();
        let fired =
            run.tape().records.iter().filter(|r| r.t == k * S && r.model != "s").count() as i64;
        let left = run.sim.models() as i64 - 1;
        assert_eq!((fired, left), ((11 - k).max(0), (10 - k).max(0)));
    }
}

#[test]
fn p32_message_to_a_model_removed_in_the_same_cycle() {
    let mut top = Coupled::new();
    let a = top.add("a", Director { emits: 9, ..Director::new(REMOVE_K) });
    let k = add(&mut top, "k", Sink::default());
    top.couple(a.output(output(0)), k.input(input(0)));
    let run = Run::through(top, 5 * S);
    assert_eq!(run.received("k").iter().map(|h| h.0).collect::<Vec<_>>(), [(S, 0), (2 * S, 0)]);
    assert_eq!(run.of("a").len(), 5);
}

#[test]
fn r12_replaced_under_one_name() {
    let mut top = Coupled::new();
    top.add("director", Director::new(REPLACE));
    let g = add(&mut top, "gen", Gen::every(S / 4));
    let p = add(&mut top, "p", Proc::new(S / 2));
    chain(&mut top, &[g, p]);
    let mut run = Run::new(top);
    let ended = run.sim.run_through(10 * S).unwrap();
    assert_eq!(ended, superdense_kernel::Ended::Stopped("replaced thrice".into()));
    assert_eq!(run.tape().stopped.as_deref(), Some("replaced thrice"));
    assert_eq!(run.sim.now(), Tag::new(3 * S, 0));
    // Every new p starts empty: it hears only what comes after the cycle that made it.
    let next: Vec<_> = run.of("p").iter().map(|r| r.kind).collect();
    assert!(next.iter().all(|&k| k == "EXT"), "a busy p restarts: {next:?}");
}

#[test]
fn r12_refused_changes() {
    for (play, words) in [(BROKEN, "'nobody'"), (BAD_WIRE, "to itself")] {
        let mut top = Coupled::new();
        top.add("director", Director::new(play));
        add(&mut top, "k", Proc::new(1));
        let mut run = Run::new(top);
        let error = run.sim.run_through(10 * S).unwrap_err();
        let text = error.to_string();
        let RunError::Structure { path, at, .. } = &error else { panic!("{text}") };
        assert_eq!((path.as_str(), *at), ("director", Tag::new(S, 0)));
        assert!(text.contains(words), "{text}");
        assert_eq!(run.sim.run_through(20 * S).unwrap_err(), error);
    }
}

/// A new model may be imminent from the next micro-step, over new couplings.
#[test]
fn r12_new_models_are_imminent_at_the_next_micro_step() {
    let mut top = Coupled::new();
    top.add("director", Director::new(IMMINENT));
    add(&mut top, "k", Sink::default());
    let run = Run::through(top, 2 * S);
    assert_eq!(run.received("k"), [((S, 1), vec![5])]);
}

#[test]
fn r12_a_removed_coupling_routes_to_the_end_of_the_cycle() {
    let mut top = Coupled::new();
    top.add("director", Director::new(REWIRE));
    let g = add(&mut top, "gen", Gen::every(S));
    let k = add(&mut top, "k", Sink::default());
    chain(&mut top, &[g, k]);
    let run = Run::through(top, 5 * S);
    assert_eq!(run.received("k").len(), 2);
    assert_eq!(run.sent("gen").len(), 5);
}

/// Property 18: what comes and goes without couplings is no matter to the others.
#[test]
fn r12_an_unconnected_guest_changes_nothing_for_others() {
    let model = |play| {
        let mut top = Coupled::new();
        top.add("director", Director::new(play));
        let mut row = vec![add(&mut top, "source", Gen::every(S / 10))];
        // Names on both sides of the guests, so that numbers move.
        row.extend((0..5).map(|i| {
            let name = ["alpha", "zeta", "beta", "omega", "gamma"][i];
            add(&mut top, name, Proc::new(S / 10 * i as i64))
        }));
        chain(&mut top, &row);
        top
    };
    let (quiet, guests) =
        (Run::through(model(NONE), 9 * S), Run::through(model(COME_AND_GO), 9 * S));
    let others = |run: &Run| -> Vec<_> {
        run.tape().records.into_iter().filter(|r| !r.model.starts_with("guest")).collect()
    };
    assert_eq!(others(&quiet), others(&guests));
    assert!(guests.tape().records.iter().any(|r| r.model == "guest[0]"));
    for name in ["alpha", "zeta", "beta", "omega", "gamma", "source", "director"] {
        assert_eq!(quiet.sim.model_hash(name), guests.sim.model_hash(name), "{name}");
    }
    assert_ne!(quiet.sim.trace_hash(), guests.sim.trace_hash());
}

/// Two models that ask in the same cycle are served in path order, whatever the declaration.
#[test]
fn r12_changes_in_canonical_order() {
    let run = |names: [&'static str; 2]| {
        let mut top = Coupled::new();
        for name in names {
            let label = format!("of {name}");
            top.add(name, Director { label, ..Director::new(LABELLED) });
        }
        Run::through(top, 3 * S)
    };
    let (one, other) = (run(["x", "y"]), run(["y", "x"]));
    let lines: Vec<String> = one.tape().changes.iter().map(|c| c.1.clone()).collect();
    assert_eq!(lines[..2], ["add /of x[1]", "add /of y[1]"]);
    assert_eq!(one.tape().changes, other.tape().changes);
    assert_eq!(one.tape().records, other.tape().records);
    assert_eq!(one.sim.trace_hash(), other.sim.trace_hash());
}

/// A child added to a coupled model deep inside, and found again by its path.
#[test]
fn r12_probing_and_finding_after_changes() {
    let mut top = Coupled::new();
    top.add("s", Director::new(GROW));
    let mut run = Run::new(top);
    run.sim.run_through(3 * S).unwrap();
    let key = run.sim.find("a[2]").unwrap();
    run.sim.run_through(6 * S).unwrap();
    assert_eq!(run.sim.find("a[2]"), Some(key));
    assert_eq!(run.sim.probe(key, 0, 6 * S), None);
    let paths: Vec<String> = run.sim.paths().collect();
    assert_eq!(paths, ["a[1]", "a[2]", "a[3]", "a[4]", "a[5]", "a[6]", "s"]);
}
