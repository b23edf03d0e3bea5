//! Programs of single results, for whoever needs one of many at a time.

use super::op::Op;
use super::program::{Instr, Program, fingerprint};
use super::scope::VarId;

impl Program {
    /// The program of result `output` alone, with the instructions that it needs.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, Program, Registers};
    /// let scope = Names::new().var("x", 0).var("v", 1);
    /// let parse = |text| Expr::parse(text, &scope).unwrap();
    /// let program = Program::compile(&["sin(x) + v", "if x > 0 then exp(v) else -v"].map(parse));
    /// let second = program.part(1);
    /// let mut result = [0.0];
    /// second.eval(&[-1.0, 2.0], &mut Registers::default(), &mut result);
    /// assert_eq!(result, [-2.0]);
    /// assert!(second.code().len() < program.code().len());
    /// ```
    ///
    /// # Panics
    /// If there is no such result.
    pub fn part(&self, output: usize) -> Self {
        Parts::of(self).part(output)
    }

    /// The programs of all results, each alone.
    pub fn parts(&self) -> Vec<Self> {
        let mut parts = Parts::of(self);
        (0..self.outputs.len()).map(|output| parts.part(output)).collect()
    }
}

/// Takes parts out of a program, each in time of its own size.
struct Parts<'a> {
    whole: &'a Program,
    /// The innermost jump over each instruction, or `NONE`.
    over: Vec<u32>,
    /// New numbers of the registers that a part needs; `NONE` between parts.
    numbers: Vec<u32>,
}

const NONE: u32 = u32::MAX;

fn is_jump(op: Op) -> bool {
    matches!(op, Op::Jump | Op::JumpIf | Op::JumpUnless)
}

impl<'a> Parts<'a> {
    fn of(whole: &'a Program) -> Self {
        let mut over = Vec::with_capacity(whole.code.len());
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (i, instr) in whole.code.iter().enumerate() {
            while open.last().is_some_and(|&(end, _)| end <= i) {
                open.pop();
            }
            over.push(open.last().map_or(NONE, |&(_, jump)| jump));
            if is_jump(instr.op) {
                open.push((i + 1 + instr.args[1] as usize, i as u32));
            }
        }
        Self { whole, over, numbers: vec![NONE; whole.first() + whole.code.len()] }
    }

    /// The registers that a result needs, in their order, and their numbers.
    fn live(&mut self, result: u32) -> Vec<u32> {
        let first = self.whole.first();
        let (mut live, mut open) = (Vec::new(), vec![result]);
        while let Some(register) = open.pop() {
            if std::mem::replace(&mut self.numbers[register as usize], 0) != NONE {
                continue;
            }
            live.push(register);
            let Some(i) = (register as usize).checked_sub(first) else { continue };
            let Instr { op, args } = self.whole.code[i];
            open.extend(&args[..op.arity()]);
            if self.over[i] != NONE {
                open.push(first as u32 + self.over[i]);
            }
        }
        live.sort_unstable();
        for (number, &register) in (0..).zip(&live) {
            self.numbers[register as usize] = number;
        }
        live
    }

    fn part(&mut self, output: usize) -> Program {
        let whole = self.whole;
        let result = whole.outputs[output];
        let live = self.live(result);
        let (first, constants) = (whole.first(), whole.constants.len());
        let before = |register: usize| live.partition_point(|&r| (r as usize) < register);
        let (constants_end, inputs_end) = (before(constants), before(first));
        let input = |&r: &u32| r as usize - constants;
        let kept = &live[inputs_end..];
        let code: Vec<Instr> = kept
            .iter()
            .map(|&r| {
                let Instr { op, args } = whole.code[r as usize - first];
                // An operand that is not needed, of a jump without condition, is never looked at.
                let number = |a: u32| self.numbers.get(a as usize).map_or(NONE, |&n| n);
                let mut args = args.map(|a| if number(a) == NONE { 0 } else { number(a) });
                if is_jump(op) {
                    let next = r as usize + 1;
                    let distance = whole.code[r as usize - first].args[1] as usize;
                    args[1] = (before(next + distance) - before(next)) as u32;
                }
                Instr { op, args }
            })
            .collect();
        let inputs: Vec<VarId> =
            live[constants_end..inputs_end].iter().map(|r| whole.inputs[input(r)]).collect();
        let values: Vec<f64> =
            live[..constants_end].iter().map(|&r| whole.constants[r as usize]).collect();
        let part = Program {
            vars_needed: inputs.iter().map(|id| id.0 + 1).max().unwrap_or(0),
            outputs: vec![self.numbers[result as usize]],
            fingerprint: fingerprint(&values, inputs.len(), &code),
            input_origins: live[constants_end..inputs_end]
                .iter()
                .map(|r| whole.input_origins[input(r)])
                .collect(),
            origins: kept.iter().map(|&r| whole.origins[r as usize - first]).collect(),
            sources: whole.sources.clone(),
            constants: values,
            inputs,
            code,
        };
        live.iter().for_each(|&r| self.numbers[r as usize] = NONE);
        part
    }
}
