//! FMUs in worker processes: deaths are errors of their units.
use super::{Bench, Run, S};
use std::path::PathBuf;
use superdense_adapters::fmi::worker;

const SERIALISABLE: (&str, &str) = (
    "canGetAndSetFMUState=\"true\"",
    "canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\"",
);

/// Names the process of this file's tests that is a worker.
const WORKER: &str = "SUPERDENSE_TEST_WORKER";

/// Workers are this program, with the next test.
pub(super) fn bench(name: &str) -> Bench {
    let own = std::env::current_exe().unwrap().display().to_string();
    let bench = Bench::new(name).fmu("faulty", &[SERIALISABLE]);
    let deaths = format!("SUPERDENSE_TEST_DEATHS={}", bench.0.join("deaths").display());
    let worker = format!("{WORKER}=1");
    let test = ["--exact", "fmi::isolation::serves", "--nocapture"];
    let arguments = [&[&*worker, &*deaths, &*own], &test[..]].concat();
    let arguments = arguments.into_iter().map(str::to_owned).collect();
    worker::set_program(PathBuf::from("env"), arguments);
    bench
}

#[test]
fn serves() {
    if std::env::var_os(WORKER).is_some() {
        worker::serve();
    }
}

/// The FMU beside another unit, with keys in the FMU's table.
fn faulty(fault: i32, keys: &str) -> String {
    format!(
        "[unit.other]\nkind = 'equations'\nstates = {{ x = 1 }}\nderivatives = {{ x = '-x' }}\noutputs = {{ x = 'x' }}\n\
         [unit.plant]\nkind = 'fmu'\npath = 'faulty.fmu'\nstep = '100 ms'\nstart = {{ fault = {fault} }}\n\
         isolation = 'process'\ncall_timeout = '2 s'\n{keys}"
    )
}

/// The error, and the value of the other unit then.
fn fails(bench: &Bench, text: &str) -> (String, f64) {
    let mut run: Run = bench.start(text);
    let e = run.to(S).unwrap_err().to_string();
    (e, run.value("other", 0, S / 2))
}

#[test]
fn deaths_are_errors_of_the_unit() {
    let bench = bench("deaths");
    let cases: [(i32, &[&str]); 9] = [
        (12, &["the worker died by SIGSEGV"]),
        (13, &["the worker died by SIGABRT", "the valve broke"]),
        (14, &["the worker died by SIG"]),
        (15, &["the worker ended with exit status 0"]),
        (16, &["the worker ended with exit status 3"]),
        (17, &["the worker died by SIGFPE"]),
        (18, &["the worker died by SIG"]),
        (20, &["the worker gave no answer within 2 s (`call_timeout`) and was killed"]),
        (26, &["the worker died by SIGABRT"]),
    ];
    for (fault, parts) in cases {
        let (e, x) = fails(&bench, &faulty(fault, "memory = '1 GB'"));
        let always =
            ["plant", "FMU faulty", "fmi3DoStep from 0.5 s by 0.1 s: the worker", "vendor"];
        for part in [&always, parts].concat() {
            assert!(e.contains(part), "fault {fault}: {e} should contain {part}");
        }
        assert!((x - (-0.5_f64).exp()).abs() < 1e-6, "fault {fault}: {x}");
    }
}

/// Results are all there when the FMU is freed.
#[test]
fn deaths_at_the_end_change_nothing() {
    let bench = bench("ends");
    for fault in [19, 21] {
        let run = bench.run(&faulty(fault, ""), S);
        assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-12, "fault {fault}");
    }
}

/// Folder, rounding and traps of one process are those of all units in it.
#[test]
fn the_process_stays_as_it_was() {
    let bench = bench("process");
    let here = std::env::current_dir().unwrap();
    let other = |text: &str| bench.run(text, S).value("other", 0, S);
    let right = other(&faulty(0, ""));
    for fault in [11, 22, 23, 24] {
        for isolation in ["process", "none"] {
            let text = faulty(fault, "").replace("= 'process'", &format!("= '{isolation}'"));
            assert_eq!(other(&text).to_bits(), right.to_bits(), "fault {fault}, {isolation}");
            assert_eq!(std::env::current_dir().unwrap(), here, "fault {fault}, {isolation}");
        }
    }
}

/// With `restart` a run is as if no worker had died: 20 deaths, 200 with `SUPERDENSE_LONG=1`.
#[test]
fn deaths_leave_no_mark_where_workers_are_restarted() {
    let bench = bench("restart");
    let wanted = if std::env::var_os("SUPERDENSE_LONG").is_some() { 200 } else { 20 };
    let text = |fault: i32| {
        let wave =
            "connections = ['wave.y -> plant.u']\n[unit.wave]\nkind = 'sine'\nfrequency = 1.3\n";
        let plant = faulty(fault, "restart = 'checkpoint'").replace("'100 ms'", "'1 ms'");
        let plant = plant.replace("'2 s'", "'60 s'");
        format!("{wave}{plant}")
    };
    let end = |fault: i32, stop: i64| {
        let run = bench.run(&text(fault), stop);
        (run.sim.trace_hash(), run.value("plant", 0, stop).to_bits())
    };
    let right = end(0, 5 * S);
    let deaths = || std::fs::read(bench.0.join("deaths")).map_or(0, |bytes| bytes.len());
    while deaths() < wanted {
        assert_eq!(end(27, 5 * S), right, "after {} deaths", deaths());
    }
}

/// Where an FMU says that its state has 200 GiB, no checkpoint is written, no memory is taken, and the run goes on.
#[test]
fn states_that_claim_to_be_huge_are_refused() {
    let bench = bench("huge");
    for isolation in ["process", "none"] {
        let keys = if isolation == "process" { "memory = '1 GB'" } else { "" };
        let text = faulty(25, keys).replace("= 'process'", &format!("= '{isolation}'"));
        let mut run = bench.start(&text);
        run.to(S / 4).unwrap();
        let e = run.sim.checkpoint().unwrap_err().to_string();
        for part in ["plant", "the state has 214748364800 bytes", "at most 1023 MiB"] {
            assert!(e.contains(part), "{isolation}: {e} should contain {part}");
        }
        run.to(S).unwrap();
        assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-12, "{isolation}");
    }
}

/// Sizes that a description or a scenario asks for are judged before anything has them, wherever the FMU runs.
#[test]
fn sizes_beyond_all_bounds_are_refused() {
    let bench = bench("sizes").fmu("space", &[]);
    let keys = |n: u64| {
        format!(
            "[unit.plant]\nkind = 'fmu'\npath = 'space.fmu'\nstructure = {{ n = {n} }}\nisolation = 'process'\n"
        )
    };
    let fails = |bench: &Bench, text: &str| {
        let Err(e) = bench.load(text) else { panic!("{text}") };
        format!("{e:?}")
    };
    assert!(fails(&bench, &keys(6)).contains("6 is not within 1 … 5"));
    let bench = bench.fmu("space", &[(" max=\"5\"", "")]);
    for n in [10_001, 1 << 40, i64::MAX as u64] {
        let e = fails(&bench, &keys(n));
        assert!(e.contains(&format!("{n} elements; 10000 are possible")), "{e}");
    }
    for (dimensions, part) in [
        ("<Dimension start='1000000'/><Dimension start='1000000'/>", "1000000000000 elements"),
        (
            "<Dimension start='18446744073709551615'/><Dimension start='2'/>",
            "18446744073709551615 elements",
        ),
        ("<Dimension start='1e30'/>", "variable u: a dimension of length 1e30, which is no size"),
        ("<Dimension start='-1'/>", "variable u: a dimension of length -1, which is no size"),
    ] {
        let own = "start=\"0\"/>\n    <Float64 name=\"y\"";
        let with = format!("start=\"0\">{dimensions}</Float64>\n    <Float64 name=\"y\"");
        let bench = Bench::new("sizes-described").fmu("faulty", &[(own, &with)]);
        let e = fails(&bench, &faulty(0, ""));
        assert!(e.contains(part), "{e} should contain {part}");
    }
}

#[test]
fn truncated_binaries_are_named() {
    let bench = bench("truncated");
    let file = bench.0.join("faulty.so");
    let bytes = std::fs::read(&file).unwrap();
    let entries = [
        ("modelDescription.xml", superdense_tests::fmu::description("faulty").into_bytes()),
        (&superdense_tests::fmu::binary("faulty"), bytes[..bytes.len() / 3].to_vec()),
    ];
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(n, b)| (*n, &**b)).collect();
    superdense_tests::fmu::pack(&bench.0.join("faulty.fmu"), &entries);
    let Err(e) = bench.load(&faulty(0, "")) else { panic!("a truncated binary") };
    assert!(format!("{e:?}").contains("faulty.fmu"), "{e:?}");
}

/// More than one instance of an FMU that allows one per process: the others get processes of their own.
#[test]
fn only_once_per_process_is_kept() {
    let single = (
        "modelIdentifier=\"faulty\"",
        "modelIdentifier=\"faulty\" canBeInstantiatedOnlyOncePerProcess=\"true\"",
    );
    let bench = bench("once").fmu("faulty", &[single]);
    let plain = "[unit.NAME]\nkind = 'fmu'\npath = 'faulty.fmu'\nstep = '100 ms'\n";
    let both = [plain.replace("NAME", "plant"), plain.replace("NAME", "other")].concat();
    let run = bench.run(&both, S);
    for unit in ["plant", "other"] {
        assert!((run.value(unit, 0, S) - 1.0).abs() < 1e-12);
    }
}
