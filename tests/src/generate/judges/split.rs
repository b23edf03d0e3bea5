//! A unit becomes two units, joined by wires where one reads the other.
//!
//! The rules let the two differ in little. Signals may leave the true values by the exchange
//! tolerance (rule 19), which is far within the bounds of runs that differ by rounding. A jump is
//! heard one cycle later, so micro-steps may differ, and the judge compares ticks only. The order of
//! events of both units within a tick is another one: where an event of the reading unit is not
//! after all events that it hears of, the two runs may differ, and the judge does not decide.
use super::{
    Case, Judge, Opinion,
    rounding::{Way, compare_mapped},
};
use crate::generate::{
    named,
    run::{Outcome, Runner},
    tree::{self, Renumber},
};
use std::collections::BTreeSet;
use superdense_judge::model::{Event, Expr, Model, Switching, Unit, Variable, Wire};

pub(super) struct Split;

/// The events and variables of a unit that belong together, and who reads whom.
struct Groups {
    /// The group of each variable and then of each event.
    of: Vec<usize>,
    variables: Vec<Variable>,
    /// Pairs of a place and one that it reads.
    reads: Vec<(usize, usize)>,
}

fn reads_of_event(e: &Event) -> Vec<Variable> {
    let mut list = Vec::new();
    tree::parts_of_trigger(&e.trigger, &mut list);
    e.reset.iter().for_each(|(_, to)| tree::parts(to, &mut list));
    tree::reads(&list)
}

impl Groups {
    fn new(unit: &Unit) -> Self {
        let states = (0..unit.states.len()).map(|k| Variable::State(0, k));
        let discrete = (0..unit.discrete.len()).map(|k| Variable::Discrete(0, k));
        let variables: Vec<Variable> = states.chain(discrete).collect();
        let count = variables.len() + unit.events.len();
        let mut this = Self { of: (0..count).collect(), variables, reads: Vec::new() };
        for (k, e) in unit.derivatives.iter().enumerate() {
            this.read(k, &tree::reads_of(e));
        }
        for (k, e) in unit.events.iter().enumerate() {
            let event = this.variables.len() + k;
            this.read(event, &reads_of_event(e));
            for (v, _) in &e.reset {
                if let Some(at) = this.place(*v) {
                    let (a, b) = (this.of[event], this.of[at]);
                    this.of.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
                }
            }
        }
        this
    }

    fn place(&self, v: Variable) -> Option<usize> {
        self.variables.iter().position(|w| *w == v)
    }

    fn read(&mut self, from: usize, list: &[Variable]) {
        let places: Vec<usize> = list.iter().filter_map(|v| self.place(*v)).collect();
        self.reads.extend(places.into_iter().map(|at| (from, at)));
    }

    /// The groups that a group reads, with those that they read, and itself.
    fn behind(&self, group: usize) -> BTreeSet<usize> {
        let mut set = BTreeSet::from([group]);
        loop {
            let before = set.len();
            for (from, to) in &self.reads {
                if set.contains(&self.of[*from]) {
                    set.insert(self.of[*to]);
                }
            }
            if set.len() == before {
                return set;
            }
        }
    }

    /// Sets of groups that read nothing else, and leave an event to the others.
    fn cuts(&self) -> Vec<BTreeSet<usize>> {
        let events = &self.of[self.variables.len()..];
        let all: BTreeSet<usize> = self.of.iter().copied().collect();
        let mut list: Vec<BTreeSet<usize>> = all.iter().map(|&g| self.behind(g)).collect();
        list.retain(|set| events.iter().any(|g| !set.contains(g)));
        list.sort();
        list.dedup();
        list
    }
}

/// Two units in place of one.
struct Halves {
    model: Model,
    /// The place of each output of the one unit among those of both.
    outputs: Vec<usize>,
    /// Events of the second unit.
    moved: Vec<String>,
}

/// Variables keep their numbers; what is not in a unit has no equations there and rests.
fn halves(model: &Model, first: &BTreeSet<usize>) -> Option<Halves> {
    let unit = &model.units[0];
    let groups = Groups::new(unit);
    let stays = |v: Variable| groups.place(v).is_none_or(|at| first.contains(&groups.of[at]));
    let events = groups.variables.len();
    let event_stays = |k: usize| first.contains(&groups.of[events + k]);
    let mut units = [unit.clone(), unit.clone()];
    let mut places = Vec::new();
    for (at, half) in units.iter_mut().enumerate() {
        let here = |stays: bool| stays == (at == 0);
        for (k, d) in half.derivatives.iter_mut().enumerate() {
            if !here(stays(Variable::State(0, k))) {
                *d = Expr::Number(0.0);
            }
        }
        let mut k = 0;
        half.events.retain(|_| {
            k += 1;
            here(event_stays(k - 1))
        });
        let whole = |e: &Expr| tree::reads_of(e).into_iter().all(stays);
        let of = |list: &[Expr]| (0..list.len()).filter(|&k| here(whole(&list[k]))).collect();
        let mine: Vec<usize> = of(&unit.outputs);
        half.outputs = mine.iter().map(|&k| unit.outputs[k].clone()).collect();
        places.push(mine);
    }
    let [mut a, b] = units;
    let moved: Vec<String> = b.events.iter().map(|e| format!("u1.{}", e.name)).collect();
    let mut second = Model { units: vec![b], ..model.clone() };
    let wires = wired(&mut second, &mut a, &stays)?;
    let [mine, others] = &places[..] else { return None };
    let place = |k: &usize| {
        let at = |list: &[usize]| list.iter().position(|j| j == k);
        at(mine).or_else(|| at(others).map(|j| a.outputs.len() + j))
    };
    let outputs = (0..unit.outputs.len()).filter_map(|k| place(&k)).collect();
    let units = vec![a, second.units.remove(0)];
    Some(Halves { model: Model { units, wires, ..model.clone() }, outputs, moved })
}

/// Gives the second half, which is the only unit of `model`, inputs for what it reads of the first.
fn wired(
    model: &mut Model,
    first: &mut Unit,
    stays: &dyn Fn(Variable) -> bool,
) -> Option<Vec<Wire>> {
    let unit = &model.units[0];
    if unit.events.iter().any(|e| {
        let own = |v: &Variable| !stays(*v);
        e.reset.iter().any(|(_, to)| tree::has_pre(to) && !tree::reads_of(to).iter().all(own))
    }) {
        // The value of an input before a cycle is another one than that of what it hears.
        return None;
    }
    let mut heard: Vec<Variable> = Vec::new();
    let name = |v: Variable| match v {
        Variable::State(_, k) if !stays(v) => Variable::State(1, k),
        Variable::Discrete(_, k) if !stays(v) => Variable::Discrete(1, k),
        Variable::State(..) | Variable::Discrete(..) => {
            let at = heard.iter().position(|w| *w == v).unwrap_or_else(|| {
                heard.push(v);
                heard.len() - 1
            });
            Variable::Input(1, at)
        }
        v => v,
    };
    let mut renumber = Renumber(name);
    tree::rewrite(model, &mut renumber);
    let events = &mut model.units[0].events;
    events.iter_mut().flat_map(|e| &mut e.reset).for_each(|r| r.0 = (renumber.0)(r.0));
    let mut wires = Vec::new();
    for (to, v) in heard.into_iter().enumerate() {
        let start = match v {
            Variable::State(_, k) => first.states[k],
            Variable::Discrete(_, k) => first.discrete[k],
            _ => return None,
        };
        model.units[0].inputs.push(start);
        wires.push(Wire { from: (0, first.outputs.len()), to: (1, to) });
        first.outputs.push(Expr::Read(v));
    }
    Some(wires)
}

fn split(case: &Case) -> Option<Halves> {
    let model = named::inlined(&case.model);
    let [unit] = &model.units[..] else { return None };
    let plain = unit.modes.is_empty() && unit.algebraic.is_empty();
    // Rest stops all states of a unit; values that slide are not exchanged.
    let rests = unit.events.iter().any(|e| e.rest.is_some());
    if !plain || rests || unit.switching == Switching::Sliding {
        return None;
    }
    let cuts = Groups::new(unit).cuts();
    if cuts.is_empty() {
        return None;
    }
    let cut = case.choices("split").pick(&cuts);
    halves(&model, &cut)
}

/// Whether an event of the second unit comes at a tick with one of the first, and not after it.
fn clashes(run: &Outcome, moved: &[String]) -> bool {
    let second = |name: &str| moved.iter().any(|m| m[2..] == name[2..]);
    let (second, first): (Vec<_>, Vec<_>) = run.events.iter().partition(|e| second(&e.name));
    second.iter().any(|e| {
        first.iter().any(|f| {
            let beside = (e.tick - f.tick).abs() <= 1;
            beside && (e.tick != f.tick || e.micro <= f.micro)
        })
    })
}

impl Judge for Split {
    fn name(&self) -> &'static str {
        "split"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let Some(Halves { model, outputs, moved }) = split(case) else {
            return Opinion::Skipped("cannot be divided");
        };
        let wired = !model.wires.is_empty();
        let other = case.with(model);
        let rename = |mut run: Outcome| {
            // Names and outputs as in one unit.
            for e in run.events.iter_mut().filter(|e| moved.contains(&e.name)) {
                e.name.replace_range(..2, "u0");
            }
            if !run.values.is_empty() {
                run.values = outputs.iter().map(|&k| run.values[k]).collect();
            }
            run
        };
        let what = if wired { "as two wired units" } else { "as two units" };
        let way = Way { what, mapped: &rename, shifted: false, first: None };
        let opinion = compare_mapped((case, base), &other, runner, &way);
        match opinion {
            Opinion::Disagrees(_) if wired && clashes(base, &moved) => {
                Opinion::Undecided("events of both units in one cycle".into())
            }
            opinion => opinion,
        }
    }
}
