//! Convergence, step counts and stiffness, on systems with known solutions.
use super::*;

/// u_i' = N (u_{i-1} - u_i) - 1000 u_i (u_i - 0.5)(u_i - 1), u_0 = 1.
struct Advection(usize);

impl System for Advection {
    fn states(&self) -> usize {
        self.0
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states.extend((index.saturating_sub(1)..=index).map(|i| i as u32));
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let u = at.state(index);
        let left = if index == 0 { S::constant(1.0) } else { at.state(index - 1) };
        (left - u) * self.0 as f64 - u * (u - 0.5) * (u - 1.0) * 1000.0
    }
}

/// x_j' = x_{j-1} - x_{j+1}, x_0 given, x_{N+1} = 0.
struct Line(usize);

impl System for Line {
    fn states(&self) -> usize {
        self.0
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        if index > 0 {
            states.push(index as u32 - 1);
        }
        if index + 1 < self.0 {
            states.push(index as u32 + 1);
        }
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let left = if index == 0 { S::constant(at.discrete(0)) } else { at.state(index - 1) };
        if index + 1 < self.0 { left - at.state(index + 1) } else { left }
    }
}

fn advection<M: Method<2>>() -> u64 {
    let n = 1000;
    let quanta = Quanta { relative: 1e-3, minimum: 1e-3 };
    let mut engine = Engine::<_, M, 2>::new(Advection(n), quanta, 0.4);
    let x: Vec<f64> = (0..n).map(|i| if i < n / 3 { 1.0 } else { 0.0 }).collect();
    engine.start(0.0, &x, &[]).unwrap();
    engine.run_until(0.4).unwrap();
    engine.state().steps
}

fn line<M: Method<P>, const P: usize>() -> u64 {
    let quanta = Quanta { relative: 1e-3, minimum: 1e-6 };
    let mut engine = Engine::<_, M, P>::new(Line(200), quanta, 200.0);
    engine.start(0.0, &[0.0; 200], &[1.0]).unwrap();
    engine.run_until(1.0).unwrap();
    engine.set_discrete(1.0, 0, 0.0).unwrap();
    engine.run_until(200.0).unwrap();
    engine.state().steps
}

#[test]
fn steps_are_those_of_the_reference() {
    let cases: [(&str, u64, fn() -> u64); 4] = [
        ("advection liqss2", 12_757, advection::<Implicit>),
        ("advection qss2", 166_452, advection::<Explicit>),
        ("line qss3", 279_061, line::<Explicit, 3>),
        ("line qss2", 1_033_427, line::<Explicit, 2>),
    ];
    let mut bad = Vec::new();
    for (name, reference, run) in cases {
        let steps = run();
        let off = steps as f64 / reference as f64 - 1.0;
        println!("{name}: {steps} against {reference}, {:.2} %", 100.0 * off);
        if off.abs() > 0.01 {
            bad.push(name);
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}
