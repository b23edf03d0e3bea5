//! Receivers of signals that are noisy, or change their behaviour.
use super::library::number;

/// Root mean square of what the receiver hears minus the truth, under `[coupling]` with `policy`.
fn error(dir: &std::path::Path, signal: &str, policy: &str) -> f64 {
    let text = format!(
        "stop = 20\nsample = 0.01\nseed = 7\nrecord = ['receiver.heard', 'sensor.truth']\n\
         connections = ['noise.y -> sensor.n', 'sensor.y -> receiver.u']\n\
         [parameters]\nH = 0.05\n[coupling]\nstep = 'H'\n{policy}\n\
         [unit.noise]\nkind = 'random'\nof = 'signal'\nperiod = '50 ms'\n\
         distribution = 'normal'\nmean = 0.0\ndeviation = 0.2\n\
         [unit.sensor]\nkind = 'equations'\ninputs = {{ n = 0 }}\n\
         let = {{ truth = '{signal}' }}\noutputs = {{ y = 'truth + NOISE*n', truth = 'truth' }}\n\
         exchange_tolerance = 1e-9\nparameters = {{ NOISE = 1 }}\n\
         [unit.receiver]\nkind = 'equations'\ninputs = {{ u = 0 }}\noutputs = {{ heard = 'u' }}\n"
    );
    let text = if signal.contains("if") { text.replace("NOISE = 1", "NOISE = 0") } else { text };
    std::fs::write(dir.join("told.toml"), text).unwrap();
    super::good(dir, "run told.toml --quiet --force --out out");
    let samples = super::read(&dir.join("out"), "samples.csv");
    let squares = samples.lines().skip(1).map(|line| {
        let row: Vec<f64> = line.split(',').map(number).collect();
        (row[1] - row[2]).powi(2)
    });
    let squares: Vec<f64> = squares.collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// Noise of 0.2 on a sine: following samples makes it worse, the filter takes most of it out.
#[test]
fn noise_is_filtered() {
    let dir = super::folder("told-noise");
    let error = |policy: &str| error(&dir, "sin(t)", policy);
    let (held, followed) = (error(""), error("extrapolation = 1"));
    assert!((held - 0.2).abs() < 0.02 && followed > 1.3 * held, "{held} {followed}");
    let filter = "measured = { 'sensor.y' = [0.2, 4.0] }\n";
    let (of_value, of_rate) = (error(filter), error(&format!("{filter}extrapolation = 1")));
    assert!(of_rate < 0.6 * held && of_value < 0.6 * held, "{of_rate} {of_value} of {held}");
    // It is refused where it contradicts others, and without numbers.
    for (policy, why) in [
        ("compensation = 'nepce'", "contradict each other"),
        ("iterate = {}", "contradict each other"),
        ("measured = { 'sensor.y' = 3 }", "no pair of numbers above zero"),
        ("measured = { 'sensor.z' = [1, 1] }", "no signal `sensor.z`"),
    ] {
        let policy =
            if policy.contains("measured") { policy.into() } else { filter.to_owned() + policy };
        let text = super::read(&dir, "told.toml");
        let (head, tail) = text.split_once("measured").unwrap();
        let tail = tail.split_once("[unit.noise]").unwrap().1;
        std::fs::write(dir.join("bad.toml"), format!("{head}{policy}\n[unit.noise]{tail}"))
            .unwrap();
        let output = super::superdense(&dir, "check bad.toml");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{policy}: {said}");
    }
}

/// A signal that is smooth, then oscillates faster than exchanges come: no fixed order suits both.
#[test]
fn the_order_follows_the_context() {
    let dir = super::folder("told-context");
    let error = |policy: &str| error(&dir, "if t < 12 then 20*sin(2*t) else sin(2.6*t/H)", policy);
    let fixed = [0, 1, 2].map(|order| error(&format!("extrapolation = {order}")));
    let context = error("extrapolation = 2\nslopes = 'context'");
    assert!(fixed.iter().all(|fixed| context < 0.9 * fixed), "{context} {fixed:?}");
}
