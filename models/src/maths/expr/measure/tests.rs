//! Formulas over quantities.

use super::Measure;
use crate::maths::{
    expr::{Library, parse},
    quantity::unit,
};

fn names(name: &str) -> Measure {
    let text = match name {
        "x" | "y" => "m",
        "v" => "m/s",
        "a" | "g" => "m/s^2",
        "k" => "N/m",
        "mass" => "kg",
        "phi" => "rad",
        "tau" => "s",
        "T" | "U" => "degC",
        "dT" => return measure("T - U"),
        "R" => "K",
        "t" => return Measure::TIME,
        _ => return Measure::Unknown,
    };
    Measure::of(&unit(text).unwrap())
}

fn measure(text: &str) -> Measure {
    let (measure, errors) = parse(text).unwrap().measure(&names, &Library::new());
    assert!(errors.is_empty(), "{text}: {}", errors[0]);
    measure
}

fn refused(text: &str) -> String {
    let (_, errors) = parse(text).unwrap().measure(&names, &Library::new());
    assert_eq!(errors.len(), 1, "{text}");
    errors[0].to_string()
}

#[test]
fn dimensions_follow_the_operations() {
    for (text, is) in [
        ("x + v*tau", "in m"),
        ("v^2/(2*g) + x", "in m"),
        ("0.5*mass*v^2 + 0.5*k*x^2 + mass*g*x", "in m^2*kg/s^2"),
        ("sqrt(2*g*x) + v", "in m/s"),
        ("sqrt(x)*sqrt(x)*sqrt(x)", "in m^1.5"),
        ("(x*x*x)^(1/3) + cbrt(x^3)", "in m"),
        ("pow(x, 2)/x", "in m"),
        ("hypot(x, 2*y)", "in m"),
        ("x/y", "a pure number"),
        ("max(x, 0, y)", "in m"),
        ("if x > 1 and v < 0 then -x else 0", "in m"),
        ("sum(x[i]*i for i in 1..=3)", "in m"),
        ("x*exp(-t/tau)*sin(phi + 0.1)", "in m"),
        ("v*t + 0.5*g*t^2", "in m"),
        ("x*sin(2*t) + x*sin(50*t + 1)", "in m"),
        ("1/tau", "in 1/s"),
        ("x + unknown", "without a unit"),
        ("unknown*x + v", "without a unit"),
        ("atan2(x, y)", "without a unit"),
        ("2*3 + 1", "without a unit"),
        ("pre(x) + 1", "in m"),
        ("step(x - 1)*v + clamp(v, -1, 1)", "in m/s"),
        ("mod(x, y)", "in m"),
        ("3*t + 1", "without a unit"),
        ("(T + U)/2", "a temperature"),
        ("T - U", "a difference of temperatures"),
        ("U + 0.5*(T - U)", "a temperature"),
        ("T + dT*x/y", "in K"),
        ("T - 273.15 + 4", "without a unit"),
        ("(T - U)/tau", "a difference of temperatures, in K/s"),
        ("R*(T - U)", "a difference of temperatures, in K^2"),
        ("(T - U)/tau + (U - T)/tau", "in K/s"),
        ("k*T", "a temperature, in kg*K/s^2"),
        ("k*(T + U)*(T^2 + U^2)", "2 temperatures in a sum, in kg*K^3/s^2"),
        ("k*(T + (T - U))", "a temperature, in kg*K/s^2"),
        ("k*(1.5*T - 0.5*U)", "a temperature, in kg*K/s^2"),
        ("R + 20", "in K"),
    ] {
        assert_eq!(measure(text).text(), is, "{text}");
    }
}

#[test]
fn what_does_not_go_together_is_named_with_both_dimensions() {
    for (text, says) in [
        ("x + a", "`x` is in m, `a` is in m/s^2: they cannot be added"),
        ("1 + (x - v*2)", "`x` is in m, `v*2` is in m/s: they cannot be added"),
        ("x > v", "`x` is in m, `v` is in m/s: they cannot be compared"),
        ("if t > 1 then x else v", "`x` is in m, `v` is in m/s: no value can be either"),
        ("min(x, 1, v)", "`x` is in m, `v` is in m/s: no value can be either"),
        ("x + t", "`x` is in m, `t` is in s: they cannot be added"),
        ("x + x/y", "`x` is in m, `x/y` is a pure number: they cannot be added"),
        ("exp(x)", "`exp` takes a pure number, `x` is in m"),
        ("unknown*sin(v*t)", "`sin` takes a pure number, `v*t` is in m"),
        ("2^x", "an exponent takes a pure number, `x` is in m"),
        ("T > 22", "`T` is a temperature that counts in kelvin, `22` has no unit"),
        ("unknown - T", "`T` is a temperature that counts in kelvin, `unknown` has no unit"),
        (
            "T > T - U",
            "`T` is a temperature, `T - U` is a difference of temperatures: they cannot be compared",
        ),
        (
            "T < T + U",
            "`T` is a temperature, `T + U` is 2 temperatures in a sum: they cannot be compared",
        ),
        (
            "k*(T + U - T)",
            "`T + U - T` adds two temperatures and takes one away: that is a temperature, and no difference",
        ),
        ("T + x", "`T` is a temperature, `x` is in m: they cannot be added"),
        ("mod(x, tau) + 1", "`x` is in m, `tau` is in s: they cannot be added"),
        ("sum(x + v for i in 1..=9)", "`x` is in m, `v` is in m/s: they cannot be added"),
    ] {
        assert_eq!(refused(text), says, "{text}");
    }
}

#[test]
fn the_rate_of_a_temperature_is_made_of_differences() {
    let rate = Measure::of(&unit("degC").unwrap()).rate();
    for (text, fits) in [
        ("(T - U)/tau", true),
        ("(T + U - 2*T)/tau", true),
        ("T/tau - U/tau", true),
        ("R/tau", true),
        ("unknown*T", true),
        ("T/tau", false),
        ("-T/tau", false),
        ("(2*U - T)/tau", false),
        ("x/y*(2*U - T)/tau", false),
    ] {
        assert_eq!(measure(text).misfit(rate).is_none(), fits, "{text}");
    }
}
