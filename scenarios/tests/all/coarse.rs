//! Conditions in results between ticks, and of values that have decayed; conditions at the start.
use crate::results::{run, value};

const METHODS: [&str; 6] = ["rk45", "rodas", "taylor", "closed", "auto", "qss2"];

/// Nothing stops where a value crosses its threshold, however near the end of a step is, or that of the run.
#[test]
fn crossings_lie_between_ticks() {
    let line = "stop = '2 s'\nresolution = '100 ms'\n[unit.u]\nkind = 'equations'\nmethod = '@'\nstates = { x = 0 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
                [result]\nabove = 'duration(u.x > 1.95)'\nfirst = 'first(u.x > 1.95)'\nbelow = 'duration(u.x <= 1.95)'\n";
    let third = 1.0 / 3.0;
    let wave = "stop = '1 s'\nresolution = 'ms'\n[unit.u]\nkind = 'equations'\nmethod = '@'\nstates = { x = 0, v = 1 }\n\
                derivatives = { x = '100*pi*v', v = '-100*pi*x' }\noutputs = { x = 'x' }\n\
                [result]\nabove = 'duration(u.x > 0.5)'\nfirst = 'first(u.x > 0.5)'\nbelow = 'duration(u.x <= 0.5)'\n";
    for method in METHODS {
        let tolerance = if method == "qss2" { 3e-3 } else { 1e-6 };
        for (text, wanted) in
            [(line, [0.05, 1.95, 1.95]), (wave, [third, 1.0 / 600.0, 2.0 * third])]
        {
            let done = run(&text.replace('@', method), &[]);
            for (name, wanted) in ["above", "first", "below"].into_iter().zip(wanted) {
                let found = value(&done, name).unwrap_or(f64::NAN);
                assert!(
                    (found - wanted).abs() < tolerance,
                    "{method}: {name} {found}, not {wanted}"
                );
            }
        }
    }
}

/// A saw that an event sets back at ticks of 100 ms: it is above one half until it does, also where the steps of another
/// state end a little after it came there.
#[test]
fn crossings_before_coarse_events_are_where_they_are() {
    let text = "stop = '10 s'\nresolution = '100 ms'\n[unit.u]\nkind = 'equations'\nmethod = '@'\n\
                states = { x = 0, y = 1 }\nderivatives = { x = '1.37', y = '-y' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'top'\nwhen = 'x >= 1'\nreset = { x = '0' }\n\
                [result]\nabove = 'duration(u.x > 0.5)'\nfirst = 'first(u.x > 0.5)'\n";
    // Each 0.8 s, of which the last is not whole.
    let rise = 0.5 / 1.37;
    let above = 12.0 * (0.8 - rise) + (0.4 - rise);
    for method in METHODS {
        let done = run(&text.replace('@', method), &[]);
        for (name, wanted) in [("above", above), ("first", rise)] {
            let found = value(&done, name).unwrap_or(f64::NAN);
            assert!((found - wanted).abs() < 1e-6, "{method}: {name} is {found}, not {wanted}");
        }
    }
}

/// After an event at a coarse tick the value comes back over its threshold within far less than a tick: how fast it was
/// there says nothing of where it rests.
#[test]
fn a_threshold_that_is_passed_fast_is_passed() {
    let text = "stop = '5 s'\nresolution = '100 ms'\n[unit.u]\nkind = 'equations'\nmethod = '@'\nstates = { x = 0 }\n\
                outputs = { x = 'x' }\ninitial = 'fall'\n[unit.u.mode.fall]\nderivatives = { x = '-1' }\n\
                [[unit.u.mode.fall.event]]\nname = 'low'\nwhen = 'x <= -2.345'\nto = 'back'\n\
                [unit.u.mode.back]\nderivatives = { x = '-1e9*x' }\n\
                [result]\nabove = 'duration(u.x > -1)'\nlast = 'last(u.x > -1)'\n";
    for method in ["rodas", "auto"] {
        let done = run(&text.replace('@', method), &[]);
        for (name, wanted) in [("above", 3.6), ("last", 2.4)] {
            let found = value(&done, name).unwrap_or(f64::NAN);
            assert!((found - wanted).abs() < 1e-6, "{method}: {name} is {found}, not {wanted}");
        }
    }
}

/// The pressure in a chamber falls by twelve decades: what is rounding beside its start is none beside its end.
#[test]
fn values_that_decay_have_thresholds() {
    let text = "stop = '40 s'\n[unit.c]\nkind = 'equations'\nmethod = '@'\nabsolute_tolerance = 1e-14\nstates = { p = 1e5 }\n\
                derivatives = { p = '-p' }\noutputs = { p = 'p' }\n\
                [result]\nfive = 'first(c.p < 1e-5)'\nseven = 'first(c.p < 1e-7)'\nlong = 'duration(c.p < 1e-7)'\n";
    for method in ["rk45", "rodas", "taylor", "auto"] {
        let done = run(&text.replace('@', method), &[]);
        let last = 40.0 - 1e12f64.ln();
        // The rounding of sums with the start is a thousandth of the last threshold.
        for (name, wanted, within) in
            [("five", 1e10f64.ln(), 1e-5), ("seven", 1e12f64.ln(), 1e-3), ("long", last, 1e-3)]
        {
            let found = value(&done, name).unwrap_or(f64::NAN);
            assert!((found - wanted).abs() < within, "{method}: {name} is {found}, not {wanted}");
        }
    }
}

/// A condition that is true at the start and on both sides of what jumps there is no event, however deep functions
/// that switch stand in each other.
#[test]
fn what_holds_on_both_sides_of_the_start_is_no_event() {
    let text = "stop = '3 s'\n[unit.u]\nkind = 'equations'\nmethod = '@'\nstates = { x = 0 }\nderivatives = { x = '1' }\n\
                outputs = { x = 'x' }\n[[unit.u.event]]\nname = 'd'\nwhen = '#'\n\
                [result]\nn = \"count(event('u', 'd'))\"\nfirst = \"first(event('u', 'd'))\"\n";
    let forms = [
        ("abs(mod(x, 1) - 0.5) > 0.25", 0.75),
        ("max(mod(x, 1), 1 - mod(x, 1)) > 0.75", 0.75),
        ("abs(x - floor(x) - 0.5) > 0.25", 0.75),
        ("(mod(x, 1) - 0.5)^2 > 0.0625", 0.75),
        ("0.25 - min(mod(x, 1), 1 - mod(x, 1)) > 0", 0.75),
    ];
    for method in METHODS {
        for (form, first) in forms {
            let done = run(&text.replace('@', method).replace('#', form), &[]);
            assert_eq!(value(&done, "n"), Some(3.0), "{method}: {form}");
            let found = value(&done, "first").unwrap_or(f64::NAN);
            assert!((found - first).abs() < 1e-6, "{method}: {form} at {found} s");
        }
    }
}

/// A hundredth of the run is the longest step unless a scenario says otherwise, but a tick at least.
#[test]
fn ticks_may_be_longer_than_a_hundredth_of_the_run() {
    let text = "stop = '10 s'\nresolution = '1 s'\n[unit.u]\nkind = 'equations'\nmethod = '@'\nstates = { x = 0 }\n\
                derivatives = { x = 'cos(t)' }\noutputs = { x = 'x' }\n[result]\nlast = 'final(u.x)'\n";
    for method in ["rk45", "rodas", "taylor", "auto"] {
        let found = value(&run(&text.replace('@', method), &[]), "last").unwrap_or(f64::NAN);
        assert!((found - 10.0f64.sin()).abs() < 1e-6, "{method}: {found}");
    }
}

/// A solution that is off by more than receivers want is sent as the method has it, and not as its equations would go
/// on from there: at 1e-3 these were 604 523 messages for 1 218 at 1e-9.
#[test]
fn loose_tolerances_send_few_messages() {
    let text = "stop = '0.5 s'\nconnections = ['c.v -> th.u']\n[unit.c]\nkind = 'equations'\nmethod = '#'\ntolerance = @\n\
                absolute_tolerance = @\nstates = { v = 0 }\nderivatives = { v = '100*(10*sin(40*pi*t) - v)' }\n\
                outputs = { v = 'v' }\n[unit.th]\nkind = 'hysteresis'\nlow = -3.0\nhigh = 3.0\n";
    for method in ["rodas", "rk45", "rk23"] {
        let count = |tolerance: &str| {
            let text = text.replace('@', tolerance).replace('#', method);
            run(&text, &[]).summary.messages
        };
        let tight = count("1e-9");
        for tolerance in ["1e-3", "1e-4", "1e-6"] {
            let loose = count(tolerance);
            assert!(loose > 20 && loose < 3 * tight, "{method}, {tolerance}: {loose} for {tight}");
        }
    }
}

/// A control that switches each 8 ticks is none that chatters; one that switches at each tick is told of a finer clock.
#[test]
fn regular_control_at_few_ticks_goes_on() {
    let text = r#"
        stop = "24 h"
        resolution = "s"
        connections = ["tank.V -> c.u"]
        [unit.tank]
        kind = "equations"
        states = { V = 0.5 }
        discrete = { on = 0 }
        derivatives = { V = "0.1*on - 0.05" }
        outputs = { V = "V" }
        [[unit.tank.event]]
        name = "low"
        when = "V <= 0.3"
        reset = { on = 1 }
        [[unit.tank.event]]
        name = "high"
        when = "V >= 0.7"
        reset = { on = 0 }
        [unit.c]
        kind = "hysteresis"
        low = 0.35
        high = 0.65
        [result]
        low = "count(event('tank', 'low'))"
        ons = "count(c.y)"
    "#;
    let done = run(text, &[]);
    assert_eq!((value(&done, "low"), value(&done, "ons")), (Some(5400.0), Some(10_799.0)));
    let chatters = text.replace("0.7", "0.31").replace("V = 0.5", "V = 0.32");
    let plan = crate::plan(&chatters).unwrap_or_else(|d| panic!("{d}"));
    let told = superdense::run::memory::run(
        plan,
        superdense::run::memory::Keep::default(),
        superdense::run::executor::Executor::default(),
        &superdense::run::pulse::Pulse::default(),
    );
    let told = told.expect_err("a failure").to_string();
    let finer = "where events truly come that closely, write a finer `resolution` than 1 s";
    assert!(
        told.contains("each at most 2 s after the one before") && told.contains(finer),
        "{told}"
    );
}
