//! A bench for unit tests of blocks: a small scenario text, run and logged.
use super::{Context, Located, Param, ParamType, Params, PortKind, Ports};
use crate::{
    catalogue, kinds,
    maths::expr::Measure,
    signal::value::{Flag, Value},
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};
use superdense_kernel::{
    Coupled, Fact, ModelKey, Simulation,
    error::RunError,
    port::{InPort, OutPort},
    time::{Resolution, Tag},
    trace::{Observer, Site, Transition, Verdict},
};

type Log = Arc<Mutex<Vec<(Tag, String, u16, Value)>>>;

struct Logger(Log);

impl Observer<Value> for Logger {
    fn wants_transitions(&self, _: ModelKey) -> bool {
        true
    }
    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, Value>) -> Verdict {
        let mut log = self.0.lock().unwrap();
        for sent in t.outputs {
            log.push((t.tag, site.path(), sent.port, sent.value.clone()));
        }
        Verdict::Continue(())
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        if let Fact::Note(note) = fact {
            let note = Value::Text(Arc::clone(note));
            self.0.lock().unwrap().push((tag, site.path(), NOTE, note));
        }
        Verdict::Continue(())
    }
}

/// In the place of a port: a note.
const NOTE: u16 = u16::MAX;

fn convert(p: &toml::Value, ty: ParamType, context: &Context<'_>) -> Param {
    let at = |value| Located::new(value, 0..0);
    match (p, ty) {
        (_, ParamType::Duration) => {
            let raw = at(convert(p, ParamType::Raw, context));
            let ticks = super::params::ticks_of(&raw, context).unwrap();
            Param::Duration(superdense_kernel::time::Duration::from_ticks(ticks))
        }
        (_, ParamType::Period) => {
            let Param::Duration(ticks) = convert(p, ParamType::Duration, context) else {
                unreachable!()
            };
            Param::Period(ticks.ticks(), context.resolution.ticks_per_second())
        }
        (toml::Value::Integer(i), ParamType::Real(_)) => Param::Real(*i as f64),
        (toml::Value::String(s), ParamType::Real(_)) => Param::Real(s.parse().unwrap()),
        (toml::Value::String(s), ParamType::Int | ParamType::Bytes) => {
            Param::Int(s.parse().unwrap())
        }
        (toml::Value::String(s), ParamType::Bool) => Param::Bool(s.parse().unwrap()),
        (toml::Value::String(s), ParamType::Value | ParamType::Raw) => Param::Text(s.clone()),
        (toml::Value::String(s), _) => Param::Text(s.clone()),
        (toml::Value::Integer(i), _) => Param::Int(*i),
        (toml::Value::Float(x), _) => Param::Real(*x),
        (toml::Value::Boolean(b), _) => Param::Bool(*b),
        (toml::Value::Array(a), _) => {
            let item = match ty {
                ParamType::RealList => ParamType::Real(None),
                ParamType::ValueList => ParamType::Value,
                _ => ty,
            };
            Param::List(a.iter().map(|x| at(convert(x, item, context))).collect())
        }
        (toml::Value::Table(t), _) => Param::Table(
            t.iter()
                .map(|(k, v)| (Located::new(k.clone(), 0..0), at(convert(v, ty, context))))
                .collect(),
        ),
        (toml::Value::Datetime(_), _) => unreachable!(),
    }
}

fn params(kind: &dyn kinds::UnitKind, table: &toml::Table, context: &Context<'_>) -> Params {
    let known = kind.params();
    for key in table.keys().filter(|k| *k != "kind") {
        assert!(known.iter().any(|p| p.name == key), "unknown parameter {key}");
    }
    let mut values = Vec::new();
    for spec in known {
        let value = match (table.get(spec.name), spec.default) {
            (Some(v), _) => convert(v, spec.ty, context),
            (None, Some("")) => continue,
            (None, Some(d)) => match spec.ty {
                ParamType::RealList | ParamType::Raw | ParamType::Value | ParamType::ValueList => {
                    let parsed: toml::Table = format!("x = {d}").parse().unwrap();
                    convert(&parsed["x"], spec.ty, context)
                }
                _ => convert(&toml::Value::String(d.into()), spec.ty, context),
            },
            (None, None) => panic!("`{}` is missing", spec.name),
        };
        values.push((spec.name.to_owned(), Located::new(value, 0..0)));
    }
    Params { values }
}

/// A finished run.
pub(crate) struct Bench {
    pub sim: Simulation<Value>,
    log: Log,
    ports: BTreeMap<String, Ports>,
    end: i64,
}

const NANO: Resolution = Resolution::NANO;

fn with_context<R>(
    path: &str,
    folder: &Path,
    driven: &[bool],
    f: impl FnOnce(&Context<'_>) -> R,
) -> R {
    f(&Context {
        functions: &Default::default(),
        path,
        resolution: NANO,
        seed: 1,
        horizon: f64::INFINITY,
        tighter: 1.0,
        folder,
        constants: &|name| (name == "two").then_some(2.0),
        measures: &|_| Measure::Unknown,
        angles: &|_| None,
        links: &[],
        input_sources: &[],
        output_connected: &[],
        output_read: &[],
        input_connected: driven,
        mastered: false,
        turn: (0, 0),
        input_names: &[],
    })
}

/// The mistakes of the one unit in `text`: message; help.
pub(crate) fn mistakes(text: &str) -> Vec<String> {
    mistakes_in(Path::new("."), text)
}

/// The mistakes of a text with files in a folder.
pub(crate) fn mistakes_in(folder: &Path, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap();
    let (name, unit) = table["unit"].as_table().unwrap().iter().next().unwrap();
    let unit = unit.as_table().unwrap();
    let kind = catalogue::find(unit["kind"].as_str().unwrap()).unwrap();
    with_context(name, folder, &[], |context| {
        let params = params(kind, unit, context);
        let errors = match kind.ports_in(&params, folder) {
            Err(errors) => errors,
            Ok(_) => kind.build(&params, context).err().unwrap_or_default(),
        };
        errors
            .iter()
            .map(|e| match &e.help {
                Some(help) => format!("{}; {help}", e.message),
                None => e.message.clone(),
            })
            .collect()
    })
}

impl Bench {
    pub(crate) fn run(text: &str, seconds: f64) -> Self {
        Self::run_in(Path::new("."), text, seconds)
    }

    pub(crate) fn run_in(folder: &Path, text: &str, seconds: f64) -> Self {
        let mut bench = Self::start(folder, text);
        bench.go(seconds).unwrap();
        bench
    }

    /// The bench before its first cycle.
    pub(crate) fn start(folder: &Path, text: &str) -> Self {
        Self::start_with(folder, text, superdense_kernel::Options::default())
    }

    fn start_with(folder: &Path, text: &str, options: superdense_kernel::Options) -> Self {
        let table: toml::Table = text.parse().unwrap();
        let mut top = Coupled::new();
        let mut children = BTreeMap::new();
        let mut all = BTreeMap::new();
        let wires = table.get("connections").and_then(toml::Value::as_array);
        let wires = wires.into_iter().flatten().filter_map(|w| w.as_str()?.split_once(" -> "));
        let wires: Vec<&str> = wires.map(|(_, to)| to).collect();
        for (name, unit) in table["unit"].as_table().unwrap() {
            let unit = unit.as_table().unwrap();
            let kind = unit["kind"].as_str().unwrap();
            let kind = catalogue::find(kind).unwrap_or_else(|| panic!("no kind {kind}"));
            let ports = with_context(name, folder, &[], |context| {
                kind.ports_in(&params(kind, unit, context), folder).unwrap()
            });
            let wired =
                |p: &kinds::PortSpec| wires.iter().any(|to| *to == format!("{name}.{}", p.name));
            let driven: Vec<bool> = ports.inputs.iter().map(wired).collect();
            let component = with_context(name, folder, &driven, |context| {
                kind.build(&params(kind, unit, context), context).unwrap()
            });
            children.insert(name.clone(), top.add_component(name.clone(), component));
            all.insert(name.clone(), ports);
        }
        let wires = table.get("connections").and_then(toml::Value::as_array);
        for wire in wires.into_iter().flatten() {
            let (from, to) = wire.as_str().unwrap().split_once(" -> ").unwrap();
            let ((a, p), (b, q)) = (from.split_once('.').unwrap(), to.split_once('.').unwrap());
            let (i, source) = find(&all[a].outputs, p);
            let (k, target) = find(&all[b].inputs, q);
            assert_eq!(source.kind, target.kind, "{from} to {to}");
            assert!(source.ty.fits(target.ty), "{from} to {to}");
            top.couple(
                children[a].output(OutPort::<Value>::new(i)),
                children[b].input(InPort::<Value>::new(k)),
            );
        }
        let mut sim = Simulation::new(top, options).unwrap();
        let log = Log::default();
        sim.observe(Logger(Arc::clone(&log)));
        Self { sim, log, ports: all, end: 0 }
    }

    pub(crate) fn go(&mut self, seconds: f64) -> Result<(), RunError> {
        self.end = NANO.duration(seconds).unwrap().ticks();
        self.sim.run_through(self.end).map(drop)
    }

    fn sent(&self, port: &str) -> Vec<(Tag, Value)> {
        let (unit, name) = port.split_once('.').unwrap();
        let (index, _) = find(&self.ports[unit].outputs, name);
        let log = self.log.lock().unwrap();
        let of_port = log.iter().filter(|(_, u, p, _)| u == unit && *p == index);
        of_port.map(|(tag, _, _, value)| (*tag, value.clone())).collect()
    }

    /// All that units have told, with the time.
    pub(crate) fn notes(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        let notes = log.iter().filter(|entry| entry.2 == NOTE);
        notes.map(|(tag, _, _, text)| format!("{} {text}", NANO.seconds(tag.ticks))).collect()
    }

    /// Number of messages of a port.
    pub(crate) fn count(&self, port: &str) -> usize {
        self.sent(port).len()
    }

    /// Segments of a port: `time@micro FLAG [coefficients] left x`.
    pub(crate) fn signal(&self, port: &str) -> Vec<String> {
        let line = |(tag, value): &(Tag, Value)| {
            let Value::Segment(s) = value else { panic!("{port} sends {value}") };
            let flag = match s.flag {
                Flag::Jump => "Jump ",
                Flag::Continuous => "~ ",
                Flag::Refresh => "",
            };
            let time = NANO.format(tag.ticks);
            format!("{time}@{} {flag}{:?} left {}", tag.micro, s.coefficients(), s.left)
        };
        self.sent(port).iter().map(line).collect()
    }

    /// Events of a port: `time@micro value`.
    pub(crate) fn events(&self, port: &str) -> Vec<String> {
        let line = |(tag, value): &(Tag, Value)| {
            format!("{}@{} {value}", NANO.format(tag.ticks), tag.micro)
        };
        self.sent(port).iter().map(line).collect()
    }

    /// The value that a receiver of the signal knows at `t` seconds (right limit).
    pub(crate) fn held(&self, port: &str, t: f64) -> f64 {
        let now = NANO.duration(t).unwrap().ticks();
        let sent = self.sent(port);
        let (tag, value) = sent.iter().rfind(|(tag, _)| tag.ticks <= now).expect("a segment");
        let Value::Segment(s) = value else { panic!("{port} sends {value}") };
        s.value(NANO.seconds(now - tag.ticks))
    }

    /// The probed value of a signal at the end.
    pub(crate) fn probe(&self, port: &str) -> f64 {
        let (unit, name) = port.split_once('.').unwrap();
        let (index, spec) = find(&self.ports[unit].outputs, name);
        assert_eq!(spec.kind, PortKind::Signal);
        let key = self.sim.find(unit).unwrap();
        self.sim.probe(key, index, self.end).expect("a value").as_real().unwrap()
    }
}

fn find<'a>(list: &'a [kinds::PortSpec], name: &str) -> (u16, &'a kinds::PortSpec) {
    let index = list.iter().position(|p| p.name == name);
    let index = index.unwrap_or_else(|| panic!("no port {name} in {list:?}"));
    (index as u16, &list[index])
}

/// Most stateful kinds at once.
const ZOO: &str = r#"
    connections = [
      "wave.y -> sum.u1", "noise.y -> sum.u2", "sum.y -> lag.u", "sum.y -> square.u1",
      "wave.y -> square.u2", "square.y -> int.u", "lag.y -> pid.measured",
      "step.y -> pid.reference", "pid.y -> late.u", "wave.y -> cross.u", "wave.y -> hyst.u",
      "wave.y -> stairs.u", "clock.y -> read.trigger", "late.y -> read.u", "read.y -> hold.u",
      "cross.y -> int.impulse", "cross.y -> echo.u", "echo.y -> auto.u", "clock.y -> auto.u",
      "hyst.y -> switch.select", "wave.y -> switch.u1", "noise.y -> switch.u2",
      "cross.y -> n.u", "echo.y -> n.u", "read.y -> n.reset", "cross.y -> add.u1",
      "clock.y -> add.u2", "jobs.out -> fork.in", "more.out -> fork.in", "fork.out1 -> server.in",
      "fork.out2 -> server.in", "server.out -> sink.in", "plan.y -> all.u1", "cross.y -> all.u2",
      "all.y -> total.u", "pulse.y -> sum.u3", "sum.y -> slow.u", "wave.y -> told.u",
      "told.sent -> shown.in", "hyst.state -> warm.amplitude", "step.y -> warm.velocity",
      "sum.y -> meter.u",
    ]
    unit.wave = { kind = "sine", frequency = 1.3, exchange_tolerance = 1e-3 }
    unit.noise = { kind = "random", period = 0.1, of = "signal", distribution = "normal", mean = 0, deviation = 1 }
    unit.pulse = { kind = "pulse", period = 0.7 }
    unit.step = { kind = "step", at = 1 }
    unit.sum = { kind = "sum", signs = "+-+" }
    unit.square = { kind = "product" }
    unit.lag = { kind = "first-order", time_constant = 0.3, exchange_tolerance = 1e-3 }
    unit.slow = { kind = "rate-limiter", rising = 2, falling = 3, exchange_tolerance = 1e-3 }
    unit.told = { kind = "dead-reckoning", band = 0.05 }
    unit.shown = { kind = "dead-reckoning-receiver", delay = "20 ms", dynamics = [1, 0, 66] }
    unit.warm = { kind = "heat-conformal", rho = 1, n = 5, fourier = 64, kappa = 0.1, exchange_tolerance = 1e-3 }
    unit.int = { kind = "integrator", order = 2, exchange_tolerance = 1e-3 }
    unit.meter = { kind = "frequency", period = 0.03 }
    unit.pid = { kind = "pid", ki = 0.5, kd = 0.1, exchange_tolerance = 1e-3 }
    unit.late = { kind = "delay", of = "signal", delay = "50 ms" }
    unit.echo = { kind = "delay", delay = "150 ms" }
    unit.cross = { kind = "detector", exchange_tolerance = 1e-3 }
    unit.hyst = { kind = "hysteresis", low = -0.5, high = 0.5, exchange_tolerance = 1e-3 }
    unit.stairs = { kind = "quantiser", quantum = 0.3, exchange_tolerance = 1e-3 }
    unit.clock = { kind = "clock", numerator = 1, denominator = 7, value = 1 }
    unit.read = { kind = "sampler" }
    unit.hold = { kind = "hold" }
    unit.switch = { kind = "switch" }
    unit.n = { kind = "counter" }
    unit.add = { kind = "adder" }
    unit.all = { kind = "merge" }
    unit.total = { kind = "accumulator" }
    unit.plan = { kind = "schedule", times = [0.5, 1, 2.5], values = [1, 2, 3] }
    unit.jobs = { kind = "arrivals", rate = 50.0 }
    unit.more = { kind = "arrivals", distribution = "constant", mean = 0.05 }
    unit.fork = { kind = "router" }
    unit.server = { kind = "server", rate = 100.0, capacity = 5, servers = 2 }
    unit.sink = { kind = "sink", every = 10 }
    [unit.auto]
    kind = "automaton"
    states = ["a", "b"]
    inputs = ["u"]
    transitions = [
      { from = "a", on = "u", to = "b" },
      { from = "b", after = 0.1, to = "a" },
      { from = "b", on = "u", value = 1, to = "b" },
    ]
    "#;

#[test]
fn a_checkpoint_at_any_time_changes_nothing() {
    let straight = Bench::run(ZOO, 5.0).sim.trace_hash();
    for at in [0.0, 0.777, 1.0, 2.5, 4.2] {
        let mut first = Bench::run(ZOO, at);
        let bytes = first.sim.checkpoint().unwrap();
        let mut second = Bench::start(Path::new("."), ZOO);
        second.sim.resume(&bytes).unwrap();
        second.go(5.0).unwrap();
        assert_eq!(second.sim.trace_hash(), straight, "restored at {at}");
        first.go(5.0).unwrap();
        assert_eq!(first.sim.trace_hash(), straight, "continued at {at}");
    }
}

/// No block but those that say so depends on the order of a bag.
#[test]
fn bags_may_come_in_any_order() {
    let run = |ties| {
        let options = superdense_kernel::Options { ties, ..Default::default() };
        let mut bench = Bench::start_with(Path::new("."), ZOO, options);
        bench.go(5.0).unwrap();
        bench.sim.trace_hash()
    };
    for seed in 0..5 {
        assert_eq!(run(Some(seed)), run(None));
    }
}

#[test]
fn every_kind_has_ports_that_fit_its_documentation() {
    let mut names: Vec<&str> = catalogue::kinds().iter().map(|k| k.name()).collect();
    let sorted = {
        let mut s = names.clone();
        s.sort_unstable();
        s
    };
    assert_eq!(names, sorted, "kinds() is in the order of names");
    names.dedup();
    assert_eq!(names.len(), catalogue::kinds().len());
    for kind in catalogue::kinds() {
        assert!(!kind.summary().is_empty() && kind.params().iter().all(|p| !p.doc.is_empty()));
    }
}
