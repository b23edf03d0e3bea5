//! Lines that join bonds.
use super::{
    super::{
        connect,
        evaluate::Evaluator,
        selector::{JointDecl, Selector},
        session::did_you_mean,
        tree::{Body, End, Tree, dotted, member_name},
    },
    Bond, Pin,
    coordinator::{self, Member},
};
use crate::{diagnostics::Mistake, source::Span};

/// A name in a line, resolved.
enum Found {
    /// The bond of a unit, how the group calls it, and the child that is the unit or has it inside.
    Bond(Pin, String, End),
    /// A connector of known equations.
    Connector(String),
}

/// Joins the bonds that a line names; `None` after a mistake, `Some(false)` if it names no bonds.
pub(in super::super) fn resolve(
    tree: &mut Tree,
    group: u32,
    (number, joint): (u32, &JointDecl),
    eval: &Evaluator<'_>,
) -> Option<bool> {
    if !joint.ends.iter().any(|end| has_bonds(tree, group, end)) {
        return Some(false);
    }
    let mut members = Vec::new();
    for selector in &joint.ends {
        members.extend(of(tree, group, selector, eval)?.into_iter().map(|f| (f, &selector.span)));
    }
    let mut bonds: Vec<(Pin, String, End)> = Vec::new();
    for (found, span) in members {
        match found {
            Found::Bond(pin, name, end) => {
                check(tree, (&bonds, &pin), (&name, span), joint, eval)?;
                bonds.push((pin, name, end));
            }
            Found::Connector(name) => {
                let message = format!(
                    "`{name}` is a connector of known equations, and this line joins bonds"
                );
                let help = "where one unit of a line is known by its steps only, all are: give the other ones a `bond`, \
                            and the group a [coupling] with a `step` and iterate = {}";
                eval.session.report(Mistake::new("bond", span, message).help(help));
                return None;
            }
        }
    }
    if bonds.len() < 2 {
        let message = "this line joins nothing: it names one bond";
        let mistake = Mistake::new("bond", &joint.span, message);
        eval.session.report(mistake.help("write two or more, as in \"a.flange = b.flange\""));
        return None;
    }
    let all = bonds.iter().map(|(pin, name, _)| (*pin, joint.span.clone(), name.clone()));
    let all: Vec<_> = all.collect();
    tree.bonds.joined.extend(all);
    let members = bonds.into_iter().map(|(pin, name, end)| {
        let bond = tree.units[pin.unit as usize].bonds[pin.bond].clone();
        Member { unit: pin.unit, bond, name, end }
    });
    let members = members.collect();
    coordinator::insert(tree, group, (number, &joint.span), members, eval)?;
    Some(true)
}

/// The bond that a template gives out under the name of a connector, if it is one.
pub(in super::super) fn exported(
    tree: &Tree,
    group: u32,
    selector: &Selector,
    eval: &Evaluator<'_>,
) -> Option<Pin> {
    if !has_bonds(tree, group, selector) {
        return None;
    }
    match of(tree, group, selector, eval)?.as_slice() {
        [Found::Bond(pin, ..)] => Some(*pin),
        _ => None,
    }
}

/// Whether a selector leads to a unit with bonds; nothing is reported.
fn has_bonds(tree: &Tree, group: u32, selector: &Selector) -> bool {
    let [step, port] = selector.steps.as_slice() else { return false };
    let g = &tree.groups[group as usize];
    let Some(child) = g.find(&step.name.value) else { return false };
    g.children[child as usize].members.iter().any(|body| match *body {
        Body::Unit(unit) => !tree.units[unit as usize].bonds.is_empty(),
        Body::Group(inner) => {
            let inner = &tree.groups[inner as usize];
            inner.bonds.iter().any(|(name, _)| *name == port.name.value)
        }
        Body::Part(_) => false,
    })
}

/// The bonds and connectors that a selector names; a mistake is reported.
fn of(tree: &Tree, group: u32, selector: &Selector, eval: &Evaluator<'_>) -> Option<Vec<Found>> {
    let session = eval.session;
    let g = &tree.groups[group as usize];
    let (step, port) = connect::child_and_connector(selector, session)?;
    let (at, members) = connect::members(g, step, eval)?;
    let child = &g.children[at as usize];
    let wanted = &port.name.value;
    let mut all = Vec::new();
    for member in members {
        let name = member_name(child, member);
        let end = End { child: at, member, port: 0 };
        let title = format!("{name}.{wanted}");
        let known: Vec<(&str, Pin)> = match child.members[member as usize] {
            Body::Part(_) => {
                all.push(Found::Connector(title));
                continue;
            }
            Body::Unit(unit) => {
                let bonds = (0..).zip(&tree.units[unit as usize].bonds);
                bonds.map(|(bond, b)| (b.name.as_str(), Pin { unit, bond })).collect()
            }
            Body::Group(inner) => {
                let inner = &tree.groups[inner as usize];
                if inner.connectors.iter().any(|(own, _)| own == wanted) {
                    all.push(Found::Connector(title));
                    continue;
                }
                inner.bonds.iter().map(|(name, pin)| (name.as_str(), *pin)).collect()
            }
        };
        match known.iter().find(|(own, _)| own == wanted && port.indices.is_empty()) {
            Some((_, pin)) => all.push(Found::Bond(*pin, title, end)),
            None => {
                let message = format!("`{name}` has no bond `{wanted}`");
                let help = match known.as_slice() {
                    [] => "say which ports belong together: bond.flange = { effort = \"force\", flow = \"v\" }".into(),
                    _ => did_you_mean(wanted, known.iter().map(|(own, _)| *own), "bonds"),
                };
                session.report(Mistake::new("bond", &port.name.span, message).help(help));
                return None;
            }
        }
    }
    Some(all)
}

/// Refuses a bond that is joined already, or that does not fit the others of its line.
fn check(
    tree: &Tree,
    (before, pin): (&[(Pin, String, End)], &Pin),
    (name, span): (&str, &Span),
    joint: &JointDecl,
    eval: &Evaluator<'_>,
) -> Option<()> {
    let refuse = |mistake: Mistake, help: String| {
        eval.session.report(mistake.help(help));
        None
    };
    if before.iter().any(|(other, ..)| other == pin) {
        let mistake = Mistake::new("bond", span, format!("`{name}` is joined to itself"));
        return refuse(mistake, "name each bond once".into());
    }
    if let Some((_, first, _)) = tree.bonds.joined.iter().find(|(other, ..)| other == pin) {
        let path = dotted(&tree.units[pin.unit as usize].path);
        let bond = &tree.units[pin.unit as usize].bonds[pin.bond].name;
        let message = format!("`{path}.{bond}` is joined in two lines");
        let mistake = Mistake::new("bond", &joint.span, message).also(first, "the other line");
        let help = "write one line with all bonds that are joined; one that says again what others say, as the \
                    last of a ring, is left out";
        return refuse(mistake, help.into());
    }
    let Some((first, other, _)) = before.first() else { return Some(()) };
    let bond = |pin: &Pin| &tree.units[pin.unit as usize].bonds[pin.bond];
    let (a, b) = (bond(first), bond(pin));
    fits((other, a), (name, b)).map_or(Some(()), |message| {
        let help = "all bonds of a line have a common flow, or all a common effort, and all or none of them the \
                    integral of it";
        refuse(Mistake::new("bond", span, message), help.into())
    })
}

/// Why two bonds cannot be joined.
fn fits((first, a): (&str, &Bond), (second, b): (&str, &Bond)) -> Option<String> {
    let ([common_a, ..], [common_b, ..]) = (a.words(), b.words());
    if a.common_effort != b.common_effort {
        return Some(format!("`{first}` has a common {common_a}, `{second}` a common {common_b}"));
    }
    if a.told != b.told && (a.common.is_none() || b.common.is_none()) {
        let (told, lacks) = if a.told { (first, second) } else { (second, first) };
        return Some(format!("`{told}` is told the {common_a}, which `{lacks}` does not name"));
    }
    if a.told || b.told {
        return None;
    }
    for (word, one, other) in [
        (a.words()[2], a.integral.is_some(), b.integral.is_some()),
        (common_a, a.common.is_some(), b.common.is_some()),
    ] {
        if one != other {
            let (has, lacks) = if one { (first, second) } else { (second, first) };
            return Some(format!("`{has}` has a {word}, and `{lacks}` has none"));
        }
    }
    None
}
