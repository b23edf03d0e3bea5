//! Facts of an FMU for co-simulation.
use super::{
    beginning::Beginning,
    discrete::Whole,
    instance::Block,
    layout::{Layout, Ported},
    nominal::Nominal,
    words::Words,
};

/// Facts about the FMU that do not change in a run.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Name of the FMU in messages.
    pub name: String,
    /// Communication step in ticks.
    pub step: i64,
    /// Tick at which the run probably ends.
    pub stop: i64,
    /// How far an output may be off what receivers hold.
    pub tolerance: f64,
    /// Highest power of the segments that are sent.
    pub order: usize,
    /// Whether the state may be saved and brought back.
    pub state_access: bool,
    /// Inputs that may be set in step mode.
    pub smooth: Vec<Block>,
    /// Inputs that event mode wants.
    pub discrete: Vec<Block>,
    /// All of them.
    pub inputs: Vec<Block>,
    /// Whether an output, or a derivative of one, may follow an input at once.
    pub passing: bool,
    pub whole: Whole,
    /// Per input: the reference, if it can be set inside steps.
    pub intermediate: Vec<Option<u32>>,
    /// Outputs.
    pub outputs: Vec<Block>,
    /// Per output: its reference, if it changes continuously.
    pub continuous: Vec<Option<u32>>,
    /// Outputs of integers of 64 bits. What their reals lack follows behind the values of all outputs.
    pub wide: Vec<usize>,
    pub rates: Rates,
    /// Nominal values of outputs.
    pub usual: Vec<Nominal>,
    pub words: Words,
    pub beginning: Beginning,
}

/// Derivatives of outputs that the FMU is asked for: all of the first order, then all of the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    /// Variables.
    pub references: Vec<u32>,
    pub orders: Vec<i32>,
    /// How many outputs have them.
    pub outputs: usize,
    /// How many numbers these are.
    pub numbers: usize,
    /// Factors of aliases in other units, if there are some.
    pub factors: Vec<f64>,
}

impl Rates {
    /// Rates of the outputs that change continuously.
    pub(super) fn new(layout: &Layout, order: usize) -> Self {
        let known = || layout.given().filter(|p| p.variable.continuous);
        let factor = |p: Ported<'_>| {
            let factor = p.scale.map_or(1.0, |s| s.factor);
            std::iter::repeat_n(factor, p.variable.elements)
        };
        let factors = match layout.scales.is_empty() {
            true => Vec::new(),
            false => known().flat_map(factor).collect(),
        };
        let references: Vec<u32> = known().map(|p| p.variable.reference).collect();
        let outputs = known().map(|p| p.variable.elements).sum::<usize>();
        let orders = (1..=order as i32).flat_map(|k| known().map(move |_| k)).collect();
        let outputs = if order > 0 { outputs } else { 0 };
        let references = references.repeat(order);
        Self { references, orders, outputs, numbers: outputs * order, factors }
    }
}
