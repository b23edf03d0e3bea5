//! A hybrid model as a tree: what the generator makes, the judge simulates and the product reads as
//! a scenario file.
//!
//! All numbers are doubles and mean exactly that double. Instants are exact fractions of a second,
//! rounded to the nearest tick as the scenario format says.

/// A whole model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Ticks per second is 10 to this power: 0 (s), 3, 6, 9 (ns), 12 or 15.
    pub resolution: u32,
    /// The last instant, included.
    pub stop: Instant,
    /// Named `u0`, `u1`, ...
    pub units: Vec<Unit>,
    /// Signals from outputs to inputs.
    pub wires: Vec<Wire>,
    /// Events of several units at once, named `link0`, ...
    pub links: Vec<Link>,
}

/// A fraction of a second, not reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// Numerator, at least 0.
    pub numerator: i64,
    /// Denominator, above 0.
    pub denominator: i64,
}

/// A unit of kind `equations`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Unit {
    /// Start values of `x0`, `x1`, ...
    pub states: Vec<f64>,
    /// Start values of `d0`, `d1`, ...: they change by events only.
    pub discrete: Vec<f64>,
    /// Where the search for `z0`, `z1`, ... begins.
    pub algebraic: Vec<f64>,
    /// Values of `i0`, `i1`, ... before the first segment arrives.
    pub inputs: Vec<f64>,
    /// Named formulas `l0`, `l1`, ...; each may read those before it.
    pub lets: Vec<Expr>,
    /// A derivative for each state. Where there are modes, these hold in modes without their own.
    pub derivatives: Vec<Expr>,
    /// An expression for each algebraic variable, which is zero.
    pub residuals: Vec<Expr>,
    /// Outputs `y0`, `y1`, ...
    pub outputs: Vec<Expr>,
    /// Events of all modes, in order of the text.
    pub events: Vec<Event>,
    /// Modes `m0`, `m1`, ...; none: the unit has no modes. It starts in the first one.
    pub modes: Vec<Mode>,
    /// What becomes of switching functions in derivatives and outputs.
    pub switching: Switching,
}

/// A mode of a unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mode {
    /// None: those of the unit. A state for which an entry is none keeps its value.
    pub derivatives: Option<Vec<Option<Expr>>>,
    /// Events that only this mode has.
    pub events: Vec<Event>,
}

/// `switching` of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// The default: sides change at located roots.
    #[default]
    Located,
    /// As `Located`; where both sides drive back, the solution slides (Filippov).
    Sliding,
}

/// A signal connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Index of the sending unit, and of its output.
    pub from: (usize, usize),
    /// Index of the receiving unit, and of its input.
    pub to: (usize, usize),
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Unique in the unit.
    pub name: String,
    /// When it happens.
    pub trigger: Trigger,
    /// Lower goes first among the events of one instant; then the order of the text.
    pub priority: i64,
    /// Variables and their new values, all from values before the event.
    pub reset: Vec<(Variable, Expr)>,
    /// The mode that it leads to.
    pub to: Option<usize>,
    /// State events only: when it follows on itself within so many seconds, these values are taken
    /// instead of `reset`, and the states stay as they are until another event changes them.
    pub rest: Option<Rest>,
}

/// `rest` of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest {
    /// Seconds.
    pub within: Instant,
    /// Values then.
    pub values: Vec<(Variable, f64)>,
}

/// What makes an event happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// A condition becomes true. With `touching`, it is also taken as true where a relation of it is
    /// missed by no more than that at a turning point.
    When {
        /// The condition.
        condition: Condition,
        /// The band.
        touching: Option<f64>,
    },
    /// A formula crosses zero.
    Crossing {
        /// The formula.
        formula: Expr,
        /// Which way.
        direction: Direction,
        /// The band.
        touching: Option<f64>,
    },
    /// Instants.
    At(Vec<Instant>),
    /// The k-th instant is `from + k*every`, rounded once.
    Every {
        /// The first instant.
        from: Instant,
        /// Time between instants.
        every: Instant,
    },
}

/// Which way a formula crosses zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From below.
    Rising,
    /// From above.
    Falling,
    /// Either.
    Both,
}

/// An event of several units at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The members.
    pub units: Vec<usize>,
    /// Reads variables of members only, never `Variable::Time`.
    pub when: Condition,
    /// Variables of members and their new values, all from values before the event.
    pub reset: Vec<(Variable, Expr)>,
    /// Lower goes first.
    pub priority: i64,
}

/// What a formula can read, and a reset can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variable {
    /// Time in seconds: `t`.
    Time,
    /// State of a unit.
    State(usize, usize),
    /// Discrete variable of a unit.
    Discrete(usize, usize),
    /// Algebraic variable of a unit.
    Algebraic(usize, usize),
    /// Input of a unit.
    Input(usize, usize),
    /// Named formula of a unit.
    Let(usize, usize),
    /// The number of the present mode of a unit, from 0.
    Mode(usize),
}

/// A formula.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A finite double.
    Number(f64),
    /// A variable's value.
    Read(Variable),
    /// The value before the present cycle; only in resets.
    Pre(Variable),
    /// One argument.
    Unary(Unary, Box<Expr>),
    /// Two arguments.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A whole power, from 2 on.
    Power(Box<Expr>, u32),
    /// `if c then a else b`.
    If(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// Functions of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Unary {
    Negate,
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// 1 from 0 on, else 0.
    Step,
    Floor,
    Ceil,
    Sin,
    Cos,
    Exp,
    Tanh,
    /// Not a number below 0.
    Sqrt,
    /// Not a number below 0.
    Log,
}

/// Functions of two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
    /// `a - b*floor(a/b)`.
    Mod,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A comparison of two formulas.
    Relation(Comparison, Expr, Expr),
    /// All of at least two.
    And(Vec<Condition>),
    /// Any of at least two.
    Or(Vec<Condition>),
    /// Not.
    Not(Box<Condition>),
}

/// How a relation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
}
