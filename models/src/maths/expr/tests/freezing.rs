//! Sides shared, counted and named by the freezer.
use super::super::{Condition, Expr, Freezer, Kind, VarId};
use super::{condition, expr};

/// x and t move; sides stand from variable 10 on.
fn freezer() -> Freezer<impl Fn(VarId) -> bool> {
    Freezer::new(VarId(10), |v| v.0 == 0 || v.0 == 3)
}

/// The truth of a frozen condition with these sides.
fn holds(truth: &Expr, sides: &[f64]) -> bool {
    let mut vars = vec![f64::NAN; 10];
    vars.extend_from_slice(sides);
    truth.eval(&vars) != 0.0
}

/// Comparisons of one difference share its side, whatever their direction.
#[test]
fn relations_share_sides_up_to_sign() {
    let mut freezer = freezer();
    let all: [(&str, [bool; 3]); 8] = [
        ("x < 1", [true, false, false]),
        ("x <= 1", [true, true, false]),
        ("x > 1", [false, false, true]),
        ("x >= 1", [false, true, true]),
        ("1 > x", [true, false, false]),
        ("1 < x", [false, false, true]),
        ("not x < 1", [false, true, true]),
        ("not (1 <= x)", [true, false, false]),
    ];
    for (text, expected) in all {
        let truth = freezer.condition(&condition(text), None);
        assert_eq!(truth.vars(), [VarId(10)], "{text}: {truth}");
        // The function is x - 1.
        let found = [-1.0, 0.0, 1.0].map(|side| holds(&truth, &[side]));
        assert_eq!(found, expected, "{text}: {truth}");
    }
    assert_eq!(freezer.found().len(), 1);
    assert_eq!(freezer.found()[0].function.to_string(), "v0 - 1.0");
    // Expressions share it as well, floors do not.
    freezer.freeze(&expr("max(x, 1) + abs(1 - x)"), None);
    assert_eq!(freezer.found().len(), 1);
    freezer.freeze(&expr("floor(x - 1)"), None);
    let kinds: Vec<Kind> = freezer.found().iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [Kind::Sign, Kind::Floor]);
}

/// Functions that round down have no opposite: floor(-x) is not -floor(x).
#[test]
fn floors_share_no_sides_with_their_opposite() {
    let mut freezer = freezer();
    freezer.freeze(&expr("floor(x) + floor(-x) + ceil(x)"), None);
    let functions: Vec<String> = freezer.found().iter().map(|f| f.function.to_string()).collect();
    assert_eq!(functions, ["v0", "-v0"]);
}

#[test]
fn relations_say_whether_they_are_opposite() {
    let mut freezer = freezer();
    assert_eq!(freezer.relation(&expr("x - t"), None), Some((0, false)));
    assert_eq!(freezer.relation(&expr("t - x"), None), Some((0, true)));
    assert_eq!(freezer.relation(&expr("x - 2*t"), None), Some((1, false)));
    assert_eq!(freezer.relation(&expr("y - z"), None), None, "stands still");
    assert_eq!(freezer.relation(&expr("n"), None), None);
    assert_eq!(freezer.found().len(), 2);
    assert!(freezer.found().iter().all(|f| !f.stops && f.passes.is_none() && f.modes.is_none()));
}

/// Sides stop solvers where equations or other functions read them, also if conditions came first.
#[test]
fn stops() {
    let stops = |f: &Freezer<_>| f.found().iter().map(|f| f.stops).collect::<Vec<_>>();
    let mut freezer = freezer();
    freezer.condition(&condition("x > 1"), None);
    assert_eq!(stops(&freezer), [false]);
    freezer.condition(&condition("abs(t) > 2 or x > 1"), None);
    assert_eq!(stops(&freezer), [false, true, false], "the inner one");
    freezer.freeze(&expr("if x < 1 then y else z"), None);
    assert_eq!(stops(&freezer), [true, true, false]);
    // Relations that conditions read later go on stopping; new ones do not stop.
    freezer.condition(&condition("x >= 1 and t > 5"), None);
    freezer.relation(&expr("x - 7"), None);
    assert_eq!(stops(&freezer), [true, true, false, false, false]);
    freezer.freeze(&expr("abs(x - 7)"), None);
    assert_eq!(stops(&freezer), [true, true, false, false, true]);
}

/// Functions are looked at in the modes that mention them; in all if something does without a mode.
#[test]
fn modes() {
    let modes = |f: &Freezer<_>| f.found().iter().map(|f| f.modes.clone()).collect::<Vec<_>>();
    let mut freezer = freezer();
    freezer.condition(&condition("x > 1"), Some(1.0));
    freezer.condition(&condition("x <= 1"), Some(2.0));
    freezer.condition(&condition("x < 1"), Some(1.0));
    freezer.relation(&expr("t - x"), Some(3.0));
    assert_eq!(modes(&freezer), [Some(vec![1.0, 2.0]), Some(vec![3.0])]);
    freezer.freeze(&expr("abs(x - 1)"), None);
    assert_eq!(modes(&freezer), [None, Some(vec![3.0])]);
    freezer.condition(&condition("x > 1"), Some(1.0));
    assert_eq!(modes(&freezer)[0], None, "still in all");
}

/// Inner functions are looked at wherever outer ones are.
#[test]
fn inner_functions_have_the_modes_of_outer_ones() {
    let mut freezer = freezer();
    freezer.condition(&condition("abs(x) > 1"), Some(1.0));
    freezer.condition(&condition("abs(x) > 1"), Some(2.0));
    for frozen in freezer.found() {
        assert_eq!(frozen.modes, Some(vec![1.0, 2.0]), "{}", frozen.function);
    }
}

/// Equality of what moves holds at rest on zero, and in passing, which a variable of its own tells.
#[test]
fn equalities_pass() {
    let mut freezer = freezer();
    let truth = freezer.condition(&condition("x == t"), None);
    let passes: Vec<Option<usize>> = freezer.found().iter().map(|f| f.passes).collect();
    assert_eq!(passes, [None, Some(0)]);
    for (sides, expected) in [
        ([-1.0, 0.0], false),
        ([1.0, 0.0], false),
        ([0.0, 0.0], true),
        ([-1.0, 1.0], true),
        ([1.0, 1.0], true),
    ] {
        assert_eq!(holds(&truth, &sides), expected, "{sides:?}");
    }
    // The opposite, and one that is negated, share both.
    let same = freezer.condition(&condition("t == x"), None);
    let off = freezer.condition(&condition("not t == x"), None);
    assert_eq!((freezer.found().len(), same.vars(), off.vars()), (2, truth.vars(), truth.vars()));
    assert!(holds(&off, &[1.0, 0.0]) && !holds(&off, &[1.0, 1.0]));
    assert!(freezer.found().iter().all(|f| !f.stops));
    // Inequality needs no passing.
    let mut freezer = self::freezer();
    let truth = freezer.condition(&condition("x != t"), None);
    assert_eq!((freezer.found().len(), truth.vars()), (1, vec![VarId(10)]));
}

/// The passing is told in every mode in which the equality is asked for.
#[test]
fn passings_have_the_modes_of_their_functions() {
    let mut freezer = freezer();
    freezer.condition(&condition("x == t"), Some(1.0));
    freezer.condition(&condition("x == t"), Some(2.0));
    for frozen in freezer.found() {
        assert_eq!(frozen.modes, Some(vec![1.0, 2.0]), "passes: {:?}", frozen.passes);
    }
}

/// A value that stands still between events is compared as it is.
#[test]
fn what_stands_still_needs_no_side() {
    let mut freezer = freezer();
    let truth = freezer.condition(&condition("y > 1 and not abs(z) == 2"), None);
    assert!(freezer.found().is_empty());
    for (y, z, expected) in [(2.0, 3.0, true), (1.0, 3.0, false), (2.0, -2.0, false)] {
        assert_eq!(truth.eval(&[f64::NAN, y, z]) != 0.0, expected, "{y} {z}");
    }
    let mixed = freezer.condition(&condition("x > 1 or y > 1"), None);
    assert_eq!(mixed.vars(), [VarId(1), VarId(10)]);
    let constant = |text: &str| Condition::parse(text, &super::scope()).unwrap();
    for (text, expected) in [("1 < 2", 1.0), ("1 > 2", 0.0)] {
        let truth = freezer.condition(&constant(text), None);
        assert_eq!(truth.as_constant(), Some(expected), "{text}");
    }
}

/// A part that stands in `noevent` only is left as it is; one that stands elsewhere, too, has its side there.
#[test]
fn plain_parts_have_no_side() {
    for (text, frozen, sides) in [
        ("noevent(max(x, 0))", "max(v0, 0.0)", 0),
        ("2*noevent(abs(x))", "2.0*abs(v0)", 0),
        ("noevent(abs(x)) + abs(x)", "abs(v0) + v10*v0", 1),
        ("noevent(3*x)", "3.0*v0", 0),
    ] {
        let mut freezer = freezer();
        assert_eq!(freezer.freeze(&expr(text), None).to_string(), frozen, "{text}");
        assert_eq!(freezer.found().len(), sides, "{text}");
    }
}
