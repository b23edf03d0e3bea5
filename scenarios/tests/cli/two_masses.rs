//! The two masses of documents 000 and 002 under their masters, against the system as a whole.
use super::library::{Results, TWO_MASSES, number};

/// The reference solution: rows of x1, v1, x2, v2, every 0.1 s.
fn reference() -> &'static Vec<[f64; 4]> {
    static REFERENCE: std::sync::OnceLock<Vec<[f64; 4]>> = std::sync::OnceLock::new();
    REFERENCE.get_or_init(|| samples(&Results::of("two_masses.toml", &["--sample", "0.1"])))
}

pub(super) fn samples(results: &Results) -> Vec<[f64; 4]> {
    let row = |row: &Vec<String>| std::array::from_fn(|k| number(&row[k + 1]));
    results.rows("samples.csv").iter().map(row).collect()
}

/// Absolute errors at each sample.
pub(super) fn errors(results: &Results) -> Vec<[f64; 4]> {
    let ours = samples(results);
    assert_eq!(ours.len(), reference().len());
    let off = |(a, b): (&[f64; 4], &[f64; 4])| std::array::from_fn(|k| (a[k] - b[k]).abs());
    ours.iter().zip(reference()).map(off).collect()
}

fn rms(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = of.fold((0.0, 0.0), |(sum, n), x| (sum + x * x, n + 1.0));
    (sum / n).sqrt()
}

/// e_pos,rms of document 002.
fn position_error(results: &Results) -> f64 {
    rms(errors(results).iter().map(|e| e[0] + e[2]))
}

pub(super) fn events(results: &Results) -> Vec<(f64, String)> {
    results.rows("events.csv").iter().map(|e| (number(&e[0]), e[3].clone())).collect()
}

/// Document 000, figures 4 and 5. The upper mass believes what it was told: at H = 0.3 it sees the
/// first collision too early, and hits the ceiling where the true one turns back.
#[test]
fn interrupted_sequential_scheme() {
    for (h, seconds, error) in [("0.1", 0.12, 1.0), ("0.05", 0.025, 0.3), ("0.01", 2e-3, 0.01)] {
        let results = Results::of("papers/000_interrupted.toml", &["--set", &format!("H={h}")]);
        let found = events(&results);
        let names: Vec<&str> = found.iter().map(|e| e.1.as_str()).collect();
        assert_eq!(names, TWO_MASSES.map(|e| e.1), "H = {h}");
        for ((at, name), (expected, _)) in found.iter().zip(TWO_MASSES) {
            assert!((at - expected).abs() < seconds, "H = {h}: {name} at {at}");
        }
        let worst = errors(&results).iter().fold(0.0f64, |w, e| w.max(e[0]).max(e[2]));
        assert!(worst < error, "H = {h}: {worst}");
    }
    let results = Results::of("papers/000_interrupted.toml", &["--set", "H=0.3"]);
    let extra = events(&results).into_iter().find(|(t, _)| (0.84..=1.0).contains(t));
    assert_eq!(extra.expect("an extra event").1, "ceiling");
    let all = errors(&results);
    let norm = |e: &[f64; 4]| e.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(rms(all.iter().map(norm)) > 5.0);
}

/// The readings of an independent calculation of document 000, by RK4 with micro-steps of 1 ms and
/// an interruption of 0.1 ms: event times at H = 0.1.
#[test]
fn interrupted_sequential_scheme_in_detail() {
    const EVENTS: [f64; 12] = [
        0.538_907_989_8,
        1.656_246_415_9,
        4.622_413_662_0,
        4.890_381_679_4,
        5.276_443_068_2,
        8.389_198_882_4,
        8.866_652_977_2,
        9.153_289_858_6,
        13.685_11,
        14.780_36,
        18.071_06,
        19.081_89,
    ];
    let results = Results::of("papers/000_interrupted.toml", &[]);
    for ((at, name), expected) in events(&results).iter().zip(EVENTS) {
        assert!((at - expected).abs() < 2e-3, "{name} at {at}, not {expected}");
    }
}

/// Document 002: 3.65 without and 0.12 with LookAhead in 32 more steps; one draw of a chaotic
/// system, so that factors count.
#[test]
fn look_ahead() {
    let file = "papers/002_look_ahead.toml";
    let with = Results::of(file, &[]);
    let without = Results::of(file, &["--set", "coupling.look_ahead=[]"]);
    let (e, e0) = (position_error(&with), position_error(&without));
    assert!((3.0..4.5).contains(&e0), "{e0} without");
    assert!(e < 0.3 && e0 / e >= 10.0, "{e} with, {e0} without");
    // The same of black boxes, which tell nothing but values.
    let rates = "coupling.rates={\"upper.x\"=\"upper.v\",\"lower.x\"=\"lower.v\"}";
    let dark = ["--set", "coupling.slopes=\"samples\"", "--set", rates];
    let black = position_error(&Results::of(file, &dark));
    assert!(black < 0.3 && e0 / black >= 10.0, "{black} with black boxes");
    let steps = |r: &Results| r.summary()["macro_steps"].as_u64().expect("a count");
    assert!((249..=251).contains(&steps(&without)), "{}", steps(&without));
    let more = steps(&with) - steps(&without);
    assert!((20..=50).contains(&more), "{more} more steps");
}
