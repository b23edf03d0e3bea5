//! Snapshots: the solver and what was sent, beside the FMU's own state.
use super::{
    super::instance::{CallError, StateHandle},
    Data, ExchangeUnit,
};
use superdense_kernel::snapshot::{Snapshot, SnapshotError, decode, encode};

/// A saved unit.
#[derive(Debug)]
pub struct Saved {
    data: Data,
    state: StateHandle,
}

impl ExchangeUnit {
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

impl Snapshot for ExchangeUnit {
    type Saved = Saved;

    fn save(&self) -> Result<Saved, SnapshotError> {
        if !self.settings.state_access {
            return Err(self.unable("state access (canGetAndSetFMUState)"));
        }
        let state = self.instance.save().map_err(|e| self.refused(&e))?;
        Ok(Saved { data: self.data.clone(), state })
    }

    fn save_over(&self, saved: &mut Saved) -> Result<(), SnapshotError> {
        if !self.settings.state_access {
            return Err(self.unable("state access (canGetAndSetFMUState)"));
        }
        self.instance.save_over(&mut saved.state).map_err(|e| self.refused(&e))?;
        saved.data.clone_from(&self.data);
        Ok(())
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), SnapshotError> {
        self.instance.restore(&saved.state).map_err(|e| self.refused(&e))?;
        self.data.clone_from(&saved.data);
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        if !(self.settings.state_access && self.settings.serialisable) {
            return Err(self.unable("serialisable state (canSerializeFMUState)"));
        }
        let state = self.instance.save().map_err(|e| self.refused(&e))?;
        let bytes = self.instance.serialise(&state).map_err(|e| self.refused(&e))?;
        encode(&(&self.data, bytes))
    }

    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (data, state): (Data, Vec<u8>) = decode(bytes)?;
        if data.inputs.len() != self.data.inputs.len()
            || data.y.len() != self.data.y.len()
            || !data.said.fits(&self.data.said)
            || data.solver.state().len() != self.settings.states
        {
            return Err(SnapshotError::Corrupt("another FMU's state".into()));
        }
        let state = self.instance.deserialise(&state).map_err(|e| self.refused(&e))?;
        self.instance.restore(&state).map_err(|e| self.refused(&e))?;
        self.data = data;
        Ok(())
    }
}
