//! Snapshots of FMUs: opaque handles that can fail and cannot be cloned.
use super::{
    instance::{CallError, StateHandle},
    unit::{Data, FmuUnit},
};
use std::sync::Arc;
use superdense_kernel::snapshot::{Snapshot, SnapshotError, decode, encode};

/// A saved unit.
#[derive(Debug)]
pub struct Saved {
    data: Data,
    state: StateHandle,
    base: Option<Arc<StateHandle>>,
}

impl FmuUnit {
    fn refused(&self, e: &CallError) -> SnapshotError {
        SnapshotError::Refused(format!("{}: {e}", self.settings.name))
    }

    fn unable(&self, what: &str) -> SnapshotError {
        SnapshotError::Unsupported(format!(
            "{} has no {what}: export the FMU with it, or use what needs no snapshots",
            self.settings.name
        ))
    }
}

impl Snapshot for FmuUnit {
    type Saved = Saved;

    fn save(&self) -> Result<Saved, SnapshotError> {
        if !self.settings.state_access {
            return Err(self.unable("state access (canGetAndSetFMUState)"));
        }
        let state = self.instance.save().map_err(|e| self.refused(&e))?;
        Ok(Saved { data: self.data.clone(), state, base: self.base.clone() })
    }

    fn save_over(&self, saved: &mut Saved) -> Result<(), SnapshotError> {
        if !self.settings.state_access {
            return Err(self.unable("state access (canGetAndSetFMUState)"));
        }
        self.instance.save_over(&mut saved.state).map_err(|e| self.refused(&e))?;
        saved.data.clone_from(&self.data);
        saved.base.clone_from(&self.base);
        Ok(())
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), SnapshotError> {
        self.instance.restore(&saved.state).map_err(|e| self.refused(&e))?;
        self.data.clone_from(&saved.data);
        self.base.clone_from(&saved.base);
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        if !(self.settings.state_access && self.interface.serialisable) {
            return Err(self.unable("serialisable state (canSerializeFMUState)"));
        }
        let bytes =
            |state: &StateHandle| self.instance.serialise(state).map_err(|e| self.refused(&e));
        let now = self.instance.save().map_err(|e| self.refused(&e))?;
        let base = self.base.as_deref().map(bytes).transpose()?;
        encode(&(&self.data, bytes(&now)?, base))
    }

    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (data, now, base): (Data, Vec<u8>, Option<Vec<u8>>) = decode(bytes)?;
        if data.inputs.len() != self.data.inputs.len()
            || data.y.len() != self.data.y.len()
            || !data.said.fits(&self.data.said)
        {
            return Err(SnapshotError::Corrupt("another FMU's state".into()));
        }
        let state =
            |bytes: &Vec<u8>| self.instance.deserialise(bytes).map_err(|e| self.refused(&e));
        let base = base.as_ref().map(state).transpose()?.map(Arc::new);
        let now = state(&now)?;
        self.instance.restore(&now).map_err(|e| self.refused(&e))?;
        (self.data, self.base) = (data, base);
        Ok(())
    }
}
