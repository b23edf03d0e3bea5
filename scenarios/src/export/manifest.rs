//! The variables of an FMU, and the files of its scenario.
use super::ExportError;
use crate::{Plan, plan::parcel::Parcel, run::driven};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use superdense_adapters::federation::data::Type;
use superdense_kernel::message::Digest;

/// Kinds of units that other programs compute.
const FOREIGN: [&str; 2] = ["fmu", "mosaik"];

/// Who sets a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Causality {
    /// Somebody else, before the run.
    Parameter,
    /// Somebody else, between steps.
    Input,
    /// The run.
    Output,
}

/// A variable of the FMU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Who sets it.
    pub causality: Causality,
    /// Its type as records of federations name it: `double`, `int64`, `bool` or `string`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its value before it is set; of outputs 0.
    pub start: f64,
    /// Its unit of measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// All that the runtime in an FMU has to know. The reference of a variable is its place, counted from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The name of the scenario.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The scenario among the resources.
    pub scenario: String,
    /// `--set` of the export.
    pub sets: Vec<(String, String)>,
    /// Seconds after which the scenario ends.
    pub stop: f64,
    /// The variables: parameters, inputs, outputs.
    pub variables: Vec<Variable>,
    /// The digest of files and variables, by which the runtime knows that it belongs to the description.
    pub token: String,
}

/// The manifest of a scenario, and its files with their places among the resources.
///
/// # Errors
/// When it cannot be an FMU, or a file cannot be read.
pub fn manifest(
    plan: &Plan,
    parcel: &Parcel,
    sets: &[(String, String)],
) -> Result<(Manifest, BTreeMap<String, Vec<u8>>), ExportError> {
    if plan.has_peers() {
        let label = plan.federate.as_ref().map_or("", |f| f.engine.label());
        return Err(ExportError::Federate(label));
    }
    if let Some(unit) = plan.units.iter().find(|u| FOREIGN.contains(&u.kind)) {
        let path = unit.path.replace('/', ".");
        return Err(ExportError::Foreign(path, unit.kind.to_owned()));
    }
    let variables = variables(plan, parcel)?;
    let (scenario, files) = files(&plan.file, &parcel.files)?;
    let mut manifest = Manifest {
        name: plan.name.clone(),
        description: plan.title.clone(),
        scenario,
        sets: sets.to_vec(),
        stop: plan.resolution.seconds(plan.stop),
        variables,
        token: String::new(),
    };
    let mut digest = Digest::new();
    digest.bytes(format!("{manifest:?}").as_bytes());
    for (name, bytes) in &files {
        digest.bytes(name.as_bytes());
        digest.bytes(bytes);
    }
    manifest.token = format!("{:016x}", digest.finish());
    Ok((manifest, files))
}

fn variables(plan: &Plan, parcel: &Parcel) -> Result<Vec<Variable>, ExportError> {
    let mut all = Vec::new();
    for p in &parcel.parameters {
        all.push(Variable {
            name: p.name.clone(),
            causality: Causality::Parameter,
            ty: Type::Double.name().to_owned(),
            start: p.value,
            unit: p.unit.clone(),
        });
    }
    for heard in plan.federate.iter().flat_map(|f| &f.inputs) {
        all.push(Variable {
            name: heard.from.clone(),
            causality: Causality::Input,
            ty: heard.ty.name().to_owned(),
            start: heard.initial.first().copied().unwrap_or(0.0),
            unit: heard.unit.clone(),
        });
    }
    let outputs = driven::outputs(plan);
    if outputs.is_empty() {
        return Err(ExportError::Silent);
    }
    for output in outputs {
        let ty = driven::type_of(&output).unwrap_or(Type::Double);
        all.push(Variable {
            name: output.label,
            causality: Causality::Output,
            ty: ty.name().to_owned(),
            start: 0.0,
            unit: output.unit,
        });
    }
    let mut names = BTreeSet::new();
    match all.iter().find(|v| !names.insert(v.name.as_str()) || v.name == "time") {
        Some(twice) => Err(ExportError::Twice(twice.name.clone())),
        None => Ok(all),
    }
}

/// The place of the scenario and the contents of all files, by their places below the folder that holds all of them.
fn files(
    scenario: &Path,
    all: &BTreeSet<PathBuf>,
) -> Result<(String, BTreeMap<String, Vec<u8>>), ExportError> {
    let failed = |file: &Path, why: String| ExportError::File(file.display().to_string(), why);
    let full = |file: &Path| file.canonicalize().map_err(|e| failed(file, e.to_string()));
    let scenario = full(scenario)?;
    let mut root = scenario.parent().unwrap_or(Path::new("/")).to_owned();
    let mut places = BTreeSet::from([scenario.clone()]);
    for file in all {
        let full = full(file)?;
        while !full.starts_with(&root) {
            root.pop();
        }
        places.insert(full);
    }
    let place = |full: &Path| {
        let below = full.strip_prefix(&root).unwrap_or(full);
        let steps: Vec<_> = below.iter().map(|s| s.to_string_lossy()).collect();
        steps.join("/")
    };
    let mut files = BTreeMap::new();
    for full in &places {
        let bytes = fs::read(full).map_err(|e| failed(full, e.to_string()))?;
        files.insert(place(full), bytes);
    }
    Ok((place(&scenario), files))
}

impl Manifest {
    /// The places of the variables that somebody sets, or that the run does.
    pub fn places(&self, causality: Causality) -> impl Iterator<Item = usize> {
        let all = self.variables.iter().enumerate();
        all.filter(move |(_, v)| v.causality == causality).map(|(k, _)| k)
    }
}
