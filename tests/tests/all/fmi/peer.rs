//! FMPy as an independent peer: it validates our FMUs and runs them to the same values.
use super::{Bench, S};
use std::process::Command;

const SCRIPT: &str = "
import sys
from fmpy import simulate_fmu
ball = simulate_fmu(sys.argv[1], stop_time=9, output_interval=0.1, fmi_type='CoSimulation',
                    use_event_mode=True, early_return_allowed=True, output=['h', 'v', 'bounces'])
times, counts = ball['time'], ball['bounces']
print('bounces', *[repr(float(times[i])) for i in range(1, len(ball)) if counts[i] > counts[i - 1]])
mass = simulate_fmu(sys.argv[2], stop_time=3, output_interval=0.05, fmi_type='CoSimulation',
                    output=['x', 'v'])
print('mass', repr(float(mass['x'][-1])), repr(float(mass['v'][-1])))
";

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect()
}

#[test]
fn fmpy_runs_our_fmus_to_the_same_values() {
    let known = Command::new("python3").args(["-c", "import fmpy"]).output();
    if !known.is_ok_and(|o| o.status.success()) {
        println!("skipped: FMPy is not installed (pip install fmpy)");
        return;
    }
    let bench = Bench::new("peer").fmu("ball", &[]).fmu("mass", &[]);
    let files = [bench.0.join("ball.fmu"), bench.0.join("mass.fmu")];
    let output = Command::new("python3").args(["-c", SCRIPT]).args(files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<Vec<f64>> = text.lines().map(numbers).collect();
    let run = bench.run(
        "[unit.ball]\nkind = 'fmu'\npath = 'ball.fmu'\nstep = '100 ms'\n\
         [unit.mass]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '50 ms'\n",
        3 * S,
    );
    for (port, their) in theirs[1].iter().enumerate() {
        let own = run.value("mass", port as u16, 3 * S);
        assert!((own - their).abs() < 1e-13, "port {port}: {own} and {their}");
    }
    let mut run = bench.start("[unit.ball]\nkind = 'fmu'\npath = 'ball.fmu'\nstep = '100 ms'\n");
    run.to(9 * S).unwrap();
    let ours: Vec<i64> = run.facts().iter().map(|f| f.0.ticks).collect();
    assert_eq!(ours.len(), theirs[0].len());
    for (own, their) in ours.iter().zip(&theirs[0]) {
        assert!((*own as f64 - their * 1e9).abs() <= 1.01, "{own} and {their}");
    }
}

const EXCHANGE: &str = "
import sys
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
for file in sys.argv[1:]:
    problems = validate_fmu(file)
    assert not problems, problems
def last(file, kind, stop, output, **more):
    r = simulate_fmu(file, stop_time=stop, fmi_type=kind, output=output, **more)
    return [repr(float(r[o][-1])) for o in output]
print('x', *last(sys.argv[2], 'ModelExchange', 5, ['x0', 'x1'], relative_tolerance=1e-10))
print('x', *last(sys.argv[2], 'CoSimulation', 5, ['x0', 'x1'], output_interval=0.01))
print('h', *last(sys.argv[4], 'CoSimulation', 2, ['h', 'v'], output_interval=0.01))
";

/// FMPy validates our FMUs for model exchange, runs those of FMI 2.0 to the same states with its own
/// solver, and steps them to the same bits. (Of FMI 3.0 it wants all functions of all interfaces.)
#[test]
fn fmpy_exchanges_models_to_the_same_values() {
    let known = Command::new("python3").args(["-c", "import fmpy"]).output();
    if !known.is_ok_and(|o| o.status.success()) {
        println!("skipped: FMPy is not installed (pip install fmpy)");
        return;
    }
    let bench = Bench::new("peer-me").fmu("vanderpol", &[]).fmu_2("vanderpol", &[]);
    let bench = bench.fmu("bouncing", &[]).fmu_2("bouncing", &[]);
    let files = ["vanderpol", "vanderpol2", "bouncing", "bouncing2"];
    let files = files.map(|f| bench.0.join(format!("{f}.fmu")));
    let output = Command::new("python3").args(["-c", EXCHANGE]).args(files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<Vec<f64>> = text.lines().map(numbers).collect();
    let run = |file: &str, kind: &str, stop: i64| {
        let text = format!(
            "[unit.u]\nkind = 'fmu'\npath = '{file}.fmu'\ninterface = '{kind}'\nstep = '10 ms'\n"
        );
        let run = bench.run(&text, stop * S);
        [0, 1].map(|port| run.value("u", port, stop * S))
    };
    let cases = [
        ("vanderpol2", "model-exchange", 5, 1e-6),
        ("vanderpol2", "co-simulation", 5, 1e-12),
        ("bouncing2", "co-simulation", 2, 1e-12),
    ];
    for ((file, kind, stop, off), their) in cases.into_iter().zip(&theirs) {
        for (own, their) in run(file, kind, stop).iter().zip(their) {
            assert!((own - their).abs() <= off, "{file} {kind}: {own} and {their}");
        }
    }
}

/// The example of docs/fmi.md runs as it stands, and says what the page says.
#[test]
fn the_example_of_the_documentation() {
    let page = include_str!("../../../../docs/fmi.md");
    let bench = Bench::new("docs").fmu("ball", &[]);
    let scenario = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let run = bench.run(&scenario.replace("stop = 5\n", ""), 5 * S);
    for (k, ticks) in [1_427_843_124, 3_997_960_745_i64].into_iter().enumerate() {
        let times: Vec<i64> =
            run.facts().iter().map(|f| f.0.ticks).filter(|t| (t - ticks).abs() <= 1).collect();
        assert_eq!(times.len(), 2, "bounce {k} of both: {:?}", run.facts());
        let text = format!("{}.{:09} s", ticks / S, ticks % S);
        assert!(page.contains(&text), "{text}");
    }
}
