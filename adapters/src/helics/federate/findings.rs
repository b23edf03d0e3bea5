//! Comparison of all that federates have registered with the file.
use super::super::library::Held;
use super::{Federation, FederationError, INSTANT, LAST, Taking};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// A publication or an input of some federate.
struct Interface {
    federate: String,
    ty: String,
    unit: String,
}

type Interfaces = BTreeMap<String, Interface>;

/// Everything that federates have registered.
#[derive(Default)]
struct Known {
    publications: Interfaces,
    inputs: Interfaces,
    endpoints: BTreeSet<String>,
}

impl Federation {
    /// All that does not fit, each with both ends and the remedy; in a check, inputs of others are looked at, too.
    ///
    /// # Errors
    /// When HELICS does not answer.
    pub(super) fn findings(&mut self, check: bool) -> Result<Vec<String>, FederationError> {
        let mut names = self.names("root", "federates")?;
        names.sort();
        let (mut known, mut last) = (Known::default(), BTreeSet::new());
        for federate in names {
            let details = parsed(&self.ask(&federate, "interface_details")?);
            known.enter(&federate, &details);
            let tags = parsed(&self.ask(&federate, "tags")?);
            if tags.get(INSTANT).and_then(Json::as_str) == Some(LAST) {
                last.insert(federate);
            }
        }
        // Who goes on without us may have left already; his publications are known at our inputs.
        let count = self.taking.inputs.len();
        let sent = move |held: &mut Held| (0..count).map(|k| held.sent(k)).collect::<Vec<_>>();
        let sent = self.prompt("reading types", sent)?;
        for (input, (ty, unit)) in self
            .taking
            .inputs
            .iter()
            .zip(sent)
            .filter(|(_, s)| !["", "any"].contains(&s.0.as_str()))
        {
            let federate = input.from.split('/').next().unwrap_or_default().to_owned();
            let entry = known.publications.entry(input.from.clone());
            entry.or_insert(Interface { federate, ty, unit });
        }
        known.endpoints.extend(self.names("root", "endpoints")?);
        let mut found = known.clashes(&self.taking);
        let flow = parsed(&self.ask("root", "data_flow_graph")?);
        found.extend(known.clashes_of_others(&flow, &self.taking, check));
        if self.taking.last {
            found.extend(ring(&flow, &last, &self.taking.name));
        }
        Ok(found)
    }
}

/// JSON, or nothing.
fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_default()
}

/// Nodes of an answer that are federates: name, number, and all that is told of them.
fn federates(node: &Json) -> Vec<(String, u64, &Json)> {
    let mut all = Vec::new();
    for key in ["brokers", "cores"] {
        for inner in node.get(key).and_then(Json::as_array).into_iter().flatten() {
            all.extend(federates(inner));
        }
    }
    for inner in node.get("federates").and_then(Json::as_array).into_iter().flatten() {
        let own = |key: &str| inner.get("attributes").unwrap_or(inner).get(key);
        let name = own("name").and_then(Json::as_str).unwrap_or_default().to_owned();
        all.push((name, own("id").and_then(Json::as_u64).unwrap_or_default(), inner));
    }
    all
}

fn list<'a>(node: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    node.get(key).and_then(Json::as_array).into_iter().flatten()
}

fn text(node: &Json, key: &str) -> String {
    node.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// Whether types or units that are told fit; those that are not told do.
fn fits(a: &str, b: &str) -> bool {
    let any = |x: &str| ["", "any", "def", "unknown"].contains(&x);
    any(a) || any(b) || a == b
}

impl Known {
    fn enter(&mut self, federate: &str, details: &Json) {
        let interface = |node: &Json| {
            let (ty, unit) = (text(node, "type"), text(node, "units"));
            (text(node, "name"), Interface { federate: federate.to_owned(), ty, unit })
        };
        self.publications.extend(list(details, "publications").map(interface));
        self.inputs.extend(list(details, "inputs").map(interface));
        self.endpoints.extend(list(details, "endpoints").map(|node| text(node, "name")));
    }

    /// Inputs and endpoints of the file for which nobody has the other end, or another one.
    fn clashes(&self, taking: &Taking) -> Vec<String> {
        let mut found = Vec::new();
        for input in &taking.inputs {
            let (from, own) = (&input.from, input.ty.name());
            let Some(other) = self.publications.get(from) else {
                let names = self.publications.keys().map(String::as_str);
                let known = known(names, "publications", taking);
                found.push(format!("nobody publishes `{from}`; {known}"));
                continue;
            };
            let Interface { federate, ty, unit } = other;
            if !fits(ty, own) {
                found.push(format!(
                    "`{from}` of `{federate}` is published as \"{ty}\", but the input of `{}` takes \"{own}\": write \
                     type = \"{ty}\", or let `{federate}` publish it as \"{own}\"",
                    taking.name
                ));
            }
            if !fits(unit, &input.unit) {
                let own = &input.unit;
                found.push(format!(
                    "`{from}` of `{federate}` is published in {unit}, but the input of `{}` is in {own}: write unit = \
                     \"{unit}\" and convert it in the scenario, or let `{federate}` publish it in {own}",
                    taking.name
                ));
            }
        }
        for e in taking.endpoints.iter().filter(|e| !self.endpoints.contains(&e.peer)) {
            let known = known(self.endpoints.iter().map(String::as_str), "endpoints", taking);
            let (name, peer) = (&e.name, &e.peer);
            found.push(format!("`{name}` wants the endpoint `{peer}`, which nobody has; {known}"));
        }
        found
    }

    /// Inputs of others that hear outputs of the file otherwise than they are. HELICS converts types.
    fn clashes_of_others(&self, flow: &Json, taking: &Taking, check: bool) -> Vec<String> {
        let all = federates(flow);
        let key = |federate: u64, handle: u64| {
            let (_, _, node) = all.iter().find(|f| f.1 == federate)?;
            let is_it = |n: &&Json| n.get("handle").and_then(Json::as_u64) == Some(handle);
            list(node, "inputs").find(is_it).map(|n| text(n, "key"))
        };
        let mut found = Vec::new();
        for (_, _, own) in all.iter().filter(|f| f.0 == taking.name) {
            for publication in list(own, "publications") {
                let name = text(publication, "key");
                let Some(output) = taking.outputs.iter().find(|o| o.key == name) else { continue };
                for target in list(publication, "targets") {
                    let number = |k: &str| target.get(k).and_then(Json::as_u64).unwrap_or_default();
                    let input = key(number("federate"), number("handle"));
                    let Some(input) = input.and_then(|key| self.inputs.get_key_value(&key)) else {
                        continue;
                    };
                    let (key, Interface { federate, ty, unit }) = input;
                    let (own, measure) = (output.ty.name(), &output.unit);
                    if check && !fits(ty, own) {
                        found.push(format!(
                            "`{name}` is published as \"{own}\", but `{key}` of `{federate}` takes \"{ty}\": write type \
                             = \"{ty}\", or let `{federate}` take \"{own}\""
                        ));
                    }
                    if !fits(unit, measure) {
                        found.push(format!(
                            "`{name}` is published in {measure}, but `{key}` of `{federate}` is in {unit}: let one of \
                             both convert it"
                        ));
                    }
                }
            }
        }
        found
    }
}

/// The names that there are, but those of this federate.
fn known<'a>(names: impl Iterator<Item = &'a str>, what: &str, taking: &Taking) -> String {
    let own = |name: &str| {
        taking.outputs.iter().any(|o| o.key == name)
            || taking.endpoints.iter().any(|e| e.name == name)
    };
    let known: Vec<&str> = names.filter(|name| !own(name)).take(12).collect();
    match known.is_empty() {
        true => format!("there are no {what} of others"),
        false => format!("{what} of others: {}", known.join(", ")),
    }
}

/// A ring of federates each of which waits for the others to have passed a time.
fn ring(flow: &Json, last: &BTreeSet<String>, own: &str) -> Option<String> {
    let all = federates(flow);
    let name = |number: u64| all.iter().find(|f| f.1 == number).map(|f| f.0.as_str());
    let heard = |of: &str| -> Vec<&str> {
        let node = all.iter().find(|f| f.0 == of);
        let inputs = node.into_iter().flat_map(|f| list(f.2, "inputs"));
        let sources = inputs.flat_map(|input| list(input, "sources"));
        let names = sources.filter_map(|s| name(s.get("federate")?.as_u64()?));
        names.filter(|n| last.contains(*n)).collect()
    };
    let mut ways: Vec<Vec<&str>> = vec![vec![own]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in heard(way[way.len() - 1]) {
            if next == own {
                let names: Vec<String> = way.iter().map(|n| format!("`{n}`")).collect();
                let help = "let one of them have instant = \"next\"";
                let ring = names.join(" hears ");
                return Some(format!(
                    "each of these waits for the other to have passed a time: {ring} hears `{own}`; {help}"
                ));
            }
            if seen.insert(next) {
                ways.push([&way[..], &[next]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_go_through_those_that_wait_only() {
        let node = |id: u64, name: &str, heard: &[u64]| {
            let source = |n: &u64| serde_json::json!({ "federate": n, "handle": 0 });
            let sources: Vec<Json> = heard.iter().map(source).collect();
            let inputs = serde_json::json!([{ "key": "in", "sources": sources }]);
            serde_json::json!({ "attributes": { "id": id, "name": name }, "inputs": inputs })
        };
        let all = [node(1, "a", &[2]), node(2, "b", &[3]), node(3, "c", &[1])];
        let graph = serde_json::json!({ "cores": [{ "federates": all }] });
        let last = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let found = ring(&graph, &last(&["a", "b", "c"]), "a").unwrap();
        assert!(found.contains("`a` hears `b` hears `c` hears `a`"), "{found}");
        assert_eq!(ring(&graph, &last(&["a", "c"]), "a"), None);
    }
}
