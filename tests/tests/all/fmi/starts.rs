//! Start values: formulas, units of measure, mistakes.
use super::{Bench, S};

fn mass(start: &str, more: &str) -> String {
    format!(
        "[parameters]\nbase = 2.5\nks = [1.5, 4]\nlong = '2 cm'\nstop_at = '3 s'\nbeat = '1 Hz'\n\
         spin = '60 rpm'\ntwice = '2*spin'\n\
         [unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '100 ms'\nunconnected = 'ok'\nstart = {{ x = {start} }}\n{more}\n"
    )
}

/// They take what other parameters take: formulas, also of the index of an array and of lists.
#[test]
fn formulas() {
    let bench = Bench::new("start-formulas").fmu("mass", &[]);
    for (start, wanted) in [
        ("'2*3'", 6.0),
        ("'base*2 + 1'", 6.0),
        ("'ks[1]'", 4.0),
        ("'max(base, sqrt(16))'", 4.0),
        ("'2*long'", 0.04),
        ("'if(base > 2, 1, 0)'", 1.0),
    ] {
        let found = bench.run(&mass(start, ""), 0).value("u", 0, 0);
        assert!((found - wanted).abs() < 1e-12, "{start}: {found}, not {wanted}");
    }
    let run = bench.run(&mass("'2*ks[i] + i'", "count = 2"), 0);
    assert_eq!([0, 1].map(|i| run.value(&format!("u[{i}]"), 0, 0)), [3.0, 9.0]);
}

#[test]
fn formulas_that_are_wrong() {
    let bench = Bench::new("start-wrong").fmu("mass", &[]);
    for (start, part) in [
        ("'2*bas'", "bas"),
        ("'2*'", "start value of `x`"),
        ("'stop_at'", "is in s, and the FMU counts it in m"),
        ("'2*stop_at'", "and the FMU counts it in m"),
        ("'long + stop_at'", "start value of `x`"),
        ("'1/0'", "is not within"),
    ] {
        let refused = format!("{:?}", bench.load(&mass(start, "")).map(drop).unwrap_err());
        assert!(refused.contains(part), "{start}: {refused}");
    }
}

/// A frequency is no rate of rotation: 1 Hz has 60 rpm, and not the 9.55 rpm that 1 rad/s has.
#[test]
fn turns_are_no_frequencies() {
    let turning = |unit: &str| {
        let changed = format!("start=\"1\" unit=\"{unit}\"");
        Bench::new("start-turns").fmu("mass", &[("start=\"1\" unit=\"m\"", &changed)])
    };
    for (unit, start) in [
        ("rpm", "1 Hz"),
        ("rad/s", "50 Hz"),
        ("Hz", "60 rpm"),
        ("kHz", "1 rad/s"),
        ("rpm", "beat"),
        ("Hz", "spin"),
        ("rad/s", "2 1/s"),
    ] {
        let refused = turning(unit).load(&mass(&format!("'{start}'"), "")).map(drop);
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(
            refused.contains("1 Hz, 60 rpm and 2 pi rad/s turn alike"),
            "{unit} {start}: {refused}"
        );
    }
    for (unit, start, wanted) in [
        ("rpm", "60 rpm", 60.0),
        ("rad/s", "180 deg/s", std::f64::consts::PI),
        ("Hz", "1 kHz", 1e3),
        ("Hz", "beat", 1.0),
        ("rpm", "spin", 60.0),
        ("rpm", "twice", 120.0),
    ] {
        let found = turning(unit).run(&mass(&format!("'{start}'"), ""), 0).value("u", 0, 0);
        assert!((found - wanted).abs() < 1e-6, "{unit} {start}: {found}");
    }
}

/// A run begins at 0 s; an FMU whose experiment begins elsewhere is told so, and so is the user.
#[test]
fn an_experiment_that_begins_later() {
    let later = [("startTime=\"0\"", "startTime=\"2\"")];
    let run = Bench::new("start-time").fmu("mass", &later).run(&mass("1", ""), S);
    let notes: Vec<String> = run.facts().into_iter().map(|f| f.1).collect();
    let part = "its default experiment begins at 2 s, and runs begin at 0 s";
    assert!(notes.len() == 1 && notes[0].contains(part), "{notes:?}");
}
