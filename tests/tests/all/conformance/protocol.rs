//! P23: the three calls `next`, `emit`, `commit`, by which a run is a unit of another.
use std::ops::ControlFlow;
use superdense_kernel::{
    Coupled, Ended,
    error::RunError,
    time::Tag,
    trace::{Observer, Verdict},
};
use superdense_tests::{
    parts::{Gen, Proc, Sink},
    record::Run,
    unit::{add, any_input, chain, input, output},
};

/// in → p (4 ticks) → out, and a generator every 10 ticks → out.
fn model() -> Coupled<i64> {
    let mut top = Coupled::new();
    let inp = top.add_input::<i64>("in");
    let out = top.add_output::<i64>("out");
    let p = add(&mut top, "p", Proc::new(4));
    let g = add(&mut top, "g", Gen::every(10).value(7));
    top.couple(inp.inside(), p.input(input(0)));
    top.couple(p.output(output(0)), out.inside());
    top.couple_with(g.output(output(0)), out.inside(), "*2", |v: &i64| Some(v * 2));
    top
}

#[test]
fn p23_protocol_errors() {
    let mut run = Run::new(model());
    let sim = &mut run.sim;
    assert_eq!(sim.next(), Ok(Tag::new(10, 0)));
    // Outputs before tN: none. After: an error.
    assert_eq!(sim.emit(9), Ok(vec![]));
    assert!(matches!(sim.emit(11), Err(RunError::Skipped { asked: 11, .. })));
    // A transition after tN without stopping there: an error.
    assert!(matches!(sim.commit(11, vec![]), Err(RunError::Skipped { asked: 11, .. })));
    assert_eq!(sim.emit(10), Ok(vec![(0, 14)]));
    assert_eq!(sim.commit(10, vec![]), Ok(Tag::new(10, 0)));
    // A transition before tL: an error.
    assert!(matches!(sim.commit(9, vec![(0, 1)]), Err(RunError::Past { asked: 9, .. })));
    assert_eq!(sim.next(), Ok(Tag::new(20, 0)));
    assert_eq!(run.tape().cycles, [(10, 0)]);
}

#[test]
fn p23_inputs_join_or_have_their_own_cycle() {
    let mut run = Run::new(model());
    let sim = &mut run.sim;
    assert_eq!(sim.commit(6, vec![(0, 5)]), Ok(Tag::new(6, 0)));
    assert_eq!(sim.next(), Ok(Tag::new(10, 0)));
    // p is due with the generator, and gets the next job in the same cycle: confluent.
    assert_eq!(sim.emit(10), Ok(vec![(0, 14), (0, 5)]));
    assert_eq!(sim.emit(10), Ok(vec![(0, 14), (0, 5)]), "emitting twice changes nothing");
    assert_eq!(sim.commit(10, vec![(0, 6)]), Ok(Tag::new(10, 0)));
    // At the same instant again: the next micro-step.
    assert_eq!(sim.commit(10, vec![(0, 8)]), Ok(Tag::new(10, 1)));
    assert!(sim.commit(10, vec![(3, 8)]).is_err(), "no such input port of the root");
    let kinds: Vec<_> = run.of("p").iter().map(|r| (r.tag(), r.kind)).collect();
    assert_eq!(kinds, [((6, 0), "EXT"), ((10, 0), "CONF"), ((10, 1), "EXT")]);
    assert_eq!(run.of("p")[2].next, Some((14, 0)));
}

/// An emitted cycle is staged: whatever comes next completes it, and inputs join it.
#[test]
fn p23_an_emitted_cycle_is_not_lost() {
    type Finish = fn(&mut Run);
    let ways: [Finish; 4] = [
        |run| assert_eq!(run.sim.step(100), Ok(Some(Tag::new(10, 0)))),
        |run| assert_eq!(run.sim.run_through(10), Ok(Ended::Reached)),
        |run| assert_eq!(run.sim.commit(10, vec![]), Ok(Tag::new(10, 0))),
        |run| {
            assert_eq!(run.sim.next(), Ok(Tag::new(10, 0)));
            assert_eq!(run.sim.run_until(11), Ok(Ended::Reached));
        },
    ];
    for finish in ways {
        let mut run = Run::new(model());
        run.sim.emit(10).unwrap();
        assert!(run.sim.commit(9, vec![(0, 1)]).is_err());
        assert_eq!(run.sim.step(9), Ok(None));
        run.sim.inject("p", any_input(0), 10, 3).unwrap();
        finish(&mut run);
        assert_eq!(run.tape().cycles, [(10, 0)]);
        assert_eq!(run.received("p"), [((10, 0), vec![3])]);
        run.sim.run_through(20).unwrap();
        assert_eq!(run.tape().cycles, [(10, 0), (14, 0), (20, 0)]);
    }
}

/// Nothing that arrives nowhere takes a tag (property 13).
#[test]
fn p23_an_empty_commit_leaves_no_mark() {
    let mut top = model();
    let dropped = top.add_input::<i64>("dropped");
    let k = add(&mut top, "k", Sink::default());
    top.couple_with(dropped.inside(), k.input(input(0)), "drop", |_: &i64| None::<i64>);
    let mut run = Run::new(top);
    run.sim.commit(5, vec![]).unwrap();
    assert_eq!(run.sim.clock(), 5);
    run.sim.commit(5, vec![(1, 9)]).unwrap();
    assert_eq!(run.sim.commit(5, vec![(0, 9), (1, 9)]), Ok(Tag::new(5, 0)));
    run.sim.run_through(10).unwrap();
    run.sim.commit(10, vec![(1, 9)]).unwrap();
    assert_eq!(run.sim.commit(10, vec![(0, 9)]), Ok(Tag::new(10, 1)));
    assert_eq!(run.tape().cycles, [(5, 0), (9, 0), (10, 0), (10, 1)]);
    assert_eq!(run.sim.counts().cycles, 4);
}

/// A closed run driven by the three calls is the same run.
#[test]
fn p23_step_by_step_is_the_same_run() {
    let model = || {
        let mut top = Coupled::new();
        let g = add(&mut top, "g", Gen::every(3));
        let row: Vec<_> = std::iter::once(g)
            .chain((0..4).map(|i| {
                let unit = superdense_tests::unit::Unit::new(Proc::new(i as i64 % 3));
                top.add(("p", i), unit).any()
            }))
            .collect();
        chain(&mut top, &row);
        top
    };
    let whole = Run::through(model(), 50);
    let mut parts = Run::new(model());
    loop {
        let next = parts.sim.next().unwrap();
        if next.ticks > 50 {
            break;
        }
        parts.sim.emit(next.ticks).unwrap();
        assert_eq!(parts.sim.commit(next.ticks, vec![]), Ok(next));
    }
    assert_eq!(parts.tape().records, whole.tape().records);
    assert_eq!(parts.sim.trace_hash(), whole.sim.trace_hash());
}

/// Stops the run at a cycle.
struct Stopper(i64);
impl Observer<i64> for Stopper {
    fn cycle(&mut self, tag: Tag) -> Verdict {
        if tag.ticks == self.0 {
            return ControlFlow::Break(format!("seen {tag}"));
        }
        ControlFlow::Continue(())
    }
}

/// A stop ends the run after its cycle, whichever call ran the cycle, and the run can go on.
#[test]
fn p23_stops() {
    let stopped = || Ended::Stopped("seen (20, 0)".into());
    let mut run = Run::new(model());
    run.sim.observe(Stopper(20));
    assert_eq!(run.sim.run_through(100), Ok(stopped()));
    assert_eq!((run.sim.now(), run.sim.clock()), (Tag::new(20, 0), 20));
    assert_eq!(run.tape().stopped.as_deref(), Some("seen (20, 0)"));
    assert_eq!(run.sim.run_through(100), Ok(Ended::Reached));
    assert_eq!(run.tape().cycles.len(), 10);

    let mut run = Run::new(model());
    run.sim.observe(Stopper(20));
    assert_eq!(run.sim.step(100), Ok(Some(Tag::new(10, 0))));
    assert_eq!(run.sim.stop_requested(), None);
    assert_eq!(run.sim.step(100), Ok(Some(Tag::new(20, 0))));
    assert_eq!(run.sim.stop_requested(), Some("seen (20, 0)"));
    assert_eq!(run.sim.run_through(100), Ok(stopped()));
    assert_eq!((run.sim.now(), run.sim.stop_requested()), (Tag::new(20, 0), None));
}
