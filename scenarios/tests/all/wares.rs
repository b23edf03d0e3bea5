//! Jobs and packets, and what is none.
use crate::{plan, results::run, results::value};
use superdense::run::{executor::Executor, memory, pulse::Pulse};

/// The message with which a run ends.
fn failure(text: &str) -> String {
    let plan = plan(text).unwrap_or_else(|d| panic!("{d}"));
    let ended = memory::run(plan, memory::Keep::default(), Executor::default(), &Pulse::default());
    ended.expect_err("a failure").to_string()
}

/// Events that are no jobs, or no packets, end a run where they come, and are not dropped.
#[test]
fn what_is_no_ware_is_told() {
    let automaton = r#"
        stop = "5 s"
        [unit.a]
        kind = "automaton"
        states = ["on", "off"]
        outputs = ["y"]
        transitions = [
            { from = "on", after = "1 s", to = "off", emit = "bottle" },
            { from = "off", after = "1 s", to = "on", emit = 4 },
        ]
    "#;
    let jobs = [
        ("u.in", "kind = 'server'\nrate = 1", "in", "job"),
        ("u.in2", "kind = 'server'\nrate = 1\nclasses = 2", "in2", "job"),
        ("u.in", "kind = 'sink'", "in", "job"),
        ("u.in", "kind = 'queue-node'\narrivals = 0.001\nservice = 2", "in", "job"),
        ("u.in", "kind = 'link'\nrate = '1 Mb/s'", "in", "packet"),
        ("u.in", "kind = 'packet-sink'", "in", "packet"),
        ("u.in", "kind = 'tamper'", "in", "packet"),
        ("u.in", "kind = 'routes'\nfirst = 1", "in", "packet"),
    ];
    for (port, unit, input, ware) in jobs {
        for connection in [format!("a.y -> {port}"), format!("a.y -> {port} via delay('1 s')")] {
            let arrivals = match unit.contains("classes") {
                true => ", 'b.out -> u.in1'",
                false => "",
            };
            let b = "[unit.b]\nkind = 'arrivals'\nrate = 0.001\n";
            let text = format!(
                "connections = [\"{connection}\"{arrivals}]\n{automaton}\n{b}[unit.u]\n{unit}"
            );
            let told = failure(&text);
            let wanted = format!("input `{input}` got `bottle`, which is no {ware}");
            assert!(told.contains(&wanted), "{unit}: {told}");
            let at = if connection.contains("delay") { "2 s" } else { "1 s" };
            assert!(told.contains("`u`") || told.contains("u at"), "{told}");
            assert!(told.contains(at), "{told}");
        }
    }
}

/// Jobs come through routers, merges and delays, in templates too.
#[test]
fn wares_are_handed_on() {
    let text = r#"
        stop = "10.5 s"
        connections = [
            "a.out -> fork.in", "fork.out1 -> m.u1", "fork.out2 -> m.u2 via delay('0.1 s')", "m.y -> part.in",
        ]
        [unit.a]
        kind = "arrivals"
        distribution = "constant"
        mean = 1
        [unit.fork]
        kind = "router"
        mode = "turn"
        [unit.m]
        kind = "merge"
        [unit.part]
        template = "part"
        [template.part]
        inputs = { in = "d.u" }
        outputs = { n = "end.count" }
        connections = ["d.y -> end.in"]
        [template.part.unit.d]
        kind = "delay"
        delay = 0
        [template.part.unit.end]
        kind = "sink"
        [result]
        n = "final(part.n)"
    "#;
    assert_eq!(value(&run(text, &[]), "n"), Some(10.0));
}
