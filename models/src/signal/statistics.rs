//! Counts that continuous units keep of their own work; deterministic, so they stand in summaries.
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of one unit, or their sum over a run.
///
/// A unit keeps one and hands it to the kernel from `Atomic::statistics`:
///
/// ```
/// use superdense_models::signal::statistics::UnitStatistics;
/// let counts = UnitStatistics { exchanges: 2, steps: 10, ..Default::default() };
/// let sums = counts.entries().into_iter().collect();
/// assert_eq!(UnitStatistics::from_sums(&sums), counts);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnitStatistics {
    /// Messages received from other continuous units.
    pub exchanges: u64,
    /// Their length: 12 bytes for the tag of each, and 8 for each number in it.
    pub exchanged_bytes: u64,
    /// Exchanges of couplings: macro steps.
    pub macro_steps: u64,
    /// Repeated macro steps, to correct what was told.
    pub corrections: u64,
    /// Macro steps that were refused for their error, and repeated with a shorter one.
    pub refused_macro_steps: u64,
    /// Macro steps that stand with an error of more than ten times their tolerance.
    pub missed_macro_steps: u64,
    /// The largest such error, in tolerances: no count, and no sum over units.
    pub largest_miss: u64,
    /// Couplings whose signals all stayed far below the size for which their tolerance is meant.
    pub faint_couplings: u64,
    /// Accepted steps of the method.
    pub steps: u64,
    /// Steps that the error control refused.
    pub rejected_steps: u64,
    /// Evaluations of the derivatives; a whole series counts as one.
    pub evaluations: u64,
    /// State events located.
    pub located: u64,
    /// Evaluations of the event indicators, all at once.
    pub indicator_evaluations: u64,
    /// Starts of the method after jumps.
    pub reinitialisations: u64,
    /// Steps of fixed length that an input, an event or a change of an `if` cut short.
    pub cut_steps: u64,
    /// Outputs whose exchange tolerance is more than a thousandth of all that was sent of them.
    pub coarse_outputs: u64,
    /// How often a state of a quantised method swung to and fro within its quantum.
    pub lost_states: u64,
    /// Relations that were beyond their threshold without a flip, by less than a large error.
    pub unsure_relations: u64,
    /// States whose tolerances were tightened, so that signs are sure.
    pub tightened_tolerances: u64,
    /// Tables of times none of whose rows a run came to.
    pub unread_tables: u64,
}

impl UnitStatistics {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        let mut sums: BTreeMap<&'static str, u64> = self.entries().into_iter().collect();
        for (name, count) in other.entries() {
            *sums.entry(name).or_default() += count;
        }
        *self = Self::from_sums(&sums);
    }

    /// Of a unit with one output, whether its tolerance is wide beside that.
    pub(crate) fn coarse(is_coarse: bool) -> Self {
        Self { coarse_outputs: is_coarse.into(), ..Self::default() }
    }

    /// The counts by name.
    pub fn entries(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("exchanges", self.exchanges),
            ("exchanged_bytes", self.exchanged_bytes),
            ("macro_steps", self.macro_steps),
            ("corrections", self.corrections),
            ("refused_macro_steps", self.refused_macro_steps),
            ("missed_macro_steps", self.missed_macro_steps),
            ("largest_miss", self.largest_miss),
            ("faint_couplings", self.faint_couplings),
            ("steps", self.steps),
            ("rejected_steps", self.rejected_steps),
            ("evaluations", self.evaluations),
            ("located", self.located),
            ("indicator_evaluations", self.indicator_evaluations),
            ("reinitialisations", self.reinitialisations),
            ("cut_steps", self.cut_steps),
            ("coarse_outputs", self.coarse_outputs),
            ("lost_states", self.lost_states),
            ("unsure_relations", self.unsure_relations),
            ("tightened_tolerances", self.tightened_tolerances),
            ("unread_tables", self.unread_tables),
        ]
    }

    /// The counts out of `Simulation::statistics`; what no unit counted is zero.
    pub fn from_sums(sums: &BTreeMap<&'static str, u64>) -> Self {
        let sum = |name| sums.get(name).copied().unwrap_or(0);
        Self {
            exchanges: sum("exchanges"),
            exchanged_bytes: sum("exchanged_bytes"),
            macro_steps: sum("macro_steps"),
            corrections: sum("corrections"),
            refused_macro_steps: sum("refused_macro_steps"),
            missed_macro_steps: sum("missed_macro_steps"),
            largest_miss: sum("largest_miss"),
            faint_couplings: sum("faint_couplings"),
            steps: sum("steps"),
            rejected_steps: sum("rejected_steps"),
            evaluations: sum("evaluations"),
            located: sum("located"),
            indicator_evaluations: sum("indicator_evaluations"),
            reinitialisations: sum("reinitialisations"),
            cut_steps: sum("cut_steps"),
            coarse_outputs: sum("coarse_outputs"),
            lost_states: sum("lost_states"),
            unsure_relations: sum("unsure_relations"),
            tightened_tolerances: sum("tightened_tolerances"),
            unread_tables: sum("unread_tables"),
        }
    }
}
