//! Nominal values of outputs: what is far beyond them is probably out of the range that the FMU is made for, of which it may
//! say nothing itself (Gomes et al. 2017, appendix C.2.1).
use super::{instance::Instance, layout::Layout};

/// Multiple of a nominal value from which on an output is told of.
const FAR: f64 = 1e3;

/// An output whose description has a nominal value.
#[derive(Debug, Clone)]
pub(super) struct Nominal {
    port: usize,
    name: String,
    value: f64,
}

/// The nominal values of outputs, where the description has some.
pub(super) fn nominals(layout: &Layout) -> Vec<Nominal> {
    let mut all = Vec::new();
    for p in layout.given().filter(|p| p.scale.is_none()) {
        let value = p.variable.nominal.map(f64::abs).filter(|x| x.is_finite() && *x > 0.0);
        let ports = p.first..p.first + p.variable.elements;
        let named =
            |(port, value)| Nominal { port, name: layout.ports.outputs[port].name.clone(), value };
        all.extend(value.into_iter().flat_map(|v| ports.clone().map(move |k| (k, v))).map(named));
    }
    all
}

/// Tells of outputs that are far beyond their nominal values at `at` seconds, once of each.
pub(super) fn watch(instance: &Instance, nominals: &[Nominal], y: &[f64], at: f64) {
    for nominal in nominals {
        let Some(value) = y.get(nominal.port).filter(|y| y.abs() > FAR * nominal.value) else {
            continue;
        };
        instance.remark_once("nominal", nominal.port, || {
            format!(
                "output {} is {value:e} at {at} s, more than a thousand times its nominal value {:e}: the FMU may be \
                 beyond the range that it is made for, or be sent inputs in other units",
                nominal.name, nominal.value
            )
        });
    }
}
