//! From a scenario file to a model that the kernel can run.
//!
//! [`load`] reads the file and everything it includes, applies `--set`, and either returns a
//! [`Plan`] or *all* mistakes at once ([`Diagnostics`]), each under its line.
mod adapters;
mod bonds;
mod build;
mod carried;
mod connect;
mod convert;
mod coupling;
mod data;
mod declare;
mod digest;
mod drivers;
mod evaluate;
mod expand;
pub mod federate;
mod foresee;
mod functions;
pub mod graph;
mod joints;
mod link_ports;
mod links;
mod loops;
mod measures;
mod order;
pub mod outline;
mod parameters;
pub mod parcel;
mod partition;
pub mod policies;
mod read;
mod record;
mod result;
mod selector;
mod session;
mod set;
mod settings;
mod size;
mod terminals;
pub(crate) mod tree;
mod turns;
mod usual;
mod written;

use crate::{
    diagnostics::{Diagnostics, Mistake},
    document::{self, Table},
    result::Results,
    ses,
};
pub(crate) use adapters::ADAPTERS;
pub(crate) use bonds::is_meter;
pub(crate) use joints::{SETTINGS, part_of};
pub(crate) use partition::PARTITIONS;
pub use partition::Partition;
use serde::{Deserialize, Serialize};
use session::Session;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};
use superdense_kernel::{
    Coupled, Guards, Options,
    time::{RationalClock, Resolution},
};
use superdense_models::{
    kinds::{PortKind, Ports, ValueType},
    signal::value::Value,
};
use tree::Tree;
pub use usual::usual_ports;

/// A scenario, checked and ready to run.
#[derive(Debug)]
pub struct Plan {
    /// The stem of the file's name.
    pub name: String,
    /// `title`, or the name.
    pub title: String,
    /// `description`, or nothing.
    pub description: String,
    /// The scenario file.
    pub file: PathBuf,
    /// Ticks per second.
    pub resolution: Resolution,
    /// The largest micro-step at one instant.
    pub micro_steps: u32,
    /// Seed by which bags are permuted, to find out what depends on their order.
    pub ties: Option<u64>,
    /// The last tick of the run, included.
    pub stop: i64,
    /// When samples are taken; `None` samples only the start and the end.
    pub sample: Option<RationalClock>,
    /// Which units share a worker of a parallel executor at the start; never changes results.
    pub partition: Partition,
    /// Seed of all random streams.
    pub seed: u64,
    /// The signals that are written.
    pub record: Vec<Record>,
    /// The diagrams that are drawn.
    pub plots: Vec<Plot>,
    /// The numbers in which the run ends.
    pub results: Results,
    /// The atomic units of the model in path order, hidden adapters included.
    pub units: Vec<UnitInfo>,
    /// Names of the shared events, by their number.
    pub links: Vec<String>,
    /// Whether some unit can compute by a second family of methods.
    pub second_family: bool,
    /// The units that are known at communication points only: FMUs for co-simulation.
    pub sampled: Vec<String>,
    /// The masters of its groups, and which policies the units allow.
    pub couplings: Vec<policies::Master>,
    /// Things that are probably not meant, though they can be run; each with its place and its remedy.
    pub warnings: Vec<String>,
    /// Digest of everything that decides the trace: units, parameters, connections, resolution
    /// and seed, but not what is sampled, recorded or plotted.
    pub plan_hash: u64,
    /// How the scenario takes part in a federation, if it does.
    pub federate: Option<federate::Federate>,
    /// The model.
    pub model: Coupled<Value>,
}

impl Plan {
    /// Whether peers in a federation decide how far a run goes.
    pub fn has_peers(&self) -> bool {
        self.federate.as_ref().is_some_and(|f| f.engine.has_peers())
    }

    /// Options of a simulation of this plan.
    pub fn options(&self) -> Options {
        let guards = Guards { micro_steps: self.micro_steps, ..Guards::default() };
        Options { resolution: self.resolution, guards, ties: self.ties, ..Options::default() }
    }
}

/// One column of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// As the scenario writes it: `upper.x`, `plant[3].power`, `sum(plant[*].power)`.
    pub label: String,
    /// Where the values come from.
    pub source: Source,
    /// Signal or event; an aggregate has the kind of its members.
    pub kind: PortKind,
    /// The type of the values that are sent, likewise.
    pub ty: ValueType,
    /// The values come from continuous units, so that a line between samples makes sense.
    pub continuous: bool,
    /// Physical unit, when the port declares one.
    pub unit: Option<String>,
    /// Between messages the values are a guess of their unit.
    pub sampled: bool,
    /// How far the values that other units are sent may be off: the unit's `exchange_tolerance`.
    pub band: f64,
}

impl Record {
    /// Whether the values are texts.
    pub fn is_text(&self) -> bool {
        self.ty == ValueType::Text
    }
}

pub use crate::result::Output as PortRef;

/// Where the values of a [`Record`] come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// One output.
    Port {
        /// Path of the unit in the kernel model, such as `plant[3]/meter`.
        unit: String,
        /// Number of the output port.
        port: u16,
    },
    /// One number from many outputs.
    Aggregate {
        /// How.
        how: Aggregate,
        /// Of what.
        members: Vec<PortRef>,
    },
}

/// How many values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Sum of the values that are there.
    Sum,
    /// Mean of the values that are there.
    Mean,
    /// Number of values that are there and not zero.
    Count,
}

/// One diagram.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Heading.
    pub title: String,
    /// The figure that is drawn.
    pub kind: Figure,
    /// Labels of [`Plan::record`].
    pub y: Vec<String>,
    /// Labels of outputs where what is sent on `y` arrives.
    pub to: Vec<String>,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the value axis.
    pub y_label: String,
    /// Event markers are drawn.
    pub events: bool,
    /// How curves are drawn; `None` draws a line for a continuous record, steps for the others.
    pub style: Option<Style>,
    /// The axes, as far as they are not by default.
    pub axes: Axes,
}

/// How the axes of a plot differ from what they are by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    /// The output on the horizontal axis, instead of time (phase plot).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// Names of curves in the legend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Names of the values 0, 1, 2, … on the value axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Ends of the time axis, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_range: Option<[f64; 2]>,
    /// Ends of the value axis, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_range: Option<[f64; 2]>,
    /// Whether values are on a logarithmic axis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
    /// Seconds per unit of the time axis, if that is not a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<f64>,
    /// Intervals of time in seconds that are shaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<[f64; 2]>,
    /// Events between which time is shaded, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<Between>,
}

/// Intervals of time between events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// The output whose events begin an interval.
    pub from: String,
    /// Events that end it; of the same output, if that is one.
    pub to: String,
    /// The value that begins an interval; every other one ends it. Empty where all events count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub is: String,
}

impl Plot {
    /// Whether it shows single events: when they were sent, or what they carried.
    pub fn is_of_events(&self, plan: &Plan) -> bool {
        let event = |r: &Record| r.kind == PortKind::Event && self.y.contains(&r.label);
        self.kind != Figure::Curves && plan.record.iter().any(event)
    }
}

/// The content of a diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Curves over time.
    Curves,
    /// When something was sent on outputs, a row for each, and when it arrived.
    Timeline,
    /// Empirical distribution functions of values, or of the time between outputs.
    Distribution,
}

impl Figure {
    /// The name in files; empty for curves.
    pub fn name(self) -> &'static str {
        match self {
            Self::Curves => "",
            Self::Timeline => "timeline",
            Self::Distribution => "distribution",
        }
    }
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Straight between samples.
    Line,
    /// Constant until the next sample.
    Step,
    /// Only the samples.
    Points,
}

/// An atomic unit of the model.
#[derive(Debug, Clone)]
pub struct UnitInfo {
    /// Path in the kernel model.
    pub path: String,
    /// Registered kind.
    pub kind: &'static str,
    /// Ports by number.
    pub ports: Arc<Ports>,
    /// The unit integrates: its signals count as exchanges.
    pub continuous: bool,
    /// Put there by the plan (an adapter), not by the author.
    pub hidden: bool,
    /// Seconds that a transition takes at most, with the steps that lead to it, if the author says so.
    pub wcet: Option<f64>,
}

/// Options of the command line that stand above the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overrides {
    /// `--until`: seconds, or text with a unit.
    pub until: Option<String>,
    /// `--sample`: seconds, text with a unit, or `none`.
    pub sample: Option<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// Factor on tolerances, quanta and exchange bands of all units, for `--verify`.
    pub tighten: Option<f64>,
    /// Units compute by another family of methods, where they have one, for `--verify`.
    pub second_family: bool,
    /// Ticks are a thousand times finer, for `--verify`: what events inherit from ticks shows, too.
    #[serde(default)]
    pub finer_ticks: bool,
    /// A study whose `[result]` joins that of the scenario.
    pub study: Option<PathBuf>,
    /// The text of the scenario, which is not read from its file then: who has read it once runs it as often as he
    /// likes, and what comes from a program has no file.
    #[serde(default)]
    pub text: Option<String>,
}

/// Reads, checks and plans a scenario.
///
/// `sets` are the `--set path=value` options in their order.
///
/// # Errors
/// All mistakes of the scenario, in the order of the text.
pub fn load(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
) -> Result<Plan, Diagnostics> {
    Ok(loaded(file, sets, overrides, |_, _| ())?.0)
}

/// Loads a plan, with the graph of who depends on whom.
///
/// # Errors
/// All mistakes of the scenario.
pub fn load_with_graph(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
) -> Result<(Plan, graph::Graph), Diagnostics> {
    loaded(file, sets, overrides, graph::graph)
}

/// Loads a plan, with all that somebody needs to load it elsewhere.
///
/// # Errors
/// All mistakes of the scenario.
pub fn load_parcel(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
) -> Result<(Plan, parcel::Parcel), Diagnostics> {
    loaded(file, sets, overrides, parcel::parcel)
}

/// A plan with what is made of its units before the model is.
fn loaded<T>(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
    more: impl FnOnce(&Tree, &Session) -> T,
) -> Result<(Plan, T), Diagnostics> {
    let mut session = Session::new(file);
    match plan(file, sets, overrides, &mut session, more) {
        Some(plan) if session.sink.is_empty() => Ok(plan),
        _ => {
            if session.sink.is_empty() {
                session.report(Mistake::whole("internal", "the scenario cannot be planned"));
            }
            Err(session.sink.finish(session.sources))
        }
    }
}

/// Puts the settings of the command line in the place of those of the file.
fn override_keys(overrides: &Overrides, root: &mut Table, session: &mut Session) {
    let seed = overrides.seed.map(|s| s.to_string());
    let options = [
        ("--until", "stop", &overrides.until),
        ("--sample", "sample", &overrides.sample),
        ("--seed", "seed", &seed),
    ];
    for (option, key, value) in options {
        if let Some(value) = value {
            let node =
                document::parse_value(option, &format!("{option} "), value, &mut session.sources);
            let span = node.span.clone();
            set::option(key, node, root, &span);
        }
    }
}

/// A text of a scenario, if it is known before its file is read, and the settings that are for it.
type Written<'a> = (Option<Cow<'a, str>>, Cow<'a, [(String, String)]>);

/// The text of a scenario, where it is not that of its file: a structure becomes the variant that its settings choose.
fn written<'a>(
    file: &Path,
    sets: &'a [(String, String)],
    overrides: &'a Overrides,
    session: &Session,
) -> Option<Written<'a>> {
    let known = overrides.text.as_deref();
    if !ses::is_structure(file) {
        return Some((known.map(Cow::Borrowed), Cow::Borrowed(sets)));
    }
    match ses::scenario((file, known), sets) {
        Ok((text, sets)) => Some((Some(Cow::Owned(text)), Cow::Owned(sets))),
        Err(e) => {
            session.report(Mistake::whole("structure", e.to_string()).help(e.help));
            None
        }
    }
}

/// The document with the options of the command line, and its own time to stop.
fn document(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
    session: &mut Session,
) -> Option<(Table, Option<document::Node>)> {
    let (text, sets) = written(file, sets, overrides, session)?;
    let mut root = read::read((file, text.as_deref()), &mut session.sources, &session.sink)?;
    if session.sink.mistakes_of("syntax") {
        // Text behind a syntax error would only be misunderstood.
        return None;
    }
    for (path, value) in &*sets {
        let bare = set::apply(path, value, &mut root, (&mut session.sources, &session.sink));
        if let Some((span, before)) = bare {
            let message = format!(
                "`{path}` was \"{before}\", and is {value} now, which counts in SI base units: write its unit"
            );
            session.warn(&span, &message);
        }
    }
    let stop = root.get("stop").cloned();
    override_keys(overrides, &mut root, session);
    if let Some(study) = &overrides.study {
        read::join_results(study, &mut root, &mut session.sources, &session.sink);
    }
    Some((root, stop))
}

/// Whether a file is one of studies, which is a mistake here.
fn is_study(root: &Table, session: &Session) -> bool {
    let entry = |key: &str| root.entries.iter().find(|(name, _)| name.value == key);
    let Some((key, _)) = entry("scenario").filter(|_| entry("ask").or(entry("vary")).is_some())
    else {
        return false;
    };
    let mistake = Mistake::new("no-scenario", &key.span, "this is a study, and no scenario");
    session.report(mistake.help("run it by `superdense study` and the name of the file"));
    true
}

fn plan<T>(
    file: &Path,
    sets: &[(String, String)],
    overrides: &Overrides,
    session: &mut Session,
    more: impl FnOnce(&Tree, &Session) -> T,
) -> Option<(Plan, T)> {
    let (root, stop) = document(file, sets, overrides, session)?;
    if is_study(&root, session) {
        return None;
    }
    settings::basics(&root, overrides.finer_ticks, session);
    session.tighten = overrides.tighten.unwrap_or(1.0);
    session.second_family = overrides.second_family;
    let session = &*session;
    let declarations = declare::declare(&root, session);
    functions::read(&root, &declarations, session);
    let tree = expand::expand(&declarations, session);
    loops::check(&tree, session);
    carried::check(&tree, session);
    let measures = measures::check(&tree, session);
    coupling::alone(&tree, session);
    let settings = settings::settings(&root, &tree.groups[0].scope, session);
    settings::horizon(stop.as_ref(), &tree.groups[0].scope, session);
    let (record, plots) = record::results(&root, &tree, session);
    let limits = (settings.stop, overrides.until.is_some());
    let results = result::results(&root, (&tree, &measures), limits, session);
    let federate = federate::federate(&tree, settings.stop, session);
    let numbering = build::number(&tree);
    if !session.sink.is_empty() {
        build::check(&tree, &numbering, session);
        return None;
    }
    let model = build::model(&tree, &numbering, &results, session);
    let more = more(&tree, session);
    let name = file.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let plan = Plan {
        title: settings.title.unwrap_or_else(|| name.clone()),
        name,
        description: settings.description,
        file: file.to_owned(),
        resolution: session.resolution,
        micro_steps: session.micro_steps,
        ties: None,
        stop: settings.stop,
        sample: settings.sample,
        partition: partition::partition(&root, &tree, session),
        seed: session.seed,
        record,
        plots,
        results,
        plan_hash: digest::plan_hash(&tree, &numbering, session),
        units: numbering.infos,
        second_family: tree.units.iter().any(|u| u.kind.second_family(&u.params).is_some()),
        sampled: policies::sampled(&tree),
        couplings: policies::masters(&tree, session),
        links: tree.links.into_iter().map(|l| l.name).collect(),
        warnings: session.warnings(),
        federate,
        model,
    };
    Some((plan, more))
}
