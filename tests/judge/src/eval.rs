//! Values at an instant, with inputs as they are known there.
use crate::graph::{Formula, Id, Op, Side};
use crate::linear;
use crate::model::Variable;
use crate::number::{Ball, Dd};
use crate::roots::SAFETY;
use crate::sim::{Sim, Stop, undecided};
use crate::tape::{Sides, Switch};
use crate::verdict::Reason;
use std::collections::HashMap;

/// Within so many roundings, a number may be zero for the judged program.
const ROUNDINGS: f64 = 1000.0 * f64::EPSILON;

/// What the judged program can tell about the sign of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Class {
    Sign(i8),
    Zero,
    /// Not zero, but perhaps within a rounding bound.
    Fuzzy(i8),
    Unsure(i8),
}

pub(crate) fn class<const M: usize>(z: &Ball<M>, size: f64) -> Class {
    let error = SAFETY * z.error();
    let sign = if z.c.hi > 0.0 { 1 } else { -1 };
    if z.c.hi.abs() > error + ROUNDINGS * size {
        Class::Sign(sign)
    } else if error > ROUNDINGS * size {
        Class::Unsure(sign)
    } else if z.c.hi.abs() <= 0.5 * f64::EPSILON * size {
        Class::Zero
    } else {
        Class::Fuzzy(sign)
    }
}

/// Values that were computed.
struct Memo<const M: usize> {
    values: HashMap<Id, Ball<M>>,
    /// Relations are read as resets read them.
    reset: bool,
    /// A relation that has another side here.
    with: Option<(u32, i8)>,
}

impl<const M: usize> Sim<'_, M> {
    /// The value of a node with the sides that hold.
    pub(crate) fn now(&self, id: Id) -> Result<Ball<M>, Stop> {
        self.value(id, &mut Memo { values: HashMap::new(), reset: false, with: None })
    }

    /// The value of a node if a relation has this side.
    pub(crate) fn now_with(&self, id: Id, with: (u32, i8)) -> Result<Ball<M>, Stop> {
        let with = Some(with);
        self.value(id, &mut Memo { values: HashMap::new(), reset: false, with })
    }

    /// The value of a node in a reset.
    pub(crate) fn in_reset(&self, id: Id) -> Result<Ball<M>, Stop> {
        self.value(id, &mut Memo { values: HashMap::new(), reset: true, with: None })
    }

    fn value(&self, id: Id, memo: &mut Memo<M>) -> Result<Ball<M>, Stop> {
        if let Some(ball) = memo.values.get(&id) {
            return Ok(*ball);
        }
        let mut of = |id: Id| self.value(id, memo);
        let ball = match self.sys.graph.ops[id as usize] {
            Op::Const(bits) => Ball::new(f64::from_bits(bits)),
            Op::Read(Variable::Time) | Op::Pre(Variable::Time) => self.time,
            Op::Read(variable) => self.v[self.sys.slot(variable)],
            Op::Pre(variable) => self.pre[self.sys.slot(variable)],
            Op::Negate(a) => -of(a)?,
            Op::Add(a, b) => of(a)? + of(b)?,
            Op::Subtract(a, b) => of(a)? - of(b)?,
            Op::Multiply(a, b) => of(a)? * of(b)?,
            Op::Divide(a, b) => of(a)? / of(b)?,
            Op::Sin(a) => of(a)?.sin(),
            Op::Cos(a) => of(a)?.cos(),
            Op::Exp(a) => of(a)?.exp(),
            Op::Tanh(a) => of(a)?.tanh(),
            Op::Sqrt(a) => of(a)?.sqrt(),
            Op::Log(a) => of(a)?.ln(),
            Op::If(formula, a, b) => {
                let yes = self.formula(formula, memo)?;
                self.value(if yes { a } else { b }, memo)?
            }
            Op::Abs(a, side) => {
                let side = self.side(side, memo)?;
                let a = self.value(a, memo)?;
                if side < 0 { -a } else { a }
            }
            Op::Sign(side) => Ball::new(f64::from(self.side(side, memo)?)),
            Op::Step(side) => Ball::new(f64::from(u8::from(self.side(side, memo)? >= 0))),
            Op::Min(a, b, side) => {
                let first = self.side(side, memo)? <= 0;
                self.value(if first { a } else { b }, memo)?
            }
            Op::Max(a, b, side) => {
                let first = self.side(side, memo)? >= 0;
                self.value(if first { a } else { b }, memo)?
            }
            Op::Floor(floor) => Ball::new(self.whole(floor, memo)?),
        };
        memo.values.insert(id, ball);
        Ok(ball)
    }

    fn formula(&self, formula: u32, memo: &mut Memo<M>) -> Result<bool, Stop> {
        let mut sides = self.sides.clone();
        if let Some((r, side)) = memo.with {
            sides.side[r as usize] = side;
        }
        if !memo.reset {
            return Ok(sides.holds(&self.sys.graph, formula));
        }
        self.read_sides(formula, &mut sides, memo)?;
        Ok(sides.holds(&self.sys.graph, formula))
    }

    fn read_sides(&self, f: u32, sides: &mut Sides, memo: &mut Memo<M>) -> Result<(), Stop> {
        match &self.sys.graph.formulas[f as usize] {
            Formula::Relation(_, side) => {
                let straight = Side { flipped: false, ..*side };
                let value = self.side(straight, memo)?;
                sides.side[side.relation as usize] = value;
                Ok(())
            }
            Formula::And(list) | Formula::Or(list) => {
                list.iter().try_for_each(|f| self.read_sides(*f, sides, memo))
            }
            Formula::Not(f) => self.read_sides(*f, sides, memo),
        }
    }

    /// A side as it is held, or, in a reset, by the value where that is clear.
    fn side(&self, side: Side, memo: &mut Memo<M>) -> Result<i8, Stop> {
        let switch = Switch::Relation(side.relation);
        let with = memo.with.filter(|w| w.0 == side.relation);
        let held = with.map_or(self.sides.side[side.relation as usize], |w| w.1);
        let value = if memo.reset {
            let relation = &self.sys.graph.relations[side.relation as usize];
            let z = self.value(relation.z, memo)?;
            match class(&z, self.size(relation.z)?) {
                Class::Sign(sign) => sign,
                _ if relation.moves && self.known.contains_key(&switch) => held,
                Class::Zero => 0,
                Class::Fuzzy(_) | Class::Unsure(_) => {
                    return undecided(Reason::Sign, "a comparison in a reset");
                }
            }
        } else {
            held
        };
        Ok(if side.flipped { -value } else { value })
    }

    fn whole(&self, floor: u32, memo: &mut Memo<M>) -> Result<f64, Stop> {
        let held = self.sides.floor[floor as usize];
        if !memo.reset {
            return Ok(held);
        }
        let argument = self.sys.graph.floors[floor as usize].argument;
        let x = self.value(argument, memo)?;
        let near = (x.c + Dd::new(0.5)).floor();
        match class(&(x - Ball::exact(near)), self.size(argument)?) {
            Class::Sign(_) => Ok(x.c.floor().hi),
            _ if self.known.contains_key(&Switch::Floor(floor)) => Ok(held),
            Class::Zero => Ok(near.hi),
            _ => undecided(Reason::Sign, "a whole number in a reset"),
        }
    }

    /// How large the terms are of which a node is the sum: what roundings are relative to.
    pub(crate) fn size(&self, id: Id) -> Result<f64, Stop> {
        Ok(match self.sys.graph.ops[id as usize] {
            Op::Negate(a) | Op::Abs(a, _) => self.size(a)?,
            Op::Add(a, b) | Op::Subtract(a, b) => self.size(a)? + self.size(b)?,
            Op::Multiply(a, b) => self.size(a)? * self.size(b)?,
            Op::Divide(a, b) => {
                let b = self.now(b)?.c.hi.abs();
                if b == 0.0 { f64::INFINITY } else { self.size(a)? / b }
            }
            Op::Sin(a) | Op::Cos(a) => {
                let value = self.now(id)?.c.hi.abs();
                if value == 0.0 { 0.0 } else { value + self.size(a)?.min(1.0) }
            }
            _ => self.now(id)?.c.hi.abs(),
        })
    }

    /// A comparison of numbers that do not move, in doubles as the program makes it (rule 2).
    pub(crate) fn shadow(&self, id: Id) -> f64 {
        let of = |id: Id| self.shadow(id);
        match self.sys.graph.ops[id as usize] {
            Op::Negate(a) => -of(a),
            Op::Add(a, b) => of(a) + of(b),
            Op::Subtract(a, b) => of(a) - of(b),
            Op::Multiply(a, b) => of(a) * of(b),
            Op::Divide(a, b) => of(a) / of(b),
            _ => self.now(id).map_or(f64::NAN, |x| x.c.hi),
        }
    }

    /// Solves for the algebraic variables of a unit, from the values that they have.
    pub(crate) fn solve(&mut self, u: usize) -> Result<bool, Stop> {
        let residuals = self.sys.residuals[&u].clone();
        let n = residuals.len();
        let slot = |i: usize| self.sys.slot(Variable::Algebraic(u, i));
        let slots: Vec<usize> = (0..n).map(slot).collect();
        let mut moved = false;
        for round in 0..60 {
            let g = residuals.iter().map(|r| self.now(*r)).collect::<Result<Vec<_>, _>>()?;
            let mut jacobian = vec![vec![0.0; n]; n];
            for j in 0..n {
                let old = self.v[slots[j]];
                let by = 1e-11 * (1.0 + old.c.hi.abs());
                self.v[slots[j]].c = old.c + Dd::new(by);
                for i in 0..n {
                    jacobian[i][j] = (self.now(residuals[i])?.c - g[i].c).hi / by;
                }
                self.v[slots[j]] = old;
            }
            let Some(inverse) = linear::inverse(jacobian) else {
                return undecided(Reason::Singular, "algebraic equations are singular");
            };
            let mut done = round > 2;
            for (i, row) in inverse.iter().enumerate() {
                let terms = row.iter().zip(&g).map(|(a, b)| b.times(*a));
                let step = terms.fold(Ball::ZERO, |sum, x| sum + x);
                let new = self.v[slots[i]] - step;
                if !new.finite() {
                    return undecided(Reason::Singular, "algebraic equations have no solution");
                }
                let scale = 1.0 + new.c.hi.abs();
                moved |= step.c.hi.abs() > 1e-12 * scale;
                done &= step.c.hi.abs() <= 1e-26 * scale;
                self.v[slots[i]] = new;
            }
            if done {
                return Ok(moved);
            }
        }
        undecided(Reason::Singular, "algebraic equations are not solved")
    }

    /// Wired inputs that differ from their outputs.
    pub(crate) fn mismatches(&self) -> Result<Vec<(usize, Ball<M>)>, Stop> {
        let mut list = Vec::new();
        let mut variables: Vec<_> = self.sys.wires.iter().collect();
        variables.sort();
        for (variable, output) in variables {
            let slot = self.sys.slot(*variable);
            let value = self.output(self.sys.sender[variable], *output)?;
            if !value.finite() {
                return undecided(Reason::Singular, "an output is no number");
            }
            let size = self.size(*output)? + self.v[slot].c.hi.abs();
            if (value.c - self.v[slot].c).hi.abs() > 1e-22 * size {
                list.push((slot, value));
            }
        }
        Ok(list)
    }
}
