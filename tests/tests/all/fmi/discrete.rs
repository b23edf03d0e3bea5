//! Inputs that only jump, and signals that move; events of an FMU that follow each other within a tick.
use super::{Bench, Run, S};

const MS: i64 = S / 1000;

/// The ways to run the sampled controller: file, interface, keys.
const WAYS: [(&str, &str, &str); 6] = [
    ("sampler", "model-exchange", ""),
    ("sampler2", "model-exchange", ""),
    ("sampler2", "co-simulation", ""),
    ("ticker", "co-simulation", ""),
    ("ticker", "co-simulation", "state_access = false"),
    ("ticker", "co-simulation", "event_mode = false"),
];

fn bench(name: &str) -> Bench {
    let bench = Bench::new(&format!("discrete-{name}")).fmu("sampler", &[]);
    bench.fmu_2("sampler", &[]).fmu("ticker", &[])
}

fn unit((file, interface, keys): (&str, &str, &str), more: &str) -> String {
    format!(
        "[unit.u]\nkind = 'fmu'\npath = '{file}.fmu'\ninterface = '{interface}'\nunconnected = 'ok'\n{keys}\n{more}\n"
    )
}

/// A source of `formula` of the time, at an input.
fn source(input: &str, formula: &str) -> String {
    format!(
        "connections = ['s.y -> u.{input}']\n[unit.s]\nkind = 'equations'\nstates = {{ w = 0 }}\n\
         derivatives = {{ w = 1 }}\noutputs = {{ y = '{formula}' }}\n"
    )
}

fn told(run: &Run, part: &str) -> usize {
    run.facts().iter().filter(|f| f.1.contains(part)).count()
}

/// Integers hear a signal that moves as `quantise(1)` gives it, when it comes to the next half.
#[test]
fn whole_numbers_follow_a_signal_that_moves() {
    let bench = Bench::new("discrete-whole").fmu("driven", &[]).fmu_2("driven", &[]);
    for (file, interface) in [("driven", "model-exchange"), ("driven2", "model-exchange")] {
        for isolation in ["none", "process"] {
            let own = unit((file, interface, &format!("isolation = '{isolation}'")), "");
            let mut run = bench.start(&(source("n", "0.2 + 2*t - 0.1*t^2") + &own));
            // Halves are passed at these times.
            let at = |y: f64| (2.0 - (4.0 - 0.4 * (y - 0.2)).sqrt()) / 0.2;
            for (y, twice) in [(0.5, 2.0), (1.5, 4.0), (2.5, 6.0)] {
                let tick = (at(y) * 1e9) as i64;
                run.to(tick - 2).unwrap();
                assert_eq!(run.value("u", 3, tick - 2), twice - 2.0, "{file} {interface} {y}");
                run.to(tick + 2).unwrap();
                assert_eq!(run.value("u", 3, tick + 2), twice, "{file} {interface} {y}");
            }
        }
    }
}

/// So do truth values: from a half on they are true.
#[test]
fn truth_values_follow_a_signal_that_moves() {
    let bench = bench("truth");
    for way in WAYS {
        let text = source("b", "min(0.1 + 2*t, 1)") + &unit(way, "step = '100 ms'");
        let mut run = bench.start(&text);
        let mut seen = |tick: i64| {
            run.to(tick).unwrap();
            run.value("u", 4, tick)
        };
        if way.2.is_empty() && way.1 != "co-simulation" || way == WAYS[3] {
            assert_eq!((seen(200 * MS - 2), seen(200 * MS + 2)), (0.0, 1.0), "{way:?}");
        }
        assert_eq!(seen(700 * MS), 1.0, "{way:?}");
    }
}

/// A value that no integer or truth value has is no fault of the FMU.
#[test]
fn values_that_a_type_does_not_have_are_named() {
    let bench = bench("range");
    for way in WAYS.iter().filter(|way| way.0 != "sampler") {
        let text = source("b", "1 + t") + &unit(*way, "step = '100 ms'");
        let why = bench.fails(&text, S);
        let part = "input b of type Boolean would be 2, but takes whole numbers from 0 to 1; limit what is connected";
        assert!(why.contains(part), "{way:?}: {why}");
        assert!(!why.contains("discard") && !why.contains("smaller"), "{why}");
    }
    let text = source("b", "if(t < 0.5, 0, 1e10)") + &unit(WAYS[0], "");
    let why = bench.fails(&text, S);
    assert!(why.contains("but takes whole numbers from -2147483648 to 2147483647"), "{why}");
}

/// A sampled controller hears at its samples what the signal is then; and it is told that nothing else is heard.
#[test]
fn samples_of_a_signal_that_moves() {
    let bench = bench("samples");
    for way in WAYS {
        let run = bench.run(&(source("u", "1 + 2*t") + &unit(way, "step = '100 ms'")), 900 * MS);
        let held = run.value("u", 2, 900 * MS);
        // Without event mode it is set at the beginning of the step only.
        let (wanted, off) =
            if way.2.contains("event_mode") || way.0 == "sampler2" && way.1 == "co-simulation" {
                (2.4, 0.11)
            } else {
                (2.5, 1e-6)
            };
        assert!((held - wanted).abs() < off, "{way:?}: {held}");
        let notes = told(&run, "input u is discrete");
        assert_eq!(notes, usize::from(off < 0.1), "{way:?}: {:?}", run.facts());
    }
}

/// Events of the FMU's clock that come several to a tick all happen, and no time is lost.
#[test]
fn events_within_a_tick_all_happen() {
    let bench = bench("ticks");
    for way in WAYS.iter().filter(|way| !(way.0 == "sampler2" && way.1 == "co-simulation")) {
        for (period, count) in [(0.0005, 4001.0), (0.00099, 2021.0), (0.0021, 953.0)] {
            let more = format!("step = '100 ms'\nstart = {{ period = {period}, u = 3 }}");
            let text = format!("resolution = 'ms'\n{}", unit(*way, &more));
            let run = bench.run(&text, 2000);
            let values = [0, 1, 3].map(|port| run.value("u", port, 2000));
            assert!((values[0] - 2.0).abs() < 1e-3, "{way:?} {period}: {values:?}");
            assert!((values[1] - 6.0).abs() < 3e-3, "{way:?} {period}: {values:?}");
            assert!((values[2] - count).abs() <= 1.0, "{way:?} {period}: {values:?}");
        }
    }
}

/// Too many of them end the run, and the remedy is a finer resolution.
#[test]
fn too_many_events_within_a_tick_are_refused() {
    let bench = bench("crowd");
    for way in WAYS.iter().filter(|way| way.0 != "sampler2" && way.2 != "event_mode = false") {
        let text = unit(*way, "step = '100 ms'\nstart = { period = 1e-7 }");
        let why = bench.fails(&format!("resolution = 'ms'\n{text}"), 10);
        assert!(why.contains("followed each other within a tick"), "{way:?}: {why}");
        assert!(why.contains("choose a finer `resolution`"), "{way:?}: {why}");
    }
}

/// A discrete output that changes without an event may have changed at any time of its step.
#[test]
fn changes_that_no_event_tells_of_are_told() {
    let run = bench("late").run(&unit(WAYS[3], "step = '100 ms'"), S);
    let part = "discrete output late is another one at the communication point 0.4 s";
    assert_eq!(told(&run, part), 1, "{:?}", run.facts());
    assert_eq!(told(&run, "discrete output"), 1);
}
