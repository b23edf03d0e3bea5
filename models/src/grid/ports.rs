//! The inputs and outputs of the machines of a grid, in their order.
use super::case::{BusType, Case};

/// The meaning of an event input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// A share of the initial power of this load is shed.
    Shed(usize),
    /// This load takes a share of its initial power.
    Load(usize),
    /// New reference power of this machine.
    Reference(usize),
    /// This machine is disconnected.
    Trip(usize),
    /// This branch opens, or closes.
    Branch(usize, bool),
}

/// The meaning of a signal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Frequency of the centre of inertia of the largest island in Hz; 0 without.
    Centre,
    /// Power of the shed loads in MW.
    Shed,
    /// Power of the loads without voltage in MW.
    Lost,
    /// Number of islands with voltage.
    Islands,
    /// Frequency of this machine in Hz.
    Frequency(usize),
    /// Angle of this machine in rad.
    Angle(usize),
    /// Frequency of the centre of inertia of this machine's island in Hz; 0 without voltage.
    Island(usize),
    /// Active (0) or reactive (1) power of this machine in MW or Mvar.
    Generated(usize, usize),
    /// Magnitude of the voltage at this bus per unit.
    Voltage(usize),
    /// Active or reactive power of this load.
    Demanded(usize, usize),
    /// Active or reactive power into this branch where it begins.
    Flow(usize, usize),
}

impl Output {
    /// Whether voltages of buses are needed for it.
    pub(super) fn reads_buses(self) -> bool {
        matches!(self, Self::Voltage(_) | Self::Demanded(..) | Self::Flow(..))
    }

    /// Whether internal voltages of machines are needed for it.
    pub(super) fn reads_voltages(self) -> bool {
        self.reads_buses() || matches!(self, Self::Generated(..))
    }
}

/// Places of buses with loads, ascending.
pub(super) fn loads(case: &Case) -> Vec<usize> {
    (0..case.buses.len()).filter(|&k| case.buses[k].demand != [0.0; 2]).collect()
}

/// The buses of a branch as names have them: `16_17`, and `16_17_2` for the second circuit.
pub(super) fn circuits(case: &Case, between: &str) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    let name = |b: &super::case::Branch| {
        let [from, to] = b.ends.map(|k| case.buses[k].id);
        let count = counts.entry([from.min(to), from.max(to)]).or_insert(0);
        *count += 1;
        match *count {
            1 => format!("{from}{between}{to}"),
            more if between == "_" => format!("{from}_{to}_{more}"),
            more => format!("{from}{between}{to} circuit {more}"),
        }
    };
    case.branches.iter().map(name).collect()
}

/// All event inputs with their names, and how their arrival is told.
pub(super) fn inputs(case: &Case) -> Vec<(Input, String, Option<String>)> {
    let mut all = Vec::new();
    let id = |bus: usize| case.buses[bus].id;
    let loads = loads(case);
    let mut add = |what: Input, word: &str, of: &str, told: Option<&str>| {
        let told = told.map(|of| format!("{word} {of}"));
        all.push((what, format!("{word}_{of}"), told));
    };
    for (k, &bus) in loads.iter().enumerate() {
        let of = id(bus).to_string();
        add(Input::Shed(k), "shed", &of, Some(&of));
    }
    for (k, m) in case.machines.iter().enumerate() {
        add(Input::Reference(k), "pref", &id(m.bus).to_string(), None);
    }
    for (k, &bus) in loads.iter().enumerate() {
        let of = id(bus).to_string();
        add(Input::Load(k), "load", &of, Some(&of));
    }
    for (k, m) in case.machines.iter().enumerate() {
        let of = id(m.bus).to_string();
        add(Input::Trip(k), "trip", &of, Some(&of));
    }
    let told = circuits(case, "-");
    for (k, (of, told)) in circuits(case, "_").iter().zip(&told).enumerate() {
        add(Input::Branch(k, true), "open", of, Some(told));
        add(Input::Branch(k, false), "close", of, Some(told));
    }
    all
}

/// All signal outputs with their names.
pub(super) fn outputs(case: &Case) -> Vec<(Output, String)> {
    let mut all = vec![
        (Output::Centre, "coi_hz".to_owned()),
        (Output::Shed, "shed_mw".to_owned()),
        (Output::Lost, "lost_mw".to_owned()),
        (Output::Islands, "islands".to_owned()),
    ];
    let machines = || case.machines.iter().map(|m| case.buses[m.bus].id).enumerate();
    all.extend(machines().map(|(k, b)| (Output::Frequency(k), format!("f{b}_hz"))));
    all.extend(machines().map(|(k, b)| (Output::Angle(k), format!("delta{b}"))));
    all.extend(machines().map(|(k, b)| (Output::Island(k), format!("island{b}_hz"))));
    for (k, b) in machines() {
        all.push((Output::Generated(k, 0), format!("p_{b}")));
        all.push((Output::Generated(k, 1), format!("q_{b}")));
    }
    for (k, b) in case.buses.iter().enumerate().filter(|(_, b)| b.ty != BusType::Isolated) {
        all.push((Output::Voltage(k), format!("v_{}", b.id)));
    }
    for (k, bus) in loads(case).into_iter().enumerate() {
        let b = case.buses[bus].id;
        all.push((Output::Demanded(k, 0), format!("pd_{b}")));
        all.push((Output::Demanded(k, 1), format!("qd_{b}")));
    }
    for (k, of) in circuits(case, "_").into_iter().enumerate() {
        all.push((Output::Flow(k, 0), format!("p_{of}")));
        all.push((Output::Flow(k, 1), format!("q_{of}")));
    }
    all
}
