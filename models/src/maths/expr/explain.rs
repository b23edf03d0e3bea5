//! Which part of an expression made a result infinite or undefined.

use std::fmt;

use super::error::Span;
use super::op::Op;
use super::program::{Program, Registers};
use super::scope::VarId;
use super::tree::Origin;

/// The part of an expression that first became infinite or NaN; [`Program::explain_non_finite`].
#[derive(Clone, Debug, PartialEq)]
pub struct NonFinite {
    /// Which expression of the program has the bad result.
    pub output: usize,
    /// The source text of that part (of what was differentiated, for a derivative).
    pub text: String,
    /// Where it stands in its source text.
    pub span: Span,
    /// Its value.
    pub value: f64,
    /// The operation with its operands, such as `sqrt(-0.5)`; none for a variable.
    pub operation: Option<String>,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.operation, self.text.as_str()) {
            (Some(operation), "") => write!(f, "{operation} is {}", self.value),
            (Some(operation), text) => write!(f, "`{text}` is {}: {operation}", self.value),
            (None, "") => write!(f, "a variable is {}", self.value),
            (None, text) => write!(f, "`{text}` is {}", self.value),
        }
    }
}

impl Program {
    /// Evaluates on `vars` and, if a result is not finite, names the part that is to blame: from
    /// the first such result back to the part whose own operands are all finite. Values that do not
    /// reach the result, as in a branch that is not taken, are never blamed.
    ///
    /// # Panics
    /// If `vars` is shorter than [`vars_needed`](Self::vars_needed).
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, Program};
    ///
    /// let scope = Names::new().var("level", 0);
    /// let outflow = Expr::parse("0.3 * sqrt(level - 1) + 2", &scope).unwrap();
    /// let program = Program::compile([&outflow]);
    /// assert_eq!(program.explain_non_finite(&[2.0]), None);
    /// let why = program.explain_non_finite(&[0.5]).unwrap();
    /// assert_eq!(why.to_string(), "`sqrt(level - 1)` is NaN: sqrt(-0.5)");
    /// assert_eq!(why.span.of(outflow.source()), "sqrt(level - 1)");
    /// ```
    pub fn explain_non_finite(&self, vars: &[f64]) -> Option<NonFinite> {
        let mut registers = Registers::default();
        self.run(vars, &mut registers);
        let output = self.results(&registers).position(|value| !value.is_finite())?;
        let values = registers.as_slice();
        let first = self.first();
        let mut register = self.outputs[output] as usize;
        // Operands have smaller numbers, so that this ends.
        while let Some(instr) = register.checked_sub(first).map(|at| self.code[at]) {
            let operands = match instr.op {
                Op::Select if values[instr.args[0] as usize] != 0.0 => &instr.args[1..2],
                Op::Select => &instr.args[2..3],
                op => &instr.args[..op.arity()],
            };
            match operands.iter().find(|&&arg| !values[arg as usize].is_finite()) {
                Some(&worse) => register = worse as usize,
                None => {
                    let operands: Vec<f64> =
                        operands.iter().map(|&arg| values[arg as usize]).collect();
                    let operation = operation(instr.op, &operands);
                    let origin = self.origins[register - first];
                    return Some(self.blame(output, origin, values[register], Some(operation)));
                }
            }
        }
        // Constants are finite, so that it is a variable.
        let origin = self.input_origins[register.saturating_sub(self.constants.len())];
        Some(self.blame(output, origin, values[register], None))
    }

    /// The source text of result `output`; a number for one that is constant. Where the value of a
    /// variable chooses between texts ([`Expr::choose`](super::Expr::choose)), the one for `chosen`.
    pub fn text(&self, output: usize, chosen: Option<(VarId, f64)>) -> String {
        let mut register = self.outputs[output] as usize;
        while let Some(branch) = chosen.and_then(|chosen| self.branch(register, chosen)) {
            register = branch;
        }
        let Some(other) = register.checked_sub(self.constants.len()) else {
            return format!("{:?}", self.constants[register]);
        };
        let origin = match other.checked_sub(self.inputs.len()) {
            Some(at) => self.origins[at],
            None => self.input_origins[other],
        };
        match self.written(origin) {
            "" => self.of_inputs(),
            text => text.to_owned(),
        }
    }

    /// The text that stands at a place of the sources.
    fn written(&self, origin: Origin) -> &str {
        self.sources.get(origin.source as usize).map_or("", |text| origin.span.of(text))
    }

    /// Names the variables that a formula reads which nobody has written: the reduction of equations made it.
    fn of_inputs(&self) -> String {
        let mut names: Vec<&str> = self.input_origins.iter().map(|&o| self.written(o)).collect();
        names.retain(|name| !name.is_empty());
        names.dedup();
        format!("f({})", names.join(", "))
    }

    /// The branch that a register takes if it is a choice by the value of a variable.
    fn branch(&self, register: usize, (var, value): (VarId, f64)) -> Option<usize> {
        let instr = |register: usize| self.code.get(register.checked_sub(self.first())?);
        let choice = instr(register).filter(|i| i.op == Op::Select)?;
        let test = instr(choice.args[0] as usize).filter(|i| i.op == Op::Equal)?;
        let of = |operand: u32| {
            let at = (operand as usize).checked_sub(self.constants.len());
            at.and_then(|at| self.inputs.get(at)).copied()
        };
        let [a, b] = [test.args[0], test.args[1]];
        let other = if of(a) == Some(var) { b } else { a };
        if of(a) != Some(var) && of(b) != Some(var) {
            return None;
        }
        let number = *self.constants.get(other as usize)?;
        Some(choice.args[if value == number { 1 } else { 2 }] as usize)
    }

    fn blame(
        &self,
        output: usize,
        Origin { source, span }: Origin,
        value: f64,
        operation: Option<String>,
    ) -> NonFinite {
        let text = self.sources.get(source as usize).map_or("", |source| span.of(source));
        NonFinite { output, text: text.to_owned(), span, value, operation }
    }
}

/// The operation with numbers for its operands.
fn operation(op: Op, operands: &[f64]) -> String {
    match (op, operands) {
        (Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Pow, &[a, b]) => {
            let [a, b] =
                [a, b].map(|x| if x < 0.0 { format!("({x:?})") } else { format!("{x:?}") });
            format!("{a} {} {b}", op.name())
        }
        _ => {
            let operands: Vec<String> = operands.iter().map(|x| format!("{x:?}")).collect();
            format!("{}({})", op.name(), operands.join(", "))
        }
    }
}
