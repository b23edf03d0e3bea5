//! The hierarchy of a running simulation: who is whose child, and how they are coupled.
//!
//! It serves names, errors and changes of structure; a cycle never looks at it.
use crate::{
    bag::NONE,
    error::BuildError,
    key::ModelKey,
    message::Message,
    path::{BAD_INDEX, Name, bad_stem},
    port::port_number,
    time::Duration,
    trace::Site,
    translation::Translation,
};
use slotmap::{Key, SlotMap};
use std::{borrow::Cow, collections::HashMap};

/// The name of a node: number of its stem, and its index or `NONE`.
///
/// **Why not a [`Name`].** A million members of an array share one stem; half of a node's memory
/// was its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    pub stem: u32,
    pub index: u32,
}

#[derive(Clone)]
pub(crate) struct Node {
    pub label: Label,
    pub parent: Option<ModelKey>,
    pub body: NodeBody,
}

#[derive(Clone)]
pub(crate) enum NodeBody {
    Atomic(AtomicNode),
    Coupled(Box<CoupledNode>),
}

impl NodeBody {
    /// A placeholder for a level until its draft is settled.
    pub(crate) const DRAFT: Self =
        Self::Atomic(AtomicNode { kind: 0, slot: NONE, inputs: 0, outputs: 0, index: NONE });
}

#[derive(Clone)]
pub(crate) struct AtomicNode {
    pub kind: u16,
    pub slot: u32,
    pub inputs: u16,
    pub outputs: u16,
    /// Position in the path order, set by `flatten`; `NONE` while new.
    pub index: u32,
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
    /// How many of these, the first ones, are of the build; the others were made during the run.
    pub built: usize,
    /// How many of the others were in use when somebody looked last.
    used: usize,
    pub stems: Vec<Cow<'static, str>>,
    stem_numbers: HashMap<Cow<'static, str>, u32>,
    /// Names that no child can have; the first one is that of the root.
    bad_stems: Vec<u32>,
    /// The stem asked for last: that of the next name, mostly.
    recent: u32,
    /// Elapsed time at creation, where it is not zero.
    pub elapsed: HashMap<ModelKey, Duration>,
}

impl<M: Message> Blueprint<M> {
    /// Without any node, for so many.
    pub(crate) fn empty(translations: Vec<Translation<M>>, nodes: usize) -> Self {
        Self {
            nodes: SlotMap::with_capacity_and_key(nodes),
            root: ModelKey::null(),
            built: translations.len(),
            used: 0,
            translations,
            stems: vec!["".into()],
            stem_numbers: HashMap::from([("".into(), 0)]),
            bad_stems: vec![0],
            recent: 0,
            elapsed: HashMap::new(),
        }
    }

    /// Forgets translations and names that nobody uses any more, once they are more than those in use: what a
    /// change leaves behind costs the next ones nothing.
    pub(crate) fn tidy(&mut self) {
        if self.translations.len() - self.built > 2 * self.used + 16 {
            self.forget_translations();
        }
        if self.stems.len() > 2 * self.nodes.len() + 16 {
            self.forget_names();
        }
    }

    /// How many translations and names there are.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.translations.len(), self.stems.len())
    }

    fn forget_translations(&mut self) {
        let made = self.translations.split_off(self.built);
        let mut places = vec![NONE; made.len()];
        for node in self.nodes.values_mut() {
            let NodeBody::Coupled(node) = &mut node.body else { continue };
            for wire in &mut node.wires {
                let Some(at) = (wire.z as usize).checked_sub(self.built) else { continue };
                let Some(place) = places.get_mut(at) else { continue };
                if *place == NONE {
                    *place = self.translations.len() as u32;
                    self.translations.push(made[at].clone());
                }
                wire.z = *place;
            }
        }
        self.used = self.translations.len() - self.built;
    }

    fn forget_names(&mut self) {
        let old = std::mem::replace(&mut self.stems, vec!["".into()]);
        let mut places = vec![NONE; old.len()];
        // The root's own.
        places[0] = 0;
        for node in self.nodes.values_mut() {
            let stem = &mut node.label.stem;
            let place = &mut places[*stem as usize];
            if *place == NONE {
                *place = self.stems.len() as u32;
                self.stems.push(old[*stem as usize].clone());
            }
            *stem = *place;
        }
        self.stem_numbers = self.stems.iter().cloned().zip(0..).collect();
        let is_bad = |&number: &u32| bad_stem(&self.stems[number as usize]).is_some();
        self.bad_stems = (0..self.stems.len() as u32).filter(is_bad).collect();
        self.recent = 0;
    }

    /// The label of a name.
    pub(crate) fn label(&mut self, name: Name) -> Label {
        let index = name.index().unwrap_or(NONE);
        if self.stems[self.recent as usize] == name.stem() {
            return Label { stem: self.recent, index };
        }
        let stem = name.into_stem();
        let next = self.stems.len() as u32;
        let number = *self.stem_numbers.entry(stem.clone()).or_insert(next);
        if number == next {
            if bad_stem(&stem).is_some() {
                self.bad_stems.push(next);
            }
            self.stems.push(stem);
        }
        self.recent = number;
        Label { stem: number, index }
    }

    /// Why a child with this label cannot have its name.
    pub(crate) fn bad_name(&self, label: Label, name_index: Option<u32>) -> Option<&'static str> {
        if self.bad_stems.contains(&label.stem) {
            return bad_stem(&self.stems[label.stem as usize]);
        }
        (name_index == Some(NONE)).then_some(BAD_INDEX)
    }

    /// The name of a node.
    pub(crate) fn name(&self, key: ModelKey) -> Name {
        let (stem, index) = self.name_parts(key);
        Name::new(Cow::Owned(stem.to_owned()), index)
    }

    /// Stem and index of a node's name; names order as these pairs do.
    pub(crate) fn name_parts(&self, key: ModelKey) -> (&str, Option<u32>) {
        let Label { stem, index } = self.nodes[key].label;
        (&self.stems[stem as usize], (index != NONE).then_some(index))
    }

    /// Whether the children of a coupled model are in the order of their names, each of which is there once.
    pub(crate) fn is_sorted(&self, key: ModelKey) -> bool {
        let NodeBody::Coupled(node) = &self.nodes[key].body else { return true };
        node.children.is_sorted_by(|&a, &b| self.name_parts(a) < self.name_parts(b))
    }

    pub(crate) fn check_ports(&self, key: ModelKey, errors: &mut Vec<BuildError>) {
        let NodeBody::Coupled(node) = &self.nodes[key].body else { return };
        for (direction, count) in [("input", node.inputs.len()), ("output", node.outputs.len())] {
            if count > usize::from(u16::MAX) {
                let path = self.path(key);
                errors.push(BuildError::TooManyPorts { path, direction, count });
            }
        }
    }

    /// Rejects what P27 of the conformance list calls illegal.
    pub(crate) fn check_wires(&self, key: ModelKey, errors: &mut Vec<BuildError>) {
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
            u128::from(child << 16 | u64::from(end.port))
        };
        let mut ends: Vec<u128> =
            node.wires.iter().map(|w| word(w.from) << 64 | word(w.to)).collect();
        ends.sort_unstable();
        if ends.windows(2).all(|w| w[0] != w[1]) {
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

    pub(crate) fn port_counts(&self, key: ModelKey) -> (u16, u16) {
        match &self.nodes[key].body {
            NodeBody::Atomic(a) => (a.inputs, a.outputs),
            NodeBody::Coupled(c) => (port_number(c.inputs.len()), port_number(c.outputs.len())),
        }
    }

    pub(crate) fn describe(&self, key: ModelKey, w: &Wire) -> String {
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

    /// A model as observers meet it.
    pub(crate) fn site<R>(&self, key: ModelKey, f: impl FnOnce(&Site<'_>) -> R) -> R {
        f(&Site { key, path: &|k| self.path(k) })
    }

    /// The hierarchical path; the root's own name is empty.
    pub(crate) fn path(&self, key: ModelKey) -> String {
        let mut names = Vec::new();
        let mut at = Some(key);
        while let Some(k) = at {
            let Some(node) = self.nodes.get(k) else { break };
            if node.parent.is_some() {
                names.push(self.name(k).to_string());
            }
            at = node.parent;
        }
        names.reverse();
        names.join("/")
    }

    pub(crate) fn path_below(&self, parent: ModelKey, name: &Name) -> String {
        match &*self.path(parent) {
            "" => name.to_string(),
            path => format!("{path}/{name}"),
        }
    }

    /// The model at a path.
    pub(crate) fn find(&self, path: &str) -> Option<ModelKey> {
        let mut at = self.root;
        for part in path.split('/').filter(|p| !p.is_empty()) {
            let name = Name::from(part.to_owned());
            at = self.child(at, &name)?;
        }
        Some(at)
    }

    pub(crate) fn child(&self, parent: ModelKey, name: &Name) -> Option<ModelKey> {
        let NodeBody::Coupled(node) = &self.nodes[parent].body else { return None };
        let name = (name.stem(), name.index());
        let found = node.children.binary_search_by(|&k| self.name_parts(k).cmp(&name)).ok()?;
        Some(node.children[found])
    }
}
