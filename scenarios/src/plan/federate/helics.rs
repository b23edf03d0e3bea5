//! Facts of a federation of HELICS.
use super::{facts::Facts, read::Carries};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
    plan::session::did_you_mean,
};
use std::time::Duration;
use superdense_adapters::{
    federation::{clock::LATEST, data::Type},
    helics::federate::{BrokerAt, Endpoint, Input, Launch, Output, Taking},
};
use superdense_kernel::time::Resolution;

/// Cores that are taken.
const CORES: [&str; 5] = ["zmq", "zmqss", "tcp", "tcpss", "udp"];
/// Bytes that cores of TCP carry.
const SMALL: usize = 4096;

impl Facts<'_> {
    /// The federate, and the time without a grant after which it is told who waits for whom.
    pub(super) fn taking(&self) -> (Taking, Duration) {
        let (stall, ends) = (self.wall("stall", 60.0), self.switch("stall_ends"));
        let unit = |unit: &Option<String>| unit.clone().unwrap_or_default();
        let inputs = self.values(true).map(|(way, ty, _)| Input {
            from: way.key.clone(),
            ty,
            unit: unit(&way.unit),
        });
        let outputs = self.values(false).map(|(way, ty, _)| Output {
            key: way.key.clone(),
            ty,
            unit: unit(&way.unit),
        });
        let ways = &self.decl.ways;
        let goes = |number: usize, inwards: bool| {
            ways.iter().any(|w| {
                (w.number, w.inwards) == (number, inwards) && w.carries == Carries::Messages
            })
        };
        let endpoint = |(number, (name, peers)): (usize, &(String, Vec<String>))| {
            let (name, peers) = (name.clone(), peers.clone());
            Endpoint { name, peers, sends: goes(number, false), hears: goes(number, true) }
        };
        let launch = |(name, command): &(String, String)| Launch {
            name: name.clone(),
            command: command.clone(),
        };
        let taking = Taking {
            name: self.text("name").unwrap_or_default(),
            core: self.core(),
            broker: self.broker(),
            key: self.text("key"),
            last: self.choice("instant", &["next", "last"]) == "last",
            patience: self.wall("patience", 2.0),
            join: self.wall("join", 60.0),
            stall: ends.then_some(stall),
            require: self.names("require"),
            folder: self.session.folder.clone(),
            launch: self.decl.launch.iter().map(launch).collect(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            endpoints: self.decl.endpoints.iter().enumerate().map(endpoint).collect(),
        };
        (taking, stall)
    }

    /// `true` or `false`; `false` where it does not stand.
    fn switch(&self, key: &str) -> bool {
        let Some(node) = self.decl.table.get(key) else { return false };
        let Item::Bool(on) = &node.item else {
            let (message, help) =
                (format!("`{key}` is no truth value"), format!("write {key} = true"));
            self.report("federate", node, message, help);
            return false;
        };
        *on
    }

    /// Ticks of a nanosecond; times that HELICS cannot carry are mistakes.
    pub(super) fn nanosecond(&self, stop: i64) -> Option<i64> {
        let resolution = self.session.resolution;
        if resolution.exponent() < Resolution::NANO.exponent() {
            let message = format!(
                "a tick is {resolution}, but federates are granted times of whole nanoseconds"
            );
            self.whole("federate-time", message, "write resolution = \"ns\" or a finer one");
            return None;
        }
        let latest = LATEST.saturating_mul(resolution.ticks_per_second());
        if stop > latest {
            let message = format!("the run ends at {} s", resolution.format(stop));
            let help = "let it end at 4194304 s (48.5 days) at the latest: later nanoseconds do not pass HELICS' \
                        functions unchanged";
            self.whole("federate-time", message, help);
        }
        Some(resolution.ticks_per_second() / Resolution::NANO.ticks_per_second())
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

    fn core(&self) -> String {
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
            for (way, ports) in
                self.decl.ways.iter().zip(&self.joint.ports).filter(|(w, _)| !w.inwards)
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

    fn names(&self, key: &str) -> Vec<String> {
        let Some(node) = self.decl.table.get(key) else { return Vec::new() };
        let example = format!("{key} = [\"grid\"]");
        let list = node.list(&format!("`{key}`"), &example, &self.session.sink).unwrap_or_default();
        let text = |n: &Node| Some(n.text("a federate", &example, &self.session.sink)?.value);
        list.iter().filter_map(text).collect()
    }
}
