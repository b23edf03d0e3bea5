//! Modes that messages take from one to the next.
use super::continuous::{Ran, S};

/// A ring of modes, in this order of the text, through which one message a second leads; `n` counts transitions.
fn ring(order: [&str; 3]) -> String {
    let to = |mode| match mode {
        "a" => "b",
        "b" => "c",
        _ => "a",
    };
    let modes: String = order
        .iter()
        .map(|mode| {
            format!(
                "[unit.m.mode.{mode}]\nderivatives = {{ x = '{}' }}\n[[unit.m.mode.{mode}.on]]\ninput = 'push'\n\
                 to = '{}'\nreset = {{ n = 'n + 1' }}\n",
                u8::from(*mode == "b"),
                to(mode)
            )
        })
        .collect();
    format!(
        "connections = ['c.y -> m.push']\n[unit.c]\nkind = 'clock'\nperiod = '1 s'\n\
         [unit.m]\nkind = 'equations'\nMETHOD\nevent_inputs = ['push']\nstates = {{ x = 0 }}\ndiscrete = {{ n = 0 }}\n\
         outputs = {{ x = 'x', n = 'n' }}\ninitial = 'a'\n{modes}"
    )
}

/// A message is heard by the mode in which the unit is when it comes, and not by the one that it leads to.
#[test]
fn a_message_makes_one_transition() {
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        for method in ["rk45", "qss2", "taylor"] {
            let ran = Ran::with(&ring(order), method, 7 * S + S / 2);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            // The clock begins at once: mode b up to 1 s, from 3 s to 4 s, and from 6 s to 7 s.
            let [x, n] = [0, 1].map(|port| ran.output("m", port, 7 * S + S / 2));
            assert_eq!(n, 8.0, "{order:?}, {method}");
            assert!((x - 3.0).abs() < 1e-6, "{order:?}, {method}: {x}");
        }
    }
}
