//! Why equations are not solved: a method does not take them, algebraic variables have no values, or a unit
//! cannot begin or go on.
use crate::signal::value::Value;
use serde::{Deserialize, Serialize};

/// The remedy for a method that solves no algebraic equations.
pub(crate) const ALGEBRAIC: &str = "use method = \"rodas\", \"taylor\", \"closed\" or \"auto\"";

const SERIES: &str = "needs the equations' series, but their code looks at values to take its way";

/// The remedy for a function that is not finite.
const OUT_OF_RANGE: &str =
    "keep what a root, a logarithm or a quotient reads within its range, as in sqrt(max(x, 0))";

/// Why a method takes no equations of this kind, or does not take its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// No method is left.
    #[error("no method")]
    Nothing,
    /// The highest power of segments.
    #[error("segments of order {order}: give 1 to {most}")]
    SegmentOrder {
        /// The one that was given.
        order: usize,
        /// The largest one.
        most: usize,
    },
    /// So many values at the start, where others are needed.
    #[error("{given} values of {what}, where the equations have {needed}")]
    Lengths {
        /// Of what.
        what: String,
        /// How many were given.
        given: usize,
        /// How many there are.
        needed: usize,
    },
    /// An exchange tolerance that is none.
    #[error("an exchange tolerance of {0}: give a positive one, or infinity")]
    ExchangeTolerance(f64),
    /// Long segments of equations without series.
    #[error("a segment order above 3 {}", SERIES)]
    LongSegments,
    /// Algebraic equations without series.
    #[error("a system with algebraic equations {}", SERIES)]
    AlgebraicSeries,
    /// A method of series, and equations without.
    #[error("the method {}", SERIES)]
    NoSeries,
    /// The method takes differential equations only.
    #[error("the method solves no algebraic equations; {}", ALGEBRAIC)]
    Algebraic,
    /// The order of a method of series.
    #[error("Taylor order {order}: give 2 to {most}")]
    TaylorOrder {
        /// The one that was given.
        order: usize,
        /// The largest one.
        most: usize,
    },
    /// A closed form is for affine equations.
    #[error(
        "the closed form needs derivatives that are affine in time, states and inputs; use the method taylor or rodas"
    )]
    NotAffine,
    /// A fixed step, in seconds.
    #[error("a step must be a tick or longer ({tick:e} s), this is {step:e} s")]
    Step {
        /// The shortest one.
        tick: f64,
        /// The one that was given.
        step: f64,
    },
    /// The longest step, in seconds.
    #[error("`max_step` must be a tick or longer ({tick:e} s), this is {step:e} s")]
    MaxStep {
        /// The shortest one.
        tick: f64,
        /// The one that was given.
        step: f64,
    },
    /// Quantised states, and equations without series.
    #[error(
        "quantised-state methods need the equations' series, but their code looks at values to take its way"
    )]
    QuantisedSeries,
    /// Quantised states, and algebraic equations.
    #[error("quantised-state methods solve no algebraic equations; {}", ALGEBRAIC)]
    QuantisedAlgebraic,
    /// Quantised states, and a relation that switches itself.
    #[error(
        "a condition, or what an `abs`, `min`, `max` or `if` compares, has kinks itself (abs, min, if, ...), which \
         quantised-state methods do not look at; use the method rk45"
    )]
    QuantisedKinks,
    /// Quantised states, and a derivative that switches by itself.
    #[error(
        "a derivative switches (if, max, ...) with the time or an input, which quantised-state methods do not see; \
         leave out switching = \"ignored\", or write the switch as an event"
    )]
    QuantisedSwitch,
}

/// Why algebraic variables do not follow from their equations. Equations are named by their text, or else
/// their number; `near` has the values of the variables, if they are few.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum AlgebraicError {
    /// A slope of an equation.
    #[error(
        "the algebraic equation {equation} has no finite slope{}: a root or a power begins with an infinite one at \
         zero; write `x/sqrt(abs(x) + 1e-9)` for `sqrt(x)`, or take method \"taylor\"",
        place(.near)
    )]
    NoSlope { equation: String, near: Vec<f64> },
    /// States that follow from constraints no longer do.
    #[error("{}{}", lost(.states), place(.near))]
    Lost { states: Vec<String>, near: Vec<f64> },
    /// Equations depend on each other to rounding, at this place only.
    #[error(
        "the algebraic part is badly conditioned{}: to rounding its Jacobian is singular there, although not \
         elsewhere (condition number above {condition:e}), so that {equation} and the others say nothing about some algebraic \
         variable; add what decides it there, such as a small leak across elements that block, or keep the solution \
         away from there",
        place(.near)
    )]
    BadlyConditioned { equation: String, condition: f64, near: Vec<f64> },
    /// Equations depend on each other everywhere.
    #[error(
        "the algebraic equation {equation} and the others do not determine the algebraic variables{} (index > 1: \
         their Jacobian is singular everywhere); replace a constraint by its time derivative",
        place(.near)
    )]
    Undetermined { equation: String, near: Vec<f64> },
    /// A residual.
    #[error("{equation} is not finite")]
    NotFinite { equation: String },
    /// The search came to nothing.
    #[error(
        "no values of the algebraic variables make {equation} hold: its residual stays at {residual:e}{}; start from \
         other values",
        place(.near)
    )]
    NotFound { equation: String, residual: f64, near: Vec<f64> },
}

impl AlgebraicError {
    /// Whether equations depend on each other where the search stands: elsewhere they may not.
    pub(super) fn is_of_the_place(&self) -> bool {
        matches!(self, Self::BadlyConditioned { .. } | Self::Undetermined { .. })
    }
}

/// Why a continuous unit cannot begin, or go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum UnitError {
    /// The method does not take the equations.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// Algebraic variables have no values.
    #[error(transparent)]
    Algebraic(#[from] Box<AlgebraicError>),
    /// A state that follows from constraints was set.
    #[error(
        "a reset sets `{state}` to {value:?}, but the constraints and the other states make it {found:?}: the states \
         `{}` were chosen at the start to follow from the constraints; set the others, or all of them such that the \
         constraints hold",
        dependent.join("`, `")
    )]
    LostReset { state: String, value: f64, found: f64, dependent: Vec<String> },
    /// Sides of relations that drive each other.
    #[error(
        "the sides of relations (if, abs, max, ...) do not agree with each other and with the algebraic equations: \
         each makes the other change; the last one was that of `{relation}`"
    )]
    Sides { relation: String },
    /// There is no solution to go on with, at a time in seconds.
    #[error("{what} at {at} s{}{}{}", within(.mode), because(.why), remedy(.what))]
    Solution { what: String, at: f64, mode: Option<String>, why: Option<String> },
    /// An output.
    #[error("output {output} is not finite{}", because(.why))]
    Output { output: String, why: Option<String> },
    /// A signal that was received.
    #[error("input {input} received a value that is not finite")]
    Input { input: String },
    /// An event that was received without a number.
    #[error(
        "event {input} got {value}, which is no number; its effect reads `value`; send a number, or leave `value` out"
    )]
    NoNumber { input: String, value: Value },
    /// The effect of an event that was received.
    #[error("the reset by an input event is not finite{}", because(.why))]
    Effect { why: Option<String> },
    /// The reset of an event.
    #[error("event `{event}`: a reset gives a value that is not finite{}", because(.why))]
    Reset { event: String, why: Option<String> },
    /// The resets of several events, each of which is finite alone.
    #[error("a reset gives a value that is not finite")]
    Resets,
    /// The reset of a shared event.
    #[error("the reset of shared event '{event}' is not finite{}", because(.why))]
    SharedReset { event: String, why: Option<String> },
    /// An event after the last tick, at this offset in seconds.
    #[error("an event at {0} s is beyond the range of time")]
    Late(f64),
    /// An event that came ever faster, up to a time in seconds, and comes no more.
    #[error(
        "event `{event}` came ever faster up to {at} s (Zeno), and its condition has held since: the unit has fallen \
         through; give the event a `rest`, and a condition that its reset makes false"
    )]
    Fallen { event: String, at: f64 },
    /// An event whose reset lets its condition hold on.
    #[error(
        "event `{event}` puts `{relation}` back onto its threshold, from where it goes on as before: the condition of \
         the event holds on, so that it cannot happen again (the unit falls through); give the event a `rest`, or a \
         condition that its reset makes false"
    )]
    FallsThrough { event: String, relation: String },
    /// A state that would stand still, though it moves.
    #[error(
        "`rest` stops all states of the unit, and `{equation}` would go on with {rate} per second; give the state of \
         rest a mode, with what goes on there, or put what goes on into a unit of its own"
    )]
    Rest { equation: String, rate: f64 },
    /// A relation that flips more often than there are ticks.
    #[error(
        "`{relation}` passes whole numbers, or zero, {count} times within {ticks} ticks: the resolution of time cannot \
         tell these instants apart; keep it smaller or slower, or choose a finer `resolution`"
    )]
    Crowded { relation: String, count: usize, ticks: i64 },
    /// A member of a link said nothing.
    #[error("shared event '{event}': member {member} did not answer")]
    Unanswered { event: String, member: u32 },
    /// A link that is proposed and refused without end.
    #[error(
        "shared event '{event}' was proposed {count} times in a row, at most {ticks} ticks apart, and always refused: \
         from what is known here of the other units its condition is true, and on the values of all it is false; leave \
         a margin above rounding in `when`, such as `a.x > b.x + 1e-9`"
    )]
    Refused { event: String, count: u32, ticks: i64 },
}

impl From<Box<AlgebraicError>> for Box<UnitError> {
    fn from(why: Box<AlgebraicError>) -> Self {
        UnitError::from(why).into()
    }
}

/// The remedy where the states with these names no longer follow from their constraints.
pub(super) fn lost(states: &[String]) -> String {
    format!(
        "`{}` were chosen at the start to follow from the constraints, which do not determine them here; take method \
         \"taylor\", whose steps pass such places, or describe the position by another state, such as an angle",
        states.join("`, `")
    )
}

fn place(near: &[f64]) -> String {
    let list: Vec<String> = near.iter().map(|z| format!("{z:?}")).collect();
    if list.is_empty() { String::new() } else { format!(" near {}", list.join(", ")) }
}

fn within(mode: &Option<String>) -> String {
    mode.as_ref().map_or_else(String::new, |name| format!(" in the mode `{name}`"))
}

fn because(why: &Option<String>) -> String {
    why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
}

fn remedy(what: &str) -> String {
    if what.ends_with("is not finite") { format!("; {OUT_OF_RANGE}") } else { String::new() }
}
