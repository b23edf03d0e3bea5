//! What the judge is asked, and what it answers.
use crate::model::{Instant, Model};

/// How far the judge goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Undecided beyond so many events.
    pub events: usize,
    /// Undecided beyond so many work units; one is about a microsecond in release mode.
    pub effort: u64,
    /// The errors that the judged program may make.
    pub uncertainty: Uncertainty,
    /// The highest micro-step of an instant.
    pub micro_steps: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 2000,
            effort: 2_000_000,
            uncertainty: Uncertainty::default(),
            micro_steps: 10_000,
        }
    }
}

/// The errors that the judged program may make. They only decide what is undecided, and how wide
/// the enclosures are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncertainty {
    /// Error of states relative to their size.
    pub relative: f64,
    /// Error of states beside that.
    pub absolute: f64,
    /// Error of located times, in ticks, beside what errors of states cause.
    pub ticks: f64,
    /// States that are polynomials of the time up to this degree have rounding errors only.
    pub exact_degree: u32,
    /// The judged program may take values this close to zero for zero where it decides, polynomials of the time included.
    pub own: f64,
}

impl Default for Uncertainty {
    fn default() -> Self {
        Self { relative: 1e-8, absolute: 1e-9, ticks: 1e-4, exact_degree: 3, own: 0.0 }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The run goes through to the end, like this.
    Run(Run),
    /// Decided up to an instant only.
    Undecided(Undecided),
    /// The rules say that the run ends in an error.
    Error(Failure),
}

/// A run up to an instant, and why not further.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    /// The kind of reason.
    pub reason: Reason,
    /// For people.
    pub detail: String,
    /// Everything before this tick is decided; `run` holds it.
    pub until: i64,
    /// What is decided; `end` is empty.
    pub run: Run,
}

/// Why a run is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Two events, or an event and the end, lie too close to tell their order.
    Order,
    /// A relation comes close to zero without passing it, or passes it only just.
    Touch,
    /// The sign of a relation at a decision lies within the error.
    Sign,
    /// The rules leave it open.
    Open,
    /// Domains are left or the solution ends: a root of a negative number, a pole.
    Singular,
    /// More events or work than allowed.
    Effort,
    /// Something that the judge does not know.
    Unsupported,
}

/// An error that the rules demand.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Which one.
    pub kind: FailureKind,
    /// For people.
    pub message: String,
    /// Between which ticks it comes.
    pub time: Ticks,
    /// What happened before; `end` is empty.
    pub run: Run,
}

/// Which error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// R11(a).
    MicroSteps,
    /// R11(b): Zeno or chattering.
    Chattering,
    /// Rule 17.
    Rounds,
    /// A reset gives no number.
    NotANumber,
    /// Rule 12: an event that can never happen again.
    FallsThrough,
    /// `rest` stops a unit in which a state that it does not name would go on.
    MovesAtRest,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// All events in order of time; those of one tag by unit, then as they ran.
    pub happened: Vec<Happened>,
    /// The units after all cycles of the last instant.
    pub end: Vec<UnitEnd>,
    /// At the instants asked for.
    pub samples: Vec<Sample>,
    /// Closest approaches to something undecided.
    pub near: Vec<Near>,
}

/// Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticks {
    /// The first tick.
    pub lo: i64,
    /// The last tick.
    pub hi: i64,
}

/// Both ends are included; they contain the error that the program may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enclosure {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Enclosure {
    /// The middle, which is the judge's own result.
    pub fn middle(&self) -> f64 {
        self.lo + (self.hi - self.lo) / 2.0
    }

    /// Whether a number lies inside.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// Which event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Index of the unit, of the mode that has the event (none: the unit itself), and of the event
    /// there.
    Unit(usize, Option<usize>, usize),
    /// Index of the link.
    Link(usize),
}

/// An event that takes place.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// Which one.
    pub place: Place,
    /// Its name; `link0`, ... for links.
    pub name: String,
    /// When; one tick where that is certain.
    pub tick: Ticks,
    /// The micro-step.
    pub micro: u32,
    /// The rules give the order in which things happen here, and not the number of the micro-step.
    pub ordered: bool,
    /// States and discrete variables of its unit (for links: of the members, one after the other)
    /// right after it.
    pub after: Vec<Enclosure>,
}

/// A unit at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitEnd {
    /// `x0`, ...
    pub states: Vec<Enclosure>,
    /// `d0`, ...
    pub discrete: Vec<Enclosure>,
    /// `z0`, ...
    pub algebraic: Vec<Enclosure>,
    /// `y0`, ...
    pub outputs: Vec<Enclosure>,
    /// The present mode; 0 where there are none.
    pub mode: usize,
}

/// All units at an instant, after all its cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The tick.
    pub tick: i64,
    /// An event may lie on either side of the instant, so values mean nothing.
    pub ambiguous: bool,
    /// The units.
    pub units: Vec<UnitEnd>,
}

/// A closest approach to something undecided.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// Where.
    pub tick: i64,
    /// Which kind.
    pub reason: Reason,
    /// How many times the error it is away; 1 is undecided.
    pub margin: f64,
}

/// What should happen in a model.
///
/// `samples` are instants, rounded to the nearest tick, at which values are wanted.
pub fn judge(model: &Model, limits: &Limits, samples: &[Instant]) -> Verdict {
    crate::run::judge(model, limits, samples)
}
