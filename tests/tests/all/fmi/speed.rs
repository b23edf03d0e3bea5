//! Costs of FMUs that have bounds: memory per step, folders per archive. Times are measured by the benches (`peers fmus`).
use super::{Bench, S, WITHOUT};
use crate::allocations::during;

const MS: i64 = S / 1000;

/// An oscillator of two FMUs, whose signals change in each step.
fn pair(keys: &str) -> String {
    let unit = |name: &str, b: f64| {
        format!(
            "[unit.{name}]\nkind = 'fmu'\npath = 'linear.fmu'\nstep = '1 ms'\nstart = {{ b = {b:.1} }}\n\
             exchange_tolerance = 1e-12\n{keys}\n"
        )
    };
    format!(
        "connections = ['a.y -> b.u', 'b.y -> a.u']\ncoupling = {{ step = '1 ms', order = 'jacobi' }}\n{}{}",
        unit("a", 1.0),
        unit("b", -1.0)
    )
}

/// Once a run is on its way, macro steps of coupled FMUs take no memory.
#[test]
fn steps_ask_for_no_memory() {
    let passing = ("valueReference=\"1\" dependencies=\"\"", "valueReference=\"1\"");
    for (name, changes) in [("state", &[][..]), ("none", &[WITHOUT]), ("passing", &[passing])] {
        let bench = Bench::new(&format!("memory-{name}")).fmu("linear", changes);
        let mut run = bench.start(&pair(""));
        // By then each 32nd exchange has been looked at once.
        run.to(50 * MS).unwrap();
        let (asked, done) = during(|| run.to(200 * MS));
        done.unwrap();
        assert_eq!(asked, 0, "{name}: in 150 macro steps");
        let [a, b] = ["a", "b"].map(|unit| run.value(unit, 0, 200 * MS));
        let off = |x: f64, exact: f64| (x - exact).abs() < 1e-3;
        let exact = (0.2f64.cos() + 0.2f64.sin(), 0.2f64.cos() - 0.2f64.sin());
        assert!(off(a, exact.0) && off(b, exact.1), "{name}: {a}, {b}");
    }
}

/// A macro step is one step of each FMU, whether its state can be brought back or not.
#[test]
fn a_macro_step_is_a_step() {
    let bench = Bench::new("one-step").fmu("linear", &[]);
    for (order, keys) in [("jacobi", ""), ("gauss-seidel", ""), ("jacobi", "state_access = false")]
    {
        let run = bench.run(&pair(keys).replace("'jacobi'", &format!("'{order}'")), 200 * MS);
        // One more macro step begins at the end.
        let steps = run.sim.statistics()["steps"];
        assert!(steps.abs_diff(402) <= 2, "{order}, {keys}: {steps} steps in 201 macro steps");
    }
}

/// The units of an archive have one folder, which goes with the last of them.
#[test]
fn units_of_one_archive_share_a_folder() {
    let folders = || -> Vec<std::path::PathBuf> {
        let own = format!("superdense-fmu-{}-", std::process::id());
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let is_own = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(&own);
        all.filter(|entry| is_own(&entry.file_name())).map(|entry| entry.path()).collect()
    };
    let bench = Bench::new("shared").fmu("linear", &[]);
    let before = folders().len();
    let run = bench.start(&pair(""));
    assert_eq!(folders().len(), before + 1);
    // Another archive at the same place is another one.
    let bench = bench.fmu(
        "linear",
        &[("start=\"1\"/>\n    <Float64 name=\"u\"", "start=\"2\"/>\n    <Float64 name=\"u\"")],
    );
    let other = bench.start(&pair(""));
    assert_eq!(folders().len(), before + 2);
    drop((run, other));
    assert_eq!(folders().len(), before);
}
