//! From the instructions of a program to the recurrences of a tape.

use std::collections::HashMap;

use super::{Extra, Rule, Step, Tape, fuse::fuse};
use crate::maths::expr::{Op, Program, VarId, program::Instr};

struct Builder {
    steps: Vec<Step>,
    extras: Vec<Extra>,
    moving: Vec<bool>,
    /// Rows of operations whose rules stand already, for sharing.
    known: HashMap<(Op, u32, u32), u32>,
    /// Registers of functions that need only lower orders of each other.
    partners: HashMap<(Op, u32), u32>,
}

impl Builder {
    fn moves(&self, row: u32) -> bool {
        self.moving[row as usize]
    }

    fn step(&mut self, rule: Rule, to: u32, args: [u32; 3]) {
        self.steps.push(Step { rule, to, args });
    }

    fn extra(&mut self, extra: Extra, moves: bool) -> u32 {
        self.extras.push(extra);
        self.moving.push(moves);
        (self.moving.len() - 1) as u32
    }

    fn constant(&mut self, value: f64) -> u32 {
        self.extra(Extra::Constant(value), false)
    }

    /// A row for `op` on rows, an existing one if there is one; its own rule included.
    fn call(&mut self, op: Op, a: u32, b: u32) -> u32 {
        if let Some(&row) = self.known.get(&(op, a, b)) {
            return row;
        }
        let moves = self.moves(a) || self.moves(b);
        let row = self.extra(Extra::Call(op, a, b), moves);
        self.known.insert((op, a, b), row);
        if moves {
            self.rules(op, row, [a, b, a]);
        }
        row
    }

    /// A row for `op(a)` whose rule the caller gives, if it is new.
    fn partner(&mut self, op: Op, a: u32, rule: Rule, args: [u32; 3]) -> u32 {
        if let Some(&row) = self.partners.get(&(op, a)) {
            return row;
        }
        let row = self.extra(Extra::Call(op, a, a), true);
        self.partners.insert((op, a), row);
        self.step(rule, row, args);
        row
    }

    /// The recurrences for row `to`, which is `op` on rows of which one moves at least.
    fn rules(&mut self, op: Op, to: u32, [a, b, c]: [u32; 3]) {
        let (still_a, still_b) = (!self.moves(a), !self.moves(b));
        let args = [a, b, c];
        let one = |s: &mut Self, rule| s.step(rule, to, args);
        match op {
            Op::Neg => one(self, Rule::Neg),
            Op::Noevent => one(self, Rule::Copy),
            Op::Add if still_a => self.step(Rule::Copy, to, [b; 3]),
            Op::Add | Op::Sub if still_b => one(self, Rule::Copy),
            Op::Add => one(self, Rule::Add),
            Op::Sub if still_a => self.step(Rule::Neg, to, [b; 3]),
            Op::Sub => one(self, Rule::Sub),
            Op::Mul if still_a => self.step(Rule::Scale, to, [b, a, a]),
            Op::Mul if still_b => one(self, Rule::Scale),
            Op::Mul if a == b => one(self, Rule::Square),
            Op::Mul => one(self, Rule::Mul),
            Op::Div if still_b => one(self, Rule::Share),
            Op::Div => one(self, Rule::Div),
            Op::Sqrt => one(self, Rule::Sqrt),
            Op::Exp => one(self, Rule::Exp),
            Op::Cbrt => {
                let third = self.constant(1.0 / 3.0);
                self.step(Rule::Power, to, [a, third, a]);
            }
            Op::Pow if still_b => one(self, Rule::Power),
            Op::Pow => {
                let log = self.call(Op::Ln, a, a);
                let exponent = self.call(Op::Mul, b, log);
                self.step(Rule::Exp, to, [exponent; 3]);
            }
            Op::Ln => self.step(Rule::Quotient, to, [a; 3]),
            Op::Log10 | Op::Log2 => {
                let log = self.call(Op::Ln, a, a);
                let factor = if op == Op::Log10 {
                    std::f64::consts::LOG10_E
                } else {
                    std::f64::consts::LOG2_E
                };
                let factor = self.constant(factor);
                self.step(Rule::Scale, to, [log, factor, log]);
            }
            Op::Abs => one(self, Rule::Abs),
            Op::Mod => one(self, Rule::Mod),
            Op::Min => one(self, Rule::Min),
            Op::Max => one(self, Rule::Max),
            Op::Select => one(self, Rule::Select),
            _ => self.curved(op, to, [a, b]),
        }
    }

    /// The functions that come with others.
    fn curved(&mut self, op: Op, to: u32, [a, b]: [u32; 2]) {
        match op {
            Op::Sin | Op::Cos | Op::Sinh | Op::Cosh => {
                let (other, own, its) = match op {
                    Op::Sin => (Op::Cos, Rule::Grow, Rule::Shrink),
                    Op::Cos => (Op::Sin, Rule::Shrink, Rule::Grow),
                    Op::Sinh => (Op::Cosh, Rule::Grow, Rule::Grow),
                    _ => (Op::Sinh, Rule::Grow, Rule::Grow),
                };
                let partner = self.partner(other, a, its, [a, to, a]);
                self.step(own, to, [a, partner, a]);
            }
            Op::Tan | Op::Tanh => {
                let square = self.extra(Extra::Call(Op::Mul, to, to), true);
                let rule = if op == Op::Tan { Rule::Tan } else { Rule::Tanh };
                self.step(rule, to, [a, square, a]);
                self.step(Rule::Square, square, [to; 3]);
            }
            Op::Asin | Op::Acos | Op::Atan => {
                let (one, square) = (self.constant(1.0), self.call(Op::Mul, a, a));
                let divisor = if op == Op::Atan {
                    self.call(Op::Add, one, square)
                } else {
                    let rest = self.call(Op::Sub, one, square);
                    self.call(Op::Sqrt, rest, rest)
                };
                let rule = if op == Op::Acos { Rule::NegQuotient } else { Rule::Quotient };
                self.step(rule, to, [a, divisor, a]);
            }
            Op::Atan2 | Op::Hypot => {
                let (aa, bb) = (self.call(Op::Mul, a, a), self.call(Op::Mul, b, b));
                let sum = self.call(Op::Add, aa, bb);
                if op == Op::Hypot {
                    self.step(Rule::Sqrt, to, [sum; 3]);
                } else {
                    self.step(Rule::Angle, to, [a, b, sum]);
                }
            }
            Op::LambertW => {
                // w' (e^w + a) = a'
                let exp = self.extra(Extra::Call(Op::Exp, to, to), true);
                let divisor = self.extra(Extra::Call(Op::Add, exp, a), true);
                self.step(Rule::Quotient, to, [a, divisor, a]);
                self.step(Rule::Exp, exp, [to; 3]);
                self.step(Rule::Add, divisor, [exp, a, exp]);
            }
            _ => unreachable!("constants do not move, and jumps are no values"),
        }
    }
}

/// Whether the result is constant between two jumps, whatever the operands do.
fn is_step(op: Op) -> bool {
    op.is_truth()
        || matches!(op, Op::Sign | Op::Step | Op::Floor | Op::Ceil | Op::Round | Op::Trunc)
        || matches!(op, Op::Jump | Op::JumpIf | Op::JumpUnless)
}

/// By instruction: whether a jump may go past it. What others share has to be computed always, at
/// order zero too.
fn may_be_skipped(code: &[Instr]) -> Vec<bool> {
    let mut skipped = vec![false; code.len()];
    for (at, instr) in code.iter().enumerate() {
        if matches!(instr.op, Op::Jump | Op::JumpIf | Op::JumpUnless) {
            skipped[at + 1..][..instr.args[1] as usize].fill(true);
        }
    }
    skipped
}

pub(super) fn lower(program: Program, moves: impl Fn(VarId) -> bool) -> Tape {
    let (first, code) = (program.first(), program.code());
    let mut moving = vec![false; program.constants().len()];
    moving.extend(program.inputs().iter().map(|&id| moves(id)));
    for instr in code {
        let args = &instr.args[..instr.op.arity()];
        let moves = !is_step(instr.op) && args.iter().any(|&a| moving[a as usize]);
        moving.push(moves);
    }
    let skipped = may_be_skipped(code);
    let mut partners = HashMap::new();
    for (at, instr) in code.iter().enumerate() {
        if matches!(instr.op, Op::Sin | Op::Cos | Op::Sinh | Op::Cosh) && !skipped[at] {
            partners.entry((instr.op, instr.args[0])).or_insert((first + at) as u32);
        }
    }
    let (steps, extras, known) = (Vec::new(), Vec::new(), HashMap::new());
    let mut builder = Builder { steps, extras, moving, known, partners };
    for (at, instr) in code.iter().enumerate() {
        let to = (first + at) as u32;
        if builder.moves(to) {
            builder.rules(instr.op, to, instr.args);
            let [a, b, _] = instr.args;
            let b = if instr.op.arity() == 1 { a } else { b };
            if !skipped[at] {
                builder.known.entry((instr.op, a, b)).or_insert(to);
            }
        }
    }
    let one = builder.constant(1.0);
    let Builder { mut steps, extras, moving, .. } = builder;
    let terms = fuse(&mut steps, moving.len(), program.outputs(), one);
    Tape { program, steps, terms, extras, moving }
}
