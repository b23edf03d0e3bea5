//! Outputs far beyond their nominal values.
use super::{Bench, S};

/// Notes of a run that speak of nominal values, with their ticks.
fn told(bench: &Bench, unit: &str) -> Vec<(i64, String)> {
    let run = bench.run(unit, 3 * S);
    let facts = run.facts().into_iter().filter(|(_, text)| text.contains("nominal"));
    facts.map(|(tag, text)| (tag.ticks, text)).collect()
}

/// A mass on a spring that starts at 1 m with a nominal value of half a millimetre is told of at once, and once; its speed of up
/// to 2 m/s with one of 1 mm at the first step at which it is above 1 m/s; 1 m is not far beyond 2 mm.
#[test]
fn outputs_far_beyond_their_nominal_values_are_told_once() {
    let nominal = |of: &'static str, with: &'static str| (of, with);
    let start = nominal("start=\"1\" unit=\"m\"", "start=\"1\" unit=\"m\" nominal=\"0.0005\"");
    let usual = nominal("start=\"1\" unit=\"m\"", "start=\"1\" unit=\"m\" nominal=\"0.002\"");
    let speed =
        nominal("initial=\"exact\" start=\"0\"", "initial=\"exact\" start=\"0\" nominal=\"0.001\"");
    let unit = "[unit.mass]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '50 ms'\n";
    let all = told(&Bench::new("nominal-start").fmu("mass", &[start]), unit);
    assert_eq!(all.len(), 1, "{all:?}");
    let why = "output x is 1e0 at 0 s, more than a thousand times its nominal value 5e-4";
    assert!(all[0].0 == 0 && all[0].1.contains(why), "{all:?}");
    let bench = Bench::new("nominal-speed").fmu("mass", &[usual, speed]);
    let all = told(&bench, unit);
    assert!(all.len() == 1 && all[0].1.contains("output v is -1."), "{all:?}");
    // v = -4/w e^(-t/4) sin(w t) with w² = 4 - 1/16 comes to -1 at 0.2784 s.
    assert!((S / 4..=S * 3 / 10).contains(&all[0].0), "{all:?}");
}

#[test]
fn model_exchange_tells_of_them_too() {
    let first = ("start=\"2\"", "start=\"2\" nominal=\"0.001\"");
    let bench = Bench::new("nominal-exchange").fmu("vanderpol", &[first]);
    let all = told(&bench, "[unit.u]\nkind = 'fmu'\npath = 'vanderpol.fmu'\n");
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].1.contains("more than a thousand times its nominal value 1e-3"), "{all:?}");
}
