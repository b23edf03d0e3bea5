//! Systems that are drawn from parts with connectors, against equations that were worked out by hand, closed forms
//! and independent references.
use super::library::{Results, number};
use std::path::{Path, PathBuf};

/// The folder of a scenario text, in `NAME.toml`, which includes the libraries of parts.
fn written(name: &str, text: &str) -> PathBuf {
    let folder = super::folder(&format!("connectors-{name}"));
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("parts");
    let text = text.replace("PARTS", &parts.display().to_string());
    std::fs::write(folder.join(format!("{name}.toml")), text).expect("a file");
    folder
}

/// Runs a scenario text beside the libraries of parts.
fn run(name: &str, text: &str) -> Results {
    let file = written(name, text).join(format!("{name}.toml"));
    Results::of(&file.display().to_string(), &["--trajectory", "none"])
}

fn samples(results: &Results) -> Vec<Vec<f64>> {
    let row = |row: &Vec<String>| row.iter().map(|text| number(text)).collect();
    results.rows("samples.csv").iter().map(row).collect()
}

/// The largest difference of two columns.
fn apart(samples: &[Vec<f64>], a: usize, b: usize) -> f64 {
    samples.iter().map(|row| (row[a] - row[b]).abs()).fold(0.0, f64::max)
}

/// Asserts that a value is what it should be.
fn close(found: f64, expected: f64, within: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off <= within, "{what}: {found} instead of {expected}, off by {off:e}");
}

#[test]
fn what_is_drawn_is_what_was_worked_out() {
    // File, rows, pairs of columns, how far they may be apart, and a column with its last value.
    type Case<'a> = (&'a str, usize, &'a [(usize, usize)], f64, (usize, f64));
    let train: [(usize, usize); 8] = std::array::from_fn(|k| (k + 1, k + 9));
    let cases: [Case<'_>; 3] = [
        ("diode_bridge", 201, &[(1, 3)], 1e-8, (1, 6.374_854_17)),
        ("buck_parts", 201, &[(1, 3), (2, 4)], 1e-7, (2, 10.015_112_87)),
        ("drive_train", 101, &train, 1e-10, (1, 5.363_350_305_5)),
    ];
    for (file, rows, pairs, within, (column, last)) in cases {
        let results = Results::of(&format!("connectors/{file}.toml"), &["--trajectory", "none"]);
        let samples = samples(&results);
        assert_eq!(samples.len(), rows, "{file}");
        for (a, b) in pairs {
            let off = apart(&samples, *a, *b);
            assert!(off <= within, "{file}, columns {a} and {b}: {off:e} apart");
        }
        close(samples[rows - 1][column], last, 1e-6, file);
    }
}

/// Two wheels of 1 and 2 kg m^2 at 10 and 0 rad/s: the slip falls by 3 rad/s^2 to the creep of 0.1 rad/s, and then
/// exponentially; the momentum stays.
#[test]
fn a_clutch_slips_and_holds() {
    let samples = samples(&Results::of("connectors/clutch.toml", &["--trajectory", "none"]));
    let held = (10.0 - 0.1) / 3.0;
    for row in &samples {
        let t = row[0];
        let slip = if t < held { 10.0 - 3.0 * t } else { 0.1 * (-30.0 * (t - held)).exp() };
        close(row[1] - row[2], slip, 1e-7, &format!("slip at {t}"));
        close(row[1] + 2.0 * row[2], 10.0, 1e-8, &format!("momentum at {t}"));
    }
    close(samples[samples.len() - 1][1], 10.0 / 3.0, 1e-8, "speed at the end");
}

/// x at t of m x'' + d x' + c x = 0 from rest at 1.
fn oscillator(m: f64, d: f64, c: f64, t: f64) -> f64 {
    let decay = d / (2.0 * m);
    let omega = (c / m - decay * decay).sqrt();
    (-decay * t).exp() * ((omega * t).cos() + decay / omega * (omega * t).sin())
}

/// Gomes et al. 2017, figure 6: masses on one flange, by rods in a chain, in a star.
#[test]
fn rigid_masses_are_one_mass() {
    let samples = samples(&Results::of("connectors/joined_masses.toml", &["--trajectory", "none"]));
    for row in &samples {
        let (two, three) = (oscillator(3.0, 1.0, 2.0, row[0]), oscillator(4.5, 1.2, 2.5, row[0]));
        let expected = [two, two, three, three + 1.0, three, three, two, three];
        for (column, expected) in expected.into_iter().enumerate() {
            close(row[column + 1], expected, 1e-9, &format!("column {column} at {}", row[0]));
        }
    }
    assert_eq!(samples.len(), 101);
}

/// Length 1, g 9.81, from rest at (0.6, -0.8): the reference is the angle's equation at 1e-15.
const PENDULUM: [f64; 3] =
    [0.591_721_540_114_210_6, -0.806_142_430_941_869_3, 8.028_771_742_619_314];

#[test]
fn a_pendulum_of_two_units_keeps_its_length() {
    let results = Results::of("connectors/pendulum_parts.toml", &["--trajectory", "none"]);
    let samples = samples(&results);
    assert_eq!(samples.len(), 201);
    for row in &samples {
        let off = row[1] * row[1] + row[2] * row[2] - 1.0;
        assert!(off.abs() <= 1e-8, "length squared at {}: off by {off:e}", row[0]);
    }
    for (column, expected) in [(1, PENDULUM[0]), (2, PENDULUM[1]), (4, PENDULUM[2])] {
        close(samples[4][column], expected, 1e-8, "at 2 s");
    }
}

/// A free state is found by the constraint, by an equation of the start, and by both.
#[test]
fn values_at_the_start_are_found() {
    let pendulum = |method: &str, more: &str, x: f64, y: f64| {
        format!(
            "stop = 2\nsample = 1\nrecord = ['p.x', 'p.y', 'p.pull']\n[unit.p]\nkind = 'equations'\n\
             states = {{ x = {x}, y = {y}, u = 0, v = 0 }}\n{more}\nalgebraic = {{ pull = 0 }}\n\
             derivatives = {{ x = 'u', y = 'v', u = '-pull*x', v = '-pull*y - 9.81' }}\n\
             residuals = {{ pull = 'x^2 + y^2 - 1' }}\noutputs = {{ x = 'x', y = 'y', pull = 'pull' }}\n\
             method = '{method}'\ntolerance = 1e-12\nabsolute_tolerance = 1e-12\n"
        )
    };
    for method in ["taylor", "rodas", "auto"] {
        for (more, x, y) in [
            ("", 0.6, -0.8),
            ("free = ['y']", 0.6, -0.5),
            ("free = ['x', 'y']\ninitial = { slope = '3*y + 4*x' }", 0.5, -0.5),
            // The force at rest, g times 0.8, decides the height.
            ("free = ['x', 'y']\ninitial = { force = 'pull - 0.8*9.81' }", 0.5, -0.5),
        ] {
            let name = format!("start-{method}-{x}-{}", more.len());
            let samples = samples(&run(&name, &pendulum(method, more, x, y)));
            let end = &samples[samples.len() - 1];
            for (k, expected) in PENDULUM.into_iter().enumerate() {
                close(end[k + 1], expected, 1e-8, &format!("{method}, {more}, value {k}"));
            }
        }
    }
}

/// A unit that begins in its steady state, with a mode besides.
#[test]
fn a_unit_begins_at_rest_in_a_mode() {
    let text = "stop = 1\nsample = 1\nrecord = ['tank.h']\n[unit.tank]\nkind = 'equations'\nstates = { h = 1 }\n\
                free = ['h']\ninitial = { mode = 'fast', rest = '4 - 2*sqrt(h)' }\n\
                derivatives = { h = 'inflow - 2*sqrt(h)' }\noutputs = { h = 'h' }\n\
                [unit.tank.mode.slow.let]\ninflow = '1'\n[unit.tank.mode.fast.let]\ninflow = '4'\n";
    for row in samples(&run("steady", text)) {
        close(row[1], 4.0, 1e-9, "height");
    }
}

const CIRCUIT: &str = "stop = 0.1\nsample = 0.1\nrecord = ['c.v', 'r.i', 'source.i']\ninclude = ['PARTS/electrical.toml']\n\
     [unit.source]\ntemplate = 'voltage'\nvalue = 10\n[unit.r]\ntemplate = 'resistor'\nR = 100\n\
     [unit.c]\ntemplate = 'capacitor'\nC = 1e-3\n[unit.ground]\ntemplate = 'ground'\n";

/// The voltage is 10 (1 - exp(-t/RC)), under every method and whatever the order of the lines.
#[test]
fn a_capacitor_is_charged() {
    let lines = [
        "['source.p = r.p', 'r.n = c.p', 'source.n = c.n = ground.p']",
        "['ground.p = c.n = source.n', 'c.p = r.n', 'r.p = source.p']",
    ];
    for method in ["rk45", "taylor", "closed", "rodas", "auto"] {
        let hashes = lines.map(|lines| {
            let tight = match method {
                "closed" => "",
                _ => "tolerance = 1e-10\nabsolute_tolerance = 1e-10\n",
            };
            let text =
                format!("connections = {lines}\n{CIRCUIT}[joined]\nmethod = '{method}'\n{tight}");
            let results = run(&format!("rc-{method}"), &text);
            let samples = samples(&results);
            close(samples[1][1], 6.321_205_588_285_577, 1e-8, method);
            close(samples[1][2], 0.036_787_944_117_144_235, 1e-8, method);
            close(samples[1][3], -0.036_787_944_117_144_235, 1e-8, method);
            results.hash()
        });
        assert_eq!(hashes[0], hashes[1], "{method}");
    }
}

/// A controller and a switch within a template within a template work the circuit outside as one beside it does:
/// signals of parts cross both borders in both directions.
#[test]
fn signals_of_parts_cross_borders() {
    let relay = "kind = 'hysteresis'\nlow = 2.0\nhigh = 3.0\nannounce = true\n";
    let switch = |path: &str| {
        format!(
            "kind = 'equations'\nconnectors = {{ p = 'electrical', n = 'electrical' }}\nevent_inputs = ['full']\n\
             discrete = {{ closed = 1 }}\noutputs = {{ closed = 'closed' }}\nresiduals = {{ n = 'p.i + n.i', p = \
             'closed*(p.v - n.v) + (1 - closed)*(p.i - 1e-6*(p.v - n.v))' }}\n\
             [[{path}.on]]\ninput = 'full'\nreset = {{ closed = '1 - value' }}\n"
        )
    };
    let head = "stop = 3\nsample = 0.05\nrecord = ['sensor.v', 'lamp.y']\ninclude = ['PARTS/electrical.toml']\n";
    let circuit = "[unit.source]\ntemplate = 'voltage'\nvalue = 5\n[unit.r]\ntemplate = 'resistor'\nR = 100\n\
         [unit.sensor]\ntemplate = 'capacitor'\nC = 5e-3\n[unit.load]\ntemplate = 'resistor'\nR = 400\n\
         [unit.ground]\ntemplate = 'ground'\n[unit.lamp]\nkind = 'gain'\ngain = 1\n";
    let flat = format!(
        "{head}connections = ['source.p = switch.p', 'switch.n = r.p', 'r.n = sensor.p = load.p', \
         'source.n = sensor.n = load.n = ground.p', 'sensor.v -> relay.u', 'relay.y -> switch.full', \
         'switch.closed -> lamp.u']\n{circuit}[unit.switch]\n{}[unit.relay]\n{relay}",
        switch("unit.switch")
    );
    let nested = format!(
        "{head}connections = ['source.p = box.p', 'box.n = r.p', 'r.n = sensor.p = load.p', \
         'source.n = sensor.n = load.n = ground.p', 'sensor.v -> box.v', 'box.closed -> lamp.u']\n{circuit}\
         [unit.box]\ntemplate = 'box'\n[template.box]\nconnectors = {{ p = 'inner.p', n = 'inner.n' }}\n\
         inputs = {{ v = 'inner.v' }}\noutputs = {{ closed = 'inner.closed' }}\n\
         [template.box.unit.inner]\ntemplate = 'inner'\n\
         [template.inner]\nconnectors = {{ p = 'switch.p', n = 'switch.n' }}\ninputs = {{ v = 'relay.u' }}\n\
         outputs = {{ closed = 'switch.closed' }}\nconnections = ['relay.y -> switch.full']\n\
         [template.inner.unit.relay]\n{relay}[template.inner.unit.switch]\n{}",
        switch("template.inner.unit.switch")
    );
    let [flat, nested] =
        [("flat", flat), ("nested", nested)].map(|(name, text)| samples(&run(name, &text)));
    assert_eq!(flat.len(), 61);
    for (a, b) in flat.iter().zip(&nested) {
        close(a[1], b[1], 1e-9, &format!("voltage at {}", a[0]));
        close(a[2], b[2], 0.0, &format!("switch at {}", a[0]));
    }
    // The switch opens at 3 V, which is reached, and closes at 2 V.
    let most = flat.iter().map(|row| row[1]).fold(0.0, f64::max);
    let late = flat[30..].iter().map(|row| row[1]).fold(f64::INFINITY, f64::min);
    assert!((2.9..=3.0 + 1e-6).contains(&most), "{most}");
    assert!((2.0 - 1e-6..=2.2).contains(&late), "{late}");
}

/// A state that may follow takes the value of the one that it is joined to; a heated body follows its closed form.
#[test]
fn free_parts_follow_and_bodies_warm_up() {
    let masses = "stop = 1\nsample = 1\nrecord = ['a.x', 'b.x']\nconnections = ['a.f = b.f']\n\
         [joined]\nmethod = 'taylor'\n[unit.a]\nkind = 'equations'\nconnectors = { f = 'translation' }\n\
         states = { x = 2, v = 1 }\nderivatives = { x = 'v', v = 'f.f - 3*x' }\nresiduals = { f = 'f.x - x' }\n\
         outputs = { x = 'x' }\n[unit.b]\nkind = 'equations'\nconnectors = { f = 'translation' }\n\
         states = { x = 0, v = 0 }\nfree = ['x', 'v']\nderivatives = { x = 'v', v = 'f.f/2' }\n\
         residuals = { f = 'f.x - x' }\noutputs = { x = 'x' }\n";
    let samples_of = |name: &str, text: &str| samples(&run(name, text));
    // 3 x'' = -3 x.
    for row in samples_of("free", masses) {
        let expected = 2.0 * row[0].cos() + row[0].sin();
        close(row[1], expected, 1e-8, "a");
        close(row[2], expected, 1e-8, "b");
    }
    let room = "stop = 1000\nsample = 500\nrecord = ['room.T', 'wall.q']\ninclude = ['PARTS/thermal.toml']\n\
         connections = ['room.port = heater.port = wall.a', 'wall.b = outside.port']\n\
         [joined]\nmethod = 'taylor'\n[unit.room]\ntemplate = 'heat_capacity'\nC = 1e4\nT = 280\n\
         [unit.wall]\ntemplate = 'conductance'\nG = 20\n[unit.outside]\ntemplate = 'temperature'\nvalue = 270\n\
         [unit.heater]\ntemplate = 'heat'\nvalue = 1000\n";
    for row in samples_of("room", room) {
        let above = 50.0 - 40.0 * (-row[0] * 20.0 / 1e4).exp();
        close(row[1], 270.0 + above, 1e-6, "temperature");
        close(row[2], 20.0 * above, 1e-4, "heat flow");
    }
}

/// Two bodies that are joined fall 1 m at 9.81 m/s^2 and bounce without loss; the event resets the speed of one.
#[test]
fn a_reset_is_one_of_all_that_is_rigid() {
    let body = |name: &str, mass: f64| {
        format!(
            "[unit.{name}]\nkind = 'equations'\nconnectors = {{ f = 'translation' }}\nstates = {{ h = 1, v = 0 }}\n\
             derivatives = {{ h = 'v', v = 'f.f/{mass}' }}\nresiduals = {{ f = 'f.x - h' }}\n\
             outputs = {{ h = 'h' }}\nevent_outputs = ['hit']\n"
        )
    };
    let text = format!(
        "stop = 3\nsample = 0.1\nrecord = ['a.h', 'b.h', 'hits.count']\nconnections = ['a.f = b.f = weight.flange', \
         'a.hit -> hits.u']\ninclude = ['PARTS/translation.toml']\n[joined]\ntolerance = 1e-11\n\
         absolute_tolerance = 1e-11\n[unit.weight]\ntemplate = 'force'\nvalue = '-3*9.81'\n[unit.hits]\n\
         kind = 'counter'\n{}{}[[unit.a.event]]\nname = 'hit'\nwhen = 'h <= 0 and v < 0'\n\
         reset = {{ v = '-v' }}\nemit = {{ hit = 'v' }}\n",
        body("b", 2.0),
        body("a", 1.0)
    );
    let results = run("rigid", &text);
    let fall = (2.0f64 / 9.81).sqrt();
    for row in samples(&results) {
        let since = (row[0] + fall) % (2.0 * fall) - fall;
        let height = 1.0 - 9.81 * since * since / 2.0;
        close(row[1], height, 1e-8, &format!("a at {}", row[0]));
        close(row[2], height, 1e-8, &format!("b at {}", row[0]));
        close(
            row[3],
            ((row[0] + fall) / (2.0 * fall)).floor(),
            0.0,
            &format!("hits by {}", row[0]),
        );
    }
    let events = results.rows("events.csv");
    assert_eq!(events.len(), 3);
    close(number(&events[0][0]), fall, 1e-8, "the first hit");
    assert_eq!(&events[0][2..4], ["a", "hit"]);
}

/// An ideal source jumps across 1 and 3 uF, each with 1 kOhm beside it: charge is kept at the node between them, so that
/// the second takes a quarter of each jump. It then goes to half of the voltage in 2 ms.
#[test]
fn jumps_of_sources_divide_as_charge_is_kept() {
    let text = "stop = '4 ms'\nsample = 'none'\ninclude = ['PARTS/electrical.toml']\n\
                connections = ['s.p = r1.p = c1.p', 'r1.n = c1.n = r2.p = c2.p', 's.n = r2.n = c2.n = g.p']\n\
                [joined]\nSOLVER\n[unit.g]\ntemplate = 'ground'\n\
                [unit.r1]\ntemplate = 'resistor'\nR = 1000\n[unit.c1]\ntemplate = 'capacitor'\nC = 1e-6\n\
                [unit.r2]\ntemplate = 'resistor'\nR = 1000\n[unit.c2]\ntemplate = 'capacitor'\nC = 3e-6\n\
                [unit.s]\nkind = 'equations'\nconnectors = { p = 'electrical', n = 'electrical' }\nDISCRETE\
                residuals = { p = 'p.v - n.v - U', n = 'p.i + n.i' }\nEVENTS\
                [result]\nup = 'at(c2.v, \"2 ms\")'\nother = 'at(c1.v, \"2 ms\")'\nend = 'final(c2.v)'\n";
    let events = "[[unit.s.event]]\nname = 'up'\nat = '1 ms'\nreset = { U = 10 }\n\
                  [[unit.s.event]]\nname = 'down'\nat = '3 ms'\nreset = { U = 'U - 6' }\n";
    let by_events = text.replace("DISCRETE", "discrete = { U = 0 }\n").replace("EVENTS", events);
    let goes = |from: f64, to: f64| to + (from - to) * (-0.5f64).exp();
    let up = goes(2.5, 5.0);
    let end = goes(goes(up, 5.0) - 1.5, 2.0);
    for method in ["rk45", "rodas", "taylor", "closed", "auto"] {
        let text = by_events.replace("SOLVER", &format!("method = '{method}'"));
        let results = run(&format!("divider-{method}"), &text);
        close(results.result("up"), up, 1e-6, &format!("{method}, 1 ms after 10 V"));
        close(results.result("other"), 10.0 - up, 1e-6, &format!("{method}, beside it"));
        close(results.result("end"), end, 1e-6, &format!("{method}, 1 ms after 4 V"));
    }
    let switched = text
        .replace("SOLVER\n", "")
        .replace("DISCRETE", "")
        .replace("- U'", "- (if t < 0.001 then 0 else 10)'")
        .replace("EVENTS", "");
    let output = super::superdense(&written("switched", &switched), "check switched.toml");
    let told = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("by a constraint that jumps"), "{told}");
}

/// Three sources of 50 Hz with inductances, and the six diodes behind them.
fn phases(amplitude: f64, inductance: f64, leakage: f64) -> String {
    let phase = |(name, number): (&str, f64)| {
        let angle = number * std::f64::consts::TAU / 3.0;
        format!(
            "[unit.s{name}]\ntemplate = 'sine_voltage'\namplitude = {amplitude}\nfrequency = 50\nphase = {angle}\n\
             [unit.l{name}]\ntemplate = 'inductor'\nL = {inductance}\n\
             [unit.u{name}]\ntemplate = 'diode'\nRon = 1e-2\nGoff = {leakage}\n\
             [unit.d{name}]\ntemplate = 'diode'\nRon = 1e-2\nGoff = {leakage}\n"
        )
    };
    [("a", 0.0), ("b", -1.0), ("c", 1.0)].map(phase).concat()
}

/// Six diodes behind three sources with inductances: where the star is grounded and the bridge floats, the sum of the
/// three currents is zero by the sum of all nodes, in which the currents of diodes cancel.
#[test]
fn a_bridge_of_six_diodes_floats() {
    let phases = phases(325.0, 1e-3, 1e-5);
    let at = |ground: &str| {
        let [star, direct] = match ground {
            "star" => [" = g.p", ""],
            _ => ["", " = g.p"],
        };
        let text = format!(
            "stop = '20 ms'\nsample = '1 ms'\nrecord = ['la.i', 'r.i']\ninclude = ['PARTS/electrical.toml']\n\
             connections = ['sa.n = sb.n = sc.n{star}', 'sa.p = la.p', 'sb.p = lb.p', 'sc.p = lc.p', \
             'la.n = ua.p = da.n', 'lb.n = ub.p = db.n', 'lc.n = uc.p = dc.n', 'ua.n = ub.n = uc.n = r.p', \
             'da.p = db.p = dc.p = r.n{direct}']\n[joined]\n[unit.g]\ntemplate = 'ground'\n\
             [unit.r]\ntemplate = 'resistor'\nR = 10\n{phases}"
        );
        samples(&run(&format!("six-{ground}"), &text))
    };
    let (star, direct) = (at("star"), at("direct"));
    let largest = star.iter().map(|row| row[2]).fold(0.0, f64::max);
    assert!(largest > 50.0 && largest < 57.0, "{largest} A of at most 563 V / 10 Ohm");
    for (a, b) in star.iter().zip(&direct) {
        close(a[1], b[1], 1e-5, &format!("current of a phase at {}", a[0]));
        close(a[2], b[2], 1e-5, &format!("current of the load at {}", a[0]));
    }
}

/// Events belong to the part that has them, and the shares of a switch go from never to always.
#[test]
fn events_are_those_of_parts() {
    let text = "stop = '1 ms'\nsample = 'none'\ninclude = ['PARTS/electrical.toml']\n\
                connections = ['s.p = sw.p', 'sw.n = r.p', 's.n = r.n = g.p']\n[joined]\n\
                [unit.s]\ntemplate = 'voltage'\nvalue = 10\n[unit.r]\ntemplate = 'resistor'\nR = 10\n\
                [unit.g]\ntemplate = 'ground'\n[unit.sw]\ntemplate = 'pulsed_switch'\nperiod = 1e-4\nduty = DUTY\n\
                [result]\nmean = 'mean(r.i)'\nopen = \"count(event('sw.part', 'open'))\"\nall = \"count(event('sw.*', '*'))\"\n";
    for (duty, mean) in
        [("-0.2", 1e-5), ("0", 1e-5), ("0.25", 0.25), ("1", 0.9999), ("1.2", 0.9999)]
    {
        let results = run(&format!("duty-{duty}"), &text.replace("DUTY", duty));
        close(results.result("mean"), mean, 2e-4, &format!("duty {duty}"));
        let (open, all) = (results.result("open"), results.result("all"));
        let rows = results.rows("events.csv");
        let listed = rows.iter().filter(|row| row[2] == "sw/part" && row[3] == "open").count();
        assert_eq!((open, all), (listed as f64, rows.len() as f64), "duty {duty}");
        assert_eq!(open, 10.0, "duty {duty}");
    }
}

/// Diodes of 1 Ohm have the same factor on both sides, so that `s` is the voltage: where its search begins says nothing of it.
#[test]
fn starts_of_algebraic_variables_of_parts_are_guesses() {
    let text = "stop = '40 ms'\nsample = 'none'\ninclude = ['PARTS/electrical.toml']\n\
                connections = ['s.p = d1.p = d2.n', 's.n = d3.p = d4.n = g.p', 'd1.n = d3.n = r.p', 'd2.p = d4.p = r.n']\n\
                [joined]\n[unit.s]\ntemplate = 'sine_voltage'\namplitude = '10 V'\nphase = 0.5\n[unit.r]\n\
                template = 'resistor'\nR = '10 Ohm'\n[unit.g]\ntemplate = 'ground'\n\
                [unit.d1]\ntemplate = 'diode'\nRon = RON\n[unit.d2]\ntemplate = 'diode'\nRon = RON\n\
                [unit.d3]\ntemplate = 'diode'\nRon = RON\n[unit.d4]\ntemplate = 'diode'\nRon = RON\n\
                [result]\nmean = 'mean(r.v)'\n";
    // Two diodes and the load divide the voltage, but for what those that block let through.
    for (ron, ohm) in [("1", 1.0), ("'1 Ohm'", 1.0), ("0.999", 0.999)] {
        let results = run("bridge", &text.replace("RON", ron));
        let mean = 20.0 / std::f64::consts::PI * 10.0 / (10.0 + 2.0 * ohm);
        close(results.result("mean"), mean, 1e-3, &format!("Ron = {ron}"));
    }
}

/// A buck converter whose coil runs empty in each period: a loose tolerance lets the current be off by what decides whether
/// the diode conducts, so that no side holds. The solution is tightened then. Voltage and current by the closed form.
#[test]
fn loose_tolerances_make_no_diode_chatter() {
    let text = "stop = '2 ms'\nsample = 'none'\ninclude = ['PARTS/electrical.toml']\n\
                connections = ['s.p = sw.p', 'sw.n = d.n = coil.p', 'coil.n = c.p = r.p', 's.n = d.p = c.n = r.n = g.p']\n\
                [joined]\nmethod = 'METHOD'\ntolerance = LOOSE\nabsolute_tolerance = LOOSE\n\
                [unit.s]\ntemplate = 'voltage'\nvalue = '24 V'\n[unit.sw]\ntemplate = 'pulsed_switch'\nperiod = '100 us'\n\
                duty = 0.25\n[unit.d]\ntemplate = 'diode'\n[unit.coil]\ntemplate = 'inductor'\nL = '100 uH'\n\
                [unit.c]\ntemplate = 'capacitor'\nC = '100 uF'\n[unit.r]\ntemplate = 'resistor'\nR = '10 Ohm'\n\
                [unit.g]\ntemplate = 'ground'\n[result]\nu = 'final(r.v)'\ni = 'final(coil.i)'\n";
    for (method, loose) in
        [("rodas", "1e-3"), ("auto", "1e-3"), ("auto", "5e-4"), ("rodas", "1e-6")]
    {
        let text = text.replace("METHOD", method).replace("LOOSE", loose);
        let results = run(&format!("empty-{method}-{loose}"), &text);
        close(results.result("u"), 10.01956, 1e-4, &format!("voltage under {method} at {loose}"));
        close(results.result("i"), -8.62e-5, 1e-7, &format!("current under {method} at {loose}"));
    }
}

/// Blocked diodes beside inductors are stiff, and throw an explicit method to and fro where they switch: `auto` then takes
/// the implicit one, and comes to its solution.
#[test]
fn blocked_diodes_make_auto_implicit() {
    let phases = phases(100.0, 2e-3, 1e-4);
    let solved = |method: &str| {
        let text = format!(
            "stop = '60 ms'\nsample = 'none'\ninclude = ['PARTS/electrical.toml']\n\
             connections = ['sa.p = la.p', 'sb.p = lb.p', 'sc.p = lc.p', 'sa.n = sb.n = sc.n = g.p', \
             'la.n = ua.p = da.n', 'lb.n = ub.p = db.n', 'lc.n = uc.p = dc.n', \
             'ua.n = ub.n = uc.n = k.p = r.p', 'da.p = db.p = dc.p = k.n = r.n']\n\
             [joined]\nmethod = '{method}'\n[unit.g]\ntemplate = 'ground'\n\
             [unit.r]\ntemplate = 'resistor'\nR = 20\n[unit.k]\ntemplate = 'capacitor'\nC = 1e-3\nstart = 100\n{phases}\
             [result]\nlargest = 'max(r.v)'\nlast = 'final(r.v)'\n"
        );
        let results = run(&format!("blocked-{method}"), &text);
        ["largest", "last"].map(|name| results.result(name))
    };
    let (auto, rodas) = (solved("auto"), solved("rodas"));
    close(rodas[0], 194.1348, 1e-3, "the largest voltage");
    for (auto, rodas) in auto.into_iter().zip(rodas) {
        close(auto, rodas, 1e-4, "voltage under auto");
    }
}

/// Exponential diodes whose search begins at no voltage, beside a source of 230 V: exp(230 V/26 mV) is beyond all
/// numbers. The current fulfils 10 Ohm i + 4*26 mV*ln(i/1 nA + 1) = 230 V.
#[test]
fn diodes_in_a_row_are_found_at_the_start() {
    let text = "stop = '1 ms'\ninclude = ['PARTS/electrical.toml']\n\
                connections = ['s.p = r.p', 'r.n = d0.p', 'd0.n = d1.p', 'd1.n = d2.p', 'd2.n = d3.p', \
                'd3.n = s.n = g.p']\n\
                [unit.s]\ntemplate = 'voltage'\nvalue = '230 V'\n[unit.r]\ntemplate = 'resistor'\nR = '10 Ohm'\n\
                [unit.g]\ntemplate = 'ground'\n[unit]\n\
                d0 = { template = 'exponential_diode', G = 0 }\nd1 = { template = 'exponential_diode', G = 0 }\n\
                d2 = { template = 'exponential_diode', G = 0 }\nd3 = { template = 'exponential_diode', G = 0 }\n\
                [result]\ni = 'final(r.i)'";
    close(run("row", text).result("i"), 22.751_981_651_924_602, 1e-9, "current");
}

/// A bridge of four exponential diodes that begins at the peak of its source, or at zero: the load has 31.739 A at the
/// peak of 325 V, where 10.2 Ohm i + 2*26 mV*ln(i/1 nA + 1) = 325 V.
#[test]
fn a_bridge_begins_at_any_phase() {
    for phase in ["pi/2", "0"] {
        let text = format!(
            "stop = '20 ms'\ninclude = ['PARTS/electrical.toml']\n\
             connections = ['s.p = r0.p', 'r0.n = d1.p = d4.n', 's.n = d3.p = d2.n = g.p', 'd1.n = d3.n = r.p', \
             'r.n = d4.p = d2.p']\n\
             [unit]\ns = {{ template = 'sine_voltage', amplitude = '325 V', phase = '{phase}' }}\n\
             r0 = {{ template = 'resistor', R = '0.2 Ohm' }}\nr = {{ template = 'resistor', R = '10 Ohm' }}\n\
             d1 = {{ template = 'exponential_diode', G = 0 }}\nd2 = {{ template = 'exponential_diode' }}\n\
             d3 = {{ template = 'exponential_diode' }}\nd4 = {{ template = 'exponential_diode' }}\n\
             g = {{ template = 'ground' }}\n[result]\nmost = 'max(r.i)'"
        );
        let peak = run(&format!("phase{}", phase.len()), &text).result("most");
        let source = 10.2 * peak + 0.052 * (peak / 1e-9 + 1.0).ln();
        close(source, 325.0, 1e-4, phase);
    }
}
