//! The event list of the engine: times by index, with the earliest at hand.
//!
//! # Why a tournament
//! A step changes the times of a few neighbours, of which one was the earliest. In a tree of
//! winners the matches above them are played again from the leaves up; paths that meet go on as
//! one, so that neighbours cost little more than one of them. Nothing moves, so that no places have
//! to be kept, and of equal times the lowest index wins, which is the left one of each match.
use serde::{Deserialize, Serialize};

/// Times by index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// The two players of match `k`; its winner plays in match `k / 2` on side `k % 2`. So the
    /// winner of all, of match 1, stands on side 1 of match 0; the times themselves come last.
    matches: Vec<[Entry; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Entry {
    time: f64,
    index: u32,
}

impl Queue {
    /// A list of `len` times, all infinite.
    pub fn new(len: usize) -> Self {
        let leaves = len.max(2).next_power_of_two();
        let entry = |node: usize| {
            // The leftmost leaf below.
            let depth = leaves.ilog2() - node.max(1).ilog2();
            let index = (node.max(1) << depth) - leaves;
            Entry { time: f64::INFINITY, index: index as u32 }
        };
        Self { matches: (0..leaves).map(|k| [entry(2 * k), entry(2 * k + 1)]).collect() }
    }

    /// The time of `index`.
    pub fn get(&self, index: usize) -> f64 {
        let leaf = self.matches.len() + index;
        self.matches[leaf / 2][leaf % 2].time
    }

    /// The earliest time and the lowest index that has it; infinite if nothing is due.
    #[inline]
    pub fn earliest(&self) -> (usize, f64) {
        let [_, winner] = self.matches[0];
        (winner.index as usize, winner.time)
    }

    /// Sets the time of `index`.
    pub fn set(&mut self, index: usize, time: f64) {
        self.put(index, time);
        self.settle(&[index as u32]);
    }

    /// Sets the time of `index`, which is taken into account by the next [`settle`](Self::settle)
    /// that names it.
    #[inline]
    pub fn put(&mut self, index: usize, time: f64) {
        let leaf = self.matches.len() + index;
        self.matches[leaf / 2][leaf % 2].time = time;
    }

    /// Takes the new times of `changed` into account, which must be ascending.
    #[inline]
    pub fn settle(&mut self, changed: &[u32]) {
        let leaves = self.matches.len();
        let matches = &mut self.matches[..];
        for (k, &index) in changed.iter().enumerate() {
            let leaf = leaves + index as usize;
            // Where the path of the next one joins, that one goes on.
            let meeting = changed.get(k + 1).map_or(0, |&next| {
                let next = leaves + next as usize;
                leaf >> (usize::BITS - (leaf ^ next).leading_zeros())
            });
            let mut at = leaf / 2;
            while at != meeting {
                let players = &matches[at];
                let winner = players[usize::from(players[1].time < players[0].time)];
                matches[at / 2][at % 2] = winner;
                at /= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a scan of all times, with many ties.
        #[test]
        fn earliest_is_the_first_of_the_least(
            len in 1_usize..700,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..20), 1..400),
            size in 1_usize..9,
        ) {
            let mut queue = Queue::new(len);
            let mut plain = vec![f64::INFINITY; len];
            for group in changes.chunks(size) {
                let mut changed = Vec::new();
                for &(index, time) in group {
                    let index = index.index(len);
                    let time = if time == 19 { f64::INFINITY } else { f64::from(time) };
                    queue.put(index, time);
                    plain[index] = time;
                    changed.push(index as u32);
                }
                changed.sort_unstable();
                changed.dedup();
                queue.settle(&changed);
                let least = plain.iter().copied().fold(f64::INFINITY, f64::min);
                let first = plain.iter().position(|&t| t == least).unwrap_or(0);
                prop_assert_eq!(queue.earliest(), (first, least));
            }
            for (index, &time) in plain.iter().enumerate() {
                prop_assert_eq!(queue.get(index), time);
            }
        }
    }
}
