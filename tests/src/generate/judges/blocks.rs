//! The blocks `detector`, `hysteresis` and `switch` see what equations see on the same wire.
use super::{Case, Finding, Judge, Opinion};
use crate::generate::{
    compare::{near, summary},
    random::Random,
    run::{End, Happened, Outcome, Runner},
    text::{self, Beside},
};
use superdense_judge::model::{Expr, Model, Variable};

/// Beside the model stand the three blocks, which hear a state of it, and a unit with equations that
/// does the same as they do.
pub(super) struct Blocks;

/// The signal that the blocks hear, and the values that they look for.
struct Look {
    /// The output: a state.
    watched: String,
    /// Another output, which the switch may choose.
    other: String,
    starts: [f64; 2],
    /// Whether the detector looks for what rises.
    rising: bool,
    /// The threshold of the detector and the switch; the upper one of the hysteresis.
    high: f64,
    low: f64,
}

/// Draws a threshold that is no round number, so that nothing begins, rests or turns on it.
fn look(random: &mut Random, model: &Model) -> Option<Look> {
    let mut states = Vec::new();
    for (u, unit) in model.units.iter().enumerate() {
        for (k, output) in unit.outputs.iter().enumerate() {
            if let Expr::Read(Variable::State(_, state)) = output {
                states.push((format!("u{u}.y{k}"), unit.states[*state]));
            }
        }
    }
    if states.is_empty() {
        return None;
    }
    let (watched, start) = random.pick(&states);
    let (other, second) = random.pick(&states);
    let away = random.pick(&[0.1, 0.3, 0.6]) + 0.037_13 * random.uniform();
    let high = if random.chance(50) { start + away } else { start - away };
    let low = high - 0.05 - 0.1 * random.uniform();
    Some(Look { watched, other, starts: [start, second], rising: random.chance(50), high, low })
}

impl Look {
    fn beside(&self, shift: f64) -> Beside {
        let Self { watched, other, starts: [start, second], rising, .. } = self;
        let (high, low) = (self.high + shift, self.low + shift);
        let on = *start >= high;
        let direction = if *rising { "rising" } else { "falling" };
        let units = format!(
            "\n[unit.detector]\nkind = \"detector\"\nthreshold = {high:?}\n\
             direction = \"{direction}\"\n[unit.counter]\nkind = \"counter\"\n\
             [unit.hysteresis]\nkind = \"hysteresis\"\nlow = {low:?}\nhigh = {high:?}\n\
             [unit.switch]\nkind = \"switch\"\nby = \"signal\"\nthreshold = {high:?}\n\
             [unit.twin]\nkind = \"equations\"\ninputs = {{ a = {start:?}, b = {second:?} }}\n\
             discrete = {{ n = 0, s = {} }}\n\
             outputs = {{ n = \"n\", s = \"s\", y = \"if a >= {high:?} then a else b\" }}\n\
             [[unit.twin.event]]\nname = \"crossing\"\ncrossing = \"a - {high:?}\"\n\
             direction = \"{direction}\"\nreset = {{ n = \"n + 1\" }}\n\
             [[unit.twin.event]]\nname = \"on\"\nwhen = \"a >= {high:?} and s == 0\"\n\
             reset = {{ s = 1 }}\n\
             [[unit.twin.event]]\nname = \"off\"\nwhen = \"a <= {low:?} and s == 1\"\n\
             reset = {{ s = 0 }}\n",
            u8::from(on),
        );
        let wires = ["detector.u", "hysteresis.u", "switch.select", "switch.u1", "twin.a"];
        let mut wires: Vec<_> = wires.iter().map(|to| format!("{watched} -> {to}")).collect();
        wires.extend(["switch.u2", "twin.b"].map(|to| format!("{other} -> {to}")));
        wires.push("detector.y -> counter.u".into());
        let records =
            ["counter.count", "twin.n", "hysteresis.state", "twin.s", "switch.y", "twin.y"];
        Beside { units, wires, records: records.map(str::to_owned).to_vec(), ..Beside::default() }
    }
}

/// The ticks of an event after the first one.
fn ticks(events: &[Happened], name: &str) -> Vec<i64> {
    events.iter().filter(|e| e.name == name && e.tick > 1).map(|e| e.tick).collect()
}

/// The first thing that a block sees in another way.
fn mistake(run: &Outcome) -> Option<String> {
    for name in ["on", "off"] {
        let of = |unit: &str| ticks(&run.events, &format!("{unit}.{name}"));
        let (seen, right) = (of("hysteresis"), of("twin"));
        let equal = seen.iter().zip(&right).all(|(a, b)| (a - b).abs() <= 1);
        if seen.len() != right.len() || !equal {
            return Some(format!("hysteresis {name} at ticks {seen:?}, equations at {right:?}"));
        }
    }
    let own = run.values.len().checked_sub(6)?;
    let pairs = run.values[own..].chunks_exact(2).zip(["detector", "hysteresis", "switch"]);
    for (pair, name) in pairs {
        if !near(pair[0], pair[1], 1e-7) {
            return Some(format!("{name} {} at the end, equations {}", pair[0], pair[1]));
        }
    }
    None
}

/// Whether several cycles follow each other at an instant: there a jump may come and go.
fn is_entangled(run: &Outcome) -> bool {
    let blocks = ["detector.", "hysteresis.", "twin."];
    let own = run.events.iter().filter(|e| !blocks.iter().any(|b| e.name.starts_with(b)));
    let mut own = own.map(|e| (e.tick, e.micro));
    let Some(mut last) = own.next() else { return false };
    own.any(|now| {
        let before = std::mem::replace(&mut last, now);
        now.0 - before.0 <= 1 && now != before
    })
}

impl Judge for Blocks {
    fn name(&self) -> &'static str {
        "blocks"
    }
    fn share(&self) -> usize {
        30
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let Some(look) = look(&mut case.choices("blocks"), &case.model) else {
            return Opinion::Skipped("no state to hear");
        };
        if base.end != End::Reached {
            return Opinion::Skipped("the run does not come to its end");
        }
        let run = |shift: f64| {
            let text = text::with(&case.model, &case.settings, &look.beside(shift));
            runner.run(&text, case.settings.executor)
        };
        let seen = run(0.0);
        if seen.end != End::Reached && !seen.is_broken() {
            return Opinion::Skipped("fails in that way");
        }
        let difference = match mistake(&seen) {
            _ if seen.is_broken() => "a run ends in no way that is known".into(),
            None => return Opinion::Agrees,
            Some(difference) => difference,
        };
        if is_entangled(&seen) {
            return Opinion::Undecided("cycles follow each other at one instant".into());
        }
        if seen.hears_late() {
            return Opinion::Undecided("ticks are too coarse for the signal".into());
        }
        // Where it turns just at the threshold, a small shift of this ends the difference.
        if [1e-5, -1e-5].iter().any(|shift| mistake(&run(*shift)).is_none()) {
            return Opinion::Undecided("the outcome hangs on small errors".into());
        }
        let right = "blocks that see what equations see".into();
        Opinion::Disagrees(Finding { seen: summary(&seen), right, difference })
    }
}
