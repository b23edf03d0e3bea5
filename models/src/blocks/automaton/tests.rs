//! The behaviour of automata, and their mistakes.
use crate::kinds::testing::{Bench, mistakes};

/// The traffic light and the police officer of Gomes et al., "Co-simulation: State of the
/// art" (2017), section 3.1.
const TRAFFIC: &str = r#"
    connections = ["police.y -> light.order"]
    [unit.light]
    kind = "automaton"
    states = ["red", "green", "yellow", "off"]
    inputs = ["order"]
    outputs = ["y"]
    transitions = [
      { from = "*", on = "order", value = "toWork", to = "off" },
      { from = "off", on = "order", value = "toIdle", to = "red" },
      { from = "red", after = "60 s", to = "green", emit = "green" },
      { from = "green", after = "50 s", to = "yellow", emit = "yellow" },
      { from = "yellow", after = "10 s", to = "red", emit = { y = "red" } },
    ]
    [unit.police]
    kind = "automaton"
    states = ["idle", "working"]
    outputs = ["y"]
    transitions = [
      { from = "idle", after = 100, to = "working", emit = "toWork" },
      { from = "working", after = 200.0, to = "idle", emit = "toIdle" },
    ]
    "#;

#[test]
fn traffic_light() {
    let bench = Bench::run(TRAFFIC, 1000.0);
    assert_eq!(
        bench.events("light.y"),
        ["60@0 green", "360@0 green", "660@0 green", "960@0 green"]
    );
    assert_eq!(
        bench.events("police.y"),
        [
            "100@0 toWork",
            "300@0 toIdle",
            "400@0 toWork",
            "600@0 toIdle",
            "700@0 toWork",
            "900@0 toIdle",
            "1000@0 toWork"
        ]
    );
    assert_eq!(bench.events("light.state")[..3], ["60@0 green", "100@1 off", "300@1 red"]);
    assert_eq!(
        bench.signal("light.number")[..3],
        ["0@0 [0.0] left 0", "60@0 Jump [1.0] left 0", "100@1 Jump [3.0] left 1"]
    );
    assert_eq!(bench.probe("light.number"), 3.0);
}

/// Conformance H14: two events in one cycle toggle once.
#[test]
fn one_transition_per_cycle() {
    let bench = Bench::run(
        r#"
        connections = ["s.y -> m.u", "s.y -> d.u", "d.y -> m.u"]
        [unit.s]
        kind = "schedule"
        times = [1, 1]
        [unit.d]
        kind = "delay"
        delay = 0
        [unit.m]
        kind = "automaton"
        states = ["a", "b"]
        inputs = ["u"]
        transitions = [
          { from = "a", on = "u", to = "b" },
          { from = "b", on = "u", to = "a" },
        ]
        "#,
        2.0,
    );
    assert_eq!(bench.events("m.state"), ["1@1 b", "1@2 a"]);
}

/// Three events at one instant: the first is heard, and a note tells of the others; or each.
#[test]
fn events_of_one_cycle_are_heard_one_by_one_or_told() {
    let run = |more: &str| {
        let text = r#"
        connections = ["s.y -> m.u"]
        [unit.s]
        kind = "schedule"
        times = [1, 1, 1, 2]
        values = [5, 6, 7, 8]
        [unit.m]
        kind = "automaton"
        states = ["a"]
        inputs = ["u"]
        outputs = ["y"]
        variables = { n = 0 }
        MORE
        transitions = [
          { from = "a", on = "u", to = "a", set = { n = "n + 1" }, send = { y = "100*n + value" } },
        ]
        "#;
        Bench::run(&text.replace("MORE", more), 3.0)
    };
    let (first, each) = (run(""), run("simultaneous = 'each'"));
    assert_eq!(first.events("m.y"), ["1@1 5", "2@1 108"]);
    assert_eq!(each.events("m.y"), ["1@1 5", "1@2 106", "1@3 207", "2@1 308"]);
    assert!(first.notes().concat().contains("not heard") && each.notes().is_empty());
}

/// The signal of a chain of transitions at one instant ends at the last state.
#[test]
fn chains_of_events_end_at_the_last_state() {
    let bench = Bench::run(
        "connections = ['s.y -> m.u', 'm.number -> g.u']\n[unit.s]\nkind = 'schedule'\ntimes = [2, 2]\n\
         [unit.m]\nkind = 'automaton'\nstates = ['a', 'b', 'c']\ninputs = ['u']\nsimultaneous = 'each'\n\
         transitions = [{ from = 'a', on = 'u', to = 'b' }, { from = 'b', on = 'u', to = 'c' }]\n\
         [unit.g]\nkind = 'gain'\ngain = 1\n",
        3.0,
    );
    assert_eq!([bench.held("m.number", 2.5), bench.probe("g.y")], [2.0, 2.0]);
}

#[test]
fn variables_count_and_conditions_decide() {
    let bench = Bench::run(
        r#"
        connections = ["s.y -> m.u", "m.y -> big.u"]
        [unit.s]
        kind = "schedule"
        times = [5, 6, 7]
        values = [1, 3, 2]
        [unit.m]
        kind = "automaton"
        states = ["try", "done", "high"]
        inputs = ["u"]
        outputs = ["y"]
        variables = { n = 0, most = "2 + 1" }
        transitions = [
          { from = "try", after = "0.5 + 0.5*(n + 1)/(n + 1)", to = "try", if = "n < most", send = { y = "10*n" }, set = { n = "n + 1" } },
          { from = "try", after = "1 s", to = "done", if = "n >= most" },
          { from = ["done", "high"], on = "u", to = "high", if = "value > 2", send = { y = "value + t" }, set = { n = "-n" } },
        ]
        [unit.big]
        kind = "counter"
        "#,
        8.0,
    );
    assert_eq!(bench.events("m.y"), ["1@0 0", "2@0 10", "3@0 20", "6@1 9"]);
    assert_eq!(bench.events("m.state"), ["1@0 try", "2@0 try", "3@0 try", "4@0 done", "6@1 high"]);
}

/// Of time-outs, `t` is when they come and not when their states were entered; `value` is 0.
#[test]
fn formulas_know_the_time_of_their_transition() {
    let bench = Bench::run(
        r#"
        connections = ["s.y -> m.u"]
        [unit.s]
        kind = "schedule"
        times = [2]
        values = [9]
        [unit.m]
        kind = "automaton"
        states = ["a", "b"]
        inputs = ["u"]
        outputs = ["y", "z"]
        variables = { x = 0 }
        transitions = [
          { from = "a", after = "1", to = "b", set = { x = "t + value" }, send = { y = "t + value", z = "x" } },
          { from = "b", after = "2", to = "a", set = { x = "t" }, send = { y = "t + value", z = "x" } },
          { from = "b", on = "u", to = "b", set = { x = "t + value" }, send = { y = "t + value", z = "x" } },
        ]
        "#,
        8.0,
    );
    assert_eq!(bench.events("m.y"), ["1@0 1", "2@1 11", "4@0 4", "5@0 5", "7@0 7", "8@0 8"]);
    assert_eq!(bench.events("m.z"), ["1@0 0", "2@1 1", "4@0 11", "5@0 4", "7@0 5", "8@0 7"]);
}

/// An event without a number is no zero where a formula wants its value, and no time-out lies in the past.
#[test]
fn numbers_that_are_none() {
    let run = |transition: &str| {
        let text = format!(
            "connections = [\"s.y -> m.u\"]\n[unit.s]\nkind = \"clock\"\nperiod = \"1 s\"\n[unit.m]\n\
             kind = \"automaton\"\nstates = [\"a\"]\ninputs = [\"u\"]\noutputs = [\"y\"]\n\
             variables = {{ n = 0 }}\ntransitions = [{{ from = \"a\", to = \"a\", {transition} }}]"
        );
        let mut bench = Bench::start(std::path::Path::new(""), &text);
        bench.go(3.0).err().map_or(String::new(), |e| e.to_string())
    };
    for reads in ["if = \"value < 1\"", "send = { y = \"n + value\" }", "set = { n = \"value\" }"] {
        let told = run(&format!("on = \"u\", {reads}"));
        assert!(told.contains("input `u` got `event`, which is no number"), "{told}");
    }
    let told = run("on = \"u\", set = { n = \"n + 1\" }");
    assert!(told.is_empty(), "{told}");
    let told = run("after = \"1 - 2*t\"");
    assert!(told.contains("`after` of a transition to `a` gives -1: no time-out lies"), "{told}");
}

/// Two servers and two places to wait: a birth-death process, whose shares of time are those of Erlang.
#[test]
fn durations_may_be_random() {
    let (rate, service, servers, places) = (3.0_f64, 2.0_f64, 2, 4);
    let bench = Bench::run(
        r#"
        [unit.m]
        kind = "automaton"
        states = ["open"]
        outputs = ["n"]
        variables = { n = 0 }
        transitions = [
          { from = "open", after = "exponential(1/3)", to = "open", if = "n < 4", send = { n = "n + 1" }, set = { n = "n + 1" } },
          { from = "open", after = "exponential(1/(2*min(n, 2)))", to = "open", if = "n > 0", send = { n = "n - 1" }, set = { n = "n - 1" } },
        ]
        "#,
        20_000.0,
    );
    let (mut shares, mut last) = ([0.0; 5], (0.0, 0));
    for event in bench.events("m.n") {
        let (at, n) = event.split_once(' ').unwrap();
        let at: f64 = at.split('@').next().unwrap().parse().unwrap();
        shares[last.1] += (at - last.0) / 20_000.0;
        last = (at, n.parse().unwrap());
    }
    let mut weights = vec![1.0];
    for n in 1..=places {
        weights.push(weights[n - 1] * rate / (service * n.min(servers) as f64));
    }
    let all: f64 = weights.iter().sum();
    for (share, weight) in shares.iter().zip(&weights) {
        assert!((share - weight / all).abs() < 0.01, "{shares:?} {weights:?}");
    }
}

#[test]
fn mistakes_are_all_named() {
    let text = mistakes(
        "[unit.m]\nkind='automaton'\nstates=['a','b']\ninitial='c'\ninputs=['u']\n\
         transitions=[{from='a',to='x',after=1},{from='a',to='b'},\
         {from='b',on='v',to='a'},{from='b',on='u',to='a',emit='q'},{color=1}]",
    );
    assert_eq!(
        text,
        [
            "no state `c`; the states are a, b",
            "no state `x`; the states are a, b",
            "a transition needs either `after` or `on`; add after = \"5 s\" or on = \"input\"",
            "no input `v`; the inputs are u",
            "nothing to emit on: the unit has no outputs; add outputs = [\"y\"]",
            "unknown key `color`; the keys are from, to, after, on, value, if, emit, send, set",
            "a transition needs `from`; add from = a state",
            "a transition needs `to`; add to = a state",
            "a transition needs either `after` or `on`; add after = \"5 s\" or on = \"input\"",
        ]
    );
}
