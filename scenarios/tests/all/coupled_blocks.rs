//! Blocks without a value of their own at the start, under couplings and in rings.
use crate::results::{run, value};

fn close(text: &str, name: &str, wanted: f64, error: f64) {
    let found = value(&run(text, &[]), name).unwrap_or(f64::NAN);
    assert!((found - wanted).abs() <= error, "{name} is {found}, not {wanted}:\n{text}");
}

/// x' = -3 x, whose right side is a gain that the master couples: it has no value before it is told one.
#[test]
fn a_gain_is_coupled() {
    for (more, error) in [("", 1e-4), ("iterate = {}", 1e-6), ("feed_through = 'settled'", 1e-4)] {
        let text = format!(
            "stop = '1 s'\nconnections = ['a.x -> k.u', 'k.y -> a.u']\n\
             [coupling]\nstep = '10 ms'\nextrapolation = 2\nunits = ['a', 'k']\n{more}\n\
             [unit.a]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '-u' }}\noutputs = {{ x = 'x' }}\n\
             [unit.k]\nkind = 'gain'\ngain = 3\n[result]\nx = 'final(a.x)'"
        );
        close(&text, "x", (-3.0f64).exp(), error);
    }
}

/// x' = u - x with u = 4 (1 - x), by a template of a sum and a gain: x goes to 4/5 at the rate 5.
#[test]
fn a_controller_of_blocks_is_coupled() {
    for more in ["", "iterate = {}"] {
        let text = format!(
            "stop = '1 s'\nconnections = ['p.x -> c.measured', 'ref.y -> c.reference', 'c.y -> p.u']\n\
             [coupling]\nstep = '10 ms'\nextrapolation = 2\n{more}\n[unit.ref]\nkind = 'constant'\nvalue = 1\n\
             [unit.p]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = 'u - x' }}\noutputs = {{ x = 'x' }}\n[unit.c]\ntemplate = 'control'\n\
             [template.control]\ninputs = {{ measured = 'e.u2', reference = 'e.u1' }}\noutputs = {{ y = 'k.y' }}\n\
             connections = ['e.y -> k.u']\n[template.control.unit.e]\nkind = 'sum'\nsigns = '+-'\n\
             [template.control.unit.k]\nkind = 'gain'\ngain = 4\n[result]\nx = 'final(p.x)'"
        );
        close(&text, "x", 0.8 * (1.0 - (-5.0f64).exp()), 2e-4);
    }
}

/// Blocks that wait for each other never begin, and a note tells so.
#[test]
fn a_ring_that_never_begins_is_told() {
    let ring = "stop = '2 s'\nconnections = ['r.y -> c.reference', 'c.y -> q.u', 'q.y -> c.measured']\n\
                [unit.r]\nkind = 'constant'\nvalue = 1\n[unit.c]\nkind = 'pid'\nkp = 0.5\n\
                [unit.q]\nkind = 'offset'\noffset = 0.2\n[result]\nu = 'final(c.y)'";
    let done = run(ring, &[]);
    assert_eq!(value(&done, "u"), None);
    let told =
        done.summary.notes.iter().any(|n| n.contains("`c.y` (and outputs of 1 more blocks)"));
    assert!(told, "{:?}", done.summary.notes);
    let open = ring.replace(", 'q.y -> c.measured'", ", 'r.y -> c.measured'");
    assert!(run(&open, &[]).summary.notes.is_empty());
}
