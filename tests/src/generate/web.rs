//! Random units that hear each other all the time, some of which fail: for the executors.
//!
//! Each unit follows the state of another one and counts the events of a third one. So a worker that
//! runs ahead is brought back in the middle of steps that nobody has seen, and hears jumps at instants
//! that only the search of their sender finds. Where a unit fails, the run has to end with this error
//! at this instant, and nothing of later instants may have been told.
use super::{random::Random, settings::Method, shrink::edited};
use std::fmt::Write;

/// The units, and how they are run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Web {
    /// The last instant, in milliseconds.
    stop: i64,
    resolution: &'static str,
    partition: &'static str,
    exchange: f64,
    nodes: Vec<Node>,
    /// Members of an event that happens in both at once.
    link: Option<[usize; 2]>,
    /// The unit that fails, and how.
    fault: Option<(usize, Fault)>,
}

/// One unit.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    method: Method,
    start: f64,
    /// The right-hand side, without what it hears.
    own: &'static str,
    /// Whose state it hears, and by which factor.
    follows: (usize, f64),
    /// Whose counter it hears.
    counts: usize,
    /// It counts one on when it hears that: where all of a ring do, this goes round without end.
    passes: bool,
    /// The state at which it counts one on and falls back, and by how much.
    full: Option<(f64, f64)>,
    /// Milliseconds between events that come by themselves.
    beat: Option<&'static str>,
}

/// How a unit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A derivative is not defined from an instant on.
    Domain,
    /// The solution goes to infinity.
    Blowup,
    /// A reset gives no number.
    Reset,
    /// A right-hand side drives to and fro.
    Chatter,
    /// A row of events without end at one instant.
    Loop,
    /// Resets that leave a quantity on the threshold that it goes through.
    Through,
}

const FAULTS: [Fault; 6] =
    [Fault::Domain, Fault::Blowup, Fault::Reset, Fault::Chatter, Fault::Loop, Fault::Through];
const METHODS: [Method; 6] =
    [Method::Rk45, Method::Taylor, Method::Rodas, Method::Qss2, Method::Liqss2, Method::Auto];

impl Fault {
    /// The right-hand side and the events of the unit that fails, at `at` seconds.
    fn text(self, unit: &str, own: &str, ms: i64) -> (String, String) {
        let at = ms as f64 / 1000.0;
        let event =
            |name: &str, rest: &str| format!("[[unit.{unit}.event]]\nname = \"{name}\"\n{rest}\n");
        let (own, none) = (own.to_owned(), String::new());
        match self {
            Self::Domain => (format!("{own} + sqrt({at} - t)"), none),
            Self::Blowup => ("4*(x^2 + 0.1)".into(), none),
            Self::Reset => {
                (own, event("fails", &format!("at = \"{ms} ms\"\nreset = {{ x = \"1/(n - n)\" }}")))
            }
            Self::Chatter => (format!("if x > {at} then -1 else 1"), none),
            Self::Loop => {
                let to = "when = \"z > 0\"\nreset = { z = \"-1\" }";
                let fro = "when = \"z < 0\"\nreset = { z = \"1\" }";
                let begins = format!("at = \"{ms} ms\"\nreset = {{ z = \"1\" }}");
                (own, event("begins", &begins) + &event("to", to) + &event("fro", fro))
            }
            Self::Through => {
                let rest = format!("when = \"x >= {at}\"\nreset = {{ x = \"{at}\" }}");
                ("1".into(), event("through", &rest))
            }
        }
    }
}

/// A random web.
pub(super) fn web(random: &mut Random) -> Web {
    let count = 2 + random.below(5);
    let one = random.chance(50).then(|| random.pick(&METHODS));
    let owns = ["1 - 0.5*x", "1.5 - x", "sin(3*t) - 0.2*x", "0.7", "1 - x^3", "-0.3*x", "0"];
    let node = |k: usize, random: &mut Random| Node {
        method: one.unwrap_or_else(|| random.pick(&METHODS)),
        start: random.pick(&[0.0, 0.1, -0.2, 0.25]),
        own: random.pick(&owns),
        follows: ((k + 1) % count, random.pick(&[0.5, -0.5, 0.25, -1.0])),
        counts: (k + 1 + random.below(count - 1)) % count,
        passes: random.chance(15),
        full: random.chance(70).then(|| (random.pick(&[0.3, 0.6, 1.0]), random.pick(&[0.4, 0.9]))),
        beat: random.chance(40).then(|| random.pick(&["37 ms", "50 ms", "100 ms", "1/3 s"])),
    };
    Web {
        stop: random.pick(&[300, 1000, 2000]),
        resolution: random.pick(&["us", "ns", "ps"]),
        partition: random.pick(&["blocks", "wiring", "round-robin"]),
        exchange: random.pick(&[1e-3, 1e-5, 1e-7]),
        nodes: (0..count).map(|k| node(k, random)).collect(),
        link: random.chance(25).then(|| {
            let first = random.below(count);
            [first, (first + 1 + random.below(count - 1)) % count]
        }),
        fault: random.chance(35).then(|| (random.below(count), random.pick(&FAULTS))),
    }
}

impl Web {
    /// The scenario file.
    pub(super) fn text(&self) -> String {
        let Self { stop, resolution, partition, nodes, .. } = self;
        let list = |one: &dyn Fn(usize, &Node) -> String| -> String {
            let list: Vec<_> = nodes.iter().enumerate().map(|(k, n)| one(k, n)).collect();
            list.join(", ")
        };
        let record = list(&|k, _| format!("\"u{k}.x\", \"u{k}.n\""));
        let wires = list(&|k, node| {
            let (follows, counts) = (node.follows.0, node.counts);
            format!("\"u{follows}.x -> u{k}.a\", \"u{counts}.n -> u{k}.c\"")
        });
        let mut out = format!(
            "stop = \"{stop} ms\"\nresolution = \"{resolution}\"\nsample = \"none\"\n\
             micro_steps = 300\npartition = \"{partition}\"\nrecord = [{record}]\n\
             connections = [{wires}]\n"
        );
        for k in 0..nodes.len() {
            self.unit(k, &mut out);
        }
        if let Some([a, b]) = self.link {
            let _ = write!(
                out,
                "\n[[link]]\nname = \"meet\"\nunits = [\"u{a}\", \"u{b}\"]\n\
                 when = \"u{a}.x >= u{b}.x + 0.1\"\n\
                 reset = {{ \"u{a}.x\" = \"u{a}.x - 0.2\", \"u{a}.n\" = \"u{a}.n + 1\" }}\n"
            );
        }
        out
    }

    fn unit(&self, k: usize, out: &mut String) {
        let node = &self.nodes[k];
        let unit = format!("u{k}");
        let fault = self.fault.filter(|f| f.0 == k).map(|f| f.1);
        let at = self.stop * 7 / 10;
        let (own, fails) = fault.map_or_else(
            || (node.own.to_owned(), String::new()),
            |fault| fault.text(&unit, node.own, at),
        );
        let (follows, factor) = node.follows;
        let heard = self.nodes[follows].start;
        let _ = write!(
            out,
            "\n[unit.{unit}]\nkind = \"equations\"\nstates = {{ x = {} }}\n\
             discrete = {{ n = 0, m = 0, k = 0, z = 0 }}\ninputs = {{ a = {heard}, c = 0 }}\n\
             derivatives = {{ x = \"{own} + {factor}*a\" }}\n\
             outputs = {{ x = \"x\", n = \"n\" }}\nmethod = \"{}\"\n\
             exchange_tolerance = {:e}\n",
            node.start,
            node.method.name(),
            self.exchange,
        );
        let mut event = |name: &str, rest: String| {
            let _ = write!(out, "[[unit.{unit}.event]]\nname = \"{name}\"\n{rest}\n");
        };
        if let Some((level, drop)) = node.full {
            let reset = format!("reset = {{ x = \"x - {drop}\", n = \"n + 1\" }}");
            event("full", format!("when = \"x >= {level}\"\n{reset}"));
        }
        if let Some(every) = node.beat {
            let reset = "reset = { x = \"-0.5*x\", n = \"n + 1\" }";
            event("beat", format!("every = \"{every}\"\n{reset}"));
        }
        let on = if node.passes { ", n = \"n + 1\"" } else { "" };
        let reset = format!("reset = {{ m = \"c\", x = \"x + 0.05\"{on} }}");
        event("heard", format!("when = \"c > m\"\n{reset}"));
        out.push_str(&fails);
    }

    /// Smaller webs.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut list = Vec::new();
        let mut edit = |f: &dyn Fn(&mut Self)| edited(self, f, &mut list);
        if self.nodes.len() > 2 {
            (0..self.nodes.len()).for_each(|k| edit(&|web| web.remove(k)));
        }
        edit(&|web| web.link = None);
        edit(&|web| web.fault = None);
        edit(&|web| web.partition = "blocks");
        edit(&|web| web.resolution = "us");
        edit(&|web| web.exchange = 1e-3);
        for k in 0..self.nodes.len() {
            edit(&|web| web.nodes[k].passes = false);
            edit(&|web| web.nodes[k].full = None);
            edit(&|web| web.nodes[k].beat = None);
            edit(&|web| web.nodes[k].own = "0");
            edit(&|web| web.nodes[k].method = Method::Rk45);
        }
        list
    }

    /// Takes a unit out; who heard it hears another one.
    fn remove(&mut self, k: usize) {
        self.nodes.remove(k);
        let count = self.nodes.len();
        let place = |at: usize| if at >= k { at.saturating_sub(1) } else { at };
        for (own, node) in self.nodes.iter_mut().enumerate() {
            let other = |at| if place(at) == own { (own + 1) % count } else { place(at) };
            node.follows.0 = other(node.follows.0);
            node.counts = other(node.counts);
        }
        self.link = self.link.map(|l| l.map(place)).filter(|[a, b]| a != b);
        self.fault = self.fault.filter(|f| f.0 != k).map(|f| (place(f.0), f.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{
        run::{End, Runner},
        settings::Executor,
    };

    /// Webs run to their end but for those with a fault or rounds, and most faults show; most have events.
    #[test]
    fn webs_run_and_fail_as_they_should() {
        let runner = Runner::new().unwrap();
        let (mut failed, mut faults, mut eventful) = (0, 0, 0);
        let mut bad = Vec::new();
        for number in 0..120 {
            let web = web(&mut Random::new(3, number, "web"));
            let run = runner.run(&web.text(), Executor::Sequential);
            let fails = matches!(run.end, End::Failed(..));
            faults += usize::from(web.fault.is_some());
            failed += usize::from(web.fault.is_some() && fails);
            eventful += usize::from(run.events.len() > 5);
            let may_fail = web.fault.is_some() || web.nodes.iter().any(|n| n.passes);
            if run.end != End::Reached && !(fails && may_fail) {
                bad.push(format!("{number} {:?}: {:?}", web.fault, run.end));
            }
        }
        assert!(bad.is_empty(), "{}", bad.join("\n"));
        assert!(2 * failed > faults && eventful > 80, "{failed} of {faults}, {eventful}");
    }
}
