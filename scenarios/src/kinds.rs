//! The kinds of units that a scenario may name: those of `models`, and those of adapters that
//! this build has.
use superdense_models::{catalogue, kinds::UnitKind};

/// Kinds of adapters: name, cargo feature, and the kind if the feature is on.
const ADAPTED: &[(&str, &str, Option<&'static dyn UnitKind>)] = &[
    (
        "fmu",
        "fmi",
        #[cfg(feature = "fmi")]
        Some(&superdense_adapters::fmi::FmuKind),
        #[cfg(not(feature = "fmi"))]
        None,
    ),
    (
        "mosaik",
        "mosaik",
        #[cfg(feature = "mosaik")]
        Some(&superdense_adapters::mosaik::MosaikKind),
        #[cfg(not(feature = "mosaik"))]
        None,
    ),
];

/// All kinds, in the order of their names.
///
/// ```
/// let names: Vec<&str> = superdense::kinds::kinds().iter().map(|k| k.name()).collect();
/// assert!(names.contains(&"equations") && names.is_sorted());
/// ```
pub fn kinds() -> Vec<&'static dyn UnitKind> {
    let adapted = ADAPTED.iter().filter_map(|(_, _, kind)| *kind);
    let mut all: Vec<_> = catalogue::kinds().iter().copied().chain(adapted).collect();
    all.sort_by_key(|k| k.name());
    all
}

/// The kind of a name.
pub fn find(name: &str) -> Option<&'static dyn UnitKind> {
    let adapted = || ADAPTED.iter().find(|(n, ..)| *n == name)?.2;
    catalogue::find(name).or_else(adapted)
}

/// The cargo feature that a build without this kind needs for it.
pub fn missing_feature(name: &str) -> Option<&'static str> {
    ADAPTED.iter().find(|(n, _, kind)| *n == name && kind.is_none()).map(|(_, feature, _)| *feature)
}
