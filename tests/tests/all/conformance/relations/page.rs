//! The examples of `docs/conditions.md` have the events that the page tells.
use super::table::{Case, First, Near, Root, Time, check, scenario};
use std::f64::consts::LN_2;

/// The complete snippet that has a unit of this name, without its end.
fn example(name: &str) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/conditions.md");
    let page = std::fs::read_to_string(file).expect("the page");
    let unit = format!("[unit.{name}]");
    let text = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|text| text.lines().any(|line| line == unit))
        .unwrap_or_else(|| panic!("no example with {unit}"));
    let lines =
        text.lines().filter(|line| !["stop", "resolution"].iter().any(|key| line.starts_with(key)));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn examples_of_the_page() {
    let row = |rule: &str, name: &str, stop: f64| -> Case {
        scenario(format!("page {rule} {name}"), &example(name)).only(&["rk45"]).stop(stop)
    };
    let parts = (1..=5).fold(row("2", "shift", 5.0), |case, k| {
        let case = case.event("part", Time(k, 1), 0);
        if k == 3 { case.event("full", Time(k, 1), 1) } else { case }
    });
    let impacts = (1..=11).fold(row("12", "ball", 4.0), |case, n: u32| {
        case.event("bounce", Root((3 << (n - 1)) - 2, 1 << n), 0)
    });
    check(&[
        row("1", "counter", 4.0).end_of("counter", 0, 4.0).affine(0.0).end_of("counter", 1, 1.0),
        parts,
        row("3", "top", 1.0).event("falls", First, 0),
        row("4", "gauge", 2.0).event("reached", Root(1, 3), 0).event("passed", Root(1, 3), 0),
        row("5", "stone", 3.0).affine(0.0).within(1e-3).event("kiss", Near(1.0), 0),
        row("7", "cart", 1.0).event("leaves", First, 0),
        row("8", "tank", 10.0)
            .event("ask", Time(6, 1), 0)
            .event("start", Time(6, 1), 1)
            .end_of("tank", 1, 1.0),
        row("9", "blip", 2.0)
            .resolutions(&["us"])
            .event("begins", Root(1_000_001, 1_000_000), 0)
            .event("ends", Root(1_000_001, 1_000_000), 0),
        row("10", "store", 2.0)
            .event("refill", Root(1, 1), 0)
            .event("order", Root(1, 1), 0)
            .end_of("store", 1, 5.0),
        row("11", "relay", 2.0).event("first", Root(1, 1), 0).event("second", Root(1, 1), 1).event(
            "third",
            Root(1, 1),
            2,
        ),
        impacts.affine(0.0).end_of("ball", 0, 0.0),
        row("14", "lift", 3.0).event("passes", Root(2, 1), 0),
        row("15", "timer", 1.0).event("beat", Time(1, 3), 0).event("beat", Time(2, 3), 0).event(
            "beat",
            Time(1, 1),
            0,
        ),
        row("17", "window", 3.0).event("enters", Root(1, 2), 0),
        row("18", "block", 4.0).affine(0.0).within(1e-6).end_of("block", 0, 1.0),
        row("19", "alarm", 3.0).event("open", Time(1, 1), 1),
        row("20", "a", 3.0).event("collision", Root(1, 1), 1).end_of("b", 0, 3.0),
        row("21", "charge", 20.0).affine(0.0).within(1e-2).event("half", Near(LN_2), 0),
        row("23", "meter", 1.5)
            .event("full", Root(1, 1), 0)
            .event("note", Root(1, 1), 0)
            .end_of("meter", 0, 3.0)
            .end_of("meter", 1, 0.0),
    ]);
}

/// Found by its mode, because rule 8 has a tank of the same name.
#[test]
fn example_of_modes() {
    let modes = example("tank.mode.fill");
    check(&[scenario("page 13 tank", &modes)
        .only(&["rk45"])
        .stop(5.0)
        .event("full", Root(2, 1), 0)
        .event("high", Root(2, 1), 1)]);
}
