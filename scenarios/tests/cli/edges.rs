//! Comparisons in formulas of events, exactly where they change.
use super::*;

/// States that come to a threshold at the instant of an event: full, empty, a multiple, a number that is no binary fraction.
const EDGES: &str = r#"
stop = "6 s"

[unit.edge]
kind = "equations"
states = { k = 10, w = 0, c = 0.7, bucket = 0 }
discrete = { empty = 0, above = 0, whole = 0, equal = 0, turns = 0, sent = 0 }
derivatives = { k = "-2.5", w = "0.1", c = "-0.1", bucket = "2" }
outputs = { empty = "empty", above = "above", whole = "whole", equal = "equal", turns = "turns", sent = "sent" }

[[unit.edge.event]]
name = "look"
every = "1 s"

[unit.edge.event.reset]
empty = "if k <= 0 then empty + 1 else empty"
above = "if k > 0 then above + 1 else above"
whole = "whole + floor(10*w)"
equal = "if c == 0.4 then equal + 1 else equal"
turns = "turns + mod(w, 0.1)"
bucket = "if bucket >= 2 then bucket - 2 else bucket"
sent = "if bucket >= 2 then sent + 1 else sent"

[result]
empty = "final(edge.empty)"
above = "final(edge.above)"
whole = "final(edge.whole)"
equal = "final(edge.equal)"
turns = "final(edge.turns)"
sent = "final(edge.sent)"
"#;

/// `k` is 0 at 4 s and below it after that, `c` is 0.4 at 3 s, ten times `w` are whole numbers, and two litres are in the
/// bucket each second. No method loses one of them to the last bit.
#[test]
fn rounding_decides_nothing() {
    let dir = folder("edges");
    std::fs::write(dir.join("edge.toml"), EDGES).unwrap();
    for method in [
        "rk45", "rk23", "rk4", "euler", "rodas", "taylor", "closed", "qss2", "qss3", "liqss2",
        "auto",
    ] {
        let step =
            if matches!(method, "rk4" | "euler") { " --set unit.edge.step=0.01" } else { "" };
        let line = format!(
            "run edge.toml --set unit.edge.method=\"{method}\"{step} --force --plot none --json"
        );
        let run = json(&good(&dir, &line));
        let result = |name: &str| run["summary"]["results"][name].as_f64().unwrap();
        let counts = ["empty", "above", "whole", "equal", "sent"].map(result);
        assert_eq!(counts, [3.0, 3.0, 21.0, 1.0, 6.0], "{method}");
        assert!(result("turns").abs() < 1e-12, "{method}: {}", result("turns"));
    }
}
