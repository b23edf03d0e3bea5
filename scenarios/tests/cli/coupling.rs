//! Couplings, run as a user runs them, against closed forms and independent references.
use super::library::{Results, number};

/// Two units x' = -x + u that hear each other: (1 + exp(-2t))/2.
fn pair() -> String {
    let unit = |name: &str, x: f64| {
        format!(
            r#"
[unit.{name}]
kind = "equations"
inputs = {{ u = {:?} }}
states = {{ x = {x:?} }}
derivatives = {{ x = "-x + u" }}
outputs = {{ x = "x" }}
tolerance = 1e-13
absolute_tolerance = 1e-13
exchange_tolerance = 1e-12
"#,
            1.0 - x
        )
    };
    format!(
        r#"
stop = "2 s"
sample = "none"
connections = ["a.x -> b.u", "b.x -> a.u"]
[parameters]
H = 0.1
{}{}"#,
        unit("a", 1.0),
        unit("b", 0.0)
    )
}

/// Order of extrapolation from derivatives gives the order of the whole; from samples the first
/// macro step has only one value, which leaves the second order.
#[test]
fn orders_of_convergence() {
    let dir = super::folder("coupling-orders");
    std::fs::write(dir.join("pair.toml"), pair()).unwrap();
    let error = |policy: &str, h: f64| {
        let set = format!("coupling={{step=\"{h:?}s\",{}}}", policy.replace(' ', ""));
        super::good(&dir, &format!("run pair.toml --quiet --force --out out --set {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let x = number(text.lines().last().unwrap().split(',').nth(1).unwrap());
        (x - f64::midpoint(1.0, (-4.0f64).exp())).abs()
    };
    for (policy, order) in [
        ("", 1.0),
        ("extrapolation = 1", 2.0),
        ("extrapolation = 1, slopes = \"derivatives\"", 2.0),
        ("extrapolation = 2, slopes = \"derivatives\"", 3.0),
        ("order = \"gauss-seidel\"", 1.0),
        ("order = \"gauss-seidel\", extrapolation = 1", 2.0),
        ("order = \"gauss-seidel\", extrapolation = 1, slopes = \"derivatives\"", 2.0),
        ("order = \"gauss-seidel\", extrapolation = 2, slopes = \"derivatives\"", 3.0),
    ] {
        let measured = (error(policy, 0.05) / error(policy, 0.025)).log2();
        assert!((measured - order).abs() < 0.25, "{policy}: order {measured}");
    }
}

/// Largest error of the positions and speeds against the same system as a whole (A in x' = A x by
/// its Taylor series), over all samples.
fn worst(results: &Results, a: &[Vec<f64>], start: &[f64]) -> Vec<f64> {
    let rows = results.rows("samples.csv");
    let (mut t, mut x, mut worst) = (0.0, start.to_vec(), vec![0.0f64; start.len()]);
    for row in rows {
        let at = number(&row[0]);
        let (mut term, mut k) = (x.clone(), 0.0);
        while term.iter().any(|v| v.abs() > 1e-18) {
            k += 1.0;
            let row = |r: &Vec<f64>| r.iter().zip(&term).map(|(a, b)| a * b).sum::<f64>();
            term = a.iter().map(|r| row(r) * (at - t) / k).collect();
            x.iter_mut().zip(&term).for_each(|(x, d)| *x += d);
        }
        t = at;
        for (k, w) in worst.iter_mut().enumerate() {
            *w = w.max((number(&row[k + 1]) - x[k]).abs());
        }
    }
    worst
}

/// Document 004, figure 9: the error of ours, computed independently, with the force of the joint
/// from this exchange (settled) and from the one before (delayed).
#[test]
fn gomes_figure_9() {
    let a = [
        [0.0, 1.0, 0.0, 0.0],
        [-2.0, -2.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 1.0, -2.0, -1.0],
    ];
    let a = a.map(|r| r.to_vec());
    for (h, feed_through, reference) in [
        ("0.1", "settled", 0.024_853_841_419_647_86),
        ("0.05", "settled", 0.011_798_377_311_461_494),
        ("0.1", "delayed", 0.066_830_628_250_765_82),
        ("0.05", "delayed", 0.031_638_795_085_824_68),
    ] {
        let results = Results::of(
            "papers/004_two_masses.toml",
            &[
                "--sample",
                h,
                "--set",
                &format!("H={h}"),
                "--set",
                &format!("coupling.feed_through=\"{feed_through}\""),
            ],
        );
        let ours = worst(&results, &a, &[1.0, 0.0, 0.0, 0.0]).into_iter().fold(0.0, f64::max);
        assert!((ours / reference - 1.0).abs() < 1e-6, "H = {h}, {feed_through}: {ours}");
    }
}

/// Document 003, tables 2 and 4 (with the two rows of table 4 in their right places), by an
/// independent calculation: errors of x1 v1 x2 v2 x3 v3 at all micro-steps.
#[test]
fn hierarchical_tables() {
    type Row<'a> = (bool, &'a str, &'a str, Option<&'a str>, [f64; 6]);
    let table: [Row<'_>; 5] = [
        (
            false,
            "1",
            "0.1",
            None,
            [
                0.000_120_570_903_888_950_2,
                0.000_529_733_203_551_022_5,
                0.008_053_837_448_313_894,
                0.015_292_868_780_653_487,
                0.000_950_600_589_947_114_8,
                0.000_632_288_577_031_57,
            ],
        ),
        (
            false,
            "1",
            "0.1",
            Some("0.025"),
            [
                4.519_722_301_421_503e-5,
                0.000_289_432_990_171_775_36,
                0.002_102_444_611_980_836,
                0.003_678_407_188_314_830_6,
                0.000_821_642_319_850_823_8,
                0.001_378_766_946_011_911_2,
            ],
        ),
        (
            false,
            "1",
            "0.2",
            Some("0.05"),
            [
                8.263_360_173_765_832e-5,
                0.000_534_218_865_255_231_5,
                0.004_092_160_476_380_613,
                0.007_456_726_163_079_574_5,
                0.000_850_760_102_708_569_8,
                0.001_058_961_854_456_086_4,
            ],
        ),
        (
            true,
            "3",
            "0.1",
            Some("0.025"),
            [
                0.007_590_765_686_157_908,
                0.007_011_826_188_737_816,
                0.095_537_084_920_790_83,
                0.110_426_134_008_582_59,
                0.050_090_341_150_662_354,
                0.133_112_948_043_213_4,
            ],
        ),
        (
            true,
            "3",
            "0.2",
            Some("0.05"),
            [
                0.015_367_466_935_677_365,
                0.014_434_482_099_232_274,
                0.194_101_820_841_279_25,
                0.224_418_794_388_750_12,
                0.065_631_199_920_331_62,
                0.165_805_425_308_827_91,
            ],
        ),
    ];
    for (stiff, until, h, h2, reference) in table {
        let (c1, c23, c3) = if stiff { (0.001, 10.0, 100.0) } else { (0.01, 1.0, 10.0) };
        let mut options: Vec<String> =
            ["--until", until, "--sample", "0.00125"].map(str::to_owned).to_vec();
        let mut set =
            |name: &str, value: String| options.extend(["--set".into(), format!("{name}={value}")]);
        set("H", h.into());
        set("c1", c1.to_string());
        set("c23", c23.to_string());
        set("c3", c3.to_string());
        if let Some(h2) = h2 {
            set("H2", h2.into());
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let file = if h2.is_some() { "003_hierarchical" } else { "003_three_masses" };
        let results = Results::of(&format!("papers/{file}.toml"), &options);
        let chain = |c: f64, d: f64| [c / 10.0, d / 10.0];
        let ([a, b], [c, d]) = (chain(0.1, 0.4), chain(c23, 1.0));
        let system = [
            vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            vec![-c1 / 10.0 - a, -0.01 - b, a, b, 0.0, 0.0],
            vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            vec![a, b, -a - c, -b - d, c, d],
            vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            vec![0.0, 0.0, c, d, -c - c3 / 10.0, -d - 0.2],
        ];
        let ours = worst(&results, &system, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
        for (k, (ours, reference)) in ours.iter().zip(reference).enumerate() {
            let off = (ours / reference - 1.0).abs();
            assert!(off < 1e-6, "H = {h}, H2 = {h2:?}, column {k}: {ours} for {reference}");
        }
    }
}

/// The adaptive macro step follows its tolerance: smaller errors for more exchanges, and far fewer
/// exchanges than a fixed step of equal error.
#[test]
fn adaptive_steps() {
    let dir = super::folder("coupling-adaptive");
    std::fs::write(dir.join("pair.toml"), pair()).unwrap();
    let mut before = (f64::INFINITY, 0);
    for tolerance in ["1e-2", "1e-3", "1e-4"] {
        let set = format!(
            "coupling={{step=\"1ms\",extrapolation=1,slopes=\"derivatives\",tolerance={tolerance}}}"
        );
        super::good(&dir, &format!("run pair.toml --quiet --force --out out --set {set}"));
        let summary = super::json(&super::read(&dir.join("out"), "summary.json"));
        let exchanges = summary["exchanges"].as_u64().unwrap();
        let text = super::read(&dir.join("out"), "samples.csv");
        let x = number(text.lines().last().unwrap().split(',').nth(1).unwrap());
        let error = (x - f64::midpoint(1.0, (-4.0f64).exp())).abs();
        assert!(error < tolerance.parse::<f64>().unwrap(), "{tolerance}: {error}");
        assert!(error < before.0 && exchanges > before.1, "{tolerance}: {error}, {exchanges}");
        before = (error, exchanges);
    }
    assert!(before.1 < 2 * 400, "{} exchanges", before.1);
}

/// An algebraic loop of two units: a.y = 1 + s - gain b.y, b.y = a.y.
pub(super) const RING: &str = r#"
stop = "1 s"
sample = "0.5 s"
record = ["a.y", "b.y"]
connections = ["a.y -> b.u", "b.y -> a.u"]
[parameters]
gain = 0.5
[coupling]
step = "0.1 s"
feed_through = "settled"
[unit.a]
kind = "equations"
inputs = { u = 0.0 }
states = { s = 0.0 }
derivatives = { s = "1" }
outputs = { y = "1 + s - gain*u" }
[unit.b]
kind = "equations"
inputs = { u = 0.0 }
states = { s = 0.0 }
derivatives = { s = "0" }
outputs = { y = "u" }
"#;

/// Algebraic loops are solved by fixed-point iteration, with relaxation where the gain is beyond
/// one; a loop that does not converge is an error that names it.
#[test]
fn algebraic_loops() {
    let dir = super::folder("coupling-ring");
    std::fs::write(dir.join("ring.toml"), RING).unwrap();
    for (gain, relaxation) in [(0.5, 1.0), (0.95, 1.0), (-0.9, 1.0), (3.0, 0.3), (8.0, 0.1)] {
        let set = format!("--set gain={gain:?} --set coupling.relaxation={relaxation:?}");
        super::good(&dir, &format!("run ring.toml --quiet --force --out out {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let last: Vec<f64> = text.lines().last().unwrap().split(',').map(number).collect();
        let exact = 2.0 / (1.0 + gain);
        for y in &last[1..] {
            assert!((y - exact).abs() < 1e-9, "gain {gain}, relaxation {relaxation}: {last:?}");
        }
    }
    let output = super::superdense(&dir, "run ring.toml --quiet --force --out out --set gain=1");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["a.y, b.y does not converge", "after 4000 rounds", "relaxation"] {
        assert!(said.contains(part), "{said}");
    }
}
