//! Connectors of a unit: by them, parts of a circuit or a drive train are put together as drawn.
//!
//! # Why
//! The names are those of Modelica (Elmqvist, Mattsson & Otter 1998): a *potential* is equal for all that are joined, a *flow*
//! sums to zero. *Effort* would mislead, as the effort of mechanics, the force, is what sums to zero here. A
//! *displacement* is what a potential is the rate of: positions have to stay joined, not only speeds.
use super::read::Reader;
use crate::kinds::{Located, Param, ParamError};

/// Domains that have a name, with displacement, potential and flow.
const DOMAINS: [(&str, Option<&str>, &str, &str); 5] = [
    ("electrical", None, "v", "i"),
    ("translation", Some("x"), "v", "f"),
    ("rotation", Some("phi"), "w", "tau"),
    ("thermal", None, "T", "q"),
    ("hydraulic", None, "p", "q"),
];

/// A connector with the names of its variables: `flange.x`, `flange.v`, `flange.f`.
pub(super) struct Connector {
    pub name: Located<String>,
    pub displacement: Option<String>,
    pub potential: String,
    pub flow: String,
}

impl Connector {
    /// The domain and its variables in words, which are equal for all that may be joined.
    pub(super) fn domain(&self) -> String {
        let is_this = |(_, displacement, potential, flow): &&(&str, Option<&str>, &str, &str)| {
            *displacement == self.displacement.as_deref()
                && *potential == self.potential
                && *flow == self.flow
        };
        let displacement = self
            .displacement
            .as_ref()
            .map_or(String::new(), |name| format!("displacement {name}, "));
        let variables = format!("{displacement}potential {}, flow {}", self.potential, self.flow);
        match DOMAINS.iter().find(is_this) {
            Some((name, ..)) => format!("{name}: {variables}"),
            None => variables,
        }
    }

    /// Its variables, each with the word that says what it is.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let all = [self.displacement.as_deref(), Some(&*self.potential), Some(&*self.flow)];
        all.into_iter().flatten()
    }
}

const FORM: &str = "write the name of a domain, connectors = { p = \"electrical\" }, or the names of its variables: \
                    connectors = { p = { potential = \"v\", flow = \"i\" } }";

/// The connectors that a unit declares, in the order of the text.
pub(super) fn connectors(r: &mut Reader<'_>) -> Vec<Connector> {
    let mut all = Vec::new();
    for (name, p) in r.table("connectors") {
        let named = |domain: &&(&str, Option<&str>, &str, &str)| matches!(&p.value, Param::Text(text) if text == domain.0);
        if let Some((_, displacement, potential, flow)) = DOMAINS.iter().find(named) {
            let displacement = displacement.map(str::to_owned);
            let (potential, flow) = ((*potential).to_owned(), (*flow).to_owned());
            all.push(Connector { name: name.clone(), displacement, potential, flow });
            continue;
        }
        match own(r, name, p) {
            Ok(connector) => all.push(connector),
            Err(error) => {
                let names: Vec<&str> = DOMAINS.iter().map(|domain| domain.0).collect();
                let help = format!("{FORM}; domains are {}", names.join(", "));
                r.errors.push(error.help(help));
            }
        }
    }
    all
}

/// A connector with variables of the author's choice.
fn own(
    r: &mut Reader<'_>,
    name: &Located<String>,
    p: &Located<Param>,
) -> Result<Connector, ParamError> {
    let Param::Table(entries) = &p.value else {
        let error = match &p.value {
            Param::Text(text) => format!("there is no domain `{text}`"),
            _ => "a connector is a domain or a table".to_owned(),
        };
        return Err(ParamError::at(p.span.clone(), error));
    };
    let entries: Vec<_> = entries.iter().map(|(k, v)| (k, v)).collect();
    super::read::check_keys(r, &entries, &["displacement", "potential", "flow"]);
    let mut names = Vec::new();
    for key in ["displacement", "potential", "flow"] {
        let text = match entries.iter().find(|(k, _)| k.value == key).map(|(_, v)| *v) {
            None if key == "displacement" => None,
            Some(Located { value: Param::Text(text), .. }) if is_word(text) => Some(text.clone()),
            Some(other) => {
                let error = format!("`{key}` of a connector is the name of its variable");
                return Err(ParamError::at(other.span.clone(), error));
            }
            None => {
                return Err(ParamError::at(
                    p.span.clone(),
                    format!("this connector has no `{key}`"),
                ));
            }
        };
        if text.is_some() && names.contains(&text) {
            return Err(ParamError::at(
                p.span.clone(),
                "two variables of a connector have the same name",
            ));
        }
        names.push(text);
    }
    let mut names = names.into_iter();
    let displacement = names.next().flatten();
    let (potential, flow) = (names.next().flatten(), names.next().flatten());
    let (potential, flow) = (potential.unwrap_or_default(), flow.unwrap_or_default());
    Ok(Connector { name: name.clone(), displacement, potential, flow })
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
