//! The kinds that a scenario may name: those of the registry, and in tests a few more.
use superdense_models::registry::{self, UnitKind};

/// The kind of a name.
pub(super) fn find(name: &str) -> Option<&'static dyn UnitKind> {
    registry::find(name)
}
