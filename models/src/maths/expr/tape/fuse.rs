//! Sums of scaled rows as one step.
//!
//! # Why
//! Networks and discretised fields are sums of products with constants: one recurrence each costs
//! its dispatch many times over, for one multiplication and one addition. A chain of them is one
//! step here, with the same operations in the same order, so that no bit changes.

use super::Step;
use super::rules::Rule;

/// `sign * row * factor` of a sum; the factor is a row that stands still.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub row: u32,
    pub factor: u32,
    pub sign: f64,
}

/// How many of its operands a rule reads.
fn operands(rule: Rule) -> usize {
    match rule {
        Rule::Copy | Rule::Neg | Rule::Square | Rule::Sqrt | Rule::Exp | Rule::Abs => 1,
        Rule::Angle | Rule::Select => 3,
        _ => 2,
    }
}

/// A sum that stands for a row, with a step that may be left out.
struct Sum {
    step: usize,
    terms: Vec<Term>,
}

struct Fuser {
    /// By row: the sum whose only reader may take it over.
    sums: Vec<Option<Sum>>,
    /// By step.
    dropped: Vec<bool>,
    /// A row with the constant one.
    one: u32,
}

impl Fuser {
    fn plain(&self, row: u32) -> Term {
        Term { row, factor: self.one, sign: 1.0 }
    }

    fn has_chain(&self, row: u32) -> bool {
        self.sums[row as usize].as_ref().is_some_and(|sum| sum.terms.len() > 1)
    }

    /// The terms of `row`, whose own step is not needed then; gives whether there was one.
    fn take(&mut self, row: u32, sign: f64, terms: &mut Vec<Term>) -> bool {
        let Some(sum) = self.sums[row as usize].take() else {
            terms.push(Term { sign, ..self.plain(row) });
            return false;
        };
        self.dropped[sum.step] = true;
        terms.extend(sum.terms.iter().map(|t| Term { sign: sign * t.sign, ..*t }));
        true
    }

    /// Takes a node that is added to a sum: a chain of its own has to be summed up before.
    fn take_one(&mut self, row: u32, sign: f64, terms: &mut Vec<Term>) -> bool {
        if self.has_chain(row) {
            terms.push(Term { sign, ..self.plain(row) });
            return false;
        }
        self.take(row, sign, terms)
    }

    /// The sum of a step, and whether it took others over.
    fn sum(&mut self, step: &Step) -> Option<(Vec<Term>, bool)> {
        let [a, b, _] = step.args;
        let mut terms = Vec::new();
        let fused = match step.rule {
            Rule::Copy => self.take(a, 1.0, &mut terms),
            Rule::Neg => self.take(a, -1.0, &mut terms),
            Rule::Scale => {
                terms.push(Term { row: a, factor: b, sign: 1.0 });
                false
            }
            Rule::Add | Rule::Sub => {
                let sign = if step.rule == Rule::Add { 1.0 } else { -1.0 };
                // x - (y + z) is (-y - z) + x, bit for bit.
                let ((first, one), (then, other)) = if self.has_chain(b) && !self.has_chain(a) {
                    ((b, sign), (a, 1.0))
                } else {
                    ((a, 1.0), (b, sign))
                };
                let chain = self.take(first, one, &mut terms);
                self.take_one(then, other, &mut terms) || chain
            }
            _ => return None,
        };
        Some((terms, fused))
    }
}

/// Replaces chains among `steps`, which fill `rows` rows of which `outputs` are results, by sums;
/// gives the terms of all of them.
pub(super) fn fuse(steps: &mut Vec<Step>, rows: usize, outputs: &[u32], one: u32) -> Vec<Term> {
    let mut uses = vec![0_u32; rows];
    for step in &*steps {
        step.args[..operands(step.rule)].iter().for_each(|&a| uses[a as usize] += 1);
    }
    outputs.iter().for_each(|&row| uses[row as usize] += 2);
    let none = || None;
    let sums = std::iter::repeat_with(none).take(rows).collect();
    let mut fuser = Fuser { sums, dropped: vec![false; steps.len()], one };
    let mut kept: Vec<Option<Vec<Term>>> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let sum = fuser.sum(step);
        let mut keep = None;
        if let Some((terms, fused)) = sum {
            if fused {
                keep = Some(terms.clone());
            }
            if uses[step.to as usize] == 1 {
                fuser.sums[step.to as usize] = Some(Sum { step: index, terms });
            }
        }
        kept.push(keep);
    }
    let mut all = Vec::new();
    let mut fused = Vec::new();
    for ((step, terms), dropped) in steps.drain(..).zip(kept).zip(fuser.dropped) {
        match terms {
            _ if dropped => {}
            None => fused.push(step),
            // A sum of one is shorter said.
            Some(terms) if terms.len() == 1 => {
                let Term { row, factor, sign } = terms[0];
                let rule = if sign > 0.0 { Rule::Scale } else { Rule::NegScale };
                fused.push(Step { rule, args: [row, factor, row], ..step });
            }
            Some(terms) => {
                let start = all.len() as u32;
                all.extend(terms);
                let args = [start, all.len() as u32, start];
                fused.push(Step { rule: Rule::Sum, args, ..step });
            }
        }
    }
    *steps = fused;
    all
}
