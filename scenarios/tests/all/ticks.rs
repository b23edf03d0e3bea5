//! Coarse ticks: what they cannot tell is told, and what they can is right.
use crate::{
    plan,
    results::{run, value},
};

/// Events come every 40 ticks for ever: nothing chatters.
#[test]
fn steady_oscillations_do_not_chatter() {
    let head = "stop = '200 s'\nresolution = 'ms'\nsample = 'none'\n[unit.n]\nkind = 'equations'\nstates = { v = 0 }\n";
    let neuron = "derivatives = { v = '25.3' }\n[[unit.n.event]]\nname = 'up'\nwhen = 'v >= 1'\nreset = { v = '0' }\n";
    let relay = "discrete = { d = 1 }\nderivatives = { v = '25.3*d' }\n\
                 [[unit.n.event]]\nname = 'up'\nwhen = 'v >= 1'\nreset = { d = '-1' }\n\
                 [[unit.n.event]]\nname = 'down'\nwhen = 'v <= 0'\nreset = { d = '1' }\n";
    let result = "[result]\nn = \"count(event('n', 'up'))\"\n";
    // Each event comes at the first tick behind its instant: 40 ms in place of 39.5, and 40 or 39 of the relay.
    for (model, least, most) in [(neuron, 5000.0, 5000.0), (relay, 2500.0, 2531.0)] {
        for method in ["rk45", "rodas", "taylor", "closed"] {
            let text = format!("{head}method = '{method}'\n{model}{result}");
            let count = value(&run(&text, &[]), "n").unwrap();
            assert!((least..=most).contains(&count), "{method}: {count}\n{model}");
        }
    }
}

/// A filter, and the filter of a derivative, that are faster than ticks.
#[test]
fn fast_filters_stay_within_what_they_pass_through() {
    let lag = |tau: &str, resolution: &str| {
        run(
            &format!(
                "stop = '5 s'\nresolution = '{resolution}'\nconnections = ['s.y -> f.u', 'f.y -> i.u']\n\
                 [unit.s]\nkind = 'step'\nat = '1 s'\n[unit.f]\nkind = 'first-order'\ntime_constant = '{tau}'\n\
                 [unit.i]\nkind = 'integrator'\n[result]\nmost = 'max(f.y)'\nleast = 'min(f.y)'\narea = 'final(i.y)'\n"
            ),
            &[],
        )
    };
    for (tau, resolution, area, near) in [
        ("10 us", "ms", 3.99999, 1e-3),
        ("0.5 s", "s", 3.5, 0.05),
        ("1 s", "s", 3.0183, 0.02),
        ("1 ps", "ns", 4.0, 1e-9),
    ] {
        let done = lag(tau, resolution);
        let [most, least] = ["most", "least"].map(|name| value(&done, name).unwrap());
        assert!((0.98..1.0 + 1e-9).contains(&most) && least.abs() < 1e-9, "{tau}: {most} {least}");
        let found = value(&done, "area").unwrap();
        assert!((found - area).abs() < near, "{tau}: {found}");
        let told =
            done.summary.notes.iter().any(|note| note.contains("changes faster than ticks of"));
        assert!(told, "{tau}: {:?}", done.summary.notes);
    }
    let slow = lag("1 s", "us");
    assert!((value(&slow, "area").unwrap() - 3.018_315_6).abs() < 1e-5);
    assert_eq!(slow.summary.notes, [""; 0]);
}

/// Signals of a millionth beside the tolerance of a millionth.
#[test]
fn small_signals_of_blocks_are_told() {
    let coarse = |block: &str, scale: &str| {
        let text = format!(
            "stop = '3 s'\nconnections = ['s.y -> f.u']\n[unit.s]\nkind = 'step'\nat = '1 s'\nto = {scale}\n\
             [unit.z]\nkind = 'constant'\nvalue = 0\n[unit.f]\n{block}\n"
        );
        let text = match block.contains("pid") {
            true => text.replace("'s.y -> f.u'", "'s.y -> f.reference', 'z.y -> f.measured'"),
            false => text,
        };
        let notes = run(&text, &[]).summary.notes;
        notes.iter().any(|note| note.contains("a thousand times the `exchange_tolerance`"))
    };
    for block in [
        "kind = 'first-order'\ntime_constant = 1",
        "kind = 'pid'\nkp = 2\nki = 1",
        "kind = 'rate-limiter'\nrising = 1e-7\nfalling = 1e-7",
    ] {
        assert!(coarse(block, "1e-6"), "{block}");
        let larger = block.replace("1e-7", "1");
        assert!(!coarse(&larger, "1.0"), "{larger}");
        let narrow = format!("{block}\nexchange_tolerance = 1e-12");
        assert!(!coarse(&narrow, "1e-6"), "{narrow}");
    }
    let sine = |amplitude: &str| {
        let text = format!(
            "stop = '1 s'\n[unit.s]\nkind = 'sine'\nfrequency = 1\namplitude = {amplitude}\n"
        );
        run(&text, &[]).summary.notes.len()
    };
    assert_eq!([sine("1e-9"), sine("1e-6"), sine("1.0")], [1, 1, 0]);
}

/// A state that was as large as the tolerance is told, however small it is in the end.
#[test]
fn small_signals_are_told_also_when_they_are_gone() {
    let text = "stop = '100 s'\nsample = 'none'\nconnections = ['a.S -> b.S', 'b.I -> a.I']\n[parameters]\nN = 1e-6\n\
                [unit.a]\nkind = 'equations'\nmethod = 'rk45'\ninputs = { I = 'N/1000' }\nstates = { S = 'N*0.999' }\n\
                derivatives = { S = '-0.3*S*I/N' }\noutputs = { S = 'S' }\n\
                [unit.b]\nkind = 'equations'\nmethod = 'rk45'\ninputs = { S = 'N*0.999' }\nstates = { I = 'N/1000' }\n\
                derivatives = { I = '0.3*S*I/N - 0.1*I' }\noutputs = { I = 'I' }\n";
    for method in ["rk45", "rodas", "taylor"] {
        for stop in ["60 s", "80 s", "100 s"] {
            let done = run(&text.replace("rk45", method).replace("100 s", stop), &[]);
            let told =
                done.summary.notes.iter().any(|note| note.starts_with("a: an output stayed below"))
                    || done.summary.notes.iter().any(|note| note.starts_with("a (1 more units)"));
            assert!(told, "{method} {stop}: {:?}", done.summary.notes);
        }
    }
}

/// A limited slope that meets its input between two ticks.
#[test]
fn limited_slopes_stay_within_their_input() {
    for (resolution, step) in [("ms", 1e-3), ("s", 1.0)] {
        let text = format!(
            "stop = '20 s'\nresolution = '{resolution}'\nconnections = ['p.y -> l.u', 'l.y -> i.u']\n\
             [unit.p]\nkind = 'pulse'\nperiod = '10 s'\nwidth = '5 s'\noffset = '1 s'\n\
             [unit.l]\nkind = 'rate-limiter'\nrising = 100.3\nfalling = 30.7\n[unit.i]\nkind = 'integrator'\n\
             [result]\nmost = 'max(l.y)'\nleast = 'min(l.y)'\narea = 'final(i.y)'\n"
        );
        let done = run(&text, &[]);
        let [most, least, area] = ["most", "least", "area"].map(|name| value(&done, name).unwrap());
        assert!((most - 1.0).abs() < 1e-9 && least.abs() < 1e-9, "{resolution}: {most} {least}");
        let exact = 10.0 - 1.0 / 100.3 + 1.0 / 30.7;
        assert!((area - exact).abs() < step, "{resolution}: {area} {exact}");
    }
}

/// 0.3 is three tenths, whatever the division says.
#[test]
fn multiples_of_a_quantum_are_met() {
    let at = |mode: &str, quantum: f64, level: f64| {
        let text = format!(
            "stop = '1 s'\nconnections = ['c.y -> q.u']\n[unit.c]\nkind = 'step'\nat = '0.5 s'\nto = {level}\n\
             [unit.q]\nkind = 'quantiser'\nmode = '{mode}'\nquantum = {quantum}\n[result]\ny = 'final(q.y)'\n"
        );
        value(&run(&text, &[]), "y").unwrap()
    };
    for k in 1..=30 {
        let multiple = f64::from(k) / 10.0;
        assert!((at("floor", 0.1, multiple) - multiple).abs() < 1e-12, "{multiple}");
        assert!((at("round", 0.1, multiple - 0.05) - multiple).abs() < 1e-12, "{multiple}");
    }
    assert!((at("floor", 0.1, 0.299_999_999) - 0.2).abs() < 1e-12);
}

/// A service of 2.5 s is none of 3 s.
#[test]
fn times_whose_mean_ticks_change_are_refused() {
    let text = "stop = '100 s'\nresolution = 's'\nconnections = ['a.out -> s.in', 's.out -> k.in']\n\
                [unit.a]\nkind = 'arrivals'\nmean = '100 s'\n[unit.s]\nkind = 'server'\ndistribution = 'constant'\n\
                mean = '2.5 s'\n[unit.k]\nkind = 'sink'\n";
    let told = plan(text).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("their mean of 2.5000e0 s becomes 3.0000e0 s"), "{told}");
    assert!(plan(&text.replace("resolution = 's'", "resolution = 'ms'")).is_ok());
}

/// The results of these names.
fn values<const N: usize>(text: &str, names: [&str; N]) -> [f64; N] {
    let done = run(text, &[]);
    names.map(|name| value(&done, name).unwrap_or(f64::NAN))
}

#[test]
fn kinks_within_a_tick_of_an_event_are_no_changes() {
    // The value comes to zero between two ticks and goes on below it to the next one, at most 2e-7.
    for (form, resolution) in [
        ("if x > 0 then 200*x else 0", "ns"),
        ("if x > 0 then 200*x else 0", "us"),
        ("200*max(x, 0)", "ns"),
        ("if x > 0 then 200*x else 0", "ps"),
    ] {
        for method in ["rk45", "rodas", "taylor", "qss2"] {
            let text = format!(
                "stop = '20 s'\nresolution = '{resolution}'\n[unit.m]\nkind = 'equations'\nstates = {{ x = '0.3+1/7' }}\n\
                 discrete = {{ s = -1 }}\nlet = {{ f = '{form}' }}\nderivatives = {{ x = 's' }}\noutputs = {{ f = 'f' }}\n\
                 method = '{method}'\n[[unit.m.event]]\nname = 'turn'\nwhen = 'x < -0.2 and s < 0 or x > 0.5 and s > 0'\n\
                 reset = {{ s = '-s' }}\n[result]\nboth = 'count(abs(m.f) > 0)'\nsquare = 'count(m.f*m.f > 0)'\n\
                 above = 'count(m.f > 0)'\nlong = 'duration(abs(m.f) > 0)'"
            );
            let [both, square, above, long] = values(&text, ["both", "square", "above", "long"]);
            assert_eq!([both, square, above], [15.0; 3], "{form}, {resolution}, {method}");
            assert!((long - 14.4).abs() < 1e-4, "{form}, {resolution}, {method}: {long}");
        }
    }
}

#[test]
fn values_stand_on_thresholds_at_fine_ticks() {
    for resolution in ["us", "ns", "ps", "fs"] {
        for method in ["rk45", "rodas", "rk4", "taylor", "closed", "qss1"] {
            let text = format!(
                "stop = '9 s'\nresolution = '{resolution}'\n[unit.a]\nkind = 'equations'\ndiscrete = {{ s = 1 }}\n\
                 states = {{ x = 0 }}\nderivatives = {{ x = 's' }}\noutputs = {{ x = 'x' }}\nmethod = '{method}'\nSTEP\
                 [[unit.a.event]]\nname = 'stop'\nat = '6 s'\nreset = {{ s = 0 }}\n\
                 [[unit.a.event]]\nname = 'go'\nat = '8 s'\nreset = {{ s = -1 }}\n\
                 [result]\nreached = 'duration(a.x >= 6)'\non = 'duration(a.x == 6)'\nfirst = 'first(a.x >= 6)'\n\
                 times = 'count(a.x >= 6)'"
            );
            let step = if method == "rk4" { "step = '0.1 s'\n" } else { "" };
            let text = text.replace("STEP", step);
            let found = values(&text, ["reached", "on", "first", "times"]);
            assert_eq!(found, [2.0, 2.0, 6.0, 1.0], "{resolution}, {method}");
        }
    }
}
