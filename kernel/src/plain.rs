//! A changed structure as plain data, in depth-first order: kinds of models and translations by name.
use crate::{
    bag::NONE,
    blueprint::{AtomicNode, Blueprint, CoupledNode, Node, NodeBody, PortAt, Wire},
    error::CheckpointError,
    key::ModelKey,
    message::Message,
    path::Name,
    simulation::Simulation,
    translation::Translation,
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap};

/// The defects of a translation.
const UNDECLARED: &str = "was made during the run, so that no resumed run would know it; pass it to \
                          `Simulation::declare_translation` after the build, here and where the run is resumed";
const UNKNOWN: &str =
    "is not known; pass it to `Simulation::declare_translation` before the run is resumed";
const AMBIGUOUS: &str = "is the name of several functions; give each function a name of its own";

/// A node of a changed structure, in depth-first order.
#[derive(Serialize, Deserialize)]
pub(crate) enum Plain {
    Atomic {
        name: Name,
        kind: String,
        inputs: u16,
        outputs: u16,
    },
    Coupled {
        name: Name,
        children: u32,
        inputs: Vec<String>,
        outputs: Vec<String>,
        wires: Vec<PlainWire>,
    },
}

/// Children are numbered; `None` is the coupled model itself.
#[derive(Serialize, Deserialize)]
pub(crate) struct PlainWire {
    from: (Option<u32>, u16),
    to: (Option<u32>, u16),
    translation: Option<String>,
}

impl<M: Message> Simulation<M> {
    /// By name, the translations that a resumed run knows: those of the build, then declared ones, as
    /// numbers among both; `None` for a name of several functions.
    fn catalogue(&self) -> HashMap<&str, Option<u32>> {
        let mut catalogue: HashMap<&str, Option<u32>> = HashMap::new();
        let all = || self.known_translations();
        for (number, translation) in (0..).zip(all()) {
            let entry = catalogue.entry(&translation.name).or_insert(Some(number));
            let same = |&first: &u32| all().nth(first as usize).is_some_and(|t| t.is(translation));
            *entry = entry.filter(same);
        }
        catalogue
    }

    fn known_translations(&self) -> impl Iterator<Item = &Translation<M>> {
        let blueprint = &self.core.blueprint;
        blueprint.translations[..blueprint.built].iter().chain(&self.slabs.declared)
    }

    /// Whether a resumed run finds the translation of each coupling again.
    pub(crate) fn check_translations(&self) -> Result<(), CheckpointError> {
        let (blueprint, catalogue) = (&self.core.blueprint, self.catalogue());
        for (key, node) in &blueprint.nodes {
            let NodeBody::Coupled(node) = &node.body else { continue };
            for wire in &node.wires {
                let Some(translation) = blueprint.translations.get(wire.z as usize) else {
                    continue;
                };
                let refuse = |why| {
                    let (wire, name) =
                        (blueprint.describe(key, wire), translation.name.to_string());
                    Err(CheckpointError::Translation { wire, name, why })
                };
                match catalogue.get(&*translation.name) {
                    None => return refuse(UNDECLARED),
                    Some(&Some(number)) => {
                        let known = self.known_translations().nth(number as usize);
                        if known.is_some_and(|known| known.is_not(translation)) {
                            return refuse(AMBIGUOUS);
                        }
                    }
                    Some(None) => return refuse(AMBIGUOUS),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn plain_structure(&self) -> Vec<Plain> {
        let blueprint = &self.core.blueprint;
        let mut plain = Vec::new();
        let mut stack = vec![blueprint.root];
        while let Some(key) = stack.pop() {
            let node = &blueprint.nodes[key];
            let name = blueprint.name(key);
            plain.push(match &node.body {
                NodeBody::Atomic(a) => Plain::Atomic {
                    name,
                    kind: self.slabs.kinds[a.kind as usize].name().to_owned(),
                    inputs: a.inputs,
                    outputs: a.outputs,
                },
                NodeBody::Coupled(c) => {
                    stack.extend(c.children.iter().rev());
                    let number = |p: PortAt| {
                        let at = p.child.and_then(|k| c.children.iter().position(|&x| x == k));
                        (at.map(|i| i as u32), p.port)
                    };
                    let wire = |w: &Wire| PlainWire {
                        from: number(w.from),
                        to: number(w.to),
                        translation: blueprint
                            .translations
                            .get(w.z as usize)
                            .map(|t| t.name.to_string()),
                    };
                    Plain::Coupled {
                        name,
                        children: c.children.len() as u32,
                        inputs: c.inputs.iter().map(ToString::to_string).collect(),
                        outputs: c.outputs.iter().map(ToString::to_string).collect(),
                        wires: c.wires.iter().map(wire).collect(),
                    }
                }
            });
        }
        plain
    }

    /// A node of plain data, without its children and couplings.
    fn plain_node<'p>(&self, p: &'p Plain) -> Result<(&'p Name, NodeBody), CheckpointError> {
        let broken = |why: &str| CheckpointError::Unreadable(why.to_owned());
        Ok(match p {
            Plain::Atomic { name, kind, inputs, outputs } => {
                let known = self.slabs.kinds.iter().position(|k| k.name() == kind);
                let known = known.ok_or_else(|| {
                    broken(&format!("kind {kind} is not declared in this simulation"))
                })?;
                let atomic = AtomicNode {
                    kind: known as u16,
                    slot: NONE,
                    inputs: *inputs,
                    outputs: *outputs,
                    index: NONE,
                };
                (name, NodeBody::Atomic(atomic))
            }
            Plain::Coupled { name, inputs, outputs, .. } => {
                let owned = |v: &Vec<String>| v.iter().cloned().map(Cow::Owned).collect();
                let coupled = CoupledNode {
                    inputs: owned(inputs),
                    outputs: owned(outputs),
                    ..CoupledNode::default()
                };
                (name, NodeBody::Coupled(Box::new(coupled)))
            }
        })
    }

    pub(crate) fn plain_blueprint(
        &self,
        plain: &[Plain],
    ) -> Result<(Blueprint<M>, Vec<ModelKey>), CheckpointError> {
        let broken = |why: &str| CheckpointError::Unreadable(why.to_owned());
        let known = self.known_translations().cloned().collect();
        let mut blueprint = Blueprint::empty(known, plain.len());
        blueprint.built = self.core.blueprint.built;
        let catalogue = self.catalogue();
        let mut atoms = Vec::new();
        // Coupled models that still miss children: (key, how many).
        let mut open: Vec<(ModelKey, u32)> = Vec::new();
        let mut root = None;
        let mut wired: Vec<(ModelKey, &[PlainWire])> = Vec::new();
        for p in plain {
            while open.last().is_some_and(|o| o.1 == 0) {
                open.pop();
            }
            let parent = open.last_mut().map(|o| {
                o.1 -= 1;
                o.0
            });
            let (name, body) = self.plain_node(p)?;
            let atomic = matches!(body, NodeBody::Atomic(_));
            let label = blueprint.label(name.clone());
            if parent.is_some() && blueprint.bad_name(label, name.index()).is_some() {
                return Err(broken("a name that is none"));
            }
            let key = blueprint.nodes.insert(Node { label, parent, body });
            match parent.map(|p| &mut blueprint.nodes[p].body) {
                Some(NodeBody::Coupled(c)) => c.children.push(key),
                Some(NodeBody::Atomic(_)) => return Err(broken("a child of an atomic model")),
                None if root.is_none() => root = Some(key),
                None => return Err(broken("two roots")),
            }
            if atomic {
                atoms.push(key);
            } else if let Plain::Coupled { children, wires, .. } = p {
                open.push((key, *children));
                wired.push((key, wires));
            }
        }
        blueprint.root = root.ok_or_else(|| broken("no root"))?;
        if matches!(blueprint.nodes[blueprint.root].body, NodeBody::Atomic(_)) {
            return Err(broken("an atomic model as root"));
        }
        if open.iter().any(|o| o.1 > 0) {
            return Err(broken("children are missing"));
        }
        let mut errors = Vec::new();
        for (key, wires) in wired {
            blueprint.rewire(key, wires, &catalogue)?;
            if !blueprint.is_sorted(key) {
                return Err(broken("children in no order"));
            }
            blueprint.check_ports(key, &mut errors);
            blueprint.check_wires(key, &mut errors);
        }
        match errors.into_iter().next() {
            Some(error) => Err(broken(&error.to_string())),
            None => Ok((blueprint, atoms)),
        }
    }
}

impl<M: Message> Blueprint<M> {
    fn rewire(
        &mut self,
        key: ModelKey,
        wires: &[PlainWire],
        catalogue: &HashMap<&str, Option<u32>>,
    ) -> Result<(), CheckpointError> {
        let broken = |why: String| CheckpointError::Unreadable(why);
        let NodeBody::Coupled(c) = &self.nodes[key].body else { return Ok(()) };
        let end = |(child, port): (Option<u32>, u16)| -> Result<PortAt, CheckpointError> {
            let child = match child {
                None => None,
                Some(i) => Some(
                    *c.children
                        .get(i as usize)
                        .ok_or_else(|| broken("a wire without end".into()))?,
                ),
            };
            Ok(PortAt { child, port })
        };
        let mut found = Vec::with_capacity(wires.len());
        for w in wires {
            let mut wire = Wire { from: end(w.from)?, to: end(w.to)?, z: NONE };
            if let Some(name) = &w.translation {
                let known = catalogue.get(&**name).copied();
                wire.z = known.flatten().ok_or_else(|| CheckpointError::Translation {
                    wire: self.describe(key, &wire),
                    name: name.clone(),
                    why: if known.is_none() { UNKNOWN } else { AMBIGUOUS },
                })?;
            }
            found.push(wire);
        }
        if let NodeBody::Coupled(c) = &mut self.nodes[key].body {
            c.wires = found;
        }
        let mut errors = Vec::new();
        self.check_wires(key, &mut errors);
        if errors.is_empty() { Ok(()) } else { Err(broken(errors[0].to_string())) }
    }
}
