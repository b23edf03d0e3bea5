//! The state events of an equation unit, as others can see them coming.
use super::{
    compile::constants,
    events::{Events, Spec},
    formulas::Formulas,
    read::{Declared, MODE, Reader},
};
use crate::{
    kinds::{Context, Params, Seen, StateEvents, UnitKind},
    maths::expr::{Expr, VarId},
    solve::equations::{Dims, Trigger},
};

/// From the texts of a unit; none for a unit with mistakes, which others report.
pub(super) fn state_events(
    kind: &dyn UnitKind,
    params: &Params,
    context: &Context<'_>,
) -> StateEvents {
    let mut r = Reader::new(params);
    let d = Declared::read(&mut r);
    let names = constants(&mut r, context);
    let formulas = Formulas::new(&mut r, &d, names);
    let mut events = Events::new(&formulas);
    events.read(&mut r, context, &d);
    events.links(&mut r, context);
    let Ok(ports) = kind.ports(params) else { return StateEvents::default() };
    if !r.errors.is_empty() {
        return StateEvents::default();
    }
    let carriers = kind.variables(params);
    let carried = |name: &str| {
        let carrier = carriers.iter().find(|(own, _)| own == name)?.1.as_ref()?;
        let port = ports.outputs.iter().position(|o| o.name == *carrier)?;
        Some(Seen::Output(port as u16))
    };
    let dims: &Dims = &formulas.dims;
    let own = |name: &str| (name.to_owned(), carried(name).unwrap_or(Seen::Hidden));
    let mut variables: Vec<(String, Seen)> = Vec::new();
    variables.extend(d.states.iter().map(|(name, _)| own(&name.value)));
    let inputs = (0u16..).zip(d.all_inputs());
    variables.extend(inputs.map(|(port, (name, _))| (name.value.clone(), Seen::Input(port))));
    variables.extend(d.discrete.iter().map(|(name, _)| own(&name.value)));
    variables.extend(formulas.mode.map(|_| own(MODE)));
    debug_assert!(Dims::STATES == 1 && variables.len() <= dims.variables());
    let mut all = Vec::new();
    for spec in &events.specs {
        let named = |z: &Vec<Expr>| (spec.spec.name.to_string(), false, z.clone());
        all.extend(spec.alternatives.iter().map(named));
    }
    for (link, alternatives) in events.links.iter().zip(&events.shared) {
        all.extend(alternatives.iter().map(|z| (link.name.to_string(), true, z.clone())));
    }
    StateEvents { variables, events: all }
}

/// The events of a unit with a condition in which nothing moves, and which no event changes.
pub(super) fn idle_events(params: &Params, context: &Context<'_>) -> Vec<String> {
    let mut r = Reader::new(params);
    let d = Declared::read(&mut r);
    let names = constants(&mut r, context);
    let formulas = Formulas::new(&mut r, &d, names);
    let mut events = Events::new(&formulas);
    events.read(&mut r, context, &d);
    events.links(&mut r, context);
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
}
