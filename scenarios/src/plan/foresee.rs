//! Which events of its units a master can see coming: their conditions over the signals that pass
//! through it.
use super::{
    loops::context,
    session::Session,
    tree::{Body, End, Group, Tree, Unit, dotted},
};
use crate::diagnostics::Mistake;
use superdense_models::{
    couplings::{Foreseen, TEAM},
    kinds::{Param, Seen},
    maths::expr::{Expr, VarId},
};

/// The master of a group, with what passes through it.
struct Master<'a> {
    tree: &'a Tree,
    group: u32,
    child: u32,
    unit: &'a Unit,
}

/// The events of the units whose signals pass through the master, a child of a group; none with a
/// mistake, which is reported, when one depends on what no signal tells.
pub(super) fn foresee(
    tree: &Tree,
    (group, child): (u32, u32),
    session: &Session,
) -> Option<Vec<Foreseen>> {
    let g = &tree.groups[group as usize];
    let Body::Unit(unit) = g.children[child as usize].members[0] else { return None };
    let master = Master { tree, group, child, unit: &tree.units[unit as usize] };
    let (mut seen, mut all, mut good) = (Vec::new(), Vec::new(), true);
    for w in g.wires.iter().filter(|w| w.to.child == child) {
        let from = (w.from.child, w.from.member);
        if seen.contains(&from) {
            continue;
        }
        seen.push(from);
        let member = master.place(w.to.port);
        for unit in below(tree, g.body(w.from)) {
            good &= master.events(unit, member, session, &mut all);
        }
    }
    good.then_some(all)
}

/// The declared units of a body.
pub(super) fn below(tree: &Tree, body: Body) -> Vec<u32> {
    match body {
        Body::Unit(unit) => vec![unit],
        Body::Part(_) => Vec::new(),
        Body::Group(inner) => {
            let children = tree.groups[inner as usize].children.iter();
            let bodies = children.flat_map(|child| child.members.iter());
            bodies.flat_map(|&body| below(tree, body)).collect()
        }
    }
}

impl Master<'_> {
    fn wires(&self) -> &Group {
        &self.tree.groups[self.group as usize]
    }

    /// The place in the sequence of the member that a signal comes from.
    fn place(&self, signal: u16) -> u16 {
        match self.unit.params.get(TEAM[1]).map(|p| &p.value) {
            Some(Param::List(list)) => match list[usize::from(signal)].value {
                Param::Int(place) => place as u16,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Adds the events of a unit; false if one depends on what no signal tells.
    fn events(&self, unit: u32, member: u16, session: &Session, all: &mut Vec<Foreseen>) -> bool {
        let u = &self.tree.units[unit as usize];
        let own = context(u, session, |context| u.kind.state_events(&u.params, context));
        let signals: Vec<Option<u16>> =
            own.variables.iter().map(|(_, seen)| self.signal(unit, *seen)).collect();
        let switching = self.unit.params.text("order") == "switching";
        for (name, shared, indicators) in own.events {
            if shared && !switching {
                continue;
            }
            let hidden = |id: &VarId| id.0 > 0 && signals.get(id.0 as usize - 1) == Some(&None);
            let vars: Vec<VarId> = indicators.iter().flat_map(Expr::vars).collect();
            if let Some(id) = vars.iter().find(|id| hidden(id)) {
                let (variable, _) = &own.variables[id.0 as usize - 1];
                let message = format!(
                    "the order cannot follow events: `{name}` of `{}` depends on `{variable}`, \
                     which no signal of this coupling tells",
                    dotted(&u.path)
                );
                let help = "make it an output that another unit hears, or choose order = \
                            \"gauss-seidel\" with a `sequence`";
                session.report(Mistake::new("coupling", &self.unit.span, message).help(help));
                return false;
            }
            let mut ids = vars;
            ids.retain(|id| id.0 > 0);
            ids.sort_unstable();
            ids.dedup();
            let by: Vec<(VarId, Expr)> = ids
                .iter()
                .filter_map(|id| {
                    let signal = (*signals.get(id.0 as usize - 1)?)?;
                    Some((*id, Expr::var(VarId(u32::from(signal) + 1))))
                })
                .collect();
            let by: Vec<(VarId, &Expr)> = by.iter().map(|(id, e)| (*id, e)).collect();
            let indicators = indicators.iter().map(|z| z.substitute(&by)).collect();
            all.push(Foreseen { member, shared, indicators });
        }
        true
    }

    /// The signal that tells what a unit sends or hears at a port.
    fn signal(&self, unit: u32, seen: Seen) -> Option<u16> {
        let wires = &self.wires().wires;
        let (tree, group) = (self.tree, self.group);
        let sent = |unit: u32, port: u16| {
            let to_master = wires.iter().filter(|w| w.to.child == self.child);
            to_master.clone().find(|w| tree.origin(group, w.from) == Some((unit, port)))
        };
        match seen {
            Seen::Hidden => None,
            Seen::Output(port) => sent(unit, port).map(|w| w.to.port),
            Seen::Input(port) => {
                let reaches = |end: End| tree.targets(group, end).contains(&(unit, port));
                let wire = wires.iter().find(|w| reaches(w.to))?;
                if wire.from.child == self.child {
                    return Some(wire.from.port);
                }
                let (from, port) = tree.origin(group, wire.from)?;
                sent(from, port).map(|w| w.to.port)
            }
        }
    }
}
