//! The event list of the engine: times by index, with the earliest at hand.
//!
//! # Why a tree of least times
//! A step changes the times of a few neighbours, of which one was the earliest. Blocks of eight
//! times, blocks of their least ones and so on up to one: a change goes up as long as it changes
//! what is least, for about thirty instructions a level, of which there are four for a thousand
//! variables; a binary tree of winners needs ten levels of about the same cost. Nothing moves, so
//! that no places have to be kept. Who has the least time is found on the way down from the first
//! block; of equal times the lowest index wins.
use serde::{Deserialize, Serialize};

/// Times by index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Slot `s` (place `s % 8` of block `s / 8`) holds the least time of block `s + 1`, or a time
    /// itself if there is no such block.
    blocks: Vec<[f64; WIDTH]>,
    /// Slot of the first time.
    first: usize,
    /// The least time of all.
    least: f64,
}

const WIDTH: usize = 8;

impl Default for Queue {
    fn default() -> Self {
        Self::new(0)
    }
}

/// Unlike `f64::min` without a care for NaN, which is never a time here.
#[inline(always)]
fn lower(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

impl Queue {
    /// A list of `len` times, all infinite.
    pub fn new(len: usize) -> Self {
        let (mut first, mut leaves) = (0, WIDTH);
        while leaves < len {
            first += leaves;
            leaves *= WIDTH;
        }
        let blocks = (first + len).div_ceil(WIDTH);
        Self { blocks: vec![[f64::INFINITY; WIDTH]; blocks], first, least: f64::INFINITY }
    }

    /// The time of `index`.
    pub fn get(&self, index: usize) -> f64 {
        let slot = self.first + index;
        self.blocks[slot / WIDTH][slot % WIDTH]
    }

    /// Counts all times from `t` on.
    pub(super) fn count_from(&mut self, t: f64) {
        let times = self.blocks.iter_mut().flatten();
        times.chain([&mut self.least]).for_each(|time| *time -= t);
    }

    /// The earliest time.
    #[inline]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The earliest time and the lowest index that has it; infinite if nothing is due.
    #[inline]
    pub fn earliest(&self) -> (usize, f64) {
        let (mut slot, mut at) = (self.first, 0);
        while let Some(block) = self.blocks.get(at) {
            slot = WIDTH * at + block.iter().position(|&t| t <= self.least).unwrap_or(0);
            at = slot + 1;
        }
        (slot - self.first, self.least)
    }

    /// Sets the time of `index`.
    #[inline]
    pub fn set(&mut self, index: usize, time: f64) {
        let slot = self.first + index;
        self.blocks[slot / WIDTH][slot % WIDTH] = time;
        self.raise(slot / WIDTH);
    }

    /// Sets the time of `index`, when that of `next` will be [`set`](Self::set) after it before
    /// anything is asked: two in one block go up as one.
    #[inline]
    pub fn set_before(&mut self, index: usize, time: f64, next: usize) {
        let (slot, other) = (self.first + index, self.first + next);
        self.blocks[slot / WIDTH][slot % WIDTH] = time;
        if slot / WIDTH != other / WIDTH {
            self.raise(slot / WIDTH);
        }
    }

    /// Brings the changed block `at` in line with those above it.
    #[inline]
    fn raise(&mut self, mut at: usize) {
        while let Some(&[a, b, c, d, e, f, g, h]) = self.blocks.get(at) {
            let (even, odd) = (lower(lower(a, c), lower(e, g)), lower(lower(b, d), lower(f, h)));
            let least = lower(even, odd);
            let Some(slot) = at.checked_sub(1) else {
                self.least = least;
                return;
            };
            at = slot / WIDTH;
            let Some(block) = self.blocks.get_mut(at) else { return };
            if block[slot % WIDTH] == least {
                return;
            }
            block[slot % WIDTH] = least;
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
            size in 1_usize..6,
        ) {
            let mut queue = Queue::new(len);
            let mut plain = vec![f64::INFINITY; len];
            for group in changes.chunks(size) {
                let last = group[group.len() - 1].0.index(len);
                for (k, &(index, time)) in group.iter().enumerate() {
                    let index = index.index(len);
                    let time = if time == 19 { f64::INFINITY } else { f64::from(time) };
                    if k + 1 < group.len() {
                        queue.set_before(index, time, last);
                    } else {
                        queue.set(index, time);
                    }
                    plain[index] = time;
                }
                let least = plain.iter().copied().fold(f64::INFINITY, f64::min);
                let first = plain.iter().position(|&t| t == least).unwrap_or(0);
                prop_assert_eq!(queue.earliest(), (first, least));
                prop_assert_eq!(queue.least(), least);
            }
            for (index, &time) in plain.iter().enumerate() {
                prop_assert_eq!(queue.get(index), time);
            }
        }
    }
}
