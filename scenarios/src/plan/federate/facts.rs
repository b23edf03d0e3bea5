//! The facts of `[federate]` for a run, and mistakes in what the federation cannot carry.
use super::{
    Federate, Heard, Told,
    ports::Joint,
    read::{Carries, FederateDecl, Way},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
    plan::{evaluate::Evaluator, session::Session, session::did_you_mean, tree::Tree},
};
use std::time::Duration;
use superdense_adapters::helics::{
    clock::LATEST,
    data::Type,
    federate::{BrokerAt, Endpoint, Input, Launch, Output, Taking},
};
use superdense_kernel::time::Resolution;

/// Cores that are taken.
const CORES: [&str; 5] = ["zmq", "zmqss", "tcp", "tcpss", "udp"];
/// Bytes that cores of TCP carry.
const SMALL: usize = 4096;

/// The federate of a scenario, if it is one; mistakes are reported.
pub(in crate::plan) fn federate(tree: &Tree, stop: i64, session: &Session) -> Option<Federate> {
    let decl = tree.groups[0].decl.federate.as_ref()?;
    let joint = tree.federate.as_ref()?;
    let f = Facts { decl, session, eval: Evaluator::new(session, &tree.groups[0].scope, &[]) };
    let up = f.choice("rounding", &["refuse", "up"]) == "up";
    f.times(stop, up);
    let core = f.core(joint);
    let ways = || decl.ways.iter().zip(0..);
    let of = |inwards: bool, messages: bool, number: usize| {
        ways().find(|(w, _)| {
            let is_messages = w.carries == Carries::Messages;
            (w.inwards, is_messages, w.number) == (inwards, messages, number)
        })
    };
    let values = |inwards: bool| {
        ways().filter(move |(w, _)| w.inwards == inwards && w.carries != Carries::Messages)
    };
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (way, k) in values(true) {
        let Carries::Value(ty) = way.carries else { continue };
        let unit = way.unit.clone().unwrap_or_default();
        inputs.push((Input { from: way.key.clone(), ty, unit }, f.heard(way, k, joint)));
    }
    for (way, k) in values(false) {
        let Carries::Value(ty) = way.carries else { continue };
        let unit = way.unit.clone().unwrap_or_default();
        outputs.push((Output { key: way.key.clone(), ty, unit }, f.told(way, k, joint)));
    }
    let endpoints = decl.endpoints.iter().enumerate().map(|(number, (name, peer))| {
        let heard = of(true, true, number).map(|(way, k)| f.heard(way, k, joint));
        let told = of(false, true, number).map(|(way, k)| f.told(way, k, joint));
        let (name, peer) = (name.clone(), peer.clone());
        (Endpoint { name, peer, sends: told.is_some(), hears: heard.is_some() }, (heard, told))
    });
    let (ends, endpoints): (Vec<_>, Vec<_>) = endpoints.unzip();
    let (own, inputs): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
    let (told, outputs): (Vec<_>, Vec<_>) = outputs.into_iter().unzip();
    let launch = |(name, command): &(String, String)| Launch {
        name: name.clone(),
        command: command.clone(),
    };
    let taking = Taking {
        name: f.text("name").unwrap_or_default(),
        core,
        broker: f.broker(),
        key: f.text("key"),
        last: f.choice("instant", &["next", "last"]) == "last",
        patience: f.wall("patience", 2.0),
        join: f.wall("join", 60.0),
        require: f.names("require"),
        folder: session.folder.clone(),
        launch: decl.launch.iter().map(launch).collect(),
        inputs: own,
        outputs: told,
        endpoints: ends,
    };
    Some(Federate { taking, up, replay: None, inputs, outputs, endpoints })
}

struct Facts<'a> {
    decl: &'a FederateDecl,
    session: &'a Session,
    eval: Evaluator<'a>,
}

impl Facts<'_> {
    fn report(&self, code: &'static str, node: &Node, message: String, help: String) {
        self.session.report(Mistake::new(code, &node.span, message).help(help));
    }

    fn whole(&self, code: &'static str, message: String, help: &str) {
        self.session.report(Mistake::new(code, &self.decl.span, message).help(help));
    }

    fn text(&self, key: &str) -> Option<String> {
        let example = format!("{key} = \"...\"");
        let Some(node) = self.decl.table.get(key) else {
            if key == "name" {
                let help = "add name = \"building\" below [federate]";
                self.whole("federate", "the federate has no `name`".into(), help);
            }
            return None;
        };
        let text = node.text(&format!("`{key}`"), &example, &self.session.sink)?.value;
        if text.is_empty() || text.contains(char::is_whitespace) {
            let message = format!("`{key}` is \"{text}\"");
            self.report("federate", node, message, "write a text without blanks".into());
        }
        Some(text)
    }

    fn choice(&self, key: &str, all: &[&'static str]) -> &'static str {
        let Some(node) = self.decl.table.get(key) else { return all[0] };
        let example = format!("{key} = \"{}\"", all[0]);
        let text = node.text(&format!("`{key}`"), &example, &self.session.sink);
        let Some(text) = text else { return all[0] };
        all.iter().copied().find(|a| *a == text.value).unwrap_or_else(|| {
            let message = format!("`{key}` is \"{}\"", text.value);
            let help = did_you_mean(&text.value, all.iter().copied(), "write one of");
            self.report("federate", node, message, help);
            all[0]
        })
    }

    fn names(&self, key: &str) -> Vec<String> {
        let Some(node) = self.decl.table.get(key) else { return Vec::new() };
        let example = format!("{key} = [\"grid\"]");
        let list = node.list(&format!("`{key}`"), &example, &self.session.sink).unwrap_or_default();
        let text = |n: &Node| Some(n.text("a federate", &example, &self.session.sink)?.value);
        list.iter().filter_map(text).collect()
    }

    /// Time on the wall.
    fn wall(&self, key: &str, usual: f64) -> Duration {
        let Some(node) = self.decl.table.get(key) else { return Duration::from_secs_f64(usual) };
        let what = format!("`{key}`");
        let period = self.eval.period(node, &what);
        let seconds = period.map_or(usual, |(n, d)| n as f64 / d as f64);
        if !(0.02..=1e6).contains(&seconds) {
            let message = format!("{what} is {seconds} s");
            let help = format!("write {key} = \"{usual} s\", or another time of 20 ms to 1e6 s");
            self.report("federate", node, message, help);
            return Duration::from_secs_f64(usual);
        }
        Duration::from_secs_f64(seconds)
    }

    fn broker(&self) -> BrokerAt {
        let text = self.text("broker");
        let Some((text, node)) = text.zip(self.decl.table.get("broker")) else {
            if self.decl.table.get("broker").is_none() {
                let help = "add broker = \"start\", or the address of one, such as broker = \"10.0.0.5:23404\"";
                self.whole("federate", "the federate has no `broker`".into(), help);
            }
            return BrokerAt::Own;
        };
        if text == "start" {
            return BrokerAt::Own;
        }
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.and_then(|(_, port)| port.parse::<u16>().ok()).is_none_or(|port| port == 0) {
            let message = format!("`{text}` is no address of a broker");
            let help = "write host:port, such as \"10.0.0.5:23404\", or \"start\"";
            self.report("federate", node, message, help.into());
        } else if self.decl.table.get("key").is_none() {
            let help = "add key = \"...\", and start the broker with --broker_key=...: without one, federations on \
                        one machine may mix";
            self.report("federate", node, "the federation has no `key`".into(), help.into());
        }
        BrokerAt::Address(text)
    }

    fn core(&self, joint: &Joint) -> String {
        let Some(node) = self.decl.table.get("core") else { return CORES[0].to_owned() };
        let core = self.text("core").unwrap_or_else(|| CORES[0].to_owned());
        let zmq = || "write core = \"zmq\"".to_owned();
        if ["inproc", "test"].contains(&core.as_str()) {
            let message = format!("`{core}` is refused: runs of federates in one process may hang");
            self.report("federate-refused", node, message, zmq());
        } else if !CORES.contains(&core.as_str()) {
            let help = did_you_mean(&core, CORES, "cores");
            self.report("federate", node, format!("there is no core `{core}`"), help);
        } else if core.starts_with("tcp") {
            for (way, ports) in self.decl.ways.iter().zip(&joint.ports).filter(|(w, _)| !w.inwards)
            {
                let large = match way.carries {
                    Carries::Messages => true,
                    Carries::Value(Type::Text | Type::Raw | Type::NamedPoint) => true,
                    Carries::Value(_) => ports.len() * 8 > SMALL,
                };
                if large {
                    let message = format!(
                        "`{}` may be longer than 4 kB, by which a core of type `{core}` may lose its connection",
                        way.key
                    );
                    let mistake = Mistake::new("federate-refused", &way.path.span, message);
                    self.session.report(mistake.help(zmq()));
                }
            }
        }
        core
    }

    /// Times that HELICS cannot carry.
    fn times(&self, stop: i64, up: bool) {
        let resolution = self.session.resolution;
        if resolution.exponent() < Resolution::NANO.exponent() {
            let message = format!(
                "a tick is {resolution}, but federates are granted times of whole nanoseconds"
            );
            self.whole("federate-time", message, "write resolution = \"ns\" or a finer one");
            return;
        }
        let latest = LATEST.saturating_mul(resolution.ticks_per_second());
        if stop > latest {
            let message = format!("the run ends at {} s", resolution.format(stop));
            let help = "let it end at 4194304 s (48.5 days) at the latest: later nanoseconds do not pass HELICS' \
                        functions unchanged";
            self.whole("federate-time", message, help);
        }
        let tick = nanosecond(resolution);
        for way in &self.decl.ways {
            let Some(("every", node)) = &way.sampled else { continue };
            let Some((n, d)) = self.eval.period(node, "`every`") else { continue };
            let fits = i128::from(n) * i128::from(resolution.ticks_per_second());
            let fits = fits % (i128::from(d) * i128::from(tick)) == 0;
            if !fits && !up {
                let message = "`every` is no whole number of nanoseconds".into();
                let help =
                    "write a time of whole nanoseconds, or rounding = \"up\" below [federate]";
                self.report("federate-time", node, message, help.into());
            }
        }
    }

    fn heard(&self, way: &Way, k: usize, joint: &Joint) -> Heard {
        let (ports, types) = joint.ports[k].iter().copied().unzip();
        let mut initial = Vec::new();
        if let Some(node) = way.initial.as_ref().filter(|_| joint.signals[k]) {
            let list = match &node.item {
                Item::List(list) => list.as_slice(),
                _ => std::slice::from_ref(node),
            };
            initial =
                list.iter().filter_map(|n| Some(self.eval.number(n, "`initial`")?.value)).collect();
            let wanted = joint.ports[k].len();
            if initial.len() == 1 {
                initial = vec![initial[0]; wanted];
            } else if list.len() != wanted && wanted > 0 {
                let message =
                    format!("`initial` has {} values, but there are {wanted} ports", list.len());
                let help = "give one value for all of them, or a list of one for each".into();
                self.report("federate-initial", node, message, help);
            }
        }
        Heard { ports, types, path: way.path.value.clone(), initial }
    }

    fn told(&self, way: &Way, k: usize, joint: &Joint) -> Told {
        let ports = joint.ports[k].iter().map(|p| p.0).collect();
        Told { ports, path: way.path.value.clone(), signal: joint.signals[k] }
    }
}

/// Ticks of a nanosecond.
fn nanosecond(resolution: Resolution) -> i64 {
    resolution.ticks_per_second() / Resolution::NANO.ticks_per_second()
}
