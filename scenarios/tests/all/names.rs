//! Names that mean two things.
use crate::{
    plan,
    results::{run, value},
};

/// The results of a scenario, by name.
fn compare(text: &str, wanted: &[(&str, f64)]) {
    let done = run(text, &[]);
    for (name, wanted) in wanted {
        let found = value(&done, name).unwrap_or_else(|| panic!("{name} is absent"));
        assert!((found - wanted).abs() < 1e-6, "{name}: {found}, not {wanted}");
    }
}

/// A group of parameters called like a unit hides none of its outputs in results.
#[test]
fn outputs_that_are_parameters_too() {
    let tank = r#"
        stop = "3 s"
        [parameters.tank]
        h = 7.0
        rate = 2
        [parameters.r]
        T = 100
        [unit.tank]
        kind = "equations"
        states = { h = "tank.h" }
        derivatives = { h = "tank.rate" }
        outputs = { h = "h" }
        event_outputs = ["passed"]
        [[unit.tank.event]]
        name = "high"
        when = "h >= 9"
        emit = { passed = "h" }
        [unit.r]
        template = "x"
        [template.x]
        outputs = { T = "m.T" }
        [template.x.unit.m]
        kind = "equations"
        states = { T = 1 }
        derivatives = { T = "1" }
        outputs = { T = "T" }
        [result]
        end = "final(tank.h)"
        top = "max(tank.h - tank.rate) + tank.rate"
        first = "first(tank.h > 10)"
        passed = "mean(tank.passed)"
        part = "final(r.T)"
        half = "percentile(r.T, 50)"
    "#;
    let wanted = [
        ("end", 13.0),
        ("top", 13.0),
        ("first", 1.5),
        ("passed", 9.0),
        ("part", 4.0),
        ("half", 2.5),
    ];
    compare(tank, &wanted);
    let alone = format!("{tank}\nalone = \"tank.h\"");
    let refused = plan(&alone).expect_err("an output is no number");
    let help = &refused.mistakes()[0].help;
    assert!(help.contains("or give the parameter that has the name of this output"), "{help}");
}

/// The index of an array stands above a parameter of its name, in keys as in values.
#[test]
fn indices_that_are_parameters_too() {
    let text = r#"
        stop = "3 s"
        [parameters]
        i = 9
        k = 2
        [unit.c]
        kind = "equations"
        parameters = { j = 3 }
        states = { "x[1..=3]" = 0, "y[k in 1..=3]" = 1, "z[j in 1..=2]" = 0 }
        derivatives = { "x[i]" = "i", "y[k]" = "k", "y[3]" = "i", "z[j]" = "j + k" }
        outputs = { s = "sum(x[k] for k in 1..=3)", t = "sum(y[k] for k in 1..=3)", z = "z[1]", w = "y[k]", i = "i" }
        [result]
        x = "final(c.s)"
        y = "final(c.t)"
        z = "final(c.z)"
        w = "final(c.w)"
        own = "final(c.i)"
    "#;
    // Outside of keys with an index, the names are parameters.
    compare(text, &[("x", 18.0), ("y", 39.0), ("z", 9.0), ("w", 7.0), ("own", 9.0)]);
}

/// Parameters are numbers in events, where no words stand beside them.
#[test]
fn parameters_in_events() {
    let text = r#"
        stop = "10 s"
        connections = ["a.y -> v.u via hold(0)", "s.y -> a.in"]
        [parameters]
        rate = 3
        stop_it = 7
        [unit.s]
        kind = "schedule"
        times = [1, 2, 5]
        values = ["rate", "2*rate", "stop_it"]
        [unit.a]
        kind = "automaton"
        states = ["idle", "busy"]
        inputs = ["in"]
        outputs = ["y"]
        transitions = [
            { from = "idle", on = "in", value = "rate", to = "busy", emit = "rate" },
            { from = "busy", on = "in", value = "stop_it", to = "idle", emit = 0 },
        ]
        [unit.v]
        kind = "integrator"
        [result]
        v = "final(v.y)"
    "#;
    assert!(plan(text).is_err(), "`2*rate` is a word");
    compare(&text.replace("\"2*rate\"", "6"), &[("v", 12.0)]);
}

/// Words and numbers of an encoder: a truth value is itself before it is 1, and paths of units may have slashes.
#[test]
fn values_that_are_alike() {
    let text = r#"
        stop = "10 s"
        connections = ["n.y -> e.u", "e.y -> c.u via hold(0)"]
        [unit.n]
        kind = "schedule"
        times = [1, 2, 3, 4]
        values = [1, 2.5, true, 1]
        [unit.e]
        kind = "encoder"
        map = { "1" = 10, "2.5" = 20, "true" = 30 }
        [unit.c]
        kind = "integrator"
        [unit.part]
        template = "part"
        [template.part.unit.b]
        kind = "equations"
        states = { x = 0 }
        derivatives = { x = "1" }
        outputs = { x = "x" }
        [[template.part.unit.b.event]]
        name = "late"
        when = "x >= 3"
        [result]
        c = "final(c.y)"
        late = "first(event('part/b', 'late'))"
    "#;
    compare(text, &[("c", 120.0), ("late", 3.0)]);
}
