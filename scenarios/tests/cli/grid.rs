//! Grid and network scenarios against third-party references (see `tests/data/grid/README.md`).
use super::library::{Results, number};
use std::path::{Path, PathBuf};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(file)
}

/// Heading and rows of a reference table.
fn table(file: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = std::fs::read_to_string(data(file)).expect(file);
    let mut lines = text.lines();
    let heading = lines.next().expect("a heading").split(',').map(str::to_owned).collect();
    (heading, lines.map(|line| line.split(',').map(number).collect()).collect())
}

/// Columns of `samples.csv` by name.
fn samples(results: &Results) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = results.text("samples.csv");
    let heading = text.lines().next().expect("a heading").split(',').map(str::to_owned).collect();
    let rows = results.rows("samples.csv");
    let value = |cell: &String| cell.parse().unwrap_or(f64::NAN);
    (heading, rows.iter().map(|row| row.iter().map(value).collect()).collect())
}

fn place(heading: &[String], name: &str) -> usize {
    heading.iter().position(|h| h == name).unwrap_or_else(|| panic!("{name} in {heading:?}"))
}

/// One S1 case: scenario, options, reference, trips (bus, s), nadir of the centre of inertia in
/// Hz, shed power in MW.
type Case<'a> = (&'a str, &'a [&'a str], &'a str, &'a [(u32, f64)], Option<f64>, f64);

const LATE: &[&str] = &["--set", "network.delay=100 ms"];
const LOSSY: &[&str] = &["--set", "network.delay=100 ms", "--set", "network.loss=0.2"];
const TRIPS: &[(u32, f64)] = &[(38, 1.0), (35, 3.0), (36, 5.0)];

const S1: &[Case<'_>] = &[
    ("s1a", &[], "s1a_ref", &[], None, 0.0),
    ("s1b", &[], "s1b_ref", &[(38, 1.0)], Some(59.784_860), 0.0),
    ("s1c", &[], "s1c_d0", TRIPS, Some(59.460_827), 437.796_1),
    ("s1c", LATE, "s1c_d100", TRIPS, Some(59.453_057), 437.796_1),
    ("s1c", LOSSY, "s1c_d100_loss20", TRIPS, Some(59.350_044), 696.721_2),
];

#[test]
fn s1_speeds_nadirs_and_shed_power() {
    for &(scenario, options, reference, trips, nadir, shed) in S1 {
        let results = Results::of(&format!("grid/{scenario}.toml"), options);
        let (heading, rows) = samples(&results);
        let (names, expected) = table(&format!("grid/{reference}.csv"));
        assert!(expected.len() > 20);
        for wanted in &expected {
            let row = rows.iter().find(|r| (r[0] - wanted[0]).abs() < 1e-9).expect("a row");
            for bus in 30..40 {
                if trips.iter().any(|&(b, at)| b == bus && wanted[0] > at) {
                    continue;
                }
                let w = row[place(&heading, &format!("grid.f{bus}_hz"))] / 60.0 - 1.0;
                let error = (w - wanted[place(&names, &format!("w{bus}"))]).abs();
                assert!(error <= 1e-8, "{reference}, bus {bus}, {} s: {error:e}", wanted[0]);
            }
        }
        let coi = place(&heading, "grid.coi_hz");
        let lowest = rows.iter().map(|r| r[coi]).fold(f64::INFINITY, f64::min);
        if let Some(nadir) = nadir {
            assert!((lowest - nadir).abs() < 1e-6, "{reference}: {lowest}");
        }
        let last = rows.last().expect("a row")[place(&heading, "grid.shed_mw")];
        assert!((last - shed).abs() < 1e-6, "{reference}: {last} MW");
    }
}

#[test]
fn s1c_events_come_in_the_same_order_at_the_same_times() {
    for &(scenario, options, reference, ..) in &S1[2..] {
        let results = Results::of(&format!("grid/{scenario}.toml"), options);
        let found: Vec<(f64, String)> = results
            .rows("events.csv")
            .iter()
            .filter(|r| r[3].contains("below") || r[3].starts_with("arm"))
            .map(|r| (number(&r[0]), r[3].clone()))
            .collect();
        let text = std::fs::read_to_string(data(&format!("grid/{reference}_events.csv"))).unwrap();
        let expected: Vec<(f64, String)> = text
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                let hz = ["59.5", "59.3", "59.1"][cells[2].parse::<usize>().unwrap() - 1];
                let name = match cells[1] {
                    "arm" => format!("arm {}", cells[2]),
                    _ => format!("{} below {hz} Hz", cells[3]),
                };
                (number(cells[0]), name)
            })
            .collect();
        let names =
            |list: &[(f64, String)]| list.iter().map(|(_, n)| n.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{reference}");
        for ((t, name), (wanted, _)) in found.iter().zip(&expected) {
            assert!((t - wanted).abs() <= 1e-6, "{reference}: {name} at {t}, not {wanted}");
        }
    }
}

#[test]
fn s2_switches_and_power() {
    for (units, switches, peak, end) in
        [("1000", 7_377.0, 3_370.906, 2_307.941), ("10000", 74_450.0, 34_879.540, 24_995.792)]
    {
        let results = Results::of("grid/s2.toml", &["--set", &format!("units={units}")]);
        let (heading, rows) = samples(&results);
        let (_, expected) = table(&format!("grid/s2_power_{units}.csv"));
        let power = place(&heading, "total.power");
        for wanted in &expected {
            let row = rows.iter().find(|r| r[0] == wanted[0]).expect("a row");
            let error = (row[power] - wanted[1]).abs();
            assert!(error <= 1e-6, "{units} units, {} s: {} kW", wanted[0], row[power]);
        }
        let last = rows.last().expect("a row");
        assert_eq!(last[place(&heading, "total.switches")], switches);
        assert!((last[power] - end).abs() < 1e-3);
        let after = rows.iter().filter(|r| r[0] > 10_860.0).map(|r| r[power]);
        assert!((after.fold(0.0, f64::max) - peak).abs() < 1e-3);
    }
}

/// Final temperatures of the first rooms, by the closed form.
#[test]
fn s2_temperatures() {
    let record = "record=[\"room[0..5].theta\"]";
    let results = Results::of("grid/s2.toml", &["--set", record, "--set", "plot=[]"]);
    let (_, rows) = samples(&results);
    let expected = [
        20.432_726_481_295_653,
        20.409_967_718_673_506,
        20.578_885_323_125_647,
        20.441_735_007_557_02,
        20.338_602_274_142_27,
    ];
    for (found, wanted) in rows.last().expect("a row")[1..].iter().zip(expected) {
        assert!((found - wanted).abs() <= 1e-9, "{found}, not {wanted}");
    }
}

#[test]
fn s3_switching_sequence_and_voltage() {
    let results = Results::of("grid/s3.toml", &[]);
    let (_, switches) = table("grid/s3_switch_5ms.csv");
    let found: Vec<(f64, String)> =
        results.rows("events.csv").iter().map(|r| (number(&r[0]), r[3].clone())).collect();
    assert!(switches.len() > 100);
    for ((t, name), wanted) in found.iter().zip(&switches) {
        let what = if wanted[2] > 0.5 { "closes" } else { "opens" };
        assert_eq!(*name, format!("{} {what}", wanted[1] + 1.0), "at {t}");
        assert!((t - wanted[0]).abs() < 1e-8, "{name} at {t}, not {}", wanted[0]);
    }
    let (heading, rows) = samples(&results);
    let (_, expected) = table("grid/s3_ref_N2.csv");
    let v = place(&heading, "bus.v");
    let (mut squares, mut count) = (0.0, 0);
    for wanted in &expected {
        let row = rows.iter().find(|r| (r[0] - wanted[0]).abs() < 1e-9).expect("a row");
        let error = row[v] - wanted[3];
        assert!(wanted[0] > 0.005 || error.abs() <= 1e-6, "{} s: off by {error:e} V", wanted[0]);
        squares += error * error;
        count += 1;
    }
    let rms = (squares / f64::from(count)).sqrt();
    assert!(count > 300 && rms <= 5e-3, "rms {rms} V of {count}");
}

/// FNV-1a over lines `ns,source/number` in the order of arrival.
const S4A_DIGEST: u64 = 0xd266_28ce_578a_1914;

#[test]
fn s4a_receives_every_packet_in_the_nanosecond_of_ns3() {
    let results = Results::of("network/s4a.toml", &[]);
    let arrivals: Vec<String> = results
        .rows("trajectory.csv")
        .iter()
        .filter(|r| r[2] == "bottleneck.out")
        .map(|r| format!("{},{}", r[0], r[3]))
        .collect();
    assert_eq!(arrivals.len(), 52_315);
    let text = std::fs::read_to_string(data("network/s4a_rx.csv")).unwrap();
    for (k, line) in text.lines().skip(1).enumerate() {
        assert_eq!(arrivals[50 * k], line, "packet {}", 50 * k);
    }
    let bytes = arrivals.iter().flat_map(|line| line.bytes().chain([b'\n']));
    let digest = bytes
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(digest, S4A_DIGEST);
}

/// Little's law: 40 ms, and three hops of the delay. t = 3.883 for a single run at 99.9 %; the
/// recorded interval has t = 2.093.
#[test]
fn s4b_intervals_cover_jacksons_sojourn() {
    for (delay, exact) in [("1 ms", 0.043), ("0 s", 0.040)] {
        let results =
            Results::of("network/s4b.toml", &["--set", &format!("network.delay={delay}")]);
        let (heading, rows) = samples(&results);
        let last = rows.last().expect("a row");
        let [low, mean, high] =
            ["low", "mean", "high"].map(|n| last[place(&heading, &format!("out.{n}"))]);
        let half = 3.883 / 2.093 * (high - low) / 2.0;
        assert!((mean - exact).abs() < half && half < 0.1 * exact, "{mean} ± {half} for {exact}");
    }
}

fn flow(file: &Path, name: &str) -> Results {
    let text = format!(
        "stop = 1\nsample = \"none\"\nrecord = [\"flow.*\"]\n[unit.flow]\nkind = \"power-flow\"\nnetwork = {:?}\n",
        file.to_str().unwrap()
    );
    let (_, expected) = table(&format!("grid/pypower_{name}.csv"));
    let columns: Vec<String> = expected
        .iter()
        .flat_map(|r| [format!("\"flow.vm{}\"", r[0]), format!("\"flow.va{}\"", r[0])])
        .collect();
    let text = text.replace("\"flow.*\"", &columns.join(", "));
    let scenario = std::env::temp_dir().join(format!("flow-{}-{name}.toml", std::process::id()));
    std::fs::write(&scenario, text).unwrap();
    let results = Results::of(scenario.to_str().unwrap(), &[]);
    std::fs::remove_file(scenario).unwrap();
    results
}

#[test]
fn power_flows_equal_the_tables() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/grid/ieee39.json");
    for name in ["case9", "case14", "case39", "case118"] {
        let file = if name == "case39" { library.clone() } else { data(&format!("grid/{name}.m")) };
        let results = flow(&file, name);
        let (heading, rows) = samples(&results);
        let (_, expected) = table(&format!("grid/pypower_{name}.csv"));
        assert!(expected.len() >= 9);
        for wanted in &expected {
            let value = |q: &str| rows[0][place(&heading, &format!("flow.{q}{}", wanted[0]))];
            let (vm, va) = (value("vm"), value("va"));
            assert!((vm - wanted[1]).abs() <= 1e-8, "{name} bus {}: {vm}", wanted[0]);
            assert!((va - wanted[2]).abs() <= 1e-6, "{name} bus {}: {va} degrees", wanted[0]);
        }
    }
}
