//! Quantised state systems: the advection-reaction line and the LC line, as atomic models of the
//! kernel.
use superdense_kernel::{Component, Coupled, Options, Simulation, time::Resolution};
use superdense_models::{
    signal::value::Value,
    solve::qss::{Engine, Method, Number, Quanta, System, SystemUnit, View},
};

/// `u_i' = N (u_{i-1} - u_i) - 1000 u_i (u_i - 0.5)(u_i - 1)` with `u_0 = 1`, for so many states.
#[derive(Debug)]
pub struct Advection(pub usize);

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

/// `x_j' = x_{j-1} - x_{j+1}` for so many states, with `x_0` given and nothing beyond the end.
#[derive(Debug)]
pub struct Line(pub usize);

impl System for Line {
    fn states(&self) -> usize {
        self.0
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states.extend(index.checked_sub(1).map(|i| i as u32));
        states.extend((index + 1 < self.0).then_some(index as u32 + 1));
    }
    fn is_curved(&self, _: usize) -> bool {
        false
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let left = if index == 0 { S::constant(at.discrete(0)) } else { at.state(index - 1) };
        if index + 1 < self.0 { left - at.state(index + 1) } else { left }
    }
}

/// A run of a thousand sections for 0.4 s, and its end in ticks.
pub fn advection<M: Method<2>>() -> (Simulation<Value>, i64) {
    let quanta = Quanta { relative: 1e-3, minimum: 1e-3 };
    let (n, end) = (1000, 0.4);
    let x: Vec<f64> = (0..n).map(|i| if i < n / 3 { 1.0 } else { 0.0 }).collect();
    let mut engine = Engine::<_, M, 2>::new(Advection(n), quanta, end);
    engine.start(0.0, &x, &[]).expect("finite");
    (alone(unit(engine)), 400_000_000)
}

/// A run of 200 states for 200 s after a pulse of one second, which is over at the start.
pub fn line<M: Method<P>, const P: usize>() -> (Simulation<Value>, i64) {
    let quanta = Quanta { relative: 1e-3, minimum: 1e-6 };
    let mut engine = Engine::<_, M, P>::new(Line(200), quanta, 200.0);
    engine.start(0.0, &[0.0; 200], &[1.0]).expect("finite");
    engine.run_until(1.0).expect("finite");
    engine.set_discrete(1.0, 0, 0.0).expect("finite");
    (alone(unit(engine)), 200_000_000_000)
}

/// A run of one component.
pub(crate) fn alone(component: Component<Value>) -> Simulation<Value> {
    alone_with(component, Options::default())
}

/// A simulation of one component with these options.
pub(crate) fn alone_with(component: Component<Value>, options: Options) -> Simulation<Value> {
    let mut top = Coupled::new();
    top.add_component("system", component);
    Simulation::new(top, options).expect("one model without ports to connect")
}

fn unit<Y: System, M: Method<P>, const P: usize>(engine: Engine<Y, M, P>) -> Component<Value> {
    Component::atomic(SystemUnit::of(engine, Resolution::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use superdense_models::solve::qss::{Explicit, Implicit};

    /// The steps of QSS Solver on its own models (Fernández & Kofman 2014, "A stand-alone quantized
    /// state system solver for continuous system simulation", Simulation 90), within one percent.
    #[test]
    fn steps_are_those_of_the_reference() {
        type Case = (&'static str, u64, fn() -> (Simulation<Value>, i64));
        let cases: [Case; 4] = [
            ("advection liqss2", 12_757, advection::<Implicit>),
            ("advection qss2", 166_452, advection::<Explicit>),
            ("line qss3", 279_061, line::<Explicit, 3>),
            ("line qss2", 1_033_427, line::<Explicit, 2>),
        ];
        let mut bad = Vec::new();
        for (name, reference, run) in cases {
            let (mut sim, end) = run();
            sim.run_until(end).unwrap();
            let steps = sim.statistics()["steps"];
            let off = steps as f64 / reference as f64 - 1.0;
            println!("{name}: {steps} against {reference}, {:.2} %", 100.0 * off);
            if off.abs() > 0.01 {
                bad.push(name);
            }
        }
        assert!(bad.is_empty(), "{bad:?}");
    }
}
