//! Random small coupled units under random masters, against the same equations in one unit.
//!
//! A master that tells receivers polynomials of degree k makes an error of order k + 1 in the macro
//! step; every master comes to the solution of the whole as the step falls. State events of the
//! units come in the order of the whole, each where the unit's own state passes the value.
//!
//! # Why instants of events are not compared with those of the whole
//! The order of a master holds for the largest error over a stretch of time. At one instant the error
//! may be far smaller: within the first macro step, where nothing has added up yet, and where it
//! changes its sign, which it does at an instant that depends on the step. An event that lies there
//! may well be further away with a shorter step. But an error e of the state that is watched moves
//! its event by e over the slope, and by nothing else. So two facts are checked, which hold for all
//! events and imply that events come to those of the whole: the largest error over the whole stretch
//! falls with the order, and the state of a run is on the value where its event happens.
use super::{
    compare,
    random::Random,
    run::{End, Happened, Outcome, Runner},
    settings::{Executor, Method},
};
use std::fmt::Write;

/// Methods whose own errors are far below those of a coupling.
pub const METHODS: [Method; 3] = [Method::Rk45, Method::Taylor, Method::Rodas];

/// One unit: a state that hears the states of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Start value.
    pub start: f64,
    /// The right-hand side, without what it hears; `x` is its state.
    pub own: &'static str,
    /// Whom it hears, and by which factor.
    pub hears: Vec<(usize, f64)>,
    /// A state event.
    pub event: Option<Watched>,
}

/// An event when the state passes a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    /// The value.
    pub at: f64,
    /// From below.
    pub rising: bool,
    /// The number added to the state then; 0 only counts the event.
    pub jump: f64,
}

/// How a master continues what it has heard, beside the degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Way {
    Plain,
    Derivatives,
    Interpolate,
    Nepce,
    Newton,
}

/// A master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Master {
    /// Later units hear earlier ones as computed.
    pub gauss_seidel: bool,
    /// The degree of what receivers are told.
    pub degree: usize,
    /// Its further effects.
    pub way: Way,
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
    /// The method of the units.
    pub method: Method,
    /// The first unit hears the first of its signals through a block, which the master couples as well: a gain, which
    /// has no value before it hears one.
    pub gain: bool,
}

const STOP: f64 = 2.0;

/// The random system of a number.
pub fn coupled(seed: u64, number: u64) -> Coupled {
    let random = &mut Random::new(seed, number, "coupling");
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
        parts.push(Part { start, own: random.pick(&rights), hears, event: None });
    }
    let degree = random.below(3);
    let gauss_seidel = random.chance(50);
    let way = match random.below(6) {
        0 | 1 => Way::Derivatives,
        2 => Way::Interpolate,
        3 => Way::Nepce,
        4 if degree > 0 => Way::Newton,
        _ => Way::Plain,
    };
    let master = Master { gauss_seidel, degree, way };
    let step = random.pick(&[0.1, 0.05]);
    events(&mut Random::new(seed, number, "coupling events"), &mut parts);
    // NEPCE swings to and fro in a loop that has direct feed-through, as the guide says.
    let gain = way != Way::Nepce && Random::new(seed, number, "coupling gain").chance(30);
    Coupled { parts, master, step, method: Method::Rk45, gain }
}

/// Gives some of the units an event.
fn events(random: &mut Random, parts: &mut [Part]) {
    if random.chance(40) {
        return;
    }
    for part in parts {
        if random.chance(75) {
            let rising = random.chance(50);
            let away = random.pick(&[0.05, 0.1, 0.2, 0.3, 0.4]);
            let at = if rising { part.start + away } else { part.start - away };
            let jump = if random.chance(70) { 0.0 } else { random.pick(&[0.5, -0.5, 0.25]) };
            part.event = Some(Watched { at, rising, jump });
        }
    }
}

impl Master {
    fn lines(self, names: &str) -> String {
        let mut lines = String::new();
        if self.gauss_seidel {
            let _ = writeln!(lines, "order = \"gauss-seidel\"\nsequence = [{names}]");
        }
        let _ = writeln!(lines, "extrapolation = {}", self.degree);
        lines.push_str(match self.way {
            Way::Plain => "",
            Way::Derivatives => "slopes = \"derivatives\"\n",
            Way::Interpolate => "interpolate = true\n",
            Way::Nepce => "compensation = \"nepce\"\n",
            Way::Newton => "iterate = { method = \"newton\", tolerance = 1e-11 }\n",
        });
        lines
    }

    /// The order that the error falls with, at least.
    fn order(self) -> f64 {
        let order = self.degree as f64 + 1.0;
        match self.way {
            Way::Derivatives => order,
            Way::Interpolate => 1.0,
            // Through samples the first step is told a constant, which costs an error of order 2.
            _ => order.min(2.0),
        }
    }
}

fn right(part: &Part, heard: &dyn Fn(usize, usize) -> String) -> String {
    let mut text = part.own.to_owned();
    for (k, (from, factor)) in part.hears.iter().enumerate() {
        let _ = write!(text, " + {factor}*({})", heard(k, *from));
    }
    text
}

/// The event of a part, whose state and counter have these names.
fn event(part: &Part, unit: &str, name: &str, x: &str, n: &str, shift: f64) -> String {
    let Some(Watched { at, rising, jump }) = part.event else { return String::new() };
    let sign = if rising { ">=" } else { "<=" };
    let change = if jump == 0.0 { String::new() } else { format!(", {x} = \"{x} + {jump}\"") };
    format!(
        "[[unit.{unit}.event]]\nname = \"{name}\"\nwhen = \"{x} {sign} {}\"\n\
         reset = {{ {n} = \"{n} + 1\"{change} }}\n",
        at + shift
    )
}

/// A right-hand side with the state's number; `x` alone is the state, `exp` is not.
fn numbered(text: &str, k: usize) -> String {
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
}

impl Coupled {
    /// Calls `f` with each part and joins what it gives.
    fn list(&self, f: &dyn Fn(usize, &Part) -> String) -> String {
        let list: Vec<_> = self.parts.iter().enumerate().map(|(k, p)| f(k, p)).collect();
        list.join(", ")
    }

    fn head(record: &str) -> String {
        format!(
            "stop = \"{STOP} s\"\nresolution = \"ns\"\nsample = \"none\"\nrecord = [{record}]\n"
        )
    }

    /// Whether a unit hears one of its signals through the gain.
    fn is_block(&self, unit: usize, signal: usize) -> bool {
        self.gain && (unit, signal) == (0, 0)
    }

    /// The scenario file with a macro step.
    pub fn text(&self, step: f64) -> String {
        let mut out = Self::head(&self.list(&|k, _| format!("\"u{k}.x\"")));
        let wires = self.list(&|to, part| {
            let one = |(k, (from, _)): (usize, &(usize, f64))| match self.is_block(to, k) {
                true => format!("\"u{from}.x -> g.u\", \"g.y -> u{to}.i{k}\""),
                false => format!("\"u{from}.x -> u{to}.i{k}\""),
            };
            let wires: Vec<_> = part.hears.iter().enumerate().map(one).collect();
            wires.join(", ")
        });
        let _ = writeln!(out, "connections = [{wires}]");
        let block = if self.gain { ", \"g\"" } else { "" };
        let names = self.list(&|k, _| format!("\"u{k}\"")) + block;
        let _ = write!(out, "\n[coupling]\nstep = {step}\n{}", self.master.lines(&names));
        if self.jumps() {
            out.push_str("events = \"interrupt\"\n");
        }
        if self.gain {
            let gain = self.parts[0].hears[0].1;
            let _ = write!(out, "units = [{names}]\n[unit.g]\nkind = \"gain\"\ngain = {gain}\n");
        }
        for (k, part) in self.parts.iter().enumerate() {
            let mut part = part.clone();
            let inputs = part.hears.iter_mut().enumerate();
            let inputs: Vec<_> = inputs
                .map(|(i, (from, factor))| {
                    let given =
                        if self.is_block(k, i) { std::mem::replace(factor, 1.0) } else { 1.0 };
                    format!("i{i} = {}", given * self.parts[*from].start)
                })
                .collect();
            let _ = write!(
                out,
                "\n[unit.u{k}]\nkind = \"equations\"\nstates = {{ x = {} }}\n\
                 discrete = {{ n = 0 }}\ninputs = {{ {} }}\nderivatives = {{ x = \"{}\" }}\n\
                 outputs = {{ x = \"x\" }}\nmethod = \"{}\"\ntolerance = 1e-12\n\
                 absolute_tolerance = 1e-13\nexchange_tolerance = 1e-12\nsegment_order = 6\n{}",
                part.start,
                inputs.join(", "),
                right(&part, &|k, _| format!("i{k}")),
                self.method.name(),
                event(&part, &format!("u{k}"), "e", "x", "n", 0.0),
            );
        }
        out
    }

    /// All equations in one unit, with events at values that are `shift` higher.
    pub fn whole(&self, shift: f64) -> String {
        let mut out = Self::head(&self.list(&|k, _| format!("\"u.x{k}\"")));
        let _ = write!(
            out,
            "[unit.u]\nkind = \"equations\"\nstates = {{ {} }}\ndiscrete = {{ {} }}\n\
             derivatives = {{ {} }}\noutputs = {{ {} }}\nmethod = \"taylor\"\n\
             tolerance = 1e-13\nabsolute_tolerance = 1e-13\n",
            self.list(&|k, p| format!("x{k} = {}", p.start)),
            self.list(&|k, _| format!("n{k} = 0")),
            self.list(&|k, p| {
                let part = Part { own: "", ..p.clone() };
                let heard = right(&part, &|_, from| format!("x{from}"));
                format!("x{k} = \"{}{heard}\"", numbered(p.own, k))
            }),
            self.list(&|k, _| format!("x{k} = \"x{k}\"")),
        );
        for (k, part) in self.parts.iter().enumerate() {
            let (name, x, n) = (format!("e{k}"), format!("x{k}"), format!("n{k}"));
            out.push_str(&event(part, "u", &name, &x, &n, shift));
        }
        out
    }

    fn jumps(&self) -> bool {
        self.parts.iter().any(|p| p.event.is_some_and(|e| e.jump != 0.0))
    }

    /// Runs it under its master, and all equations in one unit.
    ///
    /// # Errors
    /// The mistake, in words.
    pub fn mistake(&self, runner: &Runner) -> Result<(), String> {
        let whole = runner.looked(&self.whole(0.0), looks());
        if whole.end != End::Reached {
            return Err(format!("the whole: {}", compare::summary(&whole)));
        }
        let mut runs = Vec::new();
        for step in [self.step, self.step / 2.0, self.step / 4.0, self.step / 8.0] {
            let run = runner.looked(&self.text(step), looks());
            if run.end != End::Reached {
                return Err(format!("step {step}: {}", compare::summary(&run)));
            }
            runs.push(run);
        }
        let (finest, last) = (self.step / 8.0, &runs[3]);
        // Errors of the size of a macro step must leave the order of events as it is.
        let by = |shift: f64| runner.run(&self.whole(shift), Executor::Sequential);
        let order = names(&whole);
        let certain = [4.0, -4.0].into_iter().all(|steps| names(&by(steps * finest)) == order);
        if certain && names(last) != order {
            return Err(format!("events {:?}, of the whole {order:?}", names(last)));
        }
        let ticks = last.events.iter().map(|e| e.tick).collect();
        self.events_on_values(last, &runner.looked(&self.text(finest), ticks))?;
        // In another order jumps lead elsewhere.
        if self.jumps() && !certain { Ok(()) } else { self.errors_fall(&whole, &runs) }
    }

    /// The state that an event watches is on its value there; `there` is the run with looks at its
    /// events.
    fn events_on_values(&self, run: &Outcome, there: &Outcome) -> Result<(), String> {
        // A tick late at most, and the errors of the units themselves.
        const OFF: f64 = 2e-8;
        if (there.hash, &there.events) != (run.hash, &run.events) {
            return Err("another run where it is looked at".into());
        }
        for (event, states) in run.events.iter().zip(&there.course) {
            let unit = number(&event.name).ok_or("an event without a unit")?;
            let watched = self.parts[unit].event.ok_or("an event of a unit without one")?;
            let (state, value) = (states[unit], watched.at + watched.jump);
            if !compare::near(state, value, OFF) {
                let Happened { name, tick, .. } = event;
                return Err(format!("{name} at tick {tick} leaves {state}, not {value}"));
            }
        }
        Ok(())
    }

    fn errors_fall(&self, whole: &Outcome, runs: &[Outcome]) -> Result<(), String> {
        // Between two events that jump, one of the whole and one of the run, errors say nothing.
        let from = if self.jumps() { whole.course.len() - 1 } else { 0 };
        let error = |run: &Outcome| {
            let looks = run.course.iter().zip(&whole.course).skip(from);
            let errors = looks.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).abs()));
            errors.fold(0.0, f64::max)
        };
        let errors: Vec<f64> = runs.iter().map(error).collect();
        let (first, last) = (errors[0], errors[3]);
        // Below this the errors of the units themselves show.
        if last < self.after_jumps(names(whole), self.step / 8.0).max(1e-9) {
            return Ok(());
        }
        let found = errors.windows(2).map(|e| (e[0] / e[1]).log2());
        let best = found.fold(f64::NEG_INFINITY, f64::max);
        let mean = (first / last).log2() / 3.0;
        // An event between two exchanges begins a new course, of which no past is known. Who hears a gain is told a
        // constant in the first step.
        let most = if self.gain { 2.0 } else { f64::INFINITY };
        let order = if self.jumps() { 1.0 } else { self.master.order().min(most) };
        if best < order - 0.5 && mean < order - 0.5 {
            return Err(format!("order {best:.2} at best, not {order}: errors {errors:?}"));
        }
        Ok(())
    }

    /// The error that the macro steps after jumps may leave, beside the order of the master.
    ///
    /// A master reads slopes as they are with the inputs of the step that ends. Where this is a jump
    /// J, a unit that hears it by the factor f changes its slope by f J only after that, and who hears
    /// this unit by a factor g goes on with the old slope until the next exchange. This adds
    /// g f J s²/2 to its state for s seconds, and s is anything up to a macro step: it depends on
    /// where the event lies between two exchanges, and does not fall with each shorter step.
    fn after_jumps(&self, events: Vec<usize>, step: f64) -> f64 {
        if self.master.way != Way::Derivatives || self.master.degree == 0 {
            return 0.0;
        }
        let heard = |by: usize, from: usize| -> f64 {
            self.parts[by].hears.iter().filter(|h| h.0 == from).map(|h| h.1.abs()).sum()
        };
        let all = || 0..self.parts.len();
        let jumps = events.into_iter().filter_map(|k| Some((k, self.parts[k].event?.jump.abs())));
        let slopes = jumps.map(|(k, jump)| {
            let on = |m: usize| all().map(|p| heard(p, m)).sum::<f64>();
            all().map(|m| on(m) * heard(m, k)).sum::<f64>() * jump
        });
        // No unit makes an error grow by itself, only by what it hears.
        let hears = |k: usize| all().map(|from| heard(k, from)).sum::<f64>();
        let growth = (STOP * all().map(hears).fold(0.0, f64::max)).exp();
        slopes.sum::<f64>() * step * step / 2.0 * growth
    }

    /// Smaller systems.
    pub fn smaller(&self) -> Vec<Self> {
        let mut list = Vec::new();
        let mut edit = |f: &dyn Fn(&mut Self)| super::shrink::edited(self, f, &mut list);
        for k in 0..self.parts.len() {
            if self.parts.len() > 2 {
                edit(&|c| c.remove(k));
            }
            edit(&|c| c.parts[k].event = None);
            edit(&|c| c.parts[k].event.iter_mut().for_each(|e| e.jump = 0.0));
            edit(&|c| c.parts[k].own = "0");
            edit(&|c| c.parts[k].hears.truncate(1));
            edit(&|c| c.parts[k].hears[0].1 = 1.0);
            edit(&|c| c.parts[k].start = 1.0);
        }
        edit(&|c| c.master.way = Way::Plain);
        edit(&|c| c.master.gauss_seidel = false);
        edit(&|c| c.master.degree = 0);
        edit(&|c| c.method = Method::Rk45);
        edit(&|c| c.gain = false);
        list
    }

    /// Takes a unit out; who heard it hears the next one.
    fn remove(&mut self, k: usize) {
        self.parts.remove(k);
        let count = self.parts.len();
        for (at, part) in self.parts.iter_mut().enumerate() {
            part.hears.truncate(1);
            part.hears[0].0 = (at + 1) % count;
        }
    }
}

/// Where errors are looked at.
fn looks() -> Vec<i64> {
    const COUNT: i64 = 20;
    (1..=COUNT).map(|k| k * (STOP * 1e9) as i64 / COUNT).collect()
}

/// The number of the unit whose event it is: `u0.e`, `u1.e`, ... or `u.e0`, ...
fn number(name: &str) -> Option<usize> {
    name.chars().find_map(|c| c.to_digit(10)).map(|digit| digit as usize)
}

/// The numbers of the units whose events happen, in their order.
fn names(run: &Outcome) -> Vec<usize> {
    run.events.iter().filter_map(|e| number(&e.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most systems with events have an order of these that small errors leave as it is.
    #[test]
    fn events_of_couplings_are_looked_at() {
        let runner = Runner::new().unwrap();
        let run = |text: &str| runner.run(text, Executor::Sequential);
        let mut compared = 0;
        for number in 0..40 {
            let system = coupled(1, number);
            let by = 4.0 * system.step / 8.0;
            let [low, mid, high] = [-by, 0.0, by].map(|shift| names(&run(&system.whole(shift))));
            compared += usize::from(!mid.is_empty() && low == mid && mid == high);
        }
        assert!(compared >= 10, "{compared}");
    }

    fn outcome(course: Vec<Vec<f64>>) -> Outcome {
        let event = |(tick, name): (i64, &str)| Happened { tick, micro: 0, name: name.into() };
        let events = [(1_000_000, "u0.e"), (2_000_000, "u1.e")].map(event).to_vec();
        Outcome { events, course, ..Outcome::of(End::Reached) }
    }

    #[test]
    fn events_away_from_their_values_are_told() {
        let mut system = coupled(1, 0);
        let watched = |at, jump| Some(Watched { at, rising: true, jump });
        system.parts[0].event = watched(0.5, 0.0);
        system.parts[1].event = watched(0.25, -0.5);
        let run = outcome(Vec::new());
        let on = |first, second| {
            let there = outcome(vec![vec![first, 9.0], vec![9.0, second]]);
            system.events_on_values(&run, &there)
        };
        assert!(on(0.5, -0.25).is_ok());
        assert!(on(0.5 + 1e-9, -0.25 - 1e-9).is_ok());
        assert!(on(0.5 + 1e-6, -0.25).is_err());
        assert!(on(0.5, 0.25).is_err());
    }

    #[test]
    fn errors_that_stay_are_told() {
        let mut system = coupled(1, 0);
        system.parts.iter_mut().for_each(|p| p.event = None);
        system.master = Master { gauss_seidel: false, degree: 0, way: Way::Plain };
        let whole = outcome(vec![vec![1.0], vec![2.0]]);
        let runs = |errors: [f64; 4]| errors.map(|e| outcome(vec![vec![1.0 + e], vec![2.0]]));
        assert!(system.errors_fall(&whole, &runs([8e-3, 4e-3, 2e-3, 1e-3])).is_ok());
        assert!(system.errors_fall(&whole, &runs([2e-3, 2e-3, 2e-3, 2e-3])).is_err());
    }
}
