//! The order of roots, and whether it is certain.
use crate::advance::{Piece, Root};
use crate::graph::Id;
use crate::sim::{Sim, Stop, undecided};
use crate::tape::Switch;
use crate::verdict::{Near, Reason, Ticks};

impl<const M: usize> Sim<'_, M> {
    /// Notes what follows within a hundred times the error.
    pub(crate) fn note_near(&mut self, piece: &Piece<M>, range: Ticks) {
        for root in piece.found.iter().filter(|r| r.range.lo > range.hi) {
            let error = (range.hi - range.lo + root.range.hi - root.range.lo + 1) as f64;
            let margin = (root.range.lo - range.hi) as f64 / error;
            if self.heard(root.switch) && margin < 100.0 {
                self.run.near.push(Near { tick: range.lo, reason: Reason::Order, margin });
            }
        }
    }

    pub(crate) fn matters(&self, switch: Switch) -> bool {
        match switch {
            Switch::Relation(r) => self.sys.heard[r as usize] || self.sys.jumps[r as usize],
            Switch::Floor(_) => true,
        }
    }

    fn heard(&self, switch: Switch) -> bool {
        match switch {
            Switch::Relation(r) => self.sys.heard[r as usize],
            Switch::Floor(f) => self.sys.heard_floors[f as usize],
        }
    }

    /// Values that rest on zero and are heard: a flip inside of one may move it.
    fn at_rest(&self) -> Vec<Id> {
        let relations = self.known.keys().filter_map(|switch| match switch {
            Switch::Relation(r) => Some(*r as usize),
            Switch::Floor(_) => None,
        });
        let rest = |r: &usize| self.sides.side[*r] == 0 && self.sys.heard[*r];
        relations.filter(rest).map(|r| self.sys.graph.relations[r].z).collect()
    }

    /// Whether the order of what comes next is certain; between which ticks it comes.
    pub(crate) fn order(
        &self,
        piece: &Piece<M>,
        now: &[&Root<M>],
        tick: i64,
        limit: i64,
    ) -> Result<Ticks, Stop> {
        for root in now {
            if root.shaky && self.matters(root.switch) {
                return undecided(Reason::Touch, "a relation passes zero only just, or not at all");
            }
        }
        let rest = self.at_rest();
        let hears =
            |switch: Switch| self.heard(switch) || rest.iter().any(|z| self.reads(*z, switch));
        let heard: Vec<&&Root<M>> = now.iter().filter(|r| hears(r.switch)).collect();
        let lo = heard.iter().map(|r| r.range.lo).min().unwrap_or(tick);
        let hi = heard.iter().map(|r| r.range.hi).max().unwrap_or(tick);
        if lo < hi {
            let other = heard.iter().any(|r| r.switch != heard[0].switch);
            if other {
                return undecided(Reason::Order, "two relations flip at one tick, or do not");
            }
            if limit <= hi {
                let detail = "a relation flips at a time event or at the end, or does not";
                return undecided(Reason::Order, detail);
            }
        }
        let later = piece.found.iter().filter(|r| r.tick > tick && hears(r.switch));
        for root in later {
            let same = heard.iter().any(|r| r.switch == root.switch);
            if root.range.lo <= hi && !same {
                return undecided(Reason::Order, "two relations flip at one tick, or one later");
            }
        }
        Ok(Ticks { lo, hi })
    }
}
