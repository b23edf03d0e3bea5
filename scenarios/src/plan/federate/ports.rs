//! The federation as a unit among others, for as long as a scenario is planned.
use super::{
    NAME,
    read::{Carries, EngineKind, FederateDecl, Way},
};
use crate::{
    diagnostics::Mistake,
    plan::{
        connect,
        evaluate::Evaluator,
        session::Session,
        tree::{Body, Child, End, Tree, Unit},
    },
};
use std::{rc::Rc, sync::Arc};
use superdense_adapters::federation::data::Type;
use superdense_kernel::Component;
use superdense_models::{
    kinds::{
        Context, ParamError, ParamSpec, Params, PortKind, PortSpec, Ports, UnitKind, ValueType,
        feed_through::FeedThrough,
    },
    signal::value::Value,
};

/// Most ports of one value.
const MOST: usize = 60_000;

/// The kind of the unit, which only plans have.
struct Kind;

impl UnitKind for Kind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn summary(&self) -> &'static str {
        "the federation"
    }
    fn params(&self) -> &'static [ParamSpec] {
        &[]
    }
    fn ports(&self, _: &Params) -> Result<Ports, Vec<ParamError>> {
        Ok(Ports::default())
    }
    fn build(&self, _: &Params, _: &Context<'_>) -> Result<Component<Value>, Vec<ParamError>> {
        Err(vec![ParamError::whole("ports of the model stand in its place")])
    }
    fn feed_through(&self, _: &Params, _: &Context<'_>) -> FeedThrough {
        FeedThrough::None
    }
}

/// The unit in the tree.
pub(in crate::plan) struct Joint {
    /// Its number among the children of the top.
    pub child: u32,
    /// Per way: numbers of its ports, and their types.
    pub ports: Vec<Vec<(u16, ValueType)>>,
    /// Per way: the ports are signals.
    pub signals: Vec<bool>,
}

/// Puts the unit into the top group, whose other children are there.
pub(in crate::plan) fn insert(tree: &mut Tree, decl: &FederateDecl, session: &Session) {
    let scope = Rc::clone(&tree.groups[0].scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let mut ports = Ports::default();
    let (mut numbers, mut signals, mut wrong) = (Vec::new(), Vec::new(), false);
    for way in &decl.ways {
        let found = connect::ends(tree, 0, &way.selector, way.inwards, &eval);
        let found = found.filter(|(ends, _)| fit(way, ends.len(), session));
        let Some((ends, _)) = found else {
            wrong = true;
            numbers.push(Vec::new());
            signals.push(false);
            continue;
        };
        let (mut own, mut signal) = (Vec::new(), false);
        for (k, end) in ends.iter().enumerate() {
            let other = tree.port(tree.groups[0].body(*end), way.inwards, end.port);
            let spec = spec(way, k, ends.len(), other, session);
            signal = spec.kind == PortKind::Signal;
            let list = if way.inwards { &mut ports.outputs } else { &mut ports.inputs };
            own.push((list.len() as u16, spec.ty));
            list.push(spec);
        }
        jumps_only(tree, (decl.engine, way), &ends, session);
        numbers.push(own);
        signals.push(signal);
    }
    let unit = tree.units.len() as u32;
    tree.units.push(Unit {
        path: NAME.to_owned(),
        kind: &Kind,
        params: Rc::default(),
        ports: Arc::new(ports),
        scope,
        index: None,
        span: decl.span.clone(),
        hidden: true,
        wcet: None,
        bonds: Vec::new(),
        links: Vec::new(),
    });
    let top = &mut tree.groups[0];
    let place = top.children[..top.declared].partition_point(|c| &*c.name < NAME);
    let child = Child { wrong, ..Child::added(NAME, Body::Unit(unit), decl.span.clone()) };
    top.children.insert(place, child);
    top.declared += 1;
    tree.federate = Some(Joint { child: place as u32, ports: numbers, signals });
}

/// Whether a value has as many ports as it needs.
fn fit(way: &Way, count: usize, session: &Session) -> bool {
    let wanted = match way.carries.width() {
        Some(width) => width == count,
        None if way.carries == Carries::Value(Type::ComplexVector) => {
            count > 0 && count.is_multiple_of(2)
        }
        None => (1..=MOST).contains(&count),
    };
    if !wanted {
        let path = &way.path.value;
        let (message, help) = match way.carries.width() {
            Some(1) => (
                format!("`{path}` names {count} ports, but the value needs one"),
                "name one port, or write type = \"vector\"".to_owned(),
            ),
            Some(n) => (
                format!("`{path}` names {count} ports, but the value needs {n}"),
                format!("give the unit the ports `{path}_1` to `{path}_{n}`"),
            ),
            None => (
                format!("`{path}` names {count} ports, with which the vector does not go together"),
                "complex numbers take two ports each; a value has at most 60000 ports".to_owned(),
            ),
        };
        session.report(Mistake::new("federate", &way.path.span, message).help(help));
    }
    wanted
}

/// The port opposite to one of the scenario.
fn spec(way: &Way, k: usize, count: usize, other: &PortSpec, session: &Session) -> PortSpec {
    let several = way.carries.width() != Some(1);
    let name = if several { format!("{}[{k}]", way.port) } else { way.port.clone() };
    debug_assert!(several || count == 1, "one port");
    let ty = match way.carries {
        Carries::Messages => way.read_as.map_or(other.ty, |ty| natural(ty, k)),
        Carries::Value(ty) if goes(ty, other.ty) => other.ty,
        Carries::Value(ty) => natural(ty, k),
    };
    let mut kind = other.kind;
    match way.sampled {
        Some(("every", _)) => kind = PortKind::Event,
        Some(_) => kind = PortKind::Signal,
        None => {}
    }
    if way.carries == Carries::Messages {
        kind = PortKind::Event;
    } else if way.inwards {
        begins(way, other, session);
    }
    let ty = if way.sampled.is_some() { ValueType::Real } else { ty };
    PortSpec { ty, kind, unit: way.unit.clone(), optional: true, ..PortSpec::signal(name) }
}

/// The type of a port for a value.
fn natural(ty: Type, k: usize) -> ValueType {
    match ty {
        Type::Int => ValueType::Int,
        Type::Bool => ValueType::Bool,
        Type::Text | Type::Char | Type::Raw => ValueType::Text,
        Type::NamedPoint if k == 0 => ValueType::Text,
        _ => ValueType::Real,
    }
}

/// Whether values also go through a port of another type, without loss.
fn goes(ty: Type, port: ValueType) -> bool {
    match ty {
        Type::Int => matches!(port, ValueType::Int | ValueType::Real),
        // As 0 and 1.
        Type::Bool => {
            matches!(port, ValueType::Bool | ValueType::Unit | ValueType::Int | ValueType::Real)
        }
        Type::Time => matches!(port, ValueType::Real | ValueType::Int),
        _ => false,
    }
}

/// Signals need a value to begin with, and events have none.
fn begins(way: &Way, other: &PortSpec, session: &Session) {
    let path = &way.path.value;
    match (&way.initial, other.kind) {
        (None, PortKind::Signal) => {
            let message =
                format!("`{path}` is a signal, and has no value before the first one is heard");
            let mistake = Mistake::new("federate-initial", &way.path.span, message);
            session.report(mistake.help("add initial = 0.0, with the value to begin with"));
        }
        (Some(node), PortKind::Event) => {
            let message = format!("`{path}` takes events, which have no `initial` value");
            session.report(Mistake::new("federate-initial", &node.span, message).help("delete it"));
        }
        _ => {}
    }
}

/// A signal that moves between events has to be sampled.
fn jumps_only(tree: &Tree, (engine, way): (EngineKind, &Way), ends: &[End], session: &Session) {
    // Whoever steps an FMU sees the value of the moment.
    let fmi = engine == EngineKind::Fmi;
    if fmi || way.inwards || way.sampled.is_some() || way.carries == Carries::Messages {
        return;
    }
    let moves = |end: &End| {
        let spec = tree.port(tree.groups[0].body(*end), false, end.port);
        let Some((unit, port)) = tree.origin(0, *end) else { return false };
        let unit = &tree.units[unit as usize];
        let name = &unit.ports.outputs[usize::from(port)].name;
        let jumps = |(variable, output): &(String, Option<String>)| {
            output.as_ref() == Some(name) && unit.kind.is_discrete(&unit.params, variable)
        };
        let jumps = || unit.kind.variables(&unit.params).iter().any(jumps);
        spec.kind == PortKind::Signal && unit.kind.is_continuous() && !jumps()
    };
    if ends.iter().any(moves) {
        let message = format!(
            "`{}` is a signal that moves, of which {} takes values only",
            way.path.value,
            engine.label()
        );
        let help = "add every = \"1 s\" for values at a fixed rate, or quantum = 0.5 for one per so much change";
        session.report(Mistake::new("federate-signal", &way.path.span, message).help(help));
    }
}
