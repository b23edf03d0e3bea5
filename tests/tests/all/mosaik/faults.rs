//! Faults of simulators and scenarios, and the messages about them.
use super::Bench;
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};
use superdense_kernel::{Options, Simulation};

const OUT: &str = "outputs = { y = 'y' }";

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text} should contain {part}");
    }
}

#[test]
fn every_fault_ends_the_run_with_its_story() {
    let Some(bench) = Bench::with_sim("faults") else { return };
    let cases: [(&str, &[&str]); 12] = [
        ("fault = 'raised'", &["step of time 2 (2 s)", "ValueError: the oil is cold"]),
        ("fault = 'past'", &["gave 2 as next time"]),
        ("fault = 'half'", &["gave 2.5 as next time"]),
        ("fault = 'never'", &["gave no next time"]),
        ("fault = 'nan'", &["get_data of time 2", "NaN"]),
        ("fault = 'text'", &["output `y`", "warm", "no number"]),
        ("fault = 'missing'", &["gave no \"y\" of \"Model_0\""]),
        ("fault = 'die early'", &["setup_done", "exit status: 1", "no fuel at the start"]),
        ("fault = 'few'", &["create of `m`", "in place of 1"]),
        ("version = '2.5'", &["version 2.5"]),
        ("typo = 1", &["init", "TypeError", "typo"]),
        ("type = 'event-based'", &["output `y` is a signal", "add event"]),
    ];
    for (start, parts) in cases {
        let e = bench.fails(&format!("stop = 5\n{}", bench.unit("a", start, OUT)));
        contains(&e, &[&["a at "], parts].concat());
    }
}

#[test]
fn a_file_that_does_not_fit_the_simulator_is_told_all_at_once() {
    let Some(bench) = Bench::with_sim("unfit") else { return };
    let create = "inputs = { u = { attribute = 'u', event = 'real' }, w = 'w' }\n\
                  outputs = { y = { attribute = 'y', event = 'real' }, z = { attribute = 'y', entity = 'Bus' } }";
    let e = bench.fails(&format!("stop = 5\n{}", bench.unit("a", "", create)));
    contains(
        &e,
        &["`u` takes events", "attribute `w`", "`y` has events", "entity `Bus`", "Model_0-child"],
    );
    let e = bench
        .fails(&format!("stop = 5\n{}", bench.unit("a", "", OUT).replace("'Model'", "'Modle'")));
    contains(&e, &["`Modle`", "Child, Model"]);
    let e = bench.fails(&format!("stop = 5\n{}", bench.unit("a", "", "parameters = { gian = 1 }")));
    contains(&e, &["`gian`", "gain, bias"]);
}

/// A killed simulator is told at once, one that is silent after the patience that the file has for it.
#[test]
fn death_and_silence() {
    let Some(bench) = Bench::with_sim("death") else { return };
    for (fault, patience, most, parts) in [
        ("killed", "20 s", 1.0, ["during step of time 2 (2 s)", "signal: 9", "the oil is gone"]),
        ("stopped", "1500 ms", 2.6, ["no answer to step of time 2 (2 s)", "1.5 s", "`patience`"]),
    ] {
        let unit = bench.unit("a", &format!("fault = '{fault}'"), OUT).replace("20 s", patience);
        let plan = bench.load(&format!("stop = 5\n{unit}")).unwrap_or_else(|e| panic!("{e:?}"));
        let mut sim = Simulation::new(plan.model, Options::default()).unwrap();
        sim.run_through(1_000_000_000).unwrap();
        let before = Instant::now();
        let e = sim.run_through(5_000_000_000).unwrap_err().to_string();
        let took = before.elapsed().as_secs_f64();
        contains(&e, &[&["a at "][..], &parts[..]].concat());
        assert!(took < most, "{fault}: {took} s");
    }
}

/// Neither a program that does not speak, nor one that is not there, holds the run.
#[test]
fn simulators_that_do_not_come() {
    let bench = Bench::new("absent", "sh".into());
    let unit = |command: &str| {
        format!(
            "stop = 5\n[unit.a]\nkind = 'mosaik'\npatience = '400 ms'\n{command}\n[unit.a.create.m]\nmodel = 'Model'\n"
        )
    };
    let cases = [
        ("command = 'no-such-program-here {address}'", "`no-such-program-here` cannot be started"),
        (
            "command = \"sh -c 'echo no >&2; exit 3' {address}\"",
            "exit status: 3; its last lines:\n  no",
        ),
        ("command = 'sleep 30 {address}'", ""),
        ("command = \"sh -c 'sleep 30' {address}\"", "did not connect within 0.4 s"),
        ("connect = '127.0.0.1:1'", "nobody listens at 127.0.0.1:1"),
    ];
    for (command, part) in cases {
        let before = Instant::now();
        contains(&bench.fails(&unit(command)), &["a at 0 s", part]);
        assert!(before.elapsed() < Duration::from_secs(5));
    }
    // One that accepts, and says nothing or nonsense.
    for (says, part) in
        [(&b""[..], "no answer to init within 0.4 s"), (b"GET / HTTP/1.1\r\n\r\n", "no frame")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, says).unwrap();
            std::thread::sleep(Duration::from_secs(1));
        });
        contains(&bench.fails(&unit(&format!("connect = '{address}'"))), &["a at 0 s", part]);
        peer.join().unwrap();
    }
}

#[test]
fn requests_that_are_not_served() {
    let Some(bench) = Bench::with_sim("asked") else { return };
    let unit = bench.unit("a", "fault = 'none'", OUT).replace("sim.py", "sim.py --asks");
    contains(
        &bench.fails(&format!("stop = 5\n{unit}")),
        &["asked for `set_event`", "own next step"],
    );
}

#[test]
fn loops_that_do_not_rest_are_ended() {
    let Some(bench) = Bench::with_sim("endless") else { return };
    let events = "type = 'hybrid', model = { trigger = ['u'], non-persistent = ['y'] }";
    let port = |weak: &str| {
        format!(
            "inputs = {{ u = {{ attribute = 'u', event = 'real'{weak} }} }}\noutputs = {{ y = {{ attribute = 'y', event = 'real' }} }}"
        )
    };
    let units =
        bench.unit("a", events, &port(", weak = true")) + &bench.unit("b", events, &port(""));
    let units = units.replace("patience", "max_rounds = 7\npatience");
    let e = bench.fails(&format!("stop = 5\nconnections = ['a.y -> b.u', 'b.y -> a.u']\n{units}"));
    contains(&e, &["a at 0 s", "more than 7 steps in step of time 0 (0 s)", "max_rounds"]);
    assert_eq!(bench.steps("a.log").len(), 7);
}

/// None of this starts a simulator.
#[test]
fn mistakes_of_the_file_need_no_simulator() {
    let bench = Bench::new("mistakes", "sh".into());
    let unit = |name: &str, more: &str, create: &str| {
        format!(
            "[unit.{name}]\nkind = 'mosaik'\ncommand = 'none {{address}}'\n{more}\n[unit.{name}.create.m]\nmodel = 'M'\n{create}\n"
        )
    };
    let one = |more: &str, create: &str| format!("stop = 5\n{}", unit("a", more, create));
    let cases = [
        (one("connect = 'h:5'", ""), "both `command` and `connect`"),
        (one("resolution = 0", ""), "resolution"),
        (one("resolution = '1/3 s'", ""), "resolution"),
        (one("initial_event = 0.5", ""), "no whole time"),
        (one("max_rounds = 0", ""), "max_rounds"),
        (one("start = 5", ""), "not a table"),
        (one("", "count = 0"), "count"),
        (one("", "outputs = { y = 'y', y-z = 'z' }"), "cannot be the name of a port"),
        (one("", "inputs = { u = { event = 'real' } }"), "no attribute"),
        (one("", "inputs = { u = { attribute = 'u', event = 'float' } }"), "no type of values"),
        (one("", "inputs = { u = { attribute = 'u', shifted = true } }"), "no value to begin with"),
        (
            one(
                "",
                "inputs = { u = { attribute = 'u', weak = true, shifted = true, initial = 0 } }",
            ),
            "both shifted and weak",
        ),
        (one("", "outputs = { y = { attribute = 'y', shifted = true } }"), "unknown key `shifted`"),
        (
            one("", "count = 2\noutputs = { y = { attribute = 'y', entity = 'Bus-1' } }"),
            "there are 2",
        ),
        (
            one("", "outputs = { y = 'y' }\n[unit.a.create.n]\nmodel = 'N'\noutputs = { y = 'z' }"),
            "two ports have the name `y`",
        ),
        (one("", "").replace("'none {address}'", "'none'"), "no {address}"),
        (one("", "").replace("'none {address}'", "\"none 'open {address}\""), "divided into words"),
        (one("", "").replace("'M'", "5"), "`model` is no text"),
    ];
    for (text, part) in cases {
        contains(&bench.refused(&text), &[part]);
    }
    let port = "inputs = { u = 'u' }\noutputs = { y = 'y' }";
    let ring = |port_b: &str| {
        format!(
            "stop = 5\nconnections = ['a.y -> half.u', 'half.y -> b.u', 'b.y -> a.u']\n[unit.half]\nkind = 'gain'\ngain = 0.5\n{}{}",
            unit("a", "", port),
            unit("b", "", port_b)
        )
    };
    contains(&bench.refused(&ring(port)), &["needs what the others send", "shifted = true"]);
    for how in ["shifted", "weak"] {
        let marked =
            port.replace("'u' }", &format!("{{ attribute = 'u', {how} = true, initial = 0 }} }}"));
        assert!(bench.load(&ring(&marked)).is_ok());
    }
    let delayed = ring(port).replace("'b.y -> a.u'", "\"b.y -> a.u via delay('1 s')\"");
    assert!(bench.load(&delayed).is_ok(), "{:?}", bench.load(&delayed).err());
    assert!(bench.load(&one("", port)).is_ok());
}

/// A simulator does not go back: that it can be told everything again is for checkpoints only.
#[test]
fn simulators_do_not_go_back() {
    let Some(bench) = Bench::with_sim("saved") else { return };
    let plan = bench.load(&format!("stop = 5\n{}", bench.unit("a", "", OUT)));
    let plan = plan.unwrap_or_else(|e| panic!("{e:?}"));
    let mut sim = Simulation::new(plan.model, Options::default()).unwrap();
    sim.run_through(0).unwrap();
    contains(&sim.save().unwrap_err().to_string(), &["`a`", "cannot go back"]);
    assert!(sim.checkpoint().is_ok());
}
