//! What brings a new worker to where a dead one was: the calls of the initialisation, the state at a
//! saved point, and all calls since.
use super::super::calls::Call;
use std::collections::{BTreeMap, BTreeSet};

/// Calls after which a new point is saved.
const CALLS: usize = 500;

/// Number of the state at a saved point. Owners count theirs from zero.
pub(super) const POINT: u64 = u64::MAX;

/// A state of the instance as bytes, with the states that its owner kept then.
#[derive(Debug, Default)]
pub(super) struct Point {
    pub(super) now: Vec<u8>,
    pub(super) kept: BTreeMap<u64, Vec<u8>>,
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
    /// A call was carried out.
    pub(super) fn note(&mut self, call: &Call<'_>, frame: Vec<u8>) {
        match call {
            Call::Save(id) | Call::Deserialise(id, _) => drop(self.kept.insert(*id)),
            Call::Free(id) => drop(self.kept.remove(id)),
            Call::Step { .. } | Call::SetTime(_) => self.moved = true,
            _ => {}
        }
        if self.moved {
            self.since.push(frame);
        } else {
            self.start.push(frame);
        }
    }

    /// Whether a new point should be saved after this call.
    pub(super) fn is_due(&self, call: &Call<'_>) -> bool {
        let rest = matches!(call, Call::Step { .. } | Call::Completed);
        rest && self.since.len() >= CALLS
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
