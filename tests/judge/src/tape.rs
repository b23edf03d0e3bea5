//! A part of the graph with all sides held: smooth operations in order, and their Taylor series.
use crate::graph::{Formula, Graph, Id, Op, Side};
use crate::model::{Comparison, Variable};
use crate::number::Ball;
use std::collections::HashMap;

/// The order of series.
pub(crate) const ORDER: usize = 26;
const WIDTH: usize = ORDER + 1;

#[derive(Debug, Clone, Copy)]
enum Step {
    Const(f64),
    Time,
    /// A value that stays.
    Slot(u32),
    /// A state or an algebraic variable.
    Free(u32),
    Negate(u32),
    Add(u32, u32),
    Subtract(u32, u32),
    Multiply(u32, u32),
    Divide(u32, u32),
    /// The cosine is the next step.
    Sin(u32),
    /// The sine is the step before.
    Cos(u32),
    Exp(u32),
    /// `1 - y^2` is the next step.
    Tanh(u32),
    /// Of the step before.
    Slope(u32),
    Sqrt(u32),
    Log(u32),
}

/// Something that holds a side or an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Switch {
    Relation(u32),
    Floor(u32),
}

/// The sides and integers that hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sides {
    pub(crate) side: Vec<i8>,
    pub(crate) floor: Vec<f64>,
    /// Relations that passed zero along the solution in this cycle, for rule 14.
    pub(crate) struck: Vec<bool>,
}

impl Sides {
    pub(crate) fn of(&self, side: Side) -> i8 {
        let value = self.side[side.relation as usize];
        if side.flipped { -value } else { value }
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&self, graph: &Graph, formula: u32) -> bool {
        match &graph.formulas[formula as usize] {
            Formula::Relation(comparison, side) => {
                let s = self.of(*side);
                let equal = s == 0 || self.struck[side.relation as usize];
                match comparison {
                    Comparison::Less => s < 0,
                    Comparison::AtMost => s <= 0,
                    Comparison::Greater => s > 0,
                    Comparison::AtLeast => s >= 0,
                    Comparison::Equal => equal,
                    Comparison::NotEqual => !equal,
                }
            }
            Formula::And(all) => all.iter().all(|f| self.holds(graph, *f)),
            Formula::Or(any) => any.iter().any(|f| self.holds(graph, *f)),
            Formula::Not(f) => !self.holds(graph, *f),
        }
    }
}

/// What a tape is made from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) sides: &'a Sides,
    /// Where values of variables are found.
    pub(crate) slots: &'a HashMap<Variable, u32>,
    /// The output that an input is wired to; empty: inputs have values of their own.
    pub(crate) wires: &'a HashMap<Variable, Id>,
}

const NONE: u32 = u32::MAX;
const BUSY: u32 = u32::MAX - 1;

/// Smooth operations.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    steps: Vec<Step>,
    constant: Vec<bool>,
    at: Vec<u32>,
    /// Inner ones first.
    pub(crate) switches: Vec<Switch>,
    /// Relations along which a unit slides, with their speeds on either side.
    pub(crate) slides: Vec<(u32, u32, u32)>,
}

/// Outputs of units depend on each other without any delay.
#[derive(Debug)]
pub(crate) struct Loop;

impl Tape {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self { at: vec![NONE; graph.ops.len()], ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The steps that are square roots.
    pub(crate) fn square_roots(&self) -> impl Iterator<Item = u32> + '_ {
        let root = |(i, step): (usize, &Step)| matches!(step, Step::Sqrt(_)).then_some(i as u32);
        self.steps.iter().enumerate().filter_map(root)
    }

    /// The step of a node that was visited.
    pub(crate) fn step(&self, id: Id) -> Option<u32> {
        let at = self.at[id as usize];
        (at < BUSY).then_some(at)
    }

    pub(crate) fn constant(&self, step: u32) -> bool {
        self.constant[step as usize]
    }

    /// Starts with no nodes, for other sides; gives those there were.
    pub(crate) fn fresh_map(&mut self) -> Vec<u32> {
        let fresh = vec![NONE; self.at.len()];
        std::mem::replace(&mut self.at, fresh)
    }

    pub(crate) fn restore_map(&mut self, map: Vec<u32>) {
        self.at = map;
    }

    /// Lets a step stand for a node.
    pub(crate) fn put(&mut self, id: Id, step: u32) {
        self.at[id as usize] = step;
    }

    pub(crate) fn plus(&mut self, a: u32, b: u32) -> u32 {
        let constant = self.constant(a) && self.constant(b);
        self.push(Step::Add(a, b), constant)
    }

    pub(crate) fn minus(&mut self, a: u32, b: u32) -> u32 {
        let constant = self.constant(a) && self.constant(b);
        self.push(Step::Subtract(a, b), constant)
    }

    pub(crate) fn multiply(&mut self, a: u32, b: u32) -> u32 {
        let constant = self.constant(a) && self.constant(b);
        self.push(Step::Multiply(a, b), constant)
    }

    /// `-m/(p - m)`.
    pub(crate) fn share(&mut self, p: u32, m: u32) -> u32 {
        let constant = self.constant(p) && self.constant(m);
        let below = self.push(Step::Subtract(m, p), constant);
        self.push(Step::Divide(m, below), constant)
    }

    fn push(&mut self, step: Step, constant: bool) -> u32 {
        self.steps.push(step);
        self.constant.push(constant);
        self.steps.len() as u32 - 1
    }

    fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    /// Adds a condition's relations.
    pub(crate) fn condition(&mut self, source: &Source, formula: u32) -> Result<(), Loop> {
        match &source.graph.formulas[formula as usize] {
            Formula::Relation(_, side) => self.relation(source, side.relation),
            Formula::And(all) | Formula::Or(all) => {
                all.iter().try_for_each(|f| self.condition(source, *f))
            }
            Formula::Not(f) => self.condition(source, *f),
        }
    }

    /// Adds a relation, after its inner ones.
    pub(crate) fn relation(&mut self, source: &Source, relation: u32) -> Result<(), Loop> {
        if !self.has(Switch::Relation(relation)) {
            self.visit(source, source.graph.relations[relation as usize].z)?;
            self.switches.push(Switch::Relation(relation));
        }
        Ok(())
    }

    /// Adds a node.
    pub(crate) fn visit(&mut self, source: &Source, id: Id) -> Result<u32, Loop> {
        match self.at[id as usize] {
            NONE => {}
            BUSY => return Err(Loop),
            at => return Ok(at),
        }
        self.at[id as usize] = BUSY;
        let at = self.node(source, id)?;
        self.at[id as usize] = at;
        Ok(at)
    }

    fn node(&mut self, source: &Source, id: Id) -> Result<u32, Loop> {
        let op = source.graph.ops[id as usize];
        Ok(match op {
            Op::Const(bits) => self.push(Step::Const(f64::from_bits(bits)), true),
            Op::Read(variable) | Op::Pre(variable) => self.read(source, variable)?,
            Op::Negate(a) => self.one(source, a, Step::Negate)?,
            Op::Exp(a) => self.one(source, a, Step::Exp)?,
            Op::Sqrt(a) => self.one(source, a, Step::Sqrt)?,
            Op::Log(a) => self.one(source, a, Step::Log)?,
            Op::Sin(a) | Op::Cos(a) => {
                let sin = self.one(source, a, Step::Sin)?;
                let constant = self.constant(sin);
                let a = self.visit(source, a)?;
                let cos = self.push(Step::Cos(a), constant);
                if matches!(op, Op::Sin(_)) { sin } else { cos }
            }
            Op::Tanh(a) => {
                let y = self.one(source, a, Step::Tanh)?;
                let constant = self.constant(y);
                self.push(Step::Slope(y), constant);
                y
            }
            Op::Add(a, b) => self.two(source, a, b, Step::Add)?,
            Op::Subtract(a, b) => self.two(source, a, b, Step::Subtract)?,
            Op::Multiply(a, b) => self.two(source, a, b, Step::Multiply)?,
            Op::Divide(a, b) => self.two(source, a, b, Step::Divide)?,
            _ => self.switching(source, op)?,
        })
    }

    /// Functions that hold sides: rule 1.
    fn switching(&mut self, source: &Source, op: Op) -> Result<u32, Loop> {
        Ok(match op {
            Op::If(condition, a, b) => {
                self.condition(source, condition)?;
                let yes = source.sides.holds(source.graph, condition);
                self.visit(source, if yes { a } else { b })?
            }
            Op::Abs(a, side) => {
                self.relation(source, side.relation)?;
                if source.sides.of(side) < 0 {
                    self.one(source, a, Step::Negate)?
                } else {
                    self.visit(source, a)?
                }
            }
            Op::Sign(side) => {
                self.relation(source, side.relation)?;
                self.push(Step::Const(f64::from(source.sides.of(side))), true)
            }
            Op::Step(side) => {
                self.relation(source, side.relation)?;
                let one = source.sides.of(side) >= 0;
                self.push(Step::Const(f64::from(u8::from(one))), true)
            }
            Op::Min(a, b, side) => {
                self.relation(source, side.relation)?;
                self.visit(source, if source.sides.of(side) <= 0 { a } else { b })?
            }
            Op::Max(a, b, side) => {
                self.relation(source, side.relation)?;
                self.visit(source, if source.sides.of(side) >= 0 { a } else { b })?
            }
            Op::Floor(floor) => {
                if !self.has(Switch::Floor(floor)) {
                    self.visit(source, source.graph.floors[floor as usize].argument)?;
                    self.switches.push(Switch::Floor(floor));
                }
                self.push(Step::Const(source.sides.floor[floor as usize]), true)
            }
            _ => unreachable!("the smooth ones are elsewhere"),
        })
    }

    fn read(&mut self, source: &Source, variable: Variable) -> Result<u32, Loop> {
        if variable == Variable::Time {
            return Ok(self.push(Step::Time, false));
        }
        if let Some(output) = source.wires.get(&variable) {
            return self.visit(source, *output);
        }
        let slot = source.slots[&variable];
        Ok(match variable {
            Variable::State(..) | Variable::Algebraic(..) => self.push(Step::Free(slot), false),
            _ => self.push(Step::Slot(slot), true),
        })
    }

    fn one(&mut self, source: &Source, a: Id, step: fn(u32) -> Step) -> Result<u32, Loop> {
        let a = self.visit(source, a)?;
        let constant = self.constant(a);
        Ok(self.push(step(a), constant))
    }

    fn two(&mut self, s: &Source, a: Id, b: Id, step: fn(u32, u32) -> Step) -> Result<u32, Loop> {
        let a = self.visit(s, a)?;
        let b = self.visit(s, b)?;
        let constant = self.constant(a) && self.constant(b);
        Ok(self.push(step(a, b), constant))
    }
}

/// Taylor coefficients of all steps of a tape.
#[derive(Debug)]
pub(crate) struct Series<const M: usize> {
    c: Vec<Ball<M>>,
    /// Those of states and algebraic variables, by slot.
    pub(crate) free: Vec<Vec<Ball<M>>>,
}

impl<const M: usize> Series<M> {
    pub(crate) fn new(tape: &Tape) -> Self {
        Self { c: vec![Ball::ZERO; tape.len() * WIDTH], free: Vec::new() }
    }

    /// All coefficients of a step.
    pub(crate) fn of(&self, step: u32) -> &[Ball<M>] {
        &self.c[step as usize * WIDTH..(step as usize + 1) * WIDTH]
    }

    /// Computes the coefficients `k` of all steps. `free` has those of states and algebraic
    /// variables by slot, `slots` the values, `time` the instant.
    pub(crate) fn order(
        &mut self,
        tape: &Tape,
        k: usize,
        time: Ball<M>,
        slots: &[Ball<M>],
        free: &[Ball<M>],
    ) {
        for (i, step) in tape.steps.iter().enumerate() {
            if k > 0 && tape.constant[i] {
                continue;
            }
            let value = match *step {
                Step::Const(value) => Ball::new(value),
                Step::Time if k == 0 => time,
                Step::Time if k == 1 => Ball::new(1.0),
                Step::Time => Ball::ZERO,
                Step::Slot(slot) => slots[slot as usize],
                Step::Free(slot) => free[slot as usize],
                Step::Negate(a) => -self.at(a, k),
                Step::Add(a, b) => self.at(a, k) + self.at(b, k),
                Step::Subtract(a, b) => self.at(a, k) - self.at(b, k),
                Step::Multiply(a, b) => self.product(tape, a, b, k),
                _ if k == 0 => self.start(*step),
                _ => self.smooth(tape, *step, i as u32, k),
            };
            self.c[i * WIDTH + k] = value;
        }
    }

    pub(crate) fn at(&self, step: u32, k: usize) -> Ball<M> {
        self.c[step as usize * WIDTH + k]
    }

    fn product(&self, tape: &Tape, a: u32, b: u32, k: usize) -> Ball<M> {
        if tape.constant(a) {
            return self.at(a, 0) * self.at(b, k);
        }
        if tape.constant(b) {
            return self.at(a, k) * self.at(b, 0);
        }
        self.sum(0, k, |i| self.at(a, i) * self.at(b, k - i))
    }

    fn sum(&self, from: usize, to: usize, term: impl Fn(usize) -> Ball<M>) -> Ball<M> {
        (from..=to).fold(Ball::ZERO, |sum, i| sum + term(i))
    }

    fn start(&self, step: Step) -> Ball<M> {
        match step {
            Step::Divide(a, b) => self.at(a, 0) / self.at(b, 0),
            Step::Sin(a) => self.at(a, 0).sin(),
            Step::Cos(a) => self.at(a, 0).cos(),
            Step::Exp(a) => self.at(a, 0).exp(),
            Step::Tanh(a) => self.at(a, 0).tanh(),
            Step::Slope(y) => Ball::new(1.0) - self.at(y, 0) * self.at(y, 0),
            Step::Sqrt(a) => self.at(a, 0).sqrt(),
            Step::Log(a) => self.at(a, 0).ln(),
            _ => unreachable!("done before"),
        }
    }

    fn smooth(&self, tape: &Tape, step: Step, here: u32, k: usize) -> Ball<M> {
        let weighted = |a: u32, b: u32| {
            let sum = self.sum(1, k, |i| {
                let x = self.at(a, i);
                if x == Ball::ZERO { x } else { x.times(i as f64) * self.at(b, k - i) }
            });
            sum.over(k as f64)
        };
        match step {
            Step::Divide(a, b) if tape.constant(b) => self.at(a, k) / self.at(b, 0),
            Step::Divide(a, b) => {
                let sum = self.sum(1, k, |i| self.at(b, i) * self.at(here, k - i));
                (self.at(a, k) - sum) / self.at(b, 0)
            }
            Step::Sin(a) => weighted(a, here + 1),
            Step::Cos(a) => -weighted(a, here - 1),
            Step::Exp(a) => weighted(a, here),
            Step::Tanh(a) => weighted(a, here + 1),
            Step::Slope(y) => -self.sum(0, k, |i| self.at(y, i) * self.at(y, k - i)),
            Step::Sqrt(a) => {
                let sum = self.sum(1, k - 1, |i| self.at(here, i) * self.at(here, k - i));
                (self.at(a, k) - sum) / self.at(here, 0).times(2.0)
            }
            Step::Log(a) => {
                let sum =
                    self.sum(1, k - 1, |i| self.at(here, i).times(i as f64) * self.at(a, k - i));
                (self.at(a, k) - sum.over(k as f64)) / self.at(a, 0)
            }
            _ => unreachable!("done before"),
        }
    }

    /// The longest step over which arguments of exponentials change little.
    pub(crate) fn cap(&self, tape: &Tape) -> f64 {
        let mut cap = f64::INFINITY;
        for step in &tape.steps {
            let (Step::Exp(a) | Step::Tanh(a)) = step else { continue };
            let c = self.of(*a);
            for (k, x) in c.iter().enumerate().skip(1) {
                if x.c.hi != 0.0 {
                    cap = cap.min((4.0 / x.c.hi.abs()).powf(1.0 / k as f64));
                }
            }
        }
        cap
    }
}
