//! Rule 12: resets onto the threshold of their own condition.
use crate::graph::Id;
use crate::model::Variable;
use crate::number::Dd;
use crate::roots::SAFETY;
use crate::sim::{Sim, Stop, undecided};
use crate::system::Due;
use crate::tape::{Sides, Switch};
use crate::verdict::{FailureKind, Reason};

/// Algebraic variables that are solved for anew may differ by so much.
const SOLVED: f64 = 1e-20;

impl<const M: usize> Sim<'_, M> {
    /// Rule 12: a reset may not put a quantity of its own event's condition back to zero, from where it
    /// goes on to the side that it came from while the condition holds on.
    pub(crate) fn stand(&mut self, reset: &[usize], before: &Sides) -> Result<(), Stop> {
        for &e in reset {
            let Due::When { formula, .. } = self.sys.events[e].due else { continue };
            if self.sys.events[e].reset.is_empty() || !self.condition(e) {
                continue;
            }
            let relations = self.sys.read(formula);
            self.stand_relations(e, &relations, before)?;
            self.stand_floors(e, &relations, before)?;
        }
        Ok(())
    }

    /// Relations of the condition, and those that it has inside.
    fn stand_relations(&mut self, e: usize, outer: &[u32], before: &Sides) -> Result<(), Stop> {
        for r in 0..self.sys.graph.relations.len() as u32 {
            let side = self.sides.side[r as usize];
            if side == 0 || side != before.side[r as usize] {
                continue;
            }
            let read = self.reading(outer, Switch::Relation(r));
            if !outer.contains(&r) && read.is_empty() {
                continue;
            }
            // A condition that holds on the other side, too, does not need this threshold.
            if !self.holds_with(e, &read, |sides| sides.side[r as usize] = -side)? {
                let z = self.sys.graph.relations[r as usize].z;
                self.put_back(e, z, Dd::ZERO)?;
            }
        }
        Ok(())
    }

    fn stand_floors(&mut self, e: usize, outer: &[u32], before: &Sides) -> Result<(), Stop> {
        for f in 0..self.sys.graph.floors.len() {
            let whole = self.sides.floor[f];
            if whole != before.floor[f] {
                continue;
            }
            let argument = self.sys.graph.floors[f].argument;
            let x = self.now(argument)?;
            let near = (x.c + Dd::new(0.5)).floor();
            let other = if whole == near.hi { whole - 1.0 } else { whole + 1.0 };
            let read = self.reading(outer, Switch::Floor(f as u32));
            if !read.is_empty() && !self.holds_with(e, &read, |sides| sides.floor[f] = other)? {
                self.put_back(e, argument, near)?;
            }
        }
        Ok(())
    }

    /// Values that read a switch, and that nothing else moves: a remainder goes on by itself, and ends what it has
    /// begun.
    fn reading(&self, outer: &[u32], switch: Switch) -> Vec<u32> {
        let read = |r: &u32| {
            let relation = &self.sys.graph.relations[*r as usize];
            !relation.moves && self.reads(relation.z, switch)
        };
        outer.iter().copied().filter(read).collect()
    }

    /// Whether the condition of event `e` would hold with other sides, on which the relations `read` depend.
    fn holds_with(
        &mut self,
        e: usize,
        read: &[u32],
        change: impl FnOnce(&mut Sides),
    ) -> Result<bool, Stop> {
        let kept = self.sides.clone();
        change(&mut self.sides);
        for &r in read {
            let z = self.now(self.sys.graph.relations[r as usize].z)?.c.hi;
            self.sides.side[r as usize] = i8::from(z > 0.0) - i8::from(z < 0.0);
        }
        let holds = self.condition(e);
        self.sides = kept;
        Ok(holds)
    }

    /// An error if a quantity is at a level now, and event `e` has put it there.
    fn put_back(&mut self, e: usize, quantity: Id, level: Dd) -> Result<(), Stop> {
        let value = self.now(quantity)?;
        let (now, error) = ((value.c - level).hi.abs(), SAFETY * value.error());
        let mut own = self.pre.clone();
        for slot in self.sys.events[e].reset.iter().map(|(v, _)| self.sys.slot(*v)) {
            own[slot] = self.v[slot];
        }
        let v = std::mem::replace(&mut self.v, own);
        let solved = self.sys.graph.solved(quantity);
        let moved = match solved {
            true => self.solve(self.sys.events[e].unit).and_then(|_| self.now(quantity)),
            false => self.now(quantity),
        };
        self.v.clone_from(&self.pre);
        let was = self.now(quantity);
        self.v = v;
        let (moved, was) = (moved?.c - level, was?.c - level);
        let alone = (moved - was).hi.abs() > if solved { SOLVED } else { 0.0 };
        let moves = |(v, _): &(Variable, _)| matches!(v, Variable::State(..));
        if !alone && !self.sys.events[e].reset.iter().any(moves) {
            return Ok(());
        }
        let was = was.hi.abs();
        // For numbers without errors whatever was elsewhere has been put there.
        let elsewhere = was > 0.0 && was >= self.limits.uncertainty.absolute.min(1e-12);
        // Or else another event of the cycle has put it there.
        if now > 1e-9_f64.max(error) || !alone && elsewhere {
            return Ok(());
        }
        if now > 1e-15 || !elsewhere {
            return undecided(Reason::Open, "a reset near the threshold");
        }
        let message = format!("event {} falls through", self.sys.events[e].name);
        Err(Stop::Fail(FailureKind::FallsThrough, message, self.range))
    }
}
