//! The event list of the engine: times by index, with the earliest at hand.
//!
//! # Why not a heap
//! A step changes the times of a few variables, and nearly none of them becomes the earliest. In a
//! tree of minima over blocks of eight such a change costs one comparison with the block's minimum.
//! Nothing moves, so that equal times come in the order of their indices, and blocks of eight fit a
//! cache line.
use serde::{Deserialize, Serialize};

const BITS: u32 = 3;
const WIDTH: usize = 1 << BITS;

/// Times by index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Leaves first, then each level of minima, padded to whole blocks with infinity.
    times: Vec<f64>,
    /// Where each level begins; leaves at 0.
    levels: Vec<u32>,
}

impl Queue {
    /// A list of `len` times, all infinite.
    pub fn new(len: usize) -> Self {
        let mut levels = vec![0];
        let mut size = len.max(1).next_multiple_of(WIDTH);
        let mut total = size;
        while size > WIDTH {
            levels.push(total as u32);
            size = (size / WIDTH).next_multiple_of(WIDTH);
            total += size;
        }
        Self { times: vec![f64::INFINITY; total], levels }
    }

    /// The time of `index`.
    pub fn get(&self, index: usize) -> f64 {
        self.times[index]
    }

    /// The earliest time and the lowest index that has it; infinite if nothing is due.
    #[inline]
    pub fn earliest(&self) -> (usize, f64) {
        let mut at = 0;
        let mut time = f64::INFINITY;
        for &level in self.levels.iter().rev() {
            let block = self.block(level as usize + at);
            time = least(block);
            at = (at + position(block, time)) << BITS;
        }
        (at >> BITS, time)
    }

    /// The earliest time.
    #[inline]
    pub fn first(&self) -> f64 {
        least(self.block(self.levels[self.levels.len() - 1] as usize))
    }

    #[inline]
    fn block(&self, start: usize) -> &[f64; WIDTH] {
        self.times[start..start + WIDTH].try_into().expect("blocks are whole")
    }

    /// Sets the time of `index`.
    #[inline]
    pub fn set(&mut self, index: usize, time: f64) {
        let (mut at, mut new) = (index, time);
        let mut old = std::mem::replace(&mut self.times[index], time);
        let mut below = 0;
        for l in 1..self.levels.len() {
            let level = self.levels[l] as usize;
            let parent = at >> BITS;
            let held = self.times[level + parent];
            if new >= held {
                if old > held {
                    return;
                }
                new = least(self.block(below + (parent << BITS)));
                if new == held {
                    return;
                }
            }
            self.times[level + parent] = new;
            (at, old, below) = (parent, held, level);
        }
    }
}

#[inline]
fn least(block: &[f64; WIDTH]) -> f64 {
    let min = |a: f64, b: f64| if b < a { b } else { a };
    let pairs: [f64; 4] = std::array::from_fn(|k| min(block[k], block[k + 4]));
    min(min(pairs[0], pairs[2]), min(pairs[1], pairs[3]))
}

#[inline]
fn position(block: &[f64; WIDTH], time: f64) -> usize {
    block.iter().position(|&t| t == time).unwrap_or(0)
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
            for (index, time) in changes {
                let index = index.index(len);
                let time = if time == 19 { f64::INFINITY } else { f64::from(time) };
                queue.set(index, time);
                plain[index] = time;
                let least = plain.iter().copied().fold(f64::INFINITY, f64::min);
                let first = plain.iter().position(|&t| t == least).unwrap_or(0);
                prop_assert_eq!(queue.earliest(), (first, least));
                prop_assert_eq!(queue.first(), least);
            }
        }
    }
}
