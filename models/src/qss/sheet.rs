//! Equations of a unit, one right-hand side, indicator or output at a time.
use super::{
    influence::Influence,
    number::Number,
    system::{System, View},
};
use crate::{
    continuous::{Dims, series::Series},
    expr::{Degree, Program, VarId},
};

/// Right-hand sides as programs of their own.
#[derive(Debug)]
pub struct Sheet {
    dims: Dims,
    derivatives: Vec<Program>,
    curved: Vec<bool>,
    /// Whether the unit is at rest, with all derivatives zero.
    pub(super) resting: bool,
}

/// What a variable of a unit is.
enum Place {
    Time,
    State(usize),
    Input(usize),
    Discrete(usize),
}

fn place(dims: &Dims, id: VarId) -> Place {
    let at = id.0 as usize;
    if at == 0 {
        Place::Time
    } else if at < dims.first_input() {
        Place::State(at - Dims::STATES)
    } else if at < dims.first_discrete() {
        Place::Input(at - dims.first_input())
    } else {
        Place::Discrete(at - dims.first_discrete())
    }
}

/// The variable `id` as a view gives it. Nothing is being received while time goes on.
fn load<S: Number>(dims: &Dims, view: &impl View<S>, id: VarId) -> S {
    match place(dims, id) {
        Place::Time => view.time(),
        Place::State(i) => view.state(i),
        Place::Input(i) => view.input(i),
        Place::Discrete(i) if i < dims.discrete => S::constant(view.discrete(i)),
        Place::Discrete(_) => S::constant(0.0),
    }
}

fn states_of(dims: &Dims, program: &Program, states: &mut Vec<u32>) {
    states.extend(program.inputs().iter().filter_map(|&id| match place(dims, id) {
        Place::State(i) => Some(i as u32),
        _ => None,
    }));
}

impl Sheet {
    /// The right-hand sides in `derivatives`.
    pub fn new(dims: Dims, derivatives: &Program) -> Self {
        let past = dims.first_discrete();
        let degrees = derivatives.degrees(|id| (id.0 as usize) < past);
        let curved = degrees.iter().map(|d| *d > Degree::Polynomial(1)).collect();
        Self { dims, derivatives: derivatives.parts(), curved, resting: false }
    }
}

impl System for Sheet {
    fn states(&self) -> usize {
        self.dims.states
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states_of(&self.dims, &self.derivatives[index], states);
    }
    fn is_driven(&self, index: usize) -> bool {
        let driven = |&id: &VarId| matches!(place(&self.dims, id), Place::Time | Place::Input(_));
        self.derivatives[index].inputs().iter().any(driven)
    }
    fn is_curved(&self, index: usize) -> bool {
        self.curved[index]
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, scratch: &mut Vec<S>) -> S {
        if self.resting {
            return S::constant(0.0);
        }
        self.derivatives[index].single(scratch, |id| load(&self.dims, at, id))
    }
}

/// Coefficients of a function along the states.
pub(super) const ROW: usize = 8;

/// Indicators or outputs.
#[derive(Debug)]
pub(super) struct Functions {
    dims: Dims,
    programs: Vec<Program>,
    /// Whether the function is a polynomial that a row holds, if inputs are not curved.
    exact: Vec<bool>,
    pub(super) switching: Vec<bool>,
    scratch: Vec<Series<ROW>>,
}

impl Functions {
    /// The results of `program` along states of `order`.
    pub(super) fn new(dims: Dims, program: &Program, order: usize) -> Self {
        let past = dims.first_discrete();
        let degrees = program.degrees(|id| (id.0 as usize) < past);
        let fits = |d: &Degree| matches!(d, Degree::Polynomial(d) if *d as usize * order < ROW);
        Self {
            dims,
            programs: program.parts(),
            exact: degrees.iter().map(fits).collect(),
            switching: degrees.iter().map(|d| *d == Degree::Switching).collect(),
            scratch: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.programs.len()
    }

    /// Appends the states that function `k` reads.
    pub(super) fn reads(&self, k: usize, states: &mut Vec<u32>) {
        states_of(&self.dims, &self.programs[k], states);
    }

    /// Whose functions each state is read by.
    pub(super) fn influence(&self) -> Influence {
        Influence::of(self.dims.states, self.len(), |k, states| self.reads(k, states))
    }

    /// The series of function `k`.
    pub(super) fn row(&mut self, k: usize, view: &impl View<Series<ROW>>) -> [f64; ROW] {
        let dims = &self.dims;
        self.programs[k].single(&mut self.scratch, |id| load(dims, view, id)).0
    }

    /// How long `row` stands for function `k`, in seconds: what it leaves out stays small against
    /// rounding of what it has. `curved` tells whether inputs have many powers.
    pub(super) fn trust(&self, k: usize, row: &[f64; ROW], curved: bool) -> f64 {
        if self.exact[k] && !curved {
            return f64::INFINITY;
        }
        let size = 1e-11 * (1.0 + row[0].abs());
        let term = |k: usize| libm::pow(size / row[k].abs(), 1.0 / k as f64);
        term(ROW - 1).min(term(ROW - 2))
    }
}

/// How long a polynomial surely stays positive: until its terms together can have eaten up the
/// first one.
pub(super) fn positive(row: &[f64; ROW]) -> f64 {
    if row[0].is_nan() || row[0] <= 0.0 {
        return 0.0;
    }
    let term = |k: usize| {
        let part = row[0] / ((1_u32 << k) as f64 * row[k].abs());
        if k == 1 { part } else { libm::pow(part, 1.0 / k as f64) }
    };
    (1..ROW).filter(|&k| row[k] != 0.0).map(term).fold(f64::INFINITY, f64::min)
}
