//! Bonds: ports by which units of unknown equations are joined without saying who determines what.
//!
//! `bond.flange = { effort = "force", flow = "v", displacement = "x" }` of a unit names an input and outputs that
//! belong together (`declared.rs`), and `connections = ["a.flange = b.flange"]` joins bonds as it joins connectors
//! (`resolve.rs`). Equations with which connectors are solved are not known here. In their place the plan inserts the
//! *boundary condition coordinator* of Gu & Asada (Gomes et al. 2017, section 4.3.1, figure 7), a unit that the
//! coupling of the group brings to agree with all others by repeating its steps (`coordinator.rs`).
mod coordinator;
mod declared;
mod quantities;
mod reduced;
mod resolve;

use super::{
    session::Session,
    tree::{Body, Child, End, Group, Tree, Unit, dotted},
};
use crate::source::Span;
pub(super) use declared::declared;
pub(super) use quantities::quantities;
pub(super) use reduced::{is_known, reduced};
pub(super) use resolve::{exported, resolve};

/// The end of the name of a coordinator.
const COORDINATOR: &str = "~bond";
/// The end of the name of the unit that measures the energy of a coordinator's bonds.
const METER: &str = "~energy";

/// A bond of a unit, by numbers of the unit's ports.
#[derive(Debug, Clone)]
pub(super) struct Bond {
    pub name: String,
    /// Whether efforts are equal and flows sum to zero; otherwise flows are equal.
    common_effort: bool,
    /// The port of what is equal, which may be missing where only its integral is known.
    common: Option<u16>,
    /// The port of the unit's share of the sum.
    share: u16,
    /// The output of the integral of what is equal.
    integral: Option<u16>,
    /// The unit is told what is equal, and answers with its share; otherwise the other way round.
    told: bool,
}

impl Bond {
    /// The input by which the unit is told its part.
    fn input(&self) -> Option<u16> {
        if self.told { self.common } else { Some(self.share) }
    }

    /// The words for what is equal, for the share of the sum, and for the integral of what is equal.
    fn words(&self) -> [&'static str; 3] {
        if self.common_effort {
            ["effort", "flow", "momentum"]
        } else {
            ["flow", "effort", "displacement"]
        }
    }
}

/// A bond of a unit that a line may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pin {
    unit: u32,
    bond: usize,
}

/// A quantity of a bond that can be recorded: `a.flange.gap`.
pub(super) struct Gauge {
    /// The group in which the line stands, and the bond there: `a.flange`.
    group: u32,
    bond: String,
    /// The word for the quantity, and the output that has it.
    name: &'static str,
    pub end: End,
}

/// Everything about the bonds of a scenario.
#[derive(Default)]
pub(super) struct Bonds {
    /// Bonds that lines have joined, with the place of the line and how the line calls them.
    joined: Vec<(Pin, Span, String)>,
    gauges: Vec<Gauge>,
}

impl Bonds {
    /// The quantities of a bond of a group.
    pub(super) fn gauges<'a>(
        &'a self,
        group: u32,
        bond: &'a str,
    ) -> impl Iterator<Item = (&'static str, End)> + 'a {
        let own = move |g: &&Gauge| g.group == group && g.bond == bond;
        self.gauges.iter().filter(own).map(|g| (g.name, g.end))
    }

    /// All bonds of a group with their quantities.
    pub(super) fn of_group(&self, group: u32) -> impl Iterator<Item = (String, End)> + '_ {
        let own = move |g: &&Gauge| g.group == group;
        self.gauges.iter().filter(own).map(|g| (format!("{}.{}", g.bond, g.name), g.end))
    }
}

/// Whether a unit measures energy of bonds, by its path: the ends of its steps are no events of the scenario.
pub(crate) fn is_meter(path: &str) -> bool {
    path.ends_with(METER)
}

/// Whether a bond tells a unit its input of a number; the line that joins it may stand further out.
pub(super) fn takes(tree: &Tree, body: Body, input: u16) -> bool {
    let Body::Unit(unit) = body else { return false };
    let own = |bond: &Bond| bond.input() == Some(input);
    tree.units[unit as usize].bonds.iter().any(own)
}

/// Warns of bonds that no line joins.
pub(super) fn loose(tree: &Tree, session: &Session) {
    for (at, unit) in (0u32..).zip(&tree.units) {
        for (bond, own) in unit.bonds.iter().enumerate() {
            if tree.bonds.joined.iter().any(|(pin, ..)| *pin == (Pin { unit: at, bond })) {
                continue;
            }
            let Some(input) = own.input() else { continue };
            let (path, input) = (dotted(&unit.path), &unit.ports.inputs[usize::from(input)].name);
            let message = format!(
                "the bond `{path}.{0}` is joined to nothing, and the input `{input}` keeps its start value: write a \
                 line such as \"{path}.{0} = other.{0}\", or delete the bond",
                own.name
            );
            session.warn(&unit.span, &message);
        }
    }
}

/// Whether a unit is a coordinator of bonds.
fn is_coordinator(unit: &Unit) -> bool {
    unit.hidden && unit.path.ends_with(COORDINATOR)
}

/// The children of a group that are coordinators of bonds.
pub(super) fn coordinators(tree: &Tree, g: &Group) -> Vec<u32> {
    let is = |child: &Child| match child.members.as_slice() {
        [Body::Unit(unit)] => is_coordinator(&tree.units[*unit as usize]),
        _ => false,
    };
    (0u32..).zip(&g.children).filter(|(_, c)| is(c)).map(|(at, _)| at).collect()
}
