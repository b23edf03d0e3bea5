//! Kinds of units: their parameters, ports and promises.
//!
//! Adding a kind is one file with a [`UnitKind`] and one line in
//! [`catalogue::kinds`](crate::catalogue::kinds), or for an adapter in the list of the command (`docs/extending.md`).
use crate::{
    maths::expr::{Library, Measure},
    signal::{
        capabilities::{Capabilities, Capability},
        value::Value,
    },
};
use feed_through::{FeedThrough, Passing};
use std::{path::Path, sync::Arc};
use superdense_kernel::{
    Component,
    time::{Duration, Resolution},
};

#[macro_use]
mod unit_kind;
mod events;
pub mod feed_through;
pub mod files;
mod links;
mod located;
pub(crate) mod measures;
pub(crate) mod params;
pub(crate) mod ports;
mod seconds;
mod terminals;
#[cfg(test)]
pub(crate) mod testing;

pub use events::{Seen, StateEvents};
pub use links::LinkSpec;
pub use located::{Located, Span};
pub use measures::Measures;
pub(crate) use seconds::Seconds;
pub use terminals::Terminal;

/// The two kinds of ports. Crossing from one to the other needs a declared adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// A real function of time: each message is a [`crate::signal::value::Segment`] that holds until
    /// replaced.
    Signal,
    /// A value now and then; absent in between.
    Event,
}

impl PortKind {
    /// `signal` or `event`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Event => "event",
        }
    }
}

/// The type of the events of a port. Signals are real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Anything: the port takes or sends every type.
    Any,
    /// No value.
    Unit,
    /// Truth value.
    Bool,
    /// Integer.
    Int,
    /// Real number.
    Real,
    /// Text.
    Text,
    /// Shared-event protocol.
    Link,
    /// Job of a queueing network.
    Job,
    /// Datagram of a packet network.
    Packet,
}

impl ValueType {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Unit => "unit",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Real => "real",
            Self::Text => "text",
            Self::Link => "link",
            Self::Job => "job",
            Self::Packet => "packet",
        }
    }

    /// Whether values of `self` may go to a port of type `to`.
    pub fn fits(self, to: Self) -> bool {
        self == to || self == Self::Any || to == Self::Any
    }
}

/// A port of a unit, numbered by its place among the inputs or the outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct PortSpec {
    /// Name.
    pub name: String,
    /// Signal or event.
    pub kind: PortKind,
    /// Type of the values.
    pub ty: ValueType,
    /// For an input: works unconnected (it has a start value, or may stay silent).
    pub optional: bool,
    /// Physical unit of the values, when the unit declares one; two declared units must agree.
    pub unit: Option<String>,
    /// For an output signal: the unit knows it at some instants only, and what it sends for the time between
    /// them is a guess.
    pub sampled: bool,
}

impl PortSpec {
    /// A signal port that must be connected.
    pub fn signal(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: PortKind::Signal,
            ty: ValueType::Real,
            optional: false,
            unit: None,
            sampled: false,
        }
    }
    /// An event port that must be connected.
    pub fn event(name: impl Into<String>, ty: ValueType) -> Self {
        Self { ty, kind: PortKind::Event, ..Self::signal(name) }
    }
    /// The port, which may stay unconnected.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// The ports of a unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ports {
    /// Inputs, in the order of their numbers.
    pub inputs: Vec<PortSpec>,
    /// Outputs, in the order of their numbers.
    pub outputs: Vec<PortSpec>,
}

/// The type of a unit parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamType {
    /// Real number; `Some("b/s")` accepts quantities of that unit ("10 Mb/s") and converts.
    Real(Option<&'static str>),
    /// Integer, without a unit of measure.
    Int,
    /// A whole number of bytes; text has a unit ("1.5 kB").
    Bytes,
    /// Truth value.
    Bool,
    /// Text.
    Text,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A duration: a bare number is seconds, text has a unit ("5 ms").
    Duration,
    /// A duration after which something repeats; need not be a whole number of ticks.
    Period,
    /// A file beside the scenario.
    File,
    /// A list of real numbers.
    RealList,
    /// A value of any type; the name of a parameter is its number.
    Value,
    /// A list of these.
    ValueList,
    /// Raw text of an expression, compiled by the kind itself.
    Expression,
    /// A table or list that the kind reads by itself; texts in it stay texts.
    Raw,
}

/// A declared parameter of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamSpec {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub ty: ParamType,
    /// Default, written as in a scenario; `None` makes the parameter mandatory, `Some("")`
    /// optional without a value.
    pub default: Option<&'static str>,
    /// One line.
    pub doc: &'static str,
}

/// A mandatory parameter.
pub const fn needed(name: &'static str, ty: ParamType, doc: &'static str) -> ParamSpec {
    ParamSpec { name, ty, default: None, doc }
}

/// A parameter with a default; `""` stands for none.
pub const fn with(
    name: &'static str,
    ty: ParamType,
    default: &'static str,
    doc: &'static str,
) -> ParamSpec {
    ParamSpec { name, ty, default: Some(default), doc }
}

/// A parameter's value after the scenario's own parameters and units of measure are resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// Real number, in the declared unit.
    Real(f64),
    /// Integer.
    Int(i64),
    /// Truth value.
    Bool(bool),
    /// Text: text, choice, file or expression.
    Text(String),
    /// Duration in ticks.
    Duration(Duration),
    /// Seconds as numerator and denominator; a numerator of `i64::MAX` is infinite.
    Period(i64, i64),
    /// List.
    List(Vec<Located<Param>>),
    /// Table, in the order of the file.
    Table(Vec<(Located<String>, Located<Param>)>),
    /// One of many elements that are written once: the value as written, and what the indices in
    /// its texts are.
    Indexed(Box<Param>, Vec<(String, i64)>),
}

/// A mistake in the parameters of a unit, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamError {
    /// Where; `None` stands for the unit as a whole.
    pub span: Option<Span>,
    /// The mistake.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Other places, with a word on each.
    pub also: Vec<(Span, String)>,
}

impl ParamError {
    /// A mistake at a place.
    pub fn at(span: Span, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into(), help: None, also: Vec::new() }
    }
    /// A mistake of the whole unit.
    pub fn whole(message: impl Into<String>) -> Self {
        Self { span: None, message: message.into(), help: None, also: Vec::new() }
    }
    /// Adds a remedy.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
    /// Another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.also.push((span, text.into()));
        self
    }
}

/// The parameters of one unit: every declared one is there, with its default where the scenario
/// gives none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params {
    /// Name and value, in the order of declaration.
    pub values: Vec<(String, Located<Param>)>,
}

impl Params {
    /// Multiplies real parameters, as far as they have values.
    pub fn scale(&mut self, names: &[&str], factor: f64) {
        for (name, p) in &mut self.values {
            if names.contains(&name.as_str()) {
                match &mut p.value {
                    Param::Real(x) => *x *= factor,
                    Param::Int(i) => p.value = Param::Real(*i as f64 * factor),
                    _ => {}
                }
            }
        }
    }
    /// Gives parameters other values, as far as they are declared.
    pub fn set(&mut self, name: &str, value: Param) {
        for (_, p) in self.values.iter_mut().filter(|(n, _)| n == name) {
            p.value = value.clone();
        }
    }
    /// The parameter, if it has a value.
    pub fn get(&self, name: &str) -> Option<&Located<Param>> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, p)| p)
    }
    /// Its place, for errors.
    pub fn span(&self, name: &str) -> Span {
        self.get(name).map_or(0..0, |p| p.span.clone())
    }
    /// A real number (0 when absent: only for parameters with a default).
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name).map(|p| &p.value) {
            Some(Param::Real(x)) => *x,
            Some(Param::Int(i)) => *i as f64,
            _ => 0.0,
        }
    }
    /// An integer.
    pub fn int(&self, name: &str) -> i64 {
        if let Some(Param::Int(i)) = self.get(name).map(|p| &p.value) { *i } else { 0 }
    }
    /// A truth value.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name).map(|p| &p.value), Some(Param::Bool(true)))
    }
    /// A text.
    pub fn text(&self, name: &str) -> &str {
        if let Some(Param::Text(t)) = self.get(name).map(|p| &p.value) { t } else { "" }
    }
    /// A duration.
    pub fn duration(&self, name: &str) -> Duration {
        match self.get(name).map(|p| &p.value) {
            Some(Param::Duration(d)) => *d,
            _ => Duration::ZERO,
        }
    }
    /// A list of real numbers.
    pub fn reals(&self, name: &str) -> Vec<f64> {
        let Some(Param::List(list)) = self.get(name).map(|p| &p.value) else { return Vec::new() };
        let real = |p: &Located<Param>| match p.value {
            Param::Real(x) => Some(x),
            Param::Int(i) => Some(i as f64),
            _ => None,
        };
        list.iter().filter_map(real).collect()
    }
}

/// Facts about the place of a unit that a kind may use when it builds it.
pub struct Context<'a> {
    /// Hierarchical path of the unit; random streams are named by it.
    pub path: &'a str,
    /// Resolution of the run.
    pub resolution: Resolution,
    /// Seed of the run.
    pub seed: u64,
    /// Seconds after which the run probably ends; infinite if nobody says.
    pub horizon: f64,
    /// How many times tighter the run is than the scenario asks, for its error bars; 1 for the run itself.
    pub tighter: f64,
    /// Folder of the scenario file, for [`ParamType::File`].
    pub folder: &'a Path,
    /// Values of names that expressions of this unit may use: the scenario's parameters, the
    /// parameters of the enclosing groups, the array index.
    pub constants: &'a dyn Fn(&str) -> Option<f64>,
    /// The dimensions of these names.
    pub measures: &'a dyn Fn(&str) -> Measure,
    /// Of names that stand for a quantity as it is written: whether its unit has angles, as a rate of rotation has and
    /// a frequency has not.
    pub angles: &'a dyn Fn(&str) -> Option<bool>,
    /// Functions that the scenario declares.
    pub functions: &'a Arc<Library>,
    /// Shared events in which this unit takes part.
    pub links: &'a [LinkSpec],
    /// Per input: the number of the unit that sends to it, when that is a continuous unit; for
    /// counting exchanges.
    pub input_sources: &'a [Option<u32>],
    /// Per output: whether some unit receives it. Outputs beyond the list count as received.
    pub output_connected: &'a [bool],
    /// Per output: whether a result of the scenario follows it. Outputs beyond the list count as not followed.
    pub output_read: &'a [bool],
    /// Per input: whether some unit sends to it. Inputs beyond the list count as not connected.
    pub input_connected: &'a [bool],
    /// Whether the unit stands in a group with a master, at whatever depth.
    pub mastered: bool,
    /// Of [`turns`](UnitKind::turns): the micro-step in which all is heard, and those of a round of a ring, or 0.
    pub turn: (u32, u32),
    /// For a unit with turns: per input, where it hears from, as `unit.port`; empty where nobody sends.
    pub input_names: &'a [String],
}

impl Context<'_> {
    /// Whether some unit receives output `port`.
    pub fn is_heard(&self, port: u16) -> bool {
        self.output_connected.get(usize::from(port)).copied().unwrap_or(true)
    }
    /// Whether each change of output `port` has to be sent, by a unit that keeps no notes of it: to a unit that
    /// receives it, or for a result.
    pub fn is_followed(&self, port: u16) -> bool {
        self.is_heard(port) || self.output_read.get(usize::from(port)).copied().unwrap_or(false)
    }
    /// Whether some unit sends to input `port`.
    pub fn is_driven(&self, port: u16) -> bool {
        self.input_connected.get(usize::from(port)).copied().unwrap_or(false)
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({})", self.path)
    }
}

/// A kind of unit.
pub trait UnitKind: Sync {
    /// The name in `kind = "…"`.
    fn name(&self) -> &'static str;
    /// One line for `superdense list`.
    fn summary(&self) -> &'static str;
    /// Its documentation for `superdense list KIND`, in Markdown, with an example; lines may begin with a
    /// space. Masters, which are declared by `[coupling]`, have none.
    fn doc(&self) -> &'static str {
        ""
    }
    /// Declared parameters.
    fn params(&self) -> &'static [ParamSpec];
    /// The names of all private events that the unit may tell of, if it knows them.
    fn events(&self, params: &Params) -> Option<Vec<String>> {
        let _ = params;
        None
    }
    /// The parameter beside which a given one is useless, and the remedy; most kinds use all of
    /// theirs.
    fn unused(&self, params: &Params, name: &str) -> Option<(String, String)> {
        let _ = (params, name);
        None
    }
    /// Writes out what the scenario writes once for many, such as `u[1..=N]`. All other functions
    /// get the parameters that come from this one.
    ///
    /// # Errors
    /// All mistakes in what is written out.
    fn elaborate(
        &self,
        params: Params,
        constants: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<Params, Vec<ParamError>> {
        let _ = constants;
        Ok(params)
    }
    /// Names of the connectors of the unit, each with its domain, in words that are the same for all that may be
    /// joined. A unit that has some is built as a part only, by [`join`](Self::join).
    ///
    /// # Errors
    /// All mistakes of their declarations.
    fn connectors(&self, params: &Params) -> Result<Vec<(String, String)>, Vec<ParamError>> {
        let _ = params;
        Ok(Vec::new())
    }
    /// The parameters of one unit that does what all `parts` (name, parameters, surroundings) do together, without
    /// those that say how it is solved. Connectors of a node, numbers of parts with names, are joined. Ports have the
    /// names of those of the parts behind the part's name and a point.
    ///
    /// # Errors
    /// All mistakes of the parts, each with the number of its part.
    fn join(
        &self,
        parts: &[(&str, &Params, &Context<'_>)],
        nodes: &[Vec<(usize, String)>],
    ) -> Result<Params, Vec<(usize, ParamError)>> {
        let _ = (parts, nodes);
        Err(Vec::new())
    }
    /// Ports, which may depend on the parameters.
    ///
    /// # Errors
    /// All mistakes of the parameters that the ports depend on.
    fn ports(&self, params: &Params) -> Result<Ports, Vec<ParamError>>;
    /// Ports that also depend on files, which are named relative to `folder`.
    ///
    /// # Errors
    /// As [`ports`](Self::ports), and all mistakes of the files.
    fn ports_in(&self, params: &Params, folder: &Path) -> Result<Ports, Vec<ParamError>> {
        let _ = folder;
        self.ports(params)
    }
    /// Its terminals, from files that are named relative to `folder`.
    ///
    /// # Errors
    /// All mistakes of the files.
    fn terminals(&self, params: &Params, folder: &Path) -> Result<Vec<Terminal>, Vec<ParamError>> {
        let _ = (params, folder);
        Ok(Vec::new())
    }
    /// Builds the unit. Inputs and outputs of the component are numbered as in `ports`.
    ///
    /// # Errors
    /// All mistakes of the parameters.
    fn build(
        &self,
        params: &Params,
        context: &Context<'_>,
    ) -> Result<Component<Value>, Vec<ParamError>>;
    /// Whether the unit is continuous: its signals count as exchanges, and it can be a member of
    /// links.
    fn is_continuous(&self) -> bool {
        false
    }
    /// Parameters that decide how accurate the unit is, and that shrink when a run is verified
    /// against its own tightening: tolerances, quanta, bands, fixed steps. Those with the usual
    /// names, unless a kind has others; names that a kind does not have count for nothing.
    fn accuracy(&self) -> &'static [&'static str] {
        &["tolerance", "absolute_tolerance", "exchange_tolerance", "dq_rel", "dq_min"]
    }
    /// The parameters with which the unit computes by another family of methods, so that a systematic error
    /// of one family shows when a run is verified; none where there is one family only.
    fn second_family(&self, params: &Params) -> Option<Params> {
        let _ = params;
        None
    }
    /// Capabilities that the unit offers to couplings; files that it needs are named relative to
    /// `folder`.
    fn capabilities(&self, params: &Params, folder: &Path) -> Capabilities {
        let _ = (params, folder);
        Capabilities::all().without(Capability::Equations, "not given as text")
    }
    /// The outputs that messages at inputs reach at the same time. A kind that does not say it may
    /// pass on everything.
    fn feed_through(&self, params: &Params, context: &Context<'_>) -> FeedThrough {
        let _ = (params, context);
        FeedThrough::All(Passing::Sometimes)
    }
    /// Whether its outputs of any type send on what comes to its inputs of any type.
    fn hands_on(&self) -> bool {
        false
    }
    /// For a unit that acts once per instant, when it has heard all others: inputs that hear the instant before,
    /// inputs that hear a round later at the same instant, and how many rounds there may be.
    fn turns(&self, params: &Params) -> Option<(Vec<u16>, Vec<u16>, u32)> {
        let _ = params;
        None
    }
    /// State events of a unit, own and shared, with the outputs and inputs by which others see them
    /// coming. None where conditions are hidden.
    fn state_events(&self, params: &Params, context: &Context<'_>) -> StateEvents {
        let _ = (params, context);
        StateEvents::default()
    }
    /// Events with a condition that nothing can ever change.
    fn idle_events(&self, params: &Params, context: &Context<'_>) -> Vec<String> {
        let _ = (params, context);
        Vec::new()
    }
    /// Whether inputs that have the name of an output hear it, through a coupling with `iterate` around
    /// the unit.
    fn hears_itself(&self) -> bool {
        false
    }
    /// For a continuous unit: its variables by name (states, outputs that are plain variables),
    /// which links may use. Pairs of variable and the output port that carries exactly it.
    fn variables(&self, params: &Params) -> Vec<(String, Option<String>)> {
        let _ = params;
        Vec::new()
    }
    /// The dimensions of its variables and outputs, and what does not go together in its formulas; parameters
    /// around the unit have the dimensions of `names`.
    fn measures(
        &self,
        params: &Params,
        names: &dyn Fn(&str) -> Measure,
        functions: &Library,
    ) -> (Measures, Vec<ParamError>) {
        let _ = (params, names, functions);
        Default::default()
    }
    /// Names of the values 0, 1, 2, ... of an output, such as those of states; none where it is a number.
    fn value_names(&self, params: &Params, output: &str) -> Vec<String> {
        let _ = (params, output);
        Vec::new()
    }
    /// Whether only events change this one of its variables.
    fn is_discrete(&self, params: &Params, variable: &str) -> bool {
        let _ = (params, variable);
        false
    }
}
