//! Comparison of all that federates have registered with the file.
use super::super::library::Held;
use super::{ASKED_AGAIN, Federation, FederationError, INSTANT, Input, LAST, REGISTERED, Taking};
use crate::federation::data::Type;
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};
use superdense_models::maths::quantity;

/// Units that HELICS 3.6.1 reads otherwise than scenarios do, or not at all: bits are barns, `mvar` is a megavar.
const READ_OTHERWISE: [&str; 6] = ["b", "Gb", "mvar", "pu", "Gs", "GF"];

/// A publication or an input of some federate.
#[derive(Clone)]
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
    /// Inputs of each federate by their names, in the order of its data-flow graph.
    inputs: BTreeMap<String, Vec<(String, Interface)>>,
    endpoints: BTreeSet<String>,
    /// Federates that are there and have failed.
    failed: Vec<String>,
}

impl Federation {
    /// All that does not fit, each with both ends and the remedy; in a check, inputs of others are looked at, too.
    ///
    /// # Errors
    /// When HELICS does not answer.
    pub(super) fn findings(&mut self, check: bool) -> Result<Vec<String>, FederationError> {
        let (known, last) = self.known()?;
        let mut found = known.clashes(&self.taking);
        let flow = parsed(&self.ask("root", "data_flow_graph")?);
        found.extend(known.clashes_of_others(&flow, &self.taking, check));
        if check {
            let loose = parsed(&self.ask("root", "unconnected_interfaces")?);
            found.extend(known.unheard(&loose, &flow, &self.taking));
        }
        if self.taking.last {
            found.extend(ring(&flow, &last, &self.taking.name));
        }
        Ok(found)
    }

    /// Types and units that clash with what is registered before all begin: HELICS then refuses the first of them, and
    /// whoever it refused answers no more.
    ///
    /// # Errors
    /// When HELICS does not answer.
    pub(super) fn clashes_before(&mut self, check: bool) -> Result<Vec<String>, FederationError> {
        let (known, _) = self.known()?;
        let flow = parsed(&self.ask("root", "data_flow_graph")?);
        let mut found: Vec<String> =
            self.taking.inputs.iter().flat_map(|i| known.clash(i, &self.taking)).collect();
        found.extend(known.clashes_of_others(&flow, &self.taking, check));
        if check {
            let loose = parsed(&self.ask("root", "unconnected_interfaces")?);
            found.extend(known.unheard(&loose, &flow, &self.taking));
        }
        Ok(found)
    }

    /// Waits a little for others that are there to have registered all that they have.
    ///
    /// # Errors
    /// When HELICS does not answer, or somebody has ended.
    pub(super) fn settle(&mut self, deadline: Instant) -> Result<(), FederationError> {
        let deadline = deadline.min(Instant::now() + REGISTERED);
        loop {
            let state = parsed(&self.ask("root", "current_state")?);
            let open = cores(&state).into_iter().filter(|core| text(core, "state") == "connected");
            // Our own core is one of these.
            if open.count() <= 1 || Instant::now() >= deadline {
                return Ok(());
            }
            self.watch.look()?;
            std::thread::sleep(ASKED_AGAIN);
        }
    }

    /// Everything that federates have registered, and who of them hears all of an instant at it.
    fn known(&mut self) -> Result<(Known, BTreeSet<String>), FederationError> {
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
        Ok((known, last))
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

/// The cores of an answer, below brokers, too.
fn cores(node: &Json) -> Vec<&Json> {
    let below = list(node, "brokers").flat_map(cores);
    list(node, "cores").chain(below).collect()
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

/// Why HELICS will not make a value of one unit one of another, if it will not.
fn not_converted(from: &str, to: &str) -> Option<&'static str> {
    if fits(from, to) {
        return None;
    }
    let otherwise = |unit: &&str| READ_OTHERWISE.contains(unit);
    if [from, to].iter().any(otherwise) {
        return Some("which HELICS does not convert as this program does");
    }
    match (quantity::unit(from), quantity::unit(to)) {
        (Ok(a), Ok(b)) if a.dimension() != b.dimension() || a.has_angles() != b.has_angles() => {
            Some("which HELICS refuses")
        }
        (Ok(_), Ok(_)) => None,
        _ => Some("which HELICS may refuse"),
    }
}

/// The name of an input in a message.
fn named(key: &str, federate: &str) -> String {
    match key.is_empty() || key.starts_with("_input_") {
        true => format!("an input without a name of `{federate}`"),
        false => format!("`{key}` of `{federate}`"),
    }
}

impl Known {
    fn enter(&mut self, federate: &str, details: &Json) {
        // Who has done all already, and left, answers in error, too.
        let error = details.get("error").map(|e| text(e, "message")).unwrap_or_default();
        if error.contains("error state") {
            self.failed.push(federate.to_owned());
        }
        let interface = |node: &Json| {
            let (ty, unit) = (text(node, "type"), text(node, "units"));
            (text(node, "name"), Interface { federate: federate.to_owned(), ty, unit })
        };
        self.publications.extend(list(details, "publications").map(interface));
        self.inputs.insert(federate.to_owned(), list(details, "inputs").map(interface).collect());
        self.endpoints.extend(list(details, "endpoints").map(|node| text(node, "name")));
    }

    /// Inputs and endpoints of the file for which nobody has the other end, or another one.
    fn clashes(&self, taking: &Taking) -> Vec<String> {
        let mut found = Vec::new();
        for federate in &self.failed {
            found.push(format!(
                "`{federate}` has failed at the start, and takes no part: look at what it printed"
            ));
        }
        for input in &taking.inputs {
            if self.publications.contains_key(&input.from) {
                found.extend(self.clash(input, taking));
            } else if self.failed.is_empty() {
                let names = self.publications.keys().map(String::as_str);
                let known = known(names, "publications", taking);
                found.push(format!("nobody publishes `{}`; {known}", input.from));
            }
        }
        let peers = taking.endpoints.iter().flat_map(|e| e.peers.iter().map(move |p| (e, p)));
        for (e, peer) in peers.filter(|(_, peer)| !self.endpoints.contains(*peer)) {
            let known = known(self.endpoints.iter().map(String::as_str), "endpoints", taking);
            let name = &e.name;
            found.push(format!("`{name}` wants the endpoint `{peer}`, which nobody has; {known}"));
        }
        found
    }

    /// Type and unit of a publication that an input takes otherwise.
    fn clash(&self, input: &Input, taking: &Taking) -> Vec<String> {
        let mut found = Vec::new();
        let (from, own) = (&input.from, input.ty.name());
        let Some(Interface { federate, ty, unit }) = self.publications.get(from) else {
            return found;
        };
        if !fits(ty, own) {
            let write = Type::named(ty).map_or(ty.as_str(), |t| t.written());
            found.push(format!(
                "`{from}` of `{federate}` is published as \"{ty}\", but the input of `{}` takes \"{own}\": write \
                 type = \"{write}\", or let `{federate}` publish it as \"{own}\"",
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
        found
    }

    /// Inputs of others that hear outputs of the file otherwise than they are. HELICS converts types, and units where it
    /// can.
    fn clashes_of_others(&self, flow: &Json, taking: &Taking, check: bool) -> Vec<String> {
        let all = federates(flow);
        let mut found = Vec::new();
        let Some((_, number, own)) = all.iter().find(|f| f.0 == taking.name) else { return found };
        // Before all begin, only inputs know the other end.
        let output = |source: &Json| {
            let of = |key: &str| source.get(key).and_then(Json::as_u64);
            let is_it = |p: &&Json| p.get("handle").and_then(Json::as_u64) == of("handle");
            let own = (of("federate") == Some(*number)).then(|| list(own, "publications"));
            let key = text(own?.find(is_it)?, "key");
            taking.outputs.iter().find(|o| o.key == key)
        };
        for (federate, _, node) in all.iter().filter(|f| f.0 != taking.name) {
            let known = self.inputs.get(federate).map(Vec::as_slice).unwrap_or_default();
            for (input, (key, Interface { ty, unit, .. })) in pairs(node, known) {
                for output in list(input, "sources").filter_map(output) {
                    let (name, own, measure) = (&output.key, output.ty.name(), &output.unit);
                    let input = named(key, federate);
                    if check && !fits(ty, own) {
                        let write = Type::named(ty).map_or(ty.as_str(), |t| t.written());
                        found.push(format!(
                            "`{name}` is published as \"{own}\", but {input} takes \"{ty}\": write type \
                             = \"{write}\", or let `{federate}` take \"{own}\""
                        ));
                    }
                    if let Some(why) = not_converted(measure, unit) {
                        found.push(format!(
                            "`{name}` is published in {measure}, but {input} is in {unit}, {why}: write unit = \
                             \"{unit}\" and convert it in the scenario, or let `{federate}` take {measure}"
                        ));
                    }
                }
            }
        }
        found
    }

    /// Publications that others want to hear, and nobody has.
    fn unheard(&self, loose: &Json, flow: &Json, taking: &Taking) -> Vec<String> {
        let own = |key: &&str| !taking.inputs.iter().any(|i| i.from == **key);
        let wanted = list(loose, "unknown_publications").filter_map(Json::as_str).filter(own);
        let mut who: Vec<String> = Vec::new();
        for (name, _, node) in federates(flow).into_iter().filter(|f| f.0 != taking.name) {
            let empty = |n: &&Json| list(n, "sources").next().is_none();
            who.extend(list(node, "inputs").filter(empty).map(|n| named(&text(n, "key"), &name)));
        }
        who.dedup();
        let who = if who.is_empty() { "somebody".to_owned() } else { who.join(" or ") };
        let names = self.publications.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut all: Vec<String> = wanted
            .map(|key| {
                format!(
                    "nobody publishes `{key}`, which {who} wants to hear; there are {names}: correct `as` of an output, \
                     or the key there"
                )
            })
            .collect();
        all.sort_unstable();
        all
    }
}

/// Inputs of a federate in the graph, with what is known of them: by their names, and those without one, of which there
/// are many, by their order.
fn pairs<'a>(
    node: &'a Json,
    known: &'a [(String, Interface)],
) -> Vec<(&'a Json, &'a (String, Interface))> {
    let named = |input: &Json| {
        let key = text(input, "key");
        known.iter().find(|(name, _)| !name.is_empty() && *name == key)
    };
    let all: Vec<&Json> = list(node, "inputs").collect();
    let mut found: Vec<_> = all.iter().filter_map(|input| Some((*input, named(input)?))).collect();
    let names: BTreeSet<&str> = found.iter().map(|(_, (name, _))| name.as_str()).collect();
    let loose: Vec<&Json> = all.into_iter().filter(|input| named(input).is_none()).collect();
    let rest: Vec<_> = known.iter().filter(|k| !names.contains(k.0.as_str())).collect();
    if loose.len() == rest.len() {
        found.extend(loose.into_iter().zip(rest));
    }
    found
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
    fn units_are_converted_where_both_read_them_alike() {
        for (from, to) in [("kW", "W"), ("degC", "K"), ("rpm", "rad/s"), ("", "V"), ("x", "x")] {
            assert_eq!(not_converted(from, to), None, "{from} {to}");
        }
        for (from, to) in [("V", "W"), ("mvar", "var"), ("b", "bit"), ("rad", "1"), ("x", "V")] {
            assert!(not_converted(from, to).is_some(), "{from} {to}");
        }
    }

    /// Two answers of HELICS may have inputs in different orders.
    #[test]
    fn inputs_of_others_are_known_by_their_names() {
        let node = serde_json::json!({ "inputs": [{ "key": "b" }, { "key": "" }, { "key": "a" }] });
        let one = |key: &str, ty: &str| {
            let (federate, unit) = ("peer".to_owned(), String::new());
            (key.to_owned(), Interface { federate, ty: ty.to_owned(), unit })
        };
        let known = [one("a", "double"), one("b", "int64"), one("", "bool")];
        let types = |known: &[(String, Interface)]| {
            let pairs = pairs(&node, known);
            let mut all: Vec<_> =
                pairs.iter().map(|(input, k)| (text(input, "key"), k.1.ty.clone())).collect();
            all.sort();
            all
        };
        let right = [("", "bool"), ("a", "double"), ("b", "int64")];
        assert_eq!(types(&known), right.map(|(key, ty)| (key.to_owned(), ty.to_owned())));
        // Where one without a name is not told of, the others are known all the same.
        assert_eq!(types(&known[..2]).len(), 2);
    }

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
