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
