//! Connections: breakers of machines, branches and loads as discrete values, and the
//! network that follows from them.
use super::{
    admittance::{C, Network, ZERO, branch_entries},
    case::{Case, islands},
    machines::Fault,
    ports,
};
use crate::maths::sparse::Lu;
use std::sync::Arc;

/// A load: bus, admittance per unit at the start, power in MW.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub bus: usize,
    pub admittance: C,
    pub power: f64,
}

/// The machine at a bus as the network sees it.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub bus: usize,
    pub reactance: f64,
    /// Inertia in s.
    pub inertia: f64,
}

/// A network with breakers.
#[derive(Debug, Clone)]
pub(super) struct Topology {
    /// Without loads and machines, all branches closed.
    network: Network,
    pub loads: Vec<Load>,
    pub sources: Vec<Source>,
    /// Ends of the branches, and what they add to the matrix.
    pub branches: Vec<([usize; 2], [C; 4])>,
    pub faults: Vec<Fault>,
}

/// The state of all breakers: 1 for machines that are connected, the share of each load that is off, 1
/// for faults that are there and for branches that are open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Breakers<'a> {
    pub status: &'a [f64],
    pub shed: &'a [f64],
    pub fault: &'a [f64],
    pub open: &'a [f64],
}

/// Which buses hang together.
#[derive(Debug, Clone)]
pub(super) struct Islands {
    /// Per bus the first one of its island.
    pub of: Vec<usize>,
    /// Per first bus: inertia of the connected machines in s; without any the island is dark.
    pub inertia: Vec<f64>,
}

impl Islands {
    /// Whether a bus has no voltage.
    pub(super) fn is_dark(&self, bus: usize) -> bool {
        self.inertia[self.of[bus]] == 0.0
    }

    /// The islands with voltage, by their first buses.
    pub(super) fn lit(&self) -> impl Iterator<Item = usize> {
        (0..self.of.len()).filter(|&k| self.of[k] == k && self.inertia[k] > 0.0)
    }

    /// The island with the largest inertia, the first of equal ones.
    pub(super) fn largest(&self) -> Option<usize> {
        self.lit().reduce(|a, b| if self.inertia[b] > self.inertia[a] { b } else { a })
    }
}

impl Topology {
    /// The network of a case with the voltages of its power flow.
    pub(super) fn new(case: &Case, vm: &[f64], faults: &[Fault]) -> Self {
        let load = |bus: usize| {
            let [p, q] = case.buses[bus].demand;
            let admittance = C::new(p, -q) / case.base / (vm[bus] * vm[bus]);
            Load { bus, admittance, power: p }
        };
        let source = |m: &super::case::Machine| Source {
            bus: m.bus,
            reactance: m.reactance,
            inertia: m.inertia,
        };
        Self {
            network: Network::new(case),
            loads: ports::loads(case).into_iter().map(load).collect(),
            sources: case.machines.iter().map(source).collect(),
            branches: case.branches.iter().map(|b| (b.ends, branch_entries(b))).collect(),
            faults: faults.to_vec(),
        }
    }

    /// The islands that the branches leave.
    pub(super) fn islands(&self, breakers: Breakers<'_>) -> Islands {
        let closed = self.branches.iter().zip(breakers.open).filter(|(_, open)| **open < 0.5);
        let of = islands(self.network.buses(), closed.map(|(b, _)| b.0));
        let mut inertia = vec![0.0; of.len()];
        for (source, on) in self.sources.iter().zip(breakers.status) {
            inertia[of[source.bus]] += if *on > 0.5 { source.inertia } else { 0.0 };
        }
        Islands { of, inertia }
    }

    /// The factors of the network with the reactances of the connected machines; none if it is
    /// singular. Dark buses are short-circuited.
    pub(super) fn factors(&self, breakers: Breakers<'_>, islands: &Islands) -> Option<Lu<C>> {
        let mut network = self.network.clone();
        for (load, shed) in self.loads.iter().zip(breakers.shed) {
            network.add(load.bus, load.admittance * (1.0 - shed));
        }
        for (fault, on) in self.faults.iter().zip(breakers.fault) {
            if *on > 0.5 {
                network.add(fault.bus, C::new(0.0, -1.0 / fault.reactance));
            }
        }
        for (k, open) in breakers.open.iter().enumerate() {
            if *open > 0.5 {
                network.add_branch(k, self.branches[k].1.map(|e| -e));
            }
        }
        for (source, on) in self.sources.iter().zip(breakers.status) {
            if *on > 0.5 {
                network.add(source.bus, C::new(0.0, -1.0 / source.reactance));
            }
        }
        for bus in (0..network.buses()).filter(|&k| islands.is_dark(k)) {
            // Whatever the admittances are there, of which there may be none.
            network.add(bus, C::new(1.0, 0.0));
        }
        let mut factors = Lu::new(Arc::clone(&network.pattern));
        factors.factor(&network.values).then_some(factors)
    }

    /// Voltages of all buses by the internal voltages of machines; those of disconnected ones do not
    /// count.
    pub(super) fn voltages(&self, factors: &mut Lu<C>, status: &[f64], internal: &[C]) -> Vec<C> {
        let mut voltages = vec![ZERO; self.network.buses()];
        for ((source, on), e) in self.sources.iter().zip(status).zip(internal) {
            if *on > 0.5 {
                voltages[source.bus] += e * C::new(0.0, -1.0 / source.reactance);
            }
        }
        factors.solve(&mut voltages);
        voltages
    }
}
