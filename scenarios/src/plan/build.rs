//! Instances into the kernel's model.
use super::{
    UnitInfo,
    evaluate::Evaluator,
    session::Session,
    tree::{Body, End, Group, GroupPort, Tree, Wire, dotted, member_name},
    turns::Turns,
};
use crate::{diagnostics::Mistake, result::Results};
use std::{collections::HashMap, rc::Rc, sync::Arc};
use superdense_kernel::{
    Child, Component, Coupled, Simulation,
    path::Name,
    port::{InPort, OutPort},
};
use superdense_models::{
    couplings::{Outputs, rehearsal, sequence},
    kinds::{Context, ParamError, Params, PortKind, PortSpec, Ports, UnitKind, ValueType},
    signal::value::Value,
};

/// The units of a tree in path order: their numbers, and what the plan says about them.
pub(super) struct Numbering {
    /// By index in the tree.
    pub number: Vec<u32>,
    pub infos: Vec<UnitInfo>,
}

/// Numbers the units in the order of their paths.
pub(super) fn number(tree: &Tree) -> Numbering {
    let mut n = Numbering {
        number: vec![0; tree.units.len()],
        infos: Vec::with_capacity(tree.units.len()),
    };
    visit(tree, 0, &mut n);
    n
}

fn visit(tree: &Tree, group: u32, n: &mut Numbering) {
    let g = &tree.groups[group as usize];
    let mut order: Vec<(Name, Body)> = Vec::new();
    for child in &g.children {
        for (i, &body) in child.members.iter().enumerate() {
            order.push((Name::from(member_name(child, i as u32)), body));
        }
    }
    order.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, body) in order {
        match body {
            Body::Group(inner) => visit(tree, inner, n),
            Body::Part(_) => {}
            // The federation is none of the model's units.
            Body::Unit(u) if group == 0 && is_outside(tree, body) => {
                n.number[u as usize] = u32::MAX;
            }
            Body::Unit(u) => {
                let unit = &tree.units[u as usize];
                n.number[u as usize] = n.infos.len() as u32;
                n.infos.push(UnitInfo {
                    path: unit.path.clone(),
                    kind: unit.kind.name(),
                    ports: Arc::clone(&unit.ports),
                    continuous: unit.kind.is_continuous(),
                    hidden: unit.hidden,
                    wcet: unit.wcet,
                });
            }
        }
    }
}

fn is_outside(tree: &Tree, body: Body) -> bool {
    let outside = tree.outside().and_then(|c| tree.groups[0].children[c as usize].members.first());
    outside == Some(&body)
}

/// Builds the model; mistakes of units are reported.
pub(super) fn model(
    tree: &Tree,
    numbering: &Numbering,
    results: &Results,
    session: &Session,
) -> Coupled<Value> {
    let mut builder = Builder::new(tree, numbering, session);
    builder.wiring.mark(results, tree);
    let Some(child) = tree.outside() else { return builder.group(0) };
    let Some(&Body::Unit(unit)) = tree.groups[0].children[child as usize].members.first() else {
        return builder.group(0);
    };
    // Outputs of the federation are inputs of the model.
    let Ports { inputs, outputs } = (*tree.units[unit as usize].ports).clone();
    builder.without(Some((child, &Ports { inputs: outputs, outputs: inputs })), 0)
}

/// Facts about the units that follow from the wires.
struct Wiring {
    /// Per unit and input: the continuous unit that drives it. Empty for units without such inputs.
    sources: Vec<Vec<Option<u32>>>,
    /// Per unit and output: whether some unit receives it.
    connected: Vec<Vec<bool>>,
    /// Per unit and output: whether a result follows it. Empty for units without such outputs.
    read: Vec<Vec<bool>>,
    /// Per unit and input: whether some unit sends to it.
    driven: Vec<Vec<bool>>,
    /// Per unit: whether a master stands in its group or in one around it.
    mastered: Vec<bool>,
}

impl Wiring {
    fn new(tree: &Tree, numbering: &Numbering) -> Self {
        let mut sources: Vec<Vec<Option<u32>>> = vec![Vec::new(); tree.units.len()];
        let outputs = |u: &super::tree::Unit| vec![false; u.ports.outputs.len()];
        let mut connected: Vec<Vec<bool>> = tree.units.iter().map(outputs).collect();
        let inputs = |u: &super::tree::Unit| vec![false; u.ports.inputs.len()];
        let mut driven: Vec<Vec<bool>> = tree.units.iter().map(inputs).collect();
        for (at, g) in tree.groups.iter().enumerate() {
            for w in &g.wires {
                let Some((from, out)) = tree.origin(at as u32, w.from) else { continue };
                let targets = tree.targets(at as u32, w.to);
                if let Some(place) = connected[from as usize].get_mut(usize::from(out)) {
                    *place |= !targets.is_empty();
                }
                for &(to, port) in &targets {
                    if let Some(place) = driven[to as usize].get_mut(usize::from(port)) {
                        *place = true;
                    }
                }
                if !tree.units[from as usize].kind.is_continuous() {
                    continue;
                }
                for (to, port) in targets {
                    let list = &mut sources[to as usize];
                    list.resize(tree.units[to as usize].ports.inputs.len(), None);
                    if let Some(place) = list.get_mut(usize::from(port)) {
                        *place = Some(numbering.number[from as usize]);
                    }
                }
            }
        }
        let mut mastered = vec![false; tree.units.len()];
        mark_mastered(tree, 0, false, &mut mastered);
        Self { sources, connected, read: vec![Vec::new(); tree.units.len()], driven, mastered }
    }

    /// Marks the outputs that results follow.
    fn mark(&mut self, results: &Results, tree: &Tree) {
        let place: HashMap<&str, usize> =
            tree.units.iter().enumerate().map(|(at, unit)| (unit.path.as_str(), at)).collect();
        for (path, port) in results.followed() {
            let Some(&at) = place.get(path.as_str()) else { continue };
            self.read[at].resize(tree.units[at].ports.outputs.len(), false);
            if let Some(read) = self.read[at].get_mut(usize::from(*port)) {
                *read = true;
            }
        }
    }
}

/// Marks the units of groups with a master, and of groups in these.
fn mark_mastered(tree: &Tree, group: u32, around: bool, mastered: &mut [bool]) {
    let bodies = || tree.groups[group as usize].children.iter().flat_map(|c| c.members.iter());
    let master = |body: &Body| matches!(body, Body::Unit(u) if super::coupling::is_master(&tree.units[*u as usize]));
    let within = around || bodies().any(master);
    for body in bodies() {
        match *body {
            Body::Group(inner) => mark_mastered(tree, inner, within, mastered),
            Body::Unit(u) => mastered[u as usize] = within,
            Body::Part(_) => {}
        }
    }
}

struct Builder<'a> {
    tree: &'a Tree,
    session: &'a Session,
    wiring: Wiring,
    turns: Turns,
}

/// Inputs and outputs of a group, or those of its master in their place.
fn port_names(g: &Group, master: Option<&Ports>) -> [Vec<String>; 2] {
    let own = |ports: &[GroupPort]| ports.iter().map(|p| p.spec.name.clone()).collect();
    let of = |ports: &[PortSpec]| ports.iter().map(|p| p.name.clone()).collect();
    match master {
        None => [own(&g.inputs), own(&g.outputs)],
        Some(ports) => [of(&ports.inputs), of(&ports.outputs)],
    }
}

/// The inner ports from which an output of a group is sent; signals of a part leave its unit, which stands further out.
fn sent<'g>(g: &'g Group, output: &'g GroupPort) -> impl Iterator<Item = End> + 'g {
    output.ends.iter().copied().filter(|end| !matches!(g.body(*end), Body::Part(_)))
}

impl<'a> Builder<'a> {
    fn new(tree: &'a Tree, numbering: &Numbering, session: &'a Session) -> Self {
        let turns = super::turns::turns(tree, session);
        Self { tree, session, wiring: Wiring::new(tree, numbering), turns }
    }

    fn group(&self, at: u32) -> Coupled<Value> {
        self.without(None, at)
    }

    /// Puts the units of a group into its model, without the `master`; nothing if one cannot be built.
    fn children(
        &self,
        model: &mut Coupled<Value>,
        (at, master): (u32, Option<u32>),
    ) -> Option<Vec<Vec<Child>>> {
        let g = &self.tree.groups[at as usize];
        let mut handles = Vec::with_capacity(g.children.len());
        let mut failed = false;
        for (number, child) in (0u32..).zip(&g.children) {
            let mut members = Vec::with_capacity(child.members.len());
            for (i, &body) in child.members.iter().enumerate() {
                if master == Some(number) {
                    break;
                }
                let component = match body {
                    // The unit that it became a part of stands elsewhere.
                    Body::Part(_) => continue,
                    Body::Group(inner) => Some(Component::from(self.group(inner))),
                    Body::Unit(u) => self.unit_of(at, number, u),
                };
                let Some(component) = component else {
                    // The other members would repeat the mistakes; other units have their own.
                    failed = true;
                    break;
                };
                let name = Name::from(member_name(child, i as u32));
                members.push(model.add_component(name, component));
            }
            handles.push(members);
        }
        (!failed).then_some(handles)
    }

    /// The units of a group, or, for a trial and in a federation, with ports in the place of their `master`, a child.
    fn without(&self, master: Option<(u32, &Ports)>, at: u32) -> Coupled<Value> {
        let g = &self.tree.groups[at as usize];
        let mut model = Coupled::new();
        let [inputs, outputs] = port_names(g, master.map(|m| m.1));
        let inputs: Vec<InPort<Value>> = inputs.into_iter().map(|n| model.add_input(n)).collect();
        let outputs: Vec<OutPort<Value>> =
            outputs.into_iter().map(|n| model.add_output(n)).collect();
        let master = master.map(|m| m.0);
        let Some(handles) = self.children(&mut model, (at, master)) else { return model };
        let child = |e: End| handles[e.child as usize][e.member as usize];
        // Parts have no wires of their own any more, unless they could not be joined, which is told by then.
        let stands = |e: End| master == Some(e.child) || !matches!(g.body(e), Body::Part(_));
        for w in g.wires.iter().filter(|w| stands(w.from) && stands(w.to)) {
            let (from, to) = (w.from, w.to);
            let output = |e: End| child(e).output(OutPort::<Value>::new(e.port));
            let input = |e: End| child(e).input(InPort::<Value>::new(e.port));
            if master == Some(from.child) {
                model.couple(inputs[usize::from(from.port)].inside(), input(to));
            } else if master == Some(to.child) {
                model.couple(output(from), outputs[usize::from(to.port)].inside());
            } else {
                model.couple(output(from), input(to));
            }
        }
        if let Some(master) = master {
            for spec in &g.inputs {
                let (own, units): (Vec<End>, _) = spec.ends.iter().partition(|e| e.child == master);
                for (own, e) in own.iter().flat_map(|own| units.iter().map(move |e| (own, e))) {
                    let input = child(*e).input(InPort::<Value>::new(e.port));
                    model.couple(inputs[usize::from(own.port)].inside(), input);
                }
            }
            return model;
        }
        for (port, spec) in inputs.iter().zip(&g.inputs) {
            for &e in spec.ends.iter().filter(|e| stands(**e)) {
                model.couple(port.inside(), child(e).input(InPort::<Value>::new(e.port)));
            }
        }
        for (port, spec) in outputs.iter().zip(&g.outputs) {
            for e in sent(g, spec) {
                model.couple(child(e).output(OutPort::<Value>::new(e.port)), port.inside());
            }
        }
        model
    }

    /// A unit of a group; a master that tries steps out gets the group's units once more.
    fn unit_of(&self, group: u32, child: u32, at: u32) -> Option<Component<Value>> {
        let unit = &self.tree.units[at as usize];
        if super::coupling::is_sequenced(unit) {
            let foreseen = super::foresee::foresee(self.tree, (group, child), self.session)?;
            return self.unit(at, |_, params, context| sequence(params, context, foreseen));
        }
        if !super::coupling::is_rehearsal(unit) {
            return self.unit(at, |kind, params, context| kind.build(params, context));
        }
        let trial = self.without(Some((child, &unit.ports)), group);
        let outputs = self.outputs(group, child);
        self.unit(at, |_, params, context| {
            let trial = Simulation::new(trial, self.session.options()).map_err(|e| {
                vec![ParamError::whole(e.to_string()).help("see the units' errors")]
            })?;
            rehearsal(params, context, trial, &outputs)
        })
    }

    /// The outputs behind the inputs of a group's `master`, and the other signals of its units, with paths within the
    /// group.
    fn outputs(&self, group: u32, master: u32) -> Outputs {
        let g = &self.tree.groups[group as usize];
        let mut all = Vec::new();
        for w in g.wires.iter().filter(|w| w.to.child == master) {
            let Some((unit, port)) = self.tree.origin(group, w.from) else { continue };
            let path = &self.tree.units[unit as usize].path;
            all.push((w.to.port, (path[g.path.len()..].to_owned(), port)));
        }
        all.sort();
        let signals: Vec<(String, u16)> = all.into_iter().map(|(_, source)| source).collect();
        let mut others = Vec::new();
        for unit in self.tree.units.iter().filter(|unit| unit.kind.is_continuous() && !unit.hidden)
        {
            let below = |path: &&str| g.path.is_empty() || path.starts_with('/');
            let Some(path) = unit.path.strip_prefix(&*g.path).filter(below) else { continue };
            let outputs = unit.ports.outputs.iter().zip(0u16..);
            let reals =
                outputs.filter(|(p, _)| p.kind == PortKind::Signal && p.ty == ValueType::Real);
            let each = reals.map(|(_, port)| (path.to_owned(), port));
            others.extend(each.filter(|other| !signals.contains(other)));
        }
        Outputs { signals, others, pairs: self.pairs(group, master) }
    }

    /// The signals from a group's `master` to its coordinators that bonds hold equal, with the names of their gaps.
    fn pairs(&self, group: u32, master: u32) -> Vec<(String, [u16; 2])> {
        let g = &self.tree.groups[group as usize];
        let pair = |(name, gap): (String, End)| {
            let port = self.tree.port(g.body(gap), false, gap.port);
            let number = port.name.strip_prefix("whole")?;
            let input = |port: u16| self.tree.port(g.body(gap), true, port).name.clone();
            let own = |w: &&Wire| w.from.child == master && w.to.child == gap.child;
            // The first of them is the one from which all gaps are measured.
            let told: Vec<(String, u16)> =
                g.wires.iter().filter(own).map(|w| (input(w.to.port), w.from.port)).collect();
            let number_of = |name: &str| name.strip_prefix('x')?.parse::<u32>().ok();
            let first =
                told.iter().filter_map(|(name, port)| Some((number_of(name)?, *port))).min()?;
            let other = told.iter().find(|(name, _)| name.strip_prefix('x') == Some(number))?;
            Some((name, [first.1, other.1]))
        };
        self.tree.bonds.of_group(group).filter_map(pair).collect()
    }

    fn unit(
        &self,
        at: u32,
        build: impl FnOnce(
            &dyn UnitKind,
            &Params,
            &Context<'_>,
        ) -> Result<Component<Value>, Vec<ParamError>>,
    ) -> Option<Component<Value>> {
        let unit = &self.tree.units[at as usize];
        let index = unit.index.map(|i| ("i", f64::from(i)));
        let eval = Evaluator::new(self.session, &unit.scope, index.as_slice());
        let context = Context {
            functions: self.session.functions(),
            path: &unit.path,
            resolution: self.session.resolution,
            seed: self.session.seed,
            horizon: self.session.horizon.get(),
            tighter: 1.0 / self.session.tighten,
            folder: &self.session.folder,
            constants: &|name| eval.constant(name),
            measures: &|name| eval.measure(name),
            angles: &|name| eval.angles(name),
            links: &unit.links,
            input_sources: &self.wiring.sources[at as usize],
            output_connected: &self.wiring.connected[at as usize],
            output_read: &self.wiring.read[at as usize],
            input_connected: &self.wiring.driven[at as usize],
            mastered: self.wiring.mastered[at as usize],
            turn: self.turns.of(at),
            input_names: self.turns.names(at),
        };
        let accuracy = unit.kind.accuracy();
        let other = || unit.kind.second_family(&unit.params).map(Rc::new);
        let other = self.session.second_family.then(other).flatten();
        let mut params = other.unwrap_or_else(|| Rc::clone(&unit.params));
        if self.session.tighten != 1.0 && !accuracy.is_empty() {
            Rc::make_mut(&mut params).scale(accuracy, self.session.tighten);
        }
        match build(unit.kind, &params, &context) {
            Ok(component) => Some(component),
            Err(errors) => {
                if errors.is_empty() {
                    let message = format!("unit `{}` cannot be built", dotted(&unit.path));
                    self.session.report(Mistake::new("unit", &unit.span, message));
                }
                self.session.unit_errors(&unit.span, &dotted(&unit.path), errors);
                None
            }
        }
    }

    /// Builds one member of each array only, to find the mistakes of units in a wrong scenario.
    fn check(&self, at: u32) {
        for (number, child) in (0u32..).zip(&self.tree.groups[at as usize].children) {
            if at == 0 && self.tree.outside() == Some(number) {
                continue;
            }
            match child.members.first() {
                Some(&Body::Group(inner)) => self.check(inner),
                Some(&Body::Unit(u)) => {
                    self.unit_of(at, number, u);
                }
                Some(Body::Part(_)) | None => {}
            }
        }
    }
}

/// Reports the mistakes that only building a unit finds.
pub(super) fn check(tree: &Tree, numbering: &Numbering, session: &Session) {
    Builder::new(tree, numbering, session).check(0);
}
