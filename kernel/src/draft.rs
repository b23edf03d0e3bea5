//! From the coupled models that authors write to the hierarchy of a run, level by level.
use crate::{
    bag::NONE,
    blueprint::{AtomicNode, Blueprint, CoupledNode, Label, Node, NodeBody, PortAt, Wire},
    coupled::{Body, Component, Coupled, End, SELF},
    error::{BuildError, BuildErrors},
    key::ModelKey,
    message::Message,
    nursery::{Nursery, Placed},
    path::Name,
    slab::Slabs,
    time::Duration,
};
use std::borrow::Cow;

/// Children, couplings and ports of levels under construction, one level after the other.
///
/// **Why.** Lists of each level's own, made while the author's levels are freed one by one, lay
/// scattered between what was freed, which then could be neither used nor given back: 2 of 39 MB
/// that LI 300x300 had at its peak.
#[derive(Default)]
pub(crate) struct Draft {
    children: Vec<ModelKey>,
    wires: Vec<Wire>,
    ports: Vec<Cow<'static, str>>,
    levels: Vec<DraftLevel>,
    errors: Vec<BuildError>,
}

/// A level of a draft: the ends of its parts.
struct DraftLevel {
    key: ModelKey,
    children: usize,
    wires: usize,
    inputs: usize,
    outputs: usize,
}

/// A level to which children are being added.
struct Level<M: Message> {
    key: ModelKey,
    /// Children to come, the next one last.
    parts: Vec<(Name, Component<M>)>,
    nursery: Nursery<M>,
    /// Places in path order, by which its author knows them.
    order: Vec<u32>,
    /// By place.
    keys: Vec<ModelKey>,
    /// In path order.
    children: Vec<ModelKey>,
    /// Without its children.
    coupled: Coupled<M>,
}

impl<M: Message> Level<M> {
    fn new(key: ModelKey, mut coupled: Coupled<M>) -> Self {
        let mut parts = std::mem::take(&mut coupled.children);
        let count = parts.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        if !parts.is_sorted_by(|a, b| a.0 <= b.0) {
            order.sort_by(|&a, &b| parts[a as usize].0.cmp(&parts[b as usize].0));
        }
        if !order.is_sorted() {
            let mut taken: Vec<_> = parts.into_iter().map(Some).collect();
            parts = order.iter().filter_map(|&at| taken[at as usize].take()).collect();
        }
        let near = |(_, c): &(Name, Component<M>)| match c.0 {
            Body::Near(ward, place) => Some((ward, place)),
            _ => None,
        };
        let mut nursery = std::mem::replace(&mut coupled.nursery, Nursery::new());
        nursery.arrange(parts.iter().filter_map(near));
        parts.reverse();
        let (keys, children) = (vec![key; count], Vec::with_capacity(count));
        Self { key, parts, nursery, order, keys, children, coupled }
    }
}

impl<M: Message> Blueprint<M> {
    pub(crate) fn new(top: Coupled<M>, slabs: &mut Slabs<M>) -> Result<Self, BuildErrors> {
        top.announce(slabs);
        let mut this = Self::empty(Vec::new(), top.count() + 1);
        let label = Label { stem: 0, index: NONE };
        let body = NodeBody::DRAFT;
        this.root = this.nodes.insert(Node { label, parent: None, body });
        let mut draft = Draft::default();
        this.fill(this.root, top, slabs, &mut draft);
        this.settle(draft)?;
        this.built = this.translations.len();
        Ok(this)
    }

    /// Adds a child; used by the build and by changes of structure. What is below it is in the
    /// draft, until that is settled.
    pub(crate) fn add(
        &mut self,
        parent: ModelKey,
        name: Name,
        component: Component<M>,
        nursery: &mut Nursery<M>,
        slabs: &mut Slabs<M>,
        draft: &mut Draft,
    ) -> ModelKey {
        let (key, below) = self.place(parent, name, component, nursery, slabs, draft);
        if let Some(coupled) = below {
            self.fill(key, *coupled, slabs, draft);
        }
        key
    }

    /// Adds a child; one that is coupled is given back, to be filled.
    fn place(
        &mut self,
        parent: ModelKey,
        name: Name,
        component: Component<M>,
        nursery: &mut Nursery<M>,
        slabs: &mut Slabs<M>,
        draft: &mut Draft,
    ) -> (ModelKey, Option<Box<Coupled<M>>>) {
        let index = name.index();
        let label = self.label(name);
        if let Some(why) = self.bad_name(label, index) {
            let stem = Cow::Owned(self.stems[label.stem as usize].to_string());
            let path = self.path_below(parent, &Name::new(stem, index));
            draft.errors.push(BuildError::BadName { path, why });
        }
        let (placed, elapsed) = match component.0 {
            Body::Near(ward, _) => {
                let Some(placed) = nursery.leave(ward, slabs) else { unreachable!("arranged") };
                (placed, Duration::ZERO)
            }
            Body::Atomic(model) => {
                let elapsed = model.elapsed();
                (model.place(slabs), elapsed)
            }
            Body::Coupled(coupled) => {
                let node = Node { label, parent: Some(parent), body: NodeBody::DRAFT };
                return (self.nodes.insert(node), Some(coupled));
            }
        };
        let Placed { kind, slot, inputs, outputs } = placed;
        let body = NodeBody::Atomic(AtomicNode { kind, slot, inputs, outputs, index: NONE });
        let key = self.nodes.insert(Node { label, parent: Some(parent), body });
        if elapsed != Duration::ZERO {
            self.elapsed.insert(key, elapsed);
        }
        slabs.set_owner(kind, slot, key);
        (key, None)
    }

    /// Adds all that is below a coupled model, level by level: a deep hierarchy needs no more stack than a
    /// flat one. Children come in path order, so that models of one kind lie in that order in their slab.
    fn fill(
        &mut self,
        key: ModelKey,
        coupled: Coupled<M>,
        slabs: &mut Slabs<M>,
        draft: &mut Draft,
    ) {
        let mut open = vec![Level::new(key, coupled)];
        while let Some(level) = open.last_mut() {
            let Some((name, component)) = level.parts.pop() else {
                if let Some(level) = open.pop() {
                    self.complete(level, draft);
                }
                continue;
            };
            let parts = &mut level.parts;
            if matches!(component.0, Body::Coupled(_)) && parts.len() < parts.capacity() / 4 {
                // A deep hierarchy would keep what its upper levels do not need any more.
                parts.shrink_to_fit();
            }
            let nursery = &mut level.nursery;
            let (child, below) = self.place(level.key, name, component, nursery, slabs, draft);
            let label = self.nodes[child].label;
            if level.children.last().is_some_and(|&last| self.nodes[last].label == label) {
                draft.errors.push(BuildError::DuplicateName { path: self.path(child) });
            }
            level.keys[level.order[level.children.len()] as usize] = child;
            level.children.push(child);
            if let Some(coupled) = below {
                open.push(Level::new(child, *coupled));
            }
        }
    }

    /// Couples the children of a level, and puts it into the draft.
    fn complete(&mut self, level: Level<M>, draft: &mut Draft) {
        let Level { key, keys, mut children, mut coupled, .. } = level;
        let base = self.translations.len() as u32;
        self.translations.append(&mut coupled.translations);
        let end = |e: End| -> Option<PortAt> {
            let child = if e.child == SELF { None } else { Some(*keys.get(e.child as usize)?) };
            Some(PortAt { child, port: e.port })
        };
        for (number, w) in coupled.wires.iter().enumerate() {
            let z = if w.z == NONE { NONE } else { base + w.z };
            match (end(w.from), end(w.to)) {
                (Some(from), Some(to)) => draft.wires.push(Wire { from, to, z }),
                _ => draft.errors.push(BuildError::UnknownChild {
                    wire: format!("coupling number {} of '{}'", number + 1, self.path(key)),
                    parent: self.path(key),
                }),
            }
        }
        draft.children.append(&mut children);
        draft.ports.append(&mut coupled.inputs);
        let inputs = draft.ports.len();
        draft.ports.append(&mut coupled.outputs);
        let (children, wires) = (draft.children.len(), draft.wires.len());
        draft.levels.push(DraftLevel { key, children, wires, inputs, outputs: draft.ports.len() });
    }

    /// Gives the levels of a draft what is theirs.
    pub(crate) fn settle(&mut self, mut draft: Draft) -> Result<(), BuildErrors> {
        let (mut children, mut wires, mut ports) = (0, 0, 0);
        for level in &draft.levels {
            self.nodes[level.key].body = NodeBody::Coupled(Box::new(CoupledNode {
                children: draft.children[children..level.children].to_vec(),
                wires: draft.wires[wires..level.wires].to_vec(),
                inputs: draft.ports[ports..level.inputs].to_vec(),
                outputs: draft.ports[level.inputs..level.outputs].to_vec(),
            }));
            (children, wires, ports) = (level.children, level.wires, level.outputs);
        }
        for level in draft.levels {
            self.check_ports(level.key, &mut draft.errors);
            self.check_wires(level.key, &mut draft.errors);
        }
        if draft.errors.is_empty() { Ok(()) } else { Err(BuildErrors(draft.errors)) }
    }
}
