//! What is saved of a unit: all that changes in a run, and the state of its core.
use super::wrapper::{State, Unit};
use crate::solve::{
    core::{Core, Frame},
    equations::Equations,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::snapshot::{Snapshot, SnapshotError, decode, encode};

/// The saved state of a [`Unit`], with the state `S` of its core.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedUnit<S>(State, Frame, S);

impl<E: Equations, C: Core<E>> Snapshot for Unit<E, C> {
    type Saved = SavedUnit<C::State>;
    fn save(&self) -> Result<Self::Saved, SnapshotError> {
        Ok(SavedUnit(self.state.clone(), self.scene.frame.clone(), self.core.save()))
    }
    fn restore(&mut self, saved: &Self::Saved) -> Result<(), SnapshotError> {
        self.state.clone_from(&saved.0);
        self.scene.frame.clone_from(&saved.1);
        self.core.restore(&self.scene, &saved.2);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(&self.save()?)
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.restore(&decode(bytes)?)
    }
}
