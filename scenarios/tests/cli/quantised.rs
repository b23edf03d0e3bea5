//! Shipped scenarios under quantised-state methods. Step counts: QSS Solver's published models.
use super::library::{Results, number};

fn steps(results: &Results) -> f64 {
    let summary: serde_json::Value = serde_json::from_str(&results.text("summary.json")).unwrap();
    summary["steps"].as_f64().unwrap()
}

/// Largest distance of a column of samples between two runs.
fn distance(a: &Results, b: &Results, column: usize) -> f64 {
    let pairs = a.rows("samples.csv").into_iter().zip(b.rows("samples.csv"));
    let gaps = pairs.map(|(a, b)| (number(&a[column]) - number(&b[column])).abs());
    gaps.fold(0.0, f64::max)
}

#[test]
fn step_counts_are_those_of_qss_solver() {
    let cases = [
        ("advection", "line", "liqss2", 12_757.0),
        ("advection", "line", "qss2", 166_452.0),
        ("lc_line", "line", "qss3", 279_061.0),
        ("lc_line", "line", "qss2", 1_033_427.0),
    ];
    for (scenario, unit, method, expected) in cases {
        let set = format!("unit.{unit}.method={method}");
        let results = Results::of(&format!("continuous/{scenario}.toml"), &["--set", &set]);
        let steps = steps(&results);
        println!("{scenario} {method}: {steps} steps, reference {expected}");
        assert!((steps / expected - 1.0).abs() < 0.01, "{scenario} {method}: {steps}");
    }
}

/// The solution under quantised states against the same text under another kind of solver.
#[test]
fn solutions_are_those_of_the_classical_solver() {
    let cases: [(&str, &[&str], usize, f64); 5] = [
        ("advection", &["unit.line.method=rk45"], 4, 2e-3),
        ("lc_line", &["unit.line.method=rk45"], 3, 0.02),
        ("buck", &["unit.converter.method=rk45"], 2, 0.05),
        ("stairs", &["unit.ball.method=rk45"], 1, 0.05),
        ("inverter_chain", &["unit.chain.method=rk45", "N=51", "stop=20 s"], 2, 0.05),
    ];
    for (scenario, settings, column, bound) in cases {
        let file = format!("continuous/{scenario}.toml");
        let set = |settings: &[&str]| -> Vec<String> {
            settings.iter().flat_map(|s| ["--set".to_owned(), s.to_string()]).collect()
        };
        let run = |settings: &[&str]| {
            let set = set(settings);
            Results::of(&file, &set.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let distance = distance(&run(&settings[1..]), &run(settings), column);
        println!("{scenario}: {distance:e}");
        assert!(distance < bound, "{scenario}: {distance}");
    }
}

/// A smaller quantum gives a smaller error, in proportion.
#[test]
fn stairs_converge_with_the_quantum() {
    let of = |quantum: f64| {
        let set = ["--set", &format!("unit.ball.dq_rel={quantum:e}")];
        let run = Results::of("continuous/stairs.toml", &set);
        let events = run.rows("events.csv");
        assert_eq!(events.len(), 31);
        events.iter().map(|e| number(&e[0])).collect::<Vec<_>>()
    };
    let exact = Results::of(
        "continuous/stairs.toml",
        &["--set", "unit.ball.method=taylor", "--set", "unit.ball.tolerance=1e-13"],
    );
    let exact: Vec<f64> = exact.rows("events.csv").iter().map(|e| number(&e[0])).collect();
    let error = |times: Vec<f64>| {
        times.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0_f64, f64::max)
    };
    let (coarse, fine) = (error(of(1e-5)), error(of(1e-7)));
    println!("{coarse:e} {fine:e}");
    assert!(fine < 0.1 * coarse && fine < 1e-2, "{coarse:e} {fine:e}");
}

/// Every method runs the neurons, and finds the same spikes in the same order.
#[test]
fn spikes_come_in_the_same_order() {
    let of = |method: &str| {
        let set = format!("unit.ring.method={method}");
        let run = Results::of("continuous/neurons.toml", &["--set", &set, "--set", "N=10"]);
        let rows = run.rows("events.csv");
        rows.iter().take(30).map(|e| e[3].clone()).collect::<Vec<_>>()
    };
    let reference = of("rk45");
    assert_eq!(reference.len(), 30);
    for method in ["qss2", "qss3", "liqss2", "mliqss2"] {
        assert_eq!(of(method), reference, "{method}");
    }
}
