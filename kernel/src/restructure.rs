//! Carrying out changes of structure at the end of a cycle (rule R12).
//!
//! The changed hierarchy is flattened anew and everything kept per model moves to the model's
//! new place in the path order, so that index order stays path order. A change costs time
//! proportional to the whole model; cycles without changes pay nothing.
use crate::{
    bag::NONE,
    blueprint::{AtomicNode, Blueprint, Draft, ModelKey, NodeBody, PortAt, Wire},
    error::{BuildError, BuildErrors, RunError},
    event_list::EventList,
    flatten::flatten,
    homes::Homes,
    message::{Message, fold},
    nursery::Nursery,
    simulation::Simulation,
    structure::{Change, PortOf},
};
use std::sync::Arc;

impl<M: Message> Simulation<M> {
    pub(crate) fn restructure(&mut self) {
        // Also where one fails: those before it are done.
        self.restructured = true;
        (self.shared, self.apart) = (None, None);
        for (m, change) in std::mem::take(&mut self.core.changes) {
            let (what, result) = self.apply(change);
            match result {
                Ok(()) => {
                    for o in &mut self.core.observers {
                        if let std::ops::ControlFlow::Break(r) = o.structure(self.core.now, &what) {
                            self.core.stop.get_or_insert(r);
                        }
                    }
                }
                Err(why) => {
                    let (path, at) = (self.core.path(m), self.core.now);
                    self.core.error.get_or_insert(RunError::Structure { path, at, why });
                }
            }
        }
        if self.core.error.is_none() {
            self.renumber();
        }
    }

    /// The structure, to be changed: a copy, if saved states share it.
    fn blueprint(&mut self) -> &mut Blueprint<M> {
        Arc::make_mut(&mut self.core.blueprint)
    }

    fn apply(&mut self, change: Change<M>) -> (String, Result<(), BuildErrors>) {
        match change {
            Change::Add { parent, name, component } => {
                let what = format!("add {parent}/{name}");
                (what, self.add(&parent, name, component))
            }
            Change::Remove { path } => (format!("remove {path}"), self.remove(&path)),
            Change::Couple { parent, from, to, translation } => {
                let what = format!("couple {from:?} -> {to:?} in {parent}");
                let result = self.wire(&parent, &from, &to).and_then(|(key, mut wire)| {
                    if let Some(t) = translation {
                        let translations = &mut self.blueprint().translations;
                        translations.push(t);
                        wire.z = translations.len() as u32 - 1;
                    }
                    if let NodeBody::Coupled(c) = &mut self.blueprint().nodes[key].body {
                        c.wires.push(wire);
                    }
                    let mut errors = Vec::new();
                    self.core.blueprint.check_wires(key, &mut errors);
                    if errors.is_empty() { Ok(()) } else { Err(BuildErrors(errors)) }
                });
                (what, result)
            }
            Change::Decouple { parent, from, to } => {
                let what = format!("decouple {from:?} -> {to:?} in {parent}");
                let result = self.wire(&parent, &from, &to).map(|(key, wire)| {
                    if let NodeBody::Coupled(c) = &mut self.blueprint().nodes[key].body {
                        c.wires.retain(|w| (w.from, w.to) != (wire.from, wire.to));
                    }
                });
                (what, result)
            }
            Change::CloseOutput { path, port } => {
                (format!("close output {port} of {path}"), self.close_output(&path, port))
            }
        }
    }

    fn coupled(&self, path: &str) -> Result<ModelKey, BuildErrors> {
        let key = self.core.blueprint.find(path);
        let is_coupled =
            |k: &ModelKey| matches!(self.core.blueprint.nodes[*k].body, NodeBody::Coupled(_));
        key.filter(is_coupled).ok_or_else(|| unknown(path))
    }

    fn add(
        &mut self,
        parent: &str,
        name: crate::path::Name,
        component: crate::coupled::Component<M>,
    ) -> Result<(), BuildErrors> {
        let at = self.coupled(parent)?;
        let blueprint = Arc::make_mut(&mut self.core.blueprint);
        if blueprint.child(at, &name).is_some() {
            let path = format!("{parent}/{name}");
            return Err(BuildErrors(vec![BuildError::DuplicateName { path }]));
        }
        let (mut none, mut draft) = (Nursery::new(), Draft::default());
        let key =
            blueprint.add(at, name.clone(), component, &mut none, &mut self.slabs, &mut draft);
        let settled = blueprint.settle(draft);
        let place = match &blueprint.nodes[at].body {
            NodeBody::Coupled(c) => {
                let name = (name.stem(), name.index());
                c.children.partition_point(|&k| blueprint.name_parts(k) < name)
            }
            NodeBody::Atomic(_) => 0,
        };
        if let NodeBody::Coupled(c) = &mut blueprint.nodes[at].body {
            c.children.insert(place, key);
        }
        settled
    }

    fn remove(&mut self, path: &str) -> Result<(), BuildErrors> {
        let key = self.core.blueprint.find(path).ok_or_else(|| unknown(path))?;
        let Some(parent) = self.core.blueprint.nodes[key].parent else {
            return Err(unknown("the root cannot be removed"));
        };
        if let NodeBody::Coupled(c) = &mut self.blueprint().nodes[parent].body {
            c.children.retain(|&k| k != key);
            c.wires.retain(|w| w.from.child != Some(key) && w.to.child != Some(key));
        }
        self.bury(key);
        Ok(())
    }

    /// Drops a model and all below it; its chain stays in the trace hash.
    pub(crate) fn bury(&mut self, key: ModelKey) {
        let mut doomed = vec![key];
        while let Some(key) = doomed.pop() {
            self.blueprint().elapsed.remove(&key);
            match self.blueprint().nodes.remove(key).map(|n| n.body) {
                Some(NodeBody::Coupled(c)) => doomed.extend(c.children.iter().rev()),
                Some(NodeBody::Atomic(a)) => self.bury_one(&a),
                None => {}
            }
        }
    }

    fn bury_one(&mut self, a: &AtomicNode) {
        if (a.index as usize) < self.core.keys.len() {
            let path = self.core.network.senders[a.index as usize].path;
            let chain = self.slabs.kinds[a.kind as usize].cell(a.slot).chain;
            self.retired = self.retired.wrapping_add(fold(path, chain));
        }
        let moved = self.slabs.kinds[a.kind as usize].remove(a.slot);
        let blueprint = Arc::make_mut(&mut self.core.blueprint);
        let node = moved.and_then(|k| blueprint.nodes.get_mut(k));
        if let Some(NodeBody::Atomic(b)) = node.map(|n| &mut n.body) {
            b.slot = a.slot;
            if (b.index as usize) < self.core.keys.len() {
                self.core.homes.relocate(b.index, a.slot);
            }
        }
    }

    fn wire(
        &self,
        parent: &str,
        from: &PortOf,
        to: &PortOf,
    ) -> Result<(ModelKey, Wire), BuildErrors> {
        let key = self.coupled(parent)?;
        let end = |p: &PortOf| -> Result<PortAt, BuildErrors> {
            let child = match &p.child {
                None => None,
                Some(name) => Some(
                    self.core
                        .blueprint
                        .child(key, name)
                        .ok_or_else(|| unknown(&format!("{parent}/{name}")))?,
                ),
            };
            Ok(PortAt { child, port: p.port })
        };
        Ok((key, Wire { from: end(from)?, to: end(to)?, z: NONE }))
    }

    fn close_output(&mut self, path: &str, port: u16) -> Result<(), BuildErrors> {
        let key = self.core.blueprint.find(path).ok_or_else(|| unknown(path))?;
        let parent = self.core.blueprint.nodes[key].parent;
        if let Some(NodeBody::Coupled(c)) = parent.map(|p| &mut self.blueprint().nodes[p].body) {
            c.wires.retain(|w| w.from != PortAt { child: Some(key), port });
        }
        Ok(())
    }

    /// Flattens the changed hierarchy and moves what is kept per model to the new numbers.
    fn renumber(&mut self) {
        let core = &mut self.core;
        let mut previous: Vec<Option<u32>> = Vec::new();
        let blueprint = Arc::make_mut(&mut core.blueprint);
        blueprint.tidy();
        let (network, keys) = match flatten(blueprint) {
            Ok(flat) => flat,
            Err(why) => {
                core.error = Some(RunError::Build(why));
                return;
            }
        };
        // Where each old number went.
        let mut moved: std::collections::HashMap<ModelKey, u32> = std::collections::HashMap::new();
        for (m, &key) in core.keys.iter().enumerate() {
            moved.insert(key, m as u32);
        }
        previous.extend(keys.iter().map(|k| moved.get(k).copied()));
        let mut new_number = vec![NONE; core.keys.len()];
        for (now, before) in previous.iter().enumerate() {
            if let Some(before) = before {
                new_number[*before as usize] = now as u32;
            }
        }
        let times = |time_of: &dyn Fn(u32) -> Option<i64>| -> Vec<Option<i64>> {
            previous.iter().map(|b| b.and_then(time_of)).collect()
        };
        let visible = times(&|m| core.list.time_of(m));
        let silent = times(&|m| core.silent.time_of(m));
        core.keys = keys;
        core.reset_lists(self.slabs.may_be_silent());
        for (m, (v, s)) in visible.into_iter().zip(silent).enumerate() {
            if let Some(at) = v {
                core.list.schedule(m as u32, at);
            }
            if let Some(at) = s {
                core.silent.schedule(m as u32, at);
            }
        }
        core.ready.retain_mut(|m| {
            *m = new_number[*m as usize];
            *m != NONE
        });
        let located = std::mem::take(&mut core.located);
        core.located = located
            .iter()
            .filter_map(|(m, v)| Some((new_number[m as usize], v)).filter(|x| x.0 != NONE))
            .collect();
        core.bus.fit(&network);
        core.network = network;
        core.homes = Homes::new(&core.blueprint, &core.keys);
        core.find_heard();
        let fresh = |(m, before): (usize, &Option<u32>)| before.is_none().then_some(m as u32);
        let fresh: Vec<u32> = previous.iter().enumerate().filter_map(fresh).collect();
        for m in fresh {
            self.start_model(m, self.core.now);
        }
    }
}

fn unknown(path: &str) -> BuildErrors {
    BuildErrors(vec![BuildError::UnknownPath { path: path.to_owned() }])
}

#[cfg(test)]
mod tests;
