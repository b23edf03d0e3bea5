//! Values on their thresholds where other flips change their motion.
use crate::cycle::Flip;
use crate::eval::{Class, class};
use crate::sim::{Sim, Stop, undecided};
use crate::tape::Switch;
use crate::verdict::Reason;

impl<const M: usize> Sim<'_, M> {
    /// Looks for values whose motion the flips of this instant change just on their thresholds; gives whether sides changed.
    pub(crate) fn bends(&mut self, flips: &[Flip]) -> Result<bool, Stop> {
        let before = self.sides.clone();
        let passes: Vec<&Flip> = flips.iter().filter(|f| f.touch.is_none()).collect();
        for flip in &passes {
            let others = passes.iter().any(|f| f.switch != flip.switch);
            match flip.switch {
                Switch::Relation(r) if others => self.arrives(r)?,
                Switch::Floor(f) if others => self.arrives_whole(f)?,
                _ => {}
            }
        }
        if !passes.is_empty() {
            self.departs(&passes)?;
        }
        Ok(self.sides.side != before.side || self.sides.floor != before.floor)
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

    /// A value that is stopped on a whole number has not passed it either.
    fn arrives_whole(&mut self, f: u32) -> Result<(), Stop> {
        let switch = Switch::Floor(f);
        let Some(fresh) = self.fresh.get(&switch).copied().filter(|fresh| !fresh.beyond) else {
            return Ok(());
        };
        self.fresh.remove(&switch);
        let (held, whole) = (self.sides.floor[f as usize], self.floor_of(f)?);
        if whole == held {
            self.fresh.insert(switch, fresh);
            return Ok(());
        }
        let argument = self.sys.graph.floors[f as usize].argument;
        let size = self.size(argument)?;
        if self.leaves(argument, size, true)? != 0 {
            return undecided(Reason::Sign, "a whole number turns back where it changed");
        }
        self.sides.floor[f as usize] = whole;
        self.along = None;
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
