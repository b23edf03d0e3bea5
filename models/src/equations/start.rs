//! Equations with a core, as a component.
use super::{auto::Automatic, refused::Refused};
use crate::{
    kinds::{Param, Params},
    signal::value::Value,
    solve::{
        Prepared, Settings, Stepped, UnitError,
        any::AnyCore,
        core::Core,
        equations::Equations,
        qss::{Quanta, Quantised},
    },
    unit::Unit,
};
use superdense_kernel::Component;

/// Start values.
pub(crate) struct Start<'a> {
    pub initial: &'a [f64],
    pub inputs: &'a [f64],
    pub discrete: &'a [f64],
}

/// Why `name` is of no use to the method that the parameters name, and what to do.
pub(crate) fn unused_by_method(params: &Params, name: &str) -> Option<(String, String)> {
    let method = params.text("method");
    let given =
        |name: &str| params.get(name).is_some_and(|p| p.value != Param::Text(String::new()));
    let adapts =
        ["rk45", "rk23", "rodas"].contains(&method) || method == "taylor" && !given("step");
    let (used, takers) = match name {
        "order" => (method == "taylor", "taylor"),
        "dq_rel" | "dq_min" => (method.contains("qss"), "qss1 to mliqss2"),
        // Algebraic variables are solved for to these, too.
        "tolerance" | "absolute_tolerance" => {
            (adapts || given("algebraic"), "rk45, rk23, rodas, and taylor without a fixed step")
        }
        _ => (true, ""),
    };
    // A method that does not exist is an empty text here, and has been told.
    (!used && !["", "auto"].contains(&method)).then(|| {
        let message = format!("the method `{method}` does not use `{name}`");
        (message, format!("remove it, or choose another method; it is for {takers}"))
    })
}

/// Most states for which a unit is verified by `rodas`, a step of which costs their cube.
const MOST_STATES: usize = 200;

/// The parameters with `rodas` as method, or `taylor` instead of it.
pub(super) fn second_family(params: &Params, states: usize) -> Option<Params> {
    let other = if params.text("method") == "rodas" { "taylor" } else { "rodas" };
    if states == 0 || other == "rodas" && states > MOST_STATES {
        return None;
    }
    let mut params = params.clone();
    params.set("method", Param::Text(other.to_owned()));
    params.set("step", Param::Text(String::new()));
    Some(params)
}

/// The unit under the method that the parameters name: `method`, and `dq_rel` and `dq_min` of the
/// quantised ones.
///
/// # Errors
/// When the method does not fit the equations, or they are not finite at the start.
pub(crate) fn under_method<E: Equations>(
    params: &Params,
    equations: E,
    start: &Start<'_>,
    settings: Settings,
) -> Result<Component<Value>, Refused> {
    let quanta = || Quanta { relative: params.real("dq_rel"), minimum: params.real("dq_min") };
    macro_rules! quantised {
        ($kind:ident) => {
            Quantised::new(None, &equations, &settings, quanta()).map(AnyCore::$kind)
        };
    }
    let core = match params.text("method") {
        "auto" => {
            let core = Automatic::new(&equations, &settings)?;
            return Ok(Component::atomic(start.unit(equations, core, settings)?));
        }
        "qss1" => quantised!(Qss1),
        "qss2" => quantised!(Qss2),
        "qss3" => quantised!(Qss3),
        "liqss1" => quantised!(Liqss1),
        "liqss2" => quantised!(Liqss2),
        "mliqss2" => quantised!(Mliqss2),
        _ => {
            let prepared = Prepared::new(&equations, settings.method);
            Stepped::new(prepared, &equations, &settings).map(AnyCore::Stepped)
        }
    };
    Ok(Component::atomic(start.unit(equations, core?, settings)?))
}

impl Start<'_> {
    fn unit<E: Equations, C: Core<E>>(
        &self,
        equations: E,
        core: C,
        settings: Settings,
    ) -> Result<Unit<E, C>, Box<UnitError>> {
        Unit::with_core(equations, core, self.initial, self.inputs, self.discrete, settings)
    }
}
