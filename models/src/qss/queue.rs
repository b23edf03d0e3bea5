//! The event list of the engine: times by index, with the earliest at hand.
//!
//! # Why a tournament
//! A step changes the times of a few variables, of which one was the earliest. In a tree of
//! winners that one is played up to the root again, some ten instructions a level, and the others
//! stop where they lose. Nothing moves, so that no places have to be kept, and of equal times the
//! lowest index wins.
use serde::{Deserialize, Serialize};

/// Times by index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// The root at 1, the two below node `k` at `2 k` and `2 k + 1`, the times themselves last.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Node {
    time: f64,
    index: u32,
}

impl Queue {
    /// A list of `len` times, all infinite.
    pub fn new(len: usize) -> Self {
        let leaves = len.max(2).next_power_of_two();
        let index = |node: usize| {
            // The leftmost leaf below.
            let depth = leaves.ilog2() - node.max(1).ilog2();
            (node.max(1) << depth) - leaves
        };
        let node = |k: usize| Node { time: f64::INFINITY, index: index(k) as u32 };
        Self { nodes: (0..2 * leaves).map(node).collect() }
    }

    /// The time of `index`.
    pub fn get(&self, index: usize) -> f64 {
        self.nodes[self.nodes.len() / 2 + index].time
    }

    /// The earliest time and the lowest index that has it; infinite if nothing is due.
    #[inline]
    pub fn earliest(&self) -> (usize, f64) {
        (self.nodes[1].index as usize, self.nodes[1].time)
    }

    /// Sets the time of `index`.
    #[inline]
    pub fn set(&mut self, index: usize, time: f64) {
        let mut at = self.nodes.len() / 2 + index;
        let nodes = &mut self.nodes[..];
        nodes[at].time = time;
        let (mut time, mut index) = (time, index as u32);
        while at > 1 {
            let Node { time: other, index: rival } = nodes[at ^ 1];
            at >>= 1;
            if other < time || (other == time && rival < index) {
                // The rival's time is what it was: if it has won here before, so it does above.
                if nodes[at].index == rival {
                    return;
                }
                (time, index) = (other, rival);
            }
            nodes[at] = Node { time, index };
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
        ) {
            let mut queue = Queue::new(len);
            let mut plain = vec![f64::INFINITY; len];
            for group in changes.chunks(1) {
                for &(index, time) in group {
                    let index = index.index(len);
                    let time = if time == 19 { f64::INFINITY } else { f64::from(time) };
                    queue.set(index, time);
                    plain[index] = time;
                }
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
