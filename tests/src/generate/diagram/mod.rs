//! Random block diagrams against the same equations in one unit.
//!
//! Blocks tell each other pieces of their solutions, in closed form where they know one. One unit of
//! equations has the formulas of all blocks put into each other. Both come to the same values at the
//! end, but for the tolerances of exchange.
use super::{
    compare,
    random::Random,
    run::{End, Runner},
    settings::Executor,
};
use std::fmt::Write;

/// A block and the blocks whose outputs it hears.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The lines of its unit.
    keys: String,
    /// Its input ports, and the numbers of the blocks that feed them.
    inputs: Vec<(&'static str, usize)>,
    form: Form,
}

/// Its output as a formula, in which `#0`, `#1`, ... are its inputs and `@` is its number; its states with their
/// starts and derivatives.
#[derive(Debug, Clone, PartialEq, Default)]
struct Form {
    output: String,
    states: Vec<(&'static str, f64, String)>,
}

/// A diagram: blocks hear earlier ones at once, and later ones through states only.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagram {
    blocks: Vec<Block>,
}

const STOP: &str = "2.5 s";
/// Values may differ by this share: exchanges are within 1e-9, and loops make some hundred of it.
const BOUND: f64 = 1e-5;
const EXCHANGE: &str = "exchange_tolerance = 1e-9\n";

/// A number with two places.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    ((low + (high - low) * random.uniform()) * 100.0).round() / 100.0
}

fn source(random: &mut Random) -> Block {
    let number = |random: &mut Random| between(random, -2.0, 2.0);
    let (a, b) = (number(random), number(random));
    let (keys, output) = match random.below(5) {
        0 => (format!("kind = 'constant'\nvalue = {a}\n"), format!("({a})")),
        1 => {
            let (f, phase) = (between(random, 0.1, 2.0), between(random, 0.0, 6.0));
            let keys = format!(
                "kind = 'sine'\namplitude = {a}\nfrequency = {f}\nphase = {phase}\noffset = {b}\norder = 9\n{EXCHANGE}"
            );
            (keys, format!("({a}*sin(2*pi*{f}*t + {phase}) + {b})"))
        }
        2 => {
            let (from, length) = (between(random, 0.0, 1.0), between(random, 0.2, 1.0));
            let until = ((from + length) * 100.0).round() / 100.0;
            let keys = format!(
                "kind = 'ramp'\nfrom = '{from} s'\nuntil = '{until} s'\nslope = {a}\nvalue = {b}\n"
            );
            let line =
                format!("if t < {from} then 0 else if t < {until} then t - {from} else {length}");
            (keys, format!("({b} + {a}*({line}))"))
        }
        3 => {
            let at = if random.chance(30) { 0.0 } else { between(random, 0.1, 2.4) };
            let keys = format!("kind = 'step'\nat = '{at} s'\nfrom = {a}\nto = {b}\n");
            (keys, format!("(if t < {at} then {a} else {b})"))
        }
        _ => {
            let period = between(random, 0.4, 1.5);
            let width = (period * between(random, 0.1, 0.9) * 100.0).round() / 100.0;
            let keys = format!(
                "kind = 'pulse'\nperiod = '{period} s'\nwidth = '{width} s'\nlow = {a}\nhigh = {b}\n"
            );
            (keys, format!("(if mod(t, {period}) < {width} then {b} else {a})"))
        }
    };
    Block { keys, inputs: Vec::new(), form: Form { output, ..Form::default() } }
}

/// Block `own` with states, whose input is any other of `count` blocks.
fn dynamic(random: &mut Random, own: usize, count: usize) -> Block {
    let start = between(random, -2.0, 2.0);
    let mut form = Form { output: "x@".into(), ..Form::default() };
    let keys = match random.below(3) {
        0 => {
            form.states.push(("x", start, "#0".into()));
            format!("kind = 'integrator'\ninitial = {start}\n{EXCHANGE}")
        }
        1 => {
            let (time, gain) = (between(random, 0.05, 2.0), between(random, -2.0, 2.0));
            form.states.push(("x", start, format!("({gain}*#0 - x@)/{time}")));
            let order = random.pick(&[3, 9, 12]);
            format!(
                "kind = 'first-order'\ninitial = {start}\ntime_constant = {time}\ngain = {gain}\norder = {order}\n{EXCHANGE}"
            )
        }
        _ => {
            let (a1, a0, b) =
                (between(random, 0.2, 3.0), between(random, 0.5, 9.0), between(random, -3.0, 3.0));
            form.states.push(("x", 0.0, "w@".into()));
            form.states.push(("w", 0.0, format!("#0 - {a1}*w@ - {a0}*x@")));
            form.output = format!("({b}*x@)");
            format!(
                "kind = 'transfer-function'\nnumerator = [{b}]\ndenominator = [1, {a1}, {a0}]\ntolerance = 1e-11\n{EXCHANGE}"
            )
        }
    };
    let other = (own + 1 + random.below(count - 1)) % count;
    Block { keys, inputs: vec![("u", other)], form }
}

/// A block without delay, which hears those before it.
fn direct(random: &mut Random, before: usize) -> Block {
    let mut one = || random.below(before);
    let inputs = [one(), one(), one()];
    let g = between(random, -2.0, 2.0);
    let (keys, ports, output): (String, &[&'static str], String) = match random.below(6) {
        0 => (format!("kind = 'gain'\ngain = {g}\n"), &["u"], format!("({g}*#0)")),
        1 => (format!("kind = 'offset'\noffset = {g}\n"), &["u"], format!("({g} + #0)")),
        2 => ("kind = 'sum'\nsigns = '+-'\n".into(), &["u1", "u2"], "(#0 - #1)".into()),
        3 => (format!("kind = 'product'\norder = 9\n{EXCHANGE}"), &["u1", "u2"], "(#0*#1)".into()),
        4 => {
            // No start value: a signal that leaves a threshold slowly is a question of tolerances.
            let g = g + 0.003;
            let keys = format!("kind = 'switch'\nby = 'signal'\nthreshold = {g}\n");
            (keys, &["u1", "u2", "select"], format!("(if #2 >= {g} then #0 else #1)"))
        }
        _ => {
            let (kp, ki) = (between(random, -1.0, 2.0), between(random, 0.0, 2.0));
            let keys = format!("kind = 'pid'\nkp = {kp}\nki = {ki}\norder = 9\n{EXCHANGE}");
            let output = format!("({kp}*(#0 - #1) + {ki}*i@)");
            let form = Form { output, states: vec![("i", 0.0, "#0 - #1".into())] };
            let inputs = vec![("reference", inputs[0]), ("measured", inputs[1])];
            return Block { keys, inputs, form };
        }
    };
    let inputs = ports.iter().copied().zip(inputs).collect();
    Block { keys, inputs, form: Form { output, states: Vec::new() } }
}

/// The random diagram of a number.
pub fn diagram(seed: u64, number: u64) -> Diagram {
    let random = &mut Random::new(seed, number, "diagram");
    let (sources, dynamics, directs) =
        (1 + random.below(3), 1 + random.below(4), 1 + random.below(4));
    let count = sources + dynamics + directs;
    let mut blocks: Vec<Block> = (0..sources).map(|_| source(random)).collect();
    blocks.extend((sources..sources + dynamics).map(|own| dynamic(random, own, count)));
    for before in sources + dynamics..count {
        blocks.push(direct(random, before));
    }
    Diagram { blocks }
}

impl Diagram {
    /// The scenario of blocks.
    pub fn text(&self) -> String {
        let each = self.blocks.iter().enumerate();
        let wires = each.clone().flat_map(|(k, block)| {
            block.inputs.iter().map(move |(port, from)| format!("'b{from}.y -> b{k}.{port}'"))
        });
        let wires: Vec<_> = wires.collect();
        let outputs: Vec<_> = each.clone().map(|(k, _)| format!("'b{k}.y'")).collect();
        let mut text = format!(
            "stop = '{STOP}'\nrecord = [{}]\nconnections = [{}]\n",
            outputs.join(", "),
            wires.join(", ")
        );
        for (k, block) in each {
            let _ = write!(text, "[unit.b{k}]\n{}", block.keys);
        }
        text
    }

    /// A formula of block `k` with the outputs of others put in.
    fn formula(&self, k: usize, form: &str) -> String {
        let mut text = form.replace('@', &k.to_string());
        for (n, (_, from)) in self.blocks[k].inputs.iter().enumerate() {
            let place = format!("#{n}");
            if text.contains(&place) {
                let output = self.formula(*from, &self.blocks[*from].form.output);
                text = text.replace(&place, &output);
            }
        }
        text
    }

    /// The scenario of one unit.
    pub fn whole(&self) -> String {
        let each = self.blocks.iter().enumerate();
        let (mut states, mut derivatives) = (Vec::new(), Vec::new());
        for (k, block) in each.clone() {
            for (name, start, derivative) in &block.form.states {
                states.push(format!("{name}{k} = {start}"));
                derivatives.push(format!("{name}{k} = '{}'", self.formula(k, derivative)));
            }
        }
        let outputs = each.map(|(k, b)| format!("y{k} = '{}'", self.formula(k, &b.form.output)));
        let outputs: Vec<_> = outputs.collect();
        let names: Vec<_> = (0..self.blocks.len()).map(|k| format!("'m.y{k}'")).collect();
        format!(
            "stop = '{STOP}'\nrecord = [{}]\n[unit.m]\nkind = 'equations'\nmethod = 'rk45'\ntolerance = 1e-11\n\
             absolute_tolerance = 1e-12\nstates = {{ {} }}\nderivatives = {{ {} }}\noutputs = {{ {} }}\n",
            names.join(", "),
            states.join(", "),
            derivatives.join(", "),
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

    /// What is wrong about the blocks, if the whole comes to its end.
    pub fn mistake(&self, runner: &Runner) -> Option<String> {
        let right = runner.run(&self.whole(), Executor::Sequential);
        if right.end != End::Reached {
            return None;
        }
        let run = runner.run(&self.text(), Executor::Sequential);
        match run.end {
            End::Reached => {}
            // What grows without bounds needs messages without bounds.
            End::Cut(_) => return None,
            _ => return Some(compare::summary(&run)),
        }
        let mut pairs = run.values.iter().zip(&right.values).enumerate();
        let (k, (seen, right)) = pairs.find(|(_, (a, b))| !compare::near(**a, **b, BOUND))?;
        Some(format!("block {k} ends at {seen}, by one unit at {right}"))
    }
}
