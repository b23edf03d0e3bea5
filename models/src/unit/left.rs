//! Modes that the flip of a condition ended, and that are entered again.
//!
//! Events are up to a tick late, so that a value is beyond its threshold when it is stopped there. Where it stands until its
//! mode is entered again, and goes back then, the condition has not become true anew (rule 13).
use super::{
    decide::{Instant, Known},
    readers::Left,
    wrapper::Unit,
};
use crate::solve::{core::Core, equations::Equations};

/// The share of its distance from the threshold by which a value that stands may be computed to move.
const STANDS: f64 = 1.0 / 1024.0;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Whether relation `k` was watched before the change that is being made.
    pub(super) fn was_active(&self, k: usize) -> bool {
        let discrete = &self.scratch.prior[self.scene.dims.first_discrete()..];
        self.readers.relations[k].is_active(discrete)
    }

    /// Notes relation `k`, of a mode that has ended, if its flip along the solution did that.
    pub(super) fn note_left(&mut self, k: usize) {
        let relation = k as u16;
        let flipped = self.side(k) != 0.0 && self.scratch.flipped.contains(&relation);
        if flipped && !self.readers.nested[k] && !self.has_changed(k) {
            let z = self.scratch.indicators[k].0;
            self.state.left.retain(|left| left.relation != relation);
            self.state.left.push(Left { relation, z, back: 0.0 });
        }
    }

    /// Notes where relation `k` goes, if its mode has just been entered again and it has stood since.
    pub(super) fn note_back(&mut self, k: usize, at: Instant, known: &mut Known) {
        let Some(n) = self.state.left.iter().position(|left| usize::from(left.relation) == k)
        else {
            return;
        };
        let (z, (value, error)) = (self.state.left[n].z, self.scratch.indicators[k]);
        if !self.was_active(k) && (value - z).abs() <= error + STANDS * z.abs() {
            let way = self.heading(k, at, known);
            self.state.left[n].back = if way * value < 0.0 { way } else { 0.0 };
        }
    }

    /// The held values with the sides to which relations go back from where their modes were left, if any do: once.
    pub(super) fn going_back(&mut self) -> Option<Vec<f64>> {
        let first = self.scene.dims.first_side();
        let going = self.state.left.iter_mut().filter(|left| left.back != 0.0);
        let mut held = None;
        for left in going {
            let held = held.get_or_insert_with(|| self.scratch.held.clone());
            held[first + usize::from(left.relation)] = std::mem::take(&mut left.back);
        }
        held
    }
}
