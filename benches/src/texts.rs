//! Equations as text and in Rust, side by side.
use crate::qss::alone;
use superdense_kernel::{Component, Simulation};
use superdense_models::{
    maths::expr::{Expr, Names, Program, Scalar},
    signal::value::Value,
    solve::{
        Dims, Equations, EventSpec, Programs, Settings,
        equations::Work,
        ode,
        qss::{Implicit, Quanta, Quantised},
    },
    unit::Unit,
};

/// Derivatives as text, compiled as those of a scenario are.
#[derive(Debug)]
pub struct Text(Program);

impl Text {
    /// States by name, with their derivatives.
    ///
    /// # Panics
    /// If a text has mistakes.
    pub fn new(states: &[(String, String)]) -> Self {
        let mut scope = Names::new();
        for (k, (name, _)) in states.iter().enumerate() {
            scope = scope.var(name.clone(), (Dims::STATES + k) as u32);
        }
        let parse = |(_, text): &(String, String)| Expr::parse(text, &scope).expect("a formula");
        let derivatives: Vec<Expr> = states.iter().map(parse).collect();
        Self(Program::compile(&derivatives))
    }
}

impl Equations for Text {
    fn dims(&self) -> Dims {
        Dims { states: self.0.outputs().len(), ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &[]
    }
    fn derivatives<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, dx: &mut [S]) {
        self.0.eval(vars, &mut work.derivatives, dx);
    }
    fn outputs<S: Scalar>(&self, _: &[S], _: &mut Work<S>, _: &mut [S]) {}
    fn programs(&self) -> Option<Programs> {
        let none = || Program::compile(&[] as &[Expr]);
        Some(Programs { derivatives: self.0.clone(), outputs: none(), indicators: none() })
    }
}

/// Van der Pol's oscillator with a damping of one.
#[derive(Debug)]
pub struct VanDerPol;

impl Equations for VanDerPol {
    fn dims(&self) -> Dims {
        Dims { states: 2, ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &[]
    }
    fn derivatives<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, dx: &mut [S]) {
        let (x, v) = (&vars[1], &vars[2]);
        dx[0] = v.clone();
        dx[1] = S::constant(1.0).sub(&x.mul(x)).mul(v).sub(x);
    }
    fn outputs<S: Scalar>(&self, _: &[S], _: &mut Work<S>, _: &mut [S]) {}
}

impl VanDerPol {
    /// The equations as text.
    pub fn text() -> Text {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        Text::new(&[pair("x", "v"), pair("v", "(1 - x * x) * v - x")])
    }
}

/// An oscillator for a hundred seconds under the 5(4) pair.
pub fn oscillator<E: Equations>(equations: E) -> (Simulation<Value>, i64) {
    let solver = ode::Options::tolerance(1e-9, 1e-9);
    let settings = Settings { solver, ..Settings::default() };
    let unit = Unit::new(equations, &[2.0, 0.0], &[], &[], settings).expect("finite");
    (alone(Component::atomic(unit)), 100_000_000_000)
}

/// The advection-reaction line of [`qss::advection`](crate::qss::advection) as text.
pub fn advection() -> (Simulation<Value>, i64) {
    let n = 1000;
    let derivative = |i: usize| {
        let left = if i == 0 { "1".to_owned() } else { format!("u{}", i - 1) };
        (
            format!("u{i}"),
            format!("({left} - u{i}) * {n} - u{i} * (u{i} - 0.5) * (u{i} - 1) * 1000"),
        )
    };
    let equations = Text::new(&(0..n).map(derivative).collect::<Vec<_>>());
    let x: Vec<f64> = (0..n).map(|i| if i < n / 3 { 1.0 } else { 0.0 }).collect();
    let quanta = Quanta { relative: 1e-3, minimum: 1e-3 };
    // Quanta look ahead to the end of the run, as far as there is one; units do not know it. The
    // shipped scenario says the same.
    let solver = ode::Options { max_step: 0.4, ..ode::Options::default() };
    let settings = Settings { solver, ..Settings::default() };
    let core = Quantised::<Implicit, 2>::new(None, &equations, &settings, quanta).expect("a text");
    let unit = Unit::with_core(equations, core, &x, &[], &[], settings).expect("finite");
    (alone(Component::atomic(unit)), 400_000_000)
}
