//! P1-P12: the models of the PythonPDEVS test suite, and counts at 40 s (P11: 200 s).
use superdense_kernel::{Coupled, Options, time::Tag};
use superdense_tests::{
    MS, S, golden,
    parts::{Gen, Proc},
    record::Run,
    unit::{Unit, input, output},
};

/// Generator in a coupled model of its own.
fn generator() -> Coupled<i64> {
    let mut c = Coupled::new();
    let out = c.add_output::<i64>("outport");
    let g = c.add("Generator", Unit::new(Gen::every(S)));
    c.couple(g.output(output(0)), out.inside());
    c
}

/// A row of processors, with +1 on the internal couplings when `z`.
fn processors(delay: i64, levels: usize, z: bool) -> Coupled<i64> {
    let mut c = Coupled::new();
    let (inp, out) = (c.add_input::<i64>("inport"), c.add_output::<i64>("outport"));
    let row: Vec<_> =
        (0..levels).map(|i| c.add(format!("Processor{i}"), Unit::new(Proc::new(delay)))).collect();
    for w in row.windows(2) {
        if z {
            c.couple_with(w[0].output(output(0)), w[1].input(input(0)), "+1", |v: &i64| {
                Some(v + 1)
            });
        } else {
            c.couple(w[0].output(output(0)), w[1].input(input(0)));
        }
    }
    c.couple(inp.inside(), row[0].input(input(0)));
    c.couple(row[levels - 1].output(output(0)), out.inside());
    c
}

/// Generator, two processors of `delay`, three of 0.3 s.
fn chain(delay: i64) -> Coupled<i64> {
    let mut top = Coupled::new();
    let g = top.add_component("CoupledGenerator", generator());
    let a = top.add_component("CoupledProcessor_2", processors(delay, 2, false));
    let b = top.add_component("CoupledProcessor_3", processors(300 * MS, 3, false));
    top.couple(g.output(output(0)), a.input(input(0)));
    top.couple(a.output(output(0)), b.input(input(0)));
    top
}

/// cycles, INT, EXT, CONF, largest micro-step.
type Counts = (u64, u64, u64, u64, u32);

fn counts(run: &Run) -> Counts {
    let (c, tape) = (run.sim.counts(), run.tape());
    assert_eq!(tape.cycles.len() as u64, c.cycles);
    let of = |kind| tape.records.iter().filter(|r| r.kind == kind).count() as u64;
    assert_eq!((of("INT"), of("EXT"), of("CONF")), (c.internal, c.external, c.confluent));
    let micro = tape.cycles.iter().map(|c| c.1).max().unwrap_or(0);
    (c.cycles, c.internal, c.external, c.confluent, micro)
}

fn check(top: Coupled<i64>, through: i64, expected: Counts, golden: Option<(&str, &str)>) -> Run {
    let run = Run::through(top, through * S);
    assert_eq!(counts(&run), expected);
    if let Some((name, root)) = golden {
        golden::compare(name, root, &run.tape());
    }
    run
}

/// The record of one model at one tag: kind, inputs, outputs, next.
fn at(run: &Run, tag: (i64, u32), model: &str) -> String {
    let records = run.tape().records;
    let found = records.iter().find(|r| r.tag() == tag && r.model == model);
    found.map_or("none".into(), |r| {
        format!("{} {:?} {:?} {:?}", r.kind, r.heard(), r.sent(), r.next)
    })
}

#[test]
fn p01_normal() {
    check(chain(660 * MS), 40, (230, 230, 193, 0, 0), Some(("normal", "Chain")));
}

#[test]
fn p02_confluent() {
    let run = check(chain(S), 40, (151, 151, 114, 77, 0), Some(("confluent", "Chain")));
    let tag = (2 * S, 0);
    let next = |t: i64| Some((t, 0u32));
    let p = |i| format!("CoupledProcessor_2/Processor{i}");
    assert_eq!(at(&run, tag, &p(0)), format!("CONF [1] [1] {:?}", next(3 * S)));
    assert_eq!(at(&run, tag, &p(1)), format!("EXT [1] [] {:?}", next(3 * S)));
    assert_eq!(
        at(&run, tag, "CoupledGenerator/Generator"),
        format!("INT [] [1] {:?}", next(3 * S))
    );
}

#[test]
fn p03_zero_lookahead() {
    let run = check(chain(0), 40, (237, 237, 198, 0, 2), Some(("zeroLookahead", "Chain")));
    let p = |i| format!("CoupledProcessor_2/Processor{i}");
    assert_eq!(at(&run, (S, 0), &p(0)), format!("EXT [1] [] {:?}", Some((S, 1))));
    assert_eq!(at(&run, (S, 1), &p(0)), "INT [] [1] None");
    assert_eq!(at(&run, (S, 1), &p(1)), format!("EXT [1] [] {:?}", Some((S, 2))));
    assert_eq!(at(&run, (S, 2), &p(1)), "INT [] [1] None");
    assert_eq!(
        at(&run, (S, 2), "CoupledProcessor_3/Processor0"),
        format!("EXT [1] [] {:?}", Some((S + 300 * MS, 0)))
    );
}

#[test]
fn p04_multi() {
    check(chain(500 * MS), 40, (193, 232, 194, 0, 0), Some(("multi", "Chain")));
}

#[test]
fn p05_dual() {
    let mut top = Coupled::new();
    let g = top.add_component("CoupledGenerator", generator());
    let a = top.add_component("CoupledProcessor_2", processors(660 * MS, 2, false));
    let b = top.add_component("CoupledProcessor_3", processors(300 * MS, 3, false));
    top.couple(g.output(output(0)), a.input(input(0)));
    top.couple(g.output(output(0)), b.input(input(0)));
    check(top, 40, (234, 234, 197, 0, 0), Some(("dual", "DualChain")));
}

#[test]
fn p06_dual_depth() {
    let mut deep = Coupled::new();
    let (inp, out) = (deep.add_input::<i64>("inport"), deep.add_output::<i64>("outport"));
    let a = deep.add_component("CoupledProcessor_1", processors(660 * MS, 1, false));
    let b = deep.add_component("CoupledProcessor_2", processors(660 * MS, 2, false));
    deep.couple(inp.inside(), a.input(input(0)));
    deep.couple(a.output(output(0)), b.input(input(0)));
    deep.couple(b.output(output(0)), out.inside());
    let mut top = Coupled::new();
    let g = top.add("Generator", Unit::new(Gen::every(S)));
    let p = top.add_component("DualDepthProcessor", deep);
    top.couple(g.output(output(0)), p.input(input(0)));
    check(top, 40, (155, 155, 117, 0, 0), None);
}

#[test]
fn p07_local() {
    let mut top = Coupled::new();
    let g = top.add("Generator", Unit::new(Gen::every(S)));
    let a = top.add_component("CoupledProcessor_2", processors(S, 2, false));
    let b = top.add_component("CoupledProcessor_3", processors(S, 3, false));
    top.couple(g.output(output(0)), a.input(input(0)));
    top.couple(a.output(output(0)), b.input(input(0)));
    check(top, 40, (40, 40, 5, 185, 0), Some(("local", "Local")));
}

/// One output into two input couplings of the same child.
fn double_layer() -> Coupled<i64> {
    let mut layer1 = Coupled::new();
    let inp = layer1.add_input::<i64>("inport");
    let p = layer1.add("Processor", Unit::new(Proc::new(300 * MS)));
    layer1.couple(inp.inside(), p.input(input(0)));
    let mut layer2 = Coupled::new();
    let (in1, in2) = (layer2.add_input::<i64>("inport1"), layer2.add_input::<i64>("inport2"));
    let lower = layer2.add_component("Layer1", layer1);
    layer2.couple(in1.inside(), lower.input(input(0)));
    layer2.couple(in2.inside(), lower.input(input(0)));
    let mut top = Coupled::new();
    let lower = top.add_component("Layer2", layer2);
    let g = top.add("Generator", Unit::new(Gen::every(S)));
    top.couple(g.output(output(0)), lower.input(input(0)));
    top.couple(g.output(output(0)), lower.input(input(1)));
    top
}

#[test]
fn p08_double_layer() {
    let run = check(double_layer(), 40, (79, 79, 40, 0, 0), Some(("doublelayer", "Root")));
    assert_eq!(run.received("Layer2/Layer1/Processor")[0], ((S, 0), vec![1, 1]));
}

fn multi_inputs() -> Coupled<i64> {
    let mut top = Coupled::new();
    let g = top.add("Generator", Unit::new(Gen::every(S)));
    let processor = || Unit::new(Proc::new(300 * MS));
    let first: Vec<_> = (0..5).map(|i| top.add(format!("1-{i}"), processor())).collect();
    let second: Vec<_> = (0..2).map(|i| top.add(format!("2-{i}"), processor())).collect();
    for &a in &first {
        top.couple(g.output(output(0)), a.input(input(0)));
        for &b in &second {
            top.couple(a.output(output(0)), b.input(input(0)));
        }
    }
    top
}

#[test]
fn p09_multi_inputs() {
    let run = check(multi_inputs(), 40, (118, 313, 278, 0, 0), None);
    for second in ["2-0", "2-1"] {
        assert_eq!(run.received(second)[0], ((1300 * MS, 0), vec![1; 5]));
    }
}

#[test]
fn p10_dual_mp() {
    let mut mp = Coupled::new();
    let inp = mp.add_input::<i64>("inport");
    let p: Vec<_> =
        (1..=4).map(|i| mp.add(format!("Processor{i}"), Unit::new(Proc::new(660 * MS)))).collect();
    for (head, tail) in [(0, 1), (2, 3)] {
        mp.couple(inp.inside(), p[head].input(input(0)));
        mp.couple(p[head].output(output(0)), p[tail].input(input(0)));
    }
    let mut top = Coupled::new();
    let g = top.add_component("CoupledGenerator", generator());
    let mp = top.add_component("CoupledProcessorMP", mp);
    top.couple(g.output(output(0)), mp.input(input(0)));
    check(top, 40, (117, 194, 158, 0, 0), None);
}

#[test]
fn p11_long_time() {
    let run = check(chain(660 * MS), 200, (1190, 1190, 993, 0, 0), None);
    // The first 40 s are P1.
    let short = Run::through(chain(660 * MS), 40 * S);
    let tape = run.tape();
    assert_eq!(tape.records[..short.tape().records.len()], short.tape().records);
}

fn translated() -> Coupled<i64> {
    let mut top = Coupled::new();
    let g = top.add("Generator", Unit::new(Gen::every(S)));
    let a = top.add_component("CoupledProcessor_1", processors(S, 4, true));
    let b = top.add_component("CoupledProcessor_2", processors(S, 4, true));
    top.couple(g.output(output(0)), a.input(input(0)));
    top.couple_with(g.output(output(0)), b.input(input(0)), "zero", |_: &i64| Some(0i64));
    top
}

#[test]
fn p12_translation_functions() {
    let run = check(translated(), 40, (40, 40, 8, 300, 0), Some(("z", "ROOT")));
    let third = |c| run.received(&format!("CoupledProcessor_{c}/Processor2"))[0].clone();
    assert_eq!((third(1), third(2)), (((3 * S, 0), vec![3]), ((3 * S, 0), vec![2])));
}

/// `run_until` leaves out the end, `run_through` takes it in with all its micro-steps (R9).
#[test]
fn r09_until_and_through() {
    let mut run = Run::new(chain(0));
    run.sim.run_until(S).unwrap();
    assert!(run.tape().cycles.is_empty());
    run.sim.run_through(S).unwrap();
    assert_eq!(run.tape().cycles, [(S, 0), (S, 1), (S, 2)]);
    assert_eq!(run.sim.now(), Tag::new(S, 2));
    run.sim.run_until(S).unwrap();
    assert_eq!(run.sim.clock(), S);
    run.sim.run_until(2 * S).unwrap();
    assert_eq!(run.sim.clock(), 2 * S);
}

/// Models give equal traces with every event list.
#[test]
fn golden_traces_with_every_event_list() {
    use superdense_kernel::event_list::EventListKind::{Heap, Ladder, Reference};
    for event_list in [Ladder, Heap, Reference] {
        let options = Options { event_list, ..Options::default() };
        let models = [
            ("normal", "Chain", chain(660 * MS)),
            ("confluent", "Chain", chain(S)),
            ("zeroLookahead", "Chain", chain(0)),
            ("doublelayer", "Root", double_layer()),
            ("z", "ROOT", translated()),
        ];
        for (name, root, top) in models {
            let mut run = Run::with(top, options).unwrap();
            run.sim.run_through(40 * S).unwrap();
            golden::compare(name, root, &run.tape());
        }
    }
}
