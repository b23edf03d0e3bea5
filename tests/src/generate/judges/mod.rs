//! Judges of runs.
mod blocks;
mod emits;
mod errors;
mod executors;
mod methods;
mod neighbours;
pub mod reference;
mod resume;
mod rewrite;
mod rounding;
mod split;
mod stable;

pub use executors::{EXECUTORS, compare as compare_executors, same_run};

use super::{
    compare::{Bounds, difference, summary},
    random::Random,
    run::{End, Outcome, Runner},
    settings::Settings,
    text,
};
use superdense_judge::model::Model;

/// A model with the way it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The seed of the campaign.
    pub seed: u64,
    /// The number of the model there.
    pub number: u64,
    /// The model.
    pub model: Model,
    /// The settings.
    pub settings: Settings,
}

impl Case {
    /// The scenario file.
    pub fn text(&self) -> String {
        text::scenario(&self.model, &self.settings)
    }

    /// Runs it.
    pub fn run(&self, runner: &Runner) -> Outcome {
        runner.run(&self.text(), self.settings.executor)
    }

    /// The random choices of a judge, which are the same while a model is made smaller.
    pub fn choices(&self, judge: &str) -> Random {
        Random::new(self.seed, self.number, judge)
    }

    /// The same way to run another model.
    pub fn with(&self, model: Model) -> Self {
        Self { model, ..self.clone() }
    }
}

/// What a judge says.
#[derive(Debug, Clone, PartialEq)]
pub enum Opinion {
    /// The run can be right.
    Agrees,
    /// The judge does not know, or does not apply.
    Skipped(&'static str),
    /// The judge would know, but the outcome lies within errors.
    Undecided(String),
    /// The run is wrong, or the one it is compared with.
    Disagrees(Finding),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What was seen.
    pub seen: String,
    /// What is right, or what it is compared with.
    pub right: String,
    /// The first difference.
    pub difference: String,
}

impl Finding {
    /// The kind of difference, without numbers and names: what shrinks keeps it.
    pub fn class(&self) -> String {
        // Events at the first tick are a kind of their own.
        let text = self.difference.replace("(1, 0)", "(start)").replace("ticks 1 to 1", "(start)");
        let text: String = text.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
        // Which of two runs has more events tells little.
        let words: Vec<&str> =
            text.split_whitespace().filter(|w| !w.starts_with(['u', 'l', '[', '-'])).collect();
        words.join(" ")
    }
}

impl Opinion {
    /// Its place among the counts of opinions.
    pub fn number(&self) -> usize {
        match self {
            Self::Agrees => 0,
            Self::Skipped(_) => 1,
            Self::Undecided(_) => 2,
            Self::Disagrees(_) => 3,
        }
    }

    /// Compares a run with one that must be equal within bounds.
    pub fn of(base: &Outcome, other: &Outcome, what: &str, bounds: Bounds) -> Self {
        if matches!(other.end, End::Refused(_)) {
            return Self::Skipped("refused in that way");
        }
        match difference(base, other, bounds) {
            None => Self::Agrees,
            Some(difference) => Self::Disagrees(Finding {
                seen: summary(base),
                right: format!("{what}: {}", summary(other)),
                difference,
            }),
        }
    }
}

/// Says whether a run can be right.
pub trait Judge: Sync {
    /// A short name, of options and files.
    fn name(&self) -> &'static str;
    /// Its opinion of a run.
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion;
    /// How many of 100 models it looks at.
    fn share(&self) -> usize {
        50
    }
}

/// All judges.
pub fn all() -> Vec<Box<dyn Judge>> {
    vec![
        Box::new(reference::Reference),
        Box::new(rewrite::DeMorgan),
        Box::new(rewrite::Negation),
        Box::new(rewrite::Conjunct),
        Box::new(rewrite::Named),
        Box::new(rewrite::Scale),
        Box::new(emits::Emits),
        Box::new(blocks::Blocks),
        Box::new(neighbours::Bystander),
        Box::new(resume::Resume),
        Box::new(executors::Executors),
        Box::new(methods::Methods),
        Box::new(rounding::Tighter),
        Box::new(rounding::Shift),
        Box::new(rounding::Finer),
        Box::new(rounding::TimeScale),
        Box::new(rounding::TimeShift),
        Box::new(split::Split),
    ]
}
