//! Random small coupled units under random masters, against the same equations in one unit.
//!
//! A master that tells receivers polynomials of degree k makes an error of order k + 1 in the macro
//! step; every master comes to the solution of the whole as the step falls.
use super::{
    random::Random,
    run::{End, Outcome, Runner},
    settings::Executor,
};
use std::fmt::Write;

/// One unit: a state that hears the states of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Start value.
    pub start: f64,
    /// The right-hand side, without what it hears; `x` is its state.
    pub own: &'static str,
    /// Whom it hears, and by which factor.
    pub hears: Vec<(usize, f64)>,
}

/// A master: its lines, and the order of its error.
#[derive(Debug, Clone, PartialEq)]
pub struct Master {
    /// Lines of `[coupling]` without the step.
    pub lines: String,
    /// The order that the error falls with, at least.
    pub order: f64,
}

/// A coupled system under a master.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupled {
    /// The units.
    pub parts: Vec<Part>,
    /// The master.
    pub master: Master,
    /// The largest macro step.
    pub step: f64,
}

const STOP: f64 = 2.0;

/// The random system of a stream.
pub fn coupled(random: &mut Random) -> Coupled {
    let count = 2 + random.below(2);
    let rights = ["-x", "-2*x", "-0.5*x", "-x^3", "-sin(x)", "1 - x", "cos(t) - x", "0"];
    let factor = |random: &mut Random| random.pick(&[1.0, -1.0, 0.5, -0.5, 0.25]);
    let mut parts = Vec::new();
    for k in 0..count {
        let mut hears = vec![((k + 1) % count, factor(random))];
        if count > 2 && random.chance(40) {
            hears.push(((k + 2) % count, factor(random)));
        }
        let start = random.pick(&[1.0, 0.0, -1.0, 0.5]);
        parts.push(Part { start, own: random.pick(&rights), hears });
    }
    let master = master(random, count);
    Coupled { parts, master, step: random.pick(&[0.1, 0.05]) }
}

fn master(random: &mut Random, count: usize) -> Master {
    let degree = random.below(3);
    let mut lines = String::new();
    if random.chance(50) {
        let names: Vec<_> = (0..count).map(|k| format!("\"u{k}\"")).collect();
        let _ = writeln!(lines, "order = \"gauss-seidel\"\nsequence = [{}]", names.join(", "));
    }
    let _ = writeln!(lines, "extrapolation = {degree}");
    // Through samples the first step is told a constant, which costs an error of order 2.
    let mut order = (degree as f64 + 1.0).min(2.0);
    match random.below(6) {
        0 | 1 => {
            lines.push_str("slopes = \"derivatives\"\n");
            order = degree as f64 + 1.0;
        }
        2 => {
            lines.push_str("interpolate = true\n");
            order = 1.0;
        }
        3 => lines.push_str("compensation = \"nepce\"\n"),
        4 if degree > 0 => lines.push_str("iterate = { method = \"newton\", tolerance = 1e-11 }\n"),
        _ => {}
    }
    Master { lines, order }
}

fn right(part: &Part, heard: &dyn Fn(usize, usize) -> String) -> String {
    let mut text = part.own.to_owned();
    for (k, (from, factor)) in part.hears.iter().enumerate() {
        let _ = write!(text, " + {factor}*({})", heard(k, *from));
    }
    text
}

impl Coupled {
    fn head(&self) -> String {
        let record: Vec<_> = (0..self.parts.len()).map(|k| self.port(k)).collect();
        format!(
            "stop = \"{STOP} s\"\nresolution = \"ns\"\nsample = \"none\"\nrecord = [{}]\n",
            record.join(", ")
        )
    }

    fn port(&self, k: usize) -> String {
        format!("\"u{k}.x\"")
    }

    /// The scenario file with a macro step.
    pub fn text(&self, step: f64) -> String {
        let mut out = self.head();
        let mut wires = Vec::new();
        for (to, part) in self.parts.iter().enumerate() {
            let one =
                |(k, (from, _)): (usize, &(usize, f64))| format!("\"u{from}.x -> u{to}.i{k}\"");
            wires.extend(part.hears.iter().enumerate().map(one));
        }
        let _ = writeln!(out, "connections = [{}]", wires.join(", "));
        let _ = write!(out, "\n[coupling]\nstep = {step}\n{}", self.master.lines);
        for (k, part) in self.parts.iter().enumerate() {
            let inputs = part.hears.iter().enumerate();
            let inputs: Vec<_> = inputs
                .map(|(i, (from, _))| format!("i{i} = {}", self.parts[*from].start))
                .collect();
            let _ = writeln!(
                out,
                "\n[unit.u{k}]\nkind = \"equations\"\nstates = {{ x = {} }}\ninputs = {{ {} }}\n\
                 derivatives = {{ x = \"{}\" }}\noutputs = {{ x = \"x\" }}\nmethod = \"rk45\"\n\
                 tolerance = 1e-12\nabsolute_tolerance = 1e-13\nexchange_tolerance = 1e-12\n\
                 segment_order = 6",
                part.start,
                inputs.join(", "),
                right(part, &|k, _| format!("i{k}"))
            );
        }
        out
    }

    /// The same equations in one unit.
    pub fn whole(&self) -> String {
        let named = |text: &str, k: usize| -> String {
            // `x` alone is the state, `exp` is not.
            let mut out = String::new();
            let letters: Vec<char> = text.chars().collect();
            for (at, c) in letters.iter().enumerate() {
                let alone = |o: Option<&char>| o.is_none_or(|c| !c.is_alphanumeric());
                let before = at.checked_sub(1).and_then(|p| letters.get(p));
                if *c == 'x' && alone(before) && alone(letters.get(at + 1)) {
                    let _ = write!(out, "x{k}");
                } else {
                    out.push(*c);
                }
            }
            out
        };
        let list = |f: &dyn Fn(usize, &Part) -> String| {
            let list: Vec<_> = self.parts.iter().enumerate().map(|(k, p)| f(k, p)).collect();
            list.join(", ")
        };
        let record = list(&|k, _| format!("\"u.x{k}\""));
        format!(
            "stop = \"{STOP} s\"\nresolution = \"ns\"\nsample = \"none\"\nrecord = [{record}]\n\
             [unit.u]\nkind = \"equations\"\nstates = {{ {} }}\nderivatives = {{ {} }}\n\
             outputs = {{ {} }}\nmethod = \"taylor\"\ntolerance = 1e-13\nabsolute_tolerance = 1e-13\n",
            list(&|k, p| format!("x{k} = {}", p.start)),
            list(&|k, p| {
                let own = named(p.own, k);
                let part = Part { own: "", ..p.clone() };
                let heard = right(&part, &|_, from| format!("x{from}"));
                format!("x{k} = \"{own}{heard}\"")
            }),
            list(&|k, _| format!("x{k} = \"x{k}\""))
        )
    }

    /// What is wrong about it, if anything.
    pub fn mistake(&self, runner: &Runner) -> Result<(), String> {
        let run = |text: &str| -> Outcome { runner.run(text, Executor::Sequential) };
        let whole = run(&self.whole());
        if whole.end != End::Reached {
            return Err(format!("the whole: {}", super::compare::summary(&whole)));
        }
        let mut errors = Vec::new();
        for step in [self.step, self.step / 2.0, self.step / 4.0, self.step / 8.0] {
            let run = run(&self.text(step));
            if run.end != End::Reached {
                return Err(format!("step {step}: {}", super::compare::summary(&run)));
            }
            let pairs = run.values.iter().zip(&whole.values);
            errors.push(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
        }
        let last = errors[3];
        // Below this the errors of the units themselves show.
        if last < 1e-9 {
            return Ok(());
        }
        let found = errors.windows(2).map(|e| (e[0] / e[1]).log2());
        let best = found.fold(f64::NEG_INFINITY, f64::max);
        let mean = (errors[0] / last).log2() / 3.0;
        if best < self.master.order - 0.5 && mean < self.master.order - 0.5 {
            let order = self.master.order;
            return Err(format!("order {best:.2} at best, not {order}: errors {errors:?}"));
        }
        Ok(())
    }

    /// Smaller systems under the same master.
    pub fn smaller(&self) -> Vec<Self> {
        let mut list = Vec::new();
        let mut edit = |f: &dyn Fn(&mut Self)| {
            let mut other = self.clone();
            f(&mut other);
            if other != *self {
                list.push(other);
            }
        };
        for k in 0..self.parts.len() {
            edit(&|c| c.parts[k].own = "0");
            edit(&|c| c.parts[k].hears.truncate(1));
            edit(&|c| c.parts[k].hears[0].1 = 1.0);
            edit(&|c| c.parts[k].start = 1.0);
        }
        list
    }
}
