//! A variant becomes its basic models: composed entities vanish, and couplings through their ports are merged.
use super::{
    SesError,
    model::{Coupling, Fpes, Model, Node, Pes},
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A port of an entity: number of the entity, name of the port.
type Port = (usize, String);

/// An entity of the tree.
struct Place<'a> {
    node: &'a Node,
    /// Names from below the root.
    path: Vec<&'a str>,
}

impl Place<'_> {
    fn is_model(&self) -> bool {
        self.node.mb.is_some()
    }
    fn told(&self) -> String {
        if self.path.is_empty() { self.node.name.clone() } else { self.path.join("/") }
    }
}

/// Leaves basic models and couplings.
///
/// # Errors
/// A coupling that leads nowhere, with its entity.
pub fn flatten(pes: &Pes) -> Result<Fpes, SesError> {
    let mut flat = Flat { places: Vec::new(), next: HashMap::new(), driven: BTreeSet::new() };
    flat.enter(&pes.tree, Vec::new())?;
    let names = flat.names();
    let model = |(at, place): (usize, &Place<'_>)| {
        let mb = place.node.mb.clone()?;
        let attributes = place.node.attributes.clone();
        Some(Model { name: names[&at].clone(), path: place.path.join("/"), mb, attributes })
    };
    let models: Vec<Model> = flat.places.iter().enumerate().filter_map(model).collect();
    let leaf = |p: &&Place<'_>| !p.is_model() && !p.node.attributes.is_empty();
    let settings =
        flat.places.iter().filter(leaf).map(|p| (p.told(), p.node.attributes.clone())).collect();
    Ok(Fpes { vars: pes.vars.clone(), couplings: flat.merged(&names)?, models, settings })
}

struct Flat<'a> {
    places: Vec<Place<'a>>,
    /// Where each port leads, in the order in which couplings are written.
    next: HashMap<Port, Vec<Port>>,
    /// Ports that something leads to.
    driven: BTreeSet<Port>,
}

impl<'a> Flat<'a> {
    /// Numbers an entity and all below it, and notes their couplings.
    fn enter(&mut self, node: &'a Node, path: Vec<&'a str>) -> Result<usize, SesError> {
        let own = self.places.len();
        self.places.push(Place { node, path: path.clone() });
        let Some(aspect) = &node.aspect else { return Ok(own) };
        let mut numbers: HashMap<&str, usize> = HashMap::from([("self", own)]);
        for part in &aspect.parts {
            let below = path.iter().copied().chain([part.name.as_str()]).collect();
            numbers.insert(&part.name, self.enter(part, below)?);
        }
        for coupling in &aspect.couplings {
            let port = |end: &str| {
                let (name, port) = end.split_once('.').unwrap_or((end, ""));
                (numbers[name], port.to_owned())
            };
            let (from, to) = (port(&coupling.from), port(&coupling.to));
            for end in [&from, &to] {
                let place = &self.places[end.0];
                if place.node.mb.is_none() && place.node.aspect.is_none() {
                    let text = format!("{} -> {}", coupling.from, coupling.to);
                    let message = format!("`{text}` is coupled, and it has no basic model");
                    let help = "write its `mb`, its parts, or take the coupling out";
                    return Err(SesError::new(place.told(), message, help));
                }
            }
            self.driven.insert(to.clone());
            self.next.entry(from).or_default().push(to);
        }
        Ok(own)
    }

    /// Names of basic models: their own, and where several have it, with those of what they are in.
    fn names(&self) -> HashMap<usize, String> {
        let models = || self.places.iter().enumerate().filter(|(_, p)| p.is_model());
        let mut levels: HashMap<usize, usize> = models().map(|(at, _)| (at, 1)).collect();
        loop {
            let name = |at: usize| {
                let path = &self.places[at].path;
                let from = path.len().saturating_sub(levels[&at]);
                let own = if path.is_empty() {
                    self.places[at].node.name.clone()
                } else {
                    path[from..].join("_")
                };
                own.replace('-', "_")
            };
            let mut bearers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (at, _) in models() {
                bearers.entry(name(at)).or_default().push(at);
            }
            let longer = |at: &usize| levels[at] < self.places[*at].path.len();
            let more: Vec<usize> = bearers
                .values()
                .filter(|all| all.len() > 1)
                .flatten()
                .copied()
                .filter(longer)
                .collect();
            if more.is_empty() {
                // Where `a_b` and `b` in `a` meet, numbers part them.
                let numbered = |(name, all): (String, Vec<usize>)| {
                    let one = all.len() == 1;
                    all.into_iter().enumerate().map(move |(k, at)| {
                        (at, if one { name.clone() } else { format!("{name}__{}", k + 1) })
                    })
                };
                return bearers.into_iter().flat_map(numbered).collect();
            }
            for at in more {
                levels.entry(at).and_modify(|n| *n += 1);
            }
        }
    }

    /// Couplings from basic models to basic models.
    fn merged(&self, names: &HashMap<usize, String>) -> Result<Vec<Coupling>, SesError> {
        let mut found = Vec::new();
        let mut sources: Vec<&Port> = self.next.keys().collect();
        sources.sort_unstable();
        for source in sources {
            let place = &self.places[source.0];
            if !place.is_model() {
                if !self.driven.contains(source) {
                    let message = format!("nothing leads to its port `{}`", source.1);
                    let help = "couple the port, or take the couplings from it out";
                    return Err(SesError::new(place.told(), message, help));
                }
                continue;
            }
            for to in self.ends(source)? {
                let end = |port: &Port| format!("{}.{}", names[&port.0], port.1);
                found.push(Coupling { from: end(source), to: end(&to) });
            }
        }
        Ok(found)
    }

    /// The ports of basic models that a port leads to.
    fn ends(&self, source: &Port) -> Result<Vec<Port>, SesError> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut todo: Vec<&Port> = self.next[source].iter().rev().collect();
        while let Some(port) = todo.pop() {
            let place = &self.places[port.0];
            if place.is_model() {
                found.push(port.clone());
                continue;
            }
            if !seen.insert(port) {
                let message = format!("its port `{}` is reached twice, or leads to itself", port.1);
                let help = "take one of the couplings through it out";
                return Err(SesError::new(place.told(), message, help));
            }
            match self.next.get(port) {
                Some(next) => todo.extend(next.iter().rev()),
                None => {
                    let message = format!("its port `{}` leads nowhere", port.1);
                    let help = "couple it with `self` inside, or take the coupling to it out";
                    return Err(SesError::new(place.told(), message, help));
                }
            }
        }
        Ok(found)
    }
}
