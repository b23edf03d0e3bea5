//! Equations, apart from the method that solves them and from the unit that wraps them.
use super::ode::{Arm, Event};
use crate::{
    maths::expr::{Condition, Program, Recorder, Registers, Scalar, record},
    signal::value::Value,
};
use std::sync::Arc;
use superdense_kernel::time::RationalClock;

/// When a member looks for a shared event, by what it knows of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detection {
    /// All the time: the event is located between exchanges.
    #[default]
    Located,
    /// When it hears of others, as a program does that compares what it is given.
    Received,
    /// Never: it leaves that to others.
    Passive,
}

/// How many of what a system of equations has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dims {
    /// Continuous states, algebraic variables included.
    pub states: usize,
    /// How many of them, the last ones, are algebraic variables: what stands in place of their
    /// derivatives is a residual, which is zero on the solution.
    pub algebraic: usize,
    /// Signal inputs.
    pub inputs: usize,
    /// Discrete values, which only events change.
    pub discrete: usize,
    /// Signal outputs.
    pub outputs: usize,
    /// Event inputs.
    pub event_inputs: usize,
    /// Event outputs.
    pub event_outputs: usize,
    /// Event indicators, those of links included.
    pub indicators: usize,
}

impl Dims {
    /// Place of the first state in the variables; time stands at 0.
    pub const STATES: usize = 1;
    /// Number of states that have a derivative.
    #[inline]
    pub fn differential(&self) -> usize {
        self.states - self.algebraic
    }
    /// Places of the algebraic variables.
    pub fn algebraic_places(&self) -> std::ops::Range<usize> {
        Self::STATES + self.differential()..self.first_input()
    }
    /// Place of the first input.
    #[inline]
    pub fn first_input(&self) -> usize {
        Self::STATES + self.states
    }
    /// Place of the first discrete value.
    #[inline]
    pub fn first_discrete(&self) -> usize {
        self.first_input() + self.inputs
    }
    /// Place of the value of a received event.
    #[inline]
    pub fn received(&self) -> usize {
        self.first_discrete() + self.discrete
    }
    /// Number of variables: time, states, inputs, discrete values, received value.
    #[inline]
    pub fn variables(&self) -> usize {
        self.received() + 1
    }
}

/// What sets off an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// The conjunction of these indicators (`z <= 0`, or `z < 0` if strict) becomes true.
    State {
        /// Indices of indicators.
        indicators: Vec<usize>,
        /// Whether zero does not count.
        strict: bool,
        /// Report also a local minimum of the largest indicator that comes this close to zero
        /// without reaching it: an indicator that only touches zero.
        touching: Option<f64>,
    },
    /// Ticks, ascending.
    At(Vec<i64>),
    /// The instants of a clock after the start.
    Every(RationalClock),
}

impl Trigger {
    /// The first tick after `now` (or at `now`, if `inclusive`) of a time event.
    pub fn next(&self, now: i64, inclusive: bool) -> Option<i64> {
        let earliest = if inclusive { now } else { now.checked_add(1)? };
        match self {
            Self::State { .. } => None,
            Self::At(ticks) => ticks.get(ticks.partition_point(|&t| t < earliest)).copied(),
            Self::Every(clock) => clock.tick(clock.index_from(earliest.max(1))).ok(),
        }
    }
}

/// An event of a unit. Events at one instant happen in the order of declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct EventSpec {
    /// Name.
    pub name: Arc<str>,
    /// What sets it off.
    pub trigger: Trigger,
    /// Indicators of the trigger for which zero does not count, where it does for others.
    pub strictly: Vec<usize>,
    /// Where it comes to an end when it happens ever faster.
    pub rest: Option<Rest>,
}

impl EventSpec {
    /// An event without strict parts and without a rest mode.
    pub fn new(name: impl Into<Arc<str>>, trigger: Trigger) -> Self {
        Self { name: name.into(), trigger, strictly: Vec::new(), rest: None }
    }
}

/// The end of ever faster events (Zeno): when a state event follows on itself within a bound, the
/// variables take given values instead of being reset, and the states stay as they are until
/// another event changes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest {
    /// The bound in seconds.
    pub within: f64,
    /// Variables (states or discrete values) and their values at rest.
    pub values: Vec<(usize, f64)>,
}

/// A shared event as one member of the link knows it.
#[derive(Debug, Clone)]
pub struct LinkEquations {
    /// Number of the link in the scenario.
    pub link: u32,
    /// Its name.
    pub name: Arc<str>,
    /// This unit's number among the members.
    pub member: u32,
    /// Number of members.
    pub members: u32,
    /// Order among links at one instant; lower goes first.
    pub priority: i64,
    /// Indicators, on this unit's own knowledge, by which it detects the event.
    pub indicators: Vec<usize>,
    /// Whether zero does not count.
    pub strict: bool,
    /// Indicators for which zero does not count, where it does for others.
    pub strictly: Vec<usize>,
    /// When this unit looks for the event.
    pub detection: Detection,
    /// Whether the event takes place when a member proposes it, with what this one was told of the
    /// others in place of their true values.
    pub believed: bool,
    /// Per exchanged value: the own variable, or the input, by which this unit knows it.
    pub known: Vec<usize>,
    /// Own variables among the exchanged ones: (place in the exchange, variable of the unit).
    pub own: Vec<(usize, usize)>,
    /// Per exchanged value: the member that sends it.
    pub sender: Vec<u32>,
    /// The decision, on the exchanged values.
    pub condition: Condition,
    /// Own variables to assign.
    pub targets: Vec<usize>,
    /// Their new values, from the exchanged values.
    pub reset: Program,
}

impl LinkEquations {
    /// The event as this unit detects it.
    pub(crate) fn event(&self) -> Event {
        Event {
            strict: self.strict,
            strictly: self.strictly.clone(),
            ..Event::when(self.indicators.clone())
        }
    }
    /// The event that this unit locates; nothing happens to an event without indicators.
    pub(crate) fn located(&self) -> Event {
        match self.detection {
            Detection::Located => self.event(),
            Detection::Received | Detection::Passive => Event::default(),
        }
    }
}

/// Working memory for one kind of number; fits itself on first use.
#[derive(Debug, Clone, Default)]
pub struct Work<S = f64> {
    /// For derivatives.
    pub derivatives: Registers<S>,
    /// For outputs.
    pub outputs: Registers<S>,
    /// For indicators.
    pub indicators: Registers<S>,
    /// For resets.
    pub reset: Registers<S>,
}

/// Equations as programs over the variables.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Derivative of each state, residual of each algebraic variable.
    pub derivatives: Program,
    /// Each signal output.
    pub outputs: Program,
    /// Each indicator.
    pub indicators: Program,
}

/// A system of ordinary differential equations with events, also with algebraic equations beside
/// them (a differential-algebraic system of index 1).
///
/// All functions read one slice of variables: time in seconds, states, signal inputs, discrete
/// values, and the value of the event that is being received ([`Dims`] tells the places).
/// Derivatives, outputs and indicators are generic in the number, so that Taylor expansions come
/// from the same code. They must depend on the variables only.
pub trait Equations: Send + Sync + 'static {
    /// Sizes.
    fn dims(&self) -> Dims;
    /// Events, in order of priority.
    fn events(&self) -> &[EventSpec];
    /// Shared events in which the unit takes part.
    fn links(&self) -> &[LinkEquations] {
        &[]
    }
    /// Writes the derivative of each state, and a residual for each algebraic variable.
    fn derivatives<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, dx: &mut [S]);
    /// Writes each signal output.
    fn outputs<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, y: &mut [S]);
    /// Writes each indicator.
    fn indicators<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, z: &mut [S]) {
        let _ = (vars, work, z);
    }
    /// The same as programs, for series and for the form of indicators and outputs. Code is
    /// recorded; that gives nothing if it looks at values to take its way
    /// ([`record`]), and methods that need series then refuse the equations.
    fn programs(&self) -> Option<Programs> {
        let d = self.dims();
        let mut work = Work::<Recorder>::default();
        Some(Programs {
            derivatives: record(d.variables(), d.states, |v, dx| {
                self.derivatives(v, &mut work, dx);
            })?,
            outputs: record(d.variables(), d.outputs, |v, y| self.outputs(v, &mut work, y))?,
            indicators: record(d.variables(), d.indicators, |v, z| {
                self.indicators(v, &mut work, z);
            })?,
        })
    }
    /// The events that are watched for: the unit's own (time events keep their numbers, and are
    /// conjunctions over no indicator, which nobody looks at), then those of links.
    fn watched(&self) -> Vec<Event> {
        let own = self.events().iter().map(|e| match &e.trigger {
            Trigger::State { indicators, strict, touching } => Event {
                indicators: indicators.clone(),
                strict: *strict,
                strictly: e.strictly.clone(),
                graze: *touching,
            },
            _ => Event::default(),
        });
        own.chain(self.links().iter().map(LinkEquations::located)).collect()
    }
    /// Carries out event `event`: changes states and discrete values in place and says what
    /// leaves through which event output.
    fn reset(&self, event: usize, vars: &mut [f64], work: &mut Work, emit: &mut Vec<(u16, Value)>) {
        let _ = (event, vars, work, emit);
    }
    /// Whether event `event` still concerns these variables, after other events of the same
    /// instant: those of a mode that has been left do not.
    fn concerns(&self, event: usize, vars: &[f64]) -> bool {
        let _ = (event, vars);
        true
    }
    /// Whether the reset of `event` does for `other` what that would do at the same instant: then
    /// that does not happen, too.
    fn settles(&self, event: usize, other: usize) -> bool {
        let _ = (event, other);
        false
    }
    /// Events from this number on are the unit's own affair: nobody is told of them.
    fn first_internal(&self) -> usize {
        usize::MAX
    }
    /// Brings discrete values in line with the others after a jump from outside.
    fn settle(&self, vars: &mut [f64], work: &mut Work) {
        let _ = (vars, work);
    }
    /// After a jump to `vars`, says which events are ready to happen and which are not, where that
    /// does not follow from their conditions having been false: events of a mode that was entered.
    /// `before` are the discrete values before the jump, `tick` is the length of a tick in seconds.
    fn rearm(
        &self,
        before: &[f64],
        vars: &[f64],
        tick: f64,
        work: &mut Work,
        set: &mut dyn FnMut(usize, Arm),
    ) {
        let _ = (before, vars, tick, work, set);
    }
    /// Carries out what the arrival of an event at event input `port` means; its value is in the
    /// variables.
    fn receive(
        &self,
        port: usize,
        vars: &mut [f64],
        work: &mut Work,
        emit: &mut Vec<(u16, Value)>,
    ) {
        let _ = (port, vars, work, emit);
    }
    /// Whether the reset of an event assigns what its own condition reads: then the condition is
    /// meant to be false afterwards.
    fn resets_its_condition(&self, event: usize) -> bool {
        let _ = event;
        false
    }
    /// The name under which the arrival of an event at event input `port` is told as an event of
    /// this unit. By default it is not.
    fn reception(&self, port: usize) -> Option<&Arc<str>> {
        let _ = port;
        None
    }
    /// The equation of state `index` that holds at these variables, such as `x' = -x` or
    /// `0 = x + z`, for an error message.
    fn equation(&self, index: usize, vars: &[f64]) -> Option<String> {
        let _ = (index, vars);
        None
    }
    /// The name of a signal output or input, for an error message.
    fn signal(&self, output: bool, port: usize) -> Option<&str> {
        let _ = (output, port);
        None
    }
    /// Which expression is not finite at these variables, for an error message.
    fn explain(&self, vars: &[f64]) -> Option<String> {
        let _ = vars;
        None
    }
    /// Which output is not finite at these variables, and why.
    fn explain_outputs(&self, vars: &[f64]) -> Option<String> {
        self.explain(vars)
    }
    /// Which expression of the reset by event `event` is not finite at these variables, before it.
    fn explain_reset(&self, event: usize, vars: &[f64]) -> Option<String> {
        let _ = (event, vars);
        None
    }
}
