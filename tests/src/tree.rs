//! Descriptions of coupled models, for the kernel and for the reference simulator alike.
use crate::{
    choices::Choices,
    machine::{Machine, On},
    parts::{Accumulator, Gen, Proc, Queue, Relay, Toggle},
    unit::{Unit, input, output},
};
use std::fmt;
use superdense_kernel::{
    Component, Coupled, Options, Simulation,
    nested::Nested,
    port::{InPort, OutPort},
    time::Duration,
};

/// An atomic model.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "named as what they hold")]
pub enum Part {
    Gen(Gen),
    Proc(Proc),
    Queue(Queue),
    Relay(Relay),
    Accumulator(Accumulator),
    Toggle(Toggle),
}

macro_rules! each {
    ($part:expr, $m:ident => $body:expr) => {
        match $part {
            Part::Gen($m) => $body,
            Part::Proc($m) => $body,
            Part::Queue($m) => $body,
            Part::Relay($m) => $body,
            Part::Accumulator($m) => $body,
            Part::Toggle($m) => $body,
        }
    };
}

fn ports_of<T: Machine>(_: &T) -> (u16, u16) {
    (T::INPUTS, T::OUTPUTS)
}

#[allow(missing_docs, reason = "the machine's own functions")]
impl Part {
    pub fn ports(&self) -> (u16, u16) {
        each!(self, m => ports_of(m))
    }
    pub fn advance(&self) -> i64 {
        each!(self, m => m.advance())
    }
    pub fn output(&self) -> Vec<On> {
        each!(self, m => m.output())
    }
    pub fn internal(&mut self) {
        each!(self, m => m.internal());
    }
    pub fn external(&mut self, elapsed: i64, bag: &[On]) {
        each!(self, m => m.external(elapsed, bag));
    }
    pub fn confluent(&mut self, bag: &[On]) {
        each!(self, m => m.confluent(bag));
    }
    /// Changes every delay.
    pub fn map_delay(&mut self, f: impl Fn(i64) -> i64) {
        match self {
            Self::Gen(m) => m.period = f(m.period),
            Self::Proc(m) => m.delay = f(m.delay),
            Self::Queue(m) => m.service = f(m.service),
            Self::Relay(m) => m.delay = f(m.delay),
            Self::Toggle(m) => m.delay = f(m.delay),
            Self::Accumulator(m) => m.delay = f(m.delay),
        }
    }
    /// Elapsed times that the kernel passed to the model at `path`.
    pub fn elapsed(&self, sim: &Simulation<i64>, path: &str) -> Vec<i64> {
        fn of<T: Machine>(_: &T, sim: &Simulation<i64>, path: &str) -> Vec<i64> {
            sim.model::<Unit<T>>(path).map(|u| u.elapsed.clone()).unwrap_or_default()
        }
        each!(self, m => of(m, sim, path))
    }
    fn component(self, elapsed: i64) -> Component<i64> {
        let elapsed = Duration::from_ticks(elapsed);
        each!(self, m => Component::with_elapsed(Unit::new(m), elapsed))
    }
}

/// One step of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as what they do")]
pub enum Step {
    Id,
    Plus(i64),
    Times(i64),
    Drop,
}

impl Step {
    /// Applies it.
    pub fn apply(self, v: i64) -> Option<i64> {
        match self {
            Self::Id => Some(v),
            Self::Plus(d) => Some(v.wrapping_add(d)),
            Self::Times(k) => Some(v.wrapping_mul(k)),
            Self::Drop => None,
        }
    }
}

/// A translation function with its name; none is the plain wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Z {
    /// The name.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// A port of a child, or of the coupled model itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Index into `children`.
    pub child: Option<usize>,
    /// Port number.
    pub port: u16,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.child {
            Some(child) => write!(f, "{child}.{}", self.port),
            None => write!(f, "own.{}", self.port),
        }
    }
}

/// A coupling.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    /// Start.
    pub from: End,
    /// End.
    pub to: End,
    /// Translation.
    pub z: Option<Z>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let z = self.z.as_ref().map_or("", |z| &z.name);
        write!(f, "{:?} -> {:?} {z}", self.from, self.to)
    }
}

/// A child.
#[derive(Clone)]
#[allow(missing_docs, reason = "plain data")]
pub enum Node {
    Part { part: Part, elapsed: i64 },
    Tree(Tree),
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { part, elapsed } => write!(f, "{part:?} after {elapsed}"),
            Self::Tree(tree) => tree.fmt(f),
        }
    }
}

impl Node {
    /// Numbers of inputs and outputs.
    pub fn ports(&self) -> (u16, u16) {
        match self {
            Self::Part { part, .. } => part.ports(),
            Self::Tree(t) => (t.inputs, t.outputs),
        }
    }
}

/// A coupled model.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Number of input ports.
    pub inputs: u16,
    /// Number of output ports.
    pub outputs: u16,
    /// Children with their names.
    pub children: Vec<(String, Node)>,
    /// Couplings.
    pub links: Vec<Link>,
}

impl Tree {
    /// For the kernel.
    pub fn build(&self) -> Coupled<i64> {
        self.build_nesting(None)
    }

    /// For the kernel, with one child (a coupled model) as a simulation of its own.
    ///
    /// # Panics
    /// When that child cannot be built.
    pub fn build_nesting(&self, nested: Option<usize>) -> Coupled<i64> {
        let mut c = Coupled::new();
        for i in 0..self.inputs {
            c.add_input::<i64>(format!("in{i}"));
        }
        for i in 0..self.outputs {
            c.add_output::<i64>(format!("out{i}"));
        }
        let add = |(i, (name, node)): (usize, &(String, Node))| match node {
            Node::Tree(t) if nested == Some(i) => {
                let inner = Simulation::new(t.build(), Options::default()).expect("a legal model");
                c.add(name.clone(), Nested::new(inner).expect("a fresh simulation")).any()
            }
            Node::Part { part, elapsed } => {
                c.add_component(name.clone(), part.clone().component(*elapsed))
            }
            Node::Tree(t) => c.add_component(name.clone(), t.build()),
        };
        let children: Vec<_> = self.children.iter().enumerate().map(add).collect();
        for l in &self.links {
            let from = match l.from.child {
                None => InPort::<i64>::new(l.from.port).inside(),
                Some(i) => children[i].output(output(l.from.port)),
            };
            let to = match l.to.child {
                None => OutPort::<i64>::new(l.to.port).inside(),
                Some(i) => children[i].input(input(l.to.port)),
            };
            match l.z.clone() {
                None => c.couple(from, to),
                Some(z) => c.couple_with(from, to, z.name, move |&v: &i64| {
                    z.steps.iter().try_fold(v, |v, s| s.apply(v))
                }),
            }
        }
        c
    }

    /// The coupled model at a path of child indices.
    pub fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |t, &i| match &t.children[i].1 {
            Node::Tree(t) => t,
            Node::Part { .. } => t,
        })
    }

    /// Applies `f` to every atomic model and its elapsed time.
    pub fn each_part(&mut self, f: &mut impl FnMut(&mut Part, &mut i64)) {
        for (_, node) in &mut self.children {
            match node {
                Node::Part { part, elapsed } => f(part, elapsed),
                Node::Tree(t) => t.each_part(f),
            }
        }
    }

    /// The model with children and couplings declared in another order.
    #[must_use]
    pub fn shuffled(&self, ch: &mut Choices) -> Self {
        let mut order: Vec<usize> = (0..self.children.len()).collect();
        ch.shuffle(&mut order);
        let children = order.iter().map(|&i| {
            let (name, node) = &self.children[i];
            let node = match node {
                Node::Tree(t) => Node::Tree(t.shuffled(ch)),
                part => part.clone(),
            };
            (name.clone(), node)
        });
        let children = children.collect();
        let end = |e: End| {
            let place = |c| order.iter().position(|&i| i == c).unwrap_or(0);
            End { child: e.child.map(place), ..e }
        };
        let link = |l: &Link| Link { from: end(l.from), to: end(l.to), z: l.z.clone() };
        let mut links: Vec<Link> = self.links.iter().map(link).collect();
        ch.shuffle(&mut links);
        Self { children, links, ..*self }
    }

    /// The model with one child, chosen on the way down, put into a coupled model of its own.
    /// Returns its path as it was, too.
    #[must_use]
    pub fn wrapped(&self, ch: &mut Choices) -> (Self, String) {
        let mut tree = self.clone();
        let i = ch.index(tree.children.len());
        let (name, node) = &mut tree.children[i];
        if let Node::Tree(t) = node
            && !t.children.is_empty()
            && ch.one_in(2)
        {
            let (inner, path) = t.wrapped(ch);
            *t = inner;
            let path = format!("{name}/{path}");
            return (tree, path);
        }
        let (inputs, outputs) = node.ports();
        let inner = std::mem::replace(node, Node::Tree(Self::default()));
        let through = |port, into: bool| {
            let (own, child) = (End { child: None, port }, End { child: Some(0), port });
            let (from, to) = if into { (own, child) } else { (child, own) };
            Link { from, to, z: None }
        };
        let links = (0..inputs).map(|p| through(p, true));
        let links = links.chain((0..outputs).map(|p| through(p, false))).collect();
        let children = vec![("core".to_owned(), inner)];
        *node = Node::Tree(Self { inputs, outputs, children, links });
        let name = name.clone();
        (tree, name)
    }

    /// A random model: depth at most 4, at most `budget` atomic models.
    pub fn random(ch: &mut Choices, depth: u32, budget: &mut u32) -> Self {
        let mut tree =
            Self { inputs: ch.below(3) as u16, outputs: ch.below(3) as u16, ..Self::default() };
        let wanted = 2 + ch.index(5);
        for i in 0..wanted {
            if *budget == 0 {
                break;
            }
            // Numeric order (m[10] after m[9]) and stems out of the order of declaration.
            let name = match ch.below(3) {
                0 => format!("m[{}]", 12 - i),
                1 => format!("{}part", (b'z' - i as u8) as char),
                _ => format!("c[{}]", i * 5),
            };
            let node = if depth > 1 && ch.one_in(3) {
                Node::Tree(Self::random(ch, depth - 1, budget))
            } else {
                *budget -= 1;
                random_part(ch)
            };
            tree.children.push((name, node));
        }
        let starts = tree.ends(true);
        let ends = tree.ends(false);
        if starts.is_empty() || ends.is_empty() {
            return tree;
        }
        for _ in 0..1 + ch.index(3 * tree.children.len()) {
            let (from, to) = (starts[ch.index(starts.len())], ends[ch.index(ends.len())]);
            let z = random_z(ch);
            let legal = from.child != to.child;
            let name = |z: &Option<Z>| z.as_ref().map(|z| z.name.clone());
            let same = |l: &Link| l.from == from && l.to == to && name(&l.z) == name(&z);
            if legal && !tree.links.iter().any(same) {
                tree.links.push(Link { from, to, z });
            }
        }
        tree
    }

    fn ends(&self, starts: bool) -> Vec<End> {
        let own = if starts { self.inputs } else { self.outputs };
        let mut ends: Vec<End> = (0..own).map(|port| End { child: None, port }).collect();
        for (i, (_, node)) in self.children.iter().enumerate() {
            let (inputs, outputs) = node.ports();
            let count = if starts { outputs } else { inputs };
            ends.extend((0..count).map(|port| End { child: Some(i), port }));
        }
        ends
    }
}

fn random_z(ch: &mut Choices) -> Option<Z> {
    let z = |name: &str, step| Some(Z { name: name.to_owned(), steps: vec![step] });
    match ch.below(8) {
        0 => z("id", Step::Id),
        1 => z("plus", Step::Plus(1)),
        2 => z("double", Step::Times(2)),
        3 => z("drop", Step::Drop),
        _ => None,
    }
}

fn random_part(ch: &mut Choices) -> Node {
    let delay = i64::from(ch.below(21));
    let part = match ch.below(8) {
        0 | 1 => {
            let left =
                if delay > 0 && ch.one_in(2) { u64::MAX } else { 1 + u64::from(ch.below(5)) };
            Part::Gen(Gen { period: delay, value: i64::from(ch.below(9)), left })
        }
        2 => Part::Gen(Gen { period: delay.max(1), value: i64::from(ch.below(9)), left: u64::MAX }),
        3 => Part::Proc(Proc::new(delay)),
        4 => Part::Queue(Queue::new(delay)),
        5 => Part::Relay(Relay::new(delay)),
        6 => Part::Accumulator(Accumulator::new()),
        _ => Part::Toggle(Toggle::new(delay)),
    };
    let first = part.advance();
    let elapsed = if first < 100 { i64::from(ch.below(first as u32 + 1)) } else { 0 };
    Node::Part { part, elapsed }
}
