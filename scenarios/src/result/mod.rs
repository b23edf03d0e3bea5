//! `[result]`: named numbers in which a run ends.
//!
//! A *signal* is a formula over outputs, a *stream* is a sequence of events. A *reduction* makes one number of
//! a signal, of a condition over signals, or of a stream. A *result* is a formula over reductions, parameters
//! and other results.
//!
//! **Why pieces.** Samples miss what happens between them. Reductions look at the solution itself: at the
//! polynomial pieces that units note over each of their steps, and at the segments that other units send.
pub(crate) mod evaluation;
mod fold;
mod queue;
mod side;
mod signal;
mod walk;

use serde::Serialize;
use superdense_models::maths::expr::{Condition, Expr};

/// An output port of an atomic unit: its path in the kernel model and the port's number.
pub type Output = (String, u16);

/// The results of a scenario, ready to be evaluated.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// All of `[result]`, to know it by.
    pub text: String,
    /// In the order of the file.
    pub named: Vec<Named>,
    /// Places in `named`, each after those that it refers to.
    pub order: Vec<usize>,
    /// Numbers from signals, conditions and streams.
    pub reductions: Vec<Reduction>,
    /// Formulas over outputs.
    pub signals: Vec<Signal>,
    /// Sequences of events.
    pub streams: Vec<Stream>,
    /// Outputs that signals read, whether their units guess what they are between messages, and how far off units that
    /// hear them may know them.
    pub ports: Vec<Output>,
    /// See [`ports`](Self::ports).
    pub sampled: Vec<bool>,
    /// See [`ports`](Self::ports).
    pub bands: Vec<f64>,
    /// Outputs whose messages streams are made of.
    pub senders: Vec<Output>,
}

impl Results {
    /// The outputs whose every change matters: a value at the end is read there.
    pub fn followed(&self) -> impl Iterator<Item = &Output> {
        let follows =
            |s: usize| self.reductions.iter().any(|r| r.of == Of::Signal(s) && r.how != How::Final);
        let atoms = (0..self.signals.len()).filter(move |&s| follows(s));
        let mut all: Vec<usize> = atoms
            .flat_map(|s| self.signals[s].atoms.iter())
            .flat_map(Atom::ports)
            .copied()
            .collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|port| &self.ports[port])
    }
}

/// A result.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its unit of measure, for people.
    pub unit: Option<String>,
    /// Its value: variable k is reduction k, and those behind all reductions are results.
    pub formula: Expr,
    /// The reduction whose batch means give an interval at level 0.95.
    pub batches: Option<usize>,
    /// It reads a signal that its unit knows at some instants only.
    pub sampled: bool,
}

/// One number from a signal, a condition or a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// The number.
    pub how: How,
    /// Of this.
    pub of: Of,
    /// First and last tick of the window.
    pub window: [i64; 2],
    /// Whether it keeps batch means, too.
    pub batches: bool,
}

impl Reduction {
    /// Whether its window, which is no instant, ends here.
    fn ends_at(&self, at: superdense_models::signal::piece::Moment) -> bool {
        let [begin, end] = self.window;
        begin < end && at.part == 0.0 && at.tick == end
    }
}

/// The operand of a reduction: its place in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// A signal, or a condition.
    Signal(usize),
    /// A stream.
    Stream(usize),
}

/// How a reduction makes its number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the functions in docs/format.md")]
pub enum How {
    Initial,
    Final,
    At(i64),
    Mean,
    Rms,
    Std,
    Min,
    Max,
    TimeOfMin,
    TimeOfMax,
    Integral,
    Sum,
    Percentile(f64),
    Duration,
    First,
    Last,
    Count,
    Rate,
}

impl How {
    /// Whether, of events, it reads the values that they carry.
    pub(crate) fn takes_values(self) -> bool {
        !matches!(self, Self::Count | Self::First | Self::Last | Self::Rate)
    }

    /// The reduction of a signal whose fold knows this number, too.
    fn folded(self) -> Self {
        match self {
            Self::TimeOfMin => Self::Min,
            Self::TimeOfMax => Self::Max,
            Self::Integral => Self::Mean,
            Self::Rms => Self::Std,
            Self::First | Self::Last | Self::Count => Self::Duration,
            Self::Percentile(_) => Self::Percentile(0.0),
            other => other,
        }
    }
}

/// A formula over outputs.
#[derive(Debug, Clone)]
pub struct Signal {
    /// The meaning of its variables.
    pub atoms: Vec<Atom>,
    /// The formula over them.
    pub form: Form,
}

/// A number, or a truth value.
#[derive(Debug, Clone)]
pub enum Form {
    /// A number.
    Number(Expr),
    /// A truth value.
    Truth(Condition),
}

/// A variable of a signal; numbers are places in [`Results::ports`].
#[derive(Debug, Clone, PartialEq)]
pub enum Atom {
    /// Seconds since the start.
    Time,
    /// An output.
    Port(usize),
    /// Many outputs as one number, at each instant.
    Many(Gather, Vec<usize>),
}

impl Atom {
    /// The outputs that it reads.
    pub(crate) fn ports(&self) -> &[usize] {
        match self {
            Self::Time => &[],
            Self::Port(port) => std::slice::from_ref(port),
            Self::Many(_, all) => all,
        }
    }
}

/// How many values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Gather {
    Sum,
    Mean,
    Min,
    Max,
    Count,
}

/// Events.
#[derive(Debug, Clone, PartialEq)]
pub enum Stream {
    /// Messages of outputs: places in [`Results::senders`].
    Sent(Vec<usize>),
    /// Rows of `events.csv`: unit or link, and name with `*` for any text.
    Events {
        /// Units and links, with points, in order.
        units: Vec<String>,
        /// Pattern of the event's name.
        pattern: String,
    },
    /// Seconds between events of another stream.
    Gaps(Box<Stream>),
}

/// The value of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Of something that never happened, `null`; else a number.
    Number(Option<f64>),
    /// A number with more about it.
    Object {
        /// The number.
        value: Option<f64>,
        /// The lower end of the interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        /// The upper end of the interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
        /// How far the number may be off, as `--verify` finds.
        #[serde(skip_serializing_if = "Option::is_none")]
        bar: Option<f64>,
        /// It comes from values between which nobody knows the signal.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sampled: bool,
    },
}

impl Outcome {
    /// The number, unless it is of something that never happened.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value) | Self::Object { value, .. } => *value,
        }
    }

    /// With how far the number may be off.
    #[must_use]
    pub fn with_bar(self, wide: f64) -> Self {
        let bar = Some(wide);
        match self {
            Self::Number(value) => {
                Self::Object { value, low: None, high: None, bar, sampled: false }
            }
            Self::Object { value, low, high, sampled, .. } => {
                Self::Object { value, low, high, bar, sampled }
            }
        }
    }
}

/// A name, a value, and a unit of measure for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name of the result.
    pub name: String,
    /// Its value.
    pub outcome: Outcome,
    /// Its unit of measure.
    pub unit: Option<String>,
}

/// Whether `text` fits a pattern in which `*` stands for any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        for (pattern, text, wanted) in [
            ("bounce", "bounce", true),
            ("bounce", "bounces", false),
            ("* below 59.5 Hz", "machine 38 below 59.5 Hz", true),
            ("* below 59.5 Hz", "machine 38 below 59.3 Hz", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
