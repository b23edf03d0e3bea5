//! Carrying out changes of structure at the end of a cycle (rule R12).
//!
//! The changed hierarchy is flattened anew and everything kept per model moves to the model's
//! new place in the path order, so that index order stays path order. A change costs time
//! proportional to the whole model; cycles without changes pay nothing.
use crate::{
    bag::NONE,
    blueprint::{AtomicNode, Blueprint, NodeBody, PortAt, Wire},
    call::Call,
    draft::Draft,
    error::{BuildError, BuildErrors, RunError},
    event_list::EventList,
    flatten::flatten,
    homes::Homes,
    key::ModelKey,
    message::{Message, fold},
    nursery::Nursery,
    simulation::Simulation,
    structure::{Change, PortOf, absolute},
    translation::Translation,
};
use std::sync::Arc;

impl<M: Message> Simulation<M> {
    pub(crate) fn restructure(&mut self) {
        // Also where one fails: those before it are done.
        self.restructured = true;
        (self.shared, self.apart) = (None, None);
        let changes = std::mem::take(&mut self.core.changes);
        // Now, as some of those who ask may be removed.
        let asked = changes.into_iter().map(|(m, change)| (m, self.core.path(m), change));
        let mut refused = Vec::new();
        for (m, path, change) in asked.collect::<Vec<_>>() {
            let (change, may_fail) = match change {
                Change::Attempt(change) => (*change, true),
                change => (change, false),
            };
            let (what, result) = self.apply(&path, change);
            match result {
                Ok(()) => {
                    for o in &mut self.core.observers {
                        if let std::ops::ControlFlow::Break(r) = o.structure(self.core.now, &what) {
                            self.core.stop.get_or_insert(r);
                        }
                    }
                }
                Err(why) if may_fail => refused.push((self.core.keys[m as usize], what, why)),
                Err(why) => {
                    let at = self.core.now;
                    self.core.error.get_or_insert(RunError::Structure { path, at, why });
                }
            }
        }
        if self.core.error.is_none() {
            self.renumber();
        }
        if self.core.error.is_none() {
            refused.iter().for_each(|(key, what, why)| self.tell_refused(*key, what, why));
        }
    }

    /// The structure, to be changed: a copy, if saved states share it.
    fn blueprint(&mut self) -> &mut Blueprint<M> {
        Arc::make_mut(&mut self.core.blueprint)
    }

    /// Carries out a change for the model at a path.
    fn apply(&mut self, asker: &str, change: Change<M>) -> (String, Result<(), BuildErrors>) {
        let home = asker.rsplit_once('/').map_or("", |(home, _)| home);
        let place = match &change {
            Change::Add { parent: path, .. }
            | Change::Remove { path }
            | Change::Couple { parent: path, .. }
            | Change::Decouple { parent: path, .. }
            | Change::CloseOutput { path, .. } => path.clone(),
            Change::Attempt(_) => String::new(),
        };
        let Some(at) = absolute(home, &place) else { return (place.clone(), Err(unknown(&place))) };
        match change {
            Change::Add { name, component, .. } => {
                let what = format!("add {at}/{name}");
                (what, self.add(&at, name, component))
            }
            Change::Remove { .. } => (format!("remove {at}"), self.remove(&at)),
            Change::Couple { from, to, translation, .. } => {
                let what = format!("couple {from:?} -> {to:?} in {at}");
                (what, self.couple(&at, &from, &to, translation))
            }
            Change::Decouple { from, to, .. } => {
                let what = format!("decouple {from:?} -> {to:?} in {at}");
                let result = self.wire(&at, &from, &to).map(|(key, wire)| {
                    if let NodeBody::Coupled(c) = &mut self.blueprint().nodes[key].body {
                        c.wires.retain(|w| (w.from, w.to) != (wire.from, wire.to));
                    }
                });
                (what, result)
            }
            Change::CloseOutput { port, .. } => {
                (format!("close output {port} of {at}"), self.close_output(&at, port))
            }
            // One in another is the same change.
            Change::Attempt(change) => self.apply(asker, *change),
        }
    }

    fn couple(
        &mut self,
        parent: &str,
        from: &PortOf,
        to: &PortOf,
        translation: Option<Translation<M>>,
    ) -> Result<(), BuildErrors> {
        let (key, mut wire) = self.wire(parent, from, to)?;
        let blueprint = self.blueprint();
        if let Some(t) = translation {
            blueprint.translations.push(t);
            wire.z = blueprint.translations.len() as u32 - 1;
        }
        if let NodeBody::Coupled(c) = &mut blueprint.nodes[key].body {
            c.wires.push(wire);
        }
        let mut errors = Vec::new();
        blueprint.check_wires(key, &mut errors);
        if errors.is_empty() {
            return Ok(());
        }
        if let NodeBody::Coupled(c) = &mut blueprint.nodes[key].body {
            c.wires.pop();
        }
        Err(BuildErrors(errors))
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
        if settled.is_err() {
            self.bury(key);
        } else if let NodeBody::Coupled(c) = &mut blueprint.nodes[at].body {
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

    /// Tells a model that its change was refused, and reads its time advance again.
    fn tell_refused(&mut self, key: ModelKey, change: &str, why: &BuildErrors) {
        let (now, core) = (self.core.now, &mut self.core);
        // One that another change removed need not know.
        let Some(NodeBody::Atomic(a)) = core.blueprint.nodes.get(key).map(|n| &n.body) else {
            return;
        };
        let (m, kind) = (a.index, &mut self.slabs.kinds[a.kind as usize]);
        Call::of(m, || kind.refused(a.slot, change, why));
        let (advance, silent) = kind.due(a.slot);
        core.list.cancel(m);
        core.silent.cancel(m);
        core.ready.retain(|&ready| ready != m);
        if advance.ticks() < 0 {
            core.refuse_advance(m, advance);
        } else if !advance.is_infinite() {
            self.enter(m, now, advance, silent);
        }
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
        // New models that are due at once stand behind the others.
        self.core.ready.sort_unstable();
    }
}

fn unknown(path: &str) -> BuildErrors {
    BuildErrors(vec![BuildError::UnknownPath { path: path.to_owned() }])
}

#[cfg(test)]
mod tests;
