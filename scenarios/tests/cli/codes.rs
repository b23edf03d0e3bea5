//! Exit codes, and what is said with them.
use super::*;

fn refused(dir: &Path, line: &str, code: i32, says: &str) -> Output {
    let output = superdense(dir, line);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "superdense {line}: {text}");
    assert!(text.contains(says), "superdense {line}: '{says}' not in: {text}");
    output
}

#[test]
fn mistakes_end_with_2() {
    let dir = mixed("codes");
    fs::write(dir.join("broken.toml"), "stop = 1\n[unit.a]\nkind = \"equation\"\n").unwrap();
    for (line, says) in [
        ("run missing.toml", "missing.toml"),
        ("check broken.toml", "equation"),
        ("run broken.toml", "equation"),
        ("run mixed.toml --until -1", "-1"),
        ("run mixed.toml --until never", "never"),
        ("run mixed.toml --set nonsense=1", "nonsense"),
        ("run mixed.toml --set nonsense", "PATH=VALUE"),
        ("run mixed.toml --checkpoint-every 5m", "seconds"),
        ("run mixed.toml --event-list calendar", "ladder"),
        ("run mixed.toml --executor parallel", "sequential"),
        ("run mixed.toml --tighten -1", "zero or more"),
        ("run mixed.toml --seed -1", "from 0 on"),
        ("run mixed.toml --ties -1", "from 0 on"),
        ("fly mixed.toml", "fly"),
        ("resume nowhere", "no checkpoint"),
        ("resume mixed.toml", "not a Superdense checkpoint"),
        ("plot nowhere", "plots.json"),
    ] {
        refused(&dir, line, 2, says);
    }
    assert!(!dir.join("out").exists(), "nothing is written for a scenario with mistakes");
    let told = superdense(&dir, "check broken.toml --json");
    let told = json(&String::from_utf8_lossy(&told.stdout));
    assert_eq!((&told["status"], &told["exit_code"]), (&Json::from("error"), &Json::from(2)));
    assert_eq!(told["mistakes"][0]["line"], 3, "{told}");
}

/// Packages need completions, manual pages, and a version that names what was built.
#[test]
fn the_program_describes_itself() {
    let dir = folder("describes");
    let version = good(&dir, "--version");
    let start = concat!("superdense ", env!("CARGO_PKG_VERSION"), " (commit ");
    assert!(version.starts_with(start) && version.contains("; features: "), "{version}");
    assert_eq!(version.contains("fmi"), cfg!(feature = "fmi"), "{version}");
    for (shell, says) in
        [("bash", "--checkpoint-every"), ("zsh", "#compdef superdense"), ("fish", "complete -c")]
    {
        let script = good(&dir, &format!("completions {shell}"));
        assert!(script.contains(says) && script.contains("reproduce"), "{shell}: {script}");
    }
    let page = good(&dir, "man");
    assert!(page.contains(".TH") && page.contains("superdense"), "{page}");
    assert!(good(&dir, "man run").contains("checkpoint"));
    refused(&dir, "man fly", 2, "commands are run, check");
    refused(&dir, "completions tcsh", 2, "powershell");
    // The table of the page holds what the program says.
    let table = include_str!("../../../docs/command_line.md");
    let help = good(&dir, "--help");
    let codes = help.split("Exit codes:").nth(1).unwrap();
    for code in codes.lines().filter_map(|l| l.split_whitespace().next()) {
        assert!(page.contains(code) && table.contains(&format!("| {code} |")), "{code}");
    }
}

#[test]
fn scenarios_are_not_overwritten_by_accident() {
    let dir = folder("force");
    good(&dir, "new mine");
    refused(&dir, "new mine.toml", 2, "--force");
    good(&dir, "new mine --force");
}

/// A solution that reaches infinity at 1 s.
const BLOW_UP: &str = r#"
stop = 2
sample = 0.1
[unit.x]
kind = "equations"
states = { x = 1.0 }
derivatives = { x = "x*x" }
outputs = { x = "x" }
"#;

#[test]
fn a_run_that_fails_ends_with_3_and_keeps_its_results() {
    let dir = folder("fails");
    fs::write(dir.join("blow_up.toml"), BLOW_UP).unwrap();
    refused(&dir, "run blow_up.toml", 3, "x at ");
    let out = dir.join("out/blow_up");
    let samples = read(&out, "samples.csv");
    assert!(samples.lines().count() >= 8 && samples.ends_with('\n'), "{samples}");
    assert!(!out.join("summary.json").exists());
    let told = superdense(&dir, "run blow_up.toml --json --force");
    let told = json(&String::from_utf8_lossy(&told.stdout));
    assert_eq!((&told["status"], &told["exit_code"]), (&Json::from("error"), &Json::from(3)));
}

#[test]
fn the_seed_in_use_is_told() {
    let dir = folder("seed");
    let draws = "stop = 1\nrecord = ['r.y']\n[unit.r]\nkind = 'random'\ndistribution = 'uniform'\n\
                 low = 0\nhigh = 1\n                 period = 0.1\n";
    fs::write(dir.join("own.toml"), draws).unwrap();
    let parameter = format!("{draws}[parameters]\nseed = 5\n");
    fs::write(dir.join("parameter.toml"), parameter).unwrap();
    for (line, seed) in [
        ("own.toml", 1),
        ("own.toml --seed 99", 99),
        ("own.toml --set seed=7", 7),
        ("parameter.toml", 5),
        ("parameter.toml --seed 99", 99),
        ("parameter.toml --set seed=7", 7),
    ] {
        let told = json(&good(&dir, &format!("run {line} --json --force --out out")));
        assert_eq!(told["summary"]["seed"], seed, "{line}");
    }
    refused(&dir, "run own.toml --set seed=-1", 2, "`seed` is negative");
}

/// An error in a reset names the event, its instant, and the part of the formula.
#[test]
fn a_reset_that_fails_does_so_at_its_instant() {
    let dir = folder("reset");
    let text = "stop = 3\nsample = 0.25\n[unit.a]\nkind = 'equations'\nstates = { x = 1 }\n\
                discrete = { n = 0 }\nderivatives = { x = '-1' }\noutputs = { x = 'x' }\n\
                [[unit.a.event]]\nname = 'hit'\nwhen = 'x <= 0.5'\nreset = { n = '1/(x - 0.5)' }\n";
    fs::write(dir.join("reset.toml"), text).unwrap();
    let output = refused(&dir, "run reset.toml", 3, "a at 0.5 s: ");
    let said = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
    assert!(said.contains("event `hit`") && said.contains("1/(x - 0.5)"), "{said}");
    assert!(read(&dir, "out/reset/samples.csv").contains("\n0.25,0.75\n"), "samples before");
    // An input that comes before makes the event void.
    let saved = "[unit.b]\nkind = 'schedule'\ntimes = [0.3]\nvalues = [1]\n";
    let text = text
        .replace(
            "discrete",
            "event_inputs = ['stay']\non = [{ input = 'stay', reset = { x = '9' } }]\ndiscrete",
        )
        .replace("stop = 3", "stop = 3\nconnections = ['b.y -> a.stay']");
    fs::write(dir.join("saved.toml"), text + saved).unwrap();
    good(&dir, "run saved.toml --quiet");
}

/// An output that nobody receives is looked at where it is recorded.
#[test]
fn recorded_values_are_finite() {
    let dir = folder("not-finite");
    let text = "stop = 2\nsample = 0.25\nrecord = [RECORD]\n[unit.a]\nkind = 'equations'\n\
                states = { x = 1.1 }\nderivatives = { x = '-1' }\noutputs = { y = 'ln(x)', x = 'x' }\n";
    for record in ["'a.x', 'a.y'", "'sum(a.y)'"] {
        fs::write(dir.join("ln.toml"), text.replace("RECORD", record)).unwrap();
        let output = refused(&dir, "run ln.toml --force", 3, "a at 1.25 s: ");
        let said = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        assert!(said.contains("`ln(x)` is"), "{said}");
        let samples = read(&dir, "out/ln/samples.csv");
        assert!(samples.contains("\n0.75,") && samples.lines().count() == 6, "{samples}");
    }
    fs::write(dir.join("ln.toml"), text.replace("RECORD", "'a.x'")).unwrap();
    good(&dir, "run ln.toml --force --quiet");
}

/// A reset onto the surface from where the unit goes on into it, as in the starter without any
/// restitution.
#[test]
fn a_unit_that_falls_through_is_an_error() {
    let dir = folder("through");
    good(&dir, "new ball --quiet");
    good(&dir, "run ball.toml --quiet --out bounces");
    refused(
        &dir,
        "run ball.toml --quiet --set restitution=0",
        3,
        "(the unit falls through); give the event",
    );
    // Also where another event comes before any step ends.
    for method in ["closed", "taylor", "rk45", "qss3", "rodas"] {
        let text = format!(
            "stop = 5\n[unit.u]\nkind = 'equations'\nmethod = '{method}'\n\
             states = {{ x = 1, v = 0 }}\nderivatives = {{ x = 'v', v = '-9.81' }}\n\
             [[unit.u.event]]\nname = 'bounce'\nwhen = 'x <= 0'\nreset = {{ v = '-0.3*v' }}\n\
             [[unit.u.event]]\nname = 'deep'\nwhen = 'x <= -1'"
        );
        fs::write(dir.join("deep.toml"), text).unwrap();
        refused(&dir, "run deep.toml --quiet --force --out deep", 3, "`bounce` came ever faster");
        assert!(!read(&dir, "deep/events.csv").contains("deep"), "{method}");
    }
    // Two events that turn the motion in turns, ever faster: only one of them has the last word.
    let tanks = "derivatives = { x = 'if q < 1.5 then 0.1 else -1.1', y = 'if q < 1.5 then -1.1 else 0.1' }\n\
                 [[unit.u.event]]\nname = 'b'\nwhen = 'y <= 0.5'\nreset = { q = 2 }\n\
                 [[unit.u.event]]\nname = 'a'\nwhen = 'x <= 0.5'\nreset = { q = 1 }\n";
    let wedge = "derivatives = { x = 'if q < 1.5 then 1 else -1', y = '-0.5' }\n\
                 [[unit.u.event]]\nname = 'up'\nwhen = 'x >= y'\nreset = { q = 2 }\n\
                 [[unit.u.event]]\nname = 'down'\nwhen = 'x <= -y'\nreset = { q = 1 }\n";
    let text = |method: &str, [x, y]: [f64; 2], rest: &str| {
        format!(
            "stop = 9\n[unit.u]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ x = {x}, y = {y} }}\n\
             discrete = {{ q = 1 }}\n{rest}"
        )
    };
    for method in ["closed", "taylor", "rk45", "qss2", "rodas", "auto"] {
        let starts = [[1.37, 1.0], [1.1, 1.3], [0.9, 0.77]].map(|start| (start, tanks));
        for (start, rest) in starts.into_iter().chain([([0.0, 0.5], wedge), ([0.1, 0.7], wedge)]) {
            fs::write(dir.join("two.toml"), text(method, start, rest)).unwrap();
            let output = superdense(&dir, "run two.toml --quiet --force --out two");
            let said = String::from_utf8_lossy(&output.stderr);
            let zeno =
                said.contains("came ever faster") || said.contains("more than 10000 micro-steps");
            assert!(output.status.code() == Some(3) && zeno, "{method} {start:?}: {said}");
        }
    }
    // Another event puts an end to the row, and the ball lies on its surface.
    let ball = "stop = 60\nresolution = 'ms'\n[unit.b]\nkind = 'equations'\nstates = { x = 1, v = 0 }\ndiscrete = { on = 0 }\n\
                derivatives = { x = 'if on > 0.5 then 0 else v', v = 'if on > 0.5 then 0 else -9.81' }\n\
                [[unit.b.event]]\nname = 'bounce'\nwhen = 'x <= 0'\nreset = { v = '-0.8*v' }\n\
                [[unit.b.event]]\nname = 'settle'\nwhen = 'x <= 0 and abs(v) < 0.02'\nreset = { v = 0, on = 1 }\n";
    fs::write(dir.join("settles.toml"), ball).unwrap();
    good(&dir, "run settles.toml --quiet");
    let event = |when: &str, reset: &str| {
        format!(
            "stop = 3\n[unit.u]\nkind = 'equations'\nstates = {{ x = 0 }}\n\
             discrete = {{ n = 0 }}\nderivatives = {{ x = '1' }}\n\
             [[unit.u.event]]\nwhen = '{when}'\nreset = {{ {reset} }}\n"
        )
    };
    // A motion on a surface that the reset does not touch goes on. So does one that the reset does
    // not change, and one that leaves the surface to the other side.
    for (when, reset) in
        [("x >= 1", "n = 'n + 1'"), ("x >= 1", "x = 'x'"), ("x >= 1 or x <= -1", "x = '-x'")]
    {
        fs::write(dir.join("goes_on.toml"), event(when, reset)).unwrap();
        good(&dir, "run goes_on.toml --quiet --force");
    }
}

/// A condition that is no number from the start on ends the run under every method.
#[test]
fn conditions_are_defined_at_the_start() {
    let dir = folder("undefined-start");
    for when in
        ["sqrt(x - 1) > 0.5", "(x-1)^0.5 > 0.5", "asin(x+1.5) > 0", "x > 3 or sqrt(x-1) > 0.5"]
    {
        for method in ["rk45", "rodas", "taylor", "closed"] {
            let text = format!(
                "stop = 3\n[unit.u]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ x = 0 }}\n\
                 derivatives = {{ x = '1' }}\n[[unit.u.event]]\nwhen = '{when}'\n"
            );
            fs::write(dir.join("nan.toml"), text).unwrap();
            refused(&dir, "run nan.toml --quiet --force", 3, "is not finite");
        }
    }
}

/// A condition may be undefined behind an event, as long as the event comes before.
#[test]
fn conditions_need_not_be_defined_behind_their_events() {
    let dir = folder("undefined");
    for method in ["rk45", "rk23", "rodas", "taylor"] {
        let text = format!(
            "stop = 3\n[unit.u]\nkind = 'equations'\nmethod = '{method}'\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '-1' }}\n[[unit.u.event]]\nwhen = 'sqrt(x - 0.5) <= 0.1'\n\
             reset = {{ x = '1' }}\n"
        );
        fs::write(dir.join("root.toml"), text).unwrap();
        good(&dir, "run root.toml --quiet --force");
        assert_eq!(read(&dir, "out/root/events.csv").lines().count(), 7, "{method}");
    }
}

/// An event that carries no number has no value for what it does.
#[test]
fn values_of_events_are_numbers() {
    let dir = folder("values");
    let text = |value: &str, reset: &str| {
        format!(
            "stop = 3\nconnections = ['c.y -> u.e']\n[unit.c]\nkind = 'clock'\nperiod = '1 s'\n\
             value = '{value}'\n[unit.u]\nkind = 'equations'\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '1' }}\nevent_inputs = ['e']\n[[unit.u.on]]\ninput = 'e'\n\
             reset = {{ x = '{reset}' }}\n"
        )
    };
    fs::write(dir.join("text.toml"), text("abc", "value")).unwrap();
    refused(&dir, "run text.toml --quiet", 3, "which is no number");
    fs::write(dir.join("unread.toml"), text("abc", "0")).unwrap();
    good(&dir, "run unread.toml --quiet");
}

#[test]
fn options_that_do_nothing_are_refused() {
    let dir = mixed("nothing");
    refused(&dir, "run mixed.toml --workers 2", 2, "--executor");
    refused(&dir, "run mixed.toml --verify --ties 3", 2, "--ties");
}

/// With `--json` there is one object, whatever is wrong.
#[test]
fn usage_errors_are_objects_too() {
    let dir = mixed("usage");
    for line in [
        "run mixed.toml --json --fly",
        "--json fly",
        "run --json",
        "run mixed.toml --seed -1 --json",
        "run mixed.toml --executor none --json",
        "--json",
    ] {
        let output = superdense(&dir, line);
        let told = json(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!((&told["status"], &told["exit_code"]), (&Json::from("error"), &Json::from(2)));
        let why = told["error"].as_str().unwrap();
        assert!(!why.is_empty() && !why.starts_with("error"), "{line}: {why}");
        assert!(output.stderr.is_empty(), "{line}");
    }
    for line in ["--help", "run --help", "--version", "--json --help"] {
        assert!(!good(&dir, line).is_empty());
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::{fs::OpenOptions, process::Stdio};

    /// Output that cannot be printed is an error; a pipe that is closed is none.
    #[test]
    fn a_full_device_is_an_error() {
        let dir = mixed("full");
        for line in [
            "list",
            "list --json",
            "schema",
            "check mixed.toml",
            "run mixed.toml --until 1 --force",
            "run mixed.toml --until 1 --force --json",
            "--help",
            "--version",
        ] {
            let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = command(&dir, line).stdout(full).stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{line}: {said}");
            let why = ["standard output", "make room"].iter().all(|part| said.contains(part));
            assert!(why, "{line}: {said}");
            let (read, write) = std::io::pipe().unwrap();
            drop(read);
            let output = command(&dir, line).stdout(write).stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.status.success(), said.as_str()), (true, ""), "{line}");
        }
    }

    /// Limits of the shell end the program in order, not by a signal.
    #[test]
    fn limits_are_errors() {
        let dir = mixed("limits");
        let limited = |limit: &str, line: &str| {
            let program = env!("CARGO_BIN_EXE_superdense");
            let script = format!("ulimit {limit}; exec {program} {line}");
            let output =
                Command::new("sh").current_dir(&dir).args(["-c", &script]).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        for (limit, code, says) in [
            ("-f 8", Some(3), "ulimit -f"),
            ("-s 64", Some(0), ""),
            ("-s 128", Some(0), ""),
            ("-n 6", Some(2), "ulimit -n"),
        ] {
            let (found, said) = limited(limit, "run mixed.toml --quiet --until 2 --force");
            assert_eq!(found, code, "{limit}: {said}");
            assert!(said.contains(says), "{limit}: {said}");
        }
        let deep = format!("stop = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
        fs::write(dir.join("deep.toml"), deep).unwrap();
        assert_eq!(limited("-s 64", "check deep.toml").0, Some(2));
        let formula = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
        let text = format!("stop = 1\n[unit.a]\nkind = 'constant'\nvalue = '{formula}'\n");
        fs::write(dir.join("formula.toml"), text).unwrap();
        assert_eq!(limited("-s 64", "check formula.toml").0, Some(2));
    }

    /// A limit on the size of files stands in for a full disk.
    #[test]
    fn nothing_half_written_stays() {
        let dir = folder("limit");
        let limited = |line: &str| {
            let program = env!("CARGO_BIN_EXE_superdense");
            let script = format!("trap '' XFSZ; ulimit -f 0; exec {program} {line}");
            Command::new("sh").current_dir(&dir).args(["-c", &script]).output().unwrap()
        };
        let output = limited("new mine");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("mine.toml") && said.contains("make room"), "{said}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "nothing stays");
        fs::write(dir.join("mine.toml"), "stop = 1").unwrap();
        assert!(!limited("new mine --force").status.success());
        assert_eq!(read(&dir, "mine.toml"), "stop = 1");
    }
}

/// Errors of the operating system say what to do.
#[test]
fn errors_of_the_system_have_remedies() {
    let dir = mixed("system");
    fs::write(dir.join("file"), "").unwrap();
    fs::create_dir(dir.join("folder.dot")).unwrap();
    for (line, says) in [
        ("check mixed.toml --graph --dot nowhere/x.dot", "make the folder"),
        ("check mixed.toml --graph --dot file/x.dot", "is a file"),
        ("check mixed.toml --graph --dot folder.dot", "this is a folder"),
        ("run mixed.toml --out file/x", "is a file"),
        ("new file/x", "is a file"),
        ("plot nowhere", "correct the path"),
        ("run folder.dot", "this is a folder"),
    ] {
        refused(&dir, line, 2, says);
    }
}

/// Modes that lead to each other at one instant: the message names their events, and each of its remedies works.
#[test]
fn loops_of_events_have_remedies() {
    let dir = folder("loop");
    let text = "stop = 5\n[unit.tank]\nkind = 'equations'\nstates = { x = 0 }\noutputs = { x = 'x' }\n\
        initial = 'fill'\n[unit.tank.mode.fill]\nderivatives = { x = '1' }\n\
        [[unit.tank.mode.fill.event]]\nname = 'full'\nwhen = 'x >= 1'\nto = 'drain'\n\
        [unit.tank.mode.drain]\nderivatives = { x = '-1' }\n\
        [[unit.tank.mode.drain.event]]\nname = 'empty'\nwhen = 'x <= 2'\nto = 'fill'\n";
    fs::write(dir.join("loop.toml"), text).unwrap();
    refused(
        &dir,
        "run loop.toml",
        3,
        "`tank.empty`, `tank.full` follow on each other without time",
    );
    for (from, to) in [("x <= 2", "x <= 0.5"), ("x >= 1'", "x >= 1'\nreset = { x = 2.5 }")] {
        fs::write(dir.join("mended.toml"), text.replace(from, to)).unwrap();
        good(&dir, "run mended.toml --force");
    }
}

/// Notes of units stand before the error that ends the run: they may tell the cause.
#[test]
fn notes_come_with_the_error() {
    let dir = folder("notes-error");
    let text = "stop = 5\nconnections = ['s.y -> m.u']\n[unit.s]\nkind = 'schedule'\ntimes = [1, 1]\n\
                [unit.m]\nkind = 'automaton'\nstates = ['a', 'b']\ninputs = ['u']\n\
                transitions = [{ from = 'a', on = 'u', to = 'b' }, { from = 'b', on = 'u', to = 'a' }]\n\
                [unit.q]\nkind = 'equations'\nstates = { x = 1 }\nderivatives = { x = 'x^2' }\noutputs = { x = 'x' }\n";
    fs::write(dir.join("a.toml"), text).unwrap();
    let output = refused(&dir, "run a.toml --out out", 3, "note: m at 1 s: several events");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.find("note: m at 1 s") < told.find("error: q at"), "{told}");
}
