//! The state events of an equation unit, as others can see them coming.
use super::{compile::with_events, read::MODE};
use crate::{
    kinds::{Context, Params, Seen, StateEvents, UnitKind},
    maths::expr::Expr,
    solve::equations::Dims,
};

/// From the texts of a unit; none for a unit with mistakes, which others report.
pub(super) fn state_events(
    kind: &dyn UnitKind,
    params: &Params,
    context: &Context<'_>,
) -> StateEvents {
    let Ok(ports) = kind.ports(params) else { return StateEvents::default() };
    let found = with_events(params, context, |d, formulas, events| {
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
    });
    found.unwrap_or_default()
}
