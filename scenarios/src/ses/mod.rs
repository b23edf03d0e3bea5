//! System entity structures: many structures of one system in a file, of which settings choose one.
//!
//! A structure (`.json`) is a tree: an *entity* consists of parts by an *aspect*, of equal parts by a *multi-aspect*,
//! and is one of several kinds by a *specialization*. Leaves with an `mb` name a basic model: a kind of unit, a
//! template or an FMU. *SESvars* decide: [`prune`](prune::prune) leaves one variant ([`Pes`](model::Pes)),
//! [`flatten`](flatten::flatten) leaves its basic models and how they are coupled ([`Fpes`](model::Fpes)), and
//! [`build`](build::document) makes a scenario of these.
//!
//! | file | content |
//! | --- | --- |
//! | [`model`] | structures, variants, flat variants |
//! | `read` | the file, and those that it merges |
//! | `rules` | conditions and formulas over SESvars |
//! | `couplings` | couplings of an aspect, fixed or by a function |
//! | [`prune`] | a structure and its settings to a variant |
//! | [`flatten`] | a variant to basic models and couplings |
//! | [`build`] | a flat variant to a scenario |
//!
//! **Why a scenario.** All that is known about scenarios (mistakes with lines, studies, reports) holds for what a
//! structure becomes; neither the plan nor the run hears of structures.
//!
//! Source: Zeigler, Praehofer & Kim 2000 for entities, aspects and specializations.
pub mod build;
mod couplings;
pub mod flatten;
pub mod model;
pub mod prune;
mod read;
mod rules;

pub use read::read;
pub use rules::Scope;

use model::{Fpes, Pes, Structure};
use std::path::Path;

/// A mistake of a structure: where, which, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SesError {
    /// The file, or the path of an entity below the root.
    pub place: String,
    /// The mistake.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl SesError {
    fn new(place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), help: help.into() }
    }
}

/// A variant of a structure on its way to a scenario.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The structure.
    pub structure: Structure,
    /// The pruned tree.
    pub pes: Pes,
    /// Its basic models.
    pub fpes: Fpes,
}

/// Settings as behind `--set`.
type Sets = [(String, String)];

/// Whether a file is a structure, by its name.
pub fn is_structure(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "json")
}

/// The variant that settings of SESvars choose; all settings are of SESvars.
///
/// # Errors
/// The first mistake of the structure, or of the settings.
pub fn variant(structure: Structure, sets: &Sets) -> Result<Variant, SesError> {
    let scope = Scope::of(&structure, sets)?;
    let pes = prune::prune(&structure, &scope)?;
    let fpes = flatten::flatten(&pes)?;
    Ok(Variant { structure, pes, fpes })
}

/// The scenario of a structure in TOML, and the settings that are not of SESvars. The text of the file is `known`
/// where somebody has read it.
///
/// # Errors
/// The first mistake of the structure, or of the settings.
pub fn scenario(
    (file, known): (&Path, Option<&str>),
    sets: &Sets,
) -> Result<(String, Vec<(String, String)>), SesError> {
    let structure = read((file, known))?;
    let (own, others) =
        sets.iter().cloned().partition::<Vec<_>, _>(|(path, _)| structure.vars.contains_key(path));
    let variant = variant(structure, &own)?;
    let text = build::document(&variant, &build::Places::beside(file))?;
    Ok((text, others))
}
