//! ARGESIM benchmark C11: a SCARA robot, against an independent solution.
//!
//! The references were computed with DOP853 of scipy 1.17 at 1e-12, which is stopped and started again where a current comes to
//! its limit and leaves it, and where the way-points of the planned trajectory are.
use super::library::{Results, number};

#[track_caller]
fn close(run: &Results, name: &str, expected: f64, tolerance: f64) {
    let found = run.result(name);
    assert!(
        (found - expected).abs() <= tolerance,
        "{name} = {found}, not {expected} ± {tolerance:e}"
    );
}

fn run(file: &str, sets: &[&str]) -> Results {
    let options: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    Results::of(&format!("argesim/{file}.toml"), &[&options[..], &["--plot", "none"]].concat())
}

/// The last row of `samples.csv`, from the first output on.
fn end(run: &Results) -> Vec<f64> {
    run.rows("samples.csv").last().expect("the end is sampled")[1..]
        .iter()
        .map(|x| number(x))
        .collect()
}

/// Sets of a method, with the tolerances that it needs.
fn method(name: &str) -> Vec<String> {
    let more: &[&str] = match name {
        "qss3" => &["dq_rel=1e-7", "dq_min=1e-7"],
        "taylor" => &[],
        _ => &["tolerance=1e-10", "absolute_tolerance=1e-11"],
    };
    let mut sets = vec![format!("unit.robot.method=\"{name}\"")];
    sets.extend(more.iter().map(|key| format!("unit.robot.{key}")));
    sets
}

fn with_method(file: &str, name: &str) -> Results {
    let sets = method(name);
    run(file, &sets.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The motion from rest to (2, 2, 0.3) by both forms of the equations under all kinds of methods. q3 droops by 2 m3 g R/(√3 u3
/// kT P3) under its weight.
#[test]
fn point_to_point_in_both_forms() {
    let runs = [
        ("c11_explicit", "taylor", 1e-7),
        ("c11_explicit", "rk45", 1e-7),
        ("c11_explicit", "rodas", 1e-6),
        ("c11_explicit", "auto", 1e-6),
        ("c11_explicit", "qss3", 1e-5),
        ("c11_implicit", "taylor", 1e-7),
        ("c11_implicit", "rodas", 1e-6),
        ("c11_implicit", "auto", 1e-6),
    ];
    for (file, name, tolerance) in runs {
        let run = with_method(file, name);
        close(&run, "q1_half", 1.058_975_33, tolerance);
        close(&run, "q2_half", 1.376_899_51, tolerance);
        close(&run, "q3_half", 0.185_452_29, tolerance);
        close(&run, "droop", 3.775_87e-5, tolerance);
        close(&run, "settled_1", 1.577_374_709, 200.0 * tolerance);
        close(&run, "settled_2", 1.456_835_673, 200.0 * tolerance);
        close(&run, "settled_3", 1.049_453_595, 200.0 * tolerance);
    }
}

/// Both forms are the same motion, at each sample of each joint.
#[test]
fn explicit_and_implicit_are_equal() {
    let [explicit, implicit] = ["c11_explicit", "c11_implicit"].map(|file| run(file, &[]));
    let (left, right) = (explicit.rows("samples.csv"), implicit.rows("samples.csv"));
    assert_eq!(left.len(), right.len());
    for (a, b) in left.iter().zip(&right) {
        // Angles and lengths; speeds are a hundred times as large at most.
        for (column, scale) in (1..=3).map(|k| (k, 1.0)).chain((4..=6).map(|k| (k, 100.0))) {
            let (x, y) = (number(&a[column]), number(&b[column]));
            assert!((x - y).abs() < 1e-8 * scale, "column {column} at {}: {x} {y}", a[0]);
        }
    }
    let limits = |run: &Results| run.rows("events.csv").len();
    assert_eq!(
        (limits(&explicit), limits(&implicit)),
        (6, 6),
        "each motor comes to its limit and leaves it"
    );
}

/// Without voltage and resistance a motor is a spring without loss, so that kinetic, magnetic and potential energy are kept; the
/// mass matrix is positive definite on the way, with its least determinant where the concave function of cos q2 has it.
#[test]
fn energy_is_kept_and_masses_are_positive() {
    for file in ["c11_explicit", "c11_implicit"] {
        let free = run(
            file,
            &[
                "P=[0,0,0]",
                "D=[0,0,0]",
                "R=0",
                "I_max=1e6",
                "w_start=[1.5,-2,0.3]",
                "q_start=[0.2,0.4,0.1]",
            ],
        );
        close(&free, "energy_drift", 0.0, 1e-8);
        let moves = free.rows("samples.csv").iter().map(|r| number(&r[1])).fold(0.0, f64::max);
        assert!(moves > 0.206, "the robot moves: {moves}");
        let robot = run(file, &[]);
        let (theta1, theta2, theta3) =
            ((8.0 / 3.0 + 6.0 + 4.0) * 0.16 + 5e-5 * 1e4, (3.0 + 4.0) * 0.12, (2.0 + 4.0) * 0.09);
        let det = |c: f64| {
            let (m11, m12) = (theta1 + 2.0 * theta2 * c + theta3, theta2 * c + theta3);
            m11 * (theta3 + 5e-5 * 6400.0) - m12 * m12
        };
        let c = end(&robot)[1].cos();
        close(&robot, "least_det", det(1.0).min(det(c)), 1e-6);
        close(&robot, "least_m11", theta1 + 2.0 * theta2 * c + theta3, 1e-6);
        assert!(det(c) > 0.1);
    }
}

/// The tool comes near to the obstacle, waits for its height, and goes on. Both events to a microsecond under each method.
#[test]
fn the_obstacle_is_avoided() {
    for (name, tolerance) in [("taylor", 1e-7), ("rk45", 1e-7), ("rodas", 1e-6), ("auto", 1e-6)] {
        let run = with_method("c11_collision", name);
        close(&run, "zone", 0.312_118_658, 1e-6);
        close(&run, "height", 0.780_773_781, 1e-6);
        close(&run, "q1_zone", 0.629_943_54, 1e-6);
        close(&run, "q2_zone", 0.851_481_55, 1e-6);
        close(&run, "q3_zone", 0.115_440_17, 1e-6);
        close(&run, "nearest", 0.310_195_4, 2e-7);
        let q = end(&run);
        for (found, expected) in q.iter().zip([1.999_836_38, 1.999_900_48, 0.299_962_24]) {
            assert!((found - expected).abs() < tolerance, "{name}: {found}, not {expected}");
        }
        let count = |event: &str| run.rows("events.csv").iter().filter(|r| r[3] == event).count();
        assert_eq!((count("zone"), count("height")), (1, 1), "{name}");
    }
    // Without the raised voltage the tool comes 0.16 mm nearer.
    close(&run("c11_collision", &["U_emergency=90"]), "nearest", 0.310_040_1, 2e-7);
}

/// Mechanics, motors and controller as three units.
#[test]
fn three_units_move_as_one() {
    let plain = run("c11_units", &["avoid=0"]);
    close(&plain, "q1_half", 1.058_975_33, 1e-6);
    close(&plain, "q2_half", 1.376_899_51, 1e-6);
    close(&plain, "q3_half", 0.185_452_29, 1e-6);
    let one = run("c11_explicit", &[]);
    for (a, b) in plain.rows("samples.csv").iter().zip(&one.rows("samples.csv")) {
        for column in 1..=3 {
            let (x, y) = (number(&a[column]), number(&b[column]));
            assert!((x - y).abs() < 1e-6, "column {column} at {}: {x} {y}", a[0]);
        }
    }
    let avoids = run("c11_units", &[]);
    close(&avoids, "zone", 0.312_118_658, 1e-6);
    close(&avoids, "height", 0.780_773_781, 1e-6);
    close(&avoids, "nearest", 0.310_195_4, 1e-6);
    for (found, expected) in end(&avoids).iter().zip([1.999_836_38, 1.999_900_48, 0.299_962_24]) {
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}

const PD: [&str; 3] = ["K=[0,0,0]", "P=[1500,1000,15000]", "D=[300,200,1500]"];

/// Errors of tracking. At constant speed the PD controller leaves kT u v/P, the PID controller nothing; its errors are an order
/// of magnitude smaller, as the paper says.
#[test]
fn integration_makes_tracking_exact() {
    let (pd, pid) = (run("c11_tracking", &PD), run("c11_tracking", &[]));
    let expected = [
        ("e1_way", 0.023_380_89, 0.001_989_200_4),
        ("e2_way", 0.019_284_21, 1.004_971_82e-5),
        ("e3_way", 7.942_9e-4, -1.018_086_24e-3),
        ("e1_late", 0.017_750_011, -0.001_990_452),
        ("e2_late", 0.019_205_206, -3.507_117e-6),
        ("e3_late", 3.807_808e-5, -8.567_694_5e-4),
        ("e2_constant", 0.019_039_13, -4.432_697e-6),
        ("e1_most", 0.024_533_71, 0.002_058_96),
        ("e2_most", 0.019_284_27, 0.004_642_21),
        ("e3_most", 0.003_589_53, 0.002_999_42),
    ];
    for (name, with_pd, with_pid) in expected {
        close(&pd, name, with_pd, 3e-8);
        close(&pid, name, with_pid, 3e-8);
    }
    let ratio = |name| pid.result(name).abs() / pd.result(name).abs();
    assert!(ratio("e2_late") <= 0.2 && ratio("e2_constant") <= 0.2 && ratio("e1_way") <= 0.2);
    assert!(
        (0.05..0.15).contains(&ratio("e1_most")),
        "an order of magnitude: {}",
        ratio("e1_most")
    );
    for name in ["rk45", "rodas"] {
        let mut sets = PD.map(str::to_owned).to_vec();
        sets.extend(method(name));
        let other = run("c11_tracking", &sets.iter().map(String::as_str).collect::<Vec<_>>());
        close(&other, "e2_late", 0.019_205_206, 3e-7);
        close(&other, "e1_most", 0.024_533_71, 3e-7);
    }
}

/// Joint 2 follows a ramp with kT u v/P = 0.0192 rad under PD, with nothing under PID. The open loop that is printed
/// (section 6.3) would leave kT u v/(√3 P).
#[test]
fn the_response_to_a_ramp() {
    let ramp = ["way=[0,0,0]", "goal=[0,0,0]", "ramp=0.6"];
    let pd = run("c11_tracking", &[&PD[..], &ramp[..], &["stop='3 s'"]].concat());
    let pid = run("c11_tracking", &[&ramp[..], &["stop='3 s'"]].concat());
    close(&pd, "e2_late", 0.4 * 80.0 * 0.6 / 1000.0, 1e-7);
    close(&pd, "e2_constant", 0.019_170_879, 3e-8);
    close(&pid, "e2_late", 0.0, 1e-9);
    close(&pid, "e2_constant", -6.946_755e-8, 1e-9);
    close(&pid, "e2_most", 0.012_960_97, 2e-7);
}
