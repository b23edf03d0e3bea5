//! Of what form the results of a program are, as functions of what changes in a step.

use super::op::Op;
use super::program::Program;
use super::scope::VarId;

/// The form of a result in the variables that move. Ordered from the simplest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Degree {
    /// A polynomial of this total degree; 0 does not move at all.
    Polynomial(u32),
    /// Smooth where it is finite.
    Smooth,
    /// With kinks or jumps.
    Switching,
}

impl Degree {
    fn product(self, other: Self) -> Self {
        match (self, other) {
            (Self::Polynomial(a), Self::Polynomial(b)) => Self::Polynomial(a.saturating_add(b)),
            _ => self.max(other),
        }
    }

    /// Whether its expansion at one place, which has a few terms, may know nothing of what comes later.
    pub(crate) fn is_open(self) -> bool {
        self > Self::Polynomial(8)
    }

    pub(super) fn is_still(self) -> bool {
        self == Self::Polynomial(0)
    }
}

impl Program {
    /// The form of each result, given which variables move.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Degree, Expr, Names, Program};
    /// let scope = Names::new().var("x", 0).var("k", 1);
    /// let parse = |text| Expr::parse(text, &scope).unwrap();
    /// let program = Program::compile(&["x/k - 1", "x*x*x", "sin(x)", "abs(x)"].map(parse));
    /// let degrees = program.degrees(|var| var.0 == 0);
    /// let (linear, cubic) = (Degree::Polynomial(1), Degree::Polynomial(3));
    /// assert_eq!(degrees, [linear, cubic, Degree::Smooth, Degree::Switching]);
    /// ```
    pub fn degrees(&self, moves: impl Fn(VarId) -> bool) -> Vec<Degree> {
        let degrees = self.by_register(moves, |_| false);
        self.outputs.iter().map(|&out| degrees[out as usize]).collect()
    }

    /// The form of each register; of what switches where a function of a `followed` form does, between
    /// two such places.
    pub(super) fn by_register(
        &self,
        moves: impl Fn(VarId) -> bool,
        followed: impl Fn(Degree) -> bool,
    ) -> Vec<Degree> {
        let still = Degree::Polynomial(0);
        let mut degrees = vec![still; self.constants.len()];
        degrees.extend(self.inputs.iter().map(|&id| Degree::Polynomial(u32::from(moves(id)))));
        let (plain, first) = (self.plain(), degrees.len());
        for (k, instr) in self.code.iter().enumerate() {
            let followed = |degree| !plain[first + k] && followed(degree);
            let of = |i: usize| degrees[instr.args[i] as usize];
            let arity = instr.op.arity();
            let worst = (0..arity).map(of).max().unwrap_or(still);
            let degree = match instr.op {
                _ if worst.is_still() => still,
                Op::Noevent => worst,
                Op::Neg | Op::Add | Op::Sub => worst,
                Op::Mul => of(0).product(of(1)),
                Op::Div if of(1).is_still() => of(0),
                Op::Select if of(0).is_still() => of(1).max(of(2)),
                op if op <= Op::LambertW => worst.max(Degree::Smooth),
                Op::Mod if !of(1).is_still() && !followed(worst.max(Degree::Smooth)) => {
                    Degree::Switching
                }
                Op::Abs | Op::Min | Op::Max | Op::Mod if followed(worst) => worst,
                _ if followed(worst) => still,
                _ => Degree::Switching,
            };
            degrees.push(degree);
        }
        degrees
    }

    /// Of each register whether something in [`Op::Noevent`] reads it.
    fn plain(&self) -> Vec<bool> {
        let first = self.constants.len() + self.inputs.len();
        let mut plain = vec![false; first + self.code.len()];
        for (k, instr) in self.code.iter().enumerate().rev() {
            if instr.op == Op::Noevent || plain[first + k] {
                for &arg in &instr.args[..instr.op.arity()] {
                    plain[arg as usize] = true;
                }
            }
        }
        plain
    }

    /// Of each result whether it has a root of what moves. Where the operand only touches zero, and so crosses nothing,
    /// such a function goes on as another branch than its series.
    pub fn roots(&self, moves: impl Fn(VarId) -> bool) -> Vec<bool> {
        let degrees = self.by_register(moves, |_| false);
        let mut roots = vec![false; self.constants.len() + self.inputs.len()];
        for instr in &self.code {
            let operands = || instr.args[..instr.op.arity()].iter().map(|&arg| arg as usize);
            let root = matches!(instr.op, Op::Sqrt | Op::Pow | Op::Hypot | Op::Asin | Op::Acos);
            let of_root = operands().any(|arg| roots[arg]);
            roots.push(of_root || root && operands().any(|arg| !degrees[arg].is_still()));
        }
        self.outputs.iter().map(|&out| roots[out as usize]).collect()
    }

    /// Of each result the variables with their factors, where it is a sum of variables times numbers and a
    /// number; nothing for others.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, Program, VarId};
    /// let scope = Names::new().var("x", 0).var("k", 1);
    /// let parse = |text| Expr::parse(text, &scope).unwrap();
    /// let program = Program::compile(&["60 - x/4 + 2*(x - k)", "k*x", "3"].map(parse));
    /// let sum = vec![(VarId(0), 1.75), (VarId(1), -2.0)];
    /// assert_eq!(program.sums(), [Some(sum), None, Some(vec![])]);
    /// ```
    pub fn sums(&self) -> Vec<Option<Vec<(VarId, f64)>>> {
        /// A number, and factors.
        type Sum = (f64, Vec<(VarId, f64)>);
        let scaled = |(still, terms): &Sum, by: f64| -> Sum {
            (still * by, terms.iter().map(|(id, f)| (*id, f * by)).collect())
        };
        let mut sums: Vec<Option<Sum>> =
            self.constants.iter().map(|c| Some((*c, Vec::new()))).collect();
        sums.extend(self.inputs.iter().map(|&id| Some((0.0, vec![(id, 1.0)]))));
        for instr in &self.code {
            let of = |i: usize| sums[instr.args[i] as usize].as_ref();
            let number = |i: usize| of(i).filter(|s| s.1.is_empty()).map(|s| s.0);
            let sum = match instr.op {
                Op::Neg => of(0).map(|a| scaled(a, -1.0)),
                Op::Add | Op::Sub => of(0).zip(of(1)).map(|(a, b)| {
                    let (still, terms) = scaled(b, if instr.op == Op::Add { 1.0 } else { -1.0 });
                    let mut sum = (a.0 + still, a.1.clone());
                    for (id, factor) in terms {
                        match sum.1.iter_mut().find(|(known, _)| *known == id) {
                            Some((_, all)) => *all += factor,
                            None => sum.1.push((id, factor)),
                        }
                    }
                    sum
                }),
                Op::Mul => match (number(0), number(1)) {
                    (Some(by), _) => of(1).map(|s| scaled(s, by)),
                    (_, Some(by)) => of(0).map(|s| scaled(s, by)),
                    _ => None,
                },
                Op::Div => of(0)
                    .zip(number(1))
                    .map(|(s, by)| (s.0 / by, s.1.iter().map(|(id, f)| (*id, f / by)).collect())),
                _ => None,
            };
            sums.push(sum);
        }
        let terms = |out: &u32| sums[*out as usize].as_ref().map(|sum| sum.1.clone());
        self.outputs.iter().map(terms).collect()
    }
}
