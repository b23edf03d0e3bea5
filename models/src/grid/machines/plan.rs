//! Planned events of a grid's machines: faults, trips, breakers, changes of loads.
use super::super::{case::Case, ports};
use crate::solve::{EventSpec, Trigger};

/// A short circuit at a bus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// Place of the bus.
    pub bus: usize,
    /// Reactance of the fault per unit.
    pub reactance: f64,
    /// Ticks of its start and its end.
    pub ticks: [i64; 2],
}

/// A branch that is out of service for some time, as where a line's breakers clear a fault on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    /// Place of the branch.
    pub branch: usize,
    /// Tick of its opening, and of its closing, if it comes back.
    pub ticks: (i64, Option<i64>),
}

/// The events of a run at the machines, and who hears of them.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Per machine: whether it has a governor.
    pub governed: Vec<bool>,
    /// Tick and machine of each trip.
    pub trips: Vec<(i64, usize)>,
    /// Short circuits.
    pub faults: Vec<Fault>,
    /// Branches out of service.
    pub outages: Vec<Outage>,
    /// Frequencies in Hz, each reported at a machine's downward crossing.
    pub thresholds: Vec<f64>,
    /// How far above its threshold in Hz a frequency must rise to be reported again; never without.
    pub rearm: Option<f64>,
    /// Machines that tell their speed, and when.
    pub telemetry: Vec<(usize, Trigger)>,
    /// Per signal output: whether somebody hears it. Those beyond the list are not heard.
    pub told: Vec<bool>,
}

/// The effect of an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Trip(usize),
    Fault(usize, bool),
    /// Opens, or closes.
    Branch(usize, bool),
    Cross(usize, usize),
    Rearm(usize, usize),
    Measure(usize, u16),
    Islands,
    Blackout,
}

/// The events with their effects. State events have relations of their own, in this order.
pub(super) fn events(case: &Case, plan: &Plan) -> (Vec<EventSpec>, Vec<Action>) {
    let mut all = (Vec::new(), Vec::new());
    let mut add = |name: String, trigger: Trigger, action: Action| {
        all.0.push(EventSpec::new(name, trigger));
        all.1.push(action);
    };
    let id = |k: usize| case.buses[case.machines[k].bus].id;
    for &(tick, k) in &plan.trips {
        add(format!("trip {}", id(k)), Trigger::At(vec![tick]), Action::Trip(k));
    }
    for (k, fault) in plan.faults.iter().enumerate() {
        let before = plan.faults[..k].iter().filter(|other| other.bus == fault.bus).count();
        let number = if before > 0 { format!(" {}", before + 1) } else { String::new() };
        let name = format!("fault{number} at {}", case.buses[fault.bus].id);
        let [from, to] = fault.ticks;
        add(name.clone(), Trigger::At(vec![from]), Action::Fault(k, true));
        add(format!("{name} cleared"), Trigger::At(vec![to]), Action::Fault(k, false));
    }
    let circuits = ports::circuits(case, "-");
    for &Outage { branch, ticks: (at, until) } in &plan.outages {
        let name = format!("branch {}", circuits[branch]);
        add(format!("{name} opens"), Trigger::At(vec![at]), Action::Branch(branch, true));
        if let Some(until) = until {
            let action = Action::Branch(branch, false);
            add(format!("{name} closes"), Trigger::At(vec![until]), action);
        }
    }
    for (number, (k, every)) in plan.telemetry.iter().enumerate() {
        let k = *k;
        add(format!("measurement {}", id(k)), every.clone(), Action::Measure(k, number as u16));
    }
    let mut place = 0;
    let mut below = || {
        place += 1;
        Trigger::all([(place - 1, false)])
    };
    for k in 0..case.machines.len() {
        for (number, hz) in plan.thresholds.iter().enumerate() {
            add(format!("{} below {hz} Hz", id(k)), below(), Action::Cross(k, number));
        }
    }
    if let Some(more) = plan.rearm.filter(|h| *h > 0.0) {
        for k in 0..case.machines.len() {
            for (number, hz) in plan.thresholds.iter().enumerate() {
                let name = format!("{} above {} Hz", id(k), hz + more);
                add(name, below(), Action::Rearm(k, number));
            }
        }
    }
    add("islands".into(), below(), Action::Islands);
    add("blackout".into(), below(), Action::Blackout);
    all
}
