//! Plans of correct scenarios.
use crate::{Folder, plan, plan_with};
use superdense::{
    Overrides, Plan,
    plan::{Aggregate, Source},
};
use superdense_kernel::{Options, Simulation, time::Resolution};
use superdense_models::signal::value::Value;

fn labels(p: &Plan) -> Vec<&str> {
    p.record.iter().map(|r| r.label.as_str()).collect()
}

fn paths(p: &Plan) -> Vec<&str> {
    p.units.iter().map(|u| u.path.as_str()).collect()
}

fn run(p: Plan) -> Simulation<Value> {
    let options = Options { resolution: p.resolution, ..Options::default() };
    let mut sim = Simulation::new(p.model, options).unwrap();
    sim.run_through(p.stop).unwrap();
    sim
}

/// The value of an output at the end.
fn end(sim: &Simulation<Value>, path: &str, port: u16) -> f64 {
    let model = sim.find(path).unwrap_or_else(|| panic!("{path}"));
    sim.probe(model, port, sim.clock()).and_then(|v| v.as_real()).unwrap()
}

const PLANT: &str = r#"
stop = "2 s"
connections = [
  "source.y -> plant[*].demand",
  "plant[*].flow -> total.u[*]",
  "total.y -> control.u via sample('1 s')",
  "control.y -> level.u via hold(0.5)",
  { from = "total.y", to = "crossings.u", via = "detect", threshold = 1.5, direction = "rising" },
]
record = ["plant[*].flow", "sum(plant[*].flow)", "plant[1].gain.y", "count( plant[0..2].flow )"]
[parameters]
gain = "2*base"
base = 0.5
[unit.source]
kind = "constant"
value = 3.0
[unit.plant]
template = "pump"
count = 3
rate = "gain + i"
[unit.total]
kind = "sum"
signs = "+++"
[unit.control]
kind = "scaler"
gain = 2.0
[unit.crossings]
kind = "counter"
[unit.level]
kind = "gain"
gain = 1
[template.pump]
parameters = { rate = 1.0, extra = "rate/10" }
inputs = { demand = "gain.u" }
outputs = { flow = "offset.y" }
connections = ["gain.y -> offset.u"]
[template.pump.unit.gain]
kind = "gain"
gain = "rate"
[template.pump.unit.offset]
kind = "offset"
offset = "extra + base"
"#;

#[test]
fn templates_arrays_and_adapters() {
    let p = plan(PLANT).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(
        paths(&p),
        [
            "control",
            "control.u~sample~total.y",
            "crossings",
            "crossings.u~detect~total.y",
            "level",
            "level.u~hold",
            "plant[0]/gain",
            "plant[0]/offset",
            "plant[1]/gain",
            "plant[1]/offset",
            "plant[2]/gain",
            "plant[2]/offset",
            "source",
            "total"
        ]
    );
    assert_eq!(
        labels(&p),
        [
            "plant[0].flow",
            "plant[1].flow",
            "plant[2].flow",
            "sum(plant[*].flow)",
            "plant[1].gain.y",
            "count(plant[0..2].flow)"
        ]
    );
    let Source::Aggregate { how: Aggregate::Sum, members } = &p.record[3].source else { panic!() };
    assert_eq!(members[2], ("plant[2]/offset".to_owned(), 0));
    // The kernel has the same models in the same order.
    let expected: Vec<String> = p.units.iter().map(|u| u.path.clone()).collect();
    let sim = run(p);
    assert_eq!(sim.paths().collect::<Vec<_>>(), expected);
    // rate = 1 + i, extra = rate/10, flow = 3 rate + extra + 0.5
    assert!((end(&sim, "plant[2]/offset", 0) - 9.8).abs() < 1e-12);
    let total = 3.1 + 0.5 + 6.2 + 0.5 + 9.3 + 0.5;
    assert!((end(&sim, "total", 0) - total).abs() < 1e-12);
    assert!((end(&sim, "level", 0) - 2.0 * total).abs() < 1e-12);
}

#[test]
fn loops_over_indices() {
    let text = "stop = 1\nconnections = ['a[i].y -> a[i+1].u for i in 0..n-1', 's.y -> a[0].u']\n\
                [parameters]\nn = 5\n[unit.s]\nkind='constant'\nvalue=1\n\
                [unit.a]\nkind = 'gain'\ngain = 'i + 1'\ncount = 'n'\n";
    let sim = run(plan(text).unwrap_or_else(|d| panic!("{d}")));
    assert_eq!(end(&sim, "a[4]", 0), 120.0);
    let sim = run(plan_with(text, &[("n", "4")]).unwrap());
    assert_eq!(end(&sim, "a[3]", 0), 24.0);
}

#[test]
fn settings() {
    let p =
        plan("title = 'T'\nstop = '1 h'\nresolution = '10 us'\nseed = 7\nsample = 0.5\n").unwrap();
    assert_eq!((p.title.as_str(), p.name.as_str(), p.seed), ("T", "scenario", 7));
    assert_eq!((p.resolution, p.stop), (Resolution::from_exponent(5).unwrap(), 360_000_000));
    assert_eq!(interval(&p), Some(50_000));
    let p = plan("stop = 0.1\nresolution = 1e-12\nsample = 'none'\n").unwrap();
    assert_eq!((p.resolution, p.stop, p.sample), (Resolution::PICO, 100_000_000_000, None));
    let p = plan("stop = 3\n").unwrap();
    assert_eq!((p.stop, interval(&p)), (3_000_000_000, Some(2_000_000)));
    let p = plan("stop = 'n * period'\n[parameters]\nn = 3\nperiod = '0.1 s'\n").unwrap();
    assert_eq!(p.stop, 300_000_000);
}

#[test]
fn overrides_stand_above_the_file() {
    let folder = Folder::new("above");
    let file = folder.write("s.toml", "stop = 1\nsample = 0.1\n");
    let load = |until: &str, sample: &str, seed| {
        let o = Overrides {
            until: Some(until.into()),
            sample: Some(sample.into()),
            seed,
            ..Overrides::default()
        };
        superdense::load(&file, &[], &o).unwrap()
    };
    let p = load("50 ms", "0.001", Some(9));
    assert_eq!((p.stop, interval(&p), p.seed), (50_000_000, Some(1_000_000), 9));
    assert_eq!(load("2", "none", None).sample, None);
}

#[test]
fn sets() {
    let text = "stop = 1\n[parameters]\ngain = 2.0\nnetwork.delay = '1 ms'\n\
                [unit.a]\nkind = 'constant'\nvalue = 'gain + network.delay'\n";
    let value = |sets: &[(&str, &str)]| {
        let p = plan_with(text, sets).unwrap_or_else(|d| panic!("{d}"));
        end(&run(p), "a", 0)
    };
    assert_eq!(value(&[]), 2.001);
    assert_eq!(value(&[("gain", "3")]), 3.001);
    assert_eq!(value(&[("gain", "1 + 2"), ("network.delay", "0.5 s")]), 3.5);
    assert_eq!(value(&[("network.delay", "'0.5 s'")]), 2.5);
    assert_eq!(value(&[("unit.a.value", "7")]), 7.0);
    assert_eq!(value(&[("unit.a.value", "gain^3")]), 8.0);
    assert_eq!(plan_with(text, &[("stop", "5 s")]).unwrap().stop, 5_000_000_000);
    assert_eq!(plan_with(text, &[("seed", "5")]).unwrap().seed, 5);
    // A table of settings need not be there.
    assert!(plan_with(text, &[("joined.method", "rodas")]).is_ok());
}

#[test]
fn seeds_are_formulas() {
    let text = "stop = 1\n[parameters]\nbase = 5\nseed = 'base + 1'\n";
    let seed = |sets: &[(&str, &str)]| plan_with(text, sets).map(|p| p.seed);
    assert_eq!(seed(&[]).unwrap(), 6);
    assert_eq!(seed(&[("base", "9")]).unwrap(), 10);
    assert_eq!(seed(&[("seed", "'8'")]).unwrap(), 8);
    assert_eq!(seed(&[("seed", "3*2")]).unwrap(), 6);
    assert_eq!(plan(&format!("seed = 'base'\n{text}")).unwrap().seed, 5);
    for (wrong, why) in [("2.5", "must be a whole number"), ("'-base'", "negative: -5")] {
        let told = seed(&[("seed", wrong)]).unwrap_err();
        assert_eq!(told.len(), 1);
        assert!(told.to_string().contains(why), "{told}");
    }
}

/// A remedy names a resolution that can be set and that helps, or none.
#[test]
fn resolutions_that_help() {
    let cases = [
        ("stop = 1e300", "give a shorter time\n"),
        ("stop = 1e12", "resolution = \"us\"\n"),
        ("stop = '1e9 * 1e6'", "resolution = \"ms\"\n"),
        ("stop = 1.5e-20", "help: give fewer decimals"),
        ("stop = 2.6470000000001", "set resolution = \"fs\", give"),
        ("stop = '1e-12 / 2'", "resolution = \"fs\"\n"),
        ("stop = '1e-18 / 2'", "give a longer time\n"),
    ];
    for (text, help) in cases {
        let told = plan(text).unwrap_err().to_string();
        assert!(told.contains(help), "{text}: {told}");
    }
}

#[test]
fn quantities_in_parameters() {
    let text = "stop = 1\n[parameters]\nf = '2 kHz'\nperiod = '1/f'\nslow = '0.1 s'\n\
                [unit.a]\nkind = 'sine'\nfrequency = 'f'\n\
                [unit.b]\nkind = 'clock'\nperiod = 'slow'\n\
                [unit.c]\nkind = 'clock'\nperiod = 'period'\n";
    assert!(plan(text).is_ok());
}

#[test]
fn quantities_in_equations() {
    let text = "stop = 1\nresolution='ps'\n[parameters]\nperiod = '0.1 s'\n[unit.a]\nkind = 'equations'\n\
                parameters = { k = '2 km' }\nstates = { x = '50 cm' }\nderivatives = { x = '0' }\n\
                outputs = { x = 'x' }\n\
                [[unit.a.event]]\nname='e'\nevery='50 ms'\nfrom='period/2'\nreset={ x = 'x + k' }\n\
                [[unit.a.event]]\nname='f'\nat=[0.5, '1 s']\nreset={ x = 'x - 1' }\n";
    let sim = run(plan(text).unwrap_or_else(|d| panic!("{d}")));
    assert_eq!(end(&sim, "a", 0), 0.5 + 20.0 * 2000.0 - 2.0);
    let d = plan(&text.replace("50 ms", "50 msec").replace("50 cm", "50 cmm")).unwrap_err();
    let text = d.render(false);
    assert!(text.contains("did you mean `ms`?") && text.contains("`cmm`"), "{text}");
}

#[test]
fn includes_bring_templates_and_defaults() {
    let folder = Folder::new("include");
    std::fs::create_dir_all(folder.0.join("parts/deep")).unwrap();
    folder.write(
        "parts/pump.toml",
        "include = 'deep/base.toml'\n[parameters]\nrate = 1.0\nother = 2.0\n\
         [template.pump.unit.a]\nkind = 'constant'\nvalue = 'rate + other + base'\n\
         [template.pump]\noutputs = { y = 'a.y' }\n",
    );
    folder.write("parts/deep/base.toml", "[parameters]\nbase = 100\n");
    let file = folder.write(
        "s.toml",
        "stop = 1\ninclude = ['parts/pump.toml', 'parts/deep/base.toml']\n\
         [parameters]\nrate = 10.0\n[unit.p]\ntemplate = 'pump'\n",
    );
    let p = superdense::load(&file, &[], &Overrides::default()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(labels(&p), ["p.y"]);
    assert_eq!(end(&run(p), "p/a", 0), 112.0);
}

const BALLS: &str = r#"
stop = "1 s"
connections = ["b.x -> a.other"]
[unit.a]
kind = "equations"
inputs = { other = 5 }
event_inputs = ["kick"]
states = { x = 0, v = 1 }
derivatives = { x = "v", v = "0" }
outputs = { x = "x" }
[[unit.a.on]]
input = "kick"
reset = { v = "v + 1" }
[unit.b]
kind = "equations"
parameters = { start = 0.25 }
states = { x = "2*start", v = 0 }
derivatives = { x = "v", v = "0" }
outputs = { x = "x" }
[[link]]
name = "hit"
units = ["b", "a"]
when = "a.x >= b.x and a.v > b.v"
reset = { "a.v" = "b.v", "b.v" = "a.v" }
"#;

#[test]
fn links_are_wired() {
    let p = plan(BALLS).unwrap_or_else(|d| panic!("{d}"));
    let names = |list: &[superdense_models::kinds::PortSpec]| {
        list.iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(" ")
    };
    // a hears b.x over the connection; the other three values need hidden ports.
    assert_eq!(names(&p.units[0].ports.inputs), "other ~b.v kick ~link");
    assert_eq!(names(&p.units[0].ports.outputs), "x ~v ~x ~link");
    assert_eq!(names(&p.units[1].ports.inputs), "~a.v ~a.x ~link");
    assert_eq!(p.links, ["hit"]);
    let sim = run(p);
    assert!((end(&sim, "a", 0) - 0.5).abs() < 1e-9, "{}", end(&sim, "a", 0));
    assert!((end(&sim, "b", 0) - 1.0).abs() < 1e-9);
}

#[test]
fn links_in_templates_are_numbered_by_name() {
    let body = BALLS.replace("stop = \"1 s\"", "").replace("[unit.", "[template.pair.unit.");
    let body =
        body.replace("[[unit.", "[[template.pair.unit.").replace("[[link", "[[template.pair.link");
    let body = body.replace("connections", "[template.pair]\nconnections");
    let text =
        format!("stop = 1\n[unit.z]\ntemplate='pair'\n[unit.p]\ntemplate='pair'\ncount=2\n{body}");
    let p = plan(&text).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(p.links, ["p[0].hit", "p[1].hit", "z.hit"]);
    let sim = run(p);
    assert!((end(&sim, "z/b", 0) - 1.0).abs() < 1e-9);
}

#[test]
fn the_plan_hash_is_of_what_decides_the_trace() {
    let hash = |text: &str, sets: &[(&str, &str)]| {
        plan_with(text, sets).unwrap_or_else(|d| panic!("{d}")).plan_hash
    };
    let base = hash(PLANT, &[]);
    assert_eq!(base, hash(PLANT, &[("sample", "0.1 s")]));
    assert_eq!(base, hash(PLANT, &[("record", "[]")]));
    assert_eq!(base, hash(&format!("{PLANT}\n[[plot]]\ny = ['total.y']\n"), &[]));
    assert_ne!(base, hash(PLANT, &[("base", "0.25")]));
    assert_ne!(base, hash(PLANT, &[("seed", "2")]));
    assert_ne!(base, hash(PLANT, &[("resolution", "ps")]));
    assert_ne!(base, hash(PLANT, &[("unit.plant.count", "3"), ("unit.control.gain", "3.0")]));
    // The order of the text is no part of it.
    let (head, units) = PLANT.split_once("[unit.source]").unwrap();
    let (source, rest) = units.split_once("[unit.plant]").unwrap();
    let moved = format!("{head}[unit.plant]{rest}\n[unit.source]{source}");
    assert_eq!(base, hash(&moved, &[]));
}

#[test]
fn exchange_sources_pass_group_borders() {
    // A group with equations inside sends to a continuous unit outside.
    let text = "stop = 1\nconnections = ['g.y -> b.u']\n[unit.g]\ntemplate = 't'\n\
                [unit.b]\nkind='equations'\ninputs={u=0}\nstates={x=0}\nderivatives={x='u'}\n\
                [template.t]\noutputs = {y='e.x'}\n[template.t.unit.e]\nkind='equations'\n\
                states={x=0}\nderivatives={x='1'}\noutputs={x='x'}\n";
    let p = plan(text).unwrap_or_else(|d| panic!("{d}"));
    assert!(p.units.iter().all(|u| u.continuous));
    run(p);
}

#[test]
fn large_arrays() {
    let text = "stop = 1\nconnections = ['s.y -> a[0].u', 'a[i].y -> a[i+1].u for i in 0..n-1']\n\
                record = ['sum(a[*].y)']\n[parameters]\nn = 100000\n\
                [unit.s]\nkind='constant'\nvalue=1\n\
                [unit.a]\nkind = 'gain'\ngain = 1\ncount = 'n'\n";
    let start = std::time::Instant::now();
    let p = plan(text).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(p.units.len(), 100_001);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn unused_templates_are_checked_too() {
    let d = plan(
        "stop = 1\n[template.t.unit.a]\nkind = 'gian'\n[template.u.unit.b]\nkind='gain'\ngain=1\n",
    );
    let codes: Vec<_> = d.unwrap_err().mistakes().iter().map(|m| m.code).collect();
    assert_eq!(codes, ["unknown-kind", "unconnected-input"]);
}

#[test]
fn event_inputs_take_many_sources() {
    let text = "stop = 2\nconnections = ['a.y -> n.u', 'b.y -> n.u', 's.y -> n.u via detect(0.5, rising)',\n\
                's.y -> n.u via detect(0.6, rising)']\n\
                [unit.a]\nkind='clock'\nperiod=1\n[unit.b]\nkind='clock'\nperiod=1\n\
                [unit.s]\nkind='sine'\nfrequency=1.0\n[unit.n]\nkind='counter'\n";
    let p = plan(text).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(
        paths(&p),
        [
            "a",
            "b",
            "n",
            "n.u~detect~s.y~detect(0.5, rising)",
            "n.u~detect~s.y~detect(0.6, rising)",
            "s"
        ]
    );
    // Three ticks of either clock at 0, 1, 2, and two crossings each.
    assert_eq!(end(&run(p), "n", 1), 10.0);
}

#[test]
fn no_kind_declares_a_reserved_name() {
    for kind in superdense_models::catalogue::kinds() {
        for p in kind.params() {
            assert!(!["kind", "template", "count"].contains(&p.name), "{}.{}", kind.name(), p.name);
        }
    }
}

/// Ticks to the first sample after the start.
fn interval(p: &superdense::Plan) -> Option<i64> {
    p.sample.map(|clock| clock.tick(1).unwrap())
}

/// A signal that keeps its start value is told with its line and remedy, once for an array and for a
/// template, unless that is meant; events may be absent.
#[test]
fn unconnected_inputs_are_told() {
    let text = r#"stop = 1
connections = ["a.x -> chain[1].u"]
[template.pair]
[template.pair.unit.inner]
kind = "equations"
inputs = { w = 2 }
outputs = { y = "w" }
[unit.a]
kind = "equations"
unconnected = "ok"
states = { x = 0 }
inputs = { u = 0 }
derivatives = { x = "u" }
outputs = { x = "x" }
[unit.chain]
kind = "equations"
count = 3
inputs = { u = 1 }
outputs = { y = "u" }
[unit.p]
template = "pair"
[unit.q]
template = "pair"
[unit.sum]
kind = "integrator"
[unit.one]
kind = "constant"
value = 1
"#;
    let text = text.replace("[\"a.x", "[\"one.y -> sum.u\", \"a.x");
    let warnings = plan(&text).unwrap().warnings;
    let told = |line: usize, input: &str, unit: &str| {
        warnings.iter().any(|w| {
            w.contains(&format!("line {line}: input `{input}` of `{unit}` is not connected"))
                && w.contains("unconnected = \"ok\"")
        })
    };
    assert!(told(4, "w", "inner") && told(15, "u", "chain[0]"), "{warnings:#?}");
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
}

/// `[*]` takes all members, whatever their numbers are.
#[test]
fn all_members_are_found_behind_gaps() {
    let unit = "stop = 1\nrecord = [\"a.y[*]\", \"a.w[*]\"]\n[unit.a]\nkind = \"equations\"\n\
                outputs = { y10 = \"10\", y2 = \"2\", y7 = \"7\", yx = \"0\", \"w[3]\" = \"3\", \"w[1]\" = \"1\", w5 = \"5\" }\n";
    assert_eq!(labels(&plan(unit).unwrap()), ["a.y2", "a.y7", "a.y10", "a.w[1]", "a.w[3]"]);
}

/// `e` is Euler's number where nobody declares it: a coefficient of restitution may have that name.
#[test]
fn a_declared_e_is_what_is_declared() {
    let unit = |text: &str| {
        let text = format!(
            "stop = 1\n{text}\n[unit.a]\nkind = \"equations\"\noutputs = {{ y = \"2*e\" }}\n"
        );
        end(&run(plan(&text).unwrap()), "a", 0)
    };
    assert_eq!(unit(""), 2.0 * std::f64::consts::E);
    assert_eq!(unit("[parameters]\ne = 0.5"), 1.0);
    let own = "stop = 1\n[parameters]\ne = 0.5\n[unit.a]\nkind = \"equations\"\nstates = { e = 3 }\n\
               derivatives = { e = \"0\" }\noutputs = { y = \"2*e\" }\n";
    assert_eq!(end(&run(plan(own).unwrap()), "a", 0), 6.0);
}

/// A side of a power bond is shared among coupled units only: what else hears it, and two inputs of one
/// unit, change nothing.
#[test]
fn sides_of_power_bonds_may_be_watched() {
    let text = "stop = 1\nconnections = [\"a.f -> b.f\", \"b.v -> a.v\", \"b.v -> a.w\", \"b.v -> seen.u\"]\n\
                [coupling]\nstep = \"10 ms\"\npower = [[\"a.f\", \"b.v\"]]\nunits = [\"a\", \"b\"]\n\
                [unit.a]\nkind = \"equations\"\nstates = { x = 0 }\ninputs = { v = 0, w = 0 }\n\
                derivatives = { x = \"(v + w)/2\" }\noutputs = { f = \"-x\" }\n\
                [unit.b]\nkind = \"equations\"\nstates = { v = 1 }\ninputs = { f = 0 }\n\
                derivatives = { v = \"f\" }\noutputs = { v = \"v\" }\n\
                [unit.seen]\nkind = \"gain\"\ngain = 2\n";
    plan(text).unwrap();
}

/// Dimensions are off where a name has no unit, and formulas over quantities mean what they did.
#[test]
fn quantities_go_together() {
    let text = r#"stop = 1
connections = ["weather.y -> room.outside"]
[parameters]
g = "9.81 m/s^2"
length = "1 m"
rate = "sqrt(g/length)"
[unit.pendulum]
kind = "equations"
parameters = { drag = 0.1, k = "0.5 1/s" }
states = { phi = "10 deg", w = "0 rad/s", warm = "20 degC", plain = 3 }
let = { energy = "0.5*length^2*w^2 - g*length*cos(phi)" }
derivatives = { phi = "w", w = "-g/length*sin(phi) - drag*w + 2*sin(50*t)*rate^2", warm = "-k*(warm - start)", plain = "phi" }
outputs = { energy = "energy", celsius = "warm - 273.15" }
[unit.pendulum.mode.only]
let = { start = "(warm + 0.5*(warm - warm))" }
derivatives = { warm = "-k*(warm - start)" }
[unit.chain]
kind = "equations"
states = { "u[i in 1..=4]" = "1 m" }
let = { "u[0]" = 1 }
derivatives = { "u[i]" = "(u[i-1] - u[i])*rate*i" }
outputs = { total = "sum(u[k] for k in 1..=4)" }
[unit.weather]
kind = "sine"
frequency = "rate/(2*pi)"
[unit.room]
kind = "equations"
inputs = { outside = "5 degC" }
states = { T = "20 degC" }
derivatives = { T = "(outside - T)/hour" }
parameters = { hour = "1 h" }
"#;
    let text = text.replace(", warm = \"-k*(warm - start)\", plain", ", plain");
    let plan = plan(&text).unwrap_or_else(|d| panic!("{d}"));
    let told = |w: &String| w.contains("`weather.y` has no unit") && w.contains("273.15");
    assert_eq!(plan.warnings.iter().filter(|w| told(w)).count(), 1, "{:?}", plan.warnings);
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
}

/// A value that is computed from quantities converts as these do.
#[test]
fn computed_quantities_have_the_declared_unit() {
    let angle = |phase: &str| {
        let p = plan(&format!(
            "stop = 1\n[parameters]\nhalf = '90 deg'\n[unit.s]\nkind = 'sine'\nfrequency = '0 Hz'\n\
             phase = '{phase}'\n"
        ));
        end(&run(p.unwrap_or_else(|d| panic!("{d}"))), "s", 0)
    };
    assert!((angle("90 deg") - 1.0).abs() < 1e-12 && (angle("half*1") - 1.0).abs() < 1e-12);
}

#[test]
fn more_samples_than_a_disk_holds_are_told() {
    let text = |sample: &str| {
        format!("stop = '5 s'\nsample = '{sample}'\n[unit.u]\nkind = 'ramp'\nslope = 1")
    };
    let warnings = plan(&text("1 ns")).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("5.0e9 rows"), "{warnings:?}");
    assert!(plan(&text("1 ms")).unwrap().warnings.is_empty());
}
