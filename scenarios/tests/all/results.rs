//! `[result]`: numbers against closed forms, and equal bytes whoever runs the model.
use crate::plan_with;
use superdense::run::{
    executor::{Executor, Method},
    memory::{self, Finished, Keep},
    pulse::Pulse,
};

const BALL: &str = r#"
stop = "5 s"
[unit.ball]
kind = "equations"
states = { x = 10.0, v = 0 }
derivatives = { x = "v", v = "-9.81" }
outputs = { height = "x", speed = "v" }
[[unit.ball.event]]
name = "bounce"
when = "x <= 0 and v < 0"
reset = { v = "-0.9*v" }
"#;

pub(crate) fn run(text: &str, sets: &[(&str, &str)]) -> Finished {
    let plan = plan_with(text, sets).unwrap_or_else(|d| panic!("{d}"));
    let done = memory::run(plan, Keep::default(), Executor::default(), &Pulse::default());
    done.expect("no failure").expect("nobody interrupts it")
}

pub(crate) fn value(done: &Finished, name: &str) -> Option<f64> {
    let line = done.summary.results.iter().find(|line| line.name == name);
    line.unwrap_or_else(|| panic!("no result {name}")).outcome.value()
}

fn close(done: &Finished, name: &str, wanted: f64, error: f64) {
    let found = value(done, name).unwrap_or_else(|| panic!("{name} is absent"));
    assert!((found - wanted).abs() <= error, "{name}: {found}, not {wanted}");
}

/// Lengths of packets and times of rooms and jobs may be quantities.
#[test]
fn quantities_of_kinds_convert() {
    let done = run(
        r#"
        stop = "1 s"
        connections = ["a.out -> l.in", "l.out -> k.in", "b.out -> m.in", "m.out -> n.in"]
        parameters = { size = "1500 B" }
        [unit]
        a = { kind = "packet-source", pattern = "periodic", period = "0.1 s", bytes = "size", header = "0.5 kB" }
        b = { kind = "packet-source", pattern = "periodic", period = "0.1 s", bytes = 2000 }
        l = { kind = "link", rate = "1 Mb/s" }
        m = { kind = "link", rate = "1 Mb/s" }
        k = { kind = "packet-sink" }
        n = { kind = "packet-sink" }
        room = { kind = "thermostat-load", ambient = "32 degC", low = "292.9 K", high = 20.25 }
        jobs = { kind = "arrivals", distribution = "constant", mean = "50 ms" }
        more = { kind = "arrivals", distribution = "constant", rate = "1200 1/min" }
        [result]
        delay = "final(k.delay)"
        plain = "final(n.delay)"
        room = "initial(room.theta)"
        jobs = "final(jobs.count)"
        more = "final(more.count)"
        "#,
        &[],
    );
    close(&done, "delay", 0.016, 1e-9);
    close(&done, "plain", 0.016, 1e-9);
    close(&done, "room", 20.0, 0.26);
    close(&done, "jobs", 20.0, 0.0);
    close(&done, "more", 20.0, 0.0);
}

/// Signals of a unit with jumps: all numbers follow from parabolas.
#[test]
fn a_bouncing_ball() {
    let text = format!(
        "{BALL}[result]
        top = {{ value = \"max(ball.height)\", over = [\"2 s\", \"stop\"], unit = \"m\" }}
        top_at = {{ value = \"time_of_max(ball.height)\", over = [\"2 s\", \"stop\"] }}
        mean = \"mean(ball.height)\"
        square = \"rms(ball.speed)\"
        bounces = \"count(event('ball', 'bounce'))\"
        last = \"last(event('*ball'[0], 'b*'))\"
        gap = \"mean(interval(event('ball', 'b*')))\"
        above = \"duration(ball.height > 5)\"
        ups = \"count(ball.height > 5)\"
        down = \"first(not ball.height > 5)\"
        fast = \"max(abs(ball.speed))\"
        lost = \"e0 - energy\"
        energy = \"final(9.81*ball.height + ball.speed^2/2)\"
        e0 = \"initial(9.81*ball.height + ball.speed^2/2)\"
        at3 = \"at(ball.height, '3 s')\"
        high = \"first(ball.height > 50)\"
        moment = \"integral(time*ball.height)\"
        half = \"percentile(ball.height, 50)\"
        "
    );
    let text = text.replace("'*ball'[0]", "'ball'");
    let done = run(&text, &[]);
    let g = 9.81_f64;
    let t1 = (20.0 / g).sqrt();
    let v1 = 0.9 * g * t1;
    let t2 = t1 + 2.0 * v1 / g;
    let v2 = 0.9 * v1;
    // Events are at the first tick behind, which the parabolas of the test do not know.
    close(&done, "top", 8.1, 1e-7);
    close(&done, "top_at", t1 + v1 / g, 1e-8);
    close(&done, "bounces", 2.0, 0.0);
    close(&done, "last", t2, 1.1e-9);
    close(&done, "gap", t2 - t1, 1.1e-9);
    let rest = 5.0 - t2;
    let area =
        10.0 * t1 - g * t1.powi(3) / 6.0 + v1.powi(3) / (1.5 * g * g) + v2 * rest.powi(2) / 2.0
            - g * rest.powi(3) / 6.0;
    close(&done, "mean", area / 5.0, 1e-7);
    let squares = (g * t1).powi(3) / (3.0 * g)
        + 2.0 * v1.powi(3) / (3.0 * g)
        + (v2.powi(3) - (v2 - g * rest).powi(3)) / (3.0 * g);
    close(&done, "square", (squares / 5.0).sqrt(), 1e-7);
    let over = |v: f64| 2.0 * (v * v - 10.0 * g).sqrt() / g;
    let third = (v2 - (v2 * v2 - 10.0 * g).sqrt()) / g;
    close(&done, "above", (10.0 / g).sqrt() + over(v1) + (5.0 - t2 - third), 1e-7);
    close(&done, "ups", 3.0, 0.0);
    close(&done, "down", (10.0 / g).sqrt(), 1e-9);
    close(&done, "fast", g * t1, 1e-7);
    close(&done, "e0", 98.1, 1e-12);
    close(&done, "energy", v2 * v2 / 2.0, 1e-6);
    close(&done, "lost", 98.1 - v2 * v2 / 2.0, 1e-6);
    let e = 3.0 - t1;
    close(&done, "at3", v1 * e - g * e * e / 2.0, 1e-7);
    assert_eq!(value(&done, "high"), None);
    let (median, below) = (value(&done, "half").expect("a number"), 2.5);
    let shares =
        run(&format!("{BALL}[result]\nshare = \"duration(ball.height <= {median})\"\n"), &[]);
    close(&shares, "share", below, 1e-9);
}

/// Discrete signals are constants between messages; what never was sent is absent.
#[test]
fn a_queue() {
    let text = r#"
        stop = "10 s"
        connections = ["source.out -> server.in", "server.out -> sink.in"]
        [unit.source]
        kind = "arrivals"
        distribution = "constant"
        mean = 2
        [unit.server]
        kind = "server"
        distribution = "constant"
        mean = 1.5
        [unit.sink]
        kind = "sink"
        [result]
        busy = "mean(server.length)"
        longest = "max(server.length)"
        served = "count(server.out)"
        gap = "max(interval(server.out))"
        rate = "rate(source.out)"
    "#;
    let done = run(text, &[]);
    close(&done, "longest", 1.0, 0.0);
    close(&done, "gap", 2.0, 0.0);
    let served = value(&done, "served").expect("a count");
    let busy = value(&done, "busy").expect("a mean");
    assert!((busy - served * 0.15).abs() <= 0.1, "{busy} {served}");
}

/// Statistics of queues, links and loads are followed by results as by a receiver that is wired to them.
#[test]
fn outputs_without_receivers() {
    const UNITS: &str = r#"
        stop = "40 s"
        seed = 7
        [unit.source]
        kind = "packet-source"
        rate = 40
        bytes = 250
        [unit.line]
        kind = "link"
        rate = "100 kb/s"
        [unit.rough]
        kind = "link"
        rate = "100 kb/s"
        loss = 0.05
        outages = [["3 s", "3.5 s"]]
        [unit.taken]
        kind = "packet-sink"
        [unit.flood]
        kind = "flood"
        rate = "20 kb/s"
        during = [["1 s", "8 s"]]
        [unit.node]
        kind = "queue-node"
        arrivals = 0.8
        service = 1.0
        exit = 1.0
        [unit.jobs]
        kind = "sink"
        [unit.back]
        kind = "queue-node"
        arrivals = 0.1
        service = 5.0
        exit = 1.0
        [unit.room]
        kind = "thermostat-load"
        count = 20
        index = "i"
        [unit.total]
        kind = "load-total"
    "#;
    const WIRES: [&str; 8] = [
        "source.out -> line.in",
        "line.out -> rough.in",
        "rough.out -> taken.in",
        "node.exit -> jobs.in",
        "back.exit -> node.in",
        "node.out1 -> back.in",
        "room[*].change -> total.change",
        "flood.out -> taken.in",
    ];
    const READ: [&str; 17] = [
        "source.count",
        "line.present",
        "line.utilisation",
        "rough.present",
        "rough.loss",
        "taken.count",
        "taken.delay",
        "taken.high",
        "taken.loss",
        "flood.count",
        "node.length",
        "jobs.count",
        "room[3].theta",
        "room[7].theta",
        "total.power",
        "total.on",
        "total.switches",
    ];
    let results: String = (0..READ.len())
        .map(|k| {
            let x = READ[k];
            format!("m{k} = \"mean({x})\"\nx{k} = \"max({x})\"\na{k} = \"at({x}, '4 s')\"\n")
        })
        .collect();
    let with = |wires: &[String]| {
        let wires: Vec<String> = wires.iter().map(|w| format!("{w:?}")).collect();
        run(&format!("connections = [{}]\n{UNITS}\n[result]\n{results}", wires.join(", ")), &[])
    };
    let mut wires: Vec<String> = WIRES.map(str::to_owned).to_vec();
    let alone = with(&wires);
    wires.extend((0..READ.len()).map(|k| format!("{} -> meter[{k}].u", READ[k])));
    let units =
        format!("{UNITS}\n[unit.meter]\nkind = \"gain\"\ngain = 1\ncount = {}\n", READ.len());
    let wires: Vec<String> = wires.iter().map(|w| format!("{w:?}")).collect();
    let text = format!("connections = [{}]\n{units}\n[result]\n{results}", wires.join(", "));
    let heard = run(&text, &[]);
    for (line, other) in alone.summary.results.iter().zip(&heard.summary.results) {
        assert_eq!(line.outcome, other.outcome, "{} of {READ:?}", line.name);
    }
    let present = value(&alone, "m1").expect("a mean");
    assert!(present > 0.5, "{present}");
}

/// On a threshold, and by rounding beyond it, is not across; what happens at the last instant counts.
#[test]
fn thresholds_and_last_instants() {
    for method in ["rk45", "rk23", "rodas", "taylor", "auto", "qss2", "qss3", "liqss2", "rk4"] {
        let step = if method == "rk4" { "step = 0.01" } else { "" };
        let text = format!(
            r#"
            stop = "3 s"
            [unit.e]
            kind = "equations"
            method = "{method}"
            {step}
            states = {{ x = 0, v = 1, w = 0, p = 1, q = 0.1 }}
            derivatives = {{ x = "v", v = "-x", w = "1 - 0.1*w", p = "-p", q = "0.3" }}
            discrete = {{ n = 0 }}
            outputs = {{ x = "x", w = "w", p = "p", q = "q", s = "sin(3*t)", top = "sin(2*pi*t)", n = "n" }}
            [[unit.e.event]]
            name = "again"
            at = "2 s"
            reset = {{ w = 0, p = 1, q = 0.1 }}
            [[unit.e.event]]
            name = "tick"
            every = "1 s"
            from = "1 s"
            reset = {{ n = "n + 1" }}
            [result]
            x = "first(e.x < 0)"
            w = "count(e.w < 0)"
            p = "count(e.p > 1)"
            q = "count(e.q < 0.1)"
            s = "first(e.s < 0)"
            top = "count(e.top > 1)"
            most = "max(e.n)"
            three = "first(e.n >= 3)"
            threes = "count(e.n >= 3)"
            until2 = {{ value = "final(e.n)", over = ["0 s", "2 s"] }}
            most2 = {{ value = "max(e.n)", over = ["0 s", "2 s"] }}
            one2 = {{ value = "count(e.n >= 2)", over = ["0 s", "2 s"] }}
            "#
        );
        let done = run(&text, &[]);
        assert_eq!(value(&done, "x"), None, "{method}");
        for (name, wanted) in [
            ("w", 0.0),
            ("p", 0.0),
            ("q", 0.0),
            ("top", 0.0),
            ("most", 3.0),
            ("three", 3.0),
            ("threes", 1.0),
            ("until2", 2.0),
            ("most2", 2.0),
            ("one2", 1.0),
        ] {
            assert_eq!(value(&done, name), Some(wanted), "{method} {name}");
        }
        close(&done, "s", std::f64::consts::PI / 3.0, 1e-8);
    }
}

/// Members of an array as one number at each instant.
#[test]
fn many_units() {
    let text = r#"
        stop = "4 s"
        [unit.tank]
        kind = "equations"
        count = 3
        states = { x = "i" }
        derivatives = { x = "1 - i" }
        outputs = { x = "x" }
        [result]
        sum = "max(sum(tank[*].x))"
        spread = "integral(max(tank[*].x) - min(tank[*].x))"
        meeting = "time_of_min(max(tank[*].x) - min(tank[*].x))"
        first = "first(count(tank[*].x) < 3)"
    "#;
    let done = run(text, &[]);
    // 0 + t, 1, 2 - t: their sum is 3; they meet at 1 s, and the spread is 2 |1 - t|.
    close(&done, "sum", 3.0, 1e-12);
    close(&done, "spread", 1.0 + 9.0, 1e-9);
    close(&done, "meeting", 1.0, 2e-9);
}

/// Nobody's way of running changes a bit.
#[test]
fn equal_under_all_executors() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("library/grid/s1c.toml");
    let all = |method, workers| {
        let sets = [("duration".to_owned(), "'12 s'".to_owned())];
        let plan = superdense::load(&file, &sets, &superdense::Overrides::default())
            .unwrap_or_else(|d| panic!("{d}"));
        let executor = Executor { method, workers };
        let done = memory::run(plan, Keep::default(), executor, &Pulse::default());
        let done = done.expect("no failure").expect("nobody interrupts it");
        serde_json::to_string(&done.summary).expect("plain data")
    };
    let wanted = all(Method::Sequential, None);
    assert!(wanted.contains("\"nadir\":59.4607"), "{wanted}");
    for (method, workers) in
        [(Method::TimeWarp, 2), (Method::Conservative, 2), (Method::TimeWarp, 3)]
    {
        assert_eq!(all(method, Some(workers)), wanted, "{method:?}");
    }
}

/// A value that is no number is told, and no result comes of it.
#[test]
fn what_is_not_finite() {
    let done = run(&format!("{BALL}[result]\nroot = \"mean(sqrt(ball.height - 20))\"\n"), &[]);
    assert_eq!(value(&done, "root"), None);
    assert!(done.summary.notes.iter().any(|n| n.contains("`root`")), "{:?}", done.summary.notes);
}

/// Outputs that hand on whatever they are told carry numbers as long as these are some.
#[test]
fn values_of_events_of_any_type() {
    let text = r#"
stop = "10 s"
connections = ["s.y -> m.u1", "c.y -> m.u2", "s.y -> d.u", "s.y -> r.in"]
[unit.s]
kind = "schedule"
times = [1, 2, 3.5, 7, 10]
values = [4, 2, 8, 6, 1]
[unit.c]
kind = "clock"
period = "4 s"
[unit.m]
kind = "merge"
[unit.d]
kind = "delay"
delay = "0.5 s"
[unit.r]
kind = "router"
mode = "turn"
[unit.a]
kind = "automaton"
states = ["s"]
outputs = ["n"]
variables = { k = 0 }
transitions = [{ from = "s", to = "s", after = "1 s", set = { k = "k+1" }, send = { n = "k+1" } }]
[result]
merged = "sum(m.y)"
delayed = "sum(d.y)"
turn = "sum(r.out1)"
most = "max(a.n)"
times = "count(m.y)"
"#;
    let done = run(text, &[]);
    close(&done, "merged", 21.0, 0.0);
    close(&done, "delayed", 20.0, 0.0);
    close(&done, "turn", 13.0, 0.0);
    close(&done, "most", 10.0, 0.0);
    close(&done, "times", 8.0, 0.0);
    let of_merged = "result `merged` leaves out 3 of 8 events, which carry no number";
    let about: Vec<_> = done.summary.notes.iter().filter(|n| n.contains("leaves out")).collect();
    assert_eq!(about, [of_merged]);
}

/// A tank runs empty at 2 s, where an event looks. The square root has no derivative there.
#[test]
fn a_tank_runs_empty_under_every_method() {
    let quanta = "dq_rel = 1e-6\ndq_min = 1e-8";
    let quantised = ["qss1", "qss2", "qss3", "liqss2", "mliqss2"].map(|m| (m, quanta));
    let adaptive = ["rk45", "rk23", "taylor", "rodas", "auto"].map(|m| (m, "tolerance = 1e-9"));
    let fixed = ["rk4", "euler"].map(|m| (m, "step = 0.001"));
    for (method, own) in quantised.into_iter().chain(adaptive).chain(fixed) {
        let text = format!(
            "stop = '3 s'\nresolution = 'us'\nsample = '0.1 s'\nrecord = ['tank.level']\n\
             [unit.tank]\nkind = 'equations'\nstates = {{ x = 17 }}\n\
             derivatives = {{ x = '-sqrt(max(x - 16, 0))' }}\noutputs = {{ level = 'x - 16' }}\n\
             method = '{method}'\n{own}\n\
             [[unit.tank.event]]\nname = 'look'\nat = ['3/2 s', '2 s']\n\
             [result]\nlast = 'final(tank.level)'\nhalf = \"at(tank.level, '1 s')\"\n"
        );
        let done = run(&text, &[]);
        close(&done, "last", 0.0, 1e-3);
        close(&done, "half", 0.25, 1e-3);
    }
}

/// Work that is done at 1.2 s to the tick stands at zero from there on, wherever rounding has left it.
#[test]
fn what_stops_on_its_threshold_is_there() {
    for method in ["rk45", "rk23", "taylor", "rodas", "qss2", "qss3", "liqss2", "closed", "auto"] {
        for work in ["0.18", "0.36", "0.45", "1.44", "2.07", "2.52"] {
            let text = format!(
                "stop = '20 s'\nsample = 'none'\n[unit.m]\nkind = 'equations'\nmethod = '{method}'\n\
                 states = {{ w = {work}, y = 1 }}\nderivatives = {{ w = 'if w > 0 then -0.9 else 0', y = '-y' }}\n\
                 outputs = {{ w = 'w', y = 'y' }}\n\
                 [result]\nbusy = 'duration(m.w > 0)'\nidle = 'duration(m.w <= 0)'\nat = 'first(m.w <= 0)'\n\
                 late = {{ value = 'duration(m.w <= 0)', over = ['10 s', 'stop'] }}\n"
            );
            let done = run(&text, &[]);
            let exact = work.parse::<f64>().unwrap() / 0.9;
            for (name, wanted) in
                [("busy", exact), ("idle", 20.0 - exact), ("at", exact), ("late", 10.0)]
            {
                let found = value(&done, name).unwrap_or(f64::NAN);
                assert!(
                    (found - wanted).abs() < 2e-3,
                    "{method}, {work}: {name} is {found}, not {wanted}"
                );
            }
        }
    }
}

/// Instants of windows and of `at` are formulas, in which `stop` is the end.
#[test]
fn instants_know_the_end() {
    let text = "stop = '9 s'\nsample = 'none'\n[parameters]\nlate = 2\n[unit.p]\nkind = 'equations'\nstates = { x = 1 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n[result]\nthird = \"at(p.x, 'stop/3')\"\n\
                end = \"at(p.x, 'stop')\"\nmost = { value = 'max(p.x)', over = [1, 'stop - late'] }\n\
                mean = { value = 'mean(p.x)', over = ['stop - 4', 'stop'] }\n";
    let done = run(text, &[]);
    for (name, wanted) in [("third", 4.0), ("end", 10.0), ("most", 8.0), ("mean", 8.0)] {
        close(&done, name, wanted, 1e-9);
    }
    assert!(plan_with(text, &[("late", "9")]).is_err());
}

/// Squares beyond all numbers are not zero.
#[test]
fn squares_that_overflow_are_told() {
    let text = "stop = '60 s'\nsample = 'none'\n[unit.p]\nkind = 'equations'\nstates = { x = 1 }\n\
                derivatives = { x = '6.2*x' }\noutputs = { x = 'x' }\n\
                [result]\nrms = 'rms(p.x)'\nstd = 'std(p.x)'\nmean = 'mean(p.x)'\n";
    let done = run(text, &[]);
    assert_eq!([value(&done, "rms"), value(&done, "std")], [None, None]);
    assert!(value(&done, "mean").is_some_and(|x| x > 1e150));
    assert!(done.summary.notes.iter().any(|note| note.contains("`rms` is no number")));
}

/// Ports with several indices in connections, `record` and results; and elements of matrices.
#[test]
fn ports_of_two_dimensions_have_names() {
    let text = "stop = 1\nrecord = ['p.T[*][1]', 'p.T[1..3][2]']\nconnections = ['p.T[2][1] -> g.u']\n\
                [parameters]\nM = [[1, 2], [3, 4]]\n[unit.p]\nkind = 'equations'\n\
                states = { 'T[i in 1..=2][j in 1..=2]' = '10*i + j' }\nderivatives = { 'T[i][j]' = '1' }\n\
                outputs = { 'T[i in 1..=2][j in 1..=2]' = 'T[i][j]' }\n[unit.g]\nkind = 'gain'\ngain = 'M[1][0]'\n\
                [result]\ng = 'M[1][0]*final(g.y)'\none = 'final(p.T[1][2])'\nall = 'final(sum(p.T[*][*]))'\n\
                row = 'final(sum(p.T[2][*]))'\n";
    let done = run(text, &[]);
    for (name, wanted) in [("g", 198.0), ("one", 13.0), ("all", 70.0), ("row", 45.0)] {
        close(&done, name, wanted, 1e-9);
    }
    let bad =
        |from: &str, to: &str| plan_with(&text.replace(from, to), &[]).err().map(|d| d.to_string());
    let told = bad("p.T[1..3][2]", "p.T[1..4][2]").expect("a mistake");
    assert!(told.contains("`p` has no output `T[...][...]`"), "{told}");
    assert!(bad("p.T[2][1] ->", "p.T[2][1 ->").is_some());
    // Elements can be set.
    close(&run(text, &[("M[1][0]", "5"), ("M[0][1]", "1")]), "g", 5.0 * 5.0 * 22.0, 1e-9);
    assert!(plan_with(text, &[("M[2][0]", "5")]).is_err());
    // `..=` includes its end, in indices and loops.
    let included =
        text.replace("p.T[1..3][2]", "p.T[1..=2][2]").replace("g.u']", "g.u for i in 0..=0']");
    close(&run(&included, &[]), "g", 198.0, 1e-9);
    assert!(bad("p.T[1..3][2]", "p.T[1..=3][2]").is_some());
}

/// The sum over an array without members is zero; what reads none of its outputs is a mistake, and moves no other result.
#[test]
fn arrays_without_members() {
    let text = "stop = 1\n[parameters]\nm = 0\n[unit.a]\nkind = 'constant'\nvalue = 5\n\
                [unit.b]\nkind = 'constant'\nvalue = 7\ncount = 'm'\n[result]\n\
                total = 'final(sum(b[*].y))'\nlevel = 'final(a.y)'\nnext = 'total + 1'\n";
    for (m, total) in [("0", 0.0), ("2", 14.0)] {
        let done = run(text, &[("m", m)]);
        for (name, wanted) in [("total", total), ("level", 5.0), ("next", total + 1.0)] {
            close(&done, name, wanted, 0.0);
        }
    }
    let mean = text.replace("sum(b", "mean(b");
    let told = plan_with(&mean, &[]).map(|_| ()).expect_err("a mistake").to_string();
    assert!(told.contains("result `total` reads an array of units that has no members"), "{told}");
}

/// A value that comes beyond its threshold by less than a tick stands on it: events turn it back there or stop it there.
#[test]
fn less_than_a_tick_beyond_is_on_the_threshold() {
    let tank = "stop = '2 h'\nsample = 'none'\n[unit.tank]\nkind = 'equations'\nMETHOD\nstates = { level = 0.5 }\n\
                discrete = { pump = 1 }\nderivatives = { level = 'if pump > 0 then 0.017 else -0.013*level' }\n\
                outputs = { level = 'level' }\n\
                [[unit.tank.event]]\nname = 'full'\nwhen = 'level >= 1'\nreset = { pump = '0' }\n\
                [[unit.tank.event]]\nname = 'low'\nwhen = 'level <= 0.3'\nreset = { pump = '1' }\n\
                [result]\nfull = \"count(event('tank', 'full'))\"\ncount = 'count(tank.level >= 1)'\n\
                low = \"count(event('tank', 'low'))\"\ncount_low = 'count(tank.level <= 0.3)'\n\
                first = 'first(tank.level >= 1)'\n";
    let slow = "stop = '2 h'\nsample = 'none'\n[unit.tank]\nkind = 'equations'\nMETHOD\nstates = { h = 1 }\n\
                derivatives = { h = 'if h > 0.21 then -0.0003 - 0.0002*h else 0' }\noutputs = { h = 'h' }\n\
                [result]\nwet = 'duration(tank.h > 0.21)'\ndry = 'duration(tank.h <= 0.21)'\n";
    let block = "stop = '3 s'\nsample = 'none'\n[unit.b]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\n\
                 states = { v = 'sqrt(2)' }\nderivatives = { v = '-sign(v)' }\noutputs = { v = 'v' }\n\
                 [result]\nback = 'count(b.v < 0)'\nrest = 'duration(b.v <= 0)'\nge = 'count(b.v >= 0)'\n";
    for method in ["rk45", "rk23", "taylor", "rodas", "closed", "auto"] {
        let of = |text: &str| run(&text.replace("METHOD", &format!("method = '{method}'")), &[]);
        let done = of(tank);
        for (counted, event) in [("count", "full"), ("count_low", "low")] {
            assert_eq!(value(&done, counted), value(&done, event), "{method}: {counted}");
        }
        close(&done, "first", 0.5 / 0.017, 2e-9);
        // ln((0.0003 + 0.0002) / (0.0003 + 0.0002*0.21)) / 0.0002
        let exact = (0.0005f64 / 0.000_342).ln() / 0.0002;
        let done = of(slow);
        close(&done, "wet", exact, 1e-3);
        close(&done, "dry", 7200.0 - exact, 1e-3);
        let done = of(block);
        close(&done, "back", 0.0, 0.0);
        close(&done, "ge", 1.0, 0.0);
        close(&done, "rest", 3.0 - 2f64.sqrt(), 1e-6);
    }
}

/// An adapter into an event input is known by its target, alone or with a source, and tells of jumps over its threshold
/// as of crossings.
#[test]
fn adapters_are_known_by_their_targets() {
    let text = "stop = '10 s'\nconnections = ['w.y -> c.u via detect(0.5, rising)']\n\
                [unit.w]\nkind = 'pulse'\nperiod = '2 s'\noffset = '1 s'\n[unit.c]\nkind = 'counter'\n\
                [result]\nheard = 'final(c.count)'\nall = \"count(event('c.u~detect', 'crossing'))\"\n\
                one = \"count(event('c.u~detect~w.y', 'crossing'))\"\n";
    let done = run(text, &[]);
    for name in ["heard", "all", "one"] {
        assert_eq!(value(&done, name), Some(5.0), "{name}");
    }
}
