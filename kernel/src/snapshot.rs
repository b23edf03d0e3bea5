//! The one snapshot mechanism: rollback, step rejection, iteration, checkpoints and what-if runs
//! all use these calls, for plain data and for foreign handles alike.
use serde::{Serialize, de::DeserializeOwned};

/// Why a state could not be saved or brought back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The unit has no such ability.
    #[error("{0}")]
    Unsupported(String),
    /// The foreign call failed.
    #[error("the unit refused: {0}")]
    Refused(String),
    /// The bytes do not hold such a state.
    #[error("unreadable state bytes: {0}")]
    Corrupt(String),
}

/// Saving and restoring the state of a model.
///
/// A model of plain data gets it by deriving `Clone`, `Serialize` and `Deserialize`. A unit with
/// an opaque state (an FMU, a process) implements it by hand; every call may fail.
///
/// ```
/// use superdense_kernel::snapshot::Snapshot;
/// #[derive(Clone, serde::Serialize, serde::Deserialize, PartialEq, Debug)]
/// struct Counter(u32);
/// let mut c = Counter(3);
/// let saved = c.save().unwrap();
/// c.0 = 9;
/// c.restore(&saved).unwrap();
/// assert_eq!(c, Counter(3));
/// ```
pub trait Snapshot {
    /// A saved state; dropping it frees whatever it stands for.
    type Saved: Send + 'static;
    /// Saves the state.
    ///
    /// # Errors
    /// When the unit cannot.
    fn save(&self) -> Result<Self::Saved, SnapshotError>;
    /// Saves the state over one that is needed no more, whose memory it may use.
    ///
    /// # Errors
    /// When the unit cannot.
    fn save_over(&self, saved: &mut Self::Saved) -> Result<(), SnapshotError> {
        *saved = self.save()?;
        Ok(())
    }
    /// Brings a saved state back; may be called any number of times.
    ///
    /// # Errors
    /// When the unit cannot; the state is then undefined and the run must end.
    fn restore(&mut self, saved: &Self::Saved) -> Result<(), SnapshotError>;
    /// The state as bytes, for a checkpoint file.
    ///
    /// # Errors
    /// When the unit cannot.
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError>;
    /// Brings back the state that [`Snapshot::to_bytes`] wrote, in an equally built unit.
    ///
    /// # Errors
    /// When the bytes do not fit.
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError>;
    /// Builds the unit from a saved state alone; needed only for models created during a run.
    ///
    /// # Errors
    /// When the unit needs more than its state to exist.
    fn from_saved(_saved: &Self::Saved) -> Result<Self, SnapshotError>
    where
        Self: Sized,
    {
        Err(SnapshotError::Unsupported(format!(
            "{} cannot be rebuilt from a saved state alone",
            std::any::type_name::<Self>()
        )))
    }
    /// Builds the unit from bytes alone; needed only for models created during a run.
    ///
    /// # Errors
    /// When the unit needs more than its state to exist.
    fn from_bytes(_bytes: &[u8]) -> Result<Self, SnapshotError>
    where
        Self: Sized,
    {
        Err(SnapshotError::Unsupported(format!(
            "{} cannot be rebuilt from bytes alone",
            std::any::type_name::<Self>()
        )))
    }
}

fn corrupt(e: postcard::Error) -> SnapshotError {
    SnapshotError::Corrupt(e.to_string())
}

/// Serialises any plain state into bytes, as the blanket implementation does.
///
/// # Errors
/// When the state cannot be serialised.
pub fn encode<T: Serialize>(state: &T) -> Result<Vec<u8>, SnapshotError> {
    postcard::to_stdvec(state).map_err(corrupt)
}

/// Reads what [`encode`] wrote; all bytes must be used.
///
/// # Errors
/// When the bytes do not hold such a state.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, SnapshotError> {
    let (state, rest) = postcard::take_from_bytes(bytes).map_err(corrupt)?;
    if rest.is_empty() {
        Ok(state)
    } else {
        Err(SnapshotError::Corrupt(format!("{} bytes left over", rest.len())))
    }
}

impl<T: Clone + Serialize + DeserializeOwned + Send + 'static> Snapshot for T {
    type Saved = T;
    fn save(&self) -> Result<T, SnapshotError> {
        Ok(self.clone())
    }
    fn save_over(&self, saved: &mut T) -> Result<(), SnapshotError> {
        saved.clone_from(self);
        Ok(())
    }
    fn restore(&mut self, saved: &T) -> Result<(), SnapshotError> {
        self.clone_from(saved);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(self)
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        *self = decode(bytes)?;
        Ok(())
    }
    fn from_saved(saved: &T) -> Result<T, SnapshotError> {
        Ok(saved.clone())
    }
    fn from_bytes(bytes: &[u8]) -> Result<T, SnapshotError> {
        decode(bytes)
    }
}
