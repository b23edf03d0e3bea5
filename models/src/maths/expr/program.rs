//! Compiled expressions and their evaluation.
//!
//! # Why
//! One register per instruction, in order (static single assignment): the destination needs no
//! field, jumps need no merging, every intermediate value is still there when something has to be
//! explained, and a Taylor interpreter can keep a series per register. Registers are, in this
//! order, the constants, the variables that are read, and one per instruction.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::op::{Op, apply};
use super::scalar::Scalar;
use super::scope::VarId;
use super::tree::Origin;

/// An instruction. Its result goes to the register [`Program::first`] + its own index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instr {
    /// The operation.
    pub op: Op,
    /// Operand registers; those beyond the arity repeat the first. Jumps: `[condition, distance]`.
    pub args: [u32; 3],
}

/// A set of expressions, compiled together: parts that they share are computed once.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Names, Program, Registers};
///
/// let scope = Names::new().var("x", 0).var("v", 1).constant("k", 4.0);
/// let right_hand_sides = ["v", "-k*x - k*x*abs(v)"].map(|s| Expr::parse(s, &scope).unwrap());
/// let program = Program::compile(&right_hand_sides);
///
/// let mut registers = Registers::default(); // once per thread, not per evaluation
/// let mut out = [0.0; 2];
/// program.eval(&[0.5, -1.0], &mut registers, &mut out);
/// assert_eq!(out, [-1.0, -4.0]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    pub(super) constants: Vec<f64>,
    pub(super) inputs: Vec<VarId>,
    pub(super) code: Vec<Instr>,
    /// Registers of the results.
    pub(super) outputs: Vec<u32>,
    /// One past the highest variable.
    pub(super) vars_needed: u32,
    /// Tells programs apart, for [`Registers`].
    pub(super) fingerprint: u64,
    /// Source text of the inputs and the instructions.
    pub(super) input_origins: Vec<Origin>,
    pub(super) origins: Vec<Origin>,
    pub(super) sources: Arc<[Arc<str>]>,
}

/// Working memory for [`Program::eval`]. It fits itself to the program at the first evaluation and
/// then allocates nothing as long as the program stays the same.
#[derive(Clone, Debug, Default)]
pub struct Registers<S = f64> {
    slots: Vec<S>,
    fingerprint: u64,
}

impl<S> Registers<S> {
    /// The values of the last [`Program::run`], laid out as in [`Program::first`].
    pub(super) fn as_slice(&self) -> &[S] {
        &self.slots
    }
}

impl Program {
    /// The instructions.
    pub fn code(&self) -> &[Instr] {
        &self.code
    }

    /// The numbers in the first registers.
    pub fn constants(&self) -> &[f64] {
        &self.constants
    }

    /// The variables in the registers after the constants.
    pub fn inputs(&self) -> &[VarId] {
        &self.inputs
    }

    /// The variable that expression `k` is, if it is one.
    pub(crate) fn variable(&self, k: usize) -> Option<usize> {
        let input = (self.outputs[k] as usize).checked_sub(self.constants.len())?;
        self.inputs.get(input).map(|id| id.0 as usize)
    }

    /// The registers that hold the results at the end.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// The register of the first instruction, after the constants and the inputs.
    pub fn first(&self) -> usize {
        self.constants.len() + self.inputs.len()
    }

    /// Gives variables other numbers.
    pub(crate) fn renumber(&mut self, number: impl Fn(VarId) -> VarId) {
        self.inputs.iter_mut().for_each(|id| *id = number(*id));
        self.vars_needed = self.inputs.iter().map(|id| id.0 + 1).max().unwrap_or(0);
    }

    /// How long the slice of variables has to be.
    pub fn vars_needed(&self) -> usize {
        self.vars_needed as usize
    }

    /// Computes all expressions on `vars`. Branches of `if` that are not taken never influence the
    /// result, and are not even computed if they cost more than a jump. Results that are not finite
    /// are left to the caller, who can ask [`explain_non_finite`](Self::explain_non_finite).
    ///
    /// # Panics
    /// If `vars` is shorter than [`vars_needed`](Self::vars_needed) or `out` is not as long as
    /// [`outputs`](Self::outputs).
    pub fn eval<S: Scalar>(&self, vars: &[S], registers: &mut Registers<S>, out: &mut [S]) {
        assert_eq!(out.len(), self.outputs.len(), "one place per expression");
        if self.code.is_empty() {
            return self.pick(vars, out);
        }
        self.run(vars, registers);
        for (out, &register) in out.iter_mut().zip(&self.outputs) {
            *out = registers.slots[register as usize].clone();
        }
    }

    /// All expressions, where they are variables and numbers.
    // A function of its own: what computes shares no registers with it (2 % of an oscillator).
    #[inline(never)]
    fn pick<S: Scalar>(&self, vars: &[S], out: &mut [S]) {
        for (out, &register) in out.iter_mut().zip(&self.outputs) {
            let register = register as usize;
            *out = match register.checked_sub(self.constants.len()) {
                Some(input) => vars[self.inputs[input].0 as usize].clone(),
                None => S::constant(self.constants[register]),
            };
        }
    }

    /// The registers of the results, after [`run`](Self::run).
    pub(crate) fn results<'a, S>(
        &'a self,
        registers: &'a Registers<S>,
    ) -> impl Iterator<Item = &'a S> {
        self.outputs.iter().map(|&register| &registers.slots[register as usize])
    }

    /// Computes all registers.
    #[inline(always)]
    pub(crate) fn run<S: Scalar>(&self, vars: &[S], registers: &mut Registers<S>) {
        assert!(
            vars.len() >= self.vars_needed(),
            "the program reads {} variables, got {}",
            self.vars_needed,
            vars.len()
        );
        if registers.fingerprint != self.fingerprint || registers.slots.is_empty() {
            self.fit(registers);
        }
        let first = self.first();
        let slots = &mut registers.slots[..first + self.code.len()];
        for (slot, id) in slots[self.constants.len()..first].iter_mut().zip(&self.inputs) {
            *slot = vars[id.0 as usize].clone();
        }
        let mut at = 0;
        while let Some(&Instr { op, args }) = self.code.get(at) {
            match op {
                Op::Jump => at += args[1] as usize,
                Op::JumpIf | Op::JumpUnless => {
                    let holds = slots[args[0] as usize].value() != 0.0;
                    if holds == (op == Op::JumpIf) {
                        at += args[1] as usize;
                    }
                }
                _ => slots[first + at] = apply(op, args, slots),
            }
            at += 1;
        }
    }

    fn fit<S: Scalar>(&self, registers: &mut Registers<S>) {
        registers.slots.clear();
        registers.slots.extend(self.constants.iter().map(|&value| S::constant(value)));
        registers.slots.resize(self.first() + self.code.len(), S::constant(0.0));
        registers.fingerprint = self.fingerprint;
    }
}

/// FNV-1a over everything that decides what the registers hold.
pub(super) fn fingerprint(constants: &[f64], inputs: usize, code: &[Instr]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    add(constants.len() as u64);
    add(inputs as u64);
    constants.iter().for_each(|value| add(value.to_bits()));
    for Instr { op, args } in code {
        add(*op as u64);
        args.iter().for_each(|&arg| add(u64::from(arg)));
    }
    hash
}
