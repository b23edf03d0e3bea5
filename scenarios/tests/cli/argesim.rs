//! ARGESIM benchmark C21 against the numbers of accurate independent solutions, and the classics.
use super::library::{Results, number};

/// Whether `found` is `expected` to 1e-9, or to one unit of the last digit that is given.
fn close(found: f64, expected: f64, digit: f64) -> bool {
    (found - expected).abs() <= (1e-9 * expected.abs()).max(digit)
}

fn times(results: &Results, name: &str) -> Vec<f64> {
    let rows = results.rows("events.csv");
    rows.iter().filter(|r| r[3] == name).map(|r| number(&r[0])).collect()
}

/// The last row of `samples.csv`.
fn end(results: &Results) -> Vec<f64> {
    let rows = results.rows("samples.csv");
    rows.last().expect("the end is sampled").iter().map(|x| number(x)).collect()
}

#[test]
fn ball_with_other_parameters() {
    let drag = Results::of("argesim/c21_ball_event.toml", &["--set", "beta=0.002"]);
    let bounces = times(&drag, "bounce");
    for (found, expected) in bounces.iter().zip([1.432_607_325_445_323, 3.957_377_435_679_787]) {
        assert!(close(*found, expected, 0.0), "bounce at {found}, not {expected}");
    }
    assert_eq!(end(&drag)[..4], [30.0, 0.0, 0.0, 1.0], "the run goes on after the rest");
    // Closed form, thrown upwards on the moon.
    let (g, x0, v0, e) = (1.62f64, 3.0f64, 2.5f64, 0.7f64);
    let options = ["g=1.62", "x0=3", "v0=2.5", "restitution=0.7"];
    let options: Vec<&str> = options.iter().flat_map(|o| ["--set", o]).collect();
    let moon = Results::of("argesim/c21_ball_event.toml", &options);
    let impact = (v0 * v0 + 2.0 * g * x0).sqrt();
    let (mut time, mut speed) = ((v0 + impact) / g, impact * e);
    for found in times(&moon, "bounce").iter().take(30) {
        assert!(close(*found, time, 0.0), "bounce at {found}, not {time}");
        time += 2.0 * speed / g;
        speed *= e;
    }
}

/// A ball that does not bounce at all.
#[test]
fn ball_without_restitution_stays_down() {
    let clay = Results::of("argesim/c21_ball_event.toml", &["--set", "restitution=0"]);
    assert!(times(&clay, "bounce").is_empty());
    let rest = times(&clay, "rest");
    assert!(rest.len() == 1 && close(rest[0], (20.0f64 / 9.81).sqrt(), 1e-12), "{rest:?}");
    assert_eq!(end(&clay)[..3], [30.0, 0.0, 0.0]);
}

/// The end of the Shockley circuit by Runge-Kutta with 40 000 equal steps and Newton's method for
/// the diode in each. With more points the straight lines come closer to it, at the second order.
#[test]
fn circuit_with_shockleys_diode() {
    let exact = end(&Results::of("argesim/c21_rlc_shockley.toml", &[]));
    assert!((exact[1] - 6.501_370_142_66e-3).abs() < 1e-11, "uC = {}", exact[1]);
    assert!((exact[2] - 1.654_194_999_9e-5).abs() < 1e-13, "i = {}", exact[2]);
    let error = |n: &str| {
        let lines = Results::of("argesim/c21_rlc_approximated.toml", &["--set", n]);
        assert_eq!(lines.rows("events.csv").len(), 0, "kinks are nobody's business");
        (end(&lines)[1] - exact[1]).abs()
    };
    let (coarse, fine) = (error("N=3"), error("N=10"));
    assert!(fine < coarse / 8.0, "errors {coarse:e} with 3 points, {fine:e} with 10");
}

/// The diode's voltage as an algebraic variable of a system of index 1, under series and under the
/// implicit method, is Lambert's W at every instant.
#[test]
fn circuit_with_an_algebraic_equation() {
    let results = |scenario, options: &[&str]| Results::of(scenario, options);
    let exact = results("argesim/c21_rlc_shockley.toml", &[]);
    let series = results("argesim/c21_rlc_implicit.toml", &[]);
    let loose = ["method='rodas'", "tolerance=1e-9", "absolute_tolerance=1e-12"];
    let loose = loose.map(|option| format!("unit.circuit.{option}"));
    let loose: Vec<&str> = loose.iter().flat_map(|option| ["--set", option]).collect();
    let implicit = results("argesim/c21_rlc_implicit.toml", &loose);
    for (found, tolerance) in [(series, 1e-9), (implicit, 1e-5)] {
        let digit = tolerance * 1e-3;
        let (expected, actual) = (exact.rows("samples.csv"), found.rows("samples.csv"));
        assert_eq!(expected.len(), actual.len());
        for (e, a) in expected.iter().zip(&actual) {
            // uC, i, iD, uD: of the order of 0.1 V, 0.1 mA, 0.1 mA, 0.1 V.
            for (column, unit) in [(1, 1.0), (2, 1e-3), (3, 1e-3), (4, 1.0)] {
                let (e, a) = (number(&e[column]), number(&a[column]));
                assert!((e - a).abs() < tolerance * e.abs() + digit * unit, "{a}, not {e}");
            }
        }
        for name in ["lock", "conduct"] {
            let (e, a) = (times(&exact, name), times(&found, name));
            assert_eq!(e.len(), a.len(), "{name}");
            assert!(e.iter().zip(&a).all(|(e, a)| (e - a).abs() < tolerance * e + 1e-15));
        }
    }
}

#[test]
fn pendulum_with_free_flight() {
    let results = Results::of("argesim/c21_pendulum.toml", &[]);
    assert!(close(times(&results, "release")[0], 1.921_999_019_786, 1e-12));
    assert!(close(times(&results, "taut")[0], 2.661_498_894_059, 1e-12));
    let stop = times(&results, "stop");
    // The papers print 7.5962714 and 7.5965376.
    assert!((stop[0] - 7.596_271_4).abs() < 1e-6, "stop at {stop:?}");
    let slow = Results::of("argesim/c21_pendulum.toml", &["--set", "omega0=1"]);
    assert!(times(&slow, "release").is_empty() || times(&slow, "taut").len() == 1);
}

/// The rope slackens once after each release, though the mass leaves the circle slowly.
#[test]
fn rope_slackens_once() {
    for set in ["omega0=-15", "l=2", "g=1.62"] {
        let results = Results::of("argesim/c21_pendulum.toml", &["--set", set]);
        let [release, slack, taut] = ["release", "slack", "taut"].map(|e| times(&results, e));
        let flights = (release.len(), release.len() - taut.len());
        assert!(
            slack.len() == flights.0 && flights.1 <= 1,
            "{set}: {release:?} {slack:?} {taut:?}"
        );
    }
}

#[test]
fn kicks_come_at_the_lowest_point() {
    let results = Results::of("argesim/c21_pendulum_kick.toml", &[]);
    let (kicks, turns) = (times(&results, "kick"), times(&results, "turn"));
    assert!(!kicks.is_empty());
    for kick in kicks {
        let before = turns.iter().rev().find(|t| **t < kick).expect("a turn");
        // A quarter of the period of small oscillations, damped: 2 pi / sqrt(g/l - (k/2m)²) / 4.
        assert!((kick - before - 0.51).abs() < 0.03, "kick at {kick} after {before}");
    }
}

#[test]
fn closed_orbits_keep_their_invariant() {
    let results =
        Results::of("continuous/lotka_volterra.toml", &["--set", "record=[\"wood.invariant\"]"]);
    let rows = results.rows("samples.csv");
    let first = number(&rows[0][1]);
    for row in &rows {
        assert!((number(&row[1]) - first).abs() < 1e-9, "at {}: {}", row[0], row[1]);
    }
}

/// The period of the limit cycle for mu = 1: Urabe 1960, 6.66328686.
#[test]
fn limit_cycle_has_its_period() {
    let results = Results::of("continuous/van_der_pol.toml", &["--set", "sample=1 ms"]);
    let rows = results.rows("samples.csv");
    let mut ups = Vec::new();
    for pair in rows.windows(2) {
        let [(t0, x0), (t1, x1)] = [0, 1].map(|k| (number(&pair[k][0]), number(&pair[k][1])));
        if x0 < 0.0 && x1 >= 0.0 {
            ups.push(t0 - x0 * (t1 - t0) / (x1 - x0));
        }
    }
    let period = ups[ups.len() - 1] - ups[ups.len() - 2];
    assert!((period - 6.663_286_86).abs() < 1e-6, "period {period}");
}
