//! Failures of a continuous unit end in an error that names unit, place and expression, or in a
//! result that is stated here, under every kind of method; never in a hang.
use super::continuous::{Ran, S};

/// Lines of a unit, and what the error says; nothing if there is none.
struct Case {
    name: &'static str,
    unit: &'static str,
    /// By method: rk45, taylor, qss2, liqss2.
    says: [&'static [&'static str]; 4],
}

const METHODS: [&str; 4] = ["rk45", "taylor", "qss2", "liqss2"];

const fn all(says: &'static [&'static str]) -> [&'static [&'static str]; 4] {
    [says; 4]
}

const CASES: &[Case] = &[
    Case {
        name: "not a number at the start",
        unit: "states = { x = 1, y = 0 }\nderivatives = { x = '-1', y = 'sqrt(x - 2)' }",
        says: all(&["`y' = sqrt(x - 2)` is not finite at 0 s", "`sqrt(x - 2)` is NaN: sqrt(-1.0)"]),
    },
    Case {
        name: "not a number on the way",
        unit: "states = { x = 1, y = 0 }\nderivatives = { x = '-1', y = 'sqrt(x)' }",
        says: all(&["`y' = sqrt(x)` is not finite at "]),
    },
    Case {
        name: "growth beyond bounds",
        unit: "states = { x = 1 }\nderivatives = { x = 'x * x' }",
        says: all(&["`x' = x * x` ", "grows beyond bounds"]),
    },
    Case {
        name: "overflow of an expression",
        unit: "states = { x = 1 }\nderivatives = { x = 'exp(1000 * x)' }",
        says: all(&["`x' = exp(1000 * x)` is not finite at 0 s"]),
    },
    Case {
        name: "overflow of a state",
        unit: "states = { x = 1 }\nderivatives = { x = '400 * x' }",
        says: all(&["`x' = 400 * x` is not finite at "]),
    },
    Case {
        name: "division by zero",
        unit: "states = { x = 1, y = 0 }\nderivatives = { x = '-1', y = '1 / x' }",
        says: all(&["`y' = 1 / x` "]),
    },
    Case {
        name: "a condition that is not a number",
        unit: "states = { x = 1 }\nderivatives = { x = '-1' }\n[[unit.u.event]]\nname = 'hit'\n\
               when = 'sqrt(x - 0.5) <= -1'\nreset = { x = 1 }",
        says: all(&["an event condition", "is not finite at "]),
    },
    Case {
        name: "a reset that is not finite",
        unit: "states = { x = 1 }\nderivatives = { x = '-1' }\n[[unit.u.event]]\nname = 'hit'\n\
               when = 'x <= 0'\nreset = { x = '1 / max(x - 0.5, 0)' }",
        says: all(&["a reset gives a value that is not finite"]),
    },
    Case {
        name: "tolerances out of reach",
        unit: "BOUNDS\nstates = { x = 1, v = 0 }\nderivatives = { x = 'v', v = '-1e34*x' }",
        says: [
            &["`tolerance` and `absolute_tolerance` are out of reach"],
            &["`tolerance` and `absolute_tolerance` are out of reach"],
            &["enlarge `dq_rel` or `dq_min`"],
            &["enlarge `dq_rel` or `dq_min`"],
        ],
    },
    Case {
        name: "through the floor",
        unit: "states = { x = 1, v = 0 }\nderivatives = { x = 'v', v = '-9.81' }\n\
               [[unit.u.event]]\nname = 'hit'\nwhen = 'x <= 0'\nreset = { v = '-0.8 * v' }",
        says: all(&["event `hit` came ever faster", "`rest`"]),
    },
    Case {
        name: "through the floor, after few bounces",
        unit: "states = { x = 1, v = 0 }\nderivatives = { x = 'v', v = '-10' }\n\
               [[unit.u.event]]\nname = 'hit'\nwhen = 'x <= 0'\nreset = { v = '-0.25 * v' }",
        says: all(&["event `hit` came ever faster", "`rest`"]),
    },
    Case {
        name: "an indicator that is zero at the start and goes on",
        unit: "states = { x = 0 }\nderivatives = { x = '-1' }\n[[unit.u.event]]\nname = 'hit'\n\
               when = 'x <= 0'\nreset = { x = 20 }",
        says: all(&[]),
    },
    Case {
        name: "an indicator that is zero at the start and stays",
        unit: "states = { x = 0 }\nderivatives = { x = '0' }\n[[unit.u.event]]\nname = 'hit'\n\
               when = 'x <= 0'\nreset = { x = 20 }",
        says: all(&[]),
    },
    Case {
        name: "an empty mode",
        unit: "states = { x = 1 }\n[unit.u.mode.go]\nderivatives = { x = '-1' }\n\
               [[unit.u.mode.go.event]]\nname = 'stop'\nwhen = 'x <= 0'\nto = 'still'\n\
               [unit.u.mode.still]",
        says: all(&[]),
    },
    Case {
        name: "an event that comes faster for a while and then for good",
        unit: "states = { x = 1, v = 0 }\ndiscrete = { n = 0 }\n\
               derivatives = { x = 'v', v = '-9.81' }\n\
               [[unit.u.event]]\nname = 'hit'\nwhen = 'x <= 0 and n < 8'\n\
               reset = { v = '-0.8 * v', n = 'n + 1' }",
        says: all(&[]),
    },
];

/// The equation of the present mode, and the tag at which it fails: units, what is said, seconds.
const MODES: &[(&str, [&str; 2], i64)] = &[
    (
        "states = { x = 1, y = 0 }\ninitial = 'wait'\n\
         [unit.u.mode.wait]\nderivatives = { x = '-1', y = '0' }\n\
         [[unit.u.mode.wait.event]]\nname = 'go'\nwhen = 'x <= 0'\nto = 'run'\n\
         [unit.u.mode.run]\nderivatives = { x = '-2', y = 'sqrt(x + 2)' }\n\
         [[unit.u.mode.run.event]]\nname = 'end'\nwhen = 'x <= -9'\nto = 'last'\n\
         [unit.u.mode.last]\nderivatives = { x = '-3', y = 'x + 7' }",
        ["`y' = sqrt(x + 2)` is not finite at ", "y' = x + 7"],
        2,
    ),
    (
        "states = { x = 1, y = 0 }\nderivatives = { y = 'x' }\ninitial = 'wait'\n\
         [unit.u.mode.wait]\nderivatives = { x = '-1', y = 'log(x)' }\n\
         [unit.u.mode.run]\nderivatives = { x = '-2' }",
        ["`y' = log(x)` ", "`y' = x`"],
        1,
    ),
];

#[test]
fn failures_name_the_mode_and_their_tag() {
    for (unit, [says, not], second) in MODES {
        for method in METHODS {
            let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{unit}");
            let told = Ran::with(&text, method, 10 * S).end.expect_err("a failure").to_string();
            assert!(told.contains(says) && !told.contains(not), "{method}: {told}");
            let tag = told.strip_prefix("u at (").and_then(|rest| rest.split(',').next());
            let tick: i64 =
                tag.and_then(|tick| tick.parse().ok()).unwrap_or_else(|| panic!("{told}"));
            // Quantised states differ by their quanta.
            assert!((tick - second * S).abs() < S / 50, "{method}: {told}");
        }
    }
}

#[test]
fn failures_name_unit_and_expression() {
    let mut bad = Vec::new();
    for case in CASES {
        for (method, says) in METHODS.iter().zip(case.says) {
            let bounds = match method.contains("qss") {
                true => "dq_rel = 0\ndq_min = 1e-200",
                false => "tolerance = 1e-14\nabsolute_tolerance = 1e-300",
            };
            let unit = case.unit.replace("BOUNDS", bounds);
            let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{unit}");
            let end = Ran::with(&text, method, 10 * S).end;
            let found = end.map_or_else(|e| e.to_string(), |()| String::new());
            let good = if says.is_empty() {
                found.is_empty()
            } else {
                found.starts_with("u at ") && says.iter().all(|part| found.contains(part))
            };
            if !good {
                bad.push(format!("{}, {method}: {found:?}", case.name));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
