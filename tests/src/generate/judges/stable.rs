//! Whether the outcome of a model hangs on errors of the size that methods make.
//!
//! Every relation that moves, and every function with kinks or jumps, is shifted a little, more so
//! as time goes on, in both directions. Only where the events stay the same may runs that differ in
//! their errors be compared. At the start nothing is shifted, so that thresholds at start values
//! stay where they are. They are also shifted to and fro: what approaches its threshold passes it then, as it may where
//! it is heard with an error. The tolerance is widened, too. Ticks of a picosecond are hardly longer than the roundings of times, so there
//! time events are shifted by some ticks, too: a state event may come just before one of them or just after it.
use super::Case;
use crate::generate::{
    compare::{Bounds, difference},
    hybrid::build::{add, mul, num, pow, time, unary},
    named,
    run::{End, Runner},
    settings::{Executor, Method, Settings},
    tree::{self, Rewrite},
};
use superdense_judge::model::{Binary, Condition, Expr, Instant, Trigger, Unary, Variable};

/// The shift at t = 1 s.
const SHIFT: f64 = 1e-6;
/// Ticks of 10⁻¹² s and below are moved by so many.
const FINE: u32 = 12;
const TICKS: i64 = 4;

/// How a shift goes on.
#[derive(Clone, Copy, PartialEq)]
enum Course {
    /// It is the same at all times.
    Constant,
    /// It grows as the time's cube.
    Cube,
    /// It goes to and fro.
    Wave,
}

/// A shift by this number.
struct Drift(f64, Course);

fn moves(e: &Expr) -> bool {
    let still = |v: &Variable| matches!(v, Variable::Discrete(..) | Variable::Mode(_));
    !tree::reads_of(e).iter().all(still) && !tree::has_pre(e)
}

impl Drift {
    fn shifted(&self, e: Expr) -> Expr {
        if !moves(&e) {
            return e;
        }
        let course = match self.1 {
            Course::Constant => num(1.0),
            Course::Cube => pow(time(), 3),
            Course::Wave => mul(time(), unary(Unary::Sin, mul(num(20.0), time()))),
        };
        add(e, mul(num(self.0), course))
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

fn drifted(case: &Case, by: f64, course: Course) -> Case {
    let mut model = named::inlined(&case.model);
    let links = std::mem::take(&mut model.links);
    tree::rewrite(&mut model, &mut Drift(by, course));
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| {
            if let Trigger::Crossing { formula, .. } = &mut e.trigger {
                let old = std::mem::replace(formula, Expr::Number(0.0));
                *formula = Drift(by, course).shifted(old);
            }
        });
    }
    model.links = links;
    // Links read no time.
    for link in &mut model.links {
        let shifted = std::mem::replace(&mut link.when, Condition::And(Vec::new()));
        link.when = tree::condition(shifted, &mut Drift(by, Course::Constant));
    }
    case.with(model)
}

/// Ticks per second, of at least so many seconds.
pub(super) fn ticks(case: &Case, seconds: f64) -> i64 {
    (seconds * 10_f64.powi(case.model.resolution as i32)).ceil() as i64
}

/// Whether the events of a model are the same under shifts of this size at least, and of small ones.
pub(super) fn is_stable(case: &Case, runner: &Runner, at_least: f64) -> bool {
    is_same(case, runner, Course::Cube, at_least.max(SHIFT))
}

/// The same, where thresholds are shifted at the start, too.
pub(super) fn is_stable_from_the_start(case: &Case, runner: &Runner) -> bool {
    is_same(case, runner, Course::Constant, SHIFT)
}

fn is_same(case: &Case, runner: &Runner, course: Course, shift: f64) -> bool {
    let algebraic = case.model.units.iter().any(|u| !u.algebraic.is_empty());
    let method = if algebraic { Method::Rodas } else { Method::Rk45 };
    let mut exact = case.clone();
    let settings = Settings { executor: Executor::Sequential, ..Settings::of(method) };
    exact.settings = settings.tightened(0.01);
    let base = exact.run(runner);
    if base.end != End::Reached {
        return false;
    }
    let far = (1e3 * shift).min(0.05);
    let bounds = Bounds { ticks: ticks(case, far).max(2), values: far };
    let stays = |other: Case| difference(&base, &other.run(runner), bounds).is_none();
    let wide = Case { settings, ..exact.clone() };
    let drifts = [(shift, course), (-shift, course), (shift, Course::Wave)];
    stays(wide)
        && drifts.into_iter().all(|(by, course)| stays(drifted(&exact, by, course)))
        && (case.model.resolution < FINE
            || [TICKS, -TICKS].iter().all(|by| stays(late(&exact, *by))))
}

/// Time events come so many ticks later.
fn late(case: &Case, by: i64) -> Case {
    let mut model = case.model.clone();
    let ticks = 10_i64.pow(model.resolution);
    let move_one = |at: &mut Instant| {
        let whole = at.numerator.checked_mul(ticks).zip(at.denominator.checked_mul(ticks));
        if let Some((numerator, denominator)) = whole
            && numerator > 0
        {
            *at = Instant { numerator: numerator + by * at.denominator, denominator };
        }
    };
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| match &mut e.trigger {
            Trigger::At(list) => list.iter_mut().for_each(move_one),
            Trigger::Every { from, .. } => move_one(from),
            Trigger::When { .. } | Trigger::Crossing { .. } => {}
        });
    }
    case.with(model)
}
