//! The key of a model in a run.
use slotmap::new_key_type;

new_key_type! {
    /// A model of a run, atomic or coupled; stays valid while the structure changes.
    pub struct ModelKey;
}
