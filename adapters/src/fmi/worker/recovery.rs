//! The way of a new worker to where a dead one was: the calls of the initialisation, the state at a
//! saved point, and all calls since.
use super::super::calls::Call;
use std::collections::{BTreeMap, BTreeSet};

/// Messages after which a new point is saved.
const MESSAGES: usize = 200;

/// Number of the state at a saved point. Owners count theirs from zero.
pub(super) const POINT: u64 = u64::MAX;

/// A state of the instance as bytes, with the states that its owner kept then.
#[derive(Debug, Default)]
pub(super) struct Point {
    pub(super) now: Vec<u8>,
    pub(super) kept: BTreeMap<u64, Vec<u8>>,
}

/// The part of a call that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Keeps(u64),
    Frees(u64),
    /// Time moves.
    Moves,
    /// A step ends, after which the state can be saved.
    Ends,
    Other,
}

impl Mark {
    pub(super) fn of(call: &Call<'_>) -> Self {
        match call {
            Call::Save(id) | Call::Deserialise(id, _) => Self::Keeps(*id),
            Call::Free(id) => Self::Frees(*id),
            Call::SetTime(_) => Self::Moves,
            Call::Step { .. } | Call::Completed => Self::Ends,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Frames up to the first call that moves time.
    pub(super) start: Vec<Vec<u8>>,
    pub(super) point: Option<Point>,
    /// Frames since the point, or since the start.
    pub(super) since: Vec<Vec<u8>>,
    moved: bool,
    kept: BTreeSet<u64>,
}

impl Recovery {
    /// Calls were carried out. Gives whether a new point should be saved after them.
    pub(super) fn note(&mut self, marks: &[Mark], frame: Vec<u8>) -> bool {
        for mark in marks {
            match mark {
                Mark::Keeps(id) => drop(self.kept.insert(*id)),
                Mark::Frees(id) => drop(self.kept.remove(id)),
                Mark::Moves | Mark::Ends => self.moved = true,
                Mark::Other => {}
            }
        }
        if self.moved {
            self.since.push(frame);
        } else {
            self.start.push(frame);
        }
        marks.last() == Some(&Mark::Ends) && self.since.len() >= MESSAGES
    }

    /// States that the owner keeps now.
    pub(super) fn kept(&self) -> Vec<u64> {
        self.kept.iter().copied().collect()
    }

    /// From now on a new worker begins here.
    pub(super) fn saved(&mut self, point: Point) {
        self.point = Some(point);
        self.since.clear();
    }
}
