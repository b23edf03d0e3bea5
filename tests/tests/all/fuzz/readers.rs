//! The readers.
use super::{Target, corpus, data, feed};
use std::{
    fs,
    path::{Path, PathBuf},
};
use superdense::{Overrides, load, plot::Pictures};
use superdense_kernel::{Options, Simulation, message::Digest};
use superdense_models::{
    grid::case::Case,
    maths::expr::{Condition, Expr, Names, Program, Registers, parse},
    signal::value::Value,
};

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("superdense-fuzz-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, bytes).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Plans a scenario; what is told must be drawable, and have a remedy.
fn planned(file: &Path) -> Result<(), String> {
    let diagnostics = match load(file, &[], &Overrides::default()) {
        Ok(_) => return Ok(()),
        Err(diagnostics) => diagnostics,
    };
    assert!(!diagnostics.render(false).is_empty());
    let first = diagnostics.mistakes().first().expect("a mistake");
    assert!(!first.help.is_empty(), "no remedy for: {}", first.message);
    Err(format!("{}: {}", first.code, first.message))
}

#[test]
fn scenarios() {
    let folder = Folder::new("scenario");
    let mut seeds = corpus("fuzz/scenario");
    seeds.extend(
        corpus("regressions")
            .into_iter()
            .filter(|text| load(&folder.write("s.toml", text), &[], &Overrides::default()).is_ok()),
    );
    let target = Target { name: "scenario", text: true, seeds, inputs: 3000, kinds: 60 };
    feed(&target, |bytes| planned(&folder.write("s.toml", bytes)));
}

#[test]
fn expressions() {
    let lines = fs::read_to_string(data("fuzz/expressions.txt")).unwrap();
    let seeds = lines.lines().map(|line| line.as_bytes().to_vec()).collect();
    let names =
        Names::new().var("x", 0).var("y", 1).var("u[1]", 2).var("u[2]", 3).constant("c", 3.0);
    let names = (0..4).fold(names, |names, k| names.var(format!("v{k}"), k));
    let target = Target { name: "expression", text: true, seeds, inputs: 8000, kinds: 25 };
    feed(&target, |bytes| {
        let text = std::str::from_utf8(bytes).unwrap();
        parse(text).map_err(|e| e.to_string())?;
        let first = |errors: Vec<superdense_models::maths::expr::ExprError>| errors[0].to_string();
        if let Ok(condition) = Condition::parse(text, &names) {
            condition.eval(&[1.0, -2.0, 0.5, 3.0]);
            return Ok(());
        }
        let expr = Expr::parse(text, &names).map_err(first)?;
        let again = Expr::parse(&expr.to_string(), &names).map_err(first)?;
        let vars = [0.7, -2.0, 0.5, 3.0];
        let (a, b) = (expr.eval(&vars), again.eval(&vars));
        assert!(a == b || (a.is_nan() && b.is_nan()), "{text}: {a} printed, {b} read again");
        let program = Program::compile([&expr]);
        let mut out = [0.0];
        program.eval(&vars, &mut Registers::default(), &mut out);
        assert!(out[0] == a || (a.is_nan() && out[0].is_nan()), "{text}: {a}, compiled {}", out[0]);
        Ok(())
    });
}

fn case(name: &'static str, seeds: Vec<Vec<u8>>, ending: &str, inputs: u64, kinds: usize) {
    let folder = Folder::new(name);
    let target = Target { name, text: true, seeds, inputs, kinds };
    feed(&target, |bytes| {
        Case::read(&folder.write(ending, bytes)).map(drop).map_err(|e| e.to_string())
    });
}

#[test]
fn matpower_cases() {
    let seeds = ["case9.m", "case14.m"].map(|name| fs::read(data("grid").join(name)).unwrap());
    case("matpower", seeds.to_vec(), "case.m", 4000, 12);
}

#[test]
fn json_networks() {
    case("json", corpus("fuzz/json"), "case.json", 4000, 20);
}

/// A data file of a kind, and what comes of the whole scenario.
fn beside(name: &'static str, unit: &str, file: &str, inputs: u64, kinds: usize) {
    let folder = Folder::new(name);
    let scenario = folder.write("s.toml", format!("stop = 1\n{unit}"));
    let seeds = corpus(&format!("fuzz/{name}"));
    let target = Target { name, text: true, seeds, inputs, kinds };
    feed(&target, |bytes| {
        folder.write(file, bytes);
        planned(&scenario)
    });
}

#[test]
fn csv_tables() {
    beside("csv", "[unit.a]\nkind = 'csv'\nfile = 'a.csv'\n", "a.csv", 3000, 8);
}

#[test]
fn packet_traces() {
    let unit = "[unit.a]\nkind = 'packet-source'\npattern = 'trace'\nfile = 'a.csv'\n";
    beside("trace", unit, "a.csv", 3000, 5);
}

/// The files from which figures are drawn; each input takes the place of one of them.
#[test]
fn results() {
    let folder = Folder::new("results");
    let files = ["plots.json", "samples.csv", "trajectory.csv", "events.csv"];
    let good: Vec<Vec<u8>> =
        files.iter().map(|file| fs::read(data("fuzz/results").join(file)).unwrap()).collect();
    let mut at = 0;
    let target = Target { name: "results", text: true, seeds: good.clone(), inputs: 150, kinds: 6 };
    feed(&target, |bytes| {
        // The file that an input comes from begins like it.
        let like = |seed: &Vec<u8>| seed.iter().zip(bytes).take(6).filter(|(a, b)| a == b).count();
        at = good.iter().position(|seed| like(seed) == 6).unwrap_or((at + 1) % files.len());
        for (k, file) in files.iter().enumerate() {
            folder.write(file, if k == at { bytes } else { &good[k] });
        }
        superdense::plot::draw(&folder.0, Pictures::Png).map(drop).map_err(|e| e.to_string())
    });
}

/// A model with most kinds of state, before its run.
fn fresh() -> Simulation<Value> {
    let plan = load(&data("fuzz/scenario/mixed.toml"), &[], &Overrides::default()).unwrap();
    let options = Options { resolution: plan.resolution, ..Options::default() };
    Simulation::new(plan.model, options).unwrap()
}

/// Bytes of a checkpoint behind a proper digest; what is resumed must go on without a panic.
#[test]
fn checkpoints() {
    let mut sim = fresh();
    sim.run_through(700_000_000).unwrap();
    let bytes = sim.checkpoint().unwrap();
    let seeds = vec![bytes[..bytes.len() - 8].to_vec()];
    let target = Target { name: "checkpoint", text: false, seeds, inputs: 1500, kinds: 4 };
    feed(&target, |bytes| {
        let mut digest = Digest::new();
        digest.bytes(bytes);
        let sealed = [bytes, &digest.finish().to_le_bytes()].concat();
        let mut sim = fresh();
        sim.resume(&sealed).map_err(|e| e.to_string())?;
        let now = sim.now().ticks;
        sim.run_through(now.saturating_add(1_000_000)).map(drop).map_err(|e| e.to_string())
    });
}

/// Messages between units, as bytes.
#[test]
fn wire_formats() {
    use superdense_models::signal::value::{Flag, LinkKind, LinkMessage, Packet, Segment};
    let link =
        LinkMessage { link: 1, member: 2, kind: LinkKind::Answer, values: [1.0, 2.0].into() };
    let values = [
        Value::Real(1.5),
        Value::Text("text".into()),
        Value::Segment(Segment::new(&[1.0, 2.0, 3.0], Flag::Jump, 0.5)),
        Value::Packet(Packet { id: 7, bits: 800, ..Packet::default() }),
        Value::Link(link),
    ];
    let seeds = values.iter().map(|value| postcard::to_stdvec(value).unwrap()).collect();
    let target = Target { name: "wire", text: false, seeds, inputs: 8000, kinds: 4 };
    feed(&target, |bytes| {
        let value: Value = postcard::from_bytes(bytes).map_err(|e| e.to_string())?;
        value.as_real();
        let _ = value.to_string();
        postcard::to_stdvec(&value).map(drop).map_err(|e| e.to_string())
    });
}

#[cfg(feature = "fmi")]
mod fmi {
    use super::*;
    use std::io::Write as _;
    use superdense_adapters::fmi::{
        archive::{Unpacked, describe},
        description::Description,
    };

    fn descriptions() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fmus");
        ["ball", "mass", "stair", "bouncing2", "driven", "driven2", "space"]
            .map(|name| fs::read(folder.join(format!("{name}.xml"))).unwrap())
            .to_vec()
    }

    #[test]
    fn xml() {
        let target =
            Target { name: "xml", text: true, seeds: descriptions(), inputs: 5000, kinds: 25 };
        feed(&target, |bytes| Description::read(std::str::from_utf8(bytes).unwrap()).map(drop));
    }

    fn archive(description: &[u8]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (name, bytes) in [
            ("modelDescription.xml", description),
            ("binaries/x86_64-linux/ball.so", b"no binary".as_slice()),
            ("resources/a/table.csv", b"time,x\n0,1\n".as_slice()),
        ] {
            zip.start_file(name, options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn zip_archives() {
        let folder = Folder::new("zip");
        let seeds = descriptions().iter().map(|text| archive(text)).collect();
        let target = Target { name: "zip", text: false, seeds, inputs: 3000, kinds: 6 };
        feed(&target, |bytes| {
            let file = folder.write("a.fmu", bytes);
            let version = describe(&file)?.version;
            Unpacked::new(&file, version).map(drop)
        });
    }
}
