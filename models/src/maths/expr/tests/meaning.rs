//! Meaning of functions, conditions, derivatives and switches, by tables.

use std::f64::consts::{E, PI};

use super::super::{Expr, VarId};
use super::{condition, expr, same};

#[test]
fn functions_have_their_values() {
    for (text, value) in [
        ("sin(pi/2) + cos(0) + tan(0)", 2.0),
        ("asin(1)", PI / 2.0),
        ("acos(-1)", PI),
        ("4*atan(1)", PI),
        ("atan2(1, -1)", 0.75 * PI),
        ("sinh(0) + cosh(0) + tanh(0)", 1.0),
        ("exp(1)", E),
        ("ln(e)", 1.0),
        ("log10(1000) + log2(8)", 6.0),
        ("sqrt(16) + cbrt(-27)", 1.0),
        ("abs(-2) + sign(-3) + sign(0) + sign(5)", 2.0),
        ("min(3, 1, 2) + max(3, 1, 2) + min(7)", 11.0),
        ("floor(-1.5) + ceil(-1.5)", -3.0),
        ("round(2.5) + round(-2.5) + trunc(-1.9)", -1.0),
        ("mod(7, 3) + 10*mod(-7, 3) + 100*mod(7, -3) + 1000*mod(-6, 3)", -179.0),
        ("hypot(3, 4) + pow(2, 10)", 1029.0),
        ("step(-1) + 10*step(0) + 100*step(1)", 110.0),
        ("clamp(5, 0, 1) + clamp(-5, 0, 1) + clamp(0.25, 0, 1)", 1.25),
        ("lambertw(e)", 1.0),
        ("2^-2 + (-2)^3 + 2^0.5^2", 0.25 - 8.0 + 2f64.powf(0.25)),
        ("10^15", 1e15),
        ("4^0.5 + 4^-0.5", 2.5),
        ("if 1 < 2 then 3 else 1/0", 3.0),
        ("if 1 >= 2 or not (1 != 1) and true then 3 else 4", 3.0),
    ] {
        let value_found = expr(text).as_constant();
        assert!(value_found.is_some_and(|v| (v - value).abs() < 1e-14), "{text} = {value_found:?}");
    }
}

#[test]
fn nan_and_zero_are_handled_as_documented() {
    let nan = f64::NAN;
    for (text, x, value) in [
        ("min(x, 1)", nan, nan),
        ("min(1, x)", nan, nan),
        ("max(x, 1)", nan, nan),
        ("max(1, x)", nan, nan),
        ("sign(x)", nan, nan),
        ("step(x)", nan, nan),
        ("sign(x)", -0.0, 0.0),
        ("step(x)", -0.0, 1.0),
        ("if x < 1 then 1 else 2", nan, 2.0),
        ("if not x >= 1 then 1 else 2", nan, 1.0),
        ("if x != x then 1 else 2", nan, 1.0),
        ("if x > 0 then sqrt(x) else 0", -1.0, 0.0),
        ("if x > 0 then 1 else ln(x)*sqrt(x)", 2.0, 1.0),
        ("x + 0", -0.0, 0.0),
        ("x - 0", -0.0, -0.0),
        ("0*x", nan, nan),
        ("x^0", nan, 1.0),
    ] {
        assert!(same(expr(text).eval(&[x]), value), "{text} at {x}");
    }
}

#[test]
fn derivatives_have_their_values() {
    for (text, at, slope) in [
        ("3", 1.0, 0.0),
        ("y + n", 1.0, 0.0),
        ("x/y", 3.0, 0.5),
        ("y/x", 4.0, -0.125),
        ("x^5", 2.0, 80.0),
        ("x^-2", 2.0, -0.25),
        ("x^2.5", 4.0, 20.0),
        ("y^x", 3.0, 8.0 * std::f64::consts::LN_2),
        ("x^x", 1.0, 1.0),
        ("x^y", 0.0, 0.0),
        ("sqrt(x)", 4.0, 0.25),
        ("cbrt(x)", 8.0, 1.0 / 12.0),
        ("exp(2*x)", 0.0, 2.0),
        ("ln(3*x)", 2.0, 0.5),
        ("log2(x)", 1.0, std::f64::consts::LOG2_E),
        ("log10(x)", 1.0, std::f64::consts::LOG10_E),
        ("sin(x)", 0.0, 1.0),
        ("cos(x)", PI / 2.0, -1.0),
        ("tan(x)", PI / 4.0, 2.0),
        ("asin(x)", 0.6, 1.25),
        ("acos(x)", 0.6, -1.25),
        ("atan(x)", 1.0, 0.5),
        ("sinh(x)", 0.0, 1.0),
        ("cosh(x)", 0.0, 0.0),
        ("tanh(x)", 0.0, 1.0),
        ("lambertw(x)", 0.0, 1.0),
        ("lambertw(x)", E, 0.5 / E),
        ("atan2(x, y)", 0.0, 0.5),
        ("atan2(y, x)", 0.0, -0.5),
        ("hypot(x, y)", 1.5, 0.6),
        ("abs(x)", -2.0, -1.0),
        ("abs(x)", 0.0, 0.0),
        ("sign(x) + step(x) + floor(x) + ceil(x) + round(x) + trunc(x)", 0.7, 0.0),
        ("min(x^2, y)", 1.0, 2.0),
        ("min(x^2, y)", 3.0, 0.0),
        ("max(x^2, y)", 3.0, 6.0),
        ("mod(x, y)", 3.0, 1.0),
        ("mod(y, x)", 0.75, -2.0),
        ("if x > 1 then x^2 else 5*x", 2.0, 4.0),
        ("if x > 1 then x^2 else 5*x", 0.0, 5.0),
        ("if x > 1 then 1 else 0", 2.0, 0.0),
    ] {
        let derivative = expr(text).differentiate(VarId(0));
        let found = derivative.eval(&[at, 2.0]);
        assert!((found - slope).abs() < 1e-14, "{text} at {at}: {derivative} = {found}");
    }
}

#[test]
fn derivatives_are_simplified() {
    for (text, derivative) in [
        ("x", "1.0"),
        ("y*z", "0.0"),
        ("3*x + y", "3.0"),
        ("x*x", "2.0*v0"),
        ("(x - y)^2", "2.0*(v0 - v1)"),
        ("-y*x", "-v1"),
        ("x/4", "1.0/4.0"),
        ("exp(-x)", "-exp(-v0)"),
        ("cos(3*x)", "-3.0*sin(3.0*v0)"),
        ("abs(x)", "sign(v0)"),
        ("if y > 0 then x else 2*x", "if(0.0 < v1, 1.0, 2.0)"),
        ("if y > 0 then x else x + 1", "1.0"),
    ] {
        let found = expr(text).differentiate(VarId(0)).to_string();
        let reads = |text: &str| super::super::parse(text).unwrap();
        let scope = |name: &str| {
            let id = name.strip_prefix('v')?.parse().ok()?;
            Some(super::super::Symbol::Var(VarId(id)))
        };
        let value = |text: &str| reads(text).real(&scope).unwrap().eval(&[0.3, 0.7, 0.2]);
        assert!((value(&found) - value(derivative)).abs() < 1e-15, "{text}: {found}");
        assert!(found.len() <= derivative.len() + 2, "{text}: {found} instead of {derivative}");
    }
}

#[test]
fn repeated_derivatives_stay_small() {
    let x = VarId(0);
    let mut f = expr("sin(x)*exp(-x*y)/(1 + x^2)");
    for _ in 0..5 {
        f = f.differentiate(x);
    }
    assert!(f.nodes().len() < 400, "{} nodes", f.nodes().len());
    assert!(f.eval(&[0.3, 0.5]).is_finite());
}

#[test]
fn dependencies_are_those_of_the_text() {
    let vars = |text: &str| expr(text).vars().iter().map(|v| v.0).collect::<Vec<_>>();
    assert_eq!(vars("x*t + upper.x1"), [0, 3, 4]);
    assert_eq!(vars("if y > 0 then z else z"), [2]);
    assert!(vars("n + 1").is_empty());
    assert_eq!(
        condition("z > t and x > 1").vars().iter().map(|v| v.0).collect::<Vec<_>>(),
        [0, 2, 3]
    );
}

/// Alternatives joined by ` | `, the functions of each by `, `.
#[test]
fn conditions_become_alternatives() {
    let show = |text: &str| {
        let one =
            |all: &Vec<Expr>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        condition(text).alternatives().iter().map(one).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("x <= 0", &["v0"][..]),
        ("x >= 1", &["1.0 - v0"]),
        ("x > y", &["v1 - v0"]),
        ("0 < x", &["-v0"]),
        ("x <= 0 and y < 0 and z > 1", &["v0, v1, 1.0 - v2"]),
        ("not (x > y or z >= 1)", &["v0 - v1, v2 - 1.0"]),
        ("x == y", &["v0 - v1, v1 - v0"]),
        ("not x != y", &["v0 - v1, v1 - v0"]),
        ("x < 1 and x < 1", &["v0 - 1.0"]),
        ("x < 1 or y < 1", &["v0 - 1.0", "v1 - 1.0"]),
        ("x != 1", &["v0 - 1.0", "1.0 - v0"]),
        ("not x == 1", &["v0 - 1.0", "1.0 - v0"]),
        ("not (x < 1 and y < 1)", &["1.0 - v0", "1.0 - v1"]),
        ("x < 1 and (y < 1 or z < 1)", &["v0 - 1.0, v1 - 1.0", "v0 - 1.0, v2 - 1.0"]),
        ("not not (x < 1 or y < 1)", &["v0 - 1.0", "v1 - 1.0"]),
        ("1 < 2", &[""]),
        ("1 > 2", &[]),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

/// The logic stays, the functions change, and so does the truth on the variables.
#[test]
fn conditions_are_mapped() {
    let slopes = condition("x < 1 and not y == 2").map(|z| z.differentiate(VarId(0)));
    assert_eq!(slopes.atoms().len(), 2);
    assert_eq!(slopes.logic(), condition("x < 1 and not y == 2").logic());
    // The derivatives by x are 1 and 0: the first is not below zero.
    assert!(!slopes.eval(&[0.0, 0.0]));
    assert!(slopes.truth(&[-1.0, 1.0]) && !slopes.truth(&[-1.0, 0.0]));
}

#[test]
fn the_signs_of_the_atoms_decide() {
    let text = "x < 1 and not (y >= 2 or z == 3) or if t > 0 then x > 5 else y != 0";
    let condition = condition(text);
    for i in 0..3usize.pow(4) {
        let pick = |place: u32, values: [f64; 3]| values[i / 3usize.pow(place) % 3];
        let x = pick(0, [0.0, 1.0, 6.0]);
        let y = pick(1, [0.0, 2.0, 3.0]);
        let z = pick(2, [2.0, 3.0, 4.0]);
        let t = pick(3, [-1.0, 0.0, 1.0]);
        let expected =
            x < 1.0 && !(y >= 2.0 || z == 3.0) || if t > 0.0 { x > 5.0 } else { y != 0.0 };
        assert_eq!(condition.eval(&[x, y, z, t]), expected, "{x} {y} {z} {t}");
    }
}

#[test]
fn the_energy_of_a_pendulum_is_a_first_integral() {
    let [dx, dv] = ["y", "-sin(x)"].map(expr);
    let energy = expr("y^2/2 - cos(x)");
    let change = energy.derivative_along(&[(VarId(0), &dx), (VarId(1), &dv)]);
    assert_eq!(change.eval(&[0.7, -1.3]), 0.0);
    // Constants and variables made by hand work as well.
    let time = expr("x*t").derivative_along(&[(VarId(3), &Expr::constant(1.0))]);
    assert_eq!(time.nodes(), Expr::var(VarId(0)).nodes());
}
