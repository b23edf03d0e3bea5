//! Jobs and packets behind units that hand on events of any type: what comes there is known from the sources.
use super::{
    session::Session,
    tree::{Tree, dotted},
};
use crate::diagnostics::Mistake;
use std::collections::{BTreeSet, HashMap};
use superdense_models::kinds::{PortKind, ValueType};

/// Outputs of units that drive each input of units that hand events on, by unit.
type Drivers = HashMap<u32, Vec<(u32, u16)>>;

/// Reports connections by which other events than jobs or packets would come to inputs of these.
pub(super) fn check(tree: &Tree, session: &Session) {
    let (mut drivers, mut asked) = (Drivers::new(), Vec::new());
    for (at, g) in tree.groups.iter().enumerate() {
        for w in &g.wires {
            let Some(from) = tree.origin(at as u32, w.from) else { continue };
            for to in tree.targets(at as u32, w.to) {
                let input = &tree.units[to.0 as usize].ports.inputs[usize::from(to.1)];
                if hands_on(tree, to.0) && input.kind == PortKind::Event {
                    drivers.entry(to.0).or_default().push(from);
                }
                if matches!(input.ty, ValueType::Job | ValueType::Packet) && hands_on(tree, from.0)
                {
                    asked.extend(w.connection.map(|connection| (g.span(connection), from, to)));
                }
            }
        }
    }
    let mut told = BTreeSet::new();
    for (span, from, to) in asked {
        let unit = |u: u32| &tree.units[u as usize];
        let input = &unit(to.0).ports.inputs[usize::from(to.1)];
        let of = |&(u, port): &(u32, u16)| &unit(u).ports.outputs[usize::from(port)];
        let sources = sources(from.0, &drivers, tree);
        let Some(wrong) = sources.iter().find(|source| !of(source).ty.fits(input.ty)) else {
            continue;
        };
        if !told.insert((span.start, *wrong)) {
            continue;
        }
        let source = format!("{}.{}", dotted(&unit(wrong.0).path), of(wrong).name);
        let (sent, taken) = (of(wrong).ty.name(), input.ty.name());
        let target = format!("{}.{}", dotted(&unit(to.0).path), input.name);
        let through = match unit(from.0).hidden {
            true => format!("a `{}`", unit(from.0).kind.name()),
            false => format!("`{}`", dotted(&unit(from.0).path)),
        };
        let message = format!(
            "`{source}` sends {sent}, which {through} hands on to `{target}`, but that takes {taken}"
        );
        session.report(Mistake::new("type-mismatch", span, message).help(remedy(input.ty)));
    }
}

fn hands_on(tree: &Tree, unit: u32) -> bool {
    tree.units[unit as usize].kind.hands_on()
}

/// The outputs of known origin whose events a unit hands on, in order.
fn sources(unit: u32, drivers: &Drivers, tree: &Tree) -> BTreeSet<(u32, u16)> {
    let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([unit]), vec![unit]);
    while let Some(unit) = open.pop() {
        for &(from, port) in drivers.get(&unit).into_iter().flatten() {
            if !hands_on(tree, from) {
                found.insert((from, port));
            } else if seen.insert(from) {
                open.push(from);
            }
        }
    }
    found
}

/// The remedy where other events come to a port of this type.
pub(super) fn remedy(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Job => {
            "jobs come from `arrivals` and `queue-node` only, directly or through servers, routers, merges and \
             delays: no unit makes a job of another event"
        }
        ValueType::Packet => {
            "packets come from sources of packets; put a `datagram` between, which puts the number of each event \
             into a packet"
        }
        _ => {
            "connect ports of one type, or give each event another value by `via encode(...)` or a `trigger`"
        }
    }
}
