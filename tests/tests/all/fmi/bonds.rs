//! Bonds between FMUs, whose equations nobody knows.
use super::{Bench, S, WITHOUT};

/// Two masses on springs, joined, of which the first is an FMU (x'' = F - 4 x - x'/2), and beside them the one body that
/// they are together.
fn scenario(step: &str, second: &str) -> String {
    format!(
        "[template.pair]\nconnections = ['mass.flange = other.flange']\n\
         coupling = {{ step = '{step}', iterate = {{ tolerance = 1e-11 }} }}\n\
         outputs = {{ x = 'mass.x', y = 'other.x' }}\n\
         [template.pair.unit.mass]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '{step}'\n\
         bond.flange = {{ effort = 'F', flow = 'v', displacement = 'x' }}\n\
         [template.pair.unit.other]\n{second}\n\
         [unit.pair]\ntemplate = 'pair'\n\
         [unit.lumped]\nkind = 'equations'\nstates = {{ x = 1, v = 0 }}\ntolerance = 1e-12\n\
         absolute_tolerance = 1e-12\nderivatives = {{ x = 'v', v = '-(5*x + 0.5*v)/3' }}\noutputs = {{ x = 'x' }}\n"
    )
}

const EQUATIONS: &str = "kind = 'equations'\nstates = { x = 1, v = 0 }\ninputs = { F = 0 }\n\
                         derivatives = { x = 'v', v = '(F - x)/2' }\noutputs = { x = 'x', v = 'v' }\n\
                         tolerance = 1e-12\nabsolute_tolerance = 1e-12\nexchange_tolerance = 1e-12\n\
                         bond.flange = { effort = 'F', flow = 'v', displacement = 'x' }";

/// Largest distances of both from the lumped body, at the ends of steps of 1/`parts` s.
fn off(bench: &Bench, parts: i64, second: &str) -> f64 {
    let mut run = bench.start(&scenario(&format!("{} ms", 1000 / parts), second));
    let mut worst = 0.0_f64;
    for k in 1..=5 * parts {
        let at = k * S / parts;
        run.to(at).unwrap();
        let lumped = run.value("lumped", 0, at);
        for unit in ["pair/mass", "pair/other"] {
            worst = worst.max((run.value(unit, 0, at) - lumped).abs());
        }
    }
    worst
}

/// The error falls by nearly eight with each half of the step, as for units of exact equations.
#[test]
fn an_fmu_is_joined_to_equations() {
    let bench = Bench::new("bond-equations").fmu("mass", &[]);
    let (a, b) = (off(&bench, 10, EQUATIONS), off(&bench, 20, EQUATIONS));
    assert!((1e-6..1e-3).contains(&a), "{a}");
    assert!((7.0..8.5).contains(&(a / b)), "{a} {b}");
}

/// Two FMUs, of masses 1 and 2 on springs, against both as one body.
#[test]
fn two_fmus_are_joined() {
    let bench = Bench::new("bond-pair").fmu("mass", &[]);
    let fmu = "kind = 'fmu'\npath = 'mass.fmu'\nstart = { m = 2, c = 1, d = 0 }\nstep = '10 ms'\n\
               bond.flange = { effort = 'F', flow = 'v', displacement = 'x' }";
    let (a, b) = (off(&bench, 10, fmu), off(&bench, 20, fmu));
    assert!((1e-6..1e-3).contains(&a), "{a}");
    assert!((6.5..8.5).contains(&(a / b)), "{a} {b}");
}

#[test]
fn states_that_cannot_be_brought_back_are_refused() {
    let bench = Bench::new("bond-without").fmu("mass", &[WITHOUT]);
    let told = bench.load(&scenario("100 ms", EQUATIONS)).expect_err("no state access");
    let told = format!("{told:?}");
    let why = "this coupling repeats steps, but mass: FMU mass has no state access";
    assert!(told.contains(why), "{told}");
}

/// Without a coupling that tries steps out there is nobody to ask an FMU what it does under another force.
#[test]
fn a_coupling_that_repeats_steps_is_needed() {
    let bench = Bench::new("bond-alone").fmu("mass", &[]);
    let text = scenario("100 ms", EQUATIONS).replace(", iterate = { tolerance = 1e-11 }", "");
    let told = format!("{:?}", bench.load(&text).expect_err("no iterate"));
    assert!(
        told.contains("is a connector of known equations, and this line joins bonds"),
        "{told}"
    );
    let fmu = "kind = 'fmu'\npath = 'mass.fmu'\nstep = '100 ms'\n\
               bond.flange = { effort = 'F', flow = 'v', displacement = 'x' }";
    let text = scenario("100 ms", fmu).replace(", iterate = { tolerance = 1e-11 }", "");
    let told = format!("{:?}", bench.load(&text).expect_err("no iterate"));
    assert!(told.contains("in a group that does not repeat steps"), "{told}");
}
