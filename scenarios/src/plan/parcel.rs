//! A scenario that is given away: the files that it is read from, and the parameters that others set.
use super::{digest, session::Session, tree::Tree};
use std::{collections::BTreeSet, path::PathBuf};

/// A number below `[parameters]` that may be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, with points where it stands in a table of its own.
    pub name: String,
    /// Its value, in its unit.
    pub value: f64,
    /// Its unit, where it is a quantity.
    pub unit: Option<String>,
}

/// All that is needed to load a scenario elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Parcel {
    /// Parameters in the order of their names. Those that are formulas follow from them, and are not there.
    pub parameters: Vec<Parameter>,
    /// The files that were read, as the scenario names them.
    pub files: BTreeSet<PathBuf>,
}

/// Parameters and files of a planned scenario.
pub(super) fn parcel(tree: &Tree, session: &Session) -> Parcel {
    let parameters = tree.groups[0].scope.settable();
    let mut files = session.sources.files();
    for unit in &tree.units {
        for (name, p) in &unit.params.values {
            let file = digest::file(unit.kind, name, &p.value);
            files.extend(file.map(|file| session.folder.join(file)));
        }
    }
    Parcel { parameters, files }
}
