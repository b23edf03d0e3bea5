//! Values on their thresholds where other flips change their motion.
use crate::cycle::Flip;
use crate::eval::{Class, class};
use crate::sim::{Sim, Stop, undecided};
use crate::tape::Switch;
use crate::verdict::Reason;

impl<const M: usize> Sim<'_, M> {
    /// Looks for values whose motion the flips of this instant change just on their thresholds.
    pub(crate) fn bends(&mut self, flips: &[Flip]) -> Result<(), Stop> {
        let passes: Vec<&Flip> = flips.iter().filter(|f| f.touch.is_none()).collect();
        for flip in &passes {
            let others = passes.iter().any(|f| f.switch != flip.switch);
            if let (true, Switch::Relation(r)) = (others, flip.switch) {
                self.arrives(r)?;
            }
        }
        if !passes.is_empty() {
            self.departs(&passes)?;
        }
        Ok(())
    }

    /// Rule 3: a value that is stopped where it comes to zero has the side zero, and has not passed it. If it turns
    /// back there, a rounding decides whether it passes.
    fn arrives(&mut self, r: u32) -> Result<(), Stop> {
        let switch = Switch::Relation(r);
        let on = self.fresh.get(&switch).is_some_and(|f| !f.beyond);
        if !on || !self.matters(switch) || self.slides(r) {
            return Ok(());
        }
        let z = self.sys.graph.relations[r as usize].z;
        let (value, size) = (self.now(z)?, self.size(z)?);
        let class = class(&value, size);
        let held = self.sides.side[r as usize];
        if matches!(class, Class::Sign(_)) {
            return Ok(());
        }
        let heading = self.leaves(z, size, true)?;
        if heading == 0 && class == Class::Zero {
            self.sides.side[r as usize] = 0;
            self.fresh.remove(&switch);
            self.along = None;
        } else if heading != held {
            return undecided(Reason::Sign, "a value is stopped or turns back where it flips");
        }
        Ok(())
    }

    /// A value at rest on its threshold that a flip sets in motion: the rules do not say in which cycle it leaves. One
    /// that touches its threshold just where a flip stops it has come there, whether it was found to pass or not.
    fn departs(&mut self, passes: &[&Flip]) -> Result<(), Stop> {
        let known: Vec<Switch> = self.known.keys().copied().collect();
        for switch in known {
            let Switch::Relation(r) = switch else { continue };
            let relation = &self.sys.graph.relations[r as usize];
            let flips = passes.iter().any(|f| f.switch == switch);
            if !relation.moves || self.slides(r) || flips || !self.sys.heard[r as usize] {
                continue;
            }
            let (z, side) = (relation.z, self.sides.side[r as usize]);
            let size = self.size(z)?;
            if side != 0 {
                if class(&self.now(z)?, size) == Class::Zero && self.leaves(z, size, true)? == 0 {
                    return undecided(
                        Reason::Touch,
                        "a flip stops a value that touches its threshold",
                    );
                }
            } else if self.leaves(z, size, true)? != 0 {
                return undecided(
                    Reason::Open,
                    "a flip moves a value that rested on its threshold",
                );
            }
        }
        Ok(())
    }
}
