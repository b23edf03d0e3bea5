//! By what inputs are excluded beforehand, each with its reason.
use super::{
    named,
    settings::Method,
    tree::{self, Part},
};
use superdense_judge::model::{
    Binary, Comparison, Condition, Event, Expr, Model, Switching, Trigger, Unary, Unit, Variable,
};

/// Why a model is not run under a method.
pub fn under(model: &Model, method: Method) -> Option<&'static str> {
    let model = &named::inlined(model);
    let algebraic = model.units.iter().any(|u| !u.algebraic.is_empty());
    let direct = matches!(method, Method::Rodas | Method::Taylor | Method::Closed | Method::Auto);
    if algebraic && !direct {
        return Some("the method solves no algebraic equations");
    }
    let sliding = model.units.iter().any(|u| u.switching == Switching::Sliding);
    if sliding && method.is_quantised() {
        return Some("quantised methods do not slide");
    }
    if method.is_quantised() && has_kinks(model) {
        return Some("quantised methods do not look at conditions with kinks");
    }
    if method == Method::Taylor && has_roots(model) {
        return Some("a root has no series at 0");
    }
    let late = tree::is_late(model);
    if late && method == Method::Rk4 {
        return Some("fixed steps over a billion seconds");
    }
    if late && method.is_quantised() {
        return Some("values that follow the time near a billion seconds have too many quanta");
    }
    if method == Method::Rk4 && is_stiff(model) {
        return Some("fixed steps are too long for it");
    }
    None
}

/// Whether a condition of an event has a function with kinks or jumps.
fn has_kinks(model: &Model) -> bool {
    let has = |e: &Event| {
        let mut list = Vec::new();
        tree::parts_of_trigger(&e.trigger, &mut list);
        list.iter().any(is_kink)
    };
    model.units.iter().any(|u| tree::events(u).any(has))
}

/// Whether a part is a function with kinks or jumps.
pub(super) fn is_kink(part: &Part<'_>) -> bool {
    match part {
        Part::Expression(Expr::Unary(f, _)) => {
            matches!(f, Unary::Abs | Unary::Sign | Unary::Step | Unary::Floor | Unary::Ceil)
        }
        Part::Expression(Expr::Binary(f, ..)) => {
            matches!(f, Binary::Min | Binary::Max | Binary::Mod)
        }
        Part::Expression(Expr::If(..)) => true,
        _ => false,
    }
}

/// Whether derivatives have large factors.
pub(super) fn is_stiff(model: &Model) -> bool {
    let large = |e: &Expr| {
        let mut list = Vec::new();
        tree::parts(e, &mut list);
        list.iter().any(|p| matches!(p, Part::Expression(Expr::Number(x)) if x.abs() > 20.0))
    };
    model.units.iter().any(|u| u.derivatives.iter().any(large))
}

/// Whether derivatives have square roots.
fn has_roots(model: &Model) -> bool {
    let root = |e: &Expr| {
        let mut list = Vec::new();
        tree::parts(e, &mut list);
        list.iter().any(|p| matches!(p, Part::Expression(Expr::Unary(Unary::Sqrt, _))))
    };
    model.units.iter().any(|u| u.derivatives.iter().any(root))
}

/// Why a model is not run at all.
pub fn model(model: &Model) -> Option<&'static str> {
    let any = |is: &dyn Fn(&Condition, &Unit) -> bool| {
        let has = |unit: &Unit| {
            let hit = |e: &Event| matches!(&e.trigger, Trigger::When { condition, .. } if is(condition, unit));
            tree::events(unit).any(hit)
        };
        model.units.iter().any(has)
    };
    if any(&|c, unit| misplaced_equality(c, unit, true)) {
        return Some("equality of values that move stands as a conjunct only (rule 14)");
    }
    if model.links.iter().any(|l| has_equality(&l.when)) {
        return Some("members of a link know what others hold as inputs, which move (rule 14)");
    }
    if any(&|c, _| compares_ends(c)) {
        return Some(
            "a remainder and an end of its range: refused (C14.21), or true always or never but for rounding",
        );
    }
    if any(&|c, _| equates_algebraic(c)) {
        return Some(
            "equality of an algebraic value: whether it crosses or touches is its solver's",
        );
    }
    let slides = |u: &Unit| u.switching == Switching::Sliding && !u.residuals.is_empty();
    if model.units.iter().any(slides) {
        return Some("solutions of algebraic equations do not slide");
    }
    let stairs = |unit: &Unit| {
        tree::events(unit).any(|e| match &e.trigger {
            Trigger::Crossing { formula, .. } => is_stairs(formula, unit),
            _ => false,
        })
    };
    if model.units.iter().any(stairs) {
        return Some("a crossing of what only jumps is refused: `when` sees it");
    }
    if model.units.iter().enumerate().any(|(at, u)| chatters(at, u)) {
        return Some("friction without `sliding` ends in an error about chattering (H22)");
    }
    if model.units.iter().any(|u| u.derivatives.iter().any(has_border)) {
        return Some("the solution ends in an error where a root or a logarithm has no value");
    }
    None
}

/// Whether a state is driven back to its own zero from both sides, and does not slide.
fn chatters(at: usize, unit: &Unit) -> bool {
    let back = |(k, e): (usize, &Expr)| {
        let state = Expr::Read(Variable::State(at, k));
        let mut list = Vec::new();
        tree::parts(e, &mut list);
        list.iter().any(|part| match part {
            Part::Expression(Expr::Binary(Binary::Subtract, _, b)) => {
                matches!(&**b, Expr::Unary(Unary::Sign, a) if **a == state)
            }
            _ => false,
        })
    };
    unit.switching == Switching::Located && unit.derivatives.iter().enumerate().any(back)
}

/// Whether a condition has an equality.
fn has_equality(c: &Condition) -> bool {
    has_relation(c, &|how, _, _| matches!(how, Comparison::Equal | Comparison::NotEqual))
}

/// Whether an expression is constant between jumps.
fn is_stairs(e: &Expr, unit: &Unit) -> bool {
    match e {
        Expr::Unary(Unary::Sign | Unary::Step | Unary::Floor | Unary::Ceil, _) => true,
        Expr::Unary(_, a) | Expr::Power(a, _) => is_stairs(a, unit),
        Expr::Binary(_, a, b) | Expr::If(_, a, b) => is_stairs(a, unit) && is_stairs(b, unit),
        Expr::Number(_) | Expr::Read(_) | Expr::Pre(_) => tree::is_discrete(e, unit),
    }
}

/// Whether an expression has a root or a logarithm of something that may be negative.
fn has_border(e: &Expr) -> bool {
    let bounded = |a: &Expr| {
        let least = |e: &Expr| matches!(e, Expr::Number(x) if *x >= 0.0);
        matches!(a, Expr::Binary(Binary::Max, a, b) if least(a) || least(b))
    };
    let mut list = Vec::new();
    tree::parts(e, &mut list);
    list.iter().any(|part| match part {
        Part::Expression(Expr::Unary(Unary::Sqrt | Unary::Log, a)) => !bounded(a),
        _ => false,
    })
}

/// Whether a condition has a relation that `is` so.
fn has_relation(c: &Condition, is: &dyn Fn(Comparison, &Expr, &Expr) -> bool) -> bool {
    match c {
        Condition::Relation(how, a, b) => is(*how, a, b),
        Condition::And(list) | Condition::Or(list) => list.iter().any(|c| has_relation(c, is)),
        Condition::Not(c) => has_relation(c, is),
    }
}

/// Whether a condition compares a remainder with an end of its range in a way that is refused, always or never true.
fn compares_ends(c: &Condition) -> bool {
    has_relation(c, &|how, a, b| match (a, b) {
        (Expr::Binary(Binary::Mod, _, divisor), Expr::Number(x))
        | (Expr::Number(x), Expr::Binary(Binary::Mod, _, divisor)) => {
            let left = matches!(b, Expr::Number(_));
            // `0 < mod(x, 1)` and `mod(x, 1) > 0` stay.
            let ordinary = if left { Comparison::Greater } else { Comparison::Less };
            let equal = matches!(how, Comparison::Equal | Comparison::NotEqual);
            *x == 0.0 && how != ordinary || equal && matches!(&**divisor, Expr::Number(y) if y == x)
        }
        _ => false,
    })
}

/// Whether a condition has an equality of an algebraic value.
fn equates_algebraic(c: &Condition) -> bool {
    let reads = |e: &Expr| {
        let mut list = Vec::new();
        tree::parts(e, &mut list);
        let algebraic =
            |p: &Part<'_>| matches!(p, Part::Expression(Expr::Read(Variable::Algebraic(..))));
        list.iter().any(algebraic)
    };
    has_relation(c, &|how, a, b| {
        matches!(how, Comparison::Equal | Comparison::NotEqual) && (reads(a) || reads(b))
    })
}

/// Whether values that move are compared for equality anywhere but as a conjunct.
fn misplaced_equality(c: &Condition, unit: &Unit, conjunct: bool) -> bool {
    match c {
        Condition::Relation(Comparison::Equal | Comparison::NotEqual, a, b) => {
            let moves = [a, b].iter().any(|e| !tree::is_discrete(e, unit));
            moves && !conjunct
        }
        Condition::Relation(..) => false,
        Condition::And(list) => list.iter().any(|c| misplaced_equality(c, unit, conjunct)),
        Condition::Or(list) => list.iter().any(|c| misplaced_equality(c, unit, false)),
        Condition::Not(c) => misplaced_equality(c, unit, false),
    }
}

/// Whether a condition has an equality of values that move, which may not stand under `not`.
pub fn has_moving_equality(c: &Condition, unit: &Unit) -> bool {
    misplaced_equality(c, unit, false)
}

/// Whether a formula is affine in states and inputs, with discrete factors.
pub fn is_affine(model: &Model) -> bool {
    model.units.iter().all(|u| {
        let lists = [&u.derivatives, &u.residuals];
        let modes = u.modes.iter().flat_map(|m| m.derivatives.iter().flatten().flatten());
        lists.into_iter().flatten().chain(modes).all(|e| degree(e, u) <= 1)
    })
}

/// The degree in what moves; 9 where there is none. Functions that are affine in pieces keep it.
fn degree(e: &Expr, unit: &Unit) -> u32 {
    match e {
        Expr::Number(_) => 0,
        Expr::Read(Variable::Discrete(..) | Variable::Mode(_)) => 0,
        Expr::Read(Variable::Let(_, k)) => unit.lets.get(*k).map_or(9, |e| degree(e, unit)),
        Expr::Read(_) | Expr::Pre(_) => 1,
        Expr::Unary(Unary::Negate | Unary::Abs, a) => degree(a, unit),
        Expr::Unary(Unary::Sign | Unary::Step | Unary::Floor | Unary::Ceil, a) => {
            if degree(a, unit) <= 1 { 0 } else { 9 }
        }
        Expr::Unary(_, a) => {
            if degree(a, unit) == 0 {
                0
            } else {
                9
            }
        }
        Expr::Binary(Binary::Multiply, a, b) => degree(a, unit) + degree(b, unit),
        Expr::Binary(Binary::Divide, a, b) => {
            degree(a, unit) + if degree(b, unit) == 0 { 0 } else { 9 }
        }
        Expr::Binary(_, a, b) => degree(a, unit).max(degree(b, unit)),
        Expr::Power(a, n) => degree(a, unit) * n,
        Expr::If(c, a, b) => {
            let inner = match &**c {
                Condition::Relation(_, a, b) => degree(a, unit).max(degree(b, unit)),
                _ => 9,
            };
            if inner > 1 { 9 } else { degree(a, unit).max(degree(b, unit)) }
        }
    }
}
