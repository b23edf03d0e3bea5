//! Dimensions of what units declare: in their formulas, in connections, in shared events.
use super::{
    declare::LinkDecl,
    evaluate::Evaluator,
    session::Session,
    tree::{Body, Group, Tree, Unit, dotted},
    written,
};
use crate::{diagnostics::Mistake, source::Span};
use std::{collections::HashMap, rc::Rc};
use superdense_models::{
    kinds::{Located, Measures, Params, PortSpec},
    maths::{
        expr::{Measure, parse},
        quantity::unit,
    },
};

/// Reports what does not go together.
pub(super) fn check<'a>(tree: &'a Tree, session: &'a Session) -> Units<'a> {
    let all = Units::of(tree, session);
    for (number, group) in tree.groups.iter().enumerate() {
        all.wires(number as u32, group);
        for link in &group.decl.links {
            all.link(group, link);
        }
    }
    all
}

/// Kinds that hand on what they hear.
const PASSING: [&str; 5] = ["hold", "sampler", "quantiser", "delay", "dead-reckoning"];

/// The dimensions of what units declare.
pub(super) struct Units<'a> {
    tree: &'a Tree,
    session: &'a Session,
    /// By parameters, which members of an array share.
    known: HashMap<*const Params, Measures>,
    /// Of units that hand on what they hear: the output that they hear.
    heard: HashMap<u32, (u32, u16)>,
}

impl<'a> Units<'a> {
    /// The measure of an output of a unit; of one that counts in another unit than the SI base unit nothing is
    /// known, for formulas calculate with the numbers.
    pub(super) fn output(&self, path: &str, port: u16) -> Measure {
        let number = self.tree.units.iter().position(|unit| unit.path == path);
        let number = number.filter(|_| self.scaled(path, port).is_none());
        number.map_or(Measure::Unknown, |number| self.port(number as u32, false, port).0)
    }

    /// The unit in which an output counts, if it is another one than the SI base unit.
    pub(super) fn scaled(&self, path: &str, port: u16) -> Option<String> {
        let unit = self.tree.units.iter().find(|unit| unit.path == path)?;
        let own = unit.ports.outputs[usize::from(port)].unit.clone()?;
        scale(&own).map(|_| own)
    }

    fn of(tree: &'a Tree, session: &'a Session) -> Self {
        let mut known = HashMap::new();
        for unit in tree.units.iter().filter(|u| u.kind.is_continuous()) {
            known.entry(Rc::as_ptr(&unit.params)).or_insert_with(|| {
                let index = unit.index.map(|i| ("i", f64::from(i)));
                let eval = Evaluator::new(session, &unit.scope, index.as_slice());
                let names = |name: &str| eval.measure(name);
                let (measures, errors) =
                    unit.kind.measures(&unit.params, &names, session.functions());
                session.unit_errors(&unit.span, &dotted(&unit.path), errors);
                measures
            });
        }
        let mut heard = HashMap::new();
        for (number, group) in tree.groups.iter().enumerate() {
            for wire in &group.wires {
                let Some(from) = tree.origin(number as u32, wire.from) else { continue };
                for (to, port) in tree.targets(number as u32, wire.to) {
                    if port == 0 && PASSING.contains(&tree.units[to as usize].kind.name()) {
                        heard.insert(to, from);
                    }
                }
            }
        }
        Self { tree, session, known, heard }
    }

    /// The output behind one of a unit that hands on what it hears.
    fn behind(&self, (mut unit, mut port): (u32, u16)) -> (u32, u16) {
        // They may hear each other in a circle.
        for _ in 0..self.heard.len() {
            match self.heard.get(&unit) {
                Some(&from) if port == 0 => (unit, port) = from,
                _ => break,
            }
        }
        (unit, port)
    }

    fn unit(&self, number: u32) -> (&'a Unit, Option<&Measures>) {
        let unit = &self.tree.units[number as usize];
        (unit, self.known.get(&Rc::as_ptr(&unit.params)))
    }

    /// The measure of a port's values: by its own unit of measure, or by what the unit declares.
    fn port(&self, number: u32, input: bool, port: u16) -> (Measure, &'a PortSpec) {
        let (unit, measures) = self.unit(number);
        let ports = if input { &unit.ports.inputs } else { &unit.ports.outputs };
        let spec = &ports[usize::from(port)];
        let table = measures.map(|m| if input { &m.variables } else { &m.outputs });
        let measure = match (spec.unit.as_deref().map(self::unit), table) {
            (Some(Ok(unit)), _) => Measure::of(&unit),
            (_, Some(table)) => Measures::of(table, &spec.name),
            _ if input => {
                written::compared(unit, self.session).map_or(Measure::Unknown, |(_, m)| m)
            }
            _ => written::sent(unit, self.session),
        };
        (measure, spec)
    }

    /// Warns of a temperature that a block compares with a number without a unit.
    fn warn_of_bare(&self, span: &Span, from: &str, to: u32) {
        let unit = &self.tree.units[to as usize];
        let name = dotted(&unit.path);
        let Some((parameter, _)) = written::compared(unit, self.session) else { return };
        self.session.warn(
            span,
            &format!(
                "`{from}` is a temperature that counts in kelvin, and `{parameter}` of `{name}` has no unit: write it \
                 with one, such as \"20 degC\""
            ),
        );
    }

    fn wires(&self, number: u32, group: &Group) {
        for wire in &group.wires {
            let Some(connection) = wire.connection else { continue };
            let Some(from) = self.tree.origin(number, wire.from) else { continue };
            let (from, out) = self.behind(from);
            let (sent, out) = self.port(from, false, out);
            for (to, port) in self.tree.targets(number, wire.to) {
                let (heard, into) = self.port(to, true, port);
                if out.unit.is_some() && into.unit.is_some() || heard == Measure::Unknown {
                    continue;
                }
                let name = |unit: u32, port: &PortSpec| {
                    format!("{}.{}", dotted(&self.tree.units[unit as usize].path), port.name)
                };
                if matches!(heard, Measure::Number(_)) {
                    if sent.is_scale() {
                        self.warn_of_bare(group.span(connection), &name(from, out), to);
                    }
                    continue;
                }
                let (from, to) = (name(from, out), name(to, into));
                let span = group.span(connection);
                if sent.misfit(heard).is_none()
                    && let (Measure::Known(_), Measure::Known(_)) = (sent, heard)
                    && let Some((own, help)) = scaled(out, into)
                {
                    let (own_port, other) =
                        if out.unit.is_some() { (&from, &to) } else { (&to, &from) };
                    let message =
                        format!("`{own_port}` counts in {own}, and `{other}` in SI base units");
                    self.session.report(Mistake::new("unit-mismatch", span, message).help(help));
                    continue;
                }
                let known = sent.text() != Measure::Unknown.text();
                match sent.misfit(heard) {
                    None => {}
                    Some(_) if known => {
                        let message = format!("`{from}` is {}, `{to}` {}", sent.text(), heard.text());
                        let mistake = Mistake::new("unit-mismatch", span, message);
                        self.session.report(mistake.help("connect what has one dimension"));
                    }
                    Some(_) => self.session.warn(
                        span,
                        &format!(
                            "`{from}` has no unit, and `{to}` is a temperature that counts in kelvin: \
                             if degrees Celsius are sent, add 273.15 to them"
                        ),
                    ),
                }
            }
        }
    }

    /// The members' variables in the texts of a shared event.
    fn link(&self, group: &Group, link: &LinkDecl) {
        let eval = Evaluator::new(self.session, &group.scope, &[]);
        let measure = |name: &str| self.variable(group, name).unwrap_or_else(|| eval.measure(name));
        let formula = |text: &Located<String>| {
            let (measure, errors) =
                parse(&text.value).ok()?.measure(&measure, self.session.functions());
            self.session.expression(text, &errors);
            Some(measure)
        };
        formula(&link.when);
        for (target, text) in &link.reset {
            let wanted = parse(&target.value)
                .map_or(Measure::Unknown, |t| t.measure(&measure, self.session.functions()).0);
            let Some(is) = formula(text) else { continue };
            let Some(help) = is.misfit(wanted) else { continue };
            let message = format!("`{}` is {}, this is {}", target.value, wanted.text(), is.text());
            let mistake = Mistake::new("unit-mismatch", &text.span, message);
            self.session.report(mistake.help(help).also(&target.span, "what is reset"));
        }
    }

    /// `unit.variable`, without indices.
    fn variable(&self, group: &Group, name: &str) -> Option<Measure> {
        let (child, variable) = name.split_once('.')?;
        let child = &group.children[group.find(child)? as usize];
        let Body::Unit(unit) = *child.members.first()? else { return None };
        Some(Measures::of(&self.unit(unit).1?.variables, variable))
    }
}

/// Of a connection of a port that has a unit of measure of its own, other than the SI base unit of its dimension, to
/// one that has none: the unit, and how to convert.
fn scaled(out: &PortSpec, into: &PortSpec) -> Option<(String, String)> {
    let own = out.unit.as_deref().or(into.unit.as_deref())?;
    let (zero, size) = scale(own)?;
    let sends = out.unit.is_some();
    let help = match (sends, zero == 0.0) {
        (_, true) => {
            let gain = if sends { size } else { 1.0 / size };
            format!("put a unit of kind \"gain\" with gain = {gain} between them")
        }
        (true, false) => format!(
            "put equations between them: inputs = {{ u = 0 }}, outputs = {{ y = \"{size} * u + {zero}\" }}"
        ),
        (false, false) => format!(
            "put equations between them: inputs = {{ u = 0 }}, outputs = {{ y = \"(u - {zero}) / {size}\" }}"
        ),
    };
    Some((own.to_owned(), help))
}

/// Zero in a unit of measure, and its size, in SI base units, unless it is one of these.
pub(super) fn scale(text: &str) -> Option<(f64, f64)> {
    let own = unit(text).ok()?;
    let (zero, size) = (own.to_si(0.0), own.to_si(1.0) - own.to_si(0.0));
    (zero != 0.0 || size != 1.0).then_some((zero, size))
}
