//! What the federation has, compared with what the file says.
use super::{Federation, FederationError, Input};
use serde_json::Value as Json;

impl Federation {
    /// All that does not fit, each with both ends and the remedy.
    ///
    /// # Errors
    /// When HELICS does not answer.
    pub fn findings(&mut self) -> Result<Vec<String>, FederationError> {
        let count = self.taking.inputs.len();
        let sent = self.prompt("reading types", move |held| {
            (0..count).map(|k| (held.sent_type(k), held.sent_unit(k))).collect::<Vec<_>>()
        })?;
        let publications = self.list("publications")?;
        let endpoints = self.list("endpoints")?;
        let mut found = Vec::new();
        for (input, (ty, unit)) in self.taking.inputs.iter().zip(&sent) {
            found.extend(clash(input, ty, unit, &publications));
        }
        for e in self.taking.endpoints.iter().filter(|e| !endpoints.contains(&e.peer)) {
            let (name, peer) = (&e.name, &e.peer);
            let known = list_of(&endpoints, "endpoints", &self.taking.name);
            found.push(format!("`{name}` wants the endpoint `{peer}`, which nobody has; {known}"));
        }
        Ok(found)
    }

    /// Names of interfaces of the federation.
    fn list(&mut self, of: &str) -> Result<Vec<String>, FederationError> {
        let answer = self.ask("root", of)?;
        let json: Json = serde_json::from_str(&answer).unwrap_or_default();
        let list = json.as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> =
            list.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }
}

fn clash(input: &Input, ty: &str, unit: &str, publications: &[String]) -> Option<String> {
    let from = &input.from;
    if !publications.contains(from) {
        let known = list_of(publications, "publications", "");
        return Some(format!("nobody publishes `{from}`; {known}"));
    }
    let (own, any) = (input.ty.name(), ["", "any", "def", "unknown"]);
    if !any.contains(&ty) && ty != own {
        return Some(format!(
            "`{from}` is published as \"{ty}\", but the input takes \"{own}\": write type = \"{ty}\", or let \
             the other federate publish it as \"{own}\""
        ));
    }
    if !unit.is_empty() && !input.unit.is_empty() && unit != input.unit {
        let own = &input.unit;
        return Some(format!(
            "`{from}` is published in {unit}, but the input is in {own}: write unit = \"{unit}\" and convert it \
             in the scenario, or let the other federate publish it in {own}"
        ));
    }
    None
}

/// The names that there are, but those of one federate.
fn list_of(names: &[String], what: &str, without: &str) -> String {
    let own = format!("{without}/");
    let others = names.iter().filter(|n| without.is_empty() || !n.starts_with(&own));
    let known: Vec<&str> = others.take(12).map(String::as_str).collect();
    match known.is_empty() {
        true => format!("there are no {what} of others"),
        false => format!("{what}: {}", known.join(", ")),
    }
}
