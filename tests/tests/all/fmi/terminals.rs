//! Terminals: ports that are connected together by the names of their members.
use super::{Bench, S, fmu};

/// Members of a terminal: name, variable, kind.
type Members<'a> = &'a [(&'a str, &'a str, &'a str)];

/// `x' = u`, `y = x` as a file of this name, with a terminal `t` and keys of it.
fn with(bench: &Bench, name: &str, keys: &str, members: Members<'_>) {
    let file = fmu::build(&bench.0, "linear", &[]);
    let member = |&(name, variable, kind): &(&str, &str, &str)| {
        let name = if name.is_empty() { String::new() } else { format!("memberName='{name}'") };
        format!("<TerminalMemberVariable variableName='{variable}' {name} variableKind='{kind}'/>")
    };
    let members: String = members.iter().map(member).collect();
    let text = format!(
        "<fmiTerminalsAndIcons fmiVersion='3.0'><Terminals><Terminal name='t' {keys}>{members}</Terminal>\
         </Terminals></fmiTerminalsAndIcons>"
    );
    fmu::add(&file, "terminalsAndIcons/terminalsAndIcons.xml", text.as_bytes());
    std::fs::rename(file, bench.0.join(format!("{name}.fmu"))).unwrap();
}

fn two(connections: &str) -> String {
    format!(
        "connections = [{connections}]\n\
         [unit.a]\nkind = 'fmu'\npath = 'first.fmu'\nstep = '1 ms'\nunconnected = 'ok'\nstart = {{ y = 2 }}\n\
         [unit.b]\nkind = 'fmu'\npath = 'second.fmu'\nstep = '1 ms'\nunconnected = 'ok'\n"
    )
}

const PLUG: &str = "matchingRule='plug' terminalKind='axis'";

/// Values of both at the end.
fn ends(bench: &Bench, connections: &str) -> [f64; 2] {
    let run = bench.run(&two(connections), S);
    ["a", "b"].map(|unit| run.value(unit, 0, S))
}

#[test]
fn members_meet_by_name_order_and_direction() {
    let bench = Bench::new("terminal");
    let wires = "'a.y -> b.u', 'b.y -> a.u'";
    for (keys, first, second) in [
        (
            PLUG,
            [("p", "y", "signal"), ("q", "u", "signal")],
            [("q", "y", "signal"), ("p", "u", "signal")],
        ),
        (
            "matchingRule='bus'",
            [("p", "y", "signal"), ("q", "u", "signal")],
            [("p", "u", "signal"), ("q", "y", "signal")],
        ),
        (
            "matchingRule='sequence'",
            [("", "y", "signal"), ("", "u", "signal")],
            [("", "u", "signal"), ("", "y", "signal")],
        ),
        (
            PLUG,
            [("p", "y", "outflow"), ("q", "u", "signal")],
            [("p", "u", "inflow"), ("q", "y", "signal")],
        ),
    ] {
        with(&bench, "first", keys, &first);
        with(&bench, "second", keys, &second);
        let wanted = ends(&bench, wires);
        assert_eq!(ends(&bench, "'a:t -> b:t'"), wanted, "{keys}");
        assert_eq!(ends(&bench, "'b:t -> a:t'"), wanted, "{keys}");
    }
    // A flow into both is one number with two signs.
    with(&bench, "first", PLUG, &[("p", "y", "signal"), ("q", "u", "inflow")]);
    with(&bench, "second", PLUG, &[("p", "u", "signal"), ("q", "y", "inflow")]);
    let wanted = ends(&bench, "'a.y -> b.u', 'b.y -> a.u via gain(-1)'");
    assert_eq!(ends(&bench, "'a:t -> b:t'"), wanted);
    assert_ne!(ends(&bench, wires), wanted);
    // A bus leaves alone what only one has.
    with(&bench, "first", "matchingRule='bus'", &[("p", "y", "signal"), ("q", "u", "signal")]);
    with(&bench, "second", "matchingRule='bus'", &[("p", "u", "signal"), ("r", "y", "signal")]);
    assert_eq!(ends(&bench, "'a:t -> b:t'"), ends(&bench, "'a.y -> b.u'"));
}

#[test]
fn mistakes_name_both_terminals() {
    let bench = Bench::new("terminal-wrong");
    let own: Members<'_> = &[("p", "y", "signal"), ("q", "u", "signal")];
    with(&bench, "first", PLUG, own);
    let cases: [(&str, Members<'_>, &str); 8] = [
        (
            PLUG,
            &[("p", "u", "signal")],
            "member `q` of `a:t` has no partner: `b:t` has no member of this name",
        ),
        (PLUG, own, "`p` of `a:t` and `p` of `b:t` are both outputs"),
        (
            PLUG,
            &[("p", "a", "signal"), ("q", "y", "signal")],
            "`p` of `b:t` is no input or output of its FMU",
        ),
        (
            PLUG,
            &[("p", "u", "inflow"), ("q", "y", "signal")],
            "`p` of `b:t` is a flow, and `p` of `a:t` is a signal",
        ),
        (
            "matchingRule='bus' terminalKind='axis'",
            own,
            "`a:t` matches as a plug, and `b:t` as a bus",
        ),
        (
            "matchingRule='plug' terminalKind='pin'",
            own,
            "`a:t` is a terminal of kind axis, and `b:t` one of kind pin",
        ),
        (
            PLUG,
            &[("p", "nothing", "signal")],
            "has a member of variable nothing, which the FMU lacks",
        ),
        ("matchingRule='any'", own, "; there are plug, bus and sequence"),
    ];
    for (keys, members, part) in cases {
        with(&bench, "second", keys, members);
        let e =
            bench.load(&two("'a:t -> b:t'")).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
        assert!(e.contains(part), "{part}: {e}");
    }
    with(&bench, "first", "matchingRule='sequence'", own);
    with(&bench, "second", "matchingRule='sequence'", &[("", "u", "signal")]);
    for (text, part) in [
        ("'a:t -> b:t'", "`a:t` has 2 members, and `b:t` has 1"),
        ("'a:s -> b:t'", "`a` has no terminal `s`"),
        ("'a:t -> b.u'", "`b.u` is no terminal, but the other end is one"),
        ("'a:t -> b:t via hold(0)'", "terminals are connected without adapters"),
        ("'c:t -> b:t'", "there is no unit `c`"),
    ] {
        let e = bench.load(&two(text)).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
        assert!(e.contains(part), "{text}: {e}");
    }
}
