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
