//! Whether the outcome of a model hangs on errors of the size that methods make.
//!
//! Every relation that moves, and every function with kinks or jumps, is shifted a little, more so
//! as time goes on, in both directions. Only where the events stay the same may runs that differ in
//! their errors be compared. At the start nothing is shifted, so that thresholds at start values
//! stay where they are.
use super::Case;
use crate::generate::{
    compare::{Bounds, difference},
    hybrid::build::{add, mul, num, pow, time},
    named,
    run::{End, Runner},
    settings::{Executor, Method, Settings},
    tree::{self, Rewrite},
};
use superdense_judge::model::{Binary, Condition, Expr, Unary, Variable};

/// The shift at t = 1 s.
const SHIFT: f64 = 1e-6;

/// A shift by the first number, at all times or (if the second is false) as the time's cube.
struct Drift(f64, bool);

fn moves(e: &Expr) -> bool {
    let still = |v: &Variable| matches!(v, Variable::Discrete(..) | Variable::Mode(_));
    !tree::reads_of(e).iter().all(still) && !tree::has_pre(e)
}

impl Drift {
    fn shifted(&self, e: Expr) -> Expr {
        match (moves(&e), self.1) {
            (false, _) => e,
            (true, true) => add(e, num(self.0)),
            (true, false) => add(e, mul(num(self.0), pow(time(), 3))),
        }
    }
}

impl Rewrite for Drift {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Unary(
                f @ (Unary::Abs | Unary::Sign | Unary::Step | Unary::Floor | Unary::Ceil),
                a,
            ) => Expr::Unary(f, Box::new(self.shifted(*a))),
            Expr::Binary(f @ (Binary::Min | Binary::Max | Binary::Mod), a, b) => {
                Expr::Binary(f, Box::new(self.shifted(*a)), b)
            }
            e => e,
        }
    }
    fn condition(&mut self, c: Condition) -> Condition {
        match c {
            Condition::Relation(how, a, b) if moves(&b) => {
                Condition::Relation(how, a, self.shifted(b))
            }
            Condition::Relation(how, a, b) => Condition::Relation(how, self.shifted(a), b),
            c => c,
        }
    }
}

fn drifted(case: &Case, by: f64, always: bool) -> Case {
    let mut model = named::inlined(&case.model);
    let links = std::mem::take(&mut model.links);
    tree::rewrite(&mut model, &mut Drift(by, always));
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| {
            if let superdense_judge::model::Trigger::Crossing { formula, .. } = &mut e.trigger {
                let old = std::mem::replace(formula, Expr::Number(0.0));
                *formula = Drift(by, always).shifted(old);
            }
        });
    }
    model.links = links;
    // Links read no time.
    for link in &mut model.links {
        let shifted = std::mem::replace(&mut link.when, Condition::And(Vec::new()));
        link.when = tree::condition(shifted, &mut Drift(by, true));
    }
    case.with(model)
}

/// Ticks per second, of at least so many seconds.
pub(super) fn ticks(case: &Case, seconds: f64) -> i64 {
    (seconds * 10_f64.powi(case.model.resolution as i32)).ceil() as i64
}

/// Whether the events of a model are the same under small shifts.
pub(super) fn is_stable(case: &Case, runner: &Runner) -> bool {
    is_same(case, runner, false)
}

/// The same, where thresholds are shifted at the start, too.
pub(super) fn is_stable_from_the_start(case: &Case, runner: &Runner) -> bool {
    is_same(case, runner, true)
}

fn is_same(case: &Case, runner: &Runner, always: bool) -> bool {
    let algebraic = case.model.units.iter().any(|u| !u.algebraic.is_empty());
    let method = if algebraic { Method::Rodas } else { Method::Rk45 };
    let mut exact = case.clone();
    exact.settings =
        Settings { executor: Executor::Sequential, ..Settings::of(method) }.tightened(0.01);
    let base = exact.run(runner);
    if base.end != End::Reached {
        return false;
    }
    let bounds = Bounds { ticks: ticks(case, 1e-3).max(2), values: 1e-3 };
    [SHIFT, -SHIFT].into_iter().all(|by| {
        let other = drifted(&exact, by, always).run(runner);
        difference(&base, &other, bounds).is_none()
    })
}
