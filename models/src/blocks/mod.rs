//! The block library: small units that scenarios are built from.
//!
//! **Signals.** A signal output sends a segment at the start and whenever the one that receivers
//! hold is replaced. A block that computes a signal from others (`gain`, `sum`, …) waits until
//! every input has been heard once, and answers one micro-step after each new input segment; it
//! therefore breaks no loop by itself: put an `integrator` or a `delay` into an algebraic loop.
//!
//! **Events.** An answer to an event leaves one micro-step later (Moore).
//!
//! **Time** counts from the start of the unit, in ticks ([`crate::signal::Timer`]).
//!
//! One file per kind or family; each kind is one [`crate::registry::UnitKind`] and one line in
//! [`crate::registry::kinds`].
macro_rules! unit_kind {
    ($(#[$doc:meta])* $name:ident = $text:literal, $summary:literal,
     params: $params:expr, ports: $ports:expr,
     $(feed_through: $feed_through:expr,)? build: $build:expr $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl crate::registry::UnitKind for $name {
            fn name(&self) -> &'static str {
                $text
            }
            fn summary(&self) -> &'static str {
                $summary
            }
            fn params(&self) -> &'static [crate::registry::ParamSpec] {
                const PARAMS: &[crate::registry::ParamSpec] = &$params;
                PARAMS
            }
            fn ports(
                &self,
                params: &crate::registry::Params,
            ) -> crate::blocks::params::Checked<crate::registry::Ports> {
                let ports: fn(
                    &crate::registry::Params,
                )
                    -> crate::blocks::params::Checked<crate::registry::Ports> = $ports;
                ports(params)
            }
            $(fn feed_through(
                &self,
                params: &crate::registry::Params,
                context: &crate::registry::Context<'_>,
            ) -> crate::feed_through::FeedThrough {
                let feed_through: fn(
                    &crate::registry::Params,
                    &crate::registry::Context<'_>,
                ) -> crate::feed_through::FeedThrough = $feed_through;
                feed_through(params, context)
            })?
            fn build(
                &self,
                params: &crate::registry::Params,
                context: &crate::registry::Context<'_>,
            ) -> crate::blocks::params::Checked<
                superdense_kernel::Component<crate::value::Value>,
            > {
                let build: fn(
                    &crate::registry::Params,
                    &crate::registry::Context<'_>,
                ) -> crate::blocks::params::Checked<
                    superdense_kernel::Component<crate::value::Value>,
                > = $build;
                build(params, context)
            }
        }
    };
}

pub mod algebra;
pub mod arrivals;
pub mod automaton;
pub mod boundary;
pub mod clock;
pub mod count;
mod crossing;
pub mod delay;
pub mod detector;
pub mod events;
pub mod hold;
pub mod hysteresis;
pub mod integrator;
pub mod lag;
pub(crate) mod params;
pub mod pid;
pub mod playlist;
pub mod pulse;
pub mod quantiser;
pub mod random;
pub mod router;
pub mod sampler;
pub mod schedule;
pub(crate) mod series;
pub mod server;
pub mod sine;
pub mod sink;
pub mod switch;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
pub mod transfer;

use crate::{
    registry::{PortSpec, Ports, ValueType},
    value::Value,
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
pub(crate) fn type_of(value: &crate::value::Value) -> ValueType {
    use crate::value::Value;
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
