//! The catalogue of unit kinds: all that a scenario file may name.
use crate::{blocks, equations, grid, kinds::UnitKind, network};

/// All kinds, in the order of their names.
pub fn kinds() -> &'static [&'static dyn UnitKind] {
    &[
        &blocks::count::Accumulator,
        &blocks::events::Adder,
        &grid::protection::AgcCentre,
        &blocks::arrivals::Arrivals,
        &blocks::automaton::AutomatonKind,
        &blocks::boundary::BoundaryCondition,
        &blocks::clock::Clock,
        &blocks::playlist::Constant,
        &grid::converters::ConvertersKind,
        &blocks::count::Counter,
        &blocks::table::Csv,
        &grid::protection::Datagram,
        &blocks::delay::Delay,
        &blocks::detector::Detector,
        &network::devstone::Devstone,
        &blocks::events::Encoder,
        &equations::EquationsKind,
        &blocks::lag::FirstOrder,
        &blocks::algebra::Gain,
        &blocks::hold::Hold,
        &blocks::hysteresis::Hysteresis,
        &blocks::integrator::Integrator,
        &network::link::LinkKind,
        &grid::loads::LoadTotal,
        &blocks::events::Merge,
        &blocks::algebra::Offset,
        &network::sink::PacketSink,
        &network::source::PacketSource,
        &network::phold::PholdEntity,
        &blocks::pid::Pid,
        &network::population::Population,
        &grid::PowerFlow,
        &grid::PowerSystem,
        &blocks::algebra::Product,
        &blocks::pulse::Pulse,
        &blocks::quantiser::Quantiser,
        &network::node::QueueNode,
        &blocks::playlist::Ramp,
        &blocks::random::Random,
        &blocks::router::Router,
        &network::routes::RoutesKind,
        &blocks::sampler::Sampler,
        &blocks::events::Scaler,
        &blocks::schedule::Schedule,
        &blocks::server::Server,
        &blocks::sine::Sine,
        &blocks::sink::Sink,
        &blocks::playlist::Step,
        &blocks::algebra::Sum,
        &blocks::switch::Switch,
        &grid::loads::ThermostatLoad,
        &blocks::transfer::TransferFunction,
        &blocks::events::Trigger,
        &grid::protection::UflsCentre,
        &network::wan::WanKind,
    ]
}

/// The kind of a name.
pub fn find(name: &str) -> Option<&'static dyn UnitKind> {
    kinds().iter().copied().find(|k| k.name() == name)
}
