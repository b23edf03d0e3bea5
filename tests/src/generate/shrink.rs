//! Makes a failing model smaller, on the tree, as long as the same judge refuses it.
use super::{
    judges::{Case, Finding, Judge, Opinion},
    named,
    run::{End, Runner},
    settings::{Executor, Method, Settings},
    tree::{self, Rewrite},
};
use superdense_judge::model::{Condition, Expr, Instant, Model, Switching, Trigger, Variable};

/// Judgements that one model may cost.
const BUDGET: usize = 600;

/// Shrinks a case; returns the smallest that was found, with what is wrong about it.
pub fn shrink(
    case: &Case,
    judge: &dyn Judge,
    runner: &Runner,
    finding: Finding,
) -> (Case, Finding) {
    // A mistake of another kind would only hide this one.
    let class = finding.class();
    let mut best = (case.clone(), finding);
    let mut left = BUDGET;
    loop {
        let before = size(&best.0);
        for candidate in smaller(&best.0) {
            if left == 0 {
                return best;
            }
            left -= 1;
            let base = candidate.run(runner);
            if matches!(base.end, End::Refused(_)) && judge.name() != "survives" {
                continue;
            }
            if let Opinion::Disagrees(finding) = judge.judge(&candidate, &base, runner)
                && (judge.name() != "reference" || finding.class() == class)
            {
                best = (candidate, finding);
                break;
            }
        }
        if size(&best.0) >= before {
            return best;
        }
    }
}

/// How large a case is, to a reader.
fn size(case: &Case) -> usize {
    let mut size = 10 * case.text().len();
    // Among texts of one length the rounder one, and the plainer method.
    size += Method::ALL.iter().position(|m| *m == case.settings.method).unwrap_or(0);
    size += usize::from(case.settings.executor != Executor::Sequential) * 20;
    size
}

/// Adds what an edit makes of something, unless it changes nothing.
pub(super) fn edited<T: Clone + PartialEq>(of: &T, edit: &dyn Fn(&mut T), list: &mut Vec<T>) {
    let mut other = of.clone();
    edit(&mut other);
    if other != *of {
        list.push(other);
    }
}

/// Smaller cases.
pub(super) fn smaller(case: &Case) -> Vec<Case> {
    let mut list = candidates(case);
    let most = size(case);
    list.retain(|c| size(c) < most && super::excluded::model(&c.model).is_none());
    list
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut list: Vec<Case> = Vec::new();
    for model in models(&case.model) {
        list.push(case.with(model));
    }
    for method in [Method::Rk45, Method::Taylor] {
        let settings = Settings { executor: case.settings.executor, ..Settings::of(method) };
        list.push(Case { settings, ..case.clone() });
    }
    let settings = Settings { executor: Executor::Sequential, ..case.settings };
    list.push(Case { settings, ..case.clone() });
    list
}

fn models(model: &Model) -> Vec<Model> {
    let mut list = Vec::new();
    let mut edit = |f: &mut dyn FnMut(&mut Model) -> bool| {
        let mut changed = model.clone();
        if f(&mut changed) && changed != *model {
            list.push(changed);
        }
    };
    for k in 0..model.units.len() {
        edit(&mut |m| remove_unit(m, k));
    }
    for k in 0..model.links.len() {
        edit(&mut |m| {
            m.links.remove(k);
            true
        });
    }
    for k in 0..model.wires.len() {
        edit(&mut |m| {
            m.wires.remove(k);
            true
        });
    }
    (0..model.units.len()).for_each(|u| edits_of_unit(model, u, &mut edit));
    for k in 0..event_parts(&mut model.clone(), usize::MAX) {
        edit(&mut |m| {
            event_parts(m, k);
            true
        });
    }
    for k in 0..simplified(&mut model.clone(), usize::MAX) {
        edit(&mut |m| {
            simplified(m, k);
            true
        });
    }
    for resolution in [9, 6] {
        edit(&mut |m| {
            m.resolution = resolution;
            true
        });
    }
    for seconds in [1, 2, 3, 5, 10] {
        edit(&mut |m| {
            m.stop = Instant { numerator: seconds, denominator: 1 };
            true
        });
    }
    list
}

/// Does something to a copy of a model, which counts if the answer is true.
type Edit<'a> = dyn FnMut(&mut dyn FnMut(&mut Model) -> bool) + 'a;

fn edits_of_unit(model: &Model, u: usize, edit: &mut Edit<'_>) {
    edit(&mut |m| {
        flatten_modes(m, u);
        true
    });
    for k in 0..model.units[u].events.len() {
        edit(&mut |m| {
            m.units[u].events.remove(k);
            true
        });
    }
    for (i, mode) in model.units[u].modes.iter().enumerate() {
        for k in 0..mode.events.len() {
            edit(&mut |m| {
                m.units[u].modes[i].events.remove(k);
                true
            });
        }
        edit(&mut |m| {
            m.units[u].modes[i].derivatives = None;
            true
        });
    }
    for k in (0..model.units[u].discrete.len()).rev() {
        edit(&mut |m| remove_variable(m, Variable::Discrete(u, k)));
    }
    for k in (0..model.units[u].states.len()).rev() {
        edit(&mut |m| remove_variable(m, Variable::State(u, k)));
    }
    for k in (0..model.units[u].outputs.len()).rev() {
        edit(&mut |m| remove_output(m, u, k));
    }
    for k in (0..model.units[u].algebraic.len()).rev() {
        edit(&mut |m| remove_variable(m, Variable::Algebraic(u, k)));
    }
    for k in (0..model.units[u].inputs.len()).rev() {
        edit(&mut |m| remove_variable(m, Variable::Input(u, k)));
    }
    if !model.units[u].lets.is_empty() {
        edit(&mut |m| {
            named::inline(m);
            true
        });
    }
    edit(&mut |m| {
        m.units[u].switching = Switching::Located;
        true
    });
}

/// Does edit number `at` among those of keys of events; returns how many there are.
fn event_parts(model: &mut Model, at: usize) -> usize {
    let mut count = 0;
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| {
            let mut turn = |f: &mut dyn FnMut()| {
                if count == at {
                    f();
                }
                count += 1;
            };
            for k in (0..e.reset.len()).rev() {
                turn(&mut || {
                    e.reset.remove(k);
                });
            }
            turn(&mut || e.priority = 0);
            turn(&mut || e.rest = None);
            if e.to.is_none() {
                turn(&mut || {
                    if let Trigger::When { touching, .. } | Trigger::Crossing { touching, .. } =
                        &mut e.trigger
                    {
                        *touching = None;
                    }
                });
            }
            turn(&mut || {
                if let Trigger::At(list) = &mut e.trigger
                    && list.len() > 1
                {
                    list.pop();
                }
            });
        });
    }
    for link in &mut model.links {
        for k in (0..link.reset.len()).rev() {
            if count == at && link.reset.len() > 1 {
                link.reset.remove(k);
                return count + 1;
            }
            count += 1;
        }
    }
    count
}

/// Replaces part number `at` of all formulas by one of its own parts or a number; returns how many
/// such edits there are.
fn simplified(model: &mut Model, at: usize) -> usize {
    let mut edits = Edits { at, count: 0 };
    tree::rewrite(model, &mut edits);
    for unit in &mut model.units {
        let starts = unit.states.iter_mut().chain(&mut unit.discrete).chain(&mut unit.inputs);
        for x in starts.chain(&mut unit.algebraic) {
            for to in [0.0, 1.0] {
                if edits.turn() {
                    *x = to;
                }
            }
        }
    }
    edits.count
}

struct Edits {
    at: usize,
    count: usize,
}

impl Edits {
    fn turn(&mut self) -> bool {
        self.count += 1;
        self.count == self.at.wrapping_add(1)
    }
}

impl Rewrite for Edits {
    fn expression(&mut self, e: Expr) -> Expr {
        if matches!(e, Expr::Number(x) if x == 0.0) {
            return e;
        }
        for x in [0.0, 1.0] {
            if self.turn() {
                return Expr::Number(x);
            }
        }
        match e {
            Expr::Unary(_, a) | Expr::Power(a, _) if self.turn() => *a,
            Expr::Binary(f, a, b) => match (self.turn(), self.turn()) {
                (true, _) => *a,
                (_, true) => *b,
                _ => Expr::Binary(f, a, b),
            },
            Expr::If(c, a, b) => match (self.turn(), self.turn()) {
                (true, _) => *a,
                (_, true) => *b,
                _ => Expr::If(c, a, b),
            },
            Expr::Pre(v) if self.turn() => Expr::Read(v),
            e => e,
        }
    }

    fn condition(&mut self, c: Condition) -> Condition {
        match c {
            Condition::And(mut list) | Condition::Or(mut list) if list.len() == 1 => list.remove(0),
            Condition::And(list) => self.shorter(list, Condition::And),
            Condition::Or(list) => self.shorter(list, Condition::Or),
            Condition::Not(inner) if self.turn() => *inner,
            c => c,
        }
    }
}

impl Edits {
    fn shorter(
        &mut self,
        mut list: Vec<Condition>,
        make: fn(Vec<Condition>) -> Condition,
    ) -> Condition {
        for k in 0..list.len() {
            if self.turn() {
                list.remove(k);
                break;
            }
        }
        if list.len() == 1 { list.remove(0) } else { make(list) }
    }
}

/// The unit has the events and equations of all its modes at once.
fn flatten_modes(model: &mut Model, u: usize) {
    let unit = &mut model.units[u];
    for mode in std::mem::take(&mut unit.modes) {
        unit.events.extend(mode.events);
    }
    unit.events.iter_mut().for_each(|e| e.to = None);
    tree::rewrite(model, &mut tree::Replace(Variable::Mode(u), 0.0));
}

/// Takes a variable out; where it was read stands its start value.
fn remove_variable(model: &mut Model, v: Variable) -> bool {
    let start = match v {
        Variable::State(u, k) => {
            let unit = &mut model.units[u];
            if unit.states.len() == 1 && unit.algebraic.is_empty() && unit.events.is_empty() {
                return false;
            }
            unit.derivatives.remove(k);
            for mode in &mut unit.modes {
                mode.derivatives.iter_mut().for_each(|d| {
                    d.remove(k);
                });
            }
            unit.states.remove(k)
        }
        Variable::Discrete(u, k) => model.units[u].discrete.remove(k),
        Variable::Algebraic(u, k) => {
            model.units[u].residuals.remove(k);
            model.units[u].algebraic.remove(k)
        }
        Variable::Input(u, k) => {
            model.wires.retain(|w| w.to != (u, k));
            for w in model.wires.iter_mut().filter(|w| w.to.0 == u && w.to.1 > k) {
                w.to.1 -= 1;
            }
            model.units[u].inputs.remove(k)
        }
        _ => return false,
    };
    for unit in &mut model.units {
        unit.outputs_without(v);
        tree::each_event(unit, &mut |e| {
            e.reset.retain(|r| r.0 != v);
            e.rest.iter_mut().for_each(|r| r.values.retain(|x| x.0 != v));
        });
    }
    model.links.iter_mut().for_each(|l| l.reset.retain(|r| r.0 != v));
    tree::rewrite(model, &mut tree::Replace(v, start));
    renumber(model, |w| below(w, v));
    // A link without resets is refused.
    model.links.retain(|l| !l.reset.is_empty());
    true
}

/// The name of a variable after `v` is gone.
fn below(w: Variable, v: Variable) -> Variable {
    match (w, v) {
        (Variable::State(a, i), Variable::State(b, k)) if a == b && i > k => {
            Variable::State(a, i - 1)
        }
        (Variable::Discrete(a, i), Variable::Discrete(b, k)) if a == b && i > k => {
            Variable::Discrete(a, i - 1)
        }
        (Variable::Algebraic(a, i), Variable::Algebraic(b, k)) if a == b && i > k => {
            Variable::Algebraic(a, i - 1)
        }
        (Variable::Input(a, i), Variable::Input(b, k)) if a == b && i > k => {
            Variable::Input(a, i - 1)
        }
        (w, _) => w,
    }
}

fn renumber(model: &mut Model, f: impl Fn(Variable) -> Variable + Copy) {
    tree::rewrite(model, &mut tree::Renumber(f));
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| {
            e.reset.iter_mut().for_each(|r| r.0 = f(r.0));
            e.rest.iter_mut().flat_map(|r| &mut r.values).for_each(|x| x.0 = f(x.0));
        });
    }
    model.links.iter_mut().flat_map(|l| &mut l.reset).for_each(|r| r.0 = f(r.0));
}

fn remove_output(model: &mut Model, u: usize, k: usize) -> bool {
    if model.wires.iter().any(|w| w.from == (u, k)) {
        return false;
    }
    for w in model.wires.iter_mut().filter(|w| w.from.0 == u && w.from.1 > k) {
        w.from.1 -= 1;
    }
    model.units[u].outputs.remove(k);
    true
}

fn remove_unit(model: &mut Model, u: usize) -> bool {
    if model.units.len() == 1 {
        return false;
    }
    model.units.remove(u);
    model.links.retain(|l| !l.units.contains(&u));
    model.wires.retain(|w| w.from.0 != u && w.to.0 != u);
    let down = |k: usize| if k > u { k - 1 } else { k };
    for w in &mut model.wires {
        w.from.0 = down(w.from.0);
        w.to.0 = down(w.to.0);
    }
    model.links.iter_mut().for_each(|l| l.units.iter_mut().for_each(|k| *k = down(*k)));
    renumber(model, |v| match v {
        Variable::Time => v,
        Variable::State(a, k) => Variable::State(down(a), k),
        Variable::Discrete(a, k) => Variable::Discrete(down(a), k),
        Variable::Algebraic(a, k) => Variable::Algebraic(down(a), k),
        Variable::Input(a, k) => Variable::Input(down(a), k),
        Variable::Let(a, k) => Variable::Let(down(a), k),
        Variable::Mode(a) => Variable::Mode(down(a)),
    });
    true
}

trait Outputs {
    fn outputs_without(&mut self, v: Variable);
}

impl Outputs for superdense_judge::model::Unit {
    /// Outputs that are the variable alone become 0, so that wires keep their ports.
    fn outputs_without(&mut self, v: Variable) {
        self.outputs
            .iter_mut()
            .filter(|e| **e == Expr::Read(v))
            .for_each(|e| *e = Expr::Number(0.0));
    }
}
