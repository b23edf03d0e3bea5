//! The equation units of a scenario as they stand in its text: what can be set and observed.
use super::{read, session::Session};
use crate::document::{Item, Table};
use std::path::Path;

/// An equation unit that is there once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equations {
    /// Its path in the run: `rest.second.mass`.
    pub path: String,
    /// Where it stands in the document: `template.second_mass.unit.mass`.
    pub place: String,
    /// Names of its states.
    pub states: Vec<String>,
    /// Names of its inputs.
    pub inputs: Vec<String>,
    /// Names of its modes.
    pub modes: Vec<String>,
    /// Some event of it resets something.
    pub resets: bool,
}

/// All equation units, and whether the scenario has a coupling around its units.
///
/// # Errors
/// When the file cannot be read, or a unit does not stand in the text as a single one (arrays,
/// templates with several instances), so that its values cannot be set one by one.
pub fn outline(file: &Path) -> Result<(Vec<Equations>, bool), String> {
    let mut session = Session::new(file);
    let root = read::read((file, None), &mut session.sources, &session.sink);
    let root = root.ok_or_else(|| format!("{} cannot be read", file.display()))?;
    let mut walk =
        Walk { templates: table(&root, "template"), used: Vec::new(), found: Vec::new() };
    walk.group(&root, "", "")?;
    Ok((walk.found, root.get("coupling").is_some()))
}

struct Walk<'a> {
    templates: Option<&'a Table>,
    used: Vec<&'a str>,
    found: Vec<Equations>,
}

impl<'a> Walk<'a> {
    fn group(&mut self, group: &'a Table, path: &str, place: &str) -> Result<(), String> {
        let units = table(group, "unit").map_or(&[][..], |t| &t.entries);
        for (name, node) in units {
            let Item::Table(unit) = &node.item else { continue };
            let path = format!("{path}{}", name.value);
            if unit.get("count").is_some() {
                return Err(format!(
                    "`{path}` is an array, whose members have no values of their own"
                ));
            }
            let place = format!("{place}unit.{}", name.value);
            if let Some(template) = text(unit, "template") {
                self.instance(template, &path)?;
            } else if text(unit, "kind") == Some("equations") {
                let (states, inputs) = (names(unit, "states")?, names(unit, "inputs")?);
                let modes = names(unit, "mode")?;
                let each = modes.iter().filter_map(|m| table(table(unit, "mode")?, m));
                let resets = std::iter::once(unit).chain(each).any(resets);
                self.found.push(Equations { path, place, states, inputs, modes, resets });
            }
        }
        Ok(())
    }

    fn instance(&mut self, template: &'a str, path: &str) -> Result<(), String> {
        if self.used.contains(&template) {
            return Err(format!("the template `{template}` has several instances"));
        }
        self.used.push(template);
        let body = self.templates.and_then(|t| table(t, template));
        let body = body.ok_or_else(|| format!("there is no template `{template}`"))?;
        self.group(body, &format!("{path}."), &format!("template.{template}."))
    }
}

fn table<'a>(of: &'a Table, key: &str) -> Option<&'a Table> {
    match &of.get(key)?.item {
        Item::Table(t) => Some(t),
        _ => None,
    }
}

fn text<'a>(of: &'a Table, key: &str) -> Option<&'a str> {
    match &of.get(key)?.item {
        Item::Text(t) => Some(t),
        _ => None,
    }
}

/// Whether an event of a unit or of a mode resets something.
fn resets(of: &Table) -> bool {
    let lists = ["event", "on"].into_iter().filter_map(|key| match &of.get(key)?.item {
        Item::List(list) => Some(list),
        _ => None,
    });
    lists.flatten().any(|n| matches!(&n.item, Item::Table(t) if t.get("reset").is_some()))
}

fn names(unit: &Table, key: &str) -> Result<Vec<String>, String> {
    let names = table(unit, key).map_or(Vec::new(), |t| t.keys().map(str::to_owned).collect());
    match names.iter().find(|n| n.contains('[')) {
        Some(array) => Err(format!("`{array}` is an array, whose elements have no names")),
        None => Ok(names),
    }
}
