//! Taylor coefficients of compiled expressions, order by order.
//!
//! # Why a tape
//! A program evaluated on truncated series computes every coefficient of every intermediate value
//! from scratch, which for the solution of a differential equation of order p, where coefficient
//! k + 1 of the states needs coefficient k of their derivatives, costs O(p³) per multiplication.
//! Here the instructions are gone through once per order, and each adds one coefficient to its
//! row in O(k): O(p²) in all. Recurrences: Griewank & Walther, Evaluating Derivatives, 2nd ed.,
//! table 13.2; Jorba & Zou 2005, section 2.
//!
//! Values that do not change over a step (constants, discrete values, and functions of these alone)
//! have one coefficient only and take no part after order zero. Order zero is the program itself on
//! `f64`, so that it has the same bits. Beyond it jumps are left out: the operations that they skip
//! are computed from registers of an earlier time. Their results are not used, and share no
//! register with a value that is used.

use super::op::{Op, apply};
use super::program::{Program, Registers};
use super::scope::VarId;

mod algebraic;
mod fuse;
mod lower;
mod rules;

use fuse::Term;
use rules::Rule;

/// One instruction of a tape: how a coefficient of row `to` follows from other rows.
#[derive(Clone, Copy, Debug)]
struct Step {
    rule: Rule,
    to: u32,
    args: [u32; 3],
}

/// A row that no register of the program stands for, with its value at order zero.
#[derive(Clone, Copy, Debug)]
enum Extra {
    Constant(f64),
    Call(Op, u32, u32),
}

/// A program prepared for series.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Names, Program, Tape, TapeMemory};
/// // x' = x² from 1 is 1/(1 - t) = 1 + t + t² + ...
/// let scope = Names::new().var("x", 0);
/// let tape = Tape::new(Program::compile(&[Expr::parse("x*x", &scope).unwrap()]), |_| true);
/// let mut memory = TapeMemory::default();
/// let mut rows = [0.0; 6];
/// tape.solve(&mut memory, (&[1.0], 0), (6, None), |_, _| (), &mut rows);
/// assert_eq!(rows, [1.0; 6]);
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    program: Program,
    steps: Vec<Step>,
    /// The terms of sums.
    terms: Vec<Term>,
    extras: Vec<Extra>,
    /// Rows beyond order zero, registers and extras alike.
    moving: Vec<bool>,
}

/// Working memory of a [`Tape`]; fits itself on first use.
#[derive(Clone, Debug, Default)]
pub struct TapeMemory {
    registers: Registers<f64>,
    rows: Vec<f64>,
    stride: usize,
    fingerprint: u64,
    /// The rows that [`Tape::solve`] hands on after each order, and for which first state they were
    /// made.
    feeds: Vec<Feed>,
    first: usize,
}

/// How a coefficient of a state comes from one of its derivative.
#[derive(Clone, Copy, Debug)]
struct Feed {
    /// Where the row of the derivative begins, and whether it has more than one coefficient.
    from: usize,
    moves: bool,
    /// Where the row of the state begins, if the program reads it.
    to: Option<usize>,
}

impl TapeMemory {
    /// Coefficients of register `register`.
    fn row(&self, register: u32) -> &[f64] {
        &self.rows[register as usize * self.stride..][..self.stride]
    }
}

impl Tape {
    /// Prepares `program`; `moves` says which variables change in the course of a step.
    pub fn new(program: Program, moves: impl Fn(VarId) -> bool) -> Self {
        lower::lower(program, moves)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Order zero of everything, and all orders of the variables but the states of
    /// [`solve`](Self::solve): `fill(variable, row)` writes the coefficients from the first power
    /// on of a variable that moves.
    fn begin(
        &self,
        memory: &mut TapeMemory,
        vars: &[f64],
        stride: usize,
        mut fill: impl FnMut(usize, &mut [f64]),
    ) {
        let count = self.moving.len();
        let fingerprint = self.program.fingerprint;
        if (memory.stride, memory.fingerprint) != (stride, fingerprint) {
            memory.rows.clear();
            memory.rows.resize(count * stride, 0.0);
            (memory.stride, memory.fingerprint) = (stride, fingerprint);
        }
        self.program.run(vars, &mut memory.registers);
        let slots = memory.registers.as_slice();
        // Rows are counted, here and below: to cut slices into chunks divides their lengths, which
        // is dear beside the few numbers of a small system.
        let mut at = 0;
        for value in slots {
            memory.rows[at] = *value;
            at += stride;
        }
        for extra in &self.extras {
            memory.rows[at] = match *extra {
                Extra::Constant(value) => value,
                Extra::Call(op, a, b) => {
                    let value = |r: u32| memory.rows[r as usize * stride];
                    apply(op, [0, 1, 0], &[value(a), value(b)])
                }
            };
            at += stride;
        }
        let first = self.program.constants().len();
        for (i, id) in self.program.inputs().iter().enumerate() {
            if self.moving[first + i] {
                let row = &mut memory.rows[(first + i) * stride..][..stride];
                fill(id.0 as usize, &mut row[1..]);
            }
        }
    }

    /// Adds coefficient `k` to all rows.
    fn order(&self, memory: &mut TapeMemory, k: usize) {
        let stride = memory.stride;
        for step in &self.steps {
            let value = rules::coefficient(step, &self.terms, &memory.rows, stride, k);
            memory.rows[step.to as usize * stride + k] = value;
        }
    }

    /// Solves `x' = f` by series: the program's results are the derivatives of the states, which
    /// are the variables from `first` on. `rows` gets `stride` coefficients per state. Other
    /// variables are given as in [`along`](Self::along).
    ///
    /// With `ends` the equations are affine and their other variables end with this power: then
    /// the solution may be a polynomial. Gives how many coefficients it has, `stride` in general.
    pub fn solve(
        &self,
        memory: &mut TapeMemory,
        (vars, first): (&[f64], usize),
        (stride, ends): (usize, Option<usize>),
        mut fill: impl FnMut(usize, &mut [f64]),
        rows: &mut [f64],
    ) -> usize {
        self.enter(memory, (vars, first), stride, &mut fill, rows);
        for k in 0..stride - 1 {
            if k > 0 {
                self.order(memory, k);
            }
            let share = 1.0 / (k + 1) as f64;
            let mut zero = true;
            let TapeMemory { rows: own, feeds, .. } = &mut *memory;
            // Coefficient k of the derivatives; of the states, k + 1: none is read that is written.
            for (i, feed) in feeds.iter().enumerate() {
                let moves = k == 0 || feed.moves;
                let c = if moves { own[feed.from + k] * share } else { 0.0 };
                rows[i * stride + k + 1] = c;
                zero &= c == 0.0;
                if let Some(to) = feed.to {
                    own[to + k + 1] = c;
                }
            }
            if zero && ends.is_some_and(|last| k > last) {
                return k + 1;
            }
        }
        stride
    }

    /// Order zero of [`solve`](Self::solve).
    fn enter(
        &self,
        memory: &mut TapeMemory,
        (vars, first): (&[f64], usize),
        stride: usize,
        mut fill: impl FnMut(usize, &mut [f64]),
        rows: &mut [f64],
    ) {
        let states = first..first + self.program.outputs().len();
        let fitted = (stride, self.program.fingerprint, first);
        if (memory.stride, memory.fingerprint, memory.first) != fitted || memory.feeds.is_empty() {
            memory.feeds = self.feeds(stride, first);
            memory.first = first;
        }
        self.begin(memory, vars, stride, |var, row| {
            if !states.clone().contains(&var) {
                fill(var, row);
            }
        });
        for (i, x) in vars[states].iter().enumerate() {
            rows[i * stride] = *x;
        }
    }

    /// The feeds of the states that are the variables from `first` on.
    fn feeds(&self, stride: usize, first: usize) -> Vec<Feed> {
        let mut to = vec![None; self.program.outputs().len()];
        let constants = self.program.constants().len();
        for (place, id) in self.program.inputs().iter().enumerate() {
            let state = (id.0 as usize).checked_sub(first);
            if let Some(to) = state.and_then(|i| to.get_mut(i)) {
                *to = Some((constants + place) * stride);
            }
        }
        let feed = |(&out, to): (&u32, Option<usize>)| {
            let from = out as usize * stride;
            Feed { from, moves: self.moving[out as usize], to }
        };
        self.program.outputs().iter().zip(to).map(feed).collect()
    }

    /// Expands the program's results in powers of time: `vars` are the variables at its origin,
    /// `fill(variable, row)` writes the coefficients from the first power on. The results stay in
    /// the memory: [`result`](Self::result).
    pub fn along(
        &self,
        memory: &mut TapeMemory,
        vars: &[f64],
        stride: usize,
        fill: impl FnMut(usize, &mut [f64]),
    ) {
        self.begin(memory, vars, stride, fill);
        for k in 1..stride {
            self.order(memory, k);
        }
    }

    /// Coefficients of result `index` after [`along`](Self::along).
    pub fn result<'m>(&self, memory: &'m TapeMemory, index: usize) -> &'m [f64] {
        let register = self.program.outputs()[index];
        let row = memory.row(register);
        if self.moving[register as usize] { row } else { &row[..1] }
    }
}

#[cfg(test)]
mod tests;
