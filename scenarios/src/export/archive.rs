//! The FMU itself.
use super::{Causality, ExportError, MANIFEST, Manifest, manifest};
use crate::{Plan, plan::parcel::Parcel};
use std::path::Path;
use superdense_adapters::{
    federation::data::Type,
    fmi::{
        description::Version,
        export::{Offer, Value, Variable, pack},
    },
};

/// The bytes of an FMU of a scenario, with what is in it; `runtime` is the library that it holds.
///
/// # Errors
/// When the scenario cannot be an FMU, or a file cannot be read.
pub fn fmu(
    (plan, parcel, sets): (&Plan, &Parcel, &[(String, String)]),
    version: Version,
    runtime: &Path,
) -> Result<(Manifest, Vec<u8>), ExportError> {
    let (manifest, mut resources) = manifest(plan, parcel, sets)?;
    let text = serde_json::to_vec_pretty(&manifest);
    resources.insert(MANIFEST.to_owned(), text.map_err(|e| ExportError::Broken(e.to_string()))?);
    let packed = pack(&offer(&manifest), version, runtime, &resources);
    Ok((manifest, packed.map_err(ExportError::Broken)?))
}

/// The content of the description of a scenario.
fn offer(manifest: &Manifest) -> Offer {
    let variables = manifest.variables.iter().map(|v| Variable {
        name: v.name.clone(),
        causality: match v.causality {
            Causality::Parameter => "parameter",
            Causality::Input => "input",
            Causality::Output => "output",
        },
        value: match Type::named(&v.ty) {
            Some(Type::Int) => Value::Int(v.start as i64),
            Some(Type::Bool) => Value::Bool(v.start != 0.0),
            Some(Type::Text) => Value::Text,
            _ => Value::Real(v.start),
        },
        unit: v.unit.clone(),
    });
    Offer {
        name: manifest.name.clone(),
        description: manifest.description.clone(),
        tool: concat!("Superdense ", env!("CARGO_PKG_VERSION")).to_owned(),
        token: manifest.token.clone(),
        stop: manifest.stop,
        variables: variables.collect(),
    }
}
