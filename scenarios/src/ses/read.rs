//! The file of a structure, and those that it merges.
use super::{
    SesError,
    model::{Aspect, Entity, NONE, Structure},
};
use std::{
    collections::BTreeSet,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};
use superdense_models::kinds::files;

/// Largest file.
const MAX_BYTES: u64 = 16 << 20;
/// Longest chain of files that merge each other.
const MAX_MERGES: usize = 16;

/// Reads a structure, unless its text is known, with all files that it merges.
///
/// # Errors
/// The first mistake, with its file.
pub fn read((file, known): (&Path, Option<&str>)) -> Result<Structure, SesError> {
    let structure = merged(file, known, &mut Vec::new())?;
    names(&structure.tree, &structure.tree.name)?;
    if let Some((name, message, help)) = wrong_var(&structure) {
        let message = format!("`{name}` {message}");
        return Err(SesError::new(file.display().to_string(), message, help));
    }
    Ok(structure)
}

/// A SESvar that cannot be set by its name: why, and the remedy.
fn wrong_var(structure: &Structure) -> Option<(&str, &'static str, &'static str)> {
    let parameters = structure.scenario.get("parameters").and_then(|p| p.as_object());
    structure.vars.keys().find_map(|name| {
        if !is_name(name) {
            let help = "write letters, digits and _, not beginning with a digit";
            return Some((name.as_str(), "is no name of a SESvar", help));
        }
        let taken = parameters.is_some_and(|p| p.contains_key(name));
        let help = "give one of them another name";
        taken.then_some((name, "is a SESvar and a parameter of the scenario", help))
    })
}

fn text_of(file: &Path) -> Result<String, SesError> {
    let mut text = String::new();
    let read =
        files::open(file, MAX_BYTES).and_then(|f| f.take(MAX_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(e) => {
            let message = match e.kind() {
                ErrorKind::NotFound => "there is no such file".to_owned(),
                ErrorKind::InvalidData => "this is no UTF-8 text".to_owned(),
                _ => format!("cannot be read: {e}"),
            };
            let help =
                "check the name; files under `merge` are relative to the file that names them";
            Err(SesError::new(file.display().to_string(), message, help))
        }
    }
}

/// `open` is the chain of files that led here.
fn merged(
    file: &Path,
    known: Option<&str>,
    open: &mut Vec<PathBuf>,
) -> Result<Structure, SesError> {
    let place = || file.display().to_string();
    let full = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if let Some(at) = open.iter().position(|other| *other == full) {
        let names: Vec<_> = open[at..]
            .iter()
            .chain([&full])
            .map(|f| f.file_name().unwrap_or_default().to_string_lossy())
            .collect();
        let message = format!("these structures merge each other: {}", names.join(" -> "));
        return Err(SesError::new(place(), message, "take one of them out of `merge`"));
    }
    if open.len() >= MAX_MERGES {
        let message = format!("more than {MAX_MERGES} files merge each other in a chain");
        return Err(SesError::new(place(), message, "merge them directly"));
    }
    let text = known.map_or_else(|| text_of(file), |text| Ok(text.to_owned()))?;
    let mut structure: Structure = serde_json::from_str(&text).map_err(|e| {
        let help = "a structure is JSON with the keys merge, vars, conditions, functions, tree and \
                    scenario; docs/ses.md has an example";
        SesError::new(place(), format!("this is no structure: {e}"), help)
    })?;
    open.push(full);
    let folder = file.parent().unwrap_or(Path::new(""));
    for name in std::mem::take(&mut structure.merge) {
        let part = merged(&folder.join(&name), None, open)?;
        join(&mut structure, part, &format!("{}: merging `{name}`", place()))?;
    }
    open.pop();
    Ok(structure)
}

/// Puts a structure in the place of the leaves with the name of its root.
fn join(into: &mut Structure, part: Structure, place: &str) -> Result<(), SesError> {
    let refuse = |message: String, help: &str| Err(SesError::new(place, message, help));
    for (name, var) in part.vars {
        match into.vars.get(&name) {
            Some(own) if *own != var => {
                let message = format!("the SESvar `{name}` is declared differently in both files");
                return refuse(message, "declare it once, or in the same way");
            }
            _ => into.vars.insert(name, var),
        };
    }
    for (name, function) in part.functions {
        match into.functions.get(&name) {
            Some(own) if *own != function => {
                let message = format!("the function `{name}` is defined in both files");
                return refuse(message, "rename one of the two");
            }
            _ => into.functions.insert(name, function),
        };
    }
    into.conditions.extend(part.conditions);
    if !part.scenario.is_empty() {
        let message = "a merged structure has a `scenario`".to_owned();
        return refuse(message, "move it to the file that is run");
    }
    let root = part.tree.name.clone();
    if replaced(&mut into.tree, &part.tree) == 0 {
        let message = format!("there is no leaf `{root}` without a basic model to be replaced");
        return refuse(message, "name a leaf like the root of the merged structure");
    }
    Ok(())
}

/// How many leaves were replaced. They keep their rules, and their attributes where the other has none of the name.
fn replaced(entity: &mut Entity, by: &Entity) -> usize {
    let leaf = entity.aspects.is_empty() && entity.specializations.is_empty();
    if leaf && entity.name == by.name && entity.mb.is_none() {
        let mut attributes = std::mem::take(&mut entity.attributes);
        attributes.extend(by.attributes.clone());
        *entity = Entity { rule: entity.rule.take(), attributes, ..by.clone() };
        return 1;
    }
    let parts = entity.aspects.iter_mut().flat_map(|a| &mut a.parts);
    let kinds = entity.specializations.iter_mut().flat_map(|s| &mut s.kinds);
    parts.chain(kinds).map(|below| replaced(below, by)).sum()
}

/// Letters, digits and `_`, not beginning with a digit.
fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Checks names below an entity: brothers have different ones.
fn names(entity: &Entity, path: &str) -> Result<(), SesError> {
    let name = &entity.name;
    // The entity of an experiment may have a hyphen; units are checked when the variant is built.
    if !is_name(&name.replace('-', "_")) || name == "self" {
        let message = format!("`{name}` is no name of an entity");
        let help = "write letters, digits, - and _, not beginning with a digit, and not `self`";
        return Err(SesError::new(path, message, help));
    }
    for aspect in &entity.aspects {
        different(aspect.parts.iter().map(|p| &p.name), &format!("{path}/{}", aspect.name))?;
        copies(aspect, path)?;
    }
    for specialization in &entity.specializations {
        let place = format!("{path}/{}", specialization.name);
        different(specialization.kinds.iter().map(|k| &k.name), &place)?;
        for kind in &specialization.kinds {
            kind_of(kind, &place)?;
            names(kind, &format!("{place}/{}", kind.name))?;
        }
    }
    different(entity.aspects.iter().map(|a| &a.name), path)?;
    different(entity.specializations.iter().map(|s| &s.name), path)?;
    for part in entity.aspects.iter().flat_map(|a| &a.parts) {
        let place = format!("{path}/{}", part.name);
        if part.rule.is_some() {
            let message = "a part has a `rule`";
            let help = "rules choose among kinds or aspects: put the part under a specialization with \
                        a kind NONE";
            return Err(SesError::new(place, message, help));
        }
        if part.name == NONE {
            let help = "NONE is a kind of a specialization";
            return Err(SesError::new(place, "a part is named NONE", help));
        }
        names(part, &place)?;
    }
    Ok(())
}

fn different<'a>(names: impl Iterator<Item = &'a String>, place: &str) -> Result<(), SesError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let message = format!("two of its nodes have the name `{name}`");
            return Err(SesError::new(place, message, "rename one of the two"));
        }
    }
    Ok(())
}

/// A multi-aspect copies one part.
fn copies(aspect: &Aspect, path: &str) -> Result<(), SesError> {
    let place = format!("{path}/{}", aspect.name);
    if aspect.copies.is_some() && aspect.parts.len() != 1 {
        let message = format!("a multi-aspect has {} parts", aspect.parts.len());
        return Err(SesError::new(place, message, "write the one part that is copied"));
    }
    if aspect.copies.is_none() && aspect.parts.is_empty() {
        return Err(SesError::new(place, "an aspect has no parts", "write one or more"));
    }
    Ok(())
}

fn kind_of(kind: &Entity, place: &str) -> Result<(), SesError> {
    if kind.rule.is_none() {
        let message = format!("the kind `{}` has no `rule`", kind.name);
        return Err(SesError::new(place, message, "write when it is chosen, such as \"v == 1\""));
    }
    let empty = kind.mb.is_none()
        && kind.attributes.is_empty()
        && kind.aspects.is_empty()
        && kind.specializations.is_empty();
    if kind.name == NONE && !empty {
        let help = "NONE means that the entity is not there: it has nothing but a `rule`";
        return Err(SesError::new(place, "the kind NONE has content", help));
    }
    Ok(())
}
