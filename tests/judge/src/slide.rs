//! Sliding (rule 18): where both sides drive back, the field of Filippov, which is the convex
//! combination of both sides that stays on the surface.
use crate::cycle::Flip;
use crate::eval::{Class, class};
use crate::graph::{Graph, Id, Op, Scope};
use crate::model::{Model, Switching, Variable};
use crate::number::Ball;
use crate::sim::{Sim, Stop, undecided};
use crate::system::System;
use crate::tape::{Loop, Source, Switch, Tape};
use crate::verdict::Reason;

/// A relation along which its unit can slide: its partial derivatives.
#[derive(Debug)]
pub(crate) struct Surface {
    pub(crate) unit: usize,
    /// By slot of a state.
    slopes: Vec<(usize, Id)>,
    time: Id,
}

impl Graph {
    /// The derivative with respect to a variable; none where it is not smooth or reads what moves
    /// otherwise.
    fn derivative(&mut self, id: Id, by: Variable) -> Option<Id> {
        let op = self.ops[id as usize];
        Some(match op {
            Op::Const(_) => self.constant(0.0),
            Op::Read(v) if v == by => self.constant(1.0),
            Op::Read(Variable::Input(..) | Variable::Algebraic(..)) => return None,
            Op::Read(_) => self.constant(0.0),
            Op::Negate(a) => {
                let da = self.derivative(a, by)?;
                self.add(Op::Negate(da))
            }
            Op::Add(a, b) | Op::Subtract(a, b) => {
                let (da, db) = (self.derivative(a, by)?, self.derivative(b, by)?);
                self.add(if matches!(op, Op::Add(..)) {
                    Op::Add(da, db)
                } else {
                    Op::Subtract(da, db)
                })
            }
            Op::Multiply(a, b) => {
                let (da, db) = (self.derivative(a, by)?, self.derivative(b, by)?);
                let (l, r) = (self.add(Op::Multiply(da, b)), self.add(Op::Multiply(a, db)));
                self.add(Op::Add(l, r))
            }
            Op::Divide(a, b) => {
                let (da, db) = (self.derivative(a, by)?, self.derivative(b, by)?);
                let part = self.add(Op::Multiply(id, db));
                let top = self.add(Op::Subtract(da, part));
                self.add(Op::Divide(top, b))
            }
            Op::Sin(a) => {
                let da = self.derivative(a, by)?;
                let cos = self.add(Op::Cos(a));
                self.add(Op::Multiply(da, cos))
            }
            Op::Cos(a) => {
                let da = self.derivative(a, by)?;
                let sin = self.add(Op::Sin(a));
                let product = self.add(Op::Multiply(da, sin));
                self.add(Op::Negate(product))
            }
            Op::Exp(a) => {
                let da = self.derivative(a, by)?;
                self.add(Op::Multiply(da, id))
            }
            _ => return None,
        })
    }
}

impl System {
    /// Finds relations along which a unit can slide.
    pub(crate) fn find_surfaces(&mut self, model: &Model) {
        for r in 0..self.graph.relations.len() {
            let crate::graph::Scope::Unit(u) = self.graph.relations[r].scope else { continue };
            let sliding = model.units[u].switching == Switching::Sliding;
            if !sliding || !self.jumps[r] || !self.field[r] {
                continue;
            }
            let z = self.graph.relations[r].z;
            let mut slopes = Vec::new();
            let mut smooth = true;
            for slot in 0..self.states {
                if !matches!(self.variables[slot], Variable::State(w, _) if w == u) {
                    continue;
                }
                match self.graph.derivative(z, self.variables[slot]) {
                    Some(id) if id != self.graph.constant(0.0) => slopes.push((slot, id)),
                    Some(_) => {}
                    None => smooth = false,
                }
            }
            let time = self.graph.derivative(z, Variable::Time);
            if let (Some(time), true, false) = (time, smooth, slopes.is_empty()) {
                self.surfaces.insert(r as u32, Surface { unit: u, slopes, time });
            }
        }
    }
}

impl<const M: usize> Sim<'_, M> {
    /// How fast a relation moves if it has a side.
    fn speed(&self, r: u32, side: i8) -> Result<Ball<M>, Stop> {
        let surface = &self.sys.surfaces[&r];
        let derivatives = self.derivatives();
        let mut sum = self.now_with(surface.time, (r, side))?;
        for (slot, slope) in &surface.slopes {
            if let Some(id) = derivatives[*slot] {
                sum = sum + self.now_with(*slope, (r, side))? * self.now_with(id, (r, side))?;
            }
        }
        Ok(sum)
    }

    /// Whether a unit slides along a relation.
    pub(crate) fn slides(&self, r: u32) -> bool {
        let surface = self.sys.surfaces.get(&r);
        surface.is_some_and(|s| self.sliding[s.unit] == Some(r))
    }

    /// The side of a relation that is zero, where its unit may slide; none: as elsewhere.
    pub(crate) fn slide_side(&mut self, r: u32) -> Result<Option<i8>, Stop> {
        let Some(surface) = self.sys.surfaces.get(&r) else { return Ok(None) };
        let unit = surface.unit;
        let (p, m) = (self.speed(r, 1)?, self.speed(r, -1)?);
        let size = p.c.hi.abs() + m.c.hi.abs();
        let side = match (class(&p, size), class(&m, size)) {
            _ if size == 0.0 => return Ok(None),
            (Class::Sign(-1), Class::Sign(1)) => 0,
            (Class::Sign(1), Class::Sign(1)) => 1,
            (Class::Sign(-1), Class::Sign(-1)) => -1,
            (Class::Sign(_), Class::Sign(_)) => {
                return undecided(Reason::Open, "both sides drive away from a surface");
            }
            _ => return undecided(Reason::Sign, "whether it slides hangs on an error"),
        };
        if side == 0 {
            self.begin(unit, r)?;
        }
        Ok(Some(side))
    }

    fn begin(&mut self, unit: usize, r: u32) -> Result<(), Stop> {
        let other = |s: &Switch| {
            let scope = self.scope(*s);
            *s != Switch::Relation(r)
                && (scope == Scope::Unit(unit) || matches!(scope, Scope::Link(_)))
        };
        if self.fresh.keys().any(other) {
            return undecided(Reason::Open, "others flip where sliding begins");
        }
        if self.sliding[unit].is_some_and(|old| old != r) {
            return undecided(Reason::Unsupported, "sliding along two surfaces");
        }
        self.sliding[unit] = Some(r);
        Ok(())
    }

    /// After a flip: if the new side drives back and the old one too, it slides from here. The
    /// part of a tick by which the surface was passed is taken back.
    pub(crate) fn catch(&mut self, flips: &[Flip]) -> Result<(), Stop> {
        for flip in flips.iter().filter(|f| f.touch.is_none()) {
            let Switch::Relation(r) = flip.switch else { continue };
            let Some(surface) = self.sys.surfaces.get(&r) else { continue };
            let unit = surface.unit;
            if self.slides(r) {
                self.sliding[unit] = None;
                continue;
            }
            let (p, m) = (self.speed(r, 1)?, self.speed(r, -1)?);
            let size = p.c.hi.abs() + m.c.hi.abs();
            let (cp, cm) = (class(&p, size), class(&m, size));
            let unclear = |c| matches!(c, Class::Unsure(_));
            if unclear(cp) || unclear(cm) {
                return undecided(Reason::Sign, "whether it slides hangs on an error");
            }
            if (cp, cm) != (Class::Sign(-1), Class::Sign(1)) {
                continue;
            }
            self.begin(unit, r)?;
            let derivatives = self.derivatives();
            for _ in 0..3 {
                let z = self.now(self.sys.graph.relations[r as usize].z)?;
                let by = z / (self.speed(r, 1)? - self.speed(r, -1)?);
                let mut moved = Vec::new();
                for (slot, id) in derivatives.iter().enumerate() {
                    let Some(id) = *id else { continue };
                    if matches!(self.sys.variables[slot], Variable::State(u, _) if u == unit) {
                        let jump = self.now_with(id, (r, 1))? - self.now_with(id, (r, -1))?;
                        moved.push((slot, by * jump));
                    }
                }
                for (slot, change) in moved {
                    self.v[slot] = self.v[slot] - change;
                }
            }
            self.sides.side[r as usize] = 0;
            self.fresh.remove(&flip.switch);
        }
        Ok(())
    }

    /// An output's value: of both sides, while its unit slides.
    pub(crate) fn output(&self, unit: usize, id: Id) -> Result<Ball<M>, Stop> {
        let Some(r) = self.sliding[unit] else { return self.now(id) };
        let (p, m) = (self.speed(r, 1)?, self.speed(r, -1)?);
        let share = -m / (p - m);
        let (a, b) = (self.now_with(id, (r, 1))?, self.now_with(id, (r, -1))?);
        Ok(b + share * (a - b))
    }

    /// Adds what slides to a tape: both sides, and their combination in place of derivatives and
    /// outputs.
    pub(crate) fn add_sliding(&self, tape: &mut Tape, source: &Source) -> Result<(), Loop> {
        for u in &self.sys.units {
            let Some(r) = self.sliding[*u] else { continue };
            let surface = &self.sys.surfaces[&r];
            let derivatives = self.derivatives();
            let own = |slot: &usize| matches!(self.sys.variables[*slot], Variable::State(w, _) if w == *u);
            let slots: Vec<usize> = (0..self.sys.states).filter(own).collect();
            let mut ids: Vec<Id> = slots.iter().filter_map(|s| derivatives[*s]).collect();
            ids.extend(&self.sys.outputs[u]);
            let mut steps = Vec::new();
            let mut speeds = Vec::new();
            for side in [1, -1] {
                let mut sides = self.sides.clone();
                sides.side[r as usize] = side;
                let source = Source { sides: &sides, ..*source };
                let main = tape.fresh_map();
                let list = ids.iter().map(|id| tape.visit(&source, *id));
                steps.push(list.collect::<Result<Vec<u32>, Loop>>()?);
                let mut sum = tape.visit(&source, surface.time)?;
                for (slot, slope) in &surface.slopes {
                    if let Some(id) = derivatives[*slot] {
                        let (a, b) = (tape.visit(&source, *slope)?, tape.visit(&source, id)?);
                        let product = tape.multiply(a, b);
                        sum = tape.plus(sum, product);
                    }
                }
                speeds.push(sum);
                tape.restore_map(main);
            }
            let (p, m) = (speeds[0], speeds[1]);
            let share = tape.share(p, m);
            for (i, id) in ids.iter().enumerate() {
                let (a, b) = (steps[0][i], steps[1][i]);
                let jump = tape.minus(a, b);
                let part = tape.multiply(share, jump);
                let combined = tape.plus(b, part);
                tape.put(*id, combined);
            }
            tape.slides.push((r, p, m));
        }
        Ok(())
    }
}
