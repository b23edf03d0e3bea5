//! The unit kind `mosaik`.
use super::{
    host::Origin,
    layout::{Checked, Layout, layout, plain},
    unit::{MosaikUnit, Settings},
};
use std::{path::Path, time::Duration};
use superdense_kernel::{Component, time::Resolution};
use superdense_models::{
    kinds::{
        Context, Param, ParamError, ParamSpec, ParamType, Params, Ports, UnitKind,
        feed_through::{FeedThrough, Passing},
        needed, with,
    },
    signal::{
        capabilities::{Capabilities, Capability},
        value::Value,
    },
};

/// The kind `mosaik`: a simulator that speaks the mosaik protocol, as a unit. Ports are attributes of
/// its entities, as the file names them.
#[derive(Debug)]
pub struct MosaikKind;

const PARAMS: &[ParamSpec] = &[
    with(
        "command",
        ParamType::Text,
        "",
        "starts the simulator, in the folder of the scenario and without a shell; {address} is where it has to connect to",
    ),
    with("connect", ParamType::Text, "", "host:port of a simulator that runs already"),
    with("resolution", ParamType::Period, "1 s", "time n of the simulator is n times this"),
    with("start", ParamType::Raw, "", "parameters of the simulator: name = value"),
    needed(
        "create",
        ParamType::Raw,
        "entities: create.NAME with `model`, `count`, `parameters`, `inputs`, `outputs`",
    ),
    with(
        "rounding",
        ParamType::Choice(&["refuse", "up"]),
        "refuse",
        "what comes to a trigger between two times: an error, or heard at the next time",
    ),
    with("initial_event", ParamType::Duration, "", "first step of an event-based simulator"),
    with(
        "max_rounds",
        ParamType::Int,
        "100",
        "most steps at one time, in rings with a weak connection",
    ),
    with(
        "patience",
        ParamType::Duration,
        "60 s",
        "longest wait for an answer, by the clock on the wall",
    ),
];

const DOC: &str = "`mosaik`: a simulator that speaks the mosaik protocol (API 3), without mosaik. Ports are attributes of its \
     entities. An attribute that is persistent is a signal, any other one needs `event` with the type of its \
     values.\n\n```toml\n[unit.pv]\nkind = \"mosaik\"\ncommand = \"python3 -m my_pv {address}\"\nresolution = \"1 s\"\n\
     start = { step_size = 900 }\n[unit.pv.create.panel]\nmodel = \"PV\"\nparameters = { area = 200 }\n\
     inputs = { sun = \"DNI[W/m2]\" }\noutputs = { power = \"P[MW]\" }\n```\n";

/// Builds one unit, collecting its mistakes.
struct Builder<'a> {
    params: &'a Params,
    errors: Vec<ParamError>,
}

impl Builder<'_> {
    fn wrong(&mut self, name: &str, message: &str, help: &str) {
        self.errors.push(ParamError::at(self.params.span(name), message).help(help));
    }

    fn given(&self, name: &str) -> bool {
        self.params.get(name).is_some_and(|p| p.value != Param::Text(String::new()))
    }

    fn origin(&mut self, folder: &Path) -> Origin {
        let (command, connect) = (self.params.text("command"), self.params.text("connect"));
        match (command.is_empty(), connect.is_empty()) {
            (true, true) => {
                let help = "add command = \"… {address}\", or connect = \"host:port\"";
                self.errors.push(ParamError::whole("neither `command` nor `connect`").help(help));
            }
            (false, false) => {
                self.wrong("connect", "both `command` and `connect`", "remove one of them");
            }
            (false, true) if crate::child::words(command, &[]).is_none() => {
                let help = "close its quotes, and name a program first";
                self.wrong("command", "`command` cannot be divided into words", help);
            }
            (false, true) if !command.contains("{address}") => {
                let help = "write {address} where the simulator is told where to connect to";
                self.wrong("command", "`command` has no {address}", help);
            }
            (true, false) if !connect.contains(':') => {
                self.wrong("connect", "`connect` has no port", "write host:port");
            }
            _ => {}
        }
        if command.is_empty() {
            Origin::Connect(connect.to_owned())
        } else {
            Origin::Command(command.to_owned(), folder.to_owned())
        }
    }

    /// Ticks between two times, of which every one must be a tick.
    fn step(&mut self, ticks: Resolution) -> i64 {
        let whole = match self.params.get("resolution").map(|p| &p.value) {
            Some(Param::Period(n, d)) if *n > 0 && *n < i64::MAX && *d > 0 => {
                let (all, d) =
                    (i128::from(*n) * i128::from(ticks.ticks_per_second()), i128::from(*d));
                i64::try_from(all / d).ok().filter(|_| all % d == 0)
            }
            _ => None,
        };
        whole.unwrap_or_else(|| {
            let message = format!("`resolution` is no whole number of ticks of {ticks}");
            let help = "give such a time above zero, or the run a finer `resolution`";
            self.wrong("resolution", &message, help);
            1
        })
    }

    /// Ticks of a time of at least one tick.
    fn span(&mut self, name: &str) -> i64 {
        let d = self.params.duration(name);
        if d.ticks() > 0 && !d.is_infinite() {
            return d.ticks();
        }
        let message = format!("`{name}` is no finite time above zero");
        self.wrong(name, &message, "give a time of at least one tick, such as \"1 s\"");
        1
    }

    /// The time of a first step.
    fn first(&mut self, step: i64) -> Option<i64> {
        if !self.given("initial_event") {
            return None;
        }
        let ticks = self.params.duration("initial_event").ticks();
        if ticks < 0 || ticks % step != 0 {
            let help = "give a multiple of `resolution`";
            self.wrong("initial_event", "no whole time of the simulator", help);
        }
        Some(ticks / step)
    }
}

fn build(params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
    let layout = layout(params)?;
    let mut b = Builder { params, errors: Vec::new() };
    let origin = b.origin(context.folder);
    let step = b.step(context.resolution);
    let patience = context.resolution.seconds(b.span("patience"));
    let first = b.first(step);
    let rounds = u32::try_from(params.int("max_rounds")).unwrap_or(0);
    if rounds == 0 {
        b.wrong("max_rounds", "`max_rounds` is no number of steps", "give an integer above zero");
    }
    let start = plain(params.get("start")).unwrap_or_else(|errors| {
        b.errors.extend(errors);
        Vec::new()
    });
    if !b.errors.is_empty() {
        return Err(b.errors);
    }
    let sid = context.path.replace('/', ".");
    let source = |(k, input): (usize, &super::layout::Port)| {
        let told = context.input_names.get(k).filter(|name| !name.is_empty());
        let own = || told.cloned().unwrap_or_else(|| format!("{sid}.{}", input.name));
        input.source.clone().unwrap_or_else(own)
    };
    let sources = layout.inputs.iter().enumerate().map(source).collect();
    let driven = (0..layout.inputs.len() as u16).map(|port| context.is_driven(port)).collect();
    let per_second = context.resolution.ticks_per_second() as f64;
    let (depth, ring) = context.turn;
    Ok(Component::atomic(MosaikUnit::new(Settings {
        sid,
        origin,
        patience: Duration::try_from_secs_f64(patience).unwrap_or(Duration::MAX),
        start,
        sources,
        driven,
        layout,
        ticks: context.resolution,
        step,
        stop: (context.horizon * per_second).round() as i64,
        first,
        up: params.text("rounding") == "up",
        rounds,
        depth,
        ring,
    })))
}

/// The inputs of a choice, by number.
fn inputs(layout: &Layout, which: impl Fn(&super::layout::Port) -> bool) -> Vec<u16> {
    (0..).zip(&layout.inputs).filter(|(_, p)| which(p)).map(|(k, _)| k).collect()
}

impl UnitKind for MosaikKind {
    fn name(&self) -> &'static str {
        "mosaik"
    }
    fn summary(&self) -> &'static str {
        "a simulator that speaks the mosaik protocol, in a process of its own"
    }
    fn doc(&self) -> &'static str {
        DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        layout(params).map(|l| l.ports())
    }
    fn capabilities(&self, _: &Params, _: &Path) -> Capabilities {
        let own = "it steps at the times that it chooses";
        Capabilities::all()
            .without(Capability::Restore, "the mosaik protocol cannot save a state")
            .without(Capability::OutputDerivatives, "the mosaik protocol passes values only")
            .without(Capability::InputPolynomials, "it hears values at its steps")
            .without(Capability::AnySteps, own)
            .without(Capability::Equations, "a black box")
    }
    fn feed_through(&self, params: &Params, _: &Context<'_>) -> FeedThrough {
        // Mistakes are told by `ports`.
        let Ok(layout) = layout(params) else { return FeedThrough::None };
        let outputs = 0..layout.outputs.len() as u16;
        let pairs = |i: u16| outputs.clone().map(move |o| (i, o, Passing::Always));
        let direct = inputs(&layout, |p| !p.shifted && !p.weak);
        FeedThrough::Pairs(direct.into_iter().flat_map(pairs).collect())
    }
    fn turns(&self, params: &Params) -> Option<(Vec<u16>, Vec<u16>, u32)> {
        let layout = layout(params).ok()?;
        let rounds = u32::try_from(params.int("max_rounds")).unwrap_or(0);
        Some((inputs(&layout, |p| p.shifted), inputs(&layout, |p| p.weak), rounds))
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        build(params, context)
    }
}
