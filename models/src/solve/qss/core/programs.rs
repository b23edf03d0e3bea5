//! Which equations quantised-state methods can expand.
use crate::{
    maths::expr::{Degree, VarId},
    solve::{Equations, Programs, qss::sheet::Functions},
};

/// The programs of equations that quantised-state methods can expand, or why they cannot.
pub(super) fn seen_through<E: Equations>(
    equations: &E,
    order: usize,
) -> Result<(Programs, Functions), &'static str> {
    let programs = equations.programs().ok_or(
        "quantised-state methods need the equations' series, but their code looks at values to take its way",
    )?;
    let dims = equations.dims();
    let indicators = Functions::new(dims, &programs.indicators, order);
    if dims.algebraic > 0 {
        return Err(
            "quantised-state methods solve no algebraic equations; use method = \"rodas\", \"taylor\" or \
                    \"auto\"",
        );
    }
    if indicators.switching.contains(&true) {
        return Err(
            "a condition, or what an `abs`, `min`, `max` or `if` compares, has kinks itself (abs, \
                    min, if, ...), which quantised-state methods do not look at; use the method rk45",
        );
    }
    // A switch by a state is seen when the state steps; nothing steps for the time.
    let driven = |id: VarId| {
        let at = id.0 as usize;
        at == 0 || (dims.first_input()..dims.first_discrete()).contains(&at)
    };
    if programs.derivatives.degrees(driven).contains(&Degree::Switching) {
        return Err(
            "a derivative switches (if, max, ...) with the time or an input, which quantised-state \
                    methods do not see; leave out switching = \"ignored\", or write the switch as an event",
        );
    }
    Ok((programs, indicators))
}
