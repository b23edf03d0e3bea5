//! P29: DEVStone counts.
use superdense_kernel::{Coupled, Simulation};
use superdense_tests::{
    parts::Proc,
    unit::{Unit, input, output},
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Li,
    Hi,
    Ho,
}

fn stone(shape: Shape, depth: u32, width: usize) -> Coupled<i64> {
    let mut c = Coupled::new();
    let inp = c.add_input::<i64>("in");
    let in2 = (shape == Shape::Ho).then(|| c.add_input::<i64>("in2"));
    let out = c.add_output::<i64>("out");
    let out2 = (shape == Shape::Ho).then(|| c.add_output::<i64>("out2"));
    if depth == 1 {
        let a = c.add("atomic", Unit::new(Proc::new(0)));
        c.couple(inp.inside(), a.input(input(0)));
        c.couple(a.output(output(0)), out.inside());
        return c;
    }
    let inner = c.add_component("inner", stone(shape, depth - 1, width));
    c.couple(inp.inside(), inner.input(input(0)));
    c.couple(inner.output(output(0)), out.inside());
    if shape == Shape::Ho {
        c.couple(inp.inside(), inner.input(input(1)));
    }
    let atomics: Vec<_> =
        (1..width).map(|i| c.add(("atomic", i), Unit::new(Proc::new(0)))).collect();
    for a in &atomics {
        c.couple(in2.unwrap_or(inp).inside(), a.input(input(0)));
        if let Some(out2) = out2 {
            c.couple(a.output(output(0)), out2.inside());
        }
    }
    if shape != Shape::Li {
        for w in atomics.windows(2) {
            c.couple(w[0].output(output(0)), w[1].input(input(0)));
        }
    }
    c
}

/// (#int, #ext, last micro-step) after one event on every input of the root.
fn counts(shape: Shape, depth: u32, width: usize) -> (u64, u64, u32) {
    let mut sim = Simulation::new(stone(shape, depth, width), Default::default()).unwrap();
    let inputs = if shape == Shape::Ho { vec![(0, 1), (1, 1)] } else { vec![(0, 1)] };
    sim.commit(0, inputs).unwrap();
    sim.run_through(0).unwrap();
    let c = sim.counts();
    (c.internal + c.confluent, c.external + c.confluent, sim.now().micro)
}

#[test]
fn p29_devstone_counts() {
    for depth in 1..=6 {
        for width in 1..=10usize {
            let (d, w) = (u64::from(depth) - 1, width as u64);
            let li = (w - 1) * d + 1;
            let hi = w * (w - 1) / 2 * d + 1;
            let last = if depth > 1 { (w as u32 - 1).max(1) } else { 1 };
            assert_eq!(counts(Shape::Li, depth, width), (li, li, 1), "LI({depth}, {width})");
            assert_eq!(counts(Shape::Hi, depth, width), (hi, hi, last), "HI({depth}, {width})");
            assert_eq!(counts(Shape::Ho, depth, width).0, hi, "HO({depth}, {width})");
            assert_eq!(counts(Shape::Ho, depth, width).1, hi, "HO({depth}, {width})");
        }
    }
    let hi = |d, w| counts(Shape::Hi, d, w).0;
    assert_eq!([hi(2, 2), hi(3, 4), hi(5, 5), hi(4, 10)], [2, 13, 41, 136]);
    let li = |d, w| counts(Shape::Li, d, w).0;
    assert_eq!([li(3, 4), li(4, 10)], [7, 28]);
}
