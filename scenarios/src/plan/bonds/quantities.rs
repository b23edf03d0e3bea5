//! Quantities of bonds that can be recorded: `a.flange.effort`, `a.flange.gap`, `a.flange.residual`.
use super::super::{
    connect,
    evaluate::Evaluator,
    selector::Step,
    session::{Session, did_you_mean},
    tree::{End, Tree},
};
use crate::diagnostics::Mistake;

/// Quantities of bonds; `None` if the path does not lead to bonds that are joined.
pub(in super::super) fn quantities(
    (tree, session): (&Tree, &Session),
    places: &[(String, u32)],
    (unit, bond): (&Step, &Step),
    quantity: &Step,
) -> Option<Vec<(String, u32, End)>> {
    let eval = Evaluator::new(session, &tree.groups[0].scope, &[]);
    let mut out = Vec::new();
    for (label, group) in places {
        let g = &tree.groups[*group as usize];
        g.find(&unit.name.value)?;
        let (child, members) = connect::members(g, unit, &eval)?;
        for member in members {
            let name = g.name_of(End { child, member, port: 0 });
            let bond = format!("{name}.{}", bond.name.value);
            let known: Vec<_> = tree.bonds.gauges(*group, &bond).collect();
            let wanted = &quantity.name.value;
            match known.iter().find(|(own, _)| own == wanted) {
                Some((own, end)) => out.push((format!("{label}{bond}.{own}"), *group, *end)),
                None if known.is_empty() => return None,
                None => {
                    let message = format!("the bond `{bond}` has no quantity `{wanted}`");
                    let of = known.iter().map(|(own, _)| *own);
                    let help = did_you_mean(wanted, of, "its quantities");
                    let mistake = Mistake::new("unknown-port", &quantity.name.span, message);
                    session.report(mistake.help(help));
                    return Some(Vec::new());
                }
            }
        }
    }
    Some(out)
}
