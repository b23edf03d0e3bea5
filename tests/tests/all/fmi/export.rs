//! Scenarios as FMUs, in the hands of FMPy and of this program itself.
use super::Bench;
use std::{path::PathBuf, process::Command};
use superdense::{
    Overrides, export, load, load_parcel,
    run::{executor::Executor, memory, pulse::Pulse},
};
use superdense_adapters::fmi::description::Version;

/// The example of the guide: a plant under a force that whoever has the FMU sets, and a count of crossings.
fn plant() -> String {
    let guide = include_str!("../../../../docs/fmi.md");
    let section = guide.split("## Give a model away").nth(1).unwrap();
    section.split("```toml").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// The library that is built beside the tests.
fn runtime() -> PathBuf {
    let name = format!(
        "{}superdense_fmu_runtime{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    std::env::current_exe().unwrap().parent().unwrap().join(name)
}

impl Bench {
    fn exported(&self, name: &str, text: &str, version: Version) -> Result<PathBuf, String> {
        let file = self.0.join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let (plan, parcel) =
            load_parcel(&file, &[], &Overrides::default()).map_err(|e| e.to_string())?;
        let made = export::fmu((&plan, &parcel, &[]), version, &runtime());
        let (_, bytes) = made.map_err(|e| e.to_string())?;
        let number = if version == Version::V2 { 2 } else { 3 };
        let fmu = self.0.join(format!("{name}{number}.fmu"));
        std::fs::write(&fmu, bytes).unwrap();
        Ok(fmu)
    }

    /// Recorded outputs at each sample.
    fn samples(&self, name: &str, text: &str, sets: &[(&str, &str)]) -> Vec<Vec<f64>> {
        let file = self.0.join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let sets: Vec<_> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let plan = load(&file, &sets, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        let keep = memory::Keep { samples: true, ..memory::Keep::default() };
        let done = memory::run(plan, keep, Executor::default(), &Pulse::default());
        let done = done.unwrap_or_else(|e| panic!("{e}")).unwrap();
        let row = |line: &str| line.split(',').map(|x| x.parse().unwrap_or(0.0)).collect();
        done.samples.lines().skip(1).map(row).collect()
    }
}

/// The rows of numbers that a script prints, and all of its text.
fn fmpy(script: &str, files: &[&PathBuf]) -> Option<(Vec<Vec<f64>>, String)> {
    let known = Command::new("python3").args(["-c", "import fmpy"]).output();
    if !known.is_ok_and(|o| o.status.success()) {
        println!("skipped: FMPy is not installed (pip install fmpy)");
        return None;
    }
    let output = Command::new("python3").args(["-c", script]).args(files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let row = |line: &str| line.split(' ').map(|x| x.parse().unwrap()).collect();
    let rows = text.lines().filter_map(|line| line.strip_prefix("row ")).map(row).collect();
    Some((rows, text))
}

const FORCED: &str = "
import sys, numpy as np
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
force = np.array([(0, 1.0), (1, 1.0), (1, 3.0), (5, 3.0)], dtype=[('time', float), ('force', float)])
for file in sys.argv[1:]:
    problems = validate_fmu(file)
    assert not problems, problems
    r = simulate_fmu(file, stop_time=5, output_interval=0.5, input=force, start_values={'m': 4.0},
                     output=['position', 'crossings'])
    for row in r:
        print('row', *[repr(float(x)) for x in row])
";

/// FMPy validates the FMUs, sets a parameter and an input, and sees the values of the scenario in which the force is a
/// unit.
#[test]
fn fmpy_steps_a_plant_with_an_input() {
    let bench = Bench::new("export");
    let files = [Version::V2, Version::V3].map(|v| bench.exported("plant", &plant(), v).unwrap());
    let whole =
        plant().replace("connections = [", "connections = [\"force.y -> plant.F\", ").replace(
            "stop = \"5 s\"",
            "stop = \"5 s\"\nsample = \"500 ms\"\nrecord = [\"plant.y\", \"count.y\"]",
        );
    let (head, tail) = whole.split_once("[federate]").unwrap();
    let tail = tail.split_once("[unit.plant]").unwrap().1;
    let force = "[unit.force]\nkind = \"step\"\nat = \"1 s\"\nfrom = 1\nto = 3\n[unit.plant]";
    let whole = format!("{head}{force}{tail}");
    let own = bench.samples("whole", &whole, &[("m", "\"4 kg\"")]);
    let Some((theirs, _)) = fmpy(FORCED, &[&files[0], &files[1]]) else { return };
    assert_eq!((own.len(), theirs.len()), (11, 22));
    for (k, row) in theirs.iter().enumerate() {
        let own = &own[k % 11];
        assert!((row[0] - own[0]).abs() < 1e-12 && row[2] == own[2], "{row:?} {own:?}");
        assert!((row[1] - own[1]).abs() < 1e-9, "{row:?} {own:?}");
    }
    // A mass of 4 kg under 1 N and then 3 N, with a friction of 0.5 N s/m, crosses 1 m once; closed form.
    let rate = 0.5f64 / 4.0;
    let (f, t) = (|t: f64| t - (1.0 - (-rate * t).exp()) / rate, 5.0);
    let exact = 2.0 * f(t) + 4.0 * f(t - 1.0);
    assert!((theirs[10][1] - exact).abs() < 1e-6, "{} and {exact}", theirs[10][1]);
}

/// Steps that end between ticks are refused: rounded, they gave values of another instant.
#[test]
fn steps_end_at_ticks() {
    let text = "stop = \"4 s\"\nresolution = \"s\"\nrecord = [\"u.x\"]\n[unit.u]\nkind = \"equations\"\nstates = { x = 0 }\n\
                derivatives = { x = \"1\" }\noutputs = { x = \"x\" }\n";
    let script = "
import sys
from fmpy import simulate_fmu
for file in sys.argv[1:]:
    for step in (0.25, 0.5, 1.0, 2.0):
        try:
            simulate_fmu(file, stop_time=4, output_interval=step, step_size=step)
            print('row', step, 1)
        except Exception:
            print('row', step, 0)
";
    let bench = Bench::new("export-ticks");
    let files = [Version::V2, Version::V3].map(|v| bench.exported("coarse", text, v).unwrap());
    let Some((rows, told)) = fmpy(script, &[&files[0], &files[1]]) else { return };
    let once = [[0.25, 0.0], [0.5, 0.0], [1.0, 1.0], [2.0, 1.0]];
    assert_eq!(rows, [once, once].concat(), "{told}");
}

/// A ball that bounces inside of communication steps: FMPy sees the bits of the run of this program.
#[test]
fn fmpy_sees_the_bits_of_our_samples() {
    let text = include_str!("../../../../scenarios/library/bouncing_ball.toml");
    let bench = Bench::new("export-ball");
    let files = [Version::V2, Version::V3].map(|v| bench.exported("ball", text, v).unwrap());
    let script = FORCED
        .replace("input=force, start_values={'m': 4.0},", "")
        .replace("['position', 'crossings']", "['ball.height', 'ball.speed']");
    let Some((theirs, _)) = fmpy(&script, &[&files[0], &files[1]]) else { return };
    let own = bench.samples("ball", text, &[("sample", "\"500 ms\""), ("stop", "\"5 s\"")]);
    assert_eq!((own.len(), theirs.len()), (11, 22));
    for (k, row) in theirs.iter().enumerate() {
        assert_eq!(row[1..], own[k % 11][1..], "at {} s", row[0]);
    }
}

/// As a unit of another scenario the FMU has the bits of the group that it was made from, which is stepped alike.
#[test]
fn an_exported_fmu_comes_back_as_a_unit() {
    let bench = Bench::new("export-back");
    for version in [Version::V2, Version::V3] {
        let fmu = bench.exported("plant", &plant(), version).unwrap();
        let name = fmu.file_name().unwrap().to_str().unwrap();
        let plan = |unit: &str| {
            format!(
                "stop = \"5 s\"\nsample = \"500 ms\"\nrecord = [\"p.position\"]\nconnections = [\"force.y -> p.force\"]\n\
                 [unit.force]\nkind = \"step\"\nat = \"1 s\"\nfrom = 1\nto = 3\n[unit.p]\n{unit}"
            )
        };
        let back = bench.samples(
            "back",
            &plan(&format!(
                "kind = \"fmu\"\npath = \"{name}\"\nstep = \"100 ms\"\nstart = {{ m = 4 }}\n"
            )),
            &[],
        );
        let whole = bench.samples(
            "group",
            &plan(
                "kind = \"equations\"\ninputs = { force = 1.0 }\nstates = { x = 0.0, v = 0.0 }\n\
                 derivatives = { x = \"v\", v = \"(force - 0.5*v)/4\" }\noutputs = { position = \"x\" }\n",
            ),
            &[],
        );
        assert_eq!(back.len(), 11);
        for (a, b) in back.iter().zip(&whole) {
            assert!((a[1] - b[1]).abs() < 1e-9, "{a:?} {b:?}");
        }
    }
}

const LIFE: &str = "
import sys, shutil
from ctypes import *
from fmpy import read_model_description, extract
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi1 import FMICallException
d = read_model_description(sys.argv[1])
refs = {v.name: v.valueReference for v in d.modelVariables}
folder = extract(sys.argv[1])
def new(guid=d.guid):
    f = FMU2Slave(guid=guid, unzipDirectory=folder, modelIdentifier=d.coSimulation.modelIdentifier, instanceName='i')
    f.instantiate()
    return f
def start(f):
    f.setupExperiment(startTime=0.0)
    f.enterInitializationMode()
    f.exitInitializationMode()
y = lambda f: repr(f.getReal([refs['position']])[0])
# Two instances in one process, each with an input of its own.
a, b = new(), new()
a.setReal([refs['force']], [2.0])
start(a), start(b)
for k in range(10):
    a.doStep(k*0.1, 0.1)
    b.doStep(k*0.1, 0.1)
print('row', y(a), y(b))
# Back to a state, in the same instance and in another one.
state = a.getFMUState()
bytes = a.serializeFMUState(state)
a.doStep(1.0, 0.5)
first = y(a)
a.setFMUState(state)
a.doStep(1.0, 0.5)
c = new()
c.setFMUState(c.deSerializeFMUstate(bytes))
c.doStep(1.0, 0.5)
print('row', first, y(a), y(c))
a.reset()
start(a)
a.doStep(0.0, 1.0)
print('row', y(a), y(b))
# Refused, each with a status; the instance goes on after it.
def refused(call):
    try:
        call()
        return 0.0
    except (FMICallException, Exception):
        return 1.0
print('row', refused(lambda: b.doStep(0.3, 0.1)), refused(lambda: b.setReal([refs['force']], [float('nan')])),
      refused(lambda: b.setReal([refs['m']], [1.0])), refused(lambda: b.setReal([refs['position']], [1.0])),
      refused(lambda: b.getReal([99])), refused(lambda: new('{0}')))
b.doStep(1.0, 0.5)
print('row', y(b))
shutil.rmtree(folder)
";

/// Instances do not know of each other, states are bytes, and wrong calls are refused.
#[test]
fn instances_states_and_refusals() {
    let bench = Bench::new("export-life");
    let fmu = bench.exported("plant", &plant(), Version::V2).unwrap();
    let Some((rows, text)) = fmpy(LIFE, &[&fmu]) else { return };
    // 2 kg under 2 N and 1 N for a second, friction 0.5 N s/m.
    let x = |f: f64| f / 0.5 * (1.0 - (1.0 - (-0.25f64).exp()) / 0.25);
    assert!((rows[0][0] - x(2.0)).abs() < 1e-6 && (rows[0][1] - x(1.0)).abs() < 1e-6, "{rows:?}");
    assert!(rows[1][0] == rows[1][1] && rows[1][1] == rows[1][2], "{rows:?}");
    assert!((rows[2][0] - rows[2][1]).abs() < 1e-9, "{rows:?}");
    assert_eq!(rows[3], [1.0; 6]);
    let reasons = [
        "the step begins at 0.3 s, but the run is at 1 s",
        "`force` was set to NaN, which is no finite number",
        "`m` is a parameter, which is set before the run begins",
        "`position` is an output, which is not set",
        "there is no variable with the reference 99",
        "the description has the token {0}",
    ];
    for why in reasons {
        assert!(text.contains(why), "{why}: {text}");
    }
    let x = |t: f64| (t - (1.0 - (-0.25 * t).exp()) / 0.25) / 0.5;
    assert!((rows[4][0] - x(1.5)).abs() < 1e-6, "{rows:?}");
}

/// A scenario of several files leaves its folder, and an error inside of a step names its unit and its time.
#[test]
fn files_are_taken_along_and_errors_have_a_place() {
    let bench = Bench::new("export-files");
    for folder in ["lib", "study"] {
        std::fs::create_dir_all(bench.0.join(folder)).unwrap();
    }
    let write = |name: &str, text: &str| std::fs::write(bench.0.join(name), text).unwrap();
    write("lib/gain.json", "{ \"k\": 3.0 }");
    write("lib/load.csv", "time,load\n0,1\n2,2\n");
    write(
        "lib/tank.toml",
        "[template.tank]\ninputs = { u = \"t.u\" }\noutputs = { y = \"t.y\" }\n[template.tank.unit.t]\nkind = \"equations\"\n\
         inputs = { u = 0 }\nstates = { x = 1 }\nderivatives = { x = \"-u\" }\noutputs = { y = \"sqrt(x)\" }\n",
    );
    let text = "stop = \"3 s\"\ninclude = [\"../lib/tank.toml\"]\nparameters = \"../lib/gain.json\"\nrecord = [\"tank.y\"]\n\
                connections = [\"load.y -> g.u\", \"g.y -> tank.u\"]\n[unit.tank]\ntemplate = \"tank\"\n\
                [unit.load]\nkind = \"csv\"\nfile = \"../lib/load.csv\"\n[unit.g]\nkind = \"gain\"\ngain = \"k/10\"\n";
    let fmu = bench.exported("study/tank", text, Version::V3).unwrap();
    std::fs::remove_dir_all(bench.0.join("lib")).unwrap();
    let script = "
import sys
from fmpy import simulate_fmu
r = simulate_fmu(sys.argv[1], stop_time=1, output_interval=0.5)
print('row', repr(float(r['tank.y'][-1])))
r = simulate_fmu(sys.argv[1], stop_time=1, output_interval=0.5, start_values={'k': 6.0})
print('row', repr(float(r['tank.y'][-1])))
try:
    simulate_fmu(sys.argv[1], stop_time=3, output_interval=0.5, start_values={'k': 9.0})
    print('row 0')
except Exception:
    print('row 1')
";
    let Some((rows, text)) = fmpy(script, &[&fmu]) else { return };
    assert!((rows[0][0] - 0.7f64.sqrt()).abs() < 1e-6, "{rows:?}");
    assert!((rows[1][0] - 0.4f64.sqrt()).abs() < 1e-6, "{rows:?}");
    // x is 0 at 1.11 s; the output is asked for at 1.5 s.
    assert!(rows[2] == [1.0] && text.contains("tank/t at 1.5 s: "), "{text}");
}

/// Scenarios that cannot be given away say why; equal ones give equal bytes.
#[test]
fn archives_are_equal_and_refusals_have_reasons() {
    let bench = Bench::new("export-no");
    let bytes = || std::fs::read(bench.exported("plant", &plant(), Version::V3).unwrap()).unwrap();
    assert!(bytes() == bytes());
    let silent = "stop = 1\n[unit.c]\nkind = \"constant\"\nvalue = 1\n";
    let refused = |text: &str| bench.exported("no", text, Version::V3).unwrap_err();
    let silent = refused(&format!("record = []\n{silent}"));
    assert!(silent.contains("records no output"), "{silent}");
    let whole = plant();
    let (head, rest) = whole.split_once("[[federate.output]]").unwrap();
    let rest = rest.split_once("[unit.plant]").unwrap().1;
    let recorded = format!("record = [\"plant.y\"]\n{head}[unit.plant]{rest}");
    assert!(bench.exported("recorded", &recorded, Version::V3).is_ok());
    let events = plant().replace("to = \"plant.F\"", "to = \"count.reset\"");
    let events = refused(&events.replace("initial = 1.0\n", ""));
    assert!(events.contains("takes events"), "{events}");
    let vector =
        refused(&plant().replace("as = \"position\"", "as = \"position\"\ntype = \"complex\""));
    assert!(vector.contains("has the type `complex`"), "{vector}");
    let twice = refused(&plant().replace("from = \"force\"", "from = \"m\""));
    assert!(twice.contains("two variables have the name `m`"), "{twice}");
}

/// Both structures of the feed-forward study, built from their tree and exported: FMPy comes to the values of our run.
#[test]
fn structures_are_exported_as_one_fmu() {
    let structure = include_str!("../../../../scenarios/library/ses/feedforward.json");
    let parts = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/parts/control.toml");
    let bench = Bench::new("export-ses");
    let file = bench.0.join("feedforward.json");
    std::fs::write(&file, structure.replace("../../parts/control.toml", parts)).unwrap();
    for (ff, k, ti) in [("0", "1", "10"), ("1", "1", "5")] {
        let sets = [("feedforward", ff), ("k", k), ("Ti", ti)];
        let sets: Vec<_> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (text, _) = superdense::ses::scenario((&file, None), &sets).unwrap();
        let fmu = bench.exported("variant", &text, Version::V3).unwrap();
        let script = "
import sys
from fmpy import simulate_fmu
r = simulate_fmu(sys.argv[1], stop_time=200, output_interval=0.5)
for row in r:
    print('row', *[repr(float(x)) for x in row])
";
        let own = bench.samples("variant", &text, &[("sample", "\"500 ms\"")]);
        let Some((theirs, _)) = fmpy(script, &[&fmu]) else { return };
        assert_eq!((own.len(), theirs.len()), (401, 401));
        let far = |(a, b): (&Vec<f64>, &Vec<f64>)| (a[1] - b[1]).abs();
        let far = own.iter().zip(&theirs).map(far).fold(0.0, f64::max);
        assert!(far < 1e-6, "{ff}: {far:e}");
    }
}
