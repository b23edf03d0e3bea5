//! DEVStone against the formulas of its shapes, and a structure that changes against M/G/∞.
use super::{
    assert_equal_results, command, folder, good,
    library::{Results, number},
};
use std::{fs, path::Path, process::Stdio, thread::sleep, time::Duration};

/// Messages per seed, which are internal and external transitions as well, of `width`, `depth`.
fn messages(chain: bool, w: u64, d: u64) -> u64 {
    if chain { (d - 1) * w * (w - 1) / 2 + 1 } else { (w - 1) * (d - 1) + 1 }
}

#[test]
fn devstone_has_the_transitions_of_its_formulas() {
    for (chain, w, d) in
        [(true, 10, 10), (false, 10, 10), (true, 2, 5), (false, 3, 1), (true, 25, 4)]
    {
        let options = [
            format!("chain={}", u8::from(chain)),
            format!("width={w}"),
            format!("depth={d}"),
            "seeds=3".into(),
        ];
        let options: Vec<&str> = options.iter().flat_map(|set| ["--set", set]).collect();
        let results = Results::of("devstone.toml", &options);
        let expected = 3 * messages(chain, w, d);
        let last = results.rows("samples.csv").pop().unwrap();
        assert_eq!(number(&last[1]), expected as f64, "{options:?}");
        let counts = |key: &str| results.summary()[key].as_u64().unwrap();
        // Beside them: the clock, and the counter at the start, when it hears, and when it tells.
        let beside = 3 + 1 + 3;
        let internal = counts("internal") + counts("confluent");
        assert_eq!(internal - beside, expected, "{options:?}");
        assert!(counts("messages") >= expected, "{options:?}");
    }
}

/// The number of peers is Poisson distributed: mean and variance are `join stay`.
#[test]
fn peers_are_poisson_distributed() {
    let results = Results::of("network/population.toml", &["--set", "duration=5000"]);
    let rows = results.rows("samples.csv");
    let sizes: Vec<f64> = rows.iter().skip(100).map(|row| number(&row[1])).collect();
    let n = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / n;
    let variance = sizes.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    // Correlated over the mean stay of 10 s.
    let error = (20.0 * 2.0 * 10.0 / n).sqrt();
    assert!((mean - 20.0).abs() < 4.0 * error, "{mean} ± {error}");
    assert!((variance - 20.0).abs() < 5.0, "{variance}");
    // One question per second to each.
    let answers = number(&rows.last().unwrap()[2]) / 5000.0;
    assert!((answers - mean).abs() < 0.3, "{answers}, {mean}");
}

/// A run that is killed with another structure than it began with goes on to the same files.
#[test]
fn a_changed_structure_is_resumed() {
    let dir = folder("workloads-resume");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/network/population.toml");
    let run = format!("run {} --quiet --set duration=10000", file.display());
    good(&dir, &format!("{run} --out whole"));
    let parts = format!("{run} --out parts --checkpoint-every 0.05");
    let mut child =
        command(&dir, &parts).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let checkpoint = dir.join("parts/checkpoint");
    let begun = |file: &Path| fs::metadata(file).and_then(|m| m.modified()).ok();
    let mut first = None;
    // The second one, at least, is not of the start.
    loop {
        let now = begun(&checkpoint);
        first = first.or(now);
        if now.is_some() && now != first || child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().unwrap();
    if checkpoint.exists() {
        good(&dir, "resume parts --quiet");
    }
    assert_equal_results(&dir.join("whole"), &dir.join("parts"));
}
