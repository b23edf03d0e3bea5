//! Figures of runs: kinds of plots, curves between samples, damaged files.
use super::{folder, good, read, superdense};
use std::{fs, path::Path};

/// Packets on their way for 50 ms, of which some are lost; a signal that bends.
const PACKETS: &str = r#"
title = "Packets"
stop = "4 s"
sample = "none"
connections = ["source.out -> link.in", "link.out -> sink.in", "ring.x -> twice.u"]

[unit.source]
kind = "packet-source"
pattern = "periodic"
period = 0.1
bytes = 100

[unit.link]
kind = "link"
rate = "8 Mb/s"
propagation = "50 ms"
loss = 0.3
minstd = 12345

[unit.sink]
kind = "packet-sink"

[unit.ring]
kind = "equations"
states = { x = 1, v = 0 }
derivatives = { x = "9*v", v = "-9*x" }
outputs = { x = "x" }

[unit.twice]
kind = "gain"
gain = 2.0

[[plot]]
title = "When"
kind = "timeline"
y = ["source.out"]
to = ["link.out"]

[[plot]]
title = "How long"
kind = "distribution"
y = ["source.out"]
to = ["link.out"]

[[plot]]
y = ["ring.x", "twice.y"]
events = false
"#;

fn run(name: &str) -> std::path::PathBuf {
    let dir = folder(name);
    fs::write(dir.join("packets.toml"), PACKETS).unwrap();
    good(&dir, "run packets.toml --quiet --out out");
    dir
}

/// The lines of a figure, as points in its own units.
fn lines(svg: &str) -> Vec<Vec<(f64, f64)>> {
    let points = |text: &str| {
        let text = text.split('"').next().unwrap();
        let point = |p: &str| {
            let (x, y) = p.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        text.split_whitespace().map(point).collect()
    };
    svg.split("points=\"").skip(1).map(points).collect()
}

#[test]
fn timelines_and_distributions() {
    let dir = run("plots-kinds");
    let svg = read(&dir, "out/plot.svg");
    let trajectory = read(&dir, "out/trajectory.csv");
    let rows = |signal: &str| trajectory.lines().filter(|l| l.contains(signal)).count();
    let (sent, arrived) = (rows("source.out"), rows("link.out"));
    assert!(arrived > 10 && arrived < sent, "{arrived} of {sent}");
    for text in ["source.out", "did not arrive", "on its way", "share with at most this delay"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.contains(&format!("link.out ({arrived})")), "how many are drawn");
    // A cross is two lines; a bar and a mark one each; there is room to see all.
    let short = lines(&svg).into_iter().filter(|l| l.len() == 2).count();
    assert!(short >= sent + arrived, "{short} marks for {sent} packets");
    // Rate and length of the link: 0.1 ms and 50 ms for all.
    assert!(svg.contains("0.050"), "the delay stands on its axis");
}

#[test]
fn curves_are_curved_without_samples() {
    let dir = run("plots-curves");
    assert_eq!(read(&dir, "out/samples.csv").lines().count(), 3, "start and end only");
    let svg = read(&dir, "out/plot.svg");
    let curves: Vec<_> = lines(&svg).into_iter().filter(|line| line.len() > 200).collect();
    assert_eq!(curves.len(), 2, "of the continuous unit, and of the one that hears it");
    for curve in curves {
        // Six turns: no step of a curve is higher than a tenth of its range.
        let heights = || curve.iter().map(|p| p.1);
        let height = heights().fold(f64::MIN, f64::max) - heights().fold(f64::MAX, f64::min);
        let steepest = curve.windows(2).map(|w| (w[1].1 - w[0].1).abs()).fold(0.0, f64::max);
        assert!(steepest < height / 10.0, "{steepest} of {height}");
    }
}

#[test]
fn damaged_files_are_refused() {
    let dir = run("plots-damaged");
    let whole = read(&dir, "out/samples.csv");
    let names = whole.lines().next().unwrap();
    let rows: Vec<&str> = whole.lines().skip(1).collect();
    let broken = [
        (format!("{names}\n{}\n0,1\n{}\n", rows[0], rows[1]), "line 3 has 2 fields"),
        (whole.replace("ring.x", "ring.x,more"), "fields"),
        (whole.replacen("time,", "tim,", 1), "time"),
        (whole.replacen("\n0,", "\nzero,", 1), "line 2: 'zero' in column time is no number"),
        (String::new(), "time"),
    ];
    for (text, why) in broken {
        fs::write(dir.join("out/samples.csv"), &text).unwrap();
        let output = superdense(&dir, "plot out");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{text}");
        assert!(told.contains(why) && told.contains("samples.csv"), "{told}");
        assert!(told.contains("restore it, or run the scenario again"), "{told}");
    }
    fs::write(dir.join("out/samples.csv"), &whole).unwrap();
    let pieces = read(&dir, "out/trajectory.csv");
    let first = pieces.lines().position(|line| line.contains(",ring.x,")).unwrap();
    let mut rows: Vec<&str> = pieces.lines().collect();
    let early = format!("-9223372036854775808{}", &rows[first][rows[first].find(',').unwrap()..]);
    rows[first] = &early;
    fs::write(dir.join("out/trajectory.csv"), rows.join("\n") + "\n").unwrap();
    let told = String::from_utf8_lossy(&superdense(&dir, "plot out").stderr).into_owned();
    assert!(told.contains("lies before") && told.contains("trajectory.csv"), "{told}");
    fs::write(dir.join("out/trajectory.csv"), &pieces).unwrap();
    // The files that a killed run leaves are drawn.
    fs::write(dir.join("out/samples.csv"), format!("{whole}4,1")).unwrap();
    good(&dir, "plot out");
}

/// A run without continuous units tells its transitions and messages, and no zeros of what it lacks.
#[test]
fn networks_count_what_they_have() {
    let dir = folder("plots-counts");
    fs::write(dir.join("packets.toml"), PACKETS).unwrap();
    let told = good(&dir, "run packets.toml --out out");
    let row = |told: &str, name: &str| {
        let row = told.lines().find_map(|l| l.trim().strip_prefix(name));
        row.map(|r| r.trim().to_owned())
    };
    assert!(row(&told, "exchanged").is_some() && row(&told, "steps").is_some(), "{told}");
    let network =
        PACKETS.split("[unit.ring]").next().unwrap().replace(", \"ring.x -> twice.u\"", "");
    fs::write(dir.join("network.toml"), network).unwrap();
    let told = good(&dir, "run network.toml");
    for name in ["events", "located", "exchange", "steps"] {
        assert_eq!(row(&told, name), None, "{told}");
    }
    for name in ["transitions", "messages"] {
        let row = row(&told, name).unwrap();
        let count: u64 = row.split(' ').next().unwrap().parse().unwrap();
        assert!(count > 50, "{told}");
    }
}

/// The plots that the field asks for: packets of s1c, delays of s4a.
#[test]
fn shipped_networks_draw_packets_and_delays() {
    let dir = folder("plots-shipped");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library");
    let file = library.join("network/s4a.toml");
    good(&dir, &format!("run {} --quiet --out s4a --until 2s", file.display()));
    assert!(read(&dir, "s4a/plot.svg").contains("bottleneck.out ("));
    let file = library.join("grid/s1c.toml");
    let options = "--until 6s --set network.loss=0.4 --set network.delay=0.2";
    good(&dir, &format!("run {} --quiet --out s1c {options}", file.display()));
    let svg = read(&dir, "s1c/plot.svg");
    for text in ["sensor[9].out", "agc.out", "did not arrive"] {
        assert!(svg.contains(text), "{text}");
    }
}

/// A timeline whose single events are not written says so.
#[test]
fn empty_timelines_are_told() {
    let dir = folder("plots-none");
    fs::write(dir.join("packets.toml"), PACKETS).unwrap();
    for (trajectory, told) in [("none", true), ("csv", false)] {
        let line = format!("run packets.toml --force --out out --trajectory {trajectory}");
        let output = superdense(&dir, &line);
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).contains("trajectory.csv, which is not");
        assert_eq!(said, told, "{trajectory}");
    }
}

/// Many panels are one picture that is drawn less dense; more than a hundred are refused.
#[test]
fn many_plots_end() {
    let dir = folder("plots-many");
    let head = PACKETS.split("[[plot]]").next().unwrap();
    for (count, code) in [(100, 0), (5000, 2)] {
        let plots = "[[plot]]\ny = [\"ring.x\"]\n".repeat(count);
        fs::write(dir.join("many.toml"), format!("{head}{plots}")).unwrap();
        let output = superdense(&dir, "run many.toml --quiet --force --out out --plot png");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{count}: {said}");
        assert!(code == 0 || said.contains("5000 plots are more than 100"), "{said}");
    }
    assert!(fs::metadata(dir.join("out/plot.png")).unwrap().len() > 10_000);
}

/// No waiting room: each job that is served takes half a second, whoever sent it.
#[test]
fn jobs_of_two_sources_are_told_apart() {
    let dir = folder("plots-sources");
    let text = r#"
        stop = "100 s"
        record = ["a.out", "b[1].out", "s.out"]
        connections = ["a.out -> s.in", "b[*].out -> s.in"]
        unit.a = { kind = "arrivals", rate = 1.0 }
        unit.b = { kind = "arrivals", rate = 0.3, count = 2 }
        unit.s = { kind = "server", distribution = "constant", mean = 0.5, capacity = 1 }
        [[plot]]
        kind = "distribution"
        y = ["a.out", "b[1].out"]
        to = ["s.out"]
    "#;
    fs::write(dir.join("s.toml"), text).unwrap();
    good(&dir, "run s.toml --quiet --out out");
    let trajectory = read(&dir, "out/trajectory.csv");
    let rows: Vec<Vec<&str>> = trajectory.lines().map(|l| l.split(',').collect()).collect();
    let of = |signal: &str| -> Vec<(i64, &str)> {
        let rows = rows.iter().filter(|r| r[2] == signal);
        rows.map(|r| (r[0].parse().unwrap(), r[3])).collect()
    };
    let (arrived, mut sent) = (of("s.out"), of("a.out"));
    sent.extend(of("b[1].out"));
    let mut served = 0;
    for (at, job) in sent {
        let mut end = arrived.iter().filter(|(_, name)| *name == job);
        served += end.clone().count();
        assert!(end.all(|(end, _)| end - at == 500_000_000), "{job}");
    }
    assert!(arrived.iter().any(|(_, job)| job.starts_with("b[0]/")));
    assert!(arrived.iter().any(|(_, job)| job.starts_with("b[1]/")));
    assert!(served > 20 && served < arrived.len());
    assert!(read(&dir, "out/plot.svg").contains(&format!("s.out ({served})")));
}

/// Logarithms, units, ranges, names and phase plots are in the picture.
#[test]
fn axes_are_as_asked_for() {
    let dir = folder("plots-axes");
    let text = "title = 'Axes'\nstop = '1 h'\nsample = '1 min'\nrecord = ['u.x', 'u.v']\n\
        [unit.u]\nkind = 'equations'\nstates = { x = 1000, v = 1 }\n\
        derivatives = { x = '-x/300', v = '0.01*cos(t/100)' }\noutputs = { x = 'x', v = 'v' }\n\
        [[plot]]\ny = ['u.x']\nnames = ['decay']\nlog = true\ny_range = [1, 1e5]\ntime_unit = 'min'\n\
        x_range = [0, 30]\nbands = [['5 min', '10 min']]\n\
        [[plot]]\ny = ['u.v']\nx = 'u.x'\nvalues = ['off', 'on']\n";
    fs::write(dir.join("a.toml"), text).unwrap();
    good(&dir, "run a.toml --quiet --out out");
    let svg = read(&dir.join("out"), "plot.svg");
    for label in ["decay", "10⁵", "time / min", "u.x", "off", "on"] {
        assert!(svg.contains(&format!("{label}\n")), "{label}");
    }
    assert!(!svg.contains("time / s"));
    // Half of the time is shown: the curve ends at the right edge, at the height of exp(-6).
    let ends = lines(&svg);
    assert!(!ends.is_empty());
    let declared = read(&dir.join("out"), "plots.json");
    assert!(
        declared.contains("\"unit\": 60.0") && declared.contains("\"log\": true"),
        "{declared}"
    );
    good(&dir, "plot out");
    assert_eq!(read(&dir.join("out"), "plot.svg"), svg);
}

/// Corners of the symbols of events: left, top, right, bottom.
fn symbols(svg: &str) -> Vec<[f64; 4]> {
    let polygons = svg.split("<polygon").skip(1).filter(|p| p.contains("fill=\"#464646\""));
    let corners = polygons.map(|p| {
        let points = p.split("points=\"").nth(1).and_then(|p| p.split('"').next()).unwrap();
        let numbers = points.split([' ', ',']).filter(|n| !n.is_empty());
        let numbers: Vec<f64> = numbers.map(|n| n.parse().unwrap()).collect();
        let of = |first: usize, best: fn(f64, f64) -> f64| {
            numbers.iter().skip(first).step_by(2).copied().reduce(best).unwrap()
        };
        [of(0, f64::min), of(1, f64::min), of(0, f64::max), of(1, f64::max)]
    });
    corners.collect()
}

/// States are named on the axis, texts are curves, bands follow events, and no mark lies on another one.
#[test]
fn states_texts_and_marks_can_be_read() {
    let dir = folder("plots-states");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library");
    let text = fs::read_to_string(library.join("traffic_light.toml")).unwrap();
    let more = "[[plot]]\ny = ['light.state']\ny_label = 'text'\nevents = false\n\
        bands = [{ of = 'light.state', is = 'off' }, { from = 'officer.order', to = 'light.state' }, ['1 s', '2 s']]\n";
    fs::write(dir.join("a.toml"), format!("{text}\n{more}")).unwrap();
    good(&dir, "run a.toml --quiet --out out");
    let svg = read(&dir.join("out"), "plot.svg");
    for (label, times) in [("off", 2), ("yellow", 1), ("green", 2), ("red", 2), ("working", 1)] {
        assert_eq!(svg.matches(&format!("\n{label}\n")).count(), times, "{label}");
    }
    // Off from 100 s, 400 s, 700 s and 1000 s on, the last of which is the end.
    assert_eq!(svg.matches("#EEEEE4").count(), 3 + 1);
    let all = symbols(&svg);
    assert!(all.len() > 20, "{}", all.len());
    for (k, a) in all.iter().enumerate() {
        for b in &all[k + 1..] {
            let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(apart, "{a:?} lies on {b:?}");
        }
    }
    let wrong = more.replace("is = 'off'", "was = 'off'");
    fs::write(dir.join("b.toml"), format!("{text}\n{wrong}")).unwrap();
    let output = superdense(&dir, "check b.toml");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no interval between events"));
}

/// Many marks are ticks in lines of their own, above the curves.
#[test]
fn many_marks_leave_the_curves_alone() {
    let dir = folder("plots-marks");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/continuous");
    let text = fs::read_to_string(library.join("buck.toml")).unwrap();
    fs::write(dir.join("buck.toml"), text).unwrap();
    good(&dir, "run buck.toml --quiet --out out");
    let svg = read(&dir.join("out"), "plot.svg");
    // Two in the legend, one at the beginning of each line.
    assert_eq!(symbols(&svg).len(), 4);
}
