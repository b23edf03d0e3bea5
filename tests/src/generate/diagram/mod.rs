//! Random block diagrams against the same equations in one unit.
//!
//! Blocks tell each other pieces of their solutions, in closed form where they know one. One unit of
//! equations has the formulas of all blocks put into each other. Both come to the same values at the
//! end, but for the tolerances of exchange.
mod parts;

use super::{
    compare,
    random::Random,
    run::{End, Runner},
    settings::Executor,
};
use std::fmt::Write;

/// A block and the blocks whose outputs it hears. `@` stands for its number.
#[derive(Debug, Clone, PartialEq, Default)]
struct Block {
    /// The lines of its unit, and of another one that belongs to it.
    keys: String,
    /// Its input ports, and the numbers of the blocks that feed them.
    inputs: Vec<(&'static str, usize)>,
    /// The connection between its two units.
    wires: String,
    form: Form,
    /// Its jumps come by ways of different lengths, and so in several micro-steps.
    joined: bool,
}

/// A block in one unit with all others: formulas in which `#0`, `#1`, ... are its inputs.
#[derive(Debug, Clone, PartialEq, Default)]
struct Form {
    output: String,
    /// Names, starts and derivatives.
    states: Vec<(&'static str, String, String)>,
    /// The start of its discrete variable `d`.
    discrete: Option<String>,
    /// Tables of events, whose heads stand between them.
    events: String,
    /// Its input comes later.
    delayed: Option<Delayed>,
}

/// A delay in seconds, and the value before.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Delayed {
    by: f64,
    before: f64,
}

/// A diagram: blocks hear earlier ones at once, and later ones through states only.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagram {
    blocks: Vec<Block>,
}

const STOP: &str = "2.5 s";
/// Values may differ by this share: exchanges are within 1e-9, and loops make some hundred of it.
const BOUND: f64 = 1e-5;

/// A block beyond this has grown without bounds.
const LARGE: f64 = 1e3;

/// A formula in which each name has been replaced.
fn renamed(formula: &str, name: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for c in formula.chars().chain(Some(' ')) {
        if c.is_ascii_alphanumeric() || c == '.' {
            word.push(c);
            continue;
        }
        text += &name(&word).unwrap_or_else(|| word.clone());
        word.clear();
        text.push(c);
    }
    text.trim_end().to_owned()
}

/// The random diagram of a number.
pub fn diagram(seed: u64, number: u64) -> Diagram {
    let random = &mut Random::new(seed, number, "diagram");
    let (sources, delays) = (1 + random.below(3), random.below(2));
    let (dynamics, directs) = (1 + random.below(4), 1 + random.below(5));
    let count = sources + delays + dynamics + directs;
    let mut blocks: Vec<Block> = (0..sources).map(|_| parts::source(random)).collect();
    blocks.extend((0..delays).map(|_| parts::delayed(random, sources)));
    blocks.extend((0..dynamics).map(|k| parts::dynamic(random, sources + delays + k, count)));
    while blocks.len() < count {
        let mut block = parts::direct(random, &blocks);
        block.joined =
            block.inputs.len() > 1 || block.inputs.iter().any(|(_, from)| blocks[*from].joined);
        blocks.push(block);
    }
    Diagram { blocks }
}

impl Diagram {
    /// The scenario of blocks.
    pub fn text(&self) -> String {
        let each = self.blocks.iter().enumerate();
        let wires = each.clone().flat_map(|(k, block)| {
            let own = Some(&block.wires).filter(|w| !w.is_empty()).map(|w| numbered(w, k));
            let wire =
                move |(port, from): &(&str, usize)| format!("'b{from}.y -> {}'", numbered(port, k));
            block.inputs.iter().map(wire).chain(own)
        });
        let wires: Vec<_> = wires.collect();
        let outputs: Vec<_> = each.clone().map(|(k, _)| format!("'b{k}.y'")).collect();
        let mut text = format!(
            "stop = '{STOP}'\nrecord = [{}]\nconnections = [{}]\n",
            outputs.join(", "),
            wires.join(", ")
        );
        for (k, block) in each {
            let _ = write!(text, "[unit.b{k}]\n{}", numbered(&block.keys, k));
        }
        text
    }

    /// A formula of block `k` with the outputs of others put in.
    fn formula(&self, k: usize, form: &str) -> String {
        let block = &self.blocks[k];
        let mut text = numbered(form, k);
        for (n, (_, from)) in block.inputs.iter().enumerate() {
            let place = format!("#{n}");
            if text.contains(&place) {
                let mut output = self.formula(*from, &self.blocks[*from].form.output);
                if let Some(Delayed { by, before }) = block.form.delayed {
                    let later = renamed(&output, |w| (w == "t").then(|| format!("(t - {by})")));
                    output = format!("(if t < {by} then {before} else {later})");
                }
                text = text.replace(&place, &output);
            }
        }
        text
    }

    /// A formula of block `k` at the start.
    fn start(&self, k: usize, form: &str) -> String {
        let formula = self.formula(k, form);
        renamed(&formula, |word| {
            if word == "t" {
                return Some("0".into());
            }
            let own = |(k, block): (usize, &Block)| {
                let state = |s: &&(&str, String, String)| format!("{}{k}", s.0) == word;
                let state = block.form.states.iter().find(state).map(|s| s.1.as_str());
                let discrete = block.form.discrete.as_deref().filter(|_| format!("d{k}") == word);
                state.or(discrete).map(|start| format!("({})", self.start(k, start)))
            };
            self.blocks.iter().enumerate().find_map(own)
        })
    }

    /// The scenario of one unit, solved to this tolerance.
    pub fn whole(&self, tolerance: f64) -> String {
        let each = self.blocks.iter().enumerate();
        let (mut states, mut rates, mut discrete) = (Vec::new(), Vec::new(), Vec::new());
        let mut events = String::new();
        for (k, block) in each.clone() {
            for (name, start, rate) in &block.form.states {
                states.push(format!("{name}{k} = '{}'", self.start(k, start)));
                rates.push(format!("{name}{k} = '{}'", self.formula(k, rate)));
            }
            if let Some(start) = &block.form.discrete {
                discrete.push(format!("d{k} = '{}'", self.start(k, start)));
            }
            if !block.form.events.is_empty() {
                events += &format!("[[unit.m.event]]\n{}", self.formula(k, &block.form.events));
            }
        }
        let outputs = each.map(|(k, b)| format!("y{k} = '{}'", self.formula(k, &b.form.output)));
        let outputs: Vec<_> = outputs.collect();
        let names: Vec<_> = (0..self.blocks.len()).map(|k| format!("'m.y{k}'")).collect();
        format!(
            "stop = '{STOP}'\nrecord = [{}]\n[unit.m]\nkind = 'equations'\nmethod = 'rk45'\n\
             tolerance = {tolerance:e}\nabsolute_tolerance = {:e}\nstates = {{ {} }}\ndiscrete = {{ {} }}\n\
             derivatives = {{ {} }}\noutputs = {{ {} }}\n{events}",
            names.join(", "),
            tolerance / 10.0,
            states.join(", "),
            discrete.join(", "),
            rates.join(", "),
            outputs.join(", ")
        )
    }

    /// Diagrams without one block, whose receivers hear the first source.
    pub fn smaller(&self) -> Vec<Self> {
        let without = |gone: usize| {
            let mut blocks = self.blocks.clone();
            blocks.remove(gone);
            for input in blocks.iter_mut().flat_map(|b| &mut b.inputs) {
                input.1 = match input.1 {
                    from if from == gone => 0,
                    from if from > gone => from - 1,
                    from => from,
                };
            }
            Self { blocks }
        };
        (1..self.blocks.len()).rev().map(without).collect()
    }

    /// The first block that ends elsewhere, with both values.
    fn apart(a: &[f64], b: &[f64], bound: f64) -> Option<(usize, f64, f64)> {
        let mut pairs = a.iter().zip(b).enumerate();
        let (k, (a, b)) = pairs.find(|(_, (a, b))| !compare::near(**a, **b, bound))?;
        Some((k, *a, *b))
    }

    /// The mistake of the blocks, if the whole comes to its end.
    pub fn mistake(&self, runner: &Runner) -> Option<String> {
        let right = runner.run(&self.whole(1e-11), Executor::Sequential);
        if right.end != End::Reached {
            return None;
        }
        let run = runner.run(&self.text(), Executor::Sequential);
        match run.end {
            End::Reached => {}
            // Values that grow without bounds need messages without bounds.
            End::Cut(_) => return None,
            End::Hung if right.values.iter().any(|x| x.abs() > LARGE) => return None,
            _ => return Some(compare::summary(&run)),
        }
        let (k, seen, right_value) = Self::apart(&run.values, &right.values, BOUND)?;
        // Events that hang by a hair are not for this judge.
        let rough = runner.run(&self.whole(1e-7), Executor::Sequential);
        let certain = rough.end == End::Reached
            && Self::apart(&rough.values, &right.values, 0.1 * BOUND).is_none();
        certain.then(|| format!("block {k} ends at {seen}, by one unit at {right_value}"))
    }
}

fn numbered(text: &str, k: usize) -> String {
    text.replace('@', &k.to_string())
}
