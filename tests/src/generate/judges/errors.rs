//! Errors in which a run may end by the rules.
use super::{Case, stable};
use crate::generate::tree;
use superdense_judge::model::{Expr, Unit, Variable};
use superdense_judge::{FailureKind, Reason, Verdict};

/// Words of the messages about events without end, which follow on each other in micro-steps or in ticks: which of them is
/// a matter of the last bit.
const ENDLESS: [&str; 4] = ["micro-steps", "Zeno or chattering", "chattering:", "times in a row"];
/// Words of the messages about a solution that ends: it has a pole, or leaves the domain of a function.
const ENDS: [&str; 2] = ["grows beyond bounds", "not finite"];
/// Words of the message about a state that `rest` would stop.
const STOPS: &str = "`rest` stops all states";

/// The instants of the error may differ by so many seconds.
const APART: f64 = 1e-3;

/// Words of the messages about an error of this kind.
fn words(kind: FailureKind) -> &'static [&'static str] {
    match kind {
        FailureKind::MicroSteps | FailureKind::Chattering => &ENDLESS,
        FailureKind::Rounds => &["do not agree with each other"],
        FailureKind::NotANumber => &["not finite"],
        FailureKind::FallsThrough => &["falls through", "has fallen through"],
        FailureKind::MovesAtRest => &[STOPS],
    }
}

/// The tick that a message names, in ticks or in seconds.
pub(super) fn tick(why: &str, resolution: u32) -> Option<i64> {
    let at = why.split(" at ").skip(1).find_map(|at| {
        let ticks = at.strip_prefix('(').and_then(|at| at.split(',').next()?.parse::<f64>().ok());
        let seconds = || at.split(" s").next()?.parse::<f64>().ok();
        ticks.or_else(|| seconds().map(|s| s * 10_f64.powi(resolution as i32)))
    });
    at.map(|at| at.round() as i64)
}

/// Whether the error `why` is that of a verdict, at its time. Of a solution that ends only the last instant before is
/// known.
pub(super) fn is_right(case: &Case, why: &str, verdict: &Verdict) -> bool {
    let (words, lo, hi) = match verdict {
        Verdict::Error(failure) => (words(failure.kind), failure.time.lo, failure.time.hi),
        Verdict::Undecided(u) if u.reason == Reason::Singular => (&ENDS[..], u.until, i64::MAX / 2),
        _ => return false,
    };
    let slack = stable::ticks(case, APART).max(20);
    let near = |tick| (lo.saturating_sub(slack)..=hi.saturating_add(slack)).contains(&tick);
    tick(why, case.model.resolution).is_some_and(near)
        && words.iter().any(|word| why.contains(word))
}

/// Whether the error is about a `rest` that leaves out a state with a derivative: as soon as it is taken, it is one.
pub(super) fn rests_in_part(case: &Case, why: &str) -> bool {
    why.contains(STOPS)
        && case.model.units.iter().enumerate().any(|(at, unit)| leaves_out(at, unit))
}

fn leaves_out(at: usize, unit: &Unit) -> bool {
    let modes = || unit.modes.iter().filter_map(|m| m.derivatives.as_ref());
    let zero = |e: &Expr| *e == Expr::Number(0.0);
    let moves = |k: usize| {
        !zero(&unit.derivatives[k]) || modes().any(|d| d[k].as_ref().is_some_and(|e| !zero(e)))
    };
    let mut rests = tree::events(unit).filter_map(|e| e.rest.as_ref());
    let named = |k: usize, values: &[(Variable, f64)]| {
        values.iter().any(|(v, _)| *v == Variable::State(at, k))
    };
    rests.any(|rest| (0..unit.states.len()).any(|k| moves(k) && !named(k, &rest.values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_tick() {
        for (why, right) in [
            ("u1 at (1000000, 0): event `e0`", Some(1_000_000)),
            ("more than 10000 micro-steps at (1142857143, 10001): a loop", Some(1_142_857_143)),
            ("u0 at 0.001001 s: 1001 state events, each at most 2 ticks after", Some(1001)),
            ("no instant", None),
        ] {
            assert_eq!(tick(why, 6), right, "{why}");
        }
    }
}
