//! The instances of a scenario: groups, units, and what connects them, before the model is built.
use super::{
    bonds::{self, Bond, Bonds},
    declare::GroupDecl,
    joints::{Home, Joint, Pin},
    parameters::Scope,
};
use crate::source::Span;
use std::{rc::Rc, sync::Arc};
use superdense_models::kinds::{LinkSpec, ParamSpec, ParamType, Params, PortSpec, Ports, UnitKind};

/// An instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Index into [`Tree::units`].
    Unit(u32),
    /// Index into [`Tree::groups`].
    Group(u32),
    /// Index into [`Tree::parts`].
    Part(u32),
}

/// A name within a group, with its one instance or the members of its array.
pub(super) struct Child {
    pub name: Rc<str>,
    pub array: bool,
    pub members: Vec<Body>,
    /// The declaration is wrong, and members are missing; nothing is reported about its connections
    /// then.
    pub wrong: bool,
    /// Inputs without a connection keep their start values on purpose.
    pub unconnected: bool,
    pub span: Span,
}

impl Child {
    /// A unit or part that the plan adds, for what stands at `span`.
    pub(super) fn added(name: &str, body: Body, span: Span) -> Self {
        Self {
            name: name.into(),
            array: false,
            members: vec![body],
            wrong: false,
            unconnected: true,
            span,
        }
    }
}

/// A port of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    pub child: u32,
    pub member: u32,
    pub port: u16,
}

/// A connection between two children.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire {
    pub from: End,
    pub to: End,
    /// Number of the connection in the group's declaration, or behind these that of the line that joins bonds; none for
    /// links.
    pub connection: Option<u32>,
}

/// A port of a group.
pub(super) struct GroupPort {
    pub spec: PortSpec,
    pub span: Span,
    /// Inner ports.
    pub ends: Vec<End>,
}

/// An instance of a template, or the scenario.
pub(super) struct Group {
    pub path: String,
    pub decl: Rc<GroupDecl>,
    pub scope: Rc<Scope>,
    /// Declared children sorted by name, then adapters.
    pub children: Vec<Child>,
    /// The number of declared children.
    pub declared: usize,
    pub inputs: Vec<GroupPort>,
    pub outputs: Vec<GroupPort>,
    /// Connectors of a template by name.
    pub connectors: Vec<(String, Pin)>,
    /// Bonds of units that a template gives out under the names of connectors.
    pub bonds: Vec<(String, bonds::Pin)>,
    pub wires: Vec<Wire>,
}

/// An instance of a kind.
pub(super) struct Unit {
    pub path: String,
    pub kind: &'static dyn UnitKind,
    pub params: Rc<Params>,
    pub ports: Arc<Ports>,
    pub scope: Rc<Scope>,
    pub index: Option<u32>,
    pub span: Span,
    pub hidden: bool,
    /// Seconds that a transition takes at most, if the author says so.
    pub wcet: Option<f64>,
    /// Ports by which the unit is joined to others though its equations are not known.
    pub bonds: Vec<Bond>,
    /// Shared events, with `link` still unset; see [`Tree::links`].
    pub links: Vec<LinkSpec>,
}

/// A shared event: its full name, which orders links, and its members.
pub(super) struct LinkInstance {
    pub name: String,
    pub members: Vec<u32>,
}

/// All instances.
#[derive(Default)]
pub(super) struct Tree {
    pub units: Vec<Unit>,
    /// Units with connectors, each of which becomes a part of one of `units`.
    pub parts: Vec<Unit>,
    pub joints: Vec<Joint>,
    pub bonds: Bonds,
    /// Per part, once all of them are united.
    pub homes: Vec<Home>,
    pub groups: Vec<Group>,
    pub links: Vec<LinkInstance>,
    /// The federation as a unit of the top.
    pub federate: Option<super::federate::Joint>,
    /// Wires of all groups, for the size limit.
    pub wires: usize,
}

/// The name of an instance.
pub(super) fn member_name(child: &Child, member: u32) -> String {
    if child.array { format!("{}[{member}]", child.name) } else { child.name.to_string() }
}

/// A path as a scenario writes it.
pub(crate) fn dotted(path: &str) -> String {
    path.replace('/', ".")
}

/// `parent/name`, or `name` at the top.
pub(super) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

impl Group {
    /// The declared child of a name.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let found = self.children[..self.declared].binary_search_by(|c| (*c.name).cmp(name));
        found.ok().map(|i| i as u32)
    }

    /// The place of a connection in the text.
    pub(super) fn span(&self, connection: u32) -> &Span {
        let (at, written) = (connection as usize, &self.decl.connections);
        match written.get(at) {
            Some(connection) => &connection.span,
            None => &self.decl.joints[at - written.len()].span,
        }
    }

    /// The instance at an end.
    pub(super) fn body(&self, end: End) -> Body {
        self.children[end.child as usize].members[end.member as usize]
    }

    /// `plant[3]`.
    pub(super) fn name_of(&self, end: End) -> String {
        member_name(&self.children[end.child as usize], end.member)
    }
}

impl Tree {
    /// The child of the top in whose place ports of the model stand.
    pub(super) fn outside(&self) -> Option<u32> {
        self.federate.as_ref().map(|f| f.child)
    }

    /// The ports of a unit or a part.
    fn own_ports(&self, body: Body) -> &Ports {
        match body {
            Body::Part(part) => &self.parts[part as usize].ports,
            Body::Unit(unit) => &self.units[unit as usize].ports,
            Body::Group(_) => unreachable!("the caller knows the ports of groups"),
        }
    }

    /// Inputs or outputs of an instance: name and specification.
    pub(super) fn ports(&self, body: Body, input: bool) -> Vec<&PortSpec> {
        match body {
            Body::Unit(_) | Body::Part(_) => {
                let ports = self.own_ports(body);
                if input { ports.inputs.iter().collect() } else { ports.outputs.iter().collect() }
            }
            Body::Group(g) => {
                let group = &self.groups[g as usize];
                let ports = if input { &group.inputs } else { &group.outputs };
                ports.iter().map(|p| &p.spec).collect()
            }
        }
    }

    /// One port.
    pub(super) fn port(&self, body: Body, input: bool, port: u16) -> &PortSpec {
        match (body, input) {
            (Body::Unit(_) | Body::Part(_), true) => {
                &self.own_ports(body).inputs[usize::from(port)]
            }
            (Body::Unit(_) | Body::Part(_), false) => {
                &self.own_ports(body).outputs[usize::from(port)]
            }
            (Body::Group(g), true) => &self.groups[g as usize].inputs[usize::from(port)].spec,
            (Body::Group(g), false) => &self.groups[g as usize].outputs[usize::from(port)].spec,
        }
    }

    /// Whether a unit takes events, and would take signals if it were told so.
    pub(super) fn takes_signals(&self, body: Body) -> bool {
        let Body::Unit(u) = body else { return false };
        let unit = &self.units[u as usize];
        let choice = |p: &ParamSpec| {
            p.name == "of" && matches!(p.ty, ParamType::Choice(all) if all.contains(&"signal"))
        };
        unit.kind.params().iter().any(choice) && unit.params.text("of") != "signal"
    }

    /// The number of the port of a name.
    pub(super) fn port_number(&self, body: Body, input: bool, name: &str) -> Option<u16> {
        let at = match (body, input) {
            (Body::Unit(_) | Body::Part(_), true) => {
                self.own_ports(body).inputs.iter().position(|p| p.name == name)
            }
            (Body::Unit(_) | Body::Part(_), false) => {
                self.own_ports(body).outputs.iter().position(|p| p.name == name)
            }
            (Body::Group(g), true) => {
                self.groups[g as usize].inputs.iter().position(|p| p.spec.name == name)
            }
            (Body::Group(g), false) => {
                self.groups[g as usize].outputs.iter().position(|p| p.spec.name == name)
            }
        };
        at.and_then(|i| u16::try_from(i).ok())
    }

    /// The unit and port behind an output; group outputs lead inwards.
    pub(super) fn origin(&self, group: u32, end: End) -> Option<(u32, u16)> {
        let (mut group, mut end) = (group, end);
        loop {
            match self.groups[group as usize].body(end) {
                Body::Unit(u) => return Some((u, end.port)),
                Body::Part(part) => return self.at_home(part, false, end.port),
                Body::Group(g) => {
                    group = g;
                    end = *self.groups[g as usize].outputs[usize::from(end.port)].ends.first()?;
                }
            }
        }
    }

    /// The units and ports behind an input; group inputs may lead to many.
    pub(super) fn targets(&self, group: u32, end: End) -> Vec<(u32, u16)> {
        let (mut out, mut todo) = (Vec::new(), vec![(group, end)]);
        while let Some((group, end)) = todo.pop() {
            match self.groups[group as usize].body(end) {
                Body::Unit(u) => out.push((u, end.port)),
                Body::Part(part) => out.extend(self.at_home(part, true, end.port)),
                Body::Group(g) => {
                    let inner = &self.groups[g as usize].inputs[usize::from(end.port)].ends;
                    todo.extend(inner.iter().map(|&e| (g, e)));
                }
            }
        }
        out
    }
}
