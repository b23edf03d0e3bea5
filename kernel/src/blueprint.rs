//! The hierarchy of a running simulation: who is whose child, and how they are coupled.
//!
//! It serves names, errors and changes of structure; a cycle never looks at it.
use crate::{
    bag::NONE,
    coupled::{Body, Component, Coupled, End, SELF, Translation},
    error::{BuildError, BuildErrors},
    message::Message,
    path::Name,
    slab::Slabs,
    time::Duration,
};
use slotmap::{Key, SlotMap, new_key_type};
use std::borrow::Cow;

new_key_type! {
    /// A model of a run, atomic or coupled; stays valid while the structure changes.
    pub struct ModelKey;
}

#[derive(Clone)]
pub(crate) struct Node {
    pub name: Name,
    pub parent: Option<ModelKey>,
    /// First vertex of this node in the graph of ports, set by `flatten`.
    pub vertex: u32,
    pub body: NodeBody,
}

#[derive(Clone)]
pub(crate) enum NodeBody {
    Atomic(AtomicNode),
    Coupled(Box<CoupledNode>),
}

#[derive(Clone)]
pub(crate) struct AtomicNode {
    pub kind: u16,
    pub slot: u32,
    pub inputs: u16,
    pub outputs: u16,
    /// Position in the path order, set by `flatten`; `NONE` while new.
    pub index: u32,
    /// Elapsed time at creation.
    pub elapsed: Duration,
}

#[derive(Clone, Default)]
pub(crate) struct CoupledNode {
    /// Sorted by name.
    pub children: Vec<ModelKey>,
    pub inputs: Vec<Cow<'static, str>>,
    pub outputs: Vec<Cow<'static, str>>,
    pub wires: Vec<Wire>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    pub from: PortAt,
    pub to: PortAt,
    pub z: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortAt {
    /// `None` is the coupled model itself.
    pub child: Option<ModelKey>,
    pub port: u16,
}

#[derive(Clone)]
pub(crate) struct Blueprint<M: Message> {
    pub nodes: SlotMap<ModelKey, Node>,
    pub root: ModelKey,
    pub translations: Vec<Translation<M>>,
}

impl<M: Message> Blueprint<M> {
    pub fn new(top: Coupled<M>, slabs: &mut Slabs<M>) -> Result<Self, BuildErrors> {
        let mut nodes = SlotMap::with_key();
        let root = nodes.insert(Node {
            name: Name::from(""),
            parent: None,
            vertex: 0,
            body: NodeBody::Coupled(Box::default()),
        });
        let mut this = Self { nodes, root, translations: Vec::new() };
        let mut errors = Vec::new();
        this.fill(root, top, slabs, &mut errors);
        if errors.is_empty() { Ok(this) } else { Err(BuildErrors(errors)) }
    }

    /// Adds a child; used by the build and by changes of structure.
    pub fn add(
        &mut self,
        parent: ModelKey,
        name: Name,
        component: Component<M>,
        slabs: &mut Slabs<M>,
        errors: &mut Vec<BuildError>,
    ) -> ModelKey {
        let body = match component.0 {
            Body::Atomic { model, elapsed } => {
                let (inputs, outputs) = model.ports();
                let (kind, slot) = model.place(slabs);
                NodeBody::Atomic(AtomicNode { kind, slot, inputs, outputs, index: NONE, elapsed })
            }
            Body::Coupled(coupled) => {
                let body = NodeBody::Coupled(Box::default());
                let key = self.nodes.insert(Node { name, parent: Some(parent), vertex: 0, body });
                self.fill(key, *coupled, slabs, errors);
                return key;
            }
        };
        let place = if let NodeBody::Atomic(a) = &body { Some((a.kind, a.slot)) } else { None };
        let key = self.nodes.insert(Node { name, parent: Some(parent), vertex: 0, body });
        if let Some((kind, slot)) = place {
            slabs.set_owner(kind, slot, key);
        }
        key
    }

    /// Children in path order, so that models of one kind lie in that order in their slab.
    fn fill(
        &mut self,
        key: ModelKey,
        coupled: Coupled<M>,
        slabs: &mut Slabs<M>,
        errors: &mut Vec<BuildError>,
    ) {
        let count = coupled.children.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        if !coupled.children.is_sorted_by(|a, b| a.0 <= b.0) {
            order.sort_by(|&a, &b| {
                coupled.children[a as usize].0.cmp(&coupled.children[b as usize].0)
            });
        }
        let mut parts: Vec<Option<(Name, Component<M>)>> =
            coupled.children.into_iter().map(Some).collect();
        let mut keys = vec![self.root; count];
        let mut children = Vec::with_capacity(count);
        for &at in &order {
            let Some((name, component)) = parts[at as usize].take() else { continue };
            let duplicate = children.last().is_some_and(|&last| self.nodes[last].name == name);
            let child = self.add(key, name, component, slabs, errors);
            if duplicate {
                errors.push(BuildError::DuplicateName { path: self.path(child) });
            }
            keys[at as usize] = child;
            children.push(child);
        }
        let base = self.translations.len() as u32;
        self.translations.extend(coupled.translations);
        let end = |e: End| -> Option<PortAt> {
            let child = if e.child == SELF { None } else { Some(*keys.get(e.child as usize)?) };
            Some(PortAt { child, port: e.port })
        };
        let mut wires = Vec::with_capacity(coupled.wires.len());
        for (number, w) in coupled.wires.iter().enumerate() {
            let z = if w.z == NONE { NONE } else { base + w.z };
            match (end(w.from), end(w.to)) {
                (Some(from), Some(to)) => wires.push(Wire { from, to, z }),
                _ => errors.push(BuildError::UnknownChild {
                    wire: format!("coupling number {} of '{}'", number + 1, self.path(key)),
                    parent: self.path(key),
                }),
            }
        }
        if let NodeBody::Coupled(node) = &mut self.nodes[key].body {
            **node =
                CoupledNode { children, inputs: coupled.inputs, outputs: coupled.outputs, wires };
        }
        self.check_wires(key, errors);
    }

    /// Rejects what P27 of the conformance list calls illegal.
    pub fn check_wires(&self, key: ModelKey, errors: &mut Vec<BuildError>) {
        let NodeBody::Coupled(node) = &self.nodes[key].body else { return };
        for w in &node.wires {
            let wire = || self.describe(key, w);
            match (w.from.child, w.to.child) {
                (None, None) => errors.push(BuildError::PassThrough { wire: wire() }),
                (Some(a), Some(b)) if a == b => errors.push(BuildError::SelfLoop { wire: wire() }),
                _ => {}
            }
            for (end, is_start) in [(w.from, true), (w.to, false)] {
                // Seen from inside, the own inputs are starts and the own outputs are ends.
                let input = is_start == end.child.is_none();
                let owner = end.child.unwrap_or(key);
                let (inputs, outputs) = self.port_counts(owner);
                let available = if input { inputs } else { outputs };
                if end.port >= available {
                    errors.push(BuildError::UnknownPort {
                        wire: wire(),
                        path: self.path(owner),
                        direction: if input { "input" } else { "output" },
                        port: end.port,
                        available,
                    });
                }
            }
        }
        // Sorting plain words: on a flat level of many children this is most of the build.
        let word = |end: PortAt| {
            let child = end.child.map_or(0, |key| (key.data().as_ffi() & 0xFFFF_FFFF) + 1);
            child << 16 | u64::from(end.port)
        };
        let mut ends: Vec<(u64, u64, u32)> =
            node.wires.iter().map(|w| (word(w.from), word(w.to), w.z)).collect();
        ends.sort_unstable();
        if ends.windows(2).all(|w| (w[0].0, w[0].1) != (w[1].0, w[1].1)) {
            return;
        }
        let name = |z: u32| self.translations.get(z as usize).map(|t| &*t.name);
        let mut sorted: Vec<&Wire> = node.wires.iter().collect();
        sorted.sort_by_key(|w| (w.from, w.to, name(w.z)));
        for pair in sorted.windows(2) {
            if pair[0].from == pair[1].from
                && pair[0].to == pair[1].to
                && name(pair[0].z) == name(pair[1].z)
            {
                errors.push(BuildError::DuplicateWire { wire: self.describe(key, pair[0]) });
            }
        }
    }

    pub fn port_counts(&self, key: ModelKey) -> (u16, u16) {
        match &self.nodes[key].body {
            NodeBody::Atomic(a) => (a.inputs, a.outputs),
            NodeBody::Coupled(c) => (c.inputs.len() as u16, c.outputs.len() as u16),
        }
    }

    fn describe(&self, key: ModelKey, w: &Wire) -> String {
        let end = |p: PortAt, start: bool| {
            let path = self.path(p.child.unwrap_or(key));
            let name = match &self.nodes[p.child.unwrap_or(key)].body {
                NodeBody::Coupled(c) => {
                    let names = if start == p.child.is_none() { &c.inputs } else { &c.outputs };
                    names.get(p.port as usize).map(ToString::to_string)
                }
                NodeBody::Atomic(_) => None,
            };
            format!("{path}.{}", name.unwrap_or_else(|| p.port.to_string()))
        };
        format!("{} -> {}", end(w.from, true), end(w.to, false))
    }

    /// The hierarchical path; the root's own name is empty.
    pub fn path(&self, key: ModelKey) -> String {
        let mut names = Vec::new();
        let mut at = Some(key);
        while let Some(k) = at {
            let Some(node) = self.nodes.get(k) else { break };
            if node.parent.is_some() {
                names.push(node.name.to_string());
            }
            at = node.parent;
        }
        names.reverse();
        names.join("/")
    }

    /// The model at a path.
    pub fn find(&self, path: &str) -> Option<ModelKey> {
        let mut at = self.root;
        for part in path.split('/').filter(|p| !p.is_empty()) {
            let name = Name::from(part.to_owned());
            at = self.child(at, &name)?;
        }
        Some(at)
    }

    pub fn child(&self, parent: ModelKey, name: &Name) -> Option<ModelKey> {
        let NodeBody::Coupled(node) = &self.nodes[parent].body else { return None };
        let found = node.children.binary_search_by(|&k| self.nodes[k].name.cmp(name)).ok()?;
        Some(node.children[found])
    }
}
