//! Who depends on whom, and where answers come at the same instant.
//!
//! Nodes are output ports; an output is followed at once by another where a connection leads to a unit
//! that passes messages on at once ([`feed_through`](superdense_models::kinds::feed_through)). Rings in
//! this graph are *algebraic loops* where all values are functions of each other, and else *loops
//! without delay*, in which each message may bring about the next one for ever (a model in which
//! that happens is not legitimate: Zeigler, Praehofer and Kim, Theory of Modeling and Simulation).
//! Whether it does happen depends on values. Shared events are not looked into: each of them ends in
//! three micro-steps.
use super::{
    coupling,
    loops::{context, feed_through, rings},
    session::Session,
    tree::{Tree, Unit, dotted},
};
use superdense_models::kinds::{PortKind, feed_through::Passing};

/// The dependencies of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Units, in the order of the text; adapters and masters of couplings are hidden.
    pub units: Vec<Node>,
    /// Connections between them.
    pub edges: Vec<Edge>,
    /// One loop for each set of outputs that follow each other at once.
    pub loops: Vec<Loop>,
}

/// A unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its path.
    pub path: String,
    /// Its kind.
    pub kind: &'static str,
    /// Not declared as a unit.
    pub hidden: bool,
    /// Inputs and outputs between which it passes messages on at once.
    pub at_once: Vec<(String, String, Passing)>,
    /// Events with a condition that nothing can ever change.
    pub idle: Vec<String>,
}

/// A connection: unit and port.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Where it comes from.
    pub from: (u32, String),
    /// Where it leads to.
    pub to: (u32, String),
    /// Signal or event.
    pub kind: PortKind,
}

/// A ring of outputs that follow each other at the same instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// A shortest ring, such as `a.y -> b.u`, `b.y -> a.u via hold`.
    pub path: Vec<String>,
    /// The edges as numbers of connections.
    pub edges: Vec<u32>,
    /// Numbers of its units.
    pub units: Vec<u32>,
    /// How many outputs are in this and in other rings with them.
    pub outputs: usize,
    /// Each value is a function of the next one.
    pub algebraic: bool,
    /// The effect of the coupling that it passes through, if there is one.
    pub coupling: Option<&'static str>,
}

impl Loop {
    /// Its kind, in words.
    pub fn name(&self) -> &'static str {
        if self.algebraic { "algebraic loop" } else { "loop without delay" }
    }
}

/// The graph of a scenario without mistakes.
pub(super) fn graph(tree: &Tree, session: &Session) -> Graph {
    let mut ports = vec![0u32];
    for unit in &tree.units {
        ports.push(ports[ports.len() - 1] + unit.ports.outputs.len() as u32);
    }
    let is_master = |u: u32| tree.units[u as usize].kind.name() == "coupling";
    let all = 0..tree.units.len() as u32;
    let passed: Vec<Vec<(u16, u16, Passing)>> = all
        .map(|u| {
            let unit = &tree.units[u as usize];
            let (inputs, outputs) = (unit.ports.inputs.len(), unit.ports.outputs.len());
            match is_master(u) {
                true => (0..outputs as u16).map(|k| (k, k, Passing::Value)).collect(),
                false => feed_through(tree, u, session).pairs(inputs, outputs),
            }
        })
        .collect();
    let mut search = Search { tree, ports, passed, edges: Vec::new(), next: Vec::new() };
    let edges = search.edges();
    search.follow();
    // Rings that pass through a master end at an exchange; those that do not come first.
    let mut loops = search.loops(&|u| !is_master(u));
    let through = search.loops(&|_| true);
    loops.extend(through.into_iter().filter(|l| l.coupling.is_some()));
    let node = |(u, pairs): (u32, &Vec<(u16, u16, Passing)>)| {
        let unit = &tree.units[u as usize];
        let name =
            |list: &[superdense_models::kinds::PortSpec], k: u16| list[usize::from(k)].name.clone();
        let pairs = pairs
            .iter()
            .filter(|_| !is_master(u))
            .map(|&(i, o, how)| (name(&unit.ports.inputs, i), name(&unit.ports.outputs, o), how));
        Node {
            path: dotted(&unit.path),
            kind: unit.kind.name(),
            hidden: unit.hidden,
            at_once: pairs.collect(),
            idle: context(unit, session, |context| unit.kind.idle_events(&unit.params, context)),
        }
    };
    Graph { units: (0..).zip(&search.passed).map(node).collect(), edges, loops }
}

/// A connection between ports of units.
type Wire = ((u32, u16), (u32, u16));

struct Search<'a> {
    tree: &'a Tree,
    /// The number of the first output of each unit.
    ports: Vec<u32>,
    passed: Vec<Vec<(u16, u16, Passing)>>,
    edges: Vec<Wire>,
    /// By output: those that follow at once, how, and by which connection.
    next: Vec<Vec<(u32, Passing, u32)>>,
}

impl Search<'_> {
    /// Collects connections; those that links need are none.
    fn edges(&mut self) -> Vec<Edge> {
        for (at, g) in self.tree.groups.iter().enumerate() {
            for w in g.wires.iter().filter(|w| w.connection.is_some()) {
                let Some(from) = self.tree.origin(at as u32, w.from) else { continue };
                let targets = self.tree.targets(at as u32, w.to);
                self.edges.extend(targets.into_iter().map(|to| (from, to)));
            }
        }
        self.edges.sort_unstable();
        let edge = |&((from, output), (to, input)): &Wire| {
            let (source, target) = (&self.tree.units[from as usize], &self.tree.units[to as usize]);
            let output = &source.ports.outputs[usize::from(output)];
            let input = &target.ports.inputs[usize::from(input)];
            Edge {
                from: (from, output.name.clone()),
                to: (to, input.name.clone()),
                kind: output.kind,
            }
        };
        self.edges.iter().map(edge).collect()
    }

    fn follow(&mut self) {
        let total = self.ports[self.ports.len() - 1] as usize;
        self.next = vec![Vec::new(); total];
        for (number, &((from, output), (to, input))) in (0..).zip(&self.edges) {
            let list = &mut self.next[self.ports[from as usize] as usize + usize::from(output)];
            for &(_, after, how) in self.passed[to as usize].iter().filter(|p| p.0 == input) {
                list.push((self.ports[to as usize] + u32::from(after), how, number));
            }
        }
    }

    /// Rings through units of some sort.
    fn loops(&self, through: &dyn Fn(u32) -> bool) -> Vec<Loop> {
        let unit = |number: u32| self.edges[number as usize].1.0;
        let next = self.next.iter().map(|list| {
            let list = list.iter().filter(|(_, _, number)| through(unit(*number)));
            list.map(|(to, ..)| *to).collect()
        });
        let next: Vec<Vec<u32>> = next.collect();
        rings(&next).into_iter().map(|(ring, outputs)| self.told(&ring, outputs)).collect()
    }

    fn told(&self, ring: &[u32], outputs: usize) -> Loop {
        let (mut edges, mut units) = (Vec::new(), Vec::new());
        let (mut algebraic, mut coupling) = (true, None);
        for (k, &port) in ring.iter().enumerate() {
            let to = ring[(k + 1) % ring.len()];
            let mut steps = self.next[port as usize].iter().filter(|step| step.0 == to);
            let Some(&(_, how, number)) = steps.clone().min_by_key(|s| s.1).or(steps.next()) else {
                continue;
            };
            let ((from, output), (to, _)) = self.edges[number as usize];
            let (source, target) = (self.unit(from), self.unit(to));
            edges.push(number);
            units.push(from);
            let signal = source.ports.outputs[usize::from(output)].kind == PortKind::Signal;
            algebraic &= signal && how != Passing::Sometimes;
            coupling = coupling.or(coupling::breaks(target));
        }
        Loop { path: self.path(&edges), edges, units, outputs, algebraic, coupling }
    }

    fn unit(&self, number: u32) -> &Unit {
        &self.tree.units[number as usize]
    }

    /// Connections of a ring as a scenario writes them.
    fn path(&self, ring: &[u32]) -> Vec<String> {
        let declared = |&edge: &u32| !self.unit(self.edges[edge as usize].0.0).hidden;
        let first = ring.iter().position(declared).unwrap_or(0);
        let (mut path, mut source, mut via) = (Vec::new(), String::new(), String::new());
        for k in 0..ring.len() {
            let ((from, output), (to, input)) = self.edges[ring[(first + k) % ring.len()] as usize];
            let (from, to) = (self.unit(from), self.unit(to));
            if source.is_empty() {
                let output = &from.ports.outputs[usize::from(output)].name;
                source = format!("{}.{output}", dotted(&from.path));
            }
            if to.hidden {
                via.push_str(&format!(" via {}", to.kind.name()));
                continue;
            }
            let input = &to.ports.inputs[usize::from(input)].name;
            path.push(format!("{source} -> {}.{input}{via}", dotted(&to.path)));
            (source, via) = (String::new(), String::new());
        }
        path
    }
}
