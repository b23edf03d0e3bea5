//! Deciding sides (rule 3), and series along the solution.
use crate::eval::{Class, class};
use crate::graph::{Id, Op, Scope};
use crate::linear;
use crate::model::Variable;
use crate::number::{Ball, Dd};
use crate::roots::SAFETY;
use crate::sim::{Sim, Stop, undecided};
use crate::system::{Due, Event};
use crate::tape::{ORDER, Series, Source, Switch, Tape};
use crate::verdict::{FailureKind, Reason, Ticks};
use std::collections::HashSet;

/// Derivatives that are looked at where a relation is zero.
const DERIVATIVES: usize = 12;

impl<const M: usize> Sim<'_, M> {
    /// Derivatives of all states by slot, where they have any now.
    pub(crate) fn derivatives(&self) -> Vec<Option<Id>> {
        let mut list = vec![None; self.sys.states];
        for (slot, variable) in self.sys.variables[..self.sys.states].iter().enumerate() {
            let Variable::State(u, i) = *variable else { continue };
            if !self.frozen[u] {
                list[slot] = self.sys.derivatives[&(u, self.mode[u])][i];
            }
        }
        list
    }

    /// All formulas that count now, with the sides that hold.
    pub(crate) fn tape(&self) -> Result<Tape, Stop> {
        let graph = &self.sys.graph;
        let mut tape = Tape::new(graph);
        let source =
            Source { graph, sides: &self.sides, slots: &self.sys.slots, wires: &self.sys.wires };
        let mut fill = || {
            self.add_sliding(&mut tape, &source)?;
            for id in self.derivatives().into_iter().flatten() {
                tape.visit(&source, id)?;
            }
            for u in &self.sys.units {
                for id in self.sys.residuals[u].iter().chain(&self.sys.outputs[u]) {
                    tape.visit(&source, *id)?;
                }
            }
            for event in &self.sys.events {
                if event.mode.is_some_and(|m| m != self.mode[event.unit]) {
                    continue;
                }
                match &event.due {
                    crate::system::Due::When { formula, .. } => {
                        tape.condition(&source, *formula)?;
                    }
                    crate::system::Due::Crossing { side, .. } => {
                        tape.relation(&source, side.relation)?;
                    }
                    _ => {}
                }
            }
            for link in &self.sys.links {
                tape.condition(&source, link.formula)?;
            }
            // Relations of the other sides of what slides have not been visited with these.
            for switch in tape.switches.clone() {
                tape.visit(&source, self.argument(switch))?;
            }
            Ok::<(), crate::tape::Loop>(())
        };
        if fill().is_err() {
            return undecided(Reason::Unsupported, "outputs depend on each other without delay");
        }
        Ok(tape)
    }

    /// Taylor coefficients along the solution from here, up to an order.
    pub(crate) fn expand(&mut self, tape: &Tape, order: usize) -> Result<Series<M>, Stop> {
        self.spend(tape.len() as u64 * (1 + (order * order) as u64 / 60) + 5)?;
        let mut series = Series::new(tape);
        let derivatives = self.derivatives();
        let mut free = self.v.clone();
        let algebra = self.algebra(tape, &mut series, &mut free)?;
        let mut lists = vec![Vec::new(); free.len()];
        for k in 0..=order {
            if k > 0 {
                for (slot, id) in derivatives.iter().enumerate() {
                    let step = id.and_then(|id| tape.step(id));
                    free[slot] =
                        step.map_or(Ball::ZERO, |step| series.at(step, k - 1).over(k as f64));
                }
                for (slot, _) in &algebra.0 {
                    free[*slot] = Ball::ZERO;
                }
            }
            series.order(tape, k, self.time, &self.v, &free);
            for _ in 0..if k == 0 { 3 } else { 1 } {
                if algebra.0.is_empty() {
                    break;
                }
                for (i, (slot, _)) in algebra.0.iter().enumerate() {
                    let terms = algebra.0.iter().zip(&algebra.1[i]);
                    let sum = terms
                        .fold(Ball::ZERO, |sum, ((_, g), by)| sum + series.at(*g, k).times(*by));
                    free[*slot] = free[*slot] - sum;
                }
                series.order(tape, k, self.time, &self.v, &free);
            }
            for (slot, list) in lists.iter_mut().enumerate() {
                let algebraic = matches!(self.sys.variables[slot], Variable::Algebraic(..));
                if slot < self.sys.states || algebraic {
                    list.push(free[slot]);
                }
            }
        }
        series.free = lists;
        Ok(series)
    }

    /// Slots of algebraic variables with steps of residuals, and the inverse of the Jacobian.
    #[allow(clippy::type_complexity)]
    fn algebra(
        &self,
        tape: &Tape,
        series: &mut Series<M>,
        free: &mut [Ball<M>],
    ) -> Result<(Vec<(usize, u32)>, Vec<Vec<f64>>), Stop> {
        let mut list = Vec::new();
        for u in &self.sys.units {
            for (i, id) in self.sys.residuals[u].iter().enumerate() {
                let slot = self.sys.slot(Variable::Algebraic(*u, i));
                list.extend(tape.step(*id).map(|step| (slot, step)));
            }
        }
        if list.is_empty() {
            return Ok((list, Vec::new()));
        }
        series.order(tape, 0, self.time, &self.v, free);
        let mut one = vec![Ball::ZERO; free.len()];
        series.order(tape, 1, self.time, &self.v, &one);
        let base: Vec<f64> = list.iter().map(|(_, g)| series.at(*g, 1).c.hi).collect();
        let mut jacobian = vec![vec![0.0; list.len()]; list.len()];
        for (j, (slot, _)) in list.iter().enumerate() {
            one[*slot] = Ball::new(1.0);
            series.order(tape, 1, self.time, &self.v, &one);
            for (i, (_, g)) in list.iter().enumerate() {
                jacobian[i][j] = series.at(*g, 1).c.hi - base[i];
            }
            one[*slot] = Ball::ZERO;
        }
        match linear::inverse(jacobian) {
            Some(inverse) => Ok((list, inverse)),
            None => undecided(Reason::Singular, "algebraic equations are singular"),
        }
    }

    /// Decides sides of the scopes that are in, and of all that are not known yet.
    pub(crate) fn decide(&mut self, inside: &dyn Fn(Scope) -> bool) -> Result<(), Stop> {
        self.along = None;
        let mut changed = None;
        for round in 0..64 {
            let solved = self.solve_all(inside)?;
            let tape = self.tape()?;
            if round == 0 {
                let active: HashSet<Switch> = tape.switches.iter().copied().collect();
                self.note_left(&active)?;
                self.known.retain(|s, ()| active.contains(s));
            }
            let mut again = solved && round > 0;
            for switch in &tape.switches {
                let known = self.known.contains_key(switch);
                if !known {
                    self.note_back(*switch)?;
                }
                if !known || inside(self.scope(*switch)) {
                    if self.decide_one(*switch)? {
                        again = true;
                        changed = Some(*switch);
                        self.along = None;
                    }
                    self.known.insert(*switch, ());
                }
            }
            if !again {
                let active: HashSet<Switch> = tape.switches.iter().copied().collect();
                self.known.retain(|s, ()| active.contains(s));
                return Ok(());
            }
        }
        let time = Ticks { lo: self.range.lo, hi: self.range.hi };
        let units = match changed.map(|switch| self.scope(switch)) {
            Some(Scope::Unit(u)) => vec![u],
            Some(Scope::Link(l)) => self.model.links[l].units.clone(),
            None => Vec::new(),
        };
        if units.iter().all(|u| self.sys.residuals[u].is_empty()) {
            return undecided(Reason::Open, "sides do not settle in this order");
        }
        let message = format!("sides do not settle: {changed:?}");
        Err(Stop::Fail(FailureKind::Rounds, message, time))
    }

    fn solve_all(&mut self, inside: &dyn Fn(Scope) -> bool) -> Result<bool, Stop> {
        let mut moved = false;
        for u in self.sys.units.clone() {
            if !self.sys.residuals[&u].is_empty() && inside(Scope::Unit(u)) {
                moved |= self.solve(u)?;
            }
        }
        Ok(moved)
    }

    pub(crate) fn scope(&self, switch: Switch) -> Scope {
        match switch {
            Switch::Relation(r) => self.sys.graph.relations[r as usize].scope,
            Switch::Floor(f) => self.sys.graph.floors[f as usize].scope,
        }
    }

    fn decide_one(&mut self, switch: Switch) -> Result<bool, Stop> {
        match switch {
            Switch::Relation(r) => {
                let side = self.side_of(r)?;
                if side != 0 && self.slides(r) {
                    self.sliding[self.sys.surfaces[&r].unit] = None;
                }
                let old = std::mem::replace(&mut self.sides.side[r as usize], side);
                Ok(old != side)
            }
            Switch::Floor(f) => {
                let whole = self.floor_of(f)?;
                let old = std::mem::replace(&mut self.sides.floor[f as usize], whole);
                Ok(old != whole)
            }
        }
    }

    /// Rule 3 for a relation.
    fn side_of(&mut self, r: u32) -> Result<i8, Stop> {
        let relation = self.sys.graph.relations[r as usize].clone();
        let z = self.now(relation.z)?;
        if !z.c.finite() {
            return undecided(Reason::Singular, "a relation is no number");
        }
        let size = self.size(relation.z)?;
        let class = class(&z, size);
        if !relation.moves {
            return self.compared(relation.z, class);
        }
        let matters = self.sys.heard[r as usize] || self.sys.jumps[r as usize];
        if let Some(fresh) = self.fresh.get(&Switch::Relation(r)).copied() {
            if fresh.holds(z, size) {
                return self.kept(r, &relation.z, fresh.beyond, class, matters);
            }
            // A later reset that brings the value back decides anew.
            self.fresh.remove(&Switch::Relation(r));
        }
        match class {
            Class::Sign(sign) => Ok(sign),
            Class::Zero => match self.slide_side(r)? {
                Some(side) => Ok(side),
                None => {
                    let linked = matches!(relation.scope, Scope::Link(_));
                    if linked && self.heard && matters && self.parts(relation.z).wired {
                        return undecided(
                            Reason::Open,
                            "a link's value on its threshold whose motion a member hears of in this cycle",
                        );
                    }
                    let side = self.leaves(relation.z, size, matters)?;
                    let rested = self.known.contains_key(&Switch::Relation(r))
                        && self.sides.side[r as usize] == 0;
                    if rested && side != 0 && matters && self.parts(relation.z).wired {
                        return undecided(
                            Reason::Open,
                            "a value at rest that another unit sets in motion beside an own event",
                        );
                    }
                    Ok(side)
                }
            },
            Class::Fuzzy(sign) => {
                let other = self.leaves(relation.z, size, matters)?;
                if other == sign || !matters {
                    return Ok(sign);
                }
                undecided(Reason::Sign, "a relation is zero but for roundings")
            }
            Class::Unsure(sign) if !matters => Ok(sign),
            Class::Unsure(_) => {
                undecided(Reason::Sign, "a relation is decided where it is nearly zero")
            }
        }
    }

    /// A relation that has just flipped, and whose value no reset changed: rule 4, except where it
    /// is on the surface, which makes it rule 3.
    fn kept(
        &mut self,
        r: u32,
        z: &Id,
        beyond: bool,
        class: Class,
        matters: bool,
    ) -> Result<i8, Stop> {
        let held = self.sides.side[r as usize];
        let certain = beyond || matches!(class, Class::Sign(s) if s == held);
        let own = self.now(*z)?.c.hi.abs() <= self.limits.uncertainty.own;
        if certain && !own {
            return Ok(held);
        }
        let size = self.size(*z)?;
        let other = self.leaves(*z, size, matters)?;
        if matters && other == 0 && held != 0 && self.sys.surfaces.contains_key(&r) {
            return undecided(Reason::Open, "a value that is stopped as it leaves its surface");
        }
        if other == held || !matters || class == Class::Zero && !self.hangs(r) {
            return Ok(other);
        }
        undecided(Reason::Sign, "a relation turns back just where it flipped")
    }

    /// Whether something hangs on which of its flips within an instant a relation makes: a crossing or a
    /// link, where no state jumped that could have turned it.
    fn hangs(&self, r: u32) -> bool {
        let jumped = (0..self.sys.states).any(|slot| self.v[slot].c != self.pre[slot].c);
        let crosses = |e: &Event| matches!(e.due, Due::Crossing { side, .. } if side.relation == r);
        let linked = matches!(self.sys.graph.relations[r as usize].scope, Scope::Link(_));
        !jumped && (linked || self.sys.events.iter().any(crosses))
    }

    /// Rule 2.
    fn compared(&self, z: Id, class: Class) -> Result<i8, Stop> {
        let shadow = self.shadow(z);
        let program = if shadow > 0.0 {
            1
        } else if shadow < 0.0 {
            -1
        } else {
            0
        };
        let own = match class {
            Class::Sign(sign) => return Ok(sign),
            Class::Zero => 0,
            Class::Fuzzy(sign) => sign,
            Class::Unsure(_) => {
                return undecided(Reason::Sign, "numbers that nearly agree are compared");
            }
        };
        if own == program {
            return Ok(own);
        }
        undecided(Reason::Sign, "numbers that agree but for roundings are compared")
    }

    /// The sign of the first derivative along the solution that is not zero. `matters`: something hangs on it.
    pub(crate) fn leaves(&mut self, z: Id, size: f64, matters: bool) -> Result<i8, Stop> {
        if self.unheard && matters && self.parts(z).wired {
            return undecided(Reason::Open, "a motion hangs on a jump that is not heard yet");
        }
        if self.along.is_none() {
            let tape = self.tape()?;
            let series = self.expand(&tape, DERIVATIVES)?;
            self.along = Some((tape, series));
        }
        let Some((tape, series)) = &self.along else { unreachable!("just made") };
        let Some(step) = tape.step(z) else { return Ok(0) };
        if let Some(sign) = heading(&series.of(step)[1..=DERIVATIVES], size)? {
            return Ok(sign);
        }
        if !matters {
            return Ok(0);
        }
        let stands = self.stands(z, series)?;
        // Polynomials may be moved by higher derivatives.
        if self
            .degree(z)
            .is_some_and(|degree| (DERIVATIVES + 1..=ORDER).contains(&(degree as usize)))
        {
            let tape = self.tape()?;
            let series = self.expand(&tape, ORDER)?;
            let higher = |step| heading(&series.of(step)[DERIVATIVES + 1..], size);
            if let Some(sign) = tape.step(z).map(higher).transpose()?.flatten() {
                return Ok(sign);
            }
        }
        if stands {
            return Ok(0);
        }
        undecided(Reason::Sign, "whether a value rests on its threshold hangs on an error")
    }

    /// The whole number below something.
    pub(crate) fn floor_of(&mut self, f: u32) -> Result<f64, Stop> {
        let floor = self.sys.graph.floors[f as usize].clone();
        let x = self.now(floor.argument)?;
        if !x.c.finite() {
            return undecided(Reason::Singular, "the argument of a floor is no number");
        }
        let near = (x.c + Dd::new(0.5)).floor();
        let z = x - Ball::exact(near);
        let size = self.size(floor.argument)? + near.hi.abs();
        let below = |s: i8| near.hi - f64::from(u8::from(s < 0));
        let class = class(&z, size);
        if let Some(fresh) = self.fresh.get(&Switch::Floor(f)).copied()
            && fresh.holds(x, size)
            && (fresh.beyond || !matches!(class, Class::Sign(_)))
        {
            let held = self.sides.floor[f as usize];
            if !fresh.beyond && below(self.leaves(floor.argument, size, true)?) != held {
                return undecided(Reason::Sign, "a whole number turns back where it changed");
            }
            return Ok(held);
        }
        match class {
            Class::Sign(sign) => Ok(below(sign)),
            _ if !floor.moves => Ok(below(self.compared_whole(floor.argument, near.hi, class)?)),
            Class::Zero => {
                let sign = self.leaves(floor.argument, size, true)?;
                Ok(below(sign))
            }
            Class::Fuzzy(sign) if self.leaves(floor.argument, size, true)? == sign => {
                Ok(below(sign))
            }
            _ => undecided(Reason::Sign, "the argument of a floor is nearly a whole number"),
        }
    }

    fn compared_whole(&self, argument: Id, near: f64, class: Class) -> Result<i8, Stop> {
        let program = (self.shadow(argument) - near).partial_cmp(&0.0);
        match (class, program) {
            (Class::Zero, Some(std::cmp::Ordering::Equal)) => Ok(0),
            _ => undecided(Reason::Sign, "a floor of something that is nearly a whole number"),
        }
    }

    /// Whether a node reads a switch, so that it changes with it: also by the output that an input hears, and by the
    /// equations that an algebraic variable solves.
    pub(crate) fn reads(&self, id: Id, switch: Switch) -> bool {
        self.reads_by(id, switch, &mut HashSet::new())
    }

    fn reads_by(&self, id: Id, switch: Switch, seen: &mut HashSet<Id>) -> bool {
        if !seen.insert(id) {
            return false;
        }
        let op = self.sys.graph.ops[id as usize];
        let (relations, floor) = match op {
            Op::If(f, ..) => (self.sys.read(f), None),
            Op::Floor(f) => (Vec::new(), Some(f)),
            op => (op.side().iter().map(|side| side.relation).collect(), None),
        };
        let mut open: Vec<Id> = op.operands().collect();
        for r in relations {
            if Switch::Relation(r) == switch {
                return true;
            }
            open.push(self.sys.graph.relations[r as usize].z);
        }
        if let Some(f) = floor {
            if Switch::Floor(f) == switch {
                return true;
            }
            open.push(self.sys.graph.floors[f as usize].argument);
        }
        match op {
            Op::Read(Variable::Algebraic(u, _)) => open.extend(&self.sys.residuals[&u]),
            Op::Read(v @ Variable::Input(..)) => open.extend(self.sys.wires.get(&v)),
            _ => {}
        }
        open.into_iter().any(|a| self.reads_by(a, switch, seen))
    }
}

/// The sign of the first of these coefficients that is not zero; none where all are.
fn heading<const M: usize>(c: &[Ball<M>], size: f64) -> Result<Option<i8>, Stop> {
    for x in c {
        if !x.c.finite() {
            return undecided(Reason::Singular, "a derivative is no number");
        }
        let (value, error) = (x.c.hi.abs(), SAFETY * x.error());
        if value > error + 1e-13 * size + 1e-17 {
            return Ok(Some(if x.c.hi > 0.0 { 1 } else { -1 }));
        }
        if value > 1e-25 * size || error > 1e-11 * (size + 1.0) {
            return undecided(Reason::Sign, "one cannot tell how a relation leaves zero");
        }
    }
    Ok(None)
}
