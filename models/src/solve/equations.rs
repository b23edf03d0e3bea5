//! Equations, apart from the method that solves them and from the unit that wraps them.
use super::ode::Kind;
use crate::{
    maths::expr::{Condition, Program, Recorder, Registers, Scalar, record},
    signal::value::Value,
};
use std::{borrow::Cow, sync::Arc};
use superdense_kernel::time::RationalClock;

/// When a member of a link looks for its event.
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

/// Sizes of a system of equations.
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
    /// Relations, those of links included: each has an indicator z, and holds its side.
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
    /// Place of the side of the first relation.
    #[inline]
    pub fn first_side(&self) -> usize {
        self.received() + 1
    }
    /// Number of variables: time, states, inputs, discrete values, received value, sides of relations.
    #[inline]
    pub fn variables(&self) -> usize {
        self.first_side() + self.indicators
    }
    /// Places of what is held between events: discrete values, received value, sides.
    #[inline]
    pub fn held(&self) -> std::ops::Range<usize> {
        self.first_discrete()..self.variables()
    }
}

/// A relation: its indicator z is a difference a - b, or what is rounded down. Between events its
/// side is held, in a variable of its own ([`Dims::first_side`]), for conditions and equations alike.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Relation {
    /// The value of z that is held: its sign, or z rounded down.
    pub kind: Kind,
    /// The sign that z has wherever it is not zero, if there is but one, as of a square; else zero.
    pub only: f64,
    /// How its side changes.
    pub role: Role,
    /// Whether derivatives, residuals, outputs or other indicators read the side: then solvers stop at
    /// its flips.
    pub stops: bool,
    /// The place of the present mode among the discrete values, and the modes in which the relation
    /// is watched; in all of them without.
    pub within: Option<(usize, Vec<f64>)>,
    /// How the solution slides along its surface, where it may.
    pub sliding: Option<Sliding>,
    /// The text of z, for messages.
    pub text: Arc<str>,
}

/// How the side of a relation changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Where z goes strictly beyond it along the solution.
    #[default]
    Searched,
    /// At a time that is computed: z is affine in the time, and reads nothing else that moves.
    Timed,
    /// It is 1 in a cycle in which this other relation flips, else 0: so `a == b` holds where a - b
    /// passes zero.
    Passes(usize),
    /// It is 1 while the solution slides along the surface of another relation, else 0.
    Slides,
}

/// The relations by which a solution slides along the surface of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Sliding {
    /// That of role [`Role::Slides`], and its place among what is held.
    pub flag: usize,
    /// See `flag`.
    pub place: usize,
    /// The relations that hold the slopes of z with the derivatives of its upper and its lower side,
    /// while the solution slides.
    pub above: usize,
    /// See `above`.
    pub below: usize,
    /// Flags of relations along which the solution cannot slide at the same time.
    pub apart: Vec<usize>,
}

impl Relation {
    /// Whether its flips are searched for with these held values: not while the solution slides, which
    /// slopes end.
    #[inline]
    pub fn is_searched(&self, held: &[f64]) -> bool {
        let slides = self.sliding.as_ref().is_some_and(|s| held[s.place] != 0.0);
        !slides && self.is_active(held)
    }

    /// Whether it is watched for these discrete values.
    #[inline]
    pub fn is_active(&self, discrete: &[f64]) -> bool {
        self.within.as_ref().is_none_or(|(place, modes)| modes.contains(&discrete[*place]))
    }
}

/// When a condition holds, from what is held between events: sides and discrete values.
#[derive(Debug, Clone)]
pub enum Truth {
    /// All of these relations are on their lower side: z < 0 where `true` stands beside it, z <= 0 else.
    All(Vec<(usize, bool)>),
    /// A program whose result is not zero.
    Formula(Program),
}

impl Truth {
    /// Whether it holds for these variables, of which only sides and discrete values count.
    #[inline]
    pub fn holds(&self, dims: &Dims, vars: &[f64], work: &mut Work) -> bool {
        match self {
            Self::All(all) => {
                let sides = &vars[dims.first_side()..];
                all.iter().all(|&(k, strict)| sides[k] < 0.0 || (sides[k] == 0.0 && !strict))
            }
            Self::Formula(program) => {
                let mut result = [0.0];
                program.eval(vars, &mut work.reset, &mut result);
                result[0] != 0.0
            }
        }
    }

    /// The relations whose sides it reads, ascending.
    pub fn relations(&self, dims: &Dims) -> Vec<usize> {
        let mut all: Vec<usize> = match self {
            Self::All(all) => all.iter().map(|(k, _)| *k).collect(),
            Self::Formula(program) => {
                let sides = dims.first_side()..dims.variables();
                let side = |place: usize| sides.contains(&place).then(|| place - sides.start);
                program.inputs().iter().filter_map(|id| side(id.0 as usize)).collect()
            }
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The cause that sets off an event.
#[derive(Debug, Clone)]
pub enum Trigger {
    /// A condition goes from false to true.
    State {
        /// The condition.
        truth: Truth,
        /// Report also where a relation of it comes this close to zero at an extremum.
        touching: Option<f64>,
        /// The relation whose every flip counts, also of two at one tick; being beyond it as a mode is
        /// entered does not.
        crossing: Option<usize>,
    },
    /// Ticks, ascending.
    At(Vec<i64>),
    /// The instants of a clock after the start.
    Every(RationalClock),
}

impl Trigger {
    /// All of these relations on their lower side, see [`Truth::All`].
    pub fn all(relations: impl Into<Vec<(usize, bool)>>) -> Self {
        Self::State { truth: Truth::All(relations.into()), touching: None, crossing: None }
    }
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
#[derive(Debug, Clone)]
pub struct EventSpec {
    /// Name.
    pub name: Arc<str>,
    /// Its cause.
    pub trigger: Trigger,
    /// Where it comes to an end when it happens ever faster.
    pub rest: Option<Rest>,
    /// The variables that its reset sets; none if that is not known.
    pub sets: Option<Vec<usize>>,
    /// Whether it leads to a mode.
    pub leads: bool,
    /// Whether its condition is a date that its own reset sets anew, by which it is looked at anew.
    pub anew: bool,
    /// Ends the run as planned, with this message.
    pub ends: Option<Arc<str>>,
}

impl EventSpec {
    /// An event without a rest mode.
    pub fn new(name: impl Into<Arc<str>>, trigger: Trigger) -> Self {
        let (rest, sets, ends) = (None, None, None);
        Self { name: name.into(), trigger, rest, sets, leads: false, anew: false, ends }
    }
    /// Whether it is a time event that changes nothing: it is reported, and sends.
    pub(crate) fn looks_on(&self) -> bool {
        let timed = !matches!(self.trigger, Trigger::State { .. });
        timed && !self.leads && self.rest.is_none() && !self.sets(|_| true)
    }
    /// Whether its reset may set a variable like this.
    pub fn sets(&self, like: impl Fn(usize) -> bool) -> bool {
        self.sets.as_ref().is_none_or(|sets| sets.iter().any(|&place| like(place)))
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
    /// The condition, on this unit's own knowledge, by which it detects the event.
    pub truth: Truth,
    /// Per relation of `condition`: the own relation, and its sign, whose side says as much.
    pub sides: Vec<Option<(usize, f64)>>,
    /// When this unit looks for the event.
    pub detection: Detection,
    /// Whether the event takes place when a member proposes it, without a look at the true values.
    pub believed: bool,
    /// Whether the member that proposes it resets by what it was told of the others, which keeps
    /// nothing that the reset would keep by true values, such as momentum.
    pub resets_told: bool,
    /// Per exchanged value: the own variable, or the input, by which this unit knows it.
    pub known: Vec<usize>,
    /// Inputs whose values the resets of other members may change.
    pub moved: Vec<usize>,
    /// Inputs by which this unit knows members that the link resets: they may go on another way.
    pub turned: Vec<usize>,
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
    /// The relations of `condition` after the resets of all members, from the exchanged values; none where these do not
    /// tell.
    pub after: Option<Program>,
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
    /// The variables before the present cycle, for resets that read these ([`Equations::recalls`]).
    pub prior: Vec<S>,
    /// The present variables, then those.
    pub both: Vec<S>,
    /// Per state its size when the present step began, where that is known.
    pub sizes: Vec<S>,
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
/// values, the value of the event that is being received, and sides of relations ([`Dims`] tells the
/// places).
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
    /// One signal output, whether anybody receives it or not.
    fn output(&self, port: usize, vars: &[f64]) -> f64 {
        super::guards::output(self, port, vars)
    }
    /// Writes the places that signal output `port` reads with their factors, where it is a sum of variables
    /// with factors that only events change; false where it is none, or nobody knows.
    fn sum(&self, _port: usize, _vars: &[f64], _to: &mut Vec<(usize, f64)>) -> bool {
        false
    }
    /// Writes each indicator.
    fn indicators<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, z: &mut [S]) {
        let _ = (vars, work, z);
    }
    /// These functions as programs, for series and for the form of indicators and outputs. Code is
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
    /// The relations, in the order of their indicators; inner ones before those that read their sides.
    fn relations(&self) -> Vec<Relation> {
        vec![Relation::default(); self.dims().indicators]
    }
    /// The slopes of the indicator of relation `relation`, along whose surface the solution may slide,
    /// with the derivatives of its upper and of its lower side.
    fn slopes(&self, relation: usize, vars: &[f64]) -> [f64; 2] {
        let _ = (relation, vars);
        [0.0; 2]
    }
    /// Carries out event `event`: changes states and discrete values in place and says what
    /// leaves through which event output.
    fn reset(&self, event: usize, vars: &mut [f64], work: &mut Work, emit: &mut Vec<(u16, Value)>) {
        let _ = (event, vars, work, emit);
    }
    /// The variables from which a reset computes the one at `place`: that of an event, of a link behind these, or of any
    /// event input; nothing if that is not known.
    fn origins(&self, of: Option<usize>, place: usize) -> Option<Cow<'_, [usize]>> {
        let _ = (of, place);
        None
    }
    /// Whether some reset, or what an event input does, reads variables before the present cycle.
    fn recalls(&self) -> bool {
        false
    }
    /// Whether event `event` still concerns these variables, after other events of the same
    /// instant: those of a mode that has been left do not.
    fn concerns(&self, event: usize, vars: &[f64]) -> bool {
        let _ = (event, vars);
        true
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
    /// The name under which the arrival of an event at event input `port` is told as an event of
    /// this unit. By default it is not.
    fn reception(&self, port: usize) -> Option<&Arc<str>> {
        let _ = port;
        None
    }
    /// Why an event that arrives at event input `port` does less than it says, if it does, by the variables before it.
    fn reservation(&self, port: usize, vars: &[f64]) -> Option<String> {
        let _ = (port, vars);
        None
    }
    /// The equation of state `index` that holds at these variables, such as `x' = -x` or
    /// `0 = x + z`, for an error message.
    fn equation(&self, index: usize, vars: &[f64]) -> Option<String> {
        let _ = (index, vars);
        None
    }
    /// The names of states that follow from constraints: the first algebraic variables.
    fn dependent(&self) -> &[String] {
        &[]
    }
    /// The name of the mode that holds at these variables, for an error message.
    fn mode(&self, vars: &[f64]) -> Option<&str> {
        let _ = vars;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::expr::{Expr, Freezer, Names, VarId};

    /// One state, one discrete value and three relations: sides at 4 to 6.
    const DIMS: Dims = Dims {
        states: 1,
        algebraic: 0,
        inputs: 0,
        discrete: 1,
        outputs: 0,
        event_inputs: 0,
        event_outputs: 0,
        indicators: 3,
    };

    fn vars(discrete: f64, sides: [f64; 3]) -> Vec<f64> {
        let mut vars = vec![f64::NAN, f64::NAN, discrete, f64::NAN];
        vars.extend(sides);
        assert_eq!((vars.len(), DIMS.first_side()), (DIMS.variables(), 4));
        vars
    }

    #[test]
    fn conjunctions_read_lower_sides() {
        let truth = Truth::All(vec![(2, true), (0, false)]);
        assert_eq!(truth.relations(&DIMS), [0, 2]);
        let mut work = Work::default();
        for first in [-1.0, 0.0, 1.0] {
            for last in [-1.0, 0.0, 1.0] {
                // The one between does not count.
                for between in [-1.0, 1.0] {
                    let vars = vars(f64::NAN, [first, between, last]);
                    let expected = first <= 0.0 && last < 0.0;
                    assert_eq!(truth.holds(&DIMS, &vars, &mut work), expected, "{first} {last}");
                }
            }
        }
        assert!(Truth::All(Vec::new()).holds(&DIMS, &vars(0.0, [1.0; 3]), &mut work));
        let Trigger::State { truth, touching: None, crossing: None } = Trigger::all([(1, true)])
        else {
            panic!("another trigger")
        };
        assert_eq!(truth.relations(&DIMS), [1]);
    }

    /// A formula on sides and discrete values, as conditions are frozen.
    #[test]
    fn formulas_read_sides_and_discrete_values() {
        let scope = Names::new().var("t", 0).var("x", 1).var("d", 2);
        let text = "x > 1 and d == 2 or not x > t or x > 5 and t > 7";
        let condition = Condition::parse(text, &scope).unwrap();
        let mut freezer = Freezer::new(VarId(4), |v| v.0 < 2);
        let early = freezer.relation(&Expr::parse("x - 5", &scope).unwrap(), None);
        assert_eq!(early, Some((0, false)));
        let expr = freezer.condition(&condition, None);
        assert_eq!(freezer.found().len(), 4);
        let dims = Dims { indicators: 4, ..DIMS };
        let truth = Truth::Formula(Program::compile([&expr]));
        assert_eq!(truth.relations(&dims), [0, 1, 2, 3]);
        let mut work = Work::default();
        for (x, t, d) in
            [(0.5, 0.0, 2.0), (2.0, 0.0, 2.0), (2.0, 0.0, 3.0), (2.0, 9.0, 0.0), (6.0, 5.0, 1.0)]
        {
            let mut vars = vec![t, x, d, f64::NAN];
            for frozen in freezer.found() {
                vars.push(frozen.kind.side(frozen.function.eval(&vars)));
            }
            // Only what is held counts.
            (vars[0], vars[1]) = (f64::NAN, f64::NAN);
            let expected = condition.eval(&[t, x, d]);
            assert_eq!(truth.holds(&dims, &vars, &mut work), expected, "{x} {t} {d}");
        }
    }
}
