//! FMUs of two tools in one coupling: one of PythonFMU (FMI 2.0), and one in C (FMI 3.0).
use super::*;

/// A lag whose input holds during a step.
const LAG: &str = "
from math import exp
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Lag(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u, self.x = 0.0, 1.0
        self.register_variable(Real('u', causality=Fmi2Causality.input))
        self.register_variable(Real('x', causality=Fmi2Causality.output))

    def do_step(self, t, h):
        a = exp(-2.0*h)
        self.x = a*self.x + (1.0 - a)*self.u
        return True
";

/// Packs the FMU in C, and prints where the library of Python is, which FMUs of PythonFMU want to be loaded before.
const PACK: &str = "
import os, sys, sysconfig, zipfile
with zipfile.ZipFile('mass.fmu', 'w') as z:
    z.write(sys.argv[1], 'modelDescription.xml')
    z.write('mass.so', 'binaries/x86_64-linux/mass.so')
name = sysconfig.get_config_var('LDLIBRARY') or ''
folders = [sysconfig.get_config_var(v) or '' for v in ('LIBDIR', 'LIBPL')]
found = [os.path.join(f, name) for f in folders if name.endswith('.so') and os.path.exists(os.path.join(f, name))]
print(found[0] if found else '')
print(sysconfig.get_paths()['purelib'])
";

const PAIR: &str = r#"
stop = "5 s"
record = ["mass.x", "lag.x"]
connections = ["mass.x -> lag.u", "lag.x -> mass.F"]

[unit.mass]
kind = "fmu"
path = "mass.fmu"
step = "STEP s"

[unit.lag]
kind = "fmu"
path = "Lag.fmu"
step = "STEP s"
"#;

const WHOLE: &str = r#"
stop = "5 s"
record = ["w.x", "w.y"]

[unit.w]
kind = "equations"
states = { x = 1, v = 0, y = 1 }
derivatives = { x = "v", v = "y - 4*x - 0.5*v", y = "2*(x - y)" }
outputs = { x = "x", y = "y" }
method = "taylor"
tolerance = 1e-12
"#;

fn end(dir: &Path, out: &str) -> [f64; 2] {
    let text = read(dir, &format!("out/{out}/samples.csv"));
    let row: Vec<f64> =
        text.lines().last().unwrap().split(',').skip(1).map(|x| x.parse().unwrap()).collect();
    [row[0], row[1]]
}

/// Under each scheme halved steps halve the error, as the input that holds in one of the tools allows.
#[test]
fn errors_fall_with_the_step() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = root.join("target/fmi/bin/python");
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) || !python.is_file() {
        println!(
            "skipped: PythonFMU as a peer (python3 -m venv target/fmi; target/fmi/bin/pip install pythonfmu==0.7.0)"
        );
        return;
    }
    let dir = folder("tools");
    let sources = root.join("tests/fmus");
    fs::write(dir.join("lag.py"), LAG).unwrap();
    let run = |program: &Path, args: &[&str]| {
        let output = Command::new(program).current_dir(&dir).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (code, include) = (sources.join("mass.c"), format!("-I{}", sources.display()));
    let code = code.to_str().unwrap();
    run(
        Path::new("cc"),
        &["-O2", "-ffp-contract=off", "-shared", "-fPIC", &include, "-o", "mass.so", code, "-lm"],
    );
    let build =
        ["-m", "pythonfmu", "build", "-f", "lag.py", "--no-external-tool", "--handle-state"];
    run(&python, &build);
    let told = run(&python, &["-c", PACK, sources.join("mass.xml").to_str().unwrap()]);
    let (library, packages) = told.trim().split_once('\n').unwrap_or_default();
    if library.is_empty() {
        println!(
            "skipped: PythonFMU as a peer (its FMUs need the shared library of Python; Debian: libpython3-dev)"
        );
        return;
    }
    fs::write(dir.join("whole.toml"), WHOLE).unwrap();
    good(&dir, "run whole.toml --out out/whole --plot none");
    let exact = end(&dir, "whole");
    let schemes = [
        ("jacobi", "order = \"jacobi\""),
        ("gauss-seidel", "order = \"gauss-seidel\""),
        ("newton", "iterate = { method = \"newton\" }"),
        ("events", ""),
    ];
    for (name, keys) in schemes {
        let error = |step: &str| {
            let mut text = PAIR.replace("STEP", step);
            if !keys.is_empty() {
                text += &format!("\n[coupling]\nstep = \"{step} s\"\n{keys}\n");
            }
            fs::write(dir.join("pair.toml"), text).unwrap();
            let mut run = command(&dir, "run pair.toml --out out/pair --force --plot none");
            let output =
                run.env("LD_PRELOAD", library).env("PYTHONPATH", packages).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let end = end(&dir, "pair");
            (end[0] - exact[0]).abs().max((end[1] - exact[1]).abs())
        };
        let errors = ["0.1", "0.05", "0.025", "0.0125"].map(error);
        println!("{name}: {errors:?}");
        assert!(errors[3] < 2.5e-3, "{name}: {errors:?}");
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((1.75..2.35).contains(&ratio), "{name}: {errors:?}");
        }
    }
}
