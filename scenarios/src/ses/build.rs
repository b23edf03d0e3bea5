//! A flat variant becomes a scenario.
use super::{SesError, Variant, model::Model};
use crate::kinds;
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};
use superdense_models::kinds::UnitKind;

/// Where a structure and the scenario that is made of it are.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder of the structure, from which it names files.
    from: PathBuf,
    /// The folder of the scenario.
    to: PathBuf,
}

impl Places {
    /// A scenario beside its structure: nothing moves.
    pub fn beside(file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { from: folder.clone(), to: folder }
    }

    /// A scenario in a folder of its own, which exists.
    pub fn apart(file: &Path, to: &Path) -> Self {
        Self { to: to.to_owned(), ..Self::beside(file) }
    }

    /// The name of a file, from the scenario's folder.
    fn moved(&self, name: &str) -> String {
        if self.from == self.to || Path::new(name).is_absolute() {
            return name.to_owned();
        }
        let whole = |folder: &Path| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
        };
        let file = plain(&whole(&self.from).join(name));
        let to = whole(&self.to);
        let common = to.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        let up = to.components().skip(common).map(|_| Component::ParentDir);
        let path: PathBuf = up.chain(file.components().skip(common)).collect();
        path.to_string_lossy().replace('\\', "/")
    }
}

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Keys of a scenario that the structure itself makes.
const OWN: [&str; 2] = ["unit", "connections"];

/// The scenario in TOML.
///
/// # Errors
/// A `scenario` of the structure that has units or connections, or values that TOML has not.
pub fn document(variant: &Variant, places: &Places) -> Result<String, SesError> {
    let mut root = variant.structure.scenario.clone();
    if let Some(key) = OWN.into_iter().find(|key| root.contains_key(*key)) {
        let message = format!("`{key}` is made of the tree");
        return Err(SesError::new("scenario", message, "write it as entities with couplings"));
    }
    match root.get_mut("include") {
        Some(Value::String(name)) => *name = places.moved(name),
        Some(Value::Array(names)) => {
            for name in names {
                if let Value::String(name) = name {
                    *name = places.moved(name);
                }
            }
        }
        _ => {}
    }
    let models = &variant.fpes.models;
    if models.is_empty() {
        let help = "give a leaf an `mb`, or set SESvars so that one is left";
        return Err(SesError::new("tree", "the variant has no basic model", help));
    }
    let mut units = Map::new();
    for model in models {
        units.insert(model.name.clone(), unit(model, places)?);
    }
    let couplings = variant.fpes.couplings.iter().map(|c| json!(format!("{} -> {}", c.from, c.to)));
    root.insert("connections".to_owned(), couplings.collect());
    root.insert("unit".to_owned(), Value::Object(units));
    let vars = variant.fpes.vars.iter().map(|(name, value)| format!("{name} = {value}"));
    let head = format!("# Made of a system entity structure: {}.\n", listed(vars));
    toml::to_string(&Value::Object(root)).map(|text| head + &text).map_err(|e| {
        let help = "null and numbers beyond 64 bits have no place in a scenario";
        SesError::new("scenario", format!("it is no TOML: {e}"), help)
    })
}

fn listed(vars: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = vars.collect();
    if all.is_empty() { "no SESvars".to_owned() } else { all.join(", ").replace('\n', " ") }
}

/// A unit: of an FMU, of a kind, else of a template.
fn unit(model: &Model, places: &Places) -> Result<Value, SesError> {
    let mut table = Map::new();
    let (key, name) = if model.mb.ends_with(".fmu") {
        table.insert("kind".to_owned(), json!("fmu"));
        ("path", places.moved(&model.mb))
    } else if kinds::find(&model.mb).is_some() {
        ("kind", model.mb.clone())
    } else {
        ("template", model.mb.clone())
    };
    table.insert(key.to_owned(), name.into());
    // Attributes that the kind `fmu` does not know are parameters of the FMU.
    let own = kinds::find("fmu").map(UnitKind::params).unwrap_or_default();
    let is_start = |key: &str| key != "start" && !own.iter().any(|p| p.name == key);
    let mut start = Map::new();
    for (key, value) in &model.attributes {
        if model.mb.ends_with(".fmu") && is_start(key) {
            start.insert(key.clone(), value.clone());
            continue;
        }
        if ["kind", "template"].contains(&key.as_str()) || table.contains_key(key) {
            let message = format!("the attribute `{key}` is made of `mb`");
            return Err(SesError::new(&model.path, message, "take it out, and write `mb`"));
        }
        table.insert(key.clone(), value.clone());
    }
    if !start.is_empty() {
        if let Some(Value::Object(given)) = table.get("start") {
            start.extend(given.clone());
        }
        table.insert("start".to_owned(), Value::Object(start));
    }
    Ok(Value::Object(table))
}
