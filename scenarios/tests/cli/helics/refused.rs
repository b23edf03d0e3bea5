//! Mistakes that `check` finds without a federation.
use super::folder;
use std::fs;

/// Scenarios, and what is said of them.
#[test]
fn what_helics_cannot_carry_is_refused() {
    let dir = folder("helics-refused");
    let all: [(&str, &str, &str); 21] = [
        ("core = 'inproc'", "", "`inproc` is refused"),
        ("core = 'zmqq'", "", "did you mean"),
        (
            "core = 'tcp'",
            "[[federate.message]]\nname = 'own/m'\npeer = 'p/m'\nfrom = 'tick.y'\n",
            "longer than 4 kB",
        ),
        ("iterate = true", "", "forced iteration"),
        ("realtime = true", "", "real time"),
        ("dynamic = true", "", "`require`"),
        ("grant_timeout = '1 s'", "", "grants"),
        ("broker = 'nowhere'", "", "no address of a broker"),
        ("broker = 'h:1'", "", "no `key`"),
        ("instnt = 'last'", "", "`instant`"),
        ("instant = 'lst'", "", "did you mean `last`"),
        ("", "[[federate.output]]\nfrom = 'lag.x'\nas = 'own/x'\n", "every ="),
        ("", "[[federate.input]]\nfrom = 'p/u'\nto = 'lag.u'\n", "initial = 0.0"),
        ("", "[[federate.input]]\nfrom = 'p/u'\nto = 'late.u'\ninitial = 1\n", "`initial`"),
        (
            "",
            "[[federate.output]]\nfrom = 'lag.x'\nas = 'own/x'\nevery = '1/3 s'\n",
            "whole number of nanoseconds",
        ),
        (
            "",
            "[[federate.input]]\nfrom = 'p/u'\nto = 'lag.u'\ninitial = 1\n[[federate.input]]\nfrom = 'p/v'\nto = 'lag.u'\n\
             initial = 1\n",
            "two drivers",
        ),
        (
            "",
            "[[federate.input]]\nfrom = 'p/u'\nto = 'lag.u'\nunit = 'W'\ninitial = '2 V'\n",
            "but the input counts in W",
        ),
        (
            "",
            "[[federate.output]]\nfrom = 'watt.p'\nas = 'own/p'\nunit = 'kW'\nevery = '1 s'\n[unit.watt]\n\
             kind = 'equations'\nstates = { p = '1 W' }\noutputs = { p = 'p' }\n",
            "counts in kW, and `watt.p` in SI base units",
        ),
        (
            "",
            "[[federate.output]]\nfrom = 'watt.p'\nas = 'own/p'\nunit = 'J'\nquantum = 0.1\n[unit.watt]\n\
             kind = 'equations'\nstates = { p = '1 W' }\noutputs = { p = 'p' }\n",
            "`watt.p` is in",
        ),
        (
            "",
            "[[federate.input]]\nfrom = 'p/u'\nto = 'lag.v'\ninitial = 1\n",
            "`lag` has no input `v`",
        ),
        (
            "",
            "[[federate.input]]\nfrom = 'p/u'\nto = 'lag.u'\ntype = 'string'\ninitial = 1\n",
            "sends text",
        ),
    ];
    for (key, tables, part) in all {
        let broker = if key.starts_with("broker") { "" } else { "broker = 'start'" };
        let text = format!(
            "stop = '1 s'\n{}[unit.tick]\nkind = 'clock'\nperiod = '1 s'\n[unit.late]\nkind = 'delay'\nof = 'event'\n\
             delay = '1 s'\nconnections_ = 1\n[federate]\nengine = 'helics'\nname = 'own'\n{broker}\n{key}\n{tables}",
            super::LAG
        )
        .replace("connections_ = 1\n", "");
        fs::write(dir.join("s.toml"), text).unwrap();
        let output = super::command(&dir, "check s.toml").output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{key}{tables}\n{told}");
        assert!(told.contains(part), "{part} in {told}");
    }
}

/// Times that are too coarse or too late.
#[test]
fn times_that_helics_cannot_carry_are_refused() {
    let dir = folder("helics-late");
    for (head, part) in
        [("stop = '49 d'", "4194304 s"), ("stop = '1 s'\nresolution = 'us'", "resolution = \"ns\"")]
    {
        let text = format!(
            "{head}\n[unit.a]\nkind = 'constant'\nvalue = 1\n[federate]\nengine = 'helics'\nname = 'own'\nbroker = 'start'\n"
        );
        fs::write(dir.join("s.toml"), text).unwrap();
        let output = super::command(&dir, "check s.toml").output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(part), "{told}");
    }
}

/// Mistakes are found together, each with a remedy.
#[test]
fn mistakes_are_told_together() {
    let dir = folder("helics-many");
    let text = format!(
        "stop = '1 s'\n{}[federate]\nengine = 'helix'\nbroker = 'start'\n[[federate.input]]\nto = 'lag.u'\n\
         [[federate.output]]\nfrom = 'lag.x'\nas = 'own/x'\ntype = 'dobule'\n",
        super::LAG
    );
    fs::write(dir.join("s.toml"), text).unwrap();
    let output = super::command(&dir, "check s.toml").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["engine", "`from` is missing", "did you mean `double`", "no `name`"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
