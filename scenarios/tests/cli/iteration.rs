//! Couplings that repeat macro steps: corrections until receivers were told what sources did, and
//! steps that are refused for their error; on two linear masses (Gomes et al. 2017, section 4.2), with
//! the matrix exponential as reference.
use super::library::{Results, number};

/// exp(A t) x by its series.
pub(super) fn flow(a: &[Vec<f64>], x: &[f64], t: f64) -> Vec<f64> {
    let (mut sum, mut term, mut k) = (x.to_vec(), x.to_vec(), 0.0);
    while term.iter().any(|v| v.abs() > 1e-18) {
        k += 1.0;
        let dot = |r: &Vec<f64>| r.iter().zip(&term).map(|(a, b)| a * b).sum::<f64>();
        term = a.iter().map(|r| dot(r) * t / k).collect();
        sum.iter_mut().zip(&term).for_each(|(s, d)| *s += d);
    }
    sum
}

/// The whole in states x1 v1 x2 v2; every constant is 1 but the damper to the wall of mass 2, which
/// is not there.
fn whole() -> Vec<Vec<f64>> {
    [[0.0, 1.0, 0.0, 0.0], [-2.0, -2.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, -2.0, -1.0]]
        .map(|r| r.to_vec())
        .to_vec()
}

const START: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

fn run(options: &[&str], sets: &[&str]) -> Results {
    let mut all = options.to_vec();
    sets.iter().for_each(|set| all.extend(["--set", set]));
    Results::of("papers/004_two_masses.toml", &all)
}

/// Rows of x1 v1 x2 v2 at every `h`.
fn rows(h: f64, set: &str) -> Vec<Vec<f64>> {
    let results = run(&["--until", "2", "--sample", &h.to_string()], &[&format!("H={h}"), set]);
    let rows = results.rows("samples.csv");
    rows.iter().map(|r| r[1..].iter().map(|c| number(c)).collect()).collect()
}

/// The implicit coupling, calculated independently: each unit with constant or straight inputs as
/// one linear system, the values at the end of the step by many fixed-point iterations.
fn implicit(h: f64, order: usize, corrections: usize) -> Vec<Vec<f64>> {
    // States x v, inputs, slopes of inputs.
    let one = [
        vec![0.0, 1.0, 0.0, 0.0],
        vec![-1.0, -1.0, 1.0, 0.0],
        vec![0.0, 0.0, 0.0, 1.0],
        vec![0.0; 4],
    ];
    let two = [
        vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        vec![-2.0, -1.0, 1.0, 1.0, 0.0, 0.0],
        vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        vec![0.0; 6],
        vec![0.0; 6],
    ];
    // Signals: x1, v1, force; the last told values and those of the exchange before.
    let (mut z, mut y) = (START.to_vec(), [1.0, 0.0, -1.0]);
    let mut before: Option<[f64; 3]> = None;
    let mut all = vec![z.clone()];
    for _ in 0..(2.0 / h).round() as usize {
        let mut end = y;
        if let Some(before) = before.filter(|_| order == 1) {
            end = std::array::from_fn(|k| 2.0 * y[k] - before[k]);
        }
        let mut next = z.clone();
        for round in 0..=corrections {
            let told =
                |k: usize| if order == 0 { [end[k], 0.0] } else { [y[k], (end[k] - y[k]) / h] };
            let [x1, v1, f] = [0, 1, 2].map(told);
            let a = flow(&one, &[z[0], z[1], f[0], f[1]], h);
            let b = flow(&two, &[z[2], z[3], x1[0], v1[0], x1[1], v1[1]], h);
            next = vec![a[0], a[1], b[0], b[1]];
            if round < corrections {
                end = [a[0], a[1], b[0] - b[2] + b[1] - b[3]];
            } else {
                before = Some(y);
                y = [a[0], a[1], b[0] - b[2] + b[1] - b[3]];
            }
        }
        z = next;
        all.push(z.clone());
    }
    all
}

fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let off = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    a.iter().zip(b).map(off).fold(0.0, f64::max)
}

/// Converged, however it is solved: the implicit coupling. With a fixed number of corrections: so
/// many steps of the fixed point.
#[test]
fn corrections_lead_to_the_implicit_coupling() {
    for (order, iterate, corrections) in [
        (0, "tolerance=1e-12", 300),
        (1, "tolerance=1e-12", 300),
        (1, "tolerance=1e-12,relaxation=0.7,max=100", 300),
        (1, "tolerance=1e-12,method=\"newton\"", 300),
        (1, "tolerance=1e-12,method=\"broyden\"", 300),
        (0, "corrections=1", 1),
        (1, "corrections=2", 2),
    ] {
        let set = format!("coupling={{step=\"H\",extrapolation={order},iterate={{{iterate}}}}}");
        let off = distance(&rows(0.1, &set), &implicit(0.1, order, corrections));
        assert!(off < 1e-8, "order {order}, {iterate}: {off}");
    }
}

/// Order q of what is told gives order q + 1 of the whole, corrected or not.
#[test]
fn orders_are_kept() {
    let error = |h: f64, set: &str| {
        let rows = rows(h, set);
        let exact: Vec<Vec<f64>> =
            (0..rows.len()).map(|k| flow(&whole(), &START, h * k as f64)).collect();
        distance(&rows, &exact)
    };
    for (policy, order) in [
        ("extrapolation=0,iterate={}", 1.0),
        ("extrapolation=1,iterate={}", 2.0),
        ("extrapolation=2,iterate={}", 3.0),
        ("extrapolation=1,iterate={corrections=1}", 2.0),
        ("extrapolation=1,order=\"gauss-seidel\",iterate={method=\"newton\"}", 2.0),
    ] {
        let set = format!("coupling={{step=\"H\",{policy}}}");
        let (coarse, fine) = (error(0.05, &set), error(0.025, &set));
        let measured = (coarse / fine).log2();
        assert!((measured - order).abs() < 0.3, "{policy}: order {measured} ({coarse}, {fine})");
    }
}

/// Steps follow the error, and refused ones are repeated: the error goes with the tolerance, and
/// pessimistic correction keeps to it where the first step is far too long.
#[test]
fn steps_are_refused() {
    let measure = |policy: &str| {
        let set = format!(
            "coupling={{step=\"0.5s\",extrapolation=1,min_step=\"10us\",max_step=\"1s\",{policy}}}"
        );
        let results = run(&["--until", "2", "--sample", "0.01"], &[&set]);
        let rows = results.rows("samples.csv");
        let worst = rows.iter().map(|r| {
            let exact = flow(&whole(), &START, number(&r[0]));
            let off = exact.iter().zip(&r[1..]).map(|(e, y)| (e - number(y)).abs());
            off.fold(0.0, f64::max)
        });
        let summary = results.summary();
        let count = |name: &str| summary[name].as_u64().unwrap_or(0);
        (worst.fold(0.0, f64::max), count("macro_steps"), count("refused_macro_steps"))
    };
    for estimate in [
        "estimate=\"doubling\"",
        "estimate=\"embedded\"",
        "estimate=\"parallel-embedded\"",
        "estimate=\"parallel-embedded\",iterate={}",
        "estimate=\"milne\",iterate={}",
        "estimate=\"doubling\",iterate={}",
    ] {
        let mut before = (f64::INFINITY, 0);
        for tolerance in ["1e-3", "1e-5"] {
            let policy = format!("tolerance={tolerance},correction=\"pessimistic\",{estimate}");
            let (error, steps, refused) = measure(&policy);
            assert!(refused > 0, "{policy}: the first step is too long");
            assert!(error < 30.0 * number(tolerance), "{policy}: {error}");
            assert!(error < before.0 && steps > before.1, "{policy}: {error}, {steps} steps");
            before = (error, steps);
        }
        let optimistic = measure(&format!("tolerance=1e-5,{estimate}"));
        assert_eq!(optimistic.2, 0, "{estimate}");
        assert!(optimistic.0 > 3.0 * before.0, "{estimate}: {optimistic:?}, {before:?}");
    }
}

/// Two masses that swing fast against each other, and slow ones that hear a mean of them: only the fast
/// ones are repeated. The error is as under pessimistic correction, with three fifths of the messages.
#[test]
fn only_sensitive_units_are_repeated() {
    let unit = |name: &str, states: &str, inputs: &str, derivatives: &str, outputs: &str| {
        format!(
            "[unit.{name}]\nkind = 'equations'\nstates = {{ {states} }}\ninputs = {{ {inputs} }}\n\
             derivatives = {{ {derivatives} }}\noutputs = {{ {outputs} }}\n"
        )
    };
    let mut text = unit(
        "a",
        "x = 0.1, v = 0, m = 0.5",
        "y = -0.1, s0 = 1, s1 = 1, s2 = 1",
        "x = 'v', v = '200*(y - x) - x - v + 0.1*(s0 + s1 + s2)', m = '0.2*(x - m)'",
        "x = 'x', m = 'm'",
    );
    let fast = "x = 'v', v = '200*(y - x) - x - v'";
    text += &unit("b", "x = -0.1, v = 0", "y = 0.1", fast, "x = 'x'");
    let mut wires = "'a.x -> b.y', 'b.x -> a.y'".to_owned();
    let mut z = vec![0.1, 0.0, 0.5, -0.1, 0.0];
    let mut whole = vec![vec![0.0; 11]; 11];
    whole[0][1] = 1.0;
    whole[1][..4].copy_from_slice(&[-201.0, -1.0, 0.0, 200.0]);
    whole[2][..3].copy_from_slice(&[0.2, 0.0, -0.2]);
    whole[3][4] = 1.0;
    whole[4][..5].copy_from_slice(&[200.0, 0.0, 0.0, -201.0, -1.0]);
    for k in 0..3 {
        let stiffness = 1.0 + 0.2 * k as f64;
        let slow = format!("x = 'v', v = '-{stiffness}*x + 0.3*m'");
        text += &unit(&format!("s{k}"), "x = 1, v = 0", "m = 0.5", &slow, "x = 'x'");
        wires += &format!(", 's{k}.x -> a.s{k}', 'a.m -> s{k}.m'");
        let at = 5 + 2 * k;
        z.extend([1.0, 0.0]);
        whole[at][at + 1] = 1.0;
        (whole[at + 1][at], whole[at + 1][2]) = (-stiffness, 0.3);
        whole[1][at] = 0.1;
    }
    let dir = super::folder("iteration-selective");
    let text = format!(
        "stop = '2 s'\nsample = '0.05 s'\nconnections = [{wires}]\n\
         record = ['a.x', 'a.m', 'b.x', 's0.x', 's1.x', 's2.x']\n{text}\
         [coupling]\nstep = '10 ms'\nextrapolation = 1\ntolerance = 1e-3\n"
    );
    std::fs::write(dir.join("fast.toml"), text).unwrap();
    let measure = |correction: &str| {
        let set =
            format!("run fast.toml --out {correction} --set coupling.correction=\"{correction}\"");
        super::good(&dir, &set);
        let summary = super::json(&super::read(&dir.join(correction), "summary.json"));
        let rows = super::read(&dir.join(correction), "samples.csv");
        let (mut worst, mut exact) = (0.0f64, z.clone());
        for row in rows.lines().skip(1) {
            let row: Vec<f64> = row.split(',').map(number).collect();
            let off = [0, 2, 3, 5, 7, 9].iter().zip(&row[1..]).map(|(&k, y)| (exact[k] - y).abs());
            worst = worst.max(off.fold(0.0, f64::max));
            exact = flow(&whole, &exact, 0.05);
        }
        let count = |name: &str| summary[name].as_u64().unwrap();
        (worst, count("exchanges"), count("macro_steps"))
    };
    let (pessimistic, selective) = (measure("pessimistic"), measure("selective"));
    assert!(selective.0 < 3e-3 && pessimistic.0 < 3e-3, "{selective:?}, {pessimistic:?}");
    assert!(3 * selective.1 < 2 * pessimistic.1, "{selective:?}, {pessimistic:?}");
    assert!(3 * selective.2 < pessimistic.2, "{selective:?}, {pessimistic:?}");
}

/// Told all that sources did within a step, units come to the solution of the whole, however long the
/// step is, and in fewer runs than with values at the end, which leave the error of the polynomials.
#[test]
fn courses_lead_to_the_solution() {
    let measure = |h: f64, iterate: &str| {
        let set = format!("coupling={{step=\"H\",extrapolation=1,iterate={{{iterate}}}}}");
        let results = run(&["--until", "4", "--sample", "0.05"], &[&format!("H={h}"), &set]);
        let off = |r: &Vec<String>| {
            let exact = flow(&whole(), &START, number(&r[0]));
            let off = exact.iter().zip(&r[1..]).map(|(e, y)| (e - number(y)).abs());
            off.fold(0.0, f64::max)
        };
        let error = results.rows("samples.csv").iter().map(off).fold(0.0, f64::max);
        let summary = results.summary();
        (error, summary["corrections"].as_u64().unwrap(), summary["macro_steps"].as_u64().unwrap())
    };
    for h in [0.2, 0.5, 1.0] {
        let courses = measure(h, "method=\"waveform\",tolerance=1e-9");
        let ends = measure(h, "method=\"fixed-point\",tolerance=1e-9");
        assert!(courses.0 < 1e-7, "H = {h}: {courses:?}");
        assert!(ends.0 > 1e-4, "H = {h}: {ends:?}");
        assert!(courses.1 < ends.1 && courses.2 == ends.2, "H = {h}: {courses:?}, {ends:?}");
        // A few corrections are better than none, each by far.
        let [one, three] =
            [1, 3].map(|n| measure(h, &format!("method=\"waveform\",corrections={n}")));
        assert!(three.0 < 0.2 * one.0, "H = {h}: {one:?}, {three:?}");
        assert_eq!(three.1, 3 * (three.2 + 1), "exactly as many, and to begin with");
    }
}

/// A loop without a solution within the rounds that are allowed is an error with its tag.
#[test]
fn what_does_not_converge_is_named() {
    let dir = super::folder("iteration-ring");
    std::fs::write(
        dir.join("ring.toml"),
        super::coupling::RING
            .replace("feed_through = \"settled\"", "extrapolation = 1\niterate = { max = 20 }"),
    )
    .unwrap();
    // y = 1 + s - gain y, whatever the gain is, at the defaults of units and couplings.
    for (gain, iterate, order) in [
        (0.5, "{}", 1),
        (3.0, "{}", 2),
        (-4.0, "{}", 2),
        (3.0, "{method=\"broyden\"}", 2),
        (0.5, "{method=\"fixed-point\",max=80}", 1),
        (0.5, "{method=\"waveform\"}", 1),
    ] {
        let set = format!(
            "--set gain={gain:?} --set coupling.extrapolation={order} --set coupling.iterate={iterate}"
        );
        super::good(&dir, &format!("run ring.toml --quiet --force --out out {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        for row in text.lines().skip(2) {
            let c: Vec<f64> = row.split(',').map(number).collect();
            let exact = (1.0 + c[0]) / (1.0 + gain);
            let off = if iterate.contains("waveform") { 2e-5 } else { 1e-6 };
            assert!((c[1] - exact).abs() < off, "gain {gain}: {c:?}, not {exact}");
        }
    }
    let output = super::superdense(
        &dir,
        "run ring.toml --quiet --force --out out --set gain=3.0 --set coupling.iterate.method=fixed-point",
    );
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["~coupling", "does not converge", "after 20 corrections", "a.y", "newton"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Shared events happen in the trial as they do to the members, which each exchange compares: the
/// macro step ends with the event, also where the corrections move it.
#[test]
fn shared_events_are_tried_out() {
    let policy = "coupling={step=\"H\",events=\"interrupt\",extrapolation=1,iterate=ITERATE}";
    for iterate in ["{}", "{method=\"fixed-point\"}"] {
        let set = policy.replace("ITERATE", iterate);
        let results = Results::of("papers/000_interrupted.toml", &["--until", "5", "--set", &set]);
        let events = results.rows("events.csv");
        assert_eq!(events.len(), 4, "{iterate}: {events:?}");
        for (row, (time, name)) in events.iter().zip(super::library::TWO_MASSES) {
            assert_eq!(row[3], name, "{iterate}");
            assert!((number(&row[0]) - time).abs() < 0.02, "{iterate}: {row:?}, not {time}");
        }
    }
}

/// Members that believe in a shared event by what they were told, and are refuted, end the macro step; the
/// next one tells them what is true, also where signals else go on without jumps.
#[test]
fn refuted_events_end_steps() {
    for (policy, off) in [
        ("extrapolation=1,events=\"interrupt\",iterate={}", 4e-3),
        ("extrapolation=1,events=\"interrupt\",iterate={corrections=3}", 4e-3),
        ("extrapolation=1,interpolate=true", 0.05),
        ("extrapolation=1,interpolate=true,events=\"interrupt\"", 0.05),
        ("extrapolation=1,interpolate=true,tolerance=1e-3,correction=\"pessimistic\"", 0.05),
    ] {
        let set = format!("coupling={{step=\"0.05s\",{policy}}}");
        let results = Results::of("two_masses.toml", &["--until", "5", "--set", &set]);
        let events = results.rows("events.csv");
        assert_eq!(events.len(), 4, "{policy}: {events:?}");
        for (row, (time, name)) in events.iter().zip(super::library::TWO_MASSES) {
            assert_eq!(row[3], name, "{policy}");
            assert!((number(&row[0]) - time).abs() < off, "{policy}: {row:?}, not {time}");
        }
    }
}

/// An empty list names no events: what stands in a file is switched off by it.
#[test]
fn empty_look_ahead_is_none() {
    let sets = [
        "coupling.look_ahead=[]",
        "coupling.feed_through=delayed",
        "coupling.events=interrupt",
        "coupling.extrapolation=1",
        "coupling.orders={}",
        "coupling.iterate={}",
    ];
    let options: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let results =
        Results::of("papers/002_look_ahead.toml", &[&options[..], &["--until", "1"]].concat());
    assert!(results.summary()["corrections"].as_u64().expect("a count") > 0);
}

/// A macro step that makes no headway while it is tried out, as a unit sends too often in it, is an error, and what was
/// before it is kept.
#[test]
fn a_macro_step_without_headway_ends() {
    let dir = super::folder("iteration-stuck");
    // The oscillator becomes stiffer at 0.2 s, and what it sends are lines, too many for one macro step.
    let text = "stop = '1 s'\nsample = '0.1 s'\nrecord = ['a.x']\nconnections = ['a.x -> b.u', 'b.y -> a.f']\n\
                [coupling]\nstep = '200 ms'\niterate = { method = 'fixed-point' }\n\
                [unit.a]\nkind = 'equations'\nexchange_tolerance = 1e-9\nsegment_order = 1\nstates = { x = 1, v = 0 }\n\
                inputs = { f = 0 }\nderivatives = { x = 'v', v = '-100*(1 + floor(t/0.2)^6)*x + f' }\n\
                outputs = { x = 'x' }\n\
                [unit.b]\nkind = 'equations'\nstates = { y = 0 }\ninputs = { u = 0 }\nderivatives = { y = 'u - y' }\n\
                outputs = { y = 'y' }\n";
    std::fs::write(dir.join("stuck.toml"), text).expect("a file");
    let output = super::superdense(&dir, "run stuck.toml --quiet --out out");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in
        ["~coupling at 0.2 s", "makes no headway", "the last of them by `", "take a shorter `step`"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let samples = super::read(&dir, "out/samples.csv");
    assert!(samples.lines().any(|l| l.starts_with("0.1,")), "{samples}");
}
