//! Heat in bodies whose cross-section is a conformal image of a square, against series and another discretisation.
use super::{folder, good, json, library::Results, read};
use std::fs;

/// The unit sphere, or with `plane` the unit disk, which cools from 1 to 0.
const BALL: &str = r#"
stop = "0.5 s"
parameters = { n = 51, alpha = 0.5 }
record = ["ball.mean"]
[unit.ball]
kind = "heat-conformal"
unconnected = "ok"
rho = 1
n = "n"
kappa = 1
alpha_r = "alpha"
alpha_c = "alpha"
initial = 1
probes = { centre = [0, 0], side = [1, 0] }
[result]
centre = "final(ball.centre)"
mean = "final(ball.mean)"
side = "final(ball.side)"
"#;

/// Largest errors of centre, mean and surface against the exact series, which gives no surface of the disk.
fn errors(n: usize, geometry: &str, alpha: f64, until: f64, exact: [f64; 3]) -> f64 {
    let dir = folder(&format!("heat-ball-{n}-{geometry}-{alpha}"));
    fs::write(dir.join("ball.toml"), BALL).unwrap();
    good(
        &dir,
        &format!(
            "run ball.toml --quiet --out out --until {until} --set n={n} --set alpha={alpha} \
             --set unit.ball.geometry={geometry}"
        ),
    );
    let results = json(&read(&dir, "out/summary.json"))["results"].clone();
    let names = ["centre", "mean", "side"].into_iter().zip(exact).filter(|(_, x)| x.is_finite());
    let error = |(name, exact): (&str, f64)| (results[name].as_f64().unwrap() - exact).abs();
    names.map(error).fold(0.0, f64::max)
}

/// Values of the series. The corners of the square, where f' is zero, do not lower the order.
#[test]
fn spheres_and_disks_cool_as_their_series_say() {
    const NONE: f64 = f64::NAN;
    for (geometry, alpha, until, exact) in [
        ("rotational", 0.5, 0.5, [0.580_043_55, 0.504_976_23, 0.457_352_32]),
        ("rotational", 1.0, 0.2, [0.772_311_61, 0.601_810_08, 0.495_912_18]),
        ("plane", 0.5, 0.5, [0.715_749_15, 0.639_488_77, NONE]),
        ("plane", 1.0, 0.2, [0.870_174_24, 0.718_516_26, NONE]),
    ] {
        let [coarse, fine, finest] = [25, 49, 51].map(|n| errors(n, geometry, alpha, until, exact));
        let order = (coarse / fine).log2();
        println!("{geometry} {alpha}: n = 51 off by {finest:.1e}, order {order:.2}");
        assert!(finest < 5e-4, "{geometry} {alpha}: {finest:e}");
        assert!((1.9..2.2).contains(&order), "{geometry} {alpha}: {coarse:e} {fine:e}");
    }
}

/// Prolate spheroidal finite volumes, extrapolated from 30×160, 60×320 and 90×480; 1 % of the rise above 36.
#[test]
fn the_ellipsoid_is_that_of_another_discretisation() {
    let run = Results::of("papers/003_tooth.toml", &["--set", "n=101", "--plot", "none"]);
    for (name, reference, within) in [
        ("mean_30", 55.811, 1.5e-3),
        ("equator_30", 59.785, 1.5e-3),
        ("centre_30", 95.96, 1.5e-3),
        ("mean_60", 75.605, 1.5e-3),
        ("equator_60", 68.979, 1.5e-3),
        ("top_60", 62.158, 1.5e-3),
        ("bottom_60", 170.40, 3e-3),
    ] {
        let found = run.result(name);
        let off = (found - reference) / (reference - 36.0);
        println!("{name}: {found:.4} for {reference}, {:.3} % of the rise", 100.0 * off);
        assert!(off.abs() < within, "{name}: {found} for {reference}");
    }
    assert_eq!(run.result("surface_60"), run.result("bottom_60"), "the hottest place");
    let (left, supplied) = (run.result("unbalanced"), run.result("supplied"));
    println!("heat: {left:.1e} of {supplied:.2} is missing");
    assert!(left.abs() < 1e-9 * supplied);
    let finite = |x: &String| x.parse::<f64>().is_ok_and(f64::is_finite);
    assert!(run.rows("samples.csv").iter().flatten().all(finite), "also on the axis");
}

/// The controller hears the maximum of the surface as a polynomial, so that its thresholds are met exactly.
#[test]
fn the_surface_stays_below_its_limit() {
    let run = Results::of("papers/003_tooth_limit.toml", &["--plot", "none"]);
    let hottest = run.result("hottest");
    assert!((46.0..47.0).contains(&hottest), "{hottest}");
    assert!((run.result("seen") - 44.0).abs() < 1e-6, "{}", run.result("seen"));
    let events: Vec<String> = run.rows("events.csv").into_iter().map(|r| r[3].clone()).collect();
    assert!(events.len() > 4 && events[..2] == ["hot", "cool"], "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("end"), "the canal is treated to its end");
    let free =
        Results::of("papers/003_tooth_limit.toml", &["--plot", "none", "--set", "off_at=1000"]);
    assert!(free.result("hottest") > 47.0, "without the controller: {}", free.result("hottest"));
}

/// The amplitude follows the surface continuously: each step of the body asks for an answer, which changes the step.
#[test]
fn a_loop_through_a_gain_comes_to_rest() {
    let dir = folder("heat-loop");
    let text = r#"
stop = "20 s"
connections = ["body.surface -> off.u", "off.y -> gain.u", "gain.y -> body.amplitude"]
record = ["body.surface", "gain.y"]
[unit.off]
kind = "offset"
offset = -50
[unit.gain]
kind = "gain"
gain = -2
[unit.body]
kind = "heat-conformal"
unconnected = "ok"
rho = 2
n = 11
kappa = 1
spread = 1
ambient = 36
alpha_r = 0.1
alpha_c = 0.1
[result]
surface = "final(body.surface)"
power = "final(gain.y)"
"#;
    fs::write(dir.join("loop.toml"), text).unwrap();
    good(&dir, "run loop.toml --quiet --out out");
    let summary = json(&read(&dir, "out/summary.json"));
    let number = |name: &str| summary["results"][name].as_f64().unwrap();
    assert!((number("power") + 2.0 * (number("surface") - 50.0)).abs() < 1e-5);
    assert!(number("surface") > 37.0 && number("power") > 0.0);
    assert!(summary["cycles"].as_u64().unwrap() < 20_000);
}

/// A run that is stopped in the middle of a step of the body and resumed gives the trace of one that is not.
#[cfg(unix)]
#[test]
fn a_resumed_run_is_equal() {
    let dir = folder("heat-resumed");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/library/papers/003_tooth_limit.toml");
    let set = "--set n=11 --set unit.tooth.profile=0 --plot none --quiet";
    let text = fs::read_to_string(file).unwrap().replace(", \"tooth.profile[*]\"", "");
    fs::write(dir.join("limit.toml"), text).unwrap();
    good(&dir, &format!("run limit.toml {set} --out whole"));
    let mut run =
        super::command(&dir, &format!("run limit.toml {set} --out parts --real-time 100"))
            .spawn()
            .unwrap();
    // However long the machine takes to begin.
    while !dir.join("parts/samples.csv").exists() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let kill = std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    good(&dir, "resume parts --quiet");
    for name in ["events.csv", "samples.csv", "trajectory.csv", "summary.json"] {
        let [whole, parts] = ["whole", "parts"].map(|out| read(&dir, &format!("{out}/{name}")));
        assert_eq!(whole, parts, "{name}");
    }
}
