//! Equations of a unit, one right-hand side, indicator or output at a time.
use super::{
    formula::Formula,
    influence::Influence,
    number::Number,
    system::{System, View},
};
use crate::{
    maths::expr::{Degree, Program, VarId},
    solve::{
        Dims,
        equations::{Equations, Programs},
        ode::Kind,
        series::Series,
    },
};

/// Right-hand sides as formulas of their own.
#[derive(Debug, Clone)]
pub struct Sheet {
    dims: Dims,
    derivatives: Vec<Formula>,
    curved: Vec<bool>,
    smooth: Vec<bool>,
    roots: Vec<bool>,
    /// The relations, whose sides branches hold.
    relations: Vec<(Kind, Formula)>,
    /// Whether the unit is at rest, with all derivatives zero.
    pub(super) resting: bool,
}

/// Appends the states among the variables that a formula reads.
fn states_of(dims: &Dims, formula: &Formula, states: &mut Vec<u32>) {
    let state = |id: &VarId| (id.0 as usize).checked_sub(Dims::STATES).filter(|&i| i < dims.states);
    states.extend(formula.inputs().iter().filter_map(state).map(|i| i as u32));
}

/// The formulas of a program's results.
fn formulas(dims: &Dims, program: &Program) -> Vec<Formula> {
    program.parts().iter().map(|part| Formula::new(dims, part)).collect()
}

impl Sheet {
    /// The right-hand sides of equations.
    pub fn of<E: Equations>(equations: &E, programs: &Programs) -> Self {
        let kinds = equations.relations().into_iter().map(|r| r.kind);
        let mut sheet = Self::new(equations.dims(), &programs.derivatives);
        sheet.relations = kinds.zip(formulas(&sheet.dims, &programs.indicators)).collect();
        sheet
    }

    /// The right-hand sides in `derivatives`, without relations.
    pub fn new(dims: Dims, derivatives: &Program) -> Self {
        let past = dims.first_discrete();
        let degrees = derivatives.degrees(|id| (id.0 as usize) < past);
        let curved = degrees.iter().map(|d| *d > Degree::Polynomial(1)).collect();
        let smooth = degrees.iter().map(|d| d.is_open()).collect();
        let roots = derivatives.roots(|id| (id.0 as usize) < past);
        let derivatives = formulas(&dims, derivatives);
        Self { dims, derivatives, curved, smooth, roots, relations: Vec::new(), resting: false }
    }

    /// A view with the branches that hold there.
    fn compared<'a, S: Number, V: View<S>>(
        &self,
        view: &'a V,
        scratch: &mut Vec<S>,
    ) -> Compared<'a, V> {
        let first = self.dims.first_side() - self.dims.first_discrete();
        let mut there = Compared { view, first, sides: Vec::new() };
        // Inner relations come first.
        for (kind, indicator) in &self.relations {
            let side = kind.side(indicator.value(&there, scratch).value());
            there.sides.push(side);
        }
        there
    }
}

/// A view in which branches are those that hold there.
struct Compared<'a, V> {
    view: &'a V,
    /// Place of the first side among discrete values.
    first: usize,
    sides: Vec<f64>,
}

impl<S, V: View<S>> View<S> for Compared<'_, V> {
    fn time(&self) -> S {
        self.view.time()
    }
    fn state(&self, index: usize) -> S {
        self.view.state(index)
    }
    fn input(&self, index: usize) -> S {
        self.view.input(index)
    }
    fn discrete(&self, index: usize) -> f64 {
        let side = index.checked_sub(self.first).and_then(|k| self.sides.get(k));
        side.copied().unwrap_or_else(|| self.view.discrete(index))
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
        let inputs = self.dims.first_input()..self.dims.first_discrete();
        let driven = |id: &VarId| id.0 == 0 || inputs.contains(&(id.0 as usize));
        self.derivatives[index].inputs().iter().any(driven)
    }
    fn is_curved(&self, index: usize) -> bool {
        self.curved[index]
    }
    fn has_root(&self, index: usize) -> bool {
        self.roots[index]
    }
    fn is_smooth(&self, index: usize) -> bool {
        self.smooth[index]
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, scratch: &mut Vec<S>) -> S {
        if self.resting {
            return S::constant(0.0);
        }
        self.derivatives[index].value(at, scratch)
    }
    #[cold]
    fn beyond<S: Number>(
        &self,
        index: usize,
        at: &impl View<S>,
        scratch: &mut Vec<S>,
    ) -> Option<S> {
        Some(self.derivatives[index].value(&self.compared(at, scratch), scratch))
    }
}

/// Coefficients of a function along the states.
pub(super) const ROW: usize = 8;

/// Indicators or outputs.
#[derive(Debug)]
pub(super) struct Functions {
    dims: Dims,
    formulas: Vec<Formula>,
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
            formulas: formulas(&dims, program),
            exact: degrees.iter().map(fits).collect(),
            switching: degrees.iter().map(|d| *d == Degree::Switching).collect(),
            scratch: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.formulas.len()
    }

    /// Appends the states that function `k` reads.
    pub(super) fn reads(&self, k: usize, states: &mut Vec<u32>) {
        states_of(&self.dims, &self.formulas[k], states);
    }

    /// Whose functions each state is read by.
    pub(super) fn influence(&self) -> Influence {
        Influence::of(self.dims.states, self.len(), |k, states| self.reads(k, states))
    }

    /// The series of function `k`.
    pub(super) fn row(&mut self, k: usize, view: &impl View<Series<ROW>>) -> [f64; ROW] {
        self.formulas[k].value(view, &mut self.scratch).0
    }

    /// As [`row`](Self::row), by the branches that hold there where those that are held have no finite value; with
    /// zeros for coefficients that are not finite, as a root has at zero. Tells whether there are none.
    pub(super) fn finite_row(
        &mut self,
        k: usize,
        view: &impl View<Series<ROW>>,
        sheet: &Sheet,
    ) -> ([f64; ROW], bool) {
        let is_finite = |row: &[f64; ROW]| row.iter().all(|c| c.is_finite());
        let row = self.row(k, view);
        if is_finite(&row) {
            return (row, true);
        }
        let there = sheet.compared(view, &mut self.scratch);
        let mut row = self.row(k, &there);
        let whole = is_finite(&row);
        row[1..].iter_mut().filter(|c| !c.is_finite()).for_each(|c| *c = 0.0);
        (row, whole)
    }

    /// Whether a row of function `k` is all of it.
    pub(super) fn holds(&self, k: usize, curved: bool) -> bool {
        self.exact[k] && !curved
    }

    /// How long `row` stands for function `k`, in seconds: what it leaves out stays small against
    /// rounding of what it has. `curved` tells whether inputs have many powers.
    pub(super) fn trust(&self, k: usize, row: &[f64; ROW], curved: bool) -> f64 {
        if self.holds(k, curved) {
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
