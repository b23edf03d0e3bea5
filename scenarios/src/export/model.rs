//! Runs of an exported scenario.
use super::{Causality, ExportError, MANIFEST, Manifest};
use crate::{Overrides, load, run::driven::Driven};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The resources of an FMU, opened.
#[derive(Debug, Clone)]
pub struct Model {
    folder: PathBuf,
    manifest: Manifest,
}

impl Model {
    /// Opens a folder of resources.
    ///
    /// # Errors
    /// When there is no manifest, or it is of another version.
    pub fn open(folder: &Path) -> Result<Self, ExportError> {
        let file = folder.join(MANIFEST);
        let failed = |why: String| ExportError::File(file.display().to_string(), why);
        let text = fs::read_to_string(&file).map_err(|e| failed(e.to_string()))?;
        let manifest = serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// The variables.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Begins a run with values of all variables (those of outputs are not looked at), which will not end before
    /// `until` seconds if that is later than its own end.
    ///
    /// # Errors
    /// All mistakes of the scenario with these parameters, and errors of its first instant.
    pub fn begin(&self, values: &[f64], until: Option<f64>) -> Result<Driven, ExportError> {
        let Manifest { variables, sets, stop, scenario, .. } = &self.manifest;
        let mut sets = sets.clone();
        for k in self.manifest.places(Causality::Parameter) {
            let (variable, value) = (&variables[k], values[k]);
            if value.to_bits() != variable.start.to_bits() {
                let text = match &variable.unit {
                    Some(unit) => format!("\"{value} {unit}\""),
                    None => format!("{value:?}"),
                };
                sets.push((variable.name.clone(), text));
            }
        }
        let until = until.filter(|until| until > stop).map(|until| format!("{until:?} s"));
        let overrides = Overrides { until, ..Overrides::default() };
        let plan = load(&self.folder.join(scenario), &sets, &overrides)
            .map_err(|mistakes| ExportError::Broken(mistakes.to_string()))?;
        let inputs: Vec<f64> = self.manifest.places(Causality::Input).map(|k| values[k]).collect();
        Driven::new(plan, &inputs).map_err(|e| ExportError::Broken(e.to_string()))
    }
}
