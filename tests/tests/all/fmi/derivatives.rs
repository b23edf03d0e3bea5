//! Derivatives of inputs and outputs that an FMU declares and does not have, as FMUs of OpenModelica do.
use super::{Bench, Run, S};

const ORDERS: [(&str, &str); 1] = [(
    "<CoSimulation modelIdentifier=\"driven\"",
    "<CoSimulation modelIdentifier=\"driven\" canInterpolateInputs=\"true\" maxOutputDerivativeOrder=\"1\"",
)];

/// Notes on derivatives.
fn told(run: &Run) -> Vec<String> {
    run.facts().into_iter().map(|f| f.1).filter(|text| text.contains("erivative")).collect()
}

/// Derivatives of an output that are no numbers, or refused, are none: the output is what it is without them.
#[test]
fn an_output_has_no_derivatives_that_are_no_numbers() {
    let own = "<CoSimulation modelIdentifier=\"steps\"";
    for (order, part) in [
        (
            "1",
            "the FMU gives no numbers as derivatives of x at 0.01 s, though maxOutputDerivativeOrder is 1",
        ),
        (
            "2",
            "fmi2GetOutputDerivatives gave error at 0.01 s, though maxOutputDerivativeOrder is 2",
        ),
    ] {
        let with = format!("{own} maxOutputDerivativeOrder=\"{order}\"");
        let bench = Bench::new(&format!("nan-slopes-{order}")).fmu_2("steps", &[(own, &with)]);
        for isolation in ["none", "process"] {
            let unit = format!(
                "[unit.u]\nkind = 'fmu'\npath = 'steps2.fmu'\ninterface = 'co-simulation'\n\
                 isolation = '{isolation}'\n"
            );
            let run = bench.run(&unit, S / 2);
            assert!((run.value("u", 0, S / 2) - 0.5).abs() < 1e-12);
            let told = told(&run);
            assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
            // A line through the last two points.
            assert!((run.value("u", 0, S / 2 + 5_000_000) - 0.505).abs() < 1e-9);
        }
    }
}

#[test]
fn nor_in_fmi_3() {
    let own = "<CoSimulation modelIdentifier=\"faulty\"";
    let with = format!("{own} maxOutputDerivativeOrder=\"2\"");
    let bench = Bench::new("nan-slopes-3").fmu("faulty", &[(own, &with)]);
    let unit = "[unit.u]\nkind = 'fmu'\npath = 'faulty.fmu'\nunconnected = 'ok'\n";
    let run = bench.run(&format!("{unit}start = {{ fault = 28 }}\n"), S);
    assert!((run.value("u", 0, S) - 1.0).abs() < 1e-12);
    let found = told(&run);
    assert!(found.len() == 1 && found[0].contains("no numbers as derivatives of y"), "{found:?}");
    let run = bench.run(unit, S);
    assert!(told(&run).is_empty());
}

/// An input follows its derivatives as far as the FMU takes them.
#[test]
fn inputs_follow_the_orders_that_an_fmu_takes() {
    let bench = Bench::new("input-slopes").fmu_2("driven", &ORDERS);
    let with = |u: &str, isolation: &str| {
        let text = format!(
            "connections = ['s.u -> u.u']\n[unit.s]\nkind = 'equations'\nstates = {{ w = 0 }}\n\
             derivatives = {{ w = 1 }}\noutputs = {{ u = '{u}' }}\n[unit.u]\nkind = 'fmu'\n\
             path = 'driven2.fmu'\ninterface = 'co-simulation'\nstep = '100 ms'\n\
             isolation = '{isolation}'\nunconnected = 'ok'\n"
        );
        let run = bench.run(&text, S);
        let about: Vec<_> = told(&run).into_iter().filter(|t| t.contains("Input")).collect();
        (run.value("u", 0, S), about)
    };
    let e = (-1.0_f64).exp();
    for isolation in ["none", "process"] {
        // x' = u - x.
        let (x, told) = with("1 + t", isolation);
        assert!((x - 1.0).abs() < 1e-9 && told.is_empty(), "{x} {told:?}");
        let (x, told) = with("t^2", isolation);
        assert!((x - (1.0 - 2.0 * e)).abs() < 0.01, "{x}");
        let part = "fmi2SetRealInputDerivatives of order 2 gave error, though canInterpolateInputs is true: inputs \
                    follow their derivatives up to order 1 inside steps";
        assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
    }
}

/// One that takes none is stepped all the same: what it hears is constant in each step.
#[test]
fn an_fmu_that_takes_no_derivatives_of_inputs_is_stepped_all_the_same() {
    let other =
        [ORDERS[0], ("name=\"u\" valueReference=\"2\"", "name=\"u\" valueReference=\"1002\"")];
    let bench = Bench::new("no-input-slopes").fmu_2("driven", &other);
    let text = "connections = ['s.u -> u.u']\n[unit.s]\nkind = 'equations'\nstates = { w = 0 }\n\
                derivatives = { w = 1 }\noutputs = { u = '1 + t' }\n[unit.u]\nkind = 'fmu'\n\
                path = 'driven2.fmu'\ninterface = 'co-simulation'\nstep = '10 ms'\nunconnected = 'ok'\n";
    let run = bench.run(text, S);
    let x = run.value("u", 0, S);
    assert!((x - 1.0).abs() < 0.01 && x < 1.0, "{x}");
    let told: Vec<_> = told(&run).into_iter().filter(|t| t.contains("Input")).collect();
    assert!(
        told.len() == 1 && told[0].ends_with("inputs hold the values of the beginnings of steps"),
        "{told:?}"
    );
}

/// An input that may be set inside steps, and is refused there, is told of once.
#[test]
fn inputs_that_are_refused_inside_a_step() {
    let bench = Bench::new("refused-inside").fmu("mass", &[]);
    let text = "connections = ['s.u -> u.F']\n[unit.s]\nkind = 'equations'\nstates = { w = 0 }\n\
                derivatives = { w = 1 }\noutputs = { u = '1e6 + 10*t - 0.5' }\n[unit.u]\nkind = 'fmu'\n\
                path = 'mass.fmu'\nstep = '100 ms'\nunconnected = 'ok'\n";
    let run = bench.run(text, S / 20);
    let notes: Vec<String> = run.facts().into_iter().map(|f| f.1).collect();
    let told = notes.iter().filter(|n| n.contains("fmi3SetFloat64 inside a step gave discard"));
    assert_eq!(told.count(), 1, "{notes:?}");
}
