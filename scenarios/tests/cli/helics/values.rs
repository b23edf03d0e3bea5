//! Values of all types, events and messages.
use super::Bench;
use std::fmt::Write;

/// Types with one port and with two, a value each, and how a peer prints it.
const ONE: [(&str, &str, &str); 7] = [
    ("double", "0.1", "0.1"),
    ("int", "-9007199254740993", "-9007199254740993"),
    ("bool", "true", "true"),
    ("string", "hello", "hello"),
    ("time", "1.000000001", "1000000001"),
    ("char", "x", "x"),
    ("raw", "bytes", "b'bytes'"),
];
const TWO: [(&str, &str, &str); 4] = [
    ("complex", "1-2.5j", "(1-2.5j)"),
    ("vector", "0.1,0.2", "0.1,0.2"),
    ("complex_vector", "3+4j", "(3+4j)"),
    ("named_point", "field=0.25", "('field', 0.25)"),
];

/// Units that send what they hear 0.1 s later.
const ECHOES: &str = "stop = '2 s'
sample = 'none'
[template.echo]
inputs = { p_1 = 'a.u', p_2 = 'b.u' }
outputs = { p_1 = 'a.y', p_2 = 'b.y' }
[template.echo.unit.a]
kind = 'delay'
of = 'event'
delay = '0.1 s'
[template.echo.unit.b]
kind = 'delay'
of = 'event'
delay = '0.1 s'
[unit.two]
template = 'echo'
count = 4
[unit.one]
kind = 'delay'
of = 'event'
delay = '0.1 s'
count = 8
";

/// Acceptance 4: values of each type come back as they were sent; messages do, in their order.
#[test]
fn each_type_there_and_back() {
    let Some(bench) = Bench::new("types") else { return };
    let (mut federate, mut before, mut puts) = (String::new(), String::new(), String::new());
    let one =
        ONE.iter().enumerate().map(|(k, t)| (format!("one[{k}].u"), format!("one[{k}].y"), t));
    let two =
        TWO.iter().enumerate().map(|(k, t)| (format!("two[{k}].p"), format!("two[{k}].p"), t));
    for (to, from, (ty, value, _)) in one.chain(two) {
        write!(
            federate,
            "[[federate.input]]\nfrom = 'peer/{ty}'\nto = '{to}'\ntype = '{ty}'\n[[federate.output]]\nfrom = '{from}'\n\
             as = 'own/{ty}'\ntype = '{ty}'\n"
        )
        .unwrap();
        write!(before, "pub peer/{ty} {ty}; sub own/{ty} {ty}; ").unwrap();
        write!(puts, "put peer/{ty} {value}; ").unwrap();
    }
    federate += "[[federate.message]]\nname = 'own/mail'\npeer = 'peer/mail'\nfrom = 'one[7].y'\nto = 'one[7].u'\n";
    let script = format!(
        "{before}end peer/mail own/mail; run; to 0.5; {puts}mail peer/mail first; mail peer/mail second; until 2"
    );
    bench.write(ECHOES, &federate, &[("peer", &script)]);
    bench.run("run s.toml");
    let log = bench.log("peer");
    for (ty, _, heard) in ONE.iter().chain(&TWO) {
        let line = format!("600000000 own/{ty} {heard}");
        assert!(log.contains(&line), "{line} in {log:#?}");
    }
    let mail: Vec<&String> = log.iter().filter(|l| l.contains("mail")).collect();
    assert_eq!(mail, ["600000000 peer/mail first", "600000000 peer/mail second"]);
}

/// A scenario may hear messages, and no value, of a federate whose endpoints have no targets, as those of most owners.
#[test]
fn messages_of_endpoints_without_targets() {
    let Some(bench) = Bench::new("boxes") else { return };
    let federate = "[[federate.message]]\nname = 'own/mail'\npeer = 'peer/mail'\nto = 'lamp.u'\n";
    let lamp = "stop = '4 s'\n[unit.lamp]\nkind = 'counter'\n[result]\nn = 'final(lamp.count)'\n\
                second = \"first(lamp.count > 1)\"\n";
    for kind in ["box", "end"] {
        let script = format!(
            "{kind} peer/mail own/mail; run; to 1; mail peer/mail a; to 2.5; mail peer/mail b; until 3"
        );
        bench.write(lamp, federate, &[("peer", &script)]);
        bench.run("run s.toml --force");
        let summary =
            super::super::json(&super::super::read(&bench.dir.join("out/s"), "summary.json"));
        assert_eq!(summary["results"]["n"], 2.0, "{kind}");
        assert_eq!(summary["results"]["second"], 2.5, "{kind}");
    }
}

/// An endpoint may have several peers, and texts of messages may be numbers.
#[test]
fn messages_of_several_peers_carry_numbers() {
    let Some(bench) = Bench::new("several") else { return };
    let head = "stop = '2 s'\nconnections = ['any.y -> sum.u']\n[unit.any]\nkind = 'delay'\nof = 'event'\ndelay = '0.1 s'\n\
                [unit.sum]\nkind = 'hold'\ninitial = 0.0\n[result]\nlast = 'final(sum.y)'\n";
    let federate = "[[federate.message]]\nname = 'own/mail'\npeer = ['b/mail', 'a/mail']\nto = 'any.u'\nfrom = 'any.y'\n\
                    type = 'double'\n";
    let script = |name: &str, at: &str, value: &str| {
        format!(
            "whole; end {name}/mail own/mail; run; to {at}; mail {name}/mail {value}; until 1.5"
        )
    };
    let (a, b) = (script("a", "0.5", "1.5"), script("b", "1", "2.5"));
    bench.write(head, federate, &[("a", &a), ("b", &b)]);
    bench.run("run s.toml");
    let summary = super::super::json(&super::super::read(&bench.dir.join("out/s"), "summary.json"));
    assert_eq!(summary["results"]["last"], 2.5);
    for peer in ["a", "b"] {
        let log = bench.log(peer);
        let heard: Vec<&str> = log.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(heard, ["1.5", "2.5"]);
    }
    for (peer, part) in [("[]", "names no endpoint"), ("['a/mail', 'a/mail']", "one twice")] {
        let wrong = federate.replace("['b/mail', 'a/mail']", peer);
        bench.write(head, &wrong, &[]);
        assert!(bench.fails("check s.toml", 2).contains(part));
    }
    bench.write(head, &federate.replace("'double'", "'vector'"), &[]);
    assert!(bench.fails("check s.toml", 2).contains("messages of the type `vector` are not read"));
}

/// Truth values of peers go into signals that are numbers, and come from them, as 0 and 1.
#[test]
fn truth_values_are_numbers_of_signals() {
    let Some(bench) = Bench::new("bools") else { return };
    let head = "stop = '1 s'\nsample = 'none'\n[unit.valve]\nkind = 'equations'\ninputs = { open = 0 }\n\
                states = { level = 0 }\nderivatives = { level = 'open' }\ndiscrete = { full = 0 }\n\
                outputs = { full = 'full', level = 'level' }\n[[unit.valve.event]]\nname = 'filled'\n\
                when = 'level >= 0.25'\nreset = { full = '1' }\n[result]\nlevel = 'final(valve.level)'\n";
    let federate = "[[federate.input]]\nfrom = 'peer/open'\nto = 'valve.open'\ntype = 'bool'\ninitial = false\n\
                    [[federate.output]]\nfrom = 'valve.full'\nas = 'own/full'\ntype = 'bool'\n";
    let script =
        "whole; pub peer/open bool; sub own/full bool; run; to 0.25; put peer/open true; until 1";
    bench.write(head, federate, &[("peer", script)]);
    bench.run("run s.toml");
    let summary = super::super::json(&super::super::read(&bench.dir.join("out/s"), "summary.json"));
    let level = summary["results"]["level"].as_f64().unwrap();
    assert!((level - 0.75).abs() < 1e-8, "{level}");
    let log = bench.log("peer");
    assert!(log.last().is_some_and(|l| l.ends_with("own/full true")), "{log:?}");
    assert!(bench.read("out/s/federation/outbound.csv").contains(",bool,false\n"));
}

/// Acceptance 4: a long vector there and back; `SUPERDENSE_LONG=1` takes as many ports as there are.
#[test]
fn a_long_vector_there_and_back() {
    let Some(bench) = Bench::new("long") else { return };
    let count = if std::env::var_os("SUPERDENSE_LONG").is_some() { 60_000 } else { 5_000 };
    let head = format!(
        "stop = '1 s'\nsample = 'none'\nrecord = []\n[unit.echo]\nkind = 'delay'\nof = 'event'\ndelay = '0.1 s'\ncount = {count}\n"
    );
    let federate = "[[federate.input]]\nfrom = 'peer/v'\nto = 'echo[*].u'\ntype = 'vector'\n\
                    [[federate.output]]\nfrom = 'echo[*].y'\nas = 'own/v'\ntype = 'vector'\n";
    let script =
        format!("pub peer/v vector; sub own/v vector; run; to 0.5; ramp peer/v {count}; until 1");
    bench.write(&head, federate, &[("peer", &script)]);
    bench.run("run s.toml");
    let log = bench.log("peer");
    let values: Vec<String> = (0..count).map(|k| format!("{:?}", f64::from(k) * 0.5)).collect();
    assert_eq!(log, [format!("600000000 own/v {}", values.join(","))]);
}

/// Acceptance 5: two events at one tick go out as messages, in their order, and not as values.
#[test]
fn two_events_at_one_tick() {
    let Some(bench) = Bench::new("two") else { return };
    let head = "stop = '1 s'\nsample = 'none'\nconnections = ['a.y -> both.u', 'b.y -> both.u']\n\
                [unit.a]\nkind = 'clock'\nperiod = '0.5 s'\noffset = '0.5 s'\nvalue = 1.0\nlimit = 1\n\
                [unit.b]\nkind = 'clock'\nperiod = '0.5 s'\noffset = '0.5 s'\nvalue = 2.0\nlimit = 1\n\
                [unit.both]\nkind = 'delay'\nof = 'event'\ndelay = '0.1 s'\n";
    let value = "[[federate.output]]\nfrom = 'both.y'\nas = 'own/both'\n";
    bench.write(head, value, &[("peer", "sub own/both double; run; until 1")]);
    let told = bench.fails("run s.toml", 3);
    assert!(told.contains("`both.y` at 0.6 s") && told.contains("[[federate.message]]"), "{told}");
    let message = "[[federate.message]]\nname = 'own/mail'\npeer = 'peer/mail'\nfrom = 'both.y'\n";
    bench.write(head, message, &[("peer", "end peer/mail own/mail; run; until 1")]);
    bench.run("run s.toml");
    assert_eq!(bench.log("peer"), ["600000000 peer/mail 1.0", "600000000 peer/mail 2.0"]);
}
