//! Events of an equation unit that cannot happen.
use super::{compile::with_events, events::Spec};
use crate::{
    kinds::{Context, Params},
    maths::expr::{Expr, VarId},
    solve::equations::Trigger,
};

/// The events of a unit with a condition in which nothing moves, and which no event changes; none for a unit
/// with mistakes.
pub(super) fn idle_events(params: &Params, context: &Context<'_>) -> Vec<String> {
    let found = with_events(params, context, |_, formulas, events| {
        let resets = events.specs.iter().map(|s| &s.reset);
        let resets = resets.chain(events.handlers.iter().map(|h| &h.reset));
        let linked = events.links.iter().flat_map(|l| &l.targets);
        let assigned: Vec<usize> = resets.flat_map(|r| &r.targets).chain(linked).copied().collect();
        let changes = |v: &VarId| {
            let place = v.0 as usize;
            place < formulas.dims.first_discrete() || assigned.contains(&place)
        };
        let is_idle = |s: &&Spec| {
            let located = matches!(s.spec.trigger, Trigger::State { .. });
            located && !s.alternatives.iter().flatten().flat_map(Expr::vars).any(|v| changes(&v))
        };
        events.specs.iter().filter(is_idle).map(|s| s.spec.name.to_string()).collect()
    });
    found.unwrap_or_default()
}
