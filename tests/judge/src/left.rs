//! Modes that the flip of a condition ended, and that are entered again (rule 13).
use crate::sim::{Sim, Stop, undecided};
use crate::tape::Switch;
use crate::verdict::Reason;
use std::collections::HashSet;

/// The share of its distance from the threshold by which a value that stands may be computed to move.
const STANDS: f64 = 1.0 / 1024.0;

impl<const M: usize> Sim<'_, M> {
    /// Notes relations that flipped at this instant, and that no mode watches any more.
    pub(crate) fn note_left(&mut self, active: &HashSet<Switch>) -> Result<(), Stop> {
        for (switch, fresh) in self.fresh.clone() {
            let Switch::Relation(r) = switch else { continue };
            let id = self.sys.graph.relations[r as usize].z;
            if active.contains(&switch) || self.known.keys().any(|other| self.reads(id, *other)) {
                continue;
            }
            let z = self.now(id)?;
            if fresh.holds(z, self.size(id)?) {
                self.left.insert(r, z);
            }
        }
        Ok(())
    }

    /// Notes where a relation that has just come to be watched again goes, if it has stood since.
    pub(crate) fn note_back(&mut self, switch: Switch) -> Result<(), Stop> {
        let Switch::Relation(r) = switch else { return Ok(()) };
        let Some(left) = self.left.get(&r).copied() else { return Ok(()) };
        let id = self.sys.graph.relations[r as usize].z;
        let z = self.now(id)?;
        let off = (z - left).c.hi.abs() / (STANDS * left.c.hi.abs());
        if off > 2.0 {
            return Ok(());
        }
        if off > 0.5 {
            return undecided(Reason::Sign, "whether a value stands where its mode was left");
        }
        let way = self.leaves(id, self.size(id)?, true)?;
        if f64::from(way) * z.c.hi < 0.0 {
            self.back.push((r, way));
        }
        Ok(())
    }

    /// Whether a condition holds only by what goes back from where its mode was left.
    pub(crate) fn goes_back(&mut self, event: usize) -> bool {
        let now = self.sides.clone();
        for (r, way) in &self.back {
            self.sides.side[*r as usize] = *way;
        }
        let holds = self.condition(event);
        self.sides = now;
        !holds
    }
}
