//! An event sends the values that it keeps.
use super::{Case, Finding, Judge, Opinion};
use crate::generate::{
    compare::{Bounds, summary},
    hybrid::build::{num, read, sub},
    random::Random,
    run::{End, Outcome, Runner},
    text::{self, Beside, Emit},
    tree,
};
use superdense_judge::model::{Event, Expr, Model, Unit, Variable};

/// Each event keeps a value, possibly one before the cycle, and sends the same formula to a unit
/// beside the model: the last value that arrives is the one that is kept, and as many arrive as the
/// event happened.
pub(super) struct Emits;

/// A formula of states and discrete variables, before the cycle or within it.
fn value(random: &mut Random, at: usize, unit: &Unit) -> Expr {
    let variable = |random: &mut Random| match random.below(3) {
        0 if !unit.discrete.is_empty() => {
            Some(Variable::Discrete(at, random.below(unit.discrete.len())))
        }
        _ if !unit.states.is_empty() => Some(Variable::State(at, random.below(unit.states.len()))),
        _ => None,
    };
    let Some(v) = variable(random) else { return num(1.0) };
    match random.below(3) {
        0 => read(v),
        1 => Expr::Pre(v),
        _ => sub(read(v), Expr::Pre(v)),
    }
}

/// The model whose events keep what they send, the place of each kept value among the outputs, and
/// what is sent.
fn sending(random: &mut Random, model: &Model) -> (Model, Vec<usize>, Vec<Emit>) {
    let mut changed = model.clone();
    let (mut outputs, mut emits) = (Vec::new(), Vec::new());
    let mut first = 0;
    for (at, (unit, old)) in changed.units.iter_mut().zip(&model.units).enumerate() {
        let mut kept = unit.discrete.len();
        tree::each_event(unit, &mut |e: &mut Event| {
            // The values of a rest take the place of resets.
            if e.rest.is_none() {
                let value = value(random, at, old);
                e.reset.push((Variable::Discrete(at, kept), value.clone()));
                emits.push(Emit { unit: at, event: e.name.clone(), value });
                kept += 1;
            }
        });
        for k in unit.discrete.len()..kept {
            unit.discrete.push(0.0);
            outputs.push(first + unit.outputs.len());
            unit.outputs.push(read(Variable::Discrete(at, k)));
        }
        first += unit.outputs.len();
    }
    (changed, outputs, emits)
}

/// The unit that hears what events send: for each the last value and how often it came.
fn heard(emits: Vec<Emit>) -> Beside {
    let list = |f: &dyn Fn(usize) -> String| {
        let list: Vec<_> = (0..emits.len()).map(f).collect();
        list.join(", ")
    };
    let mut units = format!(
        "\n[unit.heard]\nkind = \"equations\"\nevent_inputs = [{}]\ndiscrete = {{ {} }}\n\
         outputs = {{ {} }}\n",
        list(&|k| format!("\"o{k}\"")),
        list(&|k| format!("v{k} = 0, n{k} = 0")),
        list(&|k| format!("v{k} = \"v{k}\", n{k} = \"n{k}\"")),
    );
    for k in 0..emits.len() {
        units.push_str(&format!(
            "[[unit.heard.on]]\ninput = \"o{k}\"\n\
             reset = {{ v{k} = \"value\", n{k} = \"n{k} + 1\" }}\n"
        ));
    }
    let recorded = |k: usize| [format!("heard.v{k}"), format!("heard.n{k}")];
    let wire = |(k, e): (usize, &Emit)| format!("u{}.o{k} -> heard.o{k}", e.unit);
    let records = (0..emits.len()).flat_map(recorded).collect();
    Beside { records, wires: emits.iter().enumerate().map(wire).collect(), units, emits }
}

/// The first value that was not sent as it was kept.
fn mistake(run: &Outcome, kept: &[usize], emits: &[Emit]) -> Option<String> {
    let own = run.values.len() - 2 * emits.len();
    for (k, (emit, &at)) in emits.iter().zip(kept).enumerate() {
        let name = format!("u{}.{}", emit.unit, emit.event);
        let happened = run.events.iter().filter(|e| e.name == name).count() as f64;
        let (value, count) = (run.values[own + 2 * k], run.values[own + 2 * k + 1]);
        if count != happened {
            return Some(format!("{name} happened {happened} times and sent {count} values"));
        }
        let right = run.values[at];
        if value.to_bits() != right.to_bits() && value != right {
            return Some(format!("{name} sent {value} and kept {right}"));
        }
    }
    None
}

impl Judge for Emits {
    fn name(&self) -> &'static str {
        "emits"
    }
    fn share(&self) -> usize {
        25
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let (model, kept, emits) = sending(&mut case.choices("emits"), &case.model);
        if emits.is_empty() {
            return Opinion::Skipped("no event that can send");
        }
        let beside = heard(emits);
        let emits = &beside.emits;
        let text = text::with(&model, &case.settings, &beside);
        let mut other = runner.run(&text, case.settings.executor);
        other.events.retain(|e| !e.name.starts_with("heard."));
        let wrong = (other.end == End::Reached).then(|| mistake(&other, &kept, emits)).flatten();
        if let Some(difference) = wrong {
            let right = "what an event sends is what it keeps".into();
            return Opinion::Disagrees(Finding { seen: summary(&other), right, difference });
        }
        other.values.clear();
        let silent = Outcome { values: Vec::new(), ..base.clone() };
        Opinion::of(&silent, &other, "with events that send values", Bounds::EXACT)
    }
}
