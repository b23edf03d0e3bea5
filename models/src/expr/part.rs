//! Programs of single results, for whoever needs one of many at a time.

use super::op::{Op, apply};
use super::program::{Instr, Program, fingerprint};
use super::scalar::Scalar;
use super::scope::VarId;

impl Program {
    /// The program of result `output` alone, with the instructions that it needs.
    ///
    /// ```
    /// use superdense_models::expr::{Expr, Names, Program};
    /// let scope = Names::new().var("x", 0).var("v", 1);
    /// let parse = |text| Expr::parse(text, &scope).unwrap();
    /// let program = Program::compile(&["sin(x) + v", "if x > 0 then exp(v) else -v"].map(parse));
    /// let second = program.part(1);
    /// let vars = [-1.0, 2.0];
    /// assert_eq!(second.single(&mut Vec::new(), |id| vars[id.0 as usize]), -2.0);
    /// assert!(second.code().len() < program.code().len());
    /// ```
    ///
    /// # Panics
    /// If there is no such result.
    pub fn part(&self, output: usize) -> Self {
        let first = self.first();
        let result = self.outputs[output];
        let mut live = vec![false; first + self.code.len()];
        live[result as usize] = true;
        for (i, instr) in self.code.iter().enumerate().rev() {
            let at = first + i;
            if let Op::Jump | Op::JumpIf | Op::JumpUnless = instr.op {
                // Worth keeping if it skips something that is.
                live[at] = live[at + 1..][..instr.args[1] as usize].contains(&true);
            }
            if live[at] {
                instr.args[..instr.op.arity()].iter().for_each(|&a| live[a as usize] = true);
            }
        }
        // How many live registers come before each one: the new numbers.
        let mut numbers = vec![0_u32; live.len() + 1];
        for (k, &live) in live.iter().enumerate() {
            numbers[k + 1] = numbers[k] + u32::from(live);
        }
        let constants: Vec<f64> = pick(&self.constants, &live);
        let inputs: Vec<VarId> = pick(&self.inputs, &live[self.constants.len()..]);
        let mut code = Vec::new();
        for (i, instr) in self.code.iter().enumerate().filter(|(i, _)| live[first + i]) {
            let mut args = instr.args.map(|a| numbers[a as usize]);
            if let Op::Jump | Op::JumpIf | Op::JumpUnless = instr.op {
                let next = first + i + 1;
                args[1] = numbers[next + instr.args[1] as usize] - numbers[next];
            }
            code.push(Instr { op: instr.op, args });
        }
        let fingerprint = fingerprint(&constants, inputs.len(), &code);
        Self {
            vars_needed: inputs.iter().map(|id| id.0 + 1).max().unwrap_or(0),
            outputs: vec![numbers[result as usize]],
            fingerprint,
            input_origins: pick(&self.input_origins, &live[self.constants.len()..]),
            origins: pick(&self.origins, &live[first..]),
            sources: self.sources.clone(),
            constants,
            inputs,
            code,
        }
    }

    /// The first result, from variables that `load` gives; `registers` is working memory. For
    /// short programs that take turns.
    pub fn single<S: Scalar>(&self, registers: &mut Vec<S>, load: impl Fn(VarId) -> S) -> S {
        registers.clear();
        registers.extend(self.constants.iter().map(|&c| S::constant(c)));
        registers.extend(self.inputs.iter().map(|&id| load(id)));
        let first = registers.len();
        let mut at = 0;
        while let Some(&Instr { op, args }) = self.code.get(at) {
            let skipped = match op {
                Op::Jump => args[1],
                Op::JumpIf | Op::JumpUnless => {
                    let holds = registers[args[0] as usize].value() != 0.0;
                    if holds == (op == Op::JumpIf) { args[1] } else { 0 }
                }
                _ => {
                    let value = apply(op, args, registers);
                    registers.push(value);
                    at += 1;
                    continue;
                }
            };
            at += 1 + skipped as usize;
            registers.resize(first + at, S::constant(0.0));
        }
        registers[self.outputs[0] as usize].clone()
    }
}

/// The items that are live.
fn pick<T: Clone>(items: &[T], live: &[bool]) -> Vec<T> {
    items.iter().zip(live).filter(|(_, live)| **live).map(|(item, _)| item.clone()).collect()
}
