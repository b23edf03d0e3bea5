//! Lines that join connectors, resolved to connectors of parts.
use super::{
    super::{
        bonds, connect,
        declare::{GroupDecl, PortDecl},
        evaluate::Evaluator,
        selector::{JointDecl, Selector},
        session::{Session, did_you_mean},
        tree::{Body, Tree, dotted, member_name},
    },
    Joint, Pin,
};
use crate::{diagnostics::Mistake, source::Span};
use std::rc::Rc;

/// Resolves the lines of a group.
pub(in super::super) fn resolve(tree: &mut Tree, group: u32, session: &Session) {
    let decl: Rc<GroupDecl> = Rc::clone(&tree.groups[group as usize].decl);
    for (number, joint) in (0u32..).zip(&decl.joints) {
        connect::each(tree, group, (&joint.loops, &joint.span), session, |tree, eval| {
            if bonds::resolve(tree, group, (number, joint), eval)? {
                return Some(());
            }
            let pins = pins(tree, group, joint, eval)?;
            tree.joints.push(Joint { pins, group, span: joint.span.clone() });
            Some(())
        });
    }
}

/// The connectors of a template: those of parts, or bonds, that they stand for.
pub(in super::super) fn exports(tree: &mut Tree, group: u32, decl: &[PortDecl], session: &Session) {
    let scope = Rc::clone(&tree.groups[group as usize].scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let (mut all, mut given) = (Vec::new(), Vec::new());
    for port in decl {
        for selector in &port.ends {
            if let Some(bond) = bonds::exported(tree, group, selector, &eval) {
                given.push((port.name.value.clone(), bond));
                continue;
            }
            let Some(found) = of(tree, group, selector, &eval) else { continue };
            match <[_; 1]>::try_from(found) {
                Ok([pin]) => all.push((port.name.value.clone(), pin)),
                Err(found) => {
                    let message =
                        format!("`{}` stands for {} connectors", port.name.value, found.len());
                    let mistake = Mistake::new("joint", &selector.span, message);
                    session.report(
                        mistake.help("join them inside of the template, and name one of them"),
                    );
                }
            }
        }
    }
    let g = &mut tree.groups[group as usize];
    (g.connectors, g.bonds) = (all, given);
}

/// The connectors of a line, of one domain all.
fn pins(tree: &Tree, group: u32, joint: &JointDecl, eval: &Evaluator<'_>) -> Option<Vec<Pin>> {
    let mut all: Vec<(Pin, &Span)> = Vec::new();
    let mut good = true;
    for selector in &joint.ends {
        // All of them, though one be wrong: each has its own mistakes.
        match of(tree, group, selector, eval) {
            Some(found) => all.extend(found.into_iter().map(|pin| (pin, &selector.span))),
            None => good = false,
        }
    }
    for (k, (pin, span)) in all.iter().enumerate() {
        let name = shown(tree, pin);
        if all[..k].iter().any(|(other, _)| other == pin) {
            let mistake = Mistake::new("joint", span, format!("`{name}` is joined to itself"));
            eval.session.report(mistake.help("name each connector once"));
            good = false;
        }
        let (first, domain) = (&all[0], |pin: &Pin| domain(tree, pin));
        if domain(pin) != domain(&first.0) {
            let message = format!(
                "`{name}` is {}, but `{}` is {}",
                domain(pin),
                shown(tree, &first.0),
                domain(&first.0)
            );
            let help = "connectors of one domain can be joined; between two domains stands a unit with a connector of \
                        each, such as a motor";
            eval.session.report(Mistake::new("joint", span, message).help(help));
            good = false;
        }
    }
    if good && all.len() < 2 {
        let message = "this line joins nothing: it names one connector";
        let mistake = Mistake::new("joint", &joint.span, message);
        eval.session.report(mistake.help("write two or more, as in \"a.p = b.p = c.n\""));
        good = false;
    }
    good.then(|| all.into_iter().map(|(pin, _)| pin).collect())
}

/// A connector as a scenario writes it.
pub(super) fn shown(tree: &Tree, (part, name): &Pin) -> String {
    format!("{}.{name}", dotted(&tree.parts[*part as usize].path))
}

fn domain(tree: &Tree, (part, name): &Pin) -> String {
    let part = &tree.parts[*part as usize];
    let all = part.kind.connectors(&part.params).unwrap_or_default();
    all.into_iter().find(|(own, _)| own == name).map_or_else(String::new, |(_, domain)| domain)
}

/// The connectors that a selector names; a mistake is reported.
fn of(tree: &Tree, group: u32, selector: &Selector, eval: &Evaluator<'_>) -> Option<Vec<Pin>> {
    let session = eval.session;
    let g = &tree.groups[group as usize];
    let (step, port) = connect::child_and_connector(selector, session)?;
    let (child, members) = connect::members(g, step, eval)?;
    let child = &g.children[child as usize];
    let mut all = Vec::new();
    for member in members {
        let (name, own) = (member_name(child, member), child.members[member as usize]);
        let known: Vec<(String, Pin)> = match own {
            Body::Group(inner) => tree.groups[inner as usize].connectors.clone(),
            Body::Part(part) => {
                let unit = &tree.parts[part as usize];
                let names = unit.kind.connectors(&unit.params).unwrap_or_default();
                names.into_iter().map(|(name, _)| (name.clone(), (part, name))).collect()
            }
            // Its bonds could not be read.
            Body::Unit(_) if session.sink.mistakes_of("bond") => return None,
            Body::Unit(unit) => {
                let kind = tree.units[unit as usize].kind.name();
                let message = format!("`{name}` has no connectors: it is of kind \"{kind}\"");
                let help = match kind {
                    "equations" => "declare some: connectors = { p = \"electrical\" }",
                    _ => {
                        "the equations of this unit are not known: say by a bond which of its ports belong together, \
                         bond.flange = { effort = \"force\", flow = \"v\" }, in a [coupling] with iterate = {}"
                    }
                };
                session.report(Mistake::new("joint", &step.name.span, message).help(help));
                return None;
            }
        };
        let wanted = &port.name.value;
        match known.iter().find(|(own, _)| own == wanted && port.indices.is_empty()) {
            Some((_, pin)) => all.push(pin.clone()),
            None => {
                let message = format!("`{name}` has no connector `{wanted}`");
                let help =
                    did_you_mean(wanted, known.iter().map(|(own, _)| own.as_str()), "connectors");
                session.report(Mistake::new("joint", &port.name.span, message).help(help));
                return None;
            }
        }
    }
    Some(all)
}
