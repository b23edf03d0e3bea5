//! The oracle: a deliberately naive sequential simulator that follows rules R1 to R10 word by
//! word. It walks the hierarchy for every message, copies everything and shares no code with the
//! kernel.
use crate::{
    NEVER,
    record::Record,
    tree::{End, Node, Part, Step, Tree},
};
use std::collections::{BTreeMap, BTreeSet};

type Name = (String, Option<u32>);
type Path = Vec<Name>;
type Tag = (i64, u32);

/// Compares as the canonical order wants: stem, then index as a number.
fn name(text: &str) -> Name {
    match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((stem, index)) => (stem.to_owned(), index.parse().ok()),
        None => (text.to_owned(), None),
    }
}

#[derive(Debug, Clone)]
struct Leaf {
    path: Path,
    text: String,
    /// Child indices of the parent, and its own.
    parent: Vec<usize>,
    child: usize,
    part: Part,
    last: i64,
    due: Option<Tag>,
}

/// A message on its way, with everything that the canonical order (R5) asks for, in that order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    port: u16,
    source: usize,
    source_port: u16,
    emission: usize,
    route: Vec<(Path, bool, u16)>,
    z: Option<String>,
    value: i64,
}

/// A route of an output port.
#[derive(Debug, Clone)]
pub struct Route {
    leaf: usize,
    port: u16,
    path: Vec<(Path, bool, u16)>,
    z: Option<String>,
    steps: Vec<Step>,
}

/// The simulator.
#[derive(Debug, Clone)]
pub struct Reference {
    tree: Tree,
    leaves: Vec<Leaf>,
    agenda: BTreeMap<Tag, BTreeSet<usize>>,
    pending: BTreeMap<i64, Vec<(usize, u16, i64)>>,
    now: Option<Tag>,
    limit: u32,
    /// The records of the run.
    pub records: Vec<Record>,
    /// Cycles.
    pub cycles: Vec<Tag>,
}

impl Reference {
    /// Starts `tree` at tick `start`, with at most micro-step `limit` at one tick.
    pub fn new(tree: &Tree, start: i64, limit: u32) -> Self {
        let mut leaves = Vec::new();
        collect(tree, &mut Vec::new(), &mut Vec::new(), "", &mut leaves);
        leaves.sort_by(|a: &Leaf, b| a.path.cmp(&b.path));
        let mut agenda: BTreeMap<Tag, BTreeSet<usize>> = BTreeMap::new();
        for (i, leaf) in leaves.iter_mut().enumerate() {
            // `last` holds the initial elapsed time until here.
            let elapsed = leaf.last;
            leaf.last = start - elapsed;
            let ta = leaf.part.advance();
            if ta != NEVER {
                let due = (start - elapsed + ta, 0);
                leaf.due = Some(due);
                agenda.entry(due).or_default().insert(i);
            }
        }
        Self {
            tree: tree.clone(),
            leaves,
            agenda,
            pending: BTreeMap::new(),
            now: None,
            limit,
            records: Vec::new(),
            cycles: Vec::new(),
        }
    }

    /// Paths of the atomic models with their numbers of ports, in path order.
    pub fn leaves(&self) -> Vec<(String, (u16, u16))> {
        self.leaves.iter().map(|l| (l.text.clone(), l.part.ports())).collect()
    }

    /// An input from outside.
    pub fn inject(&mut self, at: i64, leaf: usize, port: u16, value: i64) {
        self.pending.entry(at).or_default().push((leaf, port, value));
    }

    /// All cycles with tick at most `end`; the tag at which the guard R11(a) strikes.
    ///
    /// # Errors
    /// The tag of the cycle that must not run.
    pub fn run_through(&mut self, end: i64) -> Result<(), Tag> {
        while let Some(tag) = self.next_tag() {
            if tag.0 > end {
                break;
            }
            if tag.1 > self.limit {
                return Err(tag);
            }
            self.cycle(tag);
        }
        Ok(())
    }

    fn next_tag(&self) -> Option<Tag> {
        let own = self.agenda.keys().next().copied();
        let Some(&at) = self.pending.keys().next() else { return own };
        let outside = match self.now {
            Some((t, n)) if t == at => (t, n + 1),
            _ => (at, 0),
        };
        Some(own.map_or(outside, |own| if own.0 <= at { own } else { outside }))
    }

    fn cycle(&mut self, tag: Tag) {
        let imminent = self.agenda.remove(&tag).unwrap_or_default();
        let mut bags: BTreeMap<usize, Vec<Item>> = BTreeMap::new();
        let mut sent: BTreeMap<usize, Vec<(u16, i64)>> = BTreeMap::new();
        for &source in &imminent {
            let outputs = self.leaves[source].part.output();
            for (emission, &(source_port, value)) in outputs.iter().enumerate() {
                for r in self.routes(source, source_port) {
                    let arrived = r.steps.iter().try_fold(value, |v, s| s.apply(v));
                    let Some(value) = arrived else { continue };
                    let (port, route, z) = (r.port, r.path, r.z);
                    let item = Item { port, source, source_port, emission, route, z, value };
                    bags.entry(r.leaf).or_default().push(item);
                }
            }
            sent.insert(source, outputs);
        }
        let injected = self.pending.remove(&tag.0).unwrap_or_default();
        for (emission, (leaf, port, value)) in injected.into_iter().enumerate() {
            let (source, source_port, route, z) = (usize::MAX, 0, Vec::new(), None);
            let item = Item { port, source, source_port, emission, route, z, value };
            bags.entry(leaf).or_default().push(item);
        }
        let mut all: BTreeSet<usize> = imminent.clone();
        all.extend(bags.keys());
        for i in all {
            let mut bag = bags.remove(&i).unwrap_or_default();
            bag.sort();
            let inputs: Vec<(u16, i64)> = bag.iter().map(|m| (m.port, m.value)).collect();
            let outputs = sent.remove(&i).unwrap_or_default();
            self.transition(i, tag, imminent.contains(&i), inputs, outputs);
        }
        self.now = Some(tag);
        self.cycles.push(tag);
    }

    fn transition(
        &mut self,
        i: usize,
        tag: Tag,
        imminent: bool,
        inputs: Vec<(u16, i64)>,
        outputs: Vec<(u16, i64)>,
    ) {
        let leaf = &mut self.leaves[i];
        let kind = if imminent && inputs.is_empty() {
            leaf.part.internal();
            "INT"
        } else if imminent {
            leaf.part.confluent(&inputs);
            "CONF"
        } else {
            leaf.part.external(tag.0 - leaf.last, &inputs);
            "EXT"
        };
        leaf.last = tag.0;
        if let Some(old) = leaf.due.take()
            && let Some(others) = self.agenda.get_mut(&old)
        {
            others.remove(&i);
            if others.is_empty() {
                self.agenda.remove(&old);
            }
        }
        let next = match leaf.part.advance() {
            NEVER => None,
            0 => Some((tag.0, tag.1 + 1)),
            d => Some((tag.0 + d, 0)),
        };
        leaf.due = next;
        if let Some(next) = next {
            self.agenda.entry(next).or_default().insert(i);
        }
        let model = leaf.text.clone();
        self.records.push(Record { t: tag.0, n: tag.1, model, kind, inputs, outputs, next });
    }

    /// All routes from an output port of a leaf, in the route rank of R5.
    pub fn routes(&self, leaf: usize, port: u16) -> Vec<Route> {
        let leaf = &self.leaves[leaf];
        let mut found = Vec::new();
        let from = End { child: Some(leaf.child), port };
        let start = Route { leaf: 0, port: 0, path: Vec::new(), z: None, steps: Vec::new() };
        self.walk(&leaf.parent, from, &start, &mut found);
        found.sort_by(|a, b| (&a.path, &a.z).cmp(&(&b.path, &b.z)));
        found
    }

    /// How many messages arrive somewhere for one that leaves by this port.
    pub fn fan_out(&self, leaf: usize, port: u16) -> usize {
        let whole = |r: &&Route| !r.steps.contains(&Step::Drop);
        self.routes(leaf, port).iter().filter(whole).count()
    }

    fn walk(&self, at: &[usize], from: End, so_far: &Route, found: &mut Vec<Route>) {
        let tree = self.tree.at(at);
        for link in tree.links.iter().filter(|l| l.from == from) {
            let mut route = so_far.clone();
            if let Some(z) = &link.z {
                route.steps.extend(&z.steps);
                route.z = Some(match route.z {
                    Some(before) => format!("{before}>{}", z.name),
                    None => z.name.clone(),
                });
            }
            let mut owner = self.path_of(at);
            let port = link.to.port;
            match link.to.child {
                None => {
                    route.path.push((owner, true, port));
                    if let Some((&child, up)) = at.split_last() {
                        self.walk(up, End { child: Some(child), port }, &route, found);
                    }
                }
                Some(child) => {
                    let mut inner = at.to_vec();
                    inner.push(child);
                    owner.push(name(&tree.children[child].0));
                    route.path.push((owner, false, port));
                    match tree.children[child].1 {
                        Node::Tree(_) => {
                            self.walk(&inner, End { child: None, port }, &route, found);
                        }
                        Node::Part { .. } => {
                            let here = |l: &Leaf| l.parent == at && l.child == child;
                            route.leaf = self.leaves.iter().position(here).unwrap_or(0);
                            route.port = port;
                            found.push(route);
                        }
                    }
                }
            }
        }
    }

    fn path_of(&self, at: &[usize]) -> Path {
        (0..at.len()).map(|i| name(&self.tree.at(&at[..i]).children[at[i]].0)).collect()
    }

    /// The model on one level, in the canonical order: `leaf[rank]`, and one named translation per
    /// route.
    pub fn flat(&self) -> Tree {
        let mut flat = Tree::default();
        let mut at_start = Vec::new();
        collect(&self.tree, &mut Vec::new(), &mut Vec::new(), "", &mut at_start);
        at_start.sort_by(|a, b| a.path.cmp(&b.path));
        for (i, leaf) in at_start.into_iter().enumerate() {
            let (_, outputs) = leaf.part.ports();
            for port in 0..outputs {
                for (rank, r) in self.routes(i, port).into_iter().enumerate() {
                    let from = End { child: Some(i), port };
                    let to = End { child: Some(r.leaf), port: r.port };
                    let z = crate::tree::Z { name: format!("{rank:04}"), steps: r.steps };
                    flat.links.push(crate::tree::Link { from, to, z: Some(z) });
                }
            }
            let node = Node::Part { part: leaf.part, elapsed: leaf.last };
            flat.children.push((format!("leaf[{i}]"), node));
        }
        flat
    }
}

/// Leaves with their initial elapsed time in `last`.
fn collect(tree: &Tree, at: &mut Vec<usize>, path: &mut Path, text: &str, leaves: &mut Vec<Leaf>) {
    for (child, (label, node)) in tree.children.iter().enumerate() {
        let text = if text.is_empty() { label.clone() } else { format!("{text}/{label}") };
        path.push(name(label));
        match node {
            Node::Part { part, elapsed } => leaves.push(Leaf {
                path: path.clone(),
                text,
                parent: at.clone(),
                child,
                part: part.clone(),
                last: *elapsed,
                due: None,
            }),
            Node::Tree(inner) => {
                at.push(child);
                collect(inner, at, path, &text, leaves);
                at.pop();
            }
        }
        path.pop();
    }
}
