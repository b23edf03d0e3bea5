//! `[result]`: formulas that jump, that change fast, and outputs that do.
use crate::results::{run, value};

/// Runs a unit and compares its results with numbers.
fn compare(text: &str, wanted: &[(&str, f64)], error: f64) {
    let results: Vec<String> =
        wanted.iter().enumerate().map(|(k, (what, _))| format!("r{k} = \"{what}\"\n")).collect();
    let done = run(&format!("{text}\n[result]\n{}", results.concat()), &[]);
    for (k, (what, wanted)) in wanted.iter().enumerate() {
        let found = value(&done, &format!("r{k}")).unwrap_or(f64::NAN);
        assert!((found - wanted).abs() <= error, "{what} is {found}, not {wanted}");
    }
    assert!(done.summary.notes.iter().all(|note| !note.contains("is off")));
}

const RAMP: &str = "stop = '10 s'\nsample = 'none'\n[unit.r]\nkind = 'ramp'\nslope = 1";

/// Jumps of a formula lie where its functions turn, and it has no value between them.
#[test]
fn formulas_that_jump() {
    let duration = [
        ("duration(floor(r.y) == 3)", 1.0),
        ("duration(floor(r.y) >= 3)", 7.0),
        ("first(floor(r.y) >= 3)", 3.0),
        ("duration(round(r.y) == 3)", 1.0),
        ("duration(sign(r.y - 3) > 0)", 7.0),
        ("duration((if r.y > 3 then 1 else 0) > 0.5)", 7.0),
        ("duration(mod(floor(r.y), 2) == 0)", 5.0),
        ("duration(step(r.y - 3) > 0.5)", 7.0),
        ("count(mod(r.y, 1) < 0.5)", 11.0),
        ("max(if r.y > 3 then 1 else 0)", 1.0),
        ("max(mod(r.y, 4))", 4.0),
        ("min(mod(r.y, 4))", 0.0),
        ("mean(mod(r.y, 2.5))", 1.25),
        ("max(if time < 3.3 then time else 0)", 3.3),
        ("max(if r.y > 3.3 then -r.y else r.y)", 3.3),
        ("percentile(sign(r.y - 3), 100)", 1.0),
        ("integral(trunc(r.y))", 45.0),
    ];
    compare(RAMP, &duration, 1e-9);
    for method in ["rk45", "taylor", "rodas", "closed", "qss3"] {
        let wave = format!(
            "stop = '20 s'\nsample = 'none'\n[unit.p]\nkind = 'equations'\nmethod = '{method}'\n\
             states = {{ x = 1, v = 0 }}\nderivatives = {{ x = 'v', v = '-x' }}\noutputs = {{ x = 'x' }}"
        );
        let pi = std::f64::consts::PI;
        let shares = [
            ("duration(sign(p.x) > 0)", 20.0 - 3.0 * pi),
            ("first(sign(p.x) < 0)", 0.5 * pi),
            ("count((if p.x > 0 then 1 else 0) == 1)", 4.0),
            ("max(sign(p.x))", 1.0),
            ("min(sign(p.x))", -1.0),
            ("count(floor(2*p.x) > 0)", 4.0),
        ];
        compare(&wave, &shares, if method == "qss3" { 0.05 } else { 1e-5 });
    }
}

/// Many changes within one piece of a signal are all met.
#[test]
fn formulas_that_change_fast() {
    let constant = "stop = '100 s'\nsample = 'none'\n[unit.c]\nkind = 'constant'\nvalue = 2";
    let mean = 0.5 - 600.0f64.sin() / 1200.0;
    let fast = [
        ("mean(sin(3*time)^2)", mean),
        ("count(sin(5*time) > 0.5)", 80.0),
        ("count(sin(20*time) > 0.5)", 319.0),
        ("max(sin(10*time)*c.y)", 2.0),
        ("duration(mod(time, 1) < 0.5)", 50.0),
        ("mean(mod(time, 4))", 2.0),
    ];
    compare(constant, &fast, 1e-7);
}

/// Outputs change fast beside states that make long steps.
#[test]
fn outputs_that_change_fast() {
    let mains = "stop = '60 s'\nsample = 'none'\n[unit.e]\nkind = 'equations'\nstates = { T = 20 }\n\
                 derivatives = { T = '-(T - 30)/600' }\noutputs = { T = 'T', v = '325*sin(2*pi*50*t)' }";
    let all = [
        ("max(e.v)", 325.0),
        ("min(e.v)", -325.0),
        ("rms(e.v)", 325.0 / 2.0f64.sqrt()),
        ("count(e.v > 100)", 3000.0),
    ];
    compare(mains, &all, 1e-6);
}

/// Faster than that is told.
#[test]
fn changes_that_are_too_fast_are_told() {
    let text = "stop = '100 s'\nsample = 'none'\n[unit.e]\nkind = 'equations'\nstates = { T = 20 }\n\
                derivatives = { T = '0' }\noutputs = { v = 'sin(2*pi*5e3*t)', w = 'sin(t)' }\n\
                [result]\nslow = 'rms(e.w)'\nmean = 'rms(e.v)'\nformula = 'mean(sin(1e5*time)*e.v)'\nend = 'final(e.v)'\n";
    let done = run(text, &[]);
    let told =
        |name: &str| done.summary.notes.iter().any(|n| n.contains(&format!("`{name}` is off")));
    assert_eq!([told("mean"), told("formula"), told("end")], [true, true, false]);
    // An output beside it keeps its own changes.
    let slow = (0.5 - 200_f64.sin() / 400.0).sqrt();
    assert!(!told("slow") && (value(&done, "slow").unwrap() - slow).abs() < 1e-9);
}

/// While a block sticks to its belt, the difference of their speeds is zero but for rounding.
#[test]
fn changes_of_rounding_are_none() {
    let text = "stop = '60 s'\nsample = 'none'\n[unit.b]\nkind = 'equations'\nswitching = 'sliding'\nmethod = 'rk45'\n\
                tolerance = 1e-11\nabsolute_tolerance = 1e-13\nstates = { x = 0, v = 0 }\n\
                let = { vr = '0.3 - v', F = 'sign(vr)*(5 + 3*exp(-abs(vr)/0.1))' }\n\
                derivatives = { x = 'v', v = '(F - 20*x - 0.1*v)/2' }\noutputs = { v = 'v', F = 'F' }\n\
                [result]\nstuck = 'duration(abs(b.v - 0.3) < 1e-9)'\nforce = 'mean(b.F)'\n";
    let done = run(text, &[]);
    assert!(done.summary.notes.is_empty(), "{:?}", done.summary.notes);
    // By an event loop that steps to each slip and stick, with the band of 1e-9 m/s.
    assert!((value(&done, "stuck").unwrap() - 26.788_59).abs() < 1e-4);
}

/// The end of a run that an event makes is an instant like others.
#[test]
fn the_last_instant_of_a_run_that_an_event_ends() {
    let text = "stop = '10 s'\n[unit.e]\nkind = 'equations'\nstates = { x = 0 }\nderivatives = { x = '1' }\n\
                outputs = { x = 'x' }\n[[unit.e.event]]\nname = 'big'\nat = [5]\nterminate = 'done'\n\
                [result]\nat = \"at(e.x, '5 s')\"\nlate = \"at(e.x, '6 s')\"\nfinal = 'final(e.x)'\n\
                window = { value = 'final(e.x)', over = ['0 s', '5 s'] }\n\
                wide = { value = 'final(e.x)', over = ['2 s', '8 s'] }\n\
                early = { value = 'final(e.x)', over = ['2 s', '3 s'] }\n";
    let done = run(text, &[]);
    let found = ["at", "late", "final", "window", "wide", "early"]
        .map(|name| value(&done, name).map(f64::round));
    assert_eq!(found, [Some(5.0), None, Some(5.0), Some(5.0), Some(5.0), Some(3.0)]);
}

/// A ramp reaches its threshold at the end of the run, but for rounding; what decays never does.
#[test]
fn thresholds_at_the_end_of_a_run() {
    for method in ["rk45", "rk23", "rodas", "taylor", "qss2", "qss3", "liqss2", "closed", "auto"] {
        let text = format!(
            "stop = '30 s'\n[unit.e]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ x = 0, y = 1, z = 0, w = 1 }}\n\
             derivatives = {{ x = '0.1', y = '-1/30', z = '1/3', w = '-w' }}\n\
             outputs = {{ x = 'x', y = 'y', z = 'z', w = 'w' }}\n[result]\nx = 'first(e.x >= 3)'\ny = 'first(e.y <= 0)'\n\
             z = 'first(e.z >= 10)'\nxs = 'count(e.x >= 3)'\nbeyond = 'count(e.x > 3) + count(e.y < 0) + count(e.z > 10)'\n\
             w = 'count(1 - e.w >= 1)'\nwindow = {{ value = 'first(e.x >= 1)', over = ['2 s', '10 s'] }}\n"
        );
        let done = run(&text, &[]);
        let found = ["x", "y", "z", "window", "xs", "beyond"].map(|name| value(&done, name));
        let wanted = [Some(30.0), Some(30.0), Some(30.0), Some(10.0), Some(1.0), Some(0.0)];
        assert_eq!(found, wanted, "{method}");
        // Other methods may put it below zero, by their error.
        if ["rk45", "taylor", "closed"].contains(&method) {
            assert_eq!(value(&done, "w"), Some(0.0), "{method}");
        }
    }
}

/// Steps that end where an event, or a message, puts the signal back are noted before it does.
#[test]
fn arrivals_at_the_end_of_a_step() {
    let rounded = |x: f64| (x * 1e9).round() / 1e9;
    for (method, step) in
        [("rk4", "10 ms"), ("rk4", "20 ms"), ("euler", "10 ms"), ("rk4", "3 ms"), ("rk45", "")]
    {
        let steps = if step.is_empty() { String::new() } else { format!("step = '{step}'\n") };
        let text = format!(
            "stop = '20 s'\n[unit.a]\nkind = 'equations'\nmethod = '{method}'\n{steps}states = {{ h = 0 }}\n\
             derivatives = {{ h = '0.7' }}\noutputs = {{ h = 'h' }}\n[[unit.a.event]]\nname = 'full'\nwhen = 'h >= 0.7'\n\
             reset = {{ h = '0' }}\n[result]\nevents = \"count(event('a', 'full'))\"\ncount = 'count(a.h >= 0.7)'\n\
             first = 'first(a.h >= 0.7)'\n"
        );
        let done = run(&text, &[]);
        let found = ["events", "count", "first"].map(|name| value(&done, name).map(rounded));
        assert_eq!(found, [Some(20.0), Some(20.0), Some(1.0)], "{method} {step}");
    }
    for step in ["", "max_step = 0.1\n", "max_step = 0.11\n", "max_step = 0.5\n"] {
        let text = format!(
            "stop = '31 s'\nconnections = ['ck.y -> a.go']\n[unit.ck]\nkind = 'clock'\nperiod = '3 s'\n[unit.a]\n\
             kind = 'equations'\n{step}event_inputs = ['go']\nstates = {{ h = 0 }}\nderivatives = {{ h = '0.1' }}\n\
             outputs = {{ h = 'h' }}\n[[unit.a.on]]\ninput = 'go'\nreset = {{ h = '0' }}\n[result]\n\
             count = 'count(a.h >= 0.3)'\nlast = 'last(a.h >= 0.3)'\n"
        );
        let done = run(&text, &[]);
        let found = ["count", "last"].map(|name| value(&done, name).map(rounded));
        assert_eq!(found, [Some(10.0), Some(30.0)], "{step}");
    }
}

/// Events of all members of an array, and of links, are counted by a pattern.
#[test]
fn events_of_arrays() {
    let text = "stop = '10 s'\n[unit.b]\nkind = 'equations'\ncount = 12\nstates = { x = 0 }\nderivatives = { x = '1' }\n\
                outputs = { x = 'x' }\n[[unit.b.event]]\nname = 'full'\nwhen = 'x >= 3 + i/2'\n\
                [result]\nall = \"count(event('b[*]', 'full'))\"\nfirst = \"first(event('b[*]', '*'))\"\n\
                tens = \"count(event('b[1*]', 'full'))\"\none = \"last(event('b[2]', 'full'))\"\n";
    let done = run(text, &[]);
    let found = ["all", "first", "tens", "one"].map(|name| value(&done, name).map(f64::round));
    assert_eq!(found, [Some(12.0), Some(3.0), Some(3.0), Some(4.0)]);
    let none = text.replace("'b[2]'", "'c[*]'");
    assert!(crate::plan_with(&none, &[]).is_err());
}

/// Half-waves that look flat at all places where a formula is sampled, of a unit and of the time.
#[test]
fn half_waves_of_what_is_rectified() {
    for method in ["closed", "taylor", "rk45"] {
        let turning = format!(
            "stop = '10 s'\nsample = 'none'\n[unit.a]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ th = 0 }}\n\
             derivatives = {{ th = '100' }}\noutputs = {{ th = 'th', r = 'max(0, sin(th))' }}"
        );
        // 159 whole turns, and the positive half of one more.
        let half = (1.0 - 1000_f64.cos()) / 100.0;
        let waves = 159.0 * 0.02 + half;
        let tip = 0.9_f64.acos();
        let tips = 159.0 * 2.0 * (tip.sin() - 0.9 * tip) + (tip.sin() - 0.9 * tip);
        let wanted = [
            ("integral(max(0, sin(a.th)))", waves),
            ("integral(a.r)", waves),
            ("integral(max(0, sin(100*time)))", waves),
            ("integral(max(0, cos(a.th) - 0.9))", tips / 100.0),
        ];
        compare(&turning, &wanted, 1e-8);
    }
}

/// A result does not depend on those before it.
#[test]
fn results_beside_others() {
    for method in ["closed", "taylor", "rk45"] {
        let turning = format!(
            "stop = '10 s'\nsample = 'none'\n[unit.a]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ th = 0 }}\n\
             derivatives = {{ th = '5' }}\noutputs = {{ th = 'th', i = 'sin(th)' }}"
        );
        let wanted = [
            ("integral(a.i)", (1.0 - 50_f64.cos()) / 5.0),
            ("at(a.th, '0.05 s')", 0.25),
            ("first(a.th > 0.25)", 0.05),
            ("duration(a.th > 0.25)", 9.95),
            ("integral(a.th)", 250.0),
        ];
        compare(&turning, &wanted, 1e-8);
    }
}

/// The balance of an oscillator is small, and known up to rounding only: no reason to say that it is off.
#[test]
fn a_balance_that_is_rounding() {
    let text = "stop = '3 s'\nsample = 'none'\n[unit.a]\nkind = 'equations'\nstates = { x = 1, v = 0 }\n\
                derivatives = { x = 'v', v = '-40*x' }\n\
                outputs = { x = 'x', err = '0.5*v^2 + 20*x^2 - 20' }";
    // Runge-Kutta 4(5) with default tolerances loses about a millionth of a share of the energy.
    compare(text, &[("max(abs(a.err))", 1.6e-7), ("count(a.x > 0.5)", 4.0)], 1e-7);
}

/// The first step of a quantised method is shorter than a tick; its rise from zero counted twice.
#[test]
fn a_rise_from_zero_counts_once() {
    for method in ["rk45", "qss1", "qss2", "qss3", "liqss2", "mliqss2", "auto"] {
        let done = run(
            &format!(
                "stop='10 ms'\nconnections=['u.y -> c.u']\n[unit.u]\nkind='step'\nat='3 ms'\nto=24\n\
                 [unit.c]\nkind='equations'\nmethod='{method}'\ninputs={{u=0}}\nstates={{i=0}}\n\
                 derivatives={{i='(u - 2*i)/1e-3'}}\noutputs={{i='i'}}\n\
                 [result]\nn='count(c.i > 0)'\nfirst='first(c.i > 0)'\nlast='last(c.i > 0)'\n"
            ),
            &[],
        );
        assert_eq!(value(&done, "n"), Some(1.0), "{method}");
        assert_eq!(value(&done, "first"), Some(0.003), "{method}");
        assert_eq!(value(&done, "last"), Some(0.003), "{method}");
    }
}

/// Jumps that come and go between the places at which a long piece of a signal is looked at, in each way of writing
/// them. Of a constant there is one piece for a week.
#[test]
fn windows_within_a_long_piece() {
    let week = "stop = '7 d'\nsample = 'none'\nconnections = ['c.y -> m.u']\n[unit.c]\nkind = 'constant'\nvalue = 2\n\
                [unit.m]\nkind = 'integrator'";
    let hour = "mod(time/3600, 24)";
    let inside = format!("{hour} >= 17 and {hour} < 21");
    let window = |open: &str, shut: &str| format!("(if {inside} then {open} else {shut})");
    let energy = |formula: String| (format!("integral({formula})/3600"), 56.0);
    let all = [
        energy(window("c.y", "0")),
        energy(format!("if {hour} >= 17 then (if {hour} < 21 then c.y else 0) else 0")),
        energy(format!("(if {hour} >= 17 then 1 else 0)*(if {hour} < 21 then 1 else 0)*c.y")),
        energy(format!("if abs({hour} - 19) < 2 then c.y else 0")),
        energy(format!("(floor({hour}/17) - floor({hour}/21))*c.y")),
        energy(format!("step({hour} - 17)*step(21 - {hour})*c.y")),
        (format!("duration({inside})/3600"), 28.0),
        (format!("duration(sign({hour} - 17) > 0.5)/3600"), 49.0),
        (format!("count({} > 1)", window("c.y", "0")), 7.0),
        (format!("max({})", window(&format!("c.y*{hour}"), "0")), 42.0),
        (format!("percentile({}, 84)", window("c.y", "0")), 2.0),
        (
            format!("integral({})/3600", window("0.4*c.y", "0.2*c.y")),
            7.0 * (4.0 * 0.8 + 20.0 * 0.4),
        ),
        // Of the level y = 2 t, between hours 17 and 21 of each day.
        (
            format!("integral({})/3600^2", window("m.y", "0")),
            (0..7).map(|day| 8.0 * (24.0 * f64::from(day) + 19.0)).sum(),
        ),
    ];
    let all: Vec<(&str, f64)> = all.iter().map(|(what, wanted)| (what.as_str(), *wanted)).collect();
    compare(week, &all, 1e-6);
    let short = [
        ("integral(if mod(time, 0.348) > 0.135 then 1 else 0)", 1.785),
        ("integral(floor(1.939*mod(time, 0.56)))", 5.0 * (0.56 - 1.0 / 1.939)),
        ("duration(sign(mod(time, 0.348) - 0.135) > 0.5)", 1.785),
    ];
    compare("stop = '3 s'\nsample = 'none'\n[unit.c]\nkind = 'constant'\nvalue = 2", &short, 1e-9);
}

/// A formula that begins on its kink is a difference of large numbers there: its rounding is no change, and no reason
/// to look closer.
#[test]
fn starts_on_a_kink() {
    for method in ["closed", "rk45", "rk23", "rodas", "taylor", "qss2", "auto"] {
        for output in ["max(x - 50, 0)", "0.5*(abs(x - 50) + x - 50)", "clamp(x, 50, 100) - 50"] {
            let text = format!(
                "stop = '600 s'\nsample = 'none'\n[unit.c]\nkind = 'equations'\nmethod = '{method}'\n\
                 states = {{ x = 50 }}\nderivatives = {{ x = '0.02' }}\noutputs = {{ y = '{output}', x = 'x' }}"
            );
            let all = [
                ("count(c.y > 0)", 1.0),
                ("last(c.y > 0)", 0.0),
                ("min(c.y)", 0.0),
                ("integral(c.y)", 3600.0),
                ("count(max(c.x - 50, 0) > 0)", 1.0),
                ("integral(max(c.x - 50, 0))", 3600.0),
            ];
            compare(&text, &all, 1e-8);
        }
    }
}

/// A value that an event turns back or puts elsewhere on its threshold has reached it, and is not beyond it; so is one
/// that slides or stops there.
#[test]
fn values_on_their_threshold() {
    let unit = |text: &str| format!("sample = 'none'\n[unit.b]\nkind = 'equations'\n{text}");
    let event = |name: &str, rest: &str| format!("\n[[unit.b.event]]\nname = '{name}'\n{rest}");
    let turned = |up: &str, down: &str| {
        let begin = "stop = '20 s'\nstates = { i = 0.5, v = 1 }\nderivatives = { i = 'v', v = '0' }\noutputs = { i = 'i' }";
        let top = event("top", &format!("when = 'i >= 1 and v > 0'\nreset = {{ {up} }}"));
        let bottom = event("bottom", &format!("when = 'i <= 0 and v < 0'\nreset = {{ {down} }}"));
        unit(&format!("{begin}{top}{bottom}"))
    };
    let ten = |at_top: f64, at_bottom: f64| {
        [
            ("count(b.i >= 1)", at_top),
            ("count(b.i > 1)", 0.0),
            ("first(b.i >= 1)", 0.5),
            ("count(b.i <= 0)", at_bottom),
            ("count(b.i < 0)", 0.0),
        ]
    };
    let friction = unit(
        "stop = '6 s'\nswitching = 'sliding'\nstates = { i = 2 }\nderivatives = { i = '0.5*t - 3*sign(i)' }\n\
         outputs = { i = 'i' }",
    );
    let slides = [("count(b.i < 0)", 0.0), ("count(b.i >= 0)", 1.0), ("count(b.i <= 0)", 1.0)];
    let charge = unit(
        "stop = '10 s'\nstates = { i = 0.1 }\noutputs = { i = 'i' }\n[unit.b.mode.charge]\n\
         derivatives = { i = '1 - 0.1*i' }\n[[unit.b.mode.charge.event]]\nname = 'full'\nwhen = 'i >= 0.7'\n\
         reset = { i = 0.7 }\nto = 'hold'\n[unit.b.mode.hold]",
    );
    let stops = [("count(b.i > 0.7)", 0.0), ("count(b.i >= 0.7)", 1.0)];
    for method in ["rk45", "rk23", "rodas", "taylor", "qss2", "qss3", "liqss2", "mliqss2", "auto"] {
        let with = |text: &str| {
            let (stop, rest) = text.split_once("stop = ").expect("a stop");
            let (stop_at, rest) = rest.split_once('\n').expect("a line");
            let head = stop.replacen("sample", &format!("stop = {stop_at}\nsample"), 1);
            format!("{head}method = '{method}'\n{rest}")
        };
        compare(&with(&turned("v = '-v'", "v = '-v'")), &ten(10.0, 10.0), 1e-8);
        compare(&with(&turned("v = '-v', i = 1", "v = '-v', i = 0")), &ten(10.0, 10.0), 1e-8);
        compare(&with(&turned("i = 0.3", "v = 1")), &ten(28.0, 0.0), 1e-8);
        compare(&with(&friction), &slides, 0.0);
        compare(&with(&charge), &stops, 0.0);
    }
}

/// Conditions of constants hold always or never.
#[test]
fn conditions_of_constants() {
    let text = RAMP.replace("sample =", "parameters = { limit = 2 }\nsample =");
    let all = [
        ("duration(limit > 1)", 10.0),
        ("duration(limit < 1)", 0.0),
        ("first(limit > 1)", 0.0),
        ("count(limit > 1)", 1.0),
        ("duration(limit > 1 and r.y > 4)", 6.0),
        ("integral(limit)", 20.0),
    ];
    compare(&text, &all, 1e-12);
}

/// A value that an event turns back at the last instant of a window, or of a run, has come to its threshold there.
#[test]
fn turned_back_at_the_last_instant() {
    let saw = |reset: &str| {
        format!(
            "stop = '4 s'\nsample = 'none'\n[unit.u]\nkind = 'equations'\nstates = {{ x = 0, v = 1 }}\n\
             derivatives = {{ x = 'v', v = '0' }}\noutputs = {{ x = 'x' }}\n[[unit.u.event]]\nname = 'top'\n\
             when = 'x >= 1 and v > 0'\nreset = {{ {reset} }}\n\
             [[unit.u.event]]\nname = 'bottom'\nwhen = 'x <= 0 and v < 0'\nreset = {{ v = '1' }}\n"
        )
    };
    let window = |from: f64, to: f64| format!("over = ['{from} s', '{to} s']");
    // It falls back to zero each second; or it turns at 1 s and 3 s, and at the bottom at 2 s and 4 s.
    let resets = [
        ("count(u.x >= 1)", 4.0, 3.0),
        ("last(u.x >= 1)", 4.0, 3.0),
        ("count(u.x > 1)", 0.0, 0.0),
        ("count(u.x < 1)", 5.0, 4.0),
    ];
    let turns =
        [("count(u.x >= 1)", 2.0, 2.0), ("last(u.x <= 0)", 4.0, 2.0), ("count(u.x < 0)", 0.0, 0.0)];
    for (text, cases) in [(saw("x = '0'"), &resets[..]), (saw("v = '-1'"), &turns[..])] {
        for (value, whole, part) in cases {
            for (over, wanted) in [(window(0.0, 4.0), *whole), (window(0.0, 3.0), *part)] {
                let named = format!("[result.r]\nvalue = \"{value}\"\n{over}\n");
                let done = crate::results::run(&format!("{text}{named}"), &[]);
                let found = crate::results::value(&done, "r");
                assert!(
                    found.is_some_and(|r| (r - wanted).abs() < 1e-8),
                    "{value}, {over}: {found:?}, not {wanted}"
                );
            }
        }
    }
}

/// A unit that switches hears signals to within their `exchange_tolerance`. A condition at its threshold holds there:
/// a room of 15 degrees is heated to 21, cooled to 19, and so on.
#[test]
fn thresholds_at_which_another_unit_switches() {
    for method in ["rk45", "rk23", "taylor", "rodas", "closed", "qss3"] {
        let room = format!(
            "stop = '2 h'\nsample = 'none'\n\
             connections = ['room.T -> switch.u', 'switch.y -> heater.u', 'heater.y -> room.heat']\n\
             [unit.room]\nkind = 'equations'\nmethod = '{method}'\nevent_inputs = ['heat']\nstates = {{ T = 15.0 }}\n\
             discrete = {{ heating = 0 }}\nderivatives = {{ T = '(5 - T)/3000 + 0.01*heating' }}\noutputs = {{ T = 'T' }}\n\
             [[unit.room.on]]\ninput = 'heat'\nreset = {{ heating = 'value' }}\n\
             [unit.switch]\nkind = 'hysteresis'\nlow = 19\nhigh = 21\nannounce = true\n\
             [unit.heater]\nkind = 'scaler'\ngain = -1.0\noffset = 1.0"
        );
        let begun = 3000.0 * (20.0f64 / 14.0).ln();
        let counts = [
            ("count(room.T >= 21)", 8.0),
            ("count(room.T <= 19)", 9.0),
            ("count(room.T > 21.001)", 0.0),
        ];
        compare(&room, &counts, 0.0);
        let off = if method == "qss3" { 0.3 } else { 0.01 };
        compare(&room, &[("first(room.T >= 21)", begun)], off);
    }
}

/// Values beside a pole say nothing of those elsewhere, and neither does a single instant without a number.
#[test]
fn conditions_beside_poles() {
    let lag = "stop = '10 s'\nsample = 'none'\n[unit.l]\nkind = 'equations'\nstates = { y = 0, x = 1, v = 0 }\n\
               derivatives = { y = '1 - y', x = 'v', v = '-x' }\noutputs = { y = 'y', x = 'x', v = 'v' }\n\
               tolerance = 1e-9";
    let (pi, half) = (std::f64::consts::PI, 2f64.ln());
    let close = -(1.0 - 10f64.powf(-0.15)).ln();
    let wanted = [
        // Minus infinity at the start.
        ("first(20*log10(abs(l.y)) > -3)", close),
        ("duration(20*log10(abs(l.y)) > -3)", 10.0 - close),
        ("count(20*log10(abs(l.y)) > -3)", 1.0),
        ("duration(1/l.y < 2)", 10.0 - half),
        ("first(1/time < 0.5)", 2.0),
        ("duration(time/time > 0.5)", 10.0),
        // Poles on the way.
        ("duration(tan(time) > 1)", 0.75 * pi),
        ("count(tan(time) > 1)", 3.0),
    ];
    compare(lag, &wanted, 1e-6);
    // 1/cos t is above 2 where cos t lies between 0 and 1/2: for pi/6 on each side of a pole.
    let others = [
        ("duration(1/l.x > 2)", 0.5 * pi),
        ("count(1/l.x > 2)", 3.0),
        ("duration(1/l.x < 2)", 10.0 - 0.5 * pi),
        ("duration((0.8*l.x + 0.01)/l.x > 0.9)", duration_above()),
    ];
    compare(lag, &others, 1e-6);
}

/// The time in 10 s in which 0.01/cos t is above 0.1: cos t is between 0 and 0.1.
fn duration_above() -> f64 {
    3.0 * (0.1f64.acos() - 0.5 * std::f64::consts::PI).abs()
}

/// Where a condition hangs on the root or the logarithm of a negative number, there is no result.
#[test]
fn conditions_without_a_number() {
    let wave = "stop = '10 s'\nsample = 'none'\n[unit.o]\nkind = 'equations'\nstates = { v = 1, x = 0 }\n\
                derivatives = { x = 'v', v = '-x' }\noutputs = { v = 'v' }\ntolerance = 1e-10\n[result]\n\
                a = 'duration(log(o.v) < -0.5)'\nb = 'count(sqrt(o.v) > 0.5)'\nc = 'first(asin(3*o.v) < -2)'\n\
                d = 'duration(o.v > 0 and log(o.v) < -0.5)'\ne = 'last(sqrt(o.v) > 2)'\n";
    let done = run(wave, &[]);
    for name in ["a", "b", "c", "e"] {
        assert_eq!(value(&done, name), None, "{name}");
        let told = |note: &String| note.contains(&format!("`{name}` is no number"));
        assert!(done.summary.notes.iter().any(told), "{:?}", done.summary.notes);
    }
    let part = (-0.5f64).exp().acos();
    let wanted = 3.0 * (0.5 * std::f64::consts::PI - part);
    assert!(
        value(&done, "d").is_some_and(|d| (d - wanted).abs() < 1e-6),
        "{:?}",
        value(&done, "d")
    );
}

/// The signal touches 1 and -1, at instants that a step may meet or not.
#[test]
fn steps_of_a_touching_value_are_whole_numbers() {
    for method in ["rodas", "rk45", "taylor", "closed"] {
        let text = format!(
            "stop = '10 s'\n[unit.m]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ x = 0.3, v = 1 }}\n\
             derivatives = {{ x = 'v', v = '-4*x' }}\noutputs = {{ d = 'sin(2*v)' }}\n\
             [result]\nmost = 'max(abs(floor(m.d*2)))'\nroot = 'max(sqrt(abs(floor(m.d*2))))'"
        );
        let done = run(&text, &[]);
        let [most, root] = ["most", "root"].map(|name| value(&done, name).unwrap());
        // A solution that goes beyond -1 by its tolerance has the next whole number there.
        assert!([2.0, 3.0].contains(&most), "{method}: {most}");
        assert!((root - most.sqrt()).abs() < 1e-12, "{method}: {root}");
    }
}
