//! Ports and reports in few words.
use crate::{
    kinds::{PortSpec, Ports, ValueType},
    signal::value::Value,
};
use superdense_kernel::{Effects, EventKind, Fact};

/// Tells observers that something happened in the block itself.
pub(crate) fn happened(fx: &mut Effects<Value>, name: &str, kind: EventKind) {
    fx.report(Fact::Event { unit: None, name: name.into(), kind });
}

/// Ports from lists.
pub(crate) fn ports<const I: usize, const O: usize>(
    inputs: [PortSpec; I],
    outputs: [PortSpec; O],
) -> Ports {
    Ports { inputs: inputs.into(), outputs: outputs.into() }
}

/// A signal output or a mandatory signal input.
pub(crate) fn signal(name: &str) -> PortSpec {
    PortSpec::signal(name)
}

/// An event output or a mandatory event input.
pub(crate) fn event(name: &str, ty: ValueType) -> PortSpec {
    PortSpec::event(name, ty)
}

/// The type of a plain value.
pub(crate) fn type_of(value: &crate::signal::value::Value) -> ValueType {
    use crate::signal::value::Value;
    match value {
        Value::Unit => ValueType::Unit,
        Value::Bool(_) => ValueType::Bool,
        Value::Int(_) => ValueType::Int,
        Value::Real(_) | Value::Segment(_) => ValueType::Real,
        Value::Text(_) => ValueType::Text,
        Value::Link(_) => ValueType::Link,
        Value::Job(_) => ValueType::Job,
        Value::Packet(_) => ValueType::Packet,
    }
}
