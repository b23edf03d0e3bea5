//! One right-hand side, indicator or output, made ready for being evaluated again and again.
//!
//! # Why
//! A step of a quantised system evaluates a few short formulas, each another one than the last. So
//! all that a program leaves open is settled here, once: constants stand in the instructions,
//! where they cost a product of a series and a number instead of two series and a place; variables
//! know where they come from; the arithmetic that equations are made of is told apart by one jump.
use super::{number::Number, system::View};
use crate::{
    maths::expr::{Op, Program, VarId, apply},
    solve::Dims,
};

/// An instruction; its result goes to the register with its own number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Time,
    State(u32),
    Input(u32),
    Discrete(u32),
    Constant(f64),
    Neg(u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    /// a + c
    Plus(u32, f64),
    /// a - c
    Minus(u32, f64),
    /// c - a
    From(u32, f64),
    /// c a
    Times(u32, f64),
    /// a / c
    Over(u32, f64),
    Other(Op, [u32; 3]),
    /// Skip so many instructions.
    Jump(u32),
    /// The same if the register is true.
    JumpIf(u32, u32),
    JumpUnless(u32, u32),
}

/// A program of one result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Formula {
    steps: Box<[Step]>,
    /// Variables that are read.
    inputs: Box<[VarId]>,
}

/// An operand: the register of a step, or a constant.
#[derive(Clone, Copy)]
enum Operand {
    Register(u32),
    Constant(f64),
}

impl Formula {
    /// The formula of a program with one result, for variables in the order of `dims`.
    pub(super) fn new(dims: &Dims, program: &Program) -> Self {
        let mut builder = Builder { steps: Vec::new(), places: Vec::new() };
        builder.places.extend(program.constants().iter().map(|&c| Operand::Constant(c)));
        for &id in program.inputs() {
            let register = builder.push(load(dims, id));
            builder.places.push(register);
        }
        // Constants that are operands of something rare have registers, in front of the code: jumps
        // never skip them.
        let first = program.first();
        for instr in program.code() {
            let operands = instr.args.map(|a| a as usize);
            let taken = builder.immediate(instr.op, instr.args).is_some();
            for &k in operands.iter().take(instr.op.arity()).filter(|_| !taken) {
                builder.settle(k);
            }
        }
        let result = program.outputs()[0] as usize;
        if result < first {
            builder.settle(result);
        }
        // From here on steps and instructions go side by side.
        for instr in program.code() {
            let step = builder.immediate(instr.op, instr.args);
            let step = step.unwrap_or_else(|| builder.plain(instr.op, instr.args));
            let register = builder.push(step);
            builder.places.push(register);
        }
        let Operand::Register(last) = builder.places[result] else { unreachable!("settled") };
        builder.steps.truncate(last as usize + 1);
        Self { steps: builder.steps.into(), inputs: program.inputs().into() }
    }

    /// The variables that it reads.
    pub(super) fn inputs(&self) -> &[VarId] {
        &self.inputs
    }

    /// The value for the variables of a view; `registers` is working memory.
    #[inline]
    pub(super) fn value<S: Number>(&self, view: &impl View<S>, registers: &mut Vec<S>) -> S {
        let steps = &self.steps[..];
        if registers.len() < steps.len() {
            registers.resize(steps.len(), S::constant(0.0));
        }
        let r = &mut registers[..steps.len()];
        let mut at = 0;
        while at < steps.len() {
            let value = match steps[at] {
                Step::Time => view.time(),
                Step::State(i) => view.state(i as usize),
                Step::Input(i) => view.input(i as usize),
                Step::Discrete(i) => S::constant(view.discrete(i as usize)),
                Step::Constant(c) => S::constant(c),
                Step::Neg(a) => -r[a as usize],
                Step::Add(a, b) => r[a as usize] + r[b as usize],
                Step::Sub(a, b) => r[a as usize] - r[b as usize],
                Step::Mul(a, b) => r[a as usize] * r[b as usize],
                Step::Div(a, b) => r[a as usize] / r[b as usize],
                Step::Plus(a, c) => r[a as usize] + c,
                Step::Minus(a, c) => r[a as usize] - c,
                Step::From(a, c) => -r[a as usize] + c,
                Step::Times(a, c) => r[a as usize] * c,
                Step::Over(a, c) => r[a as usize] / c,
                Step::Other(op, args) => other(op, args, r),
                Step::Jump(distance) => {
                    at += 1 + distance as usize;
                    continue;
                }
                Step::JumpIf(a, distance) => {
                    let taken = r[a as usize].value() != 0.0;
                    at += 1 + if taken { distance as usize } else { 0 };
                    continue;
                }
                Step::JumpUnless(a, distance) => {
                    let taken = r[a as usize].value() == 0.0;
                    at += 1 + if taken { distance as usize } else { 0 };
                    continue;
                }
            };
            r[at] = value;
            at += 1;
        }
        r[steps.len() - 1]
    }
}

/// What is rare: out of the loop, which stays small.
#[inline(never)]
fn other<S: Number>(op: Op, args: [u32; 3], registers: &[S]) -> S {
    apply(op, args, registers)
}

/// Where variable `id` comes from. Nothing is being received while time goes on.
fn load(dims: &Dims, id: VarId) -> Step {
    let at = id.0 as usize;
    if at == 0 {
        Step::Time
    } else if at < dims.first_input() {
        Step::State((at - Dims::STATES) as u32)
    } else if at < dims.first_discrete() {
        Step::Input((at - dims.first_input()) as u32)
    } else {
        Step::Discrete((at - dims.first_discrete()) as u32)
    }
}

struct Builder {
    steps: Vec<Step>,
    /// By register of the program.
    places: Vec<Operand>,
}

impl Builder {
    fn push(&mut self, step: Step) -> Operand {
        self.steps.push(step);
        Operand::Register(self.steps.len() as u32 - 1)
    }

    /// Gives the constant in register `k` of the program a register of its own.
    fn settle(&mut self, k: usize) {
        if let Some(&Operand::Constant(c)) = self.places.get(k) {
            self.places[k] = self.push(Step::Constant(c));
        }
    }

    /// The step with a constant in it, if there is one for this operation.
    fn immediate(&self, op: Op, [a, b, _]: [u32; 3]) -> Option<Step> {
        let place = |k: u32| self.places.get(k as usize).copied();
        // What is not there yet is a register of the code.
        let register = |k: u32| match place(k) {
            Some(Operand::Register(r)) => Some(r),
            None => Some(0),
            Some(Operand::Constant(_)) => None,
        };
        let constant = |k: u32| match place(k) {
            Some(Operand::Constant(c)) => Some(c),
            _ => None,
        };
        if let (Some(a), Some(c)) = (register(a), constant(b)) {
            return match op {
                Op::Add => Some(Step::Plus(a, c)),
                Op::Sub => Some(Step::Minus(a, c)),
                Op::Mul => Some(Step::Times(a, c)),
                Op::Div => Some(Step::Over(a, c)),
                _ => None,
            };
        }
        let (c, b) = (constant(a)?, register(b)?);
        match op {
            Op::Add => Some(Step::Plus(b, c)),
            Op::Sub => Some(Step::From(b, c)),
            Op::Mul => Some(Step::Times(b, c)),
            _ => None,
        }
    }

    /// The step on registers; distances of jumps stay as they are.
    fn plain(&self, op: Op, args: [u32; 3]) -> Step {
        let register = |k: u32| match self.places[k as usize] {
            Operand::Register(r) => r,
            Operand::Constant(_) => unreachable!("settled"),
        };
        let [a, b, c] = args;
        match op {
            Op::Jump => Step::Jump(b),
            Op::JumpIf => Step::JumpIf(register(a), b),
            Op::JumpUnless => Step::JumpUnless(register(a), b),
            Op::Neg => Step::Neg(register(a)),
            Op::Add => Step::Add(register(a), register(b)),
            Op::Sub => Step::Sub(register(a), register(b)),
            Op::Mul => Step::Mul(register(a), register(b)),
            Op::Div => Step::Div(register(a), register(b)),
            _ => {
                // Those beyond the arity repeat the first, or are never looked at.
                let mut args = [register(a); 3];
                for (arg, k) in args.iter_mut().zip([a, b, c]).take(op.arity()) {
                    *arg = register(k);
                }
                Step::Other(op, args)
            }
        }
    }
}
