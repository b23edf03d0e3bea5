//! Whole federations: checks, several at once, several scenarios in one.
use super::{Bench, LAG, LAGS};
use std::{fs, process::Stdio};

/// Acceptance 9: all that does not fit is told at once.
#[test]
fn a_check_tells_all_mistakes() {
    let Some(bench) = Bench::new("check") else { return };
    let input = |from: &str, more: &str| {
        format!("[[federate.input]]\nfrom = '{from}'\nto = 'bus.u'\n{more}\n")
    };
    let head =
        format!("stop = '1 s'\n{LAG}[unit.bus]\nkind = 'delay'\nof = 'event'\ndelay = '1 ms'\n");
    let federate = [
        LAGS.replace("every", "unit = 'W'\nevery"),
        input("peer/volt", ""),
        input("peer/text", ""),
        input("peer/level", "unit = 'V'"),
        "[[federate.message]]\nname = 'own/mail'\npeer = 'peer/post'\nfrom = 'bus.y'\n".into(),
    ];
    let peer = "pub peer/u double; pub peer/voltage double; pub peer/text string; pub peer/level double kV; \
                sub own/x int; end peer/mail own/mail; run; until 1";
    bench.write(&head, &federate.concat(), &[("peer", peer)]);
    let output = bench.output("federation check s.toml");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "5 mistakes",
        "nobody publishes `peer/volt`",
        "`peer/text` of `peer` is published as \"string\"",
        "`peer/level` of `peer` is published in kV, but the input of `own` is in V",
        "`own/mail` wants the endpoint `peer/post`",
        "`own/x` is published as \"double\", but `peer/in:own/x` of `peer` takes \"int64\"",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let told = bench.fails("run s.toml", 3);
    assert!(told.contains("peer/volt") && told.contains("peer/post"), "{told}");
}

/// Inputs of others have often no names; HELICS would tell one clash of units, and then go on without the federate. Keys that
/// nobody publishes are told, too, and `--quiet` leaves mistakes.
#[test]
fn a_check_looks_at_inputs_of_others() {
    let Some(bench) = Bench::new("others") else { return };
    let federate = LAGS.replace("every", "unit = 'V'\nevery");
    let peer = |hears: &str| {
        format!("pub peer/u double; hear own/x kV; {hears}; run; every 0.1 9 peer/u 1 0; until 1")
    };
    bench.write(
        &format!("stop = '1 s'\n{LAG}"),
        &federate,
        &[("peer", &peer("hear own/x W; hear own/z; sub own/y double"))],
    );
    for quiet in ["", " --quiet"] {
        let output = bench.output(&format!("federation check s.toml{quiet}"));
        let (out, err) = super::texts(&output);
        assert_eq!(output.status.code(), Some(1), "{out}{err}");
        let told = if quiet.is_empty() { &out } else { &err };
        for part in [
            "`own/x` is published in V, but an input without a name of `peer` is in W, which HELICS refuses",
            "nobody publishes `own/y`, which",
            "nobody publishes `own/z`, which",
            "`peer/in:own/y` of `peer`",
        ] {
            assert!(told.contains(part), "{part} in {out}{err}");
        }
        assert!(!told.contains("kV"), "{told}");
    }
    let told = bench.fails("run s.toml", 3);
    assert!(told.contains("is in W, which HELICS refuses"), "{told}");
    // Of units that go together, HELICS converts the values.
    bench.write(&format!("stop = '1 s'\n{LAG}"), &federate, &[("peer", &peer("hear own/x mV"))]);
    bench.run("run s.toml --force");
    assert!(bench.run("federation check s.toml").contains("own: ok"));
}

/// Without mistakes a check says so, and makes no results.
#[test]
fn a_check_of_what_fits() {
    let Some(bench) = Bench::new("fits") else { return };
    bench.write(
        &format!("stop = '1 s'\n{LAG}"),
        LAGS,
        &[("peer", "pub peer/u double; sub own/x double; run; until 1")],
    );
    assert!(bench.run("federation check s.toml").contains("own: ok"));
    assert!(!bench.dir.join("out").exists());
}

/// Acceptance 12: two federations on one machine do not mix.
#[test]
fn two_federations_at_once() {
    let Some(bench) = Bench::new("both") else { return };
    let mut runs = Vec::new();
    for (name, factor) in [("a", "0.25"), ("b", "0.75")] {
        let script = format!(
            "pub peer/u double; sub own/x double; run; every 0.1 9 peer/u {factor} 0.01; until 1"
        );
        bench.write(&format!("stop = '1 s'\n{LAG}"), LAGS, &[("peer", &script)]);
        fs::rename(bench.dir.join("s.toml"), bench.dir.join(format!("{name}.toml"))).unwrap();
        let mut command = bench.command(&format!("run {name}.toml"));
        runs.push(command.stdout(Stdio::null()).spawn().unwrap());
    }
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    for (name, first) in [("a", "0.25"), ("b", "0.75")] {
        let record = bench.read(&format!("out/{name}/federation/inbound.csv"));
        assert_eq!(record.lines().count(), 10, "{record}");
        assert!(record.lines().nth(1).unwrap().ends_with(first), "{record}");
    }
}

/// Two scenarios hear each other; with `last` in both they would wait for each other for ever.
#[test]
fn two_scenarios_in_one_federation() {
    let Some(bench) = Bench::new("scenarios") else { return };
    let program = env!("CARGO_BIN_EXE_superdense");
    for (instant, fails) in [("next", false), ("last", true)] {
        let second = format!(
            "stop = '1 s'\n{LAG}[federate]\nengine = 'helics'\nname = 'peer'\nbroker = 'start'\nkey = 'x'\n\
             instant = '{instant}'\n[[federate.input]]\nfrom = 'own/x'\nto = 'lag.u'\ninitial = 1\n[[federate.output]]\n\
             from = 'lag.x'\nas = 'peer/u'\nevery = '0.1 s'\n"
        );
        fs::write(bench.dir.join("peer.toml"), second).unwrap();
        let launch = format!(
            "instant = '{instant}'\n{LAGS}[[federate.launch]]\nname = 'peer'\ncommand = '{program} run peer.toml --quiet \
             --set federate.broker={{broker}} --set federate.key={{key}}'\n"
        );
        bench.write(&format!("stop = '1 s'\n{LAG}"), &launch, &[]);
        if fails {
            let told = bench.fails("run s.toml", 3);
            // Whichever looks first tells it; the other then says how its peer ended.
            let circle = ["`own` hears `peer` hears `own`", "`peer` hears `own` hears `peer`"];
            assert!(circle.iter().any(|names| told.contains(names)), "{told}");
        } else {
            bench.run("run s.toml");
            assert_eq!(bench.read("out/s/federation/inbound.csv").lines().count(), 11);
            assert_eq!(bench.read("out/peer/federation/inbound.csv").lines().count(), 11);
        }
    }
}
