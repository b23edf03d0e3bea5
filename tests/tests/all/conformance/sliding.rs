//! Events that come ever faster end in sliding, rest, or an error; never in a hang.
use super::continuous::{Ran, S};

const METHODS: [&str; 5] = ["rk45", "rk23", "taylor", "rodas", "auto"];

/// A mass on a belt that a force drives to and fro, with dry friction: it sticks while the force is
/// smaller than the friction. Event times in closed form.
#[test]
fn dry_friction_sticks_and_slips() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\n\
                states = { v = 0.1 }\nderivatives = { v = '2*sin(t) - sign(v)' }\n\
                outputs = { v = 'v', friction = 'sign(v)' }";
    // It starts to slip at 2 sin t = 1, and v = 2 (cos a - cos t) - (t - a) from there.
    let slip = (0.5f64).asin();
    let speed = |t: f64| 2.0 * (slip.cos() - t.cos()) - (t - slip);
    let (mut low, mut high) = (2.0f64, 4.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if speed(middle) > 0.0 { low = middle } else { high = middle }
    }
    // There the force is beyond the friction downwards: it slips on, or sticks until that is so.
    let stop = low;
    for method in METHODS {
        let tick = |t: f64| (t * 1e9) as i64;
        let at = |t: f64| {
            let ran = Ran::with(text, method, tick(t));
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            [ran.output("u", 0, tick(t)), ran.output("u", 1, tick(t))]
        };
        let [v, friction] = at(0.4);
        assert!(v.abs() < 1e-8, "{method}: {v} is not at rest");
        assert!((friction - 2.0 * 0.4f64.sin()).abs() < 1e-6, "{method}: {friction} to stick");
        for t in [0.6, 1.5, stop - 0.01] {
            let [v, friction] = at(t);
            let error = (v - speed(t)).abs();
            assert!(error < 1e-6, "{method} at {t}: {v}, not {}", speed(t));
            assert!(friction == 1.0, "{method}: {friction} in motion");
        }
        // Sticking and slipping in turn for long, in few steps and events.
        let ran = Ran::with(text, method, 60 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
    }
}

/// Two surfaces in one unit, each with a friction of its own, and a plane on whose line x = 0 the
/// solution slides along y with the mean of both sides.
#[test]
fn surfaces_on_their_own_slide_at_once() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\n\
                states = { x = 0.3, y = 0.0, w = -0.2 }\n\
                derivatives = { x = 'if x > 0 then -1 else 3', y = 'if x > 0 then 1 else 5', \
                w = '0.5 - step(w)' }\noutputs = { x = 'x', y = 'y', w = 'w' }";
    for method in METHODS {
        let ran = Ran::with(text, method, 2 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let [x, y, w] = [0, 1, 2].map(|port| ran.output("u", port, 2 * S));
        // On x = 0 from 0.3 on: three parts of the right side, one of the left one.
        let expected = 0.3 + 1.7 * (0.75 * 1.0 + 0.25 * 5.0);
        assert!(x.abs() < 1e-7 && w.abs() < 1e-7, "{method}: {x}, {w}");
        assert!((y - expected).abs() < 1e-7, "{method}: {y}, not {expected}");
    }
}

/// Without the permission to slide, by the functions themselves or on two surfaces that depend on
/// each other: the guard's error, soon.
#[test]
fn chattering_without_sliding_is_an_error() {
    let located = "switching = 'located'\nstates = { x = 0.3 }\n\
                   derivatives = { x = '0.5 - step(x)' }\noutputs = { x = 'x' }";
    let ring = "switching = 'sliding'\nstates = { x = 0.3, y = 0.2 }\n\
                derivatives = { x = '-3*sign(x) - sign(y)', y = 'sign(x) - 3*sign(y)' }\n\
                outputs = { x = 'x' }";
    for unit in [located, ring] {
        for method in METHODS {
            let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{unit}");
            let why = Ran::with(&text, method, 10 * S).end.unwrap_err().to_string();
            assert!(why.starts_with("u at ") && why.contains("chattering"), "{method}: {why}");
            assert!(why.contains("sliding"), "{method}: {why}");
        }
    }
}

/// One side sends the state back within a tick, and the other one takes many: every second flip follows closely.
#[test]
fn chattering_with_unequal_slopes_is_an_error() {
    for rate in ["0.11", "0.66", "5"] {
        for method in METHODS {
            let text = format!(
                "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0.95 }}\noutputs = {{ x = 'x' }}\n\
                 derivatives = {{ x = '0.005 - {rate}*(if x > 1 then 1 else 0)' }}"
            );
            let why = Ran::with(&text, method, 20 * S).end.unwrap_err().to_string();
            assert!(why.starts_with("u at (100") && why.contains("chattering"), "{method}: {why}");
        }
    }
}

/// Two modes that lead to each other's threshold, one far more slowly.
#[test]
fn modes_without_hysteresis_are_an_error() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { h = 0.95 }\noutputs = { h = 'h' }\n\
                [unit.u.mode.filling]\nderivatives = { h = '0.005' }\n\
                [[unit.u.mode.filling.event]]\nname = 'full'\nwhen = 'h >= 1'\nto = 'emptying'\n\
                [unit.u.mode.emptying]\nderivatives = { h = '-0.66' }\n\
                [[unit.u.mode.emptying.event]]\nname = 'less'\nwhen = 'h < 1'\nto = 'filling'";
    for method in METHODS {
        let why = Ran::with(text, method, 20 * S).end.unwrap_err().to_string();
        // Where the solver cannot tell on which side the tick lies, all happens at that tick.
        let named = why.contains("chattering") && why.contains("`full`, `less`");
        let loops = why.contains("micro-steps at (10") && why.contains("loop through u");
        assert!(why.starts_with("u at (100") && named || loops, "{method}: {why}");
    }
}

/// The upper threshold is passed for a tick or two in each of 1500 cycles, also in the equations: no chattering.
#[test]
fn a_hysteresis_goes_on() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0.95 }\ndiscrete = { on = 1 }\n\
                outputs = { x = 'x' }\nderivatives = { x = '2*on - 1 - 0.001*(if x > 1 then 1 else 0)' }\n\
                [[unit.u.event]]\nname = 'high'\nwhen = 'x >= 1'\nreset = { on = 0 }\n\
                [[unit.u.event]]\nname = 'low'\nwhen = 'x <= 0.9'\nreset = { on = 1 }";
    for method in ["rk45", "taylor", "closed", "qss2"] {
        let ran = Ran::with(text, method, 300 * S);
        assert!(ran.end.is_ok(), "{method}: {:?}", ran.end);
    }
}

/// A ball whose reset puts it onto the floor gains speed up to the tick of its bounce: it bounces on for ever, some ticks
/// high. That is told, and ends the run when it goes on; and nothing is told of one that comes to rest.
#[test]
fn bounces_of_some_ticks_end() {
    let ball = |rest: &str| {
        format!(
            "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ x = 1, v = 0 }}\noutputs = {{ x = 'x' }}\n\
             derivatives = {{ x = 'v', v = '-2' }}\n[[unit.u.event]]\nname = 'bounce'\nwhen = 'x <= 0'\n\
             reset = {{ x = 0, v = '-0.8*v' }}\n{rest}"
        )
    };
    // It would lie at 9 s: one second to fall, and twice 0.8, 0.64, ... of it.
    for (rest, told) in [("", 1), ("rest = { within = '1 us', x = 0, v = 0 }", 0)] {
        for method in ["rk45", "taylor", "closed"] {
            let ran = Ran::with(&ball(rest), method, 9 * S + S / 10_000);
            match ran.end.as_ref() {
                Ok(_) => assert_eq!(told, 0, "{method}"),
                Err(e) => {
                    assert!(told == 1 && e.to_string().contains("needs a `rest`"), "{method}: {e}")
                }
            }
            let row =
                |note: &&String| note.contains("2000 times in a row") && note.contains("`rest`");
            assert_eq!(ran.notes.iter().filter(row).count(), told, "{method}: {:?}", ran.notes);
        }
    }
}

/// A ball that bounces on another one, which bounces on the floor, by a shared event: ever faster,
/// and an error that names a unit when both have come to lie, under every method.
#[test]
fn zeno_across_two_units_ends() {
    let text = "[unit.low]\nkind = 'equations'\nMETHOD\nstates = { x = 1, v = 0 }\n\
                derivatives = { x = 'v', v = '-10' }\noutputs = { x = 'x' }\n\
                [[unit.low.event]]\nname = 'floor'\nwhen = 'x <= 0 and v < 0'\n\
                reset = { v = '-0.5*v' }\n\
                [unit.high]\nkind = 'equations'\nMETHOD\nstates = { x = 2, v = 0 }\n\
                derivatives = { x = 'v', v = '-10' }\noutputs = { x = 'x' }\n\
                [[link]]\nname = 'knock'\nunits = ['low', 'high']\n\
                when = 'high.x <= low.x and high.v < low.v'\n\
                reset = { 'low.v' = '0.25*low.v + 0.75*high.v', \
                'high.v' = '0.75*low.v + 0.25*high.v' }";
    // The gap alone: the low one does not move, and the high one bounces on it.
    let still = text.replace("x = 1, v = 0 }", "x = 0, v = 0 }").replace(
        "derivatives = { x = 'v', v = '-10' }\noutputs = { x = 'x' }\n[[unit.low",
        "derivatives = { x = '0', v = '0' }\noutputs = { x = 'x' }\n[[unit.low",
    );
    let still = still.replace("'low.v' = '0.25*low.v + 0.75*high.v'", "'low.v' = '0'");
    let still = still.replace("'0.75*low.v + 0.25*high.v'", "'-0.5*high.v'");
    assert_ne!(still, text);
    for text in [text, &still] {
        for method in ["rk45", "taylor", "closed", "rodas", "auto"] {
            let ran = Ran::with(text, method, 20 * S);
            let why = ran.end.as_ref().unwrap_err().to_string();
            let named = why.starts_with("low at ") || why.starts_with("high at ");
            assert!(named && why.contains("Zeno"), "{method}: {why}");
            assert!(ran.facts.last().is_some_and(|f| f.0 < 5 * S), "{method}: {why}");
        }
    }
}

/// A unit that hears what friction stops: the value that it hears is zero from then on, exactly, and not a
/// polynomial of rounding, so that formulas of it have the side zero. Where the stop and the crossing that was
/// foretold lie on one tick, a note tells of the event that comes of it.
#[test]
fn stopped_values_are_heard_as_such() {
    let text = |speed: &str| {
        format!(
            "connections = ['a.v -> b.i']\n[unit.a]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\n\
             states = {{ v = 1 }}\nderivatives = {{ v = '{speed} - sign(v)' }}\noutputs = {{ v = 'v' }}\n\
             [[unit.a.event]]\nname = 'tick'\nevery = '1/2 s'\n\
             [unit.b]\nkind = 'equations'\ninputs = {{ i = 1 }}\n\
             outputs = {{ way = 'if i > 0 then 1 else if i < 0 then -1 else 0' }}\n\
             [[unit.b.event]]\nname = 'back'\nwhen = 'i < 0'"
        )
    };
    for method in METHODS {
        // It sticks, for friction is larger than the force ever is.
        let ran = Ran::with(&text("sin(t)"), method, 6 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let end = [("a", 0), ("b", 0)].map(|(unit, port)| ran.output(unit, port, 6 * S));
        assert_eq!(end, [0.0, 0.0], "{method}");
        // Both units find the same root.
        let ran = Ran::with(&text("0.5"), method, 6 * S);
        assert_eq!(ran.output("b", 0, 6 * S), 0.0, "{method}");
        let told =
            ran.notes.iter().any(|note| note.contains("event `back` happened since a value"));
        assert!(told, "{method}: {:?}", ran.notes);
    }
}

/// A surface that jumps away lets go of the solution, whatever makes it jump, and so does one of a mode that is left.
#[test]
fn surfaces_that_jump_away_let_go() {
    let head = "switching = 'sliding'\nstates = { v = 0.5 }\noutputs = { v = 'v' }\n";
    let jump = |when: &str, to: f64| {
        format!("[[unit.u.event]]\nname = 'jump'\n{when}\nreset = {{ b = '{to}' }}\n")
    };
    let belt = |f: &str| format!("{head}discrete = {{ b = 0 }}\nderivatives = {{ v = '{f}' }}\n");
    let modes = "initial = 'a'\n[unit.u.mode.a]\nderivatives = { v = '-sign(v)' }\n\
                 [[unit.u.mode.a.event]]\nname = 'on'\nwhen = 't >= 2'\nto = 'c'\n\
                 [unit.u.mode.c]\nderivatives = { v = '-sign(v - 1)' }\n";
    let cases = [
        (belt("-sign(v - b)") + &jump("at = '2 s'", 1.0), 0.5),
        (belt("-sign(v - b)") + &jump("when = 't >= 2'", -1.0), -0.5),
        (belt("if v > b then -1 else 1") + &jump("at = '2 s'", 1.0), 0.5),
        (belt("-sign(v - (if t < 2 then b else 1))"), 0.5),
        // It returns to a surface that it can reach, and stays there.
        (belt("-sign(v - b)") + &jump("at = '2 s'", 0.25), 0.25),
        (format!("{head}{modes}"), 0.5),
    ];
    for (unit, right) in &cases {
        for method in METHODS {
            let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{unit}");
            let tick = 5 * S / 2;
            let ran = Ran::with(&text, method, tick);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let v = ran.output("u", 0, tick);
            assert!((v - right).abs() < 1e-6, "{method}: {v}, not {right}\n{unit}");
        }
    }
}
