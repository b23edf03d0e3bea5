//! The model structure: states, event indicators, what depends on what.
use super::{Causality, Variable, child};
use roxmltree::Node;
use std::collections::HashMap;

/// An unknown: a variable that the FMU calculates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Its place among the variables.
    pub variable: usize,
    /// Places of the variables that it depends on; none given means on all.
    pub dependencies: Option<Vec<usize>>,
}

/// A continuous state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Place of the state among the variables.
    pub state: usize,
    /// Its derivative.
    pub derivative: Unknown,
}

/// The element `ModelStructure`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Structure {
    /// Outputs.
    pub outputs: Vec<Unknown>,
    /// Continuous states in the FMU's order. A state that is an array stands once.
    pub states: Vec<State>,
    /// There are derivatives of states, but none is listed.
    pub unlisted: bool,
    /// Number of event indicators.
    pub indicators: usize,
}

impl Structure {
    /// Reads that of FMI 3.0, which names variables by reference; `derivatives` tells the state of
    /// each derivative.
    pub(super) fn by_reference(
        root: Node<'_, '_>,
        variables: &[Variable],
        derivatives: &HashMap<u32, u32>,
    ) -> Result<Self, String> {
        let places: HashMap<u32, usize> =
            variables.iter().enumerate().map(|(i, v)| (v.reference, i)).collect();
        let place = |text: &str| text.trim().parse().ok().and_then(|r| places.get(&r).copied());
        let mut this = Self::default();
        let list = child(root, "ModelStructure");
        for node in list.iter().flat_map(|l| l.children()).filter(Node::is_element) {
            let name = node.tag_name().name();
            if !matches!(name, "Output" | "ContinuousStateDerivative" | "EventIndicator") {
                continue;
            }
            let reference = node.attribute("valueReference").unwrap_or("");
            let Some(variable) = place(reference) else {
                return Err(format!("{name} refers to {reference:?}, which is no variable"));
            };
            let dependencies = dependencies(node, place);
            let unknown = Unknown { variable, dependencies };
            match name {
                "Output" => this.outputs.push(unknown),
                "EventIndicator" => this.indicators += variables[variable].elements,
                _ => {
                    let v = &variables[variable];
                    let state = derivatives.get(&v.reference).and_then(|r| places.get(r));
                    let state = *state.ok_or_else(|| no_state(v))?;
                    this.states.push(State { state, derivative: unknown });
                }
            }
        }
        this.unlisted = this.states.is_empty() && !derivatives.is_empty();
        Ok(this)
    }

    /// Reads that of FMI 2.0, which numbers variables from one.
    pub(super) fn by_index(
        root: Node<'_, '_>,
        variables: &[Variable],
        derivatives: &HashMap<usize, usize>,
        indicators: usize,
    ) -> Result<Self, String> {
        let place = |text: &str| {
            let k: usize = text.trim().parse().ok()?;
            k.checked_sub(1).filter(|&i| i < variables.len())
        };
        let mut this = Self { indicators, ..Self::default() };
        let Some(structure) = child(root, "ModelStructure") else { return Ok(this) };
        for (list, state) in [("Outputs", false), ("Derivatives", true)] {
            let nodes = child(structure, list);
            let nodes = nodes.iter().flat_map(|l| l.children());
            for node in nodes.filter(|n| n.has_tag_name("Unknown")) {
                let index = node.attribute("index").unwrap_or("");
                let Some(variable) = place(index) else {
                    return Err(format!("{list} refers to {index:?}, which is no variable"));
                };
                let unknown = Unknown { variable, dependencies: dependencies(node, place) };
                if !state {
                    this.outputs.push(unknown);
                    continue;
                }
                let own = derivatives.get(&variable).and_then(|k| k.checked_sub(1));
                let own = own.filter(|&i| i < variables.len());
                let state = own.ok_or_else(|| no_state(&variables[variable]))?;
                this.states.push(State { state, derivative: unknown });
            }
        }
        this.unlisted = this.states.is_empty() && !derivatives.is_empty();
        Ok(this)
    }

    /// Inputs that an output depends on directly; nothing if that is not told.
    pub(crate) fn inputs_of(&self, output: usize, variables: &[Variable]) -> Option<Vec<usize>> {
        let unknown = self.outputs.iter().find(|u| u.variable == output)?;
        let all = unknown.dependencies.as_ref()?;
        let input = |&&i: &&usize| variables[i].causality == Causality::Input;
        Some(all.iter().filter(input).copied().collect())
    }
}

fn no_state(v: &Variable) -> String {
    format!("variable {} is listed as a derivative, but names no state by `derivative`", v.name)
}

fn dependencies(node: Node<'_, '_>, place: impl Fn(&str) -> Option<usize>) -> Option<Vec<usize>> {
    let text = node.attribute("dependencies")?;
    Some(text.split_whitespace().filter_map(place).collect())
}
