//! A bench for unit tests of blocks: a small scenario text, run and logged.
use crate::{
    registry::{self, Context, Located, Param, ParamType, Params, PortKind, Ports},
    value::{Flag, Value},
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};
use superdense_kernel::{
    Coupled, Simulation,
    error::RunError,
    port::{InPort, OutPort},
    time::{Resolution, Tag},
    trace::{Observer, Site, Transition, Verdict},
};

type Log = Arc<Mutex<Vec<(Tag, String, u16, Value)>>>;

struct Logger(Log);

impl Observer<Value> for Logger {
    fn wants_transitions(&self) -> bool {
        true
    }
    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, Value>) -> Verdict {
        let mut log = self.0.lock().unwrap();
        for sent in t.outputs {
            log.push((t.tag, site.path(), sent.port, sent.value.clone()));
        }
        Verdict::Continue(())
    }
}

fn convert(p: &toml::Value, ty: ParamType, context: &Context<'_>) -> Param {
    let at = |value| Located::new(value, 0..0);
    match (p, ty) {
        (_, ParamType::Duration) => {
            let raw = at(convert(p, ParamType::Raw, context));
            let ticks = super::params::ticks_of(&raw, context).unwrap();
            Param::Duration(superdense_kernel::time::Duration::from_ticks(ticks))
        }
        (toml::Value::Integer(i), ParamType::Real(_)) => Param::Real(*i as f64),
        (toml::Value::String(s), ParamType::Real(_)) => Param::Real(s.parse().unwrap()),
        (toml::Value::String(s), ParamType::Int) => Param::Int(s.parse().unwrap()),
        (toml::Value::String(s), ParamType::Bool) => Param::Bool(s.parse().unwrap()),
        (toml::Value::String(s), ParamType::Value | ParamType::Raw) => Param::Text(s.clone()),
        (toml::Value::String(s), _) => Param::Text(s.clone()),
        (toml::Value::Integer(i), _) => Param::Int(*i),
        (toml::Value::Float(x), _) => Param::Real(*x),
        (toml::Value::Boolean(b), _) => Param::Bool(*b),
        (toml::Value::Array(a), _) => {
            let item = if ty == ParamType::RealList { ParamType::Real(None) } else { ty };
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

fn params(kind: &dyn registry::UnitKind, table: &toml::Table, context: &Context<'_>) -> Params {
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
                ParamType::RealList | ParamType::Raw | ParamType::Value => {
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
pub struct Bench {
    pub sim: Simulation<Value>,
    log: Log,
    ports: BTreeMap<String, Ports>,
    end: i64,
}

const NANO: Resolution = Resolution::NANO;

fn with_context<R>(path: &str, folder: &Path, f: impl FnOnce(&Context<'_>) -> R) -> R {
    f(&Context {
        path,
        resolution: NANO,
        seed: 1,
        folder,
        constants: &|name| (name == "two").then_some(2.0),
        links: &[],
        input_sources: &[],
    })
}

/// The mistakes of the one unit in `text`: message; help.
pub fn mistakes(text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap();
    let (name, unit) = table["unit"].as_table().unwrap().iter().next().unwrap();
    let unit = unit.as_table().unwrap();
    let kind = registry::find(unit["kind"].as_str().unwrap()).unwrap();
    with_context(name, Path::new("."), |context| {
        let params = params(kind, unit, context);
        let errors = match kind.ports(&params) {
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
    pub fn run(text: &str, seconds: f64) -> Self {
        Self::run_in(Path::new("."), text, seconds)
    }

    pub fn run_in(folder: &Path, text: &str, seconds: f64) -> Self {
        let mut bench = Self::start(folder, text);
        bench.go(seconds).unwrap();
        bench
    }

    /// The bench before its first cycle.
    pub fn start(folder: &Path, text: &str) -> Self {
        let table: toml::Table = text.parse().unwrap();
        let mut top = Coupled::new();
        let mut children = BTreeMap::new();
        let mut all = BTreeMap::new();
        for (name, unit) in table["unit"].as_table().unwrap() {
            let unit = unit.as_table().unwrap();
            let kind = unit["kind"].as_str().unwrap();
            let kind = registry::find(kind).unwrap_or_else(|| panic!("no kind {kind}"));
            let (ports, component) = with_context(name, folder, |context| {
                let params = params(kind, unit, context);
                (kind.ports(&params).unwrap(), kind.build(&params, context).unwrap())
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
        let mut sim = Simulation::new(top, superdense_kernel::Options::default()).unwrap();
        let log = Log::default();
        sim.observe(Logger(Arc::clone(&log)));
        Self { sim, log, ports: all, end: 0 }
    }

    pub fn go(&mut self, seconds: f64) -> Result<(), RunError> {
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

    /// Number of messages of a port.
    pub fn count(&self, port: &str) -> usize {
        self.sent(port).len()
    }

    /// Segments of a port: `time@micro FLAG [coefficients] left x`.
    pub fn signal(&self, port: &str) -> Vec<String> {
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
    pub fn events(&self, port: &str) -> Vec<String> {
        let line = |(tag, value): &(Tag, Value)| {
            format!("{}@{} {value}", NANO.format(tag.ticks), tag.micro)
        };
        self.sent(port).iter().map(line).collect()
    }

    /// What a receiver of the signal knows at `t` seconds (right limit).
    pub fn held(&self, port: &str, t: f64) -> f64 {
        let now = NANO.duration(t).unwrap().ticks();
        let sent = self.sent(port);
        let (tag, value) = sent.iter().rfind(|(tag, _)| tag.ticks <= now).expect("a segment");
        let Value::Segment(s) = value else { panic!("{port} sends {value}") };
        s.value(NANO.seconds(now - tag.ticks))
    }

    /// The probed value of a signal at the end.
    pub fn probe(&self, port: &str) -> f64 {
        let (unit, name) = port.split_once('.').unwrap();
        let (index, spec) = find(&self.ports[unit].outputs, name);
        assert_eq!(spec.kind, PortKind::Signal);
        let key = self.sim.find(unit).unwrap();
        self.sim.probe(key, index, self.end).expect("a value").as_real().unwrap()
    }
}

fn find<'a>(list: &'a [registry::PortSpec], name: &str) -> (u16, &'a registry::PortSpec) {
    let index = list.iter().position(|p| p.name == name);
    let index = index.unwrap_or_else(|| panic!("no port {name} in {list:?}"));
    (index as u16, &list[index])
}

#[test]
fn every_kind_has_ports_that_fit_its_documentation() {
    let mut names: Vec<&str> = registry::kinds().iter().map(|k| k.name()).collect();
    let sorted = {
        let mut s = names.clone();
        s.sort_unstable();
        s
    };
    assert_eq!(names, sorted, "kinds() is in the order of names");
    names.dedup();
    assert_eq!(names.len(), registry::kinds().len());
    for kind in registry::kinds() {
        assert!(!kind.summary().is_empty() && kind.params().iter().all(|p| !p.doc.is_empty()));
    }
}
