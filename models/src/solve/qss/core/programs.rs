//! Which equations quantised-state methods can expand.
use crate::{
    maths::expr::{Degree, VarId},
    solve::{Equations, MethodError, Programs, qss::sheet::Functions},
};

/// The programs of equations that quantised-state methods can expand, or why they cannot.
pub(super) fn seen_through<E: Equations>(
    equations: &E,
    order: usize,
) -> Result<(Programs, Functions), MethodError> {
    let programs = equations.programs().ok_or(MethodError::QuantisedSeries)?;
    let dims = equations.dims();
    let indicators = Functions::new(dims, &programs.indicators, order);
    if dims.algebraic > 0 {
        return Err(MethodError::QuantisedAlgebraic);
    }
    if indicators.switching.contains(&true) {
        return Err(MethodError::QuantisedKinks);
    }
    // A switch by a state is seen when the state steps; nothing steps for the time.
    let driven = |id: VarId| {
        let at = id.0 as usize;
        at == 0 || (dims.first_input()..dims.first_discrete()).contains(&at)
    };
    if programs.derivatives.degrees(driven).contains(&Degree::Switching) {
        return Err(MethodError::QuantisedSwitch);
    }
    Ok((programs, indicators))
}
